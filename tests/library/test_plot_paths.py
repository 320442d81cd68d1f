"""Chips side by side: every step is drawn once, in its chip's row."""

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
    ax = plot.paths(made, F, G, "a title")
    places = {text.get_text(): text.get_position() for text in ax.texts}
    for c in range(chips):
        row = [places[f"{c}.{s}"] for s in range(steps)]
        assert [y for _, y in row] == [c] * steps
        assert sorted(row) == row  # in their order, from left to right
    assert places["f"][0] < places["0.0"][0] < places["g"][0]
    assert places["In"][1] == places["Out"][1] == (chips - 1) / 2
    said = {"forward: copy\nbackward: sum", "forward: sum\nbackward: copy"}
    assert said <= set(places)
    assert ax.get_title() == "a title"
    plt.close(ax.figure)


def test_arrows_lead_from_box_to_box_and_never_back():
    ax = plot.paths({"a": ["x", "y"], "b": ["x", "y"]}, F, G)
    arrows = [a for a in ax.texts if getattr(a, "arrow_patch", None)]
    assert len(arrows) == 2 + 2 * 3
    assert all(a.xyann[0] < a.xy[0] for a in arrows)
    plt.close(ax.figure)
