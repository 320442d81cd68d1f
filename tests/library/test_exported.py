"""Counts of exported programs: equal to those of the jaxpr, or refused."""

import dataclasses
from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import P, lax
from jax._src.interpreters.mlir import make_ir_context
from jax._src.lib import _jax
from jax.sharding import AxisType, NamedSharding
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from shardlab import count
from shardlab.count import exported, living, stablehlo
from shardlab.count.walk import tally
from shardlab.strategies import (
    block,
    dp,
    fsdp,
    fsdp_tp,
    megatron,
    one_chip,
    tp,
    zero1,
    zero2,
)
from tests.each import each

pytestmark = pytest.mark.slow

STRATEGIES = [one_chip, dp, zero1, zero2, fsdp, tp, megatron, fsdp_tp]
B, D, F = 16, 24, 40


def mesh_of(**axes):
    kinds = (AxisType.Auto,) * len(axes)
    return jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=kinds)


XY = mesh_of(X=4, Y=2)
X8 = mesh_of(X=8)
RING = [(i, (i + 1) % 4) for i in range(4)]


def laid(shape, *spec, mesh=XY, dtype=jnp.bfloat16):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def export(f, *args):
    return jax.export.export(jax.jit(f))(*args)


def program(f, *args):
    return bytes(export(f, *args).serialize())


def both_counts(f, *args, mesh=XY):
    """The count of the exported program, and that of the jaxpr."""
    found = exported.collectives(program(f, *args), mesh.shape)
    return found, count.collectives(f, *args)


# --- the strategies -----------------------------------------------------------


def passes(strategy, mesh, dtype):
    """Each way to run a strategy, with its arguments."""
    args = block.arguments(strategy, mesh, B, D, F, dtype)
    states = block.states(strategy, mesh, D, F)
    yield block.forward(strategy, mesh), (args[0], *args[2:])
    yield block.gradients(strategy, mesh), args
    for option in {"kept", "regather"} & {
        *signature(strategy.forward).parameters
    }:
        yield block.gradients(strategy, mesh, **{option: True}), args
    yield block.train(strategy, mesh), (*args, *states)


@each(("sizes", "dtype"), [((4, 2), jnp.bfloat16), ((1, 8), jnp.float32)])
@each("strategy", STRATEGIES)
def test_every_strategy_counts_as_its_jaxpr(strategy, sizes, dtype):
    mesh = mesh_of(X=sizes[0], Y=sizes[1])
    for f, args in passes(strategy, mesh, dtype):
        found, expected = both_counts(f, *args, mesh=mesh)
        assert found == expected
        assert count.sent(found) == count.sent(expected)


# --- one by one ---------------------------------------------------------------


def ring(x):
    """RING times three in a scan."""

    def hop(c, _):
        return lax.ppermute(c, "X", RING), c.sum()

    return lax.scan(hop, x, None, length=3)[0]


def nested_loops(x):
    def inner(_, c):
        return lax.ppermute(c, "Y", [(0, 1), (1, 0)])

    return lax.fori_loop(2, 7, lambda _, c: lax.fori_loop(0, 3, inner, c), x)


def nested_jit(x):
    layer = jax.jit(lambda c: lax.psum(jnp.sin(c), "X"))
    return layer(layer(layer(x)))


def branches(x):
    return lax.cond(
        x.sum() > 0,
        lambda c: lax.psum(c, "X"),
        lambda c: 2 * lax.psum(c - 1, "X"),
        x,
    )


def remat(x):
    f = jax.checkpoint(lambda c: jnp.sin(lax.all_gather(c, "X", tiled=True)))
    return jax.grad(lambda c: f(c).sum())(x.astype(jnp.float32))


def unrolled(x):
    def hop(c, _):
        return lax.ppermute(c, "X", RING), None

    return lax.scan(hop, x, None, length=7, unroll=2)[0]


