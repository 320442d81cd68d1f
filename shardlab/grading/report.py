"""Scores, statistics and what course systems import, as CSV files."""

import collections
import math
from datetime import UTC
from typing import NamedTuple

from shardlab.grading import intake, records, roster, tables

__all__ = [
    "BY_HAND",
    "NOT_HANDED_IN",
    "REFUSED",
    "Line",
    "Statistic",
    "briefly",
    "full_name",
    "line",
    "lines",
    "printed",
    "sentence",
    "sorted_name",
    "statistics",
    "write_canvas",
    "write_moodle",
    "write_scores",
    "write_statistics",
]

NOT_HANDED_IN = "not handed in"
REFUSED = "refused"
BY_HAND = "to be graded by hand"
# Who did not hand in what fewer than these did may never have had it.
GIVEN_OUT = 1 / 4

PAPER = (
    "student",
    "last_name",
    "first_name",
    "assignment",
    "status",
    "submitted",
    "hours_late",
    "score",
    "penalty",
    "final",
    "max_score",
    "remarks",
    "seed",
    "seconds",
)


class Line(NamedTuple):
    """The standing of one student in one assignment.

    student     the identifier
    assignment  the name
    status      "graded", "to be graded by hand", "failed", "pending",
                "refused" or "not handed in"
    score       points before a penalty; None where there are none to be had
    penalty     points lost for being late
    most        the best possible score
    points      dict: cell -> points, None where a person has yet to give them
    remarks     sentences
    """

    student: str
    assignment: str
    status: str
    score: float | None
    penalty: float
    most: float
    points: dict
    remarks: list

    @property
    def final(self):
        """The points that count."""
        return None if self.score is None else self.score - self.penalty


def lines(students, most, known, cells, penalties, refused, due=()):
    """The standing of every student in every assignment.

    students   identifiers; further ones are added for whom there is a record
    most       dict: assignment -> best possible score
    known      dict: (student, assignment) -> records.Record
    cells      list of gradebook.Cell
    penalties  dict: (student, assignment) -> points
    refused    list of intake.Refused
    due        assignments that have a due date
    returns    list of Line, by assignment and student. Who handed in nothing
               has 0 points for an assignment that is due, or that a share of
               GIVEN_OUT of the class handed in; for another, no points
    """
    points = collections.defaultdict(list)
    for cell in cells:
        points[cell.student, cell.assignment].append(cell)
    reasons = {}
    for one in refused:
        reasons.setdefault((one.student, one.assignment), str(one))
    unclear = {
        student: reason
        for (student, assignment), reason in reasons.items()
        if assignment == intake.UNKNOWN
    }
    names = sorted({*students, *(student for student, _ in known)})
    given = {*due, *_given_out(known, names)}
    return [
        line(
            (student, assignment),
            most[assignment],
            known.get((student, assignment)),
            points[student, assignment],
            penalties.get((student, assignment), 0.0),
            reasons.get((student, assignment)),
            unclear.get(student),
            assignment in given,
        )
        for assignment in sorted(most)
        for student in names
    ]


def _given_out(known, names):
    """The assignments that so many handed in that all must have had them.

    known    dict: (student, assignment) -> records.Record
    names    identifiers of the class
    returns  set of assignments
    """
    handed_in = collections.Counter(assignment for _, assignment in known)
    least = GIVEN_OUT * len(names)
    return {name for name, number in handed_in.items() if number >= least}


def line(key, most, record, cells, penalty, reason, unclear, given):
    """The standing of one student in one assignment.

    key       pair (student, assignment)
    most      the best possible score
    record    records.Record, or None
    cells     list of gradebook.Cell
    penalty   points lost for being late
    reason    why a file of theirs for this assignment is not taken, or None
    unclear   why a file of theirs is not taken that may be for any assignment
    given     whether all must have had this assignment
    returns   Line
    """
    if record is None:
        reason = reason or unclear
    remarks = [reason] if reason else []
    if record is None:
        status = REFUSED if reason else NOT_HANDED_IN
        score = None if reason or not given else 0.0
        return Line(*key, status, score, 0.0, most, {}, remarks)
    if reason:
        remarks.append("the points are those of an earlier file")
    if record.timed_out:
        remarks.append("timed out, twice")
    remarks += [*record.stopped, *record.notes]
    if record.status != records.GRADED:
        error = [briefly(record.error)] if record.error else []
        return Line(*key, record.status, None, 0.0, most, {}, remarks + error)
    waits = [c for c in cells if c.auto is None and c.manual is None]
    points = {c.name: None if c in waits else c.score for c in cells}
    score = sum(cell.score for cell in cells)
    status = BY_HAND if waits else records.GRADED
    return Line(*key, status, score, penalty, most, points, remarks)


