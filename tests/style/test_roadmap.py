"""A chapter that code or text names exists, or is announced."""

import re

import pytest

from tests.tree import ROOT

FILES = sorted((ROOT / "shardlab").rglob("*.py"))
NAMED = re.compile(r"\bchapters? (\d+)(?:(?: to |-|, | and )(\d+))*")


def existing():
    return {int(p.name[:2]) for p in (ROOT / "book/chapters").glob("*.md")}


def announced():
    text = (ROOT / "ROADMAP.md").read_text(encoding="utf-8")
    return {int(n) for n in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}


def test_what_is_announced_does_not_exist_yet():
    assert not existing() & announced()
    assert existing() | announced() == set(range(1, 22))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_named_chapter_is_there_or_announced(path):
    text = path.read_text(encoding="utf-8")
    named = {
        int(number)
        for match in NAMED.finditer(text)
        for number in re.findall(r"\d+", match.group())
    }
    assert named <= existing() | announced()
