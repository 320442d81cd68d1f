"""Copies chapters and exercises to work/, and never over a student's file."""

import argparse
import shutil
import sys
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

ROOT = Path(__file__).resolve().parent.parent
SIGNATURES = ".trusted"  # a folder in work/, which tools/jupyterlab.py names


def offered(root=ROOT):
    """What a student can have, by place below work/.

    returns  dict: relative path in work/ -> generated notebook
    """
    chapters = {
        Path("chapters") / path.name: path
        for path in sorted((root / "chapters").glob("*.ipynb"))
    }
    exercises = {
        path.relative_to(root / "exercises"): path
        for path in sorted((root / "exercises").glob("*/*.ipynb"))
    }
    return {**chapters, **exercises}


def copy_missing(root=ROOT):
    """Copy what is missing below work/; returns the paths copied."""
    copied = []
    for place, source in offered(root).items():
        target = root / "work" / place
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            copied.append(place)
    return copied


def trust(root=ROOT):
    """Let JupyterLab show the pictures of chapters that nobody has changed.

    It shows no picture and plays no film of a notebook that came from
    elsewhere, until someone vouches for it: here, where the copy is ours byte
    for byte.
    """
    signatures = root / "work" / SIGNATURES
    signatures.mkdir(parents=True, exist_ok=True)
    notary = NotebookNotary(data_dir=str(signatures))
    for place, source in offered(root).items():
        copied = root / "work" / place
        if copied.exists() and copied.read_bytes() == source.read_bytes():
            notary.sign(nbformat.read(copied, as_version=4))


def reset(number, root=ROOT, now=None):
    """Give a fresh copy of exercise set `number`; keep the old one beside it.

    number   the set's number, such as "01"
    now      the time to name the old copy with; datetime.now() if None
    returns  (fresh copy, kept copy), paths; the second is None if there was
             nothing to keep
    raises   ValueError when there is no such set
    """
    sets = {
        place.name[:2]: place
        for place in offered(root)
        if place.parts[0] != "chapters"
    }
    if number not in sets:
        raise ValueError(
            f"SET must be one of {', '.join(sets)}; got {number!r}"
        )
    target = root / "work" / sets[number]
    kept = None
    if target.exists():
        kept = unused(target, now or datetime.now())
        target.rename(kept)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(offered(root)[sets[number]], target)
    return target, kept


def unused(path, now):
    """A name beside `path` that carries the time and is not taken."""
    base = f"{path.stem}.before-{now:%Y-%m-%d-%H%M%S}"
    candidate, n = path.with_name(f"{base}{path.suffix}"), 2
    while candidate.exists():
        candidate = path.with_name(f"{base}-{n}{path.suffix}")
        n += 1
    return candidate


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.work", description=__doc__
    )
    parser.add_argument("--reset", metavar="SET", help="such as 01")
    options = parser.parse_args(arguments)
    if options.reset is None:
        for place in copy_missing():
            print(f"copied work/{place}")
        trust()
        return 0
    try:
        fresh, kept = reset(options.reset)
    except ValueError as error:
        print(f"reset: {error}", file=sys.stderr)
        return 1
    if kept:
        print(f"your answers are kept in {kept.relative_to(ROOT)}")
    print(f"{fresh.relative_to(ROOT)} is fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
