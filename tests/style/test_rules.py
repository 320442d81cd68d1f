"""Each rule of style sees the fault that it is there for."""

from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from tests.each import each
from tools import style


def printed(text, source="x", **metadata):
    """A code cell that printed `text`."""
    output = new_output("stream", name="stdout", text=text)
    return new_code_cell(
        source, outputs=[output], execution_count=1, metadata=metadata
    )


def picture(source="plt.show()", alt="a line that falls from left to right"):
    """A code cell that shows a picture."""
    output = new_output("display_data", {"image/svg+xml": "<svg/>"})
    image = {"mystnb": {"image": {"alt": alt}}}
    return new_code_cell(
        source, outputs=[output], execution_count=1, metadata=image
    )


def failed(source="1 / 0", **metadata):
    """A code cell with a stored error."""
    output = new_output("error", ename="E", evalue="no", traceback=["E: no"])
    return new_code_cell(
        source, outputs=[output], execution_count=1, metadata=metadata
    )


def sound():
    """A small notebook in which no rule finds a fault."""
    return new_notebook(
        cells=[
            new_markdown_cell("# Title\n\nA sentence."),
            printed("3.1416", "print(x)"),
            picture(),
            new_markdown_cell("What was seen."),
            failed("f()", tags=["raises-exception"]),
        ]
    )


def test_a_sound_notebook_has_no_faults():
    assert style.faults(sound()) == []


def ruin(notebook, position, cell):
    notebook.cells[position] = cell
    return notebook


PLANTS = {
    "21 lines": (1, printed("1", "\n".join(["x = 1"] * 21)), "has 21 lines"),
    "wide": (1, printed("1", "x = " + "1" * 80), "line of 84 characters"),
    "unexecuted": (1, new_code_cell("print(1)"), "was not executed"),
    "no number": (1, printed("none"), "no number is seen by code cell 2"),
    "no alt": (2, picture(alt=""), "has no alt text"),
    "no show": (2, picture("plt.plot(x)"), r"does not end in plt\.show"),
    "words": (0, new_markdown_cell("word " * 151), "151 words stand before"),
    "prose": (3, printed("1"), "code cell 3 is the 3th in a row"),
    "address": (1, printed("<f at 0x7f3a2b1c>, 1"), "prints '0x7f3a2b1c'"),
    "path": (1, printed("in /home/me/book, 1"), "prints '/home/"),
    "mesh": (1, printed("Mesh('X': 4)"), r"prints 'Mesh\("),
    "digits": (1, printed("0.301030"), "prints 0.301030: at most 5"),
    "boolean": (1, printed("1\nTrue"), "prints a boolean"),
    "error": (4, failed(), "code cell 3 stores an error"),
    "calm": (4, printed("1", tags=["raises-exception"]), "should raise"),
    "types": (1, printed("1", "make_mesh((2,), ('X',))"), "no axis_types"),
    "tiled": (1, printed("1", "lax.psum_scatter(a, 'X')"), "without tiled="),
    "allclose": (1, printed("1", "print(np.allclose(a, b))"), "assert it"),
}


@each("plant", PLANTS)
def test_a_planted_fault_is_seen(plant):
    position, cell, words = PLANTS[plant]
    found = style.faults(ruin(sound(), position, cell))
    assert len([f for f in found if __import__("re").search(words, f)]) == 1


def test_a_late_picture_is_mentioned():
    assert style.faults(sound(), style.ADVICE) == []
    late = ruin(sound(), 2, printed("2"))
    assert style.faults(late, style.ADVICE) == [
        "no picture is seen by code cell 5"
    ]


def folded(cell, kind, below=None):
    """A cell as the generator makes those of a kind, and its caption."""
    cell.metadata["tags"] = [kind, "hide-cell"]
    words = {"metadata": {"tags": ["caption"]}}
    return [cell, *([new_markdown_cell(below, **words)] if below else [])]


def formed():
    """A small chapter that tells kinds of cells apart, without a fault."""
    return new_notebook(
        cells=[
            new_markdown_cell("# Title\n\nA sentence."),
            *folded(printed("", "import jax"), "setup"),
            printed("3.1416", "print(jax)"),
            *folded(picture(), "figure", "**Figure 1.1.** A line."),
            new_markdown_cell("What was seen."),
            *folded(printed("", "assert x"), "evidence"),
        ]
    )


def test_a_sound_chapter_of_kinds_has_no_faults():
    assert style.faults(formed()) == []


def film():
    """A code cell that shows a film."""
    output = new_output("execute_result", {"text/html": "<svg></svg>"})
    return new_code_cell("film()", outputs=[output], execution_count=1)


