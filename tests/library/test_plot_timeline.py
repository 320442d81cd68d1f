"""Timelines and what is held on them: each bar where its numbers say."""

import pytest
from matplotlib.patches import Rectangle

from shardlab import memory, plot, timeline
from shardlab.room import Stay
from shardlab.timeline import Task

WORK = [
    Task("AG0", "network", 2e-6),
    Task("F0", "chip", 3e-6, ("AG0",)),
    Task("AG1", "network", 2e-6),
    Task("F1", "chip", 1e-6, ("AG1",)),
]
STAYS = [Stay("W0", "AG0", "F0", 3), Stay("W1", "AG1", "F1", 1)]


def bars(ax):
    """Left end, right end, top and bottom of each bar."""
    return [
        pytest.approx((x, x + r.get_width(), y, y + r.get_height()))
        for r in ax.patches
        if isinstance(r, Rectangle)
        for x, y in [r.get_xy()]
    ]


def test_a_bar_for_each_task_in_the_row_of_its_queue():
    (ax,) = plot.timeline({"title": timeline.play(WORK)}).flat
    assert bars(ax) == [
        (0, 2, -0.4, 0.4),
        (2, 5, 0.6, 1.4),
        (2, 4, -0.4, 0.4),
        (5, 6, 0.6, 1.4),
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "network",
        "chip",
    ]
    assert [text.get_text() for text in ax.texts] == ["AG0", "F0", "AG1", "F1"]


def test_tasks_of_a_kind_have_a_colour_of_their_own_that_is_explained():
    runs = {"": timeline.play([Task("AG 1", "network", 1), Task("a", "x", 40)])}
    (ax,) = plot.timeline(runs, 1, fills={"AG": ("network-4", "gathers")}).flat
    own, other = (bar.get_facecolor() for bar in ax.patches)
    assert own == plot.colours.to_rgb(plot.shade("network", 3)) + (1,)
    assert own != other
    (said,) = ax.get_legend().get_texts()
    assert said.get_text() == "gathers"


def test_waiting_is_hatched_and_the_end_is_written():
    runs = {"title": timeline.play(WORK)}
    (ax,) = plot.timeline(runs, idle="chip").flat
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    assert [patch.get_width() for patch in hatched] == [pytest.approx(2)]
    words = [text.get_text() for text in ax.texts]
    assert words.count("exposed") == 1
    assert "6.0 µs" in words


def test_below_stands_what_is_held_as_high_as_it_is_large():
    runs = {"title": timeline.play(WORK)}
    axes = plot.timeline(runs)
    before = len(axes.flat[0].patches)
    (ax,) = plot.room(axes, runs, {"title": STAYS}).flat
    assert bars(ax)[before:] == [
        (0, 2, 1.8, 2.4),
        (2, 5, 1.6, 2.4),
        (5, 6, 2.2, 2.4),
    ]
    assert [text.get_text() for text in ax.texts[4:]] == ["3", "4", "1"]


def test_what_takes_no_time_and_no_room_can_be_drawn():
    runs = {"title": timeline.play([Task("a", "chip", 0)])}
    (ax,) = plot.timeline(runs).flat
    assert bars(ax) == [(0, 0, -0.4, 0.4)]
    runs = {"title": timeline.play([Task("a", "chip", 1)])}
    axes = plot.timeline(runs, unit=1)
    (ax,) = plot.room(axes, runs, {"title": [Stay("x", "a", "a", 0)]}, 1).flat
    assert bars(ax)[1] == (0, 1, 1.4, 1.4)


def test_a_stack_is_as_long_as_the_sum_of_its_terms():
    terms = {zero: memory.state_terms(7.5e9, 64, zero) for zero in range(4)}
    ax = plot.stacked(terms, "title")
    written = [text.get_text().strip() for text in ax.texts]
    assert written == ["120.0", "31.4", "16.6", "1.9"]
    longest = max(r.get_x() + r.get_width() for r in ax.patches)
    assert longest == pytest.approx(120)


def test_what_leaves_a_pod_is_drawn_chip_by_chip():
    ax = plot.ports({"all": {0: 12, 1: 0, 2: 3, 3: 6}}, 12, 2)
    found = [text.get_text() for text in ax.texts]
    parts = [words for words in found if words in ("1", "1/4", "1/2")]
    assert parts == ["1", "1", "1/4", "1/2"]  # chip 1 has its number, too
    assert found[-1] == "together 1.75 V"
    wires = [ln.get_linewidth() for ln in ax.lines if ln.get_linestyle() == "-"]
    assert [round(w / wires[0], 2) for w in wires] == [1, 0.25, 0.5]


def test_a_high_bar_may_have_its_two_words_on_two_lines():
    run = timeline.play([Task("F send", "network", 2), Task("F", "chip", 30)])
    for high, words in ((0.32, "F"), (0.48, "F\nsend")):
        (ax,) = plot.timeline(
            {"": run}, 1, "s", {"F": ("forward", "forward")}, high=high
        ).flat
        assert ax.texts[0].get_text() == words


def test_slim_leaves_out_words_that_a_phone_has_no_room_for():
    def words(**how):
        run = timeline.play([Task("sum", "chip", 1), Task("B0", "chip", 19)])
        return [
            t.get_text() for t in plot.timeline({"": run}, 1, **how)[0, 0].texts
        ]

    assert words() == ["sum", "B0"]
    assert words(slim=True) == ["B0"]
