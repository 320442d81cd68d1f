"""Ring attention: queries stay, keys and values travel round the ring."""

from functools import partial

import jax.numpy as jnp
from jax import P, lax

from shardlab.strategies.attention import attend, derivatives

__all__ = [
    "LAYOUT",
    "attend_next",
    "backward",
    "distance",
    "forward",
    "go_round",
    "merge",
    "no_keys",
    "onward",
]

LAYOUT = dict.fromkeys(("Q", "K", "V", "Out", "loss"), P("Z"))


def onward(*blocks):
    """Each block, from the chip before this one on the ring.

    blocks   arrays of any shape
    returns  list of as many arrays
    source   Ring Attention paper
    """
    N = lax.axis_size("Z")
    to_next = [(i, (i + 1) % N) for i in range(N)]
    return [lax.ppermute(block, "Z", to_next) for block in blocks]


def distance(turn, tokens):
    """Tokens from this chip's first query to the first key here at a turn.

    turn     hops that the keys have made
    tokens   tokens of each chip
    returns  a whole number; negative if the keys are of the past
    source   Ring Attention paper
    """
    here, N = lax.axis_index("Z"), lax.axis_size("Z")
    home = (here - turn) % N  # the chip that these keys come from
    return (home - here) * tokens


def merge(Out, lse, other, other_lse):
    """Attention to two sets of keys from the attention to each: online softmax.

    Out, lse          Out[T, G, R, d] and lse[G, R, T] over some keys
    other, other_lse  the same over other keys
    returns           Out and lse over all of them
    source            FlashAttention paper
    """
    both = jnp.logaddexp(lse, other_lse)
    share = jnp.exp(jnp.stack([lse, other_lse]) - both)  # [2, G, R, T]
    share = jnp.moveaxis(share, 3, 1)[..., None]  # [2, T, G, R, 1]
    return share[0] * Out + share[1] * other, both


def no_keys(Q):
    """Attention to no keys at all, which `merge` can begin with.

    Q        Q[T, G, R, d]
    returns  Out[T, G, R, d] of zeros and lse[G, R, T] of -inf, in float32
    source   FlashAttention paper
    """
    lse = jnp.full_like(Q[..., 0], -jnp.inf, "float32")
    return jnp.zeros_like(Q, "float32"), lse.transpose(1, 2, 0)


def go_round(use, seen, *blocks):
    """Blocks go round the ring in N-1 hops, and every chip uses each.

    use      function of what was seen, the turn and the blocks that are here
    seen     what it begins with, such as `no_keys`
    blocks   arrays, of this chip at turn 0
    returns  what `use` has made of all of them
    source   Ring Attention paper
    """

    def take_turn(carry, turn):
        seen, *blocks = carry
        coming = onward(*blocks)  # before the use, so that hops can hide
        return (use(seen, turn, *blocks), *coming), None

    last = lax.axis_size("Z") - 1
    (seen, *blocks), _ = lax.scan(take_turn, (seen, *blocks), jnp.arange(last))
    return use(seen, last, *blocks)


def attend_next(Q, seen, turn, K, V):
    """Attention to the keys that are here at a turn, merged with the others.

    Q        Q[T_Z, G, R, d]
    seen     Out and lse over the keys of earlier turns
    turn     hops that the keys have made
    K, V     K[T_Z, G, d], V[T_Z, G, d]
    returns  Out and lse
    source   Ring Attention paper
    """
    more = attend(Q, K, V, distance(turn, len(Q)))
    return merge(*seen, *more)


def forward(Q, K, V):
    """Ring attention: N-1 hops of K and V, each 1/N of them: no gather.

    Blocks of the future are computed and thrown away, nearly half of all:
    `zigzag` is the cure.

    Q, K, V  Q[T_Z, G, R, d], K[T_Z, G, d], V[T_Z, G, d]
    returns  Out[T_Z, G, R, d], and Q, K, V, Out, lse
    source   Ring Attention paper
    """
    Out, lse = go_round(partial(attend_next, Q), no_keys(Q), K, V)
    return Out.astype(Q.dtype), (Q, K, V, Out, lse)


def backward(dOut, Q, K, V, Out, lse):
    """The gradients: K and V travel again, and dK and dV travel home.

    dOut     dOut[T_Z, G, R, d]
    Q, K, V, Out, lse  as forward returned them
    returns  dQ[T_Z, G, R, d], dK[T_Z, G, d], dV[T_Z, G, d]
    source   Ring Attention paper
    """
    dQ, k, v = derivatives(dOut, Q, K, V, Out, lse)

    def hop(carry, turn):
        K, V, dQ, dK, dV = carry
        K, V = onward(K, V)
        q, k, v = derivatives(dOut, Q, K, V, Out, lse, distance(turn, len(Q)))
        dK, dV = onward(dK + k.astype(K.dtype), dV + v.astype(V.dtype))
        return (K, V, dQ + q, dK, dV), None

    start = (K, V, dQ, jnp.zeros_like(K), jnp.zeros_like(V))
    turns = jnp.arange(1, lax.axis_size("Z"))
    (_, _, dQ, dK, dV), _ = lax.scan(hop, start, turns)
    return dQ.astype(Q.dtype), dK + k.astype(K.dtype), dV + v.astype(V.dtype)
