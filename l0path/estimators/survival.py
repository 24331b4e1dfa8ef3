"""Estimators for survival times: a model of given size, and the one that cross-validation
chooses.
"""

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
from .hazards import SurvivalMethods
from .selecting import ModelOfBestScore, ModelOfOneSize


class L0Survival(SurvivalMethods, ModelOfOneSize):
    """Cox's proportional hazards on the best subset of k features, with the conventions of
    scikit-survival.

        minimize    -log partial likelihood(beta) for each event
                    + lambda1 ||b||_1 + lambda2 ||b||_2^2
        subject to  at most k nonzero coefficients b_j = s_j beta_j,
                    s_j the weighted standard deviation of feature j if standardize, else 1

    Parameters
    ----------
    k : int, default 10
        The size of the model, as in `L0Regressor`.
    lambda0 : float, optional
        The cost of a feature, which is used instead of k if it is given.
    lambda1, lambda2 : float, default 0.0
        Weights >= 0 of ||b||_1 and of ||b||_2^2, in units of the loss for each event. Where
        features make the likelihood monotone (a coefficient would grow without end), a small
        lambda2, such as 1e-3, keeps them in the search.
    loss : str or record, default "cox"
        "cox", l0path.losses.Cox(ties="breslow") for Breslow's way of counting events at the same
        time, or "weibull", whose loss is -log likelihood for each row, without strata.
    strata : str or int, optional
        A column of X, by name (of a DataFrame; it may hold texts then) or number, whose values are
        strata: their baseline hazards differ. It is no feature. As a column it goes with its rows
        through pipelines and searches; `strata_index_` is its place in X.
    max_k : int, optional
        The largest size of the path, as in `L0Regressor`; the n of its default is the number of
        events.
    memory : str or joblib.Memory, optional
        Where paths are kept, as in `L0Regressor`.
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    standardize : bool, default True
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
        Seconds after which the largest model solved, up to k, is taken. None means no limit.
    n_jobs : int, optional
        The number of threads. None takes all.
    random_state : int, Generator, or None
        The seed of effort="high".

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        The coefficients in units of X: log hazard ratios.
    unique_times_ : ndarray of shape (q,)
        The different times of y, at which predicted functions are given.
    n_events_ : float
        The number of events in rows of positive weight.
    k_, n_iter_, path_, model_, n_features_in_, feature_names_in_ : as in L0Regressor
        The size, rounds of the search, the path, the chosen model, and the number and names of
        columns.

    Notes
    -----
    y is a structured array (event, time) as scikit-survival makes it, or any other response that
    `l0path.fit` takes for loss="cox", with times of entry too.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)); life = rng.exponential(np.exp(X[:, 2] - X[:, 5]))
    >>> y = np.array([(t < 2, min(t, 2)) for t in life], dtype=[("event", bool), ("time", float)])
    >>> model = l0path.L0Survival(k=2).fit(X, y)
    >>> model.get_support(indices=True), round(model.score(X, y), 2)
    (array([2, 5]), 0.78)
    >>> round(model.predict_survival_function(X[:1])[0](1.0), 2)
    0.44
    """

    @hinted
    def __init__(
        self,
        k: int = 10,
        *,
        lambda0: float | None = None,
        lambda1: float = 0.0,
        lambda2: float = 0.0,
        loss: str | LossRecord = "cox",
        strata: str | int | None = None,
        max_k: int | None = None,
        memory: str | joblib.Memory | None = None,
        algorithm: str | Settings = "swap",
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
        self.strata = strata
        self.max_k = max_k
        self.memory = memory
        self.algorithm = algorithm
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


class L0SurvivalCV(SurvivalMethods, ModelOfBestScore):
    """`L0Survival` whose size is chosen by cross-validation of the whole path.

    A ridge and a mixture with the fit without one are chosen with the size (lambda2, relax), and
    lambda1 where it has a grid, see `l0path.cv_fit`. Folds are stratified by event.

    Parameters
    ----------
    max_k : int, optional
        The largest size tried. None means min(p, number of events // 2, 100).
    cv : int, splitter, iterable, or array-like, default 5
        The folds, stratified by event, in the forms that `L0RegressorCV` takes.
    scoring : str, optional
        "deviance", what held-out rows add to the partial likelihood (see `l0path.cv_fit`), or
        "concordance". None means "deviance".
    rule : str or callable, default "min"
        "min", "sparse", "1se", or a criterion, as in `L0RegressorCV`.
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
    loss : str or record, default "cox"
        "cox", l0path.losses.Cox(ties="breslow") for Breslow's way of counting events at the same
        time, or "weibull", whose loss is -log likelihood for each row, without strata.
    strata : str or int, optional
        A column of X whose values are strata, as in `L0Survival`.
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    standardize : bool, default True
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
    path_, model_, k_, coef_, unique_times_, n_events_, n_iter_ : as in L0Survival
        The path on all rows, the chosen model, its size and coefficients, the times and the number
        of events, and the rounds of the search.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)); life = rng.exponential(np.exp(X[:, 2] - X[:, 5]))
    >>> y = np.array([(t < 2, min(t, 2)) for t in life], dtype=[("event", bool), ("time", float)])
    >>> l0path.L0SurvivalCV(max_k=4, rule="1se", random_state=1).fit(X, y).k_
    2
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
        loss: str | LossRecord = "cox",
        strata: str | int | None = None,
        algorithm: str | Settings = "swap",
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
        self.strata = strata
        self.algorithm = algorithm
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
