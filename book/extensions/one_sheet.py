"""One style sheet for all pages, without what no page shows.

The theme's own sheet is large, and each of ten sheets is a request that the
first letter waits for. When all pages are written, the sheets become one, in
their order, and of the rules of others only those stay whose classes and names
occur in a page or in a script. Comments, spaces and variables that nothing asks
for go as well.
"""

import hashlib
import posixpath
import re
from pathlib import Path

NAME = "page.css"
# Sheets of the theme and of its helpers, then ours, which are taken whole.
THEIRS = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb.*.css",
)
OURS = ("colours.css", "films.css", "book.css", "cells.css")
LINK = re.compile(
    r'\s*<link (?=[^>]*rel="stylesheet")[^>]*href="(?P<root>[^"]*)_static/'
    r'(?P<path>[^"?]*)[^"]*"[^>]*>'
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# What ends a rule's head or a block, and strings, in which neither counts.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]')
STRING = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)""")
URL = re.compile(r"url\(\s*(['\"]?)(?!data:|#|/|https?:)([^'\")]+)\1\s*\)")
INNER = re.compile(r":(?:not|is|where|has|matches)\((?:[^()]|\([^()]*\))*\)")
WORD = re.compile(r"[.#](-?[A-Za-z_](?:[\w-]|\\.)*)")
GROUPS = ("@media", "@supports", "@layer", "@container")
LEFT_OUT = ("@font-face", "@import", "@charset")  # book.css has the letters
# Bootstrap's script names the classes of all that it can do. Pages have its
# tips and its menus.
PARTS = "scripts/bootstrap.js"
DONE = re.compile(
    "tooltip|bs-tooltip|dropdown|show$|fade$|active$|disabled$|collaps"
)
# Strings and addresses stand as they are; a comment says nothing to a browser.
KEPT = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^)"']*\))|/\*.*?\*/""",
    re.DOTALL,
)
ASKED = re.compile(r"var\(\s*(--[\w-]+)")
VARIABLE = re.compile(
    r"""(?<=[{;])(--[\w-]+):(?:"[^"]*"|[^;}"])*(?:;|(?=\}))"""
)
BARE = re.compile(r"(?<=[{};])[^{};@]+\{\}")


def blocks(css):
    """The rules of a sheet, one after the other.

    css      text without comments
    returns  generator of (head, body); body is None for a line without braces
    """
    depth = start = begin = 0
    head = ""
    for token in TOKEN.finditer(css):
        sign = token[0]
        if sign == "{":
            if not depth:
                head, begin = css[start : token.start()].strip(), token.end()
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                yield head, css[begin : token.start()]
                start = token.end()
        elif sign == ";" and not depth:
            yield css[start : token.start()].strip(), None
            start = token.end()


def parts(selectors):
    """Selectors that stand in one head, parted at commas outside brackets."""
    found, depth = [""], 0
    for letter in selectors:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


def shows(selector, known):
    """Whether a selector can match: all its classes and names are known."""
    bare = selector
    while INNER.search(bare):
        bare = INNER.sub("", bare)
    return all(word.replace("\\", "") in known for word in WORD.findall(bare))


def pruned(css, known):
    """A sheet without rules that match nothing.

    css      text
    known    set of the words that pages and scripts hold
    returns  str
    """
    found = []
    for head, body in blocks(COMMENT.sub("", css)):
        if body is None or head.startswith(LEFT_OUT):
            continue
        if head.startswith(GROUPS):
            if inner := pruned(body, known):
                found.append(f"{head}{{{inner}}}")
        elif head.startswith("@"):
            found.append(f"{head}{{{body}}}")
        elif kept := [s for s in parts(head) if shows(s, known)]:
            found.append(f"{','.join(kept)}{{{body.strip()}}}")
    return "\n".join(found)


def words(folder):
    """What classes and names pages have, and scripts may give them."""
    known = set()
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for value in re.findall(r'\s(?:class|id)="([^"]*)"', text):
            known.update(value.split())
    for path, text in scripts(folder):
        for string in STRING.findall(text):
            found = re.findall(r"[A-Za-z_][\w-]*", string)
            if path.as_posix().endswith(PARTS):
                found = filter(DONE.match, found)
            known.update(found)
    return known


