"""What the report on the newest packages rests on."""

import json

import pytest

from tools import canary


def test_versions_are_left_out():
    declared = ["jax==0.10.2", "psycopg[binary]==3.3.9", "a>=1; b", "plain"]
    assert canary.newest(declared) == ["jax", "psycopg[binary]", "a", "plain"]
    assert "jax" in canary.requirements()
    assert not any("=" in name for name in canary.requirements())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("....\n34 passed in 12.1s", (34, 0)),
        ("..F\n1 failed, 33 passed, 2 warnings in 9s", (33, 1)),
        ("E\n2 errors in 1s", (0, 2)),
    ],
)
def test_cells_are_counted(said, expected):
    assert canary.outcome(said) == expected


@pytest.mark.parametrize("said", ["", "killed"])
def test_a_run_that_says_nothing_is_no_result(said):
    with pytest.raises(ValueError, match="no result"):
        canary.outcome(said)


SAID = """F
\x1b[91mNotebook cell execution failed\x1b[0m
\x1b[94mCell 14: Cell outputs differ
 mismatch 'stdout'
Cell 15: Cell execution caused an exception
AttributeError: a | b
2 failed, 33 passed in 9s
"""
ROW = {"pass": 33, "fail": 1, "differ": 1, "why": "AttributeError: a | b"}


def test_a_cell_that_prints_another_thing_is_told_from_one_that_fails():
    assert canary.judged(SAID) == ROW
    other = SAID.replace("AttributeError: a | b\n", "")
    assert canary.judged(other)["why"] == "stdout differs"
    clean = {"pass": 3, "fail": 0, "differ": 0, "why": ""}
    assert canary.judged("...\n3 passed in 1s") == clean


def test_what_was_found_is_kept_and_reported(tmp_path):
    found = {
        "which": "lowest",
        "date": "2026-01-02",
        "python": "3.12.1",
        "versions": {"jax": "9.9", "zzz": "1"},
        "notebooks": {"chapters/02.ipynb": ROW},
    }
    path, text = canary.keep(found, tmp_path)
    assert path.name == "2026-01-02-lowest-python3.12.json"
    said = text.read_text()
    assert "Python 3.12.1; jax 9.9." in said
    assert (
        "| chapters/02.ipynb | 33 | 1 | 1 | AttributeError: a \\| b |" in said
    )
    canary.keep(found | {"notebooks": {"chapters/01.ipynb": ROW}}, tmp_path)
    kept = json.loads(path.read_text())["notebooks"]
    assert list(kept) == ["chapters/01.ipynb", "chapters/02.ipynb"]
    later = found | {"versions": {"jax": "10"}, "notebooks": {}}
    canary.keep(later, tmp_path)
    assert json.loads(path.read_text()) == later


def test_the_lowest_versions_take_the_place_of_the_newest():
    names = canary.lowest()
    assert set(canary.newest(names)) == set(canary.requirements())
    assert len(names) == len(canary.requirements())
    assert any(name.startswith("jax==") for name in names)


def test_an_unknown_chapter_is_refused(capsys):
    assert canary.main(["--chapter", "99"]) == 2
    assert "no chapter '99'" in capsys.readouterr().err
