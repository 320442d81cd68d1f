"""Products of matrices to scale, and what a device has of each matrix."""

import re
from dataclasses import replace

from matplotlib.patches import Rectangle

from shardlab import notation
from shardlab.plot.axes import FILLS, WHOLE, bare, new_axes

SIDE = 1.5  # inches of the longest dimension
SIGN = 0.3  # inches of a sign between two matrices
EDGE = 0.32  # inches left of a matrix, for the letter of its rows


def matmuls(lines, sizes, mesh=None, title=None, ax=None):
    """Draw lines of a computation, each matrix as a rectangle to scale.

    lines    dict: words above a line -> the line, such as
             "In[B_X, D] · W_in[D, F] = Tmp[B_X, F]"; In[B, D]ᵀ is drawn as
             it is multiplied, D rows and B columns
    sizes    dict: name of a dimension -> its length, in elements
    mesh     sizes of the mesh axes by name, where a line names any; the
             filled part is what the device at the origin holds
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. The letters at the edges name the dimensions
             and the axes that cut them
    raises   ValueError as `notation.local_shape`, or for what is no matrix
    """
    unit = SIDE / max(sizes.values())
    rows = [_measured(line, sizes, mesh or {}, unit) for line in lines.values()]
    wide = max(sum(wide for *_, wide in row) for row in rows)
    tall = [max(shape[0] for *_, shape, _, _ in row) + 0.7 for row in rows]
    ax = new_axes(ax, (wide, sum(tall)))
    top = 0
    for words, row, height in zip(lines, rows, tall, strict=True):
        ax.text(0, top + 0.12, words, ha="left", va="center")
        left, middle = 0, top + height / 2 + 0.18
        for part, shape, local, width in row:
            _draw(ax, part, left, middle, shape, local)
            left += width
        top += height
    ax.set_xlim(0, wide)
    ax.set_ylim(0, top)
    return bare(ax, title)


def _measured(line, sizes, mesh, unit):
    """Each part of a line with its shape, local shape and width, in inches."""
    row = []
    for part in re.findall(r"\w+\[[^\]]*\]ᵀ?|\S", line):
        if "[" not in part:
            row.append((part, (0, 0), None, SIGN))
            continue
        layout = _layout(part)
        shape = tuple(sizes[dim] for dim in layout.dims)
        local = notation.local_shape(layout, shape, mesh)
        shape, local = ([unit * n for n in x] for x in (shape, local))
        row.append((part, shape, local, EDGE + shape[1] + 0.08))
    return row


def _layout(part):
    """The layout of a matrix as it is drawn."""
    layout = notation.parse(part.removesuffix("ᵀ"))
    if len(layout.dims) != 2:
        raise ValueError(f"lines must hold matrices, got {part!r}")
    if not part.endswith("ᵀ"):
        return layout
    return replace(layout, dims=layout.dims[::-1], axes=layout.axes[::-1])


def _draw(ax, part, left, middle, shape, local):
    """One part of a line: a sign, or a matrix and what is held of it."""
    if local is None:
        ax.text(left + SIGN / 2, middle, part, ha="center", va="center")
        return
    layout = _layout(part)
    x, y = left + EDGE, middle - shape[0] / 2
    outline = {"ec": "black", "lw": 0.8}
    ax.add_patch(Rectangle((x, y), *shape[::-1], fc=WHOLE, **outline))
    ax.add_patch(Rectangle((x, y), *local[::-1], fc=FILLS[0], **outline))
    centre = x + shape[1] / 2, middle
    ink = {"color": "black", "ha": "center", "va": "center"}
    turned = r"^\mathsf{T}" if part.endswith("ᵀ") else ""
    ax.text(*centre, _as_mathematics(layout.name, turned), **ink)
    rows, columns = (_edge(layout, dim) for dim in (0, 1))
    ax.text(x - 0.05, middle, rows, ha="right", va="center", fontsize=8)
    ax.text(centre[0], y - 0.04, columns, ha="center", va="bottom", fontsize=8)


def _as_mathematics(name, above=""):
    """A name with what follows its underscore as a subscript."""
    head, _, tail = name.partition("_")
    below = rf"_\mathrm{{{tail}}}" if tail else ""
    return rf"$\mathrm{{{head}}}{below}{above}$"


def _edge(layout, dim):
    """The letter of a dimension, with the mesh axes that cut it."""
    axes, letter = "".join(layout.axes[dim]), layout.dims[dim]
    return f"${letter}_{{{axes}}}$" if axes else f"${letter}$"
