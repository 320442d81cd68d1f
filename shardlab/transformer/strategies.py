"""What differs between the strategies, and nothing else.

A Strategy says which dimensions lie on which mesh axis, and which collective
stands where. X cuts tokens, and the dimension D of whatever ZeRO cuts; Y cuts
groups of heads, F and the vocabulary. A collective of the backward pass is
written as what JAX differentiates into it:

    forward             backward
    AllGather           ReduceScatter
    ReduceScatter       AllGather
    psum, AllReduce     nothing
    pcast, nothing      AllReduce

A pcast that is forgotten JAX's types put in, where the array is used: numbers
stay right. Three uses are then three AllReduces, and the count shows it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import jax
from jax.lax import (
    all_gather,
    axis_index,
    axis_size,
    dynamic_slice_in_dim,
    pcast,
    psum,
    psum_scatter,
)

from shardlab.strategies import adam, attention
from shardlab.transformer.model import DIMENSIONS

__all__ = [
    "KEPT",
    "ON_Y",
    "STRATEGIES",
    "Strategy",
    "along_D",
    "everything",
    "f",
    "for_own_tokens",
    "g",
    "gains_reduced",
    "gather",
    "gather_tokens",
    "gathered",
    "gathered_and_gains_reduced",
    "landing",
    "piece",
    "products",
    "ready",
    "reduced",
    "same",
    "scatter",
    "scatter_tokens",
    "unreduced",
    "update",
    "update_and_gather",
    "whole_attention",
]


def same(x):
    """What it is given: nothing moves.

    x        anything
    returns  x
    source   chapter 5
    """
    return x


def whole_attention(Q, K, V):
    """Attention of a sequence that one chip has whole: nothing moves.

    Q, K, V  Q[T, G, R, d], K[T, G, d], V[T, G, d]
    returns  Heads[T, G, R, d] in float32
    source   Attention Is All You Need
    """
    return attention.attend(Q, K, V)[0]


def ready(own, held):
    """Weights that are ready for use as they lie.

    own      weights of a layer, or of an end of the model
    held     not used
    returns  own
    source   chapter 5
    """
    return own


def update(dW, states):
    """Adam on every array; each chip does the pieces that it holds.

    dW       tree of gradients
    states   the same tree with a state, as `adam.start` makes it, of each
    returns  new weights and new states
    source   ZeRO paper
    """
    gradients, tree = jax.tree.flatten(dW)
    states = tree.flatten_up_to(states)
    done = [adam.update(*pair) for pair in zip(gradients, states, strict=True)]
    W, states = zip(*done, strict=True)
    return tree.unflatten(W), tree.unflatten(states)


def products(primitive, *_, **how):
    """What a layer keeps for its backward pass: products, and what Y moved.

    Weights that were gathered over X are not kept: backward gathers them again.

    primitive  an operation of JAX
    how      its parameters, such as the mesh axes of a collective
    returns  True or False
    source   chapter 7
    """
    axes = how.get("axis_name", how.get("axes", ()))
    return primitive.name == "dot_general" or "Y" in axes


def everything(primitive, *_, **how):
    """All results of a layer, the weights that it gathered among them.

    primitive, how  as in `products`
    returns  True
    source   chapter 7
    """
    return True


@dataclass(frozen=True)
class Strategy:
    """How chips share the work of a training step; by default, not at all.

    name      as the book calls it
    batch     mesh axes that cut tokens
    vocab     mesh axes that cut the vocabulary
    cut       which axis cuts which dimension of the weights, such as F on Y
    cut_states  the same of gradients and of the optimiser's state
    zero      what is cut over X beside tokens: 0 to 3, as in `shardlab.memory`
    own       the part of the weights where the gradient shall arrive
    weights   from own and held to weights that are ready for a product
    enter     activations on their way into products that Y cuts
    leave     sums on their way out of them
    keeps     of the operations of a layer, those whose results backward finds
              kept; it does the others again
    collect   what is left to be done to gradients after the backward pass
    update    the optimiser's step
    attend    queries, keys and values of one sequence, as far as they are
              here, to what their heads give
    source    chapter 9
    """

    name: str
    batch: tuple = ()
    vocab: tuple = ()
    cut: dict = field(default_factory=dict)
    cut_states: dict = field(default_factory=dict)
    zero: int = 0
    own: Callable = same
    weights: Callable = ready
    enter: Callable = same
    leave: Callable = same
    keeps: Callable = products
    collect: Callable = same
    update: Callable = update
    attend: Callable = whole_attention


# ---- moving all arrays of a tree ---------------------------------------------


def along_D(move, W):
    """A tree of arrays, each with something done to its dimension D.

    move     a function of an array and the number of its dimension D
    W        tree of weights, of one layer or of all
    returns  the same tree of what `move` gave
    source   chapter 7
    """

    def one(path, w):
        dims = DIMENSIONS[path[-1].key]
        return move(w, w.ndim - len(dims) + dims.index("D"))

    return jax.tree_util.tree_map_with_path(one, W)


def gather(W, to="varying", axes="X"):
    """Weights W[D_X, ...] made whole: an AllGather over X of each.

    W        tree of pieces
    to       "invarying" if all chips shall know that they hold the same
    axes     mesh axes that cut D, if not X alone
    returns  tree of whole arrays
    source   chapter 7
    """
    return along_D(
        lambda w, d: all_gather(w, axes, axis=d, tiled=True, to=to), W
    )


def scatter(dW, axes="X"):
    """Gradients dW[D, ...] {U_X} summed and cut: a ReduceScatter over X.

    dW       tree of whole arrays
    axes     mesh axes that cut D, if not X alone
    returns  tree of pieces dW[D_X, ...]
    source   chapter 7
    """
    return along_D(
        lambda w, d: psum_scatter(w, axes, scatter_dimension=d, tiled=True), dW
    )


def piece(W):
    """This chip's part of weights that it holds whole; nothing moves.

    W        tree of whole arrays
    returns  tree of pieces W[D_X, ...]
    source   ZeRO paper
    """

    def cut(w, d):
        size = w.shape[d] // axis_size("X")
        return dynamic_slice_in_dim(w, axis_index("X") * size, size, d)

    return along_D(cut, W)


def for_own_tokens(axis, W, only=""):
    """Weights that each chip uses for tokens of its own: dW is {U} there.

    axis     mesh axis; the gradient is AllReduced over it on its way out
    W        tree of weights that are the same on all chips of the axis
    only     do it to arrays whose names begin like this
    returns  the same arrays; nothing moves yet
    source   chapter 6
    """
    return {
        name: pcast(w, axis, to="varying") if name.startswith(only) else w
        for name, w in W.items()
    }


# ---- over X: data parallelism and ZeRO ---------------------------------------


def reduced(own, held):
    """Data parallelism: each dW is AllReduced as soon as it is made.

    own      weights of a layer, or of an end of the model
    held     not used
    returns  own; its gradient is summed over X
    source   scaling-book part 5, data parallelism
    """
    return for_own_tokens("X", own)


def unreduced(W):
    """ZeRO-1: gradients stay {U_X}, whole, until all of them are there.

    W        tree of whole weights
    returns  the same; its gradient is not summed
    source   ZeRO paper
    """
    return jax.tree.map(lambda w: pcast(w, "X", to="varying"), W)


@jax.custom_vjp
def landing(own, held):
    """ZeRO-2: weights are held whole, and their gradient arrives as a piece.

    own      pieces W[D_X, ...]; only their gradient matters
    held     whole weights W[D, ...]
    returns  held; its gradient is scattered, layer by layer, to be that of own
    source   ZeRO paper
    """
    return for_own_tokens("X", held)


landing.defvjp(
    lambda own, held: (landing(own, held), None),
    lambda _, dW: (scatter(dW), None),
)


def update_and_gather(dW, states):
    """ZeRO-1 and -2: each chip makes its part of the weights and sends it.

    dW, states  tree of pieces dW[D_X, ...], and of their states

    returns  whole weights W[D, ...], and the new states of the pieces
    source   ZeRO paper
    """
    W, states = update(dW, states)
    return gather(W, to="invarying"), states


def gathered(own, held):
    """FSDP: weights are gathered for their layer, their gradients scattered.

    own      pieces W[D_X, ...] of the weights of a layer
    held     not used
    returns  W[D, ...]
    source   scaling-book part 5, FSDP
    """
    return gather(own)


# ---- over Y: tensor parallelism ----------------------------------------------


def f(In):
    """Megatron's f: nothing forward, an AllReduce of dIn backward.

    In       In[B, D], the same on all chips of Y
    returns  In; the gradient that comes back is {U_Y}
    source   Megatron-LM paper
    """
    return pcast(In, "Y", to="varying")


def g(Out):
    """Megatron's g: an AllReduce of Out forward, nothing backward.

    Out      Out[B, D] {U_Y}
    returns  Out[B, D]
    source   Megatron-LM paper
    """
    return psum(Out, "Y")


def gather_tokens(In):
    """Sequence parallelism, on the way in: all tokens, from some of them.

    In       In[B_Y, D]
    returns  In[B, D]; the gradient that comes back is scattered
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    return all_gather(In, "Y", axis=0, tiled=True)


