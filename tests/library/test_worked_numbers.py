"""Worked numbers of the sources, each computed by an instrument.

The id of every case is the row of book/sources.yml that it reproduces, which
says what its letters stand for; where a row has several numbers a word
follows. Rows that other files of this folder cite are not repeated here.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, reshard

from shardlab import (
    agreement,
    cost,
    count,
    hw,
    memory,
    notation,
    pipeline,
    plan,
    ring,
)
from shardlab.strategies import block, dp, fsdp, fsdp_tp, one_chip, tp, zero1
from tests.each import each

V4P, V5E, V5P = hw.V4P, hw.V5E, hw.V5P
LLAMA_2_13B = 13_015_449_600
GPT_3 = {"s": 2048, "b": 1, "h": 12_288, "a": 96}
SBH = 2048 * 12_288

# Sums and products of a few floats round in the last of sixteen places.
near = partial(pytest.approx, rel=1e-12)


def printed(value):
    """A number as a text prints it: right to half a unit of its last digit."""
    digits = f"{value}".rstrip("0").rstrip(".")
    places = len(digits.partition(".")[2])
    return pytest.approx(value, abs=0.5 * 10**-places)


def mesh(kind=AxisType.Auto, **sizes):
    return AbstractMesh(
        tuple(sizes.values()), tuple(sizes), (kind,) * len(sizes)
    )


def laid(shape, *spec, on, dtype=jnp.bfloat16):
    sharding = NamedSharding(on, P(*spec))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


# ---- S: bytes of arrays, and collectives of programs -------------------------

FOUR = mesh(X=2, Y=2)
CUBE = mesh(X=4, Y=8, Z=2)
LOCAL = partial(laid, on=FOUR, dtype=jnp.int8)  # bytes are elements

HELD = {
    "S1.2": (LOCAL((8, 16), "X", "Y"), 4 * 8),
    "S1.3": (LOCAL((8, 16), ("X", "Y")), 2 * 16),
    "S1.6": (LOCAL((8, 16), "X"), 2 * (8 * 16) // 4),
    "S1.7": (LOCAL((8, 16), "X", "Y"), 8 * 16 // 4),
    "S2.2-A": (laid((8, 2048), "X", "Y", on=mesh(X=4, Y=2)), 2 * 2 * 1024),
    "S2.2-B": (laid((2048, 8192), None, "Y", on=mesh(X=4, Y=2)), 2**25 // 2),
    "S9.1": (laid((64, 5), ("X", "Y"), on=mesh(X=4, Y=8)), 2 * 64 * 5 // 32),
    "V-8": (LOCAL((8, 16), ("Y", "X")), 2 * 16),
}


@each(("array", "expected"), [pytest.param(*w, id=i) for i, w in HELD.items()])
def test_bytes_on_each_device(array, expected):
    assert count.held(array) == expected  # whole bytes, so no tolerance


SHARDED = count.held(laid((8, 2**10), "X", on=CUBE))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param(count.held(laid((8, 2**10), on=CUBE)), 16, id="S10.1"),
        pytest.param(SHARDED, 64, id="ES-14"),
    ],
)
def test_total_of_problem_1_over_a_reference(reference, expected):
    # Total bytes over one full copy, and over one chip; whole bytes.
    assert CUBE.size * SHARDED == expected * reference


EXPLICIT = mesh(AxisType.Explicit, X=4, Y=2)
Global = partial(laid, on=EXPLICIT)
I, J, K = 16, 32, 64


def matmul(*out, **options):
    spec = P(*out, **options)
    return lambda A, B: jnp.einsum("ij,jk->ik", A, B, out_sharding=spec)


# Volumes in bytes of bf16: AllGather and ReduceScatter the array, AllReduce 2.
MATMULS = {
    "S2.3": (  # one AllGather over Y, of A's rows on X
        *(matmul("X", "Y"), ("X", "Y"), (None, "Y")),
        {("all_gather", "Y"): 2 * I * J // 4},
    ),
    "S3.6-1": (matmul("X", "Y"), ("X",), (None, "Y"), {}),
    "S3.6-2": (
        *(matmul(None, None), (None, "X"), ()),
        {("all_gather", "X"): 2 * I * J},
    ),
    "S3.6-3": (
        *(matmul(None, None), (None, "X"), ("X",)),
        {("all_reduce", "X"): 2 * 2 * I * K},
    ),
    "S3.6-4": (
        *(matmul("X", None), ("X",), (None, "X")),
        {("all_gather", "X"): 2 * J * K},
    ),
    "S4.1": (matmul(None, None), (), (), {}),
    "S10.9-1": (
        *(matmul(None, None), (None, "X"), ("X",)),
        {("all_reduce", "X"): 2 * 2 * I * K},
    ),
    "S10.9-2": (
        *(matmul("X", None), (None, "X"), ("X",)),
        {("reduce_scatter", "X"): 2 * I * K},
    ),
    "ES-10-rows": (
        *(matmul("X", None), (None, "X"), ("X",)),
        {("reduce_scatter", "X"): 2 * I * K},
    ),
    "ES-10-columns": (
        *(matmul(None, "X"), (None, "X"), ("X",)),
        {("reduce_scatter", "X"): 2 * I * K},
    ),
    "ES-17": (matmul("X", "Y"), ("X",), (None, "Y"), {}),
}


@each(
    ("f", "A", "B", "expected"),
    [pytest.param(*w, id=i) for i, w in MATMULS.items()],
)
def test_volumes_of_sharded_matmuls(f, A, B, expected):
    with jax.sharding.use_abstract_mesh(EXPLICIT):
        moved = count.collectives(f, Global((I, J), *A), Global((J, K), *B))
    assert count.volumes(moved) == expected  # whole bytes, so no tolerance


def volume_of(f, *arrays):
    with jax.sharding.use_abstract_mesh(EXPLICIT):
        return count.volume(count.collectives(f, *arrays))


@pytest.mark.parametrize(
    ("contraction", "expected"),
    [pytest.param(2 * K, 2, id="S10.9"), pytest.param(K, 1, id="S10.9-square")],
)
def test_gather_over_scatter_costs_M_over_K(contraction, expected):
    A, whole = Global((I, contraction), None, "X"), Global((contraction, K))
    cut = Global((contraction, K), "X")
    gathered = volume_of(matmul(None, None), A, whole)
    assert gathered == expected * volume_of(matmul("X", None), A, cut)


def gather_both(A, B):
    return reshard(A, P()), reshard(B, P())


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(gather_both, 268.4, id="ES-3-A-and-B"),
        pytest.param(
            lambda A, B: reshard(reshard(matmul("X", "Y")(A, B), P("X")), P()),
            134.2 + 134.2 / 4,  # C, after its rows: a quarter more by axes
            id="ES-3-C",
        ),
    ],
)
def test_what_is_copied_for_an_output_that_is_not_sharded(f, expected):
    A, B = Global((8192, 8192), "X"), Global((8192, 8192), None, "Y")
    # The map prints megabytes with no or one place.
    assert volume_of(f, A, B) / 1e6 == pytest.approx(expected, abs=0.1)


ROWS = {
    "S3.1": (lambda x: jnp.tanh(x) * x + x, ("X", "Y"), {}),
    "S5.2": (
        *(lambda x: reshard(x, P("X")), (("X", "Y"),)),
        {("all_gather", "Y"): 2 * I * J // 4},
    ),
    "ES-7": (
        *(lambda x: reshard(x, P(None, "Y")), ("X", "Y")),
        {("all_gather", "X"): 2 * I * J // 2},
    ),
    "S8.1": (
        *(lambda x: reshard(x, P(None, "X")), ("X",)),
        {("all_to_all", "X"): 2 * I * J // 4},
    ),
}


@pytest.mark.parametrize(
    ("f", "spec", "expected"),
    [pytest.param(*w, id=i) for i, w in ROWS.items()],
)
def test_volumes_of_subscript_edits(f, spec, expected):
    with jax.sharding.use_abstract_mesh(EXPLICIT):
        moved = count.collectives(f, Global((I, J), *spec))
    assert count.volumes(moved) == expected  # whole bytes, so no tolerance


def devices(f):
    on = mesh(X=8)
    return jax.shard_map(
        f, mesh=on, in_specs=P("X"), out_specs=P(), check_vma=False
    )


PRIMITIVES = {  # x = f32[16, 16], 1024 bytes, over 8 devices: (volume, sent)
    "S6.5": (partial(lax.psum_scatter, tiled=True), 128, 112),
    "S9.3-AG": (partial(lax.all_gather, tiled=True), 1024, 896),
    "S9.3-AR": (lax.psum, 256, 224),
    "S10.8-A2A": (
        partial(lax.all_to_all, split_axis=1, concat_axis=0, tiled=True),
        *(256, 112),
    ),
    "ES-19": (lax.all_gather, 1024, 896),  # untiled: another shape, same bytes
}


@pytest.mark.parametrize(
    ("f", "volume", "sent"),
    [pytest.param(*w, id=i) for i, w in PRIMITIVES.items()],
)
def test_the_four_primitives(f, volume, sent):
    def body(x):
        return f(x.reshape(8, -1) if f is PRIMITIVES["S6.5"][0] else x, "X")

    x = jax.ShapeDtypeStruct((16, 16), jnp.float32)
    (moved,) = count.collectives(devices(body), x)
    assert (moved.volume, moved.sent) == (volume, sent)  # whole bytes


# ---- collectives: exact factors, limits, and what links count ----------------

MANY = 10**6
LIMITS = {  # (kind, kind of the reference, ratio as N grows)
    "S10.10f": ("all_to_all", "all_gather", Fraction(1, 4)),
    "C2.1": ("all_reduce", "all_gather", 2),
    "C2.6": ("all_reduce", "reduce_scatter", 2),
}


@pytest.mark.parametrize(
    ("kind", "other", "ratio"),
    [pytest.param(*w, id=i) for i, w in LIMITS.items()],
)
def test_ratio_of_limits_and_of_many_chips(kind, other, ratio):
    V = 8 * MANY**2
    assert cost.volume(kind, V) == ratio * cost.volume(other, V)
    seconds = [
        getattr(cost, f"t_{name}")(V, MANY, 4.5e10) for name in (kind, other)
    ]
    # A finite ring differs from its limit by 1 part in N.
    assert seconds[0] / seconds[1] == pytest.approx(ratio, rel=2 / MANY)


SENT = {  # bytes of V that leave a chip one way round a ring of N = 64
    "C2.1-exact": ("all_reduce", Fraction(2 * 63, 64)),
    "C2.4": ("all_gather", Fraction(63, 64)),
    "C2.5": ("reduce_scatter", Fraction(63, 64)),
    "EC-4": ("all_reduce", Fraction(2 * 63, 64)),
}


@pytest.mark.parametrize(
    ("kind", "part"), [pytest.param(*w, id=i) for i, w in SENT.items()]
)
def test_bytes_that_leave_a_chip(kind, part):
    V, N = 64 * 64, 64
    assert cost.sent(kind, V, N, directions=1) == part * V
    counted = getattr(ring, kind)(V, N, link_bw=1.0, directions=1)
    assert set(counted.sent.tolist()) == {part * V}  # every chip; whole bytes


def test_EC_3_a_reduce_scatter_is_not_a_reduce_to_one_chip():
    V, N = 4 * 4, 4
    scattered = ring.reduce_scatter(V, N, link_bw=1.0)
    assert len(set(scattered.sent.tolist())) == 1  # all send alike
    hops = [hop for step in ring.reduce_steps(V, N) for hop in step]
    assert {hop.source for hop in hops} == {1, 2, 3}  # the root never sends
    assert {hop.destination for hop in hops} >= {0}


@pytest.mark.parametrize(
    ("axes", "expected"),
    [pytest.param(16, 1, id="N2-ring"), pytest.param((4, 4), 2, id="N2")],
)
def test_a_mesh_axis_over_two_axes_of_the_network(axes, expected):
    V, link_bw = 2**20, V5P.link_bw
    seconds = cost.t_limit("all_gather", V, axes, link_bw)
    by_M_X = cost.t_comm(V, V5P, n_axes=expected)
    assert seconds == near(by_M_X)


@pytest.mark.parametrize(
    ("kind", "V"),
    [
        pytest.param("all_gather", 2**20, id="V-7-gather"),
        pytest.param("reduce_scatter", 2**20, id="V-7-scatter"),
    ],
)
def test_V_is_the_whole_array(kind, V):
    X, link_bw = 16, V5E.link_bw
    hop = cost.t_send(V / X, link_bw)  # a shard each way: 2 V / X over W
    # X / 2 of these hops make V / W.
    assert X / 2 * hop == near(cost.t_limit(kind, V, X, link_bw))


def test_N3_gather_or_multiply_what_is_there():
    sizes = (64, 4096, 4096, 8, V5P)
    gathered, reduced = (
        cost.t_gather_matmul(*sizes),
        cost.t_matmul_reduce(*sizes),
    )
    # AllGather of D F against AllReduce of B F: D / (2 B).
    assert gathered.comm / reduced.comm == near(4096 / (2 * 64))
    assert gathered.math / reduced.math == near(8)


@pytest.mark.parametrize(
    ("J", "replicating"),
    [
        pytest.param(1034, True, id="N10-below"),
        pytest.param(1035, False, id="N10-above"),
    ],
)
def test_when_replicating_wins_on_a_v4p_cube(J, replicating):
    B, F = 4096, 4096
    whole = cost.t_matmul_gather(B, J, F, 1, V4P, n_axes=3)
    # The map compares the saved arithmetic with the gather: no overlap.
    cut = cost.t_matmul_gather(B, J, F, 64, V4P, n_axes=3)
    seconds = [cost.seconds(t, overlap=False) for t in (whole, cut)]
    assert (seconds[0] < seconds[1]) == replicating


# ---- T and Z: thresholds and traffic of the strategies -----------------------

D, F, B = 8192, 32_768, 2**20
F_13B, F_70B = 13_824, 28_672
OTHER = replace(V5P, flops=4.6e14)  # as a text rounds the chip's FLOP/s


def forward(strategy, **options):
    """math over comm of the forward pass of one layer on v5p."""
    sizes = {"B": B, "D": D, "F": F, "chip": V5P} | options
    return cost.t_layer(strategy, **sizes).forward.ratio


def least_tokens(strategy, part, **options):
    """Tokens per chip at which a part of a layer takes equal times."""
    sizes = {"B": 1.0, "D": D, "F": F, "chip": V5P, "X": 64} | options
    return 1 / getattr(cost.t_layer(strategy, **sizes), part).ratio / sizes["X"]


NUMBERS = {
    "T1.1-v5e": (hw.hbm_intensity(V5E), printed(240.2)),
    "T1.1-v5p": (hw.hbm_intensity(V5P), printed(164)),
    "T1.13": (hw.hbm_intensity(V4P), printed(229.2)),
    "T3.2": (
        cost.fsdp_volume(D, F).forward / cost.tp_volume(2 * F, D).forward,
        near(1 / 2),  # 2 * 2DF over 2 * 2BD is F / B
    ),
    "T3.7": (cost.tp_limit(F_70B, V5P), printed(11.2)),
    "T3.7-gemma": (cost.tp_limit(24_576, V5P, gated=True), printed(14.5)),
    "T7.6-ICI": (cost.tokens_per_chip(V5P), near(2550)),
    "T7.6-DCN": (cost.pod_tokens(V5P), near(73_440)),
    "T7.6-sum": (
        cost.mixed_tokens_per_chip(F, V5P, overlap=False),
        printed(396.9),
    ),
    "ET-7": (cost.tokens_per_chip(OTHER), printed(2556)),
    "ET-7-pods": (
        math.prod(V5P.pod) * cost.tokens_per_chip(V5P, 3),
        near(7_616_000),
    ),
    "Z2.2": (
        memory.max_params(96e9, recipe="weights-and-moments"),
        near(9.6e9),
    ),
    "Z2.3": (
        cost.layer_flops(B, D, F).backward / cost.dp_volume(D, F).backward,
        near(B),  # 8BDF over 8DF, in tokens
    ),
    "Z2.4": (cost.dp_volume(D, F).backward, 2 * 2 * 2 * D * F),
    "Z2.6": (cost.layer_flops(B, D, F).backward, 2 * 4 * B * D * F),
    "Z2.7": (least_tokens("dp", "backward"), near(2550)),
    "Z3.3": (least_tokens("fsdp", "forward"), near(2550)),
    "Z3.3-backward": (least_tokens("fsdp", "backward"), near(2550)),
    "Z4.5-2": (cost.tp_limit(8192, V5P, 2), printed(6.43)),
    "Z4.5-3": (cost.tp_limit(8192, V5P, 3), printed(9.64)),
    "Z4.6": (
        cost.fsdp_tp_volume(B, D, F, 16, 4)["Y"].forward,
        4 * B * D // 16,
    ),
    "Z5.5-Y": (
        cost.fsdp_tp_volume(B, D, F, 16, 4)["X"].forward,
        4 * D * F // 4,
    ),
    "N13": (cost.mixed_tokens_per_chip(F, V5P), printed(99.2)),
    "V-1-F-sum": (cost.mixed_pays_from(V5P, overlap=False), near(15_300)),
    "V-1-F-max": (cost.mixed_pays_from(V5P), near(3825)),
    "EZ-3": (
        cost.fsdp_volume(D, F).total / cost.dp_volume(D, F).total,
        near(1.5),
    ),
    "ET-10": (cost.zero_volume(3, D, F).total, 12 * D * F),
    "ET-10-1": (cost.zero_volume(1, D, F).total, 8 * D * F),
    "ET-15": (cost.tp_volume(B, D, regather=True).backward, 6 * B * D),
    "ET-15-kept": (cost.tp_volume(B, D).backward, 4 * B * D),
    "EZ-8": (
        cost.mixed_tokens_per_chip(F, V5P, 1, 1)
        / cost.mixed_tokens_per_chip(F, V5P, 2, 1),
        near(2),  # M_X M_Y is 2, not 3
    ),
    "EZ-10": (
        cost.mixed_tokens_per_chip(F, V5P) * 2 * F,
        near(cost.tokens_per_chip(V5P) ** 2),
    ),
    "EZ-11": (
        cost.fsdp_tp_volume(B, D, F, 16, 4)["X"].forward,
        2 * (2 * D * F // 4),  # two AllGathers of weights
    ),
    "EZ-12": (
        cost.fsdp_tp_volume(B, D, F, 16, 4)["Y"].forward,
        cost.tp_volume(B / 16, D).forward,
    ),
    "C3.3": (
        cost.dp_volume(D, F).total / cost.weight_bytes(D, F),
        near(2),
    ),
    "C3.16-1": (
        cost.zero_volume(1, D, F).total / cost.dp_volume(D, F).total,
        near(1),
    ),
    "C3.16-2": (
        cost.zero_volume(2, D, F).total / cost.dp_volume(D, F).total,
        near(1),
    ),
    "C3.16-3": (
        cost.zero_volume(3, D, F).total / cost.dp_volume(D, F).total,
        near(1.5),
    ),
    "EC-16": (cost.tp_elements(1, 1, 1, 2), near(4)),  # 4 of 2 (t - 1) / t
    "ET-1": (
        cost.tp_limit(F, V5P, gated=True) / cost.tp_limit(F, V5P),
        near(1.5),
    ),
    "ET-1-FSDP": (
        forward("fsdp", X=64, gated=True) / forward("fsdp", X=64),
        near(1),
    ),
    "C1.4": (32 * hw.H100.node_size, 256),
    "C4.15": (hw.A100.node_size, 8),
}


@each(
    ("value", "expected"), [pytest.param(*w, id=i) for i, w in NUMBERS.items()]
)
def test_worked_number(value, expected):
    # Whole numbers exactly; floats as `near` and `printed` say.
    assert value == expected


@pytest.mark.parametrize(
    ("overlap", "N"),
    [
        pytest.param(True, 64, id="ET-17-max"),
        pytest.param(False, 64, id="ET-17-sum"),
    ],
)
def test_ratio_grows_as_the_root_of_the_batch(overlap, N):
    def ratio(tokens):
        X = cost.x_opt(tokens, F, N)
        options = {"B": tokens, "X": X, "Y": N / X, "M_X": 2}
        return forward("fsdp_tp", overlap=overlap, **options)

    # Not the square: four times the batch is twice the ratio.
    assert ratio(4 * 48_000) / ratio(48_000) == near(2)


@pytest.mark.parametrize(
    ("X", "bound"),
    [
        pytest.param(64, False, id="Z3.4-few"),
        pytest.param(1024, True, id="Z3.4-many"),
    ],
)
def test_a_fixed_batch_over_more_chips_falls_below_the_threshold(X, bound):
    assert (forward("fsdp", B=2**20, X=X) < 1) == bound


@pytest.mark.parametrize(
    "part", [pytest.param(0, id="C5.8"), pytest.param(1, id="C5.8-backward")]
)
def test_gather_and_scatter_cost_what_an_all_reduce_costs(part):
    sizes = {"B": 64, "D": 64, "F": 128, "X": 4, "Y": 4}
    tp, megatron = (
        count.volume(agreement.counts(name, **sizes)[part])
        for name in ("tp", "megatron")
    )
    assert tp == megatron  # whole bytes


# ---- memory ------------------------------------------------------------------

MIXED = memory.RECIPES["mixed-precision"]
SEVEN_B = partial(memory.state_bytes, 7.5e9, 64)
BYTES = {
    "C3.5": (len(memory.state_terms(1)), 5),
    "EC-5": (memory.bytes_per_param(MIXED) / MIXED.param, 8),
    "EC-6-total": (64 * SEVEN_B(zero=0), near(7.68e12)),
    "EC-23": (SEVEN_B(zero=0) / 1e9, near(120)),
    "EC-23-ZeRO-1": (SEVEN_B(zero=1) / 1e9, printed(31.4)),
    "T9.1-2": (SEVEN_B(zero=2) / 1e9, printed(16.6)),
    "T9.1-3": (SEVEN_B(zero=3) / 1e9, printed(1.9)),
    "C3.18": (
        memory.max_params(80e9, recipe="bf16-moments") / 1e9,
        printed(6.7),
    ),
    "C3.18-ZeRO-3": (
        memory.max_params(80e9, 8, 3, "bf16-moments") / 1e9,
        printed(53.3),
    ),
    "ET-31": (
        memory.checkpoint_bytes(40, 16_000_000, 5120, F_13B) / 1e12,
        printed(41.94),
    ),
    "ET-31-state": (
        memory.state_bytes(LLAMA_2_13B, recipe="weights-and-moments") / 1e9,
        printed(130.15),
    ),
    "T1.6": (
        memory.block_terms(64, 64, 128, X=8)["Tmp[B_X, F_Y]"],
        memory.block_terms(64, 64, 128)["Tmp[B_X, F_Y]"] // 8,
    ),
    "Z3.1": (  # one gathered matrix besides an eighth of both
        memory.block_terms(64, 64, 128, X=8)["W_out[F_Y, D]"],
        8 * memory.block_terms(64, 64, 128, X=8)["W_out[F_Y, D_X]"],
    ),
    "C5.3": (memory.activation_bytes(**GPT_3), SBH * (34 + 80)),
    "C5.5": (
        memory.activation_bytes(**GPT_3, recompute="selective"),
        34 * SBH,
    ),
    "C5.6": (
        memory.activation_bytes(**GPT_3, t=8),
        SBH * (10 + 3 + 10),
    ),
    "C5.9": (
        memory.activation_bytes(**GPT_3, t=8, sp=True),
        SBH * (34 + 80) // 8,
    ),
    "C5.10": (
        memory.activation_bytes(**GPT_3, t=8, sp=True, recompute="selective"),
        34 * SBH // 8,
    ),
    "C5.11": (memory.activation_bytes(**GPT_3, recompute="full"), 2 * SBH),
    "C4.19": (
        memory.state_bytes(13e9 / 5) / memory.state_bytes(13e9),
        near(0.2),
    ),
}


@each(("value", "expected"), [pytest.param(*w, id=i) for i, w in BYTES.items()])
def test_worked_bytes(value, expected):
    # Whole bytes exactly; floats as `near` and `printed` say.
    assert value == expected


# ---- pipelines ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "expected"),
    [
        pytest.param(8, Fraction(8, 15), id="C4.7-8"),
        pytest.param(128, Fraction(128, 135), id="C4.7-128"),
    ],
)
def test_utilisation_of_eight_stages(m, expected):
    events = pipeline.one_f_one_b(8, m)
    assert pipeline.utilisation(events) == expected  # Fractions, exact
    # One division and one subtraction of floats besides.
    assert 1 - cost.idle_share(cost.bubble(8, m)) == near(float(expected))


@pytest.mark.parametrize(
    ("p", "m"),
    [
        pytest.param(4, 8, id="C4.9"),
        pytest.param(8, 32, id="C4.9-8-stages"),
        pytest.param(16, 64, id="C4.9-16-stages"),
    ],
)
def test_a_split_backward_leaves_a_third(p, m):
    split = pipeline.zero_bubble(p, m, 1, 2, 1)
    whole = pipeline.one_f_one_b(p, m, 1, 2)
    assert pipeline.bubble(split) == pipeline.bubble(whole) / 3  # Fractions
    assert cost.zero_bubble(p, m) == near(float(pipeline.bubble(split)))


@pytest.mark.parametrize(
    ("p", "m"),
    [
        pytest.param(8, 32, id="EC-14"),
        pytest.param(16, 32, id="EC-14-16-stages"),
    ],
)
def test_two_streams_leave_a_bubble_too(p, m):
    events = pipeline.dualpipe(p, m, 1, 2, 1)
    assert max(pipeline.idle(events)) == (p // 2 - 1) * (3 + 2 - 3)
    assert pipeline.bubble(events) > 0


# ---- layouts in the notation -------------------------------------------------

GALLERY = {  # of bytes of A[8, 16] on a 2 x 2 mesh: each device's, and copies
    "S1.8-I,J": ("A[I, J]", (8, 16), 4),
    "S1.8-I_X,J": ("A[I_X, J]", (4, 16), 2),
    "S1.8-I,J_X": ("A[I, J_X]", (8, 8), 2),
    "S1.8-I_Y,J": ("A[I_Y, J]", (4, 16), 2),
    "S1.8-I_XY,J": ("A[I_XY, J]", (2, 16), 1),
    "S1.8-I_Y,J_X": ("A[I_Y, J_X]", (4, 8), 1),
    "S1.8-I,J_Y": ("A[I, J_Y]", (8, 8), 2),
    "S1.8-I_X,J_Y": ("A[I_X, J_Y]", (4, 8), 1),
    "S1.8-I,J_XY": ("A[I, J_XY]", (8, 4), 1),
}


@each(
    ("text", "local", "copies"),
    [pytest.param(*w, id=i) for i, w in GALLERY.items()],
)
def test_the_nine_layouts_of_a_matrix(text, local, copies):
    assert notation.local_shape(text, (8, 16), FOUR.shape) == local
    assert notation.copies(text, FOUR.shape) == copies
    spec = notation.to_spec(text)
    assert count.held(LOCAL((8, 16), *spec)) == math.prod(local)


def test_S1_10_an_axis_cuts_an_array_once():
    with pytest.raises(ValueError, match="mesh axis X is used twice"):
        notation.parse("A[I_X, J_X]")


LAYOUTS = {
    "T0.8": (dp, "In[B_X, D] W_in[D, F] W_out[F, D]"),
    "T0.9": (fsdp, "In[B_X, D] W_in[D_X, F] W_out[F, D_X]"),
    "T0.10": (tp, "In[B, D_Y] W_in[D, F_Y] W_out[F_Y, D]"),
    "T7.3": (fsdp_tp, "In[B_X, D_Y] W_in[D_X, F_Y] W_out[F_Y, D_X]"),
    "EZ-1": (fsdp, "W_out[F, D_X]"),
}


@pytest.mark.parametrize(
    ("strategy", "said"), [pytest.param(*w, id=i) for i, w in LAYOUTS.items()]
)
def test_each_strategy_lies_as_its_formula_says(strategy, said):
    for text in said.replace("] ", "];").split(";"):
        layout = notation.parse(text)
        assert strategy.LAYOUT[layout.name] == notation.to_spec(layout)


def test_S7_1_both_free_dimensions_on_one_axis():
    A, B = Global((I, J), "X"), Global((J, K), None, "X")
    with (
        jax.sharding.use_abstract_mesh(EXPLICIT),
        pytest.raises(Exception, match="illegally sharded result"),
    ):
        count.collectives(lambda A, B: A @ B, A, B)


def test_S9_2_contractions_cut_by_different_axes():
    def gathered(A, B):
        return matmul(None, None)(reshard(A, P()), reshard(B, P()))

    moved = volume_of(gathered, Global((I, J), None, "X"), Global((J, K), "Y"))
    assert moved == 2 * I * J + 2 * J * K  # whole bytes of bf16


# ---- what a device holds, and what moves, under each strategy ----------------

EIGHT = mesh(X=8, Y=1)


def held_of(strategy, what):
    sizes = {"D": 64, "F": 128}
    if what == "states":
        return count.held(block.states(strategy, EIGHT, **sizes))
    return count.held(block.arguments(strategy, EIGHT, B=64, **sizes)[what])


@pytest.mark.parametrize(
    ("strategy", "what", "parts"),
    [
        pytest.param(dp, 0, 8, id="C3.2"),
        pytest.param(zero1, "states", 8, id="T2.5"),
        pytest.param(dp, 2, 1, id="C3.3-memory"),
        pytest.param(zero1, 2, 1, id="C3.8"),
        pytest.param(fsdp, 2, 8, id="T2.1"),
    ],
)
def test_what_eight_devices_share(strategy, what, parts):
    whole = held_of(one_chip, what) if what != "states" else held_of(dp, what)
    assert held_of(strategy, what) * parts == whole  # whole bytes


def test_C3_19_more_chips_than_tokens():
    with pytest.raises(ValueError, match="4 must be divisible by axis X"):
        block.arguments(dp, EIGHT, B=4, D=64, F=128)


@pytest.mark.parametrize(
    ("tokens", "bound"),
    [
        pytest.param(50, ("fsdp_tp", "fsdp"), id="C6.5-few"),
        pytest.param(400, ("fsdp",), id="C6.5-some"),
        pytest.param(1000, (), id="C6.5-many"),
    ],
)
def test_tokens_per_chip_decide(tokens, bound):
    N, F = 4096, 32_768
    B = tokens * N
    X = cost.x_opt(B, F, N)
    ratios = {
        "fsdp": forward("fsdp", B=B, F=F, X=N, M_X=3),
        "fsdp_tp": forward("fsdp_tp", B=B, F=F, X=X, Y=N / X, M_X=2),
    }
    assert tuple(sorted(n for n in ratios if ratios[n] < 1))[::-1] == bound


@pytest.mark.parametrize(
    "k", [pytest.param(2, id="C6.10"), pytest.param(8, id="C6.10-eight")]
)
def test_gradients_summed_every_k_microbatches(k):
    one, more = (
        cost.t_layer("dp", n * 2**18, D, F, V5P, X=256).backward for n in (1, k)
    )
    assert more.ratio == near(k * one.ratio)
    assert more.comm == one.comm
    assert forward("fsdp", B=B / k, X=64) == near(forward("fsdp", X=64) / k)


def test_T2_10_a_smaller_batch_is_more_communication_bound():
    ratios = [forward("fsdp", B=tokens, X=512) for tokens in (1e5, 1e6, 1e7)]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[2]


# ---- the planner, and layouts that were published ----------------------------

H100S = plan.Job(plan.model("llama-3-70b"), hw.H100, (8, 16), 2**20, 8192)


def planned(**layout):
    return plan.evaluate(H100S, plan.Arrangement(**layout))


def test_C6_7_and_C6_8_tp_to_the_node_then_zero_3_or_stages():
    # 70.6e9 parameters of 16 bytes: 141 GB on each GPU of a node of eight.
    assert not planned(dp=16, tp=8, microbatches=8).fits
    assert planned(dp=16, tp=8, zero=3, microbatches=8).fits
    stages = {"pp": 16, "schedule": "1f1b", "microbatches": 128}
    assert planned(tp=8, sp=True, **stages).fits


def test_C6_9_then_dp_for_the_rest():
    seconds = {}
    for nodes in (16, 32):
        job = replace(H100S, topology=(8, nodes), batch=2**22)
        replicas = nodes // 16
        stages = {"pp": 16, "schedule": "1f1b", "microbatches": 512 // replicas}
        layout = plan.Arrangement(replicas, tp=8, sp=True, **stages)
        seconds[nodes] = plan.evaluate(job, layout).seconds
    # Twice the replicas, nearly half the time: gradients are summed besides.
    assert 1.7 < seconds[16] / seconds[32] < 2


def test_T1_15_tokens_of_a_sequence_are_tokens():
    # What ZeRO-3 cuts, it cuts over dp and cp alike.
    layouts = [
        plan.Arrangement(dp=16 // cp, cp=cp, tp=8, zero=3) for cp in (1, 2, 4)
    ]
    states = {plan.state_bytes(H100S, layout) for layout in layouts}
    assert len(states) == 1


MEGATRON = [p for name, p in plan.PUBLISHED.items() if "megatron" in name]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        pytest.param("tp", [1, 2, 4, 8, 8, 8, 8, 8, 8, 8], id="C7.2-TP"),
        pytest.param("pp", [1, 1, 1, 1, 2, 4, 8, 16, 35, 64], id="C7.2-PP"),
        pytest.param(
            "dp", [32, 32, 32, 32, 32, 32, 24, 15, 9, 6], id="C7.2-DP"
        ),
    ],
)
def test_meshes_of_the_megatron_table(axis, expected):
    assert [getattr(p, axis) for p in MEGATRON] == expected
    assert all(p.tp * p.pp * p.dp == p.chips for p in MEGATRON)


@pytest.mark.parametrize(
    ("flops", "expected"),
    [
        pytest.param(502e15 / 3072, 0.52, id="C7.3"),
        pytest.param(135e12, 0.433, id="EC-25-least"),
        pytest.param(163e12, 0.522, id="EC-25-most"),
    ],
)
def test_part_of_the_peak_of_an_a100(flops, expected):
    assert cost.mfu(flops, 1.0, 1, hw.A100) == printed(expected)


def test_C4_20_stages_without_tp():
    said = plan.PUBLISHED["deepseek-v3 on 2,048"]
    assert (said.tp, said.pp, said.ep) == (1, 16, 64)


def most_sequences(recompute):
    """Sequences of GPT-3's layer of which 80 GB hold the activations."""
    shape = GPT_3 | {"b": 1}
    each = memory.activation_bytes(**shape, t=8, recompute=recompute)
    return int(80e9 // (96 * each))


def test_C7_5_what_is_made_again_makes_room_for_tokens():
    none_again, scores_again, all_again = map(
        most_sequences, ("none", "selective", "full")
    )
    assert none_again < scores_again < all_again


def test_C5_2_activations_outgrow_states():
    # Parameters grow with h squared, and so do devices that share them.
    states, kept = (
        [f(h) for h in (2048, 8192)]
        for f in (
            lambda h: memory.state_bytes(12 * h**2, h**2 // 2**18, 3),
            lambda h: memory.activation_bytes(2048, 1, h, 32, t=8),
        )
    )
    assert states[0] == near(states[1])
    assert kept[1] > 2 * kept[0]


def test_C3_13_activations_grow_layer_by_layer():
    moments = memory.memory_over_step(4, 10, 7, "mixed-precision")
    forward = [held for name, held in moments if name.startswith("forward")]
    assert [held["activations"] for held in forward] == [7, 14, 21, 28]


# ---- pipelines and collectives, a few more -----------------------------------


@pytest.mark.parametrize(
    ("p", "m"),
    [pytest.param(8, 28, id="C4.4"), pytest.param(16, 60, id="C4.4-16")],
)
def test_as_many_more_microbatches_as_stages(p, m):
    events = pipeline.one_f_one_b(p, m)
    assert pipeline.bubble(events) == Fraction(1, 4)  # Fractions, exact


def test_C4_11_an_input_gradient_cannot_wait_and_a_weight_gradient_can():
    ways = pipeline.routes(2, 1)
    both = [(0, "forward", 0, 0, 1), (1, "forward", 0, 1, 2)]
    chain = [(1, "input", 0, 2, 3), (0, "input", 0, 3, 4)]
    late = [(0, "weight", 0, 9, 10), (1, "weight", 0, 3, 4)]
    assert len(pipeline.check(both + chain + late, ways)) == 6
    swapped = [(1, "input", 0, 3, 4), (0, "input", 0, 2, 3)]
    with pytest.raises(ValueError, match="too early"):
        pipeline.check([*both, *swapped, (1, "weight", 0, 4, 5), late[0]], ways)


def test_N7_a_gather_is_a_kronecker_product_and_a_scatter_its_transpose():
    p, n = 4, 6
    rng = np.random.default_rng(7)
    gather = np.kron(np.ones((p, 1)), np.eye(p * n))  # u x I_pn
    x = rng.integers(0, 9, p * n).astype(float)
    V = x.nbytes
    gathered = ring.all_gather(V, p, link_bw=1.0, values=x.reshape(p, n))
    assert (gathered.values.ravel() == gather @ x).all()
    y = rng.integers(0, 9, p * p * n).astype(float)
    scattered = ring.reduce_scatter(
        V, p, link_bw=1.0, values=y.reshape(p, p * n)
    )
    assert (scattered.values.ravel() == gather.T @ y).all()
