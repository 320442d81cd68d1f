"""From a folder of submissions to scores: every step, in order."""

import contextlib
import fcntl
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import nbformat
from tqdm import tqdm

from shardlab.grading import (
    batch,
    cluster,
    contents,
    course,
    feedback,
    gradebook,
    graft,
    intake,
    late,
    mapping,
    records,
    report,
    roster,
    sandbox,
    similarity,
    tables,
)

__all__ = [
    "Class",
    "Given",
    "Options",
    "Summary",
    "alone",
    "collected",
    "grade",
    "names",
]


class Options(NamedTuple):
    """What an instructor can choose.

    workers   how many submissions are graded at a time
    seconds   seconds of a cell, and of a notebook; () leaves them as they are
    isolated  False runs students' programs with all your rights
    seed      what every submission's hidden checks draw from; None draws one
              for each
    again     grade all anew, changed or not
    policy    what late work loses; None is what was said the last time
    due       texts, as `late.due_dates` reads them
    roster    path of a CSV file, or None
    mapping   path of a CSV file, or None
    database  URL of the gradebook, or None for a file
    scheduler address of a Dask scheduler whose workers grade, or None
    grader    the module that grades
    """

    workers: int = 1
    seconds: tuple = ()
    isolated: bool = True
    seed: int | None = None
    again: bool = False
    policy: late.Policy | None = None
    due: tuple = ()
    roster: str | None = None
    mapping: str | None = None
    database: str | None = None
    scheduler: str | None = None
    grader: str = "shardlab.grading.judge"


class Summary(NamedTuple):
    """What became of a class.

    graded      how many submissions were graded now
    unchanged   how many are as they were when they were graded before
    lines       list of report.Line, the standing of everybody
    late        dict: (student, assignment) -> seconds
    refused     list of intake.Refused
    records     dict: (student, assignment) -> records.Record, of this folder
    changed     sentences about cells that came or went
    statistics  list of report.Statistic
    similar     list of similarity.Finding
    policy      what late work loses
    """

    graded: int
    unchanged: int
    lines: list
    late: dict
    refused: list
    records: dict
    changed: list
    statistics: list
    similar: list
    policy: late.Policy = late.Policy()


def grade(folder, root, options):
    """Grade every submission below `folder` that is new or changed.

    folder   of submissions, as `intake.collect` reads it
    root     the folder with solutions/; results go to its work/grading
    options  as `Options` says
    returns  Summary
    raises   ValueError for what has to be put right before anything can be
             graded, sandbox.Unavailable when there is no sandbox, and
             RuntimeError when no process can be started that grades
    """
    root = Path(root).resolve()
    work = root / "work/grading"
    # What is wrong with the words is said before anything is tried or made.
    _must_be_submissions(folder, root)
    _words(root, options)
    if options.scheduler and not options.database:
        raise ValueError(
            "SCHEDULER needs DATABASE: one file cannot be the gradebook of "
            "several machines"
        )
    one_round = options.scheduler and cluster.rounds(options.scheduler)
    work.mkdir(parents=True, exist_ok=True)
    with alone(work / "lock"):
        policy = late.kept(work / "late.json", options.policy)
        options = options._replace(policy=policy)
        config = course.grading(root, options.database, policy)
        if options.isolated:
            sandbox.sweep()
            sandbox.prove([root / "solutions", work, Path(folder).resolve()])
        given = collected(folder, root, options)
        todo, changed = _prepared(config, work, given, options)
        _graded(config, work, todo, options, one_round)
        summary = _finished(config, work, given, todo, changed)
        return summary._replace(policy=policy)


def _must_be_submissions(folder, root):
    """Raise ValueError unless this is a folder of submissions.

    folder  as it was said
    root    of the course
    """
    said = f"SUBMISSIONS must be a folder of submissions, got {str(folder)!r}"
    if not str(folder):
        raise ValueError("say which folder: make grade SUBMISSIONS=folder")
    place = Path(folder).resolve()
    if not place.exists():
        raise ValueError(f"{said}: there is no such folder")
    if not place.is_dir():
        raise ValueError(f"{said}: that is a file")
    if root == place or root.is_relative_to(place):
        raise ValueError(f"{said}: the course itself lies in it")
    for name in ("solutions", "exercises", "work/grading"):
        if place.is_relative_to(root / name):
            raise ValueError(f"{said}: that is the course's own {name}")


