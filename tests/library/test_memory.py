"""Bytes that devices hold: tallies, closed forms, and arrays that are there."""

import re
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import memory, pipeline
from shardlab.memory import (
    LAYER,
    RECIPES,
    Recipe,
    activation_bytes,
    activation_terms,
    block_bytes,
    block_terms,
    bytes_per_param,
    checkpoint_bytes,
    checkpoint_terms,
    max_params,
    memory_over_step,
    peak_over_step,
    stage_activation_bytes,
    state_bytes,
    state_terms,
)
from tests.each import each

# Sums of a few products of floats: each rounds once, so a few parts in 1e16.
near = pytest.approx

LLAMA_2_13B = 13_015_449_600
D, F, LAYERS = 5120, 13824, 40

NAMES = st.sampled_from(sorted(RECIPES))
ZERO = st.integers(0, 3)
SMALL = st.integers(1, 6)


# ---- bytes per parameter ----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "total"),
    [
        pytest.param("weights-and-moments", 10, id="T1.7"),
        pytest.param("bf16-moments", 12, id="V-2"),
        pytest.param("mixed-precision", 16, id="C3.4"),
    ],
)
def test_bytes_per_parameter(name, total):
    assert bytes_per_param(name) == total
    assert bytes_per_param(RECIPES[name]) == total
    assert RECIPES[name].source


def test_C3_6_optimizer_state_is_12_of_16_bytes():
    recipe = RECIPES["mixed-precision"]
    assert recipe.master + recipe.m + recipe.v == 12
    assert bytes_per_param(recipe) == 8 * recipe.param


@pytest.mark.parametrize(
    ("zero", "gigabytes"),
    [(0, 120), (1, 31.40625), (2, 16.640625), (3, 1.875)],
    ids=["C3.7-DP", "C3.7-ZeRO-1", "C3.7-ZeRO-2", "C3.7-ZeRO-3"],
)
def test_7_5_billion_parameters_on_64_devices(zero, gigabytes):
    assert state_bytes(7.5e9, 64, zero) == gigabytes * 1e9
    assert sum(state_terms(7.5e9, 64, zero).values()) == gigabytes * 1e9


@each(
    ("hbm", "N", "zero", "recipe", "billions"),
    [
        pytest.param(80, 8, 0, "mixed-precision", 5.0, id="EC-12-DP-16"),
        pytest.param(80, 8, 3, "mixed-precision", 40.0, id="EC-12-ZeRO-3-16"),
        pytest.param(80, 8, 0, "bf16-moments", 80 / 12, id="EC-12-DP-12"),
        pytest.param(80, 8, 3, "bf16-moments", 640 / 12, id="EC-12-ZeRO-3-12"),
        pytest.param(96, 1, 0, "weights-and-moments", 9.6, id="T1.8"),
        pytest.param(96, 1, 0, "bf16-moments", 8.0, id="V-2-96GB-12"),
        pytest.param(96, 1, 0, "mixed-precision", 6.0, id="ET-5-96GB-16"),
    ],
)
def test_largest_model(hbm, N, zero, recipe, billions):
    found = max_params(hbm * 1e9, N, zero, recipe)
    assert found == near(billions * 1e9, rel=1e-12)


@pytest.mark.parametrize(
    ("recipe", "gigabytes"),
    [("weights-and-moments", 130), ("mixed-precision", 208)],
    ids=["T8.2", "V-2-208"],
)
def test_llama_2_13b_does_not_fit_one_chip(recipe, gigabytes):
    held = state_bytes(LLAMA_2_13B, recipe=recipe)
    assert round(held / 1e9) == gigabytes
    assert held > 96e9


