"""What the page needs beyond Jupyter Book: no stored errors, JupyterLab."""

import json
from pathlib import Path

from sphinx.errors import ExtensionError

# Where `make lab` serves; its folder is work/, to which it copies notebooks.
JUPYTERLAB = "http://localhost:8888/lab/tree/"


def untagged_errors(path):
    """The positions of cells with a stored error that is not expected."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        position
        for position, cell in enumerate(cells)
        if "raises-exception" not in cell["metadata"].get("tags", [])
        and any(o["output_type"] == "error" for o in cell.get("outputs", []))
    ]


def refuse_stored_errors(app, env, docnames):
    """Fail when a notebook of the book holds an error that is no lesson.

    Runs over every notebook, read anew or not: the build executes nothing, so
    nobody else would notice, and a cached page would hide it.
    """
    for docname in sorted(env.found_docs):
        path = Path(app.srcdir) / f"{docname}.ipynb"
        if path.exists() and (positions := untagged_errors(path)):
            raise ExtensionError(
                f"{docname}.ipynb stores an error in cell {positions[0]}, "
                "which is not tagged raises-exception"
            )


def place_in_lab(docname):
    """Where `make lab` puts a notebook of the book, below its folder."""
    folder, _, rest = docname.partition("/")
    return f"{rest}.ipynb" if folder == "exercises" else f"{docname}.ipynb"


def add_lab_button(app, pagename, templatename, context, doctree):
    """Add "open in JupyterLab" to the pages that are notebooks."""
    if (Path(app.srcdir) / f"{pagename}.ipynb").exists():
        context["header_buttons"].append(
            {
                "type": "link",
                "url": JUPYTERLAB + place_in_lab(pagename),
                "icon": "fas fa-flask",
                "tooltip": "Open in JupyterLab (start it with make lab)",
                "label": "open-in-jupyterlab",
            }
        )


def say_how(app, pagename, templatename, context, doctree):
    """Say at the top of a page of exercises where they are done."""
    if app.builder.name != "html" or not pagename.startswith("exercises/"):
        return
    lab = JUPYTERLAB + place_in_lab(pagename)
    home = app.builder.get_relative_uri(pagename, "book/index")
    box = (
        '<p class="how-to"><strong>Do these in JupyterLab,</strong> on a '
        "computer: run <code>make lab</code> in "
        f'<a href="{home}#read-run-solve">your copy of the book</a>, then open '
        f"<code>{pagename.rpartition('/')[2]}</code>. "
        f'<a class="at-home" href="{lab}">Open it now</a></p>'
    )
    context["body"] = context["body"].replace("</h1>", f"</h1>\n{box}", 1)


def allow_processes(app, env, docnames):
    """Let several processes read and write pages.

    Some of Jupyter Book's extensions do not say whether they mind. One numbers
    chapters when all of them were read, one is for LaTeX: they do not.
    """
    for extension in app.extensions.values():
        for what in ("parallel_read_safe", "parallel_write_safe"):
            if getattr(extension, what) is None:
                setattr(extension, what, True)


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.connect("env-before-read-docs", allow_processes)
    app.connect("env-before-read-docs", refuse_stored_errors)
    app.connect("html-page-context", add_lab_button, priority=502)
    app.connect("html-page-context", say_how, priority=955)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
