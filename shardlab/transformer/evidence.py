"""The Transformer under every strategy, run: as `shardlab.evidence` says."""

from dataclasses import replace
from functools import cache, partial

import jax
import numpy as np
from jax.sharding import AbstractMesh, use_abstract_mesh

from shardlab import agreement, cost, count, evidence
from shardlab.count import living
from shardlab.haste import in_haste
from shardlab.models import Model
from shardlab.transformer import mesh as axes
from shardlab.transformer import model as decoder
from shardlab.transformer import stages, training

__all__ = [
    "B",
    "PRODUCTS",
    "SHORT",
    "TINY",
    "alive",
    "both_gradients",
    "counts",
    "data",
    "evidence_of",
    "formula_sizes",
    "mesh_rows",
    "of_mesh",
    "of_pipeline",
    "on_one_device",
    "passes_on",
    "pipeline_counts",
    "ran",
    "rows",
    "step_counts",
]

# Numbers that differ wherever they can, so that a swap would show.
TINY = Model(
    "tiny",
    L=8,
    D=32,
    F=48,
    heads=16,
    kv_heads=8,
    head_size=3,
    vocab=40,
    context=6,
)
B = 8 * TINY.context
# The same with fewer layers and sequences that eight devices can share.
SHORT = replace(TINY, L=4, context=8)


def formula_sizes(model):
    """What the formulas want to know of a model: L, D, F, h, kv and vocab.

    model    shardlab.models.Model
    returns  tuple of int
    source   scaling-book part 4
    """
    d = model.head_size
    heads = model.heads * d, model.kv_heads * d
    return model.L, model.D, model.F, *heads, model.vocab


def counts(name, model, B, X=1, Y=1):
    """Records of each part of a training step, counted from its program.

    name     of a strategy, or a Strategy
    model    shardlab.models.Model; its `context` is T
    B        tokens of the step
    X, Y     chips of the data axis and of the TP axis
    returns  three tuples of records: forward, backward, update
    raises   ValueError that names what does not divide
    source   chapter 9
    """
    with use_abstract_mesh(AbstractMesh((), ())):  # whatever mesh is set
        return step_counts(name, model, B, X, Y)


def step_counts(name, model, B, X, Y):
    """The same, while no mesh is set."""
    mesh = evidence.no_devices({"X": X, "Y": Y})
    tokens, targets, W, states = training.arguments(name, mesh, model, B)
    batch, T = (tokens, targets, W), model.context
    forward = count.collectives(training.forward(name, mesh, T), *batch)
    passes = training.gradients(name, mesh, T)
    both = count.collectives(passes, *batch)
    _, dW = jax.eval_shape(passes, *batch)
    update = count.collectives(training.updates(name, mesh), dW, states)
    return forward, both[len(forward) :], update  # `both` begins with forward


def rows(name, model, B, X=1, Y=1):
    """Formula and count side by side, as in `shardlab.agreement`.

    name, model, B, X, Y  as in `counts`
    returns  list of agreement.TrafficRow
    raises   ValueError that names what does not divide, or is idle
    source   chapter 9
    """
    sizes = formula_sizes(model)
    formula = cost.transformer_volume(name, B, *sizes, X, Y)
    counted = counts(name, model, B, X, Y)
    return agreement.compared(name, formula, counted)


def alive(name, model, B, X):
    """The most that a device of X holds in both passes, at the worst moment.

    name, model, B  as in `counts`
    X        devices of the data axis; they must exist
    returns  shardlab.count.living.Peaks: bytes of weights that were gathered,
             and of everything, in bf16
    raises   ValueError that names what does not divide
    source   chapter 7
    """
    mesh = evidence.devices({"X": X, "Y": 1})
    arguments = training.arguments(name, mesh, model, B)[:3]
    passes = training.gradients(name, mesh, model.context)
    return living.alive(passes, *arguments)


# ---- on eight devices --------------------------------------------------------


@cache
def data(model=TINY, B=B):
    """Random tokens, targets and weights.

    model, B  as in `counts`
    returns  tokens[B], targets[B] and the tree of weights, NumPy arrays
    source   chapter 5
    """
    random = np.random.default_rng(1)
    tokens, targets = random.integers(0, model.vocab, (2, B), dtype=np.int32)
    return tokens, targets, decoder.start(model)


