"""Bars: what training keeps, and how many chips each limit allows."""

from math import log10

from shardlab import memory
from shardlab.plot.axes import INK, LINE, SOFT, canvas, styled
from shardlab.plot.colours import colour
from shardlab.plot.things import box, wire, write

__all__ = ["reach", "recipes"]

# What is kept, the order in a bar, a step of rose each, and a hatch.
PARTS = {
    "param": ("weight", "memory-2", ""),
    "grad": ("gradient", "memory-1", "---"),
    "master": ("master weight", "memory-4", ""),
    "m": ("first moment", "memory-3", "////"),
    "v": ("second moment", "memory-3", "\\\\\\\\"),
}


@styled
def recipes(kept=None, params=None, limits=None):
    """Draw the bytes that recipes keep, part by part.

    kept     dict: name -> shardlab.memory.Recipe; those of the library if None
    params   of a model, whose gigabytes are drawn; None: bytes of a parameter
    limits   dict: name of a chip -> bytes of its memory, a line for each; None
             for none
    returns  the axes drawn on, a bar for each recipe, with its total
    raises   ValueError for none, or what is no recipe
    source   chapters 6 and 7
    """
    kept = memory.RECIPES if kept is None else kept
    if not kept:
        raise ValueError("kept must hold a recipe or more, got none")
    scale, name = (1, "bytes") if params is None else (params / 1e9, "GB")
    totals = {n: memory.bytes_per_param(r) * scale for n, r in kept.items()}
    rows = sorted(kept, key=totals.get)
    left, pitch, top = 150, 38, 36 if limits else 8
    low = top + pitch * len(rows)
    ax = canvas(690, low + 36)
    unit = (690 - left - 100) / max(totals.values())
    for n, row in enumerate(rows):
        y = top + n * pitch
        write(ax, left - 10, y + 13, row, 12, "right")
        x = _parts(ax, left, y, kept[row], unit * scale, scale)
        words = (
            f"{totals[row]:.0f} {name}" if params else f"{totals[row]:g} {name}"
        )
        paper = {"fc": colour("paper"), "ec": "none", "pad": 1.5}
        where = {"weight": "bold", "bbox": paper, "zorder": 4}
        write(ax, x + 8, y + 13, words, 12, "left", **where)
    for n, what in enumerate(sorted(limits or {}, key=(limits or {}).get)):
        x = left + limits[what] / 1e9 * unit
        wire(ax, (x, 8), (x, low - 2), INK, 1.6, z=0.6)
        words, side = f"{what} {limits[what] / 1e9:.0f}", 5 - 10 * (n % 2)
        write(ax, x + side, 14, words, 12, "left" if side > 0 else "right")
    _key(ax, left, low + 10)
    return ax


def _parts(ax, x, y, recipe, unit, scale):
    """The parts of one bar, with their numbers; returns x at its end."""
    for part, (_, fill, hatch) in PARTS.items():
        size = getattr(recipe, part)
        if size:
            look = {"hatch": hatch or None, "z": 1}
            box(ax, x, y, size * unit, 26, colour(fill), **look)
            words = f"{size:g}" if scale == 1 else f"{size * scale:.0f}"
            middle, half = x + size * unit / 2, 4 + 4 * len(words)
            paper = colour(fill) if hatch else "none"
            box(ax, middle - half, y + 5, 2 * half, 16, paper, line=0, z=2)
            write(ax, middle, y + 13, words, 12, zorder=3)
        x += size * unit
    return x


def _key(ax, x, y):
    """What the fills and hatches of the parts mean."""
    for words, fill, hatch in PARTS.values():
        box(ax, x, y, 18, 14, colour(fill), hatch=hatch or None)
        write(ax, x + 24, y + 7, words, 11, "left", ink=SOFT)
        x += 42 + 6.2 * len(words)


@styled
def reach(limits, marks=None, most=100_000, name="chips"):
    """Draw how many chips each of several limits allows.

    limits   dict: name of a limit -> (chips, a colour's name, words); 0 chips
             if no number of them is allowed
    marks    dict: words -> chips, a line through all rows; None for none
    most     chips at the right end, where the axis is logarithmic
    name     of the axis
    returns  the axes drawn on
    raises   ValueError for no limit
    source   chapter 6
    """
    if not limits:
        raise ValueError("limits must name a limit or more, got none")
    left, right, pitch, top = 172, 660, 36, 34
    low = top + pitch * len(limits)
    ax, unit = canvas(690, low + 46), (right - left) / log10(most)
    for words, chips in (marks or {}).items():
        x = left + unit * log10(chips)
        wire(ax, (x, 24), (x, low), INK, 1.4, dashed=True, z=0.6)
        write(ax, min(x, 690 - 3.2 * len(words)), 12, words, 12)
    for n, (row, (chips, fill, words)) in enumerate(limits.items()):
        y = top + n * pitch
        write(ax, left - 10, y + 14, row, 12, "right")
        box(ax, left, y + 2, right - left, 24, "none", edge=LINE, z=0.5)
        wide = unit * log10(chips) if chips else 0
        if wide:
            box(ax, left, y + 2, wide, 24, colour(fill), z=1)
        paper = {"fc": colour("paper"), "ec": "none", "pad": 1.5}
        inside = wide > 7 * len(words)
        at = (left + wide - 8, "right") if inside else (left + wide + 8, "left")
        how = {} if inside else {"bbox": paper}
        write(ax, at[0], y + 14, words, 12, at[1], zorder=4, **how)
    wire(ax, (left, low), (right, low), LINE, 1)
    for power in range(round(log10(most)) + 1):
        x = left + unit * power
        wire(ax, (x, low), (x, low + 5), LINE, 1)
        write(ax, x, low + 15, f"{10**power:,}", 11)
    write(ax, (left + right) / 2, low + 35, name, 12)
    return ax
