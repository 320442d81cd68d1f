"""The kit that checks the checks, and the recipe for a new exercise."""

import ast
import json
import os
import re
import select
import signal
import subprocess
import sys
import textwrap

import nbformat
import pytest

from shardlab import checks
from shardlab.authoring import kit, mutants
from shardlab.authoring.structure import differ
from shardlab.grading import batch
from tests.each import each
from tests.tree import ROOT, copy, environment, python, replace

# Mutants


def words_of(text, program=False):
    """The damages of a text, and the damaged texts, as a dict."""
    text = textwrap.dedent(text).strip()
    return dict(mutants.mutants(text, program))


RING = """
def f(x):
    n = jax.lax.axis_size("X")
    ring = [(i, (i + 1) % n) for i in range(n)]
    return jax.lax.ppermute(x, "X", ring)
"""


@each(
    ("text", "words", "damaged"),
    [
        (
            "y = jax.lax.psum(x, 'X')",
            "`jax.lax.psum(x, 'X')` is dropped",
            "y = x",
        ),
        ("y = lax.psum(x, 'X')", "psum becomes pmean", "y = lax.pmean(x, 'X')"),
        ("y = lax.pmean(x, 'X')", "pmean becomes psum", "y = lax.psum(x, 'X')"),
        ("y = lax.psum(x, 'X')", "axis X becomes Y", "y = lax.psum(x, 'Y')"),
        ("y = x.sum(0)", "`x.sum(0)` becomes a mean", "y = x.mean(0)"),
        (
            "y = lax.all_gather(x, 'X', axis=1, tiled=True)",
            "`lax.all_gather(x, 'X', axis=1, tiled=True)` is dropped",
            "y = x",
        ),
        (
            "y = lax.all_gather(x, 'X', axis=1, tiled=True)",
            "axis=1 becomes 0",
            "y = lax.all_gather(x, 'X', axis=0, tiled=True)",
        ),
        (
            "y = lax.all_gather(x, 'X', axis=0, tiled=True)",
            "0 becomes 1",
            "y = lax.all_gather(x, 'X', axis=1, tiled=True)",
        ),
        (
            "y = lax.all_gather(x, 'X', tiled=True)",
            "True becomes False",
            "y = lax.all_gather(x, 'X', tiled=False)",
        ),
        (
            "y = lax.psum_scatter(x, 'X', scatter_dimension=0, tiled=True)",
            "`lax.psum_scatter(x, 'X', scatter_dimension=0, tiled=True)` "
            "leaves the sum whole",
            "y = lax.psum(x, 'X')",
        ),
        (
            "y = lax.ppermute(x, 'X', ring)",
            "`lax.ppermute(x, 'X', ring)` sends the other way",
            "y = lax.ppermute(x, 'X', [(b, a) for a, b in ring])",
        ),
        (
            "y = lax.ppermute(x, 'X', perm=ring)",
            "`lax.ppermute(x, 'X', perm=ring)` sends to itself",
            "y = lax.ppermute(x, 'X', perm=[(a, a) for a, b in ring])",
        ),
        (RING, "`(i, (i + 1) % n)` is reversed", "[((i + 1) % n, i) for"),
        (RING, "`i + 1` loses its right side", "[(i, i % n) for"),
        (
            "y = lax.all_to_all(x, 'X', 0, 1)",
            "`lax.all_to_all(x, 'X', 0, 1)` with split_axis and concat_axis "
            "swapped",
            "y = lax.all_to_all(x, 'X', 1, 0)",
        ),
        (
            "y = lax.all_to_all(x, 'X', split_axis=0, concat_axis=2)",
            "`lax.all_to_all(x, 'X', split_axis=0, concat_axis=2)` with "
            "split_axis and concat_axis swapped",
            "y = lax.all_to_all(x, 'X', split_axis=2, concat_axis=0)",
        ),
        (
            "y = [i for i in range(n)]",
            "`range(n)` ends one too soon",
            "range(n - 1)",
        ),
        (
            "y = [i for i in range(n)]",
            "`range(n)` starts one too late",
            "range(1, n)",
        ),
        (
            "y = list(range(a, b))",
            "`range(a, b)` ends one too soon",
            "range(a, b - 1)",
        ),
        (
            "y = list(range(a, b))",
            "`range(a, b)` starts one too late",
            "range(a + 1, b)",
        ),
        ("y = x / n", "`x / n` loses its right side", "y = x"),
        ("y = x / n", "`x / n` divides twice", "y = x / n / n"),
        ("y = -x", "`-x` loses its sign", "y = x"),
        ("x += y", "`x += y` is left out", "pass"),
        ("x += y", "`x += y` with another operation", "x -= y"),
    ],
)
def test_the_mistakes_of_the_book_are_made(text, words, damaged):
    made = words_of(text)
    (line,) = [key for key in made if key.partition(": ")[2] == words]
    assert damaged in made[line]


