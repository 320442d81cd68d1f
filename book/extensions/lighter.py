"""Fewer elements for the same page: code that is folded, pictures, wrappers.

A browser lays out, styles and keeps every element, and a phone is slow at it.
Code that is folded is written without elements; its colours are painted over
its letters by book.js when somebody unfolds it. Pictures are drawn with one
path for each look instead of one for each shape, where no shape hides another.
"""

import functools
import re
from html import escape, unescape
from pathlib import Path
from xml.etree import ElementTree

FOLD = re.compile(
    r'<details class="fold fold-(?:figure|evidence|setup)">.*?</details>',
    re.DOTALL,
)
BLOCK = re.compile(
    r'<div class="(highlight-[\w-]+ notranslate)">'
    r'<div class="highlight">'
    r"(<pre>(?:(?!</pre>).)*</pre>)</div>\s*</div>",
    re.DOTALL,
)
INPUT = re.compile(
    r'(<div class="cell_input docutils container)">\s*<div class="'
    r'(highlight-[^"]*">(?:(?!</div>).)*</div>)\s*</div>',
    re.DOTALL,
)
PRE = re.compile(r"<pre>((?:(?!</pre>).)*)</pre>", re.DOTALL)
TABLE = 'class="pst-scrollable-table-container"'
TAG = re.compile(r"<[^>]*>")
# What book.js paints, by the class that says it: one letter each.
PAINT = {
    "k": "k", "kn": "k", "kd": "k", "ow": "k",
    "s2": "s", "s1": "s", "c1": "c", "sd": "c",
    "axis-x": "x", "axis-y": "y", "axis-z": "z",
}  # fmt: skip

# ---- Pictures ---------------------------------------------------------------

