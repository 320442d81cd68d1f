"""A student at work: JupyterLab as `make lab` opens it, in Chromium."""

import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.pages.server import TOKEN, jupyterlab
from tests.tree import copy
from tools import work

STEM = "01_sharded_arrays"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a student's folder; (its address, the folder)."""
    root = copy(tmp_path_factory.mktemp("student"))
    work.copy_missing(root)
    folder = root / "work"
    with jupyterlab(root, folder, root / "tools/jupyterlab.py") as url:
        yield url, folder


@pytest.fixture
def notebook(lab, chromium):
    """A tab of the browser with the exercise open and its kernel idle."""
    url, _ = lab
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(f"{url}/lab/tree/{STEM}/{STEM}.ipynb?token={TOKEN}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=90_000)
    wait_until_idle(page)
    page.wait_for_timeout(1000)
    answer_dialogs(page)
    yield page
    context.close()


def wait_until_idle(page):
    """Wait until the kernel of the open notebook has nothing to do."""
    page.wait_for_selector(
        ".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]",
        timeout=90_000,
    )


def choose(page, menu, entry):
    """Choose an entry of a menu."""
    answer_dialogs(page)
    page.locator(".lm-MenuBar-item", has_text=menu).first.click()
    page.locator(".lm-Menu-item", has_text=entry).first.click()


def answer_dialogs(page):
    """Take the kernel that JupyterLab proposes; any other dialog is an error.

    It asks for a kernel when it opens a notebook before it knows which there
    are, which happens on a busy machine.
    """
    dialog = page.locator("dialog.jp-Dialog")
    if dialog.count():
        text = dialog.first.inner_text()
        assert text.startswith("Select Kernel"), text
        dialog.locator("button.jp-mod-accept").click()
        wait_until_idle(page)


def save(page, path):
    """Save the notebook and read what was written to `path`."""
    before = path.stat().st_mtime_ns
    choose(page, "File", "Save Notebook")
    for _ in range(100):
        page.wait_for_timeout(100)
        text = path.read_text(encoding="utf-8")
        # The server writes in place: what is read may not be all of it.
        if path.stat().st_mtime_ns != before and text.rstrip().endswith("}"):
            return nbformat.reads(text, as_version=4)
    raise AssertionError("the notebook was not saved")


def test_run_all_reaches_the_last_cell(lab, notebook):
    _, folder = lab
    choose(notebook, "Run", "Run All Cells")
    path = folder / STEM / f"{STEM}.ipynb"
    for _ in range(20):
        wait_until_idle(notebook)
        cells = save(notebook, path).cells
        code = [cell for cell in cells if cell.cell_type == "code"]
        if all(cell.execution_count for cell in code):
            break
        notebook.wait_for_timeout(1000)
    assert all(cell.execution_count for cell in code)
    said = [o for cell in code for o in cell.outputs]
    assert {o.output_type for o in said} == {"error"}
    assert {o.ename for o in said} == {"NotAnswered"}
    expect_below(
        notebook,
        "def check_one_device",
        "NotAnswered: bytes_on_one_device returns nothing yet",
    )


def expect_below(page, words, said):
    """Insist on what stands, and alone, below the code cell with `words`."""
    cell = page.locator(".jp-CodeCell", has_text=words).first
    cell.scroll_into_view_if_needed()
    below = cell.locator(".jp-OutputArea-output pre")
    expect(below).to_have_text(said, timeout=20_000)


def answer(page, text):
    """Write `text` into the answer cell of the question, run it and check."""
    answer_dialogs(page)
    cell = page.locator(".jp-CodeCell", has_text="def read_seconds").first
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")


def test_a_student_answers_wrong_reads_why_and_answers_right(notebook):
    first = notebook.locator(".jp-CodeCell").first
    first.locator(".cm-content").click()
    notebook.keyboard.press("Shift+Enter")
    wait_until_idle(notebook)
    head = "def read_seconds(I, J, X, Y, hbm_bw):\n"
    answer(notebook, head + "    return I * J / (X * Y) / hbm_bw")
    expect_below(
        notebook,
        "def check_read",
        re.compile(
            r"^WrongAnswer: read_seconds\(960, 4096, 5, 3, \S+\) gave \S+: "
            "elements, not bytes: float32 takes 4 bytes each$"
        ),
    )
    answer(notebook, head + "    return 4 * I * J / (X * Y) / hbm_bw")
    expect_below(
        notebook,
        "def check_read",
        "read_seconds: these checks passed; hidden checks run when graded.",
    )


def test_a_student_validates(notebook):
    notebook.get_by_role("button", name="Validate").first.click()
    dialog = notebook.locator("dialog.jp-Dialog, .nbgrader-Validate-dialog")
    expect(dialog.first).to_contain_text("failed", timeout=120_000)
    expect(dialog.first).to_contain_text("NotAnswered")
