"""Many submissions: killed, stopped, resumed, and nothing lost or double."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shardlab.grading import batch, course, grade, gradebook, records, report
from tests.grading import classroom
from tests.grading.classroom import NAME, hand_in, log, table


@pytest.fixture
def root(tmp_path, monkeypatch):
    made = classroom.course(tmp_path)
    monkeypatch.syspath_prepend(str(made))
    path = classroom.surroundings(made)["PYTHONPATH"]
    monkeypatch.setenv("PYTHONPATH", path)
    sys.modules.pop("stand_in", None)
    return made


@pytest.fixture
def here(root, monkeypatch):
    """A course whose batches run in this process."""
    monkeypatch.setattr(batch, "grade_all", classroom.in_this_process)
    return root


def record(root, student):
    return records.read_records(root / "work/grading/records")[student, NAME]


def points(root, student):
    """The points of checks that the gradebook has."""
    with gradebook.opened(course.grading(root)) as book:
        return {
            cell.name: cell.auto
            for cell in gradebook.cells(book)
            if cell.student == student
        }


@pytest.mark.long
def test_what_kills_the_grader_fails_alone_and_all_others_are_graded(root):
    good = {f"s{number}": "points 2" for number in range(8)}
    hand_in(root, **good, hopeless="die", unlucky="die-once", broken="raise")
    hand_in(root, tired="slow-once", stuck="slow")
    summary = classroom.graded(root)
    status = {line.student: line.status for line in summary.lines}
    assert {s for s, word in status.items() if word == "failed"} == {
        "hopeless",
        "broken",
    }
    assert len(status) == 13
    assert set(status.values()) == {"graded", "failed"}
    assert (summary.graded, summary.unchanged) == (11, 0)
    # Both timed out; one of them again when it was alone.
    assert not record(root, "tired").timed_out
    assert record(root, "stuck").timed_out
    asked = log(root)
    assert asked.pop("hopeless") == asked.pop("unlucky") == 2
    assert asked.pop("tired") == asked.pop("stuck") == 2
    assert set(asked.values()) == {1}
    assert "ended (SIGKILL), as it did before" in record(root, "hopeless").error
    assert "a check is defective" in record(root, "broken").error
    # What failed has no points, although the stand-in had entered some.
    assert points(root, "broken") == {"a": None, "b": None}
    assert points(root, "s0") == {"a": 2, "b": 2}
    assert table(root)["broken"]["score"] == ""
    assert table(root)["broken"]["status"] == "failed"
    # Each draws a seed of its own, and it is logged.
    seeds = {row["seed"] for row in table(root).values()}
    assert len(seeds) == 13
    lines = (root / "log").read_text().splitlines()
    assert f"s0 {int(table(root)['s0']['seed'], 0)}" in lines
    assert all(int(seed, 0) >> 128 == 1 for seed in seeds)
    # A second try repeats the numbers, keeps what stood, and is on record.
    for who in ("tired", "stuck"):
        (drawn,) = {line for line in lines if line.startswith(who)}
        assert drawn == f"{who} {int(table(root)[who]['seed'], 0)}"
        stood = (root / "stood").read_text().splitlines()
        assert [f"{who} []", f"{who} ['a']"] == [
            line for line in stood if line.startswith(who)
        ]
        assert record(root, who).tries == 2
        assert record(root, who).stopped[0] == "first try, a: slow"
    assert record(root, "s0").tries == 1


def workers(driver):
    """The processes that a driver started which grade."""
    found = []
    for pid in batch.descendants(driver):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"shardlab.grading.worker" in words:
            found.append(pid)
    return found


def start(root):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", classroom.DRIVER],
        cwd=root,
        env=classroom.surroundings(root),
        stderr=subprocess.PIPE,
    )


def done(root):
    known = records.read_records(root / "work/grading/records")
    return {key[0] for key, r in known.items() if r.status == "graded"}


def wait_until(condition, seconds=600):
    """Wait; the seconds are there to end a test that hangs, and no more."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.long
