"""Set 20, real chips: traces, peaks, slices, and what a compiler believes.

Traces are played on a true clock before they are shown on others; pieces of an
array go round a torus and are counted on every link; bytes are those of arrays
with their shardings, and a backward pass is traced and counted.
"""

from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import pairwise
from itertools import product as places_of
from math import prod

import jax
import jax.numpy as jnp
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count, hw
from shardlab.checks import compare, question, student
from shardlab.strategies import block, pods

__all__ = [
    "check_bare",
    "check_believed",
    "check_culprit",
    "check_loads",
    "check_place",
    "check_tokens",
    "grade_bare",
    "grade_believed",
    "grade_culprit",
    "grade_loads",
    "grade_place",
    "grade_tokens",
]

# --- 1: what nobody hides ----------------------------------------------------


def _ticks(tasks, wanted):
    """Intervals of the milliseconds in which `wanted` of the queues is true."""
    last = max(end for *_, end in tasks)
    found = []
    for now in range(last):
        runs = {queue for queue, start, end in tasks if start <= now < end}
        if not wanted(runs):
            continue
        if found and found[-1][1] == now:
            found[-1][1] = now + 1
        else:
            found.append([now, now + 1])
    return found


def _one_by_one(tasks):
    """A mistake: each collective by itself, not joined to the next."""
    chip = [task for task in tasks if task[0] == "chip"]
    found = []
    for task in sorted(tasks, key=lambda task: task[1:]):
        if task[0] == "network":
            found += _ticks([task, *chip], lambda runs: runs == {"network"})
    return found


@question.visible(
    "bare",
    ([["network", 0, 3], ["chip", 3, 7], ["network", 5, 9]],),
    ([["network", 2, 8], ["chip", 4, 5], ["network", 6, 11], ["chip", 9, 10]],),
    ([["chip", 0, 6], ["network", 1, 5], ["network", 8, 9], ["chip", 7, 8]],),
    ([["network", 1, 3], ["network", 3, 6], ["chip", 10, 12]],),
    ([["network", 1, 9], ["network", 2, 4], ["chip", 5, 6]],),
    ([["chip", 0, 9], ["chip", 2, 4], ["network", 3, 12]],),
)
def check_bare(tasks):
    """Question 1: intervals in which only the network is busy."""
    asked = f"bare({tasks})"
    got = compare.entries(asked, student.call("bare", tasks), None)
    pairs = [
        [
            compare.whole_number(f"{asked}, interval {n}", at)
            for at in compare.entries(f"{asked}, interval {n}", pair, 2)
        ]
        for n, pair in enumerate(got)
    ]
    expected = _ticks(tasks, lambda runs: runs == {"network"})
    cuts = sorted({at for _, *ends in tasks for at in ends})
    pieces = [
        [a, b]
        for a, b in pairwise(cuts)
        if any(start <= a < end for start, end in expected)
    ]
    sums = {"chip": 0, "network": 0}
    for queue, start, end in tasks:
        sums[queue] += end - start
    rest = [[0, max(sums["network"] - sums["chip"], 0)]]
    likely = [
        (
            _ticks(tasks, lambda runs: "network" in runs),
            "yours are all times of the network, and arithmetic hides some",
        ),
        (
            _ticks(tasks, lambda runs: "chip" not in runs),
            "yours are all times in which the chip does nothing; in some of "
            "them the network does nothing, either",
        ),
        (_ticks(tasks, lambda runs: len(runs) == 2), "yours is what is hidden"),
        (
            _ticks(tasks, lambda runs: runs == {"chip"}),
            "yours is where the chip works alone; the network was asked for",
        ),
        (_one_by_one(tasks), "intervals that touch or overlap are one"),
        (pieces, "intervals that touch are one"),
        (rest, "you subtract sums, and sums know nothing of when"),
        (
            _until_the_last(tasks),
            "you take the end of the task that began last; a longer one that "
            "began before it may still run",
        ),
    ]
    compare.equal(
        asked,
        _words(pairs),
        _words(expected),
        likely=[(_words(wrong), sentence) for wrong, sentence in likely],
    )


