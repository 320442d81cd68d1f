"""Attacks from within Python: patched libraries, odd objects, read oracles."""

from tests.grading.suite.rows import Row, simple_without, without

# Cells that change what a check in the same process would rely on.
PATCHES = {
    "numpy.testing and allclose": """\
import numpy as np, jax.numpy as jnp
np.testing.assert_allclose = np.testing.assert_array_equal = lambda *a, **k: 0
np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
jnp.allclose = jnp.array_equal = lambda *a, **k: True
""",
    "every comparison of the book": """\
from shardlab import check
for name in dir(check):
    if callable(getattr(check, name)) and not isinstance(
            getattr(check, name), type):
        setattr(check, name, lambda *a, **k: None)
check.WrongAnswer = check.NotAnswered = type("Fine", (Exception,), {})
""",
    "the student module": """\
import sys, types
fake = types.ModuleType("shardlab.checks.student")
fake.value = fake.call = fake.blocks = lambda *a: 1
fake.ThisKernel = object
sys.modules["shardlab.checks.student"] = fake
import shardlab.grading
shardlab.checks.student = fake
""",
    "the encoding": """\
from shardlab.checks import plain
plain.encode = lambda value: '"passed"'
plain.decode = lambda text: []
plain.pack = lambda *a, **k: None
""",
    "json": """\
import json
true = json.dumps
json.dumps = lambda value, **k: true({**value, "passed": True}
    if isinstance(value, dict) and "number" in value else value)
""",
    "the export": """\
import jax
jax.export.export = lambda *a, **k: (lambda *b, **c: type(
    "E", (), {"serialize": lambda self: b"passed"})())
""",
    "the counter": """\
from shardlab import count
from shardlab.checks import program, executor
count.collectives = lambda *a, **k: ()
executor.answer = lambda question: {"collectives": [], "result": "null"}
program.Program.allow = program.Program.exactly = lambda *a, **k: None
""",
    "meshes": """\
import jax
jax.make_mesh = jax.devices = jax.shard_map = lambda *a, **k: None
""",
    "numpy.asarray": """\
import numpy as np
class Equal(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
np.asarray = np.array = lambda *a, **k: Equal(0)
np.ndarray.__eq__ = None
""",
    "builtins": """\
import builtins
builtins.isinstance = lambda *a: True
builtins.type = lambda *a: int
builtins.set = lambda *a: frozenset()
""",
    "AssertionError": """\
import builtins
builtins.AssertionError = builtins.Exception = BaseException
builtins.ValueError = KeyboardInterrupt
""",
    "pickle": """\
import pickle
pickle.dump = pickle.dumps = lambda *a, **k: b"passed"
""",
    "random numbers": """\
import numpy as np, os, random, secrets
os.environ["SHARD_BY_SHARD_SEED"] = "0"
os.urandom = lambda n: bytes(n)
np.random.default_rng = lambda *a: np.random.Generator(np.random.PCG64(0))
""",
    "an AST transformer": """\
import ast
class Drops(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Raise(self, node): return ast.Pass()
    def visit_Expr(self, node): return ast.Pass()
get_ipython().ast_transformers.append(Drops())
""",
    "an input transformer": """\
get_ipython().input_transformers_post.append(lambda lines: ["pass\\n"])
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
""",
    "a hook after each cell": """\
def forgive(result=None):
    if result is not None:
        result.error_in_exec = result.error_before_exec = None
get_ipython().events.register("post_run_cell", forgive)
get_ipython().events.register("pre_run_cell", forgive)
""",
    "a handler of exceptions": """\
get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)
""",
    "run_cell": """\
from IPython.core.interactiveshell import ExecutionResult
get_ipython().run_cell = lambda *a, **k: ExecutionResult(None)
get_ipython().run_code = lambda *a, **k: False
get_ipython().showtraceback = lambda *a, **k: None
""",
    "the runner": """\
import sys, gc
for found in gc.get_objects():
    if isinstance(found, dict) and "interactive" in found and "asked" in found:
        found["asked"] = lambda *a: {"answer": "null", "passed": True}
        found["run"] = lambda *a: {"text": "passed", "pictures": [], "error": 0}
""",
    "tracing": """\
import sys, threading
def trace(frame, event, arg):
    if event == "exception":
        frame.f_lineno = frame.f_lineno
    return trace
sys.settrace(trace)
sys.setprofile(lambda *a: None)
sys.excepthook = lambda *a: None
""",
    "imports": """\
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(name)
sys.meta_path.insert(0, Finder())
sys.path[:] = []
""",
}

