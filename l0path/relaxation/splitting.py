"""A ridge taken out of the Gram matrix: for more rows than columns a squared loss has bounds
without ridge and without box.
"""

import numpy as np
from scipy.linalg import (
    LinAlgError,
    cho_solve,
    cholesky,
    eigvalsh,
    eigvalsh_tridiagonal,
    get_lapack_funcs,
)

# share of the largest multiple that is taken: what is left keeps rounding out of the tangents
SPLIT_SHARE = 0.98
WHOLE_SPECTRUM = 400  # columns up to which all eigenvalues are computed for the least one
LANCZOS_STEPS = 20
TRIED_SHARE = 0.98  # of a least eigenvalue from above: what is tried first, and again from there
TRIALS = 5
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
    G = _gram(problem, J)
    try:
        R = cholesky(G)
    except LinAlgError:
        return None
    inverse = get_lapack_funcs("trtri", (R,))(R)[0]
    root = 1.0 / np.sqrt((inverse**2).sum(axis=1))
    t = _least(G, root) if J.size <= WHOLE_SPECTRUM else _least_of_many(G, inverse, root)
    if not t > 0.0:
        return None
    d = np.zeros(problem.X.p)
    d[J] = SPLIT_SHARE * t * root**2
    return d


def _gram(problem, J):
    """Z'diag(w)Z of columns J."""
    A = np.sqrt(problem.weights)[:, None] * problem.X.columns(J)
    return A.T @ A  # one array twice, so that half of the product is computed


def _least(G, root):
    """Least eigenvalue of G / (root root'), 0 where it is not safely positive."""
    spectrum = eigvalsh(G / np.multiply.outer(root, root))
    return spectrum[0] if spectrum[0] > 1e-9 * spectrum[-1] else 0.0


def _least_of_many(G, inverse, root):
    """The same from below, to a few percent, without the whole spectrum: Lanczos steps with the
    inverse factor R^-1 of G = R'R, and a factorisation that proves what they found.
    """
    t = 1.0 / _largest(lambda x: root * (inverse @ (inverse.T @ (root * x))), root.size)
    most = _largest(lambda x: (G @ (x / root)) / root, root.size)
    for _ in range(TRIALS):
        t *= TRIED_SHARE
        H = G.copy()
        H[np.diag_indices_from(H)] -= t * root**2
        try:
            cholesky(H, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return t if t > 1e-9 * most else 0.0
    return _least(G, root)


def _largest(product, size):
    """The largest eigenvalue of a symmetric matrix, from below, by Lanczos steps; product: with
    a vector.
    """
    V, along, beside = np.zeros((LANCZOS_STEPS, size)), [], []
    v = np.random.default_rng(0).standard_normal(size)
    for i in range(LANCZOS_STEPS):
        V[i] = v / np.linalg.norm(v)
        v = product(V[i])
        along.append(float(v @ V[i]))
        for _ in range(2):
            v -= V[: i + 1].T @ (V[: i + 1] @ v)
        beside.append(float(np.linalg.norm(v)))
    return eigvalsh_tridiagonal(along, beside[:-1])[-1]


def least_squares(problem, lambda2=0.0):
    """(columns, b): the fit of a squared loss + lambda2 ||b||^2 on all usable columns, whose Gram
    matrix must be positive definite, as it is where there is a `split`.

    A dual point to start from: its bound for k = p is the optimum, and no size's bound need be
    below that.
    """
    J = np.flatnonzero(problem.usable)
    root = np.sqrt(problem.weights)
    A = root[:, None] * problem.X.columns(J)
    G = A.T @ A
    G[np.diag_indices(J.size)] += 2.0 * lambda2
    return J, cho_solve((cholesky(G, overwrite_a=True), False), A.T @ (root * problem.y))
