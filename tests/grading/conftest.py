"""How much of the suites of submissions is graded: a dozen, or all."""

import contextlib
import os
import re
import sys

import pytest

from bench import servers
from tests.grading.suite import course


def pytest_addoption(parser):
    parser.addoption(
        "--suite",
        choices=("dozen", "whole"),
        default="dozen",
        help="how many hostile and honest submissions are graded",
    )


# What a module of tests imports that starts sandboxes.
BOXED = re.compile(
    r"^(from|import) .*(\bsandbox\b|\bsuite\b|\bclassroom\b|pyseccomp)", re.M
)


class Elsewhere(pytest.Module):
    """A module that is skipped by its name, unread."""

    def collect(self):
        reason = f"{self.path.name} needs the grading sandbox, so Linux"
        pytest.skip(reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    boxed = BOXED.search(module_path.read_text(encoding="utf-8"))
    if boxed and sys.platform != "linux":
        return Elsewhere.from_parent(parent, path=module_path)
    return None


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


@contextlib.contextmanager
def where_there():
    """Skip, with the words that help, where something is missing."""
    try:
        yield
    except servers.Missing as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server():
    """The folder of the socket of a new server, which ends with the tests."""
    with contextlib.ExitStack() as stack:
        with where_there():
            folder = stack.enter_context(servers.postgresql())
        yield folder


@pytest.fixture
def url(server, request):
    """The URL of a new database."""
    name = f"book_{abs(hash(request.node.name))}"
    return servers.database(server, name)
