"""Packs the whole book into one EPUB, from the pages that were built.

Films become strips, evidence a line, answers stand open. Colours are those of
the light page, written out: few readers know variables.

EbookLib 0.20 was tried (2026-11-26). It would save thirty lines of this file,
those that write the package and the archive, not those that read a page. But
it brings lxml, and the tests that open the EPUB would bring both into
requirements.txt, which is part of what every notebook was executed with. And
its archive bears the time of day: the same pages would give other bytes.
"""

import argparse
import posixpath
import re
import sys
import zipfile
from html import escape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import yaml
from bs4 import BeautifulSoup

from tools import pdf

ROOT = pdf.ROOT
TARGET = ROOT / "_build/shard-by-shard.epub"
LEFT_OUT = ("book/explore", "book/status")  # what only a browser can show
# What an e-reader has no use for, beside what paper has none for.
SCREEN = (
    ".bar, output, button, .strips, svg.rest, .enlarge, .used:empty, "
    "input, label, .collapsed, template, noscript"
)
VARIABLE = re.compile(r"var\(--[\w-]+,\s*([^()]*(?:\([^()]*\))?)\)")
# What a phone needs: it is no part of the drawing.
NARROW = re.compile(
    r"(?:;\s*)?(?:transform|transform-origin|display|--[\w-]+)\s*:\s*[^;]*"
)
SMALL = re.compile(r"font-size: min\(([\d.]+px), var[^;]*\)\)?")
# HTML writes these small, XML as they are.
CASED = """viewBox preserveAspectRatio patternUnits patternTransform
patternContentUnits clipPathUnits markerWidth markerHeight markerUnits
gradientUnits gradientTransform textLength lengthAdjust refX refY"""
CASES = {name.lower(): name for name in re.findall(r"\w+", CASED)}
TAGS = {"clippath": "clipPath", "lineargradient": "linearGradient"}
SVG, MATH = "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"
KEPT = re.compile(r"(?!data-|on|nowrap|align$|loading$|tabindex$)")
SHEET = """
body { font-family: serif; line-height: 1.45; margin: 0 4%; }
h1, h2, h3, h4, .caption-number { line-height: 1.2; }
pre, code { font-family: monospace; font-size: 0.85em; }
pre { border: 1px solid #d3d6da; padding: 0.5em; white-space: pre-wrap;
  overflow-wrap: anywhere; }
figure { break-inside: avoid; margin: 1em 0; }
figcaption, table, .agree, .part { font-family: sans-serif; font-size: 0.88em; }
.caption-number { font-weight: bold; margin-right: 0.5em; }
svg, img { height: auto; max-width: 100%; }
svg text, svg { font-family: sans-serif; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #d3d6da; padding: 0.25em 0.8em 0.25em 0;
  text-align: left; vertical-align: top; }
.reel figure { display: inline-block; margin: 0.4em; width: 46%; }
.sbs-film svg { overflow: visible; }
.sbs-film svg rect:not([fill]), .sbs-film .w, .sbs-film .g, .sbs-film .n,
.sbs-film .e, .sbs-film .u { fill: none; }
.sbs-film svg rect { stroke: #14171c; stroke-width: 0.8; }
.sbs-film .w, .sbs-film .n, .sbs-film .b, .sbs-film .e { stroke: #14171c; }
.sbs-film .u { stroke: #c4161c; stroke-width: 2.4; }
.sbs-film .g { stroke-opacity: 0.55; }
.sbs-film svg text, .sbs-film svg use { font-size: 12px; }
.sbs-sweep .m { display: none; }
.sbs-sweep .m.on { display: inline; }
.sbs-sweep path { fill: none; stroke: #5a616b; }
.sbs-sweep .l0 { stroke: #1b64b5; stroke-width: 2; }
.sbs-sweep .l1 { stroke: #b9480a; stroke-dasharray: 7 3; stroke-width: 2; }
.sbs-sweep .l2 { stroke: #5b1f96; stroke-width: 3; }
.sbs-sweep .s { fill: #5b1f96; opacity: 0.13; stroke: none; }
.axis-x { color: #1b64b5; } .axis-y { color: #b9480a; }
.axis-z { color: #007a66; }
.k, .kn, .kd, .ow { color: #6b2f8f; } .c1, .sd { color: #5a616b; }
div.math { margin: 1em 0; overflow-x: auto; }
.eqno { float: right; }
.used, .checked { clear: both; color: #5a616b; display: block;
  font-family: sans-serif; font-size: 0.8em; }
.part { color: #5a616b; }
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"
xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{title}</title>
<link rel="stylesheet" type="text/css" href="{up}style.css"/></head>
<body>{body}</body></html>
"""


