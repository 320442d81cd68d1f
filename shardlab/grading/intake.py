"""Takes one notebook for each student and assignment, and reports the rest.

Nothing is followed, run or believed: a file is opened once, below folders that
are no links, read up to a limit, and what is stored is our own notebook with
the texts of its cells. A notebook of another name, or in a zip archive, is
taken by what it contains. Every path is either taken or reported, but for what
systems leave behind.
"""

import hashlib
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from shardlab.grading import contents, roster, tables

__all__ = [
    "ARCHIVES",
    "MAX_BYTES",
    "UNKNOWN",
    "Found",
    "Refused",
    "Taken",
    "Unfit",
    "Wanted",
    "collect",
    "grade_id",
    "refuse_conflicts",
    "rewritten",
    "shown",
    "too_large",
    "walk",
]

MAX_BYTES = 5 << 20
# Of notebooks that may each be as large as one, and what lies beside them.
MAX_ARCHIVE = 50 << 20
MAX_CELLS = 500
MAX_DEPTH = 8
MAX_DIGITS = 400
KINDS = ("code", "markdown", "raw")
ARCHIVES = (".tar", ".gz", ".tgz", ".7z", ".rar", ".bz2", ".xz")
# What JupyterLab exports a notebook to: it can be read and not be run.
EXPORTS = (".html", ".htm", ".pdf")
EMPTY = "is an empty folder"
# Work that was handed in, and could not be told from that for other sets.
UNKNOWN = "unknown"


class Taken(NamedTuple):
    """A notebook that was stored for grading.

    student     the identifier
    assignment  the name
    place       where it lay, relative to the folder
    digest      of the stored notebook
    time        when it was handed in, datetime in UTC
    """

    student: str
    assignment: str
    place: str
    digest: str
    time: datetime


class Refused(NamedTuple):
    """A path that was not taken.

    place       relative to the folder, or to the mapping
    reason      words that follow the place in a sentence
    student     whose it is, if that can be said
    assignment  likewise; UNKNOWN for work that may be for any of them
    """

    place: str
    reason: str
    student: str = ""
    assignment: str = ""

    def __str__(self):
        return f"{shown(self.place)} {self.reason}"


class Unfit(Exception):
    """A file that is not taken; the text says why."""


class Found(NamedTuple):
    """A path below the folder.

    parts   of the path
    reason  None, or why it is not taken
    member  the notebook's name in an archive; None for a file by itself
    """

    parts: tuple
    reason: str | None
    member: str | None = None

    @property
    def place(self):
        """The path as text, relative to the folder."""
        return "/".join(self.parts)


class Wanted(NamedTuple):
    """Whose a file is, and when it was handed in; None is the file's date."""

    student: str
    assignment: str
    time: datetime | None = None


def collect(
    folder, assignments, target, mapping=None, students=None, known=None
):
    """Store the notebooks below `folder` where nbgrader looks for them.

    folder       one folder a student, named by the identifier, with notebooks
                 named by assignments in it or further below; or, with a
                 mapping, files of any name
    assignments  the names of assignments
    target       the folder that submissions are stored in
    mapping      dict: place -> Wanted, as `mapping.read_mapping` returns it
    students     the identifiers on the roster; None takes anybody
    known        what the cells of each assignment are known by, as
                 `contents.fingerprints` returns it; None goes by names alone
    returns      (list of Taken, list of Refused), each in order of places
    raises       ValueError when `folder` is no folder that can be read
    """
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ValueError(
            f"SUBMISSIONS must be a folder, got {str(folder)!r}: "
            f"{error.strerror}"
        ) from None
    try:
        paths = [p for p in walk(root) if not contents.is_litter(p.parts)]
        wanted, refused = _matched(root, paths, assignments, mapping, known)
        wanted, more = refuse_conflicts(wanted, target, students)
        taken, last = _stored(root, wanted, target)
    finally:
        os.close(root)
    taken.sort(key=lambda one: one.place)
    keys = {one[:2] for one in taken}
    # What lies beside a notebook that is taken says nothing of its points.
    refused = [
        one._replace(assignment="") if one[2:] in keys else one
        for one in refused + more + last
    ]
    return taken, sorted(refused)


def walk(root):
    """Every file and empty folder below `root`, in order; no link is followed.

    root     descriptor of a folder
    returns  iterator over Found; a folder that is not entered stands for what
             is in it
    """
    ahead = [()]
    while ahead:
        parts = ahead.pop()
        try:
            entries = _folder_entries(root, parts)
        except OSError as error:
            yield Found(parts, f"cannot be read: {error.strerror}")
            continue
        if not entries and parts:
            yield Found(parts, EMPTY)
        for name, is_folder, is_file in entries:
            path = (*parts, name)
            if is_folder and len(path) < MAX_DEPTH:
                ahead.append(path)
            elif is_folder:
                yield Found(path, f"lies {MAX_DEPTH} folders deep")
            else:
                yield Found(path, None if is_file else "is no plain file")


