"""Safe rules: columns that every optimal solution leaves out, or has, proved by a dual point and
the value of any solution. Nothing is assumed about optimality of either.

For a point with bound D (see `relaxation.bounds`), an objective U of some feasible solution, and
D_{-j} = D without column j's share:

    penalized   every solution with b_j != 0 costs at least D_{-j} + lambda0 f_j - h_j,
                every one with b_j = 0 at least D_{-j}
    at most k   every solution with b_j != 0 costs at least D_k + h_(k) - h_j for j below the k
                largest h, every one with b_j = 0 at least D_k + h_j - h_(k+1) for j among them;
                where multiples of a point are dual points too, each column has its best one (see
                `relaxation.bounds.left`)

A column is fixed where that exceeds U by more than rounding, so that of several optima with equal
objective none is cut. Liu et al. (ICML 2017) have no such rules; Ren & Qian (Dynamic Incremental
Optimization for Best Subset Selection), rule (16), derive theirs from strong duality, which does
not hold in general. It is safe all the same, and the sharpened rule below implies it; their lower
bound with an outer absolute value, which would force columns in, is not. The dual must hold all
columns, as it does here, not only active ones.
"""

import numpy as np

from ..problem.losses import smoothness
from .bounds import base, gains, left

MARGIN = 1e-9  # relative to |U|: an objective that is larger by less counts as equal


def _limit(problem, upper):
    """The value beyond which an objective exceeds `upper` by more than rounding, that of a
    perfect fit too.
    """
    size = 0.5 * float(problem.weights @ problem.y**2)
    return upper + MARGIN * abs(upper) + 1e-13 * size + problem.noise


def fix_cardinality(dual, points, sizes, upper):
    """(out, into), each (p, m) bool: columns that no, or that every, solution of at most sizes[m]
    chosen columns and value (loss + shrinkage) <= upper[m] has. Point m serves size m.

    Columns that do not count (forced, not usable) are in neither. What several points fix may be
    united: a point with a lower bound can fix other columns.
    """
    shape = (dual.problem.X.p, len(sizes))
    out, into = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    J = np.flatnonzero(dual.counted)
    for m, (k, limit) in enumerate(zip(sizes, upper, strict=True)):
        every = gains(dual, points, m)
        h = np.maximum(every[J], 0.0)
        k = min(int(k), J.size)
        order = np.argsort(-h, kind="stable")
        top, rest = order[:k], order[k:]
        if k == 0:
            out[J, m] = True
        elif np.isfinite(h[top]).all():
            others, spare = h[top[:-1]].sum(), h[rest[0]] if rest.size else 0.0
            out[J[rest], m] = left(dual, points, m, every, others + h[rest]) > _limit(
                dual.problem, limit
            )
            into[J[top], m] = left(
                dual, points, m, every, others + h[top[-1]] - h[top] + spare
            ) > _limit(dual.problem, limit)
    return out, into


def fix_penalized(dual, points, lambda0, upper, *, minima=True):
    """(out, into), each (p, m) bool: columns that no, or that every, global minimum of (P) at
    lambda0[m] has; upper[m] an objective of (P). Point m serves lambda0 m.

    For losses with bounded curvature and columns without a box the sharper of two rules is taken:
    see `_sharpened`. The plain rule alone speaks of every solution of objective <= upper; the
    sharpened one of minima. Columns that do not count are in neither. minima: False where other
    models up to `upper` are wanted, too: the plain rule alone.
    """
    shape = (dual.problem.X.p, len(lambda0))
    out, into = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    J = np.flatnonzero(dual.counted)
    for m, (value, limit) in enumerate(zip(lambda0, upper, strict=True)):
        h = gains(dual, points, m)
        start, h = base(dual, points, m, h), np.maximum(h[J], 0.0)
        cost = value * dual.problem.factor[J]
        excess = np.maximum(h - cost, 0.0)
        bound = start - excess.sum()
        if not np.isfinite(bound):
            continue
        without = bound + excess
        entering, leaving = -np.inf, 0.0
        if minima:
            entering, leaving = _sharpened(dual, points, m, J, cost)
        out[J, m] = without + np.maximum(cost - h, entering) > _limit(dual.problem, limit)
        into[J, m] = without + leaving > _limit(dual.problem, limit)
    return out, into


def _sharpened(dual, points, m, J, cost):
    """Lower bounds, beyond D_{-j}, on the minimum with b_j != 0 and with b_j = 0; -inf and 0
    where the sharpened rule does not apply.

    Let c = curvature bound times weighted square of column j (less a split), q its ridge, u =
    |tau_j| - lambda1. At a minimum with slopes tau* = Z'a* (less split * b) the objective exceeds
    the minorant by (tau_j - tau*_j)^2 / (2 c), because the conjugates are strongly convex; there
    tau*_j = -(lambda1 sign + 2 q b_j) and |b_j| >= s = sqrt(2 cost / (c + 2 q)) where b_j != 0,
    and |tau*_j| <= lambda1 + (c + 2 q) s where b_j = 0, by optimality along column j. So it costs
    beyond D_{-j} at least

        b_j != 0:   cost + min over b >= s of  q b^2 - u b + (u - 2 q b)^2 / (2 c),
                    which is cost - u^2 / (4 q) for u >= 2 q s and has b = s otherwise
        b_j  = 0:   max(u - (c + 2 q) s, 0)^2 / (2 c)
    """
    none = np.full(J.size, -np.inf), np.zeros(J.size)
    curvature = smoothness(dual.problem.loss)
    if not np.isfinite(curvature):
        return none
    tau, q = np.abs(points.tau[J, m]), dual.ridge[J]
    c = curvature * dual.problem.square[J] - (0.0 if dual.split is None else dual.split[J])
    slack = dual.gamma * (dual.rounding_scale[J] * points.rounding_factor[m] + tau + dual.lambda1)
    u, s = tau + slack - dual.lambda1, np.sqrt(2.0 * cost / (c + 2.0 * q))
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(q > 0, -u * u / (4.0 * q), np.where(u > 0, -np.inf, 0.0))
    edge = (2.0 * q * s - u) ** 2 / (2.0 * c) + q * s * s - u * s
    entering = cost + np.where(u >= 2.0 * q * s, inner, edge)
    leaving = np.maximum(u - 2.0 * slack - (c + 2.0 * q) * s, 0.0) ** 2 / (2.0 * c)
    applies = np.isinf(dual.lower[J]) & np.isinf(dual.upper[J]) & (c > 0)
    return np.where(applies, entering, none[0]), np.where(applies, leaving, 0.0)
