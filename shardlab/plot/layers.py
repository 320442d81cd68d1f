"""A layer of a Transformer as chips cut it: weights, products, gates, logits.

All are drawn on a `canvas`; the colours of blocks are the steps of the axis
that cuts them.
"""

from shardlab import notation
from shardlab.arguments import whole
from shardlab.plot.axes import COLUMN, SOFT, WHOLE, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY, sheets
from shardlab.plot.colours import colour, shade
from shardlab.plot.meshes import corners
from shardlab.plot.things import arrow, box, frame, matrix, wire, write

__all__ = [
    "gate",
    "holders",
    "layouts",
    "logits",
    "mirrored_passes",
    "two_cuts",
    "whole_layer",
]

# Pixels of a dimension in pictures that are not to scale, D < F < words.
_LONG = {"B": 60, "D": 72, "F": 124}


@styled
def layouts(strategies, mesh, lengths=None):
    """Draw where the arrays of a block lie under strategies, one row for each.

    strategies  dict: title -> list of (layout, what happens to it), such as
             ("W_in[D_X, F]", "gathered"); "" for what stays where it is
    mesh     sizes of the mesh axes by name, each at most 8
    lengths  dict: name of a dimension -> pixels; None: B, D and F not to scale
    returns  the axes drawn on. A block bears the number of its chip; what
             travels has a frame and words in gold
    raises   ValueError for no strategy, or a layout that is no matrix
    source   chapter 8
    """
    if not strategies:
        raise ValueError("strategies must name one or more, got none")
    pixels = _LONG | (lengths or {})
    pitch = 100 + max(pixels.values())
    ax = canvas(COLUMN, pitch * len(strategies) - 6)
    for n, (title, arrays) in enumerate(strategies.items()):
        top, x = n * pitch, 16
        write(ax, 2, top + 12, title, 13, "left", weight="bold")
        taken = sum(pixels[_matrix(text).dims[1]] for text, _ in arrays)
        room = COLUMN - 32 - taken
        for text, moved in arrays:
            x += _laid(ax, x, top + pitch / 2 + 8, text, moved, mesh, pixels)
            x += room / max(len(arrays) - 1, 1)
    return ax


def _matrix(text):
    """The layout of a matrix, or a ValueError."""
    layout = notation.parse(text)
    if len(layout.dims) != 2:
        raise ValueError(f"strategies must hold matrices, got {text!r}")
    return layout


def _laid(ax, x, middle, text, moved, mesh, pixels):
    """One array with its middle at a height; returns its width."""
    layout = _matrix(text)
    high, wide = (pixels[name] for name in layout.dims)
    cuts = [(a[0], mesh[a[0]]) if a else None for a in layout.axes]
    y = middle - high / 2
    if moved:
        look = {"fill": colour("network-1"), "edge": MOVE, "z": 0.5}
        frame(ax, x - 9, y - 10, wide + 18, high + 19, **look)
        write(ax, x + wide / 2, y + high + 21, moved, 12, ink=MOVE)
    matrix(ax, x, y, wide, high, *cuts, digits=any(cuts))
    write(ax, x + wide / 2, y - 20, text, 12)
    return wide


@styled
def holders(arrays, high=150):
    """Draw which device holds each block of sharded matrices, side by side.

    arrays   dict: title -> matrix, sharded over a mesh of one or two axes so
             that no block is there twice
    high     pixels of the longest side
    returns  the axes drawn on. A block has the colours of the axes that cut
             it; its number is the id of its device, from the array's shards
    raises   ValueError for no array, no matrix, or blocks that are there twice
    source   chapter 9
    """
    if not arrays:
        raise ValueError("arrays must name a matrix or more, got none")
    ax, pitch = canvas(COLUMN, high + 44), COLUMN / len(arrays)
    for n, (title, x) in enumerate(arrays.items()):
        if x.ndim != 2:
            raise ValueError(f"arrays must be matrices, got {title!r}")
        tall, wide = (high * side / max(x.shape) for side in x.shape)
        tall, wide = max(tall, 0.7 * high), max(wide, 0.7 * high)
        left, top = n * pitch + (pitch - wide) / 2, 32 + (high - tall) / 2
        parts = [*x.sharding.spec, None, None][:2]
        cuts = [(a, x.sharding.mesh.shape[a]) if a else None for a in parts]
        matrix(ax, left, top, wide, tall, *cuts)
        write(ax, left + wide / 2, top - 17, title, 13, weight="bold")
        _numbered(ax, left, top, (tall, wide), x, title)
    return ax


