"""Turns cells into figures: picture, caption, and folded below it the code.

In a notebook a caption is a cell below its figure that begins with an anchor,
and a numbered formula has an anchor above. Here they become <figure>,
<figcaption> and numbered formulas. A picture whose colours are variables of
CSS is put into the page, where they have a meaning; others stay files.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.transforms import Transform
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

ANCHOR = re.compile(r'<a id="(?P<name>(?P<what>fig|tab|eq)-[a-z0-9-]+)">')
TAG = re.compile(r"\s*\\tag\{([\d.]+)\}\s*$")
NARROW = 480  # pixels; what is broader scrolls on a phone
MAX_INLINE = 60_000  # characters of SVG; a larger picture stays a file
VARIABLE = re.compile(r"var\(--[\w-]+")
IMG = re.compile(r'<img (?P<rest>[^>]*src="(?P<path>[^"]*_images/[^"]+\.svg)")')
POINT = 96 / 72  # pixels of CSS
KINDS = ("figure", "evidence", "setup", "answer")


class Figure(nodes.General, nodes.Element):
    """A figure: what a cell shows, and its caption."""


class Caption(nodes.General, nodes.TextElement):
    """The caption of a figure; `label` is its number in words."""


class FormFigures(Transform):
    """Makes figures of cells with captions, and numbers formulas."""

    default_priority = 870  # before links to their names are resolved

    def apply(self, **kwargs):
        """Docutils calls this for every page."""
        for paragraph in list(self.document.findall(nodes.paragraph)):
            found = anchor(paragraph)
            if found and found["what"] == "eq":
                self.number_formula(paragraph, found["name"])
            elif found:
                self.form_figure(paragraph, found["name"])

    def form_figure(self, paragraph, name):
        """Put what the cell above `paragraph` shows into a figure with it."""
        cell = neighbour(paragraph, -1)
        if not is_part(cell, "cell_code"):
            raise ExtensionError(f"#{name}: no cell stands above its caption")
        output = [c for c in cell if is_part(c, "cell_code_output")]
        wide = ["wide"] if "tag_wide" in cell["classes"] else []
        figure = Figure(
            ids=[name], names=[name], classes=["cell-figure", *wide]
        )
        for node in output:
            cell.remove(node)
            figure.append(node)
        number = paragraph.first_child_matching_class(nodes.strong)
        caption = Caption(label=paragraph[number].astext())
        caption.extend(paragraph[number + 1 :])
        figure.append(caption)
        cell.append(figure)
        paragraph.parent.remove(paragraph)
        self.document.note_explicit_target(figure)

    def number_formula(self, paragraph, name):
        """Give the formula below `paragraph` its name and its number."""
        formula = neighbour(paragraph, 1)
        tag = TAG.search(formula.astext()) if formula is not None else None
        if not isinstance(formula, nodes.math_block) or tag is None:
            raise ExtensionError(f"#{name}: no numbered formula stands below")
        text = TAG.sub("", formula.astext())
        formula.children = [nodes.Text(text)]
        formula["number"], formula["ids"] = tag[1], [name]
        formula["names"] = [name]
        paragraph.parent.remove(paragraph)
        self.document.note_explicit_target(formula)


def anchor(paragraph):
    """The match of the anchor that a paragraph begins with, or None."""
    first = paragraph[0] if paragraph.children else None
    if isinstance(first, nodes.raw) and first.get("format") == "html":
        return ANCHOR.fullmatch(first.astext())
    return None


def neighbour(node, step):
    """The node `step` places after `node`, or None."""
    place = node.parent.index(node) + step
    return node.parent[place] if 0 <= place < len(node.parent) else None


def is_part(node, element):
    """Whether a node is such a part of a notebook."""
    return (
        isinstance(node, nodes.container) and node.get("nb_element") == element
    )


class CodeBelow(SphinxPostTransform):
    """Puts the folded code of a figure below it."""

    default_priority = 200  # after the code was folded
    formats = ("html",)

    def run(self, **kwargs):
        """Docutils calls this for every page."""
        for cell in self.document.findall(nodes.container):
            first = cell[0] if len(cell) else None
            if not isinstance(first, HideCodeCellNode):
                continue
            kinds = [c[4:] for c in cell["classes"] if c.startswith("tag_")]
            first["classes"] += [f"fold-{k}" for k in kinds if k in KINDS]
            if "figure" in kinds:
                cell.remove(first)
                cell.append(first)


class InlinePictures(SphinxPostTransform):
    """Puts pictures with the page's colours into the page."""

    default_priority = 210
    formats = ("html",)

    def run(self, **kwargs):
        """Docutils calls this for every page."""
        seen = {}
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir) / image["uri"].lstrip("/")
            if path.suffix != ".svg" or not path.exists():
                continue
            svg = path.read_text(encoding="utf-8")
            if len(svg) > MAX_INLINE or not VARIABLE.search(svg):
                continue
            seen[path] = seen.get(path, 0) + 1
            text = inline(svg, image.get("alt", ""), seen[path])
            image.replace_self(nodes.raw(text=text, format="html"))


