"""What is done to elements one by one: bound by bytes, unless it is fused."""

import jax
import jax.numpy as jnp

from bench.gpu.clock import attempted, rate, timed
from shardlab import cost
from shardlab.strategies.sequence import norm

SIZES = {
    "full": {"B": 16_384, "D": 8192, "F": 8192},
    "quick": {"B": 16, "D": 32, "F": 48},
}
CHAIN = [jnp.tanh, jnp.negative, jnp.exp, jnp.square, jnp.sin, jnp.abs]


def part(sizes, effort, chip):
    """Rows, as the docstring of bench.gpu says.

    sizes, effort, chip  as in `bench.gpu.matmul.part`
    returns  dict: B, D, F, rows
    """
    cases = {**elements(**sizes), **products(**sizes)}
    rows = [
        attempted(
            {"name": name},
            lambda case=case: measured(*case, effort, chip),
        )
        for name, case in cases.items()
    ]
    return {**sizes, "rows": rows}


def measured(work, bytes, flops, effort, chip):
    """Time one case: its bytes, and the FLOPs of its product if it has one."""
    seconds = timed([work], effort)
    per_second, share = rate(bytes, seconds["seconds"], chip and chip["hbm_bw"])
    found = {**seconds, "bytes": bytes}
    found |= {"bytes_per_s": per_second, "share": share}
    if flops:
        found |= {"flops": flops, "flops_per_s": flops / seconds["seconds"]}
    return found


def elements(B, D, F):
    """Norm and chain: name -> (work, bytes that must move, no FLOPs)."""
    In = jax.random.normal(jax.random.key(1), (B, D), "bfloat16")
    gain = jax.random.normal(jax.random.key(2), (D,), "bfloat16")
    normed = jax.jit(norm)
    fused, apart = jax.jit(chained), [jax.jit(f) for f in CHAIN]
    once, k = 2 * 2 * B * D, len(CHAIN)
    return {
        "norm": (lambda: normed(In, gain), once, 0),
        f"{k} operations, 1 program": (lambda: fused(In), once, 0),
        f"{k} operations, {k} programs": (
            lambda: chained(In, apart),
            k * once,
            0,
        ),
    }


def chained(In, chain=CHAIN):
    """All operations of the chain, one after the other."""
    for f in chain:
        In = f(In)
    return In


def products(B, D, F):
    """A product and a SiLU: name -> (work, bytes that must move, FLOPs)."""
    In = jax.random.normal(jax.random.key(1), (B, D), "bfloat16")
    W = jax.random.normal(jax.random.key(2), (D, F), "bfloat16")
    multiply, silu = jax.jit(jnp.matmul), jax.jit(jax.nn.silu)
    both = jax.jit(lambda In, W: jax.nn.silu(In @ W))
    flops, bytes = cost.matmul_flops(B, D, F), 2 * (B * D + D * F + B * F)
    more = bytes + 2 * 2 * B * F
    return {
        "product": (lambda: multiply(In, W), bytes, flops),
        "product and SiLU, 1 program": (lambda: both(In, W), bytes, flops),
        "product and SiLU, 2 programs": (
            lambda: silu(multiply(In, W)),
            more,
            flops,
        ),
    }
