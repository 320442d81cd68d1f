"""A module that is imported leaves everything else as it was."""

import json
import os
import subprocess
import sys

import pytest

from tests.tree import ROOT

# The first array settles what JAX is; whoever would change it comes too late.
PROGRAM = """
import importlib, json, os, sys
import jax
import matplotlib

jax.numpy.ones(1).block_until_ready()


def state():
    return {
        "environment": dict(os.environ),
        "JAX": {name: str(value) for name, value in jax.config.values.items()},
        "pictures": {name: str(value) for name, value in settings.items()},
        "files": sorted(os.listdir()),
    }


settings = matplotlib.rcParams
before, wrong = state(), []
for name in json.load(sys.stdin):
    importlib.import_module(name)
    after = state()
    wrong += [f"{name} changes {k}" for k in before if after[k] != before[k]]
    before = after
print(json.dumps(wrong))
"""


def modules():
    """Every module of the library that is no command."""
    for path in sorted((ROOT / "shardlab").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not name.endswith("__main__"):
            yield name.removesuffix(".__init__")


def changes(names, folder, path=ROOT):
    """What imports change, as sentences."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    environment.pop("JAX_NUM_CPU_DEVICES", None)  # which the tests have set
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", PROGRAM],
        input=json.dumps(list(names)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_an_import_changes_nothing(tmp_path):
    assert len(names := list(modules())) > 200
    assert changes(names, tmp_path) == []


@pytest.mark.slow
def test_a_change_is_seen(tmp_path):
    module = tmp_path / "loud.py"
    module.write_text("import os\nos.environ['LOUD'] = 'yes'\n")
    assert changes(["loud"], tmp_path, tmp_path) == ["loud changes environment"]
    module.write_text(
        "import jax\njax.config.update('jax_num_cpu_devices', 3)\n"
    )
    with pytest.raises(AssertionError, match="before backends are initialized"):
        changes(["loud"], tmp_path, tmp_path)
