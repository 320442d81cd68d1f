"""Products of sharded matrices."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from shardlab.plot.axes import FILLS, WHOLE, bare, new_axes
from shardlab.plot.films import FRAME, PLAYER, Player, short


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
    wide = max(2.6, 0.28 * longest)  # of a block, whose height is 1
    ax = new_axes(ax, (0.5 * wide * size[1] + 0.6, 0.5 * size[0] + 0.6))
    for (row, column), words in np.ndenumerate(np.array(cells, object)):
        fill = FILLS[0] if words else WHOLE
        corner = wide * column, row
        ax.add_patch(Rectangle(corner, wide, 1, fc=fill, ec="black", lw=0.8))
        middle = wide * (column + 0.5), row + 0.5
        ax.text(*middle, words, ha="center", va="center", fontsize=8)
    for row in range(size[0] if rows else 0):
        ax.text(-0.1, row + 0.5, f"{rows}={row}", ha="right", va="center")
    for column in range(size[1] if columns else 0):
        middle = wide * (column + 0.5)
        ax.text(middle, -0.1, f"{columns}={column}", ha="center", va="bottom")
    ax.set_xlim(-1.2, wide * size[1])
    ax.set_ylim(-0.5, size[0])
    return bare(ax, title)


def busy(runs, chip=0, unit=1e-6, name="µs"):
    """Draw what the links of a chip and its arithmetic are busy with, and when.

    runs     dict: title -> list of `shardlab.matmul.Work`
    chip     number of the chip
    unit     seconds in a unit of the time axis
    name     of that unit
    returns  the figure's axes, one for each run, one below the other. A bar is
             numbered by the block that comes in, or is multiplied
    """
    _, axes = plt.subplots(
        len(runs), 1, figsize=(6, 1.2 * len(runs)), sharex=True, squeeze=False
    )
    for ax, (title, works) in zip(axes.flat, runs.items(), strict=True):
        for work in [work for work in works if work.chip == chip]:
            height = ["multiply", "link"].index(work.part)
            start, long = work.start / unit, (work.end - work.start) / unit
            fill = FILLS[work.block % len(FILLS)]
            bar = {"fc": fill, "ec": "black", "lw": 0.6}
            ax.add_patch(Rectangle((start, height + 0.1), long, 0.8, **bar))
            middle = start + long / 2, height + 0.5
            ax.text(*middle, work.block, ha="center", va="center", fontsize=7)
        ax.set_yticks([0.5, 1.5], ["multiply", "receive"])
        ax.set_ylim(0, 2)
        ax.set_xlim(0, 1.02 * max(w.end for w in works) / unit)
        ax.set_title(title, loc="left")
    ends = [w.end / unit for works in runs.values() for w in works]
    axes[-1, 0].set_xlim(0, 1.02 * max(ends))
    axes[-1, 0].set_xlabel(f"time [{name}]")
    axes[0, 0].figure.tight_layout()
    return axes


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
    figures = []
    for n, hand in enumerate(hands):
        words = f"Step {n} of {len(steps)}: " if n else "Start: "
        words += f"chip 0 multiplies block {hand[0]}"
        words += ", which also goes on" if n < len(steps) else ", the last"
        terms = [[h[chip] for h in hands[: n + 1]] for chip in range(N)]
        drawn = "".join(
            drawn_product(chip, terms[chip], N, n > 0) for chip in range(N)
        )
        height = 13 * N + 110
        figures.append(
            f'<figure><svg viewBox="0 0 {FRAME} {height}" role="img" '
            f'aria-label="{words}">{drawn}</svg>'
            f"<figcaption>{words}</figcaption></figure>"
        )
    html = PLAYER.replace("TITLE", title).replace("FIGURES", "".join(figures))
    return Player(title, html)


def drawn_product(chip, terms, N, came):
    """SVG of one chip: the block of A in hand, the rows of B, terms of C."""
    pitch, cell = FRAME / N, 13
    left, top = chip * pitch + 6, 26
    below, right = top + N * cell + 8, left + 24
    hand = terms[-1]
    parts = [
        f'<text x="{short(left)}" y="10">chip {chip}</text>',
        f'<text x="{short(right + 32)}" y="{short(top + 10)}">B</text>',
        f'<text x="{short(right - 8)}" y="{short(below + 54)}">C</text>',
    ]
    for block in range(N):
        fill = FILLS[block] if block == hand else None
        place = right, top + block * cell
        parts.append(drawn_block(*place, 28, cell, block, fill))
    apart = max(2, min(8, (pitch - 62) / max(N - 1, 1)))
    for n, block in enumerate(terms):  # layers, the first one lowest
        place = right + n * apart, below + n * apart
        parts.append(drawn_block(*place, 28, 40, block, FILLS[block], True))
    block = drawn_block(left, below, 14, 40, hand, FILLS[hand])
    from_there = ((chip - 1) % N - chip) * pitch
    slide = f'<g class="s" style="--x:{short(from_there)}px;--y:0px">'
    parts.append(f"{slide}{block}</g>" if came else block)
    return "".join(parts)


def drawn_block(x, y, width, height, number, fill, corner=False):
    """SVG of a rectangle, filled or not, its number amid it or in a corner."""
    box = f'x="{short(x)}" y="{short(y)}" '
    box += f'width="{short(width)}" height="{short(height)}"'
    style = f' style="fill:{fill}"' if fill else ""
    ink = ' fill="#111"' if fill else ""
    if corner:
        width, height = 9, 9
    across, down = x + width / 2 - 2.7, y + height / 2 + 3.3
    return (
        f"<rect {box}{style}/>"
        f'<text{ink} x="{short(across)}" y="{short(down)}">{number}</text>'
    )
