"""Where a page first uses a term, it says what the term means."""

import re
import sys

import pytest
from playwright.sync_api import expect

from tests.pages.browser import overflow
from tests.tree import ROOT

sys.path.insert(0, str(ROOT / "book/extensions"))

import terms  # noqa: E402

KNOWN = {
    "ring": ("term-ring", "A circle of chips."),
    "ring attention": ("term-ring-attention", "Keys travel."),
    "FSDP": ("term-fsdp", "ZeRO-3."),
    "partial sum": ("term-partial-sum", "A part."),
}
STEM = "chapters/06_data_parallelism"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A ring, and rings", ["ring", "rings"]),
        ("Ring attention in a ring", ["Ring attention", "ring"]),
        ("During a string-ring", []),
        ("FSDP, fsdp, FSDP2", ["FSDP"]),
        ("Partial sums of an 8-ring", ["Partial sums"]),
    ],
)
def test_whole_words_are_found_the_longest_first(text, found):
    pattern = terms.finder(KNOWN)
    assert [word[0] for word in pattern.finditer(text)] == found
    for word in pattern.finditer(text):
        assert terms.meaning(KNOWN, word[1])[0].startswith("term-")


def test_a_meaning_is_plain_text():
    assert terms.plain(r"bytes, $(N-1)/N$, `x`, *y*, $\{U_X\}$") == (
        "bytes, (N-1)/N, x, y, U_X"
    )


def test_every_line_of_the_glossary_is_reached_by_one_name():
    known = terms.definitions(ROOT / "book/glossary.yml")
    text = (ROOT / "book/glossary.md").read_text(encoding="utf-8")
    ids = re.findall(r'id="(term-[^"]+)"', text)
    assert len(ids) == len({*ids})
    assert {line for line, _ in known.values()} == {*ids}


def test_a_term_is_explained_once_on_a_page_and_never_in_code(html):
    for path in sorted((html / "chapters").glob("*.html")):
        page = path.read_text(encoding="utf-8")
        lines = re.findall(r'class="term" href="[^"#]+#([^"]+)"', page)
        assert len(lines) >= 8
        assert len(lines) == len({*lines})
        for block in re.findall(r"<(h[1-6]|pre|table)\b(.*?)</\1>", page, re.S):
            assert 'class="term"' not in block[1]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_definition_opens_by_keyboard_and_fits(html, open_page, width):
    page = open_page(
        (html / f"{STEM}.html").as_uri(),
        viewport={"width": width, "height": 800},
    )
    link = page.locator("a.term").first
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    shown = link.evaluate("a => getComputedStyle(a, '::after').content")
    assert shown.strip('"') == link.get_attribute("data-means")
    assert overflow(page) == 0
