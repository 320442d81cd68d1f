"""Reads a chapter's text and gives the notebook that it stands for."""

import ast
import re
from pathlib import Path

import jupytext
import nbformat
from jupytext.myst import MystMetadataParsingError

from tools import cells, in_practice, meaning

ROOT = Path(__file__).resolve().parent.parent

# nbgrader's own metadata; a text names only what differs from this.
NBGRADER_DEFAULTS = {
    "grade": False,
    "locked": False,
    "schema_version": 3,
    "solution": False,
    "task": False,
}

METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}

# "# show: shardlab.a.f, shardlab.b.g as h": definitions of the library, in
# order, the last one under another name.
ITEM = r"shardlab(?:\.\w+)+(?: as \w+)?"
SHOW = re.compile(
    rf"^# show: (?P<items>{ITEM}(?:, {ITEM})*)$(?P<more>\n(?=# show: ))?",
    re.MULTILINE,
)
# Decorators of the library: one checks arguments, one keeps a list quick.
DOORS = ("takes", "_uncollected")
LEFT_OUT = ("raises", "source")  # of a docstring, where code is shown


def module_path(name):
    """The file of the module `name`, such as "shardlab.hw", or None."""
    base = ROOT / name.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


def shown_source(name, alias=None):
    """The source of a function or constant of shardlab, as a reader sees it.

    Comments stay. The check of arguments at the door goes, and of the docstring
    what an error looks like and whose formula it is.

    name     dotted, such as "shardlab.cost.t_all_gather"
    alias    the name under which it is shown, also where it calls itself;
             None: its own
    returns  str
    raises   ValueError when there is no such definition
    """
    module, _, item = name.rpartition(".")
    path = module_path(module)
    if path is None:
        raise ValueError(f"show: there is no module {module}")
    content = path.read_text(encoding="utf-8")
    for node in ast.parse(content).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            # A package that passes on what its modules define.
            for passed in node.names:
                if item == (passed.asname or passed.name):
                    origin = f"{node.module}.{passed.name}"
                    return shown_source(origin, alias or item)
        names = [getattr(node, "name", None)] + [
            target.id
            for target in getattr(node, "targets", [])
            if isinstance(target, ast.Name)
        ]
        if item in names:
            lines = content.splitlines()
            if alias and alias != item:
                _rename(lines, node, item, alias)
            return "\n".join(_without_door(lines, node))
    raise ValueError(f"show: {module} defines no {item}")


def _rename(lines, node, item, alias):
    """Write `alias` for each `item` in the lines of a definition."""
    places = {
        (found.lineno, found.col_offset)
        for found in ast.walk(node)
        if isinstance(found, ast.Name) and found.id == item
    }
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        start = re.match(r" *(def|class) +", lines[node.lineno - 1]).end()
        places.add((node.lineno, start))
    for number, column in sorted(places, reverse=True):
        line = lines[number - 1].encode()
        after = line[column + len(item.encode()) :]
        lines[number - 1] = (line[:column] + alias.encode() + after).decode()


def _without_door(lines, node):
    """The lines of a definition, without what only the library needs."""
    shown = []
    for decorator in getattr(node, "decorator_list", []):
        called = getattr(decorator, "func", decorator)
        if getattr(called, "attr", getattr(called, "id", "")) not in DOORS:
            shown += lines[decorator.lineno - 1 : decorator.end_lineno]
    start = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        said = node.body[0]
        if ast.get_docstring(node) is not None:
            shown += lines[start - 1 : said.lineno - 1]
            shown += cut_docstring(lines[said.lineno - 1 : said.end_lineno])
            start = said.end_lineno + 1
    return shown + lines[start - 1 : node.end_lineno]


def cut_docstring(lines):
    """A docstring without its entries for errors and for where it is from.

    lines    of the source, quotes included; an entry is a name and its text,
             whose other lines stand further to the right
    returns  list of lines
    """
    indent = len(lines[0]) - len(lines[0].lstrip())
    kept, dropping = [], False
    for line in lines:
        if line.strip() in ("", '"""'):
            dropping = False
        elif len(line) - len(line.lstrip()) == indent:
            dropping = line.split()[0] in LEFT_OUT
        if not dropping:
            kept.append(line)
        elif line.endswith('"""'):
            kept.append(" " * indent + '"""')
    text = "\n".join(kept)
    text = re.sub(r"\n\n+(?= *\"\"\"$)", "\n", text)
    if text.count("\n") == 1 and kept[-1].strip() == '"""':
        text = text.removesuffix('"""').rstrip() + '"""'
    return text.split("\n")


def shown_items(items):
    """Names and aliases of one line, such as "shardlab.a.f as g, shardlab.b.h".

    returns  list of (dotted name, alias or None)
    """
    pairs = [item.strip().partition(" as ") for item in items.split(",")]
    return [(name, alias or None) for name, _, alias in pairs]


def shown_code(match):
    """The source that one `# show:` line of a cell stands for."""
    sources = [shown_source(*item) for item in shown_items(match["items"])]
    return "\n\n\n".join(sources) + ("\n\n\n" if match["more"] else "")


