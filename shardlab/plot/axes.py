"""The look of every drawing, and the axes that it is drawn on."""

import matplotlib as mpl
import matplotlib.pyplot as plt

# Eight fills that stay apart in greyscale and for colour-blind readers; what a
# fill means is always written on it as well.
FILLS = [
    "#9ecae1",
    "#fdbe85",
    "#a1d99b",
    "#dadaeb",
    "#fee391",
    "#fcbba1",
    "#c7e9e4",
    "#d9d9d9",
]
SIZE = (5, 3)  # inches
WHOLE = "#f7f7f7"


def set_style():
    """Figures without background, fonts as outlines, repeatable SVG."""
    mpl.rcParams.update(
        {
            "figure.figsize": SIZE,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "font.size": 9,
            "legend.frameon": False,
            "svg.hashsalt": "shard-by-shard",
            "svg.fonttype": "path",
        }
    )
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats(
            "svg", bbox_inches="tight", metadata={"Date": None}
        )


set_style()


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
    return plt.subplots(figsize=size)[1] if ax is None else ax
