"""The support path over the number of groups of which some need others in every model: exchanges
of single groups that keep the hierarchy, and moves of several groups at once.

A group that pays only together with what it needs is not found by single additions. So each set is
also grown by a group with all that it lacks, and shrunk to its size again, a group at a time; every
set on the way competes for its size.
"""

from typing import NamedTuple

import numpy as np

from ...exchange import group_ranking
from ...exchange.neighborhoods.closed import ClosedNeighborhood
from ...formula.hierarchy import STRONG
from ...working_set.curvature import curved
from ...working_set.groups import GroupModel, GroupQuadratic
from ...working_set.linear_algebra import COLLINEAR
from .groups import GroupExchanges

WHOLE_MOVES = 40  # of one set, those of the groups that promise most
MARGIN = 0.1  # share of a gain by which the value after a move may be off where it is not exact


class Moves(NamedTuple):
    """The quadratic at a fit with the columns of some groups beside its own: gradients c (m,) and
    second derivatives H (m, m) of these, rows (K, m) against those of the fit; `own`: {group:
    places among the m}.
    """

    quadratic: GroupQuadratic
    rows: np.ndarray
    c: np.ndarray
    H: np.ndarray
    own: dict


class Grown(NamedTuple):
    """The quadratic at a fit with C chains of m columns beside its K: V (C, K, m) = B times the
    rows of the chain, M (C, m, m) what the chain's own block keeps, step (C, m) the coefficients
    of the chain, b (C, K) those of the fit.
    """

    V: np.ndarray
    M: np.ndarray
    step: np.ndarray
    b: np.ndarray


