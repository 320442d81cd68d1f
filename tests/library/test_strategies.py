"""Every strategy: right numbers, and exactly the bytes that were predicted."""

from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

from shardlab import count
from shardlab.strategies import (
    adam,
    block,
    dp,
    fsdp,
    fsdp_tp,
    megatron,
    none,
    tp,
    typed,
    zero1,
    zero2,
)

ALL = [none, dp, zero1, zero2, fsdp, tp, megatron, fsdp_tp]
SHARDED = ALL[1:]
MESHES = [(4, 2), (2, 4), (8, 1), (1, 8)]
AUTO = (AxisType.Auto,) * 2
EXPLICIT = (AxisType.Explicit,) * 2


def name_of(strategy):
    return strategy.__name__.rpartition(".")[2]


def devices(sizes):
    return jax.make_mesh(sizes, ("X", "Y"), axis_types=AUTO)


def chips(X, Y, kind=AUTO):
    return AbstractMesh((X, Y), ("X", "Y"), kind)


# --- values -------------------------------------------------------------------

B, D, F = 16, 24, 40


@cache
def integers():
    """In, Target, W_in, W_out of small whole numbers, of no symmetry."""
    draw = np.random.default_rng(0).integers
    sizes = [(B, D), (B, D), (D, F), (F, D)]
    return tuple(draw(-2, 3, size).astype(np.float32) for size in sizes)


@cache
def exact():
    """Loss and gradients in NumPy's 64-bit integers, doubled loss first."""
    In, Target, W_in, W_out = (x.astype(np.int64) for x in integers())
    Tmp = In @ W_in
    dOut = Tmp @ W_out - Target
    dTmp = dOut @ W_out.T
    return (dOut**2).sum(), dTmp @ W_in.T, In.T @ dTmp, Tmp.T @ dOut


def test_float32_holds_every_sum_of_the_exact_data():
    # Sums of whole numbers below 2^24 are exact in float32 in any order, so
    # that every comparison with `exact` can ask for equality, bit by bit.
    In, Target, W_in, W_out = (np.abs(x).astype(int) for x in integers())
    Tmp = In @ W_in
    dOut = Tmp @ W_out + Target
    dTmp = dOut @ W_out.T
    assert max(x.max() for x in (dTmp @ W_in.T, In.T @ dTmp)) < 2**24
    assert max((Tmp.T @ dOut).max(), exact()[0]) < 2**24


def assert_exact(got):
    """Loss parts and gradients, against the integers, with no tolerance."""
    loss, *gradients = (np.asarray(x, np.float64) for x in got)
    twice, *expected = exact()
    assert 2 * loss.sum() == twice
    for found, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("sizes", MESHES, ids=str)
@pytest.mark.parametrize("strategy", ALL, ids=name_of)
def test_loss_and_gradients_are_those_of_one_chip(strategy, sizes):
    passes = jax.jit(block.gradients(strategy, devices(sizes)))
    assert_exact(passes(*integers()))


@pytest.mark.parametrize("keep_weights", [False, True])
@pytest.mark.parametrize("keep_In", [False, True])
@pytest.mark.parametrize("strategy", [fsdp, tp, fsdp_tp], ids=name_of)
def test_what_is_kept_changes_no_number(strategy, keep_In, keep_weights):
    passes = block.gradients(strategy, devices((4, 2)), keep_In, keep_weights)
    assert_exact(jax.jit(passes)(*integers()))


@pytest.mark.parametrize("strategy", ALL, ids=name_of)
def test_the_forward_pass_is_that_of_one_chip(strategy):
    In, _, W_in, W_out = integers()
    Out = jax.jit(block.forward(strategy, devices((4, 2))))(In, W_in, W_out)
    np.testing.assert_array_equal(np.asarray(Out), In @ W_in @ W_out)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_hand_written_derivative_is_jaxs_own():
    # T9.2: dA = X^T dY and dX = dY A^T, twice.
    In, Target = normal(1, B, D), normal(2, B, D)
    W_in, W_out = normal(3, D, F), normal(4, F, D)

    def loss(In, W_in, W_out):
        return ((In @ W_in @ W_out - Target) ** 2).sum() / 2

    expected = jax.grad(loss, argnums=(0, 1, 2))(In, W_in, W_out)
    Out, saved = none.forward(In, W_in, W_out)
    part, dOut = none.loss(Out, Target)
    assert float(part) == pytest.approx(float(loss(In, W_in, W_out)), rel=1e-6)
    for found, wanted in zip(
        none.backward(dOut, *saved), expected, strict=True
    ):
        # Sums of at most 40 float32 products, two deep: 40 eps of the scale.
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, atol=40 * 1.2e-7 * scale)


