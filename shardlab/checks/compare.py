"""Comparisons for checks: the first thing that is wrong, in one sentence.

A value is looked at in this order: is it there, is it of the right kind, has
it the right size, is every entry a finite number, is it right. What means the
same passes: 2.0 for 2, True for 1, a tuple or an array for a list, nested
lists for a matrix. A message first says what is wrong with the answer, then
which entry differs. It shows what was expected only in a case that the reader
sees, and only where the check asks for that.
"""

import math
import re
from fractions import Fraction

import numpy as np

from shardlab.checks import expression, identity
from shardlab.checks.question import WrongAnswer, shows

__all__ = [
    "LAST_RESORT",
    "blocks",
    "close",
    "entries",
    "equal",
    "formula",
    "identical",
    "limit",
    "near",
    "number",
    "numbers",
    "on_devices",
    "readable",
    "real_array",
    "shown",
    "whole_number",
    "wrong",
]

# The relative error of one rounding to float32, and to bfloat16.
FLOAT32, BFLOAT16 = 2.0**-24, 2.0**-8
_LONG = re.compile(r"\b\d+\.\d{11,}(e[+-]\d+)?\b")
LAST_RESORT = "that is not what was counted"


def wrong(asked, got, reason):
    """Raise WrongAnswer: what was asked, what was given, and why it fails."""
    raise WrongAnswer(f"{asked} gave {shown(got)}: {reason}")


def shown(value):
    """`value` for a message: short, whatever was given."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    words = repr(value)
    if not isinstance(value, str):  # the last digits differ between processors
        words = _LONG.sub(lambda found: f"{float(found[0]):#.10g}", words)
    return words if len(words) <= 80 else words[:77] + "..."


def _kind(value):
    """The type of a value as a message names it."""
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


# --- what an answer is, before what it is worth ------------------------------


def number(asked, got):
    """The finite real number that an answer is.

    asked    the question in words, such as "read_seconds(960, 4096)"
    got      the student's answer, plain data
    returns  int or float; True as 1, a whole float as an int
    raises   WrongAnswer for anything else
    """
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if not isinstance(got, (bool, int, float)):
        wrong(asked, got, f"expected a number, got {_kind(got)}")
    if not _is_finite(got):
        wrong(asked, got, "that is no finite number")
    return _plain(got)


def whole_number(asked, got):
    """The whole number that an answer is, as an int; raises as `number`."""
    found = number(asked, got)
    if isinstance(found, float):
        wrong(asked, got, "expected a whole number")
    return found


def entries(asked, got, count):
    """The entries of an answer that is a list, tuple or array.

    asked    the question in words
    got      the student's answer, plain data
    count    how many there must be; None for any number
    returns  list, with plain numbers and lists in it
    raises   WrongAnswer
    """
    if isinstance(got, np.ndarray) and got.ndim:
        got = got.tolist()
    if not isinstance(got, (tuple, list)):
        wrong(asked, got, f"expected a list or tuple, got {_kind(got)}")
    if count is not None and len(got) != count:
        wrong(asked, got, f"expected {count} entries, got {len(got)}")
    return _plain(got)


def numbers(asked, got, count=None):
    """The entries of an answer, each a finite number; raises as `entries`."""
    found = entries(asked, got, count)
    return [
        number(f"entry {i} of {asked}", each) for i, each in enumerate(found)
    ]


def real_array(asked, got, shape):
    """The array of finite real numbers that an answer is.

    asked    the question in words
    got      an array, nested lists, or a number where `shape` is ()
    shape    what its shape must be; None for any
    returns  numpy array of float64
    raises   WrongAnswer
    """
    if isinstance(got, (list, tuple)):
        try:
            got = np.array(got)
        except ValueError:
            wrong(asked, got, "its rows are of different lengths")
    if isinstance(got, (bool, int, float)):
        got = np.array(number(asked, got))
    if not isinstance(got, np.ndarray):
        wrong(asked, got, f"expected an array, got {_kind(got)}")
    if got.dtype.kind not in "biuf":
        wrong(asked, got, f"expected real numbers, got {got.dtype}")
    if shape is not None and got.shape != tuple(shape):
        raise WrongAnswer(
            f"{asked} gave an array of shape {got.shape}, expected shape "
            f"{tuple(shape)}"
        )
    finite = np.isfinite(got)
    if not finite.all():
        where = _entry(np.argwhere(~finite)[0])
        wrong(asked, got, f"{where} is no finite number")
    return got.astype(float)


def _is_finite(value):
    """Whether a number is finite, and not beyond what a float holds."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return isinstance(value, int)


