"""Any pipeline schedule on real arrays: each device of axis Z is a stage.

    stage = staged.BLOCK                    # or staged.of(f), any f(params, x)
    ways = pipeline.routes(p, m)            # two_way_routes for DualPipe
    step = staged.gradients(stage, pipeline.one_f_one_b(p, m), ways, mesh)
    parts, dIn, dparams = jax.jit(step)(In, Target, params)

    In      In[m, b, D], the microbatches; Target the same, or a tree with a
            leading m: whatever stage.loss reads
    params  a tree of arrays [p, v, ...]: of each stage, of each of its chunks;
            (stage s, chunk c) is part c p + s of the model on one-way routes
    parts   parts[p]: their sum is the loss of all microbatches together
    dIn     dIn[p, m, b, D]: zero but on the stage where a microbatch enters;
            its sum over p is the gradient of In
    dparams as params

Activations keep one shape, [b, D], from stage to stage. An embedding goes
before the pipeline (dIn is what its gradient needs); a head goes into
stage.loss, with its weights among the params (of every stage; only those of
the last one get a gradient).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.lax import axis_index, ppermute

from shardlab.arguments import one_of
from shardlab.strategies import one_chip
from shardlab.strategies.loss import squared_error
from shardlab.strategies.pipeline.timetable import (
    NOWHERE,
    TASKS,
    Timetable,
    timetable,
)

__all__ = [
    "BLOCK",
    "Made",
    "Seen",
    "Stage",
    "Stores",
    "at",
    "backward",
    "blank",
    "block_forward",
    "block_input",
    "block_weight",
    "distance",
    "filed",
    "forward",
    "gradients",
    "idle",
    "input_half",
    "look",
    "of",
    "on_stage",
    "one_by_one",
    "pairs",
    "put",
    "refuse_another_shape",
    "refuse_other_shapes",
    "refuse_other_sizes",
    "tick",
    "tick_ends",
    "weight_half",
    "zeros",
]


class Stage(NamedTuple):
    """What one stage computes; its backward pass comes in two halves.

    forward  (params, x) -> y, saved
    input    (params, saved, dy) -> dx, kept: the half that others wait for
    weight   (params, saved, kept) -> dparams: the half that can wait
    loss     (params, y, target) -> part, dy, dparams, at the end of the way
    source   Zero Bubble paper; chapter 11
    """

    forward: callable
    input: callable
    weight: callable
    loss: callable


class Stores(NamedTuple):
    """What a stage holds from tick to tick.

    inbox         [slots, b, D], what has come and waits
    saved, kept   trees of [slots, ...], of forward passes and of input halves
    dIn           dIn[m, b, D], where microbatches enter
    dparams, loss  gradients of the weights and loss, as far as they are known
    source        chapter 11
    """

    inbox: jax.Array
    saved: tuple
    kept: tuple
    dIn: jax.Array
    dparams: tuple
    loss: jax.Array


class Seen(NamedTuple):
    """What a task of one microbatch in one chunk can look at.

    W            weights of the chunk
    came         what it was waiting for, x[b, D] or dy[b, D]
    saved, kept  what its forward pass and its input half have left
    target       of the microbatch; `last` says if this is the end of its way
    source       chapter 11
    """

    W: tuple
    came: jax.Array
    saved: tuple
    kept: tuple
    target: tuple
    last: jax.Array


class Made(NamedTuple):
    """What a task makes; what it does not make is zero.

    out          to be handed on: y[b, D], dx[b, D], or the loss's dy[b, D]
    saved, kept  to be put into a slot
    dW, loss     to be added
    source       chapter 11
    """

    out: jax.Array
    saved: tuple
    kept: tuple
    dW: tuple
    loss: jax.Array


# ---- stages ----------------------------------------------------------------


def block_forward(W, In):
    """The two-matmul block; its backward pass needs In and Tmp.

    W        W_in[D, F], W_out[F, D]
    In       In[b, D]
    returns  Out[b, D] and what is saved
    source   chapter 5
    """
    Out, (In, Tmp, *_) = one_chip.forward(In, *W)
    return Out, (In, Tmp)


def block_input(W, saved, dOut):
    """Half of the block's backward: two products, one after the other.

    W        W_in[D, F], W_out[F, D]
    saved    In, Tmp: not needed here
    dOut     dOut[b, D]
    returns  dIn[b, D], and dOut, dTmp for the other half
    source   Zero Bubble paper, section 2
    """
    W_in, W_out = W
    dTmp = dOut @ W_out.T  # dTmp[b, F]
    return dTmp @ W_in.T, (dOut, dTmp)  # dIn[b, D]


def block_weight(W, saved, kept):
    """The other half: two products, in any order and at any later time.

    W        not needed here
    saved    In[b, D], Tmp[b, F]
    kept     dOut[b, D], dTmp[b, F]
    returns  dW_in[D, F], dW_out[F, D]
    source   Zero Bubble paper, section 2
    """
    (In, Tmp), (dOut, dTmp) = saved, kept
    return In.T @ dTmp, Tmp.T @ dOut


def distance(params, y, target):
    """Half the squared distance to the target; it has no weights.

    params, y, target  weights of the stage, its output, what it should be

    returns  the loss, dy in the precision of y, and gradients of params: zero
    source   chapter 5
    """
    part, dy = squared_error(y, target)
    return part, dy.astype(y.dtype), jax.tree.map(jnp.zeros_like, params)


BLOCK = Stage(block_forward, block_input, block_weight, distance)


def of(f, loss=None):
    """A stage of any function, differentiated by JAX.

    f        (params, x) -> y, of x's shape; x is saved, and each half of the
             backward pass runs f again
    loss     (params, y, target) -> a number; half the squared distance if None
    returns  Stage
    source   chapter 11
    """

    def input_half(params, x, dy):
        return jax.vjp(lambda x: f(params, x), x)[1](dy)[0], dy

    def weight_half(params, x, dy):
        return jax.vjp(lambda params: f(params, x), params)[1](dy)[0]

    def of_loss(params, y, target):
        both = jax.value_and_grad(loss, argnums=(0, 1))
        part, (dparams, dy) = both(params, y, target)
        return part.astype(jnp.float32), dy, dparams

    end = of_loss if loss else distance
    return Stage(lambda w, x: (f(w, x), x), input_half, weight_half, end)


# ---- the tasks of a tick: each gives what it has made ----------------------


def idle(stage, nothing, seen):
    """The bubble."""
    return nothing


def forward(stage, nothing, seen):
    """A microbatch goes through a chunk, and at the end through the loss.

    stage    Stage
    nothing  Made, all zero
    seen     Seen
    returns  Made: y, or at the end dy of the loss, to be handed on
    source   chapter 11
    """
    y, saved = stage.forward(seen.W, seen.came)
    made = nothing._replace(out=y, saved=saved)

    def with_loss():
        loss, dy, dW = stage.loss(seen.W, y, seen.target)
        return made._replace(out=dy, dW=dW, loss=loss)

    return jax.lax.cond(seen.last, with_loss, lambda: made)


def input_half(stage, nothing, seen):
    """The gradient of a chunk's input, for which the stage before waits."""
    dx, kept = stage.input(seen.W, seen.saved, seen.came)
    return nothing._replace(out=dx, kept=kept)