class Given(NamedTuple):
    """What the instructor gave.

    taken     list of intake.Taken
    refused   list of intake.Refused
    students  dict: identifier -> roster.Student, {} without a roster
    dates     dict: assignment -> datetime in UTC, or None for never
    """

    taken: list
    refused: list
    students: dict
    dates: dict


@contextlib.contextmanager
def alone(path):
    """Refuse to grade while another process grades the same course."""
    with open(path, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                "another make grade is at work here; wait for it to end"
            ) from None
        yield


def collected(folder, root, options):
    """Take in everything that the instructor gives.

    folder   of submissions
    root     of the course
    options  as `Options` says
    returns  Given
    """
    students, dates, wanted = _words(root, options)
    assignments = names(root)
    taken, refused = intake.collect(
        folder,
        assignments,
        root / "work/grading/submitted",
        wanted,
        set(students) if options.roster else None,
        contents.fingerprints(
            {name: _notebook(_source(root, name)) for name in assignments}
        ),
    )
    if not taken:
        reasons = "".join(f"\n  {one}" for one in refused[:20])
        raise ValueError(f"{folder} holds no submission{reasons}")
    return Given(taken, refused, students, dates)


def _words(root, options):
    """What the tables and dates of an instructor say.

    root     of the course
    options  as `Options` says
    returns  (dict of students, dict of dates, mapping or None)
    raises   ValueError that names what is wrong
    """
    assignments = names(root)
    students = roster.read_roster(options.roster) if options.roster else {}
    dates = late.due_dates(options.due, assignments)
    wanted = options.mapping and mapping.read_mapping(
        options.mapping, assignments
    )
    return students, dates, wanted


def _source(root, assignment):
    """Where the solutions to an assignment are."""
    return Path(root) / "solutions" / assignment / f"{assignment}.ipynb"


def names(root):
    """The names of the assignments of the course at `root`."""
    found = (Path(root) / "solutions").glob("*/*.ipynb")
    return sorted(path.stem for path in found if path.stem == path.parent.name)


def _prepared(config, work, given, options):
    """Make the gradebook ready for what has to be graded.

    config   as `course.grading` returns it
    work     the folder of results
    given    as `Given` says
    options  as `Options` says
    returns  (list of pairs to grade, sentences about changed cells)
    """
    digests = _wanted_digests(config, given.taken, options)
    todo = _outdated(config, work, digests, options.again)
    changed = []
    for assignment in sorted({key[1] for key in todo} | _absent(config, work)):
        changed += gradebook.release(config, assignment)
    with gradebook.opened(config) as book:
        gradebook.enrol(book, given.students.values())
        gradebook.set_due(book, given.dates)
        gradebook.enter(book, given.taken)
        # From here on until they are graded, they count as not graded.
        for key in todo:
            pending = records.Record(*key, records.PENDING, digests[key])
            records.write(work / "records", pending)
            _forget(work, key)
        gradebook.clear(book, todo)
    return todo, changed


def _absent(config, work):
    """Assignments of records whose notebook to be filled is gone or damaged."""
    places, found = config.CourseDirectory, set()
    for name in {
        assignment for _, assignment in records.read_records(work / "records")
    }:
        made = Path(places.release_directory) / name / f"{name}.ipynb"
        if _source(places.root, name).exists() and _readable(made) is None:
            found.add(name)
    return found


def _wanted_digests(config, taken, options):
    """What the digest of each record will be, once it is graded."""
    source, library = config.CourseDirectory.source_directory, records.library()
    checks = {
        assignment: _questions_digest(source, assignment)
        for assignment in {one.assignment for one in taken}
    }
    choices = [options.seconds, options.isolated, options.seed]
    return {
        one[:2]: records.digest(
            one.digest, checks[one.assignment], library, choices, options.grader
        )
        for one in taken
    }


