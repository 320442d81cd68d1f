"""The look of every drawing, and the axes that it is drawn on."""

from functools import wraps

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from shardlab.plot.colours import colour, shade
from shardlab.plot.svg import svg

__all__ = [
    "COLUMN",
    "FILLS",
    "INK",
    "LINE",
    "POINT",
    "PX",
    "SIZE",
    "SMALL",
    "SOFT",
    "WHOLE",
    "bare",
    "canvas",
    "new_axes",
    "panels",
    "refuse_empty",
    "styled",
]

PX = 1 / 96  # inches of a pixel, as CSS has it
POINT = 0.75  # points of a pixel
COLUMN = 690  # pixels of a column of text on a wide page
SIZE = (5.4, 3.3)  # inches
TEXT, SMALL = 12 * POINT, 11 * POINT  # points of what is written
INK, SOFT = colour("ink"), colour("ink-soft")
LINE, GRID = colour("line"), colour("grid")
WHOLE = colour("surface")
# Eight fills for things in a row, such as the chips along X: from light to
# dark. What a fill means is always written on it as well.
FILLS = [shade("X", n, 8) for n in range(8)]
STYLE = {
    "figure.figsize": SIZE,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlesize": TEXT,
    "axes.titleweight": "bold",
    "axes.linewidth": 0.8,
    "font.size": TEXT,
    "text.color": INK,
    "xtick.color": LINE,
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.color": LINE,
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
    "patch.linewidth": 0.8,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "mathtext.default": "regular",
    "savefig.dpi": 192,
}


class _Drawing(Figure):
    """A figure in the look of the book, which pages show as live SVG."""

    def _repr_svg_(self):
        return svg(self)


def styled(draw):
    """A function that draws in the look of the book and nowhere else."""

    @wraps(draw)
    def drawn(*given, **named):
        with mpl.rc_context(STYLE):
            return draw(*given, **named)

    return drawn


def _show_as_svg():
    """Let notebooks show figures as SVG whose bytes the drawing decides."""
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    set_matplotlib_formats("svg", bbox_inches="tight", metadata={"Date": None})
    formatters = shell.display_formatter.formatters
    formatters["image/svg+xml"].for_type(_Drawing, svg)


_show_as_svg()


@styled
def panels(rows=1, columns=1, size=SIZE, **how):
    """A new figure in the look of the book, with axes in rows and columns.

    rows, columns  of the axes
    size     inches, width and height
    how      for `matplotlib.pyplot.subplots`, such as sharex=True
    returns  the figure, and its axes as `matplotlib.pyplot.subplots` has them
    """
    return plt.subplots(
        rows, columns, figsize=size, FigureClass=_Drawing, **how
    )


def refuse_empty(name, runs, what):
    """ValueError unless `runs` is a dict with something in each of its runs."""
    if not isinstance(runs, dict) or not runs:
        raise ValueError(
            f"{name} must be a dict: title -> list of {what}, got {runs!r}"
        )
    for title, run in runs.items():
        if not run:
            raise ValueError(f"{name} must not be empty, got none at {title!r}")


def bare(ax, title=None):
    """Take ticks and frame off `ax` and give it a title."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.invert_yaxis()
    if title:
        ax.set_title(title)
    return ax


def new_axes(ax, size=SIZE):
    """`ax`, or the axes of a new figure of `size` inches."""
    return panels(size=size)[1] if ax is None else ax


@styled
def canvas(width, height):
    """Axes of a new figure on which a unit is a pixel, from the top left.

    width, height  in pixels of CSS, at most COLUMN wide
    returns  the axes, without ticks or frame
    """
    figure = plt.figure(figsize=(width * PX, height * PX), FigureClass=_Drawing)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()
    return ax
