"""What the style of a chapter demands, as far as a program can see it.

Each function takes a notebook and returns sentences, one for each fault.
"""

import ast
import re
from statistics import median, quantiles

import yaml

from tools import cells
from tools.text import ROOT, module_path, shown_names

MAX_LINES, MAX_MEDIAN, MAX_P90 = 20, 6, 14
MAX_OPEN = 40  # code cells that a reader sees, of one chapter
MAX_RUN, MAX_WORDS_FIRST, MAX_WIDTH = 2, 150, 80
NUMBER_BY, PICTURE_BY = 2, 5
MAX_DIGITS = 5

# What only one machine prints: addresses, absolute paths, device objects.
MACHINE = re.compile(
    r"0x[0-9a-f]{6,}|(?<![\w.])/(?:home|root|tmp|usr|work|Users)/|"
    r"\b(?:NamedSharding|Mesh|AbstractMesh|CpuDevice)\("
)
# What set-up may call beside imports.
OPTION = re.compile(r"jax\.config\.update|\w+\.set_(printoptions|style)")
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
TILED = {"all_gather", "psum_scatter", "all_to_all"}


def code_cells(notebook):
    """The code cells, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def open_cells(notebook):
    """The open code cells with their numbers among all code cells.

    In a chapter that does not tell kinds of cells apart, all of them.
    """
    numbered = list(enumerate(code_cells(notebook), 1))
    if not cells.has_kinds(notebook.cells):
        return numbered
    return [(number, cell) for number, cell in numbered if cells.is_open(cell)]


def lines(cell):
    """How many lines of a cell are not blank."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def cell_lengths(notebook):
    """Open cells are short: at most 20 lines, most of them far shorter."""
    counted = [(n, lines(cell)) for n, cell in open_cells(notebook)]
    faults = [
        f"code cell {number} has {count} lines, at most {MAX_LINES} are allowed"
        for number, count in counted
        if count > MAX_LINES
    ]
    counts = [count for _, count in counted]
    if len(counts) > 1 and median(counts) > MAX_MEDIAN:
        faults.append(f"the median cell has {median(counts):g} lines")
    # Two long cells, a step and its backward pass, are no tenth of anything.
    several = sum(count > MAX_P90 for count in counts) > 2
    if several and quantiles(counts, n=10)[-1] > MAX_P90:
        faults.append(f"a tenth of the cells has more than {MAX_P90} lines")
    return faults


def few_open(notebook):
    """A chapter that folds what it can has at most 40 open code cells."""
    count = len(open_cells(notebook))
    if cells.has_kinds(notebook.cells) and count > MAX_OPEN:
        return [f"{count} code cells are open, at most {MAX_OPEN} are allowed"]
    return []


def line_widths(notebook):
    """Lines of code fit in 80 columns."""
    return [
        f"code cell {number} has a line of {len(line)} characters"
        for number, cell in enumerate(code_cells(notebook), 1)
        for line in cell.source.splitlines()
        if len(line) > MAX_WIDTH
    ]


def only_imports(cell):
    """Whether a cell does nothing but import and set options."""
    allowed = (ast.Import, ast.ImportFrom)
    return all(isinstance(n, allowed) for n in ast.parse(cell.source).body)


def prose_between(notebook):
    """No more than two open cells follow each other without a sentence.

    Folded cells do not count, and a caption is no sentence between.
    """
    opened = {number for number, _ in open_cells(notebook)}
    faults, run, number = [], [], 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            caption = cells.CAPTION in cell.metadata.get("tags", [])
            run = run if caption else []
            continue
        number += 1
        if number not in opened:
            continue
        run.append(cell)
        limit = MAX_RUN + any(only_imports(c) for c in run)
        if len(run) > limit:
            faults.append(f"code cell {number} is the {len(run)}th in a row")
    return faults


def words_first(notebook):
    """A chapter shows its first code or figure after at most 150 words."""
    words = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            words += len(cell.source.split())
        elif cells.is_open(cell) or cells.kind(cell) == "figure":
            break
    if words > MAX_WORDS_FIRST:
        return [f"{words} words stand before the first code"]
    return []


