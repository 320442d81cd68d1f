"""Figures are compared as drawings, and what differs is said in plain words."""

import subprocess
import sys

import nbformat
import pytest

from tests import tree
from tools import drawings

DRAWING = (
    '<svg viewBox="0 0 10 10"><path id="d01234567-1" d="M1.2 3.4L5.6 7.8" '
    'style="stroke: var(--line, #8a9099)"/><use x="4.51" '
    'href="#d01234567-1"/><text x="2.5">512 tokens</text></svg>'
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("d01234567", "d89abcdef"),
        ("5.6 7.8", "5.7 7.7"),
        ("4.51", "4.52"),
        ("2.5", "2.51"),
    ],
)
def test_a_last_digit_of_a_coordinate_and_an_id_are_no_difference(old, new):
    assert not drawings.difference(DRAWING, DRAWING.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("5.6 7.8", "5.8 7.8", "coordinates in d differ by 0.2 points"),
        ("4.51", "5", "coordinates in x differ by 0.49 points"),
        ("M1.2 3.4L", "M1.2 3.4M", "another path in d"),
        ("L5.6 7.8", "L5.6 7.8 9 9", "another path in d"),
        ("512", "513", "text '512 tokens' stored, '513 tokens' computed"),
        ("#8a9099", "#8a9098", "style="),
        ("<use x", "<rect x", "<rect"),
        ("<use ", "<g/><use ", "elements stored"),
        ('href="#d01234567-1"', 'href="#d01234567-2"', "href="),
    ],
)
def test_any_other_difference_is_one(old, new, words):
    assert old in DRAWING
    assert words in drawings.difference(DRAWING, DRAWING.replace(old, new))


def outputs(picture, printed):
    """What a cell with a figure and a line of text left."""
    data = {"image/svg+xml": picture, "text/plain": "Drawing"}
    return [
        nbformat.v4.new_output("stream", text=printed),
        nbformat.v4.new_output("display_data", data=data),
    ]


def test_of_equal_drawings_the_stored_one_is_compared():
    stored = outputs(DRAWING, "a\n")
    near = DRAWING.replace("5.6", "5.7")
    assert drawings.matched(stored, outputs(near, "a\n")) == (stored, [])
    found, said = drawings.matched(stored, outputs(near, "b\n"))
    assert not said
    assert found[1] == stored[1]
    assert found[0] != stored[0]
    assert drawings.matched(stored, stored[:1]) == (stored[:1], [])


CELL = """
import sys
from IPython.display import SVG, display
display(SVG('<svg width="9pt" height="9pt"><path d="M1.1 2"/></svg>'))
print("text")
"""


def test_the_last_lines_say_which_cells_differ_and_in_what(tmp_path):
    """One figure apart by a digit, one by more, one text, one error."""
    cells = []
    changes = {
        "same": ("M1.0 2", "text"),
        "moved": ("M1.5 2", "text"),
        "told": ("M1.0 2", "other"),
    }
    for path, printed in changes.values():
        cell = nbformat.v4.new_code_cell(CELL)
        picture = f'<svg width="9pt" height="9pt"><path d="{path}"/></svg>'
        data = {
            "image/svg+xml": picture,
            "text/plain": "<IPython.core.display.SVG object>",
        }
        cell.outputs = [
            nbformat.v4.new_output("display_data", data=data),
            nbformat.v4.new_output("stream", text=f"{printed}\n"),
        ]
        cell.execution_count = 1
        cells.append(cell)
    cells.append(nbformat.v4.new_code_cell("1 / 0", execution_count=1))
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, tmp_path / "one.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "tools.drawings"]
    command += ["--rootdir", ".", "--nbval", "--nbval-current-env"]
    said = subprocess.run(
        [*command, "one.ipynb"],
        cwd=tmp_path,
        env=tree.environment(tree.ROOT),
        capture_output=True,
        text=True,
    ).stdout
    lines = said.partition("notebooks whose outputs differ here")[2]
    assert lines.splitlines()[1:7] == [
        "one.ipynb, cell 1: a figure differs "
        "(coordinates in d differ by 0.4 points)",
        "    stored and computed: _build/differences/one/1.html",
        "one.ipynb, cell 2: prints or returns something else",
        "    stored and computed: _build/differences/one/2.html",
        "one.ipynb, cell 3: did not run to its end",
        "Not only figures differ: see the lines above.",
    ]
    page = (tmp_path / "_build/differences/one/1.html").read_text()
    assert page.count("<svg") == 2
    assert said.rstrip().splitlines()[-1].startswith("=")


def test_a_difference_in_figures_alone_is_said_to_be_one():
    lines = drawings.summary(
        [("a.ipynb::Cell 1", {"only": True, "figures": ["x"], "page": ""})]
    )
    assert lines[-1] == "Nothing but figures differs."
