"""Schedules: the check, the builders, and what is counted on their events."""

import inspect
import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shardlab import pipeline
from shardlab.pipeline import (
    Event,
    bubble,
    busy,
    check,
    dualpipe,
    gpipe,
    idle,
    in_flight,
    in_flight_over_time,
    interleaved,
    lockstep,
    lower_bound,
    makespan,
    naive,
    one_f_one_b,
    one_f_one_b_order,
    play,
    routes,
    two_way_routes,
    utilisation,
    zero_bubble,
)
from tests.each import each

HALF = Fraction(1, 2)
GRID = [(p, m) for p in (1, 2, 3, 4, 8) for m in (1, 2, 5, 8, 32)]

# Ints and Fractions only: what is said about them is said exactly.
TIMES = st.one_of(
    st.integers(1, 9),
    st.fractions(Fraction(1, 4), 6, max_denominator=6),
)
STAGES = st.integers(1, 5)
MICROBATCHES = st.integers(1, 9)


@st.composite
def schedules(draw, uneven=True):
    """Any builder on any input: (events, ways, hop, lasts)."""
    name = draw(st.sampled_from(sorted(BUILDERS)))
    p, m = draw(STAGES), draw(MICROBATCHES)
    v = draw(st.integers(1, 3)) if name == "interleaved" else 1
    if name == "interleaved":
        p, m = min(p, 4), min(p, 4) * draw(st.integers(1, 2))
    if name == "dualpipe":
        p = 2 * draw(st.integers(1, 2))
        m = 2 * p + 2 * draw(st.integers(0, 2))
    alike = st.builds(lambda time: [time] * p, TIMES)
    each = st.lists(TIMES, min_size=p, max_size=p) if uneven else alike
    forward, early, late = draw(each), draw(each), draw(each)
    hop = draw(st.one_of(st.just(0), TIMES))
    return BUILDERS[name](p, m, v, forward, early, late, hop)


def whole_backward(builder):
    def build(p, m, v, forward, early, late, hop):
        backward = [a + b for a, b in zip(early, late, strict=True)]
        lasts = {"forward": forward, "backward": backward}
        return builder(p, m, forward, backward, hop), routes(p, m), hop, lasts

    return build


def build_interleaved(p, m, v, forward, early, late, hop):
    backward = [a + b for a, b in zip(early, late, strict=True)]
    lasts = {
        "forward": [Fraction(t) / v for t in forward],
        "backward": [Fraction(t) / v for t in backward],
    }
    events = interleaved(p, m, v, forward, backward, hop)
    return events, routes(p, m, v), hop, lasts


def build_zero_bubble(p, m, v, forward, early, late, hop):
    backward = [a + b for a, b in zip(early, late, strict=True)]
    lasts = {"forward": forward, "input": early, "weight": late}
    events = zero_bubble(p, m, forward, backward, late, hop)
    return events, routes(p, m), hop, lasts


def build_dualpipe(p, m, v, forward, early, late, hop):
    backward = [a + b for a, b in zip(early, late, strict=True)]
    both = [max(f, b) for f, b in zip(forward, backward, strict=True)]
    lasts = {
        "forward": forward,
        "backward": backward,
        "input": early,
        "weight": late,
        "forward&backward": both,
    }
    events = dualpipe(p, m, forward, backward, late, both, hop)
    return events, two_way_routes(p, m), hop, lasts


BUILDERS = {
    "naive": whole_backward(naive),
    "gpipe": whole_backward(gpipe),
    "one_f_one_b": whole_backward(one_f_one_b),
    "interleaved": build_interleaved,
    "zero_bubble": build_zero_bubble,
    "dualpipe": build_dualpipe,
}


# ---- every schedule of every builder ----------------------------------------


@given(schedules())
def test_every_builder_makes_a_schedule_that_can_happen(schedule):
    events, ways, hop, lasts = schedule
    assert check(events, ways, hop, lasts) == events


@given(schedules())
def test_no_schedule_beats_the_lower_bounds(schedule):
    events, ways, hop, lasts = schedule
    bound = lower_bound(events, ways, hop)
    assert max(busy(events)) <= bound <= makespan(events)
    # The way of one microbatch, there and back, needs no event list at all.
    for way in set(ways):
        chain = 2 * sum(hop for a, b in itertools.pairwise(way) if a[0] != b[0])
        back = lasts.get("input", lasts.get("backward"))
        chain += sum(lasts["forward"][stage] + back[stage] for stage, _ in way)
        assert chain <= bound


@given(schedules())
def test_stages_work_as_much_as_their_tasks_take(schedule):
    events, ways, _, lasts = schedule
    assume("forward&backward" not in lasts)
    m, v = len(ways), len(ways[0]) // len(lasts["forward"])
    expected = [
        m * v * sum(times) for times in zip(*lasts.values(), strict=True)
    ]
    assert busy(events) == expected


