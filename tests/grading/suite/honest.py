"""Honest submissions, in all the ways in which people work."""

import json

from tests.grading.suite.course import ALL
from tests.grading.suite.rows import (
    SIMPLE,
    Row,
    cell,
    name_of,
    named,
    of,
    without,
)

RING = """\
def gather(block):
    n, me = block.shape[0], jax.lax.axis_index("X")
    whole = jnp.zeros((8 * n,) + block.shape[1:], block.dtype)
    for step in range(8):
        start = (me + step) % 8 * n
        whole = jax.lax.dynamic_update_slice(whole, block, (start, 0))
        if step < 7:
            back = [(i, (i - 1) % 8) for i in range(8)]
            block = jax.lax.ppermute(block, "X", back)
    return whole
"""
DOUBLING = """\
def gather(block):
    # Blocks double: 1, 2, 4. Device i ends with i, i+1, ..., and rolls them.
    me = jax.lax.axis_index("X")
    have = block
    for distance in (1, 2, 4):
        pairs = [(i, (i - distance) % 8) for i in range(8)]
        have = jnp.concatenate([have, jax.lax.ppermute(have, "X", pairs)])
    return jnp.roll(have, me * block.shape[0], axis=0)
"""


def typed_below(made):
    """An answer in the cell of its check."""
    check = named(made, "copies_check")
    check["source"] = f"copies = 2\n{check['source']}"


SCANNED = """\
from functools import partial

ring = [(i, (i + 1) % 8) for i in range(8)]


def gather(block):
    n, me = block.shape[0], jax.lax.axis_index("X")

    def step(carry, k):
        whole, block = carry
        block = jax.lax.ppermute(block, "X", perm=ring)
        at = jnp.mod(me - k, 8) * n
        whole = jax.lax.dynamic_update_slice_in_dim(whole, block, at, 0)
        return (whole, block), None

    whole = jnp.zeros((8 * n, block.shape[1]), block.dtype)
    whole = jax.lax.dynamic_update_slice_in_dim(whole, block, me * n, 0)
    (whole, _), _ = jax.lax.scan(step, (whole, block), jnp.arange(1, 8))
    return whole
"""
FOUR_BY_TWO = """\
def place(x):
    types = (AxisType.Auto,) * 2
    mesh = jax.make_mesh((4, 2), ("rows", "more"), axis_types=types)
    return jax.device_put(x, NamedSharding(mesh, P(("rows", "more"), None)))
"""
OWN_MESH = """\
jax.set_mesh(jax.make_mesh((8,), ("d",), axis_types=(AxisType.Explicit,)))

def place(x):
    return jax.reshard(jnp.asarray(x), P("d"))
"""
SHARDED_BY_JIT = """\
from functools import lru_cache

@lru_cache(maxsize=None)
def sharding():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    return NamedSharding(mesh, P("i"))

def place(x):
    return jax.jit(lambda a: a, out_shardings=sharding())(x)
"""
TYPED = """\
from __future__ import annotations
from dataclasses import dataclass
import pickle


@dataclass(frozen=True)
class Größe:
    zeilen: int
    spalten: int

    @property
    def produkt(self) -> int:
        return self.zeilen * self.spalten


def local_bytes(I: int, J: int, X: int, Y: int) -> int:
    größe = pickle.loads(pickle.dumps(Größe(I // X, J // Y)))
    assert f"{größe.produkt}" + f"{{}}" == f"{I // X * (J // Y)}" "{}"
    return 4 * größe.produkt


if __name__ == "__main__":
    print(local_bytes(8, 8, 2, 2))
"""
BF16_RING = """\
def gather(block):
    ring = [(i, (i + 1) % 8) for i in range(8)]
    parts, high = [block], block.astype(jnp.bfloat16).astype(block.dtype)
    for _ in range(7):
        block = jax.lax.ppermute(block, "X", ring)
        parts.append(block)
    order = (jax.lax.axis_index("X") - jnp.arange(8)) % 8
    return jnp.stack(parts)[order].reshape(-1, high.shape[1])
"""
PLOT = """\
%matplotlib inline
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.title("bytes")
plt.show()


def local_bytes(I, J, X, Y):
    return I * J * 4 // X // Y
"""
MAGIC = """\
%%time
def local_bytes(I, J, X, Y):
    return 4 * (I // X) * (J // Y)
"""
PRINTS = """\
import sys, warnings, logging

def local_bytes(I, J, X, Y):
    print("asked for", I, J, X, Y)
    print("a warning of my own", file=sys.stderr)
    warnings.warn("this may be wrong")
    logging.getLogger(__name__).warning("logged")
    sys.stderr.write("written")
    return 4 * I * J // (X * Y)
"""
BARS = """\
from tqdm import tqdm
from tqdm.auto import trange
total = 0
for n in tqdm(range(300), desc="adding"):
    total += n
for n in trange(30):
    pass
copies = 2
"""
RICH = """\
from IPython.display import HTML, Markdown, clear_output, display

class Table:
    def _repr_html_(self):
        return "<table><tr><td>1</td></tr></table>"

display(Table(), HTML("<b>bold</b>"), Markdown("*x*"))
clear_output(wait=True)
handle = display("first", display_id=True)
handle.update("second")
copies = 2
Table()
"""
STREAMS = """\
import faulthandler, subprocess, sys
faulthandler.enable()
subprocess.run(["true"], stdout=sys.stdout, stderr=sys.stderr)
assert sys.stdout.encoding.lower().startswith("utf")
print(sys.stdout.isatty(), sys.stdout.fileno() >= 0)
copies = 2
"""
SEEDS = """\
import random
random.seed(0); np.random.seed(0)
key = jax.random.key(0)
copies = int(jax.random.randint(key, (), 2, 3))
"""
CONFIG = """\
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")
"""
THREADS = """\
import asyncio, multiprocessing, threading
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(abs, [-1, -2])) == [1, 2]
await asyncio.sleep(0.01)
child = multiprocessing.get_context("fork").Process(target=print, args=("x",))
child.start()
child.join()
copies = 2
"""
FRACTION = """\
from fractions import Fraction
def local_bytes(I, J, X, Y):
    return int(Fraction(4 * I * J, X * Y))
"""
PSUM = """\
def mean_gradient(g):
    part = jax.lax.psum_scatter(g / 8, "X", scatter_dimension=1, tiled=True)
    return part.reshape(-1)
"""
TILED = """\
def mean_gradient(g):
    rows = g.reshape(8, -1)
    return jax.lax.psum_scatter(rows, axis_name="X", scatter_dimension=0) / 8.0
"""


