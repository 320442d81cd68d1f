"""Collectives on one ring or line as lists of hops, in plain Python."""

import gc
import itertools
from collections import Counter
from functools import partial, wraps
from typing import NamedTuple

import numpy as np

from shardlab.arguments import takes, whole
from shardlab.ring.network import chunk_bytes, one_axis, step_seconds

__all__ = [
    "Hop",
    "all_gather_steps",
    "all_reduce_steps",
    "all_to_all_steps",
    "backwards",
    "broadcast_steps",
    "bytes_per_link",
    "carry",
    "chain_all_reduce_steps",
    "departures",
    "destinations",
    "lacking",
    "letter",
    "onward",
    "permute_steps",
    "pieces_each_way",
    "reduce_scatter_steps",
    "reduce_steps",
    "seconds",
    "shared",
    "started",
    "turned",
]


class Hop(NamedTuple):
    """One chunk, or a part of one, crossing one link in one step.

    source       chip that sends
    destination  its neighbour, which receives
    chunk        number of the chunk, or (from chip, to chip)
    bytes        bytes that cross the link
    start        first byte of the chunk that crosses; 0 for a whole chunk
    axis         axis of the link
    way          +1 or -1, the way along the axis
    adds         True: it is added to what the destination has; else written
    """

    source: int
    destination: int
    chunk: int | tuple
    bytes: int
    start: int = 0
    axis: int = 0
    way: int = 1
    adds: bool = False


def _uncollected(work):
    """Let nobody look for garbage while a million hops are written down.

    A hop holds numbers, so that nothing refers to itself and none is garbage;
    to look at all of them again and again takes half of the time.

    work     a function that writes down hops
    returns  the same function, run without the collector
    """

    @wraps(work)
    def quick(*args, **options):
        collects = gc.isenabled()
        gc.disable()
        try:
            return work(*args, **options)
        finally:
            if collects:
                gc.enable()

    return quick


# ---- at the door -------------------------------------------------------------


def _in_shards(V, N, wrap, directions, ties):
    chunk_bytes(V, N, one_axis(N, wrap, directions, ties).cuts)


def _in_chunks(V, N, wrap, directions, ties):
    chunk_bytes(V, N * N, one_axis(N, wrap, directions, ties).cuts)


# ---- one step after the other ------------------------------------------------


def onward(hops, N, wrap=True):
    """The next hops: every chunk moves one chip further the same way.

    hops     list of Hop
    N        chips on the ring or line
    wrap     True for a ring; False for a line, whose ends stop a chunk
    returns  list of Hop
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    return [
        Hop(here, (here + way) % N, chunk, size, start, axis, way, adds)
        for _, here, chunk, size, start, axis, way, adds in hops
        if wrap or 0 <= here + way < N
    ]


def shared(hops, ties="split"):
    """The same hops, but a chunk that is at a chip for both ways is a tie.

    hops     list of Hop of one moment, all chunks whole
    ties     "split": a half each way; "one_way": all of it by way +1
    returns  list of Hop
    raises   ValueError if a half would not be whole bytes, or if one way
             brings a chunk twice
    source   chapter 3
    """
    if len({(h.destination, h.chunk) for h in hops}) == len(hops):
        return hops  # no chunk comes from both sides
    ways, kept = _ways_in(hops), []
    for hop in hops:
        tied = len(ways[hop.destination, hop.chunk]) == 2
        if tied and ties == "split":
            kept.append(_half(hop))
        elif not tied or hop.way == 1:
            kept.append(hop)
    return kept


def _ways_in(hops):
    """For each chip and chunk the ways by which it comes, each once."""
    ways = {}
    for hop in hops:
        here = ways.setdefault((hop.destination, hop.chunk), set())
        if hop.way in here:
            raise ValueError(f"hops must bring a chunk once a way, got {hop}")
        here.add(hop.way)
    return ways


def _half(hop):
    half, rest = divmod(hop.bytes, 2)
    if rest or hop.start:
        raise ValueError(
            f"hops must carry whole chunks of even bytes to be split, got {hop}"
        )
    return hop._replace(bytes=half, start=0 if hop.way == 1 else half)


@takes(_in_shards, V=whole, N=whole)
@_uncollected
def all_gather_steps(V, N, wrap=True, directions=2, ties="split"):
    """AllGather on a ring or line: pass on what you have just received.

    V           bytes of the whole array; each of N chips starts with V / N
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used by way +1 only
    ties        "split" or "one_way"
    returns     list of steps, each a list of Hop
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3
    """
    ways, held = (1, -1)[:directions], [{chip} for chip in range(N)]
    hops = [Hop(c, c, c, V // N, way=w) for c in range(N) for w in ways]
    steps = []
    while hops := lacking(onward(hops, N, wrap), held):
        steps.append(sorted(shared(hops, ties)))
        for hop in hops:
            held[hop.destination].add(hop.chunk)
    return steps


def lacking(hops, held):
    """The hops that bring their destination a chunk that it lacks.

    hops     list of Hop
    held     for each chip the set of its chunks
    returns  list of Hop
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    return [hop for hop in hops if hop.chunk not in held[hop.destination]]