PART = re.compile(
    r"<defs>.*?</defs>"
    r"|<path (?P<path>[^>]*)/>"
    r"|<use (?P<use>[^>]*)/>"
    r"|<text (?P<text>[^>]*)>(?P<words>[^<]*)</text>"
    r"|<g/>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
MARKER = re.compile(r'<path id="([^"]+)" d="([^"]*)"(?: style="([^"]*)")?/>')
CLIPPED = re.compile(r'<g (clip-path="[^"]*")>((?:<use [^>]*/>)+)</g>')
DRAWN = re.compile(r'((?:class="dot" )?)d="([^"]*)"(.*)')
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
ABSOLUTE = re.compile(r"[MLCQz\d\s.,e+-]*")
ROUND = re.compile(r"M(-?[\d.]+) (-?[\d.]+)(a[a\d\s.,-]*z)")  # a dot, of arcs
TEXT = re.compile(r"<text [^>]*>(?:(?!</text>).)*<tspan.*?</text>", re.DOTALL)
FAR = (-1e9, -1e9, 1e9, 1e9)
AREA = 24  # units of a picture; a mark that is broader is no mark


def numbers(path):
    """The coordinates of a path of absolute commands, or None for another."""
    if not ABSOLUTE.fullmatch(path):
        return None
    return [float(number) for number in NUMBER.findall(path)]


def box_of(path, pad=0.0):
    """Left, top, right and bottom of what a path can touch."""
    found = numbers(path)
    if not found or len(found) % 2:
        return None
    xs, ys = found[::2], found[1::2]
    return min(xs) - pad, min(ys) - pad, max(xs) + pad, max(ys) + pad


def over(one, other, slack=0.05):
    """Whether two boxes lie on each other, by more than their edges."""
    return (
        one[0] < other[2] - slack
        and other[0] < one[2] - slack
        and one[1] < other[3] - slack
        and other[1] < one[3] - slack
    )


def stroke(style):
    """Half of how broad a line is drawn with this style."""
    if not re.search(r"stroke: (?!none)", style):
        return 0.0
    width = re.search(r"stroke-width: ([\d.]+)", style)
    return float(width[1]) / 2 if width else 0.5


def moved(path, x, y):
    """A path of absolute commands, or a round dot, in another place."""
    place, found = [x, y], []
    dot = ROUND.fullmatch(path)
    if dot:  # only its first point is absolute
        return f"M{float(dot[1]) + x:.2f} {float(dot[2]) + y:.2f}{dot[3]}"
    for part in re.findall(rf"[A-Za-z]|{NUMBER.pattern}", path):
        if part.isalpha():
            found.append(part)
        else:
            number = f"{float(part) + place[0]:.2f}".rstrip("0").rstrip(".")
            found.append(number if found[-1].isalpha() else f" {number}")
            place.reverse()
    return "".join(found)


def broad(path):
    """Whether what is drawn as a mark is an area, such as that below a line."""
    left, top, right, bottom = box_of(path) or (0, 0, 0, 0)
    return max(right - left, bottom - top) > AREA


def draw_areas(svg):
    """SVG whose areas are paths like others: no dots, which keep their size."""
    return draw_marks(svg, areas=True)


def draw_marks(svg, areas=False):
    """SVG whose marks are paths, not references to one; or only its areas."""
    marks = {m[1]: m for m in MARKER.finditer(svg) if not areas or broad(m[2])}
    dot = "" if areas else 'class="dot" '
    if not marks:
        return svg

    def drawn(found):
        look = dict(ATTRIBUTE.findall(found["use"]))
        name = look.pop("xlink:href", "").removeprefix("#")
        mark = marks.get(name)
        known = {"x", "y", "style", "clip-path"}
        if mark is None or not set(look) <= known:
            return found[0]
        if not numbers(mark[2]) and not ROUND.fullmatch(mark[2]):
            return found[0]
        path = moved(mark[2], float(look.get("x", 0)), float(look.get("y", 0)))
        styles = {}
        for style in (look.get("style"), mark[3]):
            for rule in (style or "").split("; "):
                if rule:
                    styles |= [rule.split(": ", 1)]
        style = "; ".join(": ".join(rule) for rule in styles.items())
        clip = look.get("clip-path")
        clip = f' clip-path="{clip}"' if clip else ""
        return f'<path {dot}d="{path}"{clip} style="{style}"/>'

    def unwrapped(found):
        return found[2].replace("/>", f" {found[1]}/>")

    svg = CLIPPED.sub(unwrapped, svg)
    svg = re.sub("<use (?P<use>[^>]*)/>", drawn, svg)
    for name, mark in marks.items():
        if f"#{name}" not in svg:
            svg = svg.replace(mark[0], "")
    return svg.replace("<defs></defs>", "")


class Layer:
    """What is drawn with one element: shapes of one look, or digits."""

    def __init__(self, look, text=None):
        self.look, self.text = look, text
        self.parts, self.boxes = [], []

    def html(self):
        """The element."""
        if self.text is not None:
            return self.text
        before, after = self.look[1:]
        if self.look[0] == "path":
            return f'<path {before}d="{" ".join(self.parts)}"{after}/>'
        letters, xs, ys = zip(*self.parts, strict=True)
        place = f'x="{" ".join(xs)}" y="{" ".join(ys)}"'
        return f"<text {before}{place}{after}>{''.join(letters)}</text>"


def shape(found):
    """The look, the content and the box of an element; None for no look.

    A look is (kind, what stands before the place, what stands after it).
    """
    if found["path"] is not None:
        cut = re.fullmatch(r'((?:class="dot" )?)d="([^"]*)"(.*)', found["path"])
        if cut is None:
            return None, None, FAR
        style = cut[3]
        box = box_of(cut[2], stroke(style)) or FAR
        free = (
            "opacity" not in style
            and "url(#" not in (style.partition("style=")[2])
        )
        return ("path", cut[1], style) if free else None, cut[2].strip(), box
    if found["text"] is not None:
        size = re.search(r"font-size: ([\d.]+)px", found["text"])
        cut = re.fullmatch(
            r'(.*?)x="(-?[\d.]+)" y="(-?[\d.]+)"(.*)', found["text"]
        )
        turned = re.search(r"transform=|rotate\(", found["text"])
        if size is None or cut is None or turned:
            return None, None, FAR
        size, x, y = float(size[1]), float(cut[2]), float(cut[3])
        wide = 0.7 * size * len(unescape(found["words"]))
        box = x - wide, y - size, x + wide, y + 0.4 * size
        one = len(unescape(found["words"])) == 1 and found["words"] != " "
        look = ("text", cut[1], cut[4])
        return look if one else None, (found["words"], cut[2], cut[3]), box
    return None, None, FAR


def join_shapes(svg):
    """SVG in which shapes of one look, and single letters, are one element.

    Lines are joined, and boxes that do not lie on each other. A shape is drawn
    with an earlier one of its look if it touches nothing that was drawn since.
    What is not opaque stays by itself: where it crosses, it would look
    different.
    """
    done, layers, end = [], [], 0

    def close():
        done.extend(layer.html() for layer in layers)
        layers.clear()

    for found in PART.finditer(svg):
        gap = svg[end : found.start()]
        end = found.end()
        if gap:
            close()
            done.append(gap)
        if found[0] == "<g/>":
            continue
        if found[0].startswith("<defs"):
            done.append(found[0])  # draws nothing
            continue
        look, content, box = shape(found)
        home = home_of(look, box, layers)
        if home is None:
            home = Layer(look, None if look else found[0])
            layers.append(home)
        home.parts.append(content)
        home.boxes.append(box)
    close()
    return "".join(done) + svg[end:]


def home_of(look, box, layers):
    """The layer that a shape can be drawn with, or None."""
    if look is None:
        return None
    for layer in reversed(layers):
        touches = any(over(box, other) for other in layer.boxes)
        if layer.look == look:
            crosses = look[0] == "text" or "fill: none" in look[2]
            return layer if crosses or not touches else None
        if touches:
            return None
    return None


def join_runs(svg):
    """SVG whose texts have one element for each look within them."""
    return TEXT.sub(flat, svg)


def flat(found):
    """A text with subscripts as a text without elements in elements.

    Where letters go up and down is said once, in the text's own list.
    """
    try:
        root = ElementTree.fromstring(found[0])
    except ElementTree.ParseError:
        return found[0]
    runs = []  # (letters, style, size, shift before them)
    if not gather(root, {}, 1.0, runs) or "dy" in root.attrib:
        return found[0]
    text = "".join(run[0] for run in runs)
    if text != " ".join(text.split()) or max(map(ord, text)) > 0xFFFF:
        return found[0]
    shifts, html = [], ""
    joined = []
    for letters, style, shift in runs:
        shifts += [shift] + [0.0] * (len(letters) - 1)
        if joined and joined[-1][1] == style:
            joined[-1][0] += letters
        else:
            joined.append([letters, style])
    while shifts and abs(shifts[-1]) < 1e-9:
        shifts.pop()
    for letters, style in joined:
        words = escape(letters, quote=False)
        rules = "; ".join(": ".join(rule) for rule in style.items())
        html += f'<tspan style="{rules}">{words}</tspan>' if style else words
    shift = " ".join(
        f"{s:.3f}".rstrip("0").rstrip(".") + ("em" if s else "") for s in shifts
    )
    head = "".join(
        f' {k}="{escape(v, quote=False)}"' for k, v in root.attrib.items()
    )
    dy = f' dy="{shift}"' if shifts else ""
    return f"<text{head}{dy}>{html}</text>"


def gather(node, style, size, runs, shift=0.0):
    """Add the letters of a text and of what is in it to `runs`.

    returns  whether all of it was understood
    """
    pending = [shift]

    def add(letters):
        if letters:
            runs.append((letters, style, pending[0]))
            pending[0] = 0.0

    add(node.text)
    for child in node:
        if child.tag != "tspan" or not set(child.attrib) <= {"dy", "style"}:
            return False
        inner, its = dict(style), size
        for rule in child.get("style", "").split("; "):
            if rule:
                name, value = rule.split(": ", 1)
                inner[name] = value
                if name == "font-size":
                    if not value.endswith("%") or "font-size" in style:
                        return False
                    its = size * float(value[:-1]) / 100
        down = child.get("dy", "0em")
        if not down.endswith("em") or not "".join(child.itertext()):
            return False
        before = len(runs)
        first = pending[0] + float(down[:-2]) * its
        if not gather(child, inner, its, runs, first) or len(runs) == before:
            return False
        pending[0] = 0.0
        add(child.tail)
    return True


@functools.lru_cache(maxsize=4)
def lighten(svg):
    """A picture of the page with fewer elements, which looks the same."""
    return join_shapes(draw_marks(join_runs(svg)))


# ---- Code -------------------------------------------------------------------


def painted(html):
    """The letters of highlighted code, and what colours they have.

    html     what stands in <pre>
    returns  (HTML without elements, str): the second is a list of letters to
             skip, a kind of `PAINT`, and letters that have it, such as 12k3 4s5
    """
    letters, runs, stack, end = 0, [], [], 0
    text = []

    def add(part):
        nonlocal letters
        words = unescape(part)
        size = len(words.encode("utf-16-le")) // 2
        kind = next((k for k in reversed(stack) if k), None)
        if kind and size:
            runs.append((letters, kind, size))
        letters += size
        text.append(part)

    for tag in TAG.finditer(html):
        add(html[end : tag.start()])
        end = tag.end()
        if tag[0].startswith("</"):
            stack.pop()
        else:
            name = re.search('class="([^"]*)"', tag[0])
            stack.append(PAINT.get(name[1]) if name else None)
    add(html[end:])
    marks, last = [], 0
    for start, kind, size in runs:
        marks.append(f"{start - last}{kind}{size}")
        last = start + size
    return "".join(text), " ".join(marks)


def uncolour(fold):
    """A folded cell whose code has no elements."""

    def bare(found):
        text, marks = painted(found[1])
        return f'<pre data-paint="{marks}">{text}</pre>'

    return PRE.sub(bare, fold[0])


def lighter(body):
    """A page's text with fewer elements."""
    body = BLOCK.sub(r'<div class="\1 highlight">\2</div>', body)
    body = INPUT.sub(r"\1 \2", body)
    body = body.replace(TABLE, TABLE[:-1] + ' table-box"')
    return FOLD.sub(uncolour, body)


# ---- Sections ---------------------------------------------------------------

SECTION = re.compile(r'<section id="([^"]+)">\s*<h2>')
TEMPLATE = re.compile(r"<template>.*?</template>", re.DOTALL)
FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
FRAME = re.compile(r'<div class="sbs-film".*?</script>', re.DOTALL)
DRAWING = re.compile(r"<svg [^>]*?(?:/>|>.*?</svg>)|<img [^>]*>", re.DOTALL)
WIDE, NARROW = 704, 358  # pixels: a column on a laptop and on a phone


def height(html, column):
    """About how tall a section stands in a column of so many pixels."""
    html, folds = FOLDED.subn("", TEMPLATE.sub("", html))
    html, films = FRAME.subn("", html)
    tall = 40 * folds + 420 * films + 90
    for picture in DRAWING.findall(html):
        sides = [re.search(rf' {s}="(\d+)"', picture) for s in _SIDES]
        if all(sides):
            wide, high = (int(side[1]) for side in sides)
            tall += high * min(1, column / wide) + 60
    html = DRAWING.sub("", html)
    for code in PRE.findall(html):
        tall += 20 * (code.count("\n") + 1) + 34
    html = PRE.sub("", html)
    tall += 38 * html.count("<tr") + 70 * html.count("<h3>")
    for text in re.findall(r"<(?:p|li|figcaption)\b.*?</", html, re.DOTALL):
        letters = len(re.sub("<[^>]*>?", "", text))
        tall += 28 * (1 + letters * 8 // column) + 18
    tall += 60 * html.count('<div class="math')
    return round(tall)


_SIDES = ("width", "height")


def reckon(body):
    """A page's text whose long sections say about how tall they are."""
    found = list(SECTION.finditer(body))
    if len(found) < 3:
        return body
    ends = [*(section.start() for section in found[1:]), len(body)]
    parts = [body[: found[0].start()]]
    for section, end in zip(found, ends, strict=True):
        html = body[section.start() : end]
        style = "; ".join(
            f"--{name}: {height(html, column)}px"
            for name, column in (("tall", WIDE), ("taller", NARROW))
        )
        head = f'<section id="{section[1]}"'
        parts.append(html.replace(head, f'{head} style="{style}"', 1))
    return "".join(parts)


def assemble(app, pagename, templatename, context, doctree):
    """Sphinx calls this for every page."""
    if "body" in context:
        context["body"] = reckon(lighter(context["body"]))


# The theme asks every box of the page how wide it is, and after each answer
# changes it: the page is laid out seventy times. book.js asks when one looks.
THEME = "_static/scripts/pydata-sphinx-theme.js"
ASKS = re.compile(
    r'window\.addEventListener\("resize",(\w)\),new MutationObserver\(\1\)'
    r'\.observe\(document\.getElementById\("main-content"\),'
    r"\{subtree:!0,childList:!0\}\),\w\(\)"
)


def quieten(app, exception):
    """Let the theme's script leave the boxes of the page alone."""
    path = Path(app.outdir) / THEME
    if exception is None and path.exists():
        script = path.read_text(encoding="utf-8")
        path.write_text(ASKS.sub("0", script), encoding="utf-8")


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("html-page-context", assemble, priority=900)
    app.connect("build-finished", quieten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
