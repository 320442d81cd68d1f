"""What others call a chapter's ideas: every chapter has rows that lead on."""

import copy
import re

import pytest

from tests.each import each
from tools import in_practice
from tools.text import ROOT

DATA = in_practice.load()
CHAPTERS = sorted(
    path.stem[:2] for path in (ROOT / "book/chapters").glob("*.md")
)


def test_every_chapter_has_rows_and_no_other():
    assert sorted(DATA["chapters"]) == CHAPTERS


@each("chapter", CHAPTERS)
def test_a_chapter_has_a_handful_of_rows_in_one_table(chapter):
    rows = DATA["chapters"][chapter]
    assert 4 <= len(rows) <= 8
    text = in_practice.table(chapter)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == len(rows) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    table, folded = text.split("<details><summary>Where they differ")
    assert "- **" not in table
    assert folded.count("- **") == len(rows)
    assert "22 November 2026" in text
    assert not in_practice.LINK.search(text)
    assert not re.search(r"\]\((?!https://)", text)


def test_code_is_linked_at_the_commit_that_was_read():
    for key, source in DATA["sources"].items():
        assert set(source) == {"name", "url"}, key
        if "github.com" in source["url"]:
            # A merged change is what it was; other code may be edited.
            fixed = r"/blob/[0-9a-f]{40}/|/pull/\d+$"
            assert re.search(fixed, source["url"]), key
    addresses = [source["url"] for source in DATA["sources"].values()]
    assert len(set(addresses)) == len(addresses)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"idea": ""}, "must say its idea and what differs"),
        ({"differs": ""}, "must say its idea and what differs"),
        ({"jax": "psum"}, "has the unknown field jax"),
        ({"torch": "[x](nowhere)"}, "links to nowhere, which is no source"),
    ],
)
def test_a_row_that_is_not_sound_is_named(change, complaint):
    data = copy.deepcopy(DATA)
    data["chapters"]["07"][0].update(change)
    assert any(
        sentence.startswith("chapter 07") and complaint in sentence
        for sentence in in_practice.faults(data)
    )


def test_a_row_names_a_framework_and_a_source_is_used():
    data = copy.deepcopy(DATA)
    data["chapters"]["01"].append({"idea": "x", "differs": "y"})
    data["sources"]["idle"] = {"name": "x", "url": "y"}
    faults = in_practice.faults(data)
    assert "chapter 01, 'x' names no framework" in faults
    assert "the source idle is not used" in faults


def test_bars_do_not_break_the_table():
    assert in_practice.linked("`a|b`", DATA) == r"`a\|b`"


def test_the_command_prints_a_table_or_names_the_chapters(capsys):
    assert in_practice.main(["07"]) == 0
    assert "| FSDP, or ZeRO-3 |" in capsys.readouterr().out
    assert in_practice.main(["99"]) == 1
    assert "chapter must be one of 01, 02" in capsys.readouterr().err
