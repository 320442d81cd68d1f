"""The search of the pages: the first section found is the right one."""

import re

import pytest
import yaml
from playwright.sync_api import expect

from tests.each import each
from tests.pages.test_pages import CHAPTER
from tests.tree import ROOT

QUERIES = yaml.safe_load(
    (ROOT / "tests/pages/queries.yml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def found(html, chromium):
    """A function that gives the first section found as "page heading"."""
    page = chromium.new_page()
    page.goto((html / f"{CHAPTER}.html").as_uri())

    def first(query):
        hits = page.evaluate("q => searchSections(q)", query)
        return f"{hits[0]['page']} {hits[0]['heading']}" if hits else ""

    yield first
    page.close()


def test_there_are_thirty_queries():
    assert len(QUERIES) >= 30


@each("query", QUERIES)
def test_the_first_section_found_is_the_right_one(found, query):
    assert re.search(QUERIES[query], found(query)), found(query)


def test_what_no_page_says_is_not_found(found):
    assert found("zyxwvut") == ""


def test_no_page_loads_the_index_before_it_is_asked(html, chromium):
    page, asked = chromium.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((html / f"{CHAPTER}.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "sections.js" in url]
    page.keyboard.press("Control+k")
    page.wait_for_function("() => !!window.SECTIONS")
    assert [url for url in asked if "sections.js" in url]
    page.close()


def test_a_result_leads_to_its_section(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    page.keyboard.press("Control+k")
    field = page.locator("#pst-search-dialog input[type=search]")
    field.fill("all-gather")
    hit = page.locator(".search-found li a").first
    hit.wait_for()
    assert "AllGather" in hit.inner_text()
    assert hit.locator(".found-text").inner_text().strip()
    field.press("ArrowDown")
    expect(hit).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/02_collectives.html*#*")
    page.wait_for_function(
        """() => { const place = decodeURIComponent(location.hash);
        const top = document.querySelector(place).getBoundingClientRect().top;
        return -80 < top && top < 200; }"""
    )


def test_the_search_page_answers_its_address(html, open_page):
    page = open_page((html / "search.html").as_uri() + "?q=replicated")
    page.locator("main .search-found li a").first.wait_for()
