"""Paths that several files of tests of plots draw."""

import numpy as np
import pandas as pd
import pytest
from plot_samples import response

import l0path


@pytest.fixture(scope="session")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 20)) * np.linspace(0.5, 3, 20) + 0.5 * rng.standard_normal(
        (120, 1)
    )


@pytest.fixture(scope="session")
def path(X):
    return l0path.fit(X, response(X), max_k=16, certify=False)


@pytest.fixture(scope="session")
def paths(X, path):
    y = response(X)
    named = pd.DataFrame(
        X, columns=[f"concentration_of_substance_number_{j}_at_the_first_visit" for j in range(20)]
    )
    return {
        "whole": path,
        "slices": l0path.fit(X, y, lambda2=[1.0, 0.1, 0.01], max_k=8),
        "one": l0path.fit(X, y, k=3),
        "null": l0path.fit(X, y, max_k=0),
        "long": l0path.fit(named, y, max_k=14),
        "classes": l0path.fit(X, y > 0, loss="logistic", lambda2=1e-2, max_k=6),
        "grid": l0path.fit(X, y, lambda0="grid", max_k=10),
        "names": l0path.fit(X[:, :4], y, feature_names=["k", "low", "high", "lambda0"]),
    }