@cache
def ran(name):
    """A training step of TINY under a strategy, on the devices that it uses.

    name     of a strategy
    returns  evidence.Ran, and the gradients as the backward pass leaves them
    source   chapter 9
    """
    mesh, T = evidence.devices(evidence.chips_of(name)), TINY.context
    parts, left, dW = jax.jit(both_gradients(name, mesh, T))(*data())
    states = jax.tree.map(partial(evidence.in_training, 0), data()[2])
    weights, states = jax.jit(training.updates(name, mesh))(dW, states)
    return evidence.Ran(parts, dW, weights, states), left


def both_gradients(name, mesh, T):
    """`training.gradients` and `training.left_by_backward` in one program."""

    def passes(*batch):
        parts, dW = training.gradients(name, mesh, T)(*batch)
        if training.strategy(name).zero == 1:
            return parts, training.left_by_backward(name, mesh, T)(*batch), dW
        return parts, dW, dW  # nothing is left to be done to these

    return passes


def evidence_of(name):
    """What is seen of the Transformer under a strategy.

    name     of a strategy
    returns  Evidence; gradients are held as the backward pass leaves them
    raises   ValueError if the strategy is not known
    source   chapter 9
    """
    at, chips = training.strategy(name), evidence.chips_of(name)
    (found, left), (alone, _) = ran(name), ran("none")
    sizes = formula_sizes(TINY)
    params = cost.transformer_elements(*sizes, chips["Y"]).total
    moved = counts(name, TINY, B, **chips)
    formula = cost.transformer_volume(name, B, *sizes, **chips)
    return evidence.Evidence(
        name,
        chips,
        *evidence.deviations(found, alone),
        moved,
        agreement.compared(name, formula, moved),
        evidence.held_bytes(found.weights, left, found.states),
        evidence.promised_bytes(params, chips["X"], at.zero),
    )


def of_pipeline(name):
    """What is seen of the Transformer as stages, under a schedule.

    name     a key of evidence.SCHEDULES
    returns  Evidence; nothing is said of what is held
    raises   ValueError if the schedule is not known
    source   chapter 11
    """
    events, ways, v = evidence.schedule(name)
    chips = {"Z": evidence.STAGES}
    step = stages.gradients(events, ways, evidence.devices(chips), TINY.context)
    found = evidence.Ran(*jax.jit(step)(*data()))
    differ = evidence.deviations(found, ran("none")[0])
    moved = pipeline_counts(events, ways)
    V = cost.pipeline_volume(B, TINY.D).forward * v
    rows = evidence.boundary_rows(name, moved, V)
    return evidence.Evidence(name, chips, *differ, moved, rows, {}, {})


