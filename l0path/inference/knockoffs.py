"""The knockoff filter: every column competes with a knockoff of itself on the path, and the columns
that win by more than chance allows are selected.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import threads
from ..core.hints import hands_on
from ..core.progress import Bar
from ..core.status import End
from ..core.types import Matrix, Seed
from ..core.warnings import warn_user
from ..cross_validation.processes import draw_seed
from ..designs.copies import equal_columns
from ..engine.registry import refuse
from ..engine.request import ARGUMENTS
from ..engine.run import run as fit_request
from ..errors import ConvergenceWarning, refuse_masked
from ..problem.losses import Squared, name_of
from ..problem.problem import copies_of, pose
from .competition import importance, pair_up, threshold_of
from .gaussian_knockoffs import METHODS, fixed_knockoffs, model_knockoffs
from .rows import moving, resolve, share
from .showing import ShowingCompetition

KNOCKOFF_KINDS, STATISTICS = ("auto", "fixed", "model"), ("entry", "coefficient")
# entries (2 GB) of the columns with their knockoffs, and of the covariance, at most
MOST_ENTRIES = 1 << 28


class KnockoffFilter(ShowingCompetition):
    """Result of `knockoff_filter`.

    Attributes
    ----------
    selected : list of str
        Names of the features with statistic >= threshold, the largest first; empty if the threshold
        is infinite.
    statistic : Series
        W_j over all features; 0 for features that do not compete.
    threshold : float
        The least t > 0 at which the estimated false discovery rate is at most `fdr`; inf if there
        is none.
    fdr : float
        The level.
    plus : bool
        Whether the bound is that of the knockoff+ filter.
    kind : str
        "fixed" or "model".
    s : Series
        How far the knockoffs are from their features, over all features, in units of their
        variance; 0 for features that do not compete.
    knockoffs : ndarray of shape (n, p)
        The knockoffs. A feature that does not compete is its own knockoff.
    path : Path
        The path over the features and their knockoffs ("~name").
    random_state : int or None
        The seed in use.
    status : str
        "complete" or what stopped the path.
    """

    def __init__(
        self,
        statistic: pd.Series,
        threshold: float,
        *,
        fdr: float,
        plus: bool,
        kind: str,
        s: np.ndarray,
        knockoffs: Any,
        path: Any,
        random_state: int | None,
        status: str,
    ) -> None:
        self.statistic = statistic
        self.threshold = threshold
        self.fdr = fdr
        self.plus = plus
        self.kind = kind
        self.s = s
        self.knockoffs = knockoffs
        self.path = path
        self.random_state = random_state
        self.status = status
        chosen = statistic[statistic >= threshold]
        self.selected = chosen.sort_values(ascending=False, kind="stable").index.tolist()

    def __repr__(self):
        found = f"{len(self.selected)} of {len(self.statistic)} features"
        return (
            f"<l0path.KnockoffFilter: {found} at a false discovery rate of {self.fdr:g}, threshold "
            f"{self.threshold:.4g}, {self.kind}-X knockoffs; {self.status}>"
        )


@hands_on(*ARGUMENTS)
def knockoff_filter(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    fdr: float = 0.1,
    kind: str = "auto",
    plus: bool = True,
    statistic: str = "coefficient",
    s: str | ArrayLike = "mvr",
    covariance: ArrayLike | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **fit: Any,
) -> KnockoffFilter:
    """Features chosen with a bound on the false discovery rate, by competition with knockoffs.

    Each feature competes on the path with its knockoff, an imitation made without y that is
    correlated with the other features as the original is. A path over the features and their
    knockoffs gives each of the 2p an importance Z >= 0, and W_j = max(Z_j, Z~_j) sign(Z_j - Z~_j).
    A feature without effect is as likely to lose as to win, so the number of losers with W_j <= -t
    estimates how many of the winners with W_j >= t are false.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        As in `l0path.fit`. X is used as a dense array with twice the columns, at most 2^28 entries.
        A formula with a term of several columns takes groups=False.
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    fdr : float, default 0.1
        The level, in (0, 1).
    kind : str, default "auto"
        "fixed", "model", or "auto", which takes "fixed" where it is valid (squared loss of one or
        several responses, enough rows), else "model".
    plus : bool, default True
        Whether to bound the false discovery rate itself (the knockoff+ filter) or a modified one,
        see Notes.
    statistic : str, default "coefficient"
        "coefficient": Z_j is the sum of |b_j| over the models of the path, standardized. "entry":
        Z_j = max_k + 1 - k_j, with k_j the smallest size whose model holds feature j (0 if none
        does), so that W_j is large for features that enter early and before their knockoffs. Both
        are valid; the first had more power in simulations (`tests/benchmarks/inference.py`). With
        several responses or classes |b_j| is the length of the vector (b_j1, ..., b_jr), each
        response times the root of its weight; coefficients of classes are those of the path.
    s : str or array-like of shape (p,), default "mvr"
        How far knockoffs keep from their features: "mvr", "sdp" or "equi"
        (`l0path.inference.gaussian_knockoffs`), or numbers in units of each feature's variance. A
        larger distance gives more power, as long as 2 Sigma - diag(s) stays positive semidefinite.
    covariance : array-like of shape (p, p), optional
        The covariance of the rows of X for kind="model", in the order of the columns. None means
        Ledoit-Wolf shrinkage of the rows of positive weight (scikit-learn), features scaled to unit
        variance.
    random_state : int, Generator, or None
        The seed that draws the knockoffs, and which of each pair stands where the original does, so
        that no order of features can favor either. None draws a seed, kept in the result.
    n_jobs : int, optional
        The number of threads, as in `l0path.fit`. None takes all.
    progress : bool, optional
        Bars on stderr that show the making of knockoffs and the path, as in `l0path.fit`.
    **fit : Any
        All arguments of `l0path.fit` except those about groups and costs. Features of
        always_include stay in all models without a knockoff of their own; excluded, constant and
        repeated features do not compete. max_k is the largest size of the path over 2p features,
        with the default of `fit`.

    Returns
    -------
    KnockoffFilter
        The selected features, the statistics and the threshold.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.
    KeyboardInterrupt
        If the path is interrupted: an unfinished path gives no set.

    Notes
    -----
    The threshold and the selected set:

        T = min t > 0 in |W| with  (plus + #{W_j <= -t}) / max(1, #{W_j >= t}) <= fdr
        selected = {j : W_j >= T},  empty if there is no such t

    With plus=True the promise is E[false / max(1, selected)] <= fdr. With plus=False only E[false /
    (selected + 1 / fdr)] is bounded. It holds

    - with kind="fixed" for the squared loss with normal errors of equal variance (up to the
      weights), any X with n >= 2p (+ 1 with an intercept; p features that compete or are forced),
      and any coefficients. Errors of several responses may have any covariance;
    - with kind="model" for any loss and any relation of y to X, and any n, if the rows of X are
      independent draws from a normal distribution whose covariance is known. With an estimated
      covariance, or features that are not normal, it is approximate: second-order knockoffs match
      means and covariances only. Dummies and counts are far from normal.

    The promise rests on symmetry: where y does not depend on a feature, exchanging it with its
    knockoff does not change the distribution of the data, and in W it changes the sign alone. The
    first holds with kind="model" for any y. With kind="fixed" it holds for normal errors, which
    other losses do not have. The second holds for any path, as chance decides which of each pair
    stands first.

    Strata, entry times, offsets and weights count as part of y: with kind="model" the features must
    have the same distribution in all strata (center them in each, or fit each alone). Rows of one
    subject with features that change over time are not independent: take one row for each subject.

    A selected feature is false if y (all responses together) does not depend on it given all
    others. The promise is about the whole set: it holds neither for a single feature nor for a
    model fitted to the selected features, and another seed gives other knockoffs and another set.
    With plus=True at least 1 / fdr features are selected, or none: with few true features use a
    larger fdr.

    References
    ----------
    - Barber & Candes, Annals of Statistics 43, 2015, equations (1.8) and (1.9).
    - Rows drawn at random: Candes, Fan, Janson & Lv, JRSS B 80, 2018; second-order knockoffs in its
      section 3.4.1.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 40))
    >>> y = X[:, :12] @ np.ones(12) + rng.standard_normal(200)
    >>> result = l0path.knockoff_filter(X, y, fdr=0.2, random_state=1)
    >>> result.kind, len(set(result.selected) & {f"x{j}" for j in range(12)})
    ('fixed', 12)
    """
    began, seed = time.perf_counter(), draw_seed(random_state)
    rng = np.random.default_rng(seed)
    fdr = share(fdr, "fdr", 0.0, 1.0)
    _check_choice("kind", kind, KNOCKOFF_KINDS)
    _check_choice("statistic", statistic, STATISTICS)
    if isinstance(s, str):
        _check_choice("s", s, METHODS)
    # a knockoff has no hierarchy with its kind
    arguments = {"n_jobs": n_jobs, "heredity": None, **fit}
    asked = resolve(X, y, arguments, check=partial(_check_data, kind=kind)).request
    data = asked.data
    rows, competing = np.flatnonzero(data.weights > 0), _competing(data)
    times = copies_of(data.weights, data.counts)[rows]  # that each row stands for
    _check_size(data, int(times.sum()), competing.size)
    kind = _kind(kind, data, rows.size, competing.size)
    if kind == "model":
        competing = _varying(data, competing)
    if covariance is not None and kind == "fixed":
        raise ValueError(
            "covariance= is for kind='model'; a fixed X is imitated by its Gram matrix, so leave "
            "covariance out, or ask for kind='model'"
        )
    A = data.design.columns(np.arange(data.design.p))[rows]
    copies, distance = A.copy(order="F"), np.zeros(data.design.p)
    with threads.one_blas_thread(), Bar(progress, "l0path knockoffs", since=began, leave=False):
        if kind == "fixed":
            made = fixed_knockoffs(A[:, competing], data.weights[rows], data.intercept, s, rng)
        else:
            every = A if data.counts is None else np.repeat(A, times.astype(np.int64), axis=0)
            made = model_knockoffs(A[:, competing], *_moments(every, competing, covariance), s, rng)
    copies[:, competing], distance[competing], _ = made
    match = pair_up(data, A, copies, rows, np.setdiff1d(competing, data.forced), rng)
    asked = replace(asked, data=match.data, n_jobs=n_jobs, progress=progress)
    path = _solve_pairs(asked, rng)
    W = match.statistic(importance(path, statistic), data.design.p)
    names = pd.Index([str(name) for name in data.names], name="feature")
    return KnockoffFilter(
        pd.Series(W, index=names, name="statistic"),
        threshold_of(W, fdr, plus),
        fdr=fdr,
        plus=bool(plus),
        kind=kind,
        s=pd.Series(distance, index=names, name="s"),
        knockoffs=copies,
        path=path,
        random_state=seed,
        status=path.status,
    )


def _check_choice(name, value, known):
    if value not in known:
        raise ValueError(
            f"{name}={value!r} is not known; choose one of {', '.join(map(repr, known))}"
        )


def _check_data(data, kind):
    """Refuse groups, and a fixed X with a loss other than the squared one; X is not read."""
    if kind == "fixed" and not isinstance(data.loss, Squared):
        raise ValueError(
            f"kind='fixed' is not valid for loss={name_of(data.loss)!r}, only for the squared loss "
            "(of one or several responses), whose statistics are functions of X'X and X'y; use "
            "kind='model'"
        )
    if data.groups is not None:
        raise ValueError(
            "groups= has no knockoffs here: they are made for single columns; leave groups out "
            "(with a formula, pass groups=False, which counts columns), or use stability_selection"
        )


def _check_size(data, n, competing):
    """Refuse more entries than are made."""
    if max(2 * n * data.design.p, competing**2) > MOST_ENTRIES:
        what = "knockoffs need a dense array of twice the columns, and their covariance"
        raise ValueError(
            f"X has {n} rows and {data.design.p} features: {what}, at most {MOST_ENTRIES} entries "
            f"each, so that at most {math.isqrt(MOST_ENTRIES)} features compete; screen the "
            "features first, on rows that are then left out"
        )


def _kind(kind, data, n, p):
    """ "fixed" or "model"; a fixed X of too few rows is refused."""
    need = 2 * p + data.intercept
    if kind == "auto":
        return "fixed" if isinstance(data.loss, Squared) and n >= need else "model"
    if kind == "fixed" and n < need:
        raise ValueError(
            f"kind='fixed' needs at least {need} rows of positive weight (twice the {p} "
            f"features{', and one for the intercept' if data.intercept else ''}), X has {n}; use "
            "kind='model'"
        )
    return kind


def _competing(data):
    """Columns that are neither excluded nor constant; of equal ones, which no knockoff can tell
    apart, a forced one or the first.
    """
    usable = moving(data) & ~data.excluded
    problem = pose(data)
    for columns in equal_columns(data, usable, problem.square * problem.X.scale**2):
        kept = next((j for j in columns if j in data.forced), columns[0])
        usable[[j for j in columns if j != kept]] = False
    return np.flatnonzero(usable)


def _varying(data, competing):
    """The columns that compete by `kind="model"`: without the constant ones."""
    competing = competing[moving(data, centered=True)[competing]]
    if not np.setdiff1d(competing, data.forced).size:
        raise ValueError(
            "no feature of X competes: kind='model' has no knockoffs of constant features; leave "
            "them out"
        )
    return competing


def _moments(A, usable, covariance):
    """(mean, covariance) of the usable columns of A: the user's covariance, or Ledoit-Wolf
    shrinkage of the correlation matrix towards the identity (Ledoit & Wolf, J. Multivariate
    Analysis 88, 2004).
    """
    mean, scale = A[:, usable].mean(axis=0), A[:, usable].std(axis=0)
    if covariance is None:
        from sklearn.covariance import ledoit_wolf

        return mean, ledoit_wolf((A[:, usable] - mean) / scale, assume_centered=True)[0] * np.outer(
            scale, scale
        )
    refuse_masked(covariance, "covariance")
    sigma = np.asarray(covariance, dtype=np.float64)
    p = A.shape[1]
    if sigma.shape != (p, p) or not np.isfinite(sigma).all():
        raise ValueError(
            f"covariance has shape {sigma.shape}: pass finite numbers, a row and a column for each "
            f"of the {p} columns of X"
        )
    if (
        not np.allclose(sigma, sigma.T, rtol=1e-8, atol=1e-12 * np.abs(sigma).max())
        or (np.diag(sigma) <= 0).any()
    ):
        raise ValueError("covariance must be symmetric with positive variances on its diagonal")
    sigma = 0.5 * (sigma + sigma.T)
    return mean, sigma[np.ix_(usable, usable)]


def _solve_pairs(asked, rng):
    """The path over columns and knockoffs; a warning where it did not end."""
    plan = asked.plan
    refuse(plan.settings, asked.data, *plan.least_shrinkage())
    plan = replace(plan, random_state=int(rng.integers(2**31)))
    path = fit_request(replace(asked, plan=plan)).path
    if path._end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"knockoff_filter was interrupted on the path ({path.status})")
    if not path._end.finished:
        warn_user(
            ConvergenceWarning(
                f"the path of the knockoff filter did not end ({path.status}); features that had "
                "not entered count as ties"
            )
        )
    return path
