import math

import numpy as np
import pytest

from shardlab.arguments import one_of, real, whole


@pytest.mark.parametrize("value", [1, 7, np.int32(3)])
def test_whole_returns_an_int(value):
    assert type(whole("N", value)) is int
    assert whole("N", value) == value


@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, "4", None, True, [3]])
def test_whole_names_the_argument_and_what_it_got(value):
    with pytest.raises(ValueError, match="N must be a whole number") as error:
        whole("N", value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("value", [0, 1.5, 3, np.float32(2)])
def test_real_returns_a_float(value):
    assert type(real("V", value)) is float


@pytest.mark.parametrize(
    "value", [-1, math.nan, math.inf, "3", b"3", None, True, [1.0], 10**400]
)
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
