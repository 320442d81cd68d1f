"""The page of every strategy: each line is what is seen when it runs now."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shardlab import agreement, count, evidence, memory, pipeline
from shardlab.transformer.evidence import PRODUCTS
from tools import strategies

PAGE = strategies.TARGET.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def compile_quickly():
    """Each program runs once: compiling it well would take longer."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


MAKE_PRODUCTS = """
import jax
from tools import strategies
jax.config.update("jax_disable_most_optimizations", True)
print("\\n".join(strategies.product_section()))
"""
SECTIONS = {
    "block": strategies.block_section,
    "layers": strategies.layer_section,
    "pipelines": strategies.pipeline_section,
    "alive": strategies.alive_section,
    "full size": strategies.large_section,
}


@pytest.mark.long  # the digest below says whether a line can have changed
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_of_the_page_is_what_is_counted_now(name):
    # The lines of the Transformer are compared where they are made, in
    # test_transformer.
    assert "\n".join(SECTIONS[name]()) in PAGE, "run: make notebooks"


@pytest.mark.long
def test_the_products_on_the_page_are_what_is_counted_now():
    # One of them wants sixteen devices; the tests have eight.
    run = subprocess.run(
        [sys.executable, "-c", MAKE_PRODUCTS],
        env=os.environ | {"JAX_NUM_CPU_DEVICES": "16"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() in PAGE, "run: make notebooks"


def test_the_page_was_made_from_the_library_as_it_is():
    # The pipelines of the Transformer are run for the page alone.
    found = strategies.MARK.search(PAGE).group(1)
    assert found == strategies.origin(), "run: make notebooks"


def test_the_page_has_all_sections_and_no_line_more():
    body = strategies.MARK.sub("", PAGE).lstrip()
    assert body.startswith(strategies.HEAD)
    titles = [line for line in body.splitlines() if line.startswith("## ")]
    assert len(titles) == 6
    lines = [line for line in body.splitlines() if line.startswith("| ")]
    tables = sum(line.startswith("| ---") for line in lines)
    layers = len(agreement.LAYERS) - 1  # gpipe is among the pipelines
    transformers = 2 * len(strategies.STRATEGIES) + 5  # here, there, alive
    pipelines = 2 * len(evidence.SCHEDULES)
    rows = len(agreement.BLOCKS) + layers + pipelines + transformers
    rows += len(PRODUCTS)
    assert len(lines) == rows + 2 * tables


# --- what the page says in words ----------------------------------------------


def test_what_is_striking_of_the_block():
    formulas = agreement.formulas(evidence.B, evidence.D, evidence.F, 8, 8)
    total = {
        name: sum(step.total for step in axes.values())
        for name, axes in formulas.items()
    }
    assert total["dp"] == total["zero1"] == total["zero2"]
    assert 2 * total["fsdp"] == 3 * total["dp"]
    assert total["tp"] == total["megatron"]
    whole, cut = (evidence.promised_bytes(8, N, 3) for N in (1, 8))
    assert {name: 8 * n for name, n in cut.items()} == whole


def test_the_products_are_many_and_reach_four_axes():
    assert len(PRODUCTS) > 20
    assert max(len(chips) for chips, _ in PRODUCTS.values()) == 4


def test_what_is_striking_of_the_layers():
    formulas = agreement.layer_formulas(evidence.SIZES)
    ulysses = formulas["context, ulysses"].total
    assert 2 * ulysses == formulas["context, gather"].total
    twice = formulas["expert, twice the slots"].forward
    assert twice == 2 * formulas["expert"].forward


# --- a strategy that is wrong does not get onto the page ----------------------


def seen(**changes):
    row = agreement.TrafficRow(
        "dp", "backward", "X", 8, changes.pop("counted", 8), 7
    )
    held = {"weights": 8, "gradients": 8, "states": 48}
    nothing = ((), (), ())
    facts = {"loss": 0, "gradients": 0, "step": 0, "held": held} | changes
    return evidence.Evidence(
        "dp", {"X": 2}, moved=nothing, rows=[row], promised=held, **facts
    )


def test_a_line_of_the_page():
    line = strategies.row(seen(loss=2e-7))
    assert line == (
        "| dp<br>*X&nbsp;=&nbsp;2* | 5&nbsp;digits | – | 1.000 | "
        "weights&nbsp;8<br>gradients&nbsp;8<br>states&nbsp;48 |"
    )
    assert "| exactly |" in strategies.row(seen())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": 1e-5}, "dp differs from one device"),
        ({"gradients": 1e-4}, "dp differs from one device"),
        ({"step": 1.0}, "dp differs from one device"),
        ({"counted": 9}, "count and formula differ"),
        ({"held": {"weights": 1}}, "dp holds"),
    ],
    ids=str,
)
def test_a_wrong_strategy_stops_the_page(change, message):
    with pytest.raises(ValueError, match=message):
        strategies.row(seen(**change))