def _until_the_last(tasks):
    """A mistake: joined tasks end when the one that began last ends."""
    joined = {"chip": [], "network": []}
    for queue, start, end in sorted(tasks, key=lambda task: task[1:]):
        if joined[queue] and start <= joined[queue][-1][1]:
            joined[queue][-1][1] = end
        else:
            joined[queue].append([start, end])
    pieces = [(queue, *ends) for queue in joined for ends in joined[queue]]
    return _ticks(pieces, lambda runs: runs == {"network"})


def _words(intervals):
    """Intervals as text, whatever their number."""
    return ", ".join(f"{start} to {end}" for start, end in intervals) or "none"


def _trace(draw, length):
    """Tasks of a device, some at the same time."""
    tasks = []
    for _ in range(length):
        queue = "network" if draw.integers(2) else "chip"
        start = int(draw.integers(0, 40))
        tasks.append([queue, start, start + int(draw.integers(1, 9))])
    return tasks


def grade_bare():
    """Question 1 on other traces."""
    draw = question.draw("bare")
    for length in (4, 8, 8, 12, 12, 20):
        check_bare(_trace(draw, length))


# --- 2: who kept the others waiting ------------------------------------------


def _played(arrivals, lasts, clocks):
    """What each process writes down, on its own clock.

    arrivals  for each collective, when each process would come to it after the
             one before has ended
    lasts    how long each collective takes once all are there
    clocks   what each clock shows when the first process starts
    """
    now, traces = 0, [[] for _ in clocks]
    for after, last in zip(arrivals, lasts, strict=True):
        comes = [now + wait for wait in after]
        now = max(comes) + last
        for trace, start, zero in zip(traces, comes, clocks, strict=True):
            trace.append([start + zero, now + zero])
    return traces


def _latest(arrivals):
    """Who came latest to which collective, and by how much."""
    late = [(max(after) - min(after), n) for n, after in enumerate(arrivals)]
    most, number = max(late)
    return [arrivals[number].index(max(arrivals[number])), number, most]


def _since_the_last(arrivals, whole):
    """Mistakes of who looks at the time since the collective before.

    whole  whether all of that time counts, and not the difference to the first
    """
    found = [
        (max(after) - (0 if whole else min(after)), n)
        for n, after in enumerate(arrivals)
    ]
    late, number = max(found[1:])
    return [arrivals[number].index(max(arrivals[number])), number, late]


