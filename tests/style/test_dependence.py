"""What is made anew when something changes: one rule, for all that is made."""

import shutil

import pytest

from tools import checks, meaning, notebooks, strategies, text

LIBRARY = {
    "hw.py": """'''Chips.'''
from dataclasses import dataclass

@dataclass
class Chip:
    '''A chip.'''
    flops: float

V5E = Chip(1.97e14)
H100 = Chip(9.9e14)
LIMITS = {}
LIMITS["v5e"] = 16
""",
    "cost.py": """
import yaml
from shardlab import hw
from shardlab.names import known as written, other

def seconds(flops: float, chip=hw.V5E):
    '''Seconds of a matmul.'''
    return flops / chip.flops

def fastest(hw):
    return hw.H100

def stored():
    from shardlab.data import table
    return table()

def limit():
    return hw.LIMITS

def named():
    return written(), other()

def by_name():
    return "shardlab.alone"
""",
    "names.py": "def known():\n    return 1\n\ndef other():\n    return 2\n",
    "alone.py": "def alone():\n    return 1\n",
    "data/__init__.py": """
from pathlib import Path

def table():
    return (Path(__file__).parent / "table.json").read_text()
""",
    "data/table.json": "[1]",
    "__init__.py": "",
    "plot/__init__.py": "from shardlab.plot.bars import bars, lines",
    "plot/bars.py": "def bars():\n    return 1\n\ndef lines():\n    return 2\n",
}
CODE = "from shardlab import cost, plot\n"
SECONDS = CODE + "cost.seconds(1)"
BARS = CODE + "plot.bars()"
SOURCE = f"import inspect\n{SECONDS}\ninspect.getsource(cost.seconds)"
# What the code does, a file, and in it an old and a new text.
KEEPS = {
    "a comment": (SECONDS, "hw.py", "V5E =", "# so\nV5E ="),
    "a docstring": (SECONDS, "cost.py", "Seconds of", "Time of"),
    "a docstring of a class": (SECONDS, "hw.py", "A chip.", "One."),
    "a type hint": (SECONDS, "cost.py", ": float", ": int"),
    "space": (SECONDS, "cost.py", "flops / chip", "flops  /  chip"),
    "another chip": (SECONDS, "hw.py", "9.9e14", "1e15"),
    "a function that nothing reaches": (SECONDS, "cost.py", "hw.LIMITS", "1"),
    "a new function": (SECONDS, "names.py", "def o", "def new(): ...\ndef o"),
    "an argument's name": (CODE + "cost.fastest(1)", "hw.py", "9.9e14", "1"),
    "data of others": (SECONDS, "data/table.json", "1", "2"),
    "another drawing": (BARS, "plot/bars.py", "2", "3"),
}
CHANGES = {
    "the chip": (SECONDS, "hw.py", "1.97e14", "1.98e14"),
    "the formula": (SECONDS, "cost.py", "flops / chip", "chip"),
    "a field": (SECONDS, "hw.py", "    flops:", "    name: str\n    flops:"),
    "what fills a dict": (CODE + "cost.limit()", "hw.py", "= 16", "= 17"),
    "its data": (CODE + "cost.stored()", "data/table.json", "1", "2"),
    "which is which": (
        CODE + "cost.named()",
        "cost.py",
        "known as written, other",
        "other as written, known as other",
    ),
    "a module by name": (CODE + "cost.by_name()", "alone.py", "1", "2"),
    "a drawing": (BARS, "plot/bars.py", "1", "3"),
    "a module as a value": (CODE + "vars(plot)", "plot/bars.py", "2", "3"),
    "what importing runs": (SECONDS, "names.py", "def k", "print(1)\ndef k"),
    "a text that is shown": (SOURCE, "cost.py", "Seconds of", "Time of"),
}


@pytest.fixture
def library(tmp_path):
    """A function that writes the small library, edited, and gives its root."""

    def write(stem, file=None, old="", new=""):
        root = tmp_path / stem
        for name, content in LIBRARY.items():
            path = root / "shardlab" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == file:
                assert old in content
                content = content.replace(old, new)
            path.write_text(content, encoding="utf-8")
        shutil.copy(text.ROOT / "requirements.txt", root)
        return root

    return write


@pytest.mark.parametrize("what", KEEPS)
def test_what_changes_no_meaning_makes_nothing_stale(library, what):
    code, *edit = KEEPS[what]
    before = meaning.digest(code, root=library("before"))
    assert meaning.digest(code, root=library("after", *edit)) == before


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_the_meaning_makes_stale(library, what):
    code, *edit = CHANGES[what]
    before = meaning.digest(code, root=library("before"))
    assert meaning.digest(code, root=library("after", *edit)) != before


def test_a_digest_follows_the_code_and_other_texts():
    plain = meaning.digest("x = 1")
    assert plain == meaning.digest("x = 1  # a comment\n")
    assert plain != meaning.digest("x = 2")
    assert plain != meaning.digest("x = 1", "a text")


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("zipp==", "lxml==0.0\nzipp==", ()),
        ("pyyaml==", "pyyaml==9.", (SECONDS,)),
        ("numpy==", "numpy==9.", ("import numpy", "import jax")),
    ],
)
def test_a_locked_package_makes_stale_what_uses_it(library, old, new, stale):
    before, after = library("before"), library("after")
    lock = after / "requirements.txt"
    content = "\n" + lock.read_text(encoding="utf-8")
    assert f"\n{old}" in content
    lock.write_text(content.replace(f"\n{old}", f"\n{new}"), encoding="utf-8")
    for code in (SECONDS, "import numpy", "import jax"):
        same = meaning.digest(code, root=before) == meaning.digest(
            code, root=after
        )
        assert same == (code not in stale)


@pytest.mark.slow
def test_a_comment_in_every_module_makes_nothing_stale(tmp_path):
    """In the book's own library: all chapters, solutions, verdicts, pages."""
    shutil.copytree(text.ROOT / "shardlab", tmp_path / "shardlab")
    shutil.copy(text.ROOT / "requirements.txt", tmp_path)
    for path in (tmp_path / "shardlab").rglob("*.py"):
        content = path.read_text(encoding="utf-8")
        path.write_text(f"# One.\n{content}\n# Two.\n", encoding="utf-8")
    made = [strategies.code(), checks.code("07_fsdp")]
    made += [text.code(notebooks.stored(x)) for _, x in notebooks.sources()]
    for code in made:
        assert meaning.digest(code) == meaning.digest(code, root=tmp_path)


def test_the_pages_follow_what_their_modules_reach():
    assert "shardlab.cost.volumes.USES" in meaning.reached(strategies.code())


def test_verdicts_follow_the_instruments_that_check():
    found = meaning.reached(checks.code("07_fsdp"))
    assert "shardlab.checks.compare.equal" in found
    assert "shardlab.authoring.kit.judge" in found
    assert not any(name.startswith("shardlab.plot") for name in found)
    assert checks.origin("07_fsdp") != checks.origin("06_data_parallelism")
