"""Formula and count side by side: two computations that share no code.

`cost` knows no program and `count` knows no formula. Here both look at the
same layer, one part of a training step and one mesh axis at a time.

    python -m shardlab.agreement
"""

import argparse
import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import jax
from jax.sharding import AbstractMesh, AxisType, use_abstract_mesh

from shardlab import cost, count
from shardlab.arguments import whole
from shardlab.count.records import columns, number
from shardlab.strategies import (
    block,
    dp,
    expert,
    fsdp,
    fsdp_tp,
    gather_attention,
    heads,
    layer,
    megatron,
    one_chip,
    ring_attention,
    sequence,
    tp,
    ulysses,
    zero1,
    zero2,
    zigzag,
)
from shardlab.strategies.pipeline import gpipe

__all__ = [
    "BLOCKS",
    "LAYERS",
    "PARTS",
    "STRATEGIES",
    "TrafficRow",
    "block_counts",
    "block_rows",
    "compared",
    "counts",
    "crossing",
    "formulas",
    "head_shapes",
    "layer_counts",
    "layer_formulas",
    "layer_rows",
    "layer_sizes",
    "main",
    "mixed_formulas",
    "over",
    "rows",
    "shapes",
    "table",
]

PARTS = ("forward", "backward", "update")
BLOCKS = {
    "none": (one_chip, {}),
    "dp": (dp, {}),
    "zero1": (zero1, {}),
    "zero2": (zero2, {}),
    "fsdp": (fsdp, {}),
    "fsdp, weights kept": (fsdp, {"kept": True}),
    "tp": (tp, {}),
    "tp, In gathered again": (tp, {"regather": True}),
    "megatron": (megatron, {}),
    "fsdp_tp": (fsdp_tp, {}),
    "fsdp_tp, weights kept": (fsdp_tp, {"kept": True}),
    "fsdp_tp, In gathered again": (fsdp_tp, {"regather": True}),
}
LAYERS = {
    "sequence": (sequence, {}),
    "sequence, In gathered again": (sequence, {"regather": True}),
    "heads": (heads, {}),
    "context, ring": (ring_attention, {}),
    "context, zig-zag": (zigzag, {}),
    "context, gather": (gather_attention, {}),
    "context, ulysses": (ulysses, {}),
    "expert": (expert, {"capacity": 1}),
    "expert, twice the slots": (expert, {"capacity": 2}),
    "gpipe": (gpipe, {}),
}
STRATEGIES = BLOCKS | LAYERS


@dataclass(frozen=True)
class TrafficRow:
    """What one strategy moves over one axis in one part of a training step.

    strategy  its name, and what its backward pass has kept
    part      forward, backward or update
    axis      X, Y or Z
    formula   volume in bytes by `cost`; of a pipeline, over one boundary
    counted   the same in bytes by `count`
    sent      bytes that leave each device round a ring, by `count`
    source    chapter 9
    """

    strategy: str
    part: str
    axis: str
    formula: int | float
    counted: int | float
    sent: int | float

    @property
    def ratio(self):
        """Counted over formula, exact; infinite where the formula says 0."""
        if not self.formula:
            return math.inf if self.counted else Fraction(1)
        return Fraction(self.counted) / Fraction(self.formula)


def formulas(B, D, F, X, Y):
    """Volume of each strategy by formula, {axis: forward, backward, update}.

    B, D, F  tokens, width and hidden width of the layer, in elements of bf16
    X, Y     chips of the data axis and of the TP axis
    returns  dict from the names of BLOCKS, in bytes
    source   scaling-book part 5, summary table
    """
    return {
        "none": {},
        "dp": {"X": cost.dp_volume(D, F)},
        "zero1": {"X": cost.zero_volume(1, D, F)},
        "zero2": {"X": cost.zero_volume(2, D, F)},
        "fsdp": {"X": cost.fsdp_volume(D, F)},
        "fsdp, weights kept": {"X": cost.fsdp_volume(D, F, kept=True)},
        "tp": {"Y": cost.tp_volume(B, D)},
        "tp, In gathered again": {"Y": cost.tp_volume(B, D, regather=True)},
        "megatron": {"Y": cost.tp_volume(B, D)},
        **mixed_formulas(B, D, F, X, Y),
    }


