"""Each set of exercises: its form, and what its checks accept and reject."""

import difflib
import functools
import re
import subprocess
import symtable

import nbformat
import pytest
from mdit_py_plugins.anchors.index import slugify
from nbclient import NotebookClient
from nbclient.util import run_sync
from nbformat.v4 import new_code_cell, new_notebook

from shardlab.authoring import kit
from shardlab.authoring.mutants import mutants
from tests.each import each
from tests.tree import ROOT
from tools import checks
from tools.sources import headings

STEMS = sorted(p.stem for p in (ROOT / "book/exercises").glob("*.md"))
MARKERS = [
    "### BEGIN SOLUTION",
    "### END SOLUTION",
    "### BEGIN HIDDEN TESTS",
    "### END HIDDEN TESTS",
]


def source(stem):
    return ROOT / f"book/exercises/{stem}.md"


def solution(stem):
    return ROOT / f"solutions/{stem}/{stem}.ipynb"


def exercise(stem):
    return ROOT / f"exercises/{stem}/{stem}.ipynb"


# Each test of a set asks for all of it.
read_set = functools.cache(kit.read_set)
read_all = functools.cache(kit.read_all)


@functools.cache
def questions():
    return [
        (stem, name) for stem in STEMS for name in read_set(source(stem))[1]
    ]


def test_every_set_has_answers():
    assert kit.sets() == STEMS


@functools.cache
def commit():
    """The commit that is tested, as a number; 0 outside of a clone."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True)
    return int(done.stdout.strip() or "0", 16)


def turn(stem, commit):
    """Whether it is the turn of a set when each commit judges a seventh."""
    return STEMS.index(stem) % 7 == commit % 7


@pytest.fixture(scope="module")
def damaged(request):
    """A function: whether mutants of a set are judged, and not only answers."""
    if request.config.getoption("mutants") == "all":
        return lambda stem: True
    return lambda stem: turn(stem, commit())


@pytest.fixture(scope="module")
def tables(damaged):
    made = {}

    def table(stem):
        if stem not in made:
            made[stem] = kit.kill_table(stem, damaged=damaged(stem))
        return made[stem]

    return table


def test_seven_commits_judge_the_mutants_of_all_sets():
    chosen = [[turn(stem, n) for stem in STEMS] for n in range(40, 47)]
    assert [sum(turns) for turns in zip(*chosen)] == [1] * len(STEMS)
    assert max(map(sum, chosen)) <= -(-len(STEMS) // 7)


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS)
def test_checks_judge_every_answer_as_they_should(stem, tables, damaged):
    assert [row for row in tables(stem) if not row.sound] == []
    assert {row.asks for row in tables(stem)} <= set(kit.ASKED.values())
    for name in read_set(source(stem))[1]:
        kinds = [row.kind for row in tables(stem) if row.question == name]
        assert kinds.count("solution") == 1
        assert kinds.count("mutant") >= 3 * damaged(stem)


@each(("stem", "name"), questions())
def test_four_wrong_and_two_different_right_answers_are_given(stem, name):
    _, asked, answers = read_all(stem)
    mine = [answer for answer in answers if answer.question == name]
    assert kit.shortcomings(asked[name], mine) == []
    text, program = asked[name].solution, kit.asks(asked[name]) == "program"
    made = mutants(text, program)
    assert len(made) >= 3
    assert len({words for words, _ in made}) == len(made)
    assert len({damaged for _, damaged in made} | {text}) == len(made) + 1


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS)
def test_every_wrong_answer_is_told_what_is_wrong(stem, tables):
    for row in tables(stem):
        if row.kind == "wrong":
            # An answer that fails by itself is told its own error.
            assert re.match(
                r"(WrongAnswer|NotAnswered|\w+Error): .", row.message
            )
            # A table of collectives may follow the sentence.
            assert len(row.message.split("\n")[0]) < 300
    # But those that repeat what the visible cases return.
    assert [row.title for row in tables(stem) if not row.told] == []
    numbers = kit.summary(tables(stem))
    assert numbers["generic"] <= 0.03 * numbers["given"]


@each(("stem", "name"), questions())
def test_an_empty_answer_is_called_unanswered(stem, name):
    _, asked = read_set(source(stem))
    setup, given = read_set(exercise(stem))
    verdicts = kit.judge(setup, asked[name], given[name].solution)
    for message in verdicts.values():
        assert message.startswith("NotAnswered: ")


@each("stem", STEMS)
def test_questions_have_a_budget_a_hint_and_few_words(stem):
    cells = nbformat.read(solution(stem), as_version=4).cells
    stated = [
        cells[i - 1].source
        for i, cell in enumerate(cells)
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]
    assert len(stated) >= 6
    for text in stated:
        assert re.match(r"## \d+\. .+ \(\d+ minutes\)\n", text)
        assert "<details><summary>Hint</summary>" in text
        body = text.split("<details>")[0].split("\n", 1)[1]
        assert len(body.split()) <= 120, text.splitlines()[0]


LEVEL = r"(?:●○○|●●○|●●●)"


def asked(text):
    """The questions of a set's text, each from its heading on."""
    return re.split(r"(?m)^(?=## )(?!## When you are done)", text)[1:]