CASES = {
    "all_gather": lambda x: lax.all_gather(x, "X", axis=1, tiled=True),
    "stacked": lambda x: lax.all_gather(x, "Y", tiled=False),
    "two axes": lambda x: lax.all_gather(x, ("X", "Y"), tiled=True),
    "other order": lambda x: lax.all_gather(x, ("Y", "X"), tiled=True),
    "psum": lambda x: lax.psum(x, "X"),
    "psum of two axes": lambda x: lax.psum(x, ("X", "Y")),
    "psum of a tree": lambda x: sum(lax.psum((x, 2 * x), "Y")),
    "pmax": lambda x: lax.pmax(x, "Y"),
    "pmean": lambda x: lax.pmean(x, "X"),
    "scatter": lambda x: lax.psum_scatter(
        x, "X", scatter_dimension=1, tiled=True
    ),
    "to all": lambda x: lax.all_to_all(x, "X", 1, 0, tiled=True),
    "to all of two": lambda x: lax.all_to_all(x, ("X", "Y"), 1, 0, tiled=True),
    "permute": lambda x: lax.ppermute(x, "X", RING),
    "one message": lambda x: lax.ppermute(x, "Y", [(0, 1)]),
    "permute two axes": lambda x: lax.ppermute(
        x, ("X", "Y"), [(i, (i + 1) % 8) for i in range(8)]
    ),
    "ring": ring,
    "nested loops": nested_loops,
    "nested jit": nested_jit,
    "branches": branches,
    "remat": remat,
    "unrolled": unrolled,
    "vmap": lambda x: jax.vmap(lambda r: lax.psum(r, "X"))(x),
    "map": lambda x: lax.map(lambda r: lax.psum(r, "Y"), x),
    "nothing": lambda x: jnp.sort(x @ x.T).cumsum() + lax.axis_index("X"),
    "argmax": lambda x: x[jnp.argmax(x[:, 0])] + lax.top_k(x[0], 1)[0],
}


@each("dtype", [jnp.bfloat16, jnp.float32, jnp.int8])
@each("name", CASES)
def test_an_exported_collective_counts_as_in_the_jaxpr(name, dtype):
    f = jax.shard_map(
        CASES[name],
        mesh=XY,
        in_specs=P("X", "Y"),
        out_specs=P(),
        check_vma=False,
    )
    x = laid((32, 64), "X", "Y", dtype=dtype)
    found = exported.collectives(program(f, x), XY.shape)
    expected = count.collectives(f, x, live=True)
    assert tally(found) == tally(expected)
    if name != "unrolled":  # of which the jaxpr is one loop, and this is not
        assert found == expected
    assert bool(found) == (name not in ("nothing", "argmax"))


@settings(max_examples=20)
@given(
    st.sampled_from(["bfloat16", "float32", "int8"]),
    st.permutations(["X", "Y", "Z"]),
    st.integers(1, 3),
)
def test_groups_are_found_over_any_axes(dtype, names, count_of):
    mesh, axes = mesh_of(X=2, Y=2, Z=2), tuple(names[:count_of])

    def f(x):
        y = lax.all_gather(x, axes, tiled=True)
        return lax.psum_scatter(y, axes, tiled=True) + lax.psum(x, axes)

    f = jax.shard_map(
        f, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False
    )
    x = laid((8, 3), mesh=mesh, dtype=dtype)
    found, expected = both_counts(f, x, mesh=mesh)
    assert found == expected


@given(st.permutations(range(8)), st.integers(1, 8))
def test_a_permute_names_axes_that_hold_all_its_pairs(targets, kept):
    pairs = list(enumerate(targets))[:kept]
    axes, _ = exported.crossed(tuple(pairs), {"X": 2, "Y": 2, "Z": 2})
    strides = {"X": 4, "Y": 2, "Z": 1}
    for source, target in pairs:
        crossed = {
            a for a, s in strides.items() if source // s % 2 != target // s % 2
        }
        assert crossed <= set(axes)


@pytest.mark.parametrize("name", ["permute", "one message", "ring"])
def test_a_permute_says_who_sends_to_whom(name):
    f = whole(CASES[name], P("X", "Y"))
    x = laid((32, 64), "X", "Y")
    found = exported.collectives(program(f, x), XY.shape)
    expected = count.collectives(f, x)
    assert [set(c.pairs) for c in found] == [set(c.pairs) for c in expected]
    axes = found[0].axes
    args = (0, 1, axes)
    assert count.between(found, *args) == count.between(expected, *args) > 0


def test_axes_over_which_nothing_moves_are_known():
    f = whole(lambda x: lax.psum(x, "X"))
    found = exported.collectives(program(f, laid((8, 8), "X")), XY.shape)
    assert count.volume(found, "Y") == 0
    with pytest.raises(ValueError, match="axes must be among X, Y"):
        count.volume(found, "Z")


def test_a_permute_of_nothing_is_not_listed():
    f = jax.shard_map(
        lambda x: lax.ppermute(x, "X", [(i, i) for i in range(4)]),
        mesh=XY,
        in_specs=P("X"),
        out_specs=P("X"),
    )
    found, expected = both_counts(f, laid((8, 8), "X"))
    assert found == ()
    assert count.volume(expected) == 0


def test_an_axis_of_one_device_is_in_no_group():
    mesh = mesh_of(X=8, Y=1)
    f = jax.shard_map(
        lambda x: lax.psum(x, ("X", "Y")) + lax.psum(x, "Y"),
        mesh=mesh,
        in_specs=P("X"),
        out_specs=P(),
        check_vma=False,
    )
    (found,), (expected,) = both_counts(
        f, laid((8, 8), "X", mesh=mesh), mesh=mesh
    )
    assert found == dataclasses.replace(expected, axes=("X",))
    assert expected.axes == ("X", "Y")


