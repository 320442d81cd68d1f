"""Time and memory of counting a program for 4,096 chips that do not exist."""

from functools import partial

from bench.measuring import measured
from shardlab import agreement

SIZES = {"B": 2**20, "D": 8192, "F": 28_672, "X": 512, "Y": 8}


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note} for each case."""
    for name in agreement.STRATEGIES:
        work = partial(agreement.counts, name, **SIZES)
        kinds = sum(len(part) for part in work())
        note = f"both passes and update on 512 x 8 chips, {kinds} collectives"
        yield measured(f"count: {name}", work, note)
