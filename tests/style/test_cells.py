"""The four kinds of code cell, captions and numbers, as the generator makes
them."""

import pytest

from tools import cells, text

HEAD = """---
jupytext:
  formats: md:myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Title
"""
FIGURE = {
    "tags": "[figure]",
    "alt": '"four boxes in a row: each holds a block"',
    "caption": "A ring of $N$ chips.",
    "name": "fig-ring",
}


def code(source="x = 1", **header):
    """A code cell as an author writes it."""
    lines = "".join(f"{key}: {value}\n" for key, value in header.items())
    top = f"---\n{lines}---\n" if lines else ""
    return f"\n```{{code-cell}} ipython3\n{top}{source}\n```\n"


def drawn(**changes):
    """A figure cell; a change to None leaves a field out."""
    header = {**FIGURE, **changes}
    given = {key: value for key, value in header.items() if value is not None}
    return code("plot.ring(4)\nplt.show()", **given)


@pytest.fixture
def made(tmp_path):
    """A function that gives the notebook of a chapter 4 with these cells."""

    def make(*parts, stem="04_rings", folder="chapters"):
        path = tmp_path / folder / f"{stem}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + "\n".join(parts), encoding="utf-8")
        return text.notebook(path)

    return make


def of_type(notebook, what):
    return [cell for cell in notebook.cells if cell.cell_type == what]


def test_an_idea_is_open(made):
    idea = of_type(
        made(code("x = 1"), code("import y", tags="[setup]")), "code"
    )
    assert dict(idea[0].metadata) == {}
    assert idea[0].source == "x = 1"
    assert cells.kind(idea[0]) == "idea"
    assert cells.is_open(idea[0])


def test_evidence_is_folded_under_what_was_checked(made):
    words = "formula = links, for every ring and line of 2 to 32 chips"
    (cell,) = of_type(
        made(code("assert x == 1", tags="[evidence]", checked=f'"{words}"')),
        "code",
    )
    line = f"Checked: {words}"
    assert cell.source == f"# {line}\nassert x == 1"
    assert cell.metadata.tags == ["evidence", "hide-cell"]
    assert cell.metadata.jupyter == {
        "outputs_hidden": True,
        "source_hidden": True,
    }
    assert cell.metadata.mystnb.code_prompt_show == line
    assert cell.metadata.mystnb.code_prompt_hide == line
    assert "checked" not in cell.metadata
    assert not cells.is_open(cell)


def test_set_up_is_folded_unless_it_is_open(made):
    folded, shown = of_type(
        made(
            code("import jax", tags="[setup]"),
            code("import jax", tags="[setup, open]"),
        ),
        "code",
    )
    assert folded.source == "# Set-up\nimport jax"
    assert "hide-cell" in folded.metadata.tags
    assert folded.metadata.jupyter.source_hidden
    assert folded.metadata.mystnb.code_prompt_show == "Set-up"
    assert shown.source == "import jax"
    assert shown.metadata.tags == ["open", "setup"]
    assert "jupyter" not in shown.metadata
    assert cells.is_open(shown)
    assert not cells.is_open(folded)


def test_an_answer_is_folded_until_it_is_wanted(made):
    cell, _ = of_type(
        made(code("print(3)", tags="[answer]"), code(tags="[setup]")), "code"
    )
    assert cell.metadata.mystnb.code_prompt_show == "Show the answer"
    assert cell.metadata.jupyter.outputs_hidden
    assert not cells.is_open(cell)


def test_the_code_of_a_figure_is_folded_and_its_caption_stands_below(made):
    notebook = made(drawn(width="wide"), "After it.")
    _, figure, caption, after = notebook.cells
    assert figure.source == "# Figure 4.1\nplot.ring(4)\nplt.show()"
    assert figure.metadata.tags == ["figure", "hide-input", "wide"]
    assert figure.metadata.jupyter == {"source_hidden": True}
    assert figure.metadata.mystnb.image.alt.startswith("four boxes in a row:")
    assert "Figure 4.1" in figure.metadata.mystnb.code_prompt_show
    assert caption.metadata.tags == ["caption"]
    assert caption.source == (
        '<a id="fig-ring"></a>**Figure 4.1.** A ring of $N$ chips.'
    )
    assert after.source == "After it."


def test_figures_tables_and_equations_are_numbered_apart_and_linked(made):
    table = code(
        "rows",
        tags="[figure]",
        caption='"As [figure](#fig-ring)."',
        name="tab-costs",
    )
    notebook = made(
        "See [figure](#fig-line), [table](#tab-costs), [the ring](#fig-ring) "
        "and [equation](#eq-time).",
        drawn(),
        table,
        drawn(name="fig-line"),
        "So:\n\n$$t = V / W$$ (eq-time)\n\n```\n[figure](#fig-none)\n```",
    )
    said = [cell.source for cell in of_type(notebook, "markdown")]
    assert (
        "See [Figure 4.2](#fig-line), [Table 4.1](#tab-costs), "
        "[the ring](#fig-ring) and [Equation 4.1](#eq-time)."
    ) in said[0]
    assert "**Table 4.1.** As [Figure 4.1](#fig-ring)." in said[2]
    assert "**Figure 4.2.**" in said[3]
    assert '<a id="eq-time"></a>\n\n$$t = V / W \\tag{4.1}$$' in said[4]
    assert "[figure](#fig-none)" in said[4]