def _folder_entries(root, parts):
    """The names in a folder: (name, is it a folder, is it a plain file)."""
    place = _opened(root, parts, os.O_DIRECTORY) if parts else os.dup(root)
    try:
        with os.scandir(place) as entries:
            return sorted(
                (
                    entry.name,
                    entry.is_dir(follow_symlinks=False),
                    entry.is_file(follow_symlinks=False),
                )
                for entry in entries
            )
    finally:
        os.close(place)


def _opened(root, parts, flags=0):
    """A descriptor of the path `parts` below `root`; no part may be a link."""
    place = os.dup(root)
    try:
        for part in parts[:-1]:
            above = place
            place = os.open(
                part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above
            )
            os.close(above)
        safe = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(parts[-1], safe | flags, dir_fd=place)
    finally:
        os.close(place)


def _matched(root, paths, assignments, mapping, known):
    """Whose each path is: (list of (Found, Wanted), list of Refused)."""
    wanted, refused, seen, unclear = [], [], set(), []
    for path in paths:
        seen.add(path.place)
        if mapping is None:
            reason, one = _by_folder(path.parts, assignments)
        else:
            one = mapping.get(path.place)
            reason = None if one else "is not in the mapping"
        if reason := path.reason or reason:
            refused.append(Refused(path.place, reason, *_whose(path, one)))
        elif not one.student:
            refused.append(Refused(path.place, "has no student in the mapping"))
        elif one.assignment == UNKNOWN or _is_zip(path.place):
            unclear.append((path, one))
        else:
            wanted.append((path, one))
    for path, one in unclear:
        try:
            found, broken = _by_content(
                root, path, one, assignments, known or {}
            )
            wanted += found
            refused += broken
        except Unfit as error:
            hint = contents.assignment_named(path.place, assignments)
            keys = (one.student, hint or one.assignment)
            refused.append(Refused(path.place, str(error), *keys))
    for place in sorted(set(mapping or ()) - seen):
        refused.append(Refused(place, "is in the mapping, but not there"))
    return wanted, refused


def _whose(path, one):
    """Student and assignment of a path that is not taken, if it is work."""
    if one is not None:
        return one[:2]
    if path.reason not in (None, EMPTY) and roster.fault(path.parts[0]) is None:
        return (path.parts[0], UNKNOWN)
    return ()


def _is_zip(place):
    """Whether a place is that of a zip archive, by its name."""
    return place.lower().endswith(".zip")


def _by_content(root, path, one, assignments, known):
    """What a file of another name, or an archive, holds of a student's work.

    root         descriptor of the folder of submissions
    path         Found
    one          Wanted, whose assignment may be UNKNOWN
    assignments  the names of assignments
    known        as `collect` takes it
    returns      (list of (Found, Wanted), list of Refused), the second for
                 what in an archive is not taken
    raises       Unfit for a file, or an archive, that is not taken as a whole
    """
    data, _ = _content(root, path.parts)
    files = contents.members(data) if _is_zip(path.place) else {None: data}
    if not files:
        raise Unfit("holds no notebook")
    found, broken = {}, []
    for name, text in files.items():
        try:
            whole = (name or path.parts[-1], text, len(files) == 1)
            assignment = _meant(*whole, one, assignments, known)
        except Unfit as error:
            if name is None:
                raise
            # What an archive is called speaks for the only thing in it.
            about = name if len(files) > 1 else f"{path.place} {name}"
            hint = contents.assignment_named(about, assignments)
            said = f"holds {shown(name)}, which {error}"
            keys = (one.student, hint or one.assignment)
            broken.append(Refused(path.place, said, *keys))
        else:
            found.setdefault(assignment, []).append(name)
    taken = []
    for assignment, names in found.items():
        work = one._replace(assignment=assignment)
        best, aside = _preferred(names, work)
        taken += [(path._replace(member=name), work) for name in best]
        broken += [Refused(path.place, *said) for said in aside]
    return taken, broken


def _meant(name, text, alone, one, assignments, known):
    """The assignment that a notebook is for; Unfit when it is for none.

    name         of the file
    text         its bytes, or an Unfit
    alone        whether it is all that was handed in by this path
    one          Wanted, whose assignment may be UNKNOWN
    assignments  the names of assignments
    known        as `collect` takes it
    """
    if isinstance(text, Unfit):
        raise text
    found = contents.assignment_of(rewritten(text), known)
    found = found or contents.assignment_named(name, assignments)
    if one.assignment == UNKNOWN and found:
        return found
    if one.assignment == UNKNOWN:
        raise Unfit(
            "is not the notebook of any assignment, by name or by cells"
        )
    if not alone and found != one.assignment:
        raise Unfit(f"is not the notebook of {one.assignment}")
    return one.assignment


