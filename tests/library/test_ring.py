"""Rings, lines and tori: what moves is counted twice, and carried once."""

import json
import math
from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import ring
from tests.each import each

V4P, V5E, V5P = 4.5e10, 4.5e10, 9e10  # bytes/s of one link in one direction
TORUS = {
    "all_gather": ring.all_gather,
    "reduce_scatter": ring.reduce_scatter,
    "all_reduce": ring.all_reduce,
    "all_to_all": ring.all_to_all,
}
STEPS = {
    "all_gather": ring.all_gather_steps,
    "reduce_scatter": ring.reduce_scatter_steps,
    "all_reduce": ring.all_reduce_steps,
    "all_to_all": ring.all_to_all_steps,
}

kinds = pytest.mark.parametrize("kind", TORUS)


def in_v_over_w(traffic, V):
    """Time in units of V / W, W both directions of one axis: exact."""
    return Fraction(2 * sum(traffic.step_bytes), V)


def links(ways=(1, 2)):
    """Arguments that are legal together; a line has to be used both ways."""
    options = [
        {"wrap": wrap, "directions": directions, "ties": ties}
        for wrap in (True, False)
        for directions in ways
        for ties in ("split", "one_way")
        if wrap or directions == 2
    ]
    return st.sampled_from(options)


tori = st.lists(st.integers(1, 6), min_size=1, max_size=3).filter(
    lambda sizes: math.prod(sizes) <= 40
)
algorithms = st.sampled_from(["phases", "balanced"])


# --- two simulations, one picture ---------------------------------------------


@kinds
@given(N=st.integers(1, 13), options=links())
def test_the_plain_and_the_packed_simulation_make_the_same_hops(
    kind, N, options
):
    V = 12 * N * N
    steps = STEPS[kind](V, N, **options)
    traffic = TORUS[kind](V, N, link_bw=7.0, frames=True, **options)
    assert traffic.frames == steps
    json.dumps(traffic.frames)
    assert traffic.steps == len(steps)
    assert traffic.seconds == ring.seconds(steps, 7.0)
    load = ring.bytes_per_link(steps)
    for (chip, axis, way), size in load.items():
        direction = 0 if way == 1 else 1
        assert traffic.bytes_on_link[axis, direction, chip] == size
    assert sum(load.values()) == traffic.bytes_on_link.sum()


@kinds
@given(sizes=tori, options=links(), algorithm=algorithms)
def test_frames_of_a_torus_are_hops_between_neighbours_and_add_up(
    kind, sizes, options, algorithm
):
    V = 12 * math.prod(sizes) ** 2
    traffic = TORUS[kind](
        V, sizes, link_bw=1.0, frames=True, algorithm=algorithm, **options
    )
    load = np.zeros(traffic.bytes_on_link.shape, np.int64)
    for hop in (hop for step in traffic.frames for hop in step):
        here = list(np.unravel_index(hop.source, sizes))
        load[(hop.axis, 0 if hop.way == 1 else 1, *here)] += hop.bytes
        here[hop.axis] += hop.way
        if options["wrap"]:
            here[hop.axis] %= sizes[hop.axis]
        assert hop.destination == np.ravel_multi_index(here, sizes)
    np.testing.assert_array_equal(load, traffic.bytes_on_link)
    if algorithm == "phases":
        assert ring.seconds(traffic.frames, 1.0) == traffic.seconds


@kinds
@given(
    sizes=tori,
    options=links().filter(lambda o: o["wrap"]),
    algorithm=algorithms,
)
def test_one_chip_sees_what_all_chips_see(kind, sizes, options, algorithm):
    V = 12 * math.prod(sizes) ** 2
    options = {"link_bw": 3.0, "algorithm": algorithm, **options}
    full = TORUS[kind](V, sizes, **options)
    seen = TORUS[kind](V, sizes, symmetry=True, **options)
    assert seen.step_bytes == full.step_bytes
    assert seen.seconds == full.seconds
    np.testing.assert_array_equal(seen.bytes_on_link, full.bytes_on_link)
    np.testing.assert_array_equal(seen.sent, full.sent)


# --- values -------------------------------------------------------------------


def numbers(*shape):
    """Integers, all different, of eight bytes: sums are exact."""
    return np.arange(1, 1 + math.prod(shape)).reshape(shape) ** 2


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_all_gather_leaves_the_whole_array_on_every_chip(
    sizes, options, algorithm
):
    shards = numbers(*sizes, 6, 2)
    after = ring.all_gather(
        shards.nbytes,
        sizes,
        link_bw=1.0,
        values=shards,
        algorithm=algorithm,
        **options,
    ).values
    whole = shards.reshape(-1, 2)
    assert after.shape == (*sizes, *whole.shape)
    assert (after == whole).all()


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_reduce_scatter_leaves_each_chip_its_part_of_the_sum(
    sizes, options, algorithm
):
    N = math.prod(sizes)
    summands = numbers(*sizes, 6 * N, 2)
    after = ring.reduce_scatter(
        summands.nbytes // N,
        sizes,
        link_bw=1.0,
        values=summands,
        algorithm=algorithm,
        **options,
    ).values
    total = summands.reshape(N, 6 * N, 2).sum(axis=0)
    np.testing.assert_array_equal(after, total.reshape(*sizes, 6, 2))


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_all_reduce_leaves_the_sum_on_every_chip(sizes, options, algorithm):
    N = math.prod(sizes)
    summands = numbers(*sizes, 12 * N)
    after = ring.all_reduce(
        summands.nbytes // N,
        sizes,
        link_bw=1.0,
        values=summands,
        algorithm=algorithm,
        **options,
    ).values
    assert after.shape == summands.shape
    assert (after == summands.reshape(N, -1).sum(axis=0)).all()


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_all_to_all_is_a_transpose_of_chunks(sizes, options, algorithm):
    N = math.prod(sizes)
    before = numbers(*sizes, 12 * N)
    after = ring.all_to_all(
        before.nbytes,
        sizes,
        link_bw=1.0,
        values=before,
        algorithm=algorithm,
        **options,
    ).values
    chunks = before.reshape(N, N, 12).swapaxes(0, 1)
    np.testing.assert_array_equal(after, chunks.reshape(before.shape))


