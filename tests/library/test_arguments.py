import inspect
import math
import re

import numpy as np
import pytest

from shardlab import arguments
from shardlab.arguments import one_of, real, whole
from tests.each import each


@pytest.mark.parametrize("value", [1, 7, np.int32(3)])
def test_whole_returns_an_int(value):
    assert type(whole("N", value)) is int
    assert whole("N", value) == value


@each("value", [0, -1, 1.0, 2.5, "4", None, True, [3]])
def test_whole_names_the_argument_and_what_it_got(value):
    with pytest.raises(ValueError, match="N must be a whole number") as error:
        whole("N", value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("value", [0, 1.5, 3, np.float32(2)])
def test_real_returns_a_float(value):
    assert type(real("V", value)) is float


@each("value", [-1, math.nan, math.inf, "3", b"3", None, True, [1.0], 10**400])
def test_real_names_the_argument(value):
    with pytest.raises(ValueError, match="V must be a finite number"):
        real("V", value)


def test_real_above_excludes_the_limit():
    with pytest.raises(ValueError, match="above 0"):
        real("W", 0, above=0)
    assert real("W", 1e-9, above=0) == 1e-9


@pytest.mark.parametrize("value", ["ring", 1, True, None, ["line"]])
def test_one_of_lists_the_choices(value):
    with pytest.raises(ValueError, match="ties must be one of 'split', 'one_"):
        one_of("ties", value, ["split", "one_way"])
    assert one_of("ties", "split", ["split", "one_way"]) == "split"


# ---- checks at the door ------------------------------------------------------


def _no_line_one_way(wrap, directions):
    if directions == 1 and not wrap:
        raise ValueError("directions must be 2 on a line (wrap=False), got 1")


@arguments.takes(
    _no_line_one_way,
    X=arguments.how_many,
    V=arguments.amount,
    wrap=arguments.flag,
    directions=(1, 2),
    kind=str,
    shift=arguments.whole_from(0),
)
def _taken(X, V=None, wrap=True, directions=2, *, kind="ring", shift=0):
    """What arrives in the body.

    X  chips
    """
    return X, V, wrap, directions, kind, shift


@each(
    ("given", "said"),
    [
        ({"X": 0}, "X must be a whole number of at least 1, got 0"),
        ({"X": True}, "X must be a whole number of at least 1, got True"),
        ({"X": 4, "V": -1}, "V must be a finite number of at least 0, got -1"),
        ({"X": 4, "wrap": 1}, "wrap must be one of True, False; got 1"),
        ({"X": 4, "directions": 3}, "directions must be one of 1, 2; got 3"),
        ({"X": 4, "kind": 7}, "kind must be a str, got 7"),
        ({"X": 4, "shift": -1}, "shift must be a whole number of at least 0"),
        ({"X": 4, "wrap": False, "directions": 1}, "must be 2 on a line"),
    ],
)
def test_the_door_names_the_argument_and_what_was_expected(given, said):
    with pytest.raises(ValueError, match=said):
        _taken(**given)


def test_the_door_checks_what_comes_by_position():
    with pytest.raises(ValueError, match="X must be a whole number"):
        _taken(0)
    with pytest.raises(ValueError, match="directions must be one of 1, 2"):
        _taken(4, None, True, 3)


def test_the_door_hands_on_plain_numbers_and_leaves_defaults_alone():
    taken = _taken(np.int64(3), np.float32(2.5), kind="line")
    assert taken == (3, 2.5, True, 2, "line", 0)
    assert [type(value) for value in taken[:2]] == [int, float]
    assert _taken(1, None)[1] is None


def test_a_misspelt_option_is_named():
    said = "_taken takes no argument 'wrapp'; did you mean 'wrap'?"
    with pytest.raises(TypeError, match=re.escape(said)):
        _taken(4, wrapp=True)
    with pytest.raises(TypeError, match="takes no argument 'gated'$"):
        _taken(4, gated=True)


def test_the_door_keeps_signature_words_and_the_function_itself():
    assert list(inspect.signature(_taken).parameters) == [
        *("X", "V", "wrap", "directions", "kind", "shift")
    ]
    assert _taken.__doc__.startswith("What arrives in the body.")
    assert _taken.__wrapped__("anything")[0] == "anything"


def test_a_check_of_an_argument_that_is_not_there_is_refused():
    with pytest.raises(TypeError, match="f takes no argument 'Y'"):

        @arguments.takes(Y=arguments.size)
        def f(X):
            return X
