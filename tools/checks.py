"""Writes book/checks.md: what the checks of the exercises reject and accept."""

import hashlib
import re
import sys

from shardlab.grading import kit
from tools.text import ROOT

HEAD = """# What the checks reject

A check is worth what it refuses. Beside every exercise lie wrong answers, which
its checks must reject, and right answers in other styles, which they must
accept. To these come *mutants*: the solution with one small damage, such as a
dropped factor, a swapped axis or a shifted boundary; where the collectives
themselves are judged, also ones that give the same numbers and send more bytes.
All of them are run with three draws of fresh numbers whenever the book is
tested; this page is the table. Where a mutant is right after all, it is listed
as such, with the reason.
"""
# The modules of shardlab.grading that a verdict of the kit depends on.
JUDGING = (
    "executor",
    "expression",
    "identity",
    "kit",
    "mutants",
    "plain",
    "program",
    "structure",
    "student",
)
SECTION = re.compile(r"^(?=% made from [0-9a-f]+$)", re.MULTILINE)


def origin(stem):
    """What the part on one set depends on, as a hexadecimal digest."""
    paths = [ROOT / "shardlab/check.py"]
    paths += [ROOT / f"shardlab/grading/{name}.py" for name in JUDGING]
    paths.append(ROOT / f"book/exercises/{stem}.md")
    paths.append(ROOT / f"book/exercises/{stem}.answers.py")
    paths.append(ROOT / "tools/checks.py")
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cell(text):
    """`text` as it can stand in a table."""
    return text.replace("|", "\\|").replace("\n", " ").strip()


def said(row):
    """The message of a rejected answer, without the type of the error."""
    return cell(row.message.removeprefix("WrongAnswer: "))


def section(stem, table, mark):
    """The page's part on one set, as text.

    table  its kill table
    mark   its `origin`, taken before the table was begun
    """
    title = stem[3:].replace("_", " ").capitalize()
    lines = [f"% made from {mark}", ""]
    lines += [f"## {int(stem[:2])}. {title}", "", counted(table), ""]
    for name in dict.fromkeys(row.question for row in table):
        rows = [row for row in table if row.question == name]
        right = [cell(r.title) for r in rows if r.kind == "right"]
        lines += [f"### {name}", "", "| wrong answer | what the check says |"]
        lines.append("|---|---|")
        lines += [
            f"| {cell(row.title)} | `{said(row)}` |"
            for row in rows
            if row.kind == "wrong"
        ]
        lines += ["", f"Accepted: the solution; {'; '.join(right)}.", ""]
        lines += [*mutant_lines(rows), ""]
    return "\n".join(lines)


def mutant_lines(rows):
    """What became of the mutants of one question."""
    mutants = [row for row in rows if row.kind == "mutant"]
    alive = [row for row in mutants if row.accepted]
    dead = len(mutants) - len(alive)
    return [f"Mutants: {dead} of {len(mutants)} rejected."] + [
        f"Right after all: {cell(row.title)}; {cell(row.message)}"
        for row in alive
    ]


def counted(table):
    """One sentence with the numbers of a set."""
    numbers = kit.summary(table)
    return (
        f"{numbers['rejected']} of {numbers['wrong']} wrong answers and "
        f"mutants are rejected, {numbers['accepted']} of {numbers['right']} "
        f"right answers accepted."
    )


def page(sections):
    """The whole page as text, from its parts."""
    return "\n".join([HEAD, *sections]).rstrip() + "\n"


def stored(text):
    """The parts of a page that was made before: {mark: part}."""
    parts = SECTION.split(text)[1:]
    return {part.split("\n", 1)[0]: part.rstrip() + "\n" for part in parts}


def main():
    """The command line; returns the exit status."""
    target, sections = ROOT / "book/checks.md", []
    old = target.read_text(encoding="utf-8") if target.exists() else ""
    parts = stored(old)
    for stem in kit.sets():
        # What is edited while a table is made must make it anew.
        mark = origin(stem)
        part = parts.get(f"% made from {mark}")
        sections.append(part or section(stem, kit.kill_table(stem), mark))
    made = page(sections)
    if made != old:
        target.write_text(made, encoding="utf-8")
    print("book/checks.md: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
