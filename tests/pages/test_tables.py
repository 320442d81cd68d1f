"""Tables on a phone are cards or scroll visibly; on a laptop none is cut."""

import sys

import pytest

from tests.pages import browser as look
from tests.tree import ROOT

sys.path.insert(0, str(ROOT / "book/extensions"))

import tables  # noqa: E402

PHONE = {"width": 390, "height": 844}
CUT = """all => all.filter(t => {
    for (let p = t; p.localName !== 'article'; p = p.parentElement)
        if (getComputedStyle(p).overflowX !== 'visible'
            && p.scrollWidth > p.clientWidth + 1) return true;
    return t.getBoundingClientRect().right > innerWidth; })
    .map(t => t.textContent.slice(0, 60))"""

HANGING = """all => all.filter(cell => {
    const { paddingLeft, textIndent } = getComputedStyle(cell);
    return parseFloat(paddingLeft) + parseFloat(textIndent) < 0; })
    .map(cell => cell.textContent.slice(0, 60))"""


def table(*rows):
    head, *body = (
        "".join(f"<{tag}>{cell}</{tag}>" for cell in row)
        for tag, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    )
    rows = "".join(f"<tr>{row}</tr>" for row in body)
    return (
        f'<table class="table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def formed(html):
    return tables.TABLE.sub(tables.carded, html)


LONG = "<code>a_name_that_goes_on_and_on</code>"


def test_a_wide_table_of_words_says_what_each_cell_is():
    html = formed(table(("what", "A & B", "C"), ("a row", LONG, LONG)))
    assert html.startswith('<table class="table cards" role="table">')
    assert '<td role="cell" data-label="A &amp; B">' in html
    assert html.count('role="row"') == 2


def test_a_head_without_a_word_is_no_head():
    html = formed(table(("", "a", "b"), ("a row", LONG, LONG)))
    assert html.count("<th ") == html.count('role="columnheader"') == 2


def test_a_long_name_may_break_at_its_underscores():
    html = formed(table(("a", "b"), ("x", LONG)))
    assert "a_<wbr>name_<wbr>that" in html
    assert "<wbr>" not in formed(table(("a", "b"), ("x", "<code>a_b</code>")))


@pytest.mark.parametrize(
    "rows",
    [
        [("chip", *"abcdefgh")] + [("v5e", *["1,234.5"] * 8)] * 3,
        [("a", "b"), ("words that are long", "but may stand in lines")],
    ],
)
def test_a_table_of_numbers_or_a_narrow_one_stays_a_table(rows):
    rows = [tuple(c.replace("&", "&amp;") for c in row) for row in rows]
    assert formed(table(*rows)) == table(*rows)


@pytest.mark.parametrize(
    "docname",
    [
        "chapters/18_many_processes",
        "chapters/21_your_model",
        "book/coming_from_pytorch",
    ],
)
def test_no_table_is_cut_on_a_laptop(html, open_page, docname):
    page = open_page((html / f"{docname}.html").as_uri())
    look.walk(page)
    assert page.locator("article table").evaluate_all(CUT) == []


def test_on_a_phone_rows_of_words_are_cards(html, open_page):
    page = open_page(
        (html / "chapters/11_pipelines.html").as_uri(), viewport=PHONE
    )
    look.walk(page)
    wide = page.locator("article table.cards")
    assert wide.count() > 0
    assert wide.evaluate_all(CUT) == []
    assert wide.locator("td").evaluate_all(HANGING) == []
    cell = wide.last.locator("td[data-label]").last
    label = cell.evaluate("e => getComputedStyle(e, '::before').content")
    assert label == f'"{cell.get_attribute("data-label")}"'


def test_a_table_that_scrolls_on_a_phone_shows_that_it_does(html, open_page):
    page = open_page(
        (html / "chapters/11_pipelines.html").as_uri(), viewport=PHONE
    )
    look.walk(page)
    box = page.locator("#tab-fits .text_html")
    box.locator("table").evaluate("e => { e.style.minWidth = '900px'; }")
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")
    assert "gradient" in box.evaluate(
        "e => getComputedStyle(e).backgroundImage"
    )
