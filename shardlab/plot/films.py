"""Films: chips that hand blocks on, from the simulator's hops."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from shardlab import ring
from shardlab.plot.axes import FILLS, bare

CELL, FRAME = 14, 360  # width of a cell, and of the picture that it is in
ITEM = 8  # bytes of a marked number, an int64


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

    centres  for each chip (x, y)
    rows, columns  of the table that a chip is drawn as
    parts    into how many parts, one above the other, a cell is cut
    width, height  of a cell
    """

    centres: list
    rows: int
    columns: int
    parts: int
    width: float
    height: float

    def corner(self, chip):
        """The top left corner of a chip's table."""
        x, y = self.centres[chip]
        across, down = self.columns * self.width, self.rows * self.height
        return x - across / 2, y - down / 2

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


def stage(moments, wrap=True):
    """The Stage of a film: chips on a circle, or side by side on a line."""
    seen = set().union(*(held for moment in moments for held in moment))
    N, chunks = len(moments[0]), {chunk for chunk, _, _ in seen}
    pairs = any(isinstance(chunk, tuple) for chunk in chunks)
    summed = len({(chunk, term) for chunk, _, term in seen}) > len(chunks)
    rows = N if pairs else 1 + max(chunks)
    columns = N if pairs or summed else 1
    width, height = cell_size(rows, columns, FRAME if wrap else FRAME / N - 8)
    parts = 1 + max(element for _, element, _ in seen)
    if wrap:
        centres = circle(N, columns * width, rows * height)
    else:
        pitch = min(FRAME / N, columns * width + 40)
        left, y = (FRAME - N * pitch) / 2, rows * height / 2 + 1.5 * CELL
        centres = [(left + pitch * (chip + 0.5), y) for chip in range(N)]
    return Stage(centres, rows, columns, parts, width, height)


def cell_size(rows, columns, room):
    """Width and height of a cell, so that chips do not cover each other."""
    if columns == 1:
        return min(2 * CELL, room), min(CELL, 80 / rows)
    side = min(CELL, 64 / max(rows, columns))
    return min(side, room / columns), side


def circle(N, width, height):
    """Centres of N boxes of a size, the first one at the top."""
    turns = [2 * np.pi * chip / N - np.pi / 2 for chip in range(N)]
    middle = FRAME / 2
    across, down = middle - 4 - width / 2, middle - 8 - height / 2
    return [
        (middle + across * np.cos(turn), middle + 6 + down * np.sin(turn))
        for turn in turns
    ]


def short(*numbers):
    """Numbers for SVG, to a tenth, in as few characters as it takes."""
    return " ".join(f"{round(n, 1) + 0:g}" for n in numbers)


def drawn_cells(scene, chip, held):
    """SVG of what a chip holds: a fill for each term."""
    paths, width = {}, short(scene.width)
    for chunk, element, term in sorted(held, key=str):
        height = scene.height / scene.parts
        if all((chunk, e, term) in held for e in range(scene.parts)):
            if element:
                continue  # the whole cell is drawn with its first part
            height = scene.height
        start = f"M{short(*scene.place(chip, (chunk, element, term)))}"
        paths.setdefault(term, []).append(
            f"{start}h{width}v{short(height)}h-{width}z"
        )
    fills = "".join(
        f'<path fill="{FILLS[term % len(FILLS)]}" d="{"".join(path)}"/>'
        for term, path in sorted(paths.items())
    )
    return fills + drawn_digits(scene, chip, held)


def drawn_digits(scene, chip, held):
    """SVG of the digits on the cells: whose term it is."""
    lines = {}
    for chunk, _, term in sorted(held, key=str):
        x, y = scene.place(chip, (chunk, 0, term))
        lines.setdefault(y, {})[x + scene.width / 2 - 2.7] = term
    if len(scene.centres) > 10 or scene.width < 10:
        return ""  # they do not fit
    down = scene.height / 2 + 3.3
    return "".join(
        f'<text fill="#111" x="{short(*line)}" y="{short(y + down)}">'
        f"{''.join(map(str, line.values()))}</text>"
        for y, line in lines.items()
    )


def drawn_chip(scene, chip):
    """SVG of a chip's empty table and its number."""
    x, y = scene.corner(chip)
    width, height = scene.width * scene.columns, scene.height * scene.rows
    place = f'x="{short(x)}" y="{short(y)}"'
    size = f'width="{short(width)}" height="{short(height)}"'
    above = f'x="{short(x)}" y="{short(y - 3)}"'
    name = f"chip {chip}" if len(scene.centres) <= 5 else chip
    return f"<rect {place} {size}/><text {above}>{name}</text>"


