"""Scores of least squares models, and the sets that a search for the best of any size needs."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .node_bounds import independent

LAST_DIGIT = 4 * float(np.finfo(float).eps)  # relative, of the value that has a score
AT_THE_LIMIT = 1e-12  # relative, by which rounding may part a score from the limit that it is at


class Score(NamedTuple):
    """A score of sets of s columns, increasing in their value v (1/2 RSS of weights that sum to 1,
    and the ridge):

        scale = 0:     n (log(4 pi v) + 1) + penalty[s]     criteria of a likelihood
        scale > 0:     v / scale + penalty[s]               Mallows's Cp; the value itself

    penalty (sizes,): infinite for sizes that are not wanted. Of sets of s groups that have d
    coefficients it is penalty[s, d], (sizes, coefficients), not decreasing in d.
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
        """The values that have this score, -inf for sizes that are not wanted; as penalty."""
        out = np.full(self.penalty.shape, -math.inf)
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
        """Values at least as large as those that have this score, the least ones up to rounding;
        -inf for sizes that are not wanted; as penalty.
        """
        out = np.where(np.isfinite(self.penalty), math.inf, -math.inf)
        if not np.isfinite(score):
            return out
        target = score - self.penalty
        sought = np.isfinite(target) & (target < float(self.twice(np.array([self.most]))[0]))
        unlike, place = np.unique(target[sought], return_inverse=True)
        out[sought] = np.array([self._value(one) for one in unlike])[place]
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

    refit(support) -> (value, fit); counts: `CoefficientCounts` where the score depends on numbers
    of coefficients; found: [(score, size, support as a tuple, fit)]; most: how many are kept,
    beyond which `full` is True.
    """

    alone, shrink = False, math.inf

    def __init__(self, score, refit, *, n_best=None, limit=None, most=math.inf, counts=None):
        self.score, self.refit, self.n_best, self.limit = score, refit, n_best, limit
        self.found, self.most, self.full, self.counts = [], most, False, counts
        self._values = (math.nan, None)

    @property
    def cutoff(self):
        """The score up to which sets are wanted."""
        if self.limit is not None:
            return self.limit(self.found[0][0]) if self.found else math.inf
        return self.found[-1][0] if len(self.found) >= self.n_best else math.inf

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        cut = self.cutoff
        if cut != self._values[0]:
            self._values = cut, self.score.values(cut + AT_THE_LIMIT * abs(cut))
        return self._values[1][:sizes].copy()

    def offer(self, support, size):
        """See `SetsWanted`."""
        value, fit = self.refit(support)
        return self.compare(support, size, value, fit)

    def score_of(self, support, size, value):
        """The score of a set."""
        at = size if self.counts is None else (size, self.counts.of(support))
        return self.score.of(value, at)

    def compare(self, support, size, value, fit):
        """Compare a set that was fitted; see `SetsWanted.offer`."""
        if not value < math.inf:
            return False
        score = self.score_of(support, size, value)
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
        if lower.ndim < self.score.penalty.ndim:
            lower = np.repeat(lower[:, None], self.score.penalty.shape[1], axis=1)
        # a loss may have no lower bound at sizes that are wanted
        wanted = np.isfinite(self.score.penalty)
        scores = [self.score.of(v, at) for at, v in np.ndenumerate(lower) if wanted[at]]
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


class BestOfEach:
    """The best set by each of several scores, in one search. wanted: a `BestSets` for each, which
    have refits and counts in common.
    """

    alone, shrink = False, math.inf

    def __init__(self, wanted):
        self.wanted, self.counts = wanted, wanted[0].counts

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        return np.maximum.reduce([one.cutoffs(sizes) for one in self.wanted])

    def offer(self, support, size):
        """See `SetsWanted`."""
        value, fit = self.wanted[0].refit(support)
        return all([one.compare(support, size, value, fit) for one in self.wanted])


class Offers:
    """What searches over sets have in common: a set is offered to `wanted` once.

    wanted: `SetsWanted`; held: units of every set; J: those that may be chosen; seen: {set as
    bytes: whether its value is known} of those that were offered; operations: what was done;
    unknown: whether a set that may be wanted has a value that is not known.
    """

    refit_operations = 0.0  # what one refit counts in a budget of operations
    spare = 0  # a larger set is as good as its parts, so that sizes need not compete

    def __init__(self, wanted):
        self.wanted, self.seen, self.operations, self.unknown = wanted, {}, 0.0, False
        # of coefficients, where cutoffs depend on their number
        self.counts = wanted.counts if wanted.cutoffs(1).ndim > 1 else None

    def cell(self, support):
        """Where a set of units, held ones included, is in arrays such as the cutoffs: its size, or
        its size and the number of its coefficients.
        """
        size = support.size - self.held.size
        return size if self.counts is None else (size, self.counts.of(support))

    def know(self, support):
        """Let a set of units, held ones included, compete, unless it did before. Returns whether
        its value is known.
        """
        support = np.sort(support).astype(np.int64)
        key = support.tobytes()
        if key not in self.seen:
            self.operations += self.refit_operations
            self.seen[key] = self.wanted.offer(support, support.size - self.held.size)
            self.unknown = self.unknown or not self.seen[key]
        return self.seen[key]


class CoefficientCounts:
    """Numbers of coefficients of sets of groups: the ranks of their columns, those of every model
    among them.

    problem: with groups; own (G,): what a group adds to the rank of all others. By submodularity of
    the rank it adds no less to any set, so that sums of `own` are lower bounds.
    """

    def __init__(self, problem):
        self.problem = problem
        self.usable = np.flatnonzero(problem.usable)
        place = np.full(problem.X.p, -1)
        place[self.usable] = np.arange(self.usable.size)
        self.place, self.known = place, {}
        Z = np.sqrt(problem.weights)[:, None] * problem.X.columns(self.usable)
        self.gram = Z.T @ Z
        groups = problem.groups
        self.everything = self._rank(self.usable)
        self.independent = self.everything == self.usable.size
        self.held = self._rank(problem.columns_of(problem.held_units))
        times = np.bincount(groups.columns, minlength=problem.X.p)
        times[problem.forced] += 1
        self.own = np.zeros(len(groups.labels), dtype=np.int64)
        for g in np.flatnonzero(problem.free_units):
            alone = groups.of(g)[(times[groups.of(g)] == 1) & problem.usable[groups.of(g)]]
            rest = np.setdiff1d(self.usable, alone)
            self.own[g] = alone.size if self.independent else self.everything - self._rank(rest)
        # then the bounds of both sides meet, for every set
        self.additive = self.held + int(self.own.sum()) == self.everything

    def _rank(self, columns):
        at = self.place[columns]
        return independent(self.gram[np.ix_(at, at)])[0].size

    def of(self, units):
        """The number of coefficients of a set of groups, those that are always in among them."""
        if self.additive:
            return self.held + int(self.own[units].sum())
        columns = self.problem.columns_of(units)
        if self.independent:
            return columns.size
        key = columns.tobytes()
        if key not in self.known:
            self.known[key] = self._rank(columns)
        return self.known[key]

    def least(self, units, free):
        """(m + 1,) what sets have at least of the groups `units` less some of the groups `free`
        (m,) among them, so that 0, 1, ..., m of these are left; those always in are, too.
        """
        first = self.held + int(self.own[units].sum() - self.own[free].sum())
        return np.append(first, first + np.cumsum(np.sort(self.own[free])))
