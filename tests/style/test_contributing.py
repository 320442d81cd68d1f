"""The small chapter that authors are shown is one that can be made."""

import re

import pytest

from tests.tree import ROOT
from tools import cells, execution, style, text

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The chapter of the guide, executed."""
    (example,) = re.findall(r"^````md\n(.*?)^````$", GUIDE, re.S | re.M)
    path = tmp_path_factory.mktemp("book") / "chapters/04_rings.md"
    path.parent.mkdir()
    path.write_text(example, encoding="utf-8")
    made = text.notebook(path)
    execution.run(made, path.parent)
    return made


def test_the_chapter_has_every_kind_and_no_fault(notebook):
    assert style.faults(notebook, style.CHAPTER_RULES + style.ADVICE) == []
    kinds = {cells.kind(cell) for cell in style.code_cells(notebook)}
    assert kinds == {"idea", *cells.KINDS}


def test_it_says_what_it_agrees_on_and_links_its_figure(notebook):
    said = "\n".join(
        text
        for cell in style.code_cells(notebook)
        for text in style.texts(cell)
    )
    assert "formula 72 bytes  ✓  counted on links 72 bytes" in said
    words = "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    assert "What [Equation 4.1](#eq-sent) predicts" in words
    assert "as [Figure 4.1](#fig-share) shows" in words


def test_the_guide_knows_the_limits():
    for limit in (style.MAX_OPEN, style.MAX_LINES, cells.MAX_CHECKED):
        assert f" {limit} " in GUIDE
    for tag in (*cells.KINDS, cells.OPEN, cells.ANSWER, cells.RAISES):
        assert re.search(
            rf"tags: \[([\w, ]*, )?{tag}\]|\[setup, {tag}\]", GUIDE
        )
    for fields in cells.FIELDS.values():
        for field in fields:
            assert re.search(rf"`{field}[:`]", GUIDE), field
