"""Small dense linear algebra for kernels, by plain loops: numpy.linalg inside a kernel costs
seconds of compiling at first use.
"""

import math

from ..core.dispatch import njit

# a column keeps less than this share of its squared length outside the support: it counts as a
# combination of it. Without lambda1 and box it cannot improve a model with that support; with them
# it can (`dependent` in kernels), and is ranked by the step of its coefficient alone
COLLINEAR = 1e-9


@njit
def cholesky(A, k):
    """Replace the lower triangle of A[:k, :k] by its Cholesky factor; returns the number of pivots
    that were not clearly positive (these rows are made inert).
    """
    weak = 0
    for i in range(k):
        diagonal = A[i, i]
        for j in range(i):
            t = A[i, j]
            for l in range(j):
                t -= A[i, l] * A[j, l]
            A[i, j] = t / A[j, j]
        t = A[i, i]
        for l in range(i):
            t -= A[i, l] * A[i, l]
        if t <= 1e-13 * diagonal or not t > 0.0:
            weak += 1
            t = 1e300  # the row's unknown becomes zero
        A[i, i] = math.sqrt(t)
    return weak


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
def invert(A, k, B):
    """B[:k, :k] = inverse of the symmetric positive definite A[:k, :k]; A is overwritten. Returns
    the number of weak pivots.
    """
    weak = cholesky(A, k)
    for j in range(k):  # rows of inv(L), kept in B's lower triangle: B[i, j] = inv(L)[i, j]
        B[j, j] = 1.0 / A[j, j]
    for i in range(k):
        for j in range(i):
            t = 0.0
            for l in range(j, i):
                t += A[i, l] * B[l, j]
            B[i, j] = -t / A[i, i]
    for i in range(k):  # inverse = inv(L)' inv(L): A is free now and takes the sum
        for j in range(i + 1):
            A[i, j] = 0.0
    for l in range(k):
        for i in range(l + 1):
            t = B[l, i]
            for j in range(i + 1):
                A[i, j] += t * B[l, j]
    for i in range(k):
        for j in range(i + 1):
            B[i, j] = A[i, j]
            B[j, i] = A[i, j]
    return weak