def mixed_formulas(B, D, F, X, Y):
    """The same for FSDP and tensor parallelism together.

    B, D, F, X, Y  as in `formulas`
    returns        dict from the names of BLOCKS, in bytes
    source         scaling-book part 5, mixed FSDP and tensor parallelism
    """
    sizes = B, D, F, X, Y
    return {
        "fsdp_tp": cost.fsdp_tp_volume(*sizes),
        "fsdp_tp, weights kept": cost.fsdp_tp_volume(*sizes, kept=True),
        "fsdp_tp, In gathered again": cost.fsdp_tp_volume(
            *sizes, regather=True
        ),
    }


def layer_sizes(B, D, F, X, Y, Z=None, H=None, G=None, E=None, k=1, m=None):
    """Sizes of the strategies of LAYERS, with what was not said filled in.

    B, D, F, X, Y  as in `formulas`
    Z        chips that cut tokens, or experts, or stages; as many as Y
    H, G     query heads, and heads of keys, of D / H elements; Z and Z
    E, k     experts, and how many each token visits; Z and one
    m        microbatches; Z
    returns  dict of all of them, each a whole number
    raises   ValueError that names what is wrong or does not divide
    source   chapters 11 to 14
    """
    Z = Y if Z is None else Z
    G = Z if G is None else G
    sizes = {"B": B, "D": D, "F": F, "X": X, "Y": Y, "Z": Z, "G": G, "k": k}
    others = {"H": (H, G), "E": (E, Z), "m": (m, Z)}
    sizes |= {name: b if a is None else a for name, (a, b) in others.items()}
    for name, size in sizes.items():
        whole(name, size, least=2 if name in "XYZ" else 1)
    _refuse_uneven(sizes)
    return sizes


def _refuse_uneven(sizes):
    """Refuse sizes of a layer that its parts do not divide."""
    B, D, H, G, Z, E, k, m = (sizes[name] for name in "BDHGZEkm")
    for name, size, by, parts in (
        ("D", D, "H", H),
        ("H", H, "G", G),
        ("G", G, "Z", Z),  # so that Ulysses can cut heads
        ("B", B, "2 Z", 2 * Z),  # pieces of a sequence in zig-zag
        ("k B", k * B, "Z E", Z * E),  # so that experts can be equally busy
        ("B", B, "m", m),
    ):
        if size % parts:
            said = f"{name} = {size} must be divisible by {by} = {parts}"
            raise ValueError(said)
    if k > E:
        raise ValueError(f"k must be at most E = {E}, got {k}")


def layer_formulas(sizes):
    """Volume of each of LAYERS by formula: forward, backward, update.

    sizes    as `layer_sizes` returns them
    returns  dict from the names of LAYERS to Steps, in bytes
    source   chapters 11 to 14
    """
    B, D, Z, H, G, E, k = (sizes[name] for name in "BDZHGEk")
    kv = D // H * G
    ring = cost.context_volume(B, D, kv, "ring", X=Z)
    return {
        "sequence": cost.sequence_volume(B, D),
        "sequence, In gathered again": cost.sequence_volume(
            B, D, regather=True
        ),
        "heads": cost.tp_volume(B, D),
        "context, ring": ring,
        "context, zig-zag": ring,
        "context, gather": cost.context_volume(B, D, kv, "gather"),
        "context, ulysses": cost.context_volume(B, D, kv, "ulysses"),
        "expert": cost.expert_volume(B, D, k, E=E),
        "expert, twice the slots": cost.expert_volume(B, D, k, capacity=2, E=E),
        "gpipe": cost.pipeline_volume(B, D),
    }


