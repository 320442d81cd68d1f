"""Products of sharded matrices: right numbers, and no more bytes than said."""

from itertools import product

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import cost, count, hw, matmul, notation, plot, ring
from shardlab.matmul.plans import with_cut
from shardlab.strategies import collective_matmul
from tests.each import each

AUTO = AxisType.Auto
SIZES = {"I": 16, "J": 32, "K": 24}
MESH = {"X": 4, "Y": 2}
CUTS = ["", "X", "Y", "XY", "YX"]


def layouts(name, dims, letters=CUTS):
    """Every layout of a matrix that uses each axis once."""
    return [
        text(name, dims, cuts)
        for cuts in product(letters, repeat=2)
        if not set(cuts[0]) & set(cuts[1])
    ]


def text(name, dims, cuts):
    marked = [f"{d}_{c}" if c else d for d, c in zip(dims, cuts, strict=True)]
    return f"{name}[{', '.join(marked)}]"


def whole_numbers(seed, *shape):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype("f4")


def laid(x, layout, mesh):
    return jax.device_put(x, NamedSharding(mesh, notation.to_spec(layout)))


def shaped(shape, layout, mesh):
    sharding = NamedSharding(mesh, notation.to_spec(layout))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


def devices(**sizes):
    auto = (AUTO,) * len(sizes)
    return jax.make_mesh((*sizes.values(),), (*sizes,), axis_types=auto)


NAMES = ("IJ", "JK", "IK")
ANY = [layouts(n, d) for n, d in zip("ABC", NAMES, strict=True)]


# --- plans: values, layouts, bytes --------------------------------------------


def check_on_devices(line, sizes, mesh):
    plan = matmul.cheapest(line, sizes, mesh)
    on = devices(**mesh)
    a = whole_numbers(1, sizes["I"], sizes["J"])
    b = whole_numbers(2, sizes["J"], sizes["K"])
    A, B = laid(a, plan.product.A, on), laid(b, plan.product.B, on)
    C = matmul.run(plan, on)(A, B)
    np.testing.assert_array_equal(C, a @ b)  # whole numbers: exact
    assert str(notation.of(C, "IK", "C")) == str(plan.product.C)


@pytest.mark.slow
@given(*map(st.sampled_from, ANY))
@settings(max_examples=15)
def test_the_cheapest_plan_is_right_on_eight_devices(A, B, C):
    check_on_devices(f"{A} . {B} -> {C}", SIZES, MESH)


LINES = [
    f"{A} . {B} -> {C}"
    for A, B, C in product(
        *(layouts(n, d, ["", "X"]) for n, d in zip("ABC", NAMES, strict=True))
    )
]
# Programs that are compiled take their time: `make check` has one of a
# ReduceScatter, one of an AllToAll, and one of a slice.
QUICK = {
    "A[I, J_X] . B[J_X, K] -> C[I, K_X]",
    "A[I, J_X] . B[J, K] -> C[I_X, K]",
    "A[I, J] . B[J, K] -> C[I_X, K]",
}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=() if line in QUICK else pytest.mark.slow)
        for line in LINES
    ],
)
def test_every_product_over_one_axis(line):
    check_on_devices(line, SIZES, {"X": 4})


def test_the_quick_products_are_among_them():
    assert set(LINES) >= QUICK


def counted(plan, sizes, mesh):
    """Records of a plan's program, and the FLOPs of its one product."""
    on = AbstractMesh((*mesh.values(),), (*mesh,), (AUTO,) * len(mesh))
    A = shaped((sizes["I"], sizes["J"]), plan.product.A, on)
    B = shaped((sizes["J"], sizes["K"]), plan.product.B, on)
    program = matmul.run(plan, on)
    [dot] = dots(jax.make_jaxpr(program)(A, B).jaxpr)
    (rows, inner), columns = dot.invars[0].aval.shape, dot.invars[1].aval.shape
    return count.collectives(program, A, B), 2 * rows * inner * columns[1]


def dots(jaxpr):
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "dot_general":
            yield eqn
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from dots(inner)


@given(*map(st.sampled_from, ANY))
@settings(max_examples=20)
def test_every_plan_moves_and_multiplies_what_it_says(A, B, C):
    line = f"{A} . {B} -> {C}"
    for plan in matmul.plans(line, SIZES, MESH)[::4]:
        moved, flops = counted(plan, SIZES, MESH)
        assert count.sent(moved) == plan.sent
        assert flops == plan.flops
        assert str(plan.product) == line
        kinds = [c.kind for c in moved]
        steps = [s.kind for chain in plan.steps for s in chain]
        assert kinds == [kind for kind in steps if kind != "slice"]


