"""The door: `fit` checks its arguments, poses the problem, runs the path engine for every (lambda1, lambda2) and returns a `Path` in the user's units."""
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from . import inputs
from .designs import threads
from .engines import make_engine
from .errors import ConvergenceWarning, SeparationWarning
from .grids import hull, hull_grid, shrink_grid
from .losses import Huber, Poisson, SmoothedHinge, canonical_name, mean_loss, name_of, smoothness
from .paths import Model, Path
from .paths.records import Meta, Solution, Source
from .problem import Fit, effective_rows, pose, row_weights
from .solvers.local_search import LocalSearch, pairs_tried
from .working_set import Clock, Stop, make_model, null_gradient

PENALTIES = {"L0": (), "L0L1": (1,), "L0L2": (2,), "L0L1L2": (1, 2)}
LATER = {"dual_iht", "stochastic_dual_iht", "primal_dual", "pg", "apg", "pg+", "apg+", "pg_ll", "htp", "feature_generating", "exact"}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a path is solved: everything but the data. lambda1, lambda2 are arrays or None (default grid, or 0 when the penalty does not name the term)."""

    settings: Any
    penalty: str = "L0"
    grid: str = "support"
    sizes: tuple | None = None
    max_k: int | None = None
    n_lambda0: int = 100
    lambda0: Any = None
    lambda1: Any = None
    lambda2: Any = None
    n_shrink: int = 10
    tol: float = 1e-8
    max_iter: int = 1000
    time_limit: float | None = None
    random_state: int | None = None


def fit(X, y=None, *, loss="squared", penalty="L0", algorithm="swap", grid="support", k=None, max_k=None, n_lambda0=100, lambda0=None, lambda1=None, lambda2=None, n_shrink=10,
        fit_intercept=True, standardize=True, sample_weight=None, class_weight=None, offset=None, lower=-math.inf, upper=math.inf, always_include=None, exclude=None, penalty_factor=None, groups=None,
        feature_names=None, gamma=0.25, delta=None, lambda_scale="mean", tol=1e-8, max_iter=1000, time_limit=None, certify=False, n_jobs=None, random_state=None, progress=False, on_solution=None):
    """Fit the whole path of best-subset models: for every size k = 0..max_k (or every lambda0) the best model found, checked over all columns.

        minimise  (1 / sum w) sum_i w_i loss(y_i, o_i + beta0 + x_i'beta) + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1 + lambda2 ||b||_2^2,   lower <= beta <= upper
        b_j = s_j beta_j,  s_j the weighted standard deviation of column j if standardize, else 1        (Dedieu, Hazimeh & Mazumder, JMLR 22:135, 2021, eq. (1))

    Parameters
    ----------
    X : (n, p) array of numbers (any real dtype, C or F order), DataFrame, SciPy sparse matrix, or a design of `l0path.designs`. Never copied or changed.
    y : (n,) response: real numbers, counts >= 0 (poisson), or two classes of any dtype (`path.classes` = (negative, positive)).
    loss : "squared", "logistic", "squared_hinge", "smoothed_hinge" (width `gamma`, 0.25), "huber" (threshold `delta` in units of y, None: 1.345 x normalised MAD), "poisson".
    penalty : "L0", "L0L1", "L0L2", "L0L1L2": the terms that get a default grid of `n_shrink` values. lambda1 / lambda2 given (scalar or sequence) are always used; neither given nor named means 0.
    algorithm : "swap" (default), "cd", or a settings record of `l0path.solvers` such as LocalSearch(effort="fast" | "default" | "high", refit=True, swap_size=1).
    grid : "support" (every size) or "lambda0" (each next lambda0 just below the value at which the support changes, at most `n_lambda0` values); `lambda0=` gives your own grid and implies "lambda0".
    k : a size or list of sizes to keep; max_k : largest size, default min(p, n_eff // 2, 100).
    fit_intercept, standardize : bool. The intercept is never penalised nor counted.
    sample_weight : (n,) >= 0; a weight of 2 is a row twice, 0 is no row. class_weight : "balanced" or {label: weight}. offset : (n,) added to the linear predictor.
    lower, upper : bounds in the user's units: scalar, (p,) or {name: bound}; must contain 0 except for forced columns.
    always_include, exclude : columns (names, indices or mask) in every model, or in none. penalty_factor : (p,) f_j >= 0.
    lambda_scale : "mean", or "l0learn" to give lambda0, lambda1, lambda2 in the scale of L0Learn.
    tol : accuracy; moves that lower the objective by less than tol / 100 (relative) are not taken. max_iter : Newton steps or sweeps per solve.
    time_limit : seconds; what is solved by then is returned. n_jobs : threads (default all). random_state : seed of effort="high". progress : bar on stderr.
    on_solution : called with a Model each time a size is verified; returning True stops.

    Returns
    -------
    Path. `path.status` says how it ended, `path.notes` what was noticed.

    Raises
    ------
    ValueError, TypeError naming the argument, its value and the remedy.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0); X = rng.standard_normal((80, 12)); y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.fit(X, y, max_k=4).support(k=2)
    array([2, 7])
    """
    if isinstance(X, str):
        raise ValueError("the formula interface is not in this version; build the columns with formulaic.model_matrix(formula, data) and pass them as X")
    if groups is not None:
        raise ValueError("groups= is not in this version: the penalty counts columns; leave groups=None")
    if certify:
        raise ValueError("certify=True is not in this version: bounds are not computed yet; leave certify=False")
    if not isinstance(loss, str):
        raise ValueError(f"loss={loss!r} must be the name of a loss, such as 'squared' or 'logistic'")
    loss = canonical_name(loss)
    if on_solution is not None and not callable(on_solution):
        raise TypeError(f"on_solution={on_solution!r} must be a function of one Model, or None")
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer))):
        raise TypeError(f"n_jobs={n_jobs!r} must be None, -1 or a whole number >= 1")
    data, notes, by_name, response = inputs.parse(X, y, loss=loss, fit_intercept=fit_intercept, standardize=standardize, sample_weight=sample_weight, class_weight=class_weight, offset=offset, lower=lower,
                                                  upper=upper, always_include=always_include, exclude=exclude, penalty_factor=penalty_factor, feature_names=feature_names, gamma=gamma, delta=delta)
    plan = make_plan(algorithm=algorithm, penalty=penalty, grid=grid, k=k, max_k=max_k, n_lambda0=n_lambda0, lambda0=lambda0, lambda1=lambda1, lambda2=lambda2, n_shrink=n_shrink, tol=tol,
                     max_iter=max_iter, time_limit=time_limit, random_state=random_state)
    plan, more = _scaled(plan, data, lambda_scale, sample_weight)
    with threads.limited(n_jobs):
        return solve(data, plan, notes=[*notes, *more], by_name=by_name, response=response, on_solution=on_solution, progress=progress, check_columns=True)


def make_plan(*, algorithm, penalty, grid, k, max_k, n_lambda0, lambda0, lambda1, lambda2, n_shrink, tol, max_iter, time_limit, random_state):
    """Check everything of `fit` that does not depend on the data."""
    if not isinstance(penalty, str) or penalty not in PENALTIES:
        raise ValueError(f"penalty={penalty!r} is not known; choose one of {', '.join(PENALTIES)}")
    if not isinstance(grid, str) or grid not in ("support", "lambda0"):
        raise ValueError(f"grid={grid!r} is not known; choose 'support' or 'lambda0'")
    sizes, max_k = None, None if max_k is None else _whole(max_k, "max_k", 0)
    if k is not None:
        listed = list(k) if isinstance(k, (list, tuple, range, pd.Series, pd.Index)) or (isinstance(k, np.ndarray) and k.ndim) else [k]
        sizes = tuple(sorted({_whole(v, "k", 0) for v in listed}))
        if not sizes:
            raise ValueError("k=[] is empty; give a size, a list of sizes, or None for all")
        if max_k is not None and max_k < sizes[-1]:
            raise ValueError(f"max_k={max_k!r} is below the largest k asked for, {sizes[-1]}")
        max_k = sizes[-1] if max_k is None else max_k
    if lambda0 is not None:
        if grid == "support" and k is not None:
            raise ValueError("k= and lambda0= are two ways to choose a model; give one of them")
        grid = "lambda0"
        lambda0 = np.sort(_numbers(lambda0, "lambda0"))[::-1]
    if grid == "lambda0" and sizes is not None:
        raise ValueError("k= needs grid='support'; on a lambda0 grid use max_k= and choose a size afterwards with path.model(k=)")
    for name, value in (("tol", tol), ("time_limit", time_limit)):
        if (value is not None or name == "tol") and not (isinstance(value, (int, float, np.integer, np.floating)) and value > 0):
            raise ValueError(f"{name}={value!r} must be a positive number")
    if random_state is not None and not isinstance(random_state, np.random.Generator) and not (isinstance(random_state, (int, np.integer)) and random_state >= 0):
        raise ValueError(f"random_state={random_state!r} must be None, an integer >= 0 or a numpy Generator")
    return Plan(settings=_settings(algorithm, tol), penalty=penalty, grid=grid, sizes=sizes, max_k=max_k, n_lambda0=_whole(n_lambda0, "n_lambda0", 1), lambda0=lambda0,
                lambda1=None if lambda1 is None else _numbers(lambda1, "lambda1"), lambda2=None if lambda2 is None else _numbers(lambda2, "lambda2"), n_shrink=_whole(n_shrink, "n_shrink", 1),
                tol=float(tol), max_iter=_whole(max_iter, "max_iter", 1), time_limit=time_limit, random_state=random_state)


def _whole(value, name, least):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number >= {least}")
    return int(value)


def _numbers(value, name):
    try:
        out = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}={value!r} must be a number or a sequence of numbers") from error
    if not out.size or not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(f"{name}={value!r} must be finite and >= 0, one number or a non-empty sequence")
    return np.unique(out)[::-1]


def _settings(algorithm, tol):
    """The settings record of an algorithm name or record."""
    if not isinstance(algorithm, str):
        if isinstance(algorithm, LocalSearch) or hasattr(algorithm, "max_sweeps"):
            return algorithm
        raise TypeError(f"algorithm={algorithm!r} must be a name or a settings record of l0path.solvers, such as LocalSearch(effort='high')")
    if algorithm == "swap":
        return LocalSearch(tol=tol)
    if algorithm == "CDPSI":
        return LocalSearch(tol=tol, refit=False)
    if algorithm in ("cd", "CD"):
        from .solvers.coordinate_descent import CoordinateDescent

        return CoordinateDescent(tol=tol)
    if algorithm in LATER:
        raise ValueError(f"algorithm={algorithm!r} is not in this version; choose 'swap' or 'cd'")
    raise ValueError(f"algorithm={algorithm!r} is not known; choose 'swap', 'cd', 'CDPSI' or a settings record of l0path.solvers")


def _scaled(plan, data, lambda_scale, sample_weight):
    """Turn lambdas given in L0Learn's scale into ours (spec A.2): squared lambda0 = sd_y^2 L0, lambda1 = sd_y L1; classes lambda0 = L0 / n, lambda1 = L1 / sqrt(n); lambda2 is the same."""
    if lambda_scale == "mean":
        return plan, []
    if lambda_scale != "l0learn":
        raise ValueError(f"lambda_scale={lambda_scale!r} is not known; choose 'mean' or 'l0learn'")
    if sample_weight is not None or not data.standardize or not data.intercept:
        raise ValueError("lambda_scale='l0learn' is defined with standardize=True, fit_intercept=True and no weights; use lambda_scale='mean'")
    n = data.y.size
    f0, f1 = (float(data.y.var()), float(data.y.std())) if data.classes is None else (1.0 / n, 1.0 / math.sqrt(n))
    times = lambda grid, f: None if grid is None else grid * f
    return replace(plan, lambda0=times(plan.lambda0, f0), lambda1=times(plan.lambda1, f1)), [f"lambda_scale='l0learn': lambda0 was multiplied by {f0:.6g}, lambda1 by {f1:.6g}; the table shows the mean-loss scale"]


def default_max_k(data, n_eff):
    """min(p, n_eff // 2, 100)."""
    return int(min(data.design.p, n_eff // 2, 100))


def slices_of(problem, model, plan):
    """(lambda1, lambda2) pairs, largest shrinkage first; default grids where the penalty names a term that is not given."""
    named = PENALTIES[plan.penalty]
    null = model.null(0.0, 0.0)
    lambda1, lambda2 = plan.lambda1, plan.lambda2
    if lambda1 is None:
        lambda1 = shrink_grid(max(float(np.abs(null_gradient(model, null)).max(initial=0.0)), 1e-300), plan.n_shrink) if 1 in named else np.zeros(1)
    if lambda2 is None:
        top = smoothness(problem.loss)
        if not math.isfinite(top):  # the Poisson curvature has no bound: its mean at the null model stands in
            top = float(model.derivatives(null)[2].sum())
        lambda2 = shrink_grid(top, plan.n_shrink) if 2 in named else np.zeros(1)
    return [(float(a), float(b)) for a in lambda1 for b in lambda2]


def solve(data, plan, *, keep=None, slices=None, columns=(), notes=(), by_name=False, response=None, on_solution=None, progress=False, check_columns=False):
    """Run a plan on all rows, or on a training set `keep` (n,): the Path. slices, columns: (lambda1, lambda2) pairs and starting working columns from an earlier fit."""
    notes = list(notes)
    problem = pose(data, keep)
    if check_columns:
        more, equal = inputs.column_notes(data, problem.usable)
        notes += more
        equal = np.setdiff1d(equal, problem.forced)
        if equal.size:
            excluded = data.excluded.copy()
            excluded[equal] = True
            data, problem = replace(data, excluded=excluded), replace(problem, usable=problem.usable & ~excluded)
    run = _Run(data, problem, plan, keep, notes, on_solution, progress)
    run.prepare(slices, columns)
    run.all_slices()
    return run.path(by_name, response)


class _Run:
    """One call's progress: solutions so far survive whatever ends it."""

    def __init__(self, data, problem, plan, keep, notes, on_solution, progress):
        self.data, self.problem, self.plan, self.keep, self.notes = data, problem, plan, keep, notes
        self.on_solution, self.progress = on_solution, progress
        self.clock = Clock(plan.time_limit)
        self.solutions, self.rounds, self.end, self.torn, self.separated = [], [], "", False, None
        self.weights = row_weights(data, keep)

    def prepare(self, slices, columns):
        p, plan = self.problem, self.plan
        free = int(p.usable.sum()) - p.forced.size
        want = default_max_k(self.data, p.n_eff) if plan.max_k is None else plan.max_k
        self.max_k = max(min(want, free), 0)
        if plan.max_k is not None and self.max_k < want:
            self.notes.append(f"max_k = {want} was clipped to {self.max_k}, the number of usable columns")
        self.model = make_model(p)
        self.model.max_iter = plan.max_iter
        self.model.grow(p.forced)
        self.model.grow(np.asarray(columns, dtype=np.int64))
        self.slices = slices if slices is not None else slices_of(p, self.model, plan)
        self.meta = None

    def all_slices(self):
        bar = None
        if self.progress:
            from tqdm.auto import tqdm

            bar = tqdm(total=len(self.slices) * (self.max_k + 1), desc="l0path", unit="model")
        supports = []
        try:
            for number, (lambda1, lambda2) in enumerate(self.slices):
                supports = self.one_slice(number, lambda1, lambda2, supports, bar)
                if self.end:
                    break
        finally:
            if bar is not None:
                bar.close()

    def one_slice(self, number, lambda1, lambda2, supports, bar):
        """Solve a slice; whatever stops it, keep its solutions."""
        engine = None
        seen = set()

        def listener(k, fit, optimality, lambda0):
            if bar is not None and k not in seen:
                bar.update(1)
            seen.add(k)
            if self.on_solution is not None:
                point = self.solution(number, k, fit, lambda1, lambda2, optimality, lambda0)
                if self.on_solution(Model(Path(self.describe(), [point], "running", self.notes, (), Source(self.data, self.plan)), 0)) is True:
                    raise Stop("stopped by on_solution")

        rng = self.plan.random_state if isinstance(self.plan.random_state, np.random.Generator) else np.random.default_rng(0 if self.plan.random_state is None else self.plan.random_state)
        try:
            engine = make_engine(self.model, self.plan, lambda1=lambda1, lambda2=lambda2, max_k=self.max_k, clock=self.clock, rng=rng, supports=supports, listener=listener)
            engine.run()
        except Stop as stop:
            self.end = str(stop)
        except KeyboardInterrupt:
            self.end, self.torn = "interrupted (Ctrl-C)", True
        if engine is None:
            return supports
        if hasattr(engine, "points"):
            self.collect_points(number, engine, lambda1, lambda2)
        else:
            self.collect(number, engine, lambda1, lambda2)
        self.rounds += [{"slice": number, "round": r, **row} for r, row in enumerate(engine.rounds)]
        return engine.supports_found() if hasattr(engine, "supports_found") else []

    def collect(self, number, engine, lambda1, lambda2):
        """Solutions of a slice, by size or by lambda0."""
        rows = [(k, engine.store.fits[k], engine.optimality(k)) for k in sorted(engine.store.fits)]
        points = [self.solution(number, k, fit, lambda1, lambda2, optimality) for k, fit, optimality in rows]
        x = [self.cost(p) for p in points]
        intervals = self.intervals(engine, points, x)
        for i, low, high in intervals:
            points[i] = points[i]._replace(lambda0_low=low, lambda0_high=high)
        if not self.note_separation(points) and engine.store.end == "saturated" and engine.store.last < self.max_k:
            self.notes.append(f"slice {number}: sizes end at k = {engine.store.last}, where the fit is perfect or no column is independent of the support")
        if self.plan.grid == "lambda0":
            points = self.on_lambda0(points, intervals, x)
        elif self.plan.sizes is not None:
            kept = [p for p in points if p.k in self.plan.sizes]
            lost = [k for k in self.plan.sizes if k not in {p.k for p in kept}]
            if lost and not self.end:
                self.notes.append(f"k = {', '.join(map(str, lost))} {'are' if len(lost) > 1 else 'is'} beyond the largest size that could be fitted, {points[-1].k}")
                kept = kept if points[-1] in kept else [*kept, points[-1]]
            points = kept
        self.solutions += points

    def collect_points(self, number, engine, lambda1, lambda2):
        """Solutions of a lambda0 path, one per value."""
        points = [self.solution(number, engine.size(p.fit), p.fit, lambda1, lambda2, p.optimality, p.lambda0) for p in engine.points]
        null = self.solution(number, 0, engine.null, lambda1, lambda2, "")  # intervals start from it even where no lambda0 of the grid shows it
        ends = [null, *points]
        for i, low, high in hull([self.cost(p) for p in ends], [p.loss + p.shrinkage for p in ends]):
            if low == 0.0 and engine.points and engine.points[-1].lambda_lo > 0.0:
                low = min(engine.points[-1].lambda_lo, high)  # below it another column enters
            for at in [i - 1] if i else [t for t, p in enumerate(points) if p.k == 0]:
                points[at] = points[at]._replace(lambda0_low=low, lambda0_high=high)
        self.note_separation(points)
        self.notes += engine.notes
        self.solutions += points

    def cost(self, point):
        """sum f_j over the unforced columns of a solution: what lambda0 multiplies."""
        return float(self.data.factor[point.support[~np.isin(point.support, self.problem.forced)]].sum())

    def note_separation(self, points):
        """Remember the first separated size for the status and the one warning."""
        sizes = [p.k for p in points if "separated" in p.flags]
        if sizes:
            self.separated = min(sizes) if self.separated is None else min(self.separated, *sizes)
        return bool(sizes)

    def intervals(self, engine, points, x):
        """Hull intervals; one column beyond max_k, by its best addition, bounds the last from below."""
        F = [p.loss + p.shrinkage for p in points]
        # an interrupt may fall where the working columns are half updated: no kernel may run on them after it
        beyond = engine.next_value() if not self.torn and points and points[-1].k == engine.store.last == self.max_k else None
        if beyond is None:
            return hull(x, F)
        return [piece for piece in hull([*x, x[-1] + 1.0], [*F, beyond]) if piece[0] < len(points)]

    def on_lambda0(self, points, intervals, x):
        """Rows for lambda0 values: the dynamic grid of the hull, or the user's, each with the stored model of least loss + shrinkage + lambda0 sum f."""
        F = np.array([p.loss + p.shrinkage for p in points])
        dynamic = self.plan.lambda0 is None
        values = hull_grid(intervals, self.plan.n_lambda0) if dynamic else self.plan.lambda0
        out, short = [], 0
        checked = "refit_swap" if self.problem.quadratic and not self.problem.boxed and not points[0].lambda1 else "refit_swap_m"  # the only model of a size need not be the best for a lambda0
        floor = intervals[-1][1] if intervals else 0.0
        for value in values:
            i = intervals[len(out)][0] if dynamic else int(np.argmin(F + value * np.asarray(x)))
            point = points[i]
            flags = point.flags
            if not dynamic and value < floor and not self.end:
                flags, short = (*flags, "max_k"), short + 1
            out.append(point._replace(lambda0=float(value), objective=float(F[i] + value * x[i]), flags=flags, lower_bound=float("nan"),
                                      optimality=checked if point.optimality == "global" else point.optimality))
        if short:
            self.notes.append(f"{short} of the lambda0 values call for more than max_k = {self.max_k} columns; their rows show the best model up to that size and carry the flag max_k")
        return out

    def solution(self, number, k, fit, lambda1, lambda2, optimality, lambda0=float("nan")):
        """A Fit in the user's units; its loss is computed from the coefficients as returned."""
        X, data = self.problem.X, self.data
        support = fit.support
        beta = fit.b / X.scale[support]
        intercept = float(fit.b0 - X.center[support] @ beta) if data.intercept else 0.0
        eta = intercept + data.design.dot(support, beta) if support.size else np.full(data.y.size, intercept)
        if data.offset is not None:
            eta = eta + data.offset
        loss = float(mean_loss(data.loss, data.y, eta, self.weights))
        b = beta * X.scale[support]
        shrinkage = float(lambda1 * np.abs(b).sum() + lambda2 * b @ b)
        flags = list(fit.flags)
        if np.count_nonzero(beta) < support.size:
            flags.append("fewer_nonzeros")
        if optimality == "refit_swap_m" and isinstance(self.plan.settings, LocalSearch):
            flags.append(f"m={pairs_tried(self.plan.settings, X.n, support.size)}")
        status = "separated" if "separated" in flags else "not_converged" if "not_converged" in flags else "converged"
        on_grid = not math.isnan(lambda0)
        loose = (beta != 0) & ~np.isin(support, self.problem.forced)
        objective = loss + shrinkage + (lambda0 * float(data.factor[support[loose]].sum()) if on_grid else 0.0)
        alone = k == 0 and not self.problem.forced.size and not on_grid
        if optimality != "unverified" and status == "converged" and (alone or (not on_grid and k == int(self.problem.usable.sum()) - self.problem.forced.size)):
            optimality = "global"  # the only support of its size
        return Solution(slice=number, k=k, support=support, beta=beta, intercept=intercept, lambda0=lambda0, lambda1=lambda1, lambda2=lambda2, loss=loss, shrinkage=shrinkage, objective=objective,
                        lower_bound=objective if alone else float("nan"), status=status, optimality=optimality, flags=tuple(flags))

    def describe(self, by_name=False, response=None):
        """The path's Meta."""
        if self.meta is not None:
            return self.meta
        data, X = self.data, self.problem.X
        bare = make_model(replace(self.problem, forced=np.empty(0, dtype=np.int64))) if not self.problem.quadratic else self.model
        empty = np.empty(0, dtype=np.int64)
        start = self.problem.shift if self.problem.quadratic else bare.refit(empty, 0.0, 0.0).b0
        null = self.solution(0, 0, Fit(empty, np.empty(0), start, 0.0), 0.0, 0.0, "global").loss
        parameter = data.loss.gamma if isinstance(data.loss, SmoothedHinge) else data.loss.delta if isinstance(data.loss, Huber) else None
        terms = "L0" + ("L1" if any(a for a, _ in self.slices) else "") + ("L2" if any(b for _, b in self.slices) else "")
        counted = data.weights if self.keep is None else data.weights * self.keep
        self.meta = Meta(names=list(data.names), n=data.design.n, p=data.design.p, n_eff=effective_rows(counted), loss=name_of(data.loss), loss_parameter=parameter, intercept=data.intercept, standardize=data.standardize,
                         null_loss=null, center=X.center if data.intercept else np.zeros(X.p), scale=X.scale, forced=self.problem.forced, factor=data.factor, lower=data.lower, upper=data.upper, excluded=data.excluded, classes=data.classes, penalty=terms,
                         algorithm=type(self.plan.settings).__name__, grid=self.plan.grid, has_offset=data.offset is not None, weighted=bool(np.ptp(data.weights) > 0 or data.class_weight is not None),
                         by_name=by_name, response=response, random_state=self.plan.random_state if isinstance(self.plan.random_state, (int, np.integer)) else None,
                         checksum=inputs.checksum(data) if self.keep is None else "",
                         log_constant=float(self.weights @ np.array([math.lgamma(v + 1.0) for v in data.y])) if isinstance(data.loss, Poisson) else 0.0)
        return self.meta

    def path(self, by_name, response):
        """The Path with its status, notes and one warning of each kind."""
        self.meta = None
        sizes = [s.k for s in self.solutions]
        reach = f"k = 0..{max(sizes)}" if sizes else "nothing"
        if self.separated is not None:
            what = "separate the classes" if self.data.classes is not None else "send the rates of some rows to zero"
            status = f"ended at k = {self.separated}: its columns {what}, so the coefficients have no finite optimum; add a little shrinkage, lambda2=1e-3"
            warnings.warn(SeparationWarning(f"k = {self.separated} columns {what}, so the path ends there (coefficients stopped at |eta| = 30); pass lambda2=1e-3 to go on"), stacklevel=4)
        elif self.end:
            status = f"{self.end}; {reach} solved, {sum(s.optimality == 'unverified' for s in self.solutions)} of {len(sizes)} unverified"
        else:
            status = f"complete: {reach}"
        bad = [s.k for s in self.solutions if s.status == "not_converged"]
        if bad:
            warnings.warn(ConvergenceWarning(f"{len(bad)} of {len(sizes)} models did not converge (first k = {bad[0]}); raise max_iter, or add a little lambda2"), stacklevel=4)
        return Path(self.describe(by_name, response), self.solutions, status, self.notes, self.rounds, Source(self.data, self.plan, {"slices": self.slices, "columns": self.model.W}))
