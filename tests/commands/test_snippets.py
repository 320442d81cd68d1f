"""Pages with Python in them print what Python prints."""

import subprocess
import sys

import pytest

from tools import snippets
from tools.text import ROOT

PAGES = ("jax_in_ten_lines.md", "coming_from_pytorch.md")

PAGE = """Before.

```python
x = 2
print(x + 1)
```

```text
4
```

Between.

```python
x = 1 / 0
```

After.
"""


@pytest.mark.parametrize("name", PAGES)
def test_every_printed_result_is_what_is_printed(name):
    # A program of its own: a page decides how many devices there are.
    command = [sys.executable, "-m", "tools.snippets", f"book/{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_gets_its_outputs_and_its_errors():
    told = snippets.run(PAGE)
    assert "```text\n3\n```\n\nBetween." in told
    assert "```text\nZeroDivisionError: division by zero\n```\n" in told
    assert snippets.run(told) == told


def test_the_command_names_the_line_that_changed(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert snippets.main([str(page)]) == 1
    assert "'4' is now '3'" in capsys.readouterr().out
    assert snippets.main([str(page), "--write"]) == 0
    assert snippets.main([str(page)]) == 0
