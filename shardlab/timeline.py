"""What a chip multiplies and what its network carries, and when.

A task waits for two things: its queue, which does one task at a time in the
order given, and other tasks whose results it needs. Nothing here knows a
formula for the time of the whole; it is played.
"""

from typing import NamedTuple

from shardlab.arguments import real, takes

__all__ = [
    "Done",
    "Task",
    "checked",
    "exposed",
    "makespan",
    "named",
    "one_at_a_time",
    "play",
    "played_tasks",
    "shared",
]


class Task(NamedTuple):
    """Something to be done.

    name     says which one it is; no two tasks have the same
    queue    what does it, such as "chip" or "network"
    seconds  how long it takes
    needs    names of the tasks that must be done before it starts
    source   chapter 6
    """

    name: str
    queue: str
    seconds: float
    needs: tuple[str, ...] = ()


class Done(NamedTuple):
    """A task that has been played.

    name, queue  as of the Task
    start, end   seconds
    source       chapter 6
    """

    name: str
    queue: str
    start: float
    end: float


def _playable(_, tasks):
    """Tasks that can be played in this order."""
    before = {}
    for task in tasks:
        task = checked(task, before)
        before[task.name] = task
    return list(before.values())


@takes(tasks=_playable)
def play(tasks):
    """When each task starts and ends: as soon as its queue and needs allow.

    tasks    list of Task; a queue does its own in this order, one at a time
    returns  list of Done, in the same order
    raises   ValueError for a task that is malformed, comes twice, or needs
             one that does not come before it
    source   chapter 6
    """
    free, ends, played = {}, {}, []
    for name, queue, seconds, needs in tasks:
        start = max([free.get(queue, 0), *(ends[need] for need in needs)])
        free[queue] = ends[name] = start + seconds
        played.append(Done(name, queue, start, ends[name]))
    return played


def checked(task, before):
    """One task as a Task, if it can be played after those `before` it.

    task     Task
    before   names of the tasks before it
    returns  Task
    raises   ValueError that names the task and what was expected
    source   chapter 6
    """
    if not isinstance(task, Task) or not named(task):
        raise ValueError(
            f"tasks must be Tasks whose needs are tuples of names, got {task!r}"
        )
    if task.name in before:
        raise ValueError(f"tasks must differ in name, got {task.name!r} twice")
    for need in task.needs:
        if need not in before:
            raise ValueError(
                f"{task.name} must come after what it needs, {need!r}"
            )
    return task._replace(seconds=real(f"seconds of {task.name}", task.seconds))


def named(task):
    """Whether a Task has names where names belong, of any kind but text."""
    try:
        hash((task.name, task.queue, *task.needs))
    except TypeError:
        return False
    return not isinstance(task.needs, str)


def makespan(played):
    """When the last task is done.

    played   list of Done
    returns  seconds
    raises   ValueError unless played is a list of Done, at least one
    source   chapter 6
    """
    return max(done.end for done in played_tasks(played))


def exposed(played, queue="network", behind="chip"):
    """Time for which one queue is busy while another has nothing to do.

    played   list of Done
    queue    the queue whose work should be hidden
    behind   the queue behind whose work it should be hidden
    returns  seconds
    raises   ValueError unless played is a list of Done, at least one, and no
             queue does two things at once
    source   chapter 6
    """
    played = one_at_a_time(played_tasks(played))
    hiding = [done for done in played if done.queue == behind]
    mine = [done for done in played if done.queue == queue]
    hidden = sum(shared(done, other) for done in mine for other in hiding)
    return sum(done.end - done.start for done in mine) - hidden


def one_at_a_time(played):
    """The argument `played`, if no queue does two things at once.

    played   list of Done
    returns  list of Done
    raises   ValueError that names the two tasks
    source   chapter 6
    """
    last = {}
    for done in sorted(played, key=lambda done: (done.start, done.end)):
        before = last.get(done.queue)
        # Sums of times that are equal on paper differ by roundings.
        if before and before.end - done.start > 1e-9 * abs(before.end):
            raise ValueError(
                f"played must do one task of a queue at a time, got "
                f"{done.name} while {before.name} is under way on {done.queue}"
            )
        last[done.queue] = done
    return played


def shared(a, b):
    """Time for which two tasks are both under way.

    a, b     Done
    returns  seconds
    source   chapter 6
    """
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def played_tasks(played):
    """The argument `played` as a list, if it is made of Done.

    played   list of Done
    returns  list of Done
    raises   ValueError unless there is at least one, and nothing else
    source   chapter 6
    """
    if not isinstance(played, list) or not played:
        raise ValueError(f"played must be a list of Done, got {played!r}")
    for done in played:
        if not isinstance(done, Done):
            raise ValueError(f"played must be a list of Done, got {done!r}")
    return played
