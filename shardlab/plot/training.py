"""What moves in a training step, and where arrays are cut: one picture each."""

from shardlab.arguments import whole
from shardlab.plot.axes import INK, LINE, SOFT, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY, sheets
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import (
    arrow,
    box,
    crossed,
    frame,
    matrix,
    wire,
    write,
)

__all__ = [
    "cut_orders",
    "data_parallel_step",
    "gather_use_drop",
    "heads_dealt",
    "one_step",
    "one_weight",
    "sequence_parallel",
    "two_axes",
    "zero_one",
]

_GOOD = colour("counted")


def _moves(ax, start, end, y, above, below="", ink=MOVE):
    """An arrow from x to x at y, named above and explained below."""
    arrow(ax, (start, y), (end, y), ink)
    middle = (start + end) / 2
    write(ax, middle, y - 12, above, 12, ink=ink, weight="bold")
    if below:
        write(ax, middle, y + 12 + 7 * below.count("\n"), below, 11, ink=SOFT)


# The step of a block on one picture: columns from left to right, in pixels.
_AT = {"In": 84, "W_in": 200, "Tmp": 316, "W_out": 432, "Out": 548}
_ROWS = {"above": 26, "forward": 100, "backward": 210, "weights": 300}
_KEPT = colour("memory")


@styled
def one_step():
    """Draw a training step of the two-matmul block: its eight lines.

    returns  the axes drawn on. Above the forward pass, from left to right,
             into which weights come from above; below it the backward pass,
             from right to left; at the bottom the gradients of the weights. A
             dot is a product; what is used again comes down, dashed
    source   chapter 5
    """
    ax = canvas(690, 374)
    for name, x in _AT.items():
        weight = name[0] == "W"
        fill = colour("memory-2" if weight else "memory-1")
        fill = colour("surface") if name == "Out" else fill
        _array(ax, x, _ROWS["above" if weight else "forward"], name, fill)
        row = "weights" if weight else "backward"
        _array(ax, x, _ROWS[row], f"d{name}", colour("surface"))
    _lines_forward(ax)
    _lines_backward(ax)
    for row in ("forward", "backward"):
        write(ax, 52, _ROWS[row] - 26, row, 12, "left", weight="bold")
    for n, (fill, words) in enumerate(
        (("memory-2", "weights"), ("memory-1", "activations that are kept"))
    ):
        box(ax, 84 + 110 * n, 332, 18, 14, colour(fill))
        write(ax, 108 + 110 * n, 339, words, 12, "left")
    wire(ax, (84, 362), (102, 362), _KEPT, 1.6, dashed=True)
    write(ax, 108, 362, "used again", 12, "left")
    return ax


def _array(ax, x, y, name, fill):
    """An array as a box with its middle at x, y."""
    box(ax, x - 32, y - 15, 64, 30, fill, name, size=13)


def _product(ax, x, y, line, side=1):
    """A product as a dot, with the number of its line beside it."""
    ax.plot([x], [y], "o", color=MULTIPLY, ms=7, zorder=4)
    write(ax, x + 12 * side, y - 13, line, 13, ink=MULTIPLY, weight="bold")


def _lines_forward(ax):
    """Lines 1 to 3 of the forward pass, and line 1 of the backward pass."""
    y = _ROWS["forward"]
    for name, left, right, line in (
        ("W_in", "In", "Tmp", 1),
        ("W_out", "Tmp", "Out", 2),
    ):
        x = _AT[name]
        wire(ax, (_AT[left] + 32, y), (x, y), MULTIPLY, 1.8)
        arrow(ax, (x, y), (_AT[right] - 34, y), MULTIPLY, 1.8)
        wire(ax, (x, _ROWS["above"] + 15), (x, y), MULTIPLY, 1.8)
        _product(ax, x, y, line)
    x, low = 640, (y + _ROWS["backward"]) / 2
    write(ax, x, low, "loss", 13, weight="bold")
    arrow(ax, (_AT["Out"] + 34, y + 4), (x - 4, low - 12), MULTIPLY, 1.8)
    end = _AT["Out"] + 36, _ROWS["backward"] - 4
    arrow(ax, (x - 4, low + 12), end, MULTIPLY, 1.8)
    where = {"ink": MULTIPLY, "weight": "bold"}
    write(ax, x - 6, low - 42, "forward 3", 12, **where)
    write(ax, x - 6, low + 46, "backward 1", 12, **where)


