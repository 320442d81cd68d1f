"""Chunks moved hop by hop on rings, lines and tori, and what the links counted.

Nothing here is derived from a formula. An algorithm says which chunk a chip
passes to which neighbour; every link counts the bytes that cross it, every
step lasts as long as its busiest link, and real values can be carried along
the same hops and compared with the unsharded answer.

Two simulations of the same collectives, which share no step of their work:

hops     one ring or line in plain Python, to be read, drawn and carried:
         `all_gather_steps` and its kin return a list of steps, each a list of
         `Hop`; `bytes_per_link`, `seconds` and `carry` read such a list
traffic  rings, lines and tori of up to three axes: `all_gather`,
         `reduce_scatter`, `all_reduce` and `all_to_all` return a `Traffic`.
         A message is a set of chunks, one bit a chunk, and a link counts the
         members of the set

`uneven_exchange` follows an AllToAll whose parts differ, as those of a router
that sends tokens to experts do.

Two measures of what leaves a chip. `carried` is all that its links carry,
chunks that it only passes on included. `sent` is what leaves its own array, the
one it has before or the one it has after. Only an AllToAll passes on what is
not the chip's own: V (N - 1) / N^2 are sent, more are carried. In a gather,
scatter or reduction the two are one.

Growth. On N chips a gather or a scatter holds N sets of N bits and sends up
to as much in each step and direction: N^2 / 8 bytes, 10 MB for 8,960 chips,
whose 80 million arrivals would not fit as one object each. An AllToAll knows
N^2 chunks in N sets, N^3 / 8 bytes, 17 MB for 512 chips. Where every axis is a
ring, all chips see the same picture, moved along; `symmetry=True` then follows
one chip: N bytes for a gather or a scatter, a few numbers for an AllToAll.

A step is one hop of everybody at once. Way +1 leads to the next chip of an
axis, way -1 to the one before. A chunk whose two ways are equally long (the
antipodal chunk of an even ring) is a tie: "split" sends half of it each way,
"one_way" sends all of it one way. Both ways of a ring of 2 lead to the same
chip, by two links.

Over several axes, "phases" takes one after the other and leaves the links of
the others idle. "balanced" cuts every chunk in as many parts as there are axes
and lets part k start with axis k. No two parts are ever on the same axis, so
each keeps its own time; an axis is left when the slowest part has done its own,
and what the others wait then is the price of unequal axes.
"""

from shardlab.ring.doors import (
    backwards,
    departures,
    destinations,
    lacking,
    onward,
    pieces_each_way,
    shared,
    started,
    turned,
)
from shardlab.ring.hops import (
    Hop,
    all_gather_steps,
    all_reduce_steps,
    all_to_all_steps,
    broadcast_steps,
    bytes_per_link,
    carry,
    chain_all_reduce_steps,
    letter,
    permute_steps,
    reduce_scatter_steps,
    reduce_steps,
    seconds,
)
from shardlab.ring.traffic import (
    Traffic,
    all_gather,
    all_reduce,
    all_to_all,
    reduce_scatter,
)
from shardlab.ring.uneven import uneven_exchange

__all__ = [
    "Hop",
    "Traffic",
    "all_gather",
    "all_gather_steps",
    "all_reduce",
    "all_reduce_steps",
    "all_to_all",
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
    "reduce_scatter",
    "reduce_scatter_steps",
    "reduce_steps",
    "seconds",
    "shared",
    "started",
    "turned",
    "uneven_exchange",
]
