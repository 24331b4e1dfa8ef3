"""`Model.refit`: the chosen columns once more in statsmodels, without penalty, for standard errors,
tests and diagnostics.
"""

from __future__ import annotations

import inspect
import math
import warnings
from functools import singledispatch
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import same_index
from ..core.tables import pandas_of
from ..core.types import Matrix
from ..core.warnings import again, recorded, warn_user
from ..engine.arguments import coded
from ..engine.arguments import row_weights as weights_of_rows
from ..errors import ConvergenceWarning, SeparationWarning
from ..paths import Model
from ..paths.predicting import given_offset, missing_offset
from ..problem.coupled.ordinal import Ordinal
from ..problem.families import Binomial, Gamma, NegativeBinomial, Quantile, Tweedie
from ..problem.families.trials import shares_of
from ..problem.losses import Huber, Logistic, Multinomial, Poisson, Squared, name_of
from ..problem.problem import checksum, row_weights
from .class_refits import fit_classes, fit_ordered
from .covariances import (
    UNEQUAL,
    checked_covariance,
    checked_leverages,
    take_unequal_variances,
)
from .refit_results import (
    WEIGHTED,
    RefitRows,
    describe,
    describe_survival,
    exog_of,
    labels_by_row,
    pseudo_likelihood,
    refit_each,
    refuse_one_cluster,
)
from .refit_rows import ALL, LABELS, prepared, recognized
from .separated_refits import limit_in, separated, take_covariance, take_limit
from .survival_refits import refit_survival

REPEAT = 1 << 27  # entries (1 GB) up to which rows that stand for several are repeated
# arguments that users of other packages try, and what is meant by them
MEANT = {
    "data": "X=",
    "newdata": "X=",
    "level": "model.conf_int(level=...)",
    "alpha": "model.conf_int(level=1 - alpha)",
    "exponentiate": "model.refit().estimates(exponentiate=True)",
    "robust": "cov_type=",
    "vcov": "cov_type=",
    "vcov_type": "cov_type=",
    "weights": "sample_weight= or freq_weight=",
    "groups": 'cov_type="cluster" and cov_kwds={"groups": labels}',
    "cluster": 'cov_type="cluster" and cov_kwds={"groups": labels}',
}
# what optimizers of SciPy take that a fit of statsmodels by maximum likelihood hands on
OF_OPTIMIZERS = {"gtol", "xtol", "ftol", "pgtol", "factr", "norm", "epsilon", "maxfun", "niter"}
ROBUST = {"h1": "H1", "h2": "H2", "h3": "H3"}  # covariances of statsmodels' robust regression
POISSON_LIMIT = 1e-4  # alpha x mean count, up to which a negative binomial regression is Poisson's


def refit(
    model: Model,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | str | None = None,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    cov_type: str | None = None,
    cov_kwds: dict | None = None,
    scale: float | str | None = None,
    strata: ArrayLike | str | None = None,
    rows: str | None = None,
    **options: Any,
) -> Any:
    """Results of statsmodels, for `Model.refit`."""
    _refuse_unknown(options, model.path._meta.loss)
    if rows not in (None, ALL):
        raise ValueError(f"rows={rows!r} is not known; leave it out, or pass rows='all'")
    self, s = model.path, model._solution
    by_row = {"sample_weight": sample_weight, "freq_weight": freq_weight, "offset": offset}
    if cov_type is None and self._meta.formula is not None:
        table = self._meta.formula.table if X is None else pandas_of(X)
        clusters = self._meta.formula.labels("cluster", table)
        if clusters is not None:
            cov_type, cov_kwds = "cluster", {**(cov_kwds or {}), "groups": clusters}
    if self._meta.traits.response == "survival":
        if trials is not None:
            raise ValueError("trials= goes with shares under loss='binomial'; leave it out")
        given = X, y, {**by_row, "strata": strata}, rows == ALL
        return refit_survival(self, s, given, (cov_type, cov_kwds, scale), options)
    if strata is not None:
        raise ValueError(f"strata is for loss='cox', and this path has loss={self._meta.loss!r}")
    if not self._meta.traits.link:
        raise ValueError(
            f"refit needs a likelihood, which loss={self._meta.loss!r} does not have; fit with "
            "loss='logistic' for standard errors"
        )
    if not s.support.size and not self._meta.intercept:
        raise ValueError(
            "the model has neither features nor an intercept, so there is nothing to refit; choose "
            "a larger k"
        )
    by_row["trials"] = trials
    labels = {name: cov_kwds[name] for name in LABELS if name in (cov_kwds or {})}
    X, y, by_row = prepared(self, s, X, y, {**by_row, **labels}, rows == ALL)
    labels = {name: by_row.pop(name) for name in labels}
    taken = _rows(self, X, y, by_row)._replace(labels=labels, whole=rows == ALL)
    taken = recognized(self, s, taken, (taken.y,))
    how = {"cov_type": cov_type, "cov_kwds": cov_kwds, "scale": scale, **options}
    how = {name: value for name, value in how.items() if value is not None}
    if self._meta.several:
        return refit_each(self, s, taken, how, refit_rows)
    results = refit_rows(self, s, taken, **how)
    (describe_survival if self._meta.ordered else describe)(results, self, s, taken)
    return results


