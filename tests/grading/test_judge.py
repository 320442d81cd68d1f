import base64
import json
import os
import shutil
import time
import warnings

import jax
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from shardlab.checks import plain, student
from shardlab.checks.question import NotAnswered, WrongAnswer
from shardlab.grading import judge, sandbox
from shardlab.grading.judge import Notebook, Seconds
from shardlab.grading.sandbox import LIMITS, Stopped
from tests.grading.suite import course, rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.api import Gradebook

EXIT = "import os\nos._exit(0)"
NOTHING = plain.encode([])


def notebook(cell=20, total=120):
    """A student's notebook in a sandbox."""
    return Notebook(Seconds(cell, total), True, LIMITS, {})


def printed(outputs):
    """The text that the outputs of a cell show."""
    return "".join(
        "".join(o.get("text", "")) or o.get("evalue", "") for o in outputs
    )


def test_names_stay_from_cell_to_cell():
    with notebook() as book:
        assert book.run(0, "x = 3") == []
        assert printed(book.run(1, "print(x)")) == "3\n"
        assert plain.decode(book.ask("value", "x", NOTHING)) == 3


def test_an_ended_notebook_starts_anew_without_the_cell_that_ended_it():
    with notebook() as book:
        book.run(0, "x = 3")
        with pytest.raises(Stopped, match="it ended"):
            book.run(1, "x = 4\n" + EXIT)
        book.run(2, "y = 5")
        assert printed(book.run(3, "print(x, y)")) == "3 5\n"
        assert book.stops == 1
        assert not book.timed_out


def test_a_question_that_ends_it_costs_only_itself():
    with notebook() as book:
        book.run(0, "def f():\n    import os\n    os._exit(0)\nx = 3")
        with pytest.raises(Stopped):
            book.ask("call", "f", NOTHING)
        assert plain.decode(book.ask("value", "x", NOTHING)) == 3


def test_deadlines_are_of_one_cell_and_of_all():
    with notebook(cell=1, total=600) as book:
        with pytest.raises(Stopped, match="longer than 1 s"):
            book.run(0, "while True: pass")
        assert book.timed_out
        book.run(1, "import time; time.sleep(0.5)")
        book.end = time.monotonic() + 0.2
        with pytest.raises(Stopped, match=r"longer than|used up its time"):
            book.run(2, "time.sleep(0.8)")
        with pytest.raises(Stopped, match="used up its time"):
            book.run(3, "x = 1")


CHANGES = """\
class Text(str):
    asked = 0
    def __str__(self):
        Text.asked += 1
        return ["7", "D"][Text.asked % 2]

ratio = Text("D")
count = 0

def f(x):
    global count
    count += 1
    return x + count % 2
"""


def test_an_answer_is_the_same_whenever_it_is_asked_for():
    with notebook() as book:
        book.run(0, CHANGES + "later = None\nnumber = 3")
        first = book.ask("expression", "ratio", NOTHING)
        assert book.ask("expression", "ratio", NOTHING) == first
        assert plain.decode(book.ask("value", "number", NOTHING)) == 3
        book.run(1, "number = 4\nlater = 5")
        assert plain.decode(book.ask("value", "number", NOTHING)) == 3
        assert book.answered
        one, two = plain.encode([1]), plain.encode([2])
        assert plain.decode(book.ask("call", "f", one)) == 2
        assert plain.decode(book.ask("call", "f", two)) == 2
        book.run(2, "count = 0")
        assert plain.decode(book.ask("call", "f", one)) == 2
        with pytest.raises(WrongAnswer, match="two different results"):
            book.ask("call", "f", one)


def test_two_questions_may_call_their_answers_the_same():
    with notebook() as book:
        for number in (3, 4):
            book.run(number, f"bound = {number}\ndef f(x): return {number}")
            book.check = f"question_{number}"
            for _ in range(2):
                assert plain.decode(book.ask("value", "bound", NOTHING)) == (
                    number
                )
            got = book.ask("call", "f", plain.encode([1]))
            assert plain.decode(got) == number


def test_what_waits_for_its_answer_may_be_asked_for_again():
    with notebook() as book:
        book.run(0, "later = None")
        assert book.ask("value", "later", NOTHING) == judge.NOTHING
        assert not book.answered
        book.run(1, "later = 5")
        assert plain.decode(book.ask("value", "later", NOTHING)) == 5


def test_no_sandbox_is_left():
    with notebook() as book:
        book.run(0, "x = 3")
        process = book.boxes[judge.RUNNER].process
        assert process.poll() is None
    assert process.poll() is not None