@given(st.integers(1, 300), st.integers(1, 12), ZERO, NAMES)
def test_states_are_arrays_that_a_device_holds(each, N, zero, name):
    """Cut real arrays as ZeRO does, and weigh what the first device keeps."""
    params, recipe = each * N, RECIPES[name]
    cut_from = {"param": 3, "grad": 2, "master": 1, "m": 1, "v": 1}
    held = {}
    for part, stage in cut_from.items():
        whole = np.zeros((params, getattr(recipe, part)), np.int8)
        held[part] = np.split(whole, N)[0] if zero >= stage else whole
    assert state_terms(params, N, zero, name) == {
        part: array.nbytes for part, array in held.items()
    }
    total = sum(array.nbytes for array in held.values())
    assert state_bytes(params, N, zero, name) == near(total, rel=1e-12)


@given(st.floats(1, 1e13), st.integers(1, 10_000), ZERO, NAMES)
def test_tally_of_states_is_the_closed_form(params, N, zero, name):
    tally = sum(state_terms(params, N, zero, name).values())
    assert state_bytes(params, N, zero, name) == near(tally, rel=1e-12)


@given(st.floats(1e6, 1e13), st.integers(1, 10_000), ZERO, NAMES)
def test_the_largest_model_just_fits(hbm, N, zero, name):
    params = max_params(hbm, N, zero, name)
    assert state_bytes(params, N, zero, name) == near(hbm, rel=1e-12)


@given(st.integers(2, 10_000), NAMES)
def test_each_stage_of_zero_holds_no_more(N, name):
    held = [state_bytes(1e9, N, zero, name) for zero in range(4)]
    assert held == sorted(held, reverse=True)
    assert held[0] == state_bytes(1e9, 1, 3, name)
    assert held[3] * N == near(held[0], rel=1e-12)


def test_a_recipe_of_ones_own():
    recipe = Recipe(1, 2, 4, 1, 1)
    assert bytes_per_param(recipe) == 9
    assert state_bytes(100, 2, 2, recipe) == 100 + 400
    assert recipe.source == "the reader's own"


# ---- activations of a layer -------------------------------------------------


@st.composite
def layers(draw):
    t = draw(st.sampled_from([1, 2, 3, 4, 8]))
    a = t * draw(SMALL)
    s, h = t * draw(SMALL), a * draw(SMALL)
    recompute = draw(st.sampled_from(["none", "selective", "full"]))
    return s, draw(SMALL), h, a, t, draw(st.booleans()), recompute


@given(layers())
def test_tally_of_a_layer_is_the_closed_form(layer):
    total = activation_bytes(*layer)
    assert sum(activation_terms(*layer).values()) == total
    assert type(total) is int


@given(layers())
def test_a_layer_is_arrays_that_a_device_holds(layer):
    """Write down each array with its own shape and type, and weigh it."""
    s, b, h, a, t, sp, recompute = layer
    rest = s // t if sp else s  # tokens of what tensor parallelism leaves whole
    heads, width, inner = a // t, h // a, 4 * h // t
    half, byte = np.float16, np.int8
    shapes = {
        "layer norm 1 input": [(rest, b, h, half)],
        "query, key, value input": [(rest, b, h, half)],
        "query and key": [(s, b, heads, width, half)] * 2,
        "value": [(s, b, heads, width, half)],
        "softmax output": [(b, heads, s, s, half)],
        "softmax dropout mask": [(b, heads, s, s, byte)],
        "softmax dropout output": [(b, heads, s, s, half)],
        "attention projection input": [(s, b, heads * width, half)],
        "attention dropout mask": [(rest, b, h, byte)],
        "layer norm 2 input": [(rest, b, h, half)],
        "first MLP matmul input": [(rest, b, h, half)],
        "GeLU input": [(s, b, inner, half)],
        "second MLP matmul input": [(s, b, inner, half)],
        "MLP dropout mask": [(rest, b, h, byte)],
    }
    if recompute == "full":
        shapes = {"layer norm 1 input": shapes["layer norm 1 input"]}
    if recompute == "selective":
        shapes = {k: v for k, v in shapes.items() if "softmax" not in k}
    weighed = {
        name: sum(np.empty(shape, kind).nbytes for *shape, kind in arrays)
        for name, arrays in shapes.items()
    }
    assert activation_terms(*layer) == weighed


