"""Gives the cells of a text their form: four kinds, captions, numbers.

A code cell is an idea, which is open, unless a tag in its header says that it
is a figure (its code is folded), evidence (folded under a line that says what
was checked) or set-up (folded). The same on the page and in JupyterLab. A text
in which no cell has such a tag is left as it is.
"""

import contextlib
import re

import nbformat

KINDS = ("figure", "evidence", "setup")
# What may be said of a cell beside its kind.
OPEN, ANSWER, RAISES, WIDE = "open", "answer", "raises-exception", "wide"
CAPTION = "caption"  # the tag of the Markdown cell below a figure
# What a header may hold, for each kind; "idea" is the cell without a kind.
FIELDS = {
    "idea": (),
    "figure": ("alt", "caption", "name", "width"),
    "evidence": ("checked",),
    "setup": (),
}
TAGS = {
    "idea": {ANSWER, RAISES},
    "figure": set(),
    "evidence": {RAISES},
    "setup": {OPEN},
}
# Stands in the first cell of every notebook, for whoever opens it elsewhere.
DOOR = "# Does an import fail? `make lab` starts JupyterLab with all it needs."
# The first line of a folded cell is all that JupyterLab shows of it.
MAX_CHECKED = 80 - len("# Checked: ")
FIRST_LINE = re.compile(
    r"\A# (Checked: .*|Set-up|Answer|(Figure|Table)( [\d.]+)?|Check, .*)\n"
)
LABELS = {"fig": "Figure", "tab": "Table", "eq": "Equation"}
NAME = re.compile(r"(fig|tab)-[a-z0-9]+(-[a-z0-9]+)*")
EQUATION = re.compile(
    r"^(?P<indent> *)\$\$(?P<formula>[^$]+)\$\$ *\((?P<name>eq-[a-z0-9-]+)\)$",
    re.MULTILINE,
)
LINK = re.compile(
    r"\[(?P<words>[^\[\]]*)\]\(#(?P<name>(?P<what>fig|tab|eq)-[^()\s]+)\)"
)
FENCE = re.compile(r"(^ *(```+|~~~+).*?^ *\2`*~*$)", re.MULTILINE | re.DOTALL)


def kind(cell):
    """The kind of a code cell: "idea", "figure", "evidence" or "setup"."""
    tags = cell.metadata.get("tags", [])
    return next((tag for tag in tags if tag in KINDS), "idea")


def is_open(cell):
    """Whether a reader sees the code of a code cell without a click."""
    tags = set(cell.metadata.get("tags", []))
    if "nbgrader" in cell.metadata or ANSWER in tags:
        return not tags & {"hide-input", "hide-cell"}
    return kind(cell) == "idea" or OPEN in tags


def has_kinds(cells):
    """Whether any code cell of a text says what kind it is."""
    return any(
        kind(cell) != "idea" for cell in cells if cell.cell_type == "code"
    )


def formed(cells, chapter=None):
    """The cells of a notebook, made from those of its text.

    Figures, tables and equations are numbered in order, and links to them read
    "Figure 4.2".

    cells    as read, in order; they are changed
    chapter  its number, or None where there is none
    returns  list of cells; below each figure with a caption stands another,
             with the caption
    raises   ValueError that names the cell
    """
    if not has_kinds(cells):
        return cells
    made, places = [], Numbers(chapter)
    for position, cell in enumerate(cells):
        with naming(position, cell):
            if cell.cell_type == "code":
                new = code_cells(cell, places)
            else:
                cell.source = outside_fences(cell.source, places.equations)
                new = [cell]
        made += [(position, each) for each in new]
    for position, cell in made:
        if cell.cell_type == "markdown":
            with naming(position, cell):
                cell.source = outside_fences(cell.source, places.links)
    return [cell for _, cell in made]


def at_the_door(cells):
    """Let the cell that sets the number of devices say where it runs.

    cells    of a notebook, in order; the first such cell is changed
    """
    for cell in cells:
        if cell.cell_type == "code" and "jax_num_cpu_devices" in cell.source:
            title = FIRST_LINE.match(cell.source)
            at = title.end() if title else 0
            cell.source = f"{cell.source[:at]}{DOOR}\n{cell.source[at:]}"
            return


@contextlib.contextmanager
def naming(position, cell):
    """Let a ValueError name the cell at `position` and how it begins."""
    begins = cell.source.partition("\n")[0][:40]
    try:
        yield
    except ValueError as error:
        raise ValueError(f"cell {position} ({begins!r}): {error}") from None


