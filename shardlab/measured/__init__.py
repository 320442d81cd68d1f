"""Published runs with what was measured, beside what the planner says of them.

`rows.csv` has one line for each run, `tables.json` where each table was read.
`python -m shardlab.measured` prints the errors of the planner, table by table;
with `--fit` it fits the speeds of `plan.expected` anew and stores them, with
their errors on tables that were left out. To add a run, add a line to
`rows.csv`.
"""

import csv
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from shardlab.hw import chip
from shardlab.models import Model, forward_flops
from shardlab.plan import Job, arrangement, topology
from shardlab.plan.runs import RUNS, job_run

__all__ = [
    "FOLDER",
    "Row",
    "errors",
    "model_flops",
    "outcomes",
    "rank_correlation",
    "rows",
    "tables",
]

FOLDER = Path(__file__).parent
SHAPE = ("L", "D", "F", "heads", "kv_heads", "head_size", "vocab", "context")
MEGATRON, PAPERS = "Megatron-LM 2021, A100", "papers of chapter 16"


class Row(NamedTuple):
    """A run as it was published.

    table    where it stands, a key of `tables`
    name     as a label
    job      Job
    layout   Arrangement
    seconds  of a step; None: not printed
    bytes    peak on the fullest chip; None: not printed
    ran      False: it ran out of memory
    note     what had to be assumed
    """

    table: str
    name: str
    job: Job
    layout: object
    seconds: float | None
    bytes: float | None
    ran: bool
    note: str


@cache
def rows():
    """Every published run, those of chapter 16 included.

    returns  tuple of Row
    raises   ValueError that names the line of rows.csv and what is wrong
    source   chapter 16; `tables`
    """
    with open(FOLDER / "rows.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    found = []
    for number, line in enumerate(lines, 2):
        try:
            found.append(_row(line))
        except ValueError as error:
            raise ValueError(f"rows.csv, line {number}: {error}") from None
    return (*found, *_runs())


def _row(line):
    yes = {name: line[name] == "yes" for name in ("gated", "tied", "dropout")}
    shape = (int(line[name]) for name in SHAPE)
    model = Model(line["model"], *shape, **yes, ends=int(line["ends"]))
    kind = chip(line["chip"])
    if line["dcn_bw"]:
        kind = replace(kind, dcn_bw=float(line["dcn_bw"]))
    job = Job(
        *(model, kind, topology(line["topology"]), int(line["batch"])),
        sequence=int(line["sequence"]),
        pods=int(line["pods"]),
        recompute=line["recompute"],
        precision=line["precision"],
        recipe=line["recipe"],
        fused=line["fused"] == "yes",
    )
    (layout,) = arrangement(f"microbatches=1,{line['layout']}", job)
    measured = (
        float(line[k]) if line[k] else None for k in ("seconds", "memory_bytes")
    )
    ran = line["ran"] == "yes"
    return Row(
        line["table"], line["name"], job, layout, *measured, ran, line["note"]
    )


def _runs():
    for name, run in RUNS.items():
        job = job_run(run)
        if name == "deepseek-v3":  # its report, section 3.3
            job = replace(job, precision="fp8")
        table = MEGATRON if name.startswith("megatron") else PAPERS
        yield Row(
            *(table, run.name, job, run.layout, run.seconds, None, True),
            run.assumed,
        )


@cache
def tables():
    """Where each table of runs was read.

    returns  dict: table -> dict of source, date, read
    source   chapter 16; the documents themselves
    """
    told = json.loads((FOLDER / "tables.json").read_text("utf-8"))
    own = {"source": "`plan.runs`", "date": "2026-11-22", "read": "chapter 16"}
    return told | {MEGATRON: own, PAPERS: own}


@cache
def outcomes():
    """What was stored of every timed row when the speeds were fitted.

    returns  list of dicts: table, name, measured, bound, before (chapter 16's
             forecast), fitted, left_out, in seconds
    source   chapter 16; `python -m shardlab.measured --fit`
    """
    return json.loads((FOLDER / "outcomes.json").read_text("utf-8"))


def rank_correlation(a, b):
    """Spearman's rank correlation of two lists of numbers.

    a, b     lists of one length, at least 2
    returns  a number from -1 to 1; equal numbers share their mean rank
    raises   ValueError unless the lists are as long as each other
    source   chapter 16; Spearman (1904)
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError(
            "a and b must have one length of at least 2, got "
            f"{len(a)} and {len(b)}"
        )
    a, b = _ranks(a), _ranks(b)
    middle = (len(a) - 1) / 2
    top = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    both = (sum((x - middle) ** 2 for x in ranks) for ranks in (a, b))
    one, other = both
    return top / (one * other) ** 0.5 if one and other else 0.0


def _ranks(numbers):
    ordered = sorted(numbers)
    return [ordered.index(n) + (ordered.count(n) - 1) / 2 for n in numbers]


def errors(which="left_out"):
    """The errors of one prediction, table by table.

    which    "bound", "before", "fitted" or "left_out"
    returns  dict: table, and "all" -> dict of rows, ratio (median of predicted
             over measured), error (median of its distance from 1), within
             (rows within 25 percent), rank (correlation of predicted with
             measured MFU; None with fewer than 4 rows)
    source   chapter 16
    """
    groups = {}
    for row in outcomes():
        groups.setdefault(row["table"], []).append(row)
    found = {table: _errors(group, which) for table, group in groups.items()}
    found["all"] = _errors(outcomes(), which) | {"rank": None}
    return found


def _errors(group, which):
    ratios = [row[which] / row["measured"] for row in group]
    off = [abs(ratio - 1) for ratio in ratios]
    pace = [
        [row["flops"] / row[key] for row in group]
        for key in (which, "measured")
    ]
    return {
        "rows": len(group),
        "ratio": median(ratios),
        "error": median(off),
        "within": sum(error <= 0.25 for error in off),
        "rank": rank_correlation(*pace) if len(group) > 3 else None,
    }


def model_flops(job):
    """FLOPs of a step for each chip, as an MFU counts them.

    job      Job
    returns  FLOPs, all scores counted
    source   PaLM paper, appendix B
    """
    each = 3 * sum(forward_flops(job.model, job.attended).values())
    return each * job.batch / (job.chips * job.pods)
