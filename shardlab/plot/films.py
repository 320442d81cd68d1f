"""Films: chips that hand blocks on, from the simulator's hops."""

import hashlib
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from shardlab import ring
from shardlab.plot.colours import colour, ramp, shade
from shardlab.plot.templates import filled

__all__ = [
    "FRAME",
    "RING",
    "Player",
    "Stage",
    "brought",
    "film",
    "player",
    "reel",
    "rounded",
    "short",
    "stage",
    "terms",
]

CELL, FRAME = 24, 640  # height of a cell, and width of a picture
RING, BESIDE, ABOVE = 318, 48, 44  # width of a ring; least gaps between chips
ITEM = 8  # bytes of a marked number, an int64
PAD, HEAD = 8, 24  # pixels around a chip's table, and above it for its name
INK_ON_FILL = "#111"


def film(steps, held):
    """What each chip holds before the first step and after each.

    steps    list of steps, each a list of `shardlab.ring.Hop`
    held     for each chip {chunk: array of int64}. Every number is 2 to the
             power of the chip that it comes from, so that the binary digits
             of a sum tell whose terms are in it
    returns  list of moments; a moment has for each chip the set of its
             (chunk, element, term): that element of that chunk holds the term
             of that chip. A copy stays where it was sent from; a sum does not,
             nor does a chunk that goes from one chip to one other
    raises   ValueError as `shardlab.ring.carry`
    """
    moments = [terms(held)]
    for step in steps:
        after = ring.carry([step], held)
        for hop in step:
            if hop.adds or isinstance(hop.chunk, tuple):
                first, last = hop.start // ITEM, (hop.start + hop.bytes) // ITEM
                after[hop.source][hop.chunk][first:last] = 0
        moments.append(terms(after))
        held = after
    return moments


def terms(held):
    """The set of (chunk, element, term) of each chip, from marked numbers."""
    return [
        {
            (chunk, element, term)
            for chunk, marks in chunks.items()
            for element, mark in enumerate(marks)
            for term in range(len(held))
            if int(mark) >> term & 1
        }
        for chunks in held
    ]


def brought(step, before):
    """What crosses in a step: {(source, destination): set of what is held}."""
    found = {}
    for hop in step:
        first, last = hop.start // ITEM, (hop.start + hop.bytes) // ITEM
        found.setdefault((hop.source, hop.destination), set()).update(
            (chunk, element, term)
            for chunk, element, term in before[hop.source]
            if chunk == hop.chunk and first <= element < last
        )
    return found


class Stage(NamedTuple):
    """How the chips of a film are drawn: where, and as tables of which size.

    centres  for each chip (x, y), the middle of its table
    rows, columns  of the table that a chip is drawn as
    parts    into how many parts, one above the other, a cell is cut
    width, height  of a cell
    ring     True if the last chip is wired to the first
    room     width of the picture
    """

    centres: list
    rows: int
    columns: int
    parts: int
    width: float
    height: float
    ring: bool = True
    room: float = FRAME

    def corner(self, chip):
        """The top left corner of a chip's table."""
        x, y = self.centres[chip]
        across, down = self.columns * self.width, self.rows * self.height
        return round(x - across / 2), round(y - down / 2)

    def place(self, chip, what):
        """Left and top of the part of a cell for (chunk, element, term).

        What goes from chip to chip has a cell each. A sum has a row, with a
        column for each term; a block that is only copied has a row.
        """
        chunk, element, term = what
        row, column = chunk if isinstance(chunk, tuple) else (chunk, term)
        x, y = self.corner(chip)
        y += (row + element / self.parts) * self.height
        return x + (column if self.columns > 1 else 0) * self.width, y

    def box(self):
        """Width and height of a chip, with its name and its margins."""
        wide = max(self.columns * self.width + 2 * PAD, 66)
        return wide, self.rows * self.height + PAD + HEAD

    def middle(self, chip):
        """The middle of a chip with its name."""
        x, y = self.centres[chip]
        return x, y + (PAD - HEAD) / 2

    def bottom(self):
        """Height of the picture."""
        half = self.rows * self.height / 2 + PAD
        return max(y for _, y in self.centres) + half + 4

    def wires(self):
        """Pairs of chips that are wired to each other."""
        N = len(self.centres)
        pairs = [(chip, chip + 1) for chip in range(N - 1)]
        return pairs + ([(N - 1, 0)] if self.ring and N > 2 else [])

    def way(self, source, destination):
        """From the edge of one chip to the edge of another: two points."""
        ends = []
        pair = self.middle(source), self.middle(destination)
        half = np.array(self.box()) / 2
        for one, other in (pair, pair[::-1]):
            ahead = np.subtract(other, one)
            with np.errstate(divide="ignore"):
                share = np.min(half / np.abs(ahead))
            ends.append(one + min(share, 0.5) * ahead)
        return ends


