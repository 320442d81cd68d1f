"""What wires carry: rings with words on their links, ways out, and nodes."""

import numpy as np

from shardlab.plot.axes import (
    LINE,
    SOFT,
    WHOLE,
    canvas,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, cloud, frame, wire, write

MOVE = colour("network")
WIDE = 690  # pixels of a picture
RADIUS, WIDER = 100, 120  # of a ring, and of one of up to four chips
ASIDE = 9  # of an arrow beside its wire, where both ways are in use


@styled
def ring_links(rings, N):
    """Draw rings of chips, and what crosses each of their links in words.

    rings    dict: title -> {(source, destination): words}, of neighbours
    N        chips on each ring, 3 to 8
    returns  the axes drawn on. Chip 0 is at the top left; what goes to the
             next chip runs outside with the clock, what goes to the one before
             inside against it
    raises   ValueError for no ring, other numbers, or chips without a wire
    source   chapter 3
    """
    refuse_empty("rings", rings, "words on links")
    if not 3 <= N <= 8:
        raise ValueError(f"N must be 3 to 8, got {N}")
    share, radius = WIDE / len(rings), RADIUS if N > 4 else WIDER
    half = radius * np.cos(np.pi / N)  # of the height
    ax = canvas(WIDE, 2 * half + 130)
    turns = (2 * np.arange(N) - 1) * np.pi / N - np.pi / 2
    around = radius * np.stack([np.cos(turns), np.sin(turns)], 1)
    for n, (title, carried) in enumerate(rings.items()):
        middle = np.array([(n + 0.5) * share, half + 76])
        write(ax, middle[0], 14, title, 13, weight="bold")
        at, both = middle + around, _both_ways(carried)
        for k in range(N):
            wire(ax, at[k], at[(k + 1) % N], colour("axis-x"), 1.4)
        for (source, to), words in carried.items():
            if (to - source) % N not in (1, N - 1):
                raise ValueError(f"{source} and {to} are no neighbours of {N}")
            out = 1 if (to - source) % N == 1 else -1
            _on_link(ax, middle, (at[source], at[to]), words, out, both)
        for k, place in enumerate(at):
            chip(ax, *place, 30, k, shade("X", k, N))
    return ax


def _both_ways(carried):
    return any((to, source) in carried for source, to in carried)


def _on_link(ax, middle, ends, words, out, both):
    """An arrow along a link, outside or inside of the ring, and its words."""
    start, end = ends
    ahead = (end - start) / np.hypot(*(end - start))
    right = np.array([ahead[1], -ahead[0]]) * (ASIDE if both else 0)
    tail, tip = start + 19 * ahead + right, end - 19 * ahead + right
    arrow(ax, tail, tip, MOVE, 2.2, head=8)
    away = (start + end) / 2 - middle
    away = away / np.hypot(*away) * out
    x, y = (start + end) / 2 + right + away * 9
    at = "middle" if abs(away[0]) < 0.3 else "left" if away[0] > 0 else "right"
    write(ax, x, y + away[1] * 11, words, 12, at)


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
    ax, y = canvas(WIDE, 236), 112
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
    words = "gold arrows go out, grey ones come in at the same time; GB/s"
    write(ax, WIDE / 2, 224, words, 12, ink=SOFT)
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
             only its own terms of
    raises   ValueError for other numbers
    source   chapter 3
    """
    if nodes not in (2, 3) or gpus not in (2, 3, 4):
        raise ValueError(
            f"nodes must be 2 or 3 and gpus 2 to 4, got {nodes} and {gpus}"
        )
    pitch, high, top = 25, 100, 44
    ax, wide = canvas(WIDE, top + nodes * high + 62), 4 * pitch + 12
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
            frame(ax, x, y, wide, high - 12, f"node {m}", fill="none")
            for g in range(gpus):
                left = x + 8 + g * pitch
                for piece in range(gpus):
                    tall = 48 / gpus
                    here = fill if held(piece, g) else colour("paper")
                    box(ax, left, y + 28 + piece * tall, 20, tall, here)
    below = top + nodes * high + 8
    for n, (kind, where, way) in enumerate(
        (
            ("ReduceScatter", "inside each node", "by the ports"),
            ("AllReduce", "between nodes", "by the cards"),
            ("AllGather", "inside each node", "by the ports"),
        )
    ):
        x = n * step + wide
        middle, y = x + (step - wide) / 2, top + (nodes * high - 12) / 2
        arrow(ax, (x + 8, y), (x + step - wide - 8, y), MOVE, 3, head=10)
        write(ax, middle, below, kind, 12, ink=MOVE, weight="bold")
        write(ax, middle, below + 17, where, 11, ink=SOFT)
        write(ax, middle, below + 33, way, 11, ink=SOFT)
    return ax
