"""Cells as a page shows them: figures, captions, formulas, folds, pictures."""

import re
import subprocess
import sys

import nbformat
import pytest

from tests.tree import ROOT, environment
from tools import text

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book/extensions")!r})
extensions = ["myst_nb", "figures"]
nb_execution_mode = "off"
numfig = True
html_theme = "basic"
myst_enable_extensions = ["dollarmath"]
"""
CHAPTER = """---
kernelspec:
  display_name: Python 3
  name: python3
---

# Rings

See [figure](#fig-live), [table](#tab-costs) and [equation](#eq-time).

```{code-cell} ipython3
:tags: [setup]
import math
```

```{code-cell} ipython3
---
tags: [figure]
alt: a ring of two chips, each with a block
caption: Two *chips* in $t$, as in [figure](#fig-file).
name: fig-live
width: wide
---
plt.show()
```

```{code-cell} ipython3
---
tags: [figure]
alt: a ring of three chips, each with a block
caption: A file.
name: fig-file
---
plt.show()
```

```{code-cell} ipython3
---
tags: [figure]
alt: a ring of two chips, each with a block, again
caption: The same picture once more.
name: fig-again
---
plt.show()
```

```{code-cell} ipython3
---
tags: [figure]
caption: Costs.
name: tab-costs
---
print("V 1")
```

$$t = V / W$$ (eq-time)

```{code-cell} ipython3
---
tags: [evidence]
checked: "formula < links"
---
assert math.pi
```

```{code-cell} ipython3
:tags: [answer]
print(3)
```
"""
LIVE = (
    '<?xml version="1.0"?>\n<svg viewBox="0 0 40 20" width="40" height="20">'
    '<defs><clipPath id="m-a"/></defs><g clip-path="url(#m-a)">'
    '<rect width="9" height="9" style="fill: var(--axis-x, #1b64b5)"/></g>'
    "</svg>"
)
FILE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="30pt" height="15pt"></svg>'
)


def shown(cell, picture=None):
    """Give a cell an output, as if it had run."""
    cell.execution_count = 1
    if picture:
        data = {"image/svg+xml": picture, "text/plain": "<Figure>"}
        cell.outputs = [nbformat.v4.new_output("display_data", data)]
    elif "print" in cell.source:
        cell.outputs = [nbformat.v4.new_output("stream", text="V 1\n")]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The HTML of a small chapter."""
    root = tmp_path_factory.mktemp("small")
    source = root / "made/chapters/03_rings.md"
    source.parent.mkdir(parents=True)
    source.write_text(CHAPTER, encoding="utf-8")
    notebook = text.notebook(source)
    pictures = iter([LIVE, FILE, LIVE])
    for cell in notebook.cells:
        if cell.cell_type == "code":
            drawn = "plt.show()" in cell.source
            shown(cell, next(pictures) if drawn else None)
    (root / "book").mkdir()
    nbformat.write(notebook, root / "book/index.ipynb")
    (root / "book/conf.py").write_text(CONF)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "book", "html"],
        cwd=root,
        env=environment(ROOT),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (root / "html/index.html").read_text(encoding="utf-8")


def part(page, start, end):
    """What stands on the page from `start` to the next `end`."""
    found = re.search(f"{start}.*?{end}", page, re.DOTALL)
    assert found, start
    return found[0]


def test_a_caption_is_in_its_figure_with_number_and_formula(page):
    figure = part(page, "<figure[^>]*fig-live", "</figure>")
    assert 'class="cell-figure wide"' in figure
    caption = part(figure, "<figcaption>", "</figcaption>")
    number = '<span class="caption-number">Figure 3.1.</span>'
    assert caption.startswith(f"<figcaption>{number} Two <em>chips</em>")
    assert 'class="math' in caption
    assert page.count("Two <em>chips</em>") == 1
    assert '<a id="fig-live">' not in page


def test_links_lead_to_figures_tables_and_formulas(page):
    for name, words in {
        "fig-live": "Figure 3.1",
        "tab-costs": "Table 3.1",
        "eq-time": "Equation 3.1",
        "fig-file": "Figure 3.2",
    }.items():
        link = part(
            page, f'<a class="reference internal" href="#{name}"', "</a>"
        )
        assert re.sub("<[^>]*>", "", link) == words
        assert page.count(f'id="{name}"') == 1


def test_a_formula_has_its_number_beside_it(page):
    formula = part(page, '<div class="math[^>]*eq-time', "</div>")
    assert '<span class="eqno">(3.1)' in formula
    assert r"\tag" not in formula


def test_a_table_is_in_its_figure(page):
    figure = part(page, "<figure[^>]*tab-costs", "</figure>")
    assert figure.index("V 1") < figure.index("Table 3.1.")


def test_the_code_of_a_figure_is_folded_below_it(page):
    figure = page.index("Figure 3.1.</span>")
    fold = part(page, '<details class="fold fold-figure">', "</details>")
    assert "Code of Figure 3.1" in fold
    assert "plt" in fold
    assert page.index(fold) > figure


def test_evidence_set_up_and_answers_are_folded_with_all_they_show(page):
    fold = part(page, '<details class="fold fold-evidence">', "</details>")
    assert "<summary>Checked: formula &lt; links</summary>" in fold
    assert "math" in fold
    fold = part(page, '<details class="fold fold-setup">', "</details>")
    assert "<summary>Set-up</summary>" in fold
    fold = part(page, '<details class="fold fold-answer">', "</details>")
    assert '<span class="collapsed">Show the answer</span>' in fold
    assert fold.count("V 1") == 1


def test_a_picture_in_the_colours_of_the_page_is_part_of_it(page):
    figure = part(page, "<figure[^>]*fig-live", "</figure>")
    head = part(figure, "<svg", ">")
    assert 'role="img"' in head
    assert 'aria-label="a ring of two chips, each with a block"' in head
    assert "var(--axis-x, #1b64b5)" in figure
    assert "<img" not in figure


def test_the_same_picture_twice_has_ids_of_its_own(page):
    again = part(page, "<figure[^>]*fig-again", "</figure>")
    assert 'id="m-a-2"' in again
    assert "url(#m-a-2)" in again
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_picture_with_colours_of_its_own_stays_a_file(page):
    figure = part(page, "<figure[^>]*fig-file", "</figure>")
    image = part(figure, "<img", ">")
    assert 'width="40" height="20"' in image
    assert 'loading="lazy"' in image
    assert 'alt="a ring of three chips, each with a block"' in image
    assert "_images/" in image


def test_groups_without_a_look_are_left_out():
    svg = '<g><g id="a"><g><path/></g></g></g>'
    assert figures().ungroup(svg) == '<g id="a"><path/></g>'
    empty = '<g><g clip-path="url(#c)"/></g><g id="a"/>'
    assert figures().ungroup(empty) == ""


def figures():
    """The extension that makes figures."""
    sys.path.insert(0, str(ROOT / "book/extensions"))
    import figures as extension

    return extension


def test_a_figure_written_as_html_has_the_letters_of_the_page(html):
    text = (html / "book/machines.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    assert article.count('class="picture') > 5
    assert "font-family" not in article