def texts(cell):
    """The text of a cell's outputs."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            found.append(output.data.get("text/plain", ""))
        elif output.output_type == "error":
            found += [output.evalue, *output.traceback]
    return found


def has_image(cell):
    """Whether a cell stores a picture that stands still."""
    return any(
        kind.startswith("image/")
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    )


def has_picture(cell):
    """Whether a cell stores a picture, still or to be played with."""
    return has_image(cell) or any(
        "<svg" in output.get("data", {}).get("text/html", "")
        for output in cell.get("outputs", [])
    )


def first_number(notebook):
    """A number is seen by the second cell after the set-up."""
    shown = [c for c in code_cells(notebook) if cells.kind(c) != "setup"]
    seen = "".join(text for cell in shown[:NUMBER_BY] for text in texts(cell))
    if not re.search(r"\d", seen):
        return [f"no number is seen by code cell {NUMBER_BY}"]
    return []


def first_picture(notebook):
    """A picture is seen by cell 5."""
    if not any(has_picture(cell) for cell in code_cells(notebook)[:PICTURE_BY]):
        return [f"no picture is seen by code cell {PICTURE_BY}"]
    return []


def pictures(notebook):
    """A picture is described in words, and its cell ends in plt.show()."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        if not has_image(cell):
            continue
        image = cell.metadata.get("mystnb", {}).get("image", {})
        if len(image.get("alt", "")) < 20:
            faults.append(f"the picture of code cell {number} has no alt text")
        if cell.source.splitlines()[-1] != "plt.show()":
            faults.append(f"code cell {number} does not end in plt.show()")
    return faults


def captions(notebook):
    """Where kinds are told apart, a picture stands in a figure, captioned."""
    if not cells.has_kinds(notebook.cells):
        return []
    faults, number = [], 0
    after = [*notebook.cells[1:], None]
    for cell, below in zip(notebook.cells, after, strict=True):
        number += cell.cell_type == "code"
        if cell.cell_type != "code" or not has_picture(cell):
            continue
        tags = below.metadata.get("tags", []) if below else []
        if (kind := cells.kind(cell)) != "figure":
            faults.append(f"code cell {number} shows a picture as {kind}")
        elif cells.CAPTION not in tags:
            faults.append(f"the picture of code cell {number} has no caption")
    return faults


def called(node):
    """The name of the function that a call calls: "show" for `plt.show()`."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def insists(cell):
    """Whether a cell asserts anything, or shows an error on purpose."""
    return cells.RAISES in cell.metadata.get("tags", []) or any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and (called(node) == "agree" or called(node).startswith("assert"))
        )
        for node in ast.walk(ast.parse(cell.source))
    )


def configures(node):
    """Whether a statement imports something or sets an option."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.Assign):
        return all(
            ast.unparse(target).startswith("os.environ[")
            for target in node.targets
        )
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and OPTION.fullmatch(ast.unparse(node.value.func)) is not None
    )


def kinds_kept(notebook):
    """Evidence insists on something; set-up imports and sets options."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        kind = cells.kind(cell)
        if kind == "evidence" and not insists(cell):
            faults.append(f"code cell {number} is evidence and asserts nothing")
        if kind == "setup" and not all(
            configures(node) for node in ast.parse(cell.source).body
        ):
            faults.append(f"code cell {number} does more than set up")
    return faults


def imports_used(notebook):
    """What a chapter imports it uses, in a cell of its own."""
    trees = [ast.parse(cell.source) for cell in code_cells(notebook)]
    used = {
        node.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
    }
    return [
        f"{name} is imported and not used"
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if (name := (alias.asname or alias.name).split(".")[0]) not in used
    ]


def outputs(notebook):
    """Every cell was run; outputs are portable and easy to read."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        said = "\n".join(texts(cell))
        if cell.execution_count is None:
            faults.append(f"code cell {number} was not executed")
        if found := MACHINE.search(said):
            faults.append(f"code cell {number} prints {found.group()!r}")
        if re.search(r"^(True|False)$", said, re.MULTILINE):
            faults.append(f"code cell {number} prints a boolean; assert it")
        faults += [
            f"code cell {number} prints {decimal}: at most {MAX_DIGITS} digits"
            for decimal in DECIMAL.findall(said)
            if significant(decimal) > MAX_DIGITS
        ]
        if any(o.get("name") == "stderr" for o in cell.outputs):
            faults.append(f"code cell {number} writes to stderr")
    return faults