def inline(svg, alt, copy=1):
    """SVG as it stands in a page.

    svg      text of a file
    alt      what it shows, in words
    copy     1 for the first one on a page, and so on: ids are unlike
    returns  str
    """
    svg = svg[svg.index("<svg") :]
    if copy > 1:
        for name in set(re.findall(r' id="([^"]+)"', svg)):
            new = f"{name}-{copy}"
            svg = svg.replace(f' id="{name}"', f' id="{new}"')
            svg = svg.replace(f"#{name})", f"#{new})")
            svg = svg.replace(f'href="#{name}"', f'href="#{new}"')
    size = pixels(svg)
    broad = ' data-broad=""' if size and size[0] > NARROW else ""
    head = f'<svg class="picture"{broad} role="img" aria-label="{escape(alt)}"'
    return f'<div class="output image_svg">{svg.replace("<svg", head, 1)}</div>'


def pixels(svg):
    """Width and height of a picture, in whole pixels, or None."""
    head = re.search(r"<svg[^>]*>", svg)
    sides = [
        re.search(rf' {side}="([\d.]+)(pt|px|)"', head[0] if head else "")
        for side in ("width", "height")
    ]
    if not all(sides):
        return None
    return tuple(
        round(float(side[1]) * (POINT if side[2] == "pt" else 1))
        for side in sides
    )


def size_files(app, pagename, templatename, context, doctree):
    """Say how large the pictures are that stay files, and load them late."""

    def sized(found):
        name = found["path"].rpartition("/")[2]
        for folder in app.builder.images:
            if app.builder.images[folder] == name:
                svg = (Path(app.srcdir) / folder).read_text(encoding="utf-8")
                if size := pixels(svg):
                    sides = 'width="{}" height="{}"'.format(*size)
                    broad = ' data-broad=""' if size[0] > NARROW else ""
                    return f'<img loading="lazy"{broad} {sides} {found["rest"]}'
        return found[0]

    if "body" in context:
        context["body"] = IMG.sub(sized, context["body"])


def visit_figure(writer, node):
    """Open a figure."""
    writer.body.append(writer.starttag(node, "figure"))


def depart_figure(writer, node):
    """Close a figure."""
    writer.body.append("</figure>\n")


def visit_caption(writer, node):
    """Open a caption, its number first."""
    number = f'<span class="caption-number">{escape(node["label"])}</span>'
    writer.body.append(f"<figcaption>{number}")


def depart_caption(writer, node):
    """Close a caption."""
    writer.body.append("</figcaption>\n")


def visit_fold(writer, node):
    """Open what is folded under a line in words."""
    show, hide = escape(node["prompt_show"]), escape(node["prompt_hide"])
    words = f"<span>{show}</span>"
    if show != hide:
        words = (
            f'<span class="collapsed">{show}</span>'
            f'<span class="expanded">{hide}</span>'
        )
    kinds = [c for c in node["classes"] if c.startswith("fold-")]
    classes = " ".join(["fold", *kinds])
    writer.body.append(
        f'<details class="{classes}">\n<summary>{words}</summary>\n'
    )


def depart_fold(writer, node):
    """Close what is folded."""
    writer.body.append("</details>\n")


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_node(Figure, html=(visit_figure, depart_figure))
    app.add_node(Caption, html=(visit_caption, depart_caption))
    app.add_node(
        HideCodeCellNode, html=(visit_fold, depart_fold), override=True
    )
    app.add_transform(FormFigures)
    app.add_post_transform(CodeBelow)
    app.add_post_transform(InlinePictures)
    app.connect("html-page-context", size_files)
    # Formulas have the numbers that the notebooks give them.
    app.config.math_numfig = False
    return {"parallel_read_safe": True, "parallel_write_safe": True}
