"""What a chip holds: as bars, and below what its queues do."""

from matplotlib.patches import Rectangle

from shardlab import room as room_of
from shardlab.plot.axes import INK, LINE, SMALL, SOFT, new_axes, styled
from shardlab.plot.colours import colour

__all__ = ["room", "stacked"]

KINDS = {
    "weights": ("param",),
    "gradients": ("grad",),
    "optimiser": ("master", "m", "v"),
}
HATCHES = ("", "---", "////")
SHADES = ("memory-2", "memory-1", "memory-3")


@styled
def room(axes, runs, stays, unit=1e-6):
    """Add to timelines a row with what is held, as heights and as numbers.

    axes     what `timeline` returned for the same runs
    runs     dict: title -> list of `shardlab.timeline.Done`
    stays    dict: title -> list of `shardlab.room.Stay`
    unit     seconds in a unit of the time axis, as in `timeline`
    returns  axes
    """
    most = max(room_of.peak(runs[title], stays[title]) for title in runs) or 1
    for ax, (title, played) in zip(axes.flat, runs.items(), strict=True):
        names = [label.get_text() for label in ax.get_yticklabels()]
        floor = len(names) + 0.4
        moments = room_of.profile(played, stays[title])
        for (time, total, _), (until, _, _) in zip(
            moments, moments[1:], strict=False
        ):
            size = (until - time) / unit, 0.8 * total / most
            corner = time / unit, floor - size[1]
            look = {"fc": colour("memory-2"), "ec": LINE, "lw": 0.4}
            ax.add_patch(Rectangle(corner, *size, **look))
            if size[0] > 0.016 * len(f"{total:g}") * ax.get_xlim()[1]:
                middle = (time + until) / 2 / unit, floor - 0.05
                words = {"ha": "center", "va": "bottom", "fontsize": SMALL}
                ax.text(*middle, f"{total:g}", **words)
        ax.set_yticks(range(len(names) + 1), [*names, "held"])
        ax.set_ylim(len(names) + 0.5, -0.5)
    return axes


@styled
def stacked(bars, title=None, limits=None, unit=1e9, name="GB on each chip"):
    """Draw what lies on a chip as stacked bars, with the total beside each.

    bars     dict: name of a bar -> what `shardlab.memory.state_terms` returned
    title    above the picture
    limits   dict: name -> bytes at which a dotted line stands; None for none
    unit     bytes in a unit of the axis
    name     of the axis
    returns  the axes drawn on
    """
    ax = new_axes(None, (6.2, 0.42 * len(bars) + 0.9))
    for row, terms in enumerate(bars.values()):
        left = 0
        for n, (kind, parts) in enumerate(KINDS.items()):
            size = sum(terms[part] for part in parts) / unit
            look = {"fc": colour(SHADES[n]), "hatch": HATCHES[n], "ec": INK}
            label = kind if row == 0 else None
            ax.barh(row, size, 0.7, left, lw=0.6, label=label, **look)
            left += size
        _beside(ax, f"{left:.1f}", (left, row), va="center", zorder=4)
    for what, size in (limits or {}).items():
        ax.axvline(size / unit, ls=":", color=SOFT)
        _beside(ax, what, (size / unit, -0.75), color=SOFT, fontsize=SMALL)
    ax.set_yticks(range(len(bars)), list(bars))
    ax.set(xlabel=name, ylim=(len(bars) - 0.4, -0.9))
    ax.margins(x=0.12)
    if title:
        ax.set_title(title)
    ax.legend(loc="lower right")
    return ax


def _beside(ax, words, point, **look):
    """Words a little to the right of a point."""
    ax.annotate(words, point, (4, 0), textcoords="offset points", **look)
