"""Chapters, solutions and the library hold to the style of the book."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.each import each
from tests.tree import ROOT, files
from tools import notebooks, sources, style

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*/*.ipynb"))


def name(path):
    return path.stem


def test_there_is_something_to_test():
    assert CHAPTERS
    assert SOLUTIONS


@each("path", CHAPTERS)
def test_chapter(path):
    assert style.faults(nbformat.read(path, as_version=4)) == []


@each("path", SOLUTIONS)
def test_solution(path):
    notebook = nbformat.read(path, as_version=4)
    assert style.faults(notebook, style.SOLUTION_RULES) == []


@each("path", style.modules())
def test_the_library_is_documented(path):
    assert style.undocumented(path) == []


def test_taught_code_is_shown_once():
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in (ROOT / "book/chapters").glob("*.md")
    }
    assert style.shown_once(style.registry(), texts) == []
    assert style.too_long(style.registry()) == []


def test_every_chapter_is_in_the_book():
    listed = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    for path in (ROOT / "book/chapters").glob("*.md"):
        assert f"chapters/{path.stem}\n" in listed
    for path in (ROOT / "book/exercises").glob("*.md"):
        assert f"exercises/{path.stem}/{path.stem}\n" in listed


def test_notebooks_are_what_the_text_generates():
    assert notebooks.stale(notebooks.sources()) == []
    assert notebooks.stale_exercises(notebooks.sources()) == []


def test_the_map_of_the_sources_leads_somewhere():
    import yaml

    text = (ROOT / "book/sources.yml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    assert sources.broken(data) == []
    written = (ROOT / "book/sources.md").read_text(encoding="utf-8")
    assert written == sources.page(data)


CITED = re.compile(r"\b(?:[STC]\d+\.\d+|E[CSTZ]-\d+|V-\d+)")


def test_a_row_that_a_test_cites_is_in_the_map():
    text = (ROOT / "book/sources.yml").read_text(encoding="utf-8")
    # A row in parts has a letter for each.
    rows = set(re.findall(r"^  - id: (\S+?)[a-z]?$", text, re.MULTILINE))
    cited = {
        (path.name, row)
        for path in (ROOT / "tests/library").glob("*.py")
        for row in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 200
    assert {(name, row) for name, row in cited if row not in rows} == set()


@pytest.mark.parametrize(
    "words", [["check"], ["format", "--check"]], ids=["check", "format"]
)
def test_ruff(words):
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run(
        [ruff, *words, "--quiet", *map(str, CHAPTERS + SOLUTIONS), "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_is_short_and_starts_with_the_commands():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    first = "\n".join(lines[:15])
    assert "make book" in first
    assert "make test" in first


@each("name", files())
def test_no_file_is_large_or_names_this_machine(name):
    path = ROOT / name
    assert path.stat().st_size < 1_500_000
    if path.suffix == ".woff2":
        return  # a typeface, which names nothing
    content = path.read_bytes().decode("utf-8")
    assert str(Path.home()) + "/" not in content
    assert str(ROOT) + "/" not in content
