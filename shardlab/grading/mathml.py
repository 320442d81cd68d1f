"""Formulas as MathML, for the book and for feedback; the browser draws them."""

import re
from html import unescape
from xml.etree import ElementTree

from docutils.utils.math import MathError, latex2mathml

__all__ = ["mathml"]

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# What docutils does not know, in words that it does.
WORDS = {
    r"\dots": r"\ldots",
    r"\iff": r"\;\Longleftrightarrow\;",
    r"\implies": r"\;\Longrightarrow\;",
}
# Between signs, dots stand at the height of the signs.
BETWEEN = re.compile(r"\\dots(?=\s*(?:[-+*=<>]|\\(?:cdot|times|le|ge)\b))")
WORD = re.compile("|".join(re.escape(w) + r"(?![a-zA-Z])" for w in WORDS))
ARRAY = re.compile(r"\\begin\{array\}\{([lcr| ]*)\}")
SIDES = {"l": "left", "c": "center", "r": "right"}
AXES = {"X": "axis-x", "Y": "axis-y", "Z": "axis-z"}
SCRIPTS = ("msub", "msubsup", "munder", "munderover")

ElementTree.register_namespace("", NAMESPACE)


def mathml(tex, block=False):
    """One formula as a <math> element.

    tex      LaTeX without its dollars
    block    whether it stands in a line of its own
    returns  str. A subscript that is a mesh axis has the axis's class
    raises   ValueError that shows the formula, when it cannot be set
    """
    bare = re.sub(r"\\.", "", tex)
    if bare.count("{") != bare.count("}"):
        raise ValueError(f"cannot set the formula {tex!r}: braces do not pair")
    sides = [re.sub("[^lcr]", "", found) for found in ARRAY.findall(tex)]
    known = BETWEEN.sub(r"\\cdots ", tex.strip())
    known = WORD.sub(lambda found: WORDS[found[0]], known)
    known = ARRAY.sub(r"\\begin{matrix}", known)
    known = known.replace(r"\end{array}", r"\end{matrix}")
    if known[:1] in "_^":
        known = "{}" + known
    try:
        text = latex2mathml.tex2mathml(known, as_block=block)
    except (MathError, IndexError, SyntaxError) as error:
        raise ValueError(f"cannot set the formula {tex!r}: {error}") from None
    # Names such as &nbsp; are of HTML; XML has five.
    text = re.sub(r"&(?!amp;|lt;|gt;|quot;|apos;)\w+;", _letter, text)
    root = ElementTree.fromstring(text)
    for node in root.iter():
        # The converter indents its text; a browser would read the blanks.
        if len(node) and not (node.text or "").strip():
            node.text = None
        if not (node.tail or "").strip():
            node.tail = None
    for node in root.iter(f"{{{NAMESPACE}}}mo"):
        if node.text == "|":  # a bar around a size, not a sign between two
            node.set("lspace", "0")
            node.set("rspace", "0")
    _align(root, sides)
    _colour(root)
    root.set("alttext", tex.strip())
    return ElementTree.tostring(root, encoding="unicode")


def _letter(entity):
    """The letter that a name of HTML stands for."""
    return unescape(entity[0])


def _name(node):
    """The name of an element without its namespace."""
    return node.tag.rpartition("}")[2]


def _align(root, sides):
    """Give the columns of the first arrays the sides that were asked for."""
    tables = [node for node in root.iter() if _name(node) == "mtable"]
    for table, columns in zip(tables, sides, strict=False):
        for row in table:
            for cell, side in zip(row, columns, strict=False):
                cell.set("style", f"text-align: {SIDES[side]}")


def _colour(root):
    """Give every subscript that is a mesh axis the class of its axis."""
    for node in root.iter():
        if _name(node) not in SCRIPTS:
            continue
        letters = [part for part in node[1].iter() if (part.text or "").strip()]
        words = [part.text.strip() for part in letters]
        if words and all(
            set(word) <= set("XYZ,\u2062\u2063") for word in words
        ):
            for part, word in zip(letters, words, strict=True):
                if word in AXES:
                    part.set("class", AXES[word])
