"""In[B, D] @ W[D, F] in bf16 from one token to many: the roofline, measured."""

import math
import statistics

import jax

from bench.gpu.clock import attempted, rate, timed
from shardlab import cost, hw

POWERS = [2**n for n in range(16)]
BETWEEN = [96, 160, 192, 224, 288, 320, 384, 448, 640, 768, 1536, 3072]
SIZES = {
    "full": {
        "shapes": [(8192, 8192), (4096, 14_336)],
        "batches": sorted(POWERS + BETWEEN),
        # Products of one program, so that its launch is hidden; each has a W
        # of its own, so that none of them waits in a cache.
        "copies": 8,
    },
    "quick": {"shapes": [(64, 96)], "batches": [1, 16, 256], "copies": 2},
}
FEW = 16  # tokens up to which a product costs what W costs


def part(sizes, effort, chip):
    """Rows and rooflines, as the docstring of bench.gpu says.

    sizes    a value of SIZES
    effort   Effort
    chip     what `device.figures` returns
    returns  dict: rows, rooflines
    """
    rows, rooflines = [], []
    for D, F in sizes["shapes"]:
        new = shape_rows(D, F, sizes, effort, chip)
        rows += new
        done = [row for row in new if "error" not in row]
        rooflines += [roofline(done, chip)] if done else []
    return {"rows": rows, "rooflines": rooflines}


def shape_rows(D, F, sizes, effort, chip):
    """One row for each batch."""
    keys = jax.random.split(jax.random.key(1), sizes["copies"])
    W = [jax.random.normal(key, (D, F), "bfloat16") for key in keys]
    return [
        attempted(
            {"B": B, "D": D, "F": F},
            lambda B=B: product(B, D, F, W, effort, chip),
        )
        for B in sizes["batches"]
    ]


def product(B, D, F, W, effort, chip):
    """Time one product of a program of as many as there are weights."""
    In = jax.random.normal(jax.random.key(2), (B, D), "bfloat16")
    products = jax.jit(multiply)
    seconds = timed([lambda: products(In, W)], effort)
    for name in ("seconds", "seconds_least", "seconds_most"):
        seconds[name] /= len(W)
    flops = cost.matmul_flops(B, D, F)
    bytes = 2 * (B * D + D * F + B * F)
    best = cost.t_matmul(B, D, F, hw.chip(chip["name"])) if chip else None
    return {
        "flops": flops,
        "bytes": bytes,
        **seconds,
        "flops_per_s": flops / seconds["seconds"],
        "bytes_per_s": bytes / seconds["seconds"],
        "roofline_seconds": best,
    }


def multiply(In, W):
    """In times each W; the barrier keeps XLA from making one product of all."""
    apart = jax.lax.optimization_barrier([In] * len(W))
    return [one @ w for one, w in zip(apart, W, strict=True)]


def roofline(rows, chip):
    """Peak, floor and knees of one shape.

    rows     of `product`, at least one, in order of B
    chip     what `device.figures` returns
    returns  dict, as the docstring of bench.gpu says
    """
    D, F = rows[0]["D"], rows[0]["F"]
    peak = max(row["flops_per_s"] for row in rows)
    few = [row["seconds"] for row in rows if row["B"] <= FEW]
    floor = statistics.median(few) if few else None
    C, W = (chip["flops"], chip["hbm_bw"]) if chip else (None, None)
    read, share = rate(2 * D * F, floor, W) if floor else (None, None)
    known = hw.chip(chip["name"]) if chip else None
    knee = cost.compute_bound_batch(D, F, known) if chip else math.inf
    return {
        "D": D,
        "F": F,
        "peak_flops_per_s": peak,
        "peak_share": peak / C if C else None,
        "floor_seconds": floor,
        "floor_bytes_per_s": read,
        "floor_share": share,
        "knee_half": half(rows, peak),
        "knee_cross": peak * floor / (2 * D * F) if floor else None,
        "chip_knee": knee if knee < math.inf else None,
    }


def half(rows, peak):
    """The B at which half of the peak is reached, between rows by power law.

    rows     in order of B
    peak     FLOP/s
    returns  tokens, a real number; None if the first row is above already
    """
    for before, after in zip(rows, rows[1:], strict=False):
        low, high = before["flops_per_s"], after["flops_per_s"]
        if low < peak / 2 <= high:
            way = math.log(peak / 2 / low) / math.log(high / low)
            return before["B"] * (after["B"] / before["B"]) ** way
    return None