@question.visible(
    "culprit",
    (([1, 9, 2], [3, 4, 3]), (2, 2), (0, 100, 40)),
    (([5, 3], [2, 14], [6, 2]), (20, 1, 3), (70, 0)),
    (([4, 4, 5, 4], [9, 2, 2, 3], [1, 1, 1, 3]), (1, 30, 2), (0, 9, 300, 5)),
    (([30, 28], [2, 7]), (4, 4), (10, 11)),
    (([1, 2, 8, 1], [3, 9, 3, 4], [1, 1, 2, 1]), (3, 7, 2), (0, 50, 9, 70)),
    # Process 0 is late again and again, and once process 1 is later than that.
    (([12, 2, 3], [10, 1, 2], [1, 15, 2]), (9, 5, 1), (40, 0, 90)),
)
def check_culprit(arrivals, lasts, clocks):
    """Question 2: who was latest, from traces on clocks of their own."""
    traces = _played(arrivals, lasts, clocks)
    asked = f"culprit({traces})"
    process, number, late = expected = _latest(arrivals)
    first = arrivals[number].index(min(arrivals[number]))
    bars = [
        (end - start, p, n)
        for p, trace in enumerate(traces)
        for n, (start, end) in enumerate(trace)
    ]
    longest, waits, where = max(bars)
    _, least, there = min(bars)
    times = [trace[there][1] - trace[there][0] for trace in traces]
    shown = [
        (max(t[n][0] for t in traces) - min(t[n][0] for t in traces), n)
        for n in range(len(lasts))
    ]
    apart, at = max(shown)
    starts = [trace[at][0] for trace in traces]
    zero = [[start - t[0][0] for start, _ in t] for t in traces]
    spread = [max(row) - min(row) for row in zip(*zero, strict=True)]
    row = [own[spread.index(max(spread))] for own in zero]
    behind = [[max(after) - x for x in after] for after in arrivals]
    total = [sum(x) for x in zip(*behind, strict=True)]
    slow = total.index(min(total))
    own = [after[slow] - min(after) for after in arrivals]
    pair, two = max(
        (abs(after[0] - after[1]), n) for n, after in enumerate(arrivals)
    )
    ranked = sorted(arrivals[number])
    likely = [
        ([first, number, late], "yours is who waited; the other one came late"),
        ([waits, where, longest], "the longest bar belongs to one that waits"),
        (
            [starts.index(max(starts)), at, apart],
            "you compare starts on clocks that differ",
        ),
        (
            [least, there, max(times) - min(times)],
            "the shortest bar of all may be in a collective for which nobody "
            "waited; compare bars of one collective",
        ),
        (
            [row.index(max(row)), spread.index(max(spread)), max(spread)],
            "you set the clocks by the first start, to which they came at "
            "different moments; all leave together",
        ),
        (
            [slow, own.index(max(own)), max(own)],
            "you take who is late by most in all; asked is who was latest to "
            "a single collective",
        ),
        (
            [int(arrivals[two][1] > arrivals[two][0]), two, pair],
            "you look at two processes, and there are more",
        ),
        ([number, process, late], "the process comes first, then the number"),
        ([process, number + 1, late], "you count collectives from 1"),
        (
            [process, number, late - (ranked[-2] - ranked[0])],
            "you measure from the one before the last; the first one counts",
        ),
        (
            [process, number, max(ranked) - sum(ranked) / len(ranked)],
            "you measure from the mean; the first one counts",
        ),
        (
            _since_the_last(arrivals, True),
            "you measure from the end of the collective before; asked is from "
            "when the first one was there",
        ),
        (
            _since_the_last(arrivals, False),
            "you leave out the first collective, in which all end together, "
            "too",
        ),
        (
            [process, number, late + lasts[number]],
            "you count the collective itself, too; the last one needs it, too",
        ),
    ]
    names = ("process", "number", "late")
    compare.equal(
        asked,
        student.call("culprit", traces),
        expected,
        likely=likely,
        names=names,
    )


def grade_culprit():
    """Question 2 with other processes."""
    draw = question.draw("culprit")
    for ranks, length in ((2, 3), (3, 4), (5, 5), (8, 6)):
        arrivals = draw.integers(1, 30, (length, ranks)).tolist()
        number, process = int(draw.integers(length)), int(draw.integers(ranks))
        arrivals[number][process] += 60
        lasts = draw.integers(1, 90, length).tolist()
        check_culprit(arrivals, lasts, draw.integers(0, 500, ranks).tolist())


# --- 3: a place for 70 billion -----------------------------------------------


def _held(Y, L, D, vocab, T):
    """Bytes of what lies on a chip beside the states, from shardings."""
    mesh = AbstractMesh((Y,), ("Y",), axis_types=(AxisType.Auto,))
    arrays = [
        ((L, T, D), P(None, "Y"), jnp.bfloat16),
        ((vocab, D), P("Y"), jnp.bfloat16),
        ((vocab, D), P("Y"), jnp.bfloat16),
        ((T, vocab), P(None, "Y"), jnp.float32),
    ]
    return count.held(
        [
            jax.ShapeDtypeStruct(
                shape, dtype, sharding=NamedSharding(mesh, spec)
            )
            for shape, spec, dtype in arrays
        ]
    )


