"""Measures what the book costs, as a table and as JSON.

python -m bench [--only ring] [--json bench/results] [--large]

The file has the day's name and keeps, topic by topic, what was measured last,
each with its machine, its versions and the load that there was.
"""

import argparse
import importlib
import json
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from bench import soak
from bench.instructions import processor_name

# Before JAX is there: what is compiled, is so for eight devices.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = Path(__file__).resolve().parent
PACKAGES = ("jax", "jaxlib", "numpy")


def machine():
    """What the figures belong to: day, commit, machine, versions."""
    return {
        "date": date.today().isoformat(),
        "commit": soak.commit(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def topics():
    """The names of the modules here that have rows: "ring", "pipeline"."""
    return sorted(
        p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py")
    )


def line(row):
    """One row of the table."""
    cpu, goal = row.get("cpu_seconds_median"), row.get("goal")
    spent = " " * 11 if cpu is None else f"{cpu:9.4f} s"
    late = "" if goal is None else f"goal {goal:g} s; "
    return (
        f"{row['name']:58} {row['seconds_median']:9.4f} s {spent} "
        f"{row['peak_bytes'] / 1e6:9.1f} MB  {late}{row['note']}"
    )


def keep(folder, said, topic, rows):
    """Write what was measured of a topic into the file of the day.

    folder   where the files lie, or the path of a file
    said     what `machine` returns
    returns  path of the file
    """
    path = folder if folder.suffix == ".json" else None
    path = path or folder / f"{said['date']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    found[topic] = {"machine": said, "rows": rows}
    text = json.dumps(dict(sorted(found.items())), indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the instruments: median seconds, peak memory.",
    )
    parser.add_argument("--only", choices=topics(), help="one topic")
    parser.add_argument(
        "--json", type=Path, help="write the rows here too: folder or file"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="with --only class_size: up to a thousand, for half an hour",
    )
    options = parser.parse_args(arguments)
    if options.large and options.only != "class_size":
        parser.error("--large needs --only class_size")
    more = {"large": True} if options.large else {}
    said = machine()
    print("  ".join(f"{key} {value}" for key, value in said.items()))
    print(f"{'':58} {'by the clock':>11} {'processor':>11} {'memory':>12}")
    for topic in [options.only] if options.only else topics():
        said, rows = machine(), []
        for row in importlib.import_module(f"bench.bench_{topic}").rows(**more):
            print(line(row), flush=True)
            rows.append(row)
            if options.json:  # each at once: who stops a run keeps its rows
                keep(options.json, said, topic, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
