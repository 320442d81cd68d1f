"""Grades many submissions, several at a time, and survives being killed.

A few processes grade one submission after the other. One that ends, or takes
too long, has its submission given to another; what became of each submission
is written down before the next one is begun.
"""

import collections
import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from shardlab.checks import seeds
from shardlab.grading import start

__all__ = [
    "OUTER_SECONDS",
    "Graded",
    "Pool",
    "Settings",
    "Task",
    "descendants",
    "drawn",
    "grade_all",
    "settled",
]

MAX_DEATHS = 2
START_SECONDS = 180
# What a process may need beyond the time that the notebook itself may take.
OUTER_SECONDS = 120
# How long a process that has nothing to do may take to end.
END_SECONDS = 10
MAX_LINE = 16 << 20


class Settings(NamedTuple):
    """How a batch is graded.

    root      the folder of the course
    database  URL of the gradebook, or None for the file below work/grading
    policy    fields of a `late.Policy`
    seconds   fields of `judge.Seconds`
    isolated  False runs students' programs with all your rights
    seed      what every submission's hidden checks draw from; None draws one
              for each
    outer     seconds after which a process is ended that grades one submission
    grader    the module that grades
    """

    root: str
    database: str | None = None
    policy: tuple = ()
    seconds: tuple = ()
    isolated: bool = True
    seed: int | None = None
    outer: float = 180 + OUTER_SECONDS
    grader: str = "shardlab.grading.judge"


class Graded(NamedTuple):
    """What became of one submission.

    student     the identifier
    assignment  the name
    seed        what the hidden checks drew from
    reply       dict: what a record holds of it, or only its "error"
    """

    student: str
    assignment: str
    seed: int
    reply: dict


class Task(NamedTuple):
    """A submission to be graded.

    student     the identifier
    assignment  the name
    seed        what the hidden checks draw from, in every try
    stood       dict: check -> its verdict in a first try, which stands
    stopped     sentences: what was stopped in a first try
    """

    student: str
    assignment: str
    seed: int
    stood: dict = {}
    stopped: list = []


class _Worker:
    """A process that grades, and the task that it is at, if any."""

    def __init__(self, settings):
        self.said = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            start.command("shardlab.grading.worker", str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            start_new_session=True,
            bufsize=0,
        )
        self.task, self.buffer, self.asked = None, b"", 0
        # The settings hold the gradebook's password, so no command line.
        self.ask({"settings": settings._asdict()}, START_SECONDS)

    def ask(self, question, seconds):
        """Send a question; that a process has ended is noticed when read."""
        self.asked, self.waits = self.asked + 1, True
        self.end = time.monotonic() + seconds
        line = json.dumps({**question, "number": self.asked}) + "\n"
        with contextlib.suppress(OSError):
            self.process.stdin.write(line.encode())

    def begin(self, task, settings):
        """Let it grade a task."""
        self.task = task
        self.ask(task._asdict(), settings.outer)

    def reply(self):
        """What it answers, why it never will, or None if it still works."""
        part = os.read(self.process.stdout.fileno(), 1 << 16)
        self.buffer += part
        if not part or len(self.buffer) > MAX_LINE:
            return self.ended()
        if b"\n" not in self.buffer:
            return None
        self.waits = False
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ended(self):
        """The reply in the place of that of a process that ended by itself."""
        self.process.kill()
        code = self.process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        error = f"the process that graded it ended ({how})"
        if self.asked == 1:
            self.said.seek(0)
            words = self.said.read(1 << 16).decode(errors="replace").split("\n")
            error = " ".join([error, *words[-2:]]).strip()
        return {"error": error, "ended": True}

    def overdue(self):
        """The reply in the place of that of a process that takes too long."""
        error = "grading took longer than it may, and was ended"
        return {"error": error, "ended": True, "timed_out": True}

    def close(self):
        """End it, with whatever it started."""
        if not self.waits:  # it ends by itself, and tidies up
            self.process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        if self.process.poll() is None:  # else its number may be another's
            family = descendants(self.process.pid)
            self.process.kill()
            for pid in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.said):
            stream.close()


def descendants(pid):
    """The processes that a process started, and those that these started.

    pid      its number
    returns  list of numbers; empty where there is no /proc
    """
    children = collections.defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = path.read_text(errors="replace")
            parent = int(text.rpartition(")")[2].split()[1])
            children[parent].append(int(path.parent.name))
    found, ahead = [], [pid]
    while ahead:
        ahead = [child for parent in ahead for child in children[parent]]
        found += ahead
    return found


