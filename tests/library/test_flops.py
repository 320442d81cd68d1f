"""FLOPs of a program: two for each term of each element of each product."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import P
from jax.extend.core import Primitive
from jax.sharding import AbstractMesh, AxisType

from shardlab import count
from shardlab.strategies import block, dp, fsdp, fsdp_tp, one_chip, tp, typed
from tests.each import each

MESH = (4, 2), ("X", "Y")
sizes = st.integers(1, 6)


def shape(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


@given(sizes, sizes, sizes, sizes)
def test_a_product_is_counted_as_its_loops_run(b, i, j, k):
    run = np.zeros((b, i, k), int)
    for n, row, column, _ in np.ndindex(b, i, k, j):
        run[n, row, column] += 2  # a multiplication and an addition
    program = count.flops(jnp.matmul, shape(b, i, j), shape(b, j, k))
    assert program == run.sum()


def test_what_is_elementwise_or_a_plain_sum_is_left_out():
    assert count.flops(lambda x: jnp.sin(x * x).sum(), shape(4, 8)) == 0


def test_an_outer_product_has_one_term():
    assert count.flops(jnp.outer, shape(3), shape(5)) == 0  # no dot_general
    assert count.flops(lambda x: x[:, None] @ x[None], shape(5)) == 2 * 25


@pytest.mark.parametrize("strategy", [one_chip, dp, fsdp, tp, fsdp_tp])
def test_strategies_share_the_work_and_add_none(strategy):
    B, D, F = 16, 24, 40
    mesh = AbstractMesh(*MESH, (AxisType.Auto,) * 2)
    args = block.arguments(strategy, mesh, B, D, F)
    sharing = {"one_chip": 1, "dp": 4, "fsdp": 4, "tp": 2, "fsdp_tp": 8}
    share = sharing[strategy.__name__.rpartition(".")[2]]
    program = block.gradients(strategy, mesh)
    assert count.flops(program, *args) == 12 * B * D * F // share


@pytest.mark.parametrize("name", ["dp", "fsdp", "tp", "fsdp_tp"])
def test_types_say_the_same(name):
    B, D, F = 16, 24, 40
    by_hand = {"dp": dp, "fsdp": fsdp, "tp": tp, "fsdp_tp": fsdp_tp}[name]
    auto = AbstractMesh(*MESH, (AxisType.Auto,) * 2)
    args = block.arguments(by_hand, auto, B, D, F)
    expected = count.flops(block.gradients(by_hand, auto), *args)
    mesh = AbstractMesh(*MESH, (AxisType.Explicit,) * 2)
    with jax.sharding.use_abstract_mesh(mesh):
        args = block.arguments(by_hand, mesh, B, D, F)
        program = typed.gradients(getattr(typed, name))
        assert count.flops(program, *args) == expected


def typed_product(left, right, out, mesh):
    """FLOPs of a 16 x 32 by 32 x 24 product that is cut as specs say."""

    def placed(dims, spec):
        sharding = jax.NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(dims, jnp.float32, sharding=sharding)

    with jax.sharding.use_abstract_mesh(mesh):
        return count.flops(
            lambda A, B: jnp.matmul(A, B, out_sharding=out),
            placed((16, 32), left),
            placed((32, 24), right),
        )


@each(
    ("left", "right", "out", "ways"),
    [
        (P("X", None), P(None, "Y"), P("X", "Y"), 8),  # case 1
        (P(None, "X"), P(None, None), P(None, None), 1),  # 2: gathered first
        (P(None, "X"), P("X", None), P(None, None), 4),  # 3, all-reduced
        (P(None, "X"), P("X", None), P(None, "X"), 4),  # 3, scattered after
        (P("X", None), P(None, "X"), P("X", None), 4),  # 4: one is gathered
        (P(None, ("X", "Y")), P(("X", "Y"), None), P(None, None), 8),
    ],
)
def test_the_four_cases(left, right, out, ways):
    mesh = AbstractMesh(*MESH, (AxisType.Explicit,) * 2)
    whole = 2 * 16 * 32 * 24
    assert typed_product(left, right, out, mesh) == whole // ways


def test_loops_and_calls_are_counted_as_often_as_they_run():
    one = 2 * 4**3

    def loop(x):
        return jax.lax.fori_loop(0, 5, lambda _, y: jnp.tanh(y @ x), x)

    def scanned(x):
        return jax.lax.scan(lambda y, _: (jax.jit(loop)(y), None), x, None, 3)

    square = shape(4, 4)
    assert count.flops(loop, square) == 5 * one
    assert count.flops(scanned, square) == 15 * one
    remembered = jax.checkpoint(lambda x: jnp.sin(x @ x) @ x)
    assert count.flops(remembered, square) == 2 * one
    # Both products again, but for the last, and two gradients of each.
    grad = jax.grad(lambda x: remembered(x).sum())
    assert count.flops(grad, square) == (2 + 1 + 4) * one


def test_branches_must_agree():
    def choose(x, *branches):
        return jax.lax.cond(x[0, 0] > 0, *branches, x)

    square = shape(4, 4)
    alike = (lambda x: x @ x, lambda x: x.T @ x)
    assert count.flops(lambda x: choose(x, *alike), square) == 2 * 4**3
    with pytest.raises(ValueError, match="`cond`"):
        count.flops(lambda x: choose(x, alike[0], jnp.sin), square)
    # As many products, of another size.
    smaller = (lambda x: x[:, :2] @ x[:2],)
    with pytest.raises(ValueError, match="`cond`"):
        count.flops(lambda x: choose(x, alike[0], *smaller), square)


def test_what_cannot_be_counted_is_refused_by_name():
    square = shape(4, 4)
    with pytest.raises(ValueError, match="`while`"):
        count.flops(
            lambda x: jax.lax.while_loop(
                lambda y: y.sum() < 9, lambda y: y @ y, x
            ),
            square,
        )
    with pytest.raises(ValueError, match="conv_general_dilated"):
        count.flops(
            lambda x: jax.lax.conv(
                x[None, None], x[None, None], (1, 1), "SAME"
            ),
            square,
        )
    for solved in (jnp.linalg.inv, jnp.linalg.eigh, jnp.linalg.svd):
        with pytest.raises(ValueError, match="`(lu|eigh|svd)`.*products"):
            count.flops(solved, square)
    with pytest.raises(ValueError, match="pure_callback"):
        count.flops(lambda x: jax.pure_callback(np.sin, x, x), square)
    with pytest.raises(ValueError, match="f must be a function"):
        count.flops(3, square)


REGISTERED = """
import jax.numpy, jax.scipy
from shardlab.count.products import NO_MATMUL, NOT_COUNTED
from shardlab.count.jax_inside import registered
from shardlab.count.walk import OPAQUE, RULES
assert not NO_MATMUL & NOT_COUNTED
known = NO_MATMUL.union(NOT_COUNTED, RULES, OPAQUE)
print(*sorted(registered() - known))
"""


@pytest.mark.slow  # a process of its own: Pallas registers more of them
def test_every_primitive_of_this_jax_is_on_one_of_the_lists():
    command = [sys.executable, "-W", "ignore", "-c", REGISTERED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dot_general", "ragged_dot_general"]


def test_a_primitive_of_a_later_jax_is_refused_by_name():
    product = Primitive("sparse_dot")
    product.def_abstract_eval(lambda x, y: x)
    with pytest.raises(ValueError, match="`sparse_dot`.*products"):
        count.flops(lambda x: product.bind(x, x) + 1, shape(4, 4))
