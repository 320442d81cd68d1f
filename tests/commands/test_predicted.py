"""The page Predicted and measured shows what shardlab.measured holds."""

import re

import pytest

from shardlab import measured
from shardlab.measured.__main__ import refusals
from shardlab.plan import evaluate
from shardlab.plan.expected import stored
from tools import predicted
from tools.drawings import difference
from tools.text import ROOT

FILES = predicted.files()
PAGE = (ROOT / "book/predicted.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_is_made_of_the_rows(name):
    text = (predicted.FOLDER / name).read_text(encoding="utf-8")
    made = FILES[name]
    same = (
        not difference(text, made) if name.endswith(".html") else text == made
    )
    assert same, "run python -m tools.predicted"


def test_the_page_includes_every_file_and_there_is_no_other():
    assert {path.name for path in predicted.FOLDER.iterdir()} == set(FILES)
    assert set(re.findall(r"predicted/(\w+\.\w+)", PAGE)) == set(FILES)


def test_what_the_page_says_is_what_the_rows_say():
    found = measured.errors("left_out")
    every = found.pop("all")
    assert f"compares it with {every['rows']} training runs" in PAGE
    assert f"from {len(found)} tables" in PAGE
    assert len(stored()["speeds"]) == 14
    assert f"within {every['error']:.0%}".replace("%", " percent") in PAGE
    assert f"{every['within']} of {every['rows']} are within 25" in PAGE
    low, high = stored()["band"]
    assert f"between {low:.2f} and {high:.2f} of the expected" in PAGE
    off = {name: e["ratio"] - 1 for name, e in found.items()}
    assert round(off["NeMo 24.07, H100 fp8"], 2) == 0.12
    assert round(off["torchtitan, H100"], 2) == -0.10
    low_order = [
        name
        for name, e in found.items()
        if e["rank"] is not None and round(e["rank"], 2) < 0.8
    ]
    assert len(low_order) == 6


def test_what_the_page_says_of_memory():
    ratios = [
        evaluate(row.job, row.layout).peak / row.bytes
        for row in measured.rows()
        if row.bytes
    ]
    far = [1 - ratio for ratio in ratios if abs(ratio - 1) > 0.1]
    assert (len(ratios) - len(far), len(ratios)) == (13, 18)
    assert (round(min(far), 2), round(max(far), 2)) == (0.11, 0.21)
    lines = refusals()
    assert sum("tight" in line for line in lines) == 20
    (rest,) = [line for line in lines if "tight" not in line]
    assert "DeepSeek-V3" in rest
