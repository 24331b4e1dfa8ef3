"""Survival data drawn for tests, and the partial likelihood of Cox by its definition: every risk
set is summed anew.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize


class Times(NamedTuple):
    """Rows at risk in (start, stop] (start -inf: from the beginning), whether each ends with an
    event (0 or 1), weights, and strata: (n,) each.
    """

    start: np.ndarray
    stop: np.ndarray
    event: np.ndarray
    weights: np.ndarray
    stratum: np.ndarray


def draw(rng, n, *, entry=False, strata=1, weighted=False, eta=None, tied=True):
    """Times of n rows, many of them tied, with hazards exp(eta)."""
    hazard = np.exp(np.zeros(n) if eta is None else eta)
    life = rng.exponential(size=n) / hazard
    censored = rng.exponential(2.0, n)
    stop = np.minimum(life, censored)
    stop = np.ceil(4.0 * stop) if tied else stop
    event = (life <= censored).astype(float)
    event[np.argmin(stop)] = 1.0
    start = np.full(n, -np.inf)
    if entry:
        start = np.maximum(stop - np.ceil(rng.exponential(4.0, n)), 0.0)
    weights = rng.uniform(0.3, 2.0, n) if weighted else np.ones(n)
    stratum = np.unique(rng.integers(0, strata, n), return_inverse=True)[1]
    return Times(start, stop, event, weights, stratum)


def terms(times, efron):
    """(weight, at risk (n,), deaths (n,)) of every term of the log partial likelihood: those at
    risk count less by a share of the tied deaths.
    """
    start, stop, event, weights, stratum = times
    for s in np.unique(stratum):
        for t in np.unique(stop[(event > 0) & (stratum == s)]):
            risk = (stratum == s) & (stop >= t) & (start < t)
            tied = (stratum == s) & (stop == t) & (event > 0)
            d = int(tied.sum())
            if not efron:
                yield weights[tied].sum(), risk * 1.0
                continue
            for r in range(d):
                yield weights[tied].mean(), risk - tied * (r / d)


def hazard_step(times, eta, t, efron=True):
    """By how much the baseline hazard of rows in one stratum rises at the time t."""
    u = times.weights * np.exp(eta)
    at = times._replace(event=times.event * (times.stop == t))
    return sum(weight / (share @ u) for weight, share in terms(at, efron))


def log_likelihood(times, eta, efron=True):
    """The log partial likelihood at eta (n,), as R's survival weighs it."""
    u = times.weights * np.exp(eta)
    total = (times.weights * times.event) @ eta
    return float(total - sum(v * np.log(risk @ u) for v, risk in terms(times, efron)))


def derivatives(times, eta, efron=True):
    """(gradient (n,), Hessian (n, n)) of minus the log partial likelihood in eta."""
    u = times.weights * np.exp(eta)
    gradient, hessian = -times.weights * times.event, np.zeros((eta.size, eta.size))
    for v, risk in terms(times, efron):
        share = risk * u / (risk @ u)
        gradient = gradient + v * share
        hessian += v * (np.diag(share) - np.outer(share, share))
    return gradient, hessian


def loss(times, eta, efron=True):
    """Minus the log partial likelihood for each event, by weights scaled to a mean of 1 over the
    rows of positive weight.
    """
    w = times.weights
    scale = np.count_nonzero(w) / w.sum()
    events = scale * w @ times.event
    return -log_likelihood(times._replace(weights=scale * w), eta, efron) / events


class Problem(NamedTuple):
    """minimize over b:  loss(offset + Z b) + lambda1 ||b||_1 + lambda2 ||b||^2,  low <= b <= high;
    Z (n, k) standardized columns.
    """

    Z: np.ndarray
    times: Times
    offset: np.ndarray
    efron: bool = True
    lambda1: float = 0.0
    lambda2: float = 0.0
    low: float = -np.inf
    high: float = np.inf

    def value(self, b):
        shrinkage = self.lambda1 * np.abs(b).sum() + self.lambda2 * b @ b
        return loss(self.times, self.offset + self.Z @ b, self.efron) + shrinkage

    def smooth_part(self):
        """b -> (value, gradient) of all but the l1 term, the value up to a constant; the terms of
        the likelihood, which do not depend on b, are listed once.
        """
        v, risk = (np.array(part) for part in zip(*terms(self.times, self.efron), strict=True))
        own = self.times.weights * self.times.event

        def at(b):
            eta = self.offset + self.Z @ b
            u = self.times.weights * np.exp(eta)
            sums = risk @ u
            value = (v @ np.log(sums) - own @ eta) / own.sum() + self.lambda2 * b @ b
            return value, (u * (v / sums @ risk) - own) @ self.Z / own.sum() + 2 * self.lambda2 * b

        return at


def minimum(problem):
    """(value, b) of the least value, by a general solver on the positive and negative parts."""
    k = problem.Z.shape[1]
    if not k:
        return problem.value(np.empty(0)), np.empty(0)
    split, smooth = problem.lambda1 > 0, problem.smooth_part()

    def whole(x):
        return x[:k] - x[k:] if split else x

    def both(x):
        value, g = smooth(whole(x))
        value += problem.lambda1 * split * x.sum()
        return value, np.concatenate([g, -g]) + problem.lambda1 if split else g

    high, low = (None if np.isinf(v) else v for v in (problem.high, problem.low))
    bounds = (
        [(0, high)] * k + [(0, None if low is None else -low)] * k if split else [(low, high)] * k
    )
    x, options = np.zeros(2 * k if split else k), {"ftol": 1e-15, "gtol": 1e-11, "maxiter": 5000}
    for _ in range(3):
        x = minimize(both, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    b = whole(x)
    return problem.value(b), b


def standardized(X, weights):
    """Columns about their weighted means, in units of their standard deviations (0: constant)."""
    w = weights / weights.sum()
    Z = X - w @ X
    s = np.sqrt(w @ Z**2)
    return Z / np.where(s > 1e-12, s, 1.0) * (s > 1e-12), s


def enumerated(X, times, sizes, *, forced=(), offset=None, **settings):
    """The least value of every size: all supports that hold the forced columns."""
    Z, _ = standardized(X, times.weights)
    offset = np.zeros(len(X)) if offset is None else offset
    free = [j for j in range(X.shape[1]) if j not in forced]
    return [
        min(
            minimum(Problem(Z[:, sorted((*forced, *S))], times, offset, **settings))[0]
            for S in combinations(free, k)
        )
        for k in sizes
    ]
