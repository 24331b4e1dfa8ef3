"""Run every vignette (a text notebook) from top to bottom; an error in any cell fails. `--html` also renders each to vignettes/html (needs nbconvert); names choose some of them."""
import argparse
import os
import sys
import time
from pathlib import Path

import jupytext
import nbclient

FOLDER = Path(__file__).parent


def main():
    """Returns the number of vignettes that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="vignettes without .py (default: all)")
    parser.add_argument("--html", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("L0PATH_QUIET", "1")
    os.environ.setdefault("PYTHONPATH", str(FOLDER.parent))
    failed = 0
    for file in sorted(FOLDER.glob("*.py")):
        if file.name == "run.py" or (options.names and file.stem not in options.names):
            continue
        started = time.perf_counter()
        notebook = jupytext.read(file)
        try:
            nbclient.NotebookClient(notebook, timeout=1200, kernel_name="python3", coalesce_streams=True, resources={"metadata": {"path": str(FOLDER)}}).execute()
            print(f"{file.stem}: ran in {time.perf_counter() - started:.0f} s", flush=True)
        except nbclient.exceptions.CellExecutionError as error:
            failed += 1
            print(f"{file.stem}: FAILED\n{error}", flush=True)
        if options.html:
            from nbconvert import HTMLExporter

            (FOLDER / "html").mkdir(exist_ok=True)
            (FOLDER / "html" / f"{file.stem}.html").write_text(HTMLExporter().from_notebook_node(notebook)[0])
    return failed


if __name__ == "__main__":
    sys.exit(main())
