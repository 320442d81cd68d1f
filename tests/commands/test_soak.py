"""The suite run again and again: what is kept of each run, and what is left."""

import json
import subprocess
import sys

import pytest

from bench import instructions, soak

PRINTS = """
FAILED tests/a/test_b.py::test_c[1-2] - AssertionError: 1 == 2
ERROR tests/a/test_d.py::test_e
======== 1 failed, 7 passed, 1 error in 3.14s ========
3 passed, 2 warnings in 0.10s
"""
LEAVES = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c',"
    " 'import time; time.sleep(600)'], start_new_session=True,"
    " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"
)


def ran(tmp_path, code):
    """What a command comes to, seen from a process that has no other child."""
    path = tmp_path / "said.py"
    path.write_text(
        "import json, sys\nfrom bench import soak\n"
        f"print(json.dumps(soak.run([sys.executable, '-c', {code!r}], "
        f"{str(tmp_path / 'log')!r})))\n"
    )
    asked = [sys.executable, str(path)]
    env = {"PYTHONPATH": str(soak.ROOT), "PATH": "/usr/bin:/bin"}
    # A limit, lest a fault hang the suite; no verdict hangs on it.
    how = {"capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(asked, env=env, **how)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_all_closing_lines_count_and_failures_are_named(tmp_path):
    found = ran(tmp_path, f"print({PRINTS!r}); raise SystemExit(1)")
    assert found["status"] == 1
    assert not found["left"]
    assert found["counts"] == {
        **{"failed": 1, "passed": 10, "error": 1, "warnings": 2}
    }
    assert found["failed"] == [
        "tests/a/test_b.py::test_c[1-2]",
        "tests/a/test_d.py::test_e",
    ]


def test_a_process_that_is_left_is_named_and_ended(tmp_path):
    found = ran(tmp_path, f"print('1 passed in 0.01s'); {LEAVES}")
    assert found["counts"] == {"passed": 1}
    assert found["status"] == 0
    (left,) = found["left"]
    assert "time.sleep(600)" in left
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True)
    assert left.encode() not in running.stdout


ORPHAN = """
import os, pathlib, subprocess, sys, time
code = "import subprocess; print(subprocess.Popen(['true']).pid)"
said = subprocess.run([sys.executable, "-c", code], capture_output=True)
while pathlib.Path("/proc", said.stdout.decode().strip()).exists():
    time.sleep(0.05)
print("1 passed in 0.01s")
"""


def test_an_orphan_that_ends_is_gone_while_the_run_goes_on(tmp_path):
    assert ran(tmp_path, ORPHAN)["counts"] == {"passed": 1}


def test_a_run_without_a_closing_line_is_no_run(tmp_path):
    with pytest.raises(AssertionError, match="no closing line of pytest"):
        ran(tmp_path, "print('killed')")


def test_the_summary_names_what_is_flaky():
    one = {"suite": "test", "counts": {"passed": 9}, "failed": [], "left": []}
    other = one | {"counts": {"passed": 8}, "failed": ["t::a"], "left": ["x"]}
    assert (
        soak.summary([one, other, one])
        == "| test | 3 | 26 | `t::a` 1 times | 1 |"
    )
    assert soak.summary([one]) == "| test | 1 | 9 | none | 0 |"


def test_no_runs_are_asked_for_in_vain(capsys):
    with pytest.raises(SystemExit):
        soak.main(["--times", "0"])
    assert "--times must be at least 1, got 0" in capsys.readouterr().err


def test_a_run_with_fewer_instructions_says_on_what(tmp_path, monkeypatch):
    asked = []

    def run(command, log, flags):
        asked.append(flags)
        return {"status": 0, "counts": {"passed": 3}, "failed": [], "left": []}

    monkeypatch.setattr(soak, "run", run)
    monkeypatch.setattr(soak, "PROCESSORS", tmp_path / "processors.json")
    assert soak.main(["--times", "1", "--instructions", "AVX2"]) == 0
    (said,) = json.loads((tmp_path / "processors.json").read_text())
    assert asked == [instructions.FLAGS["AVX2"]]
    assert said["instructions"] == "AVX2"
    assert said["flags"] == asked[0]
    assert said["processor"] == instructions.processor_name()


def test_flags_that_nobody_heeds_are_refused(monkeypatch):
    for name in instructions.FLAGS:
        instructions.refuse_unheeded(name)
    unknown = {"NPY_DISABLE_CPU_FEATURES": ""}
    monkeypatch.setitem(instructions.FLAGS, "AVX2", unknown)
    instructions.refuse_unheeded("AVX2")
    script = "print('X86_V4')"
    monkeypatch.setattr(instructions, "_USED", script)
    monkeypatch.setitem(
        instructions.FLAGS, "AVX2", {"NPY_DISABLE_CPU_FEATURES": "X86_V4"}
    )
    with pytest.raises(ValueError, match="leave out X86_V4; it uses X86_V4"):
        instructions.refuse_unheeded("AVX2")