def _refuse_unknown(options, loss):
    """Refuse what no `fit` of statsmodels has by name: some of these take anything, and say nothing
    of what they do not use.
    """
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    kinds = [sm.OLS, sm.GLM, sm.RLM, sm.MNLogit, sm.PHReg, OrderedModel]
    kinds += [sm.QuantReg] if loss == "quantile" else []
    known = {name for kind in kinds for name in inspect.signature(kind.fit).parameters}
    for name in options:
        if name not in (known | OF_OPTIMIZERS) - {"self", "args", "kwargs"}:
            meant = f"write {MEANT[name]}" if name in MEANT else "cov_type= names a covariance"
            raise TypeError(
                f"refit and conf_int have no argument {name}=, and statsmodels has none; {meant}"
            )


def new_rows(path, X, y, by_row):
    """Rows of X and y given anew, checked as `fit` checks them; by_row: sample_weight, freq_weight,
    trials and offset, None for those that are not given.
    """
    if X is None or (y is None and path._meta.formula is None):
        raise ValueError("pass X= and y= together")
    same_index(X=X, y=y, **by_row)
    X, y, by_row = path._given(X, y, **by_row)
    if y is None:
        raise ValueError("pass X= and y= together")
    design, index = path._new_design(X)
    y, trials = shares_of(y, by_row["trials"], design.n, path._meta.loss)
    weights, counts, importance = weights_of_rows(
        by_row["sample_weight"], by_row["freq_weight"], trials, design.n
    )
    offset = by_row["offset"]
    shift = None if offset is None else given_offset(path._meta, offset, design.n)
    target = coded(y, design.n, path._meta)
    same = (
        bool(path._meta.checksum)
        and design.n == path.n
        and checksum(SimpleNamespace(design=design, response=(target,))) == path._meta.checksum
    )
    return RefitRows(design, target, weights, shift, index, same, counts, trials, importance)


def _rows(path, X, y, by_row):
    """The rows of the fit, or new ones; by_row: as of `new_rows`."""
    data, given = path._source.data, any(value is not None for value in by_row.values())
    if X is None and y is None:
        if given:
            names = ", ".join(f"{name}=" for name, value in by_row.items() if value is not None)
            raise ValueError(f"{names} go with new rows: pass X= and y= too")
        data = path._data()
        return RefitRows(
            data.design,
            data.y,
            row_weights(data) if data.class_weight is not None else data.weights,
            data.offset,
            data.index,
            True,
            data.counts,
            data.trials,
            data.importance,
        )
    rows = new_rows(path, X, y, by_row)
    if rows.same and data is not None and not given:
        return _rows(path, None, None, by_row)._replace(index=rows.index)
    if path._meta.has_offset and rows.offset is None:
        raise missing_offset(path, X, "refit")
    if rows.same and path._meta.weighted and not rows.importance and rows.counts is None:
        raise ValueError(WEIGHTED)
    if rows.same and not path._meta.weighted and rows.trials is not None:
        if not math.isclose(float(rows.trials.sum()), path._meta.trials):
            raise ValueError(
                "the fit had numbers of trials, which a path file does not hold: pass trials= as "
                "in the fit"
            )
    return rows


