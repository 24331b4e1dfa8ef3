"""Blocks of columns whose scalings share a budget: what the ridge of their norms is at the best
scalings (the squared k-support norm of Argyriou, Foygel & Srebro, NIPS 2012, Proposition 2.1, or
for a budget of 1 the squared sum), and its proximal map.
"""

from typing import NamedTuple

import numpy as np


class Blocks(NamedTuple):
    """Entries of all blocks, (E,) each: columns, the unit that has them, the number of the block 0,
    1, ..., v coefficients.
    """

    columns: np.ndarray
    unit: np.ndarray
    block: np.ndarray
    v: np.ndarray

    @property
    def count(self):
        """Number of blocks."""
        return int(self.block.max(initial=-1)) + 1

    def only(self, kept):
        """The blocks of a mask (count,), renumbered."""
        left = kept[self.block]
        return Blocks(
            self.columns[left],
            self.unit[left],
            (np.cumsum(kept) - 1)[self.block[left]],
            self.v[left],
        )

    def with_units(self, pool, units, apart):
        """With one more block of units, unless there is one of just these; or `apart`, with a block
        for each unit that has none. Their columns join the working ones.
        """
        if apart:
            units = np.setdiff1d(units, self.unit)
        elif any(
            np.array_equal(np.unique(self.unit[self.block == h]), units) for h in range(self.count)
        ):
            return self
        columns, unit = pool.entries(units)
        pool.model.grow(columns)
        block = self.count + (
            np.searchsorted(units, unit) if apart else np.zeros(unit.size, dtype=np.int64)
        )
        return Blocks(
            *(
                np.concatenate(pair)
                for pair in zip(self, (columns, unit, block, np.zeros(unit.size)), strict=True)
            )
        )


NO_BLOCKS = Blocks(*(np.empty(0, dtype=np.int64),) * 3, np.empty(0))


def level(norm, budget):
    """(r, theta, norms descending) of norms (m,): the best shares are d = min(1, norm / theta), 1
    for the r largest, and sum to the budget; theta = 0 where no more than `budget` are positive.
    """
    ranked = np.zeros(max(norm.size, budget))
    ranked[: norm.size] = np.sort(norm)[::-1]
    theta = np.cumsum(ranked[::-1])[::-1][:budget] / (budget - np.arange(budget))
    r = int(np.argmax(ranked[:budget] <= theta))
    return r, float(theta[r]), ranked


def support_norm(norm, budget):
    """min over 0 <= d <= 1, sum d <= budget of sum_h norm_h^2 / d_h: the r largest squared, and
    (budget - r) theta^2; (sum_h norm_h)^2 for budget 1.
    """
    if budget == 1:
        return float(norm.sum()) ** 2
    r, theta, ranked = level(norm, budget)
    return float(ranked[:r] @ ranked[:r]) + (budget - r) * theta * theta


def shares(norm, budget):
    """The d at which `support_norm` is attained."""
    theta = level(norm, budget)[1]
    return np.minimum(norm / theta, 1.0) if theta > 0.0 else (norm > 0.0).astype(np.float64)


def project(u, owner, count, ratio, budget=1):
    """argmin over x of ||x - u||^2 / (2 ratio) + support_norm(||x_h||, budget) / 2 for blocks h =
    0..count - 1 of entries `owner` (E,): x_h = u_h d_h / (d_h + ratio).

    d_h = clip(o_h t - ratio, 0, 1) for the norms o of u, with t such that their sum is the budget,
    a root of a piecewise linear function; all 1 where there is none. For budget 1 every block is
    shortened by the same length (Algorithm 3).
    """
    norm = np.sqrt(np.bincount(owner, u * u, minlength=count))
    some = norm[norm > 0.0]
    if some.size <= budget:
        return u / (1.0 + ratio)
    turns = np.concatenate([ratio / some, (1.0 + ratio) / some])
    order = np.argsort(turns, kind="stable")
    turns, slope = turns[order], np.cumsum(np.concatenate([some, -some])[order])
    total = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(turns))])
    # where the sum stands still at the budget, its first point: rounding would give blocks that
    # vanish a coefficient
    e = int(np.searchsorted(total, budget * (1.0 - 1e-12))) - 1
    t = turns[e] + (budget - total[e]) / slope[e]
    d = np.clip(norm * t - ratio, 0.0, 1.0)
    return u * (d / (d + ratio))[owner]
