"""Columns that are linear combinations of others, exactly or nearly: their names for messages (as
R's `alias` and leaps' "linear dependencies found" give them), and fits that rounding of Gram
matrices would spoil.
"""

import numpy as np
from scipy.linalg import lapack

from ..core.status import FitStatus

# length of what earlier columns leave of a unit column, below which it is named
NEARLY_DEPENDENT = 1e-4
LEAST_SHARE = 1e-6  # of the largest coefficient: columns below it take no part in a combination
# least eigenvalue of a correlation matrix below which a fit is made from the rows: the rounding of
# normal equations is multiplied by its inverse
LEAST_EIGENVALUE = 1e-5
# of y'y / 2: values below have lost half of their digits
LOST = 1e-8
# shares of its square, and of its length, that a column keeps beside others which explain it
EXPLAINED, EXPLAINED_LENGTH = 1e-13, 1e-14
INDEPENDENT = 1e-13  # least singular value, of unit columns in rows of unit size, above rounding
STAYS = 1e-9  # change of a predictor, of its length, that is none
LOOKING = 2e10  # n p^2 up to which combinations are looked for


# of its length that a column keeps beside others, below which Gram matrices do not tell it from a
# combination of these, though the column itself does
HIDDEN = 1e-6


def dependent(problem, between=(0.0, NEARLY_DEPENDENT)):
    """[(column, [earlier columns that it is a combination of])] of the usable columns of a problem,
    in the order of the columns; [] where X is too large to look.

    between: lengths of what the earlier columns leave of a unit column, for a column to be named.
    """
    J = np.flatnonzero(problem.usable)
    n = problem.X.n
    if n * float(J.size) ** 2 > LOOKING:
        return []
    Q, kept, out = np.empty((n, min(n, J.size)), order="F"), [], []
    A = np.sqrt(problem.weights)[:, None] * problem.X.columns(J)
    A /= np.sqrt((A**2).sum(axis=0))
    for i in range(J.size):
        basis = Q[:, : len(kept)]
        residual = A[:, i] - basis @ (basis.T @ A[:, i])
        residual -= basis @ (basis.T @ residual)
        length = float(np.sqrt(residual @ residual))
        if length <= between[1] or len(kept) == Q.shape[1]:
            if between[0] and length <= between[0]:
                continue  # too short to be named, whatever the combination
            b = np.linalg.lstsq(A[:, kept], A[:, i], rcond=None)[0]
            part = np.abs(b) > LEAST_SHARE * np.abs(b).max(initial=0.0)
            if between[0] * (1.0 + np.abs(b).sum()) < length or not between[0]:
                out.append((int(J[i]), [int(J[kept[t]]) for t in np.flatnonzero(part)]))
        else:
            Q[:, len(kept)] = residual / length
            kept.append(i)
    return out


def described(found, names, most=5):
    """The result of `dependent` as text with the names of the columns."""
    texts = []
    for j, of in found[:most]:
        shown = ", ".join(names[i] for i in of[:6]) + (", ..." if len(of) > 6 else "")
        texts.append(f"{names[j]} (of {shown})")
    return "; ".join(texts) + ("; ..." if len(found) > most else "")


def basic(problem, fit):
    """A fit without shrinkage and bounds in which columns that the earlier ones of its support
    explain have coefficients of 0, as R's NA; its predictor stays. Otherwise coefficients that are
    not 0 would be more than the rank of the columns. Near combinations are not explained: they are
    told from true ones on the rows, since a Gram matrix has the squares of the lengths only.
    """
    A = np.sqrt(problem.weights)[:, None] * problem.X.columns(fit.support)
    unit = 1.0 / np.sqrt(np.maximum((A**2).sum(axis=0), 1e-300))
    A *= unit
    rank = lapack.dpstrf(A.T @ A, tol=EXPLAINED, lower=1)[2] if unit.size else 0
    if rank == unit.size:
        return fit
    kept, rounding = [], max(2.0 * EXPLAINED_LENGTH, problem.rounding(fit.support))
    for j in range(unit.size):
        c = np.linalg.lstsq(A[:, kept], A[:, j], rcond=None)[0]
        left = float(np.linalg.norm(A[:, j] - A[:, kept] @ c))
        if left > (1.0 + np.abs(c).sum()) * rounding:
            kept.append(j)
    b, predictor = np.zeros_like(fit.b), A @ (fit.b.T / unit).T
    b[kept] = (np.linalg.lstsq(A[:, kept], predictor, rcond=None)[0].T * unit[kept]).T
    moved = np.linalg.norm(predictor - A[:, kept] @ (b[kept].T / unit[kept]).T)
    # large coefficients times what rounding has left of a column may be no small change
    return fit._replace(b=b) if moved <= STAYS * np.linalg.norm(predictor) else fit


def nearly_dependent(model, support, lambda2):
    """Whether the Gram matrix of a support, with the ridge, is so badly conditioned that fits are
    better made from the rows.
    """
    at = model.where[support]
    if at.size < 2:
        return False
    G = model.G[np.ix_(at, at)] + 2.0 * lambda2 * np.eye(at.size)
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(G), 1e-300))
    return bool(np.linalg.eigvalsh(G * np.outer(unit, unit))[0] <= LEAST_EIGENVALUE)


def from_rows(model, fit, lambda2):
    """A fit of a squared loss (without lambda1 and box) by least squares on the rows of X, which
    costs the root of the condition of its Gram matrix, where its columns are nearly dependent, its
    normal equations were not solved, or its value is what rounding has left of y'y; else the fit as
    it is. model: that has made it.
    """
    lost = fit.value < LOST * model.half_square
    if not (fit.flags or lost or nearly_dependent(model, fit.support, lambda2)):
        return fit
    problem, at = model.problem, model.where[fit.support]
    unit = 1.0 / np.sqrt(np.diagonal(model.G)[at] + 2.0 * lambda2)
    root, Y = np.sqrt(problem.weights), problem.y.reshape(problem.X.n, -1)
    A = np.vstack([root[:, None] * problem.X.columns(fit.support), np.zeros((at.size, at.size))])
    A[problem.X.n :] = np.sqrt(2.0 * lambda2) * np.eye(at.size)
    y = np.vstack([root[:, None] * Y, np.zeros((at.size, Y.shape[1]))])
    b, _, rank, _ = np.linalg.lstsq(A * unit, y, rcond=None)
    b = unit[:, None] * b
    residual = y - A @ b
    value = 0.5 * float(np.vdot(residual, residual))
    # least squares on the rows have a solution, whatever the normal equations came to
    lost = rank < at.size and _independent_in_rows(problem, fit.support, rank)
    flags = (FitStatus.NOT_CONVERGED,) if lost else ()
    return fit._replace(b=b.reshape(fit.b.shape), value=value, flags=flags)


def _independent_in_rows(problem, J, rank):
    """Whether more than `rank` of the columns J are independent where each row counts in its own
    size. Combinations stay combinations, up to rounding of each row; columns that differ in rows a
    million times smaller than others are none, though their differences are rounding of the large
    rows.
    """
    X, weights = problem.X, problem.weights
    A = X.design.columns(J)[slice(None) if X.rows is None else X.rows]
    A = np.column_stack([A, np.ones(len(A))] if problem.centered else [A])[weights > 0.0]
    A /= np.abs(A).max(axis=1, keepdims=True).clip(1e-300)
    A /= np.linalg.norm(A, axis=0).clip(1e-300)
    return np.linalg.matrix_rank(A, tol=INDEPENDENT) - int(problem.centered) > rank
