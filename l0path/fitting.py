"""`fit`: from X and y to a `Path`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from .core.hints import hinted
from .core.types import Bound, Columns, Matrix, Seed, Settings
from .engine.grids import Lambda
from .engine.request import request
from .engine.run import run
from .paths import Model, Path
from .problem.specified import LossRecord


@hinted
def fit(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    data: pd.DataFrame | None = None,
    loss: str | LossRecord | Any = "squared",
    algorithm: str | Settings = "swap",
    env: dict | None = None,
    k: int | Sequence[int] | None = None,
    max_k: int | None = None,
    lambda0: Lambda = None,
    lambda1: Lambda = None,
    lambda2: Lambda = None,
    fit_intercept: bool | None = None,
    standardize: bool = True,
    sample_weight: ArrayLike | str | None = None,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
    class_weight: str | dict | None = None,
    offset: ArrayLike | str | None = None,
    strata: ArrayLike | None = None,
    pos_label: object = None,
    lower: Bound = -math.inf,
    upper: Bound = math.inf,
    always_include: Columns | None = None,
    exclude: Columns | None = None,
    penalty_factor: ArrayLike | None = None,
    groups: Sequence | dict | None = None,
    heredity: str | None = "auto",
    feature_names: Sequence[str] | None = None,
    certify: bool | str = "auto",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
    on_solution: Callable[[Model], object] | None = None,
) -> Path:
    """Fit a whole path of best-subset models: the best model found of every size, or lambda0.

    The model of every size k = 0..max_k, or of every value of lambda0, minimizes the penalized mean
    loss as far as the search can tell, and is checked over all features. `path.table.optimality`
    says what was verified.

        minimize  (1 / sum w) sum_i w_i loss(y_i, o_i + beta0 + x_i'beta)
                  + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1 + lambda2 ||b||_2^2,
                  lower <= beta <= upper
        b_j = s_j beta_j,  s_j the weighted standard deviation of feature j if standardize, else 1

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        The features to choose from: an array of any real dtype and order, a DataFrame, a SciPy
        sparse matrix, or a design of `l0path.designs`. X is never copied as a whole and never
        changed. Tables of polars and pyarrow are made DataFrames of pandas. X may also be a
        formula, with the table as `data` or as y (see Notes).
    y : array-like of shape (n,) or (n, r), DataFrame or None
        The response: real numbers, counts >= 0 (poisson, negative_binomial), positive amounts
        (gamma), amounts >= 0 (tweedie), successes and failures in two columns (binomial), or labels
        of any dtype: of two classes, then `path.classes` is (negative, positive), of several
        (multinomial), or of ordered classes (ordinal). For loss="cox" and "weibull" times and
        events: a structured array (event, time) as in scikit-survival, a DataFrame or array with
        the columns (time, event) or, for "cox", (start, stop, event), or on the left of a formula
        Surv(time, event) or Surv(start, stop, event). Events are 0 or 1. With a formula, the
        DataFrame that the formula is about. With losses that are sums over rows also several
        responses, of shape (n, r), each of 0 and 1 where the loss is of classes: all of them share
        the features of a model, and each has coefficients of its own (docs/responses.md).
    data : DataFrame, optional
        The table of a formula.
    loss : str or record, default "squared"
        "squared", "logistic", "multinomial", "squared_hinge", "smoothed_hinge", "huber", "poisson",
        "gamma", "negative_binomial", "binomial", "tweedie", "quantile", "ordinal", "cox" or
        "weibull", with algorithm="exact" also "hinge"; a record of `l0path.losses`, with the
        numbers of the loss, such as Huber(delta=2) or Quantile(0.9); or a record of a loss of your
        own (`l0path.own_loss`). The losses are on the page docs/losses.md. Without shrinkage
        features may separate the classes. Models are then compared by the infimum of their
        objective, and the path ends where they do so completely.
    algorithm : str or settings record, default "swap"
        A name, or a record of `l0path.solvers` such as LocalSearch(effort="high"). The names are
        "swap", "cd", "CDPSI", "pg", "apg", "pg+", "apg+", "pg_ll", "htp", "dual_iht",
        "stochastic_dual_iht", "primal_dual", "feature_generating" and "exact". The page
        docs/algorithms.md says what each one does, what it needs and where it comes from. The
        default finds the best models in most cases. The others serve speed, comparison, bounds and
        proofs.
    env : dict, optional
        Functions (and numbers) of your own that a formula uses, by name: env={"f": f} for
        "y ~ f(a) + b". Nothing of your session is known to a formula otherwise. They get columns as
        Series, and are not stored: `l0path.load` takes them again. None means none.
    k : int or sequence of int, optional
        The size or sizes to keep. None keeps all.
    max_k : int, optional
        The largest size. None means min(p, n_eff // 2, 100), with n_eff the number of rows of
        positive weight (for loss="cox" of events), each as often as `freq_weight` says. With groups
        None means min(number of groups, 100, n_eff / (2 x their mean size)).
    lambda0 : float, sequence of float, "grid" or `l0path.grid`, optional
        Values >= 0 of the cost of a feature, in units of the mean loss. Given, the path is one over
        lambda0 and not over sizes: "grid" takes at most 100 values, each just below the one at
        which the support changes, and l0path.grid(n=..., ratio=...) sets how many.
    lambda1, lambda2 : float, sequence of float, "grid" or `l0path.grid`, optional
        Weights >= 0 of ||b||_1 and of ||b||_2^2, in units of the mean loss. Every pair of values is
        one slice of the path. "grid" takes ten values, from one that shrinks much to 1e-4 of it.
        None means 0. A number added to the coefficients of all of several classes says nothing:
        they are those of the smallest penalty.
    fit_intercept : bool, optional
        Whether there is an intercept. It is never penalized and never counted. None means True, or
        with a formula what it says.
    standardize : bool, default True
        Whether penalties are about standardized coefficients b_j = s_j beta_j. Without an intercept
        s_j is the root mean square of feature j.
    sample_weight : array-like of shape (n,) or str, optional
        Importance or precision of rows, numbers >= 0, or the name of a column of the DataFrame X,
        which then is no feature. They are divided by their mean over the rows of positive weight,
        so that multiplying them by a constant changes nothing, and the number of rows stays what it
        is. Rows of weight 0 are left out. Under the squared loss the variance of a row is
        proportional to 1 / weight, as in R's lm(weights=). The likelihoods of losses without a
        dispersion that is estimated (logistic, poisson, cox, ...) become pseudo-likelihoods, and
        `Model.refit` has the standard errors of the sandwich. None means 1 for each row.
    freq_weight : array-like of shape (n,) or str, optional
        How many rows each row stands for: whole numbers >= 0, or the name of a column. All results
        are those of the repeated rows, criteria and standard errors among them, and folds never
        split a row. It multiplies sample_weight (docs/weights.md). None means 1 for each row.
    trials : array-like of shape (n,) or str, optional
        For loss="binomial" with shares of successes as y: the numbers of trials >= 0, or the name
        of a column. The number of rows stays what it is. None means 1 for each row.
    class_weight : dict or str, optional
        {label: weight}, or "balanced" for equal total weights of the classes. It multiplies the
        sample weights, and is importance as these are. None means 1 for each class.
    pos_label : object, optional
        The positive class, whose probability the model is about. None takes the last of the two
        labels in sorted (or category) order. The output says which it is: "P(y = 'b')".
    offset : array-like of shape (n,) or str, optional
        Numbers o_i that are added to the linear predictor, or the name of a column of the DataFrame
        X, which then is no feature and is found by its name in new rows. None means 0. With several
        responses also one per entry of y, (n, r); with several classes (loss="multinomial") one per
        row and class, in the order of `path.classes`, for one per row would change no probability.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients in the units of y and X: one number, one per feature, or
        {name: bound}. They are at most 0, except for forced features. They hold for every response;
        of several classes for the log odds against one of them, Multinomial(baseline=...).
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds, likewise; at least 0, except for forced features.
    always_include, exclude : array-like of str, int, or bool, optional
        Features that are in every model, or in none, by names, indices or a mask. With groups also
        labels of groups, if they are text (a number is a column). A feature that is included brings
        in its groups. A constant column has coefficient 0, so it cannot be included with bounds
        that leave out 0.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors f_j >= 0 of lambda0, or {name: f_j} with 1 for all others. With groups one factor
        per group, {label: factor}, or p factors that are equal within each group. None means 1.
    groups : sequence or dict, optional
        Groups of features, of which the penalty then counts the chosen groups: p labels (None
        stands for no group), {label: columns}, or a list of lists of columns. Then k is the number
        of chosen groups, while `n_features` still counts coefficients. A feature in no group is one
        of its own. Groups may overlap (docs/groups.md). Of the algorithms "swap",
        "feature_generating" and "exact" take groups ("exact" takes more than 12 groups only without
        lambda1 and bounds).
    heredity : str or None, default "auto"
        Whether the search keeps the hierarchy of the terms of a formula, or of the features of
        `designs.polynomial`. "strong": a term is in a model only with all the terms that it
        contains, a and c with a:c, a and b with I(a * b), a with I(a ** 2). "weak": only with at
        least one of the largest of them. None: a term may be in a model alone, and a note names
        those that are. "auto" is "strong" where a term of the formula contains another one, because
        without the hierarchy models depend on the first levels of factors and the origins of
        numbers; for a polynomial design it is what the design was made with; else, and for more
        than 2000 terms, it is None. Terms are the units that k counts, and "global" and other
        claims compare a model only with those that keep the hierarchy. A term that needs an
        excluded term is excluded, and under "strong" the terms that one of always_include needs are
        included. Served by "swap" and "exact", for one response (docs/formulas.md).
    feature_names : sequence of str, optional
        Names of the p columns of an array or sparse X. A DataFrame brings its own. None means x0,
        x1, ...
    strata : array-like of shape (n,) or str, optional
        For loss="cox": labels of rows whose baseline hazards differ, or the name of a column of the
        table of a formula or of the DataFrame X, which then is no feature. Risk sets are those
        within a stratum. None means that all rows are one.
    time_limit : float, optional
        Seconds after which the path ends with what is solved. None means no limit.
    certify : bool or str, default "auto"
        "auto" proves all sizes by one search (leaps and bounds) where that is cheap: for
        algorithm="swap" and a squared loss with n_eff > p, at most 50 features (or groups) to
        choose from, no lambda1 and no bounds on coefficients. Better models replace those of the
        path, and proven models are "global". The search has a budget of operations, max(2e7, 2 x
        the entries of X that the path has read), and not of time, so that it ends alike on every
        machine; where it is used up, `path.notes` says how many models are proven. Fits in folds
        and subsamples make no such search. False makes neither a search nor bounds. True also gives
        every solution a `lower_bound` and a `gap` by weak duality: no model of at most k unforced
        features (on a lambda0 grid: no model at all) has an objective below the bound. Solutions
        whose gap is closed to 1e-6 become "global". This needs lambda2 > 0, bounds on every
        feature, or without groups a squared loss with more rows than features. With n_eff > p, at
        most 50 features or groups, no lambda1 and no bounds on coefficients all sizes are searched
        within a budget of operations: of groups, of other smooth losses (logistic, Poisson, Huber,
        ...) without a ridge, and of survival times, ordered classes and several classes with one
        or without. Elsewhere the bounds are NaN, and `path.notes` says why (docs/bounds.md).
        `Path.certify` searches for the proof of one solution.
    n_jobs : int, optional
        The number of threads. None or -1 takes all.
    random_state : int, Generator, or None
        The seed of the random perturbations of effort="high". None means the seed 0.
    progress : bool, optional
        Bars on stderr (in a notebook below the cell) that show models, bounds and proofs. True
        shows them at once, False never. With None they come by themselves when the call has run
        for 5 s in a notebook or a terminal, not where stderr goes to a file, in processes of a
        pool, or where the environment variable L0PATH_QUIET is set.
    on_solution : callable, optional
        Called with a `Model` each time a size is verified, and again where a better model or a
        stronger claim follows. If it returns True, the path ends.

    Returns
    -------
    Path
        The path in the units of y and X. `path.status` says how it ended, and `path.notes` what was
        noticed.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.

    Notes
    -----
    A formula is given as fit("y ~ a + C(b) + bs(c, df=4) + a:c", data, ...), in the grammar of
    formulaic. A term of several columns, such as a factor or a spline, is one group, so that k
    counts terms. The page docs/formulas.md has the grammar, the coding and what happens to missing
    values.

    References
    ----------
    - The problem is equation (1) of Dedieu, Hazimeh & Mazumder, Journal of Machine Learning
      Research 22:135, 2021.
    - Overlapping groups: Jacob, Obozinski & Vert, ICML 2009.
    - certify="auto": Furnival & Wilson, Technometrics 16, 1974; Gatu & Kontoghiorghes, Journal of
      Computational and Graphical Statistics 15, 2006.
    - Bounds for groups by cutting planes: Tan, Tsang & Wang, Journal of Machine Learning Research
      15, 2014.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.fit(X, y, max_k=4).support(k=2)
    array([2, 7])
    """
    return run(
        request(
            X,
            y,
            data=data,
            loss=loss,
            algorithm=algorithm,
            env=env,
            k=k,
            max_k=max_k,
            lambda0=lambda0,
            lambda1=lambda1,
            lambda2=lambda2,
            fit_intercept=fit_intercept,
            standardize=standardize,
            sample_weight=sample_weight,
            freq_weight=freq_weight,
            trials=trials,
            class_weight=class_weight,
            offset=offset,
            strata=strata,
            pos_label=pos_label,
            lower=lower,
            upper=upper,
            always_include=always_include,
            exclude=exclude,
            penalty_factor=penalty_factor,
            groups=groups,
            heredity=heredity,
            feature_names=feature_names,
            certify=certify,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            on_solution=on_solution,
        )
    ).path
