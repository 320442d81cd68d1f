"""Builds the page: HTML from the stored notebooks, nothing executed."""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(root=ROOT):
    """Build the book below `root`, warnings being errors.

    A failed build is removed: Sphinx would not repeat the warnings of pages
    that it has read once, and the next build would pass.

    root     the folder of _config.yml and _toc.yml
    returns  the path of the first page, or None after a failure
    """
    program = str(Path(sys.executable).parent / "jupyter-book")
    command = [program, "build", ".", "-W", "--keep-going", "-n", "-q"]
    command += ["--all"] if restyled(root) else []
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode or not (root / "_build/html/index.html").exists():
        print(done.stdout + done.stderr, file=sys.stderr)
        shutil.rmtree(root / "_build", ignore_errors=True)
        return None
    return root / "_build/html/index.html"


def restyled(root):
    """Whether the styles changed: Sphinx copies them only with a page."""
    shown = root / "_build/html/_static"
    return shown.exists() and any(
        not (shown / path.name).exists()
        or (shown / path.name).read_bytes() != path.read_bytes()
        for path in (root / "book/style").iterdir()
    )


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.page", description=__doc__
    )
    parser.parse_args(arguments)
    print("building the page into _build/html (about 15 seconds) ...")
    sys.stdout.flush()
    start = time.monotonic()
    first = build()
    if first is None:
        print("page: the build failed, see above", file=sys.stderr)
        return 1
    print(f"done in {time.monotonic() - start:.0f} s; open {first.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
