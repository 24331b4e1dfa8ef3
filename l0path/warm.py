"""Compile and cache the kernels ahead of time, visibly."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from .designs import Dense
from .fit import fit
from .losses import NAMES, canonical_name


def warm_up(
    losses: str | Sequence[str] = ("squared", "logistic"), verbose: bool = True
) -> dict[str, float]:
    """Compile the kernels for these losses (names, or "all") by tiny fits, dense and sparse; later
    fits in any process load them from the cache on disk.

    Returns {loss: seconds}. With verbose each loss is reported on stderr.

    Raises ValueError for an unknown loss.
    """
    from scipy.sparse import csc_array

    names = (
        list(NAMES)
        if isinstance(losses, str) and losses == "all"
        else [canonical_name(name) for name in ([losses] if isinstance(losses, str) else losses)]
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    eta = X[:, 0] - X[:, 1] + rng.standard_normal(40)
    seconds = {}
    for large in (
        np.asfortranarray(X),
        X,
    ):  # larger ones than the fits below have kernels of their own
        design = Dense(large, 0)
        design.moments(np.full(40, 1 / 40), True)
        design.correlate(X[:, :2])
    for name in names:
        started = time.perf_counter()
        y = (
            np.where(eta > 0, 1, -1)
            if name in ("logistic", "squared_hinge", "smoothed_hinge")
            else np.floor(np.exp(np.clip(eta, -2, 2)))
            if name == "poisson"
            else eta
        )
        for design in (X, csc_array(X)):
            for extra in (
                {"lambda2": 1e-3},
                {"lambda1": 1e-3, "grid": "lambda0", "algorithm": "cd"},
                {"lambda2": 1e-3, "algorithm": "CDPSI"},
            ):
                fit(design, y, loss=name, max_k=3, **extra)
        seconds[name] = time.perf_counter() - started
        if verbose:
            print(f"l0path: kernels for {name} ready ({seconds[name]:.1f} s)", file=sys.stderr)
    return seconds
