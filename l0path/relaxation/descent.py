"""Accelerated proximal gradient for the perspective relaxation on working columns, all targets side
by side.
"""

import numpy as np

from ..problem.conjugates import tangents
from .perspective import envelope, prox

BOUND_STEPS = 10  # steps between two evaluations of the restricted dual
FAR = 1e3  # times the largest loss so far: one of an extrapolation that is not taken
UNSEEN = 1e-11  # of the size of the loss: a change that it need not show


def few_rows(A, B):
    """A @ B for B (w, m) whose rows are mostly zero; columns of A are only copied where at least
    half of them can be left out.
    """
    rows = np.flatnonzero(B.any(axis=1))
    return A @ B if 2 * rows.size > B.shape[0] else A[:, rows] @ B[rows]


class SmoothRows:
    """Mean loss on the working columns W, for any loss: an image Z_W B of coefficients B (w, m) is
    what its value and slopes are taken from; less half the split, if any.

    shift (m,) is the intercept, from which the search for the best one starts. before: the same for
    fewer columns, whose products are taken over.
    """

    def __init__(self, dual, W, before=None):
        self.problem, self.W = dual.problem, W
        self.d = None if dual.split is None else dual.split[W][:, None]
        self.old = np.empty(0, dtype=np.int64) if before is None else np.searchsorted(W, before.W)
        self.new = np.delete(np.arange(W.size), self.old)
        fresh = self.problem.X.columns(W[self.new])
        if before is None:
            self.Z = fresh
        else:
            self.Z = np.empty((fresh.shape[0], W.size), order="F")
            self.Z[:, self.old], self.Z[:, self.new] = before.Z, fresh

    def predicted(self, B):
        """Z_W B (n, m)."""
        return few_rows(self.Z, B)

    def image(self, B):
        return self.predicted(B)

    def slopes(self, E, B, shift):
        """(value (m,), gradient (w, m), shift (m,)) at coefficients B with image E."""
        a, value, shift = self._tangents(E, shift)
        a[:, ~np.isfinite(value)] = 0.0
        gradient = self.Z.T @ a
        return (
            self._less_split(value, B),
            gradient if self.d is None else gradient - self.d * B,
            shift,
        )

    def value(self, E, B, shift):
        """(m,): the value alone."""
        return self._less_split(self._tangents(E, shift)[1], B)

    def _tangents(self, E, shift):
        problem = self.problem
        return tangents(
            problem.loss,
            problem.y,
            problem.weights,
            np.asfortranarray(E + problem.offset[:, None]),
            problem.intercept,
            shift,
        )

    def _less_split(self, value, B):
        return value if self.d is None else value - 0.5 * (self.d * B * B).sum(axis=0)

    def largest(self):
        """Largest curvature along any direction for a loss of curvature 1 (power iteration, rounded
        up).
        """
        x = np.random.default_rng(0).standard_normal((self.Z.shape[1], 1))
        size = 1.0
        for _ in range(20):
            x = self._curved(x)
            size = max(float(np.linalg.norm(x)), 1e-300)
            x /= size
        return 1.05 * size

    def _curved(self, x):
        return self.Z.T @ (self.problem.weights[:, None] * (self.Z @ x))


class SmoothGram(SmoothRows):
    """The same for the squared loss, with images Z_W' diag(w) Z_W B."""

    def __init__(self, dual, W, before=None):
        super().__init__(dual, W, before)
        w, fresh = self.problem.weights, self.Z[:, self.new]
        self.G = np.empty((W.size, W.size))
        if before is not None:
            self.G[np.ix_(self.old, self.old)] = before.G
        self.G[self.new] = (w[:, None] * fresh).T @ self.Z
        self.G[:, self.new] = self.G[self.new].T
        self.c = (self.Z.T @ (w * self.problem.y))[:, None]
        self.half = 0.5 * float(w @ self.problem.y**2)

    def image(self, B):
        return few_rows(self.G, B)

    def slopes(self, E, B, shift):
        return (
            self.value(E, B, shift),
            E - self.c if self.d is None else E - self.c - self.d * B,
            shift,
        )

    def value(self, E, B, shift):
        return self._less_split(self.half + ((0.5 * E - self.c) * B).sum(axis=0), B)

    def _curved(self, x):
        return self.G @ x


