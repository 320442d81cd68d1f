"""The book as an EPUB: XML that holds, links that lead somewhere, pictures."""

import posixpath
import re
import zipfile
from urllib.parse import unquote, urldefrag
from xml.etree import ElementTree

import pytest
import yaml

from tests.tree import ROOT
from tools import epub

ORDER = epub.pages(yaml.safe_load((ROOT / "_toc.yml").read_text()))
CHAPTERS = (
    "chapters/01_sharded_arrays",
    "chapters/04_sharded_matmuls",
    "chapters/09_fsdp_and_tp",
    "chapters/11_pipelines",
    "chapters/16_case_studies",
)
HTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def packed(html, tmp_path_factory):
    """The folder that the EPUB unpacks to."""
    folder = tmp_path_factory.mktemp("epub")
    assert epub.make(html, folder / "book.epub", ORDER) == len(ORDER)
    with zipfile.ZipFile(folder / "book.epub") as archive:
        assert archive.namelist()[0] == "mimetype"
        archive.extractall(folder / "book")
    return folder / "book/EPUB"


def test_a_page_that_was_not_built_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run make book"):
        epub.make(tmp_path, tmp_path / "a.epub", [("chapters/01", "One")])


def test_a_drawing_is_written_out_for_readers_without_variables():
    soup = epub.BeautifulSoup(
        '<svg viewBox="0 0 9 9"><clipPath/><text style="fill: var(--ink, #111);'
        ' transform: var(--t); transform-origin: 1px 2px">a</text>'
        '<text style="display: var(--two, none)">b</text></svg>',
        "html.parser",
    )
    epub.draw(soup.svg)
    assert str(soup.svg.find("text")) == '<text style="fill: #111">a</text>'
    assert "clipPath" in str(soup)
    assert ">b<" not in str(soup)


@pytest.mark.long
def test_every_page_is_xml_without_scripts_and_its_links_lead_somewhere(packed):
    pages = {
        path: ElementTree.parse(path).getroot()
        for path in packed.rglob("*.xhtml")
    }
    assert len(pages) > len(ORDER)  # and the contents
    ids = {
        path: [e.get("id") for e in page.iter() if e.get("id")]
        for path, page in pages.items()
    }
    for path, page in pages.items():
        found = ids[path]
        assert len(found) == len(set(found)), path
        assert page.find(f".//{HTML}script") is None, path
        assert page.find(f".//{HTML}button") is None, path
        assert "var(--" not in path.read_text(), path
        for link in [*page.iter(f"{HTML}a"), *page.iter(f"{HTML}img")]:
            href = link.get("href") or link.get("src") or ""
            if re.match(r"https?:|mailto:", href) or not href:
                continue
            file, place = urldefrag(href)
            there = (
                path
                if not file
                else packed
                / posixpath.normpath(
                    (path.parent / unquote(file)).relative_to(packed).as_posix()
                )
            )
            assert there.exists(), (path, href)
            assert not place or unquote(place) in ids[there], (path, href)


@pytest.mark.long
@pytest.mark.parametrize("docname", CHAPTERS)
def test_a_chapter_reads_in_a_browser(packed, html, open_page, docname):
    page = open_page((packed / f"{docname}.xhtml").as_uri())
    book = open_page((html / f"{docname}.html").as_uri())
    book.evaluate("document.documentElement.dataset.drawn = ''")
    count = (
        "all => all.filter(e => e.getBoundingClientRect().width > 20).length"
    )
    shown = page.locator("svg, img").evaluate_all(count)
    figures = page.locator("figure.cell-figure:has(svg, img)").count()
    assert shown >= figures > 1
    assert figures == book.locator("figure.cell-figure:has(svg, img)").count()
    flat = page.locator("math").evaluate_all(
        "all => all.filter(e => !e.getBoundingClientRect().width).length"
    )
    assert flat == 0
    # Films are strips: all their moments, each with its words.
    for film in page.locator(".sbs-film").all():
        moments = film.locator("figure")
        assert moments.count() > 1
        assert moments.last.locator("figcaption").is_visible()
