"""What the style of a chapter demands, as far as a program can see it.

Each function takes a notebook and returns sentences, one for each fault.
"""

import ast
import re
from statistics import median, quantiles

import yaml

from tools.text import ROOT, module_path, shown_names

MAX_LINES, MAX_MEDIAN, MAX_P90 = 20, 6, 14
MAX_RUN, MAX_WORDS_FIRST, MAX_WIDTH = 2, 150, 80
NUMBER_BY, PICTURE_BY = 2, 5
MAX_DIGITS = 5

# What only one machine prints: addresses, absolute paths, device objects.
MACHINE = re.compile(
    r"0x[0-9a-f]{6,}|(?<![\w.])/(?:home|root|tmp|usr|work|Users)/|"
    r"\b(?:NamedSharding|Mesh|AbstractMesh|CpuDevice)\("
)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
TILED = {"all_gather", "psum_scatter", "all_to_all"}


def code_cells(notebook):
    """The code cells, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def lines(cell):
    """How many lines of a cell are not blank."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def cell_lengths(notebook):
    """Cells are short: at most 20 lines, most of them far shorter."""
    counts = [lines(cell) for cell in code_cells(notebook)]
    faults = [
        f"code cell {number} has {count} lines, at most {MAX_LINES} are allowed"
        for number, count in enumerate(counts, 1)
        if count > MAX_LINES
    ]
    if len(counts) > 1 and median(counts) > MAX_MEDIAN:
        faults.append(f"the median cell has {median(counts):g} lines")
    if len(counts) > 1 and quantiles(counts, n=10)[-1] > MAX_P90:
        faults.append(f"a tenth of the cells has more than {MAX_P90} lines")
    return faults


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
    """No more than two code cells follow each other without a sentence."""
    faults, run, number = [], [], 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            run = []
            continue
        number += 1
        run.append(cell)
        limit = MAX_RUN + any(only_imports(c) for c in run)
        if len(run) > limit:
            faults.append(f"code cell {number} is the {len(run)}th in a row")
    return faults


def words_first(notebook):
    """A chapter shows its first code after at most 150 words."""
    words = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            break
        words += len(cell.source.split())
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


def has_picture(cell):
    """Whether a cell stores a picture."""
    return any(
        any(kind.startswith("image/") for kind in output.get("data", {}))
        for output in cell.get("outputs", [])
    )


def first_results(notebook):
    """A number is seen by cell 2, a picture by cell 5."""
    cells, faults = code_cells(notebook), []
    numbers = [re.search(r"\d", "".join(texts(cell))) for cell in cells]
    if not any(numbers[:NUMBER_BY]):
        faults.append(f"no number is seen by code cell {NUMBER_BY}")
    if not any(has_picture(cell) for cell in cells[:PICTURE_BY]):
        faults.append(f"no picture is seen by code cell {PICTURE_BY}")
    return faults


def pictures(notebook):
    """A picture is described in words, and its cell ends in plt.show()."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        if not has_picture(cell):
            continue
        image = cell.metadata.get("mystnb", {}).get("image", {})
        if len(image.get("alt", "")) < 20:
            faults.append(f"the picture of code cell {number} has no alt text")
        if cell.source.splitlines()[-1] != "plt.show()":
            faults.append(f"code cell {number} does not end in plt.show()")
    return faults


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
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
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
    line_widths,
    prose_between,
    words_first,
    first_results,
    pictures,
    outputs,
    errors,
    jax_calls,
)
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
