"""Pictures of what training keeps: what is drawn is what was given."""

import pytest

from shardlab import plot
from shardlab.count.moments import Moment
from tests.library.drawn import texts


def test_the_peak_is_written_and_layers_are_as_long_as_their_flops():
    run = [Moment(4, 0, 1, 0), Moment(4, 0, 6, 2e6), Moment(4, 2, 3, 5e6)]
    cells = [("forward", "F1", 2e6), ("backward", "B1", 3e6)]
    axes = plot.moments(
        {"one": run, "two": run[:2]}, {"one": cells, "two": cells}, 1
    )
    assert "10 MB" in texts(axes[0])
    assert list(axes[0].lines[0].get_xdata()) == [2]
    assert [bar.get_width() for bar in axes[0].patches] == [2, 3]
    assert {"F1", "B1", "weights", "gradients"} <= set(texts(axes[0]))


def test_of_moments_with_the_same_flops_the_fullest_is_drawn():
    run = [Moment(0, 0, n % 7, n // 100) for n in range(2000)]
    axes = plot.moments({"long": [*run, Moment(0, 0, 50, 20)]}, {"long": []}, 1)
    assert "50 MB" in texts(axes[0])


def test_heights_are_sums_of_changes():
    run = [("forward", "F1", 1, 0.1), ("again", "R1", 1, 0.9)]
    (ax,) = plot.heights({"x": [*run, ("backward", "B1", 2, -1)]}, "x", "y")
    assert texts(ax) == ["1", "F1", "R1", "B1"]
    assert list(ax.lines[0].get_xdata()) == [2]


def test_areas_of_boxes_are_bytes():
    ax = plot.layer_kept(16)
    sides = sorted(
        round(patch.get_width() ** 2)
        for patch in ax.patches
        if abs(patch.get_width() - patch.get_height()) < 1e-9
    )
    assert len(sides) == 14
    smallest = sides[0]
    assert [round(side / smallest) for side in sides] == sorted(
        [1, 1, 2, 2, 2, 2, 2, 2, 4, 8, 8, 16, 32, 32]
    )
    assert {"2", "4", "8", "16", "32"} <= set(texts(ax))


def test_bars_end_at_their_total():
    bars = {"a": {"states": 3e9, "logits": 1e9}, "b": {"logits": 2e9}}
    ax = plot.stacks(bars, {"limit": 3.5e9})
    assert texts(ax) == [
        "limit",
        "a",
        "4.0 GB",
        "b",
        "2.0 GB",
        "states",
        "logits",
    ]
    drawn = [patch for patch in ax.patches if patch.get_height() == 24]
    wide = [patch.get_width() for patch in drawn]
    assert wide[0] == pytest.approx(3 * wide[1])
    assert wide[2] == pytest.approx(2 * wide[1])
    assert drawn[1].get_facecolor() == drawn[2].get_facecolor()  # logits
    (line,) = ax.lines
    left = drawn[0].get_x()
    assert line.get_xdata()[0] - left == pytest.approx(3.5 * wide[1])


def test_areas_of_rungs_are_bytes():
    rungs = [("all", 9e9, ""), ("some", 4e9, "much"), ("few", 1e9, "more")]
    ax = plot.ladder(rungs)
    assert {"9 GB", "4 GB", "1 GB", "much", "more"} <= set(texts(ax))
    sides = [patch.get_width() for patch in ax.patches]
    assert sides == pytest.approx([150, 100, 50])
    with pytest.raises(ValueError, match="of above 0 bytes"):
        plot.ladder([("all", 5e8, ""), ("nothing", 0, "")])


def test_what_went_away_is_a_dashed_square_of_its_bytes():
    rungs = [("all", 9e9, ""), ("some", 4e9, "much"), ("few", 1e9, "more")]
    ax = plot.ladder(rungs, away=("host", "its wire"))
    assert {"host", "a part of it", "its wire"} <= set(texts(ax))
    (gone,) = [patch for patch in ax.patches if not patch.get_fill()]
    assert gone.get_width() == pytest.approx(100)


def test_parts_of_a_tally_are_as_long_as_their_bytes():
    bars = {"a": [("in", 4, "SP"), ("mid", 12, "TP")], "b": [("in", 8, "TP")]}
    ax = plot.tallies(bars)
    assert {"a: 16 bytes", "b: 8 bytes", "in", "mid", "12"} <= set(texts(ax))
    wide = [p.get_width() for p in ax.patches if p.get_height() == 26]
    assert wide == pytest.approx([wide[0], 3 * wide[0], 2 * wide[0]])


def test_a_policy_that_no_size_moves_is_one_dot():
    found = {
        "all": [(10, 0), (20, 0), (40, 0)],
        "few": [(2, 0.2), (2, 0.25), (2, 0.21)],
    }
    ax = plot.policies(found, ["small", "medium", "large"])
    written = texts(ax)
    assert written.count("2") == 2  # the tick and the dot
    assert {"none", "21.0 %", "40"} <= set(written)


@pytest.mark.parametrize(
    "draw",
    [
        lambda runs: plot.moments(runs, {}),
        plot.stage_bytes,
        lambda runs: plot.heights(runs, "x", "y"),
    ],
)
def test_nothing_to_draw_is_refused(draw):
    with pytest.raises(ValueError, match="runs must hold"):
        draw({})
