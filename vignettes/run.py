"""Run every vignette (a text notebook) from top to bottom; an error in any cell fails.

`--html` also renders each, and a page that lists them, to vignettes/html (extra
`l0path[html]`); `--notebooks` keeps each there with its output, for the gallery of the
documentation. Names choose some of them, `--jobs` says how many run at a time. The
pages need no network: formulas become MathML, and scripts that nbconvert would load are
left out.
"""

import argparse
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path

import jupytext
import nbclient
import nbformat

FOLDER = Path(__file__).parent
MODULES = ("run.py", "common.py")  # which are no notebooks


def render(notebook, file):
    """Write the notebook, executed, as a page that is whole by itself."""
    from latex2mathml.converter import convert
    from nbconvert import HTMLExporter

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(
                r"\$\$(.+?)\$\$",
                lambda found: convert(found[1], display="block"),
                cell.source,
                flags=re.DOTALL,
            )
            cell.source = re.sub(
                r"(?<![\\$\w])\$(?! )([^$\n]+?)(?<! )\$(?!\w)",
                lambda found: convert(found[1]),
                cell.source,
            )
    exporter = HTMLExporter(
        require_js_url="",
        mathjax_url="",
        jquery_url="",
        mermaid_js_url="",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    page = exporter.from_notebook_node(
        notebook, resources={"metadata": {"name": file.stem}}
    )[0]
    file.parent.mkdir(exist_ok=True)
    file.write_text(page, encoding="utf-8")


def title(file):
    """The heading of a text notebook."""
    return re.search(r"^# # (.+)", file.read_text(encoding="utf-8"), re.MULTILINE)[1]


def index():
    """vignettes/html/index.html: the pages that are there."""
    items = [
        f'<li><a href="{file.stem}.html">{escape(title(file))}</a></li>'
        for file in sorted(FOLDER.glob("*.py"))
        if (FOLDER / "html" / f"{file.stem}.html").exists()
    ]
    style = "body{font:16px/1.6 sans-serif;max-width:50em;margin:3em auto}"
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>l0path: vignettes</title><style>{style}</style></head>"
    )
    (FOLDER / "html" / "index.html").write_text(
        (
            f"{head}<body><h1>l0path: "
            f"vignettes</h1><ul>{''.join(items)}</ul></body></html>\n"
        ),
        encoding="utf-8",
    )


def run(file, html, notebooks):
    """Execute one vignette in a process of its own; True if it failed."""
    started, failed = time.perf_counter(), False
    notebook = jupytext.read(file)
    try:
        nbclient.NotebookClient(
            notebook,
            timeout=1200,
            kernel_name="python3",
            coalesce_streams=True,
            resources={"metadata": {"path": str(FOLDER)}},
        ).execute()
        print(f"{file.stem}: ran in {time.perf_counter() - started:.0f} s", flush=True)
    except nbclient.exceptions.CellExecutionError as error:
        failed = True
        print(f"{file.stem}: FAILED\n{error}", flush=True)
    if notebooks and not failed:
        (FOLDER / "html").mkdir(exist_ok=True)
        nbformat.write(notebook, FOLDER / "html" / f"{file.stem}.ipynb")
    if html:
        render(notebook, FOLDER / "html" / f"{file.stem}.html")
    return failed


def main():
    """Returns the number of vignettes that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="vignettes without .py (default: all)")
    parser.add_argument("--html", action="store_true")
    parser.add_argument("--notebooks", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("L0PATH_QUIET", "1")
    os.environ.pop(
        "MPLBACKEND", None
    )  # the kernel's own backend puts figures into the page
    os.environ.setdefault("PYTHONPATH", str(FOLDER.parent))
    files = [
        file
        for file in sorted(FOLDER.glob("*.py"))
        if file.name not in MODULES
        and (not options.names or file.stem in options.names)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        failed = sum(
            pool.map(lambda file: run(file, options.html, options.notebooks), files)
        )
    if options.html:
        index()
    return failed


if __name__ == "__main__":
    sys.exit(main())
