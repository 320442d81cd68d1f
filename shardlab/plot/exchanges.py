"""What collectives do: what each chip holds before and after."""

from shardlab.plot.axes import INK, canvas, refuse_empty, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import film, stage
from shardlab.plot.things import arrow, box, wire, write

__all__ = ["exchanges"]

PAPER = colour("paper")
SIDE, APART = 72, 47  # pixels of a chip, and from one to the next
PANEL, TALL = 316, 288  # of a collective: narrow enough for a phone
BESIDE = 52  # pixels between two collectives


@styled
def exchanges(runs):
    """Draw what collectives do: what each chip holds before and after.

    runs     dict: title -> (steps, held), as for `film`, of 2 or 3 chips
    returns  the axes, two collectives in a row, each with what is before
             above what is after. A chip is drawn as in a film: a cell is
             numbered by the chip whose term it holds, and a sum has a +
             between its terms
    raises   ValueError for no run, for more chips, and as `film`
    """
    refuse_empty("runs", runs, "steps, and what is held")
    ax = canvas(2 * PANEL + BESIDE, TALL * -(-len(runs) // 2))
    for n, (title, run) in enumerate(runs.items()):
        left, top = n % 2 * (PANEL + BESIDE) + 2, n // 2 * TALL
        moments = film(*run)
        scene, N = stage(moments, wrap=False), len(moments[0])
        if N > 3:
            raise ValueError(f"runs must have 2 or 3 chips, got {N}")
        write(ax, left, top + 14, title, 14, "left", weight="bold")
        for y, moment in ((52, moments[0]), (186, moments[-1])):
            for chip, held in enumerate(moment):
                place = left + chip * (SIDE + APART), top + y
                name = f"chip {chip}" if y < 100 else ""
                _draw_chip(ax, place, scene, held, name)
        for chip in range(N):
            x = left + chip * (SIDE + APART) + SIDE / 2
            arrow(ax, (x, top + 132), (x, top + 178), head=7, width=1.8)
        # What is under way comes from all chips and goes to all.
        ends = left + SIDE / 2, left + (N - 1) * (SIDE + APART) + SIDE / 2
        wire(ax, (ends[0], top + 152), (ends[1], top + 152), INK, 1.8)
    return ax


def _draw_chip(ax, corner, scene, held, name):
    """Draw the cells that a chip holds, in the outline of the whole array.

    ax       axes of a `canvas`
    corner   (x, y) of the chip's top left corner, pixels
    scene    Stage of the film
    held     set of (chunk, element, term)
    name     above it; "" for none
    returns  nothing
    """
    (left, top), N = corner, len(scene.centres)
    wide, high = SIDE / scene.columns, SIDE / scene.rows / scene.parts
    box(ax, left, top, SIDE, SIDE, PAPER)
    for what in sorted(held, key=str):
        chunk, element, term = what
        (x, y), (x0, y0) = scene.place(0, what), scene.corner(0)
        x = left + (x - x0) / scene.width * wide
        y = top + (y - y0) / scene.height * high * scene.parts
        # A term that is alone is as large as the array, and so is its row.
        alone = sum(cell[:2] == what[:2] for cell in held) == 1
        whole = scene.columns > 1 and alone and not isinstance(chunk, tuple)
        x, across = (left, SIDE) if whole else (x, wide)
        look = {"edge": PAPER, "z": 1.1}
        box(ax, x, y, across, high, shade("X", term, N), term, **look)
        if scene.columns > 1 and (chunk, element, term - 1) in held:
            write(ax, x, y + high / 2, "+", 15, weight="bold", zorder=3)
    box(ax, left, top, SIDE, SIDE, "none", line=1.2, z=2)
    if name:
        write(ax, left + SIDE / 2, top - 11, name, 11)
