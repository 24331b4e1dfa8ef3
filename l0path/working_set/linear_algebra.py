"""Small dense linear algebra and weighted products of columns for kernels, by plain loops:
numpy.linalg inside a kernel costs seconds of compiling at first use.
"""

import math

import numpy as np

from ..compiled import part
from ..core.dispatch import njit
from ..problem.verbs import coupling_of_rows, hessian_of_rows, rank_of

# a column keeps less than this share of its squared length outside the support: it counts as a
# combination of it. Without lambda1 and box it cannot improve a model with that support; with them
# it can (`dependent` in kernels), and is ranked by the step of its coefficient alone
COLLINEAR = 1e-9
WEAK = 1e-13  # of a diagonal entry: a smaller pivot is rounding
SAFE_RIDGE = 1e-10  # of a diagonal entry: with it dependent columns have an inverse
NO_CURVATURE = 1e-20  # of the mean diagonal entry


@njit
def cholesky(A, k):
    """Replace the lower triangle of A[:k, :k] by its Cholesky factor, four rows at a time; returns
    the number of pivots that were not clearly positive (these rows are made inert).
    """
    weak, fours = 0, k - k % 4
    for i in range(0, fours, 4):
        for j in range(i):
            t0, t1, t2, t3 = A[i, j], A[i + 1, j], A[i + 2, j], A[i + 3, j]
            for l in range(j):
                t0 -= A[i, l] * A[j, l]
                t1 -= A[i + 1, l] * A[j, l]
                t2 -= A[i + 2, l] * A[j, l]
                t3 -= A[i + 3, l] * A[j, l]
            inverse = 1.0 / A[j, j]
            A[i, j], A[i + 1, j], A[i + 2, j], A[i + 3, j] = (
                t0 * inverse,
                t1 * inverse,
                t2 * inverse,
                t3 * inverse,
            )
        for row in range(i, i + 4):
            weak += _factor_row(A, row, i)
    for row in range(fours, k):
        weak += _factor_row(A, row, 0)
    return weak


@njit
def _factor_row(A, i, first):
    """Row i of the Cholesky factor from column `first` on; whether its pivot is weak."""
    diagonal = A[i, i]
    for j in range(first, i):
        t = A[i, j]
        for l in range(j):
            t -= A[i, l] * A[j, l]
        A[i, j] = t / A[j, j]
    t = A[i, i]
    for l in range(i):
        t -= A[i, l] * A[i, l]
    weak = t <= WEAK * diagonal or not t > 0.0
    A[i, i] = math.sqrt(1e300 if weak else t)  # the unknown of a weak row becomes zero
    return 1 if weak else 0


@njit
def cholesky_solve(L, k, x):
    """Solve L L' x = rhs in place; L from `cholesky`."""
    for i in range(k):
        t = x[i]
        for l in range(i):
            t -= L[i, l] * x[l]
        x[i] = t / L[i, i]
    for i in range(k - 1, -1, -1):
        t = x[i] / L[i, i]
        x[i] = t
        for l in range(i):  # row-wise, so that L is read along its rows
            x[l] -= t * L[i, l]
    return x


@njit
def subtract_rows(G, J, b, c):
    """Take b_j times row j of G off c (w,), j in J: four rows at a time, as slices, for an index
    that might be negative would keep the loops from vector units.
    """
    fours = J.size - J.size % 4
    for i in range(0, fours, 4):
        b0, b1, b2, b3 = b[J[i]], b[J[i + 1]], b[J[i + 2]], b[J[i + 3]]
        G0, G1, G2, G3 = G[J[i]], G[J[i + 1]], G[J[i + 2]], G[J[i + 3]]
        for j in range(c.size):
            c[j] -= b0 * G0[j] + b1 * G1[j] + b2 * G2[j] + b3 * G3[j]
    for i in range(fours, J.size):
        b0, G0 = b[J[i]], G[J[i]]
        for j in range(c.size):
            c[j] -= b0 * G0[j]


@njit
def invert(A, k, B):
    """B[:k, :k] = inverse of the symmetric positive definite A[:k, :k]; A is overwritten. Returns
    the number of weak pivots.
    """
    weak = cholesky(A, k)
    invert_factor(A, k, B)
    return weak


