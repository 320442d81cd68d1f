"""Tasks of training steps: played, and held against what must come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab import room, steps, timeline
from tests.each import each

LAYERS = st.integers(1, 9)
SECONDS = st.integers(1, 9)


def forward_end(played):
    return max(done.end for done in played if done.name.startswith("F"))


def held_in_forward(played, stays):
    """The most gathered matrices at a time before the way back begins."""
    whole = [stay for stay in stays if stay.what[1:].isdigit()]
    end = forward_end(played)
    return max(n for at, n, _ in room.profile(played, whole) if at < end)


def held_going_back(played, stays):
    whole = [s for s in stays if s.what.startswith("W") and "_" not in s.what]
    end = forward_end(played)
    return max(n for at, n, _ in room.profile(played, whole) if at >= end)


@pytest.mark.parametrize(
    ("ahead", "seconds", "matrices"), [(0, 16, 1), (1, 9, 2), (2, 9, 2)]
)
def test_one_layer_hides_nothing_and_two_hide_the_gathers(
    ahead, seconds, matrices
):
    # Eight layers; a gather takes as long as a product.
    played = timeline.play(steps.fsdp_tasks(8, 1, 1, ahead))
    assert forward_end(played) == seconds
    stays = [s for s in steps.fsdp_stays(8, N=8) if s.what in WHOLE]
    assert held_in_forward(played, stays) == matrices
    assert held_going_back(played, stays) == 1


WHOLE = {f"W{n}" for n in range(9)}


@given(LAYERS, SECONDS, SECONDS, st.integers(0, 3))
def test_a_step_could_happen_and_lasts_at_least_as_long_as_its_work(
    L, gather, product, ahead
):
    tasks = steps.fsdp_tasks(L, gather, product, ahead)
    played = timeline.play(tasks)
    assert room.faults(played, tasks) == []
    longest = max(3 * L * product, 3 * L * gather)
    assert timeline.makespan(played) >= longest
    stays = steps.fsdp_stays(L)
    assert room.peak(played, stays) > 0


@given(LAYERS, SECONDS, SECONDS)
def test_without_fetching_ahead_the_forward_pass_is_the_sum(L, gather, product):
    played = timeline.play(steps.fsdp_tasks(L, gather, product, ahead=0))
    assert forward_end(played) == L * (gather + product)


@given(LAYERS, SECONDS, SECONDS)
def test_one_ahead_hides_all_but_the_first_gather(L, gather, product):
    played = timeline.play(steps.fsdp_tasks(L, gather, product, ahead=1))
    slower = max(gather, product)
    assert forward_end(played) == gather + (L - 1) * slower + product


# ---- buckets -----------------------------------------------------------------


def test_a_bucket_is_sent_when_it_is_full():
    assert steps.buckets([4, 3, 2, 5, 1], 6) == [[0, 1], [2, 3], [4]]
    assert steps.buckets([4, 3], 100) == [[0, 1]]
    assert steps.buckets([4, 3], 1) == [[0], [1]]


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(1, 40)
)
def test_every_gradient_is_in_one_bucket(gradients, bucket):
    filled = steps.buckets(gradients, bucket)
    assert sum(filled, []) == list(range(len(gradients)))
    for here in filled[:-1]:
        assert sum(gradients[n] for n in here) >= bucket
        assert sum(gradients[n] for n in here[:-1]) < bucket


def took(bucket, **how):
    tasks = steps.bucket_tasks([10] * 6, bucket, 2, 10, 1, **how)
    played = timeline.play(tasks)
    assert room.faults(played, tasks) == []
    return timeline.makespan(played)


def test_small_buckets_pay_latency_and_large_ones_wait():
    # Six layers of 2 s and 10 bytes; 10 bytes/s and 1 s a message.
    assert took(10) == 2 + 6 * 2
    assert took(20) == 12 + 3  # each is sent when it is full, beside the next
    assert took(60) == took(60, beside=False) == 12 + 7
    assert took(20, beside=False) == 12 + 3 * 3


@each(
    ("call", "said"),
    [
        (lambda: steps.fsdp_tasks(0), "L must be a"),
        (lambda: steps.fsdp_tasks(2, ahead=-1), "ahead must be a"),
        (lambda: steps.fsdp_tasks(2, gather=-1), "gather must be"),
        (lambda: steps.fsdp_stays(2, matrix=0), "matrix must be"),
        (lambda: steps.buckets([], 1), "gradients must be a list of sizes"),
        (lambda: steps.buckets([1, -1], 1), r"gradients\[1\] must be"),
        (lambda: steps.buckets([1], 0), "bucket must be"),
        (lambda: steps.bucket_tasks([1], 1, 1, 0), "bandwidth must be"),
        (lambda: steps.bucket_tasks([1], 1, 1, 1, beside=1), "beside must be"),
    ],
)
def test_nonsense_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
