"""Renders what a chapter's ideas are called in PyTorch, Megatron and MaxText.

The rows stand in book/in_practice.yml; a chapter prints them under the heading
"In practice".
"""

import argparse
import functools
import re
import sys
from pathlib import Path

import yaml

SOURCE = Path(__file__).resolve().parent.parent / "book/in_practice.yml"
COLUMNS = {
    "torch": "PyTorch, torchtitan",
    "megatron": "Megatron-Core",
    "maxtext": "MaxText, JAX",
}
FIELDS = ("idea", *COLUMNS, "differs")
LINK = re.compile(r"(?<=\])\(([\w-]+)\)")


def load(path=SOURCE):
    """The rows of all chapters, with `sources` and the day they were read.

    path     file in the form of book/in_practice.yml
    returns  dict with read, sources and chapters
    raises   ValueError that names the first row or source that is not sound
    """
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    if complaints := faults(data):
        raise ValueError(f"{path.name}: {complaints[0]}")
    return data


@functools.cache
def stored():
    """What `load` gives of the book's own file, read once."""
    return load()


def faults(data):
    """One sentence for each row that says too little or links nowhere."""
    found, used = [], set()
    for chapter, rows in data["chapters"].items():
        for row in rows:
            name = f"chapter {chapter}, {row.get('idea', 'a row')!r}"
            if unknown := set(row) - set(FIELDS):
                found.append(f"{name} has the unknown field {min(unknown)}")
            if not row.get("idea") or not row.get("differs"):
                found.append(f"{name} must say its idea and what differs")
            if not set(row) & set(COLUMNS):
                found.append(f"{name} names no framework")
            keys = {key for text in row.values() for key in LINK.findall(text)}
            found += [
                f"{name} links to {key}, which is no source"
                for key in sorted(keys - set(data["sources"]))
            ]
            used |= keys
    idle = sorted(set(data["sources"]) - used)
    return found + [f"the source {key} is not used" for key in idle]


def linked(text, data):
    """A cell of the table: keys become addresses, and bars are escaped."""
    sources = data["sources"]
    text = LINK.sub(lambda key: f"({sources[key[1]]['url']})", text)
    return text.replace("|", r"\|")


def table(chapter, data=None):
    """The table of a chapter: its ideas, and what others call them.

    chapter  its number as two digits, such as "07"
    data     what `load` gives; None: book/in_practice.yml
    returns  Markdown, a table and folded below it how each row differs
    raises   ValueError that lists the chapters, if there is no such one
    """
    data = data or stored()
    if chapter not in data["chapters"]:
        known = ", ".join(data["chapters"])
        raise ValueError(f"chapter must be one of {known}; got {chapter!r}")
    rows = data["chapters"][chapter]
    lines = ["| in this chapter | " + " | ".join(COLUMNS.values()) + " |"]
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    for row in rows:
        cells = [row["idea"], *(row.get(name, "–") for name in COLUMNS)]
        lines.append(
            "| " + " | ".join(linked(cell, data) for cell in cells) + " |"
        )
    day = data["read"]
    lines += [
        "",
        f"Read on {day.day} {day:%B %Y}; code changes, so look again.",
        "",
        "<details><summary>Where they differ from this chapter</summary>",
        "",
    ]
    lines += [
        f"- **{row['idea']}.** {linked(row['differs'], data)}" for row in rows
    ]
    lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.in_practice", description=__doc__
    )
    parser.add_argument("chapter", help='two digits, such as "07"')
    try:
        print(table(parser.parse_args(arguments).chapter), end="")
    except ValueError as error:
        print(f"in_practice: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
