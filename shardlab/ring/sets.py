"""Collectives on tori as sets of chunks: one bit a chunk, all chips at once.

A full picture is an array [*chips, words] of packed bits. Seen from one chip
it is an array [*distances] of booleans, in which a chunk is known by how far
ahead, along each axis, its home is.

An algorithm is a generator of phases, one for each axis; a phase is a generator
of steps, each a list of `Message`.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

__all__ = [
    "Message",
    "crossings",
    "exchange",
    "gather",
    "members",
    "own_members",
    "scatter",
    "scatter_gather",
]

# One bit a chunk. The byte order is fixed because sets are unpacked as bytes.
WORD = np.dtype("<u8")


class _Road(NamedTuple):
    """Bytes start to stop of each chunk of a set travel one way."""

    way: int
    start: int
    stop: int


class Message(NamedTuple):
    """The sets that arrive at all chips in one step, along one axis, one way.

    axis, road  axis of the links; way and bytes
    arriving    array of sets, at the chips that receive
    adds        True: the values are added to what a chip has; else written
    own         of these chunks how many leave the sender's own array, the one
                it has before or after: array [*chips]; None: all of them
    """

    axis: int
    road: _Road
    arriving: np.ndarray
    adds: bool = False
    own: np.ndarray | None = None


def gather(torus, axes, start, stop):
    """AllGather: each chip starts with its own chunk and ends with all.

    torus    Torus
    axes     axes in the order in which they are gathered
    start    first byte of every chunk that travels
    stop     first byte that does not
    returns  generator of phases, each a generator of lists of Message
    source   scaling-book part 3
    """
    held = _own_sets(torus)
    for axis in axes:
        yield _gather_axis(torus, axis, held, start, stop)


def scatter(torus, axes, start, stop):
    """ReduceScatter: each chip starts with all chunks and ends with its sum.

    torus, start, stop  as in `gather`
    axes     axes in the order in which the gather takes them; the scatter,
             its mirror, starts with the last
    returns  generator of phases, each a generator of lists of Message
    source   scaling-book part 3
    """
    pending = _every_sets(torus)
    for axis in reversed(axes):
        yield _scatter_axis(torus, axis, pending, start, stop)


def scatter_gather(torus, axes, start, stop):
    """AllReduce: the sums are scattered, then gathered.

    torus, axes, start, stop  as in `gather`
    returns  generator of phases, each a generator of lists of Message
    source   scaling-book part 3
    """
    yield from scatter(torus, axes, start, stop)
    yield from gather(torus, axes, start, stop)


def exchange(torus, axes, start, stop):
    """AllToAll: chunk f * N + t goes from chip f to chip t.

    torus, axes, start, stop  as in `gather`
    returns  generator of phases, each a generator of lists of Message
    source   scaling-book part 3, problem 10
    """
    if torus.symmetry:
        away = 1  # chips that a chunk here may have come from
        for axis in axes:
            yield _exchange_seen(torus, axis, start, stop, away)
            away *= torus.sizes[axis]
        return
    N = torus.N
    held = _first_sets(torus, N * N, lambda c: slice(c * N, c * N + N))
    own = held.copy()
    for axis in axes:
        yield _exchange_axis(torus, axis, held, own, start, stop)


def _gather_axis(torus, axis, held, start, stop):
    """Nobody is told how far: a set travels on while it is news."""
    news = dict.fromkeys(torus.ways, held)
    while True:
        news = {
            way: _passed(torus, axis, way, sets) & ~held
            for way, sets in news.items()
        }
        if not any(sets.any() for sets in news.values()):
            return
        yield list(_sharing_ties(torus, axis, news, start, stop))
        for sets in news.values():
            held |= sets


def _sharing_ties(torus, axis, news, start, stop):
    """Messages of one step; what comes from both sides is shared by them."""
    ties = news[1] & news[-1] if len(news) == 2 else np.zeros_like(news[1])
    tied = ties.any()
    for way, sets in news.items():
        alone = sets & ~ties if tied else sets
        if alone.any():
            yield Message(axis, _Road(way, start, stop), alone)
    for road in _tie_roads(torus, 1, start, stop) if tied else ():
        yield Message(axis, road, ties)


def _scatter_axis(torus, axis, pending, start, stop):
    homes = _homes(torus, axis)
    for hops in range(_farthest(torus, axis), 0, -1):
        sent = {
            road: pending & _ahead(torus, axis, homes, road.way * hops)
            for road in _roads(torus, axis, hops, -1, start, stop)
        }
        yield [
            Message(axis, road, _passed(torus, axis, road.way, sets), True)
            for road, sets in sent.items()
        ]
        for sets in sent.values():
            pending &= ~sets


def _exchange_axis(torus, axis, held, own, start, stop):
    homes = _homes(torus, axis, copies=torus.N)
    here = _ahead(torus, axis, homes, 0)
    passing = {}
    for step in range(_farthest(torus, axis)):
        started = {
            road: held & sets
            for road, sets in _starts(torus, axis, homes, step, start, stop)
        }
        for road, sets in started.items():
            passing[road] = passing.get(road, 0) | sets
            held &= ~sets
        messages = [
            _sent_on(torus, axis, road, sets, own)
            for road, sets in passing.items()
        ]
        yield messages
        for _, road, arriving, *_ in messages:
            held |= arriving & here
            passing[road] = arriving & ~here


def _sent_on(torus, axis, road, sets, own):
    arriving = _passed(torus, axis, road.way, sets)
    return Message(axis, road, arriving, own=_counted(sets & own))


def _starts(torus, axis, homes, step, start, stop):
    """(road, sets) that leave in this step: of each chip the farthest left."""
    size = torus.sizes[axis]
    if torus.wraps[axis]:
        for hops, road in _departing(torus, axis, step, start, stop):
            yield road, _ahead(torus, axis, homes, road.way * hops)
        return
    chip = np.arange(size)[:, None]
    up, down = size - 1 - step, step
    for way, home, sends in (1, up, chip < up), (-1, down, chip > down):
        rows = np.where(sends, homes[home], WORD.type(0))
        yield _Road(way, start, stop), _along(torus, axis, rows)


def _departing(torus, axis, step, start, stop):
    """(hops, road) of what every chip of a ring starts in this step."""
    for way in torus.ways:
        hops = _farthest(torus, axis) - step
        if way == -1 and torus.ties == "one_way":
            hops = (torus.sizes[axis] - 1) // 2 - step
        for road in _roads(torus, axis, hops, 1, start, stop):
            if hops > 0 and road.way == way:
                yield hops, road


def _exchange_seen(torus, axis, start, stop, away):
    """The chunks that one chip sends, known by the hops they have to go.

    Of all that start here one in `away` is the chip's own; the others came
    from elsewhere along axes before.
    """
    block = torus.N // torus.sizes[axis]  # chunks for each place on the axis
    span = start * block, stop * block
    to_go = {}
    for step in range(_farthest(torus, axis)):
        own = {}
        for hops, road in _departing(torus, axis, step, *span):
            to_go.setdefault(road, []).append(hops)
            own[road] = own.get(road, 0) + Fraction(1, away)
        yield [
            Message(axis, road, np.ones(len(left), bool), own=own.get(road, 0))
            for road, left in to_go.items()
        ]
        for road, left in to_go.items():
            to_go[road] = [hops - 1 for hops in left if hops > 1]


def _farthest(torus, axis):
    size = torus.sizes[axis]
    both = torus.wraps[axis] and len(torus.ways) == 2
    return size // 2 if both else size - 1


def _roads(torus, axis, hops, first_way, start, stop):
    """The shortest ways to chips so many hops off; two roads share a tie."""
    if len(torus.ways) == 1:
        return [_Road(first_way, start, stop)]
    if torus.wraps[axis] and 2 * hops == torus.sizes[axis]:
        return _tie_roads(torus, first_way, start, stop)
    return [_Road(1, start, stop), _Road(-1, start, stop)]


def _tie_roads(torus, first_way, start, stop):
    if torus.ties == "one_way":
        return [_Road(first_way, start, stop)]
    half = (start + stop) // 2
    return [_Road(first_way, start, half), _Road(-first_way, half, stop)]


def members(torus, message):
    """How many chunks each chip has sent in a message.

    torus    Torus
    message  Message
    returns  array [*chips]; with symmetry one number, which holds for all
    source   chapter 3
    """
    if torus.symmetry:
        return message.arriving.sum(dtype=np.int64)
    return np.roll(_counted(message.arriving), -message.road.way, message.axis)


def own_members(torus, message):
    """How many chunks of its own each chip has sent in a message.

    torus    Torus
    message  Message
    returns  array [*chips]; with symmetry one number, which holds for all.
             A chunk that is neither of the array that the chip has before nor
             of the one that it has after is passed on, and not its own
    source   chapter 3
    """
    return members(torus, message) if message.own is None else message.own


def _counted(sets):
    return np.bitwise_count(sets).sum(axis=-1, dtype=np.int64)


def crossings(torus, chunks, message):
    """Every chunk of a message, one by one.

    torus    Torus without symmetry
    chunks   number of chunks that a set may have
    message  Message
    returns  (source, destination, chunk), arrays of equal length
    source   chapter 3
    """
    octets = message.arriving.reshape(torus.N, -1).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little")[:, :chunks]
    destination, chunk = bits.nonzero()
    chips = np.arange(torus.N).reshape(torus.sizes)
    sources = np.roll(chips, message.road.way, message.axis).ravel()
    return sources[destination], destination, chunk


def _packed(members):
    """Rows of booleans as rows of 64-bit words."""
    missing = -members.shape[-1] % 64
    padded = np.pad(members, [(0, 0)] * (members.ndim - 1) + [(0, missing)])
    return np.packbits(padded, axis=-1, bitorder="little").view(WORD)


def _along(torus, axis, rows):
    """One row for each chip of an axis, shaped to be used by all chips."""
    shape = [1] * len(torus.sizes)
    shape[axis] = torus.sizes[axis]
    return rows.reshape(*shape, *rows.shape[1:])


def _first_sets(torus, chunks, held):
    """Each chip's set at the start; `held(chip)` are its chunks."""
    rows = np.empty((torus.N, -(-chunks // 64)), WORD)
    row = np.zeros(chunks, bool)
    for chip in range(torus.N):
        row[:] = False
        row[held(chip)] = True
        rows[chip] = _packed(row)
    return rows.reshape(*torus.sizes, -1)


def _own_sets(torus):
    if torus.symmetry:
        own = np.zeros(torus.sizes, bool)
        own[(0,) * own.ndim] = True
        return own
    return _first_sets(torus, torus.N, lambda chip: chip)


def _every_sets(torus):
    if torus.symmetry:
        return np.ones(torus.sizes, bool)
    return _first_sets(torus, torus.N, lambda chip: slice(None))


def _homes(torus, axis, copies=1):
    """For each place on the axis the set of the chunks whose home is there."""
    place = np.indices(torus.sizes)[axis].ravel()
    place = np.tile(place, copies)
    return _packed(place == np.arange(torus.sizes[axis])[:, None])


def _ahead(torus, axis, homes, distance):
    """For each chip the set of the chunks whose home is so far ahead."""
    size = torus.sizes[axis]
    if torus.symmetry:
        return _along(torus, axis, np.arange(size) == distance % size)
    there = np.arange(size) + distance
    rows = homes[there % size]
    if not torus.wraps[axis]:
        rows[(there < 0) | (there >= size)] = 0
    return _along(torus, axis, rows)


def _passed(torus, axis, way, sets):
    """What arrives at each chip when each chip sends its set one hop."""
    if torus.symmetry:
        return np.roll(sets, -way, axis)
    arriving = np.roll(sets, way, axis)
    if not torus.wraps[axis]:
        edge = 0 if way == 1 else -1
        arriving[(slice(None),) * axis + (edge,)] = 0
    return arriving
