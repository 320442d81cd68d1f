import sys

import jax
import numpy as np
import pytest
from jax import P
from jax.sharding import AxisType, NamedSharding

from shardlab import check
from shardlab.grading import student


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (3, 3),
        ("no", "no"),
        (True, True),
        ([1, 2], (1, 2)),
        ([[1], 2], [[1], 2]),
    ],
)
def test_equal_accepts(got, expected):
    check.equal("f()", got, expected)


@pytest.mark.parametrize(
    ("got", "expected", "words"),
    [
        (4, 3, "that is not what was counted"),
        (3.0, 3, "expected an int, got float"),
        (True, 1, "expected an int, got bool"),
        (1, True, "expected bool, got int"),
        ("3", 3, "expected an int, got str"),
        (3, "no", "expected str, got int"),
        (np.array([3]), 3, "expected an int, got array"),
        (3, (3, 4), "expected a list or tuple, got int"),
        ([3], (3, 4), "expected 2 entries, got 1"),
        ([3, 4.0], (3, 4), "4.0 should be of type int"),
        ([4, 3], (3, 4), "in the wrong order"),
        ({}, (3, 4), "expected a list or tuple, got dict"),
        (None, 3, "expected an int, got NoneType"),
    ],
)
def test_equal_says_what_is_wrong(got, expected, words):
    likely = [((4, 3), "in the wrong order")]
    with pytest.raises(check.WrongAnswer) as error:
        check.equal("f()", got, expected, likely)
    assert str(error.value) == f"f() gave {got!r}: {words}"


def test_a_likely_mistake_that_is_right_is_no_mistake():
    check.equal("f()", 8, 8, likely=[(8, "that is the whole array")])


@pytest.mark.parametrize("got", [2.5, 2.5 * (1 + 1e-7), np.float64(2.5)])
def test_close_accepts(got):
    check.close("f()", got, 2.5)


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (2.6, "not what was counted"),
        (5.0, "twice too much"),
        (float("nan"), "not every entry is a finite number"),
        (float("inf"), "not every entry is a finite number"),
        (np.array([2.5]), r"expected shape \(\), got \(1,\)"),
        (np.array([]), r"expected shape \(\), got \(0,\)"),
        ("2.5", "expected a number, got str"),
        (np.array(2.5 + 0j), "expected real numbers, got complex128"),
        (True, "expected a number, got bool"),
        ([2.5], "expected a number, got list"),
    ],
)
def test_close_says_what_is_wrong(got, words):
    with pytest.raises(check.WrongAnswer, match=words):
        check.close("f()", got, 2.5, likely=[(5.0, "twice too much")])


def test_close_does_not_broadcast():
    x = np.arange(6.0).reshape(2, 3)
    check.close("f()", x, x.copy())
    with pytest.raises(check.WrongAnswer, match=r"expected shape \(2, 3\)"):
        check.close("f()", np.float64(0), x)
    with pytest.raises(check.WrongAnswer, match="not what was counted"):
        check.close("f()", x + 1e-3, x)


@pytest.mark.parametrize("likely", [[], [(9, "nine")]])
def test_messages_never_show_what_was_expected(likely):
    with pytest.raises(check.WrongAnswer) as error:
        check.equal("f()", 5, 271828, likely)
    assert "271828" not in str(error.value)
    with pytest.raises(check.WrongAnswer) as error:
        check.close("f()", 5.0, 271828.0, likely=likely)
    assert "271828" not in str(error.value)


def test_a_long_answer_is_cut_in_the_message():
    with pytest.raises(check.WrongAnswer) as error:
        check.equal("f()", list(range(10_000)), 3)
    assert len(str(error.value)) < 200


def test_errors_are_one_line_in_jupyter():
    error = check.WrongAnswer("f() gave 3: no")
    assert error._render_traceback_() == ["WrongAnswer: f() gave 3: no"]
    assert isinstance(error, AssertionError)


