import sys

import jax
import numpy as np
import pytest
from jax import P
from jax.sharding import AxisType, NamedSharding

from shardlab.checks import compare, layout, question, student
from tests.each import each


@each(
    ("got", "expected"),
    [
        (3, 3),
        ("no", "no"),
        (True, True),
        ([1, 2], (1, 2)),
        ([[1], 2], [[1], 2]),
        (3.0, 3),
        (True, 1),
        (1, True),
        (np.array(3), 3),
        (np.array([1.0, 2.0]), (1, 2)),
        ([np.array([1, 2]), 3], [[1, 2], 3]),
        ([True, 4.0], (1, 4)),
        ({"a": 2.0}, {"a": 2}),
        (-0.0, 0),
    ],
)
def test_equal_accepts(got, expected):
    compare.equal("f()", got, expected)


@each(
    ("got", "expected", "words"),
    [
        (4, 3, "that is not what was counted"),
        (3.5, 3, "expected a whole number"),
        (float("nan"), 3, "that is no finite number"),
        (float("-inf"), 3, "that is no finite number"),
        (True, 0, "that is not what was counted"),
        ("3", 3, "expected a number, got str"),
        (3, "no", "expected str, got int"),
        (3, (3, 4), "expected a list or tuple, got int"),
        ([3], (3, 4), "expected 2 entries, got 1"),
        ([4, 3], (3, 4), "in the wrong order"),
        ({}, (3, 4), "expected a list or tuple, got dict"),
        (None, 3, "expected a number, got NoneType"),
    ],
)
def test_equal_says_what_is_wrong(got, expected, words):
    likely = [((4, 3), "in the wrong order")]
    with pytest.raises(question.WrongAnswer) as error:
        compare.equal("f()", got, expected, likely)
    assert str(error.value) == f"f() gave {got!r}: {words}"


def test_a_likely_mistake_that_is_right_is_no_mistake():
    compare.equal("f()", 8, 8, likely=[(8, "that is the whole array")])


@pytest.mark.parametrize("got", [2.5, 2.5 * (1 + 1e-7), np.float64(2.5)])
def test_close_accepts(got):
    compare.close("f()", got, 2.5)


@each(
    ("got", "words"),
    [
        (2.6, "not what was counted"),
        (5.0, "twice too much"),
        (float("nan"), "that is no finite number"),
        (float("inf"), "that is no finite number"),
        (np.array(np.nan), "that is no finite number"),
        (10**400, "not what was counted"),
        (np.array([2.5]), "expected a number, got array"),
        (np.array([]), "expected a number, got array"),
        ("2.5", "expected a number, got str"),
        (np.array(2.5 + 0j), "expected a number, got complex"),
        (True, "not what was counted"),
        ([2.5], "expected a number, got list"),
    ],
)
def test_close_says_what_is_wrong(got, words):
    with pytest.raises(question.WrongAnswer, match=words):
        compare.close("f()", got, 2.5, likely=[(5.0, "twice too much")])


def test_close_does_not_broadcast():
    x = np.arange(6.0).reshape(2, 3)
    compare.close("f()", x, x.copy())
    with pytest.raises(question.WrongAnswer, match=r"expected shape \(2, 3\)"):
        compare.close("f()", np.float64(0), x)
    with pytest.raises(question.WrongAnswer, match="other numbers"):
        compare.close("f()", x + 1e-3, x)


@pytest.mark.parametrize("likely", [[], [(9, "nine")]])
def test_messages_never_show_what_was_expected(likely):
    with pytest.raises(question.WrongAnswer) as error:
        compare.equal("f()", 5, 271828, likely)
    assert "271828" not in str(error.value)
    with pytest.raises(question.WrongAnswer) as error:
        compare.close("f()", 5.0, 271828.0, likely=likely)
    assert "271828" not in str(error.value)


def test_a_long_answer_is_cut_in_the_message():
    with pytest.raises(question.WrongAnswer) as error:
        compare.equal("f()", list(range(10_000)), 3)
    assert len(str(error.value)) < 200


