"""The page of machines shows what shardlab.hw holds, and says all of it."""

import re

import pytest

from shardlab import hw
from tests.each import each
from tools import machines

FILES = machines.files()
PAGE = (machines.ROOT / "book/machines.md").read_text(encoding="utf-8")


@each("name", FILES)
def test_a_file_is_what_is_made_of_the_figures(name):
    stored = (machines.FOLDER / name).read_text(encoding="utf-8")
    assert stored == FILES[name], "run python -m tools.machines"


def test_the_page_includes_every_file_and_there_is_no_other():
    assert {path.name for path in machines.FOLDER.iterdir()} == set(FILES)
    assert set(re.findall(r"machines/(\w+\.\w+)", PAGE)) == set(FILES)


def test_every_chip_has_a_row_and_every_figure_its_source():
    assert list(machines.NAMES) == list(hw.CHIPS)
    assert FILES["chips.md"].count("\n") == len(hw.CHIPS) + 2
    told = {"node_size", "pod", "slice_max", *machines.FIGURES}
    rules = {"axes", "wrap_rule"}  # the text tells them
    for chip in hw.CHIPS.values():
        names = {name for name, *_ in hw.figures(chip)}
        assert names <= told | rules
        rows = FILES["sources.md"].count(f"| {machines.NAMES[chip.name]} |")
        assert rows == len(names - rules)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.35, "3.35"), (2307.0, "2,307"), (0.82, "0.82"), (8.0, "8")],
)
def test_numbers_have_no_more_digits_than_they_need(value, text):
    assert machines.number(value) == text


@pytest.mark.parametrize("name", [n for n in FILES if n.endswith("html")])
def test_a_picture_says_in_words_what_it_shows(name):
    text = FILES[name]
    assert text.startswith("<figure")
    assert text.count("<svg") == 1
    assert len(re.search(r'aria-label="([^"]+)"', text)[1]) > 60
    assert "<figcaption>" in text
    assert "\n\n" not in text  # a blank line would end the HTML


def test_what_the_page_says_is_what_the_figures_say():
    v5p, h100, gb200 = hw.V5P, hw.H100, hw.GB200
    assert round(v5p.hbm_bw / v5p.link_bw) == 31
    assert round(v5p.link_bw / v5p.dcn_bw) == 14
    assert round(6 * v5p.link_bw / v5p.dcn_bw) == 86
    assert h100.link_bw / h100.dcn_bw == 9
    assert (hw.largest_slice(v5p), hw.reach(v5p)) == (6144, 8960)
    assert (h100.node_size, gb200.node_size) == (8, 72)
