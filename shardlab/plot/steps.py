"""Films of a training step under FSDP: who multiplies, sends and holds what.

The names of tasks and arrays say what is drawn, n being the number of a layer:

Gn, Gn'    gather Wn, whole on each chip
Fn         Out = In · Wn, on each chip for its own tokens
Dn         dWn = Inᵀ · dOut
Bn         dIn = dOut · Wnᵀ
Sn         scatter dWn: each chip gets the sum for its own rows
Wn_X, Wn   a chip's own rows of the weights, and all of them
dWn, dWn_X  a whole gradient, of this chip's tokens, and own rows of the sum
Inn, dOutn  activations kept for the backward pass, and the gradient on its way
"""

import re
from html import escape
from itertools import pairwise
from typing import NamedTuple

from shardlab import room, timeline
from shardlab.arguments import whole
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import FRAME, reel, short

__all__ = [
    "GUTTER",
    "TALL",
    "TOP",
    "Look",
    "Scene",
    "box",
    "scenes",
    "step_player",
    "text",
]

TASK = re.compile(r"([GFDBS])(\d+)'?")
ARRAY = re.compile(r"(dW|W|In|dOut)(\d+)(_X)?")
PRODUCTS = {
    "F": ("In{0}·W{0}", ("In", "W")),
    "D": ("In{0}ᵀ·dOut{0}", ("In", "dOut")),
    "B": ("dOut{0}·W{0}ᵀ", ("dOut", "W")),
}
MOVES = {"G": "gathers W{0}", "S": "scatters dW{0}"}
ROWS = ("W", "In", "dOut", "dW")  # from above; matrices are drawn with a frame
GUTTER, TALL, TOP, GAP = 40, 40, 54, 6  # of names; of a matrix; of rows
MOST_CHIPS, MOST_LAYERS = 4, 4


class Scene(NamedTuple):
    """What is seen for a time.

    name     "Start", "End", or which one it is of how many
    tasks    names of the tasks that are under way
    held     names of the arrays that a chip holds
    bytes    that they take on a chip
    """

    name: str
    tasks: tuple
    held: tuple
    bytes: float


def scenes(played, stays):
    """The scenes of a training step: one for each time between two events.

    played   list of shardlab.timeline.Done
    stays    list of shardlab.room.Stay, with bytes as sizes
    returns  list of Scene. The first has the rows and the tokens that are
             there before anything is brought, the last the rows that are left
    raises   ValueError as `shardlab.room.profile`
    """
    times = sorted({t for done in played for t in (done.start, done.end)})
    # Sums of times that are equal on paper differ by roundings.
    long = [(t, u) for t, u in pairwise(times) if u - t > 1e-6 * times[-1]]
    changes, found = [(times[0], 0, ()), *room.profile(played, stays)], []
    for n, (time, until) in enumerate(long, start=1):
        middle = (time + until) / 2
        tasks = tuple(d.name for d in played if d.start <= middle < d.end)
        _, total, held = [c for c in changes if c[0] <= middle][-1]
        found.append(Scene(f"{n} of {len(long)}", tasks, held, total))
    rows = tuple(what for what in found[-1].held if what.endswith("_X"))
    start = tuple(w for w in found[0].held if w.endswith("_X") or w[:2] == "In")
    sizes = {stay.what: stay.size for stay in stays}
    first, last = (
        Scene(name, (), held, sum(sizes[what] for what in held))
        for name, held in (("Start", start), ("End", rows))
    )
    return [first, *found, last]


def _layer(name):
    """The number of a task's layer, or of an array's."""
    return int(re.search(r"\d+", name)[0])


class Look(NamedTuple):
    """How a step is drawn.

    N, layers  chips, and layers of each
    heights  dict: name of a row -> height of an array in it
    most     bytes at the worst moment
    """

    N: int
    layers: int
    heights: dict
    most: float

    def pitch(self):
        """From the left of one chip to the left of the next."""
        return (FRAME - GUTTER) / self.N

    def width(self):
        """Of an array."""
        return int((self.pitch() - 8) / self.layers) - 3

    def left(self, chip, n=0):
        """Left of an array of layer n on a chip."""
        return GUTTER + chip * self.pitch() + n * (self.width() + 3)

    def place(self, row, chip, n):
        """Left, top, width and height of a whole array."""
        left, top = self.left(chip, n), self.top(row)
        return left, top, self.width(), self.heights[row]

    def top(self, row):
        """Top of a row, or below all of them for None."""
        above = ROWS[: ROWS.index(row)] if row else ROWS
        return TOP + sum(self.heights[name] + GAP for name in above)


