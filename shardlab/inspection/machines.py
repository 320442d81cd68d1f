"""What a counted step takes on a machine, and what bounds it."""

from collections import defaultdict
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from shardlab import cost
from shardlab.arguments import one_of
from shardlab.cost.network import moved_in, way
from shardlab.hw import Chip, axis_bound, largest_slice, wraps
from shardlab.inspection.step import Report

__all__ = [
    "MATH",
    "Forecast",
    "Place",
    "forecast",
    "joined",
    "lay",
    "on_network",
    "t_collective",
]

MATH = "arithmetic"


class Place(NamedTuple):
    """Where a mesh axis lies on a machine's network.

    size    devices of the axis
    inside  how many of them share a node or a slice
    under   axes of the torus that it lies on; 1 behind a switch
    ring    whether these are rings
    source  chapter 21
    """

    size: int
    inside: int
    under: int
    ring: bool

    @property
    def leaves(self):
        """Whether the axis leaves its node or slice."""
        return self.inside < self.size


@dataclass(frozen=True)
class Forecast:
    """Seconds that a step takes on a machine, and what bounds it.

    chip      Chip
    places    for each mesh axis the Place on which it lies, by name
    seconds   by what is in use: "arithmetic", and each network by name
    delays    seconds of all hops, however small the messages; they come on top
              where messages are small, and are in none of the other figures
    source    chapter 21
    """

    chip: Chip
    places: dict
    seconds: dict
    delays: float

    @property
    def overlapped(self):
        """Seconds if everything runs beside everything else."""
        return max(self.seconds.values(), default=0.0)

    @property
    def added(self):
        """Seconds if nothing runs beside anything else."""
        return sum(self.seconds.values())

    @property
    def bound(self):
        """What is busy longest: "arithmetic" or a network."""
        return max(self.seconds, key=self.seconds.get)


def forecast(report, chip, axes=None, wrap=None):
    """How long a counted step takes on a machine.

    Every product takes the longer of its arithmetic and its memory traffic;
    what is no product is left out. Every collective takes the time of the
    book's formula for the network on which its axes lie.

    report   Report
    chip     Chip
    axes     of a torus, how many of its axes lie under each mesh axis, a dict;
             None: one each, and what is left under the longest
    wrap     True: rings; False: lines; None: as the sizes decide
    returns  Forecast
    raises   ValueError that names the argument and what was expected
    source   chapter 21
    """
    if not isinstance(report, Report):
        raise ValueError(f"report must be a Report, got {report!r}")
    if not isinstance(chip, Chip):
        raise ValueError(f"chip must be a Chip of hw, got {chip!r}")
    one_of("wrap", wrap, (True, False, None))
    places = lay(report.sizes, chip, axes, wrap)
    seconds, delays = defaultdict(float), 0.0
    seconds[MATH] = sum(_t_product(p, chip) for p in report.products)
    for c in report.moved:
        place = joined([places[a] for a in c.axes if a in places])
        seconds[_network(c.axes, place, chip)] += t_collective(c, place, chip)
        delays += c.times * _hops(c, place, chip) * chip.hop_latency
    return Forecast(chip, places, dict(seconds), delays)


def lay(sizes, chip, axes=None, wrap=None):
    """On which part of a machine's network each mesh axis lies.

    sizes    size of each mesh axis, by name
    chip, axes, wrap  as in `forecast`
    returns  dict of Place, by mesh axis
    raises   ValueError that names what the network does not have
    source   chapter 21
    """
    if axes is not None and set(axes) != set(sizes):
        raise ValueError(
            f"axes must say of {', '.join(sizes)} how many axes of the torus "
            f"lie under each; got {axes!r}"
        )
    under, insides = axes or _dealt(sizes, chip), _inside_each(sizes, chip)
    places = {}
    for axis, size in sizes.items():
        inside = insides[axis]
        ring = _closes(chip, inside, under[axis]) if wrap is None else wrap
        places[axis] = Place(size, inside, under[axis], ring)
        on_network(places[axis], chip, axis)
    return places