def test_a_part_of_the_axes_can_be_manual():
    f = jax.shard_map(
        lambda x: lax.psum(x, "X"),
        mesh=XY,
        in_specs=P("X"),
        out_specs=P(),
        axis_names={"X"},
    )
    found, expected = both_counts(f, laid((8, 8), "X"))
    assert found == expected != ()


def test_nested_shard_maps_are_counted():
    inner = jax.shard_map(
        lambda x: lax.psum(x, "Y"),
        in_specs=P(None, "Y"),
        out_specs=P(),
        axis_names={"Y"},
    )
    f = jax.shard_map(
        lambda x: inner(lax.psum(x, "X")),
        mesh=XY,
        in_specs=P("X"),
        out_specs=P(),
        axis_names={"X"},
    )
    found, expected = both_counts(f, laid((8, 8), "X"))
    assert found == expected
    assert {c.axes for c in found} == {("X",), ("Y",)}


def test_an_argument_that_lies_otherwise_is_moved_and_counted():
    f = jax.shard_map(
        lambda x: x + 1, mesh=XY, in_specs=P(None, None), out_specs=P()
    )
    found, expected = both_counts(f, laid((8, 8), "X", None))
    assert found == expected
    assert found[0].kind == "all_gather"


def test_a_value_between_two_shard_maps_is_followed():
    rows = jax.shard_map(
        lambda x: x * 2, mesh=XY, in_specs=P("X"), out_specs=P("X")
    )
    columns = jax.shard_map(
        lambda x: x * 2, mesh=XY, in_specs=P(None, "X"), out_specs=P(None, "X")
    )
    found, expected = both_counts(
        lambda x: columns(jnp.sin(rows(x))), laid((8, 8), "X")
    )
    assert found == expected
    assert [c.kind for c in found] == ["all_to_all"]


def test_a_loop_of_shard_maps_is_counted():
    f = jax.shard_map(
        lambda x: lax.psum_scatter(
            lax.all_gather(x, "X", tiled=True), "X", tiled=True
        ),
        mesh=XY,
        in_specs=P("X"),
        out_specs=P("X"),
    )
    found, expected = both_counts(
        lambda x: lax.fori_loop(0, 5, lambda _, c: f(c), x), laid((8, 8), "X")
    )
    assert found == expected
    assert [c.times for c in found] == [5, 5]


def counted_by(first, step):
    """A program with a loop whose counter ends at ten."""

    def f(x):
        def turn(c):
            return c[0] + step, lax.ppermute(c[1], "X", RING)

        return lax.while_loop(lambda c: c[0] < 10, turn, (first, x))[1]

    f = jax.shard_map(f, mesh=XY, in_specs=P("X"), out_specs=P("X"))
    return program(f, laid((8, 8), "X"))


@pytest.mark.parametrize("first", [0, 3, -2, 9])
def test_a_while_loop_whose_counter_proves_its_turns_is_counted(first):
    (found,) = exported.collectives(counted_by(first, 1), XY.shape)
    assert found.times == 10 - first


@pytest.mark.parametrize("first", [10, 11])
def test_a_loop_that_never_runs_moves_nothing(first):
    assert exported.collectives(counted_by(first, 1), XY.shape) == ()


@pytest.mark.parametrize(("first", "step"), [(11, 4), (9, 2), (0, 5), (0, -1)])
def test_a_counter_that_does_not_grow_by_one_proves_nothing(first, step):
    # XLA:CPU runs some of them once too often or too seldom.
    with pytest.raises(ValueError, match="how often it runs is decided"):
        exported.collectives(counted_by(first, step), XY.shape)


def hop(x):
    return lax.ppermute(x, "X", RING)


def carried_limit(change):
    """A loop whose limit is in its carry."""

    def f(x):
        return lax.while_loop(
            lambda c: c[0] < c[1],
            lambda c: (c[0] + 1, change(c[1]), hop(c[2])),
            (0, 10, x),
        )[2]

    return whole(f)


def test_a_limit_that_is_carried_counts_if_it_never_changes():
    (found,) = counted(carried_limit(lambda limit: limit))
    assert found.times == 10
    with pytest.raises(ValueError, match="decided at run time"):
        counted(carried_limit(lambda limit: limit - 1))


def test_a_limit_that_a_function_is_called_with_counts():
    def f(x):
        loop = jax.jit(lambda n, x: lax.fori_loop(0, n, lambda _, c: hop(c), x))
        return loop(3, loop(5, x))

    assert [c.times for c in counted(whole(f))] == [5, 3]


# --- refused ------------------------------------------------------------------


