"""Estimators for numbers: a model of given size, and the one that cross-validation chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import joblib
from numpy.typing import ArrayLike

from ..core.hints import hinted
from ..core.types import Bound, Columns, Seed, Settings
from ..engine.grids import Lambda
from ..problem.specified import LossRecord
from .predicting import RegressorMethods
from .selecting import ModelOfBestScore, ModelOfOneSize


class L0Regressor(RegressorMethods, ModelOfOneSize):
    """Linear regression on the best subset of k features.

        minimize    (1 / sum w) sum_i w_i loss(y_i, beta0 + x_i'beta)
                    + lambda1 ||b||_1 + lambda2 ||b||_2^2
        subject to  at most k nonzero coefficients b_j = s_j beta_j,
                    s_j the weighted standard deviation of feature j if standardize, else 1

    Parameters
    ----------
    k : int, default 10
        The size of the model; forced features are not counted. Where no model of that size can be
        fitted, the largest that can be is taken, and `k_` says which: k > p, a perfect fit, or,
        without shrinkage and with p larger, as many coefficients as distinct rows (any features
        would fit then).
    lambda0 : float, optional
        The cost of a feature. If it is given, the model minimizes the above + lambda0 ||beta||_0,
        and k is not used.
    lambda1, lambda2 : float, default 0.0
        Weights >= 0 of ||b||_1 and of ||b||_2^2, in units of the mean loss.
    loss : str or record, default "squared"
        "squared", "huber", "poisson", "gamma", "negative_binomial", "tweedie" or "quantile", or a
        record of `l0path.losses` with its numbers, such as Huber(delta=2) or Quantile(0.9).
    max_k : int, optional
        The largest size of the path. None means k, and with memory=, which serves every k, min(p,
        n_eff // 2, 100) or k if that is more. A longer path may hold a better model of size k,
        because its models are improved from both sides.
    memory : str or joblib.Memory, optional
        Where paths are kept, so that a grid search over k solves one path per training set,
        whatever the number of sizes. Each fit still reads its training set to recognize it, so
        where only k is searched `L0RegressorCV` is faster. A path from there has no data: methods
        of `path_` that need them take X= and y=.
    algorithm : str or settings record, default "swap"
        As in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients in units of y and X, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds, likewise.
    always_include : array-like of str, int, or bool, optional
        Features in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Features in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of features, as in `l0path.fit`. Then k is the number of chosen groups, and
        `model_.groups` names them.
    offset : str or int, optional
        A column of X, by name (of a DataFrame) or number, that is added to the linear predictor:
        the logarithm of an exposure, for rates. It is no feature: never chosen, 0 in coef_. As a
        column it goes with its rows through pipelines and searches; transformers that come before
        must pass it through unchanged. `offset_index_` is its place in X.
    time_limit : float, optional
        Seconds after which the largest model solved, up to k, is taken, with a ConvergenceWarning.
        None means no limit.
    n_jobs : int, optional
        The number of threads. None takes all.
    random_state : int, Generator, or None
        The seed of effort="high", as in `l0path.fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,) or (r, p)
        The coefficients in units of y and X; with r responses a row for each.
    intercept_ : float or ndarray of shape (r,)
        The intercept.
    k_ : int
        The size of the model.
    n_iter_ : int
        Rounds of the search over all features.
    path_ : Path
        The path.
    model_ : Model
        The chosen model.
    n_features_in_ : int
        The number p of columns of X.
    feature_names_in_ : ndarray of shape (p,)
        Their names, if X was a DataFrame.

    Notes
    -----
    `get_support()` and `transform(X)` keep exactly the features of the model. (`SelectFromModel`
    compares |coef_| with a threshold, by default its mean: give threshold=1e-12.)

    The problem is equation (1) of Dedieu, Hazimeh & Mazumder, Journal of Machine Learning Research
    22:135, 2021.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.L0Regressor(k=2).fit(X, y).get_support(indices=True)
    array([2, 7])
    """

    @hinted
    def __init__(
        self,
        k: int = 10,
        *,
        lambda0: float | None = None,
        lambda1: float = 0.0,
        lambda2: float = 0.0,
        loss: str | LossRecord | Any = "squared",
        max_k: int | None = None,
        memory: str | joblib.Memory | None = None,
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.k = k
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.loss = loss
        self.max_k = max_k
        self.memory = memory
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.lower = lower
        self.upper = upper
        self.always_include = always_include
        self.exclude = exclude
        self.penalty_factor = penalty_factor
        self.groups = groups
        self.offset = offset
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state


class L0RegressorCV(RegressorMethods, ModelOfBestScore):
    """`L0Regressor` whose size is chosen by cross-validation of the whole path.

    A ridge and a mixture with the fit without one are chosen with the size (lambda2, relax), and
    lambda1 where it has a grid, see `l0path.cv_fit`.

    Parameters
    ----------
    max_k : int, optional
        The largest size tried. None means min(p, n_eff // 2, 100), and less where models would
        interpolate, see k of `L0Regressor`.
    cv : int, splitter, iterable, or array-like, default 5
        The number of folds (shuffled by random_state), a scikit-learn splitter, an iterable of
        (train, test), or fold ids, one per row.
    scoring : str, scorer, or callable, optional
        "deviance", "mse", "mae", "r2", a name or scorer of scikit-learn, or f(y, prediction,
        sample_weight). None means "deviance", the mean squared error for the squared loss.
    rule : str or callable, default "min"
        "min" for the best score, "sparse" for the fewest coefficients within half a paired standard
        error of it, "1se" for the fewest within one standard error, or a criterion such as "bic",
        which judges the fit on all rows.
    n_repeats : int, default 1
        Repeats of an integer cv.
    lambda0 : float, sequence of float, "grid" or `l0path.grid`, optional
        Values of the cost of a feature: the path is then one over lambda0, as in `l0path.fit`.
    lambda1 : float, sequence of float, "grid" or `l0path.grid`, optional
        Weights of ||b||_1, as in `l0path.fit`. None means 0.
    lambda2 : float, sequence of float, "auto", "grid" or `l0path.grid`, default "auto"
        Weights of ||b||_2^2; "auto" tries four, as in `l0path.cv_fit`. None means 0.
    relax : float or sequence of float, optional
        Shares of the shrunken models in the mixtures that are tried, as in `l0path.cv_fit`. None
        means 0, 0.5 and 1 for lambda2="auto", else 1.
    loss : str or record, default "squared"
        "squared", "huber", "poisson", "gamma", "negative_binomial", "tweedie" or "quantile", or a
        record of `l0path.losses` with its numbers, such as Huber(delta=2) or Quantile(0.9).
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds of the coefficients, as in `l0path.fit`.
    always_include : array-like of str, int, or bool, optional
        Features in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Features in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of features, as in `L0Regressor`.
    offset : str or int, optional
        A column of X that is added to the linear predictor, as in `L0Regressor`.
    time_limit : float, optional
        Seconds for all fits. None means no limit.
    n_jobs : int, optional
        The number of processes for the folds. None means one process with all threads.
    random_state : int, Generator, or None
        The seed of the folds. None draws a new one for each fit (in `cv_.folds.attrs`).

    Attributes
    ----------
    cv_ : CVPath
        Scores and standard errors of every model.
    path_ : Path
        The path on all rows.
    model_, k_, coef_, intercept_, n_iter_ : as in L0Regressor
        The chosen model, its size, coefficients and intercept, and the rounds of the search.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters()
    >>> model = l0path.L0RegressorCV(max_k=8, rule="1se", random_state=1).fit(data.X, data.y)
    >>> model.k_, model.transform(data.X).shape
    (2, (263, 2))
    """

    @hinted
    def __init__(
        self,
        max_k: int | None = None,
        *,
        cv: int | Iterable | Any = 5,
        scoring: str | Callable | None = None,
        rule: str | Callable = "min",
        n_repeats: int = 1,
        lambda0: Lambda = None,
        lambda1: Lambda = None,
        lambda2: Lambda = "auto",
        relax: float | Sequence[float] | None = None,
        loss: str | LossRecord | Any = "squared",
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.max_k = max_k
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_repeats = n_repeats
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.relax = relax
        self.loss = loss
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.lower = lower
        self.upper = upper
        self.always_include = always_include
        self.exclude = exclude
        self.penalty_factor = penalty_factor
        self.groups = groups
        self.offset = offset
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
