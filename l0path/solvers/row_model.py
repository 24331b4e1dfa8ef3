"""Every loss but the squared one on the working columns: restricted optima by Newton on their rows, and the quadratic that ranks exchanges."""
import numpy as np

from ..designs import threads
from ..losses import derivatives, name_of, smoothness
from ..problem import Fit
from . import newton
from .linear_algebra import invert
from .working_columns import READ, Quadratic, WorkingColumns


class RowModel(WorkingColumns):
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
