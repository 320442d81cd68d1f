"""What became of each submission: one small file each, whole or absent.

A batch that is killed at any moment goes on from these files.
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from shardlab.grading import tables

__all__ = [
    "FAILED",
    "GRADED",
    "KEPT",
    "PENDING",
    "Record",
    "digest",
    "library",
    "read_records",
    "write",
]

PENDING, GRADED, FAILED = "pending", "graded", "failed"


class Record(NamedTuple):
    """What became of one submission.

    student     the identifier
    assignment  the name
    status      "pending", "graded" or "failed"
    digest      of the submission, the checks and the options
    seed        what the hidden checks drew from
    seconds     how long grading took
    tries       2 where the first one met a deadline: the second has the same
                hidden numbers, and keeps what stood
    scored      in how many cells of the gradebook it left a score
    timed_out   whether it met a deadline, in its second try as well
    stopped     sentences: which cells were stopped in which try, and why
    notes       sentences: checks that met an answer they do not know, cells
                that were left out
    error       why it failed, "" if it did not
    """

    student: str
    assignment: str
    status: str
    digest: str
    seed: int | None = None
    seconds: float = 0.0
    scored: int = 0
    timed_out: bool = False
    stopped: list = []
    notes: list = []
    error: str = ""
    tries: int = 1


def write(folder, record):
    """Keep a record, replacing the one before.

    folder  the folder of records
    record  a Record
    """
    path = Path(folder) / record.assignment / f"{record.student}.json"
    text = json.dumps(record._asdict(), indent=1) + "\n"
    tables.replace(path, text.encode())


def read_records(folder):
    """Every record.

    folder   the folder of records
    returns  dict: (student, assignment) -> Record. A damaged file is a record
             of a failure, which names it: the work is graded anew when it is
             handed in again, and nobody else is concerned
    """
    found = [
        _read_record(path) for path in sorted(Path(folder).glob("*/*.json"))
    ]
    return {(record.student, record.assignment): record for record in found}


def _read_record(path):
    """The record that a file holds."""
    names = path.stem, path.parent.name
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        if record[:2] == names and _fits(record):
            return record
        reason = "it is of another submission, or holds what no record does"
    except (OSError, TypeError, ValueError, RecursionError) as error:
        reason = str(error)
    said = f"{path} is damaged ({reason}): grade this submission again"
    return Record(*names, FAILED, "", error=said)


def _fits(record):
    """Whether every field of a record is of the type that `write` gave it."""
    kinds = Record.__annotations__.items()
    typed = all(
        isinstance(getattr(record, name), (int, float) if k is float else k)
        for name, k in kinds
    )
    return typed and all(
        isinstance(words, str) for words in (*record.stopped, *record.notes)
    )


def digest(*parts):
    """One digest of texts and numbers, each of which changes it.

    parts    what JSON can hold
    returns  str
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def library():
    """A digest of this library, whose checks and rules decide the scores."""
    root = Path(__file__).resolve().parents[1]
    return digest(
        *(
            [str(path.relative_to(root)), path.read_text(encoding="utf-8")]
            for path in sorted(root.rglob("*.py"))
        )
    )


# What a process that graded reports, and a record keeps.
KEPT = ("seconds", "scored", "timed_out", "stopped", "notes", "tries")
