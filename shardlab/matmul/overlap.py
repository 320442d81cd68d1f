"""Multiplying the blocks that are there while others are on their way."""

from typing import NamedTuple

from shardlab import ring
from shardlab.arguments import amount, how_many, one_of, real, takes, whole

__all__ = ["BlockDone", "t_overlapped", "timeline"]


@takes(math=amount, comm=amount, X=how_many)
def t_overlapped(math, comm, X):
    """Seconds of a product whose blocks arrive one by one, and are used so.

    math     seconds of arithmetic of one chip, in X equal parts
    comm     seconds in which the other X - 1 blocks arrive, evenly spaced
    X        chips
    returns  seconds; either there is always a block to multiply, or the last
             one to arrive is still to be multiplied
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3; chapter 4
    """
    return max(math, comm + math / X)


class BlockDone(NamedTuple):
    """What a link or a chip is busy with for a while.

    chip   number of the chip: of a link, the one at its end
    part   "link" or "multiply"
    block  number of the block that comes in, or is multiplied
    start  seconds
    end    seconds
    """

    chip: int
    part: str
    block: int
    start: float
    end: float


def timeline(steps, N, math, link_bw, hop_latency=0.0, overlap=True):
    """What each chip and each link does when, in a gather and its product.

    Simulated: hop after hop is sent, a block can be multiplied when the last
    byte of it is there, and a chip multiplies one block at a time, in the
    order in which they came.

    steps    list of steps, each a list of `shardlab.ring.Hop`: a gather
    N        chips, each with one block
    math     seconds in which a chip multiplies all N blocks
    link_bw  bytes/s of one link in one direction
    hop_latency  seconds that each hop takes besides
    overlap  True: a block is multiplied as soon as it is there; False: when
             all of them are
    returns  list of BlockDone
    raises   ValueError that names the argument and what was expected
    source   chapter 4
    """
    one_of("overlap", overlap, (True, False))
    math, N = real("math", math), whole("N", N)
    sent = _sending(steps, link_bw, hop_latency)
    there = _arrivals(sent, N)
    if any(set(blocks) != set(range(N)) for blocks in there):
        raise ValueError(f"steps must bring each of N = {N} chips every block")
    done = []
    for chip in range(N):
        blocks = sorted(there[chip].items(), key=lambda item: item[1])
        free = 0.0 if overlap else blocks[-1][1]
        for block, came in blocks:
            start = max(free, came)
            free = start + math / N
            done.append(BlockDone(chip, "multiply", block, start, free))
    return sent + done


def _sending(steps, link_bw, hop_latency):
    """What the links do: each step lasts as long as its busiest one."""
    start, sent = 0.0, []
    for step in steps:
        end = start + ring.seconds([step], link_bw, hop_latency)
        sent += [
            BlockDone(h.destination, "link", h.chunk, start, end) for h in step
        ]
        start = end
    return sent


def _arrivals(sent, N):
    """For each chip, when each block is there: {block: seconds}."""
    chips = range(max(N, 1 + max((work.chip for work in sent), default=0)))
    there = [{chip: 0.0} for chip in chips]
    for work in sent:
        there[work.chip][work.block] = work.end  # of halves, the later one
    return there
