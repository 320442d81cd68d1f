"""Grades a folder of submissions with nbgrader: scores, feedback, a CSV file.

    python -m shardlab.grading SUBMISSIONS --no-sandbox

SUBMISSIONS holds one folder a student, and in it the notebooks under the names
that they were given out with. Everything is written below work/grading.
"""

import argparse
import csv
import logging
import os
import re
import secrets
import shutil
import sys
import warnings
from pathlib import Path

from shardlab.grading import course

ROOT = Path(__file__).resolve().parents[2]
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_BYTES = 5 << 20


def collect(folder, assignments):
    """Find the notebooks to grade below `folder`.

    folder       one folder a student; notebooks lie in it, or in a folder of
                 their own name below it
    assignments  the names that notebooks may have
    returns      (dict: (student, assignment) -> path, list of refusals, each a
                 sentence)
    """
    found, refused = {}, []
    for student in sorted(Path(folder).iterdir()):
        if not IDENTIFIER.fullmatch(student.name) or not student.is_dir():
            refused.append(f"{student.name} is no student's folder")
            continue
        for path in sorted(student.rglob("*")):
            place = path.relative_to(folder)
            if path.is_dir() and not path.is_symlink():
                continue
            reason = fault(path, assignments)
            if reason is None and (student.name, path.stem) in found:
                reason = "is there twice"
            if reason:
                refused.append(f"{place} {reason}")
            else:
                found[student.name, path.stem] = path
    return found, refused


def fault(path, assignments):
    """Why a file cannot be graded, or None."""
    if path.is_symlink() or not path.is_file():
        return "is no plain file"
    if path.suffix != ".ipynb" or path.stem not in assignments:
        return f"is not named like one of {', '.join(assignments)}"
    if path.stat().st_size > MAX_BYTES:
        return f"is larger than {MAX_BYTES >> 20} MB"
    return None


def take(found, config):
    """Copy the submissions to where nbgrader looks for them."""
    submitted = Path(config.CourseDirectory.submitted_directory)
    for (student, assignment), path in found.items():
        target = submitted / student / assignment / f"{assignment}.ipynb"
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir(parents=True)
        shutil.copyfile(path, target)


def grade(found, config):
    """Let nbgrader register, grade and comment on every submission.

    found    as `collect` returns it
    config   as `course.config` returns it
    returns  list of failures, each a sentence; the others are graded
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbgrader.apps import NbGraderAPI

        config.NbGraderAPI.log_level = logging.CRITICAL
        api, failures = NbGraderAPI(config=config), []
        for assignment in sorted({name for _, name in found}):
            steps = [(api.generate_assignment, assignment)]
            for student, name in sorted(found):
                if name == assignment:
                    steps.append((api.autograde, name, student))
                    steps.append((api.generate_feedback, name, student))
            for step, *words in steps:
                options = {"force": True, "create": True}
                if step == api.generate_feedback:
                    del options["create"]
                result = step(*words, **options)
                if not result["success"]:
                    last = result.get("error") or result.get("log") or "?"
                    reason = last.strip().splitlines()[-1]
                    failures.append(f"{step.__name__} {words}: {reason}")
    return failures


def write_scores(found, config, target):
    """Write the points of every check to a CSV file.

    found    the submissions that were graded, as `collect` returns them
    config   as `course.config` returns it
    target   the path of the file
    returns  list of dicts, one a submission: student, assignment, score,
             max_score, and the points of each check by its name
    """
    from nbgrader.api import Gradebook

    rows, columns = [], ["student", "assignment", "score", "max_score"]
    with Gradebook(config.CourseDirectory.db_url, "shard-by-shard") as book:
        for student, assignment in sorted(found):
            submission = book.find_submission(assignment, student)
            row = {
                "student": student,
                "assignment": assignment,
                "score": submission.score,
                "max_score": submission.max_score,
            }
            for notebook in submission.notebooks:
                row |= {g.cell.name: g.score for g in notebook.grades}
            columns += [name for name in row if name not in columns]
            rows.append(row)
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def run(folder, root=ROOT):
    """Grade every submission below `folder`.

    root     the folder with solutions/; results go to its work/grading
    returns  (rows of the scores, refusals, failures)
    raises   ValueError when `folder` is none, or holds nothing to grade
    """
    if not Path(folder).is_dir():
        raise ValueError(f"SUBMISSIONS must be a folder, got {str(folder)!r}")
    config = course.config(root)
    names = sorted(path.name for path in (Path(root) / "solutions").iterdir())
    found, refused = collect(folder, names)
    if not found:
        raise ValueError(
            f"{folder} holds no submission"
            + "".join(f"\n  {r}" for r in refused)
        )
    take(found, config)
    # nbgrader rewrites the released notebooks; ours stay as they are.
    work = Path(root).resolve() / "work/grading"
    config.CourseDirectory.release_directory = str(work / "release")
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ["SHARD_BY_SHARD_SEED"] = str(secrets.randbits(32))
    try:
        seed = os.environ["SHARD_BY_SHARD_SEED"]
        (work / "seed.txt").write_text(f"{seed}\n", encoding="utf-8")
        failures = grade(found, config)
    finally:
        del os.environ["SHARD_BY_SHARD_SEED"]
    graded = {
        key: path
        for key, path in found.items()
        if (work / "autograded" / key[0] / key[1]).is_dir()
    }
    rows = write_scores(graded, config, work / "scores.csv")
    return rows, refused, failures


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m shardlab.grading",
        description=__doc__.splitlines()[0],
    )
    parser.add_argument("submissions", help="a folder with one for a student")
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run the students' programs with all your rights",
    )
    options = parser.parse_args(arguments)
    if not options.no_sandbox:
        print(
            "grading: a submission is a program and would run with all your "
            "rights; if you trust these, say make grade NO_SANDBOX=1 "
            "SUBMISSIONS=folder",
            file=sys.stderr,
        )
        return 2
    try:
        rows, refused, failures = run(options.submissions)
    except ValueError as error:
        print(f"grading: {error}", file=sys.stderr)
        return 2
    for row in rows:
        print(
            f"{row['student']:20} {row['assignment']:24} "
            f"{row['score']:g} of {row['max_score']:g}"
        )
    for sentence in [*refused, *failures]:
        print(f"not graded: {sentence}", file=sys.stderr)
    print("scores: work/grading/scores.csv; feedback: work/grading/feedback")
    return 1 if refused or failures else 0


if __name__ == "__main__":
    sys.exit(main())
