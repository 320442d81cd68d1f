"""What a command and all that it starts take: processor and memory.

A sandbox ends its processes in a way that leaves nobody to count them, so the
numbers come from looking at /proc again and again.
"""

import contextlib
import os
import subprocess
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

__all__ = ["Spent", "watched"]

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
EVERY = 0.1  # seconds between two looks


class Spent(NamedTuple):
    """What a command took, with all the processes that it started.

    wall   seconds by the clock
    cpu    seconds of the processor; of a process what it had at the last look
    peak   bytes of memory of all of them together, at the look that saw most;
           what they share counts for each
    text   what it said on standard output
    """

    wall: float
    cpu: float
    peak: int
    text: str


class _Family:
    """Some processes and those below them, looked at now and then."""

    def __init__(self, *pids):
        self.pids, self.used, self.peak = pids, {}, 0

    def look(self):
        """Note what every process has used, and what they hold together."""
        children, seen = defaultdict(list), {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid = int(path.parent.name)
                words = path.read_text().rpartition(")")[2].split()
                children[int(words[1])].append(pid)
                seen[pid] = words
        ahead, held = list(self.pids), 0
        while ahead:
            for pid in ahead:
                if words := seen.get(pid):
                    ticks = int(words[11]) + int(words[12])
                    self.used[pid, words[19]] = ticks  # since it was started
                    held += int(words[21]) * PAGE
            ahead = [child for pid in ahead for child in children[pid]]
        self.peak = max(self.peak, held)

    def watch(self, ended):
        """Look until told to end."""
        while not ended.wait(EVERY):
            self.look()


def watched(command, beside=(), **options):
    """Run a command and watch it.

    command  list of words
    beside   numbers of processes that run already and work for it: what these
             and those below them took since they were started counts, too
    options  of subprocess.Popen
    returns  Spent
    raises   RuntimeError with its last words when it fails
    """
    begun, ended = time.perf_counter(), threading.Event()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes, **options) as process:
        family = _Family(process.pid, *beside)
        watcher = threading.Thread(target=family.watch, args=(ended,))
        watcher.start()
        text, said = process.communicate()
        wall = time.perf_counter() - begun
        ended.set()
        watcher.join()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {said[-2000:]}")
    return Spent(wall, sum(family.used.values()) / TICKS, family.peak, text)
