"""Grading on the workers of a Dask scheduler, one of which is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import servers
from shardlab.grading import batch
from tests.grading import classroom
from tests.grading.classroom import hand_in, log, table
from tests.grading.conftest import where_there
from tests.grading.suite import course, rows
from tests.grading.test_nbgrader_path import require_sandbox

MINE = """
import sys
from shardlab.grading import __main__ as command
from shardlab.grading import grade
grade.Options.__new__.__defaults__ = (
    *grade.Options.__new__.__defaults__[:-1], sys.argv.pop(1))
sys.exit(command.main(sys.argv[1:], "."))
"""
JUDGE = "shardlab.grading.judge"


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A folder with Dask in it, which no environment needs."""
    folder = tmp_path_factory.mktemp("dask")
    with where_there():
        servers.install_dask(folder)
    return folder


def surroundings(root, dask):
    env = classroom.surroundings(root)
    return env | {"PYTHONPATH": f"{env['PYTHONPATH']}:{dask}"}


def cluster(root, dask, workers):
    """A scheduler and its workers on this machine."""
    return servers.cluster(root, surroundings(root, dask), workers)


def graded(root, dask, *options, grader="stand_in"):
    """Grade from the command line; returns what it said."""
    done = subprocess.run(
        [sys.executable, "-c", MINE, grader, "submissions", *options],
        cwd=root,
        env=surroundings(root, dask),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def written(root):
    """What a batch wrote of points: all but when, and for how long."""
    rows = table(root)
    for row in rows.values():
        del row["submitted"], row["seconds"]
    names = ("statistics.csv", "similarity.csv")
    return rows, [(root / "work/grading" / name).read_text() for name in names]


def at_work(processes):
    """The grading processes below some others."""
    pids = [pid for one in processes for pid in batch.descendants(one.pid)]
    words = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
    return [line for line in words if b"shardlab.grading.worker" in line]


@pytest.mark.long
def test_a_worker_killed_in_the_middle_loses_and_doubles_nothing(
    tmp_path, dask, url
):
    class_ = {f"s{n:02}": f"points {n % 3}" for n in range(29)}
    for place in ("alone", "spread"):
        root = tmp_path / place
        root.mkdir()
        classroom.course(root)
        hand_in(root, **class_, unlucky="kill-above-once")
    alone, root = tmp_path / "alone", tmp_path / "spread"
    (alone / "once-unlucky").touch()  # of it, nobody is killed
    graded(alone, dask, "--no-sandbox", "--seed", "7", "--workers", "1")
    with cluster(root, dask, 3) as (address, (_, *workers)):
        options = ["--scheduler", address, "--database", url, "--seed", "7"]
        graded(root, dask, "--no-sandbox", *options)
        dead = [one for one in workers if one.poll() is not None]
        assert [one.returncode for one in dead] == [-signal.SIGKILL]
        assert at_work(workers) == []
    assert written(root) == written(alone)
    assert {row["status"] for row in table(root).values()} == {"graded"}
    found = log(root)
    assert set(found) == {*class_, "unlucky"}
    # Begun twice was what the killed one was at, or had not handed over.
    assert found["unlucky"] == 2
    assert max(found.values()) <= 2
    assert not (root / "work/grading/gradebook.db").exists()


@pytest.mark.long
def test_sandboxed_submissions_get_the_scores_of_one_machine(
    tmp_path, dask, url
):
    require_sandbox()
    row = rows.Row("simple", rows.of(*rows.SIMPLE), "simple")
    given = {"right": rows.Row("right", course.ALL, "right"), "simple": row}
    found = {}
    for place in ("alone", "spread"):
        at = course.make(tmp_path / place)
        for student, kind in given.items():
            folder = at.root / "submissions" / student
            folder.mkdir(parents=True)
            path = folder / f"{course.STEM}.ipynb"
            path.write_bytes(rows.data(kind, at))
        found[place] = at.root
    graded(found["alone"], dask, "--seed", "7", "--workers", "1", grader=JUDGE)
    with cluster(found["spread"], dask, 2) as (address, _):
        options = ["--scheduler", address, "--database", url, "--seed", "7"]
        graded(found["spread"], dask, *options, grader=JUDGE)
    assert written(found["spread"]) == written(found["alone"])
    points = {who: row["score"] for who, row in table(found["spread"]).items()}
    assert points == {"right": str(course.ALL), "simple": str(row.points)}


def test_a_cluster_needs_a_gradebook_for_all(tmp_path):
    classroom.course(tmp_path)
    hand_in(tmp_path, ada="points 1")
    with pytest.raises(ValueError, match="SCHEDULER needs DATABASE"):
        classroom.graded(tmp_path, scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "work").exists()
