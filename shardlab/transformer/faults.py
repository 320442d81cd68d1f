"""A training step in which one bit of one number is turned over.

Eight replicas, or any number along X, train by data parallelism. Each has its
own copy of everything, stored under an index of its own, so that copies which
ought to be equal may differ.
"""

import jax
from jax import P, lax

from shardlab import bits
from shardlab.transformer import training
from shardlab.transformer.strategies import Strategy, update

__all__ = ["NOWHERE", "PLACES", "damaged", "masters", "train", "with_masters"]

PLACES = ("weight", "gradient", "sum")
NOWHERE = (-1, 0, 0)  # a fault that strikes nobody
STRUCK = ("layers", "W_in")  # the array in which it strikes
COPIES = Strategy("copies", batch=("X",))  # gradients are not summed yet


def damaged(tree, strikes, bit):
    """A tree in which a bit of the first number of one array is turned over.

    tree     weights or gradients, float32
    strikes  whether it happens, and here
    bit      0 to 31
    returns  the same tree
    source   chapter 17
    """
    group, array = STRUCK
    struck = bits.flip(tree[group][array], 0, bit, strikes)
    return tree | {group: tree[group] | {array: struck}}


def train(mesh, T):
    """A step of data parallelism in which a fault may strike one chip.

    mesh     jax.sharding.Mesh with the axis X
    T        tokens of a sequence
    returns  a function of tokens[B], targets[B], the copies of weights and
             states, each with the chips as its first dimension, and a fault
             (place in PLACES, chip, bit). It gives the parts of the loss, the
             new copies, and the checksum of each chip's weights
    source   chapter 17
    """
    passes = training.both_passes(COPIES, T)

    def per_device(tokens, targets, states, place, chip, bit):
        def strikes(where):
            here = lax.axis_index("X") == chip
            return here & (place == PLACES.index(where))

        states = jax.tree.map(lambda copy: copy[0], states)
        W = damaged(masters(states), strikes("weight"), bit)
        part, dW = passes(tokens, targets, W)
        dW = damaged(dW, strikes("gradient"), bit)  # before the AllReduce
        dW = lax.psum(dW, "X")
        dW = damaged(dW, strikes("sum"), bit)  # as this chip received it
        W, states = update(dW, with_masters(states, W))
        found = part, states, bits.checksum(W)
        return jax.tree.map(lambda x: x[None], found)

    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(P("X"), P("X"), P("X"), P(), P(), P()),
        out_specs=P("X"),
    )


def masters(states):
    """The weights themselves, out of the optimiser's states.

    states   tree of triples: master copy, first and second moment
    returns  tree of arrays
    source   ZeRO paper
    """
    return jax.tree.map(
        lambda state: state[0], states, is_leaf=lambda x: type(x) is tuple
    )


def with_masters(states, W):
    """The same states with other weights.

    states   tree of triples: master copy, first and second moment
    W        tree of arrays
    returns  tree of triples
    source   ZeRO paper
    """
    return jax.tree.map(lambda w, state: (w, *state[1:]), W, states)
