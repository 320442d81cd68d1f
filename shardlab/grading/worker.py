"""One of the processes that grade: asked for a submission, it grades it.

    python -m shardlab.grading.worker PARENT

PARENT is the number of the process that asks; this one ends with it.
"""

import importlib
import sys
import time
import warnings
from pathlib import Path

import jax
import nbformat

from shardlab.authoring.parents import end_with_parent
from shardlab.checks import pipes
from shardlab.grading import course, feedback, gradebook, late, start

__all__ = ["graded", "loaded", "patiently"]

TRIES = 3


def graded(judge, config, question, options, kept=None):
    """Grade one submission.

    judge     the module that grades
    config    as `course.grading` returns it
    question  dict of the fields of `batch.Task`
    options   dict: seconds and isolated, as `judge.grade` takes them
    kept      list of the sandbox that waits, as `judge.grade` takes it
    returns   dict: what a record holds of it, and the verdicts that stand
    """
    student, assignment = question["student"], question["assignment"]
    begun = time.monotonic()
    outcome = patiently(
        judge.grade,
        student,
        assignment,
        config,
        question["seed"],
        seconds=judge.Seconds(*options["seconds"]),
        isolated=options["isolated"],
        stood=question["stood"],
        kept=kept,
    )
    _must_be_safe(config, student, assignment)
    with gradebook.opened(config) as book:
        scored = gradebook.scored(book, student, assignment)
    return {
        "timed_out": bool(outcome.timed_out),
        "stopped": list(outcome.stopped),
        "notes": list(outcome.notes),
        "verdicts": dict(outcome.verdicts),
        "scored": scored,
        "seconds": round(time.monotonic() - begun, 3),
    }


def _must_be_safe(config, student, assignment):
    """Raise unless the graded notebook can be shown to the instructor."""
    folder = Path(config.CourseDirectory.autograded_directory)
    path = folder / student / assignment / f"{assignment}.ipynb"
    if found := feedback.active(nbformat.read(path, as_version=4)):
        raise RuntimeError(f"the graded notebook is not safe: {found[0]}")


def patiently(grade, *arguments, **options):
    """Grade; once more where another process held the gradebook too long."""
    for attempt in range(TRIES):
        try:
            return grade(*arguments, **options)
        except Exception as error:
            locked = "database is locked" in f"{error} {error.__cause__}"
            if not locked or attempt == TRIES - 1:
                raise
            time.sleep(1 + attempt)


def _answering(kept):
    """The function that answers the questions of a batch.

    kept     list of the sandbox that waits, as `judge.grade` takes it

    The first question brings the settings, the others a submission each.
    """
    known = {}

    def answer(question):
        try:
            if "settings" in question:
                known.update(loaded(question["settings"]))
                start.started()
                return {}
            return graded(**known, question=question, kept=kept)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:4000]}

    return answer


def loaded(settings):
    """What grading needs: dict of judge, config and options.

    settings  dict of the fields of `batch.Settings`
    """
    policy = late.Policy(*settings["policy"])
    config = course.grading(settings["root"], settings["database"], policy)
    judge = importlib.import_module(settings["grader"])
    return {"judge": judge, "config": config, "options": settings}


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    # Checks see as many devices here as they do beside a notebook.
    jax.config.update("jax_num_cpu_devices", 8)
    warnings.simplefilter("ignore")
    kept = []
    try:
        pipes.serve(_answering(kept))
    finally:
        for box in kept:
            box.close()
