"""The convex envelope of the L0 penalty with a ridge or a box (perspective, or reverse Huber
penalty), and its proximal map, for a given multiplier lambda0 or a given size k.

    envelope(b, z) = sum_j lambda0 f_j z_j + lambda1 |b_j| + q_j b_j^2 / z_j,
                     |b_j| <= M_j z_j,   0 <= z_j <= 1;    with sizes sum z <= k, no lambda0

Least over z it is the largest convex function below the penalty, column by column: with rho =
min(sqrt(lambda0 f / q), M) it is linear with slope (lambda0 f + q rho^2) / rho up to |b| = rho, q
b^2 beyond. For sizes it is q times the squared k-support norm (Argyriou, Foygel & Srebro, NIPS
2012) when there is neither lambda1 nor box. M is the box on the side of b.
"""

from typing import NamedTuple

import numpy as np


class Terms(NamedTuple):
    """The penalty on w columns: lambda1; ridge, factor (w, 1); lower, upper (w, 1); counted (w,)
    bool: the others are forced and free of charge.
    """

    lambda1: float
    ridge: np.ndarray
    factor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    counted: np.ndarray


def terms(dual, J):
    """`Terms` of columns J of a dual."""
    ridge, factor, lower, upper = (
        v[J][:, None] for v in (dual.ridge, dual.problem.factor, dual.lower, dual.upper)
    )
    return Terms(dual.lambda1, ridge, factor, lower, upper, dual.counted[J])


def envelope(terms, b, z, lambda0=None):
    """(m,): the penalty at b, z (w, m); without the multiplier where lambda0 (m,) is None."""
    square = np.divide(b * b, z, out=np.zeros_like(b), where=z > 0)
    out = terms.lambda1 * np.abs(b).sum(axis=0) + (terms.ridge * square).sum(axis=0)
    c = terms.counted
    return out if lambda0 is None else out + lambda0 * (terms.factor[c] * z[c]).sum(axis=0)


def prox(terms, v, curvature, sizes=None, lambda0=None, start=None):
    """argmin over (b, z) of curvature (b - v)^2 / 2 + envelope, for v (w, m), curvature (m,), and
    sizes (m,) or lambda0 (m,): (b, z (w, m), x (m,)).

    x = 1 / sqrt(multiplier): for sizes the multiplier at which sum z = k, infinite where k columns
    are enough for a multiplier of zero; `start`: x of an earlier call.
    """
    b, z = np.zeros_like(v), np.ones_like(v)
    c, out = terms.counted, ~terms.counted
    if out.any():
        t = curvature * v[out]
        t = (
            np.sign(t)
            * np.maximum(np.abs(t) - terms.lambda1, 0.0)
            / (curvature + 2.0 * terms.ridge[out])
        )
        b[out] = np.clip(t, terms.lower[out], terms.upper[out])
    v, q = v[c], terms.ridge[c]
    M = np.where(v > 0, terms.upper[c], -terms.lower[c])
    reduced = np.where(M > 0, np.maximum(curvature * np.abs(v) - terms.lambda1, 0.0), 0.0)
    M = np.where(M > 0, np.minimum(M, 1e50), 1.0)
    if sizes is None:
        multiplier, x = lambda0 * terms.factor[c], np.full(curvature.size, np.nan)
    else:
        x = _size_multiplier(reduced, curvature, q, M, sizes, start)
        with np.errstate(divide="ignore"):
            multiplier = np.broadcast_to(1.0 / (x * x), reduced.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.minimum(np.sqrt(multiplier / q), M)
        linear = (reduced - (multiplier + q * rho * rho) / rho) / curvature
    inner = (multiplier > 0) & (linear < rho)
    size = np.where(inner, np.maximum(linear, 0.0), np.minimum(reduced / (curvature + 2.0 * q), M))
    b[c] = np.sign(v) * size
    z[c] = np.where(inner, size / np.where(inner, rho, 1.0), size > 0)
    return b, z, x


def _size_multiplier(reduced, curvature, q, M, sizes, start):
    """x (m,) with sum_j z_j(x) = k, z_j increasing in x = 1 / sqrt(multiplier); infinite where a
    multiplier of 0 keeps within k, 0 for k = 0. Newton within a bracket, at most 60 steps.
    """
    m = reduced.shape[1]
    enough = (
        np.where(q > 0, reduced > 0, np.minimum(reduced / (curvature * M), 1.0)).sum(axis=0)
        <= sizes
    )
    left, right, root = np.zeros(m), np.full(m, np.inf), np.sqrt(q)
    x = np.where(
        enough,
        np.inf,
        1.0 if start is None else np.where(np.isfinite(start) & (start > 0), start, 1.0),
    )
    x[sizes == 0] = 0.0
    for _ in range(60):
        live = np.flatnonzero(np.isfinite(x) & (x > 0) & (left < right * (1 - 1e-14)))
        if not live.size:
            break
        t, P, L, cap = x[live], reduced[:, live], curvature[live], M[:, live]
        with np.errstate(divide="ignore"):
            free = cap * root * t >= 1.0
        z = np.where(
            free, (P * (root * t) - 2.0 * q) / L, (P - q * cap - 1.0 / (t * t * cap)) / (L * cap)
        )
        between = (z > 0) & (z < 1)
        slope = np.where(
            between, np.where(free, P * root / L, 2.0 / (t**3 * cap * cap * L)), 0.0
        ).sum(axis=0)
        excess = np.clip(z, 0.0, 1.0).sum(axis=0) - sizes[live]
        left[live], right[live] = (
            np.where(excess <= 0, t, left[live]),
            np.where(excess >= 0, t, right[live]),
        )
        after = t - np.divide(excess, slope, out=np.full(live.size, np.nan), where=slope > 0)
        lo, hi = left[live], right[live]
        middle = np.where(
            np.isfinite(hi),
            np.where(lo > 0, np.sqrt(lo) * np.sqrt(np.minimum(hi, 1e300)), 0.25 * hi),
            4.0 * t,
        )
        x[live] = np.where((after > lo) & (after < hi), after, middle)
        done = np.abs(excess) <= 1e-12 * np.maximum(sizes[live], 1)
        x[live[done]] = t[done]
        left[live[done]] = right[live[done]] = t[done]
        x[x > 1e45] = np.inf
    return x
