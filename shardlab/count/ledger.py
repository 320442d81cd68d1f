"""From a function and its arguments to the list of its collectives."""

from typing import NamedTuple

import jax
from jax.extend.core import ClosedJaxpr

from shardlab.arguments import one_of
from shardlab.count.jax_inside import dce_jaxpr
from shardlab.count.layouts import from_array, local_bytes
from shardlab.count.records import Moved
from shardlab.count.walk import bodies, split, walk

__all__ = [
    "Asked",
    "asked",
    "collectives",
    "is_array",
    "traced",
]


def collectives(f, *args, live=False):
    """Every collective that a function asks for, in program order.

    f        function of arrays, jitted or not
    args     arrays or jax.ShapeDtypeStruct, in trees; what is neither reaches
             f as it is. A shape without a sharding lies where f wants it
    live     False counts all that is written; True only what a result needs
    returns  tuple of Collective; a group of one device moves nothing and is
             not listed. Its parts and sums know which axes the mesh has
    raises   ValueError that names f or live, or what cannot be counted, and
             says why
    source   scaling-book part 3; chapter 2
    """
    one_of("live", live, (False, True))
    return asked(f, args, live).moved


class Asked(NamedTuple):
    """What a program says itself.

    moved     Moved: its collectives
    products  list of Product and Unknown, in program order
    held      list of bytes that a device holds of each array among the
              arguments, where it says itself where it lies or the program
              wants it somewhere
    closed    its jaxpr
    source    chapter 21
    """

    moved: Moved
    products: list
    held: list
    closed: ClosedJaxpr


def asked(f, args, live=False):
    """The collectives and the products of a function, and what a device holds.

    f, live  as in `collectives`
    args     tuple of its arguments
    returns  Asked
    raises   ValueError as `collectives`
    source   chapter 21
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    closed, arrays = traced(f, args)
    layouts = [from_array(x, f"argument {i}") for i, x in enumerate(arrays)]
    if live:
        closed = _without_dead_code(closed)
    found, _, lie = walk(closed, layouts, {})
    moved, products = split(found)
    held = [local_bytes(x, y) for x, y in zip(arrays, lie, strict=True)]
    return Asked(Moved(moved, _axes_in(closed.jaxpr)), products, held, closed)


def _axes_in(jaxpr):
    """The names of the axes of every mesh that the types in a jaxpr name."""
    made = [v for eqn in jaxpr.eqns for v in eqn.outvars]
    meshes = [
        getattr(getattr(v.aval, "sharding", None), "mesh", None)
        for v in [*jaxpr.invars, *made]
    ]
    names = {n for mesh in meshes for n in getattr(mesh, "axis_names", ())}
    inner = [body for eqn in jaxpr.eqns for body in bodies(eqn)]
    return names.union(*map(_axes_in, inner))


def traced(f, args):
    """The jaxpr of f, and the arrays among the leaves of its arguments."""
    leaves, tree = jax.tree.flatten(args)
    places = [i for i, x in enumerate(leaves) if is_array(x)]
    arrays = [leaves[i] for i in places]

    def of_arrays(*arrays):
        filled = list(leaves)
        for i, x in zip(places, arrays, strict=True):
            filled[i] = x
        return f(*jax.tree.unflatten(tree, filled))

    return jax.make_jaxpr(of_arrays)(*arrays), arrays


def is_array(x):
    """Whether x is traced: an array, or the shape of one."""
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _without_dead_code(closed):
    """The same program without what none of its results needs."""
    needed = [True] * len(closed.jaxpr.outvars)
    jaxpr, _ = dce_jaxpr(closed.jaxpr, needed, instantiate=True)
    return closed.replace(jaxpr=jaxpr)
