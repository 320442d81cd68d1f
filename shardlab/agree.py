"""What was predicted and what was counted, side by side, insisted on.

`agree` is the last line of a cell: it raises unless its values are equal, and
shows them next to each other with a tick, as text and as HTML.
"""

import math
import numbers
from dataclasses import dataclass
from html import escape

__all__ = ["Agreement", "agree"]

DIGITS = 5  # significant ones, of what is not whole
TICK = "✓"
WHOLE_BELOW = 1e15  # floats up to here show every digit of a whole number


def agree(what=None, /, *, unit="", rel=None, **values):
    """Insist that values found in different ways are equal, and show them.

        agree(formula=V * (N - 1) // N, counted=sent, unit="bytes")
        agree("sent over X", formula={2: 64, 4: 96}, counted=by_size)

    what     words for what was found; None: none
    unit     of all values, such as "bytes" or "s"; "": none
    rel      the largest difference that passes, as a share of the larger
             value; None: no difference at all. Two computations of the same
             whole numbers have no reason to differ. Floats that add in another
             order, or in fewer bits, have one, and the text says which
    values   at least two, by name: numbers, words, shapes, or dicts of these
             with the same keys, which become the rows of a table
    returns  Agreement, which Jupyter shows
    raises   AssertionError that names both values when two differ; ValueError
             for fewer than two values, for arrays, booleans and NaN, and for
             dicts whose keys differ
    """
    if len(values) < 2:
        raise ValueError(
            f"agree compares two values or more, by name; it got {len(values)}"
        )
    if rel is not None and not 0 < rel < 1:
        raise ValueError(f"rel must lie between 0 and 1; it is {rel!r}")
    names = tuple(name.replace("_", " ") for name in values)
    tables = [isinstance(value, dict) for value in values.values()]
    if not any(tables):
        rows = {None: tuple(values.values())}
    elif all(tables):
        rows = _rows(values)
    else:
        raise ValueError(
            f"{names[tables.index(False)]} is one value where "
            f"{names[tables.index(True)]} is a dict"
        )
    for key, row in rows.items():
        _insist(names, row, unit, rel, "" if key is None else f"{key}: ")
    return Agreement(names, rows, what, unit, rel)


def _rows(tables):
    """The rows of dicts with the same keys: key -> the value of each."""
    (first, keys), *others = tables.items()
    if not keys:
        raise ValueError(f"{first} is an empty dict; there is nothing to agree")
    for name, table in others:
        if table.keys() != keys.keys():
            raise ValueError(
                f"{first} has the keys {list(keys)}, {name} {list(table)}"
            )
    return {key: tuple(table[key] for table in tables.values()) for key in keys}


def _insist(names, row, unit, rel, where):
    """Raise unless the values of a row are equal."""
    for name, value in zip(names, row, strict=True):
        _refuse(name, value)
    for name, value in zip(names[1:], row[1:], strict=True):
        if not _equal(row[0], value, rel):
            raise AssertionError(
                f"{where}{names[0]} is {_exact(row[0], unit)}, "
                f"{name} is {_exact(value, unit)}"
            )


def _refuse(name, value):
    """Raise ValueError for what cannot be compared as a whole."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (numbers.Real, str)):
            kind = type(part).__name__
            raise ValueError(
                f"{name} must be a number, words or a shape; it is of type "
                f"{kind} (of arrays compare a number, such as the largest "
                "deviation, or use np.testing)"
            )
        if part != part:
            raise ValueError(f"{name} is NaN, which equals nothing")


def _equal(one, other, rel):
    """Whether two values are equal, up to a share `rel` of the larger."""
    shapes = [isinstance(value, (tuple, list)) for value in (one, other)]
    if all(shapes):
        return len(one) == len(other) and all(
            _equal(*pair, rel) for pair in zip(one, other, strict=True)
        )
    words = isinstance(one, str) or isinstance(other, str)
    if rel is None or any(shapes) or words:
        return bool(one == other)
    return math.isclose(one, other, rel_tol=rel)


def _exact(value, unit):
    """A value with all its digits, and its unit."""
    text = repr(value.item() if hasattr(value, "item") else value)
    return f"{text} {unit}".rstrip()


def _digits(value):
    """A value for the eye: separated thousands, at most five digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(_digits, value))
        return f"({inside}{',' if len(value) == 1 else ''})"
    if value == math.inf or value == -math.inf:
        return f"{value:g}".replace("inf", "∞")
    if isinstance(value, numbers.Integral) or (
        value == int(value) and abs(value) < WHOLE_BELOW
    ):
        return f"{int(value):,}"
    short = f"{float(value):,.{DIGITS}g}"
    return short.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


