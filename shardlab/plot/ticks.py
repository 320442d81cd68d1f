"""Ticks where a reader wants them: plain numbers, and no others."""

from math import ceil, floor

import numpy as np
from matplotlib.ticker import LogFormatter, NullFormatter

__all__ = ["byte_ticks", "plain", "plain_ticks", "ticks"]


def ticks(ax, x=None, y=None):
    """Put ticks with plain numbers at these places, and no others.

    ax       axes of a drawing
    x, y     numbers on each axis, such as powers of two; None: as it is
    returns  the axes
    """
    for axis, at in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_minor_formatter(NullFormatter())
        if at is not None:
            axis.set_ticks(
                at, [f"{n:,g}" if n < 1e6 else _words(n) for n in at]
            )
            axis.set_ticks([], minor=True)
    return ax


def byte_ticks(ax):
    """Put a tick with its unit, such as 10 kB, at each power of ten along x.

    ax       axes of a drawing whose horizontal axis is bytes, logarithmic
    returns  the axes
    """
    low, high = np.log10(ax.get_xlim())
    powers = range(ceil(low - 1e-9), floor(high + 1e-9) + 1)
    names = [
        f"{10 ** (p % 3)} {('B', 'kB', 'MB', 'GB', 'TB')[p // 3]}"
        for p in powers
    ]
    ax.set_xticks([10.0**p for p in powers], names)
    ax.set_xticks([], minor=True)
    return ax


def _words(n):
    """A large number in millions, such as 1.6M."""
    return f"{n / 1e6:,g}M"


class _PlainLog(LogFormatter):
    """Numbers of a logarithmic axis as they are, or as 10⁶ where long."""

    def __call__(self, x, pos=None):
        return plain(x) if super().__call__(x, pos) else ""


def plain(x):
    """A number above 0 in few letters of full height, such as 0.1 or 2·10⁶."""
    if 1e-3 <= x < 1e5:
        return f"{x:,.4g}" if x < 1000 else f"{x:,.0f}"
    digits, power = f"{x:.2e}".split("e")
    digits = f"{float(digits):g}"
    raised = str(int(power)).translate(
        str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    )
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def plain_ticks(ax):
    """Write the numbers of logarithmic axes without raised small letters."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(_PlainLog())
            axis.set_minor_formatter(_PlainLog(labelOnlyBase=False))
    return ax
