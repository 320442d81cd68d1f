"""Chips side by side: each has its own part, and they meet in f and g alone."""

import matplotlib.pyplot as plt
import pytest

from shardlab import plot


def places_of(ax):
    """Where every text stands, by its words."""
    places = {}
    for text in ax.texts:
        places.setdefault(text.get_text(), []).append(text.get_position())
    return places


@pytest.mark.parametrize("chips", [2, 3, 4])
def test_every_chip_has_a_row_and_a_term_in_both_passes(chips):
    ax = plot.f_and_g(chips)
    places = places_of(ax)
    for back in (0, 1):
        rows = [places[f"term {k}"][back][1] for k in range(chips)]
        assert rows == sorted(rows)
        assert len(set(rows)) == chips
    assert len(places["+"]) == 2 * chips  # of each chip, where terms are added
    plt.close(ax.figure)


def test_the_sum_is_in_g_forward_and_in_f_backward():
    ax = plot.f_and_g()
    places = places_of(ax)
    for adds, copies, back in (("g", "f", 0), ("f", "g", 1)):
        middle = places[adds][back][0]
        assert places["AllReduce"][back][0] == middle
        assert places["+"][2 * back][0] == middle
        assert places["copy"][back][0] == places[copies][back][0] != middle
    plt.close(ax.figure)


def test_arrows_turn_round_in_the_backward_pass():
    ax = plot.f_and_g()
    arrows = [a for a in ax.texts if getattr(a, "arrow_patch", None)]
    ways = [a.xyann[0] < a.xy[0] for a in arrows]
    assert ways == [True] * 14 + [False] * 14
    plt.close(ax.figure)


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_one_pass_is_drawn_alone(name):
    ax = plot.f_and_g(passes=(name,))
    places = places_of(ax)
    assert len(places["+"]) == 2
    assert {"forward", "backward"} & {*places} == {name}
    plt.close(ax.figure)
