"""Things that pictures are made of: chips, wires, machines, blocks, bars.

All are drawn on a `canvas`, on which a unit is a pixel and y runs down. Each
takes the axes first and then the place of its top left corner, or its middle
where it says so.
"""

import numpy as np
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from shardlab.plot.axes import INK, LINE, POINT, SOFT, WHOLE
from shardlab.plot.colours import colour, ramp, shade, step
from shardlab.plot.stripes import stripes

__all__ = [
    "PAPER",
    "STRIPE",
    "arrow",
    "bar",
    "box",
    "chip",
    "cloud",
    "crossed",
    "die",
    "frame",
    "line",
    "matrix",
    "node",
    "ring",
    "switch",
    "torus",
    "wire",
    "write",
]

PAPER = colour("paper")
STRIPE = 14  # pixels from a stripe to the next but one
_HORIZONTAL = {"left": "left", "middle": "center", "right": "right"}


def write(ax, x, y, words, size=12, at="middle", ink=INK, **how):
    """Write a text whose vertical middle is at y.

    ax       axes of a `canvas`
    x, y     pixels
    words    str; in `I_X` the X is drawn below the line, in its colour
    size     of letters, in pixels
    at       what is at x: "left", "middle" or "right" of the text
    ink      colour
    how      for matplotlib, such as weight="bold"
    returns  the text drawn
    """
    middle = "center" if "\n" in str(words) else "center_baseline"
    how = {"ha": _HORIZONTAL[at], "va": middle, "color": ink} | how
    how.setdefault("linespacing", 1.25)
    return ax.text(x, y, words, fontsize=size * POINT, **how)


def box(
    ax,
    x,
    y,
    width,
    height,
    fill=WHOLE,
    words="",
    *,
    edge=INK,
    line=0.8,
    size=12,
    hatch=None,
    ink=INK,
    z=1,
    weight=None,
):
    """Draw a rectangle with a text in its middle.

    ax       axes of a `canvas`
    x, y, width, height  pixels
    fill     colour, or "none"
    words    in the middle; "" for none
    edge, line  colour and width of its edge
    size, ink, weight  of letters
    hatch    of matplotlib, or None
    z        what is drawn later lies higher
    returns  nothing
    """
    look = {"ec": edge, "lw": line * POINT, "hatch": hatch, "zorder": z}
    look["clip_on"] = False
    ax.add_patch(Rectangle((x, y), width, height, fc=fill, **look))
    if words != "":
        middle, above = (x + width / 2, y + height / 2), z + 0.5
        write(ax, *middle, words, size, ink=ink, weight=weight, zorder=above)


def frame(
    ax,
    x,
    y,
    width,
    height,
    words="",
    *,
    fill="none",
    edge=LINE,
    size=12,
    ink=SOFT,
    dashed=False,
    z=0.2,
):
    """Draw a rounded frame, named at its top left corner.

    ax       axes of a `canvas`
    x, y, width, height  pixels
    words    name of what is inside; "" for none
    fill, edge  colours of the inside and of the line
    size, ink  of letters
    dashed   whether the line is
    z        what is drawn later lies higher
    returns  nothing
    """
    look = {"fc": fill, "ec": edge, "lw": POINT, "zorder": z}
    look |= {"clip_on": False, "ls": (0, (4, 3)) if dashed else "-"}
    shape = "round,pad=0,rounding_size=6"
    ax.add_patch(FancyBboxPatch((x, y), width, height, shape, **look))
    if words:
        write(ax, x + 8, y + size * 0.9, words, size, "left", ink)


def wire(ax, start, end, ink=LINE, width=2.0, *, bend=0, dashed=False, z=0.4):
    """Draw a wire between two points.

    ax       axes of a `canvas`
    start, end  (x, y), pixels
    ink, width  colour, and pixels
    bend     pixels that its middle lies beside the straight line, to the right
             of the way
    dashed   whether it is
    z        what is drawn later lies higher
    returns  nothing
    """
    (x, y), (u, v) = start, end
    far = max(np.hypot(u - x, v - y), 1e-9)
    aside = np.array([-(v - y), u - x]) / far * bend * 2
    share = np.linspace(0, 1, 25 if bend else 2)[:, None]
    middle = (np.array(start) + np.array(end)) / 2 + aside
    path = (1 - share) ** 2 * start + 2 * share * (1 - share) * middle
    path = path + share**2 * np.array(end)
    style = (0, (4, 3)) if dashed else "-"
    look = {"ls": style, "zorder": z}
    ax.plot(*path.T, color=ink, lw=width * POINT, **look)


