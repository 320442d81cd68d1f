"""Formulas as answers: read, computed, compared, and never run."""

import contextlib
import time
from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from shardlab import check
from shardlab.checks import expression, identity, plain, student
from tests.each import each

D, V, k, j = sympy.symbols("D V k j", integer=True, positive=True)


def at(written, **point):
    return expression.evaluate(
        expression.read_formula(written, list(point)), point
    )


# Reading


@each(
    ("written", "expected"),
    [
        ("V*(D - 1)/D", Fraction(6)),
        ("Sum(k, (k, 1, D - 1))", 6),
        ("Sum(j*k, (k, 1, j), (j, 1, D))", 65),
        ("Sum(Sum(j*k, (k, 1, j)), (j, 1, D))", 65),
        ("Product(k, (k, 1, D))", 24),
        ("Sum(k, (k, 1, 0))", 0),
        ("Product(k, (k, 1, 0))", 1),
        ("Piecewise((D/2, Eq(Mod(D, 2), 0)), (0, True))", 2),
        ("Piecewise((1, D > 4), (2, (D >= 4) & ~Eq(D, 5)), (3, True))", 2),
        ("Piecewise((1, 1 < D < 4), (2, D == 4 or D != 4))", 2),
        ("floor(D/3) + ceiling(D/3) + Abs(-D) + D//3 + D%3", 9),
        ("max(D, 3) - Min(D, 3, V)", 1),
        ("sqrt(D) + D**(3/2)", 10),
        ("log(V, 2)", 3),
        ("(-1)**D", 1),
        ("2**-D", Fraction(1, 16)),
        ("factorial(D) + binomial(D, 2)", 30),
        ("Rational(1, 3) + 0.5", Fraction(5, 6)),
        ("1.5e-3*D", Fraction(6, 1000)),
        ("D\n + 1", 5),
        ("-D + +V", 4),
    ],
)
def test_a_formula_is_computed_exactly(written, expected):
    value = at(written, D=4, V=8)
    assert value == expected
    assert isinstance(value, Fraction)


@each(
    ("written", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("D +", "cannot be read"),
        ("2D", "neither a number nor a name"),
        ("0x10", "neither a number nor a name"),
        ("1_000", "neither a number nor a name"),
        ("1if 2else 3", "neither a number nor a name"),
        ("D^2", "a power is written"),
        ("D²", "has no '²' in it"),
        ("D!", "cannot be read"),
        ("'D'", "in it"),
        ("[D]", "in it"),
        ("D; D", "in it"),
        ("lambda: D", "in it"),
        ("(D:=3)", "in it"),
        ("D.real", "not allowed"),
        ("().__class__", "neither a number nor a name"),
        ("__import__(D)", "not allowed"),
        ("exec(D)", "not allowed"),
        ("print(D)", "the functions are Abs, "),
        ("sqrt(x=D)", "not allowed"),
        ("sqrt(D)(D)", "not allowed"),
        ("Max(*D)", "not allowed"),
        ("D if D else 1", "not allowed"),
        ("D, D", "not allowed"),
        ("None", "not allowed"),
        ("1j", "neither a number nor a name"),
        ("D < 3", "is no number"),
        ("True", "is no number"),
        ("Piecewise((D > 1, True))", "is no number"),
        ("Piecewise((D, D))", "is no condition"),
        ("Piecewise((D, 1))", "is no condition"),
        ("~D", "is no condition"),
        ("D and D", "is no condition"),
        ("D & D", "is no condition"),
        ("Piecewise(D)", "pairs"),
        ("Sum(k, k)", "limits such as"),
        ("Sum(k, (k, 1))", "limits such as"),
        ("Sum(k, (k, 1, k))", "k is no symbol"),
        ("Sum(D, (D, 1, 3))", "D is taken"),
        ("Sum(k, (k, 1, 2), (k, 1, 2))", "k is taken"),
        ("Sum(k, (k, 1, 2)) + k", "k is no symbol"),
        ("sqrt()", "number of arguments"),
        ("Mod(D)", "number of arguments"),
        ("X", "X is no symbol of this question, which uses D and V"),
        ("oo", "oo is no symbol"),
        ("D\nimport os", "cannot be read"),
        ("D**65", "at most 64"),
        ("D**-65", "at most 64"),
        ("((D**8)**8)**2", "at most 64"),
        ("9**9**9", "at most 64"),
        ("9**(9*9)", "at most 64"),
        ("9" * 42, "at most 40 digits"),
        ("1e99", "at most 40 digits"),
        ("1e999", "not allowed"),
        ("D" * 2001, "at most 2000 characters"),
        ("+".join("D" * 300), "nested too deeply"),
        ("(" * 250 + "D" + ")" * 250, "cannot be read"),
        ("-" * 1900 + "D", "nested too deeply"),
        (
            "Max(" + ",".join(["Max(" + ",".join("D" * 20) + ")"] * 20) + ")",
            "more than 400 parts",
        ),
    ],
)
def test_what_is_no_formula_is_refused_with_a_reason(written, reason):
    with pytest.raises(expression.Refused) as error:
        expression.read_formula(written, "D V")
    assert reason in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("value", [None, 3, b"D", ["D"], {"D": 1}])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(expression.Refused, match="expected text"):
        expression.read_formula(value, "D")


