"""Any schedule on real arrays: the numbers of one device, and their traffic."""

from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, count, pipeline
from shardlab.strategies.pipeline import staged
from shardlab.strategies.pipeline.timetable import (
    NOWHERE,
    TASKS,
    allotted,
    ticks,
    timetable,
)
from tests.compiling import compiled
from tests.each import each

B, D, F = 2, 4, 6  # tokens of a microbatch, width and hidden width
BUILDERS = {
    "naive": pipeline.naive,
    "gpipe": pipeline.gpipe,
    "1f1b": pipeline.one_f_one_b,
    "interleaved": lambda p, m: pipeline.interleaved(p, m, 2),
    "zero-bubble": pipeline.zero_bubble,
    "dualpipe": pipeline.dualpipe,
}
CHUNKS = {"interleaved": 2, "dualpipe": 2}
SIZES = [(name, p, m) for name in BUILDERS for p, m in [(4, 8), (2, 4)]]
SIZES += [("naive", 1, 2), ("gpipe", 3, 2), ("1f1b", 4, 2), ("1f1b", 1, 3)]
SIZES += [("gpipe", 1, 1), ("zero-bubble", 3, 7), ("zero-bubble", 4, 1)]
SIZES += [("interleaved", 1, 2), ("interleaved", 3, 3)]