def _lines_backward(ax):
    """Lines 2 to 5 of the backward pass, and what they use again."""
    _, top, y, low = _ROWS.values()
    for name, right, left, weight_line, line in (
        ("W_out", "Out", "Tmp", 2, 3),
        ("W_in", "Tmp", "In", 4, 5),
    ):
        x, u, v = _AT[name], _AT[right], _AT[left]
        wire(ax, (x, top), (x, y), _KEPT, 1.6, dashed=True)
        wire(ax, (u - 32, y), (x, y), MULTIPLY, 1.8)
        arrow(ax, (x, y), (v + 34, y), MULTIPLY, 1.8)
        _product(ax, x, y, line)
        start, end = (v + 20, top + 15), (x - 6, low - 30)
        wire(ax, start, end, colour("paper"), 7, z=0.5)
        wire(ax, start, end, _KEPT, 1.6, dashed=True, z=0.6)
        wire(ax, (u - 16, y + 15), (x, low - 30), MULTIPLY, 1.8)
        arrow(ax, (x, low - 30), (x, low - 16), MULTIPLY, 1.8)
        _product(ax, x, low - 30, "")
        write(
            ax, x + 18, low - 24, weight_line, 13, ink=MULTIPLY, weight="bold"
        )


@styled
def data_parallel_step(chips=8):
    """Draw a step of data parallelism: own tokens, whole weights, one sum.

    chips    along X, 2 to 8
    returns  the axes drawn on. What each chip has alike has one colour, what
             is of its own tokens has its step of X; the update goes back
    raises   ValueError for other numbers
    source   chapter 6
    """
    if whole("chips", chips, least=2) > 8:
        raise ValueError(f"chips must be at most 8, got {chips}")
    pitch, top = 27, 70
    high = chips * pitch
    ax = canvas(690, top + high + 100)
    heads = (
        (50, "In[B_X, D]", "own\ntokens"),
        (184, "W[D, F]", "whole, on\neach chip"),
        (344, "dW {U_X}", "of own\ntokens"),
        (487, "AllReduce_X", "adds and\nreturns"),
        (630, "dW[D, F]", "the sum,\non each"),
    )
    for x, name, words in heads:
        write(ax, x, 14, name, 13, weight="bold")
        write(ax, x, 41, words, 12, ink=SOFT)
    for n in range(chips):
        y, fill = top + n * pitch, shade("X", n, chips)
        middle = y + 11
        box(ax, 10, y, 80, 22, fill, f"chip {n}", size=12)
        box(ax, 154, y, 60, 22, _KEPT_ALIKE)
        box(ax, 314, y, 60, 22, fill)
        box(ax, 600, y, 60, 22, _KEPT_ALIKE)
        wire(ax, (90, middle), (154, middle), MULTIPLY, 1.2)
        arrow(ax, (214, middle), (312, middle), MULTIPLY, 1.2)
    _summed(ax, (412, top - 5, 150, high + 4), chips, pitch)
    _updated(ax, top + high + 2)
    return ax


_KEPT_ALIKE = colour("memory-2")


