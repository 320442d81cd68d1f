"""Steps of others, counted once, stored, and counted again where they are."""

import importlib.util

import pytest

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
