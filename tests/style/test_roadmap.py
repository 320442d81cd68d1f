"""A chapter that code or text names exists, or is announced."""

import re

from tests.tree import ROOT

NAMED = re.compile(r"\bchapters? (\d+)(?:(?: to |-|, | and )(\d+))*")


def test_what_is_announced_does_not_exist_yet_and_nothing_else_is_named():
    announced = {
        int(number)
        for number in re.findall(
            r"^\| (\d+) \|", (ROOT / "ROADMAP.md").read_text("utf-8"), re.M
        )
    }
    existing = {int(p.name[:2]) for p in (ROOT / "book/chapters").glob("*.md")}
    assert not existing & announced
    assert existing | announced == set(range(1, 22))
    for path in (ROOT / "shardlab").rglob("*.py"):
        for found in NAMED.finditer(path.read_text("utf-8")):
            named = {int(n) for n in re.findall(r"\d+", found[0])}
            assert named <= existing | announced, f"{path.name}: {found[0]}"
