"""Time, processor and memory of every notebook, executed all at once.

As many run at a time as there are cores, each in a fresh kernel. Then, how long
a kernel takes to start and a chapter's imports to be there.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measuring import row, timed

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3
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


def rows():
    """Yield a row for each notebook, one for all, and those of the start."""
    cores, paths = os.cpu_count(), notebooks()
    start = time.perf_counter()
    whole = 0
    with ThreadPoolExecutor(cores) as pool:
        for path, took in zip(paths, pool.map(executed, paths), strict=True):
            whole += took["cpu_seconds"] if took else 0
            yield notebook(path, took)
    wall = time.perf_counter() - start
    yield row(
        f"notebooks: all {len(paths)}, {cores} at a time",
        [wall],
        [whole],
        note=(
            f"{wall * cores / whole:.2f} times their seconds of the processor "
            f"by {cores} cores; goal {SLOWER}"
        ),
    )
    for name, code in IMPORTS.items():
        yield imported(name, code)


def notebook(path, took):
    """The row of one notebook.

    took     what `executed` returned
    """
    folder = "chapters" if path.parent.name == "chapters" else "solutions"
    name = f"notebooks: {folder}/{path.stem}"
    if took is None:
        return row(name, [0], [0], note="a cell failed: not measured")
    seconds, spent = took["seconds"], took["cpu_seconds"]
    over = [f"over {SECONDS} s"] if min(seconds, spent) > SECONDS else []
    over += ["over 1 GB"] if took["peak_bytes"] > BYTES else []
    several = took["processes"]
    over += [f"{several} processes together"] if several > 1 else []
    peak, note = took["peak_bytes"], ", ".join(over)
    return row(name, [seconds], [spent], peak, note, goal=SECONDS)


def imported(name, code):
    """How long a fresh Python takes to import something."""
    command = [sys.executable, "-c", code]
    runs = [timed(lambda: subprocess.run(command)) for _ in range(RUNS)]
    return row(f"start: {name}", *zip(*runs, strict=True))
