"""Attacks by what is shown: floods, pictures, mark-up, marks of direction."""

from tests.grading.suite.rows import Row, named, simple_without

ONE = simple_without("local_bytes")
SCRIPT = "<script>alert(1)</script>"
LIVE = "<img src=x onerror=alert(1)><svg onload=alert(1)><iframe src=//x>"
LINES = "for n in range(1_000_000):\n    print(n)"
ERRORS = "import sys\nfor n in range(300_000):\n    print(n, file=sys.stderr)"
RAW_1 = """\
import os
for fd in (1, 2):
    for n in range(2000):
        os.write(fd, b"x" * 65536)
"""
DISPLAYS = """\
from IPython.display import display
for n in range(20_000):
    display(n)
"""
ONE_LINE = "print('x' * 50_000_000)"
SYSTEM = "!yes | head -c 3000000"
PNG = """\
import struct, zlib
from IPython.display import Image, display

def chunk(kind, body):
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

def png(width, height, *more, data=None, end=True):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(9)) if data is None else data
    parts = [chunk(b"IHDR", header), *more, chunk(b"IDAT", data)]
    parts += [chunk(b"IEND", b"")] * end
    return b"\\x89PNG\\r\\n\\x1a\\n" + b"".join(parts)

def show(data):
    display({"image/png": data}, raw=True)
"""
FRAMES = "chunk(b'acTL', bytes(8)), chunk(b'fcTL', bytes(26))"
PLOTS = """\
import matplotlib.pyplot as plt
for n in range(12):
    plt.figure(figsize=(20, 20))
    plt.imshow(np.random.default_rng(n).random((900, 900)))
"""
MIMES = """\
from IPython.display import display
for kind in ("text/html", "application/javascript", "image/svg+xml",
             "text/markdown", "text/latex", "application/json",
             "application/vnd.jupyter.widget-view+json", "application/pdf",
             "application/vnd.vegalite.v5+json", "image/jpeg", "image/gif",
             "text/x-python", "<script>alert(1)</script>"):
    display({kind: "<script>alert(1)</script>"}, raw=True)
"""
REPRESENTS = """\
class Shown:
    def _repr_html_(self): return "<script>alert(1)</script>"
    def _repr_png_(self): return b"<script>alert(1)</script>"
    def _repr_svg_(self): return "<svg onload=alert(1)/>"
    def _repr_markdown_(self): return "![x](javascript:alert(1))"
    def _repr_mimebundle_(self, **k): return {"text/html": "<script>"}
    def _ipython_display_(self): raise SystemExit
Shown()
"""
ERROR_NAMES = """\
kind = type("<script>alert(1)</script>", (Exception,), {})
raise kind("<img src=x onerror=alert(1)>" * 3 + "\\x1b[2J\\u202e")
"""
FUNCTION_NAMES = """\
text = "def f():\\n    raise ValueError('</pre><script>alert(1)</script>')"
space = {}
exec(compile(text, "<script>alert(1)</script>.py", "exec"), space)
code = space["f"].__code__.replace(co_name="<img src=x onerror=alert(1)>")
space["f"].__code__ = code
space["f"]()
"""
ESCAPES = r"""
print("\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]8;;http://x\x07link\x9b31m")
print("\x08\x08\r\x0b\x0c\x00\x7f\x85")
print("\u202e\u2066\u200f\u200b\ufeff\u2028\u2029\u061c\U000e0041")
"""
SURROGATES = 'print("\\ud800" * 9, "\\udfff")\nraise ValueError("\\ud800")'
CLOSES = """\
import os, sys
sys.stdout.close(); sys.stderr.close()
sys.stdout = sys.stderr = None
for fd in (0, 1, 2):
    os.close(fd)
"""
REPLACES = """\
import sys
class Out:
    def write(self, text): return 1 / 0
    def flush(self): raise SystemExit
sys.stdout = sys.stderr = sys.__stdout__ = Out()
print("x")
"""
TRACE = """\
def down(n):
    if n == 0:
        raise ValueError("x" * 10**7)
    down(n - 1)
down(900)
"""
CHAIN = """\
for n in range(300):
    try:
        try:
            raise ValueError(n)
        except ValueError as inner:
            last = KeyError("x" * 1000)
            last.__cause__ = globals().get("kept")
            raise last
    except KeyError as outer:
        kept = outer
raise kept
"""
HANDLERS = """\
import logging, sys, warnings
logging.basicConfig(stream=sys.stdout, level=0)
warnings.showwarning = lambda *a: 1 / 0
for n in range(100_000):
    logging.getLogger("x").error("<script>%d", n)
"""
HUGE_REPR = """\
class Shown:
    def __repr__(self): return "x" * 100_000_000
Shown()
"""
ENDLESS_REPR = """\
class Shown:
    def __repr__(self):
        while True:
            pass
Shown()
"""
BARS = """\
import sys
for n in range(200_000):
    sys.stdout.write(f"\\r{n}")
"""
PROOFS = {
    "a script in a proof": SCRIPT + LIVE,
    "a proof that closes its fence": "```\n" + SCRIPT + "\n````\n`````" + LIVE,
    "tildes in a proof": "~~~\n" + SCRIPT + "\n~~~",
    "links in a proof": "[x](javascript:alert(1)) ![x](http://192.0.2.1/x.png)",
    "formulas in a proof": "$$\\require{html}\\href{javascript:alert(1)}{x}$$",
    "comments in a proof": "<!-- --><textarea></textarea></pre></code>" + LIVE,
    "odd white space in a proof": "\r```\r" + SCRIPT + "\x0b```\x0c" + LIVE,
    "a proof with directions": "\u202e\u2066" + SCRIPT + "\x1b[2J",
}


