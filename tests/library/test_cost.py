"""Collectives and matmuls: formulas against the ring that counts, and laws."""

import inspect
import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import cost, hw, ring
from shardlab.hw import B200, CHIPS, H100, V4P, V5E, V5P
from tests.each import each

TIES = ("split", "one_way")

# Formulas and counts do the same sums in another order: a few last bits.
close = pytest.approx


def same(expected):
    return close(expected, rel=1e-12, abs=0)


def microseconds(seconds, digits=1):
    return round(seconds * 1e6, digits)


# ---- the finite-N table ------------------------------------------------------

# N, AllGather split, one way, AllToAll split, one way: in units of V / W.
FINITE_N = [
    (2, 0.5, 1, 0.25, 0.5),
    (3, 0.6667, 0.6667, 0.2222, 0.2222),
    (4, 0.75, 1, 0.25, 0.375),
    (5, 0.8, 0.8, 0.24, 0.24),
    (8, 0.875, 1, 0.25, 0.3125),
    (16, 0.9375, 1, 0.25, 0.2812),
    (64, 0.9844, 1, 0.25, 0.2578),
]


@each(
    ("N", "row"),
    [pytest.param(r[0], r[1:], id=f"ES-9-N{r[0]}") for r in FINITE_N],
)
def test_finite_ring(N, row):
    # W = 1 and V = 1: link_bw is a half, and seconds are in units of V / W.
    times = [t(1, N, 0.5, ties=ties) for t in GATHER_EXCHANGE for ties in TIES]
    assert [round(t, 4) for t in times] == [close(x, abs=5.1e-5) for x in row]


GATHER_EXCHANGE = (cost.t_all_gather, cost.t_all_to_all)


