"""Losses by hand, most with methods of all rows, and data for them."""

import math
from typing import NamedTuple

import numpy as np

import l0path

N = 40

EQUAL = np.full(N, 1.0 / N)


class Ranking(NamedTuple):
    """The loss of the page, by NumPy."""

    def value(self, y, eta, weights):
        i, j = np.nonzero(y[:, None] > y)
        return float(weights[i] * weights[j] @ np.logaddexp(0.0, eta[j] - eta[i]))

    def slope(self, y, eta, weights, out):
        i, j = np.nonzero(y[:, None] > y)
        share = weights[i] * weights[j] / (1.0 + np.exp(eta[i] - eta[j]))
        out[:] = np.bincount(j, share, y.size) - np.bincount(i, share, y.size)

    def curvature(self, y, eta, weights, z, out):
        i, j = np.nonzero(y[:, None] > y)
        p = 1.0 / (1.0 + np.exp(eta[i] - eta[j]))
        bend = weights[i] * weights[j] * p * (1.0 - p) * (z[i] - z[j])
        out[:] = np.bincount(i, bend, y.size) - np.bincount(j, bend, y.size)


class Breslow(NamedTuple):
    """Cox's loss, y = times of events, and minus those of censored rows."""

    def value(self, y, eta, weights):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])  # a time in each row
        dead, top = np.where(y > 0, weights, 0.0), eta.max()
        sums = np.log(at_risk @ (weights * np.exp(eta - top))) + top
        return float(dead @ (sums - eta)) / dead.sum()

    def slope(self, y, eta, weights, out):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])
        dead, u = np.where(y > 0, weights, 0.0), weights * np.exp(eta - eta.max())
        out[:] = (u * (at_risk.T @ (dead / (at_risk @ u))) - dead) / dead.sum()

    def curvature(self, y, eta, weights, z, out):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])
        dead, u = np.where(y > 0, weights, 0.0), weights * np.exp(eta - eta.max())
        sums = at_risk @ u
        steps = dead / sums
        means = at_risk @ (u * z) / sums
        out[:] = u * (z * (at_risk.T @ steps) - at_risk.T @ (steps * means)) / dead.sum()


class Sum(NamedTuple):
    """log cosh, which is a sum over rows."""

    scale: float

    def value(self, y, eta, weights):
        r = np.abs(eta - y) / self.scale
        return self.scale**2 * (weights * (r + np.log1p(np.exp(-2.0 * r)) - math.log(2.0))).sum()

    def slope(self, y, eta, weights, out):
        out[:] = weights * self.scale * np.tanh((eta - y) / self.scale)

    def curvature(self, y, eta, weights, z, out):
        out[:] = weights * (1.0 - np.tanh((eta - y) / self.scale) ** 2) * z


@l0path.own_loss("sum_of_rows", link="identity")
class RowByRow(NamedTuple):
    """The same by the methods of one row."""

    scale: float

    def value(self, y, eta):
        r = abs(eta - y) / self.scale
        return self.scale**2 * (r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0))

    def slope(self, y, eta):
        return self.scale * math.tanh((eta - y) / self.scale)

    def curvature(self, y, eta):
        return 1.0 - math.tanh((eta - y) / self.scale) ** 2


@l0path.own_loss("poisson_own", link="log")
class PoissonOwn(NamedTuple):
    """Its least value is negative for most y, and for negative y there is none."""

    def value(self, y, eta):
        return math.exp(eta) - y * eta

    def slope(self, y, eta):
        return math.exp(eta) - y

    def curvature(self, y, eta):
        return math.exp(eta)


def kind_of(base, name, **methods):
    """A class like `base` with another name and other methods."""
    return type(name, (base,), {"__slots__": (), **methods})


def decorated(base, name, methods=None, **traits):
    return l0path.own_loss(name, **traits)(kind_of(base, name.title(), **(methods or {})))


def survival(seed, ties=False):
    """(X with degenerate columns, signed times)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    X[:, 2], X[:, 3] = X[:, 1], 2.0
    time = rng.exponential(np.exp(-X[:, 0] + 0.7 * X[:, 1]))
    time = np.ceil(4.0 * time) if ties else time
    return X, np.where(rng.uniform(size=N) < 0.7, time, -time)
