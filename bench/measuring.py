"""One measurement, in the shape that every module of bench/ yields.

Seconds of the processor stand beside those of the clock: others at work on the
machine make a clock run on, and two cores share what one of them computes.
"""

import math
import resource
import statistics
import time
import tracemalloc

RUNS = 5


def processor():
    """Seconds that the processor gave this process and those that it ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + spent.ru_utime + spent.ru_stime


def timed(work):
    """Run `work` once; returns (seconds of the clock, of the processor)."""
    start = time.perf_counter(), processor()
    work()
    return time.perf_counter() - start[0], processor() - start[1]


def measured(name, work, note="", runs=RUNS, goal=None):
    """Run `work` several times for time, then once more for memory.

    name     what is measured, in words
    work     a function of no arguments
    note     how much it handled
    runs     how many times it is timed
    goal     seconds of the processor that it should take at most, or None
    returns  dict: name, seconds_median, cpu_seconds_median, runs, peak_bytes,
             note, goal. The peak is that of Python's and NumPy's memory; what
             the compiled parts of other libraries take is not seen.
    """
    wall, cpu = zip(*(timed(work) for _ in range(runs)), strict=True)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return row(name, wall, cpu, peak, note, goal)


def row(name, wall, cpu, peak=0, note="", goal=None):
    """The row of what was timed elsewhere.

    wall, cpu  seconds of each run
    peak       bytes, or 0 where nobody looked
    """
    return {
        "name": name,
        "seconds_median": statistics.median(wall),
        "cpu_seconds_median": statistics.median(cpu),
        "runs": len(wall),
        "peak_bytes": peak,
        "note": note,
        "goal": goal,
    }


def exponent(sizes, seconds):
    """The power of its size with which a time grows: a line through logarithms.

    sizes, seconds  lists of positive numbers, as long as each other
    returns         the slope of the line with the least squares of distances
    """
    xs, ys = [list(map(math.log, values)) for values in (sizes, seconds)]
    x, y = statistics.mean(xs), statistics.mean(ys)
    over = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return over / sum((a - x) ** 2 for a in xs)