def turned(hop):
    """The same hop run backwards: what was copied is now added.

    hop      Hop
    returns  Hop
    raises   ValueError unless hop is a Hop
    source   chapter 3
    """
    source, destination, chunk, size, start, axis, way, adds = hop
    return Hop(destination, source, chunk, size, start, axis, -way, not adds)


def backwards(steps):
    """The steps run backwards, each hop turned.

    steps    list of steps, each a list of Hop
    returns  list of steps, each a list of Hop
    raises   ValueError unless steps is such a list
    source   chapter 3
    """
    return [sorted(map(turned, step)) for step in reversed(steps)]


@takes(_in_shards, V=whole, N=whole)
def reduce_scatter_steps(V, N, wrap=True, directions=2, ties="split"):
    """ReduceScatter: the AllGather run backwards, adding where it copied.

    V           bytes of the array of which each of N chips holds a summand
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used by way -1 only
    ties        "split" or "one_way"
    returns     list of steps, each a list of Hop
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3
    """
    gather = all_gather_steps(V, N, wrap, directions, ties)
    return backwards(gather)


@takes(_in_shards, V=whole, N=whole)
def all_reduce_steps(V, N, wrap=True, directions=2, ties="split"):
    """AllReduce: a ReduceScatter, then an AllGather of the sums.

    V           bytes of the array of which each of N chips holds a summand
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used one way at a time
    ties        "split" or "one_way"
    returns     list of steps, each a list of Hop
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3
    """
    gather = all_gather_steps(V, N, wrap, directions, ties)
    return backwards(gather) + gather


def destinations(chip, way, N, wrap=True, directions=2):
    """Chips to be reached by this way, nearest first; a tie is in both ways.

    chip        where the way starts
    way         +1 or -1
    N           chips on the ring or line
    wrap        True for a ring, False for a line
    directions  2, or 1: the whole ring by way +1
    returns     list of chips
    raises      ValueError that names the argument and what was expected
    source      chapter 3
    """
    if wrap:
        farthest = N // 2 if directions == 2 else N - 1
    else:
        farthest = N - 1 - chip if way == 1 else chip
    return [(chip + way * hops) % N for hops in range(1, farthest + 1)]