def whole(f, spec=None, **options):
    spec = P("X") if spec is None else spec
    options = {"check_vma": False, "out_specs": spec, **options}
    return jax.shard_map(f, mesh=XY, in_specs=spec, **options)


def unequal(x):
    return lax.cond(x.sum() > 0, lambda c: lax.psum(c, "X"), lambda c: c, x)


def endless(x):
    return lax.while_loop(
        lambda c: c.sum() > 0, lambda c: lax.ppermute(c, "X", RING), x
    )


def bound_by_data(x):
    n = x[0, 0].astype(int)
    return lax.fori_loop(0, n, lambda _, c: lax.ppermute(c, "X", RING), x)


def in_groups(x):
    groups = [[0, 1], [2, 3]]
    return lax.psum(x, "X", axis_index_groups=groups)


REFUSED = {
    "unequal": (whole(unequal), r"stablehlo\.case.*they differ"),
    "endless": (whole(endless), r"stablehlo\.while.*at run time"),
    "by data": (whole(bound_by_data), r"stablehlo\.while.*at run time"),
    "groups": (whole(in_groups), "no product of mesh axes"),
    "cholesky": (
        whole(lambda x: jnp.linalg.qr(x)[0]),
        r"stablehlo\.custom_call lapack_",
    ),
    "outside": (lambda x: x @ x.T, "outside shard_map, its operands lie as"),
    "constraint": (
        lambda x: lax.with_sharding_constraint(
            x, NamedSharding(XY, P(None, "X"))
        ),
        r"sharding_constraint.*lies as \[X, -\] and not \[-, X\]",
    ),
}


def counted(f):
    """The count of a function of one array."""
    blob = program(f, laid((8, 8), "X", dtype="float32"))
    return exported.collectives(blob, XY.shape)


@each("name", REFUSED)
def test_refused_by_name(name):
    f, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        exported.collectives(
            program(f, laid((8, 8), "X", dtype="float32")), XY.shape
        )


@pytest.mark.parametrize(
    "mesh", [{"X": 8}, {"X": 2, "Y": 4}, {"X": 4}, {"X": 4, "Z": 2}], ids=str
)
def test_another_mesh_is_refused(mesh):
    with pytest.raises(ValueError, match="was asked for"):
        exported.collectives(program(whole(ring), laid((8, 8), "X")), mesh)


@pytest.mark.parametrize("junk", [b"", b"\0" * 100, b"no program" * 50])
def test_bytes_that_are_no_program_are_refused(junk):
    with pytest.raises(ValueError, match="not an exported program"):
        exported.collectives(junk, XY.shape)


def test_results_that_are_moved_after_shard_map_are_refused():
    f = whole(lambda x: x + 1)
    placed = jax.jit(f, out_shardings=NamedSharding(XY, P()))
    blob = bytes(jax.export.export(placed)(laid((8, 8), "X")).serialize())
    message = r"lies as \[X, -\] and not \[-, -\], so the compiler moves it"
    with pytest.raises(ValueError, match=message):
        exported.collectives(blob, XY.shape)


def test_a_name_forges_nothing():
    def f(x):
        def all_gather(c):
            return c * 2

        all_gather.__name__ = "stablehlo.all_gather"
        return jax.jit(all_gather)(x)

    assert (
        exported.collectives(program(whole(f), laid((8, 8), "X")), XY.shape)
        == ()
    )


def test_calls_that_call_themselves_are_refused():
    kind = "tensor<2x8xf32>"
    head = f'@"<lambda>"(%arg0: {kind}) -> {kind} {{'
    call = f'%loop = func.call @"<lambda>"(%arg0) : ({kind}) -> {kind}'
    blob = program(whole(nested_jit), laid((8, 8), "X", dtype="float32"))
    found = rewritten(blob, lambda t: t.replace(head, f"{head}\n{call}"))
    with pytest.raises(ValueError, match="60 deep"):
        exported.collectives(found, XY.shape)


def test_every_operation_is_counted_harmless_or_refused():
    from jaxlib.mlir.dialects import stablehlo

    dialect = {
        made.OPERATION_NAME
        for made in vars(stablehlo).values()
        if isinstance(getattr(made, "OPERATION_NAME", None), str)
    }
    counted = set(exported.COLLECTIVES)
    followed = {name for name in exported.RULES if "stablehlo" in name}
    harmless = {name for name in exported.LOCAL if "stablehlo" in name}
    refused = set(exported.REFUSED)
    classes = (counted, followed, harmless, refused, {"stablehlo.return"})
    # A new operation of StableHLO has to be put into one of these.
    assert set().union(*classes) == dialect
    assert sum(map(len, classes)) == len(dialect)
    assert refused.isdisjoint(exported.KNOWN)


