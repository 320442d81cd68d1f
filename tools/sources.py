"""Writes book/sources.md: who wrote what this book stands on, and where it is.

The rows come from book/sources.yml, the credits from book/sources_head.md.
"""

import re
import sys
from pathlib import Path

import yaml
from mdit_py_plugins.anchors.index import slugify

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
    return complaints


def page(data):
    """The whole of sources.md as text."""
    head = (ROOT / "book/sources_head.md").read_text(encoding="utf-8")
    lines = [head.rstrip(), ""]
    for prefix, title in data["sources"].items():
        rows = [r for r in data["rows"] if re.match(rf"{prefix}\W?\d", r["id"])]
        lines += [f"### {title}", "", "| | what | where |", "|---|---|---|"]
        lines += [table_row(row) for row in rows]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def table_row(row):
    """One row of the table, with a link to its section."""
    stem, heading = row["at"]
    link = f"../chapters/{stem}.ipynb#{slugify(heading)}"
    return f"| {row['id']} | {row['says']} | [{heading}]({link}) |"


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
    if not target.exists() or target.read_text(encoding="utf-8") != content:
        target.write_text(content, encoding="utf-8")
    print("book/sources.md: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
