"""A class graded by stock nbgrader and by ours, and how the cost grows.

The set is the one with the most checks, the answers differ (bench/classes.py),
and one after the other grades the same thirty.
"""

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench import classes
from bench.measuring import row
from bench.watch import watched
from shardlab.grading.sandbox import GB, LIMITS

STUDENTS = 30
SIZES, LARGE = (10, 60), (10, 100, 300, 1000)
# Stock's own copy of the book's course, and ours at another place.
STOCK = "c = get_config()\nc.CourseDirectory.course_id = 'stock'\n"
STOCK_SCORES = """
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "stock") as book:
    for one in book.assignment_submissions({stem!r}):
        print(one.student.id, one.score)
"""
OURS = """
import sys
from shardlab.grading import __main__ as command
sys.exit(command.main(sys.argv[1:], "."))
"""


def python(folder, *words):
    """Run Python on the book's modules in a folder; returns watch.Spent."""
    env = {**os.environ, "PYTHONPATH": str(classes.ROOT)}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    # As `make` has it: a module is compiled once and not in every process.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return watched([sys.executable, *words], cwd=folder, env=env)


def stock(folder, stem, students):
    """Let nbgrader grade; returns (Spent, dict student -> score)."""
    classes.course(folder, stem)
    (folder / "solutions").rename(folder / "source")
    (folder / "nbgrader_config.py").write_text(STOCK)
    classes.hand_in(folder / "given", stem, students)
    for path in (folder / "given").iterdir():
        shutil.copytree(path, folder / "submitted" / path.name / stem)
    python(folder, "-m", "nbgrader", "generate_assignment", stem, "--create")
    words = ["-m", "nbgrader", "autograde", stem, "--create"]
    spent = python(folder, *words)
    text = python(folder, "-c", STOCK_SCORES.format(stem=stem)).text
    scores = dict(line.split() for line in text.splitlines())
    return spent, {name: float(score) for name, score in scores.items()}


def ours(folder, stem, students, *options):
    """Grade with ours; returns (Spent, dict student -> score)."""
    classes.course(folder, stem)
    classes.hand_in(folder / "given", stem, students)
    spent = python(folder, "-c", OURS, "given", *options)
    with open(folder / "work/grading/scores.csv", newline="") as file:
        found = {
            line["student"]: line["score"] for line in csv.DictReader(file)
        }
    return spent, {name: float(score) for name, score in found.items()}


def in_a_folder(grade, *arguments):
    """What a function of a new folder returns."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        return grade(Path(name), *arguments)


def line(name, spent, students, note):
    """The row of a class, per submission."""
    wall, cpu = spent.wall / students, spent.cpu / students
    said = f"{students} in {spent.wall:.0f} s, {60 / wall:.1f} a minute; {note}"
    return row(name, [wall], [cpu], spent.peak, said)


def rows(large=False):
    """Yield {name, seconds_median, ...}, per submission.

    large  whether classes of up to a thousand are graded
    """
    stem = classes.largest()
    theirs, deserved = in_a_folder(stock, stem, STUDENTS)
    yield line("grading: stock nbgrader", theirs, STUDENTS, f"set {stem}")
    for name, *options in (("sandboxed",), ("no sandbox", "--no-sandbox")):
        spent, scores = in_a_folder(ours, stem, STUDENTS, *options)
        same = sum(deserved.get(who) == score for who, score in scores.items())
        note = (
            f"{theirs.wall / spent.wall:.1f} times stock's pace, "
            f"{theirs.cpu / spent.cpu:.1f} by the processor; "
            f"{same} of {STUDENTS} have stock's score"
        )
        yield line(f"grading: ours, {name}", spent, STUDENTS, note)
    yield from growth(stem, LARGE if large else SIZES)


def growth(stem, sizes):
    """Yield a row for each size of a class, sandboxed."""
    # A worker has the student's sandbox and, for programs, a second one.
    most = 2 * os.cpu_count() * LIMITS.memory / GB
    first = None
    for students in sizes:
        spent, _ = in_a_folder(ours, stem, students)
        note = f"of {most:.0f} GB that all sandboxes may hold"
        if first:
            more = (spent.cpu - first[1]) / (students - first[0])
            note += f"; {more:.2f} s of the processor for each more"
        yield line(f"grading: class of {students}", spent, students, note)
        first = first or (students, spent.cpu)
