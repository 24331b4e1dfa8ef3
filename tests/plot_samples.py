"""Data that several files of tests of plots draw."""

import numpy as np
from lazy import lazy

import l0path

plt = lazy("matplotlib.pyplot")


def response(X, seed=1):
    rng = np.random.default_rng(seed)
    return X[:, :8] @ np.array([3.0, -2.5, 2.0, -1.5, 1.2, 1.0, -0.8, 0.6]) + rng.standard_normal(
        len(X)
    )


class FakeCV(l0path.CVPath):
    """A cross-validation with made-up scores, in `made`, and made-up choices."""

    scores = property(lambda self: self.made)

    def select(self, rule=None, **selector):
        return self.choices[rule] if rule in self.choices else super().select(rule, **selector)


def fake_cv(path, best, near):
    table = path.details[["k", "lambda0", "lambda1", "lambda2", "n_features"]].copy()
    table["cv_mean"] = (
        (table["k"] - path._solutions[best].k) ** 2 * 0.1 + 1.0 + 0.01 * path.details["slice"]
    )
    table["cv_se"] = 0.2
    FakeCV.choices, folds = {"min": best, "1se": near}, table[["cv_mean"]]
    cv = FakeCV(path, folds, folds > np.inf, scoring="mse", greater_is_better=False)
    cv.made, cv.choices = table, {"min": best, "1se": near}
    return cv
