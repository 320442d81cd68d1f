"""Gradient accumulation: k microbatches one by one, and then one update."""

import jax
import jax.numpy as jnp
from jax import P
from jax.lax import all_gather, psum, psum_scatter

from shardlab.arguments import takes
from shardlab.strategies import one_chip
from shardlab.strategies.loss import squared_error

__all__ = ["gather", "gradients", "reduce"]


def gather(W, spec):
    """A weight made whole over X; nothing moves where it is whole.

    W        a chip's piece, or all of it
    spec     how it is cut, such as P("X", None)
    returns  W[D, F] or W[F, D]
    source   chapter 7
    """
    if "X" not in spec:
        return W
    return all_gather(W, "X", axis=spec.index("X"), tiled=True)


def reduce(dW, spec):
    """A gradient {U_X} summed over X: scattered, or AllReduced if to be whole.

    dW       this chip's own term, of its own tokens
    spec     how the sum is to be cut, such as P("X", None)
    returns  the chip's piece of the sum, or all of it
    source   chapter 7
    """
    if "X" not in spec:
        return psum(dW, "X")
    place = spec.index("X")
    return psum_scatter(dW, "X", scatter_dimension=place, tiled=True)


@takes(gathers=("twice", "once", "step"), reduces=("each", "last"))
def gradients(strategy, mesh, gathers="twice", reduces="each"):
    """Both passes of k microbatches on chips along X: how often they talk.

    strategy  dp, zero1, zero2 or fsdp: its LAYOUT says what is cut
    mesh      jax.sharding.Mesh or AbstractMesh with an axis X
    gathers   of weights that are cut: "twice" a microbatch, for each pass;
              "once", and kept for its backward pass (PyTorch FSDP2:
              reshard_after_forward=False); once for the whole "step"
    reduces   of gradients: after "each" microbatch, when only pieces pile up;
              or after the "last", when whole gradients pile up (FSDP2:
              set_requires_gradient_sync(False) before)
    returns   a function of In[k, B/k, D], Target[k, B/k, D], W_in[D, F] and
              W_out[F, D] that gives the parts of the loss, dIn[k, B/k, D],
              dW_in[D, F] and dW_out[F, D]
    raises    ValueError for another word
    source    ZeRO paper; chapter 7
    """
    L = strategy.LAYOUT

    def whole(W_in, W_out):
        return gather(W_in, L["W_in"]), gather(W_out, L["W_out"])

    def summed(dW_in, dW_out):
        return reduce(dW_in, L["dW_in"]), reduce(dW_out, L["dW_out"])

    def per_device(In, Target, *pieces):
        weights = whole(*pieces) if gathers == "step" else None
        loss, dIns, totals = 0, [], (0, 0)
        for x, target in zip(In, Target, strict=True):
            W = weights or whole(*pieces)
            Out, (x, Tmp, *_) = one_chip.forward(x, *W)
            part, dOut = squared_error(Out, target)
            W = whole(*pieces) if gathers == "twice" else W
            dIn, *dW = one_chip.backward(dOut, x, Tmp, *W)
            dW = summed(*dW) if reduces == "each" else dW
            loss, dIns = loss + part, [*dIns, dIn]
            totals = [total + dw for total, dw in zip(totals, dW, strict=True)]
        totals = summed(*totals) if reduces == "last" else totals
        return loss[None], jnp.stack(dIns), *totals

    tokens = P(None, *L["In"])  # the microbatches come first
    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(tokens, tokens, L["W_in"], L["W_out"]),
        out_specs=(L["loss"], tokens, L["dW_in"], L["dW_out"]),
    )
