"""`cost` and `count` on the same layer, and the command that prints both."""

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType

from shardlab import agreement, cost, count
from shardlab.agreement import main
from shardlab.count.records import VOLUME

# A fault shows at every size; to look for the smallest takes minutes.
FEW = {"max_examples": 4, "phases": (Phase.explicit, Phase.generate)}
BLOCK = {"B": 2**20, "D": 8192, "F": 28_672, "X": 512, "Y": 8}
REAL = BLOCK | {"Z": 8, "H": 64, "G": 8, "E": 64, "k": 2, "m": 32}


def test_every_strategy_moves_what_its_formula_says():
    rows = agreement.rows(**REAL)
    assert {row.ratio for row in rows} == {1}
    assert {row.strategy for row in rows} == set(agreement.STRATEGIES)


def test_it_counts_the_same_whatever_mesh_is_set():
    sizes, kinds = ("fsdp_tp", 64, 32, 128, 4, 2), (AxisType.Explicit,) * 2
    plain = agreement.counts(*sizes)
    with jax.set_mesh(jax.make_mesh((1, 1), ("X", "Y"), axis_types=kinds)):
        assert agreement.counts(*sizes) == plain


@settings(**FEW)
@given(*(st.integers(1, 20) for _ in "bdf"), *(st.integers(2, 8) for _ in "xy"))
def test_they_agree_at_any_size(b, d, f, x, y):
    n = x * y
    rows = agreement.block_rows(b * n, d * n, f * n, x, y)
    assert {row.ratio for row in rows} == {1}
    for row in rows:
        if row.strategy in agreement.BLOCKS and row.strategy != "none":
            ring = cost.gather_share({"X": x, "Y": y}[row.axis], directions=1)
            assert row.sent == ring * row.formula


LAYERS = {**dict.fromkeys("bdf", (1, 9)), **dict.fromkeys("xyzg", (2, 6))}
LAYERS |= {"h": (1, 4), "e": (1, 3), "k": (1, 2), "m": (1, 5)}


def layer_rows(b, d, f, x, y, z, h, g, e, k, m):
    """Rows of LAYERS for sizes that fit, from any small numbers."""
    G, E = g * z, e * z
    H = h * G
    B, D, F = b * y * m * z * E, d * y * H, f * y
    sizes = {"Z": z, "H": H, "G": G, "E": E, "k": min(k, E), "m": m}
    return agreement.layer_rows(agreement.layer_sizes(B, D, F, x, y, **sizes))


@pytest.mark.slow
@settings(**FEW)
@given(**{name: st.integers(*ends) for name, ends in LAYERS.items()})
def test_context_experts_sequence_and_stages_agree_at_any_size(**sizes):
    rows = layer_rows(**sizes)
    assert {row.ratio for row in rows} == {1}
    assert {row.strategy for row in rows} == set(agreement.LAYERS)
    of = {(row.strategy, row.part): row for row in rows}
    for part in "forward", "backward":
        ring, gather = (
            of[f"context, {how}", part] for how in ("ring", "gather")
        )
        assert ring.counted == ring.sent == gather.sent < gather.counted


def test_formulas_and_counts_of_layers_by_hand():
    # The same numbers as plain arithmetic, so that neither side judges itself.
    sizes = {"B": 1200, "D": 60, "F": 72, "X": 3, "Y": 4}
    rows = agreement.rows(**sizes, Z=5, H=20, G=10, E=15, k=2, m=6)
    BD, kv = 2 * 1200 * 60, 2 * 1200 * 30  # bytes of bf16
    expected = {
        "sequence": (2 * BD, 2 * BD + 2 * 2 * 60),
        "sequence, In gathered again": (2 * BD, 3 * BD + 2 * 2 * 60),
        "context, ring": (2 * kv * 4 / 5, 4 * kv * 4 / 5),
        "context, zig-zag": (2 * kv * 4 / 5, 4 * kv * 4 / 5),
        "context, gather": (2 * kv, 4 * kv),
        "context, ulysses": ((BD + kv) / 2, (BD + kv) / 2),
        "expert": (BD, BD + 2 * 2 * 60 * 15),
        "expert, twice the slots": (2 * BD, 2 * BD + 2 * 2 * 60 * 15),
        "gpipe": (BD, BD),
    }
    for name, volumes in expected.items():
        mine = [row for row in rows if row.strategy == name]
        assert [row.part for row in mine] == ["forward", "backward"]
        assert tuple(row.counted for row in mine) == volumes
        assert tuple(row.formula for row in mine) == volumes