def _summed(ax, place, chips, pitch):
    """All gradients run together, are stacked, and the sum runs back to all."""
    x, y, wide, high = place
    frame(ax, *place, fill=colour("network-1"), edge=MOVE, z=0.2)
    middle, strip = y + high / 2, 8
    left, right = x + wide / 2 - 24, x + wide / 2 + 24
    for n in range(chips):
        row = y + 16 + n * pitch
        place = middle + (n - chips / 2) * strip
        wire(ax, (374, row), (x, row), MOVE, 1.2)
        wire(ax, (x, row), (left, place + strip / 2), MOVE, 1.2)
        box(ax, left, place, right - left, strip, shade("X", n, chips))
        wire(ax, (right, middle), (x + wide, row), MOVE, 1.2)
        arrow(ax, (x + wide, row), (598, row), MOVE, 1.2)
    low = middle + chips / 2 * strip + 14
    write(ax, x + wide / 2, low, "sum", 12, zorder=4)


def _updated(ax, y):
    """What a chip does in a step, below the rows, and the update going back."""
    wire(ax, (90, y + 8), (312, y + 8), MULTIPLY, 1.4)
    for x in (90, 312):
        wire(ax, (x, y + 2), (x, y + 8), MULTIPLY, 1.4)
    words = "forward and backward pass"
    write(ax, 180, y + 22, words, 12, "left", ink=MULTIPLY)
    low = y + 46
    wire(ax, (630, y), (630, low), INK, 1.6)
    wire(ax, (630, low), (164, low), INK, 1.6)
    arrow(ax, (164, low), (164, y - 5), INK, 1.6)
    words = "W − η dW: each chip makes the same\nupdate, and all W stay equal"
    write(ax, 397, low + 25, words, 12)


@styled
def one_weight(rows=5, inner=3, columns=6, at=(1, 3)):
    """Draw where one element of Q goes in P Q = R, and what comes back.

    rows, inner, columns  sizes I, J and K of P[I, J], Q[J, K] and R[I, K]
    at       (j, k) of the element
    returns  the axes drawn on. On the left the element, the column of P that
             it is multiplied with and the column of R that it enters; on the
             right the same two columns, whose product is its gradient
    raises   ValueError for an element that Q does not have
    source   chapter 5
    """
    j, k = at
    if not (0 <= j < inner and 0 <= k < columns):
        raise ValueError(f"at must be an element of Q, got {at!r}")
    ax, side, top = canvas(690, 170), 16, 62
    panels = (
        ("forward: one element reaches one column", "R", "Q"),
        ("backward: that column comes back to it", "dR", "dQ"),
    )
    for left, (title, third, second) in zip((8, 372), panels, strict=True):
        write(ax, left, 14, title, 13, "left", weight="bold")
        back = third == "dR"
        # Forward P, Q, R; backward P, dR and then dQ, which they make.
        order = [("P", rows, inner), (second, inner, columns)]
        order.append((third, rows, columns))
        if back:
            order = [order[0], order[2], order[1]]
        x = left + 14
        for place, (name, high, wide) in enumerate(order):
            y = top + (rows - high) * side / 2
            for r in range(high):
                for c in range(wide):
                    if name in _OF_Q:
                        marked = (r, c) == at
                    else:
                        marked = c == (j if name == "P" else k)
                    tint = "arithmetic-3" if name in _OF_Q else "arithmetic-2"
                    fill = colour(tint if marked else "paper")
                    box(ax, x + c * side, y + r * side, side, side, fill)
            middle = x + wide * side / 2
            write(ax, middle, top - 14, name, 12)
            write(
                ax, middle, top + rows * side + 12, _INDEX[name], 11, ink=SOFT
            )
            x += wide * side
            if place < 2:
                sign = "·" if place == 0 else "="
                write(ax, x + 14, top + rows * side / 2, sign, 14)
                x += 28
    return ax


_OF_Q = ("Q", "dQ")
_INDEX = {"P": "column j", "Q": "j, k", "R": "column k"}
_INDEX |= {"dR": "column k", "dQ": "j, k"}