@each("symbols", ["D D", "2D", ["D", 3], "Sum", "a" * 40, "D-V"])
def test_symbols_are_names(symbols):
    with pytest.raises(ValueError, match="symbols must be different names"):
        expression.read_formula("1", symbols)


HOSTILE = [
    "D**D**D**D",
    "factorial(factorial(factorial(D)))",
    "factorial(10**9)",
    "binomial(10**9, 10**8)",
    "binomial(1000, 500)**60",
    "Sum(1, (k, 1, 10**9))",
    "Sum(Sum(Sum(1, (a, 1, 4000)), (b, 1, 4000)), (c, 1, 4000))",
    "Sum(1, (a, 1, 4000), (b, 1, 4000), (c, 1, 4000))",
    "Product(D + k, (k, 1, 4000))",
    "Sum(1/(k*10**39 + 1), (k, 1, 4000))",
    "exp(exp(exp(exp(D))))",
    "exp(10**30)",
    "2**(D*10**30)",
    "(1 + 1/10**39)**(D*10**9)",
    "Sum(k**12*D**12, (k, 1, D**12))",
    "(" + "*".join(f"(D + V + {i})" for i in range(30)) + ")**2",
    "((D + V + 1/D + 1/V)**8)**8",
    f"({10**39}*D + 1)**64*({10**39}*V + 1)**64",
    "Mod(D, 10**39)",
    "floor(D/10**39) + Mod(V, 10**38 + 1)",
    "Mod(D, 11) + Mod(D, 13) + Mod(V, 17)",
    "(-1)**(D/10**30)",
    "log(1 + exp(D*10**30))",
]


@pytest.mark.long  # judges the processor's time
@pytest.mark.parametrize("written", HOSTILE)
def test_a_hostile_formula_costs_little(written):
    # Bounded in steps; the time is what an honest machine takes for them,
    # doubled and doubled again. Unbounded, each takes minutes or for ever.
    start = time.process_time()
    identity.same(
        written, "D*V", "D V", [(d, v) for d in (1, 4, 9) for v in (1, 7)]
    )
    with pytest.raises(check.WrongAnswer):
        check.formula(
            "it", written, "D V", lambda D, V: D * V - 1, [(5, 5), (6, 7)]
        )
    with contextlib.suppress(expression.Refused):
        expression.parse(written, "D V")
    assert time.process_time() - start < 10


@each(
    ("written", "reason"),
    [
        ("1/0", "division by zero"),
        ("1/(D - 4)", "division by zero"),
        ("Mod(D, 0)", "division by zero"),
        ("0**(-D)", "division by zero"),
        ("sqrt(-D)", "root of a negative"),
        ("(-8)**(1/3)", "root of a negative"),
        ("(-2)**sqrt(2)", "power of a negative"),
        ("log(0)", "logarithm"),
        ("log(D, 1)", "logarithm"),
        ("Piecewise((1, D > 9))", "no case"),
        ("Sum(k, (k, 1, D/3))", "not a whole number"),
        ("factorial(D/3)", "not a whole number"),
        ("factorial(-D)", "not in 0..200"),
        ("factorial(201)", "not in 0..200"),
        ("Sum(k, (k, 1, 6000))", "more than 5000 terms"),
        ("2**(D*2000)", "more than 4096 bits"),
        ("Product(2**k, (k, 1, 100))", "more than 4096 bits"),
        ("exp(D**20)", "too large"),
    ],
)
def test_a_formula_without_a_value_says_why(written, reason):
    with pytest.raises(expression.Undefined, match=reason):
        at(written, D=4)


