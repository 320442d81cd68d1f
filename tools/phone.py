"""Finds the forms that a chapter's pictures take on a phone, and keeps them.

    chapters/NN_stem.ipynb  ->  chapters/phone/NN_stem.json

It is what takes longest in the page, and depends on the pictures and on the
rules in narrow.py. Without a file a build finds the forms by itself.
"""

import ast
import functools
import hashlib
import json
import sys
from pathlib import Path

from tools import atomic, meaning

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book/extensions"))

import figures  # noqa: E402 - needs the folder of the page's extensions
import narrow  # noqa: E402
import phone  # noqa: E402

SVG = "image/svg+xml"


@functools.cache
def rules():
    """What a form depends on besides the picture, as hexadecimal digits."""
    tree = ast.parse(Path(narrow.__file__).read_text(encoding="utf-8"))
    return hashlib.sha256(meaning.syntax(tree).encode()).hexdigest()[:16]


def target_of(notebook):
    """Where the forms of the pictures of a notebook lie: paths."""
    return notebook.parent / "phone" / f"{notebook.stem}.json"


def pictures(notebook):
    """The pictures of a notebook that are wider than a phone.

    notebook  its path
    returns   list of texts, as a page holds them
    """
    found = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            text = "".join(output.get("data", {}).get(SVG, ""))
            svg = figures.drawn(text) if text else ""
            size = figures.pixels(svg)
            if size and size[0] > narrow.PHONE:
                found.append(svg)
    return found


def forms(notebook, known):
    """The forms of the pictures of a notebook, as they are kept.

    notebook  its path
    known     forms that need not be found again, by name
    returns   dict from names to what `phone.written` gives
    """
    found = {}
    for svg in pictures(notebook):
        name = phone.name_of(svg)
        found[name] = known.get(name) or phone.written(narrow.form(svg))
    return found


def keep(notebook):
    """Write the forms of the pictures of a notebook.

    notebook  its path
    returns   whether its file changed
    """
    target = target_of(notebook)
    known = phone.kept(target.parent, rules())
    return atomic.write(target, dump(forms(notebook, known)))


def stale(notebook):
    """Whether a file is not there, or not of a notebook's pictures and rules.

    Only which forms are kept is looked at, not whether they are right.
    """
    target = target_of(notebook)
    if not target.exists():
        return True
    file = json.loads(target.read_text(encoding="utf-8"))
    wanted = [phone.name_of(svg) for svg in pictures(notebook)]
    return file["rules"] != rules() or set(file["forms"]) != set(wanted)


def dump(found):
    """The text of a file of forms, a picture a line."""
    lines = ",\n".join(
        f'"{name}":{json.dumps(form, separators=(",", ":"))}'
        for name, form in sorted(found.items())
    )
    return f'{{"rules":"{rules()}","forms":{{\n{lines}\n}}}}\n'
