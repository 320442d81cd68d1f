"""Runs that fail, bits that flip, steps that wait: formula and simulation."""

from math import inf, nan

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

from shardlab import bits, cost, evidence, failures
from shardlab.strategies import adam
from shardlab.transformer import faults, training
from shardlab.transformer import model as decoder
from shardlab.transformer.evidence import TINY
from tests.compiling import compiled
from tests.each import each

pytestmark = pytest.mark.slow

M = 10_000.0  # seconds between failures


def best(save, mtbf):
    """The interval of the highest goodput, found by trying all."""
    tried = np.geomspace(save / 10, 5 * mtbf, 20_001)
    found = [cost.goodput(interval, save, mtbf) for interval in tried]
    return tried[int(np.argmax(found))]


@pytest.mark.parametrize("save", [1.0, 60.0, 600.0, 5000.0])
def test_daly_finds_the_interval_that_loses_least(save):
    wanted = best(save, M)
    assert cost.daly_interval(save, M) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize(
    ("minutes", "printed"), [(24 * 60, 117), (6 * 60, 57), (15, 9.1)]
)
def test_daly_of_the_figures_of_his_paper(minutes, printed):
    """Figures 3 to 5: a save of 5 minutes, M of 24 h, 6 h and 15 min."""
    found = cost.daly_interval(5 * 60, 60 * minutes) / 60
    assert found == pytest.approx(printed, rel=0.01)


def test_young_is_good_while_a_checkpoint_is_short():
    assert cost.young_interval(1, M) == pytest.approx(best(1, M), rel=0.01)
    assert cost.young_interval(5000, M) > 1.2 * best(5000, M)
    assert cost.daly_interval(2 * M, M) == M


@each("restart", [0.0, 400.0])
@each("write", [0.0, 300.0])
@each("interval", [200.0, 1200.0, 8000.0])
def test_goodput_is_what_is_simulated(interval, write, restart):
    run = interval, 60.0, M, restart, write
    found = failures.goodput(*run, failures=200_000, seed=3)
    assert abs(found.mean - cost.goodput(*run)) < 4 * found.error
    assert found.error < 0.01


def test_a_run_that_is_played_keeps_what_the_formula_says():
    for interval in (300.0, 1200.0, 6000.0):
        events = failures.play(interval, 60.0, M, 500.0, 4000 * M, seed=1)
        wanted = cost.goodput(interval, 60.0, M, 500.0)
        assert failures.kept(events) == pytest.approx(wanted, rel=0.03)


def test_a_played_run_has_no_gaps_and_loses_only_the_unsaved():
    events = failures.play(900.0, 60.0, M, 500.0, 30 * M, seed=2)
    assert events[0].start == 0
    assert events[-1].end == pytest.approx(30 * M)
    for event, after in zip(events, events[1:], strict=False):
        assert event.end == after.start
        assert event.kind in failures.KINDS
        if event.kind == "work":  # kept: a checkpoint follows, or the end
            assert after.kind == "save"
    lost = [e for e in events if e.kind == "lost"]
    assert lost
    assert all(e.end - e.start <= 900 + 1e-6 for e in lost)


def test_a_checkpoint_that_takes_for_ever_keeps_nothing():
    assert cost.goodput(100.0, 1e9, M) == 0
    assert failures.goodput(100.0, 1e9, M).mean == 0


@pytest.mark.parametrize("N", [2, 8, 256, 4096])
def test_the_slowest_of_many_is_what_is_drawn(N):
    found = failures.slowest(N, 2.0, 0.1, steps=4000, seed=5)
    wanted = cost.slowest(N, 2.0, 0.1)
    assert found.mean == pytest.approx(wanted, rel=0.002)
    assert failures.slowest(N, 2.0, 0.0).mean == 2.0


def test_one_chip_waits_for_nobody():
    assert cost.slowest(1, 2.0, 0.1) == 2.0
    assert cost.hit_share(1, 0.25) == 0.25
    assert cost.hit_share(2, 0.5) == 0.75
    assert cost.hit_share(100, 0) == 0


