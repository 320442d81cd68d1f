"""The tables of what was measured say what is stored, and nothing else."""

import json
import shutil

import pytest

from bench import goals


@pytest.fixture
def stored(tmp_path):
    """A copy of all that is stored."""
    for path in goals.RESULTS.glob("*.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_the_page_is_what_is_stored():
    text = goals.PAGE.read_text(encoding="utf-8")
    assert goals.written(text) == text, "run: python -m bench.goals"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.1764, "0.18 s"), (3.113, "3.1 s"), (24.89, "25 s"), (130.4, "130 s")],
)
def test_what_is_measured_last_is_said(stored, seconds, said):
    found = goals.newest(stored, "book")
    for row in found["rows"]:
        row["seconds_median"] = seconds
    found["machine"]["date"] = "2099-01-02"
    (stored / "2099-01-02.json").write_text(json.dumps({"book": found}))
    text = goals.lines("goals", stored)
    assert text.count(f" | {said} | 2099-01-02 | ") == 4


def test_a_run_that_failed_is_said(stored):
    run = {"suite": "test", "counts": {"passed": 9, "failed": 1}}
    run |= {"failed": ["tests/a.py::test_b"], "left": ["sleep 9"]}
    (stored / "soak.json").write_text(json.dumps([run]))
    assert goals.lines("soak", stored).endswith(
        "| test | 1 | 9 | `tests/a.py::test_b` 1 times | 1 |\n"
    )


def test_a_page_without_a_place_for_a_table_is_refused():
    text = goals.PAGE.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no place for growth"):
        goals.written(text.replace("<!-- end of growth -->", ""))