def arrow(
    ax, start, end, ink=INK, width=1.6, *, bend=0, both=False, head=5, z=3
):
    """Draw an arrow from a point to another.

    ax       axes of a `canvas`
    start, end  (x, y), pixels
    ink, width  colour, and pixels of its line
    bend     a part of its length that its middle lies beside the way
    both     whether it has a head at either end
    head     pixels of a head
    z        what is drawn later lies higher
    returns  nothing
    """
    kind = "<|-|>" if both else "-|>"
    style = (
        f"{kind},head_length={head * POINT},head_width={head * 0.55 * POINT}"
    )
    look = {"arrowstyle": style, "color": ink, "lw": width * POINT}
    look |= {"shrinkA": 0, "shrinkB": 0, "mutation_scale": 1}
    look["connectionstyle"] = f"arc3,rad={bend}"
    ax.annotate("", end, start, arrowprops=look, zorder=z)


def die(
    ax, x, y, width=92, height=62, words="", *, fill=PAPER, hbm=True, size=12
):
    """Draw a chip: arithmetic, and its memory (HBM) at the left and right.

    ax       axes of a `canvas`
    x, y, width, height  pixels
    words    on the arithmetic, such as "chip 0"
    fill     of the arithmetic
    hbm      whether memory is drawn
    size     of letters
    returns  (x, y) of its middle
    """
    frame(ax, x, y, width, height, fill=WHOLE, edge=INK, z=1)
    side = 0.17 * width if hbm else 4
    for left in (x + 4, x + width - side) if hbm else ():
        for n in range(3):
            high = (height - 16) / 3
            top = y + 6 + n * (high + 2)
            memory = colour("memory-1")
            box(ax, left, top, side - 4, high, memory, line=0.6, z=1.2)
    corner, inner = (x + side + 4, y + 6), width - 2 * side - 8
    box(ax, *corner, inner, height - 12, fill, words, size=size, z=1.2)
    return x + width / 2, y + height / 2


def chip(ax, x, y, size=34, words="", fill=WHOLE, *, edge=INK, letters=12, z=1):
    """Draw a chip as a small square with a text, its middle at x, y.

    ax       axes of a `canvas`
    x, y, size  pixels
    words, fill  on it, and its colour
    edge     colour
    letters  pixels
    z        what is drawn later lies higher
    returns  (x, y)
    """
    corner = x - size / 2, y - size / 2
    frame(ax, *corner, size, size, fill=fill, edge=edge, z=z)
    if words != "":
        write(ax, x, y, words, letters, zorder=4)
    return x, y


def _middles(x, y, count, pitch, down=False):
    return [
        (x, y + n * pitch) if down else (x + n * pitch, y) for n in range(count)
    ]


def line(
    ax,
    x,
    y,
    count,
    pitch=60,
    size=34,
    axis="X",
    *,
    down=False,
    words=None,
    wrap=False,
    bend=None,
):
    """Draw chips in a line, wired to their neighbours; first middle at x, y.

    ax       axes of a `canvas`
    count    chips
    pitch    pixels from one middle to the next
    size     pixels of a chip
    axis     name of the mesh axis: chips take its steps, None for no fill
    down     whether one stands below the other
    words    one for each; None for their numbers
    wrap     whether last and first are wired too, which makes it a ring
    bend     pixels of that wire, as of `wire`; None for as many as it needs
    returns  list of (x, y), the middles
    """
    at = _middles(x, y, count, pitch, down)
    words = range(count) if words is None else words
    ink = colour(ramp(axis)) if axis else LINE
    for one, other in zip(at, at[1:], strict=False):
        wire(ax, one, other, ink)
    if wrap:
        bend = 0.62 * size + 8 if bend is None else bend
        wire(ax, at[0], at[-1], ink, bend=bend if down else -bend)
    for n, (middle, word) in enumerate(zip(at, words, strict=True)):
        fill = shade(axis, n, count) if axis else WHOLE
        chip(ax, *middle, size, word, fill)
    return at


