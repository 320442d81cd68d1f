"""Grades one submission: its cells in a sandbox, our checks on this side."""

import base64
import binascii
import contextlib
import hashlib
import io
import json
import logging
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat.v4 import new_output

from shardlab.checks import cells, personal, plain, student
from shardlab.checks.question import NotAnswered, OneLine, WrongAnswer
from shardlab.grading import pictures
from shardlab.grading.graft import grafted, remarks, typed_over
from shardlab.grading.sandbox import LIMITS, Sandbox, Stopped, Unavailable

__all__ = [
    "EXECUTOR",
    "MAX_OUTPUT",
    "NOTHING",
    "RUNNER",
    "SECONDS",
    "Graft",
    "Judge",
    "Notebook",
    "Outcome",
    "Seconds",
    "checks_of",
    "grade",
    "has_failed",
    "outputs",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader import utils
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import (
        AssignLatePenalties,
        CheckCellMetadata,
        ClearOutput,
        NbGraderPreprocessor,
        OverwriteKernelspec,
        SaveAutoGrades,
    )

MAX_STOPS = 12
# Characters of all outputs together; a picture of 1 MB has 1.4 million.
MAX_OUTPUT = 12 << 20


class Seconds(NamedTuple):
    """How long a submission may take.

    cell   seconds of one cell, or of one question of a check
    total  seconds of all of them together, restarts included
    """

    cell: float = 20
    total: float = 180


SECONDS = Seconds()


class Outcome(NamedTuple):
    """What happened when one submission was graded; points are in the book.

    student     the identifier
    assignment  the name
    timed_out   whether a deadline was met, so that a second try may do better
    stopped     sentences: which cell or check was stopped, and why
    notes       sentences for the instructor: checks that failed in a way that
                their author did not foresee, cells that were left out
    verdicts    dict: check -> None where it passed, else the type and the
                message of its failure; those only that an answer was given to
    """

    student: str
    assignment: str
    timed_out: bool
    stopped: list
    notes: list
    verdicts: dict = {}


class Notebook:
    """A student's notebook in its sandbox; it is the `place` of the checks.

    seconds   as `Seconds` says
    isolated  False runs it without a sandbox
    limits    of each sandbox
    variables environment variables of the notebook
    kept      list of the sandboxes, at most one, that run programs and wait for
              the next submission: one is taken out, and put back afterwards
    """

    def __init__(self, seconds, isolated, limits, variables, kept=None):
        self.seconds, self.settings = seconds, (limits, isolated, variables)
        self.waiting = kept
        self.end = time.monotonic() + seconds.total
        self.boxes, self.ran, self.bad = {}, [], set()
        self.stops, self.timed_out, self.room = 0, False, MAX_OUTPUT
        self.answered, self.known, self.check = False, {}, None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.waiting is not None and EXECUTOR in self.boxes:
            box = self.boxes.pop(EXECUTOR)
            with contextlib.suppress(Stopped):  # which has closed it
                box.ask({"fresh": True}, FRESH_SECONDS)
                self.waiting.append(box)
        for box in self.boxes.values():
            box.close()

    def box(self, module):
        """The sandbox of this module, started if there is none."""
        while module not in self.boxes:
            if self.stops > MAX_STOPS:
                raise Stopped("the notebook was stopped too often")
            self.left()
            if module == EXECUTOR:
                self.boxes[module] = self.executor()
            else:
                self.boxes[module] = _started(module, *self.settings)
            if module == RUNNER:
                self.run_again()
        return self.boxes[module]

    def executor(self):
        """The sandbox that waits, if it is well, or a new one.

        What it runs is the same for everybody: it gets no variables.
        """
        while self.waiting:
            box = self.waiting.pop()
            with contextlib.suppress(Stopped):  # which has closed it
                box.ask({"ready": True}, FRESH_SECONDS)
                return box
        return _started(EXECUTOR, *self.settings[:2])

    def run_again(self):
        """Run what ran before; ends early when one of the cells now stops."""
        for number, source in self.ran:
            if number not in self.bad:
                try:
                    self.send(number, source)
                except Stopped:
                    return

    def left(self):
        """The seconds that are left; raises Stopped when there are none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise Stopped("the notebook used up its time", timed_out=True)
        return left

    def put(self, module, question, seconds=None):
        """The reply of a sandbox; one that is stopped starts anew next time."""
        try:
            box = self.box(module)
            allowed = min(seconds or self.seconds.cell, self.left())
            return box.ask(question, allowed)
        except Stopped as stop:
            if box := self.boxes.pop(module, None):
                box.close()
                self.stops += 1
            self.timed_out |= stop.timed_out
            raise

    def send(self, number, source):
        """Run the cell of this number; one that stops is not run again."""
        try:
            return self.put(RUNNER, {"cell": source})
        except Stopped:
            self.bad.add(number)
            raise

    def run(self, number, source):
        """Run a cell for the first time; returns the outputs to show."""
        reply = self.send(number, source)
        self.ran.append((number, source))
        return self.kept(outputs(reply))

    def kept(self, shown):
        """Of a cell's outputs those for which the notebook has room still."""
        kept = []
        for output in shown:
            size = len(json.dumps(output))
            if size <= self.room:
                self.room -= size
                kept.append(output)
        return kept

    def ask(self, kind, name, arguments):
        """The encoded answer to a check's question, as in `student`.

        A check asks for a variable and for a program once, in both rounds
        together, and what a function returns must be the same whenever it is
        asked for: an answer that changes with the question is none. The next
        check asks anew: two questions may call their answers the same.
        """
        given = hashlib.sha256(arguments.encode()).digest()
        key = (self.check, kind, name, given)
        if key in self.known and kind in ONCE:
            self.answered = True
            return self.known[key]
        question = {"kind": kind, "name": name, "arguments": arguments}
        self.answered = False
        reply = self.put(RUNNER, question)
        if isinstance(text := reply.get("answer"), str):
            self.answered = text != NOTHING
            if self.answered:
                self.agrees(key, text)
            return text
        if "missing" in reply:
            raise NotAnswered(plain.printable(reply["missing"]))
        if "wrong" in reply:
            raise WrongAnswer(plain.printable(reply["wrong"]))
        words = [
            plain.printable(word, 500) for word in _list_in(reply, "raised")
        ]
        raise WrongAnswer(f"{name} raised {': '.join(words)}")

    def agrees(self, key, text):
        """Keep an answer; WrongAnswer if there was another one before."""
        _, kind, name, _ = key
        kept = text if kind in ONCE else hashlib.sha256(text.encode()).digest()
        if self.known.setdefault(key, kept) != kept:
            raise WrongAnswer(
                f"{name} returned two different results for the same arguments"
            )

    def execute(self, question, seconds=None):
        """What a fresh sandbox makes of an exported program."""
        return self.put(EXECUTOR, question, seconds)


def _started(module, *settings):
    """A sandbox that is ready.

    One that ends while it starts, as on a machine that is short of memory, is
    started once more.
    """
    for tries in range(2):
        box = Sandbox(module, *settings)
        try:
            box.ready()
            return box
        except Unavailable:  # `ready` has closed it
            if tries:
                raise


class _SaveAtOnce(SaveAutoGrades):
    """Writes the scores of a notebook in one transaction.

    nbgrader's own step waits for the disk after each score and each comment.
    """

    def preprocess(self, nb, resources):
        """The notebook as it was; its scores are in the gradebook."""
        self.last = len(nb.cells) - 1
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell, resources, cell_index):
        """Note the score of a cell; after the last one all are written."""
        session = self.gradebook.db
        if cell_index == 0:
            self.commit, session.commit = session.commit, session.flush
        found = super().preprocess_cell(cell, resources, cell_index)
        if cell_index == self.last:
            self.commit()
        return found


