"""What the forced columns F of a problem leave of others, by the rows of X, and when a refit
confirms a value that was computed from that.

A column is taken times the root of the weights. With a ridge those of F are extended by sqrt(2
lambda2) I, and the others by zeros: what is left of these beside F is a projection all the same.
"""

import numpy as np
from scipy.linalg import qr

from ..problem.problem import EPS

# relative difference of a computed value and its refit, above which nothing is claimed
AGREEMENT = 1e-7


class BesideForced:
    """The forced columns F of a problem. independent(lengths) -> how many of the columns that
    pivoting took first are independent, by the lengths that they keep beside those before.

    root (n,): of the weights; basis (n + |F|, r): orthonormal columns that span F; kept (r,):
    positions of independent ones among F.
    """

    def __init__(self, problem, F, lambda2, independent):
        self.problem, self.forced, self.root = problem, F, np.sqrt(problem.weights)
        self.basis, self.kept = np.empty((self.root.size, 0)), np.empty(0, dtype=np.int64)
        if F.size:
            A = np.vstack([self.columns(F), np.sqrt(2.0 * lambda2) * np.eye(F.size)])
            Q, R, order = qr(A / np.sqrt((A * A).sum(axis=0)), mode="economic", pivoting=True)
            some = independent(np.abs(np.diagonal(R)))
            self.basis, self.kept = Q[:, :some], np.sort(order[:some])

    def columns(self, J):
        """Columns J (n, m), times the root of the weights; groups may share columns."""
        once, at = np.unique(J, return_inverse=True)
        return self.root[:, None] * self.problem.X.columns(once)[:, at]

    def left_of(self, A):
        """(A less its projection on F, its lengths before it): A (n, m), or (n,), is extended."""
        full = np.sqrt((A * A).sum(axis=0))
        A = np.concatenate([A, np.zeros((self.forced.size, *A.shape[1:]))])
        for _ in range(2 if self.basis.shape[1] else 0):  # twice for rounding
            A -= self.basis @ (self.basis.T @ A)
        return A, full


def rounding_of_values(problem, half):
    """What rounding may make of the value of a model; half: the value of no column."""
    return 64 * (problem.X.n + 16) * EPS * half + problem.noise


def confirms(value, computed, slack):
    """Whether a refit confirms the value that was computed; slack: of `rounding_of_values`."""
    return abs(value - computed) <= AGREEMENT * abs(computed) + slack
