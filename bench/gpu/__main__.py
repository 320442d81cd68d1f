"""The command line of bench.gpu: what it writes, its docstring says."""

import argparse
import importlib
import json
import os
import sys
import time
from datetime import date
from pathlib import Path

import jax

import bench.gpu
from bench.gpu import clock, device

# In this order: the step first, while nothing else has raised the peak.
PARTS = (
    *("step", "trace", "matmul", "bandwidth"),
    *("elementwise", "launch", "attention", "precision"),
)


def parser():
    """The options of the command line."""
    about = bench.gpu.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.gpu", description=about)
    known = ", ".join(PARTS)
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    asked.add_argument("--quick", action="store_true", help="tiny sizes")
    asked.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=known
    )
    asked.add_argument(
        "--compact",
        action="store_true",
        help="leave out samples and events, as in shardlab/compiled/gpu.json",
    )
    asked.add_argument("--chip", help="the device's name in shardlab.hw")
    return asked


def options_of(arguments):
    """What the command line asks for; it ends the program if that is wrong."""
    asked = parser()
    options = asked.parse_args(arguments)
    if options.out.is_dir():
        asked.error(f"--out must be a file, got the folder {options.out}")
    if not options.quick:  # JAX takes three quarters of a card unless told
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")
        if jax.default_backend() == "cpu":
            asked.error("a CPU is too slow for more than --quick")
    try:
        options.figures = device.figures(options.chip)
    except ValueError as error:
        asked.error(f"--{error}")
    return options


def measured(name, options):
    """One part: what it found, or why it failed."""
    part = importlib.import_module(f"bench.gpu.{name}")
    effort = clock.QUICK if options.quick else clock.FULL
    sizes = part.SIZES["quick" if options.quick else "full"]
    found, start = {}, time.perf_counter()
    with device.watch(found, jax.default_backend() != "cpu"):
        rest = clock.attempted(
            {}, lambda: part.part(sizes, effort, options.figures)
        )
    return {"wall_seconds": time.perf_counter() - start, **found, **rest}


def compact(part):
    """A part without what was sampled beside it and every single event."""
    long = ("samples", "names", "events")
    return {name: value for name, value in part.items() if name not in long}


def write(document, path):
    """Write the file anew, in numbers of 5 digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(clock.rounded(document)) + "\n", "utf-8")


def main(arguments=None):
    """The command line; returns the exit status: 1 if a part failed."""
    options = options_of(arguments)
    document = {
        "schema": 1,
        "date": date.today().isoformat(),
        "quick": options.quick,
        "machine": device.described(),
        "chip": options.figures,
        "parts": {},
    }
    for name in options.only or PARTS:
        found = measured(name, options)
        kept = compact(found) if options.compact else found
        document["parts"][name] = kept
        write(document, options.out)
        failed = found.get("error", "done")
        print(f"{name:12} {found['wall_seconds']:7.1f} s  {failed}", flush=True)
    print(f"written to {options.out}")
    return int(any("error" in p for p in document["parts"].values()))


if __name__ == "__main__":
    sys.exit(main())
