"""Gives a picture that is wider than a phone a form of its own there.

Three ways, each of which keeps every letter at the size that it was drawn in:

- it is squeezed: lines and boxes move together, letters stay as they are;
- its panels, which a reader can tell apart because nothing lies between them,
  stand below each other. Each is a look at the same drawing, not a copy of it;
- where neither can be read, it scrolls, no further than it must.

Which way a picture takes is decided when the page is built, from the boxes of
its letters and the lines near them, for a column of a narrow phone.
"""

import functools
import itertools
import re
from html import escape, unescape
from math import ceil, cos, pi, sin
from typing import NamedTuple

import numpy as np

PHONE = 326  # pixels of the text on the narrowest phone
USUAL = 356  # pixels of the text on most phones
ASIDE = 8  # pixels between panels beside each other
CUT = 312  # pixels of a part that is cut out, and cannot give way
MARK = "\0"  # the words of a tick or a dot, which keeps its form as letters do
DRAWN = ("path", "rect", "text", "use")
PX = 4 / 3  # pixels of a unit of matplotlib
NO_PAD = (0, 0, 0, 0)
PANEL = 118  # pixels: what is narrower, with a gap beside it, is no panel
BAND, GUTTER = 3, 9  # pixels between rows, and between panels
NEAR = 34  # pixels: what is nearer to letters belongs to them
MANY = 5  # parts: in more of them nobody sees the picture any more
LETTERS = 2  # pixels between two texts in a line
SMALL = 8.25  # units: letters that a phone may show smaller than they are drawn
DIGITS = 60  # of a picture that is squeezed in its width alone
CORNER = 8  # pixels that a number at the corner of two axes may stand out
WIDE_GUTTER = 24  # pixels between panels of columns that stand apart
TICK, EMPTY = 7, 22  # pixels below an axis, and of a strip that is left out
KEY = 40  # pixels: a box that explains a fill is narrower
ROW = 60  # pixels: what is taller is no row with a name
FAR = 1e5  # pixels: where nothing is
AIR = 2  # pixels between words and a bar above them
LEAD = 1.16  # of their size: from one line of words to the next

# Width of letters of the page's sans serif, in thousandths of their size, at
# weights 400 and 700, from blank to tilde, then of those below.
_OTHERS = "\u00a0²³µ·¹½×÷\u0305Σδητᵀ–“”′⁴⁵₀₁₂₃→−"


def _table(widths):
    """Widths by letter."""
    names = [*map(chr, range(32, 127)), *_OTHERS]
    return dict(zip(names, map(int, widths.split()), strict=True))


REGULAR = _table(
    "200 289 426 497 497 824 609 249 303 303 418 497 249 311 249 350 497 "
    "497 497 497 497 497 497 497 497 497 249 249 497 497 497 425 847 543 "
    "588 571 615 527 494 617 652 263 479 579 486 727 647 664 566 664 569 "
    "534 536 645 515 786 513 476 539 303 350 303 497 500 542 504 553 456 "
    "555 496 292 504 544 246 247 495 255 829 547 542 555 555 347 419 338 "
    "544 467 719 446 467 425 303 241 303 497 200 367 367 562 249 367 808 "
    "497 497 0 632 612 634 602 385 480 426 426 249 401 401 401 401 401 401 "
    "838 497 "
)
BOLD = _table(
    "200 340 537 528 528 857 667 300 344 344 457 528 300 332 300 339 528 "
    "528 528 528 528 528 528 528 528 528 300 300 528 528 528 463 902 573 "
    "605 582 635 548 524 638 674 301 509 614 518 762 665 684 596 684 613 "
    "556 556 665 556 813 567 525 541 344 339 344 528 500 555 527 573 468 "
    "573 518 341 534 571 276 278 548 286 857 572 555 573 573 398 443 383 "
    "568 523 776 514 521 460 344 268 344 528 200 376 376 594 300 376 846 "
    "528 528 0 683 687 712 638 430 480 537 537 300 438 438 438 438 438 438 "
    "838 528 "
)


class Item(NamedTuple):
    """What is drawn somewhere: letters that keep their size, or lines."""

    x: float  # of the anchor, in pixels: what moves when the picture does
    y: float
    box: tuple  # left, top, right, bottom, about the anchor if it is text
    text: bool
    lines: tuple = ()  # of shapes: x, y, x, y
    words: str = ""
    pivot: tuple = (0, 0)  # what letters keep their way to
    bound: bool = False  # to a box that they are in, or say the meaning of
    tag: tuple = ()  # its name, and its place among those of this name
    size: float = 0  # units that letters are cut down to; 0 for as drawn
    broken: bool = False  # whether words stand in two lines
    drawn: tuple = ()  # the box of letters as they were drawn
    simple: bool = False  # whether its letters have one look
    raised: bool = False  # from the left of a row to above it
    turned: bool = False  # in its box, to be read upwards
    upright: bool = False  # drawn so that it is read upwards


class Letters(NamedTuple):
    """What a phone does to the letters of a picture."""

    small: bool = False  # they are at most as large as SMALL
    broken: frozenset = frozenset()  # words that stand in two lines
    above: bool = False  # names of rows stand above them
    turned: frozenset = frozenset()  # words in boxes that are read upwards


AS_DRAWN = Letters()


class Piece(NamedTuple):
    """A part of a picture as a phone shows it."""

    box: tuple  # of the drawing, in pixels
    squeeze: float  # of its width on a narrow phone; 1 for none
    tall: float  # 0: its height is squeezed alike, 1: it is not
    pad: tuple  # pixels that letters need around it: top, right, bottom, left
    pivots: dict = {}  # of its texts, by their tags
    tags: tuple = ()  # of what it shows, where it is not all
    gutter: tuple = ()  # of the drawing: labels that stand before this part
    labels: tuple = ()  # their tags
    high: float = 0  # what its height is multiplied by; 0 for what `tall` says


CLIP = re.compile(r'<clipPath id="([^"]*)">\s*<rect([^>]*)/>')
TAG = re.compile(r"<(/?)(\w+)([^>]*?)(/?)>([^<]*)")
NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")
PLACE = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\)")
TURN = re.compile(r"rotate\(([-\d.]+)(?: ([-\d.]+) ([-\d.]+))?\)")


def attribute(head, name):
    """An attribute of a tag, or ""."""
    found = re.search(rf'\s{name}="([^"]*)"', head)
    return found[1] if found else ""


def width_of(words, size, bold=False):
    """Pixels that words take in the page's sans serif."""
    table = BOLD if bold else REGULAR
    return sum(table.get(letter, 560) for letter in words) * size / 1000


@functools.lru_cache(maxsize=16)
def items_of(svg, how=AS_DRAWN):
    """What a drawing shows: letters, and lines as they are clipped.

    svg      text of a picture
    how      its letters are set
    returns  tuple of Item, in pixels
    """
    marks, found = {}, []
    clips = {  # they may stand after what they clip
        name: box_of(lines_of("rect", rect)) for name, rect in CLIP.findall(svg)
    }
    moves, hidden, clip, text = [(0, 0)], 0, None, None
    count = dict.fromkeys(DRAWN, -1)
    for tag in TAG.finditer(svg):
        end, name, head, empty, after = tag.groups()
        words = unescape(after)
        if end:
            if name == "g" and len(moves) > 1:
                moves.pop()
            elif name in ("defs", "pattern"):
                hidden -= 1
            elif name == "clipPath":
                clip = None
            elif name == "text" and text:
                found.append(letters(text, how))
                text = None
            elif name == "tspan" and text:
                text["words"].append((words, text["size"]))
            continue
        if name in count:
            count[name] += 1
        if name == "g" and not empty:
            dx, dy = moves[-1]
            place = PLACE.search(attribute(head, "transform"))
            if place:
                dx, dy = dx + float(place[1]), dy + float(place[2])
            moves.append((dx, dy))
        elif name in ("defs", "pattern") and not empty:
            hidden += 1
        elif name == "clipPath":
            clip = attribute(head, "id")
        elif name in ("path", "rect"):
            lines = lines_of(name, head)
            if not lines:
                continue
            if clip is not None:
                continue
            if hidden:
                marks[attribute(head, "id")] = box_of(lines)
            elif drawn(attribute(head, "style")):
                url = re.search(r"#([^)]+)", attribute(head, "clip-path"))
                seen = clips.get(url[1]) if url else None
                found += [
                    item._replace(tag=(name, count[name]))
                    for part in figures_of(lines)
                    if (item := shape(part, moves[-1], seen))
                ]
        elif name == "use" and not hidden:
            box = marks.get(re.search(r'href="#([^"]*)', head)[1])
            if box:
                at = [float(attribute(head, a) or 0) for a in "xy"]
                x, y = ((at[k] + moves[-1][k]) * PX for k in (0, 1))
                box = tuple(n * PX for n in box)
                found.append(
                    Item(x, y, box, True, words=MARK, tag=("use", count["use"]))
                )
        elif name == "text":
            text = {
                "head": head,
                "move": moves[-1],
                "tag": ("text", count["text"]),
                "words": [(words, size_of(head) or 9)],
                "size": size_of(head) or 9,
                "ends": [],
                "fixed": False,
            }
        elif name == "tspan" and text:
            size = size_of(head) or text["size"]
            text["fixed"] |= "px" in attribute(head, "style")
            text["words"].append((words, size))
            xs = [float(n) for n in NUMBER.findall(attribute(head, "x"))]
            if xs:
                last = width_of(words[len(xs) - 1 :], size)
                text["ends"].append(xs[-1] + last)
    found = pivoted([item for item in found if item])
    if how.turned:
        found = [upward(i) if i.words in how.turned else i for i in found]
    return tuple(raised(found) if how.above else found)