@pytest.fixture(scope="module", autouse=True)
def compile_quickly():
    """Each program runs once: compiling it well would take longer."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def schedule(name, p, m):
    """Its events, the ways, and which part of the model lies where: [p, v]."""
    events, v = BUILDERS[name](p, m), CHUNKS.get(name, 1)
    places = np.arange(p)[:, None] + p * np.arange(v)
    if name != "dualpipe":
        return events, pipeline.routes(p, m, v), places
    return events, pipeline.two_way_routes(p, m), mirrored(p)


def mirrored(p):
    """Of each part of the model two copies, one for each direction."""
    return np.stack([np.arange(p), np.arange(p)[::-1]], 1)


def line(p):
    return jax.make_mesh(
        (p,), ("Z",), axis_types=(AxisType.Auto,), devices=jax.devices()[:p]
    )


def abstract(p):
    return AbstractMesh((p,), ("Z",), (AxisType.Auto,))


def spread(model, places):
    """The parts of the model, where they lie."""
    return jax.tree.map(lambda W: W[places], model)


def collected(dparams, places, parts):
    """The gradients of the parts of the model; copies are added."""
    found = []
    for dW in dparams:
        total = np.zeros((parts, *dW.shape[2:]))
        np.add.at(total, places, np.asarray(dW, np.float64))
        found.append(total)
    return found


@cache
def integers(m, parts):
    """In, Target, W_in, W_out of whole numbers so small that sums are exact."""
    draw = np.random.default_rng(7).integers
    In, Target = draw(-2, 3, (m, B, D)), draw(-2, 3, (m, B, D))
    model = []
    for rows, columns in ((D, F), (F, D)):
        signs = np.eye(rows, columns) * draw(0, 2, (parts, rows, 1)) * 2
        few = draw(0, 8, (parts, rows, columns)) == 0
        model.append(signs - np.eye(rows, columns) + few)
    found = on_one_device(In, Target, *model)
    assert max(np.abs(x).max() for x in found[1:]) < 2**20
    return tuple(np.asarray(x, np.float32) for x in (In, Target, *model))


def on_one_device(In, Target, W_in, W_out):
    """The loss and all gradients, by the chain rule, in 64-bit integers."""
    x, Target, W_in, W_out = (
        np.asarray(a).astype(np.int64) for a in (In, Target, W_in, W_out)
    )
    kept = []
    for A, C in zip(W_in, W_out, strict=True):
        kept.append((x, x @ A))
        x = x @ A @ C
    dy, dW_in, dW_out = x - Target, [], []
    twice = (dy**2).sum()
    for (x, Tmp), A, C in zip(kept[::-1], W_in[::-1], W_out[::-1], strict=True):
        dTmp = dy @ C.T
        dW_out.append(np.einsum("mbf,mbd->fd", Tmp, dy))
        dW_in.append(np.einsum("mbd,mbf->df", x, dTmp))
        dy = dTmp @ A.T
    return twice, dy, dW_in[::-1], dW_out[::-1]


@pytest.mark.parametrize(
    ("name", "p", "m"),
    [
        pytest.param(*case, marks=pytest.mark.slow if n else ())
        for n, case in enumerate(SIZES)  # make check compiles the first
    ],
    ids=str,
)
def test_loss_and_gradients_are_those_of_one_device(name, p, m):
    events, ways, places = schedule(name, p, m)
    parts = 1 + places.max()
    In, Target, *model = integers(m, parts)
    step = compiled(staged.gradients(staged.BLOCK, events, ways, line(p)))
    loss, dIn, dparams = step(In, Target, tuple(spread(model, places)))
    twice, *expected = on_one_device(In, Target, *model)
    assert 0 < twice == 2 * np.asarray(loss, np.float64).sum()
    found = [np.asarray(dIn).sum(0), *collected(dparams, places, parts)]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, np.asarray(b))
        assert np.any(b)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zero-bubble", "interleaved"])
def test_ticks_that_are_written_out_make_the_same_numbers(name):
    events, ways, places = schedule(name, 2, 2)
    In, Target, *model = integers(2, 1 + places.max())
    args = In, Target, tuple(spread(model, places))
    rolled, written = (
        compiled(staged.gradients(staged.BLOCK, events, ways, line(2), how))(
            *args
        )
        for how in (True, False)
    )
    jax.tree.map(np.testing.assert_array_equal, rolled, written)


def shapes(p, v, m):
    """Shapes of In, Target and the weights of the block, in bf16."""

    def bf16(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16)

    x = bf16(m, B, D)
    return x, x, (bf16(p, v, D, F), bf16(p, v, F, D))


CROSSED = [(name, 4, 8) for name in BUILDERS if name != "naive"]
CROSSED += [("naive", 3, 2), ("interleaved", 2, 2), ("dualpipe", 2, 4)]


@pytest.mark.parametrize(
    ("name", "p", "m"),
    [
        pytest.param(
            *case, marks=() if case[0] == "gpipe" else pytest.mark.slow
        )
        for case in CROSSED
    ],
    ids=str,
)
def test_each_boundary_carries_what_the_formula_says(name, p, m):
    events, ways, places = schedule(name, p, m)
    step = staged.gradients(staged.BLOCK, events, ways, abstract(p), False)
    moved = count.collectives(step, *shapes(p, places.shape[1], m))
    assert {c.kind for c in moved} == {"permute"}
    v = 2 if name == "interleaved" else 1  # each chunk sends its own
    formula = cost.pipeline_volume(m * B, D)
    for s in range(p):
        for t in range(p):
            there = count.between(moved, s, t, "Z")
            assert there == handed(ways, s, t) * B * D * 2
            if abs(s - t) == 1 and p > 2:
                assert there == v * formula.forward


def handed(ways, s, t):
    """How often an array goes from stage s to t: forward or back."""
    steps = [(a[0], b[0]) for way in ways for a, b in pairwise(way)]
    return steps.count((s, t)) + steps.count((t, s))


def test_a_rolled_program_sends_in_every_tick():
    p, m = 4, 8
    events, ways, _ = schedule("1f1b", p, m)
    length = len(timetable(events, ways)[0].task)
    step = staged.gradients(staged.BLOCK, events, ways, abstract(p))
    moved = count.collectives(step, *shapes(p, 1, m))
    assert [c.times for c in moved] == [length] * 2
    assert length == 2 * (m + p - 1)


@each(("name", "p", "m"), SIZES)
def test_slots_are_as_many_as_there_are_microbatches_in_flight(name, p, m):
    events, ways, _ = schedule(name, p, m)
    _, slots = timetable(events, ways)
    assert slots.saved == max(pipeline.in_flight(ticks(events, ways)))


@each(("name", "p", "m"), SIZES)
def test_a_timetable_is_the_schedule(name, p, m):
    events, ways, _ = schedule(name, p, m)
    events, (table, _) = ticks(events, ways), timetable(events, ways)
    work = {(e.start, e.stage): (e.kind, e.microbatch, e.chunk) for e in events}
    for (t, s), n in np.ndenumerate(table.task):
        there = TASKS[n], table.microbatch[t, s], table.chunk[t, s]
        assert there == work.get((t, s), ("idle", 0, 0))
    assert (table.ends & (table.here != NOWHERE)).sum() == m


@each(("name", "p", "m"), SIZES)
def test_nothing_is_put_where_something_waits(name, p, m):
    """A slow reading of the table: every letter is there when it is read."""
    events, ways, _ = schedule(name, p, m)
    table, slots = timetable(events, ways)
    inbox = [[None] * slots.inbox for _ in range(p)]
    for t, row in enumerate(zip(*table, strict=True)):
        row = type(table)(*row)
        made = [(t, s) for s in range(p)]
        for s in range(p):
            kind = TASKS[row.task[s]]
            if kind in ("forward", "backward", "input") and not row.enters[s]:
                assert inbox[s][row.read[s]] is not None
                inbox[s][row.read[s]] = None
        for s in range(p):
            sides = (row.before, s - 1), (row.after, s + 1), (row.here, s)
            for side, source in sides:
                if side[s] != NOWHERE:
                    assert inbox[s][side[s]] is None
                    inbox[s][side[s]] = made[source % p]
    assert inbox == [[None] * slots.inbox for _ in range(p)]


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.integers(),
        st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(1, 5)),
        max_size=12,
    )
)
def test_slots_of_one_stage_never_overlap_and_none_is_wasted(spans):
    spans = {k: (s, a, a + n) for k, (s, a, n) in spans.items()}
    slots = allotted(spans)
    for i in spans:
        for j in spans:
            if i < j and spans[i][0] == spans[j][0] and slots[i] == slots[j]:
                assert spans[i][2] <= spans[j][1] or spans[j][2] <= spans[i][1]
    for stage in range(3):
        here = {k: x for k, x in spans.items() if x[0] == stage}
        busiest = max(
            (sum(a <= t < b for _, a, b in here.values()) for t in range(15)),
        )
        assert len({slots[k] for k in here}) == busiest


def temporary(name, p, m, b=16, d=32, f=128):
    """Bytes of temporary memory of the compiled program, on each device."""
    events, ways, places = schedule(name, p, m)
    v = places.shape[1]

    def f32(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    args = f32(m, b, d), f32(m, b, d), (f32(p, v, d, f), f32(p, v, f, d))
    step = staged.gradients(staged.BLOCK, events, ways, line(p))
    program = jax.jit(step).lower(*args).compile()
    return program.memory_analysis().temp_size_in_bytes


@pytest.mark.slow
def test_gpipe_grows_with_every_microbatch_and_1f1b_does_not():
    # In[16, 32], Tmp[16, 128] and the loss's gradient [16, 32], in float32.
    # The rest, below 1 KiB, is the timetable.
    one = 4 * 16 * (32 + 128 + 32)
    grown = {
        name: temporary(name, 4, 24) - temporary(name, 4, 8)
        for name in ("gpipe", "1f1b")
    }
    assert 0 <= grown["gpipe"] - 16 * one < 1024
    assert 0 <= grown["1f1b"] < 1024


# ---- any function as a stage -------------------------------------------------


def gated(params, x):
    """A layer with a norm, a gate and a bias: nothing about it is linear."""
    W, G, gain = params
    x = x * gain / jnp.sqrt(1 + (x**2).mean(-1, keepdims=True))
    return x + jnp.tanh(x @ W) * jax.nn.sigmoid(x @ G)


def head_loss(params, y, target):
    """Cross entropy of whole-number targets, with a head of its own."""
    layer, head = params
    logits = y @ head
    there = jnp.take_along_axis(logits, target[:, None], -1)[:, 0]
    return (jax.nn.logsumexp(logits, -1) - there).sum()


def close(found, expected):
    """Equal but for float32's rounding in sums of another order."""
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1f1b", "zero-bubble"])
def test_any_function_is_a_stage_and_a_head_has_its_gradient(name):
    p, m = 2, 4
    events, ways, places = schedule(name, p, m)
    parts = 1 + places.max()
    normal = np.random.default_rng(1).normal
    In = normal(size=(m, B, D)).astype("float32")
    Target = np.random.default_rng(2).integers(0, 5, (m, B))
    shapes = [(D, D), (D, D), (D,)]
    layers = [normal(size=(parts, *s)).astype("float32") for s in shapes]
    head = normal(size=(D, 5)).astype("float32")

    def plain(In, layers, head):
        x = In.reshape(m * B, D)
        for n in range(parts):
            x = gated([W[n] for W in layers], x)
        return head_loss((None, head), x, Target.reshape(m * B))

    value, expected = jax.value_and_grad(plain, (0, 1, 2))(In, layers, head)
    stage = staged.of(lambda params, x: gated(params[0], x), head_loss)
    heads = np.broadcast_to(head, (*places.shape, *head.shape))
    params = [W[places] for W in layers], heads
    step = compiled(staged.gradients(stage, events, ways, line(p)))
    loss, dIn, (dlayers, dhead) = step(In, Target, params)
    close(loss.sum(), value)
    close(dIn.sum(0), expected[0])
    for a, b in zip(
        collected(dlayers, places, parts), expected[1], strict=True
    ):
        close(a, b)
    close(np.asarray(dhead).sum((0, 1)), expected[2])


