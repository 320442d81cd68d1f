"""A sequence cut over chips: who scores which keys, and what has to move."""

import numpy as np
from matplotlib.patches import Polygon

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, POINT, SOFT, WHOLE, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import FRAME, reel, short
from shardlab.plot.things import arrow, bar, box, frame, wire, write

__all__ = [
    "best_ways",
    "dealt_targets",
    "gathered_keys",
    "merged_halves",
    "ring_player",
    "ring_turns",
    "score_owners",
    "tokens_and_heads",
    "tokens_to_heads",
    "way_home",
    "what_moves",
]

PAPER = colour("paper")
WORK = colour("arithmetic-2")
MOVE = colour("network-1")


def _z(n, count):
    return shade("Z", n, count)


@styled
def what_moves(chips=4, mine=2):
    """Draw what one chip needs for its tokens: an MLP's part, attention's.

    chips    that the tokens are cut over
    mine     the chip whose work is drawn
    returns  the axes drawn on. A band is a chip; arrows that leave their band
             are keys and values that have to move. Above the diagonal of the
             scores lies the future
    raises   ValueError for chips that cannot be
    source   chapter 13
    """
    if whole("chips", chips) > 6 or not 0 <= whole("mine", mine, 0) < chips:
        raise ValueError(f"mine must be one of 1 to 6 chips, got {mine}")
    ax, side, top, pitch = canvas(690, 312), 168 / chips, 62, 208 / chips
    gold = colour("network")
    write(ax, 62, 14, "MLP", 13, "left", weight="bold")
    write(ax, 318, 14, "attention", 13, "left", weight="bold")
    for x, words in ((88, "In"), (214, "Out"), (336, "Q"), (410, "K, V")):
        write(ax, x, 42, words, 12)
    write(ax, 522 + 84, 42, "scores of keys", 12)
    for n in range(chips):
        y, fill, here = top + n * pitch, _z(n, chips), n == mine
        look = {"fill": fill, "edge": INK if here else LINE}
        middle = y + side / 2
        write(ax, 48, middle, f"chip {n}", 12, "right")
        if n:
            border = y - (pitch - side) / 2
            wire(ax, (4, border), (686, border), LINE, 1, dashed=True, z=0.5)
        for x, wide in ((62, 52), (188, 52), (318, 36), (388, 44)):
            box(ax, x, y, wide, side, **look)
        for k in range(chips):
            _score(ax, (522 + k * side, y), side, n - k, fill, here)
        if here:
            arrow(ax, (118, middle), (184, middle))
        if n <= mine:
            off = (n - mine) * min(12, side / chips)
            goal = top + mine * pitch + side / 2 + off
            start, end = (436, middle), (518, goal)
            arrow(ax, start, end, *((INK, 1.4) if here else (gold, 2.4)))
    for k in range(chips):
        x = 522 + (k + 0.5) * side
        write(ax, x, top + chips * pitch + 4, f"{k}", 12)
    y = top + chips * pitch + 28
    arrow(ax, (62, y), (92, y), gold, 2.4)
    write(ax, 98, y, "from other chips", 12, "left", ink=SOFT)
    return ax


def _score(ax, corner, side, behind, fill, full):
    """A square of scores: all of the past, the half of it, or none."""
    x, y = corner
    edge = INK if full else LINE
    box(ax, x, y, side, side, fill if behind > 0 else WHOLE, edge=edge)
    if behind == 0:
        ends = [(x, y), (x, y + side), (x + side, y + side)]
        look = {"fc": fill, "ec": edge, "lw": 0.8 * POINT, "zorder": 1.1}
        ax.add_patch(Polygon(ends, **look))
    if full and behind >= 0:
        box(ax, x, y, side, side, "none", edge=INK, line=1.8, z=1.4)