CONTAINER = """<?xml version="1.0"?>
<container version="1.0"
xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="EPUB/book.opf"
media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"
unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">shard-by-shard</dc:identifier>
<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>
<dc:language>en</dc:language>
<meta property="dcterms:modified">2026-01-01T00:00:00Z</meta></metadata>
<manifest>{items}</manifest><spine>{spine}</spine></package>
"""
CONTENTS = (
    '<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{rows}</ol></nav>'
)


def item(uid, name, kind, properties=()):
    """A line of what an EPUB holds."""
    more = f' properties="{" ".join(properties)}"' if properties else ""
    return f'<item id="{uid}" href="{name}" media-type="{kind}"{more}/>'


def pages(toc):
    """The pages of the book in their order, without what needs a browser."""
    return [page for page in pdf.pages(toc) if page[0] not in LEFT_OUT]


def article_of(path):
    """The text of a built page, for an e-reader."""
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article")
    for moment in article.select(".sbs-film noscript"):
        moment.unwrap()
    for thing in article.select(SCREEN):
        thing.decompose()
    pdf.for_paper(article)
    for svg in article.select("svg"):
        draw(svg)
    for formula in article.select("math"):
        formula["xmlns"] = MATH
        for part in formula.select("mfrac"):  # MathML 3 wants them elsewhere
            for key in ("displaystyle", "scriptlevel"):
                part.attrs.pop(key, None)
    for thing in article.find_all(True):
        thing.attrs = {
            CASES.get(key, key): value
            for key, value in thing.attrs.items()
            if KEPT.match(key)
        }
    return article


def draw(svg):
    """Write out an SVG as XML has it, without variables."""
    for text in svg.select("text"):
        if "--two, none" in text.get("style", ""):
            text.decompose()  # in two lines, for a phone
    svg["xmlns"] = SVG
    svg["xmlns:xlink"] = "http://www.w3.org/1999/xlink"
    for thing in (svg, *svg.find_all(True)):
        thing.name = TAGS.get(thing.name, thing.name)
        for key in ("fill", "stroke"):
            if key in thing.attrs:
                thing[key] = VARIABLE.sub(r"\1", thing[key])
        style = thing.get("style")
        if style is None:
            continue
        style = SMALL.sub(r"font-size: \1", style)
        style = VARIABLE.sub(r"\1", NARROW.sub("", style)).strip("; ")
        if style:
            thing["style"] = style
        else:
            del thing["style"]


def address(link, name, names, ids):
    """Where a link leads in the EPUB, or None.

    link     as it stands in the page
    name     of the page, without suffix
    names    the pages that are packed
    ids      dict: page -> its ids
    """
    if urlparse(link).scheme in ("http", "https", "mailto"):
        return link
    path, place = urldefrag(link)
    target = pdf.inside(name, path) if path else f"{name}.html"
    stem = unquote(target).removesuffix(".html")
    if stem not in names:
        return None
    if place and unquote(place) not in ids[stem]:
        place = ""
    here = posixpath.dirname(name) or "."
    to = posixpath.relpath(f"{stem}.xhtml", here) if stem != name else ""
    return f"{to}#{place}" if place else to or None