def test_a_function_without_a_loss_ends_in_the_squared_distance():
    p, m = 2, 3
    events, ways, places = schedule("gpipe", p, m)
    In, Target, *model = integers(m, p)
    of_block = staged.of(lambda W, x: x @ W[0] @ W[1])
    results = [
        compiled(staged.gradients(stage, events, ways, line(p)))(
            In, Target, tuple(spread(model, places))
        )
        for stage in (of_block, staged.BLOCK)
    ]
    jax.tree.map(np.testing.assert_array_equal, *results)


def test_the_halves_of_the_block_together_are_its_backward():
    In, dOut, W_in, W_out = (x[0] for x in integers(1, 1))
    W = W_in, W_out
    _, saved = staged.block_forward(W, In)
    dIn, kept = staged.block_input(W, saved, dOut)
    halves = dIn, *staged.block_weight(W, saved, kept)
    _, vjp = jax.vjp(lambda x, a, b: x @ a @ b, In, *W)
    jax.tree.map(np.testing.assert_array_equal, halves, vjp(dOut))


# ---- bad input ---------------------------------------------------------------


def test_a_schedule_that_cannot_happen_is_refused():
    events, ways, _ = schedule("1f1b", 2, 2)
    with pytest.raises(ValueError, match="events must be a schedule that can"):
        timetable(events[1:], ways)
    with pytest.raises(ValueError, match="way of its microbatch"):
        timetable(events, ways[:1])


