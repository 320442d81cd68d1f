"""The two-matmul block on a mesh, under any of the strategies."""

from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from shardlab.arguments import takes, whole
from shardlab.strategies import adam
from shardlab.strategies.loss import squared_error

__all__ = [
    "arguments",
    "begin",
    "both_passes",
    "forward",
    "gradients",
    "known_options",
    "placed",
    "states",
    "train",
    "updates",
]


def known_options(strategy, options):
    """Refuse an option that a strategy's forward does not have.

    strategy  a module of shardlab.strategies
    options   values by name
    raises    ValueError that names the option and those that there are
    """
    choices = [
        name
        for name, parameter in signature(strategy.forward).parameters.items()
        if parameter.default is not parameter.empty
    ]
    for name in options:
        if name not in choices:
            known = ", ".join(choices) or "none"
            raise ValueError(f"options must be of {known}, got {name!r}")


def forward(strategy, mesh):
    """The forward pass alone.

    strategy  a module of shardlab.strategies, such as fsdp
    mesh      jax.sharding.Mesh or AbstractMesh with the axes it names
    returns   a function of In[B, D], W_in[D, F], W_out[F, D] that gives
              Out[B, D]
    source    chapter 5
    """
    L = strategy.LAYOUT
    return jax.shard_map(
        lambda In, W_in, W_out: strategy.forward(In, W_in, W_out)[0],
        mesh=mesh,
        in_specs=(L["In"], L["W_in"], L["W_out"]),
        out_specs=L["In"],
    )


@takes(known_options)
def gradients(strategy, mesh, **options):
    """Forward pass, loss and backward pass.

    strategy  a module of shardlab.strategies
    mesh      jax.sharding.Mesh or AbstractMesh with the strategy's axes
    options   of the strategy: kept=True keeps gathered weights for backward,
              regather=True gathers activations again
    returns   a function of In[B, D], Target[B, D], W_in[D, F] and W_out[F, D]
              that gives the parts of the loss (their sum is the loss),
              dIn[B, D], dW_in[D, F] and dW_out[F, D]
    raises    ValueError for an option that the strategy does not have
    source    chapter 5
    """
    L = strategy.LAYOUT
    return jax.shard_map(
        both_passes(strategy, **options),
        mesh=mesh,
        in_specs=(L["In"], L["In"], L["W_in"], L["W_out"]),
        out_specs=(L["loss"], L["In"], L["dW_in"], L["dW_out"]),
    )


def both_passes(strategy, **options):
    """Forward pass, loss and backward pass of one device.

    strategy, options  as in `gradients`

    returns  a function of the pieces of In, Target, W_in and W_out that gives
             this device's part of the loss, dIn, dW_in and dW_out
    raises   ValueError for an option that the strategy does not have
    source   chapter 5
    """

    def per_device(In, Target, W_in, W_out):
        Out, saved = strategy.forward(In, W_in, W_out, **options)
        part, dOut = squared_error(Out, Target)
        return part[None], *strategy.backward(dOut, *saved, **options)

    return per_device


def updates(strategy, mesh):
    """The optimiser's step alone.

    strategy, mesh  as in `gradients`

    returns  a function of dW_in, dW_out and the states of both that gives
             W_in[D, F], W_out[F, D] and the new states
    source   chapter 5
    """
    L = strategy.LAYOUT

    def per_device(dW_in, dW_out, state_in, state_out):
        W_in, state_in = strategy.update(dW_in, state_in)
        W_out, state_out = strategy.update(dW_out, state_out)
        return W_in, W_out, state_in, state_out

    pieces = (L["dW_in"], L["dW_out"])  # a state lies as its gradient
    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=pieces * 2,
        out_specs=(L["W_in"], L["W_out"], *pieces),
    )


@takes(known_options)
def train(strategy, mesh, **options):
    """A whole training step: both passes, then the optimiser's step.

    strategy, mesh, options  as in `gradients`

    returns  a function of In, Target, W_in, W_out and the optimiser states of
             both weights that gives the parts of the loss, dIn, W_in, W_out
             and the new states
    source   chapter 5
    """
    passes = gradients(strategy, mesh, **options)
    update = updates(strategy, mesh)

    def step(In, Target, W_in, W_out, state_in, state_out):
        loss, dIn, dW_in, dW_out = passes(In, Target, W_in, W_out)
        return loss, dIn, *update(dW_in, dW_out, state_in, state_out)

    return step


def arguments(strategy, mesh, B, D, F, dtype=jnp.bfloat16):
    """Shapes of In, Target, W_in and W_out, laid out as a strategy wants them.

    strategy, mesh  as in `gradients`

    B, D, F  tokens, width and hidden width of the block, in elements
    dtype    of activations and weights
    returns  four jax.ShapeDtypeStruct with shardings
    raises   ValueError that names the array and the size that its axes do
             not divide
    source   chapter 5
    """
    B, D, F = whole("B", B), whole("D", D), whole("F", F)
    shapes = {"In": (B, D), "W_in": (D, F), "W_out": (F, D)}
    In, W_in, W_out = (
        placed(name, shape, dtype, mesh, strategy.LAYOUT[name])
        for name, shape in shapes.items()
    )
    return In, In, W_in, W_out


def states(strategy, mesh, D, F):
    """Shapes of the optimiser states of W_in and W_out under a strategy.

    strategy, mesh  as in `gradients`

    D, F     width and hidden width of the block, in elements
    returns  two triples of jax.ShapeDtypeStruct: master copy, first and
             second moment, float32
    raises   ValueError that names the array and the size that its axes do
             not divide
    source   chapter 5
    """
    D, F = whole("D", D), whole("F", F)
    pieces = {"dW_in": (D, F), "dW_out": (F, D)}
    return tuple(
        (placed(name, shape, jnp.float32, mesh, strategy.LAYOUT[name]),) * 3
        for name, shape in pieces.items()
    )


def placed(name, shape, dtype, mesh, spec):
    """The shape of an array with its sharding, if its mesh axes divide it."""
    sizes = dict(mesh.shape)
    for size, axes in zip(shape, spec, strict=False):
        for axis in (axes,) if isinstance(axes, str) else axes or ():
            if axis not in sizes:
                raise ValueError(f"mesh must have an axis {axis}, got {sizes}")
            if size % sizes[axis]:
                raise ValueError(
                    f"{name} of shape {shape}: {size} must be divisible by "
                    f"axis {axis} of size {sizes[axis]}"
                )
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def begin(strategy, mesh, B, D, F, seed=0):
    """Random arrays to train with; each process makes the pieces of its chips.

    strategy, mesh, B, D, F  as in `arguments`

    seed     the same in every process
    returns  In, Target, W_in, W_out in float32, and the optimiser states of
             both weights, as the step of `train` takes them
    raises   ValueError as `arguments`
    source   chapter 18
    """
    random = np.random.default_rng(whole("seed", seed, least=0))

    def drawn(like):
        all_of_it = random.normal(size=like.shape).astype(like.dtype)
        return jax.make_array_from_callback(
            like.shape, like.sharding, lambda piece: all_of_it[piece]
        )

    shapes = arguments(strategy, mesh, B, D, F, jnp.float32)
    In, Target, W_in, W_out = map(drawn, shapes)
    places = jax.tree.map(lambda x: x.sharding, states(strategy, mesh, D, F))
    start = jax.jit(lambda *W: tuple(map(adam.start, W)), out_shardings=places)
    return In, Target, W_in, W_out, *start(W_in, W_out)
