"""Tensor parallelism of attention: whole heads are dealt to the chips.

W_Q[D, G, R, d] makes queries in G groups of R heads of d elements; a group
shares one head of keys and values, from W_K[D, G, d] and W_V[D, G, d]. All are
cut by columns, which means by groups, and W_O[G, R, d, D] is cut by rows. So
each chip has some heads from beginning to end.
"""

import jax.numpy as jnp
from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import attention

__all__ = ["LAYOUT", "backward", "forward", "into"]

LAYOUT = {
    "In": P(None, "Y"),
    "W_Q": P(None, "Y"),
    "W_K": P(None, "Y"),
    "W_V": P(None, "Y"),
    "W_O": P("Y"),
    "Out": P(None, "Y"),
    "loss": P("Y"),
}


def forward(In, W_Q, W_K, W_V, W_O):
    """Attention whose heads are cut: gather In, scatter Out, 4BD bytes.

    In       In[B, D_Y], one sequence of B tokens
    W_Q      W_Q[D, G_Y, R, d]; W_K[D, G_Y, d] and W_V[D, G_Y, d]
    W_O      W_O[G_Y, R, d, D]
    returns  Out[B, D_Y], and In[B, D], Heads[B, G_Y, R, d], what attention
             keeps, and the weights
    source   Megatron-LM paper
    """
    In = all_gather(In, "Y", axis=1, tiled=True)  # In[B, D]
    QKV = [jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V)]
    Heads, saved = attention.forward(*QKV)  # Heads[B, G_Y, R, d]
    Out = jnp.tensordot(Heads, W_O, 3)  # Out[B, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    return Out, (In, Heads, saved, (W_Q, W_K, W_V, W_O))


def backward(dOut, In, Heads, saved, weights):
    """The gradients: gather dOut, scatter dIn, 4BD bytes.

    dOut     dOut[B, D_Y]
    In, Heads, saved, weights  as forward returned them
    returns  dIn[B, D_Y], and the gradient of each weight, laid out as it is
    source   Megatron-LM paper
    """
    *W_QKV, W_O = weights
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)  # dOut[B, D]
    dW_O = jnp.tensordot(Heads, dOut, (0, 0))  # dW_O[G_Y, R, d, D]
    dHeads = jnp.tensordot(dOut, W_O, (1, 3))  # dHeads[B, G_Y, R, d]
    dQKV = attention.backward(dHeads, *saved)
    dW_QKV = [jnp.tensordot(In, dP, (0, 0)) for dP in dQKV]
    dIn = sum(map(into, dQKV, W_QKV))  # dIn[B, D] {U_Y}
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, *dW_QKV, dW_O


def into(dP, W):
    """What one of queries, keys and values adds to the gradient of In.

    dP       dP[B, ...], the gradient of In W
    W        W[D, ...], cut as dP is
    returns  dIn[B, D] {U_Y}
    source   chapter 8
    """
    return dP.reshape(len(dP), -1) @ W.reshape(len(W), -1).T
