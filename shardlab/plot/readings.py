"""What a program says of its layouts, and what a compiler reads into it."""

from shardlab.plot.axes import SOFT, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY, labelled_arrow, sheets
from shardlab.plot.things import frame, matrix, write

__all__ = ["layouts_read"]

_TALL, _NARROW, _BROAD = 60, 28, 54  # pixels of B, D and F
_X = ("X", 8)


@styled
def layouts_read(summed, gathered):
    """Draw a layer under two layouts of its activations: what moves in each.

    summed   what an AllReduce of Tmp moves, in words
    gathered  what gathers of both weights move, in words
    returns  the axes drawn on. Eight chips along X; a block has the colour of
             the chip that holds it, what is white is whole on every chip, and
             sheets behind each other are terms of a sum
    source   chapter 21
    """
    ax = canvas(690, 340)
    rows = ("In cut along D", "In cut along B")
    for n, words in enumerate(rows):
        frame(ax, 1, n * 170 + 2, 688, 162)
        write(ax, 12, n * 170 + 17, words, 12, "left", weight="bold")
    both, band = (None, _X), (_X, None)
    y = 72
    mid = y + _TALL / 2
    _factors(ax, 16, mid, ("In", both), ("W_in", band, _BROAD, _NARROW))
    labelled_arrow(ax, 134, 196, mid, MULTIPLY, "multiply")
    sheets(ax, 206, y, _BROAD, _TALL, count=8, apart=4)
    write(ax, 206 + _BROAD / 2, mid, "Tmp", 12, zorder=4)
    write(ax, 206 + _BROAD / 2, y + 76, "8 terms of one sum", 11, ink=SOFT)
    labelled_arrow(ax, 304, 392, mid, MOVE, "AllReduce", summed)
    matrix(ax, 404, y, _BROAD, _TALL, name="Tmp", size=12)
    write(ax, 404 + _BROAD / 2, y + 76, "whole on each", 11, ink=SOFT)
    _second(ax, 474, mid, both)
    labelled_arrow(ax, 534, 596, mid, MULTIPLY, "multiply")
    matrix(ax, 620, y, _NARROW, _TALL, *both, label="Out")
    write(ax, 634, y + 76, "cut along D", 11, ink=SOFT)

    y += 170
    mid = y + _TALL / 2
    _factors(ax, 16, mid, ("In", band), ("W_in", band, _BROAD, _NARROW))
    labelled_arrow(ax, 134, 240, mid, MOVE, "AllGather", gathered)
    matrix(ax, 252, mid - _NARROW / 2, _BROAD, _NARROW, name="W_in", size=12)
    write(ax, 252 + _BROAD / 2, y + 76, "whole, then dropped", 11, ink=SOFT)
    labelled_arrow(ax, 318, 392, mid, MULTIPLY, "multiply")
    matrix(ax, 404, y, _BROAD, _TALL, *band, name="Tmp", size=12)
    write(ax, 404 + _BROAD / 2, y + 76, "cut along B", 11, ink=SOFT)
    _second(ax, 474, mid, None)
    labelled_arrow(ax, 534, 596, mid, MULTIPLY, "multiply")
    matrix(ax, 620, y, _NARROW, _TALL, *band, label="Out")
    write(ax, 634, y + 76, "cut along B", 11, ink=SOFT)
    return ax


def _factors(ax, x, mid, first, second):
    """In, a point, and the matrix that it meets, middles at one height."""
    (name, cut), (other, parts, wide, high) = first, second
    matrix(ax, x, mid - _TALL / 2, _NARROW, _TALL, *cut, label=name)
    write(ax, x + _NARROW + 11, mid, "·", 16)
    left = x + _NARROW + 22
    matrix(ax, left, mid - high / 2, wide, high, *parts, label=other)


def _second(ax, x, mid, cut):
    """A point and W_out, cut, or gathered."""
    write(ax, x, mid, "·", 16)
    how = {"label": "W_out"}
    top = mid - _BROAD / 2
    matrix(ax, x + 12, top, _NARROW, _BROAD, *(cut or ()), **how)
