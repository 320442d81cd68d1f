"""The stored pictures of all chapters: letters that can be read, own ids."""

import re

import nbformat

from shardlab.plot import COLUMN
from tests.each import each
from tests.tree import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
SIZES = re.compile(r'font(?:-size)?: (?:[^";]*? )?([\d.]+)px')
SMALL, EXPONENT = 10, 7.71  # pixels of CSS


def pictures(path):
    """The pictures of a chapter, as SVG, each once."""
    outputs = [
        output.get("data", {})
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    kept = [data.get("image/svg+xml") for data in outputs]
    return list(dict.fromkeys(svg for svg in kept if svg))


def faults(svg):
    """What is wrong with a picture: what it has, where it may not."""
    wide = int(re.search(r'<svg[^>]* width="(\d+)', svg)[1])
    letters = {round(float(size) * 96 / 72, 2) for size in SIZES.findall(svg)}
    wrong = {size for size in letters if size < SMALL} - {EXPONENT}
    wrong |= {f"{wide} pixels wide"} if wide > 1.16 * COLUMN else set()
    wrong |= {f"{len(svg)} bytes"} if len(svg) > 200_000 else set()
    if "<text" not in svg or "var(--" not in svg:
        wrong.add("nothing that a dark page makes bright")
    return wrong


@each("path", CHAPTERS)
def test_pictures_can_be_read_and_share_no_id(path):
    seen = set()
    for svg in pictures(path):
        assert faults(svg) == set(), svg[:200]
        ids = set(re.findall(r' id="([^"]+)"', svg))
        assert not ids & seen
        seen |= ids


def test_a_picture_that_cannot_be_read_is_seen():
    svg = next(svg for path in CHAPTERS[:1] for svg in pictures(path))
    small = re.sub(r"font-size: [\d.]+px", "font-size: 7px", svg)
    wide = re.sub(r'(<svg[^>]* width=")\d+', r"\g<1>900", svg)
    dull = svg.replace("var(--", "(")
    assert faults(svg) == set()
    assert faults(small) == {9.33}
    assert faults(wide) == {"900 pixels wide"}
    assert faults(dull) == {"nothing that a dark page makes bright"}