def departures(N, size, wrap=True, directions=2, ties="split"):
    """A chunk from every chip to every other, each way, nearest first.

    N        chips on the ring or line
    size     bytes of each chunk; even where ties are split
    wrap, directions, ties  as in `all_to_all_steps`
    returns  for each chip and way a list of Hop that stand where they start
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    ways = (1, -1)[:directions]
    waiting = {(c, w): [] for c in range(N) for w in ways}
    standing = [
        Hop(chip, chip, (chip, there), size, way=way)
        for chip, way in waiting
        for there in destinations(chip, way, N, wrap, directions)
    ]
    for hop in shared(standing, ties):
        waiting[hop.source, hop.way].append(hop)
    return list(waiting.values())


@takes(_in_chunks, V=whole, N=whole)
@_uncollected
def all_to_all_steps(V, N, wrap=True, directions=2, ties="split"):
    """AllToAll: start your farthest chunk, and the next farthest a step later.

    Chips pass on chunks that are not theirs. Hops whose source is the chunk's
    own chip are what it sends, V (N - 1) / N^2 bytes; its links carry more.

    V           bytes of the whole array; each of N chips has N chunks
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used by way +1 only
    ties        "split" or "one_way"
    returns     list of steps, each a list of Hop; a chunk is (from, to)
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, problem 10
    """
    waiting = departures(N, V // N**2, wrap, directions, ties)
    hops, steps = [], []
    while hops := onward(hops + started(waiting), N, wrap):
        steps.append(sorted(hops))
        hops = [hop for hop in hops if hop.destination != hop.chunk[1]]
    return steps


def started(waiting):
    """Takes the last hop out of each list that still has one.

    waiting  list of lists of Hop; they get shorter
    returns  list of Hop
    raises   ValueError unless waiting is such a list
    source   chapter 3
    """
    return [queue.pop() for queue in waiting if queue]


@takes(_in_shards, V=whole, N=whole, shift=partial(whole, least=0))
def permute_steps(V, N, shift=1, wrap=True, directions=2, ties="split"):
    """Permute: each chip sends its shard `shift` chips on, the shortest way.

    V        bytes of the whole array; each of N chips sends V / N
    shift    the shard of chip c goes to chip (c + shift) mod N
    wrap, directions, ties  as in `all_to_all_steps`
    returns  list of steps, each a list of Hop; a chunk is (from, to)
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    hops = itertools.chain(*departures(N, V // N, wrap, directions, ties))
    hops = [h for h in hops if h.chunk[1] == (h.source + shift) % N]
    steps = []
    while hops := onward(hops, N, wrap):
        steps.append(sorted(hops))
        hops = [hop for hop in hops if hop.destination != hop.chunk[1]]
    return steps


def _in_pieces(V, N, pieces, root, wrap, directions):
    ways = one_axis(N, wrap, directions).ways
    _chip("root", root, N)
    if pieces > V:
        raise ValueError(f"pieces must be at most V = {V} bytes, got {pieces}")
    chunk_bytes(V, pieces * (len(ways) if wrap else 1), 1)


@takes(_in_pieces, V=whole, pieces=whole, N=whole)
def broadcast_steps(V, N, pieces=1, root=0, wrap=True, directions=2):
    """Broadcast: the root sends a piece a step each way, all pass it on.

    V, N     bytes of the array; chips on the ring or line
    pieces   pieces sent each way; on a ring each way carries its half of V
             all round, on a line both ways carry all of V to the ends
    root     chip that has the array at the start
    wrap, directions  as in `all_gather_steps`
    returns  list of steps, each a list of Hop
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    waiting = pieces_each_way(V, N, pieces, root, wrap, directions)
    held = [set() for _ in range(N)]
    held[root] = {hop.chunk for queue in waiting for hop in queue}
    hops, steps = [], []
    while hops := lacking(onward(hops + started(waiting), N, wrap), held):
        steps.append(sorted(hops))
        for hop in hops:
            held[hop.destination].add(hop.chunk)
    return steps


def pieces_each_way(V, N, pieces, root=0, wrap=True, directions=2):
    """What the root of a broadcast has to send, last piece first.

    V, N, pieces, root, wrap, directions  as in `broadcast_steps`
    returns  for each way a list of Hop that stand at the root
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    ways = (1, -1)[:directions]
    size = V // (pieces * (len(ways) if wrap else 1))
    first = [k * pieces if wrap else 0 for k in range(len(ways))]
    return [
        [Hop(root, root, f + k, size, way=way) for k in reversed(range(pieces))]
        for f, way in zip(first, ways, strict=True)
    ]


@takes(_in_pieces, V=whole, pieces=whole, N=whole)
def reduce_steps(V, N, pieces=1, root=0, wrap=True, directions=2):
    """Reduce: the broadcast run backwards, adding where it copied.

    V           bytes of the array of which each of N chips holds a summand
    N           chips on the ring or line
    pieces      pieces that arrive each way, as in `broadcast_steps`
    root        chip that has the sum at the end
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used by way -1 only
    returns     list of steps, each a list of Hop
    raises      ValueError that names the argument and what was expected
    source      chapter 3
    """
    return backwards(broadcast_steps(V, N, pieces, root, wrap, directions))


@takes(V=whole, N=whole, pieces=whole)
def chain_all_reduce_steps(V, N, pieces=1):
    """AllReduce on a line: sums run to its end, and back while more arrive.

    V        bytes of the array of which each of N chips holds a summand
    N        chips on the line
    pieces   pieces of V; the more, the less the links wait
    returns  list of steps, each a list of Hop
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    back = broadcast_steps(V, N, pieces, root=N - 1, wrap=False)
    there = backwards(back)  # its last piece arrives first, so it returns first
    back = [
        [hop._replace(chunk=pieces - 1 - hop.chunk) for hop in step]
        for step in back
    ]
    both = itertools.zip_longest(there, [[]] * (N - 1) + back, fillvalue=[])
    return [sorted(up + down) for up, down in both]


def bytes_per_link(steps):
    """Bytes that each link carries, counted hop by hop.

    steps    list of steps, each a list of Hop
    returns  {(chip, axis, way): bytes that leave the chip by that link},
             chunks that a chip only passes on included
    raises   ValueError unless steps is such a list
    source   chapter 3
    """
    load = Counter()
    for hop in itertools.chain.from_iterable(_known_steps(steps)):
        load[hop.source, hop.axis, hop.way] += hop.bytes
    return load


def seconds(steps, link_bw, hop_latency=0.0, overlap=False):
    """Time of the steps: each lasts as long as its busiest link.

    steps        list of steps, each a list of Hop
    link_bw      bytes/s of one link in one direction
    hop_latency  seconds a hop takes however small the message
    overlap      False: latency is added to each step; True: it runs beside
                 the transfer, and the longer of the two counts
    returns      seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3
    """
    for n, step in enumerate(_known_steps(steps)):
        if not step:
            raise ValueError(f"steps[{n}] must hold at least one Hop, got none")
    busiest = [max(bytes_per_link([step]).values()) for step in steps]
    return sum(step_seconds(busiest, link_bw, hop_latency, overlap))


def carry(steps, held):
    """Moves real values along the hops; a step sends what was there before it.

    steps    list of steps, each a list of Hop
    held     for each chip {chunk: flat array}; it is not changed
    returns  for each chip {chunk: flat array}, after the last step
    raises   ValueError if a chunk is sent by a chip, or added to one, that
             does not hold it, or is cut inside an element or beyond its end
    source   chapter 3
    """
    held = _copied(held)
    for step in _known_steps(steps, len(held)):
        for hop, part, values in [letter(hop, held) for hop in step]:
            if hop.adds:
                held[hop.destination][hop.chunk][part] += values
            else:
                empty = np.zeros_like(held[hop.source][hop.chunk])
                mine = held[hop.destination].setdefault(hop.chunk, empty)
                mine[part] = values
    return held


def letter(hop, held):
    """What one hop carries: the hop, which elements of its chunk, a copy.

    hop      Hop
    held     for each chip {chunk: flat array}
    returns  (hop, slice, array)
    raises   ValueError if the chunk is not where the hop needs it, or is cut
             inside an element or beyond its end
    source   chapter 3
    """
    [hop] = _known_hops([hop], len(_per_chip(held, (dict,))), "hop")
    for chip in (hop.source, hop.destination) if hop.adds else (hop.source,):
        if hop.chunk not in held[chip]:
            raise ValueError(f"steps: chip {chip} holds no chunk {hop.chunk}")
    values = held[hop.source][hop.chunk]
    _refuse_misfits(hop, values, held[hop.destination].get(hop.chunk, values))
    first, last = hop.start, hop.start + hop.bytes
    part = slice(first // values.itemsize, last // values.itemsize)
    return hop, part, values[part].copy()


# ---- what is refused ---------------------------------------------------------


def _known_hops(hops, N=None, name="hops"):
    """The argument `name`, if it is a list of Hop that can be followed.

    hops     list of Hop
    N        chips, if they are known: a hop starts and ends on one of them
    name     of the argument, for the error
    returns  hops
    raises   ValueError that names the argument, the hop and what was expected
    source   chapter 3
    """
    if not isinstance(hops, (list, tuple)):
        raise ValueError(f"{name} must be a list of Hop, got {hops!r}")
    for hop in hops:
        if not _is_hop(hop) or (N and max(hop.source, hop.destination) >= N):
            chips = f"0 to {N - 1}" if N else "0 or more"
            raise ValueError(
                f"{name} must be Hop between chips {chips}, of whole bytes, "
                f"by way +1 or -1, got {hop!r}"
            )
    return hops


def _is_hop(hop):
    return (
        isinstance(hop, Hop)
        and type(hop.source) is type(hop.destination) is int
        and type(hop.bytes) is type(hop.start) is type(hop.way) is int
        and min(hop.source, hop.destination, hop.bytes, hop.start) >= 0
        and type(hop.adds) is bool
        and type(hop.chunk) in (int, tuple)
        and (hop.way == 1 or hop.way == -1)
    )


def _known_steps(steps, N=None):
    """The argument `steps`, if it is a list of lists of Hop.

    steps    list of steps, each a list of Hop
    N        chips, if they are known
    returns  steps
    raises   ValueError that names the step and what was expected
    source   chapter 3
    """
    if not isinstance(steps, (list, tuple)):
        raise ValueError(f"steps must be a list of lists of Hop, got {steps!r}")
    for n, step in enumerate(steps):
        _known_hops(step, N, f"steps[{n}]")
    return steps


def _chip(name, chip, N):
    if whole(name, chip, least=0) >= N:
        raise ValueError(f"{name} must be a chip, 0 to {N - 1}, got {chip!r}")
    return chip


def _per_chip(held, kinds, name="held"):
    fits = isinstance(held, (list, tuple)) and held
    if not fits or not all(isinstance(one, kinds) for one in held):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be a list of {names}, got {held!r}")
    return held


def _copied(held):
    """Copies of flat arrays of numbers, which are all that can be carried."""
    copies = []
    for chip, chunks in enumerate(_per_chip(held, (dict,))):
        arrays = {key: np.array(a) for key, a in chunks.items()}
        for key, a in arrays.items():
            if a.ndim != 1 or a.dtype.kind not in "biufcV":
                raise ValueError(
                    f"held[{chip}] must hold flat arrays of numbers, got "
                    f"{a.dtype} of shape {a.shape} as chunk {key}"
                )
        copies.append(arrays)
    return copies


def _refuse_misfits(hop, values, there):
    """ValueError unless a hop cuts a chunk between elements, inside of it."""
    each = values.itemsize
    if hop.start % each or hop.bytes % each:
        raise ValueError(
            f"steps must cut a chunk between its elements of {each} bytes, "
            f"got {hop}"
        )
    if hop.start + hop.bytes > values.nbytes:
        raise ValueError(
            f"steps must stay inside a chunk, which has {values.nbytes} bytes, "
            f"got {hop}"
        )
    if (there.dtype, there.shape) != (values.dtype, values.shape):
        raise ValueError(
            f"held must have chunk {hop.chunk} alike on chips {hop.source} and "
            f"{hop.destination}, got {values.dtype} of {values.shape} and "
            f"{there.dtype} of {there.shape}"
        )
