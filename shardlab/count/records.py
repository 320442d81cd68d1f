"""What a count is made of: one record a collective, and sums of records."""

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction

# V is the whole array of one group of N devices: after a gather, before a
# scatter or a sum. A permute's or a broadcast's V is its message.
VOLUME = {
    "all_gather": Fraction(1),
    "reduce_scatter": Fraction(1),
    "all_reduce": Fraction(2),
    "all_to_all": Fraction(1, 4),
    "permute": Fraction(1),
    "broadcast": Fraction(1),
}


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
            message for permute and broadcast. How many links a byte crosses
            is another question
    times   how often it is executed
    source  scaling-book part 3, "all-gather" to "all-to-all"; chapter 3
    """

    kind: str
    axes: tuple
    volume: int | float
    sent: int | float
    times: int = 1


def record(kind, axes, V, N):
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
    return Collective(kind, tuple(axes), number(volume), number(sent))


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


def chosen(moved, axes):
    """The records over just these axes: a name, several, or None for all."""
    if axes is None:
        return list(moved)
    names = {axes} if isinstance(axes, str) else set(axes)
    return [c for c in moved if set(c.axes) == names]


def volume(moved, axes=None):
    """Bytes in the convention of the cost formulas: AG V, RS V, AR 2V, A2A V/4.

    moved    what `collectives` returns
    axes     count only what moves over exactly these mesh axes: a name, or
             several; None counts everything
    returns  bytes, a whole number wherever the sum is whole
    source   scaling-book part 3, table of costs; chapter 3
    """
    return total(chosen(moved, axes), "volume")


def sent(moved, axes=None):
    """Bytes that leave each device: ring algorithms, with their (N-1)/N.

    Of an AllToAll only a device's own data count, (N-1)/N of its block; what it
    passes on for others depends on the wires, and `ring` counts that.

    moved    what `collectives` returns
    axes     count only what moves over exactly these mesh axes: a name, or
             several; None counts everything
    returns  bytes, a whole number wherever the sum is whole
    source   chapter 3
    """
    return total(chosen(moved, axes), "sent")


def volumes(moved):
    """Volume by kind and axes, to hold against a prediction.

    moved    what `collectives` returns
    returns  dict from (kind, *axes) to bytes, in order of first appearance,
             such as {("all_gather", "X"): 1024}
    source   chapter 3
    """
    groups = defaultdict(list)
    for c in moved:
        groups[(c.kind, *c.axes)].append(c)
    return {key: volume(group) for key, group in groups.items()}


def table(moved):
    """The records as text: a line for each kind and axes, and their sum.

    moved    what `collectives` returns
    returns  str; volume and sent are in bytes, for all executions together
    source   chapter 3
    """
    groups = defaultdict(list)
    for c in moved:
        groups[(c.kind, ", ".join(c.axes))].append(c)
    rows = [("collective", "axes", "times", "volume [B]", "sent [B]")]
    groups["total", ""] = list(moved)
    for (kind, axes), group in groups.items():
        times = f"{sum(c.times for c in group):,}"
        rows.append(
            (kind, axes, times, f"{volume(group):,}", f"{sent(group):,}")
        )
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
