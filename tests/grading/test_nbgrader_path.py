"""Three submissions from release to scores: right, half right and empty."""

import csv
import re
import shutil

import nbformat
import pytest

from shardlab.grading import kit
from tests.tree import ROOT, copy, python

STEM = "01_sharded_arrays"


def write_answers(path, answers, target):
    """Write the exercise at `path` with some answer cells filled in."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {})
        if mark.get("solution") and mark.grade_id in answers:
            cell.source = answers[mark.grade_id]
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    root = copy(tmp_path_factory.mktemp("course"))
    exercise = root / f"exercises/{STEM}/{STEM}.ipynb"
    _, questions = kit.read_set(ROOT / f"solutions/{STEM}/{STEM}.ipynb")
    right = {name: q.solution for name, q in questions.items()}
    wrong = [
        a
        for a in kit.read_answers(ROOT / f"book/exercises/{STEM}.answers.py")
        if a.verdict == "wrong" and a.question in ("read_time", "block_on")
    ]
    half = {name: right[name] for name in ("int8_bytes", "place")}
    half |= {answer.question: answer.text for answer in wrong}
    folder = root / "submissions"
    for student, answers in (("ada", right), ("bo", half), ("cy", {})):
        write_answers(exercise, answers, folder / student / f"{STEM}.ipynb")
    shutil.copyfile(exercise, folder / "ada/notes.txt")
    before = exercise.read_bytes()
    done = python(root, "-m", "shardlab.grading", "submissions", "--no-sandbox")
    assert exercise.read_bytes() == before
    return root, done


def scores(root):
    with open(root / "work/grading/scores.csv", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_the_scores_are_those_deserved(graded):
    rows = scores(graded[0])
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "ada": 19,
        "bo": 6,
        "cy": 0,
    }
    assert {float(row["max_score"]) for row in rows.values()} == {19}
    checks = [name for name in rows["bo"] if name not in rows_of_paper]
    earned = {name for name in checks if float(rows["bo"][name])}
    assert earned == {"int8_bytes_one", "int8_bytes_all", "place_check"}


rows_of_paper = ("student", "assignment", "score", "max_score")


def test_what_was_not_taken_is_named(graded):
    _, done = graded
    assert "ada/notes.txt is not named like one of" in done.stderr
    assert done.returncode == 1
    assert "19 of 19" in done.stdout


def test_feedback_names_the_mistake_and_hides_the_tests(graded):
    root, _ = graded
    path = root / f"work/grading/feedback/bo/{STEM}/{STEM}.html"
    page = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))
    assert "WrongAnswer: read_seconds(960, 4096, 5, 3" in page
    assert "NotAnswered: ratios returns nothing yet" in page
    assert "HIDDEN TESTS" not in page
    assert "for chip in (hw.A100" not in page


def test_the_seed_is_logged_for_the_instructor(graded):
    root, _ = graded
    text = (root / "work/grading/seed.txt").read_text()
    assert text.strip().isdecimal()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["submissions"], "would run with all your rights"),
        (["nowhere", "--no-sandbox"], "must be a folder, got 'nowhere'"),
        (["book", "--no-sandbox"], "book holds no submission"),
    ],
)
def test_what_cannot_be_graded_is_said_in_a_sentence(graded, words, sentence):
    root, _ = graded
    done = python(root, "-m", "shardlab.grading", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
