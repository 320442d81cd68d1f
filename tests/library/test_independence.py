"""Two counts of one number are a proof only if they share no code."""

import ast
import re
import subprocess
import sys

import pytest

from tests.each import each
from tools.text import module_path

INSTRUMENTS = ["cost", "ring", "switch", "count", "pipeline", "memory"]
WITHOUT_JAX = [
    "arguments",
    "hw",
    "cost",
    "ring",
    "switch",
    "pipeline",
    "memory",
    "plan",
]


def imports(path):
    """The dotted names that a file imports; of a package, its own included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} says only where from, not what"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files(name):
    """The files of a module or package of the library."""
    path = module_path(f"shardlab.{name}")
    if path.name != "__init__.py":
        return [path]
    found = sorted(path.parent.rglob("*.py"))
    # What a command line starts belongs to no part: nobody imports it.
    return [file for file in found if file.name != "__main__.py"]


@each("name", INSTRUMENTS)
def test_an_instrument_imports_no_other(name):
    allowed = {name, "arguments", "hw"}
    if name == "count":
        allowed.add("notation")  # how layouts are written, no arithmetic
    for path in files(name):
        used = {i.split(".")[1] for i in imports(path) if "shardlab." in i}
        assert used <= allowed, path


def test_plain_arithmetic_does_not_load_jax():
    code = "import sys"
    for name in WITHOUT_JAX:
        code += f"\nimport shardlab.{name}\nassert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE)
    assert done.stderr == b""


def test_an_import_would_be_seen(tmp_path):
    path = tmp_path / "x.py"
    path.write_text("def f():\n    from shardlab.cost import volume\n")
    assert list(imports(path)) == ["shardlab.cost.volume"]
    path.write_text("from ..cost import volume\n")
    with pytest.raises(AssertionError, match="where from"):
        list(imports(path))


def test_the_inside_of_jax_is_touched_in_one_file():
    inside = re.compile(
        r"^(?:from|import) (?:jax\._src|jax\.interpreters|jaxlib)"
    )
    touching = {
        path.name
        for path in module_path("shardlab").parent.rglob("*.py")
        if any(map(inside.match, path.read_text().splitlines()))
    }
    assert touching == {"jax_inside.py"}
