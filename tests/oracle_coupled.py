"""Losses of several responses, of classes with an order or without, and of survival times, by their
definitions, for `oracles`: functions of all predictors e (N,) at once. Each has value(e), slope(e)
(N,), size(e) (N,), what the slope sums, root(e) (M, N) with root'root the Hessian, and ahead
(m, N): along a direction whose products with these rows are >= 0, and not all 0, it falls for ever.
"""

from typing import NamedTuple

import numpy as np
import survival
from oracle_minimizer import smallest_subgradient
from scipy.optimize import linprog
from scipy.special import expit

# the predictor of a threshold that is not there, beyond that of any row: its probability is 0 or 1
END = 1e150


class Responses(NamedTuple):
    """sum_i c_i (y_i - e_i)^2 / 2: y, c (n r,), the responses of a row side by side."""

    y: np.ndarray
    c: np.ndarray

    def value(self, e):
        return float(self.c @ (self.y - e) ** 2 / 2)

    def slope(self, e):
        return self.c * (e - self.y)

    def size(self, e):
        return self.c * (np.abs(e) + np.abs(self.y))

    def root(self, e):
        return np.diag(np.sqrt(self.c))

    @property
    def ahead(self):
        return np.empty((0, self.y.size))


class Classes(NamedTuple):
    """-sum_i w_i log softmax(e_i)[class of i]: Y (n, r) of 0 and 1, w (n,)."""

    Y: np.ndarray
    w: np.ndarray

    def _shares(self, e):
        e = e.reshape(self.Y.shape)
        out = np.exp(e - e.max(axis=1, keepdims=True))
        return out / out.sum(axis=1, keepdims=True)

    def value(self, e):
        e = e.reshape(self.Y.shape)
        own = np.where(self.Y > 0, e, 0.0).sum(axis=1, keepdims=True)
        above = np.where(self.Y == 0, e - own, -np.inf)
        top = np.maximum(above.max(axis=1, keepdims=True), 0.0)  # so that nothing overflows
        rest = np.exp(above - top).sum(axis=1) + np.expm1(-top[:, 0])
        return float(self.w @ (top[:, 0] + np.log1p(rest)))

    def slope(self, e):
        return (self.w[:, None] * (self._shares(e) - self.Y)).ravel()

    def size(self, e):
        return (self.w[:, None] * (self._shares(e) + self.Y)).ravel()

    def root(self, e):
        n, r = self.Y.shape
        s, out = np.sqrt(self._shares(e)), np.zeros((n, r, n, r))
        rows = np.arange(n)
        out[rows, :, rows] = np.eye(r) * s[:, :, None] - s[:, :, None] * (s**2)[:, None, :]
        out[rows, :, rows] *= np.sqrt(self.w)[:, None, None]
        return out.reshape(n * r, n * r)

    @property
    def ahead(self):
        n, r = self.Y.shape
        own = np.repeat(np.eye(n * r)[self.Y.ravel() > 0], r, axis=0)
        return own - np.eye(n * r)


class Ordered(NamedTuple):
    """-sum_i w_i log (expit(u_i) - expit(l_i)), e = (u, l): the distances of a row from the upper
    and the lower threshold of its class, END where there is none; w (n,).
    """

    w: np.ndarray

    def _parts(self, e):
        """(u, l, 1 / (exp(u - l) - 1))."""
        n = self.w.size
        u, low = e[:n], e[n:]
        with np.errstate(over="ignore"):
            return u, low, 1.0 / np.expm1(np.maximum(u - low, 1e-12))

    def value(self, e):
        u, low, _ = self._parts(e)
        if (u <= low).any():
            return np.inf
        gap = np.log(-np.expm1(low - u))
        return float(self.w @ (np.logaddexp(0, -u) + np.logaddexp(0, low) - gap))

    def slope(self, e):
        u, low, k = self._parts(e)
        return np.concatenate([-self.w * (expit(-u) + k), self.w * (expit(low) + k)])

    def size(self, e):
        return np.abs(self.slope(e))

    def root(self, e):
        k = self._parts(e)[2]
        each = np.sqrt(np.tile(self.w, 2) * expit(e) * expit(-e))
        both = np.diag(np.sqrt(self.w * k * (1 + k)))
        return np.vstack([np.diag(each), np.hstack([both, -both])])

    @property
    def ahead(self):
        n = self.w.size
        return np.diag(np.concatenate([np.ones(n), -np.ones(n)]))


