"""Published runs: how chips were dealt, what fits, and what a step takes."""

from fractions import Fraction
from math import ceil, log2

from shardlab.plot.axes import (
    INK,
    LINE,
    POINT,
    SOFT,
    canvas,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import box, write

__all__ = [
    "case_card",
    "dealt_chips",
    "enough_tokens",
    "forecasts",
    "gradient_lives",
    "spent_seconds",
]

_AXES = {"TP": "Y", "PP": "Z", "EP": "X", "CP": "Z", "DP": "X", "pods": "pod"}
# EP takes chips of DP, CP shares a hue with PP.
_DARK = {"EP": 3, "CP": 3, "TP": 2}
_AXES |= {"FSDP": "X", "DCN": "pod"}
_PARTS = {"matmuls": "arithmetic-3", "between": "arithmetic-1"}
_PARTS |= {"states": "memory-3", "gathered": "memory-1", "logits": "memory-4"}
_PARTS |= {"activations": "memory-2", "tokens": "axis-x-2"}
_WORDS = {"matmuls": "matmuls", "between": "between them", "TP": "TP"}
_WORDS |= {"PP": "PP", "CP": "CP", "EP": "EP", "DP": "DP (ZeRO, FSDP)"}
_WORDS |= {"DCN": "pods"}
_WORDS |= {"bubble": "bubble"}


@styled
def dealt_chips(rows, node=None):
    """Draw how many chips each mesh axis has, in doublings, a row for each run.

    rows     dict: name -> dict of a mesh axis, TP, PP, CP, EP or DP, -> chips
    node     chips of a node, where a line is drawn; None for no line
    returns  the axes drawn on; an axis of one chip has no length
    source   chapter 16
    """
    pitch, left = 32, 150
    unit = (686 - left) / max(map(_doublings, rows.values()))
    ax = canvas(690, pitch * len(rows) + 28)
    for n, (name, mesh) in enumerate(rows.items()):
        x, y = left, 24 + n * pitch
        write(ax, left - 10, y + 12, name, 13, "right")
        for axis, count in mesh.items():
            wide = _doublings({axis: count}) * unit
            if wide:
                words = f"{axis} {count}" if wide > 36 else count
                box(ax, x, y, wide, 24, _fill(axis), words, size=13)
            x += wide
    if node:
        end, low = (
            left + _doublings({"chips": node}) * unit,
            24 + pitch * len(rows),
        )
        ax.plot([end, end], [4, low], color=INK, lw=1.5 * POINT, zorder=0.5)
        write(ax, end + 6, 10, f"a node: {node} chips", 13, "left")
    write(ax, 686, 10, "each doubling has the same length", 12, "right",
          ink=SOFT)  # fmt: skip
    return ax


def _doublings(mesh):
    count = 1
    for chips in mesh.values():
        count *= chips
    return len(bin(count)) - 3 + count / 2 ** (len(bin(count)) - 3) - 1


def _fill(axis):
    return shade(_AXES[axis], _DARK.get(axis, 1))


@styled
def case_card(title, levels, bars=None):
    """Draw a run: what a group of chips is on its machine, and what it takes.

    title    in words
    levels   list, from the chip up, of (name, (rows, columns), TP, PP, EP, DP
             or pods, words below); a cell is all of the level before it, and of
             6.5 columns the last is half a cell
    bars     dict: heading -> (dict of a part -> its size, a limit, its words)
    returns  the axes drawn on
    source   chapter 16
    """
    bars = bars or {}
    most = max(words.count("\n") for *_, words in levels)
    below = 170 + 17 * most + 18 * bool(bars)  # for words on a phone
    ax = canvas(690, below + 90 * len(bars) - 12 * bool(bars))
    write(ax, 12, 14, title, 14, "left", weight="bold")
    share, before = min(210, 674 / len(levels)), None
    for n, level in enumerate(levels):
        before = _level(ax, 12 + n * share, level, before)
    most = {}  # bars with the same limit have the same scale
    for parts, limit, _ in bars.values():
        most[limit] = max(limit, most.get(limit, 0), sum(parts.values()))
    for n, (heading, (parts, limit, words)) in enumerate(bars.items()):
        mark = limit, words, 640 / most[limit]
        _bar(ax, below + 90 * n, heading, parts, mark)
    return ax


def _level(ax, x, level, before):
    """One group as a grid of the groups before it; returns its right edge."""
    name, (rows, columns), axis, words = level
    side = min(140 / columns, 70 / rows, 32)
    y, gap = 54, min(2, side / 6)
    write(ax, x, 40, name, 13, "left", weight="bold")
    count = rows * ceil(columns)
    for n in range(count):
        row, column = divmod(n, ceil(columns))
        at = x + column * side, y + row * side
        wide = side * min(1, columns - column) - gap
        fill = shade("Z", n, count) if axis == "PP" else _fill(axis)
        edge = INK if side > 10 else "none"
        box(ax, *at, wide, side - gap, fill, line=0.6, edge=edge)
    if before:
        right, low = before
        look = {"color": LINE, "lw": POINT, "ls": (0, (3, 2)), "zorder": 0.5}
        ax.plot([right + 3, x - 2], [y, y], **look)
        ax.plot([right + 3, x - 2], [low, y + side - gap], **look)
    for n, line in enumerate(words.split("\n")):
        write(ax, x, y + rows * side + 16 + 17 * n, line, 13, "left")
    return x + columns * side - gap, y + rows * side - gap


def _bar(ax, y, heading, parts, mark):
    """Parts in a row, each named in it or below it, and a limit."""
    limit, words, unit = mark
    write(ax, 12, y, heading, 13, "left", weight="bold")
    x, names = 12, []
    for what, size in parts.items():
        wide, named = size * unit, f"{what} {_short(size)}"
        fits = 7.2 * len(named) + 6 < wide
        _segment(ax, (x, y + 14, wide, 28), what, named if fits else "")
        names += [] if fits or wide < 1 else [named]
        x += wide
    if names:
        also = "" if len(names) == len(parts) else "also, "
        said = f"{also}from the left: " + ", ".join(names)
        write(ax, 12, y + 54, said, 12, "left")
    end = 12 + limit * unit
    ax.plot([end, end], [y + 11, y + 48], color=INK, lw=2 * POINT, zorder=3)
    at = "right" if end > 560 else "left" if end < 330 else "middle"
    write(ax, end, y, words, 13, at)


def _segment(ax, place, what, words=""):
    """A part of a bar in the colour of what it is."""
    if what == "bubble":
        box(ax, *place, colour("paper"), hatch="///", edge=LINE)
        if words:  # on a plate, since hatching hides letters
            x, y, wide, high = place
            plate, middle = 7 * len(words) + 6, x + wide / 2
            place = middle - plate / 2, y + 5, plate, high - 10
            box(ax, *place, colour("paper"), line=0, edge="none", z=2)
            write(ax, middle, y + high / 2 - 3, words, 13, zorder=4)
        return
    fill = _fill(what) if what in _AXES else colour(_PARTS[what])
    box(ax, *place, fill, words, size=13)


def _short(number):
    return f"{number:,.0f}" if number >= 20 else f"{number:.2g}"


@styled
def spent_seconds(rows, notes=None):
    """Draw where the seconds of steps go, each over its published step.

    Steps of which nothing was published have one scale, up to the longest.

    rows     dict: name -> (dict of a part -> its seconds, published seconds, or
             None for all); parts are matmuls, between, mesh axes and bubble
    notes    dict: name -> words below its bar; None: the seconds of the parts
             that are too thin for them
    returns  the axes drawn on
    source   chapter 16
    """
    # A phone squeezes it, but not the letters between two bars.
    left, pitch = 156, 84 if len(rows) > 2 else 100
    longest = max(sum(parts.values()) for parts, _ in rows.values())
    bare = all(whole is None for _, whole in rows.values())
    rows = {k: (parts, whole or longest) for k, (parts, whole) in rows.items()}
    most = max(1, *(sum(p.values()) / whole for p, whole in rows.values()))
    unit = (600 - left) / most
    ax = canvas(690, 60 + pitch * len(rows))
    for n, (name, (parts, whole)) in enumerate(rows.items()):
        x, y, thin = left, 30 + pitch * n, []
        total = sum(parts.values())
        write(ax, left - 10, y + 13, name, 12, "right")
        for what, size in parts.items():
            wide = size / whole * unit
            named = [f"{what} {size:.2g}", what, ""]
            room = wide - 30 if what == "bubble" else wide - 6  # hatching shows
            words = [w for w in named if 6.6 * len(w) < room or not w][0]
            if words != named[0] and size > 0.001 * total:
                thin.append(named[0])
            middle, half = x + wide / 2, 3.7 * len(words) + 5
            hatched = words if what == "bubble" else ""
            _segment(ax, (x, y, wide, 32), what, hatched)
            if not bare:
                middle = _beside(left + unit, middle, half, (x, x + wide))
            if not hatched:
                write(ax, middle, y + 13, words, 13, zorder=4)
            x += wide
        x = x if bare else max(x, left + unit)
        said = f"{total:.3g} s" if bare else f"{total:.3g} vs {whole:.3g} s"
        write(ax, x + 8, y + 13, said, 13, "left")
        below = notes[name] if notes else "also " + ", ".join(thin)
        write(ax, left, y + 39, below if notes or thin else "", 12, "left")
    end, low = left + unit, 4 + pitch * len(rows)
    for n in range(0 if bare else len(rows)):
        y = 30 + pitch * n  # down to the bar's edge, since its note is near
        ax.plot([end, end], [y - 5, y + 32], color=INK, lw=2 * POINT, zorder=3)
    write(ax, end, 10, "" if bare else "published", 13)
    _legend(ax, 12, low + 24, {w for p, _ in rows.values() for w in p})
    return ax


def _beside(line, middle, half, ends):
    """Where words between two ends stand clear of a line.

    On a phone all but letters is half as wide, so they keep twice as far.
    """
    if abs(middle - line) >= 2 * half:
        return middle
    ways = [line + way * 2.2 * half for way in (1, -1)]
    free = [x for x in ways if ends[0] + half < x < ends[1] - half]
    if free:
        return min(free, key=lambda x: abs(x - middle))
    return line + half if abs(middle - line) < half else middle


def _legend(ax, x, y, present):
    for what, words in _WORDS.items():
        if what in present:
            _segment(ax, (x, y, 16, 14), what)
            write(ax, x + 22, y + 7, words, 12, "left")
            x += 40 + 6.7 * len(words)


@styled
def gradient_lives(rows):
    """Draw a stage's work in turn, and when a chunk's gradient is whole.

    rows     dict: name -> (list of turns, (microbatch, chunk from 0, whether it
             is a backward pass), list of (chunk, first turn, turn of the
             scatter): spans in which its gradient is whole)
    returns  the axes drawn on; an arrow is a scatter
    source   chapter 16; Chu et al., ISCA 2025, figure 4
    """
    left, pitch, wide = 142, 88, 30
    ax = canvas(690, pitch * len(rows) + 4)
    for n, (name, (turns, spans)) in enumerate(rows.items()):
        y = 12 + pitch * n
        write(ax, 12, y + 11, name, 13, "left", weight="bold")
        for turn, (microbatch, chunk, backward) in enumerate(turns):
            hue = shade("Z", chunk, 2)
            fill = hue if backward else colour("paper")
            place = left + turn * wide, y, wide - 2, 22
            box(ax, *place, fill, microbatch, edge=hue, line=2)
        for chunk, first, last in spans:
            low, x = y + 32 + 22 * chunk, left + first * wide
            end = left + (last + 1) * wide - 8
            box(ax, x, low, end - x, 10, colour("memory-3"), edge="none")
            look = {"color": colour("network"), "lw": 2 * POINT}
            ax.plot([end + 2] * 2, [low, low + 10], **look)
            ax.plot(end + 2, low + 13, "v", ms=7, color=colour("network"))
        for chunk in {chunk for chunk, *_ in spans}:
            words = f"gradient, chunk {chunk + 1}"
            write(ax, left - 8, y + 37 + 22 * chunk, words, 12, "right")
        write(ax, 684, y + 11, f"{len(spans)} scatters", 13, "right")
        alive = [
            {c for c, a, b in spans if a <= t <= b} for t in range(turn + 1)
        ]
        most = max(map(len, alive))
        write(ax, 684, y + 48, f"{most} whole", 13, "right")
    return ax


@styled
def enough_tokens(rows):
    """Draw the tokens of a chip over those that hide FSDP, run by run.

    rows     dict: name -> (tokens of a step for each chip, tokens that it
             needs, whether the run cut its weights over the data axis)
    returns  the axes drawn on; right of the line traffic can hide
    raises   ValueError if there is nothing to draw
    source   chapter 16
    """
    if not rows:
        raise ValueError("rows must hold at least one run, got none")
    left, right, pitch = 176, 560, 32
    order = sorted(rows.items(), key=lambda row: -row[1][0] / row[1][1])
    low, high = log2(1 / 12), log2(26)
    ax, end = canvas(690, 64 + pitch * len(rows)), 30 + pitch * len(rows)

    def at(ratio):
        return left + (log2(ratio) - low) / (high - low) * (right - left)

    ax.plot([at(1)] * 2, [20, end], color=INK, lw=1.5 * POINT, zorder=0.5)
    write(ax, at(1) - 8, 11, "too few", 12, "right", ink=SOFT)
    write(ax, at(1) + 8, 11, "enough for FSDP alone", 12, "left", ink=SOFT)
    write(ax, 684, 11, "has, needs", 11, "right", ink=SOFT)
    for n, (name, (has, needs, cut)) in enumerate(order):
        y = 40 + pitch * n
        write(ax, left - 12, y, name, 12, "right")
        ax.plot([left, right], [y, y], color=colour("grid"), lw=0.6, zorder=0.2)
        # A phone writes the name of a row above this, clear of its dot.
        ax.plot([left] * 2, [y - 5, y + 5], color=colour("grid"), lw=0.6)
        ends = sorted((at(1), at(has / needs)))
        ax.plot(ends, [y, y], color=colour("axis-x-2"), lw=3, zorder=1)
        fill = colour("axis-x") if cut else colour("paper")
        ax.plot(at(has / needs), y, "o", ms=7, mfc=fill, mec=colour("axis-x"),
                mew=1.5, zorder=2)  # fmt: skip
        write(ax, 684, y, f"{has:,.0f}, {needs:,.0f}", 12, "right")
    for ratio in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16):
        write(ax, at(ratio), end + 10, f"{Fraction(ratio)}", 11, ink=SOFT)
    words = "tokens of a chip over those that hide FSDP"
    write(ax, (left + right) / 2, end + 27, words, 12)
    return ax