@given(schedules())
def test_idle_bubble_and_utilisation_are_one_fact(schedule):
    events, *_ = schedule
    worked, waited = sum(busy(events)), sum(idle(events))
    assert worked + waited == len(busy(events)) * makespan(events)
    assert bubble(events) == Fraction(waited) / worked
    assert utilisation(events) == 1 / (1 + bubble(events))
    assert min(idle(events)) >= 0


@given(schedules())
def test_in_flight_is_what_sampling_every_interval_finds(schedule):
    events, *_ = schedule
    instants = sorted({t for e in events for t in (e.start, e.end)})
    middles = [(a + b) / Fraction(2) for a, b in itertools.pairwise(instants)]
    times = {}
    for e in events:
        for part in each_task(e):
            times.setdefault((e.stage, *part), []).extend([e.start, e.end])
    most = [0] * len(busy(events))
    for instant in middles:
        now = [key[0] for key, t in times.items() if min(t) < instant < max(t)]
        most = [max(n, now.count(stage)) for stage, n in enumerate(most)]
    assert in_flight(events) == most


def each_task(event):
    if isinstance(event.microbatch, int):
        return [(event.microbatch, event.chunk)]
    return list(zip(event.microbatch, event.chunk, strict=True))


@given(schedules(), st.data())
def test_no_event_can_start_earlier(schedule, data):
    events, ways, hop, _ = schedule
    late = [n for n, e in enumerate(events) if e.start > 0]
    assume(late)
    n = data.draw(st.sampled_from(late))
    sooner = data.draw(st.fractions(0, 1)) * events[n].start
    assume(sooner < events[n].start)
    gap = events[n].start - sooner
    moved = events[n]._replace(start=sooner, end=events[n].end - gap)
    with pytest.raises(ValueError, match=r"too early|finds its stage busy"):
        check(events[:n] + [moved] + events[n + 1 :], ways, hop)


@given(schedules(), st.data())
def test_no_event_can_be_left_out(schedule, data):
    events, ways, hop, _ = schedule
    n = data.draw(st.integers(0, len(events) - 1))
    with pytest.raises(ValueError, match=r"done by no event|no event does"):
        check(events[:n] + events[n + 1 :], ways, hop)


@given(schedules(), st.data())
def test_no_event_can_be_done_again(schedule, data):
    events, ways, hop, _ = schedule
    event = data.draw(st.sampled_from(events))
    end = makespan(events)
    again = event._replace(start=end, end=2 * end)
    with pytest.raises(ValueError, match="repeats"):
        check([*events, again], ways, hop)


@given(schedules(), st.data())
def test_the_order_of_the_list_says_nothing(schedule, data):
    events, ways, hop, _ = schedule
    shuffled = data.draw(st.permutations(events))
    assert check(shuffled, ways, hop) == events
    assert in_flight(shuffled) == in_flight(events)
    assert makespan(shuffled) == makespan(events)


@given(schedules())
def test_a_longer_hop_never_helps(schedule):
    events, ways, hop, lasts = schedule
    orders = [[] for _ in busy(events)]
    for e in events:
        orders[e.stage].append((e.kind, e.microbatch, e.chunk))
    assert play(orders, ways, lasts, hop) == events
    assert makespan(play(orders, ways, lasts, hop + 1)) >= makespan(events)


@given(STAGES, MICROBATCHES, st.floats(0.1, 9), st.floats(0.1, 9))
def test_floats_pass_the_same_check(p, m, forward, backward):
    for build in (naive, gpipe, one_f_one_b, zero_bubble):
        events = build(p, m, forward, backward, hop=0.1)
        check(events, routes(p, m), hop=0.1)
        assert isinstance(makespan(events), float)


def test_numbers_stay_exact():
    events = zero_bubble(3, 4, Fraction(1, 3), 1)
    assert {type(e.end) for e in events} <= {int, Fraction}
    assert all(
        not (isinstance(e.end, Fraction) and e.end % 1 == 0) for e in events
    )
    assert type(bubble(gpipe(4, 8))) is Fraction
    assert {type(e.end) for e in interleaved(2, 2, 2, 2, 4)} == {int}


@each(("p", "m"), GRID)
def test_gpipe_goes_back_in_the_opposite_order(p, m):
    for stage in range(p):
        mine = [e for e in gpipe(p, m) if e.stage == stage]
        assert [e.kind for e in mine] == ["forward"] * m + ["backward"] * m
        assert [e.microbatch for e in mine] == [*range(m), *reversed(range(m))]


@given(STAGES, st.integers(1, 3), TIMES, TIMES)
def test_one_chunk_is_plain_1f1b(p, rounds, forward, backward):
    plain = one_f_one_b(p, rounds * p, forward, backward, hop=1)
    assert interleaved(p, rounds * p, 1, forward, backward, hop=1) == plain


@each(
    ("events", "number"),
    [
        (naive(3, 5), 2 * 3 * 5),
        (gpipe(3, 5), 2 * 3 * 5),
        (one_f_one_b(3, 5), 2 * 3 * 5),
        (interleaved(3, 6, 4), 2 * 3 * 6 * 4),
        (zero_bubble(3, 5), 3 * 3 * 5),
        # A pair is one event less, a backward in two halves one event more.
        (dualpipe(4, 8), 2 * 4 * 8 - 4 * 3 + 2 * (3 + 2)),
    ],
)
def test_number_of_events(events, number):
    assert len(events) == number