def _preferred(names, work):
    """Which of the notebooks for one assignment in an archive counts.

    names    of the notebooks; [None] for a file by itself
    work     Wanted
    returns  (list of the one that is taken, list of what `Refused` takes for
             the others)
    """
    if len(names) == 1:
        return names, []
    given = f"{work.assignment}.ipynb"
    named = [name for name in names if PurePosixPath(name).name == given]
    if len(named) == 1:
        # As in a folder, the name that was given out decides.
        said = f"which is left aside for {shown(named[0])} beside it"
        others = [name for name in names if name not in named]
        return named, [(f"holds {shown(name)}, {said}",) for name in others]
    first, second = map(shown, names[:2])
    said = f"holds two notebooks for {work.assignment}: {first} and {second}"
    return [], [(said, *work[:2])]


def _by_folder(parts, assignments):
    """Why a path is no submission, or None, and whose it is."""
    student, name = parts[0], parts[-1]
    if len(parts) == 1:
        return "lies in no student's folder", None
    if reason := roster.fault(student):
        return f"lies in a folder whose name {reason}", None
    stem, suffix = os.path.splitext(name)
    if suffix == ".ipynb" and stem in assignments:
        return None, Wanted(student, stem)
    named = contents.assignment_named(name, assignments)
    work = Wanted(student, named or UNKNOWN)
    if suffix.lower() in ARCHIVES:
        return "is an archive; send the notebook itself, or a zip", work
    if contents.is_notebook(name) or _is_zip(name):
        return None, Wanted(student, UNKNOWN)
    if named or suffix.lower() in EXPORTS:
        return "is no notebook; send the .ipynb file itself", work
    return "is no notebook", None


def refuse_conflicts(wanted, target, students):
    """Refuse what two files claim, and whom the roster does not know."""
    # Who was there before, or is on the roster, is whom a name means.
    before = _names_in(target) if students is None else students
    known = {name.lower(): {name} for name in before}
    first, places = set(known), {}
    for path, one in wanted:
        if one.student.lower() not in first:
            known.setdefault(one.student.lower(), set()).add(one.student)
        places.setdefault(one[:2], []).append(path)
    kept, refused = [], []
    for path, one in wanted:
        alike = sorted(known[one.student.lower()] - {one.student})
        twice = [other for other in places[one[:2]] if other != path]
        if any(_is_named(other, one) for other in (path, *twice)):
            # The name that was given out decides against copies of others.
            if not _is_named(path, one):
                said = f"is left aside for {one.assignment}.ipynb beside it"
                refused.append(Refused(path.place, said))
                continue
            twice = [other for other in twice if _is_named(other, one)]
        twice = [other.place for other in twice]
        if reason := _doubt(one.student, students, alike, twice):
            refused.append(Refused(path.place, reason, *one[:2]))
        else:
            kept.append((path, one))
    return kept, refused


def _is_named(path, one):
    """Whether a file has the name that its notebook was given out with."""
    return path.parts[-1] == f"{one.assignment}.ipynb"


def _doubt(student, students, alike, twice):
    """Why it is unclear whose a notebook is, or which counts; or None."""
    if students is not None and student not in students:
        return f"is of {student}, who is not on the roster"
    if alike:
        names = " and ".join(sorted([student, *alike]))
        return f"belongs to one of {names}, which differ in case only"
    if twice:
        return f"is there twice: {shown(twice[0])} is the same"
    return None


def _names_in(folder):
    """The names in a folder, none if it does not exist."""
    return os.listdir(folder) if os.path.isdir(folder) else []


def _stored(root, wanted, target):
    """Read and store each submission: (list of Taken, list of Refused)."""
    taken, refused = [], []
    for path, one in wanted:
        try:
            data, time = _content(root, path.parts)
            if path.member is not None:
                data = contents.members(data, path.member)[path.member]
            text = rewritten(data)
            time = one.time or time
        except Unfit as error:
            refused.append(Refused(path.place, str(error), *one[:2]))
            continue
        folder = Path(target) / one.student / one.assignment
        stamp = f"{time:%Y-%m-%d %H:%M:%S.%f} UTC\n"
        tables.replace(folder / "timestamp.txt", stamp.encode())
        tables.replace(folder / f"{one.assignment}.ipynb", text)
        digest = hashlib.sha256(text).hexdigest()
        taken.append(Taken(*one[:2], path.place, digest, time))
    return taken, refused


