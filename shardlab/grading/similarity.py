"""Answers that are too alike, or that ask the book's own instruments.

The published solutions can be handed in as they are, and nothing prevents it.
So every answer is compared with them and with those of the others, after
names, comments and spaces have been taken out of account. What is found is a
reason to talk to somebody, and no proof: short answers are alike by nature.
"""

import builtins
import collections
import io
import keyword
import re
import tokenize
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

__all__ = ["Finding", "findings", "own", "tokens"]

LEAST_TOKENS = 40
MAX_TOKENS = 2000
ALIKE = 0.9
# Shared by more of the class than this, an answer is what one writes; unless
# it is so long that two people would not write it alike.
COMMON, LONG_TOKENS = 1 / 3, 80
# The parts of the library that compute what the questions ask for.
INSTRUMENTS = frozenset(
    {
        "agreement",
        "authoring",
        "cost",
        "count",
        "evidence",
        "memory",
        "pipeline",
        "plan",
        "ring",
        "strategies",
    }
)
# Words, and single characters that are none: read in one pass.
WORDS = re.compile(r"\w+|[^\w \t]")
# Comments and strings; one that is not closed ends where its line does, or
# with three quotes, where the text does.
COMMENTS = re.compile(
    r"""#[^\n]*|(?P<string>(?P<three>\"{3}|'{3})(?:[^\\]|\\.)*?(?:(?P=three)|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)""",
    re.DOTALL,
)
# No line of an answer is longer. What follows is not read.
MAX_LINE = 1000
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
OUTLINE = {
    tokenize.NEWLINE: "\n",
    tokenize.INDENT: "\t",
    tokenize.DEDENT: "\b",
}
KEPT = set(keyword.kwlist) | set(dir(builtins))


class Finding(NamedTuple):
    """Something to look at.

    assignment  the name
    question    the answer cell
    kind        "published", "alike" or "instrument"
    students    identifiers
    likeness    from 0 to 1, of the two that differ most
    tokens      how long the shortest of them is, without what was given out
    """

    assignment: str
    question: str
    kind: str
    students: tuple
    likeness: float
    tokens: int

    def __str__(self):
        who, what = (
            ", ".join(self.students),
            f"{self.assignment}, {self.question}",
        )
        if self.kind == "instrument":
            return f"{what}: {who} asks an instrument of the book for it"
        much = f"{100 * self.likeness:.0f} % alike over {self.tokens} tokens"
        if self.kind == "published":
            return f"{what}: {who} handed in a published answer ({much})"
        return f"{what}: {who} handed in the same answer ({much})"


def tokens(text):
    """The tokens of a program, with names numbered as they first appear.

    text     Python, whole or broken
    returns  list of str; comments, docstrings, line breaks within brackets and
             the choice of names make no difference to it
    """
    found, names, before = [], {}, "\n"
    for kind, word in _program_words(text):
        if kind == tokenize.NAME and word not in KEPT and before != ".":
            word = names.setdefault(word, f"name{len(names)}")
        if kind == tokenize.STRING and before in "\n\t\b":
            word = None  # a docstring, whose end of line is dropped below
        if word is None or (word == "\n" and before in "\n\t\b"):
            continue
        found.append(word)
        before = word
        if len(found) == MAX_TOKENS:
            break
    return found


def _program_words(text):
    """Pairs (kind, word) of a program, as far as it can be read."""
    whole = io.StringIO(text.replace("\0", "").expandtabs())
    lines = (f"{line.rstrip()[:MAX_LINE]}\n" for line in whole)
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type not in SKIPPED:
                yield token.type, OUTLINE.get(token.type, token.string)
    except (tokenize.TokenError, SyntaxError):
        return


def own(text, stub):
    """The tokens of an answer that were not given out with the question."""
    return _added(tokens(text), tokens(stub))


def _added(answer, given):
    """The tokens of an answer that are not among those given out."""
    return [
        token
        for step in Indel.opcodes(given, answer)
        if step.tag in ("insert", "replace")
        for token in answer[step.dest_start : step.dest_end]
    ]


def findings(assignment, stubs, published, answers):
    """What to look at in the answers to one assignment.

    assignment  the name
    stubs       dict: question -> the text that was given out
    published   dict: question -> list of published answers
    answers     dict: student -> (dict: question -> text, list of further code)
    returns     list of Finding
    """
    found = _instruments(assignment, stubs, answers)
    further = {
        student: [
            words for t in extra if len(words := tokens(t)) >= LEAST_TOKENS
        ]
        for student, (_, extra) in answers.items()
    }
    for question, stub in stubs.items():
        known = [own(text, stub) for text in published.get(question, ())]
        given = {
            student: own(texts[question], stub)
            for student, (texts, _) in answers.items()
            if question in texts
        }
        found += _compared(assignment, question, known, given)
        given = tokens(stub)
        cells = {
            student: [_added(words, given) for words in mine]
            for student, mine in further.items()
        }
        found += _beside(assignment, question, known, cells)
    return found


