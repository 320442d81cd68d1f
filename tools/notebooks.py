"""Makes the notebooks from the text: chapters, solutions, exercises.

    book/chapters/NN_stem.md   ->  chapters/NN_stem.ipynb
    book/exercises/NN_stem.md  ->  solutions/NN_stem/NN_stem.ipynb
                               ->  exercises/NN_stem/NN_stem.ipynb

A notebook is executed only when its code, the shardlab modules that it
imports or the pinned packages changed; a change of prose keeps the outputs.
Beside the chapters lie the forms that their pictures take on a phone.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import nbformat

from tools import atomic, execution, phone, release, style, text

ROOT = Path(__file__).resolve().parent.parent


def sources(chapter=None):
    """The pairs (text, notebook) to make, as paths below the root.

    chapter  a number such as "01", or None for all
    raises   ValueError when no text carries that number
    """
    pairs = [
        (path, ROOT / "chapters" / f"{path.stem}.ipynb")
        for path in sorted((ROOT / "book/chapters").glob("*.md"))
    ] + [
        (path, ROOT / "solutions" / path.stem / f"{path.stem}.ipynb")
        for path in sorted((ROOT / "book/exercises").glob("*.md"))
    ]
    if chapter is None:
        return pairs
    chosen = [pair for pair in pairs if pair[0].name.startswith(chapter + "_")]
    if not chosen:
        numbers = sorted({path.name[:2] for path, _ in pairs})
        raise ValueError(
            f"CHAPTER must be one of {', '.join(numbers)}; got {chapter!r}"
        )
    return chosen


def stored(path):
    """The notebook that lies at `path`, or None."""
    return nbformat.read(path, as_version=4) if path.exists() else None


def make(source, target, execute=True):
    """Bring one notebook up to date with its text.

    execute  run it when needed; if False, outputs that no longer belong to
             the code are dropped
    returns  "unchanged", "written" or "executed"
    """
    fresh = text.notebook(source)
    old = stored(target)
    if text.same_run(fresh, old):
        text.take_outputs(fresh, old)
    elif execute:
        print(f"executing {target.relative_to(ROOT)} …", flush=True)
        execution.run(fresh, target.parent)
        atomic.write(target, text.dump(fresh))
        return "executed"
    return "written" if atomic.write(target, text.dump(fresh)) else "unchanged"


def advice(source, target):
    """What the author of a chapter should look at, in sentences."""
    if source.parent.name != "chapters":
        return []
    return style.faults(stored(target), style.CHAPTER_RULES + style.ADVICE)


def stale(pairs):
    """One sentence for each notebook that its text would not generate."""
    complaints = []
    for source, target in pairs:
        fresh, old = text.notebook(source), stored(target)
        if not text.same_run(fresh, old):
            complaints.append(
                f"{target.relative_to(ROOT)} was not executed "
                f"as {source.relative_to(ROOT)} stands"
            )
            continue
        text.take_outputs(fresh, old)
        if text.dump(fresh) != target.read_text(encoding="utf-8"):
            complaints.append(
                f"{target.relative_to(ROOT)} is not what "
                f"{source.relative_to(ROOT)} generates"
            )
        if source.parent.name == "chapters" and phone.stale(target):
            complaints.append(
                f"{phone.target_of(target).relative_to(ROOT)} has other forms "
                f"than those of the pictures of {target.relative_to(ROOT)}"
            )
    return complaints + orphans()


def orphans():
    """One sentence for each notebook that no text stands behind."""
    wanted = {target for _, target in sources()}
    wanted |= {
        ROOT / "exercises" / path.stem / f"{path.stem}.ipynb"
        for path in (ROOT / "book/exercises").glob("*.md")
    }
    found = {
        path
        for folder in ("chapters", "solutions", "exercises")
        for path in (ROOT / folder).rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    }
    wanted |= {phone.target_of(target) for target in wanted}
    found |= set((ROOT / "chapters/phone").glob("*.json"))
    return [
        f"{path.relative_to(ROOT)} has no text in book/"
        for path in sorted(found - wanted)
    ]


def make_exercises(folder, pairs):
    """Let nbgrader write the students' notebooks of `pairs` into `folder`."""
    stems = [t.stem for s, t in pairs if s.parent.name == "exercises"]
    return release.generate(ROOT / "solutions", folder, stems)


def stale_exercises(pairs):
    """One sentence for each exercise that nbgrader would write differently."""
    with tempfile.TemporaryDirectory() as folder:
        made = make_exercises(Path(folder), pairs)
        return [
            f"exercises/{path.stem}/{path.name} is not what "
            f"solutions/{path.stem}/{path.name} generates"
            for path in made
            if not (ROOT / "exercises" / path.stem / path.name).exists()
            or (ROOT / "exercises" / path.stem / path.name).read_bytes()
            != path.read_bytes()
        ]


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--chapter", help="only this chapter, such as 01")
    parser.add_argument(
        "--no-execute", action="store_true", help="write sources, run nothing"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if stale"
    )
    options = parser.parse_args(arguments)
    try:
        pairs = sources(options.chapter)
        if options.check:
            complaints = stale(pairs) or stale_exercises(pairs)
            for line in complaints:
                print(f"{line}; run: make notebooks", file=sys.stderr)
            return 1 if complaints else 0
        for source, target in pairs:
            outcome = make(source, target, execute=not options.no_execute)
            print(f"{target.relative_to(ROOT)}: {outcome}")
            if source.parent.name == "chapters":
                phone.keep(target)
            for line in advice(source, target):
                print(f"    {line}")
        if not options.no_execute:
            for path in make_exercises(ROOT / "exercises", pairs):
                print(f"{path.relative_to(ROOT)}: up to date")
    except (ValueError, execution.CellFailed) as error:
        print(f"notebooks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
