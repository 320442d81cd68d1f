"""Sequence parallelism: the norm around a TP block is cut along tokens."""

import jax
import jax.numpy as jnp
from jax import P
from jax.lax import all_gather, psum, psum_scatter

__all__ = ["LAYOUT", "backward", "forward", "norm"]

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


def forward(In, gain, W_in, W_out, regather=False):
    """Norm, two matmuls and a residual: AllGather before, ReduceScatter after.

    In       In[B_Y, D]
    gain     gain[D]; W_in[D, F_Y] and W_out[F_Y, D]
    regather  True: keep this chip's rows of Normed for backward, not all
    returns  Out[B_Y, D], and In, Normed, Tmp[B, F_Y], gain, W_in, W_out
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    Normed = norm(In, gain)  # Normed[B_Y, D]
    whole_Normed = all_gather(Normed, "Y", axis=0, tiled=True)  # Normed[B, D]
    Tmp = whole_Normed @ W_in  # Tmp[B, F_Y]
    Out = Tmp @ W_out  # Out[B, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)  # Out[B_Y, D]
    Normed = Normed if regather else whole_Normed
    return In + Out, (In, Normed, Tmp, gain, W_in, W_out)


def backward(dOut, In, Normed, Tmp, gain, W_in, W_out, regather=False):
    """The gradients: the duals, and one small AllReduce for the gain.

    dOut     dOut[B_Y, D]
    In, Normed, Tmp, gain, W_in, W_out  as forward returned them
    regather  True: Normed[B_Y, D] is gathered again, 2BD bytes more
    returns  dIn[B_Y, D], dgain[D], dW_in[D, F_Y], dW_out[F_Y, D]
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    whole_dOut = all_gather(dOut, "Y", axis=0, tiled=True)  # dOut[B, D]
    dW_out = Tmp.T @ whole_dOut  # dW_out[F_Y, D]
    dTmp = whole_dOut @ W_out.T  # dTmp[B, F_Y]
    if regather:
        Normed = all_gather(Normed, "Y", axis=0, tiled=True)  # Normed[B, D]
    dW_in = Normed.T @ dTmp  # dW_in[D, F_Y]
    dNormed = dTmp @ W_in.T  # dNormed[B, D] {U_Y}
    dNormed = psum_scatter(dNormed, "Y", scatter_dimension=0, tiled=True)
    gain = jax.lax.pcast(gain, "Y", to="varying")  # so that vjp sums nothing
    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)  # dgain[D] {U_Y}
    return dOut + dIn, psum(dgain, "Y"), dW_in, dW_out
