"""Every strategy, run: is it right, what does it move, what does it hold.

A strategy runs in float32 on eight simulated devices and on one; loss and
gradients are compared. Bytes that move are counted in the same program, traced
in bf16, and held against their formula; bytes that are held are those of the
real arrays, weights and gradients once they are cast to bf16.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType

from shardlab import agreement, cost, count, memory, pipeline
from shardlab.arguments import one_of
from shardlab.strategies import (
    adam,
    attention,
    block,
    expert,
    layer,
    one_chip,
    zigzag,
)
from shardlab.strategies.pipeline import staged

__all__ = [
    "B",
    "D",
    "F",
    "MICROBATCHES",
    "SCHEDULES",
    "SIZES",
    "STAGES",
    "Evidence",
    "Ran",
    "boundary_rows",
    "bytes_each",
    "chips_of",
    "deviation",
    "deviations",
    "devices",
    "held_bytes",
    "in_bf16",
    "in_training",
    "no_devices",
    "normal",
    "of_block",
    "of_layer",
    "of_pipeline",
    "promised_bytes",
    "schedule",
]


@dataclass(frozen=True)
class Evidence:
    """What was seen of one strategy.

    name      of the strategy
    chips     {axis: devices}
    loss, gradients, step  the largest deviation from one device, as a share
              of the largest element of an array: of the loss, of gradients, of
              weights and states after the optimiser's step; None: not run
    moved     records of forward, backward and update, by `count`; of a
              pipeline, where these are mixed, of all together
    rows      agreement.TrafficRow of each part and axis: formula and count
    held      {"weights", "gradients", "states"}: bytes on each device
    promised  the same by `memory`; empty where nothing is held
    source    chapter 9
    """

    name: str
    chips: dict
    loss: float
    gradients: float
    step: float | None
    moved: tuple
    rows: list
    held: dict
    promised: dict


class Ran(NamedTuple):
    """What a strategy gave when it ran, as trees of jax.Array.

    parts      of the loss; their sum is the loss
    gradients  of all arguments
    weights, states  after the optimiser's step; None: not run
    source     chapter 9
    """

    parts: jax.Array
    gradients: tuple
    weights: tuple | None = None
    states: tuple | None = None


# ---- seeing ------------------------------------------------------------------


def deviations(found, wanted):
    """How far a strategy is from one device.

    found, wanted  Ran
    returns  deviations of the loss, of the gradients, of the optimiser's step
    raises   ValueError as `deviation`
    source   chapter 9
    """
    step = None
    if found.weights is not None:
        step = deviation(found[2:], wanted[2:])
    losses = [
        np.asarray(ran.parts, np.float64).sum() for ran in (found, wanted)
    ]
    loss = deviation(*losses)
    return loss, deviation(found.gradients, wanted.gradients), step


def deviation(found, wanted):
    """The largest difference of two trees, as a share of the largest element.

    found, wanted  trees of arrays of the same shapes
    returns  the largest over all arrays; 0 where they are equal bit by bit
    raises   ValueError if a shape differs, or a number is not finite
    source   chapter 5
    """

    def one(a, b):
        a, b = (np.asarray(x, np.float64) for x in (a, b))
        if a.shape != b.shape:
            raise ValueError(f"found must be of shape {b.shape}, got {a.shape}")
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise ValueError("found and wanted must be finite")
        difference = np.abs(a - b).max(initial=0)
        return float(difference and difference / np.abs(b).max())

    return max(jax.tree.leaves(jax.tree.map(one, found, wanted)), default=0.0)


def bytes_each(tree):
    """Bytes of real arrays on each device, which must all hold as much.

    tree     tree of jax.Array
    returns  int
    raises   ValueError if one device holds more than another
    source   ZeRO paper, figure 1
    """
    devices = {}
    for x in jax.tree.leaves(tree):
        for shard in x.addressable_shards:
            name = shard.device.id
            devices[name] = devices.get(name, 0) + shard.data.nbytes
    if len(set(devices.values())) > 1:
        raise ValueError(f"tree must lie evenly on devices, got {devices}")
    return max(devices.values(), default=0)


def in_bf16(tree):
    """The same arrays in the precision in which training keeps them.

    tree     tree of arrays
    returns  tree of arrays of bf16, where they were
    source   chapter 7
    """
    cast = jax.jit(partial(jax.tree.map, lambda x: x.astype(jnp.bfloat16)))
    return cast(tree)


def held_bytes(weights, gradients, states):
    """Bytes on each device: weights and gradients in bf16, states in float32.

    weights, gradients, states  trees of jax.Array

    returns  {"weights", "gradients", "states"}: int
    source   ZeRO paper, figure 1
    """
    weights, gradients = in_bf16(weights), in_bf16(gradients)
    trees = {"weights": weights, "gradients": gradients, "states": states}
    return {name: bytes_each(tree) for name, tree in trees.items()}


def promised_bytes(params, N=1, zero=0):
    """The same by the ZeRO paper's formulas, the state's three parts together.

    params, N, zero  as in `memory.state_terms`
    returns  {"weights", "gradients", "states"}: bytes on each device
    raises   ValueError that names the argument
    source   ZeRO paper, figure 1
    """
    terms = memory.state_terms(params, N, zero)
    states = terms["master"] + terms["m"] + terms["v"]
    return {
        "weights": terms["param"],
        "gradients": terms["grad"],
        "states": states,
    }


def devices(chips):
    """A mesh of simulated devices.

    chips    {axis: devices}
    returns  jax.sharding.Mesh with Auto axes
    source   chapter 1
    """
    auto = (AxisType.Auto,) * len(chips)
    return jax.make_mesh(tuple(chips.values()), tuple(chips), axis_types=auto)


def no_devices(chips):
    """A mesh of as many chips as one likes, on which programs are counted.

    chips    {axis: devices}
    returns  AbstractMesh with Auto axes
    source   chapter 2
    """
    auto = (AxisType.Auto,) * len(chips)
    return AbstractMesh(tuple(chips.values()), tuple(chips), auto)


def normal(seed, *shape):
    """Random numbers of no symmetry, the same for the same seed."""
    random = np.random.default_rng(seed)
    return random.normal(size=shape).astype(np.float32)


# ---- the two-matmul block ----------------------------------------------------

B, D, F = 16, 24, 40
MIXED = {"X": 4, "Y": 2}


def chips_of(name):
    """The devices that a strategy uses, eight of them.

    name     of a strategy, such as "fsdp" or "tp, In gathered again"
    returns  {"X": chips, "Y": chips}
    source   chapter 9
    """
    name = name.partition(",")[0]
    one = {"none": 1, "fsdp_tp": 4, "tp": 1, "megatron": 1, "sequence": 1}
    X = one.get(name, 8)
    return {"X": X, "Y": {1: 8, 4: 2, 8: 1}[X] if name != "none" else 1}


def of_block(name):
    """What is seen of the two-matmul block under a strategy.

    name     a key of agreement.BLOCKS
    returns  Evidence; small whole numbers, so that it is equal bit by bit
    raises   ValueError if the strategy is not known
    source   chapter 9
    """
    strategy, how = agreement.BLOCKS[one_of("name", name, agreement.BLOCKS)]
    chips = chips_of(name)
    found = _run_block(strategy, devices(chips), how)
    alone = _run_block(one_chip, devices({"X": 1, "Y": 1}), {})
    moved = agreement.counts(name, B, D, F, **chips)
    formula = agreement.formulas(B, D, F, **chips)[name]
    with jax.set_mesh(devices(chips)):  # whatever mesh is set
        held = held_bytes(found.weights, found.gradients[1:], found.states)
    return Evidence(
        name,
        chips,
        *deviations(found, alone),
        moved,
        agreement.compared(name, formula, moved),
        held,
        _promised_of_block(name, chips),
    )


def _run_block(strategy, mesh, how):
    """A training step of small whole numbers: Ran, of dIn, dW_in and dW_out."""
    draw = np.random.default_rng(0).integers
    sizes = [(B, D), (B, D), (D, F), (F, D)]
    arrays = [draw(-2, 3, size).astype(np.float32) for size in sizes]
    with jax.set_mesh(mesh):  # whatever mesh is set
        passes = jax.jit(block.gradients(strategy, mesh, **how))
        parts, *gradients = passes(*arrays)
        dW = gradients[1:]
        states = [in_training(i, normal(i, *x.shape)) for i, x in enumerate(dW)]
        update = jax.jit(block.updates(strategy, mesh))
        W_in, W_out, *states = update(*dW, *states)
    return Ran(parts, gradients, (W_in, W_out), states)


def _promised_of_block(name, chips):
    """Bytes that the formula has for the gradients given to the optimiser."""
    first = name.partition(",")[0]
    stages = {"zero1": 1, "zero2": 2, "fsdp": 3, "fsdp_tp": 3}
    params = 2 * D * F / chips["Y"]
    promised = promised_bytes(params, chips["X"], stages.get(first, 0))
    if first == "zero1":  # its gradients are cut by then
        promised["gradients"] /= chips["X"]
    return promised


def in_training(seed, W):
    """A state of weights that have been trained a while: master, m and v.

    seed     a whole number
    W        array of weights
    returns  three arrays like W; v is at least 1, so that no step is wild
    source   chapter 5
    """
    m, v = normal([seed, 1], *W.shape), 1 + normal([seed, 2], *W.shape) ** 2
    return W, m, v


# ---- tokens of a sequence, experts -------------------------------------------

Z, HEADS, GROUPS, EXPERTS = 8, 16, 8, 8
TOKENS = 8 * Z
SIZES = agreement.layer_sizes(
    TOKENS, 48, 56, 2, Z, Z=Z, H=HEADS, G=GROUPS, E=EXPERTS, k=2, m=4
)


def of_layer(name):
    """What is seen of a layer that another axis cuts.

    name     a key of agreement.LAYERS, but for "gpipe"
    returns  Evidence; nothing is said of what is held
    raises   ValueError if the strategy is not known
    source   chapters 12 to 14
    """
    known = [of for of in agreement.LAYERS if of != "gpipe"]
    strategy, options = agreement.LAYERS[one_of("name", name, known)]
    axis = agreement.over(name)
    few, many = _same_work_options(strategy, options)
    one = attention if name.startswith("context") else strategy
    order = zigzag.order(TOKENS, Z) if strategy is zigzag else None
    found = _run_layer(name, strategy, {axis: 8}, many, order)
    alone = _run_layer(name, one, {axis: 1}, few)
    moved = agreement.layer_counts(name, SIZES)
    formula = {axis: agreement.layer_formulas(SIZES)[name]}
    rows = agreement.compared(name, formula, moved)
    differ = deviations(found, alone)
    return Evidence(name, {axis: 8}, *differ, moved, rows, {}, {})


def _run_layer(name, strategy, chips, options, order=None):
    """Both passes of a layer on random numbers, dealt in an order: Ran."""
    shapes = agreement.shapes(name, SIZES).values()
    arrays = [normal(i, *shape) for i, shape in enumerate(shapes)]
    arrays.insert(0, normal(99, *arrays[0].shape))
    passes = jax.jit(layer.gradients(strategy, devices(chips), **options))
    if order is None:
        parts, *gradients = passes(*arrays)
        return Ran(parts, gradients)
    parts, *gradients = passes(*(x[order] for x in arrays))
    return Ran(parts, [g[np.argsort(order)] for g in gradients])


def _same_work_options(strategy, options):
    """Options on one device and on eight, so that both do the same.

    Experts drop tokens group by group, and one device is one group: each gets
    as many slots as there are tokens, and nothing is dropped.

    strategy, options  as in agreement.LAYERS
    returns  two dicts of options
    source   chapter 14
    """
    if strategy is not expert:
        return options, options
    return {"C": TOKENS, "k": 2}, {"C": TOKENS // Z, "k": 2}


# ---- pipelines ---------------------------------------------------------------

STAGES, MICROBATCHES = 4, 4
SCHEDULES = {
    "naive": (partial(pipeline.naive, STAGES, MICROBATCHES), 1),
    "gpipe": (partial(pipeline.gpipe, STAGES, MICROBATCHES), 1),
    "1f1b": (partial(pipeline.one_f_one_b, STAGES, MICROBATCHES), 1),
    "interleaved": (partial(pipeline.interleaved, STAGES, MICROBATCHES, 2), 2),
    "zero bubble": (partial(pipeline.zero_bubble, STAGES, MICROBATCHES), 1),
}


def schedule(name):
    """A schedule of the table: its events, ways, and chunks of a stage.

    name     a key of SCHEDULES
    returns  list of pipeline.Event, list of ways, int
    raises   ValueError if the schedule is not known
    source   chapter 11
    """
    make, v = SCHEDULES[one_of("name", name, SCHEDULES)]
    return make(), pipeline.routes(STAGES, MICROBATCHES, v), v


def of_pipeline(name):
    """What is seen of the two-matmul block as stages, under a schedule.

    name     a key of SCHEDULES
    returns  Evidence
    raises   ValueError if the schedule is not known
    source   chapter 11
    """
    events, ways, v = schedule(name)
    In, Target, params = _stage_data(v)
    found = _run_stages(events, ways, In, Target, params)
    alone = _one_after_the_other(In, Target, params)
    chips = no_devices({"Z": STAGES})
    step = staged.gradients(staged.BLOCK, events, ways, chips, rolled=False)
    moved = count.collectives(step, *in_bf16((In, Target, params)))
    formula = cost.pipeline_volume(B, D)
    dW = found.gradients[1:]
    elements = 2 * D * F * v
    return Evidence(
        name,
        {"Z": STAGES},
        *deviations(found, alone),
        moved,
        boundary_rows(name, moved, formula.forward * v),
        held_bytes(found.weights, dW, found.states),
        promised_bytes(elements),
    )


def _stage_data(v):
    """In, Target and the weights of v blocks on each stage, random numbers."""
    batch = (MICROBATCHES, B // MICROBATCHES, D)
    W_in = normal(3, STAGES, v, D, F) / D**0.5
    W_out = normal(4, STAGES, v, F, D) / F**0.5
    return normal(1, *batch), normal(2, *batch), (W_in, W_out)


def _run_stages(events, ways, In, Target, params):
    """A training step of a pipeline: each stage updates its own weights.

    events, ways  of a schedule
    In, Target, params  as `_stage_data` gives them
    returns  Ran
    source   chapter 11
    """
    mesh = devices({"Z": STAGES})
    step = jax.jit(staged.gradients(staged.BLOCK, events, ways, mesh))
    parts, dIn, dW = step(In, Target, params)
    states = [in_training(i, W) for i, W in enumerate(params)]
    W, states = jax.jit(_adams)(dW, states)
    return Ran(parts, (dIn.sum(0), *dW), W, states)


def _adams(dW, states):
    """Adam on each of some arrays: weights and states."""
    done = [adam.update(*pair) for pair in zip(dW, states, strict=True)]
    return tuple(zip(*done, strict=True))


def _one_after_the_other(In, Target, params):
    """The same stages on one device: Ran."""

    def loss(In, params):
        p, v = params[0].shape[:2]
        for chunk in range(v):
            for stage in range(p):
                W_in, W_out = (w[stage, chunk] for w in params)
                In = In @ W_in @ W_out
        return jnp.sum((In - Target) ** 2) / 2

    both = jax.value_and_grad(loss, argnums=(0, 1))
    value, (dIn, dW) = jax.jit(both)(In, params)
    states = [in_training(i, W) for i, W in enumerate(params)]
    return Ran(value, (dIn, *dW), *jax.jit(_adams)(dW, states))


def boundary_rows(name, moved, V):
    """Bytes over the boundary of the first two stages, there and back.

    name     of the schedule
    moved    records of the whole program
    V        bytes that the formula has for either way
    returns  list of agreement.TrafficRow
    source   chapter 11
    """
    ways = {"forward": (0, 1), "backward": (1, 0)}
    return [
        agreement.TrafficRow(
            name, part, "Z", V, *[count.between(moved, *way, "Z")] * 2
        )
        for part, way in ways.items()
    ]
