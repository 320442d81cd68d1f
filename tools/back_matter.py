"""Writes book/errata.md and book/glossary.md from their data.

A row leads to the section that shows it: its id stands in book/sources.yml,
where the chapters' headings are kept.
"""

import sys

import yaml
from mdit_py_plugins.anchors.index import slugify

from tools import atomic
from tools.text import ROOT

LANGUAGES = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese"}

ERRATA = """# Errata

This book stands on four texts whose authors gave their work away, and on which
most of its readers have learned. Nothing here is meant as blame: every one of
these slips was found by doing the sum again, which anyone can do because the
texts show their sums. The left column says what a source says, in our words;
the right one what holds; the last leads to the place in this book that counts
it. ✓ marks what the newest English text, of July 2026, has right by now.

Only what can be proved stands here, by arithmetic, by algebra or by running it.
Who wrote the sources, and where to read them, is on [the page about
them](sources.md).
"""

TITLES = {
    "ES": "*How to Scale Your Model*, part 3, sharded matrices",
    "ET": "*How to Scale Your Model*, part 5, training",
    "EZ": "A summary of part 5 in Chinese",
    "EC": "CS336, lecture 7, in a Japanese write-up",
}

GLOSSARY = """# Glossary

Terms in one sentence each, with the words of the languages in which parts of
the sources were read. Where this book uses another word than the field, both
stand here. A term leads to the section that teaches it.
"""


def read(name):
    """The data of one file of the folder book."""
    return yaml.safe_load((ROOT / "book" / name).read_text(encoding="utf-8"))


def sections():
    """For each id of book/sources.yml the link to its section."""
    links = {}
    for row in read("sources.yml")["rows"]:
        stem, heading = row["at"]
        address = f"../chapters/{stem}.ipynb#{slugify(heading)}"
        links[row["id"]] = (f"chapter&nbsp;{int(stem[:2])}", address)
    return links


def errata(links=None):
    """The whole of errata.md as text."""
    links = links or sections()
    lines = [ERRATA.rstrip()]
    for prefix, rows in read("errata.yml").items():
        lines += ["", f"## {TITLES[prefix]}", ""]
        lines += [
            "| | it says | what holds | counted in |",
            "|---|---|---|---|",
        ]
        for row in rows:
            where = "–"
            if row["id"] in links:
                where = "[{}]({})".format(*links[row["id"]])
            name = row["id"].replace("-", "\N{NON-BREAKING HYPHEN}")
            name += "&nbsp;✓" if row.get("done") else ""
            cells = (name, row["said"], row["right"], where)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def glossary(links=None):
    """The whole of glossary.md as text.

    raises  KeyError if a term leads to no row of book/sources.yml
    """
    links = links or sections()
    heads = ["term", "meaning", *LANGUAGES.values()]
    lines = [GLOSSARY.rstrip()]
    for part, rows in read("glossary.yml").items():
        lines += ["", f"## {part}", ""]
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for row in rows:
            term = row["term"]
            if "row" in row:
                term = f"[{term}]({links[row['row']][1]})"
            elif "page" in row:
                term = f"[{term}]({row['page']})"
            # What a chapter's first use of the term leads to.
            term = f'<span id="term-{slugify(row["term"])}"></span>{term}'
            if "ours" in row:
                term += f"<br>here: *{row['ours']}*"
            words = [
                f'<span lang="{code}">{row[code]}</span>' for code in LANGUAGES
            ]
            lines.append("| " + " | ".join([term, row["means"], *words]) + " |")
    return "\n".join(lines) + "\n"


def main():
    """The command line; returns the exit status."""
    links = sections()
    for name, text in (
        ("errata.md", errata(links)),
        ("glossary.md", glossary(links)),
    ):
        target = ROOT / "book" / name
        atomic.write(target, text)
        print(f"book/{name}: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
