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
dropped factor, a swapped axis or a shifted boundary. All of them are run with
three draws of fresh numbers whenever the book is tested; this page is the
table. Where a mutant is right after all, it is listed as such.
"""
MARK = re.compile(r"^% made from ([0-9a-f]+)$", re.MULTILINE)


def origin(stems):
    """What the page depends on, as a hexadecimal digest."""
    paths = [ROOT / "shardlab/check.py", *(ROOT / "shardlab/grading").glob("*")]
    for stem in stems:
        paths.append(ROOT / f"solutions/{stem}/{stem}.ipynb")
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


def section(stem, table):
    """The page's part on one set, from its kill table."""
    title = stem[3:].replace("_", " ").capitalize()
    lines = [f"## {int(stem[:2])}. {title}", ""]
    for name in dict.fromkeys(row.question for row in table):
        rows = [row for row in table if row.question == name]
        lines += [f"### {name}", "", "| wrong answer | what the check says |"]
        lines.append("|---|---|")
        lines += [
            f"| {cell(row.title)} | `{said(row)}` |"
            for row in rows
            if row.kind == "wrong"
        ]
        right = [cell(r.title) for r in rows if r.kind == "right"]
        mutants = [row for row in rows if row.kind == "mutant"]
        alive = [row.title for row in mutants if row.accepted]
        lines += ["", f"Accepted: the solution; {'; '.join(right)}.", ""]
        lines.append(
            f"Mutants: {len(mutants) - len(alive)} of {len(mutants)} rejected."
        )
        lines += [f"Right after all: {cell(words)}." for words in alive]
        lines.append("")
    return lines


def page(stems, tables):
    """The whole page as text.

    stems    the sets of exercises
    tables   dict: stem -> rows of its kill table
    """
    lines = [f"% made from {origin(stems)}", "", HEAD.rstrip(), ""]
    for stem in stems:
        lines += section(stem, tables[stem])
    return "\n".join(lines).rstrip() + "\n"


def main():
    """The command line; returns the exit status."""
    target, stems = ROOT / "book/checks.md", kit.sets()
    old = target.read_text(encoding="utf-8") if target.exists() else ""
    mark = MARK.search(old)
    if mark is None or mark.group(1) != origin(stems):
        tables = {stem: kit.kill_table(stem) for stem in stems}
        target.write_text(page(stems, tables), encoding="utf-8")
    print("book/checks.md: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
