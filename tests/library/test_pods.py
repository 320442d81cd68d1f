"""Pods: right numbers under every strategy inside, and bytes as predicted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as Spec

from shardlab import cost, count, hw
from shardlab.strategies import (
    block,
    dp,
    fsdp,
    fsdp_tp,
    megatron,
    one_chip,
    pods,
    tp,
    typed,
    zero1,
    zero2,
)
from tests.compiling import compiled
from tests.each import each

INSIDE = {
    "dp": dp,
    "zero1": zero1,
    "zero2": zero2,
    "fsdp": fsdp,
    "tp": tp,
    "megatron": megatron,
    "fsdp_tp": fsdp_tp,
}
SIZES = [(2, 2, 2), (4, 2, 1), (2, 1, 4), (1, 4, 2), (8, 1, 1)]
B, D, F = 32, 24, 40


def devices(sizes):
    kinds = (AxisType.Auto,) * 3
    return jax.make_mesh(sizes, ("P", "X", "Y"), axis_types=kinds)


def chips(sizes):
    return AbstractMesh(sizes, ("P", "X", "Y"), (AxisType.Auto,) * 3)


@pytest.fixture(scope="module", autouse=True)
def compile_quickly():
    """Each program runs once: compiling it well would take longer."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def integers():
    """In, Target, W_in and W_out, so small that float32 sums are exact."""
    draw = np.random.default_rng(10).integers
    shapes = [(B, D), (B, D), (D, F), (F, D)]
    return [draw(-2, 3, shape).astype(np.float32) for shape in shapes]


def expected():
    """Loss and gradients of one chip, by NumPy."""
    In, Target, W_in, W_out = integers()
    dOut = In @ W_in @ W_out - Target
    dTmp = dOut @ W_out.T
    loss = (dOut.astype(np.float64) ** 2).sum() / 2
    return loss, dTmp @ W_in.T, In.T @ dTmp, (In @ W_in).T @ dOut


