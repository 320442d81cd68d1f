"""Classes whose students answer differently, for whatever measures grading."""

import shutil
from pathlib import Path

import nbformat
import numpy as np

from shardlab.authoring import kit

__all__ = ["course", "hand_in", "largest"]

ROOT = Path(__file__).resolve().parents[1]
# Shares of the answers that are right, wrong, and not given.
SHARES = (0.7, 0.25, 0.05)


def largest():
    """The name of the set with the most checks."""
    paths = (ROOT / "solutions").glob("*/*.ipynb")
    return max(sorted(p.stem for p in paths), key=lambda s: len(_checks(s)))


def _checks(stem):
    """The names of a set's checks."""
    _, questions = kit.read_set(ROOT / f"solutions/{stem}/{stem}.ipynb")
    return [name for found in questions.values() for name in found.checks]


def course(root, stem):
    """Make a course of one set below `root`; returns `root`."""
    shutil.copytree(ROOT / f"solutions/{stem}", root / f"solutions/{stem}")
    return root


def hand_in(folder, stem, students):
    """Let a class hand in a set, with answers from the book's own lists.

    folder    one folder a student is made in it
    stem      the name of the set
    students  how many; the first of a larger class are those of a smaller one
    """
    released = ROOT / f"exercises/{stem}/{stem}.ipynb"
    _, questions = kit.read_set(ROOT / f"solutions/{stem}/{stem}.ipynb")
    lists = kit.read_answers(ROOT / f"book/exercises/{stem}.answers.py")
    choices = {name: _choices(q, lists) for name, q in questions.items()}
    for number in range(students):
        draw = np.random.default_rng([7, number])
        notebook = nbformat.read(released, as_version=4)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in choices:
                texts = choices[name][draw.choice(3, p=SHARES)]
                cell.source = draw.choice(texts) if texts else cell.source
        path = folder / f"student{number:04}" / f"{stem}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)


def _choices(question, lists):
    """Texts that are right, that are wrong, and that are none."""
    mine = [a for a in lists if a.question == question.name]
    right = [question.solution]
    right += [a.text for a in mine if a.verdict == "right"]
    wrong = [a.text for a in mine if a.verdict in ("wrong", "by-heart")]
    return right, wrong, []