def _numbered(ax, left, top, size, x, title):
    """The device of each block, on a plate in the block's middle."""
    seen = set()
    for shard in x.addressable_shards:
        block = corners(shard.index, x.shape)
        if block in seen:
            raise ValueError(f"arrays must hold no block twice, got {title!r}")
        seen.add(block)
        y = top + size[0] * (block[0] + block[2]) / 2 / x.shape[0]
        at = left + size[1] * (block[1] + block[3]) / 2 / x.shape[1]
        plate = {"fill": colour("paper"), "edge": colour("grid"), "z": 2}
        frame(ax, at - 9, y - 9, 18, 18, **plate)
        write(ax, at, y, shard.device.id, 12, zorder=5)


@styled
def two_cuts(chips=4):
    """Draw a product cut by columns, and one cut by rows.

    chips    along Y, 2 to 6
    returns  the axes drawn on: by columns all chips need all of In, and their
             columns of Out stand side by side; by rows each chip's term of
             Out is as large as Out, and the terms lie behind each other
    raises   ValueError for other numbers
    source   chapter 8
    """
    if whole("chips", chips, least=2) > 6:
        raise ValueError(f"chips must be at most 6, got {chips}")
    ax, cut = canvas(COLUMN, 372), ("Y", chips)
    rows = (
        ("column-parallel", "In[B, D]", None, "W[D, F_Y]", "Out[B, F_Y]"),
        ("row-parallel", "In[B, D_Y]", cut, "W[D_Y, F]", "Out[B, F] {U_Y}"),
    )
    for n, (title, first, columns, second, result) in enumerate(rows):
        y, by_rows = 44 + n * 188, n == 1
        frame(ax, 1, y - 43, COLUMN - 2, 180, edge=colour("grid"))
        write(ax, 10, y - 28, title, 13, "left", weight="bold")
        matrix(ax, 60, y + 30, 100, 62, None, columns, label=first)
        write(ax, 194, y + 61, "·", 18)
        cuts = (cut, None) if by_rows else (None, cut)
        matrix(ax, 228, y + 14, 164, 94, *cuts, label=second)
        write(ax, 426, y + 61, "=", 16)
        words = "columns, finished"
        if by_rows:
            sheets(ax, 460, y + 34, 164, 62, "Y", chips, 7)
            write(ax, 542, y + 65, "term 0", 12, zorder=4)
            write(ax, 553, y - 2, result, 12)
            words = "still to be added"
        else:
            matrix(ax, 460, y + 30, 164, 62, None, cut, label=result)
            write(ax, 110, y + 61, "whole", 12, zorder=4)
        write(ax, 542, y + 116, words, 12, ink=SOFT)
    return ax


def _token_cut(ax, x, middle, label, chips, wide=42, high=60):
    """An activation that is cut by tokens, named above."""
    y = middle - high / 2
    matrix(ax, x, y, wide, high, ("Y", chips), label=label, size=11)


_HALVES = (
    ("attention", ("W_Q, W_K, W_V", "heads", "W_O")),
    ("MLP", ("W_in, W_gate", "silu, ×", "W_out")),
)


@styled
def whole_layer(moved=("2BD", "2BD", "2BD"), chips=4):
    """Draw a layer with sequence parallelism: every collective, both passes.

    moved    words for the bytes of a collective forward, of one backward, and
             of gathering an input again
    chips    along Y, 2 to 8
    returns  the axes drawn on: attention at the left, MLP at the right, each
             from top to bottom on the way forward and up on the way back
    raises   ValueError for other numbers
    source   chapter 8
    """
    if whole("chips", chips, least=2) > 8:
        raise ValueError(f"chips must be at most 8, got {chips}")
    ax = canvas(COLUMN, 548)
    for n, (name, steps) in enumerate(_HALVES):
        _half(ax, 14 + n * 366, name, steps, moved, chips)
    return ax


