"""Collectives as matrices, and what a copy becomes on a gradient's way back."""

import numpy as np

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, SOFT, canvas, styled
from shardlab.plot.cases import MOVE
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, frame, wire, write

__all__ = ["copy_and_sum", "ones"]

_CELL, _GAP = 11, 60  # pixels of a number, and between two matrices
_SMALL = 8  # pixels of a number where a product stands beside its factors


@styled
def ones(matrices, devices, product=""):
    """Draw matrices of zeros and ones at one scale, or two and their product.

    matrices  dict: name -> matrix, whose longer side the devices share evenly
    devices   along X; a one takes the shade of the device in whose part of
              the longer side it stands
    product   name of the product of a tall and a wide matrix, drawn where
              they meet: right of the tall one, below the wide one; "" for
              none, and all side by side
    returns   the axes drawn on
    raises    ValueError for no matrices, for other numbers than 0 and 1, for
              a longer side that the devices do not divide, and for a product
              of other than two
    source    chapter 2
    """
    if not matrices:
        raise ValueError("matrices must be a dict of at least one, got none")
    if product and len(matrices) != 2:
        raise ValueError(f"{product} needs two matrices, got {len(matrices)}")
    devices = whole("devices", devices, least=1)
    matrices = {name: np.asarray(M) for name, M in matrices.items()}
    for name, M in matrices.items():
        if set(np.unique(M)) - {0, 1}:
            raise ValueError(f"{name} must hold zeros and ones only")
        if max(M.shape) % devices:
            raise ValueError(
                f"{name} has {max(M.shape)} numbers on its longer side, which "
                f"{devices} devices do not divide"
            )
    shapes = [M.shape for M in matrices.values()]
    left, top = 52, 44
    if product:
        (tall, few), (_, many) = shapes
        right, below = left + few * _SMALL + 24, top + few * _SMALL + 54
        ax = canvas(right + many * _SMALL + 6, below + tall * _SMALL + 4)
        (one, A), (other, B) = matrices.items()
        _grid(ax, left, below, _SMALL, one, A, devices, before=44)
        _grid(ax, right, top, _SMALL, other, B, devices)
        _grid(ax, right, below, _SMALL, product, A @ B, devices, chips=False)
        return ax
    width = sum(columns * _CELL + _GAP for _, columns in shapes) + 56 - _GAP
    ax = canvas(max(width, 300), max(shapes)[0] * _CELL + 60)
    for name, M in matrices.items():
        _grid(ax, left, top, _CELL, name, M, devices)
        left += M.shape[1] * _CELL + _GAP
    return ax


def _grid(ax, left, top, cell, name, M, devices, chips=True, before=0):
    """One matrix, its ones in the shades of the devices, which are named.

    before  pixels that the matrix's name begins to the left of it
    """
    rows, columns = M.shape
    words = f"{name}: {rows} × {columns}"
    write(ax, left - before, top - 18, words, 12, "left", weight="bold")
    part = max(M.shape) // devices
    for i, j in np.argwhere(M):
        fill = shade("X", (i if rows > columns else j) // part, devices)
        x, y = left + j * cell, top + i * cell
        box(ax, x, y, cell, cell, fill, line=0.5)
    right, bottom = left + columns * cell, top + rows * cell
    for k in range(devices if chips else 0):
        middle = (k + 0.5) * part * cell
        at = (left - 6, top + middle, f"chip {k}", 11, "right")
        if rows <= columns:
            at = (left + middle, bottom + 12, f"chip {k}", 11)
        write(ax, *at, ink=SOFT)
    for k in range(1, devices):
        y, x = top + k * part * cell, left + k * part * cell
        if rows >= columns:
            wire(ax, (left, y), (right, y), LINE, 0.8)
        if rows <= columns:
            wire(ax, (x, top), (x, bottom), LINE, 0.8)
    box(ax, left, top, right - left, bottom - top, "none")


@styled
def copy_and_sum(terms=(0, 6, 24, 54, 96, 150, 216, 294)):
    """Draw why a gradient comes out too large: two sums, one of them JAX's.

    terms    of the gradient, a whole number for each chip along X, 2 to 8;
             each chip has an example, and all have one weight
    returns  the axes drawn on
    raises   ValueError for other numbers of chips
    source   chapter 2
    """
    chips = len(terms)
    if not 2 <= chips <= 8:
        raise ValueError(f"terms must be of 2 to 8 chips, got {chips}")
    pitch, total = 39, sum(terms)
    ax = canvas(chips * pitch + 6, 412)
    at = [pitch / 2 + 3 + n * pitch for n in range(chips)]
    middle = (at[0] + at[-1]) / 2
    lines = (
        (20, "forward", "w", "a copy on\neach chip"),
        (194, "backward", f"{total:,}", "JAX adds the\nchips' 2 w x²"),
        (368, "psum", f"{chips * total:,}", f"adds {chips}\nequal sums"),
    )
    for y, name, held, words in lines:
        write(ax, 3, y, name, 12, "left", weight="bold")
        frame(ax, middle - 48, y - 15, 96, 30, fill=colour("surface"), z=2)
        write(ax, middle, y, held, 13, weight="bold", zorder=4)
        write(ax, middle + 58, y, words, 12, "left", ink=SOFT)
    for n, (x, term) in enumerate(zip(at, terms, strict=True)):
        fill = shade("X", n, chips)
        chip(ax, x, 90, 30, "w", fill)
        write(ax, x, 118, f"{term}", 12, ink=MOVE, weight="bold")
        chip(ax, x, 270, 34, f"{total}", fill, edge=INK)
        for start, end, ink in (
            ((middle, 36), (x, 73), INK),
            ((x, 127), (middle, 177), MOVE),
            ((middle, 210), (x, 251), INK),
            ((x, 289), (middle, 351), MOVE),
        ):
            arrow(ax, start, end, ink, 1.1, head=4)
    return ax
