"""The README's first command, in a fresh clone, with no environment."""

import os
import re
import shutil
import subprocess

import pytest

from tests.tree import ROOT, copy

pytestmark = pytest.mark.long  # installs and builds everything


def readme_commands():
    """The commands of the README's first block."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\n(.*?)```", readme, re.DOTALL).group(1)
    return [line.split("#")[0].strip() for line in block.splitlines()]


def outside():
    """This process's variables without those of its own environment."""
    kept = dict(os.environ)
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "CI", "MAKEFLAGS", "MAKELEVEL"):
        kept.pop(name, None)
    paths = kept["PATH"].split(":")
    kept["PATH"] = ":".join(p for p in paths if "/.venv/" not in p)
    return kept


def run(command, root):
    return subprocess.run(
        command.split(), cwd=root, env=outside(), capture_output=True, text=True
    )


def test_make_book_builds_the_book_from_nothing(tmp_path):
    book, test = readme_commands()
    assert (book, test) == ("make book", "make test")
    root = copy(tmp_path / "clone")
    try:
        done = run(book, root)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "installing the locked packages into .venv-page" in done.stdout
        # Nothing is executed, so nothing that executes is needed.
        assert not (root / ".venv").exists()
        assert not list(root.glob(".venv-page/lib/python3*/site-packages/jax*"))
        page = root / "_build/html/index.html"
        assert page.as_uri() in done.stdout
        assert page.exists()
        built = page.stat().st_mtime_ns
        again = run(book, root)
        assert again.returncode == 0
        assert "installing" not in again.stdout
        assert page.stat().st_mtime_ns == built  # nothing had changed
        said = run("make notebooks", root)
        assert said.returncode == 0, said.stderr
        assert "executing" not in said.stdout
        for name in ("chapters", "solutions", "exercises"):
            for path in sorted((ROOT / name).rglob("*.ipynb")):
                if ".ipynb_checkpoints" not in path.parts:
                    copied = root / path.relative_to(ROOT)
                    assert copied.read_bytes() == path.read_bytes()
    finally:
        for name in (".venv", ".venv-page"):
            shutil.rmtree(root / name, ignore_errors=True)
