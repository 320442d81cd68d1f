"""Drawings of the book: labelled, with units, for light and dark pages.

Importing this module sets the look of every figure and, inside Jupyter, makes
figures SVG whose bytes depend on the drawing alone.
"""

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from shardlab import ring
from shardlab.arguments import one_of

# Eight fills that stay apart in greyscale and for colour-blind readers; what a
# fill means is always written on it as well.
FILLS = [
    "#9ecae1",
    "#fdbe85",
    "#a1d99b",
    "#dadaeb",
    "#fee391",
    "#fcbba1",
    "#c7e9e4",
    "#d9d9d9",
]
SIZE = (5, 3)  # inches
WHOLE = "#f7f7f7"


def set_style():
    """Figures without background, fonts as outlines, repeatable SVG."""
    mpl.rcParams.update(
        {
            "figure.figsize": SIZE,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "font.size": 9,
            "legend.frameon": False,
            "svg.hashsalt": "shard-by-shard",
            "svg.fonttype": "path",
        }
    )
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats(
            "svg", bbox_inches="tight", metadata={"Date": None}
        )


set_style()


def bare(ax, title=None):
    """Take ticks and frame off `ax` and give it a title."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.invert_yaxis()
    if title:
        ax.set_title(title)
    return ax


def new_axes(ax, size=SIZE):
    """`ax`, or the axes of a new figure of `size` inches."""
    return plt.subplots(figsize=size)[1] if ax is None else ax


def mesh(device_mesh, title=None, ax=None):
    """Draw a mesh of one or two axes: one box for each device, numbered.

    device_mesh  jax.sharding.Mesh; the first axis runs down, the second across
    title        above the picture; None for none
    ax           the axes to draw on; None for a new figure
    returns      the axes drawn on
    raises       ValueError for a mesh of more than two axes
    """
    grid = device_grid(device_mesh)
    ax = new_axes(ax, (0.9 * grid.shape[1] + 1, 0.7 * grid.shape[0] + 1))
    for (row, column), device in np.ndenumerate(grid):
        ax.add_patch(
            Rectangle((column, row), 0.9, 0.9, fc=WHOLE, ec="black", lw=0.8)
        )
        ax.text(column + 0.45, row + 0.45, device.id, ha="center", va="center")
    label_axes(ax, device_mesh, grid.shape)
    return bare(ax, title)


def device_grid(device_mesh):
    """The devices of a mesh as a table of rows (first axis) and columns."""
    devices = device_mesh.devices
    if devices.ndim > 2:
        raise ValueError(
            f"mesh must have at most two axes to be drawn, got {devices.ndim}"
        )
    return devices.reshape(devices.shape[0], -1)


def label_axes(ax, device_mesh, shape):
    """Write the mesh coordinates beside the rows and above the columns."""
    first, *second = device_mesh.axis_names
    for row in range(shape[0]):
        ax.text(-0.1, row + 0.45, f"{first}={row}", ha="right", va="center")
    for column in range(shape[1] if second else 0):
        ax.text(
            column + 0.45,
            -0.1,
            f"{second[0]}={column}",
            ha="center",
            va="bottom",
        )
    ax.set_xlim(-0.8, shape[1])
    ax.set_ylim(-0.4, shape[0])


def shards(x, title=None, ax=None):
    """Draw, for each device of its mesh, which block of `x` it holds.

    x        a matrix sharded over a mesh of one or two axes. What is drawn
             comes from its `addressable_shards`, not from its sharding.
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. Every box is a device, its outline the whole
             matrix; the filled part is what the device holds, and its number
             counts the blocks from the top left, row by row.
    raises   ValueError when `x` is no matrix
    """
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, got {x.ndim} dimensions")
    grid = device_grid(x.sharding.mesh)
    held = {
        s.device.id: corners(s.index, x.shape) for s in x.addressable_shards
    }
    numbers = {block: n for n, block in enumerate(sorted(set(held.values())))}
    ax = new_axes(ax, (0.9 * grid.shape[1] + 1, 0.7 * grid.shape[0] + 1))
    for (row, column), device in np.ndenumerate(grid):
        draw_block(ax, column, row, held[device.id], x.shape, numbers)
    label_axes(ax, x.sharding.mesh, grid.shape)
    return bare(ax, title)


def corners(index, shape):
    """A block's first row, first column, and the row and column after it."""
    rows, columns = (
        part.indices(size) for part, size in zip(index, shape, strict=True)
    )
    return rows[0], columns[0], rows[1], columns[1]


def draw_block(ax, column, row, block, shape, numbers):
    """Draw one device: the outline of the matrix, the block filled in it."""
    side = 0.9
    top, left, bottom, right = (
        side * corner / shape[i % 2] for i, corner in enumerate(block)
    )
    ax.add_patch(Rectangle((column, row), side, side, fc=WHOLE, ec="none"))
    ax.add_patch(
        Rectangle(
            (column + left, row + top),
            right - left,
            bottom - top,
            fc=FILLS[numbers[block] % len(FILLS)],
            ec="none",
        )
    )
    ax.add_patch(
        Rectangle((column, row), side, side, fc="none", ec="black", lw=0.8)
    )
    ax.text(
        column + (left + right) / 2,
        row + (top + bottom) / 2,
        numbers[block],
        ha="center",
        va="center",
    )