def test_errors_are_one_line_in_jupyter():
    error = question.WrongAnswer("f() gave 3: no")
    assert error._render_traceback_() == ["WrongAnswer: f() gave 3: no"]
    assert isinstance(error, AssertionError)


def test_numbers_are_fixed_here_and_fresh_when_graded(monkeypatch):
    monkeypatch.delenv("SHARD_BY_SHARD_SEED", raising=False)
    first = question.draw("q").integers(1 << 30, size=4).tolist()
    assert question.draw("q").integers(1 << 30, size=4).tolist() == first
    assert question.draw("p").integers(1 << 30, size=4).tolist() != first
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "123456")
    assert question.draw("q").integers(1 << 30, size=4).tolist() != first
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "abc")
    with pytest.raises(ValueError, match="must be digits, got 'abc'"):
        question.draw("q")


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
    with pytest.raises(question.NotAnswered, match="f (has no|returns no)"):
        student.call("f")


@pytest.mark.parametrize("given", [iter([1]), object(), {1, 2}, len])
def test_what_is_not_plain_is_named(answers, given):
    answers["f"] = lambda: given
    with pytest.raises(question.WrongAnswer, match=r"^f\(...\): only numbers"):
        student.call("f")


def test_what_only_looks_like_an_array_is_refused(answers):
    class Forged:
        addressable_shards = ()

    answers["f"] = Forged
    with pytest.raises(question.WrongAnswer, match="a JAX array, got For"):
        student.blocks("f")


def test_a_value_in_place_of_a_function_is_named(answers):
    answers["f"] = 3
    with pytest.raises(question.WrongAnswer, match="must be a function, got 3"):
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
    with pytest.raises(question.WrongAnswer, match="must return a JAX array"):
        student.blocks("f", x)
    answers["f"] = lambda x: jax.device_put(x, jax.devices()[3])
    ((device, block),) = student.blocks("f", x).items()
    assert device == 3
    np.testing.assert_array_equal(block, x)


def test_blocks_are_cut_where_the_checks_run(answers, monkeypatch):
    x = np.arange(32.0).reshape(8, 4)
    answers["f"] = lambda x: jax.device_put(x, NamedSharding(grid(), P("X")))
    # What the array says of its shards is not asked for.
    shards = property(lambda self: 1 / 0)
    monkeypatch.setattr(type(jax.numpy.ones(1)), "addressable_shards", shards)
    np.testing.assert_array_equal(student.blocks("f", x)[5], x[4:6])


def test_a_layout_has_no_more_dimensions_than_its_array():
    said = {"numbers": np.ones((8, 4)), "mesh": [["X", 8]], "spec": [["X"]]}
    said["devices"] = list(range(8))
    assert layout.blocks(said)[7].shape == (1, 4)
    with pytest.raises(question.WrongAnswer, match="lies on no devices"):
        layout.blocks({**said, "spec": [["X"], [], []]})


@each(
    "spec", [[["X"], ["X"]], [["X", "X"]], ["X"], ["nbgrader"], [[["X"]]], "X"]
)
def test_a_spec_is_lists_of_axes_each_once(spec):
    said = {"numbers": np.ones((8, 4)), "mesh": [["X", 8]], "spec": spec}
    said["devices"] = list(range(8))
    with pytest.raises(question.WrongAnswer, match="lies on no devices"):
        layout.blocks(said)


def test_an_array_that_lies_in_no_layout_is_named(answers):
    from jax._src.sharding_impls import GSPMDSharding

    whole = GSPMDSharding.get_replicated(jax.devices()[:2])
    answers["f"] = lambda x: jax.device_put(x, whole)
    with pytest.raises(question.WrongAnswer, match="f: lay the array out by a"):
        student.blocks("f", np.ones((8, 4)))


