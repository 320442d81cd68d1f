"""Clipping by the global norm of gradients that are cut: one number travels."""

import jax
import jax.numpy as jnp
from jax.lax import psum

__all__ = ["clip"]


def clip(gradients, most, axes):
    """The gradients, scaled down so that together they are no longer than most.

    gradients  tree of this chip's pieces, summed over all tokens
    most       the largest norm that is let through
    axes       mesh axes that cut the gradients, such as "X" or ("X", "Y"); ()
               where every chip has all of them. Each number must be on one
               chip of these axes: where it is on more, it counts as often
    returns    tree of pieces, and the norm before: an AllReduce of 4 bytes
    source     Pascanu et al. 2013, On the difficulty of training RNNs
    """
    squares = [
        jnp.sum(piece.astype(jnp.float32) ** 2)
        for piece in jax.tree.leaves(gradients)
    ]
    total = psum(sum(squares), axes) if axes else sum(squares)
    norm = jnp.sqrt(total)
    scale = jnp.minimum(1, most / jnp.maximum(norm, 1e-30))
    return jax.tree.map(lambda g: (g * scale).astype(g.dtype), gradients), norm
