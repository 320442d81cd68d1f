"""A student's own files: copied when missing, never overwritten."""

import re
from datetime import datetime

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from tests.tree import copy, python, replace
from tools import work

STEM = "01_sharded_arrays"


@pytest.fixture
def root(tmp_path):
    return copy(tmp_path)


def test_what_is_missing_is_copied_and_nothing_else(root):
    work.copy_missing(root)
    mine = root / f"work/{STEM}/{STEM}.ipynb"
    given = root / f"exercises/{STEM}/{STEM}.ipynb"
    assert mine.read_bytes() == given.read_bytes()
    assert (root / f"work/chapters/{STEM}.ipynb").exists()
    mine.write_text("my answers")
    given.write_text("a newer version")
    assert work.copy_missing(root) == []
    assert mine.read_text() == "my answers"


def trusted(root, name):
    notary = NotebookNotary(data_dir=str(root / "work" / work.SIGNATURES))
    path = root / "work/chapters" / name
    return notary.check_signature(nbformat.read(path, as_version=4))


def test_a_chapter_is_trusted_until_somebody_changes_it(root):
    work.copy_missing(root)
    changed = root / "work/chapters/02_collectives.ipynb"
    replace(changed, "# Collectives", "# Changed")
    work.trust(root)
    assert trusted(root, f"{STEM}.ipynb")
    assert not trusted(root, changed.name)


def test_a_reset_keeps_the_old_answers(root):
    work.copy_missing(root)
    mine = root / f"work/{STEM}/{STEM}.ipynb"
    now = datetime(2026, 1, 2, 3, 4, 5)
    for answers in ("first", "second", "third"):
        mine.write_text(answers)
        fresh, kept = work.reset("01", root, now)
        assert fresh == mine
        assert kept.read_text() == answers
        assert b"YOUR CODE HERE" in mine.read_bytes()
    assert len(list(mine.parent.iterdir())) == 4


def test_a_reset_of_what_was_never_there_gives_a_copy(root):
    fresh, kept = work.reset("01", root)
    assert fresh.exists()
    assert kept is None


@pytest.mark.parametrize(
    "number",
    [
        "99",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("", "chapters")),
    ],
)
def test_an_unknown_set_is_named(root, number):
    done = python(root, "-m", "tools.work", "--reset", number)
    assert done.returncode == 1
    numbers = ", ".join(sorted(p.name[:2] for p in root.glob("exercises/*")))
    assert numbers.startswith("01, 02")
    assert (
        done.stderr == f"reset: SET must be one of {numbers}; got {number!r}\n"
    )


def test_an_unknown_chapter_is_named(root):
    done = python(root, "-m", "tools.preview", "77", "--no-open")
    assert done.returncode == 1
    numbers = sorted(path.name[:2] for path in root.glob("chapters/*.ipynb"))
    said = f"CHAPTER must be one of {', '.join(numbers)}; got '77'"
    assert said in done.stderr


@pytest.mark.long
def test_the_page_of_an_edited_chapter_is_shown_without_execution(root):
    text = root / f"book/chapters/{STEM}.md"
    words = "A sentence that nobody wrote before."
    text.write_text(text.read_text() + f"\n{words}\n")
    done = python(root, "-m", "tools.preview", "01", "--no-open")
    assert done.returncode == 0, done.stderr
    assert "executing" not in done.stdout
    page = root / f"_build/html/chapters/{STEM}.html"
    assert done.stdout.strip().endswith(page.as_uri())
    shown = page.read_text()
    assert words in shown
    # Prose changed and code did not, so the outputs are still there.
    assert re.search(r"float32\[4@.{0,40}X.{0,40}128@.{0,40}Y", shown)
