"""Runs that fail, copies of what they know, and where a wrong bit goes."""

import numpy as np
from matplotlib.patches import Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from shardlab.plot.axes import (
    INK,
    LINE,
    POINT,
    SOFT,
    WHOLE,
    canvas,
    new_axes,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, ramp
from shardlab.plot.things import arrow, box, wire, write

__all__ = [
    "cut_anew",
    "failing_runs",
    "fault_places",
    "kept_work",
    "lost_shares",
    "recoveries",
    "waiting",
]

HOUR = 3600
LOOKS = {
    "work": (colour("arithmetic-2"), "", "work that is kept"),
    "lost": (colour("paper"), "//////", "work that is lost"),
    "save": (colour("memory"), "", "saving"),
    "restart": (colour("line"), "", "restart"),
}


@styled
def failing_runs(runs):
    """Draw what runs did hour by hour: work, work lost, saving, restarts.

    runs     dict: title -> list of `shardlab.failures.Event`
    returns  the axes, one for each run, one below the other
    raises   ValueError for no run, or an empty one
    source   chapter 17
    """
    refuse_empty("runs", runs, "failures.Event")
    how = {"sharex": True, "squeeze": False}
    figure, axes = panels(len(runs), 1, (7.0, 0.95 * len(runs) + 0.9), **how)
    for ax, (title, run) in zip(axes.flat, runs.items(), strict=True):
        for kind, (fill, hatch, _) in LOOKS.items():
            edge = colour("mark") if hatch else "none"
            look = {"fc": fill, "hatch": hatch, "ec": edge, "lw": 0}
            ax.add_patch(PathPatch(_bars(run, kind), **look))
        ax.set_title(title, loc="left", pad=4)
        ax.set(yticks=[], ylim=(-0.5, 0.5), xlim=(0, run[-1].end / HOUR))
        ax.spines["left"].set_visible(False)
    axes.flat[-1].set_xlabel("hours")
    names = [
        Patch(fc=fill, hatch=hatch, ec=colour("mark") if hatch else INK, lw=0.6)
        for fill, hatch, _ in LOOKS.values()
    ]
    words = [look[2] for look in LOOKS.values()]
    figure.legend(names, words, ncol=4, loc="upper center")
    figure.tight_layout(rect=(0, 0, 1, 0.9))
    return list(axes.flat)


def _bars(run, kind):
    """All events of a kind as one path; work lies behind all the others."""
    spans = [(e.start / HOUR, e.end / HOUR) for e in run if e.kind == kind]
    if kind == "work":
        spans = [(run[0].start / HOUR, run[-1].end / HOUR)]
    corners = [
        [(a, -0.45), (b, -0.45), (b, 0.45), (a, 0.45), (a, -0.45)]
        for a, b in spans
    ]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(spans)
    return Path(np.reshape(corners, (-1, 2)), codes)


@styled
def kept_work(interval, save, mtbf, restart):
    """Draw how much work outlives the next failure, as an area.

    interval, save  seconds of work between two checkpoints, and of a save
    mtbf     mean seconds between failures
    restart  seconds from a failure until the work goes on
    returns  the axes drawn on: below the probability that no failure has come
             yet, a bar for each interval, as high as where its save ends
    source   chapter 17
    """
    ax = new_axes(None, (6.4, 3.5))
    hours = np.linspace(0, 4 * mtbf / HOUR, 400)
    starts = np.arange(restart, 4 * mtbf, interval + save)

    def lasts(seconds):
        return np.exp(-seconds / mtbf)

    def stripe(kind, start, wide, high):
        fill, hatch, _ = LOOKS[kind]
        edge = colour("mark") if hatch else "none"
        x, y = np.array([start, start + wide]) / HOUR, [high, high]
        ax.fill_between(x, y, fc=fill, hatch=hatch, ec=edge, lw=0)

    fill, hatch, _ = LOOKS["lost"]
    look = {"fc": fill, "hatch": hatch, "ec": colour("mark"), "lw": 0}
    ax.fill_between(hours, lasts(hours * HOUR), **look)
    early = np.linspace(0, restart / HOUR, 20)
    ax.fill_between(early, lasts(early * HOUR), fc=LOOKS["restart"][0], lw=0)
    for start in starts:
        end = start + interval
        stripe("work", start, interval, lasts(end + save))
        stripe("save", end, save, lasts(end + save))
    ax.plot(hours, lasts(hours * HOUR), color=INK)
    names = [
        Patch(fc=fill, hatch=hatch, ec=colour("mark") if hatch else INK, lw=0.6)
        for fill, hatch, _ in LOOKS.values()
    ]
    ax.legend(names, [look[2] for look in LOOKS.values()], frameon=False)
    ax.set(xlim=(0, hours[-1]), ylim=(0, 1.02), xlabel="hours after a failure")
    ax.set(ylabel="no failure yet, probability", yticks=[0, 0.5, 1])
    return ax


STEPS = {
    "notice": colour("pod-3"),
    "swap": colour("pod-2"),
    "start": colour("pod-1"),
    "load": colour("memory-3"),
    "compile": colour("arithmetic-2"),
    "redo": colour("paper"),
}


@styled
def recoveries(budgets, between=None):
    """Draw what fills the time from a failure until a run is where it was.

    budgets  dict: title -> dict of minutes, for all of the steps "notice",
             "swap", "start", "load", "compile" and "redo", in this order
    between  minutes from failure to failure, of which shares are written at
             the ends; None: no shares
    returns  the axes drawn on: a bar for each title, from the top
    raises   ValueError for no budget, or for other steps
    source   chapter 17
    """
    refuse_empty("budgets", budgets, "minutes")
    for title, budget in budgets.items():
        if list(budget) != list(STEPS):
            raise ValueError(
                f"steps of {title!r} must be {list(STEPS)}, got {list(budget)}"
            )
    height = 0.52 * len(budgets) + 1.1
    _, ((ax,),) = panels(1, 1, (7.2, height), squeeze=False)
    longest = max(sum(budget.values()) for budget in budgets.values())
    for row, budget in enumerate(budgets.values()):
        start = 0
        for step, fill in STEPS.items():
            look = {"fc": fill, "ec": INK, "lw": 0.6, "height": 0.62}
            if step == "redo":
                look |= {"hatch": "//////", "ec": colour("mark")}
            drawn = ax.barh(row, budget[step], left=start, **look)
            if budget[step] > longest / 14:
                paper = {"fc": colour("paper"), "ec": "none", "pad": 2}
                how = {"bbox": paper} if step == "redo" else {}
                ax.bar_label(drawn, [step], label_type="center", **how)
            elif row == 0:
                middle = start + budget[step] / 2
                ax.text(middle, -0.34, step, ha="center", va="bottom")
            start += budget[step]
        words = f"{start:.1f} min"
        if between:
            words += f", {start / between:.1%}"
        ax.text(start + longest / 80, row, words, va="center")
    ax.set_yticks(range(len(budgets)), list(budgets))
    room = 1.25 if between else 1.13
    ax.set(xlabel="minutes after the failure", xlim=(0, room * longest))
    ax.set_ylim(len(budgets) - 0.5, -0.8)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    return ax


_SHARES = {"saving": "save", "work done twice": "lost", "restart": "restart"}


@styled
def lost_shares(groups, words=None):
    """Draw which shares of its time a run loses to what, as bars.

    groups   dict: title -> dict: name of a bar -> percent lost by saving, by
             work done twice and by restarts
    words    dict: (title, name) -> what stands at the end of a bar beside its
             sum; None, or a bar that it does not hold: nothing
    returns  the axes drawn on: a group of bars for each title
    raises   ValueError if there is nothing to draw
    source   chapter 17
    """
    if not groups or not all(groups.values()):
        raise ValueError(f"groups must hold bars, got {groups!r}")
    bars = [shares for group in groups.values() for shares in group.values()]
    left, high = 206, 20
    unit = (690 - left - (150 if words else 64)) / max(map(sum, bars))
    ax = canvas(690, 20 + 34 * len(groups) + 27 * len(bars))
    for n, (name, kind) in enumerate(_SHARES.items()):
        x = left + (0, 94, 244)[n]
        _share(ax, (x, 6), 16, kind, 14)
        write(ax, x + 22, 13, name, 12, "left")
    y = 40
    for title, group in groups.items():
        write(ax, 2, y, title, 13, "left", weight="bold")
        y += 14
        for name, shares in group.items():
            write(ax, left - 8, y + high / 2, name, 12, "right")
            x = left
            for share, kind in zip(shares, _SHARES.values(), strict=True):
                _share(ax, (x, y), share * unit, kind, high)
                x += share * unit
            end = f"{sum(shares):.1f}%"
            if words and (title, name) in words:
                end += f", {words[title, name]}"
            write(ax, x + 7, y + high / 2, end, 12, "left")
            y += 27
        y += 20
    return ax


def _share(ax, corner, width, kind, high):
    """A box of one kind of `LOOKS`."""
    fill, hatch, _ = LOOKS[kind]
    edge = colour("mark") if hatch else INK
    box(ax, *corner, width, high, fill, edge=edge, line=0.6, hatch=hatch)


@styled
def waiting(kinds):
    """Draw chips that wait for the slowest, step after step.

    kinds    dict: title -> an array of steps, for each the seconds of every
             chip
    returns  the axes drawn on: a lane for each chip, on one scale of time
    raises   ValueError if there is nothing to draw
    source   chapter 17
    """
    if not kinds:
        raise ValueError(f"kinds must hold arrays, got {kinds!r}")
    longest = max(np.max(steps, axis=1).sum() for steps in kinds.values())
    pitch = (690 - 52) / len(kinds)
    unit = (pitch - 22) / longest
    chips = max(np.shape(steps)[1] for steps in kinds.values())
    ax = canvas(690, 62 + 20 * chips)
    for chip in range(chips):
        write(ax, 44, 60 + 20 * chip, f"chip {chip}", 12, "right", SOFT)
    for n, (name, fill) in enumerate((("work", "work"), ("waiting", None))):
        fill = LOOKS[fill][0] if fill else WHOLE
        box(ax, 524 + 74 * n, 4, 14, 14, fill, line=0.6)
        write(ax, 544 + 74 * n, 11, name, 12, "left")
    for n, (title, steps) in enumerate(kinds.items()):
        x = 54 + n * pitch
        write(ax, x, 34, title, 13, "left", weight="bold")
        for step in np.asarray(steps):
            wide = step.max() * unit
            for chip, seconds in enumerate(step):
                y = 52 + 20 * chip
                box(ax, x, y, wide, 16, WHOLE, line=0.6)
                look = {"line": 0.6, "z": 1.2}
                box(ax, x, y, seconds * unit, 16, LOOKS["work"][0], **look)
            x += wide
    return ax


@styled
def cut_anew(arrays, chip=None, names=("", "")):
    """Draw matrices side by side, cut as they lie on their meshes.

    arrays   dict: title -> a matrix sharded over a mesh of one or two axes
    chip     whose block of the last matrix is filled, in all of them; None:
             nobody's
    names    of the rows and the columns
    returns  the axes drawn on: blocks are numbered by their chips
    raises   ValueError for no array, or when one is no matrix
    source   chapter 17
    """
    if not arrays or any(x.ndim != 2 for x in arrays.values()):
        raise ValueError(f"arrays must hold matrices, got {list(arrays)}")
    ax = canvas(690, 252)
    pitch = 690 / len(arrays)
    last = list(arrays.values())[-1].addressable_shards
    filled = [shard.index for shard in last if shard.device.id == chip]
    for n, (title, x) in enumerate(arrays.items()):
        corner, size = (n * pitch + 38, 66), (pitch - 78, 176)
        write(ax, corner[0], 12, title, 14, "left", weight="bold")
        where = [_within(corner, size, x.shape, index) for index in filled]
        for block in where:
            box(ax, *block, colour("memory-2"), edge="none")
        for shard in x.addressable_shards:
            left, top, wide, high = _within(corner, size, x.shape, shard.index)
            box(ax, left, top, wide, high, "none", edge=LINE, z=2)
            # In a tall block the number stands below what is filled.
            middle = left + wide / 2, top + high - min(high / 2, 24)
            write(ax, *middle, f"chip\n{shard.device.id}", 12, zorder=4)
        for block in where:
            box(ax, *block, "none", edge=INK, line=2, z=3)
        _cuts(ax, corner, size, x.sharding, names)
        if n:
            left, y = corner[0] - 64, corner[1] + size[1] / 2
            arrow(ax, (left, y), (left + 32, y), width=2.4, head=8)
    return ax


def _within(corner, size, shape, index):
    """Left, top, width and height of a block of a matrix, in pixels."""
    (top, low), (left, right) = (
        (part.indices(n)[0] / n, part.indices(n)[1] / n)
        for part, n in zip(index, shape, strict=True)
    )
    (x, y), (wide, high) = corner, size
    box = left * wide, top * high, (right - left) * wide, (low - top) * high
    return x + box[0], y + box[1], *box[2:]


def _cuts(ax, corner, size, sharding, names):
    """The names of both dimensions, and the axes that cut them, coloured."""
    (x, y), (wide, high) = corner, size
    ends = ((x - 4, y), (x - 4, y + high)), ((x, y - 4), (x + wide, y - 4))
    places = (x - 16, y + high / 2), (x + wide / 2, y - 18)
    axes = (*sharding.spec, None, None)[:2]
    for n, (axis, name) in enumerate(zip(axes, names, strict=True)):
        parts = sharding.mesh.shape[axis] if axis else 1
        if parts > 1:
            wire(ax, *ends[n], colour(ramp(axis)), 4, z=3)
            name = f"{name}, cut {parts} ways by {axis}".removeprefix(", ")
        look = {"rotation": 0 if n else 90, "va": "center"}
        write(ax, *places[n], name, 12, **look)


_STEPS = ("weights", "gradients", "received", "new weights")
# For each place, who is wrong after each step: "" nobody, "all" the same on
# all chips, "one" a single chip, "both" all, and one of them otherwise.
_WRONG = {
    "in a weight": ("one", "one", "all", "both"),
    "in a gradient": ("", "one", "all", "all"),
    "in a sum received": ("", "", "one", "one"),
}
_KINDS = {"": "right", "all": "wrong, alike", "one": "wrong, differs"}
_OTHERS = {"": "", "one": "", "all": "all", "both": "all"}
_LANES, _SUM = (106, 212, 406, 520), 310  # middles of columns, in pixels


@styled
def fault_places(chips=4, struck=2):
    """Draw how a wrong number spreads through a step of data parallelism.

    chips    replicas to draw
    struck   the one where a bit flips
    returns  the axes drawn on: a group of rows for each place of the fault
    raises   ValueError unless `struck` is one of the chips
    source   chapter 17
    """
    if not 0 <= struck < chips:
        raise ValueError(f"struck must be 0 to {chips - 1}, got {struck}")
    pitch = 26 * chips + 46
    ax = canvas(556, 52 + pitch * len(_WRONG))
    for x, name in zip((*_LANES, _SUM), (*_STEPS, "sum"), strict=True):
        write(ax, x, 10, name, 13, ink=SOFT)
    for row, (place, wrong) in enumerate(_WRONG.items()):
        top = 38 + pitch * row
        write(ax, 2, top, f"a bit flips {place}", 13, "left", weight="bold")
        agree = wrong[-1] == "all"
        words = "replicas agree" if agree else "replicas differ"
        write(ax, 552, top, words, 13, "right")
        lanes = [top + 26 + 26 * chip for chip in range(chips)]
        _flow(ax, lanes, wrong, struck)
    y = 34 + pitch * len(_WRONG)
    for x, kind in ((2, ""), (150, "all"), (346, "one")):
        _state(ax, (x + 26, y), kind)
        write(ax, x + 60, y, _KINDS[kind], 13, "left")
    return ax


def _flow(ax, lanes, wrong, struck):
    """Replicas from their weights to the sum of gradients and back."""
    ends = [(x - 26, x + 26) for x in _LANES]
    middle = (_SUM, np.mean(lanes))
    enters = any(wrong[:2])
    for chip, y in enumerate(lanes):
        who = [kind if chip == struck else _OTHERS[kind] for kind in wrong]
        ways = (
            ((ends[0][1], y), (ends[1][0], y), who[0]),
            ((ends[1][1], y), middle, who[1]),
            (middle, (ends[2][0], y), enters),
            ((ends[2][1], y), (ends[3][0], y), who[2]),
        )
        for start, end, bad in ways:
            ink, wide = (colour("mark"), 2) if bad else (LINE, 1.2)
            wire(ax, start, end, ink, wide, z=0.9 if bad else 0.8)
        write(ax, 70, y, f"chip {chip}", 13, "right", SOFT)
        for x, kind in zip(_LANES, who, strict=True):
            _state(ax, (x, y), kind)
    node = {"ms": 17 * POINT, "mfc": colour("paper"), "mew": 1.6}
    node["mec"] = colour("mark") if enters else INK
    ax.plot(*middle, "o", zorder=1.5, **node)
    write(ax, *middle, "+", 14, zorder=2)
    hit = next(n for n, kind in enumerate(wrong) if kind)
    x, y = _LANES[hit] - 4.5, lanes[struck] - 8  # in the box that it strikes
    bolt = np.array([(5, 0), (0, 9), (4, 9), (2, 16), (9, 6), (5, 6), (8, 0)])
    ax.add_patch(Polygon(bolt + (x, y), fc=colour("paper"), lw=0, zorder=3))


def _state(ax, middle, kind):
    """What a chip holds after a step: one of `_KINDS`, as a box."""
    x, y = middle
    mark = colour("mark")
    fill = mark if kind in ("one", "both") else WHOLE
    look = {"edge": mark, "line": 2} if kind else {"edge": LINE}
    box(ax, x - 26, y - 9, 52, 18, fill, **look)
