"""A stack of layers under FSDP, written so that a compiler may merge gathers.

Each layer is gathered for its forward pass and, since nothing of it is kept,
once more for its backward pass. Whether it is depends on who compiles.
"""

import re
from functools import partial

import jax
import jax.numpy as jnp
from jax import P, lax

from shardlab.arguments import one_of, whole

__all__ = ["WAYS", "gathers", "gradient", "shapes"]

WAYS = ("merging allowed", "merging forbidden", "in a scan")


def _layer(In, W):
    """One layer: its weights gathered over X, a product, a tanh.

    In       In[B_X, D]
    W        W[D_X, D]
    returns  Out[B_X, D]
    source   chapter 20
    """
    whole_W = lax.all_gather(W, "X", axis=0, tiled=True)  # W[D, D]
    return jnp.tanh(In @ whole_W)


def _loss(W, In, way):
    """Half the sum of squares of what a stack gives, over all chips.

    W        W[L, D_X, D]
    In       In[B_X, D]
    way      a name in WAYS: layers that run again in backward, in a loop of
             Python with `prevent_cse` False or True, or in a scan
    returns  a number in float32
    source   chapter 20
    """
    forbidden = way == "merging forbidden"
    one = jax.checkpoint(_layer, prevent_cse=forbidden)
    if way == "in a scan":
        Out, _ = lax.scan(lambda In, W: (one(In, W), None), In, W)
    else:
        Out = In
        for each in W:
            Out = one(Out, each)
    return lax.psum(jnp.sum(Out.astype("float32") ** 2) / 2, "X")


def gradient(mesh, way):
    """The gradient of the weights of a stack.

    mesh     jax.sharding.Mesh or AbstractMesh with an axis X
    way      a name in WAYS
    returns  a function of W[L, D, D] and In[B, D] that gives dW
    raises   ValueError for another way
    source   chapter 20
    """
    one_of("way", way, WAYS)
    return jax.shard_map(
        jax.grad(partial(_loss, way=way)),
        mesh=mesh,
        in_specs=(P(None, "X"), P("X")),
        out_specs=P(None, "X"),
    )


def shapes(L, B, D, dtype="float32"):
    """Shapes of W and In, as `gradient` takes them.

    L, B, D  layers, tokens and width
    dtype    of both
    returns  two jax.ShapeDtypeStruct, without shardings
    raises   ValueError that names what is not a whole number
    source   chapter 20
    """
    L, B, D = whole("L", L), whole("B", B), whole("D", D)
    W = jax.ShapeDtypeStruct((L, D, D), dtype)
    return W, jax.ShapeDtypeStruct((B, D), dtype)


def gathers(text, L):
    """How often the program that was compiled for a stack gathers.

    text     of the compiled module
    L        layers; what stands in the body of a loop runs so often
    returns  int
    source   chapter 20
    """
    times, found = 0, 0
    for line in text.splitlines():
        if line and not line.startswith(" "):
            times = 1 if line.startswith("ENTRY") else L
        found += times * bool(re.search(r" all-gather(-start)?\(", line))
    return found