def shown(name, text, **more):
    """All questions right but one, whose cell shows something."""
    return Row(name, ONE, "simple", {"local_bytes": text}, **more)


def proof(name):
    """A written proof with live text; no points by itself."""

    def change(notebook):
        named(notebook, "proof")["source"] = PROOFS[name]

    return Row(name, 0, "blank", change=change, present=("```text",))


def picture(name, call, **more):
    """A cell that shows what may be no picture."""
    more = {"absent": ("image/png",), **more}
    return shown(name, f"{PNG}\n{call}", **more)


ROWS = (
    shown("a million lines", LINES, seconds=(20, 60)),
    shown("lines of errors", ERRORS),
    shown("floods of descriptors 1 and 2", RAW_1),
    shown("many displays", DISPLAYS, seconds=(20, 60)),
    shown("a line of 50 MB", ONE_LINE),
    shown("output of the shell", SYSTEM, seconds=(20, 60)),
    shown("a bar of 200,000 steps", BARS),
    shown("a huge representation", HUGE_REPR),
    shown("an endless representation", ENDLESS_REPR, seconds=(3, 60)),
    shown("a traceback of 900 levels", TRACE),
    shown("a chain of 300 errors", CHAIN, seconds=(20, 60)),
    shown("handlers of logs and warnings", HANDLERS, seconds=(20, 60)),
    shown("escapes and marks of direction", ESCAPES, absent=("\u202e",)),
    shown("half characters", SURROGATES),
    shown("streams closed", CLOSES),
    shown("streams replaced", REPLACES),
    shown("every kind of display", MIMES, absent=("text/html", "svg+xml")),
    shown("every representation", REPRESENTS, absent=('text/html"',)),
    shown("an error with a live name", ERROR_NAMES),
    shown("a live name in a traceback", FUNCTION_NAMES),
    picture("a picture of 100,000 x 100,000", "show(png(100_000, 100_000))"),
    picture("a picture without height", "show(png(9, 0))"),
    picture("a page as a picture", "show(b'<script>alert(1)</script>')"),
    picture("text as a picture", "show('<svg onload=alert(1)>')"),
    picture("a picture of 3 MB", "show(png(9, 9, data=bytes(3_000_000)))"),
    picture("a picture cut short", "show(png(9, 9, end=False))"),
    picture(
        "a picture with text in it",
        "show(png(9, 9, chunk(b'tEXt', b'<script>alert(1)')) + b'<script>')",
        absent=("tEXt", "PHNjcmlwd"),
        present=("image/png",),
    ),
    picture(
        "a picture that moves",
        f"show(png(9, 9, {FRAMES}))",
        absent=("YWNUT", "acTL"),
        present=("image/png",),
    ),
    picture(
        "three hundred pictures",
        "for n in range(300):\n    show(png(99, 99, data=bytes(200_000)))",
        absent=(),
        present=("image/png",),
    ),
    Row(
        "a hundred cells with four large pictures each",
        0,
        after=(PNG,)
        + ("for n in range(4):\n    show(png(9, 9, data=bytes(900_000)))",)
        * 99,
        seconds=(8, 120),
    ),
    shown("twelve large plots", PLOTS, seconds=(30, 90)),
    *map(proof, PROOFS),
    Row(
        "an answer that is a page",
        simple_without("copies"),
        "simple",
        {"copies": f'copies = "{SCRIPT}{LIVE}</pre></code>"'},
    ),
    Row(
        "live text when asked",
        simple_without("copies", "local_bytes", "crossings"),
        "simple",
        {
            "copies": f'copies = "{SCRIPT}\\x1b[2J\\u202e"',
            "local_bytes": "def local_bytes(*a):\n"
            f"    raise type('{SCRIPT}', (Exception,), {{}})('{LIVE}')",
            "crossings": f'crossings = "{SCRIPT}"',
        },
    ),
)
