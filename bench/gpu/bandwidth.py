"""Bytes per second between memory and arithmetic: copy, sum and triad."""

import jax
import jax.numpy as jnp

from bench.gpu.clock import attempted, rate, timed

SIZES = {
    "full": {"array_bytes": [4**n << 20 for n in range(7)]},  # 1 MiB to 4 GiB
    "quick": {"array_bytes": [1 << 12, 1 << 16]},
}
# What is done to float32 arrays, and how many arrays it reads and writes.
KINDS = {
    "copy": (lambda a, b: jnp.copy(a), 2),
    "sum": (lambda a, b: jnp.sum(a), 1),
    "triad": (lambda a, b: a + 3 * b, 3),
}


def part(sizes, effort, chip):
    """Rows for each kind and size, as the docstring of bench.gpu says.

    sizes, effort, chip  as in `bench.gpu.matmul.part`
    returns  dict: rows
    """
    rows = [
        attempted(
            {"kind": kind, "array_bytes": size},
            lambda kind=kind, size=size: moved(kind, size, effort, chip),
        )
        for kind in KINDS
        for size in sizes["array_bytes"]
    ]
    return {"rows": rows}


def moved(kind, size, effort, chip):
    """Time one kind on arrays of so many bytes."""
    work, arrays = KINDS[kind]
    keys = jax.random.split(jax.random.key(1))
    a, b = (jax.random.normal(key, (size // 4,)) for key in keys)
    program = jax.jit(work)
    seconds = timed([lambda: program(a, b)], effort)
    bytes = arrays * size
    per_second, share = rate(bytes, seconds["seconds"], chip and chip["hbm_bw"])
    return {
        "bytes": bytes,
        **seconds,
        "bytes_per_s": per_second,
        "share": share,
    }