@njit
def invert_with_ridge(H, k, B):
    """`invert` for columns that may be dependent: each diagonal entry grows by SAFE_RIDGE of
    itself, for columns may be of any size, and of next to nothing where there is no curvature.
    """
    mean = 0.0
    for i in range(k):
        mean += H[i, i] / k
    for i in range(k):
        H[i, i] += SAFE_RIDGE * (max(H[i, i], 0.0) + NO_CURVATURE * mean) + 1e-300
    invert(H, k, B)


@njit
def invert_factor(L, k, B):
    """B[:k, :k] = inverse of L L' of the lower triangle of L[:k, :k], which is overwritten."""
    for i in range(k):  # rows of inv(L), kept in B's lower triangle: B[i, j] = inv(L)[i, j]
        for j in range(i):
            B[i, j] = 0.0
        for l in range(i):
            t = L[i, l]
            for j in range(l + 1):
                B[i, j] += t * B[l, j]
        for j in range(i):
            B[i, j] /= -L[i, i]
        B[i, i] = 1.0 / L[i, i]
    for i in range(k):  # inverse = inv(L)' inv(L): L is free now and takes the sum
        for j in range(i + 1):
            L[i, j] = 0.0
    for l in range(k):
        for i in range(l + 1):
            t = B[l, i]
            for j in range(i + 1):
                L[i, j] += t * B[l, j]
    for i in range(k):
        for j in range(i + 1):
            B[i, j] = L[i, j]
            B[j, i] = L[i, j]


@njit
def predictor(Z, S, b, b0, offset, eta):
    """eta = offset + b0 + sum_s b_s z_s; Z (w, n) has a working column per row."""
    for i in range(eta.size):
        eta[i] = offset[i] + b0
    add_columns(Z, S, b, eta)


@njit
def add_columns(Z, S, b, eta):
    """eta += sum_s b_s z_s, four columns at a time: eta is then read and written a quarter as
    often.
    """
    k, n = b.size, eta.size
    fours = k - k % 4
    for a in range(0, fours, 4):
        z0, z1, z2, z3 = Z[S[a]], Z[S[a + 1]], Z[S[a + 2]], Z[S[a + 3]]
        x0, x1, x2, x3 = b[a], b[a + 1], b[a + 2], b[a + 3]
        for i in range(n):
            eta[i] += x0 * z0[i] + x1 * z1[i] + x2 * z2[i] + x3 * z3[i]
    for a in range(fours, k):
        z, x = Z[S[a]], b[a]
        for i in range(n):
            eta[i] += x * z[i]


@njit
def products(Z, S, slopes, out):
    """out_s = z_s'slopes for the columns S (k,), four at a time."""
    k, n = S.size, slopes.size
    fours = k - k % 4
    for a in range(0, fours, 4):
        z0, z1, z2, z3 = Z[S[a]], Z[S[a + 1]], Z[S[a + 2]], Z[S[a + 3]]
        t0 = t1 = t2 = t3 = 0.0
        for i in range(n):
            t = slopes[i]
            t0 += t * z0[i]
            t1 += t * z1[i]
            t2 += t * z2[i]
            t3 += t * z3[i]
        out[a], out[a + 1], out[a + 2], out[a + 3] = t0, t1, t2, t3
    for a in range(fours, k):
        z, t = Z[S[a]], 0.0
        for i in range(n):
            t += slopes[i] * z[i]
        out[a] = t


@njit
def weighted_gram(Z, S, v, H, h0, work):
    """H[a, c] = sum_i v_i z_ai z_ci (both triangles), h0[a] = sum_i v_i z_ai; returns sum v. Where
    most v are zero (hinges) the other rows are gathered first.
    """
    k, n, total, curved = S.size, v.size, 0.0, 0
    for i in range(n):
        total += v[i]
        curved += v[i] != 0.0
    if 2 * curved >= n:
        _fill_gram(Z, S, v, H, h0, work)
        return total
    rows, few, weights, every = (
        np.empty(curved, np.int64),
        np.empty((k, curved)),
        np.empty(curved),
        np.empty(k, np.int64),
    )
    at = 0
    for i in range(n):
        if v[i] != 0.0:
            rows[at], weights[at] = i, v[i]
            at += 1
    for a in range(k):
        every[a] = a
        z, out = Z[S[a]], few[a]
        for i in range(curved):
            out[i] = z[rows[i]]
    _fill_gram(few, every, weights, H, h0, part(work, 0, curved))
    return total


