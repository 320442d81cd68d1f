"""Runs the Python of a Markdown page, and compares what it prints.

A block of Python may be followed by a block of text: what it prints. A block
that is meant to fail prints the first line of its error.
"""

import argparse
import contextlib
import io
import re
import sys
import textwrap
from pathlib import Path

from tools import atomic

BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```\n)?",
    re.DOTALL,
)

WIDTH = 76  # an error's message fits in the column of the page


def printed(code, names):
    """What a block of Python prints, with its error if it ends with one.

    code     Python text
    names    dict of global names, which the block may add to
    returns  text, each line without blanks at its end
    """
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        try:
            exec(compile(code, "page", "exec"), names)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            print(textwrap.fill(f"{type(error).__name__}: {first}", WIDTH))
    lines = stream.getvalue().splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def run(text):
    """A page with the outputs that its blocks print here, one after another.

    text     Markdown
    returns  the same Markdown, other outputs in the place of those that differ
    """
    names = {"__name__": "page"}

    def fresh(found):
        output = printed(found["code"], names)
        shown = f"\n```text\n{output}```\n" if output else ""
        return f"```python\n{found['code']}```\n{shown}"

    return BLOCK.sub(fresh, text)


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.snippets", description=__doc__
    )
    parser.add_argument("page", type=Path, help="a Markdown file")
    parser.add_argument(
        "--write", action="store_true", help="put what is printed on the page"
    )
    options = parser.parse_args(arguments)
    old = options.page.read_text(encoding="utf-8")
    new = run(old)
    if options.write:
        atomic.write(options.page, new)
    elif new != old:
        pairs = zip(old.splitlines(), new.splitlines(), strict=False)
        first = next((n for n in pairs if n[0] != n[1]), ("", "more lines"))
        print(f"{options.page}: {first[0]!r} is now {first[1]!r}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
