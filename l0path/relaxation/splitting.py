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
    get_blas_funcs,
    get_lapack_funcs,
)

from ..core.threads import one_blas_thread

# share of the largest multiple that is taken: what is left keeps rounding out of the tangents
SPLIT_SHARE = 0.98
WHOLE_SPECTRUM = 400  # columns up to which all eigenvalues are computed for the least one
LANCZOS_STEPS = 20
FEW_STEPS = 6  # of them for the order of magnitude of a largest eigenvalue
TRIED_SHARE = 0.98  # of a least eigenvalue from above: what is tried first, and again from there
TRIALS = 5
REFINED = 6  # steps of refinement of a fit with a ridge
MOST_SPLIT = 4000  # columns up to which the Gram matrix is factorised


class GramMatrix:
    """Z'diag(w)Z of the usable columns of a problem: computed once, and cut for later problems
    that have a part of these columns. factor: R with G = R'R, once it was asked for.
    """

    def __init__(self):
        self.J, self.G, self.factor = np.empty(0, dtype=np.int64), np.empty((0, 0)), None

    def of(self, problem):
        """The matrix of the usable columns of a problem; not to be written to."""
        J = np.flatnonzero(problem.usable)
        if J.size != self.J.size or (J != self.J).any():
            at = np.searchsorted(self.J, J)
            if self.J.size and at.max(initial=0) < self.J.size and (self.J[at] == J).all():
                self.G = self.G[np.ix_(at, at)]
            else:
                A = np.sqrt(problem.weights)[:, None] * problem.X.columns(J)
                self.G = A.T @ A  # one array twice, so that half of the product is computed
            self.J, self.factor = J, None
        return self.G

    def factored(self, problem):
        """R of the usable columns; a LinAlgError where they are dependent."""
        G = self.of(problem)
        if self.factor is None:
            self.factor = cholesky(G.T, check_finite=False)
        return self.factor


def split(problem, largest=MOST_SPLIT, gram=None):
    """d (p,) > 0 on usable columns with G - diag(d) positive definite, G = Z'diag(w)Z; None where
    there is none, or not safely: p >= n, a singular G, another loss, more than `largest` columns.

    ||y - Zb||^2 / 2 = sum d b^2 / 2 + a convex function, so d / 2 joins the ridge and the
    perspective of the sum is tighter (Frangioni & Gentile 2007; Zheng, Sun & Li 2014). d = t /
    diag(inv(G)), t the least eigenvalue of G scaled by these: of the diagonals tried it gave the
    best bounds, ahead of lambda_min(G) for all columns, and of the largest sum of d, by a barrier
    method, which leaves some columns nothing. gram: a `GramMatrix` that keeps G, None to keep none.
    """
    J = np.flatnonzero(problem.usable)
    if not problem.quadratic or not 0 < J.size < problem.X.n or J.size > largest:
        return None
    gram = GramMatrix() if gram is None else gram
    G = gram.of(problem)
    with one_blas_thread():  # threads of a factorisation wait for each other at every column
        return _split(problem, gram, G, J)


def _split(problem, gram, G, J):
    try:
        R = gram.factored(problem)
    except LinAlgError:
        return None
    inverse = get_lapack_funcs("trtri", (R,))(R)[0]
    root = 1.0 / np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    t = _least(G, root) if J.size <= WHOLE_SPECTRUM else _least_of_many(G, inverse, root)
    if not t > 0.0:
        return None
    d = np.zeros(problem.X.p)
    d[J] = SPLIT_SHARE * t * root**2
    return d


def _least(G, root):
    """Least eigenvalue of G / (root root'), 0 where it is not safely positive."""
    spectrum = eigvalsh(G / np.multiply.outer(root, root))
    return spectrum[0] if spectrum[0] > 1e-9 * spectrum[-1] else 0.0


def _least_of_many(G, inverse, root):
    """The same from below, to a few percent, without the whole spectrum: Lanczos steps with the
    inverse factor R^-1 of G = R'R, and a factorisation that proves what they found.
    """
    half = get_blas_funcs("trmv", (inverse,))
    t = 1.0 / _largest(
        lambda x: root * half(inverse, half(inverse, root * x, trans=1)), root.size, LANCZOS_STEPS
    )
    most = _largest(lambda x: (G @ (x / root)) / root, root.size, FEW_STEPS)
    for _ in range(TRIALS):
        t *= TRIED_SHARE
        H = G.copy().T  # in the order that LAPACK overwrites
        H[np.diag_indices_from(H)] -= t * root**2
        try:
            cholesky(H, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return t if t > 1e-9 * most else 0.0
    return _least(G, root)


def _largest(product, size, steps):
    """The largest eigenvalue of a symmetric matrix, from below, by Lanczos steps; product: with
    a vector.
    """
    V, along, beside = np.zeros((steps, size)), [], []
    v = np.random.default_rng(0).standard_normal(size)
    for i in range(steps):
        V[i] = v / np.linalg.norm(v)
        v = product(V[i])
        along.append(float(v @ V[i]))
        for _ in range(2):
            v -= V[: i + 1].T @ (V[: i + 1] @ v)
        beside.append(float(np.linalg.norm(v)))
    return eigvalsh_tridiagonal(along, beside[:-1])[-1]


def least_squares(problem, lambda2=0.0, gram=None):
    """(columns, b): the fit of a squared loss + lambda2 ||b||^2 on all usable columns, whose Gram
    matrix must be positive definite, as it is where there is a `split`; gram: as there.

    A dual point to start from: its bound for k = p is the optimum, and no size's bound need be
    below that.
    """
    J, gram = np.flatnonzero(problem.usable), GramMatrix() if gram is None else gram
    G, q = gram.of(problem), problem.X.correlate(problem.weights * problem.y)[J]
    with one_blas_thread():
        R = gram.factored(problem)
        b = cho_solve((R, False), q, check_finite=False)
        for _ in range(REFINED if lambda2 else 0):  # a small ridge needs no factor of its own
            r = q - G @ b - 2.0 * lambda2 * b
            if np.abs(r).max() <= 1e-10 * np.abs(q).max():
                return J, b
            b += cho_solve((R, False), r, check_finite=False)
        if lambda2:
            H = G.copy().T
            H[np.diag_indices(J.size)] += 2.0 * lambda2
            R = cholesky(H, overwrite_a=True, check_finite=False)
            b = cho_solve((R, False), q, check_finite=False)
    return J, b
