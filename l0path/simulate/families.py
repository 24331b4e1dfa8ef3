"""Simulated amounts, counts (means exp(eta)), successes of trials, quantiles and ordered classes
with a known sparse truth.
"""

from __future__ import annotations

import math
from itertools import pairwise

from numpy.typing import ArrayLike

from ..core.arguments import is_whole
from ..core.types import Seed
from .draws import correlation_of, design_and_truth, generator, number, positive_scale
from .record import Simulation, finish


def gamma(
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
    shape: float = 2.0,
    random_state: Seed = None,
) -> Simulation:
    """Positive amounts, y_i ~ Gamma of mean exp(intercept + scale * x_i'beta) and a given shape.

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
        means within some powers of ten.
    shape : float, default 2.0
        The shape of the gamma distribution; its variance is mean^2 / shape.

    Returns
    -------
    Simulation
        The data and the truth, with positive y and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.gamma(200, 20, 2, scale=0.5, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="gamma", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    return finish("gamma", X, scale * beta, math.nan, intercept, rng, extra=positive_scale(shape))


def negative_binomial(
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
    theta: float = 2.0,
    random_state: Seed = None,
) -> Simulation:
    """Counts of mean exp(intercept + scale * x_i'beta) and variance mean + mean^2 / theta.

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
        means within some powers of ten.
    theta : float, default 2.0
        The parameter theta > 0: the smaller it is, the more the counts vary.

    Returns
    -------
    Simulation
        The data and the truth, with integer y and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.negative_binomial(200, 20, 2, scale=0.5, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="negative_binomial", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    return finish(
        "negative_binomial", X, scale * beta, math.nan, intercept, rng, extra=positive_scale(theta)
    )


def tweedie(
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
    power: float = 1.5,
    phi: float = 1.0,
    random_state: Seed = None,
) -> Simulation:
    """Amounts with zeros: sums of a Poisson number of gamma amounts, with variance phi mean^power.

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
        means within some powers of ten.
    power : float, default 1.5
        Between 1 and 2: the larger, the fewer zeros.
    phi : float, default 1.0
        The dispersion.

    Returns
    -------
    Simulation
        The data and the truth, with y >= 0 and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.tweedie(200, 20, 2, scale=0.5, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="tweedie", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    if not 1.0 < power < 2.0:
        raise ValueError(f"power must be between 1 and 2, got {power}; take 1.5")
    more = (float(power), positive_scale(phi))
    return finish("tweedie", X, scale * beta, math.nan, intercept, rng, extra=more)


def binomial(
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
    trials: int = 10,
    random_state: Seed = None,
) -> Simulation:
    """Successes and failures of so many trials, P(success) = 1 / (1 + exp(-intercept - scale *
    x_i'beta)).

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
        A positive factor of the coefficients, which `beta` then contains.
    trials : int, default 10
        The number of trials of a row.

    Returns
    -------
    Simulation
        The data and the truth, with y of shape (n, 2), successes and failures, and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.binomial(200, 20, 2, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="binomial", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    if not is_whole(trials) or trials < 1:
        raise ValueError(f"trials={trials!r} must be a whole number >= 1")
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    return finish("binomial", X, scale * beta, math.nan, intercept, rng, extra=int(trials))


def quantile(
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
    quantile: float = 0.5,
    sigma: float = 1.0,
    random_state: Seed = None,
) -> Simulation:
    """Numbers whose quantile is intercept + scale * x_i'beta, with normal noise around it.

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
        A positive factor of the coefficients, which `beta` then contains.
    quantile : float, default 0.5
        The level of the quantile, between 0 and 1: P(y_i <= intercept + scale * x_i'beta).
    sigma : float, default 1.0
        The standard deviation of the noise, positive.

    Returns
    -------
    Simulation
        The data and the truth, with real y.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.quantile(200, 20, 2, quantile=0.8, random_state=1)
    >>> path = l0path.fit(data.X, data.y, loss=l0path.losses.Quantile(0.8), max_k=4)
    >>> path.support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    scale = positive_scale(scale)
    if not 0.0 < number("quantile", quantile) < 1.0:
        raise ValueError(f"quantile={quantile!r} must be between 0 and 1, such as 0.9")
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    more = (float(quantile), positive_scale(sigma))
    return finish("quantile", X, scale * beta, more[1], intercept, rng, extra=more)


def ordinal(
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
    thresholds: tuple[float, ...] = (-1.0, 0.0, 1.0),
    random_state: Seed = None,
) -> Simulation:
    """Ordered classes 0, 1, ..., P(y_i <= c) = 1 / (1 + exp(scale * x_i'beta - thresholds[c])).

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
    thresholds : tuple of float, default (-1.0, 0.0, 1.0)
        Ascending numbers between the classes, one fewer than there are classes.
    random_state : int, Generator, or None
        The seed.
    scale : float, default 1.0
        A positive factor of the coefficients, which `beta` then contains.

    Returns
    -------
    Simulation
        The data and the truth, with whole numbers y and sigma = NaN.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.ordinal(200, 20, 2, random_state=1)
    >>> l0path.fit(data.X, data.y, loss="ordinal", max_k=4).support(k=2), data.support
    (array([ 5, 15]), array([ 5, 15]))
    """
    rng = generator(random_state)
    t = tuple(number("thresholds", one) for one in thresholds)
    if not t or any(not low < high for low, high in pairwise((*t, math.inf))):
        raise ValueError(f"thresholds={thresholds!r} must be ascending finite numbers")
    X, beta = design_and_truth(
        (n, p, k), correlation_of(correlation, rho, block_size), beta, support, rng
    )
    return finish("ordinal", X, positive_scale(scale) * beta, math.nan, 0.0, rng, extra=t)
