"""Products of sharded matrices."""

from matplotlib.patches import Rectangle

from shardlab.plot.axes import (
    INK,
    SMALL,
    panels,
    refuse_empty,
    styled,
)
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import FRAME, reel, short

__all__ = ["busy", "product_player"]


@styled
def busy(runs, chip=0, unit=1e-6, name="µs", exposed=False):
    """Draw what the links of a chip and its arithmetic are busy with, and when.

    runs     dict: title -> list of `shardlab.matmul.BlockDone`
    chip     number of the chip
    unit     seconds in a unit of the time axis
    name     of that unit
    exposed  True: mark the time that the chip does not multiply
    returns  the figure's axes, one for each run, one below the other. A bar is
             numbered by the block that comes in, or is multiplied
    """
    refuse_empty("runs", runs, "matmul.BlockDone")
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
        drawn = _frames(N) + "".join(
            _drawn_product(chip, terms[chip], N, n > 0) for chip in range(N)
        )
        frames.append(
            (words, drawn + (_ring_track(N) if n < len(steps) else ""))
        )
    return reel(title, frames, _below(N) + 90 + _depth(N))


def _below(N):
    """Where the block of A in hand and the first term of C begin, in pixels."""
    return 20 * N + 40


def _depth(N):
    """Pixels by which the last term of C is lower than the first one."""
    return (N - 1) * max(2, min(13, (FRAME / N - 90) / max(N - 1, 1)))


def _frames(N):
    """SVG of a frame around each chip."""
    pitch, high = FRAME / N, short(_below(N) + 61 + _depth(N))
    wide = short(pitch - 8)
    frames = "".join(
        f"M{short(chip * pitch + 1)} 1h{wide}v{high}h-{wide}z"
        for chip in range(N)
    )
    return f'<path class="e" d="{frames}"/>'


def _ring_track(N):
    """SVG of the wires of a ring, from each block of A to the next chip's."""
    pitch, bottom = FRAME / N, _below(N) + 56
    parts = []
    for chip in range(N):
        start = chip * pitch + 8 + 17
        end = (chip + 1) % N * pitch + 8 + 5
        low = bottom + _depth(N) + (18 if chip < N - 1 else 28)
        parts.append(
            f"M{short(start)} {bottom + 3}V{short(low)}"
            f"H{short(end)}V{bottom + 4}m-4 6l4 -6l4 6"
        )
    return f'<path class="w" d="{"".join(parts)}"/>'


def _drawn_product(chip, terms, N, came):
    """SVG of one chip: the block of A in hand, the rows of B, terms of C."""
    pitch, cell = FRAME / N, 20
    left, top = chip * pitch + 8, 26
    below, right = _below(N), left + 32
    hand = terms[-1]
    parts = [f'<text x="{short(left)}" y="16">chip {chip}</text>']
    if chip == 0:  # the others look alike
        parts += [
            f'<text x="{short(left + 7)}" y="{short(below - 5)}">A</text>',
            f'<text x="{short(right + 50)}" y="{short(top + 14)}">B</text>',
            f'<text x="{short(right + 50)}" y="{short(below + 6)}">C</text>',
        ]
    idle = "".join(
        f"M{short(right)} {top + block * cell}h44v{cell}h-44z"
        for block in range(N)
        if block != hand
    )
    parts.append(f'<path class="e" d="{idle}"/>')
    for block in range(N):
        place = right, top + block * cell
        if block == hand:
            fill = shade("X", block, N)
            parts.append(_drawn_block(*place, 44, cell, block, fill))
        else:
            across, down = right + 18.6, place[1] + cell / 2 + 4.2
            at = f'x="{short(across)}" y="{short(down)}"'
            parts.append(f"<text {at}>{block}</text>")
    apart = _depth(N) / max(N - 1, 1)
    for n, block in enumerate(terms):  # layers, the first one lowest
        place = right + n * apart, below + n * apart
        parts.append(
            _drawn_block(*place, 44, 56, block, shade("X", block, N), True)
        )
    block = _drawn_block(left, below, 22, 56, hand, shade("X", hand, N))
    from_there = ((chip - 1) % N - chip) * pitch
    slide = f'<g class="s" style="--x:{short(from_there)}px;--y:0px">'
    parts.append(f"{slide}{block}</g>" if came else block)
    return "".join(parts)


def _drawn_block(x, y, width, height, number, fill, corner=False):
    """SVG of a filled rectangle, its number amid it or in a corner."""
    box = f'x="{short(x)}" y="{short(y)}" '
    box += f'width="{short(width)}" height="{short(height)}"'
    if corner:
        width, height = 11, 13
    across, down = x + width / 2 - 3.4, y + height / 2 + 4.2
    return (
        f'<rect {box} fill="{fill}"/>'
        f'<text fill="#111" x="{short(across)}" y="{short(down)}">'
        f"{number}</text>"
    )
