"""Reads a chapter's text and gives the notebook that it stands for."""

import ast
import hashlib
import re
from pathlib import Path

import jupytext
import nbformat

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

SHOW = re.compile(r"^# show: (?P<name>shardlab(\.\w+)+)$", re.MULTILINE)


def module_path(name):
    """The file of the module `name`, such as "shardlab.hw", or None."""
    base = ROOT / name.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


def shown_source(name):
    """The source of a function or constant of shardlab, comments kept.

    name     dotted, such as "shardlab.cost.t_all_gather"
    returns  str, as it stands in the module's file
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
            for alias in node.names:
                if item == (alias.asname or alias.name):
                    return shown_source(f"{node.module}.{alias.name}")
        names = [getattr(node, "name", None)] + [
            target.id
            for target in getattr(node, "targets", [])
            if isinstance(target, ast.Name)
        ]
        if item in names:
            first = min(
                [node.lineno]
                + [d.lineno for d in getattr(node, "decorator_list", [])]
            )
            lines = content.splitlines()[first - 1 : node.end_lineno]
            return "\n".join(lines)
    raise ValueError(f"show: {module} defines no {item}")


def shown_names(code):
    """The dotted names that the cells of a text ask to be shown."""
    return [match["name"] for match in SHOW.finditer(code)]


def imported(code):
    """The names of the shardlab modules that `code` imports, directly.

    `from shardlab.hw import V5E` counts as `shardlab.hw`.
    """
    modules = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules |= {f"{node.module}.{a.name}" for a in node.names}
    return {
        name
        for name in modules
        if name.split(".")[0] == "shardlab" and module_path(name)
    }


def all_imported(code):
    """The shardlab modules that `code` runs, imports of imports included."""
    found, new = set(), imported(code)
    while new:
        found |= new
        new = {
            name
            for module in new
            for name in imported(
                module_path(module).read_text(encoding="utf-8")
            )
        } - found
    return sorted(found)


def fingerprint(notebook):
    """What the outputs depend on, as a hexadecimal digest.

    Code and tags of the cells, the files of the shardlab modules that they
    import, and the locked packages.
    """
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    code = "\n".join(cell.source for cell in cells)
    parts = [repr((c.source, c.metadata.get("tags", []))) for c in cells]
    parts += [
        module_path(name).read_text(encoding="utf-8")
        for name in all_imported(code)
    ]
    parts.append((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def fill_nbgrader(cell):
    """Complete nbgrader's metadata of a graded cell with its defaults.

    Check cells are locked, and may fail without stopping Run All: that is
    what the tag `raises-exception` means to JupyterLab. On the page they are
    folded: what is asked stands above them.
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
        cell.metadata["tags"] = ["hide-input", "raises-exception"]


def notebook(path):
    """The notebook, without outputs, that the text at `path` stands for.

    raises   ValueError that names the file when the text is malformed
    """
    book = jupytext.read(path, fmt="md:myst")
    fresh = nbformat.v4.new_notebook(metadata=METADATA)
    for position, cell in enumerate(book.cells):
        cell = nbformat.from_dict(cell)
        cell["id"] = f"{path.stem[:50]}-{position:03d}"
        try:
            if cell.cell_type == "code":
                cell.source = SHOW.sub(
                    lambda match: shown_source(match["name"]), cell.source
                )
            fill_nbgrader(cell)
        except ValueError as error:
            raise ValueError(f"{path.name}, cell {position}: {error}") from None
        fresh.cells.append(cell)
    fresh.metadata["shard_by_shard"] = {"fingerprint": fingerprint(fresh)}
    return fresh


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