RUNNER = "shardlab.grading.runner"
EXECUTOR = "shardlab.grading.forkserver"
# Seconds in which a process must be ready for the next submission.
FRESH_SECONDS = 10
# Kinds of questions that are asked once; what these send is kept.
ONCE = ("value", "expression", "program", "types")
# A variable that waits for its answer.
NOTHING = plain.encode(None)


def _list_in(reply, name):
    """A list in a reply; an empty one for anything else."""
    found = reply.get(name)
    return found if isinstance(found, list) else []


def outputs(reply):
    """What a cell showed, as a notebook's outputs: text and small pictures."""
    shown = []
    if text := plain.printable(reply.get("text"), 21_000):
        shown.append(new_output("stream", name="stdout", text=text))
    for encoded in _list_in(reply, "pictures")[:4]:
        with contextlib.suppress(binascii.Error, TypeError, ValueError):
            if picture := pictures.bounded(base64.b64decode(encoded)):
                text = base64.b64encode(picture).decode()
                shown.append(new_output("display_data", {"image/png": text}))
    if len(words := _list_in(reply, "error")) == 3:
        shown.append(_failure(*(plain.printable(w, 6000) for w in words)))
    return shown


def _failure(kind, message, trace=""):
    """An error as a notebook's output."""
    lines = (trace or f"{kind}: {message}").splitlines()
    return new_output("error", ename=kind, evalue=message, traceback=lines)


