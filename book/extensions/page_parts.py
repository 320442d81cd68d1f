"""What stands around the text of a page: head, sidebars, footer, scripts."""

import re
from html import unescape

import sidebar
from docutils import nodes

# Scripts and styles of packages that a page may not need: what their names
# contain, and what the text of a page that needs them contains.
NEEDED = {
    "clipboard": None,  # book.js copies
    "copybutton": None,
    "thebe": None,
    "THEBE": None,
    "design-tabs": "sd-tab-",
    "sphinx-design": 'class="sd-',
    "toggle": 'class="toggle',
    "mathjax": None,
    "MathJax": None,
    "searchtools": None,
    "language_data": None,
}
DESCRIPTION = 155  # letters: what search engines show
FIRST = 1_000  # letters of text that the first screen has
UNSEEN = re.compile(r"<(script|svg|template|details)\b.*?</\1>", re.DOTALL)
THEBE = re.compile(
    r'<script type="text/x-thebe-config">.*?</script>\s*'
    r"|<script>kernelName = .*?</script>\s*",
    re.DOTALL,
)
NO_HEADER = re.compile(
    r"<thead>\s*<tr[^>]*>(?:\s*<td class=\"head\"></td>)+\s*</tr>\s*</thead>"
)
# Scripts that need not run before the page is read, and what they would need.
SCRIPT = re.compile(r'<script src="([^"]*_static/[^"]*)"></script>')
OPTION = re.compile(r"\s*<script>DOCUMENTATION_OPTIONS\.[^<]*</script>")
# A cell of one paragraph needs no element for it.
CELL = re.compile(
    r"<(t[dh])([^>]*)><p>((?:(?!</?p>).)*)</p>\s*</\1>", re.DOTALL
)
CONTENTS = re.compile(r'<nav id="pst-page-toc-nav".*?</nav>', re.DOTALL)
MINUTES = re.compile(r" \((\d+) minutes?\)(?=</a>)")
# What the theme calls its buttons, and what they do.
NAMES = (
    (
        'aria-label="Download this page"',
        'aria-label="Download this page" title="Download this page"',
    ),
    (
        'aria-label="Color mode" data-bs-title="Color mode"',
        'aria-label="Light or dark" title="Light or dark"',
    ),
    (
        'title="Toggle secondary sidebar"',
        'aria-label="Contents of this page" title="Contents of this page"',
    ),
)
# Code of so few letters stands in one line; in a cell, of fewer.
CODE = re.compile(r'<code class="docutils literal notranslate">(.*?)</code>')
WHOLE, SHORT = 24, 14
ICON = re.compile(r'<(i|span) class="((?:theme-switch )?fa[srb]? ?[^"]*)"')