@styled
def zero_one(chips=4):
    """Draw ZeRO-1: an AllReduce taken apart, the update in the middle of it.

    chips    along X, 2 to 4
    returns  the axes drawn on. From above, what each chip has: the gradient
             of its own tokens, the sum for its own rows, the new weights of
             these rows, all rows. Lines go wherever a row goes
    raises   ValueError for other numbers
    source   chapter 7
    """
    _four_at_most(chips)
    ax = canvas(440, 376)
    _descent(ax, 112, 34, *_ZERO_1, chips)
    right, top, bottom = 348, _level(0) + _HIGH, _level(3)
    wire(ax, (right, top), (right, bottom), MOVE, 1.4)
    for y in (top, bottom):
        wire(ax, (right - 6, y), (right, y), MOVE, 1.4)
    both = "together\nthe bytes\nof one\nAllReduce"
    write(ax, right + 8, (top + bottom) / 2, both, 12, "left", ink=MOVE)
    return ax


@styled
def gather_use_drop(chips=4):
    """Draw FSDP: what each chip has of one matrix, in the order of a step.

    chips    along X, 2 to 4
    returns  the axes drawn on. On the left the forward pass, from above: own
             rows, gathered, used, dropped; on the right the backward pass:
             the weights' gradient of own tokens, and the sum for own rows;
             then own rows of the weights, gathered and used for dIn. Lines go
             wherever a row goes
    raises   ValueError for other numbers
    source   chapter 7
    """
    _four_at_most(chips)
    ax = canvas(690, 468)
    for left, (title, *levels) in zip((106, 470), _FSDP, strict=True):
        write(ax, left - 102, 14, title, 13, "left", weight="bold")
        _descent(ax, left, 34, *levels, chips)
    return ax


def _four_at_most(chips):
    """Refuse more chips than fit beside each other."""
    if whole("chips", chips, least=2) > 4:
        raise ValueError(f"chips must be at most 4, got {chips}")


# What chips have, level below level, and what leads from one to the next.
_WIDE, _HIGH, _APART, _DEEP = 46, 36, 56, 92


def _level(n):
    """Where the level with this number begins, in pixels from the top."""
    return 46 + n * _DEEP


def _descent(ax, left, names_at, levels, moves, chips):
    """Draw what each chip has, level below level, and the ways between.

    levels   (notation, words, kind) each; of kind "own" and "whole" are rows
             of a matrix, "term" is a chip's term of all rows, "tokens" are
             rows of activations
    moves    (name, colour, words) each; between own rows and all of them
             lines go from every chip to every chip, elsewhere arrows straight
             down; nothing leads to what a drop leaves
    """
    xs = [left + k * _APART for k in range(chips)]
    for k, x in enumerate(xs):
        write(ax, x + _WIDE / 2, names_at, f"chip {k}", 11, ink=SOFT)
    for n, (notation, words, kind) in enumerate(levels):
        y = _level(n)
        write(ax, left - 12, y + 9, notation, 12, "right")
        write(ax, left - 12, y + 26, words, 11, "right", ink=SOFT)
        for k, x in enumerate(xs):
            fill = shade("X", k, chips)
            if kind == "term":
                box(ax, x, y, _WIDE, _HIGH, fill)
            elif kind == "tokens":
                box(ax, x, y + 10, _WIDE, 16, fill)
            elif kind == "own":
                cut = ("X", chips)
                matrix(ax, x, y, _WIDE, _HIGH, cut, held=_only(k))
            else:  # whole: everybody's rows, and no edge that X cuts
                high = _HIGH / chips
                for row in range(chips):
                    fill = shade("X", row, chips)
                    box(ax, x, y + row * high, _WIDE, high, fill, edge=LINE)
                box(ax, x, y, _WIDE, _HIGH, "none", line=1.2, z=1.3)
    for n, (name, ink, words) in enumerate(moves):
        start, end = _level(n) + _HIGH + 3, _level(n + 1) - 3
        middle = (start + end) / 2
        write(
            ax, left - 12, middle - 8, name, 12, "right", ink=ink, weight="bold"
        )
        write(ax, left - 12, middle + 8, words, 11, "right", ink=SOFT)
        kinds = levels[n][2], levels[n + 1][2]
        crossing = kinds in (("own", "whole"), ("term", "own"))
        for k, x in enumerate(xs):
            root = (x + _WIDE / 2, start)
            if not crossing and ink != INK:  # what is dropped goes nowhere
                arrow(ax, root, (root[0], end), ink)
            for j, to in enumerate(xs if crossing else ()):
                row = k if kinds[0] == "own" else j  # whose row goes this way
                tip = (to + _WIDE / 2, end)
                wire(ax, root, tip, INK, 2.4)
                wire(ax, root, tip, shade("X", row, chips), 1.6, z=0.5)


