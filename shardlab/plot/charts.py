"""What links carry, curves over a range, and rooflines."""

from fractions import Fraction

import numpy as np

from shardlab import ring
from shardlab.arguments import one_of, real
from shardlab.plot.axes import INK, LINE, SMALL, SOFT, new_axes, styled
from shardlab.plot.colours import RAMPS, colour, ramp, shade
from shardlab.plot.ticks import plain_ticks

__all__ = ["curves", "links", "roofline"]

DASHES = ("-", "--", "-.", ":")
# Lines that belong to no axis of a mesh, one after the other.
SERIES = ("arithmetic", "network", "memory", "pod")


@styled
def links(steps, V, title=None, ax=None):
    """Draw what each link carries in all steps together, as a part of V.

    steps    list of steps, each a list of `shardlab.ring.Hop`, on one axis
    V        bytes of the whole array
    title    above the picture; None for none
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on. A bar stands between two neighbours: upwards
             what goes to the next chip, downwards what goes to the one before.
             Where loads differ, the largest are framed in red
    raises   ValueError for steps in which nothing moves
    """
    loads = ring.bytes_per_link(steps)
    if not loads:
        raise ValueError("steps must move something, got no hops")
    ax, most = new_axes(ax, (7, 2.7)), max(loads.values())
    uneven = len(set(loads.values())) > 1
    chips = 1 + max(chip for chip, _, _ in loads)
    places = {(c, w): (c if w == 1 else c - 1) % chips for c, _, w in loads}
    fills = {1: shade("X", 1), -1: shade("X", 3)}
    for (chip, _, way), load in loads.items():
        place, part = places[chip, way], Fraction(load, V)
        height = way * float(part)
        edge = {"ec": INK, "lw": 0.8}
        if uneven and load == most:
            edge = {"ec": colour("mark"), "lw": 2.4, "zorder": 2}
        ax.bar(place, height, 0.85, fc=fills[way], **edge)
        look = {"ha": "center", "va": "center", "fontsize": SMALL}
        if uneven and load == most:
            look["weight"] = "bold"
        if load < 0.2 * most:  # a flat bar has its words beside it
            height = 2 * height + way * 0.2 * most / V
        ax.text(place, height / 2, part, **look)
    ax.axhline(0, color=INK, lw=0.8)
    names = {p: f"{p}–{(p + 1) % chips}" for p in sorted(places.values())}
    ax.set_xticks(list(names), names.values())
    most = most / V
    ax.set_ylim(-1.15 * most, 1.15 * most)
    ax.set_yticks([-most / 2, most / 2], ["to the one\nbefore", "to the next"])
    ax.set(xlabel="link between chips", ylabel="part of V")
    if title:
        ax.set_title(title)
    return ax


def _ink_of(name, n=0):
    """The colour of a line.

    name     a mesh axis, a ramp of `colours`, any colour of matplotlib, or
             None for the n-th of SERIES
    n        number of the line
    returns  colour
    """
    if name is None:
        return colour(SERIES[n % len(SERIES)])
    if name in RAMPS or len(name) == 1 or name in ("pod", "DCN"):
        return colour(ramp(name))
    return name


@styled
def curves(
    x,
    lines,
    title=None,
    x_name="",
    y_name="",
    names="end",
    ax=None,
    *,
    inks=None,
    dashes=None,
):
    """Draw several curves over one range, each with its name beside it.

    x        numbers along the horizontal axis
    lines    dict: name -> numbers, one for each of `x`
    title    above the picture; None for none
    x_name, y_name  what the axes show, with units
    names    where the names stand: at the "start" or the "end" of the curves,
             or in a "legend"
    ax       the axes to draw on; None for a new figure
    inks     dict: name of a line -> mesh axis such as "X", or "arithmetic",
             "network", "memory", "pod"; lines of a pair have one ink
    dashes   dict: name of a line -> "-", "--", "-." or ":"
    returns  the axes drawn on, both logarithmic; dashes tell the curves apart
    raises   ValueError for other names
    """
    one_of("names", names, ("start", "end", "legend"))
    inks, dashes = inks or {}, dashes or {}
    ax, first = new_axes(ax), names == "start"
    for n, (name, y) in enumerate(lines.items()):
        style = dashes.get(name, DASHES[n % len(DASHES)])
        ink = _ink_of(inks.get(name), n)
        (line,) = ax.plot(x, y, style, color=ink, label=name)
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
    plain_ticks(ax)
    if title:
        ax.set_title(title)
    ax.margins(y=0.15 if first else 0.05)
    if names == "legend":
        ax.legend()
    return ax