def shapes(name, sizes):
    """Shapes of the arguments of one of LAYERS; Target has that of the first.

    name     a key of LAYERS
    sizes    as `layer_sizes` returns them
    returns  dict from argument to tuple
    source   chapters 11 to 14
    """
    B, D, F, Y, Z, H, G, E, m = (sizes[name] for name in "BDFYZHGEm")
    if name.startswith("context"):
        d = D // H
        return {"Q": (B, G, H // G, d), "K": (B, G, d), "V": (B, G, d)}
    if name == "heads":
        return head_shapes(B, D, Y)
    name = name.partition(",")[0]
    many = {"expert": (E,), "gpipe": (Z,)}.get(name, ())
    weights = {"W_in": (*many, D, F), "W_out": (*many, F, D)}
    first = {
        "expert": {"In": (B, D), "W_router": (D, E)},
        "gpipe": {"In": (Z, m, B // m, D)},
    }
    return first.get(name, {"In": (B, D), "gain": (D,)}) | weights


def head_shapes(B, D, Y):
    """Shapes for one head on each chip; how many there are moves no byte."""
    W_Q, W_K = (D, Y, 1, D // Y), (D, Y, D // Y)
    W_O = W_Q[1:] + W_Q[:1]
    return {"In": (B, D), "W_Q": W_Q, "W_K": W_K, "W_V": W_K, "W_O": W_O}


def over(name):
    """The axis that one of LAYERS cuts something over."""
    return "Y" if name.partition(",")[0] in ("sequence", "heads") else "Z"


def layer_counts(name, sizes):
    """Records of each part of a training step of one of LAYERS.

    name     a key of LAYERS
    sizes    as `layer_sizes` returns them
    returns  three tuples of records: forward, backward, update
    raises   ValueError that names what does not divide
    source   chapters 11 to 14
    """
    strategy, options = LAYERS[name]
    X, Y, Z = (sizes[axis] for axis in "XYZ")
    if strategy is expert:
        visits = sizes["k"] * sizes["B"] // (Z * sizes["E"])
        options = {"C": options["capacity"] * visits, "k": sizes["k"]}
    named = {"X": X, "Y": Y} if over(name) == "Y" else {"X": X, "Z": Z}
    mesh = AbstractMesh(
        tuple(named.values()), tuple(named), (AxisType.Auto,) * 2
    )
    args = layer.shapes(strategy, mesh, **shapes(name, sizes))
    forward = layer.forward(strategy, mesh, **options)
    forward = count.collectives(forward, *args)
    both = layer.gradients(strategy, mesh, **options)
    both = count.collectives(both, args[0], *args)
    return forward, both[len(forward) :], both[:0]


def counts(name, B, D, F, X, Y, *, Z=None, H=None, G=None, E=None, k=1, m=None):
    """Records of each part of a training step, counted from its program.

    name     a key of STRATEGIES
    B, D, F, X, Y  as in `formulas`; the axes must divide the sizes
    Z, H, G, E, k, m  as in `layer_sizes`, for the strategies of LAYERS
    returns  three tuples of records: forward, backward, update
    raises   ValueError that names what does not divide
    source   chapter 9
    """
    if name in LAYERS:
        sizes = layer_sizes(B, D, F, X, Y, Z, H, G, E, k, m)
        return layer_counts(name, sizes)
    with use_abstract_mesh(AbstractMesh((), ())):  # whatever mesh is set
        return block_counts(name, B, D, F, X, Y)


def block_counts(name, B, D, F, X, Y):
    """The same for one of BLOCKS, while no mesh is set.

    name, B, D, F, X, Y  as in `counts`
    returns  three tuples of records: forward, backward, update
    raises   ValueError that names what does not divide
    source   chapter 9
    """
    strategy, options = BLOCKS[name]
    mesh = AbstractMesh((X, Y), ("X", "Y"), (AxisType.Auto,) * 2)
    args = block.arguments(strategy, mesh, B, D, F)
    states = block.states(strategy, mesh, D, F)
    In, _, *weights = args
    forward = count.collectives(block.forward(strategy, mesh), In, *weights)
    passes = block.gradients(strategy, mesh, **options)
    both = count.collectives(passes, *args)
    _, _, *gradients = jax.eval_shape(passes, *args)
    update = block.updates(strategy, mesh)
    update = count.collectives(update, *gradients, *states)
    return forward, both[len(forward) :], update  # `both` begins with forward


def rows(B, D, F, X, Y, *, Z=None, H=None, G=None, E=None, k=1, m=None):
    """Every strategy, part and axis in which anything should or does move.

    B, D, F  tokens, width and hidden width of the layer, in elements of bf16
    X, Y     chips of the data axis and of the TP axis, two or more of each
    Z, H, G, E, k, m  as in `layer_sizes`
    returns  list of TrafficRow
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, summary table
    """
    sizes = layer_sizes(B, D, F, X, Y, Z, H, G, E, k, m)
    return block_rows(B, D, F, X, Y) + layer_rows(sizes)


def block_rows(B, D, F, X, Y):
    """The rows of BLOCKS, as in `rows`."""
    predicted = formulas(B, D, F, X, Y)
    return [
        row
        for name in BLOCKS
        for row in compared(name, predicted[name], counts(name, B, D, F, X, Y))
    ]


def layer_rows(sizes):
    """The rows of LAYERS, for sizes as `layer_sizes` returns them."""
    found = []
    for name, step in layer_formulas(sizes).items():
        counted = layer_counts(name, sizes)
        found += compared(name, {over(name): step}, counted)
    return found


def compared(name, predicted, counted):
    """The rows of one strategy, without those in which nothing moves."""
    found = []
    for axis in ("X", "Z") if "Z" in predicted else ("X", "Y"):
        formula = predicted.get(axis, (0, 0, 0))
        for part, V, moved in zip(PARTS, formula, counted, strict=True):
            volume, sent = count.volume(moved, axis), count.sent(moved, axis)
            if name == "gpipe" and volume:
                volume = sent = crossing(moved)
            found.append(TrafficRow(name, part, axis, number(V), volume, sent))
    moving = [row for row in found if row.formula or row.counted]
    return moving or [TrafficRow(name, "all", "-", 0, 0, 0)]


def crossing(moved, axis="Z"):
    """Bytes over the busiest boundary of two stages, both ways together."""
    sends = [c for c in moved if c.axes == (axis,)]
    last = max(stage for c in sends for pair in c.pairs for stage in pair)
    return max(
        count.between(sends, stage, stage + 1, axis)
        + count.between(sends, stage + 1, stage, axis)
        for stage in range(last)
    )


def table(rows):
    """Rows as text in columns; bytes, and their ratio.

    rows     what `rows` returns
    returns  str
    source   chapter 9
    """
    head = ("strategy", "part", "axis")
    head += ("formula [B]", "counted [B]", "ratio", "sent [B]")
    lines = [head]
    for row in rows:
        numbers = (f"{row.formula:,}", f"{row.counted:,}")
        ratio = str(row.ratio) if row.ratio == 1 else f"{float(row.ratio):.6g}"
        where = (row.strategy, row.part, row.axis)
        lines.append((*where, *numbers, ratio, f"{row.sent:,}"))
    return columns(lines, left=3)


SIZES = {
    "B": (2**20, "tokens of the step"),
    "D": (8192, "width of the model"),
    "F": (28_672, "hidden width of the layer"),
    "X": (512, "chips of the data axis"),
    "Y": (8, "chips of the tensor-parallel axis"),
    "Z": (8, "chips that cut tokens of a sequence, or experts, or stages"),
    "H": (64, "query heads"),
    "G": (8, "heads of keys and of values"),
    "E": (64, "experts"),
    "k": (2, "experts that each token visits"),
    "m": (32, "microbatches"),
}


def main(arguments=None):
    """Print the table; with bad input, one line and exit code 2."""
    parser = argparse.ArgumentParser(
        "python -m shardlab.agreement", description=__doc__.splitlines()[0]
    )
    for name, (value, what) in SIZES.items():
        parser.add_argument(
            f"--{name}", type=int, default=value, help=f"{what} ({value:,})"
        )
    sizes = vars(parser.parse_args(arguments))
    try:
        found = rows(**sizes)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    said = ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
    print(f"One layer in bf16, {said}\n")
    print(table(found))


if __name__ == "__main__":
    sys.exit(main())
