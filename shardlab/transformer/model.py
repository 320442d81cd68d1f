"""A small decoder in the book's notation, written once for every strategy.

In[B, D] holds the activations of B tokens, sequences of T one after the other.
`at` is a Strategy: it makes a layer's weights ready, and stands wherever chips
may have to speak. On one chip all that it does is to hand on what it is given.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shardlab.arguments import whole
from shardlab.models import a_model
from shardlab.strategies.sequence import norm

__all__ = [
    "DIMENSIONS",
    "attention",
    "cross_entropy",
    "dimensions",
    "embed",
    "inner",
    "layer",
    "layers",
    "loss",
    "mlp",
    "shapes",
    "sizes",
    "start",
]

# The dimensions of each array of weights; those of layers have L before them.
EMBED = {"W_embed": ("vocab", "D")}
LAYER = {
    "gain_attention": ("D",),
    "W_Q": ("D", "G", "R", "d"),
    "W_K": ("D", "G", "d"),
    "W_V": ("D", "G", "d"),
    "W_O": ("G", "R", "d", "D"),
    "gain_mlp": ("D",),
    "W_gate": ("D", "F"),
    "W_in": ("D", "F"),
    "W_out": ("F", "D"),
}
HEAD = {"gain_head": ("D",), "W_head": ("D", "vocab")}
DIMENSIONS = EMBED | LAYER | HEAD


# ---- weights -----------------------------------------------------------------


def dimensions():
    """The names of the dimensions of every array of weights.

    returns  {"embed": ..., "layers": ..., "head": ...}: dicts from the name of
             an array to a tuple of str; L is the first of those of layers
    source   chapter 5
    """
    stacked = {name: ("L", *dims) for name, dims in LAYER.items()}
    return {"embed": EMBED, "layers": stacked, "head": HEAD}


def sizes(model):
    """The size of every dimension of a model's weights.

    model    shardlab.models.Model: dense, gated, two tables
    returns  dict of int: "L", "D", "F", "vocab", "G" heads of keys and values,
             "R" query heads that share one of them, "d" elements of a head
    raises   ValueError that names what this decoder does not have
    source   chapter 5
    """
    a_model(model)
    for field, wanted in (("gated", True), ("tied", False), ("experts", 0)):
        if getattr(model, field) != wanted:
            got = getattr(model, field)
            raise ValueError(f"model.{field} must be {wanted}, got {got!r}")
    if model.latent:
        raise ValueError(f"model.latent must be (), got {model.latent!r}")
    G, R = model.kv_heads, model.heads // model.kv_heads
    heads = {"G": G, "R": R, "d": model.head_size}
    rest = {"L": model.L, "D": model.D, "F": model.F, "vocab": model.vocab}
    return heads | rest


def shapes(model):
    """The shape of every array of weights.

    model    shardlab.models.Model, such as model("llama-2-13b")
    returns  as `dimensions`, with tuples of sizes
    raises   ValueError that names what this decoder does not have
    source   chapter 5
    """
    size = sizes(model)
    return {
        group: {name: tuple(size[d] for d in dims) for name, dims in of.items()}
        for group, of in dimensions().items()
    }


def start(model, seed=0, dtype="float32"):
    """Random weights: products keep the size of what they are given.

    model    shardlab.models.Model
    seed     a whole number; the same weights for the same seed
    dtype    of all weights
    returns  tree of NumPy arrays as `shapes`
    raises   ValueError that names the argument
    source   chapter 5
    """
    random = np.random.default_rng(whole("seed", seed, least=0))
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"dtype must be of floats, got {dtype!r}")

    def draw(dims, shape):
        if dims[-1] == "D" and set(dims) <= {"L", "D"}:  # a gain, about 1
            return (1 + random.normal(size=shape) / 8).astype(dtype)
        size = dict(zip(dims, shape, strict=True))
        fan = np.prod([size[d] for d in inner(dims)])
        return (random.normal(size=shape) / fan**0.5).astype(dtype)

    return jax.tree.map(
        draw, dimensions(), shapes(model), is_leaf=lambda x: type(x) is tuple
    )


def inner(dims):
    """The dimensions that a product with these weights sums over."""
    dims = [d for d in dims if d != "L"]
    return dims[:-1] if dims[-1] == "D" and "vocab" not in dims else dims[:1]


# ---- parts -------------------------------------------------------------------


def embed(tokens, W_embed, axes=()):
    """The rows of a table that tokens ask for, as far as they are here.

    tokens   tokens[B], whole numbers below vocab
    W_embed  W_embed[vocab, D], or W_embed[vocab_Y, D]
    axes     mesh axes that cut vocab
    returns  In[B, D], or In[B, D] {U_Y}: zero for tokens of other chips
    source   Megatron-LM paper
    """
    row = tokens - lax.axis_index(axes) * len(W_embed)
    here = (row >= 0) & (row < len(W_embed))
    return jnp.where(here[:, None], W_embed[jnp.where(here, row, 0)], 0)


def attention(at, W, In, T):
    """Causal attention of each sequence to itself, by the heads that are here.

    at, W, In, T  as in `layer`
    returns  Out[B, D], what is added to the residual stream
    source   Attention Is All You Need
    """
    In = at.enter(norm(In, W["gain_attention"]))  # In[B, D]
    Q, K, V = (jnp.tensordot(In, W[name], 1) for name in ("W_Q", "W_K", "W_V"))
    Q, K, V = (x.reshape(-1, T, *x.shape[1:]) for x in (Q, K, V))
    Heads = jax.vmap(at.attend)(Q, K, V)  # Heads[B/T, T, G, R, d]
    Heads = Heads.reshape(len(In), *Heads.shape[2:]).astype(In.dtype)
    return at.leave(jnp.tensordot(Heads, W["W_O"], 3))


def mlp(at, W, In):
    """The gated MLP, by the columns of F that are here.

    at, W, In  as in `layer`
    returns  Out[B, D], what is added to the residual stream
    source   GLU Variants Improve Transformer
    """
    In = at.enter(norm(In, W["gain_mlp"]))  # In[B, D]
    Tmp = jax.nn.silu(In @ W["W_gate"]) * (In @ W["W_in"])  # Tmp[B, F]
    return at.leave(Tmp @ W["W_out"])


def layer(at, W, In, T):
    """One layer: attention and MLP, each added to what it was given.

    at       Strategy
    W        weights of one layer, ready for use: dict with the names of LAYER
    In       In[B, D], laid out as the strategy wants activations
    T        tokens of a sequence
    returns  In[B, D] of the next layer
    source   chapter 5
    """
    In = In + attention(at, W, In, T)
    return In + mlp(at, W, In)


def layers(at, own, held, In, T):
    """All layers in one loop, so that one layer's weights are ready at a time.

    at, own, held  as in `loss`, the layers' weights alone
    In, T    as in `layer`
    returns  In[B, D] after the last layer
    source   chapter 7
    """

    def one(In, pieces):
        W = at.weights(*pieces)
        return layer(at, W, In, T), None

    one = jax.checkpoint(one, policy=at.keeps, prevent_cse=False)
    Out, _ = lax.scan(one, In, (own, held))
    return Out


def cross_entropy(Out, W_head, targets, axes=()):
    """Minus the log of the chance that the model gives to each right token.

    Out      Out[B, D], after the last norm
    W_head   W_head[D, vocab], or W_head[D, vocab_Y]
    targets  targets[B], the right tokens
    axes     mesh axes that cut vocab: three AllReduces of B numbers, no gather
    returns  surprise[B] in float32
    source   Megatron-LM paper
    """
    logits = jnp.matmul(Out, W_head, preferred_element_type="float32")
    most = lax.stop_gradient(logits).max(1)  # so that no exp overflows
    most = lax.pmax(most, axes) if axes else most
    logits = logits - most[:, None]  # logits[B, vocab_Y]
    total = lax.psum(jnp.exp(logits).sum(1), axes)
    first = lax.axis_index(axes) * logits.shape[1]
    right = targets[:, None] == first + jnp.arange(logits.shape[1])
    return jnp.log(total) - lax.psum(jnp.where(right, logits, 0).sum(1), axes)


def loss(at, own, held, tokens, targets, T):
    """The whole model: the sum of the surprise at each token that is here.

    at       Strategy
    own      weights whose gradient is asked for, as `at.own` gives them
    held     weights as the chip holds them, a tree as `shapes`
    tokens, targets  tokens[B], targets[B]
    T        tokens of a sequence
    returns  a number in float32
    raises   ValueError if T does not divide the tokens that are here
    source   chapter 5
    """
    if len(tokens) % whole("T", T):
        raise ValueError(f"T must divide {len(tokens)} tokens, got {T}")
    W = at.weights(own["embed"], held["embed"])
    In = at.leave(embed(tokens, W["W_embed"], at.vocab))
    In = layers(at, own["layers"], held["layers"], In, T)
    W = at.weights(own["head"], held["head"])
    Out = at.enter(norm(In, W["gain_head"]))
    return cross_entropy(Out, W["W_head"], targets, at.vocab).sum()