def missing(question):
    """The rungs that a question's ladder lacks."""
    solutions = re.findall(r"BEGIN SOLUTION\n(.*?)### END", question, re.DOTALL)
    hints = re.findall(r"<details><summary>(.*?)</summary>", question)
    difficulty = rf"## .*\n\n\*Difficulty {LEVEL}, importance {LEVEL}\*\n\n"
    found = {
        "difficulty and importance": re.match(difficulty, question),
        "a hint": hints[:1] == ["Hint"],
    }
    if solutions:  # else it is answered in words, and marked by a person
        found["a second hint"] = hints == ["Hint", "Second hint"]
        found["why it works"] = re.search(r"(?m)^ *# \w.+$", solutions[-1])
    return [rung for rung, there in found.items() if not there]


def dead_links(text):
    """Addresses in a set's text that are no heading of a chapter."""
    links = re.findall(r"\]\((\.[^)]*)\)", text)
    living = {
        f"../../chapters/{stem}.ipynb#{slugify(heading)}"
        for stem in STEMS
        for heading in headings(ROOT / f"book/chapters/{stem}.md")
    }
    return sorted(set(links) - living)


@each("stem", STEMS)
def test_every_question_is_a_ladder(stem):
    text = source(stem).read_text(encoding="utf-8")
    lacking = {q.splitlines()[0]: missing(q) for q in asked(text)}
    assert len(lacking) >= 6
    assert {title: rungs for title, rungs in lacking.items() if rungs} == {}
    assert "from ● to ●●●" in text.split("\n## ")[0]
    assert dead_links(text) == []


WHOLE = """## 1. Twice (2 minutes)

*Difficulty ●○○, importance ●●○*

Twice x.

<details><summary>Hint</summary>

</details>

<details><summary>Second hint</summary>

</details>

### BEGIN SOLUTION
y = 2 * x
# A sum of two.
### END SOLUTION
"""


@each(
    ("part", "rung"),
    [
        ("*Difficulty ●○○, importance ●●○*\n\n", "difficulty and importance"),
        ("●●○", "difficulty and importance"),
        ("<details><summary>Hint</summary>", "a hint"),
        ("<details><summary>Second hint</summary>", "a second hint"),
        ("# A sum of two.\n", "why it works"),
    ],
)
def test_a_missing_rung_is_seen(part, rung):
    assert missing(WHOLE) == []
    assert rung in missing(WHOLE.replace(part, ""))


def test_the_recipe_is_a_ladder():
    page = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^````text\n(.*?)^````$", page, re.M | re.S)
    text = "\n".join(blocks)
    assert [missing(question) for question in asked(text)] == [[]] * 4
    assert dead_links(text) == []


def test_a_dead_link_is_seen():
    there = "../../chapters/01_sharded_arrays.ipynb#how-many-copies"
    assert dead_links(f"[a]({there})") == []
    assert dead_links(f"[a]({there}-not)") == [f"{there}-not"]


