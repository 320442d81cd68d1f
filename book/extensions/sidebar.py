"""The tree of all pages in the sidebar, made once instead of for each page.

The theme resolves, writes and parses the whole tree for every page, although
pages differ in two things only: where they are, and which branch is theirs.
"""

import functools
import re

from pydata_sphinx_theme.toctree import add_toctree_functions
from sphinx.util.osutil import relative_uri

OPEN = '<details open="open">'
NOWHERE = "search"  # a page at the root that the tree does not hold
# What may hold a link, and links.
TAG = re.compile(r"<(/?)(ul|li|details|a)\b([^>]*)>")
LINK = re.compile(r'(<a [^>]*href=")([^"#]+)(")')
OPENER = re.compile("</a>(<details>)")
LEVEL = re.compile(r'(class="toctree-l\d+)')
# A branch of the sidebar: its link, then an opener without a name.
BRANCH = re.compile(
    r'(<a class="[^"]*reference internal"[^>]*>)(.*?)(</a>'
    r'<details(?: open="open")?>)<summary>'
)


def name_branches(html):
    """Give the openers of the sidebar's branches names."""

    def named(found):
        title = re.sub("<[^>]*>", "", found[2])
        name = f'<summary aria-label="Pages of {title}">'
        return "".join((found[1], found[2], found[3], name))

    return BRANCH.sub(named, html)


@functools.lru_cache(maxsize=1)
def whole(app, options):
    """The tree as a page at the root shows it that is no part of it.

    options  pairs of names and values, of the theme's `generate_toctree_html`
    returns  str
    """

    def tree(collapse=True, **more):
        return app.builder._get_local_toctree(NOWHERE, collapse, **more)

    context = {"toctree": tree}
    add_toctree_functions(app, NOWHERE, "page.html", context, None)
    return name_branches(str(context["generate_toctree_html"](**dict(options))))


def shown(tree, target):
    """The tree as one page shows it.

    tree     what `whole` returns
    target   where the page is, from the root
    returns  str: links lead from there, and the page's branch is open
    """
    parts, end = [], 0
    for start, old, new in marks(tree, target):
        parts += [tree[end:start], new]
        end = start + len(old)
    html = "".join([*parts, tree[end:]])
    return LINK.sub(lambda a: a[1] + relative_uri(target, a[2]) + a[3], html)


def marks(tree, target):
    """What to replace where a page is: (place, old text, new text), in order.

    tree, target  as in `shown`
    """
    link, around = f'href="{target}"', []
    for tag in TAG.finditer(tree):
        if tag[1]:
            around = around if tag[2] == "a" else around[:-1]
        elif link in tag[3]:
            break
        elif tag[2] != "a":
            around.append(tag)
    else:
        return []
    opener = OPENER.match(tree, tree.index("</a>", tag.end()))
    found = [(one.start(), one[0], current(one)) for one in around]
    found.append((tag.start(), tag[0], current(tag).replace(link, 'href="#"')))
    if opener:
        found.append((opener.start(1), opener[1], OPEN))
    return found


def current(tag):
    """A tag that holds the page, with what says so."""
    if tag[2] == "details":
        return OPEN
    if tag[2] == "li":
        return LEVEL.sub(r"\1 current active", tag[0], count=1)
    if "class=" not in tag[0]:
        return tag[0].replace(">", ' class="current">')
    return tag[0].replace('class="', 'class="current ', 1)