class RefitTable(NamedTuple):
    """The input of statsmodels."""

    endog: pd.Series  # response; successes and failures: two columns
    exog: pd.DataFrame  # columns
    weights: np.ndarray | None  # of mean 1
    counts: np.ndarray | None  # how many rows each row stands for
    offset: np.ndarray | None


def _table(path, s, rows, robust):
    """(`RefitTable`, places of its rows). robust: whether the covariance is made of scores of rows,
    so that a row that stands for several is repeated, as it is where statsmodels takes no counts.
    """
    link, keep = path._meta.traits.link, np.flatnonzero(rows.weights > 0)
    w, counts = rows.importances(keep), None if rows.counts is None else rows.counts[keep]
    if counts is not None and (counts == 1).all():
        counts = None
    A, names = exog_of(path, s, rows, keep)
    # several and ordered classes, quantiles, Huber's and squared loss, and theta that is estimated
    alone = link not in ("logit", "log") or path._meta.number("theta") is not None
    again = counts is not None and (robust or alone)
    if again and counts.sum() * A.shape[1] > REPEAT:
        if robust or not path._meta.traits.gaussian:
            raise ValueError(
                "this refit needs a row for each that freq_weight counts, which are "
                f"{counts.sum():.3g} here; "
                + (
                    "leave cov_type out, or pass 'nonrobust'"
                    if robust and not alone
                    else "refit on a sample of them with model.refit(X, y)"
                )
            )
        again = False
    if again:
        at = np.repeat(np.arange(keep.size), counts.astype(np.int64))
        A, keep, w, counts = A[at], keep[at], None if w is None else w[at], None
    index = pd.RangeIndex(len(A)) if rows.index is None or again else rows.index[keep]
    if not index.is_unique:  # statsmodels joins tables by their labels, and would multiply rows
        index = pd.RangeIndex(len(A))
    y, name = rows.y[keep], path._meta.response or "y"
    offset = None if rows.offset is None else rows.offset[keep]
    if link == "identity" and offset is not None:
        y, name = y - offset, f"{name} - offset"
    if path._meta.traits.response == "classes":
        y = (y > 0).astype(float) if y.ndim == 1 else y.argmax(axis=1)
    exog, endog = pd.DataFrame(A, columns=names, index=index), pd.Series(y, index=index, name=name)
    if rows.trials is not None:
        trials = rows.trials[keep]
        endog = pd.DataFrame({"successes": endog * trials, "failures": (1.0 - endog) * trials})
    return RefitTable(endog, exog, w, counts, offset), keep


def refit_rows(path, s, rows, **how):
    """The results of statsmodels on weighted rows; how: arguments of its `fit`. Weights of
    likelihoods whose dispersion is known make pseudo-likelihoods, whose covariance is by default
    the sandwich.
    """
    import statsmodels.api as sm

    if pseudo_likelihood(path, rows) and "scale" not in how:
        how = {"cov_type": "HC0"} | how
    robust = how.get("cov_type", "nonrobust") != "nonrobust"
    table, at = _table(path, s, rows, robust)
    how = _checked(path._loss_record(), how, path, rows, at)
    with recorded() as caught:
        try:
            results = _fitted(path, sm, s, table, how)
        except np.linalg.LinAlgError as error:
            kind = how.get("cov_type")
            if kind not in UNEQUAL:
                raise _no_residuals(table, how) from error
            # separated rows may have no leverages, or no curvature; those that are left have some
            less = {"cov_type": "nonrobust" if kind == "HC0" else "HC0"}
            try:
                results = _fitted(path, sm, s, table, how | less)
            except np.linalg.LinAlgError:  # as many coefficients as rows: an infinite dispersion
                raise _no_residuals(table, how) from error
            if limit_in(results, path, s, rows) is None:
                raise _no_residuals(table, how) from error
            if kind == "HC0":  # it follows below
                getattr(results, "_results", results).cov_type = kind
    limit = limit_in(results, path, s, rows)
    if limit is None:
        _tell(caught, path)
        return results
    # what statsmodels says besides follows from it
    if limit.left is None:
        covariance = _of_terms_left(results, limit)
    else:
        left = np.zeros(rows.design.n, dtype=bool)
        left[np.flatnonzero(rows.weights > 0)] = limit.left
        limit, covariance = _of_rows_left(path, s, limit, (table, left[at], how), results)
    take_limit(results, limit, covariance)
    warn_user(SeparationWarning(separated(path._loss_record(), limit.infinite)))
    return results