def test_only_the_case_that_holds_is_computed():
    assert at("Piecewise((1/(D - 1), D > 1), (0, True))", D=1) == 0


def test_numbers_that_are_not_rational_agree_when_they_are_equal():
    assert expression.agree(at("sqrt(2)*sqrt(D)", D=8), Fraction(4))
    assert not expression.agree(at("sqrt(D)", D=2), Fraction(7, 5))
    assert at("floor(log(D)/log(2))", D=8) == 3
    assert at("Piecewise((1, Eq(sqrt(2)*sqrt(D), 4)), (0, True))", D=8) == 1


# What leaves the student's program


@each(
    ("value", "expected"),
    [
        (V * (D - 1) / D, "V*(D - 1)/D"),
        (sympy.Sum(k, (k, 1, D)), "Sum(k, (k, 1, D))"),
        (sympy.Rational(1, 3), "1/3"),
        (Fraction(1, 3), "1/3"),
        (3, "3"),
        (0.5, "0.5"),
        ("D - 1", "D - 1"),
    ],
)
def test_a_formula_crosses_as_text(value, expected):
    assert expression.text(value) == expected


@each("value", [None, True, [D], {"a": D}, lambda D: D, 1j])
def test_what_is_no_formula_does_not_cross(value):
    with pytest.raises(ValueError, match="expected a formula: a SymPy"):
        expression.text(value)


def test_an_object_that_lies_crosses_as_the_text_that_it_is():
    class Sly(str):
        def __str__(self):
            return "__import__('os').system('true')"

    crossed = plain.decode(plain.encode(expression.text(Sly("D"))))
    with pytest.raises(expression.Refused):
        expression.read_formula(crossed, "D")


PRINTED = [
    D * (D - 1) / 2,
    sympy.Sum(k, (k, 1, D - 1)),
    sympy.Sum(j * k, (k, 1, j), (j, 1, D)),
    sympy.Product(k, (k, 1, D)),
    sympy.Piecewise(
        (D**2 / 4, sympy.Eq(sympy.Mod(D, 2), 0)), ((D**2 - 1) / 4, True)
    ),
    sympy.Piecewise((D, (D > 2) & sympy.Ne(D, 5)), (1, D <= 1), (2, True)),
    sympy.floor(D / 2) * sympy.ceiling(D / 2),
    sympy.sqrt(D) * D ** sympy.Rational(3, 2),
    sympy.log(D, 2) + sympy.exp(1) + sympy.exp(-D),
    sympy.Max(D, 3) - sympy.Min(D, 3) + sympy.Abs(D - 5),
    sympy.binomial(D, 2) + sympy.factorial(D),
    (-1) ** D * sympy.Rational(-2, 7) + 2 ** (1 - D),
]


@each("formula", PRINTED)
def test_what_sympy_prints_is_read_and_has_the_value_that_sympy_finds(formula):
    term = expression.read_formula(expression.text(formula), "D")
    for size in (1, 2, 3, 6, 7):
        ours = expression.evaluate(term, {"D": size})
        theirs = formula.subs(D, size).doit()
        if isinstance(ours, Fraction):
            exact = sympy.Rational(ours.numerator, ours.denominator)
            assert sympy.simplify(theirs - exact) == 0
        else:
            assert abs(theirs.evalf(50) - sympy.Float(str(ours), 60)) < 1e-45


# Formulas out of formulas


def test_a_formula_takes_the_place_of_a_symbol():
    step = expression.replaced("D*(D - 1)/2", "D", D="D + 1")
    assert at(step, D=4) == 10
    assert (
        at(expression.replaced("Sum(k, (k, 1, D))", "D V", D="2*V"), D=1, V=2)
        == 10
    )
    swapped = expression.replaced("D - V", "D V", D="V", V="D")
    assert at(swapped, D=3, V=5) == 2


@pytest.mark.parametrize(
    ("written", "new"),
    [("k", {"D": "1"}), ("D", {"D": "k"}), ("D", {"D": "1) + (D"})],
)
def test_only_formulas_take_the_place_of_symbols(written, new):
    with pytest.raises(expression.Refused):
        expression.replaced(written, "D", **new)


