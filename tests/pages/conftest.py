import fcntl
import os

import pytest

from tests.pages.browser import launch, require_chromium
from tests.tree import copy, python

PATIENCE = 300  # seconds, there to end a test that hangs, and no more


@pytest.fixture(scope="package")
def html(tmp_path_factory):
    """The book, built in a copy of the project; the folder of its pages.

    Workers share it: the first one builds, the others wait for it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    root = folder / "book"
    with open(folder / "book.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "_build/html/.whole").exists():
            done = python(copy(root), "-m", "tools.page")
            assert done.returncode == 0, done.stderr
    return root / "_build/html"


@pytest.fixture(scope="package")
def chromium():
    """A browser without a network."""
    require_chromium()
    from playwright.sync_api import expect, sync_playwright

    # To end a test that hangs; the default of five is a verdict on the machine.
    expect.set_options(timeout=1000 * PATIENCE)
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
        contexts[-1].set_default_timeout(1000 * PATIENCE)
        page = contexts[-1].new_page()
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