# ---- worked numbers ---------------------------------------------------------


@each(("p", "m"), GRID)
def test_C4_2_one_microbatch_at_a_time_keeps_one_stage_in_p_busy(p, m):
    events = naive(p, m)
    assert utilisation(events) == Fraction(1, p)
    assert in_flight(events) == [1] * p


@each("build", [gpipe, one_f_one_b])
@each(("p", "m"), GRID)
def test_C4_3_bubble(build, p, m):
    events = build(p, m)
    assert makespan(events) == 2 * (m + p - 1)
    assert bubble(events) == Fraction(p - 1, m)
    assert 1 - utilisation(events) == Fraction(p - 1, m + p - 1)
    assert lower_bound(events, routes(p, m)) == makespan(events)


@pytest.mark.parametrize(
    ("build", "total", "held"),
    [(gpipe, 78, [32] * 8), (one_f_one_b, 78, [8, 7, 6, 5, 4, 3, 2, 1])],
    ids=["T5.5-gpipe", "T5.5-1f1b"],
)
def test_eight_stages_and_32_microbatches(build, total, held):
    assert makespan(build(8, 32)) == total
    assert in_flight(build(8, 32)) == held


@each(
    ("events", "held"),
    [
        pytest.param(one_f_one_b(4, 16), [4, 3, 2, 1], id="EC-13-1f1b"),
        pytest.param(gpipe(4, 16), [16] * 4, id="EC-13-gpipe"),
        pytest.param(one_f_one_b(4, 2), [2, 2, 2, 1], id="EC-13-few"),
        pytest.param(zero_bubble(4, 16), [4] * 4, id="C4.10-split"),
        pytest.param(interleaved(4, 8, 2), [11, 9, 7, 5], id="C4.8-chunks"),
        pytest.param(dualpipe(8, 20, 1, 2, 1), [9] * 8, id="T5.6-p-plus-1"),
    ],
)
def test_microbatches_in_flight(events, held):
    assert in_flight(events) == held


@pytest.mark.parametrize(
    ("events", "ratio"),
    [
        pytest.param(gpipe(4, 8), Fraction(3, 8), id="EC-15-gpipe"),
        pytest.param(one_f_one_b(4, 8), Fraction(3, 8), id="EC-15-1f1b"),
        pytest.param(zero_bubble(4, 8, 1, 2), Fraction(1, 8), id="EC-15-split"),
        pytest.param(interleaved(4, 8, 2), Fraction(3, 16), id="C4.8"),
        pytest.param(interleaved(4, 8, 3), Fraction(1, 8), id="C4.8-three"),
    ],
)
def test_bubble_of_four_stages_and_eight_microbatches(events, ratio):
    assert bubble(events) == ratio


@each("p", [2, 3, 4, 8])
@each("rounds", [1, 2, 4])
@each("v", [1, 2, 3, 4])
@each(("forward", "backward"), [(1, 1), (1, 2), (3, 2)])
def test_C4_8_interleaving_divides_the_bubble(p, rounds, v, forward, backward):
    m = rounds * p
    events = interleaved(p, m, v, forward, backward)
    assert bubble(events) == Fraction(p - 1, m) / v
    if v > 1:
        ahead = [(v - 1) * p + 2 * (p - s) - 1 for s in range(p)]
        assert in_flight(events) == [min(n, m * v) for n in ahead]


@each("p", [2, 4, 8])
@each(
    ("forward", "backward", "left"),
    [(1, 2, Fraction(1, 3)), (1, 1, HALF)],
)
def test_what_the_split_leaves_of_the_bubble(p, forward, backward, left):
    m = 4 * p
    whole = one_f_one_b(p, m, forward, backward)
    split = zero_bubble(p, m, forward, backward)
    assert bubble(split) == left * bubble(whole)
    assert max(in_flight(split)) == max(in_flight(whole)) == p


@given(st.integers(1, 7), st.data(), TIMES, TIMES, TIMES)
def test_bubble_of_the_split_for_all_times(p, data, F, B, W):
    m = data.draw(st.integers(p, 14))
    events = zero_bubble(p, m, F, B + W, W)
    assert idle(events) == [(p - 1) * max(F, B, F + B - W)] * p
    assert max(in_flight(events)) == p


@given(STAGES, MICROBATCHES, TIMES, TIMES, TIMES)
def test_the_split_is_never_slower_when_stages_are_alike(p, m, F, B, W):
    split, whole = zero_bubble(p, m, F, B + W, W), one_f_one_b(p, m, F, B + W)
    assert makespan(split) <= makespan(whole)
    assert max(in_flight(split)) <= max(in_flight(whole))


def test_the_split_can_be_slower_when_stages_differ():
    # A fixed order cannot know which stage is slow; on these times it loses.
    F, backward, W = [4, 1, 1], [2, 2, 4], [1, 1, 3]
    split, whole = (
        zero_bubble(3, 4, F, backward, W),
        one_f_one_b(3, 4, F, backward),
    )
    assert makespan(split) > makespan(whole)