def test_only_symbols_of_the_question_are_replaced():
    with pytest.raises(ValueError, match="X is not among the symbols"):
        expression.replaced("D", "D", X="D")


def test_parse_gives_a_sympy_expression_that_knows_its_symbols():
    formula = expression.parse("Sum(k, (k, 1, D)) + V", "D V")
    assert isinstance(formula, sympy.Expr)
    assert formula.doit() == V + D**2 / 2 + D / 2
    (symbol,) = expression.parse("x", "x", real=True).free_symbols
    assert symbol.is_positive is None
    with pytest.raises(expression.Refused):
        expression.parse("Mod(D, 0)", "D")


# Two formulas

PROVED = [
    ("Sum(k, (k, 1, D - 1))", "D*(D - 1)/2"),
    ("Sum(k**3, (k, 1, D))", "Sum(k, (k, 1, D))**2"),
    ("Sum(j*k, (k, 1, j), (j, 1, D))", "D*(D + 1)*(D + 2)*(3*D + 1)/24"),
    ("Sum(V*k/D, (k, V, D))", "V*(D + V)*(D - V + 1)/(2*D)"),
    ("V*(D - 1)/D", "V - V/D"),
    ("floor(D/2)*ceiling(D/2)", "D**2//4"),
    (
        "Sum(k, (k, 1, floor(D/2))) + Sum(k, (k, 1, floor((D - 1)/2)))",
        "D**2//4",
    ),
    ("Piecewise((D**2/4, Eq(Mod(D, 2), 0)), ((D**2 - 1)/4, True))", "D**2//4"),
    ("D**2/4 - (1 - (-1)**D)/8", "D**2//4"),
    ("Mod(D, 3) + 3*floor(D/3)", "D"),
    ("ceiling(D/3)", "(D + 2)//3"),
    ("Piecewise((D, 2 > 3), (V, 1 <= 2), (0, True))", "V"),
    ("Piecewise((D, 3/(1 - 3) < -1), (V, True))", "D"),
]


@each(("a", "b"), PROVED)
def test_equal_formulas_are_proved_equal(a, b):
    sizes = [(d, v) for d in range(1, 9) for v in (1, 2, 5)]
    assert identity.same(a, b, "D V", sizes) == (True, True, None, ())


@each(("a", "b"), PROVED)
def test_a_formula_that_is_off_by_little_is_found_out(a, b):
    # Both off by a term that vanishes at the points that are given.
    off = f"{b} + (D - 1)*(D - 2)/10**9"
    found = identity.same(a, off, "D V", [(1, 1), (2, 3)])
    assert not found.same
    assert found.proved
    first, second = found.values
    assert first != second
    assert (
        expression.evaluate(expression.read_formula(a, "D V"), found.point)
        == first
    )


@each(
    ("a", "b", "sizes"),
    [
        ("sqrt(D**2)", "D", range(1, 20)),
        ("2**(log(D)/log(2))", "D", range(1, 20)),
        ("Max(D, 1)", "D", range(1, 20)),
        ("Mod(D, 7) + 7*(D//7) + Mod(D, 5)", "D + Mod(D, 5)", range(1, 40)),
        ("floor(D/2)", "(D - Mod(D, 2))/2", [Fraction(2), Fraction(3)]),
        ("factorial(D + 1)", "(D + 1)*factorial(D)", range(1, 9)),
        ("Piecewise((D, D > 3), (D**2/D, True))", "D", range(1, 9)),
    ],
)
def test_what_no_normal_form_decides_is_decided_by_points(a, b, sizes):
    assert identity.same(a, b, "D", sizes) == (True, False, None, ())


def test_a_point_without_a_value_is_a_difference():
    found = identity.same("D*(D - 1)/(D - 1)", "D", "D", range(1, 4))
    assert (found.same, found.proved) == (False, False)
    assert found.point == {"D": 1}
    assert "division by zero" in found.values[0]


ATOMS = ["D", "V", "1", "2", "3", "D - 1"]


