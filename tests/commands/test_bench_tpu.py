"""bench.tpu finds again what is stored, where Google's compiler is there."""

import importlib.util
import json
import subprocess
import sys

import pytest

from bench.tpu import __main__ as command
from bench.tpu import programs
from shardlab import compiled
from tests.tree import ROOT

TEXT = """\
%all-reduce-scatter (p: bf16[8]) -> bf16[4] {
  %r = bf16[16,8]{1,0} all-reduce(%p), channel_id=4, to_apply=%add
}
%async_fusion.1 (p: bf16[8]) -> bf16[8] {
  %g.1 = bf16[32,8]{1,0} all-gather(%p), channel_id=1, META
}
%async_fusion.2 (p: bf16[8]) -> bf16[8] {
  %g.2 = bf16[32,8]{1,0} all-gather(%p), channel_id=1, META
}
ENTRY %main (p: bf16[8]) -> bf16[8] {
  %g.3 = bf16[32,8]{1,0} all-gather(%p), channel_id=1, META
  %s = (f32[4,2]{1,0}, u32[]) send(%p), channel_id=9
  %d = f32[] all-reduce(%p), channel_id=7
}
""".replace("META", 'metadata={op_name="jit(f)/all_gather"}')


def test_without_the_compiler_it_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "missing", lambda: "libtpu is not here")
    path = tmp_path / "tpu.json"
    assert command.main(["--out", str(path)]) == 2
    assert "nothing was compiled: libtpu" in capsys.readouterr().err
    assert not path.exists()


def test_collectives_are_read_each_once():
    found = programs.collectives(TEXT)
    assert [one["kind"] for one in found] == [
        *("all-reduce", "all-gather", "all-gather", "send")
    ]
    assert [one["bytes"] for one in found] == [256, 512, 512, 32]
    assert [one["within"] for one in found] == ["scatter", "", "", ""]
    assert found[1]["asked"] == "all_gather"


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason="needs requirements-tpu.txt",
)
def test_the_stored_tables_are_found_again(tmp_path):
    path = tmp_path / "tpu.json"
    run = [sys.executable, "-m", "bench.tpu", "--out", str(path)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    found, stored = json.loads(path.read_text()), compiled.compiled()
    for name in ("sizes", "steps", "blocks", "slices", "stack", "knees"):
        assert found[name] == stored[name], name
