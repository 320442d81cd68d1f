"""Timelines: what queues are busy with, and when."""

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from shardlab.plot.axes import FILLS

WIDTH, LETTER = 6.5, 0.066  # inches of a figure, and of a letter in a bar


def timeline(runs, unit=1e-6, name="µs"):
    """Draw what each queue of a chip is busy with, and when.

    runs     dict: title -> list of `shardlab.timeline.Done`; a queue is drawn
             in the same place in all of them
    unit     seconds in a unit of the time axis
    name     of that unit
    returns  the figure's axes, one for each run, one below the other. A bar
             bears the name of its task where there is room for it
    """
    queues = list(dict.fromkeys(d.queue for run in runs.values() for d in run))
    most = max(done.end for run in runs.values() for done in run) / unit or 1
    _, axes = plt.subplots(
        len(runs),
        1,
        figsize=(WIDTH, (0.32 * len(queues) + 0.55) * len(runs) + 0.3),
        sharex=True,
        squeeze=False,
    )
    for ax, (title, run) in zip(axes.flat, runs.items(), strict=True):
        for done in run:
            bar(ax, done, queues.index(done.queue), unit, most)
        ax.set_yticks(range(len(queues)), queues)
        ax.set(xlim=(0, 1.02 * most), ylim=(len(queues) - 0.5, -0.5))
        ax.set_title(title, loc="left")
    axes[-1, 0].set_xlabel(f"time [{name}]")
    axes[0, 0].figure.tight_layout()
    return axes


def bar(ax, done, row, unit, most):
    """Draw one task, with its name where the bar is long enough for it.

    ax       the axes to draw on
    done     shardlab.timeline.Done
    row      the row of its queue
    unit     seconds in a unit of the time axis
    most     length of the time axis, in units
    returns  nothing
    """
    start, long = done.start / unit, (done.end - done.start) / unit
    look = {"fc": FILLS[row % len(FILLS)], "ec": "black", "lw": 0.6}
    ax.add_patch(Rectangle((start, row - 0.4), long, 0.8, **look))
    if LETTER * len(done.name) < long / most * (WIDTH - 1):
        middle = start + long / 2, row
        ax.text(*middle, done.name, ha="center", va="center", fontsize=7)
