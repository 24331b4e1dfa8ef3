"""Verification for every loss but the squared one, by two quadratics.

With unweighted Gram rows, one set for all fits, each fit proposes PROPOSED times as many columns
outside the working set as are asked for, or all, where there are no more. These are then ranked
with the curvatures of the fit, the working columns with those of a fit close by
(`RowModel.quadratic`). One read of X for the gradients, one for new Gram rows, one counted for the
columns proposed.
"""

import numpy as np

from ...core import threads
from ...problem.penalties import separable
from ...working_set.columns import PRODUCTS_AT_ONCE
from ..ranking import candidates, combinations_count, roles, scanned
from ..table import EQUAL
from .cluster import proposals_of_workers
from .ranges import Block, Question, Screening, proposed

PROPOSED = 4  # columns that a fit may propose from outside W for each exchange that is asked for


def violators(model, fits, wanted, penalty):
    """`verification.violators` for one batch."""
    model.reads += 1
    p, where, outside = model.problem, model.where, [None] * len(fits)
    # who may propose all columns need not screen them, unless their slopes are to be kept
    all_slopes = model.seen is not None
    some = [i for i, one in enumerate(wanted) if all_slopes or PROPOSED * one.count < p.X.p]
    found = _screened(model, [fits[i] for i in some], [wanted[i] for i in some], penalty)
    for i, (_, J) in zip(some, found, strict=True):
        outside[i] = J[where[J] < 0]
    every = np.flatnonzero(p.usable & (where < 0))
    outside = [every if J is None else J for J in outside]
    columns = _columns_of(p.X, outside)
    return [
        _ranked(model, fit, (J, columns), penalty, one)
        for fit, J, one in zip(fits, outside, wanted, strict=True)
    ]


def _screened(model, fits, wanted, penalty):
    """For each fit the exchanges that it proposes, see `proposed`."""
    if not fits:
        return []
    flat, held = model.flat(), model.flat().reads
    flat.read([fit.support for fit in fits])
    model.reads += 1 + flat.reads - held
    derivatives = [model.derivatives(fit)[1:] for fit in fits]
    R = -np.column_stack([slopes for slopes, _ in derivatives])
    screenings = [
        _screening(flat, fit, float(v.sum()), one, penalty.lambda2)
        for fit, (_, v), one in zip(fits, derivatives, wanted, strict=True)
    ]
    question = Question(
        separable(penalty.lambda0, penalty.lambda1, penalty.lambda2),
        combinations_count(model, penalty),
    )
    if flat.cluster is not None and not penalty.lambda0:
        # the columns and their Gram rows are on workers, and so is this loop
        none = [roles(model.problem, fit, np.empty(0, np.int64), 0.0) for fit in fits]
        return proposals_of_workers(flat.cluster, R, screenings, none, question)
    return _proposals(model, fits, R, screenings, question)


def _columns_of(X, lists):
    """A function that gives the columns (m, n) of one of several lists of indices: from one read of
    X where all are few enough to be held together.
    """
    at = np.zeros(X.p, dtype=np.int64)
    for some in lists:
        at[some] = 1
    J = np.flatnonzero(at)
    if J.size * X.n > PRODUCTS_AT_ONCE:
        return lambda some: np.ascontiguousarray(X.columns(some).T)
    Z, at[J] = np.ascontiguousarray(X.columns(J).T), np.arange(J.size)
    return lambda some: Z if np.array_equal(some, J) else Z[at[some]]


def _screening(flat, fit, total, wanted, lambda2):
    """The Screening of a fit, whose curvatures sum to `total`."""
    total = max(total, 1e-300)
    B = flat.inverse(fit, lambda2 / total)
    bound = np.linalg.eigvalsh(B)[-1] * (1 + 1e-9) if B.size else 0.0
    rows = np.array([flat.row_of[j] for j in fit.support.tolist()], dtype=np.int64)
    wanted = wanted._replace(count=PROPOSED * wanted.count)
    return Screening(
        fit.support, fit.b, total, B, bound, rows, wanted, EQUAL * abs(float(fit.value))
    )


def _proposals(model, fits, R, screenings, question):
    """For each fit its best exchanges with all p columns, see `proposed`, in one read of X with the
    right-hand sides R (n, m), whose products the model may keep.
    """
    p, rows, found = model.problem, model.flat().rows, [None] * len(fits)
    products = None if model.seen is None else np.empty((len(fits), p.X.p))
    step = max(512, PRODUCTS_AT_ONCE // R.shape[1])
    for start in range(0, p.X.p, step):
        at = slice(start, min(start + step, p.X.p))
        C = np.ascontiguousarray(p.X.correlate(R, at.start, at.stop).T)
        if products is not None:
            products[:, at] = -C

        def propose(i, C=C, at=at):
            fit, one = fits[i], screenings[i]
            block = Block(rows[:, at], C[i], p.square[at], at.start)
            part = roles(p, fit, np.arange(at.start, at.stop), question.penalty.lambda0 / one.total)
            found[i] = proposed(one, block, part, question, found[i])

        threads.run_each(propose, len(fits))
    if products is not None:
        model.keep_slopes(fits, -R, products, question.penalty)
    return found


def _ranked(model, fit, outside, penalty, wanted):
    """The best exchanges of a fit with the working columns and with those `outside`, their indices
    J and a function that gives them: `Candidates`.
    """
    J, columns = outside
    quadratic = model.quadratic(fit, penalty.lambda2)
    change, column, position = scanned(model, fit, quadratic, model.W, penalty, wanted)
    into = model.W[column]
    if J.size:
        exact = model.exact(fit, penalty.lambda2, columns(J))
        more = scanned(model, fit, exact, J, penalty, wanted)
        change, position = np.append(change, more[0]), np.append(position, more[2])
        into = np.append(into, J[more[1]])
    tie = EQUAL * abs(fit.value)
    return candidates(fit.support, (change, into, position), wanted.count, tie)
