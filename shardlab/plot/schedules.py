"""Schedules of a pipeline: what each stage does, and when it waits."""

import numpy as np
from matplotlib.patches import Patch, Rectangle

from shardlab import pipeline
from shardlab.plot.axes import (
    INK,
    PX,
    SMALL,
    SOFT,
    canvas,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import box, frame, write

# Four steps of lightness, so that they differ without colours.
LOOKS = {
    "forward": ("forward", {"fc": colour("forward"), "ec": INK}),
    "backward": ("backward", {"fc": colour("backward"), "ec": INK}),
    "input": (
        "backward: input half",
        {"fc": colour("input-half"), "ec": INK},
    ),
    "weight": (
        "backward: weight half",
        {"fc": colour("weight-half"), "ec": INK},
    ),
}


LEAST = 10  # pixels of the smallest number that is drawn


@styled
def gantt(schedules, most=None, width=7.0):
    """Draw what each stage of a pipeline does, and when; what is empty waits.

    schedules  dict: title -> list of `shardlab.pipeline.Event`
    most     length of the time axis; the longest schedule's if None
    width    of the figure, in inches
    returns  the axes, one for each schedule, one below the other. A bar bears
             the number of its microbatch where it can be read, with a prime
             and a strip below for a stage's second chunk; of two tasks that
             run as one, the forward is above
    raises   ValueError for no schedule, or an empty one
    source   chapter 11
    """
    refuse_empty("schedules", schedules, "pipeline.Event")
    p = max(1 + e.stage for events in schedules.values() for e in events)
    longest = max(pipeline.makespan(events) for events in schedules.values())
    pairs = any("&" in e.kind for run in schedules.values() for e in run)
    row = 0.5 if pairs else 0.3
    high = (row * p + 0.5) * len(schedules) + 0.75
    figure, axes = panels(
        len(schedules), 1, size=(width, high), sharex=True, squeeze=False
    )
    for ax, title in zip(axes.flat, schedules, strict=True):
        ax.set(xlim=(0, 1.01 * float(most or longest)), ylim=(p - 0.5, -0.5))
        ax.set_yticks(range(p), map(str, range(p)))
        ax.set_ylabel("stage")
        ax.set_title(title, loc="left")
        ax.tick_params(axis="y", length=0)
    axes[-1, 0].set_xlabel("time, in units of one forward")
    figure.tight_layout(rect=(0, 0.36 / high, 1, 1))
    unit = axes[0, 0].bbox.width / figure.dpi / axes[0, 0].get_xlim()[1] / PX
    for ax, events in zip(axes.flat, schedules.values(), strict=True):
        for e in events:
            tasks(ax, e, unit, row / PX)
    legend(figure, schedules)
    return axes


def tasks(ax, event, unit, row):
    """Draw one event; a pair is drawn as two, one above the other.

    ax       the axes to draw on
    event    shardlab.pipeline.Event
    unit, row  pixels of a unit of time, and of a stage
    """
    if "&" not in event.kind:
        parts = [(event.kind, event.microbatch, event.chunk)]
    else:
        parts = event.kind.split("&"), event.microbatch, event.chunk
        parts = list(zip(*parts, strict=True))
    share = 0.84 / len(parts)
    for n, part in enumerate(parts):
        cell(ax, event, *part, (-0.42 + n * share, share), (unit, row))


def cell(ax, event, kind, microbatch, chunk, rows, pixels):
    """Draw a task as a bar with the number of its microbatch."""
    (top, high), (unit, row) = rows, pixels
    long = float(event.end - event.start)
    corner = float(event.start), event.stage + top
    ax.add_patch(Rectangle(corner, long, high, **LOOKS[kind][1], lw=0.6))
    x, y = float(event.start) + long / 2, event.stage + top + high / 2
    if chunk:
        ends = [corner[0], corner[0] + long]
        ax.fill_between(ends, y + 0.36 * high, y + high / 2, fc=INK, lw=0)
        y -= 0.06 * high
    label = f"{microbatch}" + "′" * chunk
    letters = len(label) - 0.6 * chunk
    size = min(12, (unit * long - 1) / (0.68 * letters), row * high - 2)
    if size >= LEAST:
        look = {"ha": "center", "va": "center_baseline"}
        ax.text(x, y, label, **look, fontsize=size * 0.75)


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
    if any(np.any(e.chunk) for run in schedules.values() for e in run):
        patches.append(Patch(label="second chunk", fc=INK))
    figure.legend(
        handles=patches,
        loc="lower center",
        ncol=len(patches),
        fontsize=SMALL,
        handlelength=1.4,
        columnspacing=1.2,
    )


@styled
def in_flight(schedules, width=7.0):
    """Draw how many microbatches' activations each stage holds, over time.

    schedules  dict: title -> list of `shardlab.pipeline.Event`
    width    of the figure, in inches
    returns  the axes, one for each schedule side by side; a curve is a stage,
             in its step of lightness, and the number is its most
    raises   ValueError for no schedule, or an empty one
    source   chapter 11
    """
    refuse_empty("schedules", schedules, "pipeline.Event")
    p = max(1 + e.stage for events in schedules.values() for e in events)
    figure, axes = panels(
        p,
        len(schedules),
        size=(width, 0.62 * p + 0.75),
        sharex="col",
        sharey=True,
        squeeze=False,
    )
    curves = {t: held_over_time(run) for t, run in schedules.items()}
    most = max(n for run in curves.values() for c in run.values() for _, n in c)
    for column, (title, run) in enumerate(curves.items()):
        end = float(pipeline.makespan(schedules[title]))
        for stage in range(p):
            ax, moments = axes[stage, column], run.get(stage, [(0, 0)])
            x, y = zip(*moments, (end, 0), strict=True)
            fill = {"fc": shade("pod", stage, p), "ec": INK, "lw": 0.6}
            ax.fill_between(x, y, step="post", **fill)
            peak = max(y)
            at = x[y.index(peak)]
            ax.text(
                at, peak + 0.03 * most, f"{peak:g}", fontsize=SMALL, va="bottom"
            )
            ax.set(ylim=(0, 1.45 * most), xlim=(0, end), yticks=[])
            ax.spines["left"].set_visible(False)
            if column == 0:
                ax.set_ylabel(
                    f"stage {stage}", rotation=0, ha="right", va="center"
                )
        axes[0, column].set_title(title)
        axes[-1, column].set_xlabel("time")
    figure.tight_layout(h_pad=0.3)
    return axes


def held_over_time(events):
    """How many microbatches' activations each stage holds, and since when.

    events   list of shardlab.pipeline.Event
    returns  {stage: list of (time, number)}: a stage holds a chunk's
             activations from the start of its forward to the end of the last
             half of its backward
    """
    ends, starts = {}, {}
    for e in events:
        if "&" in e.kind:
            parts = zip(e.kind.split("&"), e.microbatch, e.chunk, strict=True)
        else:
            parts = [(e.kind, e.microbatch, e.chunk)]
        for kind, *what in parts:
            here = e.stage, *what
            if kind == "forward":
                starts[here] = float(e.start)
            ends[here] = max(ends.get(here, 0.0), float(e.end))
    changes = {}
    for here, start in starts.items():
        changes.setdefault(here[0], []).append((start, 1))
        changes[here[0]].append((ends[here], -1))
    found = {}
    for stage, found_here in changes.items():
        total, curve = 0, []
        for time, change in sorted(found_here):  # what ends makes room first
            total += change
            curve = [c for c in curve if c[0] != time] + [(time, total)]
        found[stage] = [(0.0, 0), *curve] if curve[0][0] else curve
    return found


@styled
def dealt_layers(p=4, v=2, layers=16):
    """Draw layers dealt to stages like cards: in one round, and in v rounds.

    p        stages
    v        chunks of a stage
    layers   a multiple of p * v
    returns  the axes drawn on: above each stage has neighbouring layers, below
             v chunks, and a microbatch goes round v times
    raises   ValueError for layers that do not divide
    source   chapter 11
    """
    if layers % (p * v):
        raise ValueError(
            f"layers must be a multiple of p * v = {p * v}, got {layers}"
        )
    ax = canvas(690, 262)
    pitch = 590 / p
    for row, chunks in enumerate((1, v)):
        y = 26 + row * 118
        name = (
            "one chunk\na stage" if chunks == 1 else f"{chunks} chunks\na stage"
        )
        write(ax, 0, y + 44, name, 12, "left", weight="bold")
        each = layers // (p * chunks)
        for s in range(p):
            x = 92 + s * pitch
            frame(ax, x, y - 16, pitch - 12, 106, f"stage {s}")
            high = (72 - 4 * (chunks - 1)) / chunks
            for c in range(chunks):
                first = (c * p + s) * each
                wide = (pitch - 32) / each
                for n in range(each):
                    fill = shade("pod", s, p)
                    place = x + 10 + n * wide, y + 12 + c * (high + 4)
                    size = min(12, 0.8 * wide)
                    box(ax, *place, wide - 2, high, fill, first + n, size=size)
    write(
        ax,
        92,
        256,
        "numbers are layers, in the order in which a microbatch meets them",
        12,
        "left",
        ink=SOFT,
    )
    return ax
