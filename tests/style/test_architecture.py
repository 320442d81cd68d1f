"""The map of the house is drawn from the house."""

import ast
import functools
import re

from tests.tree import ROOT

LIBRARY = ROOT / "shardlab"


def part(path):
    """The module or package of the library that a file belongs to."""
    first = path.relative_to(LIBRARY).parts[0]
    return first.removesuffix(".py")


def imported(path):
    """The parts of the library that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "shardlab":
            names = [f"shardlab.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
        else:
            continue
        for name in names:
            root, _, rest = name.partition(".")
            if root == "shardlab" and rest:
                yield rest.split(".")[0]


@functools.cache
def graph():
    """Each part of the library, and the other parts that it imports.

    A package's __main__ is a command: it may start any part, and no part can
    import it.
    """
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        command = path.name == "__main__.py"
        if not command and path != LIBRARY / "__init__.py":
            found.setdefault(part(path), set()).update(imported(path))
    return {name: uses - {name} for name, uses in found.items()}


def rooms():
    """The same, as ARCHITECTURE.md says it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("| part of `shardlab` |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.*) \|$", table, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", uses)) for name, uses in rows}


def test_the_map_says_what_each_part_imports():
    assert rooms() == graph()


def test_no_parts_import_each_other_in_a_circle():
    left = dict(graph())
    while left:
        free = {name for name, uses in left.items() if not uses & set(left)}
        assert free, f"a circle among {sorted(left)}"
        left = {name: uses for name, uses in left.items() if name not in free}


def test_the_map_leads_to_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = re.findall(r"`((?:book|shardlab|tests|tools)/[\w/.]*)`", text)
    assert places
    for place in places:
        if "NN" not in place:
            assert (ROOT / place).exists(), place
