"""Near combinations under lambda1, bounds and faint ridges, for every loss: what paths claim
against the optima of all supports, found without the package (near_optima.py).
"""

from itertools import product

import numpy as np
import pytest
from asked import loss_with
from near_optima import every
from thinning import diagonals, slow_but

import l0path

N = 40
KINDS = ("copies", "sums", "far")


def columns(kind, apart, seed=3):
    """(X, direction): columns that differ by `apart` of a direction, or lie that near to each other
    because they are far from the origin.
    """
    rng = np.random.default_rng(seed)
    a, b, e = rng.normal(size=(3, N))
    if kind == "copies":
        return np.column_stack([a, b, -2.0 * a + apart * e]), e
    if kind == "sums":
        return np.column_stack([a, b, a - 0.5 * b + apart * e]), e
    return np.column_stack([a, b, e]) + 1.0 / apart, a - e


def response(loss, signal, seed=4):
    rng = np.random.default_rng(seed)
    if loss == "poisson":
        return rng.poisson(np.exp(0.5 * np.clip(signal, -2, 2))).astype(float)
    if loss in ("logistic", "squared_hinge", "smoothed_hinge"):
        return np.where(signal + 1.5 * rng.logistic(size=N) > 0, 1.0, -1.0)
    return signal + 0.3 * rng.normal(size=N)


CASES = {
    "lambda1": {"lambda1": 0.02},
    "faint lambda1": {"lambda1": 1e-9},
    "lambda1 and ridge": {"lambda1": 1e-8, "lambda2": 1e-12},
    "lambda1 and bounds": {"lambda1": 1e-8, "bound": 0.4},
    "bounds": {"bound": 0.4},
    "bounds and ridge": {"bound": 0.6, "lambda2": 1e-12},
    "ridge": {"lambda2": 1e-10},
}


def check(path, values):
    """The rows' objectives are the optima of their supports; no claim is refuted by another."""
    note = [text for text in path.notes if "almost linear combinations" in text]
    assert len(note) == 1 and "x2" in note[0]
    for s in path._solutions:
        chosen = tuple(np.asarray(s.support).tolist())
        exact = 1e-6 * abs(values[chosen]) + 1e-9
        assert abs(s.objective - values[chosen]) <= exact and s.status == "converged"
        assert s.optimality in ("refit_swap_m", "global", "unverified")
        rivals = [
            v
            for S, v in values.items()
            if len(S) == s.k and (s.optimality == "global" or len({*S} - {*chosen}) <= 1)
        ]
        if s.optimality != "unverified" and rivals:
            assert s.objective <= min(rivals) + exact
        if np.isfinite(s.lower_bound):
            assert s.lower_bound <= min(v for S, v in values.items() if len(S) <= s.k) + exact


LOSSES = ("squared", "logistic", "poisson", "huber", "squared_hinge", "smoothed_hinge")
APART = (1e-5, 1e-6, 1e-7, 1e-8)
QUICK = [(*cell, 1e-6) for cell in diagonals(3, LOSSES, tuple(CASES), KINDS)]


@pytest.mark.parametrize(
    ("loss", "case", "kind", "apart"), slow_but(QUICK, product(LOSSES, CASES, KINDS, APART))
)
def test_restricted_optima_and_claims(loss, case, kind, apart):
    X, direction = columns(kind, apart)
    y, words = response(loss, direction), dict(CASES[case])
    bound = words.pop("bound", np.inf) * (1.0 if kind == "far" else 1.0 / apart)
    low, high = np.full(3, -bound), np.full(3, bound)
    options = {"loss": loss_with(loss, delta=1.0), "fit_intercept": kind != "far", **words}
    if np.isfinite(bound):
        options |= {"lower": -bound, "upper": bound}
    path = l0path.fit(X, y, max_k=3, **options)
    assert path.details.k.tolist() == [0, 1, 2, 3]
    check(path, every(X, y, low, high, True, kind != "far", loss=loss, **words))
