"""What to change in a step, and what each change would gain.

Every rule looks at counted records, and no change that it proposes changes a
result: what is laid out otherwise, kept, or moved once has the same values,
and a sum leaves a loop only if nothing in the loop reads it. What a change
would gain is a difference of two counts.
"""

from collections import defaultdict
from typing import NamedTuple

from shardlab.count.records import ADDED, LAID, SAME, SLICED, total
from shardlab.inspection.machines import Forecast, joined
from shardlab.inspection.machines import t_collective as t_of
from shardlab.inspection.step import Report

__all__ = ["Advice", "advise"]

# Below this share of what is held, a change is not worth a line.
_MEMORY = 0.05


class Advice(NamedTuple):
    """One thing that could be changed.

    says     what was found and what would help, in words
    where    file and line, or the names of arguments
    volume   bytes that would no longer move, as the formulas count them
    seconds  that these bytes take on the machine; None without one
    bytes    that a device would no longer hold; negative: that it would hold
             besides
    source   chapter 21
    """

    says: str
    where: str
    volume: float = 0
    seconds: float | None = None
    bytes: int = 0


def advise(report, on=None):
    """What to change in a counted step, what gains most first.

    report   Report
    on       Forecast of the report, or None: then no seconds are given
    returns  list of Advice
    raises   ValueError that names report or on, where it is no such thing
    source   chapter 21
    """
    if not isinstance(report, Report):
        raise ValueError(f"report must be a Report, got {report!r}")
    if not isinstance(on, Forecast | None):
        raise ValueError(f"on must be a Forecast or None, got {on!r}")
    rules = (_in_loops, _sliced, _moved_in_vain, _gathered_again)
    if report.pins:  # pinned, the step moves other things
        rules = (_not_pinned,)
    rules = (*rules, _whole_arguments)
    found = [advice for rule in rules for advice in rule(report, on)]
    key = (lambda a: a.seconds or 0) if on else (lambda a: a.volume)
    return sorted(found, key=lambda a: (-key(a), -a.bytes))


def _not_pinned(report, on):
    """Activations that the compiler lays out, and lays out dearly."""
    if report.pins is None:
        return
    size, axes, moved = report.pins
    saved = total(report.moved, "volume") - total(moved, "volume")
    spec = f"P({', '.join(map(repr, axes))})"
    text = (
        "nothing says how activations are laid out, and the compiler moves "
        f"them. Pin what each module returns, arrays that begin with {size}: "
        f"with_sharding_constraint(Out, {spec}). With all of them pinned the "
        f"step moves {total(moved, 'volume'):,} bytes, counted in that step"
    )
    moving = defaultdict(int)
    for c in report.moved:
        moving[c.origin.place] += c.times * c.volume
    most = sorted(moving, key=moving.get, reverse=True)[:3]
    seconds = on and _seconds(report.moved, on) - _seconds(moved, on)
    yield Advice(text, ", ".join(most), saved, seconds)


def _seconds(moved, on):
    """What some records take on a machine, one after the other."""
    return sum(
        t_of(c, joined([on.places[a] for a in c.axes]), on.chip) for c in moved
    )


def _in_loops(report, on):
    """What a loop moves in each turn and could move once."""
    says = {
        SAME: "each of {turns} turns of a loop moves the same array again; "
        "move it once, before the loop",
        ADDED: "each of {turns} turns of a loop sums over devices what is only "
        "added up; add up first, and sum once, after the loop",
    }
    for note, words in says.items():
        for key, group in _grouped(report, note).items():
            kind, axes, place, turns = key
            saved = sum(c.volume * c.times for c in group)
            text = f"{kind} over {', '.join(axes)}: {words.format(turns=turns)}"
            yield _gain(text, place, saved * (1 - 1 / turns), group, on)


def _grouped(report, note):
    """Records of loops with this note, by kind, axes, place and turns."""
    groups = defaultdict(list)
    for c in report.moved:
        if c.origin and c.origin.note == note and c.origin.turns > 1:
            key = c.kind, c.axes, c.origin.place, c.origin.turns
            groups[key].append(c)
    return groups


def _gain(text, place, volume, group, on):
    """Advice that a share of what some records move need not move."""
    seconds = on and _seconds(group, on)
    whole = sum(c.volume * c.times for c in group)
    part = seconds and seconds * volume / whole
    return Advice(text, place, volume, part)


def _sliced(report, on):
    """Sums of which each device keeps a slice."""
    groups = defaultdict(list)
    for c in report.moved:
        if c.origin and c.origin.note == SLICED:
            groups[c.kind, c.axes].append(c)
    for (kind, axes), group in groups.items():
        volume = sum(c.volume * c.times for c in group)
        text = (
            f"{kind} over {', '.join(axes)}: every device keeps only a slice "
            "of the sum, so a reduce_scatter would move half as much. A later "
            "pass of XLA may make it one; psum_scatter in a shard_map asks for "
            "it"
        )
        places = sorted({c.origin.place for c in group})
        where = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
        yield _gain(text, where, volume / 2, group, on)


def _moved_in_vain(report, on):
    """Arguments that are laid otherwise than shard_map wants them."""
    groups = defaultdict(list)
    for c in report.moved:
        if c.origin and c.origin.note == LAID:
            groups[c.kind, c.axes, c.origin.place].append(c)
    for (kind, axes, place), group in groups.items():
        volume = sum(c.volume * c.times for c in group)
        text = (
            f"{kind} over {', '.join(axes)}: an argument lies otherwise than "
            "in_specs wants it and is moved in every step; lay it so before"
        )
        yield _gain(text, place, volume, group, on)


def _gathered_again(report, on):
    """What the backward pass gathers again because it was not kept."""
    gathers = [c for c in report.moved if c.kind == "all_gather" and c.origin]
    ahead = [c for c in gathers if c.origin.part == "forward"]
    lines = {_gathered(c, c.origin.place) for c in ahead}
    arguments = {_gathered(c, c.origin.argument) for c in ahead}
    groups = defaultdict(list)
    for c in gathers:
        # What checkpoint computes again, it computes on the same line. Another
        # gather is the same if it gathers the same argument.
        again = c.origin.part == "again"
        again = again and _gathered(c, c.origin.place) in lines
        known = c.origin.part == "backward" and c.origin.argument is not None
        if again or (known and _gathered(c, c.origin.argument) in arguments):
            groups[c.axes].append(c)
    for axes, group in groups.items():
        volume = sum(c.volume * c.times for c in group)
        text = (
            f"all_gather over {', '.join(axes)}: the backward pass gathers "
            "again what the forward pass had gathered. Keep it in between, and "
            "it moves once, but is held"
        )
        places = sorted({c.origin.place for c in group})
        where = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
        found = _gain(text, where, volume, group, on)
        yield found._replace(bytes=-volume)


def _gathered(c, what):
    """What tells a gather from others."""
    return what, c.axes, c.origin.shape, c.origin.dtype, c.times


def _whole_arguments(report, on):
    """Arguments of which several devices hold the same, and could share it."""
    copied = defaultdict(list)
    for a in report.arguments:
        copies = round(report.devices * a.share)
        shared = any(n % report.devices == 0 for n in a.shape)
        if copies > 1 and shared and a.held > _MEMORY * report.held:
            copied[copies].append(a)
    for copies, some in copied.items():
        names, held = [a.name for a in some], sum(a.held for a in some)
        text = (
            f"{copies} of {report.devices} devices hold the same piece; cut "
            "into as many pieces it would be held once (ZeRO for states, FSDP "
            "for weights), at the price of a gather for each use"
        )
        where = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        yield Advice(text, where, bytes=held - held // copies)
