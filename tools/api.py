"""Writes the pages of the library, and the bibliography, from docstrings."""

import importlib
import inspect
import os
import sys
import textwrap

import yaml
from mdit_py_plugins.anchors.index import slugify

from tools import atomic, bibliography
from tools.text import ROOT

# Page -> its title, what it says first, and the modules whose names it lists.
# A package is listed by what it hands out; what only it uses stays inside.
PAGES = {
    "formulas": (
        "Formulas",
        "What predicts. Nothing here knows of the counts.",
        ("cost", "memory"),
    ),
    "counts": (
        "Counts and simulators",
        "What is held against the formulas. Nothing here knows of them.",
        (
            *("count", "ring", "switch", "pipeline", "timeline", "room"),
            *("steps", "failures", "bits", "agree", "agreement"),
        ),
    ),
    "planning": (
        "Notation, machines, plans and pictures",
        "What chapters put together.",
        ("notation", "hw", "models", "matmul", "plan", "measured", "plot"),
    ),
    "strategies": (
        "Strategies",
        "Every way to train, one module each; a program of JAX that runs on a "
        "mesh of any size. [Every strategy on one page](../strategies.md) "
        "shows that each gives the numbers of one device.",
        (
            "strategies",
            "transformer",
            "processes",
            "foreign",
            "compiled",
            "trace",
            "haste",
        ),
    ),
}
FOLDER = ROOT / "book/library"
WORKS = bibliography.works()
NOTE = "% Made by python -m tools.api from the docstrings of shardlab.\n\n"


def modules(name):
    """The modules that a page lists for a part of the library.

    name     such as "cost"
    returns  list of modules: the part itself, and of the packages whose
             strategies are modules of their own, each of these
    """
    module = importlib.import_module(f"shardlab.{name}")
    if name not in ("strategies", "transformer"):
        return [module]
    found = []
    base = ROOT / "shardlab" / name
    for path in sorted(base.rglob("*.py")):
        place = path.relative_to(ROOT).with_suffix("").as_posix()
        dotted = place.replace("/", ".").removesuffix(".__init__")
        if not path.stem.startswith("__main__"):
            found.append(importlib.import_module(dotted))
    return found


def names(module):
    """The public functions and classes of a module, in alphabetical order."""
    given = getattr(module, "__all__", None)
    if given is None:
        given = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
        ]
    kinds = (inspect.isfunction, inspect.isclass)
    values = {name: getattr(module, name) for name in given}
    return sorted(
        name
        for name, value in values.items()
        if any(is_kind(inspect.unwrap(value)) for is_kind in kinds)
    )


def signature(name, value):
    """How a function is called, in lines of at most 80 letters."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    words = [_words(parameter) for parameter in found.parameters.values()]
    kinds = [parameter.kind for parameter in found.parameters.values()]
    named = inspect.Parameter.KEYWORD_ONLY
    if named in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        words.insert(kinds.index(named), "*")
    line = f"{name}({', '.join(words)})"
    if len(line) <= 80:
        return line
    inside = textwrap.fill(
        ", ".join(words) + ",",
        80,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
    )
    return f"{name}(\n{inside}\n)"


def _words(parameter):
    """A parameter with its default, a function being called by its name."""
    plain = parameter.replace(annotation=inspect.Parameter.empty)
    if not callable(parameter.default) or parameter.default is plain.empty:
        return str(plain)
    bare = plain.replace(default=inspect.Parameter.empty)
    return f"{bare}={parameter.default.__name__}"


def shown_in():
    """For the functions that a chapter shows: name -> link to the chapter."""
    path = ROOT / "book/taught.yml"
    taught = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: f"[chapter {int(stem[:2])}](../../chapters/{stem}.ipynb)"
        for stem, functions in taught.items()
        for name in functions
    }


def entry(module, name, taught):
    """One function or class as it stands on a page.

    module   that hands it out
    name     of it there
    taught   as `shown_in` returns
    returns  str
    raises   ValueError for a name without a docstring
    """
    value = getattr(module, name)
    words = inspect.getdoc(value)
    if not words:
        raise ValueError(f"{module.__name__}.{name} has no docstring")
    first, _, rest = words.partition("\n")
    lines = [f"### {name}", "", first.replace("`", ""), ""]
    lines += ["```text", signature(name, value)]
    if rest.strip():
        lines += ["", inspect.cleandoc(rest)]
    lines += ["```", ""]
    home = getattr(inspect.unwrap(value), "__module__", module.__name__)
    chapter = taught.get(f"{module.__name__}.{name}") or taught.get(
        f"{home}.{name}"
    )
    if chapter:
        lines += [f"Shown in {chapter}.", ""]
    works = bibliography.cited(bibliography.source(words), WORKS)
    if works:
        lines += [f"After {'; '.join(map(bibliography.link, works))}.", ""]
    return "\n".join(lines)


def citing():
    """For each work of the bibliography, list of (module, its address)."""
    found = {}
    for page, (_, _, parts) in PAGES.items():
        for module in (m for part in parts for m in modules(part)):
            name = module.__name__
            address = f"library/{page}.md#{slugify(name)}"
            for each in names(module):
                words = inspect.getdoc(getattr(module, each))
                said = bibliography.source(words)
                for work in bibliography.cited(said, WORKS):
                    found.setdefault(work["id"], {})[name] = address
    return {work: list(places.items()) for work, places in found.items()}


def page(name):
    """The text of one page."""
    title, said, parts = PAGES[name]
    taught = shown_in()
    text = [f"{NOTE}# {title}\n\n{said}\n"]
    for part in parts:
        for module in modules(part):
            public = names(module)
            if not public:
                continue
            first = (inspect.getdoc(module) or "").split("\n\n")[0]
            text.append(f"## {module.__name__}\n\n{first.replace('`', '')}\n")
            text += [entry(module, each, taught) for each in public]
    return "\n".join(text)


def index():
    """The text of the page before the pages."""
    lines = [
        f"{NOTE}# The library\n",
        "`shardlab` holds the instruments of this book and the code that it "
        "teaches. [Notation](../notation.md) says what the letters mean.\n",
    ]
    for name, (title, said, parts) in PAGES.items():
        listed = ", ".join(f"`{part}`" for part in parts)
        lines.append(f"- [{title}]({name}.md): {listed}. {said}")
    lines.append("\nA misspelt or a wrong argument is refused by its name:\n")
    lines.append("```text\n" + refusal() + "\n```\n")
    return "\n".join(lines)


def refusal():
    """What a wrong call of the library is told."""
    from shardlab import cost

    try:
        cost.t_all_gather(-1, 8, 4.5e10)
    except ValueError as error:
        return f">>> cost.t_all_gather(-1, 8, 4.5e10)\nValueError: {error}"
    raise AssertionError("a negative volume was not refused")


def texts():
    """File name -> text, of every page."""
    return {
        "index.md": index(),
        "../bibliography.md": bibliography.page(citing()),
    } | {f"{n}.md": page(n) for n in PAGES}


def main():
    """Write the pages; returns the exit status."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        path = FOLDER / name
        if atomic.write(path, text):
            print(f"{path.resolve().relative_to(ROOT)}: written")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
