"""Collectives through a switch, message by message, without a formula.

Chips hand blocks to a switch, which hands each to one chip or to several, or
adds what several chips send and hands on the sum. Messages of a round cross at
the same time, and every port counts its bytes in both directions. A block is
followed by name: which part of the array it is, and whose terms it sums; so a
run can be asked whether all arrived.
"""

from typing import NamedTuple

from shardlab.arguments import how_many, one_of, takes, whole

__all__ = ["ALGORITHMS", "Message", "Run", "run"]


class Message(NamedTuple):
    """One part of the array on its way through the switch.

    senders    chips that send it; of several the switch adds what they send
    receivers  chips to which the switch hands it on
    part       number of the part; of an exchange (from, to)
    """

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    part: object


class Run(NamedTuple):
    """What a collective did.

    rounds   list of lists of Message
    bytes    for each round the bytes of its busiest port, in one direction
    sent     bytes that each chip sent, in all rounds
    taken    bytes that each chip received, in all rounds
    holds    for each chip {part: the chips whose terms its block sums}
    """

    rounds: list
    bytes: list
    sent: list
    taken: list
    holds: list

    @property
    def busiest(self):
        """Bytes that the busiest port of each round carries, all rounds."""
        return sum(self.bytes)

    @property
    def streamed(self):
        """Bytes that the busiest port carries in one direction, if rounds run
        side by side, each on pieces that the one before has done with."""
        return max(self.sent + self.taken)


# ---- who starts with what, and what is done ----------------------------------


def _start(kind, N):
    everything = range(N)
    return {
        "all_gather": [{c: {c}} for c in everything],
        "permute": [{c: {c}} for c in everything],
        "broadcast": [{0: {0}}] + [{} for _ in range(N - 1)],
        "all_to_all": [{(c, to): {c} for to in range(N)} for c in everything],
    }.get(kind, [{part: {c} for part in _parts(kind, N)} for c in everything])


def _parts(kind, N):
    return [0] if kind == "reduce" else range(N)


def _end(kind, N):
    """For each chip the parts, and the terms of each, that it must have."""
    all_of_it = set(range(N))
    return {
        "all_gather": [{p: {p} for p in range(N)} for _ in range(N)],
        "reduce_scatter": [{c: all_of_it} for c in range(N)],
        "all_reduce": [dict.fromkeys(range(N), all_of_it) for _ in range(N)],
        "all_to_all": [{(f, c): {f} for f in range(N)} for c in range(N)],
        "broadcast": [{0: {0}} for _ in range(N)],
        "reduce": [{0: all_of_it}] + [{} for _ in range(N - 1)],
        "permute": [{(c - 1) % N: {(c - 1) % N}} for c in range(N)],
    }[kind]


# ---- who sends what ----------------------------------------------------------


def _direct(kind, N):
    """Every chip to every other at once."""
    chips = range(N)
    others = [(a, b) for a in chips for b in chips if a != b]
    gather = [Message((a,), (b,), a) for a, b in others]
    scatter = [Message((a,), (b,), b) for a, b in others]
    return {
        "all_gather": [gather],
        "reduce_scatter": [scatter],
        "all_reduce": [scatter, gather],
        "all_to_all": [[Message((a,), (b,), (a, b)) for a, b in others]],
        "broadcast": [[Message((0,), (b,), 0) for b in chips[1:]]],
        "reduce": [[Message((a,), (0,), 0) for a in chips[1:]]],
        "permute": [[Message((a,), ((a + 1) % N,), a) for a in chips]],
    }[kind]


def _doubling(kind, N):
    """With one partner a round, whose number differs in one binary digit."""
    digits = [1 << k for k in range(N.bit_length() - 1)]
    chips = range(N)
    gather = [
        [
            Message((c,), (c ^ digit,), part)
            for c in chips
            for part in chips
            if part & -digit == c & -digit  # gathered in the rounds before
        ]
        for digit in digits
    ]
    scatter = [
        [
            Message((c,), (c ^ digit,), part)
            for c in chips
            for part in chips
            if (part ^ c) & digit and (part ^ c) < 2 * digit
        ]
        for digit in digits[::-1]
    ]
    exchange = []
    for digit in digits:  # a part moves on when its goal has another digit
        low = digit - 1
        exchange.append(
            [
                Message((c,), (c ^ digit,), (a, b))
                for a in chips
                for b in chips
                for c in [(b & low) | (a & ~low)]
                if (c ^ b) & digit
            ]
        )
    return {
        "all_gather": gather,
        "reduce_scatter": scatter,
        "all_reduce": scatter + gather,
        "all_to_all": exchange,
    }[kind]


