"""Packs what a reader carries away: page, notebooks, PDF, EPUB, below dist/."""

import argparse
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tools import epub, pdf

ROOT = Path(__file__).resolve().parent.parent
NAME = "shard-by-shard"
# What notebooks need to be run elsewhere.
RUN = ("chapters", "exercises", "shardlab", "requirements.txt")
RUN += ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT")
DATE = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


def pack(paths, root, target, folder):
    """Write a zip archive whose bytes depend on its files alone.

    paths    files below `root`
    root     folder
    target   path of the archive
    folder   name of the folder that the archive unpacks to
    returns  the number of files
    raises   ValueError for no file
    """
    if not paths:
        raise ValueError(f"nothing to pack below {root}")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(paths):
            name = f"{folder}/{path.relative_to(root).as_posix()}"
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return len(paths)


def tracked(root, names):
    """The project's own files below `names`, without what was made."""
    listing = ["git", "ls-files", "-z", "-co", "--exclude-standard", *names]
    said = subprocess.run(listing, cwd=root, capture_output=True, check=True)
    found = {root / name for name in said.stdout.decode().split("\0") if name}
    return [path for path in found if path.is_file()]


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.dist", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args(arguments).out
    if not (pdf.HTML / "index.html").exists():
        print("dist: no page was built; run make book", file=sys.stderr)
        return 1
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if status := pdf.main(["--out", str(out / f"{NAME}.pdf")]):
        return status
    if status := epub.main(["--out", str(out / f"{NAME}.epub")]):
        return status
    page = [p for p in pdf.HTML.rglob("*") if p.is_file()]
    page = [p for p in page if p.name not in (".face", ".buildinfo")]
    for name, root, paths in (
        ("page", pdf.HTML, page),
        ("notebooks", ROOT, tracked(ROOT, RUN)),
    ):
        target = out / f"{NAME}-{name}.zip"
        files = pack(paths, root, target, f"{NAME}-{name}")
        size = target.stat().st_size / 1e6
        print(f"{size:.1f} MB, {files} files: {target.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
