"""Stripes: how a block looks that two axes of a mesh have cut."""

from matplotlib.patches import PathPatch
from matplotlib.path import Path

__all__ = ["stripes"]


def stripes(ax, corner, size, fill, pitch, zorder=1.0):
    """Paint every second diagonal stripe of a box, so that two colours show.

    ax       the axes to draw on
    corner   (x, y) of the box, its smallest values
    size     (width, height) of the box, in the units of the axes
    fill     colour of the stripes; what lies below shows between them
    pitch    from one stripe to the next but one, along an edge. A box that is
             narrower than a pitch has at least two stripes
    zorder   of the patch
    returns  the patch
    """
    wide, high = size
    pitch = min(pitch, (wide + high) / 4)
    points, codes = [], []
    for n in range(int((wide + high) // pitch) + 1):
        found = _stripe((n + 0.5) * pitch, (n + 1) * pitch, wide, high)
        if found:
            points += [(corner[0] + u, corner[1] + v) for u, v in found]
            points.append(points[-len(found)])
            codes += [Path.MOVETO, *[Path.LINETO] * (len(found) - 1)]
            codes.append(Path.CLOSEPOLY)
    patch = PathPatch(Path(points, codes), fc=fill, ec="none", zorder=zorder)
    return ax.add_patch(patch)


def _stripe(start, stop, wide, high):
    """Corners of {start <= u + v <= stop} in a box at the origin."""
    stop = min(stop, wide + high)
    if start >= stop:
        return []
    right = [(wide, 0.0)] if start < wide < stop else []
    left = [(0.0, high)] if start < high < stop else []
    one, other = (_ends(c, wide, high) for c in (start, stop))
    return [one[0], *right, other[0], other[1], *left, one[1]]


def _ends(total, wide, high):
    """Where u + v = total enters and leaves the box."""
    return (
        (min(total, wide), max(0.0, total - wide)),
        (max(0.0, total - high), min(total, high)),
    )
