"""Turns cells into figures: picture, caption, and folded below it the code.

In a notebook a caption is a cell below its figure that begins with an anchor,
and a numbered formula has an anchor above. Here they become <figure>,
<figcaption> and numbered formulas. A picture whose colours are variables of
CSS is put into the page, where they have a meaning; others stay files.
"""

import hashlib
import re
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from docutils.transforms import Transform
from lighter import draw_areas, lighten
from myst_nb.sphinx_ import HideCodeCellNode
from narrow import narrowed
from phone import form_of
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

ANCHOR = re.compile(r'<a id="(?P<name>(?P<what>fig|tab|eq)-[a-z0-9-]+)">')
TAG = re.compile(r"\s*\\tag\{([\d.]+)\}\s*$")
NARROW = 480  # pixels; what is broader scrolls on a phone
# Characters of SVG; a larger picture stays a file, unless its elements are few.
MAX_INLINE, LARGE, MANY = 68_000, 60_000, 120
DOT = re.compile(r"M([\d.-]+) ([\d.-]+)((?:C(?: ?-?[\d.]+){6}){8})z")
VARIABLE = re.compile(r"var\(--[\w-]+")
IMG = re.compile(r'<img (?P<rest>[^>]*src="(?P<path>[^"]*_images/[^"]+\.svg)")')
FONT = re.compile(r"font-family: [^;\"]*(?:; )?")
GROUP = re.compile(r"<g>|<g [^>]*>|</g>")
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


# A figure that a page includes as HTML, as tools/machines.py writes it.
DRAWN = re.compile(
    r'(?P<before>\s*<figure class="cell-figure">\s*)'
    r'<svg class="picture" role="img" aria-label="(?P<alt>[^"]*)" '
    r"(?P<svg>.*</svg>)(?P<after>.*</figure>\s*)",
    re.DOTALL,
)


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
            svg = drawn(path.read_text(encoding="utf-8"))
            if not svg:
                continue
            seen[path] = seen.get(path, 0) + 1
            picture = Picture(
                svg=svg, alt=image.get("alt", ""), copy=seen[path]
            )
            image.replace_self(picture)
        for raw in list(self.document.findall(nodes.raw)):
            if found := DRAWN.fullmatch(raw.astext()):
                picture = Picture(
                    svg=FONT.sub("", f"<svg {found['svg']}"),
                    alt=unescape(found["alt"]),
                    copy=1,
                )
                ends = (
                    found["before"] + '<div class="cell_output">',
                    "</div>" + found["after"],
                )
                first, last = (nodes.raw("", t, format="html") for t in ends)
                raw.replace_self([first, picture, last])


class Picture(nodes.General, nodes.Element):
    """SVG that a page holds: `svg`, `alt` and `copy` as `inline` takes them.

    It gets its form where the page is written, which several processes do.
    """


def visit_picture(writer, node):
    """Write a picture, which holds nothing else."""
    writer.body.append(inline(node["svg"], node["alt"], node["copy"]))
    raise nodes.SkipNode


def drawn(text):
    """The text of a picture as a page holds it, or "" if it stays a file."""
    svg = plain(text)
    light = VARIABLE.search(svg) and not heavy(text, lighten(svg))
    return svg if light else ""


def heavy(text, light):
    """Whether a picture is too much for a page, as it is and made lighter."""
    many = len(re.findall(r"<\w", light)) > MANY
    return len(light) > MAX_INLINE or (many and len(text) > LARGE)


def plain(svg):
    """SVG without what the page says once, and with short dots in hatches."""

    def dot(found):
        (x, top), low = map(float, found.groups()[:2]), found[3]
        ys = [float(n) for n in re.findall(r"-?[\d.]+", low)[1::2]]
        size = round((max(*ys, top) - min(*ys, top)) / 2, 2)
        y = round(max(*ys, top) - size, 2)
        arc = f"a{size:g} {size:g} 0 1 0"
        wide = 2 * size
        return f"M{x - size:.2f} {y:g}{arc} {wide:g} 0{arc}-{wide:g} 0z"

    svg = draw_areas(svg[svg.index("<svg") :])
    return DOT.sub(dot, FONT.sub("", ungroup(svg)))


