"""Sets asides and sources, which stand in brackets, in the margin.

Brackets that hold a sentence of their own, and those that say where and when
something was read or measured, interrupt. Where the window is wide they stand
beside their line, elsewhere where they were written: the text stays one.
"""

import re
from html import unescape

FOLDER = "chapters/"
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
TOKEN = re.compile(
    r"<math\b.*?</math>|<code\b.*?</code>|<[^>]+>|[()]", re.DOTALL
)
TAGS = re.compile(r"<[^>]+>")
SENTENCE = re.compile(r"\([A-Z“].*[.?!]\)", re.DOTALL)
SOURCE = re.compile(
    r"\(.*(?:\b(?:read|measured|fetched)\b.*\d{4}[-\d]*|, (?:19|20)\d\d)\)",
    re.DOTALL,
)
SHORT, LONG = 18, 420  # letters of a note
FEW = 40  # letters that a paragraph has besides its notes


def brackets(html):
    """Where brackets open and close in a paragraph, tags and formulas apart.

    returns  list of (start, end); what is in brackets within brackets, or is
             not whole, is left out
    """
    found, depth, tags, start = [], 0, 0, 0
    for token in TOKEN.finditer(html):
        sign = token[0]
        if sign == "(":
            if not depth:
                start, within = token.start(), tags
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                return []
            if not depth and tags == within == 0:
                found.append((start, token.end()))
        elif sign.startswith("</"):
            tags -= 1
        elif not sign.startswith(("<math", "<code")) and sign[-2] != "/":
            tags += 1
    return found


def notes(paragraph):
    """A paragraph with its asides and sources marked."""
    html, parts, end = paragraph[1], [], 0
    whole = len(TAGS.sub("", html))
    for start, stop in brackets(html):
        words = unescape(TAGS.sub("", html[start:stop]))
        if not SHORT <= len(words) <= LONG or whole - len(words) < FEW:
            continue
        if not (SENTENCE.fullmatch(words) or SOURCE.fullmatch(words)):
            continue
        first = start - 1 if html[start - 1 : start].isspace() else start
        parts += [html[end:first], '<small class="side">', html[first:stop]]
        parts.append("</small>")
        end = stop
    return f"<p>{''.join(parts)}{html[end:]}</p>"


def assemble(app, pagename, templatename, context, doctree):
    """Sphinx calls this for every page."""
    if pagename.startswith(FOLDER) and "body" in context:
        context["body"] = PARAGRAPH.sub(notes, context["body"])


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("html-page-context", assemble, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
