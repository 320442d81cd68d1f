"""How the pages look, measured in a browser without a network."""

import contextlib
import re
import sys

import pytest
from playwright.sync_api import expect

from tests.each import each
from tests.pages import browser as look
from tests.pages.test_pages import (
    DOCNAMES,
    brightness,
    colours,
    parts,
    words_of,
)
from tests.tree import ROOT

CHAPTER = "chapters/04_sharded_matmuls"
HOME = "http://book.invalid/"  # what a test answers instead of a server
EXERCISES = "exercises/03_cost_of_a_collective/03_cost_of_a_collective"


def pixels(page, selector, name):
    """A property of the first element of a kind, in pixels."""
    return page.locator(selector).first.evaluate(
        "(e, name) => parseFloat(getComputedStyle(e)[name])", name
    )


@each("docname", DOCNAMES)
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


@each("docname", DOCNAMES)
def test_a_page_waits_for_one_sheet_and_for_no_script(html, docname):
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    head = text.partition("</head>")[0]
    sheets = re.findall('<link [^>]*rel="stylesheet"[^>]*>', head)
    own = [s for s in sheets if "landing.css" in s or "letters.css" in s]
    assert len(sheets) - len(own) == 1
    (waited_for,) = [s for s in sheets if s not in own]
    assert "_static/page.css" in waited_for
    seen = re.sub("<noscript>.*?</noscript>", "", head, flags=re.DOTALL)
    assert 'letters.css"' in seen
    assert not re.search("<link [^>]*letters", seen)
    waited = re.findall(r"<script (?![^>]*defer)[^>]*src=[^>]*>", text)
    assert waited == []


def test_the_sheet_has_what_pages_show_and_little_else(html):
    sheet = (html / "_static/page.css").read_text(encoding="utf-8")
    for name in (".bd-sidebar-primary", ".copybtn", ".sbs-film", ".agree"):
        assert name in sheet
    for name in (".accordion", ".carousel", ".fa-brands", "fontawesome-webf"):
        assert name not in sheet
    assert len(sheet) < 145_000  # 510,000 before
    assert "/*" not in sheet
    for path in re.findall(r'url\("([^")]+)"\)', sheet):
        if not path.startswith("data:"):
            assert (html / "_static" / path).exists(), path


def test_a_sheet_is_packed_and_loses_what_nothing_asks_for():
    sys.path.insert(0, str(ROOT / "book/extensions"))
    import one_sheet

    css = """/* words */ :root { --a: 1px; --b: var(--c); --c: 2px; --d: ; }
    a:is(.x, .y) > b { margin: calc(1px + var(--b)) ; content: "; } /* a */" }
    @media (max-width: 9px) { i { --e: red; } p { color: var(--d) } }"""
    packed = one_sheet.packed(css)
    assert packed == (
        ":root{--a:1px;--b:var(--c);--c:2px;--d: }"
        'a:is(.x,.y) > b{margin:calc(1px + var(--b));content:"; } /* a */"}'
        "@media (max-width:9px){i{--e:red}p{color:var(--d)}}"
    )
    fewer = one_sheet.without_unasked(packed, {"--a"})
    assert fewer == packed.replace("i{--e:red}", "")
    assert "--a" not in one_sheet.without_unasked(packed, set())


def test_letters_of_formulas_are_fetched_early_where_one_is_seen_first(html):
    early = {
        name: '"stix-two-math"' in (html / f"{name}.html").read_text("utf-8")
        for name in (
            "chapters/01_sharded_arrays",
            "chapters/06_data_parallelism",
        )
    }
    assert list(early.values()) == [True, False]


def test_the_sidebar_stands_still_when_a_window_grows(html, open_page):
    page = open_page(
        (html / f"{CHAPTER}.html").as_uri(),
        viewport={"width": 900, "height": 800},
    )
    page.set_viewport_size({"width": 1280, "height": 800})
    places = page.evaluate(
        """async () => { const found = [];
        for (let n = 0; n < 5; n++) {
            await new Promise(requestAnimationFrame);
            found.push(document.querySelector('.bd-sidebar-primary')
                .getBoundingClientRect().left);
        } return found; }"""
    )
    assert set(places) == {0}