def inline(svg, alt, copy=1):
    """SVG as it stands in a page.

    svg      text of a file, plain
    alt      what it shows, in words
    copy     1 for the first one on a page, and so on: ids are unlike
    returns  str
    """
    if copy > 1:
        for name in set(re.findall(r' id="([^"]+)"', svg)):
            new = f"{name}-{copy}"
            svg = svg.replace(f' id="{name}"', f' id="{new}"')
            svg = svg.replace(f"#{name})", f"#{new})")
            svg = svg.replace(f'href="#{name}"', f'href="#{new}"')
    size, other = pixels(svg), ""
    if size:
        mark = "v" + hashlib.sha256(svg.encode()).hexdigest()[:8] + f"-{copy}"
        new, kind, style, strips = narrowed(svg, size, mark, form_of)
        if kind:  # book.js puts it in the picture's place where it is narrow
            other = headed(new, alt, kind, style) + strips
            other = f"<template>{other}</template>"
    return f'<div class="output image_svg">{headed(svg, alt)}{other}</div>'


def headed(svg, alt, kind="", style=""):
    """A picture with few elements, and with what the page must know of it."""
    style = f' style="{style}"' if style else ""
    head = (
        f'<svg class="{f"picture {kind}".strip()}"{style} '
        f'preserveAspectRatio="none" role="img" aria-label="{escape(alt)}"'
    )
    return lighten(svg).replace("<svg", head, 1)


def ungroup(svg):
    """SVG without groups that have no look and no name."""
    plain = []

    def kept(found):
        if found[0].endswith("/>"):  # it draws nothing
            return ""
        if found[0] != "</g>":
            plain.append(found[0] == "<g>")
            return "" if plain[-1] else found[0]
        return "" if plain.pop() else found[0]

    return GROUP.sub(kept, svg)


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


FILM = re.compile(r'<div class="sbs-film".*?</template></div>', re.DOTALL)
ROW = '<svg viewBox="0 0 640 '  # a film of four chips in a row, or a ring
RING = '<text x="320" y="18"'  # a chip that stands at its top
LONG = re.compile(r"<text[^>]*>[^<]{12}")  # words that need the room
MOMENT = re.compile(r"<figure>(<svg .*?</svg>)<figcaption>", re.DOTALL)


def halved(film):
    """A film, named if book.js sets its halves below each other on a phone."""
    if RING in film or ROW not in film or not LONG.search(film):
        return film
    return film.replace('class="sbs-film"', 'class="sbs-film halves"', 1)


def shelved(film):
    """A film of which a page with scripts draws only the moment that is seen.

    The others wait as text until book.js draws them. What holds a drawing that
    others show again does not wait.
    """
    moments = MOMENT.findall(film)
    told = re.search(r'data-poster="(\d+)"', film)
    last = len(moments) - 1
    poster = int(told[1]) if told else max(min(1, last), last // 2)
    seen, shared = moments[poster], set(re.findall(r'href="(#[^"]*)"', film))

    def waits(found):
        held = {f"#{name}" for name in re.findall(r' id="([^"]*)"', found[0])}
        if found[1] == seen or held & shared:
            return found[0]
        return f"<figure><noscript>{found[1]}</noscript><figcaption>"

    return re.sub(MOMENT, waits, film)


def ease_films(app, pagename, templatename, context, doctree):
    """Sphinx calls this for every page."""
    if "body" in context:
        context["body"] = FILM.sub(
            lambda film: shelved(halved(film[0])), context["body"]
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
    words = show.replace("Show the code of", "Code of")
    if show != hide and words == show:
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


def without_numbers(app, config):
    """Captions have their numbers already; Sphinx would read every page again.

    An extension that Jupyter Book loads turns this on, whatever is configured.
    """
    config.numfig = False


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("config-inited", without_numbers, priority=900)
    app.add_node(Figure, html=(visit_figure, depart_figure))
    app.add_node(Caption, html=(visit_caption, depart_caption))
    app.add_node(Picture, html=(visit_picture, None))
    app.add_node(
        HideCodeCellNode, html=(visit_fold, depart_fold), override=True
    )
    app.add_transform(FormFigures)
    app.add_post_transform(CodeBelow)
    app.add_post_transform(InlinePictures)
    app.connect("html-page-context", size_files)
    app.connect("html-page-context", ease_films)
    # Formulas have the numbers that the notebooks give them.
    app.config.math_numfig = False
    return {"parallel_read_safe": True, "parallel_write_safe": True}