def unlike(article):
    """Give each id once, and let what points to none go."""
    seen = set()
    for thing in article.select("[id]"):
        if thing["id"] in seen:
            del thing["id"]
        else:
            seen.add(thing["id"])
    for thing in article.find_all(True):
        for key in ("aria-labelledby", "aria-describedby", "for", "headers"):
            if key in thing.attrs and thing[key] not in seen:
                del thing[key]
    return seen


def make(html, target, order):
    """Write the EPUB.

    html     the folder of the built page
    target   path of the EPUB
    order    as `pages` returns
    returns  the number of pages
    raises   FileNotFoundError for a page that was not built
    """
    articles = {}
    for name, _ in order:
        path = html / f"{name}.html"
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist: run make book")
        articles[name] = article_of(path)
    ids = {name: unlike(article) for name, article in articles.items()}
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    files = {"style.css": SHEET.encode()}
    items = [
        item("style", "style.css", "text/css"),
        item("nav", "nav.xhtml", "application/xhtml+xml", ("nav",)),
    ]
    pictures, rows, spine = {}, [], ["nav"]
    for name, part in order:
        article = articles[name]
        for link in article.select("a[href]"):
            there = address(link["href"], name, articles, ids)
            if there:
                link["href"] = there
            else:
                link.name, link.attrs = "span", {}
        for picture in article.select("img[src]"):
            source = pdf.inside(name, unquote(picture["src"]))
            pictures.setdefault(source, html / source)
            there = posixpath.relpath(source, posixpath.dirname(name))
            picture["src"] = there
            picture["alt"] = picture.get("alt", "")
        title = article.select_one("h1").get_text(" ", strip=True)
        body = article.decode(formatter="minimal")
        uid, file = re.sub(r"\W", "-", name), f"{name}.xhtml"
        files[file] = PAGE.format(
            title=escape(title), body=body, up="../" * name.count("/")
        ).encode()
        holds = [
            what
            for tag, what in (("<svg", "svg"), ("<math", "mathml"))
            if tag in body
        ]
        items.append(item(uid, file, "application/xhtml+xml", holds))
        spine.append(uid)
        if part:
            rows.append((part, []))
        rows[-1][1].append(f'<li><a href="{file}">{escape(title)}</a></li>')
    for n, (source, path) in enumerate(pictures.items()):
        kind = {".svg": "svg+xml", ".jpg": "jpeg"}.get(path.suffix, "png")
        drawn = path.read_bytes()
        if path.suffix == ".svg":
            drawn = VARIABLE.sub(r"\1", drawn.decode()).encode()
        files[source] = drawn
        items.append(item(f"picture-{n}", source, f"image/{kind}"))
    listed = "".join(
        f"<li><span>{escape(part)}</span><ol>{''.join(links)}</ol></li>"
        for part, links in rows
    )
    files["nav.xhtml"] = PAGE.format(
        title="Contents", body=CONTENTS.format(rows=listed), up=""
    ).encode()
    files["book.opf"] = PACKAGE.format(
        title=escape(config["title"]),
        author=escape(config["author"]),
        items="".join(items),
        spine="".join(f'<itemref idref="{uid}"/>' for uid in spine),
    ).encode()
    write(target, files)
    return len(order)


def write(target, files):
    """Write the archive: what it is comes first, and is not packed."""
    date = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes
    whole = {"META-INF/container.xml": CONTAINER.encode()}
    whole |= {f"EPUB/{name}": data for name, data in files.items()}
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(
            zipfile.ZipInfo("mimetype", date), b"application/epub+zip"
        )
        for name, data in whole.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.epub", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=TARGET)
    asked = parser.parse_args(arguments)
    order = pages(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    try:
        make(pdf.HTML, asked.out, order)
    except FileNotFoundError as error:
        print(f"epub: {error}", file=sys.stderr)
        return 1
    print(f"{asked.out.stat().st_size / 1e6:.1f} MB: {asked.out.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
