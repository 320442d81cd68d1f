"""Pipeline schedules as lists of events, and what can be counted on them.

A model is cut into parts, each part lives on a stage (one device, or one
group of devices), and a batch is cut into `m` microbatches. A schedule says
what each stage does when: it is a list of events and nothing else. Builders
make such lists; one check, which shares no rule with them, says whether a
list could happen at all; makespan, bubble and microbatches in flight are
counted on the events and never taken from a formula.

Times are in any one unit. Ints and Fractions stay exact, floats are allowed.
`backward` is always the whole backward pass of one microbatch on one stage.
`weight` is the part of it that makes weight gradients; the rest makes the
gradient of the stage's input, for which the stage before is waiting.
"""

from collections import deque
from fractions import Fraction
from itertools import accumulate, count, pairwise
from math import prod
from numbers import Integral, Rational
from operator import itemgetter
from typing import NamedTuple

from shardlab.arguments import one_of, real, takes, whole, whole_from

__all__ = [
    "Event",
    "bubble",
    "busy",
    "check",
    "dualpipe",
    "gpipe",
    "idle",
    "in_flight",
    "in_flight_over_time",
    "interleaved",
    "lockstep",
    "lower_bound",
    "makespan",
    "naive",
    "one_f_one_b",
    "one_f_one_b_order",
    "play",
    "routes",
    "two_way_routes",
    "utilisation",
    "zero_bubble",
]

# What an event of each kind gets done: a whole backward is both its halves.
PARTS = {
    "forward": ("forward",),
    "backward": ("input", "weight"),
    "input": ("input",),
    "weight": ("weight",),
}


class Event(NamedTuple):
    """One piece of work: a stage is busy with it from `start` to `end`.

    stage       the device, counted from 0
    kind        "forward", "backward" (whole), "input" or "weight" (its two
                halves); two of them joined by "&" run as one event
    microbatch  its number, counted from 0; a pair where `kind` is a pair
    start, end  when the work begins and ends, in any one unit of time
    chunk       which of the stage's model parts; a pair where `kind` is one
    source      chapter 11
    """

    stage: int
    kind: str
    microbatch: int | tuple[int, int]
    start: int | Fraction | float
    end: int | Fraction | float
    chunk: int | tuple[int, int] = 0


# ---- at the door: sizes and times ------------------------------------------

# A schedule of so many events fills a laptop.
MOST = 10**6


def _listable(p, m):
    _refuse_too_many(p=p, m=m)


def _listable_in_chunks(p, m, v):
    _refuse_too_many(p=p, m=m, v=v)


def _refuse_too_many(**sizes):
    for name, size in sizes.items():
        if size > MOST:
            raise ValueError(f"{name} must be at most {MOST:,}, got {size}")
    if prod(sizes.values()) > MOST:
        raise ValueError(
            f"{' '.join(sizes)} must be at most {MOST:,} in all, got "
            f"{' x '.join(map(str, sizes.values()))}"
        )


def _time(name, value, least=0, above=None):
    real(name, value, least, above)
    if isinstance(value, Integral):
        return int(value)
    return _tidy(value) if isinstance(value, Fraction) else float(value)


def _tidy(time):
    """An int for a Fraction that is whole, so that events read well."""
    if type(time) is int:
        return time
    return int(time) if isinstance(time, Rational) and time % 1 == 0 else time


def _durations(lasts, p):
    if not isinstance(lasts, dict) or not all(
        isinstance(k, str) for k in lasts
    ):
        raise ValueError(
            f"lasts must be a dict of kinds and their times, got {lasts!r}"
        )
    return {kind: _per_stage(kind, time, p) for kind, time in lasts.items()}


def _per_stage(name, time, p):
    if not isinstance(time, (list, tuple)):
        return [_time(name, time, above=0)] * p
    if len(time) != p:
        raise ValueError(
            f"{name} must be one time or {p} of them, got {time!r}"
        )
    return [_time(f"{name}[{s}]", t, above=0) for s, t in enumerate(time)]


def _shares(times, n):
    return [_tidy(_ratio(time, n)) for time in times]


# ---- the way of a microbatch through the stages ----------------------------


@takes(_listable_in_chunks, p=whole, m=whole, v=whole)
def routes(p, m, v=1):
    """The way of each microbatch through the model: v times round the stages.

    p        stages
    m        microbatches
    v        chunks a stage; it holds the model parts stage, stage + p, ...
    returns  m ways; a way is its places (stage, chunk) in forward order
    raises   ValueError unless p, m and v are whole numbers of at least 1
    source   Megatron-LM paper (2021)
    """
    return [tuple((s, c) for c in range(v) for s in range(p))] * m


