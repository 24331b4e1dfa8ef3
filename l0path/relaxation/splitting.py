"""A ridge taken out of the Gram matrix: for more rows than columns a squared loss has bounds
without ridge and without box.
"""

import contextlib

import numpy as np
from scipy.linalg import (
    LinAlgError,
    eigvalsh,
    eigvalsh_tridiagonal,
    get_blas_funcs,
    get_lapack_funcs,
)

from ..core.threads import one_blas_thread
from ..problem.problem import EPS

# share of the largest multiple that is taken: what is left keeps rounding out of the tangents
SPLIT_SHARE = 0.98
WHOLE_SPECTRUM = 400  # columns up to which all eigenvalues are computed for the least one
LANCZOS_STEPS = 20
FEW_STEPS = 6  # of them for the order of magnitude of a largest eigenvalue
TRIED_SHARE = 0.98  # of a least eigenvalue from above: what is tried first, and again from there
TRIALS = 5
REFINED = 8  # steps of refinement of a fit on all columns
# least eigenvalue of the scaled matrix, relative to its largest, below which a factor in single
# precision does not tell where it is
SINGLE = 1e-4
SHORTEST = 1e-20  # square of a column from which on, and up to its inverse, single precision serves
FEWEST_SPARSE = 1000  # with fewer columns the whole matrix takes little time
SUMMED_ROWS = 256  # of a block that is summed in single precision
FACTOR_ROWS = 256  # of a factor in single precision that are found together
COPIED_COLUMNS = 128  # at a time
LONG_LANCZOS = 40  # steps with the matrix itself, for its least eigenvalue
SHIFTS = (0.85, 0.65)  # of a least eigenvalue from above
ROUNDOFF = 2.0**-24  # of single precision
MOST_SPLIT = 4000  # columns up to which the Gram matrix is factorized


class GramMatrix:
    """Z'diag(w)Z of the usable columns of a problem: computed once, and cut for later problems
    that have a part of these columns. factor: R with G = R'R, once it was asked for, in single
    precision until it turned out too rough where there are many columns.
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
                A = problem.X.columns(J)
                A *= np.sqrt(problem.weights)[:, None]
                self.G = A.T @ A  # one array twice, so that half of the product is computed
            self.J, self.factor = J, None
        return self.G

    def factored(self, problem, rough=False):
        """R of the usable columns; a LinAlgError where they are dependent. rough: single precision
        is enough, where it does not find them dependent.
        """
        G = self.of(problem)
        small, large = G.diagonal().min(initial=1.0), G.diagonal().max(initial=1.0)
        if self.factor is None and rough and SHORTEST < small <= large < 1.0 / SHORTEST:
            with contextlib.suppress(LinAlgError):
                self.factor = _factor(G.T.astype(np.float32, order="F"))
        if self.factor is None or (self.factor.dtype == np.float32 and not rough):
            self.factor = _factor(G.T.copy(order="F"))
        return self.factor


def _factor(H):
    """R with H = R'R, in the place of H; a LinAlgError where H is not positive definite."""
    R, info = get_lapack_funcs("potrf", (H,))(H, lower=False, overwrite_a=True)
    if info != 0:
        raise LinAlgError(f"the leading minor of order {info} is not positive definite")
    return R


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
    with one_blas_thread():  # threads of a factorization wait for each other at every column
        return _split(problem, gram, G, J)


def _split(problem, gram, G, J):
    many, t = J.size > WHOLE_SPECTRUM, 0.0
    for rough in (True, False) if many else (False,):
        try:
            R = gram.factored(problem, rough)
        except LinAlgError:
            return None
        inverse = get_lapack_funcs("trtri", (R,))(R)[0]
        root = 1.0 / np.sqrt(np.einsum("ij,ij->i", inverse, inverse, dtype=np.float64))
        single = R.dtype == np.float32
        t = _least_of_many(G, inverse, root, SINGLE * single) if many else _least(G, root)
        if t > 0.0 or not single:
            break
    if not t > 0.0:
        return None
    d = np.zeros(problem.X.p)
    d[J] = SPLIT_SHARE * t * root**2
    return d


