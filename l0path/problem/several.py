"""Several responses with one support: the squared loss, summed over the responses.

    minimize over (b0, b):  sum_r v_r [ sum_i w_i (y_ir - o_ir - b0_r - z_i'b_r)^2 / 2
                                        + lambda2 ||b_r||^2 ]  + lambda0 sum_j f_j [b_j != 0]

b (p, r) has a row for each column of X; a column is in the model where its row is not zero. The
weights v_r of the responses are square roots on Y, so the solvers see responses that all weigh the
same. Their objective depends on Y through Y Y' alone: an orthogonal rotation of the responses
changes nothing, and responses that are combinations of others become fewer.
"""

import numpy as np

from ..core.arguments import finite
from .verbs import mean_of_rows

# values of y beyond, or all below the inverse, are refused: their squares are summed
LARGEST_RESPONSE = 1e100
NO_RIDGE = 1e-200  # a lambda2 below it is none
LAST_DIGITS = 1e-14  # of the largest coefficient of a column: one that rounding alone tells from 0
LEAST_SINGULAR_VALUE = 1e-14  # of the largest: responses below it are combinations of others


def turned(Y, weights, response_weights, apart=False):
    """(Y' (n, q), turn (q, r)) of centered responses Y (n, r): those that the solvers see, and what
    brings their coefficients b (k, q) back, b @ turn. apart: whether each response stays itself.
    """
    root = np.sqrt(response_weights)
    Y = np.ascontiguousarray(Y * root)
    if apart:
        return Y, np.diag(1.0 / root)
    if not Y.any():
        return np.zeros((Y.shape[0], 1)), np.zeros((1, Y.shape[1]))
    _, size, V = np.linalg.svd(np.sqrt(weights)[:, None] * Y, full_matrices=False)
    kept = size > LEAST_SINGULAR_VALUE * max(Y.shape) * size[0]
    if kept.sum() == Y.shape[1]:
        return Y, np.diag(1.0 / root)
    return np.ascontiguousarray(Y @ V[kept].T), V[kept] / root


def summed_loss(loss, y, eta, weights, response_weights=None):
    """The mean loss of predictors eta, summed over the responses: y and eta (n,), or (n, r).

    Parameters
    ----------
    loss : record of `l0path.problem.losses`
    y, eta : ndarray of shape (n,) or (n, r)
    weights : ndarray of shape (n,)
        They sum to one.
    response_weights : ndarray of shape (r,), optional
        Those of several responses.

    Returns
    -------
    float
    """
    if y.ndim == 1:
        return mean_of_rows(loss, y, eta, weights)
    if loss.traits.by_class:
        seen = weights > 0.0
        return float(weights[seen] @ log_losses(y[seen], eta[seen]))
    parts = [
        mean_of_rows(loss, np.ascontiguousarray(one), np.ascontiguousarray(other), weights)
        for one, other in zip(y.T, eta.T, strict=True)
    ]
    return float(response_weights @ np.array(parts))


def parts(responses):
    """The number r of coefficients of a column: one, or one for each of several responses, or
    classes, by their names (None for one response).
    """
    return 1 if responses is None else len(responses)


def predictors(traits, responses):
    """The number q of coefficients of a column, or of predictors of a row, that are free under a
    loss with these traits: `parts`, or one less of classes.
    """
    return parts(responses) - traits.by_class


def offsets_of_responses(value, shape):
    """Offsets (n, r): one for each entry of y, or one for each row, which all responses share."""
    out = np.asarray(value, dtype=np.float64)
    if out.shape not in (shape, shape[:1], (shape[0], 1)):
        raise ValueError(
            f"offset has shape {out.shape}, y has {shape}: pass one offset per row, or one per "
            "entry of y"
        )
    out = finite(out.reshape(shape[0], -1), "offset")
    if np.abs(out).max(initial=0.0) > LARGEST_RESPONSE:
        raise ValueError("offset has values whose squares leave the range of numbers; rescale it")
    return np.ascontiguousarray(np.broadcast_to(out, shape))


def contrasts(r, baseline=False):
    """Rows (r - 1, r) that bring coefficients b (k, r - 1) to those of r classes, b @ contrasts(r).

    They are orthonormal and orthogonal to (1, ..., 1), so that coefficients sum to zero over the
    classes. baseline: those of the first class are 0 instead, and b are those of the others.
    """
    if baseline:
        return np.eye(r)[1:]
    T = np.zeros((r - 1, r))
    for a in range(1, r):
        T[a - 1, :a], T[a - 1, a] = 1.0, -a
        T[a - 1] /= np.sqrt(a * (a + 1.0))
    return T


def has_free_number(loss):
    """Whether a number may be added to the coefficients of all classes, which changes nothing but
    shrinkage.
    """
    return loss.traits.by_class and not loss.baseline


def centered(b, lambda1, lambda2):
    """Coefficients (k, r) of r classes that say the same as b (k, r), with the number added to all
    of a row that makes lambda1 ||b||_1 + lambda2 ||b||^2 least: their mean is 0 without lambda1,
    their median without lambda2.

    With a_c = -b_c and their mean m the number solves 2 lambda2 r (x - m) + lambda1 sum_c sign(x -
    a_c) = 0. It is the median of the r kinks a_c and of the r + 1 roots between them (Li & Osher,
    Inverse Problems and Imaging 3, 2009, section 2). Without lambda2 the root in the middle is
    left, the limit of smaller and smaller ridges.
    """
    b = b - b.mean(axis=1, keepdims=True)
    if not lambda1:
        return b
    k, r = b.shape
    roots = lambda1 * (r - 2.0 * np.arange(r + 1)) / (r * max(2.0 * lambda2, NO_RIDGE))
    b += np.median(np.hstack([-b, np.tile(roots, (k, 1))]), axis=1, keepdims=True)
    b[np.abs(b) <= LAST_DIGITS * np.abs(b).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    return b


def probabilities(eta):
    """Softmax of predictors over the last axis."""
    out = np.exp(eta - eta.max(axis=-1, keepdims=True))
    return out / out.sum(axis=-1, keepdims=True)


def log_losses(Y, eta):
    """-log P(class) of each row, for indicators Y and predictors eta (n, r)."""
    top = eta.max(axis=1)
    return top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - (Y * eta).sum(axis=1)


def indicators(codes, r):
    """(n, r) of 0 and 1 for class numbers (n,)."""
    return (np.asarray(codes)[:, None] == np.arange(r)).astype(np.float64)


def class_codes(y):
    """Class numbers (n,) of a response: 0 and 1 for -1 and 1, or columns of indicators."""
    return (y > 0).astype(np.int64) if y.ndim == 1 else y.argmax(axis=1)
