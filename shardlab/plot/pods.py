"""Pods: what leaves them, rings through them, and verdicts on a grid."""

from fractions import Fraction
from itertools import cycle

import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import (
    INK,
    LINE,
    SMALL,
    canvas,
    new_axes,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import box, chip, frame, wire, write

__all__ = ["ports", "ring_orders", "sum_groups", "verdicts"]

# Fills of verdicts, in the order in which they come: none is an axis's hue.
VERDICTS = (
    "pod-1",
    "network-1",
    "arithmetic-1",
    "memory-2",
    "arithmetic-3",
    "network-3",
    "pod-3",
    "memory-4",
)


@styled
def ports(ways, V, inside):
    """Draw what each chip sends out of its pod, for several ways to do it.

    ways     dict: title -> {chip: bytes}, of the same chips
    V        bytes of the array, the unit of the drawing
    inside   chips of one pod; of two pods
    returns  the axes drawn on: for each way both pods and the network between
             them; a chip's wire to it is as wide as what it sends
    raises   ValueError for no way
    """
    refuse_empty("ways", ways, "bytes by chip")
    wide = 690 / len(ways)
    ax, pitch = canvas(690, 252), (wide - 24) / inside
    for k, (title, sent) in enumerate(ways.items()):
        left = k * wide + 2
        write(ax, left, 12, title, 12.5, "left", weight="bold")
        band = {"fill": colour("network-1"), "edge": colour("network"), "z": 2}
        frame(ax, left, 112, wide - 24, 32, **band)
        words = "network between pods"
        write(ax, left + (wide - 24) / 2, 128, words, 12, zorder=4)
        for n, load in sent.items():
            pod, part = n // inside, Fraction(load) / Fraction(V)
            x, down = left + (n % inside + 0.5) * pitch, 1 - 2 * pod
            y = 128 - 76 * down
            ends = (x, y + 13 * down), (x, 128 - 8 * down)
            look = (colour("network"), 18 * float(part)) if part else (LINE, 1)
            wire(ax, *ends, *look, dashed=not part)
            box(ax, x - 13, y - 13, 26, 26, shade("pod", pod, 2), n, z=2)
            write(ax, x, y - 24 * down, part or 0, 12)
        total = Fraction(sum(sent.values())) / Fraction(V)
        words = f"together {float(total):g} V"
        write(ax, left + (wide - 24) / 2, 244, words, 12)
    return ax


@styled
def verdicts(
    cells, rows, columns, title, row_name, column_name, ax=None, fills=None
):
    """Draw a grid of words, a fill for each word that comes in it.

    cells    rows of texts, the first row at the bottom
    rows, columns  labels of the grid's rows, from below, and of its columns
    title    above the picture
    row_name, column_name  what rows and columns are, with units
    ax       the axes to draw on; None for a new figure
    fills    dict: word -> name of its colour, such as "axis-x-1"; None: one
             after the other
    returns  the axes drawn on; a word that ends in "?" is striped
    """
    ax = new_axes(ax, (6.4, 0.42 * len(rows) + 0.9))
    words = dict.fromkeys(word for row in cells for word in row)
    fills = fills or dict(zip(words, cycle(VERDICTS), strict=False))
    for (row, column), word in np.ndenumerate(np.array(cells, object)):
        box = {"fc": colour(fills[word]), "ec": LINE, "lw": 0.6}
        if word.endswith("?"):
            box["hatch"] = "////"
        ax.add_patch(Rectangle((column, row), 1, 1, **box))
        if word.endswith("?"):
            # A ground that a phone squeezes together with its square.
            at, ground = (column + 0.05, row + 0.24), {"fc": box["fc"]}
            ax.add_patch(Rectangle(at, 0.9, 0.52, ec="none", **ground))
        middle = column + 0.5, row + 0.5
        how = {"ha": "center", "va": "center", "fontsize": SMALL, "color": INK}
        ax.text(*middle, word, **how)
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.tick_params(length=0)
    ax.set(xlim=(0, len(columns)), ylim=(0, len(rows)))
    ax.set(xlabel=column_name, ylabel=row_name, title=title or "")
    return ax


@styled
def ring_orders(orders, pod_of, counts):
    """Draw rings of chips as circles, and their hops out of a pod thick.

    orders   dict: title -> chips in the order of their ring
    pod_of   for each chip the number of its pod, which is written on it
    counts   dict: title -> words below its ring
    returns  the axes drawn on: chips of a pod have one fill, and a hop
             between two pods is drawn in the colour of the network
    source   chapter 10
    """
    refuse_empty("orders", orders, "chips")
    pitch, radius = 690 / len(orders), 96
    ax = canvas(690, 310)
    for n, (title, chips) in enumerate(orders.items()):
        x, y = (n + 0.5) * pitch, 152
        write(ax, x, 12, title, 13, weight="bold")
        turns = 2 * np.pi * np.arange(len(chips)) / len(chips) - np.pi / 2
        at = np.array([x, y]) + radius * np.stack(
            [np.cos(turns), np.sin(turns)], 1
        )
        _ring_of_pods(ax, at, [pod_of[c] for c in chips])
        write(ax, x, 290, counts[title], 12)
    return ax


def _ring_of_pods(ax, at, pods):
    """Chips at their places, and wires to the next one of the ring."""
    for n, pod in enumerate(pods):
        here, there = at[n], at[(n + 1) % len(at)]
        crosses = pod != pods[(n + 1) % len(at)]
        look = (colour("network"), 5) if crosses else (LINE, 2)
        wire(ax, here, there, *look)
        chip(ax, *here, 28, pod, shade("pod", pod, max(pods) + 1))


@styled
def sum_groups(ways, pods=2, inside=4):
    """Draw who adds up with whom: devices of pods, framed in their groups.

    ways     dict: title -> list of groups, each a list of devices; pods are
             rows. A group inside a pod is blue, one that crosses gold
    pods, inside  pods, and devices of each
    returns  the axes drawn on
    source   chapter 10
    """
    refuse_empty("ways", ways, "groups")
    pitch, step = 690 / len(ways), min(52, 640 / len(ways) / inside)
    ax = canvas(690, pods * 56 + 40)
    for n, (title, groups) in enumerate(ways.items()):
        left = (n + 0.5) * pitch - inside * step / 2
        write(ax, (n + 0.5) * pitch, 14, title, 12.5, weight="bold")
        at = {
            pod * inside + m: (left + (m + 0.5) * step, 62 + pod * 56)
            for pod in range(pods)
            for m in range(inside)
        }
        for device, (x, y) in at.items():
            fill = shade("pod", device // inside, pods + 1)
            chip(ax, x, y, 28, device, fill)
        for group in groups:
            across, down = zip(*(at[device] for device in group), strict=True)
            crosses = len({device // inside for device in group}) > 1
            corner = min(across) - 21, min(down) - 22
            far = max(across) + 21, max(down) + 22
            ink = colour("network" if crosses else "axis-x")
            size = far[0] - corner[0], far[1] - corner[1]
            box(ax, *corner, *size, "none", line=2.6, edge=ink, z=3)
    return ax
