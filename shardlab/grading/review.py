"""What an instructor's formgrader may do: look and mark, and never grade.

nbgrader's own button runs submissions as the instructor, with every right.
"""

from nbconvert.exporters import NotebookExporter

__all__ = ["config"]


class _Refuse(NotebookExporter):
    """Stands where nbgrader would begin to run a submission."""

    def __init__(self, *arguments, **settings):
        raise RuntimeError(
            "this would run the submission with all your rights; type "
            "make grade SUBMISSIONS=folder instead"
        )


def config(grading):
    """The configuration of a formgrader.

    grading  as `course.grading` returns it; it is changed and returned
    returns  traitlets.config.Config with which nbgrader refuses to run a
             submission, before it removes anything
    """
    grading.Autograde.exporter_class = f"{__name__}.{_Refuse.__name__}"
    return grading
