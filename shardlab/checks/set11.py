"""Set 11, pipelines: who waits when, what a stage holds, and what is sent.

Schedules are played by `shardlab.pipeline`; gradients are chain rules in whole
numbers on one device; traffic is counted in the programs handed in.
"""

import functools
import heapq
import itertools
from collections import Counter, defaultdict, deque
from fractions import Fraction

import jax
import numpy as np
from jax import P

from shardlab import pipeline
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import NotAnswered, WrongAnswer

__all__ = [
    "check_best",
    "check_filled",
    "check_formulas",
    "check_forward",
    "check_halves",
    "check_legal",
    "check_narrow",
    "check_order",
    "check_plans",
    "check_repaired",
    "check_zigzag",
    "grade_best",
    "grade_formulas",
    "grade_forward",
    "grade_halves",
    "grade_legal",
    "grade_order",
    "grade_repaired",
    "grade_zigzag",
]

WHOLE = {"F": "forward", "B": "backward"}
HALVES = {"F": "forward", "B": "input", "W": "weight"}


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


# --- a backward pass, on devices ---------------------------------------------


def _forward(x, weights):
    """What goes into each stage, and what the last one makes."""
    kept = [x.astype(float)]
    for W in weights:
        kept.append(np.maximum(kept[-1] @ W, 0))
    return kept


def _gradients(x, weights, scale=1, made=None, alone=False):
    """dW of each stage by the chain rule.

    scale   of the loss
    made    "all" where a stage takes what it made for what went into it,
            "factor" where it does so in the gradient alone
    alone   whether each stage takes the gradient of the loss for its own
    """
    kept, found = _forward(x, weights), []
    dy = scale * kept[-1]
    for k in reversed(range(len(weights))):
        into = kept[k + 1] if made == "all" else kept[k]
        factor = kept[k + 1] if made else kept[k]
        dz = dy * (into @ weights[k] > 0)
        found.insert(0, factor.T @ dz)
        dy = kept[-1] if alone else dz @ weights[k].T
    return np.stack(found)


def _refuse_sent_weights(answer, asked, weights):
    """Insist on permutes alone, and that no weight is gathered."""
    kinds = answer.kinds()
    if answer.gathered(of=weights) > 0:
        raise WrongAnswer(
            f"{asked}: you gather weights; in a pipeline they stay where they "
            "are"
        )
    if "all_reduce" in kinds:
        raise WrongAnswer(
            f"{asked}: you use a psum, which hands everything to everybody; "
            "in a pipeline only neighbours talk"
        )
    answer.allow("ppermute")


def _crossing(answer, asked, message):
    """Messages over each boundary, {(from, to): number}; raises WrongAnswer."""
    found = Counter()
    for c in answer.collectives():
        if c.volume != message:
            raise WrongAnswer(
                f"{asked}: you send a message of {c.volume:g} bytes; what "
                f"goes from stage to stage has {message}"
            )
        for pair in program.pairs(asked, c):
            found[pair] += c.times
    return found


def _refuse_other_ways(asked, crossing, p):
    """Each boundary is crossed once each way, and nothing else is."""
    for (a, b), times in sorted(crossing.items()):
        if abs(a - b) != 1:
            raise WrongAnswer(
                f"{asked}: your stage {a} sends to stage {b}, which is no "
                "neighbour on the line"
            )
        if times > 1:
            raise WrongAnswer(
                f"{asked}: your stage {a} sends {times} times to stage {b}; "
                "one message is enough, an activation down or a gradient up"
            )
    for s in range(p - 1):
        for a, b, what in ((s, s + 1, "activation"), (s + 1, s, "gradient")):
            if not crossing[a, b]:
                raise WrongAnswer(
                    f"{asked}: your stage {a} never sends stage {b} "
                    f"{'an' if what[0] == 'a' else 'a'} {what}"
                )


def _weights(draw, p, D):
    """W[p, D, D] in small whole numbers, which lose little on their way."""
    W = draw.integers(-1, 2, (p, D, D)) * (draw.random((p, D, D)) < 0.6)
    return (W + np.eye(D)).astype(np.float32)


def _batch(seed, p, b, D):
    """In[b, D] and W[p, D, D] for which no stage has a gradient of zeros."""
    for n in itertools.count():
        draw = np.random.default_rng([seed, p, n])
        In = draw.integers(-2, 4, (b, D)).astype(np.float32)
        W = _weights(draw, p, D)
        if _gradients(In, W).any(axis=(1, 2)).all():
            return In, W


