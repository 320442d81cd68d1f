"""The book on paper: outline, page numbers and links that lead somewhere."""

import zipfile
from collections import Counter

import pytest
import yaml
from pypdf import PdfReader

from tests.each import each
from tests.tree import ROOT, python
from tools import dist, pdf

MAX_PDF = 25_000_000  # bytes
ORDER = pdf.pages(yaml.safe_load((ROOT / "_toc.yml").read_text()))


@each(
    ("address", "there"),
    [
        ("#a", "#p1-a"),
        ("02.html", "#p2"),
        ("../book/notation.html#x-y", "#p3-x-y"),
        ("../_images/a.svg", "_images/a.svg"),
        ("../book/index.html", "book/index.html"),
        ("https://example.org/a#b", "https://example.org/a#b"),
    ],
)
def test_links_are_turned_inwards(address, there):
    numbers = {"chapters/01": 1, "chapters/02": 2, "book/notation": 3}
    assert pdf.link(address, "chapters/01", numbers) == there


def test_a_page_that_was_not_built_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run make book"):
        pdf.merged(tmp_path, [("chapters/01", "")])


def test_every_page_of_the_book_is_printed_once():
    names = [name for name, _ in ORDER]
    assert len(set(names)) == len(names)
    built = {p.stem for p in (ROOT / "chapters").glob("*.ipynb")}
    assert built == {n.split("/")[1] for n in names if n.startswith("chapters")}


@pytest.mark.long
def test_no_id_is_there_twice_and_no_link_leads_nowhere(html):
    soup = pdf.BeautifulSoup(pdf.merged(html, ORDER), "html.parser")
    ids = [thing["id"] for thing in soup.select("article [id], article[id]")]
    assert len(set(ids)) == len(ids)
    wanted = {a["href"][1:] for a in soup.select("a[href^='#']")}
    assert wanted - set(ids) == set()
    assert not soup.select("script")


@pytest.mark.long
def test_no_link_leads_to_a_page_that_is_not_printed(html):
    soup = pdf.BeautifulSoup(pdf.merged(html, ORDER), "html.parser")
    links = soup.select("a[href]")
    assert len(links) > 20 * len(ORDER)
    assert [a["href"] for a in links if not pdf.on_paper(a["href"])] == []


@pytest.mark.long
def test_the_pdf_has_outline_and_links(html, tmp_path):
    target = tmp_path / "book.pdf"
    # A process of its own: Playwright allows one browser session in each.
    done = python(html.parents[1], "-m", "tools.pdf", "--out", str(target))
    assert done.returncode == 0, done.stderr
    book = PdfReader(target)
    titles = [entry.title for entry in book.outline if hasattr(entry, "title")]
    chapters = sorted((ROOT / "chapters").glob("*.ipynb"))
    numbered = [title for title in titles if title[0].isdecimal()]
    assert len(numbered) == len(chapters)
    first = book.get_destination_page_number(book.outline[1])
    assert "JAX in ten lines" in book.pages[first].extract_text()
    assert target.stat().st_size < MAX_PDF
    assert letters(book.pages[first]) > 9.5  # nothing made the pages narrower
    places, addresses = 0, []
    for page in book.pages:
        for note in page.get("/Annots", None) or ():
            action = note.get_object().get("/A", {})
            places += "/URI" not in action
            addresses += [action["/URI"]] if "/URI" in action else []
    assert places > 20 * len(chapters)
    assert [a for a in addresses if not a.startswith("http")] == []


def letters(page):
    """The size of most letters of a page, in points."""
    sizes = Counter()

    def count(text, matrix, text_matrix, font, size):
        points = size * abs(matrix[3] * text_matrix[3])
        sizes[round(points, 1)] += len(text.strip())

    page.extract_text(visitor_text=count)
    return sizes.most_common(1)[0][0]


def test_an_archive_of_the_same_files_has_the_same_bytes(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one.txt").write_text("1")
    (tmp_path / "two.txt").write_text("2")
    paths = [tmp_path / "two.txt", tmp_path / "a/one.txt"]
    for name in ("first.zip", "second.zip"):
        assert dist.pack(paths, tmp_path, tmp_path / name, "book") == 2
    first = (tmp_path / "first.zip").read_bytes()
    assert first == (tmp_path / "second.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "first.zip") as archive:
        assert archive.namelist() == ["book/a/one.txt", "book/two.txt"]
    with pytest.raises(ValueError, match="nothing to pack"):
        dist.pack([], tmp_path, tmp_path / "none.zip", "book")
