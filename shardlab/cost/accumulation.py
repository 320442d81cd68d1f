"""What gradient accumulation moves: k microbatches, one update."""

from shardlab.arguments import flag, how_many, size, takes
from shardlab.cost.volumes import Step, weight_bytes

__all__ = ["accumulated_volume"]

WORDS = {"gathers": ("twice", "once", "step"), "reduces": ("each", "last")}


@takes(
    strategy=("dp", "zero1", "zero2", "fsdp"),
    k=how_many,
    D=size,
    F=size,
    gated=flag,
    itemsize=size,
    **WORDS,
)
def accumulated_volume(
    strategy,
    k,
    D,
    F,
    gathers="twice",
    reduces="each",
    gated=False,
    itemsize=2,
):
    """Bytes of a step in k microbatches: what is done once, and what k times.

    strategy  "dp", "zero1", "zero2" or "fsdp"
    k         microbatches
    D, F      model and hidden size, in elements
    gathers   of FSDP's weights: "twice" a microbatch, "once" a microbatch, or
              once for the whole "step"
    reduces   of gradients: after "each" microbatch or after the "last"
    gated     True: three weight matrices; False: two
    itemsize  bytes per element; 2 is bf16
    returns   Step, in bytes: of forward, backward and update
    raises    ValueError that names the argument and what was expected
    source    ZeRO paper; chapter 7
    """
    weights = weight_bytes(D, F, gated, itemsize)
    times = k if reduces == "each" else 1
    gradients = times * weights * (2 if strategy == "dp" else 1)
    if strategy != "fsdp":
        update = 0 if strategy == "dp" else weights
        return Step(0, gradients, update)
    forward = weights * (1 if gathers == "step" else k)
    again = weights * k if gathers == "twice" else 0
    return Step(forward, again + gradients)
