"""Runs the tests again and again, and keeps what each run came to.

python -m bench.soak --times 20 [--suite test-long] [--store FILE]
python -m bench.soak --times 1 --suite kills
python -m bench.soak --times 1 --instructions AVX2

A test that fails in one run and passes in the next is flaky, and so is a
process that outlives the run which started it. Both are named; what is left
running is ended, so that one run does not disturb the next. The suite "kills"
kills what `make notebooks`, `make book` and `make grade` run, a hundred times.
With --instructions the processor is one that has no others; what that comes to
is stored with the canaries, for the status page.
"""

import argparse
import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from pathlib import Path

from bench.instructions import FLAGS, processor_name, refuse_unheeded
from tools import atomic

__all__ = ["left_behind", "run", "summary"]

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "bench/results/soak.json"
PROCESSORS = ROOT / "bench/canary/processors.json"
KILLS = "-m pytest --long -q -s -n 0 --kills 100"
MAKE = "test", "test-long"
SUITES = {
    **{name: ["make", "--no-print-directory", name] for name in MAKE},
    "kills": [
        *(sys.executable, *KILLS.split()),
        "tests/plants/test_interruptions.py",
    ],
}
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CLOSING = re.compile(r"^=*\s*((?:\d+ \w+,? )+)in [\d.]+s", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


def children():
    """The numbers of the processes whose parent this one is."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            words = path.read_text().rpartition(")")[2].split()
            if int(words[1]) == os.getpid():
                found.append(int(path.parent.name))
    return found


def left_behind():
    """End whatever runs on below this process; returns its command lines.

    What a command started and left has this process as its parent, once that
    command has ended: `run` asks the kernel for it. Linux alone.
    """
    found = []
    while below := children():
        for pid in below:
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                said = words.replace(b"\0", b" ").decode(errors="replace")
                if said.strip():  # one that has ended has none
                    found.append(said.strip()[:200])
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return found


def run(command, log, flags=None):
    """Run a command once; returns what it came to.

    command  list of words, of which pytest runs at least once
    log      path of a file for what is printed
    flags    dict of variables that it has besides ours, or None
    returns  dict: status of exit, seconds of the clock and of the processor,
             {"passed": n, "failed": n, ...} over all closing lines, names of
             failed tests, and command lines of processes left running
    raises   ValueError where pytest printed no closing line
    """
    ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0)
    begun, before = time.monotonic(), _of_children()
    environment = os.environ | (flags or {})
    with open(log, "w") as file:
        both = {"stdout": file, "stderr": subprocess.STDOUT, "env": environment}
        with subprocess.Popen(command, cwd=ROOT, **both) as process:
            ended = None
            while ended != process.pid:  # orphans that end are ours to bury
                ended, status = os.waitpid(-1, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begun
    said = COLOURS.sub("", Path(log).read_text(errors="replace"))
    counts = Counter()
    for line in CLOSING.findall(said):
        for number, word in re.findall(r"(\d+) (\w+)", line):
            counts[word] += int(number)
    for number in re.findall(r"(\d+) kills of \d+ tries", said):
        counts["killed"] += int(number)
    if not counts:
        raise ValueError(f"no closing line of pytest in {log}: {said[-200:]!r}")
    return {
        "status": process.returncode,
        "seconds": round(seconds),
        "cpu_seconds": round(_of_children() - before),
        "counts": dict(counts),
        "failed": sorted(set(FAILED.findall(said))),
        "left": left_behind(),
    }


def _of_children():
    """Seconds of the processor of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(runs):
    """A line for each suite: how often it ran, and what was not green.

    runs     list of what `run` returns, each with its "suite"
    returns  str, lines of a table of Markdown without its head
    """
    lines = []
    for suite in sorted({one["suite"] for one in runs}):
        mine = [one for one in runs if one["suite"] == suite]
        tests = sum(one["counts"].get("passed", 0) for one in mine)
        bad = Counter(name for one in mine for name in one["failed"])
        red = ", ".join(f"`{n}` {k} times" for n, k in bad.items()) or "none"
        left = sum(len(one["left"]) for one in mine)
        lines.append(f"| {suite} | {len(mine)} | {tests:,} | {red} | {left} |")
    return "\n".join(lines)


def commit():
    """The commit that is tested, in twelve digits; a change adds a plus."""
    asked = ["git", "describe", "--always", "--abbrev=12", "--dirty=+"]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip()


def main(arguments=None):
    """The command line; returns 1 when a run was not green."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak", description=__doc__
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--suite", choices=SUITES, default="test")
    parser.add_argument("--instructions", choices=FLAGS)
    parser.add_argument("--store", type=Path)
    asked = parser.parse_args(arguments)
    flags = FLAGS[asked.instructions or "native"]
    refuse_unheeded(asked.instructions or "native")
    if asked.times < 1:
        parser.error(f"--times must be at least 1, got {asked.times}")
    if sys.platform != "linux":
        parser.error(f"it looks into /proc, so only on Linux: {sys.platform}")
    logs = ROOT / "work/soak"
    logs.mkdir(parents=True, exist_ok=True)
    green, tested = True, commit()  # before what is stored changes the tree
    for number in range(asked.times):
        log = logs / f"{asked.suite}-{number + 1:02}.log"
        said = {
            "date": date.today().isoformat(),
            "commit": tested,
            "suite": asked.suite,
            "load": round(os.getloadavg()[0], 1),
        }
        if asked.instructions:
            said |= {"processor": processor_name(), "flags": flags}
            said["instructions"] = asked.instructions
        said |= run(SUITES[asked.suite], log, flags)
        # Read anew: another run may have added its own meanwhile.
        store = asked.store or (PROCESSORS if asked.instructions else STORE)
        kept = json.loads(store.read_text("utf-8")) if store.exists() else []
        kept.append(said)
        atomic.write(store, json.dumps(kept, indent=1) + "\n")
        if store == STORE:  # or the next run finds its page out of date
            words = [sys.executable, "-m", "bench.goals"]
            subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        green &= not said["status"] and not said["left"]
        print(number + 1, *said.values(), flush=True)
    print(summary(kept))
    return int(not green)


if __name__ == "__main__":
    sys.exit(main())