@each("sizes", [(2, 2, 2), (4, 2, 1)])
@each("name", INSIDE)
def test_loss_and_gradients_are_those_of_one_chip(name, sizes):
    strategy = pods.across(INSIDE[name])
    passes = compiled(block.gradients(strategy, devices(sizes)))
    loss, *gradients = passes(*integers())
    wanted, *exact = expected()
    assert np.asarray(loss, np.float64).sum() == wanted
    for one, other in zip(gradients, exact, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_step_makes_the_same_weights_in_every_pod():
    draw = np.random.default_rng(11).normal
    In, Target, W_in, W_out = integers()
    # In mid training: from zero moments Adam looks at signs alone.
    moments = [
        (W, 1e3 * draw(size=W.shape), 1e6 * draw(size=W.shape) ** 2 + 1e6)
        for W in (W_in, W_out)
    ]
    states = jax.tree.map(np.float32, moments)
    args = (In, Target, W_in, W_out, *states)
    one = compiled(block.train(one_chip, devices((8, 1, 1))))(*args)
    step = block.train(pods.across(fsdp), devices((2, 4, 1)))
    found = compiled(step)(*args)
    for new, wanted in zip(
        jax.tree.leaves(found[1:]), jax.tree.leaves(one[1:]), strict=True
    ):
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(new, wanted, rtol=0, atol=2.4e-7 * scale)
    W_in = found[2]  # W_in[D_X, F]: each piece is in both pods
    pieces = {}
    for shard in W_in.addressable_shards:
        pieces.setdefault(str(shard.index), []).append(np.asarray(shard.data))
    assert all(len(both) == 2 for both in pieces.values())
    assert all(np.array_equal(*both) for both in pieces.values())


def counted(name, sizes):
    """Records of both passes, and of the update."""
    strategy, mesh = pods.across(INSIDE[name]), chips(sizes)
    passes = block.gradients(strategy, mesh)
    args = block.arguments(strategy, mesh, 64, 32, 128)
    both = count.collectives(passes, *args)
    _, _, *gradients = jax.eval_shape(passes, *args)
    states = block.states(strategy, mesh, 32, 128)
    update = block.updates(strategy, mesh)
    return both, count.collectives(update, *gradients, *states)


@each("sizes", [(2, 2, 2), (4, 8, 2), (16, 4, 4)])
@each("name", INSIDE)
def test_what_crosses_is_the_gradient_of_one_chip(name, sizes):  # T6.5, T6.6
    _, X, Y = sizes
    cut = {"dp": 1, "tp": Y, "megatron": Y, "fsdp_tp": X * Y}.get(name, X)
    both, update = counted(name, sizes)
    predicted = cost.dp_volume(32, 128)
    assert count.volume(both, "P") == predicted.backward // cut
    assert count.volume(update, "P") == 0  # gradients, and no states: ET-26
    strategy = "tp" if name == "megatron" else name
    n = {"X": X, "Y": Y}
    n |= {"tp": {"X": 1}, "fsdp_tp": {}}.get(strategy, {"Y": 1})
    inside = cost.layer_volume(strategy, 64 / sizes[0], 32, 128, **n)
    for axis, step in inside.items():
        moved = count.volume(both, axis) + count.volume(update, axis)
        assert moved == step.total


@pytest.mark.parametrize("sizes", [(2, 2, 2), (4, 8, 2)], ids=str)
def test_the_time_to_cross_is_that_of_the_counted_bytes(sizes):  # N14
    pods_, X, Y = sizes
    both, _ = counted("fsdp_tp", sizes)
    crossing = cost.t_cross_pod(64, 32, 128, X * Y, pods_, hw.V5P, exact=True)
    assert crossing.comm == pytest.approx(
        count.sent(both, "P") / hw.V5P.dcn_bw, rel=1e-12
    )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_cut_cross_gather_is_an_all_reduce(sizes):
    n_pods, X, _ = sizes
    mesh = devices(sizes)
    draw = np.random.default_rng(12)
    terms = draw.integers(-9, 10, (n_pods * X, 8, 3)).astype(np.float32)
    program = jax.shard_map(
        lambda term: pods.all_reduce(term[0]),
        mesh=mesh,
        in_specs=P(("P", "X")),
        out_specs=P(),
    )
    np.testing.assert_array_equal(compiled(program)(terms), terms.sum(0))
    moved = count.collectives(program, terms)
    assert count.volume(moved, "P") == (2 * 4 * 24 // X if n_pods > 1 else 0)
    assert count.volume(moved, "X") == (2 * 4 * 24 if X > 1 else 0)


@pytest.mark.parametrize(
    ("inside", "In", "loss"),
    [
        (dp, Spec(("P", "X"), None), Spec(("P", "X"))),
        (tp, Spec(("P",), "Y"), Spec(("P", "Y"))),
        (fsdp_tp, Spec(("P", "X"), "Y"), Spec(("P", "X", "Y"))),
        (one_chip, Spec(("P",), None), Spec(("P",))),
    ],
    ids=["dp", "tp", "fsdp_tp", "none"],
)
def test_only_tokens_are_cut_by_pods(inside, In, loss):
    layout = pods.cut_by_pods(inside.LAYOUT)
    assert (layout["In"], layout["loss"]) == (In, loss)
    rest = {n: s for n, s in layout.items() if n not in ("In", "loss")}
    assert rest.items() <= inside.LAYOUT.items()


# ---- the same in types -------------------------------------------------------


def laid(X, n_pods):
    """Arguments with explicit types on a mesh of pods."""
    kinds = (AxisType.Explicit,) * 2
    mesh = jax.make_mesh((n_pods, X), ("P", "X"), axis_types=kinds)
    In, Target, W_in, W_out = integers()
    with jax.set_mesh(mesh):
        specs = [P(("P", "X"), None)] * 2 + [P("X", None), P(None, "X")]
        args = [
            jax.device_put(x, jax.NamedSharding(mesh, spec))
            for x, spec in zip((In, Target, W_in, W_out), specs, strict=True)
        ]
    return mesh, args


@pytest.mark.parametrize(("n_pods", "X"), [(2, 4), (4, 2)])
def test_types_give_the_same_numbers_and_bytes(n_pods, X):
    mesh, args = laid(X, n_pods)
    passes = typed.gradients(typed.pods, regather=True)
    with jax.set_mesh(mesh):
        _, *found = compiled(passes)(*args)
        moved = count.collectives(passes, *args)
        byhand = count.collectives(
            block.gradients(pods.across(fsdp), mesh), *args
        )
    for one, other in zip(found, expected()[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    for axis in "PX":
        assert count.volume(moved, axis) == count.volume(byhand, axis)
    assert count.volume(moved, "P") == 2 * 2 * 4 * D * F // X


def test_the_order_of_the_sums_must_be_said():
    mesh, args = laid(4, 2)

    def at_once(In, W_in, W_out):
        whole = P(None, None, reduced={"P", "X"})
        return In @ jax.reshard(W_in, whole) @ jax.reshard(W_out, whole)

    with jax.set_mesh(mesh):
        with pytest.raises(ValueError, match="their order decides the bytes"):
            count.collectives(typed.gradients(at_once), *args)
        with pytest.raises(Exception, match="unreduced axes should be equal"):
            jax.make_jaxpr(typed.gradients(typed.fsdp))(*args)


def test_results_are_float32_where_weights_are():
    mesh = chips((2, 2, 2))
    strategy = pods.across(fsdp_tp)
    args = block.arguments(strategy, mesh, 8, 8, 8, jnp.float32)
    shapes = jax.eval_shape(block.gradients(strategy, mesh), *args)
    assert [x.shape for x in shapes] == [(8,), (8, 8), (8, 8), (8, 8)]
