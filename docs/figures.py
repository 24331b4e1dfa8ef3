"""Runs the code of the first steps and of the pages of tasks, and keeps their figures:
python docs/figures.py. The pages show docs/assets/*.png, which a change of the plots makes old.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
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


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    for page in [FOLDER / "first_steps.md", *sorted((FOLDER / "tasks").glob("*.md"))]:
        with tempfile.TemporaryDirectory() as folder:
            for code, printed, said in run(page.read_text(encoding="utf-8"), folder):
                if printed != said:
                    print(f"{page.name}: {code}\nprints\n{printed}\nthe page says\n{said}")
            for figure in Path(folder).glob("*.png"):
                figure.replace(FOLDER / "assets" / figure.name)
