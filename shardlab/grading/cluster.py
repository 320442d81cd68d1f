"""Grades a batch on the workers of a Dask scheduler that runs already.

Each Dask worker keeps a process that grades, the same as on one machine, with
the same sandbox, tried there before the first submission. All machines see the
same folder of the course, and the same gradebook.
"""

import collections
import contextlib
import threading
from pathlib import Path

from shardlab.grading import batch, sandbox

__all__ = ["rounds"]

# After so long with nothing to do, a process that grades is ended.
IDLE_SECONDS = 300
# Dask itself tries a task elsewhere when its worker ends.
LOST = "the machines that graded it ended"


def rounds(address):
    """What `batch.grade_all` takes to grade on a cluster.

    address  of the scheduler, such as tcp://host:8786
    returns  function of tasks, settings, workers and deaths, that yields pairs
             (task, reply); with one worker, one task at a time is out
    raises   ValueError when Dask is not installed, or does not answer
    """
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "SCHEDULER needs Dask: .venv/bin/pip install -r "
            "requirements-cluster.txt"
        ) from None
    try:
        distributed.Client(address, timeout=30, set_as_default=False).close()
    except (OSError, ValueError) as error:
        raise ValueError(f"SCHEDULER={address}: {error}") from None

    def one_round(tasks, settings, workers, deaths):
        if not tasks:
            return
        with distributed.Client(address, set_as_default=False) as client:
            # A batch that was killed may have left something at work.
            _dismissed(client, settings.root)
            try:
                yield from _graded(client, tasks, settings, workers, deaths)
            finally:
                _dismissed(client, settings.root)

    return one_round


def _dismissed(client, root):
    """End what grades this course, wherever it does."""
    with contextlib.suppress(OSError):
        client.run(_dismiss_all, root, on_error="ignore")


def _graded(client, tasks, settings, workers, deaths):
    """Every task with its reply, as `batch._one_round` yields them."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    queue, out = collections.deque(tasks), {}
    finished = as_completed(loop=client.loop)
    while queue or out:
        while queue and (workers > 1 or not out):
            task, words = queue.popleft(), settings._asdict()
            future = client.submit(_grade, words, task._asdict(), pure=False)
            out[future] = task
            finished.add(future)
        future = next(finished)
        task = out.pop(future)
        try:
            reply = future.result()
        except KilledWorker:
            reply = {"error": LOST, "ended": True}
        if batch.settled(task, reply, deaths, queue):
            yield task, reply


# Of a Dask worker: the pools that wait for a task, and those that are at one.
free, busy, lock = [], [], threading.Lock()


def _grade(settings, task):
    """On a Dask worker: the reply to one task.

    settings, task  dicts of the fields of `batch.Settings` and `batch.Task`
    raises          sandbox.Unavailable when there is no sandbox here
    """
    pool = _taken(batch.Settings(**settings))
    try:
        queue = collections.deque([batch.Task(**task)])
        while True:
            pool.fill(queue)
            for _, reply in pool.heard():
                return reply
    finally:
        with lock:
            busy.remove(pool)
            free.append(pool)
        timer = threading.Timer(IDLE_SECONDS, _dismiss, [pool])
        timer.daemon = True
        timer.start()


def _taken(settings):
    """A pool of one process for these settings, that nobody else uses."""
    with lock:
        fit = [pool for pool in free if pool.settings == settings]
        if fit:
            free.remove(fit[0])
            busy.append(fit[0])
            return fit[0]
    if settings.isolated:
        root = Path(settings.root)
        sandbox.sweep()
        sandbox.prove([root / "solutions", root / "work/grading"])
    pool = batch.Pool(settings, 1)
    with lock:
        busy.append(pool)
    return pool


def _dismiss(pool):
    """End a pool's process, if nobody uses it."""
    with lock:
        if pool not in free:
            return
        free.remove(pool)
    pool.__exit__()


def _dismiss_all(root):
    """On a Dask worker: end every process that grades the course at `root`."""
    with lock:
        idle = [pool for pool in free if pool.settings.root == root]
        at_work = [pool for pool in busy if pool.settings.root == root]
    for pool in idle:
        _dismiss(pool)
    for pool in at_work:  # whoever waits for its reply then puts it away
        for worker in list(pool.workers):
            worker.process.kill()
