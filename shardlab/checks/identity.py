"""Whether two formulas are one, decided twice.

At many points, in exact numbers; and, where both are fractions of polynomials
(sums of polynomials, floors, remainders and cases of parity included), by
their normal forms. Both must agree.
"""

import contextlib
import contextvars
import itertools
import random
from fractions import Fraction
from math import comb, lcm
from typing import NamedTuple

from shardlab.checks.expression import (
    MAX_BITS,
    Steps,
    Term,
    Undefined,
    agree,
    evaluate,
    holds,
    read_formula,
    size,
    symbol_names,
    walk,
)

__all__ = [
    "Undecided",
    "Verdict",
    "equal_forms",
    "equal_values",
    "limit",
    "paid_from",
    "points",
    "same",
    "value_or_reason",
]

MAX_POINTS = 2000
MAX_MONOMIALS = 10_000
MAX_DEGREE = 12
MAX_CASES = 24


class Undecided(Exception):
    """The normal form of a formula is unknown, or too long."""


class Verdict(NamedTuple):
    """Whether two formulas are one.

    same    whether they are
    proved  whether their normal forms say so too, and not only the points
    point   dict: symbol -> number, where they differ; None if none is known
    values  the two values there; words for one that does not exist
    """

    same: bool
    proved: bool
    point: dict | None = None
    values: tuple = ()


# Two formulas


def points(symbols, sizes):
    """Points at which formulas are compared.

    symbols  the names, such as "D V"
    sizes    for one symbol numbers, for several tuples of numbers; or dicts
    returns  list of dict: symbol -> int or Fraction, at most MAX_POINTS
    raises   ValueError for none, too many, or one of another form
    """
    names, found = symbol_names(symbols), []
    for given in sizes:
        entries = given if isinstance(given, (tuple, list)) else [given]
        point = given
        if not isinstance(given, dict):
            point = dict(zip(names, entries, strict=False))
        numbers = all(type(n) in (int, Fraction) for n in point.values())
        fits = isinstance(given, dict) or len(entries) == len(names)
        if not fits or set(point) != set(names) or not numbers:
            raise ValueError(
                f"a point must give a number to each of {', '.join(names)}, "
                f"got {given!r}"
            )
        found.append(point)
    if not 0 < len(found) <= MAX_POINTS:
        raise ValueError(f"points: 1 to {MAX_POINTS}, got {len(found)}")
    return found


def same(a, b, symbols, sizes, steps=None):
    """Whether two formulas are one: at every point, and by normal form.

    a, b     texts of formulas
    symbols  the names in them, such as "D V", each a positive whole number
    sizes    the points, as `points` takes them
    steps    Steps that are left, for both and all points together
    returns  Verdict; where only the forms differ, the point is none of `sizes`
    raises   Refused, as `expression.read_formula`
    """
    names = symbol_names(symbols)
    first, second = read_formula(a, names), read_formula(b, names)
    places = points(names, sizes)
    steps, decided = steps or Steps(), None
    if all(type(n) is int for point in places for n in point.values()):
        with paid_from(steps):
            decided = equal_forms(first, second, names)
    if decided is False:  # the points given may not show where
        draw = random.Random(0)
        places += [{n: draw.randint(1, 40) for n in names} for _ in range(200)]
    for point in places:
        values = [value_or_reason(t, point, steps) for t in (first, second)]
        if not equal_values(*values):
            return Verdict(False, decided is False, point, tuple(values))
    return Verdict(decided is not False, decided is not None)


def value_or_reason(term, point, steps):
    """What a formula gives at a point, or in words why it gives nothing."""
    try:
        return evaluate(term, point, steps)
    except Undefined as reason:
        return str(reason)


def equal_values(a, b):
    """Whether two values are numbers, and equal."""
    return not isinstance(a, str) and not isinstance(b, str) and agree(a, b)


# Normal forms: a numerator and a denominator, polynomials with exact numbers.
# Nothing is simplified and no common factor is looked for; two fractions are
# equal when their cross products are, and each product is bounded beforehand.


def equal_forms(a, b, symbols):
    """Whether two formulas are equal as functions, by their normal forms.

    a, b     Terms
    symbols  the names in them; each stands for any whole number
    returns  True or False; None if this does not decide it
    """

    def equal(p, q, r, s, names):
        return _times(p, s) == _times(r, q)

    return _in_every_case(equal, a, b, symbols)


def limit(a, b, symbols, of):
    """Whether b is what a comes near to when one of its symbols grows.

    a, b     Terms; `of` is not in b
    symbols  the names in them; each stands for any whole number
    of       the symbol that grows without end
    returns  True or False; None if a is no fraction of polynomials
    """

    def near(p, q, r, s, names):
        place = p.ring.gens.index(names[of])
        ahead = p.degree(place) - q.degree(place) if p else -1
        if ahead > 0:
            return False
        top = _leading(p, place) if ahead == 0 else 0 * p
        return _times(top, s) == _times(r, _leading(q, place))

    return _in_every_case(near, a, b, symbols)


