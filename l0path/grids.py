"""Grids: lambda1 and lambda2 by default, and lambda0 from the lower convex hull of (size,
objective).
"""

import itertools

import numpy as np


def shrink_grid(top, count):
    """`count` values from top down to 1e-4 top, geometric (ours start at the loss's curvature, so
    that the largest halves the coefficients or more).
    """
    return top * np.geomspace(1.0, 1e-4, count) if count > 1 else np.array([top])


def hull(x, F):
    """Lower convex hull of the points (x_i, F_i) towards larger x: list of (i, low, high) with the
    lambda0 interval in which point i minimises F + lambda0 x.

    Intervals are [low, high), adjoining, the first with high = inf; the last point's low is 0.
    Points that no lambda0 picks are left out.
    """
    order = sorted(range(len(x)), key=lambda i: (x[i], F[i]))
    chain = []
    for i in order:
        if chain and x[i] == x[chain[-1]]:
            continue
        while len(chain) >= 2:
            a, b = chain[-2], chain[-1]
            # b lies on or above the line from a to i
            if (F[b] - F[a]) * (x[i] - x[a]) >= (F[i] - F[a]) * (x[b] - x[a]):
                chain.pop()
            else:
                break
        if chain and F[i] >= F[chain[-1]]:
            continue
        chain.append(i)
    edges = [np.inf, *((F[a] - F[b]) / (x[b] - x[a]) for a, b in itertools.pairwise(chain)), 0.0]
    return [(i, float(edges[t + 1]), float(edges[t])) for t, i in enumerate(chain)]


def hull_grid(intervals, count):
    """Dynamic lambda0 values for hull intervals: the end of the null interval, then 1 % below each
    value at which the support changes (inside the next interval).
    """
    values = [intervals[0][1] if intervals[0][1] > 0 else 1.0]
    for _, low, high in intervals[1:]:
        values.append(
            0.99 * high if 0.99 * high > low else np.sqrt(low * high) if low > 0 else 0.5 * high
        )
    return np.array(values[:count])