def in_chunks(rows, count):
    """What `carry` takes: for each chip its numbered chunks."""
    return [dict(enumerate(np.split(row, count))) for row in rows]


@given(N=st.integers(1, 9), options=links())
def test_carried_hops_give_the_unsharded_answers(N, options):
    before = numbers(N, N * 4)
    V = before[0].nbytes
    own = [{chip: row[:4]} for chip, row in enumerate(before)]
    for chunks in ring.carry(ring.all_gather_steps(V, N, **options), own):
        assert (np.stack([chunks[c] for c in range(N)]) == before[:, :4]).all()
    parts = in_chunks(before, N)
    total = np.split(before.sum(axis=0), N)
    after = ring.carry(ring.reduce_scatter_steps(V, N, **options), parts)
    assert all((after[c][c] == total[c]).all() for c in range(N))
    after = ring.carry(ring.all_reduce_steps(V, N, **options), parts)
    assert all(
        (after[c][k] == total[k]).all() for c in range(N) for k in parts[c]
    )
    sends = [{(c, t): parts[c][t] for t in parts[c]} for c in range(N)]
    after = ring.carry(ring.all_to_all_steps(N * V, N, **options), sends)
    assert all(
        (after[t][c, t] == parts[c][t]).all()
        for c in range(N)
        for t in range(N)
    )


small = tori.filter(lambda sizes: math.prod(sizes) <= 16)


@given(
    sizes=small,
    wrap=st.lists(st.booleans(), min_size=3, max_size=3),
    ties=st.sampled_from(["split", "one_way"]),
    algorithm=algorithms,
)
def test_frames_carry_to_every_chip_of_a_torus_what_it_should_have(
    sizes, wrap, ties, algorithm
):
    N = math.prod(sizes)
    before = numbers(N, N * 12)
    parts = in_chunks(before, N)
    options = {"wrap": wrap[: len(sizes)], "ties": ties, "algorithm": algorithm}
    options |= {"link_bw": 1.0, "frames": True}
    V = before[0].nbytes
    frames = ring.all_gather(V, sizes, **options).frames
    own = [{chip: parts[chip][chip]} for chip in range(N)]
    for chunks in ring.carry(frames, own):
        assert all((chunks[c] == parts[c][c]).all() for c in range(N))
    frames = ring.all_reduce(V, sizes, **options).frames
    for chunks in ring.carry(frames, parts):
        total = np.concatenate([chunks[c] for c in range(N)])
        assert (total == before.sum(axis=0)).all()
    frames = ring.all_to_all(N * V, sizes, **options).frames
    sends = [{(c, t): parts[c][t] for t in range(N)} for c in range(N)]
    for chip, chunks in enumerate(ring.carry(frames, sends)):
        assert all((chunks[c, chip] == parts[c][chip]).all() for c in range(N))


@given(N=st.integers(1, 9), shift=st.integers(0, 20), options=links())
def test_permute_brings_each_shard_where_it_should_be(N, shift, options):
    shards = numbers(N, 4)
    steps = ring.permute_steps(shards.nbytes, N, shift, **options)
    goal = [(c + shift) % N for c in range(N)]
    before = [{(c, goal[c]): shards[c]} for c in range(N)]
    after = ring.carry(steps, before)
    for chip in range(N):
        assert (after[goal[chip]][chip, goal[chip]] == shards[chip]).all()
    assert all(hop.source != hop.destination for step in steps for hop in step)


@given(
    N=st.integers(1, 9),
    pieces=st.integers(1, 5),
    root=st.integers(0, 8),
    options=links(),
)
def test_broadcast_and_reduce_are_each_other_backwards(
    N, pieces, root, options
):
    root %= N
    options = {key: options[key] for key in ("wrap", "directions")}
    count = pieces * (options["directions"] if options["wrap"] else 1)
    before = numbers(N, count * 2)
    V = before[0].nbytes
    steps = ring.broadcast_steps(V, N, pieces, root, **options)
    source = [{} for _ in range(N)]
    source[root] = in_chunks(before, count)[root]
    for chunks in ring.carry(steps, source):
        assert (
            np.concatenate([chunks[k] for k in range(count)]) == before[root]
        ).all()
    back = ring.reduce_steps(V, N, pieces, root, **options)
    assert ring.backwards(back) == steps
    after = ring.carry(back, in_chunks(before, count))[root]
    total = np.concatenate([after[k] for k in range(count)])
    assert (total == before.sum(axis=0)).all()


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("directions", [1, 2])
def test_one_chip_alone_moves_nothing(wrap, directions):
    options = {"wrap": wrap, "directions": directions}
    for steps in STEPS.values():
        assert steps(8, 1, **options) == []
    assert ring.permute_steps(8, 1, 3, **options) == []
    assert ring.broadcast_steps(8, 1, 2, **options) == []
    assert ring.reduce_steps(8, 1, 2, **options) == []
    for move in TORUS.values():
        traffic = move(8, (1, 1), link_bw=1.0, hop_latency=1.0, **options)
        assert (traffic.seconds, traffic.steps) == (0, 0)
        assert traffic.bytes_on_link.shape == (2, 2, 1, 1)
        assert not traffic.bytes_on_link.any()


@given(N=st.integers(1, 9), pieces=st.integers(1, 6))
def test_the_chain_all_reduce_sums_and_its_links_carry_v_each(N, pieces):
    before = numbers(N, pieces * 2)
    V = before[0].nbytes
    steps = ring.chain_all_reduce_steps(V, N, pieces)
    for chunks in ring.carry(steps, in_chunks(before, pieces)):
        total = np.concatenate([chunks[k] for k in range(pieces)])
        assert (total == before.sum(axis=0)).all()
    load = ring.bytes_per_link(steps)
    assert len(load) == 2 * (N - 1)
    assert set(load.values()) <= {V}
    assert len(steps) == (pieces + 2 * (N - 1) - 1 if N > 1 else 0)


def fewest_messages(N):
    """Messages until N chips know the terms of all, by trying all plans.

    A state has for each chip the terms that it knows, one binary digit each;
    a message gives its receiver all that its sender knows.
    """
    known, messages = {tuple(1 << chip for chip in range(N))}, 0
    while ((1 << N) - 1,) * N not in known:
        known = {
            state[:b] + (state[a] | state[b],) + state[b + 1 :]
            for state in known
            for a in range(N)
            for b in range(N)
        }
        messages += 1
    return messages


