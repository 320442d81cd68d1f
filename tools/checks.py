"""Writes book/checks.md: what the checks of the exercises reject and accept."""

import argparse
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from shardlab.authoring import kit
from shardlab.authoring.parents import end_with_parent
from tools import atomic, meaning
from tools.text import ROOT

HEAD = """# What the checks reject

A check is worth what it refuses. Beside every exercise lie wrong answers, which
its checks must reject, and right answers in other styles, which they must
accept. To these come *mutants*: the solution with one small damage, such as a
dropped factor, a swapped axis or a shifted boundary; where the collectives
themselves are judged, also ones that give the same numbers and send more bytes.
All of them are run with three draws of fresh numbers whenever the book is
tested; this page is the table. The second column says whether the cases that a
reader sees are enough to reject an answer; one that repeats their results by
heart is told by fresh numbers only. Where a mutant is right after all, it is
listed as such, with the reason.
"""
NUMBER = re.compile(r"^## (\d+)\.", re.MULTILINE)
SECTION = re.compile(r"^(?=% made from [0-9a-f]+$)", re.MULTILINE)


def code(stem):
    """The Python that judges a set: its cells, and what runs the answers."""
    setup, questions = kit.read_set(ROOT / f"book/exercises/{stem}.md")
    cells = [*setup, Path(__file__).read_text(encoding="utf-8")]
    for question in questions.values():
        checks = [text for _, text in question.checks.values()]
        cells += [question.solution, *checks]
    return "\n".join(cells)


def origin(stem):
    """What the part on one set depends on, as a hexadecimal digest."""
    questions = kit.read_set(ROOT / f"book/exercises/{stem}.md")[1]
    names = {name: list(each.checks) for name, each in questions.items()}
    answers = ROOT / f"book/exercises/{stem}.answers.py"
    return meaning.digest(
        code(stem), repr(names), answers.read_text(encoding="utf-8")
    )


def cell(text):
    """`text` as it can stand in a table."""
    return text.replace("|", "\\|").replace("\n", " ").strip()


def said(row):
    """The message of a rejected answer, without the type of the error."""
    return cell(row.message.removeprefix("WrongAnswer: "))


def seen(row):
    """Whether the cases that a reader sees reject an answer, for a table."""
    if row.kind == "by-heart":
        return "by heart"
    return "yes" if row.visible else "no"


def section(stem, table, mark):
    """The page's part on one set, as text.

    table  its kill table
    mark   its `origin`, taken before the table was begun
    """
    title = stem[3:].replace("_", " ").capitalize()
    for name in ("Fsdp", "tp"):
        title = re.sub(rf"\b{name}\b", name.upper(), title)
    lines = [f"% made from {mark}", ""]
    lines += [f"## {int(stem[:2])}. {title}", "", counted(table), ""]
    for name in dict.fromkeys(row.question for row in table):
        rows = [row for row in table if row.question == name]
        right = [cell(r.title) for r in rows if r.kind == "right"]
        lines += [f"### {name}", ""]
        lines += ["| wrong answer | visible | what the check says |"]
        lines.append("|---|---|---|")
        lines += [
            f"| {cell(row.title)} | {seen(row)} | `{said(row)}` |"
            for row in rows
            if row.kind in ("wrong", "by-heart")
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
        f"right answers accepted. Of the {numbers['given']} wrong answers "
        f"{numbers['visible']} fail at the visible cases."
    )


def page(sections):
    """The whole page as text, from its parts."""
    return "\n".join([HEAD, *sections]).rstrip() + "\n"


def stored(text):
    """The parts of a page that was made before, by the number of their set."""
    parts = SECTION.split(text)[1:]
    return {int(NUMBER.search(p)[1]): p.rstrip() + "\n" for p in parts}


def main(arguments=None):
    """The command line; returns the exit status.

    Two sets are judged at a time. What is done is written at once, so that an
    interrupted run goes on where it was.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.checks", description=__doc__
    )
    parser.add_argument("--chapter", help="judge this set alone, such as 01")
    options = parser.parse_args(arguments)
    target = ROOT / "book/checks.md"
    old = target.read_text(encoding="utf-8") if target.exists() else ""
    parts = stored(old)
    # What is edited while a table is made must make it anew.
    marks = {stem: origin(stem) for stem in kit.sets()}
    chosen = [s for s in marks if s.startswith(options.chapter or "")]
    if not chosen:
        numbers = ", ".join(stem[:2] for stem in marks)
        parser.error(
            f"--chapter must be one of {numbers}; got {options.chapter!r}"
        )
    kept = {
        stem: parts[int(stem[:2])] for stem in marks if int(stem[:2]) in parts
    }
    todo = [
        stem
        for stem in chosen
        if not kept.get(stem, "").startswith(f"% made from {marks[stem]}\n")
    ]
    # Threads would share one parser of Python, which 3.11 does not bear.
    workers = {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    with ProcessPoolExecutor(2, get_context("spawn"), **workers) as pool:
        for stem, part in pool.map(judged, todo, [marks[s] for s in todo]):
            print(f"judged the answers of set {stem[:2]}", flush=True)
            kept[stem] = part
            atomic.write(target, page([kept[s] for s in marks if s in kept]))
    atomic.write(target, page([kept[s] for s in marks if s in kept]))
    print("book/checks.md: up to date")
    return 0


def judged(stem, mark):
    """The stem of a set, and its part of the page."""
    return stem, section(stem, kit.kill_table(stem), mark)


if __name__ == "__main__":
    sys.exit(main())
