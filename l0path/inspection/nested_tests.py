"""`l0path.anova`: tests of nested models by their refits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ..core.printed import PaperTable
from ..problem.losses import name_of
from .refit_results import exog_of, pseudo_likelihood, selected

SPANNED = 1e-8  # share of a column's length outside a column space that counts as rounding
DEPENDENT = 1e-10  # singular value, relative to the largest, of columns that depend on others
NO_LIKELIHOOD = {
    "huber": "has a scale that no likelihood estimates",
    "quantile": "is no likelihood whose ratio has a known distribution",
}
FREE_SCALE = ("gamma", "tweedie")  # families of GLMs whose dispersion is estimated by default


def anova(*refits: Any, p_values: bool | None = None) -> pd.DataFrame:
    """Tests of nested models: does a larger model explain more than a smaller one?

    Each model is tested against the next smaller one. The features of the smaller one must be
    combinations of those of the larger one, whatever their names are. All refits need the same
    loss, rows, weights and offset. The test follows from the refits:

    - squared loss: the F test. With a known error variance (`scale=` a number) its chi-squared
      test.
    - gamma and Tweedie, and logistic, binomial or Poisson refits with scale="X2" or "dev"
      (quasi-likelihoods): the F test of the deviances over the dispersion.
    - logistic, binomial, Poisson, negative binomial (each model with its own theta), several and
      ordered classes, Cox (partial likelihood): the likelihood-ratio test.
    - refits with another `cov_type` than "nonrobust": the Wald test by this covariance of the
      larger model, F where that has Student's t, else chi-squared. Weights that make a
      pseudo-likelihood need one.

    Parameters
    ----------
    *refits : results of `Model.refit`
        Two or more, in any order; of several responses those of one response.
    p_values : bool, optional
        Whether the table has p-values. None: where they hold, which they do not if the features of
        a model were chosen on the rows of the refits: the larger model was selected because it fits
        these rows well. True: in any case. False: never.

    Returns
    -------
    DataFrame
        A row for each model, the smallest first, with the columns

        - df_model: the number of coefficients, the rank of the columns with the intercept;
        - df_resid and rss or deviance (F tests), loglik (likelihood-ratio tests);
        - df: how many coefficients more than the model above;
        - F or chi2: the statistic;
        - p_value, where asked for.

        It prints rounded, with a title and a note; `to_latex`, `to_markdown` and `to_html` print it
        for a paper. Its `attrs` have title, test ("F", "likelihood ratio" or "Wald"), note and
        df_denominator (NaN for chi-squared).

    Raises
    ------
    ValueError or TypeError
        If the models are not nested, differ in loss, rows, weights, offset or covariance, or the
        loss has no likelihood (quantile, Huber).

    Notes
    -----
    With RSS or deviance D, ranks m, the dispersion phi of the *largest* model (RSS, or Pearson's
    chi-squared, over its residual degrees of freedom; as R's `anova(a, b, ...)`):

        F = (D_small - D_large) / (m_large - m_small) / phi
        chi2 = 2 (loglik_large - loglik_small)
        chi2 = (R b)' (R V R')^-1 (R b),  Wald: R b = 0 where the larger model is the smaller one

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters()
    >>> train, test = data.X.index[::2], data.X.index[1::2]
    >>> path = l0path.fit(data.X.loc[train], data.y[train])
    >>> new = {"X": data.X.loc[test], "y": data.y[test]}
    >>> print(l0path.anova(path[1].refit(**new), path[3].refit(**new)).to_markdown())
    |  | df model | df resid | RSS | df | F | p-value |
    | :--- | ---: | ---: | ---: | ---: | ---: | ---: |
    | k = 1 | 2 | 129 | 1.548e+07 |  |  |  |
    | k = 3 | 4 | 127 | 1.156e+07 | 2 | 21.52 | <0.0001 |
    """
    if len(refits) < 2:
        raise TypeError(f"anova takes two refits or more, got {len(refits)}")
    if p_values not in (None, True, False):
        raise TypeError(f"p_values={p_values!r} must be None, True or False")
    for one in refits:
        if isinstance(one, dict):
            raise TypeError(
                "anova takes the refits of one response: pass those of a name, such as "
                f"path[2].refit()[{next(iter(one))!r}]"
            )
        if getattr(one, "origin", None) is None:
            raise TypeError(
                f"anova takes results of model.refit(...), got {type(one).__name__}; refit the "
                "model first"
            )
    _refuse_unlike(refits)
    spaces = [_columns(one.origin) for one in refits]
    order = np.argsort([space.rank for space in spaces], kind="stable")
    refits, spaces = [refits[i] for i in order], [spaces[i] for i in order]
    for small, large in pairwise(spaces):
        _refuse_unnested(small, large)
    ranks = np.array([space.rank for space in spaces])
    robust = _option(refits[-1], "cov_type") not in ("nonrobust", "fixed scale")
    if not robust and any(pseudo_likelihood(o.path, o.rows) for o in (r.origin for r in refits)):
        raise ValueError(
            "the weights make a pseudo-likelihood, whose ratio has no known distribution: refit "
            "with a robust covariance, such as cov_type='HC0', for Wald tests"
        )
    make = _by_wald if robust else _by_variance if _has_scale(refits[-1]) else _by_likelihood
    columns, test, below = make(refits, spaces, ranks)
    statistic = columns.get("F", columns.get("chi2"))
    table = PaperTable({"df_model": ranks, **columns}, index=_names(refits))
    reason = _reason(refits)
    if p_values or (p_values is None and not reason.startswith("no p-values")):
        table["p_value"] = _tails(statistic, np.diff(ranks, prepend=np.nan), below)
        reason = reason.replace("no p-values: the", "p-values are too small: the").split("; ask")[0]
    elif p_values is False:
        reason = ""
    origin = refits[0].origin
    about = origin.path._meta.response or "y"
    kind = {"F": "F tests", "Wald": "Wald tests"}.get(test, "Likelihood-ratio tests")
    nested = f"{kind} of nested models of {about}, loss={origin.path._meta.loss!r}"
    table.attrs = {"title": nested, "test": test, "note": reason, "df_denominator": below}
    return table


# -------------------- what is compared


class _Columns:
    """The columns of a model on its rows: A (n, k), their names, the rank of the model, q factor of
    each coefficient (one, or one for each class but the first), and an orthonormal basis.
    """

    def __init__(self, A, names, implicit, factor):
        self.A, self.names = A, names
        size = np.linalg.norm(A, axis=0)
        unit = A / np.where(size > 0, size, 1.0)
        U, values, _ = np.linalg.svd(unit, full_matrices=False)
        self.basis = U[:, values > DEPENDENT * values.max(initial=0.0)]
        self.columns, self.factor = self.basis.shape[1], factor
        self.rank = factor * self.columns + implicit

    def outside(self, A):
        """(m,) the share of the length of each column of A that is outside the column space."""
        left = A - self.basis @ (self.basis.T @ A)
        left -= self.basis @ (self.basis.T @ left)
        size = np.linalg.norm(A, axis=0)
        return np.linalg.norm(left, axis=0) / np.where(size > 0, size, 1.0)


def _columns(origin):
    """The `_Columns` of a refit. A constant that the model has without a column of its own (ordered
    classes: thresholds; survival times: a baseline hazard for each stratum) is taken off.
    """
    path, rows = origin.path, origin.rows
    keep = _kept(rows)
    A, names = exog_of(path, origin.solution, rows, keep)
    A, meta = np.array(A, dtype=np.float64), path._meta
    if meta.traits.partial:
        for s in np.unique(origin.loss.stratum[keep]):
            mine = origin.loss.stratum[keep] == s
            A[mine] -= A[mine].mean(axis=0)
        return _Columns(A, names, 0, 1)
    if meta.ordered:
        return _Columns(A - A.mean(axis=0), names, len(meta.classes) - 1, 1)
    if meta.intercept:  # other columns beside their means, so that far origins do no harm
        A[:, 1:] -= A[:, 1:].mean(axis=0)
    return _Columns(A, names, 0, len(meta.classes) - 1 if meta.traits.by_class else 1)


def _kept(rows):
    return np.flatnonzero(rows.weights > 0)


def _refuse_unlike(refits):
    """Refuse refits that differ in what must be the same."""
    first = refits[0]
    name = first.origin.path._meta.loss
    if name in NO_LIKELIHOOD:
        raise ValueError(
            f"anova needs a likelihood, and loss={name!r} {NO_LIKELIHOOD[name]}; test features by "
            "results.wald_test(...)"
        )
    for one in refits[1:]:
        if _loss_of(one) != _loss_of(first):
            raise ValueError(
                f"the refits have the losses {_loss_of(first)} and {_loss_of(one)}; compare models "
                "of one loss"
            )
        differs = _difference(first.origin, one.origin)
        if differs:
            raise ValueError(
                f"the refits have different {differs}; refit both models on the same rows, with "
                "the same weights and offset"
            )
        for what in ("cov_type", "scale"):
            a, b = _option(first, what), _option(one, what)
            if a != b:
                raise ValueError(
                    f"the refits have {what}={a!r} and {what}={b!r}; refit both with the same"
                )


def _loss_of(results):
    """A loss by its name and the numbers that refits do not estimate anew."""
    origin = results.origin
    path = origin.path
    if path._meta.ties:
        return f"{path._meta.loss} (ties={path._meta.ties!r})"
    number = None if path._meta.number("theta") is not None else path._meta.loss_parameter
    classes = "" if path.classes is None else f" of {', '.join(map(repr, path.classes))}"
    return path._meta.loss + classes + ("" if number is None else f" ({number:g})")


def _option(results, what):
    """The covariance or the dispersion that a refit was asked for."""
    covariance = getattr(results, "cov_type", "nonrobust")  # statsmodels' PHReg has no other
    if what == "cov_type":
        return covariance
    if covariance == "fixed scale":
        return float(results.scale)
    return getattr(getattr(results, "model", None), "scaletype", None)


def _difference(a, b):
    """What of the rows of two refits differs: "rows", "weights", "offsets", or ""."""
    if a.rows is b.rows:
        return ""
    if a.rows.design.n != b.rows.design.n:
        return "rows"
    indexes = [one.rows.index for one in (a, b)]
    if all(index is not None for index in indexes) and not indexes[0].equals(indexes[1]):
        return "rows"
    for x, y in zip(_response(a), _response(b), strict=True):
        if not np.array_equal(x, y):
            return "rows"
    n = a.rows.design.n
    for what, absent in (("weights", 1.0), ("counts", 1.0), ("trials", 1.0), ("offset", 0.0)):
        x, y = (
            np.full(n, absent) if getattr(one.rows, what) is None else getattr(one.rows, what)
            for one in (a, b)
        )
        if not np.array_equal(x, y):
            return {"offset": "offsets", "trials": "trials"}.get(what, "weights")
    return ""


def _response(origin):
    """The arrays that a response is made of."""
    loss = origin.loss
    if origin.path._meta.traits.response == "survival":
        return origin.rows.y, loss.start, loss.stop, loss.stratum
    return (origin.rows.y,)


def _refuse_unnested(small, large):
    """Refuse models whose column spaces are not nested."""
    outside = np.flatnonzero(large.outside(small.A) > SPANNED)
    if outside.size:
        names = ", ".join(str(small.names[j]) for j in outside[:5])
        raise ValueError(
            f"the models are not nested: {names} of the smaller model "
            f"{'is no combination' if outside.size == 1 else 'are no combinations'} of the "
            "features of the larger one; compare them by criteria or by l0path.cv_fit"
        )
    if small.columns == large.columns:
        raise ValueError(
            "two of the models have the same column space, so there is nothing to test; leave one "
            "of them out"
        )


def _names(refits):
    """Labels of the models: their sizes, where these differ."""
    labels = [f"k = {one.origin.solution.k}" for one in refits]
    if len(set(labels)) < len(labels):
        labels = [f"{number}: {label}" for number, label in enumerate(labels)]
    return pd.Index(labels, name="model")


def _reason(refits):
    """Why p-values do not hold, or on what condition they do."""
    known = [selected(one.origin.solution, one.origin.path, one.origin.rows) for one in refits]
    if any(known):
        model = _names(refits)[known.index(True)]
        return (
            f"no p-values: the features of the model {model} were chosen on rows of these refits, "
            "so the statistics do not have the distributions of tests; refit on rows that had no "
            "part in the choice; ask for p-values all the same by p_values=True"
        )
    return "p-values hold if these rows had no part in choosing the models"


# -------------------- statistics


def _has_scale(results):
    """Whether a test is about sums of squares, or deviances, over a dispersion."""
    if results.origin.path._meta.traits.gaussian:
        return True
    kind = getattr(getattr(results, "model", None), "scaletype", None)
    return kind is not None or name_of(results.origin.loss) in FREE_SCALE


def _by_variance(refits, spaces, ranks):
    """F, or with a known dispersion chi-squared, tests of residual sums of squares or deviances."""
    squared = refits[0].origin.path._meta.traits.gaussian
    fits = np.array([float(one.ssr if squared else one.deviance) for one in refits])
    last = refits[-1]
    n = float(last.nobs)
    below = n - ranks[-1]
    option = _option(last, "scale")
    gains, df = np.append(np.nan, -np.diff(fits)), np.append(np.nan, np.diff(ranks))
    columns = {"df_resid": n - ranks, "rss" if squared else "deviance": fits, "df": df}
    if isinstance(option, (int, float)) and not isinstance(option, bool):
        return {**columns, "chi2": gains / float(option)}, "likelihood ratio", np.nan
    if below <= 0:
        raise ValueError(
            f"the largest model has {ranks[-1]} coefficients for {n:g} rows, so its residuals tell "
            "no variance; compare smaller models"
        )
    scale = fits[-1] / below if squared else float(last.scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {**columns, "F": gains / df / scale}, "F", float(below)


def _by_likelihood(refits, spaces, ranks):
    """Likelihood-ratio tests."""
    loglik = np.array([float(one.llf) for one in refits])
    gains = np.append(np.nan, np.diff(loglik))
    if (gains < -1e-6 * np.abs(loglik).max()).any():
        raise ValueError(
            "a larger model has the smaller likelihood, so its refit did not converge; pass "
            "maxiter= to the refit, or choose smaller models"
        )
    df = np.append(np.nan, np.diff(ranks))
    columns = {"loglik": loglik, "df": df, "chi2": 2.0 * np.where(gains < 0, 0.0, gains)}
    return columns, "likelihood ratio", np.nan


def _by_wald(refits, spaces, ranks):
    """Wald tests by the covariances of the larger models."""
    large = refits[-1]
    by_t = bool(getattr(large, "use_t", False))
    statistics = [np.nan]
    for number in range(1, len(refits)):
        restrictions = _restrictions(spaces[number - 1], spaces[number])
        value = _wald(refits[number], restrictions, spaces[number])
        statistics.append(value / len(restrictions) / spaces[number].factor if by_t else value)
    df, below = np.append(np.nan, np.diff(ranks)), np.nan
    if by_t:
        found = getattr(large, "df_resid_inference", None)
        below = float(large.df_resid if found is None else found)
    return {"df": df, "F" if by_t else "chi2": np.array(statistics)}, "Wald", below


def _restrictions(small, large):
    """R (q, k) with R b = 0 where the larger model, of coefficients b, is the smaller one."""
    k = large.A.shape[1]
    if large.columns < k:
        raise ValueError(
            "features of the larger model are combinations of others, so that their coefficients "
            "have no covariance; leave one of them out"
        )
    size = np.linalg.norm(large.A, axis=0)
    C = np.linalg.lstsq(large.A / size, small.A, rcond=None)[0] if small.A.size else None
    if C is None:
        return np.diag(size)
    C = C / np.maximum(np.linalg.norm(C, axis=0), 1e-300)
    U, values, _ = np.linalg.svd(C, full_matrices=True)
    rank = int((values > SPANNED * values.max()).sum())
    return U[:, rank:].T * size


def _wald(results, R, space):
    """(R b)' (R V R')^-1 (R b) of the coefficients b of a refit with their covariance V."""
    k, several = space.A.shape[1], space.factor > 1
    params = np.asarray(results.params, dtype=np.float64)
    V = np.asarray(results.cov_params(), dtype=np.float64)
    if several:
        params, R = params.ravel(order="F"), np.kron(np.eye(space.factor), R)
    else:
        params, V = params[:k], V[:k, :k]  # numbers of the loss, and thresholds, come after them
    if not np.isfinite(V).all():
        raise ValueError(
            "coefficients of the larger model have no finite covariance; choose a smaller model"
        )
    moved, H = R @ params, R @ V @ R.T
    unit = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(unit, unit))
    if not values[0] > DEPENDENT * values[-1]:
        raise ValueError(
            f"the robust covariance cannot test {len(R)} coefficients at once (there are too few "
            "clusters, or rows, for them); compare models that differ less"
        )
    return float((((vectors.T @ (unit * moved)) ** 2) / values).sum())


def _tails(statistic, df, below):
    """p-values of F, or where `below` is NaN of chi-squared, statistics."""
    from scipy.stats import chi2, f

    return chi2.sf(statistic, df) if np.isnan(below) else f.sf(statistic, df, below)
