"""The floor that experts stand on: nodes of GPUs, and the ways to them."""

import numpy as np
from matplotlib.patches import Circle

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, SOFT, WHOLE, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import PAPER, arrow, box, frame, wire, write

__all__ = ["copies_sent", "expert_floor"]

MARK, GAP = colour("mark"), 64  # pixels between two rows of nodes
CELL = 12  # height of an expert


def _node(ax, left, top, wide, here, shape, other):
    """One node: GPUs across, the experts of each below each other.

    here, other  experts of the node, by number in it, that the token visits,
             and those that it visited in the picture before
    shape    GPUs, and experts of each
    """
    gpus, each = shape
    ink, pitch = colour("axis-z") if here else LINE, (wide - 10) / gpus
    frame(ax, left, top, wide, each * CELL + 36, edge=ink, fill=PAPER)
    for n in range(gpus * each):
        gpu, row = divmod(n, each)
        x, y = left + 6 + gpu * pitch, top + 26 + row * CELL
        if row == 0:
            place = x - 0.5, y - 2.5, pitch - 1, each * CELL + 4
            box(ax, *place, WHOLE, line=0.7, edge=SOFT, z=0.8)
        fill = shade("Z", 3) if n in here else WHOLE
        box(ax, x + 2, y, pitch - 6, CELL - 1, fill, line=0.4, edge=LINE, z=1)
        if other is not None and (n in here) != (n in other):
            place = x, y - 2, pitch - 2, CELL + 3
            edge = INK if n in here else MARK
            box(ax, *place, "none", line=2.4, edge=edge, z=2)


def _places(nodes, top, high):
    """Left and top of each node, in two rows."""
    across = -(-nodes // 2)
    wide = 678 / across
    corners = [
        (6 + n % across * wide, top + n // across * (high + GAP))
        for n in range(nodes)
    ]
    return corners, wide - 10


@styled
def expert_floor(rows, E=256, nodes=8, gpus=8):
    """Draw the experts of one layer on their GPUs, and those of one token.

    rows     dict: words -> the experts that a token visits; a floor of two
             rows of nodes for each. From the second on, experts that differ
             from the first's are framed: red if given up
    E, nodes, gpus  experts, nodes, and GPUs of a node; each has as many
    returns  the axes drawn on
    raises   ValueError for an expert that is not there, or GPUs that do not
             divide the experts
    source   chapter 14
    """
    if E % (nodes * gpus):
        raise ValueError(f"E must be dealt to {nodes * gpus} GPUs, got {E}")
    high = E // (nodes * gpus) * CELL + 36
    ax, first = canvas(690, (2 * high + GAP + 40) * len(rows)), None
    for n, (words, visited) in enumerate(rows.items()):
        visited = {whole("an expert", e, least=0) for e in np.ravel(visited)}
        if max(visited) >= E:
            raise ValueError(f"experts must be below {E}, got {max(visited)}")
        top = n * (2 * high + GAP + 40) + 28
        write(ax, 8, top - 14, words, 12.5, "left", weight="bold")
        _floor(ax, top, (visited, first), (E, nodes, gpus), high)
        first = first or visited
    return ax


def _floor(ax, top, pair, sizes, high):
    """Two rows of nodes, and a token between them with its ways."""
    E, nodes, gpus = sizes
    (corners, wide), each = _places(nodes, top, high), E // nodes
    home = corners[nodes // 4][0] + 0.45 * wide
    token = home, top + high + GAP / 2
    wire(ax, (home, top + high - 8), token, INK, 1.4, dashed=True)
    ax.add_patch(Circle(token, 8, fc=INK, ec="none", zorder=4))
    write(ax, home + 14, token[1] - 11, "the token", 12, "left", weight="bold")
    for node, (left, y) in enumerate(corners):
        here = range(node * each, (node + 1) * each)
        mine, other = (
            some and {e % each for e in some if e in here} for some in pair
        )
        _node(ax, left, y, wide, mine, (gpus, each // gpus), other)
        write(ax, left + 8, y + 12, f"node {node}", 12, "left", SOFT)
        if mine:
            below = y > top
            end = left + wide / 2, y - 1 if below else y + high + 1
            ink, side = colour("network"), np.sign(end[0] - home)
            bend = 0.0 if below else 0.12 * side
            start = home + 9 * side, token[1] + (3 if below else -3)
            arrow(ax, start, end, ink, 1.8, bend=bend)


@styled
def copies_sent(visited, gpus=8):
    """Draw how copies of a token reach their GPUs, and how results return.

    visited  dict: number of another node -> its GPUs that are visited
    gpus     of a node
    returns  the axes drawn on. The token is on GPU 2 of node 0
    source   chapter 14
    """
    ax, home = canvas(690, 3 * 256), 2
    visits = sum(map(len, visited.values()))
    ways = {
        f"a copy for each visit: {visits} copies through its card": "visits",
        f"a copy for each node: {len(visited)}, handed on inside": "nodes",
        "and back: each node adds up and sends one sum": "sums",
    }
    for n, (words, way) in enumerate(ways.items()):
        top = n * 256 + 28
        write(ax, 8, top - 14, words, 12.5, "left", weight="bold")
        _sent(ax, top, visited, gpus, home, way)
    return ax


def _sent(ax, top, visited, gpus, home, way):
    """One way: the token's node above, the others below."""
    wide, low = 330, top + 126
    at = _gpus(ax, 180, top, wide, "node 0", gpus, {home})
    ink, inside = colour("network"), colour("axis-z")
    for n, (node, there) in enumerate(visited.items()):
        sums = {home} if way == "sums" else set()
        place = 4 + n * 352, low, wide, f"node {node}", gpus
        below = _gpus(ax, *place, there, sums)
        lands = sorted(there) if way == "visits" else [home]
        for m, gpu in enumerate(lands):
            shift = 6 * (m + n * len(lands) - 1)
            ends = [
                (at[home][0] + shift, at[home][1] + 14),
                (below[gpu][0], below[gpu][1] - 15),
            ]
            if sums:
                ends = [(ends[1][0], ends[1][1] - 2), ends[0]]
            arrow(ax, *ends, ink, 2.4, head=7)
        for gpu in () if way == "visits" else sorted(there - {home}):
            x, u, y = below[home][0], below[gpu][0], below[home][1] + 14
            x, u = (u, x) if sums else (x, u)
            for ends in (((x, y), (x, y + 14)), ((x, y + 14), (u, y + 14))):
                wire(ax, *ends, inside, 2.4)
            arrow(ax, (u, y + 14), (u, y + 1), inside, 2.4)
    write(ax, 520, top + 24, "card: 50 GB/s", 12, "left", ink)
    if way != "visits":
        words = "switch inside: 450 GB/s"
        write(ax, 520, top + 46, words, 12, "left", inside)


def _gpus(ax, left, top, wide, words, gpus, dark, sums=()):
    """A node as a row of GPUs, some of which add up; their middles."""
    frame(ax, left, top, wide, 82, fill=PAPER)
    write(ax, left + wide - 8, top + 13, words, 12, "right", SOFT)
    pitch, at = (wide - 12) / gpus, []
    for gpu in range(gpus):
        x, y = left + 6 + (gpu + 0.5) * pitch, top + 45
        fill = shade("Z", 2) if gpu in dark else WHOLE
        said, weight = ("Σ", "bold") if gpu in sums else (gpu, None)
        look = {"size": 12, "weight": weight, "z": 1}
        box(ax, x - 15, y - 13, 30, 26, fill, said, **look)
        at.append((x, y))
    return at
