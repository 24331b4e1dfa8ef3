"""Refits of survival times: by statsmodels, and of partial likelihoods with weights or robust
covariances, which it has not, here. Ordered classes have the same, for sample splitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.warnings import again, recorded, warn_user
from ..cross_validation.validation import new_rows
from ..designs import Dense
from ..errors import SeparationWarning
from ..problem.coupled.arguments import ties_of
from ..problem.coupled.ordinal import thresholds_of
from ..problem.coupled.scores import minus_log_likelihood
from ..problem.coupled.weibull import best_shape
from ..problem.problem import Data, checksum, pose
from ..problem.traits import MONOTONE, ORDERED, OUTLASTS
from ..problem.verbs import restricted
from ..working_set.model import make_model
from .refit_results import (
    NO_CLUSTERS,
    WEIGHTED,
    Origin,
    Refit,
    RefitRows,
    describe_survival,
    exog_of,
    label,
    labels_by_row,
    refuse_one_cluster,
)
from .refit_rows import LABELS, index_of, prepared, recognized
from .separated_refits import (
    RefitLimit,
    estimated,
    limit_in,
    limit_of_refit,
    separated,
    take_limit,
    unbounded,
)

OPEN_DIRECTION = 1e-12  # of a correlation matrix: columns below it are combinations of others
MOVED = 1e-6  # entry of a direction that changes no predictor, beyond which a coefficient is open
NO_SCORES = 1e-16  # share of a variance that is rounding of a sandwich of scores that are 0
COVARIANCES = ("nonrobust", "robust", "cluster")
REPEAT = 1 << 27  # entries (1 GB) up to which rows that stand for several are repeated


def refit_survival(path, s, given, covariance, how):
    """PHReg of statsmodels, or `SurvivalResults` for weights and robust covariances, which it has
    not, or those of a `WeibullRegression`; given: X, y, {argument by row}, whether all complete
    rows are taken; covariance: cov_type, cov_kwds, scale; how: for its `fit`.
    """
    cov_type, cov_kwds, scale = covariance
    if scale is not None:
        raise ValueError(
            f"scale={scale!r}: the likelihood of loss={path._meta.loss!r} has no dispersion to be "
            "given; leave it out"
        )
    if cov_type not in (None, *COVARIANCES):
        raise ValueError(
            f"cov_type={cov_type!r}: refit of loss={path._meta.loss!r} has "
            f"{', '.join(map(repr, COVARIANCES))}"
        )
    odd = [name for name in cov_kwds or () if name != "groups" or cov_type != "cluster"]
    if odd:
        raise ValueError(
            f"cov_kwds has {odd[0]!r}, which cov_type={cov_type!r} of loss={path._meta.loss!r} "
            "does not take; leave it out, or pass cov_type='cluster' with "
            "cov_kwds={'groups': labels}"
        )
    if not s.support.size and path._meta.traits.partial:
        raise ValueError("the model has no features, so there is nothing to refit; choose k >= 1")
    X, y, by_row, whole = given
    kwds = dict(cov_kwds or {})
    labels = {name: kwds[name] for name in LABELS if name in kwds}
    X, y, by_row = prepared(path, s, X, y, {**by_row, **labels}, whole)
    labels = {name: by_row.pop(name) for name in labels}
    rows, loss = survival_rows(path, X, y, **by_row)
    index = rows.index if X is None else index_of(X)
    rows = rows._replace(labels=labels, whole=whole, index=index)
    rows = recognized(path, s, rows, (rows.y, loss.start, loss.stop, loss.stratum))
    keep = np.flatnonzero(rows.weights > 0)
    A, names = exog_of(path, s, rows, keep)
    if cov_type == "cluster" and "groups" not in kwds:
        raise ValueError(NO_CLUSTERS)
    if not path._meta.traits.partial:
        return _refit_weibull(Origin(path, s, rows, loss), (A, names), cov_type, how)
    even = not rows.importance and (rows.counts is None or (rows.counts[keep] == 1).all())
    if even and cov_type in (None, "nonrobust"):
        return _refit_in_statsmodels(path, s, rows, (A, names), loss, how)
    if how:
        raise ValueError(
            f"{next(iter(how))}= is for statsmodels, whose PHReg takes neither weights nor robust "
            "covariances; leave it out"
        )
    cov_type = cov_type or ("robust" if rows.importance else "nonrobust")
    clusters = None
    if cov_type == "cluster":
        clusters = labels_by_row("groups", path, rows)[keep]
        refuse_one_cluster(clusters)
    offset = None if rows.offset is None else rows.offset[keep]
    event, mask = rows.y, rows.weights > 0
    counts = None if rows.counts is None else rows.counts[keep]
    part = CoupledRows(
        A, names, event[keep], restricted(loss, event, mask), rows.weights[keep], counts, offset
    )
    origin = Origin(path, s, rows, loss)
    return survival_results(part, cov_type, clusters, origin)


def _refit_in_statsmodels(path, s, rows, columns, loss, how):
    """The results of PHReg, columns (A, names) of the rows of positive weight."""
    from statsmodels.duration.hazard_regression import PHRegResults

    from .cox_models import CoxRegression, named

    (A, names), keep = columns, np.flatnonzero(rows.weights > 0)
    # PHReg takes times from 0 on, and counts a row at risk at its start too
    first = loss.start if loss.start.size else loss.stop
    origin = min(float(first[keep].min()), 0.0)
    entry = np.nextafter(loss.start[keep] - origin, np.inf) if loss.start.size else None
    offset = None if rows.offset is None else rows.offset[keep]
    model = CoxRegression(
        loss.stop[keep] - origin,
        pd.DataFrame(A, columns=names),
        status=rows.y[keep],
        entry=entry,
        strata=loss.stratum[keep] if loss.stratum.any() else None,
        offset=offset,
        ties=ties_of(loss),
    )
    try:
        with recorded() as caught:
            results = model.fit(**how)
        limit = limit_in(results, path, s, rows, loss)
    except np.linalg.LinAlgError:  # also where steps along a monotone likelihood went far out
        limit = limit_of_refit(
            restricted(loss, rows.y, keep),
            rows.y[keep],
            A,
            names,
            intercept=False,
            weights=rows.weights[keep],
            offset=offset,
        )
        if limit is None:
            raise ValueError(
                "features of the model are constant, or combinations of others, in these rows; "
                "choose a smaller k, or more rows"
            ) from None
        results = PHRegResults(model, limit.params, np.eye(len(names)))
    if limit is None:
        again(caught)
    else:
        take_limit(results, limit, limit.covariance(float(rows.y[keep].sum())))
        warn_user(SeparationWarning(separated(loss, limit.infinite)))
    describe_survival(named(results), path, s, rows, loss)
    return results


def _refit_weibull(origin, columns, cov_type, how):
    """The results of a `WeibullRegression`, columns (A, names) of the rows of positive weight, the
    intercept first.
    """
    from .cox_models import named
    from .weibull_models import WeibullRegression

    (path, s, rows, loss), (A, names) = origin, columns
    keep, n = np.flatnonzero(rows.weights > 0), rows.design.n
    counts = np.ones(n) if rows.counts is None else rows.counts
    offset = np.zeros(n) if rows.offset is None else rows.offset
    part = CoupledRows(
        A[:, 1:], names[1:], rows.y[keep], restricted(loss, rows.y, keep), rows.weights[keep],
        counts[keep], offset[keep],
    )  # fmt: skip
    found = maximum_likelihood(part)
    if not found.attained:
        limit = limit_of_refit(
            part.loss, part.y, part.A, part.names, intercept=False, weights=part.weights,
            offset=part.offset,
        )  # fmt: skip
        raise ValueError(
            "the refit, which has no penalty, has no maximum: "
            + (
                "the shape grows without end, as where features give the times of all events "
                "without error; choose a smaller k"
                if limit is None
                else separated(loss, limit.infinite)
            )
        )
    if not found.known.all():
        raise ValueError(
            "features of the model are constant, or combinations of others, in these rows; choose "
            "a smaller k, or more rows"
        )
    best = best_shape(part.loss, part.y, part.A @ found.params + part.offset, part.weights)
    cov_type = cov_type or ("robust" if rows.importance else "nonrobust")
    # a row that stands for several is repeated, as its scores are
    at = np.repeat(np.arange(keep.size), counts[keep].astype(np.int64))
    if at.size * A.shape[1] > REPEAT:
        raise ValueError(
            f"this refit needs a row for each that freq_weight counts, which are {at.size} here; "
            "refit on a sample of them with model.refit(X, y)"
        )
    index = None if rows.index is None or at.size > keep.size else rows.index[keep]
    model = WeibullRegression(
        pd.Series(part.loss.stop[at], index=index, name=path._meta.response or "y"),
        pd.DataFrame(A[at], columns=names, index=index),
        event=part.y[at],
        shift=part.offset[at],
        row_weights=(part.scaled / part.copies)[at],
    )
    if cov_type == "robust":
        how = {**how, "cov_type": "HC0"}
    if cov_type == "cluster":
        labels = labels_by_row("groups", path, rows)[keep][at]
        refuse_one_cluster(labels)
        how = {**how, "cov_type": "cluster"}
        how["cov_kwds"] = {"groups": labels, "use_correction": False}
    start = [best.level, *found.params, np.log(best.shape)]
    results = model.fit(**{"start_params": start, "method": "newton", "disp": 0} | how)
    describe_survival(named(results), path, s, rows, loss)
    return results


def survival_rows(path, X, y, **by_row):
    """(`RefitRows`, the loss) of the rows of the fit, or of new ones; by_row: sample_weight,
    freq_weight, offset and strata.
    """
    if X is None and y is None:
        given = [f"{name}=" for name, value in by_row.items() if value is not None]
        if given:
            raise ValueError(f"{', '.join(given)} go with new rows: pass X= and y=")
        data = path._data()
        rows = RefitRows(data.design, data.y, data.weights, data.offset, data.index, True)
        return rows._replace(counts=data.counts, importance=data.importance), data.loss
    seen = new_rows(path, X, y, **by_row)
    loss = seen.loss
    response = (seen.y, loss.start, loss.stop, loss.stratum)
    same = (
        bool(path._meta.checksum)
        and seen.design.n == path.n
        and checksum(SimpleNamespace(design=seen.design, response=response)) == path._meta.checksum
    )
    if same and path._meta.weighted and not seen.importance and seen.counts is None:
        if path._source.data is None:
            raise ValueError(WEIGHTED)
        own, loss = survival_rows(path, None, None)
        return own._replace(offset=seen.offset), loss
    rows = RefitRows(seen.design, seen.y, seen.weights, seen.offset, None, same)
    return rows._replace(counts=seen.counts, importance=seen.importance), loss


class CoupledRows(NamedTuple):
    """Rows of survival times or ordered classes, all of positive weight."""

    A: np.ndarray  # (n, k), columns
    names: list  # of the columns
    y: np.ndarray  # (n,), events, or codes of classes
    loss: Any
    weights: np.ndarray  # (n,), as those of `Data`
    counts: np.ndarray | None  # (n,), as those of `Data`
    offset: np.ndarray | None  # (n,)

    @property
    def copies(self):
        """(n,) how many rows each row stands for."""
        return np.ones(self.y.size) if self.counts is None else self.counts

    @property
    def scaled(self):
        """(n,) the weights, times how many rows each stands for, of mean 1 over all of these."""
        return self.weights * (self.copies.sum() / self.weights.sum())


class Maximum(NamedTuple):
    """The maximum of a likelihood, by the Newton steps of the paths."""

    params: np.ndarray  # (k,), coefficients
    covariance: np.ndarray  # (k, k), the inverse of their information
    known: np.ndarray  # (k,), bool: which of them the rows determine
    eta: np.ndarray  # (n,), predictor
    attained: bool  # whether there is a maximum


def maximum_likelihood(rows):
    """The `Maximum` of `CoupledRows`, by weights of mean 1. Thresholds of ordered classes are at
    their best for all coefficients, which leaves the information of these.
    """
    k = rows.A.shape[1]
    free = np.full(k, np.inf)
    data = Data(
        design=Dense(np.asfortranarray(rows.A, dtype=np.float64)),
        y=np.asarray(rows.y, dtype=np.float64),
        loss=rows.loss,
        weights=rows.weights,
        counts=rows.counts,
        offset=rows.offset,
        intercept=False,
        lower=-free,
        upper=free,
        factor=np.zeros(k),
        forced=np.arange(k),
        excluded=np.zeros(k, dtype=bool),
        names=rows.names,
    )
    problem = pose(data)
    model = make_model(problem)
    model.grow(problem.forced)
    fit = model.null(0.0, 0.0)
    at, Z, near = fit.support, model.Z[model.where[fit.support]], model.derivatives(fit)
    taken = model.coupled(near.eta, Z)
    count = float(rows.scaled @ rows.y) if rows.loss.traits.partial else problem.n_eff
    inverse, known = _inverse(count * ((Z * near.v) @ Z.T - taken @ taken.T))
    scale, params, certain = problem.X.scale[at], np.zeros(k), np.zeros(k, dtype=bool)
    covariance = np.zeros((k, k))
    params[at], certain[at] = fit.b / scale, known
    covariance[np.ix_(at, at)] = inverse / np.outer(scale, scale)
    return Maximum(params, covariance, certain, near.eta, not fit.flags)


def jackknife(rows, found):
    """(n, k) by how much each row, with all rows that it stands for, moves the coefficients of
    their `Maximum`: the infinitesimal jackknife, w_i dU/dw_i of the score U times the inverse
    information, as in R's `residuals(type="dfbeta", weighted=TRUE)` (Therneau & Grambsch, Modeling
    Survival Data, 2000, section 7.1).
    """
    mean = np.average(rows.A, axis=0, weights=rows.weights)
    kinds = {MONOTONE: _score_residuals, ORDERED: _ordered_residuals, OUTLASTS: _shape_residuals}
    score_residuals = kinds[rows.loss.traits.recession]
    residuals = score_residuals(rows, found.eta, rows.A - mean)
    return rows.scaled[:, None] * (residuals @ found.covariance)


def robust_covariance(rows, found, clusters=None):
    """(k, k) D'D for the jackknife D of the rows, each of those that one row stands for by itself,
    or of its sums over clusters (n,).
    """
    D = jackknife(rows, found)
    if clusters is None:
        D = D / np.sqrt(rows.copies)[:, None]
    else:
        D = pd.DataFrame(D).groupby(np.asarray(clusters)).sum().to_numpy()
    return D.T @ D


def _inverse(H):
    """(the inverse of an information matrix (k, k), which coefficients it determines (k,)): those
    of combinations of others are not determined.
    """
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(unit, unit))
    flat = values <= OPEN_DIRECTION * max(values[-1] if values.size else 0.0, 1.0)
    inverse = (vectors[:, ~flat] / values[~flat]) @ vectors[:, ~flat].T
    known = np.abs(vectors[:, flat]).max(axis=1, initial=0.0) < MOVED
    return inverse * np.outer(unit, unit), known & (np.diagonal(H) > 0)


def _score_residuals(rows, eta, Z):
    """(n, k) the derivatives of the score in the weights of the rows; Z (n, k)."""
    loss, weights, copies = rows.loss, rows.scaled, rows.copies
    out = np.zeros(Z.shape)
    tops = np.full(int(loss.stratum.max()) + 1, -np.inf)
    np.maximum.at(tops, loss.stratum, eta)
    e = np.exp(eta - tops[loss.stratum])
    for tied, at in loss.risk_sets():
        u, w = weights[at] * e[at], weights[tied]
        deaths = copies[tied].sum()
        share = np.arange(deaths) / deaths if loss.efron else np.zeros(1)
        v = w.sum() / share.size
        phi = u.sum() - share * (w @ e[tied])
        means = (Z[at].T @ u)[:, None] - share * (Z[tied].T @ (w * e[tied]))[:, None]
        means = means / phi
        a, c = (v / phi).sum(), means @ (v / phi)
        out[at] -= e[at, None] * (Z[at] * a - c)
        a, c = (v * share / phi).sum(), means @ (v * share / phi)
        out[tied] += e[tied, None] * (Z[tied] * a - c) + Z[tied] - means.mean(axis=1)
    return out


def _ordered_residuals(rows, eta, Z):
    """(n, k) the scores of ordered classes in the coefficients, less their regression on those in
    the thresholds t, which are at their best: with P = F(t_y - eta) - F(t_(y-1) - eta) the
    probability of the class of a row, F the logistic distribution function.
    """
    codes, w = rows.y.astype(np.int64), rows.scaled
    inner = thresholds_of(rows.loss, rows.y, eta, w / w.sum())
    t, last = np.concatenate([[-np.inf], inner, [np.inf]]), inner.size
    upper, lower = 1.0 / (1.0 + np.exp(eta - t[codes + 1])), 1.0 / (1.0 + np.exp(eta - t[codes]))
    a, b, P = upper * (1.0 - upper), lower * (1.0 - lower), upper - lower
    rise, fall = a * (1.0 - 2.0 * upper) / P, b * (1.0 - 2.0 * lower) / P
    a, b = a / P, b / P
    in_upper, in_lower, both = rise - a * a, -fall - b * b, a * b
    # rows by thresholds, with one before the first and one after the last, which are dropped
    at, n = np.arange(codes.size), codes.size
    scores, mixed = np.zeros((n, last + 2)), np.zeros((n, last + 2))
    scores[at, codes + 1], scores[at, codes] = a, -b
    mixed[at, codes + 1], mixed[at, codes] = -(in_upper + both), -(in_lower + both)
    H = np.zeros((last + 2, last + 2))
    np.add.at(H, (codes + 1, codes + 1), w * in_upper)
    np.add.at(H, (codes, codes), w * in_lower)
    np.add.at(H, (codes, codes + 1), w * both)
    np.add.at(H, (codes + 1, codes), w * both)
    kept = slice(1, last + 1)
    slopes = np.linalg.solve(H[kept, kept], (mixed[:, kept] * w[:, None]).T @ Z)
    return (b - a)[:, None] * Z - scores[:, kept] @ slopes


def _shape_residuals(rows, eta, Z):
    """(n, k) the scores of a Weibull model in the coefficients, less their regression on those in
    b0 and kappa, which are at their best.
    """
    z, d, w = np.log(rows.loss.stop), rows.y, rows.scaled
    level, shape, _ = best_shape(rows.loss, d, eta, rows.weights)
    e = np.exp(level + shape * z + eta)
    T = np.column_stack([np.ones(z.size), z])
    H = (T.T * (w * e)) @ T
    H[1, 1] += (w @ d) / shape**2
    scores = (d - e)[:, None] * T
    scores[:, 1] += d / shape
    return (d - e)[:, None] * Z - scores @ np.linalg.solve(H, (T.T * (w * e)) @ Z)


@dataclass(frozen=True, kw_only=True, repr=False)
class SurvivalResults(Refit):
    """The results of a Cox regression, with the names that statsmodels has.

    Attributes
    ----------
    params : Series
        The coefficients, log hazard ratios.
    covariance : DataFrame
        Their covariance.
    llf : float
        The log partial likelihood.
    nobs, events : float
        The numbers of all rows, and of those with an event.
    cov_type : str
        "nonrobust": the inverse of the information. "robust", "cluster": D'D for the infinitesimal
        jackknife D of the rows, or of its sums over clusters.
    ties : str
        "efron" or "breslow".
    selection : str
        Which rows chose the columns.
    origin : Origin
        The path, the solution, the rows and the loss that were refitted.
    infinite : list of str
        The names of coefficients without a finite estimate.
    limit : RefitLimit, optional
        What the rows tell where there are some.
    """

    params: pd.Series
    covariance: pd.DataFrame
    llf: float
    nobs: float
    events: float
    cov_type: str
    ties: str
    selection: str
    origin: Origin
    infinite: Sequence[str] = ()
    limit: RefitLimit | None = None
    use_t = False
    __reduce_ex__ = object.__reduce_ex__

    def _made_by(self):
        return "maximum partial likelihood"

    @property
    def bse(self):
        """The standard errors."""
        return pd.Series(np.sqrt(np.diag(self.covariance)), index=self.params.index)

    @property
    def tvalues(self):
        """The coefficients in units of their standard errors."""
        return self.params / self.bse

    @property
    def pvalues(self):
        """Two-sided p-values by the normal distribution."""
        from scipy.stats import norm

        return pd.Series(2.0 * norm.sf(np.abs(self.tvalues)), index=self.params.index)

    def cov_params(self):
        """The covariance of the coefficients."""
        return self.covariance

    def conf_int(self, alpha=0.05):
        """Intervals of level 1 - alpha: a DataFrame with the columns "lower" and "upper"."""
        from scipy.stats import norm

        half = norm.isf(0.5 * alpha) * self.bse
        ends = pd.DataFrame({"lower": self.params - half, "upper": self.params + half})
        return unbounded(ends, self)

    def summary(self):
        """A table of statsmodels."""
        from statsmodels.iolib.summary2 import Summary

        low, high = (np.exp(part) for _, part in self.conf_int().items())
        params = estimated(self)
        columns = {
            "log HR": params,
            "log HR SE": self.bse,
            "HR": np.exp(params),
            "z": self.tvalues,
            "P>|z|": self.pvalues,
            "[0.025": low,
            "0.975]": high,
        }
        out = Summary()
        out.add_title("Cox regression")
        head = {
            "Ties:": self.ties,
            "Covariance:": self.cov_type,
            "No. Observations:": f"{self.nobs:.0f}",
            "No. Events:": f"{self.events:.0f}",
            "Log-likelihood:": f"{self.llf:.4f}",
        }
        out.add_dict(head)
        out.add_df(pd.DataFrame(columns), float_format="%.4f")
        out.add_text(self.selection[0].upper() + self.selection[1:])
        return out

    summary2 = summary


def survival_results(rows, cov_type, clusters, origin):
    """`SurvivalResults` of `CoupledRows`; clusters (n,): labels, for cov_type="cluster"; origin:
    the `Origin` of the results.
    """
    found, limit = maximum_likelihood(rows), None
    if not found.attained:
        limit = limit_of_refit(
            rows.loss,
            rows.y,
            rows.A,
            rows.names,
            intercept=False,
            weights=rows.weights,
            offset=rows.offset,
        )
        infinite = rows.names if limit is None else limit.infinite
        warn_user(SeparationWarning(separated(rows.loss, infinite)))
    open_ = ~found.known | (not found.attained)
    if limit is not None:
        open_, covariance = limit.sign != 0.0, limit.covariance(float(rows.scaled @ rows.y))
        found = found._replace(params=limit.params, covariance=covariance)
    covariance = found.covariance
    if cov_type != "nonrobust" and not open_.all():
        covariance = robust_covariance(rows, found, clusters)
        # tied deaths that are all that is left have no scores
        open_ = open_ | (np.diag(covariance) <= NO_SCORES * np.diag(found.covariance))
    covariance = np.where(open_[:, None] | open_, np.nan, covariance)
    return SurvivalResults(
        params=pd.Series(found.params, index=rows.names),
        covariance=pd.DataFrame(covariance, index=rows.names, columns=rows.names),
        llf=-float(minus_log_likelihood(rows.loss, rows.y, found.eta, rows.scaled)),
        nobs=float(rows.copies.sum()),
        events=float(rows.copies @ rows.y),
        cov_type=cov_type,
        ties=origin.path._meta.ties,
        selection=label(
            origin.solution, origin.path, origin.rows, () if limit is None else limit.infinite
        ),
        origin=origin,
        infinite=() if limit is None else limit.infinite,
        limit=limit,
    )
