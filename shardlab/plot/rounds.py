"""Who sends to whom in a collective, and the wires across a middle."""

import numpy as np

from shardlab.plot.axes import INK, LINE, SOFT, WHOLE, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import (
    arrow,
    box,
    chip,
    ring,
    switch,
    torus,
    wire,
    write,
)

__all__ = ["bisection", "idle_links", "reached", "rounds"]

WIDE, TALL, TOP = 690, 30, 46  # the picture; a round; above the first one
LEFT = 46  # of chip 0 in its half of the picture


def reached(sends, start=0):
    """Which chips have what one had, before the first round and after each.

    sends    list of rounds, each a list of (source, destination)
    start    chip that has it
    returns  list of sets of chips; who receives in a round passes on in later
             ones
    """
    have = [{start}]
    for round_ in sends:
        here = have[-1]
        have.append(here | {to for source, to in round_ if source in here})
    return have


@styled
def rounds(runs, N):
    """Draw who sends to whom, round after round, time running down.

    runs     dict: title -> list of rounds, each a list of (source,
             destination), chips 0 to N - 1
    N        chips, side by side
    returns  the axes drawn on. What brings a chip the block of chip 0 for the
             first time is drawn strong, and chips that have it are filled
    raises   ValueError for no run, and for a chip that is none
    source   chapter 3
    """
    if not runs:
        raise ValueError(f"runs must name one or more, got {runs!r}")
    pairs = [list(runs.items())[n : n + 2] for n in range(0, len(runs), 2)]
    highs = [max(_tall(r) for _, r in pair) + TOP + 34 for pair in pairs]
    ax, half = canvas(WIDE, sum(highs)), WIDE / 2
    pitch = (half - LEFT - 26) / (N - 1)
    for row, pair in enumerate(pairs):
        for column, (title, sends) in enumerate(pair):
            if not all(0 <= c < N for r in sends for p in r for c in p):
                raise ValueError(
                    f"runs must name chips 0 to {N - 1}, in {title!r}"
                )
            place = column * half + LEFT, sum(highs[:row]) + TOP
            words = f"{len(sends)} round{'s' if len(sends) > 1 else ''}"
            write(
                ax,
                place[0] - 6,
                place[1] - 34,
                title,
                13,
                "left",
                weight="bold",
            )
            last = place[0] + (N - 1) * pitch
            write(ax, last, place[1] - 34, words, 12, "right", ink=SOFT)
            _spread(ax, place, sends, N, pitch)
    return ax


def _tall(sends):
    """Pixels of all rounds; one that is alone has the room of two."""
    return max(len(sends), 2) * TALL


def _spread(ax, place, sends, N, pitch):
    """The rounds of one algorithm, chip 0 of the first moment at a place."""
    (left, top), have = place, reached(sends)
    tall = _tall(sends) / len(sends)
    for r, round_ in enumerate(sends):
        y, fresh = top + r * tall, set(have[r])
        for a, b in sorted(set(round_)):
            ends = (left + a * pitch, y), (left + b * pitch, y + tall)
            first = a in have[r] and b not in fresh
            fresh |= {b} if first else set()
            ink, width = (colour("axis-x"), 2.6) if first else (LINE, 0.7)
            wire(ax, *ends, ink, width, z=0.6 if first else 0.4)
    for r, here in enumerate(have):
        for c in range(N):
            fill = shade("X", 1) if c in here else WHOLE
            number = c if r in (0, len(sends)) else ""
            size = 17 if r in (0, len(sends)) else 10
            where = left + c * pitch, top + r * tall
            chip(ax, *where, size, number, fill, letters=11)
    end = top + _tall(sends)
    arrow(ax, (left - 22, top), (left - 22, end), SOFT, 1.2)
    write(ax, left - 30, (top + end) / 2, "time", 11, ink=SOFT, rotation=90)