def test_three_axes_at_real_size():
    mesh = {"X": 16, "Y": 16, "Z": 16}
    sizes = dict.fromkeys("IJK", 2**14)
    line = "A[I_X, J_Y] . B[J_Y, K_Z] -> C[I_XZ, K]"
    plan = matmul.cheapest(line, sizes, mesh, 4)
    moved, flops = counted(plan, sizes, mesh)
    assert count.sent(moved) == plan.sent
    assert flops == plan.flops == 2 * 2**42 // 2**12


# --- plans: nothing cheaper ---------------------------------------------------

# One axis of N: a matrix is whole, cut in dimension 0 or 1, or a debt. What
# leaves a device in one collective, as a multiple of V (N - 1) / N.
MOVES = {
    ("-", "0"): 0,
    ("-", "1"): 0,
    ("0", "-"): 1,
    ("1", "-"): 1,
    ("0", "1"): None,  # an AllToAll, 1 / N
    ("1", "0"): None,
    ("U", "-"): 2,
    ("U", "0"): 1,
    ("U", "1"): 1,
}
FORMED = {
    ("-", "-"): "-",
    ("0", "-"): "0",
    ("-", "1"): "1",
    ("1", "0"): "U",
}


def least(start, end, V, N, through=3):
    """The fewest bytes from one state to another, trying all chains."""
    if start == end:
        return 0
    if not through:
        return float("inf")
    best = float("inf")
    for (here, there), times in MOVES.items():
        if here == start:
            moved = V * (N - 1) // N * times if times is not None else 0
            moved = V * (N - 1) // N**2 if times is None else moved
            rest = least(there, end, V, N, through - 1)
            best = min(best, moved + rest)
    return best


def fewest_bytes(A, B, C, sizes, N):
    I, J, K = (4 * sizes[0] * sizes[1], 4 * sizes[1] * sizes[2], sizes[0])
    bytes_C = 4 * K * sizes[2]
    return min(
        least(A, a, I, N) + least(B, b, J, N) + least(formed, C, bytes_C, N)
        for (a, b), formed in FORMED.items()
    )


@given(
    st.sampled_from("-01"),
    st.sampled_from("-01"),
    st.sampled_from("-01"),
    st.tuples(*[st.integers(1, 6)] * 3),
    st.sampled_from([2, 4, 8]),
)
def test_no_chain_is_cheaper(A, B, C, blocks, N):
    sizes = [N * block for block in blocks]
    marks = {"-": ("", ""), "0": ("X", ""), "1": ("", "X")}
    line = (
        f"{text('A', 'IJ', marks[A])} . {text('B', 'JK', marks[B])} -> "
        f"{text('C', 'IK', marks[C])}"
    )
    named = dict(zip("IJK", sizes, strict=True))
    plan = matmul.cheapest(line, named, {"X": N})
    assert plan.sent == fewest_bytes(A, B, C, sizes, N)


@pytest.mark.parametrize("end", ["after", "before"])
def test_routes_add_up_what_every_step_costs(end):
    def road(before, after, sent, seconds=0):
        return matmul.Step("slice", "X", before, after, sent, seconds)

    there = [road("a", "b", 1), road("b", "c", 2), road("a", "c", 4)]
    slow = [road("c", "d", 0, 2), road("c", "e", 9), road("e", "d", 9, 1)]
    roads = {place: [] for place in "abcde"}
    for step in there + slow:
        roads[step.before if end == "after" else step.after].append(step)
    start, goal = ("a", "d") if end == "after" else ("d", "a")
    chain = matmul.routes(roads, start, end)[goal]
    # Seconds count first, then bytes, then steps: neither a - c nor c - d.
    assert [step.before for step in chain] == ["a", "b", "c", "e"]
    assert [step.after for step in chain] == ["b", "c", "e", "d"]


def test_plans_are_sorted_and_differ():
    found = matmul.plans("A[I, J_X] . B[J_X, K] -> C[I, K]", SIZES, MESH)
    prices = [(plan.sent, plan.flops) for plan in found]
    assert prices == sorted(prices)
    pairs = [tuple(map(str, plan.multiplied)) for plan in found]
    assert len(set(pairs)) == len(pairs) > 10


