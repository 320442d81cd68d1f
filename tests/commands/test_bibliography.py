"""Whoever is cited stands in the bibliography, and whoever stands there is."""

import inspect
import re

from tests.each import each
from tools import api, bibliography

# What a source may name besides works: the book itself, and functions of JAX.
OURS = re.compile(r"chapters? \d|module `|jax\.|IPython")


def functions():
    """(full name, what it gives as its source) of all that is public."""
    parts = [part for _, _, parts in api.PAGES.values() for part in parts]
    for module in (m for part in parts for m in api.modules(part)):
        for name in api.names(module):
            value = inspect.unwrap(getattr(module, name))
            if inspect.isfunction(value):
                said = bibliography.source(inspect.getdoc(value))
                yield f"{module.__name__}.{name}", said


def test_every_source_of_a_function_leads_somewhere():
    works = bibliography.works()
    lost = {
        name: said
        for name, said in functions()
        if said
        and not OURS.search(said)
        and not bibliography.cited(said, works)
    }
    assert lost == {}, "name the work in book/bibliography.yml"


def test_every_work_to_which_a_chapter_links_is_listed():
    listed = {work.get("url") for work in bibliography.works()}
    missing = {
        url: stems
        for url, stems in bibliography.chapters().items()
        if url not in listed
    }
    assert missing == {}, "add the work to book/bibliography.yml"


def test_the_sources_of_a_chapter_are_listed_that_are_no_papers():
    cited = bibliography.chapters()
    of_four = [url for url, stems in cited.items() if "04_" in str(stems)]
    assert len(of_four) >= 3
    assert not any("arxiv" in url for url in of_four)


def test_nothing_is_listed_that_nobody_cites():
    text = bibliography.page(api.citing())
    assert "Cited in ." not in text
    ids = [work["id"] for work in bibliography.works()]
    assert len(ids) == len({*ids})


WORKS = [
    {"id": "m", "names": ["Megatron-LM paper"]},
    {"id": "m21", "names": ["Megatron-LM paper (2021)"]},
    {"id": "z", "names": ["ZeRO paper"]},
]


@each(
    ("said", "ids"),
    [
        ("Megatron-LM paper (2021), section 2", ["m21"]),
        ("Megatron-LM paper; chapter 8", ["m"]),
        ("ZeRO paper, figure 1; Megatron-LM paper", ["z", "m"]),
        ("ZeRO paper; ZeRO paper, again", ["z"]),
        ("chapter 3", []),
        ("", []),
    ],
)
def test_the_longest_name_of_a_work_counts(said, ids):
    assert [work["id"] for work in bibliography.cited(said, WORKS)] == ids


def test_a_source_may_run_over_lines():
    said = "One line.\n\nreturns  x\nsource   ZeRO paper;\n         chapter 7\n"
    assert bibliography.source(said) == "ZeRO paper; chapter 7"
    assert bibliography.source("One line.") == bibliography.source(None) == ""
