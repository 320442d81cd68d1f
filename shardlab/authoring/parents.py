"""Processes that end with the one that started them, however it ends."""

import ctypes
import os
import signal
import sys

__all__ = ["end_with_parent"]

PARENT_DIES = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_parent(parent):
    """End this process with the one that started it, and at once.

    parent  the number of that process, which may have ended before it could
            be asked for

    What is killed closes nothing and tells nobody; only the kernel does it for
    it, and only Linux is asked to.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")
