"""Checks the checks: which answers an exercise rejects and which it accepts.

Beside each set of exercises lie answers that must be rejected and answers
that must pass. To these come mutants, made from the solution by one small
damage each. All of them are run against the checks, visible and hidden, with
fresh numbers, one after the other in a process of their own: an answer that
runs for ever is stopped with it, and the next one gets a new process.

    python -m shardlab.authoring.kit 01 --json table.json
    python -m shardlab.authoring.kit 01 --question ratios --draws 1
"""

import argparse
import ast
import collections
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import json
import linecache
import multiprocessing
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat

from shardlab.authoring.mutants import mutants
from shardlab.authoring.parents import end_with_parent
from shardlab.authoring.structure import differ
from shardlab.checks import cells, compare, student
from shardlab.checks.compare import LAST_RESORT

__all__ = [
    "ASKED",
    "HIDDEN",
    "Answer",
    "Bench",
    "KillRow",
    "Question",
    "asks",
    "judge",
    "kill_table",
    "last_line",
    "lines",
    "main",
    "read_all",
    "read_answers",
    "read_set",
    "row",
    "rows_of",
    "run_cell",
    "sets",
    "shortcomings",
    "summary",
]

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = ("right", "wrong", "by-heart", "equivalent")
HIDDEN = re.compile(
    r"^### BEGIN HIDDEN TESTS\n.*?^### END HIDDEN TESTS\n?",
    re.DOTALL | re.MULTILINE,
)
SETS = "shardlab.checks"  # where sets of exercises keep their checks
# How a check gets at the answer says what kind of question it is.
ASKED = {
    "program": "program",
    "expression": "symbolic",
    "call": "function",
    "blocks": "function",
    "value": "value",
}
LEAST_WRONG, LEAST_RIGHT = 4, 2
BYTES = 8 << 30
# Of a processor, for one answer with one draw, a cold compilation included; on
# a busy machine that may take PATIENCE times as long.
SECONDS, PATIENCE = 60, 20
TICKS = os.sysconf("SC_CLK_TCK")


class Question(NamedTuple):
    """One answer cell and the check cells that belong to it.

    name      the answer cell's grade_id
    solution  the text of the answer cell
    checks    dict: grade_id of a check -> (points, text, after the imports of
              checks that the set-up cells make)
    """

    name: str
    solution: str
    checks: dict


class Answer(NamedTuple):
    """An answer to a question, with what the checks should make of it.

    question  the grade_id of the answer cell
    verdict   "right", "wrong", "by-heart" for a wrong one that repeats the
              results of the visible cases, so that only other numbers tell,
              or "equivalent" for a mutant that is right
    title     what is right or wrong with it, in words
    text      the text of the answer cell
    """

    question: str
    verdict: str
    title: str
    text: str


def read_set(path):
    """The cells before the first question, and the questions, of a notebook.

    path     a solution notebook, or the text that it is made from; what a
             person grades, text, is passed over
    returns  (list of code texts, dict: name -> Question)
    raises   ValueError for a check that no answer cell precedes
    """
    setup, questions, current = [], {}, None
    for cell in _cells(Path(path)):
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code":
            continue
        if mark.get("solution"):
            current = Question(mark["grade_id"], cell.source, {})
            questions[current.name] = current
        elif mark.get("grade"):
            if current is None:
                raise ValueError(f"{mark['grade_id']} checks no answer cell")
            text = cells.imports(setup) + cell.source
            current.checks[mark["grade_id"]] = (mark["points"], text)
        else:
            setup.append(cell.source)
    return setup, questions


def _cells(path):
    """The cells of a notebook, or of the text that one is made from."""
    if path.suffix == ".md":
        return jupytext.read(path, fmt="md:myst").cells
    return nbformat.read(path, as_version=4).cells


