"""Counted collectives and held bytes, against JAX itself and worked numbers."""

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jax import P, lax
from jax._src.core import NamedAxisEffect  # not public, and JAX marks by it
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Primitive
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count
from shardlab.arguments import partitions
from shardlab.count import jax_inside
from shardlab.count import walk as walking
from shardlab.count.layouts import from_sharding
from tests.each import each

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
WHOLE, ROWS = P(), P("X")


def mesh_of(*sizes, kind=AUTO):
    """An abstract mesh X, Y, Z … of these sizes."""
    return AbstractMesh(sizes, tuple("XYZ"[: len(sizes)]), (kind,) * len(sizes))


def bf16(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def shard(f, mesh, *in_specs, out=WHOLE, **options):
    """f over the devices; what comes back is not the point, so unchecked."""
    options = {"check_vma": False} | options
    return jax.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out, **options
    )


def one(f, x, mesh, spec=ROWS):
    """The only collective of f on the pieces of x."""
    (only,) = count.collectives(shard(f, mesh, spec), x)
    return only


def gather(x, **options):
    return lax.all_gather(x, "X", tiled=True, **options)


# --- one collective at a time -------------------------------------------------

# On a 4x2 mesh, x is bf16[16, 8]: 256 bytes, 64 a device when cut over X.
KINDS = {
    "all_gather": (gather, ("X",), 256, 192),
    "all_gather untiled": (
        partial(lax.all_gather, axis_name="X"),
        *(("X",), 256, 192),
    ),
    "all_gather invariant": (partial(gather, to="invarying"), ("X",), 256, 192),
    "all_gather XY": (
        lambda x: lax.all_gather(x, ("X", "Y"), tiled=True),
        *(("X", "Y"), 512, 448),
    ),
    "reduce_scatter": (
        lambda x: lax.psum_scatter(x, "X", tiled=True),
        *(("X",), 64, 48),
    ),
    "reduce_scatter untiled": (
        lambda x: lax.psum_scatter(x, "X"),
        *(("X",), 64, 48),
    ),
    "all_reduce": (lambda x: lax.psum(x, "X"), ("X",), 128, 96),
    "all_reduce XY": (lambda x: lax.psum(x, ("X", "Y")), ("X", "Y"), 128, 112),
    "all_reduce max": (lambda x: lax.pmax(x, "X"), ("X",), 128, 96),
    "all_reduce min": (lambda x: lax.pmin(x, "X"), ("X",), 128, 96),
    "all_reduce mean": (lambda x: lax.pmean(x, "X"), ("X",), 128, 96),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "X", 1, 0, tiled=True),
        *(("X",), 64, 48),
    ),
    "permute": (
        lambda x: lax.ppermute(x, "X", [(i, (i + 1) % 4) for i in range(4)]),
        *(("X",), 64, 64),
    ),
    "permute one pair": (
        lambda x: lax.ppermute(x, "X", [(0, 3)]),
        ("X",),
        64,
        64,
    ),
    "permute in place": (
        lambda x: lax.ppermute(x, "X", [(2, 2)]),
        ("X",),
        0,
        0,
    ),
    "broadcast": (lambda x: lax.pbroadcast(x, "X", 0), ("X",), 64, 64),
}


@each("name", KINDS)
def test_each_kind_has_its_volume_and_what_leaves_a_device(name):
    f, axes, volume, sent = KINDS[name]
    got = one(f, bf16(16, 8), mesh_of(4, 2))
    assert got == count.Collective(name.split()[0], axes, volume, sent, 1)


@pytest.mark.parametrize("check_vma", [True, False])
def test_checked_types_count_as_unchecked_ones(check_vma):
    f = shard(
        lambda x: lax.psum(x, "X"), mesh_of(4, 2), P("X"), check_vma=check_vma
    )
    assert count.volumes(count.collectives(f, bf16(16, 8))) == {
        ("all_reduce", "X"): 128
    }


def silent_casts(x):
    x = lax.pcast(x, "Y", to="varying")
    return x * lax.axis_index("X").astype(x.dtype) * lax.psum(1, "X")


@pytest.mark.parametrize(
    ("f", "options"),
    [
        pytest.param(silent_casts, {"check_vma": True}, id="casts and indices"),
        pytest.param(lambda x: 2 * x @ x.T, {}, id="local work"),
        pytest.param(
            jax.vmap(lambda x: x - lax.psum(x, "i"), axis_name="i"),
            {},
            id="a sum over vmap",
        ),
    ],
)
def test_what_moves_nothing_is_not_listed(f, options):
    g = shard(f, mesh_of(4, 2), P("X"), out=P(("X", "Y")), **options)
    assert count.collectives(g, bf16(16, 8)) == ()


def test_a_group_of_one_device_moves_nothing():
    f = shard(lambda x: gather(lax.psum(x, "X")), mesh_of(1, 8), P("X"))
    assert count.collectives(f, bf16(16, 8)) == ()


def test_an_axis_of_one_device_cuts_nothing():
    mesh = mesh_of(1, 8, kind=EXPLICIT)
    rows = NamedSharding(mesh, P("X", None))
    x = jax.ShapeDtypeStruct((16, 8), jnp.bfloat16, sharding=rows)
    with jax.sharding.use_abstract_mesh(mesh):
        columns = count.collectives(lambda x: jax.reshard(x, P(None, "X")), x)
        summed = count.collectives(lambda x: x.sum(0), x)
    assert columns == summed == ()


def test_only_the_devices_that_are_named_form_a_group():
    def f(x):
        return lax.all_gather(x, "Y", tiled=True)

    got = one(f, bf16(16, 8), mesh_of(4, 2), P("X", "Y"))
    assert (got.volume, got.sent) == (64, 32)  # X times 64 B, not 256 B


@pytest.mark.parametrize(
    ("shape", "axis", "V", "shard_bytes"),
    [
        pytest.param((2048, 8192), 4, 33_554_432, 8_388_608, id="S5.10"),
        pytest.param((256, 256), 4, 131_072, 32_768, id="S5.11"),
        pytest.param((128,), 4, 256, 64, id="S10.3"),
    ],
)
def test_worked_all_gathers(shape, axis, V, shard_bytes):
    got = one(gather, bf16(*shape), mesh_of(axis))
    assert (got.volume, got.sent) == (V, 3 * shard_bytes)


def test_all_reduce_of_one_scalar_is_a_fraction_of_a_byte_short():
    got = one(lambda x: lax.psum(x.sum(), "X"), bf16(16), mesh_of(8))
    assert (got.volume, got.sent) == (4, 3.5)


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 5))
def test_all_reduce_is_reduce_scatter_and_all_gather(N, rows, columns):
    x, mesh = bf16(N * N * rows, columns), mesh_of(N)
    whole = shard(lambda x: lax.psum(x, "X"), mesh, P("X"))
    halves = shard(
        lambda x: gather(lax.psum_scatter(x, "X", tiled=True)), mesh, P("X")
    )
    one, two = count.collectives(whole, x), count.collectives(halves, x)
    assert count.volume(one) == count.volume(two)
    assert count.sent(one) == count.sent(two)
    assert (count.volume(one) == 0) == (N == 1)


def ring_all_gather(x, N):
    """Round the ring by hand: N-1 hops of one block, each a ppermute."""
    to_next = [(i, (i + 1) % N) for i in range(N)]

    def hop(block, _):
        return (lax.ppermute(block, "X", to_next), block)

    last, blocks = lax.scan(hop, x, length=N - 1)
    return jnp.concatenate([*blocks, last])


@given(st.integers(2, 16), st.integers(1, 9))
def test_sent_is_what_a_ring_written_by_hand_sends(N, rows):
    x, mesh = bf16(N * rows, 3), mesh_of(N)
    by_hand = count.collectives(
        shard(partial(ring_all_gather, N=N), mesh, P("X")), x
    )
    (built_in,) = count.collectives(shard(gather, mesh, P("X")), x)
    assert count.sent(by_hand) == built_in.sent == (N - 1) * rows * 6
    assert by_hand[0].times == N - 1


# --- through everything that calls a function ---------------------------------


@jax.custom_vjp
def tied(x):
    return gather(x)


tied.defvjp(
    lambda x: (gather(x), None),
    lambda _, g: (lax.psum_scatter(g, "X", tiled=True),),
)


