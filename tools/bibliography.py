"""The works that the book cites, and who cites them.

Docstrings name a work in their line `source`; chapters link to its address.
Both ways end on the page book/bibliography.md, which is written from
book/bibliography.yml.
"""

import re

import yaml

from tools.text import ROOT

PAGE = """# Bibliography

The papers, reports and documents on which the library and the chapters rest,
by author; each entry ends with the modules of `shardlab` and the chapters that
cite it. Read on {read}.
"""
LINK = re.compile(r"\]\((https?://(?:arxiv\.org|(?:dx\.)?doi\.org)[^)\s]+)\)")
ANY = re.compile(r"\]\((https?://[^)\s]+)\)")
SOURCE = re.compile(r"^source +(.*(?:\n {8,}\S.*)*)", re.MULTILINE)


def works():
    """The entries of book/bibliography.yml, in alphabetical order."""
    found = data()["works"]
    return sorted(found, key=lambda work: (work["by"].casefold(), work["year"]))


def data():
    """The whole file."""
    path = ROOT / "book/bibliography.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def source(docstring):
    """What a docstring gives as its source.

    docstring  with its margin removed, as `inspect.getdoc` returns it
    returns    str in one line; empty if there is none
    """
    found = SOURCE.search(docstring or "")
    return " ".join(found[1].split()) if found else ""


def cited(said, entries):
    """The works that a source names.

    said     as `source` returns it
    entries  as `works` returns them
    returns  list of entries, in the order in which they are named; of two
             names that begin at the same letter, the longer one counts
    """
    places = {}
    for entry in entries:
        for name in entry.get("names", ()):
            for found in re.finditer(re.escape(name), said):
                longest = places.get(found.start(), ("", None))[0]
                if len(name) > len(longest):
                    places[found.start()] = name, entry
    once = {}
    for _, (_, entry) in sorted(places.items()):
        once[entry["id"]] = entry
    return list(once.values())


def link(entry):
    """A link to the line of a work, for a page of the book."""
    return f"{{ref}}`{entry['by']}, {entry['year']} <work-{entry['id']}>`"


def chapters():
    """For each work to which a chapter links, the stems of the chapters.

    Papers count, and what else stands in the list.
    """
    found, listed = {}, {work.get("url") for work in works()}
    for path in sorted((ROOT / "book/chapters").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        links = [url for url in ANY.findall(text) if url in listed]
        for url in dict.fromkeys([*LINK.findall(text), *links]):
            found.setdefault(url, {})[path.stem] = None
    return {url: list(stems) for url, stems in found.items()}


def page(modules):
    """The text of book/bibliography.md.

    modules  for each id, list of (name of a module that cites it, address)
    returns  str
    """
    linked = chapters()
    lines = [PAGE.format(read=data()["read"])]
    for entry in works():
        by = [
            f"[chapter&nbsp;{int(stem[:2])}](../chapters/{stem}.ipynb)"
            for stem in linked.get(entry.get("url"), ())
        ]
        by += [
            f"[`{name.removeprefix('shardlab.')}`]({url})"
            for name, url in modules.get(entry["id"], ())
        ]
        title = entry["title"]
        if "url" in entry:
            title = f"[{title}]({entry['url']})"
        lines.append(
            f"(work-{entry['id']})=\n{entry['by']}. *{title}*, "
            f"{entry['year']}. Cited in {', '.join(by)}.\n"
        )
    return "\n".join(lines)