def stage(moments, wrap=True):
    """The Stage of a film: chips on a ring, or side by side on a line."""
    seen = set().union(*(held for moment in moments for held in moment))
    N, chunks = len(moments[0]), {chunk for chunk, _, _ in seen}
    pairs = any(isinstance(chunk, tuple) for chunk in chunks)
    summed = len({(chunk, term) for chunk, _, term in seen}) > len(chunks)
    rows = N if pairs else 1 + max(chunks)
    columns = N if pairs or summed else 1
    ring_of_them = wrap and N > 2
    room = FRAME / N - 2 * PAD - 8
    if ring_of_them:  # which grows with what the chips hold
        room = 50 if columns == 1 else FRAME
    width, height = _cell_size(rows, columns, room)
    parts = 1 + max(element for _, element, _ in seen)
    first = Stage([(0, 0)] * N, rows, columns, parts, width, height, wrap)
    wide, high = first.box()
    if ring_of_them:
        at, whole = _ring_places(N, wide, high)
        first = first._replace(room=whole)
    else:
        pitch = min(FRAME / N, wide + 96)
        left = (FRAME - N * pitch) / 2
        at = [(left + pitch * (k + 0.5), high / 2 + 2) for k in range(N)]
    return first._replace(centres=[(x, y + (HEAD - PAD) / 2) for x, y in at])


