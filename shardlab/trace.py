"""Traces: timelines written for a viewer, and runs read from a profiler.

The format is Chrome's, a JSON of events, which Perfetto and chrome://tracing
open. `shardlab.timeline` plays what should happen; a profiler writes what did.
"""

import gzip
import json
import re
from pathlib import Path

from shardlab.timeline import Done, played_tasks

__all__ = ["events", "read", "uncovered", "write"]

# Operations of XLA that wait for other devices.
COLLECTIVE = re.compile(
    r"(all|reduce)[-_](gather|reduce|scatter|to_all|to-all)"
    r"|collective[-_]permute|psum|ppermute"
)


def events(played, process="predicted"):
    """A timeline as events of Chrome's trace format.

    played   list of Done, at least one
    process  the name under which the viewer groups its queues
    returns  list of dicts: a name for each queue, and an event "X" for each
             task, its start and duration in microseconds
    raises   ValueError unless played is a list of Done, at least one
    source   chapter 20
    """
    played = played_tasks(played)
    queues = list(dict.fromkeys(done.queue for done in played))
    names = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": n,
            "args": {"name": queue},
        }
        for n, queue in enumerate(queues)
    ]
    return names + [
        {
            "ph": "X",
            "name": done.name,
            "pid": process,
            "tid": queues.index(done.queue),
            "ts": 1e6 * done.start,
            "dur": 1e6 * (done.end - done.start),
        }
        for done in played
    ]


def write(path, **timelines):
    """Write timelines into one file that Perfetto opens.

    path     of a .json file
    timelines  a list of Done for each process, by its name
    raises   ValueError for a timeline without tasks, OSError for a path that
             cannot be written
    source   chapter 20
    """
    found = [e for name, one in timelines.items() for e in events(one, name)]
    Path(path).write_text(json.dumps({"traceEvents": found}), "utf-8")


def read(path):
    """What the devices of one process did, from a file of `jax.profiler`.

    path     of a .trace.json or .trace.json.gz file
    returns  list of Done in order of start, in seconds; the queue is "network"
             for a collective and "chip" for all else, followed by the number
             of the device if there are several
    raises   ValueError if the file has no operation of a compiled program
    source   jax.profiler.trace
    """
    path = Path(path)
    text = path.read_bytes()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    ran = [
        event
        for event in json.loads(text)["traceEvents"]
        if event.get("ph") == "X" and "hlo_op" in event.get("args", {})
    ]
    if not ran:
        raise ValueError(f"{path.name} has no operation of a compiled program")
    devices = {event["args"].get("device_ordinal", "0") for event in ran}
    return sorted(
        (_done(event, len(devices) > 1) for event in ran),
        key=lambda done: (done.start, done.end),
    )


def uncovered(done, others):
    """How long a task runs while none of some others does.

    done     Done
    others   list of Done, which may overlap each other
    returns  seconds
    source   chapter 20
    """
    seconds, reached = 0.0, done.start
    for other in sorted(others, key=lambda other: other.start):
        if other.start >= done.end:
            break
        seconds += max(other.start - reached, 0.0)
        reached = max(reached, other.end)
    return seconds + max(done.end - reached, 0.0)


def _done(event, several):
    queue = "network" if COLLECTIVE.search(event["name"]) else "chip"
    if several:
        queue += f" {event['args']['device_ordinal']}"
    start = event["ts"] / 1e6
    return Done(event["name"], queue, start, start + event["dur"] / 1e6)
