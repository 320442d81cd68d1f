"""Collectives on rings, lines and tori, counted link by link."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shardlab.arguments import one_of
from shardlab.ring import sets
from shardlab.ring.hops import Hop
from shardlab.ring.network import chunk_bytes, step_seconds, torus

__all__ = [
    "Traffic",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "reduce_scatter",
]

# Above this number of chips lists of hops, or sets of pairs, fill a laptop.
LARGEST = 512


@dataclass(frozen=True, eq=False)
class Traffic:
    """What a collective moved, counted link by link and step by step.

    seconds        sum of the times of all steps
    steps          number of steps one after the other; of parts that travel
                   side by side ("balanced") the slowest is timed
    step_bytes     for each step the bytes on its busiest link
    step_seconds   for each step its time
    bytes_on_link  array [axis, direction, *chip]: bytes that leave the chip
                   along the axis; direction 0 is way +1, 1 is way -1
    sent           array [*chip]: bytes that leave the chip's own array, the one
                   it has before or the one it has after; V (N - 1) / N^2 of an
                   AllToAll. Chunks that are only passed on do not count
    carried        array [*chip]: bytes that leave the chip by all its links,
                   passed on or not; above `sent` for an AllToAll, else equal
    values         array [*chip, ...]: what each chip holds after, if carried
    frames         list of steps, each a list of Hop, if asked for; parts side
                   by side are shown together, step by step
    set_bytes      bytes of all sets of chunks that were sent: the cost of the
                   simulation, not of the collective
    """

    seconds: float
    steps: int
    step_bytes: tuple = field(repr=False)
    step_seconds: tuple = field(repr=False)
    bytes_on_link: np.ndarray = field(repr=False)
    sent: np.ndarray = field(repr=False)
    values: np.ndarray | None = field(repr=False)
    frames: list | None = field(repr=False)
    set_bytes: int

    @property
    def carried(self):
        """Bytes that leave each chip by all its links, passed on or not."""
        return self.bytes_on_link.sum(axis=(0, 1))


class _Job(NamedTuple):
    """A collective, its arguments checked.

    algorithm  generator of steps, of `shardlab.ring.sets`
    torus      Torus
    chunks     number of chunks
    size       bytes of a chunk
    before     array [chip, k] of the chunks that each chip has, as a function
    after      the same at the end
    """

    algorithm: object
    torus: object
    chunks: int
    size: int
    before: object
    after: object


def _own(N):
    return np.arange(N)[:, None]


def _every(N):
    return np.tile(np.arange(N), (N, 1))


def _outgoing(N):
    return np.arange(N * N).reshape(N, N)


def _incoming(N):
    return _outgoing(N).T


def all_gather(
    V,
    sizes,
    *,
    link_bw,
    hop_latency=0.0,
    overlap=False,
    wrap=True,
    directions=2,
    ties="split",
    algorithm="phases",
    values=None,
    frames=False,
    symmetry=False,
):
    """AllGather: a chip passes on what its neighbour does not have yet.

    V            bytes of the whole array, after the gather
    sizes        chips along each axis: a number, or 1 to 3 numbers
    link_bw      bytes/s of one link in one direction
    hop_latency  seconds a hop takes however small the message
    overlap      False: latency is added to each step; True: it runs beside
                 the transfer, and the longer of the two counts
    wrap         True for rings, False for lines, or one of them for each axis
    directions   2, or 1: links of rings are used by way +1 only
    ties         "split" or "one_way"
    algorithm    "phases": one axis after the other, in the order of `sizes`;
                 "balanced": every chunk is cut in as many parts as there are
                 axes; part k starts with axis k, so that every axis is in
                 use; all parts end an axis before any goes on
    values       array [*chips, i, ...], V bytes: the shard of each chip, to
                 be carried along; takes N * V bytes
    frames       True: list every hop, for up to 512 chips
    symmetry     True: follow one chip only; every axis must be a ring
    returns      Traffic; its values are [*chips, N i, ...]
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3
    """
    network = torus(sizes, wrap, directions, ties, algorithm, symmetry)
    job = _job(sets.gather, V, network, _own, _every)
    return _move(job, (link_bw, hop_latency, overlap), values, frames)


def reduce_scatter(
    V,
    sizes,
    *,
    link_bw,
    hop_latency=0.0,
    overlap=False,
    wrap=True,
    directions=2,
    ties="split",
    algorithm="phases",
    values=None,
    frames=False,
    symmetry=False,
):
    """ReduceScatter: the partial sum for the farthest chip leaves first.

    V            bytes of the whole array, of which each chip holds a summand
    sizes, link_bw, hop_latency, overlap, wrap, frames, symmetry
                 as in `all_gather`
    directions   2, or 1: links of rings are used by way -1 only
    ties         "split" or "one_way", which is way -1 here
    algorithm    "phases" or "balanced"; axes in the opposite order of the
                 gather, so that one mirrors the other
    values       array [*chips, N i, ...], V bytes a chip: the summands
    returns      Traffic; its values are [*chips, i, ...], summed
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3
    """
    network = torus(sizes, wrap, directions, ties, algorithm, symmetry)
    job = _job(sets.scatter, V, network, _every, _own)
    return _move(job, (link_bw, hop_latency, overlap), values, frames)


def all_reduce(
    V,
    sizes,
    *,
    link_bw,
    hop_latency=0.0,
    overlap=False,
    wrap=True,
    directions=2,
    ties="split",
    algorithm="phases",
    values=None,
    frames=False,
    symmetry=False,
):
    """AllReduce: a ReduceScatter, then an AllGather of the sums.

    V            bytes of the whole array, of which each chip holds a summand
    sizes, link_bw, hop_latency, overlap, wrap, frames, symmetry
                 as in `all_gather`
    directions, ties, algorithm
                 as in its two halves
    values       array [*chips, N i, ...], V bytes a chip: the summands
    returns      Traffic; its values are [*chips, N i, ...], summed
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3
    """
    network = torus(sizes, wrap, directions, ties, algorithm, symmetry)
    job = _job(sets.scatter_gather, V, network, _every, _every)
    return _move(job, (link_bw, hop_latency, overlap), values, frames)


def all_to_all(
    V,
    sizes,
    *,
    link_bw,
    hop_latency=0.0,
    overlap=False,
    wrap=True,
    directions=2,
    ties="split",
    algorithm="phases",
    values=None,
    frames=False,
    symmetry=False,
):
    """AllToAll: a chip starts its farthest chunks first, nearer ones later.

    Chips pass on what is not theirs: `sent` of the result counts the bytes
    that leave a chip's own array, `carried` all that leave it by its links.

    V            bytes of the whole array; each of N chips has N chunks
    sizes, link_bw, hop_latency, overlap, wrap, directions, ties, algorithm,
    frames       as in `all_gather`; a chunk travels along one axis after the
                 other, and in a frame it is (from chip, to chip)
    values       array [*chips, N i, ...], V bytes: chunk j goes to chip j
    symmetry     True: follow one chip only; needed above 512 chips
    returns      Traffic; its values are [*chips, N i, ...], chunk j from j
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, problem 10
    """
    network = torus(sizes, wrap, directions, ties, algorithm, symmetry)
    job = _job(sets.exchange, V, network, _outgoing, _incoming)
    return _move(job, (link_bw, hop_latency, overlap), values, frames)


def _job(algorithm, V, network, before, after):
    chunks = network.N
    if algorithm is sets.exchange:
        chunks = network.N**2
        if network.N > LARGEST and not network.symmetry:
            raise ValueError(
                f"symmetry must be True for an AllToAll above {LARGEST} "
                f"chips, whose sets have N^3 bits; got {network.N} chips"
            )
    size = chunk_bytes(V, chunks, network.cuts)
    return _Job(algorithm, network, chunks, size, before, after)


def _move(job, clock, values, frames):
    """Runs a collective: counts its links, times its steps, carries values."""
    step_seconds([], *clock)  # a wrong clock is refused before the work
    film, cargo = _film(job, frames), _cargo(job, values)
    loads, busiest, set_bytes, own = _load(job.torus, []), [], 0, 0
    for phase in _phases(job):
        sizes = [[] for _ in phase]  # of each part its busiest link, by steps
        for messages in itertools.zip_longest(*phase, fillvalue=()):
            for size, part in zip(sizes, messages, strict=True):
                loads += (load := _load(job.torus, part))
                size += [int(load.max())] if part else []
            messages = list(itertools.chain(*messages))
            own += sum(_own_bytes(job.torus, m) for m in messages)
            set_bytes += sum(m.arriving.nbytes for m in messages)
            _watch(job, messages, film, cargo)
        busiest += max(sizes, key=lambda size: sum(step_seconds(size, *clock)))
    times = step_seconds(busiest, *clock)
    links = tuple(busiest), times, *_of_all(job.torus, loads, own)
    after = _unloaded(job, cargo, values)
    return Traffic(sum(times), len(times), *links, after, film, set_bytes)


def _of_all(network, loads, own):
    """Bytes on links and bytes sent, as arrays of all chips."""
    loads = np.broadcast_to(loads, loads.shape[:2] + network.sizes)
    return loads, np.broadcast_to(np.array(own, np.int64), network.sizes)


def _phases(job):
    """For each phase its parts, which run side by side, as steps."""
    axes = range(len(job.torus.sizes))
    size = job.size // job.torus.parts
    parts = []
    for k in range(job.torus.parts):
        order = [*axes[k:], *axes[:k]]
        span = k * size, k * size + size
        parts.append(job.algorithm(job.torus, order, *span))
    return zip(*parts, strict=True)


def _watch(job, messages, film, cargo):
    """Films one step, and carries its values."""
    if film is not None:
        film.append(sorted(_hops(job, messages)))
    if cargo is not None:
        _deliver(job, messages, cargo)


def _load(network, messages):
    """Bytes that each link carries in one step, at the chip that sends."""
    axes = len(network.sizes)
    chips = (1,) * axes if network.symmetry else network.sizes
    load = np.zeros((axes, 2, *chips), np.int64)
    for message in messages:
        way, start, stop = message.road
        direction = 0 if way == 1 else 1
        sent = sets.members(network, message) * (stop - start)
        load[message.axis, direction] += sent
    return load


def _own_bytes(network, message):
    """Bytes of its own array that each chip sends in one message."""
    _, start, stop = message.road
    return sets.own_members(network, message) * (stop - start)


def _film(job, frames):
    one_of("frames", frames, [False, True])
    if frames and (job.torus.N > LARGEST or job.torus.symmetry):
        raise ValueError(
            f"frames must be False above {LARGEST} chips and with "
            f"symmetry=True, got {frames!r} for {job.torus.N} chips"
        )
    return [] if frames else None


def _hops(job, messages):
    """The hops of one step, one for each chunk of each message."""
    for message in messages:
        axis, (way, start, stop), _, adds, _ = message
        arrays = sets.crossings(job.torus, job.chunks, message)
        numbers = [array.tolist() for array in arrays]
        for source, destination, chunk in zip(*numbers, strict=True):
            if job.chunks > job.torus.N:
                chunk = divmod(chunk, job.torus.N)
            size = stop - start
            yield Hop(source, destination, chunk, size, start, axis, way, adds)


def _cargo(job, values):
    """Array [chip, chunk, element] that holds what each chip has before."""
    if values is None:
        return None
    N, values = job.torus.N, np.asarray(values)
    before = job.before(N)
    _check_values(job, values, before)
    size = job.size // values.itemsize
    cargo = np.empty((N, job.chunks, size), values.dtype)
    cargo.view(np.uint8).fill(0xA5)  # what never arrives is seen to be wrong
    cargo[_own(N), before] = values.reshape(*before.shape, size)
    return cargo


def _check_values(job, values, before):
    """ValueError unless each chip has its chunks, cut between elements."""
    axes, held = len(job.torus.sizes), before.shape[1]
    need, local = before.size * job.size, values.shape[axes:]
    fits = values.shape[:axes] == job.torus.sizes and local
    if not fits or local[0] % held or values.nbytes != need:
        rows = "i" if held == 1 else f"{held} i"
        shape = ", ".join([*map(str, job.torus.sizes), rows])
        raise ValueError(
            f"values must have the shape [{shape}, ...] and {need} bytes, as V "
            f"says; got {values.dtype} of {values.shape}, {values.nbytes} bytes"
        )
    if values.dtype.hasobject or job.size // job.torus.cuts % values.itemsize:
        raise ValueError(
            f"values must be numbers, a multiple of {job.torus.cuts} in each "
            "chunk, which is cut in as many; got chunks of "
            f"{job.size} bytes of {values.dtype}"
        )
    if job.torus.symmetry:
        raise ValueError("values must be None with symmetry=True, got an array")


def _deliver(job, messages, cargo):
    """Moves the values of one step; all is sent before anything arrives."""
    letters = []
    for message in messages:
        arrays = sets.crossings(job.torus, job.chunks, message)
        source, destination, chunk = arrays
        _, start, stop = message.road
        span = slice(start // cargo.itemsize, stop // cargo.itemsize)
        place = destination, chunk, span
        letters.append((message.adds, place, cargo[source, chunk, span]))
    for adds, place, sent in letters:
        if adds:
            cargo[place] += sent
        else:
            cargo[place] = sent


def _unloaded(job, cargo, values):
    """What each chip has after, in the shape of what it had before."""
    if cargo is None:
        return None
    N, sizes = job.torus.N, job.torus.sizes
    held, holds = job.before(N).shape[1], job.after(N)
    rows, *rest = np.shape(values)[len(sizes) :]
    shape = (*sizes, rows // held * holds.shape[1], *rest)
    return cargo[_own(N), holds].reshape(shape)
