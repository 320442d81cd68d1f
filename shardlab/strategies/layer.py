"""Any other layer on a mesh: attention, experts, a norm, a pipeline.

A strategy's LAYOUT names its arguments in their order, then Out and loss;
`forward` takes pieces and gives Out and what `backward` needs; `backward`
gives the gradient of each argument, which lies as the argument does.
"""

from inspect import signature

import jax

from shardlab.arguments import whole
from shardlab.strategies.block import known_options, placed
from shardlab.strategies.loss import squared_error

__all__ = ["arguments_of", "forward", "gradients", "shape", "shapes"]


def arguments_of(strategy):
    """The names of a strategy's arguments, in their order.

    strategy  a module of shardlab.strategies, such as ulysses
    returns   list of str
    source    chapter 13
    """
    return [name for name in strategy.LAYOUT if name not in ("Out", "loss")]


def shapes(strategy, mesh, dtype="bfloat16", **sizes):
    """Shapes of a strategy's arguments, laid out as it wants them.

    strategy, mesh  as in `gradients`

    dtype    of all arguments
    sizes    the shape of each argument by its name, such as Q=(64, 4, 2, 8)
    returns  list of jax.ShapeDtypeStruct with shardings
    raises   ValueError that names an argument that is missing, unknown or
             no shape, or the array and the size that its axes do not divide
    source   chapter 13
    """
    names = arguments_of(strategy)
    for name in sorted({*names} ^ {*sizes}):
        wrong = "missing" if name in names else "no argument"
        known = ", ".join(names)
        raise ValueError(f"sizes must be of {known}; {name} is {wrong}")
    return [
        placed(name, shape(name, sizes[name], spec), dtype, mesh, spec)
        for name, spec in strategy.LAYOUT.items()
        if name in names
    ]


def shape(name, sizes, spec):
    """The sizes of an array, if they are as many as its layout cuts."""
    if not isinstance(sizes, tuple | list):
        raise ValueError(f"{name} must be a tuple of sizes, got {sizes!r}")
    if len(sizes) < len(spec):
        least = f"{len(spec)} dimension{'s' * (len(spec) > 1)}"
        raise ValueError(f"{name} must have at least {least}, got {sizes!r}")
    return tuple(whole(name, size) for size in sizes)


def forward(strategy, mesh, **options):
    """The forward pass alone.

    strategy, mesh, options  as in `gradients`

    returns  a function of the strategy's arguments that gives Out
    raises   ValueError as `gradients`
    source   chapter 13
    """
    known_options(strategy, options)
    specs = tuple(strategy.LAYOUT[name] for name in arguments_of(strategy))
    return jax.shard_map(
        lambda *pieces: strategy.forward(*pieces, **options)[0],
        mesh=mesh,
        in_specs=specs,
        out_specs=strategy.LAYOUT["Out"],
    )


def gradients(strategy, mesh, **options):
    """Forward pass, loss and backward pass.

    strategy  a module of shardlab.strategies with a LAYOUT as said above
    mesh      jax.sharding.Mesh or AbstractMesh with the axes it names
    options   of the strategy's forward, such as C and k of `expert`; its
              backward gets those that it takes as well
    returns   a function of Target, laid out as Out, and the strategy's
              arguments that gives the parts of the loss (their sum is the
              loss) and the gradient of each argument
    raises    ValueError that names an option that forward does not take
    source    chapter 13
    """
    L = strategy.LAYOUT
    specs = tuple(L[name] for name in arguments_of(strategy))
    known_options(strategy, options)
    back = {
        name: value
        for name, value in options.items()
        if name in signature(strategy.backward).parameters
    }

    def per_device(Target, *pieces):
        Out, saved = strategy.forward(*pieces, **options)
        part, dOut = squared_error(Out, Target)
        return part[None], *strategy.backward(dOut, *saved, **back)

    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(L["Out"], *specs),
        out_specs=(L["loss"], *specs),
    )