@pytest.mark.parametrize("N", [2, 3, 4])
def test_no_plan_of_messages_beats_the_all_reduce_of_a_ring(N):  # C2.6
    steps = ring.all_reduce_steps(N, N, directions=1)  # a byte for each sum
    total = sum(ring.bytes_per_link(steps).values())
    assert total == N * fewest_messages(N) == N * 2 * (N - 1)


def test_jax_agrees_about_who_ends_with_what():
    import jax
    from jax.sharding import AxisType, PartitionSpec

    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    axes, spec = ("X", "Y"), PartitionSpec(("X", "Y"))
    lax = {
        "all_gather": lambda a: jax.lax.all_gather(a, axes, tiled=True),
        "reduce_scatter": lambda a: jax.lax.psum_scatter(a, axes, tiled=True),
        "all_reduce": lambda a: jax.lax.psum(a, axes),
        "all_to_all": lambda a: jax.lax.all_to_all(a, axes, 0, 0, tiled=True),
    }
    before = np.arange(8 * 16, dtype=np.int32)
    for kind, collective in lax.items():
        local = jax.shard_map(
            collective,
            mesh=mesh,
            in_specs=spec,
            out_specs=spec,
            check_vma=False,
        )
        values = before.reshape(4, 2, 16)
        held_by_one = kind in ("reduce_scatter", "all_reduce")
        V = before.nbytes // 8 if held_by_one else before.nbytes
        after = TORUS[kind](V, (4, 2), link_bw=1.0, values=values).values
        np.testing.assert_array_equal(after.ravel(), np.asarray(local(before)))


def test_floats_of_two_bytes_are_cut_and_carried_like_any_other():
    shards = np.arange(1, 9, dtype=np.float16).reshape(4, 2)
    after = ring.all_gather(16, 4, link_bw=1.0, values=shards).values
    assert after.dtype == np.float16
    assert (after == shards.ravel()).all()


def test_a_step_sends_what_was_there_before_it():
    relay = [[ring.Hop(0, 1, 0, 8), ring.Hop(1, 2, 0, 8)]]
    before = [{0: np.array([5])}, {0: np.array([7])}, {}]
    after = ring.carry(relay, before)
    assert [int(chunks[0][0]) for chunks in after] == [5, 5, 7]
    assert [len(chunks) for chunks in before] == [1, 1, 0]


# --- worked numbers -----------------------------------------------------------

F = Fraction
FINITE_N = [  # N, AG split, AG one way, A2A split, A2A one way: in V / W
    (2, F(1, 2), F(1), F(1, 4), F(1, 2)),
    (3, F(2, 3), F(2, 3), F(2, 9), F(2, 9)),
    (4, F(3, 4), F(1), F(1, 4), F(3, 8)),
    (5, F(4, 5), F(4, 5), F(6, 25), F(6, 25)),
    (8, F(7, 8), F(1), F(1, 4), F(5, 16)),
    (16, F(15, 16), F(1), F(1, 4), F(9, 32)),
    (64, F(63, 64), F(1), F(1, 4), F(33, 128)),
]


@each("row", FINITE_N)
def test_the_table_of_finite_rings(row):
    N, *expected = row
    V = 2 * N * N
    counted = [
        in_v_over_w(move(V, N, link_bw=1.0, ties=ties), V)
        for move in (ring.all_gather, ring.all_to_all)
        for ties in ("split", "one_way")
    ]
    assert counted == expected
    gather, gather_one, swap, swap_one = counted
    odd = N % 2
    assert gather / swap == (F(4 * N, N + 1) if odd else F(4 * (N - 1), N))
    assert gather_one / swap_one == F(4 * N, N + 1 if odd else N + 2)


@each("N", [row[0] for row in FINITE_N])
def test_one_direction_makes_the_ratio_exactly_two(N):
    V = N * N
    gather, swap = (
        in_v_over_w(move(V, N, link_bw=1.0, directions=1), V)
        for move in (ring.all_gather, ring.all_to_all)
    )
    assert gather / swap == 2
    assert gather == 2 * F(N - 1, N)


@each("D", [2, 3, 4, 5, 8, 16])
def test_scalars_on_a_link_of_problem_10(D):
    scalars = (4 * D) ** 2  # an N x N array, counted in scalars
    one_way = {"link_bw": 1.0, "directions": 1}
    gather = ring.all_gather(scalars, D, **one_way).bytes_on_link[0, 0]
    scatter = ring.reduce_scatter(scalars, D, **one_way).bytes_on_link[0, 1]
    swap = ring.all_to_all(scalars, D, **one_way).bytes_on_link[0, 0]
    assert set(gather) == set(scatter) == {F(scalars) * (D - 1) / D}  # S10.10a
    assert set(swap) == {F(scalars) * (D - 1) / D / 2}  # S10.10b, S10.10c


@pytest.mark.parametrize(
    ("D", "split", "one_way"),
    [(8, F(7, 2), F(14, 5)), (4, F(3), F(2)), (5, F(10, 3), F(10, 3))],
    ids=lambda value: f"S10.10e-{value}",
)
def test_what_two_directions_gain_in_an_all_to_all(D, split, one_way):
    V = 2 * D * D
    alone = ring.all_to_all(V, D, link_bw=1.0, directions=1).seconds
    for ties, gain in {"split": split, "one_way": one_way}.items():
        both = ring.all_to_all(V, D, link_bw=1.0, ties=ties).seconds
        assert F(alone) / F(both) == gain
        gather = [
            sum(ring.all_gather(V, D, link_bw=1.0, **way).step_bytes)
            for way in ({"directions": 1}, {"ties": ties})
        ]
        even_one_way = D % 2 == 0 and ties == "one_way"
        assert F(*gather) == (F(2 * (D - 1), D) if even_one_way else 2)


