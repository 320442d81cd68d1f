"""How the pages look, measured in a browser without a network."""

import re

import pytest

from tests.pages import browser as look
from tests.pages.test_pages import (
    DOCNAMES,
    brightness,
    colours,
    parts,
    words_of,
)

CHAPTER = "chapters/04_sharded_matmuls"
EXERCISES = "exercises/03_cost_of_a_collective/03_cost_of_a_collective"
# Tables of what is generated for reference; nobody reads them through.
TABLES = ("book/checks", "book/sources", "book/strategies")


def pixels(page, selector, name):
    """A property of the first element of a kind, in pixels."""
    return page.locator(selector).first.evaluate(
        "(e, name) => parseFloat(getComputedStyle(e)[name])", name
    )


@pytest.mark.parametrize("docname", DOCNAMES)
def test_a_page_says_its_licence_its_subject_and_its_home(html, docname):
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    assert text.count('rel="license"') == 2
    assert "CC BY 4.0" in text
    (about,) = re.findall('<meta name="description" content="([^"]*)"', text)
    assert 20 < len(about) <= 160
    assert "bd-sidenav__home-link" in text or docname == "book/index"
    assert text.count('name="viewport"') == 1
    assert "fontawesome.js" not in text
    assert "thebe" not in text.lower()


@pytest.mark.parametrize("docname", DOCNAMES)
def test_a_page_loads_without_complaint(html, open_page, chromium, docname):
    context = chromium.new_context()
    page, said = context.new_page(), []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "console",
        lambda line: said.append(line.text) if line.type == "error" else None,
    )
    page.goto((html / f"{docname}.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert said == []
    if not docname.startswith(TABLES):
        assert page.locator("*").count() <= look.MAX_NODES
    assert (
        page.evaluate(
            "() => [...document.fonts].filter(f => f.status === 'error').length"
        )
        == 0
    )
    context.close()


def test_a_section_weighs_more_than_its_parts(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    sizes = [pixels(page, f"article {h}", "fontSize") for h in ("h1", "h2")]
    sizes += [pixels(page, f"article {h}", "fontSize") for h in ("h3", "p")]
    assert sizes == sorted(sizes, reverse=True)
    weights = [pixels(page, f"article {h}", "fontWeight") for h in ("h2", "h3")]
    assert weights[0] > weights[1]
    assert pixels(page, "article h2", "borderTopWidth") == 1


@pytest.mark.parametrize(
    ("width", "size"), [(1280, 13.1), (768, 14), (390, 12)]
)
def test_code_is_as_large_as_the_window_allows(html, open_page, width, size):
    page = open_page(
        (html / f"{CHAPTER}.html").as_uri(),
        viewport={"width": width, "height": 800},
    )
    assert pixels(page, "article .cell_input pre", "fontSize") == size
    if width > 700:  # 79 columns fit
        assert page.evaluate(
            """() => [...document.querySelectorAll('.cell_input pre')]
            .every(e => e.scrollWidth <= e.clientWidth + 1)"""
        )


def test_what_a_cell_prints_hangs_below_it(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    gaps = page.evaluate(
        """() => [...document.querySelectorAll(
            '.cell_input + .cell_output > .output.stream:first-child pre')]
        .map(e => e.getBoundingClientRect().top - e.closest('.cell')
            .querySelector('.cell_input pre').getBoundingClientRect().bottom)
        """
    )
    assert len(gaps) > 5
    assert max(map(abs, gaps)) <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axes_have_colours_that_nothing_else_has(html, open_page, scheme):
    page = open_page((html / f"{CHAPTER}.html").as_uri(), color_scheme=scheme)
    seen = {}
    for axis in "xy":
        shown = page.locator(f"article .axis-{axis}").evaluate_all(
            "all => [...new Set(all.map(e => getComputedStyle(e).color))]"
        )
        assert len(shown) == 1, f"axis {axis} has {shown}"
        seen[axis] = shown[0]
    assert seen["x"] != seen["y"]
    for kind in ("math", "pre"):
        assert page.locator(f"article {kind} .axis-x").count() > 0
    others = page.evaluate(
        """() => [...document.querySelectorAll(
            'article a, article :is(h1, h2, h3), article pre span, nav a')]
        .filter(e => !e.closest('.axis-x, .axis-y, .axis-z'))
        .map(e => getComputedStyle(e).color)"""
    )
    assert set(others).isdisjoint(seen.values())


def test_axes_in_code_within_a_line_have_their_colours(html, open_page):
    page = open_page((html / "chapters/01_sharded_arrays.html").as_uri())
    assert page.locator("article :not(pre) > code .axis-x").count() > 0


def test_comments_on_a_dark_page_are_quieter_than_code(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri(), color_scheme="dark")
    comment, code = (
        brightness(
            page.locator(e).first.evaluate("e => getComputedStyle(e).color")
        )
        for e in ("article pre .c1", "article .cell_input pre")
    )
    assert 100 < comment < code - 30


def test_blocks_of_other_languages_are_not_coloured_as_python(html):
    text = (html / "book/instructors.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="highlight-(\w+)', text)
    assert "text" in blocks
    assert "default" not in blocks


def test_every_opener_and_button_has_a_name(html, open_page):
    page = open_page((html / f"{EXERCISES}.html").as_uri())
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('summary, button, a[href]')]
        .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim()
            || e.title || e.querySelector('img[alt]:not([alt=""])')))
        .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert nameless == []


def test_an_arrow_scrolls_code_and_turns_no_page(html, open_page):
    address = (html / f"{CHAPTER}.html").as_uri()
    page = open_page(address, viewport={"width": 390, "height": 800})
    box = page.locator("article pre.scrolls:not(details *)").first
    box.scroll_into_view_if_needed()
    box.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)
    assert page.url == address
    assert box.evaluate("e => e.scrollLeft") > 0


def test_the_theme_button_keeps_the_focus(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    button = page.locator("button.theme-switch-button:visible").first
    button.focus()
    modes = []
    for _ in range(3):
        page.keyboard.press("Enter")
        modes.append(page.evaluate("document.documentElement.dataset.mode"))
        assert button.evaluate("e => e === document.activeElement")
    assert sorted(modes) == ["auto", "dark", "light"]


@pytest.mark.parametrize("docname", [CHAPTER, "chapters/02_collectives"])
def test_pictures_on_a_phone_can_be_read_and_scroll(html, open_page, docname):
    address = (html / f"{docname}.html").as_uri()
    page = open_page(address, viewport={"width": 390, "height": 844})
    letters = page.evaluate(
        """() => [...document.querySelectorAll('svg.picture[data-broad] text,'
            + '.sbs-film figure.on svg text')].map(e => {
                const m = e.getScreenCTM(), size = getComputedStyle(e).fontSize;
                return parseFloat(size) * Math.hypot(m.c, m.d); })"""
    )
    assert len(letters) > 100
    assert min(letters) >= 9.9
    assert look.overflow(page) <= 0


def test_formulas_are_no_stops_of_the_keyboard(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    assert page.locator("article math").count() > 50
    stops = page.evaluate(
        """() => [...document.querySelectorAll('article .math, article math *')]
        .filter(e => e.tabIndex >= 0).length"""
    )
    assert stops == 0


@pytest.mark.parametrize(
    "docname", ["book/strategies", "book/instructors", CHAPTER]
)
def test_tables_on_a_phone_break_no_word_and_show_that_they_move(
    html, open_page, docname
):
    page = open_page(
        (html / f"{docname}.html").as_uri(),
        viewport={"width": 390, "height": 844},
    )
    broken = page.evaluate(
        """() => [...document.querySelectorAll('article td, article th')]
        .filter(e => ['anywhere', 'break-all'].includes(
            getComputedStyle(e).overflowWrap)
            || [...e.querySelectorAll('code')].some(c => [
                'anywhere', 'break-all'].includes(
                getComputedStyle(c).overflowWrap)))
        .map(e => e.textContent)"""
    )
    assert broken == []
    silent = page.evaluate(
        """() => [...document.querySelectorAll('article table')]
        .filter(t => t.scrollWidth > 360 && !t.closest('.cell_output'))
        .map(t => t.closest('.table-box'))
        .filter(b => !b || !getComputedStyle(b).backgroundAttachment
            .includes('local')).length"""
    )
    assert silent == 0


def test_code_that_scrolls_shows_that_it_does(html, open_page):
    page = open_page(
        (html / f"{CHAPTER}.html").as_uri(),
        viewport={"width": 390, "height": 844},
    )
    boxes = page.locator("article pre.scrolls")
    assert boxes.count() > 10
    assert boxes.evaluate_all(
        """all => all.every(e => getComputedStyle(e).backgroundAttachment
        === 'local, local, scroll, scroll')"""
    )


def test_no_table_has_a_header_without_words(html, open_page):
    for docname in DOCNAMES:
        if all(words_of(head) for head in parts(html, docname, "thead")):
            continue  # most pages; a browser is asked about the others only
        page = open_page((html / f"{docname}.html").as_uri())
        empty = page.evaluate(
            """() => [...document.querySelectorAll('article thead')]
            .filter(e => !e.textContent.trim()
                && e.getBoundingClientRect().height > 0).length"""
        )
        assert empty == 0, docname
        page.context.close()


def test_a_dark_page_is_printed_light_and_with_its_number(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri(), color_scheme="dark")
    back, text = map(brightness, colours(page))
    assert text > back + 100
    page.emulate_media(media="print")
    page.wait_for_function(
        "() => document.documentElement.dataset.theme === 'light'"
    )
    back, text = map(brightness, colours(page))
    assert back > text + 100
    heading = page.locator("article h1")
    assert heading.is_visible()
    assert heading.inner_text().startswith("4.")
    cell = page.locator("article div.cell").first
    assert cell.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    assert page.locator("article details:not([open])").count() == 0
    page.emulate_media(media="screen")
    page.wait_for_function(
        "() => document.documentElement.dataset.theme === 'dark'"
    )


def test_the_way_to_jupyterlab_is_shown_at_home_only(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    flask = page.locator(".btn-open-in-jupyterlab").first
    assert flask.is_visible()
    page.evaluate("document.documentElement.dataset.away = ''")
    assert not flask.is_visible()