def pipeline_counts(events, ways):
    """Records of what stages hand on, counted from the program in bf16."""
    p, m = evidence.STAGES, len(ways)
    v, (_, targets, W) = len(ways[0]) // p, data()
    mesh = evidence.no_devices({"Z": p})
    step = stages.between_stages(events, ways, mesh, TINY.context, B, False)
    In = jax.ShapeDtypeStruct((m, B // m, TINY.D), "bfloat16")
    W = jax.eval_shape(lambda W: stages.dealt(W, p, v), evidence.in_bf16(W))
    return count.collectives(step, In, targets.reshape(m, -1), W)


# ---- on a mesh of several axes -----------------------------------------------

GATHER = {"context": "gather"}
# Strategies and products of them: devices of each axis, options of `of_mesh`.
PRODUCTS = {
    "DP": ({"X": 8}, {}),
    "ZeRO-1": ({"X": 8}, {"zero": 1}),
    "FSDP": ({"X": 8}, {"zero": 3}),
    "TP": ({"Y": 8}, {"sp": False}),
    "TP + SP": ({"Y": 8}, {}),
    "CP, ring": ({"Z": 8}, {"context": "ring"}),
    "CP, gather": ({"Z": 8}, GATHER),
    "CP, Ulysses": ({"Z": 8}, {"context": "ulysses"}),
    "PP": ({"S": 4}, {"m": 4}),
    "DP × TP": ({"X": 4, "Y": 2}, {}),
    "ZeRO-1 × TP": ({"X": 4, "Y": 2}, {"zero": 1}),
    "FSDP × TP": ({"X": 4, "Y": 2}, {"zero": 3}),
    "DP × CP": ({"X": 4, "Z": 2}, GATHER),
    "FSDP × CP": ({"X": 4, "Z": 2}, {"zero": 3, **GATHER}),
    "CP × TP": ({"Z": 4, "Y": 2}, GATHER),
    "PP × DP": ({"S": 2, "X": 4}, {"m": 2}),
    "PP × CP": ({"S": 2, "Z": 4}, {"m": 2, **GATHER}),
    "PP × TP": ({"S": 2, "Y": 4}, {"m": 2}),
    "PP × DP × TP": ({"S": 2, "X": 2, "Y": 2}, {"m": 2}),
    "PP × ZeRO-1 × CP": (
        {"S": 2, "X": 2, "Z": 2},
        {"m": 2, "zero": 1, **GATHER},
    ),
    "PP × CP × TP": ({"S": 2, "Z": 2, "Y": 2}, {"m": 2, **GATHER}),
    "FSDP × CP × TP": ({"X": 2, "Z": 2, "Y": 2}, {"zero": 3, **GATHER}),
    "PP × ZeRO-1 × CP × TP": (
        {"S": 2, "X": 2, "Z": 2, "Y": 2},
        {"m": 2, "zero": 1, **GATHER},
    ),
}


def passes_on(chips, m=1, *, zero=0, sp=True, context="ring"):
    """Both passes of SHORT on a mesh, jitted, and what they are given.

    chips    {axis: devices}, of transformer.mesh.AXES
    m, zero, sp, context  as in `transformer.mesh.gradients`
    returns  a function, and tokens, targets and weights for it
    raises   ValueError that names the argument and what was expected
    source   chapter 15
    """
    tokens, targets, W = data(SHORT, 8 * SHORT.context)
    batch = (x.reshape(-1, SHORT.context) for x in (tokens, targets))
    passes = axes.gradients(
        evidence.devices(chips), m, zero=zero, sp=sp, context=context
    )
    return jax.jit(passes), (*batch, W)


@cache
def on_one_device():
    """The numbers that every mesh has to give, from a mesh of one device."""
    return evidence.Ran(*in_haste(*passes_on({"X": 1})))


def of_mesh(name, chips, m=1, *, zero=0, sp=True, context="ring"):
    """What is seen of the Transformer on a mesh; bytes are those of float32.

    name     in a table
    chips, m, zero, sp, context  as in `passes_on`
    returns  Evidence of the program that ran; nothing is said of the update
    raises   ValueError that names the argument and what was expected
    source   chapter 15
    """
    how = {"zero": zero, "sp": sp, "context": context}
    passes, batch = passes_on(chips, m, **how)
    parts, dW = in_haste(passes, batch)
    if "S" in chips:
        dW = axes.joined(jax.device_get(dW))
    differ = evidence.deviations(evidence.Ran(parts, dW), on_one_device())
    moved = count.collectives(passes, *batch)
    rows = mesh_rows(name, chips, moved, m, **how)
    return evidence.Evidence(name, chips, *differ, (moved,), rows, {}, {})


def mesh_rows(name, chips, moved, m=1, *, zero=0, sp=True, context="ring"):
    """Formula and count of both passes, over each group of axes.

    name, chips, m, zero, sp, context  as in `of_mesh`
    moved    records of both passes in float32
    returns  list of agreement.TrafficRow
    source   chapter 15
    """
    sizes = formula_sizes(SHORT)
    tokens = 8 * SHORT.context
    how = {"zero": zero, "sp": sp, "context": context}
    formula = cost.mesh_volume(tokens, sizes, **chips, m=m, **how, itemsize=4)
    data = "".join(axis for axis in "XZ" if axis in chips)
    expected = {"S": formula.stages, data: formula.data}
    expected |= {"Y": formula.tensor}
    context = sum(formula.context[:2])
    expected = {group: sum(step[:2]) for group, step in expected.items()}
    if "Z" in chips:
        expected["Z"] = expected.get("Z", 0) + context
    found = []
    for group, V in expected.items():
        if not set(group) or not set(group) <= set(chips):
            continue
        counted = count.volume(moved, tuple(group))
        if group == "S":
            counted = agreement.crossing(moved, "S")
        sent = count.sent(moved, tuple(group))
        found.append(
            agreement.TrafficRow(name, "passes", group, V, counted, sent)
        )
    return found
