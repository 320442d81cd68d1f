"""What chips make of the same array, side by side, and where they meet."""

from matplotlib.patches import Rectangle

from shardlab.plot.axes import FILLS, WHOLE, bare, new_axes

BOX, TALL, PITCH = 1.4, 0.62, 1.8  # a box, and from one to the next


def paths(chips, entry, exit, title=None, ax=None):
    """Draw chips that start from one array and end in one array.

    chips    dict: name of a chip -> what it makes, one text after the other
    entry    name of the array that all of them get, and of the place where
             they get it, what happens there forward, and what backward
    exit     the same of the array that they give together
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on
    """
    rows, steps = len(chips), max(map(len, chips.values()))
    ax = new_axes(ax, (steps + 4.5, 0.7 * rows + 1.1))
    middle, last = (rows - 1) / 2, (steps + 3) * PITCH
    for x, (name, *place) in ((0, entry), (last, exit)):
        box(ax, x, middle, name, WHOLE)
        meeting(ax, abs(x - PITCH), middle, rows, *place)
    for row, (chip, texts) in enumerate(chips.items()):
        at = [PITCH, *((n + 2) * PITCH for n in range(steps)), last - PITCH]
        for n, text in enumerate(texts, 1):
            box(ax, at[n], row, text, FILLS[row % len(FILLS)])
        ends = [middle, *[row] * steps, middle]
        for n in range(steps + 1):
            arrow(ax, (at[n], ends[n]), (at[n + 1], ends[n + 1]), n, steps)
        ax.text(at[1] - BOX / 2, row - 0.37, chip, fontsize=7, ha="left")
    arrow(ax, (0, middle), (PITCH, middle), 1, 1)
    arrow(ax, (last - PITCH, middle), (last, middle), 0, 2)
    ax.set_xlim(-1, last + 1)
    ax.set_ylim(-1.2, rows + 0.2)
    return bare(ax, title)


def box(ax, x, y, text, fill):
    """A box with a text, its middle at x, y."""
    corner, look = (x - BOX / 2, y - TALL / 2), {"fc": fill, "ec": "black"}
    ax.add_patch(Rectangle(corner, BOX, TALL, lw=0.8, **look))
    ax.text(x, y, text, ha="center", va="center", fontsize=7)


def meeting(ax, x, y, rows, name, forward, backward):
    """The place where chips part or meet, and what happens there each way."""
    look = {"boxstyle": "circle,pad=0.25", "fc": WHOLE, "ec": "black"}
    ax.text(x, y, name, ha="center", va="center", style="italic", bbox=look)
    words = f"forward: {forward}\nbackward: {backward}"
    ax.text(x, rows - 0.15, words, ha="center", va="center", fontsize=7)


def arrow(ax, start, end, n, steps):
    """An arrow from box to box; short of a circle at either end of the way."""
    room = [0.3 if n == 0 else BOX / 2, 0.3 if n == steps else BOX / 2]
    (x, y), (to_x, to_y) = start, end
    share = [part / (to_x - x) for part in room]
    first = x + room[0], y + (to_y - y) * share[0]
    final = to_x - room[1], to_y - (to_y - y) * share[1]
    style = {"arrowstyle": "->", "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", final, first, arrowprops=style)
