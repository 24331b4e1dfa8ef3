"""Verification by refits: an exchange that was found for a fit is tried with that fit only."""

import numpy as np

import l0path
from l0path.working_set.rows import RowModel


def test_no_column_is_fitted_twice_in_one_model(monkeypatch):
    """A size that another one improves during its verification has other columns by then."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 200))
    for j in range(1, 200):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.81) * X[:, j]
    chosen = rng.choice(200, 4, replace=False)
    life = rng.exponential(size=120) * np.exp(-X[:, chosen] @ rng.choice([-0.7, 0.7], 4))
    y = np.minimum(np.round(1 / (0.1 + life)), 50)
    fitted = []
    refit = RowModel.refit

    def watched(self, support, *arguments, **more):
        fitted.append(support)
        return refit(self, support, *arguments, **more)

    monkeypatch.setattr(RowModel, "refit", watched)
    path = l0path.fit(X, y, loss="poisson", max_k=20, lambda2=1e-3)
    assert len(fitted) > 20
    assert not [support for support in fitted if np.unique(support).size < support.size]
    assert [s.support.size for s in path._solutions] == [s.k for s in path._solutions]