def read_answers(path):
    """The answers of a percent-format text, in order.

    path     such as book/exercises/01_sharded_arrays.answers.py; a cell's
             title is `question verdict: what is right or wrong`
    returns  list of Answer
    raises   ValueError for a title of another form
    """
    answers = []
    for cell in jupytext.read(path, fmt="py:percent").cells:
        if cell.cell_type != "code" or "title" not in cell.metadata:
            continue
        head, colon, title = cell.metadata["title"].partition(": ")
        words = head.split()
        if not colon or len(words) != 2 or words[1] not in VERDICTS:
            raise ValueError(
                f"{Path(path).name}: a cell's title must be `question "
                f"{'|'.join(VERDICTS)}: words`, got "
                f"{cell.metadata['title']!r}"
            )
        answers.append(Answer(*words, title.strip(), cell.source))
    return answers


def judge(setup, question, text, seed=0):
    """Run an answer against the checks of its question, in this process.

    setup     texts of the cells before the question
    text      the text of the answer cell
    seed      what `check.draw` draws from
    returns   dict: grade_id of a check -> None if passed, else the message
    """
    names, verdicts = {"__name__": "answer"}, {}
    silent = contextlib.redirect_stdout(io.StringIO())
    with silent, student.asking(student.ThisKernel(names), seed):
        broken = None
        for number, cell in enumerate([*setup, text]):
            broken = run_cell(cell, f"<answer {number}>", names) or broken
        for name, (_, cell) in question.checks.items():
            failed = run_cell(cell, "<check>", {"__name__": "check"})
            verdicts[name] = failed and (broken or failed)
    return verdicts


def run_cell(cell, name, names):
    """Run the text of a cell; returns what it raised, in words, or None."""
    try:
        code = _compiled(cell, name)
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        exec(code, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@functools.lru_cache(maxsize=256)
def _compiled(cell, name):
    """The code of a cell; setup and checks are compiled once."""
    return compile(cell, name, "exec")


class Bench:
    """A process in which answers are judged, replaced when one is stuck.

    seconds  of a processor that one answer may take with one draw
    """

    def __init__(self, seconds=SECONDS):
        self.seconds, self.process = seconds, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def start(self):
        """Begin a new process, and wait until it has imported JAX."""
        # A fork of a process that has used JAX can hang; a new one cannot.
        context = multiprocessing.get_context("spawn")
        self.line, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(other, os.getpid()), daemon=True
        )
        self.process.start()
        other.close()
        self.line.recv()

    def stop(self):
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.line.close()
            self.process = None

    def replies(self):
        """Whether a verdict comes before the answer has used up its time."""
        begun, used = time.monotonic(), _processor_seconds(self.process.pid)
        while not self.line.poll(min(1, self.seconds)):
            spent = _processor_seconds(self.process.pid) - used
            waited = time.monotonic() - begun
            if max(spent, waited / PATIENCE) > self.seconds:
                return False
        return True

    def judge(self, setup, question, text, seed=0):
        """What `judge` returns; all checks failed for one that is stopped."""
        if self.process is None:
            self.start()
        self.line.send((setup, question, text, seed))
        try:
            if self.replies():
                return self.line.recv()
            reason = f"it ran longer than {self.seconds:g} s"
        except (EOFError, OSError):
            reason = "its process ended"
        self.stop()
        return dict.fromkeys(question.checks, f"Stopped: {reason}")