MICRO = 1e-6
B, D = 1024, 4096
WORKED = {
    # row: (function, V, sizes, link_bw, options, seconds, relative tolerance)
    # Tolerances: 1e-12 where the source's digits are exact products, else half
    # a unit of the last digit that it prints.
    "S5.10-ring": ("all_gather", 2**25, 4, V5E, {}, 0.75 * 2**25 / 9e10, 1e-12),
    "S5.10-line": ("all_gather", 2**25, 4, V5E, {"wrap": False}, 559e-6, 1e-3),
    "S5.11": (
        "all_gather",
        4 * 32768,
        4,
        V5E,
        {"wrap": False, "hop_latency": MICRO, "overlap": True},
        3e-6,
        1e-12,
    ),
    "S10.2-AG_X": ("all_gather", B * D // 2, 4, V4P, {}, 17.48e-6, 3e-4),
    "S10.2-AG_XY": (
        "all_gather",
        2 * B * D,
        (4, 4),
        V4P,
        {"algorithm": "balanced"},
        43.69e-6,
        1.2e-4,
    ),
    "S10.2-AR_Z": ("all_reduce", B * D // 8, 4, V4P, {}, 8.738e-6, 6e-5),
    "S10.2-AG_X-one_way": (
        "all_gather",
        B * D // 2,
        4,
        V4P,
        {"ties": "one_way"},
        23.30e-6,
        3e-4,
    ),
    "S10.3": (
        "all_gather",
        256,
        4,
        V4P,
        {"hop_latency": MICRO, "overlap": True},
        2e-6,
        1e-12,
    ),
    "N9-AG_X": (  # the limit V / 2W is 11.65 us; exact: 15/16 of it
        "all_gather",
        B * D // 2,
        (4, 4),
        V4P,
        {"algorithm": "balanced"},
        15 / 16 * 11.65e-6,
        1e-3,
    ),
    "N9-AG_XY": (  # the limit V / 3W is 31.07 us; exact: 63/64 of it. V is
        # 2 B D = 2^23, less 128 bytes so that it can be cut in 64 x 3 x 2.
        "all_gather",
        2 * B * D - 128,
        (4, 4, 4),
        V4P,
        {"algorithm": "balanced"},
        63 / 64 * 31.07e-6,
        2e-4,
    ),
    "S10.6-1-ring": (
        "all_reduce",
        2**24,
        4,
        V5E,
        {},
        1.5 * 2**24 / 9e10,
        1e-12,
    ),
    "S10.6-1-line": (
        "all_reduce",
        4096 * 8192 // 2,
        4,
        V5E,
        {"wrap": False},
        559e-6,
        1e-3,
    ),
    "S10.6-2-line": (
        "all_gather",
        8192 * 8192 // 2,
        4,
        V5E,
        {"wrap": False},
        559e-6,
        1e-3,
    ),
    "S10.7-AG": ("all_gather", 2**21, 4, V5E, {}, 17.5e-6, 3e-3),
    "S10.7-RS": ("reduce_scatter", 2**21, 4, V5E, {}, 17.5e-6, 3e-3),
    "S10.8-AG": ("all_gather", 2**25, 16, V5E, {}, 350e-6, 1.5e-3),
    "S10.8-RS": ("reduce_scatter", 2**25, 16, V5E, {}, 350e-6, 1.5e-3),
    "S10.8-AR": ("all_reduce", 2**25, 16, V5E, {}, 699e-6, 1e-3),
    "S10.8-A2A": ("all_to_all", 2**25, 16, V5E, {}, 93e-6, 3e-3),
    "ES-5": ("all_gather", 2**20, 4, 2**19, {"wrap": False}, 1.5, 1e-12),
}


@each("row", WORKED)
def test_worked_number(row):
    kind, V, sizes, link_bw, options, expected, tolerance = WORKED[row]
    traffic = TORUS[kind](V, sizes, link_bw=link_bw, **options)
    assert traffic.seconds == pytest.approx(expected, rel=tolerance)


def test_a_small_message_costs_its_latency():
    message = {"wrap": False, "hop_latency": MICRO}
    V = 4 * 32768
    beside = ring.all_gather(V, 4, link_bw=V5E, overlap=True, **message)
    added = ring.all_gather(V, 4, link_bw=V5E, overlap=False, **message)
    transfer = 3 * 32768 / V5E
    assert beside.step_seconds == (MICRO,) * 3
    assert added.seconds == pytest.approx(3e-6 + transfer, rel=1e-12)
    knee = round(V5E * MICRO)  # S5.8: 45 kB a hop and direction
    for chunk in (knee // 2 * 2, knee // 2 * 2 + 2):
        slow = ring.all_gather(
            4 * chunk, 4, link_bw=V5E, overlap=True, hop_latency=MICRO
        )
        assert (slow.step_seconds[0] > MICRO) == (chunk > knee)


def test_a_line_of_four_loads_its_links_1_2_3():  # ES-5
    load = ring.all_gather(4, 4, link_bw=1.0, wrap=False).bytes_on_link
    assert load.tolist() == [[[1, 2, 3, 0], [0, 3, 2, 1]]]


def test_the_pipelined_chain_of_part_1_of_problem_6():  # S10.6
    V = 2**24
    seconds = [
        ring.seconds(ring.chain_all_reduce_steps(V, 4, pieces), V5E)
        for pieces in (1, 8, 64, 512)
    ]
    limit = V / V5E  # IK / 9e10 = 373 us
    assert limit == pytest.approx(373e-6, rel=1e-3)
    assert all(a > b for a, b in zip(seconds, seconds[1:], strict=False))
    assert seconds[-1] == pytest.approx(limit * (1 + 5 / 512), rel=1e-12)


@each("sizes", [(4,), (4, 4), (2, 4), (4, 6, 8), (8, 8, 8), (16, 20, 28)])
def test_an_all_to_all_on_a_torus_takes_its_longest_axis(sizes):  # N5
    N = math.prod(sizes)
    V = 12 * N * N
    options = {"link_bw": 1.0, "symmetry": True}
    balanced = ring.all_to_all(V, sizes, algorithm="balanced", **options)
    assert in_v_over_w(balanced, V) == F(max(sizes), 4 * N)
    phases = ring.all_to_all(V, sizes, algorithm="phases", **options)
    assert in_v_over_w(phases, V) == F(sum(sizes), 4 * N)
    busiest = F(2 * int(phases.bytes_on_link.max()), V)
    assert busiest == F(max(sizes), 4 * N)


def test_odd_axes_take_a_little_less_than_the_longest_axis():  # N5 is a limit
    for size in (3, 5, 9, 27):
        N = size**3
        traffic = ring.all_to_all(
            3 * N * N,
            (size,) * 3,
            link_bw=1.0,
            algorithm="balanced",
            symmetry=True,
        )
        formula = F(size, 4 * N)
        assert in_v_over_w(traffic, 3 * N * N) == formula * (1 - F(1, size**2))


@pytest.mark.parametrize("sizes", [(4, 6), (6, 2, 4), (8, 4)])
def test_no_all_to_all_beats_the_cut_through_the_middle(sizes):  # N6
    # Half of V lies in each half of an axis, and half of that has to leave it.
    # Two cuts part the halves, and N / size links cross each cut one way.
    N, V = math.prod(sizes), 12 * math.prod(sizes) ** 2
    load = ring.all_to_all(V, sizes, link_bw=1.0).bytes_on_link
    for axis, size in enumerate(sizes):
        cuts = [size // 2 - 1, size - 1]
        crossing = load[axis, 0].take(cuts, axis)
        assert crossing.sum() + load[axis, 1].take(
            [0, size // 2], axis
        ).sum() == (V // 2)
        assert set(crossing.ravel()) == {F(V, 2) / (4 * N // size)}


def test_the_multi_axis_gather_uses_all_links_and_what_that_leaves_undone():
    cube = ring.all_gather(6 * 64, (4, 4, 4), link_bw=1.0, algorithm="balanced")
    assert in_v_over_w(cube, 6 * 64) == F(63, 64) / 3  # S5.9, exact
    assert len(set(cube.bytes_on_link.ravel())) == 1
    phases = ring.all_gather(2 * 64, (4, 4, 4), link_bw=1.0)
    assert in_v_over_w(phases, 2 * 64) == F(63, 64)
    # On unequal axes the last one of each order carries most: 2.8% too much.
    V = 6 * 8960
    pod = ring.all_gather(
        V, (16, 20, 28), link_bw=1.0, algorithm="balanced", symmetry=True
    )
    ideal = F(8959, 8960) / 3
    assert 1.027 < in_v_over_w(pod, V) / ideal < 1.028
    assert pod.bytes_on_link.max() == sum(pod.step_bytes)


@given(sizes=tori, options=links(ways=(2,)))
def test_the_longest_path_is_the_sum_of_half_the_axes(sizes, options):  # S5.9
    V = 2 * math.prod(sizes)
    longest = [size // 2 if options["wrap"] else size - 1 for size in sizes]
    gather = ring.all_gather(V, sizes, link_bw=1.0, **options)
    assert gather.steps == sum(longest)
    together = ring.all_gather(
        6 * V,
        sizes,
        link_bw=1e30,
        hop_latency=1.0,
        algorithm="balanced",
        **options,
    )
    assert together.steps == len(sizes) * max(longest)


@each("N", [2, 4, 8, 16, 64])
@each("chunk", [2, 44_000, 46_000, 10**6])
def test_the_larger_of_latency_and_transfer_counts(N, chunk):  # S5.5, S5.7
    V, W = N * chunk, 2 * V5E
    traffic = ring.all_gather(
        V, N, link_bw=V5E, ties="one_way", hop_latency=MICRO, overlap=True
    )
    assert traffic.steps == N // 2  # S5.4
    assert traffic.seconds == pytest.approx(
        max(MICRO * N / 2, V / W), rel=1e-12
    )


def test_the_number_of_chips_hardly_matters():  # S5.6, S6.6
    V = 2 * math.lcm(*range(2, 33))
    for kind, limit in {
        "all_gather": 1,
        "reduce_scatter": 1,
        "all_reduce": 2,
    }.items():
        times = [
            in_v_over_w(TORUS[kind](V, N, link_bw=1.0), V) for N in range(2, 33)
        ]
        assert times == [limit * (1 - F(1, N)) for N in range(2, 33)]


def test_parts_side_by_side_are_timed_by_the_slowest():
    # On 2 x 4 part 0 starts on the short axis and part 1 on the long one. By
    # bytes the part on the long axis is slower in both phases, by hops too.
    traffic = ring.all_gather(96, (2, 4), link_bw=1.0, algorithm="balanced")
    assert traffic.step_bytes == (6, 3, 12, 6)
    assert traffic.bytes_on_link.max(axis=(1, 2, 3)).tolist() == [15, 27]


# --- laws ---------------------------------------------------------------------


@kinds
@given(sizes=tori, options=links(), algorithm=algorithms)
def test_no_byte_is_lost_and_none_moves_twice(kind, sizes, options, algorithm):
    N = math.prod(sizes)
    V = 12 * N * N
    traffic = TORUS[kind](V, sizes, link_bw=1.0, algorithm=algorithm, **options)
    if kind == "all_to_all":
        arrivals = byte_hops(sizes, options, V // (N * N))
    else:
        arrivals = (N - 1) * V * (2 if kind == "all_reduce" else 1)
    assert traffic.carried.sum() == arrivals
    assert traffic.bytes_on_link.sum() == arrivals
    if kind != "all_to_all":
        assert (traffic.sent == traffic.carried).all()


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_each_chip_sends_its_own_chunks_once(sizes, options, algorithm):
    N = math.prod(sizes)
    V = 12 * N * N
    traffic = ring.all_to_all(
        V, sizes, link_bw=1.0, algorithm=algorithm, **options
    )
    assert (traffic.sent == (N - 1) * V // N**2).all()
    assert (traffic.sent <= traffic.carried).all()


@given(N=st.integers(1, 13), options=links())
def test_hops_from_home_are_what_is_sent(N, options):
    V = 12 * N * N
    steps = ring.all_to_all_steps(V, N, **options)
    hops = [hop for step in steps for hop in step]
    for chip in range(N):
        mine = [h.bytes for h in hops if h.source == h.chunk[0] == chip]
        assert sum(mine) * N * N == (N - 1) * V


@pytest.mark.parametrize(
    ("V", "N", "options", "sent", "carried"),
    [  # by hand; 1, 2 and 1 hops to the others of a ring of four
        (256, 4, {"ties": "one_way"}, 48, 64),
        (256, 4, {"ties": "split"}, 48, 64),
        (256, 4, {"directions": 1}, 48, 16 * (1 + 2 + 3)),
        (150, 5, {}, 24, 6 * (1 + 2 + 2 + 1)),
    ],
)
def test_an_all_to_all_carries_more_than_it_sends(V, N, options, sent, carried):
    traffic = ring.all_to_all(V, N, link_bw=1.0, **options)
    assert set(traffic.sent.tolist()) == {sent}
    assert set(traffic.carried.tolist()) == {carried}


def byte_hops(sizes, options, chunk):
    """Bytes times hops of a chunk from each chip to each other."""
    chips = list(np.ndindex(*sizes))
    hops = 0
    for here in chips:
        for there in chips:
            for a, b, size in zip(here, there, sizes, strict=True):
                ahead = (b - a) % size
                if not options["wrap"]:
                    hops += abs(a - b)
                elif options["directions"] == 1:
                    hops += ahead
                else:
                    hops += min(ahead, size - ahead)
    return hops * chunk


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_all_reduce_is_reduce_scatter_and_all_gather(sizes, options, algorithm):
    V = 12 * math.prod(sizes)
    options = {"link_bw": 1.0, "algorithm": algorithm, **options}
    scatter, gather, both = (
        TORUS[kind](V, sizes, **options)
        for kind in ("reduce_scatter", "all_gather", "all_reduce")
    )
    assert both.step_bytes == scatter.step_bytes + gather.step_bytes
    assert (
        both.bytes_on_link == scatter.bytes_on_link + gather.bytes_on_link
    ).all()
    assert scatter.step_bytes == gather.step_bytes[::-1]


@given(sizes=tori, options=links(), algorithm=algorithms)
def test_reduce_scatter_is_the_gather_run_backwards(sizes, options, algorithm):
    V = 12 * math.prod(sizes)
    options = {
        "link_bw": 1.0,
        "algorithm": algorithm,
        "frames": True,
        **options,
    }
    gather = ring.all_gather(V, sizes, **options).frames
    scatter = ring.reduce_scatter(V, sizes, **options).frames
    hops = sorted(hop for step in scatter for hop in step)
    assert hops == sorted(ring.turned(h) for step in gather for h in step)
    if algorithm == "phases":
        assert scatter == ring.backwards(gather)


@kinds
@given(sizes=tori, options=links(), algorithm=algorithms)
def test_the_volume_scales_the_bandwidth_divides_the_latency_adds(
    kind, sizes, options, algorithm
):
    V = 12 * math.prod(sizes) ** 2
    options = {"algorithm": algorithm, **options}
    once = TORUS[kind](V, sizes, link_bw=4.0, **options)
    assert TORUS[kind](
        3 * V, sizes, link_bw=4.0, **options
    ).step_bytes == tuple(3 * size for size in once.step_bytes)
    assert (
        TORUS[kind](V, sizes, link_bw=8.0, **options).seconds
        == once.seconds / 2
    )
    late = TORUS[kind](V, sizes, link_bw=4.0, hop_latency=0.5, **options)
    if algorithm == "phases":
        assert late.seconds == once.seconds + 0.5 * once.steps
    else:
        assert late.seconds >= once.seconds + 0.5 * once.steps
    assert once.seconds == sum(once.step_seconds)
    assert once.steps == len(once.step_bytes)


@kinds
@given(sizes=tori, algorithm=algorithms)
def test_a_better_network_is_never_slower(kind, sizes, algorithm):
    V = 12 * math.prod(sizes) ** 2
    ring_split, ring_tied, one_way, line = (
        TORUS[kind](
            V, sizes, link_bw=1.0, algorithm=algorithm, **options
        ).seconds
        for options in (
            {},
            {"ties": "one_way"},
            {"directions": 1},
            {"wrap": False},
        )
    )
    assert ring_split <= ring_tied <= one_way
    assert ring_split <= line
    if kind != "all_to_all":
        assert one_way == line == 2 * ring_split


@kinds
@given(N=st.integers(1, 40), parity=st.sampled_from([0, 1]))
def test_a_line_differs_by_two_from_a_ring(kind, N, parity):  # V-5
    N = 2 * N + parity
    V = 2 * N * N
    ring_, line = (
        TORUS[kind](V, N, link_bw=1.0, wrap=wrap).seconds
        for wrap in (True, False)
    )
    assert line == 2 * ring_


@kinds
@given(sizes=tori, options=links(), algorithm=algorithms)
def test_the_links_bound_the_time_from_below(kind, sizes, options, algorithm):
    V = 12 * math.prod(sizes) ** 2
    traffic = TORUS[kind](V, sizes, link_bw=1.0, algorithm=algorithm, **options)
    assert traffic.seconds >= traffic.bytes_on_link.max()
    if options["wrap"] and options["ties"] == "split":
        assert len(set(traffic.carried.ravel())) == 1


@pytest.mark.parametrize("wrap", [(True, False), (False, True)])
def test_axes_may_differ_in_wrap(wrap):
    V = 2 * 8 * 8
    rings = [
        ring.all_gather(V // 8 * n, n, link_bw=1.0, wrap=w).steps
        for n, w in zip((4, 2), wrap, strict=True)
    ]
    mixed = ring.all_gather(V, (4, 2), link_bw=1.0, wrap=wrap)
    assert mixed.steps == sum(rings)
    axis = wrap.index(False)
    edge = mixed.bytes_on_link[axis, 0].take(-1, axis)
    assert (edge == 0).all()


# --- scale --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["phases", "balanced"])
def test_a_pod_of_8960_chips_is_counted_link_by_link(algorithm):
    sizes, chunk = (16, 20, 28), 6
    options = {"link_bw": V5P, "algorithm": algorithm}
    traffic = ring.all_gather(chunk * 8960, sizes, **options)
    assert traffic.bytes_on_link.shape == (3, 2, *sizes)
    assert traffic.bytes_on_link.sum() == chunk * 8960 * 8959
    if algorithm == "phases":  # both ways in 32 steps, 140 words of 64 bits
        assert traffic.set_bytes == 64 * 8960 * 140 * 8
    seen = ring.all_gather(chunk * 8960, sizes, symmetry=True, **options)
    assert seen.step_bytes == traffic.step_bytes
    assert (seen.bytes_on_link == traffic.bytes_on_link).all()


@pytest.mark.parametrize("sizes", [(8, 8, 8), (8, 8), (6, 10, 14)])
def test_the_cost_of_a_gather_grows_as_the_square_of_the_chips(sizes):
    # A set of N bits a chip, each way in each step; 140 words of 64 for 8,960.
    # The last step of a phase sends ties by both ways and nothing else.
    N = math.prod(sizes)
    traffic = ring.all_gather(2 * N, sizes, link_bw=1.0)
    steps = sum(size // 2 for size in sizes)
    assert traffic.set_bytes == 2 * steps * N * math.ceil(N / 64) * 8


def test_an_all_to_all_of_many_chips_is_seen_from_one():
    V = 12 * 8960**2
    traffic = ring.all_to_all(V, (16, 20, 28), link_bw=V5P, symmetry=True)
    assert traffic.steps == 8 + 10 + 14
    assert traffic.set_bytes < 1000


# --- bad input ----------------------------------------------------------------

GOOD = {"V": 64 * 12, "sizes": (2, 4), "link_bw": 1.0}
BAD = [
    ("V", {"V": 0}),
    ("V", {"V": 12.0}),
    ("V", {"V": "12"}),
    ("V", {"V": True}),
    ("V", {"V": None}),
    ("V must be a multiple of", {"V": 64 * 12 + 1}),
    ("V must be a multiple of", {"V": 2**66}),
    ("sizes", {"sizes": (2, -4)}),
    ("sizes", {"sizes": (2, 4.0)}),
    ("sizes must have 1 to 3 axes, got 0", {"sizes": ()}),
    ("sizes must have 1 to 3 axes, got 4", {"sizes": (2, 2, 2, 2)}),
    ("sizes", {"sizes": "16x20"}),
    ("wrap", {"wrap": (True,)}),
    ("wrap", {"wrap": (True, "no")}),
    ("directions must be 2", {"directions": 1, "wrap": False}),
    ("directions must be 2", {"directions": 1, "wrap": (True, False)}),
    ("frames must be False above 512", {"frames": True, "symmetry": True}),
    ("symmetry must be False", {"symmetry": True, "wrap": False}),
    ("values must have the shape", {"values": 3.0}),
    ("values must have the shape", {"values": np.zeros((8, 8))}),
    ("values must have the shape", {"values": np.zeros((2, 4))}),
    ("values must have the shape", {"values": np.zeros((2, 4, 24))}),
]


@each("kind", TORUS)
@each(("message", "argument"), BAD)
def test_bad_input_is_named(kind, message, argument):
    with pytest.raises(ValueError, match=f"^{message}"):
        TORUS[kind](**GOOD | argument)


def test_good_input_passes():
    for move in TORUS.values():
        assert move(**GOOD).seconds > 0


def test_values_that_cannot_be_cut_are_refused():
    three = np.zeros((4, 3), np.float64)
    with pytest.raises(
        ValueError, match="values must be numbers, a multiple of 2"
    ):
        ring.all_gather(96, 4, link_bw=1.0, values=three)
    assert ring.all_gather(
        96, 4, link_bw=1.0, values=three, ties="one_way"
    ).values.shape == (4, 12)
    with pytest.raises(ValueError, match="values must be numbers"):
        ring.all_gather(
            64, 4, link_bw=1.0, values=np.full((4, 2), None, dtype=object)
        )
    with pytest.raises(ValueError, match="values must be None with symmetry"):
        ring.all_gather(
            64, 4, link_bw=1.0, values=np.zeros((4, 2)), symmetry=True
        )


def test_what_would_not_fit_is_refused():
    with pytest.raises(ValueError, match="symmetry must be True .* above 512"):
        ring.all_to_all(513**2, 513, link_bw=1.0)
    with pytest.raises(ValueError, match="frames must be False above 512"):
        ring.all_gather(513, 513, link_bw=1.0, frames=True)


@each("steps", STEPS.values())
@each(
    ("message", "argument"),
    [
        ("V", {"V": 7}),
        ("N", {"N": (2, 2)}),
        ("N", {"N": 4.0}),
        ("wrap", {"wrap": (True,)}),
        ("directions", {"directions": 1, "wrap": False}),
    ],
)
def test_bad_input_of_the_plain_simulation_is_named(steps, message, argument):
    with pytest.raises(ValueError, match=f"^{message} must be"):
        steps(**{"V": 32, "N": 4} | argument)


@each(
    ("call", "message"),
    [
        (lambda: ring.broadcast_steps(7, 4, 2), "V must be a multiple of 4"),
        (lambda: ring.broadcast_steps(8, 4, 2, root=4), "root must be a chip"),
        (lambda: ring.chain_all_reduce_steps(8, 4, 3), "V must be a multiple"),
        (lambda: ring.permute_steps(8, 4, shift=1.5), "shift must be"),
        (
            lambda: ring.carry([[ring.Hop(0, 1, 3, 8)]], [{}, {}]),
            "chip 0 holds no chunk 3",
        ),
        (
            lambda: ring.carry(
                [[ring.Hop(0, 1, 3, 8, adds=True)]], [{3: np.ones(1)}, {}]
            ),
            "chip 1 holds no chunk 3",
        ),
    ],
)
def test_bad_input_of_the_rest_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


HOP = ring.Hop(0, 1, 3, 8)


@each(
    ("hop", "said"),
    [
        (ring.Hop(0, 1, 3, 6), "between its elements of 4 bytes"),
        (ring.Hop(0, 1, 3, 4, start=2), "between its elements of 4 bytes"),
        (ring.Hop(0, 1, 3, 16), "stay inside a chunk, which has 12 bytes"),
        (ring.Hop(0, 1, 3, 8, start=8), "stay inside a chunk"),
        (ring.Hop(0, 2, 3, 4), "between chips 0 to 1"),
        (ring.Hop(-1, 1, 3, 4), "between chips 0 to 1"),
        (ring.Hop(0, 1, 3, 4.0), "of whole bytes"),
        (ring.Hop(0, 1, 3, 4, adds=1), "must be Hop"),
        ((0, 1, 3, 4, 0, 0, 1, False), "must be Hop"),
    ],
)
@each("adds", [False, True])
def test_what_cannot_be_carried_is_refused(hop, said, adds):
    if isinstance(hop, ring.Hop) and hop.adds is False:
        hop = hop._replace(adds=adds)
    held = [{3: np.arange(3, dtype="<f4")} for _ in range(2)]
    with pytest.raises(ValueError, match=f"^steps.*{said}"):
        ring.carry([[hop]], held)


def test_chunks_that_differ_are_not_mixed():
    held = [{3: np.zeros(4, "<f4")}, {3: np.zeros(2, "<f8")}]
    with pytest.raises(ValueError, match="held must have chunk 3 alike"):
        ring.carry([[ring.Hop(0, 1, 3, 8)]], held)


@given(N=st.integers(2, 9), size=st.integers(1, 40), ties=st.booleans())
def test_no_byte_of_a_departure_is_lost(N, size, ties):
    how = {"ties": "split" if ties else "one_way"}
    if ties and N % 2 == 0 and size % 2:
        with pytest.raises(ValueError, match="size must be a multiple of 2"):
            ring.departures(N, size, **how)
        return
    leaving = [
        hop for queue in ring.departures(N, size, **how) for hop in queue
    ]
    assert sum(hop.bytes for hop in leaving) == N * (N - 1) * size


def test_a_tie_of_odd_bytes_is_not_split():
    tie = [ring.Hop(0, 1, 0, 7), ring.Hop(2, 1, 0, 7, way=-1)]
    with pytest.raises(ValueError, match="hops must carry whole chunks"):
        ring.shared(tie)
    assert ring.shared(tie, "one_way") == tie[:1]
    even = [hop._replace(bytes=8) for hop in tie]
    assert [hop.bytes for hop in ring.shared(even)] == [4, 4]
    with pytest.raises(ValueError, match="hops must bring a chunk once a way"):
        ring.shared([tie[0], tie[0]])
    with pytest.raises(ValueError, match="hops must carry whole chunks"):
        ring.shared([hop._replace(start=2) for hop in even])


# For every function arguments that are right, to be spoilt one by one.
RIGHT = {
    "onward": {"hops": [HOP], "N": 4, "wrap": True},
    "shared": {"hops": [HOP], "ties": "split"},
    "lacking": {"hops": [HOP], "held": [set(), set()]},
    "turned": {"hop": HOP},
    "backwards": {"steps": [[HOP]]},
    "destinations": {
        **{"chip": 0, "way": 1, "N": 4, "wrap": True, "directions": 2},
    },
    "departures": {
        **{"N": 4, "size": 8, "wrap": True, "directions": 2},
        "ties": "split",
    },
    "started": {"waiting": [[HOP]]},
    "pieces_each_way": {
        **{"V": 8, "N": 4, "pieces": 2, "root": 0, "wrap": True},
        "directions": 2,
    },
    "bytes_per_link": {"steps": [[HOP]]},
    "seconds": {
        **{"steps": [[HOP]], "link_bw": 1.0, "hop_latency": 0.0},
        "overlap": False,
    },
    "carry": {"steps": [[HOP]], "held": [{3: np.ones(1)}, {}]},
    "letter": {"hop": HOP, "held": [{3: np.ones(1)}, {}]},
    "chain_all_reduce_steps": {"V": 8, "N": 4, "pieces": 2},
    "permute_steps": {
        **{"V": 32, "N": 4, "shift": 1, "wrap": True, "directions": 2},
        "ties": "split",
    },
    "uneven_exchange": {
        **{"parts": np.arange(64.0).reshape(8, 8), "sizes": (2, 4)},
        "wrap": True,
    },
}
for name in ("broadcast_steps", "reduce_steps"):
    RIGHT[name] = RIGHT["pieces_each_way"]
for name in STEPS:
    RIGHT[f"{name}_steps"] = {
        **{"V": 32, "N": 4, "wrap": True, "directions": 2, "ties": "split"},
    }
    RIGHT[name] = {
        **{"V": 64 * 12, "sizes": (2, 4), "link_bw": 1.0, "hop_latency": 0.0},
        **{"overlap": False, "wrap": True, "directions": 2, "ties": "split"},
        **{"algorithm": "phases", "frames": False, "symmetry": False},
        "values": None,
    }
NONSENSE = [
    *(None, "text", "", b"8", math.nan, math.inf, -math.inf, -1, 0, 2.5),
    *(True, False, 10**400, -(10**400), [], {}, (), [None], [[None]], {1: 2}),
    object(),
]
# Nonsense elsewhere, and right here.
FINE = {
    ("hops", "[]"), ("hops", "()"), ("steps", "[]"), ("steps", "()"),
    ("hop_latency", "0"), ("shift", "0"), ("root", "0"), ("chip", "0"),
    ("shift", "1e400"), ("values", "None"), ("link_bw", "2.5"), ("way", "-1"),
    ("hop_latency", "2.5"),
}  # fmt: skip
for name in ("overlap", "wrap", "frames", "symmetry"):
    FINE |= {(name, "True"), (name, "False")}


def said_of(value):
    return "1e400" if value == 10**400 else repr(value)


@each(
    ("function", "argument"),
    [(f, name) for f, right in RIGHT.items() for name in right],
)
def test_every_argument_of_every_function_refuses_nonsense(function, argument):
    call, right = getattr(ring, function), RIGHT[function]
    call(**right)
    for value in deepcopy(NONSENSE):  # `started` takes hops away
        if (argument, said_of(value)) in FINE:
            call(**right | {argument: value})
            continue
        with pytest.raises(ValueError, match=argument):
            call(**right | {argument: value})


def test_every_function_is_spoilt():
    assert {*RIGHT} == {*ring.__all__} - {"Hop", "Traffic"}


def test_a_step_without_hops_has_no_time():
    with pytest.raises(ValueError, match=r"steps\[0\] must hold at least one"):
        ring.seconds([[]], 1.0)


# --- the module itself --------------------------------------------------------


def test_every_public_name_says_what_it_takes_and_gives():
    for name in ring.__all__:
        document = getattr(ring, name).__doc__
        if name in ("Hop", "Traffic"):
            continue
        assert "    returns " in document
        assert "    source " in document
        code = getattr(ring, name).__code__
        for argument in code.co_varnames[: code.co_argcount]:
            assert argument in document, (name, argument)
