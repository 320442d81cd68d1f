"""Comparisons for exercises: the first thing that is wrong, in one sentence.

Type, shape and finiteness come before value. A message says what was asked,
what was given and, where the value is a known mistake, which one; it never
shows the value that was expected.
"""

import os
import zlib

import numpy as np


class OneLine(Exception):
    """An error that Jupyter shows as its message, without a traceback."""

    def _render_traceback_(self):
        return [f"{type(self).__name__}: {self}"]


class NotAnswered(OneLine):
    """The question has no answer yet."""


class WrongAnswer(OneLine, AssertionError):
    """The answer is not the counted one."""


def draw(question):
    """A generator of the numbers that the checks of one question use.

    question  the question's name; each draws numbers of its own
    returns   numpy.random.Generator. Its seed is fixed in JupyterLab. A grader
              sets SHARD_BY_SHARD_SEED to a fresh number and logs it.
    raises    ValueError when that variable is no whole number
    """
    given = os.environ.get("SHARD_BY_SHARD_SEED", "0")
    if not given.isdecimal():
        raise ValueError(f"SHARD_BY_SHARD_SEED must be digits, got {given!r}")
    return np.random.default_rng([int(given), zlib.crc32(question.encode())])


def shown(value):
    """`value` for a message: short, whatever was given."""
    words = repr(value)
    return words if len(words) <= 80 else words[:77] + "..."


def kind(value):
    """The type of a value as a message names it."""
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


def wrong(asked, got, reason):
    """Raise WrongAnswer: what was asked, what was given, and why it fails."""
    raise WrongAnswer(f"{asked} gave {shown(got)}: {reason}")


def whole_number(asked, got):
    """Insist that `got` is an int, and neither a bool nor a float."""
    if type(got) is not int:
        wrong(asked, got, f"expected an int, got {kind(got)}")


def equal(asked, got, expected, likely=()):
    """Compare an answer that must be exact.

    asked     the question in words, such as "bytes_per_device(128, 2048)"
    got       the student's answer, plain data
    expected  an int, str, bool, or a tuple or list of these
    likely    pairs (value, sentence): answers that show a known mistake
    raises    WrongAnswer with the first thing that is wrong
    """
    if isinstance(expected, (tuple, list)):
        sequence(asked, got, expected)
        got, expected = list(got), list(expected)
    elif type(expected) is int:
        whole_number(asked, got)
    elif type(got) is not type(expected):
        wrong(asked, got, f"expected {kind(expected)}, got {kind(got)}")
    if got == expected:
        return
    for value, sentence in likely:
        value = list(value) if isinstance(value, (tuple, list)) else value
        if got == value:
            wrong(asked, got, sentence)
    wrong(asked, got, "that is not what was counted")


def sequence(asked, got, expected):
    """Insist on a tuple or list of as many entries, of the same types."""
    if not isinstance(got, (tuple, list)):
        wrong(asked, got, f"expected a list or tuple, got {kind(got)}")
    if len(got) != len(expected):
        wrong(asked, got, f"expected {len(expected)} entries, got {len(got)}")
    for entry, model in zip(got, expected, strict=True):
        if type(entry) is not type(model):
            wrong(asked, got, f"{entry!r} should be of type {kind(model)}")


def close(asked, got, expected, rel=1e-6, likely=()):
    """Compare an answer that is a real number or an array of them.

    asked     the question in words
    got       the student's answer, plain data
    expected  a float or an array
    rel       relative tolerance: 1e-6 lets the order of float32 operations
              vary and nothing else
    likely    pairs (value, sentence): answers that show a known mistake
    raises    WrongAnswer with the first thing that is wrong
    """
    if isinstance(got, bool) or not isinstance(got, (int, float, np.ndarray)):
        wrong(asked, got, f"expected a number, got {kind(got)}")
    if isinstance(got, np.ndarray) and got.dtype.kind not in "iuf":
        wrong(asked, got, f"expected real numbers, got {got.dtype}")
    answer, model = np.asarray(got, float), np.asarray(expected, float)
    if answer.shape != model.shape:
        wrong(
            asked,
            got,
            f"expected shape {model.shape}, got {answer.shape}",
        )
    if not np.isfinite(answer).all():
        wrong(asked, got, "not every entry is a finite number")
    if near(answer, model, rel):
        return
    for value, sentence in likely:
        if near(answer, np.broadcast_to(value, answer.shape), rel):
            wrong(asked, got, sentence)
    wrong(asked, got, "that is not what was counted")


def near(a, b, rel):
    """Whether arrays of one shape agree, relative to the larger entry."""
    scale = np.maximum(np.abs(a), np.abs(b))
    return bool(np.all(np.abs(a - b) <= rel * scale))


def passed(question):
    """Say that the checks shown for a question are passed."""
    print(f"{question}: these checks passed; hidden checks run when graded.")


def blocks(asked, got, expected, x):
    """Compare what each device holds with what it should hold.

    asked     the question in words
    got       dict: device number -> array, from `student.blocks`
    expected  dict: device number -> array, the block of `x` asked for
    x         the matrix that was placed, all of whose entries differ
    raises    WrongAnswer that names the first device with another block, and
              which rows and columns of `x` it holds instead
    """
    if set(got) != set(expected):
        held = sorted(got)
        wrong(asked, held, f"expected blocks on devices {sorted(expected)}")
    for device in sorted(expected):
        block, model = np.asarray(got[device]), np.asarray(expected[device])
        if block.shape == model.shape and near(block, model, 1e-6):
            continue
        where = location(block, x)
        raise WrongAnswer(f"{asked}: device {device} holds {where}")


def location(block, x):
    """Which rows and columns of the matrix `x` a block is, in words."""
    x = np.asarray(x).astype(block.dtype)
    found = np.argwhere(x == block.flat[0]) if block.size else []
    if block.ndim == 2 and len(found) == 1:
        top, left = found[0].tolist()
        bottom, right = top + block.shape[0], left + block.shape[1]
        if np.array_equal(x[top:bottom, left:right], block):
            return f"rows {top}:{bottom} and columns {left}:{right} of x"
    return f"an array of shape {block.shape} whose numbers are no block of x"
