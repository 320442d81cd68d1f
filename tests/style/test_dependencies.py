"""What the code imports is declared, in the layer that needs it."""

import ast
import re
import sys
import tomllib

import pytest

from tests.tree import ROOT

# The package of a module, where the two have different names.
PACKAGES = {
    "IPython": "ipython",
    "axe_playwright_python": "axe-playwright-python",
    "bs4": "beautifulsoup4",
    "jupyter_client": "jupyter-client",
    "matplotlib_inline": "matplotlib-inline",
    "mdit_py_plugins": "mdit-py-plugins",
    "myst_nb": "myst-nb",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
}
# Folder -> the layers of pyproject.toml that its modules may import from; the
# first that fits a path counts.
LAYERS = {
    # Spreads grading over a cluster, with a list of its own.
    "shardlab/grading/cluster.py": {"cluster"},
    "shardlab/grading": {"grade"},
    "shardlab/authoring": {"grade", "book"},
    "shardlab/measured": {"fit"},
    # Films are templates; JupyterLab, which everybody has, brings jinja2.
    "shardlab": set(),
    "tools/setup.py": set(),
    # Prints by the browser that the tests look at pages with.
    "tools/pdf.py": {"book", "test"},
    "tools/shots.py": {"test"},
    # A plugin of pytest.
    "tools/drawings.py": {"grade", "test"},
    "tools": {"grade", "book"},
    "book/extensions": {"grade", "book"},
    # What needs PyTorch has a list of its own, which nothing else installs.
    "bench/torch_counts": {"torch"},
    # Programs of others, and what they import.
    "bench/others/forty.py": {"others", "grade", "book"},
    "bench/others/programs.py": {"others", "grade", "book"},
    # Watches a run of the tests.
    "bench/account.py": {"test"},
    "bench": {"grade", "book"},
    "tests": {"grade", "book", "test"},
}
OURS = {"shardlab", "tools", "tests", "bench"}
OURS |= {path.stem for path in (ROOT / "book/extensions").glob("*.py")}


def declared():
    """Layer -> the names of its packages; "" is what everybody needs."""
    path = ROOT / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    lists = {"": project["dependencies"], **project["optional-dependencies"]}
    lists["torch"] = [
        line
        for line in (ROOT / "requirements-torch.txt").read_text().splitlines()
        if line.startswith("torch==")
    ]
    lists["cluster"] = ["distributed"]
    others = (ROOT / "requirements-others.txt").read_text().splitlines()
    names = ("equinox==", "flax==")
    lists["others"] = [line for line in others if line.startswith(names)]
    # Read from clones: a package's layer, and an example's module.
    lists["others"] += ["maxtext", "models"]
    return {
        layer: {re.split(r"[\[=]", line)[0].lower() for line in lines}
        for layer, lines in lists.items()
    }


def imports(path):
    """The packages that a file imports, Python's own and ours left out."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    roots = {name.split(".")[0] for name in names}
    outside = roots - OURS - set(sys.stdlib_module_names)
    return {PACKAGES.get(name, name) for name in outside}


def allowed(path):
    """The packages that the layers of a file hold."""
    place = path.relative_to(ROOT).as_posix()
    layers = declared()
    for folder, more in LAYERS.items():
        if place == folder or place.startswith(folder + "/"):
            return set().union(*(layers[layer] for layer in {"", *more}))
    raise AssertionError(f"{place} belongs to no layer")


@pytest.mark.parametrize("folder", sorted(LAYERS))
def test_what_is_imported_is_declared(folder):
    base = ROOT / folder
    paths = [base] if base.is_file() else sorted(base.rglob("*.py"))
    missing = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in imports(path) - allowed(path)
    }
    assert not missing


def test_what_is_declared_is_pinned_once():
    lists = declared()
    names = [name for layer in lists.values() for name in layer]
    assert len(names) == len(set(names))