def size_of(head):
    """The size of letters that a style says, in units, or None."""
    style = attribute(head, "style")
    found = re.search(r"font(?:-size)?: [^;%]*?([\d.]+)px", style)
    if found:
        return float(found[1])
    return 6.4 if re.search(r"font-size: \d+%", style) else None


def drawn(style):
    """Whether a shape of a style can be seen."""
    stroke = "stroke: " in style and "stroke: none" not in style
    return stroke or not re.search(r"fill: (?:none|var\(--paper)", style)


def letters(text, how=AS_DRAWN):
    """The Item of a text."""
    if how != AS_DRAWN:
        first = letters(text)
        return first and letters_set(text, how, first)
    return letters_set(text, how)


def letters_set(text, how, first=None):
    """The Item of a text whose letters are set so.

    first    the Item of it as it was drawn
    """
    head, size = text["head"], text["size"]
    parts, less = text["words"], 0
    if how.small and not text["ends"] and not text["fixed"] and size > SMALL:
        share = SMALL / size
        size = less = SMALL
        parts = [(part, at * share) for part, at in parts]
    style, transform = attribute(head, "style"), attribute(head, "transform")
    words = "".join(part for part, _ in parts).strip()
    if not words:
        return None
    bold = bool(
        re.search(r"font-weight: [6-9]00|font: [^;]*\b[6-9]00\b", style)
    )
    wide = sum(width_of(part, at, bold) for part, at in parts)
    more, broken = 0, words in how.broken and " " in words and len(parts) == 1
    if text["ends"]:
        wide = max(text["ends"])
    elif broken:
        wide = max(width_of(line, size, bold) for line in halves(words))
        more = LEAD * size / 2
    anchor = re.search(r"text-anchor: (\w+)", style)
    left = {"middle": -wide / 2, "end": -wide}.get(anchor and anchor[1], 0)
    box = (left, -0.74 * size - more, left + wide, 0.22 * size + more)
    x, y = (float(attribute(head, a) or 0) for a in "xy")
    if place := PLACE.search(transform):
        x, y = x + float(place[1]), y + float(place[2])
    turn, upright = TURN.search(transform), False
    if turn and float(turn[1]):
        if turn[2]:
            x, y = float(turn[2]), float(turn[3])
        box = (box[1], -box[2], box[3], -box[0])  # a quarter to the left
        upright = True
    x, y = (x + text["move"][0]) * PX, (y + text["move"][1]) * PX
    box = tuple(n * PX for n in box)
    return Item(
        x,
        y,
        box,
        True,
        words=words,
        tag=text["tag"],
        size=less,
        broken=broken,
        drawn=first.box if first else (),
        simple=len(parts) == 1,
        upright=upright,
    )