@question.visible("gradient", (4, 3, 5), (2, 4, 3), (5, 2, 4))
def check_repaired(p, b, D, seed=0):
    """Question 1: gradients of the weights of p stages, each at its place.

    p, b, D  stages, rows of the batch, and width
    seed     of the arrays
    """
    batch, W = _batch(seed, p, b, D)
    In = np.concatenate([batch, np.zeros(((p - 1) * b, D), np.float32)])
    asked = f"gradient on {p} stages"
    request = program.request(
        In, W, mesh={"Z": p}, in_specs=P("Z"), out_specs=P("Z")
    )
    answer = student.program("gradient", request)
    _refuse_sent_weights(answer, asked, (1,))
    crossing = _crossing(answer, asked, 4 * b * D)
    exact = _gradients(batch, W)
    likely = [
        (
            _gradients(batch, W, made="all"),
            "you take what a stage made for what went into it",
        ),
        (
            _gradients(batch, W, made="factor"),
            "you take what a stage made for what went into it",
        ),
        (
            _gradients(batch, W, alone=True),
            "each of your stages takes the loss's gradient for its own",
        ),
        (
            _gradients(batch, W, scale=2 / b / D),
            "your loss is a mean; it is half a sum",
        ),
        (2 * exact, "your loss is a sum; it is half a sum"),
        (-exact, "yours have the other sign"),
        (W - 0.01 * exact, "you take a step; the gradient was asked for"),
        (-0.01 * exact, "you return a step, not a gradient"),
    ]
    for k in range(1, p):
        other = exact.copy()
        other[:k] = 0
        likely.append(
            (other, f"your gradient does not come back beyond stage {k}")
        )
    got = answer.run(In, W)
    if compare.near(got, 0 * exact, 0):
        raise WrongAnswer(
            f"{asked}: yours are all zeros: does your loop back ever run?"
        )
    _refuse_other_ways(asked, crossing, p)
    compare.close(
        asked,
        got,
        exact,
        terms=4 * p * D,
        likely=likely,
        show=True,
        place=compare.on_devices(1),
    )


def grade_repaired():
    """Question 1 on other stages."""
    for p in (2, 3, 8):
        draw = question.draw(f"repaired on {p}")
        b, D = draw.integers(2, 7, 2).tolist()
        check_repaired(p, b, D, _seed(draw))


# --- formulas ----------------------------------------------------------------


def _slowed(p, m, slow, q):
    """When 1F1B ends, if one stage takes q times as long."""
    times = [q if s == slow % p else 1 for s in range(p)]
    events = pipeline.one_f_one_b(p, m, times, [2 * each for each in times])
    return pipeline.makespan(events)


def _locked(p, m, t):
    """When 1F1B ends in lockstep."""
    events = pipeline.one_f_one_b(p, m, 1, t)
    return pipeline.makespan(pipeline.lockstep(events, pipeline.routes(p, m)))


@question.visible(
    "locked, last and first",
    ([(4, 8, 2), (3, 5, 3), (2, 4, 5), (3, 5, 2)],),
)
def check_formulas(points):
    """Question 2: three formulas, at points (p, m, t or q)."""
    points = [tuple(point) for point in points]
    compare.formula(
        "locked",
        student.expression("locked"),
        "p m t",
        _locked,
        points,
        likely=[
            ("(1 + t)*(m + p - 1)", "yours is asynchronous"),
            (
                "2*t*(m + p - 1)",
                "you let each tick take t; while the first microbatch goes "
                "down nobody has a backward",
            ),
            (
                "p - 1 + (2*m + p - 1)*t",
                "you count one short tick too few: the last stage has a "
                "forward too, before its first backward",
            ),
            ("t*m + m + p - 1", "you forget the ticks at the end"),
        ],
    )
    slower = [
        ("3*(m + p - 1)", "you let the slow stage hold up nobody"),
        ("3*q*(m + p - 1)", "you slow down all stages"),
        (
            "3*(m + p - 1) + 3*(q - 1)",
            "you wait once; everybody waits in every microbatch",
        ),
        ("3*q*m", "you leave out the way to the slow stage and back"),
    ]
    compare.formula(
        "last",
        student.expression("last"),
        "p m q",
        lambda p, m, q: _slowed(p, m, -1, q),
        points,
        likely=slower,
    )
    compare.formula(
        "first",
        student.expression("first"),
        "p m q",
        lambda p, m, q: _slowed(p, m, 0, q),
        points,
        likely=[
            (
                "3*q*m + 3*(p - 1)",
                "you take it for the mirror image of the last stage, but it "
                "has forwards to do while others work on its first",
            ),
            (
                "3*q*m + (p - 1)*(3 - q)",
                "and if it has no time to wait at all?",
            ),
            (
                "3*q*m + Max(0, 3*(3 - q))",
                "that is right for four stages; how many lie below the first?",
            ),
            *slower,
        ],
    )


def grade_formulas():
    """Question 2 at other points."""
    draw = question.draw("formulas").integers
    for _ in range(2):
        stages = [int(p) for p in draw(2, 7, 3)]
        check_formulas(
            [(p, p + int(draw(0, 8)), int(draw(2, 7))) for p in stages]
        )


# --- orders ------------------------------------------------------------------


def _tasks(asked, got, kinds, m):
    """Texts such as F3 as tasks of the simulator, each exactly once."""
    if isinstance(got, str):
        got = got.split()
    got = compare.entries(asked, got, None)
    for task in got:
        if not isinstance(task, str):
            compare.wrong(asked, got, "expected texts such as F0")
    wanted = [f"{kind}{i}" for kind in kinds for i in range(m)]
    for task in got:
        if task not in wanted:
            said = f"your {compare.shown(task)} is no task of {m} microbatches"
            raise WrongAnswer(f"{asked}: {said}")
    for task in wanted:
        if task not in got:
            raise WrongAnswer(f"{asked}: you never do {task}")
        if got.count(task) > 1:
            times = got.count(task)
            raise WrongAnswer(f"{asked}: you do {task} {times} times")
    return [(kinds[task[0]], int(task[1:]), 0) for task in got]


