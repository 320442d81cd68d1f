"""What compilers and profilers say of a program, in pictures."""

import numpy as np

from shardlab.plot.axes import INK, SOFT, canvas, panels, styled
from shardlab.plot.colours import colour
from shardlab.plot.things import arrow, box, write
from shardlab.plot.ticks import ticks

__all__ = [
    "clocked",
    "knees",
    "lanes",
    "predicted_and_compiled",
    "witnesses",
]

HELD = {
    "states": "memory",
    "gathered": "axis-x",
    "kept": "arithmetic",
    "logits": "pod",
}
HATCH = {"gathered": "///", "kept": "\\\\\\\\", "logits": "..."}
NEAR = 3  # the first row whose bars are drawn again on a scale of their own
SHORT = {
    "all-gather": "AllGather",
    "all-reduce": "AllReduce",
    "reduce-scatter": "ReduceScatter",
}


def _rule(ax, x, y, ink=INK, dashed=False):
    """A thin line from (x[0], y[0]) to (x[1], y[1])."""
    ax.plot(x, y, color=ink, lw=0.8, ls="--" if dashed else "-", zorder=2)


def witnesses():
    """What three tools hand back of one step: a sum, a peak, and lanes.

    returns  the axes
    source   chapter 20
    """
    ax = canvas(690, 246)
    heads = (
        ("count", "what is sent?", "Friday, on a laptop"),
        ("compile", "does it fit?", "Friday, on a laptop"),
        ("profile", "how long does it take?", "Monday, on the chips"),
    )
    for n, (name, asks, when) in enumerate(heads):
        x = 236 * n
        write(ax, x, 12, name, size=13, at="left", weight="bold")
        write(ax, x, 32, asks, size=13, at="left")
        box(ax, x, 50, 218, 160, edge=colour("grid"))
        write(ax, x, 228, when, size=12, at="left", ink=SOFT)
    _listing(ax, 0)
    _memory(ax, 236)
    _run(ax, 472)
    return ax


def _listing(ax, x):
    """The lines of a program, its collectives in colour, and their sums."""
    sums = {"axis-x": 0, "axis-y": 0}
    lines = (
        ("axis-x", "AllGather", 3),
        ("line", "matmul", 0),
        ("axis-y", "AllGather", 1),
        ("line", "matmul", 0),
        ("axis-y", "ReduceScatter", 1),
        ("axis-x", "ReduceScatter", 3),
    )
    for n, (ink, words, size) in enumerate(lines):
        y = 64 + 17 * n
        if not size:
            write(ax, x + 14, y, words, size=12, at="left", ink=SOFT)
            continue
        write(ax, x + 14, y, words, size=12, at="left", ink=colour(ink))
        box(ax, x + 112, y - 5, 26 * size, 9, fill=colour(ink), line=0)
        sums[ink] += size
    for n, (ink, size) in enumerate(sums.items()):
        y = 176 + 20 * n
        write(ax, x + 14, y, f"sum over {ink[-1].upper()}", size=12, at="left")
        box(ax, x + 87, y - 6, 19 * size, 12, fill=colour(ink), line=0)


def _memory(ax, x):
    """Memory in use over a program, and the limit above its peak."""
    foot, high = 196, (18, 34, 50, 66, 104, 84, 64, 44, 24)
    for n, size in enumerate(high):
        ink = colour("memory")
        box(ax, x + 14 + 21 * n, foot - size, 21, size, fill=ink, line=0)
    _rule(ax, (x + 14, x + 204), (foot, foot), ink=colour("line"))
    _rule(ax, (x + 14, x + 204), (74, 74), dashed=True)
    write(ax, x + 14, 63, "what a chip has", size=12, at="left")
    write(ax, x + 109, 85, "peak", size=12)


def _run(ax, x):
    """A lane of arithmetic and one of collectives, with a wait between."""
    rows = {
        "arithmetic": ((34, 30), (66, 30), (146, 30), (178, 26)),
        "collectives": ((14, 20), (50, 16), (84, 62), (162, 16)),
    }
    for n, (name, spans) in enumerate(rows.items()):
        y, ink = 84 + 52 * n, ("arithmetic", "axis-x")[n]
        write(ax, x + 14, y - 12, name, size=12, at="left", ink=colour(ink))
        for start, size in spans:
            box(ax, x + start, y, size, 22, fill=colour(ink), line=0)
    for at in (96, 146):
        _rule(ax, (x + at, x + at), (108, 166), ink=SOFT)
    write(ax, x + 121, 176, "waits", size=12)
    arrow(ax, (x + 14, 197), (x + 204, 197))


