"""The common part of the models on the working columns: which columns these are, and which of them
are nearly combinations of others.

A column's number among all p is its *index*, its place among the working columns W its *position*.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..problem.problem import EPS
from .linear_algebra import COLLINEAR

APART = 1e-4  # of its length, by which a column differs from another in a near combination
# least eigenvalue of a correlation matrix from which its columns are independent, whatever the
# rounding
CLEARLY_APART = 1e-6
CONDITION = 1e14  # condition of a few columns beyond which they count as dependent
CLAIMED = 1e12  # that beyond which nothing is claimed of models
# that of fits that can run off to infinity: along the difference of two columns so close this is
# not told from rounding, and an infimum may be 1e-6 below the optimum that is found
CLAIMED_BESIDE_RECESSION = 1e8
NEAR_COLUMNS = 200  # columns that are searched for near combinations
# lengths that a column keeps beside others, of its own: below the first one Gram matrices take it
# for their combination, below the second it is one
SMALL_LENGTH, NO_LENGTH = np.sqrt(COLLINEAR), 10.0 / CONDITION
PRODUCTS_AT_ONCE = 1 << 21  # entries of X'R made at a time: 16 MB


class Quadratic(NamedTuple):
    """F near a fit: rows (k, m) = G_{S, columns}, gradient c (m,), (m, q) with several responses,
    diagonal a (m,), inverse B (k, k) of G_SS + 2 lambda2 I.
    """

    rows: np.ndarray
    c: np.ndarray
    a: np.ndarray
    B: np.ndarray

    def beside(self, more):
        """The same support beside these columns and those of another Quadratic."""
        rows, c, a = (
            np.concatenate(pair, axis=-1) for pair in zip(self[:3], more[:3], strict=True)
        )
        return Quadratic(rows, c, a, self.B)

    def after(self, first):
        """The columns from the number `first` on."""
        if not first:
            return self
        rows, c, a, B = self
        return Quadratic(np.ascontiguousarray(rows[:, first:]), c[first:], a[first:], B)


class Unclear(Exception):
    """Columns are so nearly dependent that a model of them cannot be judged."""


def independent_count(length):
    """Number of independent columns, by the lengths that they keep; Unclear where some are nearly
    dependent.
    """
    if ((length > NO_LENGTH) & (length < SMALL_LENGTH)).any():
        raise Unclear
    return np.count_nonzero(length > NO_LENGTH)


def combinations(A, rank):
    """(c, gap, size) of the columns of A from `rank` on as combinations of those before: their
    coefficients, what these leave of them, and the size of what is subtracted.
    """
    c = np.linalg.lstsq(A[:, :rank], A[:, rank:], rcond=None)[0]
    gap = np.linalg.norm(A[:, rank:] - A[:, :rank] @ c, axis=0)
    return c, gap, 1.0 + np.abs(c).sum(axis=0)


def orthogonal_basis(Z):
    """(columns (k, n), R (k, k)) with Z = R' columns, which are orthogonal and of unit mean square;
    None for columns Z (k, n) that are dependent.
    """
    k, n = Z.shape
    if k > n:
        return None
    Q, R = np.linalg.qr(Z.T)
    if (np.abs(np.diagonal(R)) <= np.linalg.norm(R, axis=0) / CONDITION).any():
        return None
    return np.ascontiguousarray(np.sqrt(n) * Q.T), R / np.sqrt(n)


class WorkingColumns:
    """The working columns: W (indices), where (p,) positions or -1, Z (capacity, n) one column a
    row.
    """

    # whether the quadratics of fits predict refits closely, are those of mean curvatures, and
    # whether the curvatures of a fit close by will do
    sharp = rough = shares = False

    def __init__(self, problem):
        self.problem = problem
        self.width = 0
        self.where = np.full(problem.X.p, -1, dtype=np.int64)
        self.W = np.empty(0, dtype=np.int64)
        self.Z = np.empty((0, problem.X.n))
        self.refits = self.tables = self.reads = 0
        self.max_iter = 1000
        self.boxed, self.near = problem.boxed, None
        self.paired, self.compared = np.empty(0, dtype=np.int64), 0  # by `_paired`
        # whether some of `near` are beyond a condition of CLAIMED, of CLAIMED_BESIDE_RECESSION
        self.unclear = self.close = False

    def remember_slopes(self):
        """Keep the slopes that checks over all columns compute, for bounds; where these are
        expensive to keep, only fits that will be bounded do.
        """

    @property
    def columns_in_memory(self):
        """Number of columns of 8 n bytes that fit into the memory allowed for a design on disk: W
        does not begin with more (it may grow beyond).
        """
        X = self.problem.X
        return (X.design.memory_limit if X.traits.memory_limit else 1 << 62) // (8 * X.n)

    def grow(self, J):
        """Add columns J (indices, new ones only are taken) to W; True if any was new."""
        J = np.asarray(J, dtype=np.int64)
        J = np.unique(J[self.where[J] < 0])
        if not J.size:
            return False
        old, new = self.width, self.width + J.size
        if new > self.Z.shape[0]:
            Z = np.empty((3 * new, self.problem.X.n))  # memory that is not written costs nothing
            Z[:old] = self.Z[:old]
            self.Z = Z
        self.problem.X.columns(J, self.Z[old:new].T)
        self.where[J] = np.arange(old, new)
        self.W = np.concatenate([self.W, J])
        self.width = new
        self._extend(old, new)
        return True

    def _extend(self, old, new):
        pass

    def negligible_ridge(self, lambda2):
        """Whether a ridge is too small to set near combinations apart in a Gram matrix."""
        return 2.0 * lambda2 <= APART**2 * float(self.problem.square.max(initial=0.0))

    def near_columns(self, lambda2):
        """How many working columns, those that are new included, are in near combinations that no
        ridge sets apart.
        """
        if not self.negligible_ridge(lambda2):
            return 0
        self.find_near()
        return 0 if self.near is None else self.near.size

    def hidden(self, support, lambda2):
        """Whether near combinations are in a support that no ridge sets apart."""
        if self.near is None or np.isin(support, self.near).sum() < 2:
            return False
        return self.negligible_ridge(lambda2)

    def too_close(self, support):
        """Whether near combinations in a support are so close that the infimum of a loss on it is
        not told from rounding.
        """
        if not self.hidden(support, 0.0):
            return False
        size = np.linalg.svd(self._of_length_one(support), compute_uv=False)
        return bool(size[size > size[0] / CONDITION][-1] <= size[0] / CLAIMED_BESIDE_RECESSION)

    def in_units(self, fit):
        """The coefficients of a fit as its `quadratic` has them."""
        return fit.b

    def rounding_of(self, fit):
        """What rounding of the predictor leaves of the value of a fit, row by row at random: next
        to nothing, but where near combinations have large coefficients that cancel.
        """
        if not self.hidden(fit.support, 0.0):
            return 0.0
        size = np.abs(self.Z[self.where[fit.support]].T) @ np.abs(fit.b)
        return EPS * fit.support.size * float(np.linalg.norm(self._by_rows(fit) * size))

    def _by_rows(self, fit):
        """The slopes of rows at a fit, (n,) or (n, q)."""
        return self.derivatives(fit).slopes

    def basis(self, support, at):
        """(Z, S, R): the working columns and the positions of a support; where near combinations
        are in it an orthogonal basis instead, Z = R' basis, whose Hessian does not square their
        condition. R None: the columns as they are.
        """
        return self.orthogonal(at) if self.hidden(support, 0.0) else (self.Z, at, None)

    def orthogonal(self, at):
        """`basis` of the columns at positions `at`, whether near combinations are known or not."""
        if self.boxed:
            return self.Z, at, None
        found = orthogonal_basis(self.Z[at])
        return (self.Z, at, None) if found is None else (found[0], np.arange(at.size), found[1])

    def dependent(self, support):
        """Whether a support of working columns has combinations of the others, forced columns among
        themselves apart; near combinations are none.
        """
        forced = self.problem.forced
        return self._rank(support) - self._rank(forced) < support.size - forced.size

    def _rank(self, J):
        """Number of independent columns among the working columns J, up to CONDITION."""
        if self.clearly_apart(J):
            return J.size
        A = self._of_length_one(J)
        return int(np.linalg.matrix_rank(A, tol=2.0 * J.size / CONDITION))

    def clearly_apart(self, J):
        """Whether all eigenvalues of the correlations of the working columns J are above
        CLEARLY_APART.
        """
        if J.size < 2:
            return True
        G = self.correlations(J)
        G[np.diag_indices_from(G)] -= CLEARLY_APART
        return not lapack.dpotrf(G, lower=1)[1]

    def polished(self, fits):
        """Fits without shrinkage, closer to their optima where that is to be had."""
        return fits

    def independent_of(self, support):
        """The usable working columns that are no combinations of a support, whatever the weights of
        the rows, those that keep most of their length first. Where weights or curvatures are far
        apart, rows of large ones alone may hide that.
        """
        p = self.problem
        rest = np.setdiff1d(self.W[p.usable[self.W]], support)
        rows, level = p.weights > 0, np.ones((int(p.centered), p.X.n))
        held = np.vstack([level, self.Z[self.where[support]]])[:, rows].T
        Q = np.linalg.svd(held / np.linalg.norm(held, axis=0).clip(1e-300), full_matrices=False)
        basis = Q[0][:, Q[1] > SMALL_LENGTH]
        Z = self.Z[self.where[rest]][:, rows].T
        left = Z - basis @ (basis.T @ Z)
        share = np.linalg.norm(left, axis=0) / np.linalg.norm(Z, axis=0).clip(1e-300)
        order = np.argsort(-share, kind="stable")
        return rest[order[share[order] > SMALL_LENGTH]]

    def _of_length_one(self, J):
        """The working columns J times the roots of the weights, of length one: (|J|, n)."""
        A = self.Z[self.where[J]] * np.sqrt(self.problem.weights)
        return A / np.sqrt(np.maximum(self.problem.square[J], 1e-300))[:, None]

    def correlations(self, J):
        """The products of the working columns J, as vectors of length one: (|J|, |J|)."""
        A = self._of_length_one(J)
        return A @ A.T

    def find_near(self):
        """Note the working columns that are combinations of others up to less than APART of their
        length, but not beyond CONDITION or rounding; whether there are any.

        Gram matrices square a condition, so they cannot tell such columns from true combinations.
        Pairs are found among all working columns, other combinations where these are at most
        NEAR_COLUMNS. Of more columns in pairs (all columns, where they are far from the origin) the
        first ones stand for the others.
        """
        unit = 1.0 / np.sqrt(np.maximum(self.problem.square[self.W], 1e-300))
        G = self._gram()
        if G is None:
            return False
        few = paired = np.arange(self.width)
        if self.width > NEAR_COLUMNS:
            paired = self._paired(G, unit)
            few = paired[:NEAR_COLUMNS]
        if few.size < 2:
            return False
        H = (G if few.size == self.width else G[np.ix_(few, few)]) * unit[few]
        H *= unit[few, None]
        L, weak = lapack.dpotrf(H.T, lower=1, clean=0)  # H', which LAPACK reads as it lies
        if not weak and np.diagonal(L).min() > APART:
            return False
        _, order, rank, _ = lapack.dpstrf(H, tol=APART**2, lower=1)
        order = few[order - 1]
        A = (self.Z[order] * np.sqrt(self.problem.weights)).T * unit[order]
        c, gap, size = combinations(A, rank)
        least = max(2.0 / CONDITION, self.problem.rounding(self.W[few]))
        near = gap > size * least
        # a difference in rows of next to no weight is lost in sums, and counts
        if not (self.unclear or near.all()) and np.ptp(self.problem.weights):
            self.unclear = bool(self._differ(order, rank, least)[~near].any())
        if near.any():
            members = np.abs(c[:, near]).max(axis=1) > np.sqrt(APART)
            found = self.W[np.append(order[:rank][members], order[rank:][near])]
            if few.size < paired.size:
                found = self.W[paired]
            self.near = np.union1d(found, found if self.near is None else self.near)
            closest = float((gap / size)[near].min())
            self.unclear |= closest <= 2.0 / CLAIMED
            self.close |= closest <= 2.0 / CLAIMED_BESIDE_RECESSION
        return bool(near.any())

    def _differ(self, order, rank, least):
        """Which of the working columns at positions `order` from `rank` on are no combinations of
        those before, whatever the weights of the rows. least: the share of rounding.
        """
        w = self.problem.weights
        A = self.Z[order][:, w > 0].T
        A = A / np.linalg.norm(A, axis=0).clip(1e-300)
        _, gap, size = combinations(A, rank)
        return gap > size * least

    def _paired(self, G, unit):
        """Positions of the working columns that are nearly equal or opposite to another one. Those
        that came since the last call are compared with all; the others were before.
        """
        old, self.compared = self.compared, self.width
        close = np.abs(G[old:] * unit)
        close *= unit[old:, None]
        pairs = close > 1.0 - 0.5 * APART**2
        pairs[np.arange(self.width - old), np.arange(old, self.width)] = False
        new, other = np.nonzero(pairs)
        self.paired = np.unique(np.concatenate([self.paired, old + new, other]))
        return self.paired

    def _gram(self):
        """The Gram matrix of the working columns, None where that would be a lot of work."""
        if self.width > NEAR_COLUMNS:
            return None
        Z = self.Z[: self.width]
        return (Z * self.problem.weights) @ Z.T

    def first_below(self, supports, starts, b0, shrinkage, target):
        """The first of several supports whose refit lies below a target, or is no optimum.

        Parameters
        ----------
        supports : ndarray of shape (m, k)
            Sorted working columns.
        starts : ndarray of shape (m, k) or (m, k, q)
            Coefficients from which each refit starts, with the intercept b0.
        b0 : float
        shrinkage : tuple of float
            lambda1 and lambda2.
        target : float

        Returns
        -------
        (int, Fit)
            The number of the support and its fit; -1 and None where there is none.
        """
        for e, support in enumerate(supports):
            fit = self.refit(support, *shrinkage, (starts[e], b0), target)
            if fit is not None and (fit.value < target or fit.flags):
                return e, fit
        return -1, None

    def independent(self, support, shrunk):
        """Positions in a support of the columns that refits give coefficients: all of them, where
        they bear linear dependence. shrunk: lambda1 or lambda2, one that is not 0.
        """
        return np.arange(support.size)

    def gram_blocks(self, places):
        """Gram blocks, row by row, of several sets of positions, if a Gram matrix is at hand."""
        return []

    def may_enter(self):
        """(w,) the working columns that exchanges may add."""
        return self.problem.usable[self.W]

    def needs(self):
        """(w, w) which columns each needs beside it; (0, 0) where none does."""
        return np.zeros((0, 0), dtype=bool)

    def as_units(self, fit):
        """A Fit as one of the units that sizes count."""
        return fit

    def bounds_of(self, support):
        """Box of a support, two (k,) arrays; of several supports (m, k) each."""
        return self.problem.lower[support], self.problem.upper[support]

    def share(self, other):
        """Use the working columns of another model, which has all of this one's."""
        old, self.compared = self.width, 0
        self.Z, self.W, self.where, self.width = other.Z, other.W, other.where, other.width
        self._extend(old, self.width)
