"""What moves in a training step, and where arrays are cut: one picture each."""

from shardlab.arguments import whole
from shardlab.memory import RECIPES, bytes_per_param
from shardlab.plot.axes import INK, SOFT, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY, sheets
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import (
    arrow,
    box,
    chip,
    crossed,
    frame,
    matrix,
    wire,
    write,
)

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
    ax = canvas(690, 352)
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
    wire(ax, (390, 339), (424, 339), _KEPT, 1.6, dashed=True)
    write(ax, 430, 339, "used again", 12, "left")
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
    pitch, top = 27, 56
    high = chips * pitch
    ax = canvas(690, top + high + 86)
    heads = (
        (50, "In[B_X, D]", "own tokens"),
        (184, "W[D, F]", "whole, on each chip"),
        (344, "dW {U_X}", "of own tokens"),
        (630, "dW[D, F]", "the sum, on each"),
    )
    for x, name, words in heads:
        write(ax, x, 14, name, 13, weight="bold")
        write(ax, x, 34, words, 12, ink=SOFT)
    for n in range(chips):
        y, fill = top + n * pitch, shade("X", n, chips)
        middle = y + 11
        box(ax, 10, y, 80, 22, fill, f"chip {n}", size=12)
        box(ax, 154, y, 60, 22, _KEPT_ALIKE)
        box(ax, 314, y, 60, 22, fill)
        box(ax, 600, y, 60, 22, _KEPT_ALIKE)
        wire(ax, (90, middle), (154, middle), MULTIPLY, 1.2)
        arrow(ax, (214, middle), (312, middle), MULTIPLY, 1.2)
        wire(ax, (374, middle), (420, middle), MOVE, 1.2)
        arrow(ax, (554, middle), (598, middle), MOVE, 1.2)
    _summed(ax, (420, top - 5, 134, high + 4))
    _updated(ax, top + high + 2)
    return ax


_KEPT_ALIKE = colour("memory-2")


def _summed(ax, place):
    """The box over all rows in which gradients are added up."""
    x, y, wide, high = place
    frame(ax, *place, fill=colour("network-1"), edge=MOVE, z=1)
    middle = x + wide / 2, y + high / 2
    up = {"zorder": 4}
    write(ax, middle[0], middle[1] - 20, "AllReduce_X", 14, weight="bold", **up)
    words = "adds up the\ngradients of\nall chips"
    write(ax, middle[0], middle[1] + 22, words, 12, **up)


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
    words = "W − η dW: each chip makes the same update, and all W stay equal"
    write(ax, 397, low + 18, words, 12)


@styled
def zero_one(chips=4):
    """Draw ZeRO-1: an AllReduce taken apart, the update in the middle of it.

    chips    along X, 2 to 4
    returns  the axes drawn on. A ReduceScatter leaves each chip the sum for
             its own rows, it updates these, and an AllGather brings all rows
    raises   ValueError for other numbers
    source   chapter 7
    """
    if whole("chips", chips, least=2) > 4:
        raise ValueError(f"chips must be at most 4, got {chips}")
    ax, top, pitch = canvas(690, 370), 92, 62
    wide, high = 66, 48
    places = (46, 236, 420, 612)
    heads = (
        "dW {U_X}\nof own tokens",
        "dW[D_X, F]\nsum, own rows",
        "W[D_X, F]\nown rows, new",
        "W[D, F]\nall rows, new",
    )
    for x, words in zip(places, heads, strict=True):
        write(ax, x + wide / 2, top - 24, words, 12)
    for n in range(chips):
        y = top + n * pitch
        write(ax, 36, y + high / 2, f"chip {n}", 11, "right", ink=SOFT)
        box(ax, places[0], y, wide, high, shade("X", n, chips))
        for x in places[1:3]:
            matrix(ax, x, y, wide, high, ("X", chips), held=_only(n))
        matrix(ax, places[3], y, wide, high, ("X", chips))
    middle = top + (chips * pitch - 14) / 2
    names = (
        ("Reduce-\nScatter_X", MOVE),
        ("Adam on\nown rows", MULTIPLY),
        ("AllGather_X", MOVE),
    )
    for n, (name, ink) in enumerate(names):
        start, end = places[n] + wide + 12, places[n + 1] - 14
        arrow(ax, (start, middle), (end, middle), ink, 2.4, head=8)
        up = 18 + 7 * name.count("\n")
        write(
            ax, (start + end) / 2, middle - up, name, 12, ink=ink, weight="bold"
        )
    x = (places[1] + wide + places[2]) / 2
    kept = RECIPES["mixed-precision"]
    own, all_bytes = kept.master + kept.m + kept.v, bytes_per_param(kept)
    words = f"{own} of the {all_bytes} bytes\na parameter are\nneeded only here"
    write(ax, x, middle + 34, words, 11, ink=SOFT)
    left, right, y = places[0], places[3] + wide, 26
    wire(ax, (left, y), (right, y), MOVE, 1.4)
    for end in (left, right):
        wire(ax, (end, y), (end, y + 8), MOVE, 1.4)
    words = "AllReduce_X = ReduceScatter_X + AllGather_X: the same bytes"
    write(ax, (left + right) / 2, 12, words, 12, ink=MOVE)
    write(
        ax,
        345,
        top + chips * pitch + 8,
        "master weights and moments of a row lie on one chip only",
        12,
        ink=SOFT,
    )
    return ax


