"""Simulated regression and classification data with a known sparse truth.

    eta_i = intercept + x_i'beta,      x_i ~ N(0, Sigma),      k of the p coefficients are nonzero                     (S)

Sigma has unit diagonal. The response is  y = eta + sigma * noise  (`linear`),  P(y = 1) = 1 / (1 +
exp(-eta))  (`logistic`) or  y ~ Poisson(exp(eta))  (`poisson`). X is (n, p) float64 in Fortran
order, drawn in O(n p) time without a p x p matrix. All randomness comes from the `random_state`
that is given; NumPy's global state is neither read nor changed.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .core.types import Seed

__all__ = ["Simulation", "linear", "logistic", "poisson"]

KINDS = ("ar1", "constant", "block", "iid")
LARGEST_MEAN = 1e9


class Correlation(NamedTuple):
    """The matrix Sigma of (S): its kind (one of KINDS), the correlation rho and the number of
    columns in a block.
    """

    kind: str
    rho: float
    block_size: int


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """One simulated data set and the truth behind it.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Columns, float64 in Fortran order.
    y : ndarray of shape (n,)
        float64 for "linear", -1 and 1 for "logistic", counts for "poisson".
    beta, support : ndarray of shape (p,) and (k,)
        The coefficients in units of X (with `scale`), and the columns whose coefficient is not 0.
    sigma, intercept : float
        The standard deviation of the noise (NaN but for "linear"), and what is added to X beta.
    kind : str
        "linear", "logistic" or "poisson".
    """

    X: np.ndarray
    y: np.ndarray
    beta: np.ndarray
    support: np.ndarray
    sigma: float
    intercept: float
    kind: str

    @property
    def eta(self) -> np.ndarray:
        """The linear predictor intercept + X beta, of shape (n,)."""
        return self.intercept + self.X[:, self.support] @ self.beta[self.support]

    def new_response(self, random_state: Seed = None) -> np.ndarray:
        """A fresh response for the same X and truth: a validation sample with fixed design.

        Parameters
        ----------
        random_state : int, Generator or None
            The seed.

        Returns
        -------
        ndarray of shape (n,)
            The response, like `y`.
        """
        return _response(self.kind, self.eta, self.sigma, _generator(random_state))

    def __repr__(self):
        n, p = self.X.shape
        shown = ", ".join(map(str, self.support[:10])) + (", ..." if self.support.size > 10 else "")
        noise = f", sigma={self.sigma:.4g}" if self.kind == "linear" else ""
        return f"Simulation({self.kind}: n={n}, p={p}, k={self.support.size}{noise}, intercept={self.intercept:.4g}, support=[{shown}])"


def linear(
    n: int,
    p: int,
    k: int,
    *,
    rho: float = 0.0,
    correlation: str = "ar1",
    snr: float = 5.0,
    beta: str | ArrayLike | None = None,
    support: str | ArrayLike = "equispaced",
    block_size: int = 10,
    intercept: float = 0.0,
    random_state: Seed = None,
) -> Simulation:
    """Linear regression data, y = intercept + X beta + sigma * noise with standard normal noise.

    Parameters
    ----------
    n, p, k : int
        Rows, columns, and nonzero coefficients, 0 <= k <= p.
    rho, correlation : float and str, default 0.0 and "ar1"
        "ar1": correlation rho^|i-j|, -1 < rho < 1. "constant": rho between all pairs. "block": rho
        within consecutive blocks of `block_size` columns, 0 between blocks (both 0 <= rho < 1).
        "iid": none.
    snr : float, default 5.0
        Var(x'beta) / sigma^2, with the population variance beta'Sigma beta, so that sigma does not
        depend on the draw; inf: no noise. If all coefficients are 0, sigma is 1 (0 with snr=inf).
    beta : None, str or array-like
        None (k ones), "uniform" (on [-1, 1]), "normal" (standard), one number, k numbers in the
        order of the support, or all p numbers (their nonzeros then are the support).
    support : str or array-like of int, default "equispaced"
        "equispaced" (gaps of p // k), "random", or k distinct column indices.
    block_size, intercept : int and float, default 10 and 0.0
        Columns of a block, and what is added to every row.
    random_state : int, Generator or None
        The seed.

    Returns
    -------
    Simulation
        The data and the truth. np.sign(y) is a two-class response with normal noise.

    Raises
    ------
    TypeError, ValueError
        If an argument is not one of the above.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.linear(100, 20, 3, rho=0.5, snr=5, random_state=1)
    >>> data
    Simulation(linear: n=100, p=20, k=3, sigma=0.7827, intercept=0, support=[3, 9, 15])
    >>> l0path.fit(data.X, data.y, max_k=5).support(k=3)
    array([ 3,  9, 15])
    """
    snr = _number("snr", snr)
    if not snr > 0:
        raise ValueError(
            f"snr must be positive, got {snr}; use snr=inf for no noise and k=0 for pure noise"
        )
    rng = _generator(random_state)
    correlation = _correlation(correlation, rho, block_size)
    X, beta = _design_and_truth((n, p, k), correlation, beta, support, rng)
    variance = _signal_variance(beta, correlation)
    sigma = math.sqrt(variance / snr) if variance > 0 else float(math.isfinite(snr))
    return _finish("linear", X, beta, sigma, intercept, rng)


def logistic(
    n: int,
    p: int,
    k: int,
    *,
    rho: float = 0.0,
    correlation: str = "ar1",
    scale: float = 1.0,
    beta: str | ArrayLike | None = None,
    support: str | ArrayLike = "equispaced",
    block_size: int = 10,
    intercept: float = 0.0,
    random_state: Seed = None,
) -> Simulation:
    """Two-class data, P(y_i = 1) = 1 / (1 + exp(-(intercept + scale * x_i'beta))), y in {-1, 1}.

    The design is that of Dedieu, Hazimeh and Mazumder (2021), section 5.1.

    Parameters
    ----------
    n, p, k, rho, correlation, beta, support, block_size, intercept, random_state : as in linear
        The rows, columns, their correlation, the truth and the seed.
    scale : float, default 1.0
        A positive factor of the coefficients, which `beta` then contains. The larger, the closer
        the classes are to separable.

    Returns
    -------
    Simulation
        The data and the truth, with integer y and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.logistic(200, 20, 2, scale=2, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=4).model("bic").support, data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = _generator(random_state)
    scale = _scale(scale)
    X, beta = _design_and_truth(
        (n, p, k), _correlation(correlation, rho, block_size), beta, support, rng
    )
    return _finish("logistic", X, scale * beta, math.nan, intercept, rng)


def poisson(
    n: int,
    p: int,
    k: int,
    *,
    rho: float = 0.0,
    correlation: str = "ar1",
    scale: float = 1.0,
    beta: str | ArrayLike | None = None,
    support: str | ArrayLike = "equispaced",
    block_size: int = 10,
    intercept: float = 0.0,
    random_state: Seed = None,
) -> Simulation:
    """Count data, y_i ~ Poisson(exp(intercept + scale * x_i'beta)), of means up to 1e9.

    Parameters
    ----------
    n, p, k, rho, correlation, beta, support, block_size, intercept, random_state : as in linear
        The rows, columns, their correlation, the truth and the seed.
    scale : float, default 1.0
        A positive factor of the coefficients, which `beta` then contains. Take 1 / sqrt(k) for
        moderate counts: by default x_i'beta has standard deviation near scale * sqrt(k).

    Returns
    -------
    Simulation
        The data and the truth, with integer y and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.poisson(200, 20, 2, scale=0.5, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="poisson", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = _generator(random_state)
    scale = _scale(scale)
    X, beta = _design_and_truth(
        (n, p, k), _correlation(correlation, rho, block_size), beta, support, rng
    )
    return _finish("poisson", X, scale * beta, math.nan, intercept, rng)


def _design_and_truth(sizes, correlation, beta, support, rng):
    """Check n, p, k; return X (n, p) and beta (p,). Draws X, then the support, then the
    coefficients.
    """
    n, p, k = (
        _count(name, value, least)
        for name, value, least in zip("npk", sizes, (1, 1, 0), strict=True)
    )
    if k > p:
        raise ValueError(
            f"k={k} nonzero coefficients do not fit in p={p} columns; lower k or raise p"
        )
    return _design(n, p, correlation, rng), _coefficients(p, k, beta, support, rng)


def _finish(kind, X, beta, sigma, intercept, rng):
    """Draw the response of (S) and return the record."""
    intercept = _number("intercept", intercept)
    if not math.isfinite(intercept):
        raise ValueError(f"intercept must be finite, got {intercept}; use 0.0 for none")
    support = np.flatnonzero(beta)
    eta = intercept + X[:, support] @ beta[support]
    return Simulation(X, _response(kind, eta, sigma, rng), beta, support, sigma, intercept, kind)


def _response(kind, eta, sigma, rng):
    """y (n,) given the linear predictor eta (n,)."""
    if kind == "linear":
        return eta + sigma * rng.standard_normal(eta.size)
    if kind == "logistic":
        return np.where(
            rng.logistic(size=eta.size) <= eta, 1, -1
        )  # P(L <= eta) = 1 / (1 + exp(-eta)) for logistic L
    if eta.max() > math.log(LARGEST_MEAN):
        raise ValueError(
            f"the largest Poisson mean is exp({eta.max():.4g}), above {LARGEST_MEAN:.0e}; lower "
            "scale, beta or intercept"
        )
    return rng.poisson(np.exp(eta))


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


def _signal_variance(beta, correlation):
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
            "column indices"
        )
    chosen = np.asarray(support)
    if chosen.size == 0:
        chosen = chosen.astype(np.intp)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError(
            f"support must be a 1-D array of integer column indices, got {chosen.dtype} of shape "
            f"{chosen.shape}"
        )
    chosen = np.sort(chosen).astype(np.intp)
    if chosen.size != k:
        raise ValueError(f"support has {chosen.size} indices but k={k}; make them agree")
    if k and (chosen[0] < 0 or chosen[-1] >= p or (np.diff(chosen) == 0).any()):
        raise ValueError(f"support={chosen.tolist()} must hold distinct indices from 0 to {p - 1}")
    return chosen


def _correlation(kind, rho, block_size):
    """The checked record of Sigma."""
    if kind not in KINDS:
        raise ValueError(
            f"correlation={kind!r} is not known; use one of {', '.join(map(repr, KINDS))}"
        )
    rho, block_size = _number("rho", rho), _count("block_size", block_size, 1)
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


def _number(name, value):
    """value as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None


def _scale(scale):
    """scale as a positive, finite float."""
    scale = _number("scale", scale)
    if not 0.0 < scale < math.inf:
        raise ValueError(
            f"scale must be positive and finite, got {scale}; 1.0 leaves the coefficients as they "
            "are"
        )
    return scale


def _generator(random_state):
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
