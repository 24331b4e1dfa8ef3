"""Restricted optima where columns are almost linear combinations of each other; independent of the
package.

Every pattern of signs and bounds of the coefficients is tried: what is left free is fitted in
coordinates in which its columns are orthonormal, and the objective is computed from its definition,
with residuals in extended precision. No pattern can give less than the optimum, and that of the
optimum gives it.
"""

from itertools import combinations, product

import numpy as np
from oracles import LOSSES


def value(Z, y, b, b0, loss, lambda1, lambda2, parameters):
    """The objective at (b, b0)."""
    eta = (Z.astype(np.longdouble) @ b + b0).astype(float)
    with np.errstate(over="ignore"):
        rows = LOSSES[loss].value(y, eta, *parameters)
    return float(rows.mean() + lambda1 * np.abs(b).sum() + lambda2 * b @ b)


def fitted(Z, y, fixed, tilt, lambda2, loss, intercept, parameters):
    """(b, b0) of least mean loss(y, fixed + b0 + Z b) + tilt'b + lambda2 ||b||^2, by Newton's
    method on an orthonormal basis of the columns of Z (n, k).
    """
    n, k = Z.shape
    Q, R = np.linalg.qr(Z)
    inverse = np.linalg.inv(R)
    D = np.column_stack([Q, np.ones(n)]) if intercept else Q
    P, g1 = np.zeros((D.shape[1],) * 2), np.zeros(D.shape[1])
    P[:k, :k], g1[:k] = 2 * lambda2 * inverse.T @ inverse, inverse.T @ tilt
    t, damping = -np.linalg.lstsq(D, fixed, rcond=None)[0], 1e-9  # what is held may be large

    def objective(t):
        with np.errstate(over="ignore"):
            rows = LOSSES[loss].value(y, fixed + D @ t, *parameters)
        return float(rows.mean() + g1 @ t + 0.5 * t @ P @ t)

    here = objective(t)
    for _ in range(60 if np.isfinite(here) else 0):
        eta = fixed + D @ t
        slope, v = (
            LOSSES[loss].slope(y, eta, *parameters),
            LOSSES[loss].curvature(y, eta, *parameters),
        )
        H = (D * v[:, None]).T @ D / n + P + damping * D.T @ D / n
        d = np.linalg.lstsq(H, D.T @ slope / n + g1 + P @ t, rcond=None)[0]
        after = objective(t - d)
        if after <= here:
            t, done, here = t - d, here - after <= 1e-16 * abs(here), after
            damping = max(0.1 * damping, 1e-9)
            if done:
                break
        else:
            damping *= 30
    return inverse @ t[:k], float(t[k]) if intercept else 0.0


def optimum(Z, y, lower, upper, *, loss, lambda1=0.0, lambda2=0.0, intercept=False, parameters=()):
    """The least value on the columns Z (n, k) within the bounds, which hold 0."""
    parameters, k = (*parameters, 0.25, 1.0)[:2], Z.shape[1]
    states = []
    for j in range(k):
        free = [("free", 1.0), ("free", -1.0)] if lambda1 else [("free", 0.0)]
        ends = [("held", end) for end in (lower[j], upper[j]) if np.isfinite(end)]
        states.append([("held", 0.0), *free, *ends])
    best = np.inf
    for pattern in product(*states):
        b = np.array([0.0 if kind == "free" else end for kind, end in pattern])
        free = np.array([kind == "free" for kind, _ in pattern], dtype=bool)
        tilt = lambda1 * np.array([sign for kind, sign in pattern if kind == "free"])
        fixed = (Z.astype(np.longdouble) @ b).astype(float)
        b[free], b0 = fitted(Z[:, free], y, fixed, tilt, lambda2, loss, intercept, parameters)
        b = np.clip(b, lower, upper)
        best = min(best, value(Z, y, b, b0, loss, lambda1, lambda2, parameters))
    return best


def every(X, y, lower, upper, standardize, intercept, **words):
    """{sorted columns: optimum} of all supports; lower, upper: bounds in the units of X."""
    p = X.shape[1]
    Z = X - X.mean(axis=0) if intercept else X
    s = np.sqrt((Z**2).mean(axis=0)) if standardize else np.ones(p)
    Z = Z / s
    out = {}
    for k in range(p + 1):
        for S in map(list, combinations(range(p), k)):
            out[tuple(S)] = optimum(
                Z[:, S], y, (lower * s)[S], (upper * s)[S], intercept=intercept, **words
            )
    return out
