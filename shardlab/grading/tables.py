"""Tables that instructors give and get: CSV files, read strictly.

What a spreadsheet program writes is read: a byte order mark, semicolons or
tabs between the columns, a first line that names them, `sep=;`, empty lines,
and lines that end as on an old Mac. What is written can be opened in one: no
text of a student becomes a formula.
"""

import csv
import io
import os
import re
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "UNPRINTABLE",
    "TableRow",
    "neutral",
    "read_table",
    "replace",
    "write",
]

MAX_BYTES = 20 << 20
SEPARATORS = ",;\t"
# With one of these at its start, a spreadsheet program takes text for a
# formula, spaces before it or not; full-width forms count as well.
FORMULA = tuple("=+-@|%\t\r\n\0＝＋－＠")

# Control characters, and halves of characters that no file can hold.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class TableRow(NamedTuple):
    """One line of a table.

    line   its number in the file, for messages
    cells  dict: column -> text without spaces around it
    """

    line: int
    cells: dict


def read_table(path, needed, optional=()):
    """The lines of a CSV file.

    path      the file; its first line names the columns, in any order; lines
              without text may stand before it
    needed    columns that must be there
    optional  columns that may be there; an absent one reads as ""
    returns   list of TableRow; lines without any text are left out
    raises    ValueError that names the file, the line and what is wrong
    """
    text = _content(path).replace("\r\n", "\n").replace("\r", "\n")
    said = re.match(r'\s*"?sep=([,;\t])"?[ ,;\t]*(?=\n)', text)
    if said:  # the numbers of the lines stay as they are
        text = "\n" * said[0].count("\n") + text[said.end() :]
    head = text.strip().partition("\n")[0]
    separator = said[1] if said else max(SEPARATORS, key=head.count)
    try:
        reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
        lines = [(reader.line_num, row) for row in reader if any(row)]
    except csv.Error as error:
        raise ValueError(f"{path}: {error}") from None
    columns = _header(path, lines[0][1] if lines else [], needed, optional)
    absent = dict.fromkeys(set(optional) - set(columns), "")
    return [
        TableRow(number, absent | _cells(path, number, columns, row))
        for number, row in lines[1:]
        if any(cell.strip() for cell in row)
    ]


def _content(path):
    """The text of a file in UTF-8, with or without a byte order mark."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path}: larger than {MAX_BYTES >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: not in UTF-8; save the table as CSV UTF-8"
        ) from None


def _header(path, row, needed, optional):
    """The columns that the first line names."""
    columns = [name.strip().lower() for name in row]
    known = (*needed, *optional)
    for name in columns:
        if name and name not in known:
            raise ValueError(
                f"{path}, line 1: unknown column {name!r}; the columns are "
                f"{', '.join(known)}"
            )
        if columns.count(name) > 1:
            raise ValueError(f"{path}, line 1: column {name!r} is there twice")
    for name in needed:
        if name not in columns:
            raise ValueError(
                f"{path}, line 1: column {name!r} is missing; the first line "
                f"must name the columns {', '.join(known)}"
            )
    return columns


def _cells(path, number, columns, row):
    """The cells of one line by column."""
    extra = [cell for cell in row[len(columns) :] if cell.strip()]
    if extra:
        raise ValueError(
            f"{path}, line {number}: {len(row)} cells, but the first line "
            f"names {len(columns)} columns"
        )
    padded = row + [""] * (len(columns) - len(row))
    pairs = zip(columns, padded, strict=False)
    return {name: cell.strip() for name, cell in pairs}


def write(path, columns, rows, restval=""):
    """Write a CSV file, whole or not at all.

    path     the file
    columns  the names of the columns, in order
    rows     dicts: column -> text or number; None is an empty cell
    restval  what stands in a column that a row lacks
    """
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow([neutral(name) for name in columns])
    for row in rows:
        writer.writerow([neutral(row.get(name, restval)) for name in columns])
    replace(path, table.getvalue().encode("utf-8"))


def neutral(value):
    """A value as a cell's content that no spreadsheet program computes."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:.10g}" if isinstance(value, float) else str(value)
    text = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def replace(path, data):
    """Put `data` into the file at `path`, in one step that a kill cannot cut.

    path  the file; folders on the way are made
    data  bytes
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
