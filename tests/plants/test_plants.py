"""Tests of the tests: a fault of each kind, planted, must turn them red."""

import re

import nbformat
import pytest

from tests.pages import browser as look
from tests.tree import copy, python, replace
from tools import page

pytestmark = pytest.mark.long  # builds the book several times

STEM = "01_sharded_arrays"
CHAPTER = f"chapters/{STEM}.ipynb"
SOLUTION = f"solutions/{STEM}/{STEM}.ipynb"


@pytest.fixture
def root(tmp_path):
    return copy(tmp_path)


def small_notebook(path, source, output, count=1):
    """A notebook of one cell, stored with `output`."""
    stored = nbformat.v4.new_output("stream", name="stdout", text=output)
    cell = nbformat.v4.new_code_cell(
        source, outputs=[stored], execution_count=count
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
    }
    nbformat.write(notebook, path)


def nbval(root, path):
    """Compare the stored outputs of a notebook as `make test` does."""
    words = ["-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
    return python(root, *words, "-p", "no:cacheprovider", str(path))


def test_nbval_accepts_a_sound_notebook(root, tmp_path):
    path = tmp_path / "sound.ipynb"
    small_notebook(path, "print(6 * 7)", "42\n")
    done = nbval(root, path)
    assert done.returncode == 0, done.stdout


def test_nbval_sees_an_output_that_differs(root, tmp_path):
    path = tmp_path / "changed.ipynb"
    small_notebook(path, "print(6 * 7)", "43\n")
    done = nbval(root, path)
    assert done.returncode == 1
    assert "Cell outputs differ" in re.sub(r"\x1b\[\d*m", "", done.stdout)


def test_nbval_sees_a_picture_that_differs(root, tmp_path):
    path = tmp_path / "picture.ipynb"
    notebook = nbformat.read(root / CHAPTER, as_version=4)
    first = [
        i
        for i, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        if "image/svg+xml" in output.get("data", {})
    ][0]
    notebook.cells = notebook.cells[: first + 1]
    nbformat.write(notebook, path)
    assert nbval(root, path).returncode == 0
    data = notebook.cells[first].outputs[0].data
    data["image/svg+xml"] = data["image/svg+xml"].replace("<path", "<g", 1)
    nbformat.write(notebook, path)
    assert nbval(root, path).returncode == 1


def notebooks_check(root):
    return python(root, "-m", "tools.notebooks", "--check")


def test_an_unchanged_tree_is_up_to_date(root):
    done = notebooks_check(root)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            f"book/chapters/{STEM}.md",
            "The shape has not changed.",
            "The shape stayed.",
            f"{CHAPTER} is not what",
        ),
        (
            f"book/chapters/{STEM}.md",
            "A.shape\n",
            "A.ndim\n",
            f"{CHAPTER} was not executed",
        ),
        (
            "shardlab/notation.py",
            "return tuple(size // n for",
            "return tuple(size * n for",
            f"{CHAPTER} was not executed",
        ),
        (
            "shardlab/arguments.py",
            "must be a whole number",
            "has to be a whole number",
            f"{CHAPTER} was not executed",
        ),
        (
            "requirements.txt",
            "jax==0.10.2",
            "jax==0.10.3",
            f"{CHAPTER} was not executed",
        ),
        (CHAPTER, '"execution_count": 2,', '"execution_count": null,', CHAPTER),
        (CHAPTER, "The shape has not changed.", "Nothing changed.", CHAPTER),
        (
            SOLUTION,
            "return I * J * X + 4 * I * X * Z",
            "return I * J",
            SOLUTION,
        ),
        (
            f"exercises/{STEM}/{STEM}.ipynb",
            "# YOUR CODE HERE",
            "return I * J * X + 4 * I * X * Z",
            f"exercises/{STEM}/{STEM}.ipynb is not what",
        ),
    ],
)
def test_a_notebook_that_was_not_generated_is_seen(root, file, old, new, words):
    replace(root / file, old, new)
    done = notebooks_check(root)
    assert done.returncode == 1
    assert words in done.stderr
    assert "run: make notebooks" in done.stderr


def test_a_notebook_without_a_text_is_seen(root):
    (root / "chapters/99_stray.ipynb").write_text("{}")
    done = notebooks_check(root)
    assert done.returncode == 1
    assert "chapters/99_stray.ipynb has no text in book/" in done.stderr