class Descent:
    """Accelerated proximal gradient (Beck & Teboulle 2009) with function restarts (O'Donoghue &
    Candes 2015) and backtracking, each column a target of its own.
    """

    def __init__(self, run, T):
        self.run = run
        self.model = run.model
        self.terms = run.terms
        self.targets = run.targets.take(T)
        self.B, self.shift, self.x, self.L = run.B[:, T], run.shift[T], run.x[T], run.curvature[T]
        self.E = self.model.image(self.B)
        self.last, self.last_E, self.t = self.B, self.E, np.ones(T.size)
        self.value, self.bound, self.at = np.full(T.size, np.inf), np.full(T.size, -np.inf), self.B
        self.turn, self.level = 0, np.zeros(T.size)

    def keep(self, mask):
        """Go on with some of the targets."""
        if not mask.all():
            self.targets = self.targets.take(np.flatnonzero(mask))
            for name in ("B", "E", "last", "last_E", "at"):
                setattr(self, name, getattr(self, name)[:, mask])
            for name in ("shift", "x", "L", "t", "value", "bound", "level"):
                setattr(self, name, getattr(self, name)[mask])
        return self

    def advance(self):
        """One step of every target; every BOUND_STEPS-th looks at the restricted dual."""
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.t**2))
        share = (self.t - 1.0) / after
        V, E = self.B + share * (self.B - self.last), self.E + share * (self.E - self.last_E)
        loss, slopes, shift = self.model.slopes(E, V, self.shift)
        beyond = ~np.isfinite(loss)
        if self.turn:
            beyond |= loss > FAR * self.level
        if beyond.any():  # an extrapolation too far, or beyond all numbers
            V = np.where(beyond, self.B, V)
            E = np.where(beyond, self.E, E)
            after = np.where(beyond, 1.0, after)
            loss, slopes, shift = self.model.slopes(E, V, self.shift)
        self.shift = shift
        self.level = np.maximum(self.level, np.abs(loss))
        self.turn += 1
        if self.turn % BOUND_STEPS == 0 or self.turn == 1:
            found = (
                loss
                - (slopes * V).sum(axis=0)
                - self.targets.taken(self.terms, slopes, self.run.dual, self.run.W)
            )
            better = (found > self.bound) & np.isfinite(loss)  # inf: the slopes are none
            self.bound = np.where(better, found, self.bound)
            self.at = np.where(better, V, self.at)
        B, z, image, new = self._prox(V, loss, slopes)
        value = new + envelope(self.terms, B, z, self.targets.lambda0)
        worse = value > self.value
        self.t = np.where(worse, 1.0, after)
        self.last, self.last_E = np.where(worse, B, self.B), np.where(worse, image, self.E)
        self.B, self.E, self.value = B, image, np.minimum(value, self.value)

    def _prox(self, V, loss, slopes):
        """The proximal step from V with the least of the curvatures L, 2 L, ... that majorizes the
        loss there; L shrinks by a twentieth at each step unless the loss is quadratic.
        """
        quadratic = self.run.dual.problem.quadratic
        if not quadratic:
            self.L = 0.95 * self.L
        for _ in range(40):
            B, z, self.x = prox(
                self.terms,
                V - slopes / self.L,
                self.L,
                self.targets.sizes,
                self.targets.lambda0,
                self.x,
            )
            E, step = self.model.image(B), B - V
            value = self.model.value(E, B, self.shift)
            if quadratic:
                break
            with np.errstate(invalid="ignore"):
                promised = (slopes * step).sum(axis=0)
                fine = (
                    value
                    <= loss
                    + promised
                    + 0.5 * self.L * (step * step).sum(axis=0)
                    + 1e-12 * self.level
                )
                # beside columns far from the origin rounding of predictors hides so short a step,
                # and no curvature would ever be enough
                fine |= np.abs(promised) <= UNSEEN * self.level
            if (fine | (self.L >= self.run.top)).all():
                break
            self.L = np.where(fine, self.L, np.minimum(2.0 * self.L, self.run.top))
        return B, z, E, value
