"""Collectives on one ring or line as lists of hops, in plain Python."""

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np

from shardlab.arguments import whole
from shardlab.ring.network import chunk_bytes, one_axis, step_seconds


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


def onward(hops, N, wrap=True):
    """The next hops: every chunk moves one chip further the same way.

    hops     list of Hop
    N        chips on the ring or line
    wrap     True for a ring; False for a line, whose ends stop a chunk
    returns  list of Hop
    source   chapter 3
    """
    further = [(hop, hop.destination + hop.way) for hop in hops]
    return [
        hop._replace(source=hop.destination, destination=there % N)
        for hop, there in further
        if wrap or 0 <= there < N
    ]


def shared(hops, ties="split"):
    """The same hops, but a chunk that is at a chip for both ways is a tie.

    hops     list of Hop of one moment, all chunks whole
    ties     "split": a half each way; "one_way": all of it by way +1
    returns  list of Hop
    source   chapter 3
    """
    ways = Counter((hop.destination, hop.chunk) for hop in hops)
    kept = []
    for hop in hops:
        half = hop.bytes // 2
        if ways[hop.destination, hop.chunk] == 1:
            kept.append(hop)
        elif ties == "split":
            start = 0 if hop.way == 1 else half
            kept.append(hop._replace(bytes=half, start=start))
        elif hop.way == 1:
            kept.append(hop)
    return kept


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
    ring = one_axis(N, wrap, directions, ties)
    shard = chunk_bytes(V, N, ring.cuts)
    held = [{chip} for chip in range(N)]
    hops = [Hop(c, c, c, shard, way=w) for c in range(N) for w in ring.ways]
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
    source   chapter 3
    """
    return [hop for hop in hops if hop.chunk not in held[hop.destination]]


def turned(hop):
    """The same hop run backwards: what was copied is now added.

    hop      Hop
    returns  Hop
    source   chapter 3
    """
    return hop._replace(
        source=hop.destination,
        destination=hop.source,
        way=-hop.way,
        adds=not hop.adds,
    )


def backwards(steps):
    """The steps run backwards, each hop turned.

    steps    list of steps, each a list of Hop
    returns  list of steps, each a list of Hop
    source   chapter 3
    """
    return [sorted(map(turned, step)) for step in reversed(steps)]


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
    return backwards(all_gather_steps(V, N, wrap, directions, ties))


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
    size     bytes of each chunk
    wrap, directions, ties  as in `all_to_all_steps`
    returns  for each chip and way a list of Hop that stand where they start
    source   chapter 3
    """
    waiting = {(c, w): [] for c in range(N) for w in (1, -1)[:directions]}
    standing = [
        Hop(chip, chip, (chip, there), size, way=way)
        for chip, way in waiting
        for there in destinations(chip, way, N, wrap, directions)
    ]
    for hop in shared(standing, ties):
        waiting[hop.source, hop.way].append(hop)
    return list(waiting.values())


def all_to_all_steps(V, N, wrap=True, directions=2, ties="split"):
    """AllToAll: start your farthest chunk, and the next farthest a step later.

    V           bytes of the whole array; each of N chips has N chunks
    wrap        True for a ring, False for a line
    directions  2, or 1: a ring whose links are used by way +1 only
    ties        "split" or "one_way"
    returns     list of steps, each a list of Hop; a chunk is (from, to)
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, problem 10
    """
    ring = one_axis(N, wrap, directions, ties)
    chunk = chunk_bytes(V, N * N, ring.cuts)
    waiting = departures(N, chunk, wrap, directions, ties)
    hops, steps = [], []
    while hops := onward(hops + started(waiting), N, wrap):
        steps.append(sorted(hops))
        hops = [hop for hop in hops if hop.destination != hop.chunk[1]]
    return steps


def started(waiting):
    """Takes the last hop out of each list that still has one.

    waiting  list of lists of Hop; they get shorter
    returns  list of Hop
    source   chapter 3
    """
    return [queue.pop() for queue in waiting if queue]


def permute_steps(V, N, shift=1, wrap=True, directions=2, ties="split"):
    """Permute: each chip sends its shard `shift` chips on, the shortest way.

    V        bytes of the whole array; each of N chips sends V / N
    shift    the shard of chip c goes to chip (c + shift) mod N
    wrap, directions, ties  as in `all_to_all_steps`
    returns  list of steps, each a list of Hop; a chunk is (from, to)
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    ring = one_axis(N, wrap, directions, ties)
    shard = chunk_bytes(V, N, ring.cuts)
    shift = whole("shift", shift, least=0)
    hops = itertools.chain(*departures(N, shard, wrap, directions, ties))
    hops = [h for h in hops if h.chunk[1] == (h.source + shift) % N]
    steps = []
    while hops := onward(hops, N, wrap):
        steps.append(sorted(hops))
        hops = [hop for hop in hops if hop.destination != hop.chunk[1]]
    return steps


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
    ways = one_axis(N, wrap, directions).ways
    if whole("root", root, least=0) >= N:
        raise ValueError(f"root must be a chip, 0 to {N - 1}, got {root!r}")
    different = len(ways) if wrap else 1
    size = chunk_bytes(V, whole("pieces", pieces) * different, 1)
    first = [k * pieces if wrap else 0 for k in range(len(ways))]
    return [
        [Hop(root, root, f + k, size, way=way) for k in reversed(range(pieces))]
        for f, way in zip(first, ways, strict=True)
    ]


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


def chain_all_reduce_steps(V, N, pieces=1):
    """AllReduce on a line: sums run to its end, and back while more arrive.

    V        bytes of the array of which each of N chips holds a summand
    N        chips on the line
    pieces   pieces of V; the more, the less the links wait
    returns  list of steps, each a list of Hop
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    last = whole("N", N) - 1
    back = broadcast_steps(V, N, pieces, root=last, wrap=False)
    there = backwards(back)  # its last piece arrives first, so it returns first
    back = [
        [hop._replace(chunk=pieces - 1 - hop.chunk) for hop in step]
        for step in back
    ]
    both = itertools.zip_longest(there, [[]] * last + back, fillvalue=[])
    return [sorted(up + down) for up, down in both]


def bytes_per_link(steps):
    """Bytes that each link carries, counted hop by hop.

    steps    list of steps, each a list of Hop
    returns  {(chip, axis, way): bytes that leave the chip by that link}
    source   chapter 3
    """
    load = Counter()
    for hop in itertools.chain.from_iterable(steps):
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
    busiest = [max(bytes_per_link([step]).values()) for step in steps]
    return sum(step_seconds(busiest, link_bw, hop_latency, overlap))


def carry(steps, held):
    """Moves real values along the hops; a step sends what was there before it.

    steps    list of steps, each a list of Hop
    held     for each chip {chunk: flat array}; it is not changed
    returns  for each chip {chunk: flat array}, after the last step
    raises   ValueError if a chunk is sent by a chip, or added to one, that
             does not hold it
    source   chapter 3
    """
    held = [{key: np.array(a) for key, a in chunks.items()} for chunks in held]
    for step in steps:
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
    raises   ValueError if the chunk is not where the hop needs it
    source   chapter 3
    """
    for chip in (hop.source, hop.destination) if hop.adds else (hop.source,):
        if hop.chunk not in held[chip]:
            raise ValueError(f"steps: chip {chip} holds no chunk {hop.chunk}")
    values = held[hop.source][hop.chunk]
    first, last = hop.start, hop.start + hop.bytes
    part = slice(first // values.itemsize, last // values.itemsize)
    return hop, part, values[part].copy()
