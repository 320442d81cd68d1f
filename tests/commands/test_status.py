"""The page of the last run says what the stored run says."""

import json

import pytest

from tests.tree import ROOT
from tools import status


def row(name, seconds=1.0, peak=10**8):
    return {
        "name": name,
        "cpu_seconds_median": seconds,
        "peak_bytes": peak,
    }


def test_the_page_is_what_the_results_say():
    assert status.TARGET.read_text(encoding="utf-8") == status.page()


def test_every_notebook_was_measured():
    found = status.by_number(status.newest()["rows"])
    stems = {p.name[:2] for p in (ROOT / "book/chapters").glob("*.md")}
    assert set(found) == stems
    for both in found.values():
        assert set(both) == {"chapters", "solutions"}


def test_the_newest_file_that_has_the_topic_counts(tmp_path):
    for day, topics in (
        ("2026-01-01", {"notebooks": 1, "ring": 1}),
        ("2026-01-02", {"notebooks": 2}),
        ("2026-01-03", {"ring": 3}),
    ):
        (tmp_path / f"{day}.json").write_text(json.dumps(topics))
    assert status.newest(tmp_path, "notebooks") == 2
    assert status.newest(tmp_path, "ring") == 3
    with pytest.raises(FileNotFoundError, match="nothing about count"):
        status.newest(tmp_path, "count")


def test_rows_are_found_by_number_and_what_failed_is_said():
    rows = [
        row("notebooks: chapters/07_fsdp", 2.04),
        row("notebooks: solutions/07_fsdp", 0, 0),
        row("notebooks: all 2, 2 at a time"),
        row("start: JAX"),
    ]
    found = status.by_number(rows)
    assert list(found) == ["07"]
    assert status.cells(found["07"]["chapters"]) == "2.0 s | 100 MB"
    assert status.cells(found["07"]["solutions"]).startswith("not measured")
    assert status.title("07").startswith("[7. ")


def test_versions_that_were_tried_say_where_a_cell_fails(tmp_path):
    good = {"pass": 3, "fail": 0, "differ": 1, "why": ""}
    bad = good | {"fail": 2}
    said = {
        "which": "newest",
        "python": "3.13.0",
        "versions": {"jax": "1", "numpy": "2", "matplotlib": "3"},
        "notebooks": {
            "chapters/01_a.ipynb": good,
            "chapters/02_b.ipynb": bad,
            "solutions/12_c/12_c.ipynb": bad,
        },
    }
    for day, python in (("01", "3.12.1"), ("02", "3.12.2"), ("03", "3.13.0")):
        path = tmp_path / f"2026-01-{day}.json"
        path.write_text(json.dumps(said | {"python": python}))
    found = status.tried(tmp_path)
    assert list(found) == [("newest", "3.12"), ("newest", "3.13")]
    assert found["newest", "3.12"]["python"] == "3.12.2"
    assert status.version_line(said) == (
        "| newest | 3.13.0 | 1 | 2 | 3 | 1 of 3 | chapter 2, solutions 12 |"
    )
    rows = [
        {"name": "notebooks: chapters/01_a", "peak_bytes": 7},
        {"name": "notebooks: solutions/12_c", "peak_bytes": 0},
    ]
    line = status.locked("3.11.7", rows)
    assert line.startswith("| locked | 3.11.7 | ")
    assert line.endswith(" | 1 of 2 | solutions 12 |")


def test_each_failure_with_other_versions_has_a_reason(tmp_path):
    good, bad = {"fail": 0}, {"fail": 1}
    names = {"chapters/01_a.ipynb": good, "chapters/02_b.ipynb": bad}
    others = [{"which": "newest", "notebooks": names}]
    given = tmp_path / "reasons.yml"
    given.write_text("newest, chapter 2: it says otherwise.\n")
    assert status.reasons(others, given) == (
        "- newest, chapter 2: it says otherwise."
    )
    given.write_text("newest, chapter 1: it says otherwise.\n")
    with pytest.raises(ValueError, match="cells fail in .*chapter 2"):
        status.reasons(others, given)


def test_a_cell_that_fails_needs_a_reason_and_no_other_has_one(tmp_path):
    good, bad = {"fail": 0}, {"fail": 1}
    found = [
        {"which": "lowest", "notebooks": {"chapters/07_fsdp.ipynb": good}},
        {"which": "newest", "notebooks": {"chapters/12_kept.ipynb": bad}},
    ]
    given = tmp_path / "reasons.yml"
    given.write_text("newest, chapter 12: it keeps less.\n")
    said = status.reasons(found, given)
    assert said == "- newest, chapter 12: it keeps less."
    with pytest.raises(ValueError, match=r"has reasons for \['newest, cha"):
        status.reasons(found[:1], given)
    given.write_text("# one for each that fails\n")
    assert status.reasons(found[:1], given) == "No cell fails in any of them."
    with pytest.raises(
        ValueError, match=r"cells fail in \['newest, chapter 12"
    ):
        status.reasons(found, given)


def test_other_processors_say_what_failed(tmp_path):
    run = {"instructions": "AVX2", "processor": "A CPU", "failed": []}
    runs = [
        run | {"suite": "test", "date": "2026-01-01", "counts": {"failed": 1}},
        run
        | {"suite": "test", "date": "2026-01-03", "counts": {"passed": 1234}},
        run
        | {
            "suite": "test-long",
            "date": "2026-01-02",
            "counts": {"passed": 8, "failed": 1, "skipped": 2},
            "failed": ["tests/a.py::b"],
        },
    ]
    (tmp_path / "processors.json").write_text(json.dumps(runs))
    emulated = {
        "which": "aarch64",
        "python": "3.11.2",
        "processor": "qemu",
        "date": "2026-01-04",
        "notebooks": {
            "chapters/01_a.ipynb": {
                "pass": 1, "fail": 0, "differ": 0, "why": ""
            },
            "chapters/02_b.ipynb": {
                "pass": 2, "fail": 0, "differ": 1, "why": "stdout differs"
            },
        },
    }  # fmt: skip
    path = tmp_path / "2026-01-04-aarch64-python3.11.json"
    path.write_text(json.dumps(emulated))
    assert status.processors(tmp_path).splitlines()[-2:] == [
        "| AVX2 | A CPU | 2026-01-03 | 1,234, 0 | 8, 1, 2 | `tests/a.py::b` |",
        "| aarch64 | qemu | 2026-01-04 | 2 chapters: 3, 1 | not run | "
        "chapter 2: stdout differs |",
    ]
