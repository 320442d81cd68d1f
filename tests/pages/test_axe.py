"""What axe finds on the pages: nothing, of whatever impact, in either theme."""

import pytest

from tests.pages.test_face import EXERCISES
from tests.pages.test_pages import DOCNAMES

# Whether a page that has themes has this one, and no colour is on its way.
SHOWN = """theme =>
    (document.documentElement.dataset.theme ?? theme) === theme
    && !document.getAnimations().some(a => a instanceof CSSTransition)"""
SOME = ("book/index", "book/explore", "book/glossary", EXERCISES)


def findings(html, open_page, docname):
    """What axe says of a page: theme, rule, impact and the first element.

    A page follows the system's theme when it changes, as a reader's does in
    the evening: it is loaded once.
    """
    from axe_playwright_python.sync_playwright import Axe

    page, found = open_page((html / f"{docname}.html").as_uri()), []
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Tab")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(SHOWN, arg=theme)
        found += [
            (theme, f["id"], f["impact"], f["nodes"][0]["html"][:200])
            for f in Axe().run(page).response["violations"]
        ]
    return found


def test_axe_sees_what_is_wrong(tmp_path, open_page):
    (tmp_path / "bad.html").write_text("<img src='x.png'><button></button>")
    found = findings(tmp_path, open_page, "bad")
    for theme in ("light", "dark"):
        rules = {rule for when, rule, *_ in found if when == theme}
        assert {"image-alt", "button-name", "html-has-lang"} <= rules


@pytest.mark.parametrize("docname", SOME)
def test_axe_finds_nothing(html, open_page, docname):
    assert findings(html, open_page, docname) == []


@pytest.mark.long
@pytest.mark.parametrize("docname", sorted(set(DOCNAMES) - set(SOME)))
def test_axe_finds_nothing_on_any_page(html, open_page, docname):
    assert findings(html, open_page, docname) == []
