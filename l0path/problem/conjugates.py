"""Conjugates of the losses, and the dual points a loss allows.

    l*(y, r) = sup over eta of  r eta - l(y, eta)
    finite for low(y) <= r <= high(y), an interval that holds 0

    loss               l*(y, r)                                       domain, q = y r for classes
    squared            r^2 / 2 + y r                                  all r
    huber(delta)       r^2 / 2 + y r                                  |r| <= delta
    poisson            (r + y) log(r + y) - (r + y)                   r >= -y
    logistic           -q log(-q) + (1 + q) log(1 + q), 0 log 0 = 0   -1 <= q <= 0
    squared_hinge      q + q^2 / 4                                    q <= 0
    smoothed_hinge     q + gamma q^2 / 2                              -1 <= q <= 0
    hinge              q                                              -1 <= q <= 0

Sources: Liu et al. (ICML 2017), Table 1 (there the squared loss lacks our 1/2); Ren & Qian (Dynamic
    Incremental Optimization for Best Subset Selection), appendix E,
whose logistic projection and smoothed-hinge domain are misprinted: the domains are the ones above.
An offset adds -o r, and the weight w of a row gives w l*(y, a / w).
"""

import numpy as np

from ..core.dispatch import generic_in_python
from .losses import Squared, smoothness
from .verbs import derivatives

NEWTON_STEPS = 60


@generic_in_python
def smooth(loss):
    """The loss whose slopes serve: for the hinge the smoothed hinge of its width, which has the
    same dual domain and lies below it by at most half that width, for the check loss the smoothed
    one of its width; any other loss itself.
    """
    return loss


def _without_conjugate(loss):
    """The error for a loss whose conjugate is not known."""
    return ValueError(
        f"loss={loss.traits.name!r} has no conjugate here, which lower bounds and proofs need; fit "
        "with a loss of the package for them"
    )


@generic_in_python
def conjugate(loss, y, r):
    """l*(y, r) of arrays that broadcast; r within `interval`."""
    raise _without_conjugate(loss)


@generic_in_python
def interval(loss, y):
    """(low, high), each like y: where l*(y, .) is finite."""
    raise _without_conjugate(loss)


@generic_in_python
def conjugate_slope(loss, y, r):
    """Derivative of l*(y, r) in r: the predictor whose slope r is; kept finite at the ends of the
    domain. For the losses of bounded curvature, which dual ascent takes.
    """
    raise TypeError(f"no slope of a conjugate for {type(loss).__name__}")


def convexity(loss):
    """Least second derivative of l*(y, .) on its domain, 1 / the largest curvature of the loss: the
    only value it takes, but for the logistic (and poisson, 0), where it has no upper bound.
    """
    return 1.0 / smoothness(loss)


def feasible(loss, y, weights, intercept, a):
    """The dual points a (n, m) moved into the domain, a_i / w_i in `interval`, and to column sums
    of zero where the model has a free intercept; a new array.

    r = clip(a / w + t, low, high), t the root of sum w r = 0: the nearest feasible point in the
    norm sum w r^2, and for the squared loss the best shift. What rounding leaves of the sum is
    taken off by shrinking the heavier sign, which moves every a_i towards 0 and so stays within the
    domain.
    """
    low, high = (bound[:, None] for bound in interval(loss, y))
    w = weights[:, None]
    r = np.clip(a / w, low, high)
    if not intercept:
        return np.asfortranarray(w * r)
    if isinstance(loss, Squared):
        return np.asfortranarray(w * (r - (w * r).sum(axis=0)))
    if np.abs((w * r).sum(axis=0)).max(initial=0.0) > 1e-9 * (w * np.abs(r)).sum(axis=0).max(
        initial=0.0
    ):
        r = _centered(a / w, w, low, high)
    return balanced(w * r)


