"""Time and bytes of collectives on rings, lines and tori, as formulas."""

from fractions import Fraction
from math import prod
from numbers import Integral

from shardlab.arguments import (
    amount,
    flag,
    how_many,
    one_of,
    size,
    takes,
    whole_from,
)

__all__ = [
    "KINDS",
    "VOLUMES",
    "axes_in_use",
    "break_even_bytes",
    "carried",
    "exchange_phases",
    "exchange_share",
    "gather_phases",
    "gather_share",
    "hops",
    "permute_way",
    "sent",
    "step_bytes",
    "t_all_gather",
    "t_all_reduce",
    "t_all_to_all",
    "t_broadcast",
    "t_chain_all_reduce",
    "t_collective",
    "t_limit",
    "t_permute",
    "t_reduce",
    "t_reduce_scatter",
    "t_send",
    "volume",
]

LONGEST = 10**6  # axis whose steps are listed one by one
KINDS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")

# What the field's texts charge for each, as a multiple of the whole array; of a
# permute the message: the shard that each chip hands on.
VOLUMES = {
    "all_gather": Fraction(1),
    "reduce_scatter": Fraction(1),
    "all_reduce": Fraction(2),
    "all_to_all": Fraction(1, 4),
    "broadcast": Fraction(1),
    "reduce": Fraction(1),
    "permute": Fraction(1),
}
# A permute takes as long as its way, and has no limit of many chips.
_LIMITS = tuple(kind for kind in VOLUMES if kind != "permute")


# ---- one axis: hops and shares -----------------------------------------------


def _reachable(X, wrap, directions):
    """ValueError if chips of an axis cannot all be reached in this way."""
    if directions == 1 and not wrap and X > 1:
        raise ValueError(
            "directions must be 2 on a line (wrap=False), whose chips cannot "
            f"all be reached one way; got {directions!r}"
        )


_DIRECTIONS, _TIES, _SHIFT = (1, 2), ("split", "one_way"), whole_from(0)


@takes(_reachable, X=how_many, wrap=flag, directions=_DIRECTIONS)
def hops(X, wrap=True, directions=2):
    """Hops to the farthest chip of an axis.

    X           chips on the axis
    wrap        True for a ring, False for a line
    directions  2: links carry data both ways; 1: a ring used one way round
    returns     hops; with two ways round a ring nobody is further than X / 2
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, AllGather
    """
    return X // 2 if wrap and directions == 2 else X - 1