def _even(m):
    if m % 2:
        raise ValueError(f"m must be even, half for each direction, got {m}")


@takes(_listable, _even, p=whole, m=whole)
def two_way_routes(p, m):
    """The ways of two equal streams, one from each end of the pipeline.

    p        stages; each holds two model parts: chunk 0 for the stream that
             enters at stage 0, chunk 1 for the one that enters at stage p - 1
    m        microbatches; the first half of them enters at stage 0
    returns  m ways; a way is its places (stage, chunk) in forward order
    raises   ValueError unless p and m are whole, at least 1, and m is even
    source   DeepSeek-V3 report, section 3.2.1
    """
    there = tuple((s, 0) for s in range(p))
    back = tuple((s, 1) for s in reversed(range(p)))
    return [there] * (m // 2) + [back] * (m // 2)


# ---- from the order of the work to its times -------------------------------


def _can_be_played(orders, ways, lasts):
    at = _positions(ways)
    lasts = _durations(lasts, len(_listed("orders", orders)))
    formed = set()  # by identity: stages share their tasks
    for stage, order in enumerate(orders):
        for n, task in enumerate(_listed(f"orders[{stage}]", order)):
            if id(task) not in formed:
                name = f"orders[{stage}][{n}]"
                _refuse_malformed(name, stage, task)
                one_of(f"{name}, its kind,", task[0], lasts)
                formed.add(id(task))
            _, i, c = task
            if type(i) is not int or i >= len(at) or (stage, c) not in at[i]:
                name = f"orders[{stage}][{n}]"
                _refuse_off_the_way(name, stage, task, at)


@takes(_can_be_played, hop=_time)
def play(orders, ways, lasts, hop=0):
    """Run each stage's tasks in the order given, each as soon as it can be.

    orders   one list a stage of its tasks (kind, microbatch, chunk)
    ways     the way of each microbatch, from `routes` or `two_way_routes`
    lasts    for each kind how long it takes: one time, or one a stage
    hop      time that an array takes to travel to another stage
    returns  list of Event, sorted by start, then stage
    raises   ValueError if a task or a time is malformed, or if all stages
             wait for each other
    source   chapter 11
    """
    events = _run(orders, ways, _durations(lasts, len(orders)), hop)
    return sorted(events, key=_by_start)


def _run(orders, ways, lasts, hop):
    """Each stage as far as it gets, then those that have waited for it."""
    steps = _steps(ways)
    arrived = {
        "forward": {(i, *way[0]): 0 for i, way in enumerate(ways)},
        "gradient": {},
        "weight": {},
    }
    clock, turn, played = [0] * len(orders), [0] * len(orders), []
    awake = dict.fromkeys(range(len(orders)))  # in order, and each once
    while awake:
        stage = next(iter(awake))
        del awake[stage]
        order, end = orders[stage], clock[stage]
        for n in range(turn[stage], len(order)):
            kind, i, chunk = order[n]
            ready = _ready(stage, kind, i, chunk, arrived)
            if ready is None:
                break
            start = end if end >= ready else ready
            end = _tidy(start + lasts[kind][stage])
            played.append(Event(stage, kind, i, start, end, chunk))
            turn[stage] = n + 1
            if kind in _WAITS_FOR:
                there = _hand_on(
                    stage, kind, i, chunk, end, hop, steps, arrived
                )
                awake[there] = None
            else:
                for one in _tasks(kind, i, chunk):
                    there = _hand_on(stage, *one, end, hop, steps, arrived)
                    awake[there] = None
        clock[stage] = end
        awake.pop(stage, None)  # what is here has been looked at
    queues = [order[n:] for order, n in zip(orders, turn, strict=True)]
    if any(queues):
        raise ValueError(_stuck(queues))
    return played


_WAITS_FOR = {
    "forward": "forward",
    "backward": "gradient",
    "input": "gradient",
    "weight": "weight",
}


def _ready(stage, kind, microbatch, chunk, arrived):
    """When all is there that a task waits for, or None."""
    if kind in _WAITS_FOR:
        return arrived[_WAITS_FOR[kind]].get((microbatch, stage, chunk))
    times = [
        arrived[_WAITS_FOR[one]].get((i, stage, c))
        for one, i, c in _tasks(kind, microbatch, chunk)
    ]
    return None if None in times else max(times)


def _hand_on(stage, kind, i, chunk, end, hop, steps, arrived):
    """Note when that arrives which others wait for; returns who they are."""
    here = stage, chunk
    if kind == "input":
        arrived["weight"][i, stage, chunk] = end
    if kind == "weight":
        return stage
    after, before = steps[i]
    if kind == "forward" and here not in after:  # here is the loss
        arrived["gradient"][i, stage, chunk] = end
        return stage
    what, there = (
        ("forward", after[here])
        if kind == "forward"
        else ("gradient", before.get(here, here))
    )
    lands = end if there[0] == stage else end + hop
    arrived[what][i, *there] = lands
    return there[0]


def _steps(ways):
    """For each microbatch the place after each place, and the one before."""
    steps = {
        way: (dict(pairwise(way)), dict(pairwise(way[::-1])))
        for way in set(ways)
    }
    return [steps[way] for way in ways]


def _stuck(queues):
    waits = ", ".join(
        f"stage {stage} for its {queue[0][0]} of microbatch {queue[0][1]}"
        for stage, queue in enumerate(queues)
        if queue
    )
    return f"orders must not make the stages wait for each other: {waits}"


# ---- builders --------------------------------------------------------------


@takes(_listable, p=whole, m=whole, hop=_time)
def naive(p, m=1, forward=1, backward=1, hop=0):
    """One microbatch at a time, there and back; all stages but one wait.

    p, m      stages, microbatches
    forward   time of one microbatch's forward on a stage: one, or one a stage
    backward  time of its whole backward, given in the same way
    hop       time that an array takes to travel to the next stage
    returns   list of Event, on the ways `routes(p, m)`
    raises    ValueError unless p, m >= 1 are whole and times are above 0
    source    chapter 11
    """
    order = [(kind, i, 0) for i in range(m) for kind in ("forward", "backward")]
    lasts = {"forward": forward, "backward": backward}
    return play([order] * p, routes(p, m), lasts, hop)


@takes(_listable, p=whole, m=whole, hop=_time)
def gpipe(p, m, forward=1, backward=1, hop=0):
    """All forwards, then all backwards, the last microbatch first.

    p, m      stages, microbatches
    forward   time of one microbatch's forward on a stage: one, or one a stage
    backward  time of its whole backward, given in the same way
    hop       time that an array takes to travel to the next stage
    returns   list of Event, on the ways `routes(p, m)`
    raises    ValueError unless p, m >= 1 are whole and times are above 0
    source    GPipe paper
    """
    order = [("forward", i, 0) for i in range(m)]
    order += [("backward", i, 0) for i in reversed(range(m))]
    lasts = {"forward": forward, "backward": backward}
    return play([order] * p, routes(p, m), lasts, hop)


@takes(_listable, p=whole, m=whole, hop=_time)
def one_f_one_b(p, m, forward=1, backward=1, hop=0):
    """Stage s runs p - s forwards ahead, then a backward for every forward.

    p, m      stages, microbatches
    forward   time of one microbatch's forward on a stage: one, or one a stage
    backward  time of its whole backward, given in the same way
    hop       time that an array takes to travel to the next stage
    returns   list of Event, on the ways `routes(p, m)`
    raises    ValueError unless p, m >= 1 are whole and times are above 0
    source    PipeDream paper; Megatron-LM paper (2021)
    """
    orders = [one_f_one_b_order(s, p, m) for s in range(p)]
    lasts = {"forward": forward, "backward": backward}
    return play(orders, routes(p, m), lasts, hop)


def _is_a_stage(s, p):
    if s >= p:
        raise ValueError(f"s must be a stage, 0 to {p - 1}, got {s}")


@takes(_listable, _is_a_stage, s=whole_from(0), p=whole, m=whole)
def one_f_one_b_order(s, p, m):
    """What stage s does under 1F1B: warm-up, steady state, cool-down.

    s        the stage, from 0 to p - 1
    p, m     stages, microbatches
    returns  list of its tasks (kind, microbatch, chunk), in their order
    raises   ValueError unless p, m >= 1 are whole and s is a stage
    source   PipeDream paper; Megatron-LM paper (2021)
    """
    warm_up = min(p - s, m)
    order = [("forward", i, 0) for i in range(warm_up)]
    for i in range(m):  # one backward, one forward, as long as there are any
        order.append(("backward", i, 0))
        if warm_up + i < m:
            order.append(("forward", warm_up + i, 0))
    return order


def _one_for_one(forwards, backwards, ahead):
    """Some forwards ahead, then one after each backward until none is left."""
    order = list(forwards[:ahead])
    for n, backward in enumerate(backwards):
        # The slice is empty when all forwards are done.
        order += [backward, *forwards[ahead + n : ahead + n + 1]]
    return order


def _whole_rounds(p, m):
    if m % p:
        raise ValueError(f"m must be a multiple of p = {p}, got {m}")


@takes(_listable_in_chunks, _whole_rounds, p=whole, m=whole, v=whole, hop=_time)
def interleaved(p, m, v, forward=1, backward=1, hop=0):
    """1F1B with v chunks a stage, p microbatches through one, then the next.

    p, m, v   stages, microbatches (a multiple of p), chunks a stage
    forward   time for all chunks of a stage together: one, or one a stage
    backward  time of their whole backward, given in the same way
    hop       time that an array takes to travel to the next stage
    returns   list of Event, on the ways `routes(p, m, v)`
    raises    ValueError unless p, m, v >= 1 are whole, p divides m, times > 0
    source    Megatron-LM paper (2021); v = 1 is `one_f_one_b`
    """
    orders = [_interleaved_order(s, p, m, v) for s in range(p)]
    times = {"forward": forward, "backward": backward}
    lasts = {k: _shares(t, v) for k, t in _durations(times, p).items()}
    return play(orders, routes(p, m, v), lasts, hop)


def _interleaved_order(s, p, m, v):
    turns = [
        (i, c)
        for first in range(0, m, p)
        for c in range(v)
        for i in range(first, first + p)
    ]
    forwards = [("forward", i, c) for i, c in turns]
    backwards = [("backward", i, v - 1 - c) for i, c in turns]
    # Twice as far ahead as 1F1B: chunks are short, and a gradient is still on
    # its way back when the next forward could run.
    ahead = p - s if v == 1 else (v - 1) * p + 2 * (p - s) - 1
    return _one_for_one(forwards, backwards, ahead)


@takes(_listable, p=whole, m=whole, hop=_time)
def zero_bubble(p, m, forward=1, backward=1, weight=None, hop=0):
    """1F1B with the backward split: stage s puts off weight gradients by s.

    p, m      stages, microbatches
    forward   time of one microbatch's forward on a stage: one, or one a stage
    backward  time of its whole backward, given in the same way
    weight    the part of `backward` that can wait; half of it unless given
    hop       time that an array takes to travel to the next stage
    returns   list of Event, on the ways `routes(p, m)`
    raises    ValueError as `gpipe`, and unless 0 < weight < backward
    source    Zero Bubble paper, schedule ZB-H1: a fixed order, no search
    """
    orders = [_zero_bubble_order(s, p, m) for s in range(p)]
    lasts = _split(p, forward, backward, weight)
    return play(orders, routes(p, m), lasts, hop)


def _zero_bubble_order(s, p, m):
    forwards = [("forward", i, 0) for i in range(m)]
    order = forwards[: p - s]
    for i in range(m):
        order.append(("input", i, 0))
        order += [("weight", i - s, 0)] if i >= s else []
        order += forwards[i + p - s : i + p - s + 1]
    return order + [("weight", i, 0) for i in range(max(0, m - s), m)]


def _paired(p, m):
    if p % 2:
        raise ValueError(f"p must be even, stages are paired, got {p}")
    if m < 2 * p:
        raise ValueError(f"m must be at least 2p = {2 * p}, got {m}")


@takes(_listable, _even, _paired, p=whole, m=whole, hop=_time)
def dualpipe(p, m, forward=1, backward=1, weight=None, both=None, hop=0):
    """Two streams, one from each end; a forward and a backward run as one.

    p, m      stages (even), microbatches of both streams (even, m >= 2p)
    forward   time of one microbatch's forward on a stage: one, or one a stage
    backward  time of its whole backward, and `weight` the part that can wait
    both      time of a forward and a backward as one event; their sum unless
              given; hop is the time that an array takes to the next stage
    returns   list of Event, on the ways `two_way_routes(p, m)`
    raises    ValueError unless p, m and the times are as said here
    source    DeepSeek-V3 report, section 3.2.1 and figure 5
    """
    lasts = _split(p, forward, backward, weight)
    pairs = zip(lasts["forward"], lasts["backward"], strict=True)
    lasts["forward&backward"] = (
        [f + b for f, b in pairs]
        if both is None
        else _per_stage("both", both, p)
    )
    orders = [_dualpipe_order(s, p, m) for s in range(p)]
    return play(orders, two_way_routes(p, m), lasts, hop)


def _dualpipe_order(s, p, m):
    outer = min(s, p - 1 - s)  # stages between this one and the nearer end
    inner = p // 2 - 1 - outer  # stages between this one and the middle
    near, far = (0, 1) if s < p // 2 else (1, 0)  # streams, by where they enter
    here, there = ("forward", near), ("forward", far)
    swap = [
        ("forward&backward", (near, far)),
        ("forward&backward", (far, near)),
    ]
    steady = swap * (m // 2 - p + outer + 1)
    if inner == 0:
        steady[:1] = [here, ("backward", far)]
    work = [here] * (2 * inner) + [here, there] * (outer + 1)
    work += [("input", far), ("weight", None), there] * inner + steady
    work += [("backward", far), swap[1]] * inner
    ends = [far, near] * (outer + 1)
    work += [("backward", c) for c in ends[: outer + 1]]
    work += [("input", c) for c in ends[outer + 1 :]]
    work += [("weight", None), ("input", near)] * inner
    return list(_numbered(work + [("weight", None)] * (outer + 1), m))


def _numbered(work, m):
    """Give each (kind, chunk) the next microbatch of its stream."""
    numbers = {
        (way, c): count(c * m // 2)
        for way in ("forward", "backward")
        for c in (0, 1)
    }
    put_off = deque()
    for kind, chunk in work:
        if kind == "weight":
            yield "weight", *put_off.popleft()
        elif kind == "forward&backward":
            ways = zip(kind.split("&"), chunk, strict=True)
            yield kind, tuple(next(numbers[way]) for way in ways), chunk
        elif kind == "input":
            put_off.append((next(numbers["backward", chunk]), chunk))
            yield "input", *put_off[-1]
        else:
            yield kind, next(numbers[kind, chunk]), chunk


def _split(p, forward, backward, weight):
    if weight is None:
        weight = _shares(_per_stage("backward", backward, p), 2)
    lasts = {"forward": forward, "backward": backward, "weight": weight}
    lasts = _durations(lasts, p)
    pairs = zip(lasts["backward"], lasts["weight"], strict=True)
    lasts["input"] = [both - part for both, part in pairs]
    if min(lasts["input"]) <= 0:
        raise ValueError(
            f"weight must be less than backward = {backward!r}, got {weight!r}"
        )
    return lasts


# ---- one check, for every schedule -----------------------------------------


def check(events, ways, hop=0, lasts=None):
    """The events in order, if all of this can happen and no work is missing.

    events   tuples (stage, kind, microbatch, start, end) or (..., chunk)
    ways     the way of each microbatch, from `routes` or `two_way_routes`
    hop      time that an array takes to travel to another stage
    lasts    if given, how long each kind takes: one time, or one a stage
    returns  list of Event, sorted by start, then stage
    raises   ValueError that names the first event that cannot be, and why;
             times are compared exactly, so use ints or Fractions by hand
    source   chapter 11
    """
    at, hop = _positions(ways), _time("hop", hop)
    if lasts is not None:
        lasts = _durations(lasts, 1 + max(s for way in ways for s, _ in way))
    events = _all_formed(events)
    for n, event in enumerate(events):
        _refuse_off_the_way(f"events[{n}]", event.stage, _task(event), at)
    events.sort(key=_by_start)
    for fault in _faults(events, ways, at, hop, lasts):
        raise ValueError(f"events must be a schedule that can happen: {fault}")
    return events


def _faults(events, ways, at, hop, lasts):
    done, latest = {}, {}
    for event in reversed(events):
        done.update(dict.fromkeys(_work(event), event))
    for event in events:
        yield from _busy_fault(event, latest.get(event.stage))
        yield from _length_fault(event, lasts)
        for work in _work(event):
            if done[work] is not event:
                yield f"{_says(event)} repeats {_says(done[work])}"
            for need in _needs(*work, ways, at):
                yield from _early_fault(event, work, need, done.get(need), hop)
        latest[event.stage] = event
    for work in _all_work(ways):
        if work not in done:
            yield f"no event does the {_says_work(*work)}"


def _busy_fault(event, before):
    if before is not None and event.start < before.end:
        yield f"{_says(event)} finds its stage busy with {_says(before)}"


def _length_fault(event, lasts):
    if lasts is None:
        return
    one_of("kind, to have a time in lasts,", event.kind, lasts)
    time = lasts[event.kind][event.stage]
    if event.start + time != event.end:
        yield f"{_says(event)} must take {time}"


def _early_fault(event, work, need, source, hop):
    if source is None:
        yield f"{_says(event)} needs the {_says_work(*need)}, done by no event"
    elif source is event and work[0] == "weight":
        return  # a whole backward does its input half before its weight half
    else:
        travel = hop if source.stage != event.stage else 0
        if event.start < source.end + travel:
            late = f" and {travel} to travel" if travel else ""
            yield f"{_says(event)} is too early: it needs {_says(source)}{late}"


def _needs(part, i, place, ways, at):
    j = at[i][place]
    if part == "weight":
        return [("input", i, place)]
    if part == "forward":
        return [("forward", i, ways[i][j - 1])] if j else []
    after = ways[i][j + 1 : j + 2]
    return [("forward", i, place), *(("input", i, there) for there in after)]


def _work(event):
    return [
        (part, i, (event.stage, chunk))
        for kind, i, chunk in _tasks(*_task(event))
        for part in PARTS[kind]
    ]


def _all_work(ways):
    for i, way in enumerate(ways):
        for place in way:
            for part in ("forward", "input", "weight"):
                yield part, i, place


def _positions(ways):
    if not _listed("ways", ways):
        raise ValueError("ways must hold a way for each microbatch, got none")
    at = {}  # by identity: the same way many times over is the rule
    for n, way in enumerate(ways):
        if id(way) not in at:
            at[id(way)] = _places(f"ways[{n}]", way)
    return [at[id(way)] for way in ways]


def _places(name, way):
    """The number of each place of a way, from its first to its last."""
    pairs = isinstance(way, tuple) and way
    if not pairs or not all(isinstance(w, tuple) and len(w) == 2 for w in way):
        raise ValueError(
            f"{name} must be a tuple of places (stage, chunk), got {way!r}"
        )
    for stage, chunk in way:
        _stage(f"{name}, a stage,", stage)
        whole(f"{name}, a chunk,", chunk, least=0)
    if len(set(way)) < len(way):
        raise ValueError(f"{name} must pass each place once, got {way!r}")
    return {place: j for j, place in enumerate(way)}


def _listed(name, value):
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} must be a list, got {value!r}")
    return value


def _stage(name, stage):
    if whole(name, stage, least=0) >= MOST:
        raise ValueError(f"{name} must be below {MOST:,}, got {stage}")


def _all_formed(events):
    events = enumerate(_listed("events", events))
    return [_formed(f"events[{n}]", event) for n, event in events]


def _formed(name, event):
    fields = tuple(event) if isinstance(event, (tuple, list)) else ()
    if len(fields) not in (5, 6):
        raise ValueError(
            f"{name} must be (stage, kind, microbatch, start, end) or have a "
            f"chunk after these, got {event!r}"
        )
    event = Event(*fields)
    _refuse_malformed(name, event.stage, _task(event))
    start = _time(f"{name}, its start,", event.start)
    end = _time(f"{name}, its end,", event.end)
    if end <= start:
        raise ValueError(f"{name} must end after it starts, got {_says(event)}")
    return event._replace(start=start, end=end)


def _refuse_malformed(name, stage, task, at=None):
    try:
        tasks = _tasks(*task)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold a kind, a microbatch and a chunk, or a pair of "
            f"each, got {task!r}"
        ) from None
    _stage(f"{name}, its stage,", stage)
    for kind, i, c in tasks:
        one_of(f"{name}, its kind,", kind, PARTS)
        whole(f"{name}, its microbatch,", i, least=0)
        whole(f"{name}, its chunk,", c, least=0)
    if at is not None:
        _refuse_off_the_way(name, stage, task, at)
    _refuse_same_work(name, tasks)


def _refuse_off_the_way(name, stage, task, at):
    for _, i, c in _tasks(*task):
        if i >= len(at) or (stage, c) not in at[i]:
            raise ValueError(
                f"{name} must be on the way of its microbatch, got microbatch "
                f"{i} on stage {stage}, chunk {c}"
            )


def _refuse_same_work(name, tasks):
    work = [(part, i, c) for kind, i, c in tasks for part in PARTS[kind]]
    if len(set(work)) < len(work):
        raise ValueError(f"{name} must not do one thing twice, got {tasks!r}")


# ---- what events say -------------------------------------------------------


_by_start = itemgetter(Event._fields.index("start"), 0)  # then by stage


def _task(event):
    return event.kind, event.microbatch, event.chunk


def _tasks(kind, microbatch, chunk):
    if "&" not in kind:
        return [(kind, microbatch, chunk)]
    return list(zip(kind.split("&"), microbatch, chunk, strict=True))


def _says(event):
    what = " and ".join(
        _says_work(kind, i, (event.stage, c))
        for kind, i, c in _tasks(*_task(event))
    )
    return f"the {what} (from {event.start} to {event.end})"


def _says_work(part, i, place):
    chunk = f", chunk {place[1]}" if place[1] else ""
    gradient = " gradient" if part in ("input", "weight") else ""
    return f"{part}{gradient} of microbatch {i} on stage {place[0]}{chunk}"


# ---- in lockstep -------------------------------------------------------------


def lockstep(events, ways, lasts=None):
    """The same work as one program that all stages run: tick after tick.

    In a tick each stage does one task or none; then neighbours exchange what
    they have made, also when it is nothing. So a stage begins a tick when it
    and its neighbours have ended the one before.

    events   list of Event of a legal schedule
    ways     the way of each microbatch; who follows whom on one is a neighbour
    lasts    how long each kind takes: one time, or one a stage; by default as
             long as in `events`. What was to run as one, such as "forward&
             backward", takes two ticks: the longer part of it is then the
             rest of the whole
    returns  list of Event, sorted by start, then stage
    raises   ValueError if the schedule is not legal, or a time is not known
    source   chapter 11
    """
    events = check(events, ways)
    orders = [[] for _ in range(1 + max(s for way in ways for s, _ in way))]
    for e in events:
        orders[e.stage] += _tasks(*_task(e))
    lasts = (
        _lasting(events) if lasts is None else _durations(lasts, len(orders))
    )
    beside = _beside(ways)
    clock, played = [0] * len(orders), []
    for tasks in _ticks(orders, ways):
        begin = [
            max(clock[s] for s in beside[stage]) for stage in range(len(clock))
        ]
        clock = list(begin)
        for stage, (kind, i, chunk) in tasks.items():
            one_of("kind, to have a time in lasts,", kind, lasts)
            start = begin[stage]
            end = clock[stage] = _tidy(start + lasts[kind][stage])
            played.append(Event(stage, kind, i, start, end, chunk))
    return sorted(played, key=_by_start)


def _ticks(orders, ways):
    """For each tick {stage: task}: each stage's next one, if it can be done."""
    at, done = _positions(ways), set()
    turn = [0] * len(orders)
    while any(n < len(order) for n, order in zip(turn, orders, strict=True)):
        tasks = {}
        for stage, (n, order) in enumerate(zip(turn, orders, strict=True)):
            if n < len(order) and _is_possible(stage, order[n], ways, at, done):
                tasks[stage] = order[n]
                turn[stage] += 1
        for stage, (kind, i, chunk) in tasks.items():
            done |= {(part, i, (stage, chunk)) for part in PARTS[kind]}
        yield tasks


def _is_possible(stage, task, ways, at, done):
    kind, i, chunk = task
    parts = {(part, i, (stage, chunk)) for part in PARTS[kind]}
    return all(
        need in done or need in parts
        for work in parts
        for need in _needs(*work, ways, at)
    )


def _beside(ways):
    """For each stage those that it exchanges with, and itself."""
    beside = {stage: {stage} for way in ways for stage, _ in way}
    for way in set(ways):
        for (here, _), (there, _) in pairwise(way):
            beside[here].add(there)
            beside[there].add(here)
    return beside


def _lasting(events):
    """How long each kind takes on each stage, as the events have it."""
    p, lasts = 1 + max(e.stage for e in events), {}
    for e in events:
        if e.kind in PARTS:
            lasts.setdefault(e.kind, [None] * p)[e.stage] = e.end - e.start
    return lasts


# ---- counted on the events -------------------------------------------------


def makespan(events):
    """Time from the first start to the last end.

    events   list of Event of a legal schedule, not empty
    returns  time, in the unit of the events
    raises   ValueError if there is no event, or if one is malformed
    source   chapter 11
    """
    return _makespan(_some(events))


def _makespan(events):
    return _tidy(max(e.end for e in events) - min(e.start for e in events))


def busy(events):
    """Time each stage works; the rest of the makespan it waits.

    events   list of Event of a legal schedule, not empty
    returns  list with one time a stage, in the unit of the events
    raises   ValueError if there is no event, or if one is malformed
    source   chapter 11
    """
    return _busy(_some(events))


def _busy(events):
    times = [0] * (1 + max(e.stage for e in events))
    for e in events:
        times[e.stage] += e.end - e.start
    return [_tidy(time) for time in times]


def idle(events):
    """Time each stage waits between the first start and the last end.

    events   list of Event of a legal schedule, not empty
    returns  list with one time a stage, in the unit of the events
    raises   ValueError if there is no event, or if one is malformed
    source   chapter 11
    """
    return _idle(_some(events))


def _idle(events):
    total = _makespan(events)
    return [_tidy(total - time) for time in _busy(events)]


def bubble(events):
    """Time waited for each unit of time worked, over all stages.

    events   list of Event of a legal schedule, not empty
    returns  ratio: idle / useful; a Fraction where all times are exact
    raises   ValueError if there is no event, or if one is malformed
    source   CS336 (2025), lecture 7
    """
    events = _some(events)
    return _ratio(sum(_idle(events)), sum(_busy(events)))


def utilisation(events):
    """Part of the time that the stages work, 1 / (1 + bubble).

    events   list of Event of a legal schedule, not empty
    returns  ratio, at most 1; a Fraction where all times are exact
    raises   ValueError if there is no event, or if one is malformed
    source   CS336 (2025), lecture 7
    """
    events = _some(events)
    worked = _busy(events)
    return _ratio(sum(worked), len(worked) * _makespan(events))


def in_flight(events):
    """Most microbatches that each stage holds at one time.

    A stage holds a microbatch from the start of its forward there to the end
    of the last half of its backward there. What ends and what starts at one
    instant does not meet. Each chunk of a stage counts for itself.

    events   list of Event of a legal schedule, not empty
    returns  list with one count a stage
    raises   ValueError if there is no event, or if one is malformed
    source   chapter 11
    """
    return [
        max((n for _, n in counts), default=0)
        for counts in in_flight_over_time(events)
    ]


def in_flight_over_time(events):
    """Microbatches that each stage holds, from each moment on.

    events   list of Event of a legal schedule, not empty
    returns  for each stage a list of (time, count), in order of time; the
             first count holds from its time to the next one's
    raises   ValueError if there is no event, or if one is malformed
    source   chapter 11
    """
    events = _some(events)
    changes = [{} for _ in range(1 + max(e.stage for e in events))]
    for (stage, *_), (start, end) in _held(events).items():
        for time, more in (start, 1), (end, -1):
            changes[stage][time] = changes[stage].get(time, 0) + more
    return [_counted(sorted(more.items())) for more in changes]


def _counted(changes):
    times = [time for time, _ in changes]
    return list(zip(times, accumulate(n for _, n in changes), strict=True))


def _held(events):
    held = {}
    for e in events:
        for _, i, chunk in _tasks(*_task(e)):
            start, end = held.get((e.stage, i, chunk), (e.start, e.end))
            span = min(start, e.start), max(end, e.end)
            held[e.stage, i, chunk] = span
    return held


def lower_bound(events, ways, hop=0):
    """A time that no schedule of the same events can beat.

    The longest chain of events that wait for each other; or all work of one
    stage, after the shortest chain to it and before the shortest from it.

    events   list of Event of a legal schedule
    ways     the way of each microbatch, from `routes` or `two_way_routes`
    hop      time that an array takes to travel to another stage
    returns  time, in the unit of the events
    raises   ValueError if the schedule is not legal or empty
    source   chapter 11
    """
    events = check(events, ways, hop)
    if not events:
        raise ValueError("events must hold at least one event, got none")
    time = [e.end - e.start for e in events]
    head, tail = _chains(time, _links(events, ways, _time("hop", hop)))
    bounds = [sum(parts) for parts in zip(head, time, tail, strict=True)]
    for stage in {e.stage for e in events}:
        here = [n for n, e in enumerate(events) if e.stage == stage]
        first, last = (min(chain[n] for n in here) for chain in (head, tail))
        bounds.append(first + sum(time[n] for n in here) + last)
    return _tidy(max(bounds))


def _links(events, ways, hop):
    at = _positions(ways)
    number = {work: n for n, e in enumerate(events) for work in _work(e)}
    for n, event in enumerate(events):
        for work in _work(event):
            for need in _needs(*work, ways, at):
                before = number[need]
                travels = events[before].stage != event.stage
                if before != n:
                    yield before, n, hop if travels else 0


def _chains(time, links):
    links = list(links)
    head, tail = [0] * len(time), [0] * len(time)
    for a, b, travel in links:
        head[b] = max(head[b], head[a] + time[a] + travel)
    for a, b, travel in reversed(links):
        tail[a] = max(tail[a], travel + time[b] + tail[b])
    return head, tail


def _some(events):
    events = _all_formed(events)
    if not events:
        raise ValueError("events must hold at least one event, got none")
    latest = {}
    for event in sorted(events, key=_by_start):
        for fault in _busy_fault(event, latest.get(event.stage)):
            raise ValueError(f"events must not overlap on a stage: {fault}")
        latest[event.stage] = event
    return events


def _ratio(part, total):
    if isinstance(part, Rational) and isinstance(total, Rational):
        return Fraction(part, total)
    return part / total