def _tree(kind, N):
    """In each round all who have it hand it to as many who do not."""
    spread, have = [], 1
    while have < N:
        pairs = zip(range(have), range(have, N), strict=False)
        spread.append(list(pairs))
        have += len(spread[-1])
    parts = range(N) if kind == "all_reduce" else [0]
    down = [
        [Message((a,), (b,), part) for a, b in pairs for part in parts]
        for pairs in spread
    ]
    up = [
        [Message((b,), (a,), part) for a, b in pairs for part in parts]
        for pairs in spread[::-1]
    ]
    return {"broadcast": down, "reduce": up, "all_reduce": up + down}[kind]


def _in_switch(kind, N):
    """The switch adds what all send, and hands one message on to all."""
    chips = tuple(range(N))
    gather = [[Message((c,), chips, c) for c in chips]]
    scatter = [[Message(chips, (c,), c) for c in chips]]
    return {
        "all_gather": gather,
        "reduce_scatter": scatter,
        "all_reduce": scatter + gather,
        "broadcast": [[Message((0,), chips, 0)]],
        "reduce": [[Message(chips, (0,), 0)]],
    }[kind]


ALGORITHMS = {
    "direct": _direct,
    "doubling": _doubling,
    "tree": _tree,
    "in_switch": _in_switch,
}


# ---- carried out -------------------------------------------------------------


def _pairs_up(N, algorithm):
    if algorithm == "doubling" and N & (N - 1):
        raise ValueError(
            f"N must be a power of two where chips pair up, got {N}"
        )


@takes(_pairs_up, V=whole, N=how_many, algorithm=tuple(ALGORITHMS))
def run(kind, V, N, algorithm="direct"):
    """Carry out a collective of V bytes on N chips of a switch.

    kind       "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
               "broadcast", "reduce" or "permute", as far as the algorithm can
    V          bytes of the whole array, a multiple of its parts
    N          chips on the switch
    algorithm  a key of ALGORITHMS
    returns    Run, in which every chip has what it should have
    raises     ValueError that names the argument and what was expected;
               AssertionError if a chip lacks something
    source     chapter 3
    """
    one_of("kind", kind, _KINDS[algorithm])
    parts = {"all_to_all": N * N, "broadcast": 1, "reduce": 1}.get(kind, N)
    if V % parts:
        raise ValueError(f"V must be a multiple of {parts} parts, got {V}")
    rounds = ALGORITHMS[algorithm](kind, N) if N > 1 else []
    holds, each = _start(kind, N), V // parts
    sent, taken, busiest = [0] * N, [0] * N, []
    for messages in rounds:
        out, into = [0] * N, [0] * N
        arrivals = []
        for senders, receivers, part in messages:
            blocks = [holds[c][part] for c in senders]
            terms = set().union(*blocks)
            assert len(terms) == sum(map(len, blocks)), "a term comes twice"
            for c in senders:
                out[c] += each
            for c in receivers:
                into[c] += each
                arrivals.append((c, part, terms, len(senders) > 1))
        sent = [a + b for a, b in zip(sent, out, strict=True)]
        taken = [a + b for a, b in zip(taken, into, strict=True)]
        busiest.append(max(out + into))
        for c, part, terms, whole_sum in arrivals:
            own = set() if whole_sum else holds[c].get(part, set())
            holds[c][part] = own | terms
    for c, due in enumerate(_end(kind, N)):
        for part, terms in due.items():
            assert holds[c].get(part) == terms, (c, part)
    return Run(rounds, busiest, sent, taken, holds)


_KINDS = {
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