def _fitted(path, sm, s, table, how):
    """The results of statsmodels, which divides by the rows less the coefficients."""
    try:
        return fitted(path._loss_record(), sm, path, s, table, how)
    except ZeroDivisionError as error:
        raise _no_residuals(table, how) from error


def _no_residuals(table, how):
    """The error of standard errors that too few rows leave open."""
    kind = f"cov_type={how['cov_type']!r}" if "cov_type" in how else "the refit"
    return ValueError(
        "{} has no standard errors here: {} rows are too few for {} coefficients; choose a smaller "
        "k".format(kind, *table.exog.shape)
    )


def _of_terms_left(results, limit):
    """The covariance of the parameters of several, or ordered, classes by the terms that are left:
    the inverse information, or with the scores of the rows the sandwich. NaN for others.
    """
    inner = results._results
    bread = limit.covariance(len(inner.model.endog))
    if inner.cov_type == "nonrobust":
        return bread
    if inner.cov_type != "HC0":
        return np.full(bread.shape, np.nan)
    S = inner.model.score_obs(limit.params)
    return bread @ (S.T @ S) @ bread


def _of_rows_left(path, s, limit, given, results):
    """(the `RefitLimit`, the covariance of its parameters) by the refit of the rows that are left
    on what they determine.

    given: the `RefitTable`, which of its rows are left, the arguments for statsmodels.
    """
    import statsmodels.api as sm

    table, left, how = given
    (m, v), size = limit.root.shape, len(results.params)
    if not v:
        limit = limit if size == m else limit.with_number(np.asarray(results.params)[-1])
        return limit, np.full((size, size), np.nan)
    T = np.hstack([limit.root, limit.open])
    at = np.linalg.solve(T, limit.params)
    first = int(path._meta.intercept)
    start = s._replace(intercept=at[0] if first else s.intercept, beta=at[first:v])
    exog = table.exog.to_numpy()[left] @ limit.root
    part = RefitTable(
        table.endog[left],
        pd.DataFrame(exog, index=table.endog.index[left]),
        *(None if one is None else one[left] for one in table[2:]),
    )
    how = {name: value for name, value in how.items() if name != "start_params"}
    if "cov_kwds" in how:
        by_row = {name: how["cov_kwds"][name] for name in LABELS if name in how["cov_kwds"]}
        by_row = {name: np.asarray(value)[left] for name, value in by_row.items()}
        how["cov_kwds"] = how["cov_kwds"] | by_row
    with recorded():
        found = _fitted(path, sm, start, part, how)
    inner, of_part = results._results, found._results
    inner.cov_type, inner.cov_kwds = of_part.cov_type, of_part.cov_kwds
    at[:v] = np.asarray(found.params)[:v]
    limit = limit._replace(params=T @ at)
    if size > m:
        limit = limit.with_number(np.asarray(found.params)[-1])
    if not np.isfinite(found.bse).any():  # the information has no inverse
        return limit, np.full((size, size), np.nan)
    known = np.isfinite(found.bse)  # theta may have none
    root, covariance = limit.root[:, known], np.asarray(found.cov_params())[known][:, known]
    covariance = root @ covariance @ root.T
    unknown = (limit.root[:, ~known] != 0.0).any(axis=1)
    return limit, np.where(unknown[:, None] | unknown, np.nan, covariance)


def _tell(caught, path):
    """Warn of what statsmodels and `fitted` have warned of, of a lack of convergence in our
    words.
    """
    from statsmodels.tools import sm_exceptions

    about = (
        sm_exceptions.ConvergenceWarning,
        sm_exceptions.IterationLimitWarning,
        sm_exceptions.HessianInversionWarning,
    )
    again(w for w in caught if not issubclass(w.category, about))
    said = list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, about)))
    if not said:
        return
    warn_user(
        ConvergenceWarning(
            f"the refit of loss={path._meta.loss!r} did not converge, so its coefficients and "
            f"standard errors may be off (statsmodels: {'; '.join(said)}); allow more "
            "iterations, or choose a smaller k"
        )
    )