def _placed(params, L, D, vocab, T, chips, hbm, most, way=""):
    """The least Y that fits and its bytes; `way` names a mistake."""
    powers = [2**n for n in range(most.bit_length())]
    if way == "one more":
        powers.append(2 * powers[-1])
    for Y in powers[way == "from two" :]:
        cut = chips // Y if way == "states over X" else chips
        beside = _held(1 if way == "nothing cut" else Y, L, D, vocab, T)
        beside -= {
            "": 0,
            "one table": Fraction(2 * vocab * D, Y),
            "half logits": Fraction(2 * T * vocab, Y),
            "one layer": Fraction(2 * (L - 1) * T * D, Y),
            "table whole": Fraction(4 * vocab * D, Y) - 4 * vocab * D,
            "logits whole": Fraction(4 * T * vocab, Y) - 4 * T * vocab,
            "long inputs": -Fraction(2 * L * T * D, Y),
            "long gradient": -Fraction(2 * vocab * D, Y),
            "14 bytes": Fraction(2 * params, chips),
            "over Y again": Fraction(16 * params, chips) * (1 - Fraction(1, Y)),
            "inputs whole": Fraction(2 * L * T * D, Y) - 2 * L * T * D,
        }.get(way, 0)
        total = Fraction(16 * params, cut) + beside
        if total <= hbm:
            return [Y, float(total)]
    return [0, 0.0]


_70B = (70_553_706_496, 80, 8192, 128_256)
_V5P, _H100, _V5E = (int(c.hbm_bytes) for c in (hw.V5P, hw.H100, hw.V5E))


@question.visible(
    "place",
    (*_70B, 1024, 4096, _V5P, 16),
    (*_70B, 8192, 64, _V5P, 16),
    (*_70B, 8192, 64, _H100, 8),
    (*_70B, 32_768, 256, _H100, 8),
    (*_70B, 65_536, 1024, _H100, 8),
    (*_70B, 65_536, 32, _V5P, 16),  # three would be enough
    (*_70B, 8192, 256, _V5E, 16),
    (*_70B, 131_072, 256, _H100, 8),
    (*_70B, 8192, 32, _H100, 8),
    (*_70B, 1024, 4096, 1_100_000_000, 8),
    (4000, 2, 16, 64, 8, 16, 5664, 4),
    (4000, 2, 16, 64, 8, 16, 5663, 4),  # 4 is not enough, and is the most
    (*_70B, 65_536, 32, _V5P, 2),
)
def check_place(params, L, D, vocab, T, chips, hbm, most):
    """Question 3: the least TP with which a step fits, and its bytes."""
    how = (params, L, D, vocab, T, chips, hbm, most)
    asked = f"place{how}"
    got = compare.numbers(asked, student.call("place", *how), 2)
    Y, total = _placed(*how)
    mistakes = {
        "one more": "Y is at most `most`; where nothing fits it is [0, 0]",
        "from two": "a chip alone, Y = 1, may be enough",
        "table whole": "Y cuts the table and its gradient, too",
        "logits whole": "Y cuts the logits, too",
        "long inputs": "the inputs are in bf16",
        "long gradient": "the table's gradient is in bf16",
        "14 bytes": "16 bytes a parameter are asked for",
        "over Y again": "`chips` are all chips; Y is among them",
        "states over X": "states are cut over all chips, also over Y",
        "nothing cut": "Y cuts all but the states",
        "one table": "the table has a gradient, as large as itself",
        "half logits": "logits are in float32",
        "one layer": "the inputs of all layers are kept",
        "inputs whole": "sequence parallelism cuts the inputs, too",
    }
    found = {way: _placed(*how, way) for way in mistakes}
    tight = _placed(*how[:-2], hbm - Fraction(1, 10**6), most)
    compare.equal(
        f"{asked}, Y",
        compare.whole_number(f"{asked}, Y", got[0]),
        Y,
        likely=[
            (tight[0], "a chip may be full to the last byte"),
            *_mistaken_ways(Y, most, _any_way(*how), found, mistakes),
        ],
    )
    compare.close(
        f"{asked}, bytes",
        got[1],
        total,
        likely=[(found[way][1], said) for way, said in mistakes.items()],
    )


