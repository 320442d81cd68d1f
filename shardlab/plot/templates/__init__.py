"""Texts of HTML, CSS and JavaScript for what readers play or move.

A film or a sweep brings its look and its script along, for notebooks. On the
page the look comes from `book/style/films.css`, which `sheet` writes.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from shardlab.plot.colours import PALETTE, colour

__all__ = ["filled", "sheet"]

_FOLDER = Path(__file__).parent
_KINDS = ("film", "sweep")
_TEMPLATES = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True)


def filled(kind, **values):
    """The HTML of a film or a sweep.

    kind     "film" or "sweep"
    values   what the template names; text is escaped, Markup is not
    returns  str
    raises   ValueError for another kind
    """
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {_KINDS}, got {kind!r}")
    style, script = (
        (_FOLDER / f"{kind}.{end}").read_text(encoding="utf-8")
        for end in ("css", "js")
    )
    template = _TEMPLATES.get_template(f"{kind}.html")
    return template.render(style=style, script=Markup(script), **values)


def sheet():
    """The CSS of the page for all kinds, with colours for light and dark.

    returns  str, what `book/style/films.css` holds
    """
    looks = "".join(
        (_FOLDER / f"{kind}.css").read_text(encoding="utf-8") for kind in _KINDS
    )
    named = {}
    for name in PALETTE:
        named.setdefault(colour(name), name)
    fills = "".join(
        f'.sbs-film [{what}="{code}"]{{{what}:var(--{name})}}\n'
        for code, name in named.items()
        for what in ("fill", "stroke")
    )
    head = "/* Written by `python -m shardlab.plot.templates`. */\n"
    ink = '.sbs-film [fill="#111"]{fill:var(--ink)}\n'
    box = ".text_html:has(.sbs-film, .sbs-sweep)"
    bare = f"html[data-theme=dark] {box}{{background:none!important;"
    bare += "color:inherit!important;padding:0!important}\n"
    return f"{head}:root{{--films:1}}\n{looks}{fills}{ink}{bare}"
