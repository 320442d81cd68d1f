"""Builds the page: HTML from the stored notebooks, nothing executed."""

import argparse
import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACE = ("style", "templates", "extensions")  # folders that every page shows
MARK = "_build/html/.face"  # of a page that was built without a warning
KEPT = "work/page"


def build(root=ROOT):
    """Build the book below `root`, warnings being errors.

    A failed build is removed: Sphinx would not repeat the warnings of pages
    that it has read once, and the next build would pass. The last page that
    was built without a warning comes back in its place.

    root     the folder of _config.yml and _toc.yml
    returns  the path of the first page, or None after a failure
    """
    keep(root)
    program = str(Path(sys.executable).parent / "jupyter-book")
    command = [program, "build", ".", "-W", "--keep-going", "-n", "-q"]
    command += ["--all"] if restyled(root) else []
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode or not (root / "_build/html/index.html").exists():
        print(done.stdout + done.stderr, file=sys.stderr)
        shutil.rmtree(root / "_build", ignore_errors=True)
        if (root / KEPT).exists():
            shutil.copytree(root / KEPT, root / "_build/html")
            (root / MARK).unlink()  # the next build writes every page
        return None
    (root / MARK).write_text(digest(root))
    return root / "_build/html/index.html"


def keep(root):
    """Copy the last good page, if there is one, to where no build writes."""
    if (root / MARK).exists():
        shutil.rmtree(root / KEPT, ignore_errors=True)
        shutil.copytree(root / "_build/html", root / KEPT)


def digest(root):
    """What all pages depend on, as hexadecimal digits."""
    found = hashlib.sha256()
    paths = [root / "_config.yml"]
    for folder in FACE:
        paths += (root / "book" / folder).rglob("*")
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(path.relative_to(root).as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def restyled(root):
    """Whether there is a page that an older style made.

    Sphinx writes a page again when its text has changed, and only then.
    """
    if not (root / "_build/html").exists():
        return False
    mark = root / MARK
    return not mark.exists() or mark.read_text() != digest(root)


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
        kept = (ROOT / "_build/html").exists()
        last = "; _build/html holds the last good page" if kept else ""
        print(f"page: the build failed, see above{last}", file=sys.stderr)
        return 1
    print(f"done in {time.monotonic() - start:.0f} s; open {first.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