@jax.custom_jvp
def forward_ruled(x):
    return gather(x)


forward_ruled.defjvp(lambda p, t: (gather(*p), gather(*t)))


def repeated(times):
    return lambda x: lax.fori_loop(0, times, lambda _, c: gather(c)[:4], x)


def twice_three_times(x):
    def inner(c, _):
        return (gather(c)[:4], None)

    def outer(c, _):
        return (lax.scan(inner, c, length=3)[0], None)

    return lax.scan(outer, x, length=2)[0]


def either(x):
    return lax.cond(x[0, 0] > 0, gather, lambda y: gather(2 * y), x)


def one_of_three(x):
    ways = [gather, lambda y: gather(-y), lambda y: 2 * gather(y)]
    return lax.switch(x[0, 0].astype(int), ways, x)


def quiet_while(x):
    x = lax.while_loop(lambda c: c[0, 0] < 9, lambda c: c + 1, x)
    return gather(x)


CALLERS = {
    "jit": (jax.jit(gather), 1),
    "nested jit": (jax.jit(lambda x: jax.jit(jax.jit(gather))(x)), 1),
    "checkpoint": (jax.checkpoint(gather), 1),
    "custom_vjp": (tied, 1),
    "custom_jvp": (forward_ruled, 1),
    "fori_loop": (repeated(5), 5),
    "no turns": (repeated(0), 0),
    "scan in scan": (twice_three_times, 6),
    "map": (lambda x: lax.map(lambda _: gather(x), jnp.arange(7)), 7),
    "cond": (either, 1),
    "switch": (one_of_three, 1),
    "while with nothing in it": (quiet_while, 1),
    "vmap": (jax.vmap(gather, in_axes=1, out_axes=1), 1),
}


@each("name", CALLERS)
def test_collectives_are_found_wherever_they_are_called(name):
    f, times = CALLERS[name]
    moved = count.collectives(shard(f, mesh_of(4, 2), P("X")), bf16(16, 8))
    expected = {("all_gather", "X"): 256 * times} if times else {}
    assert count.volumes(moved) == expected
    assert sum(c.times for c in moved) == times


def test_pmap_is_counted():
    f = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    x = jnp.zeros((8, 4), jnp.bfloat16)
    assert count.volumes(count.collectives(f, x)) == {("all_reduce", "i"): 16}


def test_nested_shard_maps_are_counted_on_their_own_pieces():
    inner = jax.shard_map(
        lambda y: lax.psum(y, "Y"),
        in_specs=P(None, "Y"),
        out_specs=P(),
        axis_names={"Y"},
    )
    f = jax.shard_map(
        inner,
        mesh=mesh_of(4, 2),
        in_specs=P("X"),
        out_specs=P("X"),
        axis_names={"X"},
    )
    (only,) = count.collectives(f, bf16(16, 8))
    assert (only.axes, only.volume, only.sent) == (("Y",), 64, 32)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {}, {"all_gather": 256, "reduce_scatter": 256}, id="saved"
        ),
        pytest.param(
            {"prevent_cse": True, "policy": None},
            {"all_gather": 512, "reduce_scatter": 256},
            id="gathered again",
        ),
    ],
)
def test_the_derivative_of_a_gather_is_a_scatter(options, expected):
    # S8.4: the transpose of AllGather is ReduceScatter, and remat gathers anew.
    def f(x):
        return jnp.sin(gather(x))

    f = jax.checkpoint(f, **options) if options else f
    f = shard(f, mesh_of(4), P("X"), out=P("X"), check_vma=True)

    def both_passes(x, g):
        out, back = jax.vjp(f, x)
        return out, back(g)

    moved = count.collectives(both_passes, bf16(16, 8), bf16(64, 8))
    assert {k: v for (k, _), v in count.volumes(moved).items()} == expected


def test_custom_gradients_are_counted_when_they_are_asked_for():
    f = shard(tied, mesh_of(4), P("X"), out=P("X"), check_vma=True)

    def both_passes(x, g):
        return jax.vjp(f, x)[1](g)

    moved = count.collectives(both_passes, bf16(16, 8), bf16(64, 8))
    assert count.volumes(moved) == {
        ("all_gather", "X"): 256,
        ("reduce_scatter", "X"): 256,
    }


def test_what_no_result_needs_is_counted_unless_only_live_code_is_asked_for():
    def wasteful(x):
        gather(x)
        unused = lax.scan(lambda c, _: (lax.psum(c, "X"), None), x, length=3)
        return lax.ppermute(x, "X", [(0, 1)]), unused

    f = jax.jit(shard(lambda x: wasteful(x)[0], mesh_of(4), P("X")))

    def kinds(moved):
        return [c.kind for c in moved]

    written = count.collectives(f, bf16(16, 8))
    live = count.collectives(f, bf16(16, 8), live=True)
    assert kinds(written) == ["all_gather", "all_reduce", "permute"]
    assert kinds(live) == ["permute"]


def test_arguments_may_be_trees_with_leaves_that_are_no_arrays():
    def f(tree, name, how_often):
        g = shard(lambda x: lax.psum(x, name), mesh_of(4), P("X"))
        for _ in range(how_often):
            g(tree["x"])
        return None if tree["none"] is None else 1 / 0

    moved = count.collectives(f, {"x": bf16(16), "none": None}, "X", 3)
    assert count.volume(moved) == 3 * 16


# --- what cannot be counted is refused by name --------------------------------


def unequal_branches(x):
    return lax.cond(x[0, 0] > 0, gather, lambda y: jnp.tile(y, (4, 1)), x)


def endless(x):
    return lax.while_loop(lambda c: c[0, 0] < 9, lambda c: lax.psum(c, "X"), x)


def summed_in_the_test(x):
    return lax.while_loop(
        lambda c: lax.psum(c, "X")[0, 0] < 9, lambda c: c + 1, x
    )


def in_groups(x):
    return lax.psum(x, "X", axis_index_groups=[[0, 1], [2, 3]])


def ragged(x):
    i = jnp.arange(4, dtype=jnp.int32)
    return lax.ragged_all_to_all(x, x, i, i, i, i, axis_name="X")


def of_a_new_primitive(effects=(), **params):
    """A primitive that the counter has never heard of."""
    whisper = Primitive("whisper")
    whisper.def_effectful_abstract_eval(lambda x, **_: (x, set(effects)))
    return lambda x: whisper.bind(x, **params)


HIDDEN_GATHER = jax.make_jaxpr(shard(gather, mesh_of(4), ROWS))(bf16(16, 8))


def kernel(x):
    from jax.experimental import pallas as pl

    def body(source, target):
        target[...] = source[...]

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(body, out_shape=shape)(x)


REFUSED = {
    "cond": (unequal_branches, r"cannot count `cond`.*0: nothing; 1: 1 all_g"),
    "while": (endless, r"cannot count `while`.*1 all_reduce over X"),
    "while test": (summed_in_the_test, r"cannot count `while`"),
    "groups": (in_groups, r"cannot count `psum`.*axis_index_groups"),
    "ragged": (ragged, r"cannot count `ragged_all_to_all`"),
    "unknown": (
        of_a_new_primitive(axis_name="X"),
        r"cannot count `whisper`.*mesh axis",
    ),
    "unknown of several axes": (
        of_a_new_primitive(axes=(0, "X")),
        r"cannot count `whisper`.*mesh axis",
    ),
    "unknown with an effect": (
        of_a_new_primitive(effects=[NamedAxisEffect("X")]),
        r"cannot count `whisper`.*mesh axis",
    ),
    "unknown caller": (
        of_a_new_primitive(body=HIDDEN_GATHER),
        r"cannot count `whisper`.*collectives",
    ),
    "kernel": (kernel, r"cannot count `pallas_call`"),
}


@each("name", REFUSED)
def test_refused_by_name(name):
    f, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        count.collectives(shard(f, mesh_of(4), P("X")), bf16(16, 8))


@pytest.mark.parametrize("f", [None, 3, "psum"])
def test_f_must_be_a_function(f):
    with pytest.raises(ValueError, match="f must be a function"):
        count.collectives(f, bf16(16))


def test_an_unknown_operation_without_a_mesh_is_just_work():
    f = shard(of_a_new_primitive(volume="loud"), mesh_of(4), P("X"))
    assert count.collectives(f, bf16(16, 8)) == ()


