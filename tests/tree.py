"""A copy of the project in a folder of its own, for tests that change it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


# What .gitignore names, for a tree that came as an archive.
MADE = {
    ".venv",
    ".venv-page",
    "_build",
    "work",
    "__pycache__",
    ".pytest_cache",
    ".git",
}


def files():
    """The project's files: tracked, or new and not ignored."""
    if not (ROOT / ".git").exists():
        paths = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*"))]
        return [
            str(path)
            for path in paths
            if (ROOT / path).is_file()
            and not MADE & set(path.parts)
            and not any(".egg-info" in part for part in path.parts)
        ]
    listing = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    said = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True)
    names = said.stdout.decode().split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def copy(target):
    """Copy the project's files below `target`; returns `target`."""
    for name in files():
        place = Path(target) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place)
        shutil.copymode(ROOT / name, place)
    return Path(target)


def environment(root, **more):
    """The variables with which a program uses the modules below `root`."""
    return {
        **os.environ,
        "PYTHONPATH": str(root),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        **more,
    }


def python(root, *arguments, **more):
    """Run this Python in `root` on its own modules; returns what it said."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment(root, **more),
        capture_output=True,
        text=True,
    )


def replace(path, old, new):
    """Replace text in a file; the old text must be there."""
    content = path.read_text(encoding="utf-8")
    assert old in content, f"{path.name} holds no {old!r}"
    path.write_text(content.replace(old, new), encoding="utf-8")