def test_a_wrong_block_is_located():
    x = np.arange(32.0).reshape(8, 4)
    held = {0: x[:4], 1: x[4:]}
    compare.blocks("f(x)", held, {0: x[:4], 1: x[4:]}, x)
    with pytest.raises(
        question.WrongAnswer,
        match=r"f\(x\): your device 1 holds rows 4:8 and columns 0:4 of x",
    ):
        compare.blocks("f(x)", held, {0: x[:4], 1: x[:4]}, x)
    with pytest.raises(
        question.WrongAnswer, match=r"\(4, 4\) whose numbers are no block"
    ):
        compare.blocks("f(x)", {0: x[:4] + 0.5}, {0: x[:4]}, x)
    with pytest.raises(question.WrongAnswer, match="expected blocks on"):
        compare.blocks("f(x)", {0: x}, {0: x, 1: x}, x)


# Arrays


def refused(got, expected, **how):
    """What `close` says to an array that is not the expected one."""
    with pytest.raises(question.WrongAnswer) as error:
        compare.close("f()", got, expected, **how)
    return str(error.value)


@each("seed", range(20))
def test_another_order_of_summation_passes(seed):
    drawn = np.random.default_rng(seed)
    grads = drawn.normal(size=(8, 256)).astype(np.float32)
    ring, tree = grads[0], grads
    for grad in grads[1:]:
        ring = ring + grad
    while len(tree) > 1:
        tree = tree[::2] + tree[1::2]
    compare.close("f()", ring, tree[0], terms=8)
    a, b = drawn.normal(size=(2, 64, 64)).astype(np.float32)
    split = a[:, :32] @ b[:32] + a[:, 32:] @ b[32:]
    compare.close("f()", split, a @ b, terms=64)
    assert "first difference" in refused(split + 1e-2, a @ b, terms=64)


def test_tiny_entries_are_measured_by_the_largest():
    x = np.array([0.0, 1.0, 1000.0])
    compare.close("f()", x + [1e-12, 0, 0], x)
    assert "entry 0" in refused(x + [1, 0, 0], x)


def test_entries_of_a_list_are_measured_each_by_itself():
    compare.close("f()", [1e12, 3.0], [1e12 * (1 + 1e-9), 3])
    assert "entry 1" in refused([1e12, 4.0], [1e12, 3])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_equals_nothing(bad):
    x = np.ones((2, 3))
    got = x.copy()
    got[1, 2] = bad
    for how in ({}, {"rel": 1e300}, {"terms": 10**9}):
        assert "row 1, column 2 is no finite number" in refused(got, x, **how)
    assert not compare.near(np.array([bad]), np.array([bad]), np.inf)
    with pytest.raises(question.WrongAnswer, match="no finite numbers"):
        compare.blocks("f(x)", {0: got}, {0: x}, x)
    assert not compare.near(bad, 0, np.inf)


