"""Programs of every combination of axes: the same count on every level."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import P
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count
from shardlab.inspection import advise, inspect_step

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


def mesh_of(sizes=(8,), kinds=(AUTO,)):
    names = ("X", "Y")[: len(sizes)]
    return jax.make_mesh(sizes, names, axis_types=kinds)


def lies(mesh, shape, *axes, dtype=jnp.float32):
    sharding = NamedSharding(mesh, P(*axes))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def abstract(*sizes):
    names = ("X", "Y")[: len(sizes)]
    return AbstractMesh(sizes, names, (AUTO,) * len(sizes))


# ---- FLOPs of one device -----------------------------------------------------

B, D, F = 64, 32, 48
WHOLE = 2 * B * D * F


def relu(W, In):
    return jax.nn.relu(In @ W)


def in_vmap(W, In):
    batched = jax.vmap(relu, (None, 0), spmd_axis_name="X")
    return batched(W, In.reshape(8, -1, D))


def beside_a_map(W, In):
    mesh = mesh_of()
    double = jax.shard_map(
        lambda x: 2 * x, mesh=mesh, in_specs=P("X"), out_specs=P("X")
    )
    return double(In @ W)


@pytest.mark.parametrize("f", [relu, in_vmap, beside_a_map])
def test_what_auto_axes_cut_is_counted_for_one_device(f):
    mesh = mesh_of()
    args = lies(mesh, (D, F)), lies(mesh, (B, D), "X")
    by_hand = WHOLE // 8
    assert inspect_step(f, *args).flops() == by_hand
    made = inspect_step(f, *args, level="partitioner")
    assert made.flops() == by_hand
    assert not made.moved


@pytest.mark.parametrize(
    ("kinds", "manual"),
    [
        ((AUTO, AUTO), {"X", "Y"}),
        ((AUTO, AUTO), {"X"}),
        ((AUTO, AUTO), {"Y"}),
        ((AUTO, AUTO), set()),
        ((EXPLICIT, EXPLICIT), {"X", "Y"}),
        ((EXPLICIT, EXPLICIT), {"X"}),
        ((EXPLICIT, EXPLICIT), set()),
    ],
)
def test_manual_explicit_and_auto_axes_share_alike(kinds, manual):
    mesh = mesh_of((4, 2), kinds)
    kept = [a if a in manual else None for a in ("X", "Y")]
    f = relu
    if manual:
        f = jax.shard_map(
            relu,
            mesh=mesh,
            in_specs=(P(None, kept[1]), P(kept[0])),
            out_specs=P(*kept),
            axis_names=manual,
        )
    args = lies(mesh, (D, F), None, "Y"), lies(mesh, (B, D), "X")
    with jax.set_mesh(mesh):
        found = [
            inspect_step(f, *args, level=level)
            for level in ("program", "partitioner")
        ]
    assert [r.flops() for r in found] == [WHOLE // 8] * 2
    assert not any(gap.startswith("FLOPs") for r in found for gap in r.gaps)


def shared_or_not(W, M, In):
    """W @ M is added to what is cut, so the compiler may cut it, too."""
    return In + W @ M


def test_where_the_compiler_decides_who_multiplies_it_is_asked():
    mesh = mesh_of()
    args = lies(mesh, (B, D)), lies(mesh, (D, F)), lies(mesh, (B, F), "X")
    report = inspect_step(shared_or_not, *args)
    assert report.level == "partitioner"
    assert "left to the compiler" in report.why
    assert report.flops() == WHOLE // 8  # XLA 0.10.2 lets each do its rows


def test_where_no_compiler_can_be_asked_it_is_a_gap():
    mesh = abstract(8)
    args = lies(mesh, (B, D)), lies(mesh, (D, F)), lies(mesh, (B, F), "X")
    report = inspect_step(shared_or_not, *args)
    assert (report.level, report.flops()) == ("program", 0)
    assert "whether X shares them is left to the compiler" in report.gaps[0]


# ---- what the compiler for CPUs rewrites -------------------------------------

E, T = 16, 512


def dropless(W, In, sizes):
    return jax.lax.ragged_dot(In, W, sizes)


def dropless_gradient(W, In, sizes):
    loss = lambda W, In: (dropless(W, In, sizes) ** 2).sum()  # noqa: E731
    return jax.grad(loss, (0, 1))(W, In)


@pytest.mark.parametrize(
    ("f", "times"), [(dropless, 1), (dropless_gradient, 3)]
)
def test_a_token_meets_one_expert_and_not_all(f, times):
    mesh = mesh_of()
    args = lies(mesh, (E, D, F), None, None, "X"), lies(mesh, (T, D))
    report = inspect_step(f, *args, lies(mesh, (E,), dtype=jnp.int32))
    assert report.level == "partitioner"
    assert report.flops() == times * 2 * T * D * F // 8
    again = inspect_step(f, *args, lies(mesh, (E,), dtype=jnp.int32))
    assert again.flops() == report.flops()  # lowered once already


def test_groups_in_a_shard_map_are_counted_in_the_program():
    mesh = abstract(4096)
    f = jax.shard_map(
        dropless,
        mesh=mesh,
        in_specs=(P(None, None, "X"), P(), P()),
        out_specs=P(None, "X"),
    )
    args = lies(mesh, (E, D, 4096), None, None, "X"), lies(mesh, (T, D))
    args = (*args, lies(mesh, (E,), dtype=jnp.int32))
    assert inspect_step(f, *args).flops() == 2 * T * D
    assert count.flops(f, *args) == 2 * T * D


def test_experts_that_are_cut_are_a_gap_by_name():
    mesh = mesh_of()
    args = lies(mesh, (E, D, F), "X"), lies(mesh, (T, D))
    report = inspect_step(dropless, *args, lies(mesh, (E,), dtype=jnp.int32))
    assert report.flops() == 0
    assert any("FLOPs of `ragged_dot`" in gap for gap in report.gaps)


# ---- loops and branches ------------------------------------------------------


def pipeline(with_gradient):
    """One axis by hand, the other left to the compiler."""
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AUTO,) * 2)
    ring = [(i, (i + 1) % 4) for i in range(4)]

    def stages(W, x):
        def turn(x, _):
            x = jnp.tanh(x @ W[0])
            return jax.lax.ppermute(x, "X", ring), None

        x = jax.lax.pcast(x, "X", to="varying")
        x = jax.lax.scan(turn, x, None, length=7)[0]
        last = jax.lax.axis_index("X") == 3
        return jax.lax.psum(jnp.where(last, x, 0), "X")

    f = jax.shard_map(
        stages,
        mesh=mesh,
        in_specs=(P("X"), P()),
        out_specs=P(),
        axis_names={"X"},
    )
    args = lies(mesh, (4, 128, 128), "X"), lies(mesh, (64, 128), "Y")
    if with_gradient:
        return jax.grad(lambda W, x: jnp.square(f(W, x)).sum()), args
    return f, args


def test_a_pipeline_beside_an_axis_of_the_compiler():
    f, args = pipeline(with_gradient=False)
    for level in ("program", "partitioner"):
        report = inspect_step(f, *args, level=level)
        assert report.flops() == 7 * 2 * 32 * 128 * 128
        assert report.volume(kind="permute") == 7 * 4 * 32 * 128


def test_the_gradient_of_a_scan_whose_bound_is_copied():
    f, args = pipeline(with_gradient=True)
    report = inspect_step(f, *args)
    permutes = [c for c in report.moved if c.kind == "permute"]
    sums = [c for c in report.moved if c.kind == "all_reduce"]
    assert sum(c.times for c in permutes) == 14
    assert count.volume(permutes) == 229_376
    assert sum(c.times for c in sums) == 8
    assert count.volume(sums) == 2 * 475_136
    assert report.flops() == 3 * 7 * 2 * 32 * 128 * 128


def causal_ring(q, k):
    """Attention of blocks that skips those of later positions."""
    me = jax.lax.axis_index("X")

    def hop(carry, i):
        k, acc = carry
        needed = (me - i) % 8 <= me
        acc = jax.lax.cond(needed, lambda a: a + q @ k.T, lambda a: a, acc)
        ring = [(j, (j + 1) % 8) for j in range(8)]
        return (jax.lax.ppermute(k, "X", ring), acc), None

    acc = jnp.zeros((q.shape[0], k.shape[0]), q.dtype)
    return jax.lax.scan(hop, (k, acc), jnp.arange(8))[0][1]


@pytest.mark.parametrize("outside", [False, True])
def test_branches_that_move_nothing_may_multiply_unequally(outside):
    mesh = mesh_of()
    ring = jax.shard_map(
        causal_ring,
        mesh=mesh,
        in_specs=P("X"),
        out_specs=P("X"),
        check_vma=False,
    )
    f = (lambda q, k: (ring(q, k).T @ q).mean()) if outside else ring
    x = lies(mesh, (B, D), "X")
    report = inspect_step(jax.jit(f), x, x)
    assert report.level == ("partitioner" if outside else "program")
    assert report.volume(kind="permute") == 8 * 4 * B // 8 * D
    (gap,) = (g for g in report.gaps if "FLOPs" in g)
    assert "`cond`" in gap
    assert "test_levels.py" in gap
    assert (report.flops() > 0) is outside  # what is beside it is counted


def test_a_loop_that_moves_nothing_may_run_nobody_knows_how_often():
    mesh = mesh_of()

    def f(In, W):
        more = lambda x: x.max() < 9  # noqa: E731
        inside = jax.shard_map(
            lambda x: jax.lax.while_loop(more, lambda x: x @ x.T @ x, x),
            mesh=mesh,
            in_specs=P("X"),
            out_specs=P("X"),
            check_vma=False,
        )
        return (inside(In) @ W).mean()

    report = inspect_step(f, lies(mesh, (B, D), "X"), lies(mesh, (D, F)))
    assert report.level == "partitioner"
    assert report.flops() == WHOLE // 8
    assert any("FLOPs of `while`" in gap for gap in report.gaps)


# ---- what a CPU cannot compile -----------------------------------------------


def uneven(x, sizes):
    starts = jnp.cumsum(sizes) - sizes
    got = jax.lax.all_to_all(sizes, "X", 0, 0, tiled=True)
    there = jnp.cumsum(got) - got
    there = jax.lax.all_to_all(there, "X", 0, 0, tiled=True)
    out = jnp.zeros_like(x)
    return jax.lax.ragged_all_to_all(
        x, out, starts, sizes, there, got, axis_name="X"
    )


def kernel(x):
    def double(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    return pl.pallas_call(
        double,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
    )(x)


@pytest.mark.parametrize(
    ("f", "shapes", "named"),
    [
        (uneven, ((512, 32), (64,)), "ragged-all-to-all"),
        (kernel, ((64, 128),), "pallas_call"),
    ],
)
def test_what_a_cpu_cannot_compile_is_one_sentence(f, shapes, named):
    mesh = mesh_of()
    mapped = jax.shard_map(
        f, mesh=mesh, in_specs=P("X"), out_specs=P("X"), check_vma=False
    )
    kinds = (jnp.float32, jnp.int32)
    pairs = zip(shapes, kinds, strict=False)
    args = [lies(mesh, shape, "X", dtype=kind) for shape, kind in pairs]
    with pytest.raises(ValueError, match=f"^cannot count `{named}`") as caught:
        inspect_step(mapped, *args)
    assert "\n" not in str(caught.value)


# ---- advice: nothing that would change a result ------------------------------

N = 8


def in_a_map(f):
    mesh = mesh_of()
    specs = {"in_specs": (P(), P("X")), "out_specs": P()}
    return partial(jax.shard_map, check_vma=False, **specs)(f, mesh=mesh)


def residual(x, W):
    """A layer's sum feeds the next layer."""

    def turn(x, _):
        return x + jax.lax.psum(jnp.tanh(x @ W.T) @ W, "X"), None

    return jax.lax.scan(turn, x, None, length=4)[0]


