import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader import utils

from shardlab.grading import graft
from shardlab.grading.graft import grafted


def marked(cell, name, **mark):
    """A cell with nbgrader's metadata."""
    flags = {"grade": False, "solution": False, "locked": False, "task": False}
    cell.metadata = nbformat.from_dict(
        {
            "nbgrader": {"grade_id": name, "schema_version": 3} | flags | mark,
            "tags": ["raises-exception"],
        }
    )
    return cell


def answer(name="f", text="def f():\n    # YOUR CODE HERE"):
    """An answer cell."""
    return marked(new_code_cell(text), name, solution=True)


def released():
    """Our notebook: a text, a setup, two answers with checks, a proof."""
    point = {"grade": True, "points": 1, "locked": True}
    return new_notebook(
        cells=[
            new_markdown_cell("# Title"),
            new_code_cell("import jax"),
            answer("f"),
            marked(new_code_cell("check f"), "f_check", **point),
            answer("g", "def g():\n    # YOUR CODE HERE"),
            marked(new_code_cell("check g"), "g_check", **point),
            marked(
                new_markdown_cell("YOUR ANSWER HERE"),
                "proof",
                grade=True,
                solution=True,
                points=2,
            ),
        ]
    )


def texts(*changes, cells=None):
    """The texts of the code cells after grafting a changed submission."""
    made = released()
    if cells is not None:
        made.cells = cells
    for change in changes:
        change(made)
    return [c.source for c in grafted(released(), made).cells if is_code(c)]


def is_code(cell):
    return cell.cell_type == "code"


PLAIN = [cell.source for cell in released().cells if is_code(cell)]


def at(number, text):
    """A change of the text of one cell."""

    def change(notebook):
        notebook.cells[number].source = text

    return change


def insert(number, *cells):
    """A change that puts further cells before a cell."""

    def change(notebook):
        notebook.cells[number:number] = cells

    return change


def test_what_was_given_out_comes_back():
    made = grafted(released(), released())
    assert [c.source for c in made.cells] == [
        c.source for c in released().cells
    ]


def test_answers_are_taken():
    found = texts(at(2, "f = 1"), at(4, "g = 2"))
    assert found == ["import jax", "f = 1", "check f", "g = 2", "check g"]


@pytest.mark.parametrize("number", [1, 3, 5])
def test_our_own_cells_are_ours(number):
    found = texts(at(number, "hostile"))
    assert [t for t in found if t != "hostile"] == PLAIN
    # The setup has no name: changed, it is a cell of the student's own.
    assert ("hostile" in found) == (number == 1)


def test_cells_under_the_name_of_a_check_are_left_out():
    hostile = [marked(new_code_cell(f"hostile {n}"), "f_check") for n in (1, 2)]
    assert texts(insert(0, *hostile), insert(4, *hostile)) == PLAIN


def test_identifiers_are_ours():
    made = grafted(released(), released())
    assert [c.id for c in made.cells] == [f"cell-{n}" for n in range(7)]


def test_code_of_the_student_stands_where_it_stood():
    found = texts(
        insert(4, new_code_cell("after check f")),
        insert(3, new_code_cell("after f")),
        insert(0, new_code_cell("first"), new_code_cell("second")),
    )
    assert found[:4] == ["first", "second", "import jax", PLAIN[1]]
    assert found[4:7] == ["after f", "check f", "after check f"]


@pytest.mark.parametrize("where", [4, 6])
def test_a_cell_of_ours_pasted_again_is_run_there(where):
    def paste(made):
        again = new_code_cell("import jax")
        made.cells.insert(where, new_code_cell("jax = None"))
        made.cells.insert(where + 1, again)

    before = [c.source for c in released().cells[:where] if is_code(c)]
    found = texts(paste)
    assert found[: len(before)] == before
    assert found[len(before) :][:2] == ["jax = None", "import jax"]
    assert found.count("check f") == found.count("check g") == 1


def test_text_of_the_student_is_left_out():
    made = released()
    made.cells.insert(0, new_markdown_cell("<script>"))
    made.cells[1].source = "<script>"
    made.cells.append(nbformat.v4.new_raw_cell("<script>"))
    assert "<script>" not in nbformat.writes(grafted(released(), made))


def test_metadata_outputs_and_attachments_are_left_out():
    made = released()
    for cell in made.cells:
        cell.metadata.hostile = "hostile"
        cell.attachments = {"hostile": {}}
        cell.metadata.get("nbgrader", {})["points"] = 1000
        if is_code(cell):
            cell.outputs = [nbformat.v4.new_output("stream", text="hostile")]
    made.metadata.hostile = "hostile"
    found = grafted(released(), made)
    assert "hostile" not in nbformat.writes(found)
    points = [c.metadata.get("nbgrader", {}).get("points") for c in found.cells]
    assert points == [None, None, None, 1, None, 1, 2]
    assert not any("tags" in c.metadata for c in found.cells)


