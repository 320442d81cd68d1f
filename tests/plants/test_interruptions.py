"""Killed at any moment, a command loses nothing and ends well the next time.

Each command runs in a small book, is killed with its processes at a random
point, and is run again to its end: nothing of it is left running, and all
files are what they are without a kill. The clock draws the point, no verdict.

As often as you like: pytest --long --kills 100 -n 0 and this file.
"""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.grading import classroom
from tests.tree import ROOT, copy, environment

pytestmark = pytest.mark.long

HEAD = """---
jupytext:
  formats: md:myst
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Title {0}

```{{code-cell}} ipython3
print({0} * 7)
```
"""
QUESTION = """
+++

```{code-cell} ipython3
---
nbgrader:
  grade_id: answer
  solution: true
---
### BEGIN SOLUTION
x = 1
### END SOLUTION
```
"""
PAGE = """# Page {0}

## One section

The array $A[I_X, J]$ and [the next](page_{1}.md).

## Another

"""
TOC = """format: jb-book
root: chapters/index
parts:
- caption: Few
  chapters:
"""
PAGES = 12
MARKS = {".face", ".whole"}  # of a page: they name folders of this machine


def small_tree(root):
    """A copy of the project without its notebooks and their texts."""
    copy(root)
    for folder in (
        "chapters",
        "exercises",
        "solutions",
        "book/chapters",
        "book/exercises",
    ):
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
    return root


class Notebooks:
    """Two chapters and a set, with one more cell in every other round."""

    command = (sys.executable, "-m", "tools.notebooks")

    def __init__(self, root):
        self.root = root
        small_tree(root)
        self.texts = {
            root / f"book/chapters/0{n}_small.md": HEAD.format(n)
            for n in (1, 2)
        }
        set_of_one = root / "book/exercises/01_small.md"
        self.texts[set_of_one] = HEAD.format(4) + QUESTION

    def change(self, state):
        more = "\n```{code-cell} ipython3\nprint('more')\n```\n"
        for path, text in self.texts.items():
            path.write_text(text + more * state)

    def made(self):
        return digests(self.root, "chapters", "solutions", "exercises")


class Book:
    """A dozen pages, with one more paragraph in every other round."""

    command = (sys.executable, "-m", "tools.page")

    def __init__(self, root):
        self.root = root
        small_tree(root)
        self.folder = root / "chapters"
        names = [f"chapters/page_{number}" for number in range(PAGES)]
        lines = "".join(f"  - file: {name}\n" for name in names)
        (root / "_toc.yml").write_text(TOC + lines)
        (self.folder / "index.md").write_text("# Few\n\n[One](page_0.md).\n")

    def change(self, state):
        for number in range(PAGES):
            text = PAGE.format(number, (number + 1) % PAGES)
            text += "A sentence among many others. " * 5_000
            path = self.folder / f"page_{number}.md"
            path.write_text(text + "\n\nOne more paragraph.\n" * state)

    def made(self):
        return digests(self.root, "_build/html")


class Grading:
    """A class of twelve, with other answers in every other round."""

    command = (sys.executable, "-W", "ignore", "-c", classroom.DRIVER)

    def __init__(self, root):
        self.root = classroom.course(root)

    def change(self, state):
        shutil.rmtree(self.root / "work", ignore_errors=True)
        said = {f"s{n:02}": f"points {n / 3 + state:.2f}" for n in range(12)}
        classroom.hand_in(self.root, **said)

    def made(self):
        rows = classroom.table(self.root).values()
        return {row["student"]: (row["score"], row["status"]) for row in rows}


def start(root, command):
    """The command in `root`, in a group of processes of its own."""
    return subprocess.Popen(
        command,
        cwd=root,
        env=environment(root, PYTHONPATH=f"{root}{os.pathsep}{ROOT}"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(root, command):
    """Run the command to its end; it must end well."""
    process = start(root, command)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()


def digests(root, *folders):
    """What every file in these folders holds, as digits, by its path."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).digest()
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.name not in MARKS
    }


def differing(first, second):
    """What is not the same in two things made: paths, or lines."""
    return sorted(name for name, _ in first.items() ^ second.items())


def alive(root):
    """The processes that work below `root`, by number."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(link).startswith(str(root)):
                found.append(int(link.parent.name))
        except OSError:  # it has ended, or it is another user's
            continue
    return found


def wait_until_none_is_alive(root, seconds=300):
    """Wait; the seconds are there to end a test that hangs, and no more."""
    end = time.monotonic() + seconds
    while left := alive(root):
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.05)


@pytest.mark.parametrize("work", [Notebooks, Book, Grading])
def test_an_interrupted_command_ends_well_when_run_again(
    work, tmp_path, request
):
    wanted, longest = [], 0
    at = work(tmp_path)
    for state in (0, 1, 0):
        at.change(state)
        begun = time.monotonic()
        finish(tmp_path, work.command)
        longest = time.monotonic() - begun
        wanted.append(at.made())
    assert (
        differing(wanted[0], wanted[2]) == []
    )  # or a comparison would say nothing
    assert differing(wanted[0], wanted[1])
    chance, killed, tried = random.Random(7), 0, 0
    while killed < request.config.getoption("--kills"):
        state = tried % 2
        tried += 1
        at.change(state)
        process = start(tmp_path, work.command)
        try:
            process.communicate(timeout=chance.uniform(0, longest))
            longest *= 0.9
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
        wait_until_none_is_alive(tmp_path)
        finish(tmp_path, work.command)
        assert differing(at.made(), wanted[state]) == [], f"try {tried}"
        wait_until_none_is_alive(tmp_path)
    print(f"{killed} kills of {tried} tries")