@styled
def merged_halves(parts, merged):
    """Draw attention to two sets of keys, and how much each counts in both.

    parts    for each set (name, weight of each key within the set, its lse)
    merged   weight of each key among all
    returns  the axes drawn on: bars are weights, and each row adds up to 1
    raises   ValueError if weights do not match
    source   chapter 13
    """
    sizes = [len(weights) for _, weights, _ in parts]
    if len(parts) != 2 or sum(sizes) != len(merged):
        raise ValueError(
            f"merged must have as many weights as both parts, {sum(sizes)}, "
            f"got {len(merged)}"
        )
    ax, gap, left = canvas(690, 296), 34, 96
    wide = (590 - gap) / sum(sizes) - 4
    shares = [sum(merged[: sizes[0]]), sum(merged[sizes[0] :])]
    starts = [left, left + sizes[0] * (wide + 4) + gap]
    tall, first, second = 150, 146, 284
    for n, (name, weights, lse) in enumerate(parts):
        x = starts[n]
        last = x + len(weights) * (wide + 4)
        write(ax, x, 14, f"{name}: lse {lse:.2f}", 12, "left", weight="bold")
        _weights(ax, x, first, weights, wide, tall, _z(2 * n, 4))
        middle = (x + last) / 2
        way = (middle, first + 10), (middle, first + 48)
        arrow(ax, *way)
        words = f"times {shares[n]:.2f}"
        write(ax, middle + 10, first + 29, words, 13, "left", weight="bold")
        ours = merged[: sizes[0]] if n == 0 else merged[sizes[0] :]
        _weights(ax, x, second, ours, wide, tall, _z(2 * n, 4))
    write(ax, 2, first - 40, "each alone\nadds up to 1", 12, "left", ink=SOFT)
    write(ax, 2, second - 40, "together\nadds up to 1", 12, "left", ink=SOFT)
    return ax


def _weights(ax, x, base, weights, wide, tall, fill):
    """Bars of weights side by side, with their numbers."""
    for n, weight in enumerate(weights):
        high = max(tall * weight, 1)
        left = x + n * (wide + 4)
        box(ax, left, base - high, wide, high, fill)
        words = f"{weight:.2f}".lstrip("0")
        write(ax, left + wide / 2, base - high - 9, words, 12)


def _pieces(owners):
    """The pieces of each chip, in order, from the owner of each piece."""
    chips = 1 + max(owners)
    found = [[p for p, c in enumerate(owners) if c == n] for n in range(chips)]
    if len({len(mine) for mine in found}) > 1:
        raise ValueError(
            f"owners must give each chip as many pieces, got {owners!r}"
        )
    return found


@styled
def score_owners(orders):
    """Draw the causal scores of a sequence, coloured by who computes them.

    orders   dict: title -> for each piece of the sequence the chip that has it
    returns  the axes drawn on: rows are pieces of queries, columns of keys,
             and bars are the squares that each chip has to do
    raises   ValueError if chips have unequal numbers of pieces
    source   chapter 13
    """
    ax, side, pitch = canvas(690, 392), 25, 350
    for n, (title, owners) in enumerate(orders.items()):
        left, top = 62 + n * pitch, 58
        mine, count = _pieces(owners), len(owners)
        write(ax, left, 14, title, 13, "left", weight="bold")
        write(ax, left + count * side / 2, 42, "keys", 12, ink=SOFT)
        write(ax, left - 8, 42, "queries", 12, "right", ink=SOFT)
        for i, k in np.ndindex(count, count):
            place = left + k * side, top + i * side
            _score(ax, place, side, i - k, _z(owners[i], len(mine)), False)
        for i, chip in enumerate(owners):
            y = top + (i + 0.5) * side
            write(ax, left - 8, y, f"chip {chip}", 12, "right")
        for chip, pieces in enumerate(mine):
            work = sum(piece + 0.5 for piece in pieces)
            y = top + count * side + 22 + chip * 25
            write(ax, left - 8, y + 10, f"chip {chip}", 12, "right")
            words = f"{work:g} squares"
            bar(ax, left, y, [(work, _z(chip, len(mine)), "", None)], 12.4, 20)
            write(ax, left + work * 12.4 + 6, y + 10, words, 12, "left")
    return ax


