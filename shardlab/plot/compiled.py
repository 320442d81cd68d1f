"""What compilers and profilers say of a program, in pictures."""

import numpy as np

from shardlab.plot.axes import INK, SOFT, canvas, panels, styled
from shardlab.plot.colours import colour
from shardlab.plot.things import arrow, box, write

HELD = {
    "states": "memory",
    "gathered": "axis-x",
    "kept": "arithmetic",
    "logits": "pod",
}
SHORT = {
    "all-gather": "AllGather",
    "all-reduce": "AllReduce",
    "reduce-scatter": "ReduceScatter",
}


def witnesses():
    """Three engines that can be asked about a program before it runs.

    returns  the axes
    source   chapter 20
    """
    ax = canvas(640, 230)
    box(ax, 20, 85, 120, 60, words="your step")
    rows = (
        (20, "trace", "what you wrote: every collective", "no chip needed"),
        (90, "compiler", "what will run: memory, fusions", "no chip needed"),
        (160, "profiler", "what did run, and when", "needs the chips"),
    )
    for y, name, first, second in rows:
        arrow(ax, (144, 115), (226, y + 25))
        box(ax, 230, y, 110, 50, words=name)
        write(ax, 356, y + 17, first, size=12, at="left", ink=INK)
        write(ax, 356, y + 37, second, size=12, at="left", ink=SOFT)
    return ax


@styled
def predicted_and_compiled(rows, limit):
    """Bars of what a chip should hold, each beside what a compiler says.

    rows     dict: title -> (dict of bytes by name in HELD, bytes that the
             compiler says)
    limit    bytes of a chip's memory
    returns  the axes
    source   chapter 20
    """
    figure, axes = panels(1, 1, size=(6.6, 0.62 * len(rows) + 0.9))
    ax = np.ravel(axes)[0]
    for row, (parts, peak) in enumerate(rows.values()):
        left = 0
        for name, ink in HELD.items():
            size = parts.get(name, 0) / 1e9
            ax.barh(row - 0.19, size, 0.34, left=left, color=colour(ink))
            left += size
        ax.barh(row + 0.21, peak / 1e9, 0.34, color=colour("line"))
    ax.axvline(limit / 1e9, color=INK, lw=1, ls="--")
    for name, ink in HELD.items():
        ax.bar(0, 0, color=colour(ink), label=name)
    ax.bar(0, 0, color=colour("line"), label="compiler")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlabel="GB on a chip")
    ax.invert_yaxis()
    ax.legend(frameon=False, loc="lower right")
    return ax


def rewritten(programs):
    """Rows of collectives, as they were written and as compilers left them.

    programs  dict: title -> list of kinds, such as "all-gather"
    returns  the axes
    source   chapter 20
    """
    ax = canvas(760, 30 + 46 * len(programs))
    inks = {
        "all-gather": colour("axis-x"),
        "reduce-scatter": colour("axis-x-3"),
        "all-reduce": colour("arithmetic"),
    }
    for row, (title, kinds) in enumerate(programs.items()):
        y = 12 + 46 * row
        write(ax, 12, y + 17, title, size=13, at="left")
        for n, kind in enumerate(kinds):
            x = 170 + 98 * n
            box(ax, x, y, 92, 34, edge=inks[kind], words=SHORT[kind], size=11)
    return ax


@styled
def knees(chips):
    """A compiler's estimate of a product's time over its tokens, and a roof.

    chips    dict: title -> (tokens, seconds, a function of tokens to seconds)
    returns  the axes
    source   chapter 20
    """
    figure, axes = panels(1, 1, size=(6.4, 3.6))
    ax = np.ravel(axes)[0]
    for (title, (B, seconds, roof)), ink, mark in zip(
        chips.items(), ("arithmetic", "memory"), "os", strict=False
    ):
        smooth = np.geomspace(min(B), max(B), 200)
        ax.plot(smooth, 1e6 * roof(smooth), color=colour(ink), lw=1)
        ax.plot(
            B, 1e6 * np.array(seconds), mark, color=colour(ink), label=title
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens, B", ylabel="time [µs]")
    ax.legend(frameon=False)
    return ax


@styled
def lanes(rows, mark=None):
    """What processes did over time: arithmetic above, collectives below.

    rows     dict: title -> list of Done with queues "chip" and "network"
    mark     milliseconds at which something is to be seen, or None
    returns  the axes
    source   chapter 20
    """
    figure, axes = panels(1, 1, size=(8.4, 0.85 * len(rows) + 0.9))
    ax = np.ravel(axes)[0]
    inks = {"chip": colour("arithmetic"), "network": colour("axis-x")}
    for row, tasks in enumerate(rows.values()):
        for done in tasks:
            y = row - 0.2 if done.queue == "chip" else row + 0.2
            width = 1e3 * (done.end - done.start)
            ax.barh(
                y, width, 0.36, left=1e3 * done.start, color=inks[done.queue]
            )
    for queue, words in (("chip", "arithmetic"), ("network", "collectives")):
        ax.bar(0, 0, color=inks[queue], label=words)
    if mark is not None:
        ax.axvline(mark, color=INK, lw=1, ls="--")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlabel="time [ms]")
    ax.invert_yaxis()
    ax.legend(
        frameon=False, loc="upper center", ncol=2, bbox_to_anchor=(0.5, 1.2)
    )
    return ax