def _beside(assignment, question, known, further):
    """Published answers that stand in cells of a student's own.

    assignment  the name
    question    the answer cell
    known       lists of tokens of the published answers
    further     dict: student -> lists of tokens of cells of their own, without
                those that were given out
    returns     list of Finding
    """
    copies = [words for words in known if len(words) >= LEAST_TOKENS]
    mine = [
        (student, words)
        for student, cells in further.items()
        for words in cells
        if len(words) >= LEAST_TOKENS
    ]
    texts = _encoded([*(words for _, words in mine), *copies])
    best = {}
    near = _nearest(texts[: len(mine)], texts[len(mine) :])
    for (student, words), like in zip(mine, near, strict=True):
        if like >= ALIKE:
            best[student] = max(best.get(student, (0, 0)), (like, len(words)))
    return [
        Finding(assignment, question, "published", (student,), like, length)
        for student, (like, length) in best.items()
    ]


def _compared(assignment, question, known, given):
    """What to look at in the answers to one question.

    assignment  the name
    question    the answer cell
    known       lists of tokens of the published answers
    given       dict: student -> list of tokens
    returns     list of Finding
    """
    forms = collections.defaultdict(list)
    for student, words in given.items():
        if len(words) >= LEAST_TOKENS:
            forms[tuple(words)].append(student)
    copies = [tuple(words) for words in known if len(words) >= LEAST_TOKENS]
    shapes = list(forms)
    texts = _encoded([*shapes, *copies])
    mine, theirs = texts[: len(shapes)], texts[len(shapes) :]
    found, free = [], []
    for shape, near in zip(shapes, _nearest(mine, theirs), strict=True):
        if near >= ALIKE:
            rest = [assignment, question, "published", tuple(forms[shape])]
            found.append(Finding(*rest, near, len(shape)))
        else:
            free.append(shape)
    return found + _similar_answers(
        assignment, question, free, forms, len(given)
    )


def _encoded(shapes):
    """Lists of tokens as texts of one character a token."""
    numbers = {}
    return [
        "".join(
            chr(0x4E00 + numbers.setdefault(t, len(numbers))) for t in shape
        )
        for shape in shapes
    ]


def _nearest(texts, others):
    """How like each text is to that of the others that it is most like."""
    if not texts or not others:
        return [0.0] * len(texts)
    table = process.cdist(
        texts, others, scorer=Indel.normalized_similarity, score_cutoff=ALIKE
    )
    return [float(row.max()) for row in table]


def _similar_answers(assignment, question, shapes, forms, number):
    """Groups of students whose answers are alike."""
    if not shapes:
        return []
    texts = _encoded(shapes)
    table = process.cdist(
        texts, texts, scorer=Indel.normalized_similarity, score_cutoff=ALIKE
    )
    found = []
    for group in _groups(table >= ALIKE):
        students = sorted(s for i in group for s in forms[shapes[i]])
        length = min(len(shapes[i]) for i in group)
        common = len(students) > max(3, COMMON * number)
        if len(students) < 2 or (common and length < LONG_TOKENS):
            continue
        least = float(table[np.ix_(group, group)].min())
        rest = [assignment, question, "alike", tuple(students)]
        found.append(Finding(*rest, least, length))
    return found


def _groups(near):
    """Lists of numbers that are linked by a symmetric table of booleans."""
    left, found = set(range(len(near))), []
    while left:
        group, ahead = [], [min(left)]
        left.discard(ahead[0])
        while ahead:
            at = ahead.pop()
            group.append(at)
            more = {int(n) for n in np.flatnonzero(near[at])} & left
            left -= more
            ahead += sorted(more)
        found.append(sorted(group))
    return found


def _instruments(assignment, stubs, answers):
    """Whose code imports what computes the answers."""
    found = []
    for student, (texts, extra) in answers.items():
        cells = [*texts.items(), *(("a further cell", text) for text in extra)]
        for question, text in cells:
            given = stubs.get(question, "")
            if _asks(_without_comments(text)) and not _asks(given):
                rest = [assignment, question, "instrument", (student,)]
                found.append(Finding(*rest, 0.0, 0))
    return found


def _asks(text):
    """Whether a program names an instrument of the book, in one pass."""
    state, depth = "", 0
    for match in WORDS.finditer(text):
        word = match[0]
        if word == "shardlab":
            state, depth = "named", 0
        elif state == "named":
            state = {".": "part", "import": "list"}.get(word, "")
        elif state and word in INSTRUMENTS:
            return True
        elif state == "part":
            state = ""
        elif state == "list":
            depth += (word == "(") - (word == ")")
            more = word in ",()" or word.isidentifier()
            state = "list" if more or (depth and word == "\n") else ""
    return False


def _without_comments(text):
    """`text` without comments, and lines that are continued made one.

    A # sign in a string begins none. One pass, however the text is made:
    Python's own reader begins anew at each quote that none closes.
    """
    kept = COMMENTS.sub(lambda found: found["string"] or "", text)
    return kept.replace("\\\n", " ")