def _plain(value):
    """An answer with ints for whole numbers and lists for tuples and arrays."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bool) or _is_whole(value):
        return int(value)
    return value


def _plain_key(key):
    """A key of a dict; a tuple arrives as a list, which cannot be one."""
    return tuple(key) if isinstance(key, list) else _plain(key)


def _is_whole(value):
    """Whether this is a float without a fraction."""
    return isinstance(value, float) and value.is_integer()


# --- what it is worth --------------------------------------------------------


def equal(asked, got, expected, likely=(), names=()):
    """Compare an answer that must be exact.

    asked     the question in words, such as "bytes_per_device(128, 2048)"
    got       the student's answer, plain data
    expected  an int, str, bool, or a list, tuple or dict of these
    likely    pairs (value, sentence): answers that show a known mistake
    names     what the entries of a list are called in messages
    raises    WrongAnswer with the first thing that is wrong
    """
    model = _plain(expected)
    found = _of_kind(asked, got, expected)
    if _same(found, model):
        return
    for value, sentence in likely:
        if _same(found, _plain(value)):
            wrong(asked, got, sentence)
    if isinstance(model, list):
        _first_different(asked, found, model, names)
    wrong(asked, got, LAST_RESORT)


def _of_kind(asked, got, expected):
    """The answer as plain data, of the kind that is expected."""
    if isinstance(expected, (tuple, list, np.ndarray)):
        return entries(asked, got, len(expected))
    if isinstance(expected, (bool, int, np.integer)):
        if isinstance(got, str):
            wrong(asked, got, "expected a number, got str")
        return whole_number(asked, got)
    if type(got) is not type(expected):
        wrong(asked, got, f"expected {_kind(expected)}, got {_kind(got)}")
    return _plain(got)


def _same(found, model):
    """Whether plain data agree, in kind and value; what is NaN agrees never."""
    if isinstance(model, list):
        return (
            isinstance(found, list)
            and len(found) == len(model)
            and all(map(_same, found, model))
        )
    if isinstance(model, (int, float)) != isinstance(found, (int, float)):
        return False
    return found == model


def _first_different(asked, found, model, names):
    """Raise WrongAnswer that names the first entry that differs."""
    for i, (entry, right) in enumerate(zip(found, model, strict=True)):
        if not _same(entry, right):
            name = names[i] if i < len(names) else f"entry {i}"
            reason = f"your {name}, {shown(entry)}, is not what was counted"
            if isinstance(entry, str) != isinstance(right, str):
                words = "text" if isinstance(right, str) else "no text"
                reason = f"your {name} should be {words}"
            raise WrongAnswer(f"{asked}: {reason}")


def close(
    asked,
    got,
    expected,
    rel=1e-6,
    terms=None,
    eps=FLOAT32,
    likely=(),
    show=False,
    place=None,
):
    """Compare an answer that is a real number or an array of them.

    asked     the question in words
    got       the student's answer, plain data
    expected  a number, a list of numbers, each of which is compared as such,
              or an array, whose entries are compared with its largest
    rel       relative tolerance of a number. The answers that the book asks
              for are a few products and quotients in float64, of constants
              with five digits at most: 1e-6 takes another order of these
              operations and float32, and no other formula
    terms     for an array: how many numbers one entry adds up. Two orders of
              the same sum differ by at most 2 * terms roundings of its
              partial sums, and these are about as large as the largest entry.
              None takes `rel` of the largest entry
    eps       the error of one rounding: FLOAT32, or BFLOAT16
    likely    pairs (value, sentence): answers that show a known mistake
    show      whether a case that the reader sees shows what was expected
    place     function of the index of an entry that returns where it lies, in
              words, such as "device 0, row 4"
    raises    WrongAnswer with the first thing that is wrong
    """
    if not np.ndim(expected):
        found, model = number(asked, got), float(expected)
        if near(found, model, rel * abs(model)):
            return
        for value, sentence in likely:
            if near(found, value, rel * abs(float(value))):
                wrong(asked, got, sentence)
        wrong(asked, got, LAST_RESORT)
    model = np.asarray(expected, float)
    found = real_array(asked, got, model.shape)
    if terms is not None:
        rel = 2 * (terms + 2) * eps

    alone = isinstance(expected, (list, tuple))

    def slack(other):
        size = np.abs(other)
        return rel * (size if alone else size.max(initial=0))

    def agrees(other):
        other = np.broadcast_to(np.asarray(other, float), found.shape)
        return near(found, other, slack(other))

    if agrees(model):
        return
    sentences = [sentence for value, sentence in likely if agrees(value)]
    reason = sentences[0] if sentences else "yours are other numbers"
    where = _difference(found, model, slack(model), place, show and shows())
    raise WrongAnswer(f"{asked}: {reason}. {where}")


def near(a, b, slack):
    """Whether numbers or arrays of one shape differ by `slack` at most.

    a, b     numbers or arrays; what is no finite number is near to nothing
    slack    a number, or an array of that shape
    returns  bool
    """
    try:
        a, b = np.asarray(a, float), np.asarray(b, float)
    except (OverflowError, TypeError, ValueError):
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(a).all() and np.all(np.abs(a - b) <= slack))


def _difference(found, model, slack, place, show):
    """Where two arrays differ first, and what stands there."""
    with np.errstate(over="ignore"):
        index = np.argwhere(~(np.abs(found - model) <= slack))[0]
    where = place(*index) if place else _entry(index)
    row = (*index[:-1], slice(index[-1], index[-1] + 3)) if len(index) else ()
    told = _digits(found[row], model[row])
    yours, right = next(pair for pair in told if pair[0] != pair[1])
    said = f"The first difference: {where}, where you have {yours}"
    return f"{said}, expected {right}" if show else said


def _digits(found, model):
    """Pairs of texts of two rows of numbers, with more and more digits."""
    for digits in (5, 9, 17):
        yield tuple(
            " ".join(f"{x:.{digits}g}" for x in np.atleast_1d(row))
            for row in (found, model)
        )
    yield "numbers", "others"


def _entry(index):
    """An index of an array in words."""
    index = [int(i) for i in index]
    if not index:
        return "it"
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    words = ", ".join(map(str, index))
    return f"entry {words if len(index) == 1 else f'[{words}]'}"


def on_devices(size, axis=0):
    """What says of an entry of an array which device holds it, and where.

    size     of the part of one device along `axis`
    axis     the dimension that is cut, one part for each device in order
    returns  function of an index, the `place` of `close`
    """

    def place(*index):
        own = [int(i) for i in index]
        device, own[axis] = divmod(own[axis], size)
        return f"device {device}, {_entry(own)} of its part"

    return place


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
        model = np.asarray(expected[device], float)
        block = np.asarray(got[device])
        slack = 2 * FLOAT32 * np.abs(model).max(initial=0)
        same = block.shape == model.shape and near(block, model, slack)
        if not same or block.dtype.kind not in "biuf":
            where = _location(block, x)
            raise WrongAnswer(f"{asked}: your device {device} holds {where}")


def _location(block, x):
    """Which rows and columns of the matrix `x` a block is, in words."""
    block, x = np.asarray(block), np.asarray(x)
    if block.dtype.kind not in "biuf":
        return f"an array of {block.dtype}, which is no part of x"
    x = x.astype(block.dtype)
    found = np.argwhere(x == block.flat[0]) if block.size else []
    if block.ndim == 2 and len(found) == 1:
        top, left = found[0].tolist()
        bottom, right = top + block.shape[0], left + block.shape[1]
        if np.array_equal(x[top:bottom, left:right], block):
            return f"rows {top}:{bottom} and columns {left}:{right} of x"
    if block.size and not np.isfinite(block).all():
        return f"an array of shape {block.shape} with no finite numbers"
    return f"an array of shape {block.shape} whose numbers are no block of x"


def formula(asked, got, symbols, count, points, closed=False, likely=()):
    """Compare a formula with a count, exactly, at one point after the other.

    asked    the question in words, such as "hops"
    got      the student's formula, text from `student.expression`
    symbols  the names that it may use, such as "D V"
    count    function of as many numbers that returns an int or a Fraction
    points   numbers for one symbol, such as range(1, 17); tuples for several
    closed   whether sums, products, conditions and tables are refused
    likely   pairs (formula, sentence): formulas that show a known mistake
    raises   WrongAnswer that names the first point where they differ
    """
    term = readable(asked, got, symbols, closed)
    steps = expression.purse(got)
    for point in identity.points(symbols, points):
        counted = _exact(count(*point.values()), point)
        value = identity.value_or_reason(term, point, steps)
        if not identity.equal_values(value, counted):
            _mistaken(asked, got, symbols, points, likely)
            _differs(asked, got, point, value, f"the count gives {counted}")


# What a normal form is known of.
PLAIN = (
    "as a fraction of polynomials, with floor, Mod or cases of parity if need "
    "be, so that it can be seen to be the same formula"
)


def _other_side(value):
    """What the other of two formulas gives, in words."""
    if isinstance(value, str):
        return f"the other side has no value ({value})"
    return f"the other side gives {_brief(value)}"


def _exact(counted, point):
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
    found = identity.same(got, other, symbols, points, expression.purse(got))
    if found.same and proved and not found.proved:
        wrong(asked, got, "it agrees at every point; write it " + PLAIN)
    if found.same:
        return
    _mistaken(asked, got, symbols, points, likely)
    if found.point is None:
        wrong(asked, got, "that is another formula, if not at these points")
    value, model = found.values
    _differs(asked, got, found.point, value, _other_side(model))


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
    names = expression.symbol_names(symbols)
    term = readable(asked, got, symbols)
    if expression.Term("symbol", (of,)) in expression.walk(term):
        wrong(asked, got, f"a limit for large {of} does not depend on {of}")
    whole = expression.read_formula(grows, names)
    with identity.paid_from(expression.purse(got)):
        reached = identity.limit(whole, term, names, of)
    if reached is None:
        raise ValueError(f"cannot tell what {grows!r} comes near to")
    if not reached:
        _mistaken(asked, got, symbols, [(1,) * len(names)], likely)
        wrong(asked, got, f"that is not where it goes when {of} grows")


def readable(asked, got, symbols, closed=False):
    """The term of a student's formula; WrongAnswer when it is none."""
    try:
        term = expression.read_formula(got, symbols)
    except expression.Refused as reason:
        wrong(asked, got, str(reason))
    if closed and (fault := expression.closed_fault(term)):
        wrong(asked, got, fault)
    return term


def _mistaken(asked, got, symbols, points, likely):
    """Raise WrongAnswer if a formula is one of the known mistakes."""
    for mistake, sentence in likely:
        steps = expression.purse(got)
        if steps.left < 0:
            return  # it is too long to be told what it is instead
        if identity.same(got, mistake, symbols, points, steps).same:
            wrong(asked, got, sentence)


def _brief(value):
    """An exact value for a message; what is not rational to 12 digits."""
    return value if isinstance(value, Fraction) else f"about {value:.12g}"


def _differs(asked, got, point, value, other):
    """Raise WrongAnswer: what a formula gives at a point, and should not."""
    place = ", ".join(f"{name} = {number}" for name, number in point.items())
    if isinstance(value, str):
        wrong(asked, got, f"at {place} it has no value ({value}), {other}")
    said = f"at {place} it gives {_brief(value)}, {other}"
    if "." in got:
        said += "; a decimal fraction is not exact, Rational(1, 3) is"
    wrong(asked, got, said)
