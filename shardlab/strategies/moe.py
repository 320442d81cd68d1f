"""A small layer of experts on one chip, with a router that learns.

Its tokens are of a few kinds, some of them far more common than others, as
words are. What comes out of a token shall be another matrix for each kind; so
it pays to send kinds to experts of their own, and the router finds that out.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from shardlab.arguments import how_many, takes
from shardlab.strategies import routing

__all__ = ["BALANCES", "KINDS", "Run", "layer", "task", "train"]

BALANCES = ("none", "loss", "bias")
KINDS = 64


class Run(NamedTuple):
    """What a training run left behind.

    losses   losses[steps], mean squared error of a token
    visits   visits[steps, E] of each expert
    scores   scores[B, E] of the trained router for a batch it has not seen
    experts  experts[B, k] that these tokens visit
    """

    losses: np.ndarray
    visits: np.ndarray
    scores: np.ndarray
    experts: np.ndarray


def layer(weights, In, k, bias=0.0):
    """The layer, every expert on every token: right, and wasteful.

    weights  dict of W_router[D, E], W_in[E, D, F], W_out[E, F, D]
    In       In[B, D]
    k, bias  as in `routing.choose`
    returns  Out[B, D], chances[B, E] and experts[B, k]
    source   Switch Transformer paper
    """
    chances = jax.nn.softmax(In @ weights["W_router"])
    experts = routing.choose(chances, k, bias)
    gates = jax.nn.one_hot(experts, chances.shape[1]).sum(axis=1) * chances
    Tmp = jax.nn.relu(jnp.einsum("bd,edf->bef", In, weights["W_in"]))
    Out = jnp.einsum("bef,efd,be->bd", Tmp, weights["W_out"], gates)
    return Out, chances, experts


def task(key, D):
    """Tokens of kinds, and what a layer shall make of each.

    key      of jax.random
    D        size of a token
    returns  a function of another key and B that gives In[B, D] and
             Target[B, D]; kind n comes 4 / (n + 4) as often as kind 0
    source   chapter 14
    """
    centres, matrices = jax.random.split(key)
    centre = 1.5 * jax.random.normal(centres, (KINDS, D))
    matrix = _normal(matrices, (KINDS, D, D)) / D**0.5
    often = -jnp.log(jnp.arange(4, KINDS + 4))

    def batch(key, B):
        which, noise = jax.random.split(key)
        kind = jax.random.categorical(which, often, shape=(B,))
        In = centre[kind] + jax.random.normal(noise, (B, D))
        return In, jnp.einsum("bd,bdm->bm", In, matrix[kind])

    return batch


def _normal(key, shape):
    """Normal numbers; XLA compiles a flat draw several times as fast."""
    return jax.random.normal(key, (math.prod(shape),)).reshape(shape)


def _first(key, D, F, E):
    shapes = {"W_router": (D, E), "W_in": (E, D, F), "W_out": (E, F, D)}
    keys = jax.random.split(key, len(shapes))
    return {
        name: _normal(key, shape) * shape[-2] ** -0.5
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def _step(state, key, batch, B, k, rates):
    weights, momenta, bias = state
    In, Target = batch(key, B)
    rate, strength, bias_rate = rates

    def loss(weights):
        Out, chances, experts = layer(weights, In, k, bias)
        error = ((Out - Target) ** 2).mean()
        extra = strength * routing.balance_loss(chances, experts)
        return error + extra, (error, routing.visits(experts, len(bias)))

    gradients, (error, visits) = jax.grad(loss, has_aux=True)(weights)
    momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, gradients)
    weights = jax.tree.map(lambda w, m: w - rate * m, weights, momenta)
    bias = routing.move_bias(bias, visits, bias_rate)
    return (weights, momenta, bias), (error, visits)


@partial(jax.jit, static_argnames=("steps", "B", "D", "F", "E", "k"))
def _run(seed, rates, steps, B, D, F, E, k):
    keys = jax.random.split(jax.random.key(seed), steps + 3)
    weights, batch = _first(keys[0], D, F, E), task(keys[1], D)
    state = weights, jax.tree.map(jnp.zeros_like, weights), jnp.zeros(E)
    step = partial(_step, batch=batch, B=B, k=k, rates=rates)
    (weights, _, bias), (losses, visits) = jax.lax.scan(step, state, keys[3:])
    In, _ = batch(keys[2], B)
    _, scores, experts = layer(weights, In, k, bias)
    return losses, visits, scores, experts


@takes(
    balance=BALANCES,
    steps=how_many,
    B=how_many,
    D=how_many,
    F=how_many,
    E=how_many,
)
def train(
    balance="none",
    steps=400,
    B=512,
    D=16,
    F=16,
    E=16,
    k=2,
    seed=0,
    rates=(0.05, 1.0, 0.001),
):
    """Train the layer and remember where its tokens went.

    balance  "none", "loss" (`routing.balance_loss` is added) or "bias"
             (`routing.move_bias` after every step, and no loss)
    steps, B  steps, and tokens of each
    D, F, E, k  sizes of the layer, its experts, and how many a token visits
    seed     of task, weights and tokens
    rates    of learning, the weight of the balancing loss, and that of the bias
    returns  Run
    raises   ValueError that names the argument and what was expected
    source   Switch Transformer paper; DeepSeek-V3 report
    """
    rate, strength, bias_rate = rates
    strength = strength if balance == "loss" else 0.0
    bias_rate = bias_rate if balance == "bias" else 0.0
    sizes = {"steps": steps, "B": B, "D": D, "F": F, "E": E, "k": k}
    run = _run(seed, (rate, strength, bias_rate), **sizes)
    return Run(*map(np.asarray, run))
