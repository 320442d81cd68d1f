"""Who is in the class: a CSV file with one line a student."""

import re
from typing import NamedTuple

from shardlab.grading import tables

__all__ = ["Student", "fault", "read_roster"]

# Names of folders and of things in a database: nothing in them means
# anything to a shell, a file system, a pattern, a page or a spreadsheet.
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RULE = (
    "1 to 64 letters without accents, digits, dots, dashes and underscores, "
    "starting with a letter or digit"
)
NEEDED = ("student",)
NAMES = ("first_name", "last_name", "email")
# What course systems call a student; copied into the files for them.
SYSTEMS = (
    "canvas_id",
    "sis_user_id",
    "sis_login_id",
    "section",
    "moodle_identifier",
)


class Student(NamedTuple):
    """A line of the roster.

    student     the identifier: the name of the student's folder
    first_name  as the student writes it, or ""
    last_name   likewise
    email       likewise
    systems     dict: column of SYSTEMS -> text, what course systems call them
    """

    student: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    systems: dict = {}


def fault(identifier):
    """Why a text cannot be a student's identifier, or None.

    identifier  text from a folder's name or a table
    """
    if IDENTIFIER.fullmatch(identifier) and not identifier.endswith("."):
        return None
    return f"is no identifier ({RULE})"


def read_roster(path):
    """The students of a roster.

    path     CSV file with a column `student` and, if you like, first_name,
             last_name, email, canvas_id, sis_user_id, sis_login_id, section
             and moodle_identifier
    returns  dict: identifier -> Student
    raises   ValueError that names every line that is wrong
    """
    students, faults, seen = {}, [], {}
    for line, cells in tables.read_table(path, NEEDED, NAMES + SYSTEMS):
        identifier = cells["student"]
        reason = fault(identifier)
        if reason is None and (before := seen.get(identifier.lower())):
            reason = f"stands in line {before} as well, or differs in case only"
        if reason:
            faults.append(f"{path}, line {line}: {identifier!r} {reason}")
            continue
        seen[identifier.lower()] = line
        systems = {name: cells[name] for name in SYSTEMS}
        names = [cells[name] for name in NAMES]
        students[identifier] = Student(identifier, *names, systems)
    if faults:
        raise ValueError("\n".join(faults))
    if not students:
        raise ValueError(f"{path}: no student stands in it")
    return students
