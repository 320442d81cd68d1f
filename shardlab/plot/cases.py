"""Products of sharded matrices: what is cut, what moves, what comes out."""

import numpy as np

from shardlab.plot.axes import INK, LINE, SOFT, WHOLE, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, frame, matrix, wire, write

__all__ = [
    "MOVE",
    "MULTIPLY",
    "SIDE",
    "block_product",
    "four_cases",
    "labelled_arrow",
    "multiplied_pair",
    "only_the_diagonal",
    "outer_products",
    "sheets",
    "sum_roads",
    "titled_rows",
]

SIDE = 58  # pixels of a matrix
_PARTS = 4  # chips along an axis
_X, _Y = ("X", _PARTS), ("Y", _PARTS)
MULTIPLY, MOVE = colour("arithmetic"), colour("network")
_INDICES = "₀₁"
_ONE = np.array([[1, 2, 3, 0, 1], [2, 0, 1, 3, 1]])  # factors of a small C
_OTHER = np.array([[1, 2], [3, 1], [0, 2], [2, 1], [1, 1]])


def sheets(ax, x, y, width, height, axis="X", count=_PARTS, apart=5):
    """Draw terms of one sum, a sheet for each chip, behind each other.

    ax       axes of a `canvas`
    x, y, width, height  pixels of the front sheet, which is chip 0's
    axis, count  the mesh axis, and chips along it
    apart    pixels between two sheets
    returns  nothing
    """
    for n in reversed(range(count)):
        place = x + n * apart, y - n * apart
        box(ax, *place, width, height, shade(axis, n, count), z=2 - n / count)


def labelled_arrow(ax, start, end, y, ink, above, below=""):
    """An arrow from x to x at y, with a name above and words below."""
    arrow(ax, (start, y), (end, y), ink)
    middle = (start + end) / 2
    write(ax, middle, y - 13, above, 12, ink=ink, weight="bold")
    if below:
        lines = below.count("\n")
        write(ax, middle, y + 14 + 7 * lines, below, 11, ink=SOFT)


def multiplied_pair(ax, x, y, first, second, names):
    """Two factors side by side: their cuts as (rows, columns), and names."""
    for n, (cuts, name) in enumerate(zip((first, second), names, strict=True)):
        left = x + n * (SIDE + 22)
        matrix(ax, left, y, SIDE, SIDE, *cuts, label=name)
    write(ax, x + SIDE + 11, y + SIDE / 2, "·", 16)


def titled_rows(ax, rows, high):
    """Frames over the whole width, each high pixels, titled (name, words)."""
    for n, (name, words) in enumerate(rows):
        frame(ax, 1, n * high + 2, 688, high - 10)
        write(ax, 12, n * high + 17, name, 12, "left", weight="bold")
        write(ax, 678, n * high + 17, words, 12, "right", ink=SOFT)