class Graft(NbGraderPreprocessor):
    """Puts the submitted answers into our notebook."""

    def __init__(self, template, **settings):
        super().__init__(**settings)
        self.template, self.notes, self.typed = template, [], set()

    def preprocess(self, nb, resources):
        """The grafted notebook instead of the submitted one."""
        self.notes = remarks(self.template, nb)
        self.typed = typed_over(self.template, nb)
        return grafted(self.template, nb), resources


class Judge(NbGraderPreprocessor):
    """Runs a grafted notebook and writes the checks' verdicts into it.

    checks   dict: grade_id -> text of the check, from our own source
    grading  dict of what `Notebook` takes, and the seed
    stood    dict of verdicts of an earlier try, as in `Outcome`: these checks
             are not asked again
    graft    the Graft that made the notebook, or None
    """

    @property
    def typed(self):
        """The checks into whose cells something was typed."""
        return self.graft.typed if self.graft else set()

    def __init__(self, checks, grading, stood=(), graft=None, **settings):
        super().__init__(**settings)
        self.graft = graft
        self.checks, self.grading, self.stood = checks, grading, dict(stood)
        self.stopped, self.notes, self.fault = [], [], None
        self.timed_out = False

    def preprocess(self, nb, resources):
        """Run cells and checks in order; failed checks again at the end."""
        settings = dict(self.grading)
        seed = settings.pop("seed")
        try:
            with (
                Notebook(**settings) as notebook,
                student.asking(notebook, seed),
            ):
                failed = self.first_round(nb, notebook)
                if failed and self.runs_after(nb, failed[0]):
                    self.second_round(nb, failed, notebook)
                self.timed_out = notebook.timed_out
        except Exception as error:
            self.fault = error
            raise
        return nb, resources

    def first_round(self, nb, notebook):
        """Run everything in order; returns the numbers of unanswered checks."""
        failed, error = [], ""
        for number, cell in enumerate(nb.cells):
            if utils.is_grade(cell) and not utils.is_solution(cell):
                if not self.judged(cell, notebook):
                    failed.append(number)
                    self.explain(cell, error)
            elif cell.cell_type == "code":
                try:
                    cell.outputs = notebook.run(number, cell.source)
                except Stopped as stop:
                    self.stopped.append(f"cell {number + 1}: {stop}")
                    cell.outputs = [_failure("Stopped", str(stop))]
                if utils.is_solution(cell):
                    error = _error_of(cell)
        return failed

    def explain(self, cell, error):
        """Say at a check without an answer where the answer may be.

        cell   the check's
        error  what the answer cell above ended with, in words, or ""
        """
        (shown,) = (o for o in cell.outputs if o.output_type == "error")
        said = [f"the cell above ended with {error}"] if error else []
        if cell.metadata.nbgrader.grade_id in self.typed:
            said.append(
                "this check's own cell was changed; what stands there is not "
                "read, so write the answer into the cell above it"
            )
        words = "; ".join([shown.evalue, *said])
        cell.outputs = [_failure(shown.ename, words)]

    def judged(self, cell, notebook):
        """Write a check's verdict; whether it must not be asked again."""
        name = cell.metadata.nbgrader.grade_id
        if name in self.stood:
            cell.outputs = _verdict_of(name, self.stood[name])
            return True
        notebook.answered = False
        cell.outputs = self.verdict(cell, notebook)
        stopped = _is_stopped(cell)
        if not has_failed(cell):
            self.stood[name] = None
        elif notebook.answered and not stopped:
            self.stood[name] = _failure_of(cell)
        return name in self.stood or stopped

    def runs_after(self, nb, number):
        """Whether code of the student stands after the cell `number`."""
        return any(
            cell.cell_type == "code" and not utils.is_grade(cell)
            for cell in nb.cells[number:]
        )

    def second_round(self, nb, failed, notebook):
        """Ask failed checks again, now that every cell has run.

        What an answer needs may be defined further down: in the student's
        JupyterLab, cells ran in the order in which they were clicked. A check
        that got an answer is not asked again: two answers are a guess.
        """
        for number in failed:
            cell = nb.cells[number]
            found = self.verdict(cell, notebook)
            if not any(output.output_type == "error" for output in found):
                cell.outputs = found
                self.stood[cell.metadata.nbgrader.grade_id] = None

    def verdict(self, cell, notebook):
        """The outputs of a check: an error for a failure."""
        name = notebook.check = cell.metadata.nbgrader.grade_id
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(self.checks[name], {"__name__": "check"})
        except Stopped as stop:
            self.stopped.append(f"{name}: {stop}")
            return [_failure("Stopped", str(stop))]
        except Unavailable:
            raise
        except (OneLine, AssertionError) as error:
            message = plain.printable(str(error))
            return [_failure(type(error).__name__, message)]
        except Exception as error:
            words = plain.printable(f"{type(error).__name__}: {error}", 300)
            note = f"{name} met an answer it does not know: {words}"
            if note not in self.notes:  # checks that failed are asked twice
                self.notes.append(note)
            return [_failure("WrongAnswer", f"no answer to this: {words}")]
        return _verdict_of(name, None)


