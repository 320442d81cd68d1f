"""Attacks by the folder that is handed in, before any program runs."""

import os
import socket
import warnings
import zipfile

from tests.grading.suite.course import STEM
from tests.grading.suite.rows import Row

NAME = f"{STEM}.ipynb"


def solutions(root):
    """The file that no student should have."""
    return root / "solutions" / STEM / NAME


def linked(folder, data, root):
    """A link to the solutions instead of a notebook."""
    (folder / NAME).symlink_to(solutions(root))


def linked_folder(folder, data, root):
    """A link to the folder of solutions instead of the student's."""
    folder.rmdir()
    folder.symlink_to(solutions(root).parent)


def linked_below(folder, data, root):
    """A folder below that is a link."""
    (folder / "work").symlink_to(solutions(root).parent)


def relative(folder, data, root):
    """A relative link that leads out and back."""
    place = os.path.relpath(solutions(root), folder)
    (folder / NAME).symlink_to(place)


def hard(folder, data, root):
    """A hard link to the solutions."""
    os.link(solutions(root), folder / NAME)


def pipe(folder, data, root):
    """A named pipe, which would be read for ever."""
    os.mkfifo(folder / NAME)


def zeros(folder, data, root):
    """A link to a device that never ends."""
    (folder / NAME).symlink_to("/dev/zero")


def wire(folder, data, root):
    """A socket."""
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(folder)
        try:
            made.bind(NAME)
        finally:
            os.chdir(here)


def nothing(folder, data, root):
    """A folder that is called like a notebook."""
    (folder / NAME).mkdir()


def loop(folder, data, root):
    """A folder in itself."""
    (folder / "again").symlink_to(folder)


def deep(folder, data, root):
    """The notebook, many folders down."""
    below = folder / "/".join("abcdefghijkl")
    below.mkdir(parents=True)
    (below / NAME).write_bytes(data)


def packed(folder, data, root):
    """An archive with names that lead out."""
    with zipfile.ZipFile(folder / f"{STEM}.zip", "w") as archive:
        archive.writestr(f"../../{NAME}", data)


def archive(folder, data, root):
    """An archive that is none."""
    (folder / f"{STEM}.zip").write_bytes(b"PK\3\4" + data)


def twice(folder, data, root):
    """Two notebooks for one assignment."""
    (folder / NAME).write_bytes(data)
    (folder / "more").mkdir()
    (folder / "more" / NAME).write_bytes(data)


def stamped(folder, data, root):
    """A date of its own, and a log that is a program to another grader."""
    (folder / NAME).write_bytes(data)
    (folder / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC")
    (folder / ".OTTER_LOG").write_bytes(b"\x80\x04\x95")
    (folder / "nbgrader_config.py").write_text("open('canary', 'w')")
    (folder / "conftest.py").write_text("open('canary', 'w')")


def hidden(folder, data, root):
    """Modules beside the notebook that would be imported first."""
    (folder / NAME).write_bytes(data)
    for name in ("numpy.py", "jax.py", "sitecustomize.py", "shardlab.py"):
        (folder / name).write_text("copies = 2")


def odd_names(folder, data, root):
    """Names that move the cursor, and that are no UTF-8."""
    (folder / NAME).write_bytes(data)
    (folder / "\x1b[2J\u202e.ipynb").write_bytes(data)
    with open(os.fsencode(folder) + b"/\xff\xfe.ipynb", "wb") as file:
        file.write(data)
    (folder / "<script>alert(1)<!--.ipynb").write_bytes(data)


def content(text):
    """A file of this content."""

    def files(folder, data, root):
        (folder / NAME).write_bytes(text(data))

    return files


def dated(seconds):
    """A file of this date, in seconds since 1970."""

    def files(folder, data, root):
        (folder / NAME).write_bytes(data)
        os.utime(folder / NAME, (seconds, seconds))

    return files


def members(*parts):
    """An archive of these (name, number of blanks); None is the notebook."""

    def files(folder, data, root):
        path = folder / f"{STEM}.zip"
        with (
            warnings.catch_warnings(),
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            warnings.simplefilter("ignore")  # a name stands there twice
            for name, size in parts:
                archive.writestr(name, data if size is None else b" " * size)

    return files


def refused(name, files, reason):
    """Files that are not taken, for a reason."""
    return Row(name, None, files=files, refused=reason)


ROWS = (
    refused("a link to the solutions", linked, "no plain file"),
    refused("a relative link", relative, "no plain file"),
    refused("the student's folder is a link", linked_folder, "no "),
    refused("a folder below is a link", linked_below, "no plain file"),
    refused("a hard link to the solutions", hard, "hard link"),
    refused("a named pipe", pipe, "no plain file"),
    refused("a link to /dev/zero", zeros, "no plain file"),
    refused("a socket", wire, "no plain file"),
    refused("a folder named like a notebook", nothing, "empty folder"),
    refused("a folder in itself", loop, "no plain file"),
    refused("a notebook very deep down", deep, "folders deep"),
    refused("a broken archive", archive, "broken archive"),
    Row("an archive with names that lead out", 0, files=packed),
    refused("two notebooks", twice, "twice"),
    refused(
        "a file of 60 MB", content(lambda d: d + b" " * 60_000_000), "5 MB"
    ),
    refused("an empty file", content(lambda d: b""), "JSON"),
    refused("half a file", content(lambda d: d[: len(d) // 2]), "JSON"),
    refused("no UTF-8", content(lambda d: d + b"\xff\xfe"), "UTF-8"),
    refused("UTF-16", content(lambda d: d.decode().encode("utf-16")), "UTF-8"),
    refused("brackets without end", content(lambda d: b"[" * 200_000), "deep"),
    refused(
        "a number without end", content(lambda d: b"1" * 10**6), "no notebook"
    ),
    refused("not a dict", content(lambda d: b"[1, 2, 3]"), "no notebook"),
    refused("a zip with the right name", content(lambda d: b"PK\3\4"), "JSON"),
    refused("a program", content(lambda d: b"#!/bin/sh\ntouch x"), "JSON"),
    refused(
        "half a character in the file",
        content(lambda d: d.replace(b"copies = 5", b"copies = \\ud800")),
        "half a character",
    ),
    refused(
        "a null character",
        content(lambda d: d.replace(b"copies = 5", b"copies = \\u0000")),
        "null",
    ),
    Row("a date and settings of its own", 0, files=stamped, refused=""),
    Row("modules beside the notebook", 0, files=hidden, refused=""),
    Row("names that move the cursor", 0, files=odd_names, refused=""),
    Row("a date before all dates", 0, files=dated(-(10**11))),
    Row("a date after all dates", 0, files=dated(10**12)),
    refused(
        "two lists of cells under one key",
        content(lambda d: d[:-1] + b', "cells": []}'),
        "twice",
    ),
    refused(
        "an archive with one name twice",
        members((NAME, None), (NAME, 2)),
        "twice under one name",
    ),
    refused(
        "an archive that grows to a quarter of a gigabyte",
        members((NAME, 256 << 20)),
        "5 MB",
    ),
    refused(
        "an archive of twenty thousand names",
        members((NAME, None), *((f"{n}.txt", 0) for n in range(20_000))),
        "files",
    ),
)
