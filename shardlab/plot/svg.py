"""SVG of a figure for a page: live text, colours as variables, same bytes."""

import hashlib
import io
import re

import matplotlib as mpl

from shardlab.plot.colours import colour, ramp, with_variables

__all__ = ["svg"]

FONT = "'Source Sans 3', 'Source Sans Pro', sans-serif"
_SAVED = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shard-by-shard",
    "savefig.facecolor": "none",
}
_NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_MESH = "XYZ"  # axes of a mesh whose letters have their colours
# I_X, J_XY, {U_X}, W_in: a letter, and what stands below the line after it.
_BELOW = re.compile(
    r"(?<=[A-Za-z])_([A-Z]{1,3}|in|out|gate|up|down)(?![A-Za-z0-9_])"
)


def svg(figure):
    """The picture of a figure as text of SVG, to stand in a page by itself.

    figure   matplotlib.figure.Figure
    returns  str, a function of the drawing alone. Text is text, in the font of
             the page; colours of `colours.PALETTE` are variables of CSS that
             fall back to those for light pages; ids are unlike those of other
             pictures; and `I_X` has its X as an index, in the colour of X
    """
    file = io.StringIO()
    with mpl.rc_context(_SAVED):
        figure.savefig(
            file, format="svg", bbox_inches="tight", metadata=_NOTHING
        )
    return _of_page(file.getvalue())


def _of_page(text):
    """What matplotlib has written, as `svg` returns it."""
    text = re.sub(r"^.*?(?=<svg)", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=16)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><")
    text = re.sub(
        r'width="([\d.]+)pt" height="([\d.]+)pt"',
        lambda size: 'width="{:.0f}" height="{:.0f}"'.format(
            *(float(n) * 96 / 72 for n in size.groups())
        ),
        text,
        count=1,
    )
    joins = '<svg stroke-linejoin="round" stroke-linecap="butt"'
    text = text.replace("<svg", joins, 1)
    text = _own_ids(_slim(_used_ids(text)))
    text = re.sub(r"font-family: [^;\"]*", f"font-family: {FONT}", text)
    text = re.sub(r"(?<=>)[^<>]+(?=</t)", _with_indices, text)
    text = re.sub(r' (fill|stroke)="(#\w{6})"', r' style="\1: \2"', text)
    return with_variables(text)


_USE = re.compile(r'(url\(#|href="#)([^)"]+)')


def _used_ids(text):
    """SVG whose ids are those that are used, numbered in order of use."""
    names = dict.fromkeys(name for _, name in _USE.findall(text))
    numbers = {name: n for n, name in enumerate(names, 1)}
    text = re.sub(
        r' id="([^"]+)"',
        lambda id: f' id="{numbers[id[1]]}"' if id[1] in numbers else "",
        text,
    )
    return _USE.sub(lambda use: f"{use[1]}{numbers[use[2]]}", text)


def _own_ids(text):
    """SVG whose ids begin with a mark of the drawing.

    text     after rounding: a digit that nobody sees must not name a picture
    """
    mark = "d" + hashlib.sha256(text.encode()).hexdigest()[:8]
    return re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{mark}-", text)


def _slim(text):
    """SVG without groups that hold one thing, and with short numbers."""
    before = None
    while before != text:
        before = text
        text = re.sub(r"<g>(<[^g/][^<>]*/>)?</g>", r"\1", text)
        text = re.sub(r"<g>(<text[^<>]*>[^<>]*</text>)</g>", r"\1", text)
    text = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)
    text = re.sub(r' d="[^"]*"', _short_path, text)
    # Numbers of the drawing only: those that a reader sees keep their digits.
    return re.sub(
        r"<[^>]*>",
        lambda tag: re.sub(r"-?\d+\.\d{3,}", _short_number, tag[0]),
        text,
    )


def _short_number(found, digits=2):
    return f"{round(float(found[0]), digits) + 0:g}"


def _short_path(path):
    """A path with numbers to a tenth, and no blanks but between numbers."""
    short = re.sub(r"-?\d+\.\d+", lambda n: _short_number(n, 1), path[0])
    return re.sub(r"(?<=[A-Za-z\d]) (?=[A-Za-z])|(?<=[A-Za-z]) ", "", short)


def _with_indices(found):
    """A text in which what follows an underscore stands below the line."""
    first, *rest = _BELOW.split(found[0])
    parts = [first]
    for index, after in zip(rest[::2], rest[1::2], strict=True):
        start = '<tspan dy="0.28em" style="font-size: 76%">'
        parts.append(f"{start}{_in_colours(index)}</tspan>")
        if after:
            parts.append(f'<tspan dy="-0.213em">{after}</tspan>')
    return "".join(parts)


def _in_colours(index):
    """Letters of mesh axes in their colours, and any others as they are."""
    if not all(letter in _MESH for letter in index):
        return index
    return "".join(
        f'<tspan style="fill: {colour(ramp(letter))}">{letter}</tspan>'
        for letter in index
    )
