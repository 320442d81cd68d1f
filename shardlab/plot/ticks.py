"""Ticks where a reader wants them: plain numbers, and no others."""

from matplotlib.ticker import NullFormatter


def ticks(ax, x=None, y=None):
    """Put ticks with plain numbers at these places, and no others.

    ax       axes of a drawing
    x, y     numbers on each axis, such as powers of two; None: as it is
    returns  the axes
    """
    for axis, at in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_minor_formatter(NullFormatter())
        if at is not None:
            axis.set_ticks(at, [f"{n:,g}" if n < 1e6 else words(n) for n in at])
            axis.set_ticks([], minor=True)
    return ax


def words(n):
    """A large number in millions, such as 1.6M."""
    return f"{n / 1e6:,g}M"