def test_numbers_are_fixed_here_and_fresh_when_graded(monkeypatch):
    monkeypatch.delenv("SHARD_BY_SHARD_SEED", raising=False)
    first = check.draw("q").integers(1 << 30, size=4).tolist()
    assert check.draw("q").integers(1 << 30, size=4).tolist() == first
    assert check.draw("p").integers(1 << 30, size=4).tolist() != first
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "123456")
    assert check.draw("q").integers(1 << 30, size=4).tolist() != first
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "abc")
    with pytest.raises(ValueError, match="must be digits, got 'abc'"):
        check.draw("q")


@pytest.fixture
def answers(monkeypatch):
    names = {}
    monkeypatch.setattr(student, "place", student.ThisKernel(names))
    return names


def test_answers_cross_as_plain_data(answers):
    answers["n"] = np.int64(3)
    answers["f"] = lambda shape, mesh: [shape, mesh]
    assert student.value("n") == 3
    assert type(student.value("n")) is int
    assert student.call("f", (1, 2), {"X": 4}) == [[1, 2], {"X": 4}]


def test_an_argument_that_is_changed_is_only_a_copy(answers):
    answers["f"] = lambda x: x.append(1) or x
    mine = [0]
    assert student.call("f", mine) == [0, 1]
    assert mine == [0]


@pytest.mark.parametrize("given", [{}, {"f": ...}, {"f": lambda: None}])
def test_what_is_missing_is_not_answered(answers, given):
    answers.update(given)
    with pytest.raises(check.NotAnswered, match="f (has no answer|returns no)"):
        student.call("f")


@pytest.mark.parametrize("given", [iter([1]), object(), {1, 2}, len])
def test_what_is_not_plain_is_named(answers, given):
    answers["f"] = lambda: given
    with pytest.raises(check.WrongAnswer, match=r"^f\(...\): only numbers"):
        student.call("f")


def test_what_only_looks_like_an_array_is_refused(answers):
    class Forged:
        addressable_shards = ()

    answers["f"] = Forged
    with pytest.raises(check.WrongAnswer, match="return a JAX array, got For"):
        student.blocks("f")


def test_a_value_in_place_of_a_function_is_named(answers):
    answers["f"] = 3
    with pytest.raises(check.WrongAnswer, match="f must be a function, got 3"):
        student.call("f")


def test_answers_are_found_in_the_notebook(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "n_mine", 7, raising=False)
    assert student.value("n_mine") == 7


def grid():
    types = (AxisType.Auto, AxisType.Auto)
    return jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)


def test_blocks_are_what_devices_hold(answers):
    x = np.arange(32.0).reshape(8, 4)
    answers["f"] = lambda x: jax.device_put(x, NamedSharding(grid(), P("X")))
    held = student.blocks("f", x)
    assert sorted(held) == list(range(8))
    np.testing.assert_array_equal(held[5], x[4:6])
    answers["f"] = lambda x: x
    with pytest.raises(check.WrongAnswer, match="must return a JAX array"):
        student.blocks("f", x)


def test_a_wrong_block_is_located():
    x = np.arange(32.0).reshape(8, 4)
    held = {0: x[:4], 1: x[4:]}
    check.blocks("f(x)", held, {0: x[:4], 1: x[4:]}, x)
    with pytest.raises(
        check.WrongAnswer,
        match=r"f\(x\): device 1 holds rows 4:8 and columns 0:4 of x",
    ):
        check.blocks("f(x)", held, {0: x[:4], 1: x[:4]}, x)
    with pytest.raises(
        check.WrongAnswer, match=r"\(4, 4\) whose numbers are no block"
    ):
        check.blocks("f(x)", {0: x[:4] + 0.5}, {0: x[:4]}, x)
    with pytest.raises(check.WrongAnswer, match="expected blocks on devices"):
        check.blocks("f(x)", {0: x}, {0: x, 1: x}, x)
