"""Writes book/status.md: what each notebook took when it last ran.

The figures are those that `make bench` stored in bench/results/, the newest
file that has them, and what `make canary` stored in bench/canary/. Nothing is
measured here.
"""

import json
import re
import sys
from pathlib import Path

import yaml

from tools import atomic
from tools.drawings import TOLERANCE

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book/status.md"
RESULTS = ROOT / "bench/results"
CANARY = ROOT / "bench/canary"
REASONS = CANARY / "reasons.yml"
TOPIC = "notebooks"
NAME = re.compile(r"notebooks: (chapters|solutions)/(\d\d)_(\w+)")
HEAD = """# When each notebook last ran

{intro}

| | chapter: processor | memory | solutions: processor | memory |
|---|--:|--:|--:|--:|
{lines}

{outro}

## With other versions

{others}

| | Python | JAX | NumPy | Matplotlib | run to their end | a cell fails in |
|---|---|---|---|---|--:|---|
{versions}

{reasons}

## On other processors

{processors}
"""
INTRO = (
    "Every chapter and every solution is executed from its first cell to its "
    "last, each in a fresh kernel. This is what the last run that was stored "
    "took: on {cores} cores of an {processor}, on {date}, with {versions}. "
    "Memory is the largest that a kernel and all processes that it started "
    "held together. "
    "Wanted are at most {seconds} seconds and 1 GB for each."
)
OUTRO = (
    "All of them together took {minutes:.0f} minutes of the processor. {over}\n"
    "\n"
    "What was measured earlier, of the instruments and of the build, lies in "
    "`bench/results/`; `make bench` measures it again. The tests judge no "
    "time: they run every notebook and compare each output, with the versions "
    "that `requirements.txt` locks."
)
OTHERS = (
    "`make canary` runs the notebooks with the newest version of everything, "
    "`make canary LOWEST=1` with the oldest one that they were tried with. "
    "There a notebook has run to its end if no cell failed that should not, "
    "assertions included; what it prints or draws may be another thing than "
    "here. The versions in the first line are those of this book, where the "
    "tests also compare every output."
)
# What runs on any processor must not depend on one.
PROCESSORS = (
    "Most of these processors are one, told to leave out instructions: "
    "`make canary ISA=AVX2` does that, with the flags in "
    "`bench/instructions.py`. It runs both suites, and with them all 42 "
    "notebooks. Figures are compared as drawings, whose coordinates may differ "
    "by {tolerance} points, everything else character by character. "
    "`tools/aarch64.sh` runs the chapters on an emulated ARM processor.\n"
    "\n"
    "| instructions | processor | on | `make test`: passed, failed | "
    "`make test-long`: passed, failed, skipped | what failed |\n"
    "|---|---|---|---|---|---|\n"
)
PACKAGES = ("jax", "numpy", "matplotlib")
BUSY = (
    " Other work kept the machine busy meanwhile, with a load of {load:.0f}: "
    "alone on it, a notebook takes less time."
)
SECONDS, BYTES = 30, 10**9


def newest(folder=RESULTS, topic=TOPIC):
    """What was last measured of a topic: {"machine": ..., "rows": ...}.

    folder   of files YYYY-MM-DD.json
    raises   FileNotFoundError where no file has the topic
    """
    for path in sorted(folder.glob("*.json"), reverse=True):
        found = json.loads(path.read_text(encoding="utf-8"))
        if topic in found:
            return found[topic]
    raise FileNotFoundError(f"{folder} has nothing about {topic}: make bench")


def by_number(rows):
    """The rows of notebooks: number -> {"chapters": row, "solutions": row}."""
    found = {}
    for row in rows:
        if match := NAME.fullmatch(row["name"]):
            folder, number, _ = match.groups()
            found.setdefault(number, {})[folder] = row
    return found


def cells(row):
    """Seconds of the processor and memory, as two cells of the table."""
    if row is None or not row["peak_bytes"]:
        return "not measured | "
    seconds, peak = row["cpu_seconds_median"], row["peak_bytes"]
    return f"{seconds:.1f} s | {peak / 1e6:.0f} MB"


def title(number):
    """A chapter's title, as a link."""
    (path,) = (ROOT / "book/chapters").glob(f"{number}_*.md")
    text = path.read_text(encoding="utf-8")
    words = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
    return f"[{int(number)}. {words}](../chapters/{path.stem}.ipynb)"


