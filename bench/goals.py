"""The tables of bench/results/README.md, from what is stored beside it.

python -m bench.goals
"""

import json
import re
import sys

from bench import soak
from tools import atomic
from tools.status import RESULTS, newest

__all__ = ["lines", "written"]

PAGE = RESULTS / "README.md"
# What stands between two of these lines is written by this module.
MARK = "<!-- {} -->\n"
HEADS = {
    "goals": ("| | goal | now | measured | before |\n|---|--:|--:|---|--:|\n"),
    "growth": ("| time of | against | exponent | best |\n|---|---|--:|--:|\n"),
    "tests": (
        "| processor, seconds | `make test` | `make test-long` |\n"
        "|---|--:|--:|\n"
    ),
    "soak": (
        "| suite | runs | passed | a test failed | left running |\n"
        "|---|--:|--:|---|--:|\n"
    ),
}
STOCK, OURS = "grading: stock nbgrader", "grading: ours, sandboxed"
WALL, CPU = "seconds_median", "cpu_seconds_median"


def _of(topic, folder):
    """The newest rows of a topic by their name, and their day."""
    found = newest(folder, topic)
    return (
        {row["name"]: row for row in found["rows"]},
        found["machine"]["date"],
    )


def _seconds(number):
    """Seconds in two digits: "0.18 s", "14 s", "130 s"."""
    if number >= 10:
        return f"{number:.0f} s"
    return f"{number:.2f} s" if number < 1 else f"{number:.1f} s"


def _goals(folder):
    """Lines of the goals."""
    book, day = _of("book", folder)
    for what, name, goal, before in (
        (
            "`make book` in a fresh clone, nothing cached",
            "all, with an empty cache",
            "75 s",
            "180 s",
        ),
        ("of it the build", "build", "15 s", "27 s for eleven chapters"),
        (
            "`make book`, nothing changed",
            "build, nothing changed",
            "3 s",
            "9.7 s of the processor",
        ),
        (
            "`make book`, one chapter changed",
            "build, one chapter changed",
            "8 s",
            "",
        ),
    ):
        yield what, goal, _seconds(book[f"book: {name}"][WALL]), day, before
    for what, topic, name, goal, before in (
        (
            "`ring.all_gather_steps(1024)`",
            "ring",
            "ring: all_gather_steps N=1024",
            "1.7 s",
            "17 s",
        ),
        (
            "`pipeline.gpipe(300, 300)`",
            "pipeline",
            "pipeline: gpipe, p=300 m=300, built",
            "0.59 s",
            "5.9 s",
        ),
    ):
        rows, day = _of(topic, folder)
        yield what, goal, _seconds(rows[name][CPU]), day, before
    rows, day = _of("notebooks", folder)
    whole = next(row for name, row in rows.items() if "at a time" in name)
    every = [row for row in rows.values() if row["goal"]]
    yield (
        f"all {len(every)} notebooks: the clock by processor / cores",
        "1.25",
        re.match(r"[\d.]+", whole["note"])[0],
        day,
        "",
    )
    yield (
        "the longest notebook, processor",
        "30 s",
        _seconds(max(row[CPU] for row in every)),
        day,
        "",
    )
    peak = max(row["peak_bytes"] for row in every)
    yield (
        "the most memory of a notebook",
        "1 GB",
        f"{peak / 1e6:.0f} MB",
        day,
        "2.7 GB",
    )
    rows, day = _of("checks", folder)
    for what, name, goal in (
        ("a set's first check, at most", "first", 6),
        ("any other check, at most", "longest", 1),
        ("the middle check of a set, at most", "median", 0.3),
    ):
        most = max(row[name] for row in rows.values())
        yield what, f"{goal} s", _seconds(most), day, ""
    rows, day = _of("grading", folder)
    pace = rows[STOCK][WALL] / rows[OURS][WALL]
    yield (
        "thirty graded in sandboxes, by the pace of stock nbgrader",
        "3",
        f"{pace:.2f}",
        day,
        "2.3",
    )
    rows, day = _of("class_size", folder)
    sizes = [name.rpartition(" ")[2] for name in rows]
    yield (
        f"a class of {', '.join(sizes)}: processor for each",
        "flat",
        ", ".join(_seconds(row[CPU]) for row in rows.values()),
        day,
        "3.5 s for each more",
    )


def _growth(folder):
    """Lines of the exponents."""
    rows, _ = _of("growth", folder)
    for name, row in rows.items():
        of = row["note"].partition(" to the power ")[0].rstrip(",")
        fitted = f"{row['exponent']:.2f}".replace("-0.00", "0.00")
        yield name.partition(": ")[2], of, fitted, str(row["best"])


def _tests(folder):
    """Lines of where the tests' time goes: folders, then the largest files."""
    suites = [
        json.loads((folder / f"suite-{name}.json").read_text("utf-8"))
        for name in soak.MAKE
    ]
    spent = [suite["cpu_seconds"] for suite in suites]
    names = {name for suite in spent for name in suite}

    def most(name):
        return max(suite.get(name, 0) for suite in spent)

    def line(name):
        found = [suite.get(name, 0) for suite in spent]
        return (f"`{name}`", *(f"{s:.0f}" if s >= 1 else "" for s in found))

    folders = sorted(
        (name for name in names if name.endswith("/")), key=most, reverse=True
    )
    files = sorted(names - set(folders), key=most, reverse=True)
    yield from map(line, folders)
    yield from map(line, files[:10])


def lines(which, folder=RESULTS):
    """One table in Markdown.

    which    one of HEADS
    folder   of files YYYY-MM-DD.json, suite-*.json and soak.json
    """
    if which == "soak":
        runs = json.loads((folder / "soak.json").read_text(encoding="utf-8"))
        return HEADS[which] + soak.summary(runs) + "\n"
    rows = {"goals": _goals, "growth": _growth, "tests": _tests}[which](folder)
    return HEADS[which] + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def written(text, folder=RESULTS):
    """The page with its tables written anew.

    raises   ValueError where a table's place is missing
    """
    for which in HEADS:
        begin, end = MARK.format(which), MARK.format(f"end of {which}")
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{PAGE.name} has no place for {which}: {begin}")
        text = f"{before}{begin}{lines(which, folder)}{end}{after}"
    return text


def main():
    """The command line; returns the exit status."""
    atomic.write(PAGE, written(PAGE.read_text(encoding="utf-8")))
    print(f"{PAGE.name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