def test_cells_are_known_by_name_in_any_order():
    made = released()
    made.cells = made.cells[::-1]
    assert texts(cells=made.cells) == PLAIN


def test_a_missing_answer_is_empty_and_a_missing_check_is_back():
    found = texts(cells=[answer("g", "g = 2")])
    assert found == ["import jax", "", "check f", "g = 2", "check g"]


def test_an_answer_in_a_cell_of_its_own_is_not_taken_back():
    cells = released().cells
    cells[2] = new_code_cell("def f():\n    return 1")
    found = texts(cells=cells)
    assert "def f():\n    return 1" in found
    assert not any("YOUR CODE" in text and "f()" in text for text in found)


def test_an_answer_in_several_cells_runs_in_their_order():
    cells = released().cells
    cells[2:3] = [answer(text=f"part {n}") for n in range(3)]
    found = texts(cells=cells)
    assert found[1:5] == ["part 0", "part 1", "part 2", "check f"]


@pytest.mark.parametrize("where", [0, 3, 7])
def test_an_empty_copy_of_an_answer_changes_nothing(where):
    assert texts(at(2, "f = 1"), insert(where, answer())) == texts(
        at(2, "f = 1")
    )


def test_a_proof_is_fenced_in():
    made = released()
    made.cells[-1].source = "<script>\n```\n````js\n"
    found = grafted(released(), made).cells[-1]
    assert found.source == "`````text\n<script>\n```\n````js\n\n`````"
    assert found.cell_type == "markdown"


def test_a_proof_that_was_not_written_counts_as_none():
    for made in (released(), new_notebook()):
        proof = grafted(released(), made).cells[-1]
        assert proof.source == "YOUR ANSWER HERE"
        before = utils.compute_checksum(released().cells[-1])
        assert utils.compute_checksum(proof) == before


def test_a_long_cell_becomes_an_error():
    found = texts(at(2, "x" * (graft.MAX_CELL + 1)))[1]
    assert found == "raise ValueError('this cell had 100001 characters')"
    assert texts(at(2, "x" * graft.MAX_CELL))[1] == "x" * graft.MAX_CELL


def test_so_many_further_cells_are_taken():
    cells = [new_code_cell(f"x{n}") for n in range(graft.MAX_EXTRA + 50)]
    found = texts(insert(7, *cells))
    *kept, last = found[len(PLAIN) :]
    assert kept == [f"x{n}" for n in range(graft.MAX_EXTRA)]
    assert last.startswith("# of 150 code cells of the student's own, 50 are")
    handed = new_notebook(cells=[answer(), *cells])
    assert graft.remarks(released(), handed) == [last.removeprefix("# ")]


def test_a_notebook_of_another_assignment_is_remarked_on():
    other = new_notebook(cells=[new_code_cell("import jax"), answer("h", "")])
    (remark,) = graft.remarks(released(), other)
    assert "another one" in remark
    assert graft.remarks(released(), released()) == []
    assert graft.remarks(new_notebook(), other) == []


def test_a_written_answer_in_several_cells_is_whole():
    made = released()
    parts = [marked(new_markdown_cell(t), "proof") for t in "abc"]
    made.cells[-1:] = parts
    found = grafted(released(), made).cells[-1]
    assert found.source == "```text\na\n\nb\n\nc\n```"


def test_text_that_is_ours_leads_no_cell_back():
    again = [new_code_cell("import jax"), new_code_cell("uses f")]
    assert texts(insert(7, *again))[-1] == "uses f"


def test_half_characters_are_replaced():
    found = texts(at(2, "\ud800"), insert(7, new_code_cell("x\udfff")))
    assert found[1] == "?"
    assert found[-1] == "x?"


names = st.sampled_from(["f", "g", "f_check", "g_check", "proof", "other", ""])
cells = st.builds(
    lambda kind, name, text, mark: (
        marked(kind(text), name, **mark) if name else kind(text)
    ),
    st.sampled_from(
        [new_code_cell, new_markdown_cell, nbformat.v4.new_raw_cell]
    ),
    names,
    st.sampled_from(["", "a", "check f", "import jax", "def f():\n    # YOUR"]),
    st.fixed_dictionaries(
        {}, optional={"grade": st.booleans(), "points": st.integers()}
    ),
)


@given(st.lists(cells, max_size=8))
def test_whatever_is_handed_in_our_cells_stay(submitted):
    found = grafted(released(), new_notebook(cells=submitted)).cells
    named = [c for c in found if "nbgrader" in c.metadata]
    ours = [c for c in released().cells if "nbgrader" in c.metadata]
    assert [c.metadata.nbgrader for c in named] == [
        c.metadata.nbgrader for c in ours
    ]
    checks = [c.source for c in named if utils.is_locked(c)]
    assert checks == ["check f", "check g"]
    assert len({c.id for c in found}) == len(found)
    live = [c for c in found if not is_code(c) and c.source != "# Title"]
    assert len(live) == 1
    assert "YOUR ANSWER HERE" in live[0].source or "```" in live[0].source
