"""Whether a loss of the user's own falls for ever along a direction, so that a fit is no optimum.

How such a loss may fall is not known beforehand, as it is of the losses of the package
(`problem.recession`). Steps go out along such a direction until what they gain is lost in rounding,
and leave it without curvature. A convex loss falls for ever along a direction if and only if its
slope never becomes positive there, so slopes farther out decide, not how small a curvature is.
"""

import numpy as np

from ..losses import OWN_LOSSES, name_of
from ..responses import null_start
from ..verbs import derivatives, multiplies, multiply_columns

FLAT_SHARE = (
    1e-4  # share of the largest curvature below which that along a direction is looked into
)
SAME_SPAN = 1e-7  # share of the largest singular value of columns below which they are dependent
UNMOVED = 1e-9  # share of its largest move up to which a direction leaves a row where it is
RISING = 1e-9  # relative size of a slope along a direction that is not taken for rounding
LOST = 1e-12  # and that in units of the slopes at the null model
FARTHER = (3.0, 1.0, 0.25)  # how far out slopes are asked, in units of the way to the fit
FADED, BEYOND = 1e-6, 1.1  # the share of a slope that is nearly nothing, and a little farther out
WAY_HALVINGS = 60  # of the way to where it is


def falls_for_ever(problem, fit, shrunk):
    """Whether the loss goes on falling from a fit, along some direction of the coefficients and the
    intercept.

    The slope along a direction may be zero farther out because the optimum is not unique, as under
    a hinge. There it is zero at once where it ends to be negative; where a loss falls for ever it
    fades.

    Parameters
    ----------
    problem : Problem
    fit : Fit
        Of the problem.
    shrunk : bool
        Whether there is shrinkage, with which no objective falls for ever.

    Returns
    -------
    bool
        False where that is not shown, and for losses that are not the user's own.
    """
    p, at = problem, fit.support
    if shrunk or name_of(p.loss) not in OWN_LOSSES:
        return False
    if p.of_each:
        each = zip(p.of_each, p.fits_of_each(fit), strict=True)
        return any(falls_for_ever(one, own, shrunk) for one, own in each)
    lower, upper, Z = p.lower[at], p.upper[at], np.ascontiguousarray(p.X.columns(at).T)
    eta = p.offset + fit.b0 + fit.b @ Z
    free = np.isinf(lower) | np.isinf(upper)
    A = np.vstack([Z[free], np.ones((int(p.intercept), p.y.size))])
    box = lower[free], upper[free]
    level = null_start(p.loss, p.y, p.offset, p.weights) if p.intercept else 0.0
    with np.errstate(all="ignore"):
        Q = _basis(A, p.weights)
        slopes, H = _at(p, Q, eta)
        first, start = _at(p, Q, p.offset + level)
        largest = max(np.trace(H), np.trace(start))
        if not (0.0 < largest < np.inf and np.isfinite(H).all()):
            return False
        values, vectors = np.linalg.eigh(H)
        weak = values <= FLAT_SHARE * largest
        V, out = vectors[:, weak].T @ Q, eta - p.offset - level
        reach = max(float(np.abs(out).max()), 1.0)
        way = V.T @ (V @ (p.weights * out))
        step = -V.T @ ((V @ slopes) / np.maximum(values[weak], 1e-300))
        return any(
            _falls_along(p, eta, d * (reach / np.abs(d).max()), first)
            for d in (way, step, *V[:1], *-V[:1])
            if 0.0 < np.abs(d).max() < np.inf and _within(A, d, *box)
        )


def _basis(Z, weights):
    """Orthonormal combinations of the rows of Z (m, n) under the weights."""
    Z = Z * np.sqrt(weights)
    size = np.sqrt((Z * Z).sum(axis=1, keepdims=True))
    _, values, rows = np.linalg.svd(Z / np.where(size > 0, size, 1.0), full_matrices=False)
    return rows[values > SAME_SPAN * values.max(initial=0.0)] / np.sqrt(weights)


def _within(A, move, lower, upper):
    """Whether the coefficients of the first rows of A (m, n) that make a direction (n,) go to no
    side with a finite bound.
    """
    if np.isinf(lower).all() and np.isinf(upper).all():
        return True
    d = np.linalg.lstsq(A.T, move)[0][: lower.size]
    share = d * np.sqrt((A[: lower.size] ** 2).mean(axis=1)) / np.abs(move).max()
    return not (
        (share > UNMOVED) & np.isfinite(upper) | (share < -UNMOVED) & np.isfinite(lower)
    ).any()


def _slopes(problem, eta):
    """(slopes, v) of `derivatives_of_rows` at a predictor."""
    p, slopes, v = problem, np.empty(eta.size), np.empty(eta.size)
    derivatives(p.loss, p.y, eta, p.weights, slopes, v)
    return slopes, v


def _at(problem, Q, eta):
    """(slopes, Hessian in the combinations Q) at a predictor."""
    p = problem
    slopes, v = _slopes(p, eta)
    ends = multiply_columns(p.loss, p.y, eta, p.weights, Q) if multiplies(p.loss) else Q * v
    H = ends @ Q.T
    return slopes, np.where(np.isfinite(H), 0.5 * (H + H.T), np.nan)


def _falls_along(problem, eta, move, first):
    """Whether the loss falls for ever along a direction `move` (n,) from a predictor; first: slopes
    at the null model.
    """
    move = np.where(np.abs(move) > UNMOVED * np.abs(move).max(), move, 0.0)
    size = float(np.abs(first) @ np.abs(move))

    def slope(t):
        slopes = _slopes(problem, eta + t * move)[0]
        return float(slopes @ move), float(np.abs(slopes) @ np.abs(move))

    for t in FARTHER:
        found, parts = slope(t)
        if np.isfinite(found):
            break
    if not found <= max(RISING * parts, LOST * size):
        return False
    low, high = 0.0, 1.0 + t  # from the null model on
    behind = slope(-1.0)[0]
    if not behind < -RISING * size:
        return False
    for _ in range(WAY_HALVINGS):
        middle = 0.5 * (low + high) if low > 0.0 or high < 1e-12 else 0.1 * high
        if slope(middle - 1.0)[0] < FADED * behind:
            low = middle
        else:
            high = middle
    return slope(BEYOND * high - 1.0)[0] < -LOST * size
