"""A notebook is executed by a kernel that ends with whoever started it."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.tree import ROOT
from tools import execution

RUN = """
import sys
from pathlib import Path
from nbformat.v4 import new_code_cell, new_notebook
from tools import execution
cell = (
    "import os, signal\\n"
    "print(os.getpid(), file=open('pid', 'w', 1))\\n"
    "os.kill(os.getpid(), signal.SIGSTOP)"
)
execution.run(new_notebook(cells=[new_code_cell(cell)]), Path(sys.argv[1]))
"""


def test_a_kernel_finds_modules_as_any_other(tmp_path):
    cell = "import sys\nprint('' in sys.path, 'tools' in sys.modules)\n1 + 1"
    made = new_notebook(cells=[new_code_cell(cell)])
    execution.run(made, tmp_path)
    said, result = made.cells[0].outputs
    assert said.text == "True False\n"
    assert result.data["text/plain"] == "2"


def test_a_kernel_whose_parent_has_ended_does_not_begin(tmp_path, monkeypatch):
    manager = execution.Kernels(kernel_name="python3")
    manager.connection_file = str(tmp_path / "connection.json")
    manager._launch_args = {}
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(os, "getpid", lambda: ended.pid)
    words = manager.format_kernel_cmd()
    monkeypatch.undo()
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.stderr == "the process that started this one has ended\n"
    assert done.returncode == 1
    assert not (tmp_path / "connection.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own promise")
def test_a_kernel_ends_with_the_process_that_started_it(tmp_path):
    # One that is stopped looks for no parent: it is the system that ends it.
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT
    )
    path = tmp_path / "pid"
    try:
        wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
        wait_until(lambda: state(int(path.read_text())) == "T")
    finally:
        process.kill()
        process.wait()
    kernel = int(path.read_text())
    try:
        wait_until(lambda: state(kernel) in ("Z", ""))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(kernel, signal.SIGKILL)


def wait_until(holds, seconds=300):
    """Wait; the seconds are there to end a test that hangs, and no more."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def state(pid):
    """The letter of a process in /proc: T stopped, Z ended; "" if gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
