"""Which file is whose, where files are not named by students.

A course system hands out a folder of files under names of its own. A mapping
is a CSV file that says, for each, the student and the assignment. A first
draft can be had from the names; every guess in it is marked as one, and
nothing is graded by a guess.
"""

import os
import re
import unicodedata
from pathlib import PurePosixPath

from shardlab.grading import contents, intake, late, roster, tables

__all__ = ["NEEDED", "OPTIONAL", "draft", "guessed", "read_mapping"]

NEEDED = ("file", "student", "assignment")
OPTIONAL = ("submitted", "guess")

# lastfirst_123_456_name.ipynb, with LATE as second part when it was late.
CANVAS = re.compile(
    r"(?P<name>[^_/]+)_(?:LATE_)?\d+_\d+_(?P<stem>[^/]*)\.ipynb", re.IGNORECASE
)
# "Last First_123_assignsubmission_file_" is a folder, or leads a file's name:
# the outermost one, since those in it are named by the student.
MOODLE = re.compile(
    r"(?:.*?/)?(?P<name>[^_/]+)_\d+_assignsubmission_file_?/?"
    r"(?:.*/)?(?P<stem>[^/]*)\.ipynb",
    re.IGNORECASE,
)


def read_mapping(path, assignments):
    """The mapping that a CSV file holds.

    path         columns file (relative to the folder of submissions), student,
                 assignment, and if you like submitted, a date with a time
                 zone; a line without student says that a file is not taken
    assignments  the names of assignments
    returns      dict: file -> intake.Wanted
    raises       ValueError that names every line that is wrong, or that still
                 is marked as a guess
    """
    found, faults, claims = {}, [], {}
    for line, cells in tables.read_table(path, NEEDED, OPTIONAL):
        place = str(PurePosixPath(cells["file"]))
        try:
            wanted = _mapped_line(cells, assignments)
            if place in found:
                raise ValueError(f"{place} stands here for the second time")
            claim = (wanted.student.lower(), wanted.assignment)
            if wanted.student and claim in claims:
                raise ValueError(
                    f"{wanted.student} has {wanted.assignment} in line "
                    f"{claims[claim]} as well"
                )
        except ValueError as error:
            faults.append(f"{path}, line {line}: {error}")
            continue
        found[place], claims[claim] = wanted, line
    if faults:
        raise ValueError("\n".join(faults))
    return found


def _mapped_line(cells, assignments):
    """What one line of a mapping says."""
    if not cells["file"]:
        raise ValueError("names no file")
    if cells["guess"]:
        raise ValueError("is a guess; check it, then empty the column guess")
    if not cells["student"]:
        return intake.Wanted("", "")
    if reason := roster.fault(cells["student"]):
        raise ValueError(f"{cells['student']!r} {reason}")
    if cells["assignment"] not in assignments:
        raise ValueError(
            f"assignment must be one of {', '.join(assignments)}, "
            f"got {cells['assignment']!r}"
        )
    time = late.moment(cells["submitted"]) if cells["submitted"] else None
    return intake.Wanted(cells["student"], cells["assignment"], time)


def draft(folder, assignments, students):
    """Lines of a mapping for the notebooks below a folder, to be checked.

    folder       where a course system's files were unpacked
    assignments  the names of assignments
    students     dict: identifier -> roster.Student; without any, a name is
                 made into an identifier
    returns      list of dicts, by the columns of a mapping; `guess` says what
                 a line was guessed from
    raises       ValueError when there is no such folder
    """
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ValueError(
            f"FOLDER must be a folder, got {str(folder)!r}: {error.strerror}"
        ) from None
    try:
        places = [
            p.place
            for p in intake.walk(root)
            if p.reason is None and not contents.is_litter(("", *p.parts))
        ]
    finally:
        os.close(root)
    return [
        guessed(place, assignments, students)
        for place in sorted(places)
        if place.lower().endswith((".ipynb", ".zip"))
        and place == tables.neutral(place)
    ]


def guessed(place, assignments, students):
    """One line of a draft."""
    line = {"file": place, "student": "", "assignment": "", "submitted": ""}
    match = CANVAS.fullmatch(place) or MOODLE.fullmatch(place)
    name = match["name"] if match else place.split("/")[0]
    stem = match["stem"] if match else PurePosixPath(place).stem
    line["student"] = _student_called(name, students)
    line["assignment"] = _assignment_called(stem, assignments)
    line["guess"] = f"from the name {name!r} of {stem!r}"
    return line


def _student_called(name, students):
    """The identifier of the one student who may be called so, or ""."""
    if not students:
        made = re.sub(r"[^A-Za-z0-9]+", "_", _unaccented(name)).strip("_")
        return made if roster.fault(made) is None else ""
    fits = [
        student.student
        for student in students.values()
        if _letters(name)
        and _letters(name)
        in (
            _letters(student.student),
            _letters(student.last_name + student.first_name),
            _letters(student.first_name + student.last_name),
        )
    ]
    return fits[0] if len(fits) == 1 else ""


def _assignment_called(stem, assignments):
    """The assignment whose name a file's name holds; the only one; or ""."""
    fits = [name for name in assignments if name.lower() in stem.lower()]
    if len(fits) == 1:
        return fits[0]
    return assignments[0] if len(assignments) == 1 else ""


def _unaccented(text):
    """`text` without accents."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKD", text)
        if not unicodedata.combining(character)
    )


def _letters(name):
    """A name to be compared: its letters and digits, no accents, one case."""
    return "".join(c for c in _unaccented(name).casefold() if c.isalnum())