class Survival(NamedTuple):
    """(sum_t v_t log(risk_t exp(e)) - own'e) / sum own: v (T,), risk (T, n) with the weights of
    rows, own (n,), the weights of events; deaths: pairs (T', n) of +1 and -1, below.
    """

    v: np.ndarray
    risk: np.ndarray
    own: np.ndarray
    ahead: np.ndarray

    def _shares(self, e):
        with np.errstate(divide="ignore"):
            logs = e + np.log(self.risk)
        top = logs.max(axis=1)
        u = np.exp(logs - top[:, None])
        total = u.sum(axis=1)
        return u / total[:, None], np.log(total) + top

    def value(self, e):
        e = e - e.max()  # a number that all rows share may be large, and leave its rounding
        return float((self.v @ self._shares(e)[1] - self.own @ e) / self.own.sum())

    def slope(self, e):
        return (self.v @ self._shares(e)[0] - self.own) / self.own.sum()

    def size(self, e):
        return (self.v @ self._shares(e)[0] + self.own) / self.own.sum()

    def root(self, e):
        P, n = self._shares(e)[0], e.size
        s = np.sqrt(P)
        out = s[:, :, None] * np.eye(n) - s[:, :, None] * P[:, None, :]
        return (np.sqrt(self.v / self.own.sum())[:, None, None] * out).reshape(-1, n)


def survival_loss(times, efron):
    """`Survival` of `survival.Times`: weights are scaled
    to a mean of 1 where they are not.
    """
    w = times.weights
    w = w * np.count_nonzero(w) / w.sum()
    times = times._replace(weights=w)
    v, risk = (np.array(part) for part in zip(*survival.terms(times, efron), strict=True))
    ahead, unit = [np.empty((0, w.size))], np.eye(w.size)
    for i in np.flatnonzero(times.event):
        at = (times.stratum == times.stratum[i]) & (times.stop >= times.stop[i])
        ahead.append(unit[i] - unit[at & (times.start < times.stop[i])])
    return Survival(v, risk * w, w * times.event, np.vstack(ahead))


class Lifetimes(NamedTuple):
    """sum_i w_i (exp(a_i) - d_i (a_i + log kappa - log t_i)) of Weibull times t: d (n,), 0 or 1,
    log_time, w (n,); e = (a, kappa).
    """

    d: np.ndarray
    log_time: np.ndarray
    w: np.ndarray

    def value(self, e):
        a, kappa = e[:-1], e[-1]
        if not kappa > 0:
            return np.inf
        with np.errstate(over="ignore"):
            return float(self.w @ (np.exp(a) - self.d * (a + np.log(kappa) - self.log_time)))

    def slope(self, e):
        return np.append(self.w * (np.exp(e[:-1]) - self.d), -(self.w @ self.d) / e[-1])

    def size(self, e):
        return np.append(self.w * (np.exp(e[:-1]) + self.d), self.w @ self.d / e[-1])

    def root(self, e):
        return np.diag(np.sqrt(np.append(self.w * np.exp(e[:-1]), self.w @ self.d / e[-1] ** 2)))

    @property
    def ahead(self):
        unit = np.eye(self.d.size + 1)
        unit[:-1] *= -1.0
        return np.vstack([unit, -unit[:-1][self.d > 0]])


