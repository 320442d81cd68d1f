"""A report as a page of text."""

import textwrap
from collections import defaultdict
from html import escape

from shardlab.count.records import columns, total
from shardlab.inspection.advice import advise
from shardlab.inspection.machines import MATH
from shardlab.inspection.step import LEVELS, PARTS, Report

__all__ = [
    "as_page",
    "heading",
    "html_table",
    "in_words",
    "moved_table",
    "page",
    "table",
]

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def table(report, on=None):
    """What a step moves, multiplies, holds and takes, as text.

    report   Report
    on       Forecast of the report, or None
    returns  str of several lines; bytes are those of one device
    raises   ValueError that names report or on, where it is no such thing
    source   chapter 21
    """
    if not isinstance(report, Report):
        raise ValueError(f"report must be a Report, got {report!r}")
    blocks = [heading(report), moved_table(report), _held(report)]
    if on is not None:
        blocks.append(_time(on))
    blocks.append(_advice_rows(report, on))
    blocks += [f"not known: {gap}" for gap in report.gaps]
    return "\n\n".join(filter(None, blocks))


def page(report, on=None):
    """The same as one page of HTML that needs nothing else.

    report   Report
    on       Forecast of the report, or None
    returns  str
    raises   ValueError that names report or on, where it is no such thing
    source   chapter 21
    """
    found = advise(report, on)
    name, *said = heading(report).splitlines()
    parts = [f"<h1>{escape(name)}</h1>", _paragraph(" ".join(said))]
    for title, rows in (
        ("What moves", _moved_rows(report) if report.moved else []),
        ("What a device holds", _held_rows(report)),
        ("How long it takes", _time_rows(on) if on else []),
    ):
        parts += [f"<h2>{title}</h2>", html_table(rows)] if rows else []
    if not report.moved:
        parts.append(_paragraph("It moves nothing"))
    if report.alive is not None:
        most = f"Alive at the worst moment: {_quantity(report.alive)}B"
        parts.append(_paragraph(most))
    work = [f"{part} {_quantity(report.flops(part))}" for part in PARTS]
    parts.append(_paragraph(f"FLOPs of a device: {', '.join(work)}"))
    if on:
        parts.append(_paragraph(f"Bound by {on.bound}"))
    if found:
        items = (f"<li>{escape(in_words(advice))}</li>" for advice in found)
        parts += ["<h2>What to change</h2>", f"<ol>{''.join(items)}</ol>"]
    parts += [_paragraph(f"Not known: {gap}") for gap in report.gaps]
    return as_page(report.name, parts)


def as_page(title, parts):
    """Pieces of HTML as one page, with a head and a plain style.

    title    str
    parts    list of str, HTML
    returns  str
    source   chapter 21
    """
    style = (
        "body{font-family:sans-serif;max-width:70em;margin:2em auto}"
        "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}"
    )
    head = f"<title>{escape(title)}</title><style>{style}</style>"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">',
            *(head, *parts, "</html>"),
        ]
    )


