"""Pages have few elements, and look and work as if they had more."""

import keyword
import re
import sys

import pytest
from playwright.sync_api import expect

from tests.pages import browser as look
from tests.pages.test_pages import DOCNAMES
from tests.tree import ROOT

sys.path.insert(0, str(ROOT / "book/extensions"))

import lighter  # noqa: E402
import parted  # noqa: E402

from tests.each import each

CHAPTER = "chapters/04_sharded_matmuls"
SETS = len(list((ROOT / "book/exercises").glob("*.md")))
LINE = ' style="fill: none; stroke: var(--ink, #14171c)"'
FILL = ' style="fill: var(--grid, #d3d6da)"'
OTHER = ' style="fill: var(--ink, #14171c)"'
BOX = "M0 0L4 0L4 4L0 4z"
DIGIT = '<text style="font-size: 9px" x="{}" y="{}">{}</text>'


def drawn(*shapes):
    return "".join(f'<path d="{d}"{look}/>' for d, look in shapes)


@each(
    ("svg", "joined"),
    [
        # Neighbours of one look.
        (
            drawn(("M0 0L1 0", LINE), ("M2 0L3 0", LINE)),
            drawn(("M0 0L1 0 M2 0L3 0", LINE)),
        ),
        (
            drawn((BOX, FILL), ("M4 0L8 0L8 4L4 4z", FILL)),
            drawn((f"{BOX} M4 0L8 0L8 4L4 4z", FILL)),
        ),
        # Another look lies between, beside both.
        (
            drawn((BOX, FILL), ("M9 0L12 4z", OTHER), ("M4 0L8 0L8 4z", FILL)),
            drawn((f"{BOX} M4 0L8 0L8 4z", FILL), ("M9 0L12 4z", OTHER)),
        ),
        # What lies between would be hidden, or would hide.
        (
            drawn((BOX, FILL), ("M5 0L7 4z", OTHER), ("M4 0L8 0L8 4z", FILL)),
            None,
        ),
        # Boxes on each other, looks that differ, what is not understood.
        (drawn((BOX, FILL), ("M2 0L8 0L8 4L2 4z", FILL)), None),
        (drawn(("M0 0L1 0", LINE), ("M2 0L3 0", FILL)), None),
        (
            drawn(("M0 0L1 0", LINE)) + "<g>" + drawn(("M2 0L3 0", LINE)),
            None,
        ),
        # Single letters; two letters have no place for the second.
        (
            DIGIT.format(1, 2, 7) + DIGIT.format(30, 2, 8),
            DIGIT.format("1 30", "2 2", 78),
        ),
        (DIGIT.format(1, 2, 10) + DIGIT.format(30, 2, 11), None),
        # A letter under a shape stays under it.
        (
            DIGIT.format(90, 2, 7) + drawn((BOX, FILL)) + DIGIT.format(2, 3, 8),
            None,
        ),
    ],
)
def test_shapes_of_one_look_are_one_element(svg, joined):
    assert lighter.join_shapes(svg) == (joined or svg)


def test_a_mark_is_drawn_where_it_was_put():
    svg = (
        '<defs><path id="m" d="M0 0L0 3.5 " style="stroke: red"/></defs>'
        '<use xlink:href="#m" x="10.5" y="2" style="fill: blue; stroke: blue"/>'
    )
    look = 'style="fill: blue; stroke: red"'
    assert lighter.draw_marks(svg) == (
        f'<path class="dot" d="M10.5 2L10.5 5.5" {look}/>'
    )
    kept = svg.replace("<use", '<use transform="scale(2)"')
    assert lighter.draw_marks(kept) == kept


def test_a_round_dot_is_drawn_where_it_was_put_and_its_clip_stays():
    """A clip at a reference moves with it, and would hide the dot."""
    svg = (
        '<defs><path id="m" d="M-3.00 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z"/></defs>'
        '<g clip-path="url(#c)"><use xlink:href="#m" x="64.5" y="20"/></g>'
    )
    assert lighter.draw_marks(svg) == (
        '<path class="dot" d="M61.50 20.00a3 3 0 1 0 6 0a3 3 0 1 0-6 0z" '
        'clip-path="url(#c)" style=""/>'
    )