def stacked(x, W):
    """Every total on the way is a result."""

    def turn(total, i):
        total = total + jax.lax.psum(i * W.sum(), "X")
        return total, total

    return jax.lax.scan(turn, x.sum(), jnp.arange(4.0))[1]


def summed_up_is_read(x, W):
    """What was added up so far decides what is added."""

    def turn(total, i):
        more = jax.lax.psum(i * W.sum() + total.mean(), "X")
        return total + more, None

    return jax.lax.scan(turn, x, jnp.arange(4.0))[0]


def largest(x, W):
    """The largest of sums is not the sum of the largest."""

    def turn(total, i):
        return total + jax.lax.pmax(jnp.sin(i * W.sum()), "X"), None

    return jax.lax.scan(turn, x.sum(), jnp.arange(4.0))[0]


def divided_by(x, W):
    """One over a sum is no sum."""

    def turn(total, i):
        return total + 3 / jax.lax.psum(i + W.sum() ** 2, "X"), None

    return jax.lax.scan(turn, x.sum(), jnp.arange(4.0))[0]


@pytest.mark.parametrize(
    "f",
    [residual, stacked, summed_up_is_read, largest, divided_by],
)
def test_a_sum_that_something_reads_stays_in_its_loop(f):
    mesh = mesh_of()
    args = lies(mesh, (4, D)), lies(mesh, (B, D), "X")
    report = inspect_step(in_a_map(f), *args)
    assert max(c.times for c in report.moved) == 4
    assert not any("loop" in a.says for a in advise(report))


def test_a_sum_leaves_the_inner_loop_only():
    """Of 3 x 4 sums 3 are left if only the inner loop adds them up."""

    def outer(x, _):
        def turn(total, i):
            return total + jax.lax.psum(i * jnp.sin(x), "X"), None

        zeros = jnp.zeros_like(x)
        return jax.lax.scan(turn, zeros, jnp.arange(4.0))[0], None

    def f(x, W):
        return jax.lax.scan(outer, x + W.sum(), None, length=3)[0]

    mesh = mesh_of()
    args = lies(mesh, (4, D)), lies(mesh, (B, D), "X")
    report = inspect_step(in_a_map(f), *args)
    (advice,) = (a for a in advise(report) if "loop" in a.says)
    assert "each of 4 turns" in advice.says
    assert advice.volume == (12 - 3) * 2 * 4 * 4 * D
