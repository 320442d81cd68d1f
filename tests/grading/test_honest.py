"""Honest submissions: nobody loses points by how they work."""

import pytest

from tests.grading import suite
from tests.grading.suite import rows

DOZEN = {
    "nothing done",
    "prints and warns",
    "another algorithm",
    "two axes of other names",
    "%matplotlib inline and a plot",
    "questions in another order",
    "an answer in two cells",
    "answers written in new cells",
    "one answer never ends",
    "a cell that fails above",
    "saved by Colab",
    "Windows line ends",
}
CHOSEN = [
    pytest.param(
        row,
        id=row.name,
        marks=pytest.mark.long if row.name in DOZEN else pytest.mark.whole,
    )
    for row in suite.members("honest")
]


def test_every_name_stands_for_one_row():
    names = [row.name for row in suite.members("honest")]
    assert len(set(names)) == len(names) > 35
    assert set(names) >= DOZEN


@pytest.mark.parametrize("row", CHOSEN)
def test_score_is_deserved(row, sample, request):
    who = f"honest{request.node.callspec.indices['row']}"
    given = rows.graded(row, sample, who)
    assert given.faults == []
    assert len(given.outcome.notes) == bool(row.note)
