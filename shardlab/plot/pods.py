"""Pods: what leaves each chip's pod, and verdicts on a grid of sizes."""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import FILLS, new_axes


def ports(ways, V, inside):
    """Draw what each chip sends out of its pod, for several ways to do it.

    ways     dict: title -> {chip: bytes}, of the same chips
    V        bytes of the array, the unit of the drawing
    inside   chips of one pod; pods are drawn in two fills and named
    returns  the figure's axes, one for each way, one below the other
    """
    most = max(max(sent.values()) for sent in ways.values()) / V
    figure, axes = plt.subplots(
        len(ways), 1, figsize=(5, 1.25 * len(ways) + 0.4), sharex=True
    )
    for ax, (title, sent) in zip(
        np.atleast_1d(axes), ways.items(), strict=True
    ):
        for chip, load in sent.items():
            part = Fraction(load) / Fraction(V)
            fill = FILLS[chip // inside % 2]
            ax.bar(chip, float(part), 0.8, fc=fill, ec="black", lw=0.8)
            words = str(part) if part else "0"
            ax.text(chip, float(part), words, ha="center", va="bottom")
        ax.set_ylim(0, 1.3 * float(most))
        ax.set_title(title, loc="left")
        ax.set_ylabel("part of V")
    chips = list(ways[next(iter(ways))])
    names = [f"{chip}\npod {chip // inside}" for chip in chips]
    np.atleast_1d(axes)[-1].set_xticks(chips, names)
    np.atleast_1d(axes)[-1].set_xlabel("chip")
    figure.tight_layout()
    return axes


def verdicts(cells, rows, columns, title, row_name, column_name, ax=None):
    """Draw a grid of words, a fill for each word that comes in it.

    cells    rows of texts, the first row at the bottom
    rows, columns  labels of the grid's rows, from below, and of its columns
    title    above the picture
    row_name, column_name  what rows and columns are, with units
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on
    """
    ax = new_axes(ax, (6.4, 0.42 * len(rows) + 0.9))
    words = list(dict.fromkeys(word for row in cells for word in row))
    for (row, column), word in np.ndenumerate(np.array(cells, object)):
        fill = FILLS[words.index(word) % len(FILLS)]
        box = {"fc": fill, "ec": "black", "lw": 0.6}
        ax.add_patch(Rectangle((column, row), 1, 1, **box))
        middle = column + 0.5, row + 0.5
        ax.text(*middle, word, ha="center", va="center", fontsize=8, color="k")
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.tick_params(length=0)
    ax.set(xlim=(0, len(columns)), ylim=(0, len(rows)))
    ax.set(xlabel=column_name, ylabel=row_name, title=title)
    return ax