def on_network(place, chip, axis="axes"):
    """The Way of a place, which the formulas of `cost` take.

    place    Place
    chip     Chip
    axis     name of the mesh axis, for errors
    returns  Way
    raises   ValueError that names what the network does not have
    source   chapter 21
    """
    inside = place.inside if place.leaves else None
    names = (f"axes[{axis!r}]", axis)
    return way(chip, place.under, place.size, place.ring, inside, names)


def _dealt(sizes, chip):
    """One axis of a torus for each mesh axis, and the rest for the longest."""
    if chip.axes and len(sizes) > chip.axes:
        raise ValueError(
            f"axes must be given: a mesh of {len(sizes)} axes "
            f"({', '.join(sizes)}) on the {chip.axes} of a {chip.name}"
        )
    under = dict.fromkeys(sizes, 1)
    for axis in sorted(sizes, key=sizes.get, reverse=True):
        while sum(under.values()) < chip.axes and (
            sizes[axis] >= 2 ** (under[axis] + 1)
        ):
            under[axis] += 1
    return under


def _inside_each(sizes, chip):
    """How many chips of each mesh axis share a node or a slice.

    The last axis of a mesh is filled first, as its devices are neighbours.

    sizes    size of each mesh axis, by name
    chip     Chip
    returns  dict of int, by mesh axis
    source   chapter 21
    """
    room = largest_slice(chip) if chip.axes else chip.node_size
    insides = {}
    for axis in reversed(sizes):
        parts = [n for n in range(1, sizes[axis] + 1) if sizes[axis] % n == 0]
        insides[axis] = max(n for n in parts if n <= room)
        room = room // insides[axis] if insides[axis] == sizes[axis] else 1
    return insides


def _closes(chip, inside, under):
    """Whether the axes of the torus under a mesh axis are rings."""
    if not chip.axes:
        return True
    side = round(inside ** (1 / under))
    if side**under != inside or side > axis_bound(chip):
        return True  # of several lengths: each as long as makes it a ring
    return wraps(chip, side)


def joined(places):
    """The one place of a collective over several mesh axes."""
    return Place(
        prod(place.size for place in places),
        prod(place.inside for place in places),
        sum(place.under for place in places),
        all(place.ring for place in places),
    )


def _t_product(p, chip):
    """Seconds of a product, as often as it is formed: its roofline."""
    return p.times * max(p.flops / chip.flops, p.bytes / chip.hbm_bw)


def t_collective(c, place, chip):
    """Seconds of a collective, as often as it happens."""
    place = place if chip.axes else place._replace(under=1)
    lies = on_network(place, chip)
    if c.kind == "all_to_all":
        inside = place.inside if place.leaves else None
        # The record holds V / 4; the formula takes the whole array.
        took = cost.t_exchange(
            *(4 * c.volume, place.size, chip),
            *(place.under, place.ring, inside),
        )
    elif c.kind in ("permute", "broadcast"):
        took = c.volume / (lies.port if place.leaves else chip.link_bw)
    elif place.leaves:
        took = moved_in(c.volume, lies, exact=True)
    else:
        took = c.sent / lies.W
    return c.times * took


def _network(axes, place, chip):
    """The name of what a collective occupies."""
    if place.leaves:
        return "network between " + ("slices" if chip.axes else "nodes")
    return f"links of {', '.join(axes)}" if chip.axes else "links in the node"


def _hops(c, place, chip):
    """Hops one after the other that a collective cannot do without."""
    if c.kind == "permute":
        return 1
    outside = place.size // place.inside - 1
    if chip.axes:
        side = round(place.inside ** (1 / place.under))
        inside = place.under * cost.hops(max(1, side), place.ring)
    else:
        inside = place.inside - 1
    return (2 if c.kind == "all_reduce" else 1) * (inside + outside)
