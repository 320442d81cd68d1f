"""Where the processor's time of a run of the tests goes, by folder and file.

    python -m pytest -p bench.account tests/pages        # one table at the end
    make test ACCOUNT=work/suite.json                    # and as JSON

Each test is charged what its process and the processes that it ended took
while it ran, set-up and what is put away afterwards included. A browser or a
kernel that lives on is charged to the test after which it ends.
"""

import json
import os
import time
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

from bench.measuring import processor

LARGEST = 10


def pytest_addoption(parser):
    parser.addoption("--account", help="write the table there, too")


def pytest_configure(config):
    config.pluginmanager.register(Account(config), "account")


class Account:
    """Adds up; with several workers, the first process hears the others."""

    def __init__(self, config):
        self.path = config.getoption("--account")
        self.cpu, self.wall = defaultdict(float), defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        start = time.perf_counter(), processor()
        done = yield
        report = (time.perf_counter() - start[0], processor() - start[1])
        item.config.stash.setdefault(TOOK, {})[item.nodeid] = report
        return done

    def pytest_sessionfinish(self, session):
        took = session.config.stash.get(TOOK, {})
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["account"] = took
        for nodeid, (wall, cpu) in took.items():
            self.add(nodeid, wall, cpu)

    def pytest_testnodedown(self, node):
        for nodeid, spent in node.workeroutput.get("account", {}).items():
            self.add(nodeid, *spent)

    def add(self, nodeid, wall, cpu):
        """Charge a test to its file and to its folder."""
        for place in places(nodeid):
            self.wall[place] += wall
            self.cpu[place] += cpu

    def pytest_terminal_summary(self, terminalreporter):
        if "PYTEST_XDIST_WORKER" in os.environ or not self.cpu:
            return
        whole = sum(v for place, v in self.cpu.items() if is_folder(place))
        terminalreporter.write_sep("=", "seconds of the processor")
        for kind, most in ((is_folder, None), (is_file, LARGEST)):
            found = sorted(filter(kind, self.cpu), key=self.cpu.get)[::-1]
            for place in found[:most]:
                terminalreporter.write_line(
                    f"{self.cpu[place]:9.1f} {self.cpu[place] / whole:6.1%}  "
                    f"{self.wall[place]:9.1f} by the clock  {place}"
                )
        if self.path:
            today = date.today().isoformat()
            spent = {"cpu_seconds": self.cpu, "seconds": self.wall}
            table = {"date": today, **spent}
            Path(self.path).write_text(json.dumps(table, indent=1) + "\n")


TOOK = pytest.StashKey()


def places(nodeid):
    """The folder and the file of a test: "tests/pages/", "tests/pages/a.py"."""
    path = nodeid.partition("::")[0]
    parts = Path(path).parts
    folder = "/".join(parts[: 2 if parts[0] == "tests" else 1])
    return f"{folder}/", path


def is_folder(place):
    """Whether a place is a folder."""
    return place.endswith("/")


def is_file(place):
    """Whether a place is a file."""
    return not is_folder(place)