def ring(ax, x, y, count, radius=80, size=34, axis="X", *, words=None):
    """Draw chips on a circle, wired to their neighbours; middle at x, y.

    ax       axes of a `canvas`
    count, radius, size  chips, and pixels
    axis     name of the mesh axis: chips take its steps, None for no fill
    words    one for each; None for their numbers
    returns  list of (x, y), the middles, the first one at the top
    """
    turns = [2 * np.pi * n / count - np.pi / 2 for n in range(count)]
    at = [(x + radius * np.cos(t), y + radius * np.sin(t)) for t in turns]
    ink = colour(ramp(axis)) if axis else LINE
    ax.add_patch(
        Circle((x, y), radius, fc="none", ec=ink, lw=2 * POINT, zorder=0.4)
    )
    words = range(count) if words is None else words
    for n, (middle, word) in enumerate(zip(at, words, strict=True)):
        fill = shade(axis, n, count) if axis else WHOLE
        chip(ax, *middle, size, word, fill)
    return at


def torus(
    ax,
    x,
    y,
    rows,
    columns,
    pitch=52,
    size=30,
    *,
    wrap=True,
    words=True,
    axes=("X", "Y"),
    fill=None,
):
    """Draw a torus of two axes: X runs down, Y across; first middle at x, y.

    ax       axes of a `canvas`
    rows, columns  chips along X, and along Y
    pitch, size  pixels
    wrap     whether wires lead from last to first
    words    whether chips have their numbers
    axes     names of X and Y
    fill     a function of row and column, or None
    returns  dict: (row, column) -> (x, y), the middles
    """
    down, across = axes
    inks = [colour(ramp(name)) for name in (down, across)]
    at = {
        (i, j): (x + j * pitch, y + i * pitch)
        for i in range(rows)
        for j in range(columns)
    }
    for (i, j), middle in at.items():
        for ahead, ink in (((i + 1, j), inks[0]), ((i, j + 1), inks[1])):
            if ahead in at:
                wire(ax, middle, at[ahead], ink)
    if wrap:
        bow = 0.34 * pitch
        for j in range(columns if rows > 2 else 0):
            wire(ax, at[0, j], at[rows - 1, j], inks[0], 1.4, bend=bow)
        for i in range(rows if columns > 2 else 0):
            wire(ax, at[i, 0], at[i, columns - 1], inks[1], 1.4, bend=-bow)
    for n, ((i, j), middle) in enumerate(at.items()):
        look = fill(i, j) if fill else WHOLE
        chip(ax, *middle, size, n if words else "", look)
    return at


def switch(
    ax, x, y, count, pitch=46, size=34, *, words=None, name="switch", axis=None
):
    """Draw GPUs below a switch that each of them is wired to.

    ax       axes of a `canvas`
    x, y     top left corner of the switch
    count    GPUs
    pitch, size  pixels
    words    one for each; None for their numbers
    name     of the switch
    axis     mesh axis whose steps the GPUs take, or None
    returns  list of (x, y), the middles of the GPUs
    """
    wide = (count - 1) * pitch + size
    words = range(count) if words is None else words
    at = _middles(x + size / 2, y + 84, count, pitch)
    ink = colour("network")
    for middle in at:
        wire(ax, (middle[0], y + 26), middle, ink, 2)
    box(ax, x, y, wide, 26, colour("network-1"), name, z=1)
    for n, (middle, word) in enumerate(zip(at, words, strict=True)):
        fill = shade(axis, n, count) if axis else WHOLE
        chip(ax, *middle, size, word, fill)
    return at


