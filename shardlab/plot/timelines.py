"""Timelines: what queues are busy with, and when."""

from itertools import pairwise

from matplotlib.patches import Rectangle

from shardlab.plot.axes import (
    INK,
    LINE,
    SMALL,
    SOFT,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour

__all__ = ["timeline"]

WIDTH, LETTER = 7.0, 0.077  # inches of a figure, and of a letter in a bar
SLIM = 43.7  # letters in a bar as long as the axis, on a narrow phone


@styled
def timeline(
    runs,
    unit=1e-6,
    name="µs",
    fills=None,
    idle=None,
    high=0.32,
    slim=False,
):
    """Draw what each queue of a chip is busy with, and when.

    runs     dict: title -> list of `shardlab.timeline.Done`; a queue is drawn
             in the same place in all of them
    unit     seconds in a unit of the time axis
    name     of that unit
    fills    dict: first word of a task's name -> (name of a colour, what it
             is), for tasks that differ from the others of their queue; these
             are explained above the pictures. None for none
    idle     a queue whose waiting is hatched; then the end of each run is
             written too. None for neither
    high     inches of a queue; from 0.42 on a task of two words may have them
             on two lines
    slim     True: words that a phone has no room for are left out, so that it
             can show the whole axis in one piece
    returns  the figure's axes, one for each run, one below the other. A bar
             bears the name of its task where there is room for it; a task of
             `fills` at least its first word
    raises   ValueError for no run, or an empty one
    """
    refuse_empty("runs", runs, "timeline.Done")
    queues = list(dict.fromkeys(d.queue for run in runs.values() for d in run))
    most = max(done.end for run in runs.values() for done in run) / unit or 1
    letter = most / (SLIM if slim else (WIDTH - 1) / LETTER)
    _, axes = panels(
        len(runs),
        1,
        size=(WIDTH, (high * len(queues) + 0.55) * len(runs) + 0.3),
        sharex=True,
        squeeze=False,
    )
    for ax, (title, run) in zip(axes.flat, runs.items(), strict=True):
        for done in run:
            _bar(ax, done, queues.index(done.queue), unit, letter, fills, high)
        if idle is not None:
            at = idle, queues.index(idle)
            _waits(ax, run, at, unit, most, 0.29 if slim else 0.12)
            last = max(run, key=lambda done: done.end)
            at = last.end / unit + 0.008 * most, queues.index(last.queue)
            words = f"{last.end / unit:.1f} {name}"
            ax.text(*at, words, va="center_baseline", weight="bold")
        ax.set_yticks(range(len(queues)), queues)
        room = 1.02 if idle is None else 1.12
        ax.set(xlim=(0, room * most), ylim=(len(queues) - 0.5, -0.5))
        ax.set_title(title, loc="left")
    axes[-1, 0].set_xlabel(f"time [{name}]")
    explained = [
        Rectangle((0, 0), 1, 1, fc=colour(fill), ec=INK, lw=0.6, label=words)
        for fill, words in (fills or {}).values()
    ]
    if explained:
        place = {"loc": "lower right", "bbox_to_anchor": (1, 1)}
        axes[0, 0].legend(handles=explained, ncols=2, borderpad=0, **place)
    axes[0, 0].figure.tight_layout()
    return axes


def _fill_of(queue, row=0):
    """The colour of what a queue does: arithmetic, an axis's wires, others.

    queue    its name, such as "chip", "network", "network Y" or "DCN"
    row      its number
    returns  colour
    """
    last = queue.split()[-1]
    if last in ("X", "Y", "Z"):
        return colour(f"axis-{last.lower()}-2")
    if any(word in queue for word in ("chip", "multiply", "arithmetic")):
        return colour("arithmetic-2")
    if "DCN" in queue or "pods" in queue:
        return colour("network-1")
    return colour(("network-1", "network-1", "memory-2", "pod-2")[row % 4])


def _waits(ax, run, idle, unit, most, least):
    """Hatch the time of a run in which a queue has nothing to do.

    ax       the axes to draw on
    run      list of shardlab.timeline.Done
    idle     name of the queue, and its row
    unit     seconds in a unit of the time axis
    most     length of the time axis, in units
    least    share of it that has room for a word
    returns  nothing
    """
    queue, row = idle
    ends = [(d.start, d.end) for d in run if d.queue == queue]
    last = max(done.end for done in run)
    for (_, start), (end, _) in pairwise([(0, 0), *sorted(ends), (last, 0)]):
        long = (end - start) / unit
        if long < 1e-3 * most:
            continue
        look = {"fc": "none", "ec": LINE, "lw": 0, "hatch": "////"}
        ax.add_patch(Rectangle((start / unit, row - 0.4), long, 0.8, **look))
        words = "idle" if queue == "network" else "exposed"
        words = words if long > least * most else ""
        paper = {"fc": colour("paper"), "ec": "none", "pad": 1.5}
        if words:
            ax.text(
                start / unit + long / 2,
                row,
                words,
                ha="center",
                va="center_baseline",
                fontsize=SMALL,
                color=SOFT,
                bbox=paper,
            )


def _bar(ax, done, row, unit, letter, fills=None, high=0.32):
    """Draw one task, with its name where the bar is long enough for it.

    ax       the axes to draw on
    done     shardlab.timeline.Done
    row      the row of its queue
    unit     seconds in a unit of the time axis
    letter   units of time that a letter takes as much room as
    fills, high  as of `timeline`
    returns  nothing
    """
    first = done.name.split(" ")[0]
    start, long = done.start / unit, (done.end - done.start) / unit
    own = (fills or {}).get(first)
    fill = colour(own[0]) if own else _fill_of(done.queue, row)
    look = {"fc": fill, "ec": INK, "lw": 0.6}
    ax.add_patch(Rectangle((start, row - 0.4), long, 0.8, **look))
    room = long / letter  # letters
    lines = [done.name.replace(" ", "\n")] if high >= 0.42 else []
    short = [done.name, *lines, *([first] if own else [])]
    words = next((w for w in short if _letters(w) < room), "")
    if words:
        look = {"ha": "center", "va": "center_baseline", "fontsize": SMALL}
        if "\n" in words:
            look |= {"va": "center", "linespacing": 1.1}
        ax.text(start + long / 2, row, words, **look)


def _letters(words):
    return max(len(line.replace("_", "")) for line in words.split("\n"))