@each(
    ("got", "words"),
    [
        ([[1, 2], [3]], "its rows are of different lengths"),
        ([["a", "b"]], "expected real numbers"),
        (np.ones((1, 2), complex), "expected real numbers, got complex128"),
        (np.empty((0, 2)), r"shape (0, 2), expected shape (1, 2)"),
        ({}, "expected an array, got dict"),
        (None, "expected an array, got NoneType"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(got, words):
    assert words in refused(got, np.ones((1, 2)))


def test_nested_lists_and_truth_values_are_matrices():
    compare.close("f()", [[1, 0], [0, 1]], np.eye(2))
    compare.close("f()", np.eye(2, dtype=bool), np.eye(2))
    compare.close("f()", np.empty((0, 2)), np.empty((0, 2)))


def test_the_first_difference_is_named_and_where_it_lies():
    x = np.arange(24.0).reshape(8, 3)
    said = refused(x[[0, 1, 2, 4, 3, 5, 6, 7]], x)
    assert said.endswith("row 3, column 0, where you have 12 13 14")
    place = compare.on_devices(2)
    said = refused(x[[0, 1, 2, 4, 3, 5, 6, 7]], x, place=place, show=True)
    assert "device 1, row 1, column 0 of its part" in said
    assert "expected" not in said


def test_expected_numbers_are_shown_in_visible_cases_alone():
    @question.visible("f", (1.0,))
    def check_f(x):
        expected = np.full((1, 2), x)
        compare.close("f()", expected + 1, expected, show=True)

    with pytest.raises(question.WrongAnswer, match="you have 2 2, expected 1"):
        check_f()
    with pytest.raises(question.WrongAnswer) as error:
        check_f(5.0)
    assert "expected" not in str(error.value)


def test_a_visible_case_draws_nothing():
    @question.visible("f", (3,))
    def check_f(x):
        question.draw("f")

    with pytest.raises(ValueError, match="a visible case of 'f' must draw"):
        check_f()
    check_f(3)


def test_a_check_without_arguments_tries_its_cases(capsys):
    tried = []

    @question.visible("f and g", (1, 2), (3, 4))
    def check_f(x, y):
        tried.append((x, y))

    check_f()
    assert tried == [(1, 2), (3, 4)]
    assert capsys.readouterr().out.startswith("f and g: these checks passed")
    check_f(5, y=6)
    assert tried[2:] == [(5, 6)]
    assert not capsys.readouterr().out


def test_too_few_devices_are_explained():
    question.need_devices(8)
    with pytest.raises(question.NotReady, match="restart the kernel, then run"):
        question.need_devices(99)


@each(
    ("function", "got", "words"),
    [
        (compare.number, "3", "expected a number, got str"),
        (compare.number, np.nan, "no finite number"),
        (compare.whole_number, 2.5, "expected a whole number"),
        (compare.numbers, [1, np.inf], "entry 1 of f.. gave inf"),
        (compare.numbers, [1, "a"], "entry 1 of f.. gave 'a'"),
        (compare.numbers, 3, "expected a list or tuple, got int"),
    ],
)
def test_clean_data_or_a_reason(function, got, words):
    with pytest.raises(question.WrongAnswer, match=words):
        function("f()", got)


def test_clean_data_is_plain():
    assert compare.numbers("f()", np.array([1.0, 2.5])) == [1, 2.5]
    assert type(compare.whole_number("f()", 3.0)) is int
    assert compare.entries("f()", (np.array([1.0]), "a"), 2) == [[1], "a"]


# Errors in an answer's own code


def test_an_error_is_told_with_the_line_of_the_cell(answers):
    import linecache

    text = "def f(x):\n    y = x + 1\n    return y + unknown\n"
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(True), "")
    exec(compile(text, "<cell>", "exec"), answers)
    with pytest.raises(question.WrongAnswer) as error:
        student.call("f", 3)
    assert str(error.value) == (
        "f stops with NameError: name 'unknown' is not defined, in line 3 of "
        "your cell: return y + unknown"
    )
    assert error.value.__suppress_context__


def test_an_error_that_cannot_speak_is_named(answers):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def f():
        raise Mute

    answers["f"] = f
    with pytest.raises(question.WrongAnswer, match="^f stops with Mute$"):
        student.call("f")


def some(x):
    if x > 3:
        return 2 * x


def forgotten(x):
    2 * x  # noqa: B018


def empty(x):
    """Nothing yet."""
    ...


def dots(x):
    return ...


@pytest.mark.parametrize("f", [forgotten, empty, dots, lambda x: None])
def test_a_function_without_a_return_is_no_answer_yet(f):
    with (
        student.asking(student.ThisKernel({"f": f}), 0),
        pytest.raises(question.NotAnswered, match="^f returns nothing yet$"),
    ):
        student.call("f", 2)


def test_a_case_that_was_forgotten_is_named():
    there = student.ThisKernel({"f": some})
    with (
        student.asking(there, 0),
        pytest.raises(
            question.WrongAnswer, match=r"^f\(2\) returned None: one"
        ),
    ):
        student.call("f", 2)
    with student.asking(there, 0):
        assert student.call("f", 4) == 8


def test_long_arguments_of_such_a_case_are_cut():
    def f(x, y):
        return [1] if y == 2 else None

    with (
        student.asking(student.ThisKernel({"f": f}), 0),
        pytest.raises(question.WrongAnswer) as told,
    ):
        student.call("f", [[1.25] * 40] * 40, "x" * 400)
    assert len(str(told.value)) < 250
