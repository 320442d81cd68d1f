"""Tables of what was computed, as text and as HTML."""

import re
from dataclasses import dataclass
from html import escape

__all__ = ["Table", "table"]

_SUBSCRIPT = re.compile(
    r"(?<=[A-Za-z\]}]_)[XYZ]{1,3}(?![A-Za-z0-9_])|(?<=@)[XYZ](?![A-Za-z])"
)
# A column of words stands at the left, one of numbers at the right.
_NUMBER = re.compile(
    r"[-+−]?[\d.,]+(e[-+]?\d+)?( ?(%|×|x|[kMGTP]?B|[µnm]?s|days|chips))?|∞|—|"
)


def table(columns, rows, corner=""):
    """A table, which Jupyter shows as the last line of a cell.

        plot.table(
            {"sent, MB": ".1f", "by": ""},
            {"AllGather": (V / 1e6, "links"), "AllToAll": (V / 4e6, "links")},
        )

    columns  dict: heading -> how its cells are formatted, such as ".1f" or
             ",.0f"; "" for words, and for whole numbers as they are
    rows     dict: name of a row -> its cells, one for each column; None is an
             empty cell, and words stand as they are. A name may be a tuple
    corner   heading of the names
    returns  Table
    raises   ValueError for no column, no row, a row of another length, or a
             cell that its format does not fit
    """
    if not columns or not rows:
        raise ValueError(
            f"a table needs a column and a row, got {len(columns)} columns "
            f"and {len(rows)} rows"
        )
    shown = {}
    for name, cells in rows.items():
        if isinstance(cells, str) or len(cells) != len(columns):
            raise ValueError(
                f"row {name!r} must have {len(columns)} cells, got {cells!r}"
            )
        pairs = zip(columns.items(), cells, strict=True)
        words = ", ".join(map(str, name)) if isinstance(name, tuple) else name
        shown[str(words)] = tuple(_cell(name, *pair) for pair in pairs)
    if len(shown) < len(rows):
        raise ValueError(f"names of rows must differ, got {list(rows)}")
    return Table(tuple(columns), shown, corner)


def _cell(row, column, value):
    """A cell in words."""
    heading, form = column
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return format(value, form)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"row {row!r}, column {heading!r}: {value!r} cannot be formatted "
            f"by {form!r} ({error})"
        ) from None


@dataclass(frozen=True)
class Table:
    """A table in words.

    columns  headings
    rows     dict: name -> its cells, in words
    corner   heading of the names
    """

    columns: tuple
    rows: dict
    corner: str = ""

    @property
    def _right(self):
        """For each column whether it holds numbers, which end at the right."""
        columns = zip(*self.rows.values(), strict=True)
        return [all(_NUMBER.fullmatch(c) for c in cells) for cells in columns]

    def __repr__(self):
        lines = [(self.corner, *self.columns)]
        lines += [(name, *cells) for name, cells in self.rows.items()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        turns = [False, *self._right]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, turns, strict=True)
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self):
        marks = [' class="table-number"' if n else "" for n in self._right]
        head = f'<th scope="col">{_html(self.corner)}</th>'
        if not self.corner:
            head = "<td></td>"
        for words, mark in zip(self.columns, marks, strict=True):
            head += f'<th scope="col"{mark}>{_html(words)}</th>'
        lines = []
        for name, cells in self.rows.items():
            line = f'<tr><th scope="row">{_html(name)}</th>'
            for cell, mark in zip(cells, marks, strict=True):
                line += f"<td{mark}>{_html(cell)}</td>"
            lines.append(f"{line}</tr>")
        body = "\n".join(lines)
        return (
            f'<table class="shown"><thead><tr>{head}</tr></thead>\n'
            f"<tbody>{body}</tbody></table>"
        )


def _html(words):
    """Words in HTML, with the axes of a layout in their colours."""
    return _SUBSCRIPT.sub(
        lambda found: "".join(
            f'<span class="axis-{axis.lower()}">{axis}</span>'
            for axis in found[0]
        ),
        escape(words),
    )