def _refuse_misnamed(played, stays):
    """Raise ValueError for the name of a task or array that is not known."""
    for what, names, form in (
        ("tasks", [done.name for done in timeline.played_tasks(played)], TASK),
        ("arrays", [stay.what for stay in stays], ARRAY),
    ):
        wrong = [name for name in names if not form.fullmatch(name)]
        if wrong or not names:
            known = "as G0, F0, D0, B0, S0" if form is TASK else "as W0, W0_X"
            raise ValueError(f"{what} must be named {known}, got {wrong}")


def _look(played, stays, N):
    """The Look of a film; heights are in proportion to bytes.

    played, stays, N  as in `step_player`
    returns  Look
    raises   ValueError for what cannot be drawn
    """
    _refuse_misnamed(played, stays)
    layers, most = (
        1 + max(_layer(s.what) for s in stays),
        room.peak(played, stays),
    )
    if whole("N", N, least=2) > MOST_CHIPS or layers > MOST_LAYERS:
        raise ValueError(
            f"N must be at most {MOST_CHIPS} chips, and layers {MOST_LAYERS}, "
            f"got {N} and {layers}"
        )
    if most == 0:
        raise ValueError("stays must have sizes above 0, got none")
    largest, heights = max(stay.size for stay in stays), dict.fromkeys(ROWS, 0)
    for stay in stays:
        row, _, own = ARRAY.fullmatch(stay.what).groups()
        high = TALL * stay.size * (N if own else 1) / largest
        heights[row] = max(heights[row], high)
    return Look(N, layers, heights, most)


def box(x, y, width, height):
    """An SVG path of a rectangle."""
    width = short(width)
    return f"M{short(x, y)}h{width}v{short(height)}h-{width}z"


def _drawn_fills(boxes, N):
    """SVG of filled rectangles: pairs of one of N chips, and a box."""
    paths = {}
    for fill, where in boxes:
        paths.setdefault(shade("X", fill, N), []).append(box(*where))
    return "".join(
        f'<path fill="{fill}" d="{"".join(path)}"/>'
        for fill, path in paths.items()
    )


def _pieces(scene, drawn, chip):
    """What a chip holds, as rectangles: (whose, box, whether it comes now).

    Weights are filled by the chip that owns the rows; all that was made from
    tokens by the chip that has the tokens.

    scene, drawn, chip  what is seen, its Look, and number of the chip
    returns  generator of (chip for the fill, (left, top, width, height), bool)
    """
    moving = {f"{task[0]}{_layer(task)}" for task in scene.tasks}
    for what in scene.held:
        row, n, own = ARRAY.fullmatch(what).groups()
        x, y, width, high = drawn.place(row, chip, int(n))
        part, across = high / drawn.N, width / drawn.N
        if row == "W":
            for k in [chip] if own else set(range(drawn.N)) - {chip}:
                comes = not own and f"G{n}" in moving
                yield k, (x, y + k * part, width, part), comes
        elif own:
            for k in range(drawn.N):
                comes = k != chip and f"S{n}" in moving
                where = x + k * across, y + chip * part, across, part
                yield k, where, comes
        else:
            yield chip, (x, y, width, high), False


def _drawn_held(scene, drawn, chip):
    """SVG of what a chip holds; what comes over the network slides in."""
    here, coming = [], {}
    for k, where, comes in _pieces(scene, drawn, chip):
        (coming.setdefault(k, []) if comes else here).append((k, where))
    parts = [_drawn_fills(here, drawn.N)]
    for k, boxes in sorted(coming.items()):
        away = short((k - chip) * drawn.pitch())
        slide = f'<g class="s" style="--x:{away}px">'
        parts.append(f"{slide}{_drawn_fills(boxes, drawn.N)}</g>")
    return "".join(parts)


def _drawn_frames(scene, drawn):
    """SVG of the frames of all matrices, thick around what is multiplied."""
    frames = {"e": [], "u": []}
    for chip in range(drawn.N):
        for n in range(drawn.layers):
            frames["e"] += [drawn.place(row, chip, n) for row in ("W", "dW")]
        for task in scene.tasks:
            for row in PRODUCTS.get(task[0], ("", ()))[1]:
                frames["u"].append(drawn.place(row, chip, _layer(task)))
    return "".join(
        f'<path class="{kind}" d="{"".join(box(*place) for place in places)}"/>'
        for kind, places in frames.items()
        if places
    )