def test_a_text_without_a_chapter_counts_from_one(made):
    notebook = made(drawn(), folder="exercises")
    assert "**Figure 1.**" in notebook.cells[2].source


REFUSED = {
    "unknown tag": (code(tags="[evidnece]"), "'evidnece' is unknown"),
    "myst tag": (code(tags="[hide-cell]"), "'hide-cell' is unknown"),
    "two kinds": (code(tags="[figure, setup]"), "one kind, not figure and"),
    "open idea": (code(tags="[open]"), "'open' is unknown for kind 'idea'"),
    "no checked": (code(tags="[evidence]"), "evidence needs `checked`"),
    "long": (
        code(tags="[evidence]", checked="x" * 70),
        "has 70 characters, at most 69",
    ),
    "field": (code(tags="[setup]", alt="x"), "'alt' is unknown"),
    "misspelt": (drawn(captoin="x"), "'captoin' is unknown"),
    "no alt": (drawn(alt=None), "a picture needs `alt`"),
    "no caption": (drawn(caption=None), "a picture needs `caption`"),
    "no name": (drawn(name=None), "a picture needs `name`"),
    "half": (code(tags="[figure]", name="tab-x"), "stand together"),
    "bad name": (drawn(name="Ring"), "it is 'Ring'"),
    "bad width": (drawn(width="huge"), "it is 'huge'"),
    "twice": (drawn() + drawn(), "fig-ring is used twice"),
    "link": ("[figure](#fig-line)", "#fig-line names nothing"),
    "yaml": (code(tags="[evidence]", checked="a: b"), "must stand in quotes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_text_is_refused_by_file_and_cell(case, made):
    part, words = REFUSED[case]
    with pytest.raises(
        ValueError, match=r"04_rings\.md, .*[Cc]ell \d+"
    ) as seen:
        made(code("import jax", tags="[setup]"), "Words.", part)
    assert words in str(seen.value)


def test_a_text_without_kinds_stays_as_it_is(made):
    part = code("x", tags="[hide-cell]")
    (cell,) = of_type(made(part, "[figure](#fig-none)"), "code")
    assert cell.metadata.tags == ["hide-cell"]
    assert cell.source == "x"


def mark(notebook):
    return notebook.metadata.shard_by_shard.fingerprint


def test_words_about_a_cell_do_not_make_it_run_again(made):
    def chapter(checked="a", source="assert x", stem="04_rings", **changes):
        proof = code(source, tags="[evidence]", checked=checked)
        return mark(made(proof, drawn(**changes), stem=stem))

    first = chapter()
    assert chapter(checked="b") == first
    assert chapter(caption="Other words.") == first
    assert chapter(alt="a ring of four boxes, one block in each") == first
    assert chapter(name="fig-other") == first
    assert chapter(width="wide") == first
    assert chapter(stem="05_rings") == first
    assert chapter(source="assert y") != first
    assert chapter(source="# Checked: a\nassert x  # that is why") == first
    assert chapter(source="inspect.getsource(x)") != chapter(
        source="inspect.getsource(x)  # its text counts"
    )


def test_the_first_cell_says_where_it_runs(made):
    source = 'jax.config.update("jax_num_cpu_devices", 8)'
    folded, again = of_type(
        made(code(source, tags="[setup]"), code(source)), "code"
    )
    assert folded.source == f"# Set-up\n{cells.DOOR}\n{source}"
    assert again.source == source
    (plain,) = of_type(made(code(source)), "code")
    assert plain.source == f"{cells.DOOR}\n{source}"


def test_where_a_statement_stands_counts(made):
    apart = mark(made(code("x = 1"), code("y = 2", tags="[setup]")))
    assert mark(made(code("x = 1\ny = 2", tags="[setup]"))) != apart
    quiet = mark(made(code("x = 1;"), code("y = 2", tags="[setup]")))
    assert quiet != apart


def test_a_cell_that_may_raise_runs_again(made):
    first = mark(made(code("x"), code(tags="[setup]")))
    raised = made(code("x", tags="[raises-exception]"), code(tags="[setup]"))
    assert mark(raised) != first


def check(**more):
    """A check cell of an exercise."""
    graded = {"grade": "true", "grade_id": "one", "points": 2, **more}
    line = ", ".join(f"{key}: {value}" for key, value in graded.items())
    return code("check()", nbgrader=f"{{{line}}}")


def test_a_check_is_folded_under_what_it_is_worth(made):
    one, two = of_type(made(check(points=1), check()), "code")
    assert one.source == "# Check, 1 point: run this cell\ncheck()"
    assert two.source == "# Check, 2 points: run this cell\ncheck()"
    assert two.metadata.tags == ["hide-input", "raises-exception"]
    assert two.metadata.jupyter == {"source_hidden": True}
    assert two.metadata.mystnb.code_prompt_show == "Show the check"
    assert two.metadata.nbgrader.locked
    assert not cells.is_open(two)
    again = made(check(points=1), check(points=3))
    assert mark(again) == mark(made(check(points=1), check()))


def test_an_answer_of_a_student_stays_open(made):
    graded = "{grade_id: one, solution: true}"
    (cell,) = of_type(made(code("def f(): ...", nbgrader=graded)), "code")
    assert cell.source == "def f(): ..."
    assert "jupyter" not in cell.metadata