def all_right(name, answers=None, **more):
    """A submission that deserves all points of the questions that it does."""
    if answers and set(answers) <= set(SIMPLE) and "change" not in more:
        return Row(name, of(*SIMPLE), "simple", answers, **more)
    return Row(name, ALL, "right", answers or {}, **more)


def all_cells(change):
    """A change of the text of every code cell."""

    def changed(notebook):
        for each in notebook["cells"]:
            if each["cell_type"] == "code":
                each["source"] = change(each["source"])

    return changed


def without_identifiers(minor):
    """As older programs save: no cell ids."""

    def change(notebook):
        notebook["nbformat_minor"] = minor
        for each in notebook["cells"]:
            each.pop("id", None)

    return change


def lines(notebook):
    """Text as lists of lines, as most programs save it."""
    for each in notebook["cells"]:
        each["source"] = each["source"].splitlines(keepends=True)


def colab(notebook):
    """As Colab saves: no cell ids, metadata of its own."""
    without_identifiers(0)(notebook)
    lines(notebook)
    notebook["metadata"] = {
        "colab": {"provenance": [], "toc_visible": True, "gpuType": "T4"},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
        "accelerator": "GPU",
    }
    for number, each in enumerate(notebook["cells"]):
        each["metadata"] |= {"id": f"aB{number}xYz", "outputId": f"{number}"}
        if each["cell_type"] == "code":
            each["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
            each["outputs"] = [
                {"output_type": "stream", "name": "stdout", "text": ["ran\n"]}
            ]


def vs_code(notebook):
    """As VS Code saves."""
    lines(notebook)
    notebook["metadata"] = {
        "kernelspec": {
            "display_name": ".venv (3.11.7)",
            "language": "python",
            "name": "python3",
        },
        "language_info": {
            "codemirror_mode": {"name": "ipython", "version": 3},
            "file_extension": ".py",
            "name": "python",
            "version": "3.11.7",
        },
        "orig_nbformat": 4,
        "vscode": {"interpreter": {"hash": "0" * 64}},
    }
    for number, each in enumerate(notebook["cells"]):
        each["metadata"]["vscode"] = {"languageId": "python"}
        if each["cell_type"] == "code":
            each["execution_count"] = number


def unmarked(notebook):
    """By a program that drops the metadata of cells."""
    for each in notebook["cells"]:
        each["metadata"] = {}


def unmarked_answers(notebook):
    """Answer cells deleted and written again below their questions."""
    for each in notebook["cells"]:
        if name_of(each) in of_answers():
            each["metadata"] = {}


def of_answers():
    """The names of the answer cells."""
    return ("copies", "local_bytes", "crossings", "gather", "place")


def split(notebook):
    """Each answer of several lines split in two cells under one name."""
    cells = []
    for each in notebook["cells"]:
        cells.append(each)
        if name_of(each) == "crossings":
            first, _, second = each["source"].partition("\n\n")
            each["source"] = first
            cells.append({**each, "source": second, "id": "split"})
    notebook["cells"] = cells


def reordered(notebook):
    """Questions in the opposite order, the setup still first."""
    cells = notebook["cells"]
    start = next(n for n, c in enumerate(cells) if "## 1." in c["source"])
    notebook["cells"] = cells[:start] + cells[start:][::-1]


def checks_deleted(notebook):
    """No check cells."""
    notebook["cells"] = [
        c for c in notebook["cells"] if not name_of(c).endswith("_check")
    ]


def copied_answer(notebook):
    """A backup of the empty cell below, and an older try above."""
    at = notebook["cells"].index(named(notebook, "local_bytes"))
    right = notebook["cells"][at]
    old = {**right, "source": "def local_bytes(I, J, X, Y):\n    return 0"}
    notebook["cells"].insert(at, {**old, "id": "old"})


def setup_changed(text):
    """Another text in the setup cell."""

    def change(notebook):
        setup = next(c for c in notebook["cells"] if c["cell_type"] == "code")
        setup["source"] = text.replace("@SETUP@", setup["source"])

    return change


def helper_below(notebook):
    """An answer that uses what a cell at the end defines."""
    named(notebook, "local_bytes")["source"] = (
        "def local_bytes(I, J, X, Y):\n    return 4 * block(I, X) * block(J, Y)"
    )
    notebook["cells"].append(
        cell("def block(size, axis):\n    return size // axis")
    )


def answered_below(notebook):
    """Two stubs left as they were; their answers stand in cells at the end."""
    for name, text in (("copies", "copies = 2"), ("crossings", FORMULA)):
        named(notebook, name)["source"] = STUBS[name]
        notebook["cells"].append({**cell(text), "id": f"below-{name}"})


STUBS = {
    "copies": "copies = None\n# YOUR CODE HERE\nraise NotImplementedError()",
    "crossings": "crossings = None",
}
FORMULA = "import sympy\ncrossings = 'D*(D - 1)'"


def setup_again(notebook):
    """Someone runs the imports once more, then defines what an answer needs."""
    setup = next(c for c in notebook["cells"] if c["cell_type"] == "code")
    helper_below(notebook)
    notebook["cells"].insert(-1, {**cell(setup["source"]), "id": "again"})
    last = "assert local_bytes(128, 64, 4, 2) == 4096"
    notebook["cells"].append({**cell(last), "id": "last"})


def renamed_answers(notebook):
    """Answers in cells of names that are no longer ours."""
    for name in of_answers():
        named(notebook, name)["metadata"]["nbgrader"]["grade_id"] += "_v1"


def another_below(notebook):
    """The cells of another assignment stand below."""
    for n, text in enumerate(("def other():\n    return 1", "assert other()")):
        marked = cell(
            text, nbgrader={"grade_id": f"other_{n}", "grade": n == 1}
        )
        notebook["cells"].append({**marked, "id": f"other-{n}"})


def proof_in_parts(notebook):
    """A written answer whose cell was split into three."""
    proof = named(notebook, "proof")
    place = notebook["cells"].index(proof)
    words = ("First part.", "Second part.", "Third part.")
    notebook["cells"][place : place + 1] = [
        {**proof, "source": text, "id": f"part-{n}"}
        for n, text in enumerate(words)
    ]


def typed_as_text(notebook):
    """An answer cell that became text, in a notebook otherwise done."""
    named(notebook, "copies").update(cell_type="markdown", source="It is 2.")
    for key in ("outputs", "execution_count"):
        named(notebook, "copies").pop(key)


def proven(notebook):
    """A proof in Markdown with formulas, lists and code."""
    named(notebook, "proof")["source"] = (
        "Each of $D$ chunks crosses $D - 1$ links:\n\n"
        "$$\\sum_{k=1}^{D} (D - 1) = D (D - 1)$$\n\n```python\nD * (D - 1)\n```"
    )


def with_mark(notebook):
    """A byte order mark before the file, and other characters as they are."""
    return b"\xef\xbb\xbf" + json.dumps(notebook, ensure_ascii=False).encode()


ROWS = (
    all_right("the solutions"),
    Row("nothing done", 0, "blank"),
    Row(
        "half done",
        of("copies", "local_bytes", "gather"),
        "right",
        {"crossings": "crossings = None", "mean_gradient": "", "place": ""},
    ),
    all_right("prints and warns", {"local_bytes": PRINTS}),
    all_right(
        "prints ten thousand lines",
        {"copies": "for n in range(10_000):\n    print(n)\ncopies = 2"},
    ),
    all_right(
        "a helper in a cell at the top",
        {
            "local_bytes": "def local_bytes(I, J, X, Y):\n"
            "    return 4 * times(I // X, J // Y)"
        },
        before=("def times(a, b):\n    return a * b",),
    ),
    all_right("a helper in a cell at the end", change=helper_below),
    all_right("questions in another order", change=reordered),
    all_right("other names and another ring", {"gather": RING}),
    all_right("another algorithm", {"gather": DOUBLING}),
    all_right("a ring in a scan", {"gather": SCANNED}),
    all_right("blocks put together at the end", {"gather": BF16_RING}),
    all_right("a ring in jit", {"gather": "@jax.jit\n" + RING}),
    all_right("the mean before the sum", {"mean_gradient": PSUM}),
    all_right("not tiled", {"mean_gradient": TILED}),
    all_right("two axes of other names", {"place": FOUR_BY_TWO}),
    all_right("a mesh set for all", {"place": OWN_MESH}),
    all_right("a cached sharding and jit", {"place": SHARDED_BY_JIT}),
    all_right(
        "a whole number as a float",
        {
            "copies": "copies = 2.0",
            "local_bytes": "def local_bytes(I, J, X, Y):\n"
            "    return 4 * I * J / (X * Y)",
        },
    ),
    all_right(
        "a NumPy integer",
        {
            "copies": "copies = np.int64(2)",
            "local_bytes": "def local_bytes(*a):\n"
            "    I, J, X, Y = map(np.int64, a)\n"
            "    return 4 * I * J // (X * Y)",
        },
    ),
    all_right(
        "JAX numbers",
        {
            "copies": "copies = jnp.array(2)",
            "local_bytes": "@jax.jit\ndef local_bytes(I, J, X, Y):\n"
            "    return 4 * I * J // (X * Y)",
        },
    ),
    all_right(
        "an array without dimensions", {"copies": "copies = np.array(2)"}
    ),
    all_right("exact fractions", {"local_bytes": FRACTION}),
    all_right(
        "a cached function",
        {
            "local_bytes": "from functools import lru_cache\n@lru_cache\n"
            "def local_bytes(I, J, X, Y):\n    return 4 * I * J // (X * Y)"
        },
    ),
    all_right(
        "a lambda",
        {"local_bytes": "local_bytes = lambda I, J, X, Y: 4 * I * J // (X*Y)"},
    ),
    all_right(
        "a callable object",
        {
            "local_bytes": "class Bytes:\n    def __call__(self, I, J, X, Y):\n"
            "        return 4 * I * J // (X * Y)\nlocal_bytes = Bytes()"
        },
    ),
    all_right("types, a dataclass, pickle, umlauts", {"local_bytes": TYPED}),
    all_right("a formula as text", {"crossings": 'crossings = "D**2 - D"'}),
    all_right(
        "a formula as a sum",
        {
            "crossings": "from sympy import *\n"
            "D, k = symbols('D k', integer=True)\n"
            "crossings = Sum(D - 1, (k, 1, D))"
        },
    ),
    all_right(
        "a formula with another D",
        {
            "crossings": "import sympy as sp\nd = sp.symbols('D')\n"
            "crossings = sp.factor(d**2 - d)"
        },
    ),
    all_right("%%time", {"local_bytes": MAGIC}),
    all_right(
        "a file that a cell wrote, and magics of JupyterLab",
        {
            "copies": "%autosave 60\nfrom pathlib import Path\n"
            "Path('helping.py').write_text('def product(I, J, X, Y):\\n"
            "    return 4 * I * J // (X * Y)')\ncopies = 2",
            "local_bytes": "from helping import product as local_bytes",
        },
    ),
    all_right(
        "%matplotlib inline and a plot",
        {"local_bytes": PLOT},
        present=("image/png",),
    ),
    all_right(
        "a figure left open",
        {
            "copies": "import matplotlib.pyplot as plt\n"
            "plt.plot([1, 2])\ncopies = 2"
        },
        present=("image/png",),
    ),
    all_right(
        "figures closed",
        {
            "copies": "import matplotlib.pyplot as plt\n"
            "fig, ax = plt.subplots()\n"
            "plt.close(fig); plt.close('all')\ncopies = 2"
        },
    ),
    all_right(
        "settings of plots",
        before=(
            "%config InlineBackend.figure_format = 'retina'\n"
            "import matplotlib.pyplot as plt\nplt.rcParams['font.size'] = 9",
        ),
    ),
    all_right(
        "shell and magics",
        before=(
            "!ls\n%pwd\nfiles = !ls /\n%env A=1\n%load_ext autoreload\n"
            "%autoreload 2\n%timeit -n1 -r1 1 + 1\n%whos",
        ),
    ),
    all_right(
        "%%bash and %%capture",
        before=(
            "%%bash\necho hello",
            "%%capture out\nprint(1)",
            "%%writefile own.py\nnumber = 2",
            "from own import number",
        ),
    ),
    all_right("rich displays", {"copies": RICH}),
    all_right("bars of progress", {"copies": BARS}),
    all_right("streams used as files", {"copies": STREAMS}),
    all_right("seeds", {"copies": SEEDS}),
    all_right("threads, processes, await", {"copies": THREADS}),
    all_right("settings of JAX", before=("import jax\n" + CONFIG,)),
    all_right(
        "JAX used before the setup",
        before=("import jax.numpy as jnp\nprint(jnp.ones(3).sum())",),
    ),
    all_right(
        "the setup run twice",
        after=("import jax\njax.config.update('jax_num_cpu_devices', 8)",),
    ),
    all_right(
        "imports in the setup",
        {
            "local_bytes": "def local_bytes(*a):\n"
            "    return math.prod(a[:2]) * 4 "
            "// math.prod(a[2:])"
        },
        change=setup_changed("import math\n@SETUP@"),
    ),
    all_right(
        "a setup in another style",
        change=setup_changed(
            "import jax, numpy as np\nfrom jax import numpy as jnp\n"
            "from jax.sharding import *\nfrom jax.sharding import "
            "PartitionSpec as P\njax.config.update('jax_num_cpu_devices', 8)"
        ),
    ),
    all_right("no setup cell", change=lambda nb: nb["cells"].pop(1) and None),
    Row(
        "a cell that asks for input",
        without("copies"),
        "right",
        {"copies": "copies = int(input('How many? '))"},
    ),
    all_right("a cell that fails above", before=("1 / 0", "undefined_name")),
    Row(
        "a syntax error in one answer",
        without("local_bytes"),
        "right",
        {"local_bytes": "def local_bytes(I, J, X, Y)\n    return 4"},
        present=("the cell above ended with SyntaxError: expected ':'",),
    ),
    Row(
        "an answer typed into its check",
        without("copies"),
        "right",
        {"copies": "copies = None"},
        change=typed_below,
        present=("this check's own cell was changed",),
    ),
    all_right(
        "colours of a terminal",
        after=("print('\\x1b[33mWARNING\\x1b[0m: \\x1b[1;31mred')",),
        absent=("[33m", "[0m", "[1;31m"),
        present=("WARNING: red",),
    ),
    Row(
        "one answer fails when asked",
        without("gather"),
        "right",
        {"gather": "def gather(block):\n    return blok"},
    ),
    Row(
        "one answer never ends",
        without("local_bytes"),
        "right",
        {
            "local_bytes": "def local_bytes(I, J, X, Y):\n    while X:\n"
            "        I += 1\n    return I"
        },
        seconds=(5, 60),
    ),
    Row(
        "five answers end the process, one is right",
        of("place"),
        "right",
        {"copies": "import os\nos._exit(0)"}
        | {
            name: f"def {name}(*a):\n    import os\n    os.abort()"
            for name in ("local_bytes", "gather", "mean_gradient")
        }
        | {"crossings": "exit(); import os; os.kill(os.getpid(), 9)"},
    ),
    all_right(
        "the sample of the stub kept as a comment",
        {
            "local_bytes": "def local_bytes(I, J, X, Y):\n"
            "    # YOUR CODE HERE\n"
            "    return 4 * I * J // (X * Y)"
        },
    ),
    all_right("an answer in two cells", change=split),
    all_right("an older try above", change=copied_answer),
    all_right("answers written in new cells", change=unmarked_answers),
    all_right("no metadata at all", change=unmarked),
    all_right("checks deleted", change=checks_deleted),
    Row(
        "an answer cell that became text",
        without("copies"),
        "right",
        change=typed_as_text,
    ),
    all_right("a proof", change=proven, present=("sum_{k=1}",)),
    all_right(
        "Windows line ends",
        change=all_cells(lambda text: text.replace("\n", "\r\n")),
    ),
    all_right(
        "tabs and white space at the ends",
        change=all_cells(lambda text: text.replace("    ", "\t") + "  \n\n\n"),
    ),
    all_right("saved by Colab", change=colab),
    all_right("saved by VS Code", change=vs_code),
    all_right("text as lists of lines", change=lines),
    all_right("a byte order mark", change=with_mark),
    *(
        all_right(f"format 4.{minor}", change=without_identifiers(minor))
        for minor in range(5)
    ),
    all_right(
        "thirty cells of notes",
        after=tuple(f"# note {n}\nx{n} = {n}\nx{n}" for n in range(30)),
    ),
    all_right(
        "a hundred and fifty cells of notes",
        after=tuple(f"x{n} = {n}" for n in range(150)),
        note="50 are left out",
    ),
    all_right(
        "answered below the checks",
        change=answered_below,
    ),
    all_right("the setup again, and a helper below it", change=setup_again),
    all_right("an older version of the questions", change=renamed_answers),
    all_right("two assignments in one notebook", change=another_below),
    all_right(
        "a proof in three cells",
        change=proof_in_parts,
        present=("First part.", "Second part.", "Third part."),
    ),
    Row(
        "an unfinished text",
        without("copies"),
        "right",
        {"copies": 'text = """not closed\ncopies = 2'},
    ),
)