def _least(G, root):
    """Least eigenvalue of G / (root root'), 0 where it is not safely positive."""
    spectrum = eigvalsh(G / np.multiply.outer(root, root))
    return spectrum[0] if spectrum[0] > 1e-9 * spectrum[-1] else 0.0


def _least_of_many(G, inverse, root, share):
    """The same from below, to a few percent, without the whole spectrum: Lanczos steps with the
    inverse factor R^-1 of G = R'R, and a factorization that proves what they found. 0 where the
    least eigenvalue is below that share of the largest.
    """
    half = get_blas_funcs("trmv", (inverse,))
    t = (
        1.0
        / extremes(
            lambda x: root * half(inverse, half(inverse, root * x, trans=1)),
            root.size,
            LANCZOS_STEPS,
        )[1]
    )
    most = extremes(lambda x: (G @ (x / root)) / root, root.size, FEW_STEPS)[1]
    if not t > share * most:
        return 0.0
    for _ in range(TRIALS):
        t *= TRIED_SHARE
        H = G.copy().T  # in the order that LAPACK overwrites
        H[np.diag_indices_from(H)] -= t * root**2
        try:
            _factor(H)
        except LinAlgError:
            continue
        return t if t > 1e-9 * most else 0.0
    return 0.0 if share else _least(G, root)


def extremes(product, size, steps):
    """The least eigenvalue of a symmetric matrix, from above, and the largest one, from below, by
    at most so many Lanczos steps; product: with a vector.
    """
    V, along, beside = np.zeros((min(steps, size), size)), [], []
    v = np.random.default_rng(0).standard_normal(size)
    for i in range(V.shape[0]):
        V[i] = v / np.linalg.norm(v)
        v = product(V[i])
        along.append(float(v @ V[i]))
        for _ in range(2):
            v -= V[: i + 1].T @ (V[: i + 1] @ v)
        beside.append(float(np.linalg.norm(v)))
        if not beside[-1] > EPS * abs(along[-1]):  # the vectors span all that the start can reach
            break
    return eigvalsh_tridiagonal(along, beside[: len(along) - 1])[[0, -1]]


def least_squares(problem, lambda2=0.0, gram=None):
    """(columns, b): the fit of a squared loss + lambda2 ||b||^2 on all usable columns, whose Gram
    matrix must be positive definite, as it is where there is a `split`; gram: as there.

    A dual point to start from: its bound for k = p is the optimum, and no size's bound need be
    below that.
    """
    J, gram = np.flatnonzero(problem.usable), GramMatrix() if gram is None else gram
    G, q = gram.of(problem), problem.X.correlate(problem.weights * problem.y)[J]
    with one_blas_thread():
        b, R, before = np.zeros(J.size), gram.factored(problem, rough=True), np.inf
        for _ in range(REFINED):  # a small ridge needs no factor of its own
            r = q - G @ b - 2.0 * lambda2 * b
            left = np.abs(r).max(initial=0.0)
            if left <= 1e-10 * np.abs(q).max(initial=0.0):
                return J, b
            if not left < before:
                break  # a large one does, where columns are nearly dependent
            before = left
            b += _solved(R, r)
        H = G.copy().T
        H[np.diag_indices(J.size)] += 2.0 * lambda2
        return J, _solved(_factor(H), q)


def _solved(R, q):
    """x with R'R x = q."""
    return get_lapack_funcs("potrs", (R, q))(R, q.astype(R.dtype), lower=False)[0]


