"""The data of the page of `explore`, ready for JSON: models, curves, choices, intervals."""

from __future__ import annotations

import numpy as np

from ..core.status import GLOBAL_GAP
from ..inference.prediction_intervals import intervals_of_fit
from ..inspection.model_set import ModelSet, signs
from ..paths.new_rows import baseline_of_model
from ..paths.predicting import linear_predictor
from ..problem.coupled.baseline import cumulative_hazards
from .code import python_pieces

MOST_LISTED, MOST_NAMED = 100, 40  # models, and columns, of the section on good models
MARKED_CRITERIA = ("bic", "ebic", "aic")
FOOT = (
    "k counts chosen features, or groups. A deviance ratio is 1 - loss / loss of the empty model; "
    'gap = (objective - lower bound) / |objective|; "checked" is the optimality of path.table. '
    "Exchanges are single ones: nothing is searched beyond."
)
BAND_LEVEL, BAND_ROWS = 0.9, 30  # of the intervals of the page, rows at most
CURVE_TIMES = 100  # of the curves of the page at most


def short(value):
    """A float with 7 digits, None where it is not finite."""
    return float(f"{value:.7g}") if np.isfinite(value) else None


def page_data(path, cv):
    """The data of the page without alternatives, ready for JSON."""
    meta = path._meta
    ever = _entered(path)
    log = meta.grid == "lambda0" and any(s.lambda0 > 0 for s in path._solutions)
    slices = []
    for number in sorted({s.slice for s in path._solutions}):
        rows = [i for i, s in enumerate(path._solutions) if s.slice == number]
        slices.append(
            {
                "label": _label(path._solutions[rows[0]]),
                "rows": rows,
            }
        )
    choices, rows = _choices(path, cv), _rows(path, cv, ever, log)
    two = path.classes is not None and len(path.classes) == 2
    unit, groups = meta.units.unit, _groups(path, ever)
    shared = groups or list(range(ever.size))
    family = [list(dict.fromkeys(shared)).index(label) for label in shared]  # what shares a color
    return {
        "about": f"{path._meta.loss.replace('_', ' ')} loss, penalty {path._meta.penalty}, "
        f"{path.n} rows, {path.p} features, of which {ever.size} enter; {len(path)} models; "
        f"{path.status}",
        "foot": FOOT,
        "notes": [str(note) for note in path.notes],
        "unit": f"Number of {unit}s",
        "log": log,
        "xlabel": "λ₀ (log scale, falling)" if log else f"{unit}s in the model, k",
        "names": [str(meta.names[j]) for j in ever],
        "scale": [short(meta.scale[j]) for j in ever],
        "group_of": groups,
        "family": family,
        "positive": str(path.classes[1]) if two else None,
        "responses": None if meta.responses is None else [str(name) for name in meta.responses],
        "classes": path.classes is not None,
        "code": _code(path, ever),
        "rows": rows,
        "slices": slices,
        "scoring": None if cv is None else str(cv._scoring),
        "bounds": any(row["bound"] is not None for row in rows if row["k"]),
        # where every bound meets its objective, or there is none, a chart of both shows nothing
        "open": any((row["gap"] or 0.0) > GLOBAL_GAP for row in rows),
        "choices": choices,
        "start": choices[0]["index"] if choices else _middle(slices),
        "swapnote": "",
        "survival": _survival(path),
    }


def _label(s):
    """The shrinkage of the slice of a solution as text."""
    mixed = f", relax = {s.relax:.4g}" if s.relax < 1.0 else ""
    return f"λ₁ = {s.lambda1:.4g}, λ₂ = {s.lambda2:.4g}{mixed}"


def _survival(path):
    """Survival curves of every model for rows of low, medium and high risk: times, names, and
    curves[model][risk][time]; None for other losses, without the data, or with strata.
    """
    data, meta = path._source.data, path._meta
    if data is None or meta.traits.response != "survival" or meta.strata is not None:
        return None
    curves, times = [], None
    for i, s in enumerate(path._solutions):
        eta = linear_predictor(data.design, data.offset, s)[data.weights > 0]
        risks = np.quantile(eta, (0.1, 0.5, 0.9), method="nearest")
        baseline = baseline_of_model(path, i)
        if times is None:
            few = np.linspace(0, baseline.times.size - 1, CURVE_TIMES).round().astype(int)
            times = baseline.times[np.unique(few)]
        hazards = cumulative_hazards(baseline, risks, None, times)[1]
        curves.append(np.exp(-hazards).round(4).tolist())
    names = ["low risk", "medium risk", "high risk"]
    return {"times": [short(t) for t in times], "names": names, "curves": curves}


def _entered(path):
    """The columns that ever enter, in the order of their entry, which spreads the colors."""
    ever = np.unique(
        np.concatenate([np.empty(0, dtype=int), *(s.support for s in path._solutions)])
    ).astype(int)
    first = np.full(ever.size, len(path))
    for i, s in reversed(list(enumerate(path._solutions))):
        first[np.searchsorted(ever, s.support)] = i
    return ever[np.argsort(first, kind="stable")]