def _only(row):
    """Whether a block is in one row."""
    return lambda i, _: i == row


@styled
def sequence_parallel(chips=4):
    """Draw where tensor parallelism cuts by width, and where by tokens.

    chips    along Y
    returns  the axes drawn on: a block from left to right; between the blocks
             activations are cut by tokens, inside by width; the AllGather g
             and its mirror stand where the cut changes
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
    for start, end, name, forward, backward in (
        (146, 240, "g", "AllGather_Y", "ReduceScatter_Y"),
        (450, 543, "g̅", "ReduceScatter_Y", "AllGather_Y"),
    ):
        x = (start + end) / 2
        arrow(ax, (start, middle), (end, middle), MOVE, 2.4, head=8)
        fill = colour("network-1")
        chip(ax, x, middle - 28, 30, name, fill, letters=15)
        for n, words in enumerate(("forward", "backward")):
            low = middle + 22 + 44 * n
            write(ax, x, low, words, 11, ink=SOFT)
            kind = (forward, backward)[n]
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
    returns  the axes drawn on. A chip gets neighbouring query heads, and the
             keys and values that they read; a hatched one is a copy
    raises   ValueError for heads that do not divide
    source   chapter 8
    """
    for name, size in (("groups", groups), ("chips", chips)):
        if queries % whole(name, size):
            raise ValueError(f"{name} must divide {queries} heads, got {size}")
    each, share = queries // chips, queries // groups
    ax, pitch = canvas(690, 236), 600 / chips
    write(ax, 0, 84, "queries", 12, "left")
    write(ax, 0, 150, "keys,\nvalues", 12, "left")
    seen = set()
    for k in range(chips):
        x, fill = 72 + k * pitch, shade("Y", k, chips)
        frame(ax, x, 22, pitch - 14, 168, f"chip {k}")
        own = range(k * each, (k + 1) * each)
        room = (pitch - 34) / each
        side = min(40, room - 5)
        for n, head in enumerate(own):
            box(ax, x + 10 + n * room, 64, side, 40, fill, head, size=12)
        kinds = sorted({head // share for head in own})
        for group in kinds:
            first = [i for i, head in enumerate(own) if head // share == group]
            left = x + 10 + first[0] * room
            wide = (first[-1] - first[0]) * room + side
            hatch = "////" if group in seen else None
            tone = shade("pod", group, max(groups, 2))
            box(ax, left, 132, wide, 36, tone, hatch=hatch)
            box(
                ax,
                left + wide / 2 - 12,
                140,
                24,
                20,
                colour("paper"),
                group,
                z=2,
            )
            seen.add(group)
            for i in first:
                up = x + 10 + i * room + side / 2
                arrow(ax, (up, 131), (up, 106), SOFT, 1, head=4)
    kept = sum(
        len({h // share for h in range(k * each, (k + 1) * each)})
        for k in range(chips)
    )
    words = f"{queries} query heads, {groups} heads of keys and values"
    words += f", {chips} chips"
    if kept > groups:
        words += f": {kept - groups} copies (hatched)"
    write(ax, 72, 212, words, 12, "left", ink=SOFT)
    return ax


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
