"""`Path.compare`: some models of a path side by side, as a DataFrame that prints like the table of
a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd

from ..core.arguments import flag, is_whole, level, whole
from ..core.describing import described_by, gap_text
from ..core.hints import refuse_of_table
from ..core.printed import PaperTable
from ..core.status import Optimality
from ..core.types import Rule, Selector
from .criteria import score_table
from .model import Model
from .path import Path

# how the last rows are called in print; other names have their underscores replaced by blanks
PRINTED = {
    "n": "observations",
    "n_features": "coefficients",
    "loglik": "log-likelihood",
    "r2_adjusted": "adjusted R2",
    **{name: name.upper() for name in ("aic", "bic", "ebic", "gic")},
    "aicc": "AICc",
    "mbic": "mBIC",
    "cp": "Cp",
    "cv_mean": "held-out score",
    "cv_se": "its standard error",
}
ERROR, LOWER, UPPER = "standard error", "lower", "upper"  # parts about coefficients
ENDS = LOWER, UPPER
ARGUMENTS = ("models", "names", "standardized", "criteria", "se", "ci", "exponentiate", "slice")
# arguments that users of other packages try, and what is meant by them
MEANT = {
    **dict.fromkeys(("level", "conf_int", "alpha", "conf_level"), "write ci=0.95"),
    **dict.fromkeys(("cov_type", "vcov", "robust"), "write se='HC3', the name of a covariance"),
    **dict.fromkeys(("labels", "columns", "model_names"), "write names=[...]"),
    **dict.fromkeys(("exp", "eform", "odds_ratios"), "write exponentiate=True"),
    "digits": "it is an argument of .to_latex(), .to_markdown(), .to_html() and .formatted()",
    "stars": "there are no stars: nearly all features that were chosen on these rows would have "
    "them, whether or not they have an effect",
}
RATIOS = {  # what exp of a coefficient is, by the link
    "logit": "odds ratios",
    "ordered": "odds ratios",
    "softmax": "odds ratios",
    "log": "ratios of means",
}


class Comparison(PaperTable):
    """Models side by side: a DataFrame with a column for each model. Its rows have two labels, the
    part and the name: "coefficient" (names of features), "standard error", "lower" and "upper"
    (where asked for; in Markdown, LaTeX and HTML in brackets below the coefficients), "fit",
    "criterion" and "check". Cells are numbers and texts; NaN where a model does not have a feature,
    which is printed as a blank.

    There are no stars for significance: the features were chosen because they fit these rows well,
    so that most would have stars whether or not they have an effect.

    What pandas makes of it (`table.loc["fit"]`, `table.T`) is an ordinary DataFrame.
    """

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            refuse_of_table(self, name, error)

    def formatted(self, digits: int = 4) -> pd.DataFrame:
        """The table as short texts, `digits` significant digits, as many decimals along a row."""
        digits = whole(digits, "digits", 1)
        proven = [False] * len(self.columns)
        if ("check", "optimality") in self.index:
            proven = self.loc[("check", "optimality")].eq(Optimality.GLOBAL).tolist()
        cells = []
        for (part, name), row in zip(self.index, self.to_numpy(dtype=object), strict=True):
            if (part, name) == ("check", "gap"):
                cells.append(_gaps(row, proven))
                continue
            ends = [self.loc[(end, name)] for end in ENDS] if part in ENDS else [row]
            cells.append(_texts(part, name, row, digits, alike=np.concatenate(ends)))
        return pd.DataFrame(cells, index=self.index, columns=self.columns, dtype=object)

    def _printed(self, digits):
        table, parts = self.formatted(digits), {}
        below = {part: table.loc[part] for part in (ERROR, *ENDS) if part in table.index}
        for (part, name), *cells in table.itertuples(name=None):
            if part in below or not any(cells):  # a bound that was not computed, say
                continue
            own = part == "coefficient"
            shown = str(name) if own else PRINTED.get(name, str(name).replace("_", " "))
            parts.setdefault(part, []).append([shown, *cells])
            if own and ERROR in below and name in below[ERROR].index:
                errors = below[ERROR].loc[name]
                parts[part].append(["", *(cell and f"({cell})" for cell in errors)])
            if own and LOWER in below and name in below[LOWER].index:
                ends = zip(below[LOWER].loc[name], below[UPPER].loc[name], strict=True)
                parts[part].append(["", *(low and f"({low}, {high})" for low, high in ends)])
        return list(self.columns), parts


@described_by(Path.compare)
def compare(
    self: Path,
    models: Sequence[Rule | Model | dict],
    *,
    names: Sequence[str] | None = None,
    standardized: bool = False,
    criteria: Sequence[str] = ("aic", "bic"),
    se: bool | str = False,
    ci: float | None = None,
    exponentiate: bool = False,
    **within: Unpack[Selector],
) -> Comparison:
    if not isinstance(models, (str, dict, Model)) and np.iterable(models):
        models = list(models)
        for rule in models:  # the best model by a criterion may be no row
            if isinstance(rule, str) and not within:
                self = self._at(rule)[0]
    scores = scores_of(self, criteria)
    at, labels = chosen(self, models, names, within, self.select)
    shown = {"standardized": standardized, "se": se, "ci": ci, "exponentiate": exponentiate}
    return side_by_side(self, at, labels, shown, criterion=scores)


def side_by_side(
    path: Path,
    at: Sequence[int],
    labels: pd.Index,
    shown: dict,
    **scores: pd.DataFrame,
) -> Comparison:
    """The rows `at` of a path as the columns of a `Comparison`.

    shown: standardized, se, ci and exponentiate, as in `Path.compare`.

    scores: tables with a row for each solution of the path, by the name of the part that shows
    them; those without columns are left out.
    """
    standardized = flag(shown["standardized"], "standardized")
    exponentiate, se, ci = flag(shown["exponentiate"], "exponentiate"), shown["se"], shown["ci"]
    if not isinstance(se, (bool, str)):
        raise TypeError(f"se={se!r} must be True, False or the name of a covariance, such as 'HC3'")
    if ci is not None:
        level(ci, "ci")
    refitted = bool(se) or ci is not None
    if refitted and path._source.data is None:
        raise ValueError(
            f"{f'se={se!r}' if se else f'ci={ci!r}'}: the data are not kept with a loaded path; "
            "save it by path.save(..., data=True), or ask a model: model.refit(X, y)"
        )
    ratios = ratios_of(path, refitted) if exponentiate else ""
    table = path.details.loc[at]
    parts = {"coefficient": _coefficients(path, at, standardized)}
    if refitted:
        parts = _refitted(path, at, parts["coefficient"], standardized, se, ci)
    if exponentiate:
        with np.errstate(over="ignore"):
            for part in {"coefficient", LOWER, UPPER} & set(parts):
                parts[part] = np.exp(parts[part])
            if ERROR in parts:  # delta method: the derivative of exp is exp
                parts[ERROR] = parts[ERROR] * parts["coefficient"].loc[parts[ERROR].index]
    parts["fit"] = _fit_rows(path, table)
    for part, values in scores.items():
        if len(values.columns):
            parts[part] = values.loc[at].astype(object).T.set_axis(range(len(at)), axis=1)
    parts["check"] = _check_rows(table)
    out = Comparison(pd.concat(parts).astype(object))
    out.index.names = [None, None]
    out.columns = labels
    about = f" of {path._meta.response}" if path._meta.response else ""
    out.attrs["title"] = f"{path._meta.loss} loss{about}" + (
        f", coefficients are about {path._meta.about}" if path._meta.about else ""
    )
    if exponentiate:
        out.attrs["title"] += f"; shown is exp(coefficient): {ratios}"
    errors = "standard errors" + (" (of ratios by the delta method)" if exponentiate else "")
    given = ([errors] if se else []) + ([] if ci is None else [f"intervals of {100 * ci:g} %"])
    if given:
        out.attrs["note"] = (
            f"Coefficients{',' if len(given) > 1 else ' and'} {' and '.join(given)} are those of "
            "refits without a penalty, which take no account of a choice by these rows."
        )
    return out


def ratios_of(path: Path, refitted: bool) -> str:
    """What exp(coefficient) of a path is called; ValueError where it is nothing.

    refitted: whether coefficients are those of refits, which are against the first class.
    """
    traits = path._meta.traits
    if traits.response == "survival":
        return "hazard ratios"
    if traits.link not in RATIOS:
        raise ValueError(
            f"exponentiate=True is for losses whose coefficients are logs of ratios (logistic, "
            f"binomial, multinomial, ordinal, Cox, and those of a log mean such as Poisson); "
            f"loss={path._meta.loss!r} is none: leave exponentiate out"
        )
    against = ""
    if traits.link == "softmax":
        first = refitted or path._meta.baseline is not None
        mean = "geometric mean of the classes"
        against = f" against the {f'class {path.classes[0]}' if first else mean}"
    return RATIOS[traits.link] + against


def scores_of(path, criteria):
    """Criteria of all solutions of the path, no column for a loss without a likelihood."""
    names = checked_criteria(path, criteria)
    return score_table(path)[names] if names else pd.DataFrame(index=pd.RangeIndex(len(path)))


def _coefficients(path, at, standardized):
    """Coefficients of rows of the path by name, of several responses by "name, response"; NaN where
    a model does not have the feature.
    """
    chosen, meta = [path._solutions[i] for i in at], path._meta
    ever = np.unique(np.concatenate([s.support for s in chosen])).astype(int)
    values = [path._coef(s, ever, standardized) for s in chosen]
    for one, s in zip(values, chosen, strict=True):
        one[len(meta.first_names) + np.flatnonzero(~np.isin(ever, s.support))] = np.nan
    names = list(meta.rows_of_coefficients(ever))
    if meta.responses is not None:
        names = [f"{name}, {response}" for name in names for response in meta.response_index]
    return pd.DataFrame(np.column_stack([one.ravel() for one in values]), index=names)


class _Estimated(NamedTuple):
    """What a refit tells of the coefficients of a model, or of one response of it."""

    names: list  # of the rows of the table (m,)
    params: np.ndarray  # (m,)
    covariance: np.ndarray  # (m, m), NaN for what is infinite
    half: float  # half the width of an interval, in standard errors
    sign: np.ndarray  # (m,), of those that are infinite, NaN: not known; 0: estimates


def _refitted(path, at, own, standardized, se, ci):
    """{part: table} of the refits of rows of the path, with the rows of `own`, their coefficients
    on the path; those of several classes are against the first one.
    """
    options = {} if isinstance(se, bool) else {"cov_type": se}
    found = []
    for i in at:
        s = path._solutions[i]
        empty = not s.support.size and (path._meta.ordered or not path._meta.intercept)
        one = [] if empty else _estimated(path, s, path.model(index=i).refit(**options), ci)
        found.append([_standardized(path, s, part) for part in one] if standardized else one)
    numbers = {"coefficient": lambda part: _or_infinite(part, part.params, part.sign)}
    if se:
        numbers[ERROR] = lambda part: _errors(part)
    if ci is not None:
        numbers[LOWER] = lambda part: _end(part, -1.0)
        numbers[UPPER] = lambda part: _end(part, 1.0)
    tables = {}
    for kind, of in numbers.items():
        columns = [
            dict(pair for part in one for pair in zip(part.names, of(part), strict=True))
            for one in found
        ]
        known = [name for name in own.index if any(name in column for column in columns)]
        rows = [[column.get(name) for column in columns] for name in known]
        tables[kind] = pd.DataFrame(rows, index=known).astype(float)
    return tables


def _or_infinite(part, values, sign):
    """(m,) values of an `_Estimated`, infinity with a sign of what is infinite."""
    out, without = np.array(values), part.sign != 0.0
    out[without] = np.broadcast_to(sign, out.shape)[without] * np.inf
    return out


def _errors(part):
    """(m,) the standard errors of an `_Estimated`, NaN of what is infinite."""
    return np.where(part.sign == 0.0, np.sqrt(np.diag(part.covariance)), np.nan)


def _end(part, side):
    """(m,) the lower (-1) or upper (1) ends of the intervals of an `_Estimated`."""
    return _or_infinite(part, part.params + side * part.half * _errors(part), side)


def _estimated(path, s, results, ci):
    """The `_Estimated` of a refit, one for each response, or for each class but the first."""
    meta = path._meta
    names = [str(meta.names[j]) for j in s.support]
    first = _first_of_refits(meta)
    m = len(first) + len(names)  # numbers of the loss, which have no row, come last
    if isinstance(results, dict):
        return [
            _part(one, [f"{name}, {label}" for name in [*first, *names]], slice(m), ci)
            for label, one in results.items()
        ]
    if meta.traits.by_class:
        return [
            _part(
                results,
                [f"{name}, {label}" for name in [*first, *names]],
                slice(c * m, (c + 1) * m),
                ci,
            )
            for c, label in enumerate(meta.response_index[1:])
        ]
    # thresholds come last in statsmodels
    order = [*names, *first] if meta.ordered else [*first, *names]
    return [_part(results, order, slice(len(order)), ci)]


def _part(results, names, mine, ci):
    """The `_Estimated` of the coefficients `mine` of results; those of several classes come class
    by class.
    """
    params = np.asarray(results.params, dtype=float).ravel(order="F")[mine]
    covariance = np.asarray(results.cov_params(), dtype=float)[mine, mine]
    limit, half = getattr(results, "limit", None), 0.0
    sign = np.zeros(params.size) if limit is None else limit.sign[mine]
    if ci is not None:  # by the distribution that the results go by
        low, high = np.asarray(results.conf_int(1.0 - ci), dtype=float)[mine].T
        with np.errstate(all="ignore"):
            each = 0.5 * (high - low) / np.sqrt(np.diag(covariance))
        half = float(np.median(each[np.isfinite(each)])) if np.isfinite(each).any() else 0.0
    return _Estimated(names, params, covariance, half, sign)


def _first_of_refits(meta):
    """`Meta.first_names` less an intercept that was not fitted, which refits do not have."""
    return meta.first_names if meta.intercept or meta.ordered else []


def _standardized(path, s, part):
    """An `_Estimated` in units of standardized columns, with the intercept, or thresholds, at their
    means.
    """
    scale, center = path._meta.scale[s.support], path._meta.center[s.support]
    k, first = s.support.size, len(_first_of_refits(path._meta))
    T = np.eye(len(part.params))
    at, levels = (
        (slice(k), slice(k, None)) if path._meta.ordered else (slice(first, None), slice(first))
    )
    T[at, at] = np.diag(scale)
    T[levels, at] = -center if path._meta.ordered else center
    sign, known = part.sign.copy(), part.sign == 0.0
    sign[levels][(T[levels] != 0.0) @ ~known] = np.nan
    covariance = np.where(known[:, None] & known, part.covariance, 0.0)
    return part._replace(params=T @ part.params, covariance=T @ covariance @ T.T, sign=sign)


def checked_criteria(path, criteria):
    """Names of criteria, checked; none for a loss without a likelihood."""
    if isinstance(criteria, str) or not np.iterable(criteria):
        raise TypeError(f"criteria={criteria!r} must be a list of names, such as ['aic', 'bic']")
    if not path._meta.traits.likelihood:
        return []
    known = list(score_table(path, sigma2=1.0).columns)
    for name in criteria:
        if name not in known:
            raise ValueError(
                f"criteria: {name!r} is not known for the {path._meta.loss} loss; choose among "
                f"{', '.join(known)}"
            )
    return list(criteria)


def chosen(path, models, names, within, index):
    """(rows of the path, labels of the columns) of the models asked for; names: the labels, or
    None; `index` finds the row of a size, a rule or a selector.
    """
    if isinstance(models, (str, dict, Model)) or not np.iterable(models):
        raise TypeError(f"models={models!r} must be a list of models, such as [3, 5, 'bic']")
    models, extra = list(models), set(within) - {"slice", "lambda1", "lambda2", "relax"}
    if extra & {"k", "lambda0", "index"}:
        raise TypeError(
            f"compare takes slice=, lambda1= and lambda2= beside the models, got "
            f"{sorted(extra)[0]}=; write a selector as a dict into the list, such as "
            "{'index': 7}"
        )
    if extra:
        name = sorted(extra)[0]
        meant = MEANT.get(name, f"its arguments are {', '.join(ARGUMENTS)}")
        raise TypeError(f"compare has no argument {name}=; {meant}")
    if not models:
        raise ValueError("models=[] is empty; name models, such as [3, 5, 'bic']")
    at = [_row(path, model, within, index) for model in models]
    if names is None:
        labels = pd.Index([_label(path, *pair) for pair in zip(models, at, strict=True)])
        if not labels.is_unique:
            repeated = labels[labels.duplicated()][0]
            raise ValueError(
                f"models={models!r} names {repeated} more than once; leave one out, or tell them "
                "apart by names="
            )
        return at, labels
    if isinstance(names, str) or not np.iterable(names):
        raise TypeError(f"names={names!r} must be a list of texts, one for each model")
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"names={names!r} must be texts, one for each model")
    if len(names) != len(models) or len(set(names)) < len(names):
        raise ValueError(
            f"names={names!r} must be different texts, one for each of the {len(models)} models"
        )
    return at, pd.Index(names)


def _size(model):
    return is_whole(model)


def _row(path, model, within, index):
    """The row of the path that an entry of the list names."""
    if isinstance(model, Model):
        if model.path is not path:
            raise ValueError(f"{model!r} is a model of another path; compare models of one path")
        return model._index
    return index(**{**within, **model}) if isinstance(model, dict) else index(model, **within)


def _label(path, model, i):
    """The head of a column that is not named by a size alone."""
    s = path._solutions[i]
    size = f"k = {s.k}"
    if isinstance(model, str):
        return f"{model} ({size})"
    if isinstance(model, Callable):
        return f"{getattr(model, '__name__', 'rule')} ({size})"
    if _size(model):
        return size
    several = len({other.slice for other in path._solutions}) > 1
    where = f"slice {s.slice}, " if several else ""
    on_grid = f"lambda0 = {s.lambda0:.4g}, " if path._meta.grid == "lambda0" else ""
    return f"{where}{on_grid}{size}"


def _fit_rows(path, table):
    """Sizes and fit of the models: rows by name."""
    shown = {"n": [path.n] * len(table)}
    if path._meta.n_events is not None:
        shown["events"] = [path._meta.n_events] * len(table)
    shown["k"] = list(table.k)
    if (table.n_features != table.k).any():
        shown["n_features"] = list(table.n_features)
    for name in ("lambda0", "lambda1", "lambda2"):
        if (table[name] > 0).any():
            shown[name] = list(table[name])
    if (table.relax < 1.0).any():
        shown["relax"] = list(table.relax)
    shown["loss"] = list(table.loss)
    if (table.objective != table.loss).any():
        shown["objective"] = list(table.objective)
    shown["deviance_ratio"] = list(table.deviance_ratio)
    return pd.DataFrame(list(shown.values()), index=list(shown), dtype=object)


def _check_rows(table):
    """Optimality and gap: rows by name."""
    shown = {"optimality": list(table.optimality), "gap": list(table.gap)}
    for name in ("status", "flags"):
        if (table[name] != {"status": "converged", "flags": ""}[name]).any():
            shown[name] = list(table[name])
    return pd.DataFrame(list(shown.values()), index=list(shown), dtype=object)


def _gaps(row, proven):
    """Gaps as texts. proven: of each model whether it is proven to be the best one of its size."""
    return ["" if pd.isna(v) else gap_text(v, of) for v, of in zip(row, proven, strict=True)]


def _texts(part, name, row, digits, alike):
    """A row as texts of equal decimals, those of numbers that are to look alike."""
    numbers = [
        float(v)
        for v in alike
        if isinstance(v, (int, float, np.number)) and np.isfinite(v) and v != 0
    ]
    own = part in ("coefficient", ERROR, *ENDS)  # features may have any name
    if not own and name.startswith("lambda"):
        return ["" if pd.isna(v) else f"{v:.{digits}g}" for v in row]
    sizes = [np.floor(np.log10(abs(v))) for v in numbers] or [0.0]
    # as many as the largest needs, and two digits of the smallest
    decimals = int(max(digits - 1 - max(sizes), 1 - min(sizes), 0))
    if part == "criterion" and name != "df":
        decimals = 4 if name == "r2_adjusted" else 2
    elif numbers and (decimals > digits + 4 or max(sizes) > 9):
        return ["" if pd.isna(v) else f"{v:.{digits}g}" for v in row]
    elif not own and all(v == int(v) for v in numbers):
        decimals = 0
    return [_text(v, decimals) for v in row]


def _text(value, decimals=0):
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return "" if np.isnan(value) else f"{value:.{decimals}f}"
    return "" if pd.isna(value) else str(value)