@styled
def bisection():
    """Draw the wires across the middle of a ring, a torus and a switch.

    returns  the axes drawn on: 16 chips on a ring and on a torus of 4 x 4, and
             8 at a switch. One half is filled, what crosses the cut is drawn
             strong, and arrows say how much goes each way
    source   chapter 3
    """
    ax, cut = canvas(WIDE, 306), colour("network")
    half, other = shade("X", 1), colour("paper")
    at = ring(ax, 112, 156, 16, 84, 22, words=[""] * 16)
    for n, place in enumerate(at):
        chip(ax, *place, 22, "", other if n < 8 else half, z=2)
    for a, b in ((0, 15), (7, 8)):
        wire(ax, at[a], at[b], cut, 4, z=0.9)
    grid = torus(ax, 276, 88, 4, 4, 46, 24, words=False)
    for i, j in np.ndindex(4, 4):
        chip(ax, *grid[i, j], 24, "", half if j < 2 else other, z=2)
    for i in range(4):
        wire(ax, grid[i, 1], grid[i, 2], cut, 4, z=0.9)
        wire(ax, grid[i, 0], grid[i, 3], cut, 2.4, bend=-15.6, z=0.9)
    below = switch(ax, 462, 92, 8, 27, 20, words=[""] * 8, name="")
    write(ax, 510, 105, "switch", 12)
    for n, (x, y) in enumerate(below):
        chip(ax, x, y, 20, "", half if n < 4 else other, z=2)
        if n < 4:
            wire(ax, (x, y - 58), (x, y - 10), cut, 4, z=0.9)
    middle = (below[3][0] + below[4][0]) / 2
    for x, lean, words, more in (
        (112, 24, "ring of 16", "2 links cross"),
        (345, 0, "torus of 4 × 4", "8 links cross"),
        (middle, 0, "8 at a switch", "4 ports lead out"),
    ):
        wire(ax, (x - lean, 48), (x + lean, 264), INK, 1.4, dashed=True, z=5)
        for y, way in ((14, 1), (34, -1)):
            ends = (x - 34 * way, y), (x + 34 * way, y)
            arrow(ax, *ends, cut, 2.4, head=7)
            write(ax, x - 54 * way, y, "V/4", 12)
        write(ax, x, 278, words, 12, weight="bold")
        write(ax, x, 296, more, 12, ink=SOFT)
    return ax


@styled
def idle_links():
    """Draw which wires gather over X, and over X and Z after forgetting.

    returns  the axes drawn on: the 4 x 4 chips of a cube that share a place on
             Y, X across and Z down, twice. A chip is a box with the four parts
             of its column's block; a part that it has forgotten is empty, and
             wires that idle are dashed
    source   chapter 3
    """
    ax, pitch, x, y = canvas(WIDE, 330), 66, 84, 78
    for left, title, parts in (
        (x, "before: the Z links idle", range(4)),
        (x + 362, "after forgetting: X and Z links work", None),
    ):
        middle = left + 1.5 * pitch
        write(ax, middle, 14, title, 13, weight="bold")
        for i, j in np.ndindex(4, 4):
            here = np.array([left + j * pitch, y + i * pitch])
            if j < 3:
                wire(ax, here, here + [pitch, 0], colour("axis-x"), 2)
            if i < 3:
                ink, thick, idle = _down(parts)
                wire(ax, here, here + [0, pitch], ink, thick, dashed=idle)
        for n in range(4):
            ends = (left, y + n * pitch), (left + 3 * pitch, y + n * pitch)
            wire(ax, *ends, colour("axis-x"), 1.4, bend=-26)
            write(ax, left + n * pitch, 40, f"X = {n}", 11, ink=SOFT)
            ends = (left + n * pitch, y), (left + n * pitch, y + 3 * pitch)
            ink, _, idle = _down(parts)
            wire(ax, *ends, ink, 1.4, bend=24, dashed=idle)
            write(ax, left - 36, y + n * pitch, f"Z = {n}", 11, "right", SOFT)
        for i, j in np.ndindex(4, 4):
            held = range(4) if parts else (i,)
            _quarters(ax, left + j * pitch, y + i * pitch, j, held)
    return ax


def _down(idle):
    """Colour, width and dashes of the wires along Z."""
    return (SOFT, 1.4, True) if idle else (colour("axis-z"), 2, False)


def _quarters(ax, x, y, column, held):
    """A chip with the four parts of a block, of which it holds some."""
    wide, high = 36, 10
    for part in range(4):
        fill = shade("X", column) if part in held else colour("paper")
        place = x - wide / 2, y + (part - 2) * high
        box(ax, *place, wide, high, fill, line=0.7, z=2)
