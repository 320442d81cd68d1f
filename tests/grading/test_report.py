"""Scores, penalties, statistics and the files of course systems."""

import csv
import io
import math
import os
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlab.grading import __main__ as command
from shardlab.grading import (
    batch,
    course,
    gradebook,
    intake,
    late,
    records,
    report,
    roster,
    sandbox,
    tables,
)
from tests.each import each
from tests.grading import classroom
from tests.grading.classroom import NAME, hand_in, table


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A course whose batches run in this process."""
    made = classroom.course(tmp_path)
    monkeypatch.syspath_prepend(str(made))
    sys.modules.pop("stand_in", None)
    monkeypatch.setattr(batch, "grade_all", classroom.in_this_process)
    return made


DUE = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
DUE_TEXT = f"{NAME}=2026-03-02T00:00+01:00"


def handed_in_at(root, student, seconds):
    """Let a submission lie there since `seconds` after the due date."""
    path = root / "submissions" / student / f"{NAME}.ipynb"
    time = (DUE + timedelta(seconds=seconds)).timestamp()
    os.utime(path, (time, time))


DAY = late.DAY


@each(
    ("text", "seconds", "share"),
    [
        ("none", DAY, 0),
        ("zero", 1, 1),
        ("zero grace=15", 900, 0),
        ("zero grace=15", 901, 1),
        ("day=10", 1, 0.1),
        ("day=10", DAY, 0.1),
        ("day=10", DAY + 1, 0.2),
        ("day=10 most=50", 30 * DAY, 0.5),
        ("day=10 most=50 grace=60", 3600, 0),
        ("day=10,most=50,grace=60", 3601, 0.1),
        ("day=40", 4 * DAY, 1),
        ("day=12.5", 2 * DAY, 0.25),
        ("day=0", DAY, 0),
    ],
)
def test_what_late_work_loses(text, seconds, share):
    policy = late.policy(text)
    assert late.lost(19.0, seconds, policy) == pytest.approx(19 * share)
    assert late.lost(0.0, seconds, policy) == 0
    assert late.lost(19.0, 0, policy) == 0


@given(
    st.floats(0, 1000),
    st.integers(0, 10**8),
    st.floats(0, 100),
    st.floats(0, 100),
    st.floats(0, 1000),
)
def test_a_penalty_is_never_more_than_the_score_and_grows(
    s, t, day, most, wait
):
    policy = late.Policy(day, most, wait)
    assert 0 <= late.lost(s, t, policy) <= s * (1 + 1e-12)
    assert late.lost(s, t, policy) <= late.lost(s, t + 3600, policy)


@each(
    "text",
    [
        "",
        "ten",
        "day",
        "day=",
        "day=-1",
        "day=101",
        "day=1e1",
        "day=nan",
        "most=50",
        "day=1 day=2",
        "zero day=5",
        "none grace=5",
        "day=1 grace=-5",
        "day=10%",
    ],
)
def test_a_policy_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match=r"must be|does not say"):
        late.policy(text)


def test_due_dates_come_from_words_or_a_file(tmp_path):
    path = tmp_path / "due.csv"
    path.write_text("assignment,due\na,2026-03-02T00:00+01:00\n")
    assert late.due_dates([str(path), "b=none"], ["a", "b"]) == {
        "a": DUE,
        "b": None,
    }
    for text in ("c=2026-03-02T00:00Z", "a=tomorrow", "nowhere.csv", "a="):
        with pytest.raises(ValueError, match="one of|time zone|No such file"):
            late.due_dates([text], ["a", "b"])


def test_a_date_that_is_none_is_named_with_its_assignment():
    with pytest.raises(ValueError, match=r"--due, a: expected a date"):
        late.due_dates(["a=2026-02-30"], ["a"])


@pytest.mark.parametrize(
    "words", ["nothing", "[]", '{"day": "x"}', '{"day": null}', '{"day": -1}']
)
def test_a_kept_policy_that_is_damaged_is_named(tmp_path, words):
    path = tmp_path / "late.json"
    policy = late.policy("day=12.5 most=50 grace=1")
    assert late.kept(path, policy) == late.kept(path, None) == policy
    path.write_text(words)
    with pytest.raises(ValueError, match=r"late\.json is damaged"):
        late.kept(path, None)


@pytest.mark.parametrize(
    "text",
    [
        "student,email\nada,a@x.org\n",
        "student,email\rada,a@x.org\r",
        "\r\n\r\nstudent;email\r\n\r\nada;a@x.org\r\n",
        "sep=;\nstudent;email\nada;a@x.org\n",
        '"sep=\t"\nstudent\temail\nada\ta@x.org\n',
    ],
)
def test_what_a_spreadsheet_writes_is_read(tmp_path, text):
    path = tmp_path / "class.csv"
    path.write_bytes(text.encode("utf-8-sig"))
    (row,) = tables.read_table(path, ("student",), ("email",))
    assert row.cells == {"student": "ada", "email": "a@x.org"}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert "ada" in lines[row.line - 1]


def test_scores_show_score_penalty_and_final(root):
    hand_in(root, ada="points 2", bo="points 2", cy="points 2")
    for student, seconds in (("ada", -5), ("bo", 5), ("cy", 10 * DAY)):
        handed_in_at(root, student, seconds)
    policy = late.policy("day=10 most=50")
    summary = classroom.graded(root, policy=policy, due=(DUE_TEXT,))
    rows = table(root)
    found = {
        name: [row[column] for column in ("score", "penalty", "final")]
        for name, row in rows.items()
    }
    assert found == {
        "ada": ["4", "0", "4"],
        "bo": ["4", "0.4", "3.6"],
        "cy": ["4", "2", "2"],
    }
    assert rows["cy"]["hours_late"] == "240"
    assert rows["bo"]["submitted"] == "2026-03-01T23:00:05+00:00"
    assert set(summary.late) == {("bo", NAME), ("cy", NAME)}
    # nbgrader's own pages show the same.
    with gradebook.opened(course.grading(root)) as book:
        assert book.find_submission(NAME, "cy").late_submission_penalty == 2


def test_a_penalty_follows_the_policy_the_due_date_and_points_by_hand(root):
    classroom.course(root, manual=6)
    hand_in(root, ada="points 2")
    handed_in_at(root, "ada", 5)
    half = late.policy("day=50")
    classroom.graded(root, policy=half, due=(DUE_TEXT,))
    assert table(root)["ada"]["penalty"] == "2"
    with gradebook.opened(course.grading(root)) as book:
        row = book.find_grade("proof", NAME, NAME, "ada")
        row.manual_score, row.needs_manual_grade = 6, False
        book.db.commit()
    summary = classroom.graded(root, policy=half)
    assert (summary.unchanged, table(root)["ada"]["penalty"]) == (1, "5")
    # A command that does not name the policy keeps it, and says so.
    summary = classroom.graded(root)
    assert table(root)["ada"]["penalty"] == "5"
    text = "\n".join(command.summary_text(summary, "work"))
    assert "late work loses 50 % for each day begun; LATE=" in text
    classroom.graded(root, policy=late.policy("none"))
    assert table(root)["ada"]["penalty"] == "0"
    classroom.graded(root)
    assert table(root)["ada"]["penalty"] == "0"
    classroom.graded(root, policy=half, due=(f"{NAME}=none",))
    assert table(root)["ada"]["final"] == "10"


def test_a_corrected_time_counts_without_grading_again(root):
    hand_in(root, ada="points 2")
    handed_in_at(root, "ada", DAY)
    zero = late.policy("zero")
    classroom.graded(root, policy=zero, due=(DUE_TEXT,))
    assert table(root)["ada"]["final"] == "0"
    handed_in_at(root, "ada", -DAY)
    assert classroom.graded(root, policy=zero).unchanged == 1
    assert table(root)["ada"]["final"] == "4"


HOSTILE = '=HYPERLINK("http://x","y")'
CLASS = (
    "student,first_name,last_name,email,canvas_id,section,moodle_identifier\n"
    "ada,Ada,Lovelace,ada@x.org,71,A,Participant 5\n"
    f'bo,"{HOSTILE.replace(chr(34), chr(34) * 2)}",@x,-bo@x.org,72,A,\n'
    "cy,Čy,Ünal,cy@x.org,73,A,\n"
)


@pytest.fixture
def with_roster(root):
    path = root / "roster.csv"
    path.write_text(CLASS, encoding="utf-8")
    hand_in(root, ada="points 2", bo="raise", eve="points 2")
    return root, classroom.graded(root, roster=str(path))


def test_the_roster_decides_who_stands_in_the_scores(with_roster):
    root, summary = with_roster
    rows = table(root)
    assert {name: row["status"] for name, row in rows.items()} == {
        "ada": "graded",
        "bo": "failed",
        "cy": "not handed in",
    }
    assert (rows["cy"]["score"], rows["cy"]["final"]) == ("0", "0")
    assert rows["bo"]["final"] == ""
    assert (rows["ada"]["last_name"], rows["ada"]["a"]) == ("Lovelace", "2")
    assert [one.student for one in summary.refused] == ["eve"]
    refused = (root / "work/grading/refused.csv").read_text()
    assert "who is not on the roster" in refused


def test_who_left_the_class_is_not_in_the_scores(with_roster):
    root, _ = with_roster
    path = root / "roster.csv"
    path.write_text("student\nada\n")
    classroom.graded(root, roster=str(path))
    # Bo has handed in; Cy has not, and left.
    assert set(table(root)) == {"ada", "bo"}


def test_no_cell_is_a_formula(with_roster):
    root, _ = with_roster
    for name in ("scores", "canvas", "moodle", "refused", "statistics"):
        path = root / f"work/grading/{name}.csv"
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.lstrip().startswith(tuple("=+-@|")), path
    assert table(root)["bo"]["first_name"] == f"'{HOSTILE}"


def test_canvas_gets_its_columns_and_points_possible(with_roster):
    root, _ = with_roster
    rows = table(root, "canvas.csv")
    head = "Student,ID,SIS User ID,SIS Login ID,Section,q"
    assert ",".join(rows[0]) == head
    assert rows[0]["Student"] == "    Points Possible"
    assert rows[0]["q"] == "6"
    assert rows[1]["Student"] == "Lovelace, Ada"
    assert (rows[1]["ID"], rows[1]["Section"], rows[1]["q"]) == ("71", "A", "4")
    # An empty cell leaves what Canvas has; a failure is no zero.
    assert [row["q"] for row in rows[2:]] == ["", "0"]


def test_moodle_gets_grades_and_feedback(with_roster):
    root, _ = with_roster
    ada, bo, cy = table(root, "moodle.csv")
    assert list(ada)[:4] == [
        "Identifier",
        "Full name",
        "Email address",
        "ID number",
    ]
    assert (ada["Identifier"], ada["Email address"]) == (
        "Participant 5",
        "ada@x.org",
    )
    assert (ada["q"], ada["q feedback"]) == ("4", "4 of 6 points")
    assert (bo["q"], bo["q feedback"]) == ("", "not graded yet")
    assert (cy["q"], cy["q feedback"]) == ("0", "not handed in")


def test_a_refused_file_is_no_zero(root):
    hand_in(root, ada="points 2", bo="points 2")
    (root / f"submissions/bo/{NAME}.ipynb").write_text("{")
    classroom.graded(root)
    rows = table(root)
    # Without a roster too, what was handed in has a line.
    assert (rows["bo"]["status"], rows["bo"]["final"]) == ("refused", "")
    path = root / "roster.csv"
    path.write_text("student\nada\nbo\n")
    classroom.graded(root, roster=str(path))
    row = table(root)["bo"]
    assert (row["status"], row["final"]) == ("refused", "")
    assert "is not JSON" in row["remarks"]
    page = (root / f"work/grading/feedback/bo/{NAME}/{NAME}.html").read_text()
    assert "not graded: bo/q.ipynb is not JSON" in page
    moodle = {row["ID number"]: row for row in table(root, "moodle.csv")}
    assert moodle["bo"]["q"] == ""
    assert moodle["bo"]["q feedback"].startswith("not graded: bo/q.ipynb")
    hand_in(root, bo="points 2")
    classroom.graded(root)
    (root / f"submissions/bo/{NAME}.ipynb").write_text("{")
    classroom.graded(root)
    row = table(root)["bo"]
    assert (row["status"], row["final"]) == ("graded", "4")
    assert "the points are those of an earlier file" in row["remarks"]


def test_work_of_another_name_is_no_zero(root):
    hand_in(root, ada="points 2", bo="points 2", cy="points 2")
    folder = root / "submissions"
    (folder / f"bo/{NAME}.ipynb").rename(folder / f"bo/{NAME} (1).IPYNB")
    (folder / f"cy/{NAME}.ipynb").rename(folder / "cy/homework.rar")
    path = root / "roster.csv"
    path.write_text("student\nada\nbo\ncy\ndi\n")
    classroom.graded(root, roster=str(path))
    finals = {who: row["final"] for who, row in table(root).items()}
    assert finals == {"ada": "4", "bo": "4", "cy": "", "di": "0"}
    assert table(root)["cy"]["status"] == "refused"


def test_one_notebook_of_another_set_is_no_zero_for_all(root):
    classroom.course(root, name="p")
    hand_in(root, **{f"s{n}": "points 2" for n in range(8)})
    hand_in(root, name="p", s0="points 1")
    summary = classroom.graded(root)
    lines = {line[:2]: line for line in summary.lines}
    assert lines["s0", "p"].final == 2
    assert lines["s1", "p"].final is None
    assert report.sentence(lines["s1", "p"]) == "not handed in"
    rows = table(root, "canvas.csv")[1:]
    assert [row["p"] for row in rows] == ["2"] + [""] * 7
    text = "\n".join(command.summary_text(summary, "work"))
    assert "p: handed in by 1 of 8; where the others should have 0" in text
    # Where it was due, nothing handed in is nothing earned.
    summary = classroom.graded(root, due=("p=2025-03-01T23:59Z",))
    assert {line.final for line in summary.lines} == {4, 2, 0}


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_tables_are_read_as_they_were_written(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    tables.write(path, ["a", "b"], [{"a": a, "b": b} for a, b in pairs])
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) == len(pairs)
    for row, pair in zip(rows, pairs, strict=True):
        for cell, text in zip(row, pair, strict=True):
            assert cell.removeprefix("'") == tables.neutral(text).removeprefix(
                "'"
            )
            assert not cell.lstrip().startswith(tuple("=+-@|＝"))
            assert not tables.UNPRINTABLE.search(cell)


@each(
    ("value", "cell"),
    [
        ("=x", "'=x"),
        (" =x", "' =x"),
        ("\t=x", "'\t=x"),
        ("＝x", "'＝x"),
        ("a=x", "a=x"),
        (-0.5, "-0.5"),
        (None, ""),
        (0.1 + 0.2, "0.3"),
        ("a\x1b[2Jb", "a\N{REPLACEMENT CHARACTER}[2Jb"),
    ],
)
def test_a_cell_holds_text_or_a_number(value, cell):
    assert tables.neutral(value) == cell


def test_a_table_is_whole_or_absent(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    tables.write(path, ["a"], [{"a": 1}])
    monkeypatch.setattr(os, "replace", lambda *paths: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tables.write(path, ["a"], [{"a": 2}])
    assert path.read_text().split() == ["a", "1"]


def cells(table):
    """Cells of a gradebook: rows are students, columns are questions."""
    return [
        gradebook.Cell(
            f"s{i}", "q", f"c{j}", "code", score, None, 0.0, 4.0, False
        )
        for i, row in enumerate(table)
        for j, score in enumerate(row)
    ]


def test_statistics_of_a_small_class():
    found = report.statistics(
        cells([[4, 4, 0], [4, 2, 0], [0, 0, 4]]),
        {(f"s{i}", "q") for i in range(3)},
    )
    assert [one[1:8] for one in found] == [
        ("c0", 3, 8 / 3, 4.0, 2 / 3, 1 / 3, 1 / 3),
        ("c1", 3, 2.0, 4.0, 1 / 3, 1 / 3, 2 / 3),
        ("c2", 3, 4 / 3, 4.0, 1 / 3, 2 / 3, 2 / 3),
    ]


@given(
    st.integers(3, 8).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 4), min_size=3, max_size=3),
            min_size=n,
            max_size=n,
        )
    )
)
def test_discrimination_is_the_correlation_with_the_rest(scores):
    everybody = {(f"s{i}", "q") for i in range(len(scores))}
    array = np.array(scores, float)
    for j, one in enumerate(report.statistics(cells(scores), everybody)):
        rest = np.delete(array, j, axis=1).sum(axis=1)
        if np.ptp(array[:, j]) == 0 or np.ptp(rest) == 0:
            assert one.discrimination is None
        else:
            expected = np.corrcoef(array[:, j], rest)[0, 1]
            # Both sum a handful of small integers in float64.
            assert math.isclose(one.discrimination, expected, abs_tol=1e-9)


def test_what_is_not_graded_is_not_in_the_statistics():
    waiting = gradebook.Cell("s0", "q", "c", "markdown", None, None, 0, 4, True)
    scored = waiting._replace(student="s1", manual=3.0)
    other = waiting._replace(student="s2", manual=1.0)
    found = report.statistics(
        [waiting, scored, other], {("s0", "q"), ("s1", "q")}
    )
    assert [(one.n, one.mean) for one in found] == [(1, 3.0)]


def test_points_by_hand_count_instead_of_those_of_a_check():
    cell = gradebook.Cell("s", "q", "c", "code", 1.0, None, 0.0, 4.0, False)
    assert cell.score == 1
    assert cell._replace(manual=0.0).score == 0
    assert cell._replace(manual=3.0, extra=0.5).score == 3.5
    assert cell._replace(auto=None).score == 0


def line(**more):
    record = records.Record("s", "q", "graded", "d", **more)
    return report.line(("s", "q"), 4.0, record, [], 0.0, None, None, True)


def test_remarks_say_what_an_instructor_has_to_know():
    assert "timed out, twice" in line(timed_out=True).remarks
    assert "a: slow" in line(stopped=["a: slow"]).remarks
    assert "odd" in line(notes=["odd"]).remarks


def test_the_same_name_in_two_assignments_has_two_columns(tmp_path):
    lines = [
        report.Line("s", name, "graded", 1.0, 0.0, 2.0, {"a": 1.0}, [])
        for name in ("p", "q")
    ]
    path = tmp_path / "scores.csv"
    report.write_scores(path, lines, {}, {}, {}, {})
    first, second = csv.DictReader(io.StringIO(path.read_text()))
    assert (first["p/a"], first["q/a"]) == ("1", "")
    assert (second["p/a"], second["q/a"]) == ("", "1")


def refused(number):
    return [intake.Refused(f"f{n}", "is bad") for n in range(number)]


def test_the_summary_names_what_needs_a_look_and_is_not_endless(root):
    hand_in(root, ada="odd", bo="raise", cy="slow", di="points 1")
    summary = classroom.graded(root)._replace(refused=refused(30))
    text = "\n".join(command.summary_text(summary, "work"))
    assert "3 graded, 0 unchanged" in text
    assert "30 refused, 1 failed, 1 timed out" in text
    assert "bo, q: RuntimeError: a check is defective" in text
    assert "ada, q: a met an answer it does not know" in text
    assert "f19 is bad" in text
    assert "f20 is bad" not in text
    assert "and 10 more" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x", "--workers", "0"], "expected 1 to 256, got '0'"),
        (["x", "--workers", "two"], "expected 1 to 256"),
        (["x", "--seconds", "20"], "expected the seconds of a cell"),
        (["x", "--seconds", "30,20"], "expected the seconds of a cell"),
        (["x", "--seconds", "nan,nan"], "expected the seconds of a cell"),
        (["x", "--seed", "one"], "expected a whole number, got 'one'"),
        ([], "arguments are required: submissions"),
    ],
)
def test_a_wrong_option_is_said_in_a_sentence(capsys, words, sentence):
    with pytest.raises(SystemExit) as stop:
        command.main(words)
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([""], "say which folder: make grade SUBMISSIONS=folder"),
        (["nowhere"], "there is no such folder"),
        (["."], "the course itself lies in it"),
        ([".."], "the course itself lies in it"),
        (["solutions"], "that is the course's own solutions"),
        (["stand_in.py"], "that is a file"),
        (["submissions", "--roster", "nowhere.csv"], "No such file"),
        (["submissions", "--due", "x=none"], "assignment must be one of q"),
        (["submissions", "--mapping", "nowhere.csv"], "No such file"),
    ],
)
def test_wrong_words_are_said_before_the_sandbox_is_tried(
    root, capsys, monkeypatch, words, sentence
):
    monkeypatch.chdir(root)
    (root / "submissions").mkdir()
    monkeypatch.setattr(sandbox, "prove", lambda *a: 1 / 0)
    assert command.main(words, root) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "sandbox" not in said
    assert not (root / "work").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--late", "some"], "late policy must be"),
        (["--due", "z=2026-01-01T00:00Z"], "assignment must be one of q"),
        (["--roster", "nowhere.csv"], "No such file"),
        (["--mapping", "nowhere.csv"], "No such file"),
        (["--seed", "-1"], "--seed must be 0 to 0x1f"),
        (["--database", "oracle://x"], "gradebook cannot be opened"),
        (["--database", "nonsense"], "gradebook cannot be opened"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    root, capsys, words, sentence
):
    hand_in(root, ada="points 1")
    folder = str(root / "submissions")
    assert command.main([folder, "--no-sandbox", *words], root) == 2
    said = capsys.readouterr().err
    assert said.startswith("grading: ")
    assert sentence in said


def test_a_draft_of_a_mapping_is_written_once(root, capsys, monkeypatch):
    monkeypatch.chdir(root)
    hand_in(root, ada="points 1")
    assert command.main(["mapping", "submissions"], root) == 0
    assert "empty the column guess" in capsys.readouterr().out
    assert "ada/q.ipynb,ada,q," in (root / "mapping.csv").read_text()
    assert command.main(["mapping", "submissions"], root) == 2
    assert "is there already" in capsys.readouterr().err
    assert command.main(["mapping", "nowhere"], root) == 2


def test_a_roster_student_has_a_name():
    ada = roster.Student("ada", "Ada", "Lovelace")
    assert report.sorted_name(ada) == "Lovelace, Ada"
    assert report.full_name(ada) == "Ada Lovelace"
    assert report.full_name(roster.Student("x")) == "x"
    assert report.sorted_name(roster.Student("x", "Ada")) == "Ada"
