"""Every strategy: right numbers, and exactly the bytes that were predicted."""

import itertools
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

from shardlab import agreement, count, pipeline
from shardlab.count.walk import bodies
from shardlab.strategies import (
    adam,
    attention,
    block,
    dp,
    expert,
    fsdp,
    fsdp_tp,
    gather_attention,
    layer,
    megatron,
    one_chip,
    pods,
    ring_attention,
    sequence,
    tp,
    typed,
    ulysses,
    zero1,
    zero2,
    zigzag,
)
from shardlab.strategies.loss import squared_error
from shardlab.strategies.pipeline import gpipe
from tests.compiling import compiled
from tests.each import each

ALL = [one_chip, dp, zero1, zero2, fsdp, tp, megatron, fsdp_tp]
SHARDED = ALL[1:]
MESHES = [(4, 2), (2, 4), (8, 1), (1, 8)]
AUTO = (AxisType.Auto,) * 2
EXPLICIT = (AxisType.Explicit,) * 2


def slowly(*values):
    """One of several cases that are compiled: `make check` has the first."""
    return pytest.param(*values, marks=pytest.mark.slow)


def name_of(strategy):
    return strategy.__name__.rpartition(".")[2]


def devices(sizes):
    return jax.make_mesh(sizes, ("X", "Y"), axis_types=AUTO)


def chips(X, Y, kind=AUTO):
    return AbstractMesh((X, Y), ("X", "Y"), kind)