def _leading(p, place):
    """The coefficient of the highest power of one symbol, a polynomial."""
    degree = p.degree(place)
    kept = {}
    for exponents, number in p.terms():
        if exponents[place] == degree:
            rest = list(exponents)
            rest[place] = 0
            kept[tuple(rest)] = number
    return p.ring(kept)


def _in_every_case(test, a, b, symbols):
    """Whether a test of two normal forms holds whatever symbols leave.

    test     function of two numerators and denominators and of the dict of
             polynomials that stand for the symbols
    a, b     Terms
    symbols  the names in them
    returns  True or False; None if a form is unknown or there are many cases
    """
    modulus = _period(a, b)
    names = sorted({p.parts[0] for t in (a, b) for p in _split_parts(t)})
    names = [name for name in names if name in symbols]
    if modulus ** len(names) > MAX_CASES:
        return None
    outcome = True
    try:
        for residues in itertools.product(range(modulus), repeat=len(names)):
            case = dict(zip(names, residues, strict=True))
            outcome &= _in_case(test, a, b, symbols, modulus, case)
    except (Undecided, ZeroDivisionError):
        return None
    return outcome


def _split_parts(term):
    """The symbols inside floors, remainders and alternating powers."""
    for part in walk(term):
        if part.op in ROUNDING:
            yield from (p for p in walk(part) if p.op == "symbol")
        if part.op == "**" and part.parts[1].op != "number":
            yield from (p for p in walk(part.parts[1]) if p.op == "symbol")


def _period(*terms):
    """The number of cases in which floors and remainders are polynomials."""
    found = 1
    for part in itertools.chain(*map(walk, terms)):
        if part.op in ROUNDING:
            found = lcm(found, *_divisors(part))
        if part.op == "**" and part.parts[1].op != "number":
            found = lcm(found, 2 * lcm(*_divisors(part.parts[1])))
    return found


def _divisors(term):
    """The whole numbers that something is divided by in a formula."""
    for part in walk(term):
        if part.op == "number":
            yield part.parts[0].denominator
        elif part.op in ("/", "//", "%") and part.parts[1].op == "number":
            yield max(1, abs(part.parts[1].parts[0].numerator))


ROUNDING = ("floor", "ceiling", "//", "%")


def _in_case(test, a, b, symbols, modulus, residues):
    """Whether a test holds where symbols leave these residues."""
    from sympy.polys.domains import QQ
    from sympy.polys.rings import ring

    indices = {p.parts[1] for t in (a, b) for p in walk(t) if p.op == "Sum"}
    names = [*symbols, *sorted(indices - set(symbols))]
    _, *generators = ring(names or ["unused"], QQ)
    one = generators[0] ** 0
    plain = dict(zip(names, generators, strict=False))
    forms = {name: (generator, one) for name, generator in plain.items()}
    for name, residue in residues.items():
        forms[name] = (modulus * plain[name] + residue, one)
    return test(*_form(a, forms, one), *_form(b, forms, one), plain)


_steps = contextvars.ContextVar("steps")


@contextlib.contextmanager
def paid_from(steps):
    """Within it, polynomials are paid for with these Steps."""
    token = _steps.set(steps)
    try:
        yield
    finally:
        _steps.reset(token)


