"""From a function and its arguments to the list of its collectives."""

import jax

from shardlab.arguments import one_of
from shardlab.count.jax_inside import dce_jaxpr
from shardlab.count.layouts import from_array, local_bytes
from shardlab.count.records import Moved
from shardlab.count.walk import bodies, walk

__all__ = [
    "collectives",
    "is_array",
    "moved_and_held",
    "traced",
    "without_dead_code",
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
    moved, _ = moved_and_held(f, args, live)
    return moved


def moved_and_held(f, args, live=False):
    """The collectives of a function, and the bytes of each of its arguments.

    f, live  as in `collectives`
    args     tuple of its arguments
    returns  Moved; list of bytes that a device holds of each array in args, in
             order, where it says itself where it lies or f wants it somewhere
    raises   ValueError as `collectives`
    source   chapter 21
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    closed, arrays = traced(f, args)
    layouts = [from_array(x, f"argument {i}") for i, x in enumerate(arrays)]
    if live:
        closed = without_dead_code(closed)
    moved, _, lie = walk(closed, layouts, {})
    held = [local_bytes(x, y) for x, y in zip(arrays, lie, strict=True)]
    return Moved(moved, _axes_in(closed.jaxpr)), held


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


def without_dead_code(closed):
    """The same program without what none of its results needs."""
    needed = [True] * len(closed.jaxpr.outvars)
    jaxpr, _ = dce_jaxpr(closed.jaxpr, needed, instantiate=True)
    return closed.replace(jaxpr=jaxpr)