@njit
def _fill_gram(Z, S, v, H, h0, work):
    """The sums of `weighted_gram` over all rows."""
    k, n, other = S.size, v.size, np.empty(v.size)
    for a in range(0, k, 2):  # two rows of H at a time, the last one twice where k is odd
        b = min(a + 1, k - 1)
        za, zb, ta, tb = Z[S[a]], Z[S[b]], 0.0, 0.0
        for i in range(n):
            work[i], other[i] = v[i] * za[i], v[i] * zb[i]
            ta += work[i]
            tb += other[i]
        h0[a], h0[b] = ta, tb
        for c in range(0, b + 1, 4):  # four columns at a time, b again where there are fewer
            c1, c2, c3 = min(c + 1, b), min(c + 2, b), min(c + 3, b)
            z0, z1, z2, z3 = Z[S[c]], Z[S[c1]], Z[S[c2]], Z[S[c3]]
            t0 = t1 = t2 = t3 = u0 = u1 = u2 = u3 = 0.0
            for i in range(n):
                t, u = work[i], other[i]
                t0 += t * z0[i]
                t1 += t * z1[i]
                t2 += t * z2[i]
                t3 += t * z3[i]
                u0 += u * z0[i]
                u1 += u * z1[i]
                u2 += u * z2[i]
                u3 += u * z3[i]
            H[a, c], H[a, c1], H[a, c2], H[a, c3] = t0, t1, t2, t3
            H[b, c], H[b, c1], H[b, c2], H[b, c3] = u0, u1, u2, u3
    for a in range(k):
        for c in range(a):
            H[c, a] = H[a, c]


@njit
def couple(rows, S, eta, H):
    """Make H (k, k) of the columns S by v that of a coupled loss at eta (n,); rows: a
    `newton.LossRows`.
    """
    if rank_of(rows.loss) > 0:
        _less_coupling(rows, S, eta, H)
    hessian_of_rows(rows.loss, rows.y, rows.weights, rows.Z, S, eta, H)


@njit
def _less_coupling(rows, S, eta, H):
    """Take off H (k, k) what a coupled loss does at eta (n,): P P' of the columns S."""
    k, n = S.size, eta.size
    Z, P = np.empty((k, n)), np.empty((k, rank_of(rows.loss)))
    for a in range(k):
        copy(rows.Z[S[a]], Z[a])
    coupling_of_rows(rows.loss, rows.y, eta, rows.weights, Z, P)
    for a in range(k):
        for c in range(a + 1):
            t = 0.0
            for l in range(P.shape[1]):
                t += P[a, l] * P[c, l]
            H[a, c] -= t
            if c < a:
                H[c, a] -= t


@njit
def weighted_squares(Z, v, centered, out):
    """out_j = sum_i v_i z_ji^2, less (sum_i v_i z_ji)^2 / sum v where `centered`; Z (w, n), v (n,),
    out (w,).
    """
    total = 0.0
    for i in range(v.size):
        total += v[i]
    for j in range(out.size):
        z = Z[j]
        first, second = 0.0, 0.0
        for i in range(v.size):
            t = v[i] * z[i]
            first += t
            second += t * z[i]
        out[j] = second - first * first / total if centered and total > 0.0 else second


@njit
def weighted_square(z, weights):
    """sum_i w_i z_i^2."""
    t = 0.0
    for i in range(z.size):
        t += weights[i] * z[i] * z[i]
    return t


@njit
def copy(source, target):
    """target = source, both of the same length: numba's own assignment of an array compiles
    messages about shapes.
    """
    for i in range(target.size):
        target[i] = source[i]


@njit
def filled(size, value):
    """A vector of that size, every entry `value`."""
    out = np.empty(size)
    for i in range(size):
        out[i] = value
    return out


@njit
def rounding(n):
    """Error of F relative to what it is summed from: of one operation, and of a sum of n terms.

    Equal terms round alike: with S a power of 2, those added between S / 2 and S err by at most
    2^-54 S each and are half of all, those before err half as much; 2^-55 n / (1 - 1/4) in all.
    Vector units sum in 2 to 8 parts, which divides this; but a narrow one leaves a loss that calls
    exp and log in one part, where 2.8e-17 n was measured at n = 50,000.
    """
    return 1e-15 + 4e-17 * n
