"""How much of the suites of submissions is graded: a dozen, or all."""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
import time

import psycopg
import pytest

from tests.grading.suite import course


def pytest_addoption(parser):
    parser.addoption(
        "--suite",
        choices=("dozen", "whole"),
        default="dozen",
        help="how many hostile and honest submissions are graded",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "whole: only with --suite=whole")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--suite", "dozen") == "whole":
        return
    out = [item for item in items if item.get_closest_marker("whole")]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [i for i in items if not i.get_closest_marker("whole")]


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The course of the sample notebook."""
    return course.make(tmp_path_factory.mktemp("sample"))


SOMEBODY = 65534  # PostgreSQL does not run as root.


def program(name):
    """The path of one of PostgreSQL's programs, or None."""
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    paths = [*places, *os.environ["PATH"].split(os.pathsep)]
    return shutil.which(name, path=os.pathsep.join(paths))


def require_postgresql():
    """Skip, with the command that helps, where PostgreSQL is missing."""
    if not program("initdb") or not program("postgres"):
        reason = "PostgreSQL is missing; on Debian: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def as_somebody(words):
    """The command, run as an ordinary user where we are root."""
    if os.geteuid():
        return words
    user = [f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
    return ["setpriv", *user, *words]


@pytest.fixture(scope="module")
def server():
    """The folder of the socket of a new server, which ends with the tests."""
    require_postgresql()
    # A socket's path may be at most 107 bytes long.
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    if not os.geteuid():
        os.chown(folder, SOMEBODY, SOMEBODY)
    data = f"{folder}/data"
    words = [program("initdb"), "-D", data, "-U", "grader", "-A", "trust", "-N"]
    made = subprocess.run(as_somebody(words), capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    words = [program("postgres"), "-D", data, "-k", folder, "-h", ""]
    words += ["-c", "fsync=off", "-c", "max_connections=40"]
    process = subprocess.Popen(
        as_somebody(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(folder, process)
        yield folder
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(folder, process):
    """Wait until the server answers."""
    for _ in range(300):
        assert process.poll() is None
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(
                f"postgresql://grader@/postgres?host={folder}"
            ).close()
            return
        time.sleep(0.1)
    raise TimeoutError("PostgreSQL does not answer")


@pytest.fixture
def url(server, request):
    """The URL of a new database."""
    name = f"book_{abs(hash(request.node.name))}"
    place = f"postgresql://grader@/postgres?host={server}"
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://grader@/{name}?host={server}"