def rewritten(blob, change, since="WEEK_4"):
    """The program with its module's text changed, for readers of that age."""
    made = jax.export.deserialize(bytearray(blob))
    with make_ir_context():
        module = made.mlir_module(serialized=False)
        text = module.operation.get_asm(enable_debug_info=False)
        changed = change(text)
        assert changed != text
        version = hlo.get_version_from_compatibility_requirement(
            getattr(hlo.StablehloCompatibilityRequirement, since)
        )
        module = ir.Module.parse(changed)
        code = _jax.mlir.serialize_portable_artifact(module, version, True)
    made = dataclasses.replace(made, mlir_module_serialized=code)
    return bytes(made.serialize())


PSUM = whole(lambda x: lax.psum(x, "X"))
SHIFT = whole(lambda x: lax.ppermute(x, "X", RING))
LOOP = whole(
    lambda x: lax.fori_loop(0, 5, lambda _, c: lax.ppermute(c, "X", RING), x)
)
FORGED = {
    "a counter compared as if it had no sign": (
        LOOP,
        ", SIGNED",
        ", UNSIGNED",
        "decided at run time",
    ),
    "no device ids": (
        PSUM,
        ", use_global_device_ids",
        "",
        "do not count devices",
    ),
    "no channel": (
        SHIFT,
        "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, ",
        "",
        "do not count devices",
    ),
    "channel 0": (SHIFT, "handle = 1", "handle = 0", "do not count devices"),
    "torn": (
        PSUM,
        "[[0, 2, 4, 6], [1, 3, 5, 7]]",
        "[[0, 2, 4, 7], [1, 3, 5, 6]]",
        "no product of mesh axes",
    ),
    "replicas": (
        PSUM,
        "mhlo.num_replicas = 1",
        "mhlo.num_replicas = 2",
        "2 replicas",
    ),
    "partitions": (
        PSUM,
        "mhlo.num_partitions = 8",
        "mhlo.num_partitions = 4",
        "for 4 devices",
    ),
    "order": (
        PSUM,
        'sdy.mesh @mesh = <["X"=4, "Y"=2]>',
        'sdy.mesh @mesh = <["X"=4, "Y"=2], device_ids=[1,0,2,3,4,5,6,7]>',
        "not in order",
    ),
    "order to the compiler": (
        PSUM,
        "attributes {",
        'attributes {mhlo.frontend_attributes = {a = "b"}, ',
        "its attribute mhlo.frontend_attributes",
    ),
}


@pytest.mark.parametrize(("side", "spec"), [("in", '{"X", ?}'), ("out", "{?}")])
def test_pieces_over_an_axis_that_is_left_free_are_refused(side, spec):
    f = whole(lambda x: lax.psum(x, "X"), out_specs=P(), axis_names={"X"})
    blob = program(f, laid((8, 8), "X"))
    old = f"{side}_shardings=[<@mesh, [{spec}, {{?}}]>]"
    new = f'{side}_shardings=[<@mesh, [{spec}, {{"Y", ?}}]>]'
    blob = rewritten(blob, lambda text: text.replace(old, new))
    with pytest.raises(ValueError, match="leaves Y to the compiler"):
        exported.collectives(blob, XY.shape)


@each("name", FORGED)
def test_a_forged_module_is_refused(name):
    f, old, new, message = FORGED[name]
    blob = program(f, laid((8, 8), "X"))
    blob = rewritten(blob, lambda text: text.replace(old, new))
    with pytest.raises(ValueError, match=message):
        exported.collectives(blob, XY.shape)


@pytest.mark.parametrize(
    "attribute",
    [
        'mhlo.sharding = "{replicated}"',
        'mhlo.frontend_attributes = {xla.sdy.sharding = "x"}',
        "sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}]>]>",
        "value = dense<0.0> : tensor<f32>",  # as if it were a constant
        "replica_groups = dense<0> : tensor<1x1xi64>",
    ],
)
def test_an_order_to_the_compiler_is_refused(attribute):
    blob = program(whole(lambda x: lax.psum(x, "X") * 2), laid((8, 8), "X"))
    pattern = "stablehlo.multiply %"
    blob = rewritten(
        blob,
        lambda text: "\n".join(
            line.replace(" : tensor", f" {{{attribute}}} : tensor")
            if pattern in line
            else line
            for line in text.splitlines()
        ),
    )
    with pytest.raises(ValueError, match="attribute"):
        exported.collectives(blob, XY.shape)


def test_a_program_that_takes_too_long_to_count_is_refused(monkeypatch):
    # Each function calls the one before twice: 2^20 operations in 20 lines.
    monkeypatch.setattr(exported, "STEPS", 2000)

    def doubled(f):
        return jax.jit(lambda x: f(f(x)))

    f = jnp.sin
    for _ in range(20):
        f = doubled(f)
    with pytest.raises(ValueError, match="more than 2,000 steps"):
        counted(whole(f))


