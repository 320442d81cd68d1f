"""Formulas as answers: text in, exact numbers out, nothing evaluated.

A formula crosses as text. It is read by a small grammar of ours, node by node
over Python's own syntax tree, and computed in exact fractions: neither `eval`
nor SymPy's own parser ever sees what a student wrote. Everything is bounded
in steps and sizes, not in seconds, so a verdict does not depend on how busy
the machine is.
"""

import ast
import decimal
import re
import sys
from fractions import Fraction
from math import comb, factorial, isqrt
from typing import NamedTuple

__all__ = [
    "CONDITIONS",
    "MAX_BITS",
    "MAX_STEPS",
    "Refused",
    "Steps",
    "Term",
    "Undefined",
    "agree",
    "closed_fault",
    "evaluate",
    "holds",
    "parse",
    "purse",
    "read_formula",
    "refill",
    "replaced",
    "size",
    "symbol_names",
    "text",
    "uses",
    "walk",
]

# SymPy takes most of a second to import, and a student's process that never
# used it should not pay for it: the two functions that need it import it.

MAX_CHARACTERS = 2000
MAX_NODES = 400
MAX_DEPTH = 100
MAX_DIGITS = 40
MAX_EXPONENT = 64
# A decimal fraction with more digits is a quotient that Python rounded, or the
# square root of one, if there is one with so small a denominator.
QUOTIENT_DIGITS, MAX_QUOTIENT = 14, 1000
MAX_FACTORIAL = 200
MAX_TERMS = 5000
MAX_BITS = 4096
# For all that is asked about one formula: seconds of the machine that asks.
MAX_STEPS = 500_000
# What a root, a logarithm or an exponential costs, to 60 digits.
INEXACT = 20
# A closed form is short: a table of values has no room in one.
MAX_CLOSED, MAX_CLOSED_DIGITS = 80, 40
# A square root, logarithm or exponential is computed to 60 digits; two that
# are equal agree in far more than the 40 that are compared.
DIGITS, AGREE = 60, decimal.Decimal("1e-40")
ALLOWED = re.compile(r"[A-Za-z0-9_+\-*/%(),.<>=!&|~^ \n]*")
WORD = re.compile(r"[A-Za-z0-9_.]+")
DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][0-9]*)?")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,30}")


class Refused(ValueError):
    """A text that is no formula of the question, and why."""


class Undefined(ValueError):
    """A formula has no value at a point, and why."""


class Term(NamedTuple):
    """A formula, or a condition in one.

    op     "number", "symbol", an operator such as "+" or "<", or the name of
           a function
    parts  the Fraction, the name, or the terms that it is made of
    """

    op: str
    parts: tuple


