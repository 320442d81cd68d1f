"""Takes pictures of what a reader sees, into _build/shots.

The first page, a chapter, an explorer, and an exercise in JupyterLab: each on
a laptop and on a phone, light and dark.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
HTML, TARGET = ROOT / "_build/html", ROOT / "_build/shots"
PAGES = {
    "landing": "book/index",
    "chapter": "chapters/02_collectives",
    "explorer": "book/explore",
}
EXERCISE = "exercises/01_sharded_arrays/01_sharded_arrays.ipynb"
SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
TOKEN = "pictures"
# What scripts do when there is nothing else is done, and drawn.
SETTLED = """() => document.fonts.ready.then(() => new Promise(done =>
    requestIdleCallback(() => requestAnimationFrame(done))))"""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost",
]


def take(browser, addresses, target, ready=None):
    """Take a picture of each address in every size and scheme.

    browser    of Playwright
    addresses  dict: name -> address
    target     folder; it is made
    ready      called with the page before its picture is taken; for a page
               that goes on when all its files are there
    returns    list of (path, pixels that the page is too wide)
    """
    target.mkdir(parents=True, exist_ok=True)
    found = []
    for name, address in addresses.items():
        for size, (width, height) in SIZES.items():
            for scheme in SCHEMES:
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    reduced_motion="reduce",
                )
                page = context.new_page()
                page.goto(address)
                page.evaluate(SETTLED)
                if ready:
                    ready(page)
                path = target / f"{name}-{size}-{scheme}.png"
                page.screenshot(path=path)
                wider = page.evaluate(
                    "() => document.documentElement.scrollWidth - innerWidth"
                )
                found.append((path, wider))
                context.close()
    return found


def in_lab(page):
    """Wait until an exercise is there; RuntimeError for a dialog instead."""
    page.wait_for_load_state("networkidle")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=120_000)
    page.wait_for_timeout(2_000)
    for dialog in page.locator(".jp-Dialog").all_inner_texts():
        raise RuntimeError(f"JupyterLab says: {dialog}")


@contextlib.contextmanager
def jupyterlab(folder):
    """JupyterLab on a folder, as light or dark as the browser; its address."""
    theme = folder / "settings/@jupyterlab/apputils-extension"
    theme.mkdir(parents=True)
    (theme / "themes.jupyterlab-settings").write_text(
        json.dumps({"adaptive-theme": True})
    )
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser"]
    command += ["--allow-root", "--port=0"]
    command += [f"--config={ROOT / 'tools/jupyterlab.py'}"]
    command += [f"--IdentityProvider.token={TOKEN}"]
    log = folder / "lab.log"
    settings = {"JUPYTERLAB_SETTINGS_DIR": str(theme.parents[1])}
    with open(log, "w") as said:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(240):
            if found := re.search(r"http://localhost:\d+", log.read_text()):
                break
            time.sleep(0.5)
        else:
            raise TimeoutError("JupyterLab did not start:\n" + log.read_text())
        yield found[0]
    finally:
        server.terminate()
        server.wait(30)


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.shots", description=__doc__
    )
    parser.add_argument("--html", type=Path, default=HTML)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument(
        "--pages-only", action="store_true", help="without JupyterLab"
    )
    asked = parser.parse_args(arguments)
    pages = {
        name: (asked.html / f"{page}.html").resolve().as_uri()
        for name, page in PAGES.items()
    }
    shutil.rmtree(asked.out, ignore_errors=True)
    with sync_playwright() as program:
        browser = program.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        found = take(browser, pages, asked.out)
        if not asked.pages_only:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(ROOT / EXERCISE, folder)
                with jupyterlab(Path(folder)) as url:
                    name = Path(EXERCISE).name
                    at = f"{url}/lab/tree/{name}?token={TOKEN}&reset"
                    found += take(browser, {"exercise": at}, asked.out, in_lab)
        browser.close()
    print(f"{len(found)} pictures: {asked.out.resolve().as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