def tried(folder=CANARY):
    """What `make canary` stored last: {(which, minor Python): found}."""
    found = {}
    for path in sorted(folder.glob("2*.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        minor = said["python"].rpartition(".")[0]
        found[said["which"], minor] = said
    return found


def processors(folder=CANARY):
    """The section on other processors, from what is stored.

    folder   of processors.json, which `make canary ISA=...` writes, and of
             *-aarch64-*.json
    """
    path = folder / "processors.json"
    runs = json.loads(path.read_text("utf-8")) if path.exists() else []
    last = {}
    for one in runs:
        last.setdefault(one["instructions"], {})[one["suite"]] = one
    lines = [processor_line(name, both) for name, both in last.items()]
    for (which, _), said in sorted(tried(folder).items()):
        if which == "aarch64":
            lines.append(emulated_line(said))
    return PROCESSORS.format(tolerance=TOLERANCE) + "\n".join(lines)


def processor_line(name, both):
    """One line on an instruction set.

    both     dict from suites to what `bench.soak` stored
    """
    counts = [
        ", ".join(f"{both[suite]['counts'].get(word, 0):,}" for word in words)
        if suite in both
        else "not run"
        for suite, words in (
            ("test", ("passed", "failed")),
            ("test-long", ("passed", "failed", "skipped")),
        )
    ]
    some = next(iter(both.values()))
    day = max(one["date"] for one in both.values())
    bad = [f"`{name}`" for one in both.values() for name in one["failed"]]
    cells = name, some["processor"], day, *counts, ", ".join(bad) or "nothing"
    return f"| {' | '.join(cells)} |"


def emulated_line(said):
    """The line on the chapters that ran on an emulated processor."""
    rows = said["notebooks"]
    passed = sum(row["pass"] for row in rows.values())
    failed = sum(row["fail"] + row["differ"] for row in rows.values())
    bad = [
        f"{short(name)}: {row['why']}"
        for name, row in rows.items()
        if row["fail"] or row["differ"]
    ]
    counts = f"{len(rows)} chapters: {passed:,}, {failed:,}"
    cells = (
        *("aarch64", said["processor"], said["date"], counts),
        *("not run", "; ".join(bad) or "nothing"),
    )
    return f"| {' | '.join(cells)} |"


def locked(python, rows):
    """The line of the versions that requirements.txt holds.

    rows     of the notebooks, as they were last measured; one in which a cell
             failed holds no memory
    """
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = [re.search(rf"^{n}==([\w.]+)", text, re.M)[1] for n in PACKAGES]
    names = [row["name"].partition(": ")[2] for row in rows]
    failed = [
        short(name)
        for name, row in zip(names, rows, strict=True)
        if not row["peak_bytes"]
    ]
    return of_versions("locked", python, pins, len(names), failed)


def version_line(said):
    """One line of the table of versions, from what `make canary` stored."""
    rows = said["notebooks"]
    failed = [short(name) for name, row in rows.items() if row["fail"]]
    packages = [said["versions"][name] for name in PACKAGES]
    return of_versions(
        said["which"], said["python"], packages, len(rows), failed
    )


def of_versions(which, python, packages, notebooks, failed):
    """One line of the table: how many notebooks ran, and which did not."""
    ran = f"{notebooks - len(failed)} of {notebooks}"
    where = ", ".join(failed) or "none"
    return f"| {' | '.join((which, python, *packages, ran, where))} |"


def short(name):
    """A notebook's name in a table: "chapter 7", "solutions 12"."""
    folder, _, path = name.partition("/")
    kind = "chapter" if folder == "chapters" else "solutions"
    return f"{kind} {int(path[:2])}"


def reasons(others, given=REASONS):
    """Why cells fail with other versions, as a list in Markdown, or that none.

    others   list of what `make canary` stored
    given    path of the file with a reason for each of them
    raises   ValueError where one that fails has no reason, or the reverse
    """
    known = yaml.safe_load(given.read_text(encoding="utf-8")) or {}
    failed = {
        f"{said['which']}, {short(name)}"
        for said in others
        for name, row in said["notebooks"].items()
        if row["fail"]
    }
    if failed != set(known):
        raise ValueError(
            f"{given.name} has reasons for {sorted(known)}; "
            f"cells fail in {sorted(failed)}"
        )
    if not failed:
        return "No cell fails in any of them."
    return "\n".join(f"- {where}: {why}" for where, why in known.items())


def page():
    """The whole page, as Markdown."""
    found = newest()
    machine, rows = found["machine"], by_number(found["rows"])
    lines = [
        f"| {title(number)} | {cells(both.get('chapters'))} | "
        f"{cells(both.get('solutions'))} |"
        for number, both in sorted(rows.items())
    ]
    every = [row for both in rows.values() for row in both.values()]
    late = [
        row["name"].partition(": ")[2]
        for row in every
        if row["cpu_seconds_median"] > SECONDS or row["peak_bytes"] > BYTES
    ]
    named = {"python": "Python", "jax": "JAX", "numpy": "NumPy"}
    intro = INTRO.format(
        cores=machine["cores"],
        processor=machine["processor"].replace("(R)", ""),
        date=machine["date"],
        versions=", ".join(f"{named[key]} {machine[key]}" for key in named),
        seconds=SECONDS,
    )
    if machine["load"] > 2 * machine["cores"]:
        intro += BUSY.format(load=machine["load"])
    outro = OUTRO.format(
        minutes=sum(row["cpu_seconds_median"] for row in every) / 60,
        over=(
            f"Over the limits: {', '.join(late)}."
            if late
            else "None is over the limits."
        ),
    )
    others = [
        said
        for (which, _), said in sorted(tried().items())
        if which != "aarch64"
    ]
    return HEAD.format(
        intro=intro,
        lines="\n".join(lines),
        outro=outro,
        others=OTHERS,
        versions="\n".join(
            [locked(machine["python"], every), *map(version_line, others)]
        ),
        reasons=reasons(others),
        processors=processors(),
    )


def main():
    """The command line; returns the exit status."""
    atomic.write(TARGET, page())
    print(f"{TARGET.relative_to(ROOT)}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
