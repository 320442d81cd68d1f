"""Tables of words, which on a phone become cards, a row each.

A table that a narrow phone can show stays a table there, and so does one of
numbers, which are read across: that one scrolls, with a shadow at its edge.
"""

import re
from html import escape, unescape

from narrow import PHONE, width_of

TABLE = re.compile(r'<table class="table">(.*?)</table>', re.DOTALL)
ROW = re.compile(r"<tr\b[^>]*>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)</\1>", re.DOTALL)
CODE = re.compile(r"(<code\b[^>]*>)(.*?)</code>", re.DOTALL)
PAD = 18  # pixels beside a column
SIZE, MONO = 15, 8  # pixels: letters of a table, and one letter of code
WORDY = 14  # letters of a cell, on average: fewer are numbers
LONG = 20  # letters of a name that may break


def plain(html):
    """The words of HTML."""
    return " ".join(unescape(re.sub("<[^>]*>", "", html)).split())


def narrowest(cell):
    """Pixels that the longest word of a cell needs."""
    codes = [w for _, c in CODE.findall(cell) for w in plain(c).split()]
    words = plain(CODE.sub("", cell)).split()
    return max(
        [MONO * len(w) + 12 for w in codes]
        + [width_of(w, SIZE) for w in words],
        default=0,
    )


def breakable(html):
    """A table in which long names of code may break at an underscore."""

    def broken(found):
        if max(map(len, plain(found[2]).split()), default=0) < LONG:
            return found[0]
        return f"{found[1]}{found[2].replace('_', '_<wbr>')}</code>"

    return CODE.sub(broken, html)


def carded(found):
    """A table that says what its cells are, if it becomes cards on a phone."""
    rows = [CELL.findall(row) for row in ROW.findall(found[1])]
    body = [row for row in rows if row and row[0][0] == "td"]
    head = [plain(html) for _, _, html in rows[0]] if rows else []
    if not body or any(len(row) != len(head) for row in rows):
        return breakable(found[0])
    wide = sum(
        max(narrowest(row[n][2]) for row in rows) + PAD
        for n in range(len(head))
    )
    letters = [len(plain(html)) for row in body for _, _, html in row]
    if wide < PHONE or sum(letters) < WORDY * len(letters):
        return breakable(found[0])
    names = iter(head * len(rows))

    def named(cell):
        name = next(names)
        label = (
            f' data-label="{escape(name)}"' if name and cell[1] == "td" else ""
        )
        tag = cell[1] if plain(cell[3]) else "td"  # a head of nothing is none
        role = "cell" if tag == "td" else "columnheader"
        return f'<{tag} role="{role}"{label}{cell[2]}>{cell[3]}</{tag}>'

    html = CELL.sub(named, found[1])
    html = re.sub(r"<tr\b", '<tr role="row"', html)
    html = re.sub(r"<(thead|tbody)\b", r'<\1 role="rowgroup"', html)
    return breakable(f'<table class="table cards" role="table">{html}</table>')


def assemble(app, pagename, templatename, context, doctree):
    """Give the tables of a page their form for a phone."""
    if "body" in context:
        context["body"] = TABLE.sub(carded, context["body"])


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("html-page-context", assemble, priority=960)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
