"""The convex envelope of the L0 penalty with a ridge or a box (perspective, or reverse Huber
penalty), and its proximal map, for a given multiplier lambda0 or a given size k.

    envelope(b, z) = sum_j lambda0 f_j z_j + lambda1 |b_j| + q_j b_j^2 / z_j,
                     |b_j| <= M_j z_j,   0 <= z_j <= 1;    with sizes sum z <= k, no lambda0

Least over z it is the largest convex function below the penalty, column by column: with rho =
min(sqrt(lambda0 f / q), M) it is linear with slope (lambda0 f + q rho^2) / rho up to |b| = rho, q
b^2 beyond. For sizes it is q times the squared k-support norm (Argyriou, Foygel & Srebro, NIPS
2012) when there is neither lambda1 nor box. M is the box on the side of b.
"""

from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit


class Terms(NamedTuple):
    """The penalty on w columns."""

    lambda1: float
    ridge: np.ndarray  # (w, 1)
    factor: np.ndarray  # (w, 1)
    lower: np.ndarray  # (w, 1)
    upper: np.ndarray  # (w, 1)
    counted: np.ndarray  # (w,), bool: the others are forced and free of charge


class Reduced(NamedTuple):
    """What the multiplier of one target depends on: (curvature |v| - lambda1)_+ of each column,
    how far it may go, the root of its ridge, (w,) each, and the curvature.
    """

    reduced: np.ndarray
    cap: np.ndarray
    root: np.ndarray
    curvature: float


def terms(dual, J):
    """`Terms` of columns J of a dual."""
    ridge, factor, lower, upper = (
        v[J][:, None] for v in (dual.ridge, dual.problem.factor, dual.lower, dual.upper)
    )
    return Terms(float(dual.lambda1), ridge, factor, lower, upper, dual.counted[J])


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
    v = np.ascontiguousarray(v)
    b, z, x = np.empty_like(v), np.empty_like(v), np.full(curvature.size, np.nan)
    if sizes is None:
        _at_multipliers(terms, v, curvature, lambda0, b, z)
    else:
        x[:] = 1.0 if start is None else start
        _at_sizes(terms, v, curvature, np.asarray(sizes, dtype=float), x, b, z)
    return b, z, x


@njit
def _at_multipliers(terms, v, curvature, lambda0, b, z):
    """`prox` for multipliers lambda0 (m,)."""
    reduced, cap = np.empty(v.shape[0]), np.empty(v.shape[0])
    for t in range(curvature.size):
        _reduce(terms, v, curvature[t], t, reduced, cap)
        for i in range(v.shape[0]):
            if terms.counted[i]:
                multiplier = lambda0[t] * terms.factor[i, 0]
                q = terms.ridge[i, 0]
                size, z[i, t] = _shrunk(reduced[i], curvature[t], q, cap[i], multiplier)
                b[i, t] = size if v[i, t] > 0.0 else -size
    _forced(terms, v, curvature, b, z)


@njit
def _at_sizes(terms, v, curvature, sizes, x, b, z):
    """`prox` for sizes (m,); x (m,) has the starts, and takes 1 / sqrt(multiplier)."""
    reduced, cap, root = np.empty(v.shape[0]), np.empty(v.shape[0]), np.empty(v.shape[0])
    for i in range(v.shape[0]):
        root[i] = sqrt(terms.ridge[i, 0])
    for t in range(curvature.size):
        _reduce(terms, v, curvature[t], t, reduced, cap)
        columns = Reduced(reduced, cap, root, curvature[t])
        x[t] = _of_size(columns, terms.counted, sizes[t], x[t])
        multiplier = 1.0 / (x[t] * x[t])
        for i in range(v.shape[0]):
            if terms.counted[i]:
                q = terms.ridge[i, 0]
                size, z[i, t] = _shrunk(reduced[i], curvature[t], q, cap[i], multiplier)
                b[i, t] = size if v[i, t] > 0.0 else -size
    _forced(terms, v, curvature, b, z)


@njit
def _forced(terms, v, curvature, b, z):
    """`prox` of the forced columns: z = 1."""
    for i in range(v.shape[0]):
        if terms.counted[i]:
            continue
        for t in range(curvature.size):
            size = max(curvature[t] * abs(v[i, t]) - terms.lambda1, 0.0)
            size /= curvature[t] + 2.0 * terms.ridge[i, 0]
            value = size if v[i, t] > 0.0 else -size
            b[i, t], z[i, t] = min(max(value, terms.lower[i, 0]), terms.upper[i, 0]), 1.0


@njit
def _reduce(terms, v, curvature, t, reduced, cap):
    """reduced, cap (w,): (curvature |v| - lambda1)_+ of target t, 0 where the box leaves no room
    on the side of v, and how far b may go there.
    """
    for i in range(v.shape[0]):
        room = terms.upper[i, 0] if v[i, t] > 0.0 else -terms.lower[i, 0]
        reduced[i] = max(curvature * abs(v[i, t]) - terms.lambda1, 0.0) if room > 0.0 else 0.0
        cap[i] = min(room, 1e50) if room > 0.0 else 1.0


@njit
def _shrunk(reduced, curvature, q, cap, multiplier):
    """(|b|, z) of a column at its multiplier."""
    if multiplier > 0.0:
        rho = min(sqrt(multiplier / q), cap) if q > 0.0 else cap
        linear = (reduced - (multiplier + q * rho * rho) / rho) / curvature
        if linear < rho:
            size = max(linear, 0.0)
            return size, size / rho
    size = min(reduced / (curvature + 2.0 * q), cap)
    return size, 1.0 if size > 0.0 else 0.0


@njit
def _of_size(columns, counted, k, x):
    """x with sum_j z_j(x) = k, z_j increasing in x = 1 / sqrt(multiplier); infinite where a
    multiplier of 0 keeps within k, 0 for k = 0. Newton within a bracket, at most 60 steps.
    """
    P, cap, root, L = columns
    if k == 0.0:
        return 0.0
    most = 0.0
    for i in range(P.size):
        if counted[i]:
            whole = 1.0 if P[i] > 0.0 else 0.0
            most += whole if root[i] > 0.0 else min(P[i] / (L * cap[i]), 1.0)
    if most <= k:
        return inf
    x = x if 0.0 < x < inf else 1.0
    left, right = 0.0, inf
    for _ in range(60):
        if not left < right * (1.0 - 1e-14):
            break
        excess, slope = -k, 0.0
        for i in range(P.size):
            if not counted[i]:
                continue
            r, M = root[i], cap[i]
            if M * r * x >= 1.0:
                z, rise = (P[i] * (r * x) - 2.0 * r * r) / L, P[i] * r / L
            else:
                z = (P[i] - r * r * M - 1.0 / (x * x * M)) / (L * M)
                rise = 2.0 / (x * x * x * M * M * L)
            if z > 0.0:
                excess += min(z, 1.0)
                slope += rise if z < 1.0 else 0.0
        if abs(excess) <= 1e-12 * max(k, 1.0):
            break
        if excess <= 0.0:
            left = x
        if excess >= 0.0:
            right = x
        x = _within(x - excess / slope if slope > 0.0 else left, left, right, x)
        if x > 1e45:
            return inf
    return x


@njit
def _within(after, left, right, x):
    """The next x: `after` where it lies within the bracket, else a point in the middle of it."""
    if left < after < right:
        return after
    if not isfinite(right):
        return 4.0 * x
    return sqrt(left) * sqrt(min(right, 1e300)) if left > 0.0 else 0.25 * right
