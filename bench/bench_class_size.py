"""How the cost of a submission grows with the class that it is graded in."""

import os

from bench import classes
from bench.bench_grading import in_a_folder, line, ours
from shardlab.grading.sandbox import GB, LIMITS

SIZES, LARGE = (10, 60), (10, 100, 1_000)


def rows(large=False):
    """Yield a row for each size of a class, sandboxed, per submission.

    large  whether classes of up to a thousand are graded
    """
    stem = classes.largest()
    # A worker has the student's sandbox and, for programs, a second one.
    most = 2 * os.cpu_count() * LIMITS.memory / GB
    first = None
    for students in LARGE if large else SIZES:
        spent, _ = in_a_folder(ours, stem, students)
        note = f"of {most:.0f} GB that all sandboxes may hold"
        if first:
            more = (spent.cpu - first[1]) / (students - first[0])
            note += f"; {more:.2f} s of the processor for each more"
        yield line(f"class size: {students}", [spent], students, note)
        first = first or (students, spent.cpu)
