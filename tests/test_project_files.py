"""Files that services read agree with the project: one version, one list of dependencies, and
workflows that only call scripts of this repository.
"""

import os
import re
import shutil
import subprocess
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


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_what_a_change_must_pass_begins_with_the_programs_that_its_tests_need(tmp_path):
    """Without them the tests of the documentation's search and heights would be skipped."""
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    command = [shutil.which("bash"), str(ROOT / ".ci" / "run")]
    done = subprocess.run(
        command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "node, chromium, chromedriver" in done.stderr
