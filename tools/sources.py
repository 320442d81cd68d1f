"""Writes book/sources.md: who wrote what this book stands on, and where it is.

The rows come from book/sources.yml, the credits from book/sources_head.md.
"""

import re
import sys
from pathlib import Path

import yaml
from mdit_py_plugins.anchors.index import slugify

from tools import atomic

ROOT = Path(__file__).resolve().parent.parent


def headings(path):
    """The headings of a MyST text, in order, without their marks."""
    content = path.read_text(encoding="utf-8")
    content = re.sub(r"^```.*?^```", "", content, flags=re.M | re.S)
    return re.findall(r"^#+ (.+)$", content, flags=re.M)


def broken(data):
    """One sentence for each row that leads nowhere or stands there twice."""
    complaints, seen = [], set()
    for row in data["rows"]:
        if row["id"] in seen:
            complaints.append(f"{row['id']} stands twice")
        seen.add(row["id"])
        stem, heading = row["at"]
        path = ROOT / "book/chapters" / f"{stem}.md"
        if not path.exists():
            complaints.append(f"{row['id']}: there is no chapter {stem}")
        elif heading not in headings(path):
            complaints.append(f"{row['id']}: {stem} has no {heading!r}")
        complaints += [
            f"{row['id']}: set {of} has no question {number}"
            for of, number in asked(row)
            if question(of, number) is None
        ]
    return complaints


# A set's questions in a sentence: "Exercises 2, 3 and 10", "Chapter 9,
# exercise 6"; the chapter is the row's own if none is named.
_ASKED = re.compile(
    r"(?:Chapter (\d+), )?[Ee]xercises? (\d+(?:(?:, | and | to )\d+)*)"
)


def asked(row):
    """The questions that a row names: list of stem of the set and number."""
    found = []
    for chapter, numbers in _ASKED.findall(row["says"]):
        of = row["at"][0]
        if chapter:
            (path,) = (ROOT / "book/exercises").glob(f"{int(chapter):02}_*.md")
            of = path.stem
        found += [(of, int(n)) for n in re.findall(r"\d+", numbers)]
    return found


def question(stem, number):
    """The heading of a question of a set; None if it has no such one."""
    path = ROOT / "book/exercises" / f"{stem}.md"
    for heading in headings(path) if path.exists() else ():
        if heading.startswith(f"{number}. "):
            return heading
    return None


def linked(row):
    """What a row says, with a link at each question that it names."""

    def with_links(match):
        of = row["at"][0]
        if match[1]:
            of = asked(row | {"says": match[0]})[0][0]

        def link(number):
            anchor = slugify(question(of, int(number[0])))
            return f"[{number[0]}](../exercises/{of}/{of}.ipynb#{anchor})"

        words, numbers = match[0][: -len(match[2])], match[2]
        return words + re.sub(r"\d+", link, numbers)

    return _ASKED.sub(with_links, row["says"])


def in_order(row):
    """The key by which rows stand as their source has them."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|[a-z]+", row["id"].lower())
    ]


def page(data):
    """The whole of sources.md as text."""
    head = (ROOT / "book/sources_head.md").read_text(encoding="utf-8")
    lines = [head.rstrip(), ""]
    for prefix, title in data["sources"].items():
        rows = [r for r in data["rows"] if re.match(rf"{prefix}\W?\d", r["id"])]
        lines += [f"### {title}", "", "| | what | where |", "|---|---|---|"]
        section = None
        for row in sorted(rows, key=in_order):
            part = row["id"].split(".")[0]
            if part != section and part in data["sections"]:
                lines.append(f"| **{part}** | **{data['sections'][part]}** | |")
                section = part
            lines.append(table_row(row))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def table_row(row):
    """One row of the table, with a link to its section."""
    stem, heading = row["at"]
    link = f"../chapters/{stem}.ipynb#{slugify(heading)}"
    return f"| {row['id']} | {linked(row)} | [{heading}]({link}) |"


def main():
    """The command line; returns the exit status."""
    text = (ROOT / "book/sources.yml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    complaints = broken(data)
    for sentence in complaints:
        print(f"sources: {sentence}", file=sys.stderr)
    if complaints:
        return 1
    target = ROOT / "book/sources.md"
    content = page(data)
    atomic.write(target, content)
    print("book/sources.md: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
