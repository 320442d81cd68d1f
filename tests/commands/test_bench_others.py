"""Steps of others, counted once, stored, and counted again where they are."""

import importlib.util
import json

import pytest

from bench.others import forty
from bench.others.patterns import SOURCES
from bench.others.programs import PROGRAMS
from shardlab.inspection import others

NAMES = ("JAX", "Equinox", "Flax", "MaxText")


def test_the_stored_rows_add_up():
    found = others()
    assert set(found["read"]) == set(PROGRAMS) - {"equinox"}
    for row in found["rows"]:
        _, level, volume, flops, links, math = row["row"]
        assert level in ("program", "partitioner")
        assert volume == sum(row["kinds"].values())
        assert min(flops, links, math, row["arguments"]) > 0
    titles = [row["title"] for row in found["rows"]]
    assert all(any(t.startswith(name) for t in titles) for name in NAMES)


@pytest.mark.long
def test_equinox_is_counted_as_it_was():
    if importlib.util.find_spec("equinox") is None:
        pytest.skip("Equinox is not installed: requirements-others.txt")
    from shardlab.inspection import inspect_step
    from shardlab.inspection.stored import as_row

    ((title, step, args),) = PROGRAMS["equinox"](".")
    (stored,) = (r for r in others()["rows"] if r["title"] == title)
    again = as_row(title, inspect_step(step, *args))
    assert again["kinds"] == stored["kinds"]
    assert list(again["row"])[:4] == stored["row"][:4]


def stored_forty():
    return json.loads(forty.STORED.read_text(encoding="utf-8"))["rows"]


def test_forty_programs_are_counted_or_refused_by_name():
    rows = stored_forty()
    assert len(rows) >= 40
    assert all(row["version"] for row in rows)
    for row in rows:
        if row["verdict"] == "refused":
            assert row["why"].startswith("cannot count `"), row["title"]


def test_two_readers_agree_on_every_count():
    for row in stored_forty():
        if row["verdict"] == "counted":
            said, found = dict(row["counted"]), dict(row["read"])
            if any("FLOPs" in gap for gap in row["gaps"]):
                said["FLOPs"] = found["FLOPs"] = None
            if row["title"] not in forty.DIFFER:
                assert said == found, row["title"]


@pytest.mark.slow
@pytest.mark.parametrize("make", SOURCES)
def test_a_pattern_is_counted_as_it_was(make):
    if importlib.util.find_spec(SOURCES[make][1]) is None:
        pytest.skip(f"{SOURCES[make][1]} is not installed")
    rows = {row.get("pattern"): row for row in stored_forty()}
    stored = rows[make.__name__]
    again = forty.counted(*make(), stored["title"])
    assert again == {key: stored[key] for key in again}
