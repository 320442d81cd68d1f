"""Time of a submission: a notebook of six questions, two of them programs."""

import resource
import tempfile
import time
from pathlib import Path

from shardlab.grading import grade
from tests.grading.suite import course
from tests.grading.suite.rows import Row, data

STUDENTS = 24
RIGHT = Row("right", course.ALL, "right")


def hand_in(at):
    """Write a class of submissions that are all right."""
    for number in range(STUDENTS):
        folder = at.root / f"submissions/student{number:02}"
        folder.mkdir(parents=True)
        (folder / f"{course.STEM}.ipynb").write_bytes(data(RIGHT, at))


def graded(workers):
    """Seconds that it takes to grade the class, start and reports included."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        at = course.make(Path(folder))
        hand_in(at)
        start = time.perf_counter()
        options = grade.Options(workers=workers)
        done = grade.grade(at.root / "submissions", at.root, options)
        if done.graded != STUDENTS:
            raise RuntimeError(f"graded {done.graded} of {STUDENTS}")
        return time.perf_counter() - start


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note} for 1 and 2."""
    for workers in (1, 2):
        seconds = graded(workers)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
        yield {
            "name": f"grading: one submission, sandboxed, {workers} workers",
            "seconds_median": seconds / STUDENTS,
            "runs": 1,
            "peak_bytes": used,
            "note": f"{STUDENTS} in {seconds:.1f} s, start included",
        }
