"""`agree` insists, and says what it compared."""

from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from shardlab.agree import agree
from tests.each import each


def test_equal_values_are_shown_side_by_side():
    found = agree(formula=786432, counted=np.int64(786432), unit="bytes")
    assert repr(found) == "formula 786,432 bytes  ✓  counted 786,432 bytes"


def test_more_than_two_values_and_words_for_them():
    found = agree("sent", by_formula=96, counted=96.0, on_links=Fraction(96))
    assert repr(found) == "sent: by formula 96  ✓  counted 96  ✓  on links 96"


def test_dicts_become_a_table():
    found = agree(
        "sent over X",
        formula={2: 6400, ("X", "Y"): Fraction(193, 2)},
        counted={("X", "Y"): 96.5, 2: 6400},
        unit="bytes",
    )
    assert repr(found).splitlines() == [
        "sent over X  formula, bytes  counted, bytes",
        "2                     6,400           6,400  ✓",
        "X, Y                   96.5            96.5  ✓",
    ]


@each(
    ("value", "shown"),
    [
        (1_000_000_007, "1,000,000,007"),
        (7e10, "70,000,000,000"),
        (1 / 3, "0.33333"),
        (123456.78, "1.2346e5"),
        (3.08123456e-7, "3.0812e-7"),
        (Fraction(3, 2), "1.5"),
        (-4096, "-4,096"),
        (float("inf"), "∞"),
        ("A[I_X, J]", "A[I_X, J]"),
        ((2, 4096), "(2, 4,096)"),
        ((8,), "(8,)"),
    ],
)
def test_a_value_shows_thousands_and_at_most_five_digits(value, shown):
    assert repr(agree(a=value, b=value)) == f"a {shown}  ✓  b {shown}"


@each(
    ("values", "words"),
    [
        ({"formula": 1024, "counted": 896}, "formula is 1024 bytes, counted"),
        ({"a": 1.0, "b": np.float64(1.00001)}, "b is 1.00001 bytes"),
        ({"a": 0.1 + 0.2, "b": 0.3}, "a is 0.30000000000000004"),
        ({"a": 2, "b": 2, "on_links": 3}, "on links is 3"),
        ({"a": (2, 64), "b": (64, 2)}, r"a is \(2, 64\)"),
        ({"a": (2, 64), "b": (2,)}, r"b is \(2,\)"),
        ({"a": (2,), "b": 2}, "b is 2"),
        ({"a": {"X": 1, "Y": 2}, "b": {"X": 1, "Y": 3}}, "Y: a is 2"),
    ],
)
def test_a_difference_is_an_error_that_names_both(values, words):
    with pytest.raises(AssertionError, match=words):
        agree(**values, unit="bytes")


def test_a_tolerance_is_used_and_said():
    found = agree(loss=2.0, one_device=2.001, rel=1e-3)
    assert repr(found) == "loss 2  ✓  one device 2.001  (to 0.1 %)"
    with pytest.raises(AssertionError, match=r"one device is 2\.003"):
        agree(loss=2.0, one_device=2.003, rel=1e-3)
    with pytest.raises(AssertionError):
        agree(a={"x": 2.0, "y": 3.0}, b={"x": 2.0, "y": 3.1}, rel=1e-3)
    assert "to 1 %" in repr(agree(a={"x": 3.0}, b={"x": 3.01}, rel=0.01))


@each(
    ("values", "words"),
    [
        ({"a": 1}, "two values or more, by name; it got 1"),
        ({"a": True, "b": 1}, "a must be a number.* of type bool"),
        ({"a": 1, "b": np.bool_(True)}, "b must be a number"),
        ({"a": np.ones(3), "b": np.ones(3)}, "of type ndarray"),
        ({"a": float("nan"), "b": 1}, "a is NaN"),
        ({"a": {1: 2}, "b": {2: 2}}, r"a has the keys \[1\], b \[2\]"),
        ({"a": {1: 2}, "b": 2}, "b is one value where a is a dict"),
        ({"a": {}, "b": {}}, "a is an empty dict"),
        ({"a": 1, "b": 1, "rel": 2}, "rel must lie between 0 and 1"),
        ({"a": 1, "b": 1, "rel": 0}, "rel must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        agree(**values)


class Reader(HTMLParser):
    """Reads HTML: its text, its classes, and that all that opens closes."""

    def __init__(self, html):
        super().__init__()
        self.text, self.classes, self.open = "", set(), []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.classes |= {value for name, value in attrs if name == "class"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_reads_without_styles_and_has_names_for_them():
    line = Reader(agree("a<b", formula=1, counted=1, rel=0.5)._repr_html_())
    assert line.text == "a<b: formula 1 ✓ counted 1 (to 50 %)"
    parts = {"what", "name", "value", "tick", "near"}
    assert line.classes == {"agree", *(f"agree-{part}" for part in parts)}
    table = Reader(agree(a={"<x>": 1}, b={"<x>": 1}, unit="s")._repr_html_())
    assert "".join(table.text.split()) == "a,sb,s<x>11✓"
    assert table.classes == {"agree", "agree-value", "agree-tick"}


def test_the_same_values_give_the_same_bytes():
    first, second = (agree(a={2: 1, 1: 2}, b={1: 2, 2: 1}) for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert repr(first) == repr(second)