@styled
def four_cases():
    """Draw the four cases of a sharded product, each before, moving and after.

    returns  the axes drawn on. Four chips along X, and in case 1 four along Y.
             A block has the colour of the chip that holds it; what is white is
             whole on every chip, and sheets behind each other are terms of a
             sum. Arrows are violet for products and gold for what moves, with
             its volume and the strategy of training in which it is met
    source   chapter 4
    """
    ax, high = canvas(690, 624), 156
    none, whole = (None, None), (None, None)
    rows = (
        ("1", "no axis cuts J", "tensor parallelism, first matrix"),
        ("2", "one factor is cut along J", "FSDP, where it is B"),
        (
            "3",
            "both are cut along J, alike",
            "tensor parallelism, second matrix",
        ),
        ("4", "X cuts I and K", "FSDP, second matrix"),
    )
    for n, (number, words, where) in enumerate(rows):
        y = n * high
        frame(ax, 1, y + 2, 688, high - 10)
        write(ax, 12, y + 17, f"Case\u00a0{number}", 12, "left", weight="bold")
        write(ax, 64, y + 17, words, 12, "left", ink=SOFT)
        write(ax, 678, y + 17, f"met in: {where}", 12, "right", ink=SOFT)
    tops = [n * high + 66 for n in range(4)]
    mid = [top + SIDE / 2 for top in tops]
    left, moved, last = 18, 318, 604
    cut = (_X, None)
    multiplied_pair(
        ax, left, tops[0], cut, (None, _Y), ("A[I_X, J]", "B[J, K_Y]")
    )
    labelled_arrow(ax, 172, 588, mid[0], MULTIPLY, "multiply", "nothing moves")
    label = "C[I_X, K_Y]"
    matrix(ax, last, tops[0], SIDE, SIDE, _X, _Y, label=label)

    multiplied_pair(
        ax, left, tops[1], (None, _X), none, ("A[I, J_X]", "B[J, K]")
    )
    labelled_arrow(ax, 172, 304, mid[1], MOVE, "AllGather_X", "of A: V_A bytes")
    multiplied_pair(ax, moved, tops[1], whole, none, ("A[I, J]", "B[J, K]"))
    labelled_arrow(ax, 472, 588, mid[1], MULTIPLY, "multiply")
    matrix(ax, last, tops[1], SIDE, SIDE, label="C[I, K]")

    multiplied_pair(
        ax, left, tops[2], (None, _X), cut, ("A[I, J_X]", "B[J_X, K]")
    )
    labelled_arrow(
        ax, 172, 344, mid[2], MULTIPLY, "multiply", "each chip a term"
    )
    sheets(ax, 358, tops[2], SIDE, SIDE)
    write(ax, 358 + SIDE / 2 + 8, tops[2] - 26, "C[I, K] {U_X}", 12)
    labelled_arrow(ax, 446, 588, mid[2], MOVE, "AllReduce_X", "2V_C")
    words = "or ReduceScatter_X, V_C, to C[I_X, K]"
    write(ax, 678, 2 * high + 136, words, 11, "right", ink=SOFT)
    matrix(ax, last, tops[2], SIDE, SIDE, label="C[I, K]")

    multiplied_pair(
        ax, left, tops[3], cut, (None, _X), ("A[I_X, J]", "B[J, K_X]")
    )
    labelled_arrow(
        ax, 172, 304, mid[3], MOVE, "AllGather_X", "of B: V_B\nor of A: V_A"
    )
    multiplied_pair(ax, moved, tops[3], cut, none, ("A[I_X, J]", "B[J, K]"))
    labelled_arrow(ax, 472, 588, mid[3], MULTIPLY, "multiply")
    matrix(ax, last, tops[3], SIDE, SIDE, *cut, label="C[I_X, K]")
    return ax