def test_what_a_notebook_says_is_believed_as_little_as_it_can():
    answers = {
        "value": '{"int": "3"}',
        "missing": ["x"],
        "raised": [7, "<b>\x1b[2J", None],
    }
    with notebook() as book:
        for reply, error, words in (
            ({"missing": "no \x1b[2Janswer"}, NotAnswered, "no answer"),
            ({"missing": answers["missing"]}, NotAnswered, "^$"),
            ({"wrong": "too \u202elong"}, WrongAnswer, "too long"),
            ({"raised": answers["raised"]}, WrongAnswer, "f raised : <b>: $"),
            ({"raised": "text"}, WrongAnswer, "f raised $"),
            ({"answer": 7}, WrongAnswer, "f raised $"),
            ({}, WrongAnswer, "f raised $"),
        ):
            book.put = lambda *a, reply=reply: reply
            with pytest.raises(error, match=words):
                book.ask("call", "f", NOTHING)
        book.put = lambda *a: {"answer": answers["value"], "wrong": "x"}
        assert book.ask("call", "f", NOTHING) == answers["value"]


def test_answers_that_would_take_the_grader_long_are_refused():
    collide = [[{"int": str(k * (2**61 - 1))}, None] for k in range(90_000)]
    for packed, words in (
        ({"dict": collide}, "too large: 'dict'"),
        ({"array": ["f4," * 600_000, [0], ""]}, "another type than numbers"),
        ({"array": ["(,)f4", [0], ""]}, "another type than numbers"),
        ({"array": [["<f4"], [0], ""]}, "another type than numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            plain.decode(json.dumps(packed))
    with pytest.raises(ValueError, match="a dict of more than 1000 keys"):
        plain.encode(dict.fromkeys(range(1001)))
    most = dict.fromkeys(range(1000))
    assert plain.decode(plain.encode(most)) == most


def test_a_notebook_shows_so_much_and_no_more(monkeypatch):
    monkeypatch.setattr(judge, "MAX_OUTPUT", 200_000)
    with notebook() as book:
        big = {"text": "x" * 20_000, "pictures": [], "error": None}
        book.put = lambda *a: big
        shown = [len(book.run(n, "")) for n in range(20)]
        assert shown[0] == 1
        assert shown[-1] == 0
        assert sum(shown) * 20_000 < judge.MAX_OUTPUT


PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAA"
    "AABJRU5ErkJggg=="
)


def test_outputs_are_text_and_pictures():
    encoded = base64.b64encode(PICTURE).decode()
    found = judge.outputs(
        {
            "text": "a\x1b[2J\u202eb\r",
            "pictures": [encoded, "<svg>", 7, None, encoded, encoded],
            "error": ["<b>", "x\x00", "line\nline"],
        }
    )
    assert [o.output_type for o in found] == [
        "stream",
        "display_data",
        "error",
    ]
    assert found[0].text == "ab"
    assert found[1].data == {"image/png": encoded}
    assert found[2].traceback == ["line", "line"]


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"text": 7, "pictures": 7, "error": 7},
        {"text": None, "pictures": {"a": 1}, "error": ["a", "b"]},
        {"pictures": ["é", "AAAA", [], "=" * 9]},
    ],
)
def test_outputs_of_other_kinds_are_left_out(reply):
    assert judge.outputs(reply) == []


def test_outputs_are_short():
    (one,) = judge.outputs({"text": "x" * 10**6})
    assert len(one.text) < 22_000
    (one,) = judge.outputs({"error": ["x" * 10**6] * 3})
    assert len(nbformat.writes(nbformat.v4.new_notebook(cells=[]))) < 1000
    assert len("".join(one.traceback)) < 7000


def task(sample, who, row):
    """Hand in a row, and grade it."""
    given = rows.graded(row, sample, who)
    with Gradebook(sample.config.CourseDirectory.db_url) as book:
        grades = book.find_submission_notebook(
            course.STEM, course.STEM, who
        ).grades
        return given, {
            g.name: (g.auto_score, g.needs_manual_grade) for g in grades
        }


def test_points_are_in_the_gradebook_and_a_proof_waits(sample):
    def proven(notebook):
        rows.named(notebook, "proof")["source"] = "It is so."

    row = rows.Row("", 37, "simple", {"local_bytes": "pass"}, change=proven)
    given, grades = task(sample, "zoe", row)
    assert given.faults == []
    assert grades["proof"] == (None, True)
    assert grades["copies_check"] == (1, False)
    assert grades["local_bytes_check"] == (0, False)
    assert given.outcome[:5] == ("zoe", course.STEM, False, [], [])
    stands = given.outcome.verdicts
    assert stands["copies_check"] is None
    # What was never answered is asked again, should there be another try.
    assert "local_bytes_check" not in stands


def test_a_proof_left_as_it_was_has_no_points(sample):
    given, grades = task(sample, "yan", rows.Row("", 0, "blank"))
    assert given.faults == []
    assert grades["proof"] == (0, False)


def test_a_second_grading_replaces_the_first(sample):
    folder = sample.config.CourseDirectory.submitted_directory
    given, _ = task(sample, "xia", rows.Row("", 39, "simple"))
    assert given.score == 39
    shutil.rmtree(f"{folder}/xia")
    shutil.rmtree(sample.root / "incoming/xia")
    given, grades = task(sample, "xia", rows.Row("", 0, "blank"))
    assert given.score == 0
    assert set(grades.values()) == {(0, False)}


