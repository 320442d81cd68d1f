"""What links carry, and curves over a range."""

from fractions import Fraction

from shardlab import ring
from shardlab.arguments import one_of
from shardlab.plot.axes import FILLS, new_axes

DASHES = ("-", "--", "-.", ":")


def links(steps, V, title, ax=None):
    """Draw what each link carries in all steps together, as a part of V.

    steps    list of steps, each a list of `shardlab.ring.Hop`, on one axis
    V        bytes of the whole array
    title    above the picture
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. A bar stands between two neighbours: upwards
             what goes to the next chip, downwards what goes to the one before
    """
    ax, loads = new_axes(ax), ring.bytes_per_link(steps)
    chips = 1 + max(chip for chip, _, _ in loads)
    places = {(c, w): (c if w == 1 else c - 1) % chips for c, _, w in loads}
    for (chip, _, way), load in loads.items():
        place, part = places[chip, way], Fraction(load, V)
        height = way * float(part)
        ax.bar(place, height, 0.85, fc=FILLS[0 if way == 1 else 1], ec="k")
        ax.text(place, height / 2, part, ha="center", va="center", fontsize=8)
    ax.axhline(0, color="black", lw=0.8)
    names = {p: f"{p}–{(p + 1) % chips}" for p in sorted(places.values())}
    ax.set_xticks(list(names), names.values())
    most = max(loads.values()) / V
    ax.set_ylim(-1.15 * most, 1.15 * most)
    ax.set_yticks([-most / 2, most / 2], ["to the one\nbefore", "to the next"])
    ax.set(xlabel="link between chips", ylabel="part of V")
    ax.set_title(title)
    return ax


def curves(x, lines, title, x_name, y_name, names="end", ax=None):
    """Draw several curves over one range, each with its name beside it.

    x        numbers along the horizontal axis
    lines    dict: name -> numbers, one for each of `x`
    title    above the picture
    x_name, y_name  what the axes show, with units
    names    where the names stand: at the "start" or the "end" of the curves,
             or in a "legend"
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on, both logarithmic; dashes tell the curves apart
    raises   ValueError for other names
    """
    one_of("names", names, ("start", "end", "legend"))
    ax, first = new_axes(ax), names == "start"
    for n, (name, y) in enumerate(lines.items()):
        dashes = DASHES[n % len(DASHES)]
        (line,) = ax.plot(x, y, dashes, color=f"C{n}", label=name)
        if names != "legend":
            ax.annotate(
                name,
                (x[0], y[0]) if first else (x[-1], y[-1]),
                xytext=(4, -4) if first else (5, 0),
                textcoords="offset points",
                va="top" if first else "center",
                color=line.get_color(),
            )
    ax.set(xscale="log", yscale="log", xlabel=x_name, ylabel=y_name)
    ax.set_title(title)
    ax.margins(y=0.15 if first else 0.05)
    if names == "legend":
        ax.legend()
    return ax