# --- explicit types -----------------------------------------------------------

EX = mesh_of(4, 2, kind=EXPLICIT)


def typed(shape, *spec, dtype=jnp.float32, **reduction):
    sharding = NamedSharding(EX, P(*spec, **reduction))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def volumes_of(f, *args):
    with jax.sharding.use_abstract_mesh(EX):
        return count.volumes(count.collectives(f, *args))


def matmul(*out, **reduction):
    spec = P(*out, **reduction) if out or reduction else None
    return lambda A, B: jnp.einsum("ij,jk->ik", A, B, out_sharding=spec)


A_BYTES, B_BYTES, C_BYTES = 4 * 16 * 32, 4 * 32 * 64, 4 * 16 * 64
MATMULS = {
    "S4.2 I,K": ([], [], matmul(), {}),
    "S4.2 I_X,K": (["X"], [], matmul(), {}),
    "S4.2 I,K_Y": ([], [None, "Y"], matmul(), {}),
    "S4.2 I_X,K_Y": (["X"], [None, "Y"], matmul(), {}),
    "S5.1 A": ([None, "X"], [], matmul(), {("all_gather", "X"): A_BYTES}),
    "S5.1 B": ([], ["X"], matmul(), {("all_gather", "X"): B_BYTES}),
    "S5.1 rows apart": (
        ["Y", "X"],
        [],
        matmul(),
        {("all_gather", "X"): A_BYTES // 2},
    ),
    "S5.1 A cut as K": (
        [None, "X"],
        [None, "X"],
        matmul(),
        {("all_gather", "X"): A_BYTES},
    ),
    "S6.1 left unreduced": (
        [None, "X"],
        ["X"],
        matmul(None, None, unreduced={"X"}),
        {},
    ),
    "S6.3 all-reduced": (
        [None, "X"],
        ["X"],
        matmul(None, None),
        {("all_reduce", "X"): 2 * C_BYTES},
    ),
    "S6.3 in parts": (
        ["Y", "X"],
        ["X"],
        matmul("Y", None),
        {("all_reduce", "X"): C_BYTES},
    ),
    "S8.5 scattered": (
        [None, "X"],
        ["X"],
        matmul(None, "X"),
        {("reduce_scatter", "X"): C_BYTES},
    ),
    "S7.2 gather B": (
        ["X"],
        [None, "X"],
        matmul("X", None),
        {("all_gather", "X"): B_BYTES},
    ),
    "S7.2 gather A": (
        ["X"],
        [None, "X"],
        matmul(None, "X"),
        {("all_gather", "X"): A_BYTES},
    ),
    "cut on the way out": ([], [], matmul("X", "Y"), {}),
}


@each("name", MATMULS)
def test_the_four_cases_of_a_sharded_matmul(name):
    A, B, f, expected = MATMULS[name]
    assert volumes_of(f, typed((16, 32), *A), typed((32, 64), *B)) == expected


@pytest.mark.parametrize(
    ("A", "B", "f", "message"),
    [
        pytest.param(
            *(["X"], [], matmul(None, None), "all_gather over X, before or"),
            id="S5.3 before or after",
        ),
        pytest.param(
            *(["X"], [None, "X"], matmul(None, None), "keeps neither"),
            id="S7.2 neither kept",
        ),
        pytest.param(
            *([None, "X"], ["X"], matmul("Y", None), "several steps"),
            id="sum or cut first",
        ),
    ],
)
def test_matmuls_whose_bytes_the_types_do_not_tell(A, B, f, message):
    with pytest.raises(ValueError, match=f"`dot_general`.*{message}"):
        volumes_of(f, typed((16, 32), *A), typed((32, 64), *B))


def x_of(*spec, **reduction):
    return typed((16, 32), *spec, **reduction)


V = 4 * 16 * 32
LOCAL = {
    "elementwise": (lambda x: jnp.tanh(x) + x * 2, [x_of("X", "Y")], {}),
    "operands are cut on the way": (
        lambda x, y: x + y,
        [x_of("X"), x_of(None, "Y")],
        {},
    ),
    "sum over rows": (
        lambda x: x.sum(0),
        [x_of("X", "Y")],
        {("all_reduce", "X"): 2 * 4 * 16},
    ),
    "sum over all": (
        lambda x: x.sum(),
        [x_of("X", "Y")],
        {("all_reduce", "X", "Y"): 2 * 4},
    ),
    "maximum": (
        lambda x: x.max(1),
        [x_of("X", "Y")],
        {("all_reduce", "Y"): 2 * 4 * 4},
    ),
    "sum over whole rows": (lambda x: x.sum(1), [x_of("X")], {}),
    "softmax over whole rows": (
        lambda x: jax.nn.softmax(x, 1),
        [x_of("X")],
        {},
    ),
    "softmax over cut rows": (
        lambda x: jax.nn.softmax(x, 0),
        [x_of("X")],
        {("all_reduce", "X"): 2 * 2 * 4 * 32},
    ),
    "transposed": (lambda x: x.T * 2, [x_of("X", "Y")], {}),
    "split in heads": (lambda x: x.reshape(16, 4, 8), [x_of("X", "Y")], {}),
    "along whole rows": (
        lambda x: jnp.sort(jnp.cumsum(x, 1), 1)[:, ::-1][:, :3],
        [x_of("X")],
        {},
    ),
    "joined": (lambda x: jnp.concatenate([x, x], 1), [x_of("X")], {}),
    "masked": (
        lambda x: jnp.where(jnp.tril(jnp.ones((16, 32), bool)), x, 0.0),
        [x_of("X", "Y")],
        {},
    ),
    "batched": (
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        [typed((8, 2, 4), "X"), typed((8, 4, 6), "X")],
        {},
    ),
    "in a scan": (
        lambda x: lax.scan(lambda c, r: (c + r.sum(), None), 0.0, x)[0],
        [x_of(None, "X")],
        {("all_reduce", "X"): 16 * 2 * 4},
    ),
    "jit and remat": (
        jax.jit(jax.checkpoint(lambda x: jnp.sin(x).sum(0))),
        [x_of("X")],
        {("all_reduce", "X"): 2 * 4 * 32},
    ),
}


@each("name", LOCAL)
def test_operations_on_explicit_types(name):
    f, args, expected = LOCAL[name]
    assert volumes_of(f, *args) == expected


UNCLEAR = {
    "slice": (lambda x: x[:8], [x_of("X")]),
    "rev": (lambda x: x[::-1], [x_of("X")]),
    "concatenate": (lambda x: jnp.concatenate([x, x], 0), [x_of("X")]),
    "argmax": (lambda x: jnp.argmax(x, 0), [x_of("X")]),
    "gather": (lambda x: x[:, jnp.array([1, 2])], [x_of("X")]),
    "reshape": (
        lambda x: jnp.reshape(x, (32, 16), out_sharding=P("X", None)),
        [x_of("X")],
    ),
    "auto_axes": (
        jax.sharding.auto_axes(lambda x: x @ x.T, out_sharding=P("X", None)),
        [x_of("X")],
    ),
    "out_shardings": (
        jax.jit(jnp.sin, out_shardings=NamedSharding(EX, P(None, "X"))),
        [x_of("X")],
    ),
}


@each("name", UNCLEAR)
def test_operations_whose_bytes_the_types_do_not_tell(name):
    f, args = UNCLEAR[name]
    with pytest.raises(ValueError, match=f"cannot count `{name}`"):
        volumes_of(f, *args)


RESHARDS = {
    "gather": (("X",), (), {("all_gather", "X"): V}),
    "gather in parts": (("X", "Y"), ("X",), {("all_gather", "Y"): V // 4}),
    "gather the minor": ((("X", "Y"),), ("X",), {("all_gather", "Y"): V // 4}),
    "gather both": ((("X", "Y"),), (), {("all_gather", "X", "Y"): V}),
    "S8.2 all to all": (("X",), (None, "X"), {("all_to_all", "X"): V // 4}),
    "slice": (("X",), ("X", "Y"), {}),
    "S1.9 another order": (
        (("X", "Y"),),
        (("Y", "X"),),
        {("permute", "X", "Y"): V // 8},
    ),
    "nothing": (("X", "Y"), ("X", "Y"), {}),
}


@each("name", RESHARDS)
def test_reshards(name):
    before, after, expected = RESHARDS[name]

    def f(x):
        return jax.reshard(x, P(*after))

    assert volumes_of(f, x_of(*before)) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(P(), {("all_reduce", "X"): 2 * V}, id="S6.3"),
        pytest.param(P("X"), {("reduce_scatter", "X"): V}, id="S8.6 rows"),
        pytest.param(
            P(None, "X"), {("reduce_scatter", "X"): V}, id="S8.6 columns"
        ),
    ],
)
def test_partial_sums_are_resolved_as_the_target_says(after, expected):
    x = typed((16, 32), None, None, unreduced={"X"})
    assert volumes_of(lambda x: jax.reshard(x, after), x) == expected


def test_partial_sums_stay_partial_through_what_is_linear():
    x = typed((16, 32), "Y", None, unreduced={"X"})
    # Of each: the sum over Y that the operation itself needs, then that of X.
    assert volumes_of(lambda x: jax.reshard(x + x, P("Y")), x) == {
        ("all_reduce", "X"): V
    }
    assert volumes_of(lambda x: jax.reshard(x.sum(0), P()), x) == {
        ("all_reduce", "Y"): 2 * 4 * 32,
        ("all_reduce", "X"): 2 * 4 * 32,
    }


def test_another_order_does_not_hide_a_sum():
    mesh = mesh_of(2, 2, 2, kind=EXPLICIT)
    spec = P(("X", "Y"), None, unreduced={"Z"})
    x = jax.ShapeDtypeStruct(
        (16, 8), jnp.float32, sharding=NamedSharding(mesh, spec)
    )
    turned = P(("Y", "X"), None, unreduced={"Z"})
    with jax.sharding.use_abstract_mesh(mesh):
        moved = count.collectives(lambda x: jax.reshard(x, turned), x)
        with pytest.raises(ValueError, match="`reshard`.*cut anew"):
            count.collectives(lambda x: jax.reshard(x, P(("Y", "X"))), x)
    assert count.volumes(moved) == {("permute", "X", "Y"): 128}


def test_pieces_do_not_become_summands():
    waiting = P(None, None, unreduced={"X"})

    def to_sum(x):
        return jax.reshard(x, waiting)

    assert volumes_of(to_sum, x_of()) == {}
    with pytest.raises(ValueError, match="cannot become unreduced"):
        volumes_of(to_sum, x_of("X"))


@each(
    ("before", "after"),
    [
        pytest.param(x_of("X", "Y"), P(), id="two gathers"),
        pytest.param(x_of("X"), P("Y"), id="one axis for another"),
        pytest.param(x_of(("X", "Y")), P("Y"), id="the major axis"),
        pytest.param(x_of("X", "Y"), P("Y", "X"), id="a swap"),
        pytest.param(
            x_of(None, None, unreduced={"X"}), P("Y"), id="a sum and a slice"
        ),
        pytest.param(
            x_of(None, None, unreduced={"X", "Y"}), P("X"), id="two sums"
        ),
    ],
)
def test_a_reshard_of_several_steps_is_refused(before, after):
    with pytest.raises(ValueError, match="`reshard`.*reshards"):
        volumes_of(lambda x: jax.reshard(x, after), before)


SPECS = [P(), P("X"), P("Y"), P(None, "X"), P(None, "Y"), P("X", "Y")]
SPECS += [P("Y", "X"), P(("X", "Y")), P(("Y", "X")), P(None, ("X", "Y"))]


@given(st.sampled_from(SPECS), st.sampled_from(SPECS), st.integers(1, 3))
def test_a_reshard_sends_what_the_devices_lack(before, after, scale):
    # Oracle: JAX's own map of which device holds which elements. Each element
    # that a device lacks must reach it once, and a device sends as much as it
    # gets. A permute is charged to its busiest device: some may hold all.
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(EXPLICIT,) * 2)
    shape = (8 * scale, 16)
    held = [
        NamedSharding(mesh, spec).devices_indices_map(shape)
        for spec in (before, after)
    ]
    lacking = []
    for device in mesh.devices.flat:
        has, needs = np.zeros(shape, bool), np.zeros(shape, bool)
        has[held[0][device]] = needs[held[1][device]] = True
        lacking.append(4 * np.sum(needs & ~has))
    x = jax.ShapeDtypeStruct(
        shape, jnp.float32, sharding=NamedSharding(mesh, before)
    )
    target = NamedSharding(mesh, after)
    try:
        moved = count.collectives(lambda x: jax.reshard(x, target), x)
    except ValueError as refusal:
        assume("cannot count `reshard`" not in str(refusal))
        raise
    assert count.sent(moved) == max(lacking)
    assert len(moved) <= 1
    if moved and moved[0].kind != "permute":
        assert set(lacking) == {count.sent(moved)}


@pytest.mark.parametrize(
    ("reduced", "kind", "factor"),
    [
        pytest.param({"X"}, "reduce_scatter", 1, id="remembers its axis"),
        pytest.param(set(), "all_reduce", 2, id="forgets its axis"),
    ],
)
def test_a_gather_that_forgets_its_axis_doubles_the_way_back(
    reduced, kind, factor
):
    def f(x, w, g):
        gathered = P(None, None, reduced=reduced)
        y, back = jax.vjp(lambda w: x @ jax.reshard(w, gathered), w)
        return y, back(g)

    w = typed((32, 64), "X")
    got = volumes_of(f, x_of("X"), w, typed((16, 64), "X"))
    assert got == {("all_gather", "X"): B_BYTES, (kind, "X"): factor * B_BYTES}


# --- Auto axes: only what is certain is counted -------------------------------

AU = mesh_of(4, 2)


def ones(*shape):
    return jnp.ones(shape or (16, 8), jnp.bfloat16)


def lying(*spec, shape=(16, 8), mesh=AU):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)


def piecewise(spec, out=None):
    """A shard_map that works on its pieces only."""
    return jax.shard_map(
        jnp.tanh,
        mesh=AU,
        in_specs=spec,
        out_specs=spec if out is None else out,
    )


ARRIVING = {
    "as wanted": (P("X"), P("X"), {}),
    "cut on arrival": (P(), P("X"), {}),
    "gathered on arrival": (P("X"), P(), {("all_gather", "X"): 256}),
    "turned on arrival": (P("X"), P(None, "X"), {("all_to_all", "X"): 64}),
}


@pytest.mark.parametrize("name", ARRIVING)
def test_an_argument_that_lies_otherwise_is_moved_and_counted(name):
    have, want, expected = ARRIVING[name]
    f = piecewise(want)
    for g in (f, jax.jit(f), jax.jit(jax.checkpoint(f))):
        moved = count.collectives(g, lying(*have))
        assert count.volumes(moved) == expected


def test_an_argument_cannot_lie_in_two_ways():
    rows, columns = piecewise(P("X")), piecewise(P(None, "X"))
    jitted = jax.jit(rows), jax.jit(columns)

    def calls_both(x):
        return rows(x), columns(x)

    def calls_both_jitted(x):
        return jitted[0](x), jitted[1](x)

    for f in (calls_both, calls_both_jitted):
        moved = count.collectives(f, bf16(16, 8))
        assert count.volumes(moved) == {("all_to_all", "X"): 64}


def test_a_value_between_two_shard_maps_is_followed():
    def f(x):
        return piecewise(P())(2 * piecewise(P("X"))(x) + 1)

    moved = count.collectives(f, bf16(16, 8))
    assert count.volumes(moved) == {("all_gather", "X"): 256}


def test_a_value_that_a_function_closes_over_is_followed():
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AUTO,))
    x = jax.device_put(jnp.ones((16, 8)), NamedSharding(mesh, P("X")))
    f = jax.shard_map(jnp.tanh, mesh=mesh, in_specs=P(), out_specs=P())
    assert count.volumes(count.collectives(lambda: f(x))) == {
        ("all_gather", "X"): 512
    }
    assert count.volumes(count.collectives(jax.jit(lambda: f(x)))) == {
        ("all_gather", "X"): 512
    }


def test_a_carry_is_followed_round_its_loop():
    rows = piecewise(P("X"))

    def body(c, _):
        return (c + rows(c), None)

    def loop(x):
        return lax.scan(body, x, length=3)[0]

    assert count.collectives(loop, bf16(16, 8)) == ()
    moved = count.collectives(lambda x: piecewise(P())(loop(x)), bf16(16, 8))
    assert count.volumes(moved) == {("all_gather", "X"): 256}


@pytest.mark.parametrize("start", [ones, lambda: None])
def test_a_carry_lies_where_the_body_leaves_it(start):
    # In the first turn c is whole or of unknown place, and then it is cut.
    def loop(x, c):
        def body(c, _):
            return (piecewise(P("X"))(x), 2 * c)

        return lax.scan(body, c if start() is None else start(), length=3)

    for i, size in enumerate((256, 3 * 256)):

        def gathered(x, c, i=i):
            return piecewise(P())(loop(x, c)[i])

        moved = count.collectives(gathered, bf16(16, 8), bf16(16, 8))
        assert count.volumes(moved) == {("all_gather", "X"): size}


def test_a_carry_that_starts_in_pieces_stays_in_pieces():
    def f(x):
        zeros = lax.fori_loop(0, 3, lambda _, c: jnp.zeros_like(c), x)
        return piecewise(P())(zeros)

    assert count.volumes(count.collectives(f, lying("X"))) == {
        ("all_gather", "X"): 256
    }


@pytest.mark.parametrize("swapped", [False, True])
def test_a_choice_lies_as_the_branch_that_is_cut(swapped):
    branches = [jnp.zeros_like, piecewise(P("X"))]
    if swapped:
        branches.reverse()

    def f(x):
        return piecewise(P())(lax.cond(x.sum() > 0, *branches, x))

    assert count.volumes(count.collectives(f, bf16(16, 8))) == {
        ("all_gather", "X"): 256
    }


TURNING = {
    "scan": lambda x: lax.scan(lambda c, _: (c.T, None), x, length=2),
    "while": lambda x: lax.while_loop(lambda c: c[0, 0] < 9, jnp.transpose, x),
    "cond": lambda x: lax.cond(True, jnp.transpose, jnp.tanh, x),
}


@pytest.mark.parametrize("name", TURNING)
def test_a_value_that_lies_now_here_now_there_is_refused(name):
    x = lying("X", shape=(16, 16))
    with pytest.raises(ValueError, match=f"`{name}`.*moves in between"):
        count.collectives(TURNING[name], x)


def test_what_is_computed_from_a_shape_lies_where_it_is_first_wanted():
    def f(x):
        y = 2 * x
        return piecewise(P("X"))(y), piecewise(P())(y)

    assert count.volumes(count.collectives(f, bf16(16, 8))) == {
        ("all_gather", "X"): 256
    }


FOLLOWED = {
    "broadcast_in_dim": lambda x: jnp.broadcast_to(x, (3, 16, 8)),
    "transpose": lambda x: x.T,
    "dot_general": lambda x: x @ jnp.ones((8, 8), x.dtype),
    "batched dot_general": lambda x: lax.dot_general(
        jnp.ones_like(x), x, (((1,), (1,)), ((0,), (0,)))
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_value_is_followed_through(name):
    def f(x):
        return FOLLOWED[name](piecewise(P("X"))(x))

    size = jax.eval_shape(f, bf16(16, 8)).size

    def gathered(x):
        return piecewise(P())(f(x))

    assert count.volumes(count.collectives(gathered, bf16(16, 8))) == {
        ("all_gather", "X"): 2 * size
    }


@each(
    "f",
    [
        pytest.param(lambda x: x.sum(0), id="over rows"),
        pytest.param(lambda x: x.sum(), id="over all"),
        pytest.param(lambda x: x.astype("float32").mean(), id="mean"),
        pytest.param(lambda x: x.max(0), id="maximum"),
        pytest.param(jax.jit(lambda x: x.sum(0)), id="in jit"),
        pytest.param(
            lambda x: lax.scan(lambda c, r: (c + r.sum(), None), 0.0, x.T)[0],
            id="in a scan",
        ),
    ],
)
def test_a_sum_over_pieces_on_auto_axes_is_left_to_the_compiler(f):
    # An AllReduce, a ReduceScatter or a gather and a sum: XLA decides.
    for before in (lambda x: x, piecewise(P("X"))):
        said = silent(lambda x, before=before: f(before(x)), lying("X"))
        assert "`reduce_" in said
        assert "compiler decides" in said


def test_a_sum_along_what_is_whole_needs_nobody():
    assert count.collectives(lambda x: x.sum(1), lying("X")) == ()
    assert count.collectives(lambda x: x.sum(0), bf16(16, 8)) == ()


def test_an_array_that_is_put_somewhere_lies_there():
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AUTO,))
    rows = NamedSharding(mesh, P("X"))
    wanted = jax.shard_map(jnp.tanh, mesh=mesh, in_specs=P(), out_specs=P())

    def put(x):
        return jax.device_put(2 * x, rows)

    gathered = count.collectives(lambda x: wanted(put(x)), np.ones((16, 8)))
    assert count.volumes(gathered) == {("all_gather", "X"): 512}
    assert "`reduce_sum`" in silent(lambda x: put(x).sum(0), np.ones((16, 8)))
    x = jax.device_put(np.ones((16, 8)), rows)
    assert count.collectives(put, x) == ()
    assert count.collectives(jax.device_put, x) == ()
    for other in NamedSharding(mesh, P()), jax.devices()[0]:
        where = partial(jax.device_put, device=other)
        assert "`device_put`: the array lies" in silent(where, x)


def test_pieces_that_are_uneven_are_refused():
    said = silent(piecewise(P()), lying("X", shape=(6, 4)))
    assert "shape (6, 4)`: laid out as [X, -], its pieces are uneven" in said


HIDDEN = {
    "dot_general: whether": ("dot_general", lambda x: x.T @ x),
    "dot_general: which": ("dot_general", lambda x: x.T @ ones(16, 2)),
    "dot_general: two ways": (
        "dot_general`: its contraction is cut in two ways",
        lambda x: piecewise(P(None, "Y"))(ones(8, 16)) @ x,
    ),
    "add: on one axis": ("add", lambda x: x + piecewise(P(None, "X"))(ones())),
    "add: on two axes": ("add", lambda x: x + piecewise(P("Y"))(ones())),
    "with_sharding_constraint": (
        "with_sharding_constraint",
        lambda x: lax.with_sharding_constraint(
            x, NamedSharding(AU, P(None, "X"))
        ),
    ),
    "in_shardings": (
        "in_shardings",
        jax.jit(jnp.sin, in_shardings=NamedSharding(AU, P("Y"))),
    ),
    "out_shardings": (
        "out_shardings",
        jax.jit(jnp.sin, out_shardings=NamedSharding(AU, P("Y"))),
    ),
    "reshape": ("reshape", lambda x: x.reshape(-1)),
    "scan": ("scan", lambda x: lax.scan(lambda c, r: (c, r), 0, x)),
}


@each("case", HIDDEN)
def test_what_the_compiler_decides_is_refused(case):
    name, f = HIDDEN[case]
    with pytest.raises(ValueError, match=f"cannot count `{name}"):
        count.collectives(f, lying("X"))


def test_a_sharding_without_axes_is_refused():
    @dataclass
    class Unnamed:
        device_set: tuple = ("one", "other")

    with pytest.raises(ValueError, match="argument 0.*Unnamed names no mesh"):
        from_sharding(Unnamed(), 2, "argument 0")


def test_a_mesh_of_both_kinds_of_axes_is_refused():
    mesh = AbstractMesh((4, 2), ("X", "Y"), (EXPLICIT, AUTO))
    with pytest.raises(ValueError, match="mixes Explicit and Auto"):
        count.collectives(jnp.sin, lying("X", mesh=mesh))


# --- scale --------------------------------------------------------------------


def layers(mesh, depth):
    """A stack of FSDP layers in a scan, as a real model is written."""

    def layer(x, w):
        return x @ lax.all_gather(w, "X", tiled=True), None

    def f(x, w):
        return lax.scan(layer, x, w)[0]

    f = shard(f, mesh, P("X"), P(None, "X", None), out=P("X"))
    return f, (bf16(2**20, 8192), bf16(depth, 8192, 8192))


def test_4096_chips_and_80_layers_cost_no_more_than_8_chips(monkeypatch):
    visited = []
    counted = walking.equation
    monkeypatch.setattr(
        walking,
        "equation",
        lambda eqn, *rest: visited.append(eqn) or counted(eqn, *rest),
    )

    def work(mesh, depth):
        visited.clear()
        f, args = layers(mesh, depth)
        volume = count.volume(count.collectives(f, *args))
        assert volume == depth * 2 * 8192**2
        return len(visited)

    assert work(mesh_of(512, 8), 80) == work(mesh_of(4, 2), 1) < 10


# --- sums of records ----------------------------------------------------------


def mixed():
    def f(x):
        x = lax.scan(lambda c, _: (lax.psum(c, "X"), None), x, length=3)[0]
        return lax.all_to_all(gather(x), "Y", 1, 0, tiled=True)

    return count.collectives(shard(f, mesh_of(4, 2), P("X", "Y")), bf16(16, 8))


def test_sums_by_axis_and_by_kind():
    moved = mixed()
    assert count.volumes(moved) == {
        ("all_reduce", "X"): 3 * 64,
        ("all_gather", "X"): 128,
        ("all_to_all", "Y"): 64,
    }
    assert count.volume(moved) == 3 * 64 + 128 + 64
    assert count.volume(moved, "X") == count.volume(moved, ("X",)) == 320
    assert count.volume(moved, "Y") == 64
    assert count.sent(moved) == 3 * 48 + 96 + 64
    assert count.sent(moved, axes="X") == 3 * 48 + 96


def test_axes_are_a_set_of_names():
    f = shard(lambda x: lax.psum(x, ("Y", "X")), mesh_of(4, 2), P())
    moved = count.collectives(f, bf16(16))
    assert count.volume(moved, ("X", "Y")) == count.volume(moved, ["Y", "X"])
    assert count.volume(moved, "X") == 0


def test_the_table_reads_in_columns():
    assert count.table(mixed()).splitlines() == [
        "collective  axes  times  volume [B]  sent [B]",
        "all_reduce  X         3         192       144",
        "all_gather  X         1         128        96",
        "all_to_all  Y         1          64        64",
        "total                 5         384       304",
    ]


def test_the_table_may_leave_the_volume_out():
    assert count.table(mixed(), with_volume=False).splitlines() == [
        "collective  axes  times  sent [B]",
        "all_reduce  X         3       144",
        "all_gather  X         1        96",
        "all_to_all  Y         1        64",
        "total                 5       304",
    ]
    with pytest.raises(
        ValueError, match="with_volume must be one of True, False"
    ):
        count.table(mixed(), with_volume="no")


def test_the_table_of_nothing_says_zero():
    assert count.table(()).splitlines()[-1].split() == ["total", "0", "0", "0"]


@given(st.lists(st.tuples(st.integers(2, 7), st.integers(1, 99)), max_size=9))
def test_totals_are_exact_whatever_the_fractions(groups):
    moved = [
        one(lambda x: lax.psum(x, "X"), bf16(size), mesh_of(N), P())
        for N, size in groups
    ]
    exact = math.fsum(4 * size * (N - 1) / N for N, size in groups)
    assert count.volume(moved) == sum(4 * size for _, size in groups)
    assert count.sent(moved) == pytest.approx(exact, rel=1e-12)


# --- bytes held ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "sizes", "spec", "each"),
    [
        pytest.param(
            *((128, 2048), "int8", (2, 8, 2), P(("X", "Y")), 16_384), id="S1.11"
        ),
        pytest.param(
            *((1024, 4096), "float32", (8, 2), P(("X", "Y")), 2**20), id="N1"
        ),
        pytest.param(
            *((4, 128), "float32", (2, 2), P("X", "Y"), 512), id="S0.3"
        ),
        pytest.param(*((4, 128), "float32", (2, 2), P(), 2048), id="S1.5"),
    ],
)
def test_held_bytes_of_worked_arrays(shape, dtype, sizes, spec, each):
    sharding = NamedSharding(mesh_of(*sizes), spec)
    x = jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
    assert count.held(x) == each


def test_held_agrees_with_the_devices():
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AUTO,) * 2)
    for spec in SPECS:
        x = jax.device_put(jnp.ones((16, 24)), NamedSharding(mesh, spec))
        on_each = {s.data.nbytes for s in x.addressable_shards}
        assert {count.held(x)} == on_each


