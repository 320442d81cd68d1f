"""The first page: its counted parts, and a style of its own."""

import sys
from pathlib import Path

PAGE = "book/index"


def read_again(app, env, docnames):
    """Read the first page in every build: other files have its numbers."""
    if PAGE in env.found_docs and PAGE not in docnames:
        docnames.append(PAGE)


def fill(app, docname, source):
    """Put the counted parts into the text of the first page."""
    if docname == PAGE:
        root = Path(app.srcdir)
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        from tools import landing

        source[0] = landing.fill(source[0], root)


def widen(app, pagename, templatename, context, doctree):
    """Give the first page its own style, which hides the sidebar."""
    if pagename == PAGE:
        app.add_css_file("landing.css", priority=900)
        app.add_js_file("landing.js", loading_method="defer")


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("env-before-read-docs", read_again)
    app.connect("source-read", fill)
    app.connect("html-page-context", widen, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
