import pytest

from tests.pages.browser import launch, require_chromium
from tests.tree import copy, python


@pytest.fixture(scope="package")
def html(tmp_path_factory):
    """The book, built in a copy of the project; the folder of its pages."""
    root = copy(tmp_path_factory.mktemp("book"))
    done = python(root, "-m", "tools.page")
    assert done.returncode == 0, done.stderr
    return root / "_build/html"


@pytest.fixture(scope="package")
def chromium():
    """A browser without a network."""
    require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """A function that opens an address in a context with these options."""
    contexts = []

    def opened(address, **options):
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
