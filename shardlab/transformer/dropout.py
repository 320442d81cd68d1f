"""The layer for which activation memory was first tallied, with names on it.

It is that of GPT-3's time: attention over all pairs of tokens, a GeLU between
two matrices, and dropout in three places. Sizes have the letters of the paper:
s tokens in each of b sequences, h elements wide, a heads. What the paper says
is kept has its name in `memory.LAYER`, so that a policy can ask for it.

`enter` and `leave` stand where tensor parallelism moves something; on one chip
they hand on what they are given.
"""

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name as label

from shardlab import memory

__all__ = [
    "CUT",
    "NAMES",
    "WEIGHTS",
    "attend",
    "attention",
    "dropout",
    "layer",
    "mlp",
    "norm",
    "same",
    "shapes",
    "softmax",
    "softmax_derivative",
]

RATE = 0.1  # of elements that dropout makes zero
NAMES = tuple(memory.LAYER)
# The weights, their dimensions, and which of these tensor parallelism cuts.
WEIGHTS = {
    "gain_1": ("h",),
    "W_Q": ("h", "a", "d"),
    "W_K": ("h", "a", "d"),
    "W_V": ("h", "a", "d"),
    "W_O": ("a", "d", "h"),
    "gain_2": ("h",),
    "W_in": ("h", "4h"),
    "W_out": ("4h", "h"),
}
CUT = ("a", "4h")


def same(x):
    """What is given: nothing moves on one chip."""
    return x


def shapes(s, b, h, a, dtype="bfloat16"):
    """Weights, activations and random keys of a layer, as shapes.

    s, b, h, a  tokens of a sequence, sequences, width, heads
    dtype    of weights and activations
    returns  dict of weights, x[s, b, h], and three keys for dropout
    raises   ValueError if the heads do not divide the width
    source   Korthikanti et al. (2022)
    """
    if h % a:
        raise ValueError(f"h must be a multiple of a = {a}, got {h}")
    size = {"h": h, "a": a, "d": h // a, "4h": 4 * h}
    shape = jax.ShapeDtypeStruct
    W = {
        what: shape(tuple(size[d] for d in dims), dtype)
        for what, dims in WEIGHTS.items()
    }
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 3))
    return W, shape((s, b, h), dtype), keys


def norm(x, gain):
    """Each token with mean 0 and mean square 1, then times a learned gain."""
    wide = x.astype("float32")
    wide = wide - wide.mean(-1, keepdims=True)
    square = (wide**2).mean(-1, keepdims=True)
    return (wide * jax.lax.rsqrt(square + 1e-6)).astype(x.dtype) * gain


def dropout(x, key, what):
    """x without a tenth of its elements; `what` is the label of the mask."""
    keep = label(jax.random.bernoulli(key, 1 - RATE, x.shape), what)
    return jnp.where(keep, x / (1 - RATE), 0).astype(x.dtype)


@jax.custom_jvp
def softmax(scores):
    """Softmax over the last dimension, whose derivative needs its result."""
    return jax.nn.softmax(scores, axis=-1)


@softmax.defjvp
def softmax_derivative(scores, change):
    """The change of a softmax, from its result alone."""
    out = label(softmax(*scores), "softmax output")
    weighed = out * change[0]
    return out, weighed - out * weighed.sum(-1, keepdims=True)


def attend(Q, K, V, key):
    """Causal attention of each sequence to itself, with dropout.

    Q, K, V  Q[s, b, a, d], K[s, b, a, d], V[s, b, a, d]
    key      for dropout
    returns  Heads[s, b, a, d]
    source   Korthikanti et al. (2022)
    """
    scores = jnp.einsum("qbad,kbad->baqk", Q, K) / Q.shape[-1] ** 0.5
    earlier = jnp.tril(jnp.ones(scores.shape[2:], bool))
    chances = softmax(jnp.where(earlier, scores, -jnp.inf).astype(Q.dtype))
    chances = dropout(chances, key, "softmax dropout mask")
    chances = label(chances, "softmax dropout output")
    return jnp.einsum("baqk,kbad->qbad", chances, V)


def attention(W, x, keys, enter=same, leave=same):
    """The first half of a layer: what attention adds to x, after dropout."""
    In = label(norm(x, W["gain_1"]), "query, key, value input")
    In = enter(In)
    Q, K, V = (jnp.tensordot(In, W[each], 1) for each in ("W_Q", "W_K", "W_V"))
    Q, K = (label(each, "query and key") for each in (Q, K))
    Heads = attend(Q, K, label(V, "value"), keys[0])
    Heads = label(Heads, "attention projection input")
    Out = leave(jnp.tensordot(Heads, W["W_O"], 2))
    return dropout(Out, keys[1], "attention dropout mask")


def mlp(W, x, keys, enter=same, leave=same):
    """The second half of a layer: what the MLP adds to x, after dropout."""
    In = label(norm(x, W["gain_2"]), "first MLP matmul input")
    Tmp = label(enter(In) @ W["W_in"], "GeLU input")
    Tmp = label(jax.nn.gelu(Tmp), "second MLP matmul input")
    return dropout(leave(Tmp @ W["W_out"]), keys[2], "MLP dropout mask")


def layer(W, x, keys, enter=same, leave=same):
    """One layer: attention and MLP, each added to what it was given.

    W        weights by the names of WEIGHTS
    x        x[s, b, h]
    keys     three random keys, for the three dropouts
    enter, leave  what is done to activations before and after the products
             that tensor parallelism cuts
    returns  x[s, b, h] of the next layer
    source   Korthikanti et al. (2022)
    """
    x = label(x, "layer norm 1 input")
    x = x + attention(W, x, keys, enter, leave)
    x = label(x, "layer norm 2 input")
    return x + mlp(W, x, keys, enter, leave)
