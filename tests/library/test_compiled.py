"""What engines said of the book's programs, as it is stored."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

from shardlab import compiled, count
from shardlab.compiled import stack


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


def test_an_error_says_what_was_needed():
    assert compiled.needed({"peak": 7}) == 7
    error = "required for HLO temporaries (1.50T) exceeds available HBM (9G)"
    assert compiled.needed({"error": error}) == 1.5 * 2**40
    error = error.replace("1.50T", "12.25G")
    assert compiled.needed({"error": error}) == 12.25 * 2**30
    with pytest.raises(ValueError, match="must name a size, got 'too big'"):
        compiled.needed({"error": "too big"})


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


@pytest.mark.parametrize("way", stack.WAYS)
def test_a_stack_has_the_gradient_of_one_device(way):
    random = np.random.default_rng(3)
    W = random.normal(size=(3, 8, 8)).astype("float32") / 3
    In = random.normal(size=(12, 8)).astype("float32")

    def alone(W):
        Out = In
        for each in W:
            Out = jnp.tanh(Out @ each)
        return jnp.sum(Out**2) / 2

    mesh = jax.make_mesh((4,), ("X",), axis_types=(AxisType.Auto,))
    found = jax.jit(stack.gradient(mesh, way))(W, In)
    np.testing.assert_allclose(found, jax.grad(alone)(W), rtol=1e-4, atol=1e-6)
    gathers = [
        c.times
        for c in count.collectives(stack.gradient(mesh, way), W, In)
        if c.kind == "all_gather"
    ]
    assert sum(gathers) == 6


def test_gathers_in_a_loop_count_for_each_round():
    text = (
        "%body (p: f32[8]) -> f32[8] {\n  %g = f32[8] all-gather(%p)\n}\n"
        "ENTRY %main (p: f32[8]) -> f32[8] {\n"
        "  %g.1 = f32[8] all-gather-start(%p)\n"
        "  %g.2 = f32[8] all-gather-done(%g.1)\n}\n"
    )
    assert stack.gathers(text, 5) == 6


def test_another_way_is_refused():
    mesh = jax.make_mesh((4,), ("X",), axis_types=(AxisType.Auto,))
    with pytest.raises(ValueError, match="way"):
        stack.gradient(mesh, "merged")


def test_what_was_offered_is_read_from_the_refusal():
    refused = compiled.step("llama-3-8b", "dp", "products", X=64)
    assert compiled.offered(refused) == 95.73 * 2**30
    assert compiled.needed(refused) > compiled.offered(refused)
    with pytest.raises(ValueError, match="must name the memory"):
        compiled.offered(compiled.step("llama-3-8b", "fsdp", "input", X=64))


def test_what_a_gpu_took_lies_between_its_least_and_its_most():
    found = compiled.measured()
    assert found["chip"]["name"] == "h200"
    assert not found["quick"]
    for part in found["parts"].values():
        assert "error" not in part
        for row in part.get("rows", ()):
            assert "error" not in row
            assert row["seconds_least"] <= row["seconds"] <= row["seconds_most"]