def weight_half(stage, nothing, seen):
    """The gradients of a chunk's weights, for which nobody waits."""
    dW = stage.weight(seen.W, seen.saved, seen.kept)
    return nothing._replace(dW=dW)


def backward(stage, nothing, seen):
    """Both halves in one tick: nothing has to be kept in between.

    stage    Stage
    nothing  Made, all zero
    seen     Seen
    returns  Made: dx to be handed on, dW to be added
    source   chapter 11
    """
    dx, kept = stage.input(seen.W, seen.saved, seen.came)
    dW = stage.weight(seen.W, seen.saved, kept)
    return nothing._replace(out=dx, dW=dW)


WORK = {
    "idle": idle,
    "forward": forward,
    "backward": backward,
    "input": input_half,
    "weight": weight_half,
}


# ---- a tick, and all of them -----------------------------------------------


def tick(tasks, pairs, batch, params, stores, row):
    """Each stage does its task of this tick; then what was made is handed on.

    tasks    what a task of each kind does, in the order of TASKS
    pairs    who sends to the next stage, and who to the one before
    batch    In[m, b, D], Target[m, ...]
    params   the weights of this stage
    stores   Stores of this stage
    row      one row of a Timetable, [p]
    returns  Stores, and nothing to stack
    source   chapter 11
    """
    row = at(row, axis_index("Z"))
    made = jax.lax.switch(row.task, tasks, look(batch, params, stores, row))
    inbox = put(stores.inbox, row.here, made.out)
    for slot, way in zip((row.before, row.after), pairs, strict=True):
        if way:
            inbox = put(inbox, slot, ppermute(made.out, "Z", way))
    return filed(stores._replace(inbox=inbox), row, made), None


