"""Copies are found under other names; honest answers are not."""

import random
import time

import pytest

from shardlab.grading import similarity
from tests.each import each

STUB = '''def gathered(V, X, W):
    """Seconds to gather V bytes on a ring of X chips."""
    # YOUR CODE HERE
'''
ANSWER = '''def gathered(V, X, W):
    """Seconds to gather V bytes on a ring of X chips."""
    total = 0.0
    share = V / X
    for step in range(1, X):
        if step % 2:
            total += share / W
        else:
            total += share / (W + 0 * step)
    return total
'''
RENAMED = """# my own work
def gathered(V, X, W):
    "It goes round."
    seconds = 0.0

    piece = (V
        / X)
    for k in range(1, X):   # every hop
        if k % 2:
            seconds += piece / W
        else:
            seconds += piece / (W + 0 * k)
    return seconds
"""
OTHER = """def gathered(V, X, W):
    hops, block = X // 2, V / X
    busy = [block / W for _ in range(hops)]
    longest = max(busy, default=0.0)
    assert longest >= 0, "time does not run backwards"
    while len(busy) < X - 1:
        busy.append(longest)
    return sum(sorted(busy, reverse=True))
"""


def findings(published=(), **answers):
    given = {name: ({"gather": text}, []) for name, text in answers.items()}
    return similarity.findings(
        "03", {"gather": STUB}, {"gather": list(published)}, given
    )


def test_names_comments_docstrings_and_spaces_do_not_count():
    bare = RENAMED.replace("(V\n        / X)", "V / X")
    assert similarity.tokens(bare) == similarity.tokens(ANSWER)
    assert similarity.tokens(OTHER) != similarity.tokens(ANSWER)


def test_what_is_called_does_count():
    first, second = "y = x.sum()", "y = x.mean()"
    assert similarity.tokens(first) != similarity.tokens(second)
    assert similarity.tokens("y = max(x)") != similarity.tokens("y = min(x)")
    assert similarity.tokens("y = x + 1") != similarity.tokens("y = x + 2")


def test_a_published_answer_is_found():
    (found,) = findings([ANSWER], ada=RENAMED, bo=OTHER, cy=STUB)
    assert (found.kind, found.students) == ("published", ("ada",))
    assert found.likeness >= 0.9
    assert "ada handed in a published answer" in str(found)


def test_students_with_the_same_answer_are_found_together():
    (found,) = findings(ada=ANSWER, bo=RENAMED, cy=OTHER, di=STUB)
    assert (found.kind, found.students) == ("alike", ("ada", "bo"))


def test_short_answers_say_nothing():
    short = STUB + "    return V / W\n"
    assert findings([short], ada=short, bo=short) == []


def test_what_half_the_class_writes_is_what_one_writes():
    class_ = {f"s{n}": ANSWER for n in range(10)}
    assert findings(**class_) == []


@pytest.mark.parametrize(("copies", "class_"), [(4, 10), (5, 12), (11, 30)])
def test_a_long_answer_that_many_share_is_reported(copies, class_):
    long = ANSWER + ANSWER.replace("def gathered", "def again")
    answers = {f"s{n:02}": long for n in range(copies)}
    others = {f"t{n:02}": STUB for n in range(class_ - copies)}
    (found,) = findings(**answers, **others)
    assert found.students == tuple(answers)


def test_a_published_answer_in_a_cell_of_one_s_own_is_found():
    answers = {
        "ada": ({"gather": STUB}, ["import math", RENAMED]),
        "bo": ({}, [OTHER]),
        "cy": ({}, [ANSWER, ANSWER]),
    }
    known = {"gather": [ANSWER]}
    found = similarity.findings("03", {"gather": STUB}, known, answers)
    assert [one.students for one in found] == [("ada",), ("cy",)]
    assert {one.kind for one in found} == {"published"}


def test_what_was_given_out_is_not_counted_as_alike():
    long = STUB + "\n".join(f"# {n}\nassert V + {n}" for n in range(50))
    assert similarity.own(long, long) == []


@each(
    "text",
    [
        "from shardlab import cost",
        "from shardlab import hw, ring as r",
        "from shardlab import (\n    hw,\n    count,\n)",
        "import shardlab.strategies.fsdp",
        "from shardlab.cost import t_all_gather",
        "import shardlab\nshardlab.memory.bytes_of",
        "from shardlab.authoring.kit import read_set",
        "importlib.import_module('shardlab.cost')",
        "mark = '#'; from shardlab import cost",
        "from shardlab \\\n    import cost",
    ],
)
def test_asking_an_instrument_is_found(text):
    (found,) = findings(ada=text)
    assert (found.kind, found.students) == ("instrument", ("ada",))
    extra = {"ada": ({}, [text])}
    (found,) = similarity.findings("03", {"gather": STUB}, {}, extra)
    assert found.question == "a further cell"
    assert "asks an instrument" in str(found)


@each(
    "text",
    [
        "from shardlab import hw, check",
        "from shardlab import hw\ncost = 3",
        "shardlab_cost = shardlab\nimport cost_of",
        "from shardlab.hw import V5E\ncost = 3",
        "# from shardlab import cost",
        "import counting",
    ],
)
def test_other_imports_are_fine(text):
    assert findings(ada=text) == []


def test_what_the_exercise_itself_imports_is_fine():
    stub = "from shardlab import cost\n" + STUB
    given = {"ada": ({"gather": stub}, [])}
    assert similarity.findings("03", {"gather": stub}, {}, given) == []


@each(
    "text",
    ["def f(:\n  x", "'''", "(" * 300, "\x00a", "  a\n b", "é = '\\", ""],
)
def test_broken_programs_are_read_as_far_as_they_go(text):
    assert isinstance(similarity.tokens(text), list)
    assert findings([ANSWER], ada=text, bo=ANSWER + text)


@pytest.mark.long  # judges the processor's time
@pytest.mark.parametrize(
    "text",
    [
        "shardlab import " * 7000,
        ("shardlab import" + " " * 20) * 2800,
        "shardlab import (" + "\n" * 90_000,
        "shardlab" * 12_000,
        "shardlab." * 11_000,
        "shardlab" + " " * 99_000,
        "shardlab import (" + "a, " * 33_000,
        "x = (" * 20_000,
        "a " * 50_000,
        '"' + '\\"' * 49_000,
        "\n".join(['"' + '\\"' * 2_000] * 20),
    ],
)
def test_a_hostile_answer_costs_no_time(text):
    begun = time.process_time()
    findings([ANSWER], ada=text, bo=text + "1")
    assert time.process_time() - begun < 3


@pytest.mark.long  # judges the processor's time
def test_a_class_of_three_hundred_is_compared_in_seconds():
    draw = random.Random(1)
    words = ["V", "X", "W", "+", "*", "-", "(", ")", "1", "2", "if", "else"]
    answers = {
        f"s{n}": (
            {
                f"q{q}": " ".join(draw.choices(words, k=120)).replace("( )", "")
                for q in range(8)
            },
            [],
        )
        for n in range(300)
    }
    stubs = dict.fromkeys((f"q{q}" for q in range(8)), STUB)
    begun = time.process_time()
    similarity.findings("03", stubs, {q: [ANSWER] for q in stubs}, answers)
    # Forty questions in 20 s are eight in four.
    assert time.process_time() - begun < 4
