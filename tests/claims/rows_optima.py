"""The best value of every support of a small problem of several responses of a loss of rows, which
share nothing but the columns of a model: composed of the optima of each response.
"""

from functools import cached_property

import numpy as np

from .optima import Optima

ROWS = (
    "logistic",
    "poisson",
    "gamma",
    "negative_binomial",
    "tweedie",
    "huber",
    "squared_hinge",
    "smoothed_hinge",
)


class RowsOptima(Optima):
    """`Optima` of  sum_s v_s (loss of response s + l1 ||b_s||_1 + l2 ||b_s||^2); `record` holds
    y (n, r), v (r,) and offsets (n,) or (n, r). t (q,): the coefficients of column 0, 1, ..., of
    each the r of the responses, then the intercepts.
    """

    def __init__(self, record, lambda1, lambda2):
        Y, self.v, o = record["y"], np.asarray(record["v"], float), record["offset"]
        n, r = Y.shape
        o = [None] * r if o is None else np.broadcast_to(o.reshape(n, -1), (n, r)).T
        self.each = [
            Optima(record | {"y": y, "offset": own}, lambda1, lambda2)
            for y, own in zip(Y.T, o, strict=True)
        ]
        one = self.each[0]
        self.p, self.alive, self.intercept, self.A = one.p, one.alive, one.intercept, one.A
        numbers = np.arange(one.A.shape[1] * r).reshape(-1, r)
        self.at = list(numbers.T)  # where t has what belongs to each response
        self.low, self.high = np.repeat(one.low, r), np.repeat(one.high, r)
        self.start, self.r, self.loss = np.zeros(numbers.size), r, one.loss

    def _own(self, t):
        """(optima, t) of each response."""
        return [(one, t[..., at]) for one, at in zip(self.each, self.at, strict=True)]

    def _user(self, beta, intercept):
        """(optima, beta, intercept) of each response."""
        beta = np.asarray(beta, float).reshape(self.p, self.r).T
        first = np.broadcast_to(np.asarray(intercept, float), (self.r,))
        return list(zip(self.each, beta, first, strict=True))

    def objective(self, beta, intercept, lambda1, lambda2):
        those = self._user(beta, intercept)
        return float(self.v @ [one.objective(b, at, lambda1, lambda2) for one, b, at in those])

    def rounding(self, beta, intercept):
        return float(self.v @ [one.rounding(b, at) for one, b, at in self._user(beta, intercept)])

    def size_of_loss(self):
        return float(self.v @ [one.size_of_loss() for one in self.each])

    def sizes(self, t):
        each = [v * one.sizes(own) for v, (one, own) in zip(self.v, self._own(t), strict=True)]
        return np.column_stack(each).ravel()

    def entries(self, columns):
        return [j * self.r + s for j in columns for s in range(self.r)]

    def _sets(self, masks):
        return np.repeat(self.each[0]._sets(masks), self.r, axis=1)

    def value(self, t):
        return self.v @ [one.value(own) for one, own in self._own(t)]

    def violation(self, t, use):
        """As `Optima.violation`: the largest of any response, relative to its own size."""
        each = [
            one.violation(own, use[:, at])[1]
            for (one, own), at in zip(self._own(t), self.at, strict=True)
        ]
        return None, np.max(each, axis=0), None

    def noise(self, t):
        return self.v @ [one.noise(own) for one, own in self._own(t)]

    @cached_property
    def table(self):
        each = [one.table for one in self.each]
        t = np.stack([points for _, points in each], axis=2)
        return self.v @ [values for values, _ in each], t.reshape(len(t), -1)

    def coordinates(self, support, beta, intercept):
        each = [one.coordinates(support, b, at) for one, b, at in self._user(beta, intercept)]
        return np.column_stack(each).ravel()

    def independent(self, mask):
        A = self.A[:, : self.p][:, (mask >> np.arange(self.p)) & 1 == 1]
        return np.linalg.matrix_rank(A, tol=1e-4 * np.sqrt(len(A))) == A.shape[1]

    def recedes(self, mask):
        """Whether some response has no finite optimum on a set."""
        return any(one.may_recede(mask) for one in self.each)

    def attained(self, mask, use):
        return self.independent(mask) and not self.recedes(mask)
