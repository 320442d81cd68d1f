"""Meshes, and which block of a matrix each device holds."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import FILLS, WHOLE, bare, new_axes


def mesh(device_mesh, title=None, ax=None):
    """Draw a mesh of one or two axes: one box for each device, numbered.

    device_mesh  jax.sharding.Mesh; the first axis runs down, the second across
    title        above the picture; None for none
    ax           the axes to draw on; None for a new figure
    returns      the axes drawn on
    raises       ValueError for a mesh of more than two axes
    """
    grid = device_grid(device_mesh)
    ax = new_axes(ax, (0.9 * grid.shape[1] + 1, 0.7 * grid.shape[0] + 1))
    for (row, column), device in np.ndenumerate(grid):
        ax.add_patch(
            Rectangle((column, row), 0.9, 0.9, fc=WHOLE, ec="black", lw=0.8)
        )
        ax.text(column + 0.45, row + 0.45, device.id, ha="center", va="center")
    label_axes(ax, device_mesh, grid.shape)
    return bare(ax, title)


def device_grid(device_mesh):
    """The devices of a mesh as a table of rows (first axis) and columns."""
    devices = device_mesh.devices
    if devices.ndim > 2:
        raise ValueError(
            f"mesh must have at most two axes to be drawn, got {devices.ndim}"
        )
    return devices.reshape(devices.shape[0], -1)


def label_axes(ax, device_mesh, shape):
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


def shards(x, title=None, ax=None):
    """Draw, for each device of its mesh, which block of `x` it holds.

    x        a matrix sharded over a mesh of one or two axes. What is drawn
             comes from its `addressable_shards`, not from its sharding.
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. Every box is a device, its outline the whole
             matrix; the filled part is what the device holds, and its number
             counts the blocks from the top left, row by row.
    raises   ValueError when `x` is no matrix
    """
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, got {x.ndim} dimensions")
    grid = device_grid(x.sharding.mesh)
    held = {
        s.device.id: corners(s.index, x.shape) for s in x.addressable_shards
    }
    numbers = {block: n for n, block in enumerate(sorted(set(held.values())))}
    ax = new_axes(ax, (0.9 * grid.shape[1] + 1, 0.7 * grid.shape[0] + 1))
    for (row, column), device in np.ndenumerate(grid):
        draw_block(ax, column, row, held[device.id], x.shape, numbers)
    label_axes(ax, x.sharding.mesh, grid.shape)
    return bare(ax, title)


def corners(index, shape):
    """A block's first row, first column, and the row and column after it."""
    rows, columns = (
        part.indices(size) for part, size in zip(index, shape, strict=True)
    )
    return rows[0], columns[0], rows[1], columns[1]


def draw_block(ax, column, row, block, shape, numbers):
    """Draw one device: the outline of the matrix, the block filled in it."""
    side = 0.9
    top, left, bottom, right = (
        side * corner / shape[i % 2] for i, corner in enumerate(block)
    )
    ax.add_patch(Rectangle((column, row), side, side, fc=WHOLE, ec="none"))
    ax.add_patch(
        Rectangle(
            (column + left, row + top),
            right - left,
            bottom - top,
            fc=FILLS[numbers[block] % len(FILLS)],
            ec="none",
        )
    )
    ax.add_patch(
        Rectangle((column, row), side, side, fc="none", ec="black", lw=0.8)
    )
    ax.text(
        column + (left + right) / 2,
        row + (top + bottom) / 2,
        numbers[block],
        ha="center",
        va="center",
    )


def gallery(arrays, columns=3):
    """Draw several sharded matrices side by side with `shards`.

    arrays   dict: title -> matrix
    columns  pictures in a row
    returns  the figure's axes as an array of rows and columns
    """
    rows = -(-len(arrays) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.1 * columns, 2.2 * rows), squeeze=False
    )
    for place, (title, x) in zip(
        product(range(rows), range(columns)), arrays.items(), strict=False
    ):
        shards(x, title, axes[place])
    for ax in axes.flat[len(arrays) :]:
        ax.set_axis_off()
    figure.tight_layout()
    return axes
