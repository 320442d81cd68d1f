"""Tensor parallelism: activations move, weights are cut along F and stay."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam

__all__ = ["LAYOUT", "backward", "forward"]

LAYOUT = {
    "In": P(None, "Y"),
    "W_in": P(None, "Y"),
    "W_out": P("Y", None),
    "dW_in": P(None, "Y"),
    "dW_out": P("Y", None),
    "loss": P("Y"),
}


def forward(In, W_in, W_out, regather=False):
    """The block under tensor parallelism: gather In, scatter Out, 4BD bytes.

    In       In[B, D_Y]
    W_in     W_in[D, F_Y]
    W_out    W_out[F_Y, D]
    regather  True: keep In[B, D_Y] for backward; False: In[B, D]
    returns  Out[B, D_Y], and In, Tmp[B, F_Y], W_in, W_out for backward
    source   scaling-book part 5, tensor parallelism
    """
    whole_In = all_gather(In, "Y", axis=1, tiled=True)  # In[B, D]
    Tmp = whole_In @ W_in  # Tmp[B, F_Y]
    Out = Tmp @ W_out  # Out[B, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    In = In if regather else whole_In
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out, regather=False):
    """The gradients under tensor parallelism: gather dOut, scatter dIn, 4BD.

    dOut     dOut[B, D_Y]
    In       In[B, D]; if regather, In[B, D_Y]
    Tmp      Tmp[B, F_Y]; W_in[D, F_Y] and W_out[F_Y, D]
    regather  True: In is gathered again, 2BD bytes more
    returns  dIn[B, D_Y], dW_in[D, F_Y], dW_out[F_Y, D]
    source   scaling-book part 5, tensor parallelism
    """
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)  # dOut[B, D]
    dW_out = Tmp.T @ dOut  # dW_out[F_Y, D]
    dTmp = dOut @ W_out.T  # dTmp[B, F_Y]
    if regather:
        In = all_gather(In, "Y", axis=1, tiled=True)  # In[B, D]
    dW_in = In.T @ dTmp  # dW_in[D, F_Y]
    dIn = dTmp @ W_in.T  # dIn[B, D] {U_Y}
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


update = adam.update
