"""Questions of the rows of a path to a search over all sizes: a better model for a row, or the
proof that there is none.
"""

import math

import numpy as np

BETTER = 1e-8  # of its objective, by which a model is below that of a row it replaces


def better_than(objective):
    """The values below which models replace those with these objectives, negative ones too."""
    return objective - BETTER * np.abs(objective)


class SizeRows:
    """The rows of a path over sizes. solutions: its rows; refit(support) -> (value, fit).

    found: {number of a row: the better fit}. A set competes for every row of at least its size.
    """

    alone = True
    shrink = 1.0 - BETTER  # of a squared loss, which is not negative

    def __init__(self, solutions, refit):
        self.refit, self.found = refit, {}
        self.size = np.array([s.k for s in solutions])
        self.upper = np.array([s.objective for s in solutions])

    @property
    def most(self):
        """Columns of a set at most."""
        return int(self.size.max())

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        out = np.full(max(sizes, self.most + 1), -math.inf)
        out[self.size] = better_than(self.upper)
        return out[:sizes]

    def offer(self, support, size):
        """See `SetsWanted`."""
        value, fit = self.refit(support)
        for i in np.flatnonzero((self.size >= size) & (value < better_than(self.upper))).tolist():
            self.upper[i], self.found[i] = value, fit
        return value < math.inf

    def bounds(self, lower, spare):
        """Lower bounds of the objectives of all rows, from those of sets by their number of
        columns; spare: whether a larger set need not be better than a part of it.
        """
        lower = np.minimum.accumulate(lower) if spare else lower
        return lower[np.minimum(self.size, lower.size - 1)]


class PenalisedRows(SizeRows):
    """The rows of a path over lambda0; cost: what a column adds for lambda0 = 1.

    A set of s columns is wanted if it is below what some row leaves, objective - lambda0 cost s.
    """

    shrink = math.inf

    def __init__(self, solutions, refit, cost):
        super().__init__(solutions, refit)
        self.cost_of_one = cost * np.array([s.lambda0 for s in solutions])
        self.last = int(1e9)

    @property
    def most(self):
        """Columns of a set at most."""
        return self.last

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        costs = self.cost_of_one[:, None] * np.arange(sizes)
        return (better_than(self.upper)[:, None] - costs).max(axis=0)

    def offer(self, support, size):
        """See `SetsWanted`."""
        value, fit = self.refit(support)
        total = value + self.cost_of_one * size
        for i in np.flatnonzero(total < better_than(self.upper)).tolist():
            self.upper[i], self.found[i] = total[i], fit
        return value < math.inf

    def bounds(self, lower, spare):
        """See `SizeRows`."""
        lower = np.minimum.accumulate(lower)
        return (lower + self.cost_of_one[:, None] * np.arange(lower.size)).min(axis=1)
