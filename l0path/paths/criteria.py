"""Information criteria over a path: `Path.score_table` and `Path.select`.

All criteria are in log-likelihood form, so that they agree with statsmodels where it has them. With
n = n_eff (the rows of positive weight, each as often as `freq_weight` says; of loss="cox" the
events), L = mean loss of the table, d = nonzero coefficients + intercept, s = nonzero coefficients
that were chosen (not forced), q = p or `p_total`, less the forced columns (constant columns count,
forced or not, and excluded ones too):

    loglik   squared   -n/2 (log(2 pi RSS/n) + 1), RSS = 2 n L
             logistic  -n L;    poisson   -n (L + mean log y!)
             gamma, tweedie, quantile   with the dispersion or scale of maximum likelihood, which
                       d counts below (`problem.families`)
    aic      -2 loglik + 2 d                                     Akaike (1974)
    aicc     aic + 2 m (m + 1) / (n - m - 1), inf for n <= m + 1 Hurvich & Tsai (1989)
    bic      -2 loglik + d log n                                 Schwarz (1978)
    ebic     bic + 2 gamma log C(q, s)                           Chen & Chen (2008), eq. (2)
    gic      -2 loglik + d log(log n) log q                      Fan & Tang (2013), section 3
    mbic     bic + 2 s log(q/4 - 1), the log at least 0          Bogdan, Ghosh & Doerge (2004)
    cp       RSS / sigma2 - n + 2 d                              Mallows (1973)

The loglik of the squared loss is the Gaussian profile likelihood with sigma^2 = RSS/n. In aicc m is
d, plus one for sigma under the squared loss. In ebic gamma is 1 by default, and mbic expects 4
true columns. With groups= s and q count groups in ebic, gic and mbic (the number of models of a
size is C(q, s)), while d counts coefficients. A term that changes no fit, such as a coarser factor
beside a finer one, adds nothing to d and one to s: where s is above q / 2, C(q, s) falls with s,
and ebic with it, so that ebic may choose the model with such a term. That is the definition.

With r responses the rows of all of them count, n = r n_eff, with one variance sigma^2 = RSS/n for
all; y_r times the root of its weight v_r has it, which adds n_eff / 2 sum_r log v_r to the loglik.
There are r intercepts.

They treat the support as fixed before the data were seen. The count d is right for unpenalized
coefficients. With lambda1 or lambda2 > 0 a model has fewer effective degrees of freedom than d, so
that the criteria are conservative: `cv_fit` is the better judge there.

`sample_weight` w, divided by its mean over the rows of positive weight, divides the variance of a
row under the squared loss, so that the loglik has sum_i log(w_i) / 2 more, as that of R's
lm(weights=). Of the other losses w multiplies the loss of a row. Where these have no dispersion
that is estimated (all but gamma, tweedie and quantile), that makes a pseudo-likelihood, and so do
class weights: the criteria compare models by it, while n remains the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import linalg

from ..core.arguments import is_whole
from ..core.describing import described_by
from ..core.printed import Table
from ..core.status import Optimality
from ..problem.losses import OWN_LOSSES
from ..problem.problem import pose
from ..problem.responses import log_likelihood
from ..problem.several import parts, predictors
from ..problem.solution import present
from .path import RULES, Path

MOST_TERMS = 20  # up to which all sets of terms are compared by a criterion
PERFECT = 1e-13  # a loss at most this share of the null loss is zero up to rounding
FORMULAS = {
    "aic": "-2 * loglik + 2 * df",
    "aicc": "aic + 2 * m * (m + 1) / (n - m - 1)",
    "bic": "-2 * loglik + df * log(n)",
    "ebic": "bic + 2 * ebic_gamma * log(comb(p, chosen))",
    "gic": "-2 * loglik + df * log(log(n)) * log(p)",
    "mbic": "bic + 2 * chosen * log(p / 4 - 1)",
    "cp": "rss / sigma2 - n + 2 * df",
}  # log(log(n)) and log(p / 4 - 1) at least 0
WIDEST = 2000  # columns up to which the full model is fitted for the variance of Cp


@described_by(Path.score_table)
def score_table(
    self: Path,
    p_total: int | None = None,
    sigma2: float | None = None,
    *,
    ebic_gamma: float = 1.0,
    separated: bool = False,
) -> pd.DataFrame:
    path, meta = self, self._meta
    _has_likelihood(meta)
    q = competing(meta, p_total)
    if not isinstance(ebic_gamma, (int, float, np.number)) or not 0 <= ebic_gamma <= 1:
        raise ValueError(f"ebic_gamma={ebic_gamma!r} must be a number in [0, 1]")
    chosen = [meta.in_use(s).size for s in path._solutions]
    out = _criteria(path, q, np.array(chosen), ebic_gamma)
    squared = meta.traits.gaussian
    if squared:
        sigma2 = noise_variance(path) if sigma2 is None else _positive(sigma2)
        out |= _squared_criteria(path, out["df"], sigma2)
    table = Table(out, index=pd.RangeIndex(len(path)))
    if not separated:
        apart = np.array([s.separated for s in path._solutions], dtype=bool)
        table.loc[apart, table.columns != "df"] = np.nan
    table.attrs = {"n": float(meta.n_eff), "p": q, "ebic_gamma": float(ebic_gamma)} | (
        {"sigma2": float(sigma2)} if squared else {}
    )
    if meta.pseudo:
        table.attrs["likelihood"] = "pseudo-likelihood by sample or class weights of mean 1"
    table.attrs["formulas"] = {name: text for name, text in FORMULAS.items() if name in table}
    return table


def with_rows(path, solutions):
    """The path with these solutions as further rows, behind its own; of a path with held-out
    scores, which further rows have not, the path alone.
    """
    path = getattr(path, "_path", path)
    rows, record = [*path._solutions, *solutions], path.rounds.to_dict("records")
    return type(path)(
        path._meta, rows, path.status, path.notes, record, path._source, end=path._end
    )


def _same(value):
    """The difference from a value of a criterion up to which another one is the same."""
    return 1e-10 * max(abs(value), 1.0)


def observations(meta):
    """The n of the criteria: numbers of y that count."""
    return meta.n_eff * len(meta.responses) if meta.several else meta.n_eff


def _share(meta):
    """What the loss of a path is multiplied by to be the mean over `observations`: weights of
    responses divide variances under the squared loss, and are importance of mean 1 elsewhere.
    """
    if not meta.several:
        return 1.0
    total = len(meta.responses) if meta.traits.gaussian else float(meta.response_weights.sum())
    return 1.0 / total


def intercepts(meta):
    """Number of intercepts of a model."""
    q = predictors(meta.traits, meta.responses)
    return len(meta.classes) - 1 if meta.ordered else meta.intercept * q


def _free_of_classes(meta, s):
    """Number of free coefficients of a solution of several classes: one less than classes for each
    column, or where lambda1, or bounds of log odds against a baseline, have set some to 0 those
    that are left.
    """
    q = predictors(meta.traits, meta.responses)
    if not s.lambda1 and meta.baseline is None:
        return np.count_nonzero(present(s.beta)) * q
    return np.minimum(np.count_nonzero(s.beta, axis=1), q).sum()


def _criteria(path, q, chosen, ebic_gamma):
    """{name: (m,)} of the log-likelihood and the criteria that every likelihood has."""
    meta, n, squared = path._meta, observations(path._meta), path._meta.traits.gaussian
    loss = np.array([s.loss for s in path._solutions]) * _share(meta)
    df = np.array([s.n_nonzero for s in path._solutions]) + float(intercepts(meta))
    if meta.traits.by_class:
        df = np.array([_free_of_classes(meta, s) for s in path._solutions])
        df = df + float(intercepts(meta))
    weighed = np.log(meta.response_weights).sum() if squared and meta.responses else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        loglik = _log_likelihood(path)(loss) + 0.5 * meta.n_eff * weighed
        d = df + meta.traits.dispersion
        m = d + squared
        residual_df = n - m - 1.0
        aic, bic = 2.0 * d - 2.0 * loglik, math.log(n) * d - 2.0 * loglik
        return {
            "loglik": loglik,
            "df": d.astype(np.int64),
            "aic": aic,
            "aicc": np.where(
                residual_df > 0,
                aic + 2.0 * m * (m + 1.0) / np.where(residual_df > 0, residual_df, 1.0),
                np.inf,
            ),
            "bic": bic,
            "ebic": bic + 2.0 * ebic_gamma * log_binomial(q, chosen),
            "gic": max(math.log(max(math.log(n), 1.0)), 0.0) * math.log(max(q, 1)) * d
            - 2.0 * loglik,
            "mbic": bic + 2.0 * chosen * math.log(max(q / 4.0 - 1.0, 1.0)),
        }


def criteria_of_sizes(path, name, chosen, coefficients, *, p_total=None, ebic_gamma=1.0):
    """What a criterion adds to -2 loglik, for Cp to RSS / sigma2.

    Parameters
    ----------
    path : Path
        Whose data the models are of.
    name : str
        The criterion.
    chosen, coefficients : ndarray of shape (m,)
        Of each model the number of columns, or groups, that were chosen, and of columns in it,
        those that are always in among them.
    p_total, ebic_gamma : as in Path.score_table

    Returns
    -------
    ndarray of shape (m,)
    """
    meta = path._meta
    _has_likelihood(meta)
    r = parts(meta.responses)
    if name == "cp":
        return 2.0 * (r * coefficients + float(intercepts(meta))) - observations(meta)
    null, shape = meta.null_loss, () if meta.responses is None else (r,)
    models = [
        SimpleNamespace(loss=null, n_nonzero=r * d, lambda1=0.0, beta=np.ones((d, *shape)))
        for d in map(int, coefficients)
    ]
    like = SimpleNamespace(_meta=path._meta, _solutions=models, _loss_record=path._loss_record)
    found = _criteria(like, competing(meta, p_total), chosen, ebic_gamma)
    return found[name] + 2.0 * found["loglik"]


def _log_likelihood(path):
    """The log-likelihood as a function of the mean loss."""
    meta = path._meta
    counted = observations(meta) if meta.traits.gaussian else meta.likelihood_size
    if meta.several and not meta.traits.gaussian:
        counted *= len(meta.responses)
    loss = None if meta.traits.coupled else path._loss_record()
    return log_likelihood(loss, meta.log_constant, counted)


def minus_twice_log_likelihood(path):
    """-2 loglik as a function of the mean loss, of an array of them."""
    likelihood, share = _log_likelihood(path), _share(path._meta)
    return lambda mean_loss: -2.0 * likelihood(share * np.asarray(mean_loss))


def _squared_criteria(path, df, sigma2):
    """{name: (m,)} of what a squared loss has besides; sigma2: the noise variance."""
    meta, n = path._meta, observations(path._meta)
    rss = 2.0 * meta.n_eff * np.array([s.loss for s in path._solutions])
    null = 2.0 * meta.null_loss * meta.n_eff / max(n - intercepts(meta), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = rss / np.where(n > df, n - df, 1.0) / null
        return {
            "rss": rss,
            "r2_adjusted": np.where(n > df, 1.0 - share, np.nan),
            "cp": rss / sigma2 - n + 2.0 * df,
        }


@described_by(Path.select)
def select(
    self: Path,
    rule: str,
    *,
    rows: Sequence[int] | None = None,
    p_total: int | None = None,
    sigma2: float | None = None,
    ebic_gamma: float = 1.0,
    separated: bool = False,
) -> int:
    options = {"p_total": p_total, "sigma2": sigma2, "ebic_gamma": ebic_gamma}
    if rows is not None or separated:
        return best_row(self, rule, rows, separated=separated, **options)
    path, row, _ = best_model(self, rule, **options)
    if path is not self:
        model = path.model(index=row)
        name = rule.lower()
        raise LookupError(
            f"rule={rule!r}: the best model, of the terms {', '.join(map(str, model.groups))}, is "
            "no row of path.table, which has the best model of each number of terms; "
            f"path.model({name!r}) gives it, and path.select({name!r}, rows=range(len(path))) the "
            "best of the rows"
        )
    return row


def best_model(path, rule, **options):
    """The best model by a criterion.

    Parameters
    ----------
    path : Path
        Its rows have the best model of each size. Where terms have several columns, all sets of
        terms are compared, too.
    rule : str
        The criterion.
    **options : as in Path.score_table
        p_total, sigma2 and ebic_gamma.

    Returns
    -------
    tuple
        (path, row, what was compared): the path itself, or one with the best model as a further
        row; the text is empty where the rows of a path are all that can be best. It also says where
        larger sizes than those of the path might be better.
    """
    try:
        row, missing = best_row(path, rule, None, **options), None
    except LookupError as error:
        row, missing = None, error
    name, said, all_sets = rule.lower(), "", False
    if path._meta.unlike_terms and len(path):
        found, why = path._best_by(
            [name], {"p_total": None, "sigma2": None, "ebic_gamma": 1.0} | options
        )
        all_sets = not why
        sets = "sets of terms" + (" that keep the hierarchy" if path._meta.heredity else "")
        said = f"the best by {name} of all {sets}"
        if why:
            said = f"the best by {name} of the rows of the path, not of all {sets}: {why}"
        if name in found:
            value, s = found[name]
            own = math.inf
            if row is not None:
                own = score_table(path, **options)[name].iloc[row]
            if not own <= value + _same(value):
                if why:
                    said = f"the best by {name} of some {sets}: {why}"
                return with_rows(path, [s]), len(path), said
    if row is None:
        raise missing
    said = said or _limits_of_rows(path, name)
    larger = "" if all_sets else of_larger_sizes(path, row, name)
    return path, row, "; ".join(filter(None, (said, larger, _perfect_rows(path))))


def _perfect_rows(path):
    """A text about rows that fit perfectly, which no criterion takes; "" where there are none."""
    perfect = [f"k = {s.k}" for s in path._solutions if _is_perfect(path, s)]
    if not perfect:
        return ""
    takes = "fits perfectly and takes" if len(perfect) == 1 else "fit perfectly and take"
    return f"{', '.join(perfect)} {takes} no part in criteria"


def _limits_of_rows(path, name):
    """A text about what the choice by a criterion among the rows of a path of many features was
    made of; "" where the rows are proven to hold the best of all sets, and for few features.
    """
    meta = path._meta
    free = int((np.isfinite(meta.units.factor) & (meta.units.factor > 0)).sum())
    if free <= MOST_TERMS:
        return ""
    sizes = {s.k for s in path._solutions}
    largest = max(sizes)
    proven = meta.grid == "support" and len(sizes) == largest + 1 == len(path)
    if not proven or any(s.optimality != Optimality.GLOBAL for s in path._solutions):
        return (
            f"the best by {name} of the rows of the path, not of all sets of features: there are "
            f"{free} features, more than {MOST_TERMS}, and not every row is proven to be the best "
            "of its size"
        )
    return "" if largest == free else f"the best by {name} of all sets of up to {largest} features"


def of_larger_sizes(path, row, rule):
    """A text where a criterion takes the largest size of the path and the data allow larger ones;
    "" elsewhere.
    """
    s = path._solutions[row]
    if not path._larger_sizes(s):
        return ""
    return (
        f"{rule.lower()} takes the largest size tried, k = {s.k}, and larger ones may be better; "
        "raise max_k="
    )


def best_row(path, rule, rows=None, *, p_total=None, sigma2=None, ebic_gamma=1.0, separated=False):
    """`Path.select` among rows of a path."""
    name = rule.lower() if isinstance(rule, str) else rule
    if name not in RULES:
        held_out = name in ("min", "sparse", "1se")
        hint = "; 'min', 'sparse' and '1se' are choices of l0path.cv_fit(...)" if held_out else ""
        raise ValueError(
            f"rule={rule!r} is not known; choose one of {', '.join(RULES)}, a size (5, or k=5), or "
            f"a callable taking the path{hint}"
        )
    if name == "cp" and not path._meta.traits.gaussian:
        raise ValueError(
            f"rule='cp' is defined for the squared loss, this path has loss={path._meta.loss!r}; "
            "use 'aic', 'bic' or 'ebic'"
        )
    if name != "cp":
        sigma2 = 1.0  # not looked at, so the full model need not be fitted
    table = score_table(path, p_total, sigma2, ebic_gamma=ebic_gamma, separated=separated)
    if name == "cp" and not table.attrs["sigma2"] > 0:
        raise ValueError(
            "rule='cp' needs a noise variance: the data are not kept with a loaded path, or the "
            "largest model fits perfectly; pass sigma2="
        )
    rows = range(len(path)) if rows is None else rows
    candidates = [i for i in rows if usable(path, i, separated)]
    if not candidates:
        raise LookupError(
            f"rule={rule!r} finds no model to choose: every one is separated, perfect or has as "
            "many coefficients as rows; use l0path.cv_fit, or add a little shrinkage "
            "(lambda2=1e-3)"
        )
    values = table[name].to_numpy()
    best = min(values[i] for i in candidates)
    tied = (
        [i for i in candidates if values[i] <= best + _same(best)]
        if math.isfinite(best)
        else candidates
    )
    return min(tied, key=lambda i: (path._solutions[i].n_nonzero, i))


def usable(path, i, separated=False):
    """Whether a criterion may choose row i: not separated (unless asked), not perfect, fewer
    coefficients than rows.
    """
    s, meta = path._solutions[i], path._meta
    unsaturated = np.count_nonzero(present(s.beta)) + meta.intercept < meta.n_eff
    return not _is_perfect(path, s) and unsaturated and (separated or not s.separated)


def _is_perfect(path, s):
    """Whether a solution has no loss, up to rounding, where a likelihood is infinite there."""
    meta = path._meta
    scaled = (meta.traits.gaussian or meta.traits.dispersion) and np.isfinite(meta.floor)
    return bool(scaled and s.loss - meta.floor <= PERFECT * (meta.null_loss - meta.floor))


def log_binomial(q, s):
    """Log of the number of supports of size s among q columns, log C(q, s); s (m,)."""
    from scipy.special import (
        gammaln,
    )  # scipy.special would add a tenth to the package's import time

    return gammaln(q + 1.0) - gammaln(s + 1.0) - gammaln(q - s + 1.0)


def noise_variance(path):
    """RSS / (n - rank) of the regression on all columns if n > p + 1, else of the model of the path
    with most nonzeros; NaN without data or degrees of freedom.
    """
    meta, n = path._meta, path._meta.n_eff
    r = parts(meta.responses)
    if n > meta.p + 1 and meta.p <= WIDEST:
        full = next(
            (
                s
                for s in path._solutions
                if s.n_nonzero == meta.p * r and s.lambda1 == s.lambda2 == 0
            ),
            None,
        )
        if full is not None:
            return 2.0 * n * full.loss / (n - meta.p - meta.intercept) / r
        extra = path._source.extra
        if "sigma2" not in extra and path._source.data is not None:
            extra["sigma2"] = _full_variance(path._source.data)
        return extra.get("sigma2", math.nan)
    largest = max(
        (s for i, s in enumerate(path._solutions) if usable(path, i)),
        key=lambda s: (s.n_nonzero, -s.loss),
        default=None,
    )
    return (
        math.nan
        if largest is None
        else 2.0 * n * largest.loss / (n * r - largest.n_nonzero - meta.intercept * r)
    )


def _full_variance(data):
    """RSS / (n - rank) of weighted least squares on all usable columns, from their Gram matrix: p^2
    numbers, X read in blocks.
    """
    problem = pose(data)
    J = np.flatnonzero(problem.usable)
    gram = np.empty((J.size, J.size))
    step = max(1, (1 << 23) // max(problem.X.n, 1))
    for start in range(0, J.size, step):
        block = J[start : start + step]
        gram[:, start : start + step] = problem.X.correlate(
            problem.weights[:, None] * problem.X.columns(block)
        )[J]
    # SciPy before 1.14 has no eigenvalues of a matrix without entries
    values, vectors = linalg.eigh(gram) if J.size else (np.zeros(0), gram)
    keep = values > 1e-10 * values.max(initial=0.0)
    y = problem.y.reshape(problem.X.n, -1)
    along = (vectors.T @ problem.X.correlate(problem.weights[:, None] * y)[J])[keep]
    residual = np.sum(problem.weights @ y**2) - np.sum(along**2 / values[keep, None])
    residual_df = problem.n_eff - keep.sum() - data.intercept
    residual_df *= parts(data.responses)
    return float(problem.n_eff * max(residual, 0.0) / residual_df) if residual_df > 0 else math.nan


def _has_likelihood(meta):
    if meta.traits.likelihood:
        return
    loss = meta.loss
    why = (
        "is your own"
        if meta.loss in OWN_LOSSES
        else "is a margin loss"
        if not meta.traits.link
        else f"has a scale ({meta.traits.pilot or 'of its own'}) that no likelihood estimates"
    )
    raise ValueError(
        f"loss={loss!r} {why}, so it has no log-likelihood and no information criterion; choose "
        "the size by l0path.cv_fit(...)"
    )


def competing(meta, p_total):
    """The number of columns, or groups, that compete."""
    return _columns(meta, p_total) if meta.groups is None else _groups(meta, p_total)


def _columns(meta, p_total):
    """Columns that compete: p or p_total, less the forced ones that are not constant."""
    if p_total is None:
        p_total = meta.p
    if not is_whole(p_total) or p_total < meta.p:
        raise ValueError(
            f"p_total={p_total!r} must be a whole number, at least the {meta.p} columns of X"
        )
    return int(p_total) - len(meta.forced)


def _groups(meta, p_total):
    """Groups that compete, the forced ones left out."""
    every, forced = len(meta.groups.labels), int((meta.groups.factor == 0).sum())
    if p_total is None:
        return every - forced
    if not is_whole(p_total) or p_total < every:
        raise ValueError(
            f"p_total={p_total!r} must be a whole number, with groups= at least the number of "
            f"groups, {every}"
        )
    return int(p_total) - forced


def _positive(sigma2):
    if not isinstance(sigma2, (int, float, np.number)) or not (
        math.isfinite(sigma2) and sigma2 > 0
    ):
        raise ValueError(f"sigma2={sigma2!r} must be a positive number, the noise variance")
    return float(sigma2)
