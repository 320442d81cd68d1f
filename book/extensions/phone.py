"""Keeps the forms that pictures take on a phone beside the notebooks.

To find a form takes ten times as long as to write the picture into a page. So
`make notebooks` finds those of all pictures of a chapter, and a build reads
them. A picture whose form is not stored gets it when the page is built.
"""

import functools
import hashlib
import itertools
import json
from pathlib import Path

import narrow

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = "chapters/phone"
# Digits that the style of a page can show.
PLACES, SHARES = 2, 5


def name_of(svg):
    """The name under which the form of a picture is kept."""
    return hashlib.sha256(svg.encode()).hexdigest()[:16]


def form_of(svg, folder=ROOT / FOLDER):
    """The form of a picture, kept or found now.

    svg      text of a picture
    folder   of the files that `keep` wrote
    returns  what `narrow.form` does, rounded
    """
    found = kept(folder).get(name_of(svg)) or written(narrow.form(svg))
    return read(found)


@functools.cache
def kept(folder, rules=None):
    """Every form that is stored, by name.

    rules    None, or a digest: only those that such rules have found
    """
    found = {}
    for path in sorted(folder.glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        if rules in (None, file["rules"]):
            found |= file["forms"]
    return found


def written(form):
    """A form as JSON can hold it: see `narrow.form`."""
    pieces, room, how = form
    return {
        "pieces": [_piece(piece) for piece in pieces],
        "room": room,
        "how": [how.small, sorted(how.broken), how.above, sorted(how.turned)],
    }


def read(found):
    """What `narrow.form` returned, from what `written` made of it."""
    small, broken, above, turned = found["how"]
    how = narrow.Letters(small, frozenset(broken), above, frozenset(turned))
    pieces = [
        narrow.Piece(
            **{
                **piece,
                **{n: tuple(piece[n]) for n in ("box", "pad", "gutter")},
                **{n: _tags(piece[n]) for n in ("tags", "labels")},
                "pivots": {
                    (kind, n): (x, y)
                    for kind, places in piece["pivots"].items()
                    for n, x, y in places
                },
            }
        )
        for piece in found["pieces"]
    ]
    return pieces, found["room"], how


def _piece(piece):
    """A Piece as a dict; what its elements are called, as runs of numbers."""
    pivots = {}
    for (kind, n), place in sorted(piece.pivots.items()):
        at = (round(float(number), PLACES) for number in place)
        pivots.setdefault(kind, []).append([n, *at])
    return piece._asdict() | {
        **{
            n: [round(float(v), PLACES) for v in getattr(piece, n)]
            for n in ("box", "pad", "gutter")
        },
        **{
            n: round(float(getattr(piece, n)), SHARES)
            for n in ("squeeze", "tall", "high")
        },
        **{n: _runs(getattr(piece, n)) for n in ("tags", "labels")},
        "pivots": pivots,
    }


def _runs(tags):
    """Tags as runs of numbers, by what is drawn."""
    found = {}
    for kind, n in sorted(tags):
        runs = found.setdefault(kind, [])
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return found


def _tags(runs):
    """Tags, from what `_runs` made of them."""
    return tuple(
        (kind, n)
        for kind, pairs in runs.items()
        for n in itertools.chain(*(range(a, b + 1) for a, b in pairs))
    )
