"""Matrices to scale: what is filled is what a device holds."""

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from shardlab import plot
from shardlab.plot.axes import FILLS, WHOLE

LENGTHS = {"B": 40, "D": 32, "F": 80}


@pytest.fixture(autouse=True)
def no_figures_are_left():
    yield
    plt.close("all")


def boxes(line, mesh=None):
    """Height and width of each outline, and of each filled part."""
    ax = plot.matmuls({"": line}, LENGTHS, mesh)
    found = {WHOLE: [], FILLS[0]: []}
    for patch in ax.patches:
        size = patch.get_height(), patch.get_width()
        found[to_hex(patch.get_facecolor())].append(size)
    return found[WHOLE], found[FILLS[0]]


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