@dataclass(frozen=True)
class Agreement:
    """Values that are equal, as `agree` found them.

    names  by what or whom each was found
    rows   dict: key, or None for one row alone -> the values
    what   words, or None
    unit   of all values
    rel    the difference that was allowed, or None
    """

    names: tuple
    rows: dict
    what: str | None = None
    unit: str = ""
    rel: float | None = None

    @property
    def _near(self):
        """What is said when values may differ a little."""
        return "" if self.rel is None else f"to {100 * self.rel:.2g} %"

    def _shown(self, value):
        """A value and its unit, in a row of its own."""
        return f"{_digits(value)} {self.unit}".rstrip()

    def __repr__(self):
        if None in self.rows:
            pairs = zip(self.names, self.rows[None], strict=True)
            said = f"  {TICK}  ".join(f"{n} {self._shown(v)}" for n, v in pairs)
            head = f"{self.what}: " if self.what else ""
            return f"{head}{said}{self._near and f'  ({self._near})'}"
        unit = f", {self.unit}" if self.unit else ""
        table = [[self.what or "", *(name + unit for name in self.names)]]
        table += [[_key(k), *map(_digits, v)] for k, v in self.rows.items()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for number, (key, *cells) in enumerate(table):
            pairs = zip(cells, widths[1:], strict=True)
            line = "  ".join(cell.rjust(width) for cell, width in pairs)
            tick = f"  {TICK}" if number else self._near and f"  {self._near}"
            lines.append(f"{key.ljust(widths[0])}  {line}{tick}")
        return "\n".join(lines)

    def _repr_html_(self):
        if None in self.rows:
            return self._line()
        unit = f", {escape(self.unit)}" if self.unit else ""
        head = _cell("th", self.what, ' scope="col"') if self.what else _cell()
        head += "".join(
            f'<th scope="col">{escape(name)}{unit}</th>' for name in self.names
        )
        lines = [f"<tr>{head}{_cell('td', self._near)}</tr></thead><tbody>"]
        for key, row in self.rows.items():
            cells = "".join(
                f'<td class="agree-value">{escape(_digits(value))}</td>'
                for value in row
            )
            key = _cell("th", _key(key), ' scope="row"')
            lines.append(f"<tr>{key}{cells}<td>{_tick()}</td></tr>")
        body = "\n".join(lines)
        return f'<table class="agree"><thead>{body}\n</tbody></table>'

    def _line(self):
        """One row as a line of HTML."""
        pairs = [
            f'<span class="agree-name">{escape(name)}</span> '
            f'<strong class="agree-value">{escape(self._shown(value))}</strong>'
            for name, value in zip(self.names, self.rows[None], strict=True)
        ]
        what = near = ""
        if self.what:
            what = f'<span class="agree-what">{escape(self.what)}</span>: '
        if self.rel is not None:
            near = f' <span class="agree-near">({self._near})</span>'
        said = f" {_tick()} ".join(pairs)
        return f'<p class="agree">{what}{said}{near}</p>'


def _key(key):
    """The key of a row in words."""
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _cell(tag="td", text="", more=""):
    """A cell of a table."""
    return f"<{tag}{more}>{escape(text or '')}</{tag}>"


def _tick():
    """The tick, which a screen reader reads as a word."""
    return (
        f'<span class="agree-tick" role="img" aria-label="equals">{TICK}</span>'
    )