def test_workers_killed_at_random_lose_nothing(root):
    hand_in(root, **{f"s{n:02}": "sleep 0.1" for n in range(30)})
    driver = start(root)
    for goal in (3, 9, 15):
        wait_until(lambda goal=goal: len(done(root)) >= goal)
        victims = workers(driver.pid)
        os.kill(victims[goal % len(victims)], signal.SIGKILL)
    _, said = driver.communicate(timeout=1200)
    assert driver.returncode == 0, said
    rows = table(root)
    assert len(rows) == 30
    assert {row["status"] for row in rows.values()} == {"graded"}
    assert {row["score"] for row in rows.values()} == {"2"}
    counts = log(root)
    assert set(counts) == set(rows)
    # Only what a killed process was at may have been begun twice.
    assert sum(counts.values()) <= 33
    assert all(count <= 2 for count in counts.values())


@pytest.mark.long
def test_a_killed_batch_goes_on_where_it_was(root):
    hand_in(root, **{f"s{n:02}": "sleep 0.2" for n in range(16)})
    driver = start(root)
    wait_until(lambda: len(done(root)) >= 5)
    ours = workers(driver.pid)
    driver.kill()
    driver.wait()
    driver.stderr.close()
    wait_until(lambda: not any(Path(f"/proc/{p}").exists() for p in ours))
    before = done(root)
    assert 5 <= len(before) < 16
    (root / "log").unlink()
    summary = classroom.graded(root)
    assert summary.graded + summary.unchanged == 16
    assert summary.unchanged == len(before)
    assert set(log(root)) == {f"s{n:02}" for n in range(16)} - before
    assert {row["score"] for row in table(root).values()} == {"2"}


def test_an_interrupted_batch_leaves_no_process(root, monkeypatch):
    hand_in(root, ada="sleep 60", bo="sleep 60")

    def interrupt(pool):
        if pool.busy():
            raise KeyboardInterrupt
        return real(pool)

    real = batch.Pool.replies
    monkeypatch.setattr(batch.Pool, "replies", interrupt)
    with pytest.raises(KeyboardInterrupt):
        classroom.graded(root)
    assert workers(os.getpid()) == []


def test_a_process_that_takes_too_long_is_ended(root):
    hand_in(root, ada=f"sleep {10**9}")  # for whom waits, no end
    config = course.grading(root)
    gradebook.release(config, NAME)
    settings = batch.Settings(
        str(root), isolated=False, outer=0.8, grader="stand_in", seed=7
    )
    taken = grade.collected(root / "submissions", root, grade.Options()).taken
    with gradebook.opened(config) as book:
        gradebook.enter(book, taken)
    (result,) = batch.grade_all([("ada", NAME)], settings, 2)
    assert result.reply["error"].startswith("grading took longer")
    assert (root / "log").read_text() == "ada 7\nada 7\n"


def test_submissions_are_entered_all_or_none(root, monkeypatch):
    hand_in(root, ada="points 1", bo="points 2", cy="points 0")
    config = course.grading(root)
    gradebook.release(config, NAME)
    taken = grade.collected(root / "submissions", root, grade.Options()).taken

    def entered():
        with gradebook.opened(config) as book:
            return {one.student.id for one in book.assignment_submissions(NAME)}

    with gradebook.opened(config) as book:
        true, left = book.update_or_create_submission, [0, 1, 2]

        def stopped(*arguments, **more):
            true(*arguments, **more)
            if not left.pop():
                raise KeyboardInterrupt

        monkeypatch.setattr(book, "update_or_create_submission", stopped)
        with pytest.raises(KeyboardInterrupt):
            gradebook.enter(book, taken[:2] * 2)
        monkeypatch.undo()
        assert entered() == set()
        gradebook.enter(book, taken[:2])
        assert entered() == {"ada", "bo"}
        gradebook.enter(book, taken)
    assert entered() == {"ada", "bo", "cy"}


def test_a_grader_that_cannot_be_started_is_an_error(root):
    hand_in(root, ada="points 1")
    with pytest.raises(RuntimeError, match="No module named 'nothing'"):
        classroom.graded(root, grader="nothing")


