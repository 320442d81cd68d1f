"""ZeRO-1: data parallelism whose optimiser state is cut over the chips."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam, one_chip

__all__ = ["LAYOUT", "backward", "update"]

LAYOUT = {
    "In": P("X", None),
    "W_in": P(None, None),
    "W_out": P(None, None),
    "dW_in": P("X", None),
    "dW_out": P("X", None),
    "loss": P("X"),
}
forward = one_chip.forward


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients under ZeRO-1: all are made, then ReduceScattered, 4DF.

    dOut     dOut[B_X, D]
    In       In[B_X, D]; Tmp[B_X, F], W_in[D, F] and W_out[F, D]
    returns  dIn[B_X, D], dW_in[D_X, F], dW_out[F_X, D]
    source   ZeRO paper
    """
    dIn, dW_in, dW_out = one_chip.backward(dOut, In, Tmp, W_in, W_out)  # {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F]
    dW_out = psum_scatter(dW_out, "X", tiled=True)  # dW_out[F_X, D]
    return dIn, dW_in, dW_out


def update(dW, state):
    """New weights: each chip makes its own rows and gathers the others, 2DF.

    dW       gradient dW[D_X, F], summed over all tokens
    state    optimiser state of the same rows
    returns  W[D, F], and the new state of the rows
    source   ZeRO paper
    """
    W, state = adam.update(dW, state)  # W[D_X, F]
    W = all_gather(W, "X", tiled=True, to="invarying")  # W[D, F]
    return W, state
