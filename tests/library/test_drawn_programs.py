"""Drawn programs: what is counted is what XLA's own module says.

Hypothesis draws small programs of matmuls, collectives written by hand or
induced by constraints, scans, conds, remat and gradients, on meshes of up to
eight devices. Each is counted on the level that `inspect_step` chooses, and
read once more, in the module that XLA's partitioner leaves, by a reader that
shares nothing with `shardlab.count`: it goes by the types of results, adds up
what a computation does before it asks how often it runs, and takes the one
number in a loop's condition for its length.
"""

import re
import tempfile
from collections import Counter
from math import prod
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import P
from jax.sharding import AxisType, NamedSharding

from shardlab.inspection import inspect_step

# ---- another reader ----------------------------------------------------------

KINDS = {
    "all-gather": ("all_gather", 1, 1),
    "all-reduce": ("all_reduce", 2, 1),
    "reduce-scatter": ("reduce_scatter", 1, "N"),
    "all-to-all": ("all_to_all", 0.25, "N"),
    "collective-permute": ("permute", 1, 1),
}
HEAD = re.compile(r"^(ENTRY )?%?(\S+) \(.*\{$")
LINE = re.compile(r"^(?:ROOT )?%(\S+) = (.*?[\])}]) ([a-z\-]+)\((.*)$")
SIZES = {"f32": 4, "s32": 4, "u32": 4, "pred": 1}


def bytes_of(types):
    found = re.findall(r"(\w+)\[([\d,]*)\]", types)
    return sum(
        SIZES[kind] * prod(int(n) for n in dims.split(",") if n)
        for kind, dims in found
    )


def read(text):
    """Volume by collective, and FLOPs, of a module that XLA has partitioned."""
    calls, own, entry, name = {}, {}, None, None
    shapes, ends = {}, {}
    for line in map(str.strip, text.splitlines()):
        if head := HEAD.match(line):
            name = head[2]
            calls[name], own[name] = [], Counter()
            entry = name if head[1] else entry
        if not (found := LINE.match(line)) or name is None:
            continue
        result, types, op, rest = found.groups()
        shapes[result] = types
        if op == "while":
            body = re.search(r"body=%?([\w.\-]+)", rest)[1]
            test = re.search(r"condition=%?([\w.\-]+)", rest)[1]
            calls[name].append((body, test))
        elif op == "constant" and types.startswith("s32[]"):
            ends.setdefault(name, []).append(int(rest.split(")")[0]))
        elif op in ("fusion", "call"):
            inner = re.search(r"(?:calls|to_apply)=%?([\w.\-]+)", rest)[1]
            calls[name].append((inner, 1))
        elif op == "conditional":
            one = re.search(
                r"(?:branch_computations=\{|true_computation=)%?([\w.\-]+)",
                rest,
            )[1]
            calls[name].append((one, 1))
        elif op == "dot":
            left = re.match(r"%([\w.\-]+)", rest)[1]
            dims = re.search(r"\[([\d,]*)\]", shapes[left])[1].split(",")
            along = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", rest)[1]
            terms = prod(int(dims[int(d)]) for d in along.split(",") if d)
            own[name]["FLOPs"] += 2 * bytes_of(types) // 4 * terms
        elif op in KINDS:
            kind, weight, each = KINDS[op]
            N = group_size(rest)
            whole = bytes_of(types) * (N if each == "N" else 1)
            if N != 1:
                own[name][kind] += weight * whole
    found = Counter()

    def add(name, times):
        for key, size in own[name].items():
            found[key] += times * size
        for inner, turns in calls[name]:
            if isinstance(turns, str):
                (turns,) = ends[turns]
            add(inner, times * turns)

    add(entry, 1)
    return {key: size for key, size in found.items() if size}


def group_size(rest):
    """Devices of a group; of a permute only that it has more than one."""
    if "source_target_pairs" in rest:
        return 2
    if iota := re.search(r"replica_groups=\[\d+,(\d+)\]<=", rest):
        return int(iota[1])
    if mesh := re.search(r"replica_groups=mesh\[(.*?)\].*?\{(.*?)\}", rest):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        parts = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", mesh[2])
        return prod(int(part or sizes[name]) for name, part in parts)
    return len(re.search(r"replica_groups=\{\{([\d,]*)\}", rest)[1].split(","))


def partitioned_text(step, args):
    """What the partitioner leaves of a step, as text."""
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": "spmd-partitioning",
        }
        step.lower(*args).compile(compiler_options=options)
        found = list(Path(folder).glob("*after_spmd-partitioning*.txt"))
        if not found:  # no result depends on an argument: for one device
            return "ENTRY %main () -> () {"
        (path,) = found
        return path.read_text(encoding="utf-8")


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
@settings(max_examples=8)
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
