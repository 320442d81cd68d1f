"""How mesh axes lie on the dimensions of a real network, and what they get.

Three kinds of network:

torus   each dimension of a TPU slice is a ring where the hardware closes it,
        a line where not. Mesh axes share a dimension out among themselves,
        inner axes first; an axis that steps over inner ones shares its links
        with as many others.
switch  GPUs reach each other at link_bw inside a node, and at dcn_bw outside.
        A gather over n nodes carries 1 - 1/n of its array into each of them,
        the least; if the network is flat it is a ring of all X GPUs, and
        carries 1 - 1/X.
axes    the field's texts: a mesh axis has whole axes of the network to itself,
        each a ring of so many chips that (X - 1) / X counts as 1.

An axis that has several dimensions of a torus uses all of them at once, and
their bandwidths add up. Besides, a collective takes as many hops as its longest
way has: half round each ring, all along each line; on a switch as many rounds
as doubling takes, inside a node and between nodes. On "axes" hops are free.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

from shardlab.arguments import one_of, whole
from shardlab.hw import Chip, axis_bw, wraps

__all__ = [
    "AT_REST",
    "AXES",
    "Hops",
    "Network",
    "Pace",
    "all_degrees",
    "divisors",
    "lies",
    "network",
    "pace",
    "shares",
]

MOST_GPUS = 10**6
AXES = ("tp", "ep", "cp", "dp", "pp")  # inner axes first
_NONE = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Network:
    """The chips of one pod, and how they are wired.

    chip   Chip
    sizes  chips along each dimension; on a switch (GPUs of a node, nodes)
    kind   "torus", "switch" or "axes"
    flat   True: gathers over several nodes are rings of all their GPUs
    """

    chip: Chip
    sizes: tuple[int, ...]
    kind: str
    flat: bool = False

    @property
    def chips(self):
        return prod(self.sizes)


def network(chip, topology, simplified=False, flat=False):
    """The network of a slice of chips, or of a cluster of GPUs.

    chip        Chip
    topology    chips along each axis, such as (16, 16, 16); for GPUs one
                number, or (GPUs of a node, nodes)
    simplified  True: as the field's texts count (module docstring)
    flat        True: gathers over several nodes are rings of all their GPUs
    returns     Network
    raises      ValueError if the chip cannot be wired like this
    source      scaling-book parts 2 and 12
    """
    axis_bw(chip)  # refuses what is no Chip
    sizes = _sizes(topology)
    one_of("simplified", simplified, (True, False))
    one_of("flat", flat, (True, False))
    if not chip.axes:
        return _network(chip, _nodes(chip, sizes), "switch", flat)
    if len([n for n in sizes if n > 1]) > chip.axes:
        raise ValueError(
            f"topology of a {chip.name} must have at most {chip.axes} axes, "
            f"got {_by(sizes)}"
        )
    _refuse_large(chip, sizes)
    _refuse_long(chip, sizes)
    sizes = tuple(n for n in sizes if n > 1) or (1,)
    return _network(chip, sizes, "axes" if simplified else "torus")


_network = lru_cache(maxsize=256)(Network)  # one for all jobs, as is its cache


def _sizes(topology):
    if not isinstance(topology, (tuple, list)) or not topology:
        raise ValueError(
            f"topology must be sizes such as (16, 16, 16), got {topology!r}"
        )
    return tuple(whole("topology", n) for n in topology)


def _nodes(chip, sizes):
    """(GPUs of a node, nodes), from these two or from the number of GPUs."""
    size, N = chip.node_size, prod(sizes)
    if N > MOST_GPUS:
        raise ValueError(
            f"topology of a {chip.name} must have at most {MOST_GPUS:,} GPUs, "
            f"got {N:,}"
        )
    if len(sizes) == 1 and size < N and N % size:
        raise ValueError(
            f"topology of a {chip.name} must be whole nodes of {size} or at "
            f"most one node, got {N}"
        )
    if len(sizes) == 1:
        return (N, 1) if size >= N else (size, N // size)
    if len(sizes) != 2 or sizes[0] > size:
        raise ValueError(
            f"topology of a {chip.name} must be (GPUs of a node, nodes), at "
            f"most {size} in a node; got {_by(sizes)}"
        )
    return sizes


def _refuse_large(chip, sizes):
    # Optical switches join the cubes of a v4p or v5p in any arrangement; the
    # axes of other chips are as long as they were wired.
    pairs = zip(sorted(sizes)[::-1], sorted(chip.pod)[::-1], strict=False)
    fixed = chip.wrap_rule == "axis of 16"
    if prod(sizes) > prod(chip.pod) or (fixed and any(a > b for a, b in pairs)):
        raise ValueError(
            f"topology of a {chip.name} must fit in its pod of {_by(chip.pod)},"
            f" got {_by(sizes)}; more chips are more pods"
        )


def _refuse_long(chip, sizes):
    for n in sizes:
        try:
            wraps(chip, n)
        except ValueError as error:
            raise ValueError(
                f"topology must have axes that a {chip.name} can have, got "
                f"{_by(sizes)}: {error}"
            ) from None


def _by(sizes):
    return "x".join(map(str, sizes))


# ---- what a group of mesh axes gets ------------------------------------------


class Hops(NamedTuple):
    """Hops one after the other in one collective of a group of chips.

    gather, exchange, send, ring  as in `Pace`
    """

    gather: int = 0
    exchange: int = 0
    send: int = 0
    ring: int = 0


class Pace(NamedTuple):
    """Seconds for each byte that a group of chips moves, a dimension each.

    gather    of an array that is gathered or scattered, and V of it counted
    exchange  of an array that goes all to all
    send      of a message to the next chip of the group
    ring      of an array whose parts pass by every chip of the group
    hops      Hops
    """

    gather: tuple[float, ...]
    exchange: tuple[float, ...]
    send: tuple[float, ...]
    ring: tuple[float, ...]
    hops: Hops = Hops()


AT_REST = Pace(_NONE, _NONE, _NONE, _NONE)


def pace(net, extents, strides):
    """What a group of chips gets of each dimension of a network.

    net      Network
    extents  chips of the group along each dimension
    strides  along each dimension, how many chips one step of the group is
    returns  Pace, of three dimensions however many there are
    source   scaling-book part 3; part 12 for the switch
    """
    if prod(extents) == 1:
        return AT_REST
    hops = Hops()
    if net.kind == "switch":
        parts, hops = _through_switches(net, extents), _rounds(extents)
    elif net.kind == "axes":
        parts = _on_whole_axes(net, extents)
    else:
        parts = _on_torus(net, extents, strides)
        hops = _torus_hops(net, extents, strides)
    parts = [tuple(part) + _NONE[len(part) :] for part in parts]
    return Pace(*parts, ring=parts[0], hops=hops)


def _torus_hops(net, extents, strides):
    """To the farthest chip: half round a ring, all along a line."""
    farthest = 0
    for n, extent, stride in zip(net.sizes, extents, strides, strict=True):
        ring = extent * stride == n and wraps(net.chip, n)
        farthest += (extent // 2 if ring else extent - 1) * stride
    nearest = min(
        stride
        for extent, stride in zip(extents, strides, strict=True)
        if extent > 1
    )
    return Hops(farthest, farthest, nearest, farthest)


def _rounds(extents):
    """Inside a node and between nodes: what a chip has doubles every round."""
    rounds = sum((extent - 1).bit_length() for extent in extents)
    levels = sum(extent > 1 for extent in extents)
    return Hops(rounds, levels, 1, prod(extents) - 1)


def _on_torus(net, extents, strides):
    """A line has half the bandwidth of a ring; groups in between share it."""
    X, W = prod(extents), axis_bw(net.chip)
    bw, send = [], []
    for n, extent, stride in zip(net.sizes, extents, strides, strict=True):
        ring = extent * stride == n and wraps(net.chip, n)
        bw.append((W if ring else W / 2) / stride if extent > 1 else 0.0)
        send.append(stride / net.chip.link_bw if extent > 1 else 0.0)
    share = (1 - 1 / X) / sum(bw)
    gather = [share if b else 0.0 for b in bw]
    pairs = list(zip(extents, bw, strict=True))
    exchange = [e * e // 4 / (e * X * b) if b else 0.0 for e, b in pairs]
    nearest = send.index(min(s for s in send if s))
    return gather, exchange, [s * (d == nearest) for d, s in enumerate(send)]


def _through_switches(net, extents):
    """Inside each node, and between nodes what each of its GPUs answers for."""
    inside, nodes = extents
    link, outside = net.chip.link_bw, net.chip.dcn_bw
    X = inside * nodes
    near, far = 1 - 1 / inside, 1 - 1 / nodes
    if net.flat and nodes > 1:
        near = far = 1 - 1 / X
    gather = near / link, far / inside / outside
    exchange = (1 - 1 / inside) / X / link, (1 - 1 / nodes) / X / outside
    return gather, exchange, (0.0, 1 / outside) if nodes > 1 else (1 / link, 0)


def _on_whole_axes(net, extents):
    """`extents` marks the axes that the group has, and they count as many."""
    bw = axis_bw(net.chip) * sum(extent > 1 for extent in extents)
    gather = [1 / bw if extent > 1 else 0.0 for extent in extents]
    return gather, [g / 4 for g in gather], gather


# ---- where mesh axes lie -----------------------------------------------------


def lies(net, degrees):
    """Every way in which mesh axes can share out the dimensions of a network.

    net      Network
    degrees  chips of each mesh axis, in the order of AXES
    returns  tuples with one entry a mesh axis: its chips along each dimension;
             on "axes", 2 for each whole axis that it has, else 1
    raises   ValueError unless the degrees multiply to the chips
    source   chapter 15
    """
    degrees = all_degrees(net, degrees)
    if net.kind == "axes":
        return list(_deals(len(net.sizes), degrees))
    return [
        tuple(zip(*rows, strict=True)) for rows in _rows(net.sizes, degrees)
    ]


def all_degrees(net, degrees):
    """The argument `degrees`, if they share out the chips of a network.

    net      Network
    degrees  chips of each mesh axis, in the order of AXES
    returns  tuple of int
    raises   ValueError unless they multiply to the chips
    source   chapter 15
    """
    if not isinstance(net, Network):
        raise ValueError(f"net must be a Network, got {net!r}")
    if not isinstance(degrees, (tuple, list)) or len(degrees) != len(AXES):
        raise ValueError(
            f"degrees must be a number for each of {', '.join(AXES)}, got "
            f"{degrees!r}"
        )
    degrees = tuple(whole("degrees", n) for n in degrees)
    if prod(degrees) != net.chips:
        raise ValueError(
            f"degrees must multiply to {net.chips} chips, got {_by(degrees)}"
        )
    return degrees


def _rows(sizes, degrees):
    """For each dimension the chips of each mesh axis along it."""
    if len(sizes) == 1:
        yield (degrees,)
        return
    for row in shares(sizes[0], degrees):
        rest = (n // part for n, part in zip(degrees, row, strict=True))
        for rows in _rows(sizes[1:], tuple(rest)):
            yield (row, *rows)


@lru_cache(maxsize=65536)
def shares(n, degrees):
    """All ways to write n as a product of divisors of several numbers.

    n        the product
    degrees  the numbers, one for each factor
    returns  list of tuples
    source   chapter 15
    """
    if len(degrees) == 1:
        return [(n,)] if degrees[0] % n == 0 else []
    return [
        (first, *rest)
        for first in divisors(gcd(n, degrees[0]))
        for rest in shares(n // first, degrees[1:])
    ]


@lru_cache(maxsize=4096)
def divisors(n):
    """All whole numbers that divide n, the smallest first.

    n        whole number of at least 1
    returns  list of ints
    source   chapter 15
    """
    small = [k for k in range(1, int(n**0.5) + 1) if n % k == 0]
    return small + [n // k for k in reversed(small) if k * k != n]


def _deals(axes, degrees):
    """Whole axes for every mesh axis of two chips or more, at least one."""
    used = [n for n in degrees if n > 1]
    if len(used) > axes:
        return
    cuts = [
        c for c in shares(2**axes, (2**axes,) * max(len(used), 1)) if min(c) > 1
    ]
    for cut in cuts if used else [(1,)]:
        counts = iter(part.bit_length() - 1 for part in cut)
        mine, first = [], 0
        for n in degrees:
            until = first + (next(counts) if n > 1 else 0)
            mine.append(tuple(1 + (first <= d < until) for d in range(axes)))
            first = until
        yield tuple(mine)