@singledispatch
def fitted(loss, sm, path, s, table, how):
    """The results of statsmodels for a loss; sm: `statsmodels.api`. By default of a GLM of its
    `glm_family`.
    """
    model = sm.GLM(
        table.endog,
        table.exog,
        family=glm_family(loss, sm),
        offset=table.offset,
        **weighting(table),
    )
    if loss.traits.dispersion and model.df_resid < 1 and how.get("scale") is None:
        raise _no_residuals(table, how)
    return _fitted_glm(model, {"tol": 1e-12, **how}, _start(path, s))


def _start(path, s):
    """The coefficients of a solution as parameters of statsmodels."""
    return np.concatenate([[s.intercept], s.beta]) if path._meta.intercept else s.beta


def weighting(table):
    """The weights of a `RefitTable` as GLM takes them."""
    given = {"var_weights": table.weights, "freq_weights": table.counts}
    return {name: value for name, value in given.items() if value is not None}


@fitted.register(Squared)
def squared_fitted(loss, sm, path, s, table, how):
    if table.counts is not None:  # too many to repeat the rows
        return sm.GLM(table.endog, table.exog, **weighting(table)).fit(**{"use_t": True, **how})
    if table.weights is None:
        model = sm.OLS(table.endog, table.exog)
    else:
        model = sm.WLS(table.endog, table.exog, weights=table.weights)
    results, kind = model.fit(**how), how.get("cov_type")
    if kind == "HC1" and results.df_resid < 1:
        raise _no_residuals(table, how)
    if kind in ("HC2", "HC3"):
        checked_leverages(results, kind)
    return results


@fitted.register(Huber)
def huber_fitted(loss, sm, path, s, table, how):
    if table.weights is not None:
        raise ValueError(
            "statsmodels has no weighted robust regression: refit of loss='huber' takes no "
            "sample_weight, only freq_weight; refit with model.refit(X, y) on unweighted rows"
        )
    return _robust(sm, path, s, table.endog, table.exog, how)


@singledispatch
def glm_family(loss, sm):
    """The family of statsmodels' GLM that a loss belongs to."""
    raise ValueError(
        f"statsmodels has no regression for loss={name_of(loss)!r}; fit with a loss of the package "
        "for standard errors"
    )


@glm_family.register(Binomial)
@glm_family.register(Logistic)
def binomial_glm_family(loss, sm):
    return sm.families.Binomial()


@glm_family.register(Poisson)
def poisson_glm_family(loss, sm):
    return sm.families.Poisson()


@glm_family.register(Gamma)
def gamma_glm_family(loss, sm):
    return sm.families.Gamma(sm.families.links.Log())


@glm_family.register(Tweedie)
def tweedie_glm_family(loss, sm):
    return sm.families.Tweedie(sm.families.links.Log(), var_power=loss.power)


@fitted.register(NegativeBinomial)
def negative_binomial_fitted(loss, sm, path, s, table, how):
    """NB2 with theta = 1 / alpha estimated anew."""
    if how.get("scale") is not None:
        raise ValueError(
            f"scale={how['scale']!r}: the refit of loss='negative_binomial' estimates theta in its "
            "place; leave scale out"
        )
    start, model = np.append(_start(path, s), 1.0 / loss.theta), _negative_binomial(sm, table)
    how = {"start_params": start, "disp": 0, "maxiter": 1000} | how
    if "method" in how:
        return model.fit(**how)
    with recorded():  # the Newton steps that follow say whether it converged
        near = model.fit(method="bfgs", **how).params.to_numpy()
    if near[-1] * np.mean(table.endog) > POISSON_LIMIT:
        with recorded() as caught:
            results = model.fit(method="newton", **how | {"start_params": near})
        if results.params.to_numpy()[-1] > 0.0:
            again(caught)
            return results
    return _as_poisson(sm, model, table, how, near[:-1])