@each("N", range(2, 70))
def test_ratio_of_gather_to_exchange(N):  # S8.3, S10.10c to f, ES-21
    def ratio(**how):
        return cost.gather_share(N, **how) / cost.exchange_share(N, **how)

    if N % 2:
        expected = (Fraction(4 * N, N + 1),) * 2
    else:
        expected = Fraction(4 * (N - 1), N), Fraction(4 * N, N + 2)
    assert tuple(ratio(ties=ties) for ties in TIES) == expected
    assert ratio(directions=1) == 2
    assert ratio(wrap=False) == Fraction(N - 1, N) / Fraction(N**2 // 4, N**2)


def test_scalars_per_link_of_problem_10():
    D, N = 4, 8  # D chips, an N x N array of one-byte scalars
    V = N**2
    [[gather]] = cost.step_bytes("all_gather", V, D, directions=1)
    [[exchange]] = cost.step_bytes("all_to_all", V, D, directions=1)
    gather, exchange = sum(gather), sum(exchange)
    assert gather == N**2 * (1 - Fraction(1, D))  # S10.10a
    assert exchange == N**2 * (1 - Fraction(1, D)) / 2  # S10.10b
    assert exchange == Fraction(N**2, D**2) * D * (D - 1) / 2  # S10.10c, ES-21


@each("D", range(2, 40))
def test_gain_of_the_second_direction(D):  # S10.10d, S10.10e, ES-21
    def gain(share, ties):
        return share(D, directions=1) / share(D, ties=ties)

    gather, exchange = cost.gather_share, cost.exchange_share
    odd = D % 2
    assert gain(gather, "split") == 2
    assert gain(gather, "one_way") == (2 if odd else Fraction(2 * (D - 1), D))
    split, one_way = gain(exchange, "split"), gain(exchange, "one_way")
    assert split == (
        Fraction(4 * D, D + 1) if odd else Fraction(4 * (D - 1), D)
    )
    assert one_way == (split if odd else Fraction(4 * (D - 1), D + 2))
    assert max(split, one_way) < 4


# ---- worked numbers ----------------------------------------------------------

QUIZ_2A = 2048 * 8192 * 2  # S5.10: bf16[2048_Y, 8192], Y = 4
QUIZ_2B = 256 * 256 * 2
P2 = 2 * 1024 * 4096  # S10.2: bf16[1024, 4096]
MIB_32 = 32 * 2**20

WORKED = {
    "S5.10-ideal": (cost.t_limit("all_gather", QUIZ_2A, 4, 4.5e10), 372.8),
    "S5.10-ring": (cost.t_all_gather(QUIZ_2A, 4, 4.5e10), 279.6),
    "S5.10-line": (cost.t_all_gather(QUIZ_2A, 4, 4.5e10, wrap=False), 559.2),
    "ES-5-hop": (cost.t_send(QUIZ_2A / 4, 4.5e10), 186.4),
    "S5.11-hop": (cost.t_send(QUIZ_2B / 4, 4.5e10), 0.7),
    "S5.11-line": (
        cost.t_collective(
            *("all_gather", QUIZ_2B, 4, 4.5e10),
            wrap=False,
            hop_latency=1e-6,
            overlap=True,
        ),
        3.0,
    ),
    "S10.2-1": (cost.t_limit("all_gather", P2 / 4, 4, 4.5e10), 23.3),
    "S10.2-2": (cost.t_limit("all_gather", P2, (4, 4), 4.5e10), 46.6),
    "S10.2-3": (cost.t_limit("all_reduce", P2 / 16, 4, 4.5e10), 11.7),
    "ES-15-1": (cost.t_all_gather(P2 / 4, 4, 4.5e10), 17.5),
    "ES-15-2": (
        cost.t_collective(
            "all_gather", P2, (4, 4), 4.5e10, algorithm="balanced"
        ),
        43.7,
    ),
    "ES-15-3": (cost.t_all_reduce(P2 / 16, 4, 4.5e10), 8.7),
    "N9-1": (cost.t_limit("all_gather", P2 / 4, (4, 4), 4.5e10), 11.7),
    "N9-2": (cost.t_limit("all_gather", P2, (4, 4, 4), 4.5e10), 31.1),
    "S10.3": (
        cost.t_limit("all_gather", 256, 4, 4.5e10, hop_latency=1e-6),
        2.0,
    ),
    "S10.7-gather": (cost.t_all_gather(2 * 128 * 8192, 4, 4.5e10), 17.5),
    "S10.7-limit": (
        cost.t_limit("all_gather", 2 * 128 * 8192, 4, 4.5e10),
        23.3,
    ),
    "S10.7-one-matrix": (
        cost.t_all_gather(2 * 8192 * 32768, 4, 4.5e10),
        4473.9,
    ),
    "S10.8-AG": (cost.t_limit("all_gather", MIB_32, 16, 4.5e10), 372.8),
    "S10.8-AG-exact": (cost.t_all_gather(MIB_32, 16, 4.5e10), 349.5),
    "S10.8-RS-exact": (cost.t_reduce_scatter(MIB_32, 16, 4.5e10), 349.5),
    "S10.8-AR": (cost.t_limit("all_reduce", MIB_32, 16, 4.5e10), 745.7),
    "S10.8-AR-exact": (cost.t_all_reduce(MIB_32, 16, 4.5e10), 699.1),
    "S10.8-A2A": (cost.t_limit("all_to_all", MIB_32, 16, 4.5e10), 93.2),
    "S10.8-A2A-exact": (cost.t_all_to_all(MIB_32, 16, 4.5e10), 93.2),
    "H100-AG": (
        cost.t_all_gather(2 * 1024 * 16384, 8, H100.link_bw, directions=1),
        65.2,
    ),
    "TPU-part-2-5": (cost.t_send(2 * 8 * 128 * 8192, 9e10, 6, 1e-6), 192.4),
}


@each(
    ("seconds", "expected"), [pytest.param(*w, id=i) for i, w in WORKED.items()]
)
def test_worked_number(seconds, expected):
    assert microseconds(seconds) == expected


def test_shards_of_quiz_2():  # S5.10, S5.11, ES-6
    for V, shard in ((QUIZ_2A, 512 * 8192 * 2), (QUIZ_2B, 64 * 256 * 2)):
        [[steps]] = cost.step_bytes("all_gather", V, 4, wrap=False)
        assert steps == [shard] * 3
    rounded = cost.t_limit("all_gather", 34e6, 4, 4.5e10)
    assert microseconds(rounded, 0) == 378  # the source's 377 rounds V


def test_latency_bound_below_45_kB():  # S5.8
    assert cost.break_even_bytes(V5E.link_bw, V5E.hop_latency) == same(45_000)


def test_latency_leaves_most_of_the_bandwidth_at_10_MB():  # N4
    V = 10_000_000
    assert cost.step_bytes("all_gather", V, 16)[0][0][0] == 625_000
    t = cost.t_all_gather(V, 16, 4.5e10, hop_latency=1e-6)
    assert 0.9 < V * 15 / 32 / t / 4.5e10 < 0.95


@pytest.mark.parametrize("X", [2, 4, 8, 16])
def test_max_of_latency_and_bandwidth(X):  # S5.7, S5.9
    for V in (1e3, 1e5, 1e7):
        expected = max(1e-6 * X / 2, V / 9e10)
        got = cost.t_limit("all_gather", V, X, 4.5e10, hop_latency=1e-6)
        assert got == same(expected)
        got = cost.t_limit("all_gather", V, (X, 4), 4.5e10, hop_latency=1e-6)
        assert got == same(max(1e-6 * (X + 4) / 2, V / 9e10 / 2))


def test_hop_of_the_sources_is_one_step_of_the_exact_ring():  # S5.5, S6.6, ES-8
    V, X, W = 2**20, 8, 9e10
    [[steps]] = cost.step_bytes("all_gather", V, X, ties="one_way")
    assert len(steps) == X / 2
    assert steps[0] / (W / 2) == 2 * V / (X * W)
    assert cost.t_all_gather(V, X, W / 2, ties="one_way") == same(V / W)


def test_rounds_are_rounded_down():  # S5.4, ES-4
    assert [cost.hops(N) for N in (2, 3, 4, 5, 8, 9)] == [1, 1, 2, 2, 4, 4]
    assert [cost.hops(N, directions=1) for N in (2, 5)] == [1, 4]
    assert [cost.hops(N, wrap=False) for N in (1, 4)] == [0, 3]


def test_limits_of_the_summary():  # S9.5, S9.6, ES-11
    V, W, N = 1e9, 9e10, 10**6
    assert cost.volume("all_gather", V) == cost.volume("reduce_scatter", V) == V
    assert cost.volume("all_reduce", V) == 2 * V
    assert cost.volume("all_to_all", V) == V / 4
    near = close(1, abs=2e-6)
    for kind, t in T.items():
        limit = cost.t_limit(kind, V, N, W / 2)
        assert limit == same(cost.volume(kind, V) / W)
        assert t(V, N, W / 2) / limit == near
    # One direction of the links is half of W, so the limit is 2 V / W.
    one_way_round = cost.t_all_gather(V, N, W / 2, directions=1)
    assert one_way_round / (2 * V / W) == near


T = {
    "all_gather": cost.t_all_gather,
    "reduce_scatter": cost.t_reduce_scatter,
    "all_reduce": cost.t_all_reduce,
    "all_to_all": cost.t_all_to_all,
}


@each("sizes", [(8,), (4, 4), (8, 4), (4, 4, 4), (16, 8, 4), (16, 20, 28)])
def test_exchange_on_a_torus_meets_the_bisection(sizes):  # N5, N6
    V, N, link_bw = 1e9, math.prod(sizes), 9e10
    # Half the chips send half of what they hold across a cut that halves the
    # longest axis; a ring is cut twice.
    links = 2 * N // max(sizes)
    across = V / 4 / (links * link_bw)
    limit = cost.t_limit("all_to_all", V, sizes, link_bw)
    assert limit == same(across)
    assert limit == same(V * max(sizes) / (4 * N * 2 * link_bw))
    for algorithm in ("phases", "balanced"):
        how = (V, sizes, link_bw)
        exact = cost.t_collective("all_to_all", *how, algorithm=algorithm)
        assert exact >= limit * (1 - 1e-12)
    if len(set(sizes)) == 1:
        assert exact == same(limit)


def test_part_of_an_exchange_stays_no_matter_what():  # ES-12
    V, N = 4096, 8
    before = after = V / N
    moved_by_a_switch = cost.t_switch("all_to_all", V, N, 1.0)
    assert before == after == moved_by_a_switch * N / (N - 1)


def test_switch_halves_an_exchange_of_eight():
    V, N = 1e9, 8
    on_a_switch = cost.t_switch("all_to_all", V, N, H100.link_bw)
    assert on_a_switch == same(V * 7 / 64 / 4.5e11)
    assert cost.t_switch("all_to_all", V, 1, H100.link_bw, 1e-6) == 0
    assert cost.t_switch("all_to_all", 0, 2, H100.link_bw, 1e-6) == 1e-6


def test_a_switch_gathers_as_a_ring_one_way_round():
    expected = 7 / 8 / B200.link_bw
    assert cost.t_all_gather(1, 8, B200.link_bw, directions=1) == same(expected)


# ---- problem 5: the fastest matmul on 4 x 4 x 4 ------------------------------

I_, J_, K_ = 1024, 8192, 32768


def test_minimum_latency_matmul():  # S10.5
    gather = cost.t_matmul_gather(I_, J_, K_, 64, V5P, n_axes=3)
    assert cost.matmul_flops(I_, J_, K_) == close(5.5e11, rel=1e-2)
    assert microseconds(gather.math) == 18.7
    assert microseconds(gather.comm, 0) == 124
    exact = cost.t_collective(
        "all_gather", 2 * I_ * K_, (4, 4, 4), 9e10, algorithm="balanced"
    )
    assert exact == same(gather.comm * 63 / 64)
    assert microseconds(exact, 0) == 122
    reduce = cost.t_matmul_reduce(I_, J_, K_, 64, V5P, n_axes=3)
    assert reduce.comm == same(2 * gather.comm)
    assert microseconds(reduce.comm, 0) == 249
    alone = cost.t_matmul_gather(I_, J_, K_, 1, V5P)
    assert microseconds(alone.math, 0) == 1198
    assert alone.comm == 0
    assert cost.seconds(gather) == gather.comm
    assert cost.seconds(gather, overlap=False) == gather.math + gather.comm


def test_four_layouts_of_problem_5():  # S10.5
    V, link_bw = 2 * I_ * K_, 9e10
    reduce_z = cost.t_limit("all_reduce", V / 16, 4, link_bw)
    gather_xy = cost.t_limit("all_gather", V, (4, 4), link_bw)
    assert reduce_z + gather_xy == same(0.625 * V / (2 * link_bw))


@pytest.mark.parametrize(("chip", "expected"), [(V5P, 863), (V4P, 1035)])
def test_replicating_wins_if_the_contraction_is_short(chip, expected):  # S10.5
    def gained(J):  # math that sharding saves, over what the gather costs
        alone = cost.t_matmul_gather(I_, J, K_, 1, chip).math
        shared = cost.t_matmul_gather(I_, J, K_, 64, chip, n_axes=3)
        return (alone - shared.math) / shared.comm

    assert gained(expected - 1) < 1 < gained(expected + 1)


def test_small_matmul_of_problem_5():  # S10.5
    small = cost.t_matmul_gather(128, 512, 4096, 64, V5P, n_axes=3)
    assert microseconds(small.math, 3) == 0.018
    hops = sum(cost.hops(n) for n in (4, 4, 4))
    assert hops * V5P.hop_latency == same(6e-6)
    alone = cost.t_matmul_gather(128, 512, 4096, 1, V5P)
    assert microseconds(alone.math, 2) == 1.17


def test_hbm_breaks_the_tie_of_problem_5():  # S10.5
    def read(size):  # seconds in which so many bytes come from HBM
        return size * hw.hbm_intensity(V5P) / V5P.flops

    weights, In = read(2 * J_ * K_), read(2 * I_ * J_)
    assert [microseconds(t, 0) for t in (In, weights / 64)] == [6, 3]
    assert microseconds(weights, 0) == 192
    shared = cost.t_matmul_gather(I_, J_, K_, 64, V5P, n_axes=3)
    assert In + weights / 64 < shared.math < weights


# ---- problem 6: three shardings on a v5e 4 x 4 -------------------------------


def test_three_shardings():  # S10.6
    m, k, n, link_bw = 4096, 8192, 8192, V5E.link_bw
    t_math = cost.matmul_flops(m, k, n) / 16 / V5E.flops
    assert microseconds(t_math) == 174.4
    out, weights = 2 * (m // 4) * n, 2 * k * (n // 4)
    assert cost.t_limit("all_reduce", out, 4, link_bw) == same(m * n / 9e10)
    assert cost.t_limit("all_gather", weights, 4, link_bw) == same(
        2 * k * n / 4 / 9e10
    )
    columns = [
        (cost.t_limit("all_reduce", out, 4, link_bw), 373),
        (cost.t_all_reduce(out, 4, link_bw), 280),
        (cost.t_all_reduce(out, 4, link_bw, wrap=False), 559),
        (cost.t_limit("all_gather", weights, 4, link_bw), 373),
        (cost.t_all_gather(weights, 4, link_bw), 280),
        (cost.t_all_gather(weights, 4, link_bw, wrap=False), 559),
    ]
    assert [microseconds(t, 0) for t, _ in columns] == [e for _, e in columns]
    line = cost.t_all_reduce(out, 4, link_bw, wrap=False)
    assert line == same(m * n / 6e10)
    chain = cost.t_chain_all_reduce(out, 4, link_bw, pieces=10**6)
    assert chain == close(m * n / 9e10, rel=1e-5)


@pytest.mark.parametrize(
    ("t_comms", "grows_with", "expected"),
    [
        pytest.param(
            lambda m, k, n: cost.t_limit("all_reduce", m * n / 2, 4, 4.5e10),
            "k",
            17_511,
            id="S10.6-1-book",
        ),
        pytest.param(
            lambda m, k, n: cost.t_all_reduce(m * n / 2, 4, 4.5e10, wrap=False),
            "k",
            26_267,
            id="S10.6-1-line",
        ),
        pytest.param(
            lambda m, k, n: cost.t_limit("all_gather", k * n / 2, 4, 4.5e10),
            "m",
            8_756,
            id="S10.6-2-book",
        ),
        pytest.param(
            lambda m, k, n: cost.t_all_gather(k * n / 2, 4, 4.5e10, wrap=False),
            "m",
            13_133,
            id="S10.6-2-line",
        ),
    ],
)
def test_compute_bound_from(t_comms, grows_with, expected):
    def ratio(size):
        sizes = {"m": 4096, "k": 8192, "n": 8192} | {grows_with: size}
        t_math = cost.matmul_flops(*sizes.values()) / 16 / V5E.flops
        return t_math / t_comms(**sizes)

    assert ratio(expected - 1) < 1 < ratio(expected + 1)


# ---- problem 7: a block that does not fit ------------------------------------


def test_block_on_a_2x2():  # S10.7
    B, D, F, chip = 128, 8192, 32768, V5E
    weights = 2 * 2 * D * F
    assert round(weights / 1e6, 1) == 1073.7
    assert weights / 4 < 300e6 < weights / 4 + weights / 2
    math_only = 2 * cost.matmul_flops(B, D, F) / 4 / chip.flops
    assert microseconds(math_only, 0) == 174
    t_hbm = weights / 4 / chip.hbm_bw
    assert microseconds(t_hbm, 0) == 327
    # A 2 x 2 of lines is a ring of four single links.
    t_comms = cost.t_all_gather(2 * B * D, 4, chip.link_bw) * 2
    assert microseconds(t_comms, 0) == 35
    together = cost.Times(max(math_only, t_hbm), t_comms)
    assert microseconds(cost.seconds(together), 0) == 327
    assert microseconds(cost.seconds(together, overlap=False), 0) == 362


# ---- problem 4 and the roofline ----------------------------------------------


def test_two_strategies_for_a_sharded_contraction():  # S10.4
    B, D, F = 512, 8192, 8192
    alpha = 2550
    gather = cost.t_gather_matmul(B, D, F, 4, V5P)
    reduce = cost.t_matmul_reduce(B, D, F, 4, V5P)
    assert gather == same((2 * B * D * F / 4.59e14, 2 * D * F / 1.8e11))
    assert reduce == same((2 * B * D * F / 4 / 4.59e14, 4 * B * F / 1.8e11))
    # The second one is compute-bound iff X < D / (2 alpha), ES-16.
    assert reduce.ratio == same(D / (2 * alpha) / 4)
    assert cost.t_matmul_reduce(B, D, F, 1, V5P).ratio == math.inf
    # Small batch: the second wins iff D > 2 B.
    for D, wins in ((2 * B + 2, True), (2 * B - 2, False)):
        first = cost.seconds(cost.t_gather_matmul(B, D, F, 64, V5P))
        second = cost.seconds(cost.t_matmul_reduce(B, D, F, 64, V5P))
        assert (second < first) is wins
    # Large batch: iff D > 5100.
    for D, wins in ((5102, True), (5098, False)):
        first = cost.seconds(cost.t_gather_matmul(10**6, D, F, 64, V5P))
        second = cost.seconds(cost.t_matmul_reduce(10**6, D, F, 64, V5P))
        assert (second < first) is wins


def test_roofline_of_one_matmul():
    D, F = 8192, 32768
    assert round(cost.compute_bound_batch(D, F, V5E)) == 249
    for B, bound in ((200, "hbm"), (300, "math")):
        t_math = 2 * B * D * F / V5E.flops
        t_hbm = 2 * (B * D + D * F + B * F) / V5E.hbm_bw
        assert cost.t_matmul(B, D, F, V5E) == max(t_math, t_hbm)
        assert (t_hbm > t_math) is (bound == "hbm")


@given(st.integers(300, 10**5), st.integers(300, 10**5))
def test_knee_is_where_both_times_meet(D, F):
    for chip in CHIPS.values():
        knee = cost.compute_bound_batch(D, F, chip)
        if knee == math.inf:  # so small that arithmetic is never the slower
            assert chip.flops / chip.hbm_bw >= D * F / (D + F)
            continue
        t = cost.t_matmul(knee, D, F, chip)
        assert t == close(cost.matmul_flops(knee, D, F) / chip.flops, rel=1e-9)
        assert knee > chip.flops / chip.hbm_bw


def test_no_batch_is_enough_for_a_matrix_as_thin_as_this():
    own = replace(V5P, flops=4.0, hbm_bw=1.0)
    assert cost.compute_bound_batch(8, 8, own) == math.inf
    assert cost.compute_bound_batch(9, 9, own) == same(81 / (81 / 4 - 18))
    assert cost.compute_bound_batch(0.5, 1e9, own) == math.inf


@pytest.mark.parametrize("X", [1, 2, 3])
def test_one_chip_has_nobody_to_talk_to(X):
    B, D, F, n_axes = 8, 16, 32, 2
    wide = V5P.link_bw * 2 * n_axes
    moved = [2 * D * F, 2 * 2 * B * F, 2 * B * F]
    calls = (cost.t_gather_matmul, cost.t_matmul_reduce, cost.t_matmul_gather)
    for call, V in zip(calls, moved, strict=True):
        times = call(B, D, F, X, V5P, n_axes)
        assert times.comm == (same(V / wide) if X > 1 else 0)


def test_precision_and_itemsize_of_a_matmul():  # ET-3: 240 is not of v5p
    big = (10**5, 8192, 8192)
    slow, fast = (
        cost.t_matmul(*big, V5P, itemsize=n, precision=p)
        for n, p in ((2, "bf16"), (1, "int8"))
    )
    assert slow == same(2 * fast)
    for chip, knee in ((V5E, 240.2), (V5P, 163.9), (V4P, 229.2)):
        assert round(cost.compute_bound_batch(1e9, 1e9, chip), 1) == knee


# ---- agreement with what the links count -------------------------------------

AXES = [1, 2, 3, 4, 5, 6, 7, 8, (2, 2), (4, 2), (3, 5), (2, 3, 4), (3, 3, 3)]
WAYS = [
    {"wrap": True, "directions": 2, "ties": "split"},
    {"wrap": True, "directions": 2, "ties": "one_way"},
    {"wrap": True, "directions": 1},
    {"wrap": False},
]


def slowest(phases, link_bw, hop_latency=0.0):
    """The steps of the part that each phase has to wait for."""

    def lasts(part):
        return sum(max(step / link_bw, hop_latency) for step in part)

    return [step for phase in phases for step in max(phase, key=lasts)]


def case(value):
    return str(value).replace(" ", "")


@each("kind", cost.KINDS)
@each("X", AXES)
@each("how", WAYS)
@each("algorithm", ["phases", "balanced"])
def test_every_step_as_the_links_count_it(kind, X, how, algorithm):
    # Divisible by chips squared, halves of ties and three parts.
    V = 12 * math.prod(X if isinstance(X, tuple) else (X,)) ** 2
    clock = {"link_bw": 7.0, "hop_latency": 11.0}
    for overlap in (False, True):
        counted = getattr(ring, kind)(
            V, X, **how, **clock, overlap=overlap, algorithm=algorithm
        )
        formula = cost.t_collective(
            kind, V, X, **how, **clock, overlap=overlap, algorithm=algorithm
        )
        assert formula == same(counted.seconds)
    phases = cost.step_bytes(kind, V, X, **how, algorithm=algorithm)
    assert slowest(phases, **clock) == list(counted.step_bytes)
    ways = {k: v for k, v in how.items() if k != "ties"}
    ways["algorithm"] = algorithm
    assert cost.sent(kind, V, X, **ways) == counted.sent.max()
    assert cost.carried(kind, V, X, **ways) == counted.carried.max()


@each("kind", cost.KINDS)
@each("wrap", [(True, False), (False, True, True)])
@each("algorithm", ["phases", "balanced"])
def test_rings_and_lines_mixed(kind, wrap, algorithm):
    X = (4, 3, 2)[: len(wrap)]
    V = 12 * math.prod(X) ** 2
    how = {"wrap": wrap, "algorithm": algorithm}
    counted = getattr(ring, kind)(V, X, link_bw=7.0, **how)
    phases = cost.step_bytes(kind, V, X, **how)
    assert slowest(phases, 7.0) == list(counted.step_bytes)
    assert cost.sent(kind, V, X, **how) == counted.sent.max()
    assert cost.carried(kind, V, X, **how) == counted.carried.max()


@each("kind", cost.KINDS)
@each("N", range(1, 13))
@each("how", WAYS)
def test_closed_form_of_one_axis(kind, N, how):
    V = 2 * N**2
    steps = getattr(ring, f"{kind}_steps")(V, N, **how)
    counted = ring.seconds(steps, 7.0, 11.0)
    assert T[kind](V, N, 7.0, **how, hop_latency=11.0) == same(counted)
    busiest = max(ring.bytes_per_link(steps).values(), default=0)
    share = cost.exchange_share if kind == "all_to_all" else cost.gather_share
    if kind != "all_reduce":  # whose two halves need not be busy on one link
        assert V * share(N, **how) == busiest


@each("N", range(1, 8))
@each("pieces", [1, 2, 5])
@each("how", WAYS[1:])
def test_broadcast_reduce_and_chain(N, pieces, how):
    how = {k: v for k, v in how.items() if k != "ties"}
    V = 2 * pieces * 3
    for root in range(N):
        for kind in ("broadcast", "reduce"):
            steps = getattr(ring, f"{kind}_steps")(V, N, pieces, root, **how)
            got = getattr(cost, f"t_{kind}")(
                V, N, 7.0, pieces, root, **how, hop_latency=11.0
            )
            assert got == same(ring.seconds(steps, 7.0, 11.0))
    steps = ring.chain_all_reduce_steps(V, N, pieces)
    got = cost.t_chain_all_reduce(V, N, 7.0, pieces, hop_latency=11.0)
    assert got == same(ring.seconds(steps, 7.0, 11.0))


@each("N", range(1, 9))
@each("how", WAYS)
def test_permute(N, how):
    for shift in range(2 * N):
        steps = ring.permute_steps(2 * N, N, shift, **how)
        got = cost.t_permute(2 * N, N, 7.0, shift, **how, hop_latency=11.0)
        assert got == same(ring.seconds(steps, 7.0, 11.0))


@each("X", [(3,), (2, 4), (4, 3), (3, 2, 4), (1, 5)])
@each("lines", [(), (0,), (0, 1, 2)])
def test_broadcast_and_permute_over_axes_go_axis_by_axis(X, lines):
    wrap = tuple(axis not in lines for axis in range(len(X)))
    V, clock = 12 * math.prod(X), {"link_bw": 7.0, "hop_latency": 11.0}
    root, shift = tuple(n // 2 for n in X), tuple(n // 2 for n in X)
    bc = pm = 0
    for n, ring_, at in zip(X, wrap, root, strict=True):
        steps = ring.broadcast_steps(V, n, 2, at, ring_)
        bc += ring.seconds(steps, **clock)
        # Of V each chip of an axis has its share, and n chips are on it.
        steps = ring.permute_steps(V // math.prod(X) * n, n, at, ring_)
        pm += ring.seconds(steps, **clock)
    how = clock | {"wrap": wrap}
    assert cost.t_broadcast(V, X, pieces=2, root=root, **how) == same(bc)
    assert cost.t_reduce(V, X, pieces=2, root=root, **how) == same(bc)
    assert cost.t_permute(V, X, shift=shift, **how) == same(pm)
    first = cost.t_broadcast(V, X, pieces=2, **how)
    assert first == cost.t_broadcast(V, X, pieces=2, root=[0] * len(X), **how)


def test_a_place_for_each_axis():
    with pytest.raises(ValueError, match="^root must be one value or one for"):
        cost.t_broadcast(1, (4, 4), 1e9, root=(1, 2, 3))
    with pytest.raises(ValueError, match="^shift must be one value or one for"):
        cost.t_permute(1, (4, 4), 1e9, shift=(1,))
    with pytest.raises(ValueError, match="^root must be one of 2 chips"):
        cost.t_broadcast(1, (4, 2), 1e9, root=2)


# ---- laws --------------------------------------------------------------------

axis = st.integers(1, 40)
axes = st.lists(st.integers(1, 12), min_size=1, max_size=3).map(tuple)
byte_counts = st.integers(0, 10**15)
kinds = st.sampled_from(cost.KINDS)
ways = st.sampled_from(WAYS)


@given(byte_counts, axes, ways)
def test_reduce_is_scatter_and_gather(V, X, how):  # S6.4
    parts = [T[k](V, X, 9e10, **how) for k in ("reduce_scatter", "all_gather")]
    assert T["all_reduce"](V, X, 9e10, **how) == same(sum(parts))
    steps = [
        cost.step_bytes(k, V, X, **how)
        for k in ("reduce_scatter", "all_gather")
    ]
    assert cost.step_bytes("all_reduce", V, X, **how) == sum(steps, [])
    back = [[part[::-1] for part in phase] for phase in steps[1][::-1]]
    assert steps[0] == back


@given(kinds, byte_counts, axes, ways)
def test_closed_form_is_the_sum_of_the_steps(kind, V, X, how):
    clock = {"hop_latency": 1e-6}
    closed = T[kind](V, X, 9e10, **how, **clock)
    assert closed == close(
        cost.t_collective(kind, V, X, 9e10, **how, **clock), rel=1e-12, abs=0
    )


@given(kinds, byte_counts, axes, ways, st.integers(1, 9))
def test_time_is_bytes_over_bandwidth(kind, V, X, how, factor):
    once = T[kind](V, X, 9e10, **how)
    assert T[kind](V * factor, X, 9e10 * factor, **how) == same(once)
    assert T[kind](V * factor, X, 9e10, **how) == same(factor * once)


@given(kinds, byte_counts, axis)
def test_a_line_is_slower_than_a_ring(kind, V, X):  # V-5, ES-5
    on_ring = T[kind](V, X, 9e10)
    on_line = T[kind](V, X, 9e10, wrap=False)
    if X > 1:
        assert on_line == same(2 * on_ring)
    else:
        assert on_line == on_ring == 0
    assert T[kind](V, X, 9e10, ties="one_way") >= on_ring
    if X > 1:
        limits = [cost.t_limit(kind, V, X, 9e10, wrap=w) for w in (True, False)]
        assert limits[1] == same(2 * limits[0])
        assert on_ring <= limits[0] * (1 + 1e-12)


@given(st.sampled_from(cost.KINDS[:3]), byte_counts, st.integers(2, 2000))
def test_more_chips_approach_the_limit_from_below(kind, V, X):  # S5.6
    here, there = (T[kind](V, n, 9e10) for n in (X, X + 1))
    assert here <= there
    limit = cost.t_limit(kind, V, X, 9e10)
    assert limit - here == close(limit / X, rel=1e-9, abs=1e-18)


@given(byte_counts, axes)
def test_no_order_of_axes_sends_less(V, X):
    orders = set(permutations(X))
    for kind in ("all_gather", "all_reduce", "all_to_all"):
        assert len({cost.sent(kind, V, order) for order in orders}) == 1
    chips = math.prod(X)
    assert cost.sent("all_gather", V, X) == V * (1 - Fraction(1, chips))


@given(kinds, byte_counts, st.integers(2, 12), st.integers(1, 3))
def test_equal_axes_share_the_work_evenly(kind, V, n, count):  # S5.9
    X = (n,) * count
    phases, balanced = (
        cost.t_collective(kind, V, X, 9e10, algorithm=a)
        for a in ("phases", "balanced")
    )
    assert phases == same(count * balanced)
    assert balanced == same(
        cost.t_limit(kind, V, X, 9e10)
        * (1 if kind == "all_to_all" else 1 - 1 / n**count)
    ) or (kind == "all_to_all" and n % 2)


@given(kinds, byte_counts, axes)
def test_unequal_axes_leave_links_idle(kind, V, X):  # S5.9
    phases, balanced = (
        cost.t_collective(kind, V, X, 9e10, algorithm=a)
        for a in ("phases", "balanced")
    )
    used = [n for n in X if n > 1]
    assert balanced <= phases * (1 + 1e-12)
    if kind != "all_to_all" and used:
        at_best = cost.t_limit(kind, V, X, 9e10) * (1 - 1 / math.prod(X))
        assert balanced >= at_best * (1 - 1e-12)


@given(kinds, byte_counts, axes, ways, st.floats(0, 1))
def test_latency_beside_or_after_the_transfer(kind, V, X, how, hop_latency):
    added, beside = (
        cost.t_collective(
            kind, V, X, 9e10, **how, hop_latency=hop_latency, overlap=o
        )
        for o in (False, True)
    )
    bare = cost.t_collective(kind, V, X, 9e10, **how)
    steps = len(slowest(cost.step_bytes(kind, V, X, **how), 9e10))
    slack = 1 + 1e-12
    assert max(bare, steps * hop_latency) <= beside * slack
    assert beside <= added * slack
    assert added <= 2 * beside * slack


@given(byte_counts, st.integers(2, 40), st.integers(1, 1000))
def test_pieces_approach_the_array_over_the_bandwidth(
    V, X, pieces
):  # C2.2, C2.3
    V = max(V, pieces)  # a piece has a byte or more
    for wrap, limit in ((True, V / 1.8e11), (False, V / 9e10)):
        t = cost.t_broadcast(V, X, 9e10, pieces, wrap=wrap)
        assert t == same(limit * (pieces + X - 2) / pieces)
        assert cost.t_reduce(V, X, 9e10, pieces, wrap=wrap) == t
    assert cost.t_limit("broadcast", V, X, 9e10) == same(V / 1.8e11)
    assert cost.t_limit("reduce", V, X, 9e10) == same(V / 1.8e11)


@given(byte_counts, axis)
def test_one_chip_moves_nothing(V, X):
    alone = [1, (1, 1), (1, 1, 1)]
    for kind in cost.KINDS:
        for chips in alone:
            assert cost.t_limit(kind, V, chips, 9e10) == 0
            assert T[kind](V, chips, 9e10, hop_latency=1.0) == 0
            assert cost.sent(kind, V, chips) == 0
            phases = cost.step_bytes(kind, V, chips)
            assert not any(part for phase in phases for part in phase)
        assert T[kind](V, (1, X), 9e10) == T[kind](V, X, 9e10)
        with_one = cost.t_limit(kind, V, (X, 1), 9e10, hop_latency=1e-6)
        assert with_one == cost.t_limit(kind, V, X, 9e10, hop_latency=1e-6)


@pytest.mark.parametrize(
    ("how", "carried"),
    [
        pytest.param({"directions": 1}, 96, id="one-way-round"),
        pytest.param({}, 64, id="both-ways"),
        pytest.param({"wrap": False}, 112, id="line"),
    ],
)
def test_an_exchange_passes_on_more_than_it_sends(how, carried):
    # 256 bytes on 4 chips: 16 for each pair, of which 3 leave each chip.
    assert cost.sent("all_to_all", 256, 4, **how) == 48
    assert cost.carried("all_to_all", 256, 4, **how) == carried
    counted = ring.all_to_all(256, 4, link_bw=1.0, **how)
    assert (counted.sent.max(), counted.carried.max()) == (48, carried)


@given(kinds, byte_counts, axes, ways)
def test_who_carries_sends_no_more(kind, V, X, how):
    how = {k: v for k, v in how.items() if k != "ties"}
    sent, carried = (f(kind, V, X, **how) for f in (cost.sent, cost.carried))
    chips = math.prod(X)
    if kind == "all_to_all":
        assert sent == V * Fraction(chips - 1, chips**2) <= carried
    else:
        assert sent == carried


def test_a_permute_moves_one_message():
    # V is what each chip hands on: a hop by one link, or more of them.
    for V in (0, 7, 2**40):
        assert cost.volume("permute", V) == V
        assert (
            cost.sent("permute", V, 8) == cost.sent("permute", V, (2, 4)) == V
        )
        assert cost.sent("permute", V, 1) == 0
    [hop] = ring.permute_steps(8 * 16, 8, 1)
    assert {h.source for h in hop} == set(range(8))
    assert ring.bytes_per_link([hop]) == {
        link: cost.sent("permute", 16, 8) for link in ring.bytes_per_link([hop])
    }


@given(axis, st.integers(0, 80), ways)
def test_a_permute_never_takes_the_longer_way(X, shift, how):
    far, share = cost.permute_way(X, shift, **how)
    if how == WAYS[3]:
        assert far == max(shift % X, -shift % X)
    else:
        assert far <= (X - 1 if how.get("directions") == 1 else X // 2)
    assert share in (Fraction(1, X), Fraction(1, 2 * X))


# ---- a chip's own network ----------------------------------------------------


@each("sizes", [(2,), (4,), (8,), (4, 4), (2, 2), (4, 4, 4)])
@each("wrap", [True, False])
def test_exchange_on_a_network_of_equal_axes(sizes, wrap):  # N5
    V, N = 12 * math.prod(sizes) ** 2, math.prod(sizes)
    t = cost.t_exchange(V, N, V5P, n_axes=len(sizes), wrap=wrap)
    link_bw = V5P.link_bw
    assert t == same(cost.t_limit("all_to_all", V, sizes, link_bw, wrap=wrap))
    if N > 16:
        return
    counted = ring.all_to_all(
        V, sizes, link_bw=link_bw, wrap=wrap, algorithm="balanced"
    )
    assert t == same(counted.seconds)


@each("X", range(1, 9))
def test_exchange_on_a_switch(X):
    t = cost.t_exchange(1e9, X, H100)
    assert t == same(cost.t_switch("all_to_all", 1e9, X, H100.link_bw))
    assert cost.t_exchange(1e9, X, H100, wrap=False) == t


FAST_OUT = replace(H100, dcn_bw=1e15)  # so that the way inside is the slower


@each("nodes", [1, 2, 16])
@each("chip", [H100, FAST_OUT])
def test_exchange_beyond_the_node(nodes, chip):
    V, X, near = 1e9, 8 * nodes, 8
    t = cost.t_exchange(V, X, chip, inside=8)
    # To each of X chips one part; those of other nodes leave by the port.
    out = V / X**2 * (X - near) / chip.dcn_bw
    within = V / X**2 * (near - 1) / chip.link_bw
    assert t == same(max(out, within))


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("near", [2, 8])
def test_gather_beyond_the_node(nodes, near):
    V, X = nodes * near * 1000, nodes * near
    # Rank by rank the nodes gather one share each; then it is spread inside.
    one_way = {"directions": 1}
    outside = ring.all_gather(V // near, nodes, link_bw=H100.dcn_bw, **one_way)
    spread = ring.all_gather(V, near, link_bw=H100.link_bw, **one_way)
    t = cost.t_comm(V, H100, X=X, inside=near)
    assert t == same(max(outside.seconds, spread.seconds))
    limit = cost.t_comm(V, H100, inside=near)
    assert t < limit == same(V / min(near * H100.dcn_bw, H100.link_bw))


def test_nobody_inside_to_spread_to():
    t = cost.t_comm(1e9, H100, X=16, inside=1)
    assert t == same(15 / 16 * 1e9 / H100.dcn_bw)
    for chip in (H100, FAST_OUT):
        assert cost.t_comm(1e9, chip, inside=1) == same(1e9 / chip.dcn_bw)


@each("chip", CHIPS.values())
def test_all_inside_is_no_way_out(chip):
    for X in (2, 4, 8):
        assert cost.t_comm(1e9, chip, X=X, inside=X) == cost.t_comm(
            1e9, chip, X=X
        )
        assert cost.t_exchange(1e9, X, chip, inside=X) == cost.t_exchange(
            1e9, X, chip
        )


MATMULS = (cost.t_gather_matmul, cost.t_matmul_reduce, cost.t_matmul_gather)


@pytest.mark.parametrize("call", MATMULS)
def test_a_matmul_on_lines_and_in_int8(call):
    sizes = (512, 8192, 4096, 8, V5P)
    ring_, line = call(*sizes), call(*sizes, wrap=False)
    assert line == (ring_.math, same(2 * ring_.comm))
    fast = call(*sizes, precision="int8", itemsize=1)
    assert fast == (same(ring_.math / 2), same(ring_.comm / 2))


@pytest.mark.parametrize("call", MATMULS)
def test_a_matmul_beyond_the_node(call):
    sizes = (512, 8192, 4096)
    with pytest.raises(
        ValueError, match="^X must be at most 8, the chips of a"
    ):
        call(*sizes, 16, H100)
    near = call(*sizes, 8, H100).comm
    far = call(*sizes, 16, H100, inside=8).comm
    assert far / near == same(H100.link_bw / (8 * H100.dcn_bw))


def test_steps_are_not_listed_without_end():
    with pytest.raises(ValueError, match="X must be at most 1,000,000 chips"):
        cost.step_bytes("all_gather", 1, 10**7)


def test_exact_bytes_stay_exact():
    V = 10**18 + 1
    assert cost.sent("all_gather", V, 3) == Fraction(2 * V, 3)
    assert cost.sent("all_gather", 2**60, 8) == 2**60 * 7 // 8
    assert type(cost.sent("all_gather", 2**60, 8)) is int
    [[steps]] = cost.step_bytes("all_gather", V, 7, directions=1)
    assert sum(steps) == Fraction(6 * V, 7)
    assert cost.volume("all_to_all", 10) == Fraction(5, 2)
    assert cost.t_all_gather(np.int64(2**40), 4, 9e10) == cost.t_all_gather(
        2**40, 4, 9e10
    )
    assert cost.sent("all_gather", np.int64(2**62), 1024) == 2**52 * 1023


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, jnp.int32])
def test_numbers_of_few_bits_do_not_wrap_round(kind):
    n = 2**16
    few = kind(n)
    assert cost.matmul_flops(few, few, few) == 2 * n**3
    assert cost.training_flops(few, kind(2**30)) == 6 * n * 2**30
    args = [few] * 6
    whole, ends = cost.transformer_elements(*args, Y=few)
    assert (whole, ends) == cost.transformer_elements(*[n] * 6, Y=n)
    assert cost.tp_volume(few, few) == cost.tp_volume(n, n)
    assert cost.training_flops(np.int64(7e10), np.int64(15e12)) == 63 * 10**23


def test_a_fraction_stays_one():
    assert cost.matmul_flops(Fraction(1, 3), 2, 4) == Fraction(16, 3)


# ---- bad input ---------------------------------------------------------------


@each("bad", [2.5, 4.0])
@each("name", ["broadcast", "reduce", "permute", "chain_all_reduce", *T])
def test_chips_are_whole_numbers(name, bad):
    with pytest.raises(ValueError, match="^X must be a"):
        getattr(cost, f"t_{name}")(1e6, bad, 9e10)


SHAPES = list(T.values()) + [
    lambda *a, **k: cost.t_collective("all_gather", *a, **k),
    lambda V, X, bw, **k: cost.step_bytes("all_to_all", V, X, **k),
    lambda V, X, bw, **k: cost.step_bytes("reduce_scatter", V, X, **k),
]


@each("call", SHAPES)
@each(
    ("X", "how", "message"),
    [
        ((), {}, "X must have 1 to 3 axes, got 0"),
        ((2, 2, 2, 2), {}, "X must have 1 to 3 axes, got 4"),
        ((2, 0), {}, "X must be a"),
        (4, {"wrap": 1}, "wrap must be one of True, False"),
        (4, {"wrap": "ring"}, "wrap must be one of True, False"),
        ((4, 4), {"wrap": (True,)}, "wrap must be one value or one for each"),
        ((4, 4), {"wrap": (True, 2)}, "wrap must be one of True, False"),
        (4, {"directions": 3}, "directions must be one of 1, 2"),
        (4, {"directions": True}, "directions must be one of 1, 2"),
        (4, {"directions": 1, "wrap": False}, "directions must be 2 on a line"),
        (4, {"ties": "both"}, "ties must be one of 'split', 'one_way'"),
        (4, {"ties": None}, "ties must be one of 'split', 'one_way'"),
    ],
)
def test_networks_that_are_none(call, X, how, message):
    with pytest.raises(ValueError, match=message):
        call(1e6, X, 9e10, **how)


@each(
    ("call", "message"),
    [
        (lambda: cost.t_limit("permute", 1, 4, 1e9), "kind must be one of"),
        (lambda: cost.sent("broadcast", 1, 4), "kind must be one of"),
        (
            lambda: cost.t_collective("all_gather", 1, 4, 1e9, overlap=1),
            "overlap must be one of True, False",
        ),
        (lambda: cost.t_limit("all_gather", 1, 4, 1e9, wrap=0), "wrap must be"),
        (lambda: cost.t_limit("all_gather", -1, 4, 1e9), "V must be a"),
        (lambda: cost.t_limit("all_gather", 1, 0, 1e9), "X must be a"),
        (lambda: cost.t_broadcast(1, 4, 1e9, pieces=0), "pieces must be a"),
        (
            lambda: cost.t_broadcast(1, 4, 1e9, root=4, wrap=False),
            "root must be one of 4 chips, 0 to 3; got 4",
        ),
        (lambda: cost.t_broadcast(1, 4, 1e9, root=4), "root must be one of 4"),
        (lambda: cost.t_reduce(1, 4, 1e9, root=-1), "root must be a"),
        (lambda: cost.t_permute(1, 4, 1e9, shift=-1), "shift must be a"),
        (lambda: cost.t_permute(1, 4, 1e9, shift=0.5), "shift must be a"),
        (lambda: cost.t_send(1, 1e9, distance=-1), "distance must be a"),
        (lambda: cost.t_chain_all_reduce(1, 4, 1e9, 0), "pieces must be a"),
        (
            lambda: cost.t_matmul(1, 2, 3, V5P, precision="fp8"),
            "precision of a v5p must be one of bf16, int8",
        ),
        (lambda: cost.t_matmul_reduce(1, 2, 3, 1.5, V5P), "X must be a"),
        (lambda: cost.seconds(cost.Times(1, 2), "max"), "overlap must be one"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- every argument of every formula -----------------------------------------

BAD = {
    "None": None,
    "text": "4x",
    "nan": math.nan,
    "inf": math.inf,
    "negative": -1,
    "zero": 0,
    "bool": True,
    "huge": 10**400,
    "list": [4.5],
    "dict": {},
}
TIMES = cost.Times(1.0, 2.0)
GOOD = {
    **{"V": 1e6, "X": 8, "Y": 4, "link_bw": 9e10, "hop_latency": 1e-6},
    **{"kind": "all_gather", "volume": 1e6, "chip": V5P, "size": 4},
    **{"B": 64.0, "D": 64, "F": 256, "N": 64, "pods": 2, "stage": 3},
    **{"b": 1, "s": 128, "h": 64, "t": 8, "p": 4, "m": 16, "bubble": 0.5},
    **{"params": 1e9, "tokens": 1e9, "flops": 1e20, "seconds": 1.0},
    **{"strategy": "fsdp_tp", "times": TIMES, "step": cost.Step(*[TIMES] * 3)},
    **{"gated": False, "name": "v5p", "elements": 64},
    **{"L": 2, "kv": 32, "vocab": 512, "alpha_X": 100.0, "alpha_Y": 50.0},
}
GOOD_IN = {  # of these functions alone
    "mfu": {"flops": 1e15},
    "data_tokens_per_chip": {"strategy": "fsdp"},
    "port_share": {"kind": "all_gather"},
    "nodes_visited": {"E": 64, "k": 8, "nodes": 8},
    "daly_interval": {"save": 60.0, "mtbf": 1e4},
    "young_interval": {"save": 60.0, "mtbf": 1e4},
    "goodput": {"interval": 1e3, "save": 60.0, "mtbf": 1e4},
    "slowest": {"mean": 1.0, "deviation": 0.1},
    "hit_share": {"chance": 0.1},
    "t_dispatch": {"chip": hw.H100, "nodes": 8, "copies": 4, "k": 8},
    "mesh_volume": {"sizes": (2, 64, 128, 8, 4, 256)},
}
SWITCHES = (
    "wrap",
    "gated",
    "sp",
    "overlap",
    "exact",
    "kept",
    "regather",
    "recompute",
)
NOTHING_TO_MOVE = ("V", "volume", "hop_latency", "distance", "shift", "root")
NOTHING_TO_MOVE += ("gains", "restart", "write", "deviation", "chance")
MAY_BE_NONE = ("kv", "inside", "weight", "both", "E", "grad_bytes")
LEGAL = (
    {(name, "bool") for name in SWITCHES}
    | {(name, "zero") for name in NOTHING_TO_MOVE}
    | {(name, "None") for name in MAY_BE_NONE}
    | {("bubble", "zero"), ("tokens", "zero")}
)
LEGAL_IN = {  # of these functions alone
    ("t_comm", "X", "None"),
    ("context_volume", "X", "None"),
    ("zero_bubble", "weight", "zero"),
    ("goodput", "save", "zero"),
    ("mesh_volume", "zero", "zero"),
    *((f, n, "zero") for f in ("matmul_flops", "t_matmul") for n in "BDF"),
    *((f.__name__, n, "zero") for f in MATMULS for n in "BDF"),
}
ILLEGAL_IN = {
    ("nodes_visited", "E", "None"),
    ("transformer_elements", "kv", "None"),
    ("transformer_volume", "kv", "None"),
    ("zero_bubble", "weight", "None"),
    ("training_flops", "tokens", "zero"),
    ("t_context", "exact", "bool"),  # of "gather" alone
}


def formulas():
    """Every public function of both modules, by a name of its own."""
    for name in cost.__all__:
        if inspect.isfunction(getattr(cost, name)):
            yield name, getattr(cost, name)
    for name, f in vars(hw).items():
        ours = inspect.isfunction(f) and f.__module__ == hw.__name__
        if ours and not name.startswith("_"):
            yield f"hw.{name}", f


FORMULAS = dict(formulas())


def arguments(name):
    """The arguments of a function, and those that it must be given."""
    named = inspect.signature(FORMULAS[name]).parameters.values()
    assert not any(p.kind is p.VAR_KEYWORD for p in named), name
    good = GOOD | GOOD_IN.get(name, {})
    needed = {p.name: good[p.name] for p in named if p.default is p.empty}
    return [p.name for p in named], needed


def legal(name, argument, kind):
    if (name, argument, kind) in ILLEGAL_IN:
        return False
    return (argument, kind) in LEGAL or (name, argument, kind) in LEGAL_IN


@each("name", FORMULAS)
def test_every_argument_of_every_formula(name):
    call = FORMULAS[name]
    names, needed = arguments(name)
    call(**needed)
    for argument, (kind, bad) in itertools.product(names, BAD.items()):
        given = needed | {argument: bad}
        if legal(name, argument, kind):
            call(**given)
            continue
        with pytest.raises(ValueError, match=" must ") as error:
            call(**given)
        # `hw.chip(name)` says what the name is of, as commands do.
        said = "chip" if name == "hw.chip" else argument
        assert re.match(rf"{said}\b", str(error.value)), (argument, kind)


def few_bits(value):
    """A whole number below 128 in a type whose products soon wrap round."""
    fits = type(value) in (int, float) and value == int(value) < 128
    return np.int8(value) if fits else value


@each("name", FORMULAS)
def test_no_formula_wraps_round(name):
    _, needed = arguments(name)
    expected = FORMULAS[name](**needed)
    choices = ("stage",)  # one of 1, 2, 3, and no size
    given = {k: v if k in choices else few_bits(v) for k, v in needed.items()}
    with np.errstate(over="raise"):
        assert FORMULAS[name](**given) == expected


def test_what_is_as_large_as_can_be_is_no_overflow():
    sizes = dict.fromkeys(("B", "D", "F"), 10**30)
    steps = [
        cost.t_layer("fsdp_tp", **sizes, chip=V5P, X=8, Y=8),
        cost.t_expert(**sizes, X=8, chip=V5P),
        cost.t_context(10**30, 10**30, 8, V5P, scheme="ulysses"),
        cost.t_pods(**sizes, N=8, pods=2, chip=V5P),
        cost.t_pipeline(**sizes, p=8, chip=V5P),
    ]
    assert all(0 < cost.step_seconds(step) < math.inf for step in steps)
    with pytest.raises(ValueError, match="^B must be from 1e-30 to 1e"):
        cost.t_layer("fsdp", **(sizes | {"B": 10**31}), chip=V5P, X=8)
