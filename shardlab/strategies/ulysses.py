"""Ulysses: AllToAlls turn tokens that are cut into heads that are cut."""

from jax.lax import all_to_all

from shardlab.strategies import ring_attention
from shardlab.strategies.attention import attend, derivatives

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


def forward(Q, K, V):
    """Attention of whole heads: three AllToAlls there, one back.

    Q, K, V  Q[T_Z, G, R, d], K[T_Z, G, d], V[T_Z, G, d]
    returns  Out[T_Z, G, R, d], and Q, K, V, Out, lse of whole heads
    source   DeepSpeed-Ulysses paper
    """
    Q, K, V = to_heads(Q), to_heads(K), to_heads(V)  # Q[T, G_Z, R, d]
    Out, lse = attend(Q, K, V)  # Out[T, G_Z, R, d]
    return to_tokens(Out.astype(Q.dtype)), (Q, K, V, Out, lse)


def backward(dOut, Q, K, V, Out, lse):
    """The gradients: one AllToAll there, three back.

    dOut     dOut[T_Z, G, R, d]
    Q, K, V, Out, lse  as forward returned them, such as Q[T, G_Z, R, d]
    returns  dQ[T_Z, G, R, d], dK[T_Z, G, d], dV[T_Z, G, d]
    source   DeepSpeed-Ulysses paper
    """
    dOut = to_heads(dOut)  # dOut[T, G_Z, R, d]
    grads = derivatives(dOut, Q, K, V, Out, lse)  # of whole heads
    return tuple(to_tokens(g.astype(Q.dtype)) for g in grads)
