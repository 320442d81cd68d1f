"""JupyterLab as a command of the project starts it, for a test."""

import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request

from tests.tree import environment

TOKEN = "letmein"


@contextlib.contextmanager
def jupyterlab(root, folder, config):
    """JupyterLab of the project copied to `root`; gives its address.

    folder  where it is started
    config  its configuration file
    """
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser"]
    command += ["--allow-root", "--port=0", f"--config={config}"]
    command += [f"--IdentityProvider.token={TOKEN}"]
    with open(root / "lab.log", "w") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(root, JUPYTER_CONFIG_DIR=str(root / "config")),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield address(root / "lab.log")
        finally:
            server.terminate()
            server.wait(20)


def address(log, seconds=90):
    """The address that the server of `log` answers at."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(r"http://localhost:\d+", log.read_text())
        if found:
            with urllib.request.urlopen(f"{found.group()}/api") as reply:
                assert "version" in json.load(reply)
            return found.group()
        time.sleep(0.5)
    raise AssertionError("JupyterLab did not start:\n" + log.read_text())
