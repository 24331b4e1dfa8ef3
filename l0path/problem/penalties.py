"""The separable L0 penalty as a record of numbers, with its one-coordinate verbs that work in
Python and in kernels.

phi_j(b) = lambda0 f_j [b != 0] + lambda1 |b| + lambda2 b^2   on   lower_j <= b <= upper_j
"""

import math
from typing import NamedTuple

from ..core.dispatch import generic


class Separable(NamedTuple):
    """lambda0 (b != 0) + lambda1 |b| + lambda2 b^2; gains within `tie` of the cost lambda0 leave a
    coordinate as it is.
    """

    lambda0: float
    lambda1: float = 0.0
    lambda2: float = 0.0
    tie: float = 0.0


class Interval(NamedTuple):
    """The bounds of one coefficient."""

    lower: float
    upper: float


def separable(lambda0, lambda1=0.0, lambda2=0.0, tie=0.0):
    """A checked `Separable`; floats only, so that kernels are compiled once."""
    if not all(number >= 0 for number in (lambda0, lambda1, lambda2, tie)):
        raise ValueError(
            f"lambda0={lambda0!r}, lambda1={lambda1!r}, lambda2={lambda2!r} and tie={tie!r} must "
            "be numbers >= 0"
        )
    return Separable(float(lambda0), float(lambda1), float(lambda2), float(tie))


@generic
def entry(penalty, correlation, curvature, bounds):
    """(b, gain): the best nonzero value of a coordinate, and by how much it beats zero, lambda0
    aside. b = clip(soft(correlation, lambda1) / s), s = curvature + 2 lambda2;  gain = correlation
    b - s b^2 / 2 - lambda1 |b|  (clipping is exact: the cost is convex in b).
    """
    s = max(curvature + 2.0 * penalty.lambda2, 1e-300)
    b = math.copysign(max(abs(correlation) - penalty.lambda1, 0.0), correlation) / s
    b = min(max(b, bounds.lower), bounds.upper)
    return b, correlation * b - 0.5 * s * b * b - penalty.lambda1 * abs(b)


@generic
def threshold(penalty, correlation, curvature, factor, bounds, current):
    """argmin over the bounds of  curvature b^2 / 2 - correlation b + phi(b);  a tie keeps the state
    of `current`, zero or not. Dedieu, Hazimeh & Mazumder (JMLR 22:135, 2021), equation (10), with a
    box and a cost lambda0 f; a box without 0 leaves no choice.
    """
    b, gain = entry(penalty, correlation, curvature, bounds)
    if bounds.lower > 0.0 or bounds.upper < 0.0:
        return b
    cost = penalty.lambda0 * factor
    if current != 0.0:
        return b if gain >= cost - penalty.tie else 0.0
    return b if gain > cost + penalty.tie else 0.0