def test_partial_sums_are_held_whole():
    sharding = NamedSharding(EX, P("Y", None, unreduced={"X"}))
    x = jax.ShapeDtypeStruct((16, 8), jnp.bfloat16, sharding=sharding)
    assert count.held(x) == 2 * 16 * 8 // 2


def test_held_adds_up_trees():
    x = lying("X")
    tree = {"w": (x, [lying("X", "Y")]), "n": np.zeros((3, 5), np.float32)}
    assert count.held(tree) == 64 + 32 + 60
    assert count.held(jnp.ones((4, 4))) == 64
    assert count.held(()) == 0


@pytest.mark.parametrize(
    ("x", "message"),
    [
        pytest.param({"w": 3.0}, r"x\['w'\] must be an array", id="a number"),
        pytest.param([None], r"x\[0\] must be an array", id="nothing"),
        pytest.param(bf16(4), "must have a sharding", id="no sharding"),
        pytest.param(
            jax.ShapeDtypeStruct(
                (6, 4), jnp.float32, sharding=NamedSharding(AU, P("X"))
            ),
            r"shape \(6, 4\) must be divisible",
            id="uneven",
        ),
        pytest.param(np.zeros(4, jnp.int4), "smaller than a byte", id="int4"),
    ],
)
def test_held_refuses(x, message):
    with pytest.raises(ValueError, match=message):
        count.held(x)


