"""The best exchanges of groups of a fit of several responses or classes.

F near a fit with the columns S is mean times a quadratic that has the same Gram matrix for all q
responses. With B = (G_SS + r I)^-1, r = 2 lambda2 / mean, a group g outside S has

    S_g = G_gg + r I - G_gS B G_Sg,    gain  sum over responses of c_g' S_g^-1 c_g / 2.

The removal of a member with the columns A, M = B_AA, costs sum b_A' M^-1 b_A / 2, and then
c_g + V M^-1 b_A and S_g + V M^-1 V', V = G_gS B_SA, take the places of c_g and S_g.
"""

import numpy as np

from ...working_set.linear_algebra import COLLINEAR
from ..group_ranking import GroupTable
from ..table import EQUAL, in_order
from .closed import ClosedNeighborhood
from .groups import GroupNeighborhood


def gains(S, c, unit):
    """sum over responses of c' S^-1 c / 2 for matrices S (m, d, d) and c (m, d, q), without the
    directions in which S is small beside the squares `unit` (m, d) of the columns.
    """
    values, V = np.linalg.eigh(S)
    most = np.maximum(unit.max(axis=1, keepdims=True), 1e-300)
    along = np.einsum("mde,mdq->meq", V, c)
    kept = values > 1e3 * COLLINEAR * most
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return 0.5 * (inverse[:, :, None] * along * along).sum(axis=(1, 2))


def _members(model, fit, kept):
    """[(unforced member, positions in `kept` of the columns that no other member has)]."""
    ids = fit.groups[~np.isin(fit.groups, model.forced)]
    columns = [model.of(g) for g in fit.groups]
    often = np.bincount(np.concatenate([*columns, model.problem.forced]).astype(np.int64))
    at = fit.support[kept]
    return [
        (int(g), np.flatnonzero(np.isin(at, [j for j in model.of(g) if often[j] == 1])))
        for g in ids
    ]


def _kept(hierarchy, fit, free, additions, swaps):
    """The additions and swaps after which every group has what it needs."""
    inside = np.isin(np.arange(free.size), fit.groups)
    met = hierarchy.met(inside)
    instead = {out: hierarchy.instead(out, inside) for out in {out for _, out, _ in swaps}}
    return (
        [one for one in additions if met[one[1]]],
        [one for one in swaps if instead[one[1]][one[2]]],
    )


def table(model, fit, keep, closed=True):
    """The GroupTable of a fit over all working groups of a ResponseGroupModel: the `keep` best
    additions and swaps. closed: only those that keep the hierarchy of the groups, if there is one.
    """
    model.model.tables += 1
    quadratic, mean = model.near_fit(fit)
    B, kept, ridge = quadratic.B, quadratic.kept, 2.0 * model.lambda2 / mean
    b, rows, G = fit.b[kept], quadratic.rows[kept], model.model.G
    T, additions, swaps, drops, removals = B @ rows, [], [], {}, []
    for g, A in _members(model, fit, kept):
        M = B[np.ix_(A, A)]
        step = np.linalg.solve(M, np.hstack([b[A], T[A]])) if A.size else np.empty((0, 0))
        q = b.shape[1]
        drops[g] = mean * 0.5 * float((b[A] * step[:, :q]).sum()) if A.size else 0.0
        removals.append((g, A, step[:, :q], step[:, q:]))
    outside = [int(g) for g in model.W if model.free[g] and g not in fit.groups]
    sizes = np.array([model.of(g).size for g in outside], dtype=np.int64)
    for d in np.unique(sizes):
        some = np.array(outside)[sizes == d]
        J = np.array([model.model.where[model.of(g)] for g in some])
        R, c = rows[:, J], quadratic.c[J]
        S = G[J[:, :, None], J[:, None, :]] - np.einsum("kmd,kme->mde", R, T[:, J])
        S[:, np.arange(d), np.arange(d)] += ridge
        unit = np.diagonal(G)[J]
        gain = mean * gains(S, c, unit)
        additions += [(-float(x), int(g)) for x, g in zip(gain, some, strict=True)]
        for out, A, own, V in removals:
            if not A.size:
                after = gain
            else:
                TA, VA = T[A][:, J], V[:, J]
                c_after = c + np.einsum("amd,aq->mdq", TA, own)
                after = mean * gains(S + np.einsum("amd,ame->mde", TA, VA), c_after, unit)
            change = drops[out] - after
            swaps += [(float(x), out, int(g)) for x, g in zip(change, some, strict=True)]
    hierarchy, order = model.problem.groups.hierarchy, in_order(EQUAL * abs(fit.value))
    if closed and hierarchy is not None:
        additions, swaps = _kept(hierarchy, fit, model.free, additions, swaps)
    return GroupTable(
        model.W.size,
        sorted(additions, key=order)[:keep],
        sorted(swaps, key=lambda s: order((s[0], s[2], s[1])))[:keep],
        drops,
    )


class ResponseGroupNeighborhood(GroupNeighborhood):
    """`GroupNeighborhood` of a ResponseGroupModel."""

    def table(self, fit):
        """As `GroupNeighborhood.table`."""
        known = self.tables.get(fit.key)
        if known is None or known.width < self.model.W.size:
            known = self.tables[fit.key] = table(self.model, fit, self.tried)
        return known

    def costs(self, fit):
        """As `GroupNeighborhood.costs`."""
        return self.table(fit).drops


class ResponseClosedNeighborhood(ClosedNeighborhood):
    """`ClosedNeighborhood` of a ResponseGroupModel."""

    def table(self, fit):
        """As `ClosedNeighborhood.table`."""
        if fit.key not in self.tables:
            self.tables[fit.key] = table(self.model, fit, self.tried)
        return self.tables[fit.key]

    def costs(self, fit):
        """As `GroupNeighborhood.costs`."""
        return self.table(fit).drops

    def additions(self, fit, most):
        """As `ClosedNeighborhood.additions`."""
        return table(self.model, fit, most, closed=False).additions
