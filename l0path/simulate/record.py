"""A simulated data set, and how its response is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.types import Seed
from .draws import generator, number

LARGEST_MEAN = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """One simulated data set and the truth behind it.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Columns, float64 in Fortran order.
    y : ndarray of shape (n,) or (n, 2)
        float64 for "linear" and "quantile", -1 and 1 for "logistic", counts for "poisson" and
        "negative_binomial", positive for "gamma", at least 0 for "tweedie", 0, 1, ... for
        "ordinal"; (n, 2) successes and failures for "binomial".
    beta, support : ndarray of shape (p,) and (k,)
        The coefficients in units of X (with `scale`), and the columns whose coefficient is not 0.
    sigma, intercept : float
        The standard deviation of the noise (NaN except for "linear" and "quantile"), and what is
        added to X beta.
    kind : str
        "linear", "logistic", "poisson", "gamma", "negative_binomial", "tweedie", "binomial",
        "quantile" or "ordinal".
    extra : float or tuple of float
        The shape of "gamma", theta of "negative_binomial", (power, phi) of "tweedie", the number of
        trials of "binomial", (quantile, sigma) of "quantile", thresholds of "ordinal"; else NaN.
    """

    X: np.ndarray
    y: np.ndarray
    beta: np.ndarray
    support: np.ndarray
    sigma: float
    intercept: float
    kind: str
    extra: float | tuple[float, ...] = math.nan

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
        ndarray
            The response, of the shape of `y`.
        """
        extra = self.sigma if self.kind == "linear" else self.extra
        return RESPONSES[self.kind](self.eta, extra, generator(random_state))

    def __repr__(self):
        n, p = self.X.shape
        shown = ", ".join(map(str, self.support[:10])) + (", ..." if self.support.size > 10 else "")
        noise = f", sigma={self.sigma:.4g}" if self.kind == "linear" else ""
        return (
            f"Simulation({self.kind}: n={n}, p={p}, k={self.support.size}{noise}, "
            f"intercept={self.intercept:.4g}, support=[{shown}])"
        )


def finish(kind, X, beta, sigma, intercept, rng, *, extra=math.nan):
    """Draw the response of (S) and return the record; extra: what the distribution has besides."""
    intercept = number("intercept", intercept)
    if not math.isfinite(intercept):
        raise ValueError(f"intercept must be finite, got {intercept}; use 0.0 for none")
    support = np.flatnonzero(beta)
    eta = intercept + X[:, support] @ beta[support]
    y = RESPONSES[kind](eta, sigma if kind == "linear" else extra, rng)
    return Simulation(X, y, beta, support, sigma, intercept, kind, extra)


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


def _gamma(eta, shape, rng):
    """Positive amounts of a shape."""
    return rng.gamma(shape, _means(eta, "gamma") / shape)


def _negative_binomial(eta, theta, rng):
    """Counts of variance mean + mean^2 / theta: Poisson with gamma means."""
    return rng.poisson(rng.gamma(theta, _means(eta, "negative binomial") / theta))


def _ordered(eta, thresholds, rng):
    """Numbers of ordered classes: P(eta + L <= t) = 1 / (1 + exp(eta - t)) for logistic L."""
    return np.digitize(eta + rng.logistic(size=eta.size), thresholds)


def _successes(eta, trials, rng):
    """Successes and failures (n, 2) of so many trials."""
    from scipy.special import expit

    found = rng.binomial(trials, expit(eta))
    return np.column_stack([found, trials - found])


def _around_quantile(eta, numbers, rng):
    """Normal numbers with eta as their quantile."""
    from scipy.special import ndtri

    level, sigma = numbers
    return eta + sigma * (rng.standard_normal(eta.size) - ndtri(level))


def _tweedie(eta, numbers, rng):
    """Sums of Poisson many gamma amounts: N of mean mu^(2 - p) / (phi (2 - p)), each of shape (2 -
    p) / (p - 1) and scale phi (p - 1) mu^(p - 1).
    """
    (p, phi), mean = numbers, _means(eta, "Tweedie")
    count = rng.poisson(mean ** (2.0 - p) / (phi * (2.0 - p)))
    each = (2.0 - p) / (p - 1.0)
    # a gamma of shape 0 is 0
    drawn = rng.gamma(np.where(count > 0, count * each, 1.0))
    return np.where(count > 0, drawn * phi * (p - 1.0) * mean ** (p - 1.0), 0.0)


RESPONSES = {
    "linear": _normal,
    "logistic": _classes,
    "poisson": _counts,
    "gamma": _gamma,
    "negative_binomial": _negative_binomial,
    "tweedie": _tweedie,
    "binomial": _successes,
    "quantile": _around_quantile,
    "ordinal": _ordered,
}
