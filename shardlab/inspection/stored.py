"""Steps of others, counted once and stored; chapter 21 shows them."""

import json
from pathlib import Path

from shardlab import hw
from shardlab.count.records import volume
from shardlab.inspection.machines import MATH, forecast

__all__ = ["as_row", "others"]

STORED = Path(__file__).with_name("others.json")


def others():
    """What `python -m bench.others` found, with its date.

    returns  dict: "date"; "versions"; "read", for each project the commit that
             was read; "rows", a list of dicts with title, level, row
             (mesh, level, volume in bytes, FLOPs, seconds of all networks and
             of arithmetic on TPU v5p), kinds (volume in bytes by part, kind,
             axes and type) and arguments (their bytes, whole)
    source   chapter 21
    """
    return json.loads(STORED.read_text(encoding="utf-8"))


def as_row(title, report):
    """What is stored of a step.

    title    of the step
    report   Report
    returns  dict, as in `others`
    source   chapter 21
    """
    on = forecast(report, hw.V5P)
    math = on.seconds[MATH]
    mesh = " × ".join(f"{a} {n}" for a, n in report.sizes.items())
    row = (
        mesh,
        report.level,
        volume(report.moved),
        report.flops(),
        on.added - math,
        math,
    )
    kinds = {}
    for c in report.moved:
        key = f"{c.origin.part} {c.kind} {' '.join(c.axes)} {c.origin.dtype}"
        kinds[key] = kinds.get(key, 0) + c.volume * c.times
    return {
        "title": title,
        "level": report.level,
        "row": row,
        "kinds": kinds,
        "arguments": sum(a.bytes for a in report.arguments),
    }
