"""Formulas as MathML, set when the page is built; the browser draws them."""

import re
from html import escape

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

from shardlab.grading.mathml import mathml

# A prime, and words, in which the same sign is an apostrophe.
PRIME = re.compile(r"\\text\w*\{[^{}]*\}|(?<=[A-Za-z}])'")
# Between formulas that stand in one line; on a phone they stand in several.
WIDE = re.compile(r"(?:\\qquad\s*)+")
XMLNS = ' xmlns="http://www.w3.org/1998/Math/MathML"'
OPENS = re.compile(r"\\(?:left|begin)(?![a-zA-Z])|(?<!\\)\{")
CLOSES = re.compile(r"\\(?:right|end)(?![a-zA-Z])|(?<!\\)\}")


def pieces(tex):
    """The formulas that a wide space parts within a line of its own.

    tex      LaTeX without its dollars
    returns  list of str; what stands within brackets is not parted
    """
    found, start = [], 0
    for space in WIDE.finditer(tex):
        before = tex[start : space.start()]
        if len(OPENS.findall(before)) == len(CLOSES.findall(before)):
            found.append(before)
            start = space.end()
    return [piece.strip() for piece in (*found, tex[start:]) if piece.strip()]


def primed(found):
    """A prime as the exponent that it is; words stay."""
    return r"^{\prime}" if found[0] == "'" else found[0]


LONG = 24  # letters of a formula within a line
TAGS = re.compile("<[^>]*>")


def visit_inline(writer, node):
    """Write a formula within a line."""
    from docutils.nodes import SkipNode

    formula = _set(node, False).replace("<math ", '<math class="math" ', 1)
    if len(TAGS.sub("", formula)) > LONG:  # it scrolls where it is too wide
        formula = f'<span class="long">{formula}</span>'
    writer.body.append(formula)
    raise SkipNode


def visit_block(writer, node):
    """Write a formula in a line of its own, with its number if it has one."""
    from docutils.nodes import SkipNode

    names = "".join(f' id="{name}"' for name in node["ids"][:1])
    parts = "".join(_set(node, True, part) for part in pieces(node.astext()))
    writer.body.append(f'<div class="math"{names}>')
    writer.body.append(f'<div class="pieces">{parts}</div>')
    if node["number"]:
        number = f"({node['number']})"
        writer.body.append(f'<span class="eqno">{number}')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    if used := node.get("used"):
        links = ", ".join(
            f'<a href="#{escape(name)}">{escape(title)}</a>'
            for name, title in used
        )
        writer.body.append(f'<span class="used">used in {links}</span>')
    writer.body.append("</div>\n")
    raise SkipNode


class UsedIn(SphinxPostTransform):
    """Says below a formula which other sections of its page use it."""

    default_priority = 720  # when all links are resolved
    formats = ("html",)

    def run(self, **kwargs):
        """Docutils calls this for every page."""
        uses = {}
        for link in self.document.findall(nodes.reference):
            _, sign, name = link.get("refuri", "").rpartition("#")
            name = link.get("refid") or (sign and name)
            uses.setdefault(name, []).append(section_of(link))
        for formula in self.document.findall(nodes.math_block):
            mine, found = section_of(formula), {}
            for name in formula["ids"]:
                for section in uses.get(name, ()):
                    if section is not None and section is not mine:
                        title = section.next_node(nodes.title).astext()
                        found[section["ids"][0]] = title
            formula["used"] = list(found.items())


def section_of(node):
    """The innermost section that a node stands in, or None."""
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return node


def _set(node, block, tex=None):
    """The MathML of a node; a formula that cannot be set ends the build."""
    try:
        tex = node.astext() if tex is None else tex
        formula = mathml(PRIME.sub(primed, tex), block)
    except ValueError as error:
        raise ExtensionError(f"{node.source}, {node.line}: {error}") from None
    return formula.replace(XMLNS, "", 1)  # HTML knows what <math> is


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_html_math_renderer(
        "mathml", (visit_inline, None), (visit_block, None)
    )
    app.config.html_math_renderer = "mathml"
    app.add_post_transform(UsedIn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
