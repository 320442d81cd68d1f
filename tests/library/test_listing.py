"""Programs written out: every line is what the program does, and no more."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import P
from jax.sharding import AbstractMesh, AxisType

from shardlab import count
from shardlab.strategies import (
    block,
    dp,
    fsdp,
    fsdp_tp,
    one_chip,
    tp,
    typed,
    zero1,
)
from tests.each import each

B, D, F = 512, 64, 256
LETTERS = {"B": B, "D": D, "F": F}
NAMES = ["In", "Target", "W_in", "W_out"]
RESULTS = ["", "dIn", "dW_in", "dW_out"]
FSDP_TP = """\
AllGather_Y      In[B_X, D_Y] -> In[B_X, D]
AllGather_X      W_in[D_X, F_Y] -> W_in[D, F_Y]
product          In[B_X, D] ·_D W_in[D, F_Y] -> [B_X, F_Y]
AllGather_X      W_out[F_Y, D_X] -> W_out[F_Y, D]
product          [B_X, F_Y] ·_F W_out[F_Y, D] -> [B_X, D] {U_Y}
ReduceScatter_Y  [B_X, D] {U_Y} -> [B_X, D_Y]
AllGather_Y      [B_X, D_Y] -> [B_X, D]
product          [B_X, F_Y] ·_B [B_X, D] -> dW_out[F_Y, D] {U_X}
ReduceScatter_X  dW_out[F_Y, D] {U_X} -> dW_out[F_Y, D_X]
AllGather_X      W_out[F_Y, D_X] -> W_out[F_Y, D]
product          [B_X, D] ·_D W_out[F_Y, D] -> [B_X, F_Y]
product          In[B_X, D] ·_B [B_X, F_Y] -> dW_in[D, F_Y] {U_X}
ReduceScatter_X  dW_in[D, F_Y] {U_X} -> dW_in[D_X, F_Y]
AllGather_X      W_in[D_X, F_Y] -> W_in[D, F_Y]
product          [B_X, F_Y] ·_F W_in[D, F_Y] -> dIn[B_X, D] {U_Y}
ReduceScatter_Y  dIn[B_X, D] {U_Y} -> dIn[B_X, D_Y]"""


def on(kind):
    """A mesh of 4 x 2 chips whose axes are all of one kind."""
    return AbstractMesh((4, 2), ("X", "Y"), axis_types=(kind,) * 2)


def by_hand(strategy, **how):
    mesh = on(AxisType.Auto)
    args = block.arguments(strategy, mesh, B, D, F)
    return count.listing(block.gradients(strategy, mesh), *args, **how)


def in_types(strategy, block_of_types, **how):
    mesh = on(AxisType.Explicit)
    with jax.sharding.use_abstract_mesh(mesh):
        args = block.arguments(strategy, mesh, B, D, F)
        return count.listing(typed.gradients(block_of_types), *args, **how)


def test_fsdp_and_tp_by_hand_is_the_algorithm():
    how = {"names": NAMES, "results": RESULTS, "letters": LETTERS}
    assert by_hand(fsdp_tp, **how) == FSDP_TP


@pytest.mark.parametrize(
    ("strategy", "block_of_types"),
    [(dp, typed.dp), (tp, typed.tp)],
    ids=["dp", "tp"],
)
def test_types_and_hand_are_the_same_algorithm(strategy, block_of_types):
    how = {"names": NAMES, "results": RESULTS, "letters": LETTERS}
    assert in_types(strategy, block_of_types, **how) == by_hand(strategy, **how)


def test_jax_derives_the_lines_of_fsdp_in_another_order():
    how = {"names": NAMES, "results": RESULTS, "letters": LETTERS}
    mesh = on(AxisType.Explicit)
    args = block.arguments(fsdp, mesh, B, D, F)
    with jax.sharding.use_abstract_mesh(mesh):
        derived = count.listing(
            typed.gradients(typed.fsdp, regather=True), *args, **how
        )
    assert sorted(derived.split("\n")) == sorted(
        by_hand(fsdp, **how).split("\n")
    )


@pytest.mark.parametrize("strategy", [dp, zero1, fsdp, tp, fsdp_tp])
def test_there_is_a_line_for_each_collective_and_product(strategy):
    mesh = on(AxisType.Auto)
    args = block.arguments(strategy, mesh, B, D, F)
    step = block.gradients(strategy, mesh)
    rows = count.listing(step, *args).split("\n")
    moved = count.collectives(step, *args)
    assert sum(not row.startswith("product") for row in rows) == len(moved)
    assert sum(row.startswith("product") for row in rows) == 6


def test_one_chip_has_no_axes():
    shapes = [(B, D), (B, D), (B, F), (D, F), (F, D)]
    args = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    names = ["dOut", "In", "Tmp", "W_in", "W_out"]
    assert count.listing(
        one_chip.backward, *args, names=names, letters=LETTERS
    ) == (
        "product  Tmp[B, F] ·_B dOut[B, D] -> [F, D]\n"
        "product  dOut[B, D] ·_D W_out[F, D] -> [B, F]\n"
        "product  In[B, D] ·_B [B, F] -> [D, F]\n"
        "product  [B, F] ·_F W_in[D, F] -> [B, D]"
    )


def test_a_loop_is_written_once_with_its_turns():
    mesh = on(AxisType.Auto)

    def stack(In, W):
        def layer(x, w):
            return x @ jax.lax.all_gather(w, "X", tiled=True), None

        return jax.lax.scan(layer, In, W)[0]

    f = jax.shard_map(
        stack,
        mesh=mesh,
        in_specs=(P("X", None), P(None, "X", None)),
        out_specs=P("X", None),
    )
    In = jax.ShapeDtypeStruct((B, D), jnp.float32)
    W = jax.ShapeDtypeStruct((3, D, D), jnp.float32)
    rows = count.listing(f, In, W).split("\n")
    assert rows[0] == "3 times:"
    assert rows[1].startswith("    AllGather_X  [16, 64] of a chip ->")
    assert len(rows) == 3


def test_a_sum_over_a_cut_dimension_waits_and_is_added_up():
    mesh = on(AxisType.Explicit)
    with jax.sharding.use_abstract_mesh(mesh):
        x = block.placed("x", (B, D), jnp.float32, mesh, P("X", None))
        said = count.listing(lambda x: x.sum(0), x, names=["x"])
    assert said == "AllReduce_X  [64] {U_X} -> [64]"


def test_a_sum_that_is_forgotten_is_not_shown_as_done():
    mesh = on(AxisType.Auto)
    f = jax.shard_map(
        lambda x: jax.lax.psum(x, "X"),
        mesh=mesh,
        in_specs=P("X", None),
        out_specs=P(None, None),
    )
    x = jax.ShapeDtypeStruct((B, D), jnp.float32)
    said = count.listing(f, x, names=["x"])
    assert said == "AllReduce_X  x[512_X, 64] -> x[128, 64] of a chip"


LOST = {
    "an axis that is not the last": (
        lambda x: jax.lax.all_gather(x, "X", tiled=True),
        P(("X", "Y")),
        "AllGather_X  x[512_XY, 64] -> x[256, 64] of a chip",
    ),
    "a new dimension": (
        lambda x: jax.lax.all_gather(x, "X"),
        P("X"),
        "AllGather_X  x[512_X, 64] -> x[4, 128, 64] of a chip",
    ),
    "a sum of what is no term of it": (
        lambda x: jax.lax.psum_scatter(x, "Y", tiled=True),
        P("X"),
        "ReduceScatter_Y  x[512_X, 64] -> x[64, 64] of a chip",
    ),
    "a product of what does not belong together": (
        lambda x: x @ jnp.ones((16, 3)),
        P(None, "X"),
        "product  x[512, 64_X] ·_64 [16, 3] -> [512, 3] of a chip",
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_a_layout_that_cannot_be_followed_is_not_made_up(what):
    body, spec, said = LOST[what]
    f = jax.shard_map(
        body,
        mesh=on(AxisType.Auto),
        in_specs=spec,
        out_specs=P(("X", "Y")),
        check_vma=False,
    )
    assert count.listing(f, float32(B, D), names=["x"]) == said


def float32(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


def test_what_is_summed_over_is_written_apart():
    args = float32(5, 16, 3), float32(16, 3, 7)
    summed = partial(jnp.tensordot, axes=2)
    said = "product  [5, 16, 3] ·_16x3 [16, 3, 7] -> [5, 7]"
    assert count.listing(summed, *args) == said
    said = "product  [5, R, d] ·_Rd [R, d, 7] -> [5, 7]"
    assert count.listing(summed, *args, letters={"R": 16, "d": 3}) == said
    outer = count.listing(lambda x: jnp.einsum("i,j->ij", x, x), float32(4))
    assert outer == "product  [4] · [4] -> [4, 4]"


@pytest.mark.parametrize(
    ("name", "f"),
    [
        (
            "while",
            lambda x: jax.lax.while_loop(lambda y: y.sum() < 9, x.dot, x),
        ),
        ("cond", lambda x: jax.lax.cond(x[0, 0] > 0, x.dot, jnp.sin, x)),
        (
            "cond",
            lambda x: jax.lax.cond(x[0, 0] > 0, jax.jit(x.dot), jnp.sin, x),
        ),
    ],
    ids=["loop", "branch", "call in a branch"],
)
def test_no_product_is_left_out_in_silence(name, f):
    with pytest.raises(ValueError, match=f"cannot count `{name}`: when"):
        count.listing(f, float32(4, 4))


def test_a_branch_without_products_is_no_hindrance():
    def f(x):
        return jax.lax.cond(x[0, 0] > 0, jnp.cos, jnp.sin, x) @ x

    assert count.listing(f, float32(4, 4)).startswith("product  [4, 4] ·_4")


def test_what_is_no_function_is_named():
    with pytest.raises(ValueError, match="f must be a function.*got 3"):
        count.listing(3, float32(4))


@each(
    ("how", "says"),
    [
        ({"names": "In"}, "names must be a list of str, got 'In'"),
        ({"names": None}, "names must be a list of str, got None"),
        ({"letters": "B"}, "letters must be sizes by letter.*got 'B'"),
        ({"letters": ["B"]}, "letters must be sizes by letter"),
        ({"names": ["a", "b"]}, "names must be at most 1, got 2: a, b"),
        ({"results": ["a", "b"]}, "results must be at most 1, got 2: a, b"),
        ({"letters": {"B": 4, "D": 4}}, "different sizes, got B = D = 4"),
        ({"letters": {"B": 4.5}}, "B must be a"),
    ],
)
def test_bad_input_is_named(how, says):
    x = jax.ShapeDtypeStruct((4,), jnp.float32)
    with pytest.raises(ValueError, match=says):
        count.listing(lambda x: x + 1, x, **how)