@given(layers())
def test_the_published_formulas(layer):
    s, b, h, a, t, *_ = layer
    sbh, scores = s * b * h, Fraction(5 * a * s, h)
    plain = activation_bytes(s, b, h, a)
    assert plain == sbh * (34 + scores)
    assert activation_bytes(s, b, h, a, t) == sbh * (
        10 + Fraction(24, t) + scores / t
    )
    assert activation_bytes(s, b, h, a, t, True) == plain / Fraction(t)
    least = activation_bytes(s, b, h, a, t, True, "selective")
    assert least == Fraction(34 * sbh, t)
    assert activation_bytes(s, b, h, a, recompute="full") == 2 * sbh


@pytest.mark.parametrize(
    ("terms", "factor"),
    [
        pytest.param(
            ["layer norm 1 input", "layer norm 2 input"], 4, id="norms"
        ),
        pytest.param(
            ["attention dropout mask", "MLP dropout mask"], 2, id="masks"
        ),
        pytest.param(
            ["query, key, value input", "first MLP matmul input"],
            4,
            id="inputs",
        ),
    ],
)
def test_C5_7_what_tensor_parallelism_leaves(terms, factor):
    kept = activation_terms(8, 3, 32, 4, t=4)
    assert sum(kept[name] for name in terms) == factor * 8 * 3 * 32
    assert {LAYER[name].cut_by for name in terms} == {"SP"}


def test_EC_21_ten_stay_and_24_are_cut():
    kept = {"SP": 0, "TP": 0}
    for name, size in activation_terms(
        64, 1, 64, 4, recompute="selective"
    ).items():
        kept[LAYER[name].cut_by] += size
    assert kept == {"SP": 10 * 64 * 64, "TP": 24 * 64 * 64}


def test_EC_19_and_EC_20_a_layer_of_gpt_3():
    s, h, a = 2048, 12288, 96
    whole = activation_bytes(s, 1, h, a)
    linear = activation_bytes(s, 1, h, a, recompute="selective")
    assert whole - linear == 5 * a * s**2 == 2_013_265_920
    assert linear == 34 * s * h
    assert whole == s * h * (34 + 80)


def test_C5_4_the_second_term_is_quadratic_in_the_sequence():
    def scores(s, a):
        whole = activation_bytes(s, 1, 96, a)
        return whole - activation_bytes(s, 1, 96, a, recompute="selective")

    assert scores(64, 4) == 4 * scores(32, 4)
    assert scores(64, 8) == 2 * scores(64, 4)


@given(layers())
def test_what_each_measure_saves(layer):
    s, b, h, a, t, *_ = layer
    ways = [
        activation_bytes(s, b, h, a),
        activation_bytes(s, b, h, a, t),
        activation_bytes(s, b, h, a, t, True),
        activation_bytes(s, b, h, a, t, True, "selective"),
        activation_bytes(s, b, h, a, t, True, "full"),
    ]
    assert ways == sorted(ways, reverse=True)


# ---- pipelines --------------------------------------------------------------


