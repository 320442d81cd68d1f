"""What every check has in common: its cases, its numbers and its outcome.

A check is a function of the numbers of one case. Called without any, it goes
through the cases that the reader sees; called with some, it tries these.
"""

import contextlib
import functools
import os

import jax

from shardlab.checks import seeds

__all__ = [
    "NotAnswered",
    "NotReady",
    "OneLine",
    "WrongAnswer",
    "draw",
    "need_devices",
    "passed",
    "shows",
    "visible",
]


class OneLine(Exception):
    """An error that Jupyter shows as its message, without a traceback."""

    def _render_traceback_(self):
        return [f"{type(self).__name__}: {self}"]


class NotAnswered(OneLine):
    """The question has no answer yet."""


class NotReady(OneLine):
    """The notebook is not in a state in which a check could ask."""


class WrongAnswer(OneLine, AssertionError):
    """The answer is not the one that was counted."""


def draw(question):
    """A generator of the numbers that are drawn when a question is graded.

    question  the question's name; each draws numbers of its own
    returns   numpy.random.Generator. Its seed is fixed in JupyterLab. A grader
              sets SHARD_BY_SHARD_SEED to a fresh number and logs it.
    raises    ValueError when that variable is no whole number, and within a
              case that the reader sees, which is always the same
    """
    if _shown:
        raise ValueError(f"a visible case of {question!r} must draw nothing")
    given = os.environ.get(seeds.VARIABLE, "0")
    if not given.isdecimal() or len(given) > 100:
        raise ValueError(f"{seeds.VARIABLE} must be digits, got {given!r}")
    return seeds.generator(int(given), question)


def visible(answers, *cases, hidden=True):
    """Make a check of one case go through the cases that the reader sees.

    answers  what is asked for, in words, such as "ring_gather"
    cases    tuples, the arguments of the check for each case
    hidden   whether other cases follow when the answer is graded
    returns  decorator: the check without arguments tries these cases, then
             says that they are passed; with arguments it tries that case
    """

    def decorate(check):
        @functools.wraps(check)
        def ask(*arguments, **named):
            if arguments or named:
                check(*arguments, **named)
                return
            with _showing():
                for case in cases:
                    check(*case)
            passed(answers, hidden)

        ask.cases, ask.hidden = cases, hidden
        return ask

    return decorate


def shows():
    """Whether the case at hand is one whose expected numbers may be shown."""
    return bool(_shown)


_shown = []


@contextlib.contextmanager
def _showing():
    """Within it, the cases are those that the reader sees."""
    _shown.append(True)
    try:
        yield
    finally:
        _shown.pop()


def passed(answers, hidden=True):
    """Say that the cases shown for a question are passed."""
    more = "; hidden checks run when graded" if hidden else ", and are all"
    print(f"{answers}: these checks passed{more}.")


def need_devices(count):
    """Insist on as many devices as a notebook's first cell asks for.

    count   how many the check needs
    raises  NotReady that says how to get them
    """
    if count > (found := jax.device_count()):
        raise NotReady(
            f"this check needs {count} devices, and JAX has {found}: restart "
            "the kernel, then run the notebook's first cell"
        )