class ClosedExchanges(GroupExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) among sets of groups that keep a hierarchy.

    Claims compare a model with others of this kind: "refit_swap" with those that one addition or
    swap of single groups leads to.
    """

    kind = ClosedNeighborhood

    def __init__(self, model, part, settings, session):
        super().__init__(model, part, settings, session)
        self.moved = set()
        plain = type(self.groups) is GroupModel and not self.problem.boxed
        self.ranked = plain and not self.groups.lambda1  # whether a quadratic ranks the moves

    def seed(self):
        """All groups."""
        self.groups.grow(np.flatnonzero(self.groups.free))

    def improve(self):
        """Sweeps, and moves of several groups, until neither improves a size."""
        super().improve()
        while self._move_sets() and self.settings.effort != "fast":
            self.sweep(self.done)

    def _move_sets(self):
        """Moves of several groups from each size; True if one improved a size."""
        improved, pool = False, self.pool
        for k in sorted(pool.fits):
            fit = pool.fits.get(k)
            if fit is None or fit.key in self.moved:
                continue
            self.moved.add(fit.key)
            chains = self._chains(fit)
            if not chains:
                continue
            values = self._predicted(fit, chains) if self.ranked else None
            goals = self._goals(k, max(chain.size for chain in chains))
            for i, chain in enumerate(chains):
                self.clock.poll()
                if not self.ranked or (values[i] < goals[-values[i].size :]).any():
                    if self._grown_and_shrunk(fit, chain):
                        improved, goals = True, self._goals(k, goals.size - 1)
        return improved

    def _goals(self, size, more):
        """(more + 1,) below what values of the sizes from size + more down to size improve."""
        return np.array([self._goal(k) for k in range(size + more, size - 1, -1)])

    def _goal(self, size):
        """Below what a value improves the best fit known of a size."""
        held = self.pool.fits.get(size)
        if size > self.pool.last:
            return -np.inf
        return np.inf if held is None else held.value - self.pool.tolerance(held.value)

    def _predicted(self, fit, chains):
        """For each chain the values (count + 1,) that the quadratic at a fit predicts, exactly for
        the squared loss, of the fit grown by it and shrunk to its size again, a group at a time,
        the one that costs least; -inf where columns are too nearly dependent to say, inf where no
        size can improve.
        """
        moves = self._moves(fit, chains)
        quadratic = moves.quadratic
        U, columns = quadratic.B @ moves.rows, np.diff(quadratic.members)
        by_width, out = {}, [None] * len(chains)
        for i, chain in enumerate(chains):
            new = np.concatenate([moves.own[g] for g in chain.tolist()])
            by_width.setdefault((chain.size, new.size), []).append((i, new))
        for (count, width), some in by_width.items():
            at, new = np.array([i for i, _ in some]), np.array([new for _, new in some])
            c, H = moves.c[new], moves.H[new[:, :, None], new[:, None, :]]
            V = U[:, new].transpose(1, 0, 2)  # (chains, K, m)
            M = H - np.einsum("kcm,ckl->cml", moves.rows[:, new], V)
            unit = np.sqrt(np.maximum(np.diagonal(H, axis1=1, axis2=2), 1e-280))
            alike = np.linalg.eigvalsh(M / unit[:, :, None] / unit[:, None, :])[:, 0]
            near = alike <= 100 * COLLINEAR
            M[near] = np.eye(width)
            step = np.linalg.solve(M, c[:, :, None])[:, :, 0]
            gain = 0.5 * (c * step).sum(axis=1)
            values = np.full((at.size, count + 1), np.inf)
            values[:, 0] = fit.value - gain - (0.0 if self.groups.exact else MARGIN * gain)
            grown = Grown(V, M, step, quadratic.b - np.einsum("ckm,cm->ck", V, step))
            members = [chains[i] for i in at]
            if width == count and (columns == 1).all():
                with np.errstate(all="ignore"):  # where rounding hides what a column keeps
                    self._shrink_columns(fit, quadratic, members, grown, values)
                values[np.isnan(values)] = -np.inf
            else:
                self._shrink_groups(fit, moves, members, grown, values)
            values[near] = -np.inf
            for i, row in zip(at.tolist(), values, strict=True):
                out[i] = row
        return out

    def _shrink_columns(self, fit, quadratic, chains, grown, values):
        """Fill in `values` (C, count + 1) what is left after each removal from a fit of single
        columns that is grown by as many.
        """
        hierarchy, every = self.problem.groups.hierarchy, np.arange(len(chains))
        inside = np.tile(self.neighborhood.inside(fit.groups), (every.size, 1))
        inside[every[:, None], chains] = True
        left = np.linalg.solve(grown.M, grown.V.transpose(0, 2, 1))
        K, b = quadratic.ids.size, grown.b.copy()
        square = np.diagonal(quadratic.B) + np.einsum("ckm,cmk->ck", grown.V, left)
        gone = []
        for count in range(1, values.shape[1]):
            leave = hierarchy.removable_each(inside)[:, quadratic.ids]
            loss = np.where(leave, 0.5 * b[:, :K] ** 2 / square[:, :K], np.inf)
            best = loss.argmin(axis=1) if K else np.zeros(every.size, dtype=np.int64)
            lost = loss[every, best] if K else np.inf
            values[:, count] = values[:, count - 1] + lost
            if count + 1 == values.shape[1] or not np.isfinite(lost).any():
                return
            column = quadratic.B[:, best].T + np.einsum("ckm,cm->ck", grown.V, left[every, :, best])
            for other in gone:
                column -= other * other[every, best][:, None]
            column /= np.sqrt(square[every, best])[:, None]
            gone.append(column)
            b -= column * (b[every, best] / np.sqrt(square[every, best]))[:, None]
            square -= column**2
            inside[every, quadratic.ids[best]] = False

    def _shrink_groups(self, fit, moves, chains, grown, values):
        """Fill in `values` as `_shrink_columns`, of groups of columns; nothing where what one
        removal loses at least is more than the growth gains.
        """
        quadratic, hierarchy = moves.quadratic, self.problem.groups.hierarchy
        size, starts = self.pool.size(fit), quadratic.members[:-1]
        goals = self._goals(size, chains[0].size)
        reach = values[:, 0] < goals[0]
        value = values[:, 0].copy()
        if starts.size and bool((np.diff(quadratic.members) > 0).all()):
            left = np.linalg.solve(grown.M, grown.V.transpose(0, 2, 1))
            spread = np.einsum("ckm,cmk->ck", grown.V, left)
            loss = 0.5 * grown.b**2 / (np.diagonal(quadratic.B) + spread)
            loss = np.maximum.reduceat(loss[:, : quadratic.members[-1]], starts, axis=1)
            if hierarchy.rule == STRONG:
                inside = [np.append(fit.groups, chain) for chain in chains]
                kept = [hierarchy.needs[some].any(axis=0)[quadratic.ids] for some in inside]
                loss[np.array(kept)] = np.inf
            value = value + loss.min(axis=1)
        elif quadratic.at.size:
            reach[:] = True
        reach |= value < goals[1:].max()
        for i in np.flatnonzero(reach):
            one = Grown(*(part[i] for part in grown))
            self._shrink_groups_of(fit, moves, chains[i], one, values[i])

    def _shrink_groups_of(self, fit, moves, chain, grown, values):
        """`_shrink_groups` for one chain."""
        quadratic, inverse = moves.quadratic, np.linalg.inv(grown.M)
        left = grown.V @ inverse
        B = np.block([[quadratic.B + left @ grown.V.T, -left], [-left.T, inverse]])
        b = np.append(grown.b, grown.step)
        ids = np.append(quadratic.ids, chain)
        starts, sizes = quadratic.members, [moves.own[g].size for g in chain.tolist()]
        places = [np.arange(starts[i], starts[i + 1]) for i in range(quadratic.ids.size)]
        places += np.split(np.arange(quadratic.at.size, b.size), np.cumsum(sizes)[:-1])
        hierarchy, inside = self.problem.groups.hierarchy, self.neighborhood.inside(fit.groups)
        inside[chain] = True
        for count in range(1, values.size):
            leave = hierarchy.removable(inside)
            leave[chain] = False
            best, loss = -1, np.inf
            for i in np.flatnonzero(leave[ids]):
                at = places[i]
                if at.size == 1:
                    own = 0.5 * b[at[0]] ** 2 / B[at[0], at[0]]
                else:
                    own = 0.5 * b[at] @ np.linalg.solve(B[np.ix_(at, at)], b[at])
                best, loss = (i, own) if own < loss else (best, loss)
            if best < 0:
                return
            values[count] = values[count - 1] + loss
            if count + 1 < values.size:
                at = places[best]
                shift = np.linalg.solve(B[np.ix_(at, at)], B[at]).T
                b, B = b - shift @ b[at], B - shift @ B[at]
                inside[ids[best]] = False

    def _moves(self, fit, chains):
        """The `Moves` of a fit with the groups of some chains."""
        model, problem = self.groups, self.problem
        groups = np.unique(np.concatenate(chains))
        model.grow(groups)
        columns = [model.of(g) for g in groups]
        ends = np.cumsum([0, *(J.size for J in columns)])
        own = {g: np.arange(ends[i], ends[i + 1]) for i, g in enumerate(groups.tolist())}
        J, quadratic = model.model.where[np.concatenate(columns)], model.quadratic(fit)
        if problem.quadratic:
            G, support = model.model.G, model.model.where[fit.support]
            rows, H = G[quadratic.at[:, None], J], G[J[:, None], J]
            c = model.model.q[J] - fit.b @ G[support[:, None], J]
        else:
            Z, ZV, coupled = curved(problem, quadratic.eta, quadratic.v, model.model.Z[J])
            H = ZV @ Z.T - coupled @ coupled.T
            rows = quadratic.ZV @ Z.T - quadratic.coupled @ coupled.T
            c = -(Z @ quadratic.slopes)
        H[np.diag_indices_from(H)] += 2.0 * model.lambda2
        return Moves(quadratic, rows, c, H, own)

    def _chains(self, fit):
        """Sets of two groups or more, one with all that it lacks, that may be added to a fit."""
        hierarchy, inside = self.problem.groups.hierarchy, self.neighborhood.inside(fit.groups)
        lacking = np.flatnonzero(self.groups.free & ~inside & ~hierarchy.met(inside))
        if lacking.size > WHOLE_MOVES:
            best = self._additions(fit, inside.size)
            gain = np.full(inside.size, -np.inf)
            gain[[g for _, g in best]] = [-change for change, _ in best]
            lacking = lacking[np.argsort(-gain[lacking], kind="stable")[:WHOLE_MOVES]]
        free = self.groups.free
        return [chain for g in lacking for chain in hierarchy.chains(g, inside, free)]

    def _additions(self, fit, most):
        """[(change, group)] of the best additions, those too that lack what they need."""
        return group_ranking.table(self.groups, fit, None, most).additions

    def _grown_and_shrunk(self, fit, chain):
        """Add groups to a fit and remove as many others; True if a size improved."""
        new = self.groups.refit(np.union1d(fit.groups, chain), fit)
        improved = self.pool.update(new)
        for _ in chain:
            drops = [g for _, g in self.neighborhood.drops(new) if g not in chain]
            if not drops:
                break
            new = self.groups.refit(new.groups[new.groups != drops[0]], new)
            improved |= self.pool.update(new)
        return improved
