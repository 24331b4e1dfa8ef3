"""The best value of every support of a small problem, all supports at once; independent of the
package.

What is refuted here is refuted by a feasible point whose objective is computed from its definition,
so an inexact solver can miss a false claim but never invent one.
"""

from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import oracles
from oracle_coupled import Composite

EPS = np.finfo(float).eps


class Ahead(NamedTuple):
    """What `Composite.recedes` asks of a loss."""

    ahead: np.ndarray


def ahead(loss, y):
    """(m, n): along a direction whose products with these rows are >= 0, and not all 0, the loss of
    y (n,) falls for ever, and along no others.
    """
    unit = np.eye(y.size)
    if loss == "logistic":
        return unit * y
    if loss == "binomial":  # shares
        return np.vstack([unit[y > 0], -unit[y < 1]])
    if loss in ("poisson", "negative_binomial", "tweedie"):
        return np.vstack([-unit, unit[y > 0]])
    return np.empty((0, y.size))


class Optima:
    """Optima of  mean loss + l1 ||b||_1 + l2 ||b||^2  over the box, for all 2^p sets of columns.

    A set of columns is a number: column j is in it if bit j is set. `record` holds X (n, p), y (n,)
    and the keywords of `oracles.restricted` but lambda1 and lambda2. Columns are centered, if there
    is an intercept, and have unit norm; t (p,) are the coefficients of those, the intercept last.
    """

    def __init__(self, record, lambda1, lambda2):
        X, y = np.asarray(record["X"], float), np.asarray(record["y"], float)
        n, p = X.shape
        self.record, w = record, record["weights"]
        w = np.ones(n) if w is None else np.asarray(w, float)
        offset = record["offset"]
        o = np.zeros(n) if offset is None else np.asarray(offset, float)
        self.rows = rows = w > 0
        self.own_weights = w[rows]
        self.center, s = oracles.scaling(
            X, weights=w, standardize=record["standardize"], intercept=record["intercept"]
        )
        Z, w = (X - self.center)[rows], (w / w.sum())[rows]
        length = np.sqrt(w @ Z**2)
        # columns that are constant up to rounding have no coefficient
        self.alive = (length > 1e-13 * np.abs(X).max(axis=0, initial=0)) & (s > 0)
        length[~self.alive] = 1.0
        self.p, self.intercept, self.length, self.scale = p, record["intercept"], length, s
        self.A = np.column_stack([np.where(self.alive, Z / length, 0.0), np.ones(len(Z))])
        self.A = self.A if self.intercept else self.A[:, :p]
        self.y, self.w, self.o = y[rows], w, o[rows]
        q = self.A.shape[1]
        self.start = np.zeros(q)
        ratio = s / length
        self.l1, self.l2 = np.zeros(q), np.zeros(q)
        self.l1[:p], self.l2[:p] = lambda1 * ratio, lambda2 * ratio**2
        self.low, self.high = np.full(q, -np.inf), np.full(q, np.inf)
        self.low[:p] = np.broadcast_to(record["lower"], (p,)) * length
        self.high[:p] = np.broadcast_to(record["upper"], (p,)) * length
        self.loss = record["loss"]
        self.parameters = float(record["gamma"]), float(record["delta"])
        self.squares = np.ascontiguousarray(
            (self.A[:, :, None] * self.A[:, None, :]).reshape(len(self.A), -1)
        )

    def objective(self, beta, intercept, lambda1, lambda2):
        """The objective of coefficients in the user's units, from its definition."""
        r = self.record
        words = {k: r[k] for k in ("loss", "standardize", "intercept", "gamma", "delta")}
        words |= {"lambda1": lambda1, "lambda2": lambda2, "weights": self.own_weights}
        words["offset"] = None if r["offset"] is None else self.o
        X = np.where(self.alive, r["X"], 0.0)[self.rows]
        with np.errstate(over="ignore"):  # beyond all numbers it is infinite
            return oracles.objective(X, self.y, beta, intercept, **words)

    def rounding(self, beta, intercept):
        """What rounding leaves of the objective where large numbers cancel in the user's units."""
        X, t = self.record["X"], self.coordinates(np.arange(self.p), beta, intercept)
        eta = 16 * EPS * (np.abs(X) @ np.abs(beta) + abs(intercept))[self.rows]
        slope = np.abs(self._rows(t[None, :])[1][0])
        return float(self.w @ (slope * eta + eta**2))

    def size_of_loss(self):
        """The size of the loss where no column is in (1e-300 at least)."""
        rows = oracles.EVERY[self.loss].value(self.y, self.o, *self.parameters)
        return max(float(self.w @ (np.abs(rows) + np.abs(self.y * self.o))), 1e-300)

    def sizes(self, t):
        """(q,): what the gradient at t (q,) sums, less y, eta and offsets."""
        slope = np.abs(self._rows(t[None, :])[1][0])
        return self.w * slope @ np.abs(self.A) + self.l1 + 2 * self.l2 * np.abs(t)

    def attained(self, mask, use):
        """Whether the optimum of a set (mask, its coordinates `use`) is a finite one, surely."""
        t = self.table[1][[mask]]
        residual = self.violation(t, use)[1]
        near = residual[0] < 1e-12 and np.abs(self.o + t @ self.A.T).max() < 15
        return near and not self.may_recede(mask)  # rows of next to no weight have no slope

    def independent(self, mask, share=1e-9):
        """Whether the columns of a set are independent of each other and of an intercept; share: of
        their length, which one keeps beside the others at least.
        """
        A = self.A[:, self._sets(np.array([mask]))[0]]
        return np.linalg.matrix_rank(A, tol=share * np.sqrt(len(A))) == A.shape[1]

    def recedes(self, mask):
        """Whether a set has surely no finite optimum, where that is known."""
        return False

    @cache  # noqa: B019, it lives as long as an instance is checked
    def may_recede(self, mask):
        """Whether the loss falls for ever on a set, as far as a linear program can tell; of nearly
        dependent columns with bounds whether it does on one less.
        """
        use = self._sets(np.array([mask]))[0]
        falls = Ahead(ahead(self.loss, self.y))
        part = Composite(falls, self.A, self.o, self.l1, self.l2, self.low, self.high)
        part = part.restricted(use)
        if not (part.free or self.independent(mask, 1e-4)):
            inside = [j for j in range(self.p) if mask >> j & 1]
            return any(self.may_recede(mask ^ (1 << j)) for j in inside)
        return part.recedes()

    def entries(self, columns):
        """Where t has the coefficients of columns."""
        return columns

    def _sets(self, masks):
        """(m, q) bool: which coordinates each set may use."""
        use = np.ones((len(masks), self.A.shape[1]), dtype=bool)
        use[:, : self.p] = (masks[:, None] >> np.arange(self.p)) & 1
        use[:, : self.p] &= self.alive
        return use

    def _rows(self, t):
        """(value, slope, curvature), each (m, n), at the coefficients t (m, q)."""
        eta, loss = self.o + t @ self.A.T, oracles.EVERY[self.loss]
        with np.errstate(over="ignore", invalid="ignore"):
            return tuple(
                f(self.y, eta, *self.parameters) for f in (loss.value, loss.slope, loss.curvature)
            )

    def value(self, t):
        """Objective (m,) at t (m, q); infinite where it overflows."""
        eta = self.o + t @ self.A.T
        with np.errstate(over="ignore", invalid="ignore"):
            rows = oracles.EVERY[self.loss].value(self.y, eta, *self.parameters)
            out = rows @ self.w + np.abs(t) @ self.l1 + t**2 @ self.l2
        return np.where(np.isfinite(out), out, np.inf)

    def violation(self, t, use):
        """(least subgradient (m, q), its largest entry relative to what was summed (m,), gradient
        rows' curvature (m, n)): the conditions of optimality over the coordinates `use`. Not a
        number where slopes are beyond all numbers.
        """
        _, slope, curvature = self._rows(t)
        rows = np.abs(slope)
        if self.loss != "logistic":  # its slope has no cancellation
            rows = rows + np.abs(self.y) + np.abs(self.o) + np.abs(t) @ np.abs(self.A).T
        with np.errstate(invalid="ignore"):
            g = (self.w * slope) @ self.A + 2 * self.l2 * t
            up = g + np.where(t >= 0, self.l1, -self.l1)
            down = g + np.where(t > 0, self.l1, -self.l1)
            s = np.where((up < 0) & (t < self.high), up, 0.0)
            s = np.where((down > 0) & (t > self.low), down, s) * use
            size = (self.w * rows) @ np.abs(self.A) + self.l1 + 2 * self.l2 * np.abs(t)
            size = np.maximum(size.max(axis=1), 1e-300)
            return s, np.abs(s).max(axis=1, initial=0.0) / size, curvature

    def nearby(self, t, beta, intercept):
        """The best point within rounding of coefficients in the user's units, t (1, q) here."""
        return t

    def noise(self, t):
        """What rounding of t' A leaves of the objective, (m,)."""
        _, slope, _ = self._rows(t)
        eta = 16 * EPS * (np.abs(self.o) + np.abs(t) @ np.abs(self.A).T)
        with np.errstate(over="ignore", invalid="ignore"):
            return (np.abs(slope) * eta + eta**2) @ self.w

    @cached_property
    def table(self):
        """(value (2^p,), t (2^p, q)): the best point met for every set, its subsets included."""
        masks = np.arange(1 << self.p)
        t = self._minimize(self._sets(masks))
        value = self.value(t)
        for j in range(self.p):  # a set may leave its columns unused where the box allows
            own = self.entries([j])
            if (self.low[own] > 0).any() or (self.high[own] < 0).any():
                continue
            with_j = masks[(masks >> j) & 1 == 1]
            better = with_j[value[with_j ^ (1 << j)] < value[with_j]]
            value[better], t[better] = value[better ^ (1 << j)], t[better ^ (1 << j)]
        return value, t

    @property
    def values(self):
        return self.table[0]

    def _minimize(self, use):
        """Minimizers (m, q) over the coordinates `use`."""
        low = np.where(use, self.low, 0.0)
        high = np.where(use, self.high, 0.0)
        t = np.clip(np.zeros(use.shape), low, high)
        bounded = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        if self.loss == "squared" and not self.l1.any() and not bounded:
            return self._least_squares(use)
        smooth = not self.l1.any() and not bounded
        best, best_value = t.copy(), self.value(t)
        live = np.arange(len(t))
        floor = np.full(len(t), 1e-4)
        stalled = np.zeros(len(t), dtype=int)
        for _ in range(120):
            x = t[live]
            s, residual, curvature = self.violation(x, use[live])
            keep = (residual > 1e-14) & (stalled[live] < 6)
            live, x, s, curvature = live[keep], x[keep], s[keep], curvature[keep]
            if not live.size:
                break
            box = low[live], high[live]
            d = self._direction(x, s, curvature, floor[live], box, smooth)
            moved, value, step = self._search(x, s, d, box, best_value[live])
            t[live] = moved
            gained = best_value[live] - value
            good = gained > 0
            stalled[live] = np.where(
                gained > 1e-15 * np.abs(best_value[live]), 0, stalled[live] + 1
            )
            best[live[good]], best_value[live[good]] = moved[good], value[good]
            floor[live] = np.clip(
                floor[live] * np.where(step >= 1, 0.1, np.where(step < 0.3, 10.0, 1.0)), 1e-15, 1e3
            )
        return best

    def _least_squares(self, use):
        """The same in closed form, by singular values of the rows sqrt(w) A over sqrt(2 l2)."""
        root = np.sqrt(self.w)
        B = np.vstack([self.A * root[:, None], np.diag(np.sqrt(2 * self.l2))])
        z = np.append((self.y - self.o) * root, np.zeros(self.l2.size))
        Q, R = np.linalg.qr(B)
        z = Q.T @ z
        U, d, V = np.linalg.svd(R * use[:, None, :], full_matrices=False)
        weak = d <= 1e-14 * d[:, :1]
        inverse = np.where(weak, 0.0, 1.0 / np.where(weak, 1.0, d))
        t = np.einsum("mkq,mk->mq", V, inverse * np.einsum("mik,i->mk", U, z)) * use
        again = z - (R @ t[:, :, None])[:, :, 0]  # one step of refinement
        t += np.einsum("mkq,mk->mq", V, inverse * np.einsum("mik,mi->mk", U, again)) * use
        return t

    def _direction(self, x, s, curvature, floor, box, smooth):
        """Newton directions on the coordinates that may move; those that would leave the orthant or
        the box at once are held.
        """
        m, q = x.shape
        weighted = np.minimum(self.w * curvature, 1e200)
        H = (weighted @ self.squares).reshape(m, q, q)
        H[:, np.arange(q), np.arange(q)] += 2 * self.l2
        kink = (self.l1 > 0) & (x == 0)
        low, high = box
        free = (s != 0) | (~kink & (x > low) & (x < high))
        trace = H[:, np.arange(q), np.arange(q)].max(axis=1)
        level = np.where(trace > 0, trace, 1.0)
        for _ in range(1 if smooth else q):
            K = H * (free[:, :, None] & free[:, None, :])
            K[:, np.arange(q), np.arange(q)] += np.where(
                free, np.maximum(floor, 3e-16)[:, None] * level[:, None], 1.0
            )
            d = -_solved(K, s * free, level) * free
            leaves = free & (
                (kink & (d * s > 0)) | ((x <= low) & (d < 0)) | ((x >= high) & (d > 0))
            )
            if not leaves.any():
                break
            free &= ~leaves
        steepest = ~((d * s).sum(axis=1) < 0) | ~np.isfinite(d).all(axis=1)
        d[steepest] = -s[steepest] / level[steepest, None]
        return d

    def _search(self, x, s, d, box, before):
        """(moved (m, q), value (m,), step (m,)): steps halved until the objective falls, cut at the
        box and at the orthant.
        """
        sign = np.where(x != 0, np.sign(x), -np.sign(s))
        kinked = self.l1 > 0
        here = self.value(x)
        moved, value, step = x.copy(), here.copy(), np.zeros(len(x))
        todo, a = np.arange(len(x)), np.ones(len(x))
        for _ in range(40):
            t = np.clip(x[todo] + a[todo, None] * d[todo], box[0][todo], box[1][todo])
            t = np.where(kinked & (t * sign[todo] < 0), 0.0, t)
            v = self.value(t)
            slope = (s[todo] * (t - x[todo])).sum(axis=1)
            allowed = 4 * EPS * np.abs(here[todo])
            ok = v <= here[todo] + 1e-4 * np.minimum(slope, 0.0) + allowed
            at = todo[ok]
            moved[at], value[at], step[at] = t[ok], v[ok], a[at]
            todo = todo[~ok]
            if not todo.size:
                break
            a[todo] *= 0.5
        return moved, value, step

    def coordinates(self, support, beta, intercept):
        """t (q,) of coefficients in the user's units."""
        t = np.zeros(self.A.shape[1])
        t[support] = np.asarray(beta, float) * self.length[support]
        if self.intercept:
            t[-1] = intercept + self.center[support] @ np.asarray(beta, float)
        return t


def _solved(K, s, level):
    """Solutions (m, q) of systems K (m, q, q); with a little more on all diagonals where one is
    singular to the last bit, as a Hessian that a single row far out makes up can be.
    """
    try:
        return np.linalg.solve(K, s[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        more = 1e-13 * level[:, None, None] * np.eye(K.shape[1])
        return np.linalg.solve(K + more, s[:, :, None])[:, :, 0]