@pytest.mark.parametrize(
    ("line", "summary"),
    [
        pytest.param("A[I_X, J] . B[J, K] -> C[I_X, K]", "multiply", id="S4.2"),
        pytest.param(
            "A[I, J_X] . B[J_X, K] -> C[I, K_X]",
            "multiply, ReduceScatter_X(C)",
            id="S8.5",
        ),
        pytest.param(
            "A[I, J_X] . B[J_X, K] -> C[I, K]",
            "multiply, AllReduce_X(C)",
            id="S6.3",
        ),
    ],
)
def test_worked_plans(line, summary):
    assert matmul.cheapest(line, SIZES, {"X": 8}).summary == summary


def test_gather_or_reduce_by_the_ratio_of_sizes():  # S10.9
    line = "A[I, J_X] . B[J, K] -> C[I, K_X]"
    sizes = {"I": 64, "K": 64}
    for J, first in ((8, "AllGather"), (4096, "slice")):
        plan = matmul.cheapest(line, {**sizes, "J": J}, {"X": 8})
        assert plan.summary.startswith(first)


# --- plans in seconds ---------------------------------------------------------


def test_seconds_of_a_ring_and_of_a_line():
    line, sizes = "A[I_X, J] . B[J, K] -> C[I, K]", dict.fromkeys("IJK", 4096)
    V = 4 * 4096 * 4096
    found = [
        plan
        for plan in matmul.plans(line, sizes, {"X": 4}, chip=hw.V5E)
        if plan.summary == "multiply, AllGather_X(C)"
    ]
    exact = cost.t_all_gather(V, 4, hw.V5E.link_bw, hop_latency=1e-6)
    assert found[0].times.comm == pytest.approx(exact, rel=1e-12)
    math = 2 * 4096**3 / 4 / hw.V5E.flops
    assert found[0].times.math == pytest.approx(math, rel=1e-12)
    on_line = matmul.cheapest(
        line, sizes, {"X": 4}, chip=hw.V5E, wrap=False
    ).times
    exact = cost.t_all_gather(
        V, 4, hw.V5E.link_bw, wrap=False, hop_latency=1e-6
    )
    assert on_line.comm == pytest.approx(exact, rel=1e-12)


def test_an_all_reduce_waits_for_its_hops_twice():
    line, sizes = "A[I, J_X] . B[J_X, K] -> C[I, K]", dict.fromkeys("IJK", 4096)
    plan = matmul.cheapest(line, sizes, {"X": 4}, chip=hw.V5E)
    assert plan.summary == "multiply, AllReduce_X(C)"
    V, wire = 4 * 4096 * 4096, hw.V5E.link_bw
    exact = cost.t_all_reduce(V, 4, wire, hop_latency=hw.V5E.hop_latency)
    assert plan.times.comm == pytest.approx(exact, rel=1e-12)


def test_an_exchange_takes_a_quarter_of_a_gather():
    line, sizes = "A[I, J_X] . B[J, K] -> C[I_X, K]", dict.fromkeys("IJK", 4096)
    plan = matmul.cheapest(line, sizes, {"X": 4}, chip=hw.V5E)
    assert plan.summary == "AllToAll_X(A), multiply"
    V, wire = 4 * 4096 * 4096, hw.V5E.link_bw
    exact = cost.t_all_to_all(V, 4, wire, hop_latency=hw.V5E.hop_latency)
    assert plan.times.comm == pytest.approx(exact, rel=1e-12)


def test_tiny_products_are_not_worth_a_hop():  # S10.5
    sizes = {"I": 128, "J": 512, "K": 4096}
    line, mesh = "A[I, J] . B[J, K] -> C[I, K]", {"X": 4, "Y": 4, "Z": 4}
    plan = matmul.cheapest(line, sizes, mesh, 2, chip=hw.V5P)
    assert plan.summary == "multiply"
    assert plan.times.math == pytest.approx(1.17e-6, rel=5e-3)
    sizes = {"I": 1024, "J": 8192, "K": 32768}
    plan = matmul.cheapest(line, sizes, mesh, 2, chip=hw.V5P)
    assert plan.flops == 2 * 1024 * 8192 * 32768 // 64


