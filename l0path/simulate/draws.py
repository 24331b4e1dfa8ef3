"""Draws of columns and coefficients for `l0path.simulate`, with the checks of its arguments."""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

import numpy as np

DESIGN_KINDS = ("ar1", "constant", "block", "iid")


class Correlation(NamedTuple):
    """The matrix Sigma of (S): its kind (one of DESIGN_KINDS), the correlation rho and the number
    of columns in a block.
    """

    kind: str
    rho: float
    block_size: int


def design_and_truth(sizes, correlation, beta, support, rng):
    """Check n, p, k; return X (n, p) and beta (p,). Draws X, then the support, then the
    coefficients.
    """
    n, p, k = (
        _count(name, value, least)
        for name, value, least in zip("npk", sizes, (1, 1, 0), strict=True)
    )
    if k > p:
        raise ValueError(
            f"k={k} nonzero coefficients do not fit in p={p} features; lower k or raise p"
        )
    return _design(n, p, correlation, rng), _coefficients(p, k, beta, support, rng)


def _design(n, p, correlation, rng):
    """n draws from N(0, Sigma) as an (n, p) Fortran-ordered array, changed in place from
    independent columns z_j:

    ar1 x_j = rho x_{j-1} + sqrt(1 - rho^2) z_j;   constant and block x_j = sqrt(1 - rho) z_j +
    sqrt(rho) u with u shared.
    """
    kind, rho, block_size = correlation
    X = rng.standard_normal((p, n)).T
    if rho == 0.0:
        return X
    if kind == "ar1":
        fresh = math.sqrt(1.0 - rho * rho)
        for j in range(1, p):
            X[:, j] *= fresh
            X[:, j] += rho * X[:, j - 1]
        return X
    width = p if kind == "constant" else block_size
    for start in range(0, p, width):
        shared = math.sqrt(rho) * rng.standard_normal(n)
        for j in range(start, min(start + width, p)):
            X[:, j] *= math.sqrt(1.0 - rho)
            X[:, j] += shared
    return X


def signal_variance(beta, correlation):
    """beta'Sigma beta in O(p): for ar1 by s_j = rho (s_{j-1} + beta_{j-1}), else from sums within
    blocks.
    """
    kind, rho, block_size = correlation
    own = float(beta @ beta)
    if rho == 0.0:
        return own
    if kind == "ar1":
        s = cross = 0.0
        for b in beta.tolist():
            cross += b * s
            s = rho * (s + b)
        return own + 2.0 * cross
    width = beta.size if kind == "constant" else block_size
    sums = np.add.reduceat(beta, np.arange(0, beta.size, width))
    return (1.0 - rho) * own + rho * float(sums @ sums)


def _coefficients(p, k, beta, support, rng):
    """beta (p,) float64 with k nonzeros, from the many ways in which it and its support may be
    given.
    """
    whole = None
    if beta is not None and not isinstance(beta, str):
        whole = np.asarray(beta, dtype=np.float64)
        if not np.isfinite(whole).all():
            raise ValueError("beta has values that are not finite; give finite coefficients")
        if whole.shape == (p,):
            return _whole_coefficients(whole.copy(), k, support)
    chosen = _support(p, k, support, rng)
    if beta is None:
        values = np.ones(k)
    elif isinstance(beta, str):
        if beta not in ("uniform", "normal"):
            raise ValueError(
                f'beta={beta!r} is not known; use "uniform", "normal", None, a number, or k or p '
                "numbers"
            )
        values = rng.uniform(-1.0, 1.0, k) if beta == "uniform" else rng.standard_normal(k)
    elif whole.ndim == 0 or whole.shape == (k,):
        values = np.broadcast_to(whole, (k,))
    else:
        raise ValueError(
            f"beta has shape {whole.shape}; give one number, k={k} numbers or p={p} numbers"
        )
    if (values == 0.0).any():
        raise ValueError(
            f"beta has {int((values == 0.0).sum())} zeros among its k={k} coefficients; give "
            "nonzero numbers or lower k"
        )
    full = np.zeros(p)
    full[chosen] = values
    return full


def _whole_coefficients(beta, k, support):
    """All p coefficients were given: the support is where they are nonzero, and must agree with k
    and a given support.
    """
    chosen = np.flatnonzero(beta)
    if chosen.size != k:
        raise ValueError(f"beta has {chosen.size} nonzero coefficients but k={k}; make them agree")
    if not isinstance(support, str) and not np.array_equal(
        _support(beta.size, k, support, None), chosen
    ):
        raise ValueError(
            f"support={support!r} is not where beta is nonzero, {chosen.tolist()}; leave support "
            "out when all p coefficients are given"
        )
    return beta


def _support(p, k, support, rng):
    """k ascending column indices out of p."""
    if isinstance(support, str):
        if support == "equispaced":
            step = p // max(k, 1)
            return step // 2 + step * np.arange(k) if k else np.arange(0)
        if support == "random":
            return np.sort(rng.choice(p, size=k, replace=False))
        raise ValueError(
            f'support={support!r} is not known; use "equispaced", "random" or an array of {k} '
            "feature indices"
        )
    chosen = np.asarray(support)
    if chosen.size == 0:
        chosen = chosen.astype(np.intp)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError(
            f"support must be a 1-D array of integer feature indices, got {chosen.dtype} of shape "
            f"{chosen.shape}"
        )
    chosen = np.sort(chosen).astype(np.intp)
    if chosen.size != k:
        raise ValueError(f"support has {chosen.size} indices but k={k}; make them agree")
    if k and (chosen[0] < 0 or chosen[-1] >= p or (np.diff(chosen) == 0).any()):
        raise ValueError(f"support={chosen.tolist()} must hold distinct indices from 0 to {p - 1}")
    return chosen


def correlation_of(kind, rho, block_size):
    """The checked record of Sigma."""
    if kind not in DESIGN_KINDS:
        raise ValueError(
            f"correlation={kind!r} is not known; use one of {', '.join(map(repr, DESIGN_KINDS))}"
        )
    rho, block_size = number("rho", rho), _count("block_size", block_size, 1)
    if kind == "iid" and rho != 0.0:
        raise ValueError(
            f'rho={rho} contradicts correlation="iid"; leave rho at 0 or choose "ar1", "constant" '
            'or "block"'
        )
    low = -1.0 if kind == "ar1" else 0.0
    if not (low < rho < 1.0 or rho == 0.0):
        allowed = "-1 < rho < 1" if kind == "ar1" else "0 <= rho < 1"
        raise ValueError(f"rho={rho} is outside {allowed}, the range for correlation={kind!r}")
    return Correlation(kind, rho, block_size)


def _count(name, value, least):
    """value as an int of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}; round it or pass int({name})")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def number(name, value):
    """value as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None


def positive_scale(scale):
    """scale as a positive, finite float."""
    scale = number("scale", scale)
    if not 0.0 < scale < math.inf:
        raise ValueError(
            f"scale must be positive and finite, got {scale}; 1.0 leaves the coefficients as they "
            "are"
        )
    return scale


def generator(random_state):
    """The Generator itself, or a new one from a seed or from the operating system."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    try:
        return np.random.default_rng(_count("random_state", random_state, 0))
    except TypeError:
        raise TypeError(
            f"random_state must be None, an integer or a numpy Generator, got {random_state!r}; "
            "pass numpy.random.default_rng(seed)"
        ) from None
