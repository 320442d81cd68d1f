"""A page of tables, parted: one page for each of its sections.

What the checks reject is written into one text, and is twenty thousand words
of tables. The page of that text keeps what stands before the tables, and links
to a page for each set. Sphinx need not know of them.
"""

import re
from html import unescape

PAGE = "book/checks"
# The sections of a page, and what they begin with.
SET = re.compile(r'<section id="([^"]+)"[^>]*>\s*<h2>((\d+)\.[^<]*)')
QUESTION = re.compile(r'<section id="([^"]+)">\s*<h3>([^<]*)')
HEADING = re.compile(r"(</?h)([23])(?=[ >])")


def name_of(heading):
    """The page of a section, by its heading; None if it has none.

    heading  begins with a number and a full stop
    """
    number = re.match(r"(\d+)\. ", heading)
    return f"{PAGE}-{int(number[1]):02}" if number else None


def parted(body):
    """The text of a page, parted.

    body     HTML
    returns  (HTML of the page, list of (id, heading, HTML) for its sections)
    """
    found = list(SET.finditer(body))
    close = body.rindex("</section>")
    ends = [*(part.start() for part in found[1:]), close]
    pages, links = [], []
    for part, end in zip(found, ends, strict=True):
        whole = body[part.start() : end]
        first = QUESTION.search(whole)
        target = name_of(part[2]).rpartition("/")[2]
        names = ", ".join(
            f'<a href="{target}.html#{anchor}"><code>{name}</code></a>'
            for anchor, name in QUESTION.findall(whole)
        )
        links.append(
            f"{whole[: first.start()]}<p>What was tried: {names}.</p>\n"
            "</section>\n"
        )
        pages.append((part[1], part[2], raised(whole)))
    start = found[0].start()
    return body[:start] + "".join(links) + body[close:], pages


def raised(html):
    """HTML whose headings weigh one level more."""
    return HEADING.sub(lambda tag: f"{tag[1]}{int(tag[2]) - 1}", html)


def exercises(env, heading):
    """The page of the exercises that a section is about."""
    begins = f"exercises/{int(heading.partition('.')[0]):02}_"
    return next(name for name in sorted(env.found_docs) if begins in name)


def contents(rows):
    """A table of contents for the theme: (id, heading) of what it lists."""
    lines = "".join(
        f'<li><a class="reference internal" href="#{anchor}">{heading}</a></li>'
        for anchor, heading in rows
    )
    first = '<a class="reference internal" href="#">.</a>'
    return f"<ul><li>{first}<ul>{lines}</ul></li></ul>"


def assemble(app, pagename, templatename, context, doctree):
    """Part the page when it is written, and write its parts beside it."""
    if pagename != PAGE or not SET.search(context.get("body", "")):
        return
    context["body"], parts = parted(context["body"])
    context["toc"] = contents([part[:2] for part in parts])
    whole = PAGE.rpartition("/")[2] + ".html"
    links = [
        {
            "link": f"{name_of(heading).rpartition('/')[2]}.html",
            "title": heading,
        }
        for _, heading, _ in parts
    ]
    for n, (_, heading, html) in enumerate(parts):
        rows = re.findall(r'<section id="([^"]+)">\s*<h2>([^<]*)', html)
        its = {
            "title": f"{unescape(heading)}: what the checks reject",
            "body": f'<p><a href="{whole}">What the checks reject</a>, '
            f'of the <a href="../{exercises(app.env, heading)}.html">exercises'
            f" of this set</a></p>\n{html}",
            "toc": contents(rows),
            "display_toc": True,
            "description": f"What the checks of set {heading} reject, "
            "answer by answer, and what they say.",
            "prev": links[n - 1] if n else {"link": whole, "title": "Overview"},
            "next": links[n + 1] if n + 1 < len(links) else None,
        }
        app.builder.handle_page(name_of(heading), its, "page.html")
    app.builder.current_docname = pagename


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("html-page-context", assemble, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
