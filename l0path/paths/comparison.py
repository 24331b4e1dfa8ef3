"""`Path.compare`: some models of a path side by side, as a DataFrame that prints like the table of
a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path as File
from typing import IO, Any, Unpack

import numpy as np
import pandas as pd

from ..core.arguments import is_whole
from ..core.describing import described_by, gap_text
from ..core.hints import refuse_of_table
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
ERROR = "standard error"  # the part of a table that has them
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}


class Comparison(pd.DataFrame):
    """Models side by side: a DataFrame with a column for each model. Its rows have two labels, the
    part and the name: "coefficient" (names of features), "standard error" (where asked for; in
    Markdown and LaTeX in brackets below the coefficients), "fit", "criterion" and "check". Cells
    are
    numbers and texts; NaN where a model does not have a feature, which is printed as a blank.

    What pandas makes of it (`table.loc["fit"]`, `table.T`) is an ordinary DataFrame.
    """

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            refuse_of_table(self, name, error)

    def formatted(self, digits: int = 4) -> pd.DataFrame:
        """The table as short texts, `digits` significant digits, as many decimals along a row."""
        if not is_whole(digits) or digits < 1:
            raise ValueError(f"digits={digits!r} must be a whole number >= 1")
        digits = int(digits)
        proven = [False] * len(self.columns)
        if ("check", "optimality") in self.index:
            proven = self.loc[("check", "optimality")].eq(Optimality.GLOBAL).tolist()
        cells = [
            _gaps(row, proven)
            if (part, name) == ("check", "gap")
            else _texts(part, name, row, digits)
            for (part, name), row in zip(self.index, self.to_numpy(dtype=object), strict=True)
        ]
        return pd.DataFrame(cells, index=self.index, columns=self.columns, dtype=object)

    def __repr__(self):
        return f"{self.attrs.get('title', '')}\n{self.formatted()!r}".strip()

    def _repr_html_(self):
        from html import escape

        title = escape(self.attrs.get("title", ""))
        return f"<p>{title}</p>{self.formatted().to_html()}"

    def to_markdown(
        self, buf: str | PathLike | IO[str] | None = None, *, digits: int = 4
    ) -> str | None:
        """The table in Markdown; written to `buf`, a file or its name, if that is given."""
        head, parts = self._printed(digits)
        rows = [[name, *cells] for part in parts.values() for name, *cells in part]
        lines = [["", *head], [":---", *["---:"] * len(head)], *rows]
        text = "\n".join(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
        )
        return _written(text, buf)

    def to_latex(
        self,
        buf: str | PathLike | IO[str] | None = None,
        *,
        digits: int = 4,
        caption: str | None = None,
        label: str | None = None,
    ) -> str | None:
        """The table in LaTeX, with the rules of the package booktabs; written to `buf`, a file or
        its name, if that is given. caption, label : put it into a table environment.
        """
        head, parts = self._printed(digits)
        lines = [rf"\begin{{tabular}}{{l{'r' * len(head)}}}", r"\toprule"]
        lines.append(" & ".join(["", *map(_latex, head)]) + r" \\")
        for part in parts.values():
            lines.append(r"\midrule")
            for name, *cells in part:
                lines.append(" & ".join([_latex(name), *map(_number, cells)]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if caption is not None or label is not None:
            lines = [
                r"\begin{table}",
                r"\centering",
                *([] if caption is None else [rf"\caption{{{caption}}}"]),
                *([] if label is None else [rf"\label{{{label}}}"]),
                *lines,
                r"\end{table}",
            ]
        return _written("\n".join(lines) + "\n", buf)

    def to_gt(self, *, digits: int = 4) -> Any:
        """The table as a `great_tables.GT`, with a heading, a group of rows for each part and the
        models as columns, for further styles, HTML, LaTeX or a picture; needs great_tables.
        """
        from great_tables import GT

        head, parts = self._printed(digits)
        rows = [(part, *line) for part, lines in parts.items() for line in lines]
        table = pd.DataFrame(rows, columns=["part", "name", *head])
        shown = GT(table, rowname_col="name", groupname_col="part").cols_align("right", head)
        title = self.attrs.get("title", "")
        return shown.tab_header(title) if title else shown

    def _printed(self, digits):
        """(head, {part: rows}), all of texts, with the names that print has for rows."""
        table, parts = self.formatted(digits), {}
        errors = table.loc[ERROR] if ERROR in table.index else {}
        for (part, name), *cells in table.itertuples(name=None):
            if part == ERROR or not any(cells):  # a bound that was not computed, say
                continue
            own = part == "coefficient"
            shown = str(name) if own else PRINTED.get(name, str(name).replace("_", " "))
            parts.setdefault(part, []).append([shown, *cells])
            if own and len(errors):
                parts[part].append(["", *(cell and f"({cell})" for cell in errors.loc[name])])
        sizes = self.columns.name == "k"
        return [f"k = {c}" if sizes else str(c) for c in self.columns], parts


@described_by(Path.compare)
def compare(
    self: Path,
    models: Sequence[Rule | Model | dict],
    *,
    standardized: bool = False,
    criteria: Sequence[str] = ("aic", "bic"),
    se: bool | str = False,
    exponentiate: bool = False,
    **within: Unpack[Selector],
) -> Comparison:
    if not isinstance(models, (str, dict, Model)) and np.iterable(models):
        models = list(models)
        for rule in models:  # the best model by a criterion may be no row
            if isinstance(rule, str) and not within:
                self = self._at(rule)[0]
    scores = scores_of(self, criteria)
    at, labels = chosen(self, models, within, self.select)
    shown = {"standardized": standardized, "se": se, "exponentiate": exponentiate}
    return side_by_side(self, at, labels, shown, criterion=scores)


def side_by_side(
    path: Path,
    at: Sequence[int],
    labels: pd.Index,
    shown: dict,
    **scores: pd.DataFrame,
) -> Comparison:
    """The rows `at` of a path as the columns of a `Comparison`.

    shown: standardized, se and exponentiate, as in `Path.compare`.

    scores: tables with a row for each solution of the path, by the name of the part that shows
    them; those without columns are left out.
    """
    standardized, se, exponentiate = shown["standardized"], shown["se"], shown["exponentiate"]
    ratios = _ratios(path, se) if exponentiate else ""
    table = path.details.loc[at]
    own = _coefficients(path, at, standardized)
    parts = {"coefficient": own}
    if not isinstance(se, (bool, str)):
        raise TypeError(f"se={se!r} must be True, False or the name of a covariance, such as 'HC3'")
    if se and path._source.data is None:
        raise ValueError(
            f"se={se!r}: the data are not kept with a loaded path; save it by "
            "path.save(..., data=True), or ask a model: model.refit(X, y)"
        )
    if se:
        parts["coefficient"], parts[ERROR] = _refitted(path, at, own, standardized, se)
    if exponentiate:
        with np.errstate(over="ignore"):
            parts["coefficient"] = np.exp(parts["coefficient"])
            if se:  # delta method: the derivative of exp is exp
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
    if se:
        out.attrs["title"] += (
            "; coefficients and standard errors of refits, which take no account of a choice by "
            "these rows"
        )
    if exponentiate:
        out.attrs["title"] += f"; shown is exp(coefficient): {ratios}" + (
            ", with standard errors by the delta method" if se else ""
        )
    return out


def _ratios(path, se):
    """What exp(coefficient) of a path is called; ValueError where it is nothing."""
    traits, several = path._meta.traits, path._meta.responses is not None
    if traits.response == "survival":
        return "hazard ratios"
    if traits.link == "softmax":
        return "odds ratios against the " + (
            f"class {path.classes[0]}" if se else "geometric mean of the classes"
        )
    named = {"logit": "odds ratios", "ordered": "odds ratios", "log": "ratios of means"}
    if traits.link not in named or several:
        raise ValueError(
            f"exponentiate=True is for losses whose coefficients are logs of ratios (logistic, "
            f"binomial, multinomial, ordinal, Cox, and those of a log mean such as Poisson); "
            f"loss={path._meta.loss!r} is none: leave exponentiate out"
        )
    return named[traits.link]


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


def _refitted(path, at, own, standardized, se):
    """(coefficients, standard errors) of the refits of rows of the path, with the rows of `own`,
    their coefficients on the path; those of several classes are against the first one.
    """
    options = {} if se is True else {"cov_type": se}
    found = []
    for i in at:
        s = path._solutions[i]
        empty = not s.support.size and (path._meta.ordered or not path._meta.intercept)
        found.append({} if empty else _with_errors(path, s, path.model(index=i).refit(**options)))
        if standardized:
            found[-1] = _standardized(path, s, found[-1])
    tables = []
    for errors in (False, True):
        columns = [
            {
                name: np.sqrt(V[j, j]) if errors else params[j]
                for names, params, V in one.values()
                for j, name in enumerate(names)
            }
            for one in found
        ]
        known = [name for name in own.index if any(name in column for column in columns)]
        tables.append(pd.DataFrame([[c.get(name) for c in columns] for name in known], index=known))
    return [table.astype(float) for table in tables]


def _with_errors(path, s, results):
    """{response or class: (names of rows, coefficients (m,), their covariance (m, m))} of a
    refit.
    """
    meta = path._meta
    names = [str(meta.names[j]) for j in s.support]
    first = _first_of_refits(meta)
    if isinstance(results, dict):
        return {
            label: ([f"{name}, {label}" for name in [*first, *names]], *_parts(one))
            for label, one in results.items()
        }
    params, V = _parts(results)
    if meta.classes is not None and meta.responses is not None:
        m, out = len(first) + len(names), {}
        for c, label in enumerate(meta.response_index[1:]):
            mine = slice(c * m, (c + 1) * m)
            out[label] = [f"{n}, {label}" for n in [*first, *names]], params[mine], V[mine, mine]
        return out
    # thresholds come last in statsmodels, and numbers of the loss have no row
    order = [*names, *first] if meta.ordered else [*first, *names]
    m = len(order)
    return {"": (order, params[:m], V[:m, :m])}


def _first_of_refits(meta):
    """`Meta.first_names` less an intercept that was not fitted, which refits do not have."""
    return meta.first_names if meta.intercept or meta.ordered else []


def _parts(results):
    """(coefficients, covariance) of results; those of several classes class by class."""
    params = np.asarray(results.params, dtype=float)
    return params.ravel(order="F"), np.asarray(results.cov_params(), dtype=float)


def _standardized(path, s, found):
    """The same in units of standardized columns, with the intercept, or thresholds, at their
    means.
    """
    scale, center, out = path._meta.scale[s.support], path._meta.center[s.support], {}
    k, first = s.support.size, len(_first_of_refits(path._meta))
    for label, (names, params, V) in found.items():
        T = np.eye(len(params))
        at, levels = (
            (slice(k), slice(k, None)) if path._meta.ordered else (slice(first, None), slice(first))
        )
        T[at, at] = np.diag(scale)
        T[levels, at] = -center if path._meta.ordered else center
        out[label] = names, T @ params, T @ V @ T.T
    return out


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


def chosen(path, models, within, index):
    """(rows of the path, labels of the columns) of the models asked for; `index` finds the row of a
    size, a rule or a selector.
    """
    if isinstance(models, (str, dict, Model)) or not np.iterable(models):
        raise TypeError(f"models={models!r} must be a list of models, such as [3, 5, 'bic']")
    models, extra = list(models), set(within) - {"slice", "lambda1", "lambda2"}
    if extra:
        raise TypeError(
            f"compare takes slice=, lambda1= and lambda2= beside the models, got "
            f"{sorted(extra)[0]}=; write a selector as a dict into the list, such as "
            "{'index': 7}"
        )
    if not models:
        raise ValueError("models=[] is empty; name models, such as [3, 5, 'bic']")
    at = [_row(path, model, within, index) for model in models]
    if all(_size(model) for model in models):
        labels = pd.Index([int(model) for model in models], name="k")
    else:
        labels = pd.Index([_label(path, *pair) for pair in zip(models, at, strict=True)])
    if not labels.is_unique:
        repeated = labels[labels.duplicated()][0]
        raise ValueError(f"models={models!r} names {repeated} more than once; leave one out")
    return at, labels


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


def _texts(part, name, row, digits):
    """A row as texts of equal decimals."""
    numbers = [
        float(v)
        for v in row
        if isinstance(v, (int, float, np.number)) and np.isfinite(v) and v != 0
    ]
    own = part in ("coefficient", ERROR)  # features may have any name
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


def _latex(text):
    return "".join(LATEX.get(mark, mark) for mark in str(text))


def _number(text):
    """A cell in LaTeX, with the minus sign of numbers."""
    return f"${text}$" if text.startswith("-") and text[1:2].isdigit() else _latex(text)


def _written(text, buf):
    if buf is None:
        return text
    if isinstance(buf, (str, PathLike)):
        File(buf).write_text(text, encoding="utf-8")
    else:
        buf.write(text)
    return None
