"""Simulated regression and classification data with a known sparse truth.

    eta_i = intercept + x_i'beta,   x_i ~ N(0, Sigma),   k of the p coefficients are nonzero   (S)

Sigma has unit diagonal. The response is  y = eta + sigma * noise  (`linear`),  P(y = 1) = 1 / (1 +
exp(-eta))  (`logistic`) or  y ~ Poisson(exp(eta))  (`poisson`). X is (n, p) float64 in Fortran
order, drawn in O(n p) time without a p x p matrix. All randomness comes from the `random_state`
that is given; NumPy's global state is neither read nor changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core.types import Seed
from .draws import (
    correlation_of,
    design_and_truth,
    generator,
    number,
    positive_scale,
    signal_variance,
)

__all__ = ["Simulation", "linear", "logistic", "poisson"]

LARGEST_MEAN = 1e9


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
        random_state : int, Generator, or None
            The seed.

        Returns
        -------
        ndarray of shape (n,)
            The response, like `y`.
        """
        return RESPONSES[self.kind](self.eta, self.sigma, generator(random_state))

    def __repr__(self):
        n, p = self.X.shape
        shown = ", ".join(map(str, self.support[:10])) + (", ..." if self.support.size > 10 else "")
        noise = f", sigma={self.sigma:.4g}" if self.kind == "linear" else ""
        return (
            f"Simulation({self.kind}: n={n}, p={p}, k={self.support.size}{noise}, "
            f"intercept={self.intercept:.4g}, support=[{shown}])"
        )


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
    rho : float, default 0.0
        The correlation of the columns.
    correlation : str, default "ar1"
        "ar1": correlation rho^|i-j|, -1 < rho < 1. "constant": rho between all pairs. "block": rho
        within consecutive blocks of `block_size` columns, 0 between blocks (both 0 <= rho < 1).
        "iid": none, where rho must be 0.
    snr : float, default 5.0
        Var(x'beta) / sigma^2, with the population variance beta'Sigma beta, so that sigma does not
        depend on the draw; inf: no noise. If all coefficients are 0, sigma is 1 (0 with snr=inf).
    beta : None, str, or array-like
        None (k ones), "uniform" (on [-1, 1]), "normal" (standard), one number, k numbers in the
        order of the support, or all p numbers (their nonzeros then are the support).
    support : str or array-like of int, default "equispaced"
        "equispaced" (gaps of p // k), "random", or k distinct column indices.
    block_size : int, default 10
        The number of columns of a block.
    intercept : float, default 0.0
        The number added to every row.
    random_state : int, Generator, or None
        The seed.

    Returns
    -------
    Simulation
        The data and the truth. np.sign(y) is a two-class response with normal noise.

    Raises
    ------
    TypeError or ValueError
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
    snr = number("snr", snr)
    if not snr > 0:
        raise ValueError(
            f"snr must be positive, got {snr}; use snr=inf for no noise and k=0 for pure noise"
        )
    rng = generator(random_state)
    correlation = correlation_of(correlation, rho, block_size)
    X, beta = design_and_truth((n, p, k), correlation, beta, support, rng)
    variance = signal_variance(beta, correlation)
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
    n, p, k : int
        Rows, columns, and nonzero coefficients, 0 <= k <= p.
    rho : float, default 0.0
        The correlation of the columns, as in `linear`.
    correlation : str, default "ar1"
        "ar1", "constant", "block" or "iid", as in `linear`.
    beta : None, str, or array-like
        The coefficients, as in `linear`. There is no `snr`.
    support : str or array-like of int, default "equispaced"
        "equispaced", "random", or k distinct column indices.
    block_size : int, default 10
        The number of columns of a block.
    intercept : float, default 0.0
        The number added to every row.
    random_state : int, Generator, or None
        The seed.
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
    >>> path = l0path.fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=4)
    >>> path.model("bic").support, data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
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
    n, p, k : int
        Rows, columns, and nonzero coefficients, 0 <= k <= p.
    rho : float, default 0.0
        The correlation of the columns, as in `linear`.
    correlation : str, default "ar1"
        "ar1", "constant", "block" or "iid", as in `linear`.
    beta : None, str, or array-like
        The coefficients, as in `linear`. There is no `snr`.
    support : str or array-like of int, default "equispaced"
        "equispaced", "random", or k distinct column indices.
    block_size : int, default 10
        The number of columns of a block.
    intercept : float, default 0.0
        The number added to every row.
    random_state : int, Generator, or None
        The seed.
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
    rng = generator(random_state)
    scale = positive_scale(scale)
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    return _finish("poisson", X, scale * beta, math.nan, intercept, rng)


def _finish(kind, X, beta, sigma, intercept, rng):
    """Draw the response of (S) and return the record."""
    intercept = number("intercept", intercept)
    if not math.isfinite(intercept):
        raise ValueError(f"intercept must be finite, got {intercept}; use 0.0 for none")
    support = np.flatnonzero(beta)
    eta = intercept + X[:, support] @ beta[support]
    return Simulation(X, RESPONSES[kind](eta, sigma, rng), beta, support, sigma, intercept, kind)


def _normal(eta, sigma, rng):
    """y (n,) given the linear predictor eta (n,)."""
    return eta + sigma * rng.standard_normal(eta.size)


def _classes(eta, sigma, rng):
    """The same for classes: P(L <= eta) = 1 / (1 + exp(-eta)) for logistic L."""
    return np.where(rng.logistic(size=eta.size) <= eta, 1, -1)


def _means(eta, name):
    """exp(eta), refused where it leaves what can be drawn; name: of the distribution."""
    if eta.max() > math.log(LARGEST_MEAN):
        raise ValueError(
            f"the largest {name} mean is exp({eta.max():.4g}), above {LARGEST_MEAN:.0e}; lower "
            "scale, beta or intercept"
        )
    return np.exp(eta)


def _counts(eta, sigma, rng):
    """The same for counts."""
    return rng.poisson(_means(eta, "Poisson"))


RESPONSES = {"linear": _normal, "logistic": _classes, "poisson": _counts}