@styled
def forecasts(points, share=1 / 3):
    """Draw forecast over published seconds, a row for each run, high to low.

    points   dict: name -> (published, forecast, forecast if all traffic hides,
             whether something important had to be assumed, a rival's guess)
    share    half of the width of the band, as part of the published time
    returns  the axes drawn on
    source   chapter 16
    """
    left, right, pitch = 176, 590, 29
    rows = sorted(points.items(), key=lambda row: -row[1][1] / row[1][0])
    low, high = 0.3, 1.6
    ax = canvas(690, 64 + pitch * len(rows))
    end = 30 + pitch * len(rows)

    def at(ratio):
        return left + (ratio - low) / (high - low) * (right - left)

    band = at(1 - share), 24, at(1 + share) - at(1 - share), end - 24
    box(ax, *band, colour("surface"), line=0, edge="none", z=0)
    ax.plot([at(1)] * 2, [20, end], color=INK, lw=1.5 * POINT, zorder=0.5)
    write(ax, at(1) - 8, 11, "too short", 12, "right", ink=SOFT)
    write(ax, at(1) + 8, 11, "too long", 12, "left", ink=SOFT)
    write(ax, 684, 11, "forecast, published", 11, "right", ink=SOFT)
    for n, (name, (whole, ours, hidden, assumed, rival)) in enumerate(rows):
        y = 40 + pitch * n
        write(ax, left - 12, y, name, 12, "right")
        ax.plot([left, right], [y, y], color=colour("grid"), lw=0.6, zorder=0.2)
        ends = [at(hidden / whole), at(ours / whole)]
        ax.plot(ends, [y, y], color=colour("network-4"), lw=4, zorder=1)
        other = at(rival / whole)
        # No higher, for a phone writes the name of a row above it.
        ax.plot([other] * 2, [y - 4, y + 4], color=SOFT, lw=3, zorder=1.5)
        fill = colour("paper") if assumed else colour("arithmetic")
        ax.plot(ends[1], y, "o", ms=7, mfc=fill, mec=colour("arithmetic"),
                mew=1.5, zorder=2)  # fmt: skip
        write(ax, 684, y, f"{ours:.3g}, {whole:.3g} s", 12, "right")
    for ratio in (0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6):
        write(ax, at(ratio), end + 10, f"{ratio:g}", 11, ink=SOFT)
    write(ax, (left + right) / 2, end + 27, "forecast over published", 12)
    return ax