def test_stages_that_are_no_neighbours_are_refused():
    way = ((0, 0), (2, 0), (1, 0), (3, 0))
    order = [("forward", 0, 0), ("backward", 0, 0)]
    lasts = {"forward": 1, "backward": 1}
    events = pipeline.play([order] * 4, [way], lasts)
    with pytest.raises(ValueError, match="from stage 0 to stage 2"):
        timetable(events, [way])


def test_a_mesh_of_another_size_is_refused():
    events, ways, _ = schedule("1f1b", 2, 2)
    for mesh in (abstract(4), AbstractMesh((2,), ("X",), (AxisType.Auto,))):
        with pytest.raises(ValueError, match="axis Z of 2 stages, got"):
            staged.gradients(staged.BLOCK, events, ways, mesh)


@pytest.mark.parametrize(
    ("place", "shape", "message"),
    [
        (0, (4, B, D), r"In must be \[3, b, D\], got shape \(4, 2, 4\)"),
        (0, (3,), r"In must be \[3, b, D\], got shape \(3,\)"),
        (1, (2, B, D), r"Target must be arrays \[3, ...\], got shape"),
        (2, (2, D, F), r"params must be arrays \[2, 1, ...\], got shape"),
        (2, (4, 1, D, F), r"params must be arrays \[2, 1, ...\], got shape"),
    ],
    ids=str,
)
def test_arrays_of_other_sizes_are_refused(place, shape, message):
    events, ways, _ = schedule("1f1b", 2, 3)
    step = staged.gradients(staged.BLOCK, events, ways, abstract(2))
    args = [np.zeros(s, np.float32) for s in [(3, B, D)] * 2 + [(2, 1, D, F)]]
    args[place] = np.zeros(shape, np.float32)
    with pytest.raises(ValueError, match=message):
        step(*args)


