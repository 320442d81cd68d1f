"""Tensor parallelism by AllReduce, as in Megatron: activations are not cut."""

from jax import P
from jax.lax import psum

from shardlab.strategies import adam

__all__ = ["LAYOUT", "backward", "forward"]

LAYOUT = {
    "In": P(None, None),
    "W_in": P(None, "Y"),
    "W_out": P("Y", None),
    "dW_in": P(None, "Y"),
    "dW_out": P("Y", None),
    "loss": P(None),
}


def forward(In, W_in, W_out):
    """The block with one AllReduce at its end (Megatron's g), 4BD bytes.

    In       In[B, D]
    W_in     W_in[D, F_Y], cut by columns
    W_out    W_out[F_Y, D], cut by rows
    returns  Out[B, D], and In, Tmp[B, F_Y], W_in, W_out
    source   Megatron-LM paper
    """
    Tmp = In @ W_in  # Tmp[B, F_Y]
    Out = Tmp @ W_out  # Out[B, D] {U_Y}
    Out = psum(Out, "Y")  # Out[B, D]
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients with one AllReduce at their end (Megatron's f), 4BD.

    dOut     dOut[B, D]
    In       In[B, D]; Tmp[B, F_Y], W_in[D, F_Y] and W_out[F_Y, D]
    returns  dIn[B, D], dW_in[D, F_Y], dW_out[F_Y, D]
    source   Megatron-LM paper
    """
    dW_out = Tmp.T @ dOut  # dW_out[F_Y, D]
    dTmp = dOut @ W_out.T  # dTmp[B, F_Y]
    dW_in = In.T @ dTmp  # dW_in[D, F_Y]
    dIn = dTmp @ W_in.T  # dIn[B, D] {U_Y}
    dIn = psum(dIn, "Y")  # dIn[B, D]
    return dIn, dW_in, dW_out


update = adam.update
