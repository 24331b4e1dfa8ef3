"""Simulated regression and classification data with a known sparse truth.

    eta_i = intercept + x_i'beta,   x_i ~ N(0, Sigma),   k of the p coefficients are nonzero   (S)

Sigma has unit diagonal. The response is  y = eta + sigma * noise  (`linear`),  P(y = 1) = 1 / (1 +
exp(-eta))  (`logistic`, and in each trial of `binomial`), has the mean exp(eta)  (`poisson`,
`negative_binomial`, `gamma`, `tweedie`), the quantile eta  (`quantile`), or ordered classes
(`ordinal`). X is (n, p) float64 in Fortran order, drawn in O(n p)
time without a p x p matrix. All randomness comes from the `random_state` that is given; NumPy's
global state is neither read nor changed.
"""

from __future__ import annotations

import math

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
from .families import binomial, gamma, negative_binomial, ordinal, quantile, tweedie
from .record import Simulation, finish

__all__ = [
    "Simulation",
    "binomial",
    "gamma",
    "linear",
    "logistic",
    "negative_binomial",
    "ordinal",
    "poisson",
    "quantile",
    "tweedie",
]


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
        Rows, features, and nonzero coefficients, 0 <= k <= p.
    rho : float, default 0.0
        The correlation of the features.
    correlation : str, default "ar1"
        "ar1": correlation rho^|i-j|, -1 < rho < 1. "constant": rho between all pairs. "block": rho
        within consecutive blocks of `block_size` features, 0 between blocks (both 0 <= rho < 1).
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
        The number of features of a block.
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
    return finish("linear", X, beta, sigma, intercept, rng)


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
        Rows, features, and nonzero coefficients, 0 <= k <= p.
    rho : float, default 0.0
        The correlation of the features, as in `linear`.
    correlation : str, default "ar1"
        "ar1", "constant", "block" or "iid", as in `linear`.
    beta : None, str, or array-like
        The coefficients, as in `linear`. There is no `snr`.
    support : str or array-like of int, default "equispaced"
        "equispaced", "random", or k distinct column indices.
    block_size : int, default 10
        The number of features of a block.
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
    return finish("logistic", X, scale * beta, math.nan, intercept, rng)


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
        Rows, features, and nonzero coefficients, 0 <= k <= p.
    rho : float, default 0.0
        The correlation of the features, as in `linear`.
    correlation : str, default "ar1"
        "ar1", "constant", "block" or "iid", as in `linear`.
    beta : None, str, or array-like
        The coefficients, as in `linear`. There is no `snr`.
    support : str or array-like of int, default "equispaced"
        "equispaced", "random", or k distinct column indices.
    block_size : int, default 10
        The number of features of a block.
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
    return finish("poisson", X, scale * beta, math.nan, intercept, rng)
