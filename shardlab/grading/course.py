"""nbgrader's configuration, in the one place that everything reads."""

from pathlib import Path

from traitlets.config import Config

# What stands where a solution was cut out: the lines around it stay valid.
STUB = "# YOUR CODE HERE"

# nbgrader's own steps, and one more: students do not see hidden tests.
FEEDBACK = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]


def config(root, solutions="solutions", exercises="exercises"):
    """The configuration of a course that lies at `root`.

    root       the folder that holds solutions/ and exercises/, and below which
               work/grading is written
    solutions  the folder of the solutions: relative to root, or absolute
    exercises  the folder that the students' notebooks are written to
    returns    traitlets.config.Config
    """
    root = Path(root).resolve()
    work = root / "work/grading"
    made = Config()
    made.CourseDirectory.course_id = "shard-by-shard"
    made.CourseDirectory.root = str(root)
    made.CourseDirectory.source_directory = str(root / solutions)
    made.CourseDirectory.release_directory = str(root / exercises)
    made.CourseDirectory.submitted_directory = str(work / "submitted")
    made.CourseDirectory.autograded_directory = str(work / "autograded")
    made.CourseDirectory.feedback_directory = str(work / "feedback")
    made.CourseDirectory.db_url = f"sqlite:///{work / 'gradebook.db'}"
    made.ClearSolutions.code_stub = {"python": STUB}
    made.GenerateFeedback.preprocessors = FEEDBACK
    made.HTMLExporter.sanitize_html = True
    return made
