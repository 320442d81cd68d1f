#!/bin/bash
# Runs the chapters on an emulated 64-bit ARM processor; compares every output.
#
#     tools/aarch64.sh [chapter ...]     such as 06 17; default all of them
#
# Needs root on Debian with an x86 processor, 4 GB of disk, and 4 GB of memory.
# The first run installs Debian's qemu-user-static and debootstrap, and puts a
# small ARM Debian with the locked packages into work/aarch64, which takes about
# ten minutes. A chapter that runs for 40 minutes is stopped. What runs is the
# last commit. Results: bench/canary/<date>-aarch64-python<version>.json, .md.
set -eu -o pipefail
cd "$(dirname "$0")/.."
LIMIT=2400 SUITE=bookworm place=$PWD/work/aarch64
root=$place/root binfmt=/proc/sys/fs/binfmt_misc
[ "$(id -u)" = 0 ] || { echo "aarch64: only root can chroot" >&2; exit 2; }
for chapter in "$@"; do
  compgen -G "chapters/${chapter}_*.ipynb" > /dev/null ||
    { echo "aarch64: no chapter '$chapter'; give two digits" >&2; exit 2; }
done
# Mounts are private to this process: nothing is left behind, whenever it ends.
[ "${APART-}" ] || exec unshare --mount env APART=1 bash tools/aarch64.sh "$@"

dpkg -s debootstrap qemu-user-static > /dev/null 2>&1 ||
  apt-get install -qq -y debootstrap qemu-user-static > /dev/null
[ -e $binfmt/register ] || mount -t binfmt_misc binfmt_misc $binfmt
[ -e $binfmt/qemu-aarch64 ] ||
  cat /usr/lib/binfmt.d/qemu-aarch64.conf > $binfmt/register
[ -e .venv/ready ] || python3 tools/setup.py
if [ ! -e "$root/ready" ]; then
  rm -rf "$root" && mkdir -p "$place"
  debootstrap --arch=arm64 --variant=minbase --include=python3 $SUITE "$root" \
    > "$place/debootstrap.log" && touch "$root/ready"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
arm() { chroot "$root" env HOME=/root PYTHONPATH=/book nice "$@"; }
python=$(arm python3 -c 'import platform; print(platform.python_version())')
packages=$root/usr/local/lib/python${python%.*}/dist-packages
if ! cmp -s requirements.txt "$root/requirements.txt"; then
  rm -rf "$packages" "$root/requirements.txt"
  grep -v '^-e' requirements.txt | .venv/bin/uv pip install --quiet --no-deps \
    --native-tls --only-binary :all: --python-platform aarch64-manylinux_2_36 \
    --python-version "$python" --target "$packages" -r -
  cp requirements.txt "$root"
fi
rm -rf "$root/book" && mkdir "$root/book"
git archive HEAD | tar x -C "$root/book"
# Matplotlib says so if its first use takes more than five seconds.
arm python3 -c 'import matplotlib.font_manager'

[ $# -gt 0 ] || set -- $(ls chapters | grep -o '^[0-9][0-9]')
for chapter in "$@"; do
  notebook=$(echo chapters/"${chapter}"_*.ipynb)
  arm timeout --kill-after=60 $LIMIT sh -c 'cd /book && exec python3 -m pytest \
    -q -p tools.drawings -p no:cacheprovider -o faulthandler_timeout=0 --nbval \
    --nbval-current-env --nbval-cell-timeout "$0" "$1"' $LIMIT "$notebook" \
    > "$place/$chapter.log" 2>&1 || true
  .venv/bin/python - "$python" "$packages" "$notebook" "$place/$chapter.log" \
    <<'END'
import re, subprocess, sys
from datetime import date
from importlib import metadata
from pathlib import Path
from tools import canary

python, packages, notebook, log = sys.argv[1:]
said = Path(log).read_text(encoding="utf-8")
try:
    row = canary.judged(said)
    words = re.search(r", (cell \d+: .*)", said)
    row["why"] = row["why"] or (words[1][:100] if words else "")
except ValueError:
    row = {"pass": 0, "fail": 1, "differ": 0, "why": "pytest did not end"}
cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]
qemu = subprocess.check_output(["qemu-aarch64-static", "--version"], text=True)
there = metadata.distributions(path=[packages])
found = {"which": "aarch64", "date": date.today().isoformat(), "python": python}
found["processor"] = f"{qemu.partition('(')[0].strip()} on {cpu}"
found["flags"] = "the default processor of qemu, max"
found["versions"] = {d.metadata["Name"].lower(): d.version for d in there}
canary.keep(found | {"notebooks": {notebook: row}})
END
done
sed '/^All packages/,$d' "$(ls bench/canary/*-aarch64-*.md | tail -1)"
