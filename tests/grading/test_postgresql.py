"""The same gradebook in PostgreSQL: a server of our own, and real grading."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from shardlab.authoring import kit
from shardlab.grading import course, gradebook, late
from tests.grading import classroom
from tests.grading.classroom import NAME, hand_in, table
from tests.tree import ROOT, environment

STEM = "01_sharded_arrays"


@pytest.fixture
def root(tmp_path, monkeypatch):
    made = classroom.course(tmp_path, manual=3)
    path = classroom.surroundings(made)["PYTHONPATH"]
    monkeypatch.setenv("PYTHONPATH", path)
    return made


@pytest.mark.long
def test_parallel_workers_regrades_and_points_by_hand(root, url):
    class_ = {f"s{n:02}": f"points {n % 3}" for n in range(12)}
    hand_in(root, **class_, broken="raise", unlucky="die-once")
    due = (f"{NAME}=2001-01-01T00:00Z",)
    options = {"database": url, "policy": late.policy("day=25 most=25")}
    summary = classroom.graded(root, **options, due=due)
    assert summary.graded == 13
    rows = table(root)
    assert not (root / "work/grading/gradebook.db").exists()
    for student, word in class_.items():
        points = float(word.split()[1])
        row = rows[student]
        assert float(row["score"]) == 2 * points
        assert float(row["penalty"]) == 0.5 * points
    assert rows["broken"]["score"] == ""
    with gradebook.opened(course.grading(root, url)) as book:
        row = book.find_grade("proof", NAME, NAME, "s02")
        row.manual_score, row.needs_manual_grade = 3, False
        book.db.commit()
        assert len(gradebook.cells(book)) == 14 * 3
    checks = (("a", 2, "assert True"), ("c", 4, "assert True"))
    classroom.course(root, checks, manual=3)
    hand_in(root, s01="raise")
    summary = classroom.graded(root, **options)
    assert summary.graded == 12
    rows = table(root)
    assert float(rows["s02"]["score"]) == 7
    assert rows["s01"]["status"] == "failed"
    assert {row["max_score"] for row in rows.values()} == {"9"}


def test_a_database_that_does_not_answer_is_named(root):
    hand_in(root, ada="points 1")
    with pytest.raises(ValueError, match="gradebook cannot be opened"):
        classroom.graded(root, database="postgresql://x@localhost:1/none")


@pytest.mark.long
def test_real_submissions_two_at_a_time(tmp_path, url):
    source = ROOT / f"solutions/{STEM}"
    shutil.copytree(source, tmp_path / f"solutions/{STEM}")
    exercise = nbformat.read(ROOT / f"exercises/{STEM}/{STEM}.ipynb", 4)
    _, questions = kit.read_set(source / f"{STEM}.ipynb")
    for student, count in (("ada", 7), ("bo", 2), ("cy", 0)):
        given = dict(list(questions.items())[:count])
        for cell in exercise.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in given:
                cell.source = given[name].solution
            elif name in questions:
                cell.source = "..."
        path = tmp_path / f"submissions/{student}/{STEM}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(exercise, path)
    words = ["import sys; from shardlab.grading import __main__ as m"]
    words += ["sys.exit(m.main(sys.argv[1:], '.'))"]
    line = [sys.executable, "-c", "\n".join(words), "submissions"]
    line += ["--no-sandbox", "--workers", "2", "--database", url]
    done = subprocess.run(
        line,
        cwd=tmp_path,
        env=environment(ROOT),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = table(tmp_path)
    assert {name: row["score"] for name, row in rows.items()} == {
        "ada": "19",
        "bo": "4",
        "cy": "0",
    }
    assert Path(
        tmp_path / f"work/grading/feedback/cy/{STEM}/{STEM}.html"
    ).exists()
