"""How a path is to be solved: the arguments of `fit` that do not depend on the data, checked."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.arguments import whole
from ..errors import check_tol, refuse_masked
from . import registry

PENALTIES = {"L0": (), "L0L1": (1,), "L0L2": (2,), "L0L1L2": (1, 2)}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a path is solved: everything but the data. lambda1, lambda2 are arrays or None (default
    grid, or 0 when the penalty does not name the term).
    """

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


def make_plan(
    *,
    algorithm,
    penalty,
    grid,
    k,
    max_k,
    n_lambda0,
    lambda0,
    lambda1,
    lambda2,
    n_shrink,
    tol,
    max_iter,
    time_limit,
    random_state,
):
    """Check everything of `fit` that does not depend on the data."""
    if not isinstance(penalty, str) or penalty not in PENALTIES:
        raise ValueError(f"penalty={penalty!r} is not known; choose one of {', '.join(PENALTIES)}")
    if not isinstance(grid, str) or grid not in ("support", "lambda0"):
        raise ValueError(f"grid={grid!r} is not known; choose 'support' or 'lambda0'")
    sizes, max_k = None, None if max_k is None else whole(max_k, "max_k", 0)
    if k is not None:
        refuse_masked(k, "k")
        listed = (
            list(k)
            if isinstance(k, (list, tuple, range, pd.Series, pd.Index))
            or (isinstance(k, np.ndarray) and k.ndim)
            else [k]
        )
        sizes = tuple(sorted({whole(v, "k", 0) for v in listed}))
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
        raise ValueError(
            "k= needs grid='support'; on a lambda0 grid use max_k= and choose a size afterwards "
            "with path.model(k=)"
        )
    check_tol(tol)
    if time_limit is not None and not (
        isinstance(time_limit, (int, float, np.integer, np.floating)) and time_limit > 0
    ):
        raise ValueError(f"time_limit={time_limit!r} must be a positive number")
    if (
        random_state is not None
        and not isinstance(random_state, np.random.Generator)
        and not (isinstance(random_state, (int, np.integer)) and random_state >= 0)
    ):
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer >= 0 or a numpy Generator"
        )
    return Plan(
        settings=registry.settings_of(algorithm, tol),
        penalty=penalty,
        grid=grid,
        sizes=sizes,
        max_k=max_k,
        n_lambda0=whole(n_lambda0, "n_lambda0", 1),
        lambda0=lambda0,
        lambda1=None if lambda1 is None else _numbers(lambda1, "lambda1"),
        lambda2=None if lambda2 is None else _numbers(lambda2, "lambda2"),
        n_shrink=whole(n_shrink, "n_shrink", 1),
        tol=float(tol),
        max_iter=whole(max_iter, "max_iter", 1),
        time_limit=time_limit,
        random_state=random_state,
    )


def _numbers(value, name):
    refuse_masked(value, name)
    try:
        out = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}={value!r} must be a number or a sequence of numbers") from error
    if not out.size or not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(
            f"{name}={value!r} must be finite and >= 0, one number or a non-empty sequence"
        )
    return np.unique(out)[::-1]


def refuse(plan, data):
    """Raise ValueError where the algorithm lacks what the data or the shrinkage need, before X is
    read: at the least lambda1 and lambda2 that will be asked for.
    """
    named = PENALTIES[plan.penalty]
    least = [
        float(given.min()) if given is not None else 1.0 if term in named else 0.0
        for term, given in ((1, plan.lambda1), (2, plan.lambda2))
    ]
    registry.refuse(plan.settings, data, *least)


def scaled(plan, data, lambda_scale, sample_weight):
    """Turn lambdas given in L0Learn's scale into ours: squared lambda0 = sd_y^2 L0, lambda1 = sd_y
    L1; classes lambda0 = L0 / n, lambda1 = L1 / sqrt(n); lambda2 is the same.
    """
    if not isinstance(lambda_scale, str) or lambda_scale not in ("mean", "l0learn"):
        raise ValueError(f"lambda_scale={lambda_scale!r} is not known; choose 'mean' or 'l0learn'")
    if lambda_scale == "mean":
        return plan, []
    if sample_weight is not None or not data.standardize or not data.intercept:
        raise ValueError(
            "lambda_scale='l0learn' is defined with standardize=True, fit_intercept=True and no "
            "weights; use lambda_scale='mean'"
        )
    n = data.y.size
    f0, f1 = (
        (float(data.y.var()), float(data.y.std()))
        if data.classes is None
        else (1.0 / n, 1.0 / math.sqrt(n))
    )
    plan = replace(
        plan,
        lambda0=None if plan.lambda0 is None else plan.lambda0 * f0,
        lambda1=None if plan.lambda1 is None else plan.lambda1 * f1,
    )
    return plan, [
        f"lambda_scale='l0learn': lambda0 was multiplied by {f0:.6g}, lambda1 by {f1:.6g}; the "
        "table shows the mean-loss scale"
    ]


def default_max_k(groups, p, n_eff):
    """min(p, n_eff // 2, 100); with groups (`Groups`, else None) their number for p, and n_eff // 2
    over their mean size.
    """
    if groups is not None:
        count = len(groups.labels)
        return int(min(count, max(1, n_eff // 2 * count // groups.columns.size), 100))
    return int(min(p, n_eff // 2, 100))
