"""What collectives do: what each chip holds before and after."""

from shardlab.plot.axes import COLUMN, SOFT, canvas, refuse_empty, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import film, stage
from shardlab.plot.things import arrow, box, write

PAPER = colour("paper")
SIDE = 72  # pixels of a chip
NAME, LEFT, BETWEEN, ROW = 40, 4, 70, 142


@styled
def exchanges(runs):
    """Draw what collectives do: what each chip holds before and after.

    runs     dict: title -> (steps, held), as for `film`
    returns  the axes, a row for each collective. A chip is drawn as in a film:
             a cell is numbered by the chip whose term it holds, and a sum has
             a + between its terms
    raises   ValueError for no run, and as `film`
    """
    refuse_empty("runs", runs, "steps, and what is held")
    ax = canvas(COLUMN, ROW * len(runs) + 22)
    for n, (title, run) in enumerate(runs.items()):
        moments, top = film(*run), ROW * n + 26
        scene, N = stage(moments, wrap=False), len(moments[0])
        group = (COLUMN - BETWEEN - 2 * LEFT) / 2
        write(ax, LEFT, top, title, 14, "left", weight="bold")
        for left, moment in (
            (LEFT, moments[0]),
            (COLUMN - LEFT - group, moments[-1]),
        ):
            pitch = (group - SIDE) / max(N - 1, 1)
            for chip, held in enumerate(moment):
                place = left + chip * pitch, top + NAME
                draw_chip(ax, place, scene, held, f"chip {chip}")
        y, middle = top + NAME + SIDE / 2, COLUMN / 2
        arrow(ax, (middle - 24, y), (middle + 24, y), head=9, width=2.4)
    for x, words in ((LEFT, "before"), (COLUMN - LEFT - group, "after")):
        write(ax, x + group / 2, 10, words, 12, ink=SOFT)
    return ax


def draw_chip(ax, corner, scene, held, name):
    """Draw the cells that a chip holds, in the outline of the whole array.

    ax       axes of a `canvas`
    corner   (x, y) of the chip's top left corner, pixels
    scene    Stage of the film
    held     set of (chunk, element, term)
    name     above it
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
        box(ax, x, y, wide, high, shade("X", term, N), term, edge=PAPER, z=1.1)
        if scene.columns > 1 and (chunk, element, term - 1) in held:
            write(ax, x, y + high / 2, "+", 11, zorder=3)
    box(ax, left, top, SIDE, SIDE, "none", line=1.2, z=2)
    write(ax, left + SIDE / 2, top - 11, name, 11)
