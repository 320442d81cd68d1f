"""Collectives as matrices, and what a copy becomes on a gradient's way back."""

import numpy as np

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, SOFT, canvas, styled
from shardlab.plot.cases import MOVE
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, frame, wire, write

_CELL, _GAP = 11, 60  # pixels of a number, and between two matrices


@styled
def ones(matrices, devices):
    """Draw matrices of zeros and ones side by side, at one scale.

    matrices  dict: name -> matrix, whose longer side the devices share evenly
    devices   along X; a one takes the shade of the device in whose part of
              the longer side it stands
    returns   the axes drawn on
    raises    ValueError for no matrices, for other numbers than 0 and 1, and
              for a longer side that the devices do not divide
    source    chapter 2
    """
    if not matrices:
        raise ValueError("matrices must be a dict of at least one, got none")
    devices = whole("devices", devices, least=1)
    shapes = [np.shape(M) for M in matrices.values()]
    width = sum(columns * _CELL + _GAP for _, columns in shapes)
    ax = canvas(max(width, 300), max(shapes)[0] * _CELL + 60)
    left, top = 10, 44
    for name, M in matrices.items():
        M = np.asarray(M)
        rows, columns = M.shape
        if set(np.unique(M)) - {0, 1}:
            raise ValueError(f"{name} must hold zeros and ones only")
        if max(M.shape) % devices:
            raise ValueError(
                f"{name} has {max(M.shape)} numbers on its longer side, which "
                f"{devices} devices do not divide"
            )
        words = f"{name}: {rows} × {columns}"
        write(ax, left, top - 18, words, 12, "left", weight="bold")
        part = max(M.shape) // devices
        for i, j in np.argwhere(M):
            fill = shade("X", (i if rows > columns else j) // part, devices)
            x, y = left + j * _CELL, top + i * _CELL
            box(ax, x, y, _CELL, _CELL, fill, line=0.5)
        right, bottom = left + columns * _CELL, top + rows * _CELL
        for k in range(1, devices):
            if rows > columns:
                y = top + k * part * _CELL
                wire(ax, (left, y), (right, y), LINE, 0.8)
            else:
                x = left + k * part * _CELL
                wire(ax, (x, top), (x, bottom), LINE, 0.8)
        box(ax, left, top, right - left, bottom - top, "none")
        left = right + _GAP
    return ax


@styled
def copy_and_sum(chips=8):
    """Draw why a gradient comes out too large: two sums, one of them JAX's.

    chips    along X, 2 to 8; each has an example, and all have one weight
    returns  the axes drawn on
    raises   ValueError for other numbers
    source   chapter 2
    """
    if whole("chips", chips, least=2) > 8:
        raise ValueError(f"chips must be at most 8, got {chips}")
    ax = canvas(690, 352)
    pitch = 58
    at = [232 + n * pitch for n in range(chips)]
    middle = (at[0] + at[-1]) / 2
    lines = (
        (26, "forward", "one w, copied to all chips"),
        (100, "on each chip", "its own example"),
        (176, "backward", "the copy's transpose, a sum;\nJAX adds it"),
        (252, "on each chip", "the whole gradient already"),
        (326, "psum by hand", f"{chips} equal numbers added"),
    )
    for y, name, words in lines:
        write(ax, 4, y - 9, name, 12, "left", weight="bold")
        low = y + 8 + 7 * words.count("\n")
        write(ax, 4, low, words, 11, "left", ink=SOFT)
    sums = ((26, "w"), (176, "Σ 2 w x²"), (326, f"{chips} Σ 2 w x²"))
    for y, words in sums:
        frame(ax, middle - 56, y - 15, 112, 30, fill=colour("surface"), z=2)
        write(ax, middle, y, words, 13, weight="bold", zorder=4)
    for n, x in enumerate(at):
        fill = shade("X", n, chips)
        chip(ax, x, 100, 36, f"x{n}", fill)
        chip(ax, x, 252, 36, "Σ", fill, edge=INK)
        for start, end, ink in (
            ((middle, 42), (x, 81), INK),
            ((x, 119), (middle, 160), MOVE),
            ((middle, 192), (x, 233), INK),
            ((x, 271), (middle, 310), MOVE),
        ):
            arrow(ax, start, end, ink, 1.1, head=4)
    return ax
