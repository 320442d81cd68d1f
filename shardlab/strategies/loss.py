"""The loss of the two-matmul block, and where the backward pass begins."""

import jax.numpy as jnp

__all__ = ["squared_error"]


def squared_error(Out, Target):
    """Half the squared distance to Target, over the values that are here.

    Out      output of the block, in any layout
    Target   what it should be, in the same layout
    returns  the loss in float32, and its gradient dOut, laid out as Out
    source   chapter 5
    """
    dOut = Out - Target
    return jnp.sum(dOut.astype(jnp.float32) ** 2) / 2, dOut
