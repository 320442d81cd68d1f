"""Data parallelism: every chip has its own tokens and all of the weights."""

from jax import P
from jax.lax import psum

from shardlab.strategies import adam, one_chip

__all__ = ["backward", "forward"]

LAYOUT = {
    "In": P("X", None),
    "W_in": P(None, None),
    "W_out": P(None, None),
    "dW_in": P(None, None),
    "dW_out": P(None, None),
    "loss": P("X"),
}
forward = one_chip.forward  # each token by itself: nothing to say to the others


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients under data parallelism: each dW is AllReduced, 8DF bytes.

    dOut     dOut[B_X, D]
    In       In[B_X, D]; Tmp[B_X, F], W_in[D, F] and W_out[F, D]
    returns  dIn[B_X, D], dW_in[D, F], dW_out[F, D]
    source   scaling-book part 5, data parallelism
    """
    dW_out = Tmp.T @ dOut  # dW_out[F, D] {U_X}
    dW_out = psum(dW_out, "X")  # dW_out[F, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F]
    dW_in = In.T @ dTmp  # dW_in[D, F] {U_X}
    dW_in = psum(dW_in, "X")  # dW_in[D, F]
    dIn = dTmp @ W_in.T  # dIn[B_X, D]
    return dIn, dW_in, dW_out


update = adam.update  # the same work on every chip
