"""What PyTorch does with the strategies of the book, in pictures."""

import numpy as np

from shardlab.plot.axes import INK, SOFT, canvas, panels, styled
from shardlab.plot.colours import colour
from shardlab.plot.things import arrow, box, frame, write

__all__ = [
    "padded_rows",
    "parts_of_steps",
    "state_owners",
    "when_gathered",
]

PARTS = {"forward": "forward", "backward": "backward", "update": "weight-half"}


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
        _write_end(ax, max(left, at), row, f"{left:.3g}")
    ax.set_yticks(range(len(steps)), steps)
    ax.invert_yaxis()
    ax.set(xlabel="bytes of a step, in units of DF", xlim=(0, 19))
    ax.legend(frameon=False, loc="upper right", fontsize=8)
    figure.tight_layout()
    return ax


def _write_end(ax, x, y, words):
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


def when_gathered(gathers, brings):
    """The passes of two linears: what is gathered in each, and used, and held.

    gathers  dict: (module, part) -> AllGathers, in the order of the passes
    brings   dict: (module, part) -> the weights that they bring, in order
    returns  the axes: a frame for each pass, in it the gathers above and the
             matmuls below, and under the frames how long a weight is whole
    raises   ValueError unless as many weights are named as were gathered
    source   chapter 19
    """
    if {key: len(brings[key]) for key in brings} != dict(gathers):
        raise ValueError(f"brings must name {gathers}, got {brings}")
    ax, x, short, long = canvas(690, 226), 90, 54, 86
    for lane, y in (("gathers", 54), ("multiplies", 100), ("whole", 164)):
        write(ax, x - 14, y, lane, 12, "right")
    gold, ready, held = colour("network"), {}, []
    for (module, part), weights in brings.items():
        here = module in weights  # it waits for a gather of its own pass
        begin = x + short * here + 6
        end = begin + long
        frame(ax, x, 8, end + 6 - x, 118, f"{module}, {part}", size=12)
        box(ax, begin, 84, long, 32, colour(part), "matmul", size=12)
        for n, weight in enumerate(weights):
            at = x + 6 + short * n
            box(ax, at, 42, short, 24, colour("network-1"), weight, size=12)
            ready[weight] = at + short
        came = ready.pop(module)
        arrow(ax, (came, 66), (max(came, begin + 5), 82), gold)
        held.append((module, came, end))
        x = end + 14
    for n, (weight, came, end) in enumerate(held):
        row = 142 + 30 * (n > 0 and came < held[n - 1][2])
        fill = colour("memory-1")
        box(ax, came, row, end - came, 24, fill, weight, size=12)
    write(ax, 90, 214, "time runs to the right", 11, "left", ink=SOFT)
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