def test_bytes_and_seconds_can_disagree():
    # An AllToAll sends an N-th of a gather, and on a ring takes a quarter.
    line, sizes = "A[I_X, J] . B[J_X, K] -> C[I_X, K]", {"I": 64, "J": 64}
    by_bytes = matmul.cheapest(line, {**sizes, "K": 64}, {"X": 64})
    slow = hw.V5P
    by_time = matmul.cheapest(line, {**sizes, "K": 64}, {"X": 64}, chip=slow)
    assert by_time.times.comm <= sum(
        s.seconds
        for p in matmul.plans(line, {**sizes, "K": 64}, {"X": 64}, chip=slow)
        if p.summary == by_bytes.summary
        for chain in p.steps
        for s in chain
    )


def test_overlap_takes_the_longer_of_the_two():
    line, sizes = "A[I, J] . B[J, K] -> C[I, K]", dict.fromkeys("IJK", 2**13)
    for overlap in (True, False):
        found = matmul.plans(
            line, sizes, {"X": 4}, 2, chip=hw.V5P, overlap=overlap
        )
        took = [cost.seconds(plan.times, overlap) for plan in found]
        assert took == sorted(took)


# --- what a plan says ---------------------------------------------------------


def test_a_plan_reads_aloud():
    line = "A[I, J_X] . B[J_X, K] -> C[I, K_X]"
    plan = matmul.cheapest(line, SIZES, {"X": 8})
    lines = str(plan).splitlines()
    assert lines[-1].startswith("ReduceScatter_X")
    assert lines[-1].endswith(" B")
    assert str(plan.formed).endswith("{U_X}")


def test_a_slice_keeps_what_is_there():
    plan = matmul.cheapest("A[I, J] . B[J, K] -> C[I_X, K]", SIZES, {"X": 4})
    assert plan.summary == "slice_X(A), multiply"
    assert plan.sent == 0


@each(
    ("A", "B", "C"),
    [
        ("A[I_X, J]", "B[J, K_Y]", "C[I_X, K_Y]"),
        ("A[I, J_X]", "B[J_X, K]", "C[I, K]{U_X}"),
        ("A[I_Z, J_XY]", "B[J_XY, K]", "C[I_Z, K]{U_XY}"),
        ("A[I, J_X]", "B[J, K]", None),
        ("A[I, J_X]", "B[J_Y, K]", None),
        ("A[I, J_XY]", "B[J_YX, K]", None),
        ("A[I_X, J]", "B[J, K_X]", None),
        ("A[I_X, J_Y]", "B[J_Y, K_X]", None),
    ],
)
def test_what_falls_out_of_local_blocks(A, B, C):  # S3.6, S4.1, S6.1, S7.1
    formed = matmul.local_product(A, B)
    assert (formed and str(formed)) == C


def test_edits_name_each_layout_once():
    layout = notation.parse("C[I_XY, K]{U_Z}")
    found = matmul.edits(layout, {"X": 2, "Y": 2, "Z": 2, "W": 2})
    got = {(kind, axis): [] for kind, axis, _ in found}
    for kind, axis, after in found:
        got[kind, axis].append(str(after))
    assert got == {
        ("all_gather", "Y"): ["C[I_X, K]{U_Z}"],
        ("all_to_all", "Y"): ["C[I_X, K_Y]{U_Z}"],
        ("all_reduce", "Z"): ["C[I_XY, K]"],
        ("reduce_scatter", "Z"): ["C[I_XYZ, K]", "C[I_XY, K_Z]"],
        ("slice", "W"): ["C[I_XYW, K]{U_Z}", "C[I_XY, K_W]{U_Z}"],
    }
    assert str(with_cut(layout, 1, ("W",))) == "C[I_XY, K_W]{U_Z}"


GOOD = ("A[I, J_X] . B[J_X, K] -> C[I, K]", SIZES, MESH)


