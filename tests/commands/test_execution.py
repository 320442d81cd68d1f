"""A notebook is executed by a kernel that ends with whoever started it."""

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
    "import os, time\\n"
    "print(os.getpid(), file=open('pid', 'w', 1))\\n"
    "time.sleep(600)"
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
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT
    )
    path = tmp_path / "pid"
    while not (path.exists() and path.read_text().endswith("\n")):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kernel = int(path.read_text())
    while is_running(kernel):  # a hang is what would fail
        time.sleep(0.1)


def is_running(pid):
    """Whether a process runs: one that has ended may wait to be buried."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
