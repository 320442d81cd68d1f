"""The pages of the library say what its docstrings say."""

import inspect
from types import SimpleNamespace

import pytest

from shardlab import cost
from tools import api


def test_the_pages_are_what_the_docstrings_give():
    for name, text in api.texts().items():
        stored = (api.FOLDER / name).read_text(encoding="utf-8")
        assert stored == text, f"{name}: run python -m tools.api"


def test_a_long_signature_has_lines_of_its_own():
    def long(first, *, second=(1, 2), **third):
        """One."""

    assert (
        api.signature("long", long) == "long(first, *, second=(1, 2), **third)"
    )
    name = "a_name_that_is_rather_long_as_names_of_functions_go_in_a_library"
    assert api.signature(name, long).splitlines()[1:] == [
        "    first, *, second=(1, 2), **third,",
        ")",
    ]


def test_a_function_as_a_default_is_called_by_its_name():
    def apply(update=api.names):
        """One."""

    assert api.signature("apply", apply) == "apply(update=names)"


def test_what_has_no_docstring_is_named():
    module = SimpleNamespace(__name__="shardlab.example", bare=lambda: None)
    with pytest.raises(ValueError, match="shardlab.example.bare has no doc"):
        api.entry(module, "bare", {})


def test_every_function_of_a_door_has_its_place():
    text = api.page("formulas")
    functions = [
        n for n in cost.__all__ if inspect.isfunction(getattr(cost, n))
    ]
    assert functions
    assert [n for n in functions if f"### {n}\n" not in text] == []