def html_table(rows):
    """Rows of text as a table of HTML, the first one its head.

    rows     list of tuples of str
    returns  str
    source   chapter 21
    """
    lines = []
    for n, row in enumerate(rows):
        kind = "td" if n else "th"
        cells = (f"<{kind}>{escape(cell)}</{kind}>" for cell in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _paragraph(words):
    """Text as a paragraph of HTML."""
    return f"<p>{escape(words)}</p>"


def heading(report):
    """Name, mesh and level of evidence of a report.

    report   Report
    returns  str of two or three lines
    source   chapter 21
    """
    mesh = " x ".join(f"{a}={n}" for a, n in report.sizes.items()) or "1"
    lines = [
        f"{report.name}: {report.devices} devices, {mesh}",
        f"evidence: {LEVELS[report.level]}",
    ]
    if report.why:
        lines.append(_wrapped(f"because: {report.why}"))
    return "\n".join(lines)


def moved_table(report):
    """What moves over which axes in which part of the step.

    report   Report
    returns  str: a line for each part, collective, axes and type, with what
             it moves first, so that a narrow screen shows it
    source   chapter 21
    """
    rows = _moved_rows(report)
    if len(rows) == 1:
        return "moves nothing"
    return columns(_to_the_right(rows, (2, 3, 4)), left=len(rows[0]))


def _moved_rows(report):
    """The rows of `moved_table`, its head first and its sum last."""
    groups = defaultdict(list)
    for part in PARTS:
        for c in report.moved:
            if c.origin.part == part:
                key = (part, c.kind, ", ".join(c.axes), c.origin.dtype)
                groups[key].append(c)
    rows = [("part", "collective", "times", "volume", "sent")]
    rows[0] += ("axes", "type", "mostly at")
    for key, group in groups.items():
        times = f"{sum(c.times for c in group):,}"
        volumes = [total(group, of) for of in ("volume", "sent")]
        sizes = (f"{_quantity(n)}B" for n in volumes)
        rows.append((*key[:2], times, *sizes, *key[2:], _mostly_at(group)))
    if len(rows) == 1:
        return rows
    whole = [_quantity(total(report.moved, of)) for of in ("volume", "sent")]
    rows.append(("in all", "", "", *(f"{n}B" for n in whole), "", "", ""))
    return rows


def _to_the_right(rows, places):
    """Rows of text whose cells at some places are as wide as the widest."""
    wide = {n: max(len(row[n]) for row in rows) for n in places}
    return [
        [cell.rjust(wide.get(n, 0)) for n, cell in enumerate(row)]
        for row in rows
    ]


def _mostly_at(group):
    """The line that moves most of what some records move."""
    at = defaultdict(int)
    for c in group:
        at[c.origin.place] += c.times * c.volume
    return max(at, key=at.get)


def _held(report):
    """What one device holds, and what it multiplies, as text."""
    lines = [columns(_held_rows(report), left=2)]
    if report.alive is not None:
        lines.append(f"alive at the worst moment: {_quantity(report.alive)}B")
    work = [f"{part} {_quantity(report.flops(part))}" for part in PARTS]
    lines.append(f"FLOPs of a device in products: {', '.join(work)}")
    return "\n".join(lines)


def _held_rows(report):
    """What one device holds of the largest arguments, and of all."""
    largest = sorted(report.arguments, key=lambda a: -a.held)[:6]
    rows = [("argument", "type", "whole", "held", "share")]
    for a in largest:
        sizes = [f"{_quantity(n)}B" for n in (a.bytes, a.held)]
        rows.append((a.name, a.dtype, *sizes, f"{a.share:.3g}"))
    rest = len(report.arguments) - len(largest)
    whole = sum(a.bytes for a in report.arguments)
    name = f"all {len(report.arguments)}" if rest else "all"
    rows.append(
        (name, "", f"{_quantity(whole)}B", f"{_quantity(report.held)}B")
    )
    rows[-1] += (f"{report.held / whole:.3g}" if whole else "-",)
    return rows


def _time(on):
    """What is in use for how long, and what bounds the step, as text."""
    lines = [columns(_time_rows(on), left=1), f"bound by {on.bound}"]
    work = on.seconds.get(MATH)
    if on.bound != MATH and work:
        times = on.seconds[on.bound] / work
        lines.append(
            _wrapped(
                f"to hide it, each byte over it needs {times:.3g} times the "
                "arithmetic, such as more tokens per chip or fewer chips on "
                "that axis"
            )
        )
    return "\n".join(lines)


def _time_rows(on):
    """Seconds by what is in use, and of the whole step."""
    rows = [(f"on {on.chip.name}", "seconds")]
    rows += [(name, f"{took:.4g}") for name, took in on.seconds.items()]
    rows.append(("step, all side by side", f"{on.overlapped:.4g}"))
    rows.append(("step, one after the other", f"{on.added:.4g}"))
    rows.append(("delays of hops, besides", f"{on.delays:.4g}"))
    return rows


def _advice_rows(report, on):
    """What to change, what gains most first; "" if nothing is advised."""
    found = enumerate(advise(report, on), 1)
    rows = [f"{number}. {in_words(advice)}" for number, advice in found]
    return "\n".join(["what to change:", *rows]) if rows else ""


def in_words(advice):
    """One piece of advice as lines of text: what, where, and what it gains.

    advice   Advice
    returns  str
    source   chapter 21
    """
    gains = [
        f"{_quantity(advice.volume)}B less to move" if advice.volume else "",
        f"{advice.seconds:.3g} s" if advice.seconds else "",
        _held_words(advice.bytes),
    ]
    what = ", ".join(filter(None, gains))
    where = f"   at {advice.where}" + (f": {what}" if what else "")
    return f"{_wrapped(advice.says)}\n{_wrapped(where)}"


def _wrapped(line):
    """A line of text as lines of 76 characters, the later ones indented."""
    return textwrap.fill(
        line, 76, subsequent_indent="   ", break_on_hyphens=False
    )


def _held_words(size):
    """How many bytes less, or more, a device would hold."""
    if not size:
        return ""
    more = "less" if size > 0 else "more"
    return f"{_quantity(abs(size))}B {more} to hold"


def _quantity(n):
    """A number with at most four digits and a unit's prefix."""
    for scale, prefix in _UNITS:
        if n >= scale:
            return f"{n / scale:.4g} {prefix}"
    return f"{n:.4g} "