def _processor_seconds(pid):
    """What a process has used of processors; 0 where nobody counts it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return 0
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _serve(line, parent):
    """Judge what comes over a line, until it is closed.

    parent  the number of the process at the other end
    """
    end_with_parent(parent)
    # A loop that a mutant does not end may fill a list.
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, limits[1]))
    line.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            line.send(judge(*line.recv()))


def _points(question, verdicts):
    """The points that verdicts of `judge` are worth."""
    return sum(
        worth
        for name, (worth, _) in question.checks.items()
        if verdicts[name] is None
    )


class KillRow(NamedTuple):
    """One line of the kill table.

    question  the grade_id of the answer cell
    kind      "solution", "right", "wrong" or "mutant"
    title     what is right or wrong with the answer
    accepted  whether it got all points, with every draw
    expected  whether it should
    message   what the first failed check said; for a mutant that is right,
              why it is; else ""
    asks      kind of question: "value", "function", "program" or "symbolic"
    certain   whether it is judged alike with every draw
    visible   whether the visible cases alone reject it
    """

    question: str
    kind: str
    title: str
    accepted: bool
    expected: bool
    message: str
    asks: str = "function"
    certain: bool = True
    visible: bool = False

    @property
    def sound(self):
        """Whether the checks judge it as they should, with every draw."""
        return self.accepted == self.expected and self.certain

    @property
    def told(self):
        """Whether a reader whose work nobody grades learns that it is wrong."""
        return self.visible or self.kind != "wrong"


def asks(question):
    """The kind of a question, from what its checks ask `student` for."""
    used = set()
    for _, cell in question.checks.values():
        used |= _asked_for(ast.parse(cell))
    return next((kind for way, kind in ASKED.items() if way in used), "none")


def _asked_for(tree):
    """The names of what a check's text takes from `student`.

    A check that is a function of a set's module is read there, with all the
    functions of the module that it leads to.
    """
    used = set()
    for node in ast.walk(tree):
        root = getattr(getattr(node, "value", None), "id", "")
        if isinstance(node, ast.Attribute) and root == "student":
            used.add(node.attr)
        if isinstance(node, ast.Attribute) and re.fullmatch(r"set\d\d", root):
            for function in _reached(root, node.attr):
                used |= _asked_for(function)
    return used


def _reached(module, name):
    """The syntax trees of a set's function and of all that it leads to."""
    functions, reached = _functions(module), {}
    waiting = collections.deque([name])
    while waiting:
        name = waiting.popleft()
        if name in functions and name not in reached:
            reached[name] = functions[name]
            waiting += (
                node.id
                for node in ast.walk(functions[name])
                if isinstance(node, ast.Name)
            )
    return reached.values()


@functools.lru_cache(maxsize=64)
def _functions(module):
    """The functions of a set's module: {name: syntax tree}."""
    found = importlib.import_module(f"{SETS}.{module}")
    tree = ast.parse(inspect.getsource(found))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _seen(question):
    """A question with what a reader sees of its checks."""
    shown = {
        name: (points, HIDDEN.sub("", cell))
        for name, (points, cell) in question.checks.items()
    }
    return question._replace(checks=shown)


def row(setup, question, given, seeds, judge=judge):
    """Judge one answer with every seed.

    setup     texts of the cells before the question
    question  Question
    given     (kind, title, text, expected, note for one that is accepted)
    seeds     what the hidden checks draw from
    judge     function such as `judge` or `Bench.judge`
    """
    kind, title, text, expected, note = given
    [shown] = _failures(setup, _seen(question), text, seeds[:1], judge)
    if shown and not _draws(_seen(question)):
        failed = [shown]  # it would be the same with every draw
    else:
        failed = _failures(setup, question, text, seeds, judge)
    messages = [message for message in failed if message]
    return KillRow(
        question=question.name,
        kind=kind,
        title=title,
        accepted=not messages,
        expected=expected,
        message=messages[0] if messages else note,
        asks=asks(question),
        certain=len(messages) in (0, len(failed)),
        visible=bool(shown),
    )


def _failures(setup, question, text, seeds, judge):
    """The first failed check's message for each seed, None where all pass."""
    failed = []
    for seed in seeds:
        verdicts = judge(setup, question, text, seed).values()
        failed.append(next((message for message in verdicts if message), None))
        if failed[-1] and failed[-1].startswith("Stopped: "):
            break  # it would be stopped again
    return failed


def _draws(question):
    """Whether checks that hold their own code draw numbers."""
    return any("draw(" in cell for _, cell in question.checks.values())


def kill_table(
    stem,
    root=ROOT,
    seeds=(0, 1, 2),
    seconds=SECONDS,
    *,
    question="",
    damaged=True,
):
    """Judge everything that there is for one set of exercises.

    stem     such as "01_sharded_arrays"
    root     the folder that holds solutions/ and book/
    seeds    what the hidden checks draw from, one run for each
    seconds  after how long an answer is stopped
    question  the name of the only one to be judged; "" for all
    damaged  whether mutants are judged as well
    returns  list of KillRow
    raises   ValueError for an answer to a question that does not exist, and
             for an equivalent mutant that is not made or has no reason
    """
    setup, questions, answers = read_all(stem, root)
    table = []
    with Bench(seconds) as bench:
        for name, one in questions.items():
            mine = [a for a in answers if a.question == name]
            if question in ("", name):
                table += rows_of(setup, one, mine, seeds, bench.judge, damaged)
    return table


