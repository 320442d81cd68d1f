"""Makes the parts of the first page that are counted: numbers, cards, a film.

book/index.md says where they go, in lines such as `% landing: facts`. Nothing
here is typed: the numbers are read from the files that the book is made of.
"""

import json
import re
from collections import Counter
from html import escape
from pathlib import Path

import numpy as np
import yaml

from shardlab import cost, ring
from tools import vignettes

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"^% landing: (\w+)$", re.MULTILINE)
HEADING = re.compile(r"^## .*\((\d+) minutes?\)\s*$", re.MULTILINE)
REJECTED = re.compile(r"(\d+) of (\d+) wrong answers and mutants are rejected")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FILM = re.compile(r'class=\\?"(?:sbs-)?film\b')
# How fast a text with formulas is read, and how long one looks at a cell.
WORDS_A_MINUTE, CELLS_A_MINUTE = 130, 2.5
ROUND = 5  # minutes
CHIPS = 4  # of the film
BLOCK = 1 << 20  # bytes of each chip's block in it


def chapters(root=ROOT):
    """The chapters: part, stem, title, minutes to read, exercises and hours.

    root     the folder of _toc.yml
    returns  list of dicts, in the book's order
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = []
    for part in toc["parts"]:
        for entry in part["chapters"]:
            folder, _, stem = entry["file"].partition("/")
            if folder == "chapters":
                found.append(_chapter(root, part["caption"], stem))
    return found


def _chapter(root, part, stem):
    """One row of `chapters`."""
    text = (root / f"book/chapters/{stem}.md").read_text(encoding="utf-8")
    prose, cells = CODE.sub("", text), text.count("```{code-cell}")
    minutes = len(prose.split()) / WORDS_A_MINUTE + cells / CELLS_A_MINUTE
    exercises = root / f"book/exercises/{stem}.md"
    asked = exercises.read_text(encoding="utf-8") if exercises.exists() else ""
    questions = HEADING.findall(asked)
    return {
        "part": part,
        "stem": stem,
        "title": re.search(r"^# (.+)$", text, re.MULTILINE)[1],
        "minutes": ROUND * round(minutes / ROUND),
        "exercises": len(questions),
        "hours": sum(map(int, questions)) / 60,
    }


def films(root=ROOT):
    """How many films the executed chapters show."""
    return sum(
        bool(FILM.search(json.dumps(output)))
        for path in sorted((root / "chapters").glob("*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", ())
    )


def equal(root=ROOT):
    """Counts that equal their formula, and all of them.

    From the columns "÷ formula" of book/strategies.md.
    """
    ratios = []
    text = (root / "book/strategies.md").read_text(encoding="utf-8")
    for table in text.split("\n\n"):
        head, *rows = [
            [cell.strip() for cell in line.split("|")]
            for line in table.splitlines()
            if line.startswith("|")
        ] or [[]]
        if "÷ formula" in head:
            column = head.index("÷ formula")
            ratios += [row[column] for row in rows[1:]]
    ratios = [ratio for ratio in ratios if re.fullmatch(r"[\d.]+", ratio)]
    return sum(float(ratio) == 1 for ratio in ratios), len(ratios)


def caught(root=ROOT):
    """Wrong answers that the checks reject, and all that were tried.

    From the sentences in book/checks.md and the pages below book/checks.
    """
    paths = [*root.glob("book/checks*.md"), *root.glob("book/checks/*.md")]
    found = [
        tuple(map(int, pair))
        for path in sorted(paths)
        for pair in REJECTED.findall(path.read_text(encoding="utf-8"))
    ]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0, 0)


def facts(root=ROOT):
    """The band of four numbers, as HTML."""
    rows = chapters(root)
    agreed, rejected = equal(root), caught(root)
    hours = sum(row["hours"] for row in rows)
    exercises = sum(row["exercises"] for row in rows)
    shown = [
        (
            f"{len(rows)}",
            f"chapters and {films(root)} films, from your first sharded array "
            "to your own model",
            f"../chapters/{rows[0]['stem']}.html",
        ),
        (
            f"{exercises}",
            f"exercises, {hours:.0f} hours: a check says at once whether "
            "you are right",
            f"../exercises/{rows[0]['stem']}/{rows[0]['stem']}.html",
        ),
        (
            f"{agreed[0]} of {agreed[1]}",
            "predictions of bytes confirmed by a count: formulas to plan with",
            "strategies.html",
        ),
        (
            f"{rejected[0]:,}",
            f"of {rejected[1]:,} wrong answers rejected by the checks: "
            "to pass means something",
            "checks.html",
        ),
    ]
    parts = [
        f'<li><a href="{link}"><b>{number}</b> <span>{says}</span></a></li>'
        for number, says, link in shown
        if number not in ("0 of 0", "0")
    ]
    return f'<ul class="facts">{"".join(parts)}</ul>'


def cards(root=ROOT):
    """Every chapter as a card below the heading of its part, as HTML."""
    data = yaml.safe_load((root / "book/landing.yml").read_text("utf-8"))
    found, part = [], None
    for number, row in enumerate(chapters(root), 1):
        if row["part"] != part:
            part = row["part"]
            found += ["</ol>"] if number > 1 else []
            found.append(f'<h3 class="part">{escape(part)}</h3>')
            found.append(f"<p>{escape(data['parts'].get(part, ''))}</p>")
            found.append(f'<ol class="cards" start="{number}">')
        question = escape(data["questions"].get(row["stem"], ""))
        found.append(
            f'<li><a class="card" href="../chapters/{row["stem"]}.html">'
            f'<span class="picture">{vignettes.svg(row["stem"][:2])}</span>'
            f'<span class="name"><span class="number">{number}</span> '
            f"{escape(row['title'])}</span>"
            f'<span class="question">{question}</span>'
            f'<span class="effort">{row["minutes"]} min · '
            f"{row['exercises']} exercises</span></a></li>"
        )
    return "\n".join([*found, "</ol>"])


def moments(chips=CHIPS, block=BLOCK):
    """An AllReduce on a ring, step by step, as the simulator carries it out.

    chips    on the ring; the links are used one way round
    block    bytes of each of its blocks
    returns  dict: "held" before the first step and after each (for each chip
             and block a number whose bits are the summands in it), "sent" for
             each step (from, to, block), "bytes" over the busiest wire after
             each step, both ways together, "formula" those that shardlab.cost
             predicts
    raises   ValueError when formula and simulator differ
    """
    whole = chips * block
    steps = ring.all_reduce_steps(whole, chips, directions=1)
    held = [{b: np.array([1 << n]) for b in range(chips)} for n in range(chips)]
    # A hop carries a block; here it is a single number.
    small = [[hop._replace(bytes=8, start=0) for hop in s] for s in steps]
    states = [ring.carry(small[:n], held) for n in range(len(steps) + 1)]
    counted = [_busiest(steps[:n], chips) for n in range(len(steps) + 1)]
    formula = 2 * whole * cost.gather_share(chips, directions=1)
    if formula != counted[-1]:
        raise ValueError(
            f"formula says {formula} bytes a wire, simulator {counted[-1]}"
        )
    return {
        "held": [
            [[int(chip[b][0]) for b in range(chips)] for chip in state]
            for state in states
        ],
        "sent": [
            [[hop.source, hop.destination, hop.chunk] for hop in step]
            for step in steps
        ],
        "bytes": counted,
        "formula": int(formula),
        "whole": whole,
    }


def _busiest(steps, chips):
    """Bytes over the busiest wire of a ring, both ways together."""
    wires = Counter()
    for (chip, _, way), crossed in ring.bytes_per_link(steps).items():
        wires[chip if way == 1 else (chip - 1) % chips] += crossed
    return max(wires.values(), default=0)


def film():
    """The film of the first page as HTML; without a script, its end."""
    data = moments()
    places = [(210, 58), (352, 178), (210, 298), (68, 178)]
    wires = "".join(
        f'<line x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}"/>'
        for a, b in zip(places, places[1:] + places[:1], strict=True)
    )
    chips = "".join(_chip(n, place, data) for n, place in enumerate(places))
    whole = data["whole"] >> 20
    parcels = "".join(
        f'<g class="parcel" data-parcel="{n}"><rect x="-15" y="-13" width="30" '
        f'height="26" rx="3"/><text y="5">{n}</text></g>'
        for n in range(CHIPS)
    )
    formula, counted = data["formula"] >> 20, data["bytes"][-1] >> 20
    steps = len(data["sent"])
    label = (
        f"Four chips in a ring add up their arrays of {whole} MiB: in {steps} "
        "steps each passes one block at a time to a neighbour, until every "
        "chip has the sum of all four."
    )
    return "".join(
        (
            '<div class="landing-film" ',
            f"data-film='{json.dumps(data)}' ",
            f"data-places='{json.dumps(places)}'>",
            f'<svg viewBox="0 0 420 356" role="img" aria-label="{label}">',
            f'<g class="wires">{wires}</g>{chips}',
            f'<g class="parcels" visibility="hidden">{parcels}</g></svg>',
            '<div class="controls">',
            '<button type="button" class="play pst-js-only">Pause</button>',
            '<input class="pst-js-only" type="range" min="0" ',
            f'max="{steps}" value="{steps}" aria-label="Step of the film">',
            f"<output>AllReduce of {whole} MiB on a ring, ",
            f"after {steps} of {steps} steps</output></div>",
            f'<p class="tally"><span>formula: <b>{formula} MiB</b> over each ',
            "wire</span> <span>simulator, so far: ",
            f'<b class="now">{counted} MiB</b> ',
            '<span class="counted">✓</span></span></p></div>',
        )
    )


def _rect(kind, x, y, width, height, more=""):
    """A rectangle of the film."""
    place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect class="{kind}" {place}{more}/>'


def _chip(number, place, data):
    """One chip: a column for each block, in it a cell for each summand."""
    x, y = place[0] - 54, place[1] - 46
    cells = [_rect("die", x, y, 108, 92, ' rx="6"')]
    cells.append(f'<text x="{place[0]}" y="{y + 18}">chip {number}</text>')
    for block in range(CHIPS):
        left = x + 9 + 23 * block
        cells.append(_rect("slot", left, y + 26, 20, 58))
        hue = f"fill:var(--axis-x-{block + 1})"
        for bit in range(CHIPS):
            on = data["held"][-1][number][block] >> bit & 1
            kind = "summand on" if on else "summand"
            more = f' data-cell="{number} {block} {bit}" style="{hue}"'
            up = y + 70 - 14 * bit
            cells.append(_rect(kind, left + 1, up, 18, 13, more))
    return f'<g class="chip">{"".join(cells)}</g>'


PARTS = {"facts": facts, "cards": cards, "film": film}


def fill(text, root=ROOT):
    """The text of the first page with its counted parts put in.

    text     MyST with lines such as `% landing: facts`
    root     where the book's files are
    returns  str
    raises   ValueError for a part that does not exist
    """

    def made(found):
        if found[1] not in PARTS:
            raise ValueError(f"part must be of {[*PARTS]}, got {found[1]!r}")
        part = PARTS[found[1]]
        html = part() if part is film else part(root)
        return f"```{{raw}} html\n{html}\n```"

    return PLACE.sub(made, text)