def _played(asked, orders, m, lasts, hop=0):
    """The events of these orders; WrongAnswer where stages wait for ever."""
    try:
        return pipeline.play(
            orders, pipeline.routes(len(orders), m), lasts, hop
        )
    except ValueError as reason:
        said = str(reason).split("other: ")[-1]
        raise WrongAnswer(
            f"{asked}: your stages wait for each other for ever, {said}"
        ) from None


@question.visible("order", (4, 8), (3, 5), (2, 1), (5, 3), (1, 3))
def check_order(p, m):
    """Question 3: the orders of all stages, with a hop of one forward."""
    asked, lasts = f"order(s, {p}, {m})", {"forward": 1, "backward": 2}
    orders = []
    for s in range(p):
        one = f"order({s}, {p}, {m})"
        got = compare.entries(one, student.call("order", s, p, m), None)
        orders.append(_tasks(one, got, WHOLE, m))
    events = _played(asked, orders, m, lasts, hop=1)
    held = pipeline.in_flight(events)
    for s in range(p):
        if held[s] > 2 * (p - s) - 1:
            gpipe = held[s] == m
            raise WrongAnswer(
                f"{asked}: your stage {s} holds {held[s]} microbatches at a "
                "time, and fewer are enough"
                + (": all forwards first is GPipe" if gpipe else "")
            )
    end = pipeline.makespan(events)
    target = pipeline.makespan(pipeline.gpipe(p, m, 1, 2, 1))
    before = pipeline.makespan(pipeline.one_f_one_b(p, m, 1, 2, 1))
    if end > target:
        as_before = " as 1F1B does" if end == before else ""
        raise WrongAnswer(
            f"{asked}: you end after {end} units{as_before}, GPipe after "
            f"{target}; where does a stage run too few forwards ahead, or the "
            "wrong task first?"
        )


def grade_order():
    """Question 3 with other stages."""
    draw = question.draw("order").integers
    for _ in range(5):
        check_order(int(draw(2, 8)), int(draw(1, 14)))


def _puzzle(name, kinds, p, m, room, target):
    """A puzzle: orders for p stages that fit and end early enough."""
    got = compare.entries(name, student.value(name), p)
    if not any(got):
        raise NotAnswered(f"{name} has no answer yet")
    orders = [
        _tasks(f"stage {s} of {name}", order, kinds, m)
        for s, order in enumerate(got)
    ]
    lasts = {kind: 1 + (kind == "backward") for kind in kinds.values()}
    events = _played(name, orders, m, lasts)
    held, end = pipeline.in_flight(events), pipeline.makespan(events)
    for s in range(p):
        if held[s] > room:
            until = "W is done" if "W" in kinds else "B is done"
            raise WrongAnswer(
                f"{name}: your stage {s} holds {held[s]} microbatches at a "
                f"time, and has room for {room}; one is held until its {until}"
            )
    if end > target:
        raise WrongAnswer(
            f"{name}: yours ends after {end} units, and {target} can be had; "
            "draw it with `sketch`: which gradient does a stage above wait for?"
        )


@question.visible("narrow", (4, 4, 2, 27), hidden=False)
def check_narrow(p, m, room, target):
    """Question 5: a puzzle with whole backwards."""
    _puzzle("narrow", WHOLE, p, m, room, target)


@question.visible("filled", (3, 4, 2, 17), hidden=False)
def check_filled(p, m, room, target):
    """Question 8: a puzzle with halves."""
    _puzzle("filled", HALVES, p, m, room, target)


# --- schedules that can happen, or not ---------------------------------------


def _late(p, m, forward, backward, hop):
    """One microbatch there and back, and then all others together."""
    order = [("forward", 0, 0), ("backward", 0, 0)]
    for kind in ("forward", "backward"):
        order += [(kind, i, 0) for i in range(1, m)]
    lasts = {"forward": forward, "backward": backward}
    return pipeline.play([order] * p, pipeline.routes(p, m), lasts, hop)


BUILDERS = {
    "naive": pipeline.naive,
    "GPipe": pipeline.gpipe,
    "1F1B": pipeline.one_f_one_b,
    "late": _late,
}


def _plain(events):
    """Events of the simulator as lists."""
    return [[e.stage, e.kind[0].upper(), *e[2:5]] for e in events]


def _on_wires(orders, lasts, hop):
    """Events of stages that do their tasks in order, as early as they can.

    orders  tasks of each stage, pairs of kind and microbatch
    lasts   how long a kind of task takes
    hop     how long a message takes; a wire carries one at a time
    """
    p, at, events = len(orders), [0] * len(orders), []
    free, came, ends, busy = [0] * p, {}, {}, {}
    while any(n < len(order) for n, order in zip(at, orders, strict=True)):
        for s, order in enumerate(orders):
            if at[s] == len(order):
                continue
            kind, i = order[at[s]]
            first = s == (0 if kind == "F" else p - 1)
            needs = [came.get((s, kind, i), 0 if first else None)]
            if kind == "B":
                needs.append(ends.get((s, i)))
            if None in needs:
                continue
            start = max(free[s], *needs)
            free[s] = end = start + lasts[kind]
            at[s] += 1
            events.append([s, kind, i, start, end])
            if kind == "F":
                ends[s, i] = end
            to = s + 1 if kind == "F" else s - 1
            busy[s, to] = max(busy.get((s, to), 0), end) + hop
            came[to, kind, i] = busy[s, to]
    return events


