"""A class graded by stock nbgrader and by ours.

The set is the one with the most checks, the answers differ (bench/classes.py),
and one after the other grades the same thirty.
"""

import csv
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from bench import classes
from bench.measuring import row
from bench.watch import watched

STUDENTS, TURNS = 30, 3
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


def surroundings(*paths):
    """The variables with which Python finds the book's modules, and others."""
    env = {**os.environ, "PYTHONPATH": ":".join([str(classes.ROOT), *paths])}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    # As `make` has it: a module is compiled once and not in every process.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def python(folder, *words, paths=(), beside=()):
    """Run Python in a folder; returns watch.Spent.

    paths   of further modules, beside the book's
    beside  numbers of processes that work for it, as `watched` takes them
    """
    command = [sys.executable, *words]
    return watched(command, beside, cwd=folder, env=surroundings(*paths))


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


def ours(folder, stem, students, *options, **more):
    """Grade with ours; returns (Spent, dict student -> score).

    options  of the command line
    more     as `python` takes it
    """
    classes.course(folder, stem)
    classes.hand_in(folder / "given", stem, students)
    spent = python(folder, "-c", OURS, "given", *options, **more)
    with open(folder / "work/grading/scores.csv", newline="") as file:
        found = {
            line["student"]: line["score"] for line in csv.DictReader(file)
        }
    return spent, {name: float(score) for name, score in found.items()}


def in_a_folder(grade, *arguments):
    """What a function of a new folder returns."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        return grade(Path(name), *arguments)


def line(name, turns, students, note):
    """The row of a class that was graded in several turns, per submission."""
    wall = [spent.wall / students for spent in turns]
    cpu = [spent.cpu / students for spent in turns]
    whole = ", ".join(f"{spent.wall:.0f}" for spent in turns)
    said = f"{students} in {whole} s, {60 / median(wall):.1f} a minute; {note}"
    return row(name, wall, cpu, max(spent.peak for spent in turns), said)


def rows():
    """Yield {name, seconds_median, ...}, per submission.

    Stock and ours in turn, for a machine has its hours; ratios are of medians.
    """
    stem, turns = classes.largest(), defaultdict(list)
    ways = {"sandboxed": (), "no sandbox": ("--no-sandbox",)}
    for _ in range(TURNS):
        turns["stock"].append(in_a_folder(stock, stem, STUDENTS))
        for name, options in ways.items():
            turns[name].append(in_a_folder(ours, stem, STUDENTS, *options))
    theirs = turns.pop("stock")
    deserved = theirs[0][1]
    name = "grading: stock nbgrader"
    yield line(name, [s for s, _ in theirs], STUDENTS, f"set {stem}")
    for name, mine in turns.items():
        wall, cpu = (
            median(getattr(spent, which) for spent, _ in theirs)
            / median(getattr(spent, which) for spent, _ in mine)
            for which in ("wall", "cpu")
        )
        same = sum(
            deserved.get(who) == score
            for _, scores in mine
            for who, score in scores.items()
        )
        note = (
            f"{wall:.2f} times stock's pace, {cpu:.2f} by the processor; "
            f"{same} of {TURNS * STUDENTS} have stock's score"
        )
        name = f"grading: ours, {name}"
        yield line(name, [spent for spent, _ in mine], STUDENTS, note)
