"""Drawn programs: what is counted is what XLA's own module says.

Hypothesis draws small programs of matmuls, collectives written by hand or
induced by constraints, scans, conds, remat and gradients, on meshes of up to
eight devices. Each is counted on the level that `inspect_step` chooses, and
read once more, in the module that XLA's partitioner leaves, by the reader of
`bench.others`, which shares nothing with `shardlab.count`.
"""

from collections import Counter
from math import prod

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import P
from jax.sharding import AxisType, NamedSharding

from bench.others.reader import partitioned_text, read
from shardlab.inspection import inspect_step

# ---- programs ----------------------------------------------------------------

D = 16
SHAPES = ((8,), (4, 2), (2, 4), (2, 2, 2), (2,), (4,))
ATOMS = ("matmul", "fsdp", "sum", "gather", "scatter", "permute", "exchange")
NESTS = ("scan", "cond", "remat")


@st.composite
def bodies(draw, atoms, axes, depth=2):
    """A list of operations: (name, axis) or (name, number, operations)."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            name = draw(st.sampled_from(NESTS))
            inside = draw(bodies(atoms, axes, depth - 1))
            found.append((name, draw(st.integers(2, 4)), inside))
        else:
            name = draw(st.sampled_from(atoms))
            found.append((name, draw(st.sampled_from(axes)), ()))
    return found


def by_hand(op, axis, n, x, weights):
    """One operation of a shard_map body on x[b, D]."""
    N = jax.lax.axis_size(axis)
    if op == "matmul":
        return jnp.tanh(x @ weights["whole"])
    if op == "fsdp":
        # Gathered anew each time: XLA would merge two gathers that are alike.
        W = jax.lax.all_gather(weights[axis] * x.mean(), axis, tiled=True)
        return jnp.tanh(x @ W)
    if op == "sum":
        return jnp.sin(jax.lax.psum(x, axis))
    if op == "gather":
        every = jax.lax.all_gather(x, axis, tiled=True)
        return jnp.cos(every).reshape(N, *x.shape).sum(0) * x
    if op == "scatter":
        part = jax.lax.psum_scatter(x, axis, scatter_dimension=1, tiled=True)
        part = jnp.sin(part)
        return jax.lax.all_gather(part, axis, axis=1, tiled=True) + x
    if op == "permute":
        ring = [(i, (i + 1) % N) for i in range(N)]
        return jnp.sin(jax.lax.ppermute(x, axis, ring)) + x
    turned = jax.lax.all_to_all(x, axis, 1, 0, tiled=True)
    return jnp.sin(turned).reshape(x.shape) * x


def constrained(mesh):
    """One operation on Auto axes, which pins what it makes."""

    def make(op, axis, n, x, weights):
        places = {
            "rows": P(axis),
            "columns": P(None, axis),
            "whole": P(),
        }
        if op.startswith("weights"):
            return jnp.tanh(x @ weights[axis if "cut" in op else "whole"])
        place = NamedSharding(mesh, places[op])
        return jnp.sin(jax.lax.with_sharding_constraint(x, place)) + x

    return make


def run(operations, one, x, weights):
    """What a list of operations makes of x, each one different from others."""
    for n, (name, argument, inside) in enumerate(operations, 2):
        if name == "scan":

            def turn(x, i, inside=inside):
                return run(inside, one, x * i, weights), None

            x, _ = jax.lax.scan(turn, x, jnp.arange(1.0, argument + 1))
        elif name == "remat":
            again = jax.checkpoint(
                lambda x, weights, inside=inside: run(inside, one, x, weights)
            )
            x = again(x, weights)
        elif name == "cond":

            def branch(x, inside=inside):
                return run(inside, one, x, weights)

            # All devices choose alike: they sum in both branches.
            def other(x, branch=branch):
                return branch(3 * x)

            x = jax.lax.cond(weights["flag"] > 0, branch, other, x / n)
        else:
            x = one(name, argument, n, x / n, weights)
    return x


def arrays(mesh, hand):
    """The arguments: x[B, D], a weight, and one cut over each axis."""

    def lies(shape, *axes):
        place = NamedSharding(mesh, P(*axes))
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=place)

    weights = {axis: lies((D, D), axis) for axis in mesh.axis_names}
    weights |= {"whole": lies((D, D)), "flag": lies(())}
    every = tuple(mesh.axis_names)
    x = lies((64, D), every if hand else every[0])
    return weights, x


def step_of(operations, mesh, hand, gradient):
    """A step, and its arguments."""
    weights, x = arrays(mesh, hand)

    def loss(weights, x):
        one = by_hand if hand else constrained(mesh)
        return (run(operations, one, x, weights) ** 2).sum()

    def step(weights, x):
        return jax.grad(loss)(weights, x) if gradient else loss(weights, x)

    if not hand:
        return jax.jit(step), (weights, x)
    specs = {axis: P(axis) for axis in mesh.axis_names}
    specs |= {"whole": P(), "flag": P()}

    def on_one(weights, x):
        made = step(weights, x)
        return jax.tree.map(lambda y: y.reshape(1, *y.shape), made)

    every = tuple(mesh.axis_names)
    mapped = jax.shard_map(
        on_one,
        mesh=mesh,
        in_specs=(specs, P(every)),
        out_specs=P(every),
        check_vma=False,
    )
    return jax.jit(mapped), (weights, x)


@st.composite
def programs(draw, hand):
    sizes = draw(st.sampled_from(SHAPES))
    names = ("X", "Y", "Z")[: len(sizes)]
    by_compiler = ("rows", "columns", "whole", "weights", "weights cut")
    atoms = ATOMS if hand else by_compiler
    return sizes, draw(bodies(atoms, names)), draw(st.booleans())


def check(drawn, hand):
    """A drawn program is counted as the other reader reads it."""
    sizes, operations, gradient = drawn
    kinds = (AxisType.Auto,) * len(sizes)
    names = ("X", "Y", "Z")[: len(sizes)]
    devices = jax.devices()[: prod(sizes)]
    mesh = jax.make_mesh(sizes, names, axis_types=kinds, devices=devices)
    step, args = step_of(operations, mesh, hand, gradient)
    report = inspect_step(step, *args)
    said = Counter()
    for c in report.moved:
        said[c.kind] += c.times * c.volume
    said["FLOPs"] = report.flops()
    said = {key: size for key, size in said.items() if size}
    assert not any("FLOPs" in gap for gap in report.gaps), report.gaps
    found = read(partitioned_text(step, args))
    return said, found


@pytest.mark.slow
@settings(max_examples=5)
@given(
    st.booleans().flatmap(lambda hand: st.tuples(programs(hand), st.just(hand)))
)
def test_a_drawn_program_is_counted_as_its_module_reads(drawn):
    said, found = check(*drawn)
    assert said == found


@pytest.mark.long
@pytest.mark.parametrize("hand", [True, False])
@settings(max_examples=60)
@given(st.data())
def test_many_drawn_programs_are_counted_as_their_modules_read(hand, data):
    said, found = check(data.draw(programs(hand)), hand)
    assert said == found
