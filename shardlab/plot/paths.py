"""What chips make of the same array, side by side, and where they meet."""

from shardlab.arguments import one_of, whole
from shardlab.plot.axes import COLUMN, SOFT, canvas, styled
from shardlab.plot.cases import MOVE, MULTIPLY
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, frame, matrix, write

__all__ = ["f_and_g"]

B, D, F = 40, 50, 76  # pixels of dimensions, not to scale
PITCH, HEAD, FOOT = 94, 52, 34  # pixels of a chip's row, above and below all
BAR = 26  # pixels of the place where chips part or meet
# What stands from left to right, forward and backward: a name above it, its
# size, and whether the chips cut its columns, its rows or nothing; or a place.
_WHOLE, _TERM = (B, D, None), (B, D, "term")
_COLUMNS, _ROWS, _MIDDLE = (D, F, "columns"), (F, D, "rows"), (B, F, "columns")
_PASSES = (
    (
        *(("In[B, D]", _WHOLE), "f", ("W_in[D, F_Y]", _COLUMNS)),
        *(("Tmp[B, F_Y]", _MIDDLE), ("W_out[F_Y, D]", _ROWS)),
        *(("Out {U_Y}", _TERM), "g", ("Out[B, D]", _WHOLE)),
    ),
    (
        *(("dIn[B, D]", _WHOLE), "f", ("dIn {U_Y}", _TERM)),
        *(("W_in, turned", _ROWS), ("dTmp[B, F_Y]", _MIDDLE)),
        *(("W_out, turned", _COLUMNS), "g", ("dOut[B, D]", _WHOLE)),
    ),
)


@styled
def f_and_g(chips=2, passes=("forward", "backward")):
    """Draw a block whose chips meet in f and g alone.

    chips    along Y, 2 to 4
    passes   "forward" and "backward", or one of them
    returns  the axes drawn on, with a row for each chip: forward from left to
             right, backward from right to left. Of what is cut,
             a chip's own part has its colour; a term is as large as the sum
    raises   ValueError for other numbers or passes
    source   chapter 8
    """
    if whole("chips", chips, least=2) > 4:
        raise ValueError(f"chips must be at most 4, got {chips}")
    high = HEAD + PITCH * chips + FOOT
    ax = canvas(COLUMN, len(passes) * (high + 8) - 8)
    for n, title in enumerate(passes):
        one_of("passes", title, ("forward", "backward"))
        top, back = n * (high + 8), title == "backward"
        frame(ax, 1, top + 1, COLUMN - 2, high, edge=colour("grid"))
        write(ax, 10, top + 16, title, 13, "left", weight="bold")
        _pass(ax, top, chips, back)
    return ax


def _pass(ax, top, chips, back):
    """One pass: 0 forward, 1 backward."""
    parts = _PASSES[back]
    wide = [BAR if isinstance(part, str) else part[1][1] for part in parts]
    gap = (COLUMN - 30 - sum(wide)) / (len(parts) - 1)
    x = 15
    for n, (part, width) in enumerate(zip(parts, wide, strict=True)):
        if isinstance(part, str):
            _place(ax, x, top + HEAD, chips, part, (part == "g") != back)
        for k in range(chips):
            y = top + HEAD + PITCH * (k + 0.5)
            if not isinstance(part, str):
                _array(ax, x, y, part, k, chips)
            if n == 0:
                write(ax, x + D / 2, y + B / 2 + 12, f"chip {k}", 11, ink=SOFT)
            if n:
                ends = (x - gap + 3, y), (x - 3, y)
                arrow(ax, *(ends[::-1] if back else ends), MULTIPLY, 1.5)
            if n and part[0].startswith("Tmp"):
                write(ax, x - gap / 2, y - 10, "gelu", 11, ink=MULTIPLY)
        x += width + gap
    return ax


def _array(ax, x, y, part, k, chips):
    """An array as chip k has it, with its middle at y; named at chip 0."""
    name, (high, wide, cut) = part
    top, parts = y - high / 2, ("Y", chips)
    if cut == "term":
        fill = shade("Y", k, chips)
        box(ax, x, top, wide, high, fill, f"term {k}", size=12)
    else:
        rows, columns = (parts if cut == way else None for way in _WAYS)
        own = {"rows": lambda i, _: i == k, "columns": lambda _, j: j == k}
        held = own.get(cut, lambda *_: True)
        matrix(ax, x, top, wide, high, rows, columns, held=held)
    if k == 0:
        write(ax, x + wide / 2, top - 15, name, 12)


_WAYS = "rows", "columns"


def _place(ax, x, top, chips, name, adds):
    """Where chips part or meet: f or g, gold where something is sent."""
    fill = colour("network-1") if adds else colour("paper")
    frame(ax, x, top + 6, BAR, PITCH * chips - 12, fill=fill, z=1)
    middle = x + BAR / 2, top + PITCH * chips / 2
    write(ax, *middle, name, 16, style="italic", zorder=4)
    if adds:
        for k in range(chips):
            write(ax, middle[0], top + PITCH * (k + 0.5), "+", 16, zorder=4)
    words, ink = ("AllReduce", MOVE) if adds else ("copy", SOFT)
    weight = "bold" if adds else None
    at = middle[0], top + PITCH * chips + 10
    write(ax, *at, words, 12, ink=ink, weight=weight)
