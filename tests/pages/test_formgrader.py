"""An instructor at work: formgrader as `make review` opens it, in Chromium.

One student is honest, the other sends active content through every channel
that reaches the instructor's pages.
"""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import expect

from tests.pages.server import TOKEN, jupyterlab
from tests.tree import copy, python

# A server and a class; packages change it, edits seldom do.
pytestmark = pytest.mark.long
STEM = "90_written"
GRADE = f"""
from shardlab.grading import course, judge
config = course.grading(".")
for who in ("ada", "mallory"):
    judge.grade(who, "{STEM}", config, 7)
"""
RELEASE = f"""
import logging
from nbgrader.apps import NbGraderAPI
from shardlab.grading import course
config = course.grading(".")
config.NbGraderAPI.log_level = logging.CRITICAL
assert NbGraderAPI(config=config).generate_assignment("{STEM}")["success"]
"""
LIVE = (
    "<script>window.top.hacked = 1</script><img src=x onerror='top.hacked=1'>"
)
# Each line tries another way out of a cell and into the instructor's page.
HOSTILE = f"""
from IPython.display import HTML, Javascript, Markdown, SVG, display

answer = 7
display(HTML({LIVE!r}), Javascript("window.top.hacked = 1"))
display(Markdown({LIVE!r}), SVG("<svg onload='top.hacked=1'/>"))
print({LIVE!r})
raise type({LIVE!r}, (Exception,), {{}})({LIVE!r})
"""
WRITTEN = f"""{LIVE}

```
{LIVE}

[click](javascript:top.hacked=1) ![x](http://localhost:1/x.png)
"""


def marked(cell, **mark):
    """A cell with nbgrader's marks."""
    whole = {"locked": False, "grade": False, "solution": False, "task": False}
    cell.metadata["nbgrader"] = {**whole, "schema_version": 3, **mark}
    return cell


