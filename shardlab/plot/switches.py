"""Switches that add and copy what passes through them."""

from shardlab.arguments import whole
from shardlab.plot.axes import SOFT, canvas, styled
from shardlab.plot.cases import MOVE
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, frame, write

__all__ = ["switch_adds"]

_WIDE, _PITCH, _CELL = 318, 66, 15  # of a panel, a GPU, and a piece
_BESIDE = 54  # pixels between the panels


@styled
def switch_adds(gpus=4):
    """Draw an AllReduce of V bytes whose sums are made in the switch.

    gpus     behind the switch, along X, 2 to 4
    returns  the axes drawn on. Left, all GPUs send their terms; the switch
             adds a row of terms for each piece, and each GPU gets one sum.
             Right, each sends its sum, the switch copies it, and all get all.
             A cell is a piece: filled with a GPU's shade it is that GPU's
             term, and a whole sum has the colour of what was counted
    raises   ValueError for other numbers
    source   chapter 2
    """
    if whole("gpus", gpus, least=2) > 4:
        raise ValueError(f"gpus must be at most 4, got {gpus}")
    ax, whole_sum = canvas(2 * _WIDE + _BESIDE, 326), colour("counted")
    part, tall = f"V/{gpus}", gpus * _CELL
    heads = (
        (2, "1. The switch adds", "V", part),
        (_WIDE + _BESIDE, "2. The switch copies", part, "V"),
    )
    for left, title, up, down in heads:
        adds, last = up == "V", left + _WIDE - 28
        write(ax, left, 12, title, 13, "left", weight="bold")
        frame(ax, left, 30, _WIDE - 2, tall + 22, fill=colour("network-1"), z=1)
        write(ax, last, tall + 66, "the sum", 11, ink=SOFT)
        for piece in range(gpus):  # one row of terms makes one piece of it
            y = 41 + piece * _CELL
            box(ax, last - 17, y, 34, _CELL, whole_sum, line=0.6, z=2)
            if adds:
                write(ax, last - 26, y + _CELL / 2, "=", 12, zorder=4)
        if not adds:
            middle = 41 + tall / 2
            arrow(ax, (last - 18, middle), (last - 34, middle), MOVE, 2)
        for n in range(gpus):
            x = left + (n + 0.5) * _PITCH
            thick = (3, 1) if adds else (1, 3)
            arrow(ax, (x - 13, 190), (x - 13, tall + 56), MOVE, thick[0])
            arrow(ax, (x + 13, tall + 56), (x + 13, 190), MOVE, thick[1])
            write(ax, x - 10, 162, up, 11, "left", ink=SOFT)
            write(ax, x + 10, 132, down, 11, "right", ink=SOFT)
            chip(ax, x, 212, 40, f"GPU {n}", shade("X", n, gpus), letters=11)
            for piece in range(gpus):
                y = piece * _CELL
                # In the switch: a row of terms, or copies of a sum.
                fill = shade("X", n, gpus) if adds else whole_sum
                box(ax, x - 17, 41 + y, 34, _CELL, fill, line=0.6, z=2)
                if adds and n:
                    at = x - _PITCH / 2, 41 + y + _CELL / 2
                    write(ax, *at, "+", 12, zorder=4)
                # Below a GPU: what it sends, and what it has afterwards.
                sends, gets = (adds or piece == n), (not adds or piece == n)
                mine = fill if sends else "none"
                box(ax, x - 27, 258 + y, 22, _CELL, mine, line=0.6)
                got = whole_sum if gets else "none"
                box(ax, x + 5, 258 + y, 22, _CELL, got, line=0.6)
            write(ax, x - 16, 245, "sends", 11, ink=SOFT)
            write(ax, x + 16, 245, "gets", 11, ink=SOFT)
    return ax