def _half(ax, left, name, steps, moved, chips):
    """A half of a layer: forward down its left side, backward up the right.

    ax       axes of a `canvas`
    left     pixels
    name     of the half
    steps    what is done between the gather and the scatter
    moved, chips  as in `whole_layer`
    """
    write(ax, left + 148, 13, name, 14, weight="bold")
    for y, high, words in (
        (28, 132, "cut by tokens"),
        (216, 178, f"cut by {'heads' if name == 'attention' else 'width'}"),
        (450, 96, "cut by tokens"),
    ):
        fill = {"fill": colour("surface"), "edge": colour("grid"), "z": 0.1}
        frame(ax, left, y, 296, high, **fill)
        write(ax, left + 140, y + 14, words, 12, "left", ink=SOFT)
    middle, cut = left + 104, ("Y", chips)
    for y, rows, columns, label in (
        (48, cut, None, "In[B_Y, D]"),
        (110, cut, None, "norm"),
        (238, None, cut, steps[0]),
        (292, None, cut, steps[1]),
        (346, cut, None, steps[2]),
        (498, cut, None, "Out[B_Y, D]"),
    ):
        matrix(ax, middle - 27, y, 54, 40, rows, columns)
        write(ax, middle + 36, y + 20, label, 12, "left")
    for start, end in ((89, 109), (279, 291), (333, 345), (481, 497)):
        arrow(ax, (middle, start), (middle, end), MULTIPLY, 1.4)
    box(ax, middle - 13, 455, 26, 26, colour("paper"), "+", size=14)
    for x, y in ((left + 77, 68), (left + 30, 68)):
        wire(ax, (x, y), (left + 30, y if x > left + 30 else 468), SOFT, 1.2)
    arrow(ax, (left + 30, 468), (middle - 14, 468), SOFT, 1.2)
    for start, end, gather in ((152, 236, True), (388, 454, False)):
        arrow(ax, (middle, start), (middle, end), MOVE, 2.4, head=7)
        y, kind = (
            188 if gather else 422,
            ("All-\nGather_Y", "Reduce-\nScatter_Y"),
        )
        there, back = kind if gather else kind[::-1]
        write(ax, middle - 10, y, there, 11, "right", ink=MOVE, weight="bold")
        write(ax, middle + 12, y, moved[0], 12, "left", ink=MOVE)
        write(ax, left + 268, y, back, 11, "right", ink=MOVE, weight="bold")
        write(ax, left + 284, y, moved[1], 12, "left", ink=MOVE)
    _way_back(ax, left + 276, moved)


def _way_back(ax, x, moved):
    """The backward pass of a half, upwards."""
    write(ax, x, 536, "dOut", 12)
    write(ax, x, 44, "dIn", 12)
    for start, end in ((524, 392), (218, 56)):
        arrow(ax, (x, start), (x, end), MOVE, 2.4, head=7)
    wire(ax, (x, 390), (x, 220), MULTIPLY, 1.4, dashed=True)
    words = "the same\nsteps,\nbackward"
    write(ax, x - 8, 296, words, 11, "right", ink=MULTIPLY)
    words = f"AllGather_Y\nagain, {moved[2]}"
    write(ax, x - 8, 366, words, 11, "right", ink=MOVE)


@styled
def gate(chips=4):
    """Draw an MLP with a gate under tensor parallelism.

    chips    along Y, 2 to 6
    returns  the axes drawn on: what is gathered once serves two products
    raises   ValueError for other numbers
    source   chapter 8
    """
    if whole("chips", chips, least=2) > 6:
        raise ValueError(f"chips must be at most 6, got {chips}")
    ax, cut, middle = canvas(COLUMN, 284), ("Y", chips), 138
    matrix(ax, 8, middle - 28, 62, 56, None, cut, label="In[B, D_Y]")
    arrow(ax, (76, middle), (136, middle), MOVE, 2.4, head=7)
    write(ax, 106, middle - 17, "gather", 12, ink=MOVE, weight="bold")
    write(ax, 106, middle + 16, "once", 12, ink=MOVE)
    matrix(ax, 142, middle - 28, 62, 56, label="In[B, D]")
    for sign, name in ((-1, "W_gate[D, F_Y]"), (1, "W_in[D, F_Y]")):
        y = middle + sign * 70
        matrix(ax, 244, y - 31, 84, 62, None, cut)
        write(ax, 286, y + sign * 44, name, 12)
        matrix(ax, 366, y - 25, 66, 50, None, cut)
        write(ax, 399, y + sign * 44, "[B, F_Y]", 12)
        arrow(ax, (208, middle + sign * 16), (241, y), MULTIPLY, 1.6)
        arrow(ax, (331, y), (363, y), MULTIPLY, 1.6)
        arrow(ax, (436, y), (463, middle + sign * 18), MULTIPLY, 1.6)
    write(ax, 466, middle - 58, "silu", 12, "left", ink=MULTIPLY)
    box(ax, 450, middle - 14, 28, 28, colour("paper"), "×", size=16)
    arrow(ax, (480, middle), (508, middle), MULTIPLY, 1.6)
    matrix(ax, 512, middle - 42, 62, 84, cut, label="W_out[F_Y, D]")
    arrow(ax, (578, middle), (606, middle), MULTIPLY, 1.6)
    sheets(ax, 612, middle - 22, 54, 56, "Y", chips, 5)
    write(ax, 646, middle - 56, "{U_Y}", 12)
    write(ax, 646, middle + 52, "scatter", 12, ink=MOVE, weight="bold")
    words = "three products for the traffic of two"
    write(ax, COLUMN / 2, 272, words, 12, ink=SOFT)
    return ax


