"""One product in several precisions: how fast, and how far off."""

import jax
import jax.numpy as jnp
from jax import lax

from bench.gpu.clock import attempted, rate, timed
from shardlab import cost

SIZES = {
    "full": {"B": 8192, "D": 8192, "F": 8192},
    "quick": {"B": 16, "D": 32, "F": 48},
}
ROWS = 64  # of the result, compared with float32


def product(dtype, out, how=None):
    """A product of operands of one type: (type, function)."""
    multiply = jax.jit(
        lambda In, W: lax.dot(In, W, precision=how, preferred_element_type=out)
    )
    return dtype, multiply


CASES = {
    "float32": product("float32", "float32", lax.Precision.HIGHEST),
    "tf32": product("float32", "float32", lax.DotAlgorithmPreset.TF32_TF32_F32),
    "bf16": product("bfloat16", "bfloat16"),
    "fp16": product("float16", "float16"),
    "fp8": product("float8_e4m3fn", "bfloat16"),
    "int8": product("int8", "int32"),
}


def part(sizes, effort, chip):
    """Rows, as the docstring of bench.gpu says.

    sizes, effort, chip  as in `bench.gpu.matmul.part`
    returns  dict: B, D, F, rows
    """
    rows = [
        attempted(
            {"name": name},
            lambda name=name: one(name, sizes, effort, chip),
        )
        for name in CASES
    ]
    return {**sizes, "rows": rows}


def one(name, sizes, effort, chip):
    """Time the product in one precision, and compare some rows of it."""
    dtype, multiply = CASES[name]
    In, W = operands(dtype, sizes)
    seconds = timed([lambda: multiply(In, W)], effort)
    per_second, share = rate(
        cost.matmul_flops(**sizes), seconds["seconds"], chip and chip["flops"]
    )
    return {
        **seconds,
        "flops_per_s": per_second,
        "share": share,
        "deviation": deviation(multiply(In, W)[:ROWS], In[:ROWS], W),
    }


def operands(dtype, sizes):
    """In[B, D] and W[D, F], random; whole numbers of one byte if int8."""
    scale = 20 if dtype == "int8" else 1
    keys = jax.random.split(jax.random.key(1))
    shapes = (sizes["B"], sizes["D"]), (sizes["D"], sizes["F"])
    return [
        (scale * jax.random.normal(key, shape)).astype(dtype)
        for key, shape in zip(keys, shapes, strict=True)
    ]


def deviation(Out, In, W):
    """How far a product is from that of the same operands in float32.

    returns  norm of the difference, over the norm of the product
    """
    exact = jnp.matmul(
        In.astype("float32"), W.astype("float32"), precision="highest"
    )
    apart = jnp.linalg.norm(Out.astype("float32") - exact)
    return float(apart / jnp.linalg.norm(exact))
