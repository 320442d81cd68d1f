"""The Transformer on a mesh, under any strategy: both passes and the update."""

import jax
import jax.numpy as jnp
from jax import P

from shardlab.arguments import one_of, whole
from shardlab.strategies.block import placed
from shardlab.transformer.model import dimensions, loss, shapes
from shardlab.transformer.strategies import STRATEGIES, Strategy

__all__ = [
    "all_tokens",
    "arguments",
    "batch",
    "both_passes",
    "forward",
    "gradients",
    "layout",
    "left_by_backward",
    "states",
    "strategy",
    "train",
    "updates",
    "weights",
]


def strategy(name):
    """A strategy by its name; one of your own is handed through.

    name     a key of STRATEGIES, such as "fsdp", or a Strategy
    returns  Strategy
    raises   ValueError if there is none of that name
    source   chapter 9
    """
    if isinstance(name, Strategy):
        return name
    return STRATEGIES[one_of("strategy", name, STRATEGIES)]


def layout(cut):
    """Where every array of weights lies, from the axes that cut dimensions.

    cut      dict from dimension to mesh axis, such as {"D": "X", "F": "Y"}
    returns  tree of PartitionSpec as `shapes`
    source   chapter 9
    """
    return jax.tree.map(
        lambda dims: P(*(cut.get(d) for d in dims)),
        dimensions(),
        is_leaf=lambda x: type(x) is tuple,
    )


def forward(name, mesh, T):
    """The forward pass and the loss alone.

    name, mesh, T  as in `gradients`
    returns  a function of tokens, targets and weights that gives the parts of
             the loss
    source   chapter 5
    """
    at = strategy(name)

    def per_device(tokens, targets, W):
        part = loss(at, at.own(W), W, tokens, targets, T)
        return part[None] / all_tokens(at, tokens)

    batch = P(at.batch)
    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(batch, batch, layout(at.cut)),
        out_specs=batch,
    )


def all_tokens(at, tokens):
    """The tokens of the whole batch, from those of one device."""
    return len(tokens) * jax.lax.axis_size(at.batch)


def both_passes(at, T):
    """Forward and backward pass of one device, as the backward pass ends.

    at       Strategy
    T        tokens of a sequence
    returns  a function of this device's tokens, targets and weights that gives
             its part of the loss, the mean over all tokens, and dW before
             `at.collect`
    source   chapter 5
    """

    def per_device(tokens, targets, W):
        def part(own):
            surprise = loss(at, own, W, tokens, targets, T)
            return surprise / all_tokens(at, tokens)

        return jax.value_and_grad(part)(at.own(W))

    return per_device


def gradients(name, mesh, T):
    """Forward pass, loss and backward pass.

    name     of a strategy, or a Strategy of your own
    mesh     jax.sharding.Mesh or AbstractMesh with the axes X and Y
    T        tokens of a sequence; each device holds whole sequences
    returns  a function of tokens[B], targets[B] and weights that gives the
             parts of the loss (their sum is the mean over all tokens) and the
             gradients, laid out as the optimiser's state
    raises   ValueError if the strategy is not known
    source   chapter 5
    """
    at, batch = strategy(name), P(strategy(name).batch)

    def per_device(tokens, targets, W):
        part, dW = both_passes(at, T)(tokens, targets, W)
        return part[None], at.collect(dW)

    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(batch, batch, layout(at.cut)),
        out_specs=(batch, layout(at.cut_states)),
    )


def left_by_backward(name, mesh, T):
    """The gradients that lie on each device as its backward pass ends.

    name, mesh, T  as in `gradients`
    returns  a function of tokens, targets and weights that gives the tree of
             gradients, the pieces of all devices along a new first dimension
    source   ZeRO paper
    """
    at, batch = strategy(name), P(strategy(name).batch)
    every = tuple(mesh.axis_names)

    def per_device(tokens, targets, W):
        _, dW = both_passes(at, T)(tokens, targets, W)
        return jax.tree.map(lambda dw: dw[None], dW)

    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(batch, batch, layout(at.cut)),
        out_specs=P(every),
    )


def updates(name, mesh):
    """The optimiser's step alone.

    name, mesh  as in `gradients`
    returns  a function of gradients and states that gives weights and states
    source   ZeRO paper
    """
    at = strategy(name)
    pieces = layout(at.cut_states)  # a state lies as its gradient
    return jax.shard_map(
        at.update,
        mesh=mesh,
        in_specs=(pieces, pieces),
        out_specs=(layout(at.cut), pieces),
    )


def train(name, mesh, T):
    """A whole training step: both passes, then the optimiser's step.

    name, mesh, T  as in `gradients`
    returns  a function of tokens, targets, weights and states that gives the
             parts of the loss, new weights and new states
    source   chapter 5
    """
    passes, update = gradients(name, mesh, T), updates(name, mesh)

    def step(tokens, targets, W, states):
        parts, dW = passes(tokens, targets, W)
        return parts, *update(dW, states)

    return step


# ---- shapes ------------------------------------------------------------------


def weights(name, mesh, model, dtype="bfloat16", cut=None):
    """Shapes of all weights, laid out as a strategy wants them.

    name, mesh  as in `gradients`
    model    shardlab.models.Model
    dtype    of the weights
    cut      another layout, such as that of the gradients; None: of weights
    returns  tree of jax.ShapeDtypeStruct with shardings
    raises   ValueError that names the array and the size that its axes do not
             divide
    source   chapter 5
    """
    specs = layout(strategy(name).cut if cut is None else cut)
    return {
        group: {
            array: placed(array, shape, dtype, mesh, specs[group][array])
            for array, shape in arrays.items()
        }
        for group, arrays in shapes(model).items()
    }


def states(name, mesh, model):
    """Shapes of the optimiser's state of all weights: float32, three of each.

    name, mesh, model  as in `weights`
    returns  tree of triples of jax.ShapeDtypeStruct with shardings
    raises   ValueError as `weights`
    source   ZeRO paper
    """
    at = strategy(name)
    masters = weights(name, mesh, model, "float32", at.cut_states)
    return jax.tree.map(lambda x: (x, x, x), masters)


def batch(name, mesh, B, T):
    """Shapes of tokens and targets, laid out as a strategy wants them.

    name, mesh  as in `gradients`
    B, T     tokens of the step, and of each sequence
    returns  two jax.ShapeDtypeStruct with shardings
    raises   ValueError unless each device has whole sequences, and for a mesh
             without the strategy's axes
    source   chapter 6
    """
    at, B, T = strategy(name), whole("B", B), whole("T", T)
    cut = dict(mesh.shape)
    chips = 1
    for axis in at.batch:
        if axis not in cut:
            raise ValueError(f"mesh must have an axis {axis}, got {cut}")
        chips *= cut[axis]
    if B % (T * chips):
        said = f"sequences of T = {T} on {chips} devices"
        raise ValueError(f"B must be whole {said}, got {B}")
    tokens = placed("tokens", (B,), jnp.int32, mesh, P(at.batch))
    return tokens, tokens


def arguments(name, mesh, model, B, dtype="bfloat16"):
    """Shapes of all that a training step takes.

    name, mesh  as in `gradients`
    model    shardlab.models.Model; its `context` is T
    B        tokens of the step
    dtype    of weights and activations
    returns  tokens, targets, weights and states, with shardings
    raises   ValueError that names what does not divide
    source   chapter 5
    """
    return (
        *batch(name, mesh, B, model.context),
        weights(name, mesh, model, dtype),
        states(name, mesh, model),
    )
