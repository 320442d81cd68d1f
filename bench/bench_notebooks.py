"""Time, processor and memory of every notebook, executed all at once.

As many run at a time as there are cores, each in a fresh kernel, and all of
them again in further turns. Then, how long
a kernel takes to start and a chapter's imports to be there.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from bench.measuring import row, timed

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3
TURNS = 3  # of all notebooks
SECONDS, BYTES = 30, 10**9  # what a notebook may take
SLOWER = 1.25  # than its seconds of the processor, dealt to all cores
IMPORTS = {
    "Python": "pass",
    "NumPy": "import numpy",
    "JAX": "import jax",
    "JAX, eight devices": "import jax; jax.devices()",
    "Matplotlib": "import matplotlib.pyplot",
    "all of shardlab that chapter 9 imports": (
        "from shardlab import agreement, cost, count, plot"
    ),
    "a kernel": "import ipykernel.kernelapp",
}


def notebooks():
    """The chapters and the solutions."""
    return [
        *sorted((ROOT / "chapters").glob("*.ipynb")),
        *sorted((ROOT / "solutions").glob("*/*.ipynb")),
    ]


def executed(path):
    """What `bench.run_notebook` says of a notebook; None where a cell fails."""
    command = [sys.executable, "-m", "bench.run_notebook", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def turn(paths, cores):
    """Execute all notebooks; returns what each took, and seconds in all."""
    start = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        found = list(pool.map(executed, paths))
    return found, time.perf_counter() - start


def rows():
    """Yield a row for each notebook, one for all, and those of the start."""
    cores, paths = os.cpu_count(), notebooks()
    turns = [turn(paths, cores) for _ in range(TURNS)]
    for path, *took in zip(paths, *(found for found, _ in turns), strict=True):
        yield notebook(path, took)
    wall = [seconds for _, seconds in turns]
    whole = [
        sum(took["cpu_seconds"] for took in found if took) for found, _ in turns
    ]
    times = median(
        seconds * cores / cpu for seconds, cpu in zip(wall, whole, strict=True)
    )
    yield row(
        f"notebooks: all {len(paths)}, {cores} at a time",
        wall,
        whole,
        note=(
            f"{times:.2f} times their seconds of the processor "
            f"by {cores} cores; goal {SLOWER}"
        ),
    )
    for name, code in IMPORTS.items():
        yield imported(name, code)


def notebook(path, turns):
    """The row of one notebook.

    turns    list of what `executed` returned
    """
    folder = "chapters" if path.parent.name == "chapters" else "solutions"
    name = f"notebooks: {folder}/{path.stem}"
    if None in turns:
        return row(name, [0], [0], note="a cell failed: not measured")
    wall = [took["seconds"] for took in turns]
    cpu = [took["cpu_seconds"] for took in turns]
    peak = max(took["peak_bytes"] for took in turns)
    several = max(took["processes"] for took in turns)
    late = min(median(wall), median(cpu)) > SECONDS
    over = [f"over {SECONDS} s"] if late else []
    over += ["over 1 GB"] if peak > BYTES else []
    over += [f"{several} processes together"] if several > 1 else []
    return row(name, wall, cpu, peak, ", ".join(over), goal=SECONDS)


def imported(name, code):
    """How long a fresh Python takes to import something."""
    command = [sys.executable, "-c", code]
    runs = [timed(lambda: subprocess.run(command)) for _ in range(RUNS)]
    return row(f"start: {name}", *zip(*runs, strict=True))
