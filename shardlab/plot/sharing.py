"""How chips share a product: which blocks they multiply, and who waits."""

import numpy as np

from shardlab.plot.axes import LINE, SOFT, WHOLE, canvas, styled
from shardlab.plot.cases import (
    MOVE,
    MULTIPLY,
    SIDE,
    labelled_arrow,
    multiplied_pair,
    titled_rows,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.stripes import stripes
from shardlab.plot.things import (
    STRIPE,
    arrow,
    bar,
    box,
    chip,
    frame,
    matrix,
    wire,
    write,
)

__all__ = ["cases_at_work", "local_products", "waits", "ways_round"]

_DOWN, _ACROSS = 4, 2  # chips along X and along Y
_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _held(ax, place, size, rows, columns):
    """The outline of a matrix, with the block that one chip holds of it.

    rows, columns  None, or (mesh axis, index, parts)
    """
    (x, y), (wide, high) = place, size
    box(ax, x, y, wide, high, WHOLE, line=0.8)
    _, i, I = rows or ("", 0, 1)  # noqa: E741
    _, j, J = columns or ("", 0, 1)
    corner = x + j * wide / J, y + i * high / I
    block = wide / J, high / I
    box(ax, *corner, *block, shade(*(rows or columns)), line=0.8, z=1.2)
    if rows and columns:
        stripes(ax, corner, block, shade(*columns), STRIPE / 2, 1.3)
        box(ax, *corner, *block, "none", line=0.8, z=1.4)


@styled
def local_products():
    """Draw case 1 on eight chips: each multiplies the blocks that it holds.

    returns  the axes drawn on. A row of chips holds the same rows of A, a
             column the same columns of B, and no two the same block of C
    source   chapter 4
    """
    ax, (wide, high), size = canvas(690, 404), (312, 84), (70, 56)
    for j in range(_ACROSS):
        words = f"Y = {j}: the {('left', 'right')[j]} half of B"
        middle = 60 + j * (wide + 6) + wide / 2
        write(ax, middle, 14, words, 12, ink=colour("axis-y"))
    for i, j in np.ndindex(_DOWN, _ACROSS):
        x, y = 58 + j * (wide + 6), 28 + i * (high + 8)
        if not j:
            write(ax, 50, y + 34, f"X = {i}", 12, "right", ink=colour("axis-x"))
            write(ax, 50, y + 52, f"rows {i}", 11, "right", ink=SOFT)
        frame(ax, x, y, wide, high)
        down, across, top = ("X", i, _DOWN), ("Y", j, _ACROSS), y + 14
        _held(ax, (x + 16, top), size, down, None)
        write(ax, x + 101, y + high / 2, "·", 18)
        _held(ax, (x + 116, top), size, None, across)
        write(ax, x + 201, y + high / 2, "=", 16)
        _held(ax, (x + 216, top), size, down, across)
        words = f"C{i}{j}".translate(_LOW)
        write(ax, x + 290, y + high / 2, words, 12, "left")
    return ax


@styled
def cases_at_work():
    """Draw a layer under FSDP and under tensor parallelism, case by case.

    returns  the axes drawn on. In a row two factors, what moves, and what
             comes out; tokens are the rows of the first factor
    source   chapters 4, 7 and 8
    """
    ax, left, high = canvas(690, 560), 18, 140
    X, Y = ("X", 4), ("Y", 4)
    rows = (
        ("FSDP, first matrix", "case 2: B is cut along J, and X is taken"),
        ("FSDP, second matrix", "case 4: X cuts the tokens and the columns"),
        ("tensor parallelism, first matrix", "case 1"),
        ("tensor parallelism, second matrix", "case 3"),
    )
    titled_rows(ax, rows, high)
    tops = [n * high + 62 for n in range(4)]
    names = (
        ("In[I_X, J]", "W_in[J_X, K]"),
        ("Tmp[I_X, K]", "W_out[K, J_X]"),
    )
    for top, pair, cut, out in zip(
        tops[:2],
        names,
        ((X, None), (None, X)),
        ("Tmp[I_X, K]", "Out[I_X, J]"),
        strict=True,
    ):
        multiplied_pair(ax, left, top, (X, None), cut, pair)
        middle = top + SIDE / 2
        labelled_arrow(
            ax, 176, 310, middle, MOVE, "AllGather_X", "of the weights"
        )
        matrix(ax, 330, top, SIDE, SIDE, X)
        write(ax, 330 + SIDE + 11, middle, "·", 16)
        matrix(ax, 410, top, SIDE, SIDE)
        labelled_arrow(ax, 484, 588, middle, MULTIPLY, "multiply")
        matrix(ax, 606, top, SIDE, SIDE, X, label=out)
    _tensor_parallel(ax, left, tops[2:], Y)
    return ax


def _tensor_parallel(ax, left, tops, Y):
    """The two rows of tensor parallelism."""
    whole, names = (None, None), ("In[I, J]", "W_in[J, K_Y]")
    multiplied_pair(ax, left, tops[0], whole, (None, Y), names)
    words = "nothing moves"
    labelled_arrow(
        ax, 176, 588, tops[0] + SIDE / 2, MULTIPLY, "multiply", words
    )
    matrix(ax, 606, tops[0], SIDE, SIDE, None, Y, label="Tmp[I, K_Y]")
    names = "Tmp[I, K_Y]", "W_out[K_Y, J]"
    multiplied_pair(ax, left, tops[1], (None, Y), (Y, None), names)
    middle = tops[1] + SIDE / 2
    labelled_arrow(
        ax, 176, 344, middle, MULTIPLY, "multiply", "each chip a term"
    )
    for n in reversed(range(4)):
        box(
            ax,
            364 + 5 * n,
            tops[1] - 5 * n,
            SIDE,
            SIDE,
            shade("Y", n, 4),
            z=2 - n / 4,
        )
    write(ax, 364 + SIDE / 2 + 8, tops[1] - 26, "Out[I, J] {U_Y}", 12)
    labelled_arrow(ax, 452, 588, middle, MOVE, "AllReduce_Y", "of activations")
    matrix(ax, 606, tops[1], SIDE, SIDE, label="Out[I, J]")


@styled
def waits(machines, longest, wide=690):
    """Draw what products do with their time, as bars on one scale.

    machines  dict: name of a machine -> dict: (name, product in the notation)
              -> (µs of arithmetic, µs of waiting, what moves)
    longest   µs at the right end of the scale
    wide      pixels of the picture; 385 fit on a phone
    returns   the axes drawn on. Violet multiplies, gold waits
    raises    ValueError if there is nothing to draw
    source    chapter 4
    """
    if not machines or not all(machines.values()):
        raise ValueError(f"machines must hold products, got {machines!r}")
    rows = sum(map(len, machines.values()))
    ax = canvas(wide, 30 * len(machines) + 62 * rows + 28)
    unit, y = (wide - 130) / longest, 12
    for n, words in enumerate(("multiplies", "waits")):
        fill = (shade("arithmetic", 1, 4), shade("network", 1, 4))[n]
        left = wide - 208 + 100 * n
        box(ax, left, y - 7, 14, 14, fill)
        write(ax, left + 20, y, words, 12, "left")
    top = y + 12
    for machine, products in machines.items():
        write(ax, 2, y, machine, 13, "left", weight="bold")
        y += 24
        for (name, line), (math, comm, moves) in products.items():
            write(ax, 2, y, name, 12, "left")
            write(ax, 120, y, line, 12, "left", ink=SOFT)
            parts = [(math, shade("arithmetic", 1, 4), f"{math:.0f}", None)]
            if comm:
                fill = shade("network", 1, 4)
                parts.append((comm, fill, f"{comm:.0f}", None))
            end = bar(ax, 2, y + 11, parts, unit, 22, size=12)
            write(ax, end + 8, y + 22, moves, 12, "left")
            y += 62
        y += 6
    _scale(ax, y - 12, top, unit, longest)
    return ax


def _scale(ax, y, top, unit, longest):
    """A scale of microseconds below bars, with lines up to the top."""
    wire(ax, (2, y), (2 + longest * unit, y), LINE, 1)
    for n in range(0, int(longest) + 1, 200):
        x = 2 + n * unit
        wire(ax, (x, y), (x, y + 5), LINE, 1)
        at = "left" if not n else "middle"
        write(ax, x, y + 15, f"{n} µs" if n else "0", 11, at, ink=SOFT)


@styled
def ways_round(chips=4):
    """Draw one hop of a gather round a ring, one way and both ways.

    chips    on the ring, 3 to 5
    returns  the axes drawn on. Above, whole blocks go one way; below, half of
             each block goes either way, over both wires of a link
    raises   ValueError for other numbers of chips
    source   chapter 4
    """
    if chips not in range(3, 6):
        raise ValueError(f"chips must be 3 to 5, got {chips!r}")
    pitch = 104
    ax = canvas(180 + (chips - 1) * pitch, 284)
    for row, (name, words, halves) in enumerate(
        (
            ("one way", "whole blocks, one wire of two is idle", False),
            ("both ways", "halves, both wires busy, half the time", True),
        )
    ):
        y = 76 + row * 140
        title = f"{name}: {words}"
        write(ax, 2, y - 66, title, 12, "left", weight="bold")
        at = [(90 + n * pitch, y) for n in range(chips)]
        _hop(ax, at, pitch, halves)
    return ax


def _hop(ax, at, pitch, halves):
    """Chips in a row, and what goes to the right and to the left of each."""
    count, reach = len(at), pitch - 24
    for n, (x, y) in enumerate(at):
        chip(ax, x, y, 44, n, shade("X", n, count), letters=13)
        end = n in (count - 1, 0)
        far = 60 if n == count - 1 else reach
        arrow(ax, (x + 24, y - 9), (x + far, y - 9))
        _travels(ax, x + 12 + far / 2, y - 9, n, count, halves)
        far = reach if n else 60
        if halves:
            arrow(ax, (x - 24, y + 9), (x - far, y + 9))
            _travels(ax, x - 12 - far / 2, y + 48, n, count, halves)
        else:
            wire(ax, (x - 24, y + 9), (x - far, y + 9), LINE, 1.2, dashed=True)
        if end and n:
            write(ax, x + 64, y - 9, "to 0", 11, "left", ink=SOFT)
        elif end and halves:
            words = f"to {count - 1}"
            write(ax, x - 64, y + 9, words, 11, "right", ink=SOFT)


def _travels(ax, x, y, n, count, half):
    """The block, or half block, that is on its way; its lower edge at y."""
    wide = 14 if half else 28
    place = x - wide / 2, y - 10 - 28
    box(ax, *place, wide, 28, shade("X", n, count), n, size=12)
