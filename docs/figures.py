"""Runs the code of the first steps, of the pages of tasks and plots, and of the examples of
docstrings that draw, and keeps their figures: python docs/figures.py. The pages show
docs/assets/*.png, docs/assets/plots/*.png and docs/assets/reference/*.png, which a change of the
plots makes old.
"""

import contextlib
import doctest
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

FOLDER = Path(__file__).resolve().parent
PICTURES = FOLDER / "assets" / "reference"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run(page, folder):
    """[(code, what it printed, what the page says)] of the blocks of a page, run one after the
    other within a folder.
    """
    out, names = [], {}
    with contextlib.chdir(folder):
        for code, said in BLOCK.findall(page):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, names)
            out.append((code, printed.getvalue(), said))
    return out


def plots_of_the_page():
    """{file: code} of the page on plots: each picture, and the block of code before it."""
    page = (FOLDER / "plots.md").read_text(encoding="utf-8")
    first = BLOCK.search(page)[1]
    blocks = re.findall(r"^ +```python\n(.*?)^ +```\n\n +!\[[^]]*\]\((.+?)\)$", page, re.M | re.S)
    return first, {FOLDER / file: dedent(code) for code, file in blocks}


def documented():
    """(public name, function) of functions of the package and its modules, and of methods."""
    import l0path

    for name in l0path.__all__:
        value = getattr(l0path, name)
        for inner in dir(value):
            if not inner.startswith("_") and inspect.isfunction(getattr(value, inner)):
                yield f"l0path.{name}.{inner}", getattr(value, inner)


def plotted():
    """{example: names} of the functions and methods whose docstring has an example that draws.

    Names that share a docstring share the picture, which is called after the first of them.
    """
    out = {}
    for name, function in sorted(documented(), key=lambda pair: pair[0]):
        lines = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
        if any(line.source.startswith("ax = ") for line in lines):
            example = "".join(line.source for line in lines if not line.options)
            out.setdefault(example, []).append(name)
    return out


def pictures():
    """{public name: file} of the pictures of examples."""
    return {name: PICTURES / f"{names[0]}.png" for names in plotted().values() for name in names}


def draw(example, file, names=None):
    """Run an example, with the names of those before it, and keep what it drew."""
    names = {} if names is None else names
    exec(example, names)
    figure = names["ax"].figure
    figure.savefig(file, dpi=80, bbox_inches="tight")
    import matplotlib.pyplot as plt

    plt.close(figure)


def photograph(file, width=1000, height=833):
    """A picture of the explorer page of the first steps, by chromium where it is installed."""
    import l0path

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return
    data = l0path.datasets.load_hitters()
    cv = l0path.cv_fit(data.X, data.y, cv=10, random_state=1, lambda2=0)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        cv.explore(page)
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars"]
        command += [f"--window-size={width},{height}", f"--screenshot={file}"]
        subprocess.run([*command, f"{page.as_uri()}#k=6"], check=True, capture_output=True)


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    sys.path.insert(0, str(FOLDER.parent))
    PICTURES.mkdir(exist_ok=True)
    photograph(FOLDER / "assets" / "explorer.png")
    for example, names in plotted().items():
        draw(example, PICTURES / f"{names[0]}.png")
    first, blocks = plots_of_the_page()
    names = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(first, names)
        for file, code in blocks.items():
            file.parent.mkdir(exist_ok=True)
            draw(code, file, names)
    for page in [FOLDER / "first_steps.md", *sorted((FOLDER / "tasks").glob("*.md"))]:
        with tempfile.TemporaryDirectory() as folder:
            for code, printed, said in run(page.read_text(encoding="utf-8"), folder):
                if printed != said:
                    print(f"{page.name}: {code}\nprints\n{printed}\nthe page says\n{said}")
            for figure in Path(folder).glob("*.png"):
                figure.replace(FOLDER / "assets" / figure.name)
