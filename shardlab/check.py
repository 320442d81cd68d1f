"""Comparisons for exercises: the first thing that is wrong, in one sentence.

Type, shape and finiteness come before value. A message says what was asked,
what was given and, where the value is a known mistake, which one; it never
shows the value that was expected. A formula is answered with the first point
at which it fails, and the count there: that gives no formula away.
"""

import os
import zlib
from fractions import Fraction

import numpy as np

from shardlab.grading import expression, identity


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


def formula(asked, got, symbols, count, points, closed=False, likely=()):
    """Compare a formula with a count, exactly, at one point after the other.

    asked    the question in words, such as "hops"
    got      the student's formula, text from `student.expression`
    symbols  the names that it may use, such as "D V"
    count    function of as many numbers that returns an int or a Fraction
    points   numbers for one symbol, such as range(1, 17); tuples for several
    closed   whether sums and products are refused
    likely   pairs (formula, sentence): formulas that show a known mistake
    raises   WrongAnswer that names the first point where they differ
    """
    term = readable(asked, got, symbols, closed)
    steps = expression.Steps()
    for point in identity.points(symbols, points):
        counted = exact(count(*point.values()), point)
        value = identity.value_or_reason(term, point, steps)
        if not identity.equal_values(value, counted):
            mistaken(asked, got, symbols, points, likely)
            differs(asked, got, point, value, f"the count gives {counted}")


# What a normal form is known of.
PLAIN = (
    "as a fraction of polynomials, with floor, Mod or cases of parity if need "
    "be, so that it can be seen to be the same formula"
)


def other_side(value):
    """What the other of two formulas gives, in words."""
    if isinstance(value, str):
        return f"the other side has no value ({value})"
    return f"the other side gives {brief(value)}"


def exact(counted, point):
    """A count as a Fraction; a count is never a rounded number."""
    if type(counted) not in (int, Fraction):
        raise ValueError(
            f"a count must be an int or a Fraction, got {counted!r} at {point}"
        )
    return Fraction(counted)


def identical(
    asked, got, other, symbols, points, closed=False, likely=(), proved=False
):
    """Compare a formula with another: at many points, and by normal form.

    asked    the question in words
    got      the student's formula, text from `student.expression`
    other    what it should be equal to: text, such as a step of an induction
             from `expression.replaced` and the student's own formulas
    symbols  the names that both may use; each is a positive whole number
    points   as `formula`
    closed   as `formula`
    likely   as `formula`
    proved   whether the normal forms must decide it, and not the points alone:
             no formula passes that is right up to some size only
    raises   WrongAnswer that names a point where they differ
    """
    readable(asked, got, symbols, closed)
    found = identity.same(got, other, symbols, points)
    if found.same and proved and not found.proved:
        wrong(asked, got, "it agrees at every point; write it " + PLAIN)
    if found.same:
        return
    mistaken(asked, got, symbols, points, likely)
    if found.point is None:
        wrong(asked, got, "that is another formula, if not at these points")
    value, model = found.values
    differs(asked, got, found.point, value, other_side(model))


def limit(asked, got, grows, symbols, of, likely=()):
    """Compare a formula with what another comes near to.

    asked    the question in words
    got      the student's formula, text from `student.expression`
    grows    the formula whose limit is asked for: a fraction of polynomials,
             with floors, remainders and cases of parity if need be
    symbols  the names that both may use
    of       the symbol that grows without end, such as "D"
    likely   pairs (formula, sentence), as `formula`
    raises   WrongAnswer; ValueError for a formula whose limit is not decided
    """
    names = expression.listed(symbols)
    term = readable(asked, got, symbols)
    if expression.Term("symbol", (of,)) in expression.walk(term):
        wrong(asked, got, f"a limit for large {of} does not depend on {of}")
    whole = expression.read(grows, names)
    reached = identity.limit(whole, term, names, of)
    if reached is None:
        raise ValueError(f"cannot tell what {grows!r} comes near to")
    if not reached:
        mistaken(asked, got, symbols, [(1,) * len(names)], likely)
        wrong(asked, got, f"that is not where it goes when {of} grows")


def readable(asked, got, symbols, closed=False):
    """The term of a student's formula; WrongAnswer when it is none."""
    try:
        term = expression.read(got, symbols)
    except expression.Refused as reason:
        wrong(asked, got, str(reason))
    if closed and expression.uses(term) & {"Sum", "Product"}:
        wrong(asked, got, "expected a closed form, without Sum and Product")
    return term


def mistaken(asked, got, symbols, points, likely):
    """Raise WrongAnswer if a formula is one of the known mistakes."""
    for mistake, sentence in likely:
        if identity.same(got, mistake, symbols, points).same:
            wrong(asked, got, sentence)


def brief(value):
    """An exact value for a message; what is not rational to 12 digits."""
    return value if isinstance(value, Fraction) else f"about {value:.12g}"


def differs(asked, got, point, value, other):
    """Raise WrongAnswer: what a formula gives at a point, and should not."""
    place = ", ".join(f"{name} = {number}" for name, number in point.items())
    if isinstance(value, str):
        wrong(asked, got, f"at {place} it has no value ({value}), {other}")
    said = f"at {place} it gives {brief(value)}, {other}"
    if "." in got:
        said += "; a decimal fraction is not exact, Rational(1, 3) is"
    wrong(asked, got, said)