LETTER = {"all_gather": "G", "reduce_scatter": "S", "all_reduce": "R"}
LETTER |= {"permute": "P", "all_to_all": "E"}
# What moves in the forward pass, the backward pass and the update.
KINDS = {
    "none": ("", "", ""),
    "dp": ("", "RR", ""),  # T1.4, T1.5
    "zero1": ("", "SS", "GG"),  # EC-7
    "zero2": ("", "SS", "GG"),  # EC-8, C3.11
    "fsdp": ("GG", "GGSS", ""),  # Z3.2, C3.12, EC-9, EC-10
    "fsdp, weights kept": ("GG", "SS", ""),
    "tp": ("GS", "GS", ""),  # T3.4, EZ-2, EC-22
    "tp, In gathered again": ("GS", "GGS", ""),
    "megatron": ("R", "R", ""),  # T3.4, EC-16
    "fsdp_tp": ("GGGS", "GGGSSS", ""),
    "fsdp_tp, weights kept": ("GGGS", "GSSS", ""),
    "fsdp_tp, In gathered again": ("GGGS", "GGGGSSS", ""),
    "sequence": ("GS", "GRS", ""),  # V-4
    "sequence, In gathered again": ("GS", "GGRS", ""),
    "heads": ("GS", "GS", ""),
    "context, ring": ("PP", "PPPP", ""),  # V-4
    "context, zig-zag": ("PP", "PPPP", ""),
    "context, gather": ("GG", "GGSS", ""),
    "context, ulysses": ("EEEE", "EEEE", ""),
    "expert": ("EE", "EER", ""),  # EC-22
    "expert, twice the slots": ("EE", "EER", ""),
    "gpipe": ("PPPPPP", "PPPPPP", ""),
}


def test_each_part_of_a_step_moves_what_its_strategy_needs():
    assert {*KINDS} == {*agreement.STRATEGIES}
    for name, kinds in KINDS.items():
        parts = agreement.counts(name, 64, 64, 128, 4, 4)
        found = ["".join(sorted(LETTER[c.kind] for c in p)) for p in parts]
        assert tuple(found) == kinds, name
        axes = {axis for part in parts for c in part for axis in c.axes}
        assert axes <= {"X", "Y", "Z"}


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
    if kind != "all_to_all" or len(sizes) == 1:
        assert record.sent == cost.sent(kind, V, sizes, directions=1)


@given(st.integers(2, 30), st.integers(1, 9))
def test_a_ring_passes_on_what_an_all_to_all_counts_once(N, rows):
    # `count` has what a device sends of its own; hops are the ring's matter.
    V, record = both("all_to_all", rows, (N,))
    assert record.sent * N * N == (N - 1) * V
    assert record.sent == cost.sent("all_to_all", V, N)
    assert record.sent <= cost.carried("all_to_all", V, N)


def test_every_kind_has_one_convention():
    # The formulas have a Reduce besides, of which JAX has none.
    assert {*cost.VOLUMES} - {*VOLUME} == {"reduce"}
    assert all(cost.VOLUMES[kind] == share for kind, share in VOLUME.items())


def test_a_difference_shows():
    row = agreement.TrafficRow("dp", "backward", "X", 16, 8, 7)
    assert row.ratio == 0.5
    assert agreement.TrafficRow("dp", "forward", "X", 0, 8, 7).ratio == math.inf
    last = agreement.table([row]).splitlines()[-1]
    assert last.split() == ["dp", "backward", "X", "16", "8", "0.5", "7"]


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "fsdp_tp, In gathered again   backward  Y" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--X", "3"], "1048576 must be divisible by axis X of size 3"),
        (["--Y", "1"], "Y must be a"),
        (["--D", "-8"], "D must be a"),
        (["--Z", "1"], "Z must be a"),
        (["--H", "7"], "D = 8192 must be divisible by H = 7"),
        (["--G", "5"], "H = 64 must be divisible by G = 5"),
        (["--G", "4"], "G = 4 must be divisible by Z = 8"),
        (["--k", "65"], "k must be at most E = 64, got 65"),
        (["--E", "12"], "k B = 2097152 must be divisible by Z E = 96"),
        (["--m", "7"], "B = 1048576 must be divisible by m = 7"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
