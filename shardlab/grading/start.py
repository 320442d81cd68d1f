"""How the processes of a grading start: without looking for garbage.

What a process imports stays, so to look there again and again is a twelfth of
the processor's time that a submission takes.
"""

import gc
import sys

__all__ = ["command", "started"]

# As `python -m`, but for the garbage.
START = """\
import gc, os, runpy, sys
gc.disable()
if not sys.flags.safe_path:
    sys.path[0] = os.getcwd()  # once, and not wherever it goes
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def command(module, *words):
    """The command that starts a module, as a list.

    module   its name; it calls `started` when all is imported
    words    what its command line has besides
    """
    return [sys.executable, "-c", START, module, *words]


def started():
    """Look for garbage from now on, but not among what is there already."""
    gc.freeze()
    gc.enable()
