"""Attacks by the notebook itself: cells, types, names, tags, metadata."""

import json

from tests.grading.suite.course import STEM
from tests.grading.suite.rows import (
    Row,
    cell,
    name_of,
    named,
    of,
    simple_without,
)

CHECKS = (
    "copies_check",
    "local_bytes_check",
    "crossings_check",
    "gather_check",
    "mean_gradient_check",
    "place_check",
)


def checks(notebook):
    """The check cells of a notebook's JSON."""
    return [c for c in notebook["cells"] if name_of(c) in CHECKS]


def marks(**changes):
    """A change of nbgrader's metadata of all checks."""

    def change(notebook):
        for check in checks(notebook):
            check["metadata"]["nbgrader"] |= changes

    return change


def metadata(**changes):
    """A change of the metadata of all checks."""

    def change(notebook):
        for each in checks(notebook):
            each["metadata"] |= changes

    return change


def tags(*names):
    """The same tags on all checks."""
    return metadata(tags=list(names))


def sources(text):
    """Another text in all checks."""

    def change(notebook):
        for check in checks(notebook):
            check["source"] = text

    return change


def deleted(notebook):
    """No checks."""
    notebook["cells"] = [
        c for c in notebook["cells"] if name_of(c) not in CHECKS
    ]


def renamed(notebook):
    """Checks under names of their own."""
    for check in checks(notebook):
        check["metadata"]["nbgrader"]["grade_id"] += "_2"


def swapped(notebook):
    """Each check under the name of an answer cell, and the other way round."""
    for check in CHECKS:
        answer = check.removesuffix("_check")
        one, other = named(notebook, check), named(notebook, answer)
        one["metadata"]["nbgrader"]["grade_id"] = answer
        other["metadata"]["nbgrader"]["grade_id"] = check


def one_name(notebook):
    """All cells under the name of one answer."""
    for each in notebook["cells"]:
        if name_of(each):
            each["metadata"]["nbgrader"]["grade_id"] = "copies"


def long_name(notebook):
    """An answer cell with a name that fills a table."""
    mark = {"grade_id": "x" * 100_000, "solution": True}
    notebook["cells"].append(cell("y = 1", nbgrader=mark))


def one_identifier(notebook):
    """All cells with the identifier of the first."""
    for each in notebook["cells"]:
        each["id"] = "cell-0"


def typed(kind):
    """All checks as cells of another type."""

    def change(notebook):
        for check in checks(notebook):
            check["cell_type"] = kind
            check.pop("outputs")
            check.pop("execution_count")

    return change


def on_top(notebook):
    """Checks before everything else."""
    found = checks(notebook)
    rest = [c for c in notebook["cells"] if name_of(c) not in CHECKS]
    notebook["cells"] = found + rest


def forged(notebook):
    """Outputs that say that all is passed, and that are active."""
    passed = [
        {"output_type": "stream", "name": "stdout", "text": "passed"},
        {
            "output_type": "execute_result",
            "data": {"text/plain": "64", "text/html": "<script>1</script>"},
            "metadata": {},
            "execution_count": 1,
        },
    ]
    for each in notebook["cells"]:
        if each["cell_type"] == "code":
            each["outputs"], each["execution_count"] = passed, 7


def kernel(notebook):
    """A kernel that would be another program."""
    notebook["metadata"]["kernelspec"] = {
        "name": "bash",
        "language": "bash",
        "display_name": "Bash",
        "argv": ["sh", "-c", "touch /tmp/canary"],
    }


def odd_marks(notebook):
    """nbgrader's metadata of every kind that it is not."""
    odd = [None, 7, [], "x", {"grade_id": []}, {"grade_id": {"a": 1}}, True]
    for number, check in enumerate(checks(notebook)):
        check["metadata"]["nbgrader"] = odd[number % len(odd)]
    for value in odd:
        notebook["cells"].append(cell("pass", nbgrader=value))


def version(number):
    """Another version of nbgrader's metadata on all cells."""

    def change(notebook):
        for each in notebook["cells"]:
            if name_of(each):
                each["metadata"]["nbgrader"]["schema_version"] = number

    return change


def minor(number):
    """Another minor version of the format."""

    def change(notebook):
        notebook["nbformat_minor"] = number

    return change


def widgets(notebook):
    """Widgets' state, and hooks of other programs, in the metadata."""
    notebook["metadata"] |= {
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
        "celltoolbar": "<script>",
        "title": "<img src=x onerror=alert(1)>",
        "jupytext": {"formats": "ipynb,/canary.py:percent"},
        "authors": [{"name": "<script>alert(1)</script>"}],
    }


def attachments(notebook):
    """Pictures in markdown cells that are pages."""
    for each in notebook["cells"]:
        if each["cell_type"] == "markdown" and not name_of(each):
            each["attachments"] = {"a.svg": {"image/svg+xml": "<svg onload=1>"}}
            each["source"] += (
                "\n![x](attachment:a.svg)<script>alert(1)</script>"
            )


def twins(notebook):
    """Cells of one identifier, and identifiers that are paths."""
    for each in notebook["cells"]:
        each["id"] = "../../x"


def copied_checks(notebook):
    """The text of checks in cells of the student's, under other names."""
    for check in checks(notebook):
        twin = cell(check["source"])
        notebook["cells"].insert(0, twin)


