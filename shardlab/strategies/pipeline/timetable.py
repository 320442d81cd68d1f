"""A pipeline schedule as a timetable: what each stage does in each tick.

A schedule of `shardlab.pipeline` says when. A program needs to know in which
tick, from which slot of its memory and to which neighbour: `timetable` says
that, and `staged` runs it. In a tick every stage does one task or none, and
then what was made is handed on.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from shardlab import pipeline

__all__ = [
    "NOWHERE",
    "TASKS",
    "Slots",
    "Timetable",
    "allotted",
    "awaited",
    "by_begin",
    "handed_on",
    "letters",
    "side",
    "stages",
    "ticks",
    "timetable",
    "turns",
]

TASKS = ("idle", "forward", "backward", "input", "weight")


# A slot that no store has: what is put there is lost.
NOWHERE = 2**30


class Timetable(NamedTuple):
    """Each tick of each stage: arrays [ticks, p].

    task         index into TASKS
    microbatch, chunk  of the task
    enters, ends, leaves  whether a forward begins its way here, whether it
                 ends it, and whether a gradient comes back to where it began
    read         inbox slot with what the task was waiting for
    saved, kept  slots of what the forward pass leaves for the backward pass,
                 and of what the input half leaves for the weight half
    before, after, here  inbox slots for what this tick brings: from stage
                 s - 1, from stage s + 1, and from the stage itself
    source       chapter 11
    """

    task: np.ndarray
    microbatch: np.ndarray
    chunk: np.ndarray
    enters: np.ndarray
    ends: np.ndarray
    leaves: np.ndarray
    read: np.ndarray
    saved: np.ndarray
    kept: np.ndarray
    before: np.ndarray
    after: np.ndarray
    here: np.ndarray


class Slots(NamedTuple):
    """How many slots each store of a stage has; every stage has as many.

    inbox   activations and gradients that have come and wait for their task
    saved   of forward passes: as many as `pipeline.in_flight` says
    kept    of input halves, until the weight half
    source  chapter 11
    """

    inbox: int
    saved: int
    kept: int


def ticks(events, ways):
    """The same work in the same order on each stage, a tick for every task.

    events   a legal schedule, such as `pipeline.one_f_one_b` returns
    ways     the way of each microbatch, from `pipeline.routes`
    returns  list of Event from tick 0 on; of two tasks that ran as one, the
             first goes first
    raises   ValueError that names events or ways, if it is no legal schedule
    source   chapter 11
    """
    orders = [[] for _ in range(stages(ways))]
    for e in pipeline.check(events, ways):
        if "&" in e.kind:
            both = e.kind.split("&"), e.microbatch, e.chunk
            orders[e.stage] += zip(*both, strict=True)
        else:
            orders[e.stage].append((e.kind, e.microbatch, e.chunk))
    return pipeline.play(orders, ways, dict.fromkeys(TASKS[1:], 1))


def stages(ways):
    """How many stages the ways of the microbatches pass."""
    return 1 + max(stage for way in ways for stage, _ in way)


def timetable(events, ways):
    """The timetable of a schedule, and how much memory it takes.

    events   a legal schedule, such as `pipeline.one_f_one_b` returns
    ways     the way of each microbatch; it steps from neighbour to neighbour,
             and the last stage and the first are neighbours too
    returns  Timetable, Slots; a slot beyond the last one is none at all
    raises   ValueError that names events or ways, if it is no legal schedule
             or takes a step to a stage that is no neighbour
    source   chapter 11
    """
    events = ticks(events, ways)
    mail = letters(events, ways)
    inbox = allotted({key: letter[:3] for key, letter in mail.items()})
    saved, kept = (allotted(_intervals(events, kind)) for kind in BY)
    slots = Slots(*map(_length, (inbox, saved, kept)))
    shape = 1 + max(e.start for e in events), stages(ways)
    table = Timetable(*(np.full(shape, none, np.int32) for none in BLANK))
    for e in events:
        key = awaited(e)
        entry = TASKS.index(e.kind), e.microbatch, e.chunk
        entry += turns(e, ways[e.microbatch])
        entry += inbox.get(key, NOWHERE), saved[key[1:]]
        entry += (kept.get(key[1:], NOWHERE),)
        for column, value in zip(table, entry, strict=False):
            column[e.start, e.stage] = value
    for key, (stage, sent, _, side) in mail.items():
        getattr(table, side)[sent, stage] = inbox[key]
    return table, slots


BLANK = (0,) * 6 + (NOWHERE,) * 6
BY = {"forward": ("backward", "weight"), "input": ("weight",)}
WAITS_FOR = {"forward": "activation"}  # all others: for a gradient


def turns(event, way):
    """Whether a microbatch enters, ends its way, or leaves with this task."""
    first, last = ((event.stage, event.chunk) == way[n] for n in (0, -1))
    forth, back = event.kind == "forward", event.kind in ("backward", "input")
    return forth and first, forth and last, back and first


def awaited(event):
    """What a task waits for: (what, microbatch, place)."""
    what = WAITS_FOR.get(event.kind, "gradient")
    return what, event.microbatch, (event.stage, event.chunk)


def letters(events, ways):
    """All that is handed on: {what is awaited: (stage, sent, used, side)}."""
    used = {awaited(e): e.start for e in events if e.kind != "weight"}
    p, mail = stages(ways), {}
    for e in events:
        for key in handed_on(e, ways[e.microbatch]):
            stage = key[2][0]
            mail[key] = stage, e.start, used[key], side(e.stage, stage, p)
    return mail


def handed_on(event, way):
    """What others, or the stage itself, get from a task: nothing, or one."""
    here = event.stage, event.chunk
    j, i = way.index(here), event.microbatch
    if event.kind == "forward" and here == way[-1]:
        return [("gradient", i, here)]  # of the loss
    if event.kind == "forward":
        return [("activation", i, way[j + 1])]
    if event.kind == "weight" or j == 0:
        return []
    return [("gradient", i, way[j - 1])]


def side(source, stage, p):
    """From which side a stage gets what another one hands on."""
    if source == stage:
        return "here"
    if source == (stage - 1) % p:
        return "before"
    if source == (stage + 1) % p:
        return "after"
    raise ValueError(
        f"ways must step from neighbour to neighbour of {p} stages, got a step "
        f"from stage {source} to stage {stage}"
    )


def _intervals(events, kind):
    """What tasks of a kind leave: {(microbatch, place): (stage, from, to)}."""
    begins = {awaited(e)[1:]: e.start for e in events if e.kind == kind}
    ends = {awaited(e)[1:]: e.start for e in events if e.kind in BY[kind]}
    return {
        (i, place): (place[0], begin, ends[i, place])
        for (i, place), begin in begins.items()
    }


def allotted(spans):
    """A slot for each of many (stage, from, to): the first one that is free."""
    slots, free = {}, defaultdict(list)
    for key, (stage, begin, end) in sorted(spans.items(), key=by_begin):
        ends = free[stage]
        fits = (slot for slot, until in enumerate(ends) if until <= begin)
        slots[key] = slot = next(fits, len(ends))
        ends[slot : slot + 1] = [end]
    return slots


def by_begin(item):
    """What comes first is served first."""
    return item[1][1]


def _length(slots):
    """How many slots it takes."""
    return 1 + max(slots.values(), default=-1)
