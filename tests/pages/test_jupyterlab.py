"""A student at work: JupyterLab as `make lab` opens it, in Chromium."""

import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.pages.server import TOKEN, jupyterlab
from tests.tree import copy
from tools import execution, text, work

STEM = "01_sharded_arrays"
# A server, and a kernel for each test; packages change it, edits seldom do.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a student's folder; (its address, the folder)."""
    root = copy(tmp_path_factory.mktemp("student"))
    chapters = root / "chapters"
    for path in chapters.glob("*.ipynb"):
        path.unlink()
    made = text.notebook(chapter(root))
    execution.run(made, chapters)
    nbformat.write(made, chapters / "04_rings.ipynb")
    work.copy_missing(root)
    work.trust(root)
    folder = root / "work"
    with jupyterlab(root, folder, root / "tools/jupyterlab.py") as url:
        yield url, folder


def chapter(root):
    """The path of the small chapter of the guide for authors, as a text."""
    guide = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^````md\n(.*?)^````$", guide, re.S | re.M)
    path = root / "made/chapters/04_rings.md"
    path.parent.mkdir(parents=True)
    path.write_text(example, encoding="utf-8")
    return path


@pytest.fixture
def opened(lab, chromium):
    """A function that opens a notebook, in a tab with its kernel idle."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    yield lambda path: open_notebook(lab[0], context.new_page(), path)
    context.close()


@pytest.fixture
def notebook(opened):
    """A tab of the browser with the exercise open and its kernel idle."""
    return opened(f"{STEM}/{STEM}.ipynb")


def open_notebook(url, page, path):
    """Open the notebook at `path`; returns the page."""
    question = page.locator("dialog.jp-Dialog", has_text="Select Kernel")
    page.add_locator_handler(question, lambda _: answer_dialogs(page))
    page.goto(f"{url}/lab/tree/{path}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=300_000)
    wait_until_idle(page)
    page.wait_for_timeout(1000)
    answer_dialogs(page)
    return page


def test_a_chapter_shows_ideas_and_pictures_and_folds_the_rest(opened):
    page = opened("chapters/04_rings.ipynb")
    cells = page.locator(".jp-CodeCell")
    expect(cells).to_have_count(4)
    setup, idea, figure, evidence = (cells.nth(n) for n in range(4))
    for cell, line in (
        (setup, "# Set-up"),
        (figure, "# Figure 4.1"),
        (evidence, "# Checked: formula = busiest link, for rings of 2 to 32"),
    ):
        expect(cell.locator(".cm-content:visible")).to_have_count(0)
        expect(cell).to_contain_text(line)
    expect(idea.locator(".cm-content")).to_contain_text("agree(formula")
    expect(idea).to_contain_text("formula 72 bytes ✓ counted on links 72 bytes")
    expect(figure.locator(".jp-RenderedSVG img")).to_be_visible()
    caption = page.locator(".jp-MarkdownCell", has_text="Figure 4.1. From 8")
    expect(caption).to_contain_text("From 8 chips on")


def test_a_link_leads_to_its_figure(opened):
    page = opened("chapters/04_rings.ipynb")
    page.set_viewport_size({"width": 1400, "height": 420})
    link = page.locator(".jp-RenderedMarkdown a", has_text="Figure 4.1")
    link.scroll_into_view_if_needed()
    anchor = page.locator("[data-jupyter-id=fig-share]").locator("xpath=..")
    expect(anchor).not_to_be_in_viewport()
    link.click()
    expect(anchor).to_be_in_viewport()


def wait_until_idle(page):
    """Wait until the kernel of the open notebook has nothing to do."""
    page.wait_for_selector(
        ".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]",
        timeout=300_000,
    )


def choose(page, menu, entry):
    """Choose an entry of a menu."""
    answer_dialogs(page)
    page.locator(".lm-MenuBar-item", has_text=menu).first.click()
    page.locator(".lm-Menu-item", has_text=entry).first.click()


def answer_dialogs(page):
    """Take the kernel that JupyterLab proposes; any other dialog is an error.

    It asks for a kernel when it opens a notebook before it knows which there
    are, which happens on a busy machine, and may happen at any moment: the page
    calls this whenever the question stands in the way of a click.
    """
    dialog = page.locator("dialog.jp-Dialog")
    if dialog.count():
        text = dialog.first.inner_text()
        assert text.startswith("Select Kernel"), text
        dialog.first.locator("button.jp-mod-accept").click()
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
        "def bytes_on_one_device",
        "NotAnswered: bytes_on_one_device returns nothing yet",
    )


NEXT = "xpath=following::div[contains(@class, 'jp-CodeCell')][1]"


def expect_below(page, words, said):
    """Insist on what the check below the answer with `words` says, alone.

    The check is folded: of its code one line is seen.
    """
    cell = page.locator(".jp-CodeCell", has_text=words).first.locator(NEXT)
    cell.scroll_into_view_if_needed()
    placeholder = cell.locator(".jp-InputPlaceholder, .jp-Placeholder-content")
    expect(placeholder.first).to_contain_text("# Check, ")
    below = cell.locator(".jp-OutputArea-output pre")
    expect(below).to_have_text(said, timeout=300_000)


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


# In how many lines what a check says stands (none before it is there), and
# the words that are in two.
WORDS = r"""() => {
    const box = [...document.querySelectorAll('.jp-OutputArea-output pre')]
        .find(e => e.textContent.startsWith('WrongAnswer'));
    if (!box) return [0, []];
    const all = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const broken = [], tops = new Set();
    for (let node; (node = all.nextNode()); )
        for (const word of node.data.matchAll(/[^\s,:()]+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const its = new Set([...range.getClientRects()].map(r => r.top));
            its.forEach(top => tops.add(top));
            if (its.size > 1) broken.push(word[0]); }
    return [tops.size, broken]; }"""


def test_a_student_answers_wrong_reads_why_and_answers_right(notebook):
    first = notebook.locator(".jp-CodeCell").first
    first.locator(".cm-content").click()
    notebook.keyboard.press("Shift+Enter")
    wait_until_idle(notebook)
    head = "def read_seconds(I, J, X, Y, hbm_bw):\n"
    answer(notebook, head + "    return (I * J / (X * Y) + J) / hbm_bw")
    expect_below(
        notebook,
        "def read_seconds",
        re.compile(
            r"^WrongAnswer: read_seconds\(60, 4096, 5, 3, \S+\) gave \S+: "
            "you count elements; a float32 takes 4 bytes$"
        ),
    )
    notebook.set_viewport_size({"width": 620, "height": 1000})
    # The lab lays its panels out anew a moment after its window has changed.
    notebook.wait_for_function(f"() => ({WORDS})()[0] > 1")
    _, broken = notebook.evaluate(WORDS)
    assert broken == []
    notebook.set_viewport_size({"width": 1400, "height": 1000})
    answer(notebook, head + "    return 4 * (I * J / (X * Y) + J) / hbm_bw")
    expect_below(
        notebook,
        "def read_seconds",
        "read_seconds: these checks passed; hidden checks run when graded.",
    )


def test_a_student_validates(notebook):
    notebook.get_by_role("button", name="Validate").first.click()
    dialog = notebook.locator("dialog.jp-Dialog, .nbgrader-Validate-dialog")
    expect(dialog.first).to_contain_text("failed", timeout=300_000)
    expect(dialog.first).to_contain_text("NotAnswered")
