"""Seconds that a reader waits for a check, in each set of exercises.

A set's solution is run from its first cell to its last in a fresh process, and
the check cells are timed as a reader has them, without what is hidden.
"""

import contextlib
import io
import resource
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import nbformat

from shardlab.authoring import kit
from shardlab.checks import student

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3
# What we want: the first check of a fresh kernel, any other, half of a set.
GOALS = {"first": 6, "longest": 1, "median": 0.3}


def code(path):
    """The code cells of a solution, as pairs (check's grade_id or None, text).

    path  of a notebook; what is hidden in a check is left out
    """
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        mark = cell.metadata.get("nbgrader", {})
        checks = mark.get("grade") and not mark.get("solution")
        if cell.cell_type == "code":
            name = mark["grade_id"] if checks else None
            found.append((name, kit.HIDDEN.sub("", cell.source)))
    return found


def now():
    """Seconds of a clock, and of the processor."""
    return time.perf_counter(), time.process_time()


def timed(path):
    """Run a solution in this process.

    path     of a notebook
    returns  dict: grade_id of each check -> seconds, of the clock or of the
             processor, whichever are fewer: others at work on the machine make
             a reader wait, too, and XLA compiles with several cores; and the
             bytes that the process took at most
    raises   RuntimeError for a cell that fails
    """
    names, seconds = {"__name__": "answer"}, {}
    silent = contextlib.redirect_stdout(io.StringIO())
    with silent, student.asking(student.ThisKernel(names), 0):
        for number, (name, text) in enumerate(code(path)):
            start = now()
            failed = kit.run_cell(text, f"<cell {number}>", names)
            if failed:
                raise RuntimeError(f"{Path(path).name}: {text}\n{failed}")
            if name:
                seconds[name] = min(
                    b - a for a, b in zip(start, now(), strict=True)
                )
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return seconds, peak


def fresh(path, runs=RUNS):
    """What `timed` returns, in as many processes, one after the other."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        return [pool.submit(timed, path).result() for _ in range(runs)]


def row(stem, done):
    """The row of one set.

    stem     such as "01_sharded_arrays"
    done     what `timed` returned in each run
    returns  dict: name, seconds_median, runs, peak_bytes, note; first,
             longest and median in seconds; checks, the seconds of each
    """
    checks = {
        name: statistics.median(seconds[name] for seconds, _ in done)
        for name in done[0][0]
    }
    opening, *others = checks
    slowest = max(others, key=checks.get)
    found = {
        "first": checks[opening],
        "longest": checks[slowest],
        "median": statistics.median(checks.values()),
    }
    late = [what for what, goal in GOALS.items() if found[what] > goal]
    note = f"first {found['first']:.2f}, then at most {found['longest']:.2f} s"
    note += f" ({slowest})" + (f"; over the goal: {late}" if late else "")
    return {
        "name": f"checks: {stem}, {len(checks)} checks",
        "seconds_median": found["median"],
        "cpu_seconds_median": None,  # the smaller of both is the median
        "runs": len(done),
        "peak_bytes": max(peak for _, peak in done),
        "note": note,
        **found,
        "checks": checks,
    }


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note, ...} for each set.

    The median is over a set's checks, of which each took its median run.
    """
    for stem in kit.sets():
        yield row(stem, fresh(ROOT / f"solutions/{stem}/{stem}.ipynb"))