def _questions_digest(folder, assignment):
    """A digest of all of an assignment's notebook but the answers."""
    path = Path(folder) / assignment / f"{assignment}.ipynb"
    return records.digest(
        *(
            [cell.cell_type, dict(_mark(cell)), cell.source]
            for cell in _notebook(path).cells
            if not _mark(cell).get("solution")
        )
    )


def _mark(cell):
    """What nbgrader knows of a cell, {} if nothing."""
    return cell.metadata.get("nbgrader", {})


def _outdated(config, work, digests, again):
    """The submissions that have to be graded, in order."""
    known = records.read_records(work / "records")
    with gradebook.opened(config) as book:
        scored = dict.fromkeys(digests, 0)
        for cell in gradebook.cells(book):
            key = (cell.student, cell.assignment)
            if key in scored and cell.auto is not None:
                scored[key] += 1
    return [
        key
        for key, digest in sorted(digests.items())
        if again
        or key not in known
        or known[key].status != records.GRADED
        or known[key].digest != digest
        or known[key].scored != scored[key]
        or _readable(_autograded(work, key)) is None
    ]


def _autograded(work, key):
    """Where nbgrader keeps the graded notebook of a submission."""
    student, assignment = key
    return work / "autograded" / student / assignment / f"{assignment}.ipynb"


def _forget(work, key):
    """Remove what an earlier grading left of a submission."""
    student, assignment = key
    for step in ("autograded", "feedback"):
        shutil.rmtree(work / step / student / assignment, ignore_errors=True)


def _graded(config, work, todo, options, one_round=None):
    """Grade what has to be graded; each record is kept as soon as it is."""
    settings = batch.Settings(
        config.CourseDirectory.root,
        options.database,
        tuple(options.policy),
        options.seconds,
        options.isolated,
        options.seed,
        grader=options.grader,
        **({"outer": _outer(options.seconds)} if options.seconds else {}),
    )
    known = records.read_records(work / "records")
    # A cluster has its own number of workers.
    workers = len(todo) + 1 if one_round else options.workers
    results = batch.grade_all(todo, settings, workers, one_round)
    with contextlib.closing(results), _Progress(len(todo)) as progress:
        for result in results:
            record = known[result.student, result.assignment]
            _keep(config, work, record._replace(seed=result.seed), result.reply)
            progress.step()


def _outer(seconds):
    """How long a process may be at one submission, in seconds."""
    return seconds[1] + batch.OUTER_SECONDS


def _keep(config, work, record, reply):
    """Write down what became of one submission."""
    if "error" not in reply:
        record = record._replace(status=records.GRADED, **_figures(reply))
        records.write(work / "records", record)
        return
    record = record._replace(status=records.FAILED, error=reply["error"])
    records.write(work / "records", record)
    _forget(work, record[:2])
    with gradebook.opened(config) as book:
        gradebook.clear(book, [record[:2]])


def _figures(reply):
    """What a record takes from a reply."""
    return {name: reply[name] for name in reply if name in records.KEPT}


