"""Responses of every family, drawn for tests."""

import numpy as np
import oracles
from asked import loss_with
from scipy.special import expit

import l0path

FAMILIES = tuple(oracles.FAMILIES)

NUMBER = {"negative_binomial": "theta", "tweedie": "power", "quantile": "quantile"}

GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6, "quantile": 0.3}


def arguments(d):
    """The keywords of `l0path.fit` for an instance of a family."""
    return oracles.fit_keywords(d)


def drawn(loss, n=150, p=6, **changes):
    """X, y and the arguments of a fit of a family; the truth is in columns 1 and 4."""
    if loss == "binomial":
        rng = np.random.default_rng(3)
        X, trials = rng.normal(size=(n, p)), rng.integers(1, 7, n)
        return X, rng.binomial(trials, 1 / (1 + np.exp(X[:, 4] - X[:, 1]))) / trials, {"loss": loss}
    if loss == "quantile":
        data = l0path.simulate.linear(n, p, 2, random_state=3)
    else:
        data = getattr(l0path.simulate, loss)(n, p, 2, scale=0.6, random_state=3, **changes)
    number = {} if loss == "negative_binomial" else {NUMBER.get(loss): GIVEN.get(loss)}
    return data.X, data.y, {"loss": loss_with(loss, **{k: v for k, v in number.items() if k})}


def counted():
    """X, two columns of counts (rows without trials among them), offset."""
    rng = np.random.default_rng(0)
    X, trials, offset = rng.normal(size=(90, 6)), rng.integers(0, 9, 90), 0.2 * rng.normal(size=90)
    won = rng.binomial(trials, expit(X[:, 1] - X[:, 4]))
    return X, np.column_stack([won, trials - won]), offset
