"""The mesh axes X, Y and Z in their colours, wherever code names them.

In comments, strings and printed output a letter is an axis when it is a
subscript (`A[I_X, J]`), stands after @ (`32@X`) or is a whole string (`"X"`).
Names of Python are left alone.
"""

import re
from html import escape

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

LETTERS = "XYZ"
LITERAL = ("docutils", "literal", "notranslate")
PRINTED = ("none", "text", "ansi", "myst-ansi", "output")
WORDS = ("c", "c1", "cm", "s", "s1", "s2", "sd", "sa")
# Tokens that look like plain text: no element is spent on them.
PLAIN = (
    "n",
    "p",
    "w",
    "o",
    "nn",
    "mi",
    "mf",
    "mh",
    "nb",
    "bp",
    "fm",
    "na",
    "kc",
    "ow",
)
# Strings in a string: all have one colour, so one element will do for them.
STRINGS = ("s", "s1", "s2", "sa", "se", "sb", "sc", "sh", "si", "sr")
# A string that is an axis and nothing else.
AXIS = re.compile(r"&quot;[XYZ]&quot;|&#39;[XYZ]&#39;")
# Keywords and comments that follow each other.
RUNS = re.compile(r'(<span class="(k|c1)">[^<]*)</span>(\s+)<span class="\2">')
NEXT = re.compile(r'(<span class="s2">[^<]*)</span><span class="s2">')
SPAN = re.compile(r'<span class="([\w-]+)">([^<]*)</span>')
# "&quot;" and "&#39;" are how Pygments writes quotes.
QUOTE = r"(?:&quot;|&#39;|[\"'])"
AXES = re.compile(
    rf"(?<=[A-Za-zΑ-ω0-9)\]}}]_)[{{]?[{LETTERS}]{{1,3}}(?![A-Za-z0-9_=])"
    rf"|(?<=@)\(?[{LETTERS}](?:, ?[{LETTERS}])*(?![A-Za-z0-9_])"
    rf"|(?<={{[UVR]:)\(?[{LETTERS}](?:, ?[{LETTERS}])*"
    rf"|(?<=&quot;)[{LETTERS}](?=&quot;)|(?<=&#39;)[{LETTERS}](?=&#39;)"
    rf"|(?<=\")[{LETTERS}](?=\")|(?<=')[{LETTERS}](?=')"
)
# A column of a printed table: two blanks on both sides, or the line's end.
COLUMN = re.compile(rf"(?<=  )[{LETTERS}](?:, ?[{LETTERS}])*(?=  |$)", re.M)


def mark(text, pattern=AXES):
    """Put every axis in `text` into a span of its class.

    text     as it stands in HTML, without elements
    pattern  what finds axes
    returns  str
    """

    def marked(found):
        return re.sub(
            f"[{LETTERS}]",
            lambda axis: (
                f'<span class="axis-{axis[0].lower()}">{axis[0]}</span>'
            ),
            found[0],
        )

    return pattern.sub(marked, text)


def repaint(html, language):
    """Highlighted code with its axes marked and without needless elements.

    html      what Pygments wrote
    language  of the code
    returns   str
    """
    if language in PRINTED:
        # Columns first: what they mark, no other pattern finds.
        text = html.replace("<span></span>", "", 1)
        parts = re.split(r"(<[^>]*>)", text)
        for n in range(0, len(parts), 2):
            parts[n] = mark(mark_columns(parts[n]))
        return "".join(parts)

    def span(found):
        name, text = found.groups()
        name = "k" if name == "kn" else name
        if name in PLAIN:
            return text
        if AXIS.fullmatch(text):
            return f'<span class="axis-{text[-7].lower()}">{text}</span>'
        if name in STRINGS:
            return f'<span class="s2">{text}</span>'
        return found[0]

    def coloured(found):
        name, text = found.groups()
        if name in WORDS:
            return f'<span class="{name}">{mark(text)}</span>'
        return found[0]

    text = SPAN.sub(span, html.replace("<span></span>", "", 1))
    before = None
    while text != before:
        before, text = text, NEXT.sub(r"\1", text)
        text = RUNS.sub(r"\1\3", text)
    return SPAN.sub(coloured, text)


def mark_columns(text):
    """`mark` for the columns of a printed table."""
    return mark(text, COLUMN)


class LiteralAxes(SphinxPostTransform):
    """Marks the axes of code within a line, and of a table's whole cells."""

    default_priority = 700
    formats = ("html",)

    def run(self, **kwargs):
        """Docutils calls this for every page."""
        for node in list(self.document.findall(nodes.literal)):
            # In one element: Sphinx would spend one more on every word.
            text = mark(escape(node.astext(), quote=False))
            classes = " ".join([*node["classes"], *LITERAL])
            html = f'<code class="{classes}">{text}</code>'
            node.replace_self(nodes.raw("", html, format="html"))
        for entry in self.document.findall(nodes.entry):
            text = entry.astext().strip()
            if text in LETTERS and len(text) == 1:
                for word in list(entry.findall(nodes.Text)):
                    if word.strip() == text:
                        word.parent.replace(word, _axis(text))


def _axis(letter):
    """The node of one axis."""
    return nodes.inline(letter, letter, classes=[f"axis-{letter.lower()}"])


def wrap_highlighter(app):
    """Let every highlighted block of the HTML pages go through `repaint`."""
    if app.builder.format != "html":
        return
    bridge = app.builder.highlighter
    paint = bridge.highlight_block

    def painted(source, lang, *args, **options):
        return repaint(paint(source, lang, *args, **options), lang)

    bridge.highlight_block = painted


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_post_transform(LiteralAxes)
    app.connect("builder-inited", wrap_highlighter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
