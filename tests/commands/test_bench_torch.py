"""bench.torch_counts finds again what is stored, where PyTorch is there."""

import importlib.util
import json
import subprocess
import sys

import pytest

from bench.torch_counts import __main__ as command
from shardlab import foreign
from tests.tree import ROOT


def test_without_pytorch_it_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "missing", lambda: "PyTorch is not here")
    path = tmp_path / "torch.json"
    assert command.main(["--out", str(path)]) == 2
    assert "nothing was counted: PyTorch" in capsys.readouterr().err
    assert not path.exists()


def test_what_is_written_is_what_was_found():
    found = {"a": [1, 2], "b": [{"c": ["x  y", {}]}, []], "d": {"e": None}}
    text = command.compact(found)
    assert json.loads(text) == found
    assert '"a": [1, 2]' in text.splitlines()[1]


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="needs requirements-torch.txt",
)
def test_the_stored_tables_are_found_again(tmp_path):
    path = tmp_path / "torch.json"
    run = [sys.executable, "-m", "bench.torch_counts", "--out", str(path)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    found, stored = json.loads(path.read_text()), foreign.stored()
    exact = ("programs", "counts", "by_module", "loss", "attention")
    for name in (*exact, "pipelines"):
        assert found[name] == stored[name], name
    assert found["gloo"]["fake"] == stored["gloo"]["fake"]
    runs = (found["gloo"]["trained"], stored["gloo"]["trained"])
    for new, old in zip(*runs, strict=True):
        assert new["records"] == old["records"], new["strategy"]
        assert new["losses"] == pytest.approx(old["losses"], rel=1e-6)