class Composite(NamedTuple):
    """minimize over t:  loss(o + D t) + sum_j (l1_j |t_j| + l2_j t_j^2),  low <= t <= high."""

    loss: NamedTuple
    A: np.ndarray
    o: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    largest = 1.0  # curvature

    def value(self, t):
        with np.errstate(over="ignore"):
            rest = self.l1 @ np.abs(t) + self.l2 @ t**2
        return self.loss.value(self.o + self.A @ t) + float(rest)

    def along(self, e, d):
        """As `Convex.along`."""
        return self.loss.slope(e) @ d

    def gradient(self, t):
        """As `Convex.gradient`."""
        e = self.o + self.A @ t
        g = self.loss.slope(e) @ self.A + 2 * self.l2 * t
        return g, max(self.sizes(t).max(initial=0.0), 1e-300)

    def sizes(self, t):
        """(q,): what is summed in the gradient."""
        size = self.loss.size(self.o + self.A @ t) @ np.abs(self.A)
        return size + self.l1 + 2 * self.l2 * np.abs(t)

    def root_hessian(self, t):
        rows = self.loss.root(self.o + self.A @ t) @ self.A
        return np.vstack([rows, np.diag(np.sqrt(2 * self.l2))])

    def restricted(self, use):
        """The problem of some coordinates alone."""
        parts = {name: getattr(self, name)[use] for name in ("l1", "l2", "low", "high")}
        return self._replace(A=self.A[:, use], **parts)

    def violation(self, t):
        g, size = self.gradient(t)
        return np.abs(smallest_subgradient(self, t, g)).max(initial=0.0) / size

    @property
    def free(self):
        """Whether there are no penalties and no bounds."""
        return not (self.l1.any() or self.l2.any()) and np.isinf([self.low, self.high]).all()

    def recedes(self):
        """Whether the objective falls for ever along some direction, so that it has no minimum."""
        A, bounds = self.A, (-1.0, 1.0)
        if self.free and A.size:
            # a basis in which a linear program tells nearly dependent columns apart
            U, size, _ = np.linalg.svd(
                A / np.maximum(np.linalg.norm(A, axis=0), 1e-300), full_matrices=False
            )
            A = U[:, size > 1e-10 * size[0]]
        elif A.size:
            fixed = (self.l1 > 0) | (self.l2 > 0)
            bounds = [
                (
                    0.0 if still or np.isfinite(low) else -1.0,
                    0.0 if still or np.isfinite(high) else 1.0,
                )
                for still, low, high in zip(fixed, self.low, self.high, strict=True)
            ]
        G = self.loss.ahead @ A
        G[~np.any(self.loss.ahead @ self.A, axis=1)] = 0.0  # not rounding of a basis
        if self.free and G.size:  # what changes no function, a number for all classes, is rounding
            U, size, _ = np.linalg.svd(G, full_matrices=False)
            G = U[:, size > 1e-9 * size[0]]
            G[np.abs(G) < 1e-13] = 0.0  # rounding of the basis
        if not G.size:
            return False
        G = G / np.maximum(np.abs(G).max(axis=1, keepdims=True), 1e-300)
        bounds = np.broadcast_to(bounds, (G.shape[1], 2))
        rng, order, unit = np.random.default_rng(0), np.arange(G.shape[1]), 1.0
        # HiGHS halts in some orders of columns, after presolve, or in some units of rows, of which
        # the number 1 is not the best: it takes what is below 1e-9 for nothing
        for first in [True, False] * 5:
            M = unit * G[:, order]
            found = linprog(
                -M.sum(axis=0),
                A_ub=-M,
                b_ub=np.zeros(len(M)),
                bounds=bounds[order],
                options={"presolve": first},
            )
            if found.x is not None:
                break
            if not first:
                order, unit = rng.permutation(order), 10.0 * unit
        ahead = G[:, order] @ found.x  # what is found is a direction if it goes back nowhere
        return bool(ahead.sum() > 1e-7 and ahead.min() >= -1e-6 * ahead.max())
