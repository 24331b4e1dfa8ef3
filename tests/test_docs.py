"""The documentation: pages say what their code prints, the reference has every public name, and
every parameter is documented once. (`mkdocs build --strict` checks links and builds it.)
"""

import base64
import inspect
import io
import json
import re
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest
from test_public_surface import callables, surface

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS))
figures = import_module("figures")


def test_first_page_prints_what_it_says(tmp_path):
    import matplotlib.pyplot as plt

    page = (DOCS / "first_steps.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    plt.close("all")
    assert len(blocks) > 8
    for code, printed, said in blocks:
        assert printed == said, code
    shown = set(re.findall(r"\(assets/(.+?\.png)\)", page))
    assert shown == {file.name for file in tmp_path.glob("*.png")}
    assert all((DOCS / "assets" / name).is_file() for name in shown)


TASKS = sorted(file.stem for file in (DOCS / "tasks").glob("*.md") if file.stem != "index")


@pytest.mark.parametrize("name", TASKS)
def test_pages_of_tasks_print_what_they_say(name, tmp_path):
    import matplotlib.pyplot as plt

    page = (DOCS / "tasks" / f"{name}.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    plt.close("all")
    assert blocks
    for code, printed, said in blocks:
        assert printed == said, code
    shown = set(re.findall(r"\(\.\./assets/(.+?\.png)\)", page))
    assert shown == {file.name for file in tmp_path.glob("*.png")}
    assert all((DOCS / "assets" / name).is_file() for name in shown)


def test_the_readme_prints_what_it_says(tmp_path):
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    assert blocks
    for code, printed, said in blocks:
        assert printed == said, code


def digits_kept(text):
    """The text with ten digits of each long number: the last ones depend on the processor."""
    return re.sub(r"\d+\.\d{10,}", lambda m: f"{float(m[0]):.10g}", text)


def test_the_page_on_paths_prints_what_it_says(tmp_path):
    page = (DOCS / "paths.md").read_text(encoding="utf-8")
    blocks = figures.run(page, tmp_path)
    assert blocks
    for code, printed, said in blocks:
        printed, said = digits_kept(printed), digits_kept(said)
        assert [line.rstrip() for line in printed.split("\n")] == said.split("\n"), code


def test_pictures_and_links_of_the_readme_are_there():
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    places = re.findall(r'\]\(([^)#]+)[^)]*\)|src="([^"]+)"', page)
    files = [a or b for a, b in places]
    assert len(files) > 15
    assert [name for name in files if not (DOCS.parent / name).exists()] == []


def test_the_page_on_plots_shows_what_its_code_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, blocks = figures.plots_of_the_page()
    assert len(blocks) > 10 and set(blocks) == set((DOCS / "assets" / "plots").glob("*.png"))
    names = {}
    exec(first, names)
    for file, code in blocks.items():
        figures.draw(code, tmp_path / file.name, names)
        assert names["ax"].has_data(), file.name
    pages = (DOCS / "plots.md").read_text(encoding="utf-8").count("](assets/plots/")
    assert pages == len(blocks)


def test_examples_that_draw_have_a_picture():
    files = figures.pictures()
    assert {"l0path.Path.plot", "l0path.CVPath.plot_roc", "l0path.Model.plot"} <= set(files)
    assert [name for name, file in files.items() if not file.is_file()] == []
    assert set(files.values()) == set(figures.PICTURES.glob("*.png"))


@pytest.fixture(scope="module")
def hooks():
    pytest.importorskip("mkdocs", reason="the documentation's own packages: pip install '.[docs]'")
    return import_module("hooks")


def test_reference_has_every_public_name(hooks):
    import l0path

    pages = hooks.reference()
    assert set(pages) == {*l0path.__all__, "internals"}
    in_groups = [name for names in hooks.grouped().values() for name in names]
    assert sorted(in_groups) == sorted(pages)
    assert {name for names in pages.values() for name in names} == set(surface())
    assert hooks.home("l0path.fit") == "l0path.fitting.fit"
    assert hooks.links()["Path.certify"] == "Path.certify.html#l0path.paths.path.Path.certify"


def test_pages_that_docstrings_name_are_there():
    texts = [inspect.getdoc(thing) or "" for thing in [*surface().values(), *callables().values()]]
    named = {page for text in texts for page in re.findall(r"docs/\w+\.md", text)}
    assert "docs/algorithms.md" in named
    assert [page for page in named if not (DOCS.parent / page).is_file()] == []


def documented(text):
    """Names in the sections of parameters of a docstring, as griffe's numpy parser reads them."""
    griffe = pytest.importorskip("griffe")
    parts = griffe.Docstring(text).parse("numpy", warnings=False)
    return [item.name for part in parts if part.kind.value == "parameters" for item in part.value]


def parameters(function):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(parameter.kind, "") + name
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
    ]


MADE_BY_USERS = ("solvers.", "L0Regressor", "L0Classifier")  # other classes are results


def with_parameters():
    """{name: (docstring, parameters)} of public functions, of methods, and of classes that users
    make. Designs and settings have methods for the engines; those of every design are said once,
    in `Dense`.
    """
    out = {}
    for name, function in callables().items():
        owner = surface().get(name.rpartition(".")[0])
        text = inspect.getdoc(owner if name.endswith(".__init__") else function) or ""
        if name.endswith(".__init__"):
            if not name.removeprefix("l0path.").startswith(MADE_BY_USERS):
                continue
        elif owner is not None:
            method = name.rpartition(".")[2]
            inner = name.startswith(("l0path.solvers.", "l0path.designs."))
            if isinstance(inspect.getattr_static(owner, method), property) or (
                inner and owner.__name__ != "Dense"
            ):
                continue
        out[name] = (text, parameters(function))
    return out


def test_every_parameter_is_documented_once():
    wrong = {
        name: (said, names)
        for name, (text, names) in with_parameters().items()
        if (said := sorted(documented(text))) != sorted(names)
    }
    assert not wrong


def test_parameters_share_an_entry_only_with_the_same_default():
    """The page shows the default of the first one for all of them."""
    for name, (text, _) in with_parameters().items():
        defaults = {
            key: repr(parameter.default)
            for key, parameter in inspect.signature(callables()[name]).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
        for shared in re.findall(r"^(\w+(?:, \w+)+) : ", text, re.MULTILINE):
            values = {defaults[key] for key in shared.split(", ") if key in defaults}
            assert len(values) <= 1, f"{name}: {shared}"


def test_the_parser_sees_parameters_that_are_missing_or_said_twice():
    text = "One.\n\nParameters\n----------\na, b : int\n    Two.\nb : int\n    Again.\n"
    assert documented(text) == ["a", "b", "b"]


def test_underlines_of_sections_are_lines_of_their_own():
    joined = re.compile(r"^ *-{3,} +\S.*$", re.MULTILINE)
    assert joined.findall("Notes\n    ----- The text.")
    sources = (DOCS.parent / "l0path").rglob("*.py")
    assert not {file.name: found for file in sources if (found := joined.findall(file.read_text()))}


def test_classes_say_what_they_hold():
    heading = re.compile(r"^(Attributes|Parameters)\n-+$", re.MULTILINE)
    silent = [
        name
        for name, value in surface().items()
        if inspect.isclass(value)
        and "designs" not in name
        and not issubclass(value, Warning)
        and not (is_dataclass(value) and not fields(value))  # a loss without numbers
        and not heading.search(inspect.getdoc(value))
    ]
    assert not silent


def test_links_that_lead_nowhere_are_found(tmp_path):
    check_links = import_module("check_links")
    (tmp_path / "b.html").write_text('<h2 id="here">x</h2><a href="a.html#gone">y</a>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><img src="no.png">'
        '<a href="https://example.org/x">3</a><a href="#top" id="top">4</a>'
    )
    assert check_links.broken(tmp_path) == [
        "a.html: b.html#there",
        "a.html: no.png",
        "b.html: a.html#gone",
    ]


def test_a_page_of_the_gallery_has_text_code_output_and_pictures(tmp_path, monkeypatch):
    pytest.importorskip("latex2mathml", reason="of the documentation: pip install '.[docs]'")
    from PIL import Image

    gallery = import_module("gallery")
    png = io.BytesIO()
    Image.new("RGB", (900, 300), "red").save(png, "PNG")
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31mone\x1b[0m\n", "two\n"]},
        {
            "output_type": "display_data",
            "data": {"image/png": base64.b64encode(png.getvalue()).decode()},
        },
        {"output_type": "execute_result", "data": {"text/html": "<b>*3*</b>", "text/plain": "3"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": "# Title", "metadata": {}},
        {"cell_type": "markdown", "source": "# Part\nSee `docs/losses.md`, $x$.", "metadata": {}},
        {"cell_type": "code", "source": "print(1)", "metadata": {}, "outputs": outputs},
    ]
    monkeypatch.setattr(gallery, "EXECUTED", tmp_path)
    one = gallery.Vignette("some", "Title", "Words.")
    one.executed.write_text(json.dumps({"cells": cells}))
    text, files, html = gallery.page(one)
    assert text.splitlines()[0] == "# Title" and "\n## Part\n" in text
    assert "(../losses.md)" in text and "<math" in text and "`````text\none\ntwo\n`````" in text
    assert files == {"some_1.png": png.getvalue()} and "![Picture 1](some_1.png)" in text
    assert (
        gallery.filled("a<p><!--output 0--></p>", html)
        == 'a<div class="output" data-search-exclude><b>*3*</b></div>'
    )
    assert Image.open(io.BytesIO(gallery.thumbnail(one.stored))).size == (480, 160)
    assert "[![Title](assets/gallery/some.png)](vignettes/some.md)" in gallery.card(one)
    other = gallery.card(gallery.Vignette("other", "Other", "Words."))
    assert "not executed here" in other and "![Other](assets/gallery/other.png)" in other


def test_copies_of_notebooks_keep_text_and_small_pictures(tmp_path, monkeypatch):
    pytest.importorskip("latex2mathml", reason="formulas of pages: pip install '.[docs]'")
    from PIL import Image

    gallery = import_module("gallery")
    png = io.BytesIO()
    Image.effect_noise((1300, 500), 60).convert("RGB").save(png, "PNG")
    data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": "<Figure>"}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
        {"output_type": "display_data", "data": data},
        {"output_type": "execute_result", "data": {"text/html": "x" * 9000, "text/plain": "3"}},
        {"output_type": "execute_result", "data": {"text/html": "<b>4</b>", "text/plain": "4"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."], "metadata": {}},
        {"cell_type": "code", "source": "f()", "metadata": {"tags": ["a"]}, "outputs": outputs},
    ]
    monkeypatch.setattr(gallery, "EXECUTED", tmp_path / "executed")
    monkeypatch.setattr(gallery, "STORED", tmp_path)
    executed = tmp_path / "long.ipynb"
    executed.write_text(json.dumps({"cells": cells}))
    one = gallery.Vignette("some", "Title", "Words.")
    one.copy.write_text(gallery.small_copy(executed), encoding="utf-8")
    assert one.stored == one.copy and one.copy.stat().st_size < executed.stat().st_size / 3
    text, files, html = gallery.page(one)
    assert "one\ntwo" in text and "`````text\n3\n`````" in text
    assert html == ['<div class="output" data-search-exclude><b>4</b></div>']
    (picture,) = files.values()
    assert Image.open(io.BytesIO(picture)).size == (640, 246)


def test_every_vignette_has_a_page_with_its_output():
    """Also where nothing was executed: the repository keeps copies of the notebooks."""
    gallery = import_module("gallery")
    copies = {one.copy for one in gallery.vignettes()}
    assert copies == set(gallery.STORED.glob("*.json")), "python docs/gallery.py makes them"
    for file in copies:
        outputs = [one for cell in gallery.cells(file) for one in cell.get("outputs", ())]
        assert outputs and file.stat().st_size < 350_000, file.name
    assert sum(file.stat().st_size for file in copies) < 4_000_000


def test_every_vignette_has_a_small_thumbnail():
    """They are stored, so that the gallery has pictures where nothing was executed."""
    from PIL import Image

    gallery = import_module("gallery")
    made = {one.small for one in gallery.vignettes()}
    assert made == set(gallery.THUMBNAILS.glob("*.png")), "python docs/gallery.py makes them"
    for file in made:
        with Image.open(file) as picture:
            assert 200 <= picture.width <= 480 and file.stat().st_size < 40_000