def significant(decimal):
    """How many significant digits a decimal number shows."""
    return len(decimal.split("e")[0].replace(".", "").lstrip("0"))


def errors(notebook):
    """Errors are stored where they are expected, and nowhere else."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        stored = any(o.output_type == "error" for o in cell.outputs)
        expected = "raises-exception" in cell.metadata.get("tags", [])
        if stored and not expected:
            faults.append(f"code cell {number} stores an error")
        if expected and not stored and "nbgrader" not in cell.metadata:
            faults.append(f"code cell {number} should raise and does not")
    return faults


def solved(notebook):
    """Every check of a solution passes."""
    return [
        f"code cell {number} stores an error: the solution fails its check"
        for number, cell in enumerate(code_cells(notebook), 1)
        if any(output.output_type == "error" for output in cell.outputs)
    ]


def jax_calls(notebook):
    """Meshes name their axis types, collectives say whether they are tiled."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        for node in ast.walk(ast.parse(cell.source)):
            if not isinstance(node, ast.Call):
                continue
            name = called(node)
            given = {keyword.arg for keyword in node.keywords}
            if name == "make_mesh" and "axis_types" not in given:
                faults.append(f"code cell {number}: make_mesh, no axis_types")
            if name == "make_mesh" and len(node.args) < 2:
                faults.append(f"code cell {number}: make_mesh by keywords")
            if name in TILED and "tiled" not in given:
                faults.append(f"code cell {number}: {name} without tiled=")
            if name == "print" and "allclose" in ast.unparse(node):
                faults.append(f"code cell {number} prints allclose; assert it")
    return faults


CHAPTER_RULES = (
    cell_lengths,
    few_open,
    line_widths,
    prose_between,
    words_first,
    first_number,
    pictures,
    captions,
    kinds_kept,
    outputs,
    errors,
    jax_calls,
    imports_used,
)
# What an author is told when a chapter is made; a reason may be good enough.
ADVICE = (first_picture,)
# A solution is a list of questions: its rhythm is another one, and a check is
# as long as the number of mistakes that it knows by name.
SOLUTION_RULES = (line_widths, outputs, solved, jax_calls)


def faults(notebook, rules=CHAPTER_RULES):
    """All that `rules` find wrong with a notebook."""
    return [fault for rule in rules for fault in rule(notebook)]


def undocumented(path):
    """The public functions and classes of a module without a docstring.

    Every parameter of a public function is named in its docstring, unless the
    docstring is a single sentence or says "as in `another function`".
    """
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if node.name.startswith("_"):
            continue
        said = ast.get_docstring(node)
        if not said:
            found.append(f"{path.name}: {node.name} has no docstring")
        elif isinstance(node, ast.ClassDef) or "as in `" in said:
            continue
        elif "\n" in said:
            found += [
                f"{path.name}: {node.name} does not explain {argument.arg}"
                for argument in node.args.args + node.args.kwonlyargs
                if not re.search(rf"\b{argument.arg}\b", said)
            ]
    return found


def shown_once(taught, chapters):
    """Whether each taught function is shown, once, in its chapter.

    taught    dict: stem of a chapter -> dotted names
    chapters  dict: stem of a chapter -> its text, for the chapters of the book
    returns   sentences
    """
    where = {}
    for stem, text in chapters.items():
        for name in shown_names(text):
            where.setdefault(name, []).append(stem)
    found = []
    for stem, names in taught.items():
        for name in names if stem in chapters else ():
            places = where.pop(name, [])
            if places != [stem]:
                found.append(
                    f"{name} must be shown once, in {stem}; "
                    f"it is shown in {', '.join(places) or 'no chapter'}"
                )
    found += [f"{name} is shown but not listed as taught" for name in where]
    return found


def too_long(taught):
    """Taught functions of more than 20 lines, which no cell could hold."""
    from tools.text import shown_source

    found = []
    for name in [name for names in taught.values() for name in names]:
        source = shown_source(name)
        count = sum(bool(line.strip()) for line in source.splitlines())
        if count > MAX_LINES:
            found.append(f"{name} has {count} lines")
    return found


def registry():
    """Which functions are taught where: book/taught.yml."""
    text = (ROOT / "book/taught.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def modules():
    """The paths of the library's modules."""
    paths = sorted((ROOT / "shardlab").rglob("*.py"))
    assert module_path("shardlab") in paths
    return paths