def grown(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        inner.map(lambda a: f"({a})/2"),
        inner.map(lambda a: f"({a})**2"),
        inner.map(lambda a: f"floor(({a})/2)"),
        inner.map(lambda a: f"Mod({a}, 3)"),
        inner.map(lambda a: f"Sum(k*({a}), (k, 1, D))"),
        inner.map(lambda a: f"Piecewise(({a}, Eq(Mod(D, 2), 1)), (V, True))"),
    )


FORMULAS = st.recursive(st.sampled_from(ATOMS), grown, max_leaves=6).filter(
    # An index inside a sum over the same index is refused.
    lambda text: text.count("Sum") <= 1
)


@given(FORMULAS, FORMULAS)
def test_points_and_normal_forms_never_contradict_each_other(a, b):
    first, second = (expression.read_formula(each, "D V") for each in (a, b))
    decided = identity.equal_forms(first, second, ("D", "V"))
    points = [{"D": d, "V": v} for d in range(1, 9) for v in range(1, 8)]
    equal = all(
        expression.evaluate(first, point) == expression.evaluate(second, point)
        for point in points
    )
    if decided is True:
        assert equal
    if equal and decided is False:
        # No formula this short agrees at so many points and differs.
        pytest.fail(f"{a} and {b} agree everywhere and are called different")


@given(FORMULAS)
def test_sympy_and_we_compute_the_same(written):
    term = expression.read_formula(written, "D V")
    formula = expression.parse(written, "D V")
    for d, v in ((1, 2), (4, 3), (7, 1)):
        ours = expression.evaluate(term, {"D": d, "V": v})
        theirs = formula.subs({"D": d, "V": v}, simultaneous=True)
        theirs = theirs.subs({D: d, V: v}).doit()
        assert sympy.Rational(ours.numerator, ours.denominator) == theirs


@given(
    st.text(
        st.sampled_from("DVk0123456789+-*/%()., <>=~&|^SumPieMod"), max_size=40
    )
)
def test_any_text_is_read_or_refused(written):
    with contextlib.suppress(expression.Refused, expression.Undefined):
        term = expression.read_formula(written, "D V")
        assert term.op not in expression.CONDITIONS
        expression.evaluate(term, {"D": 3, "V": 2})


@each(
    "sizes", [[], [(1,)], [(1, 2, 3)], [1], [{"D": 1}], [(1.0, 2)], [("1", 2)]]
)
def test_points_give_every_symbol_a_number(sizes):
    with pytest.raises(ValueError, match="point"):
        identity.points("D V", sizes)


# The checks


def hops(d):
    """Links crossed when one device sends to each of the others, one way."""
    return sum(distance for distance in range(1, d))


def wrongs(function, *arguments, **keywords):
    with pytest.raises(check.WrongAnswer) as error:
        function(*arguments, **keywords)
    return str(error.value)


def judged(got, **keywords):
    check.formula("hops", got, "D", hops, range(1, 17), **keywords)


def test_a_quotient_that_python_rounded_is_that_quotient():
    D = sympy.Symbol("D", positive=True)
    third = Fraction(2, 3)
    for written in (
        2 / 3 * D,
        str(2 / 3 * D),
        sympy.expand(2 / 3 * (D - 1) + 2 / 3),
        f"{2 / 3}*D",
        f"{20 / 3}*D/10",
        D / 1.5,
    ):
        term = expression.read_formula(expression.text(written), "D")
        assert expression.evaluate(term, {"D": 5}) == 5 * third
    for written in ("0.6666667*D", "0.66666666666667*D", f"{2 ** (1 / 3)}*D"):
        term = expression.read_formula(written, "D")
        assert expression.evaluate(term, {"D": 1}) == Fraction(written[:-2])


def test_a_root_that_python_rounded_is_that_root():
    D = sympy.Symbol("D", positive=True)
    for written, right in (
        (0.625**0.5 * D, "sqrt(5/8)*D"),
        ((0.625 * D**2) ** 0.5, "sqrt(5/8)*D"),
        (f"-{2**0.5 / 2}*D", "-D/sqrt(2)"),
        (f"D/{3**0.5}", "D/sqrt(3)"),
    ):
        got = expression.text(written)
        assert identity.same(got, right, "D", range(1, 5)).same
    for written in ("0.790569415*D", "0.79056941504209*D", "0.7905694150421*D"):
        right = "sqrt(5/8)*D"
        assert not identity.same(written, right, "D", range(1, 5)).same


