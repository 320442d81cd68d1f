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
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, count
from shardlab.arguments import whole
from shardlab.count.records import columns, number
from shardlab.strategies import (
    block,
    dp,
    fsdp,
    fsdp_tp,
    megatron,
    none,
    tp,
    zero1,
    zero2,
)

PARTS = ("forward", "backward", "update")
STRATEGIES = {
    "none": (none, {}),
    "dp": (dp, {}),
    "zero1": (zero1, {}),
    "zero2": (zero2, {}),
    "fsdp": (fsdp, {}),
    "fsdp, weights kept": (fsdp, {"keep_weights": True}),
    "tp": (tp, {}),
    "tp, In gathered again": (tp, {"keep_In": False}),
    "megatron": (megatron, {}),
    "fsdp_tp": (fsdp_tp, {}),
    "fsdp_tp, weights kept": (fsdp_tp, {"keep_weights": True}),
    "fsdp_tp, In gathered again": (fsdp_tp, {"keep_In": False}),
}


@dataclass(frozen=True)
class Row:
    """What one strategy moves over one axis in one part of a training step.

    strategy  its name, and what its backward pass has kept
    part      forward, backward or update
    axis      X or Y
    formula   volume in bytes by `cost`
    counted   volume in bytes by `count`
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
    returns  dict from the names of STRATEGIES, in bytes
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
    returns        dict from the names of STRATEGIES, in bytes
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


def counts(name, B, D, F, X, Y):
    """Records of each part of a training step, counted from its program.

    name     a key of STRATEGIES
    B, D, F, X, Y  as in `formulas`; the axes must divide the sizes
    returns  three lists of records: forward, backward, update
    raises   ValueError that names what does not divide
    source   chapter 9
    """
    strategy, options = STRATEGIES[name]
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


def rows(B, D, F, X, Y):
    """Every strategy, part and axis in which anything should or does move.

    B, D, F  tokens, width and hidden width of the layer, in elements of bf16
    X, Y     chips of the data axis and of the TP axis, two or more of each
    returns  list of Row
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, summary table
    """
    X, Y = whole("X", X, least=2), whole("Y", Y, least=2)
    predicted = formulas(B, D, F, X, Y)
    return [
        row
        for name in STRATEGIES
        for row in compared(name, predicted[name], counts(name, B, D, F, X, Y))
    ]


def compared(name, predicted, counted):
    """The rows of one strategy, without those in which nothing moves."""
    found = []
    for axis in ("X", "Y"):
        formula = predicted.get(axis, (0, 0, 0))
        for part, V, moved in zip(PARTS, formula, counted, strict=True):
            volume, sent = count.volume(moved, axis), count.sent(moved, axis)
            found.append(Row(name, part, axis, number(V), volume, sent))
    moving = [row for row in found if row.formula or row.counted]
    return moving or [Row(name, "all", "-", 0, 0, 0)]


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
    print(f"One layer of two matmuls in bf16, {said}\n")
    print(table(found))


if __name__ == "__main__":
    sys.exit(main())
