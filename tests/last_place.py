"""Moves every float that a notebook shows by one unit in the last place.

What a cell shows must not change: a processor that rounds the other way would
show something else. Used by tests/commands/test_last_place.py.
"""

import ast
import builtins
import copy
import functools
import importlib.abc
import importlib.machinery
import json
import sys

import nbformat
import numpy as np

from tests.tree import ROOT
from tools import drawings, execution

NAME = "__moved__"  # under which transformed code finds `moved`
START = """
import sys
sys.path.append({root!r})
from tests import last_place
last_place.install({up})
"""


def differences(path, up):
    """The cells of a notebook that show something else with moved floats.

    path     of a stored notebook
    up       whether floats grow
    returns  list of str, a sentence for each cell
    """
    stored = nbformat.read(path, as_version=4)
    notebook = copy.deepcopy(stored)
    start = START.format(root=str(ROOT), up=up)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(start))
    execution.run(notebook, path.parent)
    pairs = zip(code_cells(stored), code_cells(notebook)[1:], strict=True)
    found = []
    for number, (old, new) in enumerate(pairs):
        drawn, said = drawings.matched(old.outputs, new.outputs)
        before, after = map(_shown, (old.outputs, drawn))
        if before != after:
            lines = zip(before.split("\n"), after.split("\n"), strict=False)
            unlike = next((pair for pair in lines if pair[0] != pair[1]), "")
            found.append(f"cell {number}: {[*said, *unlike]}"[:500])
    return found


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _shown(outputs):
    """What outputs show, without their numbers."""
    kept = [
        {k: v for k, v in x.items() if k in ("text", "data", "ename", "evalue")}
        for x in outputs
    ]
    return json.dumps(kept, sort_keys=True, indent=1)


def moved(value, up):
    """A value with each float in it moved by one unit in the last place.

    value    anything; lists, tuples and dicts are looked into, arrays too
    up       whether floats grow
    returns  a value of the same type; 0, infinities and NaN stay, and so does
             an array of whole numbers, whose sums are exact in any order
    """
    kind = type(value)
    if kind in (list, tuple):
        return kind(moved(each, up) for each in value)
    if kind is dict:
        return {key: moved(each, up) for key, each in value.items()}
    if kind is float:
        return float(_moved_array(np.float64(value), up))
    if isinstance(value, np.floating):
        return value.dtype.type(_moved_array(value, up))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value if _whole(value) else _moved_array(value, up)
    if hasattr(value, "addressable_shards"):  # an array of JAX
        return _moved_jax(value, up)
    return value


def _whole(array):
    return np.array_equal(array, np.round(array), equal_nan=True)


def _moved_array(array, up):
    limit = array.dtype.type(np.inf if up else -np.inf)
    nearby = np.nextafter(array, limit)
    return np.where((array == 0) | ~np.isfinite(array), array, nearby)


def _moved_jax(array, up):
    import jax

    if array.dtype not in (np.float32, np.float64) or not hasattr(
        array, "unsafe_buffer_pointer"
    ):
        return array
    if not array.is_fully_addressable:
        return array
    try:
        numbers = np.asarray(array)
    except ValueError:  # partial sums have no numbers of their own
        return array
    if _whole(numbers):
        return array
    return jax.device_put(_moved_array(numbers, up), array.sharding)


class _Shown(ast.NodeTransformer):
    """Wraps what code puts into f-strings and prints."""

    def visit_FormattedValue(self, node):
        self.generic_visit(node)
        node.value = _wrapped(node.value)
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if getattr(node.func, "id", "") == "print":
            node.args = [
                x if isinstance(x, ast.Starred) else _wrapped(x)
                for x in node.args
            ]
        return node


def _wrapped(node):
    name = ast.Name(NAME, ast.Load())
    return ast.copy_location(ast.Call(name, [node], []), node)


class _OfCell(_Shown):
    """The same for a cell, whose last expression is shown as well."""

    def visit_Module(self, node):
        self.generic_visit(node)
        if node.body and isinstance(node.body[-1], ast.Expr):
            node.body[-1].value = _wrapped(node.body[-1].value)
        return ast.fix_missing_locations(node)


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = _Shown().visit(ast.parse(data, path))
        return compile(ast.fix_missing_locations(tree), path, "exec")

    def get_code(self, fullname):  # never a cached one
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] != "shardlab":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec and isinstance(
            spec.loader, importlib.machinery.SourceFileLoader
        ):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install(up):
    """Let this kernel show moved floats, from the next cell on."""
    from IPython import get_ipython
    from matplotlib.path import Path as Drawn

    setattr(builtins, NAME, functools.partial(moved, up=up))
    for name in [n for n in sys.modules if n.partition(".")[0] == "shardlab"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    get_ipython().ast_transformers.append(_OfCell())
    start = Drawn.__init__

    @functools.wraps(start)
    def begin(self, vertices, *more, **named):
        start(self, vertices, *more, **named)
        if self._vertices.dtype == float and self._vertices.flags.writeable:
            self._vertices[...] = moved(self._vertices, up)

    Drawn.__init__ = begin