def briefly(error):
    """An error as one line of a table: its first words and its last."""
    said = [line.strip() for line in error.splitlines() if line.strip()]
    if len(said) < 2:
        return " ".join(said)[:400]
    return f"{said[0][:200]} ... {said[-1][:200]}"


def write_scores(path, lines, students, known, times, late):
    """Write scores.csv: a line a student and assignment.

    path      the file
    lines     list of Line
    students  dict: identifier -> roster.Student
    known     dict: (student, assignment) -> records.Record
    times     dict: (student, assignment) -> datetime in UTC
    late      dict: (student, assignment) -> seconds
    """
    rows, columns = [], list(PAPER)
    label = _labels(lines)
    for one in lines:
        key = one[:2]
        paper = _standing(one, students, known.get(key), times.get(key))
        paper["hours_late"] = (
            round(late[key] / 3600, 2) if key in late else None
        )
        checks = {
            label[one.assignment, name]: points
            for name, points in one.points.items()
        }
        columns += [name for name in checks if name not in columns]
        rows.append(paper | checks)
    tables.write(path, columns, rows)


def _labels(lines):
    """The column of each check; a name used twice needs two columns.

    lines    list of Line
    returns  dict: (assignment, check) -> name of the column
    """
    pairs = {(one.assignment, name) for one in lines for name in one.points}
    uses = collections.Counter(name for _, name in pairs)
    return {
        (assignment, name): name
        if uses[name] == 1 and name not in PAPER
        else f"{assignment}/{name}"
        for assignment, name in pairs
    }


def _standing(line, students, record, time):
    """The columns of scores.csv that every assignment has."""
    student = students.get(line.student, roster.Student(line.student))
    return {
        "student": line.student,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "assignment": line.assignment,
        "status": line.status,
        "submitted": time.astimezone(UTC).isoformat() if time else None,
        "score": line.score,
        "penalty": line.penalty,
        "final": line.final,
        "max_score": line.most,
        "remarks": "; ".join(line.remarks),
        # In words: a spreadsheet program would round so long a number.
        "seed": hex(record.seed)
        if record and record.seed is not None
        else None,
        "seconds": record.seconds if record else None,
    }


def write_canvas(path, lines, students, most):
    """Write what Canvas imports in its Gradebook: a column an assignment.

    path      the file
    lines     list of Line
    students  dict: identifier -> roster.Student
    most      dict: assignment -> best possible score
    """
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [{"Student": "    Points Possible", **most}]
    for identifier, finals in _by_student(lines):
        student = students.get(identifier, roster.Student(identifier))
        login = student.systems.get("sis_login_id") or identifier
        rows.append(
            {
                "Student": sorted_name(student),
                "ID": student.systems.get("canvas_id"),
                "SIS User ID": student.systems.get("sis_user_id"),
                "SIS Login ID": login,
                "Section": student.systems.get("section"),
                **finals,
            }
        )
    tables.write(path, [*columns, *sorted(most)], rows)


def write_moodle(path, lines, students, most):
    """Write what Moodle imports: a column an assignment, and its feedback.

    path      the file
    lines     list of Line
    students  dict: identifier -> roster.Student
    most      dict: assignment -> best possible score
    """
    columns = ["Identifier", "Full name", "Email address", "ID number"]
    for assignment in sorted(most):
        columns += [assignment, f"{assignment} feedback"]
    said = {one[:2]: sentence(one) for one in lines}
    rows = []
    for identifier, finals in _by_student(lines):
        student = students.get(identifier, roster.Student(identifier))
        feedback = {f"{a} feedback": said[identifier, a] for a in finals}
        rows.append(
            {
                "Identifier": student.systems.get("moodle_identifier"),
                "Full name": full_name(student),
                "Email address": student.email,
                "ID number": identifier,
                **finals,
                **feedback,
            }
        )
    tables.write(path, columns, rows)


