"""Time and memory of a whole search, and how many layouts it goes through."""

import itertools
import math
from dataclasses import replace
from functools import partial

from bench.measuring import measured
from shardlab import plan
from shardlab.hw import H100, V5P

POD = (16, 20, 28)  # the largest torus of a v5p: 8,960 chips

# Tokens per chip are such that most ways to deal the chips are legal.
CASES = [
    ("llama-2-13b-mlp", V5P, (16, 16, 16), 3 * 10**6, None),
    ("llama-2-13b", V5P, (16, 16, 16), 3 * 10**6, None),
    ("llama-2-13b", V5P, POD, 8960 * 1024, 4096),
    ("llama-3-70b", V5P, POD, 8960 * 8192, 8192),
    ("llama-3-405b", V5P, POD, 8960 * 8192, 8192),
    ("deepseek-v3", V5P, POD, 8960 * 4096, 4096),
    ("llama-3-405b", H100, (8192,), 2**24, 8192),
    ("llama-3-405b", V5P, POD, 89_600 * 8192, 8192, 10),
    ("llama-3-405b", H100, (100_000,), 100_000 * 8192, 8192),
]


def asked(model, chip, topology, batch, sequence, pods=1):
    """The job, on a chip of another name each time.

    So nothing is remembered of its network from one search to the next.
    """
    new = replace(chip, name=f"{chip.name}, {next(numbers)}")
    return plan.Job(model, new, topology, batch, sequence, pods=pods)


numbers = itertools.count()


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note} for each case."""
    for name, chip, topology, batch, sequence, *pods in CASES:
        model = plan.model(name)
        ask = partial(asked, model, chip, topology, batch, sequence, *pods)
        chips = math.prod(topology) * math.prod(pods)
        result = plan.search(ask())
        note = (
            f"{result.divisions:,} divisions, {len(result.rows):,} layouts, "
            f"{result.timed:,} timed"
        )
        place = "x".join(map(str, topology))
        place = f"{pods[0]} times {place}" if pods else place
        yield measured(
            f"plan: {name} on {chips:,} {chip.name} ({place})",
            lambda ask=ask: plan.search(ask()),
            note,
        )
