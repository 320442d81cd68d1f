"""`make book` in a fresh clone: download, install and build, each by itself.

The packages come once from the registry, into an empty cache, and once from
that cache. The difference is the download. uv leaves it to Python to compile
what is loaded of them, at the first build; pip would, when it installs. So a
second build of all pages is the build, and the difference belongs to install.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measuring import row, timed

ROOT = Path(__file__).resolve().parents[1]
TURNS = 3  # each with a clone and a cache of its own
CHAPTER = "chapters/05_one_chip.ipynb"
GOALS = {  # seconds of the clock, on two cores with nothing else to do
    "build": 15,
    "all, with an empty cache": 75,
    "build, nothing changed": 3,
    "build, one chapter changed": 8,
}


def clone(folder):
    """A copy of what is tracked, as it stands."""
    listing = ["git", "ls-files", "-z"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True)
    for name in done.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def runner(folder, cache):
    """A function that runs a command there, with a cache of its own."""
    outside = os.path.dirname(sys.executable)
    paths = os.environ["PATH"].split(":")
    env = {
        **os.environ,
        "PATH": ":".join(p for p in paths if p != outside),
        "UV_CACHE_DIR": str(cache / "uv"),
        "PIP_CACHE_DIR": str(cache / "pip"),
        "VIRTUAL_ENV": str(folder / ".venv-page"),
    }

    def run(*command):
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stdout[-800:]}{done.stderr}")

    return run


def less(a, b):
    """(wall, processor) of a without those of b."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def parts():
    """What each part of the first build took, and later builds.

    returns  dict: name -> (seconds of the clock, of the processor), and the
             bytes of all packages
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, cache = Path(name) / "clone", Path(name) / "cache"
        clone(folder)
        run = runner(folder, cache)
        venv = folder / ".venv-page"
        install = [str(venv / "bin/uv"), "pip", "install", "--quiet"]
        install += ["--native-tls", "-r", "requirements-page.txt"]
        code = "import sys; sys.path.insert(0, 'tools'); import setup; "
        code += "open(setup.PAGE_VENV + '/ready', 'w').write("
        code += "setup.wanted(setup.PAGE_VENV))"

        def environment():
            run("python3", "-m", "venv", str(venv))
            pip = [str(venv / "bin/python"), "-m", "pip", "install", "-q"]
            run(*pip, "uv==0.13.9")

        made = timed(environment)
        cold = timed(lambda: run(*install))
        shutil.rmtree(venv)
        environment()
        warm = timed(lambda: run(*install))
        run("python3", "-c", code)
        first = timed(lambda: run("make", "book"))
        shutil.rmtree(folder / "_build")
        build = timed(lambda: run("make", "book"))
        again = timed(lambda: run("make", "book"))
        path = folder / CHAPTER
        path.write_text(path.read_text().replace("The ", "The very ", 1))
        changed = timed(lambda: run("make", "book"))
        path = venv / "lib"
        size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    both = [
        tuple(map(sum, zip(made, x, first, strict=True))) for x in (cold, warm)
    ]
    found = {
        "the environment, pip and uv": made,
        "download": less(cold, warm),
        "install": warm,
        "packages compiled": less(first, build),
        "build": build,
        "all, with an empty cache": both[0],
        "all, with a warm cache": both[1],
        "build, nothing changed": again,
        "build, one chapter changed": changed,
    }
    return found, size


def rows():
    """Yield a row for each part of the first build, and for later ones."""
    turns = [parts() for _ in range(TURNS)]
    for name in turns[0][0]:
        wall, cpu = zip(*(found[name] for found, _ in turns), strict=True)
        note = f"{turns[0][1] / 1e6:.0f} MB" if name == "install" else ""
        yield row(f"book: {name}", wall, cpu, 0, note, GOALS.get(name))
