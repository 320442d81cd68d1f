"""Runs a student's cells and answers the checks, inside a sandbox.

What it sends is what the student's program chose to send: whoever reads it
believes nothing but the value of plain data.
"""

import base64
import contextlib
import io
import os
import sys
import traceback

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from shardlab.checks import pipes, student
from shardlab.checks.question import NotAnswered, WrongAnswer
from shardlab.grading import start

MAX_TEXT = 20_000
MAX_PICTURES = 4


class _FirstCharacters(io.TextIOBase):
    """Where printed text goes: the first characters are kept."""

    encoding = "utf-8"

    def __init__(self):
        self.parts, self.left = [], MAX_TEXT

    def writable(self):
        return True

    def fileno(self):
        return 1  # for programs that ask; what they write there is not kept

    def write(self, text):
        if self.left > 0:
            self.parts.append(str(text)[: self.left])
            self.left -= len(self.parts[-1])
            if self.left <= 0:
                self.parts.append("\n... and more, which is cut\n")
        return len(text)

    def text(self):
        """What was kept."""
        return "".join(self.parts)


def _shell():
    """An IPython without a terminal, a history, or colours."""
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "NoColor"
    made = InteractiveShell.instance(config=settings)
    # It would keep a copy of all that is printed.
    made._tee = lambda channel=None: contextlib.nullcontext()
    made.display_pub.publish = _publish
    # Without a window there is nothing to enable, for %matplotlib inline too.
    made.enable_gui = lambda gui=None: None
    made.ask_exit = lambda: None
    # What JupyterLab's kernel has beside: it concerns the page, not the work.
    for name in ("autosave", "connect_info", "qtconsole"):
        made.register_magic_function(lambda line: None, magic_name=name)
    return made


def _publish(data, metadata=None, **more):
    """Print the text of what is displayed; keep its picture."""
    if isinstance(data.get("image/png"), (bytes, str)):
        pictures.append(data["image/png"])
    else:
        print(data.get("text/plain", ""))


pictures = []


def _run_cell(source):
    """Run one cell.

    source   its text, as IPython takes it
    returns  dict: "text" printed, "pictures" in base64, "error" None or the
             list of type, message and traceback
    """
    kept, trace = _FirstCharacters(), []
    pictures.clear()
    interactive._showtraceback = lambda kind, error, lines: trace.extend(lines)
    with contextlib.redirect_stdout(kept), contextlib.redirect_stderr(kept):
        result = interactive.run_cell(source, store_history=False)
        _close_figures()
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        words = "\n".join(map(str, trace))[-6000:]
        error = [type(error).__name__, str(error)[:2000], words]
    shown = [_in_base64(picture) for picture in pictures[:MAX_PICTURES]]
    return {"text": kept.text(), "pictures": shown, "error": error}


def _in_base64(picture):
    """The bytes of a picture as text, or the text itself."""
    if isinstance(picture, bytes):
        return base64.b64encode(picture).decode()
    return picture


def _close_figures():
    """Keep the pictures of the figures that a cell left open."""
    plots = sys.modules.get("matplotlib.pyplot")
    for number in plots.get_fignums() if plots else ():
        file = io.BytesIO()
        with contextlib.suppress(Exception):
            plots.figure(number).savefig(file, format="png", dpi=72)
            pictures.append(file.getvalue())
    if plots:
        plots.close("all")


def _reply(kind, name, arguments):
    """The notebook's answer to a check, or why there is none.

    kind       one of student.KINDS
    name       the notebook's name for what is asked
    arguments  encoded
    returns  dict with one entry: "answer", encoded, or "missing" or "wrong",
             a sentence, or "raised", the type and message of an error
    """
    place = student.ThisKernel(interactive.user_ns)
    kept = _FirstCharacters()
    try:
        with contextlib.redirect_stdout(kept), contextlib.redirect_stderr(kept):
            return {"answer": place.ask(kind, name, arguments)}
    except NotAnswered as error:
        return {"missing": str(error)[:2000]}
    except WrongAnswer as error:
        return {"wrong": str(error)[:2000]}
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)
        return {"raised": [type(error).__name__, str(error)[:2000]]}


def _answer(question):
    """The reply to one question of the judge."""
    if "cell" in question:
        return _run_cell(question["cell"])
    return _reply(question["kind"], question["name"], question["arguments"])


if __name__ == "__main__":
    # As in JupyterLab, a file that a cell wrote can be imported; after ours, so
    # that no name of a student's hides a module that answers.
    sys.path.append(os.getcwd())
    interactive = _shell()
    start.started()
    pipes.serve(_answer)
