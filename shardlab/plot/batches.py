"""Batches: how sequences are dealt to chips, and where they cannot be cut."""

from shardlab.plot.axes import INK, SOFT, canvas, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import arrow, box, frame, wire, write

__all__ = ["dealt_sequences"]

_TOKENS, _SIDE = 8, 16  # drawn of a sequence, and pixels of each
_STRIP = _TOKENS * _SIDE


@styled
def dealt_sequences(sequences=8, few=2):
    """Draw a batch dealt to few chips, to as many as it has, and to more.

    sequences  of the batch, an even number
    few      chips on the left, which divide the sequences
    returns  the axes drawn on: on the left each chip has several sequences, in
             the middle one; on the right half of one, and attention crosses
             the cut
    raises   ValueError for sequences that do not divide
    source   chapter 6
    """
    if sequences % few or sequences % 2:
        raise ValueError(
            f"sequences must divide by {few} chips and by 2, got {sequences}"
        )
    pitch, top = 30, 62
    ax = canvas(690, top + sequences * pitch + 44)
    heads = (
        (f"{few} chips", f"{sequences // few} sequences each"),
        (f"{sequences} chips", "one sequence each"),
        (f"{2 * sequences} chips", "half a sequence each?"),
    )
    for n, (chips, words) in enumerate(heads):
        x = (107, 339, 579)[n]
        write(ax, x, 14, chips, 14, weight="bold")
        write(ax, x, 36, words, 12, ink=SOFT)
    for row in range(sequences):
        y = top + row * pitch
        share = sequences // few
        _sequence(ax, 58, y, shade("X", row // share, few))
        _sequence(ax, 284, y, shade("X", row, sequences))
        _sequence(ax, 508, y, shade("X", row, sequences), cut=True)
    _owners(ax, (top, pitch), sequences, few)
    y = top + sequences * pitch + 18
    write(ax, 107, y, "fits", 13)
    write(ax, 339, y, "the end of data parallelism", 13, weight="bold")
    words = "attention crosses the cut"
    write(ax, 579, y, words, 13, ink=colour("mark"), weight="bold")
    return ax


def _sequence(ax, x, y, fill, cut=False):
    """A sequence as a row of tokens, and what some of them look at."""
    pieces, gap = (2, 10) if cut else (1, 0)
    tokens = _TOKENS // pieces
    for piece in range(pieces):
        left = x + piece * (_STRIP // 2 + gap)
        box(ax, left, y + 9, tokens * _SIDE, 12, fill, line=0.6)
        for n in range(1, tokens):
            at = left + n * _SIDE
            wire(ax, (at, y + 9), (at, y + 21), INK, 0.6, z=1.5)
    looks = ((6, 1),) if cut else ((6, 2), (3, 0))
    ink = colour("mark") if cut else SOFT
    for start, end in looks:
        ends = [x + (n + 0.5) * _SIDE for n in (start, end)]
        ends[0] += gap
        arrow(
            ax, (ends[0], y + 9), (ends[1], y + 8), ink, 1.1, bend=0.2, head=3
        )


def _owners(ax, rows, sequences, few):
    """Frames around what a chip has, with its number."""
    top, pitch = rows
    share = sequences // few
    for chip in range(few):
        y = top + chip * share * pitch
        frame(ax, 14, y - 3, 186, share * pitch - 4, z=0.1)
        write(ax, 36, y + share * pitch / 2 - 5, f"chip\n{chip}", 12)
    for row in range(sequences):
        y = top + row * pitch
        frame(ax, 254, y - 3, 170, pitch - 4, z=0.1)
        write(ax, 269, y + 11, row, 12)
        for half in range(2):
            x = 476 + half * 105
            frame(ax, x, y - 3, 100, pitch - 4, z=0.1)
            at = 491 if half == 0 else 666
            write(ax, at, y + 11, 2 * row + half, 12)
