"""Data of cross-validations, and the hand-written loop over folds."""

import numpy as np
from lazy import lazy

import l0path

joblib = lazy("joblib")


metrics = lazy("sklearn.metrics")


model_selection = lazy("sklearn.model_selection")


def sample(kind="real", n=60, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 3, p) + 1.0
    eta = X[:, 1] - 0.6 * X[:, 4] - 0.5
    if kind == "real":
        return X, eta + rng.standard_normal(n)
    return X, np.where(
        rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"
    ) if kind == "classes" else rng.poisson(np.exp(0.4 * eta)).astype(float)


def by_hand(X, y, pairs, score, *, sample_weight=None, offset=None, **arguments):
    """(rows of the path, folds) scores: rows copied, fitted and scored one fold at a time; score(y,
    eta, weights).
    """
    out = []
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    for train, test in pairs:
        more = {} if sample_weight is None else {"sample_weight": w[train]}
        if offset is not None:
            more["offset"] = offset[train]
        path = l0path.fit(X[train], y[train], **arguments, **more)
        eta = path.predict(X[test], type="link", offset=None if offset is None else offset[test])
        out.append([score(y[test], eta[:, i], w[test]) for i in range(len(path))])
    return np.array(out).T
