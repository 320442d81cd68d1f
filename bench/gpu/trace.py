"""A few training steps as the profiler saw them: a timeline of operations."""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jax
from jax.profiler import ProfileData

from bench.gpu import step
from bench.gpu.step import MODEL, TINY

SIZES = {
    "full": {
        "model": replace(MODEL, name="two-layers", L=2),
        "sequences": 4,
        "steps": 3,
        "most": 700,
    },
    "quick": {"model": TINY, "sequences": 2, "steps": 2, "most": 700},
}
LINES = ("Stream", "XLA Ops")  # of a GPU, of a TPU
NAME = 60  # characters kept of an operation's name
COSTLY = 20


def part(sizes, effort, chip):
    """What was seen of a few steps, as the docstring of bench.gpu says.

    sizes    a value of SIZES
    effort, chip  not used
    returns  dict
    raises   RuntimeError if the profiler saw no operation
    """
    B = sizes["sequences"] * sizes["model"].context
    program = step.compiled("products", sizes["model"], B)
    once = step.stepper(program, sizes["model"], B)
    jax.block_until_ready(once())
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(sizes["steps"]):
                jax.block_until_ready(once())
        found = next(Path(folder).rglob("*.xplane.pb"), None)
        if found is None:
            raise RuntimeError("the profiler wrote no trace")
        events = operations(ProfileData.from_file(str(found)))
    if not events:
        raise RuntimeError("the profiler saw no operation")
    return {"steps": sizes["steps"], **timeline(events, sizes["most"])}


def operations(profile):
    """The operations of the device, out of all that a profile holds.

    profile  ProfileData, or planes alike
    returns  list of (name, start, duration) in nanoseconds, in order of start;
             on a CPU, which is no device of its own, what bears the name of an
             operation of XLA
    """
    planes = list(profile.planes)
    devices = [p for p in planes if p.name.startswith("/device:")]
    events = [
        event
        for plane in devices or planes
        for line in plane.lines
        if not devices or line.name.startswith(LINES)
        for event in line.events
        if devices or "hlo_op" in dict(event.stats)
    ]
    return sorted(
        ((e.name, e.start_ns, e.duration_ns) for e in events),
        key=lambda event: event[1],
    )


def timeline(events, most):
    """The first operations one by one, and all of them by name.

    events   as `operations` returns them, at least one
    most     operations told one by one
    returns  dict, as the docstring of bench.gpu says
    """
    begin = events[0][1]
    span = max(start + lasts for _, start, lasts in events) - begin
    told = [(name[:NAME], start, lasts) for name, start, lasts in events]
    names = list(dict.fromkeys(name for name, *_ in told[:most]))
    place = {name: number for number, name in enumerate(names)}
    return {
        "names": names,
        "events": [
            [place[name], (start - begin) / 1e3, lasts / 1e3]
            for name, start, lasts in told[:most]
        ],
        "events_in_all": len(events),
        "span_seconds": span / 1e9,
        "busy_share": busy(events) / span if span else None,
        "by_name": costly(told),
    }


def busy(events):
    """Nanoseconds in which at least one operation ran.

    events   (name, start, duration), in order of start
    """
    total, until = 0, events[0][1]
    for _, start, lasts in events:
        total += max(0, start + lasts - max(start, until))
        until = max(until, start + lasts)
    return total


def costly(events):
    """The names that took the most time, the most of all first."""
    counts, seconds = Counter(), Counter()
    for name, _, lasts in events:
        counts[name] += 1
        seconds[name] += lasts / 1e9
    return [
        {"name": name, "count": counts[name], "seconds": seconds[name]}
        for name, _ in seconds.most_common(COSTLY)
    ]
