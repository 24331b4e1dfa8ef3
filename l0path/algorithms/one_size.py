"""One size by a k-sparse solver: rounds of solving on the working columns, and reads of all columns
that say which must join.
"""

import numpy as np

from ..working_set.columns import PRODUCTS_AT_ONCE
from ..working_set.starts import scale_of, seed_at

ROUNDS = 30  # reads of X after which what still changes is left unverified


def outside(model, solver, outcomes):
    """For each outcome its best columns (`max_entering`) outside W that pass its threshold,
    and their scores, descending: one read of X for all of them.
    """
    p = model.problem
    R = np.column_stack([solver.right_side(outcome) for outcome in outcomes])
    edges = [solver.threshold(outcome) * (1 + 1e-9) for outcome in outcomes]
    least = np.array([solver.reach(edge) for edge in edges]) if solver.traits.prunes else None
    found = [(np.empty(0), np.empty(0, dtype=np.int64)) for _ in outcomes]
    step = max(256, PRODUCTS_AT_ONCE // R.shape[1])
    for start in range(0, p.X.p, step):
        block = slice(start, min(start + step, p.X.p))
        correlations = -(
            p.X.correlate(R, block.start, block.stop)
            if least is None
            else p.X.correlate_above(R, least, block.start, block.stop)
        ).T
        out = p.usable[block] & (model.where[block] < 0)
        for i, outcome in enumerate(outcomes):
            score = np.where(out, solver.scores(outcome, correlations[i], block), -1.0)
            over = np.flatnonzero(score > edges[i])
            score = np.concatenate([found[i][0], score[over]])
            J = np.concatenate([found[i][1], start + over])
            best = np.lexsort((J, -score))[
                : max(solver.traits.max_entering, outcome.fit.support.size)
            ]
            found[i] = score[best], J[best]
    model.reads += 1
    return found


def solve_size(
    model, k, *, settings, lambda1=0.0, lambda2=0.0, start=None, poll=lambda: None, watch=None
):
    """Outcome of k unforced columns over all p columns, from a Fit (default: forced columns only):
    rounds of solving on W and checking. watch(name, value) hears of what the solver meets on the
    way.
    """
    model.grow(model.problem.forced)
    null = model.null(lambda1, lambda2)
    solver = settings.solver(model, lambda1, lambda2, scale_of(model, null))
    if not solver.traits.all_columns and model.width <= model.problem.forced.size + k:
        seed_at(model, null, max(100, 4 * k))
    if start is not None:
        model.grow(start.support)
    outcome, steps = solver.solve(k, null if start is None else start, poll, watch), 0
    for _ in range(0 if solver.traits.all_columns else ROUNDS):
        steps += outcome.iterations
        ((score, J),) = outside(model, solver, [outcome])
        outcome = solver.certified(outcome, score)
        if outcome.proven or not model.grow(J[: solver.traits.max_entering]):
            break
        outcome = solver.solve(k, outcome.fit, poll, watch)
    return outcome if solver.traits.all_columns else outcome._replace(iterations=steps)