@pytest.mark.parametrize("hop", [0, 1, HALF])
@given(p=STAGES, m=MICROBATCHES, F=TIMES, B=TIMES)
def test_time_of_gpipe(hop, p, m, F, B):
    expected = (m + p - 1) * (F + B) + 2 * (p - 1) * hop
    events = gpipe(p, m, F, B, hop)
    assert (
        makespan(events) == lower_bound(events, routes(p, m), hop) == expected
    )
    assert makespan(one_f_one_b(p, m, F, B, hop)) >= expected
    if hop == 0:
        assert makespan(one_f_one_b(p, m, F, B)) == expected


def test_ET_22_dualpipe_waits_14_where_1f1b_waits_45():
    assert idle(dualpipe(16, 32, 1, 2, 1, both=3)) == [14] * 16
    assert idle(one_f_one_b(16, 32, 1, 2)) == [45] * 16


@given(st.integers(1, 4), st.integers(0, 2), TIMES, TIMES, st.data())
def test_ET_22_dualpipe_bubble(half, more, F, W, data):
    """(p/2 - 1)(F&B + B - 3W) when B's two halves suit: B - W = F >= W."""
    F, W = max(F, W), min(F, W)
    B, p = F + W, 2 * half
    both = B + F * data.draw(st.fractions(0, 1, max_denominator=4))
    m = 2 * p + 2 * more
    events = dualpipe(p, m, F, B, W, both)
    expected = (half - 1) * (both + B - 3 * W)
    assert max(idle(events)) == idle(events)[half] == expected
    if both == F + B:
        assert idle(events) == [expected] * p
    assert in_flight(events) == [p + 1] * p


@pytest.mark.parametrize(
    ("F", "B", "W", "counted", "formula"),
    [(1, 1, HALF, 14, Fraction(21, 2)), (2, 3, 2, 28, 14), (1, 4, 1, 41, 42)],
    ids=["B-W<F", "B-W<F,W=F", "B-W>F"],
)
def test_ET_22_where_the_formula_is_not_what_is_counted(
    F, B, W, counted, formula
):
    assert formula == 7 * ((F + B) + B - 3 * W)
    assert idle(dualpipe(16, 32, F, B, W)) == [counted] * 16


# ---- optimal, by trying every schedule there is -----------------------------


def all_orders(m, kinds):
    """Every order of one stage's tasks that keeps each microbatch in order."""
    slots = [i for i in range(m) for _ in kinds]
    for turn in set(itertools.permutations(slots)):
        kind = [iter(kinds) for _ in range(m)]
        yield [(next(kind[i]), i, 0) for i in turn]


