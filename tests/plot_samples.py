"""Data that several files of tests of plots draw."""

from types import SimpleNamespace

import numpy as np
from lazy import lazy

plt = lazy("matplotlib.pyplot")


def response(X, seed=1):
    rng = np.random.default_rng(seed)
    return X[:, :8] @ np.array([3.0, -2.5, 2.0, -1.5, 1.2, 1.0, -0.8, 0.6]) + rng.standard_normal(
        len(X)
    )


def fake_cv(path, best, near):
    table = path.table[["k", "lambda0", "lambda1", "lambda2", "n_nonzero"]].copy()
    table["cv_mean"] = (
        (table["k"] - path.solutions[best].k) ** 2 * 0.1 + 1.0 + 0.01 * path.table["slice"]
    )
    table["cv_se"] = 0.2
    return SimpleNamespace(
        table=table,
        path=path,
        scoring="mse",
        greater_is_better=False,
        index=lambda which: {"min": best, "1se": near}[which],
    )
