"""PyTorch's stored counts are read as the book counts, and hold together."""

import ast

import pytest

from shardlab import foreign, pipeline
from shardlab.plot.programs import programs, without_docstrings
from tests.tree import ROOT

PROGRAMS = ROOT / "bench/torch_counts"


def record(kind, V, **how):
    """A record of one collective over X, in the backward pass."""
    common = {"part": "backward", "axis": "X", "times": 1}
    return common | {"kind": kind, "V": V} | how


def test_volumes_are_those_of_the_book():
    kinds = {
        "all_gather": 8,
        "reduce_scatter": 8,
        "all_reduce": 16,
        "all_to_all": 2,
        "permute": 8,
        "broadcast": 8,
    }
    for kind, volume in kinds.items():
        assert foreign.volume([record(kind, 8)]) == volume
    assert foreign.volume([record("all_to_all", 2)]) == 0.5


def test_volumes_of_an_axis_and_of_a_part():
    records = [record("all_gather", 8, times=3), record("permute", 1, axis="Y")]
    assert foreign.volume(records) == 25
    assert foreign.volume(records, axis="Y") == 1
    assert foreign.volume(records, part="forward") == 0


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="strategy must be one of"):
        foreign.counted("zero7", X=8)
    with pytest.raises(ValueError, match="mesh must be one of"):
        foreign.counted("dp", X=9)
    with pytest.raises(ValueError, match="schedule must be one of"):
        foreign.orders("2F2B")


def test_every_run_says_where_it_ran():
    found = foreign.stored()
    assert found["versions"]["torch"].startswith("2.13.0")
    meshes = [run["mesh"] for run in found["counts"]]
    assert {"X": 4096} in meshes
    assert {"X": 512, "Y": 8} in meshes
    for run in found["counts"]:
        assert foreign.counted(run["strategy"], **run["mesh"])
        for one in run["records"]:
            assert run["mesh"][one["axis"]] == one["ranks"]


def test_the_programs_on_the_page_are_those_that_are_run():
    """Without PyTorch, from the text of the modules alone."""
    texts = {}
    for name in ("programs.py", "steps.py"):
        source = (PROGRAMS / name).read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                texts[node.name] = ast.get_source_segment(source, node)
    zero1, shown = texts["zero1"], foreign.stored()["programs"]
    assert "ZeroRedundancyOptimizer" in zero1
    for name, text in shown.items():
        assert text.strip() == texts[name].strip(), f"{name} is stale"


@pytest.mark.parametrize(
    "schedule",
    [
        "GPipe",
        "Interleaved1F1B",
        "InterleavedZeroBubble",
        "ZBVZeroBubble",
        "DualPipeV",
    ],
)
def test_orders_can_be_played(schedule):
    orders, ways = foreign.orders(schedule)
    lasts = dict.fromkeys(("forward", "backward", "input", "weight"), 1)
    lasts |= {"forward&backward": 2, "backward&forward": 2}
    events = pipeline.play(orders, ways, lasts)
    pipeline.check(events, ways)
    work = sum(len(way) for way in ways)
    forwards = [e for e in events if e.kind.startswith("forward")]
    assert len(forwards) == work


def test_1f1b_as_it_is_printed_cannot_be_played_and_as_it_ran_it_can():
    lasts = {"forward": 1, "backward": 2}
    with pytest.raises(ValueError, match="microbatch 8 on stage 3"):
        pipeline.play(*foreign.orders("1F1B"), lasts)
    orders, ways = foreign.orders("1F1B", ran=True)
    ours = [pipeline.one_f_one_b_order(s, 4, 8) for s in range(4)]
    assert [list(map(tuple, order)) for order in orders] == ours
    assert len(ways) == 8


def test_gathers_by_module():
    found = foreign.gathers_by_module()
    assert sum(found.values()) == 4
    assert found["W_out", "backward"] == 2


def test_programs_lose_their_docstrings_and_nothing_else():
    text = 'def f(x):\n    """What it\n    does."""\n    return x  # x[B]\n'
    assert without_docstrings(text) == "def f(x):\n    return x  # x[B]"
    both = programs(JAX=text, Py_Torch="y = 1 < 2")
    assert "Py Torch" in repr(both)
    assert "1 &lt; 2" in both._repr_html_()
    assert "does" not in both._repr_html_()
    with pytest.raises(ValueError, match="needs a text"):
        programs()