def sorted_name(student):
    """A student's name as "Last, First", or the identifier."""
    names = [name for name in (student.last_name, student.first_name) if name]
    return ", ".join(names) or student.student


def full_name(student):
    """A student's name as "First Last", or the identifier."""
    return (
        f"{student.first_name} {student.last_name}".strip() or student.student
    )


def _by_student(lines):
    """Pairs (student, dict: assignment -> points that count)."""
    found = collections.defaultdict(dict)
    for one in lines:
        found[one.student][one.assignment] = one.final
    return sorted(found.items())


def sentence(line):
    """The standing in one assignment, in words that a student may read."""
    if line.status == REFUSED:
        return f"not graded: {line.remarks[0]}"
    if line.status == NOT_HANDED_IN:
        return NOT_HANDED_IN
    if line.score is None:
        return "not graded yet"
    text = f"{line.score:.10g} of {line.most:.10g} points"
    if line.penalty:
        text += f", less {line.penalty:.10g} for being late"
    if line.status == BY_HAND:
        text += "; written answers are not graded yet"
    return text


class Statistic(NamedTuple):
    """How a class did in one question.

    assignment      the name
    question        the check, or the answer that a person grades
    n               how many submissions have points for it
    mean            points
    most            the best possible points
    full            share with all points
    zero            share with none
    failed          share with less than all
    discrimination  correlation with the points for the rest of the assignment;
                    None for fewer than three, or where all have the same
    """

    assignment: str
    question: str
    n: int
    mean: float
    most: float
    full: float
    zero: float
    failed: float
    discrimination: float | None


def statistics(cells, graded):
    """How the class did in each question.

    cells    list of gradebook.Cell
    graded   pairs (student, assignment) of submissions that count
    returns  list of Statistic, in the order in which the cells name questions
    """
    totals, questions = collections.Counter(), {}
    for cell in cells:
        key = (cell.student, cell.assignment)
        if key in graded and not (cell.auto is None and cell.manual is None):
            totals[key] += cell.score
            question = questions.setdefault((cell.assignment, cell.name), [])
            question.append((key, cell.score, cell.most))
    return [
        _statistic(*names, points, totals)
        for names, points in questions.items()
    ]


def _statistic(assignment, question, points, totals):
    """How the class did in one question.

    assignment  the name
    question    the name of the cell
    points      list of ((student, assignment), points, best points)
    totals      dict: (student, assignment) -> points
    """
    scores = [score for _, score, _ in points]
    rest = [totals[key] - score for key, score, _ in points]
    n, most = len(points), points[0][2]
    return Statistic(
        assignment,
        question,
        n,
        sum(scores) / n,
        most,
        sum(score >= most for score in scores) / n,
        sum(score <= 0 for score in scores) / n,
        sum(score < most for score in scores) / n,
        _correlation(scores, rest),
    )


def _correlation(x, y):
    """Pearson's correlation of two lists, None where there is none to have."""
    n = len(x)
    if n < 3:
        return None
    dx = [value - sum(x) / n for value in x]
    dy = [value - sum(y) / n for value in y]
    both = math.sqrt(sum(a * a for a in dx) * sum(b * b for b in dy))
    # Differences below this are those of rounding, not of points.
    if both < 1e-9:
        return None
    return sum(a * b for a, b in zip(dx, dy, strict=True)) / both


def write_statistics(path, found):
    """Write statistics.csv.

    path   the file
    found  list of Statistic
    """
    rows = [one._asdict() for one in found]
    tables.write(path, Statistic._fields, rows)


def printed(found):
    """Statistics as lines of text.

    found    list of Statistic
    returns  str
    """
    head = f"{'question':30} {'n':>4} {'mean':>11} {'full':>5} {'zero':>5}  r"
    rows = [
        f"{one.question[:30]:30} {one.n:4} "
        f"{one.mean:5.2f} of {one.most:2.4g} {one.full:5.0%} {one.zero:5.0%}  "
        + ("-" if one.discrimination is None else f"{one.discrimination:.2f}")
        for one in found
    ]
    return "\n".join([head, *rows])