def silent(f, *args):
    """What `collectives` says when it must not answer with silence."""
    with pytest.raises(ValueError, match="cannot count") as error:
        count.collectives(f, *args)
    return str(error.value)


def auto_shapes(*laid):
    """Shapes of float32 arrays on a mesh of 4 by 2 with Auto axes."""
    mesh = AbstractMesh((4, 2), ("X", "Y"), (AxisType.Auto,) * 2)
    return [
        jax.ShapeDtypeStruct(
            shape, jnp.float32, sharding=NamedSharding(mesh, spec)
        )
        for shape, spec in laid
    ]


@pytest.mark.parametrize("config", [(1, -1, 0), (-1, 1, 0), (0, -7, 1)])
def test_a_shift_by_padding_is_refused(config):
    (a,) = auto_shapes(((8, 8), P("X", None)))
    said = silent(lambda a: lax.pad(a, 0.0, [config, (0, 0, 0)]), a)
    assert "`pad`" in said
    free = count.collectives(lambda a: lax.pad(a, 0.0, [(0, 0, 0), config]), a)
    assert free == ()


def test_a_batch_cut_in_two_ways_is_refused():
    a, b = auto_shapes(((8, 4, 4), P("X")), ((8, 4, 4), P("Y")))
    product = lambda a, b: jnp.einsum("bij,bjk->bik", a, b)  # noqa: E731
    assert "`dot_general`" in silent(product, a, b)
    assert count.collectives(product, a, a) == ()


