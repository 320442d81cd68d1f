"""What `make` says when the machine is not as it should be."""

import os
import runpy
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.tree import ROOT


def setup(root, *arguments, code="", **more):
    """Run tools/setup.py, after `code`, in `root`."""
    script = root / "tools/setup.py"
    program = (
        f"import sys; sys.argv = [{str(script)!r}, *{list(arguments)!r}]\n"
        f"{code}\n"
        "import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def root(tmp_path):
    """A folder with what tools/setup.py reads."""
    (tmp_path / "tools").mkdir()
    lists = ("pyproject.toml", "requirements.txt", "requirements-page.txt")
    for name in ("tools/setup.py", *lists):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("version", [(3, 10, 4), (3, 14, 0), (2, 7, 18)])
def test_another_python_is_refused_in_one_sentence(root, version):
    done = setup(root, code=f"sys.version_info = {version}")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("setup: Python 3.11 to 3.13 is needed, ")
    assert f"is {version[0]}.{version[1]};" in line
    assert not (root / ".venv").exists()


NOWHERE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_FIND_LINKS": "",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_RETRIES": "0",
    "UV_HTTP_RETRIES": "0",
    "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
    "UV_NO_CACHE": "1",
}


@pytest.mark.long
def test_a_registry_out_of_reach_is_named_in_one_sentence(root):
    done = setup(root, **NOWHERE)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("setup: the package registry cannot be reached")
    assert not (root / ".venv/ready").exists()


def test_an_environment_that_is_ready_is_left_alone(root):
    module = runpy.run_path(str(root / "tools/setup.py"))
    stamp = root / ".venv/ready"
    stamp.parent.mkdir()
    stamp.write_text(module["wanted"]())
    done = setup(root, **NOWHERE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (root / "requirements.txt").write_text("no-such-package==1\n-e .\n")
    failing = "import subprocess; subprocess.call = lambda *words, **how: 1"
    done = setup(root, code=failing)
    assert "installing the locked packages" in done.stdout
    assert "python -m venv failed" in done.stderr


def test_a_rule_of_the_linter_changes_nothing_that_is_installed(root):
    wanted = runpy.run_path(str(root / "tools/setup.py"))["wanted"]
    before = wanted()
    with open(root / "pyproject.toml", "a") as file:
        file.write("\n[tool.codespell]\nskip = 'x'\n")
    assert wanted() == before
    text = (root / "pyproject.toml").read_text()
    text = text.replace('"jax==', '"jax!=0.0.1,==')
    (root / "pyproject.toml").write_text(text)
    assert wanted() != before


def wheel(folder):
    """A package of one empty module in a folder; returns its requirement."""
    about = "tiny-1.0.dist-info"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        "tiny.py": "",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0",
        f"{about}/WHEEL": kind,
        f"{about}/RECORD": "",
    }
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return "tiny==1.0\n"


def test_a_registry_that_only_pip_knows_is_enough(root):
    # uv is not to be had; pip installs what a folder of wheels holds.
    wheels = root / "wheels"
    (root / "requirements.txt").write_text(wheel(wheels))
    known = {"PIP_FIND_LINKS": str(wheels), "PIP_NO_INDEX": "1"}
    done = setup(root, **NOWHERE | known)
    assert done.returncode == 0, done.stderr
    assert (root / ".venv/ready").exists()
    assert list((root / ".venv").glob("lib/*/site-packages/tiny.py"))
    assert not (root / ".venv/bin/uv").exists()


def test_a_missing_browser_is_named_with_its_command(root):
    hidden = "import os, shutil; shutil.which = lambda name: None"
    done = setup(root, "--browser", code=hidden, CI="")
    assert done.returncode == 0
    assert "chromium is missing, so its tests are skipped" in done.stdout
    assert "sudo apt-get install -y --no-install-recommends" in done.stdout
    done = setup(root, "--browser", code=hidden, CI="true")
    assert done.returncode == 1
    assert "chromium is missing and could not be installed" in done.stderr


def test_help_lists_every_command():
    said = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    for target in (
        "book",
        "test",
        "lab",
        "reset",
        "notebooks",
        "preview",
        "check",
        "grade",
    ):
        assert f"make {target} " in said


def test_the_lock_is_whole():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert lines[-1] == "-e ."
    pinned = [line.split("#")[0].split(";")[0].strip() for line in lines[:-1]]
    assert all("==" in line for line in pinned)
    assert not any("://" in line for line in lines)
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ]
    for direct in [line for each in lists for line in each]:
        name, version = direct.partition(";")[0].split("==")
        name = name.partition("[")[0].lower()
        assert f"{name}=={version}" in [p.lower() for p in pinned]
