"""Runs the book with the newest packages, apart from .venv; says what breaks.

Every notebook is executed in an environment of its own, made of the newest
version of every direct dependency, and its outputs are compared. The report
names, chapter by chapter, what passes, what fails, and with which versions.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tools import setup

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "work/canary"
# Versions that a report names first.
NAMED = ("jax", "jaxlib", "numpy", "matplotlib", "ipython")
LAYERS = ("book", "test")
COUNT = re.compile(r"(\d+) (passed|failed|error)")


def newest(declared):
    """Requirements without their versions.

    declared  list of requirements as pyproject.toml has them, "jax==0.10.2"
    returns   list of str, such as "jax"
    """
    return [re.split(r"[=<>~!; ]", line)[0] for line in declared]


def requirements(root=ROOT):
    """What is installed: every direct dependency of notebooks and tests."""
    path = root / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    found = list(project["dependencies"])
    for layer in LAYERS:
        found += project["optional-dependencies"][layer]
    # The theme of the page needs an older Sphinx; no notebook needs a page.
    return [name for name in newest(found) if name != "jupyter-book"]


def make(place, names):
    """Make the environment anew.

    place    folder of it
    names    requirements
    returns  path of its Python
    raises   RuntimeError with the installer's last words
    """
    subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(place)], check=True
    )
    python = place / "bin/python"
    command = setup.uv("install", "--upgrade", *names)
    command += ["--python", str(python)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:])
    command = setup.uv("install", "--no-deps", "-e", str(ROOT))
    command += ["--python", str(python)]
    subprocess.run(command, check=True, capture_output=True)
    return python


def versions(python):
    """The versions of all packages of an environment: name -> version."""
    command = [python, "-m", "pip", "list", "--format=json"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        row["name"].lower(): row["version"] for row in json.loads(said.stdout)
    }


def outcome(said):
    """How many cells passed and failed, from pytest's last line.

    said     what pytest printed
    returns  (passed, failed); an error counts as a failure
    raises   ValueError when pytest printed no such line
    """
    lines = said.strip().splitlines()
    found = {
        word: int(n) for n, word in COUNT.findall(lines[-1] if lines else "")
    }
    if not found:
        raise ValueError(f"pytest printed no result: {said[-300:]!r}")
    return found.get("passed", 0), found.get("failed", 0) + found.get(
        "error", 0
    )


def run(python, notebook):
    """Execute a notebook and compare its outputs; (passed, failed, why)."""
    command = [python, "-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
    command += ["--nbval-cell-timeout", "600", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(notebook)], cwd=ROOT, capture_output=True, text=True
    )
    passed, failed = outcome(done.stdout)
    words = re.findall(r"^E +(\w*(?:Error|Warning)\b.*)$", done.stdout, re.M)
    differs = re.findall(r"mismatch '([^']*)'", done.stdout)
    why = words[0] if words else f"{differs[0]} differs" if differs else ""
    return passed, failed, why[:100]


def report(rows, found, python):
    """The report as Markdown.

    rows     dict: notebook -> (passed, failed, why)
    found    versions, as `versions` returns
    python   version of Python, in words
    returns  str
    """
    named = ", ".join(f"{n} {found[n]}" for n in NAMED if n in found)
    lines = [f"# The newest of everything\n\nPython {python}; {named}.\n"]
    lines += ["| notebook | cells that pass | that fail | first reason |"]
    lines += ["|---|---|---|---|"]
    for name, (passed, failed, why) in rows.items():
        why = why.replace("|", "\\|")
        lines.append(f"| {name} | {passed} | {failed} | {why} |")
    lines += ["", "All packages:", ""]
    lines += [f"- {name} {version}" for name, version in sorted(found.items())]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """The command line; returns 1 when a notebook fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.canary", description=__doc__
    )
    parser.add_argument("--chapter", default="", help="such as 03; default all")
    asked = parser.parse_args(arguments)
    notebooks = sorted(ROOT.glob(f"chapters/{asked.chapter}*.ipynb"))
    notebooks += sorted(ROOT.glob(f"solutions/{asked.chapter}*/*.ipynb"))
    if not notebooks:
        print(f"canary: no chapter {asked.chapter!r}", file=sys.stderr)
        return 2
    python = make(PLACE / "venv", requirements())
    found, rows = versions(python), {}
    for notebook in notebooks:
        name = notebook.relative_to(ROOT).as_posix()
        rows[name] = run(python, notebook)
        print(name, *rows[name])
        sys.stdout.flush()
    words = ".".join(map(str, sys.version_info[:3]))
    target = PLACE / "report.md"
    target.write_text(report(rows, found, words), encoding="utf-8")
    print(f"the report is {target.as_uri()}")
    return int(any(failed for _, failed, _ in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