def test_bytes_are_wasted_only_where_they_are_judged():
    text = "y = jax.lax.psum(x, 'X')"
    wasteful = [
        "y = jax.lax.all_gather(jax.lax.psum(x, 'X'), 'X')"
        "[jax.lax.axis_index('X')]",
        "y = jax.lax.all_gather(x, 'X').sum(0)",
    ]
    assert not set(wasteful) & set(words_of(text).values())
    assert set(wasteful) < set(words_of(text, program=True).values())


def test_what_makes_no_difference_is_no_mutant():
    made = words_of("y = lax.psum(x, ('X', 'Y'))").values()
    assert "y = lax.psum(x, ('Y', 'X'))" not in made
    made = words_of("y = lax.all_gather(x, ('X', 'Y'))").values()
    assert "y = lax.all_gather(x, ('Y', 'X'))" in made
    made = words_of("f = jax.shard_map(g, out_specs=s, check_vma=False)")
    assert not made
    assert "y = +1" not in words_of("y = -1").values()


def test_two_mutants_never_share_a_name():
    made = mutants.mutants("y = (f('X', 1), g('X', 1))")
    names = [words for words, _ in made]
    assert len(names) == len(set(names))
    assert "line 1: axis X becomes Y (2)" in names
    for _, text in made:
        ast.parse(text)


# Which right answers are two

FIRST = """
def f(x, w):
    "First."
    whole = jax.lax.all_gather(w, "X", axis=0, tiled=True)
    product = x @ whole
    return 2 * product + x
"""


@pytest.mark.parametrize(
    "other",
    [
        # Names, modules, docstrings, annotations, keywords' order.
        """
from jax import lax
def g(a: jax.Array, b) -> jax.Array:
    gathered = lax.all_gather(b, "X", tiled=True, axis=0)
    c = a @ gathered
    return 2 * c + a
""",
        # Variables used once, and the sides of a sum and of a product.
        """
def f(x, w):
    return x + (x @ jax.lax.all_gather(w, "X", axis=0, tiled=True)) * 2
""",
    ],
)
def test_another_style_is_no_other_answer(other):
    assert differ(FIRST, other) == differ(other, FIRST) == ""


@each(
    ("a", "b", "words"),
    [
        ("y = psum(x, 'X')", "y = pmean(x, 'X')", "the collectives"),
        ("y = psum(x, 'X')", "y = psum(x, 'Y')", "the collectives"),
        ("y = psum(x, 'X')", "y = x", "the collectives"),
        (
            "y = psum(all_gather(x, 'X'), 'Y')",
            "y = all_gather(psum(x, 'Y'), 'X')",
            "their order",
        ),
        ("y = psum(x / 8, 'X')", "y = psum(x, 'X') / 8", "the algorithm"),
        ("y = a - b", "y = b - a", "the algorithm"),
        ("y = a @ b", "y = b @ a", "the algorithm"),
        ("y = 2 * x", "y = 3 * x", "the algorithm"),
        (
            "def f(a, b): return a - b",
            "def f(a, b): return b - a",
            "the algorithm",
        ),
        ("y = Sum(k, (k, 1, D))", "y = D * (D + 1) / 2", "the algorithm"),
        ("y = D / V", "D = D\ny = V / D", "the algorithm"),
    ],
)
def test_another_algorithm_is_another_answer(a, b, words):
    assert differ(a, b) == differ(b, a) == words


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("y = a > b", "y = b < a"),
        ("x += 1", "x = x + 1"),
        ("def f(a, b): return a * b", "def g(b, a): return a * b"),
        ("y: int = 3", "y = 3"),
    ],
)
def test_the_same_in_other_words_is_one_answer(a, b):
    assert differ(a, b) == ""


# Judging

CHECK = """
from shardlab import check
from shardlab.checks import student
check.equal("f(3)", student.call("f", 3), 6)
"""
LUCK = """
from shardlab import check
from shardlab.checks import student
x = 2 if check.draw("f").integers(2) else 3
check.equal("f(x)", student.call("f", x), 2 * x)
"""


def question(check_text=CHECK, solution="def f(x):\n    return 2 * x"):
    return kit.Question("f", solution, {"f_check": (1, check_text)})


def answer(verdict, title, text):
    return kit.Answer("f", verdict, title, text)


