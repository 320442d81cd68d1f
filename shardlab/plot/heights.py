"""What is held over a step, as a height below what is done."""

from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from shardlab.plot.axes import INK, LINE, SMALL, panels, styled
from shardlab.plot.colours import colour

__all__ = ["heights", "moments"]

# From below: what stays, what grows backwards, what comes and goes.
PARTS = {
    "weights": "memory-2",
    "gradients": "surface",
    "activations": "memory-4",
}
KINDS = {
    "forward": (colour("forward"), ""),
    "again": (colour("forward"), "////"),
    "backward": (colour("backward"), ""),
}
WIDE, HIGH = 7.0, 2.0  # inches of a picture, and of one of its runs
LOW = 1.35  # inches of a run of which less is to be seen


@styled
def moments(runs, phases, unit=1e6, name="MB"):
    """Draw what a device holds while a program runs, stacked.

    runs     dict: title -> list of `shardlab.count.moments.Moment`
    phases   dict: title -> list of (kind, layer, FLOPs): the layers in the
             order in which they run, with a kind of KINDS
    unit     bytes in a unit of the axis
    name     of the unit
    returns  the axes, one for each run, one below the other; the horizontal
             axis is FLOPs, the dot is the peak, and a dotted line is the
             first run's. What stays to the end is named in the first run
    raises   ValueError for no run, or an empty one
    source   chapter 12
    """
    if not runs or not all(runs.values()):
        raise ValueError("runs must hold moments of a program, got none")
    axes, peaks = _below_each_other(runs), []
    longest = max(run[-1].flops for run in runs.values())
    for n, (ax, (title, run)) in enumerate(
        zip(axes, runs.items(), strict=True)
    ):
        _layers(ax, run, unit, inside=n == 0)
        most = max(run, key=lambda moment: moment.total)
        peaks.append(most.total / unit)
        far = most.flops > 0.85 * longest
        _peak(ax, most.flops / 1e6, peaks[-1], f" {name}", far)
        if n:  # the first run's peak, to compare
            ax.axhline(peaks[0], ls=":", color=LINE, lw=1)
        cells = [(k, words, size / 1e6) for k, words, size in phases[title]]
        _strip(ax, cells)
        ax.set(ylabel=name)
    _scaled(axes, "products done, in MFLOPs")
    return axes


@styled
def heights(runs, x_name, y_name):
    """Draw tasks one after the other, and below how much is held meanwhile.

    runs     dict: title -> list of (kind, name, length, change), where kind is
             of KINDS, and change is what comes while a task runs, or goes
    x_name, y_name  of the axes
    returns  the axes, one for each run, one below the other; dots are peaks
    raises   ValueError for no run, or an empty one
    source   chapter 12
    """
    if not runs or not all(runs.values()):
        raise ValueError("runs must hold tasks, got none")
    axes = _below_each_other(runs, LOW)
    for ax, run in zip(axes, runs.values(), strict=True):
        x, y = [0.0], [0.0]
        for _, _, length, change in run:
            x, y = [*x, x[-1] + length], [*y, y[-1] + change]
        look = {"fc": colour("memory-2"), "ec": INK, "lw": 0.8}
        ax.fill_between(x, y, **look)
        _peak(ax, x[y.index(max(y))], max(y), "")
        _strip(ax, [task[:3] for task in run])
        ax.set(ylabel=y_name)
    _scaled(axes, x_name, 1.3)
    axes[0].yaxis.set_major_locator(MaxNLocator(3, integer=True))
    return axes


def _below_each_other(runs, each=HIGH):
    """Axes with one scale, and the title of a run at the left of each."""
    high = each * len(runs) + 0.4
    how = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = panels(len(runs), 1, size=(WIDE, high), **how)
    figure.subplots_adjust(hspace=1.24 / each)
    for ax, title in zip(axes.flat, runs, strict=True):
        ax.set_title(title, loc="left", pad=26)
        ax.margins(x=0)
    return list(axes.flat)


def _scaled(axes, name, above=1.08):
    """Both scales from nought, and room above the peaks and at the right."""
    wide, high = (
        max(ends) for ends in (axes[0].get_xlim(), axes[0].get_ylim())
    )
    axes[0].set(xlim=(0, wide), ylim=(0, above * high))
    axes[-1].set_xlabel(name)


def _peak(ax, x, y, name, far=False):
    """A dot with its height beside it, at its left if it lies far right."""
    ax.plot(x, y, "o", color=INK, ms=5, clip_on=False, zorder=4)
    words = {"textcoords": "offset points", "va": "center", "weight": "bold"}
    at = {"xytext": (-7, 8), "ha": "right"} if far else {"xytext": (7, 3)}
    ax.annotate(f"{y:.3g}{name}", (x, y), **at, **words)


def _strip(ax, cells):
    """Above a run: its tasks, as long as they are, named where they can be."""
    x, where = 0.0, ax.get_xaxis_transform()
    whole = sum(size for _, _, size in cells)
    high = 0.32 / (ax.figure.get_figheight() / len(ax.figure.axes))
    at = {"transform": where}
    for kind, words, size in cells:
        fill, hatch = KINDS[kind]
        look = {"fc": fill, "ec": INK, "lw": 0.6, "hatch": hatch}
        look |= {"transform": where, "clip_on": False}
        ax.add_patch(Rectangle((x, 1.03), size, high, **look))
        how = {"ha": "center", "va": "center_baseline", "fontsize": SMALL}
        if hatch:
            how["bbox"] = {"fc": fill, "ec": "none", "pad": 1}
        if size > 0.03 * whole:
            ax.text(x + size / 2, 1.03 + high / 2, words, **how | at)
        x += size


def _layers(ax, run, unit, inside):
    """The stacked areas of one run: the fullest moment after each product."""
    fullest = {}
    for moment in run:
        other = fullest.setdefault(moment.flops, moment)
        if moment.total > other.total:
            fullest[moment.flops] = moment
    fullest[run[-1].flops + 1] = run[-1]
    x = [flops / 1e6 for flops in fullest]
    below = [0.0] * len(x)
    for part, fill in PARTS.items():
        above = [
            low + getattr(moment, part) / unit
            for low, moment in zip(below, fullest.values(), strict=True)
        ]
        look = {"fc": colour(fill), "ec": INK, "lw": 0.4}
        ax.fill_between(x, below, above, step="post", label=part, **look)
        middle = (below[-1] + above[-1]) / 2
        if above[-1] > below[-1]:
            if not inside:  # it looks as in the first run
                below = above
                continue
            how = {"textcoords": "offset points", "va": "center"}
            ax.annotate(part, (x[-1], middle), (6, 0), **how)
        else:
            full = max(range(len(x)), key=above.__getitem__)
            height = below[full] + 0.35 * (above[full] - below[full])
            if inside:
                how = {"ha": "center", "va": "center"}
                ax.text(1.1 * x[full], height, part, **how)
            else:
                at, away = (x[full // 4], above[full // 4]), (0, 22)
                how = {"textcoords": "offset points", "ha": "center"}
                how["arrowprops"] = {"arrowstyle": "-", "color": INK, "lw": 0.8}
                ax.annotate(part, at, away, **how)
        below = above