_OWN, _WHOLE = ("W[D_X, F]", "own rows", "own"), ("W[D, F]", "whole", "whole")
_TERM = ("dW {U_X}", "of own tokens", "term")
_SUM = ("dW[D_X, F]", "sum, own rows", "own")
_ZERO_1 = (
    (
        _TERM,
        _SUM,
        ("W[D_X, F]", "new, own rows", "own"),
        ("W[D, F]", "new, all rows", "whole"),
    ),
    (
        ("ReduceScatter", MOVE, "over X"),
        ("Adam", MULTIPLY, "on own rows"),
        ("AllGather", MOVE, "over X"),
    ),
)
_FSDP = (
    (
        "forward",
        (_OWN, _WHOLE, ("Out[B_X, F]", "own tokens", "tokens"), _OWN),
        (
            ("AllGather", MOVE, "just in time"),
            ("In · W", MULTIPLY, "on each chip"),
            ("drop W", INK, "but own rows"),
        ),
    ),
    (
        "backward",
        (_TERM, _SUM, _OWN, _WHOLE, ("dIn[B_X, D]", "own tokens", "tokens")),
        (
            ("ReduceScatter", MOVE, "for Adam"),
            ("then dIn", INK, "needs W"),
            ("AllGather", MOVE, "once more"),
            ("dOut · Wᵀ", MULTIPLY, "then drop W"),
        ),
    ),
)


def _only(row):
    """Whether a block is in one row."""
    return lambda i, _: i == row


@styled
def sequence_parallel(chips=4):
    """Draw where tensor parallelism cuts by width, and where by tokens.

    chips    along Y
    returns  the axes drawn on: a block from left to right; between the blocks
             activations are cut by tokens, inside by width; an AllGather
             and its mirror image stand where the cut changes
    source   chapter 8
    """
    ax, y, wide, high = canvas(690, 312), 112, 50, 80
    cut, tokens = ("Y", chips), {"rows": ("Y", chips)}
    for x, width, words, ink in (
        (1, 142, "cut by tokens", "pod"),
        (244, 202, "cut by width", "axis-y"),
        (547, 142, "cut by tokens", "pod"),
    ):
        frame(ax, x, 24, width, 244, fill=colour("surface"), z=0.1)
        write(ax, x + width / 2, 42, words, 12, weight="bold", ink=colour(ink))
    middle = y + high / 2
    for x, label, words in (
        (16, "In[B_Y, D]", ""),
        (92, "[B_Y, D]", "norm"),
        (556, "[B_Y, D]", ""),
        (628, "Out[B_Y, D]", ""),
    ):
        matrix(ax, x, y, 42, high, **tokens, label=label, size=11)
        write(ax, x - 16, y + high + 16, words, 11, ink=MULTIPLY)
    matrix(ax, 254, y, wide, high, label="[B, D]", size=11)
    matrix(ax, 324, y, wide, high, None, cut, label="[B, F_Y]", size=11)
    sheets(ax, 394, y + 8, 36, high - 8, "Y", chips, 4)
    write(ax, 418, y - 22, "{U_Y}", 11)
    for start, end, words in (
        (60, 88, ""),
        (305, 322, "W_in"),
        (375, 391, "W_out"),
        (600, 624, "dropout, + In"),
    ):
        arrow(ax, (start, middle), (end, middle), MULTIPLY, 1.2)
        place = (start + end) / 2, y + high + 16
        write(ax, *place, words, 11, ink=MULTIPLY)
    for start, end, forward, backward in (
        (146, 240, "AllGather_Y", "ReduceScatter_Y"),
        (450, 543, "ReduceScatter_Y", "AllGather_Y"),
    ):
        x = (start + end) / 2
        for way, y, kind in (
            ("forward", middle - 22, forward),
            ("backward", middle + 30, backward),
        ):
            ends = (start, y), (end, y)
            ends = ends if way == "forward" else ends[::-1]
            arrow(ax, *ends, MOVE, 2.4, head=8)
            low = y - 36 if way == "forward" else y + 20
            write(ax, x, low, way, 11, ink=SOFT)
            write(ax, x, low + 16, kind, 11, ink=MOVE)
    words = "a norm needs whole rows, and a cut by tokens leaves them whole"
    write(ax, 345, 292, words, 12, ink=SOFT)
    return ax