@styled
def predicted_and_compiled(rows, limit):
    """Bars of what a chip should hold, each beside what a compiler says.

    rows     dict: title -> (dict of bytes by name in HELD, bytes that the
             compiler says)
    limit    bytes of a chip's memory
    returns  the axes
    source   chapter 20
    """
    figure, axes = panels(1, 2, size=(8.4, 0.62 * len(rows) + 1.1))
    figure.subplots_adjust(wspace=0.55)
    wide, near = np.ravel(axes)
    small = list(rows.values())[NEAR:]
    for ax, shown in ((wide, range(NEAR)), (near, range(NEAR, len(rows)))):
        for row in shown:
            parts, peak = list(rows.values())[row]
            left = 0
            for name, ink in HELD.items():
                size = parts.get(name, 0) / 1e9
                look = _looks(name, ink)
                ax.barh(row - 0.19, size, 0.34, left=left, **look)
                left += size
            ax.barh(row + 0.21, peak / 1e9, 0.34, color=colour("line"))
        ax.set_yticks(shown, [list(rows)[row] for row in shown])
        ax.set_ylim(shown[-1] + 0.6, shown[0] - 0.6)
        ax.set(xlabel="GB on a chip" + (", enlarged" if ax is near else ""))
    wide.axvline(limit / 1e9, color=INK, lw=1, ls="--")
    words = f"a chip has\n{limit / 1e9:.0f} GB"
    wide.text(limit / 1e9 + 3, 1.5, words, va="center")
    near.set_xlim(0, 1.1 * max(sum(parts.values()) for parts, _ in small) / 1e9)
    for name, ink in HELD.items():
        wide.bar(0, 0, label=name, **_looks(name, ink))
    wide.bar(0, 0, color=colour("line"), label="compiler")
    wide.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.27, 0))
    return wide


def _looks(name, ink):
    """Fill and hatch of what a chip holds, the hatch as pale as the page."""
    look = {"fc": colour(ink), "ec": colour("paper"), "lw": 0}
    return look | {"hatch": HATCH.get(name)}


CELL = 22  # pixels of a piece, where an AllReduce does another's work


def _knee(B, times):
    """Tokens and time at which two lines meet.

    One goes through the first two points, the other from 0 to the last.
    """
    slope = (times[1] - times[0]) / (B[1] - B[0])
    steep = times[-1] / B[-1]
    knee = (times[0] - B[0] * slope) / (steep - slope)
    return knee, knee * steep


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
        ax.plot(B, 1e6 * np.array(seconds), mark, color=colour(ink))
        end = (max(B), 1e6 * seconds[-1])
        how = {"textcoords": "offset points", "va": "center"}
        ax.annotate(title, end, (9, 0), color=colour(ink), **how)
        for times, side in ((1e6 * np.array(seconds), 1), (None, -1)):
            if times is None:
                times = 1e6 * roof(np.array(B))
            knee, high = _knee(B, times)
            ax.plot([knee], [high], "|", ms=13, mew=1.2, color=INK, zorder=4)
            how = {"textcoords": "offset points", "ha": "right", "va": "center"}
            words = f"{'estimate' if side > 0 else 'roof'} bends: {knee:.0f}"
            ax.annotate(words, (knee, high), (-4, 11 * side), **how)
    ax.set(xscale="log", yscale="log", xlabel="tokens, B", ylabel="time [µs]")
    ax.set_ylim(34, 1000)
    ax.set_xlim(6, 1600)
    ticks(ax, [8, 32, 128, 512, 1024], [50, 100, 200, 400, 800])
    return ax


@styled
def clocked(B, seconds, roofs, steps, ideal):
    """What a GPU took: a product over its tokens, and steps as bars.

    B, seconds  tokens, and the product's time with each of them
    roofs    dict: words -> seconds of the products by that roof
    steps    dict: title of a row -> seconds of the step
    ideal    dict: words -> seconds of the step's products alone
    returns  the axes of the product
    source   chapter 20
    """
    figure, axes = panels(1, 2, size=(8.4, 3.5))
    figure.subplots_adjust(wspace=0.62)
    ax, bars = np.ravel(axes)
    looks = ("--", "-")
    for (words, times), look in zip(roofs.items(), looks, strict=True):
        ax.plot(B, 1e6 * np.array(times), look, color=INK, lw=1, label=words)
    taken = 1e6 * np.array(seconds)
    ax.plot(
        B, taken, "o", ms=4, color=colour("arithmetic"), label="the product"
    )
    ax.set(xscale="log", yscale="log", xlabel="tokens, B", ylabel="time [µs]")
    ax.set_ylim(24, 500)
    ticks(ax, [1, 8, 64, 512, 2048], [25, 50, 100, 200, 400])
    ax.legend(frameon=False, loc="upper left")
    ax.set_title("one product")
    for row, taken in enumerate(steps.values()):
        bars.barh(row, 1e3 * taken, 0.62, color=colour("arithmetic"))
        words = f"{1e3 * taken:.0f}"
        bars.text(1e3 * taken + 4, row, words, va="center")
    for least, look in zip(ideal.values(), looks, strict=True):
        bars.axvline(1e3 * least, color=INK, lw=1, ls=look, zorder=3)
    bars.set_yticks(range(len(steps)), steps)
    bars.set_ylim(len(steps) - 0.5, -0.5)
    bars.set(xlim=(0, 235), xlabel="time [ms]", title="a training step")
    return ax


@styled
def lanes(rows, marks=()):
    """What processes did over time: arithmetic above, collectives below.

    rows     dict: title -> list of Done with queues "chip" and "network"
    marks    milliseconds at which something is to be seen
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
    for mark in marks:
        ax.axvline(mark, color=INK, lw=1, ls="--")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlabel="time [ms]")
    ax.invert_yaxis()
    ax.legend(
        frameon=False, loc="upper center", ncol=2, bbox_to_anchor=(0.5, 1.2)
    )
    return ax