def drawn_arrow(scene, source, destination):
    """SVG of an arrow in the middle of the way from a chip to the next."""
    (x, y), (u, v) = scene.centres[source], scene.centres[destination]
    far = np.hypot(u - x, v - y)
    dx, dy = (u - x) / far, (v - y) / far
    # Keep to the right of the way, so that two that pass do not meet.
    x, y = (x + u) / 2 - 6 * dy, (y + v) / 2 + 6 * dx
    tail, tip, left, right = (
        short(x + along * dx - aside * dy, y + along * dy + aside * dx)
        for along, aside in [(-8, 0), (8, 0), (2, 5), (2, -5)]
    )
    return f'<path class="w" d="M{tail}L{tip}M{left}L{tip}L{right}"/>'


def drawn_frame(scene, before, after, step):
    """SVG of a moment: what stayed where it was, and what came and slides."""
    parts = [
        drawn_arrow(scene, hop.source, hop.destination)
        for hop in {(h.source, h.destination): h for h in step}.values()
    ]
    for chip in range(len(scene.centres)):
        parts.append(drawn_chip(scene, chip))
        parts.append(drawn_cells(scene, chip, before[chip] & after[chip]))
    for (source, chip), crossed in brought(step, before).items():
        (x, y), (u, v) = scene.centres[source], scene.centres[chip]
        parts.append(
            f'<g class="s" style="--x:{short(x - u)}px;--y:{short(y - v)}px">'
            f"{drawn_cells(scene, chip, crossed & after[chip])}</g>"
        )
    return "".join(parts)


