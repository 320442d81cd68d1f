"""Pictures of published runs: dots where the numbers are."""

import numpy as np
import pytest

from shardlab.plot import casework, compiled


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


def test_scatters_are_counted_and_gradients_that_are_whole_at_once():
    turns = [(1, 0, False), (1, 1, False), (1, 1, True), (1, 0, True)]
    rows = {
        "kept": (turns, [(1, 2, 3), (0, 3, 3)]),
        "apart": (turns, [(1, 2, 2), (0, 3, 3)]),
    }
    words = [text.get_text() for text in casework.gradient_lives(rows).texts]
    assert words.count("2 scatters") == 2
    assert [w for w in words if w.endswith("whole")] == ["2 whole", "1 whole"]


def test_knees_are_marked_where_estimate_and_roof_bend():
    tokens = (1, 2, 64)
    seconds = [max(16 + n, 2 * n) for n in tokens]
    ax = compiled.knees({"a chip": (tokens, seconds, lambda B: 8 + B * 0 + B)})
    assert "estimate bends: 16" in [text.get_text() for text in ax.texts]
