"""The search: an index of sections, written beside the pages as a script.

A script can be loaded from a file, which data cannot; the pages load it when
somebody searches.
"""

import json
import re
from pathlib import Path

import parted
from docutils import nodes

NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
LONGEST = 4000  # letters of a section that are searched


def prose(section):
    """The words of a section without its subsections, code and output."""
    found = []

    def gather(node):
        for child in node.children:
            if isinstance(child, (nodes.section, nodes.title, nodes.raw)):
                continue
            if isinstance(child, nodes.system_message):
                continue  # to the author; the page will not have it
            if isinstance(child, (nodes.literal_block, nodes.comment)):
                continue
            if isinstance(child, (nodes.paragraph, nodes.entry, nodes.caption)):
                found.append(child.astext())
            elif isinstance(child, (nodes.math_block, nodes.image)):
                continue
            else:
                gather(child)

    gather(section)
    return " ".join(" ".join(found).split())[:LONGEST]


def names(section):
    """The names in a section's code, each once, in order."""
    found = {}
    for child in section.children:
        if isinstance(child, nodes.section):
            continue
        for block in child.findall(nodes.literal_block):
            found |= dict.fromkeys(NAMES.findall(block.astext()))
    return " ".join(found)


def sections(doctree):
    """Every section of a page: anchor, heading, its parents, words, names."""
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is None or title.parent is not section:
            continue
        above, node = [], section.parent
        while isinstance(node, nodes.section):
            above.insert(0, node.next_node(nodes.title).astext())
            node = node.parent
        yield {
            "anchor": section["ids"][0] if above else "",
            "heading": title.astext(),
            "above": above[1:],
            "text": prose(section),
            "code": names(section),
        }


def kept(env):
    """The sections of each page, kept with what Sphinx knows of the pages."""
    if not hasattr(env, "book_sections"):
        env.book_sections = {}
    return env.book_sections


def keep(app, doctree):
    """Keep the sections of a page that was read."""
    kept(app.env)[app.env.docname] = list(sections(doctree))


def merge(app, env, docnames, other):
    """Keep the sections of pages that another process read."""
    for docname in docnames:
        kept(env)[docname] = kept(other)[docname]


def index(env):
    """All sections of the book, as the pages' script wants them."""
    found = []
    for docname in sorted(env.found_docs):
        number = env.toc_secnumbers.get(docname, {}).get("")
        title = env.titles[docname].astext() if docname in env.titles else ""
        for row in kept(env)[docname]:
            page = page_of(docname, row) + ".html"
            row = {**row, "page": page, "title": title}
            if number:
                row["number"] = ".".join(map(str, number))
            found.append(row)
    return found


def page_of(docname, row):
    """The page that shows a section."""
    if docname == parted.PAGE:
        heading = [*row["above"], row["heading"]][0]
        return parted.name_of(heading) or docname
    return docname


def write(app, error):
    """Write the index beside the pages."""
    if error is None and app.builder.format == "html":
        data = json.dumps(index(app.env), ensure_ascii=False)
        data = data.replace("</", "<\\/")
        target = Path(app.outdir) / "_static/sections.js"
        target.write_text(f"window.SECTIONS = {data};\n", encoding="utf-8")


def add_page(app):
    """The page that a search without its dialog opens."""
    yield "search", {}, "search.html"


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_js_file("search.js", loading_method="defer")
    app.connect("doctree-read", keep)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", write)
    return {
        "env_version": 1,  # of what `keep` keeps
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
