"""Films of layers dealt to stages, and of stages that are nodes."""

import re

import pytest

from shardlab import pipeline, plot
from shardlab.plot.dealing import visits
from shardlab.plot.schedules import way_of


def captions(film):
    """What each frame says."""
    return re.findall(r"<figcaption>(.*?)<", film.html)


@pytest.mark.parametrize("v", [1, 2, 4])
def test_nobody_comes_before_it_has_left_the_stage_before(v):
    p, layers = 4, 16
    each = layers // (p * v)
    found = visits(p, v, layers, p)
    starts = {(e.microbatch, e.chunk * p + e.stage): e.start for e in found}
    for (i, part), start in starts.items():
        if part:
            assert start >= starts[i, part - 1] + each
    for s in range(p):
        mine = sorted(e.start for e in found if e.stage == s)
        gaps = [b - a for a, b in zip(mine, mine[1:], strict=False)]
        assert set(gaps) == {each}


@pytest.mark.parametrize(("v", "waits"), [(2, 6), (4, 3)])
def test_chunks_divide_what_stages_wait(v, waits):
    film = plot.dealt_player(4, v, 16)
    last = captions(film)[-1]
    assert "one chunk: done, every stage has waited 12" in last
    assert f"{v} chunks: done, every stage has waited {waits}" in last


def test_layers_must_divide():
    with pytest.raises(ValueError, match="layers must be a multiple"):
        plot.dealt_player(4, 2, 12)
    with pytest.raises(ValueError, match="layers must be a multiple"):
        plot.nodes_player(5, 8, 81)


def test_a_microbatch_is_on_all_gpus_of_a_node_and_then_of_the_next():
    film = plot.nodes_player(3, 4, 6, 2)
    found = captions(film)
    assert len(found) == 4
    assert found[0].endswith("node 0 has 0, node 1 waits, node 2 waits")
    assert found[1].endswith("node 0 has 1, node 1 has 0, node 2 waits")
    assert found[-1].endswith("node 0 waits, node 1 waits, node 2 has 1")
    assert film.html.count(">0000</text>") == film.html.count(">1111</text>")
    assert film.html.count(">0000</text>") == 3


def test_the_way_of_a_microbatch_is_its_tasks_in_order():
    events = pipeline.zero_bubble(4, 8, 1, 2, 1)
    (ax,) = plot.gantt({"": events}).flat
    found = way_of(ax, events, 0)
    assert [round(top) for _, _, top in found] == [0, 1, 2, 3, 3, 2, 1, 0]
    assert all(a[1] <= b[0] for a, b in zip(found, found[1:], strict=False))
    twice = plot.gantt({"": events}, follow=[0])[0, 0].lines
    assert len(twice) == len(ax.lines) == 8 + 7


def test_a_chunk_counts_as_its_part_of_a_stage():
    events = pipeline.interleaved(4, 8, 2, 1, 2)
    ax = plot.in_flight({"whole": events, "half": events}, {"half": 0.5})
    found = [t.get_text() for t in ax.texts if t.get_text()[0].isdigit()]
    assert found[:8] == ["11", "9", "7", "5", "5.5", "4.5", "3.5", "2.5"]
