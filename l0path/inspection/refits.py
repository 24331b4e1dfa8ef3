"""`Path.refit`: the chosen columns once more in statsmodels, without penalty, for standard errors,
tests and diagnostics.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import Matrix, Selector
from .._warnings import recorded
from ..errors import SeparationWarning
from ..inputs import checksum, coded, finite, same_index, sample_weights, vector
from ..losses import CLASSIFICATION
from ..paths import Path
from ..problem import row_weights

REPEAT = 1 << 27  # entries (1 GB) up to which rows with whole-number weights are repeated


class Rows(NamedTuple):
    """Rows to refit on: design, y (classes -1, 1), weights (n,) or None, offset (n,) or None, index
    of the frame or None; same: they are the rows of the fit.
    """

    design: object
    y: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    index: object
    same: bool


def refit(
    self: Path,
    rule: str | Callable[[Path], int] | None = None,
    *,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    **selector: Unpack[Selector],
) -> Any:
    """Statsmodels results of the unpenalised fit on the chosen (and forced) columns, the intercept
    as in the fit; parameters are named as in `path.coef`, "(Intercept)" first.

    squared: OLS, WLS with weights (of y - offset); logistic: GLM Binomial; poisson: GLM Poisson;
        huber: RLM with HuberT at the fit's delta, fixed in units of y, and the MAD of the residuals
        as scale.
    Whole-number weights count rows (a weight of 2 is a row twice: freq_weights, or the row
    repeated); other weights, and class weights, are precisions (WLS, var_weights), scaled to mean
    1. lambda1, lambda2 and boxes play no part. The hinge losses have no likelihood: ValueError.

    Without X and y (or with those of the fit, as a loaded path needs) the rows have also chosen the
    columns: the results say so, in `results.selection` and in `results.summary()`, "conditional on
    selection". With new X and y (and their sample_weight and offset) they say "held-out rows", and
    the inference is honest as long as these rows had no part in the choice. After a fit by a
    formula X is a DataFrame, and y may be left out: it is the left side then.

    A selector as in `Path.model`.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> results = path.refit(k=2)
    >>> results.bse.round(3).to_dict()
    {'(Intercept)': 55.982, 'Hits': 0.482, 'CRBI': 0.067}
    >>> results.selection[:24]
    'conditional on selection'
    >>> train, test = data.X.index[::2], data.X.index[1::2]
    >>> l0path.fit(data.X.loc[train], data.y[train]).refit(k=2, X=data.X.loc[test], y=data.y[test]).selection[:13]
    'held-out rows'
    """
    i = self.index(rule, **selector)
    loss = self.meta.loss
    if loss in CLASSIFICATION - {"logistic"}:
        raise ValueError(
            f"refit needs a likelihood, which loss={loss!r} has not; fit with loss='logistic' for "
            "standard errors"
        )
    s = self.solutions[i]
    if not s.support.size and not self.meta.intercept:
        raise ValueError(
            "the model has neither columns nor an intercept, so there is nothing to refit; choose "
            "a larger k"
        )
    rows = _rows(self, X, y, sample_weight, offset)
    results = refit_rows(self, s, rows)
    inner = getattr(results, "_results", results)
    inner.selection = _label(s, self, rows)
    inner.summary = partial(_summary, inner)
    inner.summary2 = partial(_summary2, inner)
    return results


def _label(s, path, rows):
    if not rows.same:
        return f"held-out rows: {rows.design.n} rows given to refit; standard errors and p-values hold if these rows had no part in choosing the columns"
    return (
        f"conditional on selection: these {rows.design.n} rows also chose the {s.support.size} of "
        f"{path.p} columns, so standard errors, p-values and intervals are too optimistic; "
        "refit(X=, y=) on new rows is honest"
    )


def _wrap(text, width=78):
    out, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) + 1 > width:
            out.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*out, line]


def _summary(results, *args, **kwargs):
    """The summary of statsmodels with the label at its end."""
    out = type(results).summary(results, *args, **kwargs)
    out.extra_txt = "\n".join(
        [
            *_wrap(results.selection[0].upper() + results.selection[1:]),
            *(["", out.extra_txt] if out.extra_txt else []),
        ]
    )
    return out


def _summary2(results, *args, **kwargs):
    """The same for summary2."""
    out = type(results).summary2(results, *args, **kwargs)
    out.add_text(results.selection[0].upper() + results.selection[1:])
    return out


def new_rows(path, X, y, sample_weight, offset):
    """Rows of X and y given anew, checked as `fit` checks them."""
    same_index(X=X, y=y, sample_weight=sample_weight, offset=offset)
    X, y, by_row = path._given(X, y, sample_weight=sample_weight, offset=offset)
    if X is None or y is None:
        raise ValueError("pass X= and y= together")
    sample_weight, offset = by_row["sample_weight"], by_row["offset"]
    design, index = path._new_design(X)
    weights = None if sample_weight is None else sample_weights(sample_weight, design.n)
    shift = None if offset is None else finite(vector(offset, design.n, "offset"), "offset")
    target = coded(y, design.n, path.loss, path.classes)
    same = (
        bool(path.meta.checksum)
        and design.n == path.n
        and checksum(SimpleNamespace(design=design, y=target)) == path.meta.checksum
    )
    return Rows(design, target, weights, shift, index, same)


def _rows(path, X, y, sample_weight, offset):
    """The rows of the fit, or new ones."""
    held = path._source.data
    if X is None and y is None:
        if sample_weight is not None or offset is not None:
            raise ValueError("sample_weight= and offset= go with new rows: pass X= and y= too")
        data = path.data()
        return Rows(
            data.design,
            data.y,
            row_weights(data) if data.class_weight is not None else data.weights,
            data.offset,
            None,
            True,
        )
    rows = new_rows(path, X, y, sample_weight, offset)
    if rows.same and held is not None and sample_weight is None and offset is None:
        return _rows(path, None, None, None, None)._replace(index=rows.index)
    if path.meta.has_offset and offset is None:
        raise ValueError(
            "the fit had an offset: pass offset=, one value per row of X (zeros to refit without)"
        )
    if rows.same and path.meta.weighted and sample_weight is None:
        raise ValueError(
            "the fit had weights, which a path file does not hold: pass sample_weight= (times the "
            "class weights)"
        )
    return rows


def _exog(path, s, rows, keep):
    """The columns of the support with their names, the intercept first where the fit had one."""
    names = [path.meta.names[j] for j in s.support]
    A = rows.design.columns(s.support)[keep]
    if path.meta.intercept:
        A, names = np.column_stack([np.ones(len(A)), A]), ["(Intercept)", *names]
    return A, names


def refit_rows(path, s, rows):
    """The results of statsmodels on weighted rows."""
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    loss, weights = path.meta.loss, rows.weights
    keep = np.arange(rows.design.n) if weights is None else np.flatnonzero(weights > 0)
    w = None if weights is None or (weights[keep] == 1).all() else weights[keep]
    counts = w is not None and bool((w == np.floor(w)).all())
    A, names = _exog(path, s, rows, keep)
    repeat = counts and loss in ("squared", "huber") and w.sum() * A.shape[1] <= REPEAT
    if repeat:
        again = np.repeat(np.arange(keep.size), w.astype(np.int64))
        A, keep, w = A[again], keep[again], None
    index = pd.RangeIndex(len(A)) if rows.index is None or repeat else rows.index[keep]
    exog = pd.DataFrame(A, columns=names, index=index)
    y = rows.y[keep]
    offset = None if rows.offset is None else rows.offset[keep]
    name = path.meta.response or "y"
    if w is not None and not counts:
        w = w / w.mean()
    if loss in ("squared", "huber"):
        endog = pd.Series(
            y if offset is None else y - offset,
            index=index,
            name=name if offset is None else f"{name} - offset",
        )
        if loss == "squared":
            return (sm.OLS(endog, exog) if w is None else sm.WLS(endog, exog, weights=w)).fit()
        if w is not None:
            raise ValueError(
                "statsmodels has no weighted robust regression: refit of loss='huber' takes "
                "whole-number weights only; refit with path.refit(X=, y=) on unweighted rows"
            )
        return _robust(sm, path, s, endog, exog)
    endog = pd.Series((y > 0).astype(float) if loss == "logistic" else y, index=index, name=name)
    family = sm.families.Binomial() if loss == "logistic" else sm.families.Poisson()
    weighting = {} if w is None else {"freq_weights": w} if counts else {"var_weights": w}
    with recorded() as caught:
        results = sm.GLM(endog, exog, family=family, offset=offset, **weighting).fit(tol=1e-12)
    apart = [w for w in caught if issubclass(w.category, PerfectSeparationWarning)]
    for w in caught if not apart else ():
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if apart:
        text = "without shrinkage these columns separate the classes (or fit perfectly): coefficients and standard errors of the refit are not finite; choose a smaller k"
        warnings.warn(SeparationWarning(text), stacklevel=4)
    return results


def _robust(sm, path, s, endog, exog):
    """RLM whose threshold is the fit's delta in units of y: HuberT(delta / scale) at a fixed scale,
    the MAD of the path's residuals.
    """
    start = np.concatenate([[s.intercept], s.beta]) if path.meta.intercept else s.beta
    residual = endog.to_numpy() - exog.to_numpy() @ start
    scale = float(sm.robust.scale.mad(residual, center=0.0)) or float(path.meta.loss_parameter)
    model = sm.RLM(endog, exog, M=sm.robust.norms.HuberT(t=path.meta.loss_parameter / scale))
    return model.fit(
        maxiter=1000,
        tol=1e-10,
        conv="coefs",
        start_params=start,
        start_scale=scale,
        update_scale=False,
    )
