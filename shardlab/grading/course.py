"""nbgrader's configuration, in the one place that everything reads."""

from pathlib import Path

from traitlets.config import Config

__all__ = ["COURSE", "config", "grading"]

COURSE = "shard-by-shard"
# What stands where a solution was cut out: the lines around it stay valid.
STUB = "# YOUR CODE HERE"
# How long a process waits for another that writes to the same gradebook file.
LOCKED_SECONDS = 60


def config(root, solutions="solutions", exercises="exercises", database=None):
    """The configuration of a course that lies at `root`.

    root       the folder that holds solutions/ and exercises/, and below which
               work/grading is written
    solutions  the folder of the solutions: relative to root, or absolute
    exercises  the folder that the students' notebooks are written to
    database   URL of the gradebook, such as postgresql://user@host/name; a file
               below work/grading if None
    returns    traitlets.config.Config
    """
    root = Path(root).resolve()
    work = root / "work/grading"
    made = Config()
    made.CourseDirectory.course_id = COURSE
    made.CourseDirectory.root = str(root)
    made.CourseDirectory.source_directory = str(root / solutions)
    made.CourseDirectory.release_directory = str(root / exercises)
    made.CourseDirectory.submitted_directory = str(work / "submitted")
    made.CourseDirectory.autograded_directory = str(work / "autograded")
    made.CourseDirectory.feedback_directory = str(work / "feedback")
    made.CourseDirectory.db_url = database or (
        f"sqlite:///{work / 'gradebook.db'}?timeout={LOCKED_SECONDS}"
    )
    made.ClearSolutions.code_stub = {"python": STUB}
    made.HTMLExporter.sanitize_html = True
    return made


def grading(root, database=None, policy=None):
    """The configuration for grading: nothing outside work/grading is written.

    root      as `config` takes it
    database  likewise
    policy    a `late.Policy`, or None for no penalty
    returns   traitlets.config.Config
    """
    made = config(root, exercises="work/grading/release", database=database)
    made.AssignLatePenalties.plugin_class = "shardlab.grading.late.LatePenalty"
    for name, number in (policy._asdict() if policy else {}).items():
        setattr(made.LatePenalty, name, float(number))
    return made