def read_all(stem, root=ROOT):
    """What `read_set` and `read_answers` give for one set of exercises."""
    setup, questions = read_set(root / f"book/exercises/{stem}.md")
    answers = read_answers(root / f"book/exercises/{stem}.answers.py")
    for answer in answers:
        if answer.question not in questions:
            raise ValueError(f"there is no question {answer.question}")
    return setup, questions, answers


def rows_of(setup, question, answers, seeds, judge=judge, damaged=True):
    """The rows of one question: given answers first, then mutants.

    setup, seeds, judge  as in `row`

    question  Question
    answers   list of Answer, those to this question
    damaged   whether mutants are made
    returns   list of KillRow
    raises    ValueError as `kill_table`
    """
    given = [("solution", "the solution", question.solution, True, "")]
    given += [
        (a.verdict, a.title, a.text, a.verdict == "right", "")
        for a in answers
        if a.verdict != "equivalent"
    ]
    if not damaged:
        return [row(setup, question, one, seeds, judge) for one in given]
    same = {a.title: _reason(a) for a in answers if a.verdict == "equivalent"}
    made = mutants(question.solution, asks(question) == "program")
    if unknown := set(same) - {words for words, _ in made}:
        raise ValueError(f"{question.name}: no mutant is called {unknown}")
    given += [
        ("mutant", words, text, words in same, same.get(words, ""))
        for words, text in made
    ]
    return [row(setup, question, one, seeds, judge) for one in given]


def _reason(answer):
    """Why a mutant is right: the comment that stands below its title."""
    words = " ".join(answer.text.replace("#", " ").split())
    if len(words.split()) < 3:
        raise ValueError(
            f"{answer.question} equivalent: {answer.title}: say why in a "
            f"comment of at least three words, got {words!r}"
        )
    return words


def shortcomings(question, answers):
    """What is missing beside one question, one sentence each.

    answers  those to this question
    returns  list of sentences: too few wrong or right answers, or two right
             ones that differ in nothing but names and style
    """
    wrong = [a for a in answers if a.verdict in ("wrong", "by-heart")]
    right = [(a.title, a.text) for a in answers if a.verdict == "right"]
    found = []
    for verdict, few, least in (
        ("wrong", wrong, LEAST_WRONG),
        ("right", right, LEAST_RIGHT),
    ):
        if len(few) < least:
            found.append(f"{len(few)} {verdict} answers, at least {least}")
    pairs = itertools.combinations(
        [("the solution", question.solution), *right], 2
    )
    for (title, text), (other, another) in pairs:
        if not differ(text, another):
            found.append(f"{title!r} and {other!r} are one answer")
    return [f"{question.name}: {sentence}" for sentence in found]


def summary(table):
    """The numbers of a kill table, as a dict.

    returns  questions   dict: kind of question -> how many
             right       answers that must pass, and accepted, those that do
             wrong       answers and mutants that must not, and rejected,
                         those that never do
             given       wrong answers that are given, those by heart left
                         out; visible, those that the visible cases reject;
                         generic, those that are told nothing but that
             equivalent  mutants that are right
             kill_rate   rejected / wrong
    """
    kinds = {row.question: row.asks for row in table}
    wrong = [row for row in table if not row.expected]
    same = [r for r in table if r.expected and r.kind == "mutant"]
    right = [r for r in table if r.expected and r.kind != "mutant"]
    rejected = sum(row.sound for row in wrong)
    given = [row for row in table if row.kind == "wrong"]
    return {
        "questions": {k: [*kinds.values()].count(k) for k in kinds.values()},
        "right": len(right),
        "accepted": sum(row.sound for row in right),
        "wrong": len(wrong),
        "rejected": rejected,
        "given": len(given),
        "visible": sum(row.visible for row in given),
        "generic": sum(row.message.endswith(LAST_RESORT) for row in given),
        "equivalent": len(same),
        "kill_rate": rejected / len(wrong) if wrong else 0.0,
    }


