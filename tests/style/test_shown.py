"""What `# show:` puts into a cell: the idea of a function, and no more."""

import ast
import textwrap

import pytest

from tests.each import each
from tools import style, text

MODULE = '''
from other import LIMIT


@takes(X=count, wrap=flag)
@functools.cache
def share(X, wrap=True):
    """Part of the array on the busiest link.

    X        chips,
             at least one
    wrap     True for a ring
    returns  exact Fraction
    raises   ValueError that names the argument
             and what was expected
    source   part 3
    """
    # A comment stays.
    return share(X - 1, wrap) + rest.share


@takes(V=size)
def bare(V):
    """Bytes of everything.

    raises   ValueError
    source   part 3
    """
    return V


@takes(V=size)
def short(V):
    """Bytes of everything."""
    return V


LEAST = 3
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "m.py"
    path.write_text(textwrap.dedent(MODULE), encoding="utf-8")
    monkeypatch.setattr(text, "module_path", lambda name: path)


SHARE = '''@functools.cache
def share(X, wrap=True):
    """Part of the array on the busiest link.

    X        chips,
             at least one
    wrap     True for a ring
    returns  exact Fraction
    """
    # A comment stays.
    return share(X - 1, wrap) + rest.share'''


def test_checks_errors_and_sources_are_left_out(module):
    assert text.shown_source("shardlab.m.share") == SHARE


def test_a_docstring_of_nothing_else_is_one_line(module):
    assert text.shown_source("shardlab.m.bare") == (
        'def bare(V):\n    """Bytes of everything."""\n    return V'
    )
    assert text.shown_source("shardlab.m.short") == (
        'def short(V):\n    """Bytes of everything."""\n    return V'
    )


def test_another_name_is_used_wherever_the_function_names_itself(module):
    shown = text.shown_source("shardlab.m.share", "part")
    assert "def part(X, wrap=True):" in shown
    assert "return part(X - 1, wrap) + rest.share" in shown
    assert text.shown_source("shardlab.m.LEAST", "MOST") == "MOST = 3"


def test_a_cell_shows_several_in_order_under_the_names_that_it_gives(module):
    both = "# show: shardlab.m.short as brief, shardlab.m.LEAST\nx = 1"
    shown = text.SHOW.sub(text.shown_code, both)
    defined = ast.parse(shown).body
    assert defined[0].name == "brief"
    assert shown.endswith("return V\n\n\nLEAST = 3\nx = 1")
    lines = "# show: shardlab.m.short as brief\n# show: shardlab.m.LEAST"
    assert text.SHOW.sub(text.shown_code, lines) + "\nx = 1" == shown
    names = ["shardlab.m.short", "shardlab.m.LEAST"]
    assert text.shown_names(both) == text.shown_names(lines) == names


def test_an_unknown_name_is_refused(module):
    with pytest.raises(ValueError, match="m defines no other"):
        text.shown_source("shardlab.m.other")


@each("name", [name for names in style.registry().values() for name in names])
def test_taught_code_stays_code_and_keeps_its_first_line(name):
    [node] = ast.parse(text.shown_source(name, "shown")).body
    assert node.name == "shown"
    assert ast.get_docstring(node)
    words = {
        line.split()[0] for line in ast.get_docstring(node).split("\n") if line
    }
    assert not words & {*text.LEFT_OUT}