def _as_poisson(sm, model, table, how, near):
    """Counts whose variance is that of a Poisson distribution, or less: the likelihood is flat in
    alpha, or largest at 0, and Newton steps would make alpha negative.
    """
    with recorded():
        counts = sm.GLM(
            table.endog,
            table.exog,
            family=sm.families.Poisson(),
            offset=table.offset,
            **weighting(table),
        )
        kind = {name: how[name] for name in ("cov_type", "cov_kwds") if name in how}
        poisson = _fitted_glm(counts, {"tol": 1e-12, **kind}, near)
        start = np.append(poisson.params, 1e-8)
        results = model.fit(method="bfgs", **how | {"start_params": start})
        if not _has_variances(results):  # rounding hides the curvature in alpha
            covariance = np.full((len(start), len(start)), np.nan)
            covariance[:-1, :-1] = poisson.cov_params()  # uncorrelated with alpha
            take_covariance(results, covariance)
        return results


def _has_variances(results):
    """Whether the covariance of statsmodels has a variance of every parameter. (`bse` would be kept
    when it is asked for, whatever the covariance becomes.)
    """
    try:
        return bool((np.diagonal(results.cov_params()) >= 0.0).all())  # NaN is not
    except ValueError:  # the Hessian has no inverse
        return False


def _negative_binomial(sm, table):
    """The model of statsmodels, or its weighted form."""
    if table.weights is None:
        return sm.NegativeBinomial(table.endog, table.exog, offset=table.offset)
    from .weighted_regressions import WeightedNegativeBinomial

    return WeightedNegativeBinomial(
        table.endog, table.exog, offset=table.offset, row_weights=table.weights
    )


@fitted.register(Quantile)
def quantile_fitted(loss, sm, path, s, table, how):
    """The check loss as it is: QuantReg, with the coefficients of its linear program, which its
    iterations come near to. They may end in a cycle, which then says nothing. A row times a weight
    has its check loss times the weight, which is how R's `rq` takes weights.
    """
    odd = [name for name in ("cov_type", "cov_kwds", "scale") if name in how]
    if odd:
        raise ValueError(
            f"the refit of loss='quantile' takes no {odd[0]}; leave it out, or pass vcov='iid' or "
            "'robust' as statsmodels' QuantReg has it"
        )
    from statsmodels.tools.sm_exceptions import ConvergenceWarning as Cycle
    from statsmodels.tools.sm_exceptions import IterationLimitWarning

    endog, exog = table.endog, table.exog
    if table.weights is not None:
        endog, exog = endog * table.weights, exog.mul(table.weights, axis=0)
    model = sm.QuantReg(endog, exog)
    with recorded() as caught:
        results = model.fit(q=loss.quantile, **{**dict(max_iter=10000, p_tol=1e-9), **how})
    exact = _quantile_coefficients(exog, endog, loss.quantile)
    for w in caught:
        if exact is None or not issubclass(w.category, (Cycle, IterationLimitWarning)):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if exact is not None:
        results._results.params = exact
    return results


def _quantile_coefficients(Z, y, quantile):
    """Coefficients (k,) of least check loss, None where the linear program has none:
    maximize y'a where Z'a = (1 - quantile) Z'1 and 0 <= a <= 1.

    References
    ----------
    Koenker & d'Orey, Applied Statistics 36 (1987), for the dual program.
    """
    from scipy.optimize import linprog

    A = np.asarray(Z, dtype=float).T
    found = linprog(
        -np.asarray(y, dtype=float),
        A_eq=A,
        b_eq=(1.0 - quantile) * A.sum(axis=1),
        bounds=(0.0, 1.0),
        method="highs",
    )
    return -found.eqlin.marginals if found.status == 0 else None


@fitted.register(Multinomial)
@fitted.register(Ordinal)
def multinomial_fitted(loss, sm, path, s, table, how):
    return (fit_ordered if path._meta.ordered else fit_classes)(path, s, table, how)


