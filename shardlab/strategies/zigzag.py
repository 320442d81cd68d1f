"""Ring attention in zig-zag order: every chip has early and late tokens.

A sequence is cut into 2N pieces, and chip i of N has piece i and piece
2N - 1 - i. Of any two chips each has as many tokens before the other's as
behind them, so that under a causal mask all chips work alike at every turn.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from shardlab.arguments import how_many, takes
from shardlab.strategies import ring_attention
from shardlab.strategies.attention import attend, derivatives
from shardlab.strategies.ring_attention import (
    go_round,
    merge,
    no_keys,
    onward,
)

__all__ = [
    "add_block",
    "attend_pieces",
    "backward",
    "blocks",
    "forward",
    "halves",
    "join_halves",
    "late_tokens",
    "order",
    "own_gradients",
]

LAYOUT = ring_attention.LAYOUT


def _whole_pieces(T, N):
    if T % (2 * N):
        raise ValueError(f"T must be a multiple of 2 N = {2 * N}, got {T}")


@takes(_whole_pieces, T=how_many, N=how_many)
def order(T, N):
    """The tokens of a sequence in the order in which chips hold them.

    T        tokens of the sequence
    N        chips; chip i gets pieces i and 2N - 1 - i of 2N
    returns  int64[T]; x[order] deals tokens out, and argsort of it takes back
    raises   ValueError that names T or N and what was expected
    source   Llama 3 report, section 3.3.2
    """
    pieces = np.arange(T).reshape(2 * N, -1)
    dealt = [pieces[[i, 2 * N - 1 - i]] for i in range(N)]
    return np.concatenate(dealt).reshape(T)


def halves(x):
    """An array as two: its early piece, and its late one.

    x        x[T_Z, ...], in zig-zag order
    returns  x[2, T_Z / 2, ...]
    source   chapter 13
    """
    return x.reshape(2, len(x) // 2, *x.shape[1:])


def join_halves(x):
    """The inverse of `halves`.

    x        x[2, T_Z / 2, ...]
    returns  x[T_Z, ...]
    source   chapter 13
    """
    return x.reshape(-1, *x.shape[2:])


def blocks(turn):
    """Which pieces meet at a turn, as (of queries, of keys): all past.

    Late queries are behind the early keys of every chip. If the keys come
    from a chip before this one, early queries are behind their early piece
    too; else late queries are behind their late piece.

    turn     hops that the keys have made; at 0 also late queries see late keys
    returns  two pairs of 0 (early) or 1 (late)
    source   Llama 3 report, section 3.3.2
    """
    here, N = lax.axis_index("Z"), lax.axis_size("Z")
    home = (here - turn) % N  # the chip that these keys come from
    side = (home > here).astype(int)
    return (1, 0), (side, side)


def late_tokens(Q, K, V):
    """What no turn does: late queries of a chip and its own late keys.

    Q, K, V  Q[2, t, G, R, d], K[2, t, G, d], V[2, t, G, d]
    returns  Out[2, t, G, R, d] and lse[2, G, R, t], of early queries nothing
    source   chapter 13
    """
    late = attend(Q[1], K[1], V[1])
    return tuple(map(jnp.stack, zip(no_keys(Q[0]), late, strict=True)))


def attend_pieces(Q, seen, turn, K, V):
    """Attention to the keys that are here: two blocks of pieces.

    Q        Q[2, t, G, R, d]
    seen     Out and lse over the keys of earlier turns, in halves
    turn     hops that the keys have made; at 0 the second block is masked
    K, V     K[2, t, G, d], V[2, t, G, d]
    returns  Out and lse, in halves
    source   Llama 3 report, section 3.3.2
    """
    Out, lse = seen
    behind = -Q.shape[1]
    distances = behind, behind * (turn > 0)
    for (q, k), ahead in zip(blocks(turn), distances, strict=True):
        more = attend(Q[q], K[k], V[k], ahead)
        both, log = merge(Out[q], lse[q], *more)
        Out, lse = Out.at[q].set(both), lse.at[q].set(log)
    return Out, lse


def forward(Q, K, V):
    """Ring attention with half of the work.

    Q, K, V  Q[T_Z, G, R, d], K[T_Z, G, d], V[T_Z, G, d], in zig-zag order
    returns  Out[T_Z, G, R, d], and Q, K, V, Out, lse in halves
    source   Llama 3 report, section 3.3.2
    """
    Q, K, V = halves(Q), halves(K), halves(V)
    start = late_tokens(Q, K, V)
    Out, lse = go_round(partial(attend_pieces, Q), start, K, V)
    return join_halves(Out).astype(Q.dtype), (Q, K, V, Out, lse)


def add_block(sums, pair, dOut, saved, K, V, ahead):
    """The gradients, with what one block of queries and keys adds to them.

    sums     dQ, dK, dV so far, in halves
    pair     which half of the queries, and which of the keys
    dOut, saved  dOut, and (Q, Out, lse), in halves
    K, V     keys and values that are here, in halves
    ahead    as in `shardlab.strategies.attention.scores`
    returns  dQ, dK, dV
    source   chapter 13
    """
    (Q, Out, lse), (q, k) = saved, pair
    block = derivatives(dOut[q], Q[q], K[k], V[k], Out[q], lse[q], ahead)
    return tuple(
        total.at[half].add(more.astype(total.dtype))
        for total, half, more in zip(sums, (q, k, k), block, strict=True)
    )


def own_gradients(dOut, saved, K, V):
    """What a chip's own tokens add to the gradients: three blocks.

    dOut, saved, K, V  as in `add_block`
    returns  dQ, dK, dV in float32, in halves
    source   chapter 13
    """
    sums = [jnp.zeros_like(x, "float32") for x in (saved[0], K, V)]
    for pair, ahead in (((0, 0), 0), ((1, 1), 0), ((1, 0), -K.shape[1])):
        sums = add_block(sums, pair, dOut, saved, K, V, ahead)
    return sums


def backward(dOut, Q, K, V, Out, lse):
    """The gradients: K and V travel again, and dK and dV travel home.

    dOut     dOut[T_Z, G, R, d], in zig-zag order
    Q, K, V, Out, lse  as forward returned them
    returns  dQ[T_Z, G, R, d], dK[T_Z, G, d], dV[T_Z, G, d]
    source   Ring Attention paper
    """
    dOut, saved, t = halves(dOut), (Q, Out, lse), Q.shape[1]
    dQ, *own = own_gradients(dOut, saved, K, V)

    def hop(carry, turn):
        K, V, *sums = carry
        K, V = onward(K, V)
        for pair in blocks(turn):
            sums = add_block(sums, pair, dOut, saved, K, V, -t)
        dQ, dK, dV = sums
        return (K, V, dQ, *onward(dK, dV)), None

    start = (K, V, dQ, jnp.zeros_like(K), jnp.zeros_like(V))
    turns = jnp.arange(1, lax.axis_size("Z"))
    (_, _, dQ, *moved), _ = lax.scan(hop, start, turns)
    dK, dV = (x + more for x, more in zip(own, moved, strict=True))
    return tuple(join_halves(x).astype(Q.dtype) for x in (dQ, dK, dV))
