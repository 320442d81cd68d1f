"""Products of matrices to scale, and what a device has of each matrix."""

import re
from dataclasses import replace

from matplotlib.patches import Rectangle

from shardlab import notation
from shardlab.plot.axes import INK, LINE, WHOLE, bare, new_axes, styled
from shardlab.plot.colours import colour, ramp
from shardlab.plot.stripes import stripes

__all__ = ["matmuls"]

SIDE = 1.5  # inches of the longest dimension
SIGN = 0.3  # inches of a sign between two matrices
SHEET = 0.07  # from one sheet of a stack to the next
EDGE = 0.32  # inches left of a matrix, for the letter of its rows
STRIPE = 0.16  # inches from a stripe to the next but one


@styled
def matmuls(lines, sizes, mesh=None, title=None, ax=None):
    """Draw lines of a computation, each matrix as a rectangle to scale.

    lines    dict: words above a line -> the line, such as
             "In[B_X, D] · W_in[D, F] = Tmp[B_X, F]"; In[B, D]ᵀ is drawn as
             it is multiplied, D rows and B columns, and a term of a sum,
             Out[B, D]{U_Y}, as the first of some sheets to be added
    sizes    dict: name of a dimension -> its length, in elements
    mesh     sizes of the mesh axes by name, where a line names any; the
             filled part is what the device at the origin holds
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. The letters at the edges name the dimensions
             and the axes that cut them; without a mesh the sides over which
             a product sums are thick, weights rose and gradients empty
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
        summed = set() if mesh else _summed(row)
        for n, (part, shape, local, width) in enumerate(row):
            plain = "pod-1" if mesh else _tint(part)
            marks = summed if n < 4 else set()
            _draw(ax, part, (left, middle), (shape, local), marks, plain)
            left += width
        top += height
    ax.set_xlim(0, wide)
    ax.set_ylim(0, top)
    return bare(ax, title)


def _measured(line, sizes, mesh, unit):
    """Each part of a line with its shape, local shape and width, in inches."""
    row = []
    for part in re.findall(r"\w+\[[^\]]*\](?:\{\w+\})?ᵀ?|\S", line):
        if "[" not in part:
            row.append((part, (0, 0), None, SIGN))
            continue
        layout = _layout(part)
        shape = tuple(sizes[dim] for dim in layout.dims)
        local = notation.local_shape(layout, shape, mesh)
        shape, local = ([unit * n for n in x] for x in (shape, local))
        behind = 3 * SHEET if layout.unreduced else 0
        row.append((part, shape, local, EDGE + shape[1] + behind + 0.08))
    return row


def _layout(part):
    """The layout of a matrix as it is drawn."""
    layout = notation.parse(part.removesuffix("ᵀ"))
    if len(layout.dims) != 2:
        raise ValueError(f"lines must hold matrices, got {part!r}")
    if not part.endswith("ᵀ"):
        return layout
    return replace(layout, dims=layout.dims[::-1], axes=layout.axes[::-1])


def _summed(row):
    """The dimension over which the first product of a line sums."""
    held = [_layout(part).dims for part, _, local, _ in row if local]
    if len(held) < 3:
        return set()
    return set(held[0]) & set(held[1]) - set(held[-1])


def _tint(part):
    """Rose for a weight, paler for what else is kept, none for a gradient."""
    if part.startswith("d"):
        return "surface"
    return "memory-2" if part.startswith("W_") else "memory-1"


def _thick(ax, corner, shape, layout, summed):
    """The sides of a matrix over which a product sums, in violet."""
    (x, y), (high, wide) = corner, shape
    sides = ((x, x), (y, y + high)), ((x, x + wide), (y, y))
    for dim, side in zip(layout.dims, sides, strict=True):
        if dim in summed:
            look = {"color": colour("arithmetic"), "lw": 3}
            ax.plot(*side, solid_capstyle="butt", zorder=3, **look)


def _draw(ax, part, place, shapes, summed, plain):
    """One part of a line: a sign, or a matrix and what is held of it."""
    (left, middle), (shape, local) = place, shapes
    if local is None:
        ax.text(left + SIGN / 2, middle, part, ha="center", va="center")
        return
    layout = _layout(part)
    x, y = left + EDGE, middle - shape[0] / 2
    outline = {"ec": LINE, "lw": 0.8}
    ax.add_patch(Rectangle((x, y), *shape[::-1], fc=WHOLE, **outline))
    _fill(ax, (x, y), local, layout, outline, plain)
    _thick(ax, (x, y), shape, layout, summed)
    centre = x + shape[1] / 2, middle
    free = [(a - b) or a for a, b in zip(shape, local, strict=True)]
    named = (
        x + shape[1] - (free[1] if free[0] == shape[0] else shape[1]) / 2,
        y + shape[0] - free[0] / 2,
    )
    turned = "ᵀ" if part.endswith("ᵀ") else ""
    look = {"color": INK, "ha": "center", "va": "center_baseline"}
    ax.text(*named, layout.name + turned, **look)
    rows, columns = (_edge(layout, dim) for dim in (0, 1))
    left, top = (x - 0.06, middle), (centre[0], y - 0.05)
    inks = [
        {"color": colour("arithmetic"), "weight": "bold"}
        if dim in summed
        else {"color": INK}
        for dim in layout.dims
    ]
    ax.text(*left, rows, ha="right", va="center_baseline", **inks[0])
    ax.text(*top, columns, ha="center", va="bottom", **inks[1])


def _fill(ax, corner, local, layout, outline, plain):
    """What the device at the origin holds, in the colours of what cuts it."""
    (x, y), (high, wide) = corner, local
    cuts = ["".join(axes) for axes in layout.axes if axes]
    deep = 2 if len(cuts) < 2 else 3  # small pieces in strong colours
    fills = [colour(f"{ramp(name)}-{deep}") for cut in cuts for name in cut[:1]]
    fills = fills or [colour(plain)]
    if layout.unreduced:
        fills = [colour(f"{ramp(layout.unreduced[0])}-2")]
        for off in (3 * SHEET, 2 * SHEET, SHEET):
            behind = Rectangle((x + off, y + off), wide, high, fc=WHOLE)
            ax.add_patch(behind).set(**outline)
    ax.add_patch(Rectangle((x, y), wide, high, fc=fills[0], **outline))
    if len(fills) > 1:
        stripes(ax, (x, y), (wide, high), fills[1], STRIPE)


def _edge(layout, dim):
    """The letter of a dimension, with the mesh axes that cut it."""
    axes, letter = "".join(layout.axes[dim]), layout.dims[dim]
    return f"{letter}_{axes}" if axes else letter
