"""The door: `fit` checks its arguments and returns a `Path` in the user's units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from . import formula
from .compiled import HELPING_PROCESSES
from .core import threads
from .core.types import Bound, Columns, Matrix, Seed, Settings
from .engine import inputs
from .engine.plan import make_plan, refuse, scaled
from .engine.run import solve
from .paths import Model, Path
from .problem.losses import canonical_name

P = ParamSpec("P")


def bare(fit: Callable[P, Path]) -> Callable[P, Path]:
    """A fit that takes formulas too, and whose path leaves the model on the working columns behind;
    `__wrapped__` keeps it.
    """

    @wraps(fit)
    def call(X, y=None, *more, **arguments):
        X, y, arguments = formula.at_the_door(X, y, arguments)
        path = fit(X, y, *more, **arguments)
        path._source.extra.pop("model", None)
        return path

    return call


@bare
def fit(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    loss: str = "squared",
    penalty: str = "L0",
    algorithm: str | Settings = "swap",
    grid: str = "support",
    k: int | Sequence[int] | None = None,
    max_k: int | None = None,
    n_lambda0: int = 100,
    lambda0: float | Sequence[float] | None = None,
    lambda1: float | Sequence[float] | None = None,
    lambda2: float | Sequence[float] | None = None,
    n_shrink: int = 10,
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: ArrayLike | None = None,
    class_weight: str | dict | None = None,
    pos_label: object = None,
    offset: ArrayLike | None = None,
    lower: Bound = -math.inf,
    upper: Bound = math.inf,
    always_include: Columns | None = None,
    exclude: Columns | None = None,
    penalty_factor: ArrayLike | None = None,
    groups: Sequence | dict | None = None,
    feature_names: Sequence[str] | None = None,
    gamma: float = 0.25,
    delta: float | None = None,
    lambda_scale: str = "mean",
    tol: float = 1e-8,
    max_iter: int = 1000,
    time_limit: float | None = None,
    certify: bool = False,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool = False,
    on_solution: Callable[[Model], object] | None = None,
) -> Path:
    """Fit the whole path of best-subset models: for every size k = 0..max_k (or every lambda0) the
    best model found, checked over all columns.

        minimise  (1 / sum w) sum_i w_i loss(y_i, o_i + beta0 + x_i'beta)
                  + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1 + lambda2 ||b||_2^2,
                  lower <= beta <= upper
        b_j = s_j beta_j,  s_j the weighted standard deviation of column j if standardize, else 1

    This is equation (1) of Dedieu, Hazimeh & Mazumder (JMLR 22:135, 2021).

    Parameters
    ----------
    X : (n, p) array of numbers (any real dtype, C or F order), DataFrame, SciPy sparse matrix, or a
        design of `l0path.designs`. Never copied or changed. Or a formula, with a DataFrame for y:
        below.
    y : (n,) response: real numbers, counts >= 0 (poisson), or two classes of any dtype
        (`path.classes` = (negative, positive)).
    pos_label : the positive class, whose probability the model is about; None: the last of the two
        labels in sorted (or category) order. The output says it: "P(y = 'b')".
    loss : "squared", "logistic", "squared_hinge", "smoothed_hinge" (width `gamma`, 0.25), "huber"
        (threshold `delta` in units of y, None: from the residuals of a robust pilot fit, see
        docs/losses.md; `path.delta` has it), "poisson". Without shrinkage columns may separate the
        classes: completely, and the path ends there; quasi-completely, and larger sizes are
        searched without these columns (docs/losses.md).
    penalty : "L0", "L0L1", "L0L2", "L0L1L2": the terms that get a default grid of `n_shrink`
        values. lambda1 / lambda2 given (scalar or sequence) are always used; neither given nor
        named means 0.
    algorithm : a name, or a settings record of `l0path.solvers` such as LocalSearch(effort="fast" |
        "default" | "high", refit=True, swap_size=1). Every one serves both grids, weights, offsets,
        forced columns, lambda1, lambda2, and all but "feature_generating" boxes; a table is in
        docs/algorithms.md. Most models are best under "swap"; the others are there for speed, for
        comparison and for bounds. "swap" (default): coordinate moves and swaps with refit. "cd":
        coordinate descent. "CDPSI": with partial swaps. "pg", "apg", "pg+", "apg+", "pg_ll", "htp":
        projected gradients for every size, plain, extrapolated, with solves on a support that
        rests, by Nesterov's points, with refits (ProjectedGradient). "dual_iht",
        "stochastic_dual_iht": dual ascent for every size, with a `lower_bound` on the support grid
        (DualIHT). "primal_dual": dual ascent and coordinate descent for every lambda0 (PrimalDual).
        These three need lambda2 > 0 and a loss of bounded curvature (not poisson).
        "feature_generating": cutting planes on the convex relaxation of every size, refits of what
        they generate, with polish=True the search by swaps on it (FeatureGenerating); columns or
        groups, not poisson, no boxes; bounds where lambda2 > 0. On a lambda0 grid the projected
        gradients, "dual_iht" and "feature_generating" give the models on the hull of their sizes;
        penalty factors must be even then. "exact": the path of "swap", then branch and bound for
        every model until it is proved or the time is up (BranchAndBound): lambda2 > 0, a box, or a
        squared loss with n > p.
    grid : "support" (every size) or "lambda0" (each next lambda0 just below the value at which the
        support changes, at most `n_lambda0` values); `lambda0=` gives your own grid and implies
        "lambda0".
    k : a size or list of sizes to keep; max_k : largest size, default min(p, n_eff // 2, 100).
    fit_intercept, standardize : bool. The intercept is never penalised nor counted.
    sample_weight : (n,) >= 0; a weight of 2 is a row twice, 0 is no row. class_weight : "balanced"
        or {label: weight}. offset : (n,) added to the linear predictor, or the name of a column of
        the DataFrame X, which then is no feature and is found by its name in new rows.
    lower, upper : bounds in the user's units: scalar, (p,) or {name: bound}; must contain 0 except
        for forced columns.
    always_include, exclude : columns (names, indices or mask) in every model, or in none.
        penalty_factor : (p,) f_j >= 0, or {name: f_j} (1 else).
    groups : p labels (None: no group), {label: columns} or a list of lists of columns, by names or
        indices, in any order; a column in no group is one of its own. The penalty then counts
        groups: k is the number of chosen groups, `Model.groups` their labels, `n_nonzero` still
        counts coefficients. Groups may overlap: beta = sum of v^(g) over the chosen groups g, v^(g)
        zero off g, so a column may be used once one of its groups is chosen; lambda1, lambda2 and
        bounds are those of beta (Jacob, Obozinski & Vert, ICML 2009). max_k : largest number of
        groups, default min(groups, 100, n_eff / 2 over their mean size). always_include, exclude :
        also labels of groups, if they are text (a number is a column); a column that is included
        brings in its groups. penalty_factor : one per group, {label: factor}, or (p,) with equal
        values within a group. algorithm="swap", "feature_generating", or "exact"
        for at most 12 groups that may be chosen, whose sets are all refitted; certify=True needs
        lambda2 > 0.
    feature_names : p names, of an array or sparse X; a DataFrame brings its own. Default x0, x1,
        ...
    lambda_scale : "mean", or "l0learn" to give lambda0, lambda1, lambda2 in the scale of L0Learn.
    tol : accuracy; moves that lower the objective by less than tol / 100 (relative) are not taken
        ("swap", "CDPSI", "cd": of its sweeps; the others: `tol` and `max_iter` of their records).
    max_iter : Newton steps or sweeps per solve.
    time_limit : seconds; what is solved by then is returned. n_jobs : threads (default all).
        random_state : seed of effort="high".
    progress : bars on stderr (in a notebook below the cell) over models, bounds and proofs.
    certify : True gives every solution a `lower_bound` and `gap` by weak duality: no model of at
        most k unforced columns (on a lambda0 grid: none at all) has an objective below it.
        Solutions whose gap is closed to 1e-6 become "global". Needs lambda2 > 0, bounds on every
        column, or a squared loss with more rows than columns; else NaN, and `path.notes` says why.
        With groups: lambda2 > 0, no bounds on coefficients, and not the Poisson or hinge loss;
        their relaxations are solved by cutting planes (Tan, Tsang & Wang, JMLR 15, 2014), see
        docs/bounds.md. `Path.certify` searches for one solution until it is proved.
    on_solution : called with a Model each time a size is verified, again where a better model or a
        stronger claim follows; returning True stops.

    Formulas
    --------
    fit("y ~ a + C(b) + bs(c, df=4) + a:c", data, ...) : data is a DataFrame, the formula in the
    grammar of formulaic (Wilkinson & Rogers, Applied Statistics 22, 1973): + - : * ** / and "." for
    all
        columns that are not on the left (nor named by sample_weight and the like), backticks around
        names with spaces; text and categories are factors, coded against their first level where
        the formula has an intercept; C(), bs(), cs(), cc(), poly(), center(), scale(), np.log() and
        functions of your own. The left side is a column or an expression; two classes need no
        coding.
    A term of several columns (a factor, a spline) is one group, so that k counts terms;
    groups=False counts columns, other `groups` are taken as they are. always_include, exclude,
    lower, upper,
        penalty_factor name columns ("b[T.v]"), terms ("C(b)") or groups. Nothing keeps an
        interaction from entering without the terms it contains. Where that happens through a
        factor, the model depends on the factor's first level, and `path.notes` names the term:
        name the lower terms in always_include= where that matters.
    Rows with missing values in columns that are used are dropped: `path.n_dropped`, `path.notes`.
    sample_weight, offset (groups_cv, fold ids) have one value per row of data before, or name a
    column. A term offset(expression), as offset(np.log(exposure)), is added to the linear predictor
    with the coefficient 1, there and in predictions; several add up. "- 1" or "+ 0" means
    fit_intercept=False, and no other value is then taken. Levels,
    knots and centres are those of the rows used, and new rows are coded by them.

    Returns
    -------
    Path. `path.status` says how it ended, `path.notes` what was noticed.

    Raises
    ------
    ValueError, TypeError naming the argument, its value and the remedy.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.fit(X, y, max_k=4).support(k=2)
    array([2, 7])
    """
    if not isinstance(certify, (bool, np.bool_)):
        raise TypeError(f"certify={certify!r} must be True or False")
    if not isinstance(loss, str):
        raise ValueError(
            f"loss={loss!r} must be the name of a loss, such as 'squared' or 'logistic'"
        )
    loss = canonical_name(
        loss,
        exact=hasattr(algorithm, "start") or (isinstance(algorithm, str) and algorithm == "exact"),
    )
    if on_solution is not None and not callable(on_solution):
        raise TypeError(f"on_solution={on_solution!r} must be a function of one Model, or None")
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer))
    ):
        raise TypeError(f"n_jobs={n_jobs!r} must be None, -1 or a whole number >= 1")
    data, notes, by_name, response = inputs.parse(
        X,
        y,
        loss=loss,
        fit_intercept=fit_intercept,
        standardize=standardize,
        sample_weight=sample_weight,
        class_weight=class_weight,
        pos_label=pos_label,
        offset=offset,
        lower=lower,
        upper=upper,
        always_include=always_include,
        exclude=exclude,
        penalty_factor=penalty_factor,
        feature_names=feature_names,
        gamma=gamma,
        delta=delta,
        groups=groups,
        read=False,
    )
    plan = make_plan(
        algorithm=algorithm,
        penalty=penalty,
        grid=grid,
        k=k,
        max_k=max_k,
        n_lambda0=n_lambda0,
        lambda0=lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        n_shrink=n_shrink,
        tol=tol,
        max_iter=max_iter,
        time_limit=time_limit,
        random_state=random_state,
    )
    encoding = X.formula if isinstance(X, formula.Encoded) else None
    notes = [*formula.notes(encoding), *notes]
    refuse(plan, data)
    plan, more = scaled(plan, data, lambda_scale, sample_weight)
    # the kernels of a default fit are known beforehand, so that other processes can compile too
    known = (loss,) if isinstance(algorithm, str) and algorithm == "swap" and groups is None else ()
    with threads.limited(n_jobs), HELPING_PROCESSES.compiling(*known, n_jobs=n_jobs):
        return solve(
            data,
            plan,
            notes=[*notes, *more],
            by_name=by_name,
            response=response,
            on_solution=on_solution,
            progress=progress,
            check_columns=True,
            certify=bool(certify),
            formula=encoding,
            offset_name=X.offset if isinstance(X, formula.Encoded) else None,
            pilot=loss == "huber" and delta is None,
        )
