"""Models on the working columns: restricted optima, and the quadratic that ranks (squared loss: decides) exchanges.

`GramModel` (squared loss) knows the Gram matrix of the working columns and touches no row after that; `RowModel` (every other loss) keeps the columns themselves.
Both hold the working columns W; a column's number among all p is its *index*, its place in W its *position*.
"""
from typing import NamedTuple

import numpy as np

from ..designs import threads
from ..losses import derivatives, name_of, smoothness
from ..problem import Fit
from . import newton
from .exchange import scan
from .linear_algebra import invert

READ = 1 << 22  # entries of X'R made at a time: 32 MB


class Quadratic(NamedTuple):
    """F near a fit: rows (k, m) = G_{S, columns}, gradient c (m,), diagonal a (m,), inverse B (k, k) of G_SS + 2 lambda2 I."""

    rows: np.ndarray
    c: np.ndarray
    a: np.ndarray
    B: np.ndarray


class Candidate(NamedTuple):
    """An exchange: drop the column `out` (-1: none), add the column `into` (-1: none); `change` of F that the quadratic foretells."""

    change: float
    out: int
    into: int


class _Working:
    """The working columns: W (indices), where (p,) positions or -1, Z (capacity, n) one column a row."""

    def __init__(self, problem):
        self.problem = problem
        self.width = 0
        self.where = np.full(problem.X.p, -1, dtype=np.int64)
        self.W = np.empty(0, dtype=np.int64)
        self.Z = np.empty((0, problem.X.n))
        self.refits = self.tables = self.reads = 0
        self.max_iter = 1000

    def grow(self, J):
        """Add columns J (indices, new ones only are taken) to W; True if any was new."""
        J = np.asarray(J, dtype=np.int64)
        J = np.unique(J[self.where[J] < 0])
        if not J.size:
            return False
        old, new = self.width, self.width + J.size
        if new > self.Z.shape[0]:
            Z = np.empty((max(new, int(1.5 * self.Z.shape[0])), self.problem.X.n))
            Z[:old] = self.Z[:old]
            self.Z = Z
        self.Z[old:new] = self.problem.X.columns(J).T
        self.where[J] = np.arange(old, new)
        self.W = np.concatenate([self.W, J])
        self.width = new
        self._extend(old, new)
        return True

    def _extend(self, old, new):
        pass

    def bounds_of(self, support):
        """Box of a support, two (k,) arrays."""
        return self.problem.lower[support], self.problem.upper[support]

    def scan(self, quadratic, fit, *, lambda1, lambda2, lambda0=0.0, target=1e300, ceiling, keep, columns=None, first=0, bound=np.inf, index=None, split=False):
        """Best exchanges of a fit among `columns` (indices that the quadratic's columns stand for), ascending by change: list of Candidate. split: use the thread pool.

        index: where the support's rows stand in quadratic.rows; quadratic.c then holds the products q with y instead of those with the residual.
        """
        p = self.problem
        J = np.arange(first, first + quadratic.c.size) if columns is None else columns
        skip = ~p.usable[J]
        locked = np.isin(fit.support, p.forced, assume_unique=True)
        skip[np.isin(J, fit.support)] = True
        price = np.where(np.isfinite(p.factor[J]), lambda0 * np.minimum(p.factor[J], 1e300), 1e300) if lambda0 else np.zeros(J.size)
        paid = np.where(locked, 0.0, lambda0 * p.factor[fit.support]) if lambda0 else np.zeros(fit.support.size)
        products = index is not None
        index = np.arange(fit.support.size) if index is None else index
        self.tables += 1
        return _scan_ranges(quadratic, index, products, fit, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling, keep, J, split)


