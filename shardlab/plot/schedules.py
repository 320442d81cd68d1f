"""Schedules of a pipeline: what each stage does, and when it waits."""

import matplotlib.pyplot as plt
from matplotlib.patches import Patch, Rectangle

from shardlab import pipeline

# Light, dark and striped, so that they differ without colours.
LOOKS = {
    "forward": ("F forward", {"fc": "#b3d4ea", "ec": "#333333"}),
    "backward": ("B backward, both halves", {"fc": "#5db865", "ec": "#333333"}),
    "input": ("B backward, input half", {"fc": "#5db865", "ec": "#333333"}),
    "weight": (
        "W backward, weight half",
        {"fc": "white", "ec": "#999999", "hatch": "////"},
    ),
}
LETTER = 0.0095  # inches of a letter, for each point of its size


def gantt(schedules, most=None, width=5.8):
    """Draw what each stage of a pipeline does, and when; what is empty waits.

    schedules  dict: title -> list of `shardlab.pipeline.Event`
    most     length of the time axis; the longest schedule's if None
    width    of the figure, in inches
    returns  the axes, one for each schedule, one below the other. A bar bears
             the number of its microbatch, with a prime for a stage's second
             chunk; of two tasks that run as one, the forward is above
    """
    p = max(1 + e.stage for events in schedules.values() for e in events)
    longest = max(pipeline.makespan(events) for events in schedules.values())
    high = (0.26 * p + 0.55) * len(schedules) + 0.55
    figure, axes = plt.subplots(
        len(schedules), 1, figsize=(width, high), sharex=True, squeeze=False
    )
    for ax, (title, events) in zip(axes.flat, schedules.items(), strict=True):
        ax.set(xlim=(0, 1.01 * float(most or longest)), ylim=(p - 0.5, -0.5))
        ax.set_yticks(range(p), map(str, range(p)))
        ax.set_ylabel("stage")
        ax.set_title(title, loc="left")
        ax.tick_params(axis="y", length=0)
        for e in events:
            tasks(ax, e)
    axes[-1, 0].set_xlabel("time, in units of one forward")
    figure.tight_layout()
    legend(figure, schedules)
    return axes


def tasks(ax, event):
    """Draw one event; a pair is drawn as two, one above the other."""
    if "&" not in event.kind:
        cell(
            ax, event, event.kind, event.microbatch, event.chunk, (-0.42, 0.84)
        )
        return
    parts = event.kind.split("&"), event.microbatch, event.chunk
    for n, part in enumerate(zip(*parts, strict=True)):
        cell(ax, event, *part, (-0.42 + 0.42 * n, 0.42))


def cell(ax, event, kind, microbatch, chunk, rows):
    """Draw a task as a bar with the number of its microbatch."""
    top, high = rows
    long = event.end - event.start
    corner = float(event.start), event.stage + top
    ax.add_patch(Rectangle(corner, float(long), high, **LOOKS[kind][1], lw=0.6))
    x, y = float(event.start + long / 2), event.stage + top + high / 2
    label = f"{microbatch}" + "′" * chunk
    room = float(long) * ax.bbox.width / ax.figure.dpi / ax.get_xlim()[1]
    size = min(
        7 if high > 0.5 else 5, room / (len(label) - 0.6 * chunk) / LETTER
    )
    if size > 3.5:
        ax.text(x, y, label, ha="center", va="center", fontsize=size)


def legend(figure, schedules):
    """Name the kinds of work below the picture."""
    kinds = {
        kind
        for events in schedules.values()
        for e in events
        for kind in e.kind.split("&")
    }
    patches = [
        Patch(label=label, **look, lw=0.6)
        for kind, (label, look) in LOOKS.items()
        if kind in kinds
    ]
    columns = 2 if len(patches) == 4 else len(patches)
    figure.legend(
        handles=patches,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
        ncol=columns,
    )
