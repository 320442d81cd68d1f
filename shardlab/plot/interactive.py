"""Curves that a reader moves with a slider, in one text of HTML."""

from html import escape
from math import ceil, floor, inf, isfinite, log10
from typing import NamedTuple

from markupsafe import Markup

from shardlab.arguments import whole
from shardlab.plot.templates import filled

__all__ = ["Moment", "Sweep", "sweep"]

WIDTH, HEIGHT = 400, 270  # of the picture
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 10, 40  # what axes and names take of it
LINES = 4  # styles of lines in sweep.css


class Sweep(NamedTuple):
    """Curves for a page or a notebook, moved by a slider; one HTML text.

    title  what is shown
    html   without scripts, the curves of one moment
    """

    title: str
    html: str

    def _repr_html_(self):
        return self.html

    def __repr__(self):
        moments = self.html.count('<g class="m')
        return f"curves at {moments} positions of a slider: {self.title}"


class Moment(NamedTuple):
    """What is shown at one position of the slider.

    name   the position, such as "B = 65,536 tokens"
    lines  dict: name of a curve -> numbers above 0, one for each x; None
           leaves a gap
    words  what there is to see, one sentence
    best   the x that is marked, with a dot on each curve; None for none
    shades  pairs (left, right) of x between which the ground is shaded; one
           within another is darker
    """

    name: str
    lines: dict
    words: str
    best: float | None = None
    shades: tuple = ()


def sweep(x, moments, title, x_name, y_name, start=0, limits=None):
    """Curves over one range, and a slider that goes through their moments.

    x        numbers above 0 along the horizontal axis, rising
    moments  list of Moment, all with the same curves
    title    above the picture
    x_name, y_name  what the axes show, with units; both are logarithmic
    start    number of the moment that is shown first, and without scripts
    limits   least and largest y that are shown; None: those of all curves
    returns  Sweep
    raises   ValueError that names what does not fit
    """
    start = whole("start", start, 0)
    _check_moments(x, moments, start)
    frame = _ranges(x, moments)
    if limits is not None:
        low, high = _check_limits(limits)
        frame = *frame[:2], log10(low), log10(high)
    curves = "".join(
        _drawn_moment(frame, x, moment, n == start)
        for n, moment in enumerate(moments)
    )
    drawn = _drawn_axes(frame, x, x_name, y_name) + _within(curves)
    html = filled(
        "sweep",
        title=title,
        legend=Markup(_drawn_legend(moments[0].lines)),
        width=WIDTH,
        height=HEIGHT,
        drawn=Markup(drawn),
        last=len(moments) - 1,
        first_name=moments[0].name,
        last_name=moments[-1].name,
        start=start,
        says=f"{moments[start].name}: {moments[start].words}",
    )
    return Sweep(title, html)


def _check_moments(x, moments, start):
    """ValueError unless all moments have the same curves, as long as x."""
    if start >= len(moments):
        raise ValueError(
            f"start must be below the {len(moments)} moments, got {start}"
        )
    rising = all(a < b for a, b in zip(x, x[1:], strict=False))
    if len(x) < 2 or not rising or x[0] <= 0:
        raise ValueError(f"x must be two or more rising numbers above 0: {x}")
    for moment in moments:
        if list(moment.lines) != list(moments[0].lines):
            raise ValueError(
                f"moments must have the same lines, got {list(moment.lines)} "
                f"and {list(moments[0].lines)}"
            )
        for name, y in moment.lines.items():
            given = [v for v in y if v is not None]
            fine = all(isfinite(v) and v > 0 for v in given)
            if len(y) != len(x) or not given or not fine:
                raise ValueError(
                    f"moments: {name} at {moment.name} must have a number "
                    f"above 0, or None, for each of {len(x)} x"
                )

        marks = [moment.best or x[0], *(at for s in moment.shades for at in s)]
        if not all(x[0] <= at <= x[-1] for at in marks):
            raise ValueError(
                f"moments: best and shades at {moment.name} must lie from "
                f"{x[0]} to {x[-1]}, got {marks}"
            )


def _check_limits(limits):
    """The least and the largest y; ValueError unless 0 < low < high."""
    low, high = limits
    if not 0 < low < high < inf:
        raise ValueError(f"limits must be 0 < low < high, got {limits}")
    return low, high


def _ranges(x, moments):
    """Logarithms of the least and the largest x and y of all moments."""
    y = [
        value
        for moment in moments
        for line in moment.lines.values()
        for value in line
        if value is not None
    ]
    pairs = [(log10(min(values)), log10(max(values))) for values in (x, y)]
    (left, right), (low, high) = pairs
    return left, right, low - 0.05, high + 0.05


