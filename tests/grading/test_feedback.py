"""Feedback pages tell what was wrong, ask for nothing, and run nothing."""

import base64
import html
import struct
import zlib

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from playwright.sync_api import sync_playwright

from shardlab.grading import feedback, gradebook, graft, pictures
from tests.grading import classroom
from tests.pages import browser as look
from tests.tree import ROOT

EVIL = [
    "<script>document.title = 'hit'; fetch('http://evil.test/1')</script>",
    "<img src=x onerror=\"document.title='hit'\">",
    "<img src='http://evil.test/2.png'>",
    "![x](http://evil.test/3.png)",
    "[x](javascript:document.title='hit')",
    "<a href=\"javascript:document.title='hit'\" id=bait>x</a>",
    "<iframe src='http://evil.test/4'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://evil.test/5'>",
    "<svg onload=\"document.title='hit'\"><script>1</script></svg>",
    "<style>@import 'http://evil.test/6.css'; body{display:none}</style>",
    "<link rel=stylesheet href='http://evil.test/7.css'>",
    "<body onload=\"document.title='hit'\">",
    "</pre></section></main><script>document.title='hit'</script>",
    "<form action='http://evil.test/8'><input autofocus "
    "onfocus=\"document.title='hit'\"></form>",
    "<details open ontoggle=\"document.title='hit'\">x</details>",
    "{{ 7 * 7 }}{% raw %}",
    "<object data='http://evil.test/9'></object><embed src=http://evil.test/a>",
    "<math><mtext></mtext><style><img src=x onerror=alert(1)></style></math>",
    "<base href='http://evil.test/'><video src=b autoplay></video>",
    "```text\n</code></pre><script>document.title='hit'</script>\n```",
    "$<img src=x onerror=document.title='hit'>$",
    "$$</div><script>document.title='hit'</script>$$",
    "| a |\n|---|\n| <img src=x onerror=document.title='hit'> |",
    "$\\text{<img src=x onerror=document.title='hit'>}$",
    "$\\mathrm{</math><script>document.title='hit'</script>}$",
    "$x\\href{javascript:document.title='hit'}{y}$",
    "$\\class{x}{\\style{background:url(http://evil.test/b)}{y}}$",
    "$" + "{" * 3000 + "$",
    "$" + "\\frac{1}{" * 400 + "1" + "}" * 400 + "$",
]
ALL = "\n\n".join(EVIL)