def best(p, m, lasts):
    """The shortest makespan over all orders of all stages."""
    times, ways = [], routes(p, m)
    orders_of_one = list(all_orders(m, list(lasts)))
    for orders in itertools.product(orders_of_one, repeat=p):
        try:
            events = play(orders, ways, lasts)
        except ValueError:  # these orders wait for each other
            continue
        times.append(max(event.end for event in events))
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 1), (2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize(("F", "B"), [(1, 1), (3, 1)])
def test_nothing_beats_gpipe_and_1f1b_without_a_split(p, m, F, B):
    shortest = best(p, m, {"forward": F, "backward": B})
    assert shortest == (m + p - 1) * (F + B)
    assert makespan(one_f_one_b(p, m, F, B)) == shortest
    assert lower_bound(gpipe(p, m, F, B), routes(p, m)) == shortest


@pytest.mark.slow
@pytest.mark.parametrize(("p", "m"), [(2, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize(
    ("F", "B", "W"), [(1, 1, 1), (2, 1, 1), (1, 1, 2), (1, 5, 5)]
)
def test_nothing_beats_the_split_on_small_pipelines(p, m, F, B, W):
    shortest = best(p, m, {"forward": F, "input": B, "weight": W})
    events = zero_bubble(p, m, F, B + W, W)
    assert makespan(events) == shortest
    assert lower_bound(events, routes(p, m)) <= shortest


@given(st.integers(2, 8), st.data(), TIMES, TIMES)
def test_the_split_meets_the_lower_bound_when_B_is_short(p, data, F, W):
    m = data.draw(st.integers(p, 16))
    B = min(F, W)
    events = zero_bubble(p, m, F, B + W, W)
    assert makespan(events) == lower_bound(events, routes(p, m))


# ---- planted faults ---------------------------------------------------------

LEGAL = [
    (0, "forward", 0, 0, 1),
    (1, "forward", 0, 1, 2),
    (1, "backward", 0, 2, 4),
    (0, "backward", 0, 4, 6),
]
SPLIT = [
    *LEGAL[:2],
    (1, "input", 0, 2, 3),
    (0, "input", 0, 3, 4),
    (1, "weight", 0, 3, 4),
    (0, "weight", 0, 4, 5),
]


def test_plain_tuples_are_events():
    assert check(LEGAL, routes(2, 1)) == [Event(*e) for e in LEGAL]
    assert check(SPLIT, routes(2, 1))[-1] == Event(0, "weight", 0, 4, 5, 0)
    halves_on_one_stage = [*SPLIT[:3], (1, "weight", 0, 5, 6), LEGAL[3]]
    assert len(check(halves_on_one_stage, routes(2, 1))) == 5
    assert makespan(LEGAL) == 6
    later = [
        (s, kind, i, start + 5, end + 5) for s, kind, i, start, end in LEGAL
    ]
    assert makespan(check(later, routes(2, 1))) == 6
    assert idle(later) == idle(LEGAL) == [3, 3]
    assert in_flight(SPLIT) == [1, 1]


@each(
    ("events", "sentence"),
    [
        pytest.param(
            [*LEGAL[:1], (1, "forward", 0, 0, 1), *LEGAL[2:]],
            "the forward of microbatch 0 on stage 1 (from 0 to 1) is too "
            "early: it needs the forward of microbatch 0 on stage 0 (from 0 "
            "to 1)",
            id="forward-before-its-input",
        ),
        pytest.param(
            [*LEGAL[:2], (1, "backward", 0, 1, 2), LEGAL[3]],
            "the backward of microbatch 0 on stage 1 (from 1 to 2) finds its "
            "stage busy with the forward of microbatch 0 on stage 1 (from 1 "
            "to 2)",
            id="two-events-at-a-time",
        ),
        pytest.param(
            [*LEGAL[:3], (0, "backward", 0, 3, 5)],
            "the backward of microbatch 0 on stage 0 (from 3 to 5) is too "
            "early: it needs the backward of microbatch 0 on stage 1 (from 2 "
            "to 4)",
            id="backward-before-its-gradient",
        ),
        pytest.param(
            [LEGAL[0], (1, "backward", 0, 1, 2), (1, "forward", 0, 2, 3)],
            "the backward of microbatch 0 on stage 1 (from 1 to 2) is too "
            "early: it needs the forward of microbatch 0 on stage 1 (from 2 "
            "to 3)",
            id="backward-before-its-forward",
        ),
        pytest.param(
            [*SPLIT[:3], (1, "weight", 0, 3, 4), (0, "weight", 0, 3, 4)],
            "the weight gradient of microbatch 0 on stage 0 (from 3 to 4) "
            "needs the input gradient of microbatch 0 on stage 0, done by no "
            "event",
            id="weight-without-input",
        ),
        pytest.param(
            [*SPLIT[:2], (1, "weight", 0, 2, 3), (1, "input", 0, 3, 4)],
            "the weight gradient of microbatch 0 on stage 1 (from 2 to 3) is "
            "too early: it needs the input gradient of microbatch 0 on stage "
            "1 (from 3 to 4)",
            id="weight-before-input",
        ),
        pytest.param(
            LEGAL[:3],
            "no event does the input gradient of microbatch 0 on stage 0",
            id="lost-backward",
        ),
        pytest.param(
            SPLIT[:-1],
            "no event does the weight gradient of microbatch 0 on stage 0",
            id="lost-weight",
        ),
        pytest.param(
            LEGAL[1:],
            "the forward of microbatch 0 on stage 1 (from 1 to 2) needs the "
            "forward of microbatch 0 on stage 0, done by no event",
            id="lost-forward",
        ),
        pytest.param(
            [*LEGAL, (1, "forward", 0, 4, 5)],
            "the forward of microbatch 0 on stage 1 (from 4 to 5) repeats the "
            "forward of microbatch 0 on stage 1 (from 1 to 2)",
            id="twice",
        ),
        pytest.param(
            [*LEGAL, (1, "weight", 0, 4, 5)],
            "the weight gradient of microbatch 0 on stage 1 (from 4 to 5) "
            "repeats the backward of microbatch 0 on stage 1 (from 2 to 4)",
            id="half-after-the-whole",
        ),
    ],
)
def test_planted_faults_are_named(events, sentence):
    start = "events must be a schedule that can happen: "
    with pytest.raises(ValueError, match=exactly(start + sentence)):
        check(events, routes(2, 1))


def exactly(sentence, whole=True):
    """A pattern for `match`: all of the message, or how it begins."""
    return "^" + re.escape(sentence) + ("$" if whole else "")


def test_the_first_fault_in_time_is_named():
    late = [*LEGAL[:3], (0, "backward", 0, 3, 5)]
    both = [late[0], (1, "forward", 0, 0, 1), *late[2:]]
    with pytest.raises(ValueError, match="from 0 to 1.* is too early"):
        check(both[::-1], routes(2, 1))


def test_a_hop_takes_its_time():
    events = one_f_one_b(2, 2, hop=HALF)
    check(events, routes(2, 2), hop=HALF)
    check(events, routes(2, 2), hop=0)
    with pytest.raises(ValueError, match="and 2/3 to travel"):
        check(events, routes(2, 2), hop=Fraction(2, 3))


def test_a_hop_within_a_stage_is_free():
    events = interleaved(1, 1, 3, 3, 3, hop=5)
    assert makespan(events) == 6
    check(events, routes(1, 1, 3), hop=5)


def test_work_takes_its_time():
    lasts = {"forward": 1, "backward": [2, 3]}
    with pytest.raises(ValueError, match="on stage 1 .* must take 3"):
        check(LEGAL, routes(2, 1), lasts=lasts)
    with pytest.raises(ValueError, match="on stage 0 .* must take 1"):
        check(LEGAL, routes(2, 1), lasts={"forward": 1, "backward": [1, 2]})
    check(LEGAL, routes(2, 1), lasts={"forward": [1, 1], "backward": 2})
    with pytest.raises(ValueError, match="to have a time in lasts"):
        check(LEGAL, routes(2, 1), lasts={"forward": 1})


def test_chunks_are_visited_in_turn():
    events = interleaved(2, 2, 2, 2, 2)
    swapped = [e._replace(chunk=1 - e.chunk) for e in events]
    with pytest.raises(ValueError, match=r"stage 0, chunk 1 .*stage 1"):
        check(swapped, routes(2, 2, 2))


def test_the_two_directions_are_not_exchangeable():
    events = dualpipe(4, 8, 1, 2, 1)
    check(events, two_way_routes(4, 8))
    turned = [e._replace(stage=3 - e.stage) for e in events]
    with pytest.raises(ValueError, match="events must be a schedule that can"):
        check(turned, two_way_routes(4, 8))
    with pytest.raises(ValueError, match="on the way of its microbatch"):
        check(events, routes(4, 8))


def test_a_pair_cannot_hold_what_waits_for_its_other_half():
    events = [(0, "forward&backward", (0, 0), 0, 3, (0, 0))]
    with pytest.raises(ValueError, match="too early"):
        check(events, routes(1, 1))
    with pytest.raises(ValueError, match="must not do one thing twice"):
        check([(0, "backward&input", (0, 0), 0, 3, (0, 0))], routes(1, 1))


# ---- orders of one's own ----------------------------------------------------


def test_play_runs_any_order():
    # All backwards as soon as they can, on two stages.
    F, B = ("forward", 0, 0), ("backward", 0, 0)
    assert play(
        [[F, B], [F, B]], routes(2, 1), {"forward": 1, "backward": 2}
    ) == [Event(*e) for e in LEGAL]


def test_orders_that_wait_for_each_other_are_refused():
    first = [("forward", 0, 0), ("backward", 0, 0), ("forward", 1, 0)]
    second = [("forward", 1, 0), ("forward", 0, 0), ("backward", 0, 0)]
    sentence = (
        "orders must not make the stages wait for each other: stage 0 for its "
        "backward of microbatch 0, stage 1 for its forward of microbatch 1"
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        play([first, second], routes(2, 2), {"forward": 1, "backward": 1})


# ---- bad input --------------------------------------------------------------


@each(
    ("call", "sentence"),
    [
        (lambda: one_f_one_b(True, 4), "p must be a"),
        (lambda: one_f_one_b(2, 2.0), "m must be a"),
        (lambda: gpipe(2, 2, [1, 2, 3]), "forward must be one time or 2 of th"),
        (lambda: gpipe(2, 2, [1, 0]), "forward[1] must be a"),
        (lambda: interleaved(4, 6, 2), "m must be a multiple of p = 4, got 6"),
        (lambda: dualpipe(3, 8), "p must be even, stages are paired, got 3"),
        (lambda: dualpipe(4, 9), "m must be even, half for each direction, g"),
        (lambda: dualpipe(4, 6), "m must be at least 2p = 8, got 6"),
        (lambda: two_way_routes(4, 3), "m must be even, half for each directi"),
        (lambda: zero_bubble(2, 2, weight=1), "weight must be less than backw"),
        (lambda: makespan([]), "events must hold at least one event, got none"),
        (lambda: in_flight([]), "events must hold at least one event"),
        (lambda: bubble([]), "events must hold at least one event"),
        (lambda: check([], []), "ways must hold a way for each microbatch"),
        (
            lambda: check([7], routes(1, 1)),
            "events[0] must be (stage, kind, mi",
        ),
        (
            lambda: check([LEGAL[0][:4]], routes(2, 1)),
            "events[0] must be (stag",
        ),
        (
            lambda: play([[("backward", 0, 0)]], routes(1, 1), {"forward": 1}),
            "orders[0][0], its kind, must be one of 'forward'; got 'backward'",
        ),
        (
            lambda: play([["forward"]], routes(1, 1), {"forward": 1}),
            "orders[0][0] must hold a kind, a microbatch and a chunk",
        ),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ValueError, match=exactly(sentence, whole=False)):
        call()


@each(
    ("event", "sentence"),
    [
        ((0, "fwd", 0, 0, 1), "events[0], its kind, must be one of 'forward'"),
        ((0, 7, 0, 0, 1), "events[0] must hold a kind, a microbatch and a chu"),
        ((5, "forward", 0, 0, 1), "events[0] must be on the way of its microb"),
        ((-1, "forward", 0, 0, 1), "events[0], its stage, must be a"),
        ((0, "forward", 3, 0, 1), "events[0] must be on the way of its microb"),
        ((0, "forward", 0.5, 0, 1), "events[0], its microbatch, must be a"),
        ((0, "forward", 0, 0, 1, 1), "events[0] must be on the way of its mic"),
        ((0, "forward", 0, -1, 1), "events[0], its start, must be a"),
        ((0, "forward", 0, 0, None), "events[0], its end, must be a"),
        ((0, "forward", 0, 1, 1), "events[0] must end after it starts, got th"),
        ((0, "forward", 0, 2, 1), "events[0] must end after it starts, got th"),
        ((0, "forward&backward", 0, 0, 1), "events[0] must hold a kind, a mic"),
    ],
)
def test_a_malformed_event_is_named(event, sentence):
    with pytest.raises(ValueError, match=exactly(sentence, whole=False)):
        check([event], routes(2, 1))


# For every function arguments that are right, to be spoilt one by one.
PLAIN = {"p": 2, "m": 4, "forward": 1, "backward": 2, "hop": 0}
ORDERS = [[("forward", 0, 0), ("backward", 0, 0)]] * 2
RIGHT = {
    "routes": {"p": 2, "m": 4, "v": 2},
    "two_way_routes": {"p": 2, "m": 4},
    "play": {
        **{"orders": ORDERS, "ways": routes(2, 1), "hop": 0},
        "lasts": {"forward": 1, "backward": 2},
    },
    "naive": PLAIN,
    "gpipe": PLAIN,
    "one_f_one_b": PLAIN,
    "interleaved": PLAIN | {"v": 2},
    "zero_bubble": PLAIN | {"weight": 1},
    "dualpipe": PLAIN | {"weight": 1, "both": 3},
    "one_f_one_b_order": {"s": 0, "p": 2, "m": 4},
    "lockstep": {
        **{"events": LEGAL, "ways": routes(2, 1)},
        "lasts": {"forward": 1, "backward": 2},
    },
    "check": {
        **{"events": LEGAL, "ways": routes(2, 1), "hop": 0},
        "lasts": {"forward": 1, "backward": 2},
    },
    "lower_bound": {"events": LEGAL, "ways": routes(2, 1), "hop": 0},
}
COUNTERS = ("makespan", "busy", "idle", "bubble", "utilisation", "in_flight")
COUNTERS += ("in_flight_over_time",)
RIGHT |= {name: {"events": LEGAL} for name in COUNTERS}
NONSENSE = [
    *(None, "text", "", b"8", float("nan"), float("inf"), -1, 0, 2.5, True),
    *(False, 10**400, -(10**400), [], {}, (), [None], [[]], [()], [[None]]),
    *({1: 2}, [LEGAL[0][:3]], [(0,) * 5], object(), [LEGAL], [1, 2, 3]),
]
FINE = {("hop", "0"), ("hop", "2.5"), ("forward", "2.5"), ("backward", "2.5")}
FINE |= {("both", "2.5"), ("both", "None"), ("weight", "None")}
# Stages that have nothing to do; that work is missing is for `check` to say.
FINE |= {("orders", said) for said in ("[]", "()", "[[]]", "[()]")}


@each(
    ("function", "argument"),
    [(f, name) for f, right in RIGHT.items() for name in right],
)
def test_every_argument_of_every_function_refuses_nonsense(function, argument):
    call, right = getattr(pipeline, function), RIGHT[function]
    call(**right)
    for value in NONSENSE:
        huge = isinstance(value, int) and abs(value) > 1e300
        said = (argument, "huge" if huge else repr(value))
        if said in FINE and function not in ("check", "lower_bound"):
            call(**right | {argument: value})
            continue
        if value is None and argument == "lasts" and function != "play":
            continue
        if value == 0 and argument in ("hop", "s"):
            continue
        with pytest.raises(ValueError, match=rf"\b{argument}\b|events|orders"):
            call(**right | {argument: value})


def test_every_function_is_spoilt():
    public = {
        name
        for name, value in vars(pipeline).items()
        if inspect.isfunction(value)
        and value.__module__ == "shardlab.pipeline"
        and not name.startswith("_")
    }
    assert {*RIGHT} == public


@each(
    "event",
    [
        (10**400, "forward", 0, 0, 1),
        (0, "forward", 0, 0, 10**400),
        (0, "forward", 0, 0, float("inf")),
        (0, "forward", "0", 0, 1),
        (0, "nothing", 0, 0, 1),
        (0, "forward", 0, 1, 1),
        (0, "forward", 0, 0, 1, None),
        (True, "forward", 0, 0, 1),
    ],
)
@each("name", COUNTERS)
def test_what_is_counted_is_events(name, event):
    with pytest.raises(ValueError, match=r"^events\[1\]"):
        getattr(pipeline, name)([LEGAL[0], event])


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ([[(0, 0)]], r"ways\[0\] must be a tuple of places"),
        ([((0, 0),), ([0, 0],)], r"ways\[1\] must be a tuple of places"),
        ([((0, -1),)], r"ways\[0\], a chunk, must be"),
        ([(("0", 0),)], r"ways\[0\], a stage, must be"),
        ([((0, 0), (0, 0))], r"ways\[0\] must pass each place once"),
    ],
)
def test_ways_are_checked(ways, said):
    for call in (pipeline.check, pipeline.lower_bound):
        with pytest.raises(ValueError, match="^" + said):
            call(LEGAL, ways)


def test_a_schedule_too_large_to_list_is_refused():
    with pytest.raises(ValueError, match="p m must be at most 1,000,000"):
        gpipe(10_000, 10_000)


# ---- in lockstep -------------------------------------------------------------

BY_HAND = {  # p, m: makespan as events, and in lockstep, with B = 2F = 2
    (4, 8): {
        "gpipe": (33, 33),
        "one_f_one_b": (33, 40),
        "interleaved": (Fraction(57, 2), 34),
        "zero_bubble": (27, 27),
    },
    (8, 64): {"gpipe": (213, 213), "one_f_one_b": (213, 276)},
}
ROWS = [(*sizes, name) for sizes, rows in BY_HAND.items() for name in rows]


@each(("p", "m", "name"), ROWS)
def test_in_lockstep_a_tick_is_as_long_as_its_longest_task(p, m, name):
    v = (2,) if name == "interleaved" else ()
    events = getattr(pipeline, name)(p, m, *v, forward=1, backward=2)
    ways = routes(p, m, *v)
    expected = BY_HAND[p, m][name]
    found = makespan(events), makespan(lockstep(events, ways))
    assert found == expected


@given(schedules())
def test_a_schedule_in_lockstep_can_happen_and_takes_no_less(schedule):
    events, ways, hop, _ = schedule
    assume(hop == 0)
    assume(not any("&" in e.kind for e in events))
    slower = lockstep(events, ways)
    assert check(slower, ways) == slower
    assert makespan(slower) >= makespan(events)
    assert busy(slower) == busy(events)


@given(STAGES, MICROBATCHES, TIMES)
def test_tasks_of_equal_length_lose_nothing_in_lockstep(p, m, time):
    for build in gpipe, one_f_one_b:
        events = build(p, m, time, time)
        assert lockstep(events, routes(p, m)) == events
    split = zero_bubble(p, m, time, 2 * time, time)
    assert makespan(lockstep(split, routes(p, m))) == makespan(split)


def test_what_runs_as_one_takes_two_ticks():
    ways = two_way_routes(4, 8)
    events = dualpipe(4, 8, 1, 2)
    slower = lockstep(events, ways)
    assert check(slower, ways) == slower
    assert not any("&" in e.kind for e in slower)
    assert busy(slower) == busy(events)


def test_a_time_that_no_event_tells_is_asked_for():
    ways = routes(1, 1)
    with pytest.raises(ValueError, match="kind, to have a time in lasts"):
        lockstep(gpipe(1, 1), ways, lasts={"forward": 1})


# ---- stages that are not alike -----------------------------------------------


def test_a_longer_last_stage_holds_up_all_others():
    # An output layer as long as a stage's other layers, on the last of four.
    forward, backward = [1, 1, 1, 2], [2, 2, 2, 4]
    for build in gpipe, one_f_one_b:
        events = build(4, 8, forward, backward)
        assert makespan(events) == 3 * 3 + 8 * 6
        assert busy(events) == [24, 24, 24, 48]
    # It is never idle in between, so that lockstep adds nothing either.
    assert makespan(lockstep(events, routes(4, 8))) == makespan(events)


# ---- in flight, over time ----------------------------------------------------


def test_microbatches_in_flight_are_counted_from_moment_to_moment():
    first, last = in_flight_over_time(one_f_one_b(2, 3, 1, 2))
    assert first == [(0, 1), (1, 2), (6, 2), (9, 1), (12, 0)]
    assert last == [(1, 1), (4, 1), (7, 1), (10, 0)]


@given(schedules())
def test_in_flight_over_time_begins_and_ends_with_nothing(schedule):
    events, *_ = schedule
    for counts, most in zip(
        in_flight_over_time(events), in_flight(events), strict=True
    ):
        assert counts[-1][1] == 0
        assert min(n for _, n in counts[:-1]) >= 0
        assert max(n for _, n in counts) == most


@pytest.mark.parametrize("f", [bubble, idle, utilisation, busy, in_flight])
def test_events_that_overlap_are_refused(f):
    events = [(0, "forward", 0, 0, 2), (0, "backward", 0, 1, 3)]
    with pytest.raises(ValueError, match="must not overlap on a stage: the ba"):
        f(events)


def test_a_stages_order_is_warm_up_steady_state_and_cool_down():
    kinds = [kind[0] for kind, *_ in one_f_one_b_order(1, 4, 5)]
    assert "".join(kinds) == "fffbfbfbbb"
    with pytest.raises(ValueError, match="s must be a stage, 0 to 3, got 4"):
        one_f_one_b_order(4, 4, 5)
