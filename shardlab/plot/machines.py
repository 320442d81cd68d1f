"""Machines: chips and their memory, rings and switches, slices and pods."""

import numpy as np

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, SOFT, WHOLE, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import (
    PAPER,
    arrow,
    box,
    chip,
    cloud,
    frame,
    line,
    matrix,
    node,
    ring,
    torus,
    wire,
    write,
)

__all__ = [
    "hosts",
    "networks",
    "node_gathers",
    "one_chip",
    "pod_phases",
    "rails",
    "ring_or_line",
    "slice_and_axes",
]

MOVE = colour("network")


@styled
def one_chip(figures):
    """Draw a chip: arithmetic, memory, links, and how fast each of them is.

    figures  shardlab.hw.Chip
    returns  the axes drawn on
    source   chapters 3 and 5
    """
    ax = canvas(356, 212)
    x, y, wide, high = 92, 16, 176, 150
    frame(ax, x, y, wide, high, fill=colour("surface"), edge=INK, z=0.6)
    rate = f"{figures.flops / 1e12:,.0f}\nTFLOP/s"
    fill = colour("arithmetic-1")
    box(ax, x + 88, y + 28, 78, 92, fill, rate, weight="bold")
    write(ax, x + 127, y + 14, "arithmetic", 12)
    for n in range(5):
        box(ax, x + 10, y + 28 + n * 19, 36, 16, colour("memory-2"))
    size = f"{figures.hbm_bytes / 1e9:,.0f} GB"
    write(ax, x + 28, y + 134, size, 12, weight="bold")
    write(ax, x + 28, y + 14, "HBM", 12)
    arrow(ax, (x + 49, y + 74), (x + 85, y + 74), both=True, width=3, head=7)
    speed = f"{figures.hbm_bw / 1e12:,.3g}\nTB/s"
    write(ax, x + 67, y + 98, speed, 11)
    links = 2 * figures.axes or 1
    names = "XXYYZZ"[:links] if figures.axes else ""
    for n in range(links):
        top = y + (n + 0.5) * high / links
        ink = colour(f"axis-{names[n].lower()}") if names else MOVE
        wire(ax, (x + wide, top), (x + wide + 18, top), ink, 3)
    first = f"{links} links" if names else "switch"
    words = f"{first},\n{figures.link_bw / 1e9:,.0f} GB/s\neach way"
    write(ax, x + wide + 23, y + high / 2, words, 12, "left")
    wire(ax, (x, y + high / 2), (x - 16, y + high / 2), MOVE, 1.4, dashed=True)
    others = "pods" if names else "nodes"
    out = f"{figures.dcn_bw / 1e9:,.3g} GB/s\nto other\n{others}"
    write(ax, x - 21, y + high / 2, out, 12, "right")
    write(ax, x + wide / 2, y + high + 24, figures.name, 12, weight="bold")
    return ax


@styled
def networks():
    """Draw how chips are wired: a line, a ring, a torus, and a switch.

    returns  the axes drawn on
    source   chapters 1 and 3
    """
    ax = canvas(690, 290)
    for x, words in (
        (82, "line"),
        (82, "ring"),
        (312, "torus"),
        (552, "switch"),
    ):
        y = 118 if words == "ring" else 10
        write(ax, x, y, words, 13, weight="bold")
    line(ax, 22, 56, 4, 40, 28)
    ring(ax, 82, 204, 4, 56, 28)
    torus(ax, 240, 62, 4, 4, 48, 28, words=False, fill=_of_rows)
    node(ax, 432, 40, 8, 30, 24, "")
    write(ax, 82, 282, "one axis", 12, ink=SOFT)
    write(
        ax, 312, 256, "two axes, X and Y;\neach closes into rings", 12, ink=SOFT
    )
    words = "any GPU to any other,\nby one way in and out"
    write(ax, 552, 212, words, 12, ink=SOFT)
    return ax


def _of_rows(row, column):
    return shade("X", row, 4)


