"""The optimiser: Adam in mixed precision, without its bias correction."""

import jax.numpy as jnp

__all__ = ["start", "update"]


def start(W):
    """The optimiser state of weights that have not been trained yet.

    W        weights, of any shape and layout
    returns  master copy, first and second moment: float32, 12 bytes a weight
    source   ZeRO paper; chapter 5
    """
    master = W.astype(jnp.float32)
    return master, jnp.zeros_like(master), jnp.zeros_like(master)


def update(dW, state, rate=1e-3):
    """New weights and state: element by element, so it can be cut anywhere.

    dW       gradient, summed over all tokens
    state    master copy, first and second moment, laid out as dW
    rate     learning rate
    returns  W in the precision of dW, and the new state
    source   ZeRO paper; chapter 5
    """
    master, m, v = state
    m = 0.9 * m + 0.1 * dW.astype(jnp.float32)
    v = 0.999 * v + 0.001 * dW.astype(jnp.float32) ** 2
    master = master - rate * m / (jnp.sqrt(v) + 1e-8)
    return master.astype(dW.dtype), (master, m, v)
