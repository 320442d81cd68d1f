"""bench names every check of every set, and the one that takes longest."""

import nbformat
import pytest

from bench import bench_checks
from shardlab.authoring import kit
from tests.each import each
from tests.tree import ROOT

STEMS = kit.sets()
FAST = {"opening_check": 3.0, "sum_check": 0.1, "ring_check": 0.2}


def notebook(stem):
    return ROOT / f"solutions/{stem}/{stem}.ipynb"


@each("stem", STEMS)
def test_every_check_of_a_set_is_timed(stem):
    found = bench_checks.code(notebook(stem))
    questions = kit.read_set(ROOT / f"book/exercises/{stem}.md")[1]
    named = [name for name, _ in found if name]
    assert named == [name for q in questions.values() for name in q.checks]
    assert not any("HIDDEN" in text or "grade_" in text for _, text in found)


@pytest.mark.long
def test_a_set_is_run_in_a_fresh_process():
    path = notebook(STEMS[0])
    ((seconds, peak),) = bench_checks.fresh(path, runs=1)
    assert list(seconds) == [n for n, _ in bench_checks.code(path) if n]
    assert min(seconds.values()) > 0
    assert peak > 1 << 20


def test_a_check_that_fails_is_no_measurement(tmp_path):
    mark = {"grade": True, "grade_id": "sum_check", "points": 1}
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 3")
    cell.metadata["nbgrader"] = mark
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "x.ipynb")
    with pytest.raises(RuntimeError, match=r"(?s)x\.ipynb: assert.*Assertion"):
        bench_checks.timed(tmp_path / "x.ipynb")


def test_a_set_that_is_fast_enough_is_not_blamed():
    row = bench_checks.row("01_x", [(FAST, 5), (FAST, 7)])
    assert (row["first"], row["longest"], row["median"]) == (3.0, 0.2, 0.2)
    assert row["seconds_median"] == row["median"]
    assert (row["runs"], row["peak_bytes"]) == (2, 7)
    assert "ring_check" in row["note"]
    assert "over" not in row["note"]


@pytest.mark.parametrize(
    ("name", "what"),
    [("opening_check", "first"), ("sum_check", "longest")],
)
def test_a_slow_check_is_named(name, what):
    # Slow in two runs of three; the median does not see a single slow one.
    slow = FAST | {name: 9.0}
    row = bench_checks.row("01_x", [(slow, 1), (FAST, 1), (slow, 1)])
    assert row[what] == row["checks"][name] == 9.0
    assert what in row["note"].split("over the goal: ")[1]
    if what == "longest":
        assert name in row["note"]
    row = bench_checks.row("01_x", [(slow, 1), (FAST, 1), (FAST, 1)])
    assert row["checks"] == FAST
