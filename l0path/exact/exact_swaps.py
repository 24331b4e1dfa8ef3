"""Exchanges of m columns at once, decided exactly: branch and bound among a support and the columns
that promise most.

A model of size k is replaced by the best one that lacks at most m of its columns and takes the
others from CANDIDATES of those with the steepest slopes. Dedieu, Hazimeh & Mazumder (JMLR 22:135,
2021), eq. (20), pose the step as a mixed-integer program over all columns and freeze the
coefficients that stay, which can keep it from the optimum for every m; here all are fitted again.
"""

import numpy as np

from .. import relaxation
from ..core.status import FitStatus
from .contest import BranchAndBound, restricted
from .tree import Tree

CANDIDATES = 50  # columns that may come in
NODES = 400  # of a search, at most: it is a heuristic step, which a limit does not make wrong


def exact_swaps(pool, model, m, lambda1, lambda2, poll):
    """Try them on the model of every size of the pool; True if any size improved. Sizes whose
    restricted problem has no bounds (no ridge, and no split) are left alone.
    """
    improved = False
    for k in sorted(pool.fits):
        poll()
        fit = pool.fits[k]
        if 0 < k and FitStatus.SEPARATED not in fit.flags:
            better = _best_near(model, fit, min(m, k), lambda1, lambda2, poll)
            improved |= better is not None and pool.update(better)
    return improved


def _best_near(model, fit, m, lambda1, lambda2, poll):
    """The best fit that lacks at most m unforced columns of `fit`, among candidates; None where the
    search cannot bound or finds nothing better.
    """
    problem = model.problem
    slopes = np.abs(
        relaxation.points_of_fits(
            relaxation.dual_problem(problem, lambda1, lambda2), [(fit.support, fit.b)]
        ).tau[:, 0]
    )
    slopes[~problem.usable] = -1.0
    slopes[fit.support] = -1.0
    count = min(CANDIDATES, int((slopes >= 0).sum()))
    J = np.union1d(fit.support, np.argpartition(-slopes, max(count - 1, 0))[:count])
    few = restricted(problem, J)
    dual = relaxation.dual_problem(
        few, lambda1, lambda2, split=relaxation.split(few) if few.quadratic else None
    )
    if dual.unbounded.any():
        return None
    model.grow(J)

    def refit(support):
        found = model.refit(J[support], lambda1, lambda2)
        return found.value, found

    removable = np.searchsorted(J, np.setdiff1d(fit.support, problem.forced))
    tree = Tree(
        dual,
        size=removable.size,
        refit=refit,
        settings=BranchAndBound(node_limit=NODES),
        around=(removable, m),
    )
    tree.accept(fit.value, None)
    tree.run(lambda: bool(poll()))
    return tree.best[0][1]
