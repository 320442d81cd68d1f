"""What JAX keeps between two passes, held to what is known of small cases."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import P, lax
from jax._src import ad_checkpoint
from jax.ad_checkpoint import checkpoint_name as label
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, memory
from shardlab.count.saving import saved, saved_bytes
from shardlab.transformer import dropout, strategies

pytestmark = pytest.mark.slow

SIZES = [
    {"s": 12, "b": 2, "h": 24, "a": 4},
    {"s": 40, "b": 1, "h": 16, "a": 8},
]
names = jax.checkpoint_policies.save_only_these_names


def shape(*size, dtype="float32"):
    return jax.ShapeDtypeStruct(size, dtype)


def test_a_product_keeps_its_operands():
    found = saved(jnp.matmul, shape(3, 4), shape(4, 5))
    assert {each.made_by for each in found} == {"argument"}
    assert sum(each.bytes for each in found) == 4 * (12 + 20)
    assert saved_bytes(found) == {}


def test_what_is_kept_has_its_name_its_maker_and_its_function():
    def waved(x):
        return jnp.sin(x)

    def squared(x):
        square = label(x * x, "square")
        return waved(square @ x)

    found = saved(squared, shape(5, 5))
    assert saved_bytes(found)["square"] == 100
    assert saved_bytes(found, "function")["waved"] == 100
    assert saved_bytes(found, "made_by") == {"named": 100, "cos": 100}


def test_what_was_rounded_is_told_as_jax_before_0_10_2_does_not(monkeypatch):
    seen, tell = [], ad_checkpoint._saved_residuals

    def told(jaxpr, names):
        makers = {v: e.primitive.name for e in jaxpr.eqns for v in e.outvars}
        seen.append([makers.get(v) for v in jaxpr.outvars])
        return tell(jaxpr, names)

    monkeypatch.setattr(ad_checkpoint, "_saved_residuals", told)
    policy = jax.checkpoint_policies.save_only_these_names("wave")
    f = jax.checkpoint(
        lambda x: jnp.sin(label(jnp.sin(x), "wave")), policy=policy
    )
    now = saved(f, shape(5))
    monkeypatch.setattr(jax, "__version_info__", (0, 10, 0))
    assert saved(f, shape(5)) == now
    assert saved_bytes(now) == {"wave": 20}
    assert "reduce_precision" in seen[0]
    assert "name" in seen[1]
    assert "reduce_precision" not in seen[1]


def test_a_key_is_eight_bytes():
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 3))

    @jax.checkpoint
    def noisy(x, keys):
        return jnp.sin(x) * jax.random.normal(keys[0], x.shape)

    (key,) = [e for e in saved(noisy, shape(5), keys) if e.name == "keys"]
    assert key.bytes == 24


@pytest.mark.parametrize("sizes", SIZES)
def test_C5_3_the_fourteen_terms_are_what_a_policy_keeps(sizes):
    W, x, keys = dropout.shapes(**sizes)
    layer = jax.checkpoint(dropout.layer, policy=names(*dropout.NAMES))
    kept = saved_bytes(saved(layer, W, x, keys))
    assert kept == memory.activation_terms(**sizes)
    alone = saved_bytes(saved(dropout.layer, W, x, keys))
    assert sum(alone.values()) > 2 * sum(kept.values())


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("sp", [False, True])
def test_C5_6_C5_9_the_terms_on_each_chip(sizes, sp):
    W, x, keys = dropout.shapes(**sizes)
    mesh = AbstractMesh((4,), ("Y",), axis_types=(AxisType.Auto,))
    cut = {
        name: P(*("Y" if d in dropout.CUT else None for d in dims))
        for name, dims in dropout.WEIGHTS.items()
    }
    moves = (strategies.f, strategies.g)
    if sp:
        moves = (strategies.gather_tokens, strategies.scatter_tokens)
    layer = partial(dropout.layer, enter=moves[0], leave=moves[1])
    layer = jax.checkpoint(layer, policy=names(*dropout.NAMES))
    kept = {}

    def local(W, x, keys):
        kept.update(saved_bytes(saved(layer, W, x, keys)))
        return layer(W, x, keys)

    tokens = P("Y") if sp else P()
    specs = {"in_specs": (cut, tokens, P()), "out_specs": tokens}
    jax.eval_shape(jax.shard_map(local, mesh=mesh, **specs), W, x, keys)
    assert kept == memory.activation_terms(**sizes, t=4, sp=sp)


@pytest.mark.parametrize("sizes", SIZES)
def test_names_cost_no_product(sizes):
    W, x, keys = dropout.shapes(**sizes)

    def flops(layer):
        def loss(W, x, keys):
            return layer(W, x, keys).astype("float32").sum()

        return count.flops(jax.grad(loss, (0, 1)), W, x, keys)

    policy = jax.checkpoint(dropout.layer, policy=names(*dropout.NAMES))
    s, b, h, _ = sizes.values()
    plain = flops(dropout.layer)
    assert (
        flops(policy) == plain == 3 * (24 * s * b * h * h + 4 * s * s * b * h)
    )
    again = flops(jax.checkpoint(dropout.layer)) - plain
    assert again == plain // 3 - 8 * s * b * h * h  # all but W_out


def test_a_scan_keeps_it_for_every_layer():
    W = shape(5, 6, 6)

    def stack(x, W):
        @jax.checkpoint
        def one(x, W):
            return jnp.tanh(x @ W), None

        return lax.scan(one, x, W)[0]

    kept = saved_bytes(saved(stack, shape(3, 6), W), "made_by")
    assert kept == {"scan": 5 * 3 * 6 * 4}


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="`f`.*got 3"):
        saved(3, shape(2))
    with pytest.raises(ValueError, match="`by`.*got 'size'"):
        saved_bytes([], "size")
    with pytest.raises(ValueError, match="h must be a multiple of a = 5"):
        dropout.shapes(4, 1, 12, 5)


@pytest.mark.long
def test_a_policy_changes_no_gradient():
    (W, x, keys), random = dropout.shapes(**SIZES[0]), jax.random.key(3)
    W = {
        name: jax.random.normal(jax.random.fold_in(random, n), each.shape)
        / each.shape[0] ** 0.5
        for n, (name, each) in enumerate(W.items())
    }
    x, keys = jax.random.normal(random, x.shape), jax.random.split(random, 3)
    policy = jax.checkpoint(dropout.layer, policy=names("value"))
    found, wanted = (
        jax.grad(lambda x, layer=layer: layer(W, x, keys).sum())(x)
        for layer in (policy, dropout.layer)
    )
    assert abs(wanted).max() > 1
    assert jnp.allclose(found, wanted, atol=1e-4)


def test_the_derivative_of_the_softmax_is_that_of_jax():
    scores = jax.random.normal(jax.random.key(1), (3, 7))
    weigh = jnp.arange(21.0).reshape(3, 7)
    ours = jax.grad(lambda s: (dropout.softmax(s) * weigh).sum())(scores)
    theirs = jax.grad(lambda s: (jax.nn.softmax(s) * weigh).sum())(scores)
    assert jnp.allclose(ours, theirs, atol=1e-5)
