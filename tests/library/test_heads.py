"""Attention heads under tensor parallelism: right numbers, predicted bytes."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, count
from shardlab.strategies import heads, layer
from tests.compiling import compiled

pytestmark = pytest.mark.slow

AUTO = (AxisType.Auto,)
NAMES = ("In", "W_Q", "W_K", "W_V", "W_O")


def shapes(B, D, G, R, d):
    """Shapes of the arguments, in their order."""
    per_head = {"W_K": (D, G, d), "W_V": (D, G, d)}
    return (
        {"In": (B, D), "W_Q": (D, G, R, d)} | per_head | {"W_O": (G, R, d, D)}
    )


def numbers(seed, B, D, G, R, d):
    """Target and arguments, of a size at which no softmax is saturated."""
    draw = np.random.default_rng(seed).normal
    sizes = [(B, D), *shapes(B, D, G, R, d).values()]
    scales = [1, 1, *[D**-0.5] * 3, (G * R * d) ** -0.5]
    return [
        (scale * draw(size=size)).astype(np.float32)
        for scale, size in zip(scales, sizes, strict=True)
    ]


def plain(In, W_Q, W_K, W_V, W_O):
    """Causal attention on one device, head by head, written another way."""
    B, (_, G, R, d) = len(In), W_Q.shape
    past, Out = np.tril(np.ones((B, B), bool)), 0
    for g in range(G):
        K, V = In @ W_K[:, g], In @ W_V[:, g]
        for r in range(R):
            S = (In @ W_Q[:, g, r]) @ K.T / d**0.5
            Out += jax.nn.softmax(jnp.where(past, S, -jnp.inf)) @ V @ W_O[g, r]
    return Out


def loss(Target, *arguments):
    return ((plain(*arguments) - Target) ** 2).sum() / 2


LONG = pytest.mark.long
SIZES = [
    pytest.param(1, (8, 8, 2, 1, 4), id="one chip", marks=LONG),
    pytest.param(2, (6, 8, 2, 3, 4), id="grouped"),
    pytest.param(4, (12, 16, 4, 1, 4), id="a head each", marks=LONG),
    pytest.param(4, (10, 24, 8, 2, 3), id="two groups each", marks=LONG),
    pytest.param(8, (16, 16, 8, 1, 2), id="eight chips", marks=LONG),
]


@pytest.mark.parametrize(("Y", "sizes"), SIZES)
def test_loss_and_gradients_are_those_of_one_device(Y, sizes):
    mesh = jax.make_mesh((Y,), ("Y",), axis_types=AUTO)
    arguments = numbers(0, *sizes)
    got, *gradients = compiled(layer.gradients(heads, mesh))(*arguments)
    wanted = loss(*arguments)
    assert float(got.sum()) == pytest.approx(float(wanted), rel=1e-5)
    expected = jax.grad(loss, argnums=range(1, 6))(*arguments)
    for name, found, exact in zip(NAMES, gradients, expected, strict=True):
        # Float32 sums of some hundred products: 100 eps of the largest entry.
        scale = np.abs(exact).max()
        np.testing.assert_allclose(
            found, exact, rtol=0, atol=1.2e-5 * scale, err_msg=name
        )


def test_the_forward_pass_is_that_of_one_device():
    mesh = jax.make_mesh((4,), ("Y",), axis_types=AUTO)
    _, *arguments = numbers(1, 12, 16, 4, 2, 4)
    Out = compiled(layer.forward(heads, mesh))(*arguments)
    np.testing.assert_allclose(Out, plain(*arguments), atol=1e-5)


def counted(Y, dtype="bfloat16", **sizes):
    """Records of forward and of backward on Y chips that need not exist."""
    mesh = AbstractMesh((Y,), ("Y",), AUTO)
    args = layer.shapes(heads, mesh, dtype, **shapes(**sizes))
    one = count.collectives(layer.forward(heads, mesh), *args)
    both = count.collectives(layer.gradients(heads, mesh), args[0], *args)
    return one, both[len(one) :]


@settings(max_examples=25)
@given(*(st.integers(1, 9) for _ in "BDGRd"), st.integers(2, 8))
def test_formula_and_count_agree_at_any_size(B, D, G, R, d, Y):
    D, G = D * Y, G * Y
    moved = counted(Y, B=B, D=D, G=G, R=R, d=d)
    for part, predicted in zip(moved, cost.tp_volume(B, D), strict=False):
        assert count.volume(part) == predicted == 4 * B * D
        assert count.sent(part) == Fraction(Y - 1, Y) * 4 * B * D
        assert [c.kind for c in part] == ["all_gather", "reduce_scatter"]


def test_a_layer_of_a_70b_model_on_eight_chips():  # C4.14, EC-18
    sizes = {"B": 8192, "D": 8192, "G": 8, "R": 8, "d": 128}
    forward, backward = counted(8, **sizes)
    assert count.volume(forward) == count.volume(backward) == 4 * 8192 * 8192
    # Two blocks of a layer: 8 b s h (t - 1) / t elements leave a chip.
    elements = 2 * count.sent(forward + backward) / 2
    assert elements == cost.tp_elements(1, 8192, 8192, 8) == 7 * 8192 * 8192


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_results_keep_the_type_of_the_weights(dtype):
    mesh = AbstractMesh((2,), ("Y",), AUTO)
    args = layer.shapes(heads, mesh, dtype, **shapes(4, 4, 2, 1, 2))
    out = jax.eval_shape(layer.gradients(heads, mesh), args[0], *args)
    assert [x.dtype for x in out] == ["float32"] + [dtype] * 5
    assert [x.shape for x in out[1:]] == [x.shape for x in args]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"G": 2}, "W_Q of shape .* 2 must be div", id="heads"),
        pytest.param({"D": 6}, "In of shape .* 6 must be divis", id="width"),
    ],
)
def test_what_does_not_divide_is_refused(change, message):
    sizes = {"B": 8, "D": 8, "G": 4, "R": 2, "d": 2} | change
    with pytest.raises(ValueError, match=message):
        counted(4, **sizes)