def many(number):
    """So many cells more, each of which prints."""

    def change(notebook):
        notebook["cells"] += [cell("print('x' * 30_000)")] * number

    return change


def long(notebook):
    """An answer of 150,000 characters."""
    named(notebook, "copies")["source"] = "copies = 2\n#" + "x" * 150_000


def nested(notebook):
    """Metadata nested 500 deep."""
    inner = {}
    for _ in range(500):
        inner = {"a": inner}
    notebook["metadata"]["deep"] = inner


def as_bytes(old, new):
    """Other bytes in the file."""

    def change(notebook):
        return json.dumps(notebook).replace(old, new, 1).encode()

    return change


def twice(notebook):
    """An object in which the cells stand twice."""
    return json.dumps(notebook)[:-1].encode() + b', "cells": []}'


def changed(name, change, points=0, start="wrong", **more):
    """A change of the notebook; answers are wrong unless said otherwise."""
    return Row(name, points, start, change=change, **more)


MARKERS = "### BEGIN HIDDEN TESTS\ncopies = 2\n### BEGIN SOLUTION\n"

ROWS = (
    changed("checks overwritten", sources("pass")),
    changed("checks that give points", sources("64")),
    changed("checks that hang", sources("while True: pass")),
    changed("checks that call the shell", sources("!touch @ROOT@/canary")),
    changed("no checks", deleted),
    changed("a thousand points", marks(points=1000)),
    changed("negative points", marks(points=-5)),
    changed("points that are no number", marks(points="nan")),
    changed("checks under other names", renamed),
    changed("checks and answers swapped", swapped),
    changed("one name for all cells", one_name),
    changed("checks that are not graded", marks(grade=False, solution=True)),
    changed("checks that are answers too", marks(solution=True)),
    changed("checks that are tasks", marks(task=True, grade=False)),
    changed("checks unlocked", marks(locked=False, checksum="0" * 32)),
    changed("skip-execution", tags("skip-execution")),
    changed("raises-exception", tags("raises-exception")),
    changed("removed from view", tags("remove_cell", "remove-output", "hide")),
    changed("tags that are no list", metadata(tags="skip-execution")),
    changed("checks as raw text", typed("raw")),
    changed("checks as markdown", typed("markdown")),
    changed("checks before all", on_top),
    changed("outputs forged", forged, absent=("<script>1",)),
    changed("another kernel", kernel),
    changed("marks of other types", odd_marks),
    changed("an old version of the marks", version(1)),
    changed("marks of version 2", version(2)),
    changed("marks of version 99", version(99)),
    changed("marks of no version", version(None)),
    changed("minor version 99", minor(99)),
    changed("minor version -1", minor(-1)),
    changed("widgets and other metadata", widgets, absent=("onerror",)),
    changed("attachments", attachments, absent=("onload", "alert(1)")),
    changed("identifiers that are paths", twins, absent=("../../x",)),
    changed("copies of checks before all", copied_checks),
    changed("a hundred cells that print", many(100)),
    changed("four hundred cells that print", many(400), seconds=(8, 90)),
    changed("a thousand cells", many(1000), None, refused="more than 500"),
    changed("a long answer", long),
    changed("metadata nested deep", nested),
    changed("cells twice", twice, None, refused="same name twice"),
    changed(
        "no number",
        as_bytes('"nbformat": 4', '"nbformat": NaN'),
        None,
        refused="no notebook",
    ),
    changed(
        "an older format",
        as_bytes('"nbformat": 4', '"nbformat": 3'),
        None,
        refused="format 3",
    ),
    changed(
        "a cell of no type",
        as_bytes('"cell_type": "code"', '"cell_type": "shell"'),
        None,
        refused="no cell",
    ),
    changed(
        "a spreadsheet's formula for the type of a cell",
        as_bytes('"cell_type": "code"', '"cell_type": "=1+1"'),
        None,
        refused="no cell",
    ),
    changed("a name of a hundred thousand letters", long_name),
    changed("one identifier for all cells", one_identifier),
    changed(
        "a text that is a number",
        as_bytes('"source": "copies = 5"', '"source": 7'),
        None,
        refused="no text",
    ),
    Row(
        "markers of hidden tests in an answer",
        of("copies"),
        answers={"copies": MARKERS},
    ),
    Row(
        "markers of solutions around a check's text",
        0,
        after=("### BEGIN SOLUTION\n### END HIDDEN TESTS\nassert True",),
    ),
    Row(
        "an answer that defines the checks",
        simple_without("copies"),
        "simple",
        {
            "copies": "copies = 3\n"
            + "\n".join(f"def check_{n}(*a): pass" for n in ("bytes", "mean"))
        },
    ),
    Row(
        "another answer's name on a wrong cell below",
        simple_without("local_bytes"),
        "simple",
        change=lambda nb: nb["cells"].append(
            cell(
                "def local_bytes(*a):\n    return 1",
                nbgrader={"grade_id": "local_bytes", "solution": True},
            )
        ),
        policy="the last of two answers counts, as in the student's own run",
    ),
    Row(
        "a proof that is code",
        0,
        change=lambda nb: named(nb, "proof").update(
            cell_type="code",
            outputs=[],
            execution_count=None,
            source="copies = 2",
        ),
    ),
    Row(
        f"nothing but the name {STEM}", 0, change=lambda nb: {**nb, "cells": []}
    ),
)
