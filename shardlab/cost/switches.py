"""Time and bytes of collectives through a switch, as formulas.

Each chip has one port, which sends and receives `link_bw` bytes/s at the same
time, and any chip reaches any other in one hop. Four algorithms:

direct     every chip sends to every other at once; an AllReduce scatters sums
           and gathers them
doubling   in each round a chip talks to one partner, twice as far away as in
           the round before, and what it has doubles or halves
tree       a copy, or a sum, runs along a tree: after each round twice as many
           chips have a part in it
in_switch  the switch itself adds what all chips send, and hands one message on
           to all of them, as NVLink SHARP does; an AllReduce hands on its
           first pieces while the next are added

Rings through a switch are those of `cost.collectives` with directions=1. The
module `shardlab.switch` counts the same messages one by one.
"""

from fractions import Fraction

from shardlab.arguments import amount, how_many, size, takes

__all__ = ["SWITCHED", "port_share", "rounds", "t_switch"]

SWITCHED = {
    "direct": (
        *("all_gather", "reduce_scatter", "all_reduce", "all_to_all"),
        *("broadcast", "reduce", "permute"),
    ),
    "doubling": ("all_gather", "reduce_scatter", "all_reduce", "all_to_all"),
    "tree": ("broadcast", "reduce", "all_reduce"),
    "in_switch": (
        *("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce"),
    ),
}
_KINDS = SWITCHED["direct"]


def _known(kind, X, algorithm):
    """ValueError if there is no such algorithm for this collective."""
    if kind not in SWITCHED[algorithm]:
        raise ValueError(
            f"algorithm must be one of "
            f"{', '.join(repr(a) for a in SWITCHED if kind in SWITCHED[a])} "
            f"for {kind!r}; got {algorithm!r}"
        )
    if algorithm == "doubling" and X & (X - 1):
        raise ValueError(
            f"X must be a power of two where chips pair up, got {X}"
        )


_CHECKS = {"kind": _KINDS, "X": how_many, "algorithm": tuple(SWITCHED)}


@takes(_known, **_CHECKS)
def port_share(kind, X, algorithm="direct"):
    """Part of the whole array that crosses the busiest port, in one direction.

    kind       a key of VOLUMES, such as "all_gather"
    X          chips on the switch
    algorithm  "direct", "doubling", "tree" or "in_switch"
    returns    exact Fraction; of an AllReduce (X + 1) / X if the switch adds,
               and 2 (X - 1) / X if chips do
    raises     ValueError that names the argument and what was expected
    source     NCCL documentation; Rabenseifner, Optimization of Collective
               Reduction Operations
    """
    if X == 1:
        return Fraction(0)
    others, turns = Fraction(X - 1, X), (X - 1).bit_length()
    return {
        "direct": {
            "all_gather": others,
            "reduce_scatter": others,
            "all_reduce": 2 * others,
            "all_to_all": others / X,
            "broadcast": Fraction(X - 1),
            "reduce": Fraction(X - 1),
            "permute": Fraction(1, X),
        },
        "doubling": {
            "all_gather": others,
            "reduce_scatter": others,
            "all_reduce": 2 * others,
            "all_to_all": Fraction(turns, 2 * X),
        },
        "tree": {
            "broadcast": Fraction(turns),
            "reduce": Fraction(turns),
            "all_reduce": Fraction(2 * turns),
        },
        "in_switch": {
            "all_gather": Fraction(1),
            "reduce_scatter": Fraction(1),
            "all_reduce": Fraction(X + 1, X),
            "broadcast": Fraction(1),
            "reduce": Fraction(1),
        },
    }[algorithm][kind]


@takes(_known, **_CHECKS)
def rounds(kind, X, algorithm="direct"):
    """Hops of a collective through a switch, one after the other.

    kind, X, algorithm  as in `port_share`
    returns  int: one or two, or as many as chips can be doubled
    raises   ValueError that names the argument and what was expected
    source   NCCL documentation
    """
    if X == 1:
        return 0
    turns = (X - 1).bit_length() if algorithm in ("doubling", "tree") else 1
    return 2 * turns if kind == "all_reduce" else turns


@takes(V=amount, link_bw=size, hop_latency=amount)
def t_switch(kind, V, X, link_bw, hop_latency=0.0, algorithm="direct"):
    """Seconds of a collective through a switch.

    kind         a key of VOLUMES, such as "all_gather"
    V            bytes of the whole array
    X            chips on the switch
    link_bw      bytes/s that a chip sends, and receives at the same time
    hop_latency  seconds that each round takes besides
    algorithm    "direct", "doubling", "tree" or "in_switch"
    returns      seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 12, collectives within a node
    """
    t_bytes = float(V * port_share(kind, X, algorithm)) / link_bw
    return t_bytes + rounds(kind, X, algorithm) * hop_latency
