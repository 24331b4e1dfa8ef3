"""The vignettes are text notebooks that can be read, start with a heading, compile, and carry no output. Running them is the work of vignettes/run.py."""

from pathlib import Path

import jupytext
import pytest

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


def test_the_readme_names_every_vignette():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert FILES
    assert [file.name for file in FILES if f"`{file.name}`" not in readme] == []
