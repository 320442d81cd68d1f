"""Time and memory of moving chunks hop by hop, and how both grow."""

import math
from functools import partial

from bench.measuring import measured
from shardlab import ring

LINK_BW = 9e10  # bytes/s; the time of the simulation does not depend on it

POD = (16, 20, 28)
CUBES = [(8, 8, 8), (12, 16, 16), (16, 16, 16), POD]


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note} for each case."""
    for sizes in CUBES:
        yield torus("all_gather", sizes)
    for kind in ("all_gather", "reduce_scatter", "all_reduce"):
        yield torus(kind, POD, algorithm="balanced")
    for sizes in [(4, 4, 4), (6, 6, 6), (8, 8, 8)]:
        yield torus("all_to_all", sizes)
    for kind in ("all_gather", "reduce_scatter", "all_to_all"):
        yield torus(kind, POD, symmetry=True)
    yield torus("all_gather", (64, 64, 64), symmetry=True)
    for N in (64, 256):
        yield plain("all_gather_steps", N)
    yield plain("all_gather_steps", 1024, goal=1.7)  # 17 s once
    for N in (16, 64):
        yield plain("all_to_all_steps", N)


def torus(kind, sizes, **options):
    """One row of the packed simulation; its note says how much it handled."""
    N = math.prod(sizes)
    chunks = N * N if kind == "all_to_all" else N
    move = partial(
        getattr(ring, kind), 6 * chunks, sizes, link_bw=LINK_BW, **options
    )
    traffic = move()
    chunk_hops = int(traffic.bytes_on_link.sum()) // 6
    held = N if options.get("symmetry") else N * -(-chunks // 64) * 8
    note = (
        f"{N:,} chips, {chunk_hops:,} chunk hops; "
        f"{traffic.set_bytes / 1e6:,.1f} MB of sets sent, {held / 1e6:,.1f} MB "
        "in one picture"
    )
    words = ", ".join(f"{key}={value}" for key, value in options.items())
    name = f"ring: {kind} {'x'.join(map(str, sizes))} {words}".strip()
    return measured(name, move, note)


def plain(name, N, **goal):
    """One row of the plain simulation, with one object for each hop."""
    move = partial(getattr(ring, name), 2 * N * N, N)
    hops = sum(map(len, move()))
    return measured(f"ring: {name} N={N}", move, f"{hops:,} hops", **goal)
