"""`Path.explore`, `CVPath.explore`: one HTML page, with nothing loaded from elsewhere, to look
through a path: sizes, coefficients, fit, held-out scores, bounds, exchanges.
"""

from __future__ import annotations

import json
import time
from html import escape
from importlib import resources
from os import PathLike
from pathlib import Path
from string import Template
from tempfile import NamedTemporaryFile

import numpy as np
from numpy.typing import ArrayLike

from ..core.archive import file_name
from ..core.arguments import is_whole
from ..core.describing import described_by
from ..core.progress import Bar
from ..core.types import Matrix
from ..cross_validation import CVPath
from ..inspection.model_set import ModelSet
from ..paths import Path as FittedPath
from .contents import band, good_models, page_data, short


class Page:
    """A page that `explore` made. html: its text. file: where it was written, or None. In a
    notebook it shows itself in a frame; `save(file)` writes it, `show()` opens a browser.
    """

    def __init__(self, html, title):
        self.html, self.title, self.file = html, title, None

    def save(self, file):
        """Write the page; returns its path. Raises FileNotFoundError where the folder does not
        exist, IsADirectoryError for a folder.
        """
        file = Path(file)
        if file.is_dir():
            raise IsADirectoryError(
                f"file={str(file)!r} is a folder; give the name of a file, such as "
                f"{str(file / 'path.html')!r}"
            )
        if not file.parent.is_dir():
            raise FileNotFoundError(
                f"file={str(file)!r}: there is no folder {str(file.parent)!r}; make it first"
            )
        file.write_text(self.html, encoding="utf-8")
        self.file = file
        return file

    def show(self):
        """Open the page in a browser, from a temporary file where it has none; whether one was
        found.
        """
        if self.file is None:
            with NamedTemporaryFile(
                "w", prefix="l0path-", suffix=".html", delete=False, encoding="utf-8"
            ) as temporary:
                pass
            self.save(temporary.name)
        import webbrowser

        return webbrowser.open(self.file.resolve().as_uri())

    def _repr_html_(self):
        frame = (
            "width:100%;height:760px;border:1px solid #8a939d;border-radius:4px;background:Canvas"
        )
        title = escape(self.title)
        return (
            f'<iframe title="{title}" sandbox="allow-scripts allow-downloads" style="{frame}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self):
        where = f"in {self.file}" if self.file else "not written: .save(file), .show()"
        return f"<l0path.report.Page: {self.title}, {len(self.html) / 1024:.0f} KB; {where}>"


@described_by(FittedPath.explore)
def explore(
    self: FittedPath,
    file: str | PathLike | None = None,
    *,
    alternatives: int = 5,
    time_limit: float = 30,
    title: str | None = None,
    show: bool = False,
    near_best: ModelSet | None = None,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    progress: bool | None = None,
) -> Page:
    cv = self if isinstance(self, CVPath) else None
    _check(alternatives, time_limit)
    good = good_models(self, near_best)
    if file is not None:
        file = file_name(file, "path.explore('path.html')")
    data = page_data(self, cv)
    about = f"Models of {self._meta.response or 'y'}"
    data["title"] = title = about if title is None else str(title)
    data["good"] = good
    data["band"] = band(self, cv)
    data["swapnote"] = _without_alternatives(self, int(alternatives), X)
    if not data["swapnote"]:
        with Bar(progress, "l0path alternatives", len(self), "model") as bar:
            _alternatives(self, data, time_limit, bar, n=int(alternatives), X=X, y=y)
    text = (
        json.dumps(data, allow_nan=False, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
    )  # nothing in it ends the script
    page = Page(
        Template(
            resources.files(__package__).joinpath("explore.html").read_text(encoding="utf-8")
        ).substitute(title=escape(title), data=text),
        title,
    )
    if file is not None:
        page.save(file)
    if show:
        page.show()
    return page


def _check(alternatives, time_limit):
    if not is_whole(alternatives) or alternatives < 0:
        raise ValueError(
            f"alternatives={alternatives!r} must be a whole number >= 0, how many exchanges to "
            "list for each model"
        )
    if time_limit is not None and (
        isinstance(time_limit, bool)
        or not isinstance(time_limit, (int, float, np.number))
        or not time_limit > 0
    ):
        raise ValueError(f"time_limit={time_limit!r} must be a positive number of seconds, or None")


def _without_alternatives(path, count, X):
    """The reason why the page has no exchanges, "" where they are to be computed."""
    if count == 0:
        return "Not asked for (alternatives=0)."
    if path._meta.groups is not None:
        return "Not offered for groups."
    if X is None and path._source.data is None:
        return "The data are not kept with a loaded path: pass X= and y= to explore."
    return ""


def _alternatives(path, data, limit, bar, **options):
    """Fill in the exchanges, chosen models first, as far as the time goes, and say which models
    have none.
    """
    chosen = [choice["index"] for choice in data["choices"]]
    by_size = sorted(range(len(path)), key=lambda i: (path._solutions[i].k, i))
    end = np.inf if limit is None else time.perf_counter() + limit
    data["swapnote"] = f"Not computed for this model within time_limit={limit} s."
    try:
        for i in dict.fromkeys([*chosen, *by_size]):
            if time.perf_counter() > end:
                break
            found = path.model(index=i).alternatives(**options)
            data["rows"][i] |= {
                "alternatives": [
                    [str(row.dropped), str(row.added), short(row.objective), short(row.relative)]
                    for row in found.itertuples()
                ],
                "proven": bool(found["proven"].all()),
            }
            bar.update()
    except KeyboardInterrupt:
        data["swapnote"] = "Not computed for this model (interrupted)."
