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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.archive import file_name
from ..core.describing import described_by
from ..core.progress import Bar
from ..core.types import Matrix
from ..cross_validation import CVPath
from ..inspection.model_set import ModelSet
from ..paths import Path as FittedPath
from ..paths.new_rows import baseline_of_model
from ..paths.predicting import linear_predictor
from ..paths.records import one_response
from ..problem.coupled.baseline import cumulative_hazards

MOST_LISTED, MOST_NAMED = 100, 40  # models, and columns, of the section on good models
MARKED_CRITERIA = ("bic", "ebic", "aic")
FOOT = (
    "k counts chosen columns, or groups. A deviance ratio is 1 - loss / loss of the empty model; "
    'gap = (objective - lower bound) / |objective|; "checked" is the optimality of path.table. '
    "Exchanges are single ones: nothing is searched beyond."
)
CURVE_TIMES = 100  # of the curves of the page at most


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
            f'<iframe title="{title}" sandbox="allow-scripts" style="{frame}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self):
        where = f"in {self.file}" if self.file else "not written: .save(file), .show()"
        return f"<l0path.report.Page: {self.title}, {len(self.html) / 1024:.0f} KB; {where}>"


@described_by(FittedPath.explore)
def explore(
    self: FittedPath,
    file: str | PathLike | None = None,
    cv: CVPath | None = None,
    *,
    alternatives: int = 5,
    time_limit: float = 30,
    title: str | None = None,
    show: bool = False,
    near_best: ModelSet | None = None,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    progress: bool = False,
) -> Page:
    one_response(self, "explore")
    _check(self, cv, alternatives, time_limit)
    good = _good_models(self, near_best)
    if file is not None:
        file = file_name(file, "path.explore('path.html')")
    data = _page_data(self, cv)
    data["title"] = title = "Best-subset path" if title is None else str(title)
    data["good"] = good
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


@described_by(CVPath.explore)
def explore_cv(self: CVPath, file: str | PathLike | None = None, **options: Any) -> Page:
    return explore(self.path, file, self, **options)


def _check(path, cv, alternatives, time_limit):
    if (
        isinstance(alternatives, (bool, np.bool_))
        or not isinstance(alternatives, (int, np.integer))
        or alternatives < 0
    ):
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
    if cv is None:
        return
    if not isinstance(cv, CVPath):
        raise TypeError(f"cv must be the CVPath of cv_fit or validate, got {type(cv).__name__}")
    keys = ["k", "slice", "lambda0", "lambda1", "lambda2"]
    if cv.path is not path and not (
        cv.path.names == path.names and cv.path.table[keys].equals(path.table[keys])
    ):
        raise ValueError(
            "cv belongs to another path: its solutions are not those of this one; call explore of "
            "cv, or of cv.path"
        )


def _short(value):
    """A float with 7 digits, None where it is not finite."""
    return float(f"{value:.7g}") if np.isfinite(value) else None


def _page_data(path, cv):
    """The data of the page without alternatives, ready for JSON."""
    meta = path.meta
    ever = _entered(path)
    log = meta.grid == "lambda0" and any(s.lambda0 > 0 for s in path.solutions)
    slices = []
    for number in sorted({s.slice for s in path.solutions}):
        rows = [i for i, s in enumerate(path.solutions) if s.slice == number]
        slices.append(
            {
                "label": f"λ₁ = {path.solutions[rows[0]].lambda1:.4g}, λ₂ = "
                f"{path.solutions[rows[0]].lambda2:.4g}",
                "rows": rows,
            }
        )
    choices, rows = _choices(path, cv), _rows(path, cv, ever, log)
    unit, groups = "group" if meta.groups is not None else "feature", _groups(path, ever)
    family = (
        list(range(ever.size))
        if groups is None
        else [list(dict.fromkeys(groups)).index(label) for label in groups]
    )  # what shares a colour
    return {
        "about": f"{path.loss.replace('_', ' ')} loss, penalty {path.penalty}, {path.n} rows, "
        f"{path.p} columns of which {ever.size} enter; {len(path)} models; {path.status}",
        "foot": FOOT,
        "notes": [str(note) for note in [*path.notes, *(cv.notes if cv is not None else [])]],
        "unit": f"Number of {unit}s",
        "log": log,
        "xlabel": "λ₀ (log scale, falling)" if log else f"{unit}s in the model, k",
        "names": [str(meta.names[j]) for j in ever],
        "scale": [_short(meta.scale[j]) for j in ever],
        "group_of": groups,
        "family": family,
        "positive": None if path.classes is None or meta.ordered else str(path.classes[1]),
        "rows": rows,
        "slices": slices,
        "scoring": None if cv is None else str(cv.scoring),
        "bounds": any(row["bound"] is not None for row in rows if row["k"]),
        "choices": choices,
        "start": choices[0]["index"] if choices else _middle(slices),
        "swapnote": "",
        "survival": _survival(path),
    }