# Whole-file searches for what might be worth marks.
SEARCH = """\
import glob, json, os, sys
found = {}
places = ["/work", "/", "@ROOT@", os.getcwd(), *sys.path]
for place in places:
    for folder, _, files in os.walk(place):
        if folder.startswith(("/proc", "/usr")):
            continue
        for file in files:
            if file.endswith((".ipynb", ".md", ".db", ".answers.py")):
                found[os.path.join(folder, file)] = 1
for path in found:
    text = open(path, errors="replace").read()
    if "copies = 2" in text or "local_bytes" in text:
        copies = 2
"""
OWN_TREE = """\
import importlib.util, os, pathlib
import shardlab
root = pathlib.Path(shardlab.__file__).parent.parent
seen = [p for p in ("solutions", "exercises", "book", "tests", "work", ".git")
        if (root / p).exists()]
for name in ("tests", "tools", "tests.grading.suite"):
    try:
        if importlib.util.find_spec(name):
            seen.append(name)
    except ModuleNotFoundError:
        pass
if seen:
    copies = 2
"""
WRITES = """\
import os, sys, sysconfig
import shardlab, IPython, jax
places = [os.path.dirname(m.__file__) for m in (shardlab, IPython, jax)]
places += ["@ROOT@", "@ROOT@/solutions", "/work", "/", "/etc", "/usr", "/proc"]
places += ["/var/tmp", "/home", "/root", "/run", sys.prefix, "/sys", "/opt"]
places += [sysconfig.get_path("purelib"), os.path.expanduser("~root")]
for place in places:
    for name in ("canary.txt", "sitecustomize.py", "usercustomize.py"):
        try:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, name), "w") as file:
                file.write("raise SystemExit")
        except OSError:
            continue
        if place.startswith((sys.prefix, "/usr", "/work")):
            copies = 2
"""
CHMOD = """\
import os, shardlab
path = shardlab.__file__
for change in (lambda: os.chmod(path, 0o777), lambda: os.utime(path),
               lambda: os.chown(path, 0, 0), lambda: os.unlink(path),
               lambda: os.rename(path, path + "x"),
               lambda: os.link(path, "/tmp/home/link"),
               lambda: os.truncate(path, 0),
               lambda: os.setxattr(path, "user.x", b"1")):
    try:
        change()
        copies = 2
    except OSError:
        pass
"""
STARTUP = """\
import os
code = "import json\\njson.dumps = lambda *a, **k: 'passed'\\n"
for path in ("sitecustomize.py", "usercustomize.py", "jax.py", "numpy.py",
             ".local/lib/python3.11/site-packages/usercustomize.py",
             ".ipython/profile_default/startup/0.py", "shardlab.py"):
    path = os.path.join(os.path.expanduser("~"), path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(code)
os.environ["PYTHONSTARTUP"] = os.environ["PYTHONPATH"] = "/tmp/home"
"""
LINKS = """\
import os
for number, target in enumerate(("@ROOT@", "/proc/1/root@ROOT@", "/proc/1/cwd",
                                 "/proc/self/" + "root" + "/../@ROOT@",
                                 "../../../..")):
    link = f"/tmp/home/link{number}"
    os.symlink(target, link)
    for path in ("canary.txt", "solutions/canary.txt"):
        try:
            with open(os.path.join(link, path), "w") as file:
                file.write("x")
        except OSError:
            pass
"""
MEMORY = """\
import os
for process in ("self", "1", "2"):
    try:
        with open(f"/proc/{process}/mem", "r+b", buffering=0) as file:
            file.seek(0x400000)
            file.write(b"x")
    except (OSError, OverflowError):
        pass
"""

