"""Tables as text and as HTML."""

from html.parser import HTMLParser

import pytest

from shardlab.plot import table
from tests.each import each


class Words(HTMLParser):
    """The words of the cells of a table."""

    def __init__(self, html):
        super().__init__()
        self.rows = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def test_numbers_stand_right_and_words_left():
    found = table(
        {"sent, MB": ",.1f", "by": ""},
        {"AllGather": (1234.56, "links"), "A2A": (3, "a switch")},
        "collective",
    )
    assert repr(found).splitlines() == [
        "collective  sent, MB  by",
        "AllGather    1,234.6  links",
        "A2A              3.0  a switch",
    ]


def test_text_and_html_hold_the_same_words():
    found = table({"a": ".2f", "b": ""}, {("X", 2): (None, 7), "y": (1, "<b>")})
    assert Words(found._repr_html_()).rows == [
        ["", "a", "b"],
        ["X, 2", "", "7"],
        ["y", "1.00", "<b>"],
    ]
    assert "<b>" not in found._repr_html_()


def test_axes_of_a_layout_have_their_colours():
    html = table({"copies": ""}, {"A[I_XY, J]": (1,)})._repr_html_()
    assert '<span class="axis-x">X</span><span class="axis-y">Y</span>' in html


@each(
    ("columns", "rows", "words"),
    [
        ({}, {"a": ()}, "a column and a row"),
        ({"a": ""}, {}, "a column and a row"),
        ({"a": "", "b": ""}, {"row": (1,)}, "row 'row' must have 2 cells"),
        ({"a": ""}, {"row": "1"}, "must have 1 cells, got '1'"),
        ({"a": ".1f"}, {"row": ([],)}, "cannot be formatted by '.1f'"),
        ({"a": ""}, {1: (1,), "1": (2,)}, "names of rows must differ"),
    ],
)
def test_what_is_no_table_is_refused(columns, rows, words):
    with pytest.raises(ValueError, match=words):
        table(columns, rows)