def shown_names(code):
    """The dotted names that the cells of a text ask to be shown."""
    return [
        name
        for match in SHOW.finditer(code)
        for name, _ in shown_items(match["items"])
    ]


# What shows the outputs of cells, beside the packages that these import.
SHOWN_BY = ("ipykernel", "ipython", "matplotlib-inline")


def code(notebook):
    """The code of all cells of a notebook, as one text."""
    return "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "code"
    )


def fingerprint(notebook):
    """What the outputs of a notebook depend on, as a hexadecimal digest.

    The syntax of its code by cells, which cells may raise or show nothing, and
    what `meaning.digest` adds. Captions, comments and folding change no output.
    """
    run = [cell for cell in notebook.cells if cell.cell_type == "code"]
    forms = [
        (
            cells.RAISES in cell.metadata.get("tags", []),
            cell.source.rstrip().endswith(";"),
            len(ast.parse(cell.source).body),
        )
        for cell in run
    ]
    if meaning.SEES_TEXT.search(code(notebook)):
        forms.append([cell.source for cell in run])
    return meaning.digest(code(notebook), repr(forms), packages=SHOWN_BY)


def fill_nbgrader(cell):
    """Complete nbgrader's metadata of a graded cell with its defaults.

    Check cells are locked, and may fail without stopping Run All: that is
    what the tag `raises-exception` means to JupyterLab. They are folded, on the
    page and there: what is asked stands above them.
    """
    given = cell.metadata.get("nbgrader")
    if given is None:
        return
    unknown = set(given) - set(NBGRADER_DEFAULTS) - {"grade_id", "points"}
    if unknown or "grade_id" not in given:
        raise ValueError(f"nbgrader metadata of a cell is wrong: {dict(given)}")
    check = given.get("grade", False) and not given.get("solution", False)
    filled = {**NBGRADER_DEFAULTS, "locked": check, **given}
    cell.metadata["nbgrader"] = nbformat.from_dict(dict(sorted(filled.items())))
    if check:
        cell.metadata["tags"] = [cells.RAISES]
        points = given.get("points", 0)
        words = f"Check, {points:g} point{'s' * (points != 1)}: run this cell"
        show, hide = "Show the check", "Hide the check"
        cells.fold(cell, words, show, hide, output=False)


# Where the rows of a chapter from book/in_practice.yml are printed.
IN_PRACTICE = "<!-- in practice -->"


def notebook(path):
    """The notebook, without outputs, that the text at `path` stands for.

    raises   ValueError that names the file and the cell when the text is
             malformed
    """
    fresh = nbformat.v4.new_notebook(metadata=METADATA)
    try:
        read = [nbformat.from_dict(cell) for cell in read_cells(path)]
        for position, cell in enumerate(read):
            with cells.naming(position, cell):
                if cell.cell_type == "code":
                    cell.source = SHOW.sub(shown_code, cell.source)
                elif IN_PRACTICE in cell.source:
                    rows = in_practice.table(f"{number_of(path):02d}")
                    cell.source = cell.source.replace(IN_PRACTICE, rows)
                fill_nbgrader(cell)
        fresh.cells = cells.formed(read, number_of(path))
        cells.at_the_door(fresh.cells)
    except ValueError as error:
        raise ValueError(f"{path.name}, {error}") from None
    for position, cell in enumerate(fresh.cells):
        cell["id"] = f"{path.stem[:50]}-{position:03d}"
    fresh.metadata["shard_by_shard"] = {"fingerprint": fingerprint(fresh)}
    return fresh


def read_cells(path):
    """The cells of the text at `path`, as jupytext reads them.

    raises   ValueError when the header of a cell is no YAML
    """
    try:
        return jupytext.read(path, fmt="md:myst").cells
    except MystMetadataParsingError as error:
        raise ValueError(
            f"{error} (words with a colon must stand in quotes)"
        ) from None


def number_of(path):
    """The number of the chapter whose text lies at `path`, or None."""
    number = path.stem.partition("_")[0]
    chapter = path.parent.name == "chapters" and number.isdecimal()
    return int(number) if chapter else None


def same_run(fresh, old):
    """Whether the outputs stored in `old` are those of `fresh`'s code."""
    if old is None:
        return False
    mark = old.metadata.get("shard_by_shard", {}).get("fingerprint")
    executed = all(
        cell.execution_count is not None
        for cell in old.cells
        if cell.cell_type == "code"
    )
    return executed and mark == fresh.metadata.shard_by_shard.fingerprint


def take_outputs(fresh, old):
    """Copy outputs from `old` to the code cells of `fresh`, in order."""
    pairs = zip(
        (c for c in fresh.cells if c.cell_type == "code"),
        (c for c in old.cells if c.cell_type == "code"),
        strict=True,
    )
    for cell, done in pairs:
        cell.outputs = done.outputs
        cell.execution_count = done.execution_count


def dump(notebook):
    """The file content of a notebook: the same bytes for the same cells."""
    return nbformat.writes(notebook, version=4, sort_keys=True, indent=1) + "\n"
