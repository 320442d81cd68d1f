"""What a count is made of: one record a collective, and sums of records."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from shardlab.arguments import flag, whole

__all__ = [
    "ADDED",
    "LAID",
    "SAME",
    "SLICED",
    "VOLUME",
    "Collective",
    "Moved",
    "Origin",
    "between",
    "columns",
    "number",
    "record",
    "repeated",
    "sent",
    "table",
    "total",
    "volume",
    "volumes",
]

# V is the whole array of one group of N devices: after a gather, before a
# scatter or a sum. A permute's or a broadcast's V is its message. A Reduce to
# one device is not here: JAX has none, and what is written as psum is counted
# as the AllReduce that it is.
VOLUME = {
    "all_gather": Fraction(1),
    "reduce_scatter": Fraction(1),
    "all_reduce": Fraction(2),
    "all_to_all": Fraction(1, 4),
    "permute": Fraction(1),
    "broadcast": Fraction(1),
}


SLICED, SAME, ADDED, LAID = "sliced", "same", "added", "laid"


class Origin(NamedTuple):
    """Where in a program something happens.

    stack     names of the transformations and functions around it, outermost
              first, such as "transpose(jvp())/rematted_computation"
    file      name of the file of the line that wrote it; "" if unknown
    line      its number; 0 if unknown
    function  the function that the line is in; "" if unknown
    shape     of the array that is handed over, as its type states it; None if
              unknown
    dtype     of the array; "" if unknown
    note      SLICED: of what is summed, each device keeps a slice; SAME: in a
              loop, each turn moves the same; ADDED: in a loop, what is summed
              is only added up; LAID: an argument lies otherwise than a
              shard_map wants it; "" for none of these
    turns     of the loop that the note speaks of
    argument  number of the program's argument that is handed over, or of which
              a piece is; None if unknown
    source    chapter 21
    """

    stack: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    shape: tuple | None = None
    dtype: str = ""
    note: str = ""
    turns: int = 1
    argument: int | None = None

    @property
    def part(self):
        """The part of a step: forward, again, backward or beside."""
        if "rematted_computation" in self.stack:
            return "again"
        if "transpose(" in self.stack:
            return "backward"
        return "forward" if "jvp(" in self.stack else "beside"

    @property
    def place(self):
        """The line in short: train.py:12, or layer:4 in a notebook's cell."""
        if not self.file:
            return "unknown line"
        path = Path(self.file)
        if path.suffix == ".py" and not path.parent.name.startswith(
            "ipykernel"
        ):
            return f"{path.name}:{self.line}"
        return f"{self.function.rpartition('.')[2] or 'cell'}:{self.line}"

    def within(self, stack):
        """The same place, seen from around the call that leads to it."""
        both = "/".join(filter(None, (stack, self.stack)))
        return self._replace(stack=both)


@dataclass(frozen=True)
class Collective:
    """One collective of a program, as each group of devices executes it.

    kind    all_gather, reduce_scatter, all_reduce, all_to_all, permute or
            broadcast
    axes    names of the mesh axes whose devices take part, a tuple
    volume  bytes of one execution in the convention of the cost formulas: the
            whole array V for all_gather (after) and reduce_scatter (before),
            2V for all_reduce, V/4 for all_to_all, the message for permute
            and broadcast
    sent    bytes that leave one device in one execution: (N-1)/N of V round
            a ring for all_gather and reduce_scatter, twice that for
            all_reduce, (N-1)/N of the device's own block for all_to_all, the
            message for permute and broadcast. What a device passes on for
            others, and how many links a byte crosses, is not in it: that is
            `carried`, a question of the wires
    times   how often it is executed
    pairs   of a permute, who sends to whom: positions along the axes, as
            (source, destination); None where the program does not say
    origin  Origin; None where the program does not say. Like pairs, it does
            not decide whether two records are equal
    source  scaling-book part 3, "all-gather" to "all-to-all"; chapter 3
    """

    kind: str
    axes: tuple
    volume: int | float
    sent: int | float
    times: int = 1
    pairs: tuple | None = field(default=None, compare=False, repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)


class Moved(tuple):
    """Records in program order; `axes` names the mesh axes of the program.

    A tuple, but that a part of it and the sum of two know their axes as well:
    an axis over which nothing moves is then told from one that is not there.
    """

    def __new__(cls, records=(), axes=()):
        moved = super().__new__(cls, records)
        moved.axes = frozenset(axes).union(*(c.axes for c in moved))
        return moved

    def __getitem__(self, place):
        got = super().__getitem__(place)
        return Moved(got, self.axes) if isinstance(place, slice) else got

    def __add__(self, other):
        axes = self.axes | getattr(other, "axes", frozenset())
        return Moved(super().__add__(tuple(other)), axes)


def record(kind, axes, V, N, pairs=None):
    """The record of one collective on an array of V bytes in a group of N."""
    ring = Fraction(N - 1, N)
    sent = {
        "all_gather": ring * V,
        "reduce_scatter": ring * V,
        "all_reduce": 2 * ring * V,
        "all_to_all": ring * V / N,
        "permute": Fraction(V),
        "broadcast": Fraction(V),
    }[kind]
    volume = VOLUME[kind] * V
    volume, sent = number(volume), number(sent)
    return Collective(kind, tuple(axes), volume, sent, pairs=pairs)


