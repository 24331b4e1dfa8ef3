"""Upper bounds on the expected number of false choices of stability selection, from the number q
chosen on each half, the number p that compete, the threshold tau and the number B of complementary
pairs.

A column counts as false where its chance of being chosen from half of the rows is at most theta = q
/ p, as it is for noise that a procedure chooses no more often than at random.
Sources: Meinshausen & Buhlmann (JRSS B 72, 2010), Theorem 1; Shah & Samworth (JRSS B 75, 2013),
    Theorems 1 and 2 and equations (7) and (8).
"""

import math

import numpy as np


def worst_case(q, p, tau):
    """q^2 / ((2 tau - 1) p), tau > 1/2: Meinshausen & Buhlmann (2010), Theorem 1; with
    complementary pairs for every B (Shah & Samworth 2013, Theorem 1, theta = q / p).
    """
    return q * q / ((2.0 * tau - 1.0) * p)


def unimodal(q, p, tau, pairs):
    """C q^2 / p, C = 1 / (2 (2 tau - 1 - 1/(2B))) up to tau = 3/4 and 4 (1 - tau + 1/(2B)) / (1 +
    1/B) beyond: Shah & Samworth (2013), Theorem 2.

    It takes the share of pairs in which both halves choose a column to be unimodal, theta <=
    1/sqrt(3) and tau > min(1/2 + theta^2, 1/2 + 1/(2B) + 3 theta^2 / 4); inf where these fail.
    """
    theta, tau = q / p, on_grid(tau, pairs)
    if (
        theta > 1.0 / math.sqrt(3.0)
        or tau <= min(0.5 + theta**2, 0.5 + 0.5 / pairs + 0.75 * theta**2)
        or tau < 0.5 + 1.0 / pairs - 1e-12
    ):
        return math.inf
    constant = (
        0.5 / (2.0 * tau - 1.0 - 0.5 / pairs)
        if tau <= 0.75
        else 4.0 * (1.0 - tau + 0.5 / pairs) / (1.0 + 1.0 / pairs)
    )
    return constant * q * q / p


def r_concave(q, p, tau, pairs):
    """p min(D(theta^2, 2 tau - 1, B, -1/2), D(theta, tau, 2B, -1/4)): Shah & Samworth (2013),
    equation (8).

    It takes the share of pairs in which both halves choose a column to be -1/2-concave, and the
    share of halves that do to be -1/4-concave.
    """
    theta, tau = q / p, on_grid(tau, pairs)
    return p * min(
        1.0,
        largest_tail(theta**2, 2.0 * tau - 1.0, pairs, -0.5),
        largest_tail(theta, tau, 2 * pairs, -0.25),
    )


def on_grid(tau, pairs):
    """The least multiple of 1/(2B) that is no smaller than tau: frequencies are such multiples."""
    return math.ceil(round(2 * pairs * tau, 9)) / (2 * pairs)


def largest_tail(mean, t, B, r):
    """D(mean, t, B, r): the largest P(X >= t) of r-concave distributions on {0, 1/B, ..., 1} with E
    X <= mean (Shah & Samworth 2013, equation (7) and appendix A.4), r < 0.

    The extremes have probabilities proportional to (a + i)^(1/r) at i/B, i = 0..l, and what the
    mean asks for, at most as much as the same formula gives, at (l + 1)/B.
    """
    from scipy.optimize import brentq, minimize_scalar

    goal, at, s = mean * B, math.ceil(round(t * B, 9)), 1.0 / r
    first = math.ceil(round(2.0 * goal, 9)) + 1
    if at < first or first > B:
        return 1.0
    if goal == 0.0:
        return 0.0

    def shape(log_a, last):
        return (1.0 + np.arange(last + 1) * math.exp(-log_a)) ** s

    def excess(log_a, last):
        f = shape(log_a, last)
        return np.arange(last + 1) @ f / f.sum() - goal

    def below(log_a, last):
        f = shape(log_a, last)
        return (last + 1 - goal) * f[:at].sum() / ((last + 1 - np.arange(last + 1)) @ f)

    first = max(first, at - 1)  # shorter ones do not reach t
    ends = [brentq(excess, -40.0, 40.0, args=(last,), xtol=1e-10) for last in range(first, B + 1)]
    least = below(ends[-1], B)
    for last, high, low in zip(range(first, B), ends, ends[1:], strict=False):
        inner = (
            minimize_scalar(
                below, bounds=(low, high), args=(last,), method="bounded", options={"xatol": 1e-9}
            )
            if high - low > 1e-9
            else None
        )
        least = min(least, below(low, last), below(high, last), 1.0 if inner is None else inner.fun)
    return float(min(max(1.0 - least, 0.0), 1.0))


def expected_false(q, p, tau, pairs):
    """The bounds by name."""
    return {
        "worst_case": worst_case(q, p, tau),
        "unimodal": unimodal(q, p, tau, pairs),
        "r_concave": r_concave(q, p, tau, pairs),
    }
