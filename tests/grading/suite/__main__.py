"""Prints points deserved against points given: `python -m tests.grading.suite`.

    python -m tests.grading.suite [WORD ...]
    python -m tests.grading.suite --grid

Each WORD is a class of attacks, "honest", or part of a row's name; without
any, all rows are graded. The exit status is 1 when a row is not as deserved.
With --grid nothing is graded: it counts rows by where an attack comes in, what
is not as it should be, and who would pay.
"""

import sys
import tempfile
import time

from tests.grading import suite
from tests.grading.suite import course, grid, rows


def chosen(words):
    """Pairs (class, row) that one of the words names; all without words."""
    for kind in (*suite.NAMES, "honest"):
        for row in suite.members(kind):
            if not words or any(w == kind or w in row.name for w in words):
                yield kind, row


def attacks():
    """All rows that are attacks."""
    return [row for kind in suite.NAMES for row in suite.members(kind)]


def main(words):
    """Grade rows and print a line for each; returns the exit status."""
    if words == ["--grid"]:
        print(grid.table(row.name for row in attacks()))
        return 1 if grid.gaps() else 0
    wrong, total = 0, 0
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        at = course.make(folder)
        print(f"{'class':10}{'deserved':>9}{'given':>7}{'s':>6}  row")
        for number, (kind, row) in enumerate(chosen(words)):
            begun = time.monotonic()
            given = rows.graded(row, at, f"{kind}{number}")
            taken = time.monotonic() - begun
            total, wrong = total + 1, wrong + bool(given.faults)
            print(line(kind, row, given, taken), flush=True)
    print(f"{total} rows, {total - wrong} as deserved, {wrong} not")
    return 1 if wrong else 0


def line(kind, row, given, taken):
    """What is printed of one row."""
    points = [
        "refused" if p is None else f"{p:g}" for p in (row.points, given.score)
    ]
    words = f"{kind:10}{points[0]:>9}{points[1]:>7}{taken:6.1f}  {row.name}"
    return "\n".join([words, *(f"{'':34}! {fault}" for fault in given.faults)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