@styled
def ring_turns(orders):
    """Draw which squares of scores each chip does at each turn of the ring.

    orders   dict: title -> for each piece of the sequence the chip that has
             it; two pieces a chip
    returns  the axes drawn on. A chip at a turn is four squares: rows are its
             own early and late queries, columns the early and late keys that
             are there. Violet is worked, grey is masked
    raises   ValueError for another number of pieces
    source   chapter 13
    """
    ax, pitch, side = canvas(690, 416), 352, 25
    wide = 2 * side + 10
    for n, (title, owners) in enumerate(orders.items()):
        mine, left, total = _pieces(owners), 52 + n * pitch, 0
        chips = len(mine)
        if len(owners) != 2 * chips:
            raise ValueError(f"owners must give two pieces each, got {owners}")
        write(ax, left, 12, title, 14, "left", weight="bold")
        last = left + chips * wide
        for turn in range(chips):
            y, most = 54 + turn * (wide + 12), 0
            write(ax, left - 6, y + side, f"turn {turn}", 12, "right")
            for chip in range(chips):
                x = left + chip * wide
                if not turn:
                    write(ax, x + side, 38, f"chip {chip}", 12)
                pair = mine[chip], mine[(chip - turn) % chips]
                most = max(most, _squares(ax, (x, y), side, *pair))
            total += most
            write(ax, last + 16, y + side, f"{most:g}", 14, weight="bold")
        write(ax, last + 12, 38, "most", 12, ink=SOFT)
        y = 54 + chips * (wide + 12) + 8
        words = f"the ring takes {total:g} squares"
        write(ax, last + 34, y, words, 13, "right", weight="bold")
    words = "violet: needed; pale: masked\nright: the most, which all wait for"
    write(ax, 52, 396, words, 12, "left", ink=SOFT)
    return ax


def _squares(ax, corner, side, queries, keys):
    """Squares of queries and keys of two chips; how much work is in them."""
    work, (x, y) = 0, corner
    for i, k in np.ndindex(2, 2):
        behind = queries[i] - keys[k]
        place = x + k * side, y + i * side
        _score(ax, place, side, behind, WORK, False)
        work += (behind > 0) + (behind == 0) / 2
    box(ax, x, y, 2 * side, 2 * side, "none", z=2)
    return work


@styled
def gathered_keys(chips=4):
    """Draw a gather of keys and values, and the scatter of their gradients.

    chips    that the tokens are cut over, a row each; a column is a block
    returns  the axes drawn on. Left, a block is copied from the chip that has
             it to all rows; right, a cell is the part of one chip, and a
             column is added up where its block lives
    source   chapter 13
    """
    side, high, down = 216 / whole("chips", chips), 30, 54
    ax, top, gold = canvas(690, 110 + chips * down), 74, colour("network")
    low, every = top + chips * down, range(chips)
    for x, title, words in (
        (108, "forward: AllGather of K and V", "copied along its column"),
        (440, "backward: ReduceScatter of dK and dV", "added along its column"),
    ):
        write(ax, x - 50, 14, title, 13, "left", weight="bold")
        write(ax, x + 108, low, words, 12, ink=SOFT)
        for n, k in np.ndindex(chips, chips):
            place = x + k * side + 4, top + n * down, side - 8, high
            home = x + (k + 0.5) * side
            if forward := x < 400:
                box(ax, *place, _z(k, chips), f"{k}")
            elif n == k:
                _parts(ax, *place[:2], place[2] / chips, chips, every, high)
            else:
                box(ax, *place, _z(n, chips))
            if not n:
                write(ax, home, 54, f"block {k}", 12, ink=SOFT)
            if n == k:  # the chip that has this block
                box(ax, *place, "none", line=2.6, z=2)
            if n + 1 < chips:  # from here, or to here
                ends = [(home, top + n * down + high + y) for y in (3, 21)]
                ends = ends if (n >= k) == forward else ends[::-1]
                arrow(ax, *ends, gold, 2)
    for n in range(chips):
        y = top + n * down
        write(ax, 2, y + high / 2, f"chip {n}", 12, "left")
        box(ax, 58, y, 38, high, _z(n, chips), f"Q{n}")
        write(ax, 432, y + high / 2, f"chip {n}", 12, "right")
    words = "a row: all that its queries need"
    write(ax, 216, low + 18, words, 12, ink=SOFT)
    words = "a colour: the part of a chip"
    write(ax, 548, low + 18, words, 12, ink=SOFT)
    return ax


