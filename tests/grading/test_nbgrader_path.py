"""Submissions from release to scores, and the guide for instructors."""

import csv
import functools
import html
import os
import re
import shutil
import subprocess

import nbformat
import pytest

from shardlab.authoring import kit
from shardlab.grading import sandbox
from tests.tree import ROOT, copy, environment, python

STEM = "01_sharded_arrays"


@functools.cache
def missing():
    """Why there is no sandbox, "" if there is one."""
    try:
        sandbox.prove()
    except sandbox.Unavailable as error:
        return str(error)
    return ""


def require_sandbox():
    """Skip, with the reason, where there is no sandbox."""
    if missing() and os.environ.get("CI") == "true":
        pytest.fail(missing())
    if missing():
        pytest.skip(missing())


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
    require_sandbox()
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
    done = python(root, "-m", "shardlab.grading", "submissions")
    assert exercise.read_bytes() == before
    return root, done


def scores(root):
    with open(root / "work/grading/scores.csv", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_the_scores_are_those_deserved(graded):
    root, done = graded
    rows = scores(root)
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "ada": 27,
        "bo": 6,
        "cy": 0,
    }, done.stderr
    assert {float(row["max_score"]) for row in rows.values()} == {27}
    _, questions = kit.read_set(ROOT / f"solutions/{STEM}/{STEM}.ipynb")
    checks = [name for q in questions.values() for name in q.checks]
    assert {name for name in checks if float(rows["bo"][name])} == {
        "int8_bytes_one",
        "int8_bytes_all",
        "place_check",
    }


def test_what_was_not_taken_is_named(graded):
    _, done = graded
    assert "ada/notes.txt is no notebook" in done.stdout
    assert done.returncode == 1
    assert "27 of 27  graded" in done.stdout
    assert "3 graded, 0 unchanged" in done.stdout


def test_feedback_names_the_mistake_and_hides_the_tests(graded):
    root, _ = graded
    path = root / f"work/grading/feedback/bo/{STEM}/{STEM}.html"
    page = path.read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "WrongAnswer: read_seconds(60, 4096, 5, 3" in text
    assert "NotAnswered: ratios returns nothing yet" in text
    assert "6 of 27 points" in text
    assert "HIDDEN TESTS" not in page
    assert "for chip in (hw.A100" not in text
    # The text of the exercise is rendered, with its hints to unfold.
    assert "<summary>Hint</summary>" in page
    assert "<h2>1. Bytes of an int8 array" in page


def test_the_seed_is_logged_for_the_instructor(graded):
    root, _ = graded
    seeds = {row["seed"] for row in scores(root).values()}
    assert len(seeds) == 3
    assert all(int(seed, 0) >> 128 == 1 for seed in seeds)


def test_the_published_solution_is_recognised(graded):
    _, done = graded
    assert "ada handed in a published answer" in done.stdout
    assert "cy handed in" not in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["book", "--no-sandbox"], "book holds no submission"),
        ([""], "say which folder: make grade SUBMISSIONS=folder"),
    ],
)
def test_what_cannot_be_graded_is_said_in_a_sentence(tmp_path, words, sentence):
    (tmp_path / "book").mkdir()
    done = python(ROOT, "-c", COMMAND, str(tmp_path), *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


COMMAND = """
import os, sys
from shardlab.grading import __main__
os.chdir(sys.argv[1])
os.makedirs("solutions", exist_ok=True)
sys.exit(__main__.main(sys.argv[2:], "."))
"""


@pytest.mark.long
def test_without_a_sandbox_nothing_is_graded(tmp_path):
    shutil.copytree(ROOT / f"solutions/{STEM}", tmp_path / f"solutions/{STEM}")
    (tmp_path / "submissions/ada").mkdir(parents=True)
    shutil.copy(
        ROOT / f"exercises/{STEM}/{STEM}.ipynb", tmp_path / "submissions/ada"
    )
    done = python(ROOT, "-c", WITHOUT + COMMAND, str(tmp_path), "submissions")
    assert done.returncode == 2
    assert "apt-get install bubblewrap" in done.stderr
    assert "book/instructors.md says what a sandbox needs" in done.stderr
    assert "NO_SANDBOX" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "work/grading/gradebook.db").exists()


WITHOUT = """
import shutil
which = shutil.which
shutil.which = lambda name, **more: None if name == "bwrap" else which(name)
"""


def commands():
    """The commands that the guide tells an instructor to type, in order."""
    text = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    guide = text.partition("## Write an exercise")[0]
    return re.findall(r"^```bash\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)


def promised():
    """The lines of the summary that the guide shows."""
    text = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    return re.findall(
        r"^\w+ +01_sharded_arrays +\d+ of 27  graded$", text, re.M
    )


@pytest.mark.long
def test_the_guide_for_instructors_does_what_it_says(tmp_path):
    require_sandbox()
    root = copy(tmp_path)
    (root / ".venv").symlink_to(ROOT / ".venv")
    said = []
    for block in commands():
        # The environment is set up already, and belongs to another folder.
        lines = block.replace("make ", "make --no-print-directory -o setup ")
        done = subprocess.run(
            ["bash", "-e", "-c", lines],
            cwd=root,
            env=environment(root),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, lines + done.stdout + done.stderr
        said.append(done.stdout)
    _, _, first, late, draft, again = said
    assert len(promised()) == 3
    for line in promised():
        assert line in first.splitlines()
    assert "3 graded, 0 unchanged" in first
    assert "ada handed in a published answer" in first
    assert "0 graded, 3 unchanged since they were graded, 3 late" in late
    assert "mapping.csv: 1 notebooks" in draft
    assert "0 graded, 1 unchanged" in again
    rows = scores(root)
    assert rows["di"]["status"] == "not handed in"
    assert (rows["bo"]["score"], rows["bo"]["last_name"]) == ("1", "Boole")
    with open(root / "work/grading/moodle.csv", newline="") as file:
        addresses = [row["Email address"] for row in csv.DictReader(file)]
    assert "george@example.org" in addresses
    for name in ("feedback/bo", "canvas.csv", "statistics.csv", "refused.csv"):
        assert (root / "work/grading" / name).exists()
