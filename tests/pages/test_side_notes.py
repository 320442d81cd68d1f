"""Asides and sources: beside their line where there is room for them."""

import re
import sys

import pytest

from tests.each import each
from tests.pages.browser import overflow
from tests.tree import ROOT

CHAPTERS = (
    "chapters/01_sharded_arrays",
    "chapters/06_data_parallelism",
    "chapters/10_across_pods",
    "chapters/18_many_processes",
)
REST = "A sentence that is longer than what it holds in brackets is"


def marked(words):
    """What the extension makes of a paragraph."""
    sys.path.insert(0, str(ROOT / "book/extensions"))
    import side_notes

    html = side_notes.PARAGRAPH.sub(side_notes.notes, f"<p>{words}</p>")
    return re.findall(r'<small class="side">(.*?)</small>', html)


@each(
    ("words", "found"),
    [
        (
            "so. (It is said <em>aside</em>.) More.",
            " (It is said <em>aside</em>.)",
        ),
        (
            'so (<a href="x">code</a>, read 2026-11-22).',
            ' (<a href="x">code</a>, read 2026-11-22)',
        ),
        ("so (read on 25 November 2026).", " (read on 25 November 2026)"),
        ("so (which is a part of it).", None),
        ("so <code>f(It is code, 2026.)</code>.", None),
        ("so (A bracket <em>that. ) is</em> torn.)", None),
    ],
)
def test_a_sentence_or_a_source_in_brackets_is_a_note(words, found):
    assert marked(f"{REST} {words}") == ([found] if found else [])


def test_a_paragraph_that_is_all_in_brackets_stays():
    assert marked("(All of it is said aside, from its start to its end.)") == []


@pytest.mark.parametrize(
    "width", [1280, pytest.param(1440, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("docname", CHAPTERS)
def test_notes_stand_in_the_margin_and_the_contents_stay(
    html, open_page, docname, width
):
    page = open_page(
        (html / f"{docname}.html").as_uri(),
        viewport={"width": width, "height": 800},
    )
    page.evaluate("document.documentElement.dataset.drawn = ''")
    column = page.locator("article > section > p").first.bounding_box()
    notes = page.locator("article section > p > small.side")
    assert notes.count() > 0
    boxes = sorted(
        (n.bounding_box() for n in notes.all()), key=lambda b: b["y"]
    )
    for box in boxes:
        assert box["x"] > column["x"] + column["width"]
        assert box["x"] + box["width"] <= width
    for first, second in zip(boxes, boxes[1:], strict=False):
        assert first["y"] + first["height"] <= second["y"] + 1
    contents = page.locator(".bd-sidebar-secondary").bounding_box()
    books = page.locator(".bd-sidebar-primary").bounding_box()
    assert contents["x"] + contents["width"] < column["x"]
    assert contents["y"] >= books["y"] + books["height"] - 1
    link = page.locator(".bd-sidebar-secondary .page-toc a:visible").nth(1)
    assert link.is_visible()
    assert overflow(page) <= 0


@pytest.mark.parametrize("width", [390, 1100])
def test_on_smaller_windows_notes_stand_where_they_were_written(
    html, open_page, width
):
    page = open_page(
        (html / f"{CHAPTERS[1]}.html").as_uri(),
        viewport={"width": width, "height": 800},
    )
    floats = page.locator("small.side").evaluate_all(
        "all => all.map(e => [getComputedStyle(e).float,"
        " getComputedStyle(e).fontSize === getComputedStyle(e.parentElement)"
        ".fontSize])"
    )
    assert {tuple(one) for one in floats} == {("none", True)}


def test_whoever_hides_the_sidebar_has_the_contents_beside_the_text(
    html, open_page
):
    page = open_page(
        (html / f"{CHAPTERS[1]}.html").as_uri(),
        viewport={"width": 1400, "height": 800},
    )
    page.locator(".bd-sidebar-primary").evaluate(
        "e => e.classList.add('hide-on-wide')"
    )
    position = page.locator(".bd-sidebar-secondary").evaluate(
        "e => getComputedStyle(e).position"
    )
    assert position == "sticky"
