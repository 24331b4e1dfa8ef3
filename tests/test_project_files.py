"""Files that services read agree with the project: one version, one list of dependencies, and
workflows that only call scripts of this repository.
"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation_has_the_version_of_the_project():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r'^version: "(.*)"$', text, re.M)[1] == PROJECT["version"]


def test_the_oldest_versions_are_those_that_the_project_allows():
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    named = {name: version.removesuffix(".*") for name, version in oldest.items()}
    allowed = dict(line.split(",")[0].split(">=") for line in PROJECT["dependencies"])
    assert allowed.items() <= named.items()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_of_a_workflow_is_a_script_that_runs_here(path):
    commands = re.findall(r"- run: (.*)", path.read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        assert (ROOT / re.fullmatch(r"bash (\S+).*", command)[1]).exists()


def test_there_are_workflows():
    assert len(WORKFLOWS) == 3