def _cell_size(rows, columns, room):
    """Width and height of a cell, so that chips do not cover each other."""
    if columns == 1:
        return min(64, room // 1), min(CELL, 132 // rows)
    side = min(CELL, 132 // max(rows, columns))
    return min(side, room // columns), side


def _ring_places(N, width, height):
    """Centres of N boxes of a size on a ring with corners, and its width.

    N        boxes, 3 or more; the first stands at the top left, and the ring
             goes on to the right. It is two or three boxes wide, so that a
             phone shows all of it
    width, height  of a box
    returns  list of (x, y), and the width of the picture
    """
    across = min(3, -(-N // 2))
    below = min(across, N - across)
    left = (N - across - below) // 2
    right = N - across - below - left
    beside = max(BESIDE, (RING - 4 - across * width) / (across - 1))
    far, last = across - 1, right + 1
    floor = np.linspace(far, 0, below) if below > 1 else [far / 2]
    places = [(k, 0) for k in range(across)]
    places += [(far, k + 1) for k in range(right)]
    places += [(k, last) for k in floor]
    places += [(0, last - (k + 1) * last / (left + 1)) for k in range(left)]
    centres = [
        (
            2 + width / 2 + x * (width + beside),
            2 + height / 2 + y * (height + ABOVE),
        )
        for x, y in places
    ]
    return centres, 4 + across * width + far * beside


def short(*numbers):
    """Numbers for SVG, to a tenth, in as few characters as it takes."""
    return " ".join(f"{round(n, 1) + 0:g}" for n in numbers)


def _number_of(scene, chunk, term):
    """What a cell is numbered and coloured by, and how many of it there are.

    scene    Stage
    chunk, term  the block, and the chip that it comes from
    returns  a copy's block and the number of blocks; of a term of a sum, or of
             what one chip has for another, the chip and the number of chips
    """
    if scene.columns == 1:
        return chunk, scene.rows
    return term, len(scene.centres)


def _drawn_cells(scene, moment, axis):
    """SVG of what all chips hold: a fill for each term, and their digits."""
    paths, labels = {}, []
    for chip, held in enumerate(moment):
        for chunk, element, term in sorted(held, key=str):
            high = scene.height / scene.parts
            if all((chunk, e, term) in held for e in range(scene.parts)):
                if element:
                    continue  # the whole cell is drawn with its first part
                high = scene.height
            x, y = scene.place(chip, (chunk, element, term))
            number = _number_of(scene, chunk, term)
            paths.setdefault(number, []).append(
                f"M{short(x, y)}h{short(scene.width)}v{short(high)}"
                f"h-{short(scene.width)}z"
            )
            if min(high, scene.width) >= 11 and scene.columns <= 6:
                labels.append((number[0], x + scene.width / 2, y + high / 2))
    fills = "".join(
        f'<path fill="{shade(axis, *number)}" d="{"".join(path)}"/>'
        for number, path in sorted(paths.items())
    )
    return fills + _drawn_digits(labels)


def _drawn_digits(labels):
    """SVG of (digit, x, y) with their middles: all in one element."""
    lone = [label for label in labels if label[0] < 10]
    if not lone:
        return ""
    x = short(*(x - 3.4 for _, x, _ in lone))
    y = short(*(y + 4.2 for _, _, y in lone))
    digits = "".join(str(term) for term, _, _ in lone)
    return f'<text fill="{INK_ON_FILL}" x="{x}" y="{y}">{digits}</text>'


def _drawn_base(scene, name):
    """SVG of what does not move, defined once: chips, tables and wires."""
    wires = "".join(
        f"M{short(*scene.way(*pair)[0])}L{short(*scene.way(*pair)[1])}"
        for pair in scene.wires()
    )
    boxes, tables, texts = "", "", ""
    wide, high = scene.box()
    # Rules of CSS for what is inside of something do not reach a <use>.
    thin = 'fill="none" stroke="currentColor" stroke-width="1.4"'
    letters = 'fill="currentColor" stroke="none" text-anchor="middle"'
    for chip in range(len(scene.centres)):
        x, y = scene.middle(chip)
        boxes += rounded(x - wide / 2, y - high / 2, wide, high)
        left, top = scene.corner(chip)
        across, down = scene.columns * scene.width, scene.rows * scene.height
        tables += f"M{short(left, top)}h{short(across)}v{short(down)}"
        tables += f"h-{short(across)}z"
        place = f'x="{short(x)}" y="{short(y - high / 2 + 16)}"'
        texts += f"<text {place} {letters}>chip {chip}</text>"
    return (
        f'<g id="{name}" {thin}><path stroke-opacity=".35" d="{wires}"/>'
        f'<path d="{boxes}"/><path stroke-opacity=".5" d="{tables}"/>'
        f"{texts}</g>"
    )


def rounded(x, y, wide, high, r=6):
    """An SVG path of a rectangle with round corners."""
    return (
        f"M{short(x + r, y)}h{short(wide - 2 * r)}q{r} 0 {r} {r}"
        f"v{short(high - 2 * r)}q0 {r} -{r} {r}h-{short(wide - 2 * r)}"
        f"q-{r} 0 -{r} -{r}v-{short(high - 2 * r)}q0 -{r} {r} -{r}z"
    )


def _drawn_loads(scene, steps, axis, most):
    """SVG of what links have carried so far, as thick as it is much."""
    loads = {}
    for step in steps:
        for hop in step:
            pair = hop.source, hop.destination
            loads[pair] = loads.get(pair, 0) + hop.bytes
    paths = {}
    for (source, destination), load in sorted(loads.items()):
        start, end = scene.way(source, destination)
        aside = _right_of(start, end) * 4 * ((destination, source) in loads)
        path = f"M{short(*(start + aside))}L{short(*(end + aside))}"
        paths.setdefault(load, []).append(path)
    ink = colour(ramp(axis))
    drawn = "".join(
        f'<path class="g" stroke="{ink}" stroke-width="'
        f'{short(1 + 7 * load / most)}" d="{"".join(path)}"/>'
        for load, path in sorted(paths.items())
    )
    return drawn


def _right_of(start, end):
    """A step of one pixel to the right of a way."""
    ahead = np.subtract(end, start)
    far = max(float(np.hypot(*ahead)), 1e-9)
    return np.array([-ahead[1], ahead[0]]) / far


def _drawn_travel(scene, step, before, axis):
    """SVG of what is on the wires: blocks with their numbers, and arrows."""
    crossed, parts = brought(step, before), []
    for (source, chip), what in sorted(crossed.items()):
        start, end = scene.way(source, chip)
        right, ahead = _right_of(start, end), np.subtract(end, start)
        both = (chip, source) in crossed
        middle = (start + end) / 2 + right * (13 if both else 0)
        far = max(float(np.hypot(*ahead)), 1e-9)
        ahead = ahead / far
        whole = {}
        for chunk, _element, term in what:
            here = chunk, term
            whole[here] = whole.get(here, 0) + 1
        cells = sorted(whole.items(), key=str)
        across = min(len(cells), 4)
        wide, high = 15, 17
        if len(cells) > 8:
            wide, high, across = 9, 9, 8
        left = middle[0] - across * wide / 2
        down = -(-len(cells) // across)
        top = middle[1] - down * high / 2
        drawn, labels = "", []
        for n, ((chunk, term), count) in enumerate(cells):
            x, y = left + n % across * wide, top + n // across * high
            tall = high if count == scene.parts else high / 2
            number = _number_of(scene, chunk, term)
            fill = shade(axis, *number)
            size = f"h{wide}v{short(tall)}h-{wide}z"
            path = f'<path class="b" fill="{fill}" d="M{short(x, y)}{size}"/>'
            drawn += path
            if wide >= 11 and tall >= 11:
                labels.append((number[0], x + wide / 2, y + tall / 2))
        away = short(*(start - middle + right * (13 if both else 0)))
        x, y = away.split()
        slide = f'<g class="s" style="--x:{x}px;--y:{y}px">'
        parts.append(f"{slide}{drawn}{_drawn_digits(labels)}</g>")
        tip = end - 3 * ahead + right * (6 if both else 0)
        tail = tip - 9 * ahead
        wings = [tail + 5 * right, tail - 5 * right]
        head = "".join(f"L{short(*wing)}" for wing in (wings[0], wings[1]))
        fill = f'fill="{colour(ramp(axis))}"'
        parts.append(f'<path {fill} d="M{short(*tip)}{head}z"/>')
    return "".join(parts)


def _drawn_new(scene, before, after):
    """SVG of frames around the cells that a step has filled."""
    path = ""
    for chip, (then, now) in enumerate(zip(before, after, strict=True)):
        boxes = {}  # of a row of the table: those of one height are one frame
        for chunk, element, term in sorted(now - then, key=str):
            here = {(chunk, e, term) for e in range(scene.parts)}
            full = here <= now - then
            if element and full:
                continue
            x, y = scene.place(chip, (chunk, element, term))
            high = scene.height / (1 if full else scene.parts)
            boxes.setdefault((y, high), []).append(x)
        for (y, high), lefts in boxes.items():
            for x, wide in _runs(lefts, scene.width):
                path += f"M{short(x + 1, y + 1)}h{short(wide - 2)}"
                path += f"v{short(high - 2)}h-{short(wide - 2)}z"
    return f'<path class="n" d="{path}"/>' if path else ""


def _runs(lefts, width):
    """Cells of a row that touch each other, as (left, width) of each run."""
    runs = []
    for x in sorted(lefts):
        if runs and abs(runs[-1][0] + runs[-1][1] - x) < 0.5:
            runs[-1] = runs[-1][0], runs[-1][1] + width
        else:
            runs.append((x, width))
    return runs


def _caption(number, steps, held):
    """What happens in a step, in words: how much the busiest link carries."""
    if number == 0:
        return "Start"
    step, said = steps[number - 1], steps[:number]
    block = max(len(marks) for chunks in held for marks in chunks.values())
    load = max(ring.bytes_per_link([step]).values()) / (ITEM * block)
    links = len(ring.bytes_per_link([step]))
    blocks = {0.5: "half a block", 1: "one block"}.get(load)
    links = "1 link" if links == 1 else f"{links} links"
    busiest = max(ring.bytes_per_link(said).values())
    total = sum(hop.bytes for each in said for hop in each)
    return (
        f"Step {number} of {len(steps)}: {links} in use, the busiest carries "
        f"{blocks or f'{load:g} blocks'}. So far {busiest:,} bytes on the "
        f"busiest link, {total:,} on all links together"
    )


class Player(NamedTuple):
    """A film for a page or a notebook: plays, pauses, steps; one HTML text.

    title  what is shown
    html   without scripts, all moments side by side
    """

    title: str
    html: str

    def _repr_html_(self):
        return self.html

    def __repr__(self):
        frames = self.html.count("<figure>")
        return f"film of {frames} moments: {self.title}"


def player(steps, held, title, wrap=True, axis="X"):
    """A film of blocks that chips hand on, to be played and stepped through.

    steps    list of steps, each a list of `shardlab.ring.Hop`
    held     what each chip holds at the start, marked as for `film`
    title    says what is shown, to those who do not see it
    wrap     True: the chips stand on a ring; False: on a line
    axis     name of the mesh axis along which they stand
    returns  Player. A cell is filled and numbered by the chip whose term it
             holds, or by the block where all are copies; its place is the
             block's place in the whole array. Blocks travel on the wires,
             which grow with the bytes that they have carried
    raises   ValueError as `film`
    """
    moments = film(steps, held)
    scene = stage(moments, wrap)
    loads = ring.bytes_per_link(steps)
    most = max(loads.values()) if loads else 1
    mark = hashlib.sha256(repr((title, steps, wrap)).encode()).hexdigest()[:8]
    name, frames = f"f{mark}", []
    for n, after in enumerate(moments):
        before = moments[n - 1] if n else after
        step = steps[n - 1] if n else []
        base = f'<use href="#{name}"/>'
        if n == 0:  # what is defined in a frame that is not shown is shown
            base = _drawn_base(scene, name)
        drawn = (
            _drawn_loads(scene, steps[:n], axis, most)
            + base
            + _drawn_cells(scene, after, axis)
            + _drawn_new(scene, before, after)
            + _drawn_travel(scene, step, before, axis)
        )
        frames.append((_caption(n, steps, held), drawn))
    return reel(title, frames, scene.bottom(), width=scene.room)


def reel(title, frames, height, poster=None, width=FRAME):
    """A film from its frames.

    title    says what is shown
    frames   list of (words, SVG)
    height   of a frame
    poster   number of the frame that is seen before it is played; None for
             the middle one
    width    of a frame; a narrow one is not blown up to the width of the page
    returns  Player
    """
    marked = [(words, Markup(drawn)) for words, drawn in frames]
    room = {"width": short(width), "height": short(height)}
    room["most"] = "" if width == FRAME else f"{(5 * width + 2) // 4:.0f}px"
    still = "" if poster is None else poster
    html = filled("film", title=title, frames=marked, poster=still, **room)
    return Player(title, html)
