"""Chips side by side: every step stands in its chip's row, in both passes."""

import matplotlib.pyplot as plt
import pytest

from shardlab import plot

F, G = ("In", "f", "copy", "sum"), ("Out", "g", "sum", "copy")


@pytest.mark.parametrize("chips", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 3])
def test_every_step_stands_in_the_row_of_its_chip(chips, steps):
    made = {
        f"chip {c}": [f"{c}.{s}" for s in range(steps)] for c in range(chips)
    }
    ax = plot.paths(made, F, G)
    places = {}
    for text in ax.texts:
        places.setdefault(text.get_text(), []).append(text.get_position())
    for back in (0, 1):
        for c in range(chips):
            row = [places[f"{c}.{s}"][back] for s in range(steps)]
            assert len({y for _, y in row}) == 1
            assert sorted(row) == row  # in their order, from left to right
        assert places["f"][back] < places["0.0"][back] < places["g"][back]
    assert places["In"][0][1] == places["Out"][0][1]
    assert places["dIn"][0][1] == places["dOut"][0][1] > places["In"][0][1]
    plt.close(ax.figure)


def test_arrows_turn_round_in_the_backward_pass():
    ax = plot.paths({"a": ["x", "y"], "b": ["x", "y"]}, F, G)
    arrows = [a for a in ax.texts if getattr(a, "arrow_patch", None)]
    ways = [a.xyann[0] < a.xy[0] for a in arrows]
    assert len(ways) == 2 * (2 + 2 * 3)
    assert ways == [True] * 8 + [False] * 8
    plt.close(ax.figure)


def test_the_sum_is_at_the_other_end_on_the_way_back():
    ax = plot.paths({"a": ["x"], "b": ["x"]}, F, G)
    sums = [t.get_position() for t in ax.texts if t.get_text() == "sum"]
    (forward, _), (backward, _) = sorted(sums, key=lambda at: at[1])
    assert forward > backward
    plt.close(ax.figure)
