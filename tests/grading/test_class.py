"""Sixty submissions, while what grades them is killed now and then."""

import csv
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shardlab.grading import batch
from tests.grading.classroom import surroundings
from tests.grading.suite import course, rows

STUDENTS = 60
KILLS = 12
# What each of ten students in turn hands in; every tenth has both programs.
KINDS = (
    rows.Row("right", course.ALL, "right"),
    *(rows.Row(f"simple {n}", rows.of(*rows.SIMPLE), "simple") for n in "abc"),
    *(rows.Row(f"blank {n}", 0, "blank") for n in "ab"),
    rows.Row(
        "wrong in one",
        rows.simple_without("local_bytes"),
        "simple",
        {"local_bytes": rows.WRONG["local_bytes"]},
    ),
    rows.Row(
        "ends its process",
        rows.simple_without("copies"),
        "simple",
        {"copies": "import os\nos._exit(0)"},
    ),
    rows.Row(
        "raises first",
        rows.of(*rows.SIMPLE),
        "simple",
        before=("raise ValueError('not this one')",),
    ),
    rows.Row(
        "prints much",
        rows.of(*rows.SIMPLE),
        "simple",
        before=("print('x' * 10**6)",),
    ),
)
DRIVER = """
from shardlab.grading import grade
grade.grade("submissions", ".", grade.Options(workers=2))
"""


def hand_in(at, students):
    """Write submissions; returns dict: student -> points deserved."""
    deserved = {}
    texts = [rows.data(row, at) for row in KINDS]
    for number in range(students):
        kind = number % len(KINDS)
        who = f"student{number:03}"
        folder = at.root / "submissions" / who
        folder.mkdir(parents=True)
        (folder / f"{course.STEM}.ipynb").write_bytes(texts[kind])
        deserved[who] = KINDS[kind].points
    return deserved


def started(root):
    """A process that grades the class at `root`."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        cwd=root,
        env=surroundings(root),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers(driver):
    """The processes of a driver that grade, by number."""
    found = []
    for pid in batch.descendants(driver.pid):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"shardlab.grading.worker" in line and b"bwrap" not in line:
            found.append(pid)
    return found


def scores(root):
    """The lines of scores.csv."""
    path = root / "work/grading/scores.csv"
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.whole
def test_nothing_is_lost_and_nothing_is_double(tmp_path):
    at = course.make(tmp_path)
    deserved = hand_in(at, STUDENTS)
    chance, killed = random.Random(7), 0
    driver = started(at.root)
    while driver.poll() is None and killed < KILLS:
        time.sleep(chance.uniform(2, 6))
        victims = workers(driver)
        if killed == KILLS // 2:
            victims = [driver.pid]
        if victims:
            os.kill(chance.choice(victims), signal.SIGKILL)
            killed += 1
        if victims == [driver.pid]:
            driver.wait()
            driver.stderr.close()
            driver = started(at.root)
    _, said = driver.communicate()
    assert driver.returncode == 0, said
    assert killed == KILLS
    # Whom two kills met by chance is reported as failed; once more, unkilled.
    driver = started(at.root)
    _, said = driver.communicate()
    assert driver.returncode == 0, said
    found = scores(at.root)
    assert len(found) == STUDENTS
    assert {row["status"] for row in found} == {"graded"}
    assert {row["student"]: float(row["score"]) for row in found} == deserved
    mine = [p for p in Path("/proc").glob("[0-9]*/cwd") if inside(p, at.root)]
    assert mine == []


def inside(link, root):
    """Whether a process works below `root`."""
    try:
        return os.readlink(link).startswith(str(root))
    except OSError:
        return False