def _fitted_glm(model, how, near):
    """The fit of a GLM, its warning of separation in our words; near: parameters from which it
    begins where its own beginning leads nowhere.
    """
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    kind = how.get("cov_type")
    unequal = kind in UNEQUAL[1:]  # all of which are HC0 in statsmodels
    with recorded() as caught:
        how = how | ({"cov_type": "HC0"} if unequal else {})
        try:
            results = model.fit(**how)
        except ValueError:  # weights beyond all numbers
            caught.clear()
            results = model.fit(**{"start_params": near, **how})
    if unequal:
        take_unequal_variances(results, kind)
    apart = [w for w in caught if issubclass(w.category, PerfectSeparationWarning)]
    if not apart:
        again(caught)
    else:
        text = (
            "without shrinkage these features separate the classes (or fit perfectly): "
            "coefficients and standard errors of the refit are not finite; choose a smaller k"
        )
        warnings.warn(SeparationWarning(text), stacklevel=5)
    return results


def _checked(loss, how, path, rows, at):
    """The arguments for statsmodels: labels of clusters at the rows used, covariances as the model
    takes them.
    """
    how = dict(how)
    kwds = dict(how.get("cov_kwds") or {})
    for name in ("groups", "time"):
        if name in kwds:
            kwds[name] = labels_by_row(name, path, rows)[at]
    if str(how.get("cov_type")).startswith("cluster") and "groups" in kwds:
        refuse_one_cluster(kwds["groups"])
    if kwds:
        how["cov_kwds"] = kwds
    return with_covariance(loss, how)


@singledispatch
def with_covariance(loss, how):
    """The arguments with the covariance that they ask for as the regression of a loss takes it, by
    default a generalized linear model.
    """
    return _named(loss, how)


def _named(loss, how, *, linear=True, squared=False):
    """The arguments with statsmodels' name of the covariance, see `checked_covariance`."""
    kind, kwds = how.get("cov_type"), how.get("cov_kwds") or {}
    name = checked_covariance(kind, kwds, name_of(loss), linear=linear, squared=squared)
    return how if kind is None else how | {"cov_type": name}


@with_covariance.register(NegativeBinomial)
@with_covariance.register(Ordinal)
def likelihood_with_covariance(loss, how):
    return _named(loss, how, linear=False)


@with_covariance.register(Quantile)
@with_covariance.register(Multinomial)
def covariance_as_given(loss, how):
    return how


@with_covariance.register(Squared)
def squared_with_covariance(loss, how):
    how = _named(loss, how, squared=True)
    kind, scale = how.get("cov_type"), how.get("scale")
    robust = kind not in (None, "nonrobust")
    if scale is None:
        return {"use_t": True} | how if robust else how  # by the clusters less one, if any
    if isinstance(scale, str) or robust:
        raise ValueError(
            f"scale={scale!r} with cov_type={kind!r}: the refit of loss='squared' takes a number, "
            "a known error variance, and no other cov_type with it"
        )
    del how["scale"]
    return how | {"cov_type": "fixed scale", "cov_kwds": {"scale": float(scale)}}


@with_covariance.register(Huber)
def huber_with_covariance(loss, how):
    if how.get("cov_kwds") or how.get("scale") is not None:
        raise ValueError(
            "the refit of loss='huber' takes cov_type 'H1', 'H2' or 'H3' and neither cov_kwds nor "
            "scale; fit with loss='squared' for clustered standard errors"
        )
    kind = how.pop("cov_type", None)
    if kind is None:
        return how
    if str(kind).lower() not in ROBUST:
        raise ValueError(
            f"cov_type={kind!r}: statsmodels' robust regression has 'H1', 'H2' and 'H3'; fit with "
            "loss='squared' for other standard errors"
        )
    return how | {"cov": ROBUST[str(kind).lower()]}


def _robust(sm, path, s, endog, exog, how):
    """RLM whose threshold is the fit's delta in units of y: HuberT(delta / scale) at a fixed scale,
    the MAD of the path's residuals.
    """
    start = _start(path, s)
    residual = endog.to_numpy() - exog.to_numpy() @ start
    scale = float(sm.robust.scale.mad(residual, center=0.0))
    if not scale:  # not known to statsmodels before 0.15, which has the MAD of the start without it
        scale = float(path._meta.loss_parameter)
        how = {"start_scale": scale, **how}
    model = sm.RLM(endog, exog, M=sm.robust.norms.HuberT(t=path._meta.loss_parameter / scale))
    return model.fit(
        **{
            "maxiter": 1000,
            "tol": 1e-10,
            "conv": "coefs",
            "start_params": start,
            "update_scale": False,
            **how,
        }
    )