@pytest.fixture(scope="module", autouse=True)
def compile_quickly():
    """Each program runs once: compiling it well would take longer."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


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


@pytest.mark.parametrize("sizes", [(4, 2), *map(slowly, MESHES[1:])])
@each("strategy", ALL)
def test_loss_and_gradients_are_those_of_one_chip(strategy, sizes):
    passes = compiled(block.gradients(strategy, devices(sizes)))
    assert_exact(passes(*integers()))


CHOICES = {
    fsdp: [{"kept": True}],
    tp: [{"regather": True}],
    fsdp_tp: [
        {"kept": kept, "regather": regather}
        for kept in (False, True)
        for regather in (False, True)
    ],
}
CHOSEN = [(strategy, how) for strategy in CHOICES for how in CHOICES[strategy]]


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "how"), CHOSEN, ids=str)
def test_what_is_kept_changes_no_number(strategy, how):
    passes = block.gradients(strategy, devices((4, 2)), **how)
    assert_exact(compiled(passes)(*integers()))


@pytest.mark.parametrize(
    ("strategy", "how", "said"),
    [
        (dp, {"kept": True}, "options must be of none, got 'kept'"),
        (tp, {"kept": True}, "options must be of regather, got 'kept'"),
        (fsdp, {"regather": True}, "options must be of kept, got 'regather'"),
        (pods.across(dp), {"kept": True}, "options must be of none"),
    ],
)
def test_a_choice_that_there_is_not_is_refused(strategy, how, said):
    with pytest.raises(ValueError, match=said):
        block.gradients(strategy, chips(8, 1), **how)


def test_an_option_that_a_layer_does_not_take_is_refused():
    with pytest.raises(ValueError, match="options must be of C, k, got 'c'"):
        layer.gradients(expert, line(8), c=2)
    with pytest.raises(ValueError, match="options must be of none, got 'C'"):
        layer.forward(attention, line(1), C=2)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ALL, ids=name_of)
def test_the_forward_pass_is_that_of_one_chip(strategy):
    In, _, W_in, W_out = integers()
    Out = compiled(block.forward(strategy, devices((4, 2))))(In, W_in, W_out)
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
    Out, saved = one_chip.forward(In, W_in, W_out)
    part, dOut = squared_error(Out, Target)
    assert float(part) == pytest.approx(float(loss(In, W_in, W_out)), rel=1e-6)
    for found, wanted in zip(
        one_chip.backward(dOut, *saved), expected, strict=True
    ):
        # Sums of at most 40 float32 products, two deep: 40 eps of the scale.
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, atol=40 * 1.2e-7 * scale)


def trained(strategy, sizes):
    """One step from a state in mid training."""
    In, Target, W_in, W_out = integers()
    state_in = (W_in, 1e4 * normal(5, D, F), 1e8 * normal(6, D, F) ** 2 + 1e8)
    state_out = (W_out, 1e4 * normal(7, F, D), 1e8 * normal(8, F, D) ** 2 + 1e8)
    step = compiled(block.train(strategy, devices(sizes)))
    return step(In, Target, W_in, W_out, state_in, state_out)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", SHARDED, ids=name_of)
def test_a_training_step_is_that_of_one_chip(strategy):
    # The gradients are equal bit by bit; the update is elementwise and may be
    # compiled with fused multiply-adds here and without them there. Its terms
    # are as large as the largest results: two roundings of those.
    expected = jax.tree.leaves(trained(one_chip, (4, 2))[1:])
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


@each("strategy", ALL)
def test_results_keep_the_precision_of_the_weights(strategy):
    mesh = chips(2, 2)
    args = block.arguments(strategy, mesh, 8, 8, 8)
    states = block.states(strategy, mesh, 8, 8)
    loss, *rest = jax.eval_shape(block.train(strategy, mesh), *args, *states)
    dIn, W_in, W_out, state_in, _ = rest
    assert {x.dtype for x in (dIn, W_in, W_out)} == {jnp.dtype("bfloat16")}
    assert {x.dtype for x in (loss, *state_in)} == {jnp.dtype("float32")}


# --- bytes; test_agreement.py holds all of them against `cost` ----------------


def test_the_two_axes_of_fsdp_and_tp_carry_what_they_should():
    # T4.3: FSDP moves weights, cut by Y; TP moves activations, cut by X.
    b, d, f, x, y = 2**20, 8192, 28_672, 512, 8
    forward, backward, _ = agreement.counts("fsdp_tp", b, d, f, x, y)
    assert count.volume(forward, "X") == 4 * d * f // y
    assert count.volume(forward, "Y") == 4 * b * d // x
    assert count.volume(backward, "X") == 8 * d * f // y
    # and not 8BD/X, as the sources' table says
    assert count.volume(backward, "Y") == 4 * b * d // x


@each(
    ("name", "expected"),
    [
        pytest.param("dp", ["all_reduce X"] * 2, id="T1.3"),
        pytest.param(
            "fsdp",
            ["all_gather X"] * 2 + ["reduce_scatter X", "all_gather X"] * 2,
            id="T2.3",
        ),
        pytest.param(
            "tp, In gathered again",
            ["all_gather Y", "reduce_scatter Y"]
            + ["all_gather Y"] * 2
            + ["reduce_scatter Y"],
            id="T3.3",
        ),
        pytest.param(
            "fsdp_tp, In gathered again",
            ["all_gather Y", "all_gather X", "all_gather X"]
            + ["reduce_scatter Y", "all_gather Y"]
            + ["reduce_scatter X", "all_gather X", "all_gather Y"]
            + ["reduce_scatter X", "all_gather X", "reduce_scatter Y"],
            id="T4.2",
        ),
        pytest.param("megatron", ["all_reduce Y"] * 2, id="C4.14"),
        pytest.param(
            "zero1",
            ["reduce_scatter X"] * 2 + ["all_gather X"] * 2,
            id="C3.9",
        ),
    ],
)
def test_collectives_come_in_the_order_of_the_algorithm(name, expected):
    moved = itertools.chain(*agreement.counts(name, 16, 16, 16, 4, 2))
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
KNOWN = {
    "dp": (),
    "fsdp": ("kept",),
    "tp": ("regather",),
    "fsdp_tp": ("kept", "regather"),
}


@each("regather", [False, True])
@each("name", TYPED)
def test_types_count_as_the_strategy_written_by_hand(name, regather):
    strategy, sizes = TYPED[name], (2**12, 2**10, 2**11)
    again = {"regather": regather, "kept": not regather}
    by_hand = count.collectives(
        block.gradients(
            strategy,
            chips(32, 16),
            **{
                choice: value
                for choice, value in again.items()
                if choice in KNOWN[name]
            },
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


@pytest.mark.slow
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
        Out, *gradients = compiled(passes)(*args)
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


@each(
    ("strategy", "sizes", "message"),
    [
        (dp, (6, 8, 8), r"In of shape \(6, 8\): 6 must be divisible by axis X"),
        (fsdp, (8, 6, 8), r"W_in of shape \(6, 8\): 6 .* axis X of size 4"),
        (tp, (8, 8, 9), r"W_in of shape \(8, 9\): 9 .* axis Y of size 2"),
        (dp, (0, 8, 8), "B must be a"),
        (dp, (8, 8.0, 8), "D must be a"),
        (dp, (8, 8, True), "F must be a"),
    ],
)
def test_sizes_that_do_not_fit_are_named(strategy, sizes, message):
    with pytest.raises(ValueError, match=message):
        block.arguments(strategy, chips(4, 2), *sizes)


def test_states_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"dW_out of shape \(6, 8\): 6 must"):
        block.states(zero1, chips(4, 2), 8, 6)
    with pytest.raises(ValueError, match="F must be a"):
        block.states(zero1, chips(4, 2), 8, -1)


def test_a_mesh_without_the_axis_is_refused():
    mesh = AbstractMesh((8,), ("data",), (AxisType.Auto,))
    with pytest.raises(ValueError, match="mesh must have an axis X"):
        block.arguments(dp, mesh, 8, 8, 8)


# --- context, experts, sequence, stages ---------------------------------------


def line(size, name="Z"):
    """A mesh of one axis of this many simulated devices."""
    devices = jax.devices()[:size]
    return jax.make_mesh((size,), (name,), axis_types=AUTO[:1], devices=devices)


def assert_close(got, expected):
    """Loss parts and gradients, against JAX's own on one device.

    The longest sum has 64 float32 terms; the results are at most sixteen such
    sums deep, of random signs. 64 eps of the largest value of each array.
    """
    (parts, *gradients), (loss, wanted) = got, expected
    np.testing.assert_allclose(np.sum(parts), loss, rtol=64 * 1.2e-7)
    for found, grad in zip(gradients, wanted, strict=True):
        scale = np.abs(grad).max()
        np.testing.assert_allclose(
            found, grad, rtol=0, atol=64 * 1.2e-7 * scale
        )


T, G, R, d = 32, 8, 2, 4
CONTEXT = [ring_attention, gather_attention, ulysses]


@cache
def sequence_of_tokens():
    """Target, Q, K, V of one sequence, and loss and gradients of one chip."""
    Target, Q = normal(11, T, G, R, d), normal(12, T, G, R, d)
    K, V = normal(13, T, G, d), normal(14, T, G, d)

    def loss(Q, K, V):
        K, V = (jnp.repeat(x, R, axis=1) for x in (K, V))  # a head for each
        q = Q.reshape(T, G * R, d)
        S = jnp.einsum("thd,shd->hts", q, K) / np.sqrt(d)
        S = jnp.where(np.tril(np.ones((T, T), bool)), S, -np.inf)
        Out = jnp.einsum("hts,shd->thd", jax.nn.softmax(S, axis=-1), V)
        return ((Out.reshape(T, G, R, d) - Target) ** 2).sum() / 2

    expected = jax.value_and_grad(loss, argnums=(0, 1, 2))(Q, K, V)
    return (Target, Q, K, V), expected


@pytest.mark.slow
def test_attention_of_one_chip_is_the_textbooks():
    args, expected = sequence_of_tokens()
    passes = layer.gradients(attention, line(1))
    assert_close(compiled(passes)(*args), expected)


@pytest.mark.parametrize("size", [8, slowly(1)])
@pytest.mark.parametrize("strategy", CONTEXT, ids=name_of)
def test_attention_over_cut_tokens_is_that_of_one_chip(strategy, size):
    args, expected = sequence_of_tokens()
    passes = layer.gradients(strategy, line(size))
    assert_close(compiled(passes)(*args), expected)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", CONTEXT, ids=name_of)
def test_attention_beside_another_axis(strategy):
    args, expected = sequence_of_tokens()
    mesh = jax.make_mesh((2, 4), ("X", "Z"), axis_types=AUTO)
    assert_close(compiled(layer.gradients(strategy, mesh))(*args), expected)


@pytest.mark.parametrize("size", [8, *map(slowly, (4, 1))])
def test_zigzag_is_attention_of_one_chip_in_another_order(size):
    args, (loss, gradients) = sequence_of_tokens()
    order = zigzag.order(T, size)
    passes = layer.gradients(zigzag, line(size))
    got = compiled(passes)(*(x[order] for x in args))
    assert_close(got, (loss, [g[order] for g in gradients]))


def test_every_chip_has_a_piece_and_its_mirror_image():
    assert zigzag.order(8, 2).tolist() == [0, 1, 6, 7, 2, 3, 4, 5]
    for N in (1, 3, 5):
        T = 6 * N
        order = zigzag.order(T, N)
        assert sorted(order) == list(range(T))
        # A token sees as many as its place says: every chip has as much work.
        work = (order + 1).reshape(N, -1).sum(1)
        assert len(set(work)) == 1


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        pytest.param((12, 4), "T must be a multiple of 2 N = 8, got 12"),
        pytest.param((0, 4), "T must be"),
        pytest.param((8, 0), "N must be"),
        pytest.param((8.5, 2), "T must be a"),
    ],
)
def test_zigzag_refuses_what_cannot_be_dealt(sizes, message):
    with pytest.raises(ValueError, match=message):
        zigzag.order(*sizes)


@pytest.mark.parametrize("N", [2, *map(slowly, (1, 4, 8))])
def test_zigzag_multiplies_half_of_what_the_ring_does(N):
    mesh = AbstractMesh((N,), ("Z",), AUTO[:1])
    each = {"Q": (64 * N, 3, 2, 8), "K": (64 * N, 3, 8), "V": (64 * N, 3, 8)}
    flops = {}
    for strategy in (ring_attention, zigzag):
        Q, K, V = layer.shapes(strategy, mesh, **each)
        flops[strategy] = count.flops(layer.forward(strategy, mesh), Q, K, V)
        passes = layer.gradients(strategy, mesh)
        moved = count.collectives(passes, Q, Q, K, V)
        assert count.sent(moved) == 6 * (N - 1) * 64 * 3 * 8 * 2
    # Blocks of (t/2)^2: 4 a turn, or 2, and 3 at the first one.
    ratio = Fraction(flops[zigzag], flops[ring_attention])
    assert ratio == Fraction(2 * N + 1, 4 * N)


@pytest.mark.parametrize("groups", [2, *map(slowly, (1, 4))])
def test_ulysses_shares_heads_of_keys_among_chips(groups):
    heads, one = 8, ulysses_of(groups, 8, attention, 1)
    got = ulysses_of(groups, heads, ulysses, 8)
    assert_close(got, (one[0].sum(), one[1:]))


def ulysses_of(groups, heads, strategy, size):
    """Parts of the loss and gradients of attention with grouped heads."""
    shape = (T, groups, heads // groups, d)
    args = [normal(51, *shape), normal(52, *shape)]
    args += [normal(53, T, groups, d), normal(54, T, groups, d)]
    return compiled(layer.gradients(strategy, line(size)))(*args)


def test_copies_of_keys_travel_as_often_as_they_are_needed():
    mesh = AbstractMesh((8,), ("Z",), AUTO[:1])
    each = {"Q": (64, 2, 8, 4), "K": (64, 2, 4), "V": (64, 2, 4)}
    Q, K, V = layer.shapes(ulysses, mesh, **each)
    both = count.collectives(layer.gradients(ulysses, mesh), Q, Q, K, V)
    sizes = [4 * c.volume for c in both]
    of_Q, of_K = 64 * 16 * 4 * 2, 64 * 8 * 4 * 2  # 8 heads of keys, not 2
    assert sizes == [of_Q, of_K, of_K, of_Q, of_Q, of_Q, of_K, of_K]


@pytest.mark.slow
def test_a_block_of_the_future_counts_for_nothing():
    # All scores masked: no NaN, and merged with anything it is not there.
    (_, Q, K, V), _ = sequence_of_tokens()

    @compiled
    def both(Q, K, V):
        now = attention.attend(Q, K, V)
        merged = ring_attention.merge(*now, *attention.attend(Q, K, V, T))
        return now, merged, attention.derivatives(Q, Q, K, V, *now, T)

    now, merged, gradients = both(Q, K, V)
    np.testing.assert_array_equal(merged[0], now[0])
    np.testing.assert_array_equal(merged[1], now[1])
    assert all((np.asarray(g) == 0).all() for g in gradients)


@pytest.mark.slow
def test_attention_to_two_parts_is_attention_to_both():
    (_, Q, K, V), _ = sequence_of_tokens()
    cut = 13

    @compiled
    def in_two(Q, K, V):
        first = attention.attend(Q, K[:cut], V[:cut])
        rest = attention.attend(Q, K[cut:], V[cut:], ahead=cut)
        return ring_attention.merge(*first, *rest), attention.attend(Q, K, V)

    for found, wanted in zip(*in_two(Q, K, V), strict=True):
        np.testing.assert_allclose(found, wanted, atol=64 * 1.2e-7)


def largest(strategy, tokens, N):
    """Elements of the largest array that a device makes in both passes."""
    mesh = AbstractMesh((N,), ("Z",), AUTO[:1])
    each = {"Q": (tokens, N, 1, 2), "K": (tokens, N, 2), "V": (tokens, N, 2)}
    Q, K, V = layer.shapes(strategy, mesh, **each)
    passes = layer.gradients(strategy, mesh)
    body = jax.make_jaxpr(passes)(Q, Q, K, V).eqns[0].params["jaxpr"]
    return max(v.aval.size for eqn in everything(body) for v in eqn.outvars)


def everything(jaxpr):
    """The equations of a jaxpr and of all that are in it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for body in bodies(eqn):
            yield from everything(body)


