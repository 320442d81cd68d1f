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


def test_scatters_are_counted_and_gradients_that_are_whole_at_once():
    turns = [(1, 0, False), (1, 1, False), (1, 1, True), (1, 0, True)]
    rows = {
        "kept": (turns, [(1, 2, 3), (0, 3, 3)]),
        "apart": (turns, [(1, 2, 2), (0, 3, 3)]),
    }
    words = [text.get_text() for text in casework.gradient_lives(rows).texts]
    assert words.count("2 scatters") == 2
    assert [w for w in words if w.endswith("whole")] == ["2 whole", "1 whole"]


def test_without_published_steps_all_bars_have_one_scale():
    rows = {"a": ({"matmuls": 2.0}, None), "b": ({"matmuls": 1.0}, None)}
    ax = casework.spent_seconds(rows)
    long, short = (patch.get_width() for patch in ax.patches[:2])
    assert long == pytest.approx(2 * short)
    assert "published" not in [text.get_text() for text in ax.texts]