def node(
    ax, x, y, count=8, pitch=30, size=24, name="node", *, words=None, axis=None
):
    """Draw a node: GPUs below their switch, in a frame.

    ax       axes of a `canvas`
    x, y     top left corner
    count, pitch, size  GPUs, and pixels
    name     above; "" for none
    words, axis  as of `switch`
    returns  (width, height, list of the GPUs' middles)
    """
    wide, high = (count - 1) * pitch + size + 24, 132 + size / 2
    frame(ax, x, y, wide, high, name, fill=PAPER)
    gpus = {"words": words, "axis": axis}
    at = switch(ax, x + 12, y + 28, count, pitch, size, **gpus)
    return wide, high, at


def crossed(ax, x, y, side, down, across, words=""):
    """Draw the chip of a mesh of two axes, striped in the colours of both.

    ax       axes of a `canvas`
    x, y, side  the top left corner, pixels
    down, across  (mesh axis, index, chips along it) of both
    words    in the middle; "" for none
    returns  (x, y) of its middle
    """
    box(ax, x, y, side, side, shade(*down), z=1)
    stripes(ax, (x, y), (side, side), shade(*across), STRIPE, 1.1)
    box(ax, x, y, side, side, "none", words, z=1.2)
    return x + side / 2, y + side / 2


def cloud(ax, x, y, width, height=30, words="network"):
    """Draw the network between machines as a band with a name."""
    look = {"fill": colour("network-1"), "edge": colour("network")}
    frame(ax, x, y, width, height, **look)
    write(ax, x + width / 2, y + height / 2, words)


def matrix(
    ax,
    x,
    y,
    width,
    height,
    rows=None,
    columns=None,
    *,
    held=None,
    name="",
    size=None,
    label="",
    digits=False,
    fill=WHOLE,
    z=1,
):
    """Draw a matrix in blocks, with the edges that axes have cut coloured.

    ax       axes of a `canvas`
    x, y, width, height  pixels
    rows, columns  None, or (mesh axis, parts): what cuts the rows, and the
             columns. A block has the colour of its step along the axis; one
             that two axes cut is striped in both
    held     a function of row and column: which blocks are drawn full; the
             others are empty; None for all
    name, label  in the middle, and above
    size     of their letters; None for 13, and 12
    digits   whether blocks have their numbers
    fill     of a matrix that nothing cuts
    z        what is drawn later lies higher
    returns  nothing
    """
    (down, I), (across, J) = rows or (None, 1), columns or (None, 1)  # noqa: E741
    wide, high = width / J, height / I
    for number, (i, j) in enumerate(np.ndindex(I, J)):
        left, top = x + j * wide, y + i * high
        look = fill
        if down:
            look = colour(step(down, i, I))
        elif across:
            look = colour(step(across, j, J))
        here = held is None or held(i, j)
        box(ax, left, top, wide, high, look if here else PAPER, edge=LINE, z=z)
        if here and down and across:
            other = colour(step(across, j, J))
            stripes(ax, (left, top), (wide, high), other, STRIPE, z + 0.1)
        if digits and here:
            write(ax, left + wide / 2, top + high / 2, number, 11, zorder=z + 1)
    box(ax, x, y, width, height, "none", line=1.2, z=z + 0.3)
    for axis, ends in (
        (down, ((x - 3, y), (x - 3, y + height))),
        (across, ((x, y - 3), (x + width, y - 3))),
    ):
        if axis:
            wire(ax, *ends, colour(ramp(axis)), 3, z=z)
    if name:
        middle = x + width / 2, y + height / 2
        write(ax, *middle, name, size or 13, zorder=z + 1)
    if label:
        write(ax, x + width / 2, y - 15, label, size or 12)


def bar(ax, x, y, parts, unit, height=20, *, size=11):
    """Draw a bar in parts side by side.

    ax       axes of a `canvas`
    x, y, height  pixels
    parts    list of (size, fill, words, hatch); words stand where they fit
    unit     pixels of a size of 1
    size     of letters
    returns  x at the end of the bar
    """
    for amount, fill, words, hatch in parts:
        wide = amount * unit
        fits = 0.62 * size * len(str(words)) <= wide
        box(
            ax,
            x,
            y,
            wide,
            height,
            fill,
            words if fits else "",
            hatch=hatch,
            size=size,
        )
        x += wide
    return x