@styled
def tokens_to_heads(queries=8, groups=2, chips=4):
    """Draw an AllToAll that turns tokens that are cut into heads that are cut.

    queries  heads of queries
    groups   heads of keys and values; of fewer than chips, copies are made
    chips    that tokens are cut over, and then heads
    returns  the axes drawn on: for each chip what it has of all tokens, the
             rows, and all heads, the columns, before and after. A colour says
             from which chip a piece is; what chip 1 has before is framed, and
             wires say where it goes
    raises   ValueError for heads that do not divide
    source   chapter 13
    """
    for name, size in (("groups", groups), ("chips", chips)):
        if queries % whole(name, size):
            raise ValueError(f"{name} must divide {queries} heads, got {size}")
    high, top, pitch = 56, 84, 78
    row, ax = high / chips, canvas(690, 96 + 78 * chips)
    side, gold = 172 / (queries + 1 + groups), colour("network")
    beside = (queries + 1) * side
    for x, title in ((58, "before: all heads"), (462, "after: all tokens")):
        write(ax, x, 14, title, 13, "left", weight="bold")
        write(ax, x, 60, f"{queries} heads of Q", 12, "left")
        write(ax, x + beside, 60, f"{groups} of K", 12, "left")
    share = queries / chips
    for n in range(chips):
        y, named = top + n * pitch, f"chip {n}"
        middle = y + high / 2
        write(ax, 50, middle, named, 12, "right")
        write(ax, 646, middle, named, 12, "left")
        for x, heads in ((0, queries), (beside, groups)):
            box(ax, 58 + x, y, heads * side, high, WHOLE, edge=LINE)
            box(ax, 462 + x, y, heads * side, high, WHOLE, edge=LINE)
            mine = heads / chips  # of a head, if there are too few of them
            first, wide = int(n * mine), max(1, mine)
            _pieces_of(ax, 58 + x, y, row, side, [n], heads, chips)
            place = 462 + x + first * side
            _pieces_of(ax, place, y, row, side, range(chips), wide, chips)
            for k in range(chips if n == 1 else 0):  # pieces that part
                at = 58 + x + int(k * mine) * side
                box(ax, at, y + row, wide * side, row, "none", line=2.2, z=2)
            if chips > 1:
                box(ax, place, y + row, wide * side, row, "none", line=2.2, z=2)
        if chips > 1:
            start = 58 + beside + groups * side + 6, top + pitch + 1.5 * row
            look = (SOFT, 1.2) if n == 1 else (gold, 2.4)  # one stays
            arrow(ax, start, (456, y + 1.5 * row), *look)
    middle = (58 + beside + groups * side + 456) / 2
    write(ax, middle, 60, "AllToAll", 13, weight="bold")
    few = max(1, groups // chips)
    words = f"what chip 1 sends to each: {share:g} heads of Q, {few} of K"
    write(ax, 58, top + pitch * chips - 4, words, 12, "left", ink=SOFT)
    return ax


def _pieces_of(ax, x, y, row, side, homes, heads, chips):
    """Rows of tokens of some heads, each in the colour of its home."""
    for home in homes:
        box(ax, x, y + home * row, heads * side, row, _z(home, chips))
        for h in range(1, int(heads)):
            ends = [(x + h * side, y + (home + at) * row) for at in (0, 1)]
            wire(ax, *ends, LINE, 0.7, z=1.2)


@styled
def way_home(chips=4):
    """Draw where the gradient of one block of keys is at each turn.

    chips    on the ring
    returns  the axes drawn on: at a turn a chip has the keys of chip 0, adds
             its part of their gradient, and hands both on
    source   chapter 13
    """
    step, wide = 78, 120
    ax, pitch = canvas(690, 62 + step * whole("chips", chips)), 636 / chips
    low, each = 30 + chips * step, wide / chips
    for n in range(chips):
        x, y = 60 + n * pitch, 30 + n * step
        middle = x + wide / 2
        write(ax, middle, 10, f"chip {n}", 13, weight="bold")
        write(ax, 2, y + 26, f"turn {n}", 12, "left")
        box(ax, x, y, wide, 25, _z(0, chips), "K0, V0")
        box(ax, x, y + 28, wide, 25, PAPER)
        if n == 1:
            write(ax, x - 8, y + 41, "dK0, dV0", 12, "right")
        _parts(ax, x, y + 28, each, chips, range(1, n + 1) if n else [0])
        if n + 1 < chips:
            ends = (x + wide + 3, y + 27), (middle + pitch, y + step - 3)
            arrow(ax, *ends, colour("axis-z"), 2, bend=-0.25)
    # The part of chip 0 waits at home for the sum of the others.
    wire(ax, (60 + each / 2, 86), (60 + each / 2, low - 2), LINE, 1.2)
    wire(ax, (middle, low - 22), (middle, low + 13), colour("axis-z"))
    arrow(ax, (middle, low + 13), (183, low + 13), colour("axis-z"), 2)
    write(ax, 2, low + 13, "home", 12, "left")
    _parts(ax, 60, low, each, chips, range(chips))
    words = "one hop more: the parts of all chips are together"
    write(ax, (180 + middle) / 2, low, words, 12, ink=SOFT)
    return ax


def _parts(ax, x, y, each, chips, there, high=25):
    """The parts of a gradient that are there, each in its own place."""
    for k in there:
        words = f"of {k}" if high == 25 else ""
        box(ax, x + k * each, y, each, high, _z(k, chips), words)


@styled
def tokens_and_heads(shares=3, gpus=4, heads=32):
    """Draw nodes in which TP cuts a layer, and CP over the nodes.

    shares   of a sequence, one on each node: Z
    gpus     of a node, all of which have the tokens of a share: Y
    heads    of queries, which TP cuts
    returns  the axes drawn on: a row is a node and a group of TP, a column a
             group of CP, whose keys go round; the ring of the first is strong
    raises   ValueError for heads that the GPUs do not divide
    source   Llama 3 report, section 3.3.2
    """
    whole("shares", shares)
    if heads % whole("gpus", gpus):
        raise ValueError(f"gpus must divide {heads} heads, got {gpus}")
    top, down, high, pitch = 46, 92, 48, 564 / gpus
    ax, wide = canvas(690, top + shares * down), pitch - 38
    words = "one group of TP: all its GPUs have the same tokens"
    write(ax, 112, 14, words, 13, "left", ink=colour("axis-y"), weight="bold")
    for z in range(shares):
        y = top + z * down
        edge = colour("axis-y") if not z else LINE
        frame(ax, 84, y - 14, 598, high + 28, fill=PAPER, edge=edge)
        write(ax, 2, y + high / 2, f"node {z}", 12, "left", weight="bold")
        for g in range(gpus):
            x, each = 112 + g * pitch, heads // gpus
            words = f"tokens {z}\nheads {g * each}–{g * each + each - 1}"
            strong = {"edge": colour("axis-z"), "line": 2.4} if not g else {}
            box(ax, x, y, wide, high, _z(z, shares), words, size=12, **strong)
            if z + 1 < shares:
                ends = (x + wide / 2, y + high + 3), (x + wide / 2, y + down)
                look = (colour("axis-z"), 2.4) if not g else (LINE, 1.2)
                arrow(ax, ends[0], (ends[1][0], ends[1][1] - 3), *look)
    for g in range(gpus):  # home again, past the left of the column
        x = 112 + g * pitch
        look = (colour("axis-z"), 2.4) if not g else (LINE, 1.2)
        low, side = top + (shares - 1) * down + high + 20, x - 15
        path = [(x + wide / 2, low - 20), (x + wide / 2, low), (side, low)]
        path.append((side, top + high / 2))
        for start, end in zip(path, path[1:], strict=False):
            wire(ax, start, end, *look)
        arrow(ax, path[-1], (x - 2, top + high / 2), *look)
    words = f"one of {gpus} groups of CP: keys go round it"
    y = top + shares * down - 17
    write(ax, 112, y, words, 13, "left", ink=colour("axis-z"), weight="bold")
    return ax


@styled
def best_ways(maps, across, down, ways, within=None):
    """Draw which way is best for each pair of two sizes, one map a machine.

    maps     dict: title -> dict: (down, across) -> (way, number in the cell)
    across   dict: size -> words below its column
    down     dict: size -> words beside its row, the uppermost first
    ways     dict: way -> (letter or short word, fills): three colours, of
             cells below 1, below 10, and of all others
    within   dict: title -> cells that a heavy line parts from the others
    returns  the axes drawn on
    raises   ValueError for a map in which a cell is missing
    source   chapter 13
    """
    top, left, pitch = 44, 54, 636 / len(maps)
    side, low = 34, top + 34 * len(down)
    wide = min(44, (pitch - 10) / len(across))
    ax = canvas(690, low + 80)
    for n, (title, cells) in enumerate(maps.items()):
        x = left + n * pitch
        write(ax, x, 18, title, 13, "left", weight="bold")
        for i, row in enumerate(down):
            y = top + i * side
            if not n:
                write(ax, left - 8, y + side / 2, down[row], 12, "right")
            for k, column in enumerate(across):
                if (row, column) not in cells:
                    raise ValueError(f"{title!r} has no cell {row, column}")
                way, number = cells[row, column]
                letter, fills = ways[way]
                fill = fills[sum(number >= limit for limit in (1, 10))]
                place = x + k * wide, y, wide, side
                box(ax, *place, fill, f"{letter}\n{number:.0f}", size=12)
        inner = (within or {}).get(title, ())
        for i, row in enumerate(down):
            for k, column in enumerate(across):
                a, b = x + k * wide, top + i * side
                left_of = list(across)[k - 1] if k else None
                above = list(down)[i - 1] if i else None
                here = (row, column) in inner
                if k and here != ((row, left_of) in inner):
                    wire(ax, (a, b), (a, b + side), INK, 3, z=3)
                if i and here != ((above, column) in inner):
                    wire(ax, (a, b), (a + wide, b), INK, 3, z=3)
        for k, words in enumerate(across.values()):
            write(ax, x + (k + 0.5) * wide, low + 14, words, 12)
    write(ax, left + pitch * len(maps) / 2, low + 34, "tokens on a chip", 12)
    for n, (name, (letter, fills)) in enumerate(ways.items()):
        x, y = left + n * 116, low + 54
        for k, fill in enumerate(fills):
            inside = letter if len(letter) == 1 else ""  # a word: beside
            box(ax, x + 16 * k, y, 16, 22, fill, inside, size=12)
        write(ax, x + 56, y + 11, name, 12, "left")
    words = "exposed: below 1, below 10, 10 percent and more"
    write(ax, left + 352, low + 65, words, 12, "left", ink=SOFT)
    return ax


@styled
def dealt_targets(order, chips=4):
    """Draw the targets of tokens that are dealt out, and shifted too late.

    order    token in each place, chip after chip
    chips    that have equally many of them
    returns  the axes drawn on: for each token its target, which is the next
             token of the sequence, dealt along with it; below, what a shift
             on the chip makes of it, a wrong one in red with a cross
    raises   ValueError for tokens that the chips do not divide
    source   chapter 13
    """
    order = [int(token) for token in order]
    each, rest = divmod(len(order), whole("chips", chips))
    if rest or sorted(order) != list(range(len(order))):
        raise ValueError(
            f"order must be of all tokens, as many on each of {chips} chips, "
            f"got {order}"
        )
    ax, gap, left, tall = canvas(690, 182), 14, 150, 28
    side = (538 - gap * (chips - 1)) / len(order)
    rows = (
        (46, "token"),
        (84, "target, dealt too"),
        (122, "shifted on the chip"),
    )
    for y, words in rows:
        write(ax, left - 10, y + tall / 2, words, 12, "right")
    for n in range(chips):
        mine = order[n * each : (n + 1) * each]
        x, fill = left + n * (each * side + gap), _z(n, chips)
        write(ax, x + each * side / 2, 24, f"chip {n}", 13, weight="bold")
        late = [*mine[1:], None]  # no token follows the last of a chip
        for k, (token, found) in enumerate(zip(mine, late, strict=True)):
            due = token + 1 if token + 1 < len(order) else None
            place, size = x + k * side, (side, tall)
            box(ax, place, 46, *size, fill, f"{token}")
            box(ax, place, 84, *size, WHOLE, "–" if due is None else f"{due}")
            _target(ax, (place, 122), size, found, found == due)
    words = "red and crossed: not the next token of the sequence"
    write(ax, left, 168, words, 12, "left", ink=SOFT)
    return ax


def _target(ax, corner, size, token, right):
    """A target as a shift on the chip makes it, crossed out if wrong."""
    words, wrong = "–" if token is None else f"{token}", colour("mark")
    look = {} if right else {"edge": wrong, "line": 1.8, "z": 1.4}
    box(ax, *corner, *size, WHOLE, words, **look)
    if not right:
        (x, y), (wide, tall) = corner, size
        wire(ax, (x, y + tall), (x + wide, y), wrong, 1.2, z=2)


# ---- the film ----------------------------------------------------------------

PITCH, WIDE, TALL = 158, 138, 190  # of chips in the film


def ring_player(owners, title):
    """A film of ring attention: queries stay, keys and values go round.

    owners   for each piece of the sequence the chip that has it
    title    says what is shown, to those who do not see it
    returns  Player. A chip has its queries above, below them the keys and
             values that are there, and a row of the scores, which fills turn
             by turn; a cross is a square that is all future
    raises   ValueError if chips have unequal numbers of pieces, or are not 4
    source   chapter 13
    """
    mine = _pieces(owners)
    if len(mine) != 4:
        raise ValueError(f"owners must be of 4 chips, got {len(mine)}")
    frames = []
    for turn in range(4):
        chips = "".join(_film_chip(mine, n, turn) for n in range(4))
        frames.append((_film_words(mine, turn), chips + _film_wires(turn)))
    return reel(title, frames, TALL + 52, poster=0)


def _film_words(mine, turn):
    """What happens at a turn, in words."""
    idle = [
        str(n)
        for n, pieces in enumerate(mine)
        if turn and max(pieces) < min(mine[(n - turn) % len(mine)])
    ]
    if not turn:
        return "Turn 0: each chip uses its own keys, and sends them on"
    far = "the chip before" if turn == 1 else f"{turn} chips back"
    words = f"Turn {turn}: K and V are those of {far}"
    if not idle:
        return f"{words}; all chips use them"
    chips, sees = ("chip", "has") if len(idle) == 1 else ("chips", "have")
    return f"{words}; {chips} {', '.join(idle)} {sees} future keys only"


def _rect(x, y, wide, high, fill, edge="currentColor"):
    look = f'fill="{fill}" stroke="{edge}" stroke-width=".8"'
    place = f'x="{short(x)}" y="{short(y)}"'
    size = f'width="{short(wide)}" height="{short(high)}"'
    return f'<rect class="f" {place} {size} {look}/>'


def _label(words, x, y, on_fill=False):
    ink = ' fill="#111"' if on_fill else ""
    return f'<text{ink} x="{short(x)}" y="{short(y)}">{words}</text>'


def _film_chip(mine, chip, turn):
    """SVG of one chip at a turn."""
    x, home = 4 + chip * PITCH, (chip - turn) % 4
    drawn = _rect(x, 2, WIDE, TALL, "none", LINE)
    drawn += _label(f"chip {chip}", x + 8, 18)
    drawn += _label("Q", x + 8, 46)
    drawn += _rect(x + 46, 30, 80, 24, _z(chip, 4))
    drawn += _label(f"of chip {chip}", x + 60, 46, True)
    drawn += _label("K, V", x + 8, 86)
    from_x = -PITCH if chip else 3 * PITCH
    slide = f'class="s" style="--x:{from_x if turn else 0}px;--y:0px"'
    block = _rect(x + 46, 70, 80, 24, _z(home, 4))
    block += _label(f"of chip {home}", x + 60, 86, True)
    drawn += f"<g {slide}>{block}</g>"
    drawn += _label("scores of keys", x + 8, 116)
    return drawn + _film_scores(mine, chip, turn, x)


def _film_scores(mine, chip, turn, left):
    """SVG of the row of scores of a chip, after some turns."""
    drawn, side, many = "", 29, len(mine[0])
    for home in range(4):
        x, y = left + 9 + home * (side + 1), 124
        when = (chip - home) % 4
        drawn += _rect(x, y, side, side, "none", LINE)
        drawn += _label(str(home), x + side / 2 - 3, y + side + 16)
        if when > turn:
            continue
        part, path = side / many, ""
        for i, k in np.ndindex(many, many):
            behind = mine[chip][i] - mine[home][k]
            a, b = x + k * part, y + i * part
            if behind > 0:
                path += f"M{short(a, b)}h{short(part)}v{short(part)}"
                path += f"h-{short(part)}z"
            elif behind == 0:
                path += f"M{short(a, b)}v{short(part)}h{short(part)}z"
        fill = _z(chip, 4)
        if path:
            drawn += f'<path fill="{fill}" d="{path}"/>'
        else:
            cross = f"M{short(x + 8, y + 8)}l13 13m0 -13l-13 13"
            drawn += f'<path class="w" d="{cross}"/>'
        if when == turn:
            ring = f"M{short(x, y)}h{side}v{side}h-{side}z"
            drawn += f'<path class="n" d="{ring}"/>'
    return drawn


def _film_wires(turn):
    """SVG of the ring below the chips, with arrows while blocks are on it."""
    y, ends, hops = TALL + 22, 4 + WIDE / 2, turn < 3
    last = ends + 3 * PITCH
    path = f"M{short(last, TALL + 4)}V{short(y)}"
    path += f"H{short(ends)}V{short(TALL + 4)}"
    ink, width = colour("axis-z" if hops else "line"), 2.4 if hops else 0.8
    look = f'fill="none" stroke="{ink}" stroke-width="{short(width)}"'
    drawn = f'<path {look} d="{path}"/>'
    tips = f"M{short(ends, TALL + 3)}l5 9h-10z"
    for n in range(3):
        x = 4 + n * PITCH + WIDE
        line = f"M{short(x + 1, 82)}h{short(PITCH - WIDE - 2)}"
        drawn += f'<path {look} d="{line}"/>'
        tips += f"M{short(x + PITCH - WIDE - 1, 82)}l-9 5v-10z"
    if hops:
        drawn += f'<path fill="{ink}" d="{tips}"/>'
    words = f"hop {turn + 1} of 3, meanwhile" if hops else "no more hops"
    return drawn + _label(words, FRAME / 2 - 54, y + 16)
