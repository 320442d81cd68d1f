"""Experts: who is chosen, which slots are taken, and who holds what."""

import numpy as np

from shardlab.plot.axes import (
    INK,
    LINE,
    SOFT,
    WHOLE,
    canvas,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import PAPER, arrow, box, frame, wire, write

__all__ = [
    "expert_axes",
    "expert_loads",
    "ragged_pieces",
    "ragged_rows",
    "router_choices",
    "slots_taken",
    "stages_and_experts",
]

MARK = colour("mark")


@styled
def slots_taken(experts, E, C, chip_of=None, chips=4):
    """Draw the queue of a group's visits, and who finds a slot.

    experts  experts[B, k] that the tokens visit
    E, C     experts, and slots of each
    chip_of  list: the chip that each token is from, for its colour; None: all
             of chip 0
    chips    along Z
    returns  the axes drawn on
    source   chapter 14
    """
    ax = canvas(690, E * 34 + 66)
    queues = [[] for _ in range(E)]
    for choice in np.asarray(experts).T:
        for token, expert in enumerate(choice):
            queues[expert].append(token)
    longest = max(map(len, queues))
    pitch = min(62, 520 / longest)
    for e, queue in enumerate(queues):
        y = 44 + e * 34
        write(ax, 96, y + 13, f"expert {e}", 12, "right")
        for n in range(max(C, len(queue))):
            x = 112 + n * pitch + (22 if n >= C else 0)
            inside, taken = n < C, n < len(queue)
            home = chip_of[queue[n]] if taken and chip_of else 0
            fill = shade("Z", home, chips) if taken and inside else PAPER
            edge = INK if inside else MARK
            words = queue[n] if taken else ""
            look = {"edge": edge, "ink": edge, "line": 0.8 if inside else 1.8}
            box(ax, x, y, pitch - 5, 26, fill, words, z=1, **look)
    write(ax, 112 + C * pitch / 2, 24, f"{C} slots", 12, weight="bold")
    if longest > C:
        x = 134 + (C + longest) * pitch / 2
        write(ax, x, 24, "dropped", 12, ink=MARK, weight="bold")
    words = "numbers are tokens, in the order in which they ask"
    write(ax, 112, E * 34 + 54, words, 12, "left", SOFT)
    return ax


@styled
def ragged_rows(visits, C):
    """Draw the rows that experts multiply, with slots and without.

    visits   visits of each expert on one chip
    C        slots of each
    returns  the axes drawn on
    source   chapter 14
    """
    visits, E = [int(n) for n in visits], len(visits)
    most = max(C * E, sum(max(n, 2) for n in visits))
    ax = canvas(690, most * _ROW + E * 8 + 70)
    for left, title in zip(_LEFTS, ("slots", "without slots"), strict=True):
        write(ax, left + 100, 14, title, 12.5, weight="bold")
    y = z = 34
    for e, n in enumerate(visits):
        fill = shade("Z", e, E)
        _run(ax, _LEFTS[0], y, [e] * min(n, C), C, fill)
        _run(ax, _LEFTS[1], z, [e] * n, n, fill)
        for row in range(n - C):
            place = _LEFTS[0] - 96, y + row * _ROW, 84, _ROW
            box(ax, *place, PAPER, line=1.6, edge=MARK, z=1)
        if n > C:
            words, below = f"{n - C} dropped", y + (n - C) * _ROW + 11
            write(ax, _LEFTS[0] - 54, below, words, 12, ink=MARK)
        y, z = y + C * _ROW + 8, z + max(n, 2) * _ROW + 8
    for left, words in zip(_LEFTS, _BELOW, strict=True):
        y = most * _ROW + E * 8 + 52
        write(ax, left + 100, y, words, 12, ink=SOFT)
    return ax


_ROW, _LEFTS = 13, (150, 450)
_BELOW = "empty rows are multiplied, too", "each run with its own matrix"


def _run(ax, x, y, rows, room, fill):
    """The rows of one expert, and its matrix."""
    for n in range(room):
        look = {"line": 0.6, "edge": INK if n < len(rows) else LINE, "z": 1}
        top = y + n * _ROW
        box(ax, x, top, 84, _ROW, fill if n < len(rows) else PAPER, **look)
    if rows:
        middle = y + max(room, 2) * _ROW / 2
        write(ax, x + 102, middle, "×", 14)
        box(ax, x + 120, middle - 12, 76, 24, fill, rf"W_in[{rows[0]}]", z=1)


@styled
def ragged_pieces(sizes, chip=1):
    """Draw an exchange of pieces that differ: rows before, and where they land.

    sizes    sizes[from, to], rows that each chip sends to each
    chip     the sender whose pieces are framed and followed
    returns  the axes drawn on
    raises   ValueError unless sizes is square
    source   chapter 14
    """
    sizes = np.asarray(sizes)
    if sizes.ndim != 2 or len(sizes) != sizes.shape[1]:
        raise ValueError(f"sizes must be [chips, chips], got {sizes.shape}")
    Z, ax, gold = len(sizes), canvas(690, 286), colour("network")
    most = max(sizes.sum(axis=0).max(), sizes.sum(axis=1).max())
    pitch, step, high, low = 158 / most, 684 / Z, 30, 176
    words = "before: rows by the chip that they go to"
    write(ax, 4, 14, words, 12.5, "left", weight="bold")
    words = "after: rows by the chip that they come from"
    write(ax, 4, low + 54, words, 12.5, "left", weight="bold")
    for one in range(Z):
        x, fill, mine = 4 + one * step, shade("Z", one, Z), one == chip
        write(ax, x, 40, f"chip {one}", 12, "left")
        for other, n in enumerate(sizes[one]):
            start, lands = sizes[one, :other].sum(), sizes[:one, other].sum()
            look = {"line": 2.4 if mine else 0.8, "z": 2 if mine else 1}
            left, right = x + start * pitch, 4 + other * step + lands * pitch
            for at, y, words in ((left, 52, other), (right, low, one)):
                words = words if n > 1 else ""
                box(ax, at, y, n * pitch, high, fill, words, **look)
            if mine and n:
                half = n * pitch / 2
                ends = (left + half, 54 + high), (right + half, low - 3)
                arrow(ax, *ends, gold, 2.2)
    row = sizes[chip]
    parts = row.cumsum() - row, row, sizes[:chip].sum(axis=0), sizes[:, chip]
    words = [", ".join(map(str, part)) for part in parts]
    said = f"chip {chip}: starts {words[0]}; sizes {words[1]};"
    write(ax, 4, low + 80, said, 12, "left", SOFT)
    said = f"lands {words[2]}; sizes of what comes {words[3]}"
    write(ax, 4, low + 98, said, 12, "left", SOFT)
    return ax


@styled
def expert_loads(runs, mean, name="visits"):
    """Draw how many visits each expert gets, a row of bars for each run.

    runs     dict: title -> visits[E], or visits[steps, E]; then a bar is the
             mean of the steps, a line on it reaches from the least to the most
             of a step, and the title says how busy the busiest expert of a
             step is on average
    mean     visits of each, if all were alike
    name     of what is counted
    returns  the axes drawn on
    source   chapter 14
    """
    runs = {title: np.atleast_2d(visits) for title, visits in runs.items()}
    most = max(np.max(visits) for visits in runs.values())
    highs = [88 * np.max(visits) / most for visits in runs.values()]
    ax, ground = canvas(690, sum(highs) + 104 * len(runs) - 32), 0
    for (title, steps), high in zip(runs.items(), highs, strict=True):
        ground, wide = (
            ground + high + (104 if ground else 34),
            560 / steps.shape[1],
        )
        busiest = np.mean(steps.max(axis=1)) / mean
        words = f"{title}: {busiest:.2f} × mean"
        write(ax, 110, ground - high - 14, words, 12.5, "left", weight="bold")
        visits = steps.mean(axis=0)
        for e, count in enumerate(visits):
            tall, x = 88 * count / most, 110 + e * wide
            fill = shade("Z", 2 if count == np.max(visits) else 1)
            box(ax, x, ground - tall, wide - 6, tall, fill, line=0.5, z=1)
            least, top = (88 * f(steps[:, e]) / most for f in (np.min, np.max))
            if len(steps) > 1:
                middle = x + wide / 2 - 3
                ends = (middle, ground - least), (middle, ground - top)
                wire(ax, *ends, INK, 1.4, z=1.5)
            write(
                ax,
                x + wide / 2 - 3,
                ground + 11,
                f"{count:.1f}".removesuffix(".0"),
                11,
            )
        write(ax, 100, ground + 11, name, 11, "right", SOFT)
        level = ground - 88 * mean / most
        wire(ax, (106, level), (672, level), INK, 1, dashed=True, z=1.2)
        write(ax, 100, level, f"mean {mean:g}", 11, "right")
    for e in range(steps.shape[1]):
        x = 110 + (e + 0.5) * wide - 3
        write(ax, x, ground + 28, f"E{e}", 11, ink=SOFT)
    return ax


@styled
def expert_axes(replicas=2, chips=4, E=8):
    """Draw a mesh of replicas and chips of experts: who holds and sums what.

    replicas  along X
    chips     along Z
    E         experts of the layer, dealt along Z
    returns   the axes drawn on
    source    chapter 14
    """
    ax, pitch, wide = canvas(690, replicas * 116 + 104), 152, 126
    green, blue = colour("axis-z"), colour("axis-x")
    words = "tokens travel along Z, between the chips of a row"
    write(ax, 82, 14, words, 12, "left", green, weight="bold")
    words = "gradients of experts are summed along X"
    write(ax, 82, 36, words, 12, "left", blue, weight="bold")
    for x in range(replicas):
        top = 58 + x * 116
        write(ax, 74, top + 39, f"replica {x}", 12, "right")
        for z in range(chips):
            left = 82 + z * pitch
            frame(ax, left, top, wide, 78, fill=PAPER, edge=INK)
            box(ax, left + 6, top + 8, wide - 12, 24, WHOLE, "attention", z=1)
            mine = range(z * E // chips, (z + 1) * E // chips)
            part, fill = (wide - 12) / len(mine), shade("Z", z, chips)
            for n, expert in enumerate(mine):
                place = left + 6 + n * part, top + 42, part - 3, 28
                box(ax, *place, fill, f"E{expert}", z=1)
            if z:  # both ways, between neighbours
                ends = (left - 24, top + 56), (left - 2, top + 56)
                arrow(ax, *ends, green, 2.4, both=True)
            if x:
                at = left + wide / 2
                ends = (at, top - 36), (at, top - 2)
                arrow(ax, *ends, blue, 2.4, both=True)
    words = "gradients of attention are summed over all chips"
    left, right, y = 82, 82 + (chips - 1) * pitch + wide, replicas * 116 + 44
    wire(ax, (left, y), (right, y), colour("pod"), 2)
    for x in (left, right):
        wire(ax, (x, y - 8), (x, y), colour("pod"), 2)
    middle = (left + right) / 2
    write(ax, middle, y + 20, words, 12, ink=colour("pod"), weight="bold")
    return ax


@styled
def stages_and_experts(stages=16, nodes=16, gpus=8, experts=256, groups=2):
    """Draw a pipeline fed from both ends, one of its places, and a node.

    stages   of the pipeline, and places; place n has stages n and n-th last
    nodes    of a place
    gpus     of a node
    experts  of a layer
    groups   of a place's nodes, each of which has all experts of a layer
    returns  the axes drawn on
    source   chapter 14
    """
    ax, wide, mine = canvas(690, 488), 672 / stages, stages // 3
    twin, pitch = stages - 1 - mine, 672 / gpus
    words = f"{stages} places of {nodes * gpus} GPUs; each has two stages"
    write(ax, 9, 14, words, 12, "left", weight="bold")
    for n in range(stages):
        for stage, top in ((n, 30), (stages - 1 - n, 58)):
            fill = WHOLE
            if n == mine:
                fill = shade("pod", 2 if stage == n else 1)
            box(ax, 9 + n * wide, top, wide - 5, 28, fill, stage, size=12, z=1)
    _picked(ax, 9 + mine * wide, 30, wide - 5, 56)
    for y, ends in ((100, (9, 330)), (100, (676, 360))):
        arrow(ax, (ends[0], y), (ends[1], y), SOFT, 1.4)
    write(ax, 20, 120, "microbatches of the upper row", 11, "left", SOFT)
    write(ax, 672, 120, "microbatches of the lower row", 11, "right", SOFT)
    words = f"the place with stages {mine} and {twin}: {nodes} nodes"
    write(ax, 9, 151, words, 12, "left", weight="bold")
    _groups(ax, nodes, groups, experts)
    write(ax, 9, 258, f"its node 0: {gpus} GPUs", 12, "left", weight="bold")
    each = experts // (nodes // groups * gpus)
    pair = (mine, "pod", 2), (twin, "pod", 1)
    for n in range(gpus):
        left, across = 9 + n * pitch, pitch - 5
        frame(ax, left, 274, across, 170, fill=PAPER, edge=INK)
        write(ax, left + across / 2, 290, f"GPU {n}", 12)
        for row, (stage, axis, step) in enumerate(pair):
            top, fill = 304 + row * 69, shade(axis, step)
            place, words = (left + 5, top, across - 10, 30), f"stage {stage}"
            box(ax, *place, fill, words, size=12, z=1)
            place = left + 5, top + 32, across - 10, 30
            words = f"E{n * each}–{(n + 1) * each - 1}"
            box(ax, *place, shade("Z", 1), words, size=12, z=1)
    words = "of each layer of both stages: attention, and these experts"
    write(ax, 9, 466, words, 12, "left", SOFT)
    return ax


def _picked(ax, x, y, across, high):
    """A thick frame around what the next row shows."""
    box(ax, x, y, across, high, "none", line=2.4, z=2)


def _groups(ax, nodes, groups, experts):
    """The nodes of a place, in groups that have all experts of a layer."""
    pitch, each = 672 / nodes, nodes // groups
    for n in range(nodes):
        fill = shade("Z", 0 if n // each else 1)
        box(ax, 9 + n * pitch, 192, pitch - 5, 36, fill, n, size=12, z=1)
    _picked(ax, 9, 192, pitch - 5, 36)
    for group in range(groups):
        words = f"{each} nodes: all {experts} experts of a layer"
        left = 9 + (group + 0.5) * each * pitch
        ink = colour("axis-z")
        write(ax, left, 176, words, 12, ink=ink, weight="bold")


@styled
def router_choices(chances, experts):
    """Draw a router's chances in percent, and which experts are chosen.

    chances  chances[B, E]
    experts  experts[B, k] that the tokens visit
    returns  the axes drawn on
    source   chapter 14
    """
    chances, (B, E) = np.asarray(chances), np.shape(chances)
    ax, wide = canvas(690, B * 32 + 60), min(62, 560 / E)
    for e in range(E):
        x = 100 + (e + 0.5) * wide
        write(ax, x, 18, f"expert {e}" if wide > 55 else f"E{e}", 12)
    for token in range(B):
        y = 36 + token * 32
        write(ax, 88, y + 14, f"token {token}", 12, "right")
        for e in range(E):
            mine = e in np.asarray(experts[token])
            fill = shade("Z", 2) if mine else WHOLE
            words = f"{100 * chances[token, e]:.0f}"
            x, look = 100 + e * wide, {"z": 1, "edge": INK if mine else LINE}
            weight = "bold" if mine else None
            box(ax, x, y, wide - 4, 28, fill, words, weight=weight, **look)
    words = "percent; each row adds up to 100, but for rounding"
    write(ax, 100, B * 32 + 50, words, 12, "left", SOFT)
    return ax
