"""Scores of least squares models, and the sets that a search for the best of any size needs."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

LAST_DIGIT = 4 * float(np.finfo(float).eps)  # relative, of the value that has a score
AT_THE_LIMIT = 1e-12  # relative, by which rounding may part a score from the limit that it is at


class Score(NamedTuple):
    """A score of sets of s columns, increasing in their value v (1/2 RSS of weights that sum to 1,
    and the ridge):

        scale = 0:     n (log(4 pi v) + 1) + penalty[s]     criteria of a likelihood
        scale > 0:     v / scale + penalty[s]               Mallows's Cp; the value itself

    penalty (sizes,): infinite for sizes that are not wanted.
    """

    penalty: np.ndarray
    n: float
    scale: float = 0.0

    def of(self, value, size):
        """The score of a set."""
        if self.scale:
            return value / self.scale + float(self.penalty[size])
        if not value > 0.0:
            return -math.inf
        return self.n * (math.log(4.0 * math.pi * value) + 1.0) + float(self.penalty[size])

    def values(self, score):
        """(sizes,): the values that have this score, -inf for sizes that are not wanted."""
        out = np.full(self.penalty.size, -math.inf)
        wanted = np.isfinite(self.penalty)
        if score == math.inf:
            out[wanted] = math.inf
        elif self.scale:
            out[wanted] = self.scale * (score - self.penalty[wanted])
        else:
            exponent = (score - self.penalty[wanted]) / self.n - 1.0
            out[wanted] = np.exp(np.minimum(exponent, 700.0)) / (4.0 * math.pi)
        return out


class LikelihoodScore(NamedTuple):
    """A score of sets of s columns, twice(v) + penalty[s], where twice is increasing in the value
    v, which lies between `least` and `most`. twice((m,)) -> (m,).
    """

    penalty: np.ndarray
    twice: Callable
    least: float
    most: float

    def of(self, value, size):
        """The score of a set; infinite at an infinite value, which no set has."""
        if value == math.inf:
            return math.inf
        return float(self.twice(np.array([value]))[0] + self.penalty[size])

    def values(self, score):
        """(sizes,): values at least as large as those that have this score; -inf for sizes that
        are not wanted.
        """
        out = np.where(np.isfinite(self.penalty), math.inf, -math.inf)
        target = score - self.penalty
        highest = self.of(self.most, 0) - self.penalty[0]
        for i in np.flatnonzero(np.isfinite(target) & (target < highest)):
            out[i] = self._value(target[i])
        return out

    def _value(self, target):
        """A value with twice(v) >= target, the least one up to rounding."""
        from scipy.optimize import brentq

        def above(v):  # a perfect fit has -inf
            return max(float(self.twice(np.array([v]))[0]) - target, -1e12)

        if above(self.least) >= 0.0:
            return self.least
        found = brentq(above, self.least, self.most, xtol=1e-300, rtol=LAST_DIGIT)
        step = LAST_DIGIT * max(abs(found), abs(self.least), 1e-300)
        while above(found) < 0.0:
            found, step = found + step, 2.0 * step
        return found


class BestSets:
    """The best sets by a score: the n_best best ones, or all whose score is at most limit(best).

    refit(support) -> (value, fit); found: [(score, size, support as a tuple, fit)]; most: how many
    are kept, beyond which `full` is True.
    """

    alone, shrink = False, math.inf

    def __init__(self, score, refit, *, n_best=None, limit=None, most=math.inf):
        self.score, self.refit, self.n_best, self.limit = score, refit, n_best, limit
        self.found, self.most, self.full = [], most, False

    @property
    def cutoff(self):
        """The score up to which sets are wanted."""
        if self.limit is not None:
            return self.limit(self.found[0][0]) if self.found else math.inf
        return self.found[-1][0] if len(self.found) >= self.n_best else math.inf

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        cut = self.cutoff
        return self.score.values(cut + AT_THE_LIMIT * abs(cut))[:sizes]

    def offer(self, support, size):
        """See `SetsWanted`."""
        value, fit = self.refit(support)
        if not value < math.inf:
            return False
        score = self.score.of(value, size)
        if score == math.inf:  # a size that is not wanted
            return True
        if not score <= self.cutoff + AT_THE_LIMIT * abs(self.cutoff):
            return True
        self.found.append((score, size, tuple(support.tolist()), fit))
        self.found.sort(key=lambda one: one[:3])
        if self.n_best is not None:
            del self.found[self.n_best :]
            return True
        cut = self.cutoff
        while self.found[-1][0] > cut + AT_THE_LIMIT * abs(cut):
            self.found.pop()
        self.full = len(self.found) > self.most
        return True

    def bound(self, lower):
        """A lower bound on the score of every other set, from lower bounds on its value by size."""
        scores = [self.score.of(v, s) for s, v in enumerate(lower) if v > -math.inf]
        return min([self.cutoff, *scores])


class SetsOfSmoothed(BestSets):
    """The best sets by a loss that a search smooths: `refit` has values of the loss itself, bounds
    are those of the smoothed loss, which is above it by at most `above`.
    """

    def __init__(self, *args, above, **more):
        super().__init__(*args, **more)
        self.above = above

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        return super().cutoffs(sizes) + self.above

    def bound(self, lower):
        """As of `BestSets`."""
        return super().bound(lower - self.above)
