"""Checks the checks: which answers an exercise rejects and which it accepts.

Beside each set of exercises lie answers that must be rejected and answers
that must pass. To these come mutants, made from the solution by one small
damage each. All of them are run against the checks, visible and hidden, with
fresh numbers.

    python -m shardlab.grading.kit 01
"""

import argparse
import ast
import contextlib
import copy
import io
import os
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jupytext
import nbformat

from shardlab import check
from shardlab.grading import student

ROOT = Path(__file__).resolve().parents[2]


class Question(NamedTuple):
    """One answer cell and the check cells that belong to it.

    name      the answer cell's grade_id
    solution  the text of the answer cell
    checks    dict: grade_id of a check -> (points, text)
    """

    name: str
    solution: str
    checks: dict


class Answer(NamedTuple):
    """An answer to a question, with what the checks should make of it.

    question  the grade_id of the answer cell
    verdict   "right", "wrong", or "equivalent" for a mutant that is right
    title     what is right or wrong with it, in words
    text      the text of the answer cell
    """

    question: str
    verdict: str
    title: str
    text: str


def read_set(path):
    """The cells before the first question, and the questions, of a notebook.

    path     a solution notebook
    returns  (list of code texts, dict: name -> Question)
    raises   ValueError for a check that no answer cell precedes
    """
    setup, questions, current = [], {}, None
    for cell in nbformat.read(path, as_version=4).cells:
        mark = cell.metadata.get("nbgrader", {})
        if mark.get("solution"):
            current = Question(mark.grade_id, cell.source, {})
            questions[current.name] = current
        elif mark.get("grade"):
            if current is None:
                raise ValueError(f"{mark.grade_id} checks no answer cell")
            current.checks[mark.grade_id] = (mark.points, cell.source)
        elif cell.cell_type == "code":
            setup.append(cell.source)
    return setup, questions


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


VERDICTS = ("right", "wrong", "equivalent")


@contextlib.contextmanager
def asked_of(names, seed):
    """Let checks ask `names` for answers and draw numbers from `seed`."""
    place, before = student.place, os.environ.get("SHARD_BY_SHARD_SEED")
    mesh = jax.sharding.get_mesh()
    student.place = student.ThisKernel(names)
    os.environ["SHARD_BY_SHARD_SEED"] = str(seed)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        student.place = place
        jax.set_mesh(mesh)  # an answer may have set one of its own
        os.environ.pop("SHARD_BY_SHARD_SEED")
        if before is not None:
            os.environ["SHARD_BY_SHARD_SEED"] = before


def judge(setup, question, text, seed=0):
    """Run an answer against the checks of its question.

    setup     texts of the cells before the question
    text      the text of the answer cell
    seed      what `check.draw` draws from
    returns   dict: grade_id of a check -> None if passed, else the message
    """
    names, verdicts = {"__name__": "answer"}, {}
    with asked_of(names, seed):
        broken = None
        for cell in [*setup, text]:
            try:
                exec(compile(cell, "<answer>", "exec"), names)
            except Exception as error:
                broken = f"{type(error).__name__}: {error}"
        for name, (_, cell) in question.checks.items():
            try:
                exec(compile(cell, "<check>", "exec"), {"__name__": "check"})
                verdicts[name] = None
            except Exception as error:
                verdicts[name] = broken or f"{type(error).__name__}: {error}"
    return verdicts


def points(question, verdicts):
    """The points that verdicts of `judge` are worth."""
    return sum(
        worth
        for name, (worth, _) in question.checks.items()
        if verdicts[name] is None
    )


class Damage(ast.NodeTransformer):
    """Visits a syntax tree and damages the one place numbered `target`.

    target   which damage to do, counted in the order of the visit; None only
             counts
    done     the damage that was done, in words
    """

    def __init__(self, target=None):
        self.target, self.count, self.done = target, 0, None

    def offer(self, node, variants):
        """`node`, or the variant whose turn it is.

        variants  pairs (words, function that makes the damaged node)
        """
        for words, make in variants:
            if self.count == self.target:
                self.done = f"line {node.lineno}: {words}"
                self.count += 1
                return ast.copy_location(make(copy.deepcopy(node)), node)
            self.count += 1
        return node

    def visit_BinOp(self, node):
        """Drop either side, or do another operation."""
        self.generic_visit(node)
        other = OPERATIONS.get(type(node.op))
        variants = [
            (f"`{ast.unparse(node)}` loses its left side", lambda n: n.right),
            (f"`{ast.unparse(node)}` loses its right side", lambda n: n.left),
        ]
        if other:
            words = f"`{ast.unparse(node)}` with another operation"
            variants.append((words, lambda n: replaced(n, op=other())))
        return self.offer(node, variants)

    def visit_Compare(self, node):
        """Turn a comparison into its opposite, or shift its boundary."""
        self.generic_visit(node)
        variants = [
            (
                f"`{ast.unparse(node)}` with {new.__name__}",
                lambda n, new=new: replaced(n, ops=[new()]),
            )
            for new in COMPARISONS.get(type(node.ops[0]), ())
        ]
        return self.offer(node, variants)

    def visit_Constant(self, node):
        """Swap mesh axes, and take numbers one further."""
        value = node.value
        if isinstance(value, str) and value in AXES:
            words = f"axis {value} becomes {AXES[value]}"
            make = (words, lambda n: replaced(n, value=AXES[value]))
            none = (
                f"axis {value} is removed",
                lambda n: replaced(n, value=None),
            )
            return self.offer(node, [make, none])
        if type(value) in (int, float):
            words = f"{value} becomes {value + 1}"
            make = (words, lambda n: replaced(n, value=value + 1))
            return self.offer(node, [make])
        return node

    def visit_Call(self, node):
        """Reverse arguments; sum for mean, least for greatest."""
        self.generic_visit(node)
        variants = []
        if len(node.args) > 1:
            words = f"`{ast.unparse(node)}` with its arguments reversed"
            variants.append((words, lambda n: replaced(n, args=n.args[::-1])))
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        if name in CALLS:
            words = f"{name} becomes {CALLS[name]}"
            variants.append((words, lambda n: renamed(n, CALLS[name])))
        return self.offer(node, variants)

    def visit_Tuple(self, node):
        """Reverse the entries."""
        self.generic_visit(node)
        if len(node.elts) < 2 or not isinstance(node.ctx, ast.Load):
            return node
        words = f"`{ast.unparse(node)}` is reversed"
        make = (words, lambda n: replaced(n, elts=n.elts[::-1]))
        return self.offer(node, [make])

    def visit_Return(self, node):
        """Return nothing."""
        self.generic_visit(node)
        words = f"`{ast.unparse(node)}` returns nothing"
        return self.offer(node, [(words, lambda n: replaced(n, value=None))])


