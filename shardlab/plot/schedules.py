"""Schedules of a pipeline: what each stage does, and when it waits."""

from itertools import pairwise

import numpy as np
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path

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
from shardlab.plot.colours import colour
from shardlab.plot.things import PAPER, arrow, box, wire, write

__all__ = [
    "LOOKS",
    "backward_halves",
    "gantt",
    "held_over_time",
    "in_flight",
    "one_tick",
    "stage_piles",
    "to_scale",
    "way_of",
]

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


WAY = colour("mark")  # of a microbatch that is followed
DASHES = "-", (0, (2.5, 1))  # of the first that is followed, of the second
LEAST = 10  # pixels of the smallest number that is drawn


@styled
def gantt(schedules, most=None, width=7.0, follow=(), waits=()):
    """Draw what each stage of a pipeline does, and when; what is empty waits.

    schedules  dict: title -> list of `shardlab.pipeline.Event`
    most     length of the time axis; the longest schedule's if None
    width    of the figure, in inches
    follow   at most two microbatches whose tasks are framed, and joined by a
             line from each to the next; dashed for the second
    waits    stages whose idle time is hatched
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
            _tasks(ax, e, unit, row / PX)
        _strips(ax, events)
        for microbatch, dashes in zip(follow, DASHES, strict=False):
            way_of(ax, events, microbatch, dashes)
        for stage in waits:
            _waits(ax, [e for e in events if e.stage == stage], longest)
    _legend(figure, schedules)
    return axes


def _waits(ax, events, longest):
    """Hatch where a stage is idle.

    ax       the axes to draw on
    events   of this stage, list of shardlab.pipeline.Event
    longest  the end of time
    """
    tasks = sorted((float(e.start), float(e.end)) for e in events)
    starts = [0.0, *(end for _, end in tasks)]
    ends = [*(start for start, _ in tasks), float(longest)]
    look = {"fc": "none", "ec": WAY, "hatch": "////", "lw": 1}
    for start, end in zip(starts, ends, strict=True):
        if end > start:
            corner = start, events[0].stage - 0.42
            ax.add_patch(Rectangle(corner, end - start, 0.84, **look))


def _tasks(ax, event, unit, row):
    """Draw one event; a pair is drawn as two, one above the other.

    ax       the axes to draw on
    event    shardlab.pipeline.Event
    unit, row  pixels of a unit of time, and of a stage
    """
    for *part, rows in _parts_of(event):
        _cell(ax, event, *part, rows, (unit, row))


def _strips(ax, events):
    """Mark tasks of a second chunk by strips along their lower edges.

    ax       the axes to draw on
    events   list of shardlab.pipeline.Event
    """
    strips = [
        (float(e.start), e.stage + top + 0.86 * high, float(e.end - e.start))
        + (0.14 * high,)
        for e in events
        for _, _, chunk, (top, high) in _parts_of(e)
        if chunk
    ]
    if strips:
        paths = [
            Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)])
            for x, y, w, h in strips
        ]
        whole = Path.make_compound_path(*paths)
        ax.add_patch(PathPatch(whole, fc=INK, lw=0))


def _parts_of(event):
    """The parts of an event: (kind, microbatch, chunk, (top, height))."""
    parts = [(event.kind, event.microbatch, event.chunk)]
    if "&" in event.kind:
        parts = event.kind.split("&"), event.microbatch, event.chunk
        parts = list(zip(*parts, strict=True))
    share = 0.84 / len(parts)
    return [(*part, (-0.42 + n * share, share)) for n, part in enumerate(parts)]


def way_of(ax, events, microbatch, dashes="-"):
    """Frame the tasks of a microbatch, and join each to the next one.

    ax       the axes to draw on
    events   list of shardlab.pipeline.Event
    microbatch  its number. Weight halves are not on its way
    dashes   style of the line
    returns  list of (start, end, y), its tasks in their order
    """
    found = sorted(
        (float(e.start), float(e.end), e.stage + top, high)
        for e in events
        for kind, number, _, (top, high) in _parts_of(e)
        if number == microbatch and kind != "weight"
    )
    look = {"color": WAY, "lw": 1.8, "zorder": 3, "ls": dashes}
    for start, end, top, high in found:
        x, y = [start, end, end, start, start], [top, top, top + high]
        ax.plot(x, [*y, top + high, top], **look)
    for (_, end, top, high), (start, _, below, low) in pairwise(found):
        far = abs(below - top) > 1.5  # over other stages: thin, below numbers
        look |= {"lw": 1, "zorder": 2} if far else {"lw": 1.8, "zorder": 3}
        ends = (top + high, below) if below > top else (top, below + low)
        if abs(below - top) < 0.6 * high:
            ends = (top + high / 2, below + low / 2)
        ax.plot([end, start], ends, **look)
    return [(start, end, top + high / 2) for start, end, top, high in found]


def _cell(ax, event, kind, microbatch, chunk, rows, pixels):
    """Draw a task as a bar with the number of its microbatch."""
    (top, high), (unit, row) = rows, pixels
    long = float(event.end - event.start)
    corner = float(event.start), event.stage + top
    look = LOOKS[kind][1] | {"lw": 0.6, "clip_on": event.end > ax.get_xlim()[1]}
    ax.add_patch(Rectangle(corner, long, high, **look))
    x, y = float(event.start) + long / 2, event.stage + top + high / 2
    if chunk:
        y -= 0.06 * high
    label = f"{microbatch}" + "′" * chunk
    letters = len(label) - 0.6 * chunk
    size = min(12, (unit * long - 1) / (0.68 * letters), row * high - 2)
    if size >= LEAST:
        look = {"ha": "center", "va": "center_baseline"}
        ax.text(x, y, label, **look, fontsize=size * 0.75)


def _legend(figure, schedules):
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
        pairs = any("&" in e.kind for run in schedules.values() for e in run)
        words = "second stream" if pairs else "second chunk"
        patches.append(Patch(label=words, fc=INK))
    figure.legend(
        handles=patches,
        loc="lower center",
        ncol=len(patches),
        fontsize=SMALL,
        handlelength=1.4,
        columnspacing=1.2,
    )


@styled
def to_scale(schedules):
    """Draw schedules of pipelines of any length to one scale of time.

    schedules  dict: title -> list of `shardlab.pipeline.Event`, no pairs
    returns  the axes drawn on: as much colour in each, if the work is the
             same, and what is white about it waits
    raises   ValueError for no schedule, or an empty one
    source   chapter 11
    """
    refuse_empty("schedules", schedules, "pipeline.Event")
    longest = float(max(map(pipeline.makespan, schedules.values())))
    sizes = [1 + max(e.stage for e in run) for run in schedules.values()]
    row, head, gap = 13, 30, 14
    high = sum(row * p + head + gap for p in sizes)
    ax, y, unit = canvas(690, high + 22), 0, 688 / longest
    for (title, run), p in zip(schedules.items(), sizes, strict=True):
        write(ax, 0, y + 13, title, 12.5, "left", weight="bold")
        y += head
        wide = float(pipeline.makespan(run)) * unit
        box(ax, 1, y, wide, row * p, "none", edge=SOFT)
        for stage, kind, start, end in _joined(run, LEAST / unit):
            look = {"fill": LOOKS[kind][1]["fc"], "line": 0.5}
            x, long = 1 + start * unit, (end - start) * unit
            box(ax, x, y + row * stage, long, row, **look)
        y += row * p + gap
    for x, kind in ((0, "forward"), (104, "backward")):
        box(ax, x, high + 4, 18, 13, LOOKS[kind][1]["fc"])
        write(ax, x + 25, high + 10, kind, 12, "left")
    return ax


def _joined(events, least):
    """Tasks of each stage; short ones of a kind without a rest are one.

    events   list of shardlab.pipeline.Event
    least    time of a task that stands alone
    returns  list of [stage, kind, start, end]
    """
    found = []
    for e in sorted(events, key=lambda e: (e.stage, e.start)):
        start, end = float(e.start), float(e.end)
        if (
            found
            and found[-1][:2] == [e.stage, e.kind]
            and abs(found[-1][3] - start) < 1e-9
            and end - start < least
        ):
            found[-1][3] = end
        else:
            found.append([e.stage, e.kind, start, end])
    return found


@styled
def stage_piles(layers, counts):
    """Draw what each stage keeps at its worst, a cell for a layer's arrays.

    layers   of the model
    counts   dict: title -> microbatches in flight on each stage
    returns  the axes drawn on: a stage's pile is as wide as it has layers and
             as high as it has microbatches, so its area is what it keeps
    raises   ValueError for nothing to draw
    source   chapter 11
    """
    refuse_empty("counts", counts, "numbers")
    most, pitch = max(map(max, counts.values())), 690 / len(counts)
    cell, tall = (pitch - 58) / layers, 14
    floor = 30 + most * tall
    ax = canvas(690, floor + 26)
    for n, (title, held) in enumerate(counts.items()):
        p, left = len(held), 2 + n * pitch
        wide, gap = cell * layers / p, min(6, 40 / p)
        write(ax, left, 12, title, 12.5, "left", weight="bold")
        for stage, high in enumerate(held):
            x = left + stage * (wide + gap)
            fill = colour("memory-1") if stage == 0 else PAPER
            for m in range(high):
                for of in range(layers // p):
                    place = x + of * cell, floor - (m + 1) * tall
                    look = {"edge": INK if stage == 0 else SOFT, "line": 0.6}
                    box(ax, *place, cell, tall, fill, **look)
            if stage == 0:
                words = f"{layers // p} × {high} = {layers // p * high}"
                write(ax, x, floor + 14, words, 12, "left")
    return ax


@styled
def in_flight(schedules, sizes=None):
    """Draw how many microbatches' activations each stage holds, over time.

    schedules  dict: title -> list of `shardlab.pipeline.Event`
    sizes    dict: title -> what part of a stage's layers a chunk is; 1 where
             it is left out
    returns  the axes drawn on: a row for each schedule and a column for each
             stage, all to one scale of time; the number is the most
    raises   ValueError for no schedule, or an empty one
    source   chapter 11
    """
    refuse_empty("schedules", schedules, "pipeline.Event")
    p = max(1 + e.stage for events in schedules.values() for e in events)
    sizes = dict.fromkeys(schedules, 1) | (sizes or {})
    left, high, pitch = 4, 86, 684 / p
    longest = float(max(map(pipeline.makespan, schedules.values())))
    unit = (pitch - 20) / longest
    floor = 34 + high * len(schedules)
    ax = canvas(690, floor + 40)
    curves = {
        (title, stage): [(time, sizes[title] * n) for time, n in curve]
        for title, run in schedules.items()
        for stage, curve in held_over_time(run).items()
    }
    most = max(n for curve in curves.values() for _, n in curve)
    rows = {title: 34 + high * (n + 1) for n, title in enumerate(schedules)}
    for (title, stage), curve in curves.items():
        y, x = rows[title], left + stage * pitch
        times, held = zip(*curve, strict=True)
        tops = [y - n / most * (high - 46) for n in held]
        places = [x + time * unit for time in times]
        look = {"fc": colour("memory-1"), "ec": INK, "lw": 0.6}
        ax.fill_between(places, tops, y, step="post", **look)
        wire(ax, (x, y), (x + longest * unit, y), INK, 0.8)
        peak = max(held)
        place = places[held.index(peak)], min(tops) - 8
        write(ax, *place, f"{peak:g}", 12, "left")
        write(ax, x, min(tops) - 23, title, 12, "left", ink=SOFT)
    for stage in range(p):
        x = left + stage * pitch
        write(ax, x, 12, f"stage {stage}", 12.5, "left", weight="bold")
        for time in range(0, int(longest) + 1, 20):
            wire(ax, (x + time * unit, floor), (x + time * unit, floor + 4))
            write(ax, x + time * unit, floor + 14, time, 12)
    write(ax, left, floor + 33, "time, in units of one forward", 12, "left")
    return ax


@styled
def backward_halves():
    """Draw a block's backward pass: a chain, and what branches off from it.

    returns  the axes drawn on. The gradient runs to the left, towards the
             stage before; below it are the products that can wait
    source   chapter 11
    """
    ax, urgent, later = canvas(690, 258), LOOKS["input"][1], LOOKS["weight"][1]
    chain = [(606, "dOut"), (344, "dTmp"), (82, "dIn")]
    for x, name in chain:
        box(ax, x - 40, 34, 80, 30, PAPER, name, size=13)
    arrow(ax, (688, 49), (648, 49))
    arrow(ax, (40, 49), (2, 49))
    write(ax, 690, 16, "from the stage after", 12, "right", ink=SOFT)
    write(ax, 0, 16, "to the stage before", 12, "left", ink=SOFT)
    for (x, _), weights in zip(chain, ("W_outᵀ", "W_inᵀ"), strict=False):
        arrow(ax, (x - 42, 49), (x - 74, 49))
        box(ax, x - 188, 34, 112, 30, urgent["fc"], f"· {weights}", size=13)
        arrow(ax, (x - 190, 49), (x - 220, 49))
    for (x, name), kept, found in zip(
        chain, ("Tmpᵀ", "Inᵀ"), ("dW_out", "dW_in"), strict=False
    ):
        arrow(ax, (x, 64), (x, 96))
        box(ax, x - 80, 98, 160, 30, later["fc"], f"{kept} · {name}", size=12)
        arrow(ax, (x, 128), (x, 156))
        box(ax, x - 52, 158, 104, 30, PAPER, found, size=13)
    for y, look, words in (
        (212, urgent, "input half: now, one after the other"),
        (234, later, "weight half: at any later time"),
    ):
        box(ax, 0, y, 18, 14, look["fc"])
        write(ax, 26, y + 7, words, 12, "left")
    return ax


def one_tick(orders, tick):
    """Draw what the devices of a one-way pipeline do in one tick.

    orders   list of shardlab.pipeline.Event, forwards and whole backwards,
             one tick each, as of `ticks`
    tick     the one drawn
    returns  the axes drawn on: for each stage the branches of its switch, what
             it takes, its slots of saved microbatches, and what permutes carry
    source   chapter 11
    """
    now = {e.stage: e for e in orders if e.start == tick}
    p = 1 + max(e.stage for e in orders)
    ax, step = canvas(690, 198), 690 / p
    for y, words in ((47, "switch"), (77, "takes"), (107, "saved")):
        write(ax, 0, y, words, 12, "left", ink=SOFT)
    for stage in range(p):
        left, event = 52 + stage * (step - 12), now.get(stage)
        write(ax, left + 56, 14, f"stage {stage}", 13, weight="bold")
        for n, kind in enumerate((None, "forward", "backward")):
            chosen = kind == (event and event.kind)
            fill = LOOKS[kind][1]["fc"] if chosen and kind else PAPER
            name = kind[0] if kind else "idle"
            if chosen and kind:
                name += str(event.microbatch)
            line, ink = (2, INK) if chosen else (0.6, SOFT)
            look = {"fill": fill, "edge": ink, "line": line, "size": 12}
            box(ax, left + 38 * n, 34, 36, 26, words=name, **look)
        _tick_slots(ax, left, [e for e in orders if e.stage == stage], tick)
        if event:
            write(ax, left, 77, _taken(event), 12, "left")
            _handed(ax, left, step - 12, event, p)
        box(ax, left - 4, 26, 121, 98, "none", edge=SOFT)
    return ax


def _taken(event):
    """Such as x3, or dy1 and saved 1."""
    i = event.microbatch
    if event.kind == "forward":
        return f"x{i}" if event.stage else f"In[{i}]"
    return f"dy{i} and saved {i}"


def _tick_slots(ax, left, events, tick):
    """The microbatches that a stage has saved; the one it frees is dashed."""
    begun = {
        e.microbatch for e in events if e.start <= tick and e.kind[0] == "f"
    }
    done = {e.microbatch for e in events if e.start < tick and e.kind[0] == "b"}
    now = {(e.kind, e.microbatch) for e in events if e.start == tick}
    for n, i in enumerate(sorted(begun - done)):
        fill = LOOKS["forward"][1]["fc"] if ("forward", i) in now else PAPER
        freed = ("backward", i) in now
        look = {
            "edge": SOFT if freed else INK,
            "hatch": "///" if freed else None,
        }
        box(ax, left + 26 * n, 96, 24, 22, fill, "" if freed else i, **look)


def _handed(ax, left, step, event, p):
    """Arrows of both permutes to the neighbours, and what is put where."""
    i, stage, ahead = event.microbatch, event.stage, event.kind == "forward"
    out = f"y{i}" if ahead else f"dx{i}"
    if ahead and stage == p - 1:
        out = f"dy{i}"
    box(ax, left + 32, 142, 48, 26, LOOKS[event.kind][1]["fc"], out, size=13)
    arrow(ax, (left + 56, 124), (left + 56, 141))
    for way, y in ((1, 149), (-1, 161)):
        if 0 <= stage + way < p:
            start = left + 56 + way * 26
            end = left + way * step + 56 - way * 26
            used = ahead == (way == 1)
            look = (WAY, 2.4) if used else (SOFT, 0.7)
            arrow(ax, (start, y), (end, y), *look)
            if used:
                words = f"x{i}" if ahead else f"dy{i}"
                side = 137 if way > 0 else 176
                write(ax, (start + end) / 2, side, words, 12, ink=WAY)
    if ahead and stage == p - 1:
        write(ax, left + 56, 184, "stays here", 12, ink=WAY)
    if not ahead and stage == 0:
        write(ax, left + 56, 184, "the end: dIn", 12, ink=WAY)


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
