"""Random small problems of every loss, fitted and enumerated once."""

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import oracles
import pandas as pd
import scipy.sparse as sp

import l0path

STORAGE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "frame": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "csr": sp.csr_array,
    "coo": sp.coo_matrix,
}


PER_LOSS = 7  # one in every storage


class Case(NamedTuple):
    """A random small problem, the matrix in the form that is fitted, columns that stay out, and its
    path over all sizes.
    """

    d: dict
    X: object
    excluded: list
    # support -> restricted minimum, for every support that holds the forced and no excluded column
    values: dict
    path: object
    free: int

    def fitted(self, **more):
        """A path of the case by other arguments."""
        same = {"exclude": self.excluded, "max_k": self.free, **oracles.fit_keywords(self.d)}
        return l0path.fit(self.X, self.d["y"], **same, **more)


def minima(d, excluded, max_k=99):
    """{support: restricted minimum} over every admissible support with at most max_k unforced
    columns.
    """
    free = oracles._chosen(d["X"], d["forced"], excluded)
    supports = [
        tuple(sorted((*some, *d["forced"])))
        for k in range(min(max_k, len(free)) + 1)
        for some in combinations(free, k)
    ]
    return {
        support: oracles.restricted(d["X"], d["y"], support, **oracles.restricted_keywords(d))[0]
        for support in supports
    }


def vary(d, rng, storage):
    """The instance in another storage: entries thinned for sparse formats, rounded for float32;
    columns to leave out.
    """
    if storage in ("csr", "coo"):
        d["X"] = d["X"] * (rng.random(d["X"].shape) < 0.6)
    if storage == "float32":
        d["X"] = d["X"].astype(np.float32).astype(float)
    if (
        d["loss"] == "logistic"
        and not d["lambda1"]
        and not d["lambda2"]
        and oracles.separated(d["X"], d["y"], d["weights"], d["intercept"])
    ):
        d["lambda2"] = 1e-2
    candidates = np.setdiff1d(np.arange(d["X"].shape[1]), d["forced"])
    return sorted(rng.choice(candidates, 1, replace=False).tolist()) if rng.random() < 0.3 else []


@cache
def cases(loss):
    """Random cases of a loss, solved and enumerated once."""
    rng = np.random.default_rng(101)
    out = []
    for i, d in enumerate(oracles.instances(PER_LOSS, 211, [loss])):
        storage = list(STORAGE)[i % len(STORAGE)]
        excluded = vary(d, rng, storage)
        free = d["X"].shape[1] - len(d["forced"]) - len(excluded)
        X = STORAGE[storage](d["X"])
        options = {"exclude": excluded, "max_k": free, "certify": False, **oracles.fit_keywords(d)}
        path = l0path.fit(X, d["y"], **options)
        out.append(Case(d, X, excluded, minima(d, excluded), path, free))
    return out


def unit(case):
    """The size of the loss: what tolerances are relative to."""
    return abs(case.path._meta.null_loss)


def best_of_size(case, k):
    """The least enumerated value with k unforced columns."""
    size = k + len(case.d["forced"])
    return min(v for support, v in case.values.items() if len(support) == size)


def full_beta(s, p):
    beta = np.zeros(p)
    beta[s.support] = s.beta
    return beta


def medium(seed, loss="squared", n=60, p=200, rho=0.9):
    """Correlated columns, ten small effects in neighboring pairs of opposite sign: what correlates
    most with y is not what a best subset holds.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    truth = np.zeros(p)
    at = rng.choice(np.arange(0, p - 2, 4), min(5, p // 4), replace=False)
    truth[at], truth[at + 2] = 2.0, -1.8
    signal = X @ truth
    return X, signal + rng.normal(size=n) if loss == "squared" else oracles._response(
        loss, signal, rng
    )