def look(batch, params, stores, row):
    """What the task of a row can look at: Seen."""
    (In, Target), i = batch, row.microbatch
    came = jnp.where(row.enters, In[i], stores.inbox[row.read])
    saved, kept = at(stores.saved, row.saved), at(stores.kept, row.kept)
    W, target = at(params, row.chunk), at(Target, i)
    return Seen(W, came, saved, kept, target, row.ends)


def filed(stores, row, made):
    """The stores with what a task has made, each where it belongs."""

    def slot(there, n):
        return jnp.where(there, n, NOWHERE)

    is_forward, is_input = (row.task == TASKS.index(k) for k in HALVES)
    saved = put(stores.saved, slot(is_forward, row.saved), made.saved)
    kept = put(stores.kept, slot(is_input, row.kept), made.kept)
    dIn = put(stores.dIn, slot(row.leaves, row.microbatch), made.out)
    dparams = jax.tree.map(
        lambda total, dW: total.at[row.chunk].add(dW), stores.dparams, made.dW
    )
    loss = stores.loss + made.loss
    return Stores(stores.inbox, saved, kept, dIn, dparams, loss)


HALVES = "forward", "input"


def at(tree, slot):
    """What lies in a slot of each array of a tree."""
    return jax.tree.map(lambda store: store[slot], tree)


def put(tree, slot, values):
    """The tree with values in a slot; NOWHERE they are lost."""
    return jax.tree.map(
        lambda store, x: store.at[slot].set(x, mode="drop"), tree, values
    )


def pairs(rows):
    """Who sends to the next stage, and who to the one before, in these rows.

    rows     part of a Timetable, [ticks, p]
    returns  two lists of pairs (from, to)
    source   chapter 11
    """
    p = rows.task.shape[1]
    return [
        [((s + step) % p, s) for s in range(p) if min(side[:, s]) < NOWHERE]
        for side, step in ((rows.before, -1), (rows.after, 1))
    ]


def blank(stage, slots, In, params):
    """The stores before the first tick, and what idling makes: zeros.

    stage, slots  Stage, and Slots of the timetable
    In, params    In[m, b, D], and the weights of this stage

    returns  Stores and Made, all zero
    source   chapter 11
    """
    W, x = at(params, 0), In[0]
    y, saved = jax.eval_shape(stage.forward, W, x)
    refuse_another_shape(x, y)
    kept = jax.eval_shape(stage.input, W, saved, y)[1] if slots.kept else ()
    loss = jax.ShapeDtypeStruct((), jnp.float32)
    stores = (slots.inbox, x), (slots.saved, saved), (slots.kept, kept)
    stores = Stores(
        *(zeros(x, n) for n, x in stores), *map(zeros, (In, params, loss))
    )
    return stores, Made(*map(zeros, (y, saved, kept, W, loss)))


def refuse_another_shape(x, y):
    """What a stage hands on must look like what it gets."""
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        raise ValueError(
            f"stage.forward must give what it gets, {x.dtype}{[*x.shape]}, "
            f"got {y.dtype}{[*y.shape]}"
        )


def zeros(tree, *slots):
    """Zeros like each array of a tree, as many of each as there are slots."""

    def filled(x):
        x = jnp.zeros((*slots, *x.shape), x.dtype)
        return jax.lax.pcast(x, "Z", to="varying")

    return jax.tree.map(filled, tree)