@styled
def outer_products(chips=_PARTS):
    """Draw a product as a sum of outer products, one on each chip.

    chips    along X, 2 to 5; they cut the contracted dimension J
    returns  the axes drawn on, with small numbers. Each chip multiplies its
             column of A by its row of B; what it gets has the shape of C, and
             is a term of it
    raises   ValueError for other numbers of chips
    source   chapters 2 and 4
    """
    if chips not in range(2, 6):
        raise ValueError(f"chips must be 2 to 5, got {chips!r}")
    A, B = _ONE[:, :chips], _OTHER[:chips]
    side, pitch = 26, 130
    ax, middle = canvas(chips * pitch + 60, 326), (chips * pitch + 58) / 2
    shades = [shade("X", n, chips) for n in range(chips)]
    left, top = middle - side * (chips + 6) / 2, 24
    _numbers(ax, left, top + side, A, side, lambda _, n: shades[n])
    write(ax, left + side * chips / 2, top + side - 12, "A[I, J_X]", 12)
    write(ax, left + side * (chips + 0.5), top + side * 2, "·", 20)
    left += side * (chips + 1)
    _numbers(ax, left, top, B, side, lambda n, _: shades[n])
    write(ax, left + side, top - 12, "B[J_X, K]", 12)
    write(ax, left + side * 2.5, top + side * 2, "=", 18)
    _numbers(ax, left + side * 3, top + side, A @ B, side)
    write(ax, left + side * 4, top + side - 12, "C[I, K]", 12)
    top = 188
    for n in range(chips):
        x = 4 + n * pitch
        fill = lambda *_, n=n: shades[n]  # noqa: E731
        write(ax, x + side * 1.7, top - 16, f"chip {n}", 12, weight="bold")
        _numbers(ax, x, top + side + 6, A[:, n : n + 1], side, fill)
        _numbers(ax, x + side + 6, top, B[n : n + 1], side, fill)
        term = np.outer(A[:, n], B[n])
        _numbers(ax, x + side + 6, top + side + 6, term, side, fill)
        sign = "+" if n < chips - 1 else "="
        write(ax, x + side * 3 + 26, top + side * 2 + 6, sign, 18)
    last, low = 4 + chips * pitch, top + side * 3 + 16
    _numbers(ax, last, top + side + 6, A @ B, side)
    write(ax, last + side, low + 16, "C[I, K]", 12)
    end = last - pitch + side * 3 + 6
    for x in (4, end):
        wire(ax, (x, low - 4), (x, low), INK, 1.2)
    wire(ax, (4, low), (end, low), INK, 1.2)
    words = "C[I, K] {U_X}: a term on each chip, not yet added up"
    write(ax, (4 + end) / 2, low + 16, words, 12)
    return ax


def _numbers(ax, x, y, matrix, side, fill=lambda *_: WHOLE):
    """A small matrix with its numbers, and the colour of each."""
    for i, k in np.ndindex(*matrix.shape):
        corner = x + k * side, y + i * side
        box(ax, *corner, side, side, fill(i, k), int(matrix[i, k]))


@styled
def block_product():
    """Draw a block of a product, and the products of blocks that it sums.

    returns  the axes drawn on. Two by two blocks of each matrix: those that
             the first block of C needs are filled, in the colour of their
             place along the contracted dimension
    source   chapter 4
    """
    ax, half = canvas(690, 268), 48
    first = (("A", "row"), 130), (("B", "column"), 280), (("C", "block"), 440)
    for (name, part), left in first:
        for i, j in np.ndindex(2, 2):
            needed = {"row": i, "column": j, "block": i + j}[part] == 0
            place = j if part == "row" else i
            fill = shade("X", place, 2) if needed else WHOLE
            if name == "C":
                fill = WHOLE
            corner = left + j * half, 36 + i * half
            words = name + _INDICES[i] + _INDICES[j]
            box(ax, *corner, half, half, fill, words, size=13)
        label = {"A": "A[I, J]", "B": "B[J, K]", "C": "C[I, K]"}[name]
        write(ax, left + half, 20, label, 12)
    box(ax, 440, 36, half, half, "none", line=2.6, z=3)
    write(ax, 253, 84, "·", 20)
    write(ax, 408, 84, "=", 18)
    left, top, zero = 130, 176, _INDICES[0]
    box(ax, left, top, half, half, "none", f"C{zero}{zero}", size=13, line=2.6)
    write(ax, left + 68, top + half / 2, "=", 18)
    for n in range(2):
        fill, x = shade("X", n, 2), left + 96 + n * 164
        at = zero + _INDICES[n]
        box(ax, x, top, half, half, fill, f"A{at}", size=13)
        write(ax, x + half + 11, top + half / 2, "·", 20)
        box(ax, x + half + 22, top, half, half, fill, f"B{at[::-1]}", size=13)
        if not n:
            write(ax, x + 141, top + half / 2, "+", 18)
    words = "a row of blocks of A meets a column of blocks of B"
    write(ax, 130, 248, words, 12, "left", ink=SOFT)
    return ax


