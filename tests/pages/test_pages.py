"""The built book in a browser that has no network."""

import re

import pytest
import yaml
from playwright.sync_api import expect

from tests.each import each
from tests.pages import browser as look
from tests.tree import ROOT
from tools import page as built

CHAPTER = "chapters/01_sharded_arrays"
BAD = """<article><img src="http://nowhere.invalid/x.png" alt="a picture">
<span class="math"></span><p style="width: 1000px">wide</p>
<script>no_such_name()</script></article>"""
TOGETHER = 4  # pages that are visited at a time


def docnames():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [toc["root"]]
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            found.append(chapter["file"])
            found += [s["file"] for s in chapter.get("sections", [])]
    return [*found, "book/checks-04"]  # one of those that a page is parted into


DOCNAMES = docnames()


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    yield context.new_page()
    context.close()


def test_every_page_of_the_book_is_built(html):
    for docname in DOCNAMES:
        assert (html / f"{docname}.html").stat().st_size > 5_000


def test_the_first_page_leads_to_the_title_page(html, page):
    page.goto((html / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    assert page.title().endswith("Shard by Shard")
    assert page.locator("a.button.first").get_attribute("href")


@pytest.fixture(scope="module")
def visits(html, chromium):
    """What was seen on a visit of each page: dict of look.Visit by docname.

    Each is visited once, whatever is asked of it, and some at a time: when no
    page asks for anything for half a second, all of them are there.
    """
    found = {}
    for start in range(0, len(DOCNAMES), TOGETHER):
        names = DOCNAMES[start : start + TOGETHER]
        context = chromium.new_context(viewport={"width": 1300, "height": 900})
        urls = {name: (html / f"{name}.html").as_uri() for name in names}
        found |= look.visits(context, urls)
        context.close()
    return found


def test_a_visit_sees_what_is_wrong(tmp_path, chromium):
    names = {"good": "", "bad": BAD}
    for name, body in names.items():
        (tmp_path / f"{name}.html").write_text(look.PAGE + body)
    urls = {name: (tmp_path / f"{name}.html").as_uri() for name in names}
    context = chromium.new_context()
    seen = look.visits(context, urls)
    context.close()
    assert seen["good"] == ([], [], 0, 5, 0, [], [])
    assert seen["bad"].asked == ["http://nowhere.invalid/x.png"]
    assert any("no_such_name" in words for words in seen["bad"].said)
    assert seen["bad"].nodes == 10
    assert len(seen["bad"].mathematics) == 1
    assert seen["bad"].pictures == seen["bad"].asked
    assert seen["bad"].wider > 600


@each("docname", DOCNAMES)
def test_a_page_needs_nothing_from_outside(visits, docname):
    seen = visits[docname]
    assert seen.asked == []
    assert seen.mathematics == []
    assert seen.pictures == []


@each("docname", DOCNAMES)
def test_a_page_loads_without_complaint(visits, docname):
    assert visits[docname].said == []
    assert visits[docname].fonts == 0


@each("docname", DOCNAMES)
def test_a_page_has_no_more_elements_than_a_phone_bears(visits, docname):
    assert visits[docname].nodes <= look.MAX_NODES


@each("docname", DOCNAMES)
def test_a_page_fits_a_phone(visits, docname):
    assert visits[docname].wider <= 0


@each("docname", DOCNAMES)
def test_the_head_of_a_column_holds_a_word(html, docname):
    """Some screen readers pass over a head that is a formula alone."""
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    for cell in re.findall(r"<th\b[^>]*>(.*?)</th>", text, re.DOTALL):
        plain = re.sub(r"<math\b.*?</math>", "", cell, flags=re.DOTALL)
        assert plain == cell or re.sub(r"<[^>]*>", "", plain).strip(), cell


@each("docname", DOCNAMES)
def test_a_page_is_small(html, docname):
    assert look.page_bytes(html / f"{docname}.html") <= look.MAX_PAGE


def test_what_pages_share_is_small(html):
    shared = [p for p in (html / "_static").rglob("*") if p.is_file()]
    # Source maps are for developers of the theme; no page asks for them.
    sent = [p for p in shared if p.suffix != ".map"]
    assert sum(p.stat().st_size for p in sent) <= look.MAX_SHARED


def test_formulas_are_set_without_a_script(html, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((html / f"{CHAPTER}.html").as_uri())
    formulas = page.locator("article math")
    assert formulas.count() > 20
    assert formulas.first.bounding_box()["height"] > 10
    context.close()


def colours(page):
    """Background and text colour of a page."""
    return page.evaluate(
        "() => [document.body, document.querySelector('article p')]"
        ".map((e, i) => getComputedStyle(e)[i ? 'color' : 'backgroundColor'])"
    )


def brightness(colour):
    return sum(int(n) for n in re.findall(r"\d+", colour)[:3]) / 3


def test_a_click_turns_the_page_dark_and_it_stays_dark(html, page):
    page.goto((html / f"{CHAPTER}.html").as_uri())
    back, text = map(brightness, colours(page))
    assert back > text + 100
    for _ in range(3):
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
        mode = page.evaluate("document.documentElement.dataset.mode")
        page.locator("button.theme-switch-button:visible").first.click()
        page.wait_for_function(
            "was => document.documentElement.dataset.mode !== was", arg=mode
        )
    back, text = map(brightness, colours(page))
    assert text > back + 100
    page.goto((html / "book/notation.html").as_uri())
    back, text = map(brightness, colours(page))
    assert text > back + 100


def test_pictures_that_are_files_are_inverted_on_a_dark_page(html, chromium):
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto((html / f"{CHAPTER}.html").as_uri())
    look_of = "all => all.map(e => getComputedStyle(e).filter)"
    files = page.locator(".cell_output img[src$='.svg']").evaluate_all(look_of)
    inline = page.locator(".cell_output svg.picture").evaluate_all(look_of)
    assert files or inline
    assert all("invert(1)" in look for look in files)
    assert set(inline) <= {"none"}
    context.close()


def test_the_keyboard_opens_the_search(html, page):
    page.goto((html / f"{CHAPTER}.html").as_uri())
    page.keyboard.press("Control+k")
    field = page.locator("input[type=search]:visible")
    field.first.wait_for()
    expect(field.first).to_be_focused()


@pytest.mark.parametrize(
    ("docname", "place"),
    [
        (CHAPTER, "chapters/01_sharded_arrays.ipynb"),
        (
            "exercises/01_sharded_arrays/01_sharded_arrays",
            "01_sharded_arrays/01_sharded_arrays.ipynb",
        ),
    ],
)
def test_notebooks_can_be_opened_and_downloaded(html, page, docname, place):
    page.goto((html / f"{docname}.html").as_uri())
    lab = page.locator("a[href*='/lab/tree/']").first
    assert lab.get_attribute("href").endswith(f"/lab/tree/{place}")
    source = page.locator("a.btn-download-source-button").first
    target = html / docname / ".." / source.get_attribute("href")
    assert (
        target.resolve().read_bytes()
        == (ROOT / f"{docname}.ipynb").read_bytes()
    )


def parts(html, docname, *tags):
    """The text of these elements of a page's article, tags and all."""
    text = (html / f"{docname}.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.rindex("</article>")]
    names = "|".join(tags)
    return re.findall(rf"<(?:{names})\b.*?</(?:{names})>", article, re.S)


def words_of(element):
    """What is written in an element, without its tags."""
    return re.sub("<[^>]*>", "", element).strip()


def test_headings_do_not_skip_a_level(html):
    for docname in DOCNAMES:
        headings = parts(html, docname, "h1", "h2", "h3", "h4")
        levels = [int(heading[2]) for heading in headings]
        assert levels[0] == 1
        assert levels.count(1) == 1
        steps = zip(levels, levels[1:], strict=False)
        assert all(b <= a + 1 for a, b in steps), docname


def test_the_answer_of_a_quiz_is_folded(html, page):
    page.goto((html / f"{CHAPTER}.html").as_uri())
    summary = page.locator("summary", has_text="Show the answer").first
    answer = summary.locator("xpath=..")
    assert answer.get_attribute("open") is None
    summary.click()
    expect(answer).to_have_attribute("open", "")


@pytest.mark.parametrize(
    ("shown", "again"), [(None, False), ("old", True), ("new", False)]
)
def test_a_change_of_style_is_built(shown, again, tmp_path):
    style = tmp_path / "book/style/fonts/book.css"
    style.parent.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("title: a book")
    if shown:
        style.write_text(shown)
        (tmp_path / "_build/html").mkdir(parents=True)
        (tmp_path / built.MARK).write_text(built.digest(tmp_path))
    style.write_text("new")
    assert built.restyled(tmp_path) is again


@pytest.mark.parametrize(
    ("file", "text", "whole"),
    [
        (None, "", True),
        ("chapters/01_x.ipynb", "{ }", False),
        ("shardlab/cost.py", "x = 2", False),
        ("requirements-page.txt", "sphinx==2", False),
        ("_build/html/index.html", "", False),
        ("work/notes.txt", "of no page", True),
        ("tools/__pycache__/page.pyc", "compiled", True),
    ],
)
def test_nothing_is_built_again_unless_something_changed(
    file, text, whole, tmp_path
):
    for name in ("chapters/01_x.ipynb", "_build/html/index.html"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")
    sources = built.everything(tmp_path)
    (tmp_path / built.WHOLE).write_text(sources + built.pages(tmp_path))
    if file:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert built.is_whole(tmp_path, built.everything(tmp_path)) is whole
