"""Curves that a reader moves with a slider, in one text of HTML."""

from html import escape
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from shardlab.arguments import whole

WIDTH, HEIGHT = 400, 270  # of the picture
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 10, 40  # what axes and names take of it
DASHES = ("", "7 3", "2 3", "9 3 2 3")
INKS = ("#3d8fd1", "#d9731a", "currentColor", "#2f9e62")


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
    """

    name: str
    lines: dict
    words: str


def sweep(x, moments, title, x_name, y_name, start=0):
    """Curves over one range, and a slider that goes through their moments.

    x        numbers above 0 along the horizontal axis, rising
    moments  list of Moment, all with the same curves
    title    above the picture
    x_name, y_name  what the axes show, with units; both are logarithmic
    start    number of the moment that is shown first, and without scripts
    returns  Sweep
    raises   ValueError that names what does not fit
    """
    start = whole("start", start, 0)
    check_moments(x, moments, start)
    frame = ranges(x, moments)
    drawn = drawn_axes(frame, x, x_name, y_name) + "".join(
        drawn_moment(frame, x, moment, n == start)
        for n, moment in enumerate(moments)
    )
    words = {
        "TITLE": escape(title),
        "LEGEND": drawn_legend(moments[0].lines),
        "DRAWN": drawn,
        "LAST": str(len(moments) - 1),
        "START": str(start),
        "SAYS": said(moments[start]),
    }
    html = SWEEP
    for name, text in words.items():
        html = html.replace(name, text)
    return Sweep(title, html)


def check_moments(x, moments, start):
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


def ranges(x, moments):
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


def place(frame, x, y):
    """Where a point is drawn, as text for SVG."""
    left, right, low, high = frame
    across = (log10(x) - left) / (right - left)
    up = (log10(y) - low) / (high - low)
    u = LEFT + across * (WIDTH - LEFT - RIGHT)
    v = HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
    return f"{u:.1f} {v:.1f}"


def drawn_axes(frame, x, x_name, y_name):
    """SVG of the frame, ticks at every other x and at powers of ten."""
    _, _, low, high = frame
    base, side = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path class="a" d="M{LEFT} {TOP}V{base}H{side}"/>']
    for tick in x[::2]:
        u, _ = place(frame, tick, 10**low).split()
        parts.append(f'<path class="a" d="M{u} {base}v4"/>')
        parts.append(f'<text x="{u}" y="{base + 15}">{tick:g}</text>')
    for power in range(ceil(low), floor(high) + 1):
        _, v = place(frame, x[0], 10**power).split()
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
        f'<text transform="translate(11 {up:g}) rotate(-90)">{y_name}</text>'
    )
    return "".join(parts)


def drawn_moment(frame, x, moment, shown):
    """SVG of the curves of one moment; what is said about it is in it."""
    paths = []
    for n, y in enumerate(moment.lines.values()):
        steps, pen = [], "M"
        for at, value in zip(x, y, strict=True):
            if value is None:
                pen = "M"
                continue
            steps.append(pen + place(frame, at, value))
            pen = "L"
        paths.append(f'<path class="l{n % len(INKS)}" d="{"".join(steps)}"/>')
    on = " on" if shown else ""
    says = f'data-says="{said(moment)}"'
    return f'<g class="m{on}" {says}>{"".join(paths)}</g>'


def said(moment):
    """The words of a moment, after its name."""
    return escape(f"{moment.name}: {moment.words}")


def drawn_legend(lines):
    """The names of the curves, each after a piece of its line."""
    return "".join(
        f'<span><svg viewBox="0 0 34 8" aria-hidden="true">'
        f'<path class="l{n % len(INKS)}" d="M1 4H33"/></svg>{name}</span>'
        for n, name in enumerate(map(escape, lines))
    )


def line_styles():
    """CSS of the curves: a dash and a colour each, for light and dark."""
    return "\n".join(
        f".sbs-sweep .l{n}{{stroke:{ink};stroke-dasharray:{dash or 'none'}}}"
        for n, (ink, dash) in enumerate(zip(INKS, DASHES, strict=True))
    )


# A moment is shown by the class `on`. Without scripts the slider is hidden,
# and the moment that starts is a picture with its sentence.
SWEEP = """<div class="sbs-sweep" role="group" aria-label="TITLE">
<p>TITLE</p><div class="key">LEGEND</div>
<svg class="plot" viewBox="0 0 WIDE HIGH" role="img" aria-label="SAYS">
DRAWN</svg>
<input type="range" min="0" max="LAST" value="START" step="1" hidden
aria-label="TITLE"><output aria-live="polite">SAYS</output></div>
<style>
.sbs-sweep{color:inherit;max-width:44em;margin:0 0 1em}
.sbs-sweep p{margin:0 0 .4em;font-weight:600}
[data-theme=dark] .text_html:has(.sbs-sweep){background:none!important;
color:inherit!important}
.sbs-sweep .key span{display:inline-block;margin-right:1.2em;font-size:.9em}
.sbs-sweep .key svg{width:34px;height:8px;margin-right:.4em}
.sbs-sweep .plot{display:block;width:100%;max-width:34em;height:auto}
.sbs-sweep path{fill:none;stroke-width:2}
.sbs-sweep .a{stroke:currentColor;stroke-width:1}
.sbs-sweep .g{stroke:currentColor;stroke-width:.5;opacity:.25}
.sbs-sweep text{font:11px sans-serif;fill:currentColor;text-anchor:middle}
.sbs-sweep text.r{text-anchor:end}
STYLES
.sbs-sweep .m{display:none}
.sbs-sweep .m.on{display:inline}
.sbs-sweep input{display:block;width:100%;max-width:34em;
min-height:2.2em;margin:.2em 0}
.sbs-sweep input[hidden]{display:none}
.sbs-sweep output{display:block;min-height:6em}
</style>
<script>
for(const sweep of document.querySelectorAll(".sbs-sweep:not(.live)")){
const moments=[...sweep.querySelectorAll(".m")],
bar=sweep.querySelector("input"),says=sweep.querySelector("output"),
plot=sweep.querySelector(".plot");
const show=()=>{moments.forEach((m,i)=>m.classList.toggle("on",i==bar.value));
const words=moments[bar.value].dataset.says;says.textContent=words;
plot.setAttribute("aria-label",words);bar.setAttribute("aria-valuetext",words)};
bar.oninput=show;bar.onkeydown=e=>e.stopPropagation();
sweep.classList.add("live");bar.hidden=false;show()}
</script>"""
SWEEP = SWEEP.replace("STYLES", line_styles())
SWEEP = SWEEP.replace("WIDE", str(WIDTH)).replace("HIGH", str(HEIGHT))