def _verdict_of(name, failed):
    """The outputs of the check `name`; `failed` is as in `Outcome.verdicts`."""
    if failed is not None:
        return [_failure(*failed)]
    return [new_output("stream", name="stdout", text=f"{name}: passed\n")]


def _error_of(cell):
    """The error that a cell ended with, in words, or ""."""
    errors = [o for o in cell.outputs if o.output_type == "error"]
    return "; ".join(f"{e.ename}: {e.evalue}"[:300] for e in errors)


def _failure_of(cell):
    """The type and the message of a check's failure."""
    (error,) = (o for o in cell.outputs if o.output_type == "error")
    return [error.ename, error.evalue]


def has_failed(cell):
    """Whether a check's outputs hold an error."""
    return any(output.output_type == "error" for output in cell.outputs)


def _is_stopped(cell):
    """Whether a check failed because the notebook was stopped."""
    return any(output.get("ename") == "Stopped" for output in cell.outputs)


def checks_of(notebook):
    """The texts of a solution's checks, compiled, by grade_id.

    Before each stand the imports of checks that the notebook makes elsewhere.
    """
    ours = [cell for cell in notebook.cells if not utils.is_solution(cell)]
    checks = [cell for cell in ours if utils.is_grade(cell)]
    imports = cells.imports(
        cell.source
        for cell in ours
        if cell.cell_type == "code" and cell not in checks
    )
    return {
        cell.metadata.nbgrader.grade_id: compile(
            imports + cell.source, "<check>", "exec"
        )
        for cell in checks
    }


def _notebook_of(folder, assignment):
    """The notebook of an assignment below one of the course's folders."""
    path = Path(folder) / assignment / f"{assignment}.ipynb"
    return nbformat.read(path, as_version=4)


def grade(
    identifier,
    assignment,
    config,
    seed,
    seconds=SECONDS,
    isolated=True,
    limits=LIMITS,
    stood=(),
    kept=None,
):
    """Grade one submission that lies where nbgrader expects it.

    identifier  the student's
    assignment  the name; its notebook has the same
    config      as `course.config` returns it, with a release directory that
                nbgrader has filled
    seed        what the hidden checks draw from, a whole number
    seconds     as `Seconds` says
    isolated    False runs the student's cells with all your rights
    limits      of each sandbox
    stood       verdicts of an earlier try, which stand, as in `Outcome`
    kept        list for a sandbox that waits for the next submission, graded
                with the same limits and isolation; None keeps none
    returns     Outcome; points and outputs are in the gradebook and below the
                autograded directory
    raises      RuntimeError when it could not be graded for a reason that is
                not the student's
    """
    places = config.CourseDirectory
    checks = checks_of(_notebook_of(places.source_directory, assignment))
    graft = Graft(_notebook_of(places.release_directory, assignment))
    grading = {
        "seed": seed,
        "seconds": seconds,
        "isolated": isolated,
        "limits": limits,
        "variables": {personal.VARIABLE: identifier},
        "kept": kept,
    }
    judge = Judge(checks, grading, stood, graft)
    with personal.belonging_to(identifier):
        _convert(config, identifier, assignment, graft, judge)
    notes = graft.notes + judge.notes
    return Outcome(
        identifier,
        assignment,
        judge.timed_out,
        judge.stopped,
        notes,
        judge.stood,
    )


def _convert(config, identifier, assignment, graft, judge):
    """Let nbgrader convert a submission with our two steps in the middle."""
    folder = CourseDirectory(config=config)
    folder.assignment_id, folder.student_id = assignment, identifier
    converter = Autograde(coursedir=folder, config=config)
    words = io.StringIO()
    converter.log = logging.Logger("nbgrader", logging.ERROR)
    converter.log.addHandler(logging.StreamHandler(words))
    converter.force = True
    converter.sanitize_preprocessors = [graft, ClearOutput, OverwriteKernelspec]
    converter.autograde_preprocessors = [
        judge,
        _SaveAtOnce,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converter.start()
    except (Exception, SystemExit) as error:
        reason = judge.fault or words.getvalue().strip() or error
        raise RuntimeError(f"{identifier}, {assignment}: {reason}") from error