def gallery(arrays, columns=3):
    """Draw several sharded matrices side by side with `shards`.

    arrays   dict: title -> matrix
    columns  pictures in a row
    returns  the figure's axes as an array of rows and columns
    """
    rows = -(-len(arrays) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.1 * columns, 2.2 * rows), squeeze=False
    )
    for place, (title, x) in zip(
        product(range(rows), range(columns)), arrays.items(), strict=False
    ):
        shards(x, title, axes[place])
    for ax in axes.flat[len(arrays) :]:
        ax.set_axis_off()
    figure.tight_layout()
    return axes


# ---- films: chips that hand blocks on, from the simulator's hops -------------

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


# ---- what links carry, and how long it takes ---------------------------------

DASHES = ("-", "--", "-.", ":")


def links(steps, V, title, ax=None):
    """Draw what each link carries in all steps together, as a part of V.

    steps    list of steps, each a list of `shardlab.ring.Hop`, on one axis
    V        bytes of the whole array
    title    above the picture
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. A bar stands between two neighbours: upwards
             what goes to the next chip, downwards what goes to the one before
    """
    ax, loads = new_axes(ax), ring.bytes_per_link(steps)
    chips = 1 + max(chip for chip, _, _ in loads)
    places = {(c, w): (c if w == 1 else c - 1) % chips for c, _, w in loads}
    for (chip, _, way), load in loads.items():
        place, part = places[chip, way], Fraction(load, V)
        height = way * float(part)
        ax.bar(place, height, 0.85, fc=FILLS[0 if way == 1 else 1], ec="k")
        ax.text(place, height / 2, part, ha="center", va="center", fontsize=8)
    ax.axhline(0, color="black", lw=0.8)
    names = {p: f"{p}–{(p + 1) % chips}" for p in sorted(places.values())}
    ax.set_xticks(list(names), names.values())
    most = max(loads.values()) / V
    ax.set_ylim(-1.15 * most, 1.15 * most)
    ax.set_yticks([-most / 2, most / 2], ["to the one\nbefore", "to the next"])
    ax.set(xlabel="link between chips", ylabel="part of V")
    ax.set_title(title)
    return ax


def curves(x, lines, title, x_name, y_name, names="end", ax=None):
    """Draw several curves over one range, each with its name beside it.

    x        numbers along the horizontal axis
    lines    dict: name -> numbers, one for each of `x`
    title    above the picture
    x_name, y_name  what the axes show, with units
    names    where the names stand: at the "start" or the "end" of the curves,
             or in a "legend"
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on, both logarithmic; dashes tell the curves apart
    raises   ValueError for other names
    """
    one_of("names", names, ("start", "end", "legend"))
    ax, first = new_axes(ax), names == "start"
    for n, (name, y) in enumerate(lines.items()):
        dashes = DASHES[n % len(DASHES)]
        (line,) = ax.plot(x, y, dashes, color=f"C{n}", label=name)
        if names != "legend":
            ax.annotate(
                name,
                (x[0], y[0]) if first else (x[-1], y[-1]),
                xytext=(4, -4) if first else (5, 0),
                textcoords="offset points",
                va="top" if first else "center",
                color=line.get_color(),
            )
    ax.set(xscale="log", yscale="log", xlabel=x_name, ylabel=y_name)
    ax.set_title(title)
    ax.margins(y=0.15 if first else 0.05)
    if names == "legend":
        ax.legend()
    return ax


# ---- products of sharded matrices --------------------------------------------


def block_matrix(cells, title=None, rows="", columns="", ax=None):
    """Draw a matrix of blocks with a text on each.

    cells    rows of texts; a block with an empty text is drawn without a fill
    title    above the picture; None for none
    rows     name of the blocks of rows, such as "i", numbered from 0
    columns  name of the blocks of columns
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on
    """
    size = len(cells), max(map(len, cells))
    longest = max(len(words) for row in cells for words in row)
    wide = max(2.6, 0.28 * longest)  # of a block, whose height is 1
    ax = new_axes(ax, (0.5 * wide * size[1] + 0.6, 0.5 * size[0] + 0.6))
    for (row, column), words in np.ndenumerate(np.array(cells, object)):
        fill = FILLS[0] if words else WHOLE
        corner = wide * column, row
        ax.add_patch(Rectangle(corner, wide, 1, fc=fill, ec="black", lw=0.8))
        middle = wide * (column + 0.5), row + 0.5
        ax.text(*middle, words, ha="center", va="center", fontsize=8)
    for row in range(size[0] if rows else 0):
        ax.text(-0.1, row + 0.5, f"{rows}={row}", ha="right", va="center")
    for column in range(size[1] if columns else 0):
        middle = wide * (column + 0.5)
        ax.text(middle, -0.1, f"{columns}={column}", ha="center", va="bottom")
    ax.set_xlim(-1.2, wide * size[1])
    ax.set_ylim(-0.5, size[0])
    return bare(ax, title)


