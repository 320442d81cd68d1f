"""Meshes, and which block of a matrix each device holds."""

from itertools import product

import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import INK, SMALL, WHOLE, bare, new_axes, panels, styled
from shardlab.plot.colours import distance, shade
from shardlab.plot.stripes import stripes

__all__ = ["corners", "gallery", "mesh", "shards"]

THIN = 0.24  # of a box: a block that is narrower has its number beside it
ALIKE = 19  # of `distance`: stripes of colours that are closer have edges
STRIPE = 0.16  # of a box: from a stripe to the next but one


@styled
def mesh(device_mesh, title=None, ax=None):
    """Draw a mesh of one or two axes: one box for each device, numbered.

    device_mesh  jax.sharding.Mesh; the first axis runs down, the second across
    title        above the picture; None for none
    ax           the axes to draw on; None for a new figure
    returns      the axes drawn on
    raises       ValueError for a mesh of more than two axes
    """
    grid = _device_grid(device_mesh)
    ax = new_axes(ax, (0.9 * grid.shape[1] + 1, 0.7 * grid.shape[0] + 1))
    for (row, column), device in np.ndenumerate(grid):
        ax.add_patch(
            Rectangle((column, row), 0.9, 0.9, fc=WHOLE, ec=INK, lw=0.8)
        )
        ax.text(column + 0.45, row + 0.45, device.id, ha="center", va="center")
    _label_axes(ax, device_mesh, grid.shape)
    return bare(ax, title)


def _device_grid(device_mesh):
    """The devices of a mesh as a table of rows (first axis) and columns."""
    devices = device_mesh.devices
    if devices.ndim > 2:
        raise ValueError(
            f"mesh must have at most two axes to be drawn, got {devices.ndim}"
        )
    return devices.reshape(devices.shape[0], -1)


def _label_axes(ax, device_mesh, shape):
    """Write the mesh coordinates beside the rows and above the columns."""
    first, *second = device_mesh.axis_names
    for row in range(shape[0]):
        ax.text(-0.1, row + 0.45, f"{first}={row}", ha="right", va="center")
    for column in range(shape[1] if second else 0):
        ax.text(
            column + 0.45,
            -0.1,
            f"{second[0]}={column}",
            ha="center",
            va="bottom",
        )
    ax.set_xlim(-0.8, shape[1])
    ax.set_ylim(-0.4, shape[0])


@styled
def shards(x, title=None, ax=None):
    """Draw, for each device of its mesh, which block of `x` it holds.

    x        a matrix sharded over a mesh of one or two axes. What is drawn
             comes from its `addressable_shards`, not from its sharding.
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. Every box is a device, its outline the whole
             matrix; the filled part is what the device holds, in the colours
             of its places along the axes that cut it. Its number counts the
             blocks from the top left, row by row.
    raises   ValueError when `x` is no matrix
    """
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, got {x.ndim} dimensions")
    grid = _device_grid(x.sharding.mesh)
    held = {
        s.device.id: corners(s.index, x.shape) for s in x.addressable_shards
    }
    numbers = {block: n for n, block in enumerate(sorted(set(held.values())))}
    ax = new_axes(ax, (1.0 * grid.shape[1] + 0.7, 0.9 * grid.shape[0] + 0.5))
    mesh, cuts = x.sharding.mesh, _cutting_axes(x.sharding.spec)
    for (row, column), device in np.ndenumerate(grid):
        place = dict(zip(mesh.axis_names, (row, column), strict=False))
        fills = [shade(a, place[a], mesh.shape[a]) for a in cuts if a in place]
        block = held[device.id]
        _draw_block(ax, (column, row), block, x.shape, numbers[block], fills)
    _label_axes(ax, x.sharding.mesh, grid.shape)
    return bare(ax, title)


def _cutting_axes(spec):
    """The mesh axes that cut a matrix, those of its rows first."""
    found = []
    for part in spec:
        found += [part] if isinstance(part, str) else [*(part or ())]
    return found


def corners(index, shape):
    """A block's first row, first column, and the row and column after it."""
    rows, columns = (
        part.indices(size) for part, size in zip(index, shape, strict=True)
    )
    return rows[0], columns[0], rows[1], columns[1]


def _draw_block(ax, corner, block, shape, number, fills):
    """Draw one device: the outline of the matrix, the block filled in it.

    ax       the axes to draw on
    corner   (column, row) of the device's box
    block    as from `corners`
    shape    of the matrix
    number   of the block, written on it, or beside it where it is thin
    fills    colours of the axes that cut the matrix, two at most are shown
    """
    (column, row), side = corner, 0.9
    top, left, bottom, right = (
        side * corner / shape[i % 2] for i, corner in enumerate(block)
    )
    ax.add_patch(Rectangle((column, row), side, side, fc=WHOLE, ec="none"))
    x, y, wide, high = column + left, row + top, right - left, bottom - top
    fill = fills[0] if fills else shade("pod", 0)
    ax.add_patch(Rectangle((x, y), wide, high, fc=fill, ec="none"))
    if len(fills) > 1:
        painted = stripes(ax, (x, y), (wide, high), fills[1], STRIPE)
        if distance(*fills[:2]) < ALIKE:
            painted.set(edgecolor=INK, linewidth=0.5)
    ax.add_patch(
        Rectangle((column, row), side, side, fc="none", ec=INK, lw=0.8)
    )
    across, down = x + wide / 2, y + high / 2
    if high < THIN:  # beside it, towards the middle of the box
        down += (THIN + high) / 2 * (1 if down < row + side / 2 else -1)
    if wide < THIN:
        across += (THIN + wide) / 2 * (1 if across < column + side / 2 else -1)
    look = {"ha": "center", "va": "center_baseline", "fontsize": SMALL}
    ax.text(across, down, number, **look)


@styled
def gallery(arrays, columns=3):
    """Draw several sharded matrices side by side with `shards`.

    arrays   dict: title -> matrix
    columns  pictures in a row
    returns  the figure's axes as an array of rows and columns
    raises   ValueError for no array
    """
    rows = -(-len(arrays) // columns)
    if not arrays:
        raise ValueError("arrays must name a matrix or more, got none")
    grid = _device_grid(next(iter(arrays.values())).sharding.mesh).shape
    wide, high = min(7.1 / columns, 0.75 * grid[1] + 0.8), 0.6 * grid[0] + 0.7
    figure, axes = panels(
        rows, columns, size=(wide * columns, high * rows), squeeze=False
    )
    for place, (title, x) in zip(
        product(range(rows), range(columns)), arrays.items(), strict=False
    ):
        shards(x, title, axes[place])
    for ax in axes.flat[len(arrays) :]:
        ax.set_axis_off()
    figure.tight_layout()
    return axes