@pytest.mark.parametrize(
    "docname",
    [
        CHAPTER,
        "chapters/09_fsdp_and_tp",
        "chapters/12_activation_memory",
        "chapters/17_failures",
        "exercises/05_one_chip/05_one_chip",
    ],
)
def test_formulas_in_their_own_lines_fit_a_phone(html, open_page, docname):
    page = open_page(
        (html / f"{docname}.html").as_uri(),
        viewport={"width": 390, "height": 844},
    )
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.pieces')]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
        .map(e => e.textContent)"""
    )
    assert cut == []
    covered = page.evaluate(
        """() => [...document.querySelectorAll('.eqno')].filter(e => {
            const box = e.getBoundingClientRect();
            return [...e.parentElement.querySelectorAll('math')].some(m => {
                const its = m.getBoundingClientRect();
                return its.right > box.left && its.left < box.right
                    && its.bottom > box.top && its.top < box.bottom; }); })
        .map(e => e.textContent)"""
    )
    assert covered == []
    numbers = page.locator("article .eqno")
    if numbers.count():
        box = numbers.first.bounding_box()
        assert box["x"] > 200  # on the right, beside the formula or below it


def test_lines_and_marks_are_bright_in_the_dark(html, open_page):
    address = (html / "chapters/08_tensor_parallelism.html").as_uri()
    page = open_page(address, color_scheme="dark")
    marks = page.locator('svg.picture .dot[style*="-4, #"]')
    assert marks.count() >= 3
    for colour in set(
        marks.evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    ):
        assert brightness(colour) > 120


def test_the_speed_of_a_film_is_named_by_what_its_button_shows(html):
    text = (html / "chapters/02_collectives.html").read_text(encoding="utf-8")
    buttons = re.findall('<button [^>]*class="speed"[^>]*>', text)
    assert buttons
    assert all("aria-label" not in button for button in buttons)


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
    look.walk(page)
    box = page.locator("article pre.scrolls:not(details *)").first
    box.scroll_into_view_if_needed()
    box.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=box.element_handle())
    page.wait_for_timeout(400)
    assert page.url == address


MODE = "document.documentElement.dataset.mode"


def test_the_theme_button_keeps_the_focus(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    button = page.locator("button.theme-switch-button:visible").first
    button.focus()
    modes, mode = [], page.evaluate(MODE)
    for _ in range(3):
        page.keyboard.press("Enter")
        page.wait_for_function(
            "was => document.documentElement.dataset.mode !== was", arg=mode
        )
        modes.append(mode := page.evaluate(MODE))
        expect(button).to_be_focused()
    assert sorted(modes) == ["auto", "dark", "light"]


@pytest.mark.parametrize("docname", [CHAPTER, "chapters/02_collectives"])
def test_pictures_on_a_phone_can_be_read_and_scroll(html, open_page, docname):
    address = (html / f"{docname}.html").as_uri()
    page = open_page(address, viewport={"width": 390, "height": 844})
    letters = page.evaluate(
        """() => [...document.querySelectorAll('svg.picture:not(.parted) text,'
            + '.sbs-film figure.on svg text')]
            .filter(e => getComputedStyle(e).display !== 'none').map(e => {
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
    look.walk(page)
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


def test_below_a_slider_is_no_hole(html, open_page):
    page = open_page((html / "chapters/09_fsdp_and_tp.html").as_uri())
    holes = page.locator(".sbs-sweep").evaluate_all(
        """all => all.map(e => e.getBoundingClientRect().bottom
        - Math.max(...[...e.querySelectorAll('output, input, svg')].map(
            part => part.getBoundingClientRect().bottom)))"""
    )
    assert holes
    assert max(holes) < 60


@each("docname", [name for name in DOCNAMES if name.startswith("exercises/")])
def test_exercises_lead_to_the_sections_that_they_need(html, docname):
    number = docname.partition("/")[2][:2]
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.rindex("</article>")]
    links = re.findall(rf'href="(?:\.\./)*(chapters/{number}_[^"]*)"', article)
    assert any("#" in link for link in links)
    assert "Show code cell source" not in article


@each("docname", [n for n in DOCNAMES if "chapters/" in n])
def test_a_chapter_leads_to_its_exercises(html, docname):
    number = docname.partition("/")[2][:2]
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.rindex("</article>")]
    assert re.search(rf'href="(?:\.\./)*exercises/{number}_', article)


def test_only_the_page_itself_is_marked_among_all(html, open_page):
    page = open_page((html / f"{EXERCISES}.html").as_uri())
    marked = page.locator("nav.bd-links li > a").evaluate_all(
        "all => all.filter(e => getComputedStyle(e).boxShadow !== 'none')"
        ".map(e => e.textContent)"
    )
    assert len(marked) == 1
    assert marked[0].startswith("Exercises:")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_served_page_gets_its_other_letters_too(scripts, html, chromium):
    asked = []

    def answer(route):
        path = route.request.url.removeprefix(HOME).partition("?")[0]
        asked.append(path.rpartition("/")[2])
        route.fulfill(path=html / path)

    context = chromium.new_context(java_script_enabled=scripts)
    context.route(f"{HOME}**", answer)
    page = context.new_page()
    page.goto(f"{HOME}{CHAPTER}.html")
    with contextlib.ExitStack() as stack:
        stack.callback(context.close)
        page.wait_for_load_state("networkidle")
        if scripts:
            page.wait_for_function(
                "() => document.fonts.check('italic 13px \"Source Serif\"')"
                " && document.fonts.check('13px \"JetBrains Mono\"')"
            )
    letters = {"letters.css", "jetbrains-mono.woff2"}
    assert {*letters, "source-serif.woff2", "page.css"} <= set(asked)
    early = {"source-serif-italic.woff2", *letters} if scripts else set()
    before = asked[: asked.index("page.css")]
    assert not early & set(before)
