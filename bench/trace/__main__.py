"""The command line of bench.trace: what it does, its package says."""

import argparse
import json
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bench.trace
from bench.wire.__main__ import machine
from shardlab.processes import launch

SIZES = {"B": 512, "D": 512, "F": 2048}
STEPS, LATE, SECONDS = 3, 1, 0.25


def _rounded(row):
    """Step, name and queue as they are; seconds to the microsecond."""
    return [*row[:3], *(round(at, 6) for at in row[3:])]


def main(arguments=None):
    """The command line; returns the exit status."""
    about = bench.trace.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.trace", description=about)
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    options = asked.parse_args(arguments)
    how = (STEPS, LATE, SECONDS, *SIZES.values())
    run = launch("bench.trace.ranks:traced", 2, 1, how, echo=None)
    found = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "versions": {"jax": version("jax")},
        "sizes": SIZES,
        "late": LATE,
        "seconds": SECONDS,
        "processes": [[_rounded(row) for row in rows] for rows in run.results],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found) + "\n", "utf-8")
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
