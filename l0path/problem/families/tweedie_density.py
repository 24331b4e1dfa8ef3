"""The density of a Tweedie distribution, for the likelihood of its dispersion.

With the power p between 1 and 2, a = (2 - p) / (p - 1), and the mean in the loss alone,

    log f(y) = log S(t) - log y - loss / phi,   t = a log(y / (p - 1)) - (1 + a) log phi
                                                    - log(2 - p)
    S(t) = sum_j exp(j t) / (j! Gamma(a j)),    j = 1, 2, ...

for y > 0, and -loss / phi for y = 0, where `loss` has the constant that makes it 0 at a mean of 0:
a row is a sum of j amounts. log S is a smooth function of t alone, whose derivatives are the mean
and the variance of j. It is worked out on a grid once for each power.

Source: Dunn & Smyth, Statistics and Computing 15 (2005), equations (5) to (7).
"""

import math
from functools import lru_cache

import numpy as np

SPAN = 8.0  # of the t of one polynomial
KNOTS = 128  # in a piece: log S to 2e-12 relative
SMOOTH = 6.0  # standard deviation of j from which on the sum is that of every so many terms
SPREADS = 12  # standard deviations of j beyond which terms are left out
LEAST_DEVIANCE = 1e-12  # of the deviance at a mean of 0, below which a fit is perfect
LONGEST = 60  # steps of 1 in log phi to either end of a bracket
KNOTS_IN_T = 16  # knots in log phi for as much of it as moves t by 1


class BestDispersion:
    """A function of the mean loss: the mean log-likelihood of rows with the dispersion phi of
    maximum likelihood; inf where the fit is perfect.

    power: below 2; log_y (n,): logarithms of the y that are positive; share (n,): of the weights.
    """

    def __init__(self, power, log_y, share):
        a, b = (2.0 - power) / (power - 1.0), 2.0 - power
        self.power, self.share, self.steep = power, share, 1.0 + a
        self.start = a * (log_y - math.log(power - 1.0)) - math.log(b)
        self.level, self.beyond = float(share @ log_y), 1.0 / b
        self.least = float(share @ np.exp(b * log_y)) * (1.0 / (power - 1.0) + 1.0 / b)
        self.pieces = {}  # the mean of log S and its derivative, as polynomials in log phi

    def __call__(self, mean_loss):
        from scipy.optimize import brentq

        total = float(mean_loss) + self.beyond
        if not total - self.least > LEAST_DEVIANCE * total:
            return math.inf

        def rising(s):
            return float(self.piece(s)[1](s)) + total * math.exp(-s)

        low = high = math.log(2.0 * (total - self.least))  # the mean deviance
        for _ in range(LONGEST):
            if rising(low) > 0.0:
                break
            low -= 1.0
        for _ in range(LONGEST):
            if rising(high) < 0.0:
                break
            high += 1.0
        s = brentq(rising, low, high, xtol=1e-10)
        return float(self.piece(s)[0](s)) - self.level - total * math.exp(-s)

    def piece(self, s):
        """The polynomials around log phi = s, made where they are asked for."""
        from scipy.interpolate import BPoly

        m = math.floor(s)
        if m not in self.pieces:
            knots = m + np.linspace(0.0, 1.0, math.ceil(KNOTS_IN_T * self.steep) + 1)
            table = np.empty((knots.size, 3))
            for row, at in zip(table, knots, strict=True):
                row[:] = [self.share @ one for one in log_series(self.power, self._t(at))]
            table *= (-self.steep) ** np.arange(3)
            curve = BPoly.from_derivatives(knots, table)
            self.pieces[m] = curve, curve.derivative()
        return self.pieces[m]

    def _t(self, s):
        """(n,) the t of the rows at log phi = s."""
        return self.start - self.steep * s


def log_series(power, t):
    """(3, n) log S and its first two derivatives at t (n,)."""
    found = np.empty((3, t.size))
    number = np.floor(t / SPAN).astype(np.int64)
    for m in np.unique(number):
        here = number == m
        for out, curve in zip(found, _piece(power, int(m)), strict=True):
            out[here] = curve(t[here])
    return found


@lru_cache(maxsize=4096)
def _piece(power, m):
    """Log S and its first two derivatives for SPAN * m <= t <= SPAN * (m + 1), as polynomials
    between knots at which they are exact.
    """
    from scipy.interpolate import BPoly

    knots = SPAN * (m + np.linspace(0.0, 1.0, KNOTS + 1))
    a = (2.0 - power) / (power - 1.0)
    curve = BPoly.from_derivatives(knots, np.column_stack(_summed(a, knots)))
    return curve, curve.derivative(), curve.derivative(2)


def _summed(a, t):
    """Log S (m,), and the mean and the variance of j, at t (m,)."""
    from scipy.special import gammaln

    middle = np.exp((t - a * math.log(a)) / (1.0 + a))  # of j, about
    spread = np.sqrt(middle / (1.0 + a))
    # the terms of wide sums are so smooth that every so many of them have the same mean
    step = np.where(spread > SMOOTH, spread * (2.0 / SMOOTH), 1.0)
    reach = np.where(spread > SMOOTH, spread, SMOOTH) * SPREADS
    first = np.where(spread > SMOOTH, middle - reach, np.maximum(np.floor(middle - reach), 1.0))
    j = first[:, None] + step[:, None] * np.arange(math.ceil(2.0 * SPREADS * SMOOTH) + 2)
    within = j > 0.5
    j = np.where(within, j, 1.0)
    terms = np.where(within, j * t[:, None] - gammaln(j + 1.0) - gammaln(a * j), -np.inf)
    top = terms.max(axis=1)
    u = np.exp(terms - top[:, None])
    total = u.sum(axis=1)
    mean = (u * j).sum(axis=1) / total
    variance = (u * (j - mean[:, None]) ** 2).sum(axis=1) / total
    return top + np.log(step * total), mean, variance
