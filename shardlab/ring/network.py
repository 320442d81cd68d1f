"""The network that a collective runs on, checked, and its clock."""

import math
from dataclasses import dataclass

from shardlab.arguments import one_of, real, whole

__all__ = ["Torus", "chunk_bytes", "one_axis", "step_seconds", "torus"]

# Hops of a ring are listed one by one: N^2 of a gather, N^3 / 4 of an exchange.
MOST_ON_AXIS = 1024
# Sets have one bit a chunk, and N chips hold N sets: 128 MB for 2^15 chips.
MOST_IN_FULL = 2**15
MOST_CHIPS = 2**20


@dataclass(frozen=True)
class Torus:
    """Chips on 1 to 3 axes, and how an algorithm uses their links.

    sizes     chips along each axis
    wraps     for each axis True if it is a ring, False if it is a line
    ways      ways used on rings: (1, -1), or (1,)
    ties      "split" or "one_way"
    parts     parts of each chunk that travel at the same time
    symmetry  True if one chip stands for all
    """

    sizes: tuple
    wraps: tuple
    ways: tuple
    ties: str
    parts: int
    symmetry: bool

    @property
    def N(self):
        return math.prod(self.sizes)

    @property
    def cuts(self):
        """In how many equal pieces every chunk has to be cut."""
        rings = zip(self.sizes, self.wraps, strict=True)
        even = any(wrap and size % 2 == 0 for size, wrap in rings)
        halves = even and len(self.ways) == 2 and self.ties == "split"
        return self.parts * (2 if halves else 1)


def torus(sizes, wrap, directions, ties, algorithm="phases", symmetry=False):
    """The Torus that the arguments of a collective describe.

    sizes, wrap, directions, ties, algorithm, symmetry
             as in `shardlab.ring.all_gather`
    returns  Torus
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    sizes = _sizes(sizes)
    wraps = _wraps(wrap, len(sizes))
    line = any(n > 1 and not w for n, w in zip(sizes, wraps, strict=True))
    if one_of("directions", directions, [1, 2]) == 1 and line:
        raise ValueError(
            "directions must be 2 where an axis is a line (wrap=False), whose "
            f"chips cannot all be reached one way; got {directions!r}"
        )
    if one_of("symmetry", symmetry, [False, True]) and line:
        raise ValueError(
            "symmetry must be False where an axis is a line (wrap=False), "
            f"whose chips do not all see the same; got {symmetry!r}"
        )
    _refuse_large(sizes, symmetry)
    one_of("ties", ties, ["split", "one_way"])
    one_of("algorithm", algorithm, ["phases", "balanced"])
    parts = len(sizes) if algorithm == "balanced" else 1
    return Torus(sizes, wraps, (1, -1)[:directions], ties, parts, symmetry)


def one_axis(N, wrap, directions, ties="split"):
    """The Torus of one ring or line of N chips.

    N, wrap, directions, ties  as in `shardlab.ring.all_gather_steps`
    returns  Torus
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    one_of("wrap", wrap, [True, False])
    if whole("N", N) > MOST_ON_AXIS:
        raise ValueError(
            f"N must be at most {MOST_ON_AXIS} chips, whose hops are listed "
            f"one by one, got {N}"
        )
    return torus(N, wrap, directions, ties)


def _sizes(sizes):
    if not isinstance(sizes, (tuple, list)):
        return (whole("sizes", sizes),)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(
            f"sizes must have 1 to 3 axes, got {len(sizes)}: {sizes!r}"
        )
    return tuple(whole("sizes", size) for size in sizes)


def _refuse_large(sizes, symmetry):
    most = MOST_CHIPS if symmetry else MOST_IN_FULL
    if math.prod(sizes) > most:
        more = "" if symmetry else f", or {MOST_CHIPS:,} with symmetry=True"
        raise ValueError(
            f"sizes must have at most {most:,} chips{more}, got {sizes!r}"
        )


def _wraps(wrap, axes):
    wraps = tuple(wrap) if isinstance(wrap, (tuple, list)) else (wrap,) * axes
    if len(wraps) != axes or any(type(w) is not bool for w in wraps):
        raise ValueError(
            "wrap must be True, False or a tuple with one of them for each of "
            f"{axes} axes, got {wrap!r}"
        )
    return wraps


def chunk_bytes(V, chunks, cuts, name="V"):
    """Bytes of one of the chunks of V, each of which is cut in equal pieces.

    V        bytes of the whole array
    chunks   number of chunks
    cuts     pieces of a chunk
    name     of the argument, for the error
    returns  bytes
    raises   ValueError if V cannot be cut so
    source   chapter 3
    """
    V = whole(name, V)
    if V % (chunks * cuts) or V >= 2**62:
        raise ValueError(
            f"{name} must be a multiple of {chunks * cuts} bytes below 2^62, "
            f"for {chunks} chunks cut in {cuts}; got {V}"
        )
    return V // chunks


def step_seconds(busiest, link_bw, hop_latency=0.0, overlap=False):
    """The time of each step, set by its busiest link.

    busiest      for each step the bytes on its busiest link
    link_bw      bytes/s of one link in one direction
    hop_latency  seconds a hop takes however small the message
    overlap      False: latency is added; True: it runs beside the transfer,
                 and the longer of the two counts
    returns      tuple of seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3
    """
    link_bw = real("link_bw", link_bw, above=0)
    hop_latency = real("hop_latency", hop_latency)
    if one_of("overlap", overlap, [False, True]):
        return tuple(max(size / link_bw, hop_latency) for size in busiest)
    return tuple(size / link_bw + hop_latency for size in busiest)
