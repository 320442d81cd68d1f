"""Bytes that each device holds of arrays, from their shapes and shardings."""

import math

import jax
import numpy as np

from shardlab.count.layouts import itemsize

__all__ = ["held"]


def held(x):
    """Bytes per device of every array in x.

    A value that is unreduced or replicated is held whole, as far as it is not
    sharded. A NumPy array has no sharding: it is held whole.

    x        jax.Array, jax.ShapeDtypeStruct with a sharding, NumPy array, or
             any pytree of these; the mesh may be an AbstractMesh
    returns  bytes, int: the same on every device
    raises   ValueError that names the leaf: one that is no array, has no
             sharding, or has a dimension that its mesh axes do not divide
    source   scaling-book part 3, sharding notation; ZeRO paper, figure 1
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(
        x, is_leaf=lambda leaf: leaf is None
    )
    return sum(
        _held_leaf(leaf, "x" + jax.tree_util.keystr(path))
        for path, leaf in leaves
    )


def _held_leaf(leaf, where):
    """Bytes per device of one array."""
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise ValueError(f"{where} must be an array or its shape, got {leaf!r}")
    return math.prod(_local_shape(leaf, where)) * itemsize(leaf.dtype)


def _local_shape(leaf, where):
    """The shape of the piece that a device holds of one array."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.shape
    if getattr(leaf, "sharding", None) is None:
        raise ValueError(
            f"{where} must have a sharding, got {leaf!r}: say where it lies, "
            "with jax.ShapeDtypeStruct(shape, dtype, sharding=...)"
        )
    try:
        return leaf.sharding.shard_shape(leaf.shape)
    except ValueError as error:
        raise ValueError(
            f"{where} of shape {leaf.shape} must be divisible by its mesh "
            f"axes, got {leaf.sharding}: {error}"
        ) from None
