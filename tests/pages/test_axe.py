"""What axe finds on the pages: nothing, of whatever impact, in either theme."""

import pytest

from tests.pages.test_face import EXERCISES
from tests.pages.test_pages import DOCNAMES

THEMES = ("light", "dark")
SOME = ("book/index", "book/explore", "book/glossary", EXERCISES)


def findings(html, open_page, docname, theme):
    """What axe says of a page: rule, impact and the first element."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page((html / f"{docname}.html").as_uri(), color_scheme=theme)
    page.wait_for_load_state("networkidle")
    found = Axe().run(page).response["violations"]
    return [(f["id"], f["impact"], f["nodes"][0]["html"][:200]) for f in found]


def test_axe_sees_what_is_wrong(tmp_path, open_page):
    (tmp_path / "bad.html").write_text("<img src='x.png'><button></button>")
    rules = {rule for rule, *_ in findings(tmp_path, open_page, "bad", None)}
    assert {"image-alt", "button-name", "html-has-lang"} <= rules


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("docname", SOME)
def test_axe_finds_nothing(html, open_page, docname, theme):
    assert findings(html, open_page, docname, theme) == []


@pytest.mark.long
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("docname", sorted(set(DOCNAMES) - set(SOME)))
def test_axe_finds_nothing_on_any_page(html, open_page, docname, theme):
    assert findings(html, open_page, docname, theme) == []
