"""Steps over sets of groups: add, drop and swap groups with everything re-optimized, ranked or
decided by the tables of `group_ranking`. Every set that is reached keeps the hierarchy of the
groups: each of these sets is reached from every other one by additions and removals of this kind.
"""

import math

import numpy as np

from ...core.status import FitStatus
from ...problem.losses import smoothness
from ...working_set.curvature import CURVATURE_BYTES
from .. import group_ranking
from ..decisions import Aim, tried
from ..local_search import ON_THE_WAY, flat
from ..table import EQUAL, in_order, in_steps
from ..trials import Exchanges
from .protocol import Reach, most_columns
from .refit import by_newton, exchanged

# groups ranked best at each size that a check takes in, and exchanges that refits refute where a
# table only ranks
TRIED = 10
FURTHER = 0.2  # share of the sizes by which an oscillation goes beyond the last
NO_SHARE = 1e-8  # share, of the largest, of a column in a combination that is rounding
NO_COST = 1e-6  # share of F below which a removal seems to cost nothing
LEAVING = 5  # groups of a separated set whose removal is refitted for swaps
# share of a gain or a cost by which a step may seem worse than another one that is refitted on the
# way, where quadratics come close. On logistic paths of products none of 244 steps that were taken
# had seemed worse by 0.03, and four of five that were refused by 0.1
DOUBT = 0.1
ADDITIONS, REMOVALS = 3, 2  # of these so many are refitted where a table only ranks


def _without_part(fit):
    """Number of the columns of a fit whose coefficients are 0."""
    zero = fit.b == 0.0
    return int(np.count_nonzero(zero if zero.ndim == 1 else zero.all(axis=1)))


def groups_tried(settings):
    """The m of a check over groups: n_best, by default TRIED."""
    return settings.n_best or TRIED


