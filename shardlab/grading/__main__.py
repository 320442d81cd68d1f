"""Grades a folder of submissions: scores, feedback pages, CSV files.

    python -m shardlab.grading SUBMISSIONS [--roster roster.csv ...]
    python -m shardlab.grading mapping FOLDER [--roster roster.csv]

SUBMISSIONS holds one folder a student, and in it the notebooks under the names
that they were given out with; or files of any names, with a mapping. Everything
is written below work/grading. The second form drafts a mapping.

The exit status is 0 when everything is graded, 1 when something needs a look
(a refused file, a failure, a deadline, a check that met what it does not
know), 2 when nothing was graded and the sentence on standard error says why,
and 130 when it was interrupted; the same command then goes on.
"""

import argparse
import collections
import os
import sys
from pathlib import Path

from shardlab.checks import seeds
from shardlab.grading import (
    grade,
    intake,
    late,
    mapping,
    report,
    roster,
    sandbox,
    tables,
)

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 20
UNSAFE = (
    "nothing was graded, since a submission is a program and would run with "
    "all your rights; book/instructors.md says what a sandbox needs"
)
WITHOUT = (
    "\ngraded without a sandbox: the submissions ran with all your rights, and "
    "could change these results"
)


def _parser():
    """The command line of grading."""
    made = argparse.ArgumentParser(
        prog="python -m shardlab.grading",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "submissions", help="one folder a student, or files and a mapping"
    )
    made.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' programs with all your rights",
    )
    for name, metavar, words in TABLES:
        made.add_argument(f"--{name}", metavar=metavar, help=words)
    due = "when it is due, with a time zone; NAME=none; or a CSV file"
    made.add_argument(
        "--due", metavar="NAME=DATE", action="append", default=[], help=due
    )
    _add_ways(made.add_argument)
    return made


TABLES = (
    ("roster", "CSV", "who is in the class"),
    ("mapping", "CSV", "whose each file is"),
    ("database", "URL", "the gradebook, such as postgresql://user@host/name"),
    (
        "scheduler",
        "ADDRESS",
        "of Dask, such as tcp://host:8786, to grade there",
    ),
)


def _add_ways(add):
    """Add the options that say how grading is done."""
    add(
        "--late",
        metavar="POLICY",
        help="none, zero, or percent a day: 'day=10 most=50 grace=15'; "
        "without it, what was said the last time",
    )
    add("--workers", type=_number, default=_cores(), help="how many at a time")
    add(
        "--seconds",
        metavar="CELL,ALL",
        type=_seconds,
        default=(),
        help="how long a cell and a notebook may take (20,180)",
    )
    add("--seed", type=_seed, help="draw hidden numbers from this")
    add("--again", action="store_true", help="grade what is unchanged as well")


def _number(text):
    """A number of workers."""
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"expected 1 to 256, got {text!r}")
    return int(text)


def _seed(text):
    """A seed, in digits or as scores.csv has it."""
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a whole number, got {text!r}"
        ) from None


def _seconds(text):
    """The seconds of a cell and of a notebook."""
    try:
        cell, whole = (float(word) for word in text.split(","))
        if 0 < cell <= whole <= 86_400:
            return (cell, whole)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        "expected the seconds of a cell and of a whole notebook, such as "
        f"20,180, got {text!r}"
    )