def published():
    """The published page, and its parts by the number of their set."""
    written = (ROOT / "book/checks.md").read_text(encoding="utf-8")
    return written, checks.stored(written)


def told():
    """What the published page says of each wrong answer: (visible, words)."""
    rows = re.findall(
        r"(?m)^\| .+ \| (yes|no|by heart) \| `(.*)` \|$", published()[0]
    )
    counts = re.findall(r"Of the (\d+) wrong answers", published()[0])
    assert sum(visible != "by heart" for visible, _ in rows) == sum(
        map(int, counts)
    )
    return rows


BARE = r"not what was counted$|yours are other numbers|another formula"


def test_no_published_message_is_long():
    # A table of collectives, or a list of events, may follow the sentence.
    after = r" collective  | \[\["
    sentences = [re.split(after, words)[0] for _, words in told()]
    assert [words for words in sentences if len(words) >= 290] == []


def test_nearly_every_published_message_gives_a_reason():
    given = [words for visible, words in told() if visible != "by heart"]
    bare = [words for words in given if re.search(BARE, words)]
    assert len(given) > 2000
    assert len(bare) < 0.03 * len(given), bare


def without_mutants(part):
    """The lines of a set's part of the page that count no mutants."""
    about = re.compile("Mutants: |Right after all: |.* mutants are rejected, ")
    return [line for line in part.splitlines() if not about.match(line)]


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS)
def test_the_published_table_is_the_counted_one(stem, tables, damaged):
    mark = checks.origin(stem)
    counted = checks.section(stem, tables(stem), mark).rstrip() + "\n"
    stored = published()[1][int(stem[:2])]
    if damaged(stem):
        assert stored == counted
    else:
        assert without_mutants(stored) == without_mutants(counted)


def test_without_mutants_the_verdict_on_every_listed_answer_is_compared():
    part = published()[1][1]
    other = part.replace("Mutants: ", "Mutants: 1 of ")
    assert other != part
    assert without_mutants(other) == without_mutants(part)
    worse = part.replace("| yes |", "| no |", 1)
    assert without_mutants(worse) != without_mutants(part)


@each("stem", STEMS)
def test_the_published_table_was_made_from_this_set(stem):
    # Whatever a verdict depends on is in the mark; to count again takes long.
    mark = f"% made from {checks.origin(stem)}\n"
    part = published()[1][int(stem[:2])]
    assert part.startswith(mark), "run: make notebooks"


def test_the_published_page_holds_the_sets_and_no_more():
    written, parts = published()
    marks = [f"% made from {checks.origin(stem)}" for stem in STEMS]
    assert [part.split("\n")[0] for part in parts.values()] == marks
    assert written == checks.page(parts.values())


def bound(text):
    """Names that a cell gives to what it makes, imports left out."""
    names = symtable.symtable(text, "cell", "exec").get_symbols()
    return {
        name.get_name()
        for name in names
        if name.is_assigned() and not name.is_imported()
    }


@each("stem", STEMS)
def test_no_check_changes_a_name_of_the_student(stem):
    cells = nbformat.read(solution(stem), 4).cells
    taken = set()
    for cell in cells:
        if cell.cell_type == "code" and not graded(cell):
            taken |= bound(cell.source)
    for cell in cells:
        if graded(cell):
            assert not bound(cell.source) & taken


def graded(cell):
    """Whether a cell is a check."""
    return cell.metadata.get("nbgrader", {}).get("grade", False) and (
        cell.cell_type == "code"
    )


def near_misses(text):
    """Lines that look like one of nbgrader's markers and are none."""
    return [
        line
        for line in text.splitlines()
        if line.strip() not in MARKERS
        and any(
            difflib.SequenceMatcher(None, line.strip().upper(), m).ratio() > 0.8
            or re.search(r"(BEGIN|END)\W*(SOLUTION|HIDDEN)", line, re.I)
            for m in MARKERS
        )
    ]


@each("stem", STEMS)
def test_no_line_nearly_is_a_marker(stem):
    text = (ROOT / f"book/exercises/{stem}.md").read_text(encoding="utf-8")
    assert near_misses(text) == []
    for begin, end in (MARKERS[:2], MARKERS[2:]):
        assert text.count(begin) == text.count(end) > 0