@takes(_reachable, X=how_many, wrap=flag, directions=_DIRECTIONS, ties=_TIES)
def gather_share(X, wrap=True, directions=2, ties="split"):
    """Part of the whole array that an AllGather sends over its busiest link.

    X           chips on the axis
    wrap        True for a ring, False for a line
    directions  2: links carry data both ways; 1: a ring used one way round
    ties        the chunk opposite on an even ring: "split" goes half each way
                round, "one_way" goes whole one way
    returns     exact Fraction; a ReduceScatter has the same
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, AllGather and problem 10
    """
    if directions == 1 or not wrap:
        return Fraction(X - 1, X)
    return Fraction(X - 1, 2 * X) if ties == "split" else Fraction(X // 2, X)


@takes(_reachable, X=how_many, wrap=flag, directions=_DIRECTIONS, ties=_TIES)
def exchange_share(X, wrap=True, directions=2, ties="split"):
    """Part of the whole array that an AllToAll sends over its busiest link.

    X, wrap, directions, ties  as in `gather_share`
    returns     exact Fraction; 1/8 on an even ring whose ties are split
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, AllToAll and problem 10
    """
    if not wrap:
        return Fraction(X**2 // 4, X**2)
    if directions == 1:
        return Fraction(X - 1, 2 * X)
    if ties == "split":
        return Fraction(X**2 // 4, 2 * X**2)
    half = X // 2
    return Fraction(half * (half + 1), 2 * X**2)


# ---- seconds, one axis after the other ---------------------------------------


@takes(V=amount, link_bw=size, distance=whole_from(0), hop_latency=amount)
def t_send(V, link_bw, distance=1, hop_latency=0.0):
    """Seconds to send a message along links, its bytes streaming through.

    V            bytes that cross the busiest link
    link_bw      bytes/s of one link in one direction
    distance     links on the way
    hop_latency  seconds until a first byte has crossed one link
    returns      seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 2, problem 5
    """
    return distance * hop_latency + float(V) / float(link_bw)


def t_all_gather(
    V, X, link_bw, wrap=True, directions=2, ties="split", hop_latency=0.0
):
    """Seconds to AllGather an array over an axis, or over axis after axis.

    V            bytes of the whole array, as it is after the gather
    X            chips on the axis, or up to three such numbers, first to last
    link_bw      bytes/s of one link in one direction
    wrap, directions, ties  as in `gather_share`; wrap also one for each axis
    hop_latency  seconds that each hop takes besides
    returns      seconds; on a ring V (X - 1) / X over W = 2 link_bw
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, AllGather
    """
    seconds = 0.0
    for V_axis, n, ring in gather_phases(V, X, wrap):
        share = gather_share(n, ring, directions, ties)
        far = hops(n, ring, directions)
        seconds += t_send(V_axis * share, link_bw, far, hop_latency)
    return seconds


def t_reduce_scatter(
    V, X, link_bw, wrap=True, directions=2, ties="split", hop_latency=0.0
):
    """Seconds to ReduceScatter an array: those of the AllGather it mirrors.

    V            bytes of the whole array, of which each chip holds a summand
    X            chips on the axis, or up to three such numbers; the last axis
                 is the first to be scattered
    link_bw, wrap, directions, ties, hop_latency  as in `t_all_gather`
    returns      seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, ReduceScatter
    """
    return t_all_gather(V, X, link_bw, wrap, directions, ties, hop_latency)


def t_all_reduce(
    V, X, link_bw, wrap=True, directions=2, ties="split", hop_latency=0.0
):
    """Seconds to AllReduce an array: a ReduceScatter, then an AllGather.

    V            bytes of the whole array, of which each chip holds a summand
    X            chips on the axis, or up to three such numbers
    link_bw, wrap, directions, ties, hop_latency  as in `t_all_gather`
    returns      seconds
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, AllReduce
    """
    how = (wrap, directions, ties, hop_latency)
    scatter = t_reduce_scatter(V, X, link_bw, *how)
    gather = t_all_gather(V, X, link_bw, *how)
    return scatter + gather


def t_all_to_all(
    V, X, link_bw, wrap=True, directions=2, ties="split", hop_latency=0.0
):
    """Seconds of an AllToAll over an axis, or over axis after axis.

    V            bytes of the whole array; each chip holds, and sends on, a
                 part for every chip
    X            chips on the axis, or up to three such numbers, first to last
    link_bw, wrap, directions, ties, hop_latency  as in `t_all_gather`
    returns      seconds; V / (4 W) on an even ring whose ties are split
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, AllToAll
    """
    seconds = 0.0
    for V_axis, n, ring in exchange_phases(V, X, wrap):
        share = exchange_share(n, ring, directions, ties)
        far = hops(n, ring, directions)
        seconds += t_send(V_axis * share, link_bw, far, hop_latency)
    return seconds


def gather_phases(V, X, wrap=True):
    """What a gather over several axes does axis after axis.

    V        bytes of the whole array
    X        chips on the axis, or up to three such numbers, first to last
    wrap     True for a ring, False for a line; or one of them an axis
    returns  list of (bytes of the array gathered so far, chips, ring or not)
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllGather over several axes
    """
    chips, rings = _sizes(X), _rings(wrap, X)
    V_axis, phases = _exact("V", V) / prod(chips), []
    for n, ring in zip(chips, rings, strict=True):
        V_axis *= n
        phases.append((V_axis, n, ring))
    return phases


def exchange_phases(V, X, wrap=True):
    """What an AllToAll over several axes does axis after axis.

    V        bytes of the whole array
    X        chips on the axis, or up to three such numbers, first to last
    wrap     True for a ring, False for a line; or one of them an axis
    returns  list of (bytes on one ring or line, chips, ring or not)
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllToAll over several axes
    """
    chips, rings = _sizes(X), _rings(wrap, X)
    on_one_chip = _exact("V", V) / prod(chips)
    return [
        (on_one_chip * n, n, ring) for n, ring in zip(chips, rings, strict=True)
    ]


def _pieces_of_bytes(V, pieces):
    """ValueError if there are more pieces than bytes."""
    if pieces > max(V, 1):
        raise ValueError(
            f"pieces must be at most V = {V} bytes, got {pieces!r}"
        )


@takes(_pieces_of_bytes, V=amount, pieces=how_many)
def t_broadcast(
    V, X, link_bw, pieces=1, root=0, wrap=True, directions=2, hop_latency=0.0
):
    """Seconds until all chips have what one had, over one axis or several.

    V            bytes of the array
    X            chips on the axis, or up to three such numbers, first to last
    link_bw      bytes/s of one link in one direction
    pieces       of V that follow each other, or on a ring of half of it a way
    root         the chip that has it, or its place on each axis; matters on
                 lines only
    wrap, directions, hop_latency  as in `t_all_gather`
    returns      seconds; V / W on a ring, V / link_bw on a line, as pieces
                 grow, and that for each axis: the next one starts with all of V
    raises       ValueError that names the argument and what was expected
    source       chapter 3
    """
    V, how = _exact("V", V), (directions, hop_latency)
    axes = zip(_sizes(X), _each("root", root, X), _rings(wrap, X), strict=True)
    clock = (V, link_bw, pieces)
    return sum(_t_broadcast(*clock, *axis, *how) for axis in axes)


def _t_broadcast(V, link_bw, pieces, X, root, ring, directions, hop_latency):
    """Seconds of a broadcast along one axis."""
    hops(X, ring, directions)  # refuses what is no way to all chips
    root = _chip(root, X)
    far = X - 1 if ring else max(root, X - 1 - root)
    piece = V / (pieces * (directions if ring else 1))
    step = t_send(piece, link_bw, 1, hop_latency)
    return (pieces + far - 1) * step if far else 0.0


def t_reduce(
    V, X, link_bw, pieces=1, root=0, wrap=True, directions=2, hop_latency=0.0
):
    """Seconds until one chip has the sum: those of the broadcast it mirrors.

    V        bytes of the array, of which each chip holds a summand
    X, link_bw, pieces, root, wrap, directions, hop_latency
             as in `t_broadcast`
    returns  seconds
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    how = (wrap, directions, hop_latency)
    return t_broadcast(V, X, link_bw, pieces, root, *how)


def t_permute(
    V,
    X,
    link_bw,
    shift=1,
    hop_latency=0.0,
    wrap=True,
    *,
    directions=2,
    ties="split",
):
    """Seconds to hand every shard `shift` chips on, the shortest way.

    V            bytes of the whole array; each chip sends V / X
    X            chips on the axis, or up to three such numbers, first to last
    link_bw      bytes/s of one link in one direction
    shift        the shard of chip c goes to chip (c + shift) mod X; one number
                 for each axis, or one that is of all
    hop_latency  seconds that each hop takes besides
    wrap         True for a ring, False for a line; or one of them an axis
    directions, ties  as in `gather_share`
    returns      seconds; on a line the last chips send theirs all the way back
    raises       ValueError that names the argument and what was expected
    source       chapter 3
    """
    seconds, shifts = 0.0, _each("shift", shift, X)
    phases = exchange_phases(V, X, wrap)
    for (V_axis, n, ring), ahead in zip(phases, shifts, strict=True):
        far, share = permute_way(n, ahead, ring, directions, ties)
        seconds += far * t_send(V_axis * share, link_bw, 1, hop_latency)
    return seconds


@takes(
    _reachable,
    X=how_many,
    wrap=flag,
    directions=_DIRECTIONS,
    ties=_TIES,
    shift=whole_from(0),
)
def permute_way(X, shift=1, wrap=True, directions=2, ties="split"):
    """Hops that a permute takes, and the part of the array in each of them.

    X           chips on the axis
    shift       the shard of chip c goes to chip (c + shift) mod X
    wrap, directions, ties  as in `gather_share`
    returns     hops, exact Fraction; a shard, or half of one if it is a tie
    raises      ValueError that names the argument and what was expected
    source      chapter 3
    """
    ahead = shift % X
    back = (X - ahead) % X
    tie = ahead == back > 0 and wrap and directions == 2 and ties == "split"
    far = ahead if directions == 1 else (min if wrap else max)(ahead, back)
    return far, Fraction(1, 2 * X if tie else X)


@takes(_pieces_of_bytes, V=amount, X=how_many, pieces=how_many)
def t_chain_all_reduce(V, X, link_bw, pieces=1, hop_latency=0.0):
    """Seconds of an AllReduce on a line: sums run to its end, and back.

    V            bytes of the whole array, of which each chip holds a summand
    X            chips on the line
    link_bw      bytes/s of one link in one direction
    pieces       pieces of V; the first returns while others are on their way
    hop_latency  seconds that each hop takes besides
    returns      seconds; V / link_bw as pieces grow
    raises       ValueError that names the argument and what was expected
    source       chapter 3
    """
    step = t_send(_exact("V", V) / pieces, link_bw, 1, hop_latency)
    return (pieces + 2 * X - 3) * step if X > 1 else 0.0


# ---- the limits that texts quote ---------------------------------------------


@takes(kind=VOLUMES, V=amount)
def volume(kind, V):
    """Bytes that the field's texts charge for a collective.

    kind     a key of VOLUMES, such as "all_gather"
    V        bytes of the whole array: after a gather, before a scatter; of a
             permute, of the shard that each chip hands on
    returns  bytes: V; twice that for an AllReduce, a quarter for an AllToAll
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, summary
    """
    return _plain(_exact("V", V) * VOLUMES[kind])


@takes(kind=_LIMITS)
def axes_in_use(kind, X):
    """Axes whose bandwidth a collective can use at the same time, at best.

    kind     a key of VOLUMES, such as "all_gather", but no permute
    X        chips on the axis, or up to three such numbers
    returns  exact number: all axes of two chips or more; for an AllToAll the
             longest axis binds, and N / max(X) counts
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, summary and AllToAll on a torus
    """
    used = [n for n in _sizes(X) if n > 1]
    if kind == "all_to_all" and used:
        return _plain(Fraction(prod(used), max(used)))
    return len(used)


@takes(kind=_LIMITS, V=amount, link_bw=size, wrap=flag, hop_latency=amount)
def t_limit(kind, V, X, link_bw, wrap=True, hop_latency=0.0):
    """Seconds that texts quote: all links busy, and many chips.

    kind         a key of VOLUMES, such as "all_gather", but no permute
    V            bytes of the whole array
    X            chips on the axis, or up to three such numbers
    link_bw      bytes/s of one link in one direction
    wrap         True: W = 2 link_bw; False, a line: half of that
    hop_latency  seconds of a hop: no less than all hops on the longest way
    returns      seconds; volume / (W axes), for an AllToAll V max(X) / (4 N W)
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, summary
    """
    W = 2 * link_bw if wrap else link_bw
    axes, rounds = axes_in_use(kind, X), 2 if kind == "all_reduce" else 1
    far = rounds * sum(hops(n, wrap) for n in _sizes(X))
    t_bytes = float(volume(kind, V) / axes) / W if axes else 0.0
    return max(t_bytes, far * hop_latency)


@takes(link_bw=size, hop_latency=amount)
def break_even_bytes(link_bw, hop_latency):
    """Bytes of a message that a link sends in the time of one hop.

    link_bw      bytes/s of one link in one direction
    hop_latency  seconds that a hop takes however small the message
    returns      bytes; smaller messages are latency-bound
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3, AllGather latency
    """
    return link_bw * hop_latency


# ---- exact bytes: what leaves a chip, and each step's busiest link -----------


@takes(kind=(*KINDS, "permute"))
def sent(kind, V, X, wrap=True, directions=2, algorithm="phases"):
    """Bytes that leave a chip's own array, whatever is passed on for others.

    kind        "all_gather", "reduce_scatter", "all_reduce", "all_to_all" or
                "permute"
    V           bytes of the whole array; of a permute, of one chip's shard
    X, wrap, directions, algorithm  as in `carried`
    returns     exact bytes of one chip: V (N - 1) / N^2 of an AllToAll on N
                chips, V of a permute, all that is carried of the others
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, AllToAll
    """
    if kind not in ("all_to_all", "permute"):
        return carried(kind, V, X, wrap, directions, algorithm)
    # Refuses what is no network.
    carried("all_gather", V, X, wrap, directions, algorithm)
    N = prod(_sizes(X))
    part = Fraction(N - 1, N**2) if kind == "all_to_all" else int(N > 1)
    return _plain(_exact("V", V) * part)


@takes(kind=KINDS)
def carried(kind, V, X, wrap=True, directions=2, algorithm="phases"):
    """Bytes that leave a chip over all its links, passing on included.

    kind        "all_gather", "reduce_scatter", "all_reduce" or "all_to_all"
    V           bytes of the whole array
    X           chips on the axis, or up to three such numbers, first to last
    wrap        True for a ring, False for a line; or one of them an axis
    directions  2: links carry data both ways; 1: rings used one way round
    algorithm   "phases" or "balanced", as in `step_bytes`
    returns     exact bytes of one chip, the busiest where axes are lines; how
                ties are broken does not matter
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 3, problem 10
    """
    if kind == "all_reduce":
        halves = ("reduce_scatter", "all_gather")
        how = V, X, wrap, directions, algorithm
        return _plain(sum(Fraction(carried(half, *how)) for half in halves))
    phases = exchange_phases if kind == "all_to_all" else gather_phases
    return _plain(
        sum(
            axis[0] * _leaves(kind, *axis[1:], directions)
            for V_part, chips, rings in _parts(V, X, wrap, algorithm)
            for axis in phases(V_part, chips, rings)
        )
    )


def _leaves(kind, X, wrap, directions):
    """Part of the array on one axis that leaves the busiest chip."""
    hops(X, wrap, directions)  # refuses what is no way to all chips
    if kind == "all_to_all" and not wrap:
        return Fraction(2 * ((X - 1) ** 2 // 4) + X - 1, X**2)
    if kind == "all_to_all":
        far = X**2 // 4 if directions == 2 else X * (X - 1) // 2
        return Fraction(far, X**2)
    inner = not wrap and kind == "all_gather" and X > 2
    return Fraction(X + 1 if inner else X - 1, X)


@takes(kind=KINDS)
def step_bytes(
    kind, V, X, algorithm="phases", *, wrap=True, directions=2, ties="split"
):
    """Bytes on the busiest link, step by step, in every phase of a collective.

    kind       "all_gather", "reduce_scatter", "all_reduce" or "all_to_all"
    V, X       bytes of the whole array; chips on the axis, or on up to three
    algorithm  "phases": one axis after the other, in the order of X;
               "balanced": as many parts as axes, part k starts with axis k
    wrap, directions, ties  as in `t_all_gather`
    returns    for each phase a list of its parts, which run side by side: for
               each a list of exact bytes, one number a step
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 3; chapter 3
    """
    way = (V, X, algorithm, wrap, directions, ties)
    if kind == "all_to_all":
        return _in_phases(exchange_phases, _exchanged, *way)
    gather = _in_phases(gather_phases, _gathered, *way)
    scatter = [[part[::-1] for part in phase] for phase in gather[::-1]]
    halves = {"all_gather": gather, "reduce_scatter": scatter}
    return halves.get(kind, scatter + gather)


@takes(kind=KINDS, link_bw=size, hop_latency=amount, overlap=flag)
def t_collective(
    kind,
    V,
    X,
    link_bw,
    hop_latency=0.0,
    overlap=False,
    *,
    algorithm="phases",
    wrap=True,
    directions=2,
    ties="split",
):
    """Seconds of a collective by either algorithm, with latency either way.

    kind         "all_gather", "reduce_scatter", "all_reduce" or "all_to_all"
    V, X         bytes of the whole array; chips on the axis, or on up to three
    link_bw      bytes/s of one link in one direction
    hop_latency  seconds that a hop takes however small the message
    overlap      False: latency is added to each step; True: it runs beside
                 the transfer, and the longer of the two counts
    algorithm, wrap, directions, ties  as in `step_bytes`
    returns      seconds; a phase lasts as long as the slowest of its parts
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 3; chapter 3
    """
    clock = link_bw, hop_latency, overlap
    phases = step_bytes(
        *(kind, V, X, algorithm),
        wrap=wrap,
        directions=directions,
        ties=ties,
    )
    return sum(max(_lasts(part, *clock) for part in phase) for phase in phases)


def _lasts(part, link_bw, hop_latency, overlap):
    """Seconds of the steps of one part, one after the other."""
    transfers = [t_send(step, link_bw) for step in part]
    if overlap:
        return sum(max(transfer, hop_latency) for transfer in transfers)
    return sum(transfers) + len(part) * hop_latency


def _in_phases(phases, chunks, V, X, algorithm, wrap, directions, ties):
    """For each phase, for each part of the array, the bytes of its steps."""
    if max(_sizes(X)) > LONGEST:
        raise ValueError(
            f"X must be at most {LONGEST:,} chips where steps are listed, "
            f"got {X!r}"
        )
    parts = [
        [
            [_plain(V_axis * c) for c in chunks(n, ring, directions, ties)]
            for V_axis, n, ring in phases(*part)
        ]
        for part in _parts(V, X, wrap, algorithm)
    ]
    return [list(phase) for phase in zip(*parts, strict=True)]


def _parts(V, X, wrap, algorithm):
    """(bytes, chips, rings) of each part of the array, its first axis first."""
    one_of("algorithm", algorithm, ("phases", "balanced"))
    chips, rings = _sizes(X), _rings(wrap, X)
    count = len(chips) if algorithm == "balanced" else 1
    return [
        (_exact("V", V) / count, chips[k:] + chips[:k], rings[k:] + rings[:k])
        for k in range(count)
    ]


def _gathered(X, wrap, directions, ties):
    """Parts of the array on the busiest link: a shard, or half a tie."""
    steps = hops(X, wrap, directions)
    tie = _ties(X, wrap, directions, ties)
    whole_ones = [Fraction(1, X)] * (steps - tie)
    return whole_ones + [Fraction(1, 2 * X)] * tie


def _exchanged(X, wrap, directions, ties):
    """Parts of the array on the busiest link: the farthest start first."""
    steps = hops(X, wrap, directions)
    tie = Fraction(_ties(X, wrap, directions, ties), 2)
    chunks = [k + 1 - tie for k in range(steps)]
    if not wrap:
        chunks = [min(k, steps - 1 - k) + 1 for k in range(steps)]
    return [Fraction(chunk) / X**2 for chunk in chunks]


def _ties(X, wrap, directions, ties):
    """1 if the last step on an axis carries a tie that is split, else 0."""
    one_of("ties", ties, _TIES)
    return int(wrap and directions == 2 and ties == "split" and X % 2 == 0)


# ---- arguments ---------------------------------------------------------------


def _exact(name, value):
    """A number of bytes as a Fraction, so that nothing is rounded."""
    number = amount(name, value)
    if isinstance(value, Integral):
        return Fraction(int(value))
    return value if isinstance(value, Fraction) else Fraction(number)


def _plain(number):
    """An int where a Fraction is whole; the Fraction where it is not."""
    return number.numerator if number.denominator == 1 else number


def _chip(root, X):
    """The root of a broadcast, if it is one of the chips."""
    if how_many("root", root, least=0) >= X:
        raise ValueError(
            f"root must be one of {X} chips, 0 to {X - 1}; got {root!r}"
        )
    return root


def _sizes(X):
    """Chips along each of one to three axes."""
    if not isinstance(X, (tuple, list)):
        return (how_many("X", X),)
    if not 1 <= len(X) <= 3:
        raise ValueError(f"X must have 1 to 3 axes, got {len(X)}: {X!r}")
    return tuple(how_many("X", n) for n in X)


def _each(name, value, X):
    """One value for each axis: those given, or the one that stands for all."""
    axes = len(_sizes(X))
    values = value if isinstance(value, (tuple, list)) else (value,) * axes
    if len(values) != axes:
        raise ValueError(
            f"{name} must be one value or one for each of {axes} axes, "
            f"got {len(values)}: {value!r}"
        )
    return tuple(values)


def _rings(wrap, X):
    """For each axis whether it is a ring."""
    rings = _each("wrap", wrap, X)
    return tuple(flag("wrap", ring) for ring in rings)