@pytest.mark.long
def test_an_answer_that_runs_for_ever_is_stopped_and_the_next_is_judged():
    # Within compiled code no signal and no exception of Python's arrives.
    compiled = (
        "import jax\ndef f(x):\n"
        "    return jax.jit(lambda y: jax.lax.while_loop(\n"
        "        lambda z: z > 0, lambda z: z + 1, y))(1.0)"
    )
    leaves = "import os\ndef f(x): os._exit(0)"
    asked = question()
    with kit.Bench(seconds=60) as bench:
        assert bench.judge([], asked, asked.solution) == {"f_check": None}
        first = bench.process.pid
        bench.seconds = 1.5
        said = bench.judge([], asked, compiled)["f_check"]
        assert said == "Stopped: it ran longer than 1.5 s"
        assert bench.process is None
        bench.seconds = 60
        said = bench.judge([], asked, leaves)["f_check"]
        assert said == "Stopped: its process ended"
        assert bench.judge([], asked, asked.solution) == {"f_check": None}
        assert bench.process.pid != first
    assert bench.process is None


PATIENCE = 60_000  # milliseconds, which only a run that fails waits
ENDLESS = """line.recv()
            open(f"work-{os.getpid()}", "w").close()
            while True:
                pass"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells")
@pytest.mark.long
def test_who_judges_ends_with_a_run_that_is_killed(tmp_path):
    root = copy(tmp_path)
    kept = sorted((root / "book/exercises").glob("*.answers.py"))[:2]
    for path in (root / "book/exercises").glob("*.answers.py"):
        if path not in kept:
            path.unlink()
    (root / "book/checks.md").unlink()
    judging = "line.send(judge(*line.recv()))"
    replace(root / "shardlab/authoring/kit.py", judging, ENDLESS)
    run = subprocess.Popen(
        [sys.executable, "-m", "tools.checks"], cwd=root, env=environment(root)
    )
    try:
        while run.poll() is None and len(list(root.glob("work-*"))) < len(kept):
            select.select([], [], [], 0.1)
        pids = batch.descendants(run.pid)
        assert len(pids) >= 2 * len(kept)  # two deal questions out, two judge
        alive = {os.pidfd_open(pid): pid for pid in pids}
    finally:
        run.kill()
        run.wait()
    ended = select.poll()
    for handle in alive:
        ended.register(handle, select.POLLIN)
    while alive and (found := ended.poll(PATIENCE)):
        for handle, _ in found:
            ended.unregister(handle)
            os.close(handle)
            del alive[handle]
    for handle in alive:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    assert not alive, f"still at work: {sorted(alive.values())}"


def test_a_stopped_answer_is_rejected_once():
    asked, calls = question(), []

    def stopped(*arguments):
        calls.append(arguments)
        return {"f_check": "Stopped: it ran longer than 60 s"}

    given = ("wrong", "for ever", "x", False, "")
    row = kit.row([], asked, given, (0, 1, 2), stopped)
    assert row.sound
    assert not row.accepted
    assert len(calls) == 1


def test_a_verdict_that_depends_on_the_draw_is_no_verdict():
    seeds = range(8)
    given = [answer("wrong", "the square", "def f(x):\n    return x * x")]
    rows = kit.rows_of([], question(LUCK), given, seeds)
    (square,) = [row for row in rows if row.title == "the square"]
    assert not square.certain
    assert not square.sound
    assert any(
        "depends" in line and "WRONG" in line for line in kit.lines(rows)
    )


def test_an_equivalent_mutant_needs_a_reason():
    title = "line 2: `2 * x` with another operation"
    for text in ("", "# yes", "# it is"):
        with pytest.raises(ValueError, match="at least three words"):
            kit.rows_of(
                [], question(), [answer("equivalent", title, text)], (0,)
            )
    with pytest.raises(ValueError, match="no mutant is called"):
        kit.rows_of(
            [],
            question(),
            [answer("equivalent", "line 9: none", "# there is none")],
            (0,),
        )


def test_an_equivalent_mutant_is_counted_apart():
    asked = question(solution="def f(x):\n    return max(x + x, 0)")
    title = "line 2: 0 becomes 1"
    why = answer("equivalent", title, "# no check asks for less than one")
    rows = kit.rows_of([], asked, [why], (0,))
    (same,) = [row for row in rows if row.title == title]
    assert same.sound
    assert same.message == "no check asks for less than one"
    numbers = kit.summary(rows)
    assert numbers["equivalent"] == 1
    assert numbers["questions"] == {"function": 1}
    assert numbers["wrong"] == len(rows) - 2
    assert kit.lines(rows)
    assert "1 mutants are right" in kit.last_line("98", numbers)


def test_what_is_missing_is_named():
    right = answer("right", "other names", "def f(y):\n    return y * 2")
    wrong = answer("wrong", "one", "def f(x):\n    return 1")
    assert kit.shortcomings(question(), [right, wrong]) == [
        "f: 1 wrong answers, at least 4",
        "f: 1 right answers, at least 2",
        "f: 'the solution' and 'other names' are one answer",
    ]


@each(
    ("call", "kind"),
    [
        ("student.value('x')", "value"),
        ("student.call('f', 1)", "function"),
        ("student.blocks('f', 1)", "function"),
        ("student.expression('x')", "symbolic"),
        ("student.program('f', {}); student.call('f', 1)", "program"),
        ("print(1)", "none"),
    ],
)
def test_the_kind_of_a_question_is_read_off_its_checks(call, kind):
    assert kit.asks(question(call)) == kind


def test_at_least_one_draw_is_made(capsys):
    with pytest.raises(SystemExit):
        kit.main(["01", "--draws", "0"])
    assert "--draws must be at least 1, got 0" in capsys.readouterr().err


def test_an_unknown_set_is_refused(capsys):
    assert kit.main(["77"]) == 2
    assert "there is no set '77'" in capsys.readouterr().err


# The recipe


def recipe():
    """The text, the checks and the answers of book/instructors.md."""
    page = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    section = page.split("## Write an exercise\n")[1]
    blocks = re.findall(
        r"^````(text|python)\n(.*?)^````$", section, re.M | re.S
    )
    text = "\n".join(body for kind, body in blocks if kind == "text")
    *module, answers = [body for kind, body in blocks if kind == "python"]
    return text, "\n\n".join(module), answers


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = copy(tmp_path_factory.mktemp("recipe"))
    text, module, answers = recipe()
    (root / "book/exercises/98_recipe.md").write_text(text)
    (root / "shardlab/checks/set98.py").write_text(module)
    (root / "book/exercises/98_recipe.answers.py").write_text(answers)
    said = python(root, "-m", "tools.notebooks", "--chapter", "98")
    assert said.returncode == 0, said.stdout + said.stderr
    return root


def judged(root, draws="3"):
    """What the kit says to the recipe: exit status, words, and table."""
    more = ("--json", "table.json", "--draws", draws)
    said = python(root, "-m", "shardlab.authoring.kit", "98", *more)
    table = json.loads((root / "table.json").read_text())
    return said.returncode, said.stdout + said.stderr, table["98_recipe"]


@pytest.mark.long
def test_the_recipe_makes_a_set_whose_checks_hold(made):
    exercise = made / "exercises/98_recipe/98_recipe.ipynb"
    assert "SOLUTION" not in exercise.read_text()
    status, words, found = judged(made)
    assert status == 0, words
    assert found["sound"]
    assert found["missing"] == []
    kinds = {"value": 1, "function": 1, "program": 1, "symbolic": 1}
    assert found["summary"]["questions"] == kinds
    assert found["summary"]["kill_rate"] == 1
    assert found["summary"]["visible"] == found["summary"]["given"]
    assert found["summary"]["generic"] == 0
    assert found["summary"]["wrong"] > 50
    assert "100.0%" in words


def test_what_students_get_of_the_recipe_is_unanswered(made, monkeypatch):
    folder = str(made / "shardlab/checks")
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, folder])
    path = "98_recipe/98_recipe.ipynb"
    _, asked = kit.read_set(made / "solutions" / path)
    setup, given = kit.read_set(made / "exercises" / path)
    assert len(asked) == 4
    for name, whole in asked.items():
        for said in kit.judge(setup, whole, given[name].solution).values():
            assert said.startswith("NotAnswered: "), said


BROKEN = {
    # The check, damaged: and an answer or mutant that shows it.
    ("closed=True", "closed=False"): "not a closed form",
    ("sent=4 * D", "sent=40 * D"): "is gathered for nothing",
    ("2 * prod(block", "4 * prod(block"): "the solution",
    ('student.call("double", x)', "2 * x"): "the square",
}


@pytest.mark.long
def test_checks_that_are_broken_are_found_out(made):
    for old, new in BROKEN:
        replace(made / "shardlab/checks/set98.py", old, new)
    status, words, found = judged(made, draws="1")
    assert status == 1
    wrong = [row for row in found["rows"] if row["accepted"] != row["expected"]]
    for title in BROKEN.values():
        assert any(title in row["title"] for row in wrong), words
    assert words.count("<-- WRONG") == len(wrong)
    assert found["summary"]["kill_rate"] < 1


def test_an_answer_in_words_is_no_question_of_the_kit(tmp_path):
    mark = {"grade": True, "solution": True, "grade_id": "why", "points": 3}
    words = nbformat.v4.new_markdown_cell("Because.")
    words.metadata["nbgrader"] = mark
    code = nbformat.v4.new_code_cell("x = 1")
    code.metadata["nbgrader"] = {"solution": True, "grade_id": "x"}
    path = tmp_path / "set.ipynb"
    cells = [nbformat.v4.new_markdown_cell("# Title"), code, words]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert kit.read_set(path) == ([], {"x": kit.Question("x", "x = 1", {})})
