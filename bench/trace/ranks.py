"""What each of the processes runs."""

import tempfile
import time
from collections import Counter
from pathlib import Path

import jax
from jax.sharding import AxisType

from shardlab import processes, trace
from shardlab.strategies import block, fsdp


def traced(steps, late, seconds, B, D, F):
    """Train for some steps under the profiler.

    steps    how many
    late     the step before which process 1 sleeps
    seconds  how long
    B, D, F  sizes of the block
    returns  list of [step, name, queue, start, end], in seconds from the end
             of the first collective, which all processes leave together
    """
    processes.join()
    mesh = jax.make_mesh((2,), ("X",), axis_types=(AxisType.Auto,))
    In, Target, *state = block.begin(fsdp, mesh, B, D, F)
    step = jax.jit(block.train(fsdp, mesh))
    for _ in range(2):  # to compile, and to warm up
        _, _, *state = jax.block_until_ready(step(In, Target, *state))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for n in range(steps + 1):
                if n == late + 1 and jax.process_index() == 1:
                    time.sleep(seconds)
                _, _, *state = jax.block_until_ready(step(In, Target, *state))
        found = trace.read(next(Path(folder).rglob("*.trace.json.gz")))
    return by_step(found)


def by_step(found):
    """The operations of each step but the first, on a clock of its end.

    found    list of Done of steps in which each name comes once
    returns  list of [step, name, queue, start, end]; the first step, in which
             processes wait for each other's profilers, is left out
    """
    seen, rows = Counter(), []
    for done in found:
        rows.append([seen[done.name] - 1, *done])
        seen[done.name] += 1
    zero = next(row[4] for row in rows if row[0] == 0 and row[2] == "network")
    return [
        [step, name, queue, start - zero, end - zero]
        for step, name, queue, start, end in rows
        if step >= 0
    ]