def _survival(path):
    """Survival curves of every model for rows of low, medium and high risk: times, names, and
    curves[model][risk][time]; None for other losses, without the data, or with strata.
    """
    data, meta = path._source.data, path.meta
    if data is None or meta.traits.response != "survival" or meta.strata is not None:
        return None
    curves, times = [], None
    for i, s in enumerate(path.solutions):
        eta = linear_predictor(data.design, data.offset, s)[data.weights > 0]
        risks = np.quantile(eta, (0.1, 0.5, 0.9), method="nearest")
        baseline = baseline_of_model(path, i)
        if times is None:
            few = np.linspace(0, baseline.times.size - 1, CURVE_TIMES).round().astype(int)
            times = baseline.times[np.unique(few)]
        hazards = cumulative_hazards(baseline, risks, None, times)[1]
        curves.append(np.exp(-hazards).round(4).tolist())
    names = ["low risk", "medium risk", "high risk"]
    return {"times": [_short(t) for t in times], "names": names, "curves": curves}


def _entered(path):
    """The columns that ever enter, in the order of their entry, which spreads the colours."""
    ever = np.unique(
        np.concatenate([np.empty(0, dtype=int), *(s.support for s in path.solutions)])
    ).astype(int)
    first = np.full(ever.size, len(path))
    for i, s in reversed(list(enumerate(path.solutions))):
        first[np.searchsorted(ever, s.support)] = i
    return ever[np.argsort(first, kind="stable")]


def _rows(path, cv, ever, log):
    """A record for each solution; x: where it lies on the axis, k or lambda0 (0 a third of the
    least positive one).
    """
    meta, table, scores = path.meta, path.table, None if cv is None else cv.table
    at = {int(j): i for i, j in enumerate(ever)}
    least = min((s.lambda0 for s in path.solutions if s.lambda0 > 0), default=np.nan) / 3.0
    rows = []
    for i, s in enumerate(path.solutions):
        numbers = {
            "lambda0": s.lambda0,
            "objective": s.objective,
            "loss": s.loss,
            "ratio": table.loc[i, "deviance_ratio"],
            "bound": s.lower_bound,
            "gap": table.loc[i, "gap"],
            "low": s.lambda0_low,
            "high": s.lambda0_high,
            "intercept": s.intercept if meta.intercept and s.thresholds is None else np.nan,
            "x": max(s.lambda0, least) if log else s.k,
            "cv": np.nan if scores is None else scores.loc[i, "cv_mean"],
            "se": np.nan if scores is None else scores.loc[i, "cv_se"],
        }
        rows.append(
            {
                "k": int(s.k),
                "n": int(np.count_nonzero(s.beta)),
                "at": [at[int(j)] for j in s.support],
                "b": [_short(b) for b in s.beta],
                "optimality": s.optimality,
                "flags": s.noticed,
                "groups": None
                if s.groups is None
                else [str(meta.groups.labels[g]) for g in s.groups],
                "alternatives": None,
                **{name: _short(value) for name, value in numbers.items()},
            }
        )
    return rows