def _arrivals(events, hop):
    """When each message arrives, {(stage, kind, microbatch): time}.

    A simulated clock: where work ends its message waits for its wire, and a
    wire that is free takes the message that has waited longest.
    """
    clock = [(end, 1, s, kind, i) for s, kind, i, _, end in events]
    heapq.heapify(clock)
    waiting, idle, came = defaultdict(deque), defaultdict(lambda: True), {}
    while clock:
        now, ends, s, kind, i = heapq.heappop(clock)
        wire = s, kind
        if ends:
            waiting[wire].append(i)
        else:
            came[s + 1 if kind == "F" else s - 1, kind, i] = now
            idle[wire] = True
        if idle[wire] and waiting[wire]:
            message = waiting[wire].popleft()
            heapq.heappush(clock, (now + hop, 0, s, kind, message))
            idle[wire] = False
    return came


def _why_not(events, p, m, hop, room):
    """Why a schedule cannot happen, or None where it can."""
    times = Counter((s, kind, i) for s, kind, i, *_ in events)
    for s, kind, i in itertools.product(range(p), "FB", range(m)):
        if times[s, kind, i] != 1:
            often = "twice" if times[s, kind, i] else "missing"
            return f"{kind}{i} of stage {s} is {often}"
    ends = {(s, i): end for s, kind, i, _, end in events if kind == "F"}
    came, free = _arrivals(events, hop), [0] * p
    for s, kind, i, start, end in sorted(events, key=lambda e: e[3]):
        task = f"{kind}{i} of stage {s} starts at {start:g}"
        if start < free[s]:
            return f"{task}, and the stage is busy until {free[s]:g}"
        free[s] = end
        if start < came.get((s, kind, i), 0):
            return f"{task}, and what it needs comes at {came[s, kind, i]:g}"
        if kind == "B" and start < ends[s, i]:
            return f"{task}, before its forward has ended"
    for s in range(p):
        moments = [
            (start, 1) if kind == "F" else (end, -1)
            for k, kind, _, start, end in events
            if k == s
        ]
        held = itertools.accumulate(step for _, step in sorted(moments))
        if (most := max(held)) > room:
            return f"stage {s} holds {most} microbatches at a time"
    return None


def _changed(events, step):
    """Pairs (what was changed, other events), with one thing changed."""
    last = max(e[4] for e in events)
    for n, (stage, kind, i, start, end) in enumerate(events):
        rest, name = events[:n] + events[n + 1 :], f"{kind}{i} of stage {stage}"
        yield f"without {name}", rest
        after = [stage, kind, i, last, last + end - start]
        yield f"{name} once more", [*events, after]
        yield f"{name} at the end", [*rest, after]
        for by in (-step, step):
            if start + by >= 0:
                moved = [stage, kind, i, start + by, end + by]
                word = "earlier" if by < 0 else "later"
                yield f"{name} {step:g} {word}", [*rest, moved]
        for other in range(n):
            two = [list(e) for e in events]
            two[n][2], two[other][2] = two[other][2], two[n][2]
            if two[n][2] != i:
                yield f"{name} and another with numbers exchanged", two


def _ask_legal(words, events, p, m, hop, room):
    """Ask about one list of events."""
    reason = _why_not(events, p, m, hop, room)
    if reason is None:
        said = (
            "you refuse a schedule that can happen, and lacks nothing. Which "
            f"of its events do you refuse?\n{events}"
        )
    else:
        said = f"you take what cannot be: {reason}"
    compare.equal(
        f"legal({words}, {p}, {m}, {hop:g}, {room})",
        student.call("legal", events, p, m, hop, room),
        reason is None,
        likely=[(reason is not None, said)],
    )


@question.visible(
    "legal",
    ("GPipe", 2, 3, 2, 3, 1, 1),
    ("1F1B", 3, 4, 2, 3, 1, 2),
    ("1F1B", 2, 3, 3, 3, 1, 1),
    ("naive", 2, 2, 0.5, 1, 0.5, 0.5),
    ("GPipe", 1, 2, 3, 2, 1, 1),
    ("late", 1, 3, 1, 2, 1, 1),
)
def check_legal(name, p, m, hop, room, forward, backward, seed=0):
    """Question 4: a schedule, and all that one change makes of it.

    name               of the schedule
    p, m               its stages and microbatches
    hop, room          as in the question
    forward, backward  how long these take
    seed               of the order in which events come
    """
    free = _plain(BUILDERS[name](p, m, forward, backward, hop))
    instant = _plain(BUILDERS[name](p, m, forward, backward, 0))
    orders = [
        [(e[1], e[2]) for e in sorted(instant, key=lambda e: e[3]) if e[0] == s]
        for s in range(p)
    ]
    lasts = {"F": forward, "B": backward}
    events = _on_wires(orders, lasts, hop)
    for other in (room, room - 1, m):
        if other:
            _ask_legal(name, events, p, m, hop, other)
    mirrored = [[e[0], e[1], m - 1 - e[2], *e[3:]] for e in events]
    _ask_legal(f"{name}, last microbatch first", mirrored, p, m, hop, room)
    if hop:
        words = f"{name}, as if a wire carried all at once"
        _ask_legal(words, free, p, m, hop, room)
        hasty = _on_wires(orders, lasts, hop / 2)
        _ask_legal(f"{name}, hops too short", hasty, p, m, hop, room)
    draw = np.random.default_rng(seed)
    for words, changed in _changed(events, forward):
        mixed = [changed[n] for n in draw.permutation(len(changed))]
        _ask_legal(f"{name} {words}", mixed, p, m, hop, room)


