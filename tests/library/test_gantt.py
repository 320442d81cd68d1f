"""A Gantt chart shows every event, in its place, and nothing else."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from shardlab import pipeline, plot
from shardlab.plot import colours
from shardlab.plot.schedules import LOOKS


def bars(ax):
    """Left end, right end and row of each bar."""
    return sorted(
        (r.get_x(), r.get_x() + r.get_width(), round(r.get_y() + 0.42))
        for r in ax.patches
        if isinstance(r, Rectangle)
    )


@pytest.mark.parametrize(
    "events",
    [
        pipeline.gpipe(4, 6, 1, 2),
        pipeline.interleaved(2, 4, 2, 1, 2),
        pipeline.zero_bubble(3, 5),
    ],
    ids=["gpipe", "interleaved", "zero-bubble"],
)
def test_a_bar_for_each_event_with_its_microbatch(events):
    (ax,) = plot.gantt({"title": events}).flat
    expected = sorted((float(e.start), float(e.end), e.stage) for e in events)
    np.testing.assert_allclose(bars(ax), expected)
    labels = sorted(t.get_text().rstrip("′") for t in ax.texts)
    assert labels == sorted(str(e.microbatch) for e in events)
    assert "stage" in ax.get_ylabel()
    assert "time" in ax.get_xlabel()


def test_a_pair_is_two_bars_one_above_the_other():
    events = pipeline.dualpipe(2, 4)
    pairs = [e for e in events if "&" in e.kind]
    (ax,) = plot.gantt({"dual": events}).flat
    assert pairs
    assert len(bars(ax)) == len(events) + len(pairs)


def test_schedules_share_their_time_axis():
    axes = plot.gantt(
        {"long": pipeline.gpipe(2, 3, 1, 2), "short": pipeline.gpipe(2, 1)}
    )
    assert len({ax.get_xlim() for ax in axes.flat}) == 1
    assert axes[0, 0].get_xlim()[1] >= pipeline.makespan(
        pipeline.gpipe(2, 3, 1, 2)
    )


def test_kinds_differ_without_colours():
    fills = [look["fc"] for _, look in LOOKS.values()]
    greys = sorted(colours.lightness(fill) for fill in fills)
    assert min(b - a for a, b in pairwise(greys)) > 10