@each(
    ("line", "sizes", "mesh", "how", "named"),
    [
        ("A[I, J]", *GOOD[1:], {}, "text"),
        (7, *GOOD[1:], {}, "text"),
        ("A[I, J] . B[J, K]", *GOOD[1:], {}, "text"),
        ("A[I, J] . B[J, K] . C[K, L] -> D[I, L]", *GOOD[1:], {}, "text"),
        ("A[I, J] . B[K, J] -> C[I, J]", *GOOD[1:], {}, "text"),
        ("A[I, J] . B[J, I] -> C[I, I]", *GOOD[1:], {}, "twice"),
        ("A[I, J] . B[J, K] -> C[K, I]", *GOOD[1:], {}, "text"),
        ("A[I, J]{U_X} . B[J, K] -> C[I, K]", *GOOD[1:], {}, "added up"),
        (GOOD[0], {"I": 16, "J": 32}, MESH, {}, "sizes"),
        (GOOD[0], {**SIZES, "L": 3}, MESH, {}, "sizes"),
        (GOOD[0], {**SIZES, "J": 0}, MESH, {}, "J"),
        (GOOD[0], {**SIZES, "J": 3}, MESH, {}, "J"),
        (GOOD[0], {**SIZES, "J": 32.0}, MESH, {}, "J"),
        (GOOD[0], SIZES, {"Y": 2}, {}, "X"),
        (GOOD[0], SIZES, {"X": 0}, {}, "X"),
        (GOOD[0], SIZES, [4, 2], {}, "mesh"),
        (GOOD[0], SIZES, dict.fromkeys("VWXY", 2), {}, "mesh"),
        (*GOOD, {"itemsize": 0}, "itemsize"),
        (*GOOD, {"chip": "v5e"}, "chip"),
        (*GOOD, {"wrap": 1}, "wrap"),
        (*GOOD, {"overlap": None}, "overlap"),
    ],
)
def test_bad_input_is_named(line, sizes, mesh, how, named):
    with pytest.raises(ValueError, match=named):
        matmul.plans(line, sizes, mesh, **how)


def test_a_result_that_stays_a_debt_is_planned_and_not_run():
    line = "A[I, J_X] . B[J_X, K] -> C[I, K]{U_X}"
    plan = matmul.cheapest(line, SIZES, {"X": 8})
    assert (plan.summary, plan.sent) == ("multiply", 0)
    with pytest.raises(ValueError, match="add up"):
        matmul.run(plan, devices(X=8))


# --- the collective matmul ----------------------------------------------------

RINGS = [
    collective_matmul.gather_matmul,
    collective_matmul.gather_matmul_both_ways,
]


@pytest.mark.parametrize("body", RINGS)
@pytest.mark.parametrize(
    "N", [3, *(pytest.param(N, marks=pytest.mark.slow) for N in (1, 2, 8))]
)
def test_collective_matmul_is_a_product_and_sends_a_gather(body, N):  # N8
    a, b = whole_numbers(1, 5, 4 * N), whole_numbers(2, 4 * N, 3 * N)
    on, where = devices(X=N), collective_matmul.LAYOUT
    specs = {"in_specs": (where["A"], where["B"]), "out_specs": where["C"]}
    program = jax.jit(jax.shard_map(body, mesh=on, **specs))
    np.testing.assert_array_equal(program(a, b), a @ b)
    moved = count.collectives(program, a, b)
    assert count.sent(moved) == a.nbytes * (N - 1) // N
    assert {c.kind for c in moved} <= {"permute"}


def test_both_ways_halves_every_message():
    on, where = devices(X=4), collective_matmul.LAYOUT
    specs = {"in_specs": (where["A"], where["B"]), "out_specs": where["C"]}
    a, b = np.ones((4, 8), "f4"), np.ones((8, 4), "f4")
    sizes = []
    for body in RINGS:
        program = jax.shard_map(body, mesh=on, **specs)
        moved = count.collectives(program, a, b)
        sizes.append({c.volume for c in moved})
        ways = {(d - s) % 4 for c in moved for s, d in c.pairs}
    assert sizes == [{32}, {16}]
    assert ways == {1, 3}


# --- its time -----------------------------------------------------------------


@given(
    st.integers(1, 12),
    st.integers(0, 400),
    st.integers(1, 64),
    st.sampled_from([0.0, 1.0, 3.0]),
)
def test_formula_and_simulation_of_one_way(N, math, block, latency):
    steps = ring.all_gather_steps(N * block, N, directions=1)
    comm = sum(block + latency for _ in steps)
    work = matmul.timeline(steps, N, math, 1.0, latency)
    took = max((w.end for w in work), default=0)
    predicted = matmul.t_overlapped(math, comm, N)
    assert took == pytest.approx(predicted, rel=1e-12, abs=1e-12)
    work = matmul.timeline(steps, N, math, 1.0, latency, overlap=False)
    took = max((w.end for w in work), default=0)
    assert took == pytest.approx(math + comm, rel=1e-12, abs=1e-12)


