"""The suites of hostile and of honest submissions, as data."""

import importlib

NAMES = (
    "process",
    "notebook",
    "files",
    "protocol",
    "program",
    "output",
    "second",
)


def members(name):
    """The rows of a class of attacks, or of "honest"."""
    module = name if name == "honest" else f"attacks_{name}"
    return importlib.import_module(f"{__name__}.{module}").ROWS
