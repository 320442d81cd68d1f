"""The parts of which `hops` is made, for use from outside: arguments checked.

Inside the module they call each other thousands of times with lists that they
have made themselves, so that the check stands here and not there.
"""

from shardlab.arguments import flag, takes, whole
from shardlab.ring import hops as pure
from shardlab.ring.hops import (
    _chip,
    _known_hops,
    _known_steps,
    _per_chip,
)
from shardlab.ring.network import chunk_bytes, one_axis

__all__ = [
    "backwards",
    "departures",
    "destinations",
    "lacking",
    "onward",
    "pieces_each_way",
    "shared",
    "started",
    "turned",
]

TIES = ("split", "one_way")


def _hops_on_axis(hops, N, wrap):
    one_axis(N, wrap, directions=2)
    _known_hops(hops, N)


def _hops(hops):
    _known_hops(hops)


def _steps(steps):
    _known_steps(steps)


def _hops_to_chips(hops, held):
    _known_hops(hops, len(_per_chip(held, (set, dict))))


def _one_hop(hop):
    _known_hops([hop], name="hop")


def _from_chip(chip, way, N, wrap, directions):
    ways = one_axis(N, wrap, directions).ways
    if way not in ways or type(way) is not int:
        choices = ", ".join(map(str, ways))
        raise ValueError(f"way must be one of {choices}; got {way!r}")
    _chip("chip", chip, N)


def _of_even_size(N, size, wrap, directions, ties):
    cuts = one_axis(N, wrap, directions, ties).cuts
    chunk_bytes(size, 1, cuts, "size")


def _waiting(waiting):
    for queue in _per_chip(waiting, (list,), "waiting"):
        _known_hops(queue[-1:], name="waiting")


onward = takes(_hops_on_axis, N=whole, wrap=flag)(pure.onward)
shared = takes(_hops, ties=TIES)(pure.shared)
lacking = takes(_hops_to_chips)(pure.lacking)
turned = takes(_one_hop)(pure.turned)
backwards = takes(_steps)(pure.backwards)
destinations = takes(_from_chip, N=whole)(pure.destinations)
departures = takes(_of_even_size, N=whole)(pure.departures)
started = takes(_waiting)(pure.started)
pieces_each_way = takes(pure._in_pieces, V=whole, pieces=whole, N=whole)(
    pure.pieces_each_way
)
