"""Headless Chromium without a network, and what a page must hold to."""

import os
import shutil
import sys
from typing import NamedTuple

import pytest

from tools.shots import SETTLED

CHROMIUM = shutil.which("chromium")
MAX_PAGE, MAX_SHARED = 1 << 20, 6 << 20
MAX_NODES = 4_900  # elements of a page, as the browser counts them
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
        if os.environ.get("CI") == "true" and sys.platform == "linux":
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
    return from_outside(asked)


def from_outside(addresses):
    """Those of the addresses that are of none of our files."""
    ours = ("file:", "data:", "blob:")
    return [each for each in addresses if not each.startswith(ours)]


class Visit(NamedTuple):
    """What was seen of a page that was opened, and then not touched.

    asked        addresses that it asked for, outside its own files
    said         errors of its scripts, and those on the console
    fonts        how many did not load
    nodes        its elements
    wider        `overflow` of a window as narrow as a phone
    mathematics  as `unseen_mathematics`
    pictures     as `broken_pictures`
    """

    asked: list
    said: list
    fonts: int
    nodes: int
    wider: int
    mathematics: list
    pictures: list


def visits(context, urls):
    """Open several pages together, each until it asks for nothing more.

    context  of the browser
    urls     address by name
    returns  dict of Visit by name
    """
    opened = {}
    for name, url in urls.items():
        page, asked, said = context.new_page(), [], []
        page.on("request", lambda one, asked=asked: asked.append(one.url))
        page.on("pageerror", lambda one, said=said: said.append(str(one)))
        page.on(
            "console",
            lambda one, said=said: (
                said.append(one.text) if one.type == "error" else None
            ),
        )
        page.goto(url)
        opened[name] = page, asked, said
    found = {}
    for name, (page, asked, said) in opened.items():
        page.wait_for_load_state("networkidle")
        fonts = page.evaluate(
            "() => [...document.fonts].filter(f => f.status === 'error').length"
        )
        found[name] = Visit(
            from_outside(asked),
            list(said),
            fonts,
            elements(page),
            narrowed(page),  # before all of the page is drawn
            unseen_mathematics(page),
            broken_pictures(page),
        )
    return found


def narrowed(page):
    """`overflow` of a page while its window is as narrow as a phone."""
    before = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    wider = overflow(page)
    page.set_viewport_size(before)
    return wider


def elements(page):
    """How many elements a page has, as the browser counts them."""
    return page.evaluate("() => document.querySelectorAll('*').length")


def settle(page):
    """Wait until what scripts do when there is nothing else is done."""
    page.wait_for_load_state("load")
    page.evaluate(SETTLED)


def unseen_mathematics(page):
    """Formulas that cannot be drawn, when all sections are."""
    return page.evaluate(
        """() => {
        document.documentElement.dataset.drawn = '';
        return [...document.querySelectorAll('.math')]
        .map(e => e.localName == 'math' ? e : e.querySelector('math'))
        .filter(e => !e?.getBoundingClientRect().width)
        .map(e => e?.textContent); }"""
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


def walk(page):
    """Scroll down a page, so that all of it comes near the window once."""
    page.evaluate(
        """async () => { document.documentElement.dataset.drawn = '';
        // A frame is drawn when it can be, and what comes near is told in one.
        const frame = () => new Promise(done => requestAnimationFrame(done));
        for (let y = 0; y < document.body.scrollHeight; y += 900) {
            scrollTo(0, y);
            await frame();
            await frame();
            await new Promise(done => setTimeout(done, 30)); }
        scrollTo(0, 0); }"""
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