def trained(strategy, sizes):
    """One step from a state in mid training."""
    In, Target, W_in, W_out = integers()
    state_in = (W_in, 1e4 * normal(5, D, F), 1e8 * normal(6, D, F) ** 2 + 1e8)
    state_out = (W_out, 1e4 * normal(7, F, D), 1e8 * normal(8, F, D) ** 2 + 1e8)
    step = jax.jit(block.train(strategy, devices(sizes)))
    return step(In, Target, W_in, W_out, state_in, state_out)


@pytest.mark.parametrize("strategy", SHARDED, ids=name_of)
def test_a_training_step_is_that_of_one_chip(strategy):
    # The gradients are equal bit by bit; the update is elementwise and may be
    # compiled with fused multiply-adds here and without them there. Its terms
    # are as large as the largest results: two roundings of those.
    expected = jax.tree.leaves(trained(none, (4, 2))[1:])
    found = jax.tree.leaves(trained(strategy, (4, 2))[1:])
    for one, other in zip(found, expected, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=0, atol=2.4e-7 * scale)


def test_weights_move_against_their_gradients():
    W = jnp.array([1.0, 1.0, 1.0])
    dW = jnp.array([3.0, 0.0, -5.0])
    new, (master, m, v) = adam.update(dW, adam.start(W), rate=0.5)
    # From zero moments the first step is rate * 0.1 / sqrt(0.001) each way.
    step = 0.5 * 0.1 / 0.001**0.5
    np.testing.assert_allclose(new, [1 - step, 1, 1 + step], rtol=1e-6)
    np.testing.assert_allclose(m, 0.1 * dW, rtol=1e-6)
    np.testing.assert_allclose(v, 0.001 * dW**2, rtol=1e-6)
    assert master.dtype == jnp.float32
    _, (_, m, v) = adam.update(0 * dW, (master, m, v))
    np.testing.assert_allclose(m, 0.9 * 0.1 * dW, rtol=1e-6)
    np.testing.assert_allclose(v, 0.999 * 0.001 * dW**2, rtol=1e-6)


@pytest.mark.parametrize("strategy", ALL, ids=name_of)
def test_results_keep_the_precision_of_the_weights(strategy):
    mesh = chips(2, 2)
    args = block.arguments(strategy, mesh, 8, 8, 8)
    states = block.states(strategy, mesh, 8, 8)
    loss, *rest = jax.eval_shape(block.train(strategy, mesh), *args, *states)
    dIn, W_in, W_out, state_in, _ = rest
    assert {x.dtype for x in (dIn, W_in, W_out)} == {jnp.dtype("bfloat16")}
    assert {x.dtype for x in (loss, *state_in)} == {jnp.dtype("float32")}


# --- bytes, by the formulas ---------------------------------------------------


def passes(b, d, f, x, y):
    """Closed forms in bytes of bf16: strategy, options, forward, the rest.

    The rest is the backward pass and, for ZeRO-1 and -2, the weights that
    are gathered after the optimiser's step.
    """
    again, kept = {"keep_In": False}, {"keep_weights": True}
    b_x, f_y = Fraction(b, x), Fraction(f, y)
    mixed = 4 * b_x * d + 4 * d * f_y
    return {
        "N11": (none, {}, 0, 0),
        "T1.9": (dp, {}, 0, 8 * d * f),
        "C3.9": (zero1, {}, 0, 4 * d * f + 4 * d * f),
        "C3.10": (zero2, {}, 0, 4 * d * f + 4 * d * f),
        "T7.5 FSDP": (fsdp, {}, 4 * d * f, 8 * d * f),
        "T2.3 kept": (fsdp, kept, 4 * d * f, 4 * d * f),
        "T3.5": (tp, {}, 4 * b * d, 4 * b * d),
        "T3.3 again": (tp, again, 4 * b * d, 6 * b * d),
        "C4.14": (megatron, {}, 4 * b * d, 4 * b * d),
        "T4.4": (fsdp_tp, {}, mixed, 4 * b_x * d + 8 * d * f_y),
        "T4.2 again": (fsdp_tp, again, mixed, 6 * b_x * d + 8 * d * f_y),
        "T4.2 kept": (fsdp_tp, kept, mixed, 4 * b_x * d + 4 * d * f_y),
    }


ROWS = list(passes(1, 1, 1, 1, 1))


def counted(row, b, d, f, x, y):
    """Counted records of the forward pass, and of the whole step."""
    strategy, options, *_ = passes(b, d, f, x, y)[row]
    mesh = chips(x, y)
    args = block.arguments(strategy, mesh, b, d, f)
    states = block.states(strategy, mesh, d, f)
    forward = block.forward(strategy, mesh)
    step = block.train(strategy, mesh, **options)
    In, _, *weights = args
    return (
        count.collectives(forward, In, *weights),
        count.collectives(step, *args, *states),
    )


