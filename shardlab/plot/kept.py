"""What training keeps: in a layer, under a policy, on a stage, on a chip."""

from itertools import pairwise
from math import log

from matplotlib.patches import Rectangle

from shardlab import memory
from shardlab.plot.axes import (
    COLUMN,
    INK,
    LINE,
    SMALL,
    SOFT,
    WHOLE,
    canvas,
    panels,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import PAPER, arrow, box, wire, write

__all__ = [
    "ladder",
    "layer_kept",
    "policies",
    "stacks",
    "stage_bytes",
    "tallies",
]

# Where each term of memory.LAYER stands in the picture, and its short name.
_PLACES = {
    "layer norm 1 input": (34, 136, "norm\ninput"),
    "query, key, value input": (108, 136, "input of\nQ, K, V"),
    "query and key": (190, 136, "Q and K"),
    "value": (190, 46, "V"),
    "softmax output": (306, 136, "softmax\noutput"),
    "softmax dropout mask": (40, 322, "mask"),
    "softmax dropout output": (126, 322, "after\ndropout"),
    "attention projection input": (226, 322, "input\nof W_O"),
    "attention dropout mask": (290, 392, "mask"),
    "layer norm 2 input": (34, 516, "norm\ninput"),
    "first MLP matmul input": (108, 516, "input\nof W_in"),
    "GeLU input": (192, 516, "input of\nGeLU"),
    "second MLP matmul input": (282, 516, "input\nof W_out"),
    "MLP dropout mask": (332, 588, "mask"),
}
_SUMS = {"x + attention": (336, 322), "x + MLP": (370, 516)}
_SUMS |= {"times the mask": (290, 322), "times the MLP mask": (332, 516)}
_FLOW = (
    ("layer norm 1 input", "query, key, value input"),
    ("query, key, value input", "query and key"),
    ("query, key, value input", "value"),
    ("query and key", "softmax output"),
    ("softmax dropout mask", "softmax dropout output"),
    ("softmax dropout output", "attention projection input"),
    ("attention projection input", "times the mask"),
    ("times the mask", "x + attention"),
    ("attention dropout mask", "times the mask"),
    ("layer norm 2 input", "first MLP matmul input"),
    ("first MLP matmul input", "GeLU input"),
    ("GeLU input", "second MLP matmul input"),
    ("second MLP matmul input", "times the MLP mask"),
    ("times the MLP mask", "x + MLP"),
    ("MLP dropout mask", "times the MLP mask"),
)
_SIDE = 12.6  # pixels of the side of one byte
_SP = "...."  # hatch of what only sequence parallelism cuts


@styled
def layer_kept(scores):
    """Draw what a layer keeps, as boxes whose areas are bytes.

    scores   a s / h of the model: elements of its scores for one of x[s, b, h]
    returns  the axes drawn on; arrows are the forward pass
    source   Korthikanti et al. (2022)
    """
    ax = canvas(690, 606)
    sides = {}
    for name, (x, y, short) in _PLACES.items():
        kept = memory.LAYER[name]
        size = kept.bytes_each * (scores if kept.of == "abss" else 1)
        sides[name] = side = _SIDE * size**0.5
        _term(ax, (x, y), side, kept, short, f"{size:g}")
    for start, end in _FLOW:
        _flow(ax, start, end, sides)
    for name in ("times the mask", "times the MLP mask"):
        write(ax, *_SUMS[name], "×", 16, weight="bold")
    for name in ("x + attention", "x + MLP"):
        write(ax, *_SUMS[name], "+", 17, weight="bold")
    write(ax, 66, 38, "attention", 13, "left", weight="bold")
    write(ax, 62, 484, "MLP", 13, "left", weight="bold")
    of = {name: side / 2 + 2 for name, side in sides.items()}
    _way(  # the scores, to the next row
        ax,
        (306 + of["softmax output"], 136),
        (364, 136),
        (364, 236),
        (126, 236),
        (126, 322 - of["softmax dropout output"] - 1),
    )
    _way(
        ax,
        (190 + of["value"], 46),
        (376, 46),
        (376, 248),
        (226, 248),
        (226, 322 - of["attention projection input"] - 1),
    )
    _way(ax, (346, 322), (376, 322), (376, 446), (34, 446), (34, 505))
    round_attention = (54, 136), (54, 14), (388, 14), (388, 260), (336, 260)
    _way(ax, *round_attention, (336, 310), dashed=True)
    _way(ax, (54, 516), (54, 462), (370, 462), (370, 504), dashed=True)
    for x, y in ((262, 14), (212, 462)):
        box(ax, x - 34, y - 8, 68, 16, PAPER, line=0, z=1)
        write(ax, x, y, "residual", 11.5, ink=SOFT)
    _key(ax, 440, 250)
    return ax


def _way(ax, *corners, dashed=False):
    """A line round corners, with a head at its end."""
    for one, other in pairwise(corners[:-1]):
        wire(ax, one, other, SOFT, 1.2, dashed=dashed)
    arrow(ax, *corners[-2:], SOFT, 1.2, head=4)


def _term(ax, middle, side, kept, short, size):
    """A box with name and bytes below it; beside or in it for a mask."""
    (x, y), (fill, hatch) = middle, _look(kept)
    box(ax, x - side / 2, y - side / 2, side, side, fill, hatch=hatch)
    if short == "mask":
        wide = side > 40
        at, where = (x, "middle") if wide else (x + side / 2 + 6, "left")
        write(ax, at, y - 8, short, 11.5, where)
        write(ax, at, y + 8, size, 12, where, weight="bold")
        return
    below = y + max(side, 24) / 2
    lines = 1 + short.count("\n")
    write(ax, x, below + 2 + 8 * lines, short, 11.5)
    write(ax, x, below + 12 + 16 * lines, size, 12, weight="bold")


def _flow(ax, start, end, sides):
    """An arrow from the edge of a box to that of another, or to a sum."""
    (x, y), (u, v) = (_PLACES | _SUMS)[start][:2], (_PLACES | _SUMS)[end][:2]
    half, other = sides.get(start, 16) / 2 + 2, sides.get(end, 18) / 2 + 3
    look = {"ink": SOFT, "width": 1.2, "head": 4}
    if y == v:
        arrow(ax, (x + half, y), (u - other, v), **look)
    elif x == u:
        arrow(ax, (x, y - half), (u, v + other), **look)
    elif end == "value":
        wire(ax, (x + half + 14, y), (x + half + 14, v), SOFT, 1.2)
        arrow(ax, (x + half + 14, v), (u - other, v), **look)
    else:
        wire(ax, (x, y - half), (x, v + 18), SOFT, 1.2)
        arrow(ax, (x, v + 18), (u - other, v + 18), **look)


def _look(kept):
    """Fill and hatch of a term, by what cuts it."""
    if kept.of == "abss":
        return colour("memory-3"), None
    if kept.cut_by == "TP":
        return shade("Y", 1, 4), None
    return WHOLE, _SP


def _key(ax, x, y):
    """What the fills of the boxes mean."""
    rows = (
        (
            "scores: one for each head and pair\nof tokens; TP cuts them too",
            colour("memory-3"),
            None,
        ),
        ("cut by tensor parallelism, TP", shade("Y", 1, 4), None),
        ("whole on every chip without SP", WHOLE, _SP),
    )
    for n, (words, fill, hatch) in enumerate(rows):
        top = y + 30 * n + 8 * (n > 0)
        box(ax, x, top, 18, 16, fill, hatch=hatch)
        write(ax, x + 26, top + 8, words, 12, "left")


@styled
def tallies(layers, name="bytes"):
    """Draw what layers keep as bars of named parts, one below the other.

    layers   dict: title -> list of (name, bytes, cut_by), where cut_by is "TP"
             or "SP" as of `memory.LAYER`
    name     of the unit
    returns  the axes drawn on
    source   chapter 12
    """
    pitch, left = 98, 8
    ax = canvas(690, pitch * len(layers) + 8)
    most = max(sum(size for _, size, _ in parts) for parts in layers.values())
    unit = (690 - 2 * left) / most
    for row, (title, parts) in enumerate(layers.items()):
        x, y = left, 28 + row * pitch
        total = sum(size for _, size, _ in parts)
        words = f"{title}: {total:.3g} {name}"
        write(ax, x, y - 14, words, 12.5, "left", weight="bold")
        for words, size, cut_by in parts:
            look = shade("Y", 1, 4) if cut_by == "TP" else WHOLE
            hatch = None if cut_by == "TP" else _SP
            box(ax, x, y, size * unit, 26, look, hatch=hatch)
            if size * unit > 16:
                middle = x + size * unit / 2
                if hatch:
                    box(ax, middle - 9, y + 5, 18, 16, WHOLE, line=0, z=2)
                write(ax, middle, y + 13, f"{size:.2g}", 12, zorder=3)
                write(
                    ax,
                    middle,
                    y + 33 + 8 * (1 + words.count("\n")) - 4,
                    words,
                    12,
                    ink=SOFT,
                )
            x += size * unit
    return ax


@styled
def policies(found, sizes):
    """Draw what policies keep at several sizes, and the FLOPs they add.

    found    dict: policy -> list of (bytes for each element, share of FLOPs
             more), one for each size
    sizes    what the sizes are, in words
    returns  the axes drawn on, with a logarithmic scale of bytes; where sizes
             make no difference a dot stands once. FLOPs are the last size's
    source   chapter 12
    """
    left, right, pitch = 150, 590, 48
    ax = canvas(690, 72 + pitch * len(found))
    low, high = 1.7, max(size for row in found.values() for size, _ in row)

    def at(size):
        return left + (right - left - 22) * log(size / low) / log(high / low)

    fills = [colour(f"memory-{n}") for n in (1, 2, 4)]
    for n, words in enumerate(sizes):
        _meaning(ax, left + (6, 170, 262)[n], 12, fills[n], words)
    _meaning(ax, left + 6, 38, WHOLE, "the same at all three")
    write(ax, right + 8, 40, "more FLOPs", 13, "left", weight="bold")
    floor = 48 + pitch * len(found)
    wire(ax, (left, floor), (right, floor), LINE, 1, z=0)
    ticks = [n for n in (2, 5, 10, 20, 50, 100, 200, 500) if n < 1.2 * high]
    for tick in ticks:
        wire(ax, (at(tick), 44), (at(tick), floor), colour("grid"), 1, z=0)
        write(ax, at(tick), floor + 12, tick, 12, ink=SOFT)
    write(ax, left - 10, floor + 12, "bytes an element", 12, "right", ink=SOFT)
    for row, (name, each) in enumerate(found.items()):
        y = 70 + pitch * row
        write(ax, left - 10, y, name, 13, "right")
        _dots(ax, [at(size) for size, _ in each], y, each, fills)
        write(ax, right + 8, y, _more(each[-1][1]), 13, "left")
    return ax


def _dot(ax, x, y, fill):
    """A dot on a line, in the colour of what it means."""
    look = {"mfc": fill, "mec": INK, "mew": 0.6}
    ax.plot(x, y, "o", ms=9, zorder=3, **look)


def _meaning(ax, x, y, fill, words):
    """A dot, and what it means, which a line below it holds at its side."""
    wire(ax, (x, y), (x + 4, y), LINE, 1)
    _dot(ax, x, y, fill)
    write(ax, x + 12, y, words, 12.5, "left")


def _dots(ax, xs, y, each, fills):
    """One policy: its dots joined by a line, each with its bytes above."""
    wire(ax, (xs[0], y), (xs[-1], y), LINE, 2)
    same = max(xs) - min(xs) < 1
    for n, (x, (size, _)) in enumerate(zip(xs, each, strict=True)):
        if same and n < len(xs) - 1:
            continue
        fill = WHOLE if same else fills[n]
        _dot(ax, x, y, fill)
        write(ax, x, y - 16, f"{size:.0f}", 13)


def _more(share):
    """The FLOPs that a policy adds, in words."""
    return f"{share:.1%}".replace("%", " %") if share else "none"


@styled
def stacks(bars, limits=None, unit=1e9, name="GB"):
    """Draw bytes as bars of named parts, with the total beside each.

    bars     dict: name of a bar -> dict: name of a part -> bytes; a part has
             the same look in all bars
    limits   dict: name -> bytes at which a dotted line stands; None for none
    unit     bytes in a unit of the axis
    name     of the unit
    returns  the axes drawn on
    source   chapter 12
    """
    limits, left, pitch = limits or {}, 12, 54
    ax = canvas(690, pitch * len(bars) + 66)
    totals = [sum(bar.values()) for bar in bars.values()]
    most = max([*totals, *limits.values()])
    scale = (690 - left - 92) / most
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    looks = dict(zip(parts, _looks(len(parts)), strict=True))
    floor = 30 + pitch * len(bars)
    for words, size in limits.items():
        x = left + size * scale
        wire(ax, (x, 22), (x, floor), colour("mark"), 1.4, dashed=True, z=2)
        write(ax, x, 11, words, 12, ink=colour("mark"), weight="bold")
    for row, ((words, bar), total) in enumerate(
        zip(bars.items(), totals, strict=True)
    ):
        x, y = left, 46 + pitch * row
        write(ax, x, y - 11, words, 12, "left", zorder=3)
        for part, size in bar.items():
            fill, hatch = looks[part]
            box(ax, x, y, size * scale, 24, fill, hatch=hatch, line=0.6)
            x += size * scale
        over = any(total > size for size in limits.values())
        ink = colour("mark") if over else INK
        how = {"ink": ink, "weight": "bold", "zorder": 3}
        sized, ends = f"{total / unit:.1f} {name}", limits.values()
        near = any(0 <= size - total < 76 / scale for size in ends)
        if near:  # the limit stands where the words would
            write(ax, x - 4, y - 11, sized, 12, "right", **how)
        else:
            write(ax, x + 7, y + 12, sized, 12, "left", **how)
    x = left
    for part, (fill, hatch) in looks.items():
        box(ax, x, floor + 14, 18, 14, fill, hatch=hatch)
        write(ax, x + 24, floor + 21, part, 11.5, "left", ink=SOFT)
        x += 46 + 6.6 * len(part)
    return ax


def _looks(count):
    """So many fills, told apart by hatches as well."""
    fills = "memory-2", "memory-1", "memory-4", "memory-3", "surface", "surface"
    hatches = (None, None, None, "xxxx", None, "----")
    return [(colour(fills[n % 6]), hatches[n % 6]) for n in range(count)]


@styled
def stage_bytes(runs, states=0, limit=None, unit=1e9, name="GB"):
    """Draw what stages of pipelines hold over a step.

    runs     dict: title -> dict: name of a stage -> list of (time, bytes), in
             order of time, the last of them at the end of the step
    states   bytes that each of them holds all the time, below
    limit    bytes at which a dashed line stands; None for none
    unit     bytes in a unit of the axis
    name     of the unit
    returns  the axes: a row for each title, a column for each stage; dots are
             the peaks
    raises   ValueError for no run
    source   chapter 12
    """
    if not runs:
        raise ValueError("runs must hold a schedule, got none")
    stages = list(next(iter(runs.values())))
    size = (7.0, 1.55 * len(runs) + 0.6)
    how = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = panels(len(runs), len(stages), size=size, **how)
    figure.subplots_adjust(hspace=0.5, wspace=0.1)
    for row, (title, held) in zip(axes, runs.items(), strict=True):
        for ax, (stage, points) in zip(row, held.items(), strict=True):
            # On all of them: a phone shows one below the other.
            ax.set_title(f"{title}, {stage}", loc="left")
            _stage(ax, points, states / unit, unit)
            if limit:
                ink = colour("mark")
                ax.axhline(limit / unit, ls="--", color=ink, lw=1)
        top = 1.25 * limit / unit if limit else None
        row[0].set(ylabel=name, ylim=(0, top))
    for ax in axes[-1]:
        ax.set(xlabel="time, in forwards of a microbatch", xlim=(0, None))
    if limit:
        look = {"color": colour("mark"), "va": "bottom", "ha": "right"}
        for ax in axes.flat:
            at = ax.get_xlim()[1], 1.02 * limit / unit
            ax.text(*at, f"{limit / unit:.0f} {name}", weight="bold", **look)
    how = {"ha": "center", "va": "center", "fontsize": SMALL}
    middle, height = axes[0, 0].get_xlim()[1] / 2, states / unit
    axes[0, 0].text(0.42 * 2 * middle, 1.35 * height, "activations", **how)
    if states:
        axes[0, 0].text(middle, height / 2, "states", **how)
    return axes


def _stage(ax, points, below, unit):
    """What one stage holds: its states, and its activations on top."""
    x, y = zip(*points, strict=True)
    y = [below + size / unit for size in y]
    x, y = (0.0, *x), (below, *y)
    floor = {"fc": colour("memory-2"), "ec": INK, "lw": 0.6}
    ax.fill_between(x, [below] * len(x), **floor)
    look = {"fc": colour("memory-4"), "ec": INK, "lw": 0.6}
    ax.fill_between(x, below, y, step="post", **look)
    peak = max(y)
    at = (x[y.index(peak)], peak)
    ax.plot(*at, "o", color=INK, ms=4, clip_on=False)
    how = {"textcoords": "offset points", "weight": "bold"}
    how["bbox"] = {"fc": PAPER, "ec": "none", "pad": 0.5}
    ax.annotate(f"{peak:.1f}", at, (4, 6), **how)


@styled
def ladder(rungs, away=None, unit=1e9, name="GB"):
    """Draw what is left after each of some steps, as squares.

    rungs    list of (words, bytes, price): what is done, what a chip still
             keeps then, and what that step costs, in words. Steps go from left
             to right; the last one stands above
    away     (words, price) of another last step, which sends away a part of
             what is left; it stands below. None for none
    unit     bytes in a unit
    name     of the unit
    returns  the axes drawn on; areas are bytes
    raises   ValueError for fewer than two, or one of no bytes
    source   chapter 12
    """
    if len(rungs) < 2 or min(size for _, size, _ in rungs) <= 0:
        raise ValueError("rungs must be two or more of above 0 bytes each")
    ax = canvas(COLUMN, 236)
    most, pitch = max(size for _, size, _ in rungs), 80
    sides = [150 * (size / most) ** 0.5 for _, size, _ in rungs]
    x, ends = 2, []
    for (words, size, price), side in zip(rungs[:-1], sides, strict=False):
        if ends:
            _step(ax, (ends[-1], _MIDDLE), (x, _MIDDLE), price)
        box(ax, x, _MIDDLE - side / 2, side, side, colour("memory-3"))
        under = _MIDDLE + side / 2
        middle = x + max(side, 54) / 2 if x == 2 else x + side / 2
        _named(ax, middle, under, words, f"{size / unit:.3g} {name}")
        ends.append(x + side)
        x += side + pitch
    left = ends[-1]
    last = (rungs[-1][0], f"{rungs[-1][1] / unit:.2g} {name}", rungs[-1][2])
    ways = [(*last, sides[-1], _MIDDLE - (68 if away else 0), None)]
    if away:
        words = (away[0], "a part of it", away[1])
        ways.append((*words, sides[-2], _MIDDLE + 62, (0, (3, 2))))
    for words, size, price, side, y, dashed in ways:
        _step(ax, (left, _MIDDLE), (x, y), price)
        fill = "none" if dashed else colour("memory-3")
        box(ax, x, y - side / 2, side, side, fill, line=0 if dashed else 0.8)
        if dashed:
            at = x, y - side / 2
            look = {"fill": False, "ec": INK, "lw": 0.8, "ls": dashed}
            ax.add_patch(Rectangle(at, side, side, **look))
        _named(ax, x - 2, y + side / 2, words, size, "left")
    return ax


_MIDDLE = 96  # pixels from the top to the middle of the squares


def _step(ax, start, end, price):
    """An arrow from a square to the next, with its price on it."""
    (x, y), (u, v) = start, end
    arrow(ax, (x + 6, y + 0.1 * (v - y)), (u - 6, v), SOFT, 1.2, head=5)
    over = (y + v) / 2
    if v > y:  # below the arrow stands the name of the square it leaves
        write(ax, (x + u) / 2 + 16, over - 8, price, 12, "left", ink=SOFT)
        return
    over -= 13 + 8 * price.count("\n") + 8 * (v < y)
    write(ax, (x + u) / 2 - 16 * (v < y), over, price, 12, ink=SOFT)


def _named(ax, x, y, words, size, at="middle"):
    """The bytes of a square below it, and what was done."""
    write(ax, x, y + 13, size, 13, at, weight="bold")
    write(ax, x, y + 30 + 8 * words.count("\n"), words, 12, at)
