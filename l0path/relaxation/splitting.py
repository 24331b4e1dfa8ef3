"""A ridge taken out of the Gram matrix: for more rows than columns a squared loss has bounds
without ridge and without box.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigvalsh, solve_triangular

# share of the largest multiple that is taken: what is left keeps rounding out of the tangents
SPLIT_SHARE = 0.98
MOST_SPLIT = 4000  # columns up to which the Gram matrix is factorised


def split(problem, largest=MOST_SPLIT):
    """d (p,) > 0 on usable columns with G - diag(d) positive definite, G = Z'diag(w)Z; None where
    there is none, or not safely: p >= n, a singular G, another loss, more than `largest` columns.

    ||y - Zb||^2 / 2 = sum d b^2 / 2 + a convex function, so d / 2 joins the ridge and the
    perspective of the sum is tighter (Frangioni & Gentile 2007; Zheng, Sun & Li 2014). d = t /
    diag(inv(G)), t the least eigenvalue of G scaled by these: of the diagonals tried it gave the
    best bounds, ahead of lambda_min(G) for all columns, and of the largest sum of d, by a barrier
    method, which leaves some columns nothing.
    """
    J = np.flatnonzero(problem.usable)
    if not problem.quadratic or not 0 < J.size < problem.X.n or J.size > largest:
        return None
    Z = problem.X.columns(J)
    G = Z.T @ (problem.weights[:, None] * Z)
    try:
        R = cholesky(G)
        inverse = (solve_triangular(R, np.eye(J.size)) ** 2).sum(axis=1)
    except LinAlgError:
        return None
    root = np.sqrt(1.0 / inverse)
    spectrum = eigvalsh(G / np.multiply.outer(root, root))
    if not spectrum[0] > 1e-9 * spectrum[-1]:
        return None
    d = np.zeros(problem.X.p)
    d[J] = SPLIT_SHARE * spectrum[0] * root**2
    return d


def least_squares(problem, lambda2=0.0):
    """(columns, b): the fit of a squared loss + lambda2 ||b||^2 on all usable columns, whose Gram
    matrix must be positive definite, as it is where there is a `split`.

    A dual point to start from: its bound for k = p is the optimum, and no size's bound need be
    below that.
    """
    J = np.flatnonzero(problem.usable)
    Z = problem.X.columns(J)
    weighted = problem.weights[:, None] * Z
    G = weighted.T @ Z
    G[np.diag_indices(J.size)] += 2.0 * lambda2
    return J, cho_solve((cholesky(G), False), weighted.T @ problem.y)