def test_rolled_is_yes_or_no():
    events, ways, _ = schedule("1f1b", 2, 2)
    with pytest.raises(ValueError, match="rolled"):
        staged.gradients(staged.BLOCK, events, ways, abstract(2), "no")


@pytest.mark.parametrize("target", ["float32", "bfloat16", "int32"])
def test_a_target_may_be_of_another_precision(target):
    events, ways, _ = schedule("1f1b", 2, 3)
    step = staged.gradients(staged.BLOCK, events, ways, abstract(2))
    x, _, params = shapes(2, 1, 3)
    y = jax.ShapeDtypeStruct(x.shape, target)
    loss, dIn, dW = jax.eval_shape(step, x, y, params)
    assert [dIn.dtype, *(w.dtype for w in dW)] == ["bfloat16"] * 3
    assert loss.dtype == "float32"


def test_a_stage_that_changes_the_shape_is_refused():
    events, ways, _ = schedule("1f1b", 2, 3)
    wider = staged.of(lambda W, x: x @ W)
    step = staged.gradients(wider, events, ways, abstract(2))
    x, W = np.zeros((3, B, D), np.float32), np.zeros((2, 1, D, F), np.float32)
    with pytest.raises(ValueError, match=r"float32\[2, 4\], got float32\[2, 6"):
        jax.eval_shape(step, x, x, W)


# ---- how long the program takes ----------------------------------------------


@each(("name", "p", "m"), SIZES)
@each("forward", [1, 3])
def test_its_ticks_take_as_long_as_the_schedule_in_lockstep(
    name, p, m, forward
):
    events, ways, _ = schedule(name, p, m)
    lasts = {"forward": forward, "backward": 5, "input": 2, "weight": 3}
    table, _ = timetable(events, ways)
    slower = pipeline.lockstep(events, ways, lasts)
    ends = staged.tick_ends(table, lasts)
    assert ends.max() == pipeline.makespan(slower)
    for e in slower:
        assert e.end in ends[:, e.stage] or e.end <= ends[:, e.stage].max()


def test_who_sends_only_what_there_is_waits_less():
    table, _ = timetable(pipeline.one_f_one_b(4, 8), pipeline.routes(4, 8))
    lasts = {"forward": 1, "backward": 2}
    assert staged.tick_ends(table, lasts).max() == 40
    assert staged.tick_ends(table, lasts, rolled=False).max() == 33


def test_the_loss_is_computed_where_the_way_ends_and_nowhere_else():
    events, ways, _ = schedule("gpipe", 2, 4)
    step = staged.gradients(staged.BLOCK, events, ways, abstract(2))
    shapes = [(4, B, D), (4, B, D), ((2, 1, D, F), (2, 1, F, D))]
    In, Target, W = jax.tree.map(
        lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32),
        shapes,
        is_leaf=lambda x: isinstance(x[0], int),
    )
    jaxpr = str(jax.make_jaxpr(step)(In, Target, W))
    assert jaxpr.count("reduce_sum") == 1
    before, _, _ = jaxpr.partition("reduce_sum")
    assert before.count("cond[") == 2  # the task of a tick, then the last stage
