"""A small course in a folder of its own, and what grading one row of it gives.

Everything goes the way that it goes for an instructor: the file is taken in,
graded in a sandbox, and its score read from the gradebook. On the way back it
is looked at what the submission left behind.
"""

import copy
import glob
import hashlib
import json
import logging
import os
import resource
import sys
import time
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import nbformat

from shardlab.authoring import kit
from shardlab.grading import course, feedback, intake, judge, sandbox
from tools import text

STEM = "90_sample"
SOURCE = Path(__file__).parent / f"{STEM}.md"
POINTS = {
    "copies": 1,
    "local_bytes": 2,
    "crossings": 4,
    "gather": 8,
    "mean_gradient": 16,
    "place": 32,
}
ALL = sum(POINTS.values())


class Course(NamedTuple):
    """Where a course lies, and what its sample notebook is like.

    root    the folder
    config  as `shardlab.grading.course.config` returns it
    blank   the released notebook, as its JSON
    right   dict: question -> text of the solution
    """

    root: Path
    config: object
    blank: dict
    right: dict


def make(root):
    """Write solutions, release and gradebook of the sample below `root`."""
    root = Path(root).resolve()
    place = root / "solutions" / STEM / f"{STEM}.ipynb"
    place.parent.mkdir(parents=True)
    nbformat.write(text.notebook(SOURCE), place)
    (root / "work/grading").mkdir(parents=True)
    config = course.config(root)
    release = root / "work/grading/release"
    config.CourseDirectory.release_directory = str(release)
    config.NbGraderAPI.log_level = logging.CRITICAL
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbgrader.apps import NbGraderAPI

        api = NbGraderAPI(config=config)
        done = api.generate_assignment(STEM, force=True, create=True)
    if not done["success"]:
        raise RuntimeError(done["log"])
    blank = json.loads((release / STEM / f"{STEM}.ipynb").read_text())
    for cell in blank["cells"]:
        cell["source"] = "".join(cell["source"])
    _, questions = kit.read_set(place)
    right = {name: questions[name].solution for name in POINTS}
    return Course(root, config, blank, right)


class Given(NamedTuple):
    """What became of one submission.

    score     points; None when the file was refused
    refused   why, or ""
    outcome   judge.Outcome, or None
    notebook  the autograded notebook, as its JSON; None if there is none
    faults    sentences: what it left behind, or brought to the instructor
    """

    score: float | None
    refused: str
    outcome: object
    notebook: dict | None
    faults: list


# The sandbox that waits for the next submission, as with a whole class: each
# attack meets one in which others ran.
KEPT = []


def grade(at, who, write, seconds, seed=7, stood=()):
    """Take in and grade one submission.

    at       Course
    who      the student's identifier
    write    function of the student's folder that puts files into it
    seconds  judge.Seconds
    seed     what hidden checks draw from
    stood    verdicts of an earlier try
    returns  Given
    """
    incoming = at.root / "incoming" / who
    folder = incoming / who
    folder.mkdir(parents=True)
    write(folder)
    before, used, begun = standing(at.root), memory(), time.process_time()
    target = at.config.CourseDirectory.submitted_directory
    taken, refused = intake.collect(incoming, [STEM], target)
    outcome = score = notebook = None
    if any(one.student == who for one in taken):
        outcome = judge.grade(
            who, STEM, at.config, seed, seconds, stood=stood, kept=KEPT
        )
        score = points(at, who)
        notebook = autograded(at, who)
    faults = heavy(memory() - used, time.process_time() - begun)
    faults += left(at.root, before)
    if notebook:
        faults += brought(at.blank, notebook) + list(live(notebook))
    reason = "; ".join(str(one) for one in refused)
    return Given(score, reason, outcome, notebook, faults)


# What the grader itself may need: a minute of the processor is far more than
# any check takes. What a student's program takes has limits of its own.
MORE_SECONDS, MORE_BYTES = 60, 500 << 20


def heavy(grown, taken):
    """What was too much of memory or processor for the grader, as sentences."""
    faults = []
    if grown > MORE_BYTES:
        faults.append(f"the grader's memory grew by {grown >> 20} MB")
    if taken > MORE_SECONDS:
        faults.append(f"the grader took {taken:.0f} s of the processor")
    return faults


