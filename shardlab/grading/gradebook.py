"""The gradebook: made once, filled with names, emptied before a regrade."""

import contextlib
import functools
import io
import logging
import warnings
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat.v4 import new_notebook

from shardlab.grading import course, roster

__all__ = [
    "Cell",
    "best_points",
    "cells",
    "clear",
    "comments",
    "due",
    "enrol",
    "enter",
    "opened",
    "penalise",
    "penalties",
    "people",
    "release",
    "scored",
    "set_due",
    "times",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from alembic.script import ScriptDirectory
    from nbgrader import api, dbutil, utils
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import AssignLatePenalties
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool


def _revision():
    """The version of the tables that nbgrader makes."""
    return ScriptDirectory(dbutil.ALEMBIC_DIR).get_heads()[0]


# nbgrader starts a program for this, which has to be on PATH, and waits
# seconds for it.
api.get_alembic_version = _revision
# Each gradebook that it opens would put every query into SQL anew. What is
# kept is SQL alone: a gradebook that is closed leaves no connection open.
api.create_engine = functools.cache(
    functools.partial(api.create_engine, poolclass=NullPool)
)


class Cell(NamedTuple):
    """The points of one cell of one submission, as the gradebook has them.

    student     the identifier
    assignment  the name
    name        the cell's grade_id
    kind        "code" or "markdown"
    auto        points of the check, None if there are none
    manual      points that a person gave, None if there are none
    extra       points above the maximum that a person gave
    most        the best possible points
    waits       whether a person has to look at it
    """

    student: str
    assignment: str
    name: str
    kind: str
    auto: float | None
    manual: float | None
    extra: float
    most: float
    waits: bool

    @property
    def score(self):
        """The points that count."""
        given = self.auto if self.manual is None else self.manual
        return 0.0 if given is None else given + self.extra


def opened(config):
    """The gradebook of a configuration, made if there is none.

    config   as `course.grading` returns it
    returns  nbgrader's Gradebook, a context manager
    raises   ValueError when the database cannot be used
    """
    url = config.CourseDirectory.db_url
    if url.startswith("sqlite:///"):
        place = Path(url.removeprefix("sqlite:///").partition("?")[0])
        place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return api.Gradebook(url, course.COURSE)
    except (SQLAlchemyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"the gradebook cannot be opened: {reason}") from None


def release(config, assignment):
    """Let nbgrader make the notebook to be filled, and enter its cells.

    config      as `course.grading` returns it
    assignment  the name
    returns     list of sentences about cells that came or went since it was
                first graded
    raises      ValueError with nbgrader's own words when it refuses
    """
    path = Path(config.CourseDirectory.source_directory)
    source = nbformat.read(path / assignment / f"{assignment}.ipynb", 4)
    with opened(config) as book:
        changed = _adapt(book, assignment, source.cells)
    folder = CourseDirectory(config=config)
    folder.assignment_id = assignment
    converter = GenerateAssignment(coursedir=folder, config=config)
    converter.force, words = True, io.StringIO()
    converter.log = logging.Logger("nbgrader", logging.ERROR)
    converter.log.addHandler(logging.StreamHandler(words))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converter.start()
    except (Exception, SystemExit) as error:
        said = words.getvalue().strip() or str(error)
        raise ValueError(f"{assignment}: {said.splitlines()[-1]}") from None
    return changed


def _adapt(book, assignment, cells):
    """Enter that cells of an assignment came or went; keep all other points.

    nbgrader by itself refuses this once there are submissions.

    book        nbgrader's Gradebook
    assignment  the name
    cells       of the solution as it is now
    returns     list of sentences, one for each cell
    """
    try:
        notebook = book.find_notebook(assignment, assignment)
    except api.MissingEntry:
        return []
    wanted = {
        (k, _grade_id(cell)): cell for cell in cells for k in _kinds(cell)
    }
    have = {(type(cell), cell.name): cell for cell in _present(notebook)}
    gone, come = set(have) - set(wanted), set(wanted) - set(have)
    if not notebook.submissions:
        return []
    for key in gone:
        _remove(book, have[key])
    for key in come:
        _add(book, notebook, *key, wanted[key])
    book.db.commit()
    return [
        f"{assignment}: {name} {word} since it was first graded"
        for keys, word in ((gone, "went"), (come, "came"))
        for name in sorted({name for _, name in keys})
    ]


def _grade_id(cell):
    """The name of a cell that nbgrader knows, or None."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _kinds(cell):
    """What the gradebook keeps of a cell: its tables."""
    found = []
    if utils.is_grade(cell):
        found.append(api.GradeCell)
    if utils.is_solution(cell):
        found.append(api.SolutionCell)
    if utils.is_task(cell):
        found.append(api.TaskCell)
    return [*found, api.SourceCell] if found or utils.is_locked(cell) else []


def _present(notebook):
    """The cells that the gradebook has."""
    return [
        *notebook.grade_cells,
        *notebook.solution_cells,
        *notebook.task_cells,
        *notebook.source_cells,
    ]


def _remove(book, cell):
    """Remove a cell with its points and comments."""
    if not isinstance(cell, api.SourceCell):
        for table in (api.Grade, api.Comment):
            book.db.query(table).filter(table.cell_id == cell.id).delete()
    book.db.delete(cell)


def _add(book, notebook, kind, name, cell):
    """Add a cell, and room for its points in every submission."""
    fields = {"name": name, "notebook": notebook}
    if kind is not api.SolutionCell:
        fields["cell_type"] = cell.cell_type
    if kind in (api.GradeCell, api.TaskCell):
        fields["max_score"] = float(cell.metadata.nbgrader["points"])
    made = kind(**fields)
    book.db.add(made)
    book.db.flush()
    for submission in notebook.submissions:
        if kind in (api.GradeCell, api.TaskCell):
            book.db.add(api.Grade(cell_id=made.id, notebook=submission))
        if kind in (api.SolutionCell, api.TaskCell):
            book.db.add(api.Comment(cell_id=made.id, notebook=submission))


@contextlib.contextmanager
def _at_once(book):
    """Write what is entered within in one transaction, all of it or nothing.

    nbgrader waits for the disk after each entry.
    """
    book.db.commit = book.db.flush
    try:
        yield
    except BaseException:
        book.db.rollback()
        raise
    finally:
        del book.db.commit
    book.db.commit()


def enrol(book, students):
    """Enter the students of a roster.

    book      nbgrader's Gradebook
    students  iterable of roster.Student
    """
    with _at_once(book):
        for student in students:
            book.update_or_create_student(
                student.student,
                first_name=student.first_name or None,
                last_name=student.last_name or None,
                email=student.email or None,
            )


def enter(book, taken):
    """Enter submissions with their times, all or none of them.

    Points are left as they are. Workers find every entry made, so that no two
    of them make the same.

    book   nbgrader's Gradebook
    taken  list of intake.Taken
    """
    with warnings.catch_warnings(), _at_once(book):
        # SQLAlchemy warns of how nbgrader uses it.
        warnings.simplefilter("ignore")
        for student in sorted({one.student for one in taken}):
            book.update_or_create_student(student)
        for one in taken:
            time = one.time.replace(tzinfo=None)
            book.update_or_create_submission(
                one.assignment, one.student, timestamp=time
            )


def clear(book, keys):
    """Forget what checks gave to submissions, all or none of them.

    Points and comments that a person gave are kept.

    book  nbgrader's Gradebook
    keys  pairs (student, assignment) of submissions that are entered
    """
    for student, assignment in keys:
        submission = book.find_submission(assignment, student)
        for notebook in submission.notebooks:
            notebook.late_submission_penalty = None
            for grade in notebook.grades:
                grade.auto_score, grade.needs_manual_grade = None, True
    book.db.commit()


def set_due(book, dates):
    """Enter when assignments are due.

    book   nbgrader's Gradebook
    dates  dict: assignment -> datetime in UTC, or None for never
    """
    for assignment, date in dates.items():
        naive = date.replace(tzinfo=None) if date else None
        book.update_or_create_assignment(assignment, duedate=naive)


def due(book):
    """The names of the assignments that have a due date.

    book  nbgrader's Gradebook
    """
    return {one.name for one in book.assignments if one.duedate is not None}


def best_points(book):
    """The best possible points of assignments: dict name -> points.

    book  nbgrader's Gradebook
    """
    return {one.name: one.max_score for one in book.assignments}


def penalise(book, config, keys):
    """Let nbgrader work out anew what late submissions lose.

    book     nbgrader's Gradebook
    config   as `course.grading` returns it, with a policy
    keys     pairs (student, assignment) of submissions that are graded
    returns  dict: pair -> seconds late, of those that are
    """
    late = {}
    for student, assignment in keys:
        submission = book.find_submission(assignment, student)
        if seconds := submission.total_seconds_late:
            late[student, assignment] = seconds
        if seconds or submission.late_submission_penalty:
            names = {
                "student": student,
                "db_url": config.CourseDirectory.db_url,
            }
            names |= {"assignment": assignment, "notebook": assignment}
            step = AssignLatePenalties(config=config)
            step.log = logging.Logger("nbgrader", logging.CRITICAL)
            step.preprocess(new_notebook(), {"nbgrader": names})
    book.db.expire_all()
    return late


def cells(book):
    """The points of every cell of every submission.

    book     nbgrader's Gradebook
    returns  list of Cell
    """
    cell, grade = api.GradeCell, api.Grade
    rows = (
        _notebooks(book, cell.name, cell.cell_type, cell.max_score)
        .add_columns(grade.auto_score, grade.manual_score, grade.extra_credit)
        .add_columns(grade.needs_manual_grade)
        .join(grade, grade.notebook_id == api.SubmittedNotebook.id)
        .join(cell, cell.id == grade.cell_id)
    )
    return [
        Cell(*names, kind, auto, manual, extra or 0.0, most, waits)
        for *names, kind, most, auto, manual, extra, waits in rows.all()
    ]


def _notebooks(book, *columns):
    """A query for students, assignments and `columns` of submissions."""
    notebook, submission = api.SubmittedNotebook, api.SubmittedAssignment
    return (
        book.db.query(submission.student_id, api.Assignment.name, *columns)
        .select_from(notebook)
        .join(submission, submission.id == notebook.assignment_id)
        .join(api.Assignment, api.Assignment.id == submission.assignment_id)
    )


def penalties(book):
    """What late submissions lose: dict (student, assignment) -> points.

    book  nbgrader's Gradebook
    """
    penalty = api.SubmittedNotebook.late_submission_penalty
    return {
        (student, assignment): points or 0.0
        for student, assignment, points in _notebooks(book, penalty).all()
    }


def people(book):
    """Everybody in the gradebook: dict identifier -> roster.Student.

    book  nbgrader's Gradebook
    """
    return {
        row.id: roster.Student(
            row.id, row.first_name or "", row.last_name or "", row.email or ""
        )
        for row in book.db.query(api.Student).order_by(api.Student.id)
    }


def times(book):
    """When submissions were handed in, in UTC: dict pair -> datetime.

    book  nbgrader's Gradebook
    """
    timestamp = api.SubmittedAssignment.timestamp
    return {
        (student, assignment): time.replace(tzinfo=UTC)
        for student, assignment, time in _notebooks(book, timestamp).all()
        if time is not None
    }


def comments(book, student, assignment):
    """What a person, or nbgrader, remarked on answers: dict name -> text.

    book        nbgrader's Gradebook
    student     the identifier
    assignment  the name
    """
    submission = book.find_submission(assignment, student)
    return {
        comment.name: comment.comment
        for notebook in submission.notebooks
        for comment in notebook.comments
        if comment.comment
    }


def scored(book, student, assignment):
    """In how many cells of a submission a check or nbgrader left points.

    book        nbgrader's Gradebook
    student     the identifier
    assignment  the name
    """
    submission = book.find_submission(assignment, student)
    return sum(
        grade.auto_score is not None
        for notebook in submission.notebooks
        for grade in notebook.grades
    )