OPERATIONS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
AXES = {"X": "Y", "Y": "X", "Z": "X"}
CALLS = {
    "min": "max",
    "max": "min",
    "sum": "max",
    "prod": "sum",
    "psum": "pmean",
    "pmean": "psum",
}


def replaced(node, **fields):
    """`node` with some of its fields set."""
    for name, value in fields.items():
        if isinstance(node, ast.Constant) and value is None:
            return ast.Constant(None)
        setattr(node, name, value)
    return node


def renamed(node, name):
    """A call of another function, in the same module if it has one."""
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    else:
        node.func.id = name
    return node


def mutants(text):
    """Every version of a solution with one place damaged.

    text     the text of an answer cell
    returns  list of (what was damaged, damaged text), all of them different
             from the solution and from each other
    """
    counter = Damage()
    counter.visit(ast.parse(text))
    found = {ast.unparse(ast.parse(text)): None}
    for target in range(counter.count):
        damage = Damage(target)
        tree = ast.fix_missing_locations(damage.visit(ast.parse(text)))
        found.setdefault(ast.unparse(tree), damage.done)
    return [(words, body) for body, words in found.items() if words]


class Row(NamedTuple):
    """One line of the kill table.

    question  the grade_id of the answer cell
    kind      "solution", "right", "wrong", "mutant" or "unanswered"
    title     what is right or wrong with the answer
    accepted  whether it got all points
    expected  whether it should
    message   what the first failed check said, or ""
    """

    question: str
    kind: str
    title: str
    accepted: bool
    expected: bool
    message: str


def row(setup, question, kind, title, text, expected, seeds):
    """Judge one answer with every seed; accepted means: with each of them."""
    messages = []
    for seed in seeds:
        verdicts = judge(setup, question, text, seed).values()
        messages += [message for message in verdicts if message]
    accepted = not messages
    first = messages[0] if messages else ""
    return Row(question.name, kind, title, accepted, expected, first)


def kill_table(stem, root=ROOT, seeds=(0, 1, 2)):
    """Judge everything that there is for one set of exercises.

    stem     such as "01_sharded_arrays"
    root     the folder that holds solutions/ and book/
    seeds    what the hidden checks draw from, one run for each
    returns  list of Row
    raises   ValueError for an answer to a question that does not exist, and
             for an equivalent mutant that is not made
    """
    setup, questions = read_set(root / f"solutions/{stem}/{stem}.ipynb")
    answers = read_answers(root / f"book/exercises/{stem}.answers.py")
    for answer in answers:
        if answer.question not in questions:
            raise ValueError(f"there is no question {answer.question}")
    table = []
    for name, question in questions.items():
        mine = [a for a in answers if a.question == name]
        table += rows_of(setup, question, mine, seeds)
    return table


def rows_of(setup, question, answers, seeds):
    """The rows of one question: given answers first, then mutants."""
    given = [("solution", "the solution", question.solution, True)]
    given += [
        (a.verdict, a.title, a.text, a.verdict == "right")
        for a in answers
        if a.verdict != "equivalent"
    ]
    same = {a.title for a in answers if a.verdict == "equivalent"}
    damaged = mutants(question.solution)
    if unknown := same - {words for words, _ in damaged}:
        raise ValueError(f"{question.name}: no mutant is called {unknown}")
    given += [("mutant", w, text, w in same) for w, text in damaged]
    return [
        row(setup, question, kind, title, text, expected, seeds)
        for kind, title, text, expected in given
    ]


def sets(root=ROOT):
    """The stems of the sets of exercises that have answers."""
    paths = sorted((root / "book/exercises").glob("*.answers.py"))
    return [path.name.removesuffix(".answers.py") for path in paths]


def main(arguments=None):
    """Print the kill table; returns 1 if an answer is judged wrongly."""
    parser = argparse.ArgumentParser(
        prog="python -m shardlab.grading.kit",
        description="Print which answers the checks of a set reject.",
    )
    parser.add_argument("set", nargs="?", default="", help="such as 01")
    options = parser.parse_args(arguments)
    chosen = [stem for stem in sets() if stem.startswith(options.set)]
    if not chosen:
        print(f"kit: there is no set {options.set!r}", file=sys.stderr)
        return 2
    wrong = 0
    for stem in chosen:
        print(stem)
        for line in kill_table(stem):
            sound = line.accepted == line.expected
            wrong += not sound
            outcome = "passes" if line.accepted else "rejected"
            mark = "" if sound else "  <-- WRONG"
            print(
                f"  {line.question:12} {line.kind:9} {outcome:8} "
                f"{line.title}{mark}"
            )
            if line.message:
                print(f"{'':34}{check.shown(line.message)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