@styled
def logits(D, vocab, chips=8, kept="", held="", told=""):
    """Draw a head that is cut along the vocabulary, to scale.

    D, vocab  model size, and words of the vocabulary; D is at most half of it
    chips    along Y, 2 to 8
    kept, held  what is said of the logits of all chips, and of one chip's
    told     what is said of the three numbers, such as their bytes
    returns  the axes drawn on. As many tokens as D are drawn; what chips tell
             one another is three numbers a token, drawn larger than it is
    raises   ValueError for other numbers
    source   chapter 8
    """
    if whole("chips", chips, least=2) > 8:
        raise ValueError(f"chips must be at most 8, got {chips}")
    if 2 * whole("D", D) > whole("vocab", vocab):
        raise ValueError(f"D must be at most {vocab // 2}, got {D}")
    ax, cut, left = canvas(COLUMN, 346), ("Y", chips), 84
    wide = COLUMN - left - 4
    side = max(wide * D / vocab, 22)
    write(ax, 2, 12, "Out[B, D]", 12, "left")
    box(ax, 8, 30, side, side, WHOLE)
    write(ax, 66, 30 + side / 2, "·", 18)
    write(ax, left + wide / 2, 12, "W_head[D, vocab_Y]", 12)
    matrix(ax, left, 30, wide, side, None, cut)
    low = 116
    write(ax, 66, low + side / 2, "=", 16)
    write(ax, left + wide / 2, low - 18, f"logits[B, vocab_Y]{kept}", 12)
    matrix(ax, left, low, wide, side, None, cut)
    each = wide / chips
    write(ax, left + each / 2, low + side / 2, held, 11, zorder=5)
    y = low + side + 44
    for n in range(chips):
        middle = left + (n + 0.5) * each
        arrow(ax, (middle, low + side + 5), (middle, y - 4), MULTIPLY, 1.4)
        for k in range(3):
            box(ax, middle - 13.5 + 9 * k, y, 9, 44, shade("Y", n, chips))
        arrow(ax, (middle, y + 48), (middle, y + 72), MOVE, 1.8)
    look = {"fill": colour("network-1"), "edge": MOVE, "z": 1}
    frame(ax, left, y + 74, wide, 30, **look)
    words = f"AllReduce_Y of three numbers a token{told}"
    write(ax, left + wide / 2, y + 89, words, 12, zorder=4)
    thin = 3 * wide / vocab
    for low, words in (
        (122, "largest logit, sum, logit of the right word"),
        (140, f"to scale, they would be {thin:.2f} pixels wide"),
    ):
        write(ax, left + wide / 2, y + low, words, 12, ink=SOFT)
    return ax


@styled
def mirrored_passes(halves=("attention", "MLP")):
    """Draw what sequence parallelism moves in both passes of a layer.

    halves   names of what lies between the cuts, two
    returns  the axes drawn on: the forward pass runs to the right, and the
             backward pass below it to the left; striped is what is repeated
    source   Korthikanti et al. (2022)
    """
    wide, gap, left, high = 96, 6, 80, 182
    right = left + 3 * wide + 2 * gap
    ax = canvas(right + 4, high * len(halves) - 8)
    gold, cut = colour("network-1"), shade("Y", 1, 4)
    places = [left + m * (wide + gap) for m in range(3)]
    for top, half in zip(
        range(0, high * len(halves), high), halves, strict=True
    ):
        rows = {"forward": top + 34, "backward": top + 92, "again": top + 136}
        for name, y in rows.items():
            write(ax, 2, y + 15, name, 12.5, "left", weight="bold")
        for at, words in zip(places, ("entrance", half, "exit"), strict=True):
            look = {"weight": "bold"} if words == half else {"ink": SOFT}
            write(ax, at + wide / 2, top + 18, words, 12.5, **look)
        for at, words in (places[0], "AllGather"), (places[2], "ReduceScatter"):
            box(ax, at, rows["forward"], wide, 30, gold, words)
        for at, words in (places[2], "AllGather"), (places[0], "ReduceScatter"):
            box(ax, at, rows["backward"], wide, 30, gold, words)
        for name, words in (("forward", "products"), ("backward", "gradients")):
            box(ax, places[1], rows[name], wide, 30, cut, words)
        again = {"hatch": "////", "z": 1}
        box(ax, left, rows["again"], wide, 30, gold, **again)
        box(ax, left + 14, top + 143, wide - 28, 16, gold, line=0, z=2)
        write(ax, left + wide / 2, top + 151, "AllGather", 12, zorder=3)
        end = places[1] + wide / 2
        wire(ax, (left + wide, top + 151), (end, top + 151), SOFT, 1.2)
        arrow(ax, (end, top + 151), (end, top + 124), SOFT, 1.2, head=5)
        arrow(ax, (left, top + 72), (right, top + 72), SOFT, 1.2, head=5)
        arrow(ax, (right, top + 83), (left, top + 83), SOFT, 1.2, head=5)
    return ax
