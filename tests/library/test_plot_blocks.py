"""Matrices to scale: what is filled is what a device holds."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from shardlab import plot
from shardlab.plot import colours
from shardlab.plot.axes import WHOLE
from shardlab.plot.stripes import stripes

LENGTHS = {"B": 40, "D": 32, "F": 80}


def boxes(line, mesh=None):
    """Height and width of each outline, and of each filled part."""
    ax = plot.matmuls({"": line}, LENGTHS, mesh)
    whole, held = [], []
    for patch in ax.patches:
        if isinstance(patch, Rectangle):
            empty = to_hex(patch.get_facecolor()) == WHOLE
            size = patch.get_height(), patch.get_width()
            (whole if empty else held).append(size)
    return whole, held


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        ("In[B, D]", ["pod-1"]),
        ("In[B_X, D]", ["axis-x-2"]),
        ("W[D, F_Y]", ["axis-y-2"]),
        ("W[D_X, F_Y]", ["axis-x-3", "axis-y-3"]),
    ],
)
def test_what_is_held_has_the_colours_of_what_cuts_it(text, fills):
    ax = plot.matmuls({"": text}, LENGTHS, {"X": 4, "Y": 2})
    found = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert found == [WHOLE, *(colours.colour(fill) for fill in fills)]


def test_outlines_are_to_scale():
    outlines, filled = boxes("In[B, D] · W_in[D, F] = Tmp[B, F]")
    unit = outlines[0][0] / 40
    expected = [(40, 32), (32, 80), (40, 80)]
    assert outlines == [
        pytest.approx((h * unit, w * unit)) for h, w in expected
    ]
    assert filled == outlines


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("In[B_X, D]", 4, 1),
        ("W[D, F_Y]", 1, 2),
        ("W[D_X, F_Y]", 4, 2),
        ("W[D_XY, F]", 8, 1),
        ("W[F_Y, D_X]ᵀ", 4, 2),  # drawn D by F
    ],
)
def test_the_filled_part_is_the_first_device_s(text, rows, columns):
    [whole], [held] = boxes(text, {"X": 4, "Y": 2})
    assert held == pytest.approx((whole[0] / rows, whole[1] / columns))


def test_a_transposed_matrix_lies_on_its_side():
    [upright, turned], _ = boxes("In[B, D] In[B, D]ᵀ")
    assert turned == pytest.approx(upright[::-1])


def test_nothing_overlaps():
    ax = plot.matmuls({"": "In[B, D] · W_in[D, F] = Tmp[B, F]"}, LENGTHS)
    spans = sorted((p.get_x(), p.get_x() + p.get_width()) for p in ax.patches)
    apart = [(a, b) for a, b in pairwise(spans) if a != b]
    assert all(left[1] < right[0] for left, right in apart)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("In[B, D, F]", "lines must hold matrices"),
        ("In[B_X, D_X]", "used twice"),
        ("In[B_Z, D]", "mesh has no axis"),
        ("W[D_W, F]", "cannot share equally"),
    ],
)
def test_what_cannot_be_drawn_is_refused(line, reason):
    with pytest.raises(ValueError, match=reason):
        plot.matmuls({"": line}, LENGTHS, {"X": 4, "W": 5})


@pytest.mark.parametrize("size", [(2, 0.9), (0.1, 3), (1, 1), (5, 0.01)])
def test_stripes_cover_half_of_a_box_and_nothing_else(size):
    _, ax = plot.panels()
    (wide, high), corner = size, (3.0, -2.0)
    patch = stripes(ax, corner, size, "red", 0.2)
    area = 0.0
    for corners in patch.get_path().to_polygons():
        x, y = (corners - corner).T
        assert min(x.min(), y.min()) >= -1e-9
        assert x.max() <= wide + 1e-9
        assert y.max() <= high + 1e-9
        area += abs(np.dot(x[:-1], y[1:]) - np.dot(y[:-1], x[1:])) / 2
    # A stripe more or less, at the end of the box.
    assert 0.3 < area / (wide * high) < 0.7
    plt.close(ax.figure)


def test_the_sides_over_which_a_product_sums_are_thick():
    ax = plot.matmuls({"": "In[B, D] · W_in[D, F] = Tmp[B, F]"}, LENGTHS)
    thick = [line for line in ax.lines if line.get_linewidth() == 3]
    (over, above), (left, side) = (line.get_data() for line in thick)
    assert above[0] == above[1]
    assert left[0] == left[1]
    longs = abs(over[1] - over[0]), abs(side[1] - side[0])
    assert longs[0] == pytest.approx(longs[1])
    fills = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert colours.colour("memory-2") in fills
