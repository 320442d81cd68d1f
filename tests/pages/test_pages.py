"""The built book in a browser that has no network."""

import re

import pytest
import yaml

from tests.pages import browser as look
from tests.tree import ROOT
from tools import page as built

CHAPTER = "chapters/01_sharded_arrays"


def docnames():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [toc["root"]]
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            found.append(chapter["file"])
            found += [s["file"] for s in chapter.get("sections", [])]
    return found


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


@pytest.mark.parametrize("docname", DOCNAMES)
def test_a_page_needs_nothing_from_outside(html, page, docname):
    url = (html / f"{docname}.html").as_uri()
    assert look.requests_of(page, url) == []
    assert look.unseen_mathematics(page) == []
    assert look.broken_pictures(page) == []


@pytest.mark.parametrize("docname", DOCNAMES)
def test_a_page_fits_a_phone(html, chromium, docname):
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((html / f"{docname}.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert look.overflow(page) <= 0
    context.close()


@pytest.mark.parametrize("docname", DOCNAMES)
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
        page.locator("button.theme-switch-button:visible").first.click()
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
    assert field.first.evaluate("e => e === document.activeElement")


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
    assert answer.get_attribute("open") is not None


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
