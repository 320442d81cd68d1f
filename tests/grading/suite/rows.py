"""What a row of the suite is, and how it becomes a submitted file."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from shardlab.grading import judge
from tests.grading.suite import course

# An answer to each question that is wrong, and runs.
WRONG = {
    "copies": "copies = 5",
    "local_bytes": "def local_bytes(I, J, X, Y):\n    return 1",
    "crossings": 'crossings = "D"',
    "gather": "def gather(block):\n    return jnp.tile(block, (8, 1))",
    "mean_gradient": "def mean_gradient(g):\n    return g[0, : g.size // 8]",
    "place": "def place(x):\n    return jnp.asarray(x)",
}


@dataclass(frozen=True)
class Row:
    """A submission, and what it deserves.

    name     a few words
    points   the score deserved; None when the file must be refused
    start    the answers that it begins with: "right", "wrong", "blank", or
             "simple", which is right in SIMPLE and blank in the others
    answers  dict: question -> text that stands there instead
    before   code cells before all others
    after    code cells after all others
    change   function of the notebook's JSON that changes it, or returns
             another, or the bytes of the file; or None
    files    function of (folder, bytes) that writes the files itself, or None
    refused  words of the reason for which a file is not taken
    absent   words that must not be in the autograded notebook, outside code
    present  words that must be there
    seconds  how long a cell, and all of them, may take
    policy   what an instructor should know of the points, if anything
    note     words of what the instructor is told of it, if anything
    """

    name: str
    points: float | None
    start: str = "wrong"
    answers: dict = field(default_factory=dict)
    before: tuple = ()
    after: tuple = ()
    change: Callable | None = None
    files: Callable | None = None
    refused: str = ""
    absent: tuple = ()
    present: tuple = ()
    seconds: tuple = (8, 60)
    policy: str = ""
    note: str = ""


# Questions whose answers are no programs: they are graded in half the time.
SIMPLE = ("copies", "local_bytes", "crossings", "place")


def without(*questions):
    """The points of a submission that is right but for these questions."""
    return course.ALL - of(*questions)


def simple_without(*questions):
    """The points of one that is right in SIMPLE but for these questions."""
    return of(*SIMPLE) - of(*questions)


def of(*questions):
    """The points of these questions."""
    return sum(course.POINTS[name] for name in questions)


def cell(text, kind="code", **metadata):
    """A cell's JSON."""
    made = {"cell_type": kind, "metadata": metadata, "source": text}
    if kind == "code":
        made |= {"outputs": [], "execution_count": None}
    return made


def name_of(each):
    """The grade_id of a cell's JSON, or ""."""
    mark = each["metadata"].get("nbgrader")
    return mark.get("grade_id", "") if isinstance(mark, dict) else ""


def named(notebook, name):
    """The first cell of a notebook's JSON with this grade_id."""
    return next(c for c in notebook["cells"] if name_of(c) == name)


def notebook(row, at):
    """The submitted notebook, as its JSON; bytes where a row makes these."""
    made = course.fresh(at)
    chosen = {"right": at.right, "wrong": WRONG, "blank": {}}
    chosen["simple"] = {name: at.right[name] for name in SIMPLE}
    chosen = chosen[row.start]
    for name, text in {**chosen, **row.answers}.items():
        named(made, name)["source"] = placed(text, at)
    cells = [cell(placed(text, at)) for text in row.before]
    cells += made["cells"]
    made["cells"] = cells + [cell(placed(text, at)) for text in row.after]
    for number, each in enumerate(made["cells"]):
        each["id"] = f"cell-{number}"
    changed = row.change(made) if row.change else None
    return made if changed is None else changed


def placed(text, at):
    """A student's text, with the places that it attacks filled in."""
    text = text.replace("@ROOT@", str(at.root))
    return text.replace("@NOW@", str(time.time()))


def data(row, at):
    """The bytes of the submitted file."""
    made = notebook(row, at)
    return made if isinstance(made, bytes) else json.dumps(made).encode()


# How much longer the second try of a row may take: by then the deadline is no
# part of what the row says, and a machine that others keep busy is slow.
PATIENCE = 10


def graded(row, at, who, stood=()):
    """Grade a row; returns course.Given with all that is wrong about it.

    One that met a deadline and lacks something is graded again, as a batch
    does, with more time. What is too much, points or anything left behind, is
    a fault in any try.

    stood   verdicts of an earlier try, as `judge.grade` takes them
    """
    given, lacks = _tried(row, at, who, 1, stood)
    faults, first = given.faults, given.outcome
    if lacks and first and first.timed_out and given.score <= (row.points or 0):
        again = f"{who}-again"
        given, lacks = _tried(row, at, again, PATIENCE, first.verdicts)
        faults = faults + given.faults
    return given._replace(faults=faults + lacks)


def _tried(row, at, who, patience, stood):
    """One try: course.Given, and sentences on what the row lacks."""

    def write(folder):
        content = data(row, at)
        if row.files:
            row.files(folder, content, at.root)
        else:
            (folder / f"{course.STEM}.ipynb").write_bytes(content)

    seconds = judge.Seconds(*(patience * n for n in row.seconds))
    given = course.grade(at, who, write, seconds, stood=stood)
    said = shown(given.notebook)
    shows = [f"it shows {word!r}" for word in row.absent if word in said]
    given = given._replace(faults=given.faults + shows)
    lacks = [f"no {word!r} in it" for word in row.present if word not in said]
    if row.note not in " ".join(given.outcome.notes if given.outcome else ()):
        lacks.append(f"no note of {row.note!r}")
    return given, lacks + unlike(row, given.score, given.refused)


def shown(notebook):
    """All of a notebook but the code, as text."""
    cells = [
        {**each, "source": each["source"] * (each["cell_type"] != "code")}
        for each in (notebook or {"cells": []})["cells"]
    ]
    return json.dumps({**(notebook or {}), "cells": cells}, ensure_ascii=False)


def unlike(row, score, refused):
    """How a score, or the reason of a refusal, is not what a row deserves."""
    faults = []
    if score != row.points:
        faults.append(f"{score} points, and {row.points} deserved")
    if row.refused not in refused:
        faults.append(f"refused for {refused!r}, not {row.refused!r}")
    return faults