@styled
def slice_and_axes():
    """Draw 64 chips, a cube in four layers, and read again as 16 x 4.

    returns  the axes drawn on. A chip has the shade of its place along Y, the
             third direction of the wires, and the number of its place along
             X, which takes the two others together; one X is picked out
    source   chapter 1
    """
    ax, side, pitch, apart = canvas(690, 560), 26, 36, 160
    ink, over = colour("axis-x"), colour("axis-y")
    write(ax, 3, 12, "wires: 4 × 4 × 4, in four layers", 13, "left")
    for layer, left in enumerate(range(74, 74 + 4 * apart, apart)):
        at = [(left + n % 4 * pitch, 66 + n // 4 * pitch) for n in range(16)]
        for n, middle in enumerate(at):
            for ahead in ([n + 1] if n % 4 < 3 else []) + [n + 4]:
                if ahead < 16:
                    wire(ax, middle, at[ahead], ink, 2.4, z=0.5)
            _of_slice(ax, middle, (side, side), n, layer)
        if layer < 3:
            start = (at[1][0], at[1][1] - side / 2)
            end = start[0] + apart, start[1]
            wire(ax, start, end, over, 2.4, bend=-22, z=0.8)
    write(ax, 3, 212, "mesh: X = 16, Y = 4", 13, "left")
    for layer in range(4):
        x = 74 + 1.5 * pitch + layer * apart
        write(ax, x, 234, f"Y={layer}", 12)
        for n in range(16):
            _of_slice(ax, (x, 254 + n * 19.5), (4 * side, 17), n, layer)
    for n in range(16):
        write(ax, 48, 254 + n * 19.5, f"X={n}", 12, "right")
    return ax


def _of_slice(ax, middle, size, number, layer):
    """A chip of `slice_and_axes`; number 1 of each layer has a thick edge."""
    (x, y), (wide, high) = middle, size
    edge, thick = (colour("axis-y"), 2.6) if number == 1 else (INK, 0.7)
    look = {"edge": edge, "line": thick, "size": 13, "z": 1 + (number == 1)}
    corner = x - wide / 2, y - high / 2
    box(ax, *corner, wide, high, shade("Y", layer, 4), number, **look)


@styled
def pod_phases(chips=4):
    """Draw an AllReduce over two pods: four moments, three phases of wires.

    chips    of a pod, 2 to 4
    returns  the axes drawn on, a panel for each moment. A chip is a box of as
             many pieces as its pod has chips: pale its own terms, darker a sum
             over its pod, green a sum over both; thick are the wires that are
             used next
    raises   ValueError for other numbers
    source   chapter 10
    """
    if not 2 <= whole("chips", chips) <= 4:
        raise ValueError(f"chips must be 2 to 4, got {chips}")
    ax, wide, high = canvas(690, 376 + 410), 300, 410
    most, least = f"{chips - 1}/{chips} V", f"V/{chips}"
    moments = (
        ("a whole gradient", f"next, inside: {most} each"),
        (f"1/{chips} of its pod's sum", f"next, across: {least} each"),
        (f"1/{chips} of the whole sum", f"next, inside: {most} each"),
        ("the whole sum", "done"),
    )
    for n, (words, after) in enumerate(moments):
        x, y = 2 + n % 2 * 374, n // 2 * high
        write(ax, x, y + 14, f"{n + 1}  {words}", 12.5, "left", weight="bold")
        every = (lambda *_: True) if n in (0, 3) else (lambda p, m: p == m)
        at = []
        for pod, top in enumerate((30, 200)):
            fill = shade("pod", 2 * pod + (n == 1))
            fill = colour("counted") if n > 1 else fill
            look = (chips, every, fill, n in (0, 2))
            at.append(_pod(ax, (x, y + top), wide, f"pod {pod}", look))
        _across(ax, (x, y + 160), wide, at, lit=n == 1)
        ink = (colour("axis-x"), colour("network"))[n == 1] if n < 3 else SOFT
        write(ax, x + wide / 2, y + 346, after, 12.5, ink=ink, weight="bold")
        if n % 2 == 0:
            place = y + 175
            arrow(
                ax, (x + wide + 14, place), (x + 360, place), width=3, head=11
            )
    for here, there in (((526, 362), (526, 380)), ((526, 380), (152, 380))):
        wire(ax, here, there, INK, 3)
    arrow(ax, (152, 380), (152, 410), width=3, head=11)
    return ax


def _pod(ax, corner, wide, name, what):
    """A pod of chips, each a box of pieces; returns the chips' middles."""
    (x, y), (chips, held, fill, lit) = corner, what
    frame(ax, x, y, wide, 124, fill=PAPER)
    below = 112 if name == "pod 1" else 12  # off the way to the network
    write(ax, x + 8, y + below, name, 12, "left", ink=SOFT)
    pitch = (wide - 16) / chips
    at = [(x + 8 + (n + 0.5) * pitch, y + 66) for n in range(chips)]
    look = (colour("axis-x"), 5) if lit else (LINE, 1.2)
    for one, other in zip(at, at[1:], strict=False):
        wire(ax, one, other, *look)
    wire(ax, at[0], at[-1], *look, bend=26)
    tall = 56 / chips
    for n, (left, middle) in enumerate(at):
        top = middle - 28
        for piece in range(chips):
            here = fill if held(piece, n) else PAPER
            size = left - 15, top + piece * tall, 30, tall
            box(ax, *size, here, line=0.5, z=1.2)
        box(ax, left - 15, top, 30, 56, "none", line=1.4, z=1.4)
    return at


def _across(ax, corner, wide, middles, lit):
    """The network between two pods, and a way to it from every chip."""
    x, y = corner
    look = (colour("network"), 5) if lit else (LINE, 1.2)
    for (left, above), (_, below) in zip(*middles, strict=True):
        wire(ax, (left, above + 28), (left, y), *look, z=0.9)
        wire(ax, (left, y + 28), (left, below - 28), *look, z=0.9)
    fill = colour("network-1") if lit else WHOLE
    box(ax, x, y, wide, 28, fill, "data-centre network", size=12, z=1)


@styled
def hosts(chips=4, machines=2, inside=540, outside=6.25):
    """Draw the way out of a slice: chips, hosts, cards, the network.

    chips    of a host
    machines  hosts of a slice that are drawn, of two slices
    inside, outside  GB/s of a chip over its links, and over its card's share
    returns  the axes drawn on
    source   chapter 10
    """
    ax, wide = canvas(690, 356), 322
    ink, gold = colour("axis-x"), colour("network")
    for n in range(2):
        left, pitch = 4 + n * 360, wide / (chips * machines)
        frame(ax, left, 152, wide, 96, fill=PAPER)
        write(ax, left + 8, 236, f"slice {n}", 12, "left", SOFT)
        at = [(left + (m + 0.5) * pitch, 188) for m in range(chips * machines)]
        for one, other in zip(at, at[1:], strict=False):
            wire(ax, one, other, ink, 8)
        for m, (x, y) in enumerate(at):
            box(ax, x - 14, y - 14, 28, 28, shade("X", 0), m, size=12, z=2)
            middle = left + (m // chips + 0.5) * wide / machines
            wire(ax, (x, y - 14), (middle, 128), LINE, 1.2)
        for m in range(machines):
            middle = left + (m + 0.5) * wide / machines
            box(ax, middle - 46, 102, 92, 26, WHOLE, "host", size=12, z=2)
            box(ax, middle - 26, 72, 52, 22, colour("network-1"), "card", z=2)
            wire(ax, (middle, 94), (middle, 102), gold, 2)
            wire(ax, (middle, 36), (middle, 72), gold, 2)
    box(ax, 4, 8, 682, 28, colour("network-1"), "data-centre network", z=2)
    for n, (rate, fill, words) in enumerate(
        (
            (inside, ink, f"inside, over all links: {inside:g} GB/s a chip"),
            (outside, gold, f"outside, its share of a card: {outside:g} GB/s"),
        )
    ):
        y = 270 + n * 44
        write(ax, 4, y + 8, words, 12.5, "left", weight="bold")
        box(ax, 4, y + 18, 682 * rate / inside, 12, fill, line=0, z=1)
    return ax


@styled
def rails(nodes=2, gpus=8, chosen=2):
    """Draw nodes of GPUs, a card for each, and the switch of every rail.

    nodes    side by side, 2 or 3
    gpus     of a node, 2 to 8
    chosen   the rail that is drawn thick
    returns  the axes drawn on: GPUs at the NVLink switch of their node below,
             and at the switch of their own number above
    raises   ValueError for other numbers
    source   chapter 10
    """
    if nodes not in (2, 3) or not 0 <= chosen < whole("gpus", gpus) <= 8:
        raise ValueError(
            f"nodes must be 2 or 3, gpus up to 8 and chosen one of them, got "
            f"{nodes}, {gpus} and {chosen}"
        )
    ax, wide = canvas(690, 372), 690 / nodes - 12
    across = 670 / gpus
    tops = [(10 + (n + 0.5) * across, 44) for n in range(gpus)]
    words = "a switch for each rail, between the nodes: 50 GB/s a card"
    write(ax, 345, 14, words, 12, ink=SOFT)
    for n, (x, y) in enumerate(tops):
        fill = colour("network-2" if n == chosen else "network-1")
        box(ax, x - 34, y - 14, 68, 28, fill, f"rail {n}", z=2)
    for m in range(nodes):
        left = 6 + m * 690 / nodes
        frame(ax, left, 168, wide, 196, fill=PAPER)
        write(ax, left + 10, 352, f"node {m}", 12, "left", ink=SOFT)
        switch = left + 8, 306, wide - 16, 28
        box(ax, *switch, shade("X", 1), "NVLink switch, 450 GB/s", z=2)
        for n in range(gpus):
            x = left + 8 + (n + 0.5) * (wide - 16) / gpus
            _gpu_on_rail(ax, x, tops[n], n, n == chosen)
    return ax


def _gpu_on_rail(ax, x, top, number, chosen):
    """A GPU between its switch below and its card, which is on a rail."""
    ink, width = (MOVE, 4) if chosen else (LINE, 1)
    wire(ax, (x, 178), (top[0], top[1] + 14), ink, width)
    box(ax, x - 17, 178, 34, 20, colour("network-1"), "card", size=11, z=2)
    wire(ax, (x, 198), (x, 240), ink, width)
    wire(ax, (x, 240), (x, 306), colour("axis-x"), 9)
    chip(ax, x, 246, 32, number, WHOLE, z=2)


@styled
def node_gathers(gpus=4, port=50, into_switch=450):
    """Draw what reaches a node of GPUs, under FSDP alone and with TP inside.

    gpus     of the node, 2 to 8
    port, into_switch  GB/s of a GPU into the network, and into the switch of
             its node; the wires are as thick as these are large
    returns  the axes drawn on: on both sides each GPU fetches its part of a
             layer over its own port; then the switch copies parts, or does not
    raises   ValueError for other numbers
    source   chapter 9
    """
    if not 2 <= whole("gpus", gpus) <= 8:
        raise ValueError(f"gpus must be 2 to 8, got {gpus}")
    ax = canvas(690, 344)
    thick = [0.034 * speed for speed in (port, into_switch)]
    alone = "the switch copies every part to every GPU"
    inside = "the switch carries activations"
    sides = (
        ("FSDP alone", False, alone),
        ("FSDP over the nodes, TP inside", True, inside),
    )
    for n, (title, tp, words) in enumerate(sides):
        left, wide = 6 + n * 352, 326
        write(ax, left + wide / 2, 12, title, 14, weight="bold")
        cloud(ax, left, 30, wide, 26, "network between nodes")
        frame(ax, left, 96, wide, 196, fill=colour("surface"))
        for gpu in range(gpus):
            x = left + (gpu + 0.5) * wide / gpus
            _fetched(ax, x, gpu, gpus, tp, thick)
        box(ax, left + 14, 234, wide - 28, 28, colour("network-1"), words)
        write(ax, left + wide / 2, 277, "a node", 12, ink=SOFT)
        x = left + 0.5 * wide / gpus + 12
        write(ax, x, 213, f"{into_switch} GB/s", 11, "left", ink=MOVE)
        write(ax, x - 6, 112, f"{port} GB/s", 11, "left", ink=colour("axis-x"))
        words = "into the node: all weights of the layer, once"
        write(ax, left + wide / 2, 314, words, 13)
    return ax


def _fetched(ax, x, gpu, gpus, tp, thick):
    """One GPU, the part that it fetches, and what it has of a layer then."""
    wide = 0.62 * 326 / gpus
    ink = colour("axis-x")
    arrow(ax, (x, 56), (x, 128), ink, thick[0], head=7)
    write(ax, x + 6, 80, f"1/{gpus}", 12, "left", ink=ink)
    down, across = (None, ("Y", gpus)) if tp else (("X", gpus), None)
    here = (lambda _, j: j == gpu) if tp else (lambda *_: True)
    matrix(ax, x - wide / 2, 132, wide, 58, down, across, held=here)
    wire(ax, (x, 192), (x, 234), MOVE, thick[1])


@styled
def ring_or_line(chips=8, axis=16, words=("", "", "")):
    """Draw a group of TP three times: an axis, a part of one, and a block.

    chips    of the group, 4, 6 or 8
    axis     chips of the longer axis, a multiple of `chips`, up to 16
    words    what is said below the ring, below the line and below the block
    returns  the axes drawn on: arrows into chip 0 are as thick as what comes
             through its wires is much: half of all other parts through each of
             two wires of a ring, all of them through the only wire of a line
    raises   ValueError for other numbers
    source   chapter 9
    """
    if not 4 <= whole("chips", chips) <= 8 or chips % 2:
        raise ValueError(f"chips must be 4, 6 or 8, got {chips}")
    if whole("axis", axis) % chips or not chips < axis <= 16:
        raise ValueError(f"axis must be a multiple of {chips}, got {axis}")
    ax, half = canvas(690, 330), chips // 2
    titles = f"an axis of {chips}", f"a part of an axis of {axis}"
    titles += (f"2 × {half} of two axes",)
    for x, title, said in zip((96, 348, 602), titles, words, strict=True):
        write(ax, x, 14, title, 14, weight="bold")
        write(ax, x, 306, said, 12, ink=SOFT)
    at = ring(ax, 96, 160, chips, 74, 30, "Y")
    _arrives(ax, at[1], at[0], (chips - 1) / 2, 17, (18, -14))
    _arrives(ax, at[-1], at[0], (chips - 1) / 2, 17, (-18, -14))
    turns = [2 * np.pi * (n + 0.5) / axis - np.pi / 2 for n in range(axis)]
    at = [(348 + 116 * np.cos(t), 160 + 116 * np.sin(t)) for t in turns]
    _members(ax, at, chips, 22)
    for n in range(axis):
        within = (n + 1) % chips != 0
        ink, wide = (colour("axis-y"), 2.2) if within else (LINE, 1.2)
        wire(ax, at[n], at[(n + 1) % axis], ink, wide, dashed=not within)
    _arrives(ax, at[1], at[0], chips - 1, 12, (8, -17))
    rows = [160 + (n - (half - 1) / 2) * 56 for n in range(half)]
    at = [(567, y) for y in rows] + [(637, y) for y in rows[::-1]]
    for x, y in at:
        away = 1 if x > 602 else -1
        wire(ax, (x, y), (x + 44 * away, y), LINE, 1.2, dashed=True)
    for x in (567, 637):
        for y, away in ((rows[0], -34), (rows[-1], 34)):
            wire(ax, (x, y), (x, y + away), LINE, 1.2, dashed=True)
    for n, middle in enumerate(at):
        wire(ax, middle, at[(n + 1) % chips], colour("axis-y"), 2.2)
    _members(ax, at, chips, 30)
    _arrives(ax, at[1], at[0], (chips - 1) / 2, 17, (-18, 0))
    _arrives(ax, at[-1], at[0], (chips - 1) / 2, 17, (0, -13))
    return ax


def _members(ax, at, chips, size):
    """Chips of groups of so many, each with its number in its group."""
    for n, middle in enumerate(at):
        fill = shade("Y", n % chips, chips)
        chip(ax, *middle, size, n % chips, fill, letters=11, z=2)


def _arrives(ax, start, end, parts, gap, beside):
    """So many parts that come over one wire, in number and in thickness."""
    (x, y), (u, v) = start, end
    share = gap / np.hypot(u - x, v - y)
    tail = x + share * (u - x), y + share * (v - y)
    tip = u + share * (x - u), v + share * (y - v)
    arrow(ax, tail, tip, colour("axis-y"), parts, head=0.9 * parts + 4)
    middle = (x + u) / 2 + beside[0], (y + v) / 2 + beside[1]
    write(ax, *middle, f"{parts:g}", 13, ink=colour("axis-y"), weight="bold")
