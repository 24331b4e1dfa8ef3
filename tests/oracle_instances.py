"""Random small problems with a random mixture of options, for `oracles`, and the keywords that
state them.
"""

import numpy as np
from asked import loss_with
from oracle_losses import CLASSES, LOSSES
from scipy.optimize import linprog
from scipy.special import expit

from l0path.problem.losses import traits_named


def separated(X, y, weights=None, intercept=True):
    """True if some direction separates the classes, also weakly: the unshrunk logistic loss then
    has no minimum.
    """
    keep = np.ones(len(y), bool) if weights is None else np.asarray(weights) > 0
    A = (np.column_stack([X, np.ones(len(y))]) if intercept else np.asarray(X, float))[
        keep
    ] * np.asarray(y)[keep, None]
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -found.fun > 1e-9


def _response(loss, signal, rng):
    if loss in CLASSES:
        return np.where(signal + rng.logistic(size=signal.size) > 0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(0.4 * signal + 0.7, -2, 3))).astype(float)
    if loss == "binomial":
        return rng.binomial(6, expit(signal)) / 6
    if loss in ("gamma", "negative_binomial", "tweedie"):
        mean = np.exp(np.clip(0.4 * signal + 0.7, -2, 3))
        if loss == "gamma":
            return rng.gamma(2.0, mean / 2.0)
        several = rng.poisson(rng.gamma(1.5, mean / 1.5))
        return several * (1.0 if loss == "negative_binomial" else rng.uniform(0.2, 2, mean.size))
    return signal + (
        rng.normal(size=signal.size) if loss == "squared" else rng.standard_t(2, size=signal.size)
    )


def _bounds(p, rng):
    """Bounds (lower, upper) of p coefficients, each finite for about half of them."""
    lower = np.where(rng.random(p) < 0.5, -np.inf, -rng.uniform(0, 0.6, p))
    return lower, np.where(rng.random(p) < 0.5, np.inf, rng.uniform(0.1, 0.6, p))


def instance(loss, rng, columns=(4, 8)):
    """One random small problem with a random mixture of options; see `instances`."""

    def maybe(chance):
        return bool(rng.random() < chance)

    n, p = int(rng.integers(25, 61)), int(rng.integers(columns[0], columns[1] + 1))
    common = rng.normal(size=(n, 1)) * rng.choice([0.0, 0.5, 1.5])
    X = (rng.normal(size=(n, p)) + common) * np.exp(rng.normal(size=p) * 0.5) + rng.normal(
        size=p
    ) * maybe(0.5)
    truth = np.zeros(p)
    truth[rng.choice(p, 3, replace=False)] = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.4, 1.2, 3)
    y = _response(loss, (X - X.mean(axis=0)) / X.std(axis=0) @ truth, rng)
    weights = (
        (rng.uniform(0.2, 2, n) if maybe(0.5) else rng.integers(0, 4, n).astype(float))
        if maybe(0.4)
        else None
    )
    forced = (
        sorted(rng.choice(p, int(rng.integers(1, 3)), replace=False).tolist())
        if maybe(0.25)
        else []
    )
    factor = rng.uniform(0.5, 2, p) if maybe(0.3) else np.ones(p)
    factor[forced] = 0.0
    lower, upper = _bounds(p, rng) if maybe(0.3) else (np.full(p, -np.inf), np.full(p, np.inf))
    intercept, size = maybe(0.75), 0.25 if loss == "logistic" else 1.0
    out = dict(
        loss=loss,
        X=X,
        y=y,
        weights=weights,
        offset=rng.normal(size=n) * 0.3 if maybe(0.25) else None,
        lower=lower,
        upper=upper,
    )
    out |= dict(
        penalty_factor=factor,
        forced=forced,
        standardize=maybe(0.75),
        intercept=intercept,
        gamma=float(rng.choice([0.25, 0.5])),
        delta=1.345,
    )
    out["lambda0"] = float(size * 10 ** rng.uniform(-2.5, -1))
    out["lambda1"] = float(size * 10 ** rng.uniform(-3, -1)) if maybe(0.3) else 0.0
    out["lambda2"] = float(size * 10 ** rng.uniform(-4, -0.5)) if maybe(0.5) else 0.0
    if (
        loss == "logistic"
        and not out["lambda1"]
        and not out["lambda2"]
        and separated(X, y, weights, intercept)
    ):
        out["lambda2"] = 1e-2
    return out


def instances(count, seed, losses=tuple(LOSSES), columns=(4, 8)):
    """`count` random problems of n = 25..60, p in the range of `columns`, cycling over `losses`;
    dicts with X, y, lambda0, penalty_factor, forced and the keywords of `same`.

    The unshrunk logistic loss gets classes that overlap in all columns (or else lambda2 = 0.01).
    Forced columns have penalty factor 0.
    """
    rng = np.random.default_rng(seed)
    for i in range(count):
        yield instance(losses[i % len(losses)], rng, columns)


def restricted_keywords(d):
    """The keywords `same` of an instance: `best_subsets(d["X"], d["y"], 3, forced=d["forced"],
    **restricted_keywords(d))`.
    """
    return {
        key: value
        for key, value in d.items()
        if key not in ("X", "y", "lambda0", "penalty_factor", "forced")
    }


def objective_keywords(d):
    """The keywords of `objective` for an instance."""
    return {
        key: value for key, value in d.items() if key not in ("X", "y", "forced", "lower", "upper")
    }


def fit_keywords(d):
    """The same problem in the words of the public surface: keywords of `l0path.fit`, without X, y
    and lambda0. The number of a loss other than the smoothed hinge is "delta" here.
    """
    own = traits_named(d["loss"]).parameter
    number = {own: d["gamma" if own == "gamma" else "delta"]} if own else {}
    loss = loss_with(d["loss"], **number)
    names = {"weights": "sample_weight", "intercept": "fit_intercept", "forced": "always_include"}
    return {
        names.get(key, key): value
        for key, value in d.items()
        if key not in ("X", "y", "lambda0", "gamma", "delta")
    } | {"loss": loss}
