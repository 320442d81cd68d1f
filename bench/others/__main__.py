"""The command line of bench.others: what it does, its package says."""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bench.others

PACKAGES = {"equinox": "equinox", "flax": "flax"}


def commit(folder):
    """The commit of a clone, short, and its day."""
    asked = ["git", "-C", folder, "log", "-1", "--format=%h %cs"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main(arguments=None):
    """The command line; returns the exit status."""
    about = bench.others.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.others", description=about)
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    for name in ("flax", "maxtext", "jax"):
        asked.add_argument(f"--{name}", required=True, help="a clone of it")
    options = asked.parse_args(arguments)
    folders = {
        "jax": options.jax,
        "equinox": ".",
        "flax": options.flax,
        "maxtext": options.maxtext,
    }
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for name, folder in folders.items():
            out = str(Path(work, f"{name}.json"))
            program = [sys.executable, "-m", "bench.others.programs"]
            subprocess.run([*program, name, folder, out], check=True)
            rows += json.loads(Path(out).read_text(encoding="utf-8"))
    packages = ("jax", *PACKAGES)
    found = {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in packages},
        "read": {n: commit(f) for n, f in folders.items() if n != "equinox"},
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
