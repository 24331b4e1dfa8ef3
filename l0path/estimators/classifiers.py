"""Estimators for classes: a model of given size, and the one that cross-validation chooses."""

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
from .predicting import ClassifierMethods
from .selecting import ModelOfBestScore, ModelOfOneSize


class L0Classifier(ClassifierMethods, ModelOfOneSize):
    """Classification by linear predictors on the best subset of k features.

    The problem is that of `L0Regressor`. With two classes the response is -1 for classes_[0] and 1
    for classes_[1], the sorted labels. More than two share the features of the model, and each has
    coefficients of its own (loss="multinomial", docs/responses.md). Classes with an order have one
    coefficient for each column (loss="ordinal").

    Parameters
    ----------
    k : int, default 10
        The size of the model, as in `L0Regressor`.
    lambda0 : float, optional
        The cost of a feature, which is used instead of k if it is given.
    lambda1 : float, default 0.0
        The weight >= 0 of ||b||_1.
    max_k : int, optional
        The largest size of the path, as in `L0Regressor`.
    memory : str or joblib.Memory, optional
        Where paths are kept, as in `L0Regressor`.
    lambda2 : float, default 1e-3
        The weight >= 0 of ||b||_2^2. It is not 0, because without shrinkage the logistic loss has
        no minimum where the features separate the classes.
    loss : str or record, default "logistic"
        "logistic", "multinomial", "ordinal", "squared_hinge", "smoothed_hinge", with
        algorithm="exact" "hinge", or a record of `l0path.losses`, such as SmoothedHinge(width=0.5).
        Only the first three have `predict_proba`. With more than two classes "logistic" means
        "multinomial", and the hinges are refused; bounds need Multinomial(baseline=...). For
        "ordinal" y holds numbers, or it is a Series or Categorical of a category dtype with
        ordered=True.
    class_weight : dict or str, optional
        {label: weight}, or "balanced" for sum w / (r times the sum of w in the class), r classes.
        It multiplies sample_weight. None means 1 for each class.
    pos_label : object, optional
        The label that `path_` and `model_` (their coefficients, bounds, summaries and plots) speak
        for. None means classes_[1]. classes_, coef_, intercept_, `decision_function` and
        `predict_proba` keep the order of scikit-learn whatever it is.
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
        Seconds after which the largest model solved, up to k, is taken. None means no limit.
    n_jobs : int, optional
        The number of threads. None takes all.
    random_state : int, Generator, or None
        The seed of effort="high".

    Attributes
    ----------
    classes_ : ndarray of shape (r,)
        The sorted labels.
    coef_ : ndarray of shape (1, p), or (r, p) for r > 2 classes
        The coefficients in units of X; those of several classes sum to zero over the classes, or
        with lambda1 have the median zero where lambda2 is 0; those of a baseline are 0.
        Ordered classes have one row: positive numbers favor higher classes, in the order of
        `path_.classes`.
    intercept_ : ndarray of shape (1,) or (r,)
        The intercept. Of ordered classes (r - 1,), the thresholds with a minus sign: the
        intercepts of the log odds of a higher class.
    k_, n_iter_, path_, model_, n_features_in_, feature_names_in_ : as in L0Regressor
        The size, rounds of the search, the path, the chosen model, and the number and names of
        columns.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_wdbc(); model = l0path.L0Classifier(k=3).fit(data.X, data.y)
    >>> list(model.get_feature_names_out()), round(model.score(data.X, data.y), 3)
    (['worst_radius', 'worst_texture', 'worst_concave_points'], 0.968)
    """

    @hinted
    def __init__(
        self,
        k: int = 10,
        *,
        lambda0: float | None = None,
        lambda1: float = 0.0,
        lambda2: float = 1e-3,
        loss: str | LossRecord | Any = "logistic",
        class_weight: str | dict | None = None,
        pos_label: object = None,
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
        self.class_weight = class_weight
        self.pos_label = pos_label
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


class L0ClassifierCV(ClassifierMethods, ModelOfBestScore):
    """`L0Classifier` whose size is chosen by cross-validation of the whole path.

    A ridge and a mixture with the fit without one are chosen with the size (lambda2, relax), and
    lambda1 where it has a grid, see `l0path.cv_fit`. Folds are stratified by class.

    Parameters
    ----------
    max_k : int, optional
        The largest size tried, as in `L0RegressorCV`.
    cv : int, splitter, iterable, or array-like, default 5
        The folds, stratified by class, in the forms that `L0RegressorCV` takes.
    rule : str or callable, default "min"
        "min", "sparse", "1se", or a criterion, as in `L0RegressorCV`.
    n_repeats : int, default 1
        Repeats of an integer cv.
    scoring : str, scorer, or callable, optional
        "deviance", "auc", "misclassification", "brier" (logistic only), a name or scorer of
        scikit-learn, or a function. None means "deviance", twice the mean negative log-likelihood
        for the logistic loss.
    lambda0 : float, sequence of float, "grid" or `l0path.grid`, optional
        Values of the cost of a feature: the path is then one over lambda0, as in `l0path.fit`.
    lambda1 : float, sequence of float, "grid" or `l0path.grid`, optional
        Weights of ||b||_1, as in `l0path.fit`. None means 0.
    lambda2 : float, sequence of float, "auto", "grid", `l0path.grid` or None, default "auto"
        Weights of ||b||_2^2; "auto" tries several, as in `l0path.cv_fit`. None means 0.
    relax : float or sequence of float, optional
        Shares of the shrunken models in the mixtures that are tried, as in `l0path.cv_fit`. None
        means 0, 0.5 and 1 for lambda2="auto", else 1.
    loss : str or record, default "logistic"
        The loss, as in `L0Classifier`.
    class_weight : dict or str, optional
        Class weights, as in `L0Classifier`; "balanced" weights are those of each training set.
    pos_label : object, optional
        The label that the coefficients are about (`path_`, `model_`), as in `L0Classifier`.
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
    path_, model_, k_, coef_, intercept_, n_iter_, classes_ : as in L0Classifier
        The path on all rows, the chosen model, its size, coefficients and intercept, the rounds of
        the search, and the sorted labels.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_wdbc()
    >>> model = l0path.L0ClassifierCV(max_k=4, scoring="auc", random_state=1).fit(data.X, data.y)
    >>> model.predict_proba(data.X)[:2].round(2)
    array([[1., 0.],
           [1., 0.]])
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
        loss: str | LossRecord | Any = "logistic",
        class_weight: str | dict | None = None,
        pos_label: object = None,
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
        self.class_weight = class_weight
        self.pos_label = pos_label
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
