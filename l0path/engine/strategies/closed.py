"""The support path over the number of groups of which some need others in every model: exchanges
of single groups that keep the hierarchy, and moves of several groups at once.

A group that pays only together with what it needs is not found by single additions. So each set is
also grown by a group with all that it lacks, and shrunk to its size again, a group at a time; every
set on the way competes for its size.
"""

from typing import NamedTuple

import numpy as np

from ...exchange import group_ranking
from ...exchange.neighbourhoods.closed import ClosedNeighbourhood
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


class ClosedExchanges(GroupExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) among sets of groups that keep a hierarchy.

    Claims compare a model with others of this kind: "refit_swap" with those that one addition or
    swap of single groups leads to.
    """

    kind = ClosedNeighbourhood

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
            if self.ranked:
                moves = self._moves(fit, chains)
                chains = self._within_reach(fit, chains, moves)
            for chain in chains:
                self.clock.poll()
                if not self.ranked or self._promises(fit, chain, moves):
                    improved |= self._grown_and_shrunk(fit, chain)
        return improved

    def _within_reach(self, fit, chains, moves):
        """The chains that `_promises` is to look at: the others gain less than one removal loses
        afterwards, the least of any group that may leave, and so do not improve a size.
        """
        quadratic, needs = moves.quadratic, self.problem.groups.hierarchy.needs
        size, U = self.pool.size(fit), quadratic.B @ moves.rows
        diagonal, K = np.diagonal(quadratic.B), quadratic.at.size
        starts = quadratic.members[:-1]
        whole = starts.size and bool((np.diff(quadratic.members) > 0).all())
        by_width, out = {}, []
        for i, chain in enumerate(chains):
            new = np.concatenate([moves.own[g] for g in chain.tolist()])
            by_width.setdefault((chain.size, new.size), []).append((i, new))
        for (count, _), some in by_width.items():
            at, new = np.array([i for i, _ in some]), np.array([new for _, new in some])
            H = moves.H[new[:, :, None], new[:, None, :]]
            V = U[:, new].transpose(1, 0, 2)  # (chains, K, m)
            M = H - np.einsum("kcm,ckl->cml", moves.rows[:, new], V)
            unit = np.sqrt(np.maximum(np.diagonal(H, axis1=1, axis2=2), 1e-280))
            alike = np.linalg.eigvalsh(M / unit[:, :, None] / unit[:, None, :])[:, 0]
            near = alike <= 100 * COLLINEAR
            M[near] = np.eye(new.shape[1])
            c = moves.c[new]
            step = np.linalg.solve(M, c[:, :, None])[:, :, 0]
            gain = 0.5 * (c * step).sum(axis=1)
            slack = 0.0 if self.groups.exact else MARGIN * gain
            value = fit.value - gain - slack
            reach = near | self._below(value, size + count)
            if whole:
                b = quadratic.b - np.einsum("ckm,cm->ck", V, step)
                spread = (V * np.linalg.solve(M, V.transpose(0, 2, 1)).transpose(0, 2, 1)).sum(2)
                loss = 0.5 * b**2 / (diagonal + spread)
                loss = np.maximum.reduceat(loss[:, : quadratic.members[-1]], starts, axis=1)
                if self.problem.groups.hierarchy.rule == STRONG:
                    members = [np.append(fit.groups, chains[i]) for i in at]
                    kept = np.array(
                        [needs[inside].any(axis=0)[quadratic.ids] for inside in members]
                    )
                    loss[kept] = np.inf
                value = value + loss.min(axis=1)
            elif K:
                reach[:] = True
            for left in range(count):
                reach |= self._below(value, size + left)
            out += at[reach].tolist()
        return [chains[i] for i in sorted(out)]

    def _below(self, values, size):
        """(m,) whether values are below that of the best fit known of a size."""
        held = self.pool.fits.get(size)
        if size > self.pool.last:
            return np.zeros(values.size, dtype=bool)
        if held is None:
            return np.isfinite(values)
        return values < held.value - self.pool.tolerance(held.value)

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

    def _promises(self, fit, chain, moves):
        """Whether a fit that is grown by a chain, or shrunk again, is better than the best known of
        its size by the quadratic at the fit, which is exact for the squared loss.
        """
        quadratic, size = moves.quadratic, self.pool.size(fit)
        new = np.concatenate([moves.own[g] for g in chain.tolist()])
        U = quadratic.B @ moves.rows[:, new]
        M = moves.H[np.ix_(new, new)] - moves.rows[:, new].T @ U
        unit = np.sqrt(np.maximum(np.diagonal(moves.H)[new], 1e-280))
        if np.linalg.eigvalsh(M / unit / unit[:, None])[0] <= 100 * COLLINEAR:
            return True
        inverse = np.linalg.inv(M)
        step = inverse @ moves.c[new]
        gain = 0.5 * moves.c[new] @ step
        value, slack = fit.value - gain, 0.0 if self.groups.exact else MARGIN * gain
        if self._below(np.array([value - slack]), size + chain.size)[0]:
            return True
        left = U @ inverse
        B = np.block([[quadratic.B + left @ U.T, -left], [-left.T, inverse]])
        b = np.append(quadratic.b - U @ step, step)
        ids = np.append(quadratic.ids, chain)
        starts, sizes = quadratic.members, [moves.own[g].size for g in chain.tolist()]
        places = [np.arange(starts[i], starts[i + 1]) for i in range(quadratic.ids.size)]
        places += np.split(np.arange(quadratic.at.size, b.size), np.cumsum(sizes)[:-1])
        hierarchy, inside = self.problem.groups.hierarchy, self.neighbourhood.inside(fit.groups)
        inside[chain] = True
        for count in range(chain.size - 1, -1, -1):
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
                return False
            value += loss
            if self._below(np.array([value - slack]), size + count)[0]:
                return True
            if count:
                at = places[best]
                shift = np.linalg.solve(B[np.ix_(at, at)], B[at]).T
                b, B = b - shift @ b[at], B - shift @ B[at]
                inside[ids[best]] = False
        return False

    def _chains(self, fit):
        """Sets of two groups or more, one with all that it lacks, that may be added to a fit."""
        hierarchy, inside = self.problem.groups.hierarchy, self.neighbourhood.inside(fit.groups)
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
            drops = [g for _, g in self.neighbourhood.drops(new) if g not in chain]
            if not drops:
                break
            new = self.groups.refit(new.groups[new.groups != drops[0]], new)
            improved |= self.pool.update(new)
        return improved
