"""One measurement, in the shape that every module of bench/ yields."""

import statistics
import time
import tracemalloc

RUNS = 5


def measured(name, work, note="", runs=RUNS):
    """Run `work` several times for time, then once more for memory.

    name     what is measured, in words
    work     a function of no arguments
    note     how much it handled
    runs     how many times it is timed
    returns  dict: name, seconds_median, runs, peak_bytes, note. The peak is
             that of Python's and NumPy's memory; what the compiled parts of
             other libraries take is not seen.
    """
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "name": name,
        "seconds_median": statistics.median(seconds),
        "runs": runs,
        "peak_bytes": peak,
        "note": note,
    }