@each(
    ("call", "words"),
    [
        (lambda: failures.play(0, 1, 1, 0, 1), "interval must be"),
        (lambda: failures.play(1, 1, 1, 0, inf), "span must be"),
        (lambda: failures.play(1, 1, 1, 0, 1, seed=-1), "seed must be"),
        (lambda: failures.kept([]), "events must hold"),
        (lambda: failures.goodput(1, -1, 1), "save must be"),
        (lambda: failures.goodput(1, 1, nan), "mtbf must be"),
        (lambda: failures.goodput(1, 1, 1, failures=0), "failures must be"),
        (lambda: failures.slowest(0, 1, 1), "N must be"),
        (lambda: failures.slowest(2, 1, -1), "deviation must be"),
        (lambda: cost.hit_share(2, 1.5), "chance must be at most 1"),
        (lambda: bits.flip(jnp.arange(3), 0, 1), "x must be float32"),
        (lambda: bits.checksum(jnp.zeros(2, "bfloat16")), "x must be float32"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        call()


# ---- bits -------------------------------------------------------------------


def test_a_flip_turns_one_bit_of_one_number():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)), "float32")
    for bit in range(bits.BITS):
        turned = bits.flip(x, 5, bit)
        words = [np.asarray(a).view("uint32").ravel() for a in (x, turned)]
        assert words[0][5] ^ words[1][5] == 1 << bit
        assert (np.delete(words[0], 5) == np.delete(words[1], 5)).all()
        back = np.asarray(bits.flip(turned, 5, bit))
        assert (back.view("uint32") == np.asarray(x).view("uint32")).all()
    assert bits.flip(jnp.float32([1.5]), 0, 31)[0] == -1.5
    assert bits.flip(x, 5, 30, strikes=False).tolist() == x.tolist()


def test_a_checksum_sees_every_single_bit():
    x = {"a": jnp.float32([0.3, -2]), "b": jnp.float32([[7.0]])}
    right = int(bits.checksum(x))
    words = [np.asarray(a).view("uint32") for a in jax.tree.leaves(x)]
    assert right == sum(int(w.astype("uint64").sum()) for w in words) % 2**32
    for bit in range(bits.BITS):
        wrong = x | {"b": bits.flip(x["b"], 0, bit)}
        assert int(bits.checksum(wrong)) != right


# ---- a fault in a training step ---------------------------------------------


@pytest.fixture(scope="module")
def run():
    """Losses, checksums and states of three steps under a fault in the 2nd."""
    axis = (AxisType.Auto,)
    devices = jax.devices()[:8]
    mesh = jax.make_mesh((8,), ("X",), axis_types=axis, devices=devices)
    step = compiled(faults.train(mesh, TINY.context))
    rng = np.random.default_rng(4)
    batch = rng.integers(0, TINY.vocab, (2, 8 * TINY.context), dtype=np.int32)
    start = jax.tree.map(adam.start, decoder.start(TINY))

    def steps(fault):
        states = jax.tree.map(lambda x: jnp.stack([x] * 8), start)
        seen = []
        for n in range(3):
            parts, states, sums = step(
                *batch, states, *(fault if n == 1 else faults.NOWHERE)
            )
            seen.append((float(parts.sum()), len(set(sums.tolist()))))
        return seen, states

    return steps, batch, start


@pytest.mark.long
def test_without_a_fault_it_is_data_parallelism(run):
    steps, batch, start = run
    seen, states = steps(faults.NOWHERE)
    mesh = evidence.devices({"X": 8, "Y": 1})
    plain, W = compiled(training.train("dp", mesh, TINY.context)), None
    W, held = decoder.start(TINY), start
    for loss, different in seen:
        parts, W, held = plain(*batch, W, held)
        assert loss == pytest.approx(float(parts.sum()), rel=1e-5)
        assert different == 1
    mine = jax.tree.leaves(faults.masters(states))
    for copies, alone in zip(mine, jax.tree.leaves(W), strict=True):
        np.testing.assert_allclose(copies[3], alone, atol=1e-5)


@pytest.mark.long  # chapter 17 runs the same step, with the same faults
@pytest.mark.parametrize(
    ("place", "different"), [("weight", 2), ("gradient", 1), ("sum", 2)]
)
def test_copies_differ_unless_the_fault_was_before_the_sum(
    run, place, different
):
    fault = faults.PLACES.index(place), 5, 27
    seen, states = run[0](fault)
    assert [count for _, count in seen] == [1, different, different]
    right = run[0](faults.NOWHERE)[1]
    pairs = zip(jax.tree.leaves(states), jax.tree.leaves(right), strict=True)
    assert any((a != b).any() for a, b in pairs)


@pytest.mark.long
def test_the_worst_bit_of_a_weight_is_seen_in_the_loss(run):
    fault = faults.PLACES.index("weight"), 5, 30
    wrong, right = run[0](fault)[0][1][0], run[0](faults.NOWHERE)[0][1][0]
    assert not wrong < right + 0.02  # larger, or not a number


def test_adam_moves_a_weight_little_for_any_gradient():
    """By at most 10 * 0.1 / sqrt(0.001) rates, however large it is."""
    state, moved = adam.start(jnp.float32([0.0])), []
    for n in range(200):
        gradient = jnp.float32([1e15 if n == 0 else 1e-3])
        W, state = adam.update(gradient, state)
        moved.append(float(W[0]))
    assert 0.025 < abs(moved[-1]) < 0.032
    assert abs(moved[0]) == pytest.approx(1e-3 * 0.1 / 0.001**0.5)