def sets(root=ROOT):
    """The stems of the sets of exercises that have answers."""
    paths = sorted((root / "book/exercises").glob("*.answers.py"))
    return [path.name.removesuffix(".answers.py") for path in paths]


def lines(table):
    """The kill table as lines of text."""
    for row in table:
        outcome = "passes" if row.accepted else "rejected"
        outcome = outcome if row.certain else "depends"
        outcome = "visible" if row.visible else outcome
        mark = "" if row.sound else "  <-- WRONG"
        mark += "" if row.told else "  <-- NOT VISIBLE"
        yield (
            f"  {row.question:12} {row.asks:8} {row.kind:8} {outcome:8} "
            f"{row.title}{mark}"
        )
        if row.message:
            cut = compare.shown(row.message)
            yield f"{'':42}{cut if row.kind == 'mutant' else row.message}"


def last_line(stem, numbers):
    """A summary in one line."""
    kinds = ", ".join(f"{n} {k}" for k, n in numbers["questions"].items())
    return (
        f"{stem}: {sum(numbers['questions'].values())} questions ({kinds}); "
        f"{numbers['accepted']} of {numbers['right']} right answers pass; "
        f"{numbers['rejected']} of {numbers['wrong']} wrong answers and "
        f"mutants rejected, {numbers['kill_rate']:.1%}; "
        f"{numbers['visible']} of {numbers['given']} wrong answers rejected by "
        f"visible cases, {numbers['generic']} without a reason; "
        f"{numbers['equivalent']} mutants are right"
    )


def _report(stem, root, draws, *, question="", damaged=True):
    """Judge one set and print its kill table.

    stem     such as "01_sharded_arrays"
    root     the folder that holds solutions/ and book/
    draws    how many draws of numbers each answer meets
    question, damaged  as in `kill_table`
    returns  dict of plain data: rows, missing, summary, and sound, which is
             whether all is as it should be
    """
    _, questions, answers = read_all(stem, root)
    missing = [
        sentence
        for name, one in questions.items()
        if question in ("", name)
        for sentence in shortcomings(
            one, [a for a in answers if a.question == name]
        )
    ]
    chosen = {"question": question, "damaged": damaged}
    table = kill_table(stem, root, range(draws), **chosen)
    print(stem)
    for line in [*lines(table), *(f"  MISSING {words}" for words in missing)]:
        print(line)
    print(last_line(stem, summary(table)))
    return {
        "rows": [row._asdict() for row in table],
        "missing": missing,
        "summary": summary(table),
        "sound": not missing and all(row.sound for row in table),
    }


def main(arguments=None, root=ROOT):
    """Print the kill table; returns 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m shardlab.authoring.kit",
        description="Print which answers the checks of a set reject.",
    )
    parser.add_argument("set", nargs="?", default="", help="such as 01")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON too")
    parser.add_argument(
        "--draws", type=int, default=3, metavar="N", help="of fresh numbers (3)"
    )
    parser.add_argument(
        "--question", default="", metavar="NAME", help="only this one"
    )
    parser.add_argument(
        "--given", action="store_true", help="the given answers, no mutants"
    )
    options = parser.parse_args(arguments)
    if options.draws < 1:
        parser.error(f"--draws must be at least 1, got {options.draws}")
    chosen = [stem for stem in sets(root) if stem.startswith(options.set)]
    if not chosen:
        print(f"kit: there is no set {options.set!r}", file=sys.stderr)
        return 2
    whole = {
        stem: _report(
            stem,
            root,
            options.draws,
            question=options.question,
            damaged=not options.given,
        )
        for stem in chosen
    }
    if options.json:
        written = json.dumps(whole, indent=1)
        Path(options.json).write_text(written + "\n", encoding="utf-8")
    return 0 if all(found["sound"] for found in whole.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
