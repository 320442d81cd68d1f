"""An AllToAll whose parts differ in size, followed along its ways."""

import itertools
import math

import numpy as np

from shardlab.arguments import flag, takes
from shardlab.ring.network import torus

__all__ = ["uneven_exchange"]


def _square(parts, sizes, wrap):
    N = math.prod(torus(sizes, wrap, 2, "split").sizes)
    if np.shape(parts) != (N, N):
        raise ValueError(
            f"parts must be [{N}, {N}] for sizes {sizes}, got {np.shape(parts)}"
        )


def _steps(start, end, count, wrap):
    """(place, direction, share) of the hops along one axis; a tie is split."""
    ahead = (end - start) % count
    ways = [(0, ahead, 1.0)]
    if not wrap:
        ways = [
            (0, end - start, 1.0) if end >= start else (1, start - end, 1.0)
        ]
    elif 2 * ahead > count:
        ways = [(1, count - ahead, 1.0)]
    elif 2 * ahead == count:
        ways = [(0, ahead, 0.5), (1, ahead, 0.5)]
    for direction, hops, share in ways:
        for hop in range(hops):
            yield (start + (1, -1)[direction] * hop) % count, direction, share


@takes(_square, wrap=flag)
def uneven_exchange(parts, sizes, wrap=True):
    """What each link carries if chips send each other different amounts.

    parts    parts[N, N], bytes from each chip to each chip, in row-major order
             of the chips; the diagonal stays where it is
    sizes    tuple: chips along each axis of the torus
    wrap     True for rings, False for lines
    returns  array [axis, direction, *chip] of the bytes that leave a chip; a
             part goes along the first axis first, the shorter way
    raises   ValueError unless parts has a row and a column for each chip
    source   chapter 14
    """
    links = np.zeros((len(sizes), 2, *sizes))
    places = list(itertools.product(*map(range, sizes)))
    for (a, start), (b, end) in itertools.product(enumerate(places), repeat=2):
        at = list(start)
        for axis, count in enumerate(sizes) if parts[a][b] else ():
            for place, way, share in _steps(at[axis], end[axis], count, wrap):
                at[axis] = place
                links[axis, way, *at] += share * parts[a][b]
            at[axis] = end[axis]
    return links
