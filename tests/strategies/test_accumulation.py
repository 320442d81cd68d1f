"""Microbatches: the numbers of one batch, and how often chips talk."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P
from jax.sharding import AbstractMesh, AxisType

from shardlab import count
from shardlab.cost.accumulation import accumulated_volume
from shardlab.strategies import (
    accumulation,
    block,
    clip,
    dp,
    fsdp,
    one_chip,
    zero1,
    zero2,
)
from tests.compiling import compiled
from tests.each import each

NAMES = {"dp": dp, "zero1": zero1, "zero2": zero2, "fsdp": fsdp}
WORDS = list(product(("twice", "once", "step"), ("each", "last")))
B, D, F = 32, 8, 16


QUICK = ("fsdp", "twice", "each")  # the one that make check compiles


def line(X):
    auto = (AxisType.Auto,)
    return jax.make_mesh((X,), ("X",), auto, devices=jax.devices()[:X])


def integers():
    draw = np.random.default_rng(3)
    shapes = (B, D), (B, D), (D, F), (F, D)
    return [draw.integers(-2, 3, s).astype(np.float32) for s in shapes]


def dealt(x, k, X):
    """Microbatches [k, B/k, D] whose rows lie on the same chips as in x."""
    rows = x.reshape(X, k, len(x) // X // k, -1)
    return np.swapaxes(rows, 0, 1).reshape(k, len(x) // k, -1)


@pytest.mark.parametrize(
    ("name", "gathers", "reduces"),
    [
        pytest.param(*case, marks=() if case == QUICK else pytest.mark.slow)
        for case in [(name, *words) for name in NAMES for words in WORDS]
    ],
)
def test_microbatches_add_up_to_the_batch(name, gathers, reduces):
    In, Target, *W = integers()
    X, k = 4, 2
    step = accumulation.gradients(NAMES[name], line(X), gathers, reduces)
    parts, dIn, *dW = compiled(step)(dealt(In, k, X), dealt(Target, k, X), *W)
    alone = block.gradients(one_chip, line(1))
    expected, dIn_alone, *dW_alone = compiled(alone)(In, Target, *W)
    assert float(parts.sum()) == float(expected.sum())
    np.testing.assert_array_equal(dIn, dealt(np.asarray(dIn_alone), k, X))
    for found, wanted in zip(dW, dW_alone, strict=True):
        np.testing.assert_array_equal(found, wanted)


@each("k", [1, 2, 5])
@each(("gathers", "reduces"), WORDS)
@each("name", NAMES)
def test_what_moves_is_what_the_formula_says(name, gathers, reduces, k):
    mesh = AbstractMesh((8,), ("X",), (AxisType.Auto,))
    d, f = 64, 96
    tokens = jax.ShapeDtypeStruct((k, 16, d), jnp.bfloat16)
    W = [
        jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((d, f), (f, d))
    ]
    step = accumulation.gradients(NAMES[name], mesh, gathers, reduces)
    moved = count.volume(count.collectives(step, tokens, tokens, *W))
    formula = accumulated_volume(name, k, d, f, gathers, reduces)
    assert moved == formula.forward + formula.backward
    dW, states = (
        [x.update(sharding=None) for x in W],
        block.states(NAMES[name], mesh, d, f),
    )
    update = count.collectives(block.updates(NAMES[name], mesh), *dW, *states)
    assert count.volume(update) == formula.update


def test_by_hand():
    unit = 64 * 96
    volumes = {
        ("zero2", "each"): 4 * 8 + 4,
        ("zero2", "last"): 4 + 4,
        ("zero1", "last"): 4 + 4,
        ("dp", "last"): 8,
        ("fsdp", "each"): 12 * 8,
        ("fsdp", "last"): 8 * 8 + 4,
    }
    for (name, reduces), DF in volumes.items():
        step = accumulated_volume(name, 8, 64, 96, reduces=reduces)
        assert step.total == DF * unit
    kept = accumulated_volume("fsdp", 8, 64, 96, gathers="step")
    assert kept.total == (4 + 4 * 8) * unit


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (
            {"gathers": "thrice"},
            "gathers must be one of 'twice', 'once', 'step'",
        ),
        ({"reduces": True}, "reduces must be one of 'each', 'last'; got True"),
    ],
)
def test_other_words_are_refused(spoilt, said):
    with pytest.raises(ValueError, match=said):
        accumulation.gradients(fsdp, line(2), **spoilt)
    with pytest.raises(ValueError, match=said):
        accumulated_volume("fsdp", 2, 8, 8, **spoilt)


# ---- clipping ----------------------------------------------------------------


def clipped(specs, axes, most):
    """A tree of gradients clipped on 4 x 2 devices, and the norm before."""
    mesh = jax.make_mesh((4, 2), ("X", "Y"), (AxisType.Auto,) * 2)
    return jax.shard_map(
        lambda tree: clip.clip(tree, most, axes),
        mesh=mesh,
        in_specs=(specs,),
        out_specs=(specs, P()),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("specs", "axes"),
    [
        ({"in": P(), "out": P()}, ()),
        ({"in": P("X"), "out": P(None, "X")}, "X"),
        ({"in": P("X", "Y"), "out": P("Y", "X")}, ("X", "Y")),
    ],
)
@pytest.mark.parametrize("most", [1.0, 1e3])
def test_the_norm_is_that_of_all_pieces_together(specs, axes, most):
    draw = np.random.default_rng(5).normal
    tree = {"in": draw(size=(8, 16)), "out": draw(size=(16, 8))}
    tree = jax.tree.map(lambda x: x.astype(np.float32), tree)
    found, norm = jax.jit(clipped(specs, axes, most))(tree)
    length = np.sqrt(sum((x**2).sum() for x in tree.values()))
    # float32 sums of 256 squares in two orders: a few units of the last place
    np.testing.assert_allclose(norm, length, rtol=1e-6)
    scale = min(1, most / length)
    for name, x in tree.items():
        np.testing.assert_allclose(found[name], scale * x, rtol=1e-5)


def test_one_number_travels():
    tree = {"in": np.ones((8, 16), np.float32), "out": np.ones((16, 8))}
    tree = jax.tree.map(lambda x: x.astype(np.float32), tree)
    specs = {"in": P("X", "Y"), "out": P("Y", "X")}
    [record] = count.collectives(clipped(specs, ("X", "Y"), 1.0), tree)
    assert record.kind == "all_reduce"
    assert count.volume([record]) == 2 * 4


@pytest.mark.slow
def test_gradients_of_zero_stay_zero():
    found, norm = clip.clip([jnp.zeros(4)], 1.0, ())
    assert norm == 0
    np.testing.assert_array_equal(found[0], 0)