def test_a_deadline_is_reported(sample):
    row = rows.Row(
        "", 0, "blank", {"copies": "while True: pass"}, seconds=(2, 60)
    )
    given, _ = task(sample, "wim", row)
    assert given.outcome.timed_out
    assert "ran longer than 2 s" in given.outcome.stopped[0]


def test_what_a_check_did_not_foresee_is_noted(sample):
    source = sample.root / f"solutions/{course.STEM}/{course.STEM}.ipynb"
    before = source.read_text()
    broken = nbformat.reads(before, as_version=4)
    for cell in broken.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "copies_check":
            cell.source = "raise KeyError('defect')"
    nbformat.write(broken, source)
    try:
        given, _ = task(sample, "ulf", rows.Row("", 38, "simple"))
    finally:
        source.write_text(before)
    (note,) = given.outcome.notes
    assert note.startswith("copies_check met an answer it does not know")
    assert "KeyError" in note


GUESS = """\
asked = 0

def local_bytes(I, J, X, Y):
    global asked
    asked += 1
    return 4 * I * J
"""
SLEEP = """\
import time
def place(x):
    if asked < 5:  # the check ended early: the guess was wrong
        time.sleep(60)
    return jax.numpy.asarray(x)
"""


@pytest.mark.long
def test_time_that_is_used_up_buys_no_second_guess(sample):
    answers = {"local_bytes": GUESS, "place": SLEEP}
    row = rows.Row("", 0, "blank", answers, seconds=(2, 60))
    given, _ = task(sample, "vic", row)
    assert given.outcome.timed_out
    stood = given.outcome.verdicts
    assert stood["local_bytes_check"][0] == "WrongAnswer"
    assert "place_check" not in stood
    # The second try asks only what the first one did not answer.
    right = rows.Row("", 0, "simple")
    given = rows.graded(right, sample, "vie", stood=stood)
    outcome, score = given.outcome, given.score
    assert score == rows.of("copies", "crossings", "place")
    assert outcome.verdicts["local_bytes_check"] == stood["local_bytes_check"]


def test_scores_of_a_notebook_are_written_all_or_none(sample, monkeypatch):
    save, saved = judge.SaveAutoGrades._add_score, []

    def breaking(self, cell, resources):
        saved.append(cell.metadata.nbgrader.grade_id)
        if len(saved) == 3:
            raise OSError("no room on the disk")
        save(self, cell, resources)

    monkeypatch.setattr(judge.SaveAutoGrades, "_add_score", breaking)
    with pytest.raises(RuntimeError, match="no room on the disk"):
        task(sample, "uma", rows.Row("", 39, "simple"))
    with Gradebook(sample.config.CourseDirectory.db_url) as book:
        notebook = book.find_submission_notebook(
            course.STEM, course.STEM, "uma"
        )
        assert {grade.auto_score for grade in notebook.grades} == {None}
    assert len(saved) == 3


def test_our_own_faults_are_no_zero(sample):
    with pytest.raises(FileNotFoundError):
        judge.grade("ada", "99_nowhere", sample.config, 1)
    with pytest.raises(RuntimeError, match="nobody, 90_sample"):
        judge.grade("nobody", course.STEM, sample.config, 1)


def test_checks_draw_from_the_seed_and_leave_nothing_behind(monkeypatch):
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "5")
    place, mesh = student.place, jax.sharding.get_mesh()
    other = student.ThisKernel({"x": 1})
    with student.asking(other, 77):
        assert os.environ["SHARD_BY_SHARD_SEED"] == "77"
        assert student.value("x") == 1
    assert os.environ["SHARD_BY_SHARD_SEED"] == "5"
    assert student.place is place
    assert jax.sharding.get_mesh() == mesh


def test_a_sandbox_that_does_not_start_is_no_zero(sample, monkeypatch):
    def broken(*arguments):
        return ["false"]

    monkeypatch.setattr(sandbox, "wrapped", broken)
    with pytest.raises(RuntimeError, match="did not start"):
        task(sample, "tom", rows.Row("", 0, "simple"))


@pytest.mark.long
def test_a_cell_that_hangs_when_run_again_costs_no_other():
    with notebook(cell=3) as book:
        book.run(0, "x = 3")
        begun = time.time()
        text = f"import time\nif time.time() > {begun} + 2: time.sleep(60)"
        book.run(1, text)
        time.sleep(2)
        with pytest.raises(Stopped):
            book.run(2, EXIT)
        assert printed(book.run(3, "print(x)")) == "3\n"


def test_a_check_is_judged_with_the_imports_of_our_set_up_cells():
    def cell(source, **mark):
        return new_code_cell(source, metadata={"nbgrader": mark})

    notebook = new_notebook(
        cells=[
            cell("import jax\n\nfrom shardlab.checks import personal\n"),
            cell("from shardlab.checks import seeds", solution=True),
            cell("personal.numbers", grade=True, grade_id="a_check"),
            cell("seeds.apart", grade=True, grade_id="b_check"),
        ]
    )
    checks = judge.checks_of(notebook)
    exec(checks["a_check"], {})
    with pytest.raises(NameError, match="seeds"):
        exec(checks["b_check"], {})