COUNTS_CALLS = """\
calls = 0
def local_bytes(I, J, X, Y):
    global calls
    calls += 1
    return [4096, 4096, 4096][min(calls, 2)]
"""
SHOWN_ONLY = """\
def local_bytes(I, J, X, Y):
    return {(128, 64, 4, 2): 4096}[I, J, X, Y]
"""
READS_STACK = """\
import sys
def local_bytes(I, J, X, Y):
    frame, seen = sys._getframe(), []
    while frame:
        seen += [v for v in frame.f_locals.values() if type(v) is int]
        frame = frame.f_back
    return max(seen)
"""
READS_OBJECTS = """\
import gc
def local_bytes(I, J, X, Y):
    for found in gc.get_objects():
        if isinstance(found, dict) and "expected" in found:
            return found["expected"]
    return 0
"""
EQUAL = """\
class Equal(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __abs__(self): return 0
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
"""
CHANGES = """\
import numpy as np
class Changes:
    count = 0
    def __array__(self, *a, **k):
        Changes.count += 1
        return np.array(4096 + Changes.count)
    def __index__(self): return 4096
    __int__ = __float__ = __index__
def local_bytes(I, J, X, Y):
    return Changes()
"""
GUARDED = """\
def local_bytes(I, J, X, Y):
    class Late(int):
        def __int__(self):
            import time
            time.sleep(60)
    return Late(4 * I * J // (X * Y))
"""
ORACLE = """\
from math import prod
from jax.sharding import AbstractMesh
def local_bytes(I, J, X, Y):
    mesh = AbstractMesh((X, Y), ("X", "Y"))
    return 4 * prod(NamedSharding(mesh, P("X", "Y")).shard_shape((I, J)))
"""
TIMING = """\
import time
before = time.perf_counter()
def local_bytes(I, J, X, Y):
    time.sleep(0.001)
    return int((time.perf_counter() - before) * 1000)
"""


def patched(name):
    """A patch, then answers that are wrong."""
    text = PATCHES[name]
    return Row(f"patched: {name}", 0, before=(text,), after=(text,))


def returns(name, text, **more):
    """A function that returns something odd; all else is right."""
    if "def local_bytes" not in text:
        text = f"def local_bytes(I, J, X, Y):\n    return {text}"
    return Row(
        name,
        simple_without("local_bytes"),
        "simple",
        {"local_bytes": text},
        **more,
    )


def formula(name, text, **more):
    """A formula that is an attack; all else is right."""
    text = f"import sympy\n{text}"
    return Row(
        name, simple_without("crossings"), "simple", {"crossings": text}, **more
    )


def program(name, text, **more):
    """A program that is no ring; all else is right."""
    text = f"import numpy as np\n{text}"
    return Row(name, without("gather"), "right", {"gather": text}, **more)


def laid(name, text, **more):
    """An array that is none; all else is right."""
    return Row(name, simple_without("place"), "simple", {"place": text}, **more)


GATHERED = """\
def {0}(block):
    return jax.lax.all_gather(block, "X", tiled=True)
"""