def caption(number, steps, held):
    """What happens in a step, in words: how much the busiest link carries."""
    if number == 0:
        return "Start"
    step = steps[number - 1]
    block = max(len(marks) for chunks in held for marks in chunks.values())
    load = max(ring.bytes_per_link([step]).values()) / (ITEM * block)
    links = len(ring.bytes_per_link([step]))
    blocks = {0.5: "half a block", 1: "one block"}.get(load)
    links = "1 link" if links == 1 else f"{links} links"
    return (
        f"Step {number} of {len(steps)}: {links} in use, the busiest carries "
        f"{blocks or f'{load:g} blocks'}"
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


def player(steps, held, title, wrap=True):
    """A film of blocks that chips hand on, to be played and stepped through.

    steps    list of steps, each a list of `shardlab.ring.Hop`
    held     what each chip holds at the start, marked as for `film`
    title    says what is shown
    wrap     True: the chips stand on a circle; False: on a line
    returns  Player. A cell is filled and numbered by the chip whose term it
             holds; its place is the block's place in the whole array
    raises   ValueError as `film`
    """
    moments = film(steps, held)
    scene = stage(moments, wrap)
    height = FRAME if wrap else short(scene.height * scene.rows + 2 * CELL)
    figures = []
    for n, (before, after) in enumerate(
        zip([moments[0], *moments], moments, strict=False)
    ):
        words = caption(n, steps, held)
        drawn = drawn_frame(scene, before, after, steps[n - 1] if n else [])
        figures.append(
            f'<figure><svg viewBox="0 0 {FRAME} {height}" role="img" '
            f'aria-label="{words}">{drawn}</svg>'
            f"<figcaption>{words}</figcaption></figure>"
        )
    html = PLAYER.replace("TITLE", title).replace("FIGURES", "".join(figures))
    return Player(title, html)


# A frame is shown by the class `on`; the class `go` lets what came slide in.
# Without scripts no frame is hidden and no button shown.
PLAYER = """<div class="sbs-film" role="group" tabindex="0" aria-label="TITLE">
<p>TITLE</p><div class="bar" hidden><button type="button">Back</button>
<button type="button">Play</button><button type="button">Step</button>
<output aria-live="polite"></output></div><div class="reel">FIGURES</div></div>
<style>
.sbs-film{color:inherit;max-width:44em;margin:0 0 1em}
.sbs-film p{margin:0 0 .4em;font-weight:600}
.sbs-film .bar{margin:0 0 .4em}
.sbs-film .bar:not([hidden]){display:block}
[data-theme=dark] .text_html:has(.sbs-film){background:none!important;
color:inherit!important}
.sbs-film button{font:inherit;margin:0 .3em .3em 0;color:inherit;
background:none;min-width:4em;
min-height:2.2em;border:1px solid currentColor;border-radius:4px;cursor:pointer}
.sbs-film output{display:block;min-height:3em;margin-top:.3em}
.sbs-film .reel{display:flex;flex-wrap:wrap;gap:.5em}
.sbs-film figure{margin:0;flex:1 1 150px;max-width:210px}
.sbs-film figcaption{font-size:.8em;margin:0}
.sbs-film svg{display:block;width:100%;height:auto;overflow:visible}
.sbs-film svg text{font:9px sans-serif}
.sbs-film svg text:not([fill]){fill:currentColor;font-size:11px}
.sbs-film svg rect{fill:none;stroke:currentColor;stroke-width:.8}
.sbs-film .w{fill:none;stroke:currentColor;stroke-width:1.4}
.sbs-film.live figure{display:none;max-width:380px}
.sbs-film.live figure.on{display:block}
.sbs-film.live figcaption{display:none}
.sbs-film.go .on .s{animation:sbs-in .9s ease-in-out}
@keyframes sbs-in{from{transform:translate(var(--x),var(--y))}}
@media (prefers-reduced-motion:reduce){.sbs-film.go .on .s{animation:none}}
</style>
<script>
for(const film of document.querySelectorAll(".sbs-film:not(.live)")){
const frames=[...film.querySelectorAll("figure")],
bar=film.querySelector(".bar"),says=bar.querySelector("output"),
[back,play,step]=bar.querySelectorAll("button"),
last=frames.length-1;let now=0,timer=0;
const show=n=>{film.classList.toggle("go",n>now);
now=Math.max(0,Math.min(n,last));
frames.forEach((f,i)=>f.classList.toggle("on",i===now));
says.textContent=frames[now].querySelector("figcaption").textContent};
const stop=()=>{clearInterval(timer);timer=0;play.textContent="Play"};
const tick=()=>{show(now+1);if(now===last)stop()};
const run=()=>{if(timer)return stop();if(now===last)show(0);
play.textContent="Pause";timer=setInterval(tick,1500);tick()};
const go=n=>{stop();show(n)};
back.onclick=()=>go(now-1);play.onclick=run;step.onclick=()=>go(now+1);
film.onkeydown=e=>{const key={ArrowLeft:()=>go(now-1),ArrowRight:()=>go(now+1),
Home:()=>go(0),End:()=>go(last)," ":run}[e.key];
if(!key||e.ctrlKey||e.altKey||e.metaKey)return;e.stopPropagation();
if(e.key===" "&&e.target!==film)return;e.preventDefault();key()};
film.classList.add("live");bar.hidden=false;show(0)}
</script>"""


def exchanges(runs):
    """Draw what collectives do: what each chip holds before and after.

    runs     dict: title -> (steps, held), as for `film`
    returns  the figure's axes, a row for each collective. A chip is drawn as
             in a film: a cell is numbered by the chip whose term it holds
    """
    _, axes = plt.subplots(
        len(runs), 2, figsize=(6, 1.25 * len(runs)), squeeze=False
    )
    for row, (title, run) in zip(axes, runs.items(), strict=True):
        moments = film(*run)
        scene = stage(moments, wrap=False)
        for ax, n, when in zip(row, (0, -1), ["before", "after"], strict=True):
            draw_chips(ax, scene, moments[n])
            ax.set_title(f"{title}: {when}", fontsize=9)
    axes[0, 0].figure.tight_layout()
    return axes


def draw_chips(ax, scene, moment):
    """Draw the chips of one moment side by side."""
    width, height = scene.width * scene.columns, scene.height * scene.rows
    for chip, held in enumerate(moment):
        for what in sorted(held, key=str):
            x, y = scene.place(chip, what)
            fill = FILLS[what[2] % len(FILLS)]
            size = scene.width, scene.height / scene.parts
            ax.add_patch(Rectangle((x, y), *size, fc=fill, ec="none"))
            middle = x + scene.width / 2, y + scene.height / 2
            ax.text(*middle, what[2], ha="center", va="center", fontsize=7)
        x, y = scene.corner(chip)
        ax.add_patch(
            Rectangle((x, y), width, height, fc="none", ec="black", lw=0.8)
        )
        ax.text(x, y - 3, f"chip {chip}", fontsize=7)
    (first, _), (last, _) = scene.centres[0], scene.centres[-1]
    ax.set_xlim(first - width / 2 - 10, last + width / 2 + 10)
    ax.set_ylim(0, scene.height * scene.rows + 2.5 * CELL)
    bare(ax)
