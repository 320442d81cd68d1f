"""What it costs to launch a program that does next to nothing."""

import jax

from bench.gpu.clock import attempted, timed

SIZES = {"full": {"elements": 8}, "quick": {"elements": 8}}


def part(sizes, effort, chip):
    """Rows, as the docstring of bench.gpu says.

    sizes, effort  as in `bench.gpu.matmul.part`
    chip     not used
    returns  dict: elements, rows
    """
    x = jax.random.normal(jax.random.key(1), (sizes["elements"],))
    add = jax.jit(lambda x: x + 1)
    cases = {
        "in a full queue": lambda: add(x),
        "waited for": lambda: jax.block_until_ready(add(x)),
        "and read by the host": lambda: jax.device_get(add(x)),
    }
    rows = [
        attempted({"name": name}, lambda work=work: timed([work], effort))
        for name, work in cases.items()
    ]
    return {**sizes, "rows": rows}
