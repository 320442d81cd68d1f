"""Headless Chromium without a network, and what a page must hold to."""

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium")
MAX_PAGE, MAX_SHARED = 1 << 20, 6 << 20
# Elements of a page. The goal is 5,000; the long chapters, with their films and
# pictures that follow the theme, are above it (11,850 before they were light).
MAX_NODES = 7_900
# What a page begins with, for a test that writes only its body.
PAGE = (
    '<!doctype html><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost",
]


def require_chromium():
    """Skip, with the command that helps, where Chromium is missing."""
    if CHROMIUM is None:
        reason = "Chromium is missing; on Debian: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def launch(playwright):
    """A new browser that can reach nothing but this machine."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


def requests_of(page, url):
    """Open `url` and list what it asks for outside its own files."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    return [u for u in asked if not u.startswith(("file:", "data:", "blob:"))]


def unseen_mathematics(page):
    """Formulas that were not drawn."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.math')]
        .filter(e => !e.querySelector('math')?.getBoundingClientRect().width)
        .map(e => e.textContent)"""
    )


def broken_pictures(page):
    """Pictures that did not load or that no words describe."""
    return page.evaluate(
        """async () => {
        const all = [...document.querySelectorAll('article img')];
        all.forEach(e => { e.loading = 'eager'; });
        await Promise.all(all.map(e => e.decode().catch(() => {})));
        return all.filter(e => !e.naturalWidth || (e.alt || '').length < 20)
        .map(e => e.src)
        .concat([...document.querySelectorAll('article svg.picture')]
        .filter(e => (e.getAttribute('aria-label') || '').length < 20)
        .map(e => e.outerHTML.slice(0, 200))); }"""
    )


def overflow(page):
    """How many pixels the page is wider than its window."""
    return page.evaluate(
        "() => document.documentElement.scrollWidth - window.innerWidth"
    )


def page_bytes(path):
    """The bytes of a page: its HTML and the pictures of its own."""
    html = path.read_text(encoding="utf-8")
    pictures = [
        picture
        for picture in (path.parents[1] / "_images").glob("*")
        if picture.name in html
    ]
    return len(html.encode()) + sum(p.stat().st_size for p in pictures)
