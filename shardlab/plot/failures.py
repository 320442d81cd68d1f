"""Runs that fail, copies of what they know, and where a wrong bit goes."""

import numpy as np
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from shardlab.plot.axes import (
    INK,
    LINE,
    SOFT,
    WHOLE,
    canvas,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, ramp
from shardlab.plot.things import arrow, box, die, frame, wire, write

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


STEPS = {
    "notice": colour("pod-3"),
    "swap": colour("pod-2"),
    "start": colour("pod-1"),
    "load": colour("memory-3"),
    "compile": colour("arithmetic-2"),
    "redo": colour("paper"),
}


@styled
def recoveries(budgets):
    """Draw what fills the time from a failure until a run is where it was.

    budgets  dict: title -> dict of minutes, for all of the steps "notice",
             "swap", "start", "load", "compile" and "redo", in this order
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
    _, ((ax,),) = panels(1, 1, (7.0, 0.8 * len(budgets) + 1), squeeze=False)
    longest = max(sum(budget.values()) for budget in budgets.values())
    for row, budget in enumerate(budgets.values()):
        start = 0
        for step, fill in STEPS.items():
            look = {"fc": fill, "ec": INK, "lw": 0.6, "height": 0.6}
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
        ax.text(start + longest / 80, row, f"{start:.1f} min", va="center")
    titles = [title.replace(", ", ",\n") for title in budgets]
    ax.set_yticks(range(len(budgets)), titles)
    ax.set(xlabel="minutes after the failure", xlim=(0, 1.13 * longest))
    ax.set_ylim(len(budgets) - 0.5, -0.7)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    return ax


@styled
def copies(words):
    """Draw where copies of a chip's state lie, and what leads to each.

    words    dict: "host", "neighbour" and "storage" -> what stands at the
             arrow to it, such as bytes and seconds; lines end in a newline
    returns  the axes drawn on
    raises   ValueError for another place, or one that is missing
    source   chapter 17
    """
    if set(words) != {"host", "neighbour", "storage"}:
        raise ValueError(
            f"words must be of host, neighbour and storage, got {list(words)}"
        )
    ax = canvas(690, 352)
    thick = {"width": 2.4, "head": 8}
    fill = colour("memory-1")
    for n, x in enumerate((30, 438)):
        frame(ax, x, 10, 222, 226, f"node {n}")
        die(ax, x + 26, 40, 120, 62, "GPU")
        box(ax, x + 16, 172, 190, 48, fill, "host memory", size=13)
        arrow(ax, (x + 50, 104), (x + 50, 170), **thick)
        arrow(ax, (x + 111, 222), (x + 111, 302), **thick)
    write(ax, 92, 137, words["host"], 13, "left")
    write(ax, 153, 270, words["storage"], 13, "left")
    # Stubs at the sides: each node sends to the next, the last to the first.
    for start, end in ((236, 452), (0, 44), (644, 690)):
        arrow(ax, (start, 196), (end, 196), **thick)
    write(ax, 345, 160, words["neighbour"], 13)
    box(ax, 46, 304, 598, 38, colour("memory-2"), "storage", size=13)
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


_STEPS = ("weights", "gradients", "sums received", "new weights")
# For each place, who is wrong after each step: "" nobody, "all" the same on
# all chips, "one" a single chip, "both" all, and one of them otherwise.
_WRONG = {
    "in a weight": ("one", "one", "all", "both"),
    "in a gradient": ("", "one", "all", "all"),
    "in a sum received": ("", "", "one", "one"),
}


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
    left, wide, high = 186, 124, 24
    pitch = chips * (high + 4) + 20
    ax = canvas(690, 30 + pitch * len(_WRONG))
    for n, name in enumerate(_STEPS):
        write(ax, left + n * wide + 55, 14, name, 13, weight="bold")
    for row, (place, wrong) in enumerate(_WRONG.items()):
        top = 32 + pitch * row
        write(ax, 4, top + pitch / 2 - 12, f"a bit flips\n{place}", 13, "left")
        for chip in range(chips):
            y = top + chip * (high + 4)
            write(ax, left - 8, y + high / 2, f"chip {chip}", 11, "right", SOFT)
            for n, who in enumerate(wrong):
                _state(ax, (left + n * wide, y), who, chip == struck)
    return ax


def _state(ax, corner, who, here):
    """One chip's copy after one step: right, wrong, or wrong by itself."""
    alone = here and who in ("one", "both")
    if alone:
        mark, paper = colour("mark"), colour("paper")
        box(ax, *corner, 110, 24, mark, "wrong, differs", ink=paper, edge=mark)
    elif who in ("all", "both"):
        mark = colour("mark")
        box(ax, *corner, 110, 24, "none", "wrong, alike", ink=mark, edge=mark)
    else:
        box(ax, *corner, 110, 24, WHOLE, "right", ink=SOFT)
