"""Products of sharded matrices."""

import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import (
    INK,
    SMALL,
    WHOLE,
    bare,
    new_axes,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import FRAME, reel, short


@styled
def block_matrix(cells, title=None, rows="", columns="", ax=None):
    """Draw a matrix of blocks with a text on each.

    cells    rows of texts; a block with an empty text is drawn without a fill
    title    above the picture; None for none
    rows     name of the blocks of rows, such as "i", numbered from 0
    columns  name of the blocks of columns
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on
    """
    size = len(cells), max(map(len, cells))
    longest = max(len(words) for row in cells for words in row)
    wide = max(2.6, 0.3 * longest)  # of a block, whose height is 1
    ax = new_axes(ax, (0.5 * wide * size[1] + 0.6, 0.5 * size[0] + 0.6))
    for (row, column), words in np.ndenumerate(np.array(cells, object)):
        fill = shade("X", 0) if words else WHOLE
        corner = wide * column, row
        ax.add_patch(Rectangle(corner, wide, 1, fc=fill, ec=INK, lw=0.8))
        middle = wide * (column + 0.5), row + 0.5
        ax.text(
            *middle, words, ha="center", va="center_baseline", fontsize=SMALL
        )
    for row in range(size[0] if rows else 0):
        ax.text(-0.1, row + 0.5, f"{rows}={row}", ha="right", va="center")
    for column in range(size[1] if columns else 0):
        middle = wide * (column + 0.5)
        ax.text(middle, -0.1, f"{columns}={column}", ha="center", va="bottom")
    ax.set_xlim(-1.2, wide * size[1])
    ax.set_ylim(-0.5, size[0])
    return bare(ax, title)


@styled
def busy(runs, chip=0, unit=1e-6, name="µs", exposed=False):
    """Draw what the links of a chip and its arithmetic are busy with, and when.

    runs     dict: title -> list of `shardlab.matmul.Work`
    chip     number of the chip
    unit     seconds in a unit of the time axis
    name     of that unit
    exposed  True: mark the time that the chip does not multiply
    returns  the figure's axes, one for each run, one below the other. A bar is
             numbered by the block that comes in, or is multiplied
    """
    refuse_empty("runs", runs, "matmul.Work")
    blocks = 1 + max(work.block for works in runs.values() for work in works)
    _, axes = panels(
        len(runs),
        1,
        size=(7, (1.7 if exposed else 1.3) * len(runs)),
        sharex=True,
        squeeze=False,
    )
    for ax, (title, works) in zip(axes.flat, runs.items(), strict=True):
        for work in [work for work in works if work.chip == chip]:
            height = ["multiply", "link"].index(work.part)
            start, long = work.start / unit, (work.end - work.start) / unit
            fill = shade("X", work.block, blocks)
            bar = {"fc": fill, "ec": INK, "lw": 0.6}
            ax.add_patch(Rectangle((start, height + 0.1), long, 0.8, **bar))
            middle = start + long / 2, height + 0.5
            ax.text(
                *middle,
                work.block,
                ha="center",
                va="center_baseline",
                fontsize=SMALL,
            )
        ax.set_yticks([0.5, 1.5], ["multiply", "receive"])
        ax.set_ylim(-1 if exposed else 0, 2)
        ax.set_title(title, loc="left")
        if exposed:
            _mark_exposed(ax, [w for w in works if w.chip == chip], unit, name)
    ends = [w.end / unit for works in runs.values() for w in works]
    axes[-1, 0].set_xlim(0, 1.02 * max(ends))
    axes[-1, 0].set_xlabel(f"time [{name}]")
    axes[0, 0].figure.tight_layout()
    return axes


def _mark_exposed(ax, works, unit, name):
    """Split the time of a chip into what it multiplies and the rest."""
    products = [w for w in works if w.part == "multiply"]
    end = max(w.end for w in products) / unit
    math = sum(w.end - w.start for w in products) / unit
    first = 0 if min(w.start for w in products) == 0 else end - math
    waits = (math, end) if first == 0 else (0, first)
    for start, stop, ink, words in (
        (first, first + math, "arithmetic", "arithmetic"),
        (*waits, "network", "exposed"),
    ):
        ink = colour(ink)
        ends = {"arrowstyle": "|-|,widthA=0.3,widthB=0.3", "color": ink}
        ends |= {"shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (stop, -0.25), (start, -0.25), arrowprops=ends)
        said = f"{words} {stop - start:.0f} {name}"
        at = {"ha": "center", "va": "top", "fontsize": SMALL, "color": ink}
        ax.text((start + stop) / 2, -0.42, said, **at)


def product_player(steps, N, title):
    """A film of a product whose factor travels round a ring, block by block.

    steps    list of steps, each a list of `shardlab.ring.Hop`, one for each
             chip: a gather that goes one way
    N        chips, each with one block at the start
    title    says what is shown
    returns  Player. A chip is drawn with the block of A that it holds, the N
             blocks of rows of B, and the terms of C that it has added up
    raises   ValueError unless every step brings every chip one block
    """
    hands = [{chip: chip for chip in range(N)}]
    hands += [{hop.destination: hop.chunk for hop in step} for step in steps]
    if any(sorted(hand.values()) != list(range(N)) for hand in hands):
        raise ValueError("steps must bring every chip one block each")
    frames = []
    for n, hand in enumerate(hands):
        words = f"Step {n} of {len(steps)}: " if n else "Start: "
        words += f"chip 0 multiplies block {hand[0]}"
        words += ", which also goes on" if n < len(steps) else ", the last"
        terms = [[h[chip] for h in hands[: n + 1]] for chip in range(N)]
        drawn = "".join(
            drawn_product(chip, terms[chip], N, n > 0) for chip in range(N)
        )
        height = 20 * N + 134
        frames.append((words, drawn + (ring_track(N) if N > 1 else "")))
    return reel(title, frames, height)


def ring_track(N):
    """SVG of the wires of a ring, from each block of A to the next chip's."""
    pitch, bottom = FRAME / N, 20 * N + 92
    parts = []
    for chip in range(N):
        start = chip * pitch + 6 + 17
        end = (chip + 1) % N * pitch + 6 + 5
        low = bottom + (22 if chip < N - 1 else 32)
        parts.append(
            f"M{short(start)} {bottom + 3}V{low}H{short(end)}V{bottom + 4}"
            f"m-4 6l4 -6l4 6"
        )
    return f'<path class="w" d="{"".join(parts)}"/>'


def drawn_product(chip, terms, N, came):
    """SVG of one chip: the block of A in hand, the rows of B, terms of C."""
    pitch, cell = FRAME / N, 20
    left, top = chip * pitch + 6, 26
    below, right = top + N * cell + 10, left + 32
    hand = terms[-1]
    parts = [
        f'<text x="{short(left)}" y="10">chip {chip}</text>',
        f'<text x="{short(right + 50)}" y="{short(top + 10)}">B</text>',
        f'<text x="{short(right - 11)}" y="{short(below + 70)}">C</text>',
    ]
    for block in range(N):
        fill = shade("X", block, N) if block == hand else None
        place = right, top + block * cell
        parts.append(drawn_block(*place, 44, cell, block, fill))
    apart = max(2, min(10, (pitch - 90) / max(N - 1, 1)))
    for n, block in enumerate(terms):  # layers, the first one lowest
        place = right + n * apart, below + n * apart
        parts.append(
            drawn_block(*place, 44, 56, block, shade("X", block, N), True)
        )
    block = drawn_block(left, below, 22, 56, hand, shade("X", hand, N))
    from_there = ((chip - 1) % N - chip) * pitch
    slide = f'<g class="s" style="--x:{short(from_there)}px;--y:0px">'
    parts.append(f"{slide}{block}</g>" if came else block)
    return "".join(parts)


def drawn_block(x, y, width, height, number, fill, corner=False):
    """SVG of a rectangle, filled or not, its number amid it or in a corner."""
    box = f'x="{short(x)}" y="{short(y)}" '
    box += f'width="{short(width)}" height="{short(height)}"'
    style = f' fill="{fill}"' if fill else ""
    ink = ' fill="#111"' if fill else ""
    if corner:
        width, height = 11, 13
    across, down = x + width / 2 - 3.4, y + height / 2 + 4.2
    return (
        f"<rect {box}{style}/>"
        f'<text{ink} x="{short(across)}" y="{short(down)}">{number}</text>'
    )
