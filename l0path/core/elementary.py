"""exp and log1p for loops of kernels: inlined, without a call."""

import math

import numpy as np

from .dispatch import njit_inlined

LOG2E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
HALVES = 2.0 ** -np.arange(1100.0)
SERIES = tuple(1.0 / math.factorial(k) for k in range(14))  # of exp


@njit_inlined
def exp_minus(a):
    """exp(-a) for a >= 0 to 1e-14 relative: 2^-m e^r with |r| <= log(2) / 2, for which the terms of
    the series beyond r^13 are below 1e-17. Unlike math.exp it is inlined, so that loops over rows
    use vector units: 3 times faster.
    """
    capped = a if a < 745.0 else 745.0
    m = math.floor(capped * LOG2E + 0.5)
    r = (m * LN2_HIGH - capped) + m * LN2_LOW
    t = SERIES[12] + r * SERIES[13]
    t = SERIES[11] + r * t
    t = SERIES[10] + r * t
    t = SERIES[9] + r * t
    t = SERIES[8] + r * t
    t = SERIES[7] + r * t
    t = SERIES[6] + r * t
    t = SERIES[5] + r * t
    t = SERIES[4] + r * t
    t = SERIES[3] + r * t
    t = SERIES[2] + r * t
    t = 1.0 + r * t
    t = (1.0 + r * t) * HALVES[int(m)]
    return t if a == a else a


@njit_inlined
def exponential(x):
    """exp(x) to 1e-14 relative, inlined as `exp_minus`."""
    e = exp_minus(abs(x))
    return 1.0 / e if x > 0.0 else e


@njit_inlined
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


@njit_inlined
def entropy_rise(u):
    """At least (1 + u) log(1 + u) - u for u >= -1, to third order and without a logarithm: log(1 +
    u) <= u (6 + u) / (6 + 4 u) for u >= 0 and <= 2 u / (2 + u) for u <= 0 (Topsoe, RGMIA 7(2),
    2004).
    """
    return u * u * (3.0 + u) / (6.0 + 4.0 * u) if u >= 0.0 else u * u / (2.0 + u)


@njit_inlined
def binary_gap(share, d):
    """At least the divergence of the shares share + d, 1 - share - d of two classes from share, 1 -
    share; inf where they are no shares.
    """
    rest = 1.0 - share
    # share entropy_rise(d / share) + rest entropy_rise(-d / rest) as one fraction
    a, b = (share, rest) if d >= 0.0 else (rest, share)
    d = abs(d)
    if not (d <= b and a > 0.0):
        return math.inf
    high, low = a * (6.0 * a + 4.0 * d), 2.0 * b - d
    return d * d * ((3.0 * a + d) * low + high) / (high * low) if low > 0.0 else 0.0