def test_what_is_unchanged_is_not_graded_again(here):
    hand_in(here, ada="points 1", bo="points 2")
    classroom.graded(here)
    summary = classroom.graded(here)
    assert (summary.graded, summary.unchanged) == (0, 2)
    hand_in(here, bo="points 0")
    summary = classroom.graded(here)
    assert (summary.graded, summary.unchanged) == (1, 1)
    assert log(here) == {"ada": 1, "bo": 2}
    assert table(here)["bo"]["score"] == "0"


@pytest.mark.parametrize(
    "options", [{"again": True}, {"seed": 5}, {"seconds": (5.0, 50.0)}]
)
def test_what_an_option_changes_is_graded_again(here, options):
    hand_in(here, ada="points 1")
    classroom.graded(here)
    assert classroom.graded(here, **options).graded == 1


def test_a_corrected_check_grades_all_again_and_keeps_what_people_gave(here):
    classroom.course(here, manual=3)
    hand_in(here, ada="points 1", bo="points 2")
    classroom.graded(here)
    config = course.grading(here)
    with gradebook.opened(config) as book:
        grade_ = book.find_grade("proof", NAME, NAME, "ada")
        grade_.manual_score, grade_.needs_manual_grade = 2.5, False
        comment = book.find_comment("proof", NAME, NAME, "ada")
        comment.manual_comment = "nearly"
        book.db.commit()
    checks = (("a", 2, "assert 1"), ("b", 4, "assert True"))
    classroom.course(here, checks, manual=3)
    summary = classroom.graded(here)
    assert (summary.graded, summary.unchanged) == (2, 0)
    assert table(here)["ada"]["score"] == "4.5"
    assert table(here)["ada"]["status"] == "graded"
    assert table(here)["bo"]["status"] == "to be graded by hand"
    with gradebook.opened(config) as book:
        assert gradebook.comments(book, "ada", NAME)["proof"] == "nearly"


def test_a_failed_regrade_leaves_no_old_score(here):
    hand_in(here, ada="points 2", bo="points 2")
    classroom.graded(here)
    assert table(here)["ada"]["score"] == "4"
    hand_in(here, ada="raise")
    summary = classroom.graded(here)
    assert record(here, "ada").status == "failed"
    assert points(here, "ada") == {"a": None, "b": None}
    assert table(here)["ada"]["final"] == ""
    assert not list((here / "work/grading/feedback/ada").rglob("*.html"))
    assert not list((here / "work/grading/autograded/ada").rglob("*.ipynb"))
    assert summary.unchanged == 1
    # The next run tries it again, changed or not.
    assert classroom.graded(here).unchanged == 1
    assert log(here)["ada"] == 3


@pytest.mark.parametrize("moment", ["clear", "grade_all"])
def test_killed_in_a_regrade_nothing_old_is_taken_for_new(
    here, monkeypatch, moment
):
    hand_in(here, ada="points 2")
    classroom.graded(here)
    owner = gradebook if moment == "clear" else batch
    real = getattr(owner, moment)

    def killed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, moment, killed)
    with pytest.raises(KeyboardInterrupt):
        classroom.graded(here, again=True)
    assert record(here, "ada").status == "pending"
    assert not list((here / "work/grading/feedback/ada").rglob("*.html"))
    assert not list((here / "work/grading/autograded/ada").rglob("*.ipynb"))
    monkeypatch.setattr(owner, moment, real)
    assert classroom.graded(here).graded == 1
    assert table(here)["ada"]["score"] == "4"


def test_points_that_went_missing_are_graded_again(here):
    hand_in(here, ada="points 2")
    classroom.graded(here)
    (here / "work/grading/gradebook.db").unlink()
    assert classroom.graded(here).graded == 1
    assert table(here)["ada"]["score"] == "4"