def _within(drawn):
    """SVG that is cut off where the frame ends."""
    wide, high = WIDTH - LEFT - RIGHT + 4, HEIGHT - TOP - BOTTOM
    box = f"{LEFT} {TOP} {wide} {high}"
    at = f'x="{LEFT}" y="{TOP}" width="{wide}" height="{high}"'
    return f'<svg {at} viewBox="{box}">{drawn}</svg>'


def _place(frame, x, y):
    """Where a point is drawn, as text for SVG."""
    left, right, low, high = frame
    across = (log10(x) - left) / (right - left)
    up = (log10(y) - low) / (high - low)
    u = LEFT + across * (WIDTH - LEFT - RIGHT)
    v = HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
    return f"{u:.1f} {v:.1f}"


def _drawn_axes(frame, x, x_name, y_name):
    """SVG of the frame, ticks at every other x and at powers of ten."""
    _, _, low, high = frame
    base, side = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path class="a" d="M{LEFT} {TOP}V{base}H{side}"/>']
    for tick in x[::2]:
        u, _ = _place(frame, tick, 10**low).split()
        parts.append(f'<path class="a" d="M{u} {base}v4"/>')
        parts.append(f'<text x="{u}" y="{base + 15}">{tick:g}</text>')
    for power in range(ceil(low), floor(high) + 1):
        _, v = _place(frame, x[0], 10**power).split()
        parts.append(f'<path class="g" d="M{LEFT} {v}H{side}"/>')
        down = f"{float(v) + 4:.1f}"
        parts.append(
            f'<text class="r" x="{LEFT - 5}" y="{down}">{10**power:g}</text>'
        )
    middle = (LEFT + side) / 2
    parts.append(
        f'<text x="{middle:g}" y="{HEIGHT - 6}">{escape(x_name)}</text>'
    )
    up = (TOP + base) / 2
    parts.append(
        f'<text transform="translate(11 {up:g}) rotate(-90)">'
        f"{escape(y_name)}</text>"
    )
    return "".join(parts)


def _drawn_moment(frame, x, moment, shown):
    """SVG of the curves of one moment; what is said about it is in it."""
    paths = []
    for n, y in enumerate(moment.lines.values()):
        steps, pen = [], "M"
        for at, value in zip(x, y, strict=True):
            if value is None:
                pen = "M"
                continue
            steps.append(pen + _place(frame, at, value))
            pen = "L"
        paths.append(f'<path class="l{n % LINES}" d="{"".join(steps)}"/>')
    on = " on" if shown else ""
    hidden = "" if shown else ' display="none"'  # where there is no CSS
    says = f'data-says="{_moment_in_words(moment)}"'
    drawn = _drawn_ground(frame, moment) + "".join(paths)
    drawn += _drawn_best(frame, x, moment)
    return f'<g class="m{on}"{hidden} {says}>{drawn}</g>'


def _drawn_ground(frame, moment):
    """SVG of what is shaded at a moment, and of the line of its best x."""
    base, parts = HEIGHT - BOTTOM, []
    for pair in moment.shades:
        left, right = (float(_place(frame, x, 1).split()[0]) for x in pair)
        parts.append(
            f'<path class="s" d="M{left} {TOP}H{right}V{base}H{left}Z"/>'
        )
    if moment.best:
        u = _place(frame, moment.best, 1).split()[0]
        parts.append(f'<path class="b" d="M{u} {TOP}V{base}"/>')
    return "".join(parts)


def _drawn_best(frame, x, moment):
    """SVG of a dot on each curve at the best x."""
    if moment.best not in x:
        return ""
    dots = []
    for n, y in enumerate(moment.lines.values()):
        value = y[x.index(moment.best)]
        if value is not None:
            u, v = _place(frame, moment.best, value).split()
            dots.append(f'<path class="d l{n % LINES}" d="M{u} {v}h0"/>')
    return "".join(dots)


def _moment_in_words(moment):
    """The words of a moment, after its name."""
    return escape(f"{moment.name}: {moment.words}")


def _drawn_legend(lines):
    """The names of the curves, each after a piece of its line."""
    return "".join(
        f'<span><svg viewBox="0 0 34 8" aria-hidden="true">'
        f'<path class="l{n % LINES}" d="M1 4H33"/></svg>{name}</span>'
        for n, name in enumerate(map(escape, lines))
    )
