"""Timelines as files for a viewer, and a profiler's files as timelines."""

import gzip
import json

import pytest

from shardlab import trace
from shardlab.timeline import Done
from tests.each import each

PLAYED = [
    Done("gather", "network", 0.0, 0.003),
    Done("product", "chip", 0.003, 0.0075),
    Done("gather 2", "network", 0.003, 0.004),
]


def test_events_say_where_and_when():
    names = [e for e in trace.events(PLAYED, "plan") if e["ph"] == "M"]
    assert [e["args"]["name"] for e in names] == ["network", "chip"]
    ran = [e for e in trace.events(PLAYED, "plan") if e["ph"] == "X"]
    assert [e["tid"] for e in ran] == [0, 1, 0]
    assert [e["pid"] for e in ran] == ["plan"] * 3
    assert ran[1]["ts"] == pytest.approx(3000)
    assert ran[1]["dur"] == pytest.approx(4500)


def test_a_file_holds_several_timelines(tmp_path):
    path = tmp_path / "both.json"
    trace.write(path, planned=PLAYED, ran=PLAYED[:1])
    found = json.loads(path.read_text())["traceEvents"]
    assert {e["pid"] for e in found} == {"planned", "ran"}
    assert sum(e["ph"] == "X" for e in found) == 4


def test_no_timeline_is_refused(tmp_path):
    with pytest.raises(ValueError, match="played"):
        trace.write(tmp_path / "none.json", nothing=[])


def event(name, ts, dur, device="0", op=True):
    args = {"hlo_op": name, "device_ordinal": device} if op else {}
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "args": args}


@pytest.mark.parametrize("end", [".json", ".json.gz"])
def test_a_profile_is_read_in_order(tmp_path, end):
    ran = [
        event("dot.3", 5000, 2000),
        event("all_gather.1", 1000, 500),
        event("reduce_scatter.7", 8000, 10),
        event("Rendezvous", 0, 9000, op=False),
    ]
    text = json.dumps({"traceEvents": ran}).encode()
    path = tmp_path / f"run.trace{end}"
    path.write_bytes(gzip.compress(text) if end.endswith("gz") else text)
    found = trace.read(path)
    assert [done.name for done in found] == [
        "all_gather.1",
        "dot.3",
        "reduce_scatter.7",
    ]
    assert [done.queue for done in found] == ["network", "chip", "network"]
    assert found[1].start == pytest.approx(5e-3)
    assert found[1].end == pytest.approx(7e-3)


def test_several_devices_have_queues_of_their_own(tmp_path):
    ran = [event("dot.3", 0, 1, "0"), event("psum.1", 2, 1, "1")]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"traceEvents": ran}))
    assert [done.queue for done in trace.read(path)] == ["chip 0", "network 1"]


@pytest.mark.parametrize(
    "name",
    ["all-gather.2", "all-reduce", "reduce-scatter.1", "all-to-all.9"]
    + ["collective-permute.3", "all_to_all.4", "ppermute.1", "psum.5"],
)
def test_collectives_by_their_names(name, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"traceEvents": [event(name, 0, 1)]}))
    assert trace.read(path)[0].queue == "network"


def test_a_profile_without_programs_is_refused(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"traceEvents": [event("x", 0, 1, op=False)]}))
    with pytest.raises(ValueError, match="empty.json has no operation"):
        trace.read(path)


@each(
    ("others", "seconds"),
    [
        ([], 4),
        ([(0, 1), (7, 9)], 4),
        ([(0, 3)], 3),
        ([(3, 4)], 3),
        ([(3, 4), (3.5, 5)], 2),
        ([(5, 8), (2, 3)], 2),
        ([(1, 7)], 0),
        ([(0, 3), (6, 7)], 3),
    ],
)
def test_what_others_leave_uncovered(others, seconds):
    others = [Done(f"{n}", "chip", *ends) for n, ends in enumerate(others)]
    task = Done("gather", "network", 2, 6)
    assert trace.uncovered(task, others) == pytest.approx(seconds)
