"""Films of layers dealt to stages, and of stages that are whole nodes."""

import hashlib
from typing import NamedTuple

from shardlab.plot.colours import colour, ramp, step, variable
from shardlab.plot.films import FRAME, reel, rounded, short
from shardlab.plot.pipes import block, slid
from shardlab.plot.steps import box, text

__all__ = ["Visit", "dealt_player", "nodes_player", "visits"]

FORWARD = colour("forward")
CELL, TOKEN = 22, 15  # heights of a layer, and of a microbatch above it
DEALT = 144  # height of one deal
CARD, LANE = 64, 22  # width of a GPU in a node, and from one to the next
HEAD = 44  # above the GPUs of a node
THIN = 'fill="none" stroke="currentColor" stroke-width="1"'


def _filled(name):
    """An attribute that fills, in a <use> too, with a colour of the page."""
    return f'style="fill:{variable(name)}"'


class Visit(NamedTuple):
    """A microbatch in a chunk of a stage.

    stage, chunk, microbatch  numbers
    start    when it comes, in units of a layer's forward
    """

    stage: int
    chunk: int
    microbatch: int
    start: int


def visits(p, v, layers, m):
    """When which microbatch is where in the forward pass, without hops.

    p, v, layers  stages, chunks of a stage, and layers of all
    m        microbatches, at least p: a stage does all in a chunk, then all
             in its next one
    returns  list of Visit
    """
    each = layers // (p * v)
    return [
        Visit(s, c, i, (c * m + i + s) * each)
        for c in range(v)
        for i in range(m)
        for s in range(p)
    ]


