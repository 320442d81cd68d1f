"""A process of a grading starts as `python -m` does, but for its garbage."""

import json
import os
import subprocess
import sys

import pytest

from shardlab.grading import start

MODULE = """
import gc, json, os, sys
from shardlab.grading import start
before = gc.isenabled()
start.started()
here = sys.path[0]
os.chdir("/")
print(json.dumps([__name__, sys.argv[1:], here, sys.path[0], before,
                  gc.isenabled()]))
"""


@pytest.mark.parametrize("safe", ["", "1"], ids=["plain", "safe path"])
def test_it_starts_as_a_module_does(tmp_path, safe):
    (tmp_path / "begun.py").write_text(MODULE)
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    paths = os.pathsep.join([root, str(tmp_path)])
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": safe}

    def told(words):
        return json.loads(
            subprocess.check_output(words, cwd=tmp_path, env=env, text=True)
        )

    found = told(start.command("begun", "7", "x"))
    by_hand = told([sys.executable, "-m", "begun", "7", "x"])
    assert found[:4] == by_hand[:4]
    assert found[:2] == ["__main__", ["7", "x"]]
    assert found[4:] == [False, True]
