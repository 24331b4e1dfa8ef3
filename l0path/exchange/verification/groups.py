"""Scores of all groups: which of them a fit may want, by one read of X."""

import numpy as np

from ...core import threads
from .. import group_table

ENTRIES_READ = 1 << 23  # entries of X'R of one read: 64 MB
TASK_GROUPS = 512  # groups of a task


def scores(model, R, mass, products=None):
    """Scores of every group of a GroupModel for right-hand sides.

    Parameters
    ----------
    model : GroupModel
    R : ndarray of shape (n, m)
        Right-hand sides.
    mass : ndarray of shape (m,)
        Curvature of each, in units of the weights.
    products : ndarray of shape (m, p), optional
        R'X, where it is at hand.

    Returns
    -------
    ndarray of shape (m, G)
        c'(mass G_gg + 2 lambda2 I)^-1 c with c = X_g'R, up to the mean mass of a read; -1 for
        groups that may not be chosen.
    """
    blocks, p = model.all_blocks(), model.problem.X.p
    out = np.full((R.shape[1], model.free.size), -1.0)
    step = max(1, ENTRIES_READ // max(p, 1))
    for start in range(0, R.shape[1], step):
        stop = min(start + step, R.shape[1])
        C = np.empty((stop - start, p)) if products is None else products[start:stop]
        if products is None:
            model.problem.X.correlate_into(np.ascontiguousarray(R[:, start:stop].T), C)
            model.model.reads += 1
        part = out[start:stop]
        ridge = 2.0 * model.lambda2 / max(float(np.mean(mass[start:stop])), 1e-300)

        def task(a, e, C=C, part=part, ridge=ridge):
            group_table.scores(C, model.columns, blocks, ridge, model.widest, a, e, part)

        threads.run(task, [*range(0, model.free.size, TASK_GROUPS), model.free.size])
    out[:, ~model.free] = -1.0
    return out


def scores_of_responses(model, fits):
    """Scores (m, G) of every group at m fits of several responses or classes, in one read of X:
    twice what the addition of a group gains by the quadratic at the fit without its members'
    changes.
    """
    out = []
    for C, mean in model.model.gradients(fits):
        q = C.shape[1]
        products = np.ascontiguousarray(C.T)
        each = scores(model, np.empty((0, q)), np.full(q, mean), products)
        out.append(each.sum(axis=0) / mean)
    return np.array(out)