def grade_legal():
    """Question 4 with other schedules."""
    draw = question.draw("legal").integers
    for name in BUILDERS:
        p, m, hop = int(draw(2, 4)), int(draw(2, 4)), float(draw(0, 6)) / 2
        times = int(draw(1, 3)), int(draw(1, 4))
        check_legal(name, p, m, hop, int(draw(1, m + 1)), *times, int(draw(99)))


# --- layers in a zigzag ------------------------------------------------------


def _walked(L, p, v, step=None):
    """Layers of each stage and hops, by walking to and fro."""
    stages, hops, at, way = [[] for _ in range(p)], 0, 0, 1
    sizes = [L // (p * v)] * (p * v)
    for n in range(L % (p * v)):
        sizes[n] += 1
    layers = iter(range(L))
    for size in sizes:
        stages[at] += [next(layers) for _ in range(size)]
        if step == "round":
            at = (at + 1) % p
        elif 0 <= at + way < p:
            at += way
        else:
            way = -way
    places = [s for layer in range(L) for s in range(p) if layer in stages[s]]
    for here, there in zip(places, places[1:], strict=False):
        hops += here != there
    return stages, hops


@question.visible(
    "zigzag", (9, 2, 2), (12, 3, 2), (17, 3, 3), (5, 1, 2), (11, 4, 2)
)
def check_zigzag(L, p, v):
    """Question 6: the layers of each stage, and hops."""
    asked, (stages, hops) = f"zigzag({L}, {p}, {v})", _walked(L, p, v)
    got = compare.entries(asked, student.call("zigzag", L, p, v), 2)
    names = [f"list of stage {s}" for s in range(p)]
    parts = np.array_split(np.arange(L), p)
    late = [[x] for x in range(L)]
    n = L // (p * v)
    even = [[k for c in range(v) for k in _part(c, s, p, n)] for s in range(p)]
    compare.equal(
        f"the stages of {asked}",
        got[0],
        stages,
        likely=[
            (
                _walked(L, p, v, "round")[0],
                "you begin every round at stage 0; a zigzag turns round",
            ),
            (
                [part.tolist() for part in parts],
                "your stages have one block each, not v parts",
            ),
            (
                [sorted(s, reverse=True) for s in stages],
                "you list layers in the order of the way back",
            ),
            (late, "your lists hold a layer each"),
            (even, "you leave out the layers that do not come out even"),
            (
                _last_longer(L, p, v),
                "you make the last parts longer, not the first",
            ),
        ],
        names=names,
    )
    compare.equal(
        f"the hops of {asked}",
        got[1],
        hops,
        likely=[
            (p * v - 1, "where it turns a microbatch stays on its device"),
            (p * v, "where it turns a microbatch stays on its device"),
            (p - 1, "it goes through the stages v times"),
            (2 * hops, "you count the way back too"),
            (v * p - 2, "you count turns as hops"),
            (L - 1, "you count a hop after each layer"),
        ],
    )


def _part(c, s, p, n):
    """The layers of pass c on stage s, if all parts have n."""
    part = c * p + (s if c % 2 == 0 else p - 1 - s)
    return range(part * n, part * n + n)


def _last_longer(L, p, v):
    """The stages' layers where the last parts have one more."""
    mirrored, _ = _walked(L, p, v)
    turned = [[L - 1 - k for k in reversed(s)] for s in mirrored]
    return turned if v % 2 == 0 else turned[::-1]


def grade_zigzag():
    """Question 6 with other sizes."""
    draw = question.draw("zigzag").integers
    for p, v in [(1, 3), (4, 1), *draw(2, 6, (4, 2)).tolist()]:
        check_zigzag(p * v + int(draw(0, 3 * p * v)), p, v)


# --- the halves of a backward ------------------------------------------------


def _block(In, W_g, W_u, W_out):
    """The block whose backward is split."""
    return ((In @ W_g) * (In @ W_u)) @ W_out


@jax.jit
def _pulled_back(dOut, *given):
    """The gradients of the block's arguments, as JAX takes them."""
    return jax.vjp(_block, *given)[1](dOut)


def _refuse_kept(kept, B, D, F):
    """Insist that what waits is small, and say what is too much."""
    # What has more than four bytes can hold two numbers of the block.
    arrays = [np.asarray(x) for x in jax.tree.leaves(kept)]
    sizes = [x.size * max(1, x.itemsize // 4) for x in arrays]
    if sum(sizes) <= B * D + 3 * B * F:
        return
    if D * F in sizes:
        said = "weights and their gradients do not belong there"
    else:
        said = "what can be made of the rest without a product can be left out"
    raise WrongAnswer(
        f"input_half: you keep {sum(sizes)} elements, and "
        f"{B * D + 3 * B * F} are enough; {said}"
    )


def _parts(name, words, count, results):
    """The results of a half."""
    if not isinstance(results, (list, tuple)) or len(results) != count:
        raise WrongAnswer(f"{name} must return {words}")
    return results


@question.visible("input_half and weight_half", (3, 8, 16), (2, 5, 7))
def check_halves(B, D, F, seed=0):
    """Question 7: both halves of a backward.

    B, D, F  sizes
    seed     of the arrays
    """
    draw = np.random.default_rng([seed, B])
    In, W_g, W_u, W_out, dOut = (
        draw.integers(-2, 3, shape).astype(np.float32)
        for shape in ((B, D), (D, F), (D, F), (F, D), (B, D))
    )
    G, U = In @ W_g, In @ W_u
    given = dOut, G, U, W_g, W_u, W_out
    request = program.request(*given, mesh={"Z": 1})
    answer = student.program("input_half", request)
    both = answer.run(*given)
    dIn, kept = _parts("input_half", "dIn and kept", 2, both)
    _refuse_kept(kept, B, D, F)
    exact = [np.asarray(x) for x in _pulled_back(dOut, In, W_g, W_u, W_out)]
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    compare.close(
        "dIn of input_half",
        dIn,
        exact[0],
        terms=B * D * F,
        likely=[
            (dG @ W_g.T, "In goes into U as well"),
            (dU @ W_u.T, "In goes into G as well"),
            (dTmp @ (W_g + W_u).T, "you leave out what each is multiplied by"),
            (dU @ W_g.T + dG @ W_u.T, "you exchange the two derivatives"),
        ],
        show=True,
    )
    later = program.request(In, kept, mesh={"Z": 1})
    answer = student.program("weight_half", later)
    words, found = ("dW_g", "dW_u", "dW_out"), answer.run(In, kept)
    found = _parts("weight_half", ", ".join(words), 3, found)
    exchanged = "you multiply by the factor itself; the other one is needed"
    plain = (In.T @ dTmp, "you leave out the other factor of the product")
    mistakes = {
        "dW_g": [plain, (exact[2], exchanged)],
        "dW_u": [plain, (exact[1], exchanged)],
        "dW_out": [
            (G.T @ dOut, "you forget that W_out multiplies G times U"),
            (U.T @ dOut, "you forget that W_out multiplies G times U"),
            ((G + U).T @ dOut, "G and U are multiplied, not added"),
            ((dG * dU).T @ dOut, "dG times dU is not G times U"),
        ],
    }
    for name, got, right in zip(words, found, exact[1:], strict=True):
        compare.close(
            f"{name} of weight_half",
            got,
            right,
            terms=B * D * F,
            likely=mistakes[name],
            show=True,
        )


def grade_halves():
    """Question 7 with other sizes."""
    draw = question.draw("halves")
    for sizes in draw.integers(2, 13, (2, 3)).tolist():
        check_halves(*sizes, _seed(draw))


# --- a forward pass, on devices ----------------------------------------------


def _refuse_other_messages(asked, crossing, p, m):
    """Messages go to the next stage, 2 m at most from each, and m go back."""
    for (a, b), times in sorted(crossing.items()):
        if b != (a + 1) % p:
            raise WrongAnswer(
                f"{asked}: your stage {a} sends to stage {b}, which is not "
                "the next"
            )
        most = m if b == 0 else 2 * m
        if times > most:
            what = (
                f"and {m} microbatches go back, once"
                if b == 0
                else f"and each of {m} microbatches passes twice"
            )
            raise WrongAnswer(
                f"{asked}: your stage {a} sends {times} times to stage {b}, "
                f"{what}; who waits sends nothing"
            )


def _passed(x, W, order):
    """What comes out if layers are passed in this order."""
    for n in order:
        x = np.maximum(x @ W[n], 0)
    return x


@question.visible("pipeline_forward", (4, 6, 2, 5), (3, 3, 2, 4))
def check_forward(p, m, b, D, seed=0):
    """Question 9: m microbatches twice through p stages of two chunks.

    b, D  rows of a microbatch, and width
    seed  of the arrays
    """
    draw = np.random.default_rng([seed, p])
    In = draw.integers(-3, 4, (m, b, D)).astype(np.float32)
    W = _weights(draw, 2 * p, D)
    W += np.eye(D, dtype=np.float32)
    dealt = W.reshape(2, p, D, D).swapaxes(0, 1).reshape(2 * p, D, D)
    request = program.request(
        In, dealt, mesh={"Z": p}, in_specs=(P(), P("Z")), out_specs=P("Z")
    )
    asked = f"pipeline_forward, {p} stages, {m} microbatches"
    answer = student.program("pipeline_forward", request)
    _refuse_sent_weights(answer, asked, (1,))
    crossing = _crossing(answer, asked, 4 * b * D)
    _refuse_other_messages(asked, crossing, p, m)
    permutes = answer.kinds().get("permute", 0)
    if permutes > 2 * m + p - 2:
        raise WrongAnswer(
            f"{asked}: you use {permutes} permutes, and {2 * m + p - 2} are "
            "enough: is the line empty between the two rounds, or has each "
            "boundary a permute of its own?"
        )
    steps = [_passed(In, W, range(n)) for n in range(2 * p + 1)]
    zeros = np.zeros((p - 1, *In.shape))
    exact = np.concatenate([zeros, steps[-1][None]])
    pairs = [n for s in range(p) for n in (s, p + s)]
    second_first = [*range(p, 2 * p), *range(p)]
    got = answer.run(In, dealt)
    compare.close(
        asked,
        got,
        exact,
        terms=2 * p * D,
        likely=[
            (
                np.concatenate([zeros, step[None]]),
                f"your results have passed {n} of {2 * p} layers",
            )
            for n, step in enumerate(steps[:-1])
        ]
        + [
            (
                np.concatenate([zeros, _passed(In, W, order)[None]]),
                words,
            )
            for order, words in (
                (pairs, "you pass both chunks of a stage one after the other"),
                (second_first, "you begin with the second chunks"),
                ([*range(p)] * 2, "both rounds use the first chunks"),
                ([*range(p, 2 * p)] * 2, "both rounds use the second chunks"),
            )
        ]
        + [
            (
                np.stack([_passed(In, W, range(p + s + 1)) for s in range(p)]),
                "each of your stages returns what it made; all but the last "
                "return zeros",
            ),
            (
                np.stack([steps[-1]] * p),
                "all of your stages have the results; all but the last return "
                "zeros",
            ),
            *_mistimed(In, W, zeros, steps[-1]),
            *_other_outputs(asked, got, exact, steps[p]),
        ],
        show=True,
        place=_place,
    )


def _mistimed(In, W, zeros, out):
    """Results of pipelines whose two rounds do not meet as they should."""
    p, m = len(W) // 2, len(In)
    second, early = list(range(p, 2 * p)), []
    for i, x in enumerate(In):
        first = [s + p * (i + s >= m) for s in range(p)]
        early.append(_passed(x, W, first + second))
    lost = np.concatenate([out[m - p :], 0 * out[: m - p]])
    for last, words in (
        (
            np.stack(early),
            "your stages all change chunks in one tick; the first round of "
            "the last microbatches is not over by then",
        ),
        (
            lost,
            "your stage 0 takes what comes back at once; what came while it "
            "still read In is lost",
        ),
    ):
        yield np.concatenate([zeros, last[None]]), words


def _other_outputs(asked, got, exact, first):
    """What a pipeline returns that is right but for what goes out."""
    found = compare.real_array(asked, got, exact.shape)
    p, m = exact.shape[:2]
    slack = 1e-4 * np.abs(exact).max()
    if compare.near(found[-1], exact[-1], slack):
        yield (
            found,
            "a stage that is not the last returns zeros; yours does not",
        )
    if compare.near(found[-1, p - 1 :], first[: m - p + 1], slack):
        yield (
            found,
            f"your last stage returns its first {m} steps, and in the first "
            f"{p - 1} nothing had come to it yet",
        )


def _place(stage, i, row, column):
    """Where an entry of the results lies, in words."""
    return f"stage {stage}, microbatch {i}, row {row}, column {column}"


def grade_forward():
    """Question 9 with other sizes."""
    for p, m in ((2, 6), (4, 4), (8, 9)):
        draw = question.draw(f"forward on {p}")
        b, D = draw.integers(1, 5, 2).tolist()
        check_forward(p, m, b, D + 1, _seed(draw))


# --- which schedule ----------------------------------------------------------


def _put_off(events, p):
    """Most weight halves that wait on a stage with what they need."""
    most = []
    for s in range(p):
        here = [e for e in events if e.stage == s]
        changes = [(e.end, 1) for e in here if e.kind == "input"]
        changes += [(e.end, -1) for e in here if e.kind == "weight"]
        counts, now = [0], 0
        for _, more in sorted(changes):
            now += more
            counts.append(now)
        most.append(max(counts))
    return most


@functools.cache
def _simulated(p, m, v, F, B, W):
    """{name: (end, microbatches held, halves put off)}, of the fullest."""
    zero = pipeline.zero_bubble(p, m, F, B + W, W)
    fullest = max(range(p), key=lambda s: _put_off(zero, p)[s])
    runs = {
        "1F1B": (pipeline.one_f_one_b(p, m, F, B + W), 1),
        "interleaved": (pipeline.interleaved(p, m, v, F, B + W), v),
    }
    found = {
        name: (
            pipeline.makespan(events),
            Fraction(max(pipeline.in_flight(events)), parts),
            0,
        )
        for name, (events, parts) in runs.items()
    }
    held = pipeline.in_flight(zero)[fullest]
    found["zero-bubble"] = (
        pipeline.makespan(zero),
        held,
        _put_off(zero, p)[fullest],
    )
    return found


@question.visible(
    "best",
    (4, 8, 2, 1, 1, 1, 10, 2, 48),
    (4, 8, 2, 1, 1, 1, 10, 2, 47),
    (4, 8, 2, 3, 4, 1, 10, 2, 60),
    (4, 8, 2, 3, 4, 1, 10, 2, 39),
    (4, 8, 2, 9, 9, 1, 10, 2, 55),
    (4, 8, 2, 9, 9, 1, 10, 2, 54),
    (2, 2, 4, 5, 5, 1, 8, 3, 16),  # no more chunks than there are
    (3, 9, 2, 5, 6, 4, 4, 1, 30),  # half a unit apart
    (3, 6, 2, 2, 2, 2, 6, 6, 18),
    (3, 6, 2, 2, 2, 2, 6, 6, 35),
    (3, 6, 2, 2, 2, 2, 6, 6, 36),
)
def check_best(p, m, v, F, B, W, saved, kept, room):
    """Question 10: the schedule that fits and ends first."""
    runs = _simulated(p, m, v, F, B, W)
    bytes_of = {
        name: held * saved + waiting * kept
        for name, (_, held, waiting) in runs.items()
    }
    ends = {name: runs[name][0] for name in runs if bytes_of[name] <= room}
    ranked = sorted(ends.values())
    if len(ranked) > 1 and ranked[0] == ranked[1]:
        return
    expected = min(ends, key=ends.get) if ends else "none"
    likely = [
        (
            name,
            f"yours ends after {float(ends[name]):g}, and another that fits "
            "ends sooner"
            if name in ends
            else f"your fullest stage would hold {float(bytes_of[name]):g} "
            "bytes at a time",
        )
        for name in runs
        if name != expected
    ]
    likely.append(("none", "one of them fits"))
    sizes = p, m, v, F, B, W, saved, kept, room
    compare.equal(
        f"best{sizes}",
        student.call("best", *sizes),
        expected,
        likely=[pair for pair in likely if pair[0] != expected],
    )


def grade_best():
    """Question 10 with other stages."""
    draw = question.draw("best").integers
    for _ in range(40):
        p, v, W = int(draw(2, 6)), int(draw(2, 5)), int(draw(1, 5))
        F, B = W + int(draw(0, 5)), W + int(draw(0, 5))
        m, saved = p * int(draw(1, 4)), int(draw(2, 20))
        kept = int(draw(1, saved + 1))
        room = int(draw((p - 1) * saved, p * (saved + kept) + saved + 1))
        check_best(p, m, v, F, B, W, saved, kept, room)


# --- two machines ------------------------------------------------------------

LAYERS, PARAMETERS, OF_A_LAYER, SEQUENCES = 126, 406e9, 4.56e9, 576
# Chips, those that one fast network joins, and bytes of each.
MACHINES = {
    "gpu_plan": (144, 72, 186e9),
    "tpu_plan": (512, 512, 96e9),
}


def _fault(plan, chips, near, room):
    """What makes a plan impossible, in words, or None."""
    zero, Y, Z, d = plan
    if zero not in (1, 3):
        return "your plan must begin with 1 or 3, the stage of ZeRO"
    if Y not in (1, 2, 4, 8):
        return (
            f"your plan cuts layers over {Y} chips; 1, 2, 4 or 8 were allowed"
        )
    if Z < 1 or d < 1 or LAYERS % Z:
        return f"your {LAYERS} layers do not make {Z} equal stages"
    if Y * Z * d != chips:
        return f"your plan is for {Y * Z * d} chips, and there are {chips}"
    if SEQUENCES % d:
        return f"your {d} copies cannot share {SEQUENCES} sequences evenly"
    if zero == 3 and Y * d > near:
        return (
            f"a stage of yours has {Y * d} chips, and a fast network joins "
            f"{near}: ZeRO-3 would gather weights over the slow one"
        )
    states, activations = _held(plan)
    if states + activations > room:
        return (
            f"your fullest chip would hold {states / 1e9:.0f} GB of states and "
            f"{activations / 1e9:.0f} GB of activations"
        )
    return None


@functools.cache
def _held(plan):
    """Bytes of states and of activations on a chip of stage 0."""
    zero, Y, Z, d = plan
    each = 16 / d if zero == 3 else 4 + 12 / d
    few = min(SEQUENCES // d, 3 * Z)  # more change nothing
    most = max(pipeline.in_flight(pipeline.one_f_one_b(Z, few)))
    return (
        PARAMETERS / (Y * Z) * each,
        most * LAYERS // Z * OF_A_LAYER / Y,
    )


@functools.cache
def _bubble(Z, d):
    """The bubble of 1F1B, of its events."""
    m = SEQUENCES // d
    few = min(m, 3 * Z)  # from Z on, no more of them make a stage wait longer
    idle = sum(pipeline.idle(pipeline.one_f_one_b(Z, few, 1, 2)))
    return Fraction(idle, 3 * m * Z)


@functools.cache
def _smallest_bubble(*machine):
    """The smallest bubble of all plans for a machine that are possible."""
    chips = machine[0]
    plans = [
        (zero, Y, Z, chips // (Y * Z))
        for zero in (1, 3)
        for Y in (1, 2, 4, 8)
        for Z in range(1, LAYERS + 1)
        if chips % (Y * Z) == 0
    ]
    return min(
        _bubble(Z, d)
        for zero, Y, Z, d in plans
        if _fault((zero, Y, Z, d), *machine) is None
    )


@question.visible(
    "gpu_plan and tpu_plan", ("gpu_plan",), ("tpu_plan",), hidden=False
)
def check_plans(name):
    """Question 11: a plan for one machine."""
    got = compare.entries(name, student.value(name), 4)
    plan = tuple(
        compare.whole_number(f"entry {n} of {name}", each)
        for n, each in enumerate(got)
    )
    if fault := _fault(plan, *MACHINES[name]):
        compare.wrong(name, got, fault)
    _, _, Z, d = plan
    if _bubble(Z, d) > _smallest_bubble(*MACHINES[name]):
        reason = (
            f"it fits, and its bubble is {_bubble(Z, d)}; there is a plan that "
            "waits less"
        )
        compare.wrong(name, got, reason)
