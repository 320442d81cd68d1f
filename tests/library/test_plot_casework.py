"""Pictures of published runs: dots where the numbers are."""

import numpy as np
import pytest

from shardlab.plot import casework


def test_a_dot_stands_right_of_the_line_if_there_are_tokens_enough():
    rows = {"few": (500, 1000, False), "many": (4000, 1000, True)}
    ax = casework.enough_tokens(rows)
    line, *_ = ax.lines
    dots = [x for x in ax.lines if x.get_marker() == "o"]
    one = np.unique(line.get_xdata()).item()
    many, few = (np.unique(dot.get_xdata()).item() for dot in dots)
    assert few < one < many
    assert many - one == pytest.approx(2 * (one - few))  # two doublings


def test_without_runs_nothing_is_drawn():
    with pytest.raises(ValueError, match="at least one run"):
        casework.enough_tokens({})


def test_every_question_has_its_answer():
    steps = [("One?", "TP", "TP", "a run", "no"), ("Two?", "DP", "DP", "b", "")]
    words = [text.get_text() for text in casework.axis_choices(steps).texts]
    assert {"One?", "Two?", "TP", "DP", "a run", "b", "yes", "no"} <= {*words}
