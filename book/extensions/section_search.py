"""The search: an index of sections, written beside the pages as a script.

A script can be loaded from a file, which data cannot; the pages load it when
somebody searches.
"""

import json
import re
from pathlib import Path

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


def index(env):
    """All sections of the book, as the pages' script wants them."""
    found = []
    for docname in sorted(env.found_docs):
        doctree = env.get_doctree(docname)
        number = env.toc_secnumbers.get(docname, {}).get("")
        title = env.titles[docname].astext() if docname in env.titles else ""
        for row in sections(doctree):
            row["page"] = docname + ".html"
            row["title"] = title
            if number:
                row["number"] = ".".join(map(str, number))
            found.append(row)
    return found


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
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