# --- types --------------------------------------------------------------------


def test_constraints_are_read_in_the_notation_of_types():
    mesh = jax.make_mesh(
        (4, 2), ("X", "Y"), axis_types=(AxisType.Explicit,) * 2
    )

    def f(In, W):
        W = jax.reshard(W, P("X", "Y"))
        Out = jnp.einsum(
            "bd,df->bf", In, W, out_sharding=P(None, "Y", unreduced={"X"})
        )
        return jax.reshard(Out, P(None, ("Y", "X")))

    with jax.set_mesh(mesh):
        blob = program(
            f,
            laid((8, 16), None, "X", mesh=mesh),
            laid((16, 8), None, "Y", mesh=mesh),
        )
    assert exported.constraints(stablehlo.read_module(blob))[-2:] == [
        "bfloat16[8,8@Y]{U:X}",
        "bfloat16[8,8@(Y,X)]",
    ]


# --- what is held -------------------------------------------------------------

L, WIDTH = 4, 64
V = 4 * WIDTH**2


def gather(w):
    return lax.all_gather(w, "X", tiled=True)


def layer(x, w, gather=gather):
    return jnp.tanh(x @ gather(w))


def layer_by_layer(gather):
    """Layer by layer, gathered just in time."""

    def f(x, ws):
        for w in ws:
            x = layer(x, w, gather)
        return x

    return f


def first(gather):
    """All layers gathered before the first one is used."""

    def f(x, ws):
        for w in [gather(w) for w in ws]:
            x = jnp.tanh(x @ w)
        return x

    return f


def by_permutes(w):
    me, rows = lax.axis_index("X"), len(w)
    whole = jnp.zeros((8 * rows, WIDTH), w.dtype)
    for hop in range(8):
        start = (me - hop) % 8 * rows
        whole = lax.dynamic_update_slice(whole, w, (start, 0))
        w = lax.ppermute(w, "X", [(i, (i + 1) % 8) for i in range(8)])
    return whole


def by_concatenation(w):
    pieces = [w]
    for _ in range(7):
        w = lax.ppermute(w, "X", [(i, (i + 1) % 8) for i in range(8)])
        pieces.append(w)
    return jnp.concatenate(pieces)


def by_padding(w):
    whole = jnp.zeros((WIDTH, WIDTH), w.dtype)
    start = lax.axis_index("X") * len(w)
    return lax.psum(lax.dynamic_update_slice(whole, w, (start, 0)), "X")


def by_masks(w):
    mine = jnp.arange(8)[:, None, None] == lax.axis_index("X")
    return lax.psum(jnp.where(mine, w, 0), "X").reshape(WIDTH, WIDTH)


def by_one_hot(w):
    mine = jax.nn.one_hot(lax.axis_index("X"), 8)[:, None, None]
    return lax.psum(mine * w, "X").reshape(WIDTH, WIDTH)


def by_pieces(w):
    """Eight broadcasts, each of one device's rows."""
    me = lax.axis_index("X")
    pieces = [lax.psum(jnp.where(me == i, w, 0), "X") for i in range(8)]
    return jnp.concatenate(pieces)


def by_all_to_all(w):
    copies = jnp.broadcast_to(w, (8, *w.shape))
    return lax.all_to_all(copies, "X", 0, 0, tiled=False).reshape(WIDTH, WIDTH)


def through_identity(w):
    return gather(w) @ jnp.eye(WIDTH)


def at_once(x, ws):
    """One gather of all layers, then slices."""
    whole = gather(jnp.stack(ws, 1))
    for i in range(L):
        x = jnp.tanh(x @ whole[:, i])
    return x


def behind_a_barrier(x, ws):
    for w in lax.optimization_barrier([gather(w) * 1.0 for w in ws]):
        x = jnp.tanh(x @ w)
    return x


def in_a_scan(x, ws):
    def turn(x, w):
        return layer(x, w), None

    return lax.scan(turn, x, jnp.stack(ws))[0]


def stacked_by_a_scan(x, ws):
    whole = lax.scan(lambda c, w: (c, gather(w)), 0, jnp.stack(ws))[1]
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, whole)[0]


def carried_by_a_loop(x, ws):
    ws = jnp.stack(ws)

    def turn(i, whole):
        return lax.dynamic_update_slice(whole, gather(ws[i])[None], (i, 0, 0))

    whole = lax.fori_loop(0, L, turn, jnp.zeros((L, WIDTH, WIDTH)))
    return lax.fori_loop(0, L, lambda i, x: jnp.tanh(x @ whole[i]), x)


def with_data_mixed_in(x, ws):
    for w in [gather(w) + 0 * x[0, 0] for w in ws]:
        x = jnp.tanh(x @ w)
    return x