def test_a_deviation_is_seen():
    W = {"a": np.ones(3), "b": np.array([[1.0, -4.0]])}
    other = {"a": np.ones(3), "b": np.array([[1.0, -3.0]])}
    assert evidence.deviation(W, W) == 0
    assert evidence.deviation(other, W) == 0.25
    assert evidence.deviation({"a": np.zeros(2)}, {"a": np.zeros(2)}) == 0
    with pytest.raises(ValueError, match="shape"):
        evidence.deviation({"a": np.ones(2)}, {"a": np.ones(3)})
    with pytest.raises(ValueError, match=r"shape \(3,\), got \(1,\)"):
        evidence.deviation(np.ones(1), np.ones(3))
    with pytest.raises(ValueError, match="finite"):
        evidence.deviation(np.array([np.nan]), np.ones(1))


def test_each_part_of_a_step_is_compared():
    one = jnp.ones(2)
    alone = evidence.Ran(one, (one,), (one,), (one, one))
    assert evidence.deviations(alone, alone) == (0, 0, 0)
    for change, wanted in (
        ({"parts": one + 1}, (1, 0, 0)),
        ({"gradients": (one + 1,)}, (0, 1, 0)),
        ({"weights": (one + 1,)}, (0, 0, 1)),
        ({"states": (one, one + 1)}, (0, 0, 1)),
    ):
        found = alone._replace(**change)
        assert evidence.deviations(found, alone) == wanted
    found = evidence.Ran(one, (one,))
    assert evidence.deviations(found, found) == (0, 0, None)


def test_there_and_back_are_counted_apart():
    mesh = evidence.no_devices({"Z": 2})
    there = jax.shard_map(
        lambda x: jax.lax.ppermute(x, "Z", [(0, 1)]),
        mesh=mesh,
        in_specs=jax.P("Z"),
        out_specs=jax.P("Z"),
    )
    moved = count.collectives(there, jnp.ones((2, 3)))
    forward, backward = evidence.boundary_rows("x", moved, 12)
    assert (forward.part, forward.counted) == ("forward", 12)
    assert (backward.part, backward.counted) == ("backward", 0)


def test_what_lies_unevenly_has_no_bytes_each():
    one, other = jax.devices()[:2]
    tree = [jnp.ones(2), jnp.ones(3)]
    tree = [
        jax.device_put(x, d) for x, d in zip(tree, (one, other), strict=True)
    ]
    with pytest.raises(ValueError, match="evenly"):
        evidence.bytes_each(tree)
    assert evidence.bytes_each([]) == 0


def test_what_is_promised_is_the_zero_papers_figure():
    # 7.5 billion parameters on 64 devices: 120, 31.4, 16.6 and 1.9 GB.
    found = [
        sum(evidence.promised_bytes(7.5e9, 64, zero).values()) / 1e9
        for zero in range(4)
    ]
    assert found == pytest.approx([120, 31.4, 16.6, 1.9], abs=0.05)
    for zero in range(4):
        whole = evidence.promised_bytes(7.5e9, 64, zero)
        assert sum(whole.values()) == memory.state_bytes(7.5e9, 64, zero)


def test_schedules_of_the_page_are_legal():
    for make, v in evidence.SCHEDULES.values():
        ways = pipeline.routes(evidence.STAGES, evidence.MICROBATCHES, v)
        assert pipeline.check(make(), ways)


@pytest.mark.parametrize(
    ("look", "name"),
    [
        (evidence.of_block, "fast"),
        (evidence.of_layer, "gpipe"),
        (evidence.of_pipeline, "fast"),
    ],
    ids=["block", "layer", "pipeline"],
)
def test_an_unknown_strategy_is_named(look, name):
    with pytest.raises(ValueError, match="name must be one of"):
        look(name)
