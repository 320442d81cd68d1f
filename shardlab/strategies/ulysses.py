"""Ulysses: AllToAlls turn tokens that are cut into heads that are cut."""

import jax.numpy as jnp
from jax.lax import all_to_all, axis_size

from shardlab.strategies import ring_attention
from shardlab.strategies.attention import attend, derivatives

__all__ = [
    "backward",
    "forward",
    "regroup",
    "share_keys",
    "to_heads",
    "to_tokens",
]

LAYOUT = ring_attention.LAYOUT


def to_heads(x):
    """All tokens of some heads, from some tokens of all heads.

    x        x[T_Z, G, ...]
    returns  x[T, G_Z, ...]
    source   DeepSpeed-Ulysses paper
    """
    return all_to_all(x, "Z", split_axis=1, concat_axis=0, tiled=True)


def to_tokens(x):
    """Some tokens of all heads, from all tokens of some heads.

    x        x[T, G_Z, ...]
    returns  x[T_Z, G, ...]
    source   DeepSpeed-Ulysses paper
    """
    return all_to_all(x, "Z", split_axis=0, concat_axis=1, tiled=True)


def share_keys(x, groups):
    """Heads of keys as copies, so that there is one for each chip.

    Their number must divide the chips, and all heads of queries.

    x        x[T_Z, G, d], keys or values
    groups   how many there have to be: G, or a multiple of it
    returns  x[T_Z, groups, d], copies of a head side by side
    source   DeepSpeed-Ulysses paper; chapter 13
    """
    return jnp.repeat(x, groups // x.shape[1], axis=1)


def regroup(x, groups):
    """Heads of queries in another number of groups.

    x        x[T, G, R, d]
    groups   G of the result
    returns  x[T, groups, G R / groups, d]
    source   chapter 13
    """
    T, d = x.shape[0], x.shape[-1]
    return x.reshape(T, groups, -1, d)


def forward(Q, K, V):
    """Attention of whole heads: three AllToAlls there, one back.

    Q, K, V  Q[T_Z, G, R, d], K[T_Z, G, d], V[T_Z, G, d]
    returns  Out[T_Z, G, R, d], and Q, K, V, Out, lse of whole heads
    source   DeepSpeed-Ulysses paper
    """
    G = Q.shape[1]
    groups = max(G, axis_size("Z"))
    K, V = share_keys(K, groups), share_keys(V, groups)
    Q, K, V = to_heads(regroup(Q, groups)), to_heads(K), to_heads(V)
    Out, lse = attend(Q, K, V)  # Out[T, G_Z, R, d]
    back = regroup(to_tokens(Out.astype(Q.dtype)), G)
    return back, (Q, K, V, Out, lse)


def backward(dOut, Q, K, V, Out, lse):
    """The gradients: one AllToAll there, three back; those of copies add up.

    dOut     dOut[T_Z, G, R, d]
    Q, K, V, Out, lse  as forward returned them, such as Q[T, G_Z, R, d]
    returns  dQ[T_Z, G, R, d], dK[T_Z, G, d], dV[T_Z, G, d]
    source   DeepSpeed-Ulysses paper
    """
    t, G, _, d = dOut.shape
    groups = max(G, axis_size("Z"))
    dOut = to_heads(regroup(dOut, groups))  # dOut[T, G_Z, R, d]
    grads = derivatives(dOut, Q, K, V, Out, lse)  # of whole heads
    dQ, dK, dV = (to_tokens(g.astype(Q.dtype)) for g in grads)
    dK, dV = (x.reshape(t, G, -1, d).sum(2) for x in (dK, dV))
    return regroup(dQ, G), dK, dV
