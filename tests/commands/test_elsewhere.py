"""Containers and workflows run the project's own commands, as they are now."""

import json
import re
import tomllib

import pytest
import yaml

from tests.tree import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def project():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def runs(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [
        step["run"]
        for job in jobs.values()
        for step in job["steps"]
        if "run" in step
    ]


def made(commands):
    found = [re.findall(r"(?:^|&& )make ([a-z-]+)", each) for each in commands]
    return {target for names in found for target in names}


def test_workflows_and_container_call_targets_that_exist():
    container = (ROOT / ".devcontainer/devcontainer.json").read_text()
    commands = [text for path in WORKFLOWS for text in runs(path)]
    commands += [
        text
        for name, text in json.loads(container).items()
        if name.endswith("Command")
    ]
    called = made(commands)
    assert {"setup", "book", "test", "test-long"} <= called <= targets()


def test_pythons_elsewhere_are_pythons_that_the_book_supports():
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    text += (ROOT / ".devcontainer/devcontainer.json").read_text()
    named = set(re.findall(r"\b3\.(\d\d)\b", text))
    low, high = re.findall(r"3\.(\d+)", project()["requires-python"])
    assert named
    assert all(int(low) <= int(minor) < int(high) for minor in named)


def test_the_citation_names_this_version_and_both_licences():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = yaml.safe_load(text)
    assert cited["version"] == project()["version"]
    assert set(cited["license"]) == {"MIT", "CC-BY-4.0"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_ask_where(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    first = form["body"][0]
    assert first["validations"]["required"] is True
