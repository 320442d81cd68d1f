"""Machines that fail, played: runs with checkpoints, and steps that wait.

Nothing here is a formula for a mean. Failures and delays are drawn, and what
happens is added up. `shardlab.cost` predicts what comes out.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shardlab.arguments import how_many, real, size, takes, whole_from

__all__ = ["KINDS", "Event", "Measured", "goodput", "kept", "play", "slowest"]

KINDS = ("work", "lost", "save", "restart")
_DRAWS = 2**20  # delays drawn at a time


@dataclass(frozen=True)
class Event:
    """What a run did for a while.

    kind     of KINDS: "work" that a checkpoint keeps, work that is "lost",
             "save", or "restart"
    start, end  seconds since the run began
    """

    kind: str
    start: float
    end: float


class Measured(NamedTuple):
    """A mean that was measured, and how far off it may be.

    mean     of what was drawn
    error    its standard error
    """

    mean: float
    error: float


@takes(
    interval=size,
    save=real,
    mtbf=size,
    restart=real,
    span=size,
    seed=whole_from(0),
)
def play(interval, save, mtbf, restart, span, seed=0):
    """A run that fails now and then, event by event.

    interval  seconds of work between two checkpoints
    save      seconds for which a checkpoint stops the work
    mtbf      mean seconds between failures, drawn without memory
    restart   seconds from a failure until the work goes on
    span      seconds to play
    seed      of the failures
    returns   list of Event, without gaps, up to `span`; the work after the
              last checkpoint counts as "work" unless a failure takes it
    raises    ValueError that names the argument and what was expected
    source    chapter 17
    """
    draw, now, events = np.random.default_rng(seed), 0.0, []
    while now < span:
        fails = now + draw.exponential(mtbf)
        end = min(fails, span)
        life = _between_failures(now, end, interval, save, restart * bool(now))
        if fails < span:
            life = _without_the_rest(life)
        events += life
        now = end
    return events


def _between_failures(now, end, interval, save, restart):
    """Events from a failure to the next one, as if nothing were lost."""
    plan, events = [("restart", restart)] if restart else [], []
    while now < end:
        kind, seconds = plan.pop(0) if plan else ("work", interval)
        if kind == "work":
            plan.append(("save", save))
        until = min(now + seconds, end)
        if until > now:
            events.append(Event(kind, now, until))
        now = until
    return events


def _without_the_rest(life):
    """The same events, where what no finished checkpoint kept is lost."""
    saves = [n for n, event in enumerate(life[:-1]) if event.kind == "save"]
    last = saves[-1] if saves else -1
    return [
        Event("lost", event.start, event.end)
        if n > last and event.kind != "restart"
        else event
        for n, event in enumerate(life)
    ]


def kept(events):
    """The share of a run's time that is work which was kept.

    events   as `play` gives them
    returns  a number from 0 to 1
    raises   ValueError if there are none
    source   chapter 17
    """
    if not events:
        raise ValueError("events must hold those of a run, got none")
    work = sum(e.end - e.start for e in events if e.kind == "work")
    return work / (events[-1].end - events[0].start)


@takes(
    interval=size,
    save=real,
    mtbf=size,
    restart=real,
    write=real,
    failures=how_many,
    seed=whole_from(0),
)
def goodput(
    interval, save, mtbf, restart=0.0, write=0.0, failures=20_000, seed=0
):
    """The share of all time that becomes progress which is kept, measured.

    interval  seconds of work between two checkpoints
    save      seconds for which a checkpoint stops the work
    mtbf      mean seconds between failures, drawn without memory; they may
              strike during a save or a restart as well
    restart   seconds from a failure until the work goes on
    write     seconds in the background until a checkpoint can be used
    failures, seed  how many to draw, and what decides them
    returns   Measured: a share, and its standard error
    raises    ValueError that names the argument and what was expected
    source    chapter 17
    """
    draw = np.random.default_rng(seed)
    lives = draw.exponential(mtbf, failures)  # from failure to failure
    usable = np.maximum(lives - restart - write, 0)
    work = interval * np.floor(usable / (interval + save))
    share = work.sum() / lives.sum()
    off = np.std(work - share * lives) / np.sqrt(failures)
    return Measured(float(share), float(off / lives.mean()))


@takes(
    N=how_many, mean=size, deviation=real, steps=how_many, seed=whole_from(0)
)
def slowest(N, mean, deviation, steps=500, seed=0):
    """Seconds of a step in which N chips wait for the slowest, measured.

    N          chips that wait for each other
    mean, deviation  seconds of one chip: a normal distribution, each chip and
               each step by itself
    steps      to draw
    seed       of the delays
    returns    Measured: seconds, and their standard error
    raises     ValueError that names the argument and what was expected
    source     chapter 17
    """
    draw, at_once, most = np.random.default_rng(seed), max(_DRAWS // N, 1), []
    for start in range(0, steps, at_once):
        shape = min(at_once, steps - start), N
        most.append(draw.standard_normal(shape, "float32").max(axis=1))
    times = mean + deviation * np.concatenate(most).astype(float)
    return Measured(float(times.mean()), float(times.std() / steps**0.5))
