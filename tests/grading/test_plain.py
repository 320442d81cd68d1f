import json
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from shardlab.checks import plain
from tests.each import each

numbers = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.text(max_size=20),
    st.binary(max_size=20),
)
keys = st.one_of(st.integers(), st.text(max_size=5))
values = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_plain_values_come_back_as_they_were(value):
    try:
        text = plain.encode(value)
    except ValueError as error:
        if "deep" not in str(error):
            raise
        return
    back = plain.decode(text)
    assert back == value
    assert type(back) is type(value)


@given(
    npst.arrays(
        st.sampled_from(["i1", "u2", "i8", "f2", "f4", "f8", "c8", "?"]),
        npst.array_shapes(min_dims=1, min_side=0, max_dims=3, max_side=3),
    )
)
def test_arrays_come_back_bit_for_bit(array):
    back = plain.decode(plain.encode(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_bf16_comes_back_widened():
    x = jnp.asarray([1.5, -2.25, 3e38], jnp.bfloat16)
    back = plain.decode(plain.encode(x))
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, np.asarray(x, np.float32))


def test_numpy_numbers_become_builtin_ones():
    assert type(plain.decode(plain.encode(np.int64(3)))) is int
    assert type(plain.decode(plain.encode(np.float32(3)))) is float
    assert plain.decode(plain.encode(np.bool_(True))) is True
    assert plain.decode(plain.encode(np.str_("illegal"))) == "illegal"


@given(st.fractions())
def test_fractions_become_numbers(value):
    for one in (value, sympy.Rational(value.numerator, value.denominator)):
        back = plain.decode(plain.encode(one))
        assert back == (value if value.denominator == 1 else float(value))
        assert type(back) is (int if value.denominator == 1 else float)


def test_sympy_numbers_become_builtin_ones_and_infinity_stays():
    assert plain.decode(plain.encode(sympy.Float(0.1, 30))) == 0.1
    assert plain.decode(plain.encode([sympy.Integer(7)])) == [7]
    for value in (sympy.oo, sympy.pi, sympy.Symbol("B")):
        with pytest.raises(ValueError, match="only numbers"):
            plain.encode(value)


def test_a_fraction_beyond_every_float_is_named():
    with pytest.raises(ValueError, match="a Fraction that is too large"):
        plain.encode(Fraction(10**400, 3))


def test_ranges_and_texts_in_arrays_come_back_as_lists():
    for value, back in (
        (range(58, 80, 7), [58, 65, 72, 79]),
        (np.array([["XZ", ""]]), [["XZ", ""]]),
        (np.array([], str), []),
    ):
        assert plain.decode(plain.encode(value)) == back
    with pytest.raises(ValueError, match="a range of more than"):
        plain.encode(range(10**30))


def test_an_array_without_dimensions_is_its_number():
    for x, back in ((jnp.int32(3), 3), (np.array(2.5), 2.5)):
        assert plain.decode(plain.encode(x)) == back
        assert type(plain.decode(plain.encode(x))) is type(back)


class AlwaysEqual:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    "value", [AlwaysEqual(), object, len, {1, 2}, np.array([AlwaysEqual()])]
)
def test_objects_do_not_cross(value):
    with pytest.raises(ValueError, match="graded"):
        plain.encode(value)


def test_nothing_is_nested_without_end():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="nested more than 12 deep"):
        plain.encode(value)


@each(
    "packed",
    [
        {"pickle": "gASVBQ=="},
        {"int": "1" * 401},
        {"int": "1", "float": "0x1p0"},
        {"array": ["<f4", [2], "AAAA"]},
        {"array": ["<f4", [-1], ""]},
        {"array": ["<f4", [1.0], "AAAAAA=="]},
        {"array": ["O", [0], ""]},
        {"array": ["V8", [0], ""]},
        {"array": ["<f4", [10**12, 10**12], "AAAA"]},
        {"array": ["<f4", [0] * 17, ""]},
        {"array": "<f4"},
        {"array": ["|b1", [1], "/w=="]},
        {"float": "0x1p99999"},
        {"float": 1.5},
        {"int": [1]},
        {"dict": [[{"list": []}, None]]},
        {"bytes": "not base64!"},
        {"list": 3},
        {"dict": [[1]]},
        [1, 2],
        7,
    ],
)
def test_forged_text_is_refused(packed):
    with pytest.raises(ValueError, match="."):
        plain.decode(json.dumps(packed))


def test_text_that_is_no_json_is_refused():
    for text in ("", "{", "[" * 100_000):
        with pytest.raises(ValueError, match="."):
            plain.decode(text)


def test_a_long_answer_is_refused(monkeypatch):
    monkeypatch.setattr(plain, "MAX_CHARACTERS", 10)
    with pytest.raises(ValueError, match="at most 10 characters long, got 12"):
        plain.decode('"0123456789"')
