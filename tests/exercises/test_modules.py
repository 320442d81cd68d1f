"""The modules that hold the checks of sets, and the cells that call them."""

import ast
import importlib
import inspect
import re
import subprocess
import symtable
import sys

import jupytext
import pytest

from shardlab.authoring import kit
from shardlab.checks import cells
from tests.tree import ROOT
from tests.each import each

MODULES = sorted(
    path.stem for path in (ROOT / "shardlab/checks").glob("set[0-9][0-9].py")
)
# What would compare a value of a student without looking at what it is.
COMPARING = {
    "abs",
    "all",
    "allclose",
    "any",
    "array_equal",
    "assert_allclose",
    "assert_array_equal",
    "equal",
    "greater",
    "isclose",
    "less",
    "max",
    "min",
    "not_equal",
    "round",
}
# What may be asked of a value before it is known to be any number.
ASKED = {"len", "isinstance", "type", "set", "sorted"}


def stem(module):
    (found,) = (s for s in kit.sets() if s.startswith(module[3:]))
    return found


def check_cells(stem):
    """The texts of the check cells of a set, by grade_id."""
    book = jupytext.read(ROOT / f"book/exercises/{stem}.md", fmt="md:myst")
    marks = ((c.metadata.get("nbgrader", {}), c) for c in book.cells)
    return {
        mark["grade_id"]: cell.source
        for mark, cell in marks
        if cell.cell_type == "code" and mark.get("grade")
    }


def test_there_are_modules():
    assert MODULES


@each("module", MODULES)
def test_a_check_cell_is_one_line_and_leaves_no_name(module):
    for name, text in check_cells(stem(module)).items():
        lines = [line for line in kit.HIDDEN.sub("", text).split("\n") if line]
        assert len(lines) == 1, name
        table = symtable.symtable(text, "cell", "exec")
        bound = [s for s in table.get_symbols() if s.is_assigned()]
        bound += [s for s in table.get_symbols() if s.is_imported()]
        assert bound == [], name


@each("module", MODULES)
def test_the_first_cell_imports_the_checks_once(module):
    setup, _ = kit.read_set(ROOT / f"book/exercises/{stem(module)}.md")
    line = f"from shardlab.checks import {module}\n"
    assert cells.imports(setup) == cells.imports(setup[:1]) == line


@each("module", MODULES)
def test_every_check_is_asked_and_every_draw_graded(module):
    text = "\n".join(check_cells(stem(module)).values())
    found = importlib.import_module(f"shardlab.checks.{module}")
    for name in public(found):
        assert name.split("_")[0] in ("check", "grade"), name
        assert f"{module}.{name}()" in text, name
        if name.startswith("check_"):
            assert getattr(found, name).cases, name


@each("module", MODULES)
def test_hidden_checks_are_promised_where_there_are_some(module):
    found = importlib.import_module(f"shardlab.checks.{module}")
    for text in check_cells(stem(module)).values():
        for name in re.findall(rf"{module}\.(check_\w+)\(", text):
            assert getattr(found, name).hidden == ("HIDDEN" in text), name


@each("module", MODULES)
def test_no_answer_can_use_the_name_of_a_module(module):
    _, questions, answers = kit.read_all(stem(module))
    texts = [question.solution for question in questions.values()]
    texts += [answer.text for answer in answers]
    assert not [text for text in texts if module in text]


def public(module):
    """The names of the functions that a module defines for others."""
    return [
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]


def comparisons(text):
    """Lines of a module in which a value of a student is compared as it is.

    A value of a student is what `student` gives and what a program returns,
    under whatever name, until a function of `compare` has looked at it.
    """
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found += faults(node)
    return found


def faults(function):
    """Such lines of one function."""
    dirty, found = set(), []
    for _ in range(3):  # a loop may carry a value back to an earlier line
        for node in ast.walk(function):
            for targets, value in bindings(node):
                if is_dirty(value, dirty):
                    dirty |= {
                        name.id
                        for target in targets
                        for name in ast.walk(target)
                        if isinstance(name, ast.Name)
                    }
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found += [n.lineno for n in sides if is_dirty(n, dirty)]
        if isinstance(node, ast.Call) and compares(node):
            found += [a.lineno for a in node.args if is_dirty(a, dirty)]
    return found


def compares(call):
    """Whether a call compares its arguments, and not by `compare`."""
    return called(call) in COMPARING and root(call.func) != "compare"


def bindings(node):
    """Pairs of what is bound and what it is bound to."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from pairs(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield [node.target], node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from pairs(node.target, node.iter)


def pairs(target, value):
    """A tuple's parts one by one, so that each has its own origin."""
    zipped = isinstance(value, ast.Call) and called(value) == "zip"
    items = value.args if zipped else getattr(value, "elts", None)
    if isinstance(target, ast.Tuple) and items:
        for part, item in zip(target.elts, items, strict=False):
            yield [part], item
    else:
        yield [target], value


def is_dirty(node, dirty):
    """Whether a value comes from a student and from no comparison."""
    if isinstance(node, ast.Call):
        if root(node.func) == "compare" or called(node) in ASKED:
            return False
        if root(node.func) == "student" and called(node) != "program":
            return True
        if called(node) == "run":
            return True
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim"):
        return False
    if isinstance(node, ast.Name):
        return node.id in dirty
    return any(is_dirty(part, dirty) for part in ast.iter_child_nodes(node))


def called(call):
    """The last name of what a call calls."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def root(node):
    """The first name of a dotted one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


@each("module", MODULES)
def test_no_value_of_a_student_is_compared_as_it_is(module):
    text = (ROOT / f"shardlab/checks/{module}.py").read_text(encoding="utf-8")
    assert comparisons(text) == []


@each(
    "line",
    [
        "if student.call('f') == 3: pass",
        "got = student.call('f')\n    if got > 3: pass",
        "got, n = student.call('f')\n    assert abs(n) < 3",
        "for x in answer.run(a):\n        assert np.allclose(x, 1)",
        "got = [x for x in student.value('f')]\n    assert got[0] in (1, 2)",
        "got = student.value('f')\n    other = got + 1\n    other == 2",
        "assert max(student.value('f'), 3)",
    ],
)
def test_a_bare_comparison_is_seen(line):
    assert comparisons(f"def check():\n    {line}\n")


@each(
    "line",
    [
        "got = compare.numbers('f', student.value('f'))\n    got[0] == 2",
        "got = student.value('f')\n    if isinstance(got, str): pass",
        "got = student.value('f')\n    if len(got) != 3: pass",
        "got = answer.run(x)\n    if got.shape != (3,): pass",
        "answer = student.program('f', r)\n    'psum' in answer.kinds()",
        "got, want = student.value('f'), 3\n    want == 3",
    ],
)
def test_a_comparison_that_is_looked_at_is_not(line):
    assert not comparisons(f"def check():\n    {line}\n")


def test_a_first_check_imports_nothing_that_takes_long():
    # What a notebook's first cell does not have imported anyway.
    heavy = "IPython matplotlib nbgrader nbformat sqlalchemy pandas scipy"
    text = f"import {', '.join(f'shardlab.checks.{m}' for m in MODULES)}, sys\n"
    text += f"print([m for m in {heavy.split()} if m in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert said.stdout.strip() == "[]"