def test_a_cut_that_wanders_through_the_carry_is_followed():
    def wander(a, b, c):
        def turn(carry, _):
            a, b, c = carry
            whole = jax.shard_map(
                jnp.tanh, mesh=AU, in_specs=P(), out_specs=P()
            )
            return (b, c, a), whole(b)

        return lax.scan(turn, (a, b, c), None, length=6)

    laid = ((8,), P("X")), ((8,), P()), ((8,), P())
    (record,) = count.collectives(wander, *auto_shapes(*laid))
    assert (record.kind, record.volume, record.times) == ("all_gather", 32, 6)


def test_a_call_back_to_the_host_is_refused():
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))

    @partial(jax.shard_map, mesh=mesh, in_specs=P("X"), out_specs=P("X"))
    def f(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: x, shape, x)

    x = jax.ShapeDtypeStruct((8,), jnp.float32)
    assert "`pure_callback`" in silent(f, x)


# --- everything else that JAX can do to a collective --------------------------


def two_passes(f, **checkpoint):
    """Both passes of f on each device, with what a policy saves."""
    f = jax.checkpoint(f, **checkpoint) if checkpoint else f

    def passes(x):
        Out, back = jax.vjp(f, x)
        return back(Out)

    return passes


def named_gather(x):
    return jnp.sin(checkpoint_name(gather(x), "whole"))


