"""Set 18, many processes: what the same chips do in other processes.

Layouts are asked of JAX, pieces are sent one by one over links and counted
where two hosts differ, and clocks run by an alpha and a speed that the check
has chosen.
"""

from fractions import Fraction
from math import prod

import jax
import numpy as np
from jax import NamedSharding, P
from jax.sharding import Mesh

from shardlab import hw
from shardlab.checks import compare, question, student

__all__ = [
    "check_between",
    "check_bucket",
    "check_done",
    "check_from_host_to_host",
    "check_law",
    "check_rows",
    "grade_between",
    "grade_bucket",
    "grade_done",
    "grade_from_host_to_host",
    "grade_law",
    "grade_rows",
]

# --- 1: who reads what -------------------------------------------------------


def _parts(shape, axes, B):
    """The sequences of each chip, as JAX deals them, as list of ranges."""
    names = [f"a{number}" for number in range(len(shape))]
    devices = np.array(jax.devices()[: prod(shape)]).reshape(shape)
    spec = P(tuple(names[axis] for axis in axes) or None)
    place = NamedSharding(Mesh(devices, names), spec)
    dealt = place.devices_indices_map((B,))
    return [range(B)[dealt[device][0]] for device in devices.flat]


def _read(shape, axes, ranks, B):
    """The sequences of each process, in order and each once."""
    parts = _parts(shape, axes, B)
    return [sorted(set().union(*own)) for own in _owned(parts, ranks)]


def _owned(parts, ranks):
    """What belongs to the chips of each process, process by process."""
    each = len(parts) // ranks
    return [parts[n * each : (n + 1) * each] for n in range(ranks)]


