"""Seconds that a device takes for a call, and rows that may fail."""

import statistics
import time
from typing import NamedTuple

import jax

FAULTS = (RuntimeError, ValueError, TypeError, NotImplementedError)


class Effort(NamedTuple):
    """How long is measured.

    window   seconds that one timing shall last at least
    repeats  timings, of which the median counts
    """

    window: float
    repeats: int


FULL, QUICK = Effort(0.1, 7), Effort(0.001, 3)


def timed(calls, effort):
    """Time calls that follow each other without a pause.

    calls    list of functions of no arguments that return arrays, taken in
             turn: if they have inputs of their own, no cache helps them
    effort   Effort
    returns  dict: seconds of one call (median), seconds_least, seconds_most,
             runs, calls
    """
    for call in calls:  # compile
        jax.block_until_ready(call())
    once = lasts(calls, len(calls)) / len(calls)
    count = max(len(calls), round(effort.window / max(once, 1e-7)))
    count = min(count, 10_000)
    runs = [lasts(calls, count) / count for _ in range(effort.repeats)]
    return {
        "seconds": statistics.median(runs),
        "seconds_least": min(runs),
        "seconds_most": max(runs),
        "runs": effort.repeats,
        "calls": count,
    }


def lasts(calls, count):
    """Seconds until so many calls are done.

    A CPU may run two programs at once, and out of turn: there each is waited
    for.
    """
    wait = jax.default_backend() == "cpu"
    start = time.perf_counter()
    for number in range(count):
        done = calls[number % len(calls)]()
        if wait:
            jax.block_until_ready(done)
    jax.block_until_ready(done)
    return time.perf_counter() - start


def attempted(row, work):
    """A row, with what `work` adds to it, or with the reason why it failed.

    row      dict that says what is measured
    work     function of no arguments that returns a dict
    returns  dict; `error` is the first line of what went wrong
    """
    try:
        return {**row, **work()}
    except FAULTS as error:
        said = str(error).strip().splitlines() or [""]
        return {**row, "error": f"{type(error).__name__}: {said[0][:200]}"}


def rate(amount, seconds, of=None):
    """Amount per second, and its share of a figure; None of an unknown one."""
    per_second = amount / seconds
    return per_second, (per_second / of if of else None)


def rounded(value):
    """Numbers with 5 digits, in whatever lists and dicts they stand."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
