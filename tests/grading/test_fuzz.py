"""Damaged notebooks, formulas, answers and programs end in a sentence."""

import signal
import subprocess
import sys

import pytest

from shardlab.checks import executor
from tests.grading import fuzz
from tests.tree import ROOT

# About three minutes of one core; so many cases, however long they take.
SEEDS, ROUNDS = range(1, 9), 10_000


def test_what_is_damaged_is_taken_or_refused():
    assert fuzz.findings(0, 40) == []


@pytest.mark.whole
@pytest.mark.parametrize("seed", SEEDS)
def test_so_is_much_more_of_it(seed):
    assert fuzz.findings(seed, ROUNDS) == []


def test_a_gather_that_goes_uncounted_would_be_found(monkeypatch):
    data, asked = fuzz.exported()
    fuzz.judged(data, asked, adds=True)
    true = executor.answer

    def fewer(question):
        reply = true(question)
        for one in reply.get("collectives", ()):
            one[4] -= 1
        return reply

    monkeypatch.setattr(executor, "answer", fewer)
    with pytest.raises(AssertionError):
        fuzz.judged(data, asked, adds=True)


def test_words_of_a_program_are_damaged_so_that_some_remain_programs():
    drawn = [fuzz.random.Random(n) for n in range(200)]
    texts = {fuzz.reworded(fuzz.printed(), draw) for draw in drawn}
    assert len(texts) > 150
    alike = [t for t in texts if fuzz.COUNTER.sub("", t) == bare()]
    assert 5 < len(alike) < 100


def bare():
    """The program without what decides how often its loop runs."""
    return fuzz.COUNTER.sub("", fuzz.printed())


@pytest.mark.parametrize(
    ("endless", "said"),
    [
        ("while True: pass", "TimeoutError: it takes more than 1 s"),
        # As C does it, which knows nothing of Python's interruptions.
        (
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})\n"
            "    while True: pass",
            "",
        ),
    ],
)
def test_a_round_that_never_ends_is_ended(endless, said):
    text = (
        "import signal\n"
        "from tests.grading import fuzz\n"
        "fuzz.SECONDS = 1\n"
        f"def kind(draw):\n    {endless}\n"
        "print(list(fuzz.in_turn({kind: 1}, 0, [7], True)))\n"
    )
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == (0 if said else -signal.SIGXCPU)
    assert said in done.stdout


def test_the_program_that_is_damaged_is_the_same_in_every_clone():
    data, _ = fuzz.exported()
    assert not [word for word in (str(ROOT).encode(), b".py") if word in data]
