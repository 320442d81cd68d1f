"""Errata and glossary: rows that lead somewhere, and pages made of them."""

import re
from pathlib import Path

import pytest
from mdit_py_plugins.anchors.index import slugify

from tests.each import each
from tools import back_matter
from tools.sources import headings

ROWS = [row for part in back_matter.read("errata.yml").values() for row in part]
TERMS = [
    row for part in back_matter.read("glossary.yml").values() for row in part
]


@pytest.mark.parametrize("name", ["errata", "glossary"])
def test_the_page_is_that_of_its_data(name):
    path = back_matter.ROOT / "book" / f"{name}.md"
    made = getattr(back_matter, name)()
    assert path.read_text(encoding="utf-8") == made, (
        "run python -m tools.back_matter"
    )


def test_every_correction_says_what_was_said_and_what_holds():
    names = [row["id"] for row in ROWS]
    assert len(set(names)) == len(names) > 80
    for row in ROWS:
        assert row["said"].endswith((".", '"')), row["id"]
        assert row["right"].endswith("."), row["id"]
        assert set(row) <= {"id", "said", "right", "done"}, row["id"]


def test_corrections_with_a_section_lead_to_it():
    links = back_matter.sections()
    table = back_matter.errata(links)
    linked = [row["id"] for row in ROWS if row["id"] in links]
    assert len(linked) > 70
    assert table.count("](../chapters/") == len(linked)


@pytest.fixture(scope="module")
def places():
    """Where a row of the map leads to."""
    return back_matter.sections()


@each("row", TERMS)
def test_every_term_has_a_sentence_a_place_and_three_languages(row, places):
    assert row["means"].endswith(".")
    assert ("row" in row) != ("page" in row)
    page, _, place = row.get("page", "").partition("#")
    if place:
        stem = Path(page).stem
        text = back_matter.ROOT / "book/chapters" / f"{stem}.md"
        assert place in map(slugify, headings(text))
    assert "row" not in row or row["row"] in places
    assert re.search(r"[\uac00-\ud7a3]|HLO", row["ko"])
    assert re.search(r"[\u3040-\u30ff\u4e00-\u9fff]|jaxpr|HLO", row["ja"])
    assert re.search(r"[\u4e00-\u9fff]|jaxpr|HLO|Pod", row["zh"])


def test_a_term_without_its_section_is_refused():
    with pytest.raises(KeyError):
        back_matter.glossary({"none": ("", "")})
