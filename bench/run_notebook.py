"""Executes one notebook; what it took is printed as JSON.

python -m bench.run_notebook chapters/01_sharded_arrays.ipynb

Memory is that of the kernel and of all processes that it starts. Pages of
files, such as those of libraries, are the same ones in all of them and count
once.
"""

import json
import os
import resource
import sys
import threading
import time
from pathlib import Path

import nbformat

from tools import execution

PAUSE = 0.05  # seconds between two looks at the memory
FAMILY = 10  # looks after which new processes are searched for
KINDS = ("RssAnon", "RssShmem", "RssFile")


def descendants(ancestor):
    """Numbers of the processes that a process started, and that these did."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = path.read_text().partition(" (")
        except OSError:  # it ended meanwhile
            continue
        parent = rest.rpartition(") ")[2].split()[1]
        children.setdefault(int(parent), []).append(int(pid))
    found = [ancestor]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def resident(pid):
    """Bytes that a process holds: {kind of pages: bytes}; {} once it ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    sizes = {
        row[0][:-1]: int(row[1]) << 10
        for row in rows
        if row[1:2] and row[0][:-1] in KINDS
    }
    return sizes if len(sizes) == len(KINDS) else {}


def together(several):
    """Bytes that processes hold: each its own pages, pages of files once."""
    own = sum(size["RssAnon"] + size["RssShmem"] for size in several)
    return own + max((size["RssFile"] for size in several), default=0)


class Memory(threading.Thread):
    """Looks again and again at what this process's descendants hold.

    peak     the largest sum that it saw, in bytes
    most     how many processes there were then
    seconds  what looking took of the processor
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.most, self.seconds = 0, 0, 0.0
        self._done = threading.Event()

    def run(self):
        looks, family = 0, []
        while not self._done.wait(PAUSE):
            if looks % FAMILY == 0:
                family = descendants(os.getpid())
            looks += 1
            found = [size for pid in family if (size := resident(pid))]
            if (held := together(found)) > self.peak:
                self.peak, self.most = held, len(found)
            self.seconds = time.thread_time()

    def stop(self):
        """End it; returns itself."""
        self._done.set()
        self.join()
        return self


def main():
    """The command line."""
    path = Path(sys.argv[1]).resolve()
    notebook = nbformat.read(path, as_version=4)
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    execution.run(notebook, path.parent)
    seconds = time.perf_counter() - start
    memory.stop()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)  # the kernel
    unit = 1 if sys.platform == "darwin" else 1024
    own = time.process_time() - memory.seconds
    largest = spent.ru_maxrss * unit  # no peak between two looks is missed
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu_seconds": own + spent.ru_utime + spent.ru_stime,
                "peak_bytes": max(memory.peak, largest),
                "largest_process_bytes": largest,
                "processes": memory.most,
            }
        )
    )


if __name__ == "__main__":
    main()
