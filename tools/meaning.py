"""Digests of what code means: the syntax of the definitions that it reaches.

A comment, a docstring, a type hint of a function, and a definition that nothing
reaches change no digest. A digest is the same on every Python that we support.
"""

import ast
import functools
import hashlib
import importlib.metadata
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "shardlab"
# A module named in a text is one that some process imports or runs.
DOTTED = re.compile(rf"(?<![\w.]){LIBRARY}(?:\.\w+)+")
# Fields of a syntax tree that say nothing, or that differ between Pythons.
SILENT = {"ctx", "kind", "type_comment", "type_ignores", "type_params"}
# Code that uses one of these sees the text of a definition.
SEES_TEXT = re.compile(r"\bgetsource|\b__doc__\b|\bhelp\(")
WHOLE, IMPORT = "", "<import>"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Key(NamedTuple):
    """A definition of the library.

    module  such as "shardlab.hw"
    name    "V5E"; WHOLE for all of the module, IMPORT for what runs when it is
            imported and defines nothing
    """

    module: str
    name: str


def digest(code, *texts, packages=(), root=ROOT):
    """What running `code` depends on, as a hexadecimal digest.

    code      Python that imports shardlab
    texts     other texts that count, as they stand
    packages  names of distributions that count although `code` imports none
    root      the folder of shardlab and of requirements.txt
    returns   str; another one when the syntax of `code` changes, or of a
              definition that it reaches; the data that such a definition reads;
              the locked version of a package that these import, or that such a
              package requires; or one of `texts`
    """
    library, keys, imported = _reached(code, root)
    as_text = bool(SEES_TEXT.search(code))
    parts = [library.own(key, as_text and key.name != IMPORT) for key in keys]
    for key in keys:
        named = library.edges(key)[0]
        parts += [f"{w} {library.own(k)}" for w, k in sorted(named.items())]
    parts = [*texts, *sorted(set(parts)), *locked(imported, packages, root)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def reached(code, root=ROOT):
    """The definitions of shardlab that `code` reaches.

    returns  set of names: "shardlab.hw.V5E", or "shardlab.hw" for all of it
    """
    return {
        f"{key.module}.{key.name}".rstrip(".")
        for key in _reached(code, root)[1]
        if key.module and key.name != IMPORT
    }


def _reached(code, root):
    """What `code` reaches, itself included.

    returns  (_Library, list of Key, names of imported packages)
    """
    library = _library(root)
    library.use(_Module("", code))
    keys, imported = {}, set()
    todo = [Key("", WHOLE)]
    while todo:
        key = todo.pop()
        if key in keys:
            continue
        keys[key] = True
        named, packages = library.edges(key)
        imported |= packages
        todo += named.values()
        if key.name in (WHOLE, IMPORT):
            module = library.module(key.module)
            imported |= module.packages
            todo += [Key(name, IMPORT) for name in library.imports(module)]
        else:
            todo.append(Key(key.module, IMPORT))
    return library, list(keys), imported


class _Module:
    """What a module binds, and what importing it runs.

    bound     dict from a name to the statements that define it, or to the Key
              of what is imported under it
    body      statements that define nothing, and run at every import
    main      statements that run where the module is the program
    imports   Keys of all imports from the library
    packages  names of all other modules that it imports
    """

    def __init__(self, name, text, path=None):
        self.name, self.text, self.path = name, text, path
        is_package = path is not None and path.stem == "__init__"
        self.package = name if is_package else name.rpartition(".")[0]
        self.bound, self.body, self.main = {}, [], []
        self.imports, self.packages = set(), set()
        for statement in ast.parse(text).body:
            if _is_import(statement):
                self._import(statement)
            elif _is_main(statement):
                self.main.append(statement)
            elif not _is_text(statement):
                self._define(statement)

    def _define(self, statement):
        names = _defined(statement) or self._changed(statement)
        if not names:
            self.body.append(statement)
            for inner in ast.walk(statement):
                if _is_import(inner):
                    self._import(inner)
        for name in names:
            self.bound.setdefault(name, []).append(statement)

    def _changed(self, statement):
        """What `LIMITS |= {...}`, `PARTS[0] = 1` or `f.defvjp(g)` changes."""
        target = getattr(statement, "target", None)
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(getattr(statement, "value", None), ast.Call):
            target = statement.value.func
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            target = target.value
        name = getattr(target, "id", None)
        return {name} if isinstance(self.bound.get(name), list) else set()

    def _import(self, statement):
        for name, key in _imported(statement, self.package).items():
            if _in_library(key):
                self.bound[name] = key
                self.imports.add(key)
            else:
                self.packages.add(key.module.partition(".")[0])


class _Library:
    """The modules below a folder, each read once, and code that uses them."""

    def __init__(self, root):
        self.root, self.code = root, None
        self.read = functools.cache(self._read)
        self.kept, self.of_code = {}, {}

    def use(self, code):
        """Let the module without a name be another one."""
        self.code, self.of_code = code, {}

    def _read(self, name):
        base = self.root / name.replace(".", "/")
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.exists():
                return _Module(name, path.read_text(encoding="utf-8"), path)
        return None

    def module(self, name):
        """The module of that name; the code itself has none."""
        return self.read(name) if name else self.code

    def imports(self, module):
        """The modules that importing one imports, with the packages above."""
        names = set()
        for key in module.imports:
            inner = f"{key.module}.{key.name}"
            words = (inner if self.read(inner) else key.module).split(".")
            names |= {".".join(words[: n + 1]) for n in range(len(words))}
        return {name for name in names if self.read(name)}

    def statements(self, key):
        """The statements that a key stands for."""
        module = self.module(key.module)
        if key.name == IMPORT:
            return module.body
        if key.name != WHOLE:
            return module.bound[key.name]
        defined = [x for x in module.bound.values() if isinstance(x, list)]
        every = [*module.body, *module.main, *sum(defined, [])]
        unique = {id(statement): statement for statement in every}
        return sorted(unique.values(), key=lambda one: one.lineno)

    def own(self, key, as_text=False):
        """A digest of what a key stands for, by itself."""
        kept = self.kept if key.module else self.of_code
        if (key, as_text) not in kept:
            kept[key, as_text] = self._own(key, as_text)
        return kept[key, as_text]

    def _own(self, key, as_text):
        module, found = self.module(key.module), self.statements(key)
        parts = [syntax(each) for each in found]
        if as_text:
            parts += [ast.get_source_segment(module.text, x) for x in found]
        if module.path and any("'__file__'" in part for part in parts):
            parts += _data_beside(module.path)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def edges(self, key):
        """What a key names: (dict from words to Key, names of packages)."""
        kept = self.kept if key.module else self.of_code
        if key not in kept:
            kept[key] = self._edges(key)
        return kept[key]

    def _edges(self, key):
        module = self.module(key.module)
        local, packages = dict(module.bound), set()
        statements = self.statements(key)
        for node in (n for each in statements for n in ast.walk(each)):
            if _is_import(node):
                for name, target in _imported(node, module.package).items():
                    if _in_library(target):
                        local[name] = target
                    else:
                        packages.add(target.module.partition(".")[0])
        found, todo = {}, [(each, frozenset()) for each in statements]
        while todo:
            node, hidden = todo.pop()
            words = _words(node)
            if words and words[0] in local and words[0] not in hidden:
                target = self._follow(words, local, module)
                if target and target != key:
                    found[".".join(words)] = target
            elif isinstance(getattr(node, "value", None), str):
                names = DOTTED.findall(node.value)
                found |= {n: Key(n, WHOLE) for n in names if self.read(n)}
            if not words:
                todo += _children(node, hidden)
        if key.name == WHOLE and key.module:  # what it passes on counts, too
            passed = {x: self._follow([x], local, module) for x in module.bound}
            found |= {x: k for x, k in passed.items() if k and k.name}
        return found, packages

    def _follow(self, words, local, module):
        """The definition that words such as ["hw", "V5E", "flops"] mean."""
        key = local[words[0]]
        if not isinstance(key, Key):
            key = Key(module.name, words[0])
        key = self._settled(key)
        for word in words[1:]:
            if key is None or key.name != WHOLE:
                break
            key = self._settled(Key(key.module, word))
        return key

    def _settled(self, key):
        """The key of the definition itself, past modules that pass it on.

        returns  Key, or None for a thing that is not of the library
        """
        while _in_library(key) and self.read(key.module):
            bound = self.read(key.module).bound.get(key.name)
            if key.name == WHOLE or isinstance(bound, list):
                return key
            inner = f"{key.module}.{key.name}"
            if isinstance(bound, Key):
                key = bound
            elif self.read(inner):
                return Key(inner, WHOLE)
            else:  # `__file__`, or a name that a star or a loop binds
                return Key(key.module, WHOLE)
        return Key("", key.name) if key.module == "" else None


@functools.cache
def _library(root):
    return _Library(root)


def syntax(node):
    """A syntax tree as text, without what does not change what it does."""
    if isinstance(node, list):
        return "[" + ",".join(map(syntax, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({syntax(_joined(node.values))})"
    left_out = set(SILENT)
    if isinstance(node, (ast.FunctionDef, ast.arg)):
        left_out |= {"returns", "annotation"}
    inside = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [x for x in value if not (_is_import(x) or _is_text(x))]
        if name not in left_out and value is not None and value != []:
            inside.append(f"{name}={syntax(value)}")
    return f"{type(node).__name__}({','.join(inside)})"


def _joined(values):
    """The parts of an f-string, whose constant text Pythons part unlike."""
    parts = []
    for part in values:
        if not isinstance(part, ast.Constant):
            parts.append(part)
        elif parts and isinstance(parts[-1], ast.Constant):
            parts[-1] = ast.Constant(parts[-1].value + part.value)
        else:
            parts.append(part)
    return [x for x in parts if getattr(x, "value", None) != ""]


def _children(node, hidden):
    """The parts of a node that run, each with the names that are local there.

    hidden  frozenset of the names that are local where the node stands
    """
    if _is_import(node) or _is_text(node):
        return []
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        outside = [*getattr(node, "decorator_list", []), node.args]
        hints = [getattr(node, "returns", None), *outside]
        inside = hidden | _local(node)
        parts = [x for x in parts if x not in hints]
        return [(x, hidden) for x in outside] + [(x, inside) for x in parts]
    if isinstance(node, ast.arguments):
        parts = [*node.defaults, *filter(None, node.kw_defaults)]
    elif isinstance(node, COMPREHENSIONS):
        loops = node.generators
        inside = hidden | {x for loop in loops for x in _stored(loop.target)}
        parts = [x for x in parts if x not in loops]
        for loop in loops:
            parts += loop.ifs if loop is loops[0] else [loop.iter, *loop.ifs]
        return [(loops[0].iter, hidden)] + [(x, inside) for x in parts]
    return [(x, hidden) for x in parts]


def _local(function):
    """The names that are local to a function."""
    arguments = function.args
    named = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, [arguments.vararg, arguments.kwarg]),
    ]
    return {x.arg for x in named} | _stored(function)


def _stored(node):
    """The names that a node binds, and no function or loop inside of it."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    inner = (ast.Lambda, ast.ClassDef, ast.FunctionDef, *COMPREHENSIONS)
    names = set()
    for part in ast.iter_child_nodes(node):
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, ast.ExceptHandler) and part.name:
            names |= {part.name} | _stored(part)
        elif not isinstance(part, inner):
            names |= _stored(part)
    return names


def _is_import(node):
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _is_text(node):
    """Whether a statement is a docstring, or another text that nothing uses."""
    said = isinstance(node, ast.Expr) and getattr(node.value, "value", None)
    return isinstance(said, str)


def _is_main(node):
    """Whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "id='__name__'" in syntax(node.test)


def _in_library(key):
    return key.module.partition(".")[0] == LIBRARY


def _defined(statement):
    """The names that a statement at the top of a module defines."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    targets = getattr(statement, "targets", [])
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    found = [x for one in targets for x in getattr(one, "elts", [one])]
    named = all(isinstance(one, ast.Name) for one in found)
    return {one.id for one in found} if named else set()


def _imported(statement, package):
    """The names that an import binds, and the keys of what they mean.

    package  in which the statement stands, for `from . import a`
    """
    if isinstance(statement, ast.Import):
        found = {}
        for each in statement.names:
            first = each.name.partition(".")[0]
            bound = each.name if each.asname else first
            found[each.asname or first] = Key(bound, WHOLE)
        return found
    module = statement.module or ""
    if statement.level:
        above = package.split(".")
        above = above[: len(above) + 1 - statement.level]
        module = ".".join([*above, *filter(None, [module])])
    return {x.asname or x.name: Key(module, x.name) for x in statement.names}


def _words(node):
    """The words of `a.b.c`, or [] for what does not begin with a name."""
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return [node.id, *reversed(words)] if isinstance(node, ast.Name) else []


def _data_beside(path):
    """What a module may read that looks for files next to its own.

    returns  list of str, name and digest of each file that holds no Python
    """
    return [
        f"{each.name} {hashlib.sha256(each.read_bytes()).hexdigest()}"
        for each in sorted(path.parent.iterdir())
        if each.is_file() and each.suffix != ".py"
    ]


def locked(imported, packages=(), root=ROOT):
    """The lines of requirements.txt on packages and on what these require.

    imported  names of modules, such as "yaml"
    packages  names of distributions, such as "pyyaml"
    returns   list of str, sorted
    """
    lines = {}
    for line in (root / "requirements.txt").read_text().splitlines():
        line = line.partition("#")[0].strip()
        lines[_normal(re.split(r"[=\[; ]", line)[0])] = line
    todo = [_normal(name) for name in packages]
    for name in imported:
        todo += map(_normal, _distributions().get(name, ()))
    found = set()
    while todo:
        name = todo.pop()
        if name not in found and lines.get(name):
            found.add(name)
            todo += _required(name)
    return sorted(lines[name] for name in found)


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def _distributions():
    return importlib.metadata.packages_distributions()


@functools.cache
def _required(name):
    """The distributions that one requires, on whatever machine."""
    try:
        required = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []  # of another system
    return [
        _normal(re.split(r"[^\w.-]", line)[0])
        for line in required
        if "extra ==" not in line
    ]
