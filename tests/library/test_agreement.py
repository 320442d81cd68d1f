"""`cost` and `count` on the same layer, and the command that prints both."""

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType

from shardlab import agreement, cost, count
from shardlab.agreement import main

REAL = {"B": 2**20, "D": 8192, "F": 28_672, "X": 512, "Y": 8}


def test_every_strategy_moves_what_its_formula_says():
    rows = agreement.rows(**REAL)
    assert {row.ratio for row in rows} == {1}
    assert {row.strategy for row in rows} == set(agreement.STRATEGIES)


@given(*(st.integers(1, 20) for _ in "bdf"), *(st.integers(2, 8) for _ in "xy"))
def test_they_agree_at_any_size(b, d, f, x, y):
    n = x * y
    rows = agreement.rows(b * n, d * n, f * n, x, y)
    assert {row.ratio for row in rows} == {1}
    for row in rows:
        if row.strategy != "none":
            ring = cost.gather_share({"X": x, "Y": y}[row.axis], directions=1)
            assert row.sent == ring * row.formula


COLLECTIVES = {
    "all_gather": lambda x, axes: lax.all_gather(x, axes, tiled=True),
    "reduce_scatter": lambda x, axes: lax.psum_scatter(x, axes, tiled=True),
    "all_reduce": lax.psum,
    "all_to_all": lambda x, axes: lax.all_to_all(x, axes, 1, 0, tiled=True),
}


def both(kind, rows, sizes):
    """Whole array and counted record of a collective over all mesh axes."""
    names = ("X", "Y", "Z")[: len(sizes)]
    mesh, N = AbstractMesh(sizes, names), math.prod(sizes)
    mesh = AbstractMesh(sizes, names, (AxisType.Auto,) * len(sizes))
    spread = kind in ("all_gather", "all_to_all")
    f = jax.shard_map(
        lambda x: COLLECTIVES[kind](x, names),
        mesh=mesh,
        in_specs=P(names) if spread else P(),
        out_specs=P(),
        check_vma=False,
    )
    x = jax.ShapeDtypeStruct((N * rows, N), jnp.bfloat16)
    (record,) = count.collectives(f, x)
    return 2 * N * rows * N, record


@given(
    st.sampled_from(list(COLLECTIVES)),
    st.integers(1, 30),
    st.lists(st.integers(2, 6), min_size=1, max_size=3),
)
def test_one_collective_costs_what_is_counted(kind, rows, sizes):
    V, record = both(kind, rows, tuple(sizes))
    assert record.kind == kind
    assert record.volume == cost.volume(kind, V)
    if kind != "all_to_all":
        assert record.sent == cost.sent(kind, V, sizes, directions=1)


@given(st.integers(2, 30), st.integers(1, 9))
def test_a_ring_passes_on_what_an_all_to_all_counts_once(N, rows):
    # `count` has what a device sends of its own; hops are the ring's matter.
    V, record = both("all_to_all", rows, (N,))
    assert record.sent * N * N == (N - 1) * V
    assert record.sent <= cost.sent("all_to_all", V, N)


def test_a_difference_shows():
    row = agreement.Row("dp", "backward", "X", 16, 8, 7)
    assert row.ratio == 0.5
    assert agreement.Row("dp", "forward", "X", 0, 8, 7).ratio == math.inf
    last = agreement.table([row]).splitlines()[-1]
    assert last.split() == ["dp", "backward", "X", "16", "8", "0.5", "7"]


def test_the_command_prints_every_strategy_with_ratio_one(capsys):
    main([])
    title, _, head, *lines = capsys.readouterr().out.splitlines()
    assert all(f"{name} = {size:,}" in title for name, size in REAL.items())
    assert head.split()[:3] == ["strategy", "part", "axis"]
    assert len(lines) == len(agreement.rows(**REAL))
    for line, row in zip(lines, agreement.rows(**REAL), strict=True):
        assert line.startswith(row.strategy)
        *_, formula, counted, ratio, _ = line.split()
        assert formula == counted == f"{row.formula:,}"
        assert ratio == "1"


def test_the_command_runs_from_the_shell():
    command = [
        sys.executable,
        "-m",
        "shardlab.agreement",
        "--X",
        "4",
        "--Y",
        "2",
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0
    assert "fsdp_tp, In gathered again  backward  Y" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--X", "3"], "1048576 must be divisible by axis X of size 3"),
        (["--Y", "1"], "Y must be a whole number of at least 2, got 1"),
        (["--D", "-8"], "D must be a finite number above 0, got -8"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
