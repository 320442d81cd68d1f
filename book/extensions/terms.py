"""A term of the glossary says what it means where a page first uses it.

The word becomes a link to its line of the glossary; under the mouse or the
keyboard's focus the definition appears below it, without a script.
"""

import functools
import re
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from mdit_py_plugins.anchors.index import slugify
from sphinx.transforms.post_transforms import SphinxPostTransform

FOLDERS = ("chapters/", "exercises/")
# What is no running text, or says already what it means.
ELSEWHERE = (
    nodes.title,
    nodes.reference,
    nodes.literal,
    nodes.literal_block,
    nodes.caption,
    nodes.table,
    nodes.math,
    nodes.raw,
)
ABBREVIATION = re.compile(r"[A-Z]{2,4}")


@functools.cache
def definitions(path):
    """The terms of the glossary.

    path     of glossary.yml
    returns  dict from each term, and from an abbreviation that the book uses
             for it, to (name of its line, what it means as plain text)
    """
    found = {}
    for rows in yaml.safe_load(Path(path).read_text(encoding="utf-8")).values():
        for row in rows:
            line = anchor(row["term"]), plain(row["means"])
            found[row["term"]] = line
            if ABBREVIATION.fullmatch(row.get("ours", "")):
                found[row["ours"]] = line
    return found


def anchor(term):
    """The name of a term's line in the glossary."""
    return f"term-{slugify(term)}"


def plain(words):
    """Text without the marks of Markdown and of formulas."""
    words = re.sub(
        r"\$([^$]*)\$", lambda found: re.sub(r"[\\{}]", "", found[1]), words
    )
    return words.replace("`", "").replace("*", "")


def finder(terms):
    """What finds the terms in running text, in the singular or the plural.

    terms    of the glossary
    returns  compiled pattern; its group is the term. A term that begins small
             may begin a sentence; an abbreviation is taken as it is written
    """
    words = sorted(terms, key=len, reverse=True)
    forms = [
        re.escape(word)
        if word[0].isupper()
        else f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}"
        for word in words
    ]
    return re.compile(rf"(?<![\w-])({'|'.join(forms)})(?:s|es)?(?![\w-])")


def meaning(terms, word):
    """The line of the glossary for a word as it was found, and its meaning."""
    return terms.get(word) or terms[word[0].lower() + word[1:]]


class Terms(SphinxPostTransform):
    """Marks the first use of each term in the text of a chapter."""

    default_priority = 710
    formats = ("html",)

    def run(self, **kwargs):
        """Docutils calls this for every page."""
        if not self.env.docname.startswith(FOLDERS):
            return
        terms = definitions(glossary(self.app))
        pattern, seen = finder(terms), set()
        page = self.app.builder.get_relative_uri(
            self.env.docname, "book/glossary"
        )
        for paragraph in self.document.findall(nodes.paragraph):
            if inside(paragraph, ELSEWHERE):
                continue
            for text in list(paragraph.findall(nodes.Text)):
                if not inside(text, ELSEWHERE):
                    mark(text, terms, pattern, seen, page)


def inside(node, kinds):
    """Whether a node lies within one of these kinds."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def mark(text, terms, pattern, seen, page):
    """Replace what was not seen before by links to the glossary.

    seen     names of lines; those found are added
    page     address of the glossary
    """
    parts, end = [], 0
    for found in pattern.finditer(text):
        line, means = meaning(terms, found[1])
        if line in seen:
            continue
        seen.add(line)
        parts.append(nodes.Text(text[end : found.start()]))
        link = (
            f'<a class="term" href="{escape(page)}#{line}" '
            f'data-means="{escape(means)}">{escape(found[0])}</a>'
        )
        parts.append(nodes.raw("", link, format="html"))
        end = found.end()
    if parts:
        parts.append(nodes.Text(text[end:]))
        text.parent.replace(text, parts)


def glossary(app):
    """Where the terms are written."""
    return Path(app.srcdir) / "book/glossary.yml"


def depend(app, doctree):
    """Let a chapter be made again when the glossary changes."""
    if app.env.docname.startswith(FOLDERS):
        app.env.note_dependency(glossary(app))


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_post_transform(Terms)
    app.connect("doctree-read", depend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