def solution():
    """A notebook with one answer that is checked and one that is read."""
    return new_notebook(
        cells=[
            marked(
                new_code_cell(
                    "### BEGIN SOLUTION\nanswer=42\n### END SOLUTION"
                ),
                solution=True,
                grade_id="answer",
            ),
            marked(
                new_code_cell(
                    "from shardlab import check\n"
                    "from shardlab.checks import student\n"
                    "check.equal('answer', student.value('answer'), 42)"
                ),
                grade=True,
                locked=True,
                grade_id="answer_check",
                points=2,
            ),
            marked(
                new_markdown_cell("Say why."),
                solution=True,
                grade=True,
                grade_id="why",
                points=3,
            ),
        ]
    )


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A copy of the project with two graded submissions."""
    root = copy(tmp_path_factory.mktemp("course"))
    (root / f"solutions/{STEM}").mkdir()
    nbformat.write(solution(), root / f"solutions/{STEM}/{STEM}.ipynb")
    (root / "work/grading").mkdir(parents=True)
    done = python(root, "-c", RELEASE)
    assert done.returncode == 0, done.stderr
    for who, code, words in (
        ("ada", "answer = 42", "Because it is *counted*."),
        ("mallory", HOSTILE, WRITTEN),
    ):
        notebook = nbformat.read(
            root / f"work/grading/release/{STEM}/{STEM}.ipynb", as_version=4
        )
        notebook.cells[0].source = code
        notebook.cells[2].source = words
        notebook.cells.append(new_markdown_cell(LIVE))
        place = root / f"work/grading/submitted/{who}/{STEM}/{STEM}.ipynb"
        place.parent.mkdir(parents=True)
        nbformat.write(notebook, place)
    done = python(root, "-c", GRADE)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def formgrader(graded):
    folder = graded / "tools/review"
    with jupyterlab(graded, folder, folder / "jupyter_config.py") as url:
        yield url


@pytest.fixture
def page(formgrader, chromium):
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    opened.goto(f"{formgrader}/formgrader?token={TOKEN}")
    yield opened
    context.close()


def submission(page, url, who):
    """Open the notebook of a student, as a click in the gradebook would."""
    page.goto(f"{url}/formgrader/gradebook/{STEM}/{STEM}")
    number = page.evaluate(
        f"""async () => {{
            const said = await fetch(
                '{url}/formgrader/api/submitted_notebooks/{STEM}/{STEM}');
            const all = await said.json();
            return all.find(x => x.student === '{who}').id;
        }}"""
    )
    page.goto(f"{url}/formgrader/submissions/{number}/")
    page.wait_for_selector(".nbgrader_cell")
    # Scores and comments come after the page; until then a box is empty,
    # and what is written into it is lost.
    page.wait_for_function(
        "formgrader.grades.loaded && formgrader.comments.loaded"
    )


def saved(page, box, text, kind):
    """Write into a box and wait until the gradebook has taken it."""
    with page.expect_response(
        lambda reply: (
            f"/api/{kind}/" in reply.url and reply.request.method == "PUT"
        )
    ) as reply:
        box.fill(text)
        box.press("Tab")
    assert reply.value.ok


def scores(root):
    """What the gradebook holds: dict of score and manual score by student."""
    program = (
        "import json\n"
        "from nbgrader.api import Gradebook\n"
        "from shardlab.grading import course\n"
        "url = course.grading('.').CourseDirectory.db_url\n"
        "with Gradebook(url, 'shard-by-shard') as book:\n"
        "    found = {}\n"
        "    for who in ('ada', 'mallory'):\n"
        f"        one = book.find_submission({STEM!r}, who)\n"
        "        grades = one.notebooks[0].grades\n"
        "        manual = {g.name: g.manual_score for g in grades}\n"
        "        found[who] = [one.score, manual['why']]\n"
        "print(json.dumps(found))\n"
    )
    done = python(root, "-W", "ignore", "-c", program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_instructor_sees_the_scores(page, formgrader):
    page.goto(f"{formgrader}/formgrader/gradebook/{STEM}/{STEM}")
    expect(page.locator("table")).to_contain_text("Submission #2")
    page.goto(f"{formgrader}/formgrader/manage_students/ada")
    row = page.locator("tr", has_text=STEM)
    expect(row).to_contain_text("2 / 5")


def test_nothing_of_a_student_runs_in_the_instructors_browser(page, formgrader):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    submission(page, formgrader, "mallory")
    page.wait_for_timeout(1000)
    assert page.evaluate("window.top.hacked") is None
    assert not [url for url in asked if "localhost:1/" in url]
    text = page.locator("body").inner_text()
    assert text.count("<script>window.top.hacked") >= 4
    inside = page.locator("#notebook-container")
    assert (
        inside.locator("script, iframe, svg, a[href^=javascript]").count() == 0
    )
    assert inside.locator("img").count() == 0


def test_a_written_answer_is_graded_and_kept_when_graded_again(
    page, formgrader, graded
):
    submission(page, formgrader, "ada")
    cell = page.locator(".nbgrader_cell", has_text="Because it is")
    saved(page, cell.locator("input.score"), "2.5", "grade")
    box = page.locator("textarea.comment").last
    saved(page, box, "Counted by whom?", "comment")
    assert scores(graded)["ada"] == [4.5, 2.5]
    assert python(graded, "-c", GRADE).returncode == 0
    assert scores(graded) == {"ada": [4.5, 2.5], "mallory": [0.0, None]}
    submission(page, formgrader, "ada")
    assert box.input_value() == "Counted by whom?"


def test_formgraders_own_button_runs_nothing(page, formgrader, graded):
    page.goto(f"{formgrader}/formgrader/manage_submissions/{STEM}")
    said = page.evaluate(
        f"""async () => {{
            const token = document.cookie.match('_xsrf=([^;]*)')[1];
            const reply = await fetch(
                '{formgrader}/formgrader/api/submission/{STEM}/ada/autograde',
                {{method: 'POST', headers: {{'X-CSRFToken': token,
                                            'X-XSRFToken': token}}}});
            return reply.json();
        }}"""
    )
    assert said["success"] is False
    assert "make grade SUBMISSIONS=folder" in said["error"]
    kept = graded / f"work/grading/autograded/ada/{STEM}/{STEM}.ipynb"
    assert kept.exists()