def assert_agreement(row, b, d, f, x, y):
    """Formula and count, forward and whole, with ratio exactly 1."""
    _, _, forward, rest = passes(b, d, f, x, y)[row]
    one, both = (count.volume(c) for c in counted(row, b, d, f, x, y))
    assert one == forward
    assert both == forward + rest


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    "mesh",
    [
        pytest.param((512, 8), id="4096 chips"),
        pytest.param((4, 2), id="8 chips"),
        pytest.param((2, 2), id="4 chips"),
        pytest.param((16, 256), id="more over Y"),
    ],
)
def test_formula_and_count_agree_at_real_sizes(row, mesh):
    assert_agreement(row, 2**20, 8192, 28_672, *mesh)


@given(
    st.sampled_from(ROWS),
    *(st.integers(1, 30) for _ in "bdf"),
    *(st.integers(2, 12) for _ in "xy"),
)
def test_formula_and_count_agree_at_any_size(row, b, d, f, x, y):
    assert_agreement(row, b * x * y, d * x * y, f * x * y, x, y)


@given(
    st.sampled_from(ROWS),
    *(st.integers(1, 6) for _ in "bdf"),
    *(st.integers(2, 9) for _ in "xy"),
)
def test_sent_is_volume_by_the_ring_factor_of_each_axis(row, b, d, f, x, y):
    _, moved = counted(row, b * x * y, d * x * y, f * x * y, x, y)
    for axis, N in (("X", x), ("Y", y)):
        ring = Fraction(N - 1, N)
        assert count.sent(moved, axis) == ring * count.volume(moved, axis)


def test_the_two_axes_of_fsdp_and_tp_carry_what_they_should():
    # T4.3: FSDP moves weights, cut by Y; TP moves activations, cut by X.
    b, d, f, x, y = 2**20, 8192, 28_672, 512, 8
    forward, both = counted("T4.4", b, d, f, x, y)
    assert count.volume(forward, "X") == 4 * d * f // y
    assert count.volume(forward, "Y") == 4 * b * d // x
    assert count.volume(both, "X") == 12 * d * f // y
    assert count.volume(both, "Y") == 8 * b * d // x
    # and not 4BD/X + 8BD/X, as the sources' table says
    assert count.volume(both, "Y") != 12 * b * d // x


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param("T1.9", ["all_reduce X"] * 2, id="T1.3"),
        pytest.param(
            "T7.5 FSDP",
            ["all_gather X"] * 2 + ["reduce_scatter X", "all_gather X"] * 2,
            id="T2.3",
        ),
        pytest.param(
            "T3.3 again",
            ["all_gather Y", "reduce_scatter Y"]
            + ["all_gather Y"] * 2
            + ["reduce_scatter Y"],
            id="T3.3",
        ),
        pytest.param(
            "T4.2 again",
            ["all_gather Y", "all_gather X", "all_gather X"]
            + ["reduce_scatter Y", "all_gather Y"]
            + ["reduce_scatter X", "all_gather X", "all_gather Y"]
            + ["reduce_scatter X", "all_gather X", "reduce_scatter Y"],
            id="T4.2",
        ),
        pytest.param("C4.14", ["all_reduce Y"] * 2, id="C4.14"),
        pytest.param(
            "C3.9",
            ["reduce_scatter X"] * 2 + ["all_gather X"] * 2,
            id="C3.9",
        ),
    ],
)
def test_collectives_come_in_the_order_of_the_algorithm(row, expected):
    _, moved = counted(row, 16, 16, 16, 4, 2)
    assert [" ".join([c.kind, *c.axes]) for c in moved] == expected


def whole_gradients_at_once(strategy):
    """How many whole gradients a device holds at the worst moment."""
    mesh = chips(4, 2)
    d, f = 64, 96
    args = block.arguments(strategy, mesh, 8, d, f)
    jaxpr = jax.make_jaxpr(block.gradients(strategy, mesh))(*args).jaxpr
    (shard_map,) = jaxpr.eqns
    body = shard_map.params["jaxpr"]
    last = {}
    for i, eqn in enumerate(body.eqns):
        last |= {id(v): i for v in eqn.invars}
    last |= {id(v): len(body.eqns) for v in body.outvars}
    alive, most = {}, 0
    for i, eqn in enumerate(body.eqns):
        made = [v for v in eqn.outvars if v.aval.shape in ((d, f), (f, d))]
        if eqn.primitive.name == "dot_general":
            alive |= {id(v): last.get(id(v), i) for v in made}
        most = max(most, len(alive))
        alive = {v: end for v, end in alive.items() if end > i}
    return most