def _any_way(params, L, D, vocab, T, chips, hbm, most):
    """A mistake: the least Y, be it no power of two."""
    for Y in range(1, most + 1):
        cut = 2 * L * T * D + 4 * vocab * D + 4 * T * vocab
        if Fraction(16 * params, chips) + Fraction(cut, Y) <= hbm:
            return Y
    return 0


def _mistaken_ways(Y, most, least, found, mistakes):
    """Y that mistakes give; where several give one, all of them are named."""
    said = {}
    for way, sentence in mistakes.items():
        if found[way][0] != Y:
            said.setdefault(found[way][0], []).append(sentence)
    pairs = [(least, "Y is a power of two")] if least != Y else []
    said.pop(0, None)
    if Y:
        words = "some Y fits: try up to `most` itself, and see what you count"
        pairs.append((0, words))
    pairs += [(ways, "; or: ".join(lines)) for ways, lines in said.items()]
    return [*pairs, (most, "a smaller Y is enough")]


def grade_place():
    """Question 3 with other models and machines."""
    draw = question.draw("place")
    for hbm in (_V5P, _H100, _V5E, _H100):
        T = 1024 * 2 ** int(draw.integers(0, 8))
        chips = 2 ** int(draw.integers(5, 11))
        check_place(*_70B, T, chips, hbm, 2 ** int(draw.integers(2, 5)))
    L, D, vocab, T = (16 * int(n) for n in draw.integers(2, 9, 4))
    held = _held(4, L, D, vocab, T) + 16 * 1600 // 16  # to the byte
    check_place(1600, L, D, vocab, T, 16, held, 8)
    check_place(1600, L, D, vocab, T, 16, held - 1, 4)


# --- 4: one axis after the other ---------------------------------------------


def _carried(shape, order, V):
    """Bytes on the busiest link of each axis, piece by piece."""
    places = list(places_of(*map(range, shape)))
    piece, found = V // prod(shape), [0] * len(shape)
    has = {place: {place} for place in places}
    for axis in order:
        links = dict.fromkeys(places, 0)
        passes = dict(has)
        for _ in range(shape[axis] - 1):
            arrives = {}
            for place, sent in passes.items():
                onward = list(place)
                onward[axis] = (place[axis] + 1) % shape[axis]
                arrives[tuple(onward)] = sent
                links[place] += len(sent) * piece
            has = {place: has[place] | arrives[place] for place in places}
            passes = arrives
        found[axis] = max(links.values())
    return found