def _cores():
    """How many processes can run at a time here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _options_of(options):
    """What was chosen on the command line, as grade.Options."""
    largest = (2 << seeds.BITS) - 1
    if options.seed is not None and not 0 <= options.seed <= largest:
        raise ValueError(
            f"--seed must be 0 to {largest:#x}, got {options.seed}"
        )
    return grade.Options(
        workers=options.workers,
        seconds=options.seconds,
        isolated=not options.no_sandbox,
        seed=options.seed,
        again=options.again,
        policy=None if options.late is None else late.policy(options.late),
        due=tuple(options.due),
        roster=options.roster,
        mapping=options.mapping,
        database=options.database,
        scheduler=options.scheduler,
    )


def summary_text(summary, work):
    """The summary as lines of text.

    summary  a grade.Summary
    work     the folder that results are in, as it is shown
    returns  list of str
    """
    found = list(summary.records.values())
    failed = [one for one in found if one.status == "failed"]
    slow = [one for one in found if one.timed_out]
    notes = [f"{_where(one)}: {note}" for one in found for note in one.notes]
    lines = [
        f"{summary.graded} graded, {summary.unchanged} unchanged since they "
        f"were graded, {len(summary.late)} late, {len(summary.refused)} "
        f"refused, {len(failed)} failed, {len(slow)} timed out"
    ]
    if summary.late or summary.policy.day:
        lines.append(
            f"{late.policy_in_words(summary.policy)}; LATE= changes that"
        )
    lines += _listing("changed", summary.changed)
    lines += _listing("refused", summary.refused)
    lines += _listing("empty cells, and no zeros", list(_empty(summary.lines)))
    lines += _listing(
        "failed", [f"{_where(one)}: {one.error}" for one in failed]
    )
    lines += _listing("timed out twice", [_where(one) for one in slow])
    lines += _listing("remarks on submissions", notes)
    lines += _listing("worth a look (similarity.csv)", summary.similar)
    waits = [one[:2] for one in summary.lines if one.status == report.BY_HAND]
    if waits:
        lines += ["", f"{len(waits)} to be graded by hand: make review"]
    return [*lines, "", *_files(work)]


def _empty(lines):
    """What to know of sets that few handed in, one sentence each."""
    absent = collections.Counter(
        line.assignment
        for line in lines
        if line.status == report.NOT_HANDED_IN and line.score is None
    )
    every = collections.Counter(line.assignment for line in lines)
    for name, number in sorted(absent.items()):
        yield (
            f"{name}: handed in by {every[name] - number} of {every[name]}; "
            f"where the others should have 0, say when it was due: DUE={name}="
        )


def _where(record):
    """Whose submission a record is about."""
    return f"{record.student}, {record.assignment}"


def _listing(title, things):
    """A title and one line for each of the first things; [] for none."""
    if not things:
        return []
    texts = [" ".join(str(thing).split()) for thing in things[:SHOWN]]
    lines = [f"  {intake.shown(text, 1000)}" for text in texts]
    more = len(things) - SHOWN
    return [
        "",
        f"{title}:",
        *lines,
        *([f"  and {more} more"] if more > 0 else []),
    ]


def _files(work):
    """Where the results are."""
    return [
        f"scores: {work}/scores.csv (canvas.csv, moodle.csv)",
        f"questions: {work}/statistics.csv; refused: {work}/refused.csv",
        f"feedback: {work}/feedback",
    ]


def _drafter():
    """The command line of drafting a mapping."""
    made = argparse.ArgumentParser(
        prog="python -m shardlab.grading mapping",
        description="Drafts a mapping from the names of files.",
    )
    made.add_argument(
        "folder", help="what a course system handed out, unpacked"
    )
    made.add_argument("--roster", metavar="CSV", help="who is in the class")
    made.add_argument("--output", default="mapping.csv", help="mapping.csv")
    return made


CHECK = (
    "Every line is a guess: check students and assignments, empty the column "
    "guess, then grade with MAPPING="
)


def _draft(arguments, root):
    """Write a mapping to be checked; returns the exit status."""
    options = _drafter().parse_args(arguments)
    if Path(options.output).exists():
        raise ValueError(f"{options.output} is there already; say --output")
    students = roster.read_roster(options.roster) if options.roster else {}
    lines = mapping.draft(options.folder, grade.names(root), students)
    columns = [*mapping.NEEDED, *mapping.OPTIONAL]
    tables.write(options.output, columns, lines)
    print(f"{options.output}: {len(lines)} notebooks. {CHECK}{options.output}")
    return 0


def _grade(arguments, root):
    """Grade, and print the summary; returns the exit status."""
    options = _parser().parse_args(arguments)
    work = Path("work/grading")
    summary = grade.grade(options.submissions, root, _options_of(options))
    for line in summary.lines:
        if (line.student, line.assignment) in summary.records:
            final = "-" if line.final is None else f"{line.final:.10g}"
            print(
                f"{line.student:20} {line.assignment:28} "
                f"{final:>6} of {line.most:g}  {line.status}"
            )
    print(f"\n{report.printed(summary.statistics)}\n")
    print(
        "\n".join(summary_text(summary, work) + [WITHOUT] * options.no_sandbox)
    )
    look = [
        one
        for one in summary.records.values()
        if one.status != "graded" or one.timed_out or one.notes
    ]
    return 1 if summary.refused or look else 0


def main(arguments=None, root=ROOT):
    """The command line; returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words[:1] == ["mapping"]:
            return _draft(words[1:], root)
        return _grade(words, root)
    except sandbox.Unavailable as error:
        print(f"grading: no sandbox: {error}.\n{UNSAFE}", file=sys.stderr)
    except (ValueError, RuntimeError) as error:
        print(f"grading: {error}", file=sys.stderr)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"grading: {error.strerror}{where}", file=sys.stderr)
    except KeyboardInterrupt:
        print(
            "\ngrading: interrupted; the same command goes on from here",
            file=sys.stderr,
        )
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
