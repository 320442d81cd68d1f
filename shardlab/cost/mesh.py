"""Bytes that a Transformer moves on a mesh of four axes, axis by axis."""

from typing import NamedTuple

from shardlab.arguments import at_least_one, flag, how_many, size, takes
from shardlab.cost.transformer import transformer_elements
from shardlab.cost.volumes import (
    CONTEXTS,
    NOTHING,
    Step,
    context_volume,
    pipeline_volume,
    replicated_volume,
    tp_volume,
)

__all__ = ["Traffic", "mesh_volume"]


class Traffic(NamedTuple):
    """Bytes of a training step over each group of axes.

    stages   over one boundary of two stages
    data     weights and gradients, over X and Z together
    context  keys and values, over Z
    tensor   activations, over Y
    source   chapter 15
    """

    stages: Step = NOTHING
    data: Step = NOTHING
    context: Step = NOTHING
    tensor: Step = NOTHING


_SIZES = ("L", "D", "F", "h", "kv", "vocab")


def _six_sizes(name, value):
    """The argument `name`, a tuple or list of the six sizes of _SIZES."""
    if not isinstance(value, (tuple, list)) or len(value) != len(_SIZES):
        raise ValueError(
            f"{name} must be the six numbers {', '.join(_SIZES)}, got {value!r}"
        )
    named = enumerate(zip(_SIZES, value, strict=True))
    return tuple(size(f"{name}[{i}], {of},", n) for i, (of, n) in named)


def _whole_stages(zero, S):
    """ValueError for FSDP with stages."""
    if zero == 3 and S > 1:
        raise ValueError(f"zero must be 0 or 1 with stages, got 3 with S = {S}")


@takes(
    _whole_stages,
    B=size,
    sizes=_six_sizes,
    S=at_least_one,
    X=at_least_one,
    Z=at_least_one,
    Y=at_least_one,
    m=how_many,
    zero=(0, 1, 3),
    sp=flag,
    context=CONTEXTS,
    itemsize=size,
)
def mesh_volume(
    B,
    sizes,
    S=1,
    X=1,
    Z=1,
    Y=1,
    m=1,
    *,
    zero=0,
    sp=True,
    context="ring",
    itemsize=2,
):
    """Bytes that a training step moves on a mesh, over each group of axes.

    One program runs on all chips: in the bubble, too, a stage works and sends,
    so all that its layers move is moved (m + S - 1)/m times.

    B        tokens of the step
    sizes    (L, D, F, h, kv, vocab), as in `transformer_elements`
    S, X, Z, Y  chips of stages, data, context and tensor parallelism
    m        microbatches
    zero     0, 1 or 3: what chips of X and Z share out; no 3 with stages
    sp       sequence parallelism beside tensor parallelism
    context  a name in CONTEXTS
    itemsize bytes per element of weights and activations
    returns  Traffic
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5; Llama 3 report, section 3.3.2
    """
    L, D, _, h, kv, _ = sizes
    b, ticks = B / (X * Z), (m + S - 1) / m
    weights = transformer_elements(*sizes, Y)
    layers, ends = itemsize * weights.layers / S, itemsize * weights.ends
    keys = context_volume(b * Z, h / Y, kv / Y, context, itemsize, Z)
    boundary = pipeline_volume(b / (Y if sp else 1), D, itemsize)
    shares = X * Z if zero == 3 else 1
    blocks = 2 * L / S
    return Traffic(
        _times(boundary, ticks) if S > 1 else NOTHING,
        _data(zero, layers, ends) if X * Z > 1 else NOTHING,
        _times(keys, ticks * L / S) if Z > 1 else NOTHING,
        _tensor(b, D, blocks, ticks, shares, sp, itemsize)
        if Y > 1
        else NOTHING,
    )


def _times(step, by):
    return Step(*(by * part for part in step))


def _data(zero, layers, ends):
    """FSDP gathers layers twice and the ends once, and scatters both."""
    W = layers + ends
    return {
        0: Step(0, 2 * W),
        1: Step(0, W, update=W),
        3: Step(W, layers + W),
    }[zero]


def _tensor(b, D, blocks, ticks, shares, sp, itemsize):
    """Two blocks a layer; the ends are one more; three numbers a token."""
    forward, backward, _ = tp_volume(b, D, itemsize)
    often = ticks * blocks + 1
    logits = 3 * replicated_volume(b, itemsize=4)
    gains = replicated_volume((blocks + 1) * D / shares, itemsize) if sp else 0
    return Step(often * forward + logits, often * backward + gains)
