"""Least squares in rational numbers: values without any rounding, for columns that floating point
numbers hardly tell apart.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np


def values(X, Y, k, lambda2=0.0):
    """{set of k columns: 1/(2n) sum of squared residuals + lambda2 |b|^2}, with an intercept and
    columns as they are.
    """
    n, Y = len(X), np.asarray(Y, dtype=float).reshape(len(X), -1)
    Z = [_centered([Fraction(float(v)) for v in column]) for column in X.T]
    y = [_centered([Fraction(float(v)) for v in column]) for column in Y.T]
    dot = {(i, j): _dot(Z[i], Z[j]) / n for i in range(len(Z)) for j in range(i + 1)}
    q = [[_dot(z, one) / n for one in y] for z in Z]
    null = sum(_dot(one, one) for one in y) / n / 2
    out = {}
    for S in combinations(range(len(Z)), k):
        G = [[dot[max(i, j), min(i, j)] for j in S] for i in S]
        for i in range(k):
            G[i][i] += 2 * Fraction(lambda2)
        out[S] = float(null - _explained(G, [q[i] for i in S]) / 2)
    return out


def _centered(x):
    mean = sum(x) / len(x)
    return [v - mean for v in x]


def _dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def _explained(G, q):
    """Trace of q' inv(G) q, by elimination; columns that others explain add nothing."""
    k, total = len(G), Fraction(0)
    G, q = [row[:] for row in G], [row[:] for row in q]
    for i in range(k):
        if not G[i][i]:
            continue
        total += sum(v * v for v in q[i]) / G[i][i]
        for j in range(i + 1, k):
            f = G[j][i] / G[i][i]
            G[j] = [a - f * b for a, b in zip(G[j], G[i], strict=True)]
            q[j] = [a - f * b for a, b in zip(q[j], q[i], strict=True)]
    return total