def _like_cards(shape, axes, ranks, B):
    """A mistake: the sequences are dealt like cards."""
    own = _owned(_parts(shape, axes, B), ranks)
    size = len(own[0][0])
    kinds = [{part.start // size for part in parts} for parts in own]
    return [[n for n in range(B) if n % (B // size) in k] for k in kinds]


@question.visible(
    "rows",
    ((2, 4), (0,), 4, 8),
    ((2, 4), (1,), 4, 8),
    ((4, 2), (1, 0), 4, 16),
    ((4, 2), (1, 0), 2, 16),  # parts 0, 4, 1 and 5, in the order of chips
    ((2, 2, 2), (2, 0), 2, 12),
    ((2, 3), (0, 1), 3, 12),
    ((2, 3), (), 3, 4),
    ((3, 2), (0,), 2, 6),
)
def check_rows(shape, axes, ranks, B):
    """Question 1: which sequences each process must read."""
    question.need_devices(8)
    asked = f"rows({tuple(shape)}, {tuple(axes)}, {ranks}, {B})"
    right = _read(shape, axes, ranks, B)
    own = _owned(_parts(shape, axes, B), ranks)
    starts = [[list(part) for part in parts] for parts in own]
    likely = [
        (
            _read(shape, axes[::-1], ranks, B),
            "the first of `axes` is the major one",
        ),
        (
            _read(shape, sorted(axes), ranks, B),
            "the first of `axes` is the major one, wherever it is in `shape`",
        ),
        (
            [list(range(B))] * ranks,
            "no process reads more than its chips hold",
        ),
        (
            [list(parts[0]) for parts in own],
            "a process reads for all of its chips",
        ),
        (
            [[n for part in parts for n in part] for parts in own],
            "each sequence is read once, in order",
        ),
        (
            [sorted({*parts[0], *parts[-1]}) for parts in own],
            "chips between the first and the last have parts, too",
        ),
        (
            [list(range(min(p)[0], max(p)[-1] + 1)) for p in starts],
            "the parts of a process need not stand side by side",
        ),
        (
            _like_cards(shape, axes, ranks, B),
            "a part has sequences that stand side by side",
        ),
    ]
    if B % ranks == 0:
        even = np.arange(B).reshape(ranks, -1).tolist()
        copies = "processes may hold copies of the same sequences"
        likely.append((even, copies))
    names = [f"list of process {rank}" for rank in range(ranks)]
    compare.equal(
        asked,
        student.call("rows", shape, axes, ranks, B),
        right,
        likely=[pair for pair in likely if pair[0] != right],
        names=names,
    )


def grade_rows():
    """Question 1 on other meshes."""
    draw = question.draw("rows")
    for shape, ranks in (((2, 2, 2), 4), ((4, 2), 2), ((1, 6), 3)):
        most = len(shape)
        count = int(draw.integers(1, most + 1))
        axes = tuple(draw.permutation(most)[:count].tolist())
        B = prod(shape) * int(draw.integers(2, 5))
        check_rows(shape, axes, ranks, B)


# --- 2: from 1 x 8 to 2 x 4 --------------------------------------------------


def _rings(shape, axis, order="C"):
    """The chips of each ring along an axis; "F" if the first is fastest."""
    chips = np.arange(prod(shape)).reshape(shape, order=order)
    return np.moveaxis(chips, axis, -1).reshape(-1, shape[axis]).tolist()


def _moved(rings, each, V, back=True):
    """Bytes between processes, sent link by link and piece by piece.

    rings  lists of chips
    each   chips of a process
    V      bytes of the whole array
    back   whether the last chip sends to the first
    """
    sent = 0
    for ring in rings:
        N = len(ring)
        for _ in range(N - 1):
            for place, chip in enumerate(ring):
                if place == N - 1 and not back:
                    continue
                other = ring[(place + 1) % N]
                sent += V // N * (chip // each != other // each)
    return sent


@question.visible(
    "between",
    ((6, 4), 0, 2, 6000),
    ((2, 4), 0, 2, 4096),
    ((4, 2), 0, 2, 4096),
    ((4, 2), 1, 2, 4096),
    ((2, 4), 1, 4, 4096),
    ((8,), 0, 1, 4096),
    ((3, 4), 1, 2, 6000),
    ((2, 3, 4), 1, 4, 6000),
    ((2, 3, 4), 2, 3, 6000),
)
def check_between(shape, axis, ranks, V):
    """Question 2: bytes from process to process."""
    each = prod(shape) // ranks
    rings, N = _rings(shape, axis), shape[axis]
    right = _moved(rings, each, V)
    torn = [ring for ring in rings if ring[0] // each != ring[-1] // each]
    likely = [
        (_moved(rings, each, V, back=False), "a ring must come back"),
        (_moved(rings[:1], each, V), "all rings along the axis work at once"),
        (right // (N - 1) * N, "a chip need not be sent its own piece"),
        (right // (N - 1), "over each link go N - 1 pieces, not one"),
        (right * N, "a piece is an N-th of V"),
        (
            (N - 1) * V // N * N * len(rings),
            "links between chips of one process do not count",
        ),
        (2 * right, "the ring goes in one direction"),
        (
            _moved(_rings(shape, axis, "F"), each, V),
            "the last axis is the fastest",
        ),
        (
            (N - 1) * V // N * (ranks - 1),
            "count the links that cross, not the borders",
        ),
        (
            (N - 1) * V // N * ranks,
            "count the links that cross, not the processes",
        ),
        (
            _moved([range(prod(shape))], each, V),
            "rings go along `axis`, and not round all chips",
        ),
        (
            2 * (N - 1) * V // N * len(torn),
            "a ring may cross more than one border, and back",
        ),
    ]
    compare.equal(
        f"between({tuple(shape)}, {axis}, {ranks}, {V})",
        student.call("between", shape, axis, ranks, V),
        right,
        likely=[pair for pair in likely if pair[0] != right],
    )


def grade_between():
    """Question 2 on other meshes."""
    draw = question.draw("between")
    for shape, ranks in (((4, 6), 8), ((5, 2, 3), 6), ((3, 8), 4)):
        axis = int(draw.integers(len(shape)))
        V = 120 * int(draw.integers(5, 500))
        check_between(shape, axis, ranks, V)
        check_between(shape, (axis + 1) % len(shape), ranks, V)


# --- 3: read from a clock ----------------------------------------------------


def _clock(N, alpha, W, seed):
    """What somebody measures who has this network, off by 4 to 8 %.

    Pieces take from an eighth of alpha to 128 times alpha. Neighbours are off
    in different directions, so that a fit finds the network, and no two points
    alone do.

    returns  list of [bytes, seconds]
    """
    draw = np.random.default_rng(seed)
    sign = int(draw.choice((-1, 1)))
    points = []
    for n in range(41):
        V = round(alpha * W * 2.0 ** (n / 4 - 3)) * N
        seconds = 0.0
        for _ in range(2 * (N - 1)):
            seconds += alpha + V / N / W
        sign = -sign
        ends = n in (0, 40)
        noise = 1 + sign * draw.uniform(0.07 if ends else 0.04, 0.08)
        points.append([float(V), seconds * noise])
    return points


def _by_ends(N, points):
    """A mistake: the line through the first point and the last."""
    (V, seconds), *_, (more, longer) = points
    beta = (longer - seconds) / (more - V)
    return (seconds - beta * V) / (2 * (N - 1)), 2 * (N - 1) / N / beta


def _unweighted(N, points, power=0.0):
    """A mistake: plain least squares, or weights of another power of 1/t."""
    V, seconds = np.array(points).T
    slope, at_zero = np.polyfit(V, seconds, 1, w=seconds**-power)
    return at_zero / (2 * (N - 1)), 2 * (N - 1) / N / slope


@question.visible(
    "law",
    (4, 20e-3, 2.5e9, 210),
    (2, 4e-3, 25e6, 3),
    (16, 50e-6, 12.5e9, 5),
)
def check_law(N, alpha, W, seed):
    """Question 3: the alpha of a round and the speed of a link."""
    points = _clock(N, alpha, W, seed)
    asked = f"law({N}, points)"
    got = student.call("law", N, points)
    yours, speed = compare.numbers(asked, got, 2)
    rounds, share = 2 * (N - 1), 2 * (N - 1) / N
    plain, _ = _unweighted(N, points)
    likely = [
        (
            plain,
            "by plain least squares a few per cent of the longest time "
            "outweigh all the short ones",
        ),
        (
            _by_ends(N, points)[0],
            "two points alone are too uncertain; let all of them speak",
        ),
        (
            points[0][1] / rounds,
            "that is the shortest time, which holds bytes and an error, too",
        ),
        (rounds * alpha, "that is alpha of all rounds together"),
        (rounds / 2 * alpha, "a ring has 2(N - 1) rounds, whatever N is"),
        (alpha / 2, "a round has one alpha, with all that one waits for"),
        (2 * alpha, "an AllReduce has 2(N - 1) rounds, not N - 1"),
        (alpha * rounds / N, "a ring has 2(N - 1) rounds, not N"),
        (alpha * rounds / (2 * N), "a ring has 2(N - 1) rounds, not 2N"),
        (1e3 * alpha, "seconds, not milliseconds"),
        (W, "alpha comes first, then W"),
    ]
    apart = [pair for pair in likely if abs(pair[0] / alpha - 1) > 0.05]
    compare.close(
        f"{asked}, alpha",
        yours,
        alpha,
        rel=0.05,
        likely=apart,
    )
    likely = [
        (
            _unweighted(N, points, 2.0)[1],
            "a share counts by 1/t; `polyfit` takes w=1/t, and squares it",
        ),
        (
            _by_ends(N, points)[1],
            "two points alone are too uncertain; let all of them speak",
        ),
        (W / share, "over a link go 2(N - 1)/N of V, not V"),
        (W / 2, "an AllReduce moves the array twice: there and back"),
        (2 * W / share, "over a link go 2(N - 1)/N of V, not 2 V"),
        (1 / W, "W is bytes a second, not seconds a byte"),
        (W / 1e6, "bytes, not megabytes"),
    ]
    apart = [pair for pair in likely if abs(pair[0] / W - 1) > 0.03]
    compare.close(
        f"{asked}, W",
        speed,
        W,
        rel=0.03,
        likely=apart,
    )


def grade_law():
    """Question 3 on other networks."""
    draw = question.draw("law")
    for N in (3, 8, 32):
        alpha = float(10 ** draw.uniform(-4.5, -2))
        W = float(10 ** draw.uniform(7.5, 10)) * 1e-4 / alpha
        check_law(N, alpha, W, int(draw.integers(2**31)))


# --- 4: halving across hosts -------------------------------------------------


def _halved(N, H, V, distances):
    """Bytes between hosts, piece by piece.

    distances  of the partners, round by round
    """
    held = [set(range(N)) for _ in range(N)]
    sent = 0
    for distance in distances:
        for chip in range(N):
            goes = {n for n in held[chip] if (n ^ chip) & distance}
            held[chip] -= goes
            partner = chip ^ distance
            sent += V // N * len(goes) * (chip // H != partner // H)
    if any(len(pieces) != 1 for pieces in held):
        raise AssertionError("halving must leave one piece to each chip")
    return sent


def _host_bytes(N, H, V):
    """The three counts: by a ring, by halving from afar, from nearby."""
    near = [1 << k for k in range(N.bit_length() - 1)]
    ring = _moved([list(range(N))], H, V)
    return ring, _halved(N, H, V, near[::-1]), _halved(N, H, V, near)


@question.visible(
    "from_host_to_host",
    (8, 4, 4096),
    (8, 2, 4096),
    (16, 4, 4096),
    (4, 1, 4096),
    (64, 8, 1 << 20),
)
def check_from_host_to_host(N, H, V):
    """Question 4: bytes of three ReduceScatters between hosts."""
    asked = f"from_host_to_host({N}, {H}, {V})"
    got = student.call("from_host_to_host", N, H, V)
    found = compare.entries(asked, got, 3)
    ring, far, near = _host_bytes(N, H, V)
    hosts = N // H
    bits = N.bit_length() - 1
    back = [int(f"{n:0{bits}b}"[::-1], 2) for n in range(N)]
    put = V // N * sum(n // H != other // H for n, other in enumerate(back))
    alike = (ring, "that is the ring's; in halving whole rounds stay in a host")
    first = "the first exchange is of half of the array"
    next_one = "a partner H away is on another host, too"
    stays = "nothing is moved afterwards"
    likely = {
        "ring": (
            (ring // hosts * (hosts - 1), "a ring must come back"),
            (ring // hosts, "each host sends, and all are asked for"),
            (2 * ring, "the ring goes in one direction"),
            (N * (V - V // N), "links within a host do not count"),
            (ring * N // (N - 1), "a chip's own piece stays where it is"),
            (far, "the ring comes first, then `far`, then `near`"),
            (near, "the ring comes first, then `far`, then `near`"),
        ),
        "far": (
            (
                near,
                "that is an H-th: the first rounds have the largest pieces, "
                "and all chips send",
            ),
            (far // N, "that is one chip; all of them send"),
            alike,
            (2 * far, first),
            (far - V * H, next_one),
            (far + put, stays),
            (far + V // 2, stays),
            (far // 2, "an exchange sends in both directions"),
            (N * (V - V // N), "the last rounds stay within a host"),
        ),
        "near": (
            (far, "the first rounds, with the largest pieces, stay in a host"),
            (near // N, "that is one chip; all of them send"),
            alike,
            (2 * near, first),
            (near - N * V // (2 * H), next_one),
            (near + put, stays),
            (near + V // 2, stays),
            (V, "the last round is not the only one between hosts"),
            (
                near // H,
                "that is one chip of each host; all of them send",
            ),
            (near // 2, "an exchange sends in both directions"),
            (N * (V - V // N), "the first rounds stay within a host"),
        ),
    }
    counts = zip(likely, found, (ring, far, near), strict=True)
    for name, yours, right in counts:
        compare.equal(
            f"{asked}, {name}",
            yours,
            right,
            likely=[pair for pair in likely[name] if pair[0] != right],
        )


def grade_from_host_to_host():
    """Question 4 with other hosts."""
    draw = question.draw("from_host_to_host")
    for power in (3, 5, 7):
        N, H = 2**power, 2 ** int(draw.integers(1, power))
        check_from_host_to_host(N, H, N * int(draw.integers(10, 10_000)))


# --- 5: how large a bucket ---------------------------------------------------


def _bucket(N, d, W, share):
    """Bytes of which waiting takes a share, by going through the rounds."""
    waits, carried = Fraction(0), Fraction(0)  # ms; ms for each byte
    for _ in range(2 * (N - 1)):
        waits += 2 * d
        carried += Fraction(1, N * W)
    return waits * (1 - share) / share / carried


BUCKETS = {
    "bucket": (
        Fraction(1, 2),
        [
            ("d*W*N", "each of the 2(N - 1) rounds costs two delays"),
            ("2*d*W", "a round carries an N-th of the bucket"),
            ("2*d*W*(N - 1)", "a round carries an N-th of the bucket"),
            ("4*d*W*(N - 1)", "over a link go 2(N - 1)/N buckets, not one"),
            ("4*d*W*N", "both phases have N - 1 rounds, delays and bytes"),
            ("2*d*W*N/(N - 1)", "delays come in each of the rounds"),
            ("4*d*W", "a ring has 2(N - 1) rounds"),
            ("4*d*W*N/(2*(N - 1))", "a ring has 2(N - 1) rounds"),
            ("4*d*W*(N - 1)/2", "over a link go 2(N - 1)/N buckets, not two"),
        ],
    ),
    "tenth": (
        Fraction(1, 10),
        [
            ("20*d*W*N", "a tenth of the time, not of what is carried"),
            ("10*d*W*N", "a tenth of all the time, and twice the delay"),
            ("2*d*W*N/10", "less waiting takes a larger bucket"),
            ("2*d*W*N/9", "less waiting takes a larger bucket"),
            ("2*d*W*N*5", "half has one part of two, a tenth one of ten"),
            ("9*d*W*N", "each round costs two delays"),
            ("18*d*W", "a round carries an N-th of the bucket"),
        ],
    ),
}


DDP = 25 * 10**6  # bytes of a bucket
DELAY = Fraction(6, 1000)
# What four TPU v5p and eight H100s send out of their host in a millisecond.
LINES = [int(n * c.dcn_bw / 1000) for n, c in ((4, hw.V5P), (8, hw.H100))]


def _most_hosts(W, bucket=DDP, d=DELAY, share=Fraction(1, 2)):
    """The most hosts of which a bucket is not too small, one more at a time."""
    N = 1
    while _bucket(N + 1, d, W, share) <= bucket:
        N += 1
    return N


def _check_hosts(got):
    """The hosts for which 25 MB are enough, on two named machines."""
    right = [_most_hosts(W) for W in LINES]

    def each(of):
        return [of(W) for W in LINES]

    likely = [
        (right[::-1], "you exchange the machines"),
        ([n + 1 for n in right], "with one host less the ring waits for half"),
        ([n - 1 for n in right], "one host more may be in the ring"),
        (each(lambda W: _most_hosts(W, d=DELAY / 2)), "a round has two delays"),
        (each(lambda W: _most_hosts(W, d=2 * DELAY)), "a round has two delays"),
        (
            [_most_hosts(W // n) for W, n in zip(LINES, (4, 8), strict=True)],
            "W is that of a whole host, not of one chip",
        ),
        (
            each(lambda W: _most_hosts(W, share=Fraction(1, 10))),
            "that is for waiting a tenth of the time",
        ),
        ([right[0]] * 2, "the wires differ, and so do the pieces' times"),
    ]
    names = ("hosts of v5p", "nodes of H100s")
    compare.equal("hosts", got, right, likely=likely, names=names)


@question.visible(
    "bucket, tenth, hosts",
    (((2, 3, 5), (3, 1, 7), (16, 2, 11), (5, 4, 3)),),
)
def check_bucket(points):
    """Question 5: bytes of a bucket, at points (N, d, W)."""
    for name, (share, likely) in BUCKETS.items():
        compare.formula(
            name,
            student.expression(name),
            "N d W",
            lambda N, d, W, share=share: _bucket(N, d, W, share),
            list(points),
            closed=True,
            likely=likely,
        )
    _check_hosts(student.value("hosts"))


def grade_bucket():
    """Question 5 at other points."""
    draw = question.draw("bucket")
    check_bucket(draw.integers(2, 60, (6, 3)).tolist())


# --- 6: who waits for whom ---------------------------------------------------


def _occurrences(program):
    """The calls of a program, each with how often it came before."""
    seen = {}
    found = []
    for name, ranks in program:
        call = (name, tuple(ranks))
        seen[call] = seen.get(call, 0) + 1
        found.append((call, seen[call]))
    return found


def _behind(programs):
    """How many calls each process makes, by what each call depends on.

    The n-th call of a name by a list of processes takes place if all calls
    before it do, in all of these processes; what depends on itself does not.
    """
    lists = [_occurrences(program) for program in programs]
    taken, before = set(), -1
    while len(taken) > before:
        before = len(taken)
        for calls in lists:
            for event in calls:
                (_, ranks), _ = event
                if all(
                    event in lists[q]
                    and taken.issuperset(lists[q][: lists[q].index(event)])
                    for q in ranks
                ):
                    taken.add(event)
    return [
        next((k for k, e in enumerate(calls) if e not in taken), len(calls))
        for calls in lists
    ]


def _first_difference(programs):
    """A mistake: all go on as long as all lists are the same."""
    same = 0
    for calls in zip(*programs, strict=False):
        if any(call != calls[0] for call in calls):
            break
        same += 1
    return [same] * len(programs)


def _patient(programs):
    """A mistake: one waits for those that come to this call some day."""
    found = []
    for program in programs:
        made = 0
        for name, ranks in program:
            if not all([name, ranks] in programs[q] for q in ranks):
                break
            made += 1
        found.append(made)
    return found


def _rounds(programs, rounds, whole=False, same=None):
    """A mistake: processes are looked at in turn, some rounds and no more.

    whole  whether one is left only when it can make no call any more
    same   what two calls must have in common, a function of a call
    """
    same = same or (lambda call: call)
    behind = [0] * len(programs)

    def moves(rank):
        calls = [p[n : n + 1] for p, n in zip(programs, behind, strict=True)]
        if not calls[rank]:
            return False
        (call,) = calls[rank]
        if any(list(map(same, calls[q])) != [same(call)] for q in call[1]):
            return False
        for q in call[1]:
            behind[q] += 1
        return True

    for _ in range(rounds):
        for rank in range(len(programs)):
            while moves(rank) and whole:
                pass
    return behind


def _by_one(programs, place):
    """A mistake: calls are the same by their name, or list, alone."""
    return _rounds(programs, sum(map(len, programs)), False, lambda c: c[place])


def _by_name(programs):
    """A mistake: whose name is the same is the same call."""
    everybody = list(range(len(programs)))
    return _behind(
        [[(name, everybody) for name, _ in calls] for calls in programs]
    )


ALL, X0, X1 = [0, 1, 2, 3], [0, 1], [2, 3]
Y0, Y1 = [0, 2], [1, 3]


def _each(*programs):
    """Programs, with the pairs of calls as lists."""
    return [[list(call) for call in program] for program in programs]


RUNS = (
    # All is well.
    _each(*[[("step", ALL), ("loss", ALL), ("step", ALL)]] * 4),
    # Process 2 has the two axes in the other order.
    _each(
        [("gather", X0), ("sum", Y0), ("loss", ALL)],
        [("gather", X0), ("sum", Y1), ("loss", ALL)],
        [("sum", Y0), ("gather", X1), ("loss", ALL)],
        [("gather", X1), ("sum", Y1), ("loss", ALL)],
    ),
    # One pair gets on without the other.
    _each(
        [("gather", X0), ("gather", X0), ("loss", ALL)],
        [("gather", X0), ("gather", X0), ("loss", ALL)],
        [("gather", X1), ("loss", ALL)],
        [("gather", X1), ("gather", X1), ("loss", ALL)],
    ),
    # Process 0 alone evaluates a metric.
    _each(
        [("step", ALL), ("metric", ALL), ("step", ALL)],
        *[[("step", ALL), ("step", ALL)]] * 3,
    ),
    # Sums of the same name, by other processes; process 3 forgets its own.
    _each(
        [("sum", X0), ("loss", ALL)],
        [("sum", Y1), ("sum", X0), ("loss", ALL)],
        [("loss", ALL)],
        [("loss", ALL)],
    ),
    # Each pair waits for the next one, and the last one frees them all.
    _each(
        [("sum", [0, 1]), ("sum", [0, 1]), ("loss", ALL)],
        [("sum", pair) for pair in ([1, 2], [0, 1]) * 2] + [("loss", ALL)],
        [("sum", pair) for pair in ([2, 3], [1, 2]) * 2] + [("loss", ALL)],
        [("sum", [2, 3]), ("sum", [2, 3]), ("loss", ALL)],
    ),
    # Some calls need nobody else.
    _each(
        [("save", [0]), ("loss", ALL)],
        [("loss", ALL)],
        [("loss", ALL)],
        [("save", [3]), ("save", [3]), ("loss", ALL), ("loss", ALL)],
    ),
    # The last step of one is one too many.
    _each(
        [("step", ALL), ("step", ALL)],
        [("step", ALL)],
        *[[("step", ALL), ("step", ALL)]] * 2,
    ),
)


@question.visible("done", *((run,) for run in RUNS))
def check_done(programs):
    """Question 6: how many calls each process has behind it."""
    right = _behind(programs)
    likely = [
        (
            [len(program) for program in programs],
            "somebody waits for one that never comes",
        ),
        (
            _first_difference(programs),
            "a collective needs those in its list, and no others",
        ),
        (_by_name(programs), "the same name among others is another call"),
        (_by_one(programs, 0), "the same name among others is another call"),
        (_by_one(programs, 1), "another name is another call"),
        (_patient(programs), "nobody passes a call by"),
        *(
            (
                _rounds(programs, rounds, whole),
                "a call lets others move: repeat until nothing moves",
            )
            for rounds in (1, 2, 3, 4)
            for whole in (False, True)
        ),
        (
            [
                made + (made < len(p))
                for made, p in zip(right, programs, strict=True)
            ],
            "a call in which a process hangs is not behind it",
        ),
        (
            [made - 1 for made in right],
            "count the calls, not the number of the last one",
        ),
    ]
    names = [f"count of process {rank}" for rank in range(len(programs))]
    calls = [
        [f"{name} {','.join(map(str, ranks))}" for name, ranks in program]
        for program in programs
    ]
    compare.equal(
        f"done of {calls}",
        student.call("done", programs),
        right,
        likely=[pair for pair in likely if pair[0] != right],
        names=names,
    )


def grade_done():
    """Question 6 with other runs."""
    draw = question.draw("done")
    groups = (ALL, X0, X1, Y0, Y1, [0], [3])
    for mistakes in (0, 1, 1, 2, 3):
        programs = [[] for _ in range(4)]
        for _ in range(int(draw.integers(6, 12))):
            ranks = groups[int(draw.integers(7))]
            name = ("gather", "sum")[int(draw.integers(2))]
            for rank in ranks:
                programs[rank].append([name, ranks])
        for _ in range(mistakes):
            program = programs[int(draw.integers(4))]
            if len(program) > 1:
                del program[int(draw.integers(len(program)))]
        check_done(programs)
