"""Builds the page: HTML from the stored notebooks, nothing executed.

Nothing here, and nothing that Sphinx loads, needs JAX or JupyterLab: an
environment with requirements-page.txt alone is enough.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACE = ("style", "templates", "extensions")  # folders that every page shows
# All that a page is made of: these files, and what lies in these folders.
FILES = ("_config.yml", "_toc.yml", "requirements.txt", "requirements-page.txt")
FOLDERS = ("book", "chapters", "exercises", "shardlab", "tools")
NO_SOURCE = {"__pycache__", ".ipynb_checkpoints"}
MARK = "_build/html/.face"  # of a page that was built without a warning
WHOLE = "_build/html/.whole"  # what it was made of, and what was made
KEPT = "work/page"
# Jupyter Book's own command has no option for several processes. This grammar
# of addresses takes a second to load, for a check that is not made. The garbage
# collector would look again and again at millions of nodes that all live, a
# quarter of the time, to save 25 MB of 285. Sphinx gives neighbours to one
# process, and all chapters would be the work of one; and it writes with one
# process less than it is told.
BOOK = """
import gc
import sys
from pathlib import Path
gc.disable()
sys.modules["rfc3987_syntax"] = None
import sphinx.builders
from jupyter_book.sphinx import build_sphinx
def deal(documents, processes):
    hands = -(-len(documents) // 5)
    return [documents[n::hands] for n in range(hands)]
sphinx.builders.make_chunks = deal
root = Path.cwd()
done = build_sphinx(
    root,
    root / "_build/html",
    noconfig=True,
    path_config=root / "_config.yml",
    confoverrides={
        "external_toc_path": (root / "_toc.yml").as_posix(),
        "latex_individualpages": False,
        "nitpicky": True,
    },
    force_all="--all" in sys.argv,
    warningiserror=True,
    keep_going=True,
    quiet=True,
    jobs=int(sys.argv[1]),
)
sys.exit(1 if done else 0)
"""


def build(root=ROOT):
    """Build the book below `root`, warnings being errors.

    A failed build is removed: Sphinx would not repeat the warnings of pages
    that it has read once, and the next build would pass. The last page that
    was built without a warning comes back in its place.

    root     the folder of _config.yml and _toc.yml
    returns  the path of the first page, or None after a failure
    """
    sources = everything(root)
    if is_whole(root, sources):
        return root / "_build/html/index.html"
    keep(root)
    command = [sys.executable, "-c", BOOK, str((os.cpu_count() or 1) + 1)]
    command += ["--all"] if restyled(root) else []
    # From here on the pages are nobody's. A build that is killed leaves half of
    # one, which Sphinx takes for done: without a mark, all are written again.
    for mark in (MARK, WHOLE):
        (root / mark).unlink(missing_ok=True)
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    if done.returncode or not (root / "_build/html/index.html").exists():
        print(done.stdout + done.stderr, file=sys.stderr)
        shutil.rmtree(root / "_build", ignore_errors=True)
        if (root / KEPT).exists():
            # Without the marks: the next build writes every page.
            marks = shutil.ignore_patterns(Path(MARK).name, Path(WHOLE).name)
            shutil.copytree(root / KEPT, root / "_build/html", ignore=marks)
        return None
    (root / MARK).write_text(digest(root))
    (root / WHOLE).write_text(sources + pages(root))
    return root / "_build/html/index.html"


def everything(root):
    """What the pages are made of, as hexadecimal digits."""
    found = hashlib.sha256(sys.version.encode())
    paths = [root / name for name in FILES]
    for folder in FOLDERS:
        paths += (root / folder).rglob("*")
    return _digits(root, paths, found)


def pages(root):
    """The names and sizes of all that was built, as hexadecimal digits."""
    found = hashlib.sha256()
    for path in sorted((root / "_build/html").rglob("*")):
        if path.is_file() and path != root / WHOLE:
            found.update(f"{path} {path.stat().st_size}\n".encode())
    return found.hexdigest()


def is_whole(root, sources):
    """Whether the pages are those that these sources make.

    sources  what `everything` returns
    """
    mark = root / WHOLE
    return mark.exists() and mark.read_text() == sources + pages(root)


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
    return _digits(root, paths, found)


def _digits(root, paths, found):
    """Digits of the names and the bytes of files, after what `found` has."""
    for path in sorted(paths):
        if path.is_file() and not NO_SOURCE & set(path.parts):
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
    print("building the page into _build/html (a quarter of a minute) ...")
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
