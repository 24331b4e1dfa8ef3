"""The documentation: the first page says what its code prints, and docstrings come through as they
are written. (`mkdocs build --strict` checks links and builds it.)
"""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS))
figures = import_module("figures")


def test_first_page_prints_what_it_says(tmp_path):
    import matplotlib.pyplot as plt

    page = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    plt.close("all")
    assert len(blocks) > 8
    for code, printed, said in blocks:
        assert printed == said, code
    shown = set(re.findall(r"\(assets/(.+?\.png)\)", page))
    assert shown == {file.name for file in tmp_path.glob("*.png")}
    assert all((DOCS / "assets" / name).is_file() for name in shown)


def test_the_readme_prints_what_it_says(tmp_path):
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    assert blocks
    for code, printed, said in blocks:
        assert printed == said, code


def test_the_page_on_paths_prints_what_it_says(tmp_path):
    page = (DOCS / "paths.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    assert blocks
    for code, printed, said in blocks:
        assert [line.rstrip() for line in printed.split("\n")] == said.split("\n"), code


def test_pictures_and_links_of_the_readme_are_there():
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    places = re.findall(r'\]\(([^)#]+)[^)]*\)|src="([^"]+)"', page)
    files = [a or b for a, b in places]
    assert len(files) > 15
    assert [name for name in files if not (DOCS.parent / name).exists()] == []


@pytest.fixture(scope="module")
def docstrings():
    pytest.importorskip("griffe", reason="the documentation's own packages: pip install '.[docs]'")
    import docstrings

    return docstrings


TEXT = """One line about ||b||_1 and *stars*, see `Path.model`.

    minimise  sum_i (y_i - eta_i)^2 + lambda0 ||b||_0        (1)

Parameters
----------
a, b : numbers, with a text that
    goes on.    c : another; d : a third, for example: this one.
**rest : of `fit`.
e: a fifth; and so on.

Returns a DataFrame:
    one    1
    two    2

Examples
--------
>>> 1 + 1
2
"""


def test_docstrings_as_markdown(docstrings):
    out = docstrings.markdown(
        TEXT,
        known={"a", "b", "c", "d", "e", "rest"},
        links={"Path.model": "l0path.paths.path.Path.model"},
    )
    assert r"\|\|b\|\|\_1 and \*stars\*, see [`Path.model`][l0path.paths.path.Path.model]." in out
    assert "```text\nminimise  sum_i (y_i - eta_i)^2 + lambda0 ||b||_0        (1)\n```" in out
    items = [line for line in out.splitlines() if line.startswith("- ")]
    assert items == [
        "- **`a, b`** – numbers, with a text that goes on.",
        "- **`c`** – another",
        "- **`d`** – a third, for example: this one.",
        "- **`**rest`** – of `fit`.",
        "- **`e`** – a fifth; and so on.",
    ]
    assert "```text\none    1\ntwo    2\n```" in out
    assert "```pycon\n>>> 1 + 1\n2\n```" in out
    assert "**Parameters**" in out


def test_reference_has_every_public_name(docstrings):
    import l0path

    pages = docstrings.reference()
    assert set(pages) == set(l0path.__all__)
    assert "l0path.solvers.LocalSearch" in pages["solvers"]
    assert pages["fit"] == ["l0path.fit"]
    assert docstrings.home("l0path.fit") == "l0path.fitting.fit"
    assert docstrings.links()["Path.certify"] == "l0path.paths.path.Path.certify"
