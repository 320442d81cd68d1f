"""Runs the book with other packages, apart from .venv; says what breaks.

Every notebook is executed in an environment of its own, made of the newest
version of every direct dependency, or with --lowest of the oldest ones that
pyproject.toml names, and its outputs are compared. What was found lies in
bench/canary, from where tools.status takes it; the report names, chapter by
chapter, what passes, what fails, and with which versions.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

from tools import atomic, setup

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "work/canary"
STORE = ROOT / "bench/canary"
# Versions that a report names first.
NAMED = ("jax", "jaxlib", "numpy", "matplotlib", "ipython")
LAYERS = ("book", "test")
COUNT = re.compile(r"(\d+) (passed|failed|error)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Where nbval executed a cell to its end, and it printed or drew another thing.
DIFFERS = re.compile(r"^Cell \d+: Cell outputs differ", re.MULTILINE)


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


def lowest(root=ROOT):
    """The same, but for those whose oldest version pyproject.toml names."""
    path = root / "pyproject.toml"
    tool = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]
    oldest = tool["shardlab"]["lowest"]
    taken = set(newest(oldest))
    return oldest + [n for n in requirements(root) if n not in taken]


def make(place, names, interpreter=sys.executable):
    """Make the environment anew.

    place    folder of it
    interpreter  the Python that it is made from
    names    requirements
    returns  path of its Python
    raises   RuntimeError with the installer's last words
    """
    subprocess.run(
        [interpreter, "-m", "venv", "--clear", str(place)], check=True
    )
    python = place / "bin/python"
    command = setup.uv(setup.VENV, "install", "--upgrade", *names)
    command += ["--python", str(python)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:])
    command = setup.uv(setup.VENV, "install", "--no-deps", "-e", str(ROOT))
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
    """Execute a notebook and compare its outputs.

    returns  dict: numbers of cells that pass, that fail, and that run to their
             end with another output; and why, in words
    """
    command = [python, "-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
    command += ["--nbval-cell-timeout", "600", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(notebook)], cwd=ROOT, capture_output=True, text=True
    )
    return judged(done.stdout)


def judged(said):
    """What pytest said of a notebook, as `run` returns it."""
    said = COLOURS.sub("", said)
    passed, failed = outcome(said)
    differ = len(DIFFERS.findall(said))
    words = re.findall(r"^(?:E +)?(\w*(?:Error|Warning)\b:.*)$", said, re.M)
    differs = re.findall(r"mismatch '([^']*)'", said)
    why = words[0] if words else f"{differs[0]} differs" if differs else ""
    failed -= differ
    return {"pass": passed, "fail": failed, "differ": differ, "why": why[:100]}


def report(found):
    """The report as Markdown.

    found    dict: which ("newest" or "lowest"), date, python, versions,
             notebooks: name -> what `run` returns
    returns  str
    """
    packages = found["versions"]
    named = ", ".join(f"{n} {packages[n]}" for n in NAMED if n in packages)
    which = f"The {found['which']} of everything"
    lines = [f"# {which}, {found['date']}", ""]
    lines += [f"Python {found['python']}; {named}.", ""]
    lines += ["| notebook | cells that pass | fail | differ | first reason |"]
    lines += ["|---|---|---|---|---|"]
    for name, row in found["notebooks"].items():
        why = row["why"].replace("|", "\\|")
        differ = "not compared" if row["differ"] is None else row["differ"]
        lines.append(
            f"| {name} | {row['pass']} | {row['fail']} | {differ} | {why} |"
        )
    lines += ["", "All packages:", ""]
    lines += [f"- {name} {v}" for name, v in sorted(packages.items())]
    return "\n".join(lines) + "\n"


def keep(found, store=STORE):
    """Write what was found, as JSON and as a report; returns both paths.

    A run of some chapters leaves what an earlier one of that day, with the
    same versions, found of others.
    """
    minor = found["python"].rpartition(".")[0]
    stem = f"{found['date']}-{found['which']}-python{minor}"
    path = store / f"{stem}.json"
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier["versions"] == found["versions"]:
            rows = earlier["notebooks"] | found["notebooks"]
            found = found | {"notebooks": dict(sorted(rows.items()))}
    store.mkdir(parents=True, exist_ok=True)
    atomic.write(path, json.dumps(found, indent=1) + "\n")
    atomic.write(path.with_suffix(".md"), report(found))
    return path, path.with_suffix(".md")


def main(arguments=None):
    """The command line; returns 1 when a notebook fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.canary", description=__doc__
    )
    parser.add_argument("--chapter", default="", help="such as 03; default all")
    parser.add_argument(
        "--lowest", action="store_true", help="the oldest packages that pass"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="made from it; default this"
    )
    asked = parser.parse_args(arguments)
    notebooks = sorted(ROOT.glob(f"chapters/{asked.chapter}*.ipynb"))
    notebooks += sorted(ROOT.glob(f"solutions/{asked.chapter}*/*.ipynb"))
    if not notebooks:
        print(f"canary: no chapter {asked.chapter!r}", file=sys.stderr)
        return 2
    names = lowest() if asked.lowest else requirements()
    python = make(PLACE / "venv", names, asked.python)
    code = "import platform; print(platform.python_version())"
    command = [python, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {
        "which": "lowest" if asked.lowest else "newest",
        "date": date.today().isoformat(),
        "python": said.stdout.strip(),
        "versions": versions(python),
        "notebooks": {},
    }
    for notebook in notebooks:
        name = notebook.relative_to(ROOT).as_posix()
        found["notebooks"][name] = run(python, notebook)
        print(name, *found["notebooks"][name].values(), flush=True)
        path = keep(found)[1]  # each at once: who stops a run keeps its rows
    print(f"the report is {path.as_uri()}")
    return int(any(row["fail"] for row in found["notebooks"].values()))


if __name__ == "__main__":
    sys.exit(main())
