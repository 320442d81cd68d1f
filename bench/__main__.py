"""Measures what the instruments cost, as a table and as JSON.

python -m bench [--only ring] [--json work/bench.json]
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

HERE = Path(__file__).resolve().parent
PACKAGES = ("jax", "jaxlib", "numpy")


def machine():
    """What the figures belong to: the day, the machine, the versions."""
    return {
        "date": date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def processor():
    """The processor's name where the system tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [x.split(": ", 1)[1] for x in lines if x.startswith("model name")]
    return names[0] if names else platform.machine()


def topics():
    """The names of the modules here that have rows: "ring", "pipeline"."""
    return sorted(
        p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py")
    )


def line(row):
    """One row of the table."""
    return (
        f"{row['name']:58} {row['seconds_median']:9.4f} s "
        f"{row['peak_bytes'] / 1e6:9.1f} MB  {row['note']}"
    )


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the instruments: median seconds, peak memory.",
    )
    parser.add_argument("--only", choices=topics(), help="one topic")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    options = parser.parse_args(arguments)
    said = machine()
    print("  ".join(f"{key} {value}" for key, value in said.items()))
    rows = []
    for topic in [options.only] if options.only else topics():
        for row in importlib.import_module(f"bench.bench_{topic}").rows():
            print(line(row), flush=True)
            rows.append(row)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": said, "rows": rows}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
        print(f"written to {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
