"""What the report on the newest packages rests on."""

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


def test_the_report_names_versions_and_reasons():
    rows = {"chapters/01.ipynb": (3, 1, "AttributeError: a | b")}
    text = canary.report(rows, {"jax": "9.9", "zzz": "1"}, "3.12.1")
    assert "Python 3.12.1; jax 9.9." in text
    assert "| chapters/01.ipynb | 3 | 1 | AttributeError: a \\| b |" in text


def test_an_unknown_chapter_is_refused(capsys):
    assert canary.main(["--chapter", "99"]) == 2
    assert "no chapter '99'" in capsys.readouterr().err
