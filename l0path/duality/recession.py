"""Directions of coefficients along which a loss falls for ever."""

import numpy as np
from scipy.optimize import linprog

NO_STEP = 1e-6  # a coefficient of a direction below this share of the largest is 0


def separating(Z, y, intercept, lower, upper):
    """Which columns separate the classes quasi-completely (Albert & Anderson, Biometrika 71, 1984).

    A direction d of the coefficients and the intercept with y_i eta_i >= 0 on all observations and
    > 0 on some, eta_i = d0 + z_i'd, takes the logistic loss down for ever. Of these, scaled to
    sum_i y_i eta_i = n, the one of least sum |d_j| is taken, which uses few columns.

    Parameters
    ----------
    Z : ndarray of shape (k, n)
        Columns, one a row.
    y : ndarray of shape (n,)
        Classes, -1 and 1.
    intercept : bool
        Whether the direction may move the intercept.
    lower, upper : ndarray of shape (k,)
        Bounds; a finite one allows no step to its side.

    Returns
    -------
    ndarray of int
        Positions of the columns in Z, ascending; empty where there is no such direction.
    """
    k, n = Z.shape
    Z = Z / np.sqrt(np.mean(Z * Z, axis=1, keepdims=True))
    A = np.vstack([Z, -Z, np.ones((int(intercept), n))]).T * y[:, None]
    steps = [(0.0, None if np.isinf(bound) else 0.0) for bound in (*upper, *lower)]
    found = linprog(
        np.repeat([1.0, 0.0], [2 * k, int(intercept)]),
        A_ub=-A,
        b_ub=np.zeros(n),
        A_eq=A.sum(axis=0)[None, :],
        b_eq=[float(n)],
        bounds=steps + [(None, None)] * int(intercept),
    )
    if found.x is None:
        return np.empty(0, dtype=np.int64)
    d = np.abs(found.x[:k] - found.x[k : 2 * k])
    return np.flatnonzero(d > NO_STEP * d.max(initial=0.0))