def balanced(a):
    """Dual points a (n, m) with column sums of zero up to rounding: the heavier sign is multiplied
    by the ratio of the sums of the two signs. A point beyond the numbers becomes 0, which bounds
    little but is in every domain.
    """
    a = np.where(np.isfinite(np.abs(a).sum(axis=0)), a, 0.0)
    up, down = np.maximum(a, 0.0).sum(axis=0), np.maximum(-a, 0.0).sum(axis=0)
    least = np.minimum(up, down)
    ratio = np.where(
        a > 0, least / np.where(up > 0, up, 1.0), least / np.where(down > 0, down, 1.0)
    )
    return np.asfortranarray(a * ratio)


def _centered(r, w, low, high):
    """clip(r + t, low, high) with t (m,) such that sum w clip(r + t) = 0: safeguarded Newton on a
    monotone piecewise linear function.
    """
    left, right = np.full(r.shape[1], -np.inf), np.full(r.shape[1], np.inf)
    t = np.zeros(r.shape[1])
    reach = 2 * np.abs(r).max(axis=0, initial=0.0) + 1.0
    for _ in range(NEWTON_STEPS):
        moved = np.clip(r + t, low, high)
        total = (w * moved).sum(axis=0)
        left, right = np.where(total <= 0, t, left), np.where(total >= 0, t, right)
        mass = (w * ((moved > low) & (moved < high))).sum(axis=0)
        step = np.divide(-total, mass, out=np.sign(-total) * reach, where=mass > 0)
        after = t + step
        outside = (after <= left) | (after >= right)
        bounded = np.isfinite(left) & np.isfinite(right)
        after = np.where(
            outside & bounded,
            0.5 * (np.where(bounded, left, 0.0) + np.where(bounded, right, 0.0)),
            after,
        )
        after = np.where(total == 0, t, after)
        if (
            np.abs(total).max() <= 1e-15 * (w * np.abs(moved)).sum(axis=0).max()
            or (after == t).all()
        ):
            break
        t = after
    return np.clip(r + t, low, high)


def tangents(loss, y, weights, eta, intercept, shift):
    """(a (n, m), loss (m,), shift (m,)): the slopes a_i = w_i l'(y_i, eta_i + shift) of predictors
    eta (n, m), offset included, at the shift that makes them sum to zero.

    These dual points are within the domain (their sum is zero to 1e-14 of its terms: `feasible`
    does the rest), and tangent: sum_i w_i l*(y_i, a_i / w_i) = sum_i a_i (eta_i + shift) - loss.
    shift (m,): where the search for the free intercept starts; without one it stays as it is. A
    rate beyond all numbers has an infinite loss. The hinge's are those of `smooth`.
    """
    loss = smooth(loss)
    a = np.empty(eta.shape, order="F")
    total = np.empty(eta.shape[1])
    shift = np.array(shift, dtype=float)
    if isinstance(loss, Squared):
        r = eta - y[:, None]
        if intercept:
            shift = -(weights @ r)
        r = r + shift
        a[:] = weights[:, None] * r
        return a, 0.5 * np.einsum("ij,ij->j", a, r), shift
    curvature = np.empty(y.size)
    for m in range(eta.shape[1]):
        slopes, left, right, reach = a[:, m], -np.inf, np.inf, 1.0
        for _ in range(NEWTON_STEPS):
            total[m] = derivatives(loss, y, eta[:, m] + shift[m], weights, slopes, curvature)
            if not intercept:
                break
            with np.errstate(invalid="ignore"):
                g, h = slopes.sum(), curvature.sum()
            # slopes beyond all numbers on both sides: the loss is infinite at every shift nearby
            if np.isnan(g) or abs(g) <= 1e-14 * np.abs(slopes).sum():
                break
            left, right = (shift[m], right) if g < 0 else (left, shift[m])
            step = -g / h if h > 0 and abs(g) < reach * h else -np.sign(g) * reach
            after = shift[m] + step
            if after == shift[m]:
                break
            shift[m] = after if left < after < right else 0.5 * (left + right)
    return a, total, shift
