"""Pictures of a sequence that is cut: what is drawn is what was given."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from shardlab import plot
from shardlab.strategies import zigzag
from tests.library.drawn import texts

IN_ORDER, ZIGZAG = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 3, 2, 1, 0]


def filled(ax, fill):
    return [p for p in ax.patches if to_hex(p.get_facecolor()) == fill]


def test_work_of_chips_is_written_below_their_scores():
    ax = plot.score_owners({"in order": IN_ORDER, "zig-zag": ZIGZAG})
    squares = [words for words in texts(ax) if words.endswith("squares")]
    assert squares == [f"{n} squares" for n in (2, 6, 10, 14, 8, 8, 8, 8)]


def test_the_owners_drawn_are_those_of_the_order():
    dealt = zigzag.order(16, 4).reshape(4, 2, 2)[:, :, 0] // 2
    assert [int(np.argwhere(dealt == n)[0][0]) for n in range(8)] == ZIGZAG


def test_the_slowest_chip_of_each_turn():
    ax = plot.ring_turns({"in order": IN_ORDER, "zig-zag": ZIGZAG})
    most = [words for words in texts(ax) if words in ("2", "4")]
    assert most == ["2", "4", "4", "4", "2", "2", "2", "2"]
    totals = [words for words in texts(ax) if words.startswith("the ring")]
    assert totals == [f"the ring takes {n} squares" for n in (14, 8)]


def test_unequal_numbers_of_pieces_are_refused():
    with pytest.raises(ValueError, match="as many pieces"):
        plot.score_owners({"wrong": [0, 0, 1]})
    with pytest.raises(ValueError, match="two pieces each"):
        plot.ring_turns({"wrong": [0, 1]})
    with pytest.raises(ValueError, match="4 chips"):
        plot.ring_player([0, 1, 1, 0], "two")


def test_shares_of_two_sets_are_written():
    parts = [("a", [0.5, 0.5], 1.0), ("b", [1.0], 2.0)]
    ax = plot.merged_halves(parts, [0.25, 0.25, 0.5])
    assert [w for w in texts(ax) if w.startswith("times")] == ["times 0.50"] * 2
    with pytest.raises(ValueError, match="merged must have"):
        plot.merged_halves(parts, [1.0])


def test_only_keys_of_the_past_are_brought():
    for mine, arrows in ((0, 3), (2, 5)):
        ax = plot.what_moves(4, mine)
        drawn = [t for t in ax.texts if getattr(t, "arrow_patch", None)]
        assert len(drawn) == arrows  # MLP, own keys, legend
    with pytest.raises(ValueError, match="mine must be one of"):
        plot.what_moves(4, 4)


def test_gathered_keys_are_on_every_chip():
    ax = plot.gathered_keys(3)
    for n in range(3):  # of a chip: its block on 3, Q, its part of 3 gradients
        assert len(filled(ax, plot.shade("Z", n, 3))) == 3 + 1 + 2 + 3
        assert texts(ax).count(f"{n}") == 3
    drawn = [t for t in ax.texts if getattr(t, "arrow_patch", None)]
    assert len(drawn) == 2 * 3 * 2  # a column has two gaps, both ways


def test_a_chip_sends_one_piece_to_each_and_keeps_one():
    for groups, heads in ((1, 1), (2, 1), (4, 1), (8, 2)):  # of K on a chip
        ax = plot.tokens_to_heads(8, groups, 4)
        mine = filled(ax, plot.shade("Z", 1, 4))  # Q and K, before and after
        assert len(mine) == 2 * (1 + 4)
        side = min(p.get_width() for p in mine) / heads
        widths = sorted(round(p.get_width() / side, 6) for p in mine)
        assert widths == sorted([8, groups] + [2] * 4 + [heads] * 4)
        drawn = [t for t in ax.texts if getattr(t, "arrow_patch", None)]
        assert len(drawn) == 4
    with pytest.raises(ValueError, match="chips must divide 8 heads"):
        plot.tokens_to_heads(8, 2, 3)


def test_targets_that_are_shifted_on_a_chip_are_crossed():
    wrong = plot.colours.colour("mark")
    for order, crosses in ((range(16), 3), (zigzag.order(16, 4), 6)):
        ax = plot.dealt_targets(order)
        lines = [x for x in ax.lines if x.get_color() == wrong]
        assert len(lines) == crosses
    with pytest.raises(ValueError, match="as many on each of 3 chips"):
        plot.dealt_targets(range(16), 3)


def test_each_chip_adds_its_part_to_a_gradient():
    parts = [w for w in texts(plot.way_home(4)) if w.startswith("of ")]
    there = [[0], [1], [1, 2], [1, 2, 3], [0, 1, 2, 3]]  # the last one is home
    assert parts == [f"of {k}" for turn in there for k in turn]


def test_every_share_of_tokens_is_on_all_gpus_of_its_node():
    ax = plot.tokens_and_heads(3, 2, 8)
    for z in range(3):
        assert len(filled(ax, plot.shade("Z", z, 3))) == 2
        for heads in ("0\u20133", "4\u20137"):
            assert texts(ax).count(f"tokens {z}\nheads {heads}") == 1
    drawn = [t for t in ax.texts if getattr(t, "arrow_patch", None)]
    assert len(drawn) == 2 * 3  # from node to node and home, in both columns
    with pytest.raises(ValueError, match="gpus must divide 32 heads"):
        plot.tokens_and_heads(3, 5)


def test_a_map_says_which_way_is_best():
    fills = {
        "ring": ["#100000", "#110000", "#120000"],
        "gather": ["#001000", "#001100", "#001200"],
    }
    ways = {"ring": ("ring", fills["ring"]), "gather": ("G", fills["gather"])}
    cells = {(1, 8): ("ring", 0.2), (4, 8): ("gather", 12.6)}
    down, across = {1: "R = 1", 4: "R = 4"}, {8: "8k"}
    ax = plot.best_ways({"a node": cells}, across, down, ways)
    assert {"ring\n0", "G\n13", "a node", "R = 4", "8k"} <= set(texts(ax))
    assert texts(ax).count("ring") == 1  # the key's boxes have no room
    for fill in fills["ring"] + fills["gather"]:  # the key, and two cells
        cell = fill in ("#100000", "#001200")  # below 1, and above 10
        assert len(filled(ax, fill)) == 1 + cell
    within = {"a node": {(4, 8)}}  # the lower of two cells: one line
    (line,) = plot.best_ways(
        {"a node": cells}, across, down, ways, within
    ).lines
    assert len(set(line.get_ydata())) == 1
    with pytest.raises(ValueError, match="has no cell"):
        plot.best_ways({"a node": cells}, {8: "8k", 9: "9k"}, down, ways)


def test_the_film_crosses_what_is_all_future():
    html = plot.ring_player(IN_ORDER, "in order").html
    frames = html.split("<figure>")[1:]
    assert [frame.count('class="w"') for frame in frames] == [0, 1, 3, 6]
    assert "chips 0, 1 have future keys only" in frames[2]
    assert 'class="w"' not in plot.ring_player(ZIGZAG, "zig-zag").html


def test_blocks_of_the_film_make_a_hop_less_than_there_are_turns():
    html = plot.ring_player(IN_ORDER, "in order").html
    words = [f"hop {n} of 3" in html for n in (1, 2, 3, 4)]
    assert words == [True, True, True, False]
    assert html.count("no more hops") == 1
