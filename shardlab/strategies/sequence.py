"""Sequence parallelism: the norm around a TP block is cut along tokens."""

import jax
import jax.numpy as jnp
from jax import P
from jax.lax import all_gather, psum, psum_scatter

from shardlab.strategies.whole import whole

LAYOUT = {
    "In": P("Y", None),
    "gain": P(None),
    "W_in": P(None, "Y"),
    "W_out": P("Y", None),
    "Out": P("Y", None),
    "loss": P("Y"),
}


def norm(In, gain):
    """Each token scaled to a mean square of 1, then by the learned gain.

    In       In[B, D] or any of its rows
    gain     gain[D]
    returns  the same shape as In
    source   RMSNorm paper
    """
    square = jnp.mean(In.astype("float32") ** 2, axis=1, keepdims=True)
    return (In * jax.lax.rsqrt(square + 1e-6)).astype(In.dtype) * gain


def forward(In, gain, W_in, W_out, keep_In=True):
    """Norm, two matmuls and a residual: AllGather before, ReduceScatter after.

    In       In[B_Y, D]
    gain     gain[D]; W_in[D, F_Y] and W_out[F_Y, D]
    keep_In  keep the gathered input for backward; False keeps this chip's rows
    returns  Out[B_Y, D], and In, Normed, Tmp[B, F_Y], gain, W_in, W_out
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    piece = norm(In, gain)  # Normed[B_Y, D]
    Normed = all_gather(piece, "Y", axis=0, tiled=True)  # Normed[B, D]
    Tmp = Normed @ W_in  # Tmp[B, F_Y]
    Out = Tmp @ W_out  # Out[B, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)  # Out[B_Y, D]
    kept = Normed if keep_In else piece
    return In + Out, (In, kept, Tmp, gain, W_in, W_out)


def backward(dOut, In, Normed, Tmp, gain, W_in, W_out):
    """The gradients: the duals, and one small AllReduce for the gain.

    dOut     dOut[B_Y, D]
    In, Normed, Tmp, gain, W_in, W_out  as forward returned them
    returns  dIn[B_Y, D], dgain[D], dW_in[D, F_Y], dW_out[F_Y, D]
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    every = all_gather(dOut, "Y", axis=0, tiled=True)  # dOut[B, D]
    dW_out = Tmp.T @ every  # dW_out[F_Y, D]
    dTmp = every @ W_out.T  # dTmp[B, F_Y]
    Normed = whole(Normed, "Y", axis=0, size=len(Tmp))  # Normed[B, D]
    dW_in = Normed.T @ dTmp  # dW_in[D, F_Y]
    dNormed = dTmp @ W_in.T  # dNormed[B, D] {U_Y}
    dNormed = psum_scatter(dNormed, "Y", scatter_dimension=0, tiled=True)
    gain = jax.lax.pcast(gain, "Y", to="varying")  # so that vjp sums nothing
    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)  # dgain[D] {U_Y}
    return dOut + dIn, psum(dgain, "Y"), dW_in, dW_out