def test_a_subscript_is_one_element_and_stands_as_low():
    svg = (
        '<text x="1" y="2">A[I<tspan dy="0.28em" style="font-size: 76%">'
        '<tspan style="fill: red">X</tspan></tspan>'
        '<tspan dy="-0.213em">]</tspan></text>'
    )
    assert lighter.join_runs(svg) == (
        '<text x="1" y="2" dy="0 0 0 0.213em -0.213em">A[I'
        '<tspan style="font-size: 76%; fill: red">X</tspan>]</text>'
    )
    for strange in ("<tspan x", "A  [I<tspan", "A[I<b/><tspan"):
        other = svg.replace("<tspan", strange, 1).replace("A[IA", "A")
        assert lighter.join_runs(other) == other


def test_folded_code_has_letters_and_says_their_colours():
    text, marks = lighter.painted(
        'a <span class="k">if</span> &lt;é <span class="s2">"'
        '<span class="axis-x">X</span>"</span><span class="nf">f</span>'
    )
    assert text == 'a if &lt;é "X"f'
    assert marks == "2k2 4s1 0x1 0s1"


def test_no_other_page_has_more_elements_than_a_phone_bears(html, open_page):
    # Those of the book's contents are counted where they are visited.
    page, found = open_page("about:blank"), {}
    for path in sorted(html.rglob("*.html")):
        name = path.relative_to(html).as_posix().removesuffix(".html")
        if name == "index" or name in DOCNAMES:
            continue  # the first leads to a page of the contents
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        found[name] = look.elements(page)
    assert len(found) >= SETS - 1
    assert {k: n for k, n in found.items() if n > look.MAX_NODES} == {}


def test_every_set_has_a_page_of_what_its_checks_reject(html):
    whole = (html / f"{parted.PAGE}.html").read_text(encoding="utf-8")
    text = (ROOT / f"{parted.PAGE}.md").read_text(encoding="utf-8")
    for n in range(1, SETS + 1):
        page = html / f"{parted.PAGE}-{n:02}.html"
        part = page.read_text(encoding="utf-8")
        (of_set,) = re.findall(rf"(?ms)^## {n}\. .*?(?=^% made|\Z)", text)
        names = re.findall("(?m)^### (.*)$", of_set)
        assert re.findall("<h2>([^<]*)", part) == names
        assert part.count("<tr ") == of_set.count("\n|") - len(names)
        links = re.findall(rf'href="checks-{n:02}.html#([^"]*)"', whole)
        assert len(links) == len(names)
        assert all(f'id="{anchor}"' in part for anchor in links)
        (its,) = re.findall(
            rf'href="\.\./(exercises/{n:02}_[^"]*)"', article(part)
        )
        assert (html / its).exists()
    assert "<table" not in whole[whole.index("<article") :]


def article(page):
    """The text of a page without what stands around it."""
    return page[page.index("<article") : page.rindex("</article>")]


def test_the_search_leads_to_the_page_of_a_set(html):
    index = (html / "_static/sections.js").read_text(encoding="utf-8")
    found = set(re.findall(r'"page": "(book/checks[^"]*)"', index))
    assert found == {f"{parted.PAGE}.html"} | {
        f"{parted.PAGE}-{n:02}.html" for n in range(1, SETS + 1)
    }