class _Progress:
    """A bar on a terminal, and a line now and then elsewhere."""

    def __init__(self, total):
        self.total, self.done = total, 0
        self.bar = None
        if sys.stderr.isatty() and total:
            self.bar = tqdm(total=total, desc="grading", file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.bar:
            self.bar.close()

    def step(self):
        """One more is done."""
        self.done += 1
        if self.bar:
            self.bar.update()
        elif self.done == self.total or self.done % 10 == 0:
            said = f"graded {self.done} of {self.total}"
            print(said, file=sys.stderr, flush=True)


def _finished(config, work, given, todo, changed):
    """Write scores, pages and reports, and sum up.

    config   as `course.grading` returns it
    work     the folder of results
    given    as `Given` says
    todo     pairs that had to be graded
    changed  sentences about cells that came or went
    returns  Summary
    """
    known = records.read_records(work / "records")
    with gradebook.opened(config) as book:
        known = _with_missing_failed(book, known)
        ready = {k for k, one in known.items() if one.status == records.GRADED}
        class_ = _standings(config, book, given, known, ready)
        names = given.students or class_.students
        due = gradebook.due(book)
        if not given.students:
            names = {*names, *(key[0] for key in _unread(given.refused))}
        lines = _tabulated(work, class_, names, given.refused, due)
        _pages(work, book, class_, lines)
    statistics = report.statistics(class_.cells, ready)
    report.write_statistics(work / "statistics.csv", statistics)
    here = {one[:2]: known[one[:2]] for one in given.taken}
    return Summary(
        graded=len(ready.intersection(todo)),
        unchanged=len(here) - len(todo),
        lines=lines,
        late={k: class_.late[k] for k in here if k in class_.late},
        refused=given.refused,
        records=here,
        changed=changed,
        statistics=statistics,
        similar=_compared(config, work, known),
    )


LOST = (
    "the gradebook does not have this submission, as when it was removed, or "
    "another DATABASE was named: grade it again, from a folder that it is in"
)


def _with_missing_failed(book, known):
    """The records, in which failed what the gradebook does not know.

    book   nbgrader's Gradebook
    known  dict: (student, assignment) -> records.Record
    """
    there = gradebook.penalties(book)
    lost = {"status": records.FAILED, "error": LOST}
    return {
        key: one
        if key in there or one.status == records.FAILED
        else one._replace(**lost)
        for key, one in known.items()
    }


def _standings(config, book, given, known, ready):
    """What is known of the class, with penalties worked out anew."""
    late_by = gradebook.penalise(book, config, ready)
    root = config.CourseDirectory.root
    named = {a for _, a in {*_unread(given.refused), *known}}
    most = {a: _points_of(_source(root, a)) for a in named - {intake.UNKNOWN}}
    most |= {a: p for a, p in gradebook.best_points(book).items() if a in most}
    return Class(
        gradebook.people(book) | given.students,
        most,
        known,
        _in_order(config, gradebook.cells(book)),
        gradebook.penalties(book),
        gradebook.times(book),
        late_by,
    )


def _unread(refused):
    """Pairs (student, assignment) of work that could not be taken.

    refused  list of intake.Refused
    """
    return {one[2:] for one in refused if one.student and one.assignment}


def _points_of(path):
    """The best possible points of the solution notebook at `path`.

    returns  float; 0 where there is none any more
    """
    if not path.exists():
        return 0.0
    return float(sum(_mark(c).get("points", 0) for c in _notebook(path).cells))


def _in_order(config, cells):
    """Cells of the gradebook in the order of the notebooks."""
    source, places = Path(config.CourseDirectory.source_directory), {}
    for assignment in sorted({cell.assignment for cell in cells}):
        path = source / assignment / f"{assignment}.ipynb"
        names = enumerate(_notebook(path).cells if path.exists() else ())
        places |= {
            (assignment, _mark(cell).get("grade_id")): n for n, cell in names
        }
    last = len(places)
    return sorted(
        cells,
        key=lambda cell: (
            cell.assignment,
            cell.student,
            places.get((cell.assignment, cell.name), last),
        ),
    )


class Class(NamedTuple):
    """What is known of a class.

    students   dict: identifier -> roster.Student
    most       dict: assignment -> best possible score
    known      dict: (student, assignment) -> records.Record
    cells      list of gradebook.Cell
    penalties  dict: (student, assignment) -> points
    times      dict: (student, assignment) -> datetime
    late       dict: (student, assignment) -> seconds
    """

    students: dict
    most: dict
    known: dict
    cells: list
    penalties: dict
    times: dict
    late: dict


def _tabulated(work, class_, names, refused, due):
    """Write the CSV files; returns list of report.Line.

    work     the folder of results
    class_   a Class
    names    who is in the class
    refused  list of intake.Refused
    due      assignments that have a due date
    """
    students, most, known, cells, penalties, times, late_by = class_
    lines = report.lines(names, most, known, cells, penalties, refused, due)
    report.write_scores(
        work / "scores.csv", lines, students, known, times, late_by
    )
    report.write_canvas(work / "canvas.csv", lines, students, most)
    report.write_moodle(work / "moodle.csv", lines, students, most)
    rows = [
        {**one._asdict(), "file": intake.shown(one.place)} for one in refused
    ]
    columns = ("file", "reason", "student", "assignment")
    tables.write(work / "refused.csv", columns, rows)
    return lines


def _pages(work, book, class_, lines):
    """Write a feedback page for everything that is graded."""
    points = {}
    for cell in class_.cells:
        key = (cell.student, cell.assignment)
        points.setdefault(key, {})[cell.name] = cell
    for line in lines:
        key = line[:2]
        if line.status == report.REFUSED:
            name = report.full_name(
                class_.students.get(line.student, roster.Student(line.student))
            )
            title = f"{line.assignment}: {name}"
            page = feedback.notice(title, [report.sentence(line)])
            feedback.write(work / "feedback", *key, page)
        graded = _readable(_autograded(work, key))
        if line.score is None or graded is None:
            continue
        name = report.full_name(class_.students[line.student])
        said = [report.sentence(line)] if line.penalty else []
        if line.penalty:
            said.append(f"in all {line.final:.10g} points")
        if key in class_.times:
            said.append(f"handed in {class_.times[key]:%Y-%m-%d %H:%M} UTC")
        page = feedback.page(
            f"{line.assignment}: {name}",
            said,
            graded,
            points[key],
            gradebook.comments(book, *key),
        )
        feedback.write(work / "feedback", *key, page)


def _compared(config, work, known):
    """Compare all answers; writes similarity.csv."""
    found = []
    root = config.CourseDirectory.root
    for assignment in sorted({assignment for _, assignment in known}):
        # A set that the book no longer has keeps its points.
        if not _source(root, assignment).exists():
            continue
        submitted = {
            student: work / "submitted" / student / assignment
            for student, name in known
            if name == assignment
        }
        found += _similar_in(config, assignment, submitted)
    rows = [
        {**one._asdict(), "students": " ".join(one.students), "what": str(one)}
        for one in found
    ]
    columns = [*similarity.Finding._fields, "what"]
    tables.write(work / "similarity.csv", columns, rows)
    return found


def _similar_in(config, assignment, submitted):
    """Compare the answers to one assignment.

    config      as `course.grading` returns it
    assignment  the name
    submitted   dict: student -> folder of the stored submission
    returns     list of similarity.Finding
    """
    places, file = config.CourseDirectory, f"{assignment}.ipynb"
    stubs = _notebook(Path(places.release_directory) / assignment / file)
    source = _notebook(Path(places.source_directory) / assignment / file)
    numbers = {
        number: _mark(cell).grade_id
        for number, cell in enumerate(stubs.cells)
        if _mark(cell).get("solution") and cell.cell_type == "code"
    }
    answers = {}
    for student, folder in submitted.items():
        if (stored := _readable(folder / file)) is None:
            continue
        given, extra = graft.answers_by_cell(stubs, stored)
        texts = {numbers[n]: text for n, text in given.items() if n in numbers}
        answers[student] = (texts, [t for more in extra.values() for t in more])
    return similarity.findings(
        assignment,
        {name: stubs.cells[number].source for number, name in numbers.items()},
        _published(places.root, assignment, source),
        answers,
    )


def _published(root, assignment, source):
    """The answers that anybody can read: dict question -> list of texts."""
    found = {
        _mark(cell).grade_id: [cell.source]
        for cell in source.cells
        if _mark(cell).get("solution")
    }
    path = Path(root) / f"book/exercises/{assignment}.answers.py"
    if path.exists():
        from shardlab.authoring import kit

        for answer in kit.read_answers(path):
            if answer.verdict == "right":
                found.setdefault(answer.question, []).append(answer.text)
    return found


def _readable(path):
    """The notebook at `path`, or None where there is none that can be read."""
    try:
        return _notebook(path)
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return None


def _notebook(path):
    """The notebook at `path`."""
    return nbformat.read(path, as_version=4)
