"""A step whose activations are pinned along the batch, counted.

Where a program leaves the layout of its activations to the compiler, it may
choose one that moves far more than all weights. To constrain an array changes
no number in it, only where it is; so every array that begins with the batch is
constrained here, in the program itself, and what moves then is counted.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from shardlab.arguments import partitions
from shardlab.count.jax_inside import done_again
from shardlab.count.ledger import traced
from shardlab.count.partitioned import partitioned
from shardlab.count.records import Moved, volume

__all__ = ["Pins", "pinned"]

# Of weights FSDP moves three times their bytes; what moves many times the
# bytes of all arguments is no weight.
_MANY = 5
# Operations whose inner functions are pinned, too.
_INSIDE = ("cond", "jit", "remat2", "checkpoint", "scan", "while")


class Pins(NamedTuple):
    """A step with its activations pinned, as the partitioner leaves it.

    size    of the batch: the first dimension of what is pinned
    axes    names of the mesh axes that cut it, a tuple
    moved   Moved: what moves then
    source  chapter 21
    """

    size: int
    axes: tuple
    moved: Moved


def pinned(f, args, mesh, moved):
    """The step that moves least with its activations pinned, if one helps.

    f        function of arrays, jitted or not
    args     its arguments, each with a sharding
    mesh     Mesh of the arguments
    moved    Moved: what the step moves as it is
    returns  Pins, or None where the step moves no more than weights would,
             no argument says how a batch is cut, or no pin helps
    raises   ValueError where the pinned step cannot be counted
    source   chapter 21
    """
    closed, arrays = traced(f, args)
    bytes_ = sum(x.size * x.dtype.itemsize for x in closed.in_avals)
    if volume(moved) <= _MANY * bytes_:
        return None
    found = []
    for size, axes in _batches(arrays):
        step = jax.jit(_pinned(closed, mesh, size, axes))
        made = partitioned(step, *arrays, mesh=mesh)
        found.append(Pins(size, axes, made.collectives))
    best = min(found, key=lambda pins: volume(pins.moved), default=None)
    return best if best and volume(best.moved) < volume(moved) else None


def _batches(arrays):
    """Sizes and axes of what may be a batch, numbers of tokens first."""
    found = {}
    tokens = lambda x: jnp.issubdtype(x.dtype, jnp.integer)  # noqa: E731
    for x in sorted(arrays, key=tokens, reverse=True):
        spec = getattr(getattr(x, "sharding", None), "spec", P())
        first = next(iter(partitions(spec)), None)
        axes = (first,) if isinstance(first, str) else tuple(first or ())
        if axes and (tokens(x) or not any(map(tokens, arrays))):
            found[x.shape[0], axes] = None
    return list(found)[:2]


def _pinned(closed, mesh, size, axes):
    """A program as a function, with all that begins with a batch pinned."""

    def pin(x):
        floats = jnp.issubdtype(x.dtype, jnp.inexact)
        if not floats or x.ndim < 2 or x.shape[0] != size:
            return x
        rest = [P.UNCONSTRAINED] * (x.ndim - 1)
        place = NamedSharding(mesh, P(axes, *rest))
        return jax.lax.with_sharding_constraint(x, place)

    def inside(value):
        """A function of an operation, its arrays pinned."""
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        if isinstance(value, ClosedJaxpr):
            return jax.make_jaxpr(_evaluated(value, pin, inside))(
                *value.in_avals
            )
        if not hasattr(value, "eqns") or value.constvars:
            return value
        made = inside(ClosedJaxpr(value, ()))
        return value if made.consts else made.jaxpr

    return _evaluated(closed, pin, inside)


def _evaluated(closed, pin, inside):
    """A function that does what a jaxpr says, and pins what it makes."""
    jaxpr = closed.jaxpr

    def run(*arrays):
        env = dict(zip(jaxpr.invars, arrays, strict=True))
        env |= dict(zip(jaxpr.constvars, closed.consts, strict=True))

        def look(v):
            return v.val if isinstance(v, Literal) else env[v]

        for eqn in jaxpr.eqns:
            params = dict(eqn.params)
            if eqn.primitive.name in _INSIDE:
                params = {key: inside(value) for key, value in params.items()}
            made = done_again(eqn, params, *map(look, eqn.invars))
            pairs = zip(eqn.outvars, made, strict=True)
            env.update((v, pin(x)) for v, x in pairs)
        return [look(v) for v in jaxpr.outvars]

    return run
