"""What chips make of the same array, side by side, and where they meet."""

from matplotlib.patches import Circle

from shardlab.plot.axes import COLUMN, INK, POINT, SOFT, WHOLE, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, frame, write

TALL, PITCH = 38, 60  # pixels of a box, and from one chip's row to the next
ENDS, MEETS, FIRST = 34, 120, 190  # middles of In and f, and where rows begin


@styled
def paths(chips, entry, exit):
    """Draw chips that start from one array and end in one array, both ways.

    chips    dict: name of a chip -> what it makes, one text after the other
    entry    name of the array that all of them get, and of the place where
             they get it, what happens there forward, and what backward
    exit     the same of the array that they give together
    returns  the axes drawn on: the forward pass from left to right, and below
             it the backward pass from right to left
    raises   ValueError for no chip, or chips that differ in number of steps
    source   chapter 8
    """
    if len(set(map(len, chips.values()))) != 1:
        raise ValueError(f"chips must have as many steps each, got {chips}")
    high = PITCH * len(chips) + 40
    ax = canvas(COLUMN, 2 * high + 8)
    for n, title in enumerate(("forward", "backward")):
        top = n * (high + 8)
        frame(ax, 1, top + 1, COLUMN - 2, high, edge=colour("grid"))
        write(ax, 10, top + 16, title, 13, "left", weight="bold")
        _pass(ax, top + 34, chips, (entry, exit), n)
    return ax


def _pass(ax, top, chips, ends, back):
    """One pass: 0 forward, 1 backward."""
    middle = top + PITCH * len(chips) / 2 - 6
    steps = len(next(iter(chips.values())))
    room = (COLUMN - 2 * FIRST) / steps
    for row, (chip, texts) in enumerate(chips.items()):
        y = top + PITCH * row + PITCH / 2 - 6
        for n, text in enumerate(texts):
            x, fill = FIRST + n * room + 12, shade("Y", row, len(chips))
            box(ax, x, y - TALL / 2, room - 24, TALL, fill, text, size=12)
        edges = [FIRST + n * room for n in range(steps + 1)]
        gaps = [(x - 12, x + 12) for x in edges]
        write(ax, FIRST + 12, y - TALL / 2 - 9, chip, 11, "left", ink=SOFT)
        for start, end in gaps[1:-1]:
            _go(ax, (start, y), (end, y), back)
        left, right = COLUMN - MEETS, gaps[-1][0]
        _go(ax, (MEETS + 17, middle), (FIRST + 12, y), back)
        _go(ax, (right, y), (left - 17, middle), back)
    for end, side in zip(ends, (-1, 1), strict=True):
        _end(ax, side, middle, end, back)


def _go(ax, start, end, back, ink=MULTIPLY):
    """An arrow, turned round in the backward pass."""
    arrow(ax, *((end, start) if back else (start, end)), ink, 1.6)


def _end(ax, side, y, end, back):
    """An array, the place where chips part or meet, and what happens there."""
    name, place, *happens = end
    x, at = (COLUMN - ENDS, COLUMN - MEETS) if side > 0 else (ENDS, MEETS)
    words = f"d{name}" if back else name
    box(ax, x - 26, y - TALL / 2, 52, TALL, WHOLE, words, size=13)
    sent = happens[back] != "copy"
    fill = colour("network-1") if sent else colour("paper")
    look = {"fc": fill, "ec": INK, "lw": POINT, "zorder": 2}
    ax.add_patch(Circle((at, y), 16, **look))
    write(ax, at, y, place, 15, style="italic", zorder=4)
    ink, weight = (MOVE, "bold") if sent else (SOFT, None)
    write(ax, at, y + 30, happens[back], 12, ink=ink, weight=weight)
    inner, outer = at + side * 18, x - side * 27
    start, end = (inner, outer) if side > 0 else (outer, inner)
    _go(ax, (start, y), (end, y), back)
