"""How times grow: the exponent that fits them beside the best possible one.

The best possible is what one must at least do: write down every hop, visit
every chip, list every layout, return every event. A count of a program for
more chips has nothing more to do.
"""

import math

from bench.bench_plan import asked
from bench.measuring import exponent, row, timed
from shardlab import agreement, pipeline, plan, ring
from shardlab.hw import H100

RUNS = 3
PROGRAM = {"B": 2**20, "D": 8192, "F": 28_672}


def packed(sizes):
    """An AllGather on a torus, in sets of chunks."""
    N = math.prod(sizes)
    return ring.all_gather(6 * N, sizes, link_bw=9e10)


def planned(chips):
    """Every layout of a model on this many chips."""
    model, batch = plan.model("llama-3-70b"), chips * 2**12
    return plan.search(asked(model, H100, (chips,), batch, 8192))


def counted(X):
    """What FSDP and TP together move on X x 8 chips."""
    return agreement.counts("fsdp_tp", **PROGRAM, X=X, Y=8)


def curves():
    """Yield (name, of what, best exponent, {size: work}) for each curve."""
    yield (
        "ring.all_gather_steps",
        "hops",
        1,
        {
            N * (N - 1): lambda N=N: ring.all_gather_steps(2 * N * N, N)
            for N in (64, 128, 256, 512)
        },
    )
    yield (
        "ring.all_gather, packed",
        "chunk hops",
        1,
        {
            (n**3) * (n**3 - 1): lambda n=n: packed((n, n, n))
            for n in (8, 10, 12, 16)
        },
    )
    yield (
        "ring.all_gather, one picture",
        "chips, six links each,",
        1,
        {
            n**3: lambda n=n: ring.all_gather(
                6 * n**3, (n, n, n), link_bw=9e10, symmetry=True
            )
            for n in (16, 32, 48, 64)
        },
    )
    for build in (pipeline.gpipe, pipeline.one_f_one_b):
        yield (
            f"pipeline.{build.__name__}",
            "events",
            1,
            {
                2 * n * n: lambda n=n, build=build: build(n, n)
                for n in (50, 100, 200, 300)
            },
        )
    asked = {n: len(planned(n).rows) for n in (64, 256, 1024, 4096)}
    yield (
        "plan.search",
        "layouts",
        1,
        {rows: lambda n=n: planned(n) for n, rows in asked.items()},
    )
    yield (
        "count of FSDP and TP",
        "chips",
        0,
        {8 * X: lambda X=X: counted(X) for X in (8, 64, 512, 4096)},
    )


def rows():
    """Yield a row for each curve; its seconds are those of the largest size.

    A row has also `curve`, pairs of size and seconds of the processor, with
    `exponent` and `best`.
    """
    for name, of, best, works in curves():
        curve = []
        for size, work in sorted(works.items()):
            work()  # what is built once is built now
            runs = [timed(work) for _ in range(RUNS)]
            curve.append((size, sorted(cpu for _, cpu in runs)[RUNS // 2]))
        fitted = exponent(*zip(*curve, strict=True))
        found = row(
            f"growth: {name}",
            [wall for wall, _ in runs],
            [cpu for _, cpu in runs],
            note=(
                f"{of} to the power {fitted:.2f}, best {best}; "
                f"{curve[0][0]:,} to {curve[-1][0]:,}"
            ),
        )
        yield found | {"curve": curve, "exponent": fitted, "best": best}