def scripts(folder):
    """The scripts of the pages below a folder: pairs of path and text."""
    for path in (folder / "_static").rglob("*.js"):
        if path.stat().st_size < 300_000:  # larger ones are data
            yield path, path.read_text(encoding="utf-8")


def asked(folder):
    """The variables of CSS that pages, scripts and other sheets speak of."""
    found = set()
    for path in folder.rglob("*.html"):
        found.update(ASKED.findall(path.read_text(encoding="utf-8")))
    for path in (folder / "_static").glob("*.css"):
        if path.name != NAME:
            css = path.read_text(encoding="utf-8")
            if not any(path.match(name) for name in THEIRS):
                found.update(ASKED.findall(css))
    for _, text in scripts(folder):
        found.update(re.findall(r"--[\w-]+", text))
    return found


def packed(css):
    """A sheet without comments, and without spaces that say nothing."""

    def smaller(text):
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r" ?([{};,]) ?", r"\1", text)
        text = re.sub(r"(?<=[\w-]): (?=[^;}])", ":", text)
        text = text.replace(";}", "}")
        return re.sub(":(?=[;}])", ": ", text)  # a variable without a value

    parts, last = [], 0
    for found in KEPT.finditer(css):
        parts += [css[last : found.start()], found[1] or ""]
        last = found.end()
    parts.append(css[last:])
    rest = iter(parts[1::2])
    whole = smaller(HOLE.join(parts[::2]))
    return re.sub(HOLE, lambda _: next(rest), whole).strip()


HOLE = "\0"  # where a string stood


def without_unasked(css, others):
    """A packed sheet without variables that nothing asks for.

    others   set of variables that somebody else asks for
    """
    before = None
    while css != before:
        before, needed = css, others | set(ASKED.findall(css))
        unasked = {m[0] for m in VARIABLE.finditer(css) if m[1] not in needed}
        css = VARIABLE.sub(
            lambda found, unasked=unasked: (
                "" if found[0] in unasked else found[0]
            ),
            css,
        )
        css = BARE.sub("", css.replace(";}", "}"))
    return css


def joined(folder):
    """The one sheet of the pages below a folder, as text."""
    known, static, found = words(folder), folder / "_static", []
    for pattern in (*THEIRS, *OURS):
        for path in sorted(static.glob(pattern)):
            place = path.relative_to(static).parent.as_posix()
            css = path.read_text(encoding="utf-8")
            if pattern not in OURS:
                css = pruned(css, known)

            def moved(url, place=place):
                target = posixpath.normpath(posixpath.join(place, url[2]))
                return f'url("{target}")'

            found.append(URL.sub(moved, css))
    return without_unasked(packed("\n".join(found)), asked(folder))


def version(app):
    """Some digits that change when one of our sheets does."""
    found = hashlib.sha256()
    for name in OURS:
        found.update((Path(app.srcdir) / "book/style" / name).read_bytes())
    return found.hexdigest()[:8]


def one_link(html, digits):
    """A page's HTML with one link in place of those to the sheets."""
    head, sign, rest = html.partition("</head>")
    joined_ones = [*THEIRS, *OURS, "styles/theme.css"]
    first = True

    def replaced(link):
        nonlocal first
        if not any(Path(link["path"]).match(name) for name in joined_ones):
            return link[0]
        new = f"{link['root']}_static/{NAME}?v={digits}"
        text = f'\n  <link rel="stylesheet" href="{new}">' if first else ""
        first = False
        return text

    return LINK.sub(replaced, head) + sign + rest


def wrap_templates(app):
    """Let every page link the one sheet."""
    if app.builder.format != "html":
        return
    render, digits = app.builder.templates.render, version(app)
    app.builder.templates.render = lambda name, context: one_link(
        render(name, context), digits
    )


def write_sheet(app, exception):
    """Write the one sheet when all pages are written."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir)
        target = folder / "_static" / NAME
        target.write_text(joined(folder), encoding="utf-8")


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("builder-inited", wrap_templates)
    app.connect("build-finished", write_sheet, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