SAVE = jax.checkpoint_policies
AG_TWICE = {"all_gather": 512, "reduce_scatter": 256}
AG_ONCE = {"all_gather": 256, "reduce_scatter": 256}


@jax.custom_batching.custom_vmap
def batched_by_hand(x):
    return lax.psum(x, "X")


batched_by_hand.def_vmap(lambda n, cut, x: (lax.psum(2 * x, "X"), cut[0]))


def prefix_sums(x):
    """An associative scan whose operation talks: 7 rows in all, of 16 bytes."""
    return lax.associative_scan(lambda a, b: a + lax.psum(b, "X"), x)


def sum_of(kind):
    return lambda x: lax.psum(x.astype(kind), "X")


# On a 4x2 mesh a device has bf16[4, 8] of x, 64 bytes.
ATTACKS = {
    "vmap along rows": (
        jax.vmap(lambda r: lax.psum(r, "X")),
        {"all_reduce": 128},
    ),
    "vmap of a constant": (
        lambda x: jax.vmap(lambda i: lax.psum(x, "X") * i)(jnp.arange(5)),
        {"all_reduce": 128},
    ),
    "vmap of a mesh axis's name": (
        jax.vmap(lambda r: lax.psum(r, ("i", "X")), axis_name="i"),
        {"all_reduce": 32},
    ),
    "vmap of all_to_all": (
        jax.vmap(lambda c: lax.all_to_all(c, "X", 0, 0, tiled=True), in_axes=1),
        {"all_to_all": 64},
    ),
    "custom_vmap": (batched_by_hand, {"all_reduce": 128}),
    "vmap of custom_vmap": (jax.vmap(batched_by_hand), {"all_reduce": 128}),
    "jvp": (
        lambda x: jax.jvp(lambda x: jnp.sin(gather(x)), (x,), (x,)),
        {"all_gather": 512},
    ),
    "jvp of custom_jvp": (
        lambda x: jax.jvp(forward_ruled, (x,), (x,)),
        {"all_gather": 512},
    ),
    "linearize": (
        lambda x: jax.linearize(lambda x: jnp.sin(gather(x)), x)[1](x),
        {"all_gather": 512},
    ),
    "linearize, used twice": (
        lambda x: (lambda f: (f(x), f(2 * x)))(jax.linearize(gather, x)[1]),
        {"all_gather": 768},
    ),
    "vjp": (two_passes(named_gather), AG_ONCE),
    "remat everything": (two_passes(named_gather, policy=None), AG_TWICE),
    "remat, saved": (
        two_passes(named_gather, policy=SAVE.everything_saveable),
        AG_ONCE,
    ),
    "remat, dots saved": (
        two_passes(named_gather, policy=SAVE.dots_saveable),
        AG_TWICE,
    ),
    "remat, saved by name": (
        two_passes(named_gather, policy=SAVE.save_only_these_names("whole")),
        AG_ONCE,
    ),
    "remat, another name": (
        two_passes(named_gather, policy=SAVE.save_only_these_names("other")),
        AG_TWICE,
    ),
    "associative_scan": (prefix_sums, {"all_reduce": 2 * (2 + 1 + 1) * 16}),
    "map": (
        lambda x: lax.map(lambda r: lax.psum(r, "X"), x),
        {"all_reduce": 128},
    ),
    "map in batches that leave a rest": (
        lambda x: lax.map(lambda r: lax.psum(r, "X"), x, batch_size=3),
        {"all_reduce": 128},
    ),
    "fori_loop of NumPy bounds": (
        lambda x: lax.fori_loop(
            np.int32(1), np.int32(4), lambda _, c: lax.psum(c, "X"), x
        ),
        {"all_reduce": 3 * 128},
    ),
    "a tree": (
        lambda x: lax.psum({"a": x, "b": [x[0]]}, "X"),
        {"all_reduce": 128 + 32},
    ),
    "psum_scatter over two axes": (
        lambda x: lax.psum_scatter(
            jnp.concatenate([x, x]), ("X", "Y"), tiled=True
        ),
        {"reduce_scatter": 128},
    ),
    "pshuffle": (
        lambda x: lax.pshuffle(x, "X", [3, 2, 1, 0]),
        {"permute": 64},
    ),
    "donated": (
        jax.jit(lambda x: lax.psum(x, "X"), donate_argnums=0),
        {"all_reduce": 128},
    ),
    "int8": (sum_of("int8"), {"all_reduce": 64}),
    "float32": (sum_of("float32"), {"all_reduce": 256}),
    "complex64": (sum_of("complex64"), {"all_reduce": 512}),
    "bool, added as int32": (sum_of(bool), {"all_reduce": 256}),
    "bool, gathered": (lambda x: gather(x > 0), {"all_gather": 128}),
    "random keys": (
        lambda x: gather(jax.random.split(jax.random.key(0), 4)),
        {"all_gather": 4 * 4 * 8},
    ),
    "nothing at all": (lambda x: lax.psum(x[:0], "X"), {"all_reduce": 0}),
    "a number known beforehand": (lambda x: x * lax.psum(1.5, "X"), {}),
    "an array of one number": (
        lambda x: lax.psum(jnp.float32(1.5), "X"),
        {"all_reduce": 8},
    ),
    "callback that returns nothing": (
        lambda x: (jax.debug.print("{}", x), lax.psum(x, "X")),
        {"all_reduce": 128},
    ),
    "one program for all platforms": (
        lambda x: lax.platform_dependent(
            x, cpu=gather, tpu=lambda x: gather(2 * x)
        ),
        {"all_gather": 256},
    ),
}


@each("name", ATTACKS)
def test_no_transformation_hides_or_invents_a_byte(name):
    f, expected = ATTACKS[name]
    moved = count.collectives(shard(f, mesh_of(4, 2), P("X")), bf16(16, 8))
    by_kind = {kind: V for (kind, *_), V in count.volumes(moved).items()}
    assert by_kind == expected


def test_vmap_of_a_shard_map_moves_the_whole_batch():
    f = shard(lambda x: lax.psum(x, "X"), mesh_of(4, 2), P("X"))
    batch = bf16(6, 16, 8)
    for options, times in ({}, 6), ({"spmd_axis_name": "Y"}, 3):
        moved = count.collectives(jax.vmap(f, **options), batch)
        assert count.volumes(moved) == {("all_reduce", "X"): times * 128}


def test_shard_maps_over_disjoint_axes_may_be_nested():
    def inner(y):
        return lax.psum(lax.all_gather(y, "Y", tiled=True), "X")

    def outer(x):
        axes = {"axis_names": {"Y"}, "check_vma": False}
        f = jax.shard_map(inner, in_specs=P("Y"), out_specs=P(), **axes)
        return lax.ppermute(f(x), "X", [(0, 1)])

    f = shard(outer, mesh_of(4, 2), P("X"), out=P("X"), axis_names={"X"})
    assert count.volumes(count.collectives(f, bf16(16, 8))) == {
        ("all_gather", "Y"): 64,
        ("all_reduce", "X"): 128,
        ("permute", "X"): 64,
    }


def test_a_gather_that_remembers_its_axis_and_its_way_back():
    f = jax.shard_map(
        partial(gather, to="reduced"),
        mesh=EX,
        in_specs=P("X"),
        out_specs=P(reduced={"X"}),
    )

    def both_passes(x):
        Out, back = jax.vjp(f, x)
        return back(jax.reshard(jnp.ones_like(Out), P(unreduced={"X"})))

    assert volumes_of(both_passes, x_of("X")) == {
        ("all_gather", "X"): V,
        ("reduce_scatter", "X"): V,
    }


def of_groups(f, **options):
    return partial(f, axis_index_groups=[[0, 1], [2, 3]], **options)


UNCOUNTABLE = {
    "all_gather": of_groups(lax.all_gather, axis_name="X"),
    "reduce_scatter": of_groups(lax.psum_scatter, axis_name="X", tiled=True),
    "all_to_all": of_groups(
        lax.all_to_all, axis_name="X", split_axis=0, concat_axis=0, tiled=True
    ),
    "psum`: it names an axis twice": lambda x: lax.psum(x, ("X", "X")),
    "while": lambda x: lax.fori_loop(
        0, x[0, 0].astype(int), lambda _, c: lax.psum(c, "X"), x
    ),
    "cond": lambda x: lax.platform_dependent(
        x, cpu=lambda x: lax.psum(x, "X"), tpu=lambda x: x
    ),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda v: lax.psum(v, "X"), x, lambda _, b: b
    ),
    "int4": lambda x: gather(x.astype(jnp.int4)),
    "psum_start": lambda x: new_name("psum_start", x, axes=("X",)),
    "whisper": of_a_new_primitive(axes=frozenset({"X"})),
}


