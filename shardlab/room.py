"""What a chip holds while its queues work, and whether they could.

A timeline (`shardlab.timeline`) says when each task ran. Here it is looked at
from outside: could it have happened, and how much room did it take? Sizes are
in any one unit.
"""

from math import isfinite
from typing import NamedTuple

from shardlab.arguments import real
from shardlab.timeline import Done

__all__ = [
    "Stay",
    "as_long",
    "faults",
    "in_one_queue",
    "moments",
    "peak",
    "profile",
    "timed",
    "together",
]


class Stay(NamedTuple):
    """An array that is held from one task to another.

    what    its name, such as "W0"
    since   name of the task that brings it; it needs room when that starts
    until   name of the task with which it goes, when that ends
    size    in any unit
    source  chapter 7
    """

    what: str
    since: str
    until: str
    size: float = 1


def profile(played, stays):
    """What is held from each moment on.

    played   list of shardlab.timeline.Done
    stays    list of Stay
    returns  list of (time, total size, names), in order of time; what goes at
             a moment makes room for what comes at it
    raises   ValueError for a stay whose tasks are not played, or whose array
             would go before it comes
    source   chapter 7
    """
    at, changes = {done.name: done for done in played}, []
    for n, stay in enumerate(stays):
        start, end = moments(stay, at)
        changes += [(start, 1, n), (end, 0, n)]
    there, found = set(), {}
    for time, comes, n in sorted(changes):
        there = there | {n} if comes else there - {n}
        here = [stays[n] for n in sorted(there)]
        total = sum(stay.size for stay in here)
        found[time] = (time, total, tuple(stay.what for stay in here))
    return list(found.values())


def moments(stay, at):
    """When an array comes and when it goes.

    stay     Stay
    at       dict: the Done of each task, by name
    returns  two times
    raises   ValueError as `profile`
    source   chapter 7
    """
    for name in (stay.since, stay.until):
        if name not in at:
            raise ValueError(f"{stay.what} must stay between tasks, got {name}")
    real(f"size of {stay.what}", stay.size)
    start, end = at[stay.since].start, at[stay.until].end
    if end <= start:
        raise ValueError(f"{stay.what} must come before it goes, got {stay}")
    return start, end


def peak(played, stays):
    """The most that is held at any moment.

    played, stays  as in `profile`

    returns  in the unit of the sizes
    """
    return max((total for _, total, _ in profile(played, stays)), default=0)


def faults(played, tasks):
    """Why a timeline could not have happened, one sentence for each reason.

    played   list of shardlab.timeline.Done, from anywhere, in any order
    tasks    list of shardlab.timeline.Task
    returns  list of str, empty for what is legal. Tasks may start later than
             they could, and a queue may do its own in another order
    source   chapter 7
    """
    if not all(isinstance(done, Done) and timed(done) for done in played):
        return ["every task must be Done, from one finite time to another"]
    if sorted(d.name for d in played) != sorted(t.name for t in tasks):
        return ["every task must be done, and once"]
    at, found = {done.name: done for done in played}, []
    for task in tasks:
        done = at[task.name]
        if done.queue != task.queue or not as_long(done, task.seconds):
            found.append(f"{task.name} is not what was to be done")
        if done.start < 0:
            found.append(f"{task.name} starts before 0")
        found += [
            f"{task.name} starts before {need} is done"
            for need in task.needs
            if need in at and done.start < at[need].end
        ]
        found += [
            f"{task.name} needs {need}, which is no task"
            for need in task.needs
            if need not in at
        ]
    return found + together(played)


def timed(done):
    """Whether a task starts and ends at finite times."""
    try:
        return isfinite(done.start) and isfinite(done.end)
    except (TypeError, OverflowError):
        return False


def as_long(done, seconds):
    """Whether a task takes so long, as far as the digits of floats go."""
    off = abs(done.start + seconds - done.end)
    # At a late time a float has lost the last digits of a short task.
    return off <= max(1e-9 * seconds, 1e-12 * abs(done.end))


def together(played):
    """Which tasks of one queue are under way at once, a sentence for each."""
    return [
        f"{one.name} and {two.name} are under way at once on {one.queue}"
        for n, one in enumerate(played)
        for two in played[n + 1 :]
        if one.queue == two.queue
        and max(one.start, two.start) < min(one.end, two.end)
    ]


def in_one_queue(tasks, name):
    """The same tasks on a single queue: nothing is done beside anything.

    tasks    list of shardlab.timeline.Task
    name     of the queue
    returns  list of shardlab.timeline.Task
    source   chapter 7
    """
    return [task._replace(queue=name) for task in tasks]