def sparse_split(problem, nonzero):
    """d (p,) > 0 on usable columns such that v'(G - diag(d))v >= 0 for all v with at most `nonzero`
    nonzero coefficients; None where there is none, or where `split` costs little. In single
    precision it takes half the time of `split`, whose diagonal serves all coefficients.

    The columns a_j of A have norm 1, and G is A'A summed in single precision, u its unit
    roundoff, over blocks of rows, so that m terms meet at most in an entry. In whatever order,

        |G - A'A| <= c |A|'|A|,  c = m u / (1 - m u),
        || |A| |v| || <= sum |v_j| <= sqrt(s) ||v||

    for v with s nonzero coefficients. So does R, the factor of G - t I, over blocks of its rows:
    |G - t I - R'R| <= c |R|'|R| (Higham 2002, theorem 10.3, where m counts all rows), and the
    columns of R have squares of at most max diag(G - t I) / (1 - c). Where there is such a factor,
    v'A'A v >= (t - s c - s c') ||v||^2 for all these v, and that much may be split off. Without
    s it would be p c, which leaves nothing. A tangent at u bounds the loss at b if that holds for
    v = b - u.
    """
    J = np.flatnonzero(problem.usable)
    if not problem.quadratic or not FEWEST_SPARSE < J.size < problem.X.n or J.size > MOST_SPLIT:
        return None
    with one_blas_thread():
        G, squares, terms = _single_gram(problem, J)
        # the factor's rows meet in blocks; with them come the shift, a root and a quotient
        factor_terms = FACTOR_ROWS + -(-J.size // FACTOR_ROWS) + 4
        slack = nonzero * (_gamma(terms) + 1.01 * _gamma(factor_terms)) + 4.0 * ROUNDOFF
        t = _least_of_single(G, slack) - slack
    if not t > 0.0:
        return None
    d = np.zeros(problem.X.p)
    d[J] = SPLIT_SHARE * t * squares
    return d


def _single_gram(problem, J):
    """(upper triangle of the Gram matrix of the columns J at norm 1, in single precision, their
    squares, terms that meet in an entry, conversion counted).
    """
    n, p, root = problem.X.n, J.size, np.sqrt(problem.weights)
    blocks = np.zeros((-(-n // SUMMED_ROWS), p, SUMMED_ROWS), dtype=np.float32)
    squares = np.empty(p)
    for start in range(0, p, COPIED_COLUMNS):
        part = problem.X.columns(J[start : start + COPIED_COLUMNS]).T
        part *= root
        square = np.einsum("ij,ij->i", part, part)
        part /= np.sqrt(square)[:, None]
        squares[start : start + COPIED_COLUMNS] = square
        for i, block in enumerate(blocks):
            rows = part[:, i * SUMMED_ROWS : (i + 1) * SUMMED_ROWS]
            block[start : start + COPIED_COLUMNS, : rows.shape[1]] = rows
    G = np.zeros((p, p), dtype=np.float32, order="F")
    syrk = get_blas_funcs("syrk", (G,))
    for block in blocks:
        G = syrk(1.0, block.T, beta=1.0, c=G, trans=True, overwrite_c=True)
    return G, squares, SUMMED_ROWS + len(blocks) + 4


def _gamma(terms):
    """The relative error of so many roundings in single precision."""
    return terms * ROUNDOFF / (1.0 - terms * ROUNDOFF)


def _least_of_single(G, slack):
    """t such that G - t I has a factor, a little below the least eigenvalue; 0 where none is found
    that exceeds the slack.
    """
    symv, size = get_blas_funcs("symv", (G,)), G.shape[0]
    above = extremes(lambda x: symv(1.0, G, x.astype(np.float32)), size, LONG_LANCZOS)[0]
    for share in SHIFTS:
        if not share * above > slack:
            break
        if _has_factor(G, share * above):
            return share * above
    return 0.0


def _has_factor(G, t):
    """Whether G - t I, of which the upper triangle is given in single precision, has a Cholesky
    factor there. Products are summed by blocks of rows of it, which keeps their errors small.
    """
    gemm, trsm = get_blas_funcs(("gemm", "trsm"), (G,))
    potrf, rows = get_lapack_funcs("potrf", (G,)), []
    for start in range(0, G.shape[0], FACTOR_ROWS):
        C = np.array(G[start : start + FACTOR_ROWS, start:], order="F")
        size = C.shape[0]
        C[np.diag_indices(size)] -= np.float32(t)
        for begin, R in rows:
            above = R[:, start - begin :]
            C = gemm(-1.0, above[:, :size], above, beta=1.0, c=C, trans_a=True, overwrite_c=True)
        corner, info = potrf(C[:, :size], lower=False)
        if info != 0 or not np.isfinite(corner.diagonal()).all():
            return False
        rows.append((start, trsm(1.0, corner, C, trans_a=True, overwrite_b=True)))
    return True