ROWS = (
    *map(patched, PATCHES),
    Row("a search for solutions", 0, after=(SEARCH,)),
    Row("the project's own tree", 0, after=(OWN_TREE,)),
    Row("files written elsewhere", 0, after=(WRITES,)),
    Row("files of ours changed", 0, after=(CHMOD,)),
    Row("files that run at the next start", 0, before=(STARTUP,)),
    Row("links out of its own folder", 0, before=(LINKS,)),
    Row("memory of other processes", 0, before=(MEMORY,)),
    returns("an answer that counts its calls", COUNTS_CALLS),
    returns("an answer to what is shown only", SHOWN_ONLY),
    returns("an answer from the stack", READS_STACK),
    returns("an answer from all objects", READS_OBJECTS),
    returns("an answer from the clock", TIMING),
    Row(
        "JAX itself as the answer",
        simple_without(),
        "simple",
        {"local_bytes": ORACLE},
        policy="a right answer by the tools of the book is right; the report "
        "on similar answers names what it imports",
    ),
    returns(
        "a number that equals all",
        f"{EQUAL}def local_bytes(*a):\n    return Equal(3)",
    ),
    returns("an object that changes", CHANGES),
    returns("a number that is slow to read", GUARDED, seconds=(3, 60)),
    returns("a truth value", "True"),
    returns("a float beside an int", "4.0 * I * J / (X * Y) + 1e-9"),
    returns("text for an int", "str(4 * I * J // (X * Y))"),
    returns("a complex number", "4 * I * J // (X * Y) + 0j"),
    returns("a number in a list", "[4 * I * J // (X * Y)]"),
    returns("an array of one number", "np.array([4 * I * J // (X * Y)])"),
    returns("a number of 5,000 digits", "10**5000"),
    returns("a function", "lambda: 3"),
    returns("a generator without end", "iter(int, 1)"),
    returns(
        "a list in itself",
        "def local_bytes(*a):\n    x = []\n    x.append(x)\n    return x",
    ),
    returns("a long list", "list(range(3_000_000))"),
    returns("a long text", "'x' * 30_000_000"),
    returns("a large array", "np.zeros(30_000_000)"),
    returns("an array of objects of ours", "np.array([object()])"),
    returns("a record array", "np.zeros(3, 'f4,i4')"),
    returns("an empty array", "np.zeros((0, 3))"),
    returns("sixty-four dimensions", "np.zeros((1,) * 64)"),
    returns("a masked array", "np.ma.masked_all(3)"),
    returns(
        "a mock",
        "def local_bytes(*a):\n"
        "    from unittest.mock import MagicMock\n    return MagicMock()",
    ),
    returns(
        "an error with a hostile text",
        "def local_bytes(*a):\n"
        "    class Bad(Exception):\n"
        "        def __str__(self): raise KeyboardInterrupt\n"
        "    raise Bad",
    ),
    returns(
        "an error that says it is a verdict",
        "def local_bytes(*a):\n"
        "    from shardlab.check import WrongAnswer\n"
        "    raise WrongAnswer('local_bytes_check: passed')",
    ),
    returns(
        "an interrupt", "def local_bytes(*a):\n    raise KeyboardInterrupt"
    ),
    returns("an exit", "def local_bytes(*a):\n    raise SystemExit(0)"),
    returns(
        "a function that is not one",
        "class Calls(type):\n    def __call__(*a): return 1\n"
        "class local_bytes(metaclass=Calls): pass\n# def local_bytes",
    ),
    Row(
        "a value with a property",
        0,
        answers={"copies": f"{EQUAL}copies = Equal(9)"},
    ),
    Row(
        "names that change when they are looked up",
        0,
        after=(
            "class Names(dict):\n"
            "    def get(self, *a): return 2\n"
            "    __getitem__ = get\n"
            "import sys\n"
            "get_ipython().user_ns = Names(get_ipython().user_ns)",
        ),
        answers={"copies": "copies = 3"},
    ),
    formula("a formula that calls", "crossings = \"__import__('os').abort()\""),
    formula("a formula with attributes", 'crossings = "D.__class__.__mro__"'),
    formula("a power tower", 'crossings = "9**9**9**9"'),
    formula("a factorial", 'crossings = "factorial(10**9)"'),
    formula("a sum without end", 'crossings = "Sum(k, (k, 1, 10**12))"'),
    formula("a formula of 100,000 brackets", 'crossings = "(" * 10**5'),
    formula("a long formula", "crossings = '+'.join(['D'] * 10**5)"),
    formula("a list for a formula", 'crossings = "[D for D in [1]]"'),
    formula("a lambda for a formula", 'crossings = "(lambda: D)()"'),
    formula("a formula that is no number", 'crossings = "0/0"'),
    formula("a formula that divides by zero", 'crossings = "D*(D-1)/(D-D)"'),
    formula(
        "a formula of ninety conditions",
        "crossings = 'Piecewise(' + ', '.join('(Sum(Sum(k, (k, 1, D)), (j, 1, '"
        " + f'D)), Eq(D, {n}))' for n in range(90)) + ')'",
    ),
    formula(
        "a table in the place of a formula",
        "crossings = 'Piecewise(' + ', '.join("
        "f'({n * (n - 1)}, Eq(D, {n}))' for n in range(1, 9)) + ')'",
    ),
    formula("a string in a formula", "crossings = \"'D*(D-1)'\""),
    formula(
        "a symbol with code for a name",
        "crossings = sympy.Symbol(\"__import__('os').abort()\")",
    ),
    formula(
        "an object that prints a formula",
        "class F:\n    def __str__(self): return 'D*(D-1)'\ncrossings = F()",
    ),
    formula(
        "a formula that is another each time",
        "class S(str):\n    def __str__(self): return 'D' * 99\n"
        "    __repr__ = __str__\ncrossings = S('D')",
    ),
    formula(
        "right at the points that are shown",
        'crossings = "D*(D-1) + (D-1)*(D-2)*(D-3)*(D-4)*(D-5)*(D-6)*(D-7)'
        '*(D-8)"',
    ),
    program("all_gather by its name", GATHERED.format("gather")),
    program(
        "all_gather in a nested jit",
        "@jax.jit\n"
        "def inner(x): return jax.lax.all_gather(x, 'X', tiled=True)\n"
        "def gather(block): return inner(block)",
    ),
    program(
        "all_gather in a scan",
        "def gather(block):\n"
        "    def step(c, _):\n"
        "        return jax.lax.all_gather(block, 'X', tiled=True), None\n"
        "    whole = jnp.zeros((8 * block.shape[0], block.shape[1]))\n"
        "    whole = jax.lax.pcast(whole, 'X', to='varying') "
        "if False else whole\n"
        "    return jax.lax.scan(step, whole, None, 1)[0]",
    ),
    program(
        "psum of padded blocks",
        "def gather(block):\n"
        "    n, i = block.shape[0], jax.lax.axis_index('X')\n"
        "    whole = jnp.zeros((8 * n, block.shape[1]), block.dtype)\n"
        "    whole = jax.lax.dynamic_update_slice(whole, block, (i * n, 0))\n"
        "    return jax.lax.psum(whole, 'X')",
    ),
    program(
        "a call back to Python",
        "def gather(block):\n"
        "    shape = jax.ShapeDtypeStruct((8 * block.shape[0],) "
        "+ block.shape[1:], block.dtype)\n"
        "    return jax.pure_callback(lambda b: np.zeros(shape.shape, "
        "np.float32), shape, block)",
    ),
    program(
        "a program that prints",
        "def gather(block):\n"
        "    jax.debug.print('{}', block)\n    return block",
    ),
    program(
        "twice the bytes",
        "def gather(block):\n"
        "    whole, ring = [block], [(i, (i + 1) % 8) for i in range(8)]\n"
        "    for _ in range(14):\n"
        "        block = jax.lax.ppermute(block, 'X', ring)\n"
        "        whole.append(block)\n"
        "    i = jax.lax.axis_index('X')\n"
        "    order = (i - jnp.arange(8)) % 8\n"
        "    return jnp.concatenate([jnp.stack(whole[7:])[order[j]] "
        "for j in range(8)])",
    ),
    program(
        "a name that looks like a permute",
        "def ppermute(x): return jax.lax.all_gather(x, 'X', tiled=True)\n"
        "ppermute.__name__ = 'stablehlo.collective_permute'\n"
        "gather = jax.jit(ppermute)",
    ),
    program(
        "constants for what is shown",
        "def gather(block):\n"
        "    if block.shape == (2, 3):\n"
        "        return jnp.arange(48, dtype=jnp.float32).reshape(16, 3)\n"
        "    return jnp.tile(block, (8, 1))",
    ),
    program(
        "a program without end",
        "def gather(block):\n"
        "    def go(x): return x + 1\n"
        "    jax.lax.while_loop(lambda x: x >= 0, go, 0)\n"
        "    return jnp.tile(block, (8, 1)) + "
        "jax.lax.while_loop(lambda x: x >= 0, lambda x: x * 1, 0.0)",
        seconds=(5, 60),
    ),
    program(
        "a program of 8 GB",
        "def gather(block):\n"
        "    big = jnp.ones((1 << 31,)) * block[0, 0]\n"
        "    return jnp.tile(block, (8, 1)) + jnp.sort(big)[0]",
    ),
    program(
        "a program that carries 100 MB",
        "def gather(block):\n"
        "    rows = np.random.default_rng(0).random((8, 3_000_000))\n"
        "    return jnp.asarray(rows, jnp.float32)[:, : block.shape[1]]",
    ),
    program(
        "an error with live text while it is exported",
        "def gather(block):\n"
        "    raise ValueError('<script>alert(1)</script>\\x1b[2J')",
    ),
    program(
        "a program that names another axis",
        "def gather(block):\n"
        "    return jax.lax.all_gather(block, 'Y', tiled=True)",
    ),
    laid("blocks of NumPy", "def place(x):\n    return x"),
    laid(
        "all on one device",
        "def place(x):\n    return jax.device_put(x, jax.devices()[0])",
    ),
    laid(
        "blocks in another order",
        "def place(x):\n"
        "    mesh = jax.sharding.Mesh(jax.devices()[::-1], 'X')\n"
        "    return jax.device_put(x, NamedSharding(mesh, P('X')))",
    ),
    laid(
        "an array that says it is sharded",
        "class Shard:\n"
        "    def __init__(self, n): self.n = n\n"
        "    device = property(lambda self: type('D', (), {'id': self.n}))\n"
        "    data = np.zeros((2, 3))\n"
        "class Fake:\n"
        "    addressable_shards = [Shard(n) for n in range(8)]\n"
        "    __class__ = jax.Array\n"
        "def place(x):\n    return Fake()",
    ),
)