@each(
    "line",
    [
        "# BEGIN SOLUTION",
        "### BEGIN SOLUTIONS",
        "### begin solution",
        "###BEGIN SOLUTION",
        "### BEGIN HIDDEN TEST",
        "    ### END HIDEN TESTS",
        "## END HIDDEN TESTS",
        "### BEGIN SOLUTION  # here",
    ],
)
def test_near_misses_are_seen(line):
    assert near_misses(line) == [line]


def hidden_lines(stem):
    """The lines of the solutions and hidden tests of a set."""
    text = (ROOT / f"book/exercises/{stem}.md").read_text(encoding="utf-8")
    blocks = re.findall(
        r"### BEGIN (?:SOLUTION|HIDDEN TESTS)(.*?)### END", text, re.DOTALL
    )
    lines = {line.strip() for block in blocks for line in block.splitlines()}
    return {line for line in lines if len(line) > 15}


@each("stem", STEMS)
def test_nothing_hidden_is_given_out(stem):
    source = (ROOT / f"book/exercises/{stem}.md").read_text(encoding="utf-8")
    shown = re.sub(r"### BEGIN.*?### END", "", source, flags=re.DOTALL)
    given = "\n".join(
        cell.source
        for cell in nbformat.read(exercise(stem), as_version=4).cells
    )
    lines = hidden_lines(stem) - {line.strip() for line in shown.splitlines()}
    assert len(lines) > 10
    assert [line for line in lines if line in given] == []
    assert not any(marker in given for marker in MARKERS)
    for cell in nbformat.read(exercise(stem), as_version=4).cells:
        assert not cell.get("outputs")


@pytest.fixture(scope="module")
def run_all(tmp_path_factory):
    """A function that runs a notebook in one kernel, which forgets each.

    To start a kernel and import JAX takes ten times as long as the cells do;
    solutions are run with one of their own.
    """
    nothing = NotebookClient(new_notebook(), kernel_name="python3")
    manager, client = nothing.create_kernel_manager(), None
    resources = {"metadata": {"path": str(tmp_path_factory.mktemp("sets"))}}

    def run(notebook):
        nonlocal client
        notebook.cells.insert(0, new_code_cell("%reset -f"))
        # Like Run All in JupyterLab, this stops at an error in an untagged cell.
        one = NotebookClient(
            notebook,
            km=manager,
            timeout=600,
            resources=resources,
            extra_arguments=["--IPKernelApp.log_level=40"],
        )
        one.kc = client
        one.execute()
        client = one.kc
        del notebook.cells[0]

    yield run
    client.stop_channels()
    run_sync(manager.shutdown_kernel)(now=True)


@each("stem", STEMS)
def test_run_all_passes_over_unanswered_questions(stem, run_all):
    notebook = nbformat.read(exercise(stem), as_version=4)
    run_all(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    checks = [c for c in code if c.metadata.get("nbgrader", {}).get("grade")]
    assert len(checks) >= 6
    for cell in checks:
        (error,) = cell.outputs
        assert error.ename == "NotAnswered"
        assert len(error.traceback) == 1
        assert "no answer yet" in error.evalue or "nothing yet" in error.evalue


def test_a_weak_check_is_found_out():
    # A check that compares nothing but the type lets mutants live.
    weak = kit.Question(
        "double",
        "def double(x):\n    return 2 * x",
        {
            "check": (
                1,
                "from shardlab.checks import student\n"
                "assert type(student.call('double', 3)) is int",
            )
        },
    )
    rows = kit.rows_of([], weak, [], seeds=(0,))
    assert [row for row in rows if row.accepted and not row.expected]


@pytest.mark.parametrize(
    "title", ["place", "place maybe: x", "place wrong", "wrong: x"]
)
def test_a_misspelt_title_of_an_answer_is_refused(title, tmp_path):
    path = tmp_path / "x.answers.py"
    path.write_text(f"# %% {title}\nx = 1\n")
    with pytest.raises(ValueError, match="a cell's title must be"):
        kit.read_answers(path)
