"""What PyTorch does with the strategies of the book, in pictures."""

import numpy as np

from shardlab.plot.axes import INK, SOFT, canvas, panels, styled
from shardlab.plot.colours import colour
from shardlab.plot.things import arrow, box, chip, write

PARTS = {"forward": "forward", "backward": "backward", "update": "weight-half"}


def ghosts():
    """One rank that computes, among 7 and among 4,095 that do not exist.

    returns  the axes
    source   chapter 19
    """
    ax = canvas(600, 270)
    real = colour("axis-x-3")
    for rank in range(8):
        place = 48 + 44 * (rank % 2), 70 + 44 * (rank // 2)
        look = {"fill": real} if rank == 0 else {"edge": colour("line")}
        chip(ax, *place, words=f"{rank}", **look)
    write(ax, 70, 30, "8 ranks", weight="bold")
    left, top, cell = 200, 48, 3.2
    for n in range(65):
        at = n * cell
        end = 64 * cell
        for xs, ys in (([at, at], [0, end]), ([0, end], [at, at])):
            xs, ys = np.add(xs, left), np.add(ys, top)
            ax.plot(xs, ys, color=colour("grid"), lw=0.5)
    box(ax, left, top, 2 * cell, 2 * cell, fill=real)
    write(ax, left + 32 * cell, 30, "4,096 ranks", weight="bold")
    for y, words in (
        (80, "one process plays rank 0:"),
        (100, "its shards, its shapes, its calls"),
        (140, "the others have a number"),
        (160, "and nothing else: a collective"),
        (180, "returns at once, and what"),
        (200, "is in the array means nothing"),
    ):
        write(ax, 430, y, words, size=12, at="left", ink=INK)
    return ax


@styled
def parts_of_steps(steps, unit, expected):
    """Bars of what training steps move, part by part, beside a prediction.

    steps     dict: name -> (forward, backward, update), in bytes
    unit      bytes that count as 1 on the axis
    expected  dict: name -> bytes that the book's formula says
    returns   the axes
    source    chapter 19
    """
    figure, axes = panels(1, 1, size=(6.6, 0.42 * len(steps) + 0.9))
    ax = np.ravel(axes)[0]
    for row, (name, parts) in enumerate(steps.items()):
        left = 0
        for (part, ink), size in zip(PARTS.items(), parts, strict=True):
            label = part if row == 0 else None
            ax.barh(
                row,
                size / unit,
                left=left,
                color=colour(ink),
                label=label,
                edgecolor=INK,
                linewidth=0.6,
                height=0.56,
            )
            left += size / unit
        at = expected[name] / unit
        said = "formula" if row == 0 else None
        ax.plot([at, at], [row - 0.4, row + 0.4], color=INK, lw=2.2, label=said)
        write_end(ax, max(left, at), row, f"{left:.3g}")
    ax.set_yticks(range(len(steps)), steps)
    ax.invert_yaxis()
    ax.set(xlabel="bytes of a step, in units of DF", xlim=(0, 19))
    ax.legend(frameon=False, loc="upper right", fontsize=8)
    figure.tight_layout()
    return ax


def write_end(ax, x, y, words):
    """A number at the end of a bar."""
    ax.text(x + 0.25, y, words, va="center", color=INK)


@styled
def state_owners(dealt, cut, names):
    """Optimiser states of each rank: whole parameters, and cut ones.

    dealt, cut  for each parameter a list of bytes, one for each rank
    names       of the parameters
    returns     the axes
    source      chapter 19
    """
    figure, axes = panels(1, 2, size=(6.6, 2.4), sharey=True)
    titles = "dealt out whole", "cut in eight"
    for ax, runs, title in zip(axes, (dealt, cut), titles, strict=True):
        below = np.zeros(len(runs[0]))
        inks = "memory-2", "memory-4"
        for name, run, ink in zip(names, runs, inks, strict=True):
            sizes = np.array(run) / 1e6
            ax.bar(
                range(len(run)),
                sizes,
                bottom=below,
                color=colour(ink),
                edgecolor=INK,
                linewidth=0.6,
                label=name,
            )
            below += sizes
        ax.set_title(title, loc="left")
        ax.set(xlabel="rank")
        ax.set_xticks(range(len(below)))
    axes[0].set_ylabel("states, MB")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    return axes


def when_gathered(gathers):
    """The passes of two linears, and in which of them gathers are issued.

    gathers  dict: (module, part) -> AllGathers, in the order of the passes
    returns  the axes
    source   chapter 19
    """
    ax = canvas(620, 190)
    for n, ((module, part), count) in enumerate(gathers.items()):
        x = 20 + 150 * n
        box(ax, x, 120, 128, 40, fill=colour(part), words=module)
        write(ax, x + 64, 176, part, size=11, ink=SOFT)
        for k in range(count):
            at = x + 44 + 44 * k
            arrow(ax, (at, 62), (at, 114), ink=colour("axis-x"))
        word = {0: "none", 1: "1 AllGather"}.get(count, f"{count} AllGathers")
        write(ax, x + 64, 44, word, size=12)
    write(ax, 20, 16, "time runs to the right", size=11, at="left", ink=SOFT)
    return ax


@styled
def padded_rows(rows, ranks):
    """Rows that ranks hold of some matrices, and rows that they send.

    rows     dict: name -> rows of the whole matrix
    ranks    how many
    returns  the axes
    source   chapter 19
    """
    figure, axes = panels(1, len(rows), size=(6.8, 2.4))
    for ax, (name, whole) in zip(np.ravel(axes), rows.items(), strict=True):
        piece = -(-whole // ranks)
        full, rest = divmod(whole, piece)
        ends = [(full, piece), (full + (rest > 0), rest), (ranks, 0)]
        left = 0
        for right, held in ends:
            look = {"width": right - left, "align": "edge", "linewidth": 0}
            ink = colour("axis-x-2")
            ax.bar(left, held, color=ink, **look, label="held")
            look |= {"bottom": held, "color": colour("mark"), "alpha": 0.35}
            ax.bar(left, piece - held, **look, label="padding")
            left = right
        ax.set_title(f"{name}: {whole:,} rows", loc="left")
        ax.set(xlabel="rank", ylim=(0, 1.25 * piece), xlim=(0, ranks))
    np.ravel(axes)[0].set_ylabel("rows in a message")
    handles, labels = np.ravel(axes)[-1].get_legend_handles_labels()
    both = dict(zip(labels, handles, strict=True))
    np.ravel(axes)[-1].legend(
        both.values(), both, frameon=False, ncols=2, loc="upper right"
    )
    figure.tight_layout()
    return axes
