"""A small course, a class, and a grader that does as submissions say.

The stand-in has the form of `shardlab.grading.judge`; it keeps points where
nbgrader keeps them, and does what the first cell of a submission says. So the
paperwork can be tested with many submissions in a short time.
"""

import csv
import os
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from shardlab.grading import batch, grade, worker

NAME = "q"

STAND_IN = """
import collections, os, signal, time
from pathlib import Path
from nbgrader.api import Gradebook
import nbformat

Seconds = collections.namedtuple("Seconds", "cell total", defaults=(20, 180))
Outcome = collections.namedtuple(
    "Outcome", "student assignment timed_out stopped notes verdicts"
)


def grade(student, assignment, config, seed, stood=(), **options):
    places = config.CourseDirectory
    root = Path(places.root)
    path = Path(places.submitted_directory) / student / assignment
    notebook = nbformat.read(path / f"{assignment}.ipynb", 4)
    word, _, rest = notebook.cells[0].source.partition(" ")
    with open(root / "log", "a") as log:
        log.write(f"{student} {seed}\\n")
    once = root / f"once-{student}"
    first = not once.exists()
    once.touch()
    if word == "die" or (word == "die-once" and first):
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "kill-above-once" and first:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if word == "sleep":
        time.sleep(float(rest))
    release = Path(places.release_directory) / assignment
    graded = nbformat.read(release / f"{assignment}.ipynb", 4)
    points = float(rest or 1) if word == "points" else 1.0
    with Gradebook(places.db_url, places.course_id) as book:
        submission = book.find_submission(assignment, student)
        for notebook in submission.notebooks:
            for row in notebook.grades:
                if row.cell.cell_type == "code":
                    row.auto_score = min(points, row.max_score)
                row.needs_manual_grade = row.auto_score is None
        book.db.commit()
    if word == "raise":
        raise RuntimeError("a check is defective")
    target = Path(places.autograded_directory) / student / assignment
    target.mkdir(parents=True, exist_ok=True)
    nbformat.write(graded, target / f"{assignment}.ipynb")
    slow = word == "slow" or (word == "slow-once" and first)
    notes = ["a met an answer it does not know"] if word == "odd" else []
    stopped = ["a: slow"] if slow else []
    verdicts = {**dict(stood), "a": None} if slow else {}
    with open(root / "stood", "a") as log:
        log.write(f"{student} {sorted(stood)}\\n")
    return Outcome(student, assignment, slow, stopped, notes, verdicts)
"""

DRIVER = """
import sys
from shardlab.grading import grade
grade.grade("submissions", ".", grade.Options(
    workers=2, isolated=False, grader="stand_in"))
"""


def marked(cell, name, points=None, solution=False):
    """A cell that nbgrader knows."""
    mark = {"grade_id": name, "solution": solution, "schema_version": 3}
    mark |= {"grade": points is not None, "locked": not solution, "task": False}
    if points is not None:
        mark["points"] = points
    cell.metadata["nbgrader"] = mark
    return cell


def solution_of(*checks, manual=0):
    """A solution notebook: a check of so many points for each given."""
    cells = [new_markdown_cell("# Questions")]
    for name, points, text in checks:
        answer = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
        cells += [
            marked(new_code_cell(answer), f"{name}_answer", solution=True),
            marked(new_code_cell(text), name, points),
        ]
    if manual:
        proof = new_markdown_cell("Prove it.")
        cells.append(marked(proof, "proof", manual, solution=True))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return made


CHECKS = (("a", 2, "assert True"), ("b", 4, "assert True"))


def course(root, checks=CHECKS, manual=0, name=NAME):
    """Write a course of one assignment, and the stand-in; returns `root`."""
    folder = Path(root) / "solutions" / name
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(
        solution_of(*checks, manual=manual), folder / f"{name}.ipynb"
    )
    (Path(root) / "stand_in.py").write_text(STAND_IN)
    return Path(root)


def hand_in(root, name=NAME, **students):
    """Put submissions in: what the first cell of each says, by student."""
    for student, word in students.items():
        path = Path(root) / "submissions" / student / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        cells = [new_code_cell(word), new_code_cell("x = 2")]
        nbformat.write(new_notebook(cells=cells), path)


def graded(root, **options):
    """Grade the course's submissions with the stand-in; returns a Summary."""
    chosen = {"workers": 2, "isolated": False, "grader": "stand_in"}
    return grade.grade(
        Path(root) / "submissions", root, grade.Options(**chosen | options)
    )


def in_this_process(tasks, settings, workers, one_round=None):
    """`batch.grade_all` without other processes, for all other tests."""
    known = worker.loaded(settings._asdict())
    for student, assignment in tasks:
        task = batch.Task(student, assignment, 1)._asdict()
        try:
            reply = worker.graded(**known, question=task)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        yield batch.Graded(student, assignment, 1, reply)


def log(root):
    """How often the stand-in was asked for each student."""
    lines = (Path(root) / "log").read_text().splitlines()
    students = [line.split()[0] for line in lines]
    return {student: students.count(student) for student in students}


def table(root, name="scores.csv"):
    """The rows of a CSV file that grading wrote, by student."""
    path = Path(root) / "work/grading" / name
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return (
        {row["student"]: row for row in rows} if "student" in rows[0] else rows
    )


def surroundings(root):
    """Environment in which the stand-in can be imported."""
    here = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(root), str(here)])
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": paths, "PATH": programs}