def test_zero2_never_holds_two_whole_gradients_and_zero1_does():
    assert whole_gradients_at_once(zero1) == 2
    assert whole_gradients_at_once(zero2) == 1
    assert whole_gradients_at_once(fsdp) == 1


# --- the same strategies in types ---------------------------------------------

TYPED = {"dp": dp, "fsdp": fsdp, "tp": tp, "fsdp_tp": fsdp_tp}


@pytest.mark.parametrize("regather", [False, True])
@pytest.mark.parametrize("name", TYPED)
def test_types_count_as_the_strategy_written_by_hand(name, regather):
    strategy, sizes = TYPED[name], (2**12, 2**10, 2**11)
    by_hand = count.collectives(
        block.gradients(
            strategy,
            chips(32, 16),
            keep_In=not regather,
            keep_weights=not regather,
        ),
        *block.arguments(strategy, chips(32, 16), *sizes),
    )
    mesh = chips(32, 16, EXPLICIT)
    with jax.sharding.use_abstract_mesh(mesh):
        derived = count.collectives(
            typed.gradients(getattr(typed, name), regather),
            *block.arguments(strategy, mesh, *sizes),
        )
    assert count.volumes(derived) == count.volumes(by_hand)
    for axes in "X", "Y":
        assert count.sent(derived, axes) == count.sent(by_hand, axes)


@pytest.mark.parametrize("regather", [False, True])
@pytest.mark.parametrize("name", TYPED)
def test_types_compute_what_one_chip_computes(name, regather):
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=EXPLICIT)
    shapes = block.arguments(TYPED[name], mesh, B, D, F, jnp.float32)
    args = [
        jax.device_put(x, shape.sharding)
        for x, shape in zip(integers(), shapes, strict=True)
    ]
    passes = typed.gradients(getattr(typed, name), regather)
    with jax.set_mesh(mesh):
        Out, *gradients = jax.jit(passes)(*args)
    dOut = np.asarray(Out) - integers()[1]
    assert_exact([(dOut**2).sum() / 2, *gradients])


# --- bytes held ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "whole_gradients", "GB"),
    [
        pytest.param(dp, True, 120, id="C3.7 DP"),
        pytest.param(zero1, True, 31.40625, id="C3.7 ZeRO-1"),
        pytest.param(zero2, False, 16.640625, id="C3.7 ZeRO-2"),
        pytest.param(fsdp, False, 1.875, id="C3.7 ZeRO-3"),
    ],
)
def test_bytes_held_are_those_of_the_zero_figure(strategy, whole_gradients, GB):
    # 16 bytes a weight, of a model of 7.5e9 weights on 64 devices. ZeRO-1
    # makes whole gradients before it cuts them, and ZeRO-2 does not.
    mesh, d, f = chips(64, 1), 2**12, 2**13
    _, _, *weights = block.arguments(strategy, mesh, 64, d, f)
    states = block.states(strategy, mesh, d, f)
    gradients = [pair[0] for pair in states]
    cut = 4 * d * f if whole_gradients else count.held(gradients) // 2
    each = count.held([weights, states]) + cut
    assert each * 7.5 / (2 * d * f) == GB


# --- bad input ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "sizes", "message"),
    [
        (dp, (6, 8, 8), r"In of shape \(6, 8\): 6 must be divisible by axis X"),
        (fsdp, (8, 6, 8), r"W_in of shape \(6, 8\): 6 .* axis X of size 4"),
        (tp, (8, 8, 9), r"W_in of shape \(8, 9\): 9 .* axis Y of size 2"),
        (dp, (0, 8, 8), "B must be a whole number of at least 1, got 0"),
        (dp, (8, 8.0, 8), "D must be a whole number"),
        (dp, (8, 8, True), "F must be a whole number"),
    ],
)
def test_sizes_that_do_not_fit_are_named(strategy, sizes, message):
    with pytest.raises(ValueError, match=message):
        block.arguments(strategy, chips(4, 2), *sizes)


def test_states_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"dW_out of shape \(6, 8\): 6 must"):
        block.states(zero1, chips(4, 2), 8, 6)
    with pytest.raises(ValueError, match="F must be a whole number"):
        block.states(zero1, chips(4, 2), 8, -1)


def test_a_mesh_without_the_axis_is_refused():
    mesh = AbstractMesh((8,), ("data",), (AxisType.Auto,))
    with pytest.raises(ValueError, match="mesh must have an axis X"):
        block.arguments(dp, mesh, 8, 8, 8)