def test_cells_that_came_or_went_are_entered_and_named(here):
    hand_in(here, ada="points 2", bo="points 1")
    classroom.graded(here)
    checks = (("a", 2, "assert True"), ("c", 3, "assert True"))
    classroom.course(here, checks, manual=1)
    summary = classroom.graded(here)
    text = "\n".join(summary.changed)
    assert "q: b went since it was first graded" in text
    assert "q: c came since it was first graded" in text
    row = table(here)["ada"]
    assert (row["a"], row["c"], row["proof"]) == ("2", "2", "")
    assert "b" not in row
    assert row["max_score"] == "6"


def test_a_damaged_record_changes_nothing_for_others(here):
    hand_in(here, ada="points 1", bo="points 2", cy="points 2")
    classroom.graded(here)
    place = here / f"work/grading/records/{NAME}"
    (place / "ada.json").write_text('{"student": "ada"')
    text = (place / "cy.json").read_text()
    (place / "bo.json").write_text(text)  # of another one
    work = here / "work/grading"
    (work / f"autograded/cy/{NAME}/{NAME}.ipynb").write_text("{")
    summary = classroom.graded(here)
    assert (summary.graded, summary.unchanged) == (3, 0)
    assert {row["score"] for row in table(here).values()} == {"2", "4"}
    # Work that is not here any more keeps no zero, and a name to look for.
    shutil.rmtree(here / "submissions/ada")
    (place / "ada.json").write_text("[]")
    (work / f"submitted/ada/{NAME}/{NAME}.ipynb").write_text("{")
    classroom.graded(here)
    row = table(here)["ada"]
    assert (row["status"], row["final"]) == ("failed", "")
    assert f"records/{NAME}/ada.json is damaged" in row["remarks"]


@pytest.mark.parametrize(
    "words", ['"stopped": null', '"notes": [7]', '"deep": ' + "[" * 100_000]
)
def test_a_record_of_other_things_is_damaged(tmp_path, words):
    records.write(tmp_path, records.Record("ada", NAME, records.GRADED, "0"))
    (path,) = tmp_path.glob("*/ada.json")
    path.write_text(path.read_text().rstrip("\n}") + f", {words}}}")
    (found,) = records.read_records(tmp_path).values()
    assert found.status == records.FAILED
    assert "ada.json is damaged" in found.error


def test_results_that_were_removed_are_missed_by_nobody_else(here):
    hand_in(here, ada="points 1", bo="points 2")
    classroom.graded(here)
    work = here / "work/grading"
    shutil.rmtree(work / "release")
    assert classroom.graded(here).unchanged == 2
    (work / "gradebook.db").unlink()
    shutil.rmtree(here / "submissions/ada")
    classroom.graded(here)
    rows = table(here)
    assert rows["bo"]["score"] == "4"
    assert (rows["ada"]["status"], rows["ada"]["final"]) == ("failed", "")
    assert "does not have this submission" in rows["ada"]["remarks"]


def test_an_error_is_one_line_of_a_table():
    trace = "\n".join(["Traceback:", *["  File x"] * 90, "ValueError: no"])
    assert report.briefly(trace) == "Traceback: ... ValueError: no"
    assert report.briefly("it ended") == "it ended"


def test_only_one_batch_at_a_time(here):
    hand_in(here, ada="points 1")
    (here / "work/grading").mkdir(parents=True)
    with (
        grade.alone(here / "work/grading/lock"),
        pytest.raises(ValueError, match="another make grade is at work"),
    ):
        classroom.graded(here)


def test_a_locked_gradebook_is_tried_again(monkeypatch):
    from shardlab.grading import worker

    tries = []

    def locked(*arguments, **options):
        tries.append(arguments)
        if len(tries) < 3:
            raise RuntimeError("(OperationalError) database is locked")
        return "graded"

    def defective():
        tries.append(())
        raise RuntimeError("a check is defective")

    monkeypatch.setattr(worker.time, "sleep", lambda seconds: None)
    assert worker.patiently(locked, "ada") == "graded"
    tries.clear()
    with pytest.raises(RuntimeError, match="defective"):
        worker.patiently(defective)
    assert len(tries) == 1
