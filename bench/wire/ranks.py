"""What every rank of a measurement runs."""

import math
import os
import signal
import threading
import time

import jax
import numpy as np
from jax import NamedSharding, P, lax
from jax.experimental import multihost_utils
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


def started_apart(kinds, V, waits, repeats):
    """When collectives end of which rank 1 begins later than rank 0.

    kinds    names of functions of this module
    V        as of `prepared`
    waits    list of seconds that rank 1 waits longer
    repeats  in a row, after two that do not count
    returns  dict: kind -> list of [wait, list of when it began and ended]
    """
    processes.join()
    found = {}
    for kind in kinds:
        once, found[kind] = prepared(kind, V), []
        for wait in waits:
            moments = []
            for _ in range(repeats + 2):
                begin = _agreed_second() + wait * jax.process_index()
                time.sleep(begin - time.time())
                start = time.time()
                once()
                moments.append([start, time.time()])
            found[kind].append([wait, moments[2:]])
    return found


def _agreed_second():
    """A full second soon to come, the same for all ranks.

    They run on one machine and so have one clock, but each on its own may
    look at it before or after a second is full.
    """
    soon = np.int32(math.ceil(time.time() + 0.5))
    return int(multihost_utils.broadcast_one_to_all(soon))


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


def die(rank, heartbeat):
    """One rank is killed amid a sum, and the others say when they heard.

    rank       that dies, in its third sum; it prints the time before
    heartbeat  seconds of silence after which JAX gives a process up
    raises     what JAX raises when another process is dead
    """
    processes.join(heartbeat_timeout_seconds=heartbeat)
    once = prepared("psum", 1 << 20)
    once()
    once()
    if jax.process_index() == rank:
        killer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL))
        print(time.time() + 0.2)
        killer.start()
    try:
        while True:
            once()
    except Exception as error:
        print(time.time(), *str(error).splitlines()[:1])
        raise


def waited(heartbeat, seconds):
    """How long rank 0 waits in a sum for rank 1, which sleeps.

    heartbeat  as of `die`
    seconds    for which rank 1 sleeps
    returns    seconds
    """
    processes.join(heartbeat_timeout_seconds=heartbeat)
    once = prepared("psum", 1 << 20)
    once()
    start = time.perf_counter()
    if jax.process_index() == 1:
        time.sleep(seconds)
    once()
    return time.perf_counter() - start