class Pool:
    """The processes of a batch; a context manager that ends them."""

    def __init__(self, settings, size):
        self.settings, self.size = settings, size
        self.workers, self.selector = [], selectors.DefaultSelector()
        self.failed_starts = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for worker in list(self.workers):
            self.dismiss(worker)
        self.selector.close()

    def busy(self):
        """Whether any of them is at a task."""
        return any(worker.task for worker in self.workers)

    def fill(self, queue):
        """Start processes for what is in the queue, and hand it out."""
        at_work = sum(worker.task is not None for worker in self.workers)
        while len(self.workers) < min(self.size, at_work + len(queue)):
            worker = _Worker(self.settings)
            self.workers.append(worker)
            stream = worker.process.stdout
            self.selector.register(stream, selectors.EVENT_READ, worker)
        for worker in self.workers:
            if queue and not worker.waits:
                worker.begin(queue.popleft(), self.settings)

    def dismiss(self, worker):
        """End a process and forget it."""
        self.selector.unregister(worker.process.stdout)
        self.workers.remove(worker)
        worker.close()

    def replies(self):
        """Wait until something happens: list of (worker, reply)."""
        ends = [worker.end for worker in self.workers if worker.waits]
        wait = max(0.0, min(ends) - time.monotonic())
        ready = [key.data for key, _ in self.selector.select(wait)]
        found = [(worker, worker.reply()) for worker in ready]
        late = [
            (worker, worker.overdue())
            for worker in self.workers
            if worker.waits and time.monotonic() > worker.end
        ]
        answered = [pair for pair in found if pair[1] is not None]
        done = {id(worker) for worker, _ in answered}
        return answered + [pair for pair in late if id(pair[0]) not in done]

    def heard(self):
        """What became of tasks: list of (task, reply).

        raises   RuntimeError when processes cannot be started
        """
        found = []
        for worker, reply in self.replies():
            task, worker.task = worker.task, None
            if reply.get("ended"):
                self.dismiss(worker)
            if task:
                found.append((task, reply))
            else:
                self.started(reply)
        return found

    def started(self, reply):
        """Note whether a process was started or not; give up in the end."""
        if "error" not in reply:
            self.failed_starts = 0
            return
        self.failed_starts += 1
        if not reply.get("ended") or self.failed_starts > 2 * self.size:
            raise RuntimeError(f"grading cannot be started: {reply['error']}")


def grade_all(tasks, settings, workers, one_round=None):
    """Grade submissions, each until it is graded or has failed twice.

    tasks     list of pairs (student, assignment), entered in the gradebook
    settings  as `Settings` says
    workers   how many processes grade at a time
    one_round what grades every task once, as `cluster.rounds` makes it; None
              for processes of this machine
    returns   iterator over Graded, one for each task, in the order in which
              they are done; closing it ends every process
    raises    RuntimeError when no process can be started
    """
    one_round = one_round or _one_round
    deaths, later = collections.Counter(), []
    first = [Task(*task, drawn(settings)) for task in tasks]
    for task, reply in one_round(first, settings, workers, deaths):
        if reply.get("timed_out"):
            later.append(_again(task, reply))
        else:
            yield Graded(*task[:3], reply)
    # Alone on the machine, what was too slow may not be.
    for task, reply in one_round(later, settings, 1, deaths):
        reply.pop("ended", None)
        if "error" not in reply:
            reply |= {"tries": 2, "stopped": task.stopped + reply["stopped"]}
        yield Graded(*task[:3], reply)


def drawn(settings):
    """The seed of one submission: that which was chosen, or a secret one."""
    if settings.seed is None:
        # The first bit is set, so that none is taken for an author's.
        return secrets.randbits(seeds.BITS) | 1 << seeds.BITS
    return settings.seed


def _again(task, reply):
    """The second try of a task: the same numbers, and what stood stands."""
    said = [f"first try, {words}" for words in reply.get("stopped", ())]
    return task._replace(
        stood=reply.get("verdicts", {}), stopped=said or ["first try: too long"]
    )


def _one_round(tasks, settings, workers, deaths):
    """Grade every task once, or again where a process ended on it."""
    queue = collections.deque(tasks)
    with Pool(settings, workers) as pool:
        while queue or pool.busy():
            pool.fill(queue)
            for task, reply in pool.heard():
                if settled(task, reply, deaths, queue):
                    yield task, reply


def settled(task, reply, deaths, queue):
    """Whether a reply is the last word on a task; else it waits once more.

    task    a Task
    reply   dict; of a process that ended for the second time it is changed
    deaths  Counter of the processes that ended at each submission
    queue   deque of tasks that wait
    """
    if not reply.get("ended"):
        return True
    deaths[task[:2]] += 1
    if reply.get("timed_out"):
        return True
    if deaths[task[:2]] < MAX_DEATHS:
        queue.append(task)
        return False
    error = f"{reply['error']}, as it did before"
    reply.clear()
    reply["error"] = error
    return True