def _content(root, parts):
    """The bytes of a plain file, and when it was last changed, now at most.

    root    descriptor of a folder
    parts   of the path below it
    raises  Unfit for anything else, and for a file that is too large
    """
    try:
        with open(_opened(root, parts), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unfit("is no plain file")
            if status.st_nlink != 1:
                raise Unfit("is a hard link to another file; copy it")
            most = MAX_ARCHIVE if _is_zip(parts[-1]) else MAX_BYTES
            data = stream.read(most + 1)
        time = datetime.fromtimestamp(status.st_mtime, UTC)
        time = min(time, datetime.now(UTC))  # a clock that was ahead
    except OSError as error:
        raise Unfit(f"cannot be read: {error.strerror}") from None
    except (ValueError, OverflowError):
        raise Unfit("has an impossible date") from None
    if len(data) > most:
        raise too_large(most)
    return data, time


def too_large(most):
    """What is said of a file of more than `most` bytes."""
    return Unfit(
        f"is larger than {most >> 20} MB; outputs of notebooks can be cleared"
    )


def rewritten(data):
    """A submitted notebook as we write it: the texts of its cells.

    data     bytes of the file
    returns  bytes of a notebook whose cells have their kind, their text and
             the name that nbgrader gave them, and nothing else
    raises   Unfit that says why this is no notebook
    """
    cells = [_plain(n, cell) for n, cell in enumerate(_cells_of(data))]
    kernel = {"name": "python3", "display_name": "Python 3"}
    kernel["language"] = "python"
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, sort_keys=True).encode() + b"\n"


def _parsed(data):
    """What the JSON in a file says, in numbers as far as they are used."""
    try:
        return json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_unique,
            parse_int=_json_int,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError:
        raise Unfit("is not text in UTF-8") from None
    except RecursionError:
        raise Unfit("is nested too deep to be a notebook") from None
    except ValueError as error:
        raise Unfit(f"is not JSON: {error}") from None


def _cells_of(data):
    """The cells of a notebook file, as its JSON has them."""
    made = _parsed(data)
    if not isinstance(made, dict) or not isinstance(made.get("nbformat"), int):
        raise Unfit("is no notebook")
    if made["nbformat"] != 4:
        raise Unfit(
            f"is a notebook of format {made['nbformat']}; open and save it in "
            "JupyterLab, which writes format 4"
        )
    cells = made.get("cells")
    if not isinstance(cells, list):
        raise Unfit("is a notebook without cells")
    if len(cells) > MAX_CELLS:
        raise Unfit(f"has {len(cells)} cells, more than {MAX_CELLS}")
    return cells


def _unique(pairs):
    """The dict of a JSON object, in which no name stands twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Unfit("has an object with the same name twice")
    return made


def _json_int(digits):
    """An integer of JSON; None for one longer than any that is used here."""
    return int(digits) if len(digits) <= MAX_DIGITS else None


def _no_number(name):
    """None for NaN and Infinity: JSON lacks them, and outputs have them."""
    return None


def _plain(number, cell):
    """What is kept of the cell of this number."""
    where = f"in cell {number + 1}"
    if not isinstance(cell, dict) or cell.get("cell_type") not in KINDS:
        raise Unfit(f"has something {where} that is no cell")
    made = {
        "cell_type": cell["cell_type"],
        "id": f"cell-{number}",
        "metadata": {},
        "source": _source(where, cell.get("source")),
    }
    if cell["cell_type"] == "code":
        made |= {"execution_count": None, "outputs": []}
    if name := grade_id(cell):
        made["metadata"] = {"nbgrader": {"grade_id": name}}
    return made


def _source(where, text):
    """The text of a cell: one text, or a list of lines."""
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        text = "".join(text)
    if not isinstance(text, str):
        raise Unfit(f"has no text {where}")
    if "\0" in text:
        raise Unfit(f"has a null character {where}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Unfit(f"has half a character {where}")
    return text


def grade_id(cell):
    """The name that nbgrader gave a cell, or None; all that we keep of it."""
    metadata = cell.get("metadata")
    mark = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = mark.get("grade_id") if isinstance(mark, dict) else None
    fits = isinstance(name, str) and name.isascii() and name.isprintable()
    return name if fits and len(name) <= 128 else None


def shown(name, longest=200):
    """A text for a message: nothing in it moves the cursor of a terminal.

    name     such as a path
    longest  how many characters are shown
    """
    text = "".join(
        c if c.isprintable() else repr(c)[1:-1] for c in name[:longest]
    )
    return text if len(text) < longest else f"{text[: longest - 3]}..."
