"""Compares notebooks' figures as drawings; says in plain words what differs.

A plugin of pytest, beside nbval: `-p tools.drawings`. Two processors may round
a coordinate to neighbouring digits. So figures are equal that have the same
elements, texts and colours, and coordinates that differ by TOLERANCE at most.
nbval compares everything else of an output, character by character.
"""

import re

# Builds its cache now, where there is none: a first cell would say so.
import matplotlib.font_manager  # noqa: F401
import nbformat
import nbval.plugin

from tools import atomic

FOLDER = "_build/differences"
SVG = "image/svg+xml"
DRAWN = (SVG, "text/html")
# Points of 1/72 inch. Coordinates of paths are stored to a tenth, and the last
# digit of two processors' may be one apart.
TOLERANCE = 0.1
TAG = re.compile(r"<[^>]*>")
ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COORDINATES = set(
    ("d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry")
    + ("dx", "dy", "width", "height", "points", "transform", "viewBox")
)
ID = re.compile(r"\bd[0-9a-f]{8}(?=-\d)")
STYLE = "body { display: flex; gap: 2em } svg { display: block; margin: 1em }"


def difference(stored, computed):
    """In what two drawings differ, in words, or "" where they are equal.

    stored, computed  texts of SVG, or of HTML that holds SVG
    """
    stored, computed = _named(stored), _named(computed)
    ours, theirs = TAG.findall(stored), TAG.findall(computed)
    if len(ours) != len(theirs):
        return f"{len(ours)} elements stored, {len(theirs)} computed"
    texts = zip(TAG.split(stored), TAG.split(computed), strict=True)
    for before, after in texts:
        if before != after:
            return f"text {before.strip()!r} stored, {after.strip()!r} computed"
    for before, after in zip(ours, theirs, strict=True):
        said = before != after and _of_tags(before, after)
        if said:
            return said
    return ""


def _named(text):
    """A drawing with the marks of its ids numbered in order of use."""
    marks = dict.fromkeys(ID.findall(text))
    numbers = {mark: f"d{n}" for n, mark in enumerate(marks)}
    return ID.sub(lambda found: numbers[found[0]], text)


def _of_tags(before, after):
    """In what two tags differ, in words, or ""."""
    if ATTRIBUTE.sub("", before) != ATTRIBUTE.sub("", after):
        return f"{before[:80]} stored, {after[:80]} computed"
    pairs = zip(
        ATTRIBUTE.findall(before), ATTRIBUTE.findall(after), strict=True
    )
    for (name, value), (other, new) in pairs:
        if name != other or (value != new and name not in COORDINATES):
            return f'{name}="{value}" stored, {other}="{new}" computed'
        if NUMBER.sub("", value) != NUMBER.sub("", new):
            return f"another path in {name}: {value[:60]!r}, {new[:60]!r}"
        numbers = zip(NUMBER.findall(value), NUMBER.findall(new), strict=True)
        apart = max((abs(float(a) - float(b)) for a, b in numbers), default=0)
        if apart > TOLERANCE + 1e-9:  # as decimals are stored
            return f"coordinates in {name} differ by {apart:.3g} points"
    return ""


def matched(stored, computed):
    """Computed outputs in which drawings that are equal are the stored ones.

    stored, computed  lists of outputs of one cell
    returns           (list of outputs, list of sentences on other drawings)
    """
    if len(stored) != len(computed):
        return computed, []
    found, said = [], []
    for old, new in zip(stored, computed, strict=True):
        new = type(new)(new)
        for kind in set(DRAWN) & set(old.get("data", ())):
            if kind in new.get("data", ()):
                words = difference(old["data"][kind], new["data"][kind])
                if words:
                    said.append(words)
                else:
                    new["data"] = {**new["data"], kind: old["data"][kind]}
        found.append(new)
    return found, said


def pytest_configure(config):
    """Let nbval compare drawings, and keep what differed for the last lines."""
    compare = nbval.plugin.IPyNbCell.compare_outputs

    def compare_outputs(self, test, ref, skip_compare=None):
        found, said = matched(ref, test)
        same = compare(self, found, ref, skip_compare)
        if not same:
            rest = compare(self, _undrawn(found), _undrawn(ref), skip_compare)
            page = f"{FOLDER}/{self.path.stem}/{self.cell_num}.html"
            shown = page * keep(self.config.rootpath / page, ref, found)
            found = {
                "figures": said,
                "page": shown,
                "only": bool(said and rest),
            }
            self.user_properties.append(("differs", found))
        return same

    nbval.plugin.IPyNbCell.compare_outputs = compare_outputs


def _undrawn(outputs):
    """Outputs without their figures."""
    return [
        _with_data(x, {k: v for k, v in x["data"].items() if k not in DRAWN})
        if "data" in x
        else x
        for x in outputs
    ]


def _with_data(output, data):
    return nbformat.from_dict({**output, "data": data})


def keep(page, stored, computed):
    """Write the figures of a cell side by side.

    page     the path of an HTML file
    returns  whether it was written: whether there are figures
    """
    both = [
        [x["data"][SVG] for x in outputs if SVG in x.get("data", ())]
        for outputs in (stored, computed)
    ]
    if not any(both):
        return False
    columns = "".join(
        f"<div><h2>{title}</h2>{''.join(pictures)}</div>"
        for title, pictures in zip(("stored", "computed"), both, strict=True)
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(page, f"<!doctype html><style>{STYLE}</style>{columns}\n")
    return True


def pytest_terminal_summary(terminalreporter):
    """Say in the last lines which notebooks differ, and in what."""
    failed = terminalreporter.getreports("failed")
    lines = summary(
        [(r.nodeid, dict(r.user_properties).get("differs")) for r in failed]
    )
    if lines:
        terminalreporter.section("notebooks whose outputs differ here")
        for line in lines:
            terminalreporter.write_line(line)


def summary(failed):
    """Plain sentences on the notebooks among the tests that failed.

    failed   list of (name of a test, None or what `compare_outputs` kept)
    returns  list of str
    """
    lines, only = [], True
    for name, found in failed:
        notebook, _, cell = name.partition("::")
        if not notebook.endswith(".ipynb"):
            continue
        where = f"{notebook}, {cell.lower()}"
        if found is None:
            lines.append(f"{where}: did not run to its end")
        elif found["only"]:
            lines.append(f"{where}: a figure differs ({found['figures'][0]})")
        else:
            lines.append(f"{where}: prints or returns something else")
        if found and found["page"]:
            lines.append(f"    stored and computed: {found['page']}")
        only = only and bool(found and found["only"])
    if lines:
        lines.append(
            "Nothing but figures differs."
            if only
            else "Not only figures differ: see the lines above."
        )
    return lines
