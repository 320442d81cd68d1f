"""Pictures of experts: what stands in them is what was routed."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from shardlab import plot
from shardlab.plot.dispatch import slots_taken
from tests.library.drawn import texts

EXPERTS = np.array([[0, 1], [0, 2], [0, 3], [1, 0]])


def test_slots_are_taken_in_order_and_the_rest_is_dropped():
    assert slots_taken(EXPERTS, 4, 2) == {
        (0, 0): 0,
        (0, 1): 1,
        (1, 0): 3,
        (1, 1): 0,
        (2, 0): 1,
        (3, 0): 2,
    }
    said = texts(plot.slots_taken(EXPERTS, 4, 2))
    assert {"2 slots", "dropped"} <= set(said)
    assert "dropped" not in texts(plot.slots_taken(EXPERTS, 4, 4))


def test_a_film_shows_every_token_and_every_slot():
    html = plot.dispatch_player(EXPERTS, 4, 2, 2).html
    frames = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    assert len(frames) == 6
    assert all(f.count('class="i"') == 2 * (2 * 4 * 2) for f in frames)
    assert frames[2].count('class="s"') == EXPERTS.size
    assert "dropped:" not in html
    crowded = plot.dispatch_player(EXPERTS, 4, 2, 1).html
    assert crowded.count("dropped: 1<") == 5  # from the choice on
    assert frames[3].count("′<") == EXPERTS.size
    assert frames[4].count("′<") == EXPERTS.size
    with pytest.raises(ValueError, match="^Z must divide 4 tokens"):
        plot.dispatch_player(EXPERTS, 4, 3, 2)


def test_a_film_writes_numbers_of_two_digits_in_narrow_slots():
    experts = np.tile([[0, 1], [2, 3], [4, 5]], (4, 1))
    html = plot.dispatch_player(experts, 8, 4, 1).html
    back = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)[4]
    assert back.count("′<") == experts.size
    assert back.count("textLength") == 4  # tokens 10 and 11, twice each


def test_pieces_that_differ_land_without_gaps():
    ax = plot.ragged_pieces([[1, 2], [3, 1]], chip=1)
    said = texts(ax)
    assert "chip 1: starts 0, 3; sizes 3, 1;" in said
    assert "lands 1, 2; sizes of what comes 2, 1" in said
    drawn = [t for t in ax.texts if getattr(t, "arrow_patch", None)]
    assert len(drawn) == 2  # its pieces, followed
    with pytest.raises(ValueError, match=r"^sizes must be \[chips, chips\]"):
        plot.ragged_pieces([[1, 2]])


def test_arrows_lead_to_the_nodes_that_are_visited():
    def arrows(rows):
        return sum(t.arrow_patch is not None for t in _arrows(rows))

    def _arrows(rows):
        ax = plot.expert_floor(rows, E=64, nodes=4, gpus=4)
        return [t for t in ax.texts if hasattr(t, "arrow_patch")]

    assert arrows({"near": [0, 1, 17]}) == 2
    assert arrows({"far": [0, 16, 32, 48], "near": [5]}) == 5
    with pytest.raises(ValueError, match="^experts must be below 64"):
        plot.expert_floor({"no": [64]}, E=64, nodes=4, gpus=4)


def test_a_row_that_is_dropped_is_drawn_beside_its_slots():
    ax = plot.ragged_rows([7, 3, 1, 5], 4)
    edges = [patch.get_edgecolor() for patch in ax.patches]
    assert edges.count(to_rgba(plot.colours.colour("mark"))) == 4


def test_what_is_dropped_and_who_is_busiest_is_written():
    said = texts(plot.ragged_rows([7, 3, 1, 5], 4))
    assert {"3 dropped", "1 dropped"} <= set(said)
    said = texts(plot.expert_loads({"a run": [1, 6, 2]}, mean=3))
    assert {"a run: 2.00 × mean", "1", "6", "2", "mean 3"} <= set(said)
    # Even loads on average, and yet each step has a busiest expert.
    said = texts(plot.expert_loads({"swings": [[2, 4], [4, 2]]}, mean=3))
    assert "swings: 1.33 × mean" in said


def test_a_copy_a_node_goes_once_through_the_card():
    ax = plot.copies_sent({1: {0, 3, 5}, 4: {2, 6}})
    ways = [t for t in ax.texts if hasattr(t, "arrow_patch")]
    # Five visits; then two nodes, and four GPUs that are handed a copy.
    assert sum(t.arrow_patch is not None for t in ways) == 5 + 2 * (2 + 4)
    assert any(w.endswith(": 5 copies through its card") for w in texts(ax))
    assert texts(ax).count("Σ") == 2  # one a node, on the way back
