"""The tiny Transformer: one model, the same numbers under every strategy."""

from dataclasses import replace
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, count, evidence, pipeline, plan
from shardlab.transformer import (
    KEPT,
    STRATEGIES,
    model,
    stages,
    strategies,
    training,
)
from shardlab.transformer import evidence as seen
from shardlab.transformer.evidence import TINY, B
from tests.compiling import compiled
from tests.each import each
from tools import strategies as page

pytestmark = pytest.mark.slow

PAGE = page.TARGET.read_text(encoding="utf-8")
T = TINY.context
# float32 has 6e-8; sums of a few hundred terms in another order, and gradients
# that are sums of terms larger than themselves, cost about 40 of them.
CLOSE = 5e-6


@pytest.fixture(scope="module", autouse=True)
def compile_quickly():
    """Each program runs once: compiling it well would take longer."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


# --- the model itself, against NumPy in float64 -------------------------------


def norm(x, gain):
    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * gain


def heads_alone(W, x, layer):
    """Causal attention of one sequence, one head after the other."""
    _, G, R, d = W["W_Q"][layer].shape
    out = 0
    for g in range(G):
        K, V = (x @ W[n][layer][:, g] for n in ("W_K", "W_V"))
        for r in range(R):
            scores = x @ W["W_Q"][layer][:, g, r] @ K.T / np.sqrt(d)
            past = np.tril(np.ones_like(scores)) > 0
            weights = np.exp(scores) * past
            weights /= weights.sum(1, keepdims=True)
            out = out + weights @ V @ W["W_O"][layer][g, r]
    return out


def loss_in_numpy(W, tokens, targets):
    """The mean surprise, sequence by sequence, as the formulas say it."""
    total = 0
    for start in range(0, len(tokens), T):
        part = slice(start, start + T)
        x = W["embed"]["W_embed"][tokens[part]]
        layers = W["layers"]
        for i in range(TINY.L):
            x = x + heads_alone(layers, norm(x, layers["gain_attention"][i]), i)
            y = norm(x, layers["gain_mlp"][i])
            gate = y @ layers["W_gate"][i]
            gate = gate / (1 + np.exp(-gate))
            x = x + gate * (y @ layers["W_in"][i]) @ layers["W_out"][i]
        y = norm(x, W["head"]["gain_head"])
        logits = y @ W["head"]["W_head"]
        right = logits[np.arange(T), targets[part]]
        total += (np.log(np.exp(logits).sum(1)) - right).sum()
    return total / len(tokens)


def test_the_loss_and_its_slope_are_those_of_numpy():
    tokens, targets, W = seen.data()
    (parts, dW, _, _), _ = seen.ran("none")
    W = jax.tree.map(lambda w: w.astype(float), W)
    assert float(parts.sum()) == pytest.approx(
        loss_in_numpy(W, tokens, targets), rel=CLOSE
    )
    # Along a random direction the loss changes as the gradient says. A central
    # difference of step 1e-5 is exact to about 1e-9.
    random = np.random.default_rng(7)
    way = jax.tree.map(lambda w: random.normal(size=w.shape), W)
    ends = [
        loss_in_numpy(
            jax.tree.map(lambda w, v, s=s: w + s * v, W, way), tokens, targets
        )
        for s in (-1e-5, 1e-5)
    ]
    slope = jax.tree.map(lambda g, v: (np.asarray(g, float) * v).sum(), dW, way)
    assert sum(jax.tree.leaves(slope)) == pytest.approx(
        (ends[1] - ends[0]) / 2e-5, rel=1e-4
    )


def test_a_loss_of_large_logits_is_a_number():
    Out, W_head = np.array([[200.0]]), np.array([[0.0, 1.0, 1.0]])
    for right, expected in ((0, 200 + np.log(2)), (1, np.log(2))):
        Out, W_head = Out.astype("float32"), W_head.astype("float32")
        found = model.cross_entropy(Out, W_head, np.array([right]))
        assert float(found[0]) == pytest.approx(expected, rel=1e-6)


def test_products_with_the_first_weights_keep_their_size():
    # The terms of a sum: what each element of a result is made of.
    terms = dict.fromkeys(("W_Q", "W_K", "W_V", "W_gate", "W_in"), TINY.D)
    terms |= {"W_O": TINY.heads * TINY.head_size, "W_out": TINY.F}
    terms |= {"W_embed": TINY.vocab, "W_head": TINY.D}
    found = [group.items() for group in model.start(TINY).values()]
    for name, W in (item for group in found for item in group):
        if name in terms:  # 1,280 numbers or more: their spread is known to 2 %
            assert W.std() ** 2 * terms.pop(name) == pytest.approx(1, rel=0.15)
        else:
            assert W.mean() == pytest.approx(1, rel=0.15)  # gains
    assert not terms


def test_no_token_sees_a_later_one():
    tokens, targets, W = seen.data()
    part = slice(0, T)
    tokens, targets = tokens[part].copy(), targets[part]
    at = STRATEGIES["none"]

    def activations(tokens):
        In = model.embed(tokens, W["embed"]["W_embed"])
        return np.asarray(model.layers(at, W["layers"], W["layers"], In, T))

    before = activations(tokens)
    tokens[3] += 1
    after = activations(tokens)
    np.testing.assert_array_equal(before[:3], after[:3])
    assert (before[3:] != after[3:]).any(1).all()


# --- the same numbers, and what is held ---------------------------------------


# Chapter 15 runs a step under all of them, and compares as much.
@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("dp", "fsdp_tp")
        else pytest.param(name, marks=pytest.mark.long)
        for name in STRATEGIES
    ],
)
def test_a_training_step_is_that_of_one_chip(name):
    found = seen.evidence_of(name)
    assert max(found.loss, found.gradients, found.step) < CLOSE
    assert found.held == found.promised
    assert {row.ratio for row in found.rows} == {1}
    assert page.row(found) in PAGE, "run: make notebooks"


def test_the_forward_pass_alone_gives_the_same_loss():
    mesh = evidence.devices(evidence.chips_of("dp"))
    parts = compiled(training.forward("dp", mesh, T))(*seen.data())
    (wanted, *_), _ = seen.ran("dp")
    assert np.asarray(parts) == pytest.approx(np.asarray(wanted), rel=CLOSE)


def test_every_gradient_is_there():
    (_, dW, _, _), _ = seen.ran("none")
    for path, dw in jax.tree_util.tree_leaves_with_path(dW):
        moved = np.abs(np.asarray(dw)).max(tuple(range(1, dw.ndim)))
        if path[-1].key != "W_embed":  # where words that nobody said stay
            assert moved.all(), path


def test_a_pipeline_is_one_chip_as_well():
    found = seen.of_pipeline("interleaved")
    assert max(found.loss, found.gradients) < CLOSE
    assert found.step is None
    assert {row.ratio for row in found.rows} == {1}
    assert page.row(found) in PAGE, "run: make notebooks"


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=10)
def test_layers_are_dealt_in_the_order_of_the_way(p, v, each):
    L = p * v * each
    W = {"layers": {"W": np.arange(L)}, "head": {"W": np.ones(2)}}
    dealt = stages.dealt(W, p, v)
    for part in range(p * v):
        chunk, stage = divmod(part, p)
        mine = dealt["layers"]["W"][stage, chunk]
        assert list(mine) == list(range(part * each, (part + 1) * each))
    back = stages.undealt(dealt)
    assert list(back["layers"]["W"]) == list(range(L))
    assert list(back["head"]["W"]) == [p * v, p * v]  # summed over stages


# --- bytes that move ----------------------------------------------------------


def shape(L, D, F, G, R, d, words, T=4):
    return plan.Model(
        "m",
        L,
        D,
        F,
        heads=G * R,
        kv_heads=G,
        head_size=d,
        vocab=words,
        context=T,
    )


SMALL = dict.fromkeys("LDFGRdwb", (1, 5)) | dict.fromkeys("xy", (2, 4))


@settings(max_examples=7)
@given(
    name=st.sampled_from([*STRATEGIES, KEPT.name]),
    **{size: st.integers(*ends) for size, ends in SMALL.items()},
)
def test_formula_and_count_agree_at_any_size(
    name, x, y, L, D, F, G, R, d, w, b
):
    m = shape(L, D * x, F * y, G * y, R, d, w * y)
    X, Y = {"none": (1, 1), "megatron": (1, y), "sequence": (1, y)}.get(
        name, (x, y if name == "fsdp_tp" else 1)
    )
    kept = name == KEPT.name
    moved = seen.counts(KEPT if kept else name, m, 4 * b * x * y, X, Y)
    formula = cost.transformer_volume(
        "fsdp" if kept else name,
        4 * b * x * y,
        *seen.formula_sizes(m),
        X,
        Y,
        kept=kept,
    )
    for axis, step in formula.items():
        found = [Fraction(count.volume(part, axis)) for part in moved]
        if (
            name == "fsdp_tp" and axis == "Y"
        ):  # B / X and D / X may not be whole
            assert [float(V) for V in found] == pytest.approx(step, rel=1e-12)
        else:
            assert found == [Fraction(V) for V in step]


def test_volumes_by_hand():
    # The same numbers as plain arithmetic, so that neither side judges itself.
    L, D, F, h, kv, V, B = 3, 10, 14, 12, 6, 40, 48
    layer = 2 * D * h + 2 * D * kv + 3 * D * F + 2 * D
    P = 3 * layer + 2 * V * D + D
    sizes = L, D, F, h, kv, V
    volume = cost.transformer_volume
    assert cost.transformer_elements(*sizes) == (3 * layer, 2 * V * D + D)
    assert volume("dp", B, *sizes, X=8)["X"] == (0, 4 * P, 0)
    assert volume("zero2", B, *sizes, X=8)["X"] == (0, 2 * P, 2 * P)
    again = 2 * 3 * layer
    assert volume("fsdp", B, *sizes, X=8)["X"] == (2 * P, again + 2 * P, 0)
    kept = volume("fsdp", B, *sizes, X=8, kept=True)["X"]
    assert kept == (2 * P, 2 * P, 0)
    # 7 AllReduces of 2 B D bytes, twice each, and 3 of 4 B for the loss.
    blocks, loss, gains = 7 * 2 * 2 * B * D, 3 * 2 * 4 * B, 7 * 2 * 2 * D
    found = volume("megatron", B, *sizes, Y=2)["Y"]
    assert found == (blocks + loss, blocks, 0)
    found = volume("sequence", B, *sizes, Y=2)["Y"]
    assert found == (blocks + loss, blocks + gains, 0)
    mixed = volume("fsdp_tp", B, *sizes, X=2, Y=2)
    assert mixed["Y"] == ((blocks + loss) / 2, (blocks + gains) / 2, 0)
    half = (P - 7 * D) / 2 + 7 * D  # gains are whole on each chip of Y
    assert mixed["X"].forward == 2 * half
    assert all(V == (0, 0, 0) for V in volume("fsdp", B, *sizes).values())


def test_a_real_model_on_4096_chips():
    llama = plan.model("llama-2-13b")
    for row in seen.rows("fsdp_tp", llama, 2**22, 512, 8):
        assert row.ratio == 1
    shapes = jax.tree.leaves(
        model.shapes(llama), is_leaf=lambda x: type(x) is tuple
    )
    gains = (2 * llama.L + 1) * llama.D
    assert sum(map(np.prod, shapes)) == plan.params(llama) + gains


@each("name", STRATEGIES)
def test_both_passes_begin_with_the_forward_pass(name):
    mesh = evidence.no_devices({"X": 2, "Y": 2})
    batch = training.arguments(name, mesh, TINY, B)[:3]
    forward = count.collectives(training.forward(name, mesh, T), *batch)
    both = count.collectives(training.gradients(name, mesh, T), *batch)
    assert tuple(both[: len(forward)]) == tuple(forward)


def test_a_mesh_that_is_set_changes_nothing():
    X8 = jax.make_mesh((8,), ("Z",), axis_types=(AxisType.Explicit,))
    alone = seen.rows("fsdp_tp", TINY, B, 4, 2)
    with jax.set_mesh(X8):
        assert seen.rows("fsdp_tp", TINY, B, 4, 2) == alone


@pytest.mark.parametrize("name", ["none", "fsdp_tp"])
def test_no_product_is_formed_twice(name):
    # Each product of the forward pass has two in the backward pass.
    mesh = evidence.no_devices({"X": 2, "Y": 2})
    batch = training.arguments(name, mesh, TINY, B)[:3]
    forward = count.flops(training.forward(name, mesh, T), *batch)
    both = count.flops(training.gradients(name, mesh, T), *batch)
    assert both == 3 * forward


# --- what is alive ------------------------------------------------------------


def test_fsdp_has_one_layer_gathered_and_zero2_one_gradient():
    # Long and thin: twelve layers, few tokens, so that weights are everything.
    deep = shape(L=12, D=64, F=96, G=4, R=1, d=16, words=64, T=2)
    elements = cost.transformer_elements(*seen.formula_sizes(deep))
    layer, whole = 2 * elements.layers // 12, 2 * elements.total
    peaks = {
        getattr(name, "name", name): seen.alive(name, deep, 16, 8)
        for name in ("dp", "zero1", "zero2", "fsdp", KEPT)
    }
    assert peaks["fsdp"].gathered == layer
    assert peaks[KEPT.name].gathered >= 12 * layer
    for name in ("dp", "zero1"):  # all weights, and all gradients
        assert peaks[name].live > 2 * whole
        assert peaks[name].gathered == 0
    # All weights, an eighth of the gradients, a few layers' worth of work.
    assert peaks["zero2"].live < whole + whole / 8 + 3 * layer
    assert peaks["fsdp"].live < 2 * whole / 8 + 4 * layer


# --- a strategy that is wrong is seen -----------------------------------------


def volume(at, X=2, Y=2):
    return sum(map(count.volume, seen.counts(at, TINY, B, X, Y)))


def test_without_f_every_product_would_have_an_allreduce():
    # JAX's types put in what is forgotten, but once for each use.
    right = STRATEGIES["megatron"]
    wrong = replace(right, enter=strategies.same)
    _, backward, _ = seen.counts(right, TINY, B, 1, 8)
    _, more, _ = seen.counts(wrong, TINY, B, 1, 8)
    f = 2 * 2 * B * TINY.D  # Q, K and V are two more, W_in and W_gate one
    extra = TINY.L * (2 + 1) * f
    assert count.volume(more) == count.volume(backward) + extra


def test_a_gradient_that_is_reduced_too_early_moves_three_times_as_much():
    right = STRATEGIES["zero1"]
    wrong = replace(right, own=strategies.same)
    _, backward, _ = seen.counts(right, TINY, B, 8)
    _, more, _ = seen.counts(wrong, TINY, B, 8)
    assert count.volume(more) == 3 * count.volume(backward)


def test_a_forgotten_g_is_a_type_error():
    wrong = replace(STRATEGIES["megatron"], leave=strategies.same)
    with pytest.raises((TypeError, ValueError), match="(?i)varying|manual"):
        volume(wrong)


# --- bad input ----------------------------------------------------------------


def abstract(X=2, Y=2):
    return AbstractMesh((X, Y), ("X", "Y"), (AxisType.Auto,) * 2)


def staged_alone(tokens):
    """Two microbatches of these tokens on two stages."""
    events, ways = pipeline.one_f_one_b(2, 2), pipeline.routes(2, 2)
    mesh = evidence.no_devices({"Z": 2})
    step = stages.gradients(events, ways, mesh, T)
    tokens = np.zeros(tokens, np.int32)
    return jax.eval_shape(step, tokens, tokens, seen.data()[2])


WRONG = {
    "microbatches": (
        lambda: staged_alone(3 * T),
        "tokens must be whole sequences of T = 6 in 2 microbatches, got 18",
    ),
    "cut sequences": (
        lambda: staged_alone(T),
        "tokens must be whole sequences of T = 6 in 2 microbatches, got 6",
    ),
    "no such axis": (
        lambda: training.batch("dp", evidence.no_devices({"Z": 4}), 24, T),
        "mesh must have an axis X, got {'Z': 4}",
    ),
    "whole weights": (
        lambda: model.start(TINY, dtype="int32"),
        "dtype must be of floats, got 'int32'",
    ),
    "strategy": (
        lambda: training.gradients("zero3", abstract(), T),
        "strategy must be one of 'none'",
    ),
    "schedule": (lambda: seen.of_pipeline("fast"), "name must be one of"),
    "batch": (
        lambda: training.arguments("dp", abstract(), TINY, 6),
        "B must be whole sequences of T = 6 on 2 devices, got 6",
    ),
    "D": (
        lambda: training.arguments("fsdp", abstract(3), TINY, 18),
        "32 must be divisible by axis X of size 3",
    ),
    "heads": (
        lambda: training.arguments("megatron", abstract(2, 3), TINY, 12),
        "must be divisible by axis Y of size 3",
    ),
    "mesh": (
        lambda: training.weights("fsdp", evidence.no_devices({"Z": 4}), TINY),
        "mesh must have an axis X",
    ),
    "seed": (lambda: model.start(TINY, seed=-1), "seed must be a"),
    "tied": (
        lambda: model.shapes(plan.model("gemma-2-27b")),
        "model.tied must be False, got True",
    ),
    "model": (lambda: model.shapes("llama"), "model must be"),
    "stages": (
        lambda: stages.dealt(seen.data()[2], 3),
        "p v must divide L = 8, got 3 x 1",
    ),
    "T": (
        lambda: model.loss(
            STRATEGIES["none"],
            seen.data()[2],
            seen.data()[2],
            np.zeros(8, int),
            np.zeros(8, int),
            6,
        ),
        "T must divide 8 tokens, got 6",
    ),
    "idle": (
        lambda: cost.transformer_volume("dp", 8, 1, 1, 1, 1, 1, 1, X=2, Y=2),
        "Y must be 1 for the strategy 'dp'",
    ),
    "cost": (
        lambda: cost.transformer_volume("tp", 8, 1, 1, 1, 1, 1, 1),
        "strategy must be one of",
    ),
    "no tokens": (
        lambda: cost.transformer_volume("dp", 0, 1, 1, 1, 1, 1, 1, X=2),
        "B must be a",
    ),
    "kept": (
        lambda: cost.transformer_volume("dp", 8, 1, 1, 1, 1, 1, 1, kept=1),
        "kept must be",
    ),
    "vocab": (
        lambda: cost.transformer_elements(1, 1, 1, 1, 1, 0),
        "vocab must be",
    ),
    "Y": (
        lambda: cost.transformer_elements(1, 1, 1, 1, 1, 1, Y=0.5),
        "Y must be",
    ),
}


@each("case", WRONG)
def test_bad_input_is_named(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        call()