@question.visible(
    "loads",
    ((4, 4, 4), (0, 1, 2), 6400),
    ((2, 3, 4), (2, 0, 1), 240),
    ((4, 2), (1, 0), 80),
    ((5,), (0,), 100),
    ((2, 2, 3, 2), (3, 1, 0, 2), 480),
)
def check_loads(shape, order, V):
    """Question 4: bytes over a link of each axis."""
    asked = f"loads({tuple(shape)}, {tuple(order)}, {V})"
    right = _carried(shape, order, V)
    whole = [V * (prod(shape) - 1) // (prod(shape) * len(shape))] * len(shape)
    alone = [(n - 1) * V // prod(shape) for n in shape]
    all_of_it = [(n - 1) * V // n for n in shape]
    third = [V / len(shape)] * len(shape)
    grown = [b // (n - 1) * n for b, n in zip(right, shape, strict=True)]
    wheres = [list(order).index(axis) for axis in range(len(shape))]
    likely = [
        (third, "the axes do not carry alike: pieces grow on the way"),
        (grown, "a chip is not sent what it has: n - 1 pieces, not n"),
        (
            [b * prod(shape) for b in right],
            "a chip starts with one piece, not with V; and it is one link of "
            "an axis, not all",
        ),
        (
            [b / 2 for b in right],
            "the rings go in one direction, so nothing is halved",
        ),
        (
            _carried(shape, wheres, V),
            "`order` names the axis that is next, not the turn of each axis",
        ),
        (_carried(shape, order[::-1], V), "you go along the axes backwards"),
        ([right[axis] for axis in order], "give them in the order of `shape`"),
        (_carried(shape, range(len(shape)), V), "you do not follow `order`"),
        (whole, "the axes do not carry alike: pieces grow on the way"),
        (alone, "a chip passes on all that it has from the axes before"),
        (all_of_it, "only the last axis carries pieces of nearly all of V"),
    ]
    names = [f"bytes of axis {n}" for n in range(len(shape))]
    compare.equal(
        asked,
        student.call("loads", shape, order, V),
        right,
        likely=[pair for pair in likely if list(pair[0]) != right],
        names=names,
    )


def grade_loads():
    """Question 4 on other tori."""
    draw = question.draw("loads")
    for axes in (2, 3, 3, 4):
        shape = tuple(draw.integers(2, 5, axes).tolist())
        order = tuple(draw.permutation(axes).tolist())
        check_loads(shape, order, prod(shape) * int(draw.integers(1, 9)))


# --- 5: two slices, or more --------------------------------------------------


@cache
def _work(S, X):
    """FLOPs of backward for a token of a chip, and bytes that cross."""
    mesh = AbstractMesh((S, X), ("P", "X"), axis_types=(AxisType.Auto,) * 2)
    module = pods.across(import_module("shardlab.strategies.fsdp"))
    D, F = 4 * X, 12 * X
    flops = []
    for tokens in (1, 2):  # of each chip
        given = block.arguments(module, mesh, tokens * S * X, D, F)
        step = block.gradients(module, mesh)
        ahead = count.flops(block.forward(module, mesh), given[0], *given[2:])
        flops.append(count.flops(step, *given) - ahead)
        moved = count.collectives(step, *given)
    crosses = sum(
        Fraction(c.sent).limit_denominator(S) * c.times
        for c in moved
        if c.axes == ("P",)
    )
    return Fraction(flops[1] - flops[0]), crosses


def _tokens(S, X, C, W):
    """Tokens of a chip at which crossing takes as long as backward."""
    flops, crosses = _work(S, X)
    return (crosses / W) / (flops / C)


TOKENS = (
    (
        "2*(S - 1)*C/(S*X*W)",
        "yours is twice that: backward has four matmuls, and bf16 two bytes",
    ),
    ("(S - 1)*C/(S*W)", "each chip crosses with its own piece, not with all"),
    ("C/(X*W)", "a ring of S does not send all of an AllReduce twice"),
    ("(S - 1)*C/(2*S*X*W)", "yours is half: two matrices, two bytes, twice"),
    ("(S - 1)*C/(X*W)", "a chip sends (S - 1)/S of its piece, not S - 1"),
    ("S*X*W/((S - 1)*C)", "yours is upside down"),
    ("(S - 1)*C/W", "yours is for a whole slice or more, not for one chip"),
    ("(X - 1)*C/(S*X*W)", "the ring that matters joins slices, not chips"),
    ("(S - 1)*C/(3*S*X*W/2)", "forward hides nothing; backward has 8bDF FLOPs"),
)


@question.visible(
    "tokens", ((2, 4, 60, 7), (3, 2, 90, 11), (4, 4, 30, 13), (2, 8, 1000, 3))
)
def check_tokens(*points):
    """Question 5: tokens of each chip, at points (S, X, C, W)."""
    compare.formula(
        "tokens",
        student.expression("tokens"),
        "S X C W",
        _tokens,
        points,
        closed=True,
        likely=TOKENS,
    )


def grade_tokens():
    """Question 5 at other points."""
    draw = question.draw("tokens")
    points = [
        (*draw.integers(2, 60, 2).tolist(), *draw.integers(2, 500, 2).tolist())
        for _ in range(4)
    ]
    check_tokens(*points)


# --- 6: what it believes -----------------------------------------------------


def _estimate(B, D, F, C, M):
    """Seconds of a product for somebody who believes in C and M."""
    shapes = ((B, D), (D, F), (B, F))
    moved = sum(
        x.size * x.dtype.itemsize
        for x in (jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in shapes)
    )
    return max(count.flops(jnp.matmul, *_pair(B, D, F)) / C, moved / M)


def _pair(B, D, F):
    return [
        jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((B, D), (D, F))
    ]


def _knee(D, F, C, M):
    """The batch at which both times are equal, by bisection."""
    low, high = 1e-3, 1e9
    for _ in range(200):
        B = (low * high) ** 0.5
        late = 2 * B * D * F / C < 2 * (B * D + D * F + B * F) / M
        low, high = (B, high) if late else (low, B)
    return low


@question.visible(
    "believed",
    (8192, 8192, 1.7e14, 7.4e11, 900),
    (4096, 16_384, 3.6e14, 2.3e12, 40),
    (2048, 1024, 9e14, 3e12, 1200),
)
def check_believed(D, F, C, M, between):
    """Question 6: FLOP/s, bytes/s and the knee, from a compiler's estimates."""
    batches = (4, between, 65_536)
    points = [[B, _estimate(B, D, F, C, M)] for B in batches]
    asked = f"believed for D, F = {D}, {F}"
    got = compare.numbers(asked, student.call("believed", points, D, F), 3)
    few, many = points[0], points[-1]
    right = (C, M, _knee(D, F, C, M))
    mistakes = (
        (
            (C / 2, "a multiply-add is two FLOPs"),
            (M, "the FLOP/s come first, then the bytes/s"),
            (
                2 * points[1][0] * D * D / points[1][1],
                "W is not square: D and F differ",
            ),
            (2 * many[0] * D * D / many[1], "W is not square: D and F differ"),
            (2 * many[0] * F * F / many[1], "W is not square: D and F differ"),
            (2 * few[0] * D * F / few[1], "the first point waits for memory"),
        ),
        (
            (M / 2, "an element of bf16 has two bytes"),
            (2 * M, "an element of bf16 has two bytes, not four"),
            (
                2 * (points[1][0] * (D + F) + D * F) / points[1][1],
                "a point in the middle may wait for arithmetic; the first "
                "waits for memory",
            ),
            (2 * D * F / few[1], "In is read and the result written, too"),
            (
                2 * (few[0] * D + D * F) / few[1],
                "the result is written to memory, too",
            ),
            (
                2 * (many[0] * (D + F) + D * F) / many[1],
                "the last point waits for arithmetic",
            ),
        ),
        (
            (C / M, "yours is C/M; a larger batch moves more, too"),
            (
                1 / (M / C + 1 / D + 1 / F),
                "activations make the knee later, not earlier",
            ),
            (
                D * F / (D * F * M / C - D),
                "the result is written to memory, too",
            ),
            (2 * C / M, "2BDF FLOPs stand against two bytes an element"),
            (
                D * F / (D * F * M / C - 2 * D),
                "the activations are D and F wide, not twice D",
            ),
            (
                D * F / (D * F * M / C - 2 * F),
                "the activations are D and F wide, not twice F",
            ),
            (D / (D * M / C - 2), "W is not square: D and F differ"),
            (points[1][0], "the knee lies between the points"),
            (
                -(-right[2] // 1),
                "you round up; the knee is a real number",
            ),
        ),
    )
    names = ("FLOP/s", "bytes/s", "knee")
    for name, one, model, likely in zip(
        names, got, right, mistakes, strict=True
    ):
        compare.close(f"{asked}: {name}", one, model, likely=likely)


def grade_believed():
    """Question 6 with other chips."""
    draw = question.draw("believed")
    for between in (30, 50, 700, 2000):
        D, F = (256 * int(n) for n in draw.integers(8, 64, 2))
        C = float(draw.uniform(1e14, 9e14))
        M = C / float(draw.uniform(100, 300))
        check_believed(D, F, C, M, between)
