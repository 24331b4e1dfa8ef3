"""The vignettes are text notebooks that can be read, start with a heading, compile, and carry no
output. Running them is the work of vignettes/run.py."""

import re
from pathlib import Path

import pytest
from lazy import lazy

jupytext = lazy("jupytext")

FILES = sorted(
    file for file in (Path(__file__).parents[1] / "vignettes").glob("*.py") if file.name != "run.py"
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_vignette_is_a_text_notebook_without_output(file):
    notebook = jupytext.read(file)
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    for cell in code:
        assert not cell.outputs
        compile(cell.source, file.name, "exec")


def test_every_vignette_begins_with_a_title_and_a_paragraph_that_the_documentation_lists():
    assert FILES
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert re.search(r"^# # (.+)\n#\n((?:# .+\n)+)", text, re.MULTILINE), file.name
