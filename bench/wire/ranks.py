"""What every rank of a measurement runs."""

import time

import jax
import numpy as np
from jax import NamedSharding, P, lax
from jax.sharding import AxisType

from bench.wire.namespaces import sent
from shardlab import processes


def next_chip(x):
    """Each chip's array to the next one on the ring."""
    size = lax.axis_size("X")
    return lax.ppermute(x, "X", [(n, (n + 1) % size) for n in range(size)])


def one_way(x):
    """The first chip's array to the second, and nothing else."""
    return lax.ppermute(x, "X", [(0, 1)])


def all_gather(x):
    """All pieces on all chips."""
    return lax.all_gather(x, "X", tiled=True)


def psum(x):
    """The sum of all arrays on all chips."""
    return lax.psum(x, "X")


def psum_scatter(x):
    """A piece of the sum on each chip."""
    return lax.psum_scatter(x, "X", tiled=True)


def all_to_all(x):
    """A piece from each chip to each."""
    return lax.all_to_all(x, "X", 0, 0, tiled=True)


def prepared(kind, V):
    """A collective, and an array for it.

    kind     name of a function of this module
    V        bytes of the array that a chip has before, and after an AllGather
    returns  a function that does it once and waits for it
    """
    size = jax.device_count()
    mesh = jax.make_mesh((size,), ("X",), axis_types=(AxisType.Auto,))
    length = V // 4 if kind == "all_gather" else V // 4 * size
    numbers = np.random.default_rng(5).random(length, "float32")
    x = jax.make_array_from_callback(
        numbers.shape, NamedSharding(mesh, P("X")), lambda here: numbers[here]
    )
    move = jax.jit(
        jax.shard_map(
            globals()[kind],
            mesh=mesh,
            in_specs=P("X"),
            out_specs=P("X"),
            check_vma=False,
        )
    )
    return lambda: jax.block_until_ready(move(x))


def seconds(kinds, sizes, repeats):
    """How long collectives take.

    kinds    names of functions of this module
    sizes    V of each measurement, bytes
    repeats  in a row, after two that do not count
    returns  dict: kind -> list of [V, the median of seconds]
    """
    processes.join()
    found = {}
    for kind in kinds:
        found[kind] = []
        for V in sizes:
            once, took = prepared(kind, V), []
            for _ in range(repeats + 2):
                start = time.perf_counter()
                once()
                took.append(time.perf_counter() - start)
            found[kind].append([V, float(np.median(took[2:]))])
    return found


def bytes_sent(kinds, V, repeats):
    """What the kernel counts on the loopback device, for each time.

    kinds, V, repeats  as in `seconds`
    returns  dict: kind -> bytes of all chips, with what TCP adds
    """
    processes.join()
    found = {}
    for kind in kinds:
        once = prepared(kind, V)
        once()
        once()
        before = sent()
        for _ in range(repeats):
            once()
        found[kind] = (sent() - before) / repeats
    return found