def short(text, length=DESCRIPTION):
    """The first words of a text.

    length   letters that they may take
    returns  str that ends with a full stop or an ellipsis
    """
    words = " ".join(text.split())
    if len(words) <= length:
        return words
    sentences = re.match(rf"(.{{40,{length - 1}}}[.?!])(?= )", words)
    if sentences:
        return sentences[1]
    return words[: length - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def describe(doctree):
    """What a page is about: its first paragraph, shortened; "" for none."""
    for paragraph in doctree.findall(nodes.paragraph):
        copy = paragraph.deepcopy()
        for raw in list(copy.findall(nodes.raw)):
            raw.parent.remove(raw)
        if text := copy.astext().strip():
            return short(text)
    return ""


def formula_first(body):
    """Whether a formula stands where a page is opened, which is short.

    body     HTML of the page's text
    """
    before, sign, _ = body.partition("<math")
    words = re.sub("<[^>]*>", "", UNSEEN.sub("", before))
    return bool(sign) and len(" ".join(words.split())) < FIRST


def wanted(entry, body):
    """Whether a page needs a script or a style.

    entry    what Sphinx keeps of it
    body     HTML of the page's text
    """
    words = f"{getattr(entry, 'filename', entry)} "
    words += f"{getattr(entry, 'attributes', {}).get('body', '')}"
    for part, sign in NEEDED.items():
        if part in words:
            return sign is not None and sign in body
    return True


def once(entries):
    """The entries without repetitions, in order."""
    seen, kept = set(), []
    for entry in entries:
        key = (
            str(getattr(entry, "filename", entry)),
            str(getattr(entry, "attributes", {}).get("body", "")),
        )
        if key not in seen:
            seen.add(key)
            kept.append(entry)
    return kept


def assemble(app, pagename, templatename, context, doctree):
    """Leave out what this page does not need, and name what has no name."""
    body = context.get("body", "")
    for kind in ("script_files", "css_files"):
        files = [f for f in context.get(kind, ()) if wanted(f, body)]
        context[kind] = once(files)
    context["root_title"] = "Home"
    if doctree is not None:
        context["description"] = describe(doctree)
    context["formula_first"] = formula_first(body)

    def tree(**options):
        one = sidebar.whole(app, tuple(options.items()))
        return sidebar.shown(one, app.builder.get_target_uri(pagename))

    context["generate_toctree_html"] = tree


def one_line(found):
    """Code within a line, with a name for the style if it is short."""
    letters = len(unescape(re.sub("<[^>]*>", "", found[1])))
    if " " not in found[1] or letters > WHOLE:
        return found[0]
    kind = "short" if letters <= SHORT else "whole"
    return found[0].replace("notranslate", f"notranslate {kind}", 1)


def polish(html):
    """The page's HTML with what no template reaches put right."""
    html = re.sub(
        "<sub>([XYZ])</sub>",
        lambda axis: f'<sub class="axis-{axis[1].lower()}">{axis[1]}</sub>',
        html,
    )
    html = ICON.sub(r'<\1 aria-hidden="true" class="\2"', html)
    # A name that does not contain what is to be read confuses who speaks it.
    html = html.replace(
        'class="btn search-button-field search-button__button pst-js-only" '
        'title="Search" aria-label="Search"',
        'class="btn search-button-field search-button__button pst-js-only"',
    )
    html = html.replace(
        '<span class="search-button__kbd-shortcut">',
        '<span class="search-button__kbd-shortcut" aria-hidden="true">',
    )
    html = re.sub(
        r'(<button class="btn search-button-field[^>]*) title="Search" '
        r'aria-label="Search"',
        r"\1",
        html,
    )
    html = CODE.sub(one_line, html)
    html = CONTENTS.sub(
        lambda nav: MINUTES.sub(" (\\1\N{NO-BREAK SPACE}min)", nav[0]), html
    )
    for old, new in NAMES:
        html = html.replace(old, new)
    html = OPTION.sub("", html)
    html = SCRIPT.sub(r'<script defer src="\1"></script>', html)
    # What the button shows, 1×, is its name.
    html = html.replace('class="speed" aria-label=', 'class="speed" title=')
    html = THEBE.sub("", html)
    # A header cell without words is no header, a row of them no row.
    html = html.replace(
        '<th class="head"><p></p></th>', '<td class="head"></td>'
    )
    html = NO_HEADER.sub("", html)
    html = CELL.sub(r"<\1\2>\3</\1>", html)
    html = html.replace(
        '<div id="pst-primary-sidebar"',
        '<div id="pst-primary-sidebar" role="region" aria-label="The book"',
    )
    html = re.sub(
        r'<(div|section) id="ethical-ad-placement".*?</\1>',
        "",
        html,
        flags=re.S,
    )
    first = '<meta name="viewport" content="width=device-width, initial-scale=1'
    head, sign, rest = html.partition("</head>")
    found = re.findall(rf"\s*{re.escape(first)}[^>]*>", head)
    for extra in found[1:]:
        head = head.replace(extra, "", 1)
    html = head + sign + rest
    html = re.sub(
        r'(<a [^>]*class="btn btn-sm btn-open-in-jupyterlab")',
        r'\1 aria-label="Open in JupyterLab"',
        html,
    )
    html = re.sub(
        r"<summary([^>]*)>\s*<p[^>]*>(.*?)</p>", r"<summary\1>\2", html
    )
    return re.sub(r"<img (?![^>]*loading=)", '<img loading="lazy" ', html)


def wrap_templates(app):
    """Let every page go through `polish` before it is written."""
    if app.builder.format != "html":
        return
    app.builder.search = False  # section_search does it
    render = app.builder.templates.render
    app.builder.templates.render = lambda name, context: polish(
        render(name, context)
    )


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("builder-inited", wrap_templates)
    app.connect("html-page-context", assemble, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
