"""Runs that fail, copies of what they know, and where a wrong bit goes."""

import numpy as np
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from shardlab.plot.axes import (
    INK,
    SOFT,
    WHOLE,
    canvas,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour
from shardlab.plot.things import arrow, box, die, frame, matrix, write

HOUR = 3600
LOOKS = {
    "work": (colour("arithmetic-2"), "", "work that is kept"),
    "lost": (colour("paper"), "//////", "work that is lost"),
    "save": (colour("memory-3"), "", "saving"),
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
    ax = canvas(690, 330)
    for x, name in ((8, "node 0"), (457, "node 1")):
        frame(ax, x, 10, 225, 218, name)
        die(ax, x + 52, 42, 120, 62, "GPU")
        fill = colour("memory-1")
        box(ax, x + 32, 164, 160, 48, fill, "host memory", size=13)
    arrow(ax, (120, 106), (120, 162), width=2.4, head=8)
    write(ax, 132, 134, words["host"], 13, "left")
    arrow(ax, (202, 188), (487, 188), width=2.4, head=8)
    write(ax, 345, 170, words["neighbour"], 13)
    box(ax, 40, 284, 609, 36, colour("memory-2"), "storage", size=13)
    arrow(ax, (120, 214), (120, 282), width=2.4, head=8)
    write(ax, 132, 256, words["storage"], 13, "left")
    return ax


@styled
def cut_anew(arrays):
    """Draw matrices side by side, cut as they lie on their meshes.

    arrays   dict: title -> a matrix sharded over a mesh of one or two axes
    returns  the axes drawn on: blocks are numbered by their chips
    raises   ValueError for no array, or when one is no matrix
    source   chapter 17
    """
    if not arrays or any(x.ndim != 2 for x in arrays.values()):
        raise ValueError(f"arrays must hold matrices, got {list(arrays)}")
    ax = canvas(690, 236)
    pitch = 690 / len(arrays)
    for n, (title, x) in enumerate(arrays.items()):
        left, wide = n * pitch + 22, pitch - 60
        write(ax, left, 14, title, 14, "left", weight="bold")
        sizes = x.sharding.mesh.shape
        rows, columns = (
            (axis, sizes[axis]) if axis and sizes[axis] > 1 else None
            for axis in (*x.sharding.spec, None, None)[:2]
        )
        matrix(ax, left, 44, wide, 176, rows, columns)
        _number(ax, x, (left, 44), (wide, 176))
        if n:
            arrow(ax, (left - 50, 132), (left - 12, 132), width=2.4, head=8)
    return ax


def _number(ax, x, corner, size):
    """The number of each chip in the middle of the block that it holds."""
    for shard in x.addressable_shards:
        middle = [
            start + long * (part.indices(n)[0] + part.indices(n)[1]) / 2 / n
            for start, long, part, n in zip(
                corner, size, shard.index[::-1], x.shape[::-1], strict=True
            )
        ]
        write(ax, *middle, f"chip\n{shard.device.id}", 12, zorder=4)


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
    left, wide, high = 166, 126, 24
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
