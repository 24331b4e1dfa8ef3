"""Cutting planes over feature scalings: the convex relaxation that the feature generating machine
solves, for columns and for groups of them.

    R_B = min over (b0, b) and 0 <= d <= 1, sum d <= B  of
          sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1
          + r (sum_u ||b_u||^2 / d_u + ||b_forced||^2)                                        (R)
    F   = the optimum of (R) over the units that were generated (published: over mixtures of blocks
          of at most B units), `subproblem`
    D(a) = sum_i w_i (o_i a_i - loss*(y_i, a_i)) - sum_forced h_j - (sum of the B largest unit
           scores),   score of a unit = sum of its h_j,   h_j = (|z_j'(w a)| - lambda1)_+^2 / (4 r)

A *unit* is a column, or a group of columns; where groups overlap their columns are repeated, once
for each group. The worst scaling for a dual point has d = 1 on the B units of largest score: these
join, with more of large score where many are at work already. F falls with every pass, D(a) <= R_B
<= F at all times, and F meets R_B in the end. No bound of this kind, D of any dual point, exceeds
R_B.

Source: Tan, Tsang & Wang (JMLR 15, 2014): problem (8), worst cases (26), (27), Algorithm 1
    (blocks). Blocks start from the null model's slopes, and may share units.
"""

from typing import NamedTuple

import numpy as np

from ..core.status import FitStatus
from ..relaxation.blocks import NO_BLOCKS, Blocks
from ..relaxation.subproblem import RowSubproblem, SquaredSubproblem
from ..working_set.columns import PRODUCTS_AT_ONCE
from .operators import largest

BACK = 3  # blocks over which F or D must move


class Pool:
    """The units that blocks are made of: unit `ids` with scores from dual points, and the columns
    of each. Single columns: those at work, or with `all_columns` all p, with one read of X for each
    scoring.
    """

    def __init__(self, model, dual, all_columns):
        self.model = model
        self.dual = dual
        self.problem = model.problem
        self.all_columns = all_columns
        self.columns_selectable = self.problem.usable.copy()
        self.columns_selectable[self.problem.forced] = False
        self.free = int(self.columns_selectable.sum())  # units that may be chosen

    def gains(self, slopes, index):
        """h of columns `index` (None: all p) for slopes (n,) by rows, weights included."""
        if index is None:
            self.model.reads += 1
            correlation = self.problem.X.correlate(slopes)
        else:
            correlation = (
                self.model.Z[self.model.where[index]] @ slopes
                if index.size != self.model.width
                else self.model.Z[: index.size] @ slopes
            )
        return self.gain(correlation)

    def gain(self, correlation):
        """h for Z_j'(w a)."""
        return np.maximum(np.abs(correlation) - self.dual.lambda1, 0.0) ** 2 / (
            4.0 * self.dual.lambda2
        )

    def scores(self, slopes):
        """(score (m,), ids (m,), h of the forced columns summed); scores of units that may not be
        chosen are -1.
        """
        index = np.arange(self.problem.X.p) if self.all_columns else self.model.W
        h = self.gains(slopes, None if self.all_columns else index)
        forced = self.problem.forced if self.all_columns else self.model.where[self.problem.forced]
        return np.where(self.columns_selectable[index], h, -1.0), index, float(h[forced].sum())

    def entries(self, units):
        """(columns, unit), (E,) each, of some units."""
        return units, units