def test_the_library_tests_see_a_wrong_formula(root):
    replace(
        root / "shardlab/notation.py",
        "return prod(local_shape(layout, shape, mesh)) * itemsize",
        "return prod(shape) * itemsize",
    )
    done = python(
        root, "-m", "pytest", "-q", "-x", "tests/library/test_notation.py"
    )
    assert done.returncode == 1
    assert "1 failed" in done.stdout


READ = 'student.call("read_seconds", I, J, X, Y, hbm_bw),\n        '


@pytest.mark.parametrize(
    ("file", "old", "new", "question"),
    [
        # A hidden check that asks nothing.
        (
            "shardlab/checks/set01.py",
            "check_ratios(*draw.integers(2, 12, 3).tolist())",
            "draw.integers(2)",
            "ratios",
        ),
        # A check that accepts any number.
        (
            "shardlab/checks/set01.py",
            READ + "seconds,",
            READ + READ.strip(),
            "read_time",
        ),
        # A solution that is wrong.
        (
            f"book/exercises/{STEM}.md",
            "return I * J * X + 4 * I * X * Z",
            "return I * J * X + 4 * I * X",
            "int8_bytes",
        ),
    ],
)
def test_a_check_that_is_too_weak_is_seen(root, file, old, new, question):
    replace(root / file, old, new)
    answers = root / f"book/exercises/{STEM}.answers.py"
    answers.write_text(
        answers.read_text()
        + "\n\n# %% ratios by-heart: the shown cases\n"
        + "def ratios(X, Y, Z):\n    return {4: (16, 64), 3: (35, 105)}[X]\n"
    )
    which = ("01", "--question", question, "--draws", "1")
    found = python(root, "-m", "shardlab.authoring.kit", *which)
    assert found.returncode == 1, found.stdout
    assert "<-- WRONG" in found.stdout


def build(root):
    return python(root, "-m", "tools.page")


def test_warnings_fail_the_build_again_and_again_and_keep_the_last_page(root):
    first = root / "_build/html/index.html"
    first.parent.mkdir(parents=True)
    first.write_text("the last good page")
    (root / page.MARK).write_text("a mark of older styles")
    text = root / "book/notation.md"
    replace(text, "01_sharded_arrays.ipynb)", "02_missing.ipynb)")
    replace(text, "# Notation", "{nosuchrole}`x`\n\n# Notation")
    replace(root / "_toc.yml", "file: book/machines", "file: book/nowhere")
    for _ in range(2):
        done = build(root)
        assert done.returncode == 1
        assert "the build failed" in done.stderr
        assert "_build/html holds the last good page" in done.stderr
        for name in ("02_missing", "nosuchrole", "book/nowhere"):
            assert name in done.stderr
        assert first.read_text() == "the last good page"


def test_a_stored_error_fails_the_build_again_and_again(root):
    notebook = nbformat.read(root / CHAPTER, as_version=4)
    raising = [
        cell
        for cell in notebook.cells
        if "raises-exception" in cell.metadata.get("tags", [])
    ]
    raising[0].metadata["tags"] = []
    nbformat.write(notebook, root / CHAPTER)
    for _ in range(2):
        done = build(root)
        assert done.returncode == 1
        assert "stores an error in cell" in done.stderr
        assert "not tagged raises-exception" in done.stderr


PAGE = """<!doctype html><html><body><article><h1>T</h1>{}</article></body>"""


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("<img src='http://example.org/x.svg'>", look.requests_of),
        ("<script src='https://example.org/x.js'></script>", look.requests_of),
        ("<div class='math'>\\(x\\)</div>", look.unseen_mathematics),
        (
            "<img src='missing.svg' alt='a picture of nothing at all'>",
            look.broken_pictures,
        ),
        (
            "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt='x'>",
            look.broken_pictures,
        ),
        ("<pre style='width: 9999px'>wide</pre>", look.overflow),
    ],
)
def test_a_bad_page_is_seen(tmp_path, chromium, body, seen):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(body))
    page = chromium.new_context(viewport={"width": 390, "height": 800})
    page = page.new_page()
    if seen is look.requests_of:
        assert seen(page, path.as_uri())
    else:
        page.goto(path.as_uri())
        assert seen(page)


def test_a_large_page_is_seen(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_images/a.svg").write_bytes(b"x" * look.MAX_PAGE)
    path = tmp_path / "chapters/page.html"
    path.write_text("<img src='../_images/a.svg'>")
    assert look.page_bytes(path) > look.MAX_PAGE