class GroupNeighborhood:
    """Moves of a GroupModel, a `protocol.Neighborhood`. Tables are kept by sets of groups, and
    follow the working groups. Where all groups are single columns under a smooth loss, chord steps
    decide exchanges as they do those of columns; elsewhere refits do.
    """

    compiled = False

    def __init__(self, model, scale, settings):
        self.model, self.scale, self.settings = model, scale, settings
        self.hierarchy = model.hierarchy
        self.tables, self.failed = {}, {}
        self.locals, self.held = {}, 0  # `LocalTable`s of fits, and about how many bytes they take
        self.known, self.steps = {}, {}  # fits by their sets; the best of several steps from a fit
        self.idle = {}  # numbers of groups -> `_idle_alone`
        self.undecided = set()  # supports with an exchange whose refit did not converge
        self.tried = groups_tried(settings)
        self.trials = model.single and model.model.shares and self._plain()
        loss = model.problem.loss
        bounded = not loss.traits.jumps and math.isfinite(smoothness(loss))
        # whether quadratics come close to refits
        self.doubt = DOUBT if bounded and self._plain() else math.inf

    def _plain(self):
        """Whether there are no bend, no bounds on coefficients, no columns that two groups share or
        that only rows tell apart.
        """
        model = self.model
        plain = not (model.overlap or model.lambda1 or model.problem.boxed)
        return plain and model.model.near is None

    def inside(self, groups):
        """(G,) the groups of a set."""
        out = np.zeros(self.model.free.size, dtype=bool)
        out[groups] = True
        return out

    def _tolerance(self, value):
        return flat(value, self.scale, self.settings.tol)

    def table(self, fit):
        """The GroupTable of a fit over all working groups."""
        known = self.tables.get(fit.key)
        if known is None or known.width < self.model.W.size:
            known, *at_fit = group_ranking.table(
                self.model, fit, known, self.tried, self.hierarchy, self.trials
            )
            self.tables[fit.key] = known
            if self.trials:
                self._keep(fit, group_ranking.own_table(self.model, fit, *at_fit))
        return known

    def costs(self, fit):
        """{group: increase of F by its removal}, by the quadratic."""
        known = self.tables.get(fit.key)
        return group_ranking.drops(self.model, fit) if known is None else known.drops

    def drops(self, fit):
        """[(increase of F, group)] of the removals from a fit that nothing else in it needs, the
        cheapest first. What the removal of a group costs that separates, no quadratic knows, which
        has no curvature there: refits say it where it seems to cost nothing.
        """
        may_leave = self.hierarchy.removable(self.inside(fit.groups))
        found = {g: x for g, x in self.costs(fit).items() if may_leave[g]}
        ids, rise = np.array(list(found), dtype=np.int64), np.array(list(found.values()))
        at = np.lexsort((ids, in_steps(rise, EQUAL * abs(fit.value))))
        ranked = list(zip(rise[at].tolist(), ids[at].tolist(), strict=True))
        if FitStatus.SEPARATED not in fit.flags:
            return ranked
        order = in_order(EQUAL * abs(fit.value))
        nothing = NO_COST * abs(fit.value)
        doubtful = [g for i, (x, g) in enumerate(ranked) if x <= nothing or i < REMOVALS]
        for g in doubtful:
            found[g] = self._one_away(fit, g, -1).value - fit.value
        return sorted(((x, g) for g, x in found.items()), key=order)

    def add(self, fit, polish=True):
        """One group more: the best addition, then swaps. None when no group is independent of the
        support.
        """
        ranked = self.table(fit).additions[: 1 if self.model.exact else ADDITIONS]
        ranked = [g for x, g in ranked if self._may_be_best(fit, x, ranked[0][0])]
        best = self._best(fit, [(-1, g) for g in [*ranked, *self._near(fit)]])
        return self.swap(best) if polish and best is not None else best

    def drop(self, fit, polish=True):
        """One group less: the cheapest removal, then swaps. None when only forced groups are
        left.
        """
        ranked = self.drops(fit)[: 1 if self.model.exact else REMOVALS]
        ranked = [(g, -1) for x, g in ranked if self._may_be_best(fit, x, ranked[0][0])]
        best = self._best(fit, ranked)
        return self.swap(best) if polish and best is not None else best

    def _may_be_best(self, fit, change, first):
        """Whether a change of F is not clearly above the first one of a ranking."""
        sure = self.doubt < math.inf and FitStatus.SEPARATED not in fit.flags
        return not sure or change <= first + self.doubt * abs(first)

    def _best(self, fit, pairs):
        """The lowest fit after one of the exchanges `pairs` (out, into), -1 for none, found once;
        None without pairs.
        """
        step = fit.key, tuple(pairs)
        if step in self.steps:
            return self.steps[step]
        best, target, first = None, np.inf, 0
        while first < len(pairs):
            e, new = self._first_below(fit, pairs[first:], target)
            if new is None:
                break
            if best is None or new.value < target:
                best, target = new, new.value - self._tolerance(new.value)
            first += e + 1
        self.steps[step] = best
        return best

    def _first_below(self, fit, pairs, target):
        """(number, fit) of the first of the exchanges `pairs` whose refit lies below a target, or
        is no optimum; -1 and None where there is none. Sets that were fitted before are known.
        """
        sets, first = [exchanged(fit.groups, *pair) for pair in pairs], 0
        held = [self.known.get(groups.tobytes()) for groups in sets]
        while first < len(sets):
            if held[first] is not None:
                if held[first].value < target:
                    return first, held[first]
                first += 1
                continue
            last = first + 1
            while last < len(sets) and held[last] is None:
                last += 1
            e, new = self._first_new(fit, pairs[first:last], sets[first:last], target)
            if new is not None:
                if FitStatus.NOT_CONVERGED not in new.flags:
                    self.known[new.key] = new
                return first + e, new
            first = last
        return -1, None

    def _first_new(self, fit, pairs, sets, target):
        """`_first_below` of exchanges after which the groups are `sets`, none of which is known."""
        if not self.trials or FitStatus.SEPARATED in fit.flags:
            return self.model.first_below(sets, fit, target)
        model, columns = self.model.model, self.model.columns
        out, into = np.array(pairs, dtype=np.int64).T
        exchanges = Exchanges(
            np.where(out >= 0, fit.support.searchsorted(columns[out]), -1),
            np.where(into >= 0, model.where[columns[into]], -1),
        )
        table = self.locals.get(fit.key)
        if table is None:
            table = model.local_table(fit, self.model.lambda2, exchanges.into)
        for e, new in tried(model, fit, exchanges, table, Aim(target, True)):  # bounds decide
            if new is not None and (new.value < target or new.flags):
                return e, self.model.problem.fit_of(new, sets[e])
        return -1, None

    def _keep(self, fit, table):
        """Keep the `LocalTable` of a fit, if it has one; the others go when memory is short."""
        if table is None:
            return
        self.held += 8 * (table.rows.size + table.B.size + table.curvatures.size)
        if self.held > CURVATURE_BYTES:
            self.locals, self.held = {}, 0
        self.locals[fit.key] = table

    def _one_away(self, fit, out, into):
        """The refit after one exchange, -1 for none, once."""
        return self._best(fit, [(out, into)])

    def _swaps(self, fit, thorough):
        """[(change, group out, group in)] of the swaps ranked first: where a fit is separated, and
        if `thorough` of groups on which others depend, of removals by refits and additions to what
        is left.
        """
        if FitStatus.SEPARATED in fit.flags:
            outs, found = [out for _, out in self.drops(fit)[:LEAVING]], []
        else:
            outs = self._entangled(fit) if thorough else []
            if not outs:
                return self.table(fit).swaps
            found = [one for one in self.table(fit).swaps if one[1] not in outs]
        for out in outs:
            less = self._one_away(fit, out, -1)
            found += [
                (less.value - fit.value + x, out, g)
                for x, g in self.table(less).additions
                if g != out and self.hierarchy.closed(self._after(fit, out, g))
            ]
        return sorted(found)[: self.tried]

    def _entangled(self, fit):
        """The unforced groups of a fit, as a list, on which columns depend that have no part in it:
        one of these takes over where such a group leaves, of which the quadratic does not know.
        Dependences within a group do not count.
        """
        idle = 0 if self.model.lambda1 else _without_part(fit)
        if not idle or idle <= sum(map(self._idle_alone, fit.groups.tolist())):
            return []
        quadratic, where = self.model.quadratic(fit), self.model.model.where
        places, owner = self.model.one_by_one(quadratic.ids)
        at = where[self.model.columns[places]]
        without = ~np.isin(at, quadratic.at)
        idle = quadratic.curvature.columns(at[without])
        shares = np.abs(quadratic.curvature.product(idle, quadratic.columns) @ quadratic.B)
        shares = shares > NO_SHARE * shares.max(axis=1, keepdims=True, initial=0.0)
        ends = zip(quadratic.members[:-1], quadratic.members[1:], strict=True)
        return [
            g
            for i, (g, (first, last)) in enumerate(zip(quadratic.ids.tolist(), ends, strict=True))
            if shares[owner[without] != i, first:last].any()
        ]

    def _idle_alone(self, group):
        """Number of the columns of a group that have no part in the fit of it alone, as of dummies
        of all levels of a factor one has none.
        """
        if group not in self.idle:
            self.idle[group] = _without_part(self.model.refit(np.array([group])))
        return self.idle[group]

    def _near(self, fit):
        """Groups with columns of near combinations, which a table does not see: `tried` of those
        outside a fit.
        """
        near = self.model.near_groups()
        if not near:
            return near
        inside = self.inside(fit.groups)
        met = self.hierarchy.met(inside)
        return [g for g in near if met[g] and not inside[g]][: self.tried]

    def _near_swaps(self, fit):
        """[(0, group out, group in)] of the groups of `_near`."""
        near = self._near(fit)
        members = np.setdiff1d(fit.groups, self.model.forced) if near else ()
        pairs = [(0.0, int(out), into) for into in near for out in members]
        return [one for one in pairs if self.hierarchy.closed(self._after(fit, *one[1:]))]

    def _after(self, fit, out, into):
        """The groups (G,) of a fit after a swap."""
        inside = self.inside(fit.groups)
        inside[out], inside[into] = False, True
        return inside

    def swap(self, fit, thorough=False):
        """Swaps until none improves; where a table only ranks, the first ON_THE_WAY of it are
        refitted (thorough: all).
        """
        most = 1 if self.model.exact else self.tried if thorough else min(ON_THE_WAY, self.tried)
        for _ in range(self.settings.max_swaps):
            better = self._improved(fit, most, thorough)
            if better is None:
                return fit
            fit = better
        return fit

    def _improved(self, fit, most, thorough):
        """The first swap of those ranked best that lowers F, None where none does. On the way (not
        `thorough`) swaps that seem to lose more than a share of what the removal costs are not
        tried.
        """
        doubt = math.inf if thorough else self.doubt
        goal, refused = (
            fit.value - self._tolerance(fit.value),
            self.failed.setdefault(fit.key, set()),
        )
        ranked, far = self._swaps(fit, thorough)[:most], FitStatus.SEPARATED in fit.flags
        if self.model.exact:
            ranked = [one for one in ranked if fit.value + one[0] < goal]
        elif ranked and not far and doubt < math.inf:
            costs = self.costs(fit)
            ranked = [one for one in ranked if one[0] <= doubt * costs[one[1]]]
        pairs = [(out, into) for _, out, into in ranked + self._near_swaps(fit)]
        swaps = [pair for pair in pairs if pair not in refused]
        while swaps:
            e, new = self._first_below(fit, swaps, goal)
            if new is None:
                refused.update(swaps)
                return None
            refused.update(swaps[:e])
            if new.value < goal:
                return new
            if FitStatus.NOT_CONVERGED in new.flags:
                self.undecided.add(fit.key)
            refused.add(swaps[e])
            swaps = swaps[e + 1 :]
        return None

    def refined(self, fit):
        """The fit as Newton's method leaves it where trials decide, see `by_newton`; from its rows
        where normal equations are not accurate; else as it is: refits are run to their end.
        """
        if self.model.closed and fit.support.size:
            return self.model.refined(fit)
        if not self.trials or fit.flags or not fit.support.size:
            return fit
        return by_newton(fit, self.model.refit(fit.groups, fit), self._tolerance(fit.value))

    def without(self, fit, units):
        """The fit without some of its groups, and without those that need them."""
        inside = self.hierarchy.largest(self.inside(np.setdiff1d(fit.groups, units)))
        return self.model.refit(np.flatnonzero(inside), fit)

    def removable(self, fit):
        """The increase of F by the removal of each unforced group, ascending, and the groups."""
        drops = self.drops(fit)
        return np.array([x for x, _ in drops]), np.array([g for _, g in drops], dtype=np.int64)

    def reach(self, last):
        """A fifth of the sizes, at least two groups, because refits of large blocks are
        expensive.
        """
        most = most_columns(self.model.model, self.model.lambda2, 0.5 * self.model.problem.n_eff)
        return Reach(max(2, int(FURTHER * last)), most, False)