def test_EC_13_a_pipeline_does_not_cut_activations_of_its_first_stage():
    p, m, L = 4, 16, 8
    layer = activation_bytes(128, 1, 64, 4)
    whole_model = L * layer
    held = pipeline.in_flight(pipeline.one_f_one_b(p, m))
    stages = stage_activation_bytes(layer, L, held)
    assert stages == [whole_model * n // p for n in (4, 3, 2, 1)]
    assert stages[0] == whole_model
    held = pipeline.in_flight(pipeline.gpipe(p, m))
    assert stage_activation_bytes(layer, L, held) == [whole_model * m // p] * p


def test_chunks_and_streams_in_flight():
    layer, L = 1000, 16
    held = pipeline.in_flight(pipeline.interleaved(4, 8, 2))
    stages = stage_activation_bytes(layer, L, held, v=2)
    assert stages == [22_000, 18_000, 14_000, 10_000]
    held = pipeline.in_flight(pipeline.dualpipe(4, 8, 1, 2, 1))
    assert stage_activation_bytes(layer, L, held) == [5 * 4 * layer] * 4


@given(st.integers(1, 6), st.integers(1, 12), SMALL, st.integers(1, 1000))
def test_stages_hold_layers_of_microbatches(p, m, layers_each, layer):
    """Add up layer by layer what is alive at each moment of a schedule."""
    events = pipeline.one_f_one_b(p, m)
    most = [0] * p
    for now in {e.start for e in events}:
        for stage in range(p):
            begun = sum(
                layer * layers_each
                for e in events
                if e.stage == stage and e.kind == "forward" and e.start <= now
            )
            freed = sum(
                layer * layers_each
                for e in events
                if e.stage == stage and e.kind == "backward" and e.end <= now
            )
            most[stage] = max(most[stage], begun - freed)
    held = pipeline.in_flight(events)
    assert stage_activation_bytes(layer, p * layers_each, held) == most


# ---- the two-matmul block ---------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "terabytes"),
    [
        pytest.param(16_000_000, 41.94304, id="T8.2"),
        pytest.param(3_000_000, 7.86432, id="T8.3b"),
        pytest.param(1_000_000, 2.62144, id="W-T4-1M"),
        pytest.param(10_000_000, 26.2144, id="W-T4-10M"),
    ],
)
def test_three_checkpoints_a_layer(tokens, terabytes):
    total = checkpoint_bytes(LAYERS, tokens, D, F)
    assert total == 2 * LAYERS * tokens * (D + 2 * F)
    assert total == round(terabytes * 1e12)


@pytest.mark.parametrize(
    ("tokens", "recipe", "gigabytes"),
    [
        pytest.param(3_000_000, "weights-and-moments", 1.95, id="T8.3b"),
        pytest.param(1_000_000, "weights-and-moments", 0.67, id="W-T4-1M"),
        pytest.param(10_000_000, "weights-and-moments", 6.43, id="W-T4-10M"),
    ],
)
def test_llama_2_13b_on_4096_chips(tokens, recipe, gigabytes):
    states = state_bytes(LLAMA_2_13B, 4096, 3, recipe)
    kept = checkpoint_bytes(LAYERS, tokens, D, F) / 4096
    assert round((states + kept) / 1e9, 2) == gigabytes
    richer = state_bytes(LLAMA_2_13B, 4096, 3, "mixed-precision")
    assert round((richer - states) / 1e9, 3) == 0.019


@given(SMALL, SMALL, SMALL, SMALL, st.booleans(), st.sampled_from([1, 2, 4]))
def test_checkpoints_are_the_outputs_of_matmuls(L, B, D, F, gated, itemsize):
    def block(In, W_in, W_gate, W_out):
        up = In @ W_in
        Tmp = up * (In @ W_gate) if gated else up
        return Tmp @ W_out

    shapes = [(B, D), (D, F), (D, F), (F, D)]
    abstract = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    equations = jax.make_jaxpr(block)(*abstract).eqns
    outputs = [
        eqn.outvars[0].aval.size
        for eqn in equations
        if eqn.primitive.name == "dot_general"
    ]
    assert len(outputs) == len(checkpoint_terms(L, B, D, F, gated))
    total = L * itemsize * sum(outputs)
    assert checkpoint_bytes(L, B, D, F, gated, itemsize) == total
    terms = checkpoint_terms(L, B, D, F, gated, itemsize)
    assert sum(terms.values()) == total
    # What is not said means the same to both: gated, and bf16.
    alone = sum(checkpoint_terms(L, B, D, F).values())
    assert alone == checkpoint_bytes(L, B, D, F) == 2 * L * B * (D + 2 * F)


def test_W_S7_a_block_that_only_tensor_parallelism_can_hold():
    B, D, F, free = 128, 8192, 32768, 300e6
    whole = 2 * D * F
    assert round(whole / 1e6, 1) == 536.9
    peak = block_bytes(B, D, F, Y=4)
    assert round(peak / 1e6, 1) == 275.3
    assert peak < free
    assert block_bytes(B, D, F, X=4) > 805e6 > free
    terms = block_terms(B, D, F, Y=4)
    weights = sum(size for name, size in terms.items() if name[0] == "W")
    assert round(weights / 1e6, 1) == 268.4
    assert round(terms["Tmp[B_X, F_Y]"] / 1e6, 1) == 2.1
    assert round(terms["Out[B_X, D]"] / 1e6, 1) == 2.1
    arrived = terms["In[B_X, D_Y]"] + terms["In[B_X, D]"]
    assert round(arrived / 1e6, 1) == 2.6


@pytest.mark.parametrize(("X", "Y"), [(1, 1), (1, 4), (4, 1), (4, 2), (2, 4)])
def test_a_block_is_the_arrays_of_its_program(X, Y):
    """Trace the block on X by Y devices and weigh every array it names."""
    B, D, F = 24, 16, 32
    auto = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.sharding.AbstractMesh((X, Y), ("X", "Y"), axis_types=auto)
    P = jax.P
    gather = jax.lax.all_gather

    def block(In, W_in, W_out):
        if Y > 1:
            In = gather(In, "Y", axis=1, tiled=True)
        if X > 1:
            W_in = gather(W_in, "X", axis=0, tiled=True)
        Tmp = In @ W_in
        if X > 1:
            W_out = gather(W_out, "X", axis=1, tiled=True)
        return (Tmp @ W_out)[None, None]  # Out{U_Y}: a part on every device

    program = jax.shard_map(
        block,
        mesh=mesh,
        in_specs=(P("X", "Y"), P("X", "Y"), P("Y", "X")),
        out_specs=P("X", "Y"),
        check_vma=False,
    )
    shapes = [(B, D), (D, F), (F, D)]
    abstract = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    body = jax.make_jaxpr(program)(*abstract).eqns[0].params["jaxpr"]
    held = [v.aval for v in body.invars]
    for eqn in body.eqns:
        if eqn.primitive.name in ("all_gather", "dot_general"):
            held += [v.aval for v in eqn.outvars]
    weighed = sum(aval.size * aval.dtype.itemsize for aval in held)
    # W_in is gathered too, but given back before W_out is.
    gathered_and_freed = 2 * D * (F // Y) if X > 1 else 0
    assert block_bytes(B, D, F, X, Y) == weighed - gathered_and_freed


@given(SMALL, SMALL, SMALL, SMALL, SMALL, st.sampled_from([1, 2, 4]))
def test_tally_of_a_block_is_the_closed_form(X, Y, b, d, f, itemsize):
    sizes = b * X, d * X * Y, f * Y
    terms = block_terms(*sizes, X, Y, itemsize)
    assert sum(terms.values()) == block_bytes(*sizes, X, Y, itemsize)


# ---- memory over one step ---------------------------------------------------


@given(
    st.integers(1, 8),
    st.integers(1, 1000),
    st.integers(0, 40_000),
    NAMES,
    st.booleans(),
)
def test_peak_is_the_highest_moment(L, params, kept, recipe, first):
    moments = memory_over_step(L, params, kept, recipe, first)
    totals = [sum(held.values()) for _, held in moments]
    assert max(totals) == peak_over_step(L, params, kept, recipe, first)
    assert len(moments) == 2 * L + 2
    states = L * params * bytes_per_param(recipe)
    assert totals[-1] == states


@given(st.integers(1, 8), st.integers(1, 1000), st.integers(1, 40_000), NAMES)
def test_C5_1_activations_rise_and_fall_while_gradients_rise(
    L, params, kept, recipe
):
    moments = memory_over_step(L, params, kept, recipe)
    names = [name for name, _ in moments]
    peak = peak_over_step(L, params, kept, recipe)
    highest = [n for n, held in moments if sum(held.values()) == peak]
    assert any(name.startswith("backward") for name in highest)
    back = [held for name, held in moments if name.startswith("backward")]
    activations = [held["activations"] for held in back]
    gradients = [held["gradients"] for held in back]
    assert activations == sorted(activations, reverse=True)
    assert gradients == sorted(gradients)
    assert activations[0] == L * kept
    assert gradients[-1] == L * params * RECIPES[recipe].grad
    assert names[0] == "start"
    assert moments[0][1]["gradients"] == moments[0][1]["activations"] == 0


def test_the_first_step_has_no_moments_until_its_update():
    moments = memory_over_step(3, 10, 5, "mixed-precision", first=True)
    assert [held["moments"] for _, held in moments] == [0] * 7 + [240]
    later = memory_over_step(3, 10, 5, "mixed-precision")
    assert {held["moments"] for _, held in later} == {240}


# ---- bad input --------------------------------------------------------------


@each(
    ("call", "sentence"),
    [
        (lambda: state_bytes(1, zero=4), "zero must be one of 0, 1, 2, 3; got"),
        (lambda: Recipe(2, 2, -1, 4, 4), "master must be a"),
        (lambda: Recipe(2, "2", 4, 4, 4), "grad must be a"),
        (lambda: Recipe(0, 2, 4, 4, 4), "param must be above 0 bytes, got 0"),
        (lambda: state_terms(1, N=2.0), "N must be a"),
        (
            lambda: activation_terms(8, 1, 10, 4),
            "h must be a multiple of a = 4",
        ),
        (lambda: activation_bytes(8, 1, 12, 4, 3), "a must be a multiple of t"),
        (lambda: activation_terms(9, 1, 12, 4, 2, True), "s must be a multipl"),
        (
            lambda: stage_activation_bytes(5, 10, [4, 3, 2, 1]),
            "L must be a multiple of stages x v = 4, got 10",
        ),
        (
            lambda: stage_activation_bytes(5, 4, [4, 3], v=4),
            "L must be a multiple of stages x v = 8, got 4",
        ),
        (
            lambda: stage_activation_bytes(5, 4, [4, -3]),
            "in_flight[1] must be a",
        ),
        (lambda: stage_activation_bytes(5, 4, []), "in_flight must"),
        (lambda: stage_activation_bytes(1.5, 4, [4]), "layer_bytes must be a"),
        (lambda: checkpoint_bytes(1, 2.5, 3, 4), "B must be a"),
        (lambda: block_bytes(3, 8, 8, X=2), "B must be a multiple of X = 2"),
        (lambda: block_terms(4, 9, 8, X=2), "D must be a multiple of X = 2"),
        (lambda: block_bytes(4, 9, 8, Y=2), "D must be a multiple of Y = 2"),
        (lambda: block_terms(4, 8, 9, Y=2), "F must be a multiple of Y = 2"),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ValueError, match="^" + re.escape(sentence)):
        call()


# For every function arguments that are right, to be spoilt one by one.
LAYER_SIZES = {
    **{"s": 4, "b": 2, "h": 8, "a": 2, "t": 2, "sp": True},
    "recompute": "none",
}
STATE = {"params": 5.0, "N": 2, "zero": 1, "recipe": "mixed-precision"}
CHECKPOINTS = {
    **{"L": 2, "B": 4, "D": 8, "F": 16, "gated": True, "itemsize": 2},
}
BLOCK = {"B": 4, "D": 8, "F": 16, "X": 2, "Y": 2, "itemsize": 2}
OVER = {
    **{"L": 2, "layer_params": 3, "layer_bytes": 4, "first": False},
    "recipe": "mixed-precision",
}
RIGHT = {
    "Recipe": {"param": 2, "grad": 2, "master": 4, "m": 4, "v": 4},
    "bytes_per_param": {"recipe": "mixed-precision"},
    "state_terms": STATE,
    "state_bytes": STATE,
    "max_params": {"hbm": 8e10, **{k: STATE[k] for k in list(STATE)[1:]}},
    "activation_terms": LAYER_SIZES,
    "activation_bytes": LAYER_SIZES,
    "stage_activation_bytes": {
        **{"layer_bytes": 8, "L": 4, "in_flight": [2, 1], "v": 2},
    },
    "checkpoint_terms": CHECKPOINTS,
    "checkpoint_bytes": CHECKPOINTS,
    "block_terms": BLOCK,
    "block_bytes": BLOCK,
    "memory_over_step": OVER,
    "peak_over_step": OVER,
}
NONSENSE = [
    *(None, "text", "", b"8", float("nan"), float("inf"), -1, 0, 2.5, True),
    *(False, 10**400, -(10**400), [], {}, (), [None], {1: 2}, object(), 3 + 4j),
]
FINE = {("params", "2.5"), ("hbm", "2.5"), ("layer_params", "2.5")}
FINE |= {("layer_bytes", "2.5"), ("layer_bytes", "0"), ("grad", "0")}
FINE |= {(n, "2.5") for n in ("param", "grad", "master", "m", "v")}
FINE |= {(n, "0") for n in ("master", "m", "v", "zero")}
FINE |= {(n, f"{b}") for n in ("sp", "gated", "first") for b in (True, False)}
# Exact in whole numbers, however large.
FINE |= {(n, "1e400") for n in ("s", "b", "h", "B", "D", "F", "itemsize")}


def in_words(value):
    return "1e400" if value == 10**400 else repr(value)


@each(
    ("function", "argument"),
    [(f, name) for f, right in RIGHT.items() for name in right],
)
def test_every_argument_of_every_function_refuses_nonsense(function, argument):
    call, right = getattr(memory, function), RIGHT[function]
    call(**right)
    for value in NONSENSE:
        fine = (argument, in_words(value)) in FINE
        if function == "stage_activation_bytes":
            fine = value == 10**400 and argument in ("layer_bytes", "L")
        elif function in ("checkpoint_terms", "checkpoint_bytes"):
            fine = fine or (argument, in_words(value)) == ("L", "1e400")
        if fine:
            call(**right | {argument: value})
            continue
        with pytest.raises(ValueError, match=rf"\b{argument}\b"):
            call(**right | {argument: value})


def test_every_function_is_spoilt():
    public = {
        name
        for name, value in vars(memory).items()
        if getattr(value, "__module__", "") == "shardlab.memory"
        and not name.startswith("_")
    }
    assert {*RIGHT} == public - {"Kept"}


@each("in_flight", [5, {0: 2}, b"21", "21", None, ()])
def test_counts_in_flight_are_a_list(in_flight):
    with pytest.raises(ValueError, match="^in_flight must be a list"):
        stage_activation_bytes(8, 4, in_flight)


@given(X=st.integers(1, 4), Y=st.integers(1, 4), k=st.integers(1, 3))
def test_a_block_needs_no_more_than_it_says(X, Y, k):
    """X divides B and D, Y divides D and F; X Y need not divide D."""
    sizes = X * k, np.lcm(X, Y).item() * k, Y * k
    terms = block_terms(*sizes, X, Y)
    assert block_bytes(*sizes, X, Y) == sum(terms.values())


@pytest.mark.parametrize("N", [1, 8, 64])
def test_float32_gradients_are_18_bytes_a_parameter(N):
    """Megatron-Core's table: 18, and with its optimiser cut 6 + 12 / d."""
    recipe = "float32-gradients"
    assert memory.bytes_per_param(recipe) == 18
    assert memory.state_bytes(1e9, N, 1, recipe) == 1e9 * (6 + 12 / N)
    assert memory.state_bytes(1e9, N, 3, recipe) == 1e9 * 18 / N
