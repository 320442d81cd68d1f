"""Timelines: queues in order, needs met, and what is hidden behind what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import timeline
from shardlab.timeline import Done, Task
from tests.each import each

QUEUES = ("chip", "network", "disk")


@st.composite
def tasks(draw):
    """Tasks that need only such as come before them."""
    made = []
    for n in range(draw(st.integers(1, 12))):
        needs = draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else ()
        made.append(
            Task(
                f"t{n}",
                draw(st.sampled_from(QUEUES)),
                draw(st.integers(0, 9)),
                tuple(f"t{need}" for need in sorted(needs)),
            )
        )
    return made


@given(tasks())
def test_each_task_takes_its_time_in_the_order_of_the_list(work):
    played = timeline.play(work)
    assert [d.name for d in played] == [t.name for t in work]
    assert [d.queue for d in played] == [t.queue for t in work]
    assert [d.end - d.start for d in played] == [t.seconds for t in work]


@given(tasks())
def test_a_task_starts_as_soon_as_it_may_and_not_before(work):
    played = timeline.play(work)
    ends = {d.name: d.end for d in played}
    for n, (task, done) in enumerate(zip(work, played, strict=True)):
        waits = [ends[need] for need in task.needs]
        waits += [d.end for d in played[:n] if d.queue == task.queue]
        assert done.start == max(waits, default=0)


@given(tasks())
def test_the_time_of_the_whole_lies_between_its_bounds(work):
    played = timeline.play(work)
    busy = [
        sum(t.seconds for t in work if t.queue == queue) for queue in QUEUES
    ]
    assert max(busy) <= timeline.makespan(played) <= sum(busy)


@given(tasks())
def test_exposed_time_is_counted_tick_by_tick(work):
    played = timeline.play(work)

    def busy(queue, tick):
        return any(d.queue == queue and d.start <= tick < d.end for d in played)

    ticks = range(int(timeline.makespan(played)))
    counted = sum(busy("network", t) and not busy("chip", t) for t in ticks)
    assert timeline.exposed(played) == counted
    other = sum(busy("chip", t) and not busy("disk", t) for t in ticks)
    assert timeline.exposed(played, "chip", "disk") == other


def test_an_all_reduce_hides_behind_the_products_that_follow():
    played = timeline.play(
        [
            Task("dW_out", "chip", 2),
            Task("sum dW_out", "network", 3, ("dW_out",)),
            Task("dTmp", "chip", 2),
            Task("dW_in", "chip", 2, ("dTmp",)),
            Task("sum dW_in", "network", 3, ("dW_in",)),
            Task("dIn", "chip", 2, ("dTmp",)),
        ]
    )
    assert played[4] == Done("sum dW_in", "network", 6, 9)
    assert timeline.makespan(played) == 9
    assert timeline.exposed(played) == 1


ONE = Task("a", "chip", 1)
BAD = {
    "no task": (("a", "chip", 1), "tasks must be Tasks"),
    "text": (Task("b", "chip", 1, "a"), "tasks must be Tasks"),
    "no needs": (Task("b", "chip", 1, None), "tasks must be Tasks"),
    "no name": (Task(["b"], "chip", 1), "tasks must be Tasks"),
    "no queue": (Task("b", ["chip"], 1), "tasks must be Tasks"),
    "needs no name": (Task("b", "chip", 1, (["a"],)), "tasks must be Tasks"),
    "twice": (ONE, "must differ in name, got 'a' twice"),
    "needs": (Task("b", "chip", 1, ("c",)), "b must come after .*'c'"),
    "itself": (Task("b", "chip", 1, ("b",)), "b must come after .*'b'"),
    "below 0": (Task("b", "chip", -1), "seconds of b must be a"),
    "bool": (Task("b", "chip", True), "seconds of b must be a"),
}


@each("name", BAD)
def test_bad_tasks_are_named(name):
    task, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        timeline.play([ONE, task])


@pytest.mark.parametrize("played", [[], None, [1], (ONE,), [ONE]])
def test_what_was_not_played_is_refused(played):
    for question in (timeline.makespan, timeline.exposed):
        with pytest.raises(ValueError, match="played must be a list of Done"):
            question(played)


def test_two_tasks_at_once_on_a_queue_are_refused():
    played = [
        timeline.Done("a", "chip", 0, 2),
        timeline.Done("b", "chip", 1, 3),
        timeline.Done("c", "network", 0, 3),
    ]
    with pytest.raises(ValueError, match="got b while a is under way on chip"):
        timeline.exposed(played)
    sums = [
        timeline.Done("a", "chip", 0, 0.1 + 0.2),
        timeline.Done("b", "chip", 0.3, 0.5),
    ]
    assert timeline.exposed(sums) == 0
