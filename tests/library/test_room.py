"""What a chip holds on a timeline, and whether the timeline could be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import room, timeline
from shardlab.room import Stay
from shardlab.timeline import Done, Task
from tests.each import each


def prefetched(gather, work, ahead):
    """Gathers that may run `ahead` matrices before their products."""
    tasks = []
    for i, (fetch, multiply) in enumerate(zip(gather, work, strict=True)):
        needs = (f"F{i - ahead}",) if i >= ahead else ()
        tasks.append(Task(f"AG{i}", "network", fetch, needs))
        tasks.append(Task(f"F{i}", "chip", multiply, (f"AG{i}",)))
    stays = [Stay(f"W{i}", f"AG{i}", f"F{i}") for i in range(len(gather))]
    return tasks, stays


durations = st.lists(st.integers(1, 20), min_size=1, max_size=8)


@given(durations, st.data(), st.integers(1, 4))
def test_what_is_played_is_legal_and_holds_no_more_than_asked(g, data, ahead):
    work = data.draw(st.lists(st.integers(1, 20), min_size=len(g), max_size=8))
    tasks, stays = prefetched(g, work[: len(g)], ahead)
    played = timeline.play(tasks)
    assert room.faults(played, tasks) == []
    assert room.peak(played, stays) <= ahead
    alone = room.in_one_queue(tasks, "chip")
    one = timeline.play(alone)
    assert room.faults(one, alone) == []
    assert timeline.makespan(one) == sum(g) + sum(work[: len(g)])


@given(durations)
def test_held_is_a_sum_over_stays_at_every_moment(lasts):
    tasks = [Task(f"{i}", "chip", long) for i, long in enumerate(lasts)]
    played, n = timeline.play(tasks), len(lasts)
    stays = [Stay(f"a{i}", f"{i}", f"{n - 1}", i + 1) for i in range(n)]
    moments = room.profile(played, stays)
    for time, total, names in moments:
        there = [
            stay
            for i, stay in enumerate(stays)
            if played[i].start <= time < played[-1].end
        ]
        assert total == sum(stay.size for stay in there)
        assert names == tuple(stay.what for stay in there)
    assert moments[-1][1] == 0
    assert room.peak(played, stays) == n * (n + 1) // 2


def test_what_goes_makes_room_for_what_comes():
    tasks = [Task("a", "chip", 2), Task("b", "chip", 3)]
    played = timeline.play(tasks)
    assert room.peak(played, [Stay("x", "a", "a"), Stay("y", "b", "b")]) == 1
    assert room.profile(played, []) == []
    assert room.peak(played, []) == 0


@each(
    ("name", "start", "end", "queue", "said"),
    [
        ("b", 1, 4, "chip", "b starts before a is done"),
        ("b", 2, 4, "chip", "b is not what was to be done"),
        ("b", 2, 5, "network", "b is not what was to be done"),
        ("c", -1, 0, "network", "c starts before 0"),
        ("c", 0, 1, "chip", "c is not what was to be done"),
        ("d", 1, 2, "chip", "a and d are under way at once on chip"),
    ],
)
def test_what_could_not_have_happened_is_found(name, start, end, queue, said):
    tasks = [Task("a", "chip", 2), Task("b", "chip", 3, ("a",))]
    tasks += [Task("c", "network", 1), Task("d", "chip", 1)]
    played = timeline.play(tasks)
    assert room.faults(played, tasks) == []
    later = [done._replace(start=9 + i, end=0) for i, done in enumerate(played)]
    assert room.faults(later, tasks)
    changed = [
        Done(name, queue, start, end) if done.name == name else done
        for done in played
    ]
    assert said in room.faults(changed, tasks)


SECONDS = st.sampled_from([1e-9, 3e-7, 0.1, 7.7, 1e3])


@given(st.lists(SECONDS, min_size=1, max_size=9))
def test_what_is_played_is_legal_at_any_scale(lasts):
    tasks = [Task(f"{i}", "chip", long) for i, long in enumerate(lasts)]
    assert room.faults(timeline.play(tasks), tasks) == []


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_short_task_late_in_a_timeline_takes_its_time(share):
    tasks = [Task("a", "chip", 1000), Task("b", "chip", 1e-6)]
    played = timeline.play(tasks)
    played[1] = played[1]._replace(end=1000 + share * 1e-6)
    assert room.faults(played, tasks) == ["b is not what was to be done"]


@each(
    "done",
    [
        Done("a", "chip", math.nan, math.nan),
        Done("a", "chip", 0, math.nan),
        Done("a", "chip", math.inf, math.inf),
        Done("a", "chip", "0", "1"),
        Done("a", "chip", None, 1),
        ("a", "chip", 0, 1),
    ],
)
def test_a_time_that_is_none_is_a_fault(done):
    assert room.faults([done], [Task("a", "chip", 1)]) == [
        "every task must be Done, from one finite time to another"
    ]


def test_every_task_is_done_once():
    tasks = [Task("a", "chip", 1), Task("b", "chip", 1)]
    played = timeline.play(tasks)
    for wrong in (played[:1], played + played[:1], []):
        assert room.faults(wrong, tasks) == [
            "every task must be done, and once"
        ]


@pytest.mark.parametrize(
    ("stay", "said"),
    [
        (Stay("x", "a", "z"), "x must stay between tasks, got z"),
        (Stay("x", "b", "a"), "x must come before it goes"),
        (Stay("x", "a", "b", -1), "size of x"),
    ],
)
def test_a_stay_that_cannot_be_is_refused(stay, said):
    played = timeline.play([Task("a", "chip", 1), Task("b", "chip", 1)])
    with pytest.raises(ValueError, match=said):
        room.profile(played, [stay])


def test_a_need_that_is_no_task_is_a_fault():
    tasks = [Task("a", "chip", 1, ("zz",))]
    played = [Done("a", "chip", 0, 1)]
    assert room.faults(played, tasks) == ["a needs zz, which is no task"]