def test_folded_code_has_its_colours_when_it_is_unfolded(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    assert page.evaluate("() => CSS.highlights.size") == 0
    fold = page.locator("details.fold-evidence", has_text="for").first
    assert fold.locator("pre *").count() == 0
    fold.locator("summary").click()
    page.wait_for_function("() => CSS.highlights.size > 0")
    words = page.evaluate(
        """() => [...CSS.highlights.get('code-k')].map(r =>
        r.startContainer.data.slice(r.startOffset, r.endOffset))"""
    )
    assert "for" in words
    assert {w for part in words for w in part.split()} <= set(keyword.kwlist)
    colour = page.evaluate(
        """() => getComputedStyle(document.querySelector('pre'),
        '::highlight(code-k)').color"""
    )
    ink = page.locator("article p").first.evaluate(
        "e => getComputedStyle(e).color"
    )
    assert colour != ink


def test_a_button_copies_code_and_comes_when_one_looks(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    page.evaluate(
        """() => { const there = navigator.clipboard;
        there.writeText = async text => { window.got = text; }; }"""
    )
    boxes = page.locator("article .cell_input > pre")
    assert page.locator(".copybtn").count() < boxes.count() / 4
    box = boxes.nth(boxes.count() // 2)
    page.locator("details:not([open])").evaluate_all(
        "all => all.forEach(e => { e.open = true; })"
    )
    box.scroll_into_view_if_needed()
    box.hover()
    button = box.locator("xpath=following-sibling::button")
    button.wait_for(state="attached")
    expect(button).to_have_css("opacity", "1")
    button.click()
    page.wait_for_function("() => window.got")
    assert page.evaluate("() => window.got") == box.inner_text().strip()
    expect(button).to_have_attribute("title", "Copied")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_leads_to_its_place_though_far_sections_are_not_drawn(
    html, open_page, width
):
    address = (html / f"{CHAPTER}.html").as_uri()
    page = open_page(address, viewport={"width": width, "height": 800})
    far = page.locator("article > section > section").last
    assert far.evaluate(
        """e => !e.firstElementChild.checkVisibility(
        {contentVisibilityAuto: true})"""
    )
    name = page.locator("article h2, article h3").last.locator("xpath=..")
    place = f"#{name.get_attribute('id')}"
    top = "e => Math.round(e.getBoundingClientRect().top)"
    there = """place => { const e = document.querySelector(place);
        const top = e.getBoundingClientRect().top;
        return -1 < top && top < 700; }"""
    page.evaluate(
        """place => { const link = document.createElement('a');
        link.href = place; document.body.append(link); link.click(); }""",
        place,
    )
    page.wait_for_function(there, arg=place)
    page.wait_for_timeout(300)
    by_click = page.locator(place).evaluate(top)
    again = open_page(address + place, viewport={"width": width, "height": 800})
    again.wait_for_function(there, arg=place)
    again.wait_for_timeout(300)
    assert 0 <= by_click <= 700
    assert abs(again.locator(place).evaluate(top) - by_click) <= 2


def test_what_is_not_drawn_is_found_and_comes_into_sight(html, open_page):
    page = open_page((html / "chapters/07_fsdp.html").as_uri())
    last = page.locator("article section > p").last
    assert not last.evaluate(
        "e => e.checkVisibility({ contentVisibilityAuto: true })"
    )
    words = " ".join(last.text_content().split()[:6])
    assert page.evaluate("words => window.find(words)", words)
    assert page.evaluate("getSelection().toString()") == words
    page.wait_for_function(
        """() => { const range = getSelection().getRangeAt(0);
        const top = range.getBoundingClientRect().top;
        return 0 < top && top < innerHeight; }"""
    )


def test_paper_has_the_sections_that_a_window_would_not_draw(html, open_page):
    page = open_page((html / f"{CHAPTER}.html").as_uri())
    page.emulate_media(media="print")
    drawn = page.locator("article > section > section").evaluate_all(
        """all => all.map(e =>
        e.firstElementChild.checkVisibility({contentVisibilityAuto: true}))"""
    )
    assert len(drawn) > 8
    assert all(drawn)


@pytest.mark.parametrize("column", [lighter.WIDE, lighter.NARROW])
def test_the_height_of_a_section_is_reckoned(column):
    words = "<p>" + "word " * 300 + "</p>"
    short = lighter.height(words, column)
    assert short < lighter.height(words * 2, column)
    assert lighter.height("<pre>" + "a\n" * 40 + "</pre>", column) > 800
    folded = f"<details>{words}</details>"
    assert lighter.height(folded, column) < short / 3


def test_a_page_is_laid_out_a_few_times_and_not_seventy(html, open_page):
    script = (html / lighter.THEME).read_text(encoding="utf-8")
    assert "scrollHeight>" in script  # what would ask
    assert not lighter.ASKS.search(script)
    page = open_page("about:blank", viewport={"width": 412, "height": 823})
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    page.goto((html / f"{CHAPTER}.html").as_uri())
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(600)
    measured = devtools.send("Performance.getMetrics")["metrics"]
    (layouts,) = (m["value"] for m in measured if m["name"] == "LayoutCount")
    assert layouts < 25