def test_a_formula_is_held_against_a_count():
    judged("Sum(k, (k, 1, D - 1))")
    judged("D*(D - 1)/2", closed=True)
    assert wrongs(judged, "D*(D + 1)/2") == (
        "hops gave 'D*(D + 1)/2': at D = 1 it gives 1, the count gives 0"
    )
    assert "expected a closed form" in wrongs(
        judged, "Sum(k, (k, 1, D - 1))", closed=True
    )
    mistake = [("D*(D + 1)/2", "that sends to itself too")]
    assert "to itself" in wrongs(judged, "(D + 1)*D/2", likely=mistake)
    assert "a decimal fraction is not exact" in wrongs(judged, "D*(D - 1.1)/2")
    assert "Rational(1, 3) is" in wrongs(judged, "D*(D - 1)*0.49999999999")
    assert "at D = 1 it has no value (a division by zero)" in wrongs(
        judged, "1/(D - 1)"
    )
    assert "gives about 1.41421356237" in wrongs(
        check.formula, "it", "sqrt(D)", "D", lambda D: D, [2]
    )


def test_a_count_is_exact():
    with pytest.raises(ValueError, match="a count must be an int or a Frac"):
        check.formula("it", "D", "D", lambda D: D / 2, [2])


def test_an_induction_is_checked_step_by_step():
    def step(closed, added):
        following = expression.replaced(closed, "D", D="D + 1")
        check.identical(
            "f(D + 1)", following, f"({closed}) + ({added})", "D", range(1, 9)
        )

    step("D*(D - 1)/2", "D")
    assert "it gives 1, the other side gives 2" in wrongs(
        step, "D*(D - 1)/2", "D + 1"
    )


def test_a_formula_that_is_right_up_to_some_size_is_not_proved():
    lazy = "Piecewise((D*(D - 1)/2, D < 50), (0, True))"

    def judge(got, **keywords):
        check.identical("it", got, "D*(D - 1)/2", "D", range(1, 9), **keywords)

    judge(lazy)
    assert "as a fraction of polynomials" in wrongs(judge, lazy, proved=True)
    judge("Sum(k, (k, 1, D - 1))", proved=True)


def test_a_formula_that_differs_elsewhere_is_another():
    said = wrongs(check.identical, "it", "(D - 1)*(D - 2)", "0", "D", [1, 2])
    assert "the other side gives 0" in said


@each(
    ("got", "grows"),
    [
        ("1", "(D - 1)/D"),
        ("V", "V*(D - 1)/D"),
        ("1/4", "floor(D/2)*ceiling(D/2)/D**2"),
        ("1/2", "(D**2//4)/(D*(D - 1)/2)"),
        ("1/(2*V)", "Sum(k, (k, 1, D))/(V*D**2)"),
        ("0", "V/D"),
        ("0", "0"),
    ],
)
def test_a_limit_is_decided(got, grows):
    check.limit("it", got, grows, "D V", "D")
    assert "not where it goes when D grows" in wrongs(
        check.limit, "it", f"{got} + 1/10**9", grows, "D V", "D"
    )


def test_a_limit_does_not_depend_on_what_grows():
    assert "does not depend on D" in wrongs(
        check.limit, "it", "1 - 1/D", "1 - 1/D", "D", "D"
    )
    assert "where it goes" in wrongs(check.limit, "it", "1", "D", "D", "D")
    swings = "Piecewise((1, Eq(Mod(D, 2), 0)), (0, True))"
    assert "where it goes" in wrongs(check.limit, "it", "1", swings, "D", "D")
    with pytest.raises(ValueError, match="cannot tell what"):
        check.limit("it", "1", "sqrt(D)", "D", "D")


@pytest.mark.parametrize(
    "value", [V * (D - 1) / D, "V - V/D", "V*(1 - Rational(1, D))"]
)
def test_a_student_answers_with_an_expression_or_a_text(value):
    names = {"formula": value}
    with student.asking(student.ThisKernel(names), 0):
        got = student.expression("formula")
    check.identical("formula", got, "V*(D - 1)/D", "D V", [(4, 8)])


def test_an_expression_that_is_not_there_is_not_answered():
    with (
        student.asking(student.ThisKernel({}), 0),
        pytest.raises(check.NotAnswered),
    ):
        student.expression("formula")


