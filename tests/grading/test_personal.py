"""Numbers of a student's own are the same in the notebook and in the check."""

from nbformat.v4 import new_code_cell, new_notebook

from shardlab.checks import personal
from shardlab.grading import judge

SHOWN = """\
from shardlab.checks import personal
draw = personal.numbers("product")
a, b = draw.integers(100, 999, 2).tolist()
print(a, b)
"""
CHECK = """\
from shardlab import check
from shardlab.checks import personal, student
a, b = personal.numbers("product").integers(100, 999, 2).tolist()
check.equal("product", student.value("product"), a * b)
"""


def drawn(identifier, question="product"):
    with personal.belonging_to(identifier):
        return personal.numbers(question).integers(100, 999, 4).tolist()


def test_numbers_belong_to_a_student_and_a_question():
    assert drawn("ada") == drawn("ada")
    assert drawn("ada") != drawn("bo")
    assert drawn("ada") != drawn("ada", "sum")


def judged(identifier, answer):
    """What the check and the shown cell say of an answer."""
    mark = {"grade": True, "solution": False, "grade_id": "q", "points": 1}
    check = new_code_cell(CHECK)
    check.metadata["nbgrader"] = mark
    cells = [new_code_cell(SHOWN), new_code_cell(answer), check]
    grading = {
        "seed": 1,
        "seconds": judge.SECONDS,
        "isolated": True,
        "limits": judge.LIMITS,
        "variables": {personal.VARIABLE: identifier},
    }
    checks = judge.checks_of(new_notebook(cells=cells))
    with personal.belonging_to(identifier):
        made, _ = judge.Judge(checks, grading).preprocess(
            new_notebook(cells=cells), {}
        )
    return made.cells[0].outputs[0].text, judge.has_failed(made.cells[2])


def test_the_check_has_the_numbers_that_the_student_saw():
    shown, failed = judged("ada", "product = a * b")
    assert shown.split() == [str(number) for number in drawn("ada")[:2]]
    assert not failed


def test_the_result_of_another_student_is_wrong():
    a, b = drawn("bo")[:2]
    assert judged("ada", f"product = {a * b}")[1]


def test_a_notebook_cannot_say_whose_it_is():
    a, b = drawn("bo")[:2]
    claim = f"import os\nos.environ['{personal.VARIABLE}'] = 'bo'\n"
    assert judged("ada", claim + f"product = {a * b}")[1]