@styled
def only_the_diagonal(chips=_PARTS):
    """Draw which blocks of C can be formed where one axis cuts I and K.

    chips    along X, 2 to 8
    returns  the axes drawn on. Where one chip has the rows of A and the columns
             of B, its block of C is framed and filled; in all others two
             small boxes name the two chips that would have to meet
    raises   ValueError for other numbers of chips
    source   chapter 4
    """
    if chips not in range(2, 9):
        raise ValueError(f"chips must be 2 to 8, got {chips!r}")
    ax, side, top, cut = canvas(690, 232), 176, 40, ("X", chips)
    matrix(ax, 24, top, side, side, cut, label="A[I_X, J]")
    write(ax, 218, top + side / 2, "·", 20)
    matrix(ax, 238, top, side, side, None, cut, label="B[J, K_X]")
    write(ax, 433, top + side / 2, "=", 18)
    left, cell = 456, side / chips
    write(ax, left + side / 2, top - 15, "C[I, K]", 12)
    size, fills = 0.4 * cell, [shade("X", n, chips) for n in range(chips)]
    for n in range(chips):
        middle = (n + 0.5) * cell
        write(ax, 24 + side / 2, top + middle, f"rows {n}", 12)
        words = f"cols\n{n}" if chips < 6 else str(n)
        write(ax, 238 + middle, top + side / 2, words, 12)
    for i, k in np.ndindex(chips, chips):
        x, y = left + k * cell, top + i * cell
        if i != k:
            box(ax, x, y, cell, cell, colour("paper"), edge=LINE)
            for place, n in ((0.07, i), (0.53, k)):
                corner = x + place * cell, y + 0.3 * cell
                words = str(n) if cell > 40 else ""
                box(ax, *corner, size, size, fills[n], words, size=11)
    for n in range(chips):
        x, y = left + n * cell, top + n * cell
        box(ax, x, y, cell, cell, fills[n], str(n), line=2.4, z=3)
    return ax


@styled
def sum_roads(sent):
    """Draw the layouts that a partial sum can be brought to, as a map.

    sent     bytes that leave each chip in one edit: a dict with the keys
             "all_reduce", "reduce_scatter", "all_gather" and "all_to_all"
    returns  the axes drawn on. Arrows are edits, with what each sends
    raises   ValueError if one of the four is missing
    source   chapter 4
    """
    kinds = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
    missing = [kind for kind in kinds if kind not in sent]
    if missing:
        raise ValueError(f"sent must give {missing[0]}, got {sent!r}")
    ax, cut, middle, side = canvas(690, 340), ("X", 8), 310, 64
    sheets(ax, 28, 150, side, side, "X", 8, 4)
    write(ax, 74, 236, "C[I, K] {U_X}", 12)
    matrix(ax, middle, 34, side, side, cut, label="C[I_X, K]")
    matrix(ax, middle, 242, side, side, None, cut)
    write(ax, middle + side / 2, 324, "C[I, K_X]", 12)
    matrix(ax, 598, 136, side, side)
    write(ax, 630, 217, "C[I, K]", 12)
    ways = (
        ("ReduceScatter_X", "reduce_scatter", (128, 130), (298, 70), (176, 64)),
        (
            "ReduceScatter_X",
            "reduce_scatter",
            (128, 208),
            (298, 270),
            (176, 276),
        ),
        ("AllReduce_X", "all_reduce", (128, 169), (588, 169), (230, 154)),
        ("AllGather_X", "all_gather", (384, 70), (588, 140), (524, 68)),
        ("AllGather_X", "all_gather", (384, 270), (588, 198), (524, 274)),
        ("AllToAll_X", "all_to_all", (342, 106), (342, 230), (420, 116)),
    )
    for name, kind, start, end, at in ways:
        arrow(ax, start, end, MOVE)
        if kind == "all_to_all":
            arrow(ax, end, start, MOVE)
        words = f"{name}: {sent[kind]:,.0f} B"
        write(ax, *at, words, 11, ink=MOVE, weight="bold")
    return ax
