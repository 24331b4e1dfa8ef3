"""Infima of losses on all supports by another way than the package's: Newton steps under a ridge
that falls to 1e-15, by derivatives written out here. No linear program, no dropped terms.
"""

import itertools

import numpy as np
from scipy.special import expit

RIDGES = 10.0 ** -np.arange(1.0, 16.0)


def _sums(slope_and_curvature):
    """F, its gradient and Hessian of a loss of rows in eta = o + A t."""

    def of(A, y, w, o):
        def terms(t):
            value, slope, curvature = slope_and_curvature(y, o + A @ t)
            return w @ value, A.T @ (w * slope), (A.T * (w * curvature)) @ A

        return terms, A.shape[1]

    return of


def _logistic(y, eta):
    p = expit(-y * eta)
    return np.logaddexp(0.0, -y * eta), -y * p, p * (1.0 - p)


def _poisson(y, eta):
    return np.exp(eta) - y * eta, np.exp(eta) - y, np.exp(eta)


def _binomial(y, eta):
    p = expit(eta)
    return np.logaddexp(0.0, eta) - y * eta, p - y, p * (1.0 - p)


def _negative_binomial(theta):
    def rows(y, eta):
        p = expit(eta - np.log(theta))
        value = (y + theta) * np.logaddexp(0.0, eta - np.log(theta)) - y * eta
        return value, (y + theta) * p - y, (y + theta) * p * (1.0 - p)

    return rows


def _tweedie(power):
    def rows(y, eta):
        a, b = np.exp((1.0 - power) * eta), np.exp((2.0 - power) * eta)
        value = b / (2.0 - power) - y * a / (1.0 - power)
        return value, b - y * a, (2.0 - power) * b - (1.0 - power) * y * a

    return rows


def _multinomial(A, y, w, o):
    """y: class numbers; t (q, r) with one column for each class."""
    (n, q), r = A.shape, int(y.max()) + 1

    def terms(t):
        eta = o[:, None] + A @ t.reshape(q, r)
        top = eta.max(axis=1, keepdims=True)
        P = np.exp(eta - top)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        value = w @ (top + np.log(total) - eta[np.arange(n), y][:, None])[:, 0]
        D = w[:, None] * (P - np.eye(r)[y])
        H = np.zeros((q, r, q, r))
        for c in range(r):
            for e in range(r):
                v = w * P[:, c] * ((c == e) - P[:, e])
                H[:, c, :, e] = (A.T * v) @ A
        return value, (A.T @ D).ravel(), H.reshape(q * r, q * r)

    return terms, q * r


def _ordinal(A, y, w, o):
    """y: codes; A without a column for an intercept; t = (b, first threshold, log steps)."""
    (n, q), K = A.shape, int(y.max()) + 1

    def terms(t):
        limits = np.concatenate([[-np.inf], t[q:], [np.inf]])
        if (np.diff(limits) <= 0.0).any():
            return np.inf, None, None
        eta = o + A @ t[:q]
        up, low = limits[y + 1] - eta, limits[y] - eta
        value = -np.log(expit(up) * expit(-low) * -np.expm1(-(up - low)))  # F(up) - F(low)
        P = np.maximum(np.exp(-value), 1e-300)
        f, g = expit(up) * expit(-up), expit(low) * expit(-low)
        df, dg = f * (expit(-up) - expit(up)), g * (expit(-low) - expit(low))
        U, L = np.hstack([-A, np.zeros((n, K - 1))]), np.hstack([-A, np.zeros((n, K - 1))])
        for c in range(K - 1):
            U[y == c, q + c] = 1.0
            L[y == c + 1, q + c] = 1.0
        G = (f / P)[:, None] * U - (g / P)[:, None] * L
        H = (G.T * w) @ G - (U.T * (w * df / P)) @ U + (L.T * (w * dg / P)) @ L
        return w @ value, -w @ G, H

    return terms, q + K - 1


def _cox(times):
    """Efron's partial likelihood of (times, events) for each event."""

    def of(A, y, w, o):
        time, event = times

        def terms(t):
            eta, q = o + A @ t, A.shape[1]
            F, g, H, deaths = 0.0, np.zeros(q), np.zeros((q, q)), 0
            for at in np.unique(time[event]):
                dead, risk = np.flatnonzero(event & (time == at)), time >= at
                deaths += dead.size
                top = eta[risk].max()
                for m in range(dead.size):
                    u = np.exp(eta - top) * risk
                    u[dead] *= 1.0 - m / dead.size
                    mean = u @ A / u.sum()
                    F += np.log(u.sum()) + top - eta[dead[m]]
                    g += mean - A[dead[m]]
                    H += (A.T * u) @ A / u.sum() - np.outer(mean, mean)
            return F / deaths, g / deaths, H / deaths

        return terms, A.shape[1]

    return of


def infimum(terms, q, start):
    """The infimum of convex terms(t) -> (F, gradient, Hessian), t (q,)."""
    t = start.copy()
    for ridge in RIDGES:
        for _ in range(200):
            F, g, H = terms(t)
            F, g, H = F + ridge * t @ t, g + 2 * ridge * t, H + 2 * ridge * np.eye(q)
            step = -np.linalg.solve(H, g)
            size, promised = 1.0, -g @ step
            while size > 1e-12:
                value = terms(t + size * step)[0] + ridge * (t + size * step) @ (t + size * step)
                if value <= F - 1e-4 * size * promised:
                    break
                size *= 0.5
            else:
                break
            t = t + size * step
            if promised < 1e-15:
                break
    return terms(t)[0]


def loss_of(kind, *, theta=2.0, power=1.5, times=None):
    """The maker of terms of a kind of loss: of(A, y, w, o) -> (terms, q)."""
    return {
        "logistic": _sums(_logistic),
        "poisson": _sums(_poisson),
        "binomial": _sums(_binomial),
        "negative_binomial": _sums(_negative_binomial(theta)),
        "tweedie": _sums(_tweedie(power)),
        "multinomial": _multinomial,
        "ordinal": _ordinal,
        "cox": _cox(times),
    }[kind]


def every_infimum(kind, X, y, *, offset=None, weights=None, forced=(), **more):
    """{support (tuple): infimum of the mean loss} of all supports that hold the forced columns."""
    n, p = X.shape
    w = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    o, out = np.zeros(n) if offset is None else offset, {}
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for k in range(p + 1):
        for S in itertools.combinations(range(p), k):
            if not set(forced) <= set(S):
                continue
            A = Z[:, S]
            if kind not in ("ordinal", "cox"):
                A = np.hstack([A, np.ones((n, 1))])
            terms, q = loss_of(kind, **more)(A, y, w, o)
            start = np.zeros(q)
            if kind == "ordinal":
                start[k:] = np.arange(q - k) - (q - k) / 2.0
            out[S] = infimum(terms, q, start)
    return out