def text(words, x, y, fill=""):
    """SVG of a text, in the page's colour unless it stands on a fill."""
    ink = ' fill="#111"' if fill else ""
    x = x if isinstance(x, str) else short(x)
    return f'<text{ink} x="{x}" y="{short(y)}">{escape(words)}</text>'


def _multiplied(scene):
    """What the chips multiply, in words; empty where they wait."""
    return " and ".join(
        PRODUCTS[task[0]][0].format(_layer(task))
        for task in scene.tasks
        if task[0] in PRODUCTS
    )


def _moved(scene):
    """What the network does, in words; empty where it is idle."""
    return " and ".join(
        MOVES[task[0]].format(_layer(task))
        for task in scene.tasks
        if task[0] in MOVES
    )


def _bytes_in_words(size):
    """Bytes in words, in a unit that fits."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.{0 if size >= 100 * unit else 1}f} {name}"
    return f"{size:g} bytes"


def _drawn_chip(scene, drawn, chip):
    """SVG of a chip: what it does, what it holds, and how much that is."""
    x, words = drawn.left(chip), _multiplied(scene)
    width, below = drawn.pitch() - 11, drawn.top(None)
    long = width * scene.bytes / drawn.most
    fill = f' fill="{colour("arithmetic-1")}" class="f"'
    fill = fill if words else ' class="i"'
    place = f'x="{short(x)}" y="15" width="{short(width)}" height="20"'
    parts = [
        text(f"chip {chip}", x, 10),
        f"<rect {place}{fill}/>",
        text(words or "waits", x + 4, 29.5, words),
        _drawn_held(scene, drawn, chip),
        f'<path class="h" d="{box(x, below + 2, long, 5)}"/>',
        text(_bytes_in_words(scene.bytes), x, below + 20),
    ]
    return "".join(parts)


def _drawn_scene(scene, drawn):
    """SVG of a scene: all chips, and below them the network."""
    below = drawn.top(None) + 30
    parts = [
        text(row, 0, drawn.top(row) + drawn.heights[row] / 2 + 3.5)
        for row in ROWS
        if drawn.heights[row]
    ]
    parts = [part.replace("<text", '<text class="r"') for part in parts]
    for chip in range(drawn.N):
        parts.append(_drawn_chip(scene, drawn, chip))
    numbers = [(c, n) for c in range(drawn.N) for n in range(drawn.layers)]
    middles = [drawn.left(*n) + drawn.width() / 2 - 3 for n in numbers]
    words = "".join(str(n) for _, n in numbers)
    parts.append(text(words, short(*middles), TOP - 3))
    parts.append(_drawn_frames(scene, drawn))
    busy = f' fill="{colour("network-1")}" class="f"'
    busy = busy if _moved(scene) else ' class="i"'
    place = f'x="{GUTTER}" y="{short(below)}" height="20"'
    size = f'width="{short(FRAME - GUTTER - 11)}"'
    parts.append(f"<rect {place} {size}{busy}/>")
    words = f"network: {_moved(scene) or 'idle'}"
    parts.append(text(words, GUTTER + 4, below + 14.5, _moved(scene)))
    return "".join(parts)


def _scene_in_words(scene):
    """A scene in words."""
    does = {
        "Start": "each chip has its own rows of all weights, and its tokens",
        "End": "each chip has its own rows of weights and gradients",
    }.get(scene.name)
    if does is None:
        products, network = _multiplied(scene), _moved(scene)
        does = f"chips multiply {products}" if products else "chips wait"
        does += f", the network {network or 'is idle'}"
    return f"{scene.name}: {does}; {_bytes_in_words(scene.bytes)} on a chip"


def step_player(played, stays, title, N=4):
    """A film of a training step under FSDP, to be played and stepped through.

    played   list of shardlab.timeline.Done, named as above
    stays    list of shardlab.room.Stay, named as above, with bytes as sizes
    title    says what is shown
    N        chips that share each matrix, 2 to 4
    returns  Player, with a scene for each time between two events. A row of
             weights is filled by the chip that owns it, a gradient by the chip
             whose tokens it is made of; heights are in proportion to bytes
    raises   ValueError for other names, for more chips or layers than there is
             room for, and as `shardlab.room.profile`
    source   chapter 7
    """
    drawn = _look(played, stays, N)
    frames = [
        (_scene_in_words(scene), _drawn_scene(scene, drawn))
        for scene in scenes(played, stays)
    ]
    return reel(title, frames, drawn.top(None) + 54)
