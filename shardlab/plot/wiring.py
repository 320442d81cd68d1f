"""What wires carry: blocks and parts on links, ways out, and nodes."""

from fractions import Fraction

import numpy as np

from shardlab.plot.axes import (
    LINE,
    SOFT,
    WHOLE,
    canvas,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, cloud, frame, wire, write

__all__ = [
    "exchanged_parts",
    "gather_traffic",
    "hierarchy",
    "ways_out",
]

MOVE = colour("network")
WIDE = 690  # pixels of a picture
RADIUS = 100  # of a ring


@styled
def gather_traffic(steps, N):
    """Draw a gather one way round: its first step, and what each link carries.

    steps    list of steps, each a list of `shardlab.ring.Hop`, of all of a
             ring's links, of which each carries one chunk a step
    N        chips on the ring, 3 to 8
    returns  the axes drawn on: left the ring, right a row for each link and a
             column for each step. A block has the shade of the chip on which
             it started; a dashed one is the block that the link never carries
    raises   ValueError for other numbers, and links without one chunk a step
    source   chapter 3
    """
    if not 3 <= N <= 8:
        raise ValueError(f"N must be 3 to 8, got {N}")
    carried = [{hop.source: hop.chunk for hop in step} for step in steps]
    all_links = [(k, (k + 1) % N) for k in range(N)]
    used = [sorted((h.source, h.destination) for h in step) for step in steps]
    if used != [all_links] * (N - 1):
        raise ValueError(f"steps must use all {N} links of a ring, one way")
    half, pitch, left = RADIUS * np.cos(np.pi / N), 26, 452
    ax, top = canvas(WIDE, 2 * half + 104), 54
    middle = np.array([160, half + 62])
    write(ax, middle[0], 12, "the first step", 13, weight="bold")
    turns = (2 * np.arange(N) - 1) * np.pi / N - np.pi / 2
    at = middle + RADIUS * np.stack([np.cos(turns), np.sin(turns)], 1)
    for k in range(N):
        wire(ax, at[k], at[(k + 1) % N], colour("axis-x"), 1.4)
        words = f"block {carried[0][k]}"
        _on_link(ax, middle, (at[k], at[(k + 1) % N]), words)
    for k, place in enumerate(at):
        chip(ax, *place, 30, k, shade("X", k, N))
    wide = (len(steps) + 1) * pitch
    title = "what each link carries, step by step"
    write(ax, left + wide / 2 - 30, 12, title, 13, weight="bold")
    for n in range(len(steps)):
        write(ax, left + (n + 0.5) * pitch, top - 12, n + 1, 12, ink=SOFT)
    write(ax, left + wide - pitch / 2 + 3, top - 12, "never", 12, ink=SOFT)
    for k in range(N):
        y = top + k * pitch
        words = f"link {k}→{(k + 1) % N}"
        write(ax, left - 5, y + pitch / 2, words, 12, "right")
        for n, step in enumerate(carried):
            fill = shade("X", step[k], N)
            box(ax, left + n * pitch, y, pitch, pitch, fill, step[k])
        (missing,) = {*range(N)} - {step[k] for step in carried}
        x, inner = left + wide - pitch + 6, pitch - 6
        look = {"edge": LINE, "ink": SOFT, "size": 11}
        box(ax, x, y + 3, inner, inner, "none", missing, **look)
    return ax


def _on_link(ax, middle, ends, words):
    """An arrow along a link of a ring, and outside of it its words."""
    start, end = ends
    ahead = (end - start) / np.hypot(*(end - start))
    arrow(ax, start + 19 * ahead, end - 19 * ahead, MOVE, 2.2, head=8)
    away = (start + end) / 2 - middle
    away = away / np.hypot(*away)
    x, y = (start + end) / 2 + away * 9
    at = "middle" if abs(away[0]) < 0.3 else "left" if away[0] > 0 else "right"
    write(ax, x, y + away[1] * 11, words, 12, at)


@styled
def exchanged_parts(steps, N):
    """Draw how far the parts of an AllToAll go, and which cross one link.

    steps    list of steps of `shardlab.ring.all_to_all_steps`, on a ring used
             both ways, its ties split
    N        chips on the ring: 4, 6 or 8
    returns  the axes drawn on: left the parts of chip 0, each as long as its
             way, right all parts that cross one link to the right. A part of
             which half goes either way has a bar of half the height
    raises   ValueError for other numbers
    source   chapter 3
    """
    if N not in (4, 6, 8):
        raise ValueError(f"N must be 4, 6 or 8, got {N}")
    hops = [hop for step in steps for hop in step]
    whole, half = max(hop.bytes for hop in hops), N // 2
    own = [h for h in hops if h.chunk[0] == 0 == h.source]
    across = [h for h in hops if h.source == half - 1 and h.way == 1]
    ax = canvas(WIDE, 104 + 20 * max(len(across), N + 2))
    _ways_of_one(ax, own, whole, N)
    _over_one_link(ax, across, whole, N)
    return ax


def _ways_of_one(ax, own, whole, N):
    """Chip 0 in the middle, and its parts on their ways to both sides."""
    half, middle, pitch = N // 2, 154, 34
    write(ax, middle, 12, "the ways of chip 0's parts", 13, weight="bold")
    for place in range(-half, half + 1):
        x, number = middle + place * pitch, place % N
        if place < half:
            wire(ax, (x, 48), (x + pitch, 48), colour("axis-x"), 1.4)
        chip(ax, x, 48, 22, number, shade("X", number, N))
    far, total = half * pitch, 0
    for hop in own:
        to = hop.chunk[1]
        hops = to if hop.way == 1 else N - to
        total += Fraction(hop.bytes, whole) * hops
        tall, wide = 18 * hop.bytes / whole, hops * pitch
        y = 70 + (hops - 1) * 40 + 9
        x = middle if hop.way == 1 else middle - wide
        split = hop.bytes < whole
        words = f"0→{to}"
        fill = shade("X", to, N)
        box(ax, x, y - tall / 2, wide, tall, fill, "" if split else words)
        if split:
            write(ax, x + wide / 2, y + 15, f"half of {words}", 12)
    y = 70 + half * 40 + 12
    wire(ax, (middle - far, y - 8), (middle + far, y - 8), LINE, 1)
    write(ax, middle, y + 10, f"{total} hops, by two links", 12, weight="bold")


def _over_one_link(ax, across, whole, N):
    """All chips in a row, and the parts that pass the link in the middle."""
    half, left, pitch = N // 2, 424, 34
    at = [left + chip * pitch for chip in range(N)]
    link = f"{half - 1}→{half}"
    write(ax, 532, 12, f"what crosses the link {link}", 13, weight="bold")
    rows = sorted(across, key=lambda hop: hop.chunk)
    band = at[half - 1] + 12, pitch - 24
    low = 70 + 20 * len(rows)
    box(ax, band[0], 34, band[1], low - 30, colour("network-1"), line=0, z=0.1)
    for number, x in enumerate(at):
        if number < N - 1:
            strong = number == half - 1
            ink = MOVE if strong else colour("axis-x")
            wire(ax, (x, 48), (x + pitch, 48), ink, 4 if strong else 1.4)
        chip(ax, x, 48, 22, number, shade("X", number, N))
    for row, hop in enumerate(rows):
        (start, to), y = hop.chunk, 78 + 20 * row
        tall, wide = 14 * hop.bytes / whole, (to - start) * pitch
        box(ax, at[start], y - tall / 2, wide, tall, shade("X", to, N))
        words = f"½ {start}→{to}" if hop.bytes < whole else f"{start}→{to}"
        write(ax, at[start] - 5, y, words, 12, "right")
    parts = sum(Fraction(hop.bytes, whole) for hop in rows)
    words = f"{parts} parts of {N * N}: V/{Fraction(N * N, parts)}"
    write(ax, 532, low + 16, words, 12, weight="bold")


@styled
def ways_out(tpu, gpu):
    """Draw what W is: of a TPU's axis, of a GPU's port, of a network card.

    tpu, gpu  Chip of `shardlab.hw`, on a torus and at a switch
    returns  the axes drawn on, with the bandwidths of these chips in GB/s
    raises   ValueError for a chip of the other kind
    source   chapter 3
    """
    if not tpu.axes or gpu.axes:
        raise ValueError(
            f"tpu must be on a torus and gpu at a switch, got {tpu.name!r} "
            f"and {gpu.name!r}"
        )
    ax, y = canvas(WIDE, 206), 112
    link, port, card = (
        f"{rate / 1e9:g}" for rate in (tpu.link_bw, gpu.link_bw, gpu.dcn_bw)
    )
    for x, name in ((26, ""), (114, tpu.name), (202, "")):
        if x < 202:
            wire(ax, (x + 17, y), (x + 71, y), colour("axis-x"), 1.4)
        chip(ax, x, y, 36 if name else 28, name, shade("X", 1))
    for start, end in ((94, 42), (134, 186)):
        arrow(ax, (start, y - 8), (end, y - 8), MOVE, 2.2, head=8)
        arrow(ax, (end, y + 8), (start, y + 8), LINE, 2.2, head=8)
        for side in (-22, 22):
            write(ax, (start + end) / 2, y + side, link, 12)
    _gpu_at_switch(ax, 344, y, gpu.name.upper(), port)
    _gpu_at_card(ax, 574, y, gpu.name.upper(), card)
    both = f"W = 2 × {link} = {2 * tpu.link_bw / 1e9:g} GB/s"
    for x, title, words in (
        (114, "TPU: two links on an axis", both),
        (344, "GPU: one port", f"W = {port} GB/s"),
        (574, "between nodes: one card", f"W = {card} GB/s"),
    ):
        write(ax, x, 14, title, 13, weight="bold")
        write(ax, x, 196, words, 14, ink=MOVE, weight="bold")
    return ax


def _gpu_at_switch(ax, x, y, name, rate):
    box(ax, x - 64, 44, 128, 26, colour("network-1"), "switch")
    arrow(ax, (x - 8, y + 16), (x - 8, 72), MOVE, 3.4, head=9)
    arrow(ax, (x + 8, 72), (x + 8, y + 16), LINE, 3.4, head=9)
    for side, at in ((-16, "right"), (16, "left")):
        write(ax, x + side, 100, rate, 12, at)
    chip(ax, x, y + 36, 40, name, WHOLE, letters=11)


def _gpu_at_card(ax, x, y, name, rate):
    cloud(ax, x - 70, 42, 140, 28, "network of the cluster")
    arrow(ax, (x - 6, y - 4), (x - 6, 72), MOVE, 1.6, head=7)
    arrow(ax, (x + 6, 72), (x + 6, y - 4), LINE, 1.6, head=7)
    for side, at in ((-14, "right"), (14, "left")):
        write(ax, x + side, 90, rate, 12, at)
    box(ax, x - 22, y - 4, 44, 18, colour("network-1"), "card")
    chip(ax, x, y + 36, 40, name, WHOLE, letters=11)


@styled
def hierarchy(nodes=2, gpus=4):
    """Draw a hierarchical AllReduce: what each GPU has after each phase.

    nodes, gpus  nodes, 2 or 3, and GPUs in each, 2 to 4
    returns  the axes drawn on, in four moments from left to right. A GPU is a
             box of as many pieces as its node has GPUs; grey is a sum over
             the node, green a sum over everything, and white what a GPU has
             only its own terms of. Thin arrows join those who talk in the next
             phase, a node's GPUs or one GPU of each node
    raises   ValueError for other numbers
    source   chapter 3
    """
    if nodes not in (2, 3) or gpus not in (2, 3, 4):
        raise ValueError(
            f"nodes must be 2 or 3 and gpus 2 to 4, got {nodes} and {gpus}"
        )
    pitch, high, top, gap = 25, 124, 44, 28
    ax, wide = canvas(WIDE, top + nodes * high + 46), gpus * pitch + 12
    own = lambda piece, gpu: piece == gpu  # noqa: E731
    every = lambda *_: True  # noqa: E731
    moments = (
        ("all terms", every, WHOLE, "own terms"),
        ("a piece each", own, shade("pod", 1), "sum over its node"),
        ("a piece each", own, colour("counted"), "sum over all nodes"),
        ("all pieces", every, colour("counted"), "sum over all nodes"),
    )
    step = (WIDE - wide) / 3
    for n, (title, held, fill, words) in enumerate(moments):
        x = n * step
        write(ax, x + wide / 2, 12, title, 12, weight="bold")
        write(ax, x + wide / 2, 28, words, 11, ink=SOFT)
        for m in range(nodes):
            y = top + m * high
            frame(ax, x, y, wide, high - gap, f"node {m}", fill="none")
            if n in (0, 2):
                ends = (x + 8, y + 86), (x + wide - 8, y + 86)
                arrow(ax, *ends, MOVE, 1.4, both=True)
            for g in range(gpus):
                left = x + 8 + g * pitch
                if n == 1 and m:
                    ends = (left + 10, y - gap + 2), (left + 10, y - 2)
                    arrow(ax, *ends, MOVE, 1.4, both=True)
                for piece in range(gpus):
                    tall = 48 / gpus
                    here = fill if held(piece, g) else colour("paper")
                    box(ax, left, y + 28 + piece * tall, 20, tall, here)
    below = top + nodes * high - gap + 18
    for n, (kind, where, way) in enumerate(
        (
            ("ReduceScatter", "inside each node", "by the ports"),
            ("AllReduce", "between nodes", "by the cards"),
            ("AllGather", "inside each node", "by the ports"),
        )
    ):
        x = n * step + wide
        middle, y = x + (step - wide) / 2, top + (nodes * high - gap) / 2
        arrow(ax, (x + 8, y), (x + step - wide - 8, y), MOVE, 3, head=10)
        write(ax, middle, below, kind, 12, ink=MOVE, weight="bold")
        write(ax, middle, below + 17, where, 11, ink=SOFT)
        write(ax, middle, below + 33, way, 11, ink=SOFT)
    return ax