def with_data_mixed_in_before(x, ws):
    for w in [gather(w + 0 * x[0, 0]) for w in ws]:
        x = jnp.tanh(x @ w)
    return x


def with_bias(x, ws):
    for w in ws:
        x = jnp.tanh(x @ gather(w) + gather(w[:, 0]))
    return x


def of_branches(x, ws):
    def gathered(w):
        return lax.cond(w.sum() > 0, gather, lambda w: gather(2 * w), w)

    return first(gathered)(x, ws)


def jitted(x, ws):
    for w in ws:
        x = jax.jit(layer)(x, w)
    return x


def checkpointed(x, ws):
    for w in ws:
        x = jax.checkpoint(layer)(x, w)
    return x


def checkpointed_scan(x, ws):
    turn = jax.checkpoint(lambda x, w: (layer(x, w), None))
    return lax.scan(turn, x, jnp.stack(ws))[0]


def backward(f):
    """The gradients of a forward pass."""

    def both(x, ws):
        return jax.grad(lambda ws: (f(x, ws) ** 2).sum())(ws)

    return both


def both_ways(x, ws):
    for w in map(gather, ws):
        x = jnp.tanh(x @ w) @ w.T
    return x


def with_sums(x, ws):
    total = 0.0
    for w in ws:
        w = gather(w)
        total = total + w.sum()
        x = jnp.tanh(x @ w)
    return x + total


ONE_LAYER = {
    "scaled": layer_by_layer(lambda w: gather(w) * 2.0),
    "sums": with_sums,
    "each": layer_by_layer(gather),
    "scan": in_a_scan,
    "jit": jitted,
    "bias": with_bias,
    "padding": layer_by_layer(by_padding),
    "masks": layer_by_layer(by_masks),
    "transposed": lambda x, ws: layer_by_layer(lambda w: gather(w.T.T))(x, ws),
    "gradients": backward(checkpointed),
    "gradients of a scan": backward(checkpointed_scan),
}
SEVERAL = {
    "all first": first(gather),
    "at once": at_once,
    "barrier": behind_a_barrier,
    "permutes": first(by_permutes),
    "concatenation": first(by_concatenation),
    "padding": first(by_padding),
    "masks": first(by_masks),
    "one hot": first(by_one_hot),
    "pieces": first(by_pieces),
    "all to all": first(by_all_to_all),
    "identity": first(through_identity),
    "scan": stacked_by_a_scan,
    "carry": carried_by_a_loop,
    "data": with_data_mixed_in,
    "data before": with_data_mixed_in_before,
    "branches": of_branches,
    "bf16": first(lambda w: gather(w.astype(jnp.bfloat16)).astype(w.dtype)),
    "transposed": first(lambda w: gather(w.T.reshape(WIDTH, -1).T).T),
    "kept for backward": backward(layer_by_layer(gather)),
    "kept by a scan": backward(in_a_scan),
}


def peaks(f, of=None, mesh=X8):
    results = (
        P("X") if not f.__qualname__.startswith("backward") else [P("X")] * L
    )
    f = jax.shard_map(
        f, mesh=mesh, in_specs=P("X"), out_specs=results, check_vma=False
    )
    shapes = [laid((16, WIDTH), "X", mesh=mesh, dtype="float32")] + [
        [laid((WIDTH, WIDTH), "X", mesh=mesh, dtype="float32")] * L
    ]
    module = stablehlo.read_module(program(f, *shapes))
    return living.peaks(exported.counted(module, mesh.shape), of)


@each("of", [None, range(1, L + 1)])
@each("name", ONE_LAYER)
def test_gathered_just_in_time_is_one_layer(name, of):
    assert peaks(ONE_LAYER[name], of).gathered == V


@each("of", [None, range(1, L + 1)])
@each("name", SEVERAL)
def test_several_layers_are_found_however_they_are_held(name, of):
    # The first layer's weights are not needed on the way back.
    held = peaks(SEVERAL[name], of)
    assert held.gathered >= (L - 1) * V
    assert held.live >= held.gathered


def test_what_a_ring_passes_on_counts_as_one_piece():
    def f(x, ws):
        total = 0
        for w in ws:
            for _ in range(8):
                total += (x[:, : len(w)] @ w).sum()
                w = lax.ppermute(w, "X", [(i, (i + 1) % 8) for i in range(8)])
        return total + x

    assert peaks(f).gathered == V // 8


def test_sums_of_gradients_are_not_gathered():
    def f(x, ws):
        dW = x.T @ x
        return lax.psum_scatter(dW, "X", tiled=True) + lax.psum(dW, "X")[:8]

    held = peaks(f)
    assert held.gathered == 0
    assert held.live >= V


def test_an_array_and_its_transpose_are_one():
    assert peaks(lambda x, ws: both_ways(x, ws[:1])).gathered == V