def busy(runs, chip=0, unit=1e-6, name="µs"):
    """Draw what the links of a chip and its arithmetic are busy with, and when.

    runs     dict: title -> list of `shardlab.matmul.Work`
    chip     number of the chip
    unit     seconds in a unit of the time axis
    name     of that unit
    returns  the figure's axes, one for each run, one below the other. A bar is
             numbered by the block that comes in, or is multiplied
    """
    _, axes = plt.subplots(
        len(runs), 1, figsize=(6, 1.2 * len(runs)), sharex=True, squeeze=False
    )
    for ax, (title, works) in zip(axes.flat, runs.items(), strict=True):
        for work in [work for work in works if work.chip == chip]:
            height = ["multiply", "link"].index(work.part)
            start, long = work.start / unit, (work.end - work.start) / unit
            fill = FILLS[work.block % len(FILLS)]
            bar = {"fc": fill, "ec": "black", "lw": 0.6}
            ax.add_patch(Rectangle((start, height + 0.1), long, 0.8, **bar))
            middle = start + long / 2, height + 0.5
            ax.text(*middle, work.block, ha="center", va="center", fontsize=7)
        ax.set_yticks([0.5, 1.5], ["multiply", "receive"])
        ax.set_ylim(0, 2)
        ax.set_xlim(0, 1.02 * max(w.end for w in works) / unit)
        ax.set_title(title, loc="left")
    ends = [w.end / unit for works in runs.values() for w in works]
    axes[-1, 0].set_xlim(0, 1.02 * max(ends))
    axes[-1, 0].set_xlabel(f"time [{name}]")
    axes[0, 0].figure.tight_layout()
    return axes


def product_player(steps, N, title):
    """A film of a product whose factor travels round a ring, block by block.

    steps    list of steps, each a list of `shardlab.ring.Hop`, one for each
             chip: a gather that goes one way
    N        chips, each with one block at the start
    title    says what is shown
    returns  Player. A chip is drawn with the block of A that it holds, the N
             blocks of rows of B, and the terms of C that it has added up
    raises   ValueError unless every step brings every chip one block
    """
    hands = [{chip: chip for chip in range(N)}]
    hands += [{hop.destination: hop.chunk for hop in step} for step in steps]
    if any(sorted(hand.values()) != list(range(N)) for hand in hands):
        raise ValueError("steps must bring every chip one block each")
    figures = []
    for n, hand in enumerate(hands):
        words = f"Step {n} of {len(steps)}: " if n else "Start: "
        words += f"chip 0 multiplies block {hand[0]}"
        words += ", which also goes on" if n < len(steps) else ", the last"
        terms = [[h[chip] for h in hands[: n + 1]] for chip in range(N)]
        drawn = "".join(
            drawn_product(chip, terms[chip], N, n > 0) for chip in range(N)
        )
        height = 13 * N + 110
        figures.append(
            f'<figure><svg viewBox="0 0 {FRAME} {height}" role="img" '
            f'aria-label="{words}">{drawn}</svg>'
            f"<figcaption>{words}</figcaption></figure>"
        )
    html = PLAYER.replace("TITLE", title).replace("FIGURES", "".join(figures))
    return Player(title, html)


def drawn_product(chip, terms, N, came):
    """SVG of one chip: the block of A in hand, the rows of B, terms of C."""
    pitch, cell = FRAME / N, 13
    left, top = chip * pitch + 6, 26
    below, right = top + N * cell + 8, left + 24
    hand = terms[-1]
    parts = [
        f'<text x="{short(left)}" y="10">chip {chip}</text>',
        f'<text x="{short(right + 32)}" y="{short(top + 10)}">B</text>',
        f'<text x="{short(right - 8)}" y="{short(below + 54)}">C</text>',
    ]
    for block in range(N):
        fill = FILLS[block] if block == hand else None
        place = right, top + block * cell
        parts.append(drawn_block(*place, 28, cell, block, fill))
    apart = max(2, min(8, (pitch - 62) / max(N - 1, 1)))
    for n, block in enumerate(terms):  # layers, the first one lowest
        place = right + n * apart, below + n * apart
        parts.append(drawn_block(*place, 28, 40, block, FILLS[block], True))
    block = drawn_block(left, below, 14, 40, hand, FILLS[hand])
    from_there = ((chip - 1) % N - chip) * pitch
    slide = f'<g class="s" style="--x:{short(from_there)}px;--y:0px">'
    parts.append(f"{slide}{block}</g>" if came else block)
    return "".join(parts)


def drawn_block(x, y, width, height, number, fill, corner=False):
    """SVG of a rectangle, filled or not, its number amid it or in a corner."""
    box = f'x="{short(x)}" y="{short(y)}" '
    box += f'width="{short(width)}" height="{short(height)}"'
    style = f' style="fill:{fill}"' if fill else ""
    ink = ' fill="#111"' if fill else ""
    if corner:
        width, height = 9, 9
    across, down = x + width / 2 - 2.7, y + height / 2 + 3.3
    return (
        f"<rect {box}{style}/>"
        f'<text{ink} x="{short(across)}" y="{short(down)}">{number}</text>'
    )
