"""Which assignment a file holds, whatever it is called.

Browsers add " (1)" to names, people zip folders, and systems write names in
capitals. What a notebook is, its cells say.
"""

import io
import json
import zipfile
from pathlib import PurePosixPath

from shardlab.grading import intake

__all__ = [
    "assignment_named",
    "assignment_of",
    "fingerprints",
    "is_litter",
    "is_notebook",
    "members",
]

MAX_MEMBERS = 2000
MAX_NOTEBOOKS = 40
# Cells that must be those of a set before a notebook is taken for it.
LEAST = 2
# Folders and files that systems leave behind; what is in them is nobody's.
LITTER = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini", "Icon\r")


def is_litter(parts):
    """Whether a path is one that a system left behind, to be passed over.

    parts  of a path below the folder of submissions; a student's own folder
           is no litter for its dot alone: somebody's work may be in it
    """
    first, *rest = parts
    if first in (*LITTER, ".ipynb_checkpoints", ".git", ".DS_Store"):
        return True
    hidden = (part.startswith(".") and part.strip(".") for part in rest)
    return any(hidden) or any(part in LITTER for part in rest)


def fingerprints(notebooks):
    """What the cells of each assignment are known by.

    notebooks  dict: assignment -> notebook
    returns    dict: assignment -> set of texts and names of cells
    """
    return {
        assignment: {
            mark
            for cell in notebook.cells
            for mark in _marks(cell.cell_type, cell.source, cell.metadata)
        }
        for assignment, notebook in notebooks.items()
    }


def _marks(kind, text, metadata):
    """What a cell is known by: its name, or the text of a Markdown cell."""
    if name := intake.grade_id({"metadata": metadata}):
        yield ("name", name)
    elif kind == "markdown" and len(text) > 40:
        yield ("text", " ".join(text.split()))


def assignment_of(data, known):
    """The assignment whose cells a notebook has, or None.

    data    bytes of the notebook as `intake.rewritten` returns them
    known   as `fingerprints` returns it
    """
    cells = json.loads(data)["cells"]
    found = {
        mark
        for cell in cells
        for mark in _marks(cell["cell_type"], cell["source"], cell["metadata"])
    }
    counts = {name: len(found & theirs) for name, theirs in known.items()}
    best = sorted(counts.values())[-2:]
    if not best or best[-1] < LEAST or len(set(best)) < len(best):
        return None
    return max(counts, key=counts.get)


def assignment_named(name, assignments):
    """The one assignment that a file's name holds, in any case, or None."""
    stem = PurePosixPath(name).name.lower()
    fits = [one for one in assignments if one.lower() in stem]
    return fits[0] if len(fits) == 1 else None


def is_notebook(name):
    """Whether a file is a notebook by its name, which browsers lengthen."""
    return ".ipynb" in PurePosixPath(name).name.lower()


def members(data, only=None):
    """The notebooks in a zip archive: dict of name -> bytes, or intake.Unfit.

    data    bytes of the archive; nothing is written, and each notebook is
            read up to the limit for one. What cannot be read, or is an archive
            itself, stands there with the reason
    only    the one name that is read; None reads all
    raises  intake.Unfit for an archive that cannot be read
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read_entries(archive, _notebooks_in(archive), only)
    except intake.Unfit:
        raise
    except (zipfile.BadZipFile, EOFError, OSError):
        raise intake.Unfit("is a broken archive; send the notebook") from None
    except Exception:  # whatever the bytes of a stranger lead to
        raise intake.Unfit(
            "is an archive that cannot be read; send the notebook"
        ) from None


def _notebooks_in(archive):
    """What in an archive is a notebook, or an archive, by its name."""
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise intake.Unfit(f"holds more than {MAX_MEMBERS} files")
    endings = (".zip", *intake.ARCHIVES)
    found = [
        entry
        for entry in entries
        if is_notebook(entry.filename)
        or entry.filename.lower().endswith(endings)
        if not entry.is_dir()
        if not is_litter(("", *PurePosixPath(entry.filename).parts))
    ]
    if len(found) > MAX_NOTEBOOKS:
        raise intake.Unfit(f"holds more than {MAX_NOTEBOOKS} notebooks")
    return found


def _read_entries(archive, entries, only):
    """The bytes of entries of an archive, or why there are none, by name."""
    found = {}
    for entry in entries:
        name = entry.filename
        if name in found:
            found[name] = intake.Unfit("is there twice under one name")
        elif only in (None, name):
            found[name] = _member(archive, entry)
    return found


def _member(archive, entry):
    """The bytes of one notebook in an archive, or intake.Unfit says why not."""
    if not is_notebook(entry.filename):
        return intake.Unfit("is an archive in an archive; send the notebook")
    try:
        with archive.open(entry) as stream:
            data = stream.read(intake.MAX_BYTES + 1)
    except Exception:  # likewise; a password is among them
        return intake.Unfit("cannot be read; send the notebook itself")
    if len(data) > intake.MAX_BYTES:
        return intake.too_large(intake.MAX_BYTES)
    return data
