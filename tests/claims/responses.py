"""Responses of random small problems, and the numbers that their losses have."""

import numpy as np
from oracles import CLASSES, FAMILIES


def response(loss, signal, rng):
    """y (n,) for a signal (n,)."""
    n = signal.size
    if loss in FAMILIES and loss != "quantile":
        return _of_family(loss, signal, rng)
    if loss in CLASSES:
        y = np.where(signal + rng.logistic(size=n) * rng.choice([0.2, 1.0, 3.0]) > 0, 1.0, -1.0)
        if np.ptp(y) == 0:
            y[rng.integers(n)] *= -1
        return y
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(0.5 * signal + rng.choice([-0.5, 0.7]), -3, 3)))
        y[rng.integers(n)] += 1
        return y.astype(float)
    noise = rng.standard_t(2, size=n) if loss == "huber" else rng.normal(size=n)
    y = signal * rng.choice([0.3, 1.0, 3.0]) + noise * rng.choice([0.01, 0.5, 1.0])
    return np.round(y * 2) / 2 if rng.random() < 0.1 else y


def _of_family(loss, signal, rng):
    """Shares, amounts or counts, not all of them at an end of their range."""
    if loss == "binomial":
        y = rng.binomial(4, 1 / (1 + np.exp(-rng.choice([0.5, 2.0]) * signal))) / 4
        y[rng.integers(y.size)] = 0.5
        return y
    mean = np.exp(np.clip(0.5 * signal + rng.choice([-0.5, 0.7]), -3, 3))
    if loss == "gamma":
        return rng.gamma(rng.choice([0.5, 2.0]), mean) + 1e-3
    y = rng.poisson(rng.gamma(1.5, mean / 1.5)).astype(float)
    y[rng.integers(y.size)] += 1
    return y * (rng.uniform(0.2, 2, y.size) if loss == "tweedie" else 1.0)


def numbers(rng, loss, record, options):
    """theta (given, or left to a pilot fit), the power or the level of a family."""
    draw = rng.random()
    if loss == "negative_binomial" and draw < 0.7:
        options["theta"] = record["delta"] = float(rng.choice([0.5, 1.5, 20.0]))
    if loss == "tweedie":
        options["power"] = record["delta"] = float(rng.choice([1.2, 1.5, 1.9]))
    if loss == "quantile":
        options["quantile"] = record["delta"] = float(rng.choice([0.1, 0.5, 0.8]))