def outside_fences(source, change):
    """`source` with `change` applied to what stands outside code fences."""
    parts, end = [], 0
    for fence in FENCE.finditer(source):
        parts += [change(source[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(source[end:])])


class Numbers:
    """The figures, tables and equations of a chapter, and their numbers."""

    def __init__(self, chapter):
        self.chapter = chapter
        self.labels = {}
        self.last = dict.fromkeys(LABELS, 0)

    def add(self, name):
        """Give `name`, such as "fig-ring", the next number; returns it."""
        if name in self.labels:
            raise ValueError(f"the name {name} is used twice")
        what = name.partition("-")[0]
        self.last[what] += 1
        number = str(self.last[what])
        if self.chapter is not None:
            number = f"{self.chapter}.{number}"
        self.labels[name] = f"{LABELS[what]} {number}"
        return number

    def equations(self, source):
        """Number the formulas of `source` that have a name."""

        def tagged(match):
            number = self.add(match["name"])
            formula = match["formula"].rstrip()
            anchor = f'{match["indent"]}<a id="{match["name"]}"></a>'
            text = f"$${formula} \\tag{{{number}}}$$"
            return f"{anchor}\n\n{match['indent']}{text}"

        return EQUATION.sub(tagged, source)

    def links(self, source):
        """Write the numbers into the links of `source`."""

        def linked(match):
            name, words = match["name"], match["words"]
            if name not in self.labels:
                known = ", ".join(self.labels) or "none"
                raise ValueError(f"#{name} names nothing; there is {known}")
            label = LABELS[match["what"]].lower()
            if words.lower() in ("", label):
                words = self.labels[name]
            return f"[{words}](#{name})"

        return LINK.sub(linked, source)


def code_cells(cell, places):
    """A code cell in the form of its kind, and the caption below it.

    Takes from the header what only this program reads.
    """
    if "nbgrader" in cell.metadata:
        return [cell]
    what, tags = kind(cell), set(cell.metadata.pop("tags", []))
    refuse_unknown(cell, what, tags)
    head = {name: cell.metadata.pop(name, None) for name in FIELDS[what]}
    cell.metadata["tags"] = sorted(tags)
    if what == "figure":
        return [cell, *figure(cell, head, places)]
    if what == "evidence":
        fold(cell, checked_line(head["checked"]))
    elif what == "setup" and OPEN not in tags:
        fold(cell, "Set-up")
    elif ANSWER in tags:
        fold(cell, "Answer", show="Show the answer", hide="Hide the answer")
    if not cell.metadata["tags"]:
        del cell.metadata["tags"]
    return [cell]


def refuse_unknown(cell, what, tags):
    """Raise ValueError for a tag or a field that the kind does not have."""
    kinds = sorted(tags & set(KINDS))
    if len(kinds) > 1:
        raise ValueError(f"a cell has one kind, not {' and '.join(kinds)}")
    if wrong := sorted(tags - {what} - TAGS[what]):
        raise ValueError(
            f"the tag {wrong[0]!r} is unknown for kind {what!r}; known are "
            f"{', '.join(sorted({*KINDS, *TAGS[what]}))}"
        )
    if wrong := sorted(set(cell.metadata) - set(FIELDS[what])):
        known = ", ".join(FIELDS[what]) or "none"
        raise ValueError(
            f"the header field {wrong[0]!r} is unknown for kind {what!r}; "
            f"known are: {known}"
        )


def fold(cell, first, show=None, hide=None, output=True):
    """Fold a cell under a line in words.

    first   the comment that becomes the first line of the code
    show, hide  the words on the page, closed and opened; None: `first`
    output  fold what the cell shows, too
    """
    cell.source = f"# {first}\n" + cell.source.lstrip("\n")
    tags = {*cell.metadata["tags"], "hide-cell" if output else "hide-input"}
    cell.metadata["tags"] = sorted(tags)
    cell.metadata["jupyter"] = {"source_hidden": True}
    if output:
        cell.metadata["jupyter"]["outputs_hidden"] = True
    cell.metadata["mystnb"] = {
        "code_prompt_hide": hide or first,
        "code_prompt_show": show or first,
    }


def checked_line(words):
    """The line under which evidence is folded."""
    if not isinstance(words, str) or not words.strip():
        raise ValueError("evidence needs `checked`, a line that says of what")
    words = " ".join(words.split())
    if len(words) > MAX_CHECKED:
        raise ValueError(
            f"`checked` has {len(words)} characters, at most {MAX_CHECKED} "
            "fit on its line"
        )
    return f"Checked: {words}"


def figure(cell, head, places):
    """Fold the code of a figure; returns the cells that stand below it."""
    words = {
        field: " ".join(str(head[field] or "").split())
        for field in ("alt", "caption", "name")
    }
    refuse_figure(words, head["width"], cell.source)
    label, below = "Figure", []
    if name := words["name"]:
        places.add(name)
        label = places.labels[name]
        text = f'<a id="{name}"></a>**{label}.** {words["caption"]}'
        below = [nbformat.v4.new_markdown_cell(text)]
        below[0].metadata["tags"] = [CAPTION]
    if head["width"]:
        cell.metadata["tags"].append(WIDE)
    shown = label if below else "this output"
    show, hide = f"Show the code of {shown}", f"Hide the code of {shown}"
    fold(cell, label, show, hide, output=False)
    if words["alt"]:
        cell.metadata["mystnb"]["image"] = {"alt": words["alt"]}
    return below


def refuse_figure(words, width, source):
    """Raise ValueError where the header of a figure lacks something.

    words   dict: alt, caption and name, "" where there is none
    source  the code; what ends in plt.show() is a picture
    """
    missing = [field for field, text in words.items() if not text]
    if source.rstrip().endswith("plt.show()") and missing:
        raise ValueError(f"a picture needs `{missing[0]}`")
    if bool(words["caption"]) != bool(words["name"]):
        raise ValueError("`caption` and `name` stand together or not at all")
    if words["name"] and not NAME.fullmatch(words["name"]):
        raise ValueError(
            "`name` must be fig-... or tab-..., in small letters and digits "
            f"with hyphens between words; it is {words['name']!r}"
        )
    if width not in (None, WIDE):
        raise ValueError(f"`width` must be {WIDE}; it is {width!r}")
