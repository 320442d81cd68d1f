"""Several pods: any strategy inside each, and data parallelism across them.

The mesh has one more axis, P, the first: pods. Weights and optimiser states
are in every pod, cut over its own axes as the strategy inside cuts them.
"""

from types import SimpleNamespace

from jax import P
from jax.lax import all_gather, psum, psum_scatter

__all__ = ["across", "all_reduce", "cut_by_pods"]


def all_reduce(dW):
    """A gradient summed over all chips of all pods: cut, cross, gather.

    dW       dW[D, F] {U_PX}, each chip's own term of the sum
    returns  dW[D, F]; of 2DF bytes a chip sends less than 4DF / X across
    source   scaling-book part 5, scaling across pods
    """
    dW = psum_scatter(dW, "X", tiled=True)  # dW[D_X, F] {U_P}
    dW = psum(dW, "P")  # dW[D_X, F]
    return all_gather(dW, "X", tiled=True, to="invarying")  # dW[D, F]


def across(inside):
    """A strategy inside each pod, and data parallelism across pods.

    inside   a module of shardlab.strategies, such as fsdp
    returns  what such a module holds, for a mesh whose axis P is the pods
    source   scaling-book part 5, scaling across pods
    """

    def backward(dOut, *saved, **options):
        dIn, dW_in, dW_out = inside.backward(dOut, *saved, **options)
        dW_out = psum(dW_out, "P")  # such as dW_out[F, D_X] {U_P}
        dW_in = psum(dW_in, "P")  # each chip crosses with its own piece
        return dIn, dW_in, dW_out

    return SimpleNamespace(
        LAYOUT=cut_by_pods(inside.LAYOUT),
        forward=inside.forward,
        backward=backward,
        update=inside.update,
    )


def cut_by_pods(layout):
    """The layout of a strategy with its tokens, and no more, cut over P too.

    layout   LAYOUT of a strategy
    returns  a dict like it: In[B_X, D] becomes In[B_PX, D]
    source   chapter 10
    """
    tokens = {}
    for name in ("In", "loss"):
        rows, *others = layout[name]
        inner = (rows,) if isinstance(rows, str) else rows or ()
        tokens[name] = P(("P", *inner), *others)
    return layout | tokens