class Steps:
    """How much arithmetic is still allowed."""

    def __init__(self, left=MAX_STEPS):
        self.left = left

    def take(self, number):
        """Pay for a number, by its length; returns it."""
        if isinstance(number, Fraction):
            bits = size(number)
            if bits > MAX_BITS:
                raise Undefined(f"a number of more than {MAX_BITS} bits")
            self.pay(1 + bits // 256)
        else:
            self.pay(INEXACT)
        return number

    def pay(self, steps=1):
        """Pay for a node; Undefined when all steps are spent."""
        self.left -= steps
        if self.left < 0:
            raise Undefined(f"more than {MAX_STEPS} steps to compute")


# Steps of formulas that are being judged: all questions about one share them,
# the points of a check and the mistakes that it tries alike.
_purses = {}
MAX_PURSES = 100


def purse(written):
    """The steps that are left for all that is asked about a formula.

    written  its text
    returns  Steps; new ones after `refill`
    """
    if len(_purses) > MAX_PURSES:
        _purses.clear()
    return _purses.setdefault(written, Steps())


def refill(written):
    """Give a formula all steps again: it was asked for anew."""
    _purses.pop(written, None)


def size(number):
    """Bits of the longer of numerator and denominator."""
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def text(value):
    """The text of a formula, as it leaves the student's program.

    value    a SymPy expression, an int, a Fraction, a float or a text
    returns  str, which `read_formula` reads or refuses; nothing is judged here
    raises   ValueError that names the type of anything else
    """
    sympy = sys.modules.get("sympy")
    formula = sympy is not None and isinstance(value, sympy.Basic)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a NumPy number
    plain = isinstance(value, (int, float, Fraction, str))
    if isinstance(value, bool) or not (formula or plain):
        raise ValueError(
            "expected a formula: a SymPy expression, a number or a text, "
            f"got {type(value).__name__}"
        )
    return str(value)


def symbol_names(symbols):
    """The symbols of a question as a tuple of names.

    symbols  such as "D V", or a list of names
    raises   ValueError for a name that is none, twice there, or a function's
    """
    names = symbols.split() if isinstance(symbols, str) else list(symbols)
    for name in names:
        bad = not isinstance(name, str) or not NAME.fullmatch(name)
        if bad or name in FUNCTIONS or names.count(name) > 1:
            raise ValueError(
                f"symbols must be different names, such as 'D V', got {name!r}"
            )
    return tuple(names)


def read_formula(written, symbols):
    """The formula that a text holds.

    written  text of a formula, such as "V*(D - 1)/D"
    symbols  the names that it may use, such as "D V"
    returns  Term
    raises   Refused, a ValueError, for any other text: it says what is not
             allowed in it
    """
    tree = _syntax(written)
    nodes = sum(1 for _ in ast.walk(tree))
    if nodes > 4 * MAX_NODES or _depth(tree) > MAX_DEPTH:
        raise Refused("the formula is too long or nested too deeply")
    term = _FormulaReader(symbol_names(symbols)).number(tree.body)
    if sum(1 for _ in walk(term)) > MAX_NODES:
        raise Refused(f"the formula has more than {MAX_NODES} parts")
    _bound_powers(term)
    return term


def _syntax(written):
    """Python's syntax tree of a text that has the letters of a formula."""
    if not isinstance(written, str):
        raise Refused(f"expected text, got {type(written).__name__}")
    if len(written) > MAX_CHARACTERS:
        raise Refused(f"a formula has at most {MAX_CHARACTERS} characters")
    end = ALLOWED.match(written).end()
    if end < len(written):
        raise Refused(f"a formula has no {written[end]!r} in it")
    if not written.strip():
        raise Refused("the formula is empty")
    for word in WORD.findall(written):
        if word[0] in ".0123456789" and not DECIMAL.fullmatch(word):
            raise Refused(f"{word[:40]!r} is neither a number nor a name")
    try:
        # No parentheses around it, or `1) + (D` would be a formula too.
        return ast.parse(" ".join(written.split()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("that is not a formula: it cannot be read") from None


def _quoted(node):
    """The text of a syntax tree for a message: short, whatever it is."""
    written = repr(ast.unparse(node))
    return written if len(written) <= 60 else written[:57] + "..."


def _depth(tree):
    """How deeply a syntax tree is nested."""
    level, deep = [tree], 0
    while level:
        level = [c for node in level for c in ast.iter_child_nodes(node)]
        deep += 1
    return deep


class _FormulaReader:
    """Turns a syntax tree into terms; what is not listed here is refused.

    symbols  names of the question
    bound    indices of the sums around the place that is read
    """

    def __init__(self, symbols, bound=()):
        self.symbols, self.bound = symbols, bound

    def number(self, node):
        """The term of a part that must be a number."""
        read = READERS.get(type(node))
        if read is None:
            raise Refused(f"{_quoted(node)} is not allowed in a formula")
        term = read(self, node)
        if term.op in CONDITIONS:
            raise Refused(f"{_quoted(node)} is no number")
        return term

    def condition(self, node):
        """The term of a part that must be true or false."""
        read = READERS.get(type(node))
        term = read and read(self, node)
        if term is None or term.op not in CONDITIONS:
            raise Refused(f"{_quoted(node)} is no condition")
        return term

    def constant(self, node):
        """An int, a decimal fraction, what Python rounded, True or False."""
        value = node.value
        if type(value) is bool:
            return Term("true" if value else "false", ())
        if type(value) not in (int, float) or value in (float("inf"),):
            raise Refused(f"{_quoted(node)} is not allowed in a formula")
        number = _unrounded(value)
        square = _unrounded_square(value, number)
        return _exactly(number) if square is None else _root(square)

    def name(self, node):
        """A symbol of the question, the index of a sum, or E."""
        if node.id in self.symbols or node.id in self.bound:
            return Term("symbol", (node.id,))
        if node.id == "E":
            return Term("exp", (Term("number", (Fraction(1),)),))
        known = " and ".join(self.symbols) or "numbers only"
        raise Refused(
            f"{node.id} is no symbol of this question, which uses {known}"
        )

    def operation(self, node):
        """Two numbers and an operator, or two conditions and & or |."""
        op = OPERATORS.get(type(node.op))
        if op is None:
            hint = "; a power is written **" * isinstance(node.op, ast.BitXor)
            raise Refused(f"{_quoted(node)} is not allowed{hint}")
        part = self.condition if op in ("and", "or") else self.number
        return _folded(Term(op, (part(node.left), part(node.right))))

    def sign(self, node):
        """A sign, or ~ and not before a condition."""
        if isinstance(node.op, (ast.Not, ast.Invert)):
            return Term("not", (self.condition(node.operand),))
        part = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return part
        if part.op == "number":
            return Term("number", (-part.parts[0],))
        return Term("-", (Term("number", (Fraction(0),)), part))

    def logic(self, node):
        """Conditions joined by `and` or `or`."""
        op = "and" if isinstance(node.op, ast.And) else "or"
        return Term(op, tuple(self.condition(part) for part in node.values))

    def comparison(self, node):
        """One comparison, or a chain of them."""
        sides = [self.number(part) for part in (node.left, *node.comparators)]
        pairs = []
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) not in COMPARISONS:
                raise Refused(f"{_quoted(node)} is not allowed")
            pairs.append(Term(COMPARISONS[type(op)], (left, right)))
        return pairs[0] if len(pairs) == 1 else Term("and", tuple(pairs))

    def call(self, node):
        """A function of the list, with as many arguments as it takes."""
        name = getattr(node.func, "id", None)
        if name not in FUNCTIONS or node.keywords:
            raise Refused(
                f"{_quoted(node)} is not allowed; the functions are "
                f"{', '.join(sorted(FUNCTIONS))}"
            )
        op, least, most = FUNCTIONS[name]
        if not least <= len(node.args) <= most:
            raise Refused(f"{_quoted(node)}: wrong number of arguments")
        if op in ("Sum", "Product"):
            return self.series(op, node)
        if op == "Piecewise":
            return self.cases(node)
        return _folded(Term(op, tuple(self.number(part) for part in node.args)))

    def series(self, op, node):
        """A sum or product; of several limits the first is the innermost."""
        limits = []
        for limit in node.args[1:]:
            if not (
                isinstance(limit, ast.Tuple)
                and len(limit.elts) == 3
                and isinstance(limit.elts[0], ast.Name)
            ):
                raise Refused(f"{op} takes a term and limits such as (k, 1, D)")
            limits.append((limit.elts[0].id, *limit.elts[1:]))
        inner, sides = self, []
        for index, low, high in reversed(limits):
            sides.append((index, inner.number(low), inner.number(high)))
            inner = inner.inside(index)
        term = inner.number(node.args[0])
        for index, low, high in reversed(sides):
            term = Term(op, (term, index, low, high))
        return term

    def inside(self, index):
        """A reader that also knows the index of a sum."""
        if index in self.symbols or index in self.bound or index in FUNCTIONS:
            raise Refused(f"{index} is taken: give the sum another index")
        return _FormulaReader(self.symbols, (*self.bound, index))

    def cases(self, node):
        """The pairs (value, condition) of a Piecewise."""
        pairs = []
        for case in node.args:
            if not isinstance(case, ast.Tuple) or len(case.elts) != 2:
                raise Refused("Piecewise takes pairs (value, condition)")
            value, condition = case.elts
            pairs += [self.number(value), self.condition(condition)]
        return Term("Piecewise", tuple(pairs))


def _unrounded(value):
    """A number of a text as a Fraction.

    value    int or float
    returns  what is written; but a decimal fraction of so many digits that
             only a quotient of small numbers can have left them, such as the
             0.666666666666667 that SymPy makes of 2 / 3, as that quotient
    """
    written = Fraction(repr(value))
    digits = decimal.Decimal(repr(value)).normalize().as_tuple().digits
    near = written.limit_denominator(MAX_QUOTIENT)
    off = abs(near - written) * 10**QUOTIENT_DIGITS
    rounded = len(digits) > QUOTIENT_DIGITS and off <= abs(written)
    return near if rounded else written


def _unrounded_square(value, number):
    """The quotient whose square root Python rounded to a value, or None.

    value    int or float, such as the 0.790569415042095 of (5 / 8)**0.5
    number   what `_unrounded` makes of it; other than it is written, it is a
             quotient itself
    """
    written = Fraction(repr(value))
    digits = decimal.Decimal(repr(value)).normalize().as_tuple().digits
    if number != written or len(digits) <= QUOTIENT_DIGITS:
        return None
    square = written**2
    near = square.limit_denominator(MAX_QUOTIENT)
    off = abs(near - square) * 10**QUOTIENT_DIGITS
    rounded = square < MAX_QUOTIENT and off <= 2 * square
    return near if near and rounded else None


def _root(square):
    """The term of a square root."""
    half = Term("number", (Fraction(1, 2),))
    return Term("**", (_exactly(square), half))


def _exactly(number):
    """The term of a number that is not too long."""
    if size(number) > MAX_DIGITS * 3.33:  # bits to a digit, rounded up
        raise Refused(f"a number has at most {MAX_DIGITS} digits")
    return Term("number", (number,))


def _folded(term):
    """A fraction of two numbers as the number that it is."""
    if term.op == "/" and all(part.op == "number" for part in term.parts):
        (a,), (b,) = (part.parts for part in term.parts)
        if b != 0:
            return _exactly(a / b)
    return term


READERS = {
    ast.Constant: _FormulaReader.constant,
    ast.Name: _FormulaReader.name,
    ast.BinOp: _FormulaReader.operation,
    ast.UnaryOp: _FormulaReader.sign,
    ast.BoolOp: _FormulaReader.logic,
    ast.Compare: _FormulaReader.comparison,
    ast.Call: _FormulaReader.call,
}
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
CONDITIONS = {*COMPARISONS.values(), "and", "or", "not", "true", "false"}
# name: (what it is read as, least and most arguments)
FUNCTIONS = {
    "Abs": ("Abs", 1, 1),
    "Eq": ("==", 2, 2),
    "Integer": ("floor", 1, 1),
    "Max": ("Max", 1, 20),
    "Min": ("Min", 1, 20),
    "Mod": ("%", 2, 2),
    "Ne": ("!=", 2, 2),
    "Piecewise": ("Piecewise", 1, 20),
    "Product": ("Product", 2, 4),
    "Rational": ("/", 2, 2),
    "Sum": ("Sum", 2, 4),
    "abs": ("Abs", 1, 1),
    "binomial": ("binomial", 2, 2),
    "ceiling": ("ceiling", 1, 1),
    "exp": ("exp", 1, 1),
    "factorial": ("factorial", 1, 1),
    "floor": ("floor", 1, 1),
    "log": ("log", 1, 2),
    "max": ("Max", 1, 20),
    "min": ("Min", 1, 20),
    "sqrt": ("sqrt", 1, 1),
    "summation": ("Sum", 2, 4),
}


def walk(term):
    """A term and every term in it."""
    yield term
    for part in term.parts:
        if isinstance(part, Term):
            yield from walk(part)


def _bound_powers(term):
    """Refuse exponents that are large, by themselves or one upon another.

    term     Term
    returns  the product of the exponents along the worst path
    """
    parts = [part for part in term.parts if isinstance(part, Term)]
    worst = max((_bound_powers(part) for part in parts), default=Fraction(1))
    if term.op == "**" and not any(p.op == "symbol" for p in walk(parts[1])):
        try:
            worst = max(1, abs(_inexact(evaluate(parts[1], {})))) * _inexact(
                worst
            )
        except Undefined as reason:
            raise Refused(f"an exponent is {reason}") from None
    if worst > MAX_EXPONENT:
        raise Refused(f"an exponent is at most {MAX_EXPONENT}")
    return worst


def closed_fault(term):
    """Why a formula is no closed form, or None.

    term     Term
    returns  words: sums, products and conditions are refused, and what is so
             long that it can hold a table of values instead of a law
    """
    used = uses(term)
    if used & {"Sum", "Product"}:
        return "expected a closed form, without Sum and Product"
    if used & {"Piecewise", *CONDITIONS}:
        return "expected a closed form, without cases and conditions"
    if any(_is_indicator(part) for part in walk(term)):
        return "expected a closed form: a power of 0 picks out single points"
    parts = list(walk(term))
    digits = sum(
        len(str(n))
        for part in parts
        if part.op == "number"
        for n in part.parts[0].as_integer_ratio()
        if abs(n) > 1
    )
    if len(parts) > MAX_CLOSED or digits > MAX_CLOSED_DIGITS:
        return (
            f"expected a closed form of at most {MAX_CLOSED} parts and "
            f"{MAX_CLOSED_DIGITS} digits, got {len(parts)} and {digits}"
        )
    return None


def _is_indicator(term):
    """Whether a term is a power of 0, which is 1 at single points only."""
    if term.op != "**":
        return False
    return term.parts[0] == Term("number", (Fraction(0),))


def uses(term):
    """The names of the functions and operators in a formula, as a set."""
    return {part.op for part in walk(term)}


# Values at a point


def evaluate(term, point, steps=None):
    """The value of a formula where its symbols are numbers.

    term     Term
    point    dict: symbol -> int or Fraction
    steps    Steps, shared by values that are to be bounded together
    returns  Fraction, exact; or Decimal where a root, a logarithm or an
             exponential is not rational
    raises   Undefined, a ValueError, where there is no value, or where it
             takes too many steps
    """
    names = {name: Fraction(number) for name, number in point.items()}
    try:
        with decimal.localcontext(prec=DIGITS, Emax=2000, Emin=-2000):
            return _value(term, names, steps or Steps())
    except ZeroDivisionError:
        raise Undefined("a division by zero") from None
    except (decimal.DecimalException, OverflowError):
        raise Undefined("no number, or one that is too large") from None


def _value(term, names, steps):
    """What `evaluate` gives, inside its decimal context."""
    op, parts = term
    steps.pay()
    if op == "number":
        return parts[0]
    if op == "symbol":
        return names[parts[0]]
    if op in ("Sum", "Product"):
        return _series_value(term, names, steps)
    if op == "Piecewise":
        for case, condition in zip(parts[::2], parts[1::2], strict=True):
            if holds(condition, names, steps):
                return _value(case, names, steps)
        raise Undefined("no case of the Piecewise holds")
    numbers = _one_number_type([_value(part, names, steps) for part in parts])
    return steps.take(ARITHMETIC[op](*numbers))


def _one_number_type(numbers):
    """The numbers all as Fraction, or else all as Decimal."""
    if all(isinstance(number, Fraction) for number in numbers):
        return numbers
    return [_inexact(number) for number in numbers]


def _rational(number):
    """A Decimal as a Fraction if it is as near to a whole number as that."""
    if isinstance(number, decimal.Decimal):
        nearest = Fraction(number.to_integral_value())
        if agree(number, nearest):
            return nearest
    return number


def _inexact(number):
    """A number as Decimal."""
    if isinstance(number, Fraction):
        top, below = number.numerator, number.denominator
        return decimal.Decimal(top) / decimal.Decimal(below)
    return number


def agree(a, b):
    """Whether two values are equal; exactly so, if they are rational."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    with decimal.localcontext(prec=DIGITS):
        a, b = _inexact(a), _inexact(b)
        return abs(a - b) <= AGREE * max(1, abs(a), abs(b))


def holds(term, names, steps):
    """Whether a condition is true."""
    op, parts = term
    steps.pay()
    if op in ("true", "false"):
        return op == "true"
    if op == "not":
        return not holds(parts[0], names, steps)
    if op in ("and", "or"):
        every = all if op == "and" else any
        return every(holds(part, names, steps) for part in parts)
    a, b = (_value(part, names, steps) for part in parts)
    if agree(a, b):
        return op in ("==", "<=", ">=")
    return (
        op == "!=" or op in ("<", "<=") and a < b or op in (">", ">=") and a > b
    )


def _as_int(number, asked):
    """The int that a value is.

    number   Fraction or Decimal
    asked    what it is, in words
    raises   Undefined when it is none
    """
    number = _rational(number)
    if not isinstance(number, Fraction) or number.denominator != 1:
        raise Undefined(f"{asked} is not a whole number")
    return number.numerator


def _series_value(term, names, steps):
    """A sum or a product, as SymPy understands it.

    term   Term
    names  dict: symbol -> value
    steps  Steps

    An empty one is 0 or 1. One whose upper limit lies further below is, by the
    rule that keeps sums of neighbouring ranges additive, minus the sum of the
    terms between.
    """
    body, index, *limits = term.parts
    low, high = (
        _as_int(_value(limit, names, steps), "the limit of a sum")
        for limit in limits
    )
    backwards = high < low - 1
    if backwards:
        low, high = high + 1, low - 1
    if high - low >= MAX_TERMS:
        raise Undefined(f"a sum of more than {MAX_TERMS} terms")
    total = Fraction(term.op == "Product")
    for number in range(low, high + 1):
        inside = {**names, index: Fraction(number)}
        both = _one_number_type([total, _value(body, inside, steps)])
        total = steps.take(ARITHMETIC[term.op](*both))
    if not backwards:
        return total
    return 1 / total if term.op == "Product" else -total


def _floor(number):
    """The largest whole number that is not larger."""
    number = _rational(number)
    if isinstance(number, decimal.Decimal):
        return Fraction(number.to_integral_value(decimal.ROUND_FLOOR))
    return Fraction(number.numerator // number.denominator)


def _power(base, exponent):
    """base ** exponent: exact where it is rational."""
    if isinstance(exponent, Fraction) and isinstance(base, Fraction):
        if exponent.denominator == 1:
            if size(base) * abs(exponent) > MAX_BITS and abs(base) != 1:
                raise Undefined(f"a power of more than {MAX_BITS} bits")
            return base**exponent.numerator
        if exponent.denominator == 2 and base >= 0:
            top, below = isqrt(base.numerator), isqrt(base.denominator)
            root = Fraction(top, below)
            if root * root == base:
                return _power(root, 2 * exponent)
    if base < 0 and not isinstance(exponent, Fraction):
        raise Undefined("a power of a negative number")
    if base < 0 and exponent.denominator != 1:
        raise Undefined("a root of a negative number")
    return _inexact(base) ** _inexact(exponent)


def _logarithm(number, base=None):
    """The natural logarithm, or that to a base, exact where it is whole."""
    if number <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise Undefined("a logarithm of, or to, what is not positive")
    if base is None:
        return Fraction(0) if number == 1 else _inexact(number).ln()
    return _rational(_inexact(number).ln() / _inexact(base).ln())


def _combinations(n, k):
    """n over k, for whole numbers that are not negative."""
    n, k = _as_int(n, "the binomial's n"), _as_int(k, "the binomial's k")
    if n < 0 or n > 5 * MAX_FACTORIAL:
        raise Undefined(f"a binomial of {n}")
    return Fraction(comb(n, k) if k >= 0 else 0)


def _arrangements(n):
    """n!, for a whole number that is not negative."""
    n = _as_int(n, "what a factorial is taken of")
    if not 0 <= n <= MAX_FACTORIAL:
        raise Undefined(f"a factorial of a number not in 0..{MAX_FACTORIAL}")
    return Fraction(factorial(n))


def _remainder(a, n):
    """a modulo n, of the sign of n as in Python and SymPy."""
    whole_part, a, n = _one_number_type([_floor(a / n), a, n])
    return a - n * whole_part


ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: _floor(a / b),
    "%": _remainder,
    "Sum": lambda a, b: a + b,
    "Product": lambda a, b: a * b,
    "**": _power,
    "Abs": abs,
    "Max": lambda *numbers: max(numbers),
    "Min": lambda *numbers: min(numbers),
    "floor": _floor,
    "ceiling": lambda number: -_floor(-number),
    "sqrt": lambda number: _power(number, Fraction(1, 2)),
    "exp": lambda number: _inexact(number).exp() if number else Fraction(1),
    "log": _logarithm,
    "factorial": _arrangements,
    "binomial": _combinations,
}


# Formulas out of formulas


def replaced(written, symbols, **formulas):
    """A formula with other formulas in the place of symbols, as text.

    written   text of a formula
    symbols   the names that it and the others may use
    formulas  what takes a symbol's place, such as D="D + 1"
    returns   str, such as an induction step needs: f(D + 1) from f(D)
    raises    Refused, as `read_formula`; ValueError for a symbol not listed
    """
    names = symbol_names(symbols)
    for name, formula in formulas.items():
        if name not in names:
            raise ValueError(f"{name} is not among the symbols {names}")
        read_formula(formula, names)
    read_formula(written, names)
    # The index of a sum is never a symbol of the question, so that nothing
    # that is put in can be caught by one.
    new = {name: _syntax(formula).body for name, formula in formulas.items()}
    tree = _syntax(written).body
    return ast.unparse(_Replacing(new).visit(tree))


class _Replacing(ast.NodeTransformer):
    """Puts syntax trees in the place of names."""

    def __init__(self, new):
        self.new = new

    def visit_Name(self, node):
        """The tree that takes the place of a name."""
        return self.new.get(node.id, node)


def parse(written, symbols, **assumptions):
    """The SymPy expression of a formula, for an author to go on with.

    written      text of a formula
    symbols      the names that it may use, such as "D V"
    assumptions  what SymPy should know of them; positive=True and
                 integer=True if not told
    returns      sympy.Expr, put together from SymPy's own classes. What you do
                 with it is not bounded: never simplify a student's formula
    raises       Refused, as `read_formula`
    """
    import sympy

    assumptions = assumptions or {"positive": True, "integer": True}
    names = {n: sympy.Symbol(n, **assumptions) for n in symbol_names(symbols)}
    term = read_formula(written, symbols)
    for part in walk(term):
        if not any(inner.op == "symbol" for inner in walk(part)):
            _affordable(part)
    try:
        return _built(term, names, sympy)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Refused(f"SymPy cannot build it: {error}") from None


def _affordable(term):
    """Refuse a number that SymPy would take long to compute by itself."""
    if term.op in ("factorial", "binomial", "**", "exp"):
        try:
            evaluate(term, {})
        except Undefined as reason:
            raise Refused(str(reason)) from None


def _built(term, names, sympy):
    """The SymPy object of a term; `names` holds the symbols in sight."""
    op, parts = term
    if op == "number":
        return sympy.Rational(parts[0].numerator, parts[0].denominator)
    if op == "symbol":
        return names[parts[0]]
    if op in ("Sum", "Product"):
        body, index, low, high = parts
        inside = {**names, index: sympy.Symbol(index, integer=True)}
        limits = [_built(side, names, sympy) for side in (low, high)]
        series = getattr(sympy, op)
        return series(_built(body, inside, sympy), (inside[index], *limits))
    made = [_built(part, names, sympy) for part in parts]
    if op == "Piecewise":
        pairs = zip(made[::2], made[1::2], strict=True)
        return sympy.Piecewise(*pairs)
    return _maker(op, sympy)(*made)


def _maker(op, sympy):
    """What builds the SymPy object of an operation or function."""
    if op in ("true", "false"):
        return lambda: getattr(sympy, op)
    if op == "-":
        return lambda a, b: sympy.Add(a, sympy.Mul(-1, b))
    if op in ("/", "//"):
        rounded = sympy.floor if op == "//" else sympy.Add
        return lambda a, b: rounded(sympy.Mul(a, sympy.Pow(b, -1)))
    return getattr(sympy, BUILT.get(op, op))


# SymPy's names for operators; functions are called as they are here.
BUILT = {
    "+": "Add",
    "*": "Mul",
    "**": "Pow",
    "%": "Mod",
    "==": "Eq",
    "!=": "Ne",
    "<": "Lt",
    "<=": "Le",
    ">": "Gt",
    ">=": "Ge",
    "and": "And",
    "or": "Or",
    "not": "Not",
}