KINDS = {
    "no caption": (4, new_markdown_cell("Words."), "has no caption"),
    "open picture": (3, picture(), "code cell 3 shows a picture as idea"),
    "open film": (3, film(), "code cell 3 shows a picture as idea"),
    "film": (3, folded(film(), "figure")[0], None),
    "nothing": (
        6,
        folded(printed("", "x = 1"), "evidence")[0],
        "code cell 4 is evidence and asserts nothing",
    ),
    "agreed": (6, folded(printed("", "agree(a=1, b=1)"), "evidence")[0], None),
    "numpy": (
        6,
        folded(printed("", "np.testing.assert_equal(1, 1)"), "evidence")[0],
        None,
    ),
    "busy": (
        1,
        folded(printed("", "import jax\nx = jax.devices()"), "setup")[0],
        "code cell 1 does more than set up",
    ),
    "mesh": (
        1,
        folded(printed("", "import jax\njax.set_mesh(m)"), "setup")[0],
        "code cell 1 does more than set up",
    ),
    "options": (
        1,
        folded(printed("", 'import jax\njax.config.update("a", 8)'), "setup")[
            0
        ],
        None,
    ),
    "unused": (
        1,
        folded(printed("", "import jax, os"), "setup")[0],
        "os is imported and not used",
    ),
    "no number": (2, printed("none", "jax"), "no number is seen"),
    "words": (0, new_markdown_cell("word " * 151), "151 words stand before"),
}


@each("plant", KINDS)
def test_a_planted_fault_of_a_kind_is_seen(plant):
    position, cell, words = KINDS[plant]
    found = style.faults(ruin(formed(), position, cell))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_folded_cells_may_be_long_and_stand_in_a_row():
    long = "\n".join(["assert x"] * 30)
    notebook = formed()
    for _ in range(5):
        notebook.cells += folded(printed("", long), "evidence")
    assert style.faults(notebook) == []
    notebook.cells += [printed("1", long)]
    assert "code cell 10 has 30 lines, at most 20 are allowed" in style.faults(
        notebook
    )


def test_a_caption_is_no_sentence_between_open_cells():
    notebook = formed()
    figure = folded(picture(), "figure", "**Figure 1.2.** Words.")
    notebook.cells += [printed("1"), *figure, printed("2"), printed("3")]
    assert style.prose_between(notebook) == ["code cell 8 is the 3th in a row"]


def test_a_chapter_has_at_most_forty_open_cells():
    notebook = formed()
    for _ in range(40):
        notebook.cells += [new_markdown_cell("So."), printed("1", "jax")]
    assert style.faults(notebook) == [
        "41 code cells are open, at most 40 are allowed"
    ]


def test_long_cells_on_the_whole_are_seen():
    cells = [printed("1", "\n".join(["x = 1"] * 7)) for _ in range(9)]
    assert "the median cell has 7 lines" in style.cell_lengths(
        new_notebook(cells=cells)
    )
    cells = [printed("1") for _ in range(7)]
    cells += [printed("1", "\n".join(["x = 1"] * 18)) for _ in range(3)]
    assert style.cell_lengths(new_notebook(cells=cells)) == [
        "a tenth of the cells has more than 14 lines"
    ]


def test_stderr_is_seen():
    cell = printed("warning 1")
    cell.outputs[0].name = "stderr"
    assert "code cell 1 writes to stderr" in style.outputs(
        new_notebook(cells=[cell])
    )


def test_a_third_cell_in_a_row_may_follow_imports():
    cells = [printed("1", "import jax"), printed("2"), printed("3")]
    assert style.prose_between(new_notebook(cells=cells)) == []
    assert style.prose_between(new_notebook(cells=[*cells, printed("4")]))


def test_a_solution_that_fails_its_check_is_seen():
    cell = failed("check()", tags=["raises-exception"])
    assert style.solved(new_notebook(cells=[cell]))


def test_missing_docstrings_are_seen(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "def f(x):\n    return x\n\n\n"
        'def g(B, D):\n    """Multiply.\n\n    B  tokens\n    """\n\n\n'
        'def h(B):\n    """Add.\n\n    as in `g`\n    """\n\n\n'
        'class C:\n    """Said."""\n\n\ndef _h():\n    pass\n'
    )
    assert style.undocumented(path) == [
        "module.py: f has no docstring",
        "module.py: g does not explain D",
    ]


def test_taught_code_is_shown_where_it_is_listed():
    taught = {"01_a": ["shardlab.m.f"], "02_b": ["shardlab.m.g"]}
    shown = "# show: shardlab.m.f\n"
    assert style.shown_once(taught, {"01_a": shown}) == []
    assert style.shown_once(taught, {"01_a": ""})
    assert style.shown_once(taught, {"01_a": shown + shown})
    assert style.shown_once(taught, {"01_a": shown, "02_b": shown})
    renamed = "# show: shardlab.m.f as h\n"
    assert style.shown_once(taught, {"01_a": renamed}) == []
    assert style.shown_once(taught, {"01_a": renamed, "02_b": shown})
    assert style.shown_once({}, {"01_a": shown}) == [
        "shardlab.m.f is shown but not listed as taught"
    ]