def _scan_ranges(quadratic, index, products, fit, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling, keep, J, split):
    """Run `exchange.scan` over the columns, in ranges on the thread pool if `split`, and merge; ties go to the smaller column, so the ranges never show."""
    m = J.size
    edges = [*range(0, m, max(2048, -(-m // (4 * threads.count())))), m] if split else [0, m]
    found = []

    def task(start, stop):
        change, column, position = np.empty(keep), np.empty(keep, np.int64), np.empty(keep, np.int64)
        count = scan(quadratic.rows, index, quadratic.B, fit.b, quadratic.c, products, quadratic.a, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling,
                     start, stop, change, column, position)
        found.append((change[:count], column[:count], position[:count]))

    threads.run(task, edges)
    change, column, position = (np.concatenate(parts) for parts in zip(*found, strict=True))
    best = np.lexsort((position, J[column], change))[:keep]
    return [Candidate(float(change[e]), -1 if position[e] < 0 else int(fit.support[position[e]]), int(J[column[e]])) for e in best]


class GramModel(_Working):
    """Squared loss: G (w, w) Gram matrix of the working columns, q (p,) their products with y, and Gram rows over all p columns for those that were ever read."""

    def __init__(self, problem):
        super().__init__(problem)
        p = problem
        self.q_all = np.where(p.usable, p.X.correlate(p.weights * p.y), 0.0)
        self.reads += 1
        self.half_square = 0.5 * float(p.weights @ (p.y * p.y))
        self.G = np.empty((0, 0))
        self.q = np.empty(0)
        self.row_of = {}  # index -> its row in self.rows
        self.rows = np.empty((0, p.X.p))

    def _extend(self, old, new):
        capacity = self.Z.shape[0]
        if self.G.shape[0] != capacity:
            G = np.empty((capacity, capacity))
            G[:old, :old] = self.G[:old, :old]
            self.G = G
        block = (self.Z[old:new] * self.problem.weights) @ self.Z[:new].T
        self.G[old:new, :new] = block
        self.G[:new, old:new] = block.T
        self.q = self.q_all[self.W]

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns."""
        self.refits += 1
        at = self.where[support]
        G, q = self.G[np.ix_(at, at)], self.q[at]
        H = G + 2.0 * lambda2 * np.eye(at.size)
        x = np.zeros(at.size) if start is None else np.array(start, dtype=np.float64)
        violation = newton.solve_quadratic(H, q, np.full(at.size, float(lambda1)), *self.bounds_of(support), x, 200) if at.size else 0.0
        value = self.half_square - q @ x + 0.5 * x @ (G @ x) + lambda1 * np.abs(x).sum() + lambda2 * x @ x
        return Fit(support, x, self.problem.shift, float(value), () if violation < 1e-8 else ("not_converged",))

    def inverse(self, fit, lambda2):
        """B of a fit."""
        at = self.where[fit.support]
        B = np.empty((at.size, at.size))
        invert(self.G[np.ix_(at, at)] + 2.0 * lambda2 * np.eye(at.size), at.size, B)
        return B

    def quadratic(self, fit, lambda2, first=0):
        """On the working columns, from position `first` on."""
        rows = self.G[self.where[fit.support], first : self.width]
        return Quadratic(rows, self.q[first:] - fit.b @ rows, np.ascontiguousarray(np.diagonal(self.G)[first : self.width]), self.inverse(fit, lambda2))

    def read(self, supports):
        """Fetch the Gram rows over all p columns of every member of the supports that is not cached yet: one batched read of X."""
        new = [j for j in dict.fromkeys(np.concatenate(supports).tolist()) if j not in self.row_of]
        if not new:
            return 0
        have, p = len(self.row_of), self.problem.X.p
        if have + len(new) > self.rows.shape[0]:
            rows = np.empty((max(have + len(new) + 64, 2 * self.rows.shape[0]), p))
            rows[:have] = self.rows[:have]
            self.rows = rows
        R = (self.Z[self.where[new]] * self.problem.weights).T
        step = max(256, READ // len(new))
        for left in range(0, p, step):
            right = min(left + step, p)
            self.rows[have : have + len(new), left:right] = self.problem.X.correlate(R, left, right).T
        self.row_of.update({j: have + i for i, j in enumerate(new)})
        self.reads += 1
        return len(new)

    def violators(self, fits, targets, *, lambda1, lambda2, lambda0=0.0, ceilings, keep):
        """For each fit its best keep[i] exchanges over all p columns (see `scan`)."""
        self.read([fit.support for fit in fits])
        out = [None] * len(fits)

        def check(i):
            fit, target, ceiling, most = fits[i], targets[i], ceilings[i], keep[i]
            index = np.array([self.row_of[j] for j in fit.support.tolist()], dtype=np.int64)
            B = self.inverse(fit, lambda2)
            bound = np.linalg.eigvalsh(B)[-1] * (1 + 1e-9) if B.size else 0.0
            out[i] = self.scan(Quadratic(self.rows, self.q_all, self.problem.square, B), fit, index=index, lambda1=lambda1, lambda2=lambda2, lambda0=lambda0, target=target,
                               ceiling=ceiling, keep=most, bound=bound, split=len(fits) == 1)

        threads.run_each(check, len(fits))
        return out


class RowModel(_Working):
    """Every loss but the squared one: restricted optima by Newton on the rows, exchanges ranked on the quadratic with weights w_i loss''(eta_i)."""

    BATCH = 1 << 22  # entries of the right-hand sides of one read: 32 MB

    def __init__(self, problem):
        super().__init__(problem)
        self.name = name_of(problem.loss)
        floor = {"squared_hinge": 0.02, "smoothed_hinge": 0.1, "huber": 0.02}.get(self.name, 0.0)
        # losses with flat pieces: a small share of the largest curvature keeps the ranking informed where no row is curved at present
        self.curvature_floor = floor * smoothness(problem.loss) if floor else 0.0

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0); None once `target` is out of reach."""
        p, k = self.problem, support.size
        self.refits += 1
        b, b0 = (np.zeros(k), 0.0) if start is None else (np.array(start[0], dtype=np.float64), float(start[1]))
        if start is None and p.intercept:
            b0 = self._null_start()
        lower, upper = self.bounds_of(support)
        free = lambda1 == 0.0 and lambda2 == 0.0 and not (np.isfinite(lower).all() and np.isfinite(upper).all() and k)
        capped = (1 if self.name == "logistic" else 2 if self.name == "poisson" else 0) if free else 0
        eta = np.empty(p.X.n)
        at = np.ascontiguousarray(self.where[support])
        status, value, b0, _ = newton.refit(p.loss, p.y, p.weights, p.offset, self.Z, at, float(lambda1), float(lambda2), lower, upper, p.intercept, b, b0, float(target), capped,
                                            min(self.max_iter, 1000), eta)
        if status == newton.REJECTED:
            return None
        flags = ("not_converged",) if status == newton.MAX_ITER else ()
        if status == newton.SEPARATED:
            far = np.abs(eta - p.offset).max()
            if far > 0 and self.name == "logistic":
                b, b0 = b * (newton.ETA_CAP / far), b0 * (newton.ETA_CAP / far)
                value = newton.mean_loss(p.loss, p.y, p.offset + (eta - p.offset) * (newton.ETA_CAP / far), p.weights)
            flags = ("separated",)
        elif free and self.name in ("squared_hinge", "smoothed_hinge") and value <= 1e-12:
            flags = ("separated",)
        return Fit(support, b, b0, value, flags)

    def _null_start(self):
        """Intercept near the null model's (spec A.4), where Newton starts."""
        p = self.problem
        mean = float(p.weights @ p.y)
        if self.name == "logistic":
            return float(np.log((1 + mean) / (1 - mean)))
        if self.name == "poisson":
            return float(np.log(max(mean, 1e-12) / max(float(p.weights @ np.exp(np.clip(p.offset, -30, 30))), 1e-300)))
        if self.name == "huber":
            return float(np.median(p.y - p.offset))
        return mean

    def derivatives(self, fit):
        """Predictor, weighted slopes and curvatures of a fit, three (n,) arrays."""
        p = self.problem
        eta, slopes, v = np.empty(p.X.n), np.empty(p.X.n), np.empty(p.X.n)
        newton.predictor(self.Z, np.ascontiguousarray(self.where[fit.support]), fit.b, fit.b0, p.offset, eta)
        derivatives(p.loss, p.y, eta, p.weights, slopes, v)
        if self.curvature_floor:
            v = np.maximum(v, self.curvature_floor * p.weights)
        return eta, slopes, v

    def weighted(self, fit, lambda2):
        """Slopes, curvatures, weighted and (with an intercept) centred columns of the support (k, n), and B."""
        p = self.problem
        _, slopes, v = self.derivatives(fit)
        Z = self.Z[self.where[fit.support]]
        total = v.sum()
        if p.intercept and total > 0:
            Z = Z - (Z @ v / total)[:, None]
        ZV = Z * v
        H = ZV @ Z.T
        H[np.diag_indices_from(H)] += 2.0 * lambda2 + 1e-10 * np.trace(H) / max(fit.support.size, 1) + 1e-300
        B = np.empty_like(H)
        invert(H, fit.support.size, B)
        return slopes, v, ZV, B

    def inverse(self, fit, lambda2):
        """B of a fit."""
        return self.weighted(fit, lambda2)[3]

    def quadratic(self, fit, lambda2, first=0):
        """On the working columns from position `first` on, exact to second order in all of them."""
        slopes, v, ZV, B = self.weighted(fit, lambda2)
        Z = self.Z[first : self.width]
        a = np.empty(Z.shape[0])
        newton.weighted_squares(Z, v, self.problem.intercept, a)
        return Quadratic(ZV @ Z.T, -(Z @ slopes), a, B)

    def violators(self, fits, targets, *, lambda1, lambda2, lambda0=0.0, ceilings, keep):
        """For each fit its best exchanges over all p columns. Reads X once per 32 MB of right-hand sides; the diagonal is taken as mean curvature times mean square."""
        p, out, start = self.problem, [], 0
        n = p.X.n
        while start < len(fits):
            stop, entries = start + 1, n * (fits[start].support.size + 1)
            while stop < len(fits) and entries + n * (fits[stop].support.size + 1) <= self.BATCH:
                entries += n * (fits[stop].support.size + 1)
                stop += 1
            out += self._violators(fits[start:stop], targets[start:stop], lambda1, lambda2, lambda0, ceilings[start:stop], keep[start:stop])
            start = stop
        return out

    def _violators(self, fits, targets, lambda1, lambda2, lambda0, ceilings, keep):
        p = self.problem
        parts = [self.weighted(fit, lambda2) for fit in fits]
        R = np.column_stack([np.column_stack([-slopes, ZV.T]) for slopes, _, ZV, _ in parts])
        offsets = np.cumsum([0] + [fit.support.size + 1 for fit in fits])
        found = [[] for _ in fits]
        step = max(512, READ // R.shape[1])
        for left in range(0, p.X.p, step):
            right = min(left + step, p.X.p)
            C = p.X.correlate(R, left, right)

            def rank(i, C=C, left=left, right=right):
                at, k = offsets[i], fits[i].support.size
                block = np.ascontiguousarray(C[:, at : at + k + 1].T)
                quadratic = Quadratic(block[1:], block[0], parts[i][1].sum() * p.square[left:right], parts[i][3])
                found[i] += self.scan(quadratic, fits[i], lambda1=lambda1, lambda2=lambda2, lambda0=lambda0, target=targets[i], ceiling=ceilings[i], keep=keep[i], first=left)

            threads.run_each(rank, len(fits))
        self.reads += 1
        return [sorted(c, key=lambda x: (x.change, x.into, x.out))[:most] for c, most in zip(found, keep, strict=True)]
