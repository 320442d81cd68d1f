"""Switches that add and copy what passes through them."""

from shardlab.arguments import whole
from shardlab.plot.axes import SOFT, canvas, styled
from shardlab.plot.cases import MOVE
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, chip, frame, write


@styled
def switch_adds(gpus=4):
    """Draw an AllReduce of V bytes whose sums are made in the switch.

    gpus     behind the switch, along X, 2 to 5
    returns  the axes drawn on. Left, all GPUs send their terms, and each gets
             one piece of the sum; right, each sends its piece, and all get it
    raises   ValueError for other numbers
    source   chapter 2
    """
    if whole("gpus", gpus, least=2) > 5:
        raise ValueError(f"gpus must be at most 5, got {gpus}")
    ax, pitch = canvas(690, 250), 66
    part = f"V/{gpus}"
    heads = (
        (8, "1. The switch adds", "+", "V", part),
        (362, "2. The switch copies", "copy", part, "V"),
    )
    for left, title, does, up, down in heads:
        write(ax, left, 14, title, 12, "left", weight="bold")
        at = [left + 34 + n * pitch for n in range(gpus)]
        frame(ax, left, 44, gpus * pitch, 38, fill=colour("network-1"), z=1)
        write(ax, (at[0] + at[-1]) / 2, 63, f"switch: {does}", 13, zorder=4)
        for n, x in enumerate(at):
            fill = shade("X", n, gpus)
            arrow(ax, (x - 11, 148), (x - 11, 84), MOVE, 3 if up == "V" else 1)
            arrow(
                ax, (x + 11, 84), (x + 11, 148), MOVE, 3 if down == "V" else 1
            )
            write(ax, x - 15, 116, up, 11, "right", ink=SOFT)
            write(ax, x + 15, 116, down, 11, "left", ink=SOFT)
            chip(ax, x, 168, 40, f"GPU {n}", fill, letters=11)
            for piece in range(gpus):
                mine = down == "V" or piece == n
                y = 196 + piece * 40 / gpus
                look = colour("counted") if mine else "none"
                box(ax, x - 18, y, 36, 40 / gpus, look, line=0.6)
    return ax
