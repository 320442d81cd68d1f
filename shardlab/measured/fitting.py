"""Fits the speeds of `plan.expected` to published runs, by least squares.

The residuals are logarithms of expected over measured seconds, soft-L1, each
table with the weight of at most ten rows. Every speed starts at a published
value and is drawn to it by one residual more, so that runs have to speak for
what differs from it. Only this module imports SciPy.
"""

import json
from dataclasses import replace
from datetime import date
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from shardlab import measured
from shardlab.plan.expected import STORED, ledgers, seconds_of
from shardlab.plan.runs import KERNELS
from shardlab.plan.search import evaluate

__all__ = ["SPEEDS", "fit", "store"]

AS_IT_COMES = {"overlap": "max", "efficiency": 1.0}
AS_IT_COMES |= {"streams": False, "causal": False}
NOISE = 0.1  # of the logarithm of a published time
MOST = 10  # rows that a table counts for at most


class _Speed(NamedTuple):
    """A speed of `plan.expected`.

    start   where it starts
    spread  how far a run may draw it from there, in its logarithm
    unit    of its value
    means   what it says
    """

    start: float
    spread: float
    unit: str
    means: str


PEAK, SHOWN = "of the peak", "of its time"
SPEEDS = {
    "matmul_a100": _Speed(0.8, 0.15, PEAK, "large matmuls on an A100"),
    "matmul_h100": _Speed(
        0.7, 0.15, PEAK, "large matmuls on an H100 and later"
    ),
    "matmul_tpu": _Speed(0.85, 0.15, PEAK, "large matmuls on a TPU"),
    "attention": _Speed(
        *(0.45, 0.4, "of matmuls' speed"),
        "attention kernels, over scores that the causal mask leaves",
    ),
    "between_switch": _Speed(
        *(1.2, 0.3, "times"),
        "traffic to memory between matmuls on GPUs, over the least: each kept "
        "array written and read once",
    ),
    "between_torus": _Speed(1.2, 0.4, "times", "the same on TPUs"),
    "launch": _Speed(
        2e-5, 1.0, "seconds", "launches of a layer's kernels, in each pass"
    ),
    "hops": _Speed(
        5.0, 0.7, "times 1 microsecond", "latency of each hop of a collective"
    ),
    "shown_tp_switch": _Speed(
        0.7, 0.3, SHOWN, "tensor parallelism through a switch, not hidden"
    ),
    "shown_tp_torus": _Speed(
        0.4, 0.4, SHOWN, "tensor parallelism on a torus, not hidden by XLA"
    ),
    "shown_fsdp": _Speed(0.2, 0.6, SHOWN, "gathers and scatters of FSDP"),
    "shown_dp": _Speed(
        0.6, 0.5, SHOWN, "sums and gathers once a step, in and between pods"
    ),
    "shown_tokens": _Speed(
        0.7, 0.4, SHOWN, "sends of pipelines, context and expert parallelism"
    ),
    "stragglers": _Speed(
        0.003, 1.0, "of a step", "waiting, for each doubling of the hosts"
    ),
}


def fit(cases):
    """Speeds that fit cases best.

    cases    list of (table, list of Ledger, seconds)
    returns  dict: name -> value
    source   chapter 16
    """
    names = [table for table, _, _ in cases]
    weights = [min(1, MOST / names.count(name)) ** 0.5 for name in names]

    def residuals(steps):
        p = _speeds(steps)
        off = [
            weight * log(_expected(of, p) / seconds) / NOISE
            for weight, (_, of, seconds) in zip(weights, cases, strict=True)
        ]
        return np.array([*off, *steps])

    found = least_squares(
        residuals, np.zeros(len(SPEEDS)), loss="soft_l1", diff_step=1e-3
    )
    return _speeds(found.x)


def _speeds(steps):
    return {
        name: speed.start * exp(step * speed.spread)
        for (name, speed), step in zip(SPEEDS.items(), steps, strict=True)
    }


def _expected(of, p):
    return min(seconds_of(ledger, p).step for ledger in of)


def _best(row):
    """The ledger of the best place, by the speeds that the fit starts from."""
    p = _speeds([0] * len(SPEEDS))
    each = ledgers(row.job, row.layout)
    return [min(each, key=lambda of: seconds_of(of, p).step)]


def _forecast(row, **how):
    chip = replace(row.job.chip, hbm_bytes=1e15)
    return evaluate(replace(row.job, chip=chip, **how), row.layout).seconds


def _before(row):
    """The forecast of chapter 16, which nothing was fitted to."""
    reached = KERNELS.get(row.job.chip.name.split("-")[0], 1.0)
    how = {"overlap": "none", "efficiency": reached, "streams": True}
    return _forecast(row, causal=not row.job.model.dropout, **how)


def store():
    """Fit to all tables, and without each of them; store speeds and errors.

    returns  the files that were written
    source   chapter 16
    """
    timed = [row for row in measured.rows() if row.seconds]
    cases = [(row.table, _best(row), row.seconds) for row in timed]
    speeds, without = fit(cases), {}
    for table in {table for table, _, _ in cases}:
        without[table] = fit([case for case in cases if case[0] != table])
    outcomes = []
    for row, (table, of, seconds) in zip(timed, cases, strict=True):
        said = {
            "bound": _forecast(row, **AS_IT_COMES),
            "before": _before(row),
            "fitted": _expected(of, speeds),
            "left_out": _expected(of, without[table]),
            "flops": measured.model_flops(row.job),
        }
        said = {key: float(f"{value:.5g}") for key, value in said.items()}
        outcomes.append(
            {"table": table, "name": row.name, "measured": seconds} | said
        )
    ratios = [row["measured"] / row["left_out"] for row in outcomes]
    low, high = np.quantile(ratios, (0.05, 0.95))
    told = {
        "date": date.today().isoformat(),
        "rows": len(outcomes),
        "band": [float(f"{low:.3g}"), float(f"{high:.3g}")],
        "speeds": {
            name: {"value": float(f"{value:.3g}")}
            | {"unit": SPEEDS[name].unit, "means": SPEEDS[name].means}
            for name, value in speeds.items()
        },
    }
    files = {STORED: told, measured.FOLDER / "outcomes.json": outcomes}
    for path, data in files.items():
        lines = (
            "[\n" + ",\n".join(map(json.dumps, data)) + "\n]"
            if isinstance(data, list)
            else json.dumps(data, indent=1)
        )
        path.write_text(lines + "\n", encoding="utf-8")
    return list(files)
