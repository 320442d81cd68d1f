"""Numbers drawn for hidden cases are so many that no table holds them."""

import contextlib
import importlib
import inspect
import io
import pkgutil
from collections import defaultdict

import jax.numpy as jnp
import numpy as np
import pytest

from shardlab import checks
from shardlab.checks import (
    compare,
    expression,
    seeds,
    set02,
    set03,
    set11,
    set13,
    student,
)
from shardlab.checks.question import WrongAnswer
from tests.each import each

# Symbols that stand for one of a few by their nature, by set and formula:
# matrices and bytes of a block, axes of a pod, sizes of whole machines.
FEW = {
    ("set09", "tie"): "mga",
    ("set09", "most_chips"): ("m", "M_X", "M_Y"),
    ("set09", "best_X"): "N",
    ("set16", "idle"): "k",
    ("set16", "faster"): "k",
    ("set16", "chunks"): "k",
}
SETS = [
    module.name
    for module in pkgutil.iter_modules(checks.__path__)
    if module.name.startswith("set") and module.name[3:].isdecimal()
]


def drawn(module, monkeypatch):
    """The values of each symbol in hidden points: {(formula, symbol): set}."""
    found = defaultdict(set)

    def record(asked, got, symbols, count, points, **more):
        names = expression.symbol_names(symbols)
        for point in points:
            values = np.atleast_1d(np.array(point, object))
            for name, value in zip(names, values, strict=True):
                found[asked, name].add(value)

    monkeypatch.setattr(compare, "formula", record)
    monkeypatch.setattr(compare, "identical", lambda *given, **more: None)
    monkeypatch.setattr(compare, "limit", lambda *given, **more: None)
    monkeypatch.setattr(student, "expression", lambda name: "0")
    monkeypatch.setattr(expression, "uses", lambda term: {"symbol"})
    for name, grade in vars(module).items():
        for seed in range(8 if name.startswith("grade_") else 0):
            monkeypatch.setenv(seeds.VARIABLE, str(seeds.CHOSEN + seed))
            with (
                contextlib.suppress(Exception),  # of what is no formula
                contextlib.redirect_stdout(io.StringIO()),
            ):
                grade()
    return found


@pytest.mark.parametrize("name", SETS)
def test_no_symbol_of_a_formula_has_few_values(name, monkeypatch):
    module = importlib.import_module(f"shardlab.checks.{name}")
    found = drawn(module, monkeypatch)
    assert bool(found) == ("compare.formula(" in inspect.getsource(module))
    few = {
        (asked, symbol): sorted(values)
        for (asked, symbol), values in found.items()
        if len(values) < 5 and symbol not in FEW.get((name, asked), ())
    }
    assert not few


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_two_numbers_in_one_element_are_two(dtype):
    B, D, F = 3, 8, 16
    kept = [np.zeros((B, D)), *(np.zeros((B, F)) for _ in range(3))]
    set11._refuse_kept([x.astype("float32") for x in kept], B, D, F)
    with pytest.raises(WrongAnswer, match="are enough"):
        set11._refuse_kept([x.astype(dtype) for x in kept], B, D, F)


@each("dtype", ["bfloat16", "float16", "int16", "int8"])
@each(
    "sent",
    [
        set02._numbers((9, 9), 0),
        set03._numbers((9, 9), 0),
        set13._tensors(0, (9, 9), (9, 9), (9, 9))[-1],
    ],
)
def test_what_is_sent_does_not_arrive_in_half_of_the_bytes(sent, dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        arrived = sent.astype(jnp.dtype(dtype)).astype(sent.dtype)
    assert np.mean(arrived == sent) < 0.5