def memory():
    """The most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def points(at, who):
    """The score in the gradebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbgrader.api import Gradebook

        with Gradebook(at.config.CourseDirectory.db_url) as book:
            return book.find_submission(STEM, who).score


def autograded(at, who):
    """The notebook that an instructor opens, as its JSON."""
    folder = Path(at.config.CourseDirectory.autograded_directory)
    path = folder / who / STEM / f"{STEM}.ipynb"
    return json.loads(path.read_text())


def standing(root):
    """What no submission may touch: digests of our files, by path."""
    found = {}
    for folder in ("solutions", "work/grading/release"):
        for path in sorted((root / folder).rglob("*")):
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = hashlib.sha256(data).hexdigest()
    return found


def left(root, before):
    """What a graded submission left behind, as sentences."""
    faults = []
    if standing(root) != before:
        faults.append("files of the course were changed")
    if glob.glob(f"{root}/canary*"):
        faults.append("a file was written outside")
    mine = f"{sandbox.GROUP}-{os.getpid()}-"
    waiting = {group.name for box in KEPT for group in box.group}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            group = Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            continue
        if mine in group and not any(name in group for name in waiting):
            faults.append(f"process {pid} was left")
    groups = glob.glob(f"{sandbox.CGROUPS}/**/{mine}*", recursive=True)
    if {Path(group).name for group in groups} - waiting:
        faults.append("a control group was left")
    return faults


def brought(blank, notebook):
    """What an autograded notebook holds and should not, as sentences."""
    faults = []
    size = len(json.dumps(notebook))
    if size > 16 << 20:
        faults.append(f"the autograded notebook has {size >> 20} MB")
    texts = {"".join(cell["source"]) for cell in blank["cells"]}
    for number, cell in enumerate(notebook["cells"]):
        where = f"cell {number + 1}"
        if set(cell["metadata"]) - {"nbgrader"}:
            faults.append(f"{where} has metadata {sorted(cell['metadata'])}")
        if "attachments" in cell:
            faults.append(f"{where} has attachments")
        source = "".join(cell["source"])
        fenced = source.startswith("```") and source.endswith("```")
        if cell["cell_type"] != "code" and source not in texts and not fenced:
            faults.append(f"{where} holds text of the student that is live")
        for output in cell.get("outputs", ()):
            faults += [f"{where}: {fault}" for fault in unsafe(output)]
    return faults


def unsafe(output):
    """What in an output is neither text nor a small picture."""
    words = json.dumps(output)
    if output["output_type"] == "display_data":
        if set(output["data"]) != {"image/png"} or len(words) > 2 << 20:
            yield f"an output of {sorted(output['data'])}"
    elif output["output_type"] == "stream":
        if output["name"] != "stdout":
            yield "a stream which is not stdout"
    elif output["output_type"] != "error":
        yield f"an output of type {output['output_type']}"
    shown = [output.get(key, "") for key in ("text", "ename", "evalue")]
    shown += output.get("traceback", [])
    for part in shown:
        if any(ord(c) < 32 and c not in "\n\t" for c in "".join(part)):
            yield "control characters in an output"


class Page(HTMLParser):
    """Reads a page and keeps what in it acts, or asks for something."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        if tag in ACTIVE:
            self.found.append(f"<{tag}>")
        for name, value in attributes:
            asks = name in ("src", "href", "action", "data", "srcset")
            ours = (value or "").startswith(("data:image/png;base64,", "#"))
            if name.startswith("on") or (asks and not ours):
                self.found.append(f"<{tag} {name}={value!r}>")


ACTIVE = {
    "script",
    "iframe",
    "object",
    "embed",
    "svg",
    # Formulas are drawn; of their elements, these act or hold others.
    "annotation-xml",
    "maction",
    "mglyph",
    "semantics",
    "form",
    "input",
    "button",
    "link",
    "base",
    "frame",
    "video",
    "audio",
    "template",
    "portal",
    "textarea",
}


def live(notebook):
    """What of a feedback page acts, as sentences."""
    made = nbformat.reads(json.dumps(notebook), as_version=4)
    page = Page()
    page.feed(feedback.page("Feedback", [], made, {}, {}))
    return [f"the feedback page holds {found}" for found in page.found]


def fresh(at):
    """A copy of the released notebook's JSON, to be changed."""
    return copy.deepcopy(at.blank)
