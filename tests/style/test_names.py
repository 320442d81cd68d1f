"""What a module hands out stands in its `__all__`; the rest begins with `_`."""

import ast
import functools
import re

from tests.tree import ROOT, files
from tools import api

# Texts in which a name of the library may be used: code, cells, programs in
# strings, `# show:` lines and tables of names.
ENDINGS = (".py", ".md", ".yml", ".yaml", ".toml", ".json", "Makefile")
GENERATED = ("chapters/", "solutions/", "exercises/", "book/library/")
IMPORT = re.compile(r"from (shardlab[\w.]*) import (\([^)]*\)|[^\n;]+)")
BOUND = re.compile(r"(\w+)(?: as (\w+))?")
PLAIN = re.compile(r"import (shardlab[\w.]*) as (\w+)")
DOTTED = re.compile(r"\bshardlab(?:\.\w+)+")


def module_of(name):
    """The module that a file of the library is, or None."""
    stem = name.removesuffix(".py").replace("/", ".")
    return stem.removesuffix(".__init__") if name in library() else None


@functools.cache
def library():
    """Path -> text, of each module."""
    return {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in files()
        if name.startswith("shardlab/") and name.endswith(".py")
    }


def bound(body):
    """Names that the statements of a module bind, those of imports aside.

    returns  (functions and classes, all of them), as two sets
    """
    made, values = set(), set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
            continue
        values |= {
            found.id
            for found in ast.walk(node)
            if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store)
        }
    return made, made | values


class Module:
    """What one module makes, hands out, and says of its classes."""

    def __init__(self, name, text):
        body = ast.parse(text).body
        self.made, self.own = bound(body)
        self.listed = None
        for node in body:
            if isinstance(node, ast.Assign) and (
                getattr(node.targets[0], "id", "") == "__all__"
            ):
                self.listed = set(ast.literal_eval(node.value))
        passed = {
            each.asname or each.name
            for node in body
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        # What a package imports from its modules, it passes on.
        self.offered = self.own | passed
        if not name.endswith("/__init__.py"):
            self.passed = set()
        else:
            self.passed = passed
        words = re.findall(r'"""(.*?)"""', text, re.DOTALL)
        self.said = set(re.findall(r"\b[A-Z]\w+\b", " ".join(words)))


@functools.cache
def modules():
    """Each module by its dotted name."""
    return {
        module_of(name): Module(name, text) for name, text in library().items()
    }


def used_in(text, home=None):
    """The names of other modules that a text uses: set of (module, name)."""
    found, aliases = set(), {}

    def note(dotted):
        parts = dotted.split(".")
        for n in range(len(parts) - 1, 0, -1):
            if (module := ".".join(parts[:n])) in modules():
                if module != home:
                    found.add((module, parts[n]))
                return

    for base, names in IMPORT.findall(text):
        for name, other in BOUND.findall(re.sub("#.*", "", names)):
            dotted = f"{base}.{name}"
            note(dotted)
            if dotted in modules():
                aliases[other or name] = dotted
    aliases |= {other: name for name, other in PLAIN.findall(text)}
    for dotted in DOTTED.findall(text):
        note(dotted)
    if aliases:
        either = "|".join(map(re.escape, aliases))
        uses = re.compile(rf"(?<![\w.])({either})((?:\.\w+)+)")
        for alias, rest in set(uses.findall(text)):
            note(aliases[alias] + rest)
    return found


@functools.cache
def used():
    """Every (module, name) of the library that another file uses."""
    found = set()
    for name in files():
        if name.endswith(ENDINGS) and not name.startswith(GENERATED):
            text = (ROOT / name).read_text(encoding="utf-8")
            if "shardlab" in text:
                found |= used_in(text, module_of(name))
    return found


def documented(module):
    """Whether the pages of the library list all that a module makes."""
    parts = {p for _, _, listed in api.PAGES.values() for p in listed}
    first, _, rest = module.removeprefix("shardlab.").partition(".")
    return first in parts and (
        not rest or first in ("strategies", "transformer")
    )


def public(names):
    """Those names that do not begin with `_`."""
    return {name for name in names if not name.startswith("_")}


def test_a_module_lists_what_others_use():
    missing = []
    for name, module in modules().items():
        theirs = {each for home, each in used() if home == name}
        needed = public(theirs & (module.own | module.passed))
        if not name.endswith("__main__"):
            missing += [
                f"{name}.{each}" for each in needed - (module.listed or set())
            ]
    assert sorted(missing) == []


def test_a_module_lists_nothing_that_it_has_not():
    wrong = [
        f"{name}.{each}"
        for name, module in modules().items()
        for each in (module.listed or set()) - module.offered
    ]
    assert sorted(wrong) == []


def test_what_only_its_module_uses_begins_with_an_underscore():
    idle = []
    for name, module in modules().items():
        theirs = {each for home, each in used() if home == name}
        known = theirs | (module.listed or set())
        if documented(name):
            continue
        idle += [f"{name}.{e}" for e in public(module.made) - known]
        # A class that a docstring names is what functions take and return.
        idle += [
            f"{name}.{each}"
            for each in (module.listed or set()) & module.made
            if each not in theirs | module.said
        ]
    assert sorted(idle) == []


def test_uses_are_found_however_they_are_written():
    text = """
    from shardlab import hw as machines, ring
    from shardlab.cost import (
        t_layer,  # one
        volume as moved,
    )
    import shardlab.plan.held as held
    machines.V5E, ring.hops.STEPS, held.Account, other.ring.away
    monkeypatch.setattr("shardlab.switch.run", None)
    # show: shardlab.memory.total
    """
    assert used_in(text) >= {
        ("shardlab.hw", "V5E"),
        ("shardlab.ring.hops", "STEPS"),
        ("shardlab.cost", "t_layer"),
        ("shardlab.cost", "volume"),
        ("shardlab.plan.held", "Account"),
        ("shardlab.switch", "run"),
        ("shardlab.memory", "total"),
    }
    assert ("shardlab.ring", "away") not in used_in(text)
    alone = used_in("from shardlab.hw import V5E", "shardlab.hw")
    assert ("shardlab.hw", "V5E") not in alone