def dealt_player(p=4, v=2, layers=16, title="Layers dealt to stages"):
    """A film of microbatches that go once, and v times, through all stages.

    p        stages, and microbatches
    v        chunks of a stage in the lower deal; the upper one has one
    layers   a multiple of p * v, and at most four in a row of a stage
    title    says what is shown
    returns  Player. A number in a cell is a layer; above the layers that a
             microbatch goes through stands its number. Both deals run at the
             same time, and each counts how long every stage has waited
    raises   ValueError for layers that do not divide
    source   chapter 11
    """
    if layers % (p * v):
        raise ValueError(
            f"layers must be a multiple of p * v = {p * v}, got {layers}"
        )
    deals = [(chunks, visits(p, chunks, layers, p)) for chunks in (1, v)]
    unit = layers // (p * v)
    ends = [done[-1].start + layers // (p * chunks) for chunks, done in deals]
    frames = []
    for time in range(0, max(ends) + 1, unit):
        parts, words = [], []
        for n, (deal, end) in enumerate(zip(deals, ends, strict=True)):
            look = _Deal(p, deal[0], layers, n * DEALT, unit)
            parts.append(look.drawn(deal[1], min(time, end)))
            name = "one chunk" if deal[0] == 1 else f"{deal[0]} chunks"
            words.append(f"{name}: {look.says(deal[1], min(time, end), end)}")
        at = f"{time} of {max(ends)} layers' time. "
        frames.append((at + ". ".join(words), "".join(parts)))
    # at rest: the last stage of the upper deal has just begun
    return reel(title, frames, 2 * DEALT, poster=(p - 1) * v)


class _Deal(NamedTuple):
    """How one deal of layers is drawn.

    p, v, layers  stages, chunks of a stage, layers
    top      of its picture
    unit     layers from one frame to the next
    """

    p: int
    v: int
    layers: int
    top: int
    unit: int

    def each(self):
        """Layers of a chunk."""
        return self.layers // (self.p * self.v)

    def place(self, stage, chunk, layer):
        """Left and top of a layer's cell; layers are counted in the chunk."""
        pitch = FRAME / self.p
        wide = (pitch - 28) / (self.each())
        x = stage * pitch + 8 + layer * wide
        high = TOKEN + CELL + 4
        y = self.top + 52 + chunk * high + (2 - self.v) * high / 2
        return x, y, wide

    def doing(self, done, time, stage):
        """The Visit of a stage at a time; None if it waits."""
        for visit in done:
            if visit.stage == stage and 0 <= time - visit.start < self.each():
                return visit
        return None

    def waited(self, done, time, stage):
        """For how long a stage has waited until a time."""
        busy = sum(
            min(max(time - visit.start, 0), self.each())
            for visit in done
            if visit.stage == stage
        )
        return time - busy

    def says(self, done, time, end):
        """What all stages do, in words."""
        if time == end:
            return f"done, every stage has waited {self.waited(done, end, 0)}"
        does = [self.doing(done, time, s) for s in range(self.p)]
        return ", ".join(f"{d.microbatch}" if d else "waits" for d in does)

    def at(self, visit, time):
        """Left, top and width of a microbatch at a time of its visit."""
        x, y, wide = self.place(visit.stage, visit.chunk, time - visit.start)
        return x, y - TOKEN - 1, self.unit * wide - 3

    def drawn(self, done, time):
        """SVG of the deal at a time."""
        mark = hashlib.sha256(repr(self).encode()).hexdigest()[:8]
        chunks = "one chunk" if self.v == 1 else f"{self.v} chunks"
        title = f'class="t" y="{short(self.top + 12)}"'
        # In every frame, since a phone writes it over both halves of the row.
        title = f"<text {title}>{chunks} a stage</text>"
        parts = [self.base(f"d{mark}", time), title]
        for stage in range(self.p):
            x = stage * FRAME / self.p + 8
            waited = f"waited {self.waited(done, time, stage)}"
            parts.append(text(waited, x + 64, self.top + 30))
            visit = self.doing(done, time, stage)
            if visit:
                parts.append(self.token(done, visit, time))
        return "".join(parts)

    def token(self, done, visit, time):
        """SVG of a microbatch that slides to the layers it goes through."""
        x, y, wide = self.at(visit, time)
        drawn = block(FORWARD, str(visit.microbatch), x, y, wide, TOKEN)
        drawn += f'<path class="n" d="{box(x, y + TOKEN + 1, wide, CELL)}"/>'
        for last in done:
            since = time - self.unit - last.start
            if last.microbatch == visit.microbatch and 0 <= since < self.each():
                u, w, _ = self.at(last, time - self.unit)
                return slid(drawn, u - x, w - y)
        return drawn

    def base(self, name, time):
        """SVG of what does not move, defined in the first frame."""
        if time:
            return f'<use href="#{name}"/>'
        parts, ink = [], 'fill="currentColor" stroke="none"'
        for s in range(self.p):
            x = s * FRAME / self.p
            size = FRAME / self.p - 12, DEALT - 24
            outline = rounded(x, self.top + 18, *size)
            parts.append(f'<path stroke-opacity=".4" d="{outline}"/>')
            where = f'x="{short(x + 8)}" y="{short(self.top + 30)}"'
            parts.append(f"<text {where} {ink}>stage {s}</text>")
            for c in range(self.v):
                for n in range(self.each()):
                    left, y, wide = self.place(s, c, n)
                    path = box(left, y, wide - 3, CELL)
                    fill = _filled(step("Z", s, self.p))
                    parts.append(f'<path {fill} stroke-width=".6" d="{path}"/>')
                    number = str((c * self.p + s) * self.each() + n)
                    middle = left + (wide - 3) / 2 - 3.2 * len(number)
                    where = f'x="{short(middle)}" y="{short(y + 15)}"'
                    dark = f'{_filled("ink")} stroke="none"'
                    parts.append(f"<text {where} {dark}>{number}</text>")
        return f'<g id="{name}" {THIN}>{"".join(parts)}</g>'


def nodes_player(nodes=5, chips=8, layers=80, m=5, title="Stages of nodes"):
    """A film of tensor parallelism in each node and a pipeline across them.

    nodes    stages, each a node
    chips    GPUs of a node, which cut every layer of the stage by Y
    layers   of the model, a multiple of the nodes
    m        microbatches
    title    says what is shown
    returns  Player. Rows are places in a node: a GPU sends its part to the
             GPU of its row in the next node, and within a node, behind one
             switch, all sum after every block
    raises   ValueError for layers that do not divide
    source   chapter 11
    """
    if layers % nodes:
        raise ValueError(
            f"layers must be a multiple of nodes = {nodes}, got {layers}"
        )
    pitch, mark = FRAME / nodes, f"{nodes, chips, layers, title}"
    name = "k" + hashlib.sha256(mark.encode()).hexdigest()[:8]
    frames = []
    for tick in range(m + nodes - 1):
        parts = [f'<use href="#{name}"/>']
        if tick == 0:
            parts = [_floor(name, nodes, chips, layers)]
        words = []
        for n in range(nodes):
            i = tick - n
            busy = 0 <= i < m
            words.append(f"node {n} {f'has {i}' if busy else 'waits'}")
            if busy:
                parts.append(_working(n, i, chips, pitch))
        said = f"Moment {tick + 1} of {m + nodes - 1}: " + ", ".join(words)
        frames.append((said, "".join(parts)))
    height = HEAD + chips * LANE + 34
    return reel(title, frames, height, poster=nodes - 1)


def _working(node, microbatch, chips, pitch):
    """SVG of a node at work: its switch, and the parts that have come."""
    x = node * pitch + CARD - 12
    tall = short((chips - 1) * LANE)
    bus = node * pitch + CARD + 18
    y = HEAD + LANE / 2
    ink = colour(ramp("Y"))
    path = f"M{short(bus, y)}v{tall}"
    path += "".join(
        f"M{short(node * pitch + CARD + 4, y + k * LANE)}H{short(bus)}"
        for k in range(chips)
    )
    switch = f'<path fill="none" stroke="{ink}" stroke-width="4" d="{path}"/>'
    blocks = "".join(
        box(x, HEAD + k * LANE + 4, 14, LANE - 8) for k in range(chips)
    )
    tokens = f'<path class="b" fill="{FORWARD}" d="{blocks}"/>'
    xs = short(*[x + 3.8] * chips)
    ys = short(*(HEAD + k * LANE + 15.2 for k in range(chips)))
    digits = str(microbatch) * chips
    tokens += f'<text fill="#111" x="{xs}" y="{ys}">{digits}</text>'
    return switch + (slid(tokens, -pitch) if node else tokens)


def _floor(name, nodes, chips, layers):
    """SVG of nodes side by side, wired row by row, which does not move."""
    pitch, each = FRAME / nodes, layers // nodes
    ink, parts = 'fill="currentColor" stroke="none"', []
    wires = "".join(
        f"M{short(n * pitch + CARD, HEAD + (k + 0.5) * LANE)}"
        f"H{short((n + 1) * pitch + 8)}"
        for n in range(nodes - 1)
        for k in range(chips)
    )
    line = f'style="stroke:{variable("network")}" stroke-width="1.2"'
    parts.append(f'<path {line} stroke-dasharray="3 2" d="{wires}"/>')
    for n in range(nodes):
        x = n * pitch
        outline = rounded(x + 1, 2, CARD + 30, HEAD + chips * LANE + 4)
        paper = f'{_filled("paper")} stroke-opacity=".5"'
        parts.append(f'<path {paper} d="{outline}"/>')
        for words, y in (
            (f"node {n}", 18),
            (f"layers {n * each}–{(n + 1) * each - 1}", 34),
        ):
            where = f'x="{short(x + 8)}" y="{y}"'
            parts.append(f"<text {where} {ink}>{words}</text>")
        faint = f"M{short(x + CARD + 18, HEAD + LANE / 2)}"
        faint += f"v{short((chips - 1) * LANE)}"
        parts.append(f'<path stroke-opacity=".4" d="{faint}"/>')
        for k in range(chips):
            fill = _filled(step("Y", k, chips))
            path = box(x + 8, HEAD + k * LANE + 2, CARD - 4, LANE - 4)
            parts.append(f'<path {fill} stroke-width=".7" d="{path}"/>')
    y = HEAD + chips * LANE + 26
    for x, words in (
        (0, "thick: sums in a node, over its switch"),
        (310, "dashed: from row to row of the next node, once"),
    ):
        where = f'x="{x}" y="{short(y)}"'
        parts.append(f"<text {where} {ink}>{words}</text>")
    return f'<g id="{name}" {THIN}>{"".join(parts)}</g>'