def gradients(stage, events, ways, mesh, rolled=True):
    """Loss and gradients of all microbatches, as a schedule orders the work.

    stage    Stage: BLOCK, or what `of` makes of a function
    events   a legal schedule of shardlab.pipeline
    ways     the ways of its microbatches: `pipeline.routes(p, m, v)`
    mesh     jax.sharding.Mesh or AbstractMesh with an Auto axis Z of p stages
    rolled   True: one scan over the ticks; all neighbours then send in every
             tick, zeros where there is nothing. False: tick after tick is
             written out, and only who has something sends
    returns  a function of In[m, b, D], Target[m, ...] and params, arrays
             [p, v, ...], that gives parts of the loss [p], dIn[p, m, b, D]
             and the gradient of params
    raises   ValueError that names events or ways, if they are no legal
             schedule, or the mesh, if it has not as many stages; and, when
             called, In, Target, params or stage.forward, if shapes are not
             as said
    source   chapter 11
    """
    one_of("rolled", rolled, (True, False))
    table, slots = timetable(events, ways)
    refuse_other_sizes(mesh, table)
    program = jax.shard_map(
        partial(on_stage, stage, table, slots, rolled),
        mesh=mesh,
        in_specs=(P(), P(), P("Z")),
        out_specs=P("Z"),
    )

    def passes(In, Target, params):
        refuse_other_shapes(In, Target, params, table, ways)
        return program(In, Target, params)

    return passes


def on_stage(stage, table, slots, rolled, In, Target, params):
    """All ticks of one stage: its part of the loss, of dIn and of dparams."""
    params = at(params, 0)
    stores, nothing = blank(stage, slots, In, params)
    used = {TASKS[n] for n in table.task.flat}
    work = [WORK[kind] if kind in used else idle for kind in TASKS]
    tasks = [partial(f, stage, nothing) for f in work]
    for rows in [table] if rolled else one_by_one(table):
        step = partial(tick, tasks, pairs(rows), (In, Target), params)
        stores, _ = jax.lax.scan(step, stores, rows)
    results = stores.loss, stores.dIn, stores.dparams
    return jax.tree.map(lambda x: x[None], results)


def tick_ends(table, lasts, rolled=True):
    """When each stage ends each tick of the program, exchange included.

    table    Timetable
    lasts    for each kind of task how long it takes: one time, or one a stage
    rolled   as in `gradients`: whether all neighbours exchange in every tick
    returns  array [ticks, p], in the unit of the times: who sends waits for
             who receives, and the other way round
    source   chapter 11
    """
    stages, clock, ends = np.arange(table.task.shape[1]), 0, []
    times = np.array(
        [np.broadcast_to(lasts.get(kind, 0), stages.shape) for kind in TASKS]
    )
    for rows in one_by_one(table):
        clock = done = clock + times[rows.task[0], stages]
        for here, there in sum(pairs(table if rolled else rows), []):
            met = max(done[here], done[there])
            clock = np.where(
                (stages == here) | (stages == there),
                np.maximum(clock, met),
                clock,
            )
        ends.append(clock)
    return np.array(ends)


def one_by_one(table):
    """The rows of a timetable, each as a timetable of one tick."""
    ticks = range(len(table.task))
    return [Timetable(*(rows[t : t + 1] for rows in table)) for t in ticks]


def refuse_other_sizes(mesh, table):
    """A mesh must have an axis Z of as many devices as there are stages."""
    sizes, p = dict(mesh.shape), table.task.shape[1]
    if sizes.get("Z") != p:
        raise ValueError(f"mesh must have an axis Z of {p} stages, got {sizes}")


def refuse_other_shapes(In, Target, params, table, ways):
    """A batch of m microbatches; weights of p stages and all their chunks."""
    p, m = table.task.shape[1], len(ways)
    v = 1 + max(chunk for way in ways for _, chunk in way)
    if jnp.ndim(In) < 2 or len(In) != m:
        raise ValueError(f"In must be [{m}, b, D], got shape {jnp.shape(In)}")
    for name, tree, first in (
        ("Target", Target, (m,)),
        ("params", params, (p, v)),
    ):
        for x in jax.tree.leaves(tree):
            if jnp.shape(x)[: len(first)] != first:
                sizes = ", ".join(map(str, first))
                raise ValueError(
                    f"{name} must be arrays [{sizes}, ...], got shape "
                    f"{jnp.shape(x)}"
                )
