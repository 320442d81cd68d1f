"""What stands around the text of a page: head, sidebars, footer, scripts."""

import re

from docutils import nodes

# Scripts and styles of packages that a page may not need: what their names
# contain, and what the text of a page that needs them contains.
NEEDED = {
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
# A branch of the sidebar: its link, then an opener without a name.
BRANCH = re.compile(
    r'(<a class="[^"]*reference internal"[^>]*>)(.*?)(</a>'
    r'<details(?: open="open")?>)<summary>'
)
THEBE = re.compile(
    r'<script type="text/x-thebe-config">.*?</script>\s*'
    r"|<script>kernelName = .*?</script>\s*",
    re.DOTALL,
)
NO_HEADER = re.compile(
    r"<thead>\s*<tr[^>]*>(?:\s*<td class=\"head\"></td>)+\s*</tr>\s*</thead>"
)
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


def name_branches(html):
    """Give the openers of the sidebar's branches names."""

    def named(found):
        title = re.sub("<[^>]*>", "", found[2])
        name = f'<summary aria-label="Pages of {title}">'
        return "".join((found[1], found[2], found[3], name))

    return BRANCH.sub(named, html)


def assemble(app, pagename, templatename, context, doctree):
    """Leave out what this page does not need, and name what has no name."""
    body = context.get("body", "")
    for kind in ("script_files", "css_files"):
        files = [f for f in context.get(kind, ()) if wanted(f, body)]
        context[kind] = once(files)
    context["root_title"] = "Home"
    if doctree is not None:
        context["description"] = describe(doctree)
    tree = context.get("generate_toctree_html")
    if tree:

        def named_tree(*args, **options):
            return name_branches(str(tree(*args, **options)))

        context["generate_toctree_html"] = named_tree


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
    html = THEBE.sub("", html)
    # A header cell without words is no header, a row of them no row.
    html = html.replace(
        '<th class="head"><p></p></th>', '<td class="head"></td>'
    )
    html = NO_HEADER.sub("", html)
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