def scatter_tokens(Out):
    """Sequence parallelism, on the way out: sums, of some tokens only.

    Out      Out[B, D] {U_Y}
    returns  Out[B_Y, D]; the gradient that comes back is gathered
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


def gains_reduced(own, held):
    """Sequence parallelism: a norm saw some tokens only, so dgain is {U_Y}.

    own      weights of a layer, or of an end of the model
    held     not used
    returns  own; the gradients of gains are summed over Y
    source   Korthikanti et al., Reducing Activation Recomputation
    """
    return for_own_tokens("Y", own, only="gain")


def gathered_and_gains_reduced(own, held):
    """FSDP and sequence parallelism: both, the pieces of gains summed first.

    own      pieces W[D_X, ...] of the weights of a layer
    held     not used
    returns  W[D, ...]
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    return gather(for_own_tokens("Y", own, only="gain"))


# ---- the strategies ----------------------------------------------------------

ON_X = {"D": "X"}
ON_Y = dict.fromkeys(("G", "F", "vocab"), "Y")
STRATEGIES = {
    at.name: at
    for at in (
        Strategy("none"),
        Strategy("dp", batch=("X",), weights=reduced),
        Strategy(
            "zero1",
            batch=("X",),
            cut_states=ON_X,
            zero=1,
            own=unreduced,
            collect=scatter,
            update=update_and_gather,
        ),
        Strategy(
            "zero2",
            batch=("X",),
            cut_states=ON_X,
            zero=2,
            own=piece,
            weights=landing,
            update=update_and_gather,
        ),
        Strategy(
            "fsdp",
            batch=("X",),
            cut=ON_X,
            cut_states=ON_X,
            zero=3,
            weights=gathered,
        ),
        Strategy(
            "megatron",
            vocab=("Y",),
            cut=ON_Y,
            cut_states=ON_Y,
            enter=f,
            leave=g,
        ),
        Strategy(
            "sequence",
            vocab=("Y",),
            cut=ON_Y,
            cut_states=ON_Y,
            weights=gains_reduced,
            enter=gather_tokens,
            leave=scatter_tokens,
        ),
        Strategy(
            "fsdp_tp",
            batch=("X",),
            vocab=("Y",),
            cut=ON_X | ON_Y,
            cut_states=ON_X | ON_Y,
            zero=3,
            weights=gathered_and_gains_reduced,
            enter=gather_tokens,
            leave=scatter_tokens,
        ),
    )
}
# FSDP that keeps all it has gathered: a third less to move, and no memory saved
# where it is most needed.
KEPT = replace(STRATEGIES["fsdp"], name="fsdp, weights kept", keeps=everything)
