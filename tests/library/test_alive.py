"""Bytes alive in a function, held to what its arrays add up to."""

import jax
import jax.numpy as jnp
import pytest
from jax import P
from jax.lax import all_gather, cond, psum_scatter, scan, while_loop
from jax.sharding import AxisType, NamedSharding

from shardlab.count import living

N = 4


def mesh():
    kind = (AxisType.Explicit,)
    return jax.make_mesh((N,), ("X",), axis_types=kind)


def shape(sizes, *spec):
    where = NamedSharding(mesh(), P(*spec))
    return jax.ShapeDtypeStruct(sizes, jnp.float32, sharding=where)


def mapped(body, outs):
    return jax.shard_map(body, out_specs=outs)


@pytest.mark.parametrize("L", [3, 7])
def test_gathered_one_at_a_time_or_all(L):
    # C3.13: gather, use, let go; what is kept is whole for every layer.
    D = 8 * N

    def stack(keep):
        def layer(x, W):
            W = all_gather(W, "X", axis=0, tiled=True)
            return x @ W, W if keep else None

        def body(x, W):
            x, kept = scan(layer, x, W)
            return (x, kept) if keep else x

        outs = P("X", None)
        return mapped(body, (outs, P(None, "X", None)) if keep else outs)

    args = shape((2 * N, D), "X", None), shape((L, D, D), None, "X", None)
    with jax.set_mesh(mesh()):
        once = living.alive(stack(False), *args)
        kept = living.alive(stack(True), *args)
    assert once.gathered == 4 * D * D
    assert kept.gathered == (L + 1) * 4 * D * D


@pytest.mark.parametrize("L", [4, 9])
def test_an_early_scatter_is_seen_and_a_late_one_is_not(L):
    # C3.10: all gradients are whole at once, or one.
    D, matrix = 8 * N, 4 * (8 * N) ** 2

    def body(early):
        def layer(d, W):
            dW = d.T @ d
            if early:
                dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
            return d @ W, dW

        def both(d, W):
            d, dW = scan(layer, d, W)
            if not early:
                dW = psum_scatter(dW, "X", scatter_dimension=1, tiled=True)
            return d, dW

        return mapped(both, (P("X", None), P(None, "X", None)))

    args = shape((N, D), "X", None), shape((L, D, D), None, None, None)
    with jax.set_mesh(mesh()):
        late = living.alive(body(False), *args).live / matrix
        early = living.alive(body(True), *args).live / matrix
    assert 2 * L <= late < 2 * L + 2
    assert L + L / N <= early < L + L / N + 2


def test_a_result_takes_the_place_of_what_is_used_up():
    x = jnp.ones((4, 8))
    found = living.alive(lambda x, y: x + y, x, x)
    assert (found.gathered, found.live) == (0, 2 * x.nbytes)


def numbers(n):
    return jnp.arange(n, dtype="float32")


def branch(x):
    return cond(x > 0, lambda: numbers(1000), lambda: 2 * numbers(1000))


def turns(x):
    def more(carry):
        return carry[0] < x

    def turn(carry):
        return carry[0] + 1, 2 * carry[1]

    return while_loop(more, turn, (0.0, numbers(1000)))[1]


@pytest.mark.parametrize("choose", [branch, turns])
def test_constants_among_which_data_choose_are_none(choose):
    x = jnp.float32(1)
    assert living.alive(lambda x: 2 * numbers(1000), x).live < 4000
    assert 4000 <= living.alive(choose, x).live < 4000 + 4 * x.nbytes


def test_what_cannot_be_followed_is_refused():
    with pytest.raises(ValueError, match="f must be a function.*got 3"):
        living.alive(3, jnp.ones(2))
    with pytest.raises(ValueError, match="`f`.*callback"):
        living.alive(
            lambda x: jax.pure_callback(
                lambda x: x, jax.ShapeDtypeStruct((2,), jnp.float32), x
            ),
            jnp.ones(2),
        )


def looked_up(x):
    """The same numbers, byte by byte out of a table of all bytes."""
    table = jnp.arange(256, dtype=jnp.uint8)
    read = jax.lax.bitcast_convert_type(x, jnp.uint8).reshape(-1)

    def put(i, found):
        one = jax.lax.dynamic_slice(table, (read[i].astype(jnp.int32),), (1,))
        return jax.lax.dynamic_update_slice(found, one, (i,))

    found = jax.lax.fori_loop(0, read.size, put, jnp.zeros_like(read))
    return jax.lax.bitcast_convert_type(found.reshape(*x.shape, 4), jnp.float32)


def added_to_zeros(x):
    """The same numbers, added to the zeros of one branch or the other."""
    zeros = cond(x[0, 0] > 0, *[lambda: jnp.zeros(x.shape, x.dtype)] * 2)
    return jax.lax.optimization_barrier(zeros) + x


@pytest.mark.parametrize("hidden", [looked_up, added_to_zeros])
def test_what_is_kept_cannot_be_hidden(hidden):
    def keeps(x):
        kept = []
        for _ in range(8):
            kept.append(hidden(x))
            x = jnp.tanh(x @ x)
        for each in kept:
            x = x @ each
        return x

    one = jax.ShapeDtypeStruct((6, 6), jnp.float32)
    assert living.alive(keeps, one).live >= 8 * 4 * 6 * 6
