"""Formulas of the pages, held against what MathJax makes of the same LaTeX."""

import html as entities
import importlib
import re
import sys
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tree import ROOT

sys.path.insert(0, str(ROOT / "book/extensions"))

import formulas  # noqa: E402

FORMULA = re.compile(r'<math[^>]*?alttext="([^"]*)"')
# One sign in two codes, and blanks that have no width.
SAME = str.maketrans(
    {
        "⋅": "·",
        "−": "-",
        "∗": "*",
        "\u02c9": "\u0304",  # a bar beside, and one above
        "∶": ":",
        "ϵ": "ε",
        "\u2061": "",
        "\u2062": "",
    }
)


def shape(text):
    """What a formula says and where: its letters, scripts, fractions, rows."""
    text = re.sub(
        r"&(?!amp;|lt;|gt;|quot;|apos;)\w+;",
        lambda found: entities.unescape(found[0]),
        text,
    )
    return re.sub(r"\s", "", part(ElementTree.fromstring(text)))


def part(node):
    """`shape` of one element."""
    name = node.tag.rpartition("}")[2]
    if name in ("mi", "mn", "mo", "mtext"):
        letters = unicodedata.normalize("NFKC", node.text or "")
        return letters.translate(SAME)
    inner = [part(child) for child in node]
    if name in ("msub", "munder"):
        return f"{inner[0]}_({inner[1]})"
    if name in ("msup", "mover"):
        return f"{inner[0]}^({inner[1]})"
    if name in ("msubsup", "munderover"):
        return f"{inner[0]}_({inner[1]})^({inner[2]})"
    if name == "mfrac":
        return f"({inner[0]})/({inner[1]})"
    if name == "msqrt":
        return f"sqrt({''.join(inner)})"
    return "".join(inner) + {"mtd": "&", "mtr": ";"}.get(name, "")


@pytest.fixture(scope="module")
def mathjax(chromium, tmp_path_factory):
    """A function that gives MathJax's MathML of formulas."""
    package = importlib.import_module("sphinx-mathjax-offline")
    script = Path(package.__file__).parent / "static/mathjax/tex-svg.js"
    page = tmp_path_factory.mktemp("mathjax") / "page.html"
    page.write_text(
        "<!doctype html><script>window.MathJax = "
        "{startup: {typeset: false}}</script>"
        f'<script src="{script.as_uri()}"></script>'
    )
    window = chromium.new_page()
    window.goto(page.as_uri())
    window.wait_for_function("() => !!window.MathJax?.tex2mml")
    yield lambda all_of_them: window.evaluate(
        "all => all.map(tex => MathJax.tex2mml(tex))", all_of_them
    )
    window.close()


def test_every_formula_of_the_book_is_what_mathjax_reads(html, mathjax):
    found = set()
    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        found |= {entities.unescape(tex) for tex in FORMULA.findall(text)}
    assert len(found) > 400
    all_of_them = sorted(found)
    theirs = mathjax(all_of_them)
    different = [
        (tex, shape(formulas.mathml(tex)), shape(other))
        for tex, other in zip(all_of_them, theirs, strict=True)
        if shape(formulas.mathml(tex)) != shape(other)
    ]
    assert different == []


def test_a_wrong_formula_would_be_found(mathjax):
    (other,) = mathjax([r"\frac{A_X}{B}"])
    assert shape(formulas.mathml(r"\frac{A_X}{B}")) == shape(other)
    for wrong in (
        r"\frac{A}{B}",
        r"\frac{B}{A_X}",
        r"A_X / B",
        r"\frac{A^X}{B}",
    ):
        assert shape(formulas.mathml(wrong)) != shape(other)


def test_subscripts_that_are_axes_have_their_class():
    text = formulas.mathml(r"A[I_{XY}, J_Z] \cdot V_j")
    assert text.count('class="axis-') == 3
    assert '<mi class="axis-z">Z</mi>' in text
    assert 'class="axis' not in formulas.mathml(r"X \cdot Y_{X-1}")


def test_the_columns_of_an_array_keep_their_sides():
    text = formulas.mathml(
        r"\begin{array}{lr} a & b \\ c & d \end{array}", True
    )
    assert text.count("text-align: left") == 2
    assert text.count("text-align: right") == 2


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"a \qquad\qquad b_{c}", ["a", "b_{c}"]),
        (r"\left( a \qquad b \right)", [r"\left( a \qquad b \right)"]),
        (r"\{a\} \qquad b", [r"\{a\}", "b"]),
        (r"\text{a \qquad b}", [r"\text{a \qquad b}"]),
    ],
)
def test_a_wide_space_parts_formulas_outside_of_brackets(tex, parts):
    assert formulas.pieces(tex) == parts


def test_a_prime_is_an_exponent_and_an_apostrophe_is_none():
    tex = formulas.PRIME.sub(formulas.primed, r"F' = \text{the chip's}")
    assert tex == r"F^{\prime} = \text{the chip's}"


@pytest.mark.parametrize("tex", [r"\nonsense{a}", r"\frac{a", r"\begin{box}a"])
def test_what_cannot_be_set_is_shown_in_the_error(tex):
    with pytest.raises(ValueError, match="cannot set the formula") as caught:
        formulas.mathml(tex)
    assert repr(tex) in str(caught.value)