class GroupPool(Pool):
    """Groups as units: those that are `inside` (G,), which grows, or with `all_columns` all of
    them. Columns that are in every model belong to no group here; those of several groups, nested
    ones too, are repeated.
    """

    def __init__(self, model, dual, groups, inside, all_columns):
        super().__init__(model, dual, all_columns)
        self.inside = inside
        kept = self.columns_selectable[groups.columns]
        self.columns, self.owner = groups.columns[kept], groups.owners()[kept]
        self.start = np.searchsorted(self.owner, np.arange(len(groups.labels) + 1))
        self.selectable = groups.selectable(self.problem.usable)
        self.free = int(self.selectable.sum())
        self.held = -1, self.columns, self.owner  # how many groups are inside, and their entries

    def summed(self, h, columns, owner):
        """(G,) sums of h (p,) by groups, -1 for those that may not be chosen."""
        sums = np.bincount(owner, h[columns], minlength=self.selectable.size)
        return np.where(self.selectable, sums, -1.0)

    def scores(self, slopes):
        h, forced = np.zeros(self.problem.X.p), self.problem.forced
        if self.all_columns:
            h[:] = self.gains(slopes, None)
            score = self.summed(h, self.columns, self.owner)
        else:
            h[self.model.W] = self.gains(slopes, self.model.W)
            count = int(np.count_nonzero(self.inside))
            if self.held[0] != count:
                kept = self.inside[self.owner]
                self.held = count, self.columns[kept], self.owner[kept]
            score = np.where(self.inside, self.summed(h, *self.held[1:]), -1.0)
        return score, np.arange(score.size), float(h[forced].sum())

    def outside(self, R):
        """(G, m) scores of the groups that are not inside, -1 elsewhere, for m slopes R (n, m): one
        read of X for all of them.
        """
        out = np.empty((self.selectable.size, R.shape[1]))
        step = max(1, PRODUCTS_AT_ONCE // max(self.problem.X.p, 1))
        for start in range(0, R.shape[1], step):
            correlations = self.problem.X.correlate(R[:, start : start + step])
            self.model.reads += 1
            for i, correlation in enumerate(correlations.T, start):
                out[:, i] = np.where(
                    self.inside, -1.0, self.summed(self.gain(correlation), self.columns, self.owner)
                )
        return out

    def entries(self, units):
        places = (
            np.concatenate([np.arange(self.start[u], self.start[u + 1]) for u in units])
            if len(units)
            else np.empty(0, dtype=np.int64)
        )
        return self.columns[places], self.owner[places]


class GeneratedBlocks(NamedTuple):
    """The result of cutting planes."""

    blocks: Blocks  # of the last (S)
    forced: np.ndarray  # coefficients of the forced columns of the last (S)
    value: float  # F of (R) over the pool
    bound: float  # D of (R) over the pool
    slopes: np.ndarray  # (n,), of the best D
    made: int  # blocks
    status: str


def best_units(score, ids, count):
    """The `count` units of largest score that may be chosen, ascending; ties go to the smaller
    number.
    """
    J = largest(score, min(count, int(np.count_nonzero(score >= 0.0))), ids)
    return np.sort(ids[J])


def widened(units, score, ids, size):
    """Units with those of largest score beside them, `size` in all."""
    units = units[np.isin(units, ids[score >= 0.0])]
    if units.size > size:
        return best_units(np.where(np.isin(ids, units), score, -1.0), ids, size)
    return np.union1d(
        units, best_units(np.where(np.isin(ids, units), -1.0, score), ids, size - units.size)
    ).astype(np.int64)


def ranked_units(blocks, score, ids, size):
    """The `size` units of largest coefficients in blocks, sum_h ||v_h on the unit||; where fewer
    have any, those of largest score fill the places.
    """
    entry, made = np.unique(blocks.unit, return_inverse=True)
    pair, place = np.unique(blocks.block * max(entry.size, 1) + made, return_inverse=True)
    strength = np.bincount(
        pair % max(entry.size, 1), np.sqrt(np.bincount(place, blocks.v**2)), minlength=entry.size
    )
    order = np.lexsort((entry, -strength))
    return widened(
        np.sort(entry[order[: min(size, int(np.count_nonzero(strength)))]]), score, ids, size
    )


def stalled(history, least, published):
    """Whether pairs (F, D) moved by `least` or less: see `generate`."""
    if published:
        return len(history) > 1 and history[-2][0] - history[-1][0] <= least
    if len(history) <= BACK:
        return False
    (old_value, old_best), (value, best) = history[-1 - BACK], history[-1]
    return old_value - value + best - old_best <= least


def generate(
    pool,
    budget,
    *,
    blocks=NO_BLOCKS,
    forced=None,
    most,
    tol,
    scale,
    offer,
    published=False,
    poll=lambda: None,
    watch=lambda name, value: None,
):
    """`GeneratedBlocks` by Algorithm 1 for a budget, from blocks that were made before.

    offer(units, blocks, score, ids) hears of every point and the worst case there, and answers with
    the value of the best model so far, which `tol` is relative to: what is wanted of F and D is a
    bound on its value, and where r is small F may be far below it. most: blocks made at most; ends
    where the gap of (R) is at most tol, or where neither F falls nor D rises by more over BACK
    blocks; `published`: where a block lowers F by at most tol of the first F. watch: "relaxation"
    F, "bound" D, after every block.
    """
    problem = pool.problem
    kind = SquaredSubproblem if problem.quadratic else RowSubproblem
    free = NO_BLOCKS._replace(
        columns=problem.forced, v=np.zeros(problem.forced.size) if forced is None else forced
    )
    tau, best, best_slopes, history, status = 0.0, -np.inf, None, [], FitStatus.MAX_ITER
    for made in range(most + 1):
        sub = kind(pool, blocks, free, 1 if published else budget, tau)
        if blocks.count and not sub.lambda1:
            sub.alternate(best, poll)
        sub.descend(best, poll)
        tau, value = sub.tau, sub.value()
        blocks, b = sub.split_up()
        free = free._replace(v=b)
        slopes = sub.slopes()
        score, ids, taken = pool.scores(slopes)
        units = best_units(score, ids, budget)
        total = float(score[np.isin(ids, units)].sum())
        lower = sub.x.smooth - float(sub.x.w @ sub.gradient(sub.x)) - total - taken
        if lower > best:
            best, best_slopes = lower, slopes
        watch("relaxation", value)
        watch("bound", best)
        unit = max(abs(offer(units, blocks, score, ids)), 1e-6 * scale)
        history.append((value, best))
        if value - best <= tol * unit:
            status = "gap_below_tol"
            break
        if stalled(history, tol * (history[0][0] if published else unit), published):
            status = "stalled"
            break
        if made == most:
            break
        if not published:
            units = widened(units, score, ids, max(budget, blocks.count // 2))
        blocks = blocks.with_units(pool, units, not published)
    return GeneratedBlocks(blocks, free.v, value, best, best_slopes, made, status)
