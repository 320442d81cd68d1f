"""Causal attention against the length of the sequence: time and memory."""

import jax
import jax.numpy as jnp

from bench.gpu.clock import attempted, timed
from shardlab.strategies.attention import attend

SIZES = {
    "full": {"T": [1024, 2048, 4096, 8192, 16_384], "heads": 16, "d": 128},
    "quick": {"T": [16], "heads": 2, "d": 8},
}


def taught(Q, K, V):
    """The book's own: whole scores in float32, each head with its keys."""
    Out, _ = attend(Q[:, :, None], K, V)
    return Out[:, :, 0].astype(Q.dtype)


def shipped(implementation):
    """JAX's own, by one implementation; one sequence without a batch."""

    def attention(Q, K, V):
        return jax.nn.dot_product_attention(
            Q, K, V, is_causal=True, implementation=implementation
        )

    return attention


NAMES = {"attend": taught, "xla": shipped("xla"), "cudnn": shipped("cudnn")}


def part(sizes, effort, chip):
    """Rows, as the docstring of bench.gpu says.

    sizes, effort  as in `bench.gpu.matmul.part`
    chip     not used
    returns  dict: heads, d, rows
    """
    heads, d = sizes["heads"], sizes["d"]
    rows = [
        attempted(
            {"name": name, "T": T, "passes": passes},
            lambda name=name, T=T, passes=passes: one(
                name, passes, (T, heads, d), effort
            ),
        )
        for T in sizes["T"]
        for name in NAMES
        for passes in ("forward", "both")
    ]
    return {"heads": heads, "d": d, "rows": rows}


def one(name, passes, shape, effort):
    """Time one implementation at one length, and ask for its memory."""
    T, heads, d = shape
    keys = jax.random.split(jax.random.key(1), 3)
    QKV = [jax.random.normal(key, shape, "bfloat16") for key in keys]
    program = jax.jit(passed(NAMES[name], passes)).lower(*QKV).compile()
    seconds = timed([lambda: program(*QKV)], effort)
    flops = 4 * T * T * heads * d * (7 if passes == "both" else 2) // 2
    return {
        "flops": flops,
        **seconds,
        "flops_per_s": flops / seconds["seconds"],
        "temporary_bytes": program.memory_analysis().temp_size_in_bytes,
    }


def passed(attention, passes):
    """The forward pass, or the gradients of a sum that no zero makes easy."""
    if passes == "forward":
        return attention

    def total(Q, K, V):
        Out = attention(Q, K, V).astype("float32")
        return jnp.sum(jnp.sin(Out))

    return jax.grad(total, (0, 1, 2))
