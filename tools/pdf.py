"""Prints the whole book: one PDF, from the pages that were built."""

import argparse
import posixpath
import re
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pikepdf
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build/html"
TARGET = ROOT / "_build/shard-by-shard.pdf"
# Hundreds of pages that one looks things up in.
LEFT_OUT = re.compile("book/(checks|library/.*)")
# What only a screen has a use for.
SCREEN = "script, template, .bar, .copybtn, .headerlink"
SHEET = """
html { font-size: 10.5pt; }
body { background: #fff; }
main.printed { margin: 0; max-width: none; }
main.printed > article { break-before: page; }
main.printed > article:first-child { break-before: auto; }
.title-page { align-items: center; display: flex; flex-direction: column;
  height: 240mm; justify-content: center; text-align: center; }
.title-page p { font-size: 14pt; max-width: 120mm; }
article .part { color: var(--ink-soft); font-family: var(--sans); }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere; }
figure, table, .cell_output, .admonition { break-inside: avoid; }
h1, h2, h3 { break-after: avoid; }
.sbs-film svg, svg.picture { max-width: 100%; }
/* A hatch becomes an image of all that could be seen through its shape. */
svg.picture [style*="fill: url("]:not([clip-path]) { clip-path: stroke-box; }
"""
FOOTER = """<div style="font: 8px sans-serif; width: 100%; text-align: center">
<span class="pageNumber"></span></div>"""


def pages(toc):
    """The pages of the book in their order.

    toc      what _toc.yml holds
    returns  list of (page without suffix, the part that begins with it or "")
    """
    found = []
    for part in toc["parts"]:
        caption = part["caption"]
        for chapter in part["chapters"]:
            for entry in (chapter, *chapter.get("sections", ())):
                if not LEFT_OUT.fullmatch(entry["file"]):
                    found.append((entry["file"], caption))
                    caption = ""
    return found


def merged(html, order):
    """One page that holds all pages, its links among them turned inwards.

    html     the folder of the built page
    order    as `pages` returns
    returns  str, to be stored in `html`
    raises   FileNotFoundError for a page that was not built
    """
    numbers = {name: n for n, (name, _) in enumerate(order)}
    articles = []
    for name, part in order:
        path = html / f"{name}.html"
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: run make book before make pdf"
            )
        soup = BeautifulSoup(path.read_text(), "html.parser")
        article = soup.select_one("article")
        for_paper(article)
        turn_inwards(article, name, numbers)
        article["id"] = f"p{numbers[name]}"
        if part:
            line = soup.new_tag("p", attrs={"class": "part"})
            line.string = part
            article.insert(0, line)
        articles.append(str(article))
    sheets = [link["href"] for link in soup.select("link[rel=stylesheet]")]
    links = "\n".join(
        f'<link rel="stylesheet" href="{inside(order[-1][0], sheet)}">'
        for sheet in sheets
    )
    title = yaml.safe_load((ROOT / "_config.yml").read_text())["title"]
    return f"""<!doctype html>
<html lang="en" data-theme="light" data-mode="light"><head>
<meta charset="utf-8"><title>{title}</title>{links}
<style>{SHEET}</style></head><body class="bd-body">
<main class="printed bd-content"><article class="bd-article title-page">
<h1>{title}</h1><p>{promise(html)}</p></article>
{"".join(articles)}</main></body></html>"""


def promise(html):
    """What the first page promises, in words."""
    first = html / "book/index.html"
    soup = BeautifulSoup(first.read_text(), "html.parser")
    return soup.select_one(".promise p").get_text(" ", strip=True)


def for_paper(article):
    """Take out of an article what paper has no use for; unfold answers."""
    for thing in article.select(SCREEN):
        thing.decompose()
    for moment in article.select(".sbs-film noscript"):
        moment.unwrap()
    for fold in article.select("details"):
        summary = fold.find("summary")
        words = summary.get_text(" ", strip=True) if summary else ""
        if fold.select_one(".cell_input, pre") and "nswer" not in words:
            if "Checked" in words:
                summary.name, summary["class"] = "p", "checked"
                fold.insert_before(summary)
            fold.decompose()
        else:
            fold["open"] = ""


def turn_inwards(article, name, numbers):
    """Give ids and links of an article a meaning in the page of all pages.

    What leads to a page that is not printed becomes plain text.

    article  of one page, changed in place
    name     of the page, without suffix
    numbers  dict: page -> its number
    returns  nothing
    """
    mine = f"p{numbers[name]}"
    ids = set()
    for thing in article.select("[id]"):
        ids.add(thing["id"])
        thing["id"] = f"{mine}-{thing['id']}"
    for thing in article.find_all(True):
        for key, value in list(thing.attrs.items()):
            if key in ("for", "aria-labelledby", "aria-describedby"):
                thing[key] = f"{mine}-{value}"
            elif key in ("href", "xlink:href", "src"):
                thing[key] = link(value, name, numbers)
                if thing.name == "a" and not on_paper(thing[key]):
                    del thing[key]
            elif isinstance(value, str) and "url(#" in value:
                thing[key] = value.replace("url(#", f"url(#{mine}-")


def link(address, name, numbers):
    """Where a link leads in the page of all pages.

    address  as it stands in the page
    name     of the page that holds it, without suffix
    numbers  dict: page -> its number
    returns  str
    """
    if urlparse(address).scheme:
        return address
    path, place = urldefrag(address)
    target = inside(name, path) if path else f"{name}.html"
    stem = unquote(target).removesuffix(".html")
    if not target.endswith(".html") or stem not in numbers:
        return target
    number = numbers[stem]
    return f"#p{number}-{place}" if place else f"#p{number}"


def on_paper(address):
    """Whether a link of the page of all pages leads into the PDF or the web."""
    return address.startswith(("#", "http:", "https:", "mailto:"))


def inside(name, path):
    """A path that is relative to a page, relative to the page of all pages."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def write(html, target, order):
    """Write the PDF with outline, page numbers and links.

    html     the folder of the built page
    target   path of the PDF
    order    as `pages` returns
    returns  nothing
    """
    with tempfile.NamedTemporaryFile(
        "w", suffix=".html", dir=html, delete=False, encoding="utf-8"
    ) as file:
        file.write(merged(html, order))
    try:
        with sync_playwright() as program:
            browser = program.chromium.launch(
                executable_path="/usr/bin/chromium",
                args=["--no-sandbox", "--disable-gpu"],
            )
            page = browser.new_page(color_scheme="light")
            page.set_default_timeout(0)
            page.goto(Path(file.name).as_uri(), wait_until="load")
            page.emulate_media(media="print", color_scheme="light")
            page.pdf(
                path=target,
                format="A4",
                margin={"top": "18mm", "bottom": "20mm"}
                | {"left": "18mm", "right": "18mm"},
                print_background=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                outline=True,
                tagged=True,
            )
            browser.close()
    finally:
        Path(file.name).unlink()
    pack(target)


def pack(target):
    """Store a PDF's objects compressed, as Chromium does not.

    Its tags, one for each piece of text, make up half of the file otherwise.

    target   path of the PDF, written anew
    returns  nothing
    """
    with pikepdf.open(target, allow_overwriting_input=True) as book:
        book.save(target, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pdf", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=TARGET)
    asked = parser.parse_args(arguments)
    order = pages(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    try:
        write(HTML, asked.out, order)
    except FileNotFoundError as error:
        print(f"pdf: {error}", file=sys.stderr)
        return 1
    print(f"{asked.out.stat().st_size / 1e6:.1f} MB: {asked.out.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
