"""The colours of the book: the one place that they come from.

Hue is the mesh axis, lightness the index along it: X is blue, Y orange, Z
green, and pods are slate. Nothing else has these hues. Work on numbers is
violet, what wires do is gold, what memory holds is rose; a count that has been
made is the green of a tick. Every colour has a partner for dark pages, and a
name that CSS knows it by: `--axis-x-2` is the second step of X. `css` writes
all of them.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from matplotlib.colors import to_hex, to_rgb

__all__ = [
    "PALETTE",
    "RAMPS",
    "SIGHTS",
    "colour",
    "contrast",
    "css",
    "distance",
    "lightness",
    "ramp",
    "shade",
    "step",
    "variable",
    "with_variables",
]

_THEMES = ("light", "dark")
STEPS = 4  # of lightness, along an axis
FINE = 8  # of lightness, where an axis has more than STEPS chips
# L* of the steps. On all of them letters in ink have a contrast of 4.5 or more.
_LIGHTNESS = {"light": (88.5, 77, 65.5, 54.5), "dark": (15.5, 25.5, 35.5, 45.3)}
PAPER = {"light": "#ffffff", "dark": "#14171c"}

# What a line or a letter is drawn in: on PAPER its contrast is at least 4.5.
# Letters in gold have to be darker than its fills.
_HUES = {
    "axis-x": ("#1b64b5", "#6cb2ff"),
    "axis-y": ("#b9480a", "#ff9d57"),
    "axis-z": ("#007a66", "#4fd0a5"),
    "pod": ("#3a3f47", "#e6e9ee"),
    "arithmetic": ("#5b1f96", "#d9bcff"),
    "network": ("#5c4a00", "#f0dc85"),
    "memory": ("#8c1a4b", "#ffb3d1"),
}
_FILLS = {"network": ("#f0c000", "#e8b900"), "arithmetic": ("#7440ad",) * 2}
_PLAIN = {
    "counted": ("#1a7f37", "#4ac26b"),
    "mark": ("#c4161c", "#ff7b72"),
    "ink": ("#14171c", "#eceef1"),
    "ink-soft": ("#5a616b", "#a8afb9"),
    "line": ("#8a9099", "#727a85"),
    "grid": ("#d3d6da", "#3a4049"),
    "surface": ("#f4f5f6", "#20252c"),
    "paper": (PAPER["light"], PAPER["dark"]),
    "forward": ("#ebe3f5", "#261b38"),
    "weight-half": ("#eab7cf", "#602341"),
    "input-half": ("#b598d8", "#5a4383"),
    "backward": ("#9871c8", "#96529e"),
}


def _mixed(hue, paper, share):
    """`share` of a hue over the paper."""
    over = zip(to_rgb(hue), to_rgb(paper), strict=True)
    return to_hex([share * a + (1 - share) * b for a, b in over])


def _linear(colour):
    """Linear red, green and blue of a colour, each 0 to 1 (IEC 61966-2-1)."""
    code = np.array(to_rgb(colour))
    low, high = code / 12.92, ((code + 0.055) / 1.055) ** 2.4
    return np.where(code <= 0.04045, low, high)


def lightness(colour):
    """CIE L* of a colour: 0 for black, 100 for white.

    colour   a colour of matplotlib, such as "#1b64b5"
    returns  float
    raises   ValueError for what is no colour
    """
    luminance = float(_linear(colour) @ (0.2126, 0.7152, 0.0722))
    if luminance <= 216 / 24389:
        return luminance * 24389 / 27
    return 116 * luminance ** (1 / 3) - 16


def _of_lightness(hue, wanted):
    """A hue mixed with black or with white to the L* that is wanted."""
    lighter = lightness(hue) < wanted
    low, high = 0.0, 1.0
    for _ in range(30):
        share = (low + high) / 2
        mixed = _mixed(hue, "#ffffff" if lighter else "#000000", share)
        more = (lightness(mixed) > wanted) == lighter
        low, high = (share, high) if more else (low, share)
    return mixed


def _steps(name, count):
    """Light and dark colour of each step of a ramp."""
    at, found = np.linspace(0, STEPS - 1, count), []
    for hue, theme in zip(_FILLS.get(name, _HUES[name]), _THEMES, strict=True):
        depths = np.interp(at, range(STEPS), _LIGHTNESS[theme])
        found.append([_of_lightness(hue, depth) for depth in depths])
    return list(zip(*found, strict=True))


def _palette():
    """All colours: name -> (light, dark)."""
    found = _HUES | _PLAIN
    for name in _HUES:
        for n, pair in enumerate(_steps(name, STEPS), 1):
            found[f"{name}-{n}"] = pair
    for name in ("axis-x", "axis-y", "axis-z", "pod"):
        for n, pair in enumerate(_steps(name, FINE), 1):
            found[f"{name}-{n}-of-{FINE}"] = pair
    return found


_ALL = _palette()
PALETTE: Mapping[str, tuple[str, str]] = MappingProxyType(_ALL)
RAMPS = tuple(_HUES)
_NAMES = {
    light: name
    for name, (light, _) in reversed(PALETTE.items())  # plain names win
}


def colour(name, theme="light"):
    """The colour of a name.

    name     as of `PALETTE`, such as "axis-x", "axis-x-2" or "ink"
    theme    "light" or "dark"
    returns  str such as "#1b64b5"
    raises   ValueError for another name or theme
    """
    if name not in PALETTE:
        raise ValueError(f"name must be one of PALETTE, got {name!r}")
    if theme not in _THEMES:
        raise ValueError(f"theme must be one of {_THEMES}, got {theme!r}")
    return PALETTE[name][_THEMES.index(theme)]


def ramp(axis):
    """The name of an axis's ramp: "axis-x" for X, "pod" for pods.

    axis     name of a mesh axis; P and DCN are of pods
    returns  str. Axes of other names take X, Y, Z in the order of letters
    """
    known = {"X": "axis-x", "Y": "axis-y", "Z": "axis-z"}
    known |= dict.fromkeys(("P", "pod", "pods", "DCN", "dcn"), "pod")
    if axis in RAMPS:
        return axis
    return known.get(axis, f"axis-{'xyz'[sum(map(ord, axis)) % 3]}")


def step(axis, index, count=STEPS):
    """The name of the colour of one index along an axis.

    axis     name of a mesh axis, as for `ramp`, or of a ramp
    index    along the axis, from 0
    count    chips along the axis. Up to four have a step each, up to eight a
             fine step; of more than eight, neighbours share one
    returns  str, a name of `PALETTE`: the larger the index, the darker on a
             light page and the brighter on a dark one
    raises   ValueError for an index outside of the axis
    """
    if not 0 <= index < count:
        raise ValueError(f"index must be 0 to {count - 1}, got {index}")
    name = ramp(axis)
    if count <= STEPS:
        return f"{name}-{index + 1}"
    if f"{name}-1-of-{FINE}" not in PALETTE:
        return f"{name}-{index * STEPS // count + 1}"
    return f"{name}-{index * FINE // max(count, FINE) + 1}-of-{FINE}"


def shade(axis, index, count=STEPS):
    """The colour of one index along an axis on a light page, as `step`."""
    return colour(step(axis, index, count))


def variable(name):
    """A colour for CSS and SVG, such as "var(--axis-x-2, #a4c1e1)".

    name     as of `PALETTE`
    returns  str: on a page the variable, elsewhere the colour for light pages
    raises   ValueError as `colour`
    """
    return f"var(--{name}, {colour(name)})"


def with_variables(svg):
    """SVG in which every colour of the palette is a variable of CSS.

    svg      text of an SVG whose colours stand in `style` attributes
    returns  str. Black is ink; a colour that is not of the palette stays
    """
    names = _NAMES | {"#000000": "ink"}

    def named(found):
        name = names.get(found[0].lower())
        return f"var(--{name}, {found[0]})" if name else found[0]

    return re.sub(
        r'(?<=style=")[^"]*',
        lambda style: re.sub(r"#[0-9a-fA-F]{6}\b", named, style[0]),
        svg,
    )


def css():
    """All colours as variables of CSS, for light and for dark pages.

    returns  str, what `book/style/colours.css` holds
    """
    blocks = []
    for n, where in enumerate((":root", 'html[data-theme="dark"]')):
        lines = "".join(f"  --{c}: {PALETTE[c][n]};\n" for c in PALETTE)
        blocks.append(f"{where} {{\n{lines}}}\n")
    return "/* Written by `python -m shardlab.plot.colours`. */\n" + "\n".join(
        blocks
    )


def contrast(first, second):
    """How far the luminances of two colours are apart: 1 to 21.

    first, second  colours of matplotlib
    returns  float: at least 4.5 for text (WCAG 2.2, 1.4.3), 3 for a line
    raises   ValueError for what is no colour
    """
    weights = (0.2126, 0.7152, 0.0722)
    low, high = sorted(float(_linear(c) @ weights) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


# What is seen without one kind of cones, from linear red, green and blue:
# Machado, Oliveira and Fernandes 2009, severity 1.0.
_SIGHT = {
    "normal": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "greyscale": [[0.2126, 0.7152, 0.0722]] * 3,
}
SIGHTS = tuple(_SIGHT)


def _lab(colour, sight):
    """CIE L*, a*, b* of a colour (white D65) as an eye of a kind sees it."""
    seen = np.clip(np.array(_SIGHT[sight]) @ _linear(colour), 0, 1)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = np.array(to_xyz) @ seen / (0.95047, 1.0, 1.08883)
    x, y, z = np.where(
        xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first, second, sight="normal"):
    """How different two colours look: CIE Delta E of 1976.

    first, second  colours of matplotlib
    sight    one of `SIGHTS`: "normal", without one kind of cones, "greyscale"
    returns  float: above 10 they are told apart at a glance
    raises   ValueError for another sight, or what is no colour
    """
    if sight not in _SIGHT:
        raise ValueError(f"sight must be one of {SIGHTS}, got {sight!r}")
    apart = _lab(first, sight) - _lab(second, sight)
    return float(np.sqrt(apart @ apart))


if __name__ == "__main__":
    print(css(), end="")