@styled
def roofline(flops, bandwidths, marks=None, x_name=None, ax=None):
    """Draw the FLOP/s that can be had against arithmetic intensity.

    flops    FLOP/s of the arithmetic
    bandwidths  dict: name -> bytes/s of what brings the numbers, such as
             {"HBM": 2.8e12}
    marks    dict: name -> FLOPs a byte of something, marked on the roof of the
             first bandwidth; None for none
    x_name   of the horizontal axis; None: "FLOPs a byte"
    ax       the axes to draw on; None for a new figure
    returns  the axes drawn on, both logarithmic. Each roof rises until the
             ridge point, where the numbers come as fast as they are used
    raises   ValueError for no bandwidth, or one that is not above 0
    source   chapter 5
    """
    if not bandwidths:
        raise ValueError("bandwidths must name one or more, got none")
    flops = real("flops", flops, above=0)
    ridges = {
        name: flops / real("bandwidths", speed, above=0)
        for name, speed in bandwidths.items()
    }
    points = [*ridges.values(), *(marks or {}).values()]
    low, high = min(points) / 12, max(points) * 8
    ax = new_axes(ax, (6.4, 3.5))
    x = np.geomspace(low, high, 200)
    fills = ("memory", "network", "pod")
    for n, (name, ridge) in enumerate(ridges.items()):
        ink = colour(fills[n % 3])
        y = np.minimum(flops, x * flops / ridge)
        ax.plot(x, y, DASHES[n], color=ink, lw=2)
        ax.plot([ridge], [flops], "o", color=ink, ms=6)
        words = f"{name}: ridge at {ridge:,.0f}"
        look = {"rotation": 0, "color": ink, "ha": "center", "va": "bottom"}
        place = {"xytext": (0, 6 + 13 * n), "textcoords": "offset points"}
        ax.annotate(words, (ridge, flops), **place, **look)
    first = next(iter(ridges.values()))
    for name, intensity in (marks or {}).items():
        reached = min(flops, intensity * flops / first)
        ax.plot([intensity], [reached], "s", color=INK, ms=5)
        near = first / 4 < intensity < first  # its ridge line would cut it
        look = {"xytext": (-8, 3) if near else (7, -9)}
        look |= {
            "textcoords": "offset points",
            "ha": "right" if near else "left",
        }
        ax.annotate(
            name, (intensity, reached), color=INK, fontsize=SMALL, **look
        )
    ax.axhline(flops, color=LINE, lw=0.8, ls=":")
    ax.axvline(first, color=LINE, lw=0.8, ls=":")
    for words, at, place in (
        ("bytes take longer ", "right", 0.93),
        (" arithmetic takes longer", "left", 1.07),
    ):
        look = {"color": SOFT, "fontsize": SMALL, "ha": at, "va": "bottom"}
        where = ax.get_xaxis_transform()
        ax.text(first * place, 0.03, words, transform=where, **look)
    ax.set(xscale="log", yscale="log", xlabel=x_name or "FLOPs a byte")
    plain_ticks(ax)
    ax.set(ylabel="FLOP/s", xlim=(low, high))
    ax.set_ylim(low * flops / max(ridges.values()), flops * 2.6)
    return ax
