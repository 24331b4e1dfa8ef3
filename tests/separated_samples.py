"""Small samples in which many supports have no finite optimum, for every loss that has such."""

import numpy as np
import pandas as pd

import l0path

KINDS = (
    "logistic",
    "multinomial",
    "ordinal",
    "cox",
    "poisson",
    "negative_binomial",
    "tweedie",
    "binomial",
)


def columns(rng, n, p):
    """Dummies, rare ones, whole numbers and normal columns (n, p), none of them constant."""
    out = np.empty((n, p))
    for j in range(p):
        while True:
            kind = rng.integers(4)
            out[:, j] = (
                rng.random(n) < 0.5
                if kind == 0
                else rng.permutation(n) < rng.integers(1, 4)
                if kind == 1
                else rng.integers(0, 3, n)
                if kind == 2
                else rng.standard_normal(n)
            )
            if np.ptp(out[:, j]) > 0:
                break
    return out


def sample(kind, seed, p=4):
    """(X (n, p), y as `fit` takes it, y as `separated_infima` takes it, arguments of `fit`,
    arguments of `every_infimum`).
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n = int(rng.integers(12, 28))
    X = columns(rng, n, p)
    eta = rng.choice([1.0, 2.0, 4.0]) * (X[:, 0] - X[:, 0].mean()) + rng.standard_normal(n)
    weights = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else None
    fit, more = {"loss": kind}, {}
    if kind == "logistic":
        y = (eta > 0).astype(int)
        y[:2] = 0, 1
        given, own = y, 2.0 * y - 1.0
    elif kind in ("multinomial", "ordinal"):
        r = int(rng.integers(3, 5))
        y = np.clip(np.digitize(eta, np.quantile(eta, np.arange(1, r) / r)), 0, r - 1)
        y[:r] = np.arange(r)
        given, own = y, y
        if kind == "ordinal":
            given = pd.Series(pd.Categorical(y, ordered=True))
    elif kind == "cox":
        time = np.round(rng.exponential(np.exp(-eta)) * 8 + 0.5)
        event = rng.random(n) < 0.6
        event[:2] = True
        given = np.column_stack([time, event])
        own, more = event, {"times": (time, event)}
        weights = None
    else:
        mean = np.exp(np.clip(eta, -3.0, 1.5)) * 0.7
        y = rng.poisson(mean).astype(float)
        y[0] += 1.0
        if kind == "binomial":
            trials = rng.integers(1, 4, n).astype(float)
            y = rng.binomial(trials.astype(int), 1 / (1 + np.exp(-2 * eta))) / trials
            given, own, weights = y, y, trials
        elif kind == "tweedie":
            y = y * rng.gamma(2.0, 1.0, n)
            given, own, fit["loss"] = y, y, l0path.losses.Tweedie(power=1.5)
        else:
            given, own = y, y
            if kind == "negative_binomial":
                fit["loss"] = l0path.losses.NegativeBinomial(theta=2.0)
    if weights is not None:
        fit["sample_weight"], more["weights"] = weights, weights
    return X, given, own, fit, more


def indicated(kind, n=40):
    """(X, y): column 2 indicates the first row, whose y is at an end, so that it separates it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:, 2] = np.arange(n) == 0
    eta = 0.5 * X[:, 0]
    if kind in ("logistic", "multinomial", "ordinal"):
        y = np.digitize(eta + rng.logistic(size=n), [0.0] if kind == "logistic" else [-0.7, 0.7])
    elif kind == "cox":
        y = np.column_stack([rng.exponential(np.exp(-eta)), np.ones(n)])
    elif kind == "binomial":
        y = rng.binomial(5, 1 / (1 + np.exp(-eta))) / 5
    else:
        y = rng.poisson(np.exp(eta)).astype(float)
    y[0] = (y[0, 0], 0.0) if kind == "cox" else 0
    return X, y