def _middle(slices):
    """A model to begin with where none is chosen."""
    return slices[-1]["rows"][len(slices[-1]["rows"]) // 2] if slices else 0


def _groups(path, columns):
    """Labels of the groups that each column is in, None without groups."""
    groups = path.meta.groups
    if groups is None:
        return None
    inside = {int(j): [] for j in columns}
    for g in (
        np.unique(np.concatenate([np.empty(0, dtype=int), *(s.groups for s in path.solutions)]))
        .astype(int)
        .tolist()
    ):
        for j in groups.of(g):
            if int(j) in inside:
                inside[int(j)].append(str(groups.labels[g]))
    return [", ".join(inside[int(j)]) for j in columns]


def _choices(path, cv):
    """[{name, index}] of the models that scores and criteria choose; those that name the same model
    share a button.
    """
    found = {}
    rules = [
        *(
            (cv, which, name)
            for which, name in (("min", "best held-out score"), ("1se", "one standard error"))
            if cv is not None
        ),
        *((path, rule, rule.upper()) for rule in MARKED_CRITERIA),
    ]
    for source, rule, name in rules:
        try:
            found.setdefault(source.index(rule), []).append(name)
        except (LookupError, ValueError):
            continue
    return [{"name": ", ".join(names), "index": int(i)} for i, names in found.items()]


def _without_alternatives(path, count, X):
    """The reason why the page has no exchanges, "" where they are to be computed."""
    if count == 0:
        return "Not asked for (alternatives=0)."
    if path.meta.groups is not None:
        return "Not offered for groups."
    if X is None and path._source.data is None:
        return "The data are not kept with a loaded path: pass X= and y= to explore."
    return ""


def _good_models(path, found):
    """The section on models nearly as good as the best one, of a `ModelSet`: a row for each with
    the signs of its columns, the shares of the columns, sets of substitutes; None without one.
    """
    if found is None:
        return None
    if not isinstance(found, ModelSet):
        raise TypeError(
            f"near_best must be a ModelSet of path.near_best(...), got {type(found).__name__}"
        )
    if found.models[0].path.names != path.names:
        raise ValueError("near_best belongs to another path: its columns are others; make it anew")
    share, table = found.frequencies.iloc[:MOST_NAMED], found.table.iloc[:MOST_LISTED]
    places = [path.names.index(name) for name in share.index]
    rows = []
    for model, line in zip(found.models, table.itertuples(index=False), strict=False):
        solution = model.path.solutions[model.index]
        sign = dict(zip(solution.support.tolist(), np.sign(solution.beta).tolist(), strict=True))
        score, apart = (_short(float(v)) for v in (line[1], line[2]))
        rows.append([int(line[0]), score, apart, [int(sign.get(j, 0)) for j in places]])
    return {
        "said": repr(found).removeprefix("<l0path.ModelSet: ").removesuffix(">"),
        "score": found.score,
        "relative": found.score == "objective",
        "names": list(share.index),
        "share": [_short(v) for v in share],
        "rows": rows,
        "left": [len(found) - len(rows), len(found.frequencies) - len(places)],
        "substitutes": found.substitutes[:20] if found.complete else None,
    }


def _alternatives(path, data, limit, bar, **options):
    """Fill in the exchanges, chosen models first, as far as the time goes, and say which models
    have none.
    """
    chosen = [choice["index"] for choice in data["choices"]]
    by_size = sorted(range(len(path)), key=lambda i: (path.solutions[i].k, i))
    end = np.inf if limit is None else time.perf_counter() + limit
    data["swapnote"] = f"Not computed for this model within time_limit={limit} s."
    try:
        for i in dict.fromkeys([*chosen, *by_size]):
            if time.perf_counter() > end:
                break
            found = path.alternatives(index=i, **options)
            data["rows"][i] |= {
                "alternatives": [
                    [str(row.dropped), str(row.added), _short(row.objective), _short(row.relative)]
                    for row in found.itertuples()
                ],
                "proven": bool(found["proven"].all()),
            }
            bar.update()
    except KeyboardInterrupt:
        data["swapnote"] = "Not computed for this model (interrupted)."
