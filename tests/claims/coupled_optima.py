"""The best value of every support of a small problem of several responses, classes or survival
times; independent of the package.
"""

from functools import cache

import numpy as np
import oracles
import survival
from oracle_coupled import END, Classes, Composite, Lifetimes, Ordered, Responses, survival_loss
from oracle_minimizer import minimize

from .optima import EPS, Optima

COUPLED = ("several", "multinomial", "ordinal", "cox")
CENTERED = ("cox", "ordinal", "weibull")  # whatever the intercept


class CoupledOptima(Optima):
    """`Optima` of  loss + l1 ||b||_1 + l2 ||b||^2  over the box. A column has a coefficient, or for
    several responses or classes `r` of them, one less beside a baseline. `record` holds X (n, p),
    the loss, codes or Y (n, r) or times, v (r,), efron, `classes` and whether the first of them is
    a baseline. t (q,): the coefficients of column 0, 1, ..., then the intercepts or thresholds, or
    the intercept and the shape of a Weibull model.
    """

    def __init__(self, record, lambda1, lambda2):
        X, self.loss, n = np.asarray(record["X"], float), record["loss"], len(record["X"])
        w = np.ones(n) if record["weights"] is None else record["weights"]
        rows, self.record, self.p = w > 0, record, X.shape[1]
        self.r = {"several": np.shape(record["y"])[-1], "multinomial": record["classes"]}
        self.baseline = "baseline" in record  # its coefficients are 0
        self.r = self.r.get(self.loss, 1) - self.baseline
        self.intercept = record["intercept"]
        self.center, s = oracles.scaling(
            X,
            weights=w,
            standardize=record["standardize"],
            intercept=record["intercept"] or self.loss in CENTERED,
        )
        Z, self.w, self.X = (X - self.center)[rows], (w / w.sum())[rows], X[rows]
        length = np.sqrt(self.w @ Z**2)
        self.alive = (length > 1e-13 * np.abs(X).max(axis=0, initial=0)) & (s > 0)
        self._set_loss(rows, w)
        length[~self.alive] = 1.0
        self.length = length
        self.A = np.where(self.alive, Z / length, 0.0)
        A = self.design(self.A)
        pad = A.shape[1] - self.p * self.r

        def each(values, others=0.0):
            return np.append(np.repeat(values, self.r), np.full(pad, others))

        low, high = (
            each(np.broadcast_to(record[name], (self.p,)) * length, end)
            for name, end in (("lower", -np.inf), ("upper", np.inf))
        )
        v = 1.0 if self.loss != "several" else np.append(np.tile(record["v"], self.p), np.ones(pad))
        self.problem = Composite(
            self.of_rows,
            A,
            self.o,
            each(lambda1 * s / length),
            each(lambda2 * (s / length) ** 2) * v,
            low,
            high,
        )
        self.l1, self.low, self.high = self.problem.l1, low, high
        self.start = np.zeros(A.shape[1])
        if self.loss == "ordinal":
            self.start[-pad:] = np.arange(pad) - (pad - 1) / 2
        if self.loss == "weibull":
            d, total = self.of_rows.d @ self.w, np.exp(self.of_rows.log_time + self.o[:-1]) @ self.w
            self.start[-2:] = np.log(d / total), 1.0
        self.scaled = s

    def _set_loss(self, rows, w):
        """The loss of the rows in use, and its offsets."""
        d, y, n = self.record, self.record["y"], int(rows.sum())
        o = np.zeros(n) if d["offset"] is None else d["offset"][rows]
        r = self.r + self.baseline
        if self.loss in ("several", "multinomial"):
            o = np.broadcast_to(o.reshape(n, -1), (n, r)).ravel()
        self.o = o
        if self.loss == "several":
            self.of_rows = Responses(y[rows].ravel(), np.outer(self.w, d["v"]).ravel())
        elif self.loss == "multinomial":
            self.of_rows = Classes(np.eye(r)[y[rows]], self.w)
        elif self.loss == "ordinal":
            top, self.codes = d["classes"] - 1, y[rows]
            u, low = np.where(self.codes == top, END, -o), np.where(self.codes == 0, -END, -o)
            self.of_rows, self.o = Ordered(self.w), np.concatenate([u, low])
        elif self.loss == "weibull":
            self.of_rows = Lifetimes(y.event[rows], np.log(y.stop[rows]), self.w)
            self.o = np.append(o, 0.0)
        else:
            times = survival.Times(*(part[rows] for part in y[:3]), w[rows], y[4][rows])
            self.of_rows = survival_loss(times, d["efron"])
            apart = self.of_rows.risk > 0
            reach = [np.ptp(self.X[at], axis=0) for at in apart]
            self.alive &= np.max(reach, axis=0) > 1e-13 * np.abs(self.X).max(axis=0)

    def design(self, Z):
        """D (N, q): the predictors of coefficients of columns Z (n, p), and of intercepts."""
        n = len(Z)
        if self.loss in ("several", "multinomial"):
            A = np.column_stack([Z, np.ones(n)]) if self.intercept else Z
            return np.kron(A, np.eye(self.r + self.baseline)[:, int(self.baseline) :])
        if self.loss == "cox":
            return Z
        if self.loss == "weibull":
            A = np.column_stack([Z, np.ones(n), self.of_rows.log_time])
            return np.vstack([A, np.eye(A.shape[1])[-1]])
        K = self.record["classes"]
        at, inner = np.eye(K + 1)[:, 1:-1], np.ones((n, 1))
        u = np.hstack([-Z, at[self.codes + 1]]) * np.where(self.codes == K - 1, 0, inner.T).T
        low = np.hstack([-Z, at[self.codes]]) * np.where(self.codes == 0, 0, inner.T).T
        return np.vstack([u, low])

    def independent(self, mask):
        A = self.A[:, (mask >> np.arange(self.p)) & 1 == 1]
        return np.linalg.matrix_rank(A, tol=1e-4 * np.sqrt(len(A))) == A.shape[1]

    def entries(self, columns):
        """Where t has the coefficients of columns."""
        return [j * self.r + c for j in columns for c in range(self.r)]

    def _sets(self, masks):
        use = (masks[:, None] >> np.arange(self.p)) & 1 == 1
        use = np.repeat(use & self.alive, self.r, axis=1)
        rest = np.ones((len(masks), self.start.size - use.shape[1]), dtype=bool)
        return np.hstack([use, rest])

    def value(self, t):
        return np.array([self.problem.value(one) for one in t])

    def violation(self, t, use):
        each = [
            self.problem.restricted(at).violation(one[at]) for one, at in zip(t, use, strict=True)
        ]
        return None, np.array(each), None

    def noise(self, t):
        return np.array(
            [self._rounding(self.o + self.problem.A @ one, self.problem.A, one) for one in t]
        )

    def _rounding(self, e, A, t):
        error = 16 * EPS * (np.abs(self.o) * (np.abs(self.o) < END) + np.abs(A) @ np.abs(t))
        slope = np.abs(self.of_rows.slope(e))
        return float(slope @ error + (error**2).max(initial=0.0))

    def rounding(self, beta, intercept):
        A, t = self.design(self.X), np.append(np.ravel(beta), self._first(intercept))
        return self._rounding(self.o + A @ t, A, t)

    def nearby(self, t, beta, intercept):
        """As `Optima.nearby`: thresholds of a class of next to no weight are closer than the user's
        units tell apart, where features are far from the origin.
        """
        if self.loss != "ordinal":
            return t
        first = np.arange(t.shape[1]) >= self.p
        size = np.abs(self.center) @ np.abs(beta).ravel() + np.abs(intercept)
        by = np.zeros(t.shape[1])
        by[first] = 4 * EPS * size
        around = self.problem._replace(low=t[0] - by, high=t[0] + by)
        return minimize(around, start=t[0])[None, :]

    def _first(self, intercept):
        return np.ravel(intercept) if self.start.size > self.p * self.r else []

    def objective(self, beta, intercept, lambda1, lambda2):
        """The objective of coefficients in the user's units."""
        beta = np.asarray(beta, float).reshape(self.p, self.r)
        t = np.append(np.where(self.alive[:, None], beta, 0.0).ravel(), self._first(intercept))
        b = beta * self.scaled[:, None]
        v = self.record["v"] if self.loss == "several" else 1.0
        shrinkage = lambda1 * np.abs(b).sum() + lambda2 * (v * b**2).sum()
        return self.of_rows.value(self.o + self.design(self.X) @ t) + float(shrinkage)

    def coordinates(self, support, beta, intercept):
        beta = np.asarray(beta, float).reshape(self.p, self.r)
        shift, first = self.center @ beta, np.asarray(self._first(intercept), float)
        shift = -shift if self.loss == "ordinal" else shift
        shift = np.append(shift, 0.0) if self.loss == "weibull" else shift
        return np.append(
            (beta * self.length[:, None]).ravel(), first + (shift if first.size else 0)
        )

    def sizes(self, t):
        return self.problem.sizes(t)

    def size_of_loss(self):
        """The size of the loss where no column is in."""
        more = self.of_rows.c @ np.abs(self.of_rows.y * self.o) if self.loss == "several" else 0.0
        return max(abs(self.problem.value(self.start)) + float(more), 1e-300)

    @cache  # noqa: B019, it lives as long as an instance is checked
    def recedes(self, mask):
        """Whether the columns of a set separate, so that there is no finite optimum; of nearly
        dependent columns with bounds one less, which a linear program can tell.
        """
        if self.loss == "several":
            return False
        part = self.problem.restricted(self._sets(np.array([mask]))[0])
        if not (part.free or self.independent(mask)):
            inside = [j for j in range(self.p) if mask >> j & 1]
            return any(self.recedes(mask ^ (1 << j)) for j in inside)
        return part.recedes()

    def attained(self, mask, use):
        return self.independent(mask) and not self.recedes(mask)

    def _minimize(self, use):
        out = np.tile(self.start, (len(use), 1))
        for mask, (t, at) in enumerate(zip(out, use, strict=True)):
            steps = 40 if self.recedes(mask) else 300
            t[~at] = 0.0
            part = self.problem.restricted(at)
            t[at] = minimize(part, start=t[at], max_steps=steps)
        return out
