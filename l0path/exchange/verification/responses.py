"""Verification under several responses: the whole table of every fit with all p columns, by Gram
rows. It is exact for the squared loss, and ranks for the multinomial one.
"""

import numpy as np

from ...core import threads
from .. import response_table
from ..ranking import Candidates, combinations_count, roles
from ..updates import RANKING

ENTRIES = 1 << 18  # of a table made at a time: 2 MB


def violators(model, fits, wanted, penalty):
    """`verification.violators` for one batch. Of each column the best exchange is kept."""
    p, out = model.problem, [None] * len(fits)
    model.read([fit.support for fit in fits])
    states = model.over_all(fits, penalty.lambda2)

    def rank(i):
        fit, found = fits[i], []
        step = max(256, ENTRIES // max(fit.support.size, 1))
        for left in range(0, p.X.p, step):
            part = slice(left, min(left + step, p.X.p))
            quadratic = model.of_all(fit, states[i], part)
            found.append(_best(model, fit, wanted[i], quadratic, penalty, part))
        change, gone, into = (np.concatenate(some) for some in zip(*found, strict=True))
        out[i] = Candidates(change, gone, into).of(np.lexsort((into, change))[: wanted[i].count])

    threads.run_each(rank, len(fits))
    model.tables += len(fits)
    return out


def _best(model, fit, wanted, quadratic, penalty, part):
    """(change, out, into) of the best exchanges of a fit with a slice of all columns, one for each
    column.
    """
    p, left, right = model.problem, part.start, part.stop
    skip = ~p.usable[left:right]
    inside = fit.support[(fit.support >= left) & (fit.support < right)]
    skip[inside - left] = True
    locked = np.isin(fit.support, p.forced, assume_unique=True)
    found = response_table.all_exchanges(
        model.in_units(fit),
        quadratic,
        penalty.lambda2,
        skip,
        locked,
        dependent=combinations_count(model, penalty),
    )
    part = roles(p, fit, np.arange(left, right), penalty.lambda0)
    out, change = np.full(right - left, -1), wanted.target + part.cost + found.add
    change[~(change < (np.inf if wanted.ceiling >= RANKING else 0.0))] = np.inf
    if fit.support.size and wanted.swaps:
        swap = found.swap
        if penalty.lambda0:
            swap += part.cost - part.member_cost[:, None]
        lowest = swap.min(axis=0)
        swapped = np.flatnonzero((lowest < change) & (lowest < wanted.ceiling))
        out[swapped] = fit.support[swap[:, swapped].argmin(axis=0)]
        change[swapped] = lowest[swapped]
    J = np.flatnonzero(np.isfinite(change))
    J = J[np.argsort(change[J], kind="stable")[: wanted.count]]
    return change[J], out[J], left + J


def leading(model, fits, most):
    """`verification.leading` for several responses."""
    p = model.problem
    C = p.X.correlate(np.hstack([-model.derivatives(fit).slopes for fit in fits]))
    score = np.linalg.norm(C.reshape(p.X.p, len(fits), -1), axis=2).T
    score /= np.sqrt(np.maximum(p.square, 1e-300))
    score[:, ~p.usable] = -1.0
    return list(np.argpartition(-score, most - 1, axis=1)[:, :most])
