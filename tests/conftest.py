"""What all tests share: eight simulated devices and repeatable examples."""

import gc
import os
import re

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "8"

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from xdist.scheduler import LoadScopeScheduling  # noqa: E402

# Examples are drawn from a fixed seed: a red test is red again tomorrow. No
# deadline: two test workers share two cores, and time is never a verdict.
settings.register_profile(
    "book", derandomize=True, deadline=None, max_examples=60
)
settings.register_profile("quick", settings.get_profile("book"), max_examples=8)
settings.load_profile("book")


def pytest_addoption(parser):
    parser.addoption(
        "--long",
        action="store_true",
        help="run the tests that are marked long as well",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="skip the tests that are marked slow, draw few examples",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=3,
        help="how often tests/plants/test_interruptions.py kills a command",
    )
    parser.addoption(
        "--mutants",
        choices=("all", "seventh"),
        default="all",
        help="whose mutants are judged: those of all sets of exercises, or of "
        "a seventh of them, chosen by the commit",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "long: takes long or seldom fails; only in make test-long"
    )
    config.addinivalue_line(
        "markers", "slow: compiles programs or takes seconds; not in make check"
    )
    if config.getoption("--quick"):
        settings.load_profile("quick")


class Groups(LoadScopeScheduling):
    """Deals groups of tests to workers, each group to one of them.

    A file is a group, since its tests share fixtures, and so is a notebook,
    whose cells share a kernel. Each set of exercises is one of its own: all of
    them together would keep one worker busy long after the others are done.
    """

    def _split_scope(self, nodeid):
        place, _, rest = nodeid.partition("::")
        stem = re.search(r"\[(\d\d_\w+?)[-\]]", rest)
        return f"{place} {stem[1]}" if stem else place


def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") == "loadfile":
        return Groups(config, log)
    return None  # as the option says


def pytest_collection_finish():
    # Thousands of tests and what they import stay to the end. To look
    # through them for garbage, again and again, takes a twentieth of all time.
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_collection_modifyitems(config, items):
    for item in items:  # the kill tables run the text of every solution, too
        if item.nodeid.startswith("solutions/"):
            item.add_marker(pytest.mark.long)
    skipped = [] if config.getoption("--long") else ["long"]
    skipped += ["slow"] if config.getoption("--quick") else []
    out = {item: any(map(item.get_closest_marker, skipped)) for item in items}
    config.hook.pytest_deselected(items=[i for i in items if out[i]])
    items[:] = [item for item in items if not out[item]]
