"""Programs side by side, as they are written in two worlds."""

import ast
import re
import textwrap
from dataclasses import dataclass
from html import escape

__all__ = ["Programs", "programs", "without_docstrings"]

# On a page and in JupyterLab alike: two columns where both have room. A line
# that is too long goes on below, further to the right.
_BOX = "display:flex;flex-wrap:wrap;gap:0 1em"
_COLUMN = "flex:1 1 17em;min-width:0"
_TEXT = (
    "font-size:12px;margin:0;padding:0.7em;"
    "white-space:pre-wrap;overflow-wrap:anywhere"
)
_ON = 4  # characters by which a line that goes on stands to the right


def programs(**texts):
    """Programs beside each other, which Jupyter shows as a cell's last line.

    Where there is no room, as on a phone, they stand below each other.

    texts    title -> source of one or several functions; what a docstring says
             is left out
    returns  Programs
    raises   ValueError for no program
    source   chapter 19
    """
    if not texts:
        raise ValueError("programs needs a text, got none")
    return Programs(
        {
            title.replace("_", " "): without_docstrings(textwrap.dedent(text))
            for title, text in texts.items()
        }
    )


def without_docstrings(text):
    """The text of a program, less what its docstrings say.

    text     source that Python can read
    returns  str
    """
    lines = text.rstrip().splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and ast.get_docstring(node):
                span = slice(first.lineno - 1, first.end_lineno)
                lines[span] = [None] * (span.stop - span.start)
    return "\n".join(line for line in lines if line is not None)


@dataclass(frozen=True)
class Programs:
    """Texts of programs by title."""

    texts: dict

    def __repr__(self):
        return "\n\n".join(
            f"{title}:\n\n{textwrap.indent(text, '    ')}"
            for title, text in self.texts.items()
        )

    def _repr_html_(self):
        columns = "\n".join(
            f'<div style="{_COLUMN}"><p><b>{escape(title)}</b></p>'
            f'<pre style="{_TEXT}">{_lines(text)}</pre></div>'
            for title, text in self.texts.items()
        )
        return f'<div class="programs" style="{_BOX}">{columns}</div>'


def _lines(text):
    """Lines in HTML, each with its indentation."""
    shown = []
    for line in text.splitlines():
        deep = len(line) - len(line.lstrip()) + _ON
        style = f"display:block;padding-left:{deep}ch;text-indent:-{deep}ch"
        code, mark, comment = line.partition("  # ")
        words = re.sub(r"\((?!\))", "(<wbr>", escape(code)) or " "
        if mark:  # a comment stays whole
            aside = escape(mark[1:] + comment)
            words += f' <span style="white-space:nowrap">{aside}</span>'
        shown.append(f'<span style="{style}">{words}</span>')
    return "".join(shown)