def upward(item):
    """Words in a box, turned about their middle."""
    left, top, right, bottom = placed(item._replace(pivot=(item.x, item.y)))
    wide, high = (right - left) / 2, (bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    return item._replace(
        x=x,
        y=y,
        box=(-high, -wide, high, wide),
        drawn=(-wide, -high, wide, high),
        pivot=(x, y),
        turned=True,
    )


def one_of_lines(item, items):
    """Whether words in a box stand above or below others in it."""
    x = item.x + (item.box[0] + item.box[2]) / 2
    return any(
        i is not item
        and i.bound
        and abs(i.y - item.y) < 18
        and abs(i.x + (i.box[0] + i.box[2]) / 2 - x) < 3
        for i in items
    )


def row_names(items):
    """The names of rows that stand left of all that is drawn.

    returns  a pair (Item, top of its row) for each, and the sides of the rows
    """
    shapes = [i for i in parted_legend(items)[0] if not i.text]
    if not shapes:
        return [], (0, 0)
    edge, _, end, _ = bounds(shapes)
    found = []
    for item in items:
        left, top, right, bottom = placed(item)
        wide = right - left > bottom - top
        if item.text and wide and item.simple and right <= edge + 8:
            y = (top + bottom) / 2
            tops = [
                i.box[1] - 3 * (i.box[3] - i.box[1] < 2)
                for i in shapes
                if i.box[1] - 5 <= y <= i.box[3] + 5
                and i.box[3] - i.box[1] < ROW
            ]
            tall = any(
                i.box[1] <= y <= i.box[3]
                and i.box[3] - i.box[1] >= ROW
                and len(i.lines) > 3
                and i.box[0] < edge + 20
                for i in shapes
            )
            if tops and not tall:
                found.append((item, min(tops)))
    return found, (edge, end)


def parted_legend(items):
    """Items without the legend below them, and the legend in rows."""
    bands = with_words(runs(items, 1, BAND), 1, last=True)
    rest = []
    if not (len(bands) > 1 and legend(bands[-1])):
        bands = runs(items, 1, BAND)  # the name of an axis is no part of it
    if len(bands) > 1 and legend(bands[-1]):
        rest = in_rows(bands.pop(), PHONE)
    return [item for band in bands for item in band], rest


def legend_apart(items):
    """Items without a legend that stands in a line of its own, and that one."""
    boxes = np.array([i.box for i in items if not i.text] or [[0] * 4])
    for first in items:
        if not first.text or not key_of(first, boxes):
            continue
        y = (placed(first)[1] + placed(first)[3]) / 2
        group = [
            i
            for i in items
            if placed(i)[1] < y < placed(i)[3]
            and (key_of(i, boxes) if i.text else i.box[2] - i.box[0] < KEY)
        ]
        if sum(i.text for i in group) > 1:
            near = bounds(group)
            others = [i for i in items if i not in group]
            if others and not met(boxes_of(others), near, 0).any():
                return others, in_rows(group, PHONE)
    return items, []


def raised(items):
    """Items whose names of rows stand above them."""
    found, (edge, end) = row_names(items)
    places = {item.tag: top for item, top in found}
    far = [placed(i)[0] for i in items if i.text and placed(i)[0] > end - 2]
    gap = max(0, min(far, default=end) - end - 8)

    def lifted(item):
        left, _, right, _ = placed(item)
        if item.text and left > end - 2 and item.simple:  # a column of numbers
            return item._replace(
                x=left - gap,
                box=(0, item.box[1], right - left, item.box[3]),
                pivot=(end, item.pivot[1]),
                raised=gap > 0,
            )
        if item.tag not in places or not item.text:
            return item
        x0, y0, x1, y1 = item.box
        top = places[item.tag]
        return item._replace(
            x=edge,
            y=top - y1 - 1,
            box=(0, y0, x1 - x0, y1),
            pivot=(edge, top),
            bound=False,
            drawn=(FAR, FAR, FAR, FAR),
            raised=True,
        )

    return [lifted(item) for item in items]


def halves(words):
    """Words in two lines, as equally long as they can be."""
    found = words.split(" ")
    ways = [
        (" ".join(found[:n]), " ".join(found[n:])) for n in range(1, len(found))
    ]
    return min(ways, key=lambda way: max(map(width_of, way, (1, 1))))


def lines_of(name, head):
    """The straight pieces of a shape, in units."""
    if name == "rect":
        x, y, w, h = (
            float(attribute(head, a) or 0)
            for a in ("x", "y", "width", "height")
        )
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        return [(*a, *b) for a, b in zip(corners, corners[1:], strict=False)]
    found, first, last = [], None, None
    for letter, rest in re.findall(
        r"([MLCQaz])([^MLCQaz]*)", attribute(head, "d")
    ):
        numbers = [float(n) for n in NUMBER.findall(rest)]
        points = list(zip(numbers[::2], numbers[1::2], strict=False))
        if letter == "M":
            first = last = points[0]
        elif letter == "a":  # half of a round dot, as figures.plain writes it
            way = half_of_dot(last, numbers[5])
            found += [(*a, *b) for a, b in itertools.pairwise(way)]
            last = way[-1]
        elif letter == "z":
            found.append((*last, *first))
        elif letter in "CQ":  # three points or two: the way is near them
            step = 3 if letter == "C" else 2
            for n in range(0, len(points), step):
                middle, end = points[n], points[n + step - 1]
                found += [(*last, *middle), (*middle, *end)]
                last = end
        else:
            for point in points:
                found.append((*last, *point))
                last = point
    return found


def half_of_dot(start, across, corners=6):
    """Points on half of a circle, from its left end to its right or back.

    start    x and y of the first
    across   its diameter; negative for the upper half, which goes back
    """
    x, y = start
    turns = [pi * n / corners for n in range(corners + 1)]
    return [
        (x + across / 2 * (1 - cos(t)), y + across / 2 * sin(t)) for t in turns
    ]


def figures_of(lines):
    """Lines, parted where the pen was lifted."""
    found = []
    for line in lines:
        if not found or found[-1][-1][2:] != line[:2]:
            found.append([])
        found[-1].append(line)
    return found


def box_of(lines):
    """Left, top, right and bottom of lines."""
    xs = [n for line in lines for n in line[::2]]
    ys = [n for line in lines for n in line[1::2]]
    return min(xs), min(ys), max(xs), max(ys)


def shape(lines, move, clip):
    """The Item of a shape, without what is clipped; None if all is."""
    dx, dy = move
    if clip:
        lines = [cut for line in lines if (cut := clipped(line, clip))]
    if not lines:
        return None
    lines = tuple(
        ((a + dx) * PX, (b + dy) * PX, (c + dx) * PX, (d + dy) * PX)
        for a, b, c, d in lines
    )
    return Item(0, 0, box_of(lines), False, lines)


def clipped(line, box):
    """A line inside of a box, or None (Liang and Barsky)."""
    x, y, dx, dy = line[0], line[1], line[2] - line[0], line[3] - line[1]
    start, end = 0.0, 1.0
    for p, q in (
        (-dx, x - box[0]),
        (dx, box[2] - x),
        (-dy, y - box[1]),
        (dy, box[3] - y),
    ):
        if p == 0:
            if q < -1e-6:
                return None
        elif p < 0:
            start = max(start, q / p)
        else:
            end = min(end, q / p)
    if start > end:
        return None
    return (x + start * dx, y + start * dy, x + end * dx, y + end * dy)


def placed(item, sx=1.0, sy=1.0, left=0.0, top=0.0):
    """The box of an Item in a picture that is squeezed from a corner.

    Letters keep their size, and their way to what they stand beside.
    """
    x0, y0, x1, y1 = item.box
    if item.text:
        x = (item.pivot[0] - left) * sx + item.x - item.pivot[0]
        y = (item.pivot[1] - top) * sy + item.y - item.pivot[1]
        return x + x0, y + y0, x + x1, y + y1
    return (
        (x0 - left) * sx,
        (y0 - top) * sy,
        (x1 - left) * sx,
        (y1 - top) * sy,
    )


def pivoted(items):
    """Items whose letters know what they stand beside."""
    shapes = [item for item in items if not item.text]
    lines = np.array([ln for item in shapes for ln in item.lines] or [[0] * 4])
    boxes = np.array([item.box for item in shapes] or [[0] * 4])
    closed = np.array([len(item.lines) > 3 for item in shapes] or [False])
    return [
        item._replace(
            pivot=pivot_of(item, lines),
            bound=within(item, boxes, closed) or key_of(item, boxes),
        )
        if item.text
        else item
        for item in items
    ]


def within(item, boxes, closed):
    """Whether letters are written in a box."""
    left, top, right, bottom = placed(item._replace(pivot=(item.x, item.y)))
    x, y = (left + right) / 2, (top + bottom) / 2
    around = (boxes[:, 0] <= x) & (x <= boxes[:, 2])
    around &= (boxes[:, 1] <= y) & (y <= boxes[:, 3])
    return bool((around & closed & (boxes[:, 2] - boxes[:, 0] < PHONE)).any())


def key_of(item, boxes):
    """Whether letters stand beside a small box and say what it means."""
    left, top, _, bottom = placed(item._replace(pivot=(item.x, item.y)))
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    beside = (wide > 7) & (wide < KEY) & (high < 20)
    beside &= (left - boxes[:, 2] > -1) & (left - boxes[:, 2] < 14)
    y = (top + bottom) / 2
    return bool((beside & (boxes[:, 1] < y) & (y < boxes[:, 3])).any())


def pivot_of(item, lines):
    """The point that letters keep their way to.

    A label at an axis or at the end of a bar stands off it as it did; what is
    written in a box, or on nothing, moves with its own middle.
    """
    left, top, right, bottom = box = (
        item.x + item.box[0],
        item.y + item.box[1],
        item.x + item.box[2],
        item.y + item.box[3],
    )
    x, y = item.x, (top + bottom) / 2
    if item.words == MARK:
        return item.x, item.y
    turned = item.upright
    if turned:
        x = (left + right) / 2
    x0, x1 = lines[:, [0, 2]].min(axis=1), lines[:, [0, 2]].max(axis=1)
    y0, y1 = lines[:, [1, 3]].min(axis=1), lines[:, [1, 3]].max(axis=1)
    near = (x0 < right) & (x1 > left) & (y0 < bottom) & (y1 > top)
    inside = crossing(lines[near], np.array(box)).any()
    level = (y0 < bottom - 1) & (y1 > top + 1)
    column = (x0 < right - 1) & (x1 > left + 1)
    before = largest(x1[level & (x1 <= left + 1)])
    after = smallest(x0[level & (x0 >= right - 1)])
    above = largest(y1[column & (y1 <= top + 1)])
    below = smallest(y0[column & (y0 >= bottom - 1)])
    anchor = 0 if item.box[0] > -1 else 2 if item.box[2] < 1 else 1
    if turned:
        if after is not None and after - right < NEAR * 4:
            x = after
        elif before is not None:
            x = before
    elif anchor == 0 and before is not None and left - before < NEAR:
        x = before
    elif anchor == 2 and after is not None and after - right < NEAR:
        x = after
    elif before is None and after is not None and after - right < NEAR:
        x = after  # of two lines at an axis, each begins where it begins
    ends = level & ((x1 == x) | (x0 == x)) & (y1 - y0 < 3 * (bottom - top))
    if x != item.x and not turned and ends.any():  # beside the end of a bar
        y = float((y0 + y1)[ends].mean()) / 2
    elif not inside and not turned:
        up = above is not None and top - above
        down = below is not None and below - bottom
        if None not in (above, below) and in_middle(up, down):
            pass  # of a box
        elif above is not None and up < NEAR and (below is None or up <= down):
            y = above
        elif below is not None and down < NEAR:
            y = below
    return x, y


def in_middle(up, down):
    """Whether letters stand in a box that is low, or amid one that is not."""
    return max(up, down) < 9 or abs(up - down) < 3


def largest(values):
    """The largest of some numbers, or None."""
    return float(values.max()) if len(values) else None


def smallest(values):
    """The smallest of some numbers, or None."""
    return float(values.min()) if len(values) else None


def bounds(items, **how):
    """The box around Items."""
    boxes = [placed(item, **how) for item in items]
    return (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )


def crossing(lines, boxes):
    """Which lines go through a box, each through its own or all through one."""
    x0, y0, x1, y1 = lines.T
    left, top, right, bottom = boxes.T
    found = (np.maximum(x0, x1) > left) & (np.minimum(x0, x1) < right)
    found &= (np.maximum(y0, y1) > top) & (np.minimum(y0, y1) < bottom)
    slanted = found & (x0 != x1) & (y0 != y1)
    if slanted.any():
        ways = np.array([x0 - x1, x1 - x0, y0 - y1, y1 - y0])  # as `clipped`
        room = np.array([x0 - left, right - x0, y0 - top, bottom - y0])
        ways, room = ways[:, slanted], room[:, slanted]
        at = room / ways
        start = np.where(ways < 0, at, 0).max(axis=0, initial=0)
        end = np.where(ways > 0, at, 1).min(axis=0, initial=1)
        found[slanted] = start <= end
    return found


class Fit:
    """A squeezed picture: where its letters are, and what disturbs them."""

    def __init__(self, items, sx, sy, left, top):
        self.sx, self.sy, self.corner = sx, sy, (left, top)
        self.texts = [i for i in items if i.text and i.words != MARK]
        shapes = [i for i in items if not i.text]
        how = {"sx": sx, "sy": sy, "left": left, "top": top}
        self.was = boxes_of(
            [i._replace(box=i.drawn or i.box) for i in self.texts]
        )
        self.now = boxes_of(self.texts, **how)
        marks = [
            i for i in items if i.words == MARK and i.box[2] - i.box[0] > 9
        ]
        self.marks = boxes_of(marks), boxes_of(marks, **how)
        # What touches as it is drawn may touch.
        self.apart = ~met_by(self.was, self.was, 0)
        np.fill_diagonal(self.apart, False)
        self.raised = np.array([i.raised for i in self.texts], bool)
        self.bars = boxes_of(shapes)
        self.shapes = boxes_of(shapes, **how)
        self.closed = np.array([len(i.lines) > 3 for i in shapes], bool)
        low = np.array([i.box[3] - i.box[1] < ROW for i in shapes], bool)
        self.low = self.closed & low
        # The lines of all shapes in one array, as they were and as they are.
        self.counts = np.array([len(i.lines) for i in shapes], int)
        self.starts = self.counts.cumsum() - self.counts
        lines = [line for i in shapes for line in i.lines]
        self.drawn = np.array(lines, float).reshape(-1, 4)
        self.lines = (self.drawn - [left, top] * 2) * ([sx, sy] * 2)

    def places(self, k, box, left, right, near):
        """Boxes that text `k` may move to, the nearest first.

        near     which texts it must not meet
        """
        ways = NEAR_WAYS if self.texts[k].bound else ALL_WAYS
        if abs(self.sy - 1) < 0.01:
            ways = ways[ways[:, 1] == 0]  # no pivot could say another
        there = np.array(box) + ways[:, [0, 1, 0, 1]]
        inside = (there[:, 0] >= left - 0.5) & (there[:, 2] <= right + 0.5)
        there, rest = there[inside], self.now[near]
        rest = rest[met(rest, around_all(there), LETTERS)]
        hit = (
            (rest[None, :, 0] < there[:, None, 2] + LETTERS)
            & (there[:, None, 0] < rest[None, :, 2] + LETTERS)
            & (rest[None, :, 1] < there[:, None, 3] + LETTERS / 2)
            & (there[:, None, 1] < rest[None, :, 3] + LETTERS / 2)
        )
        return there[~hit.any(axis=1)]

    def touched(self, texts, boxes):
        """Which shapes have lines that disturb letters in boxes.

        texts    number of the text in each box
        returns  a row for each box, a column for each shape
        """
        raised = self.raised[texts, None]
        inner = boxes + np.where(raised, ABOVE, WITHIN)
        into = around(boxes, self.shapes) & self.closed & ~raised
        into &= ~around(self.was[texts], self.bars)
        near = met_by(inner, self.shapes, 0)
        near &= ~raised | self.low  # what is raised covers what it crosses
        if not near.any():
            return into
        rows, shapes = np.nonzero(near)
        counts = self.counts[shapes]
        rows, shapes = np.repeat(rows, counts), np.repeat(shapes, counts)
        first = np.repeat(counts.cumsum() - counts, counts)
        lines = self.starts[shapes] + np.arange(len(rows)) - first
        found = crossing(self.lines[lines], inner[rows])
        rows, shapes, lines = rows[found], shapes[found], lines[found]
        before = (self.was + WITHIN)[texts][rows]
        new = ~crossing(self.drawn[lines], before)
        near[:] = False
        near[rows[new], shapes[new]] = True
        return near | into

    def disturbed(self, k, boxes):
        """In which boxes lines would disturb text `k`.

        What `touched` says, of the few shapes that are near.
        """
        raised, found = self.raised[k], np.zeros(len(boxes), bool)
        inner = boxes + (ABOVE if raised else WITHIN)
        n = np.flatnonzero(met(self.shapes, around_all(boxes), 4))
        if not len(n):
            return found
        shapes, was = self.shapes[n], self.was[k : k + 1]
        if not raised:
            wanted = self.closed[n] & ~around(was, self.bars[n])[0]
            found |= (around(boxes, shapes) & wanted).any(axis=1)
        near = met_by(inner, shapes, 0)
        if raised:  # it covers what it crosses
            near &= self.low[n]
        rows, at = np.nonzero(near)
        if not len(rows):
            return found
        counts = self.counts[n][at]
        first = np.repeat(counts.cumsum() - counts, counts)
        lines = np.repeat(self.starts[n][at], counts)
        lines += np.arange(len(lines)) - first
        rows = np.repeat(rows, counts)
        before = np.repeat(was + WITHIN, len(lines), axis=0)
        crossed = crossing(self.lines[lines], inner[rows])
        rows, lines = rows[crossed], lines[crossed]
        new = ~crossing(self.drawn[lines], before[: len(lines)])
        found[rows[new]] = True
        return found

    def settle(self, left, right):
        """Move letters that are in trouble, a little; what stays in trouble.

        left, right  the room that the picture has for its letters
        """
        texts = np.arange(len(self.now))
        lines = self.touched(texts, self.now)
        near = met_by(self.now, self.now, LETTERS) & self.apart
        crossed, close = lines.any(axis=1), near.any(axis=1)
        for _ in range(2):
            moved = False
            for k, box in enumerate(self.now):
                out = max(left - box[0], 0) or min(right - box[2], 0)
                if out:
                    box = (box[0] + out, box[1], box[2] + out, box[3])
                elif not close[k] and not crossed[k]:
                    continue
                there = self.places(k, box, left, right, self.apart[k])
                free = ~self.disturbed(k, there)
                if free.any():
                    self.now[k] = there[free.argmax()]
                    lines[k] = crossed[k] = False
                    near[k] = met(self.now, self.now[k], LETTERS)
                    near[k] &= self.apart[k]
                    near[:, k] = near[k]
                    close, moved = near.any(axis=1), True
            if not moved:
                break
        crossings = 0
        was, now = self.marks
        bad = [
            ("a mark", "a mark")
            for n in range(len(now))
            if (met(now, now[n], 0) & ~met(was, was[n], 0)).any()
        ]
        for k, box in enumerate(self.now):
            words = self.texts[k].words
            found = [self.texts[n].words for n in np.flatnonzero(near[k])]
            closed = found or (lines[k] & self.closed).any()
            found += ["a line"] * int(lines[k].sum())
            if len(found) == 1 and not closed:
                crossings += 1  # one line through words can be read
                found = found if crossings > 2 else []
            bad += [(words, other) for other in found]
            if box[0] < left - 1 or box[2] > right + 1:
                bad.append((words, "the edge"))
        return bad

    def tight(self):
        """Whether words stand on a bar above them, from which they were apart.

        There they seem to belong to it, and not to the bar below.
        """
        bars = self.low
        if not bars.any():
            return False
        free = np.array(
            [not i.bound and not i.upright for i in self.texts], bool
        )
        was, now = self.was[free], self.now[free]
        drawn, shapes = self.bars[bars], self.shapes[bars]
        beside = (drawn[None, :, 0] < was[:, None, 2]) & (
            was[:, None, 0] < drawn[None, :, 2]
        )
        beside &= was[:, None, 1] - drawn[None, :, 3] > AIR
        gaps = now[:, None, 1] - shapes[None, :, 3]
        return bool((beside & (gaps < AIR)).any())

    def strays(self, left, wide, right, over=10):
        """What leaves the picture on a phone that is a little wider.

        over     pixels that are allowed
        """
        sx, pivots, found = self.sx + 32 / wide, self.pivots(), []
        for item in self.texts:
            pivot = pivots[item.tag][0]
            x = (pivot - self.corner[0]) * sx + item.x - pivot
            out = x + item.box[0] < left - over
            if out or x + item.box[2] > wide * sx + right + over:
                found.append((item.words, "the edge"))
        return found

    def pivots(self):
        """The pivots of the texts, as they have been moved."""
        found = {}
        for item, box in zip(self.texts, self.now, strict=True):
            way = []
            for k, share in ((0, self.sx), (1, self.sy)):
                here = box[k] - item.box[k] + self.corner[k] * share
                at = (item.x, item.y)[k]
                same = abs(share - 1) < 0.001
                way.append(at if same else (here - at) / (share - 1))
            found[item.tag] = tuple(way)
        return found


def large(box):
    """Whether a mark is a dot or a star, and no tick of an axis."""
    return min(box[2] - box[0], box[3] - box[1]) > 3


# A box without its edge, which a line may touch; with more room above it.
WITHIN = np.array([1.6, 1, -1.6, -1])
ABOVE = np.array([0, -2, 0, 0])


def boxes_of(items, **how):
    """Boxes of Items as an array, a row for each."""
    return np.array([placed(i, **how) for i in items]).reshape(-1, 4)


def around_all(boxes):
    """The box around boxes; for none of them, one that touches nothing."""
    if not len(boxes):
        return np.array([FAR, FAR, FAR, FAR])
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def met(boxes, box, gap):
    """Which boxes touch another, or are nearer to it than a gap."""
    return (
        (boxes[:, 0] < box[2] + gap)
        & (box[0] < boxes[:, 2] + gap)
        & (boxes[:, 1] < box[3] + gap / 2)
        & (box[1] < boxes[:, 3] + gap / 2)
    )


def met_by(boxes, others, gap):
    """`met` for many: a row for each box, a column for each of the others."""
    a, b = boxes.T[..., None], others.T[:, None]
    return (
        (b[0] < a[2] + gap)
        & (a[0] < b[2] + gap)
        & (b[1] < a[3] + gap / 2)
        & (a[1] < b[3] + gap / 2)
    )


def around(boxes, others):
    """Which of the others hold the middle of boxes: a row for each box."""
    x = (boxes[:, 0] + boxes[:, 2])[:, None] / 2
    y = (boxes[:, 1] + boxes[:, 3])[:, None] / 2
    left, top, right, low = others.T[:, None]
    return (left < x) & (x < right) & (top < y) & (y < low)


WAYS = sorted(
    (
        (dx, dy)
        for dx in (0, 3, -3, 6, -6, 10, -10, 16, -16, 24, -24, 34, -34, 46, -46)
        for dy in (0, 3, -3, 6, -6, 10, -10, 15, -15, 21, -21)
    ),
    key=lambda way: abs(way[0]) + 1.3 * abs(way[1]),
)
ALL_WAYS = np.array(WAYS)
NEAR_WAYS = np.array(  # of letters that belong to a box
    WAYS[: next(n for n, way in enumerate(WAYS) if max(map(abs, way)) > 5)]
)


def squeezed(items, room, shares=None, heights=(), most=1.0):
    """Items as one Piece whose letters keep their size.

    shares   of the height that may be squeezed: see `tall` of a Piece
    heights  what the height is multiplied by, instead of shares
    most     what the width is multiplied by, at most
    returns  the Piece and what cannot be read, for the best of some heights
    """
    piece, bad = _squeezed(tuple(items), room, shares, heights, most)
    return piece, list(bad)


# The same panels are asked for on several ways.
@functools.lru_cache(maxsize=64)
def _squeezed(items, room, shares, heights, most):
    """`squeezed`, for what can be told apart by its parts."""
    box, tags = bounds(items), tuple(item.tag for item in items)
    shapes = [item for item in items if not item.text] or items
    inner = bounds(shapes)
    if inner[2] - inner[0] < 0.6 * (box[2] - box[0]):
        inner = box  # nearly nothing but words
    wide, high = inner[2] - inner[0], inner[3] - inner[1]
    room -= 4  # a little air for letters that are wider than we think
    if most == 1 and box[2] - box[0] <= room:
        return Piece(box, 1, 0, NO_PAD, {}, tags), []
    # Labels of axes and rows keep their room; what is long may move inwards.
    held = [
        item
        for item in items
        if item.text
        and abs(item.pivot[0] - item.x) > 0.5
        and len(item.words) > 0
    ]
    sx = min(most, room / wide)
    for _ in range(12):
        now = [placed(i, sx, left=inner[0]) for i in held] or [(0, 0, 0, 0)]
        left = max(0, -min(b[0] for b in now))
        right = max(0, max(b[2] for b in now) - wide * sx)
        left, right = (min(n, room * 0.62) for n in (left, right))
        sx = min(most, max(room - left - right, 20) / wide)
    best, crowded = None, False
    chart = sum(item.words == MARK for item in items) > 3
    usual = (0.8, 0.55, 1, 0.3) if chart else (0, 0.35, 0.7, 1)
    if sum(i.text and len(i.words.strip(MARK)) == 1 for i in items) > DIGITS:
        usual = (1, *usual)  # a column of digits is one element then
    for share in heights or shares or usual:
        sy = share if heights else sx + (1 - sx) * share
        fit = Fit(items, sx, sy, inner[0], inner[1])
        bad = fit.settle(-left, wide * sx + right)
        bad += fit.strays(-left, wide, right, 3 if shares else 10)
        tight = not bad and not shares and fit.tight()
        if best is None or len(bad) < len(best[1]) or (crowded and not bad):
            crowded = tight
            tops, lows = (
                fit.now[:, k] if len(fit.now) else [0] for k in (1, 3)
            )
            pad = (
                max(2, 2 - min(tops)),
                right + 2,
                max(2, 2 + max(lows) - high * sy),
                left + 2,
            )
            pivots = fit.pivots() | {
                item.tag: (item.x, item.y)
                for item in items
                if item.words == MARK and large(item.box)
            }
            piece = Piece(inner, sx, share, pad, pivots, tags)
            if heights:
                piece = piece._replace(tall=0, high=share)
            best = piece, bad
        if not bad and not tight:
            break
    return best


def runs(items, axis, gap):
    """Items that a gap parts from the others, from left or from the top.

    axis     0 for columns, 1 for rows
    returns  list of lists of Item
    """
    found, end = [], None
    for box, item in sorted(
        ((placed(item), item) for item in items), key=lambda p: p[0][axis]
    ):
        if end is None or box[axis] > end + gap:
            found.append([])
            end = box[axis + 2]
        found[-1].append(item)
        end = max(end, box[axis + 2])
    return found


def with_words(groups, axis, last=False):
    """Groups in which no words stand alone: they join what is nearest.

    axis     along which the groups lie
    last     whether words after the last group may stand by themselves
    """
    groups, n = list(groups), 0
    while n < len(groups) > 1:
        if not wordy(groups[n]) or (last and n == len(groups) - 1):
            n += 1
            continue
        box, gaps = bounds(groups[n]), {}
        label = axis == 0 and all(i.upright for i in groups[n])
        if n and not (label and n + 1 < len(groups)):
            gaps[n - 1] = box[axis] - bounds(groups[n - 1])[axis + 2]
        if n + 1 < len(groups):
            gaps[n] = bounds(groups[n + 1])[axis] - box[axis + 2]
        k = min(gaps, key=lambda k: (gaps[k], -k))
        groups[k : k + 2] = [groups[k] + groups[k + 1]]
        n = k
    return groups


def wordy(group):
    """Whether a group is nothing but words."""
    return all(item.text and item.words != MARK for item in group)


def size_across(items):
    """Width of Items in pixels."""
    box = bounds(items)
    return box[2] - box[0]


def fitted(items, room):
    """Pieces of a picture below each other, or None: it cannot be read so.

    It stays whole if it can be read when it is squeezed. If not, what stands
    above or below the rest, as a legend does, is parted from it; a legend is
    set in lines, and panels stand below each other.
    """
    whole, bad = squeezed(items, room)
    panels = panels_of(items)
    if not bad and not (panels and whole.squeeze < 0.53):
        return [whole]
    if found := panels_with_legend(items, room):
        return found
    bands = with_words(runs(items, 1, BAND), 1, last=True)
    found = to_one_scale(below_each_other(bands, room), items, room)
    if found and not (bad and len(found) == 1):
        return found
    return None if bad else [whole]


def to_one_scale(pieces, items, room):
    """Pieces below each other whose bars can be compared; None where not.

    Bars that begin at one line are squeezed alike.
    pieces   what `below_each_other` returns
    """
    bars = [
        i for i in items if not i.text and len(i.lines) > 3 and wide_bar(i.box)
    ]
    starts = {}
    for n, piece in enumerate(pieces or ()):
        held = [i.box[0] for i in bars if i.tag in piece.tags]
        if len(held) > 1 and not piece.gutter:
            starts[n] = min(held)
    first = min(starts.values(), default=0)
    rows = [n for n, start in starts.items() if start - first < 1]
    scales = {pieces[n].squeeze for n in rows}
    if len(scales) < 2:
        return pieces
    found = list(pieces)
    for n in rows:
        part = [i for i in items if i.tag in pieces[n].tags]
        found[n], bad = squeezed(part, room, most=min(scales))
        if bad or found[n].squeeze < min(scales):
            return None
    return found


def wide_bar(box):
    """Whether a box is more than the colour of a legend."""
    return box[2] - box[0] > KEY


def panels_of(items):
    """The panels of a picture, or None if it has none."""
    for gap in (GUTTER, WIDE_GUTTER):
        columns = with_words(runs(items, 0, gap), 0)
        if not 1 < len(columns) < 5 or any(map(legend, columns)):
            return None
        if all(size_across(column) >= PANEL for column in columns):
            return columns
    return None


def panels_with_legend(items, room):
    """Panels whose rows have names before the first one, and their legend.

    Beside its small boxes the legend may hold other words.
    returns  list of Piece, or None
    """
    *bands, foot = runs(items, 1, BAND)
    shapes = [i for i in foot if not i.text]
    if not shapes or max(size_across([i]) for i in shapes) >= KEY:
        return None
    rest = in_rows(foot, room)
    panels = bands and panels_of([item for band in bands for item in band])
    if not panels or not names_before(panels):
        return None
    found = [squeezed(panel, room) for panel in panels]
    if any(bad for _, bad in found):
        return None
    return named_again(panels, [piece for piece, _ in found], room) + rest


def names_before(panels):
    """The words before the first of some panels that name rows of all.

    They are numbers of an axis, or names of rows; what is read upwards is the
    name of the axis. Empty where another panel has names of its own, or lacks
    a row.
    """
    sides = [bounds([i for i in p if not i.text] or p) for p in panels]
    before = [
        [
            i
            for i in panel
            if i.text
            and i.words != MARK
            and placed(i)[2] <= side[0] + 8
            and placed(i)[1] < side[3] - 4
        ]
        for panel, side in zip(panels, sides, strict=True)
    ]
    rows = [
        (placed(i)[1] + placed(i)[3]) / 2 for i in before[0] if not i.upright
    ]
    if len(rows) < 2 or any(before[1:]):
        return []
    axes = sum(i.words == MARK for panel in panels for i in panel)
    for n, panel in enumerate(panels):
        drawn = [i for i in panel if i.words == MARK or not i.text]
        boxes = [b for i in drawn if (b := placed(i))[3] - b[1] < ROW]
        if axes == 0:  # rows of bars, each above a line of its own
            boxes += stacked(drawn)
        filled = [i.box for i in drawn if not i.text and len(i.lines) > 3]
        held = [any(b[1] - 10 < y < b[3] + 10 for b in boxes) for y in rows]
        stray = [
            b
            for b in filled
            if not any(b[1] - 10 < y < b[3] + 10 for y in rows)
        ]
        if not all(held) and (n == 0 or sum(held) < 2 or stray):
            return []
    return before[0]


def stacked(shapes):
    """The boxes of rows of shapes, and of the words that begin above them."""
    found = [bounds(row) for row in runs(shapes, 1, BAND)]
    return [
        (left, top - LEAD * 12, right, low)
        for left, top, right, low in (found if len(found) > 1 else [])
    ]


def named_again(panels, pieces, room):
    """Pieces of panels, each with the names that stand before the first one.

    pieces   of the panels, without; what they stay where there is no room
    """
    names = names_before(panels)
    if not names:
        return pieces
    edge = bounds([i for i in panels[0] if not i.text or i.words == MARK])[0]
    for labels in (names, [i for i in names if not i.upright]):
        left, top, right, bottom = bounds(labels)
        left, right = left - 1, max(right + 3, min(right + 6, edge))
        found = pieces[:1]
        for panel in panels[1:]:
            rest, air = room - (right - left), 0
            piece, bad = squeezed(panel, rest, (1,))
            if bad:  # a number at its corner may come out
                air = CORNER
                piece, bad = squeezed(panel, rest - air, (1,))
            if any(len(w) > 6 or other != "the edge" for w, other in bad):
                break
            x0, _, x1, _ = piece.box
            if piece.squeeze == 1:  # with the line at its edge
                x1 += 1
            piece = piece._replace(
                box=(x0, 0, x1, 0),
                pad=(0, piece.pad[1], 0, piece.pad[3] + air),
            )
            box = bounds(panel)
            top, bottom = min(top, box[1]), max(bottom, box[3])
            found.append(piece)
        if len(found) < len(pieces) or any(p.squeeze < 0.45 for p in found):
            continue
        first, bad = squeezed(panels[0], room, (1,))  # as high as the others
        top, bottom = top - 1, bottom + 1
        return [pieces[0] if bad else first] + [
            piece._replace(
                box=(piece.box[0], top, piece.box[2], bottom),
                gutter=(left, top, right, bottom),
            )
            for piece in found[1:]
        ]
    return pieces


def legend(items):
    """Whether Items are small boxes, each with words that say what it is."""
    boxes = np.array([i.box for i in items if not i.text] or [[0] * 4])
    words = [item for item in items if item.text and item.words != MARK]
    return bool(words) and all(key_of(item, boxes) for item in words)


def below_each_other(bands, room):
    """Pieces of bands, as many of them together as can be read; or None."""
    found, start = [], 0
    while start < len(bands):
        for stop in range(len(bands), start, -1):
            together = [item for band in bands[start:stop] for item in band]
            panels = panels_of(together)
            pieces = None
            if panels:
                pieces = [squeezed(panel, room) for panel in panels]
                bad = [trouble for _, more in pieces for trouble in more]
                pieces = None if bad else [piece for piece, _ in pieces]
                pieces = pieces and named_again(panels, pieces, room)
            if pieces is None and len(bands) > 1:
                piece, bad = squeezed(together, room)
                pieces = None if bad else [piece]
            if pieces:
                break
        else:
            pieces = legend(bands[start]) and in_rows(bands[start], room)
            stop = start + 1
        if not pieces:
            return None
        found += pieces
        start = stop
    return found if len(found) <= MANY else None


def in_rows(items, room):
    """The entries of a legend in lines, as Pieces."""
    rows = []
    for entry in with_words(runs(items, 0, GUTTER), 0):
        if rows and size_across(rows[-1] + entry) <= room:
            rows[-1] = rows[-1] + entry
        else:
            rows.append(entry)
    return [squeezed(row, room)[0] for row in rows]


def in_lines(items, ties=2, empty=EMPTY):
    """A picture along a time, cut like lines of music; None where it cannot.

    What stands left of its axes is repeated before each line.

    ties     boxes that go on in the next line
    empty    pixels of a strip that is left out where nothing is drawn
    """
    marks = [i for i in items if not i.text or i.words == MARK]
    if sum(i.words == MARK for i in items) < 4:
        return None  # no axis
    along = any(re.search(r"\btime\b|\[ms\]", i.words) for i in items)
    if panels_of(items) or not along:
        return None
    edge = bounds(marks)
    labels = [
        i
        for i in items
        if i.text and i.words != MARK and placed(i)[2] <= edge[0] + 8
    ]
    box = bounds(items)
    gutter = (box[0] - 3, edge[0]) if labels else (edge[0], edge[0])
    room = PHONE - (gutter[1] - gutter[0])
    if room < PHONE / 3:
        return None
    words = [placed(i) for i in items if i.text and i not in labels]
    slopes = [
        line
        for i in items
        if not i.text
        for line in i.lines
        if line[0] != line[2] and abs(line[1] - line[3]) > 0.5
    ]
    ends = sorted({n for i in items if not i.text for n in placed(i)[::2]})

    def split(x):
        return sum(
            not i.text and len(i.lines) > 3 and i.box[0] < x - 1 < i.box[2] - 2
            for i in items
        )

    start, end = gutter[1], box[2]
    count = ceil((end - start) / (room * 0.96))
    found = []
    places = (*[e + 0.6 for e in ends], *range(int(start), int(end), 2))
    while len(found) < count - 1:
        ideal = (end - start) / (count - len(found))
        free = [
            x
            for x in places
            if start < x <= start + room
            and end - x <= room * (count - len(found) - 1)
            and not any(w[0] < x + 1 and w[2] > x - 1 for w in words)
            and not any(min(a, c) < x < max(a, c) for a, _, c, _ in slopes)
        ]
        for low, high in UNLIKE:
            cuts = [x for x in free if low < (x - start) / ideal <= high]
            if cuts:
                break
        else:
            return None
        cut = min(cuts, key=lambda x: (split(x), abs(x - start - ideal)))
        if split(cut) > ties:
            return None
        found.append((start, cut))
        start = cut
    found.append((start, end))
    return [
        Piece(
            *((a, top, b, low), 1, 0, NO_PAD, {}, ()),
            gutter=(gutter[0], top, gutter[1], low) if labels else (),
        )
        for a, b in found
        for top, low in kept(items, labels, (a, b), gutter[1], empty)
    ]


def kept(items, labels, sides, edge, empty):
    """What of the height a line of a time keeps: where something is drawn.

    A panel that has ended, and the room of its title, are left out.

    labels   Items that stand left of the axes
    sides    left and right of the line
    edge     where the axes begin
    empty    pixels of a strip that is left out
    returns  list of pairs, top and bottom
    """
    box, (left, right) = bounds(items), sides
    shapes = [i for i in items if not i.text]
    axes = [
        i
        for i in shapes
        if len(i.lines) == 1
        and i.box[3] - i.box[1] < 1
        and i.box[2] - i.box[0] > 0.8 * (box[2] - edge)
    ]
    bases = sorted({i.box[3] for i in axes})
    if len(bases) < 2:
        return [(box[1], box[3])]
    tops = [box[1], *(base + TICK for base in bases)]
    ticks = [
        i.box for i in shapes if len(i.lines) == 1 and i.box[2] - i.box[0] < 1
    ]
    found, start = [], box[1]
    for n, base in enumerate(bases):
        inside = [
            b
            for i in items
            if i not in labels and i not in axes and i.words != MARK
            for b in [placed(i)]
            if tops[n] - 1 < (b[1] + b[3]) / 2 < base
            and (
                left < (b[0] + b[2]) / 2 < right
                if i.text
                else min(b[2], right) - max(b[0], left) > 2
            )
            and b not in ticks
        ]
        rows = [
            b for i in labels if tops[n] < (b := placed(i))[1] < b[3] < base
        ]
        last = n + 1 == len(bases)
        if not inside:
            top = base - 1 if last else tops[n + 1]
        else:
            top = min(b[1] for b in inside + rows) - 3
        if top - tops[n] > empty:
            if tops[n] > start:
                found.append((start, tops[n]))
            start = top
    below = [
        b[3]
        for i in items
        for b in [placed(i)]
        if b[3] > bases[-1] and left < (b[0] + b[2]) / 2 < right
    ]
    return [*found, (start, max([bases[-1], *below]) + 1)]


def form(svg):
    """The form that a picture takes on a phone, without strips of nothing.

    svg      text of a picture
    returns  as `form_of_all` does
    """
    pieces, room, how = form_of_all(svg)
    if len(pieces) > 1:
        pieces = closed_up(pieces, items_of(svg, how))
    return pieces, room, how


def form_of_all(svg):
    """The form that a picture takes on a phone.

    svg      text of a picture
    returns  list of Piece, empty for one that scrolls; the width in pixels
             below which it cannot be read; and how its letters are set
    """
    items, how = items_of(svg), AS_DRAWN
    if pieces := fitted(items, PHONE) or lines_with_legend(items):
        return pieces, 0, how
    how = Letters(small=True)
    for _ in range(5):
        items = items_of(svg, how)
        if pieces := fitted(items, PHONE):
            return pieces, 0, how
        hit = {words for pair in trouble_of(items) for words in pair}
        more = (hit & alone(items)) - how.broken
        if not more or sum(i.words in more for i in items) > BREAKS:
            break
        how = how._replace(broken=how.broken | more)
    long = {
        i.words
        for i in items_of(svg)
        if i.simple
        and " " in i.words
        and not i.bound
        and i.box[2] - i.box[0] > LONG
    }
    ways = [AS_DRAWN, Letters(True), how]
    if 0 < len(long) < BREAKS:
        ways.append(Letters(True, frozenset(long)))
    if len(ways) > 3 and (pieces := fitted(items_of(svg, ways[-1]), PHONE)):
        return pieces, 0, ways[-1]
    if pieces := named_above(svg):
        return pieces, 0, NAMED_ABOVE
    for way in (Letters(True), how):
        items, rest = legend_apart(items_of(svg, way))
        piece, bad = squeezed(items, PHONE)
        if rest and not bad:
            return [piece, *rest], 0, way
    for way in (Letters(True), how):
        piece, bad = squeezed(items_of(svg, way), PHONE)
        if len(bad) <= SLIPS and all(other in TOUCH for _, other in bad):
            return [piece], 0, way
    for way in ways:
        items = items_of(svg, way)
        pieces = in_strips(items) or lines_with_legend(items, TIES)
        if pieces and not (way is ways[-1] is not how and pieces[0].gutter):
            return pieces, 0, way
    pieces, how = turned_in_boxes(svg)
    if pieces:
        return pieces, 0, how
    how, items = Letters(small=True), items_of(svg, Letters(small=True))
    for part, rest in ((items, []), parted_legend(items)):
        piece, bad = squeezed(part, PHONE)
        few = len({frozenset(pair) for pair in bad}) <= SLIPS
        if few and all(p[1] in TOUCH or close(p, part) for p in bad):
            return [piece, *rest], 0, how
    for room in (354, *range(390, 960, 45)):
        piece, bad = squeezed(items, room)
        if not bad or room > size_across(items):
            return [piece], 0 if room < 360 else room, how
    return [], 0, AS_DRAWN


NAMED_ABOVE = Letters(small=True, above=True)
HEIGHTS = (1, 1.25, 1.5, 1.75, 2, 2.4)  # that give names of rows their room
NAMES = 40  # pixels: names that are narrower may stay where they are


def has_names(svg):
    """Whether names of rows take much of the width."""
    found, _ = row_names(items_of(svg))
    alike = len({top for _, top in found}) < len(found)  # names of two lines
    wide = max((size_across([i]) for i, _ in found), default=0) > NAMES
    return len(found) > 1 and wide and not alike


def named_above(svg):
    """Bars whose names stand above them, and their legend; None for others."""
    if not has_names(svg):
        return None
    items, rest = parted_legend(items_of(svg, NAMED_ABOVE))
    piece, bad = squeezed(items, PHONE, heights=HEIGHTS)
    return [piece, *rest] if spills_little(bad) else None


def close(pair, items):
    """Whether two words may stand close: each is in a box of its own."""
    return all(
        len(words) == 1
        or all(i.bound for i in items if i.text and i.words == words)
        for words in pair
    )


def spills_little(bad):
    """Whether one word at most crosses an edge, and none another word."""
    spilled = {words for words, other in bad if other in TOUCH}
    return len(spilled) < 2 and all(other in TOUCH for _, other in bad)


def turned_in_boxes(svg):
    """Bars whose words are read upwards where they are too long.

    returns  list of Piece, empty where that does not help, and Letters
    """
    ways = [Letters(True), *([NAMED_ABOVE] if has_names(svg) else [])]
    for how in ways:
        for _ in range(4):
            items, rest = parted_legend(items_of(svg, how))
            piece, bad = squeezed(items, PHONE, heights=HEIGHTS)
            if spills_little(bad):
                return [piece, *rest], how
            hit = {words for pair in bad for words in pair}
            more = [i for i in items if i.bound and i.words in hit]
            if any(not i.simple or one_of_lines(i, items) for i in more):
                break
            more = {i.words for i in more}
            if not more - how.turned:
                break
            how = how._replace(turned=how.turned | more)
    return [], AS_DRAWN


def alone(items):
    """Words that may be broken in two lines: those that are one line."""
    texts = [i for i in items if i.text and i.words != MARK]
    return {
        i.words
        for i in texts
        if " " in i.words
        and not any(
            k is not i and abs(k.y - i.y) < 20 and meets_across(k, i)
            for k in texts
        )
    }


def meets_across(first, second):
    """Whether two Items stand above each other."""
    a, b = placed(first), placed(second)
    return a[0] < b[2] and b[0] < a[2]


def trouble_of(items):
    """What cannot be read in a picture, or in its panels, when squeezed."""
    parts = [items, *(panels_of(items) or [])]
    return [pair for part in parts for pair in squeezed(part, PHONE)[1]]


CROWD = 120  # texts of a picture that are not squeezed if it scrolls anyway
HOLE = 46  # pixels between rows, where there is nothing, that are left out
BREAKS = 12  # texts of a picture that are broken
SLIPS, TOUCH = 2, ("a line", "a mark")  # that can be read all the same
STRIPS = 10  # of a picture that is cut as lines of text are
APART = 5  # pixels between rows that are cut by themselves
UNLIKE = (0.8, 1.2), (0.6, 1.4)  # of the mean length of lines of a time
TIES = 12  # boxes of a time that a cut may split
LONG = 150  # pixels: longer words of no box may be broken
SPLIT = 14  # what a cut may cost: shapes that it splits, lines it crosses
FRAME, LINE = 6, 3  # what a cut through a frame costs, and one line more
SLACK = 3  # pixels that words at a cut come out where there is more room
MOVES = 44  # pixels that words may move off a cut


def in_strips(items):
    """A drawing without axes, cut as a line of text is; None where it cannot.

    Its rows that stand apart are cut one by one.
    """
    if sum(i.words == MARK for i in items) >= 4:
        return None
    bands = with_words(runs(items, 1, APART), 1, last=True)
    if len(bands) > 1 and wordy(bands[-1]):
        table = [i for band in bands[:-1] for i in band], bands[-1:]
    else:
        table = items, []
    below = [squeezed(band, CUT) for band in table[1]]
    if not any(bad for _, bad in below):
        found = in_some_lines(table[0])
        if found and found[0].gutter:  # rows with names stay together
            return found + [piece for piece, _ in below]
    found = []
    for band in bands:
        if size_across(band) < CUT * 1.1:
            piece, bad = squeezed(band, CUT)
            more = None if bad else [piece]
        else:
            more = in_some_lines(band)
        if not more:
            found = in_some_lines(items)
            break
        found += more
    return found if found and len(found) <= STRIPS else None


def in_some_lines(items):
    """A row in a few lines, cut where that costs little; or None."""
    shapes = [i for i in items if not i.text or i.words == MARK]
    if not shapes:
        return None
    edge, box = bounds(shapes)[0], bounds(items)
    labels = [i for i in items if i.text and placed(i)[2] <= edge + 8]
    first = [i for i in labels if placed(i)[0] < box[0] + 20]
    ways = [labels, *([first] if len(first) < len(labels) else []), []]
    for before in ways if labels else [[]]:
        found = [
            (cost + LINE * count, pieces)
            for count in (2, 3, 4)
            for pieces, cost in [cut_across(items, before, count) or (None, 0)]
            if pieces
        ]
        if found:
            return min(found, key=lambda way: way[0])[1]
    return None


def cut_across(items, labels, count):
    """A row in lines, its labels repeated before each; or None.

    labels   Items that stand left of all shapes
    returns  list of Piece, and what the worst cut costs
    """
    shapes = [i for i in items if not i.text or i.words == MARK]
    edge, box = bounds(shapes), bounds(items)
    gutter = (edge[0], edge[0])
    if labels:
        gutter = box[0] - 3, min(bounds(labels)[2] + 5, edge[0])
    room = CUT - (gutter[1] - gutter[0])
    if room < CUT / 2:
        return None
    others = [i for i in items if i not in labels]
    if labels and bounds(labels)[2] > bounds(others)[0] + 1:
        return None
    words = [placed(i) for i in others if i.text]
    start = min(edge[0], *(w[0] for w in words)) if words else edge[0]
    end, ways = box[2] + 1, Ways(shapes)
    places, costs = [start - 1], []

    sides = np.array([(w[0], w[2]) for w in words]).reshape(-1, 2).T[:, None]

    def costs_at(x):
        """What cuts cost; words stay whole, and move off them."""
        lies = (sides[0] < x[:, None] + 2) & (sides[1] > x[:, None] - 2)
        deep = np.minimum(x[:, None] - sides[0], sides[1] - x[:, None]) > MOVES
        found = ways.costs(x) + 2 * lies.sum(axis=1)
        return np.where((lies & deep).any(axis=1), SPLIT + 1, found)

    while len(places) < count:
        ideal = (end - places[-1]) / (count - len(places) + 1)
        far = places[-1] + ideal
        x = np.arange(int(far - ideal / 4), int(far + ideal / 4))
        cost = costs_at(x)
        best = int((cost + abs(x - far) / 40).argmin())
        if cost[best] > SPLIT:
            return None
        places.append(int(x[best]))
        costs.append(int(cost[best]))
    found = []
    before = (gutter[0], box[1] - 2, gutter[1], box[3] + 2) if labels else ()
    for a, b in zip(places, [*places[1:], end], strict=True):
        part = [cut for i in others if (cut := part_of(i, a, b, box))]
        piece, bad = squeezed(part, room - 2 * SLACK, (1,))
        if bad or piece.squeeze < 0.45:
            return None
        top, low = (
            n if before else piece.box[k]
            for k, n in ((1, box[1] - 2), (3, box[3] + 2))
        )
        above, after, below, left = piece.pad
        piece = piece._replace(
            box=(piece.box[0], top, piece.box[2], low),
            pad=(above, after + SLACK, below, left + SLACK),
            gutter=before,
            labels=tuple(i.tag for i in labels),
        )
        if before:
            piece = piece._replace(pad=(0, piece.pad[1], 0, piece.pad[3]))
        found.append(piece)
    return found, max(costs)


def part_of(item, left, right, box):
    """What of an Item lies between two sides, or None."""
    if item.text:
        return (
            item
            if left < (placed(item)[0] + placed(item)[2]) / 2 < right
            else None
        )
    if left <= item.box[0] and item.box[2] <= right:
        return item
    window = (left, box[1] - 1, right, box[3] + 1)
    lines = tuple(cut for ln in item.lines if (cut := clipped(ln, window)))
    return item._replace(lines=lines, box=box_of(lines)) if lines else None


class Ways:
    """What a cut through shapes would split."""

    def __init__(self, shapes):
        lines = [line for i in shapes for line in i.lines]
        self.slopes = np.array(
            [
                (min(ln[0], ln[2]), max(ln[0], ln[2]))
                for ln in lines
                if abs(ln[1] - ln[3]) > 0.5
            ]
            or [[0, 0]]
        )
        boxes = [i.box for i in shapes if len(i.lines) > 3]
        self.level = np.array(
            [
                (min(ln[0], ln[2]), max(ln[0], ln[2]))
                for i in shapes
                if len(i.lines) < 4
                for ln in i.lines
                if abs(ln[1] - ln[3]) < 0.5
            ]
            or [[0, 0]]
        )
        edge = bounds(shapes)
        self.wide = edge[2] - edge[0]
        self.boxes = np.array(boxes or [[0] * 4])
        self.frame = np.array(
            [
                any(a < c and b < d and e < g and f < h for c, d, e, f in boxes)
                for a, b, g, h in boxes
            ]
            or [False]
        )

    def costs(self, places):
        """What cuts cost: little for frames, more for what is filled.

        places   array of numbers, of pixels from the left
        """
        x, boxes = places[:, None], self.boxes

        def count(which):
            return which.sum(axis=1)

        split = (boxes[:, 0] + 1 < x) & (x < boxes[:, 2] - 1)
        bars, widths = split & ~self.frame, boxes[:, 2] - boxes[:, 0]
        short = count(bars & (widths < 0.7 * self.wide))
        ends, begins = np.abs(boxes[:, 2] - x), np.abs(boxes[:, 0] - x)
        close = (np.minimum(ends, begins) < 4).any(axis=1)
        joints = np.minimum(count((ends < 3) & ~self.frame), count(begins < 3))
        frames, wide = split & self.frame, widths > 0.7 * self.wide
        return (
            count(frames & wide)
            + FRAME * count(frames & ~wide)
            + np.minimum(2 * count(within_sides(self.level, x)), 4)
            + 3 * close
            + 4 * count(bars)
            + SPLIT * short
            + np.where((joints > 0) & (joints < 4), SPLIT + 1, 0)
            + 3 * count(within_sides(self.slopes, x))
        )


def within_sides(sides, x):
    """Between which left and right sides a place lies."""
    return (sides[:, 0] < x) & (x < sides[:, 1])


def lines_with_legend(items, ties=2):
    """A picture along a time in lines, and its legend below it; or None."""
    whole, empty = items, EMPTY
    items, rest = parted_legend(whole)
    if not rest:  # where it stood, lines would show it again
        items, rest = legend_apart(whole)
        empty = TICK if rest else EMPTY
    lines = in_lines(items, ties, empty)
    return lines + rest if lines else None


def closed_up(pieces, items):
    """Pieces without wide strips of nothing, which are left between panels.

    items    what they show
    """
    found = []
    for group in beside(pieces):
        piece = pieces[group[0]]
        inside = [i for i in items if i.tag in piece.tags]
        bands = runs(inside, 1, HOLE)
        if len(group) > 1 or piece.squeeze < 1 or piece.gutter or not bands:
            found += [pieces[n] for n in group]
            continue
        left, _, right, _ = piece.box
        for band in bands:
            _, top, _, low = bounds(band)
            tags = tuple(i.tag for i in band)
            found.append(piece._replace(box=(left, top, right, low), tags=tags))
    return found


def free(svg, pieces, how=AS_DRAWN):
    """A drawing whose letters and marks keep their size when it is squeezed.

    how      its letters are set where it is narrow
    """
    pivots, places = {}, {}
    set_so = {
        i.tag: i
        for i in (items_of(svg, how) if how != AS_DRAWN else ())
        if i.size or i.broken or i.raised or i.turned
    }
    marks = any(piece.squeeze < 1 for piece in pieces)
    level = all(p.tall == 1 and not p.high for p in pieces if p.squeeze < 1)
    for n, piece in enumerate(pieces):
        pivots |= piece.pivots
        for tag in set(piece.tags if marks and len(pieces) > 1 else ()):
            places[tag] = None if tag in places else n
        if marks:
            places |= dict.fromkeys(piece.labels, LABELS)
    moves, count = [(0, 0)], dict.fromkeys(DRAWN, -1)

    def changed(found):
        end, name, head, empty, after = found.groups()
        if name == "g" and not empty:
            if end:
                moves.pop()
            else:
                place = PLACE.search(attribute(head, "transform"))
                step = (float(place[1]), float(place[2])) if place else (0, 0)
                old = moves[-1]
                moves.append((old[0] + step[0], old[1] + step[1]))
        if end or name not in count:
            return found[0]
        count[name] += 1
        tag, add = (name, count[name]), []
        shown = ""
        if places.get(tag) is not None:
            shown = f"--p{places[tag]}"
        item = set_so.get(tag)
        if item and item.size:
            size = size_of(head) or 9
            add.append(f"font-size: min({size:g}px, var(--z, {size:g}px))")
        if tag in pivots:
            x, y = (
                n / PX - m for n, m in zip(pivots[tag], moves[-1], strict=True)
            )
            turned, head = turn_of(head)
            if turned:  # about the pivot, then where the letters stand
                add.append(
                    f"transform: translate({x:.1f}px, {y:.1f}px) var(--t,) "
                    f"translate({-x:.1f}px, {-y:.1f}px) {turned}"
                )
            else:
                y = 0 if level else y  # nothing moves up or down
                add.append(
                    "transform: var(--t); "
                    f"transform-origin: {x:.1f}px {y:.1f}px"
                )
        if item and item.raised:
            x, y = (
                at / PX - m
                for at, m in zip((item.x, item.y), moves[-1], strict=True)
            )
            twice = styled(
                re.sub(r' (?:x|y|transform)="[^"]*"', "", head),
                ["text-anchor: start", *add, display("--two, none", shown)],
            )
            once = styled(head, [display("--one, inline", shown)])
            return (
                f'<text class="raised"{twice} x="{x:.1f}" y="{y:.1f}">{after}'
                f"</text><{name}{once}{empty}>{after}"
            )
        if item and item.turned:
            x, y = (
                at / PX - m
                for at, m in zip((item.x, item.y), moves[-1], strict=True)
            )
            px, py = (
                at / PX - m
                for at, m in zip(pivots[tag], moves[-1], strict=True)
            )
            low = 0.26 * (item.size or size_of(head) or 9)
            place = (
                f"transform: translate({px:.1f}px, {py:.1f}px) var(--t,) "
                f"translate({x - px:.1f}px, {y - py:.1f}px) rotate(-90deg)"
            )
            add = [a for a in add if not a.startswith("transform")]
            twice = styled(
                re.sub(r' (?:x|y|transform)="[^"]*"', "", head),
                ["text-anchor: middle", *add, place]
                + [display("--two, none", shown)],
            )
            once = styled(head, [display("--one, inline", shown)])
            return (
                f'<text{twice} x="0" y="{low:.2f}">{after}</text>'
                f"<{name}{once}{empty}>{after}"
            )
        if item and item.broken:
            twice = styled(head, [*add, display("--two, none", shown)])
            x, y = (float(attribute(head, a) or 0) for a in "xy")
            up = y - LEAD / 2 * (item.size or size_of(head) or 9)
            twice = re.sub(r' [xy]="[^"]*"', "", twice)
            first, second = (escape(line) for line in halves(item.words))
            twice = (
                f'<text{twice} x="{x:g}" y="{up:.2f}">{first}<tspan x="{x:g}" '
                f'dy="{LEAD}em">{second}</tspan></text>'
            )
            once = styled(head, [*add, display("--one, inline", shown)])
            return f"{twice}<{name}{once}{empty}>{after}"
        if shown:
            add.append(f"display: var({shown})")
        if not add:
            return found[0]
        return f"<{name}{styled(head, add)}{empty}>{after}"

    return TAG.sub(changed, svg)


def display(kind, shown):
    """What CSS says of words that stand in one line or in two."""
    return (
        f"display: var({shown}, var({kind}))"
        if shown
        else (f"display: var({kind})")
    )


def styled(head, add):
    """A tag with more in its style."""
    style, more = attribute(head, "style"), "; ".join(add)
    if style:
        return head.replace(f'style="{style}"', f'style="{style}; {more}"')
    return f'{head} style="{more}"'


def turn_of(head):
    """The transform of a text as CSS says it, and its tag without it."""
    transform = attribute(head, "transform")
    if not transform:
        return "", head
    found = []
    if place := PLACE.search(transform):
        found.append(f"translate({place[1]}px, {place[2]}px)")
    if turn := TURN.search(transform):
        x, y = turn[2] or "0", turn[3] or "0"
        found.append(
            f"translate({x}px, {y}px) rotate({turn[1]}deg) "
            f"translate(-{x}px, -{y}px)".replace("--", "")
        )
    return " ".join(found), head.replace(f' transform="{transform}"', "")


def numbers(**named):
    """Variables of CSS, with short numbers."""
    return "; ".join(
        f"--{name}: {round(value, 3):g}" for name, value in named.items()
    )


def variables(piece, frame):
    """What a style sheet must know of a Piece in a frame of a size.

    frame    left, top, right and bottom of what the drawing's box shows
    """
    left, top, right, bottom = piece.box
    beside = piece.gutter[2] - piece.gutter[0] if piece.gutter else 0
    high = {"high": piece.high} if piece.high else {}
    return numbers(
        **high,
        wide=right - left,
        pads=piece.pad[1] + piece.pad[3] + beside,
        k=piece.tall,
        w=frame[2] - frame[0],
        h=frame[3] - frame[1],
        x=left - frame[0],
        y=top - frame[1],
        above=piece.pad[0],
        before=piece.pad[3],
        after=piece.pad[1],
        below=piece.pad[2],
        rest=frame[3] - bottom,
    )


def narrowed(svg, size, mark, form_of=None):
    """A picture with what a phone needs to show it.

    svg      text of a picture
    size     its width and height, in pixels
    mark     a name that no other picture on the page has
    form_of  finds its form; None for `form`
    returns  the picture, its class, its style, and HTML to stand after it
    """
    if size[0] <= PHONE:
        return svg, "", "", ""
    pieces, room, how = (form_of or form)(svg)
    if not pieces:
        return svg, "stays", "", ""
    if room and svg.count("<text") > CROWD:
        return svg, "stays", "", ""  # each would be an element
    frame = (0, 0, *size)
    svg = free(svg, pieces, how)
    if len(pieces) == 1 and not pieces[0].gutter:
        (piece,) = pieces
        style = variables(piece, frame)
        if room:
            style += f"; --room: {room}"
        return svg, "bent far" if room else "bent", style, ""
    head = re.match(r"<svg[^>]*>", svg)[0]
    inner = svg[len(head) : svg.rindex("</svg>")]
    svg = f'{head}<g id="{mark}">{inner}</g></svg>'
    rows = ""
    for group in beside(pieces):
        looks = "".join(row(pieces, n, mark) for n in group)
        if len(group) > 1:
            looks = f'<div class="beside">{looks}</div>'
        rows += looks
    strips = f'<div class="strips" aria-hidden="true">{rows}</div>'
    return svg, "parted", "", strips


def beside(pieces):
    """Which Pieces stand in a line: panels of a height that are narrow enough.

    returns  list of lists of their numbers
    """
    found = []
    for n, piece in enumerate(pieces):
        last = [pieces[k] for k in found[-1]] if found else []
        wide = sum(p.box[2] - p.box[0] + 2 for p in [*last, piece])
        alike = all(
            p.squeeze == 1
            and not p.gutter
            and p.box[3] - p.box[1] > ROW
            and abs(p.box[1] - piece.box[1]) < ROW
            for p in [*last, piece]
        )
        if last and alike and wide + ASIDE * len(last) <= USUAL:
            found[-1].append(n)
        else:
            found.append([n])
    return found


LABELS = "l"  # what is hidden where they have been shown before


def row(pieces, n, mark):
    """HTML of one of some Pieces: a look at a part of the drawing of a name."""
    piece, box = pieces[n], pieces[n].box
    others = ""
    if any(p.squeeze < 1 for p in pieces):
        rest = [*range(len(pieces)), *[LABELS] * bool(piece.gutter)]
        others = "; ".join(f"--p{k}: none" for k in rest if k != n)
    if piece.gutter and not n:  # nothing is left of it but its names
        others = "; ".join(filter(None, (others, "--slack: 14")))
    if piece.squeeze == 1 and not piece.gutter:  # with the lines at its edge
        left, top, right, bottom = piece.box
        piece = piece._replace(box=(left - 1, top - 1, right + 1, bottom + 1))
    looks = view(piece, mark, others)
    if piece.gutter:
        looks = view(Piece(piece.gutter, 1, 0, NO_PAD), mark) + looks
    if not piece.gutter:
        return looks
    more = n and pieces[n - 1].gutter and pieces[n - 1].box[::2] == box[::2]
    return f'<div class="strip{" more" * bool(more)}">{looks}</div>'


def view(piece, mark, style=""):
    """An SVG that shows a part of the drawing of a name."""
    left, top, right, bottom = box = piece.box
    wide, high = right - left, bottom - top
    seen = " ".join(f"{n / PX:.1f}" for n in (left, top, wide, high))
    how = f'width="{wide:.1f}" height="{high:.1f}"'
    if piece.squeeze < 1:
        style = f"{style}; {variables(piece, box)}".strip("; ")
        how += ' class="bent" preserveAspectRatio="none"'
    if style:
        how += f' style="{style}"'
    return f'<svg viewBox="{seen}" {how}><use href="#{mark}"/></svg>'
