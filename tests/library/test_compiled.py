"""What engines said of the book's programs, as it is stored."""

import pytest

from shardlab import compiled


def test_what_is_stored_has_a_date_and_versions():
    for found in (compiled.compiled(), compiled.traced()):
        assert found["date"].startswith("20")
        assert found["versions"]["jax"]


def test_every_stored_row_is_found():
    stored = compiled.compiled()
    for row in stored["steps"]:
        names = row["model"], row["strategy"], row["keeps"]
        assert compiled.step(*names, **row["mesh"]) == row
        assert ("peak" in row) != ("error" in row)
    for row in stored["blocks"]:
        found = compiled.block(row["strategy"], row["topology"], **row["mesh"])
        assert found == row


def test_what_is_not_stored_is_refused_with_what_is():
    with pytest.raises(ValueError, match="llama-3-8b.*got .*'fsdp'.*65"):
        compiled.step("llama-3-8b", "fsdp", "input", X=65)
    with pytest.raises(ValueError, match="v5e:2x2.*got .*v9"):
        compiled.block("dp", "v9", X=4)


def test_a_peak_holds_arguments_and_no_more_than_all():
    stored = compiled.compiled()
    for row in stored["steps"] + stored["blocks"]:
        if "peak" in row:
            parts = row["arguments"], row["results"], row["temporary"]
            assert max(parts) <= row["peak"] <= 1.02 * sum(parts)


def test_the_trace_has_every_operation_once_a_step():
    for rows in compiled.traced()["processes"]:
        names = [(step, done.name) for step, done in rows]
        assert len(names) == len(set(names))
        per_step = [sum(n == step for n, _ in rows) for step in range(3)]
        assert len(set(per_step)) == 1
        assert all(done.start <= done.end for _, done in rows)
