"""ZeRO-2: gradients are cut over the chips too, as soon as they are made."""

from jax.lax import psum_scatter

from shardlab.strategies import one_chip, zero1

__all__ = ["backward"]

LAYOUT = zero1.LAYOUT
forward = one_chip.forward


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients under ZeRO-2: each is scattered when it is made, 4DF bytes.

    dOut     dOut[B_X, D]
    In       In[B_X, D]; Tmp[B_X, F], W_in[D, F] and W_out[F, D]
    returns  dIn[B_X, D], dW_in[D_X, F], dW_out[F_X, D]
    source   ZeRO paper
    """
    dW_out = Tmp.T @ dOut  # dW_out[F, D] {U_X}
    dW_out = psum_scatter(dW_out, "X", tiled=True)  # dW_out[F_X, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F]
    dW_in = In.T @ dTmp  # dW_in[D, F] {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F]
    dIn = dTmp @ W_in.T  # dIn[B_X, D]
    return dIn, dW_in, dW_out


update = zero1.update
