"""A test of many cases calls every one, and says all that fail."""

import pytest

from tests.each import each


@pytest.fixture
def called():
    return []


@each("c", [10, 20])
@each(("a", "b"), [(1, 2), pytest.param(3, 4)])
def _adds(called, a, b, c):
    called.append(a + b + c)
    with pytest.raises(ValueError, match="^13$"):
        raise ValueError(called[-1])


def test_every_case_is_called_and_all_that_fail_are_said(called):
    with pytest.raises(BaseExceptionGroup, match="^2 of 2 cases") as said:
        _adds(called=called)
    assert called == [13, 17, 23, 27]
    one, two = said.value.exceptions
    assert one.__notes__ == ["case: {'a': 3, 'b': 4}", "case: {'c': 10}"]
    assert len(two.exceptions) == 2


@each("c", [10, 20])
def test_fixtures_are_given(called, c):
    assert len(called) == c // 10 - 1
    called.append(c)


def test_no_case_and_a_mark_are_refused():
    with pytest.raises(AssertionError, match="no case of a"):
        each("a", [])
    with pytest.raises(AssertionError, match="a test of its own"):
        each("a", [pytest.param(1, marks=pytest.mark.slow)])