# Nobody pays for another: what is asked about one formula has an end.

CHEAP_CONDITIONS = ", ".join(
    f"(D, Eq(Sum(Sum(1, (k, 1, 40)), (j, 1, 40)), {n}))" for n in range(18)
)
COSTLY = {
    "conditions": f"Piecewise({CHEAP_CONDITIONS}, (1, True))",
    "indices and numbers": "Sum(Sum(Sum(1, (k, 1, 999)), (j, 1, 999)), "
    "(i, 1, 999))",
    "roots": "Sum(sqrt(k) + sqrt(k + 1), (k, 1, 4999))",
    "logarithms": "Sum(Sum(log(k + j), (k, 1, 999)), (j, 1, 999))",
    "long powers": "Sum(Sum((k + j)**64, (k, 1, 4999)), (j, 1, 4999))",
    "long polynomials": "(D + V + 1)**60 * (D - V + 1)**60",
}
MANY = [(f"D**2 + {n}", "a mistake") for n in range(20)]


@pytest.mark.parametrize("kind", COSTLY)
def test_all_that_is_asked_about_a_formula_shares_its_steps(kind, monkeypatch):
    spent = []
    real = expression.Steps.pay

    def pay(self, steps=1):
        spent.append(steps)
        return real(self, steps)

    monkeypatch.setattr(expression.Steps, "pay", pay)
    written = COSTLY[kind]
    expression.refill(written)
    points = [(n, n + 1) for n in range(1, 100)]
    for _ in range(2):  # a check asks more than once
        with pytest.raises(check.WrongAnswer):
            check.formula(
                "f", written, "D V", lambda D, V: -1, points, likely=MANY
            )
        with pytest.raises(check.WrongAnswer):
            check.identical("f", written, "D*V", "D V", points, likely=MANY)
    # Once they are spent, each further question costs a step and an answer.
    rest = 2 * 2 * (len(MANY) + 1) * (len(points) + 200) * 2 * 4
    assert sum(spent) < expression.MAX_STEPS + rest


def test_a_formula_that_is_asked_for_anew_has_all_its_steps():
    written = "Sum(Sum(1, (k, 1, 999)), (j, 1, 999))"
    expression.refill(written)
    for _ in range(2):
        with pytest.raises(check.WrongAnswer, match="more than 500000 steps"):
            check.formula("f", written, "D", lambda D: 1, [1])
    expression.purse("D").left = 0
    names = {"f": "D"}
    with student.asking(student.ThisKernel(names), 0):
        got = student.expression("f")
        check.formula("f", got, "D", lambda D: D, range(1, 99))


TABLE = {n: n * (n - 1) // 2 for n in range(1, 33)}
TABLES = {
    "cases": "Piecewise("
    + ", ".join(f"({v}, Eq(D, {n}))" for n, v in list(TABLE.items())[:19])
    + ", (0, True))",
    "powers of 0": " + ".join(f"{v}*0**Abs(D-{n})" for n, v in TABLE.items()),
    "greatest of small ones": " + ".join(
        f"{v}*Max(0,1-Abs(D-{n}))" for n, v in TABLE.items()
    ),
    "digits of a number": "Mod(floor("
    + "".join(f"{v:03}" for v in list(TABLE.values())[:13]).lstrip("0")
    + " / 1000**(13 - D)), 1000)",
    "a polynomial through all points": str(
        sympy.horner(
            sympy.interpolate(
                [(n, v + n % 5) for n, v in list(TABLE.items())[:20]], D
            )
        )
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_closed_form_is_no_table(kind):
    with pytest.raises(
        check.WrongAnswer, match="expected a closed form|digits"
    ):
        check.formula(
            "f", TABLES[kind], "D", lambda D: TABLE[D], TABLE, closed=True
        )


@pytest.mark.parametrize(
    "written",
    [
        "D*(D - 1)/2",
        "floor(D/2)*ceiling(D/2)/2",
        "(2*D**2 - 1 + (-1)**D)/16",
        "(D**2 - Mod(D, 2))/8",
        "Max(2*(D - 1)/D, Rational(3, 4)) * 1234567890123",
    ],
)
def test_a_law_is_a_closed_form(written):
    assert (
        expression.closed_fault(expression.read_formula(written, "D")) is None
    )
