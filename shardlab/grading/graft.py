"""A student's answers in our notebook: nothing else of theirs is taken over."""

import copy

from nbformat.v4 import new_code_cell
from nbgrader import utils

__all__ = [
    "MAX_CELL",
    "MAX_EXTRA",
    "answer",
    "answers_by_cell",
    "grafted",
    "remarks",
    "typed_over",
]

MAX_CELL = 100_000
MAX_EXTRA = 100


def grafted(template, submission):
    """Our notebook with the answers and the further code of a submission.

    template    the released notebook, an nbformat 4 notebook
    submission  the student's
    returns     a notebook with the cells of `template` in their order; an
                answer cell holds the student's text, and code cells that the
                student added stand after the cell that they followed. No
                metadata, output, attachment or text cell of the submission is
                in it. What was given out to be filled in is not run where the
                submission lacks it: it would take back an answer that stands
                in a cell of the student's own. Where it has more cells of
                its own than are run, a last one says how many are missing.
    """
    answers, every = answers_by_cell(template, submission)
    extra = _first_of(every)
    made = copy.deepcopy(template)
    made.cells = [_added(text) for text in extra.get(-1, ())]
    for number, cell in enumerate(copy.deepcopy(template).cells):
        _bare(cell)
        if utils.is_solution(cell):
            missing = cell.source if utils.is_grade(cell) else ""
            cell.source = answer(cell, answers.get(number, missing))
        made.cells.append(cell)
        made.cells += [_added(text) for text in extra.get(number, ())]
    made.cells += [_added(f"# {said}") for said in _left_out(every)]
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"
    return made


def answers_by_cell(template, submission):
    """What a submission brings, by the number of our cell.

    template    the released notebook
    submission  the student's
    returns  (dict: number of an answer cell -> the student's text,
              dict: number -> list of code texts that follow this cell, with -1
              for those before all others). An answer that stands in several
              cells of one name, as when a cell is split or copied, is the
              first of them, and the others follow it as code; the parts of a
              written one are put together. A cell of ours that is no check and
              was pasted once more is run there, too.
    """
    places, answers, extra, seen = _Places(template), {}, {}, set()
    last, blank = -1, {}
    for cell in submission.cells:
        text, place = cell.source, places.of(cell)
        if place in seen:
            extra.setdefault(last, []).append(_shortened(text))
            continue
        # Text without a name proves little: it never leads back.
        last = last if place is None else places.after(last, place, cell)
        if place is not None and not places.asks(place):
            seen |= {place} - places.checks
            continue
        if place is not None and text == template.cells[place].source:
            blank[place] = text
        elif place is not None and place not in answers:
            answers[place] = _shortened(text)
        elif place is not None and places.is_written(place):
            answers[place] = _shortened(f"{answers[place]}\n\n{text}")
        elif cell.cell_type == "code" and text.strip():
            extra.setdefault(last, []).append(_shortened(text))
    return blank | answers, extra


def remarks(template, submission):
    """What an instructor should know of how a submission was taken over.

    template    the released notebook
    submission  the student's
    returns     list of sentences
    """
    answers, extra = answers_by_cell(template, submission)
    said = _left_out(extra)
    if not answers and any(map(utils.is_solution, template.cells)):
        said.append(
            "it has none of the answer cells of this assignment: it may be "
            "the notebook of another one"
        )
    return said


def typed_over(template, submission):
    """The names of our checks into whose cells something was typed.

    template    the released notebook
    submission  the student's
    returns     set of grade_ids; what stands there is never read
    """
    places, found = _Places(template), set()
    for cell in submission.cells:
        place = places.of(cell)
        if place is None or places.asks(place):
            continue
        ours = template.cells[place]
        lines = {line.strip() for line in ours.source.splitlines()}
        typed = {line.strip() for line in cell.source.splitlines()} - lines
        code = [line for line in typed if line and line[0] != "#"]
        if code and utils.is_grade(ours):
            found.add(_grade_id(ours))
    return found


def _left_out(extra):
    """The sentence about cells that are not run, in a list; [] without any."""
    number = sum(map(len, extra.values()))
    if number <= MAX_EXTRA:
        return []
    return [
        f"of {number} code cells of the student's own, {number - MAX_EXTRA} "
        f"are left out: the first {MAX_EXTRA} are run"
    ]


def _first_of(extra):
    """The first MAX_EXTRA of the cells in a dict of lists of them."""
    left, kept = MAX_EXTRA, {}
    for place in sorted(extra):
        kept[place] = extra[place][:left]
        left -= len(kept[place])
    return kept


class _Places:
    """Which cell of ours a submitted cell stands for."""

    def __init__(self, template):
        self.template = template
        self.by_name, self.by_text = {}, {}
        for number, cell in enumerate(template.cells):
            if name := _grade_id(cell):
                self.by_name[name] = number
            self.by_text.setdefault((cell.cell_type, cell.source), number)
        self.checks = {  # and whatever is no code: it is there once
            number
            for number, cell in enumerate(template.cells)
            if utils.is_grade(cell) or cell.cell_type != "code"
        }

    def of(self, cell):
        """The number of our cell, or None for one that the student added."""
        if (name := _grade_id(cell)) in self.by_name:
            return self.by_name[name]
        return self.by_text.get((cell.cell_type, cell.source))

    def after(self, last, number, cell):
        """Which cell of ours precedes what follows a submitted cell."""
        return number if _grade_id(cell) in self.by_name else max(last, number)

    def is_written(self, number):
        """Whether our cell takes text and no code."""
        return self.template.cells[number].cell_type != "code"

    def asks(self, number):
        """Whether our cell is one that takes an answer."""
        return utils.is_solution(self.template.cells[number])


def _grade_id(cell):
    """The name that nbgrader gave a cell, or None."""
    mark = cell.metadata.get("nbgrader")
    name = mark.get("grade_id") if isinstance(mark, dict) else None
    return name if isinstance(name, str) else None


def _shortened(text):
    """A cell's text, or, where it is longer than any answer, an error."""
    if len(text) <= MAX_CELL:
        return text.encode(errors="replace").decode()
    return f"raise ValueError('this cell had {len(text)} characters')"


def _added(text):
    """A code cell with a student's text and nothing else."""
    return new_code_cell(text)


def _bare(cell):
    """Take from a cell of ours what only a run or a viewer would need."""
    mark = cell.metadata.get("nbgrader")
    cell.metadata.clear()
    if mark:
        cell.metadata["nbgrader"] = mark
    cell.pop("attachments", None)
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None


def answer(cell, text):
    """The text of an answer cell; a written answer is fenced in.

    Written answers are shown in the instructor's browser. As a block of plain
    text they show as they were typed, and no mark-up in them is live. Left as
    it was given out, a cell keeps its text, and counts as no response.
    """
    if cell.cell_type == "code" or text == cell.source:
        return text
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"
