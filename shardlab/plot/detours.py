"""Ways past a gather: slice and add, turn the cut, let the weights stay."""

from shardlab.plot.axes import INK, canvas, styled
from shardlab.plot.cases import (
    MOVE,
    MULTIPLY,
    SIDE,
    labelled_arrow,
    multiplied_pair,
    sheets,
    titled_rows,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.stripes import stripes
from shardlab.plot.things import STRIPE, box, frame, matrix, wire, write

__all__ = ["gather_or_slice", "turn_the_cut", "weights_stay"]

_X, _WHOLE = ("X", 4), (None, None)
_FLAT = 20  # pixels of a few tokens
_SHORT, _LONG = 44, 92  # pixels of the two sides of a weight matrix


@styled
def gather_or_slice():
    """Draw case 2 in both ways: gather A, or slice B and add up the terms.

    returns  the axes drawn on. A slice moves nothing, and makes it case 3
    source   chapter 4
    """
    ax, high = canvas(690, 296), 148
    rows = (
        ("Gather A", "every chip does all of the product"),
        ("Slice B, which moves nothing, and add", "every chip does a quarter"),
    )
    titled_rows(ax, rows, high)
    cut = (None, _X)
    above, below = 66, high + 66
    names = "A[I, J_X]", "B[J, K]"
    for top in (above, below):
        multiplied_pair(ax, 14, top, cut, _WHOLE, names)
    middle = above + SIDE / 2
    labelled_arrow(ax, 166, 290, middle, MOVE, "AllGather_X", "V_A")
    multiplied_pair(ax, 318, above, _WHOLE, _WHOLE, ("A[I, J]", "B[J, K]"))
    labelled_arrow(ax, 466, 604, middle, MULTIPLY, "multiply")
    matrix(ax, 620, above, SIDE, SIDE, label="C[I, K]")

    middle = below + SIDE / 2
    labelled_arrow(ax, 160, 226, middle, INK, "slice_X", "0")
    pair = "A[I, J_X]", "B[J_X, K]"
    multiplied_pair(ax, 234, below, cut, (_X, None), pair)
    labelled_arrow(ax, 380, 444, middle, MULTIPLY, "multiply")
    sheets(ax, 452, below, SIDE, SIDE)
    write(ax, 452 + SIDE / 2 + 8, below - 26, "C[I, K] {U_X}", 12)
    labelled_arrow(ax, 534, 612, middle, MOVE, "AllReduce_X", "2V_C")
    matrix(ax, 620, below, SIDE, SIDE, label="C[I, K]")
    return ax


@styled
def turn_the_cut(turned, gathered):
    """Draw case 2 in a third way: cut A by rows, and gather C in the end.

    turned    bytes that each device sends in the AllToAll of A
    gathered  bytes that each device sends in the AllGather of C
    returns   the axes drawn on
    source    chapter 4
    """
    ax, top = canvas(690, 148), 66
    middle, rows = top + SIDE / 2, (_X, None)
    name = "Cut A by rows instead, which makes it case 1"
    titled_rows(ax, [(name, "every chip does a part")], 148)
    multiplied_pair(ax, 14, top, (None, _X), _WHOLE, ("A[I, J_X]", "B[J, K]"))
    labelled_arrow(ax, 160, 226, middle, MOVE, "AllToAll_X", f"{turned:,} B")
    multiplied_pair(ax, 234, top, rows, _WHOLE, ("A[I_X, J]", "B[J, K]"))
    labelled_arrow(ax, 380, 444, middle, MULTIPLY, "multiply")
    matrix(ax, 452, top, SIDE, SIDE, *rows, label="C[I_X, K]")
    labelled_arrow(ax, 528, 606, middle, MOVE, "AllGather_X", f"{gathered:,} B")
    matrix(ax, 620, top, SIDE, SIDE, label="C[I, K]")
    return ax


def _fourth(ax, place, size, n, z=1.0):
    """A block of chip n of 2 x 2, in the colours of both axes.

    No step of X is one of Y, so that every stripe is seen.
    """
    box(ax, *place, *size, shade("X", 2 * (n // 2), 4), z=z)
    fill = shade("Y", 1 + 2 * (n % 2), 4)
    stripes(ax, place, size, fill, STRIPE / 2, z + 0.1)
    box(ax, *place, *size, "none", z=z + 0.2)


def _quartered(ax, place, size, label, down=False):
    """A matrix cut in four by X and Y, along its rows or its columns."""
    (x, y), (wide, high) = place, size
    block = (wide, high / 4) if down else (wide / 4, high)
    for n in range(4):
        step = (0, n * block[1]) if down else (n * block[0], 0)
        _fourth(ax, (x + step[0], y + step[1]), block, n)
    write(ax, x + wide / 2, y - 13, label, 12)


@styled
def weights_stay(kept, room, moved):
    """Draw a layer whose activations travel, since its weights have no room.

    kept     dict: words -> bytes of weights on a chip
    room     bytes that a chip has for them
    moved    bytes that each of the two collectives moves
    returns  the axes drawn on
    source   chapter 4
    """
    ax, flat, moved = canvas(690, 396), (SIDE, _FLAT), f"{moved / 1e6:.1f} MB"
    for y, high, name in ((2, 110, "first"), (120, 156, "second")):
        frame(ax, 1, y, 688, high)
        write(ax, 12, y + 15, f"{name} product", 12, "left", weight="bold")
    y = 74
    _quartered(ax, (18, y - 10), flat, "In[I, J_XY]")
    labelled_arrow(ax, 92, 214, y, MOVE, "AllGather_XY", moved)
    matrix(ax, 230, y - 10, *flat, label="In[I, J]")
    write(ax, 300, y, "·", 16)
    _quartered(ax, (312, y - 22), (_LONG, _SHORT), "W_in[J, K_XY]")
    labelled_arrow(ax, 420, 552, y, MULTIPLY, "multiply", "nothing moves")
    _quartered(ax, (572, y - 10), (_LONG, _FLAT), "Tmp[I, K_XY]")
    y = 220
    _quartered(ax, (18, y - 10), (_LONG, _FLAT), "Tmp[I, K_XY]")
    write(ax, 122, y, "·", 16)
    size = _SHORT, 0.8 * _LONG
    _quartered(ax, (142, y - size[1] / 2), size, "W_out[K_XY, J]", True)
    labelled_arrow(ax, 206, 320, y, MULTIPLY, "multiply", "each chip a term")
    for n in reversed(range(4)):
        place = 336 + 5 * n, y - 10 - 5 * n
        _fourth(ax, place, flat, n, 2 - n / 4)
    write(ax, 372, y - 42, "Out[I, J] {U_XY}", 12)
    labelled_arrow(ax, 420, 548, y, MOVE, "ReduceScatter_XY", moved)
    _quartered(ax, (604, y - 10), flat, "Out[I, J_XY]")
    _rooms(ax, 302, kept, room)
    return ax


def _rooms(ax, top, kept, room):
    """Bars of bytes, and a line where the room ends."""
    left, unit = 196, 400 / max(kept.values())
    for n, (words, count) in enumerate(kept.items()):
        y = top + 34 * n
        write(ax, left - 10, y + 11, words, 12, "right")
        fits = count <= room
        fill = shade("memory", 0 if fits else 2, 4)
        box(ax, left, y, count * unit, 22, fill)
        size = f"{count / 1e6:.0f} MB"
        past = room if fits else count
        write(ax, left + past * unit + 8, y + 11, size, 12, "left")
    end = left + room * unit
    bottom = top + 34 * len(kept) - 4
    wire(ax, (end, top - 8), (end, bottom), colour("mark"), 2, z=3)
    words = f"room for {room / 1e6:.0f} MB"
    write(ax, end, bottom + 12, words, 12, ink=colour("mark"))