def _pay(monomials):
    """Pay for arithmetic with so many monomials."""
    if steps := _steps.get(None):
        try:
            steps.pay(1 + monomials // 4)
        except Undefined:
            raise Undecided from None


def _times(p, q):
    """A product of polynomials, if it is not long."""
    if len(p) * len(q) > MAX_MONOMIALS:
        raise Undecided
    _pay(len(p) * len(q))
    product = p * q
    bits = sum(size(number) for number in map(_fraction, product.coeffs()))
    if bits > 100 * MAX_BITS:
        raise Undecided
    return product


def _fraction(number):
    """A coefficient of SymPy's polynomials as a Fraction."""
    return Fraction(int(number.numerator), int(number.denominator))


def _form(term, forms, one):
    """Numerator and denominator of a formula.

    term    Term
    forms   dict: symbol -> its own numerator and denominator
    one     the polynomial 1
    raises  Undecided when it is no fraction of polynomials
    """
    op, parts = term
    if op == "number":
        top, below = parts[0].numerator, parts[0].denominator
        return one * top, one * below
    if op == "symbol":
        return forms[parts[0]]
    if op == "Sum":
        return _sum_form(term, forms, one)
    if op == "Piecewise":
        return _case_form(term, forms, one)
    if op not in FORMS:
        raise Undecided
    if op == "**" and parts[1].op != "number":
        base, exponent = (_form(part, forms, one) for part in parts)
        return _sign_form(base, exponent, one)
    if op == "**":
        return _power_form(_form(parts[0], forms, one), parts[1].parts[0], one)
    return FORMS[op](*(_form(part, forms, one) for part in parts))


def _plus(a, b, sign=1):
    """The sum, or the difference, of two fractions."""
    (p, q), (r, s) = a, b
    _pay(len(p) + len(q) + len(r) + len(s))
    if q == s:
        return p + sign * r, q
    return _times(p, s) + sign * _times(r, q), _times(q, s)


def _over(a, b):
    """The quotient of two fractions."""
    (p, q), (r, s) = a, b
    if not r:
        raise ZeroDivisionError
    return _times(p, s), _times(q, r)


def _down(a):
    """The floor of a fraction that is a whole number but for a constant."""
    p, q = a
    _pay(len(p))
    if not q.is_ground:
        raise Undecided
    p = p.quo_ground(q.LC)
    rest = p - p.coeff(1)
    if any(_fraction(number).denominator > 1 for number in rest.coeffs()):
        raise Undecided
    constant = _fraction(p.coeff(1))
    return rest + constant.numerator // constant.denominator, q**0


def _modulo(a, n):
    """a modulo n, for a constant n."""
    p, q = _plus(a, _multiplied(n, _down(_over(a, n))), -1)
    return p, q


def _multiplied(a, b):
    """The product of two fractions."""
    return _times(a[0], b[0]), _times(a[1], b[1])


def _negative(a):
    """A fraction with the other sign."""
    return -a[0], a[1]


def _power_form(base, exponent, one):
    """A whole power of a fraction."""
    if exponent.denominator > 1:
        raise Undecided
    result = (one, one)
    for _ in range(abs(exponent.numerator)):
        result = _multiplied(result, base)
    return result if exponent >= 0 else _over((one, one), result)


def _sign_form(base, exponent, one):
    """A power of -1 whose exponent is even or odd for certain."""
    half = _modulo(exponent, (2 * one, one))
    if base[0] != -base[1] or not half[0].is_ground:
        raise Undecided
    # Odd: what is left is 1 over 1.
    return (-one, one) if half[0] else (one, one)


FORMS = {
    "+": _plus,
    "-": lambda a, b: _plus(a, b, -1),
    "*": _multiplied,
    "/": _over,
    "//": lambda a, b: _down(_over(a, b)),
    "%": _modulo,
    "**": _power_form,
    "floor": _down,
    "ceiling": lambda a: _negative(_down(_negative(a))),
}


def _case_form(term, forms, one):
    """The first case of a Piecewise whose condition is certain."""
    for case, condition in zip(term.parts[::2], term.parts[1::2], strict=True):
        if _certain(condition, forms, one):
            return _form(case, forms, one)
    raise Undecided


def _certain(term, forms, one):
    """Whether a condition holds everywhere; Undecided if only somewhere."""
    op, parts = term
    if op in ("true", "false"):
        return op == "true"
    if op == "not":
        return not _certain(parts[0], forms, one)
    if op in ("and", "or"):
        every = all if op == "and" else any
        return every([_certain(part, forms, one) for part in parts])
    p, q = _plus(*(_form(part, forms, one) for part in parts), -1)
    if not p.is_ground or not q.is_ground:
        raise Undecided
    difference = Term(
        "number", (_fraction(p.coeff(1)) / _fraction(q.coeff(1)),)
    )
    return holds(Term(op, (difference, ZERO)), {}, Steps())


ZERO = Term("number", (Fraction(0),))


def _sum_form(term, forms, one):
    """A sum of a polynomial in its index, between polynomial limits."""
    body, index, low, high = term.parts
    p, q = _form(body, forms, one)
    (a, b), (c, d) = _form(low, forms, one), _form(high, forms, one)
    place = p.ring.gens.index(forms[index][0])
    if q.degree(place) > 0 or p.degree(place) > MAX_DEGREE:
        raise Undecided
    if not (b.is_ground and d.is_ground):
        raise Undecided
    start, end = a.quo_ground(b.LC) - one, c.quo_ground(d.LC)
    total = one * 0
    for exponents, number in p.terms():
        rest = list(exponents)
        degree, rest[place] = rest[place], 0
        factor = p.ring({tuple(rest): number})
        powers = _powers_sum(degree, end, one) - _powers_sum(degree, start, one)
        total += _times(factor, powers)
    return total, q


def _powers_sum(j, n, one):
    """1**j + 2**j + ... + n**j as a polynomial in n (Faulhaber)."""
    from sympy import bernoulli

    total, power = one * 0, one
    for i in range(1, j + 2):
        power = _times(power, n)
        number = bernoulli(j + 1 - i)  # of index 1: +1/2
        weight = Fraction(comb(j + 1, i) * number.p, (j + 1) * number.q)
        total += power.mul_ground(one.ring.domain(*weight.as_integer_ratio()))
    return total
