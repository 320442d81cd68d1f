"""Servers on this machine that grading can use: Dask's, and PostgreSQL's.

Each is a context manager: what it starts ends with it.
"""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

__all__ = ["Missing", "cluster", "database", "install_dask", "postgresql"]

ROOT = Path(__file__).resolve().parents[1]
SOMEBODY = 65534  # PostgreSQL does not run as root.
PATIENCE = 300  # seconds after which a server that says nothing hangs


class Missing(Exception):
    """A program is not there and cannot be had; the text says which."""


def install_dask(folder):
    """Put Dask into a folder, since no environment needs it.

    raises   Missing where it cannot be installed
    """
    words = ["pip", "install", "--quiet", "--native-tls", "--no-deps"]
    words += ["--target", str(folder), "-r", "requirements-cluster.txt"]
    uv = Path(sys.executable).parent / "uv"
    command = [str(uv), *words, "--python", sys.executable]
    if not uv.exists():
        words = [words[0], *words[1:3], *words[4:]]
        command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"Dask cannot be installed: {done.stderr.strip()[-200:]}")


@contextlib.contextmanager
def cluster(root, env, workers):
    """A scheduler of Dask and its workers, of one thread each.

    root     folder for what they write
    env      their variables; Dask is on PYTHONPATH
    workers  how many
    yields   the scheduler's address, and a list of Popen: the scheduler, then
             the workers
    raises   RuntimeError where the scheduler does not get ready
    """
    file, started = root / "scheduler.json", []
    words = ["--host", "127.0.0.1", "--no-dashboard"]
    lines = [
        ["scheduler", "--scheduler-file", str(file), "--port", "0", *words]
    ]
    for _ in range(workers):
        more = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny"]
        more += ["--local-directory", str(root / "scratch")]
        lines.append(["worker", *more, *words])
    try:
        for line in lines:
            command = [sys.executable, "-m", "dask", *line]
            said = root / f"dask-{len(started)}"
            with open(said, "w") as log:
                started.append(
                    subprocess.Popen(command, env=env, stderr=log, stdout=log)
                )
            end = time.monotonic() + PATIENCE
            while not file.exists():
                if started[0].poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"no scheduler: {said.read_text()}")
                time.sleep(0.1)
        yield json.loads(file.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()


def _program(name):
    """The path of one of PostgreSQL's programs; raises Missing."""
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    paths = [*places, *os.environ["PATH"].split(os.pathsep)]
    if found := shutil.which(name, path=os.pathsep.join(paths)):
        return found
    raise Missing(
        "PostgreSQL is missing; on Debian: apt-get install postgresql"
    )


def _as_somebody(words):
    """The command, run as an ordinary user where we are root."""
    if os.geteuid():
        return words
    user = [f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
    return ["setpriv", *user, *words]


@contextlib.contextmanager
def postgresql():
    """A new PostgreSQL server, which nobody reaches but by its socket.

    yields   the folder of the socket, for `database`
    raises   Missing where it is not installed, RuntimeError where it does not
             answer
    """
    make, serve = _program("initdb"), _program("postgres")
    # A socket's path may be at most 107 bytes long.
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    try:
        if not os.geteuid():
            os.chown(folder, SOMEBODY, SOMEBODY)
        data = f"{folder}/data"
        words = [make, "-D", data, "-U", "grader", "-A", "trust", "-N"]
        made = subprocess.run(
            _as_somebody(words), capture_output=True, text=True
        )
        if made.returncode:
            raise RuntimeError(made.stderr)
        words = [serve, "-D", data, "-k", folder, "-h", ""]
        words += ["-c", "fsync=off", "-c", "max_connections=40"]
        quiet = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        with subprocess.Popen(_as_somebody(words), **quiet) as process:
            try:
                _wait_for(folder, process)
                yield folder
            finally:
                process.send_signal(signal.SIGINT)  # waits for no client
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(folder, name):
    """The URL of a database of the server at `folder`."""
    return f"postgresql://grader@/{name}?host={folder}"


def _wait_for(folder, process):
    """Wait until the server answers."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(_place(folder, "postgres")).close()
            return
        time.sleep(0.1)
    raise RuntimeError("PostgreSQL ended, or does not answer")


def database(folder, name):
    """The URL of a new database.

    folder   as `postgresql` yields it
    name     letters, digits and underscores
    """
    place = _place(folder, "postgres")
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return _place(folder, name)