@pytest.mark.parametrize("strategy", [ring_attention, zigzag], ids=name_of)
def test_no_product_of_a_turn_waits_for_its_hop(strategy):
    mesh = AbstractMesh((4,), ("Z",), AUTO[:1])
    each = {"Q": (64, 2, 2, 4), "K": (64, 2, 4), "V": (64, 2, 4)}
    Q, K, V = layer.shapes(strategy, mesh, **each)
    whole = jax.make_jaxpr(layer.forward(strategy, mesh))(Q, K, V).jaxpr
    turns = [e for e in everything(whole) if e.primitive.name == "scan"]
    (turn,) = (e.params["jaxpr"].jaxpr for e in turns)
    hops = [e for e in turn.eqns if e.primitive.name == "ppermute"]
    assert len(hops) == 2
    assert {v for e in hops for v in e.invars} <= set(turn.invars)
    come, used = {v for e in hops for v in e.outvars}, set()
    for eqn in turn.eqns:
        used |= {v for v in eqn.invars if not hasattr(v, "val")}
    assert not come & used


def test_only_the_ring_never_sees_a_whole_row_of_scores():
    # Scores of T/N queries against T/N keys in all N groups, and not against T.
    tokens, N = 256, 8
    assert largest(ring_attention, tokens, N) == tokens**2 // N
    assert largest(gather_attention, tokens, N) == tokens**2
    assert largest(ulysses, tokens, N) == tokens**2