@styled
def heads_dealt(queries=8, groups=2, chips=4):
    """Draw the heads of attention as they are dealt to chips.

    queries  query heads; a multiple of `groups` and of `chips`
    groups   heads of keys and values, each for queries / groups query heads
    chips    along Y; where there are more than groups, a group is copied
    returns  the axes drawn on, with a row for each chip. It has neighbouring
             query heads, the keys and values that they read, and their parts
             of the weights, of which the rest is empty; a hatched one is a
             copy, and copies whose gradients are added are joined in gold
    raises   ValueError for heads that do not divide
    source   chapter 8
    """
    for name, size in (("groups", groups), ("chips", chips)):
        if queries % whole(name, size):
            raise ValueError(f"{name} must divide {queries} heads, got {size}")
    each, share = queries // chips, queries // groups
    ax, pitch = canvas(690, 62 + 84 * chips), 84
    for x, words in (
        (83, "In[B, D]"),
        (160 + 7.5 * queries, "W_Q, and W_K, W_V"),
        (336 + min(60, 16 * each), "heads"),
        (525, "W_O"),
        (642, "Out {U_Y}"),
    ):
        write(ax, x, 12, words, 12, weight="bold")
    seen, copies = {}, 0
    for k in range(chips):
        y, fill = 66 + k * pitch, shade("Y", k, chips)
        own = range(k * each, (k + 1) * each)
        frame(ax, 1, y - 40, 688, 80, edge=colour("grid"))
        write(ax, 10, y, f"chip {k}", 12, "left", ink=SOFT)
        box(ax, 58, y - 20, 50, 40)
        arrow(ax, (111, y), (138, y), MULTIPLY, 1.4)
        _own_blocks(ax, (160, y - 34), (15 * queries, 28), queries, own, fill)
        right = 160 + 15 * queries
        arrow(ax, (right + 4, y - 20), (332, y - 20), MULTIPLY, 1.4)
        side = min(28, 112 / each - 5)
        for n, head in enumerate(own):
            x = 336 + n * (side + 5)
            box(ax, x, y - 34, side, 28, fill, head, size=12)
        kinds = sorted({head // share for head in own})
        wide = 15 * share
        for group in range(groups):
            tone, hatch = "none", None
            if group in kinds:
                tone = shade("pod", group, max(groups, 2))
                hatch = "////" if group in seen else None
            look = {"hatch": hatch, "edge": INK if group in kinds else LINE}
            box(ax, 160 + wide * group, y + 8, wide, 26, tone, **look)
        arrow(ax, (right + 4, y + 21), (332, y + 21), MULTIPLY, 1.4)
        for group in kinds:
            first = [i for i, head in enumerate(own) if head // share == group]
            left = 336 + first[0] * (side + 5)
            across = (first[-1] - first[0]) * (side + 5) + side
            hatch = "////" if group in seen else None
            tone = shade("pod", group, max(groups, 2))
            box(ax, left, y + 10, across, 24, tone, hatch=hatch)
            place = left + across / 2 - 9, y + 13, 18, 18
            box(ax, *place, colour("paper"), group, z=2, size=11)
            for i in first:
                up = 336 + i * (side + 5) + side / 2
                arrow(ax, (up, y + 9), (up, y - 5), SOFT, 1, head=4)
            if group in seen:
                copies += 1
                _joined(ax, 150, seen[group], y + 21)
            seen[group] = y + 21
        after = 336 + each * (side + 5)
        arrow(ax, (after + 2, y), (494, y), MULTIPLY, 1.4)
        place, size = (500, y - 34), (50, 68)
        _own_blocks(ax, place, size, queries, own, fill, down=True)
        arrow(ax, (554, y), (614, y), MULTIPLY, 1.4)
        box(ax, 617, y - 20, 50, 40, fill, f"term {k}", size=12)
    words = f"{queries} query heads, {groups} heads of keys and values"
    words += f", {chips} chips"
    if copies:
        words += f": {copies} copies (hatched)"
    write(ax, 345, 52 + pitch * chips, words, 12, ink=SOFT)
    return ax


def _own_blocks(ax, place, size, count, own, fill, down=False):
    """A weight in blocks, a column or a row for each head, its own filled."""
    (x, y), (width, height) = place, size
    dx, dy = (0, height / count) if down else (width / count, 0)
    for n in range(count):
        look = (fill, INK, 1.2) if n in own else ("none", LINE, 1)
        box(
            ax,
            x + n * dx,
            y + n * dy,
            dx or width,
            dy or height,
            look[0],
            edge=look[1],
            z=look[2],
        )


def _joined(ax, x, start, end):
    """Join two copies at heights, whose gradients are added, in gold."""
    for y in (start, end):
        wire(ax, (x, y), (x + 9, y), MOVE, 2)
    wire(ax, (x, start), (x, end), MOVE, 2)
    write(ax, x - 9, (start + end) / 2, "+", 16, ink=MOVE)


_ORDERS = {
    ("columns", "rows"): ("Tmp[B, F_Y]", "", "{U_Y}", "AllReduce"),
    ("rows", "columns"): ("{U_Y}", "AllReduce", "Out[B, D_Y]", "AllGather"),
    ("columns", "columns"): (
        "Tmp[B, F_Y]",
        "AllGather",
        "Out[B, D_Y]",
        "AllGather",
    ),
    ("rows", "rows"): ("{U_Y}", "AllReduce", "{U_Y}", "AllReduce"),
}


@styled
def cut_orders(volumes, chips=4):
    """Draw the four orders of cutting two weights, and what each one moves.

    volumes  dict: (how W_in is cut, how W_out is cut) -> what the forward pass
             moves, in BD elements where F = 4D; each "columns" or "rows"
    chips    along Y
    returns  the axes drawn on
    raises   ValueError for other orders
    source   chapter 8
    """
    if set(volumes) != set(_ORDERS):
        raise ValueError(
            f"volumes must have the orders {list(_ORDERS)}, got {list(volumes)}"
        )
    ax, cut, pitch = canvas(690, 462), ("Y", chips), 108
    heads = (
        (132, "W_in"),
        (274, "middle"),
        (424, "W_out"),
        (566, "end"),
        (656, "elements"),
    )
    for x, words in heads:
        write(ax, x, 12, words, 12, weight="bold")
    for n, (order, (mid, first, end, second)) in enumerate(_ORDERS.items()):
        y = 36 + n * pitch
        best = volumes[order] == min(volumes.values())
        frame(
            ax,
            1,
            y - 12,
            688,
            pitch - 6,
            edge=_GOOD if best else colour("grid"),
        )
        write(
            ax,
            12,
            y + 38,
            f"{order[0]},\n{order[1]}",
            12,
            "left",
            weight="bold",
        )
        for x, way, size in (
            (92, order[0], (80, 52)),
            (398, order[1], (52, 72)),
        ):
            rows, columns = (cut, None) if way == "rows" else (None, cut)
            matrix(ax, x, y + 38 - size[1] / 2, *size, rows, columns)
        for x, array, name, wide in (
            (250, mid, first, 66),
            (548, end, second, 44),
        ):
            if array.startswith("{"):
                sheets(ax, x, y + 22, wide - 8, 40, "Y", chips, 3)
            else:
                matrix(ax, x, y + 16, wide, 48, None, cut)
            write(ax, x + wide / 2, y + 1, array, 11)
            if name:
                write(
                    ax, x + wide / 2, y + 78, name, 11, ink=MOVE, weight="bold"
                )
        for start, stop in ((176, 244), (320, 392), (454, 542)):
            arrow(ax, (start, y + 38), (stop, y + 38), MULTIPLY, 1.2)
        ink = _GOOD if best else INK
        write(
            ax, 656, y + 38, f"{volumes[order]} BD", 15, ink=ink, weight="bold"
        )
    return ax


@styled
def two_axes(X=4, Y=4):
    """Draw a mesh on which weights travel along X, and activations along Y.

    X, Y     chips along the axes, 2 to 6
    returns  the axes drawn on
    raises   ValueError for other numbers
    source   chapter 9
    """
    for name, size in (("X", X), ("Y", Y)):
        if not 2 <= whole(name, size) <= 6:
            raise ValueError(f"{name} must be 2 to 6 chips, got {size}")
    ax, pitch = canvas(690, 330), 236 / max(X, Y)
    left, top = 66, 64
    x_ink, y_ink = colour("axis-x"), colour("axis-y")
    for i in range(X):
        for j in range(Y):
            x, y = left + (j + 0.5) * pitch, top + (i + 0.5) * pitch
            crossed(ax, x - 17, y - 17, 34, ("X", i, X), ("Y", j, Y))
    for j in range(Y):
        x = left + (j + 0.5) * pitch
        arrow(
            ax,
            (x + 23, top + 4),
            (x + 23, top + X * pitch - 4),
            x_ink,
            2,
            both=True,
        )
    for i in range(X):
        y = top + (i + 0.5) * pitch
        arrow(
            ax,
            (left + 4, y + 23),
            (left + Y * pitch - 4, y + 23),
            y_ink,
            2,
            both=True,
        )
    write(
        ax,
        left + Y * pitch / 2,
        20,
        "Y: tensor parallel",
        13,
        ink=y_ink,
        weight="bold",
    )
    write(ax, left + Y * pitch / 2, 40, "activations travel", 12, ink=y_ink)
    write(
        ax,
        24,
        top + X * pitch / 2,
        "X: FSDP",
        13,
        ink=x_ink,
        weight="bold",
        rotation=90,
    )
    write(
        ax,
        44,
        top + X * pitch / 2,
        "weights travel",
        12,
        ink=x_ink,
        rotation=90,
    )
    rows = (
        (
            "W_in[D_X, F_Y]",
            "X",
            "Y",
            "AllGather_X",
            "W_in[D, F_Y]",
            None,
            ("Y", Y),
            x_ink,
        ),
        (
            "In[B_X, D_Y]",
            "X",
            "Y",
            "AllGather_Y",
            "In[B_X, D]",
            ("X", X),
            None,
            y_ink,
        ),
        (
            "W_out[F_Y, D_X]",
            "Y",
            "X",
            "AllGather_X",
            "W_out[F_Y, D]",
            ("Y", Y),
            None,
            x_ink,
        ),
    )
    sizes = {"X": X, "Y": Y}
    for n, (name, down, across, move, after, rows_, columns, ink) in enumerate(
        rows
    ):
        y = 50 + n * 98
        matrix(
            ax,
            374,
            y,
            64,
            56,
            (down, sizes[down]),
            (across, sizes[across]),
            label=name,
        )
        _moves(ax, 456, 574, y + 28, move, ink=ink)
        matrix(ax, 596, y, 64, 56, rows_, columns, label=after)
    words = "each gather runs along one axis and leaves the cut of the other"
    write(ax, 345, 324, words, 12, ink=SOFT)
    return ax