def _rows(path, cv, ever, log):
    """A record for each solution; x: where it lies on the axis, k or lambda0 (0 a third of the
    least positive one).
    """
    meta, table, scores = path._meta, path.details, None if cv is None else cv.scores
    at = {int(j): i for i, j in enumerate(ever)}
    least = min((s.lambda0 for s in path._solutions if s.lambda0 > 0), default=np.nan) / 3.0
    rows = []
    for i, s in enumerate(path._solutions):
        numbers = {
            "lambda0": s.lambda0,
            "objective": s.objective,
            "loss": s.loss,
            "ratio": table.loc[i, "deviance_ratio"],
            "bound": s.lower_bound,
            "gap": table.loc[i, "gap"],
            "low": s.lambda0_low,
            "high": s.lambda0_high,
            "x": max(s.lambda0, least) if log else s.k,
            "cv": np.nan if scores is None else scores.loc[i, "cv_mean"],
            "se": np.nan if scores is None else scores.loc[i, "cv_se"],
        }
        rows.append(
            {
                "k": int(s.k),
                "n": int(np.count_nonzero(np.any(np.atleast_2d(s.beta.T), axis=0))),
                "at": [at[int(j)] for j in s.support],
                "b": s.beta.T.tolist(),
                "intercept": _intercept(meta, s),
                "thresholds": None
                if s.thresholds is None
                else list(zip(meta.first_names, s.thresholds.tolist(), strict=True)),
                "optimality": s.optimality,
                "flags": s.noticed,
                "groups": None
                if s.groups is None
                else [str(meta.groups.labels[g]) for g in s.groups],
                "alternatives": None,
                **{name: short(value) for name, value in numbers.items()},
            }
        )
    return rows


def _intercept(meta, solution):
    """The intercept of a solution, a list for several responses; None where there is none."""
    if not meta.intercept or solution.thresholds is not None:
        return None
    return np.asarray(solution.intercept, dtype=np.float64).tolist()


def _code(path, ever):
    """The pieces of Python code of every model; None where a model cannot be written out."""
    try:
        return python_pieces(path, ever)
    except ValueError:
        return None


def band(path, cv):
    """Prediction intervals of `cv.predict_interval` of a few rows of the fit, for every model:
    [prediction, observed, low, high] by prediction. None where there are none, or no data.
    """
    data, meta = path._source.data, path._meta
    if cv is None or data is None or path.classes is not None:
        return None
    try:
        models = [intervals_of_fit(cv, i, BAND_LEVEL, BAND_ROWS) for i in range(len(path))]
    except ValueError:  # folds, losses or responses that have no intervals
        return None
    return {
        "response": str(meta.response or "y"),
        "note": "Intervals that hold the response of a new row with probability "
        f"{BAND_LEVEL:.0%} (CV+: for a size fixed beforehand and exchangeable rows), at up to "
        f"{BAND_ROWS} rows of the fit over their predictions; dots are what was observed there.",
        "models": [[[_four(v) for v in row] for row in rows.tolist()] for rows in models],
    }


def _four(value):
    """A float with 4 digits, None where it is not finite."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _middle(slices):
    """A model to begin with where none is chosen."""
    return slices[-1]["rows"][len(slices[-1]["rows"]) // 2] if slices else 0


def _groups(path, columns):
    """Labels of the groups that each column is in, None without groups."""
    groups = path._meta.groups
    if groups is None:
        return None
    inside = {int(j): [] for j in columns}
    for g in (
        np.unique(np.concatenate([np.empty(0, dtype=int), *(s.groups for s in path._solutions)]))
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
            for which, name in (
                ("min", "best held-out score"),
                ("sparse", "fewest coefficients"),
                ("1se", "one standard error"),
            )
            if cv is not None
        ),
        *((path, rule, rule.upper()) for rule in MARKED_CRITERIA),
    ]
    for source, rule, name in rules:
        try:
            found.setdefault(source.select(rule), []).append(name)
        except (LookupError, ValueError):
            continue
    return [{"name": ", ".join(names), "index": int(i)} for i, names in found.items()]


def good_models(path, found):
    """The section on models nearly as good as the best one, of a `ModelSet`: a row for each with
    the signs of its columns, or groups, the shares of these, sets of substitutes; None without one.
    """
    if found is None:
        return None
    if not isinstance(found, ModelSet):
        raise TypeError(
            f"near_best must be a ModelSet of path.near_best(...), got {type(found).__name__}"
        )
    if found.models[0].path.names != path.names:
        raise ValueError(
            "near_best belongs to another path: its columns are other ones; compute it anew"
        )
    share, table = found.frequencies.iloc[:MOST_NAMED], found.table.iloc[:MOST_LISTED]
    places = found.ordered()[0][:MOST_NAMED]
    rows = []
    for model, line in zip(found.models, table.itertuples(index=False), strict=False):
        solution = model.path._solutions[model._index]
        units = solution.units.tolist()
        sign = dict(zip(units, signs(path._meta, solution).tolist(), strict=True))
        score, apart = (short(float(v)) for v in (line[1], line[2]))
        rows.append([int(line[0]), score, apart, [int(sign.get(int(j), 0)) for j in places]])
    return {
        "said": found._said(),
        "score": found.score,
        "unit": path._meta.units.unit,
        "marks": sorted({sign for row in rows for sign in row[3] if sign}),
        "relative": found.score == "objective",
        "names": [str(name) for name in share.index],
        "share": [short(v) for v in share],
        "rows": rows,
        "left": [len(found) - len(rows), len(found.frequencies) - len(places)],
        "substitutes": [[str(name) for name in one] for one in found.substitutes[:20]]
        if found.complete
        else None,
    }
