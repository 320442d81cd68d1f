"""What runs in each process: the program, and a watch on its launcher.

The launcher holds one end of the pipe that is this process's standard input.
Its first line says what to run. When the launcher ends, however it ends, the
pipe closes, and this process takes itself and its children down.
"""

import importlib
import json
import os
import signal
import socket
import sys
import threading
from functools import partial
from pathlib import Path

from shardlab.processes.rank import run_script


def _called(task):
    """What a program returns that was sent as text, or by its name."""
    if "source" in task:
        names = {"__name__": "__program__"}
        exec(compile(task["source"], "<program>", "exec"), names)
        function = names[task["name"]]
    else:
        function = getattr(
            importlib.import_module(task["module"]), task["name"]
        )
    return function(*task["arguments"])


def _follow(pipe):
    """Take this process and its children down when the launcher is gone."""
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _apart(native):
    """Give Python's lines a pipe of their own.

    What libraries write without Python, and programs that it starts, goes to
    another one: pieces of their lines cannot get between.
    """
    own = os.dup(1)
    os.dup2(native, 1)
    os.close(native)
    sys.stdout = os.fdopen(own, "w", buffering=1)


def _has_address():
    """Whether this host's name leads to an address, which Gloo asks for."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return False
    return True


def _stay_on_loopback():
    """Let JAX's collectives on CPUs use 127.0.0.1, whatever the host's name."""
    from jax._src.lib import _jax  # jax 0.10.2 has no public place for this

    make = _jax.make_gloo_tcp_collectives
    _jax.make_gloo_tcp_collectives = partial(make, hostname="127.0.0.1")


def _main():
    """Read a task from standard input, run it, leave its result in a file."""
    pipe = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(pipe, 1)
        if not part:  # no launcher any more
            return
        text += part
    threading.Thread(target=_follow, args=(pipe,), daemon=True).start()
    task = json.loads(text)
    _apart(task["native"])
    sys.path[:0] = [p for p in task["path"] if p not in sys.path]
    if not _has_address():
        _stay_on_loopback()
    if "script" in task:
        run_script(task["script"], task["arguments"])
        return
    found = _called(task)
    try:
        text = json.dumps(found)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{task['name']} must return numbers, text, lists or dicts of "
            f"them, got {type(found).__name__}: {error}"
        ) from None
    Path(task["result"]).write_text(text)


if __name__ == "__main__":
    _main()