def png(extra=b""):
    """A picture of one pixel, followed by `extra`."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\0")),
        (b"IEND", b""),
    ]
    data = b"".join(pictures.chunk(*part) for part in parts)
    return base64.b64encode(pictures.SIGNATURE + data + extra).decode()


def shown(mime, text):
    return new_output("display_data", {mime: text})


def points(name, auto, most, **more):
    cell = gradebook.Cell("s", "q", name, "code", auto, None, 0.0, most, False)
    return cell._replace(**more)


def notebook(text):
    """A graded notebook into which a student put `text` wherever it goes."""
    made = classroom.solution_of(
        (
            "a",
            2,
            "check()\n### BEGIN HIDDEN TESTS\nsecret\n### END HIDDEN TESTS",
        ),
        ("b", 4, "check()"),
        manual=3,
    )
    asked, answer, check, _, passed, proof = made.cells
    asked.source = text
    answer.source = text
    answer.outputs = [
        new_output("stream", name="stdout", text=text),
        new_output("error", ename=text, evalue=text, traceback=[text]),
        shown("text/html", text),
        shown("image/svg+xml", text),
        shown("application/javascript", text),
        shown("image/png", f'" onerror="document.title=\'hit\'" {text}'),
        shown("image/png", png()),
        shown("text/plain", text),
    ]
    wrong = new_output(
        "error", ename="WrongAnswer", evalue=f"a {text}", traceback=[]
    )
    check.outputs = [wrong]
    passed.outputs = []
    proof.source = graft.answer(proof, text)
    extra = new_code_cell(text, outputs=answer.outputs)
    made.cells += [extra, new_markdown_cell(text)]
    return made


def page(text):
    given = {
        "a": points("a", 0.0, 2.0),
        "b": points("b", 4.0, 4.0),
        "proof": points("proof", None, 3.0, kind="markdown"),
    }
    return feedback.page(
        text, [text], notebook(text), given, {"a_answer": text}
    )


@pytest.fixture(scope="module")
def browser():
    look.require_chromium()
    with sync_playwright() as playwright:
        found = look.launch(playwright)
        yield found
        found.close()


def opened(browser, path, text):
    """The page in a browser, and what it asked for that is not in it."""
    path.write_text(text, encoding="utf-8")
    tab = browser.new_page()
    said = []
    tab.on("dialog", lambda dialog: said.append(dialog) or dialog.dismiss())
    asked = look.requests_of(tab, path.as_uri())
    return tab, asked, said


@pytest.mark.parametrize("protected", [True, False], ids=["policy", "bare"])
def test_nothing_of_a_student_is_live(browser, tmp_path, protected):
    made = page(ALL)
    if not protected:
        # Not even where a browser does not know the policy.
        made = made.replace("Content-Security-Policy", "X-Nothing")
    tab, asked, said = opened(browser, tmp_path / "page.html", made)
    assert (asked, said) == ([], [])
    assert tab.evaluate("() => document.title") != "hit"
    live = (
        "script, iframe, object, embed, form, input, a, link, base, video, svg"
    )
    assert tab.locator(live).count() == 0
    assert tab.locator("meta").count() == 4
    assert tab.locator("style").count() == 1
    handlers = tab.evaluate(
        """() => [...document.querySelectorAll('*')].flatMap(
            e => [...e.attributes].map(a => a.name)
        ).filter(n => n.startsWith('on') || n === 'href')"""
    )
    assert handlers == []
    sources = tab.evaluate("() => [...document.images].map(i => i.src)")
    assert len(sources) == 2
    assert all(s.startswith("data:image/png;base64,") for s in sources)
    assert tab.evaluate("() => document.images[0].naturalWidth") == 1
    assert tab.locator("main").is_visible()
    tab.close()


def test_the_policy_stands_in_the_page_before_all_else():
    head = html.unescape(page("x").partition("<title>")[0])
    assert (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in head
    )


def test_a_page_tells_what_was_asked_given_and_found(browser, tmp_path):
    made = page("Give **twice** x. $x_1$")
    tab, _, _ = opened(browser, tmp_path / "page.html", made)
    text = tab.locator("body").inner_text()
    assert "4 of 9 points" in text
    assert "Check a: 0 of 2" in text
    assert "WrongAnswer: a Give **twice** x." in text
    assert "Check b: 4 of 4" in text
    assert "passed" in text
    assert "not graded yet" in text
    assert tab.locator("section.asked strong").first.inner_text() == "twice"
    assert tab.locator("section.answer p.comment").count() == 1
    assert "What was checked" in text
    tab.close()


def statements():
    """The texts of all questions of the book."""
    return [
        cell.source
        for path in sorted((ROOT / "book/exercises").glob("*.md"))
        for cell in jupytext.read(path, fmt="md:myst").cells
        if cell.cell_type == "markdown"
    ]


def of_texts(texts):
    """A page that shows these texts."""
    cells = [new_markdown_cell(text) for text in texts]
    return feedback.page("t", [], nbformat.v4.new_notebook(cells=cells), {}, {})


def test_every_formula_of_a_question_is_drawn(browser, tmp_path):
    made = of_texts(statements())
    tab, asked, _ = opened(browser, tmp_path / "page.html", made)
    assert asked == []
    assert tab.locator("section.asked .math").count() > 400
    assert look.unseen_mathematics(tab) == []
    tab.close()


def test_a_formula_is_drawn_and_not_spelt(browser, tmp_path):
    text = "Send $\\frac{A[I_X, J]}{N - 1}$ bytes.\n\n$$\nx^2 \\le y\n$$\n"
    made = page(text)
    tab, _, _ = opened(browser, tmp_path / "page.html", made)
    asked = tab.locator("section.asked").first
    said = asked.inner_text()
    assert "frac" not in said
    assert "$" not in said
    over, under = (
        asked.locator("mfrac > *").nth(n).bounding_box() for n in (0, 1)
    )
    assert over["y"] + over["height"] <= under["y"] + 1
    assert asked.locator("div.math math").count() == 1
    tab.close()


@pytest.mark.parametrize("tex", [r"\nonsense{a}", "{" * 9, "x" * 3000])
def test_what_cannot_be_drawn_stands_as_it_was_typed(tex):
    made = feedback.question_html(f"a ${tex}$ b")
    assert html.escape(tex) in made
    assert "<math" not in made


def test_a_page_fits_a_phone(browser, tmp_path):
    wide = f"$$\n{' + '.join('abcdefghijklmnopqrstuvwxyz')}\n$$"
    table = "| a | b |\n|---|---|\n| `{}` | {} |".format("w" * 60, "v" * 60)
    path = tmp_path / "page.html"
    text = of_texts([*statements(), wide, table, "u" * 300])
    path.write_text(text, encoding="utf-8")
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(path.as_uri())
    assert look.overflow(tab) <= 0
    ends = tab.evaluate(
        """() => [...document.querySelectorAll('section, section > *')].map(
            e => e.getBoundingClientRect().right
        )"""
    )
    assert max(ends) <= 390
    tab.close()


def test_hidden_text_is_not_on_a_page():
    assert "secret" not in page("x")
    assert "HIDDEN" not in page("x")


def test_an_answer_stands_as_it_was_typed():
    made = page("if a < b and c > d:\n    x = '&amp;'\x1b[31m\x07")
    assert (
        "if a &lt; b and c &gt; d:\n    x = &#39;&amp;amp;&#39;</pre>" in made
    )
    assert "\x1b" not in made
    assert "\x07" not in made


def test_points_by_hand_and_their_reasons_are_shown():
    given = {"a": points("a", 0.0, 2.0, manual=1.5)}
    made = feedback.page("t", [], notebook("x"), given, {"a_answer": "nearly"})
    assert "Check a: 1.5 of 2" in made
    assert "(points given by a person)" in made
    assert '<p class="comment">nearly</p>' in made


def test_a_long_output_is_cut():
    assert len(feedback.plain("x" * 10**6)) < 30_000
    assert feedback.plain("x" * 10**6).endswith("... and more")


def test_a_picture_is_only_its_picture():
    hidden = base64.b64encode(b"<script>").decode()
    for encoded in (png(b"<script>"), hidden, png()[:-20], 7, None, "é"):
        output = {"data": {"image/png": encoded}}
        kept = feedback.picture_of(output)
        assert kept in (None, png())
    assert feedback.picture_of({"data": {"image/png": png()}}) == png()


def test_a_notebook_for_formgrader_holds_text_and_pictures_only():
    found = feedback.active(notebook(ALL))
    assert any("text/html" in sentence for sentence in found)
    safe = notebook("x")
    safe.cells[1].outputs = safe.cells[1].outputs[:2] + [
        shown("image/png", png())
    ]
    del safe.cells[-2]
    assert feedback.active(safe) == []
    safe.cells[5].source = "<script>1</script>"
    assert feedback.active(safe) == ["cell 6 is a written answer as it came"]


def test_pages_are_written_where_nbgrader_looks(tmp_path):
    feedback.write(tmp_path, "ada", "q", page("é"))
    written = (tmp_path / "ada/q/q.html").read_text(encoding="utf-8")
    assert written == page("é")


def test_the_notebook_of_a_page_can_be_any_that_nbformat_reads():
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_raw_cell("<b>")])
    assert "&lt;b&gt;" in feedback.page("t", [], made, {}, {})
