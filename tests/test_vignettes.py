"""The vignettes are text notebooks that can be read: they start with a heading, compile, carry no
output, and are not wider or longer than a page. Running them is the work of vignettes/run.py.
"""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lazy import lazy

jupytext = lazy("jupytext")

FOLDER = Path(__file__).parents[1] / "vignettes"
MODULES = ("run.py", "common.py")
FILES = sorted(file for file in FOLDER.glob("*.py") if file.name not in MODULES)
COLUMNS = 88  # of a line of code, and of text that is no row of a table
MOST_PICTURES = 8
# those that go through a whole analysis, or a paper, and not one idea
TOURS = ("diabetes_and_tumours", "exact_or_heuristic", "how_good_is_my_model", "interactions")
ONE_IDEA = [
    file for file in FILES if file.stem not in TOURS and not file.stem.startswith("replay_")
]


@functools.cache
def code_cells(file):
    return [cell for cell in jupytext.read(file).cells if cell.cell_type == "code"]


@functools.cache
def drawing_functions():
    """The functions of the helper module that draw."""
    tree = ast.parse((FOLDER / "common.py").read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(n, ast.Attribute) and n.attr in ("subplots", "figure")
                for n in ast.walk(node))
    }  # fmt: skip


def draws(source):
    """Whether a cell makes a picture: by a method `plot...`, or by the helper module."""
    drawing = drawing_functions()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func
            if isinstance(name, ast.Name) and name.id in drawing:
                return True
            if isinstance(name, ast.Attribute) and name.attr.startswith(("plot", "subplots")):
                return True
    return False


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_vignette_is_a_text_notebook_without_output(file):
    notebook = jupytext.read(file)
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    code = code_cells(file)
    assert code
    for cell in code:
        assert not cell.outputs
        compile(cell.source, file.name, "exec")


def test_every_vignette_begins_with_a_title_and_a_paragraph_that_the_documentation_lists():
    assert FILES
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert re.search(r"^# # (.+)\n#\n((?:# .+\n)+)", text, re.MULTILINE), file.name


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_lines_of_vignettes_fit_on_a_page(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    wide = [line for line in lines if len(line) > COLUMNS and not line.startswith("# |")]
    assert wide == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_formulas_within_a_line_end_on_it(file):
    """Else the site shows their TeX."""
    for cell in jupytext.read(file).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$", "", cell.source, flags=re.DOTALL)
            assert [line for line in text.splitlines() if line.count("$") % 2] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_first_cell_of_code_holds_imports_only(file):
    first, *others = (ast.parse(cell.source).body for cell in code_cells(file))
    assert all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in first)
    assert not any(isinstance(node, ast.FunctionDef) and node.name == "plain" for own in others
                   for node in own)  # fmt: skip
    names = [node.module for node in first if isinstance(node, ast.ImportFrom)]
    assert "common" in names


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_vignette_that_teaches_one_idea_has_few_pictures(file):
    pictures = sum(draws(cell.source) for cell in code_cells(file))
    assert pictures <= (MOST_PICTURES if file.stem not in TOURS else 2 * MOST_PICTURES)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_no_function_returns_its_figure(file):
    """A cell that ends with it would show the picture twice."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            assert node.value.id not in ("fig", "figure"), node.lineno


def test_pictures_are_counted():
    assert draws("ax = path.plot('coef')") and draws("fig, ax = plt.subplots()")
    assert draws("spectra(y, nm, raw, wave, X)")
    assert not draws("path.plots.something") and not draws("path = l0path.fit(X, y)")


def test_every_function_of_the_helper_module_is_used():
    text = "\n".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("*.py"))
    tree = ast.parse((FOLDER / "common.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert ast.get_docstring(node), node.name
            assert len(re.findall(rf"\b{node.name}\b", text)) > 1, node.name


def test_the_helper_module_can_be_imported_where_vignettes_are_run():
    code = "import common; assert common.SHORT is False"
    where = {"PYTHONPATH": str(FOLDER.parent), "PATH": "", "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=True, timeout=120, env=where)