def number(fraction):
    """An int where the value is whole, and the nearest float where not."""
    fraction = Fraction(fraction)
    whole = fraction.denominator == 1
    return int(fraction) if whole else float(fraction)


def repeated(moved, times):
    """The records of a body that runs `times` times."""
    return [replace(c, times=c.times * times) for c in moved if times]


def total(moved, field):
    """The exact sum of a field over records, each as often as it happens."""
    return number(sum(Fraction(getattr(c, field)) * c.times for c in moved))


def _checked(moved):
    """An argument `moved` as records, if it is made of nothing else."""
    records = tuple(moved) if _several(moved) else (moved,)
    if not _several(moved) or not all(
        isinstance(c, Collective) for c in records
    ):
        raise ValueError(
            f"moved must be what `collectives` returns, got {moved!r}"
        )
    return Moved(records, getattr(moved, "axes", ()))


def _several(value):
    """Whether a value is a row of others, and neither text nor a dict."""
    text = isinstance(value, str | bytes | Mapping)
    return isinstance(value, Iterable) and not text


def _over_axes(moved, axes):
    """The records over just these axes: a name, several, or None for all."""
    if axes is None:
        return _checked(moved)
    moved = _checked(moved)
    names = tuple(axes) if _several(axes) else (axes,)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"axes must be names of mesh axes, got {axes!r}")
    # A bare empty list cannot know: nothing moved, over whichever axis.
    if moved.axes and not moved.axes.issuperset(names):
        known = ", ".join(sorted(moved.axes))
        raise ValueError(f"axes must be among {known}; got {axes!r}")
    return [c for c in moved if set(c.axes) == set(names)]


def volume(moved, axes=None):
    """Bytes in the convention of the cost formulas: AG V, RS V, AR 2V, A2A V/4.

    moved    what `collectives` returns
    axes     count only what moves over exactly these mesh axes: a name, or
             several; None counts everything
    returns  bytes, a whole number wherever the sum is whole
    raises   ValueError that names moved or axes: what is no record, and an
             axis that the mesh does not have
    source   scaling-book part 3, table of costs; chapter 3
    """
    return total(_over_axes(moved, axes), "volume")


def sent(moved, axes=None):
    """Bytes that leave each device: ring algorithms, with their (N-1)/N.

    Of an AllToAll only a device's own data count, (N-1)/N of its block; what it
    passes on for others depends on the wires: that is `carried`, and `ring`
    counts it. A permute counts its message, though only some may send one.

    moved    what `collectives` returns
    axes     count only what moves over exactly these mesh axes: a name, or
             several; None counts everything
    returns  bytes, a whole number wherever the sum is whole
    raises   ValueError that names moved or axes, as `volume`
    source   chapter 3
    """
    return total(_over_axes(moved, axes), "sent")


def between(moved, source, destination, axes):
    """Bytes that one device hands straight to another, in permutes.

    moved        what `collectives` returns
    source, destination  positions along the axes, from 0
    axes         mesh axes of the permutes: a name, or several
    returns      bytes; what other collectives move is not in it
    raises       ValueError that names moved, source, destination or axes, or
                 a permute that does not say who sends to whom
    source       chapter 11
    """
    pair = whole("source", source, 0), whole("destination", destination, 0)
    if axes is None:
        raise ValueError("axes must be names of mesh axes, got None")
    permutes = [c for c in _over_axes(moved, axes) if c.kind == "permute"]
    if any(c.pairs is None for c in permutes):
        raise ValueError("moved has a permute that does not say who sends")
    return total([c for c in permutes if pair in c.pairs], "volume")


def volumes(moved):
    """Volume by kind and axes, to hold against a prediction.

    moved    what `collectives` returns
    returns  dict from (kind, *axes) to bytes, in order of first appearance,
             such as {("all_gather", "X"): 1024}
    raises   ValueError that names moved, where it holds what is no record
    source   chapter 3
    """
    groups = defaultdict(list)
    for c in _checked(moved):
        groups[(c.kind, *c.axes)].append(c)
    return {key: volume(group) for key, group in groups.items()}


def table(moved, with_volume=True):
    """The records as text: a line for each kind and axes, and their sum.

    moved        what `collectives` returns
    with_volume  False: the column of the volume is left out
    returns      str; volume and sent are in bytes, for all executions together
    raises       ValueError that names moved, where it holds what is no record,
                 or with_volume, where it is neither True nor False
    source       chapters 2 and 3
    """
    moved, groups = _checked(moved), defaultdict(list)
    with_volume = flag("with_volume", with_volume)
    for c in moved:
        groups[(c.kind, ", ".join(c.axes))].append(c)
    rows = [("collective", "axes", "times", "volume [B]", "sent [B]")]
    groups["total", ""] = list(moved)
    for (kind, axes), group in groups.items():
        times = f"{sum(c.times for c in group):,}"
        rows.append(
            (kind, axes, times, f"{volume(group):,}", f"{sent(group):,}")
        )
    if not with_volume:
        rows = [(*row[:3], row[4]) for row in rows]
    return columns(rows)


def columns(rows, left=2):
    """Rows of text in columns: the first `left` to the left, others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if i < left else ">" for i in range(len(widths))]
    lines = [
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)