@pytest.mark.parametrize("N", [2, 8, 512])
def test_the_ring_makes_one_hop_less_than_it_has_chips(N):
    # C6.1: N - 1 hops forward, of K and V; backward dK and dV come home too.
    mesh = AbstractMesh((4096 // N, N), ("X", "Z"), AUTO)
    each = {"Q": (512, 2, 3, 8), "K": (512, 2, 8), "V": (512, 2, 8)}
    Q, K, V = layer.shapes(ring_attention, mesh, **each)
    forward = count.collectives(layer.forward(ring_attention, mesh), Q, K, V)
    both = count.collectives(layer.gradients(ring_attention, mesh), Q, Q, K, V)
    block_of_K = 512 // N * 2 * 8 * 2
    hops = [(c.kind, c.times, c.sent) for c in both]
    assert hops == [("permute", N - 1, block_of_K)] * 6
    assert both[:2] == forward
    for chip in range(N):
        to_next = count.between(both, chip, (chip + 1) % N, "Z")
        assert to_next == count.sent(both) == 6 * (N - 1) * block_of_K


# C6.2
TOKENS, EXPERTS = 32, 16


@cache
def tokens_and_experts():
    """Target, In, W_router, W_in, W_out; two experts a device."""
    shapes = [(TOKENS, 8), (TOKENS, 8), (8, EXPERTS)]
    shapes += [(EXPERTS, 8, 12), (EXPERTS, 12, 8)]
    return tuple(normal(20 + i, *shape) for i, shape in enumerate(shapes))


def who_is_kept(In, W_router, C, k, groups):
    """1 where an expert takes a token: queues in plain Python, one a group."""
    scores = np.asarray(In) @ np.asarray(W_router)
    best = np.argsort(-scores, axis=1, kind="stable")
    kept = np.zeros(scores.shape, np.float32)
    each = len(scores) // groups
    for start in range(0, len(scores), each):
        free = [C] * scores.shape[1]
        for choice in range(k):
            for token in range(start, start + each):
                expert_chosen = best[token, choice]
                if free[expert_chosen]:
                    free[expert_chosen] -= 1
                    kept[token, expert_chosen] = 1
    return kept


@pytest.mark.parametrize(
    ("C", "k", "size"),
    [(1, 2, 8), *(slowly(*x) for x in ((2, 3, 4), (8, EXPERTS, 4), (1, 1, 1)))],
)
def test_experts_compute_what_every_token_would_by_itself(C, k, size):
    Target, In, *weights = tokens_and_experts()
    kept = who_is_kept(In, weights[0], C, k, groups=size)

    def loss(In, W_router, W_in, W_out):
        chances = jax.nn.softmax(In @ W_router) * kept
        each = jnp.einsum("bd,edf,efm->bem", In, W_in, W_out)
        Out = jnp.einsum("be,bem->bm", chances, each)
        return ((Out - Target) ** 2).sum() / 2

    expected = jax.value_and_grad(loss, argnums=range(4))(In, *weights)
    passes = layer.gradients(expert, line(size), C=C, k=k)
    assert_close(compiled(passes)(Target, In, *weights), expected)
    dropped = k * TOKENS - kept.sum()
    assert (dropped > 0) == (C < 4)


@pytest.mark.slow
def test_a_dropped_token_gets_nothing():
    Target, In, W_router, *weights = tokens_and_experts()
    In = np.ones_like(In)  # all alike: all choose the same expert
    forward = compiled(layer.forward(expert, line(8), C=1, k=1))
    Out = np.asarray(forward(In, W_router, *weights)).reshape(8, 4, 8)
    assert (Out[:, 0] != 0).all()
    assert (Out[:, 1:] == 0).all()


def test_slots_are_sent_whether_they_are_full_or_not():
    # An array has its shape: capacity is what moves, and not the tokens.
    mesh = AbstractMesh((512, 8), ("X", "Z"), AUTO)
    weights = {
        "W_router": (64, 16),
        "W_in": (16, 64, 32),
        "W_out": (16, 32, 64),
    }
    args = layer.shapes(expert, mesh, In=(4096, 64), **weights)
    for C, k in (32, 1), (64, 2), (40, 1):
        forward = layer.forward(expert, mesh, C=C, k=k)
        moved = count.collectives(forward, *args)
        slots = 2 * 8 * 16 * C * 64  # bytes of all chips of a group
        assert count.volumes(moved) == {("all_to_all", "Z"): 2 * slots / 4}
        assert count.sent(moved) == 2 * slots / 8 * 7 / 8


@pytest.mark.parametrize(
    ("size", "regather"), [(8, False), slowly(4, True), slowly(1, False)]
)
def test_a_norm_over_cut_tokens_is_that_of_one_chip(size, regather):
    # C5.8
    Target, In, gain = normal(31, B, D), normal(32, B, D), normal(33, D)
    W_in, W_out = normal(34, D, F) / 5, normal(35, F, D) / 6

    def loss(In, gain, W_in, W_out):
        Normed = In / jnp.sqrt((In**2).mean(1, keepdims=True) + 1e-6) * gain
        return ((In + Normed @ W_in @ W_out - Target) ** 2).sum() / 2

    args = In, gain, W_in, W_out
    expected = jax.value_and_grad(loss, argnums=range(4))(*args)
    passes = layer.gradients(sequence, line(size, "Y"), regather=regather)
    assert_close(compiled(passes)(Target, *args), expected)


def test_a_cut_norm_moves_what_tensor_parallelism_moves_and_one_gain():
    # C5.8: same bytes as the AllReduces, but for the gradient of the gain.
    sizes = {"B": 2**14, "D": 2**10, "F": 2**12, "X": 512, "Y": 8}
    for again in "", ", In gathered again":
        norm, bare = (
            [count.volume(c) for c in agreement.counts(name + again, **sizes)]
            for name in ("sequence", "tp")
        )
        assert norm == [bare[0], bare[1] + 2 * 2 * 2**10, 0]


def stages(p, m, b=3):
    """Target, In, W_in, W_out of p stages and m microbatches of b tokens."""
    Target, In = normal(41, m, b, 8), normal(42, m, b, 8)
    return Target, In, normal(43, p, 8, 12) / 3, normal(44, p, 12, 8) / 3


def on_stage(x, stage, p):
    """The array of a batch on one stage, and zeros on the others."""
    spread = np.zeros((p, *x.shape), np.float32)
    spread[stage] = x
    return spread


@pytest.mark.parametrize(
    ("p", "m"), [(2, 4), slowly(8, 3), slowly(1, 2)], ids=str
)
def test_a_pipeline_computes_what_its_stages_do_one_after_the_other(p, m):
    Target, In, W_in, W_out = stages(p, m)

    def loss(In, W_in, W_out):
        for stage in range(p):
            In = In @ W_in[stage] @ W_out[stage]
        return ((In - Target) ** 2).sum() / 2

    expected = jax.value_and_grad(loss, argnums=range(3))(In, W_in, W_out)
    passes = compiled(layer.gradients(gpipe, line(p)))
    spread = on_stage(Target, p - 1, p), on_stage(In, 0, p)
    parts, dIn, *dW = passes(*spread, W_in, W_out)
    assert_close((parts, dIn[0], *dW), expected)
    assert (np.asarray(parts)[:-1] == 0).all()
    assert (np.asarray(dIn)[1:] == 0).all()


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_every_microbatch_crosses_every_boundary_once_each_way(p, m, b):
    mesh = AbstractMesh((2, p), ("X", "Z"), AUTO)
    weights = {"W_in": (p, 8, 12), "W_out": (p, 12, 8)}
    args = layer.shapes(gpipe, mesh, In=(p, m, b, 8), **weights)
    forward = count.collectives(layer.forward(gpipe, mesh), *args)
    both = count.collectives(layer.gradients(gpipe, mesh), args[0], *args)
    backward = both[len(forward) :]
    for i in range(p):
        for j in range(p):
            there = count.between(forward, i, j, "Z")
            assert there == (j == i + 1) * m * b * 8 * 2
            assert count.between(backward, j, i, "Z") == there
    # m + p - 2 hops of a tick: what is more than m is the bubble's.
    ticks = m + p - 2 if p > 1 else 0
    assert [c.times for c in forward] == [1] * ticks == [1] * len(backward)


@pytest.mark.parametrize(
    ("p", "m"), [(4, 6), (8, 32), (3, 1)], ids=lambda n: str(n)
)
def test_stages_are_busy_when_the_schedule_says(p, m):
    events = [e for e in pipeline.gpipe(p, m) if e.kind == "forward"]
    mesh = AbstractMesh((p,), ("Z",), AUTO[:1])

    def busy(x):
        for tick in range(m + p - 1):
            scheduled = {e.stage for e in events if e.start == tick}
            assert {*gpipe.busy(tick, m)} == scheduled
        return x

    spec = jax.P("Z")
    spread = jax.shard_map(busy, mesh=mesh, in_specs=spec, out_specs=spec)
    jax.make_jaxpr(spread)(jax.ShapeDtypeStruct((p,), jnp.float32))


SHAPES = {"Q": (64, 8, 2, 4), "K": (64, 8, 4), "V": (64, 8, 4)}


@pytest.mark.parametrize("strategy", CONTEXT, ids=name_of)
def test_results_of_attention_keep_its_precision(strategy):
    mesh = AbstractMesh((8,), ("Z",), AUTO[:1])
    Q, K, V = layer.shapes(strategy, mesh, **SHAPES)
    loss, *rest = jax.eval_shape(layer.gradients(strategy, mesh), Q, Q, K, V)
    assert loss.dtype == jnp.float32
    assert [(x.shape, x.dtype) for x in rest] == [
        (x.shape, jnp.bfloat16) for x in (Q, K, V)
    ]


@each(
    ("change", "message"),
    [
        pytest.param({"K": None}, "sizes must be of Q, K, V", id="missing"),
        pytest.param({"W": (2, 2)}, "W is no argument", id="unknown"),
        pytest.param(
            {"Q": (60, 8, 2, 4)}, "60 must be divisible by axis Z", id="uneven"
        ),
        pytest.param({"Q": (True, 8, 2, 4)}, "Q must be a", id="bool"),
        pytest.param({"Q": (64.0, 8, 2, 4)}, "Q must be a", id="float"),
        pytest.param({"Q": (-8, 8, 2, 4)}, "Q must be a", id="negative"),
        pytest.param({"Q": "wide"}, "Q must be a tuple", id="text"),
        pytest.param({"Q": 64}, "Q must be a tuple", id="a number"),
        pytest.param({"Q": ()}, "Q must have at least 1 dimension", id="none"),
    ],
)
def test_shapes_refuse_what_does_not_fit(change, message):
    mesh = AbstractMesh((8,), ("Z",), AUTO[:1])
    sizes = {name: s for name, s in (SHAPES | change).items() if s is not None}
    with pytest.raises(ValueError, match=message):
        layer.shapes(ring_attention, mesh, **sizes)


def test_shapes_need_the_axis_that_a_strategy_names():
    with pytest.raises(ValueError, match="mesh must have an axis Z"):
        layer.shapes(ulysses, chips(4, 2), **SHAPES)