def test_a_mask_that_is_an_argument_gathers_as_well():
    def f(x, ws):
        mine = x[0, :8][:, None, None]
        w = lax.psum(mine * ws[0], "X").reshape(WIDTH, WIDTH)
        return jnp.tanh(x @ w)

    assert peaks(f).gathered == V


def test_what_a_loop_reads_from_outside_lives_as_long_as_the_loop():
    def f(x, ws):
        w = gather(ws[0])
        return lax.fori_loop(
            0, 3, lambda _, x: jnp.tanh(x @ w) @ gather(ws[1]), x
        )

    assert peaks(f).gathered == 2 * V


def test_a_carry_is_followed_from_turn_to_turn():
    def f(x, ws):
        def turn(i, c):
            return c[1], c[2], gather(ws[0]) * i

        whole = (jnp.zeros((WIDTH, WIDTH)),) * 3
        for w in lax.fori_loop(0, L, turn, whole):
            x = jnp.tanh(x @ w)
        return x

    assert peaks(f).gathered >= 3 * V


def test_sums_of_arguments_are_not_gathered():
    assert peaks(lambda x, ws: x + lax.psum(ws[0], "X").sum()).gathered == 0


def test_only_the_arguments_that_are_named_count():
    assert peaks(layer_by_layer(gather), of=[0]).gathered == 0
    assert peaks(lambda x, ws: x + gather(x).sum(), of=[0]).gathered == 16 * 256


def test_an_argument_that_arrives_larger_was_gathered():
    rows = jax.shard_map(
        lambda w: w * 2, mesh=XY, in_specs=P(None, None), out_specs=P()
    )
    module = stablehlo.read_module(program(rows, laid((8, 16), "X")))
    found = exported.counted(module, XY.shape)
    assert living.peaks(found).gathered == 8 * 16 * 2


def test_of_must_name_arguments():
    with pytest.raises(ValueError, match="arguments 0 to"):
        peaks(layer_by_layer(gather), of=[99])


@given(st.integers(1, 5), st.integers(1, 3))
def test_the_most_that_is_held_is_that_of_the_layers_in_flight(depth, ahead):
    # `ahead` layers are gathered before the first of them is used.
    def f(x, ws):
        queue = [gather(w) for w in ws[:ahead]]
        for i in range(len(ws)):
            x = jnp.tanh(x @ queue.pop(0))
            if i + ahead < len(ws):
                queue.append(gather(ws[i + ahead]))
        return x

    f = jax.shard_map(f, mesh=X8, in_specs=P("X"), out_specs=P("X"))
    shapes = [laid((8, 16), "X", mesh=X8, dtype="float32")] + [
        [laid((16, 16), "X", mesh=X8, dtype="float32")] * depth
    ]
    module = stablehlo.read_module(program(f, *shapes))
    held = living.peaks(exported.counted(module, X8.shape))
    assert held.gathered == min(depth, ahead) * 16 * 16 * 4


def test_read_counts_bytes_of_every_dtype():
    for dtype in (np.int8, np.float16, np.complex64, jnp.float8_e5m2, bool):
        f = whole(lambda x: lax.all_gather(x, "X", tiled=True), out_specs=P())
        module = stablehlo.read_module(
            program(f, laid((8, 8), "X", dtype=dtype))
        )
        (c,) = exported.counted(module, XY.shape).collectives
        assert c.volume == 64 * np.dtype(dtype).itemsize


BY_AXES = (
    "#stablehlo.replica_group_mesh_axes<mesh = @mesh, "
    'axes = [#stablehlo.axis_ref<name = "X">]>'
)


def by_axes(change=lambda text: text):
    """A sum over X that names its groups by axes, as JAX 0.12 does."""
    dense = "dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>"
    blob = program(PSUM, laid((8, 8), "X"))
    return rewritten(
        blob, lambda text: text.replace(dense, change(BY_AXES)), "NONE"
    )


def test_groups_that_are_named_by_axes_are_those_devices():
    expected = exported.collectives(program(PSUM, laid((8, 8), "X")), XY.shape)
    assert exported.collectives(by_axes(), XY.shape) == expected
    assert [moved.axes for moved in expected] == [("X",)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "@mesh",
            '#stablehlo.mesh<axes = [<name = "X", size = 8>]>',
            "those of no mesh",
        ),
        ('"X"', '"Z"', "or no axis"),
        ('"X">]', '"X">, #stablehlo.axis_ref<name = "X">]', "an axis twice"),
        (
            '"X">',
            '"X", sub_axis_info = (1)2>',
            "into parts",
        ),
    ],
)
def test_groups_by_axes_that_are_none_are_refused(old, new, message):
    with pytest.raises(ValueError, match=message):
        exported.collectives(
            by_axes(lambda text: text.replace(old, new)), XY.shape
        )
