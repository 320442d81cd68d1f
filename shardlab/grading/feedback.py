"""Feedback pages: what was asked, what was given, which check failed and why.

A page is one file that asks for nothing: no script, no link, no font, no
picture but those in the file itself. What a student wrote stands in it as
plain text. The released notebook's text is shown, so no hidden test is.
"""

import base64
import functools
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import jinja2
import mistune
from markupsafe import Markup, escape

from shardlab.grading import mathml, pictures, tables

__all__ = [
    "active",
    "notice",
    "page",
    "picture_of",
    "plain",
    "question_html",
    "write",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import nh3
    from nbgrader import utils

TAGS = set(
    re.findall(
        r"\w+",
        "p h1 h2 h3 h4 h5 h6 em strong code pre ul ol li blockquote hr br "
        "table thead tbody tr th td details summary sub sup del span div",
    )
)
# Elements of a formula, and what may be said of them.
MATHML = set(
    re.findall(
        r"\w+",
        "math mrow mi mn mo mtext mspace mfrac msqrt mroot mstyle mpadded "
        "mphantom menclose msub msup msubsup munder mover munderover mtable "
        "mtr mtd",
    )
)
SAID = {
    **dict.fromkeys(MATHML, {"class", "mathvariant", "stretchy", "form"}),
    "math": {"display", "alttext"},
    "mo": {"stretchy", "form", "lspace", "rspace", "minsize", "maxsize"},
    "mspace": {"width"},
    "mtd": {"style"},
    "span": {"class"},
    "div": {"class"},
}
MAX_FORMULA = 2_000
HIDDEN = re.compile(
    r"^[ \t]*### BEGIN HIDDEN TESTS.*?(### END HIDDEN TESTS[^\n]*|\Z)",
    re.DOTALL | re.MULTILINE,
)
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
FENCED = re.compile(r"(`{3,})text\n(.*)\n\1", re.DOTALL)
MAX_TEXT = 25_000
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<header>
<h1>{{ title }}</h1>
{% if total %}<p class="total">{{ total }}</p>
{% endif %}
{% for line in lines %}<p>{{ line }}</p>
{% endfor %}{% if parts %}<table>
<tr><th>Check</th><th>Points</th><th>Result</th></tr>
{% for part in parts if part.most is not none %}
<tr class="{{ part.mark }}"><td>{{ part.name }}</td>
<td>{{ part.points }}</td><td>{{ part.verdict }}</td></tr>
{% endfor %}</table>{% endif %}

</header>
<main>
{% for part in parts %}
<section class="{{ part.kind }} {{ part.mark }}">
{% if part.label %}<h2>{{ part.label }}</h2>
{% endif %}
{% if part.html %}{{ part.html }}{% endif %}
{% if part.kind == "check" %}
<p class="verdict">{{ part.verdict }}</p>
<details><summary>What was checked</summary><pre>{{ part.text }}</pre></details>
{% elif part.text %}<pre>{{ part.text }}</pre>
{% endif %}
{% for text in part.texts %}<pre class="output">{{ text }}</pre>
{% endfor %}
{% for picture in part.pictures %}
<img alt="a picture that this cell drew"
src="data:image/png;base64,{{ picture }}">
{% endfor %}
{% if part.comment %}<p class="comment">{{ part.comment }}</p>{% endif %}
</section>
{% endfor %}
</main>
</body>
</html>
"""
TEMPLATE = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(
    PAGE
)
STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 50rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff;
       overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 0 0 .5rem; }
pre { overflow-x: auto; white-space: pre-wrap; background: #f4f4f4;
      padding: .5rem; margin: .5rem 0; font-size: .875rem; }
pre.output { background: #fff; border-left: 3px solid #ccc; }
.total { font-size: 1.25rem; font-weight: bold; }
table { border-collapse: collapse; }
section table { display: block; overflow-x: auto; }
td, th { text-align: left; padding: .125rem .75rem .125rem 0;
      vertical-align: top; overflow-wrap: break-word; }
th, td:nth-child(2) { white-space: nowrap; }
td:first-child { max-width: 40vw; }
@media (max-width: 30rem) { body { margin: 1rem auto; font-size: 15px; } }
section { margin: 1rem 0; }
section.answer, section.check, section.extra { border: 1px solid #bbb;
      border-left-width: 6px; padding: .5rem .75rem; }
section.check.lost { border-left-color: #a4262c; }
section.check.full { border-left-color: #1a7f37; }
.comment { border-left: 3px solid #555; padding-left: .5rem;
      white-space: pre-wrap; }
div.math { overflow-x: auto; } img { max-width: 100%; }
@media (max-width: 30rem) { span.math { display: inline-block;
      max-width: 100%; overflow-x: auto; vertical-align: middle; } }
"""


class _Part(NamedTuple):
    """What a page shows of one cell.

    kind      "asked", "given", "answer", "extra" or "check"
    label     its heading, or ""
    text      plain text
    html      our own text, rendered
    texts     what the cell printed
    pictures  what it drew, PNG in base64
    name      the check's name
    points    "1 of 2"
    most      the best possible points, None where there are no points
    verdict   a sentence
    mark      "full" or "lost", or "" where there are no points
    comment   what a person remarked
    """

    kind: str
    label: str = ""
    text: str = ""
    html: str = ""
    texts: tuple = ()
    pictures: tuple = ()
    name: str = ""
    points: str = ""
    most: float | None = None
    verdict: str = ""
    mark: str = ""
    comment: str = ""


def page(title, lines, notebook, points, comments):
    """A feedback page.

    title     text
    lines     texts that stand below the total, such as when it was handed in
    notebook  the autograded notebook
    points    dict: name of a cell -> gradebook.Cell
    comments  dict: name of an answer cell -> text
    returns   str, HTML
    """
    parts = [_part(cell, points, comments) for cell in notebook.cells]
    total = sum(cell.score for cell in points.values())
    most = sum(cell.most for cell in points.values())
    # Only rendered Markdown comes as HTML; `question_html` has cleaned it.
    shown = [one._replace(html=Markup(one.html)) for one in parts]
    return TEMPLATE.render(
        title=plain(title),
        lines=[plain(line) for line in lines],
        policy=POLICY,
        style=STYLE,
        total=f"{total:g} of {most:g} points",
        parts=shown,
    )


def notice(title, lines):
    """A feedback page for work that was not graded, and why.

    title  text
    lines  sentences
    """
    return TEMPLATE.render(
        title=plain(title),
        lines=[plain(line) for line in lines],
        policy=POLICY,
        style=STYLE,
        total="",
        parts=[],
    )


def _part(cell, points, comments):
    """What a page shows of a cell of the autograded notebook."""
    name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    texts, drawn = _outputs(cell)
    more = {"texts": tuple(texts), "pictures": tuple(drawn), "name": name}
    if utils.is_solution(cell):
        text = (
            _unfenced(cell.source) if cell.cell_type != "code" else cell.source
        )
        more |= _by_hand(points.get(name)) | {
            "comment": plain(comments.get(name))
        }
        return _Part("answer", f"Your answer: {name}", plain(text), **more)
    if utils.is_grade(cell):
        return _check(cell, name, points.get(name))
    if cell.cell_type == "markdown":
        return _Part("asked", html=question_html(cell.source))
    if cell.cell_type != "code":
        return _Part("given", text=plain(cell.source))
    return _Part("extra", "A code cell", plain(cell.source), **more)


def _by_hand(points):
    """The points of an answer that a person grades, if one does."""
    if points is None:
        return {}
    waits = points.auto is None and points.manual is None
    return {
        "points": f"{points.score:g} of {points.most:g}",
        "most": points.most,
        "verdict": "not graded yet" if waits else "graded by a person",
        "mark": "full" if points.score >= points.most else "lost",
    }


def _check(cell, name, points):
    """What a page shows of a check: its visible text, and what it found."""
    score, most = (points.score, points.most) if points else (0.0, 0.0)
    verdict = _verdicts(cell) or "passed"
    if points and points.manual is not None:
        verdict = f"{verdict} (points given by a person)"
    return _Part(
        "check",
        f"Check {name}: {score:g} of {most:g}",
        plain(HIDDEN.sub("", cell.source)),
        name=name,
        points=f"{score:g} of {most:g}",
        most=most,
        verdict=verdict,
        mark="full" if score >= most else "lost",
    )


def _verdicts(cell):
    """Why a check failed, "" if it passed; never its text."""
    return plain(
        "\n".join(
            f"{output.ename}: {output.evalue}"
            for output in cell.outputs
            if output.output_type == "error"
        )
    )


def _outputs(cell):
    """What a cell printed, and the pictures that it drew, in base64."""
    texts, drawn = [], []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            texts.append(plain(output.text))
        elif output.output_type == "error":
            texts.append(plain("\n".join(output.traceback)))
        elif picture := picture_of(output):
            drawn.append(picture)
        else:
            texts.append(plain(output.get("data", {}).get("text/plain", "")))
    return [text for text in texts if text], drawn


def picture_of(output):
    """The picture of an output in base64, None for anything else."""
    try:
        encoded = output.get("data", {}).get("image/png", "")
        data = base64.b64decode(encoded, validate=True)
    except (ValueError, TypeError):
        return None
    bounded = pictures.bounded(data)
    return base64.b64encode(bounded).decode() if bounded else None


def plain(text):
    """Text without what steers a terminal, and not without end."""
    text = COLOURS.sub("", text if isinstance(text, str) else "")
    kept = tables.UNPRINTABLE.sub("", text[:MAX_TEXT])
    return kept + ("\n... and more" if len(text) > MAX_TEXT else "")


def _unfenced(text):
    """A written answer as it was typed."""
    match = FENCED.fullmatch(text)
    return match[2] if match else text


@functools.lru_cache(maxsize=1000)
def question_html(text):
    """Our own text, rendered; whatever could be active is taken out.

    text     Markdown
    returns  HTML of TAGS and formulas; a link keeps its words only
    """
    rendered = mistune.create_markdown(escape=False, plugins=["table", "math"])
    rendered.renderer.register("inline_math", _inline_math)
    rendered.renderer.register("block_math", _block_math)
    return nh3.clean(
        rendered(HIDDEN.sub("", plain(text))),
        tags=TAGS | MATHML,
        attributes=SAID,
        filter_style_properties={"text-align"},
        url_schemes=set(),
        link_rel=None,
    )


def _inline_math(renderer, tex):
    """A formula within a line, as mistune calls it."""
    return f'<span class="math">{_formula(tex)}</span>'


def _block_math(renderer, tex):
    """A formula in a line of its own."""
    return f'<div class="math">{_formula(tex, True)}</div>\n'


def _formula(tex, block=False):
    """A formula as MathML; as it was typed where it cannot be set."""
    if len(tex) > MAX_FORMULA:
        return escape(tex)
    try:
        return mathml.mathml(tex, block)
    except Exception:  # a converter that meets what nobody writes
        return escape(tex)


def write(folder, student, assignment, text):
    """Write a page to where nbgrader would.

    folder      of feedback
    student     the identifier
    assignment  the name
    text        HTML
    """
    path = Path(folder) / student / assignment / f"{assignment}.html"
    tables.replace(path, text.encode("utf-8", "replace"))


def active(notebook):
    """What in an autograded notebook could be live in a browser.

    Formgrader shows these notebooks in the instructor's JupyterLab.

    notebook  the autograded notebook
    returns   list of sentences, [] when it holds text and pictures only
    """
    found = []
    for number, cell in enumerate(notebook.cells, 1):
        if utils.is_solution(cell) and cell.cell_type == "markdown":
            given = FENCED.fullmatch(cell.source)
            if not given and not _is_unchanged(cell):
                found.append(f"cell {number} is a written answer as it came")
        for output in cell.get("outputs", ()):
            kinds = set(output.get("data", {}))
            if output.output_type not in ("stream", "error") and (
                kinds != {"image/png"} or not picture_of(output)
            ):
                found.append(f"cell {number} shows {sorted(kinds)}")
        if cell.get("attachments"):
            found.append(f"cell {number} has attachments")
    return found


def _is_unchanged(cell):
    """Whether an answer cell still has the text that it was given out with."""
    checksum = cell.metadata.nbgrader.get("checksum")
    return checksum == utils.compute_checksum(cell)