def new_name(name, x, **params):
    """An equation of a primitive of this name."""
    primitive = Primitive(name)
    primitive.def_abstract_eval(lambda x, **_: x)
    return primitive.bind(x, **params)


@each("name", UNCOUNTABLE)
def test_what_has_no_known_size_or_number_is_refused(name):
    f = shard(UNCOUNTABLE[name], mesh_of(4), P("X"))
    with pytest.raises(ValueError, match=f"cannot count `{name}"):
        count.collectives(f, bf16(16, 8))


def test_a_loop_of_unknown_length_may_be_silent():
    def f(x):
        n = x[0, 0].astype(int)
        return gather(lax.fori_loop(0, n, lambda _, c: c + 1, x))

    moved = count.collectives(shard(f, mesh_of(4), P("X")), bf16(16, 8))
    assert count.volumes(moved) == {("all_gather", "X"): 256}


# --- who sends to whom --------------------------------------------------------


def chain(x):
    """Down the line, one hop at a time, and then back in one go."""
    for i in range(3):
        x = lax.ppermute(x, "X", [(i, i + 1)])
    return lax.ppermute(x, "X", [(3, 0), (1, 1)])


def test_a_permute_says_who_sends_to_whom():
    f = shard(chain, mesh_of(4, 2), P("X"))
    moved = count.collectives(f, bf16(16, 8))
    assert count.volume(moved) == 4 * 64  # each as if all had sent
    pairs = [(i, j) for i in range(4) for j in range(4)]
    met = {p for p in pairs if count.between(moved, *p, "X")}
    assert met == {(0, 1), (1, 2), (2, 3), (3, 0), (1, 1)}
    assert count.between(moved, 2, 3, ["X"]) == 64
    assert count.between(moved, 2, 3, "Y") == 0


def test_hops_in_a_loop_are_all_between_neighbours():
    N = 5
    f = shard(partial(ring_all_gather, N=N), mesh_of(N), P("X"))
    moved = count.collectives(f, bf16(N * 4, 3))
    assert count.between(moved, 4, 0, "X") == (N - 1) * 24
    assert count.between(moved, 0, 4, "X") == 0


def test_branches_that_permute_otherwise_do_not_say_who_sends():
    def way(step):
        return lambda x: lax.ppermute(
            x, "X", [(i, (i + step) % 4) for i in range(4)]
        )

    def f(x, *ways):
        return lax.cond(x[0, 0] > 0, *ways, x)

    counted = [
        count.collectives(
            shard(partial(lambda x, w: f(x, *w), w=w), mesh_of(4), P("X")),
            bf16(16, 8),
        )
        for w in [(way(1), way(1)), (way(1), way(3))]
    ]
    assert counted[0] == counted[1]
    assert count.between(counted[0], 0, 1, "X") == 64
    with pytest.raises(ValueError, match="does not say who sends"):
        count.between(counted[1], 0, 1, "X")


@each("bad", [None, -1, 1.5, "0", True, float("nan"), [0]])
def test_between_refuses_what_is_no_position(bad):
    moved = mixed()
    with pytest.raises(ValueError, match="source must be a"):
        count.between(moved, bad, 0, "X")
    with pytest.raises(ValueError, match="destination must be a"):
        count.between(moved, 0, bad, "X")
    with pytest.raises(ValueError, match="axes must be names of mesh axes"):
        count.between(moved, 0, 0, None)


# --- bad input ----------------------------------------------------------------

SUMS = {
    "volume": count.volume,
    "sent": count.sent,
    "volumes": count.volumes,
    "table": count.table,
    "between": lambda moved: count.between(moved, 0, 1, "X"),
}
NO_RECORDS = [None, 3, 1.5, True, "abc", "", b"", [1], [[]], {}, {"X": 1}]
NO_RECORDS += [float("nan"), float("inf"), 10**400, object(), count.volume]


@each("name", SUMS)
@each("bad", NO_RECORDS)
def test_sums_refuse_what_is_no_record(name, bad):
    with pytest.raises(ValueError, match="moved must be what `collectives`"):
        SUMS[name](bad)


@each("f", [count.volume, count.sent])
@each(
    ("bad", "message"),
    [
        *(
            pytest.param(bad, "be names of", id=repr(bad))
            for bad in (3, 0, 1.5)
        ),
        *(pytest.param(bad, "be names of", id=repr(bad)) for bad in ((), [1])),
        *(pytest.param(bad, "be names of", id=repr(bad)) for bad in (b"X", {})),
        pytest.param(("X", None), "be names of", id="X, None"),
        pytest.param({"X": 1}, "be names of", id="a dict"),
        pytest.param("Q", "be among X, Y; got 'Q'", id="Q"),
        pytest.param("", "be among X, Y; got ''", id="empty"),
        pytest.param(["X", "Q"], "be among X, Y", id="X, Q"),
        pytest.param("XY", "be among X, Y; got 'XY'", id="XY"),
    ],
)
def test_sums_refuse_what_is_no_axis(f, bad, message):
    with pytest.raises(ValueError, match=f"axes must {message}"):
        f(mixed(), bad)


def test_an_axis_over_which_nothing_moves_is_not_an_unknown_one():
    def f(x):
        return lax.psum(x, "X")

    moved = count.collectives(shard(f, mesh_of(4, 2), P("X")), bf16(16, 8))
    silence = count.collectives(shard(jnp.sin, mesh_of(4, 2), P("X")), bf16(16))
    typed_silence = count.collectives(jnp.sin, x_of("X"))
    placed_silence = count.collectives(jnp.sin, lying("X"))
    silences = silence, typed_silence, placed_silence, moved[1:]
    for nothing in *silences, silence + moved[:0], ():
        assert count.volume(nothing, "Y") == count.sent(nothing, "X") == 0
    for known in *silences, moved, moved + silence, silence + (), list(moved):
        with pytest.raises(ValueError, match="got 'Q'"):
            count.volume(known, "Q")
    assert count.volume(moved, "Y") == count.volume(silence + moved, "Y") == 0
    assert count.volume(silence + moved, "X") == 128
    elsewhere = AbstractMesh((2,), ("Q",), (AUTO,))
    elsewhere = count.collectives(shard(jnp.sin, elsewhere, P("Q")), bf16(16))
    for both in moved + elsewhere, elsewhere + moved:
        assert count.volume(both, "Q") == count.volume(both, "Y") == 0
    put = jax.make_mesh((8,), ("Q",), axis_types=(AUTO,))
    put = jax.device_put(np.ones(8), NamedSharding(put, P("Q")))
    for known in count.collectives(jnp.sin, put), elsewhere[:0]:
        assert count.volume(known, "Q") == 0
        with pytest.raises(ValueError, match="axes must be among Q; got 'X'"):
            count.volume(known, "X")
    # A list that was filtered knows only what is in it.
    with pytest.raises(ValueError, match="axes must be among X; got 'Y'"):
        count.volume(list(moved), "Y")


@each("bad", ["x", None, 1, 0, "False", [True], 1.0])
def test_live_is_a_yes_or_no(bad):
    with pytest.raises(ValueError, match="live must be one of False, True"):
        count.collectives(jnp.sin, bf16(16), live=bad)


def test_names_of_another_jax_mean_the_same():
    class Tree(tuple):
        unpack = tuple.__iter__

    new = {"ft_in": Tree([(1, 2), (3,), (4, 5, 6)])}
    assert jax_inside.turned(new) == (2, 1)
    assert jax_inside.turned({"num_consts": 2, "num_carry": 1}) == (2, 1)
    axes = frozenset("X")
    assert jax_inside.manual_axes({"manual_axes": axes}) == axes
    newer = {"manual_axes": frozenset("XY"), "newly_manual_axes": axes}
    assert jax_inside.manual_axes(newer) == axes
    entries = ("X", None, ("Y", "Z"))
    assert partitions(entries) == entries  # a PartitionSpec was a sequence
    assert partitions(P(*entries, unreduced={"U"})) == entries
