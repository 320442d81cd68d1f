"""Hostile submissions: each gets what it deserves, and leaves nothing.

Here a dozen of them are graded, with `--suite=whole` all; as a table:
`python -m tests.grading.suite`.
"""

import itertools
import subprocess
import sys

import pytest

from shardlab.grading import judge
from tests.each import each
from tests.grading import suite
from tests.grading.suite import course, grid, honest, rows
from tests.tree import ROOT

DOZEN = {
    "os._exit in a cell",
    "an endless loop",
    "20 GB of memory",
    "a fork bomb",
    "skip-execution",
    "one name for all cells",
    "a link to the solutions",
    "a verdict instead of an answer",
    "keys with one hash",
    "patched: a hook after each cell",
    "files written elsewhere",
    "a call back to Python",
    "every kind of display",
}
ALL = [(kind, row) for kind in suite.NAMES for row in suite.members(kind)]
CHOSEN = [
    pytest.param(
        row,
        # Without spaces, so that a list of failures keeps the whole name.
        id=f"{kind}:{row.name}".replace(" ", "-"),
        marks=() if row.name in DOZEN else pytest.mark.whole,
    )
    for kind, row in ALL
]


def test_every_name_stands_for_one_row():
    names = [row.name for _, row in ALL]
    assert len(set(names)) == len(names)
    assert set(names) >= DOZEN


@each("kind", suite.NAMES)
def test_every_class_has_rows_beyond_the_table(kind):
    assert len(suite.members(kind)) > 20


def test_every_row_has_one_place_in_the_grid():
    listed = [name for names in grid.PLACES.values() for name in names]
    assert sorted(listed) == sorted(row.name for _, row in ALL)
    every = set(itertools.product(grid.WHERE, grid.WHAT, grid.WHO))
    assert set(grid.PLACES) | set(grid.EMPTY) <= every


def test_the_grid_has_no_gap_without_a_reason():
    assert grid.gaps() == []
    assert not set(grid.PLACES) & set(grid.EMPTY)
    assert all(len(why.split()) > 3 for why in grid.EMPTY.values())


def test_the_grid_shows_its_gaps(monkeypatch):
    monkeypatch.delitem(grid.PLACES, ("file", "size", "others"))
    known = grid.places()
    said = grid.table(row.name for _, row in ALL if row.name in known)
    (line,) = (line for line in said.splitlines() if "gap" in line)
    assert line.split() == ["file", "1", "7", "-", "gap", "1"]
    assert grid.gaps() == [("file", "size", "others")]


@pytest.mark.parametrize("row", CHOSEN)
def test_score_is_deserved_and_nothing_is_left(row, sample, request):
    who = f"attack{request.node.callspec.indices['row']}"
    given = rows.graded(row, sample, who)
    assert given.faults == []


def test_an_honest_student_after_all_of_them(sample):
    given = rows.graded(honest.ROWS[0], sample, "ada")
    assert given.faults == []
    assert given.score == course.ALL


@pytest.mark.whole
def test_an_honest_student_beside_busy_ones(sample):
    command = [sys.executable, "-m", "tests.grading.suite", "busy", "bomb"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet) as one:
        for number in range(3):
            row = rows.Row("beside", course.ALL, "right", seconds=(20, 180))
            given = rows.graded(row, sample, f"beside{number}")
            assert given.faults == []
        assert one.wait(300) == 0


@each("question", list(course.POINTS))
def test_the_suite_would_see_marks_that_are_not_deserved(question):
    row = rows.Row("none", 0, "blank")
    assert rows.unlike(row, course.POINTS[question], "") != []
    assert rows.unlike(row, None, "is no plain file") != []
    assert rows.unlike(row, 0, "") == []


@pytest.mark.parametrize(
    ("first", "timed_out", "left", "found"),
    [
        (12, True, [], []),  # the second try has them all
        (12, False, [], ["12 points, and 16 deserved"]),
        (20, True, [], ["20 points, and 16 deserved"]),
        (12, True, ["a canary"], ["a canary"]),
    ],
)
def test_what_a_deadline_took_is_tried_again_with_more_time(
    first, timed_out, left, found, monkeypatch
):
    tries = []

    def grade(at, who, write, seconds, stood):
        tries.append((seconds.cell, stood))
        score, faults = (16, []) if tries[1:] else (first, left)
        stands = {"copies_check": None}
        outcome = judge.Outcome(who, "", timed_out, [], [], stands)
        return course.Given(score, "", outcome, None, faults)

    monkeypatch.setattr(course, "grade", grade)
    given = rows.graded(rows.Row("", 16, seconds=(8, 60)), None, "ada")
    assert given.faults == found
    again = (8 * rows.PATIENCE, {"copies_check": None})
    assert tries == [(8, ()), again][: 1 + (timed_out and first < 16)]


def test_the_suite_would_see_what_is_too_much():
    assert course.heavy(100 << 20, 60) == []
    assert course.heavy(600 << 20, 71) == [
        "the grader's memory grew by 600 MB",
        "the grader took 71 s of the processor",
    ]


def test_the_suite_would_see_what_is_left(sample):
    before = course.standing(sample.root)
    assert course.left(sample.root, before) == []
    canary = sample.root / "canary.txt"
    canary.write_text("x")
    assert course.left(sample.root, before) == ["a file was written outside"]
    canary.unlink()
    more = sample.root / "solutions/more.txt"
    more.write_text("x")
    assert course.left(sample.root, before) == [
        "files of the course were changed"
    ]
    more.unlink()


def test_the_suite_would_see_a_live_page():
    page = course.Page()
    page.feed('<p>a<script>1</script><img src="x" onerror="1"><a href="#x">')
    assert page.found == [
        "<script>",
        "<img src='x'>",
        "<img onerror='1'>",
    ]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"output_type": "stream", "name": "stderr", "text": "x"}, "stdout"),
        (
            {"output_type": "stream", "name": "stdout", "text": "\x1b"},
            "control",
        ),
        ({"output_type": "execute_result", "data": {}}, "execute_result"),
        ({"output_type": "display_data", "data": {"text/html": ""}}, "html"),
    ],
)
def test_the_suite_would_see_live_outputs(output, words, sample):
    notebook = course.fresh(sample)
    notebook["cells"][1]["outputs"] = [output]
    notebook["cells"][1]["metadata"] = {}
    faults = course.brought(sample.blank, notebook)
    assert any(words in fault for fault in faults)
