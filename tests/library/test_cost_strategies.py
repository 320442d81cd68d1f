"""Strategies: worked numbers, thresholds, laws, and what is refused."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import cost, hw, pipeline, ring
from shardlab.cost import Step
from shardlab.hw import CHIPS, H100, V4P, V5E, V5P
from tests.each import each

DAY = 86_400
ALPHA = 2550  # FLOP/s over the bytes/s of one axis of a v5p
F_70B = 28_672  # hidden size of LLaMA-3 70B
F_13B = 13_824  # of LLaMA-2 13B
D_13B = 5120

# Formulas that are equal on paper, in another order of operations.
close = pytest.approx


def same(expected):
    return close(expected, rel=1e-12, abs=0)


# ---- bytes per layer: the summary table --------------------------------------


@pytest.mark.parametrize("gated", [False, True])
def test_bytes_per_layer(gated):
    B, D, F, X, Y = 4096, 64, 256, 8, 4
    DF, BD = (3 if gated else 2) * D * F, B * D
    expected = {
        "none": ((0, 0, 0), (0, 0, 0)),
        "dp": ((0, 4 * DF, 0), (0, 0, 0)),  # T1.9: 8DF
        "zero1": ((0, 2 * DF, 2 * DF), (0, 0, 0)),  # T2.4: 8DF
        "zero2": ((0, 2 * DF, 2 * DF), (0, 0, 0)),
        "fsdp": ((2 * DF, 4 * DF, 0), (0, 0, 0)),  # T7.5: 12DF
        "tp": ((0, 0, 0), (4 * BD, 4 * BD, 0)),  # T3.5: 8BD
        "fsdp_tp": (
            (2 * DF / Y, 4 * DF / Y, 0),
            (4 * BD / X, 4 * BD / X, 0),  # ET-29: not 8BD/X
        ),
    }
    assert set(expected) == set(cost.STRATEGIES)
    for name, (over_X, over_Y) in expected.items():
        chips = {"X": X} if name not in ("none", "tp") else {}
        chips |= {"Y": Y} if name in ("tp", "fsdp_tp") else {}
        got = cost.layer_volume(name, B, D, F, **chips, gated=gated)
        assert got == {"X": over_X, "Y": over_Y}


def test_totals_of_the_summary_table():
    D, F, B = 64, 256, 4096
    assert cost.dp_volume(D, F).total == 8 * D * F  # T7.5
    assert cost.zero_volume(1, D, F).total == 8 * D * F
    assert cost.fsdp_volume(D, F).total == 12 * D * F
    ratio = Fraction(cost.fsdp_volume(D, F).total, cost.dp_volume(D, F).total)
    assert ratio == Fraction(3, 2)  # C3.14, V-3
    assert cost.fsdp_volume(D, F, kept=True).total == 8 * D * F
    assert cost.tp_volume(B, D).total == 8 * B * D
    assert cost.layer_flops(B, D, F).total == 12 * B * D * F  # EZ-7


def test_gathered_again_or_kept():  # ET-29
    B, D, F, X, Y = 4096, 64, 256, 8, 4
    saved, again = (
        cost.fsdp_tp_volume(B, D, F, X, Y, regather=r)["Y"].backward
        for r in (False, True)
    )
    assert (saved, again) == (4 * B * D / X, 6 * B * D / X)
    assert cost.fsdp_tp_volume(B, D, F, X, Y)["Y"].backward == saved
    assert cost.tp_volume(B, D, regather=True).total == 10 * B * D
    kept = cost.fsdp_tp_volume(B, D, F, X, Y, kept=True)["X"]
    assert kept == (4 * D * F / Y, 4 * D * F / Y, 0)


@pytest.mark.parametrize(
    ("t", "expected"), [(1, 0), (2, 4.0), (4, 6.0), (8, 7.0), (16, 7.5)]
)
def test_tp_against_pp_per_layer(t, expected):  # C4.17, EC-18
    b, s, h = 2, 2048, 512
    assert cost.tp_elements(b, s, h, t) / (b * s * h) == expected
    with_recompute = cost.tp_elements(b, s, h, t, recompute=True)
    assert with_recompute == 1.5 * cost.tp_elements(b, s, h, t)
    # The MLP is half of a layer; a volume leaves the factor (t - 1) / t out.
    mlp = cost.tp_volume(b * s, h).total / 2
    assert mlp * (t - 1) / t == cost.tp_elements(b, s, h, t) / 2
    boundary = cost.pipeline_volume(b * s, h, itemsize=1)
    assert boundary == (b * s * h, b * s * h, 0)


def test_recomputed_tp_at_the_limit():  # EC-18
    assert cost.tp_elements(1, 1, 1, 10**9, recompute=True) == close(12)


def test_context_moves_keys_and_values():
    B, h, kv = 8192, 4096, 1024
    assert cost.context_volume(B, h) == (4 * B * h, 8 * B * h, 0)
    assert cost.context_volume(B, h, kv) == (4 * B * kv, 8 * B * kv, 0)
    ring, gather = (
        cost.context_volume(B, h, kv, scheme) for scheme in ("ring", "gather")
    )
    assert ring == gather
    q = out = 2 * B * h
    k = v = 2 * B * kv
    each = (q + out + k + v) / 4
    assert cost.context_volume(B, h, kv, "ulysses") == (each, each, 0)


def test_experts_move_tokens_there_and_back():  # C6.2, S8.3
    B, D, k = 4096, 512, 2
    there = cost.volume("all_to_all", 2 * k * B * D)
    assert cost.expert_volume(B, D, k) == (2 * there, 2 * there, 0)


@each("capacity", [1, 1.25, 2, Fraction(3, 2)])
@each("E", [None, 8, 64])
def test_experts_keep_slots_and_chips_a_router(capacity, E):  # C6.2
    B, D, F, X, k = 4096, 512, 2048, 8, 2
    moved = cost.expert_volume(B, D, k, capacity=capacity, E=E)
    each = capacity * cost.expert_volume(B, D, k).forward
    router = 0 if E is None else 2 * 2 * D * E  # an AllReduce of bf16[D, E]
    assert moved == (each, each + router, 0)
    plain = cost.t_expert(B, D, F, X, V5P, k)
    layer = cost.t_expert(B, D, F, X, V5P, k, capacity=capacity, E=E)
    more = cost.t_comm(router, V5P)
    for part, other, late in zip(layer, plain, (0, more, 0), strict=True):
        # Empty slots are exchanged and worked on like full ones.
        assert part.math == same(capacity * other.math)
        assert part.comm == same(capacity * other.comm + late)
    alone = cost.t_expert(B, D, F, 1, V5P, k, capacity=capacity, E=E)
    assert [part.comm for part in alone] == [0, 0, 0]


def test_a_router_has_experts_enough():
    with pytest.raises(ValueError, match="^k must be at most E = 4, got 5"):
        cost.expert_volume(64, 64, k=5, E=4)


def test_sequence_parallelism_sums_its_gains():
    B, D = 4096, 512
    for regather in (False, True):
        tp = cost.tp_volume(B, D, regather=regather)
        for gains in (0, 1, 2):
            moved = cost.sequence_volume(B, D, regather=regather, gains=gains)
            assert moved == (tp[0], tp[1] + gains * 4 * D, 0)
    # What all chips hold is summed as data parallelism sums all weights.
    assert cost.replicated_volume(2 * D * 64) == cost.dp_volume(D, 64).total


@given(st.integers(2, 64), st.integers(1, 4096))
def test_a_ring_hands_blocks_on(X, n):
    B, h = X * n, 64
    whole, hops = (
        cost.context_volume(B, h, scheme="ring", X=x) for x in (None, X)
    )
    assert X * hops.forward == (X - 1) * whole.forward
    assert X * hops.backward == (X - 1) * whole.backward
    for scheme in ("gather", "ulysses"):
        moved = [
            cost.context_volume(B, h, None, scheme, X=x) for x in (None, X)
        ]
        assert moved[0] == moved[1]
    # One chip after the other: in t_context the same bytes take link_bw.
    seconds = cost.t_context(B, h, X, V5P).forward.comm
    assert seconds == same(hops.forward / V5P.link_bw)


sizes = st.integers(1, 10**6)


@given(sizes, sizes, sizes, st.integers(2, 64), st.integers(2, 64))
def test_each_axis_cuts_what_the_other_moves(B, D, F, X, Y):  # T4.3
    both = cost.layer_volume("fsdp_tp", B, D, F, X, Y)
    fsdp = cost.layer_volume("fsdp", B, D, F, X)["X"]
    tp = cost.layer_volume("tp", B, D, F, 1, Y)["Y"]
    assert both["X"] == tuple(part / Y for part in fsdp)
    assert both["Y"] == tuple(part / X for part in tp)
    assert cost.layer_volume("fsdp_tp", B, D, F, X, 1)["X"] == fsdp
    assert cost.layer_volume("fsdp_tp", B, D, F, 1, Y)["Y"] == tp


@given(sizes, sizes, sizes, st.sampled_from([1, 2, 4]))
def test_volumes_scale_with_the_itemsize_and_the_gate(B, D, F, itemsize):
    for name in ("dp", "zero1", "zero2", "fsdp"):
        half, gated = (
            cost.layer_volume(name, B, D, F, 8, **how)["X"]
            for how in ({"itemsize": itemsize}, {"gated": True})
        )
        plain = cost.layer_volume(name, B, D, F, 8)["X"]
        assert half.total * 2 == plain.total * itemsize
        assert gated.total * 2 == plain.total * 3
    assert cost.tp_volume(B, D, itemsize).total * 2 == (
        cost.tp_volume(B, D).total * itemsize
    )


@given(sizes, sizes)
def test_reduce_is_scatter_and_gather_here_too(D, F):  # C3.9, T2.2
    dp, zero = cost.dp_volume(D, F), cost.zero_volume(2, D, F)
    assert dp.total == zero.total == zero.backward + zero.update


# ---- thresholds of DP and FSDP -----------------------------------------------


@each(
    ("tokens", "expected"),
    [
        pytest.param(cost.tokens_per_chip(V5P), 2550, id="T1.14-one-axis"),
        pytest.param(cost.tokens_per_chip(V5P, 3), 850, id="T1.14-three-axes"),
        pytest.param(cost.tokens_per_chip(V5E), 2189, id="T2.7-v5e"),
        pytest.param(cost.tokens_per_chip(V4P), 3056, id="ET-13-v4p"),
        pytest.param(
            cost.tokens_per_chip(V5P, precision="int8"), 5100, id="T3.8"
        ),
        pytest.param(
            cost.tokens_per_chip(V5P, precision="int8", itemsize=1),
            2550,
            id="T3.8-int8-bytes",
        ),
        pytest.param(cost.tokens_per_chip(H100), 2200, id="H100-node"),
        pytest.param(cost.pod_tokens(V5P), 73_440, id="N14"),
        pytest.param(850 * 8960, 7_616_000, id="T1.14-pod"),
        pytest.param(cost.max_chips(40e6, 850), 47_059, id="T2.8"),
        pytest.param(cost.max_chips(16e6, 850), 18_824, id="T2.9-chips"),
        pytest.param(cost.max_chips(2e6, 850), 2353, id="T6.2"),
        pytest.param(850 * 4096, 3_481_600, id="ET-32"),
    ],
)
def test_tokens(tokens, expected):
    assert round(tokens) == expected


@each("strategy", ["dp", "fsdp", "zero1"])
@each("gated", [False, True])
@each("axes", [1, 2, 3])
def test_knee_of_data_parallelism(strategy, gated, axes):  # T1.12, T2.6, ET-6
    X, D, F = 64, 8192, 28_672
    part = "forward" if strategy == "fsdp" else "backward"
    for change, bound in ((1.001, True), (0.999, False)):
        B = change * X * cost.tokens_per_chip(V5P, axes)
        layer = cost.t_layer(strategy, B, D, F, V5P, X, M_X=axes, gated=gated)
        times = getattr(layer, part)
        # ZeRO moves half in backward and half in the update.
        ratio = times.ratio / (2 if strategy == "zero1" else 1)
        assert (ratio > 1) is bound
        assert ratio == close(change, rel=1e-9)


def test_time_of_data_parallelism():  # T1.10, T1.11, T2.6
    B, D, F, X = 2e6, 8192, 28_672, 1024
    C, W = 4.59e14, 1.8e11
    dp = cost.t_layer("dp", B, D, F, V5P, X)
    assert dp.forward == same((4 * B * D * F / (X * C), 0))
    assert dp.backward == same((8 * B * D * F / (X * C), 8 * D * F / W))
    assert cost.seconds(dp.backward) == same(
        8 * D * F * max(B / (X * C), 1 / W)
    )
    fsdp = cost.t_layer("fsdp", B, D, F, V5P, X)
    assert cost.seconds(fsdp.forward) == same(
        4 * D * F * max(B / (X * C), 1 / W)
    )


@pytest.mark.parametrize(
    ("tokens", "expected"), [(500, 1.37), (1000, 1.25), (2550, 1.0), (9e4, 1.0)]
)
def test_fsdp_has_the_knee_of_dp_and_more_to_move(tokens, expected):  # V-3
    X, D, F = 64, 8192, 28_672
    dp, fsdp = (
        cost.step_seconds(cost.t_layer(name, tokens * X, D, F, V5P, X))
        for name in ("dp", "fsdp")
    )
    assert round(fsdp / dp, 2) == expected


@given(st.sampled_from(["dp", "zero1", "zero2", "fsdp", "tp"]), st.booleans())
def test_same_arithmetic_under_every_strategy(strategy, gated):  # ET-8, EZ-5
    chips = {"Y": 8} if strategy == "tp" else {"X": 8}
    layer = cost.t_layer(strategy, 1e6, 64, 256, V5P, **chips, gated=gated)
    alone = cost.t_layer("none", 1e6, 64, 256, V5P, gated=gated)
    for mine, its in zip(layer, alone, strict=True):
        assert mine.math * 8 == same(its.math)
        assert its.comm == 0


def test_communication_does_not_know_the_batch():  # Z2.5, Z4.2
    def comm(strategy, B, **chips):
        return cost.t_layer(strategy, B, 64, 256, V5P, **chips).backward.comm

    assert comm("dp", 1e5, X=8) == comm("dp", 1e6, X=64)
    assert comm("fsdp", 1e5, X=8) == comm("fsdp", 1e6, X=64)
    assert comm("tp", 1e6, Y=8) == same(10 * comm("tp", 1e5, Y=8))


# ---- tensor parallelism ------------------------------------------------------


@each(
    ("limit", "expected"),
    [
        pytest.param(cost.tp_limit(8192, V5P), 3.2, id="Z4.4"),
        pytest.param(cost.tp_limit(30_000, V5P), 11.8, id="T3.6"),
        pytest.param(cost.tp_limit(F_70B, V5P), 11.2, id="T3.9"),
        pytest.param(cost.tp_limit(F_70B, V5P, gated=True), 16.9, id="ET-13"),
        pytest.param(cost.tp_limit(50_000, V5P), 19.6, id="T3.10"),
        pytest.param(cost.tp_limit(24_576, V5P), 9.6, id="ET-14"),
        pytest.param(
            cost.tp_limit(24_576, V5P, gated=True), 14.5, id="ET-14-g"
        ),
        pytest.param(cost.tp_limit(F_70B, V5P, 2), 22.5, id="T6.1-N15"),
        pytest.param(cost.tp_limit(32_768, V5P), 12.9, id="ET-20"),
        pytest.param(cost.tp_limit(F_13B, V5P, gated=True), 8.1, id="W-T4-g"),
        pytest.param(
            cost.tp_limit(F_70B, V5P, precision="int8", itemsize=1),
            11.2,
            id="T3.8",
        ),
    ],
)
def test_tp_limit(limit, expected):
    assert round(limit, 1) == expected


@pytest.mark.parametrize(("chip", "F"), [(V5P, 20_400), (V4P, 24_444)])
def test_eight_way_needs_this_hidden_size(chip, F):  # T3.9, ET-13
    assert cost.tp_limit(F, chip) == close(8, abs=1e-3)


@given(sizes, st.integers(2, 64), st.booleans())
def test_tp_limit_does_not_know_the_batch(B, Y, gated):  # T3.5, T3.6, Z4.3
    F = 20_000
    for chip in (V5P, H100):
        Y = min(Y, hw.reach(chip))
        layer = cost.t_layer("tp", B, 512, F, chip, Y=Y, gated=gated)
        limit = cost.tp_limit(F, chip, gated=gated)
        assert layer.forward.ratio == same(limit / Y)
        # Backward does twice the arithmetic for the same bytes.
        assert layer.backward.ratio == same(2 * limit / Y)


# ---- FSDP and TP -------------------------------------------------------------


@each(
    ("tokens", "expected"),
    [
        pytest.param(
            cost.mixed_tokens_per_chip(32_768, V5P, overlap=False),
            396.9,
            id="T4.9-sum",
        ),
        pytest.param(cost.mixed_tokens_per_chip(32_768, V5P), 99.2, id="Z5.3"),
        pytest.param(
            cost.mixed_tokens_per_chip(30_000, V5P, overlap=False),
            433.5,
            id="ET-23-sum",
        ),
        pytest.param(cost.mixed_tokens_per_chip(30_000, V5P), 108.4, id="N15"),
        pytest.param(
            cost.mixed_tokens_per_chip(F_13B, V5P, overlap=False),
            940.8,
            id="T8.3c-sum",
        ),
        pytest.param(cost.mixed_tokens_per_chip(F_13B, V5P), 235.2, id="N16"),
        pytest.param(
            850 / cost.mixed_tokens_per_chip(32_768, V5P), 8.6, id="Z5.4"
        ),
        pytest.param(
            850 / cost.mixed_tokens_per_chip(32_768, V5P, overlap=False),
            2.1,
            id="T4.10",
        ),
        pytest.param(1e6 / 8960, 111.6, id="N15-two-pods"),
    ],
)
def test_mixed_tokens(tokens, expected):
    assert round(tokens, 1) == expected


@pytest.mark.parametrize(
    ("chips", "expected"),
    [
        pytest.param(
            cost.max_chips(
                2e6, cost.mixed_tokens_per_chip(30_000, V5P, overlap=False)
            ),
            4614,
            id="T6.3-sum",
        ),
        pytest.param(
            cost.max_chips(2e6, cost.mixed_tokens_per_chip(30_000, V5P)),
            18_454,
            id="T6.3-max",
        ),
        pytest.param(
            4096 * cost.mixed_tokens_per_chip(32_768, V5P, overlap=False),
            1_625_625,
            id="ET-19",
        ),
        pytest.param(
            4096 * cost.mixed_tokens_per_chip(32_768, V5P), 406_406, id="T4.12"
        ),
        pytest.param(
            8192 * cost.mixed_tokens_per_chip(30_000, V5P, overlap=False),
            3_551_232,
            id="ET-24",
        ),
    ],
)
def test_chips_and_batches_of_the_mixed_scheme(chips, expected):
    assert round(chips) == expected


@each(
    ("X", "expected"),
    [
        pytest.param(cost.x_opt(48_000, 32_768, 64), 13.69, id="T4.7"),
        pytest.param(cost.x_opt(48_000, 32_768, 64, 1, 1), 9.68, id="EZ-9"),
        pytest.param(cost.x_opt(48_000, 32_000, 64), 13.86, id="ET-16"),
        pytest.param(cost.x_opt(1e6, F_13B, 4096), 769.8, id="W-T4-1M"),
        pytest.param(cost.x_opt(3e6, F_13B, 4096), 1333.33, id="N16"),
        pytest.param(cost.x_opt(10e6, F_13B, 4096), 2434.32, id="W-T4-10M"),
        pytest.param(cost.x_opt(262_144, 32_768, 4096), 256.0, id="ET-20"),
    ],
)
def test_x_opt(X, expected):
    assert round(X, 2) == expected


def test_axis_is_no_shorter_than_a_chip_and_no_longer_than_all():
    assert cost.x_opt(1, 1e6, 64) == 1
    assert cost.x_opt(1e9, 1e3, 64) == 64


@each(("M_X", "M_Y"), [(1, 1), (1, 2), (2, 1), (0.5, 2.5)])
@each("gated", [False, True])
def test_axes_of_the_network_under_each(M_X, M_Y, gated):  # N12
    F, N = 32_768, 4096
    knee = cost.mixed_tokens_per_chip(F, V5P, M_X, M_Y, gated)
    X = cost.x_opt(knee * N, F, N, M_X, M_Y, gated)
    at_knee = forward(knee * N, F, X, N / X, M_X, M_Y, gated=gated)
    assert at_knee.ratio == same(1)
    weights = 1.5 * F if gated else F
    assert knee == same(ALPHA**2 / (M_X * M_Y * weights))


@each("inside", [1, 2, 4, 8])
@each("B", [2**13, 2**15, 2**16, 2**18, 2e6])
def test_a_split_over_nodes_deals_them_to_tp_first(B, inside):  # C4.19
    F, N, seconds = 28_672, 64, {}
    for X, Y in cost.splits(N):
        near_Y = min(Y, inside)
        near = min(X, inside // near_Y), near_Y
        axes = (1, 0.5) if Y == 1 else (0.5, 1) if X == 1 else (0.5, 0.5)
        step = cost.t_layer("fsdp_tp", B, 1, F, H100, X, Y, *axes, inside=near)
        seconds[X, Y] = step.forward.comm
    how = {"M_X": 0.5, "M_Y": 0.5, "inside": inside}
    best = cost.best_split(B, F, N, H100, **how)
    assert best == min(seconds, key=seconds.get)


def test_nodes_that_hold_all_chips_change_nothing():
    for N in (1, 4, 8):
        on = {"M_X": 0.5, "M_Y": 0.5}
        plain = cost.best_split(1e6, 28_672, N, H100, **on)
        assert cost.best_split(1e6, 28_672, N, H100, **on, inside=8) == plain


def test_split_of_the_example():  # T4.7
    assert cost.best_split(48_000, 32_768, 64, V5P) == (16, 4)


@pytest.mark.parametrize(
    ("overlap", "expected"), [(False, 15_300), (True, 3825)]
)
def test_mixing_pays_from(overlap, expected):  # V-1, ET-33
    assert cost.mixed_pays_from(V5P, overlap=overlap) == same(expected)
    fsdp = cost.tokens_per_chip(V5P, 3)
    for change, pays in ((1.01, True), (0.99, False)):
        mixed = cost.mixed_tokens_per_chip(
            change * expected, V5P, overlap=overlap
        )
        assert (mixed < fsdp) is pays


def forward(B, F, X, Y, M_X=2, M_Y=1, **how):
    return cost.t_layer("fsdp_tp", B, 64, F, V5P, X, Y, M_X, M_Y, **how).forward


W_T4 = {  # batch: pure FSDP; 2048x2, 1024x4, 512x8, each max and sum
    1e6: (0.287, 0.383, 0.336, 0.766, 0.489, 0.678, 0.470),
    3e6: (0.862, 1.149, 0.807, 1.355, 0.852, 0.678, 0.591),
    10e6: (2.872, 2.711, 1.587, 1.355, 1.152, 0.678, 0.649),
}


@pytest.mark.parametrize(
    ("B", "row"),
    [pytest.param(*r, id=f"W-T4-{r[0]:.0e}") for r in W_T4.items()],
)
def test_question_4(B, row):  # T8.4
    got = [forward(B, F_13B, 4096, 1, M_X=3).ratio]
    for X, Y in ((2048, 2), (1024, 4), (512, 8)):
        for overlap in (True, False):
            got.append(forward(B, F_13B, X, Y, overlap=overlap).ratio)
    assert tuple(round(ratio, 3) for ratio in got) == row


def test_other_layouts_of_question_4():  # W-T4
    def at_1M(*how, **options):
        return round(forward(1e6, F_13B, 512, 8, *how, **options).ratio, 3)

    assert at_1M(1, 2) == 0.766
    assert at_1M(gated=True) == 1.016
    # All three axes' bandwidth shared freely: the sum, over three axes.
    assert at_1M(3, 3, overlap=False) == 1.079
    assert round(1e6 / 4096, 1) == 244.1


@pytest.mark.parametrize(
    ("B", "best"),
    [(1e6, (1024, 4)), (3e6, (1024, 4)), (10e6, (4096, 1))],
)
def test_best_power_of_two(B, best):  # T8.3c, T8.4, ET-33
    assert cost.best_split(B, F_13B, 4096, V5P) == best


@each(
    ("B", "X", "overlap", "expected"),
    [
        pytest.param(3.5e6, 1024, False, 0.950, id="ET-24-3.5M-sum"),
        pytest.param(3.5e6, 1024, True, 1.471, id="ET-24-3.5M-max"),
        pytest.param(1.5e6, 1024, False, 0.645, id="ET-24-1.5M-sum"),
        pytest.param(1.5e6, 1024, True, 1.149, id="ET-24-1.5M-max"),
        pytest.param(1e6, 1024, True, 0.766, id="ET-24-newest"),
        pytest.param(1e6, 512, True, 0.735, id="ET-24-512x16"),
    ],
)
def test_recipe_for_a_pod(B, X, overlap, expected):  # T6.4
    ratio = forward(B, 30_000, X, 8192 // X, overlap=overlap).ratio
    assert round(ratio, 3) == expected


def crossing(first, second, low=1e5, high=1e8):
    """The batch at which two layouts need the same time to communicate."""
    for _ in range(80):
        middle = math.sqrt(low * high)
        if first(middle) < second(middle):
            low = middle
        else:
            high = middle
    return middle


@pytest.mark.parametrize(("overlap", "expected"), [(False, 4.54), (True, 5.59)])
def test_fsdp_takes_over(overlap, expected):  # T4.13, ET-20
    batch = crossing(
        lambda B: forward(B, 32_768, 512, 8, overlap=overlap).comm,
        lambda B: forward(B, 32_768, 4096, 1, M_X=3).comm,
    )
    assert round(batch / 1e6, 2) == expected


def test_sixteen_way_tp_is_for_small_batches():  # ET-20, T4.14
    batch = crossing(
        lambda B: forward(B, 32_768, 256, 16, overlap=False).comm,
        lambda B: forward(B, 32_768, 512, 8, overlap=False).comm,
    )
    assert round(batch / 1e6, 2) == 0.52
    for B in (1e5, 1e6, 1e7, 1e9):
        assert forward(B, 32_768, 256, 16).ratio < 1


def test_plotted_curve_crosses():  # ET-19
    def ratio(B):
        return forward(B, 32_768, 512, 8, overlap=False).ratio

    assert ratio(1.72e6) < 1 < ratio(1.74e6)


def test_flat_line_of_64_way_tp():  # T4.11, ET-18
    tp = cost.t_layer("tp", 1e6, 64, 30_000, V5P, Y=64, M_Y=3).forward
    assert round(tp.ratio, 3) == 0.551


REAL = st.floats(1, 64)


@given(st.floats(1e4, 1e8), st.floats(1e3, 1e5), st.booleans(), REAL)
def test_no_split_beats_x_opt(B, F, gated, X):  # T4.6, Z5.2
    N = 64
    best = cost.x_opt(B, F, N, gated=gated)
    for overlap in (True, False):
        how = {"gated": gated, "overlap": overlap}

        def comm(X, how=how):
            # Both axes are kept above one chip, where each has traffic.
            X = min(max(X, 1 + 1e-9), N - 1e-6)
            return forward(B, F, X, N / X, **how).comm

        assert comm(best) <= comm(X) * (1 + 1e-6)


@given(st.floats(1e3, 1e5), st.booleans(), st.floats(0.1, 10))
def test_threshold_is_met_at_x_opt(F, gated, change):  # T4.8, T9.4, ET-35
    N = 4096
    for overlap in (True, False):
        knee = cost.mixed_tokens_per_chip(F, V5P, gated=gated, overlap=overlap)
        B = change * knee * N
        X = cost.x_opt(B, F, N, gated=gated)
        if not 1.001 < X < N / 1.001:
            continue
        times = forward(B, F, X, N / X, gated=gated, overlap=overlap)
        assert times.ratio == close(math.sqrt(change), rel=1e-9)


@given(st.floats(1e4, 1e8), st.floats(1e3, 1e5), st.booleans())
def test_sum_and_maximum(B, F, gated):  # V-1, T4.5, Z5.1
    N = 64
    for X, Y in cost.splits(N):
        longer, added = (
            forward(B, F, X, Y, gated=gated, overlap=o) for o in (True, False)
        )
        assert longer.math == added.math
        assert longer.comm <= added.comm <= 2 * longer.comm
    X = cost.x_opt(B, F, N, gated=gated)
    if 1 < X < N:
        longer, added = (
            forward(B, F, X, N / X, gated=gated, overlap=o)
            for o in (True, False)
        )
        assert added.comm == close(2 * longer.comm, rel=1e-9)


@given(st.floats(1e4, 1e8), st.floats(1e3, 1e5), st.integers(1, 4096))
def test_best_split_is_the_best_of_all(B, F, N):
    X, Y = cost.best_split(B, F, N, V5P)
    assert X * Y == N
    assert Y & (Y - 1) == 0

    def comm(X, Y):
        axes = (3, 1) if Y == 1 else (2, 3) if X == 1 else (2, 1)
        return forward(B, F, X, Y, *axes).comm

    assert comm(X, Y) <= min(comm(*split) for split in cost.splits(N))


@pytest.mark.parametrize(
    ("N", "expected"),
    [
        (1, [(1, 1)]),
        (12, [(12, 1), (6, 2), (3, 4)]),
        (7, [(7, 1)]),
        (8, [(8, 1), (4, 2), (2, 4), (1, 8)]),
    ],
)
def test_splits(N, expected):
    assert cost.splits(N) == expected
    assert all(type(chips) is int for pair in cost.splits(N) for chips in pair)


@each("strategy", cost.STRATEGIES)
def test_exact_factors_and_their_limit(strategy):
    chips = {"X": 8} if strategy not in ("none", "tp") else {}
    chips |= {"Y": 4} if strategy in ("tp", "fsdp_tp") else {}
    how = (strategy, 1e6, 64, 256, V5P)
    limit = cost.t_layer(*how, **chips, overlap=False)
    exact = cost.t_layer(*how, **chips, overlap=False, exact=True)
    moved = cost.layer_volume(*how[:4], **chips)
    for part in range(3):
        assert exact[part].math == limit[part].math
        by_hand = moved["X"][part] * 7 / 8 + moved["Y"][part] * 3 / 4
        assert exact[part].comm == same(by_hand / 1.8e11)


@each("n_axes", [1, 2, 3])
@each("X", [4, 8])
def test_exact_volume_is_the_exact_gather(n_axes, X):
    V = 10**9
    gather = cost.t_collective(
        "all_gather", V, (X,) * n_axes, V5P.link_bw, algorithm="balanced"
    )
    assert cost.t_comm(V, V5P, n_axes, X=X**n_axes) == same(gather)
    line = cost.t_all_gather(V, X, V5P.link_bw, wrap=False)
    assert cost.t_comm(V, V5P, X=X, wrap=False) == same(line)
    switch = cost.t_all_gather(V, X, H100.link_bw, directions=1)
    assert cost.t_comm(V, H100, X=X) == same(switch)


# ---- across pods, pipelines, attention, experts ------------------------------


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("N", [64, 8960])
def test_pods_need_their_tokens_whatever_their_size(gated, N):  # T6.6, ET-25
    for change, bound in ((1.001, True), (0.999, False)):
        B = 10 * 73_440 * change
        times = cost.t_cross_pod(B, 8192, F_70B, N, 10, V5P, gated=gated)
        assert (times.ratio > 1) is bound
    assert times.ratio == close(0.999, rel=1e-9)


def test_egress_of_a_host():  # ET-26
    halved = 4 * V5P.flops / 1.25e10
    assert halved == same(146_880)
    assert 4 * V5P.flops / 2.5e10 == same(cost.pod_tokens(V5P))
    assert round(8960 / 4) == 2240  # hosts of a pod, "about 2000"


def test_one_pod_sends_nothing_outside():
    assert cost.t_cross_pod(1e6, 64, 256, 64, 1, V5P).comm == 0
    two = cost.t_cross_pod(1e6, 64, 256, 64, 2, V5P)
    exact = cost.t_cross_pod(1e6, 64, 256, 64, 2, V5P, exact=True)
    assert two.comm == same(8 * 64 * 256 / 64 / 6.25e9)
    assert exact.comm == same(two.comm / 2)
    assert exact.math == two.math


@each("overlap", [True, False])
@each(
    ("strategy", "X", "Y"),
    [("none", 1, 1), ("dp", 8, 1), ("fsdp", 8, 1), ("tp", 1, 8)]
    + [("fsdp_tp", 64, 8)],
)
def test_a_strategy_inside_pods(strategy, X, Y, overlap):  # T6.5, N14
    B, D, F, pods = 2**20, 8192, F_70B, 4
    how = {"overlap": overlap}
    step = cost.t_layer_in_pods(strategy, B, D, F, pods, V5P, X, Y, **how)
    inner = cost.t_layer(strategy, B / pods, D, F, V5P, X, Y, **how)
    forward, backward, update = step
    assert (forward, update) == (inner.forward, inner.update)
    assert backward.math == inner.backward.math
    across = 8 * D * F / (X * Y) / V5P.dcn_bw
    parts = inner.backward.comm, across
    assert backward.comm == same(max(parts) if overlap else sum(parts))
    alone = cost.t_layer_in_pods(strategy, B, D, F, 1, V5P, X, Y, **how)
    assert alone == cost.t_layer(strategy, B, D, F, V5P, X, Y, **how)


def test_pods_of_one_million_tokens_each():  # N15, T6.7
    B, D, pods, X, Y = 2**21, 8192, 2, 512, 8
    how = {"M_X": 2, "gated": True}
    step = cost.t_layer_in_pods("fsdp_tp", B, D, F_70B, pods, V5P, X, Y, **how)
    # A million tokens a pod are far above the 73,440 that hide DCN.
    assert B / pods > cost.pod_tokens(V5P)
    outer = cost.t_pods(B, D, F_70B, X * Y, pods, V5P, gated=True).backward
    assert outer.ratio > 1
    inner = cost.t_layer("fsdp_tp", B / pods, D, F_70B, V5P, X, Y, **how)
    assert step == inner


def test_pipelines_send_little():  # T5.4, C4.5
    B, D, m = 2**20, 8192, 8
    seconds = cost.t_pipeline_send(B, D, m, H100.dcn_bw)
    assert seconds == same(2 * B / m * D / 5e10)
    assert cost.t_pipeline_send(B, D, m, 5e10, 1e-3) == same(seconds + 1e-3)


@each(
    ("share", "expected"),
    [
        pytest.param(cost.bubble(4, 8), 3 / 8, id="EC-15-1F1B"),
        pytest.param(cost.bubble(8, 32), 7 / 32, id="T5.5"),
        pytest.param(cost.bubble(4, 8, v=2), 3 / 16, id="C4.8"),
        pytest.param(cost.zero_bubble(4, 8), 1 / 8, id="EC-15-split"),
        pytest.param(
            cost.zero_bubble(4, 8, 1, 1, 0.5) / cost.bubble(4, 8),
            0.5,
            id="EC-15-whole-backward-of-one",
        ),
        pytest.param(
            cost.dualpipe_bubble(16, 32, 1, 2, 1) * 32 * 3, 14, id="ET-22"
        ),
        pytest.param(cost.bubble(16, 32) * 32 * 3, 45, id="ET-22-1F1B"),
        pytest.param(cost.naive_bubble(4), 3, id="C4.2"),
        pytest.param(cost.idle_share(cost.naive_bubble(4)), 3 / 4, id="C4.2-n"),
        pytest.param(cost.idle_share(cost.bubble(4, 8)), 3 / 11, id="C4.3"),
    ],
)
def test_bubble(share, expected):
    assert share == same(expected)


@each("p", [1, 2, 3, 4, 8])
@each("rounds", [1, 2, 3])
@each(("F", "B", "W"), [(1, 2, 1), (2, 3, 1), (2, 4, 2)])
def test_bubbles_as_events_make_them(p, rounds, F, B, W):
    m = rounds * p
    schedules = [
        (cost.naive_bubble(p), pipeline.naive(p, m, F, B)),
        (cost.bubble(p, m), pipeline.gpipe(p, m, F, B)),
        (cost.bubble(p, m), pipeline.one_f_one_b(p, m, F, B)),
        (cost.bubble(p, m, v=2), pipeline.interleaved(p, m, 2, F, B)),
        (cost.bubble(p, m, v=3), pipeline.interleaved(p, m, 3, F, B)),
        (cost.zero_bubble(p, m, F, B, W), pipeline.zero_bubble(p, m, F, B, W)),
    ]
    for closed, events in schedules:
        assert closed == same(float(pipeline.bubble(events)))


@each(("p", "m"), [(2, 4), (4, 8), (8, 16), (8, 32), (16, 32)])
@each("both", [None, 2, 2.5])
def test_bubble_of_two_streams_as_events_make_it(p, m, both):  # ET-22
    events = pipeline.dualpipe(p, m, 1, 2, 1, both)
    idle = cost.dualpipe_bubble(p, m, 1, 2, 1, both) * m * 3
    assert idle == same(float(max(pipeline.idle(events))))
    report = (p / 2 - 1) * ((both or 3) + 2 - 3)
    assert idle == same(report)


part = st.integers(1, 9)


@given(st.sampled_from([2, 4, 6, 10]), part, part, part, st.integers(0, 9))
def test_two_streams_of_any_times(p, forward, early, weight, saved):
    backward, m = early + weight, 2 * p + 2
    both = max(forward + backward - saved, forward, backward)
    times = (forward, backward, weight, both)
    events = pipeline.dualpipe(p, m, *times)
    # Whole numbers: exact but for one division and one product of floats.
    idle = cost.dualpipe_bubble(p, m, *times) * m * (forward + backward)
    assert round(idle, 9) == float(max(pipeline.idle(events)))


@given(st.integers(1, 8), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_half_of_backward_waits_unless_said(half, forward, backward):
    p, k = 2 * half, half - 1
    idle = cost.dualpipe_bubble(p, 2 * p, forward, backward)
    idle *= 2 * p * (forward + backward)
    expected = max(2 * k * forward, k * (forward + backward / 2) - forward)
    # Sums and differences of times as long as all pairs of stages.
    assert idle == close(
        expected, rel=1e-9, abs=1e-9 * k * (forward + backward)
    )
    if backward == 2 * forward:
        assert idle == same(k * (forward + backward / 2))


def test_ring_attention():
    B, h, X = 131_072, 8192, 8
    layer = cost.t_context(B, h, X, V5P)
    C, link_bw = V5P.flops, V5P.link_bw
    assert layer.forward.math == same(4 * B**2 * h / X / C)
    # In each of X - 1 hops a chip hands on its keys and values of B / X tokens.
    hop = 2 * 2 * (B / X) * h / link_bw
    assert layer.forward.comm == same((X - 1) * hop)
    assert layer.backward == same((2.5 * layer[0].math, 2 * layer[0].comm))
    assert layer.update == (0, 0)
    both_ways = cost.t_context(B, h, X, V5P, directions=2)
    assert both_ways.forward.comm == same(layer.forward.comm / 2)


@pytest.mark.parametrize("X", [1, 2, 5, 8])
def test_blocks_go_round_as_the_links_count_them(X):
    B, h, kv = 8 * 5 * 7, 64, 16
    V = 2 * 2 * B * kv  # keys and values in bf16
    hop = ring.permute_steps(V, X, 1, directions=1)
    counted = (X - 1) * ring.seconds(hop, V5P.link_bw)
    assert cost.t_context(B, h, X, V5P, kv).forward.comm == same(counted)
    # On a line everybody's block has to pass everybody: what a gather does.
    line = ring.all_gather(V, X, link_bw=V5P.link_bw, wrap=False).seconds
    how = {"wrap": False, "directions": 2}
    assert cost.t_context(B, h, X, V5P, kv, **how).forward.comm == same(line)


def test_a_ring_beyond_the_node_waits_for_its_slowest_link():
    B, h, kv, X = 8192, 64, 16, 64
    V = 2 * 2 * B * kv
    for near in (1, 8):  # one block at a time leaves a node, by one port
        layer = cost.t_context(B, h, X, H100, kv, inside=near)
        assert layer.forward.comm == same((X - 1) / X * V / H100.dcn_bw)


@each("X", [1, 2, 3, 8])
@each("chip", [V5P, H100])
def test_gathered_keys_and_values(X, chip):
    B, h, kv = 3 * 8 * 7, 64, 16
    how = {"directions": hw.ring_directions(chip)}
    counted = ring.all_gather(4 * B * kv, X, link_bw=chip.link_bw, **how)
    layer = cost.t_context(B, h, X, chip, kv, "gather", exact=True)
    assert layer.forward.comm == same(counted.seconds)
    assert layer.backward.comm == same(2 * counted.seconds)
    limit = cost.t_context(B, h, X, chip, kv, "gather")
    assert limit.forward.comm * (X - 1) / X == same(counted.seconds)


@pytest.mark.parametrize("sizes", [(1,), (2,), (8,), (4, 4)])
def test_ulysses_is_an_exchange_there_and_back(sizes):
    B, h, kv, X = 16 * 16, 64, 16, math.prod(sizes)
    Q, K = 2 * B * h, 2 * B * kv  # results are as large as queries
    counted = [
        ring.all_to_all(
            12 * V, sizes, link_bw=V5P.link_bw, algorithm="balanced"
        )
        for V in (Q, K, K, Q)
    ]
    layer = cost.t_context(B, h, X, V5P, kv, "ulysses", n_axes=len(sizes))
    there_and_back = sum(c.seconds for c in counted) / 12
    assert layer.forward.comm == layer.backward.comm == same(there_and_back)


def test_who_moves_least_of_the_three():
    def moves(scheme, kv, **how):
        step = cost.t_context(2**17, 8192, 8, V5P, kv, scheme, **how)
        return step.forward.comm + step.backward.comm

    # Two ways round, all heads alike: a ring and a gather move 12 B h bytes.
    assert moves("ring", None, directions=2) == same(
        moves("gather", None, exact=True)
    )
    assert moves("ulysses", None) < moves("gather", None)
    # With one key head for eight query heads, Ulysses loses its lead.
    assert moves("ulysses", 1024) > moves("gather", 1024)


@given(st.integers(2, 64), st.sampled_from([1, 4, 8]), st.sampled_from([1, 2]))
def test_tokens_that_hide_a_hop(X, heads_per_kv, directions):
    tokens = cost.ring_attention_tokens(V5P, heads_per_kv, directions)
    h = 8192
    layer = cost.t_context(
        tokens * X, h, X, V5P, h / heads_per_kv, directions=directions
    )
    # X blocks are multiplied while X - 1 travel.
    assert layer.forward.ratio == same(X / (X - 1))
    assert cost.ring_attention_tokens(V5P) == same(2 * ALPHA)


@given(st.integers(2, 64), st.booleans(), st.integers(1, 8))
def test_experts(X, gated, k):
    F = 2048
    layer = cost.t_expert(1e6, 512, F, X, V5P, k, gated=gated)
    limit = cost.expert_limit(F, V5P, gated=gated)
    # The limit knows no odd axis, in whose middle a chip has less to pass on.
    saved = 1 / X**2 if X % 2 else 0
    assert layer.forward.ratio == same(limit / X / (1 - saved))
    assert limit == same(4 * cost.tp_limit(F, V5P, gated=gated))
    assert layer.backward == same((2 * layer[0].math, layer[0].comm))
    alone = cost.t_expert(1e6, 512, F, 1, V5P, k, gated=gated)
    assert alone.forward.comm == 0
    assert alone.forward.math == same(X * layer.forward.math)


@each("wrap", [True, False])
@each("sizes", [(2,), (3,), (5,), (8,), (2, 2), (3, 3), (5, 5), (3,) * 3])
def test_an_exchange_takes_what_balanced_links_count(sizes, wrap):  # ES-9, N5
    n, N = len(sizes), math.prod(sizes)
    V = 12 * N**2
    how = {"wrap": wrap, "algorithm": "balanced"}
    counted = ring.all_to_all(V, sizes, link_bw=V5P.link_bw, **how)
    # A line's links carry most in the middle; in step by step its ends wait.
    busiest = counted.bytes_on_link.max() / V5P.link_bw
    assert cost.t_exchange(V, N, V5P, n, wrap) == same(busiest)
    if wrap:
        assert busiest == same(counted.seconds)


@each("n_axes", [1, 2, 3])
@each("wrap", [True, False])
def test_limit_of_experts_on_a_torus(n_axes, wrap):  # N5
    F = 1000
    limit = cost.expert_limit(F, V5P, n_axes, wrap=wrap)
    tp = cost.tp_limit(F, V5P, wrap=wrap)
    assert limit == same((4 * tp) ** n_axes)
    for X in (2**n_axes, 4**n_axes, 16**n_axes):
        layer = cost.t_expert(1e6, 64, F, X, V5P, 2, n_axes, wrap=wrap)
        # The longest axis binds, of which each has X to the 1 / n_axes.
        assert layer.forward.ratio**n_axes == close(limit / X, rel=1e-9)


@pytest.mark.parametrize("F", [1000, 2199, 2201, 4096])
def test_limit_of_experts_on_a_switch(F):
    limit = cost.expert_limit(F, H100)
    for X in (2, 3, 8):
        bound = cost.t_expert(1e6, 64, F, X, H100, 2).forward.ratio >= 1
        assert bound is (limit >= X)
    assert (limit == math.inf) is (F >= 2200)


# ---- what every strategy takes -----------------------------------------------

LAYERS = {
    **{
        name: lambda chip=V5P, X=8, name=name, **how: cost.t_layer(
            name, 1e6, 512, 2048, chip, X, **how
        )
        for name in ("dp", "zero1", "zero2", "fsdp")
    },
    "tp": lambda chip=V5P, X=8, **how: cost.t_layer(
        "tp", 1e6, 512, 2048, chip, Y=X, **how
    ),
    "fsdp_tp": lambda chip=V5P, X=8, **how: cost.t_layer(
        *("fsdp_tp", 1e6, 512, 2048, chip, X // 2, 2, 0.5, 0.5),
        **how,
    ),
    "ring": lambda chip=V5P, X=8, **how: cost.t_context(
        1e6, 512, X, chip, **how
    ),
    "gather": lambda chip=V5P, X=8, **how: cost.t_context(
        1e6, 512, X, chip, scheme="gather", **how
    ),
    "ulysses": lambda chip=V5P, X=8, **how: cost.t_context(
        1e6, 512, X, chip, scheme="ulysses", **how
    ),
    "expert": lambda chip=V5P, X=8, **how: cost.t_expert(
        1e6, 512, 2048, X, chip, **how
    ),
    "pipeline": lambda chip=V5P, X=8, **how: cost.t_pipeline(
        1e6, 512, 2048, X, chip, **how
    ),
    "pods": lambda chip=V5P, X=8, **how: cost.t_pods(
        1e6, 512, 2048, X, 2, chip, **how
    ),
}
CONTEXTS = ("ring", "gather", "ulysses")


def halved(step, math=1, comm=1):
    return [same((part.math / math, part.comm / comm)) for part in step]


@each("name", LAYERS)
@each("chip", [V5P, H100])
def test_every_strategy_has_both_bounds(name, chip):  # V-1
    step = LAYERS[name](chip)
    assert step.backward.comm > 0
    assert step.backward.math > step.forward.math > 0
    beside, after = (cost.step_seconds(step, o) for o in (True, False))
    assert beside < after <= 2 * beside
    assert after == same(sum(sum(part) for part in step))


@each("name", LAYERS)
def test_every_strategy_at_any_precision_and_itemsize(name):
    step = LAYERS[name]()
    assert list(LAYERS[name](precision="int8")) == halved(step, math=2)
    assert list(LAYERS[name](itemsize=1)) == halved(step, comm=2)


WEIGHTED = [n for n in LAYERS if n not in (*CONTEXTS, "fsdp_tp")]


@each("name", WEIGHTED)
def test_every_layer_with_weights_has_a_gate(name):  # ET-1
    step, gated = LAYERS[name](), LAYERS[name](gated=True)
    # Activations do not know the gate, weights and their gradients do.
    grows = {"tp": 1, "expert": 1, "pipeline": 1}.get(name, 1.5)
    assert list(gated) == halved(step, math=1 / 1.5, comm=1 / grows)


@each("name", [n for n in LAYERS if n not in ("pipeline", "pods")])
def test_every_network_is_of_rings_or_of_lines(name):  # V-5
    both_ways = {"directions": 2} if name == "ring" else {}
    on_rings = LAYERS[name](**both_ways)
    on_lines = LAYERS[name](**both_ways, wrap=False)
    assert list(on_lines) == halved(on_rings, comm=1 / 2)
    if name != "ring":  # blocks go one way round a switch
        assert LAYERS[name](H100, wrap=False) == LAYERS[name](H100)


@each("name", LAYERS)
@each(("chip", "X"), [(H100, 64), (V5P, 16_384)])
def test_no_axis_leaves_its_node_unsaid(name, chip, X):
    said = {"pipeline": "p", "pods": "N", "tp": "Y"}.get(name, "X")
    where = "node" if chip is H100 else "pod"
    with pytest.raises(ValueError, match=rf"^{said}( Y)? must be at") as error:
        LAYERS[name](chip, X)
    assert f"{hw.reach(chip)}, the chips of a {chip.name}'s {where}" in str(
        error.value
    )
    if name == "pods":
        return
    near = (4, 2) if name == "fsdp_tp" else 8
    crossing, within = LAYERS[name](chip, X, inside=near), LAYERS[name](chip, 8)
    assert crossing.backward.comm > 0
    assert crossing.forward.math < within.forward.math or name == "pipeline"
    if name == "pipeline":
        ratio = chip.link_bw / chip.dcn_bw
        assert crossing.forward.comm == same(ratio * within.forward.comm)


@pytest.mark.parametrize("exact", [True, False])
def test_FSDP_beyond_the_node(exact):
    X, near = 64, 8
    how = ("fsdp", 1e6, 512, 2048, H100, X)
    V = 2 * 2 * 512 * 2048
    step = cost.t_layer(*how, inside=near, exact=exact)
    out, within = (7 / 8, 7 / 8) if exact else (1, 1)
    gather = max(out * V / (near * H100.dcn_bw), within * V / H100.link_bw)
    assert step.forward.comm == same(gather)
    assert step == cost.t_layer(*how, inside=(near, None), exact=exact)
    # Alone in its node, a chip has one port, and TP all of NVLink.
    mixed = cost.t_layer(
        "fsdp_tp", 1e6, 512, 2048, H100, X, 8, inside=(1, 8), overlap=False
    )
    moved = cost.layer_volume("fsdp_tp", 1e6, 512, 2048, X, 8)
    by_hand = moved["X"].forward / H100.dcn_bw
    by_hand += moved["Y"].forward / H100.link_bw
    assert mixed.forward.comm == same(by_hand)


def test_pods_are_data_parallel_over_their_ports():  # T6.6
    B, D, F, N, pods = 1e6, 512, 2048, 64, 4
    step = cost.t_pods(B, D, F, N, pods, V5P)
    assert step.backward == cost.t_cross_pod(B, D, F, N, pods, V5P)
    assert (step.forward.comm, step.update) == (0, (0, 0))
    # The same as data parallelism over an axis that has N chips in each pod,
    # if what its pods do inside takes no time.
    free = replace(V5P, link_bw=1e25)
    as_axis = cost.t_layer("dp", B, D, F, free, N * pods, inside=N)
    assert list(step) == halved(as_axis)
    exact = cost.t_layer("dp", B, D, F, free, N * pods, inside=N, exact=True)
    assert list(cost.t_pods(B, D, F, N, pods, V5P, exact=True)) == halved(exact)


@pytest.mark.parametrize(
    ("p", "v", "layers"), [(4, 1, 1), (4, 2, 6), (1, 1, 2)]
)
def test_a_stage_at_work(p, v, layers):  # T5.4, C4.5
    B, D, F, m = 2**16, 512, 2048, 8
    step = cost.t_pipeline(B, D, F, p, V5P, layers, v)
    alone = cost.t_layer("none", B, D, F, V5P)
    sends = m * v * cost.t_pipeline_send(B, D, m, V5P.link_bw) * (p > 1)
    for part, work in zip(step[:2], alone, strict=False):
        assert part == same((layers * work.math, sends))
    # All stages at work, and their bubble: what a schedule of events takes.
    times = [int(1e15 * part.math / m / v) for part in step[:2]]
    if v == 1:
        events = pipeline.one_f_one_b(p, m, *times)
        worked = m * sum(times)
        full = worked * (1 + cost.bubble(p, m))
        assert full == same(float(pipeline.makespan(events)))


@pytest.mark.parametrize("wrap", [(False, True), (True, False), (False, False)])
def test_lines_in_the_thresholds(wrap):  # V-5
    F, N, B = 32_768, 4096, 1e6
    knee = cost.mixed_tokens_per_chip(F, V5P, wrap=wrap)
    slow = 2 ** (2 - sum(wrap))
    assert knee == same(slow * cost.mixed_tokens_per_chip(F, V5P))
    X = cost.x_opt(knee * N, F, N, 2 * (1 + wrap[0]), 1 + wrap[1])
    times = forward(knee * N, F, X, N / X, wrap=wrap)
    assert times.ratio == same(1)
    best = cost.best_split(B, F, N, V5P, wrap=wrap)
    moves = [
        (forward(B, F, X, Y, *axes, wrap=wrap).comm, -X)
        for X, Y in cost.splits(N)
        for axes in [(3, 1) if Y == 1 else (2, 3) if X == 1 else (2, 1)]
    ]
    assert best[0] == -min(moves)[1]


def test_one_kind_of_line_in_the_other_thresholds():
    line = {"wrap": False}
    tokens = cost.tokens_per_chip
    assert tokens(V5P, **line) == 2 * tokens(V5P)
    assert tokens(H100, **line) == tokens(H100)
    assert cost.tp_limit(1e4, V5P, **line) == cost.tp_limit(1e4, V5P) / 2
    assert cost.mixed_pays_from(V5P, **line) == 2 * cost.mixed_pays_from(V5P)
    int8 = {"precision": "int8", "itemsize": 1}
    for threshold in (
        lambda **how: tokens(V5P, **how),
        lambda **how: cost.tp_limit(1e4, V5P, **how),
        lambda **how: cost.mixed_tokens_per_chip(1e4, V5P, **how),
        lambda **how: cost.mixed_pays_from(V5P, **how),
        lambda **how: cost.expert_limit(1e4, V5P, **how),
        lambda **how: cost.ring_attention_tokens(V5P, **how),
        lambda **how: cost.pod_tokens(V5P, **how),
    ):
        assert threshold(**int8) == same(threshold())  # T3.8
        assert threshold(precision="int8") != threshold()


# ---- a step and a run --------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param((18_823, 0.5), 16.88, id="T2.9"),
        pytest.param((17_920, 0.5), 17.73, id="ET-12"),
        pytest.param((89_600, 0.5), 3.55, id="ET-27"),
        pytest.param((89_600, 1.0), 1.77, id="ET-27-peak"),
    ],
)
def test_days_of_llama_3_70b(days, expected):  # T6.7
    N, mfu = days
    flops = cost.training_flops(70e9, 15e12)
    assert flops == 6.3e24
    seconds = cost.t_train(flops, N, V5P, mfu)
    assert round(seconds / DAY, 2) == expected
    assert cost.mfu(flops, seconds, N, V5P) == same(mfu)


def test_two_days_need_this_utilisation():  # ET-27
    assert round(cost.mfu(6.3e24, 2 * DAY, 89_600, V5P), 2) == 0.89


@pytest.mark.parametrize(
    ("B", "peak", "at_40"),
    [(1e6, 0.0415, 0.104), (3e6, 0.125, 0.311), (10e6, 0.415, 1.04)],
)
def test_step_of_llama_2_13b(B, peak, at_40):  # T8.3c, W-T4, N16
    L, D, F, V = 40, D_13B, F_13B, 32_000
    params = 3 * L * D * F + 4 * D * 40 * 128 * L + 2 * V * D
    assert params == 13_015_449_600  # T8.1, ET-30
    flops = cost.training_flops(params, B)
    for mfu, expected in ((1.0, peak), (0.4, at_40)):
        seconds = cost.t_train(flops, 4096, V5P, mfu)
        assert seconds == close(expected, rel=5e-3)


def test_layers_add_up_to_the_six_of_a_step():  # EZ-7, T9
    B, D, F, L = 4096, 512, 2048, 12
    layers = L * cost.layer_flops(B, D, F, gated=True).total
    assert layers == cost.training_flops(L * 3 * D * F, B)


def test_seconds_of_a_step():
    layer = cost.t_layer("zero1", 1e5, 64, 256, V5P, 8)
    beside, after = (cost.step_seconds(layer, o) for o in (True, False))
    assert beside == sum(max(part) for part in layer)
    assert after == same(sum(part.math + part.comm for part in layer))
    assert beside < after


def test_no_communication_is_no_bound():
    layer = cost.t_layer("none", 1e5, 64, 256, V5P)
    assert layer.forward.ratio == math.inf
    assert cost.seconds(layer.forward) == layer.forward.math


@each("chip", CHIPS.values())
def test_every_chip_has_its_thresholds(chip):
    tokens = cost.tokens_per_chip(chip)
    assert 500 < tokens < 12_000
    assert cost.tp_limit(tokens * 8, chip) == same(8)
    assert cost.pod_tokens(chip) > tokens
    assert cost.max_chips(tokens * 64, tokens) == same(64)
    assert cost.max_chips(1, 0) == math.inf


# ---- bad input; test_cost.py spoils every argument of every formula ----------


@each(
    ("call", "message"),
    [
        (
            lambda: cost.layer_volume("dp", 1, 1, 1, 2, 2),
            "Y must be 1 for the strategy 'dp', which does not use that axis",
        ),
        (lambda: cost.layer_volume("tp", 1, 1, 1, 2), "X must be 1 for"),
        (lambda: cost.t_layer("none", 1, 1, 1, V5P, 2), "X must be 1 for"),
        (lambda: cost.t_layer("tp", 1, 1, 1, V5P, Y=2, M_Y=4), "M_Y of a v5p"),
        (lambda: cost.t_layer("dp", 1, 1, 1, H100, 2, M_X=2), "M_X of a h100"),
        (lambda: cost.mixed_tokens_per_chip(1, H100), "M_X of a h100 must be"),
        (lambda: cost.tokens_per_chip(V5E, 3), "n_axes of a v5e must be at"),
        (lambda: cost.best_split(1, 1, 4, V5E), "M_X [+] M_Y of a v5e must be"),
        (lambda: cost.best_split(1, 1, 16, H100), "N must be at most 8, the"),
        (
            lambda: cost.t_layer_in_pods("dp", 1, 1, 1, 2, H100, 16),
            "X must be at most 8, the chips of a h100's node, got 16",
        ),
        (
            lambda: cost.best_split(1, 1, 12, H100, inside=8),
            "N must be a multiple of inside = 8, got 12",
        ),
        (
            lambda: cost.best_split(1, 1, 32, H100, inside=16),
            "inside must be at most 8, the chips of a h100's node",
        ),
        (
            lambda: cost.t_layer("fsdp_tp", 1, 1, 1, H100, 4, 4),
            "X Y must be at most 8, the chips of a h100's node, got 4 x 4",
        ),
        (
            lambda: cost.t_layer("fsdp_tp", 1, 1, 1, H100, 64, 8, inside=8),
            "inside must be one of None, or a pair for X and Y; got 8",
        ),
        (
            lambda: cost.t_layer("fsdp", 1, 1, 1, H100, 64, inside=65),
            "inside must be at most X = 64, got 65",
        ),
        (
            lambda: cost.t_layer("fsdp", 1, 1, 1, H100, 64, inside=16),
            "X must be at most 8, the chips of a h100's node, got 16",
        ),
        (
            lambda: cost.t_layer("tp", 1, 1, 1, V5P, Y=2, wrap=(True, 1)),
            "wrap must be one of True, False; got 1",
        ),
        (
            lambda: cost.t_context(1, 1, 4, V5P, wrap=False),
            "directions must be 2 on a line",
        ),
        (
            lambda: cost.t_context(1, 1, 4, H100, directions=2),
            "directions must be 1 on the switch of a h100",
        ),
        (
            lambda: cost.ring_attention_tokens(H100, directions=2),
            "directions must be 1 on the switch of a h100",
        ),
        (
            lambda: cost.t_expert(1, 1, 1, 8, V5P, n_axes=1.5),
            "n_axes must be a",
        ),
        (lambda: cost.expert_limit(1, V5E, 3), "n_axes of a v5e must be at"),
        (lambda: cost.seconds((1,)), "times must be Times"),
        (lambda: cost.seconds((1, None)), "times must be a"),
        (lambda: cost.step_seconds((1, 2, 3)), "step must be a Step of Times"),
        (lambda: cost.step_seconds(Step(1, 2)), "step must be Times"),
        (lambda: cost.t_comm(1, V5P, X=0.5), "X must be a"),
        (lambda: cost.bubble(4, 6, v=2), "m must be a multiple of p = 4"),
        (lambda: cost.zero_bubble(4, 3), "m must be at least 1 p = 4"),
        (
            lambda: cost.zero_bubble(4, 8, 1, 2, 1.5),
            "weight must be at most forward = 1",
        ),
        (lambda: cost.dualpipe_bubble(3, 8), "p must be an even number"),
        (lambda: cost.dualpipe_bubble(4, 7), "m must be at least 2 p = 8"),
        (
            lambda: cost.dualpipe_bubble(4, 8, 1, 2, 2),
            "weight must be below backward = 2, got 2",
        ),
        (lambda: cost.dualpipe_bubble(4, 8, both=4), "both must be from 2,"),
        (lambda: cost.dualpipe_bubble(4, 8, both=1.9), "both must be from 2,"),
        (lambda: cost.dualpipe_bubble(4, 8, 5, both=4), "both must be from 5,"),
        (lambda: cost.t_train(1, 1, V5P, 1.1), "mfu must be at most 1"),
        (
            lambda: cost.t_train(1, 1, V5P, precision="fp4"),
            "precision of a v5p must be one of",
        ),
        (
            lambda: cost.ring_attention_tokens(V5P, 0.5),
            "heads_per_kv must be a",
        ),
        (lambda: cost.step_seconds(Step((1, 2), (1, 2), (0, 0)), 1), "overlap"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- nothing is answered that cannot be --------------------------------------

SILENT = {
    "six axes of three": (
        lambda: cost.mixed_tokens_per_chip(32_768, V5P, M_X=3, M_Y=3),
        "M_X + M_Y of a v5p must be at most 3, got 6",
    ),
    "six axes in a layer": (
        lambda: forward(1e6, 256, 4, 4, M_X=3, M_Y=3),
        "M_X + M_Y of a v5p must be at most 3, got 6",
    ),
    "two mesh axes on one port": (
        lambda: cost.t_layer("fsdp_tp", 1e6, 64, 256, H100, 4, 2),
        "M_X + M_Y of a h100 must be at most 1, got 2",
    ),
    "weights kept of none gathered": (
        lambda: cost.layer_volume("dp", 8, 8, 8, kept=True),
        "kept must be False for the strategy 'dp'",
    ),
    "kept under TP": (
        lambda: cost.layer_volume("tp", 8, 8, 8, kept=True),
        "kept must be False for the strategy 'tp'",
    ),
    "regather without TP": (
        lambda: cost.layer_volume("dp", 8, 8, 8, regather=True),
        "regather must be False for the strategy 'dp'",
    ),
    "gradients of weights that no chips share": (
        lambda: cost.layer_volume("tp", 8, 8, 8, grad_bytes=4),
        "grad_bytes must be None for the strategy 'tp'",
    ),
    "kept in stage 2": (
        lambda: cost.zero_volume(2, 8, 8, kept=True),
        "kept must be False for stage 2",
    ),
    "kept in a Transformer": (
        lambda: cost.transformer_volume("dp", *[8] * 7, kept=True),
        "kept must be False for the strategy 'dp'",
    ),
    "gradients in a Transformer": (
        lambda: cost.transformer_volume("sequence", *[8] * 7, grad_bytes=4),
        "grad_bytes must be None for the strategy 'sequence'",
    ),
    "axes under no mesh axis": (
        lambda: cost.t_layer("fsdp", 1e6, 64, 256, V5P, 8, M_Y=3),
        "M_Y must be 1 for the strategy 'fsdp'",
    ),
    "two chips on three axes": (
        lambda: cost.t_exchange(1e6, 2, V5P, n_axes=3),
        "n_axes must be at most 1 for X = 2",
    ),
    "more than the peak": (
        lambda: cost.mfu(1e30, 1e-3, 4, V5P),
        "flops must be at most 1.836e+12",
    ),
    "more pieces than bytes": (
        lambda: cost.t_broadcast(4, 8, 9e10, pieces=1000),
        "pieces must be at most V = 4 bytes, got 1000",
    ),
    "more pieces of a sum": (
        lambda: cost.t_reduce(4, 8, 9e10, pieces=1000),
        "pieces must be at most V = 4 bytes, got 1000",
    ),
    "more pieces in a chain": (
        lambda: cost.t_chain_all_reduce(4, 8, 9e10, pieces=1000),
        "pieces must be at most V = 4 bytes, got 1000",
    ),
    "axes under a ring": (
        lambda: cost.t_context(1e5, 8192, 8, V5P, n_axes=2),
        "n_axes must be 1 for the scheme 'ring'",
    ),
    "directions of a gather": (
        lambda: cost.t_context(
            1e5, 8192, 8, V5P, scheme="gather", directions=2
        ),
        "directions must be 1 for the scheme 'gather'",
    ),
}


@each("name", SILENT)
def test_no_nonsense_is_answered(name):
    call, message = SILENT[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_what_takes_turns_may_use_every_axis():
    turns = forward(1e6, 256, 4, 4, M_X=3, M_Y=3, overlap=False)
    assert turns.comm < forward(1e6, 256, 4, 4, overlap=False).comm
    cost.t_layer("fsdp_tp", 1e6, 64, 256, H100, 4, 2, overlap=False)


MISSPELT = {
    "overlp": lambda: cost.t_layer("fsdp", 8, 8, 8, V5P, 8, overlp=False),
    "wrapp": lambda: cost.step_bytes("all_gather", 100, 4, wrapp=True),
    "overlap": lambda: cost.t_pods(8, 8, 8, 8, 2, V5P, overlap=True),
    "direction": lambda: cost.t_permute(8, 4, 9e10, direction=1),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_an_option_that_is_not_there_is_named(name):
    with pytest.raises(TypeError, match=rf"argument '{name}'"):
        MISSPELT[name]()


# ---- gradients of a width of their own ---------------------------------------


@pytest.mark.parametrize(
    ("strategy", "bf16", "float32"),
    [
        ("dp", 8, 16),
        ("zero1", 8, 12),
        ("zero2", 8, 12),
        ("fsdp", 12, 16),
        ("fsdp_tp", 12, 16),
    ],
)
def test_bytes_of_gradients_in_float32(strategy, bf16, float32):
    D, F = 64, 256
    moved = cost.layer_volume(strategy, 8, D, F, X=8)["X"]
    wide = cost.layer_volume(strategy, 8, D, F, X=8, grad_bytes=4)["X"]
    assert (moved.total, wide.total) == (bf16 * D * F, float32 * D * F)
    assert cost.layer_volume(strategy, 8, D, F, X=8, grad_bytes=2)["X"] == moved


@each(
    ("strategy", "wider"),
    [("dp", 2), ("zero1", 1), ("zero2", 1), ("fsdp", 1.5)],
)
@each("grad_bytes", [None, 2, 4])
def test_tokens_that_hide_gradients_of_any_width(strategy, wider, grad_bytes):
    knee = cost.data_tokens_per_chip(strategy, V5P, 3, grad_bytes=grad_bytes)
    assert knee == same(850 * (wider if grad_bytes == 4 else 1))
    X = 64
    step = cost.t_layer(
        *(strategy, knee * X, 64, 256, V5P, X, 1, 3), grad_bytes=grad_bytes
    )
    forward = step.forward.comm + step.update.comm  # in the next forward pass
    slower = [forward / step.forward.math]
    slower.append(step.backward.comm / step.backward.math)
    assert max(slower) == same(1)


def test_fsdp_on_one_network_and_tp_on_another():
    """NVLink inside, InfiniBand outside: each axis has a bandwidth of its own.

    The knee is where the best split needs as long for its bytes as for its
    FLOPs, tried on real splits with the formula for neither.
    """
    F, N, C = 28_672, 4096, H100.flops
    W_X, W_Y = H100.dcn_bw, H100.link_bw
    knee = cost.mixed_tokens(F, C / W_X, C / W_Y)
    assert knee == same(C**2 / (W_X * W_Y * F))
    B = knee * N
    X = cost.x_opt(B, F, N, W_X, W_Y)
    assert same(math.sqrt(B / F * W_X / W_Y * N)) == X

    def ratio(X):
        t_X = 4 * F / (N / X) / W_X  # D cancels
        t_Y = 4 * B / X / W_Y
        return (4 * B * F / N / C) / max(t_X, t_Y)

    tried = [2 ** (k / 64) for k in range(64 * 12)]
    assert ratio(X) == same(1)
    assert max(map(ratio, tried)) <= 1 + 1e-9