@given(st.integers(2, 9), st.integers(1, 300), st.sampled_from([1, 2]))
def test_nobody_does_two_things_at_once(N, math, directions):
    steps = ring.all_gather_steps(2 * N * 8, N, directions=directions)
    work = matmul.timeline(steps, N, math, 1.0)
    for chip in range(N):
        mine = [w for w in work if (w.chip, w.part) == (chip, "multiply")]
        assert sorted(w.block for w in mine) == list(range(N))
        for first, second in zip(mine, mine[1:], strict=False):
            assert first.end <= second.start
        for w in mine:
            came = [
                other.end
                for other in work
                if (other.chip, other.part, other.block)
                == (chip, "link", w.block)
            ]
            assert w.start >= max(came, default=0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((-1, 1, 2), "math"), ((1, "x", 2), "comm"), ((1, 1, 0), "X")],
)
def test_bad_times_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        matmul.t_overlapped(*arguments)


@each(
    ("change", "named"),
    [
        ({"N": 0}, "N"),
        ({"math": -1}, "math"),
        ({"link_bw": 0}, "link_bw"),
        ({"overlap": 1}, "overlap"),
        ({"steps": [7]}, "steps"),
        ({"hop_latency": -1}, "hop_latency"),
        ({"N": 3}, "steps"),
    ],
)
def test_bad_timelines_are_named(change, named):
    good = {
        "steps": ring.all_gather_steps(32, 4),
        "N": 4,
        "math": 1.0,
        "link_bw": 1.0,
    }
    with pytest.raises(ValueError, match=named):
        matmul.timeline(**(good | change))


# --- what is drawn ------------------------------------------------------------


def test_a_film_of_a_product_shows_every_term_once():
    for N in (2, 4):
        steps = ring.all_gather_steps(N * 8, N, directions=1)
        film = plot.product_player(steps, N, "a film")
        assert film.html.count("<figure>") == N
        assert len(film.html) < 100_000
        blues = [plot.shade("X", n, N) for n in range(N)]
        *_, last = film.html.split("<figure>")
        fills = [last.count(f'fill="{fill}"') for fill in blues]
        # In the end each block is in one hand and amid one chip's rows of B,
        # and is a term of every chip's C.
        assert fills == [N + 2] * N


def test_a_film_wants_a_block_for_every_chip():
    with pytest.raises(ValueError, match="steps"):
        plot.product_player(ring.all_gather_steps(64, 4), 4, "both ways")


def test_bars_are_as_long_as_the_work():
    steps = ring.all_gather_steps(32, 4, directions=1)
    works = matmul.timeline(steps, 4, 12.0, 1.0)
    axes = plot.busy({"one": works}, chip=2, unit=1.0, name="s")
    bars = axes[0, 0].patches
    assert len(bars) == 7
    assert sorted(bar.get_width() for bar in bars) == [3] * 4 + [8] * 3
    plt.close("all")


# --- traced at any size -------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"I": 4, "J": 8}, "sizes must give K of B.*got {'I': 4, 'J': 8}"),
        ({"I": 4, "J": 8.0, "K": 2}, "sizes\\['J'\\] must be a"),
    ],
    ids=["missing", "not whole"],
)
def test_a_size_that_is_none_is_named(sizes, said):
    line = "A[I, J_X] . B[J_X, K] -> C[I, K]"
    with pytest.raises(ValueError, match=said):
        matmul.traced(lambda A, B: A @ B, line, sizes, {"X": 2})


def test_traced_counts_whatever_mesh_is_set():
    def gather(A, B):
        return jax.lax.all_gather(A, "X", axis=1, tiled=True) @ B

    line, sizes = "A[I, J_X] . B[J, K_X] -> C[I, K_X]", dict.fromkeys("IJK", 64)
    explicit = (AxisType.Explicit,)
    with jax.set_mesh(jax.make_mesh((8,), ("Y",), axis_types=explicit)):
        moved = matmul.traced(gather, line, sizes, {"X": 4})
    assert count.volume(moved) == 2 * 64 * 64
    assert count.volume(matmul.traced(gather, line, sizes, {"X": 32})) == 8192
    as_f32 = matmul.traced(gather, line, sizes, {"X": 4}, dtype="float32")
    assert count.volume(as_f32) == 4 * 64 * 64
