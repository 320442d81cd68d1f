"""No parallelism: the two-matmul block on one chip, for comparison."""

from jax import P

from shardlab.strategies import adam

__all__ = ["backward", "forward"]

LAYOUT = {
    "In": P(None, None),
    "W_in": P(None, None),
    "W_out": P(None, None),
    "dW_in": P(None, None),
    "dW_out": P(None, None),
    "loss": P(None),
}


def forward(In, W_in, W_out):
    """The block on one chip: two products, no communication.

    In       In[B, D], activations
    W_in     W_in[D, F]
    W_out    W_out[F, D]
    returns  Out[B, D], and In, Tmp[B, F], W_in, W_out for the way back
    source   scaling-book part 5, the algorithm without parallelism
    """
    Tmp = In @ W_in  # Tmp[B, F]
    Out = Tmp @ W_out  # Out[B, D]
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients on one chip: four products, no communication.

    dOut     dOut[B, D]
    In       In[B, D]; Tmp, W_in and W_out as forward returned them
    returns  dIn[B, D], dW_in[D, F], dW_out[F, D]
    source   scaling-book part 5, the algorithm without parallelism
    """
    dW_out = Tmp.T @ dOut  # dW_out[F, D]
    dTmp = dOut @ W_out.T  # dTmp[B, F]
    dW_in = In.T @ dTmp  # dW_in[D, F]
    dIn = dTmp @ W_in.T  # dIn[B, D]
    return dIn, dW_in, dW_out


update = adam.update
