"""Numbers that cannot be known: not by search, and not from one another."""

import zlib

import numpy as np
import pytest

from shardlab import check
from shardlab.checks import seeds
from shardlab.grading import batch

SECRET = 1 << 128 | 0x1234_5678_9ABC_DEF0_1234


def numbers(seed, question):
    return seeds.generator(seed, question).integers(1 << 60, size=8).tolist()


def test_a_grader_draws_more_than_any_search_gets_through():
    settings = batch.Settings("root")
    drawn = [batch.drawn(settings) for _ in range(100)]
    assert len(set(drawn)) == 100
    assert all(seed >> seeds.BITS == 1 for seed in drawn)
    assert seeds.BITS >= 128
    # Every bit is drawn: none is the same in all.
    both = np.bitwise_or.reduce([s & ~(1 << 128) for s in drawn])
    assert both == (1 << 128) - 1
    assert batch.drawn(settings._replace(seed=7)) == 7


def test_no_part_of_a_grader_s_seed_is_enough():
    known = numbers(SECRET, "forward on 8")
    for bits in (32, 64, 96, 128):
        part = SECRET & (1 << bits) - 1
        guess = np.random.default_rng([part, zlib.crc32(b"forward on 8")])
        assert guess.integers(1 << 60, size=8).tolist() != known
        assert numbers(part, "forward on 8") != known


def test_each_question_has_a_key_of_its_own():
    # These two have one CRC: with an author's seed they draw the same.
    one, other = "plumless", "buckeroo"
    assert zlib.crc32(one.encode()) == zlib.crc32(other.encode())
    assert numbers(5, one) == numbers(5, other)
    assert numbers(SECRET, one) != numbers(SECRET, other)
    assert numbers(SECRET, one) == numbers(SECRET, one)


@pytest.mark.parametrize("seed", [0, 1, 2, (1 << 64) - 1])
def test_an_author_s_seed_draws_what_it_always_drew(seed, monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, str(seed))
    before = np.random.default_rng([seed, zlib.crc32(b"held")])
    assert check.draw("held").normal(size=5).tolist() == (
        before.normal(size=5).tolist()
    )


def test_the_checks_draw_from_a_grader_s_seed(monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, str(SECRET))
    drawn = check.draw("held").integers(1 << 60, size=8).tolist()
    assert drawn == numbers(SECRET, "held")
